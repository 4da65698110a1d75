//! Open files are left unread only where what was read, and what is made, says what they hold.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::case::of_stage;
use super::stages::{Desk, Wishes, keys, publish};
use super::standing::Stands;
use crate::config::{Fleet, RegionConfig};
use crate::destination::Destination;
use crate::region::history::History;
use crate::region::input::Terms;
use crate::region::made_for::MadeFor;
use crate::region::plan::{RegionPlan, plan, plan_against};
use crate::region::published::{Files, Published};

/// The plan of the first region of the first case, as its claims make it, when something has meddled with it, and whether
/// all of its files were read.
fn planned(meddle: impl FnOnce(&mut Files), is_proved: bool) -> (RegionPlan, bool) {
    let case = &of_stage("region")[0];
    let desk = Desk::new(&case.worlds[0]);
    let region: &RegionConfig = desk.fleet.regions.values().next().unwrap();
    let fleet: &Fleet = &desk.fleet;
    let (keys, (allowances, selection), unidentified) = (keys(), Wishes::default(), BTreeSet::new());
    let heard = desk.heard(&region.name);
    let terms = Terms {
        world: desk.world(),
        to: Destination { fleet, region },
        cases: &heard,
        keys: &keys,
        allowances: &allowances,
        selection: &selection,
        sources: &[],
        unidentified: &unidentified,
        made_for: &MadeFor::default(),
    };
    let nothing = Published::nothing();
    let first = plan_against(&terms, &nothing, &History::default());
    let mut files = publish(&desk, region, first, &nothing);
    meddle(&mut files);
    let stands = if is_proved { Stands::proved(&files) } else { Stands::new(&files) };
    let plan = plan(&terms, &stands).unwrap().plan;
    (plan, stands.is_read.get())
}

#[test]
fn open_files_that_are_proved_are_not_read() {
    let (plan, is_read) = planned(|_| (), true);
    assert!(plan.is_published && !is_read);
    // The control: without a proof everything is read, and says the same.
    let (plan, is_read) = planned(|_| (), false);
    assert!(plan.is_published && is_read);
}

#[test]
fn a_file_that_nobody_makes_is_read() {
    let foreign = |files: &mut Files| _ = files.insert("regions/eu/core/foreign.yaml".into(), Vec::new());
    let (plan, is_read) = planned(foreign, true);
    assert!(!plan.is_published && !plan.holds.is_empty() && is_read);
}

#[test]
fn a_file_that_is_missing_is_missed() {
    let less = |files: &mut Files| {
        let path = files.keys().find(|path| path.ends_with("kustomization.yaml")).cloned().unwrap();
        files.remove(&path);
    };
    let (plan, is_read) = planned(less, true);
    assert!(!plan.is_published && is_read);
}
