//! The namespaces of a region, as far as somebody says: the configuration, a look into the region, and Namespaces of
//! sources that describe it.

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::cluster::{ClusterFacts, Sight};
use crate::claim::template::Namespaces;
use crate::config::{Fleet, RegionConfig};
use crate::name::{GroupKind, Namespace, Region};
use crate::object::Object;
use crate::snapshot::Snapshot;

/// The namespaces of each region that takes templates.
pub(super) fn gather(
    fleet: &Fleet,
    snapshot: &Snapshot,
    clusters: &BTreeMap<Region, ClusterFacts>,
) -> BTreeMap<Region, Namespaces> {
    let taking = fleet.regions.values().filter(|region| !region.templates.patterns().is_empty());
    taking.map(|region| (region.name.clone(), of(fleet, snapshot, region, clusters.get(&region.name)))).collect()
}

fn of(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig, cluster: Option<&ClusterFacts>) -> Namespaces {
    let mut namespaces = Namespaces::default();
    let mut add = |name: &Namespace, labels: &mut dyn Iterator<Item = (String, String)>| {
        namespaces.known.entry(name.clone()).or_default().extend(labels);
    };
    for object in snapshot.all(&GroupKind::new("", "Namespace")) {
        if describes(fleet, snapshot, region, object) {
            let mut labels = object.labels.iter().map(|(key, value)| (String::from(&**key), String::from(&**value)));
            add(&Namespace::new(object.key.name.shared()), &mut labels);
        }
    }
    // Whoever lists namespaces lists them all. A look asks only for those that somebody named, and may fail: beside one,
    // a namespace is gone only where the region says so.
    let is_looked_into = cluster.is_some_and(|cluster| !matches!(cluster.sight, Sight::None));
    let is_listed = !is_looked_into && (!namespaces.known.is_empty() || !region.labels.is_empty());
    for (name, labels) in cluster.and_then(ClusterFacts::looked).iter().flat_map(|looked| &looked.namespaces) {
        match labels {
            Some(labels) => {
                let labels = labels.iter().map(|(key, value)| (key.clone(), value.clone()));
                namespaces.known.entry(name.clone()).or_default().extend(labels);
            }
            None => namespaces.absent.push(name.clone()),
        }
    }
    for (name, labels) in &region.labels {
        let labels = labels.iter().map(|(key, value)| (key.clone(), value.clone()));
        namespaces.known.entry(name.clone()).or_default().extend(labels);
    }
    namespaces.complete = is_listed;
    namespaces
}

/// Whether a Namespace stands in a source that describes the region's cluster.
fn describes(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig, object: &Object) -> bool {
    if region.management && snapshot.at_home(&object.key).is_some() {
        return true;
    }
    let source = fleet.sources.iter().find(|source| source.name == object.origin.source);
    source.is_some_and(|source| source.region.as_ref() == Some(&region.name))
}
