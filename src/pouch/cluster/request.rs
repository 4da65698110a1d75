//! Requests to an API server and the meaning of its answers: built and understood without I/O.
//!
//! Paths, queries and the two forms of an object (whole, or its metadata alone) are made here. An
//! answer counts only if it is what was asked for: a list of that kind, the object of that name, or a
//! `Status` that names the object it says is not found. Anything else proves nothing.

use std::fmt::Write as _;

use pouch_core::capi::resource_set;
use pouch_core::json::{self, Shape};
use pouch_core::kinds::{DISABLED, MULTICLUSTER, REGISTRY};
use pouch_core::name::{GroupKind, Namespace, ObjectKey, Scope, Version};
use pouch_core::node::{Interner, Node};
use pouch_core::object::SILENCE_ANNOTATION;
use pouch_core::{k0rdent, kinds};

/// How many objects a page of a list has; the smaller ones are for lists whose pages are too long.
pub const PAGES: [usize; 3] = [500, 50, 5];

/// A kind as an API server serves it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Group and kind.
    pub kind: GroupKind,
    /// The version that is asked for.
    pub version: Version,
    /// The name in paths, such as `secrets`.
    pub plural: String,
    /// Whether its objects have a namespace.
    pub scope: Scope,
}

impl Resource {
    /// A resource of the core group, which every API server serves.
    pub fn core(kind: &str, plural: &str, scope: Scope) -> Self {
        Self { kind: GroupKind::new("", kind), version: "v1".into(), plural: plural.to_owned(), scope }
    }

    /// Namespaces.
    pub fn namespaces() -> Self {
        Self::core("Namespace", "namespaces", Scope::Cluster)
    }

    /// `secrets`, or `credentials.k0rdent.mirantis.com`: as RBAC rules and people name it.
    pub fn name(&self) -> String {
        match self.kind.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    fn base(&self, namespace: Option<&Namespace>) -> String {
        let mut path = match self.kind.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        if let Some(namespace) = namespace {
            let _ = write!(path, "/namespaces/{}", encoded(namespace.as_str()));
        }
        path.push('/');
        path.push_str(&self.plural);
        path
    }

    /// The path of a page of all objects, of one namespace or of the cluster.
    pub fn list_path(&self, namespace: Option<&Namespace>, limit: usize, token: &str) -> String {
        continued(format!("{}?limit={limit}", self.base(namespace)), token)
    }

    /// The path of a page of all objects of the cluster that have a label with this value.
    pub fn labelled_path(&self, label: &str, value: &str, limit: usize, token: &str) -> String {
        let selector = format!("{}%3D{}", encoded(label), encoded(value));
        continued(format!("{}?limit={limit}&labelSelector={selector}", self.base(None)), token)
    }

    /// The path that a new object is sent to. With [`Trial::Dry`] the server keeps nothing.
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run>
    pub fn create_path(&self, namespace: Option<&Namespace>, trial: Trial) -> String {
        let dry = if trial == Trial::Dry { "&dryRun=All" } else { "" };
        format!("{}?fieldManager=pouch&fieldValidation=Strict{dry}", self.base(namespace))
    }

    /// The path that a manifest is applied to on the server's side: whoever owns a field that it has gives it up to the
    /// field manager. <https://kubernetes.io/docs/reference/using-api/server-side-apply/>
    pub fn apply_path(&self, key: &ObjectKey, manager: &str, trial: Trial) -> String {
        let dry = if trial == Trial::Dry { "&dryRun=All" } else { "" };
        let manager = encoded(manager);
        format!("{}?fieldManager={manager}&force=true&fieldValidation=Strict{dry}", self.path(key))
    }

    /// The path of one object.
    pub fn path(&self, key: &ObjectKey) -> String {
        format!("{}/{}", self.base(key.namespace.as_ref()), encoded(key.name.as_str()))
    }
}

fn continued(mut path: String, token: &str) -> String {
    if !token.is_empty() {
        let _ = write!(path, "&continue={}", encoded(token));
    }
    path
}

/// Percent-encodes all but unreserved characters.
///
/// <https://www.rfc-editor.org/rfc/rfc3986#section-2.3>
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

/// Whether an object is really made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trial {
    /// It is.
    Real,
    /// The server checks everything, rights too, and keeps nothing.
    Dry,
}

