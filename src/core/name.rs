//! Names: a newtype for every identifier that could be swapped for another.
//!
//! All of them are shared strings, so that one hundred thousand keys in `kcm-system` hold that name once; the
//! words of nearly every key take no memory at all. This module knows how Kubernetes bounds names; it knows
//! nothing of objects.

pub mod holder;
pub mod made;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::{fmt, hash};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that costs nothing to copy.
#[derive(Clone)]
enum Text {
    /// One of [`known`].
    Known(&'static str),
    Shared(Arc<str>),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Text::Known(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        known(text).map_or_else(|| Text::Shared(Arc::from(text)), Text::Known)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.as_str(), other.as_str());
        core::ptr::eq(a, b) || a == b
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    /// Compares as the texts do. Most texts that meet are one and the same, which their pointers tell: where
    /// keys are many, the texts themselves are in no cache.
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.as_str(), other.as_str());
        if core::ptr::eq(a, b) { Ordering::Equal } else { a.cmp(b) }
    }
}

impl hash::Hash for Text {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// The static form of a word that most objects' keys are made of: it takes no memory, and comparing it with
/// itself does not read it.
fn known(text: &str) -> Option<&'static str> {
    const KNOWN: [&str; 22] = [
        "",
        "v1",
        "v1beta1",
        "v1beta2",
        "v1alpha1",
        "Secret",
        "Region",
        "ConfigMap",
        "Namespace",
        "Credential",
        "kcm-system",
        "k0rdent.mirantis.com",
        "ProviderInterface",
        "AWSClusterStaticIdentity",
        "AWSClusterRoleIdentity",
        "AzureClusterIdentity",
        "VSphereClusterIdentity",
        "OpenStackClusterIdentity",
        "ClusterDeployment",
        "ManagedResource",
        "infrastructure.cluster.x-k8s.io",
        "automation.kubensync.com",
    ];
    KNOWN.into_iter().find(|known| *known == text)
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Text);

        impl $name {
            /// Wraps `text` as it is; nothing is checked here.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(Text::Shared(text.into()))
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The shared text, for keeping it without a copy.
            pub fn shared(&self) -> Arc<str> {
                match &self.0 {
                    Text::Known(text) => Arc::from(*text),
                    Text::Shared(text) => text.clone(),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Text::from(text))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<str>::deserialize(deserializer).map(|text| Self::from(&*text))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                String::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                String::json_schema(generator)
            }
        }

        impl core::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }
    };
}

word!(
    /// A fleet: `metadata.name` of `pouch.yaml`.
    FleetName
);
word!(
    /// A region as the configuration names it; what `Credential.spec.region` holds.
    Region
);
word!(
    /// A region's folder: `[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?`. Paths, tags and delivery objects
    /// use it, so that renaming a region moves and re-seals nothing.
    Directory
);
word!(
    /// A Kubernetes namespace.
    Namespace
);
word!(
    /// `metadata.name` of an object.
    Name
);
word!(
    /// An API group; empty for the core group.
    Group
);
word!(
    /// A kind, such as `Secret`.
    Kind
);
word!(
    /// An API version without its group, such as `v1beta2`.
    Version
);
word!(
    /// A source as the configuration names it.
    SourceName
);

/// A group and a kind: what an object *is*, whatever version it is written in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupKind {
    /// The API group; empty for the core group.
    pub group: Group,
    /// The kind.
    pub kind: Kind,
}

impl GroupKind {
    /// Joins a group and a kind.
    pub fn new(group: &str, kind: &str) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }

    /// Whether this is `group` and `kind`.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether this is the core group's `Secret`.
    pub fn is_secret(&self) -> bool {
        self.is("", "Secret")
    }

    /// Whether this is the core group's `ConfigMap`.
    pub fn is_config_map(&self) -> bool {
        self.is("", "ConfigMap")
    }

    /// Whether this is the core group's `Namespace`.
    pub fn is_namespace(&self) -> bool {
        self.is("", "Namespace")
    }

    /// `apiVersion` of this group in `version`.
    pub fn api_version(&self, version: &Version) -> alloc::string::String {
        if self.group == "" { format!("{version}") } else { format!("{}/{version}", self.group) }
    }
}

