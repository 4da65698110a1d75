//! Facts: what a run knows of regions' clusters, as manifests that may be kept in git and read as a source.
//!
//! Only the fields that pouch reads are there, sorted, and nothing that changes by itself: no times, no versions of
//! resources. So a changed fact is a difference to review, and a run that reads them decides as one that looked.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::config::{ProfileBy, RegionConfig};
use crate::inventory::argocd::Registration;
use crate::inventory::profile::{Access, CLUSTER_ID, CLUSTER_SET, Profile, UNREADABLE};
use crate::inventory::providers::VARIABLES_EXTENSION;
use crate::inventory::registry::Registered;
use crate::inventory::{Status, document, placement};
use crate::k0rdent;
use crate::kinds::{DECISION_INDEX, DECISION_KEY, DISABLED, MULTICLUSTER, REGISTRY};
use crate::name::{GroupKind, ObjectKey, Region};
use crate::node::{Key, Node};
use crate::object::Object;
use crate::world::World;
use crate::world::cluster::{ArgoRegistration, ClusterFacts, Tied};
use crate::world::trusted::trusted;
use crate::yaml::emit::{Tree, TreeMap, emit};

/// The documents about the clusters of some regions, or of all if none is named. Each object stands in them once, with what
/// all of these regions ask of it. With all regions come the Regions that none of them is tied to: the Secrets with their
/// kubeconfigs leave no cluster.
pub fn of(world: &World<'_>, named: &BTreeSet<&Region>) -> Vec<String> {
    let mut documents = Vec::new();
    let mut print = |tree: &Tree<'_>| documents.push(emit(tree).to_string());
    let is_meant = |region: &&RegionConfig| named.is_empty() || named.contains(&region.name);
    let regions = || world.fleet.regions.values().filter(is_meant);
    let tied: BTreeSet<&str> = regions().map(|region| region.tied().as_str()).collect();
    for object in world.snapshot.all(&GroupKind::new(k0rdent::GROUP, "Region")) {
        if named.is_empty() || tied.contains(object.key.name.as_str()) {
            print(&k0rdents(world, object));
        }
    }
    let mut profiles: BTreeMap<&ObjectKey, (&Profile, Vec<Asker<'_>>)> = BTreeMap::new();
    let mut registry: BTreeMap<&ObjectKey, (&Registered, Vec<&RegionConfig>)> = BTreeMap::new();
    for region in regions() {
        let Some(cluster) = world.cluster(&region.name) else { continue };
        if let Tied::To(key, _, profile) = &cluster.profile {
            profiles.entry(key).or_insert_with(|| (profile, Vec::new())).1.push((region, &cluster.argocd));
        }
        if let Tied::To(key, _, registered) = &cluster.registered {
            registry.entry(key).or_insert_with(|| (registered, Vec::new())).1.push(region);
        }
    }
    for (key, (profile, of)) in &profiles {
        print(&of_profile(of, key, profile));
    }
    for (key, (registered, of)) in &registry {
        print(&of_registry(of, key, registered));
    }
    for object in world.facts.placements.slices().filter_map(|key| trusted(world.fleet, world.snapshot, key)) {
        print(&of_slice(object));
    }
    for region in regions() {
        if let Some(looked) = world.cluster(&region.name).and_then(ClusterFacts::looked) {
            // A look itself makes the same document.
            print(&Tree::of(&document::write(&region.name, looked)));
        }
    }
    documents
}

/// Stands for when an object's deletion began: that it is being deleted is all that is read.
const DELETED: &str = "1970-01-01T00:00:00Z";

fn deleted(is_deleting: bool) -> Option<(&'static str, Tree<'static>)> {
    is_deleting.then_some(("deletionTimestamp", Tree::text(DELETED)))
}

fn head<'a>(api_version: String, kind: &'a str, metadata: Tree<'a>) -> [(&'static str, Tree<'a>); 3] {
    [("apiVersion", Tree::text(api_version)), ("kind", Tree::text(kind)), ("metadata", metadata)]
}

fn text(text: &str) -> Tree<'_> {
    Tree::text(text)
}

/// A field that is there only where something is in it.
fn some<'a>(key: &'static str, tree: Tree<'a>) -> Option<(&'static str, Tree<'a>)> {
    let is_empty = match &tree {
        Tree::Map(entries) => entries.is_empty(),
        Tree::List(items) => items.is_empty(),
        _ => false,
    };
    (!is_empty).then_some((key, tree))
}