/// How much of an object is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Portion {
    /// All of it.
    Whole,
    /// Of a list, what says which objects have arrived in guest clusters.
    Arrivals,
    /// Its metadata, without a Secret's values.
    Metadata,
}

impl Portion {
    /// The `Accept` header for one object.
    pub fn of_object(self) -> &'static str {
        match self {
            Portion::Whole | Portion::Arrivals => "application/json",
            Portion::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        }
    }

    /// The `Accept` header for a list.
    pub fn of_list(self) -> &'static str {
        match self {
            Portion::Whole | Portion::Arrivals => "application/json",
            Portion::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        }
    }

    fn kind_of(self, resource: &Resource) -> (&str, String) {
        match self {
            Portion::Whole | Portion::Arrivals => {
                (resource.kind.kind.as_str(), resource.kind.api_version(&resource.version))
            }
            Portion::Metadata => ("PartialObjectMetadata", String::from("meta.k8s.io/v1")),
        }
    }
}

/// What tells whether an object changed: it was made anew, or written to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stamp {
    uid: Box<str>,
    version: Box<str>,
}

/// Why an answer cannot be used; never quotes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Garbled(pub &'static str);

const NO_JSON: Garbled = Garbled("the answer is not JSON, or is cut off or nested too deeply");

/// Reads a JSON body.
pub fn parse(body: &[u8], interner: &mut Interner) -> Result<Node, Garbled> {
    let text = std::str::from_utf8(body).map_err(|_| NO_JSON)?;
    json::read(text, interner).map_err(|_| NO_JSON)
}

/// Reads of a JSON body what has a place in a shape.
fn parse_shaped(body: &[u8], interner: &mut Interner, shape: &'static Shape) -> Result<Node, Garbled> {
    let text = std::str::from_utf8(body).map_err(|_| NO_JSON)?;
    json::read_shaped(text, interner, shape).map_err(|_| NO_JSON)
}

/// Reads the parts of a list's JSON body that some stage looks at.
///
/// Nothing that is listed is published, and tenants write some of it: their clusters' settings fill no memory
/// here, and one item that is nested deeper than others makes none of them unreadable.
pub fn parse_list(body: &[u8], interner: &mut Interner) -> Result<Node, Garbled> {
    parse_shaped(body, interner, &LIST)
}

/// Reads the same of a list of objects that describe clusters, of which more is looked at. No tenant writes them where they
/// count.
pub fn parse_inventory(body: &[u8], interner: &mut Interner) -> Result<Node, Garbled> {
    parse_shaped(body, interner, &INVENTORY)
}

/// Reads the same of a list of ClusterResourceSets, whose fields no other listed kind has.
pub fn parse_resource_sets(body: &[u8], interner: &mut Interner) -> Result<Node, Garbled> {
    parse_shaped(body, interner, &RESOURCE_SETS)
}

/// Reads the same of a list of Clusters, or of what Cluster API notes of them, with all that says what has arrived in guests.
pub fn parse_arrivals(body: &[u8], interner: &mut Interner) -> Result<Node, Garbled> {
    parse_shaped(body, interner, &ARRIVALS)
}

/// Whether objects of a kind describe clusters.
pub fn is_inventory(kind: &GroupKind) -> bool {
    [MULTICLUSTER, REGISTRY].iter().any(|group| kind.group == *group)
}

const ALL: &Shape = &Shape::All;

/// The parts of metadata that are read.
const METADATA: &Shape = &Shape::Fields(&[
    ("annotations", SILENCE),
    ("continue", ALL),
    ("deletionTimestamp", ALL),
    ("generation", ALL),
    ("labels", ALL),
    ("name", ALL),
    ("namespace", ALL),
    ("remainingItemCount", ALL),
    ("resourceVersion", ALL),
    ("uid", ALL),
]);

/// The one annotation that is read.
const SILENCE: &Shape = &Shape::Fields(&[(SILENCE_ANNOTATION, ALL)]);

