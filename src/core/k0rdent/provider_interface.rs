//! ProviderInterfaces: which identity kinds exist, and what each refers to.
//!
//! Each is read into [`Definition`]s, one per kind and version. `clusterGVKs` (until k0rdent 1.10) and
//! `clusterIdentityKinds` say nothing about references and are ignored. The closure decides whose definition
//! counts.

use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::{API_GROUP, KIND, PROVIDER_LABEL, VERSION, is_kind};
use crate::capi;
use crate::finding::{Code, Fault};
use crate::kinds;
use crate::lenient::{Faults, Told, dotted};
use crate::name::{GroupKind, Version, is_dns_subdomain, is_version};
use crate::node::{Key, Node};
use crate::object::Object;

/// The most keys of one field path.
pub const MAX_SEGMENTS: usize = 16;

/// The most bytes of one field path.
pub const MAX_PATH_BYTES: usize = 256;

/// The field of the spec that says what identities refer to.
pub const IDENTITIES: &str = "clusterIdentities";

/// The fields of the spec, in any release.
const SPEC: [&str; 4] = [IDENTITIES, "clusterIdentityKinds", "clusterGVKs", "description"];

/// What one identity kind refers to, in one version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The name of the ProviderInterface that holds the definition.
    pub interface: Arc<str>,
    /// The identity's group and kind.
    pub kind: GroupKind,
    /// The version that the definition is for.
    pub version: Version,
    /// Its references, in the order written.
    pub references: Vec<ReferencePath>,
    /// The Cluster API provider that the interface's label names, such as `infrastructure-aws`.
    pub provider: Option<String>,
}

impl Definition {
    /// Whether both define the same references for the same kind and version, in whichever interface.
    pub fn agrees(&self, other: &Self) -> bool {
        self.kind == other.kind && self.version == other.version && self.references == other.references
    }
}

/// Where an identity names another object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReferencePath {
    /// Group and kind of the other object.
    pub kind: GroupKind,
    /// Its version.
    pub version: Version,
    /// The keys that lead to its name.
    pub name: Vec<Key>,
    /// The keys that lead to its namespace; without them the object is in the system namespace.
    pub namespace: Option<Vec<Key>>,
}

/// Reads a ProviderInterface.
///
/// # Errors
/// Wrong types, names that the API would refuse, paths that are empty, start with a dot, have an empty
/// key or exceed [`MAX_SEGMENTS`] or [`MAX_PATH_BYTES`], and one kind and version defined in two ways.
pub fn read(object: &Object) -> Result<Vec<Definition>, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidObject);
    let interface = object.key.name.shared();
    let provider = object.label(PROVIDER_LABEL).filter(|label| !label.is_empty());
    let mut definitions: Vec<Definition> = Vec::new();
    if let Some(spec) = faults.at(&object.body, "", &["spec"]) {
        let _ = faults.mistyped(spec, "spec", &SPEC);
    }
    let identities = faults.items(&object.body, "", &["spec", IDENTITIES]);
    for (index, item) in identities.iter().enumerate() {
        let at = format!("spec.clusterIdentities[{index}]");
        let _ = faults.mistyped(item, &at, &["group", "version", "kind", "references"]);
        let Some((kind, version)) = kind_and_version(&mut faults, item, &at) else { continue };
        let mut references = Vec::new();
        for (index, reference) in faults.items(item, &at, &["references"]).iter().enumerate() {
            references.extend(reference_path(&mut faults, reference, &kind, &format!("{at}.references[{index}]")));
        }
        let provider = provider.map(|label| label.to_string());
        let definition = Definition { interface: interface.clone(), kind, version, references, provider };
        match definitions.iter().find(|known| known.kind == definition.kind && known.version == definition.version) {
            None => definitions.push(definition),
            Some(known) if known.agrees(&definition) => {}
            Some(_) => faults.add(
                format!("{at} defines {} in {} a second time, differently", definition.kind, definition.version),
                "Remove one of the two; k0rdent reads the first only.",
            ),
        }
    }
    faults.settle(Some(definitions))
}

fn kind_and_version(faults: &mut Faults, item: &Node, at: &str) -> Option<(GroupKind, Version)> {
    let group = faults.text(item, at, &["group"]).unwrap_or_default();
    let group_is = |text: &str| text.is_empty() || is_dns_subdomain(text);
    let group = faults.shaped(Some(group), &dotted(at, &["group"]), group_is, API_GROUP);
    let version = faults.needed(item, at, &["version"]);
    let version = faults.shaped(version, &dotted(at, &["version"]), is_version, VERSION);
    let kind = faults.needed(item, at, &["kind"]);
    let kind = faults.shaped(kind, &dotted(at, &["kind"]), is_kind, KIND);
    Some((GroupKind::new(group?, kind?), version?.into()))
}

