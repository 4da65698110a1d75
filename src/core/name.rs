//! Names: a newtype for every identifier that could be swapped for another.
//!
//! All of them are shared strings, so that one hundred thousand keys in `kcm-system` hold that name once; the
//! words of nearly every key take no memory at all. This module knows how Kubernetes bounds names; it knows
//! nothing of objects.

mod form;
pub mod holder;
pub mod made;
mod spelt;
pub mod step;
mod variable;
mod words;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;

pub use form::{
    is_commit_id, is_data_key, is_directory, is_dns_label, is_dns_subdomain, is_template, is_version, split_api_version,
};
use serde::{Deserialize, Serialize};
pub(crate) use spelt::spelt;
pub use variable::{Variables, is_variable, variable_fault};
pub use words::{Directory, FleetName, Group, Kind, Name, Namespace, Region, SourceName, Version};

/// A group and a kind: what an object *is*, whatever version it is written in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupKind {
    /// The API group; empty for the core group.
    pub group: Group,
    /// The kind.
    pub kind: Kind,
}

impl Namespace {
    /// Whether every cluster has the Namespace, or keeps its name for Kubernetes.
    pub fn is_everywhere(&self) -> bool {
        *self == "default" || self.as_str().starts_with("kube-")
    }
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

/// The groups whose kinds are shown without them. No two kinds of these have one name, except `Cluster`.
const SHOWN_BARE: [&str; 10] = [
    "",
    "addons.cluster.x-k8s.io",
    "apiextensions.k8s.io",
    "automation.kubensync.com",
    CLUSTERS,
    "clusterregistry.k8s.cisco.com",
    "infrastructure.cluster.x-k8s.io",
    "k0rdent.mirantis.com",
    "multicluster.x-k8s.io",
    "pouch",
];

/// The group of the `Cluster` that is shown without it.
const CLUSTERS: &str = "cluster.x-k8s.io";

impl GroupKind {
    /// `Kind.group`, or `Kind` of the core group: what is read back.
    pub fn qualified(&self) -> String {
        if self.group == "" { format!("{}", self.kind) } else { format!("{}.{}", self.kind, self.group) }
    }

    /// Returns true if the kind is shown without its group.
    fn is_shown_bare(&self) -> bool {
        SHOWN_BARE.contains(&self.group.as_str()) && (self.kind != "Cluster" || self.group == CLUSTERS)
    }
}

/// `Kind` of the groups that pouch is about, and of any other `Kind.group`, as kubectl takes it.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_shown_bare() { write!(f, "{}", self.kind) } else { write!(f, "{}.{}", self.kind, self.group) }
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
    /// The maker of the object, if it stands in no source.
    pub made: Option<Arc<MadeBy>>,
}

/// The maker of an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MadeBy {
    /// The ManagedResource.
    pub template: Name,
    /// The namespace that the object has; that of its key is the one that it is made for.
    pub lands: Option<Namespace>,
    /// The folder of the region, which stays when the region is renamed.
    pub directory: Box<str>,
    /// True if it is for guest clusters: another thing than what is for the region itself.
    pub in_guests: bool,
}

impl ObjectKey {
    /// Joins the parts.
    pub fn new(kind: GroupKind, namespace: Option<Namespace>, name: Name) -> Self {
        Self { kind, namespace, name, made: None }
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
        path(self.namespace.as_ref(), &self.name)
    }
}

/// The object that another one was made from; kind and group are the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReadFrom {
    /// The namespace; none for cluster-scoped kinds.
    pub namespace: Option<Namespace>,
    /// The name.
    pub name: Name,
    /// Its maker, if it stands in no source: then the namespace is the one that it is made for.
    pub made: Option<Arc<MadeBy>>,
}

impl ReadFrom {
    /// The place of an object.
    pub fn of(key: &ObjectKey) -> Self {
        Self { namespace: key.namespace.clone(), name: key.name.clone(), made: key.made.clone() }
    }

    /// Returns true for the place of an object, of whatever kind.
    pub fn is_of(&self, key: &ObjectKey) -> bool {
        self.namespace == key.namespace && self.name == key.name && self.made == key.made
    }
}

/// The file in which something was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReadAt {
    /// The source.
    pub source: SourceName,
    /// The file, from the source's own path on.
    pub path: Arc<str>,
}

fn path(namespace: Option<&Namespace>, name: &Name) -> String {
    namespace.map_or_else(|| String::from(name.as_str()), |namespace| format!("{namespace}/{name}"))
}

