//! Sessions: Secrets whose values change while a provider's controllers go on with the old ones.
//!
//! pouch brings the new value to the region, and there it does not reach everyone who has the old one. Who rotates has to know
//! that before he deletes the old one at the provider.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::change::{Action, Change};
use super::input::Input;
use crate::capi::{self, KeptSession};
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::name::ObjectKey;
use crate::object::Object;
use crate::secret::EntryChange;

/// Gives a hint for each Secret of a region with a new value that an identity's provider keeps in sessions.
pub(super) fn hints(input: &Input<'_>, rulings: &[Ruling<'_>], changes: &[Change]) -> Vec<Finding> {
    let changed: BTreeMap<&ObjectKey, &Change> =
        changes.iter().filter_map(|it| Some((&it.key, rotated(it)?))).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let (world, mut told) = (&input.terms.world, BTreeSet::new());
    let mut findings = Vec::new();
    for ruling in rulings.iter().filter(|ruling| ruling.is_admitted()) {
        let members = &ruling.case.closure.members;
        for member in members.iter().filter(|member| member.is_published()) {
            let Some(change) = changed.get(&member.lands).filter(|_| !told.contains(&member.lands)) else { continue };
            let referrers = member.referrer.iter().chain(&member.also).filter_map(|index| members.get(*index));
            let identities = referrers.filter_map(|referrer| world.snapshot.get(&referrer.read));
            let field = member.through.last().and_then(|step| step.path()).unwrap_or_default();
            let kept = identities.filter_map(|identity| Some((identity, keeps(identity, field, change)?)));
            if let (Some((identity, session)), Some(secret)) =
                (kept.into_iter().next(), world.snapshot.get(&member.read))
            {
                told.insert(&member.lands);
                let finding =
                    hint(&member.lands, identity, session).at(&secret.origin).claimed_by(&ruling.case.claim.by);
                findings.push(finding.in_region(&input.terms.to.region.name));
            }
        }
    }
    findings
}

/// A change of values of a Secret that stays.
fn rotated(change: &Change) -> Option<&Change> {
    let is_new = |(_, entry): &(_, EntryChange)| matches!(entry, EntryChange::Changed | EntryChange::PerhapsChanged);
    (change.action == Action::Changed && change.key.kind.is_secret() && change.entries.iter().any(is_new))
        .then_some(change)
}

/// The session in which the provider of an identity keeps an entry that changes, if it does.
fn keeps(identity: &Object, field: &str, change: &Change) -> Option<&'static KeptSession> {
    let rules = capi::rules(&identity.key.kind)?;
    let read = capi::entries(rules, &identity.body, field);
    let session = rules.session.as_ref()?;
    change.entries.iter().any(|(name, _)| read.contains(&name.as_str())).then_some(session)
}

fn hint(secret: &ObjectKey, identity: &Object, KeptSession { provider, controller, rebuilt }: &KeptSession) -> Finding {
    let message =
        format!("{secret} gets a new value, and {provider} goes on with the old one in sessions of {}", identity.key);
    let help = format!(
        "Keep the old value valid for an hour at least. Once the region has the new one, restart {controller}: {rebuilt}."
    );
    Finding::new(Code::SessionKept, message).about(secret).help(help)
}
