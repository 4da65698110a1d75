//! Labels and annotations that tell a consumer of a bundle what to do with an object, or hold a copy of it.

use super::matched::COPIES;

/// The annotation that keeps the registry's controller from writing an object, whatever its value.
pub const SYNC_DISABLED: &str = "cluster-registry.k8s.cisco.com/resource-sync-disabled";

/// Domains whose labels and annotations steer a consumer. They apply to their subdomains too.
const DOMAINS: [&str; 14] = [
    "argoproj.io",
    "cattle.io",
    "cluster.x-k8s.io",
    "config.k8s.io",
    "config.kubernetes.io",
    "emberstack.com",
    "fluxcd.io",
    "helm.sh",
    "k0rdent.mirantis.com",
    "k14s.io",
    "ksonnet.io",
    "kubectl.kubernetes.io",
    "mittwald.de",
    "projectsveltos.io",
];

/// Returns true if a label or annotation never comes from a source, even if `keepMetadata` says `*`.
///
/// A second lock behind the allow-list: `keep: {annotations: ["*"]}` is easily written, and would
/// otherwise publish `last-applied-configuration`, a cleartext copy of the Secret. `data` and
/// `stringData` are what the sealing rule looks for at any depth.
pub fn steers(key: &str) -> bool {
    if COPIES.contains(&key) {
        return true;
    }
    let Some((domain, name)) = key.split_once('/') else { return matches!(key, "data" | "stringData") };
    if domain == "app.kubernetes.io" {
        return matches!(name, "instance" | "managed-by");
    }
    if domain == "clusterctl.cluster.x-k8s.io" {
        // Read by people who move clusters between management clusters, not by whoever applies a bundle.
        return false;
    }
    let within = |known: &&str| domain.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    DOMAINS.iter().any(within)
}
