//! What is known of a region's cluster, who says so, and what it decides.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::record::{FactRecord, PlaceRecord};
use crate::destination::Destination;
use crate::finding::{Origin, Place};
use crate::inventory::Status;
use crate::inventory::profile::{CLUSTER_ID, CLUSTER_SET};
use crate::k0rdent;
use crate::name::{GroupKind, Name, ObjectKey};
use crate::world::World;
use crate::world::cluster::{ArgoRegistration, ClusterFacts, Sight, Tied};

/// The facts about a destination's cluster, in the order in which they decide.
pub(super) fn of(world: &World<'_>, to: &Destination<'_>) -> Vec<FactRecord> {
    let mut told = Told(Vec::new());
    region(world, to, &mut told);
    management(world, to, &mut told);
    let Some(cluster) = world.cluster(&to.region.name) else { return told.0 };
    profile(to, cluster, &mut told);
    registered(to, cluster, &mut told);
    sight(cluster, &mut told);
    told.0
}

struct Told(Vec<FactRecord>);

impl Told {
    fn add(&mut self, fact: &str, (from, place): (&str, Option<&Origin>), decides: Option<&str>) {
        self.0.push(FactRecord {
            fact: fact.to_owned(),
            from: from.to_owned(),
            place: place.map(PlaceRecord::from),
            decides: decides.map(String::from),
        });
    }
}

fn region(world: &World<'_>, to: &Destination<'_>, told: &mut Told) {
    let tied = to.region.tied();
    let key = ObjectKey::new(GroupKind::new(k0rdent::GROUP, "Region"), None, Name::from(tied.as_str()));
    let Some(facts) = world.region(&to.region.name) else { return };
    let origin = world.snapshot.get(&key).map(|object| &object.origin);
    let from = format!("Region {tied}");
    let providers: Vec<&str> = facts.providers.iter().chain(&facts.exposed).map(String::as_str).collect();
    let providers = if providers.is_empty() { String::from("none") } else { providers.join(", ") };
    told.add(&format!("providers: {providers}"), (&from, origin), Some("which identity kinds newcomers may have"));
    if facts.deleting {
        told.add("it is being deleted", (&from, origin), None);
    }
}

fn management(world: &World<'_>, to: &Destination<'_>, told: &mut Told) {
    if !to.region.management {
        return;
    }
    let goes = "where Credentials go that name no region";
    told.add("it is the management cluster", ("the configuration", None), Some(goes));
    if let Some(why) = world.snapshot.homeless() {
        told.add(&format!("unknown: {why}"), ("the sources", None), Some("what is there already, and not published"));
    }
    if let Some(uid) = world.snapshot.management_cluster() {
        let from = ("the source that it is", None);
        told.add(&format!("cluster {uid}"), from, Some("what is there already, and not published"));
    }
}

/// What is told of an object that is not known.
fn missing<T>(tied: &Tied<T>, field: &str, told: &mut Told) {
    let from = format!("inventory.{field}");
    match tied {
        Tied::Untied | Tied::To(..) => {}
        Tied::Absent(why) => told.add(why, (&from, None), None),
        Tied::Unknown(why) => told.add(&format!("unknown: {why}"), (&from, None), None),
    }
}

/// Tells of a condition, and if the region requires it.
fn condition(to: &Destination<'_>, (name, status): (&String, Status), from: (&str, &Origin), told: &mut Told) {
    if !to.region.require_conditions.contains(name) {
        return;
    }
    let word = match status {
        Status::True => "True",
        Status::False => "False",
        Status::Unknown => "unknown",
    };
    told.add(&format!("{name}: {word}"), (from.0, Some(from.1)), Some("what the region requires"));
}

