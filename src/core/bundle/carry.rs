//! Carry: what becomes of the claimants that have something published (DESIGN §2.7).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::draft::Input;
use super::manifest::{Manifest, NeededBy};
use super::published::credential;
use crate::claim::Asked;
use crate::finding::{Code, CredentialName, Finding};
use crate::judge::Verdict;
use crate::judge::region::Case;
use crate::k0rdent;
use crate::name::GroupKind;
use crate::object::ObjectKey;
use crate::selector::Truth;
use crate::snapshot::Lookup;

/// What becomes of one claimant's published objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Its closure is resolved anew; what it no longer needs goes.
    Fresh,
    /// They stay as published, for this reason.
    Carried(Code),
    /// They go, under the brake.
    Withdrawn,
}

/// The fate of every claimant in the published manifest.
pub struct Fates(BTreeMap<CredentialName, Fate>);

impl Fates {
    /// The fate of one claimant; of one that this release does not know, to stay.
    pub fn of(&self, by: &NeededBy) -> Fate {
        self.0.get(&credential(by)).copied().unwrap_or(Fate::Carried(Code::Unread))
    }

    /// What is worth saying about claimants that no finding of their own explains.
    pub fn findings(&self, input: &Input<'_>, cases: &[Case]) -> Vec<Finding> {
        let heard: BTreeSet<&CredentialName> = cases.iter().map(|case| &case.claim.by).collect();
        let explain = |(credential, fate): (&CredentialName, &Fate)| {
            let (code, message, help) = match fate {
                Fate::Carried(code @ Code::CredentialInUse) => (
                    *code,
                    format!("Credential {credential} is gone and ClusterDeployments still name it; its objects stay"),
                    "Delete the ClusterDeployments first, or put the Credential back.",
                ),
                Fate::Carried(code @ Code::DeletionUnproved) => (
                    *code,
                    format!("Credential {credential} is gone; whether ClusterDeployments still name it is unknown"),
                    "Correct the source: its own findings say what is wrong. Until then the objects stay.",
                ),
                Fate::Carried(Code::Unread) => (
                    Code::DeletionUnproved,
                    format!("whether Credential {credential} still exists is unknown; its objects stay"),
                    "Correct the source: its own findings say what is wrong.",
                ),
                // Where it could be read, its claim says so itself.
                Fate::Withdrawn if is_shut_out(input, credential) && !input.asked.contains_key(credential) => (
                    Code::NamespaceNotAllowed,
                    format!("region {} takes no Credentials of namespace {}", input.region.name, credential.namespace),
                    "If this is unintended, add the namespace to the region's namespaces.allowed.",
                ),
                _ => return None,
            };
            Some(Finding::new(code, message).claimed_by(credential).in_region(&input.region.name).help(help))
        };
        self.0.iter().filter(|(credential, _)| !heard.contains(credential)).filter_map(explain).collect()
    }
}

/// Decides the fate of every claimant in the published manifest.
pub fn fates(input: &Input<'_>, cases: &[Case]) -> Fates {
    let by_name: BTreeMap<&CredentialName, &Case> = cases.iter().map(|case| (&case.claim.by, case)).collect();
    let mut fates = BTreeMap::new();
    for object in input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default() {
        for needed_by in &object.needed_by {
            let name = credential(needed_by);
            let case = by_name.get(&name).copied();
            fates.entry(name).or_insert_with_key(|name| fate(input, case, name));
        }
    }
    Fates(fates)
}

/// The first claimant of a manifest whose objects would stay as published, and why.
pub(super) fn first_carried(input: &Input<'_>, cases: &[Case], manifest: &Manifest) -> Option<(CredentialName, Code)> {
    let by_name: BTreeMap<&CredentialName, &Case> = cases.iter().map(|case| (&case.claim.by, case)).collect();
    let claimants: BTreeSet<CredentialName> =
        manifest.objects.iter().flat_map(|object| &object.needed_by).map(credential).collect();
    claimants.into_iter().find_map(|name| match fate(input, by_name.get(&name).copied(), &name) {
        Fate::Carried(code) => Some((name, code)),
        Fate::Fresh | Fate::Withdrawn => None,
    })
}

/// Whether the region takes no Credentials of the claimant's namespace. The manifest names it, so that
/// nothing needs to be read, and breaking a source keeps nothing.
fn is_shut_out(input: &Input<'_>, credential: &CredentialName) -> bool {
    !input.region.allowed.matches(credential.namespace.as_str())
}

fn fate(input: &Input<'_>, case: Option<&Case>, credential: &CredentialName) -> Fate {
    if let Some(case) = case {
        return match case.verdict {
            Verdict::Admitted => Fate::Fresh,
            Verdict::Refused => Fate::Withdrawn,
            Verdict::Broken => Fate::Carried(case.broken_by().unwrap_or(Code::Unread)),
        };
    }
    if is_shut_out(input, credential) {
        return Fate::Withdrawn;
    }
    // It is there, and what it asks for cannot be told: a misspelt region is no order to delete.
    if let Some(code) = input.asked.get(credential).and_then(Asked::broken_by) {
        return Fate::Carried(code);
    }
    // A rule may make it, and nobody can tell: that is no proof that it is gone.
    if !input.asked.contains_key(credential) && input.court.access.makes(credential) == Truth::Unknown {
        return Fate::Carried(Code::Unread);
    }
    let snapshot = input.court.snapshot;
    let kind = GroupKind::new(k0rdent::GROUP, "Credential");
    let key = ObjectKey::new(kind, Some(credential.namespace.clone()), credential.name.clone());
    if matches!(snapshot.look_up(&key), Lookup::Unread(_) | Lookup::Unasked) {
        return Fate::Carried(Code::Unread);
    }
    if input.deployments.use_credential(credential) {
        return Fate::Carried(Code::CredentialInUse);
    }
    let deployments = GroupKind::new(k0rdent::GROUP, "ClusterDeployment");
    if snapshot.unread_in(&deployments, Some(&credential.namespace)).is_some()
        || input.deployments.may_use_any(&credential.namespace)
    {
        return Fate::Carried(Code::DeletionUnproved);
    }
    Fate::Withdrawn
}
