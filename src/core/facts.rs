//! Facts: what a run knows of regions' clusters, as manifests that may be kept in git and read as a source.
//!
//! Only the fields that pouch reads are there, sorted, and nothing that changes by itself: no times, no versions of
//! resources. So a changed fact is a difference to review, and a run that reads them decides as one that looked.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::config::{ProfileBy, RegionConfig};
use crate::inventory::profile::{AccessCluster, CLUSTER_ID, CLUSTER_SET, Profile};
use crate::inventory::registry::Registered;
use crate::inventory::{Status, document};
use crate::k0rdent;
use crate::k0rdent::region::{RegionFacts, kubeconfig_secrets};
use crate::kinds::{DISABLED, MULTICLUSTER, REGISTRY};
use crate::name::{GroupKind, Name, ObjectKey};
use crate::world::World;
use crate::world::cluster::Tied;
use crate::yaml::emit::{Tree, TreeMap, emit};

/// The documents about one region's cluster.
pub fn of_region(world: &World<'_>, region: &RegionConfig) -> Vec<String> {
    let mut documents = Vec::new();
    let mut print = |tree: &Tree<'_>| documents.push(emit(tree).to_string());
    if let Some(facts) = world.region(&region.name) {
        print(&k0rdents(world, region, facts));
    }
    let Some(cluster) = world.cluster(&region.name) else { return documents };
    if let Tied::To(key, _, profile) = &cluster.profile {
        print(&of_profile(region, key, profile));
    }
    if let Tied::To(key, _, registered) = &cluster.registered {
        print(&of_registry(region, key, registered));
    }
    if let Some(looked) = cluster.looked() {
        // A look itself makes the same document.
        print(&Tree::of(&document::write(&region.name, looked)));
    }
    documents
}

fn head<'a>(api_version: String, kind: &'a str, metadata: Tree<'a>) -> [(&'static str, Tree<'a>); 3] {
    [("apiVersion", Tree::text(api_version)), ("kind", Tree::text(kind)), ("metadata", metadata)]
}

fn text(text: &str) -> Tree<'_> {
    Tree::text(text)
}

fn texts(pairs: &BTreeMap<String, String>) -> Tree<'_> {
    Tree::map(pairs.iter().map(|(key, value)| (key.as_str(), text(value))))
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
fn k0rdents<'a>(world: &World<'a>, region: &'a RegionConfig, facts: &'a RegionFacts) -> Tree<'a> {
    let name = &region.inventory.region;
    let providers = facts.providers.iter().map(|provider| Tree::map([("name", text(provider))])).collect();
    let key = ObjectKey::new(GroupKind::new(k0rdent::GROUP, "Region"), None, Name::from(name.as_str()));
    let object = world.snapshot.get(&key);
    let is_by_cluster = |object: &&crate::object::Object| object.at(&["spec", "clusterDeployment"]).is_some();
    let at =
        |path: &[&str]| object.and_then(|object| object.body.str_at(path)).map(|found| Tree::text(found.to_string()));
    let origin = match object.filter(is_by_cluster) {
        Some(_) => {
            let fields = [
                ("namespace", at(&["spec", "clusterDeployment", "namespace"])),
                ("name", at(&["spec", "clusterDeployment", "name"])),
            ];
            Some(("clusterDeployment", Tree::map(fields.into_iter().filter_map(|(key, tree)| Some((key, tree?))))))
        }
        None if object.is_some_and(|object| !kubeconfig_secrets(object).is_empty()) => {
            let fields = [("name", at(&["spec", "kubeConfig", "name"])), ("key", at(&["spec", "kubeConfig", "key"]))];
            Some(("kubeConfig", Tree::map(fields.into_iter().filter_map(|(key, tree)| Some((key, tree?))))))
        }
        None => None,
    };
    let spec = Tree::map(some("providers", Tree::List(providers)).into_iter().chain(origin));
    let exposed: Vec<Tree<'_>> = facts.exposed.iter().map(|provider| text(provider)).collect();
    let exposed = some("exposedProviders", Tree::List(exposed));
    let status = exposed.map(|exposed| {
        let component = Tree::map([exposed]);
        ("status", Tree::map([("components", Tree::map([("facts", component)]))]))
    });
    let metadata = Tree::map([("name", text(name.as_str()))]);
    let head = head(format!("{}/v1beta1", k0rdent::GROUP), "Region", metadata);
    Tree::map(head.into_iter().chain([("spec", spec)]).chain(status))
}

