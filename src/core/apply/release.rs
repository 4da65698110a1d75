//! What of that which left the bundle may go, once it is known what became of the rest.
//!
//! Make before break: an identity that could not be brought up to date, or that could not be taken away, may still
//! point to what left the bundle. Whatever it names stays until a later run.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::inventory::{Brought, Inventory};
use super::plan::{Goner, Plan};
use super::{Bundle, said};
use crate::name::ObjectKey;
use crate::node::Node;

/// What identities that are not as the bundle says may still point to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pointers {
    names: BTreeSet<String>,
    unknown: bool,
}

impl Pointers {
    /// Adds what a live identity points to.
    pub fn live(&mut self, identity: &Node) {
        self.names.extend(said(identity));
    }

    /// Adds an identity that cannot be read: it may point to anything.
    pub fn anything(&mut self) {
        self.unknown = true;
    }

    /// Whether an object may be pointed to.
    pub fn may_lead_to(&self, key: &ObjectKey) -> bool {
        self.unknown || self.names.contains(key.name.as_str())
    }
}

/// Whether an object that left the bundle may go now.
pub fn may_go(plan: &Plan<'_>, goner: &Goner, pointers: &Pointers) -> bool {
    plan.held.is_none() && !goner.meta.is_going && !pointers.may_lead_to(&goner.key)
}

/// The inventory that is right when all is done.
///
/// `sent` are the objects that the region took, each with its resourceVersion since; `gone` are those that were taken
/// away. `holds` says whether objects that would be made anew were held.
pub fn after(
    bundle: &Bundle<'_>,
    plan: &Plan<'_>,
    sent: &BTreeMap<ObjectKey, String>,
    gone: &BTreeSet<ObjectKey>,
    holds: bool,
) -> Inventory {
    let mut after = plan.before.clone();
    after.objects.retain(|key, _| !gone.contains(key));
    if holds {
        after.held = Some(plan.of);
    } else if plan.goners.iter().all(|goner| gone.contains(&goner.key)) {
        after.held = None;
    }
    for wanted in &bundle.objects {
        let version = sent.get(wanted.key).cloned();
        if let Some(version) = version {
            let brought = Brought { mark: Some(wanted.mark.clone()), version: Some(version) };
            after.objects.insert(wanted.key.clone(), brought);
        } else if !plan.same.contains(wanted.key)
            && let Some(brought) = after.objects.get_mut(wanted.key)
        {
            // The mark of what is there stays, as digests of acceptances are made of it.
            brought.version = None;
        }
    }
    after
}