fn reference_path(faults: &mut Faults, item: &Node, of: &GroupKind, at: &str) -> Option<ReferencePath> {
    let _ = faults.mistyped(item, at, &["group", "version", "kind", "nameFieldPath", "namespaceFieldPath"]);
    let target = kind_and_version(faults, item, at);
    let name = faults.needed(item, at, &["nameFieldPath"]);
    let name = name.and_then(|path| keys(faults, of, path, &dotted(at, &["nameFieldPath"])));
    // k0rdent treats the empty path as none, and so does pouch.
    let namespace = faults.text(item, at, &["namespaceFieldPath"]);
    let namespace = namespace.map(|path| keys(faults, of, path, &dotted(at, &["namespaceFieldPath"])));
    let (kind, version) = target?;
    Some(ReferencePath { kind, version, name: name?, namespace: namespace.flatten() })
}

/// Splits a path as k0rdent does: at every dot, without escapes, indices or anything of JSONPath.
fn keys(faults: &mut Faults, of: &GroupKind, path: &str, field: &str) -> Option<Vec<Key>> {
    let wrong = if path.starts_with('.') {
        Some("starts with a dot")
    } else if path.len() > MAX_PATH_BYTES {
        Some("is longer than 256 bytes")
    } else if path.split('.').count() > MAX_SEGMENTS {
        Some("has more than 16 keys")
    } else if path.split('.').any(str::is_empty) {
        Some("has an empty key")
    } else {
        None
    };
    if let Some(wrong) = wrong {
        faults.add(
            format!("{field} {wrong}"),
            "Write the keys from the top of the object, joined by dots: spec.secretRef.",
        );
        return None;
    }
    let keys: Vec<&str> = path.split('.').collect();
    // k0rdent reads the path from the whole object, of which pouch keeps only what it publishes.
    let is_read = |top: &&str| kinds::fields(of).contains(top) && !of.is_secret();
    if !matches!(&*keys, ["metadata", "name" | "namespace"]) && !keys.first().is_some_and(is_read) {
        let help = format!("Refer to a field of {}, or to metadata.name or metadata.namespace.", shown(of));
        faults.add(format!("{field} leads to a field of {of} that pouch does not read"), &help);
        return None;
    }
    if let Some(meant) = capi::rules(of).and_then(|rules| capi::mistyped_path(rules, &keys)) {
        let Told = faults.slip(format!("{field} leads to no field of {of}"), &meant);
        return None;
    }
    Some(keys.into_iter().map(Key::from).collect())
}

/// The top-level fields that pouch reads of objects of a kind.
fn shown(of: &GroupKind) -> String {
    if of.is_secret() { "another kind than Secret".to_string() } else { kinds::fields(of).join(" or ") }
}