/// The parts of `spec` that are read of any listed kind.
const SPEC: &Shape = &Shape::Chosen(|field| match field {
    "providers" => Some(PROVIDERS),
    field => kinds::is_read_of_spec(field).then_some(ALL),
});

/// A Region's providers without their settings, which may be of any size.
const PROVIDERS: &Shape = &Shape::Fields(&[("name", ALL)]);

/// The parts of status that are read of Regions and Credentials.
const STATUS: &Shape = &Shape::Fields(&[("components", ALL), ("ready", ALL)]);

/// A list.
const LIST: Shape = Shape::Fields(&[("apiVersion", ALL), ("kind", ALL), ("metadata", METADATA), ("items", ITEM)]);

const ITEM: &Shape =
    &Shape::Fields(&[("apiVersion", ALL), ("kind", ALL), ("metadata", METADATA), ("spec", SPEC), ("status", STATUS)]);

/// A list of ClusterResourceSets.
const RESOURCE_SETS: Shape =
    Shape::Fields(&[("apiVersion", ALL), ("kind", ALL), ("metadata", METADATA), ("items", RESOURCE_SET)]);

const RESOURCE_SET: &Shape =
    &Shape::Fields(&[("apiVersion", ALL), ("kind", ALL), ("metadata", METADATA), ("spec", SPEC_OF_SET)]);

const SPEC_OF_SET: &Shape = &Shape::Chosen(|field| resource_set::is_read_of_spec(field).then_some(ALL));

/// A list of Clusters, or of ClusterResourceSetBindings.
const ARRIVALS: Shape =
    Shape::Fields(&[("apiVersion", ALL), ("kind", ALL), ("metadata", METADATA), ("items", ARRIVAL)]);

const ARRIVAL: &Shape = &Shape::Fields(&[
    ("apiVersion", ALL),
    ("kind", ALL),
    ("metadata", PAUSABLE),
    ("spec", &Shape::Fields(&[("bindings", ALL), ("paused", ALL)])),
    ("status", &Shape::Fields(&[("infrastructureReady", ALL), ("initialization", ALL)])),
]);

const PAUSABLE: &Shape = &Shape::Fields(&[
    ("annotations", &Shape::Fields(&[("cluster.x-k8s.io/paused", ALL)])),
    ("deletionTimestamp", ALL),
    ("labels", ALL),
    ("name", ALL),
    ("namespace", ALL),
    ("resourceVersion", ALL),
    ("uid", ALL),
]);

/// A list of objects that describe clusters.
const INVENTORY: Shape =
    Shape::Fields(&[("apiVersion", ALL), ("kind", ALL), ("metadata", METADATA), ("items", DESCRIPTION)]);

const DESCRIPTION: &Shape = &Shape::Fields(&[
    ("apiVersion", ALL),
    ("kind", ALL),
    ("metadata", DESCRIBED),
    ("spec", SPEC),
    ("status", ALL),
    ("decisions", ALL),
]);

const DESCRIBED: &Shape = &Shape::Fields(&[
    ("annotations", &Shape::Fields(&[(SILENCE_ANNOTATION, ALL), (DISABLED, ALL)])),
    ("deletionTimestamp", ALL),
    ("labels", ALL),
    ("name", ALL),
    ("namespace", ALL),
    ("resourceVersion", ALL),
    ("uid", ALL),
]);

/// Takes the one object that was asked for.
pub fn object(answer: Node, resource: &Resource, key: &ObjectKey, form: Portion) -> Result<(Node, Stamp), Garbled> {
    let answer = unstamped(answer, resource, key, form)?;
    let stamp = stamp(&answer, resource)?;
    Ok((answer, stamp))
}

/// Takes the one object that was asked for, which may be one that was not really made.
pub fn unstamped(answer: Node, resource: &Resource, key: &ObjectKey, form: Portion) -> Result<Node, Garbled> {
    let (kind, api_version) = form.kind_of(resource);
    let text = |path: &[&str]| answer.str_at(path).unwrap_or_default();
    let is_asked = text(&["kind"]) == kind
        && text(&["apiVersion"]) == api_version
        && text(&["metadata", "name"]) == key.name.as_str()
        && text(&["metadata", "namespace"]) == key.namespace_text();
    if !is_asked {
        return Err(Garbled("the answer is another object than the one asked for"));
    }
    Ok(answer)
}

