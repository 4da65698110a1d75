//! A source that cannot be asked is still the one that it was.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::case::of_stage;
use super::stages::{Desk, Wishes, keys, publish};
use crate::destination::Destination;
use crate::finding::Code;
use crate::layout::manifest::SourceIdentity;
use crate::name::SourceName;
use crate::region::history::History;
use crate::region::input::Terms;
use crate::region::made_for::MadeFor;
use crate::region::plan::{RegionPlan, plan_against};
use crate::region::published::Published;

#[test]
fn a_cluster_that_is_away_stays_the_one_that_it_was() {
    let case = &of_stage("region")[0];
    let desk = Desk::new(&case.worlds[0]);
    let region = desk.fleet.regions.values().next().unwrap();
    let to = Destination { fleet: &desk.fleet, region };
    let name = desk.fleet.sources[0].name.clone();
    let (keys, (allowances, selection)) = (keys(), Wishes::default());
    let plan = |published: &Published, identity: Option<&str>, away: &[SourceName]| -> RegionPlan {
        let identified = |identity: &str| SourceIdentity { name: name.clone(), identity: identity.into() };
        let sources: Vec<SourceIdentity> = identity.map(identified).into_iter().collect();
        let unidentified: BTreeSet<SourceName> = away.iter().cloned().collect();
        let (allowances, selection) = (&allowances, &selection);
        let world = desk.world();
        let (heard, keys, sources, unidentified) = (desk.heard(&region.name), &keys, &sources, &unidentified);
        let made_for = &MadeFor::default();
        let terms = Terms { world, to, cases: &heard, keys, allowances, selection, sources, unidentified, made_for };
        plan_against(&terms, published, &History::default())
    };
    let nothing = Published::nothing();
    let files = publish(&desk, region, plan(&nothing, Some("one"), &[]), &nothing);
    let published = Published::examine(&desk.fleet.name, &region.directory, files, &keys);
    assert!(plan(&published, Some("one"), &[]).is_published);
    assert!(plan(&published, None, core::slice::from_ref(&name)).is_published);
    // The control: a source that has no identity any more loses it.
    let without = plan(&published, None, &["other".into()]);
    assert!(!without.is_published && without.manifest.sources.is_empty());
    // Another one in its place is noticed once it is back.
    let other = plan(&published, Some("two"), core::slice::from_ref(&name));
    assert!(other.holds.iter().any(|hold| hold.finding.code == Code::SourceChanged));
}
