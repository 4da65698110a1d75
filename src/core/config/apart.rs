//! Apart: no two regions are brought to one cluster.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};

use super::argocd::ArgoKind;
use super::delivery::Delivery;
use super::error::{Faults, FieldPath, holds_secret};
use super::flux::Flux;
use super::region::{RegionConfig, RegionState};
use super::repository::filled;
use crate::name::{Name, Namespace, Region};

/// Checks that no two regions are brought to one cluster, as far as that can be seen: each consumer would take away what
/// the other applies, and what one region may hold would be in the other's reach.
pub(super) fn check(regions: &BTreeMap<Region, RegionConfig>, faults: &mut Faults) {
    let root = FieldPath::root().key("regions");
    let mut clusters: BTreeMap<Cluster<'_>, &Region> = BTreeMap::new();
    let mut keys: BTreeMap<(&Namespace, &Name), &Region> = BTreeMap::new();
    let in_use = || regions.iter().filter(|(_, region)| region.state != RegionState::Retired);
    for (name, region) in in_use() {
        if let Delivery::Flux(flux) = &region.delivery {
            keys.insert((&flux.namespace, &flux.decryption_secret), name);
        }
        let Some((cluster, [consumer, field])) = cluster(region) else { continue };
        // A URL with a password in it has a fault of its own.
        let text = if holds_secret(&cluster.1) { "a URL that is not shown".into() } else { cluster.1.clone() };
        if let Some(other) = clusters.insert(cluster, name) {
            let (one, other) = (other.as_str(), name.as_str());
            let message = format!("the regions {one:?} and {other:?} go to the same cluster: {text}");
            let help =
                "Name each region's own cluster: on one cluster, two bundles would take each other's objects away.";
            faults.add(&root.key(name.as_str()).key("delivery").key(consumer).key(field), message, help);
        }
    }
    for (name, region) in in_use() {
        let Delivery::Flux(Flux { namespace, kube_config: Some((secret, _)), .. }) = &region.delivery else { continue };
        if let Some(other) = keys.get(&(namespace, secret)) {
            let (own, other) = (name.as_str(), other.as_str());
            let message =
                format!("{secret} of region {own:?} is also the Secret with the age identity of region {other:?}");
            let help = "Give the kubeconfig a Secret of its own.";
            faults.add(&root.key(name.as_str()).key("delivery").key("flux").key("kubeConfig"), message, help);
        }
    }
}

/// A consumer's namespace, and what it calls a cluster.
type Cluster<'a> = (&'a Namespace, String);

/// The cluster that a region goes to, as its consumer names it, and the field that says so; None where each region may
/// have a consumer of its own that means its own cluster by that.
fn cluster(region: &RegionConfig) -> Option<(Cluster<'_>, [&'static str; 2])> {
    match &region.delivery {
        Delivery::None => None,
        Delivery::Flux(flux) => {
            let (secret, key) = flux.kube_config.as_ref()?;
            let text = key.as_ref().map_or_else(|| secret.to_string(), |key| format!("{secret}, entry {key}"));
            Some(((&flux.namespace, format!("Flux's Secret {text}")), ["flux", "kubeConfig"]))
        }
        Delivery::ArgoCd(argo) => {
            let named = filled(argo.destination.text(), region.directory.as_str());
            let is_own = ["in-cluster", "https://kubernetes.default.svc"].contains(&named.trim_end_matches('/'));
            (!is_own || argo.kind == ArgoKind::ApplicationSet)
                .then(|| ((&argo.namespace, format!("Argo CD's {named}")), ["argocd", "destination"]))
        }
    }
}