/// Kubectl's way: `Kind.group`, or `Kind` alone for the core group.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group == "" { write!(f, "{}", self.kind) } else { write!(f, "{}.{}", self.kind, self.group) }
    }
}

/// What identifies an object: group, kind, namespace and name, whatever version it is written in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectKey {
    /// Group and kind.
    pub kind: GroupKind,
    /// The namespace; none for cluster-scoped kinds.
    pub namespace: Option<Namespace>,
    /// The name.
    pub name: Name,
}

impl ObjectKey {
    /// Joins the parts.
    pub fn new(kind: GroupKind, namespace: Option<Namespace>, name: Name) -> Self {
        Self { kind, namespace, name }
    }

    /// A Secret's key.
    pub fn secret(namespace: Namespace, name: Name) -> Self {
        Self::new(GroupKind::new("", "Secret"), Some(namespace), name)
    }

    /// A ConfigMap's key.
    pub fn config_map(namespace: Namespace, name: Name) -> Self {
        Self::new(GroupKind::new("", "ConfigMap"), Some(namespace), name)
    }

    /// A Namespace's key.
    pub fn namespace(namespace: &Namespace) -> Self {
        Self::new(GroupKind::new("", "Namespace"), None, Name::new(namespace.shared()))
    }

    /// The scope that the key is written for.
    pub fn scope(&self) -> Scope {
        if self.namespace.is_some() { Scope::Namespaced } else { Scope::Cluster }
    }

    /// The namespace, empty for cluster-scoped kinds.
    pub fn namespace_text(&self) -> &str {
        self.namespace.as_ref().map_or("", Namespace::as_str)
    }

    /// `namespace/name`, or the name alone for cluster-scoped kinds, without the kind.
    pub fn path(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => String::from(self.name.as_str()),
        }
    }
}

/// The object that makes a claim; its own kind says what it asks for.
///
/// The unit of failure: each claimant is resolved, refused or broken by itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Claimant {
    /// Its kind, such as `Credential`.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: Name,
}

/// The kind of claimants that are Credentials.
const CREDENTIAL: &str = "Credential";

/// The kind of claimants that are Clusters of Cluster API.
const CLUSTER: &str = "Cluster";

/// The kind of claimants that are a ResourceSyncRule and an object that it takes.
const SYNC_RULE: &str = "ResourceSyncRule";

/// The kind of claimants that are ClusterResourceSets of Cluster API.
const RESOURCE_SET: &str = "ClusterResourceSet";
/// The kind of claimants that are ManagedResources of KubeNSync, each for one namespace of a region.
const MANAGED_RESOURCE: &str = "ManagedResource";

/// The kind of claimants that are a group of guest clusters in a namespace.
const GUEST: &str = "Guest";

impl Claimant {
    /// A Credential.
    pub fn credential(namespace: Namespace, name: Name) -> Self {
        Self { kind: CREDENTIAL.into(), namespace, name }
    }

    /// A Cluster of Cluster API.
    pub fn cluster(namespace: Namespace, name: Name) -> Self {
        Self { kind: CLUSTER.into(), namespace, name }
    }

    /// A ResourceSyncRule and an object that it takes, in the object's namespace, or for a cluster-scoped one in that of
    /// the system. No rule has a colon in its name, so no two are called the same.
    pub fn synced(rule: &Name, namespace: Namespace, object: &Name) -> Self {
        Self { kind: SYNC_RULE.into(), namespace, name: Name::new(format!("{rule}:{object}")) }
    }

    /// A ResourceSyncRule as a whole, where nobody knows what it takes.
    pub fn sync_rule(rule: &Name, system: Namespace) -> Self {
        Self { kind: SYNC_RULE.into(), namespace: system, name: rule.clone() }
    }

