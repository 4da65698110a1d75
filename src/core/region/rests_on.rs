//! Files: where the objects of a bundle were read, and all that decides of them.
//!
//! A file that is empty, or broken, does not say what it held. The bundle does: its claimants, what takes objects for them,
//! their namespaces and all else that they hang on stand in files too, and each could be the only thing in its file.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::input::{Input, Terms};
use super::texts;
use crate::capi::cluster::{cluster_kind, is_cluster, names_cluster};
use crate::claim::access::credential_key;
use crate::claim::deployments;
use crate::k0rdent;
use crate::kinds;
use crate::layout::manifest::{Manifest, ManifestObject, ObjectState};
use crate::name::step::Step;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, ReadAt, SourceName};
use crate::snapshot::{Lookup, Snapshot};
use crate::world::World;

/// Gives all that objects of a region rest on, and the files in which it was read.
pub(super) fn now(terms: &Terms<'_>, objects: &[ManifestObject]) -> BTreeMap<ObjectKey, ReadAt> {
    found(terms, &all(&terms.world, objects))
}

/// Gives the files in which objects were read; of a Namespace, that of a source that says what the region has.
fn found(terms: &Terms<'_>, keys: &BTreeSet<ObjectKey>) -> BTreeMap<ObjectKey, ReadAt> {
    let snapshot = terms.world.snapshot;
    let telling = terms.world.namespaces(&terms.to.region.name).map(|namespaces| &*namespaces.telling.sources);
    let told = |key: &ObjectKey| {
        let telling = telling.filter(|_| key.kind.is_namespace())?;
        snapshot.read_in(telling, key)
    };
    let read_at = |key: &ObjectKey| told(key).or_else(|| snapshot.read_at(key));
    keys.iter().filter_map(|key| Some((key.clone(), read_at(key)?))).collect()
}

/// Adds it to the manifest of a bundle. What cannot be told by now stays as it was published, whatever else was found.
pub(super) fn add(input: &Input<'_>, manifest: &mut Manifest) {
    let terms = &input.terms;
    let published = input.published.manifest();
    let stays = |object: &ManifestObject| object.state != ObjectState::Current;
    let is_partial = terms.selection.refresh.is_some();
    // Nothing tells in which file an object was that stays from an older bundle.
    if published.is_some_and(|it| it.rests_on.is_none()) && (is_partial || manifest.objects.iter().any(stays)) {
        manifest.rests_on = None;
        return;
    }
    let snapshot = terms.world.snapshot;
    let needed = all(&terms.world, &manifest.objects);
    let mut found = found(terms, &needed);
    let before = published.and_then(|manifest| manifest.rests_on.as_ref()).into_iter().flatten();
    // A Cluster or a ClusterDeployment stands for others that are gone from the sources, and nothing refers to what
    // makes machines.
    let is_one_of_several = |key: &ObjectKey| {
        let is_of_machines = names_cluster(&key.kind) || kinds::is_failure_domain(&key.kind);
        is_of_machines || is_cluster(&key.kind) || key.kind == deployments::kind()
    };
    let is_open = |key: &ObjectKey| matches!(snapshot.stands(key), Lookup::Unread(_) | Lookup::Unasked);
    let stays = |key: &ObjectKey| (needed.contains(key) || is_one_of_several(key)) && is_open(key);
    // What may not be provided any more stands where it stood.
    let is_ignored = |key: &ObjectKey, at: &ReadAt| {
        needed.contains(key) && snapshot.ignored(key).is_some_and(|origin| origin.source == at.source)
    };
    for (key, at) in before {
        if stays(key) || (!found.contains_key(key) && is_ignored(key, at)) {
            found.insert(key.clone(), at.clone());
        }
    }
    manifest.rests_on = Some(found);
}

/// The objects that a bundle says were read in one of these files of a source, whatever its extension is now. Of what an older
/// bundle has, it says nothing: that may have stood in any.
pub fn stood_in(
    manifest: &Manifest,
    source: &SourceName,
    files: &BTreeSet<&str>,
    system: &Namespace,
) -> BTreeSet<ObjectKey> {
    let stems: BTreeSet<&str> = files.iter().map(|file| stem(file)).collect();
    let is_in = |at: &ReadAt| at.source == *source && stems.contains(stem(&at.path));
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

/// A path without the extension of its file.
fn stem(path: &str) -> &str {
    path.rsplit_once('.').filter(|(_, extension)| !extension.contains('/')).map_or(path, |(stem, _)| stem)
}

/// All that objects of a region rest on.
fn all(world: &World<'_>, objects: &[ManifestObject]) -> BTreeSet<ObjectKey> {
    let mut keys = deciding(objects, &world.fleet.system_namespace);
    keys.extend(clusters(world.snapshot, objects).cloned());
    keys.extend(world.facts.placements.slices().cloned());
    let claimants = || objects.iter().flat_map(|object| &object.needed_by).map(|needed_by| &needed_by.by);
    let clusters = claimants().filter_map(|by| world.facts.asked_by(by)?.claim.as_ref()?.all_starts());
    keys.extend(clusters.flat_map(|starts| &starts.makers).cloned());
    let users = claimants().filter_map(|by| world.facts.deployments.first_of(by));
    keys.extend(users.cloned());
    keys
}

/// The claimants of objects, what takes objects for them or leads to these, what those are made of, and their namespaces.
fn deciding(objects: &[ManifestObject], system: &Namespace) -> BTreeSet<ObjectKey> {
    let interface = GroupKind::new(k0rdent::GROUP, "ProviderInterface");
    let (mut keys, mut namespaces) = (Vec::new(), BTreeSet::new());
    for needed_by in objects.iter().flat_map(|object| &object.needed_by) {
        let by = &needed_by.by;
        keys.extend(match needed_by.through.first() {
            // What is handed out is another Credential's.
            Some(Step::AccessRule(_)) => Some(credential_key(system, &Name::from(&*by.name()))),
            _ => kinds::claimant(by),
        });
        namespaces.insert(by.namespace());
        keys.extend(needed_by.takers().filter_map(|taker| texts::key(&taker)));
        keys.extend(needed_by.through.iter().filter_map(|step| match step {
            Step::Data(key) => Some(key.clone()),
            Step::Field { interface: Some(name), .. } => Some(ObjectKey::new(interface.clone(), None, name.clone())),
            Step::AccessRule(_) | Step::Field { .. } | Step::Rule(_) | Step::Template(_) | Step::Opaque(_) => None,
        }));
    }
    keys.into_iter().chain(namespaces.into_iter().map(ObjectKey::namespace)).collect()
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
    use alloc::vec::Vec;

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
        check(&told, ("git", "one.json"), "Secret team/a");
        check(&told, ("git", "b.x/one"), "");
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
