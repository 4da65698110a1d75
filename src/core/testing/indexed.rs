//! A source of which most is put aside gives what the same source gives when it is read as a whole.
//!
//! Every [`Desk::new`] goes through the index, so that all cases and laws hold of it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::case::{Scene, fleet, of_stage, readings, show_findings};
use super::laws;
use super::stages::Desk;
use crate::closure::Closure;
use crate::closure::wanted::{BySource, add_aside, wanted};
use crate::config::{Fleet, Source, SourcePlace};
use crate::destination::Destination;
use crate::finding::Finding;
use crate::judge::case::{Case, Verdict};
use crate::judge::{closed, judged};
use crate::made;
use crate::name::{ObjectKey, Region};
use crate::object::{Object, RunKey};
use crate::snapshot::index::{Index, Kept};
use crate::snapshot::{Reading, Reason, Snapshot, Standing, assemble};
use crate::world::looks::Looks;
use crate::world::{Facts, World};
use alloc::string::String;
use core::fmt::Write as _;
use proptest::prelude::*;

/// The documents that a source put aside, by its number.
type Aside = Vec<Vec<Standing>>;

fn index(fleet: &Fleet, world: &Scene) -> (Snapshot, Vec<Finding>, Aside) {
    let mut readings = readings(fleet, world);
    let put_aside = |(source, reading): (&Source, &mut Reading)| match source.place {
        SourcePlace::Cluster { .. } => Vec::new(),
        _ => put_aside(fleet, source, reading),
    };
    let aside = fleet.sources.iter().zip(&mut readings).map(put_aside).collect();
    let (snapshot, findings) = assemble(fleet, readings);
    (snapshot, findings, aside)
}

/// Puts contents of a reading aside, by the numbers of their documents.
pub(crate) fn put_aside(fleet: &Fleet, source: &Source, reading: &mut Reading) -> Vec<Standing> {
    let mut aside = Vec::new();
    let index = Index::new(fleet, source, RunKey::new(&[7; 32]).unwrap());
    for (document, origin) in core::mem::take(&mut reading.documents) {
        match index.keep(document.clone(), origin.clone(), |words| index.is_near(words)) {
            Kept::Whole(document, origin) => reading.documents.push((document, origin)),
            Kept::Weighed(weighed) => {
                reading.weighed.push(weighed);
                aside.push((document, origin));
            }
            Kept::Nothing => {}
        }
    }
    aside
}

/// Reads the content of an object again.
pub(super) fn read_again(
    fleet: &Fleet,
    snapshot: &mut Snapshot,
    (index, aside): (usize, &[Standing]),
    key: &ObjectKey,
) {
    // One claim may want it for its closure, and another its content alone.
    let Some(number) = snapshot.aside_in(key).and_then(|_| snapshot.aside(index, key)) else { return };
    let read = snapshot.admit_again(fleet, index, (key, aside[number].0.clone())).unwrap();
    snapshot.take_again([(key.clone(), Ok(read))]);
}

/// The snapshot of a world whose sources are indexed; what closures ask for is read again.
pub(super) fn indexed(fleet: &Fleet, world: &Scene) -> (Snapshot, Vec<Finding>) {
    let (mut snapshot, findings, aside) = index(fleet, world);
    ask(fleet, &mut snapshot, &aside);
    let (facts, _) = Facts::gather(fleet, &snapshot, &Looks::default());
    let made = made::all(&World { fleet, snapshot: &snapshot, facts: &facts, now: 0 });
    snapshot.set_made(made);
    ask(fleet, &mut snapshot, &aside);
    (snapshot, findings)
}

/// Reads again what closures want.
fn ask(fleet: &Fleet, snapshot: &mut Snapshot, aside: &Aside) {
    for round in 0.. {
        assert!(round < 100, "the closures never have enough");
        let (facts, _) = Facts::gather(fleet, snapshot, &Looks::default());
        let world = World { fleet, snapshot, facts: &facts, now: 0 };
        let mut unread = BySource::new();
        let claims = facts.asked().iter().filter_map(|asked| asked.claim.as_deref());
        let known = |closure: &Closure| add_aside(&mut unread, snapshot, closure.unread(snapshot));
        let (wanted, _) = wanted(&world, claims, known);
        // A cluster that was not asked is answered elsewhere.
        let of_files = |index: &usize| !matches!(fleet.sources[*index].place, SourcePlace::Cluster { .. });
        let wanted: Vec<_> = wanted.into_iter().chain(unread).filter(|(index, _)| of_files(index)).collect();
        if wanted.is_empty() {
            return;
        }
        for (index, key) in wanted.into_iter().flat_map(|(index, keys)| keys.into_iter().map(move |key| (index, key))) {
            read_again(fleet, snapshot, (index, &aside[index]), &key);
        }
    }
}

/// All that is said of a world.
fn told(desk: &Desk) -> String {
    let mut text = String::new();
    show_findings("", desk.findings.clone(), &mut text);
    for region in desk.fleet.regions.keys() {
        tell(region, &desk.heard(region), &desk.snapshot, &mut text);
    }
    text
}

