//! What of that which left the bundle may go, once it is known what became of the rest.
//!
//! Make before break: an identity that could not be brought up to date, or that could not be taken away, may still
//! point to what left the bundle. Whatever it names stays until a later run.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::inventory::{Brought, Inventory, Needed};
use super::plan::{Goner, Plan};
use super::{Bundle, said};
use crate::name::{Namespace, ObjectKey};
use crate::node::Node;
use crate::region::accounts::Whose;

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

/// Returns true if an object that left the bundle may go now: what is exchanged stays where what takes its place failed.
pub fn may_go(plan: &Plan<'_>, goner: &Goner, pointers: &Pointers, failed: &BTreeSet<ObjectKey>) -> bool {
    let lacks_another = || plan.instead.get(&goner.key).is_some_and(|instead| !instead.is_disjoint(failed));
    !plan.kept.contains(&goner.key) && !goner.meta.is_going && !lacks_another() && !pointers.may_lead_to(&goner.key)
}

/// The inventory that is right when all is done.
///
/// `sent` are the objects that the region took, each with its resourceVersion since; `gone` are those that were taken
/// away. `holds` are those of whose objects too many would be made anew.
pub fn after(
    bundle: &Bundle<'_>,
    plan: &Plan<'_>,
    sent: &BTreeMap<ObjectKey, String>,
    gone: &BTreeSet<ObjectKey>,
    holds: &BTreeSet<Whose>,
) -> Inventory {
    let mut after = plan.before.clone();
    after.objects.retain(|key, _| !gone.contains(key));
    // What is held stays so as long as something of it is still to go, and be it that nobody sees it now.
    let wanted: BTreeSet<&ObjectKey> = bundle.objects.iter().map(|wanted| wanted.key).collect();
    let left: Vec<&Brought> =
        after.objects.iter().filter(|(key, _)| !wanted.contains(key)).map(|(_, brought)| brought).collect();
    let is_theirs = |whose: &Whose, brought: &Brought| match &brought.needed {
        Needed::Unknown => *whose == Whose::Anybody,
        Needed::Exchanged => false,
        Needed::By(claimants) => claimants.iter().any(|by| Whose::of(by) == *whose),
    };
    after.held.retain(|whose| left.iter().any(|brought| is_theirs(whose, brought)));
    after.held.extend(holds.iter().cloned());
    for wanted in &bundle.objects {
        let version = sent.get(wanted.key).cloned();
        if let Some(version) = version {
            let brought = Brought { mark: Some(wanted.mark.clone()), version: Some(version), needed: wanted.needed() };
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