/// The conditions that the region's gate asks for.
fn conditions<'a>(region: &'a RegionConfig, has: &'a BTreeMap<String, Status>) -> Tree<'a> {
    let asked = region.inventory.gate.iter().filter_map(|condition| Some((condition, has.get(condition)?)));
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

fn of_profile<'a>(region: &'a RegionConfig, key: &'a ObjectKey, profile: &'a Profile) -> Tree<'a> {
    let by = region.inventory.profile.as_ref().map(|tie| &tie.by);
    let labels = match by {
        Some(ProfileBy::Labels(labels)) => texts(labels),
        _ => Tree::Map(TreeMap::new()),
    };
    let mut wanted: BTreeSet<&str> = [CLUSTER_ID, CLUSTER_SET].into();
    if let Some(ProfileBy::Properties(properties)) = by {
        wanted.extend(properties.keys().map(String::as_str));
    }
    let properties = profile.properties.iter().filter(|(name, _)| wanted.contains(name.as_str()));
    let properties =
        properties.map(|(name, value)| Tree::map([("name", text(name)), ("value", text(value))])).collect();
    let access = profile
        .access
        .iter()
        .map(|access| Tree::map([("name", text(&access.name)), ("cluster", cluster(&access.cluster))]));
    let version = profile.kubernetes.as_ref().map(|version| ("version", Tree::map([("kubernetes", text(version))])));
    let status = [
        some("accessProviders", Tree::List(access.collect())),
        some("conditions", conditions(region, &profile.conditions)),
        some("properties", Tree::List(properties)),
        version,
    ];
    let metadata = [("name", text(key.name.as_str())), ("namespace", text(key.namespace_text()))];
    let metadata = Tree::map(metadata.into_iter().chain(some("labels", labels)));
    let manager = Tree::map([("name", text(&profile.manager))]);
    let head = head(format!("{MULTICLUSTER}/v1alpha1"), "ClusterProfile", metadata);
    let spec = ("spec", Tree::map([("clusterManager", manager)]));
    let status = some("status", Tree::map(status.into_iter().flatten()));
    Tree::map(head.into_iter().chain([spec]).chain(status))
}

fn cluster(cluster: &AccessCluster) -> Tree<'_> {
    let flag = |key: &'static str, flag: bool| flag.then_some((key, Tree::Bool(true)));
    let given =
        |key: &'static str, given: &'_ Option<String>| given.as_ref().map(|given| (key, Tree::text(given.clone())));
    let extensions = cluster
        .extensions
        .iter()
        .map(|(name, extension)| Tree::map([("name", text(name)), ("extension", Tree::of(extension))]));
    let fields = [
        Some(("server", text(&cluster.server))),
        given("certificate-authority-data", &cluster.ca_data),
        given("tls-server-name", &cluster.tls_server_name),
        given("proxy-url", &cluster.proxy_url),
        flag("insecure-skip-tls-verify", cluster.insecure),
        flag("disable-compression", cluster.disable_compression),
        some("extensions", Tree::List(extensions.collect())),
    ];
    Tree::map(fields.into_iter().flatten())
}

fn of_registry<'a>(region: &'a RegionConfig, key: &'a ObjectKey, registered: &'a Registered) -> Tree<'a> {
    let annotations = registered.disabled.then(|| ("annotations", Tree::map([(DISABLED, text("true"))])));
    let metadata = Tree::map([("name", text(key.name.as_str()))].into_iter().chain(annotations));
    let given = |key: &'static str, given: &'a Option<String>| given.as_ref().map(|given| (key, text(given)));
    let locality = registered.locality.as_ref().map(|region| ("locality", Tree::map([("region", text(region))])));
    let status = [
        some("conditions", conditions(region, &registered.conditions)),
        given("distribution", &registered.distribution),
        locality,
        given("version", &registered.kubernetes),
    ];
    let head = head(format!("{REGISTRY}/v1alpha1"), "Cluster", metadata);
    let spec = ("spec", Tree::map([("clusterID", text(&registered.id))]));
    let status = some("status", Tree::map(status.into_iter().flatten()));
    Tree::map(head.into_iter().chain([spec]).chain(status))
}
