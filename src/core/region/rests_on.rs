//! Files: where the objects of a bundle were read, and all that decides of them.
//!
//! A file that is empty, or broken, does not say what it held. The bundle does: its claimants, what takes objects for them,
//! and their namespaces stand in files too, and each could be the only thing in its file. What comes and goes without them,
//! such as ClusterDeployments, is not noted.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::input::{Input, Terms};
use super::texts;
use crate::capi::cluster::cluster_kind;
use crate::claim::access::credential_key;
use crate::kinds;
use crate::layout::manifest::{Manifest, ManifestObject, ObjectState};
use crate::name::step::Step;
use crate::name::{Claimant, Name, Namespace, ObjectKey, ReadAt, SourceName};
use crate::snapshot::Snapshot;

/// Gives all that objects of a region rest on, and the files in which it was read.
pub(super) fn now(terms: &Terms<'_>, objects: &[ManifestObject]) -> BTreeMap<ObjectKey, ReadAt> {
    found(terms, &deciding(objects, &terms.world.fleet.system_namespace), objects)
}

fn found(terms: &Terms<'_>, deciding: &BTreeSet<ObjectKey>, objects: &[ManifestObject]) -> BTreeMap<ObjectKey, ReadAt> {
    let snapshot = terms.world.snapshot;
    let keys = deciding.iter().chain(clusters(snapshot, objects));
    keys.filter_map(|key| Some((key.clone(), snapshot.read_at(key)?))).collect()
}

/// Adds it to the manifest of a bundle. What was not found stays as it was published.
pub(super) fn add(input: &Input<'_>, manifest: &mut Manifest) {
    let published = input.published.manifest();
    let stays = |object: &ManifestObject| object.state != ObjectState::Current;
    // Nothing tells in which file an object was that stays from an older bundle.
    if published.is_some_and(|it| it.rests_on.is_none()) && manifest.objects.iter().any(stays) {
        manifest.rests_on = None;
        return;
    }
    let needed = deciding(&manifest.objects, &input.terms.world.fleet.system_namespace);
    let mut found = found(&input.terms, &needed, &manifest.objects);
    let namespaces: BTreeSet<Option<&Namespace>> = of_guests(&manifest.objects).map(Some).collect();
    // Of the Clusters of a namespace one is noted.
    let is_cluster = |key: &ObjectKey| {
        let is_other = |other: &ObjectKey| other.kind == key.kind && other.namespace == key.namespace;
        key.kind == cluster_kind() && namespaces.contains(&key.namespace.as_ref()) && !found.keys().any(is_other)
    };
    let stays = |key: &ObjectKey| !found.contains_key(key) && (needed.contains(key) || is_cluster(key));
    let before = published.and_then(|manifest| manifest.rests_on.as_ref()).into_iter().flatten();
    let kept: Vec<_> = before.filter(|(key, _)| stays(key)).map(|(key, at)| (key.clone(), at.clone())).collect();
    found.extend(kept);
    manifest.rests_on = Some(found);
}

/// The objects that a bundle says were read in one of these files of a source. Of what an older bundle has, it says nothing:
/// that may have stood in any.
pub fn stood_in(
    manifest: &Manifest,
    source: &SourceName,
    files: &BTreeSet<&str>,
    system: &Namespace,
) -> BTreeSet<ObjectKey> {
    let is_in = |at: &ReadAt| at.source == *source && files.contains(&*at.path);
    let is_older = manifest.rests_on.is_none();
    let may_be_in = |object: &&ManifestObject| object.read_at.as_ref().map_or(is_older, is_in);
    let read = manifest.objects.iter().filter(may_be_in).filter_map(|object| {
        let from = object.from.as_ref().filter(|from| from.made.is_none())?;
        Some(ObjectKey::new(object.kind().clone(), from.namespace.clone(), from.name.clone()))
    });
    let noted = manifest.rests_on.iter().flatten().filter(|(_, at)| is_in(at)).map(|(key, _)| key.clone());
    let unnoted = if is_older { deciding(&manifest.objects, system) } else { BTreeSet::new() };
    read.chain(noted).chain(unnoted).collect()
}

