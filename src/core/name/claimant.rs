//! Claimant: who makes a claim.
//!
//! The unit of failure: each claimant is resolved, refused or broken by itself. Its kind says what it asks for, and a
//! match names each, so that a new kind is a list of compile errors.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use super::{Kind, Name, Namespace, ObjectKey};

/// Who makes a claim: an object, or what the configuration or a rule makes of one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Claimant {
    /// A Cluster of Cluster API.
    Cluster {
        /// Its namespace.
        namespace: Namespace,
        /// Its name.
        name: Name,
    },
    /// A ClusterResourceSet of Cluster API.
    ResourceSet {
        /// Its namespace.
        namespace: Namespace,
        /// Its name.
        name: Name,
    },
    /// A Credential.
    Credential {
        /// Its namespace.
        namespace: Namespace,
        /// Its name.
        name: Name,
    },
    /// A group of guest clusters in a namespace; it stands in the configuration, and no object is called so.
    Guests {
        /// The namespace of their Clusters.
        namespace: Namespace,
        /// The group.
        group: Name,
    },
    /// A ManagedResource for a namespace.
    Template {
        /// The namespace that it is rendered for.
        namespace: Namespace,
        /// The ManagedResource.
        template: Name,
    },
    /// A ResourceSyncRule and an object that it takes.
    SyncRule {
        /// The object's namespace, or for a cluster-scoped one that of the system.
        namespace: Namespace,
        /// The ResourceSyncRule.
        rule: Name,
        /// The object; none of a rule as a whole, where nobody knows what it takes.
        object: Option<Name>,
    },
    /// A claimant of a kind that this release does not know, as a manifest of another release names it.
    Other {
        /// Its kind.
        kind: Kind,
        /// Its namespace.
        namespace: Namespace,
        /// Its name.
        name: Name,
    },
}

const CLUSTER: &str = "Cluster";
const RESOURCE_SET: &str = "ClusterResourceSet";
const CREDENTIAL: &str = "Credential";
const GUESTS: &str = "Guest";
const TEMPLATE: &str = "ManagedResource";
const SYNC_RULE: &str = "ResourceSyncRule";

/// The kinds that this release knows.
const KINDS: [&str; 6] = [CLUSTER, RESOURCE_SET, CREDENTIAL, GUESTS, TEMPLATE, SYNC_RULE];

impl Claimant {
    /// A Credential.
    pub fn credential(namespace: Namespace, name: Name) -> Self {
        Self::Credential { namespace, name }
    }

    /// The claimant of a kind, as manifests and the configuration write it.
    ///
    /// No ResourceSyncRule has a colon in its name, so that the first one stands before the object.
    pub fn new(kind: &str, namespace: Namespace, name: &str) -> Self {
        match kind {
            CLUSTER => Self::Cluster { namespace, name: name.into() },
            RESOURCE_SET => Self::ResourceSet { namespace, name: name.into() },
            CREDENTIAL => Self::Credential { namespace, name: name.into() },
            GUESTS => Self::Guests { namespace, group: name.into() },
            TEMPLATE => Self::Template { namespace, template: name.into() },
            SYNC_RULE => {
                let (rule, object) =
                    name.split_once(':').map_or((name, None), |(rule, object)| (rule, Some(object.into())));
                Self::SyncRule { namespace, rule: rule.into(), object }
            }
            kind => Self::Other { kind: kind.into(), namespace, name: name.into() },
        }
    }

