//! The snapshot: every object that was read, and what is known of those that were not.
//!
//! [`assemble`] puts the sources together in order: what a source may not provide is ignored, the
//! same object twice is a fault of the object, and an incomplete source makes unknown what it might
//! have held. It knows nothing of files, clusters or YAML.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::config::{Fleet, Provides, Source};
use crate::finding::{Code, Finding, Origin};
use crate::fragment::Fragment;
use crate::k0rdent;
use crate::name::{GroupKind, Name, Namespace, SourceName, Version, split_api_version};
use crate::node::Node;
use crate::object::{Fault, Object, ObjectKey, Refusal, admit};
use crate::scope::{Scope, Scopes};

/// What one source gave: documents in a fixed order, and whether that is all there is.
pub struct Reading {
    /// Documents that have `apiVersion` and `kind`, and where they stand.
    pub documents: Vec<(Node, Origin)>,
    /// Whether absence from `documents` proves absence from the source, but for what `fragments` might
    /// hold.
    pub complete: bool,
    /// Documents that could not be read.
    pub fragments: Vec<Fragment>,
}

/// What looking up a key gives. Absence is something that was proved.
pub enum Lookup<'a> {
    /// The object.
    Found(&'a Object),
    /// No source has it, and all that might have it were read completely.
    Absent,
    /// Nobody knows: this source might have it and was not read completely.
    Unread(&'a SourceName),
}

/// What a CustomResourceDefinition says of a kind.
pub struct Definition {
    /// The versions that are served.
    pub served: Vec<Version>,
}

/// Every object that was read, by key.
pub struct Snapshot {
    objects: BTreeMap<ObjectKey, (usize, Object)>,
    incomplete: Vec<Incomplete>,
    system_namespace: Namespace,
    /// The scopes that were learnt.
    pub scopes: Scopes,
    /// The CustomResourceDefinitions in the sources, by the kind that they define.
    pub definitions: BTreeMap<GroupKind, Definition>,
}

/// A source that was not read completely.
struct Incomplete {
    index: usize,
    source: SourceName,
    provides: Provides,
    lacks: Lacks,
}

/// What an incomplete source might hold beyond what was read.
enum Lacks {
    Anything,
    Fragments(Vec<Fragment>),
}

impl Incomplete {
    /// Whether it might hold an object of a kind, with a name if one is given.
    fn may_hold(&self, kind: &GroupKind, name: Option<&Name>) -> bool {
        let kind = kind.kind.as_str();
        match (&self.lacks, name) {
            (Lacks::Anything, _) => true,
            (Lacks::Fragments(fragments), Some(name)) => fragments.iter().any(|f| f.may_hold(kind, name.as_str())),
            (Lacks::Fragments(fragments), None) => fragments.iter().any(|f| f.may_hold_kind(kind)),
        }
    }
}

impl Snapshot {
    /// Looks a key up.
    pub fn look_up(&self, key: &ObjectKey) -> Lookup<'_> {
        let found = self.objects.get(key);
        let unread = self.incomplete.iter().find(|incomplete| {
            found.is_none_or(|(from, _)| incomplete.index > *from)
                && may_provide(&incomplete.provides, key, &self.system_namespace)
                && incomplete.may_hold(&key.kind, Some(&key.name))
        });
        match (unread, found) {
            (Some(incomplete), _) => Lookup::Unread(&incomplete.source),
            (None, Some((_, object))) => Lookup::Found(object),
            (None, None) => Lookup::Absent,
        }
    }

    /// The object under a key, whether or not a later source might have another.
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.get(key).map(|(_, object)| object)
    }

    /// All objects of a kind, sorted by key.
    pub fn all(&self, kind: &GroupKind) -> impl Iterator<Item = &Object> {
        let least = ObjectKey::new(kind.clone(), None, Name::from(""));
        let kind = kind.clone();
        self.objects.range(least..).take_while(move |(key, _)| key.kind == kind).map(|(_, (_, object))| object)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The first incomplete source that might hold an object of `kind` in `namespace`.
    pub fn unread_in(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> Option<&SourceName> {
        let key = ObjectKey::new(kind.clone(), namespace.cloned(), Name::from(""));
        self.incomplete
            .iter()
            .find(|incomplete| {
                may_provide(&incomplete.provides, &key, &self.system_namespace) && incomplete.may_hold(kind, None)
            })
            .map(|incomplete| &incomplete.source)
    }
}

/// Whether a source may provide an object (DESIGN §2.4).
fn may_provide(provides: &Provides, key: &ObjectKey, system_namespace: &Namespace) -> bool {
    match &key.namespace {
        None => provides.cluster_scoped,
        Some(namespace) if namespace == system_namespace => provides.cluster_scoped,
        Some(namespace) => provides.namespaces.matches(namespace.as_str()),
    }
}

/// Whether some stage reads objects of this kind at all.
fn is_read(kind: &GroupKind, fleet: &Fleet) -> bool {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret" | "ConfigMap" | "Namespace") => true,
        (k0rdent::GROUP, "Credential" | "ProviderInterface" | "Region" | "ClusterDeployment" | "AccessManagement") => {
            true
        }
        _ => crate::capi::rules(kind).is_some() || fleet.kinds.contains_key(kind),
    }
}

fn kind_of(document: &Node) -> GroupKind {
    let (group, _) = split_api_version(document.str_at(&["apiVersion"]).unwrap_or_default());
    GroupKind::new(group, document.str_at(&["kind"]).unwrap_or_default())
}

