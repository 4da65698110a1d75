//! Given: what of a group of guests gave an object, and what the groups name.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;

use crate::config::Fleet;
use crate::layout::manifest::{ManifestObject, NeededBy};
use crate::name::step::Step;
use crate::name::{Claimant, Name, ObjectKey};

/// What of a group gave a published object, by the manifest.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Giver {
    Template(Name),
    Rule(Name),
    Entry(ObjectKey),
}

impl Giver {
    /// The giver of an object for a claimant; none if it holds no object for guests, or its chain does not tell.
    pub(super) fn of(object: &ManifestObject, needed_by: &NeededBy) -> Option<Self> {
        if object.guest.is_none() || object.from.is_none() {
            return None;
        }
        if let Some(entry) = needed_by.by.entry() {
            return Some(Self::of_entry(entry));
        }
        match needed_by.through.first()? {
            Step::Rule(rule) => Some(Self::Rule(rule.clone())),
            Step::Template(template) => Some(Self::Template(template.clone())),
            Step::Field { .. } | Step::AccessRule(_) | Step::Data(_) | Step::Opaque(_) => None,
        }
    }

    fn of_entry(entry: &ObjectKey) -> Self {
        match entry {
            _ if *entry == Claimant::rule_entry(&entry.name) => Self::Rule(entry.name.clone()),
            _ if *entry == Claimant::template_entry(&entry.name) => Self::Template(entry.name.clone()),
            _ => Self::Entry(entry.clone()),
        }
    }

    /// The rule that it is, if it is one.
    pub(super) fn rule(&self) -> Option<&Name> {
        if let Self::Rule(name) = self { Some(name) } else { None }
    }
}

impl fmt::Display for Giver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(name) => write!(f, "template {name}"),
            Self::Rule(name) => write!(f, "ResourceSyncRule {name}"),
            Self::Entry(read) => read.fmt(f),
        }
    }
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
    pub(super) named: Giver,
    /// Whether it is known to be there, and only something was not read.
    pub(super) is_unread: bool,
}

/// The rule that took an object for a group of guests, by the manifest.
pub(super) fn rule_of(needed_by: &NeededBy) -> Option<&Name> {
    needed_by.through.first()?.rule()
}

/// The template that made an object for a claimant, by the manifest.
pub(super) fn template_of(object: &ManifestObject, by: &Claimant) -> Option<Name> {
    let own = object.needed_by.iter().find(|needed_by| needed_by.by == *by)?;
    own.through.first()?.template().cloned()
}
