//! Clusters of Cluster API that a region takes.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, quoted, suggest};
use super::super::file::{ClusterIdentityFile, RegionClustersFile};
use super::super::{ClusterEntries, ExtraKind, Globs, TakenClusters, TakenIdentity};
use super::name::{namespace, object_name};
use crate::kinds::{Scopes, is_published, published};
use crate::name::{GroupKind, Scope, split_api_version};

/// Resolves `clusters` of a region.
pub(super) fn resolve(
    typed: &[RegionClustersFile],
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    path: &FieldPath,
    faults: &mut Faults,
) -> ClusterEntries {
    let mut entries = Vec::new();
    for (at, typed) in typed.iter().enumerate() {
        let path = path.index(at);
        entries.push(match typed {
            RegionClustersFile::Glob(text) => {
                TakenClusters { clusters: glob(text, CLUSTER, &path, faults), identity: None }
            }
            RegionClustersFile::With(with) => TakenClusters {
                clusters: glob(&with.name, CLUSTER, &path.key("name"), faults),
                identity: Some(identity(&with.identity_ref, kinds, &path.key("identityRef"), faults)),
            },
        });
    }
    ClusterEntries::new(entries)
}

/// What globs of `clusters` are over.
const CLUSTER: &str = "Cluster";

/// Globs over names of objects of a kind, each with a namespace before it.
pub(super) fn globs(typed: &[String], kind: &str, path: &FieldPath, faults: &mut Faults) -> Globs {
    for (at, text) in typed.iter().enumerate() {
        glob(text, kind, &path.index(at), faults);
    }
    Globs::new(typed).unwrap_or_default()
}

/// A glob over names with a namespace before them. As both have exactly one slash, no wildcard can stand for one.
fn glob(text: &String, kind: &str, path: &FieldPath, faults: &mut Faults) -> Globs {
    let patterns = core::slice::from_ref(text);
    let is_path = matches!(text.split_once('/'), Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/'));
    match Globs::new(patterns) {
        Ok(globs) if is_path => globs,
        _ => {
            let help = format!(
                "Write `NAMESPACE/NAME`, in which `*` stands for any characters and `?` for one; `*/*` is every {kind}."
            );
            faults.add(path, format!("{} is not a glob over {kind}s", quoted(text)), help);
            Globs::default()
        }
    }
}

fn identity(
    typed: &ClusterIdentityFile,
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    path: &FieldPath,
    faults: &mut Faults,
) -> TakenIdentity {
    let (group, version) = split_api_version(&typed.api_version);
    let kind = GroupKind::new(group, &typed.kind);
    if version.is_empty() {
        faults.add(&path.key("apiVersion"), "it names no version", "Write it as in the identity's own manifest.");
    }
    let built_in = || Scopes::new().of(&kind).filter(|_| is_published(&kind));
    let scope = kinds.get(&kind).map(|extra| extra.scope).or_else(built_in);
    let written = typed.namespace.as_deref().map(|text| namespace(text, &path.key("namespace"), faults));
    if scope.is_none() {
        let all: Vec<String> = published().chain(kinds.keys().cloned()).map(|kind| format!("{kind}")).collect();
        let message = format!("pouch publishes no objects of kind {}", quoted(&format!("{kind}")));
        let shown = format!("{kind}");
        faults.add(&path.key("kind"), message, suggest(&shown, all.iter().map(String::as_str)));
    }
    if scope == Some(Scope::Cluster) && written.is_some() {
        let message = format!("objects of kind {} have no namespace", typed.kind);
        faults.add(&path.key("namespace"), message, "Remove the field.");
    }
    let name = object_name(&typed.name, &path.key("name"), faults);
    TakenIdentity { kind, version: version.into(), namespace: written, name }
}