fn is_crd(kind: &GroupKind) -> bool {
    kind.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// Puts the sources' readings together, in the order of the configuration.
pub fn assemble(fleet: &Fleet, readings: Vec<Reading>) -> (Snapshot, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut scopes = Scopes::new();
    for (kind, extra) in &fleet.kinds {
        scopes.learn(kind.clone(), extra.scope);
    }
    let definitions = learn_definitions(fleet, &readings, &mut scopes);

    let mut objects: BTreeMap<ObjectKey, (usize, Object)> = BTreeMap::new();
    let mut incomplete = Vec::new();
    for (index, (source, reading)) in fleet.sources.iter().zip(readings).enumerate() {
        let mut complete = reading.complete;
        for (document, origin) in reading.documents {
            let kind = kind_of(&document);
            if is_crd(&kind) && !source.provides.cluster_scoped {
                let name = Name::from(document.str_at(&["metadata", "name"]).unwrap_or_default());
                findings.push(not_provided(source, &ObjectKey::new(kind, None, name), &origin));
                continue;
            }
            // A tenant's own Namespaces are no news, and those of the management cluster are not its to say.
            let foreign = kind.is_namespace() && !source.provides.cluster_scoped;
            if foreign || !is_read(&kind, fleet) {
                continue;
            }
            match admit(&document, origin.clone(), &scopes, source.default_namespace.as_ref(), fleet) {
                Ok(object) if may_provide(&source.provides, &object.key, &fleet.system_namespace) => {
                    place(&mut objects, index, source, object);
                }
                Ok(object) => findings.push(not_provided(source, &object.key, &object.origin)),
                Err(refusal) => {
                    complete = false;
                    findings.push(refused(&refusal, &kind, &origin));
                }
            }
        }
        if !complete || !reading.fragments.is_empty() {
            let lacks = if complete { Lacks::Fragments(reading.fragments) } else { Lacks::Anything };
            let (source, provides) = (source.name.clone(), source.provides.clone());
            incomplete.push(Incomplete { index, source, provides, lacks });
        }
    }
    let system_namespace = fleet.system_namespace.clone();
    (Snapshot { objects, incomplete, system_namespace, scopes, definitions }, findings)
}

fn learn_definitions(fleet: &Fleet, readings: &[Reading], scopes: &mut Scopes) -> BTreeMap<GroupKind, Definition> {
    let mut definitions = BTreeMap::new();
    for (source, reading) in fleet.sources.iter().zip(readings) {
        if !source.provides.cluster_scoped {
            continue;
        }
        for (document, _) in reading.documents.iter().filter(|(document, _)| is_crd(&kind_of(document))) {
            let group = document.str_at(&["spec", "group"]).unwrap_or_default();
            let kind = GroupKind::new(group, document.str_at(&["spec", "names", "kind"]).unwrap_or_default());
            match document.str_at(&["spec", "scope"]) {
                Some("Cluster") => scopes.learn(kind.clone(), Scope::Cluster),
                Some("Namespaced") => scopes.learn(kind.clone(), Scope::Namespaced),
                _ => {}
            }
            definitions.insert(kind, definition(document));
        }
    }
    definitions
}

fn definition(document: &Node) -> Definition {
    let versions = document.at(&["spec", "versions"]).map(Node::items).unwrap_or_default();
    let served = versions.iter().filter(|version| version.at(&["served"]).and_then(Node::as_bool) == Some(true));
    Definition { served: served.filter_map(|version| version.str_at(&["name"]).map(Version::from)).collect() }
}

/// Puts an object among those of earlier sources, or notes on the one that stays why that is wrong.
fn place(objects: &mut BTreeMap<ObjectKey, (usize, Object)>, index: usize, source: &Source, object: Object) {
    let Some((earlier_index, earlier)) = objects.get_mut(&object.key) else {
        objects.insert(object.key.clone(), (index, object));
        return;
    };
    if *earlier_index == index {
        let mut object = object;
        // The one that stands first stays, in whatever order they come.
        if object.origin < earlier.origin {
            core::mem::swap(earlier, &mut object);
            let told = object.faults.extract_if(.., |fault| fault.code == Code::DuplicateObject);
            earlier.faults.extend(told);
        }
        let message = format!("{} stands twice in source {}, also at {}", object.key, source.name, object.origin);
        earlier.faults.push(Fault {
            code: Code::DuplicateObject,
            message,
            help: "Remove one of the two, or keep one out of the source with exclude.".to_owned(),
        });
    } else if source.overrides {
        *earlier_index = index;
        *earlier = object;
    } else if !earlier.same_content(&object) {
        let message = format!("{} says something else in source {}, at {}", object.key, source.name, object.origin);
        earlier.faults.push(Fault {
            code: Code::Shadowed,
            message,
            help: "Make the two equal, remove one, or say overrides: true on the later source.".to_owned(),
        });
    }
}

fn not_provided(source: &Source, key: &ObjectKey, origin: &Origin) -> Finding {
    let what = match &key.namespace {
        None => "cluster-scoped objects".to_owned(),
        Some(namespace) => format!("objects of namespace {namespace}"),
    };
    let message = format!("source {} provides no {what}; {key} is ignored", source.name);
    Finding::new(Code::NotProvidedHere, message)
        .about(key)
        .at(origin)
        .help("Move it to a source that may provide it, or widen `provides` if whoever writes that source is trusted.")
}

fn refused(refusal: &Refusal, kind: &GroupKind, origin: &Origin) -> Finding {
    match refusal {
        Refusal::Unusable(why) => Finding::new(Code::UnparsableDocument, format!("a {kind} cannot be used: {why}"))
            .at(origin)
            .help("Correct the document; until then nothing that its source might hold counts as absent."),
        Refusal::NamespaceMissing(kind, name) => {
            Finding::new(Code::NamespaceMissing, format!("{kind} {name} names no namespace"))
                .at(origin)
                .help("Add metadata.namespace, or give the source a defaultNamespace.")
        }
    }
}