/// Orders versions by Kubernetes' priority: the greatest is the one to prefer.
///
/// Stable before beta before alpha, then by number, descending; names that are no versions come last,
/// alphabetically.
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority>
pub fn version_priority(a: &Version, b: &Version) -> Ordering {
    match (stability(a.as_str()), stability(b.as_str())) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// Stability (2 is stable), major and minor number.
fn stability(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let (level, (major, minor)) = match (rest.split_once("beta"), rest.split_once("alpha")) {
        (Some(parts), _) => (1, parts),
        (None, Some(parts)) => (0, parts),
        (None, None) => (2, (rest, "0")),
    };
    // `parse` alone would take a plus sign.
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    Some((level, number(major)?, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    fn interface(spec: &str) -> Object {
        let head = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\n\
                    metadata: {name: pi, labels: {cluster.x-k8s.io/provider: infrastructure-x, other: y}}\n";
        object(&format!("{head}spec: {spec}\n"))
    }

    fn faults(spec: &str) -> Vec<String> {
        let faults = read(&interface(spec)).err().unwrap_or_default();
        assert!(
            faults
                .iter()
                .all(|fault| matches!(fault.code, Code::InvalidObject | Code::Mistyped) && !fault.help.is_empty())
        );
        faults.into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn definitions_are_read_and_what_means_nothing_is_ignored() {
        let spec = "{description: d, clusterGVKs: 7, clusterIdentityKinds: {}, clusterIdentities: [\
                    {group: '', version: v1, kind: Secret}, \
                    {group: g.x, version: v1, kind: I, references: [{group: '', version: v1, kind: Secret, \
                    nameFieldPath: spec.ref.name, namespaceFieldPath: spec.ref.namespace, later: 1}, \
                    {version: v1, kind: Secret, nameFieldPath: spec.s, namespaceFieldPath: ''}]}, \
                    {group: '', version: v1, kind: Secret}]}";
        let read = read(&interface(spec)).unwrap();
        assert_eq!(read.len(), 2, "a repetition is no second definition");
        assert!(read.iter().all(|d| &*d.interface == "pi" && d.provider.as_deref() == Some("infrastructure-x")));
        let references: Vec<_> = read.iter().flat_map(|definition| &definition.references).collect();
        let text = |keys: &[Key]| keys.join("/");
        assert_eq!(references.iter().map(|r| text(&r.name)).collect::<Vec<_>>(), ["spec/ref/name", "spec/s"]);
        assert_eq!(
            references.iter().filter_map(|r| r.namespace.as_deref().map(text)).collect::<Vec<_>>(),
            ["spec/ref/namespace"]
        );
        assert!(faults("{}").is_empty() && faults("null").is_empty());
    }

    #[test]
    fn what_cannot_be_followed_is_said() {
        let (long, deep) = ("a".repeat(257), "a.".repeat(16) + "a");
        for (path, wrong) in [
            (".spec.a", " starts with a dot"),
            ("", " is missing or empty"),
            ("spec..a", " has an empty key"),
            ("spec.", " has an empty key"),
            (&long, " is longer than 256 bytes"),
            (&deep, " has more than 16 keys"),
            ("status.ref", " leads to a field of I that pouch does not read"),
            ("metadata.labels.secret", " leads to a field of I that pouch does not read"),
            ("metadata.uid", " leads to a field of I that pouch does not read"),
            ("kind", " leads to a field of I that pouch does not read"),
            ("secretRef.name", " leads to a field of I that pouch does not read"),
        ] {
            let spec = format!(
                "{{clusterIdentities: [{{version: v1, kind: I, references: [{{version: v1, kind: Secret, nameFieldPath: '{path}'}}]}}]}}"
            );
            assert_eq!(faults(&spec), [format!("spec.clusterIdentities[0].references[0].nameFieldPath{wrong}")]);
        }
        assert_eq!(faults("{clusterIdentities: {}}"), ["spec.clusterIdentities is a map, not a list"]);
        assert_eq!(faults("{clusterIdentities: [x]}"), ["spec.clusterIdentities[0] is text, not a map"]);
        assert_eq!(
            faults("{clusterIdentities: [{group: g/h, version: 'v 1', kind: I}]}"),
            [
                format!("spec.clusterIdentities[0].group is not {API_GROUP}"),
                format!("spec.clusterIdentities[0].version is not {VERSION}")
            ]
        );
        assert_eq!(
            faults(
                "{clusterIdentities: [{version: v1, kind: I}, {version: v1, kind: I, references: \
                 [{version: v1, kind: Secret, nameFieldPath: spec.a}]}]}"
            ),
            ["spec.clusterIdentities[1] defines I in v1 a second time, differently"]
        );
    }

    #[test]
    fn what_is_nearly_a_field_is_said() {
        let one = |item: &str| faults(&format!("{{clusterIdentities: [{{version: v1, kind: I, {item}}}]}}"));
        assert_eq!(faults("{clusterIdentites: []}"), ["spec has no field \"clusterIdentites\""]);
        assert_eq!(one("gruop: x.io"), ["spec.clusterIdentities[0] has no field \"gruop\""]);
        assert_eq!(one("refrences: []"), ["spec.clusterIdentities[0] has no field \"refrences\""]);
        assert_eq!(one("2 references: []"), ["spec.clusterIdentities[0] has no field \"2 references\""]);
        assert_eq!(one("later: 1"), [""; 0]);
        let reference = |of: &str, path: &str| {
            let kind = "group: infrastructure.cluster.x-k8s.io, version: v1beta1, kind: ";
            let target = "version: v1, kind: Secret, nameFieldPath: ";
            faults(&format!("{{clusterIdentities: [{{{kind}{of}, references: [{{{target}{path}}}]}}]}}"))
        };
        let at = "spec.clusterIdentities[0].references[0].nameFieldPath";
        let of = "AzureClusterIdentity";
        for path in ["spec.clientSecrt.name", "spec.clientSecret.nane", "spce.clientSecret.name"] {
            let said = match path.starts_with("spec") {
                true => format!("{at} leads to no field of {of}"),
                false => format!("{at} leads to a field of {of} that pouch does not read"),
            };
            assert_eq!(reference("AzureClusterIdentity", path), [said]);
        }
        // A newer version of the provider may have it.
        assert_eq!(reference("AzureClusterIdentity", "spec.federation.name"), [""; 0]);
        assert_eq!(reference("AzureClusterIdentity", "metadata.name"), [""; 0]);
    }

    #[test]
    fn a_broken_object_says_so_a_bounded_number_of_times() {
        let items = "{version: 1},".repeat(10_000);
        assert_eq!(faults(&format!("{{clusterIdentities: [{items}]}}")).len(), Faults::MOST);
    }

    #[test]
    fn versions_have_kubernetes_priority() {
        // The list of the documentation, best first.
        let best_first =
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
        let mut sorted: Vec<Version> = best_first.iter().rev().map(|v| Version::from(*v)).collect();
        sorted.sort_by(|a, b| version_priority(b, a));
        assert_eq!(sorted.iter().map(Version::as_str).collect::<Vec<_>>(), best_first);
        for odd in ["v", "v1beta", "vbeta1", "v+1", "v1alpha1beta1", "1", "", "v1.2"] {
            assert_eq!(version_priority(&odd.into(), &"v1alpha1".into()), Ordering::Less, "{odd}");
        }
    }
}
