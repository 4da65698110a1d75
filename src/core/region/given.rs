//! Given: what of a group of guests gave an object, and what the groups name.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::config::Fleet;
use crate::layout::manifest::{ManifestObject, NeededBy};
use crate::name::{Entry, Name, ObjectKey};

/// The entry of a group that gave a published object; none if it holds no object for guests, or its chain does not tell.
pub(super) fn giver<'m>(object: &ManifestObject, needed_by: &'m NeededBy) -> Option<&'m Entry> {
    needed_by.by.entry().filter(|_| object.guest.is_some() && object.from.is_some())
}

/// What the groups name as they are.
pub(super) type Named<'i> = BTreeMap<&'i Name, BTreeSet<&'i ObjectKey>>;

/// What the groups name as they are, by the group.
pub(super) fn named(fleet: &Fleet) -> Named<'_> {
    let mut named = Named::new();
    for (name, group) in &fleet.guests {
        named.insert(name, group.objects.iter().map(|entry| &entry.read).collect());
    }
    named
}

/// What a group names, and may be a slip in the name of what it names no more.
pub(super) struct Slip {
    pub(super) named: Entry,
    /// Whether it is known to be there, and only something was not read.
    pub(super) is_unread: bool,
}