fn tell(region: &Region, heard: &[Case], snapshot: &Snapshot, text: &mut String) {
    for case in heard {
        _ = writeln!(text, "{region} {} {:?}", case.claim.by, case.verdict);
        show_findings("  ", case.findings.clone(), text);
        for member in &case.closure.members {
            let object = snapshot.get(&member.read);
            let origin = object.map(|object| &object.origin);
            _ = writeln!(text, "  {:?} {} as {} {origin:?}", member.role, member.read, member.lands);
            assert!(!object.is_some_and(Object::is_aside), "{} was not read", member.read);
        }
    }
}

/// The same, where contents are read for one region after the other, and each sees only its own.
fn told_by_region(world: &Scene) -> String {
    let mut text = String::new();
    let (desk, regions) = by_region(world, |_| false);
    show_findings("", desk.findings.clone(), &mut text);
    for (region, heard, view) in &regions {
        tell(region, heard, view, &mut text);
    }
    text
}

/// The cases of each region, and the view that it sees; some contents cannot be read again.
fn by_region(world: &Scene, is_lost: impl Fn(&ObjectKey) -> bool) -> (Desk, Vec<(Region, Vec<Case>, Snapshot)>) {
    let fleet = fleet(&world.config);
    let (mut snapshot, findings, aside) = index(&fleet, world);
    if fleet.names_templates() {
        // What templates are made of is read before, and all with it.
        snapshot = indexed(&fleet, world).0;
    }
    let desk = Desk::of(fleet, snapshot, findings);
    let mut regions = Vec::new();
    for region in desk.fleet.regions.keys() {
        let to = Destination { fleet: &desk.fleet, region: &desk.fleet.regions[region] };
        let mut closed = closed(&desk.world(), &to, |_| true, BTreeSet::new);
        let mut view = desk.snapshot.view();
        for round in 0.. {
            assert!(round < 100, "the claims never have enough");
            let unread = closed.unread(&view);
            if unread.is_empty() {
                break;
            }
            for (index, key) in unread.iter().flat_map(|(index, keys)| keys.iter().map(|key| (*index, key))) {
                let (document, _) = aside[index][view.aside(index, key).unwrap()].clone();
                let read = view.admit_again(&desk.fleet, index, (key, document)).filter(|_| !is_lost(key));
                view.take_again([(key.clone(), read.ok_or_else(|| Reason::new("gone", "Run again.")))]);
            }
            closed.close_again(&World { snapshot: &view, ..desk.world() });
        }
        let heard = judged(&World { snapshot: &view, ..desk.world() }, closed);
        regions.push((region.clone(), heard, view));
    }
    (desk, regions)
}

#[test]
fn the_cases_read_the_same_from_the_index_or_as_a_whole() {
    let (mut compared, mut by_region, mut put_aside) = (0, 0, 0);
    for stage in ["claim", "closure", "judge", "region", "sources"] {
        for case in of_stage(stage) {
            for world in &case.worlds {
                compared += 1;
                let fleet = fleet(&world.config);
                put_aside += index(&fleet, world).0.objects().filter(|object| object.is_aside()).count();
                let whole = told(&Desk::whole(world));
                assert_eq!(told(&Desk::new(world)), whole, "{}", case.path.display());
                if !fleet.sources.iter().any(|source| matches!(source.place, SourcePlace::Cluster { .. })) {
                    by_region += 1;
                    assert_eq!(told_by_region(world), whole, "{}", case.path.display());
                }
            }
        }
    }
    assert!(compared > 600 && by_region > 400 && put_aside > 600, "{compared} {by_region} {put_aside}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_index_is_a_reading(mode in laws::resolution(), documents in laws::documents()) {
        let world = laws::world(mode, documents);
        let whole = told(&Desk::whole(&world));
        prop_assert_eq!(&told(&Desk::new(&world)), &whole);
        prop_assert_eq!(&told_by_region(&world), &whole);
    }

    /// A content that cannot be read again lets the claims wait that need it, and no others.
    #[test]
    fn what_is_not_read_again_is_unread(mode in laws::resolution(), documents in laws::documents(), which in 0_usize..40) {
        let world = laws::world(mode, documents);
        let (desk, whole) = by_region(&world, |_| false);
        let keys: Vec<&ObjectKey> =
            desk.snapshot.objects().filter(|object| object.is_aside()).map(|object| &object.key).collect();
        prop_assume!(!keys.is_empty());
        let lost = keys[which % keys.len()];
        let (_, now) = by_region(&world, |key| key == lost);
        for ((_, now, _), (_, then, _)) in now.iter().zip(&whole) {
            for (now, then) in now.iter().zip(then) {
                match then.closure.members.iter().any(|member| member.read == *lost) {
                    true => prop_assert!(now.verdict != Verdict::Admitted, "{} was admitted", now.claim.by),
                    false => prop_assert_eq!(now.verdict, then.verdict),
                }
            }
        }
    }
}
