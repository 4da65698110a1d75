//! A cluster that says the UID of the management cluster.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::case::of_stage;
use super::stages::{Desk, Wishes, keys, publish};
use crate::destination::Destination;
use crate::finding::Code;
use crate::layout::manifest::SourceIdentity;
use crate::region::history::History;
use crate::region::input::Terms;
use crate::region::made_for::MadeFor;
use crate::region::plan::{RegionPlan, plan_against};
use crate::region::published::Published;

#[test]
fn a_cluster_with_the_uid_of_the_management_cluster_holds_its_own_region_alone() {
    let case = of_stage("region").into_iter().find(|case| case.path.ends_with("management-is-another-region-too.yaml"));
    let desk = Desk::new(&case.unwrap().worlds[0]);
    let (keys, (allowances, selection), unidentified) = (keys(), Wishes::default(), BTreeSet::new());
    let name = desk.fleet.sources[0].name.clone();
    let plan = |region: &str, sources: &[SourceIdentity], made_for: &MadeFor, published: &Published| -> RegionPlan {
        let to = Destination { fleet: &desk.fleet, region: &desk.fleet.regions[region] };
        let (heard, world, keys) = (desk.heard(&to.region.name), desk.world(), &keys);
        let (allowances, selection, unidentified) = (&allowances, &selection, &unidentified);
        let cases = &heard;
        let terms = Terms { world, to, cases, keys, allowances, selection, sources, unidentified, made_for };
        plan_against(&terms, published, &History::default())
    };
    let held = |identity: &str, seen: &[&str]| -> Vec<bool> {
        let sources = [SourceIdentity { name: name.clone(), identity: identity.into() }];
        let region = &desk.fleet.regions["mgmt"];
        let nothing = Published::nothing();
        let first = plan("mgmt", &sources, &MadeFor::default(), &nothing);
        let files = publish(&desk, region, first, &nothing);
        let standing = |folder: &str| {
            let files = if folder == "mgmt" { files.clone() } else { Default::default() };
            Published::examine(&desk.fleet.name, &desk.fleet.regions[folder].directory, files, &keys)
        };
        let is_seen = |region: &str| seen.contains(&region).then(|| standing(region));
        let made_for = MadeFor::ask(&desk.world(), |region| Ok::<_, ()>(is_seen(region.name.as_str()))).unwrap();
        let is_twin = |region: &str| {
            let plan = plan(region, &sources, &made_for, &standing(region));
            plan.holds.iter().any(|hold| hold.finding.code == Code::ContradictoryTies)
        };
        ["eu", "mgmt"].map(is_twin).into()
    };
    assert_eq!(held("hub", &["eu", "mgmt"]), [true, false]);
    // The control: the bundle was made from another cluster.
    assert_eq!(held("another", &["eu", "mgmt"]), [true, true]);
    // Of a region that is published elsewhere nobody knows what its bundle was made for.
    assert_eq!(held("hub", &["mgmt"]), [true, true]);
}
