//! The kinds that stand behind a Cluster: which are known, and which one was probably meant by another.

use super::super::naming::ClusterKind;
use super::super::{aws, azure, gcp, hetzner, kubevirt, nutanix, oci, openstack, others, proxmox, secrets, vsphere};
use crate::name::GroupKind;
use crate::nearest::edits;

/// The API group of Clusters.
pub const CLUSTERS: &str = "cluster.x-k8s.io";

/// What ends the kind of a template.
pub(super) const TEMPLATE: &str = "Template";

/// Every kind that is known.
pub fn kinds() -> impl Iterator<Item = &'static ClusterKind> {
    let with_identities = [aws::CLUSTERS, azure::CLUSTERS, oci::CLUSTERS, openstack::CLUSTERS, vsphere::CLUSTERS];
    let with_secrets =
        [gcp::CLUSTERS, hetzner::CLUSTERS, kubevirt::CLUSTERS, nutanix::CLUSTERS, proxmox::CLUSTERS, secrets::CLUSTERS];
    with_identities.into_iter().chain(with_secrets).chain([others::CLUSTERS]).flatten()
}

/// What is known of a kind that a Cluster refers to.
pub fn known(kind: &GroupKind) -> Option<&'static ClusterKind> {
    // Most kinds are of other groups.
    if !kind.group.as_str().ends_with(CLUSTERS) {
        return None;
    }
    kinds().find(|known| known.is(kind))
}

/// The kind that a ClusterClass makes of a template, if it is one of those.
pub fn of_template(template: &GroupKind) -> Option<&'static ClusterKind> {
    let kind = template.kind.as_str().strip_suffix(TEMPLATE)?;
    known(&GroupKind::new(template.group.as_str(), kind))
}

/// The kind of the template of a known kind.
pub fn template_kind(known: &ClusterKind) -> GroupKind {
    GroupKind::new(known.group, &[known.kind, TEMPLATE].concat())
}

/// The known kind that was probably meant by one that is not known: its name is the same or near, and so is its group,
/// or that is another group of Cluster API. No control plane of another provider is as near to one that names identities.
pub fn meant(kind: &GroupKind) -> Option<GroupKind> {
    meant_among(kind, kinds().map(|known| known.group_kind()))
}

/// The same of templates.
pub fn meant_template(kind: &GroupKind) -> Option<GroupKind> {
    meant_among(kind, kinds().map(template_kind))
}

pub(super) fn meant_among(kind: &GroupKind, known: impl Iterator<Item = GroupKind>) -> Option<GroupKind> {
    let is_of_capi = kind.group.as_str().ends_with(CLUSTERS);
    let between = |known: &GroupKind| {
        let name = edits(kind.kind.as_str(), known.kind.as_str())?;
        let group = edits(kind.group.as_str(), known.group.as_str());
        // Nobody else calls a kind just so.
        let is_same = kind.kind == known.kind;
        let group = group.or_else(|| (is_of_capi || is_same).then_some(3))?;
        Some(name + group)
    };
    let near = known.filter_map(|known| Some((between(&known)?, known)));
    near.min().map(|(_, known)| known).filter(|known| known != kind)
}

/// The kind of Clusters.
pub fn cluster_kind() -> GroupKind {
    GroupKind::new(CLUSTERS, "Cluster")
}

/// Returns true if a kind is that of Clusters; asked of every document, so no kind is made for it.
pub fn is_cluster(kind: &GroupKind) -> bool {
    kind.is(CLUSTERS, "Cluster")
}

/// The kind of the classes that Clusters can be made from.
pub fn class_kind() -> GroupKind {
    GroupKind::new(CLUSTERS, "ClusterClass")
}