/// k0rdent's Region: its providers, and where its kubeconfig is, which nothing may publish.
fn k0rdents<'a>(world: &World<'a>, object: &'a Object) -> Tree<'a> {
    let name = object.key.name.as_str();
    let at = |path: &[&str]| object.body.str_at(path).map(|found| Tree::text(found.to_string()));
    let fields = |of: &'static str, names: [&'static str; 2]| {
        let given = names.into_iter().filter_map(|field| Some((field, at(&["spec", of, field])?)));
        some(of, Tree::map(given))
    };
    let places =
        fields("clusterDeployment", ["name", "namespace"]).into_iter().chain(fields("kubeConfig", ["key", "name"]));
    let facts = world.facts.region_named(&Region::from(name));
    let providers = match facts {
        Some(facts) => {
            let named = facts.providers.iter().map(|provider| Tree::map([("name", text(provider))])).collect();
            some("providers", Tree::List(named))
        }
        // Whoever reads this knows as little of them as this run.
        None => Some(("providers", Tree::text("unreadable"))),
    };
    let spec = Tree::map(providers.into_iter().chain(places));
    let exposed = facts.map(|facts| facts.exposed.iter().map(|provider| text(provider)).collect()).unwrap_or_default();
    let exposed = some("exposedProviders", Tree::List(exposed));
    let status = exposed.map(|exposed| {
        let component = Tree::map([exposed]);
        ("status", Tree::map([("components", Tree::map([("facts", component)]))]))
    });
    let metadata = Tree::map([("name", text(name))].into_iter().chain(deleted(object.deleting)));
    let head = head(format!("{}/v1beta1", k0rdent::GROUP), "Region", metadata);
    Tree::map(head.into_iter().chain([("spec", spec)]).chain(status))
}

/// The conditions that these regions require.
fn conditions<'a>(of: &[&'a RegionConfig], has: &'a BTreeMap<String, Status>) -> Tree<'a> {
    let asked: BTreeSet<&String> = of.iter().flat_map(|region| &region.require_conditions).collect();
    let asked = asked.into_iter().filter_map(|condition| Some((condition, has.get(condition)?)));
    let condition = |(condition, status): (&'a String, &Status)| {
        let status = match status {
            Status::True => "True",
            Status::False => "False",
            Status::Unknown => "Unknown",
        };
        Tree::map([("type", text(condition)), ("status", text(status))])
    };
    Tree::List(asked.map(condition).collect())
}

/// A region that asks something of an object, and what Argo CD is told of its cluster.
type Asker<'a> = (&'a RegionConfig, &'a ArgoRegistration);

fn of_profile<'a>(askers: &[Asker<'a>], key: &'a ObjectKey, profile: &'a Profile) -> Tree<'a> {
    let of: Vec<&RegionConfig> = askers.iter().map(|(region, _)| *region).collect();
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    let mut wanted = BTreeSet::from([CLUSTER_ID, CLUSTER_SET]);
    for tie in of.iter().filter_map(|region| region.inventory.cluster_profile.as_ref()) {
        match &tie.by {
            ProfileBy::Labels(by) => labels.extend(by.iter().map(|(key, value)| (key.as_str(), value.as_str()))),
            ProfileBy::Properties(by) => wanted.extend(by.keys().map(String::as_str)),
            ProfileBy::Name(_) => {}
        }
    }
    for (_, argocd) in askers {
        if let ArgoRegistration::Described(registration) = argocd {
            labels.extend(registration.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        }
    }
    let labels = Tree::map(labels.into_iter().map(|(key, value)| (key, text(value))));
    let properties = profile.properties.iter().filter(|(name, _)| wanted.contains(name.as_str()));
    let properties =
        properties.map(|(name, value)| Tree::map([("name", text(name)), ("value", text(value))])).collect();
    let access = profile
        .access
        .iter()
        .map(|access| Tree::map([("name", text(&access.name)), ("cluster", cluster(access, askers))]));
    let version = profile.kubernetes.as_ref().map(|version| ("version", Tree::map([("kubernetes", text(version))])));
    let status = [
        some("accessProviders", Tree::List(access.collect())),
        some("conditions", conditions(&of, &profile.conditions)),
        some("properties", Tree::List(properties)),
        version,
    ];
    let metadata = [("name", text(key.name.as_str())), ("namespace", text(key.namespace_text()))];
    let metadata = metadata.into_iter().chain(some("labels", labels)).chain(deleted(profile.deleting));
    let metadata = Tree::map(metadata);
    let manager = Tree::map([("name", text(&profile.manager))]);
    let head = head(format!("{MULTICLUSTER}/v1alpha1"), "ClusterProfile", metadata);
    let spec = ("spec", Tree::map([("clusterManager", manager)]));
    let status = some("status", Tree::map(status.into_iter().flatten()));
    Tree::map(head.into_iter().chain([spec]).chain(status))
}

