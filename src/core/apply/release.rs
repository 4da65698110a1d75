//! What of that which left the bundle may go, once it is known what became of the rest.
//!
//! Make before break: an identity that could not be brought up to date, or that could not be taken away, may still
//! point to what left the bundle. Whatever it names stays until a later run.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::inventory::{Brought, Inventory};
use super::plan::{Goner, Plan};
use super::{Bundle, said};
use crate::name::{Namespace, ObjectKey};
use crate::node::Node;

/// What identities that are not as the bundle says may still point to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pointers {
    identities: Vec<Pointer>,
    /// The identities that say a text, by their places in the list.
    names: BTreeMap<String, Vec<usize>>,
    unknown: bool,
}

/// An identity that may point to others.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Pointer {
    namespace: Option<Namespace>,
    says: BTreeSet<String>,
}

impl Pointer {
    /// Whether it may point to an object of a namespace: to one of its own, or of one that it names. Where one of the
    /// cluster's points to, its provider knows.
    fn leads_into(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|own| own.as_str() == namespace) || self.says.contains(namespace)
    }
}

impl Pointers {
    /// Adds what a live identity points to.
    pub fn live(&mut self, key: &ObjectKey, identity: &Node) {
        let says = said(identity);
        for text in &says {
            self.names.entry(text.clone()).or_default().push(self.identities.len());
        }
        self.identities.push(Pointer { namespace: key.namespace.clone(), says });
    }

    /// Adds an identity that cannot be read: it may point to anything.
    pub fn anything(&mut self) {
        self.unknown = true;
    }

    /// Whether an object may be pointed to.
    pub fn may_lead_to(&self, key: &ObjectKey) -> bool {
        let named = || self.names.get(key.name.as_str()).into_iter().flatten();
        let mut identities = named().filter_map(|at| self.identities.get(*at));
        self.unknown || identities.any(|identity| identity.leads_into(key.namespace_text()))
    }
}

/// Whether an object that left the bundle may go now.
pub fn may_go(plan: &Plan<'_>, goner: &Goner, pointers: &Pointers) -> bool {
    !plan.kept.contains(&goner.key) && !goner.meta.is_going && !pointers.may_lead_to(&goner.key)
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
        after.held.clone_from(&plan.sizes);
    } else if plan.goners.iter().all(|goner| gone.contains(&goner.key)) {
        after.held.clear();
    }
    for wanted in &bundle.objects {
        let version = sent.get(wanted.key).cloned();
        if let Some(version) = version {
            let claimants = wanted.claimants.iter().cloned().collect();
            let brought = Brought { mark: Some(wanted.mark.clone()), version: Some(version), claimants };
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