    /// Whether it is a ResourceSyncRule, with an object or as a whole.
    pub fn is_sync_rule(&self) -> bool {
        self.kind == SYNC_RULE
    }

    /// The names of the ResourceSyncRule and of the object that it takes, if it is that.
    pub fn rule_and_object(&self) -> Option<(&str, Option<&str>)> {
        let split = || self.name.as_str().split_once(':');
        self.is_sync_rule().then(|| split().map_or((self.name.as_str(), None), |(rule, object)| (rule, Some(object))))
    }

    /// A ClusterResourceSet of Cluster API.
    pub fn resource_set(namespace: Namespace, name: Name) -> Self {
        Self { kind: RESOURCE_SET.into(), namespace, name }
    }

    /// A ManagedResource for a namespace.
    pub fn managed_resource(namespace: Namespace, name: Name) -> Self {
        Self { kind: MANAGED_RESOURCE.into(), namespace, name }
    }

    /// Whether it puts what it makes where it wants that, and not what it read where that was read.
    pub fn is_maker(&self) -> bool {
        self.is_sync_rule() || self.is_managed_resource()
    }

    /// Whether it is a ManagedResource.
    pub fn is_managed_resource(&self) -> bool {
        self.kind == MANAGED_RESOURCE
    }

    /// A group of guest clusters in a namespace; it stands in the configuration, and no object is called so.
    pub fn guest(namespace: Namespace, group: Name) -> Self {
        Self { kind: GUEST.into(), namespace, name: group }
    }

    /// `namespace/name` of a Credential; of another kind, `cluster/namespace/name`, as the command line takes it.
    pub fn path(&self) -> String {
        if self.is_credential() {
            return self.place();
        }
        format!("{}/{}", self.kind.as_str().to_ascii_lowercase(), self.place())
    }

    /// `namespace/name`, without the kind.
    pub fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// A [`path`](Self::path) for people, who are told the kind: `Credential namespace/name`.
    pub fn titled(path: &str) -> String {
        Self::of_path(path).map_or_else(|| format!("{CREDENTIAL} {path}"), |by| format!("{by}"))
    }

    /// The claimant that a [`path`](Self::path) stands for.
    pub fn of_path(path: &str) -> Option<Self> {
        let (kind, place) = match path.split_once('/') {
            Some((word, place)) if place.contains('/') => (Some(word), place),
            _ => (None, path),
        };
        let (namespace, name) = place.split_once('/')?;
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return None;
        }
        match kind {
            None => Some(Self::credential(namespace.into(), name.into())),
            Some(kind) if kind.eq_ignore_ascii_case(CLUSTER) => Some(Self::cluster(namespace.into(), name.into())),
            Some(kind) if kind.eq_ignore_ascii_case(SYNC_RULE) => {
                Some(Self { kind: SYNC_RULE.into(), namespace: namespace.into(), name: name.into() })
            }
            Some(kind) if kind.eq_ignore_ascii_case(RESOURCE_SET) => {
                Some(Self::resource_set(namespace.into(), name.into()))
            }
            Some(kind) if kind.eq_ignore_ascii_case(MANAGED_RESOURCE) => {
                Some(Self::managed_resource(namespace.into(), name.into()))
            }
            Some(kind) if kind.eq_ignore_ascii_case(GUEST) => Some(Self::guest(namespace.into(), name.into())),
            Some(_) => None,
        }
    }

    /// Whether it is a Credential.
    pub fn is_credential(&self) -> bool {
        self.kind == CREDENTIAL
    }

    /// Whether it is a ClusterResourceSet of Cluster API.
    pub fn is_resource_set(&self) -> bool {
        self.kind == RESOURCE_SET
    }

    /// Whether it is a group of guest clusters in a namespace.
    pub fn is_guest(&self) -> bool {
        self.kind == GUEST
    }

    /// Whether an object has its kind and name, whatever its group is.
    pub fn is_named(&self, key: &ObjectKey) -> bool {
        (&self.kind, Some(&self.namespace), &self.name) == (&key.kind.kind, key.namespace.as_ref(), &key.name)
    }
}

