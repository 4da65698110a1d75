//! Trusted: what counts of an object of which several sources have copies, where a tenant's copy must not count.

use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{Fleet, ProfileBy};
use crate::finding::Code;
use crate::inventory::profile::{self, Profile};
use crate::name::ObjectKey;
use crate::object::Object;
use crate::snapshot::Snapshot;

/// The copy of an object that counts among those of sources which may bring cluster-scoped objects.
pub fn trusted<'s>(fleet: &Fleet, snapshot: &'s Snapshot, key: &ObjectKey) -> Option<&'s Object> {
    trusted_copies(fleet, snapshot, key).first().copied()
}

/// The copies of an object that sources bring which may bring cluster-scoped objects, first the one that counts among
/// them: that of the last source which overrides, else of the first. A tenant's copy must not choose among the others, so it
/// does not matter which of all counts.
pub fn trusted_copies<'s>(fleet: &Fleet, snapshot: &'s Snapshot, key: &ObjectKey) -> Vec<&'s Object> {
    let source = |object: &Object| fleet.sources.iter().position(|source| source.name == object.origin.source);
    let numbered = snapshot.copies(key).filter_map(|object| {
        let number = source(object)?;
        let source = fleet.sources.get(number)?;
        source.provides.cluster_scoped.then_some((number, source.overrides, object))
    });
    let mut copies: Vec<(usize, bool, &Object)> = numbered.collect();
    // Of two in one source the one that stands first comes first already.
    copies.sort_by_key(|(number, ..)| *number);
    let counts = copies.iter().filter(|(_, overrides, _)| *overrides).map(|(number, ..)| *number).max();
    copies.sort_by_key(|(number, ..)| Some(*number) != counts);
    copies.into_iter().map(|(.., object)| object).collect()
}

/// What a ClusterProfile says, where that is known beyond doubt.
pub fn certain(fleet: &Fleet, snapshot: &Snapshot, key: &ObjectKey) -> Option<Profile> {
    let object = trusted(fleet, snapshot, key).filter(|_| snapshot.trusted_unread(key).is_none())?;
    let (profile, faults) = profile::read(object);
    (object.faults.iter().all(|fault| fault.code == Code::Shadowed) && faults.is_empty()).then_some(profile)
}

/// Decides if a tie leads to a ClusterProfile that says this; one by name is not asked what it says.
pub fn fits(by: &ProfileBy, profile: &Profile) -> bool {
    asked(by, profile).is_some_and(|mut pairs| pairs.all(|(wanted, has)| has == Some(wanted)))
}

/// Decides if a ClusterProfile says by itself that a tie does not lead to it. One that lacks what is asked for may have
/// lost it by a slip.
pub fn says_otherwise(by: &ProfileBy, profile: &Profile) -> bool {
    asked(by, profile).is_some_and(|mut pairs| pairs.any(|(wanted, has)| has.is_some_and(|has| has != wanted)))
}

/// The labels or properties that a tie asks for, each with what a ClusterProfile says there; none of a tie by name.
fn asked<'a>(
    by: &'a ProfileBy,
    profile: &'a Profile,
) -> Option<impl Iterator<Item = (&'a String, Option<&'a String>)>> {
    let (has, wanted) = match by {
        ProfileBy::Name(_) => return None,
        ProfileBy::Labels(wanted) => (&profile.labels, wanted),
        ProfileBy::Properties(wanted) => (&profile.properties, wanted),
    };
    Some(wanted.iter().map(|(key, value)| (value, has.get(key))))
}