/// The maker of a claim: an object, or what the configuration or a rule makes of one.
///
/// The unit of failure: each claimant is resolved, refused or broken by itself. Matches on it name each kind, so that a new
/// kind is a list of compile errors.
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
    /// An entry of a group of guest clusters, for a namespace, or the group itself: it stands in the configuration, and nothing is
    /// called so.
    Guests {
        /// The namespace of their Clusters.
        namespace: Namespace,
        /// The group.
        group: Name,
        /// The object, rule or template that the entry names; none of the group itself, which asks for nothing.
        entry: Option<Box<Entry>>,
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
        /// Its namespace; empty where none is written.
        namespace: Namespace,
        /// Its name; empty where none is written.
        name: Name,
        /// All that the manifest writes of it; empty where that is nothing else.
        written: Box<str>,
    },
}

/// An entry of a group of guest clusters, by what it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// An object.
    Object(ObjectKey),
    /// A ResourceSyncRule.
    Rule {
        /// Its name.
        rule: Name,
        /// An object that it takes; none of the rule as a whole, which says whether it can be followed.
        object: Option<TakenObject>,
    },
    /// A ManagedResource.
    Template(Name),
}

/// An object that a ResourceSyncRule takes, whose kind the rule says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TakenObject {
    /// Its namespace; none of a cluster-scoped one.
    pub namespace: Option<Namespace>,
    /// Its name.
    pub name: Name,
}

impl Entry {
    /// The entry that `Kind/namespace/name` stands for, or `Kind.group/name` without a namespace.
    fn of_path(text: &str) -> Option<Self> {
        let (kind, place) = text.split_once('/')?;
        // No ResourceSyncRule has a colon in its name.
        let by_rule = place.split_once(':').filter(|_| kind == SYNC_RULE);
        let (rule, place) = by_rule.map_or((None, place), |(rule, object)| (Some(rule), object));
        let (namespace, name) =
            place.split_once('/').map_or((None, place), |(namespace, name)| (Some(namespace), name));
        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
        let is_text = |text: Option<&str>| text != Some("");
        let is_whole = ![kind, name].contains(&"") && !name.contains('/') && is_text(namespace) && is_text(rule);
        is_whole.then(|| match (group, kind, namespace, rule) {
            (_, _, namespace, Some(rule)) => {
                let object = TakenObject { namespace: namespace.map(Into::into), name: name.into() };
                Self::Rule { rule: rule.into(), object: Some(object) }
            }
            ("", SYNC_RULE, None, None) => Self::Rule { rule: name.into(), object: None },
            ("", TEMPLATE, None, None) => Self::Template(name.into()),
            _ => Self::Object(ObjectKey::new(GroupKind::new(group, kind), namespace.map(Into::into), name.into())),
        })
    }

    fn path(&self) -> String {
        match self {
            Self::Object(key) => format!("{}/{}", key.kind.qualified(), key.path()),
            Self::Rule { rule, object: None } => format!("{SYNC_RULE}/{rule}"),
            Self::Rule { rule, object: Some(object) } => format!("{SYNC_RULE}/{rule}:{}", object.path()),
            Self::Template(name) => format!("{TEMPLATE}/{name}"),
        }
    }

    fn order(&self) -> (&str, &str, Option<&ObjectKey>, Option<&Name>, Option<&TakenObject>) {
        match self {
            Self::Object(key) => (key.kind.group.as_str(), key.kind.kind.as_str(), Some(key), None, None),
            Self::Rule { rule, object } => ("", SYNC_RULE, None, Some(rule), object.as_ref()),
            Self::Template(name) => ("", TEMPLATE, None, Some(name), None),
        }
    }

    /// The object, if it names one.
    pub fn object(&self) -> Option<&ObjectKey> {
        if let Self::Object(key) = self { Some(key) } else { None }
    }

    /// The ResourceSyncRule, if it names one.
    pub fn rule(&self) -> Option<&Name> {
        if let Self::Rule { rule, .. } = self { Some(rule) } else { None }
    }

    /// The entry as the configuration writes it: the rule of an object that one takes, and itself of any other.
    pub fn written(&self) -> Cow<'_, Self> {
        match self {
            Self::Rule { rule, object: Some(_) } => Cow::Owned(Self::Rule { rule: rule.clone(), object: None }),
            Self::Rule { object: None, .. } | Self::Object(_) | Self::Template(_) => Cow::Borrowed(self),
        }
    }

    /// The ManagedResource, if it names one.
    pub fn template(&self) -> Option<&Name> {
        if let Self::Template(name) = self { Some(name) } else { None }
    }
}

impl TakenObject {
    /// `namespace/name`, or the name alone.
    pub fn path(&self) -> String {
        path(self.namespace.as_ref(), &self.name)
    }
}

