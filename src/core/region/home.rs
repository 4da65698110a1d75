//! Home: what the bundle of the management cluster owes to those that read the cluster as a source.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::input::Input;
use crate::admission;
use crate::claim::Claim;
use crate::closure::{self, Closure, Role};
use crate::finding::{Code, Finding, Severity};
use crate::layout::manifest::{Manifest, ManifestObject};
use crate::listing::few;
use crate::name::{Claimant, ObjectKey};

/// Objects that stay, each with claims that read it on the management cluster.
pub(super) type Read<'a> = BTreeMap<&'a ObjectKey, BTreeSet<&'a Claimant>>;

/// Of the objects that are about to leave, those that stay: the consumer would delete the only source that another claim,
/// of whatever region, still has.
///
/// What stood on the cluster before, and was published once because a source had it for a while, is deleted with the rest:
/// pouch cannot tell it from what came from git. What an identity that stays refers to stays too, as nobody sees any more
/// what that is.
pub(super) fn read_there<'a>(input: &Input<'a>, leaving: &[&'a ManifestObject]) -> Read<'a> {
    let snapshot = input.terms.world.snapshot;
    let may_go = |object: &ManifestObject| {
        snapshot.is_elsewhere(&object.key)
            || object.needed_by.iter().all(|needed_by| input.terms.allowances.asks_to_withdraw(&needed_by.by))
    };
    let leaving: Vec<&ManifestObject> = leaving.iter().copied().filter(|object| !may_go(object)).collect();
    if !input.terms.to.region.management || snapshot.management_cluster().is_none() || leaving.is_empty() {
        return Read::new();
    }
    let mut read = Read::new();
    for claim in input.terms.world.facts.asked().iter().filter_map(|asked| asked.claim.as_ref()) {
        let allowed = input.terms.world.fleet.regions.get(claim.region()).map(|region| &region.namespaces.allowed);
        if !allowed.is_some_and(|allowed| allowed.matches(claim.by.namespace().as_str())) {
            continue;
        }
        let closure = closure::close(&input.terms.world, claim);
        for object in leaving.iter().filter(|object| may_read(input, claim, &closure, &object.key)) {
            read.entry(&object.key).or_default().insert(&claim.by);
        }
    }
    let whose = |object: &&&ManifestObject| read.contains_key(&object.key) && !object.key.kind.is_secret();
    let owners: BTreeMap<&Claimant, BTreeSet<&Claimant>> = leaving
        .iter()
        .filter(whose)
        .flat_map(|object| object.needed_by.iter().map(|needed_by| (&needed_by.by, read.get(&object.key))))
        .filter_map(|(by, readers)| Some((by, readers?.clone())))
        .collect();
    for object in &leaving {
        for readers in object.needed_by.iter().filter_map(|needed_by| owners.get(&needed_by.by)) {
            read.entry(&object.key).or_default().extend(readers);
        }
    }
    read
}

/// Whether a claim reads an object that it may look at, or nobody knows whether it does.
fn may_read(input: &Input<'_>, claim: &Claim, closure: &Closure, key: &ObjectKey) -> bool {
    let world = &input.terms.world;
    let reads = closure.members.iter().any(|member| {
        let is_open = || admission::of_namespaced(world, claim, &closure::sought(closure, member)).is_some();
        member.read == *key && member.role != Role::Assumed && is_open()
    });
    let is_unread = closure.findings.iter().any(|finding| finding.code == Code::Unread);
    // In doubt nobody keeps more than what is open to him anyway.
    let is_open = key.namespace.as_ref().is_some_and(|namespace| *namespace == *claim.by.namespace())
        || world.grants(&claim.by, claim.region(), key);
    reads || (is_open && (is_unread || !closure.wanted.is_empty()))
}

/// Tells of what stays for those that read it.
pub(super) fn findings(input: &Input<'_>, manifest: &Manifest, read: &Read<'_>) -> Vec<Finding> {
    const SHOWN: usize = 3;
    let tell = |(key, readers): (&&ObjectKey, &BTreeSet<&Claimant>)| {
        let object = manifest.objects.iter().find(|object| object.key == **key);
        let needed_by: BTreeSet<&Claimant> =
            object.into_iter().flat_map(|object| &object.needed_by).map(|needed_by| &needed_by.by).collect();
        let flags: Vec<String> = needed_by.iter().map(|by| format!("--withdraw {}", by.path())).collect();
        let message = format!(
            "{key} stays published for the management cluster: to withdraw it would delete it there, where {} may read it, and no \
             other source has it",
            few(readers.iter(), readers.len(), SHOWN)
        );
        let help = format!(
            "Put it into a source. To hand it back to the cluster, annotate it there with \
             `kustomize.toolkit.fluxcd.io/prune: disabled` (Argo CD: `argocd.argoproj.io/sync-options: Prune=false`), pass {}, and \
             when the consumer has followed, remove its label `app.kubernetes.io/managed-by`.",
            flags.join(" ")
        );
        let finding = Finding::new(Code::OwnOutput, message).severity(Severity::Warning).about(key);
        finding.in_region(&input.terms.to.region.name).help(help)
    };
    read.iter().map(tell).collect()
}

/// Holds the management cluster where its bundle was made for Credentials that name it as a region: it is another cluster,
/// and would get the management cluster's credentials.
///
/// One of its own claimants that names it by mistake is a fault of that one alone.
pub(super) fn is_a_region(input: &Input<'_>) -> Option<Finding> {
    let region = input.terms.to.region;
    let manifest = input.published.manifest().filter(|_| region.management)?;
    let claimants = manifest.objects.iter().flat_map(|object| &object.needed_by).map(|needed_by| &needed_by.by);
    let asked: BTreeMap<&Claimant, bool> = claimants
        .flat_map(|by| input.terms.world.facts.asked_of(by))
        .filter(|asked| asked.region.as_ref() == Some(&region.name))
        .map(|asked| (&asked.by, asked.findings.iter().any(|finding| finding.code == Code::UnknownRegion)))
        .collect();
    if asked.is_empty() || !asked.values().all(|names| *names) {
        return None;
    }
    let message = format!(
        "region {} is the management cluster, and its bundle was made for Credentials that name it in spec.region",
        region.name
    );
    let help = "Remove `management: true`, if this is the region that they mean; else give the management cluster another name \
                in `regions`.";
    Some(Finding::new(Code::ContradictoryTies, message).in_region(&region.name).help(help))
}