/// The claimants of objects, what takes objects for them, what those are made of, and their namespaces.
fn deciding(objects: &[ManifestObject], system: &Namespace) -> BTreeSet<ObjectKey> {
    let mut keys = BTreeSet::new();
    for needed_by in objects.iter().flat_map(|object| &object.needed_by) {
        let by = &needed_by.by;
        keys.extend(match needed_by.through.first() {
            // What is handed out is another Credential's.
            Some(Step::AccessRule(_)) => Some(credential_key(system, &Name::from(&*by.name()))),
            _ => kinds::claimant(by),
        });
        keys.insert(ObjectKey::namespace(by.namespace()));
        keys.extend(needed_by.takers().filter_map(|taker| texts::key(&taker)));
        keys.extend(needed_by.through.iter().filter_map(|step| match step {
            Step::Data(key) => Some(key.clone()),
            Step::AccessRule(_) | Step::Field { .. } | Step::Rule(_) | Step::Template(_) | Step::Opaque(_) => None,
        }));
    }
    keys
}

/// The namespaces of groups of guests that have something.
fn of_guests(objects: &[ManifestObject]) -> impl Iterator<Item = &Namespace> {
    let claimants = objects.iter().flat_map(|object| &object.needed_by).map(|needed_by| &needed_by.by);
    claimants.filter(|by| by.group().is_some()).map(Claimant::namespace)
}

/// The first Cluster of each namespace in which a group of guests has something: without any, none is of a group.
fn clusters<'s>(snapshot: &'s Snapshot, objects: &[ManifestObject]) -> impl Iterator<Item = &'s ObjectKey> + use<'s> {
    let namespaces: BTreeSet<&Namespace> = of_guests(objects).collect();
    let kind = (!namespaces.is_empty()).then(cluster_kind);
    let mut first = BTreeMap::new();
    for cluster in kind.iter().flat_map(|kind| snapshot.all(kind)) {
        let namespace = cluster.key.namespace.as_ref().filter(|it| namespaces.contains(it));
        namespace.into_iter().for_each(|it| _ = first.entry(it).or_insert(&cluster.key));
    }
    first.into_values()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString};

    use super::*;
    use crate::layout::manifest::parse;

    fn manifest(from: &str, rests_on: &str) -> Manifest {
        let text = format!(
            "apiVersion: pouch/v1alpha2\nfiles: []\nfleet: acme\nkind: Bundle\nmetadata: {{name: eu}}\nobjects:\n\
             - from: {{name: a, namespace: team{from}}}\n  key: {{group: '', kind: Secret, name: a, namespace: team}}\n  \
             neededBy: [{{by: {{kind: Credential, name: x, namespace: team}}, through: []}}]\n  \
             path: regions/eu/core/secrets/team/a.sops.yaml\n  sha256: {}\n  state: current\n\
             recipients: []\n{rests_on}sources: []\n",
            "a".repeat(64)
        );
        parse(&text).expect("a manifest")
    }

    #[track_caller]
    fn check(manifest: &Manifest, (source, file): (&str, &str), expect: &str) {
        let stood = stood_in(manifest, &source.into(), &[file].into(), &"kcm-system".into());
        let stood: Vec<String> = stood.iter().map(ToString::to_string).collect();
        assert_eq!(stood.join(", "), expect, "{source} {file}");
    }

    #[test]
    fn a_bundle_tells_what_stood_in_a_file_and_an_older_one_does_not() {
        let credential =
            "{group: k0rdent.mirantis.com, kind: Credential, name: x, namespace: team, path: b/two.yaml, source: git}";
        let told = manifest(", path: one.yaml, source: git", &format!("restsOn: [{credential}]\n"));
        check(&told, ("git", "one.yaml"), "Secret team/a");
        check(&told, ("git", "b/two.yaml"), "Credential team/x");
        check(&told, ("git", "two.yaml"), "");
        check(&told, ("other", "one.yaml"), "");
        // What stands in no file, such as what a cluster says.
        check(&manifest("", "restsOn: []\n"), ("git", "one.yaml"), "");
        for file in ["one.yaml", "x"] {
            check(&manifest("", ""), ("git", file), "Namespace team, Secret team/a, Credential team/x");
        }
        // Part of it is known.
        check(&manifest(", path: one.yaml, source: git", ""), ("git", "x"), "Namespace team, Credential team/x");
    }
}
