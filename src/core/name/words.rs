//! Words: a newtype for every text that could be swapped for another, and the text that they share.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::{fmt, hash};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
                    Text::Shared(text) => text.clone(),
                    text => Arc::from(text.as_str()),
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
/// The core group.
impl Default for Group {
    fn default() -> Self {
        Self::from("")
    }
}

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

/// A text that costs nothing to copy, in sixteen bytes: a run holds millions.
#[derive(Clone)]
enum Text {
    /// The number of one of [`KNOWN`].
    Known(u8),
    Shared(Arc<str>),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Text::Known(number) => KNOWN.get(usize::from(*number)).copied().unwrap_or_default(),
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

/// The words that most objects' keys are made of: they take no memory, and comparing one with itself does not read it.
static KNOWN: [&str; 22] = [
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

/// The number of a known word.
fn known(text: &str) -> Option<u8> {
    KNOWN.iter().zip(0..).find(|(known, _)| **known == text).map(|(_, number)| number)
}