fn profile(to: &Destination<'_>, cluster: &ClusterFacts, told: &mut Told) {
    missing(&cluster.profile, "clusterProfile", told);
    let Tied::To(key, origin, profile) = &cluster.profile else { return };
    let from = format!("ClusterProfile {}", key.path());
    told.add(&format!("managed by {}", profile.manager), (&from, Some(origin)), None);
    if let Some(version) = &profile.kubernetes {
        told.add(&format!("Kubernetes {version}"), (&from, Some(origin)), None);
    }
    for server in profile.servers() {
        told.add(&format!("server {server}"), (&from, Some(origin)), Some("whether two regions are one cluster"));
    }
    let property = |name| profile.properties.get(name);
    match (property(CLUSTER_ID), property(CLUSTER_SET)) {
        // The ID is unique within its set only.
        (Some(id), Some(set)) => {
            let fact = format!("cluster {id} in the ClusterSet {set}");
            told.add(&fact, (&from, Some(origin)), Some("whether two regions are one cluster"));
        }
        (Some(id), None) => told.add(&format!("cluster {id} in a ClusterSet not named"), (&from, Some(origin)), None),
        (None, Some(set)) => told.add(&format!("a cluster of the ClusterSet {set}"), (&from, Some(origin)), None),
        (None, None) => {}
    }
    match &cluster.argocd {
        ArgoRegistration::Foreign => {}
        ArgoRegistration::Described(registration) => {
            let fact = format!("access provider {}", registration.way.provider);
            told.add(&fact, (&from, Some(origin)), Some("the cluster Secret of Argo CD"));
        }
        ArgoRegistration::Unknown => {
            let decides = "the cluster Secret of Argo CD: it stays as it is published";
            told.add("access: none that Argo CD can be told", (&from, Some(origin)), Some(decides));
        }
    }
    for (name, status) in &profile.conditions {
        condition(to, (name, *status), (&from, origin), told);
    }
    if profile.deleting {
        told.add("it is being deleted", (&from, Some(origin)), Some("what the region requires"));
    }
}

fn registered(to: &Destination<'_>, cluster: &ClusterFacts, told: &mut Told) {
    missing(&cluster.registered, "registryCluster", told);
    let Tied::To(key, origin, registered) = &cluster.registered else { return };
    let from = format!("registry Cluster {}", key.name);
    told.add(&format!("cluster {}", registered.id), (&from, Some(origin)), Some("whether two regions are one cluster"));
    let pairs = [
        ("Kubernetes", &registered.kubernetes),
        ("distribution", &registered.distribution),
        ("locality", &registered.locality),
    ];
    for (what, said) in pairs {
        if let Some(said) = said {
            told.add(&format!("{what} {said}"), (&from, Some(origin)), None);
        }
    }
    for (name, status) in &registered.conditions {
        condition(to, (name, *status), (&from, origin), told);
    }
    if registered.disabled {
        told.add("it is disabled", (&from, Some(origin)), Some("what the region requires"));
    }
}

fn sight(cluster: &ClusterFacts, told: &mut Told) {
    let (looked, origin) = match &cluster.sight {
        Sight::None => return,
        Sight::Unread(reason) => {
            let decides = "whom selectors of identities admit: until then, what they admitted stays published";
            return told.add(&format!("unknown: {}", reason.why), ("a look into the cluster", None), Some(decides));
        }
        Sight::Seen(looked, origin) => (looked, origin),
    };
    let by = match origin.place {
        Place::Cluster { .. } => "a look into the cluster",
        Place::File { .. } | Place::Whole => "RegionFacts",
    };
    let from = (by, Some(origin));
    if let Some(uid) = &looked.cluster {
        told.add(&format!("cluster {uid}"), from, Some("whether it is the cluster that the bundle was made for"));
    }
    if let Some(version) = &looked.kubernetes {
        told.add(&format!("Kubernetes {version}"), from, None);
    }
    for (kind, served) in &looked.kinds {
        let versions: Vec<&str> = served.versions.iter().map(|version| version.as_str()).collect();
        let versions = if versions.is_empty() { String::from("not served") } else { versions.join(", ") };
        told.add(&format!("{kind}: {versions}"), from, Some("which objects it takes"));
    }
    if let Some(interfaces) = &looked.interfaces {
        let names: Vec<&str> = interfaces.iter().filter_map(|it| it.str_at(&["metadata", "name"])).collect();
        let names = if names.is_empty() { String::from("none") } else { names.join(", ") };
        told.add(&format!("ProviderInterfaces: {names}"), from, None);
        let defines = cluster.definitions.as_ref().is_some_and(|own| !own.is_empty());
        let detached = match defines {
            true => "k0rdent distributes identities there",
            false => "k0rdent distributes no identities there",
        };
        told.add(detached, from, Some("whether Credentials become ready"));
    }
    for (namespace, labels) in &looked.namespaces {
        let Some(labels) = labels else {
            told.add(&format!("namespace {namespace}: absent"), from, None);
            continue;
        };
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let labels = if labels.is_empty() { "no labels".to_string() } else { labels.join(", ") };
        told.add(&format!("namespace {namespace}: {labels}"), from, Some("whom selectors of identities admit"));
    }
}
