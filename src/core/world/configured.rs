//! Configured: where the configuration says of a region what a look found otherwise.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::definition::Definitions;
use crate::config::{Fleet, RegionConfig};
use crate::finding::{Code, Finding};
use crate::inventory::looked::Looked;
use crate::name::Scope;

/// Tells of what the configuration says of a region otherwise than what was seen there; `own` is what its own
/// ProviderInterfaces define.
pub(super) fn told_otherwise(
    fleet: &Fleet,
    region: &RegionConfig,
    looked: &Looked,
    own: Option<&Definitions>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut differs = |message: String, help: String| {
        findings.push(Finding::new(Code::FactDiffers, message).in_region(&region.name).help(help));
    };
    if region.push_disabled && own.is_some_and(|own| !own.is_empty()) {
        let message = format!(
            "the configuration says that k0rdent pushes nothing to region {}, but its own ProviderInterfaces define identities",
            region.name
        );
        let help = "Reduce them to clusterIdentityKinds, or remove `k0rdentPushDisabled`: what the region has counts.";
        differs(message, help.to_string());
    }
    for (kind, extra) in &fleet.kinds {
        let (here, there) = match extra.scope {
            _ if !looked.kinds.get(kind).is_some_and(|served| served.is_other_scope(extra.scope)) => continue,
            Scope::Namespaced => ("namespaced", "cluster-scoped"),
            Scope::Cluster => ("cluster-scoped", "namespaced"),
        };
        let message = format!("the kind {kind} is {here} by the configuration, and {there} on region {}", region.name);
        differs(message, "Correct `scope` of the kind in `kinds`, or its definition on the region.".to_string());
    }
    for (namespace, wanted) in &region.namespaces.labels {
        let Some(Some(has)) = looked.namespaces.get(namespace) else { continue };
        let other = wanted.iter().find(|(key, value)| has.get(*key) != Some(value));
        if let Some((key, value)) = other {
            let there = has.get(key).map_or_else(|| String::from("missing"), |there| format!("{there:?}"));
            let message = format!(
                "label {key} of namespace {namespace} is {there} on region {}, and {value:?} in the configuration",
                region.name
            );
            let help = format!("Correct the namespace, or `regions.{}.namespaces.labels`.", region.name);
            differs(message, help);
        }
    }
    findings
}
