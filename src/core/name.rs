//! Names: a newtype for every identifier that could be swapped for another.
//!
//! All of them are shared strings, so that one hundred thousand keys in `kcm-system` hold that name once; the
//! words of nearly every key take no memory at all. This module knows how Kubernetes bounds names; it knows
//! nothing of objects.

mod claimant;
pub mod holder;
pub mod made;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::{fmt, hash};

pub use claimant::Claimant;
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
    use alloc::string::String;

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
    fn api_versions_split_at_the_slash() {
        assert_eq!(split_api_version("v1"), ("", "v1"));
        assert_eq!(split_api_version("a.b/v1beta2"), ("a.b", "v1beta2"));
        let identity = GroupKind::new("a.b", "Thing");
        assert_eq!(identity.api_version(&"v2".into()), "a.b/v2");
        assert_eq!(format!("{identity}"), "Thing.a.b");
    }
}
