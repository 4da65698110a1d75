//! The object that a claim reaches for, and what names it.

use super::Asker;
use crate::config::Placement;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::ObjectKey;
use crate::world::World;

/// An object that a claim reaches for.
#[derive(Clone, Copy)]
pub struct Sought<'a> {
    /// The object.
    pub read: &'a ObjectKey,
    /// The origin of the reference.
    pub namer: Namer<'a>,
}

/// The origin of a reference to an object that a claim reaches for.
#[derive(Clone, Copy)]
pub enum Namer<'a> {
    /// The claimant: the object is the claim's root, or its projection names it.
    Claimant,
    /// A field of this object.
    Object(&'a ObjectKey),
    /// A convention, by the name of this identity: the object is a companion. The claimant names the identity, and so both
    /// name the companion.
    Convention(&'a ObjectKey),
    /// The configuration, or something that is not known any more.
    Unknown,
}

impl<'a> Namer<'a> {
    /// The object that leads there.
    pub fn referrer(self) -> Option<&'a ObjectKey> {
        match self {
            Namer::Object(key) | Namer::Convention(key) => Some(key),
            Namer::Claimant | Namer::Unknown => None,
        }
    }
}

/// The object that asks for a claim's root: of what a rule hands out, the source Credential.
pub(super) fn claimant_of(world: &World<'_>, asker: Asker<'_>) -> Option<ObjectKey> {
    let key = kinds::claimant(asker.by)?;
    let system = || Some(world.fleet.system_namespace.clone());
    Some(if asker.is_handed_out { ObjectKey { namespace: system(), ..key } } else { key })
}

/// What is said where it hangs on a placement whether a claim may use an object, and nobody knows what that lists.
pub fn hangs_on(asker: Asker<'_>, object: &ObjectKey, placement: &Placement, why: &str) -> Finding {
    let message = format!(
        "whether {object} is open to {} is unknown: a grant opens it in the regions of placement {placement}, and which these are is unknown: {why}",
        asker.by
    );
    let help = format!(
        "Correct what keeps the placement from being known, or name region {} in the grant; until then what is published by it stays.",
        asker.region
    );
    Finding::new(Code::Unread, message).about(object).help(help)
}