fn stamp(object: &Node, resource: &Resource) -> Result<Stamp, Garbled> {
    let text = |field: &str| object.str_at(&["metadata", field]).filter(|text| !text.is_empty());
    let (Some(uid), Some(version)) = (text("uid"), text("resourceVersion")) else {
        return Err(Garbled("an object in the answer has no uid or resourceVersion"));
    };
    let version = generation(object, resource).unwrap_or_else(|| version.to_owned());
    Ok(Stamp { uid: uid.into(), version: version.into() })
}

/// A text that changes when somebody writes to what is read of an object, for kinds whose status is not read:
/// controllers write the status of Credentials, ClusterDeployments, and Clusters with what is behind them, all the time.
///
/// `generation` counts changes of everything but metadata and status, for kinds with a status
/// subresource; for others every change but of metadata.
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource>
fn generation(object: &Node, resource: &Resource) -> Option<String> {
    let by_generation = ["Credential", "ClusterDeployment"].iter().any(|kind| resource.kind.is(k0rdent::GROUP, kind))
        || (kinds::is_by_configuration(&resource.kind) && !kinds::is_of_sync_rules(&resource.kind));
    let Some(Node::Int(generation)) = object.at(&["metadata", "generation"]).filter(|_| by_generation) else {
        return None;
    };
    let mut version = format!("generation {generation}");
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        version.push_str(" deleting");
    }
    for (key, value) in object.at(&["metadata", "labels"]).map(Node::entries).unwrap_or_default() {
        let _ = write!(version, " {key}={}", value.as_str().unwrap_or_default());
    }
    Some(version)
}

/// One page of a list.
pub struct Page {
    /// Its objects.
    pub items: Vec<(ObjectKey, Stamp, Node)>,
    /// The state of the cluster that the whole list shows.
    pub version: String,
    /// The token that asks for the next page; empty on the last page.
    pub token: String,
    /// How many objects follow, where the server says so.
    pub remaining: Option<u64>,
}

/// Takes a page of the list that was asked for.
pub fn page(answer: Node, resource: &Resource, namespace: Option<&Namespace>, form: Portion) -> Result<Page, Garbled> {
    let (kind, api_version) = form.kind_of(resource);
    let text = |path: &[&str]| answer.str_at(path).unwrap_or_default().to_owned();
    if text(&["kind"]).strip_suffix("List") != Some(kind) || text(&["apiVersion"]) != api_version {
        return Err(Garbled("the answer is not a list of the kind that was asked for"));
    }
    let version = text(&["metadata", "resourceVersion"]);
    if version.is_empty() {
        return Err(Garbled("the list does not say which state of the cluster it shows"));
    }
    let token = text(&["metadata", "continue"]);
    let remaining = match answer.at(&["metadata", "remainingItemCount"]) {
        Some(Node::Int(count)) => u64::try_from(*count).ok(),
        _ => None,
    };
    let list = match taken(answer, "items") {
        Some(Node::List(list)) => list,
        // API servers (1.36) write an empty list like this when they are asked for metadata, and only then.
        Some(Node::Null) if form == Portion::Metadata => Box::default(),
        _ => return Err(Garbled("the list has no field items, not even an empty one")),
    };
    let mut items = Vec::with_capacity(list.len());
    for item in list.into_vec() {
        // Lists of built-in kinds say the kind once for all.
        let is_kind = |field: &str, wanted: &str| item.str_at(&[field]).is_none_or(|found| *found == *wanted);
        let place = item.str_at(&["metadata", "namespace"]).filter(|text| !text.is_empty()).map(Namespace::from);
        let in_place = match resource.scope {
            Scope::Cluster => place.is_none(),
            Scope::Namespaced => place.is_some() && namespace.is_none_or(|wanted| place.as_ref() == Some(wanted)),
        };
        let name = item.str_at(&["metadata", "name"]).filter(|name| !name.is_empty());
        let (Some(name), true) = (name, in_place && is_kind("kind", kind) && is_kind("apiVersion", &api_version))
        else {
            return Err(Garbled("an item of the list is no object of the kind and place asked for"));
        };
        let key = ObjectKey::new(resource.kind.clone(), place, name.into());
        let stamp = stamp(&item, resource)?;
        items.push((key, stamp, with_kind(item, kind, &api_version)));
    }
    Ok(Page { items, version, token, remaining })
}