    /// Its kind, such as `Credential`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Cluster { .. } => CLUSTER,
            Self::ResourceSet { .. } => RESOURCE_SET,
            Self::Credential { .. } => CREDENTIAL,
            Self::Guests { .. } => GUESTS,
            Self::Template { .. } => TEMPLATE,
            Self::SyncRule { .. } => SYNC_RULE,
            Self::Other { kind, .. } => kind.as_str(),
        }
    }

    /// The namespace that it belongs to.
    pub fn namespace(&self) -> &Namespace {
        match self {
            Self::Cluster { namespace, .. }
            | Self::ResourceSet { namespace, .. }
            | Self::Credential { namespace, .. }
            | Self::Guests { namespace, .. }
            | Self::Template { namespace, .. }
            | Self::SyncRule { namespace, .. }
            | Self::Other { namespace, .. } => namespace,
        }
    }

    /// Its name as it is written: `rule:object` of what a rule takes.
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Cluster { name, .. }
            | Self::ResourceSet { name, .. }
            | Self::Credential { name, .. }
            | Self::Guests { group: name, .. }
            | Self::Template { template: name, .. }
            | Self::SyncRule { rule: name, object: None, .. }
            | Self::Other { name, .. } => name.as_str(),
            Self::SyncRule { rule, object: Some(object), .. } => return Cow::Owned(format!("{rule}:{object}")),
        })
    }

    /// The ResourceSyncRule, if one takes it or it is one as a whole.
    pub fn rule(&self) -> Option<&Name> {
        match self {
            Self::SyncRule { rule, .. } => Some(rule),
            Self::Cluster { .. }
            | Self::ResourceSet { .. }
            | Self::Credential { .. }
            | Self::Guests { .. }
            | Self::Template { .. }
            | Self::Other { .. } => None,
        }
    }

    /// The ManagedResource, if it is one.
    pub fn template(&self) -> Option<&Name> {
        match self {
            Self::Template { template, .. } => Some(template),
            Self::Cluster { .. }
            | Self::ResourceSet { .. }
            | Self::Credential { .. }
            | Self::Guests { .. }
            | Self::SyncRule { .. }
            | Self::Other { .. } => None,
        }
    }

    /// The group of guest clusters, if it is one.
    pub fn group(&self) -> Option<&Name> {
        match self {
            Self::Guests { group, .. } => Some(group),
            Self::Cluster { .. }
            | Self::ResourceSet { .. }
            | Self::Credential { .. }
            | Self::Template { .. }
            | Self::SyncRule { .. }
            | Self::Other { .. } => None,
        }
    }

    /// Whether it puts what it makes where it wants that, and not what it read where that was read.
    pub fn is_maker(&self) -> bool {
        match self {
            Self::Template { .. } | Self::SyncRule { .. } => true,
            Self::Cluster { .. }
            | Self::ResourceSet { .. }
            | Self::Credential { .. }
            | Self::Guests { .. }
            | Self::Other { .. } => false,
        }
    }

    /// Whether it is a Credential.
    pub fn is_credential(&self) -> bool {
        match self {
            Self::Credential { .. } => true,
            Self::Cluster { .. }
            | Self::ResourceSet { .. }
            | Self::Guests { .. }
            | Self::Template { .. }
            | Self::SyncRule { .. }
            | Self::Other { .. } => false,
        }
    }

    /// Whether it is a ClusterResourceSet of Cluster API.
    pub fn is_resource_set(&self) -> bool {
        match self {
            Self::ResourceSet { .. } => true,
            Self::Cluster { .. }
            | Self::Credential { .. }
            | Self::Guests { .. }
            | Self::Template { .. }
            | Self::SyncRule { .. }
            | Self::Other { .. } => false,
        }
    }

    /// `namespace/name` of a Credential; of another kind, `cluster/namespace/name`, as the command line takes it.
    pub fn path(&self) -> String {
        if self.is_credential() {
            return self.place();
        }
        format!("{}/{}", self.kind().to_ascii_lowercase(), self.place())
    }

    /// `namespace/name`, without the kind.
    pub fn place(&self) -> String {
        format!("{}/{}", self.namespace(), self.name())
    }

    /// A [`path`](Self::path) for people, who are told the kind: `Credential namespace/name`.
    pub fn titled(path: &str) -> String {
        Self::of_path(path).map_or_else(|| format!("{CREDENTIAL} {path}"), |by| format!("{by}"))
    }

    /// The claimant that a [`path`](Self::path) stands for.
    pub fn of_path(path: &str) -> Option<Self> {
        let (kind, place) = match path.split_once('/') {
            Some((word, place)) if place.contains('/') => (word, place),
            _ => (CREDENTIAL, path),
        };
        let (namespace, name) = place.split_once('/')?;
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return None;
        }
        let kind = KINDS.into_iter().find(|known| kind.eq_ignore_ascii_case(known))?;
        Some(Self::new(kind, namespace.into(), name))
    }

    /// Whether an object has its kind and name, whatever its group is.
    pub fn is_named(&self, key: &ObjectKey) -> bool {
        key.kind.kind == *self.kind()
            && key.namespace.as_ref() == Some(self.namespace())
            && *self.name() == *key.name.as_str()
    }
}

/// `Kind namespace/name`, for people.
impl fmt::Display for Claimant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind(), self.namespace(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

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
    fn every_kind_is_read_as_it_is_written() {
        let (namespace, name) = (Namespace::from("a"), Name::from("b"));
        for kind in KINDS.into_iter().chain(["Machine"]) {
            let by = Claimant::new(kind, namespace.clone(), name.as_str());
            assert_eq!((by.kind(), by.namespace(), &*by.name()), (kind, &namespace, "b"));
            assert_eq!(matches!(by, Claimant::Other { .. }), kind == "Machine");
        }
        let taken = Claimant::new(SYNC_RULE, namespace, "r:a:b");
        assert_eq!((taken.rule(), &*taken.name()), (Some(&"r".into()), "r:a:b"));
    }
}
