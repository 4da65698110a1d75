//! Open files are left unread only where what was read, and what is made, says what they hold.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cell::Cell;

use super::case::of_stage;
use super::stages::{Desk, Wishes, keys, proved, publish};
use crate::config::{Fleet, RegionConfig};
use crate::destination::Destination;
use crate::region::history::History;
use crate::region::input::Terms;
use crate::region::odd::Odd;
use crate::region::plan::{RegionPlan, plan, plan_against};
use crate::region::published::{Files, Proved, Published};

/// What stands in the first region of the first case, as its claims make it, and what becomes of it. `known` is given
/// the files, and says what is proved of them; all of them are read only where that does not tell.
fn planned(
    meddle: impl FnOnce(&mut Files),
    known: impl FnOnce(&Files) -> Option<Proved<'static>>,
) -> (RegionPlan, bool) {
    let case = &of_stage("region")[0];
    let desk = Desk::new(&case.worlds[0]);
    let region: &RegionConfig = desk.fleet.regions.values().next().unwrap();
    let fleet: &Fleet = &desk.fleet;
    let (keys, (allowances, selection), unidentified) = (keys(), Wishes::default(), BTreeSet::new());
    let terms = Terms {
        world: desk.world(),
        to: Destination { fleet, region },
        keys: &keys,
        allowances: &allowances,
        selection: &selection,
        sources: &[],
        unidentified: &unidentified,
    };
    let (heard, nothing) = (desk.heard(&region.name), Published::nothing());
    let first = plan_against(&terms, &heard, &nothing, &History::default());
    let mut files = publish(&desk, region, first, &nothing);
    meddle(&mut files);
    let is_read = Cell::new(false);
    let proved = known(&files);
    let read = || {
        is_read.set(true);
        Ok::<_, ()>((files.clone(), Odd::default()))
    };
    let history = || Ok(History::default());
    let (.., plan) =
        plan(&terms, &heard, (proved, read), || Ok(true), history, |_| Ok(Vec::new()), |_| Ok(BTreeSet::new()))
            .unwrap();
    (plan, is_read.get())
}

#[test]
fn open_files_that_are_proved_are_not_read() {
    let (plan, is_read) = planned(|_| (), |files| Some(proved(files)));
    assert!(plan.is_published && !is_read);
    // The control: without a proof everything is read, and says the same.
    let (plan, is_read) = planned(|_| (), |_| None);
    assert!(plan.is_published && is_read);
}

#[test]
fn a_file_that_nobody_makes_is_read() {
    let foreign = |files: &mut Files| _ = files.insert("regions/eu/core/foreign.yaml".into(), Vec::new());
    let (plan, is_read) = planned(foreign, |files| Some(proved(files)));
    assert!(!plan.is_published && !plan.holds.is_empty() && is_read);
}

#[test]
fn a_file_that_is_missing_is_missed() {
    let less = |files: &mut Files| {
        let path = files.keys().find(|path| path.ends_with("kustomization.yaml")).cloned().unwrap();
        files.remove(&path);
    };
    let (plan, is_read) = planned(less, |files| Some(proved(files)));
    assert!(!plan.is_published && is_read);
}