/// A slice of a placement that was read.
fn of_slice(object: &Object) -> Tree<'_> {
    let kept = [DECISION_INDEX, DECISION_KEY].into_iter().filter_map(|label| Some((label, text(object.label(label)?))));
    let labels = some("labels", Tree::map(kept));
    let metadata = [("name", text(object.key.name.as_str())), ("namespace", text(object.key.namespace_text()))];
    let metadata = Tree::map(metadata.into_iter().chain(labels).chain(deleted(object.deleting)));
    let listed = placement::read(object).unwrap_or_default().into_iter();
    let decisions = listed.map(|(namespace, name)| {
        let of = Tree::map([("name", text(name)), ("namespace", text(namespace))]);
        Tree::map([("clusterProfileRef", of)])
    });
    let head = head(format!("{MULTICLUSTER}/v1alpha1"), "PlacementDecision", metadata);
    Tree::map(head.into_iter().chain([("decisions", Tree::List(decisions.collect()))]))
}

/// What tells one cluster from another, and what Argo CD is told of it. How it is reached otherwise is of no use to whoever
/// reads facts instead of looking, and what a manager says to plugins may be secret.
fn cluster<'a>(access: &'a Access, askers: &[Asker<'a>]) -> Tree<'a> {
    let cluster = &access.cluster;
    let given =
        |key: &'static str, given: &Option<String>| given.as_ref().map(|given| (key, Tree::text(given.clone())));
    let fields = [
        Some(("server", text(&cluster.server))),
        given("tls-server-name", &cluster.tls_server_name),
        given("proxy-url", &cluster.proxy_url),
    ];
    let mut tree = TreeMap::new();
    fields.into_iter().flatten().for_each(|(key, field)| tree.insert(key, field));
    for (_, argocd) in askers {
        match argocd {
            ArgoRegistration::Foreign => {}
            ArgoRegistration::Described(told) if told.way.provider == access.name => connection(told, &mut tree),
            ArgoRegistration::Described(_) => {}
            // Whoever reads this makes as little of it as this run.
            ArgoRegistration::Unknown => tree.insert("certificate-authority-data", text(UNREADABLE)),
        }
    }
    Tree::Map(tree)
}

/// Adds what Argo CD is told of a connection, in which nothing is secret.
fn connection<'a>(told: &'a Registration, tree: &mut TreeMap<'a>) {
    let cluster = &told.way.cluster;
    if let Some(data) = &cluster.ca_data {
        tree.insert("certificate-authority-data", text(data));
    }
    let flags = [("disable-compression", cluster.disable_compression), ("insecure-skip-tls-verify", cluster.insecure)];
    for (key, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
        tree.insert(key, Tree::Bool(true));
    }
    let extension = |name: &'static str| {
        let extension = cluster.extensions.get(name)?;
        let used = match (name, extension) {
            // Of the others nobody judged what they hold.
            (VARIABLES_EXTENSION, Node::Map(entries)) => {
                let is_used = |(name, value): &&(Key, Node)| {
                    let value = value.as_str();
                    told.way.exec.variables.iter().any(|(set, to)| set == &**name && value == Some(to))
                };
                Tree::map(entries.iter().filter(is_used).map(|(name, value)| (&**name, Tree::of(value))))
            }
            _ => Tree::of(extension),
        };
        Some(Tree::map([("extension", used), ("name", text(name))]))
    };
    let extensions: Vec<Tree<'a>> = told.extensions.iter().copied().filter_map(extension).collect();
    if !extensions.is_empty() {
        tree.insert("extensions", Tree::List(extensions));
    }
}

fn of_registry<'a>(of: &[&'a RegionConfig], key: &'a ObjectKey, registered: &'a Registered) -> Tree<'a> {
    let annotations = registered.disabled.then(|| ("annotations", Tree::map([(DISABLED, text("true"))])));
    let name = [("name", text(key.name.as_str()))];
    let metadata = Tree::map(name.into_iter().chain(annotations).chain(deleted(registered.deleting)));
    let given = |key: &'static str, given: &'a Option<String>| given.as_ref().map(|given| (key, text(given)));
    let locality = registered.locality.as_ref().map(|region| ("locality", Tree::map([("region", text(region))])));
    let status = [
        some("conditions", conditions(of, &registered.conditions)),
        given("distribution", &registered.distribution),
        locality,
        given("version", &registered.kubernetes),
    ];
    let head = head(format!("{REGISTRY}/v1alpha1"), "Cluster", metadata);
    let spec = ("spec", Tree::map([("clusterID", text(&registered.id))]));
    let status = some("status", Tree::map(status.into_iter().flatten()));
    Tree::map(head.into_iter().chain([spec]).chain(status))
}