/// `Kind namespace/name`, for people.
impl fmt::Display for Claimant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Whether objects of a kind have a namespace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// They have one.
    Namespaced,
    /// They have none, whatever a manifest says.
    Cluster,
}

/// Whether a text has a variable in it that somebody was to fill in: in the words of Helm, or of clusterctl and Flux.
pub fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("${")
}

/// Splits `apiVersion` into group and version: `v1` is the core group's.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Whether `text` is an RFC 1123 label: 1 to 63 of `[a-z0-9-]`, alphanumeric at both ends.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label_shaped(text)
}

/// Whether `text` is an RFC 1123 subdomain: labels joined by dots, 1 to 253 bytes in all.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label_shaped)
}

/// Whether `text` can name a region's folder: 1 to 40 of `[a-z0-9-]`, alphanumeric at both ends.
pub fn is_directory(text: &str) -> bool {
    text.len() <= 40 && is_label_shaped(text)
}

/// Whether `text` can be a key of a Secret's or ConfigMap's `data`: 1 to 253 of `[-._a-zA-Z0-9]`,
/// neither `.`, nor `..`, nor starting with `..`.
pub fn is_data_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text != "."
        && !text.starts_with("..")
}

fn is_label_shaped(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString as _};

    #[test]
    fn names_are_bounded_as_kubernetes_bounds_them() {
        for good in ["a", "a-b", "0", "a.b-c.d", "eu-west-1"] {
            assert!(is_dns_subdomain(good), "{good}");
        }
        let long: String = "a".repeat(254);
        for bad in ["", ".", "..", "a..b", "-a", "a-", "A", "a_b", "a/b", "a\nb", "é", ".a", &long] {
            assert!(!is_dns_subdomain(bad), "{bad:?}");
        }
        assert!(is_dns_label(&"a".repeat(63)) && !is_dns_label(&"a".repeat(64)));
        assert!(!is_dns_label("a.b"));
        assert!(is_directory(&"a".repeat(40)) && !is_directory(&"a".repeat(41)));
        assert!(!is_directory("../x") && !is_directory("Eu"));
    }

    #[test]
    fn data_keys_are_bounded_as_kubernetes_bounds_them() {
        for good in ["clouds.yaml", ".dockerconfigjson", "A_b-c.d", "..."] {
            assert_eq!(is_data_key(good), good != "...", "{good}");
        }
        for bad in ["", ".", "..", "..a", "a b", "a:b", "a/b", "é"] {
            assert!(!is_data_key(bad), "{bad:?}");
        }
    }

    #[test]
    fn the_path_of_a_claimant_says_its_kind_unless_that_is_the_usual_one() {
        for (path, shown) in [
            ("a/b", "Credential a/b"),
            ("cluster/a/b", "Cluster a/b"),
            ("clusterresourceset/a/b", "ClusterResourceSet a/b"),
            ("guest/a/b", "Guest a/b"),
        ] {
            let by = Claimant::of_path(path).unwrap();
            assert_eq!((by.to_string(), by.path()), (shown.to_string(), path.to_string()));
        }
        assert_eq!(Claimant::of_path("Cluster/a/b"), Claimant::of_path("cluster/a/b"));
        for bad in ["a", "a/", "/b", "cluster/a/", "machine/a/b", "cluster//b", "cluster/a/b/c", ""] {
            assert_eq!(Claimant::of_path(bad), None, "{bad}");
        }
    }

    #[test]
    fn api_versions_split_at_the_slash() {
        assert_eq!(split_api_version("v1"), ("", "v1"));
        assert_eq!(split_api_version("a.b/v1beta2"), ("a.b", "v1beta2"));
        let identity = GroupKind::new("a.b", "Thing");
        assert_eq!(identity.api_version(&"v2".into()), "a.b/v2");
        assert_eq!(format!("{identity}"), "Thing.a.b");
    }
}