/// By kind first, whatever they name.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// For people: `template login`, `ResourceSyncRule pull`, `Secret registry/token`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(name) => write!(f, "template {name}"),
            Self::Rule { rule, object: None } => write!(f, "ResourceSyncRule {rule}"),
            Self::Rule { rule, object: Some(object) } => write!(f, "{} by ResourceSyncRule {rule}", object.path()),
            Self::Object(read) => read.fmt(f),
        }
    }
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
            GUESTS => {
                let Some((group, entry)) = name.split_once('/') else {
                    return Self::Guests { namespace, group: name.into(), entry: None };
                };
                match Entry::of_path(entry) {
                    Some(entry) => Self::Guests { namespace, group: group.into(), entry: Some(Box::new(entry)) },
                    None => Self::Other { kind: kind.into(), namespace, name: name.into(), written: Box::default() },
                }
            }
            TEMPLATE => Self::Template { namespace, template: name.into() },
            SYNC_RULE => {
                let (rule, object) =
                    name.split_once(':').map_or((name, None), |(rule, object)| (rule, Some(object.into())));
                Self::SyncRule { namespace, rule: rule.into(), object }
            }
            kind => Self::Other { kind: kind.into(), namespace, name: name.into(), written: Box::default() },
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

    /// Its name as it is written: `rule:object` of what a rule takes, `group/Kind/namespace/name` of what a group names.
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Cluster { name, .. }
            | Self::ResourceSet { name, .. }
            | Self::Credential { name, .. }
            | Self::Guests { group: name, entry: None, .. }
            | Self::Template { template: name, .. }
            | Self::SyncRule { rule: name, object: None, .. }
            | Self::Other { name, .. } => name.as_str(),
            Self::SyncRule { rule, object: Some(object), .. } => return Cow::Owned(format!("{rule}:{object}")),
            Self::Guests { group, entry: Some(entry), .. } => {
                return Cow::Owned(format!("{group}/{}", entry.path()));
            }
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

    /// The group of guest clusters, and its entry, if it is one of these.
    fn of_guests(&self) -> Option<(&Name, Option<&Entry>)> {
        match self {
            Self::Guests { group, entry, .. } => Some((group, entry.as_deref())),
            Self::Cluster { .. }
            | Self::ResourceSet { .. }
            | Self::Credential { .. }
            | Self::Template { .. }
            | Self::SyncRule { .. }
            | Self::Other { .. } => None,
        }
    }

    /// The group of guest clusters, if it is one or an entry of one.
    pub fn group(&self) -> Option<&Name> {
        self.of_guests().map(|(group, _)| group)
    }

    /// The entry of a group of guest clusters, if it is one.
    pub fn entry(&self) -> Option<&Entry> {
        self.of_guests().and_then(|(_, entry)| entry)
    }

    /// Returns true for a group of guest clusters as a whole.
    pub fn is_group(&self) -> bool {
        matches!(self.of_guests(), Some((_, None)))
    }

    /// The group that an entry belongs to; any other claimant is itself the whole.
    pub fn whole(&self) -> Cow<'_, Claimant> {
        match self.of_guests() {
            Some((group, Some(_))) => {
                Cow::Owned(Self::Guests { namespace: self.namespace().clone(), group: group.clone(), entry: None })
            }
            Some((_, None)) | None => Cow::Borrowed(self),
        }
    }

    /// The entry of a group that an object which its rule takes belongs to; any other claimant is itself that.
    pub fn written(&self) -> Cow<'_, Claimant> {
        match self.of_guests() {
            Some((group, Some(entry @ Entry::Rule { object: Some(_), .. }))) => {
                let entry = Some(Box::new(entry.written().into_owned()));
                Cow::Owned(Self::Guests { namespace: self.namespace().clone(), group: group.clone(), entry })
            }
            Some(_) | None => Cow::Borrowed(self),
        }
    }

    /// Returns true if it is another claimant, or belongs to it.
    pub fn is_of(&self, other: &Claimant) -> bool {
        self == other || *self.written() == *other || *self.whole() == *other
    }

    /// Returns true if it is one of these, or belongs to one.
    pub fn is_among(&self, these: &BTreeSet<Claimant>) -> bool {
        these.contains(self) || these.contains(&*self.written()) || these.contains(&*self.whole())
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

    /// Returns true for a Credential.
    pub fn is_credential(&self) -> bool {
        matches!(self, Self::Credential { .. })
    }

    /// Returns true for a ClusterResourceSet of Cluster API.
    pub fn is_resource_set(&self) -> bool {
        matches!(self, Self::ResourceSet { .. })
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
        let kind = KINDS.into_iter().find(|known| kind.eq_ignore_ascii_case(known))?;
        let is_name = match name.split_once('/') {
            None => true,
            Some((group, entry)) => kind == GUESTS && !group.is_empty() && Entry::of_path(entry).is_some(),
        };
        (is_name && !namespace.is_empty() && !name.is_empty()).then(|| Self::new(kind, namespace.into(), name))
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

/// Whether objects of a kind have a namespace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// They have one.
    Namespaced,
    /// They have none, whatever a manifest says.
    Cluster,
}

#[cfg(test)]
mod tests;
