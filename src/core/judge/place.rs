//! Places where nothing lands: namespaces and names on a region that a bundle must not touch.

use alloc::format;
use alloc::vec::Vec;

use super::Court;
use crate::config::{Delivery, RegionConfig};
use crate::finding::{Code, Finding};
use crate::name::Namespace;
use crate::object::ObjectKey;

/// Checks where an object would land.
pub fn check(court: &Court<'_>, region: &RegionConfig, lands: &ObjectKey) -> Vec<Finding> {
    let Some(namespace) = lands.namespace.as_ref().map(Namespace::as_str) else { return Vec::new() };
    let mut findings = Vec::new();
    let delivery = match &region.delivery {
        Delivery::Flux(flux) => Some(flux.namespace.as_str()),
        Delivery::ArgoCd(argo) => Some(argo.namespace.as_str()),
        Delivery::None => None,
    };
    let ours =
        |name: &str| name.starts_with("kube-") || matches!(name, "flux-system" | "argocd") || Some(name) == delivery;
    if ours(namespace) {
        let message = format!("{lands} would land in a namespace that belongs to the cluster or to its delivery");
        findings.push(
            Finding::new(Code::ForbiddenPlace, message).about(lands).help("Move the object to another namespace."),
        );
    }
    if let Delivery::Flux(flux) = &region.delivery
        && lands.kind.is_secret()
        && lands.name == flux.decryption_secret
        && flux.namespace == namespace
    {
        let message = format!("{lands} would overwrite the key that decrypts the region's bundle");
        findings.push(Finding::new(Code::ForbiddenPlace, message).about(lands).help("Rename the Secret."));
    }
    if is_reserved(&court.fleet.system_namespace, lands) {
        let message = format!("{lands} is a name that k0rdent itself writes on the region");
        findings.push(Finding::new(Code::ReservedName, message).about(lands).help("Rename the Secret."));
    }
    findings
}

/// Whether k0rdent itself writes a Secret of this name on regions, for each of its components.
pub fn is_reserved(system: &Namespace, lands: &ObjectKey) -> bool {
    lands.kind.is_secret() && lands.namespace.as_ref() == Some(system) && lands.name.as_str().ends_with("-variables")
}
