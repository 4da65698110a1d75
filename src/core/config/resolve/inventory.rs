//! Inventory: the objects that describe a region's cluster, the gate, and how the cluster is looked into.

use alloc::string::String;

use super::super::Output;
use super::super::error::{Faults, FieldPath, quoted};
use super::super::file::{ClusterProfileFile, RegionClusterFile, RegionFile};
use super::super::inventory::{Inventory, Look, ProfileBy, ProfileTie};
use super::name::{namespace, object_name};
use crate::name::Region;

/// Resolves what is said of a region's cluster.
pub(super) fn resolve(
    name: &str,
    typed: &RegionFile,
    output: &Output,
    path: &FieldPath,
    faults: &mut Faults,
) -> Inventory {
    let mut inventory = Inventory::of(Region::from(name));
    if let Some(objects) = &typed.inventory {
        let path = path.key("inventory");
        if let Some(region) = &objects.region {
            inventory.region = Region::from(object_name(region, &path.key("region"), faults).as_str());
        }
        let tie = objects.cluster_profile.as_ref();
        inventory.profile = tie.and_then(|typed| profile(typed, &path.key("clusterProfile"), faults));
        let registry = objects.registry_cluster.as_ref();
        inventory.registry = registry.map(|name| object_name(name, &path.key("registryCluster"), faults));
    }
    let path_of_gate = path.key("gate");
    for (at, condition) in typed.gate.iter().enumerate() {
        if !is_condition(condition) {
            let message = format!("{} cannot be the type of a condition", quoted(condition));
            faults.add(
                &path_of_gate.index(at),
                message,
                "Write it as the object's status does, such as ControlPlaneHealthy.",
            );
        }
        if !inventory.gate.insert(condition.clone()) {
            faults.add(&path_of_gate.index(at), "the condition is here twice", "Remove one of them.");
        }
    }
    if !inventory.gate.is_empty() && inventory.profile.is_none() && inventory.registry.is_none() {
        let message = "there is a gate, and no object whose conditions it could ask for";
        faults.add(
            &path_of_gate,
            message,
            "Tie the region to a `clusterProfile` or a `registryCluster` in `inventory`.",
        );
    }
    let has_profile = inventory.profile.is_some();
    let look = typed.cluster.as_ref();
    inventory.look = look.and_then(|typed| looked_into(typed, has_profile, output, &path.key("cluster"), faults));
    inventory
}

fn profile(typed: &ClusterProfileFile, path: &FieldPath, faults: &mut Faults) -> Option<ProfileTie> {
    let namespace = namespace(&typed.namespace, &path.key("namespace"), faults);
    let by = match (&typed.name, &typed.property, &typed.labels) {
        (Some(name), None, None) => ProfileBy::Name(object_name(name, &path.key("name"), faults)),
        (None, Some(properties), None) if !properties.is_empty() => ProfileBy::Properties(properties.clone()),
        (None, None, Some(labels)) if !labels.is_empty() => ProfileBy::Labels(labels.clone()),
        _ => {
            let help = "Write exactly one of `name`, `property` and `labels`, and not an empty one.";
            faults.add_at_key(path, "it is not said which ClusterProfile of the namespace is meant", help);
            return None;
        }
    };
    if typed.manager.as_ref().is_some_and(String::is_empty) {
        faults.add(
            &path.key("manager"),
            "the name of the cluster manager is empty",
            "Fill it in, or remove the field.",
        );
    }
    Some(ProfileTie { namespace, by, manager: typed.manager.clone() })
}

fn looked_into(
    typed: &RegionClusterFile,
    has_profile: bool,
    output: &Output,
    path: &FieldPath,
    faults: &mut Faults,
) -> Option<Look> {
    match (&typed.providers, &typed.kubeconfig, &typed.context) {
        (Some(file), None, None) => {
            if !has_profile {
                let message =
                    "`providers` looks into the cluster that a ClusterProfile names, and the region is tied to none";
                faults.add(&path.key("providers"), message, "Add `inventory.clusterProfile`.");
            }
            super::output::not_among_bundles(file, &path.key("providers"), output, faults);
            Some(Look::Providers(file.clone()))
        }
        (Some(_), _, _) => {
            let help = "Keep either `providers`, or `kubeconfig` and `context`.";
            faults.add_at_key(path, "two ways to reach the cluster are given", help);
            None
        }
        (None, None, None) => {
            let help = "Write `context` (and `kubeconfig`), or `providers`.";
            faults.add_at_key(path, "it is not said how the cluster is reached", help);
            None
        }
        (None, kubeconfig, context) => {
            if let Some(file) = kubeconfig {
                super::output::not_among_bundles(file, &path.key("kubeconfig"), output, faults);
            }
            Some(Look::Kubeconfig { kubeconfig: kubeconfig.clone(), context: context.clone() })
        }
    }
}

/// Whether a text can be the type of a condition.
///
/// <https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition>
fn is_condition(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    (1..=316).contains(&text.len()) && text.bytes().all(inner) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}