/// An item of a list as it would stand by itself.
fn with_kind(item: Node, kind: &str, api_version: &str) -> Node {
    if item.get("kind").is_some() {
        return item;
    }
    let Node::Map(entries) = item else { return item };
    let mut entries = entries.into_vec();
    entries.retain(|(key, _)| **key != *"apiVersion");
    entries.push(("apiVersion".into(), Node::text(api_version)));
    entries.push(("kind".into(), Node::text(kind)));
    Node::map(entries)
}

/// Takes a field out of a map of which nothing else is needed.
fn taken(map: Node, field: &str) -> Option<Node> {
    let Node::Map(entries) = map else { return None };
    entries.into_vec().into_iter().find(|(key, _)| **key == *field).map(|(_, node)| node)
}

/// Whether a 404 says that this very object does not exist: only then is it a proof of absence.
pub fn says_absent(status: &Node, resource: &Resource, key: &ObjectKey) -> bool {
    let text = |path: &[&str]| status.str_at(path).unwrap_or_default();
    text(&["kind"]) == "Status"
        && text(&["reason"]) == "NotFound"
        && text(&["details", "name"]) == key.name.as_str()
        && text(&["details", "kind"]) == resource.plural
        && text(&["details", "group"]) == resource.kind.group.as_str()
}

/// The most bytes of a version: those of builds are no longer.
const MOST_OF_VERSION: usize = 128;

/// The version of Kubernetes, from `/version`.
pub fn version(answer: &Node) -> Result<String, Garbled> {
    let said = answer.str_at(&["gitVersion"]).filter(|said| !said.is_empty() && said.len() <= MOST_OF_VERSION);
    let said = said.filter(|said| said.bytes().all(|byte| byte.is_ascii_graphic()));
    said.map(ToOwned::to_owned).ok_or(Garbled("the answer does not say which version it is"))
}

/// The versions of a group, from `/apis/GROUP`.
pub fn group_versions(answer: &Node, group: &str) -> Result<Vec<Version>, Garbled> {
    if answer.str_at(&["kind"]) != Some("APIGroup") || answer.str_at(&["name"]) != Some(group) {
        return Err(Garbled("the answer does not describe the API group that was asked for"));
    }
    let versions = answer.get("versions").map(Node::items).unwrap_or_default();
    Ok(versions.iter().filter_map(|version| version.str_at(&["version"])).map(Version::from).collect())
}

/// The kinds of a version, from `/apis/GROUP/VERSION`; subresources are left out.
pub fn resources(answer: &Node, group: &str, version: &Version) -> Result<Vec<Resource>, Garbled> {
    let names = answer.str_at(&["groupVersion"]) == Some(&format!("{group}/{version}"));
    if answer.str_at(&["kind"]) != Some("APIResourceList") || !names {
        return Err(Garbled("the answer does not describe the API version that was asked for"));
    }
    let listed = answer.get("resources").map(Node::items).unwrap_or_default();
    let resource = |entry: &Node| {
        let plural = entry.str_at(&["name"]).filter(|name| !name.contains('/'))?;
        let scope = match entry.get("namespaced").and_then(Node::as_bool)? {
            true => Scope::Namespaced,
            false => Scope::Cluster,
        };
        let kind = GroupKind::new(group, entry.str_at(&["kind"])?);
        Some(Resource { kind, version: version.clone(), plural: plural.to_owned(), scope })
    };
    Ok(listed.iter().filter_map(resource).collect())
}

#[cfg(test)]
mod tests;
