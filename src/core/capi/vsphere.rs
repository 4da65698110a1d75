//! vSphere: one identity kind with a Secret of the controller's namespace.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-vsphere>, `apis/v1beta2`.

use super::allowed::{Allowed, Labels};
use super::naming::{Choices, ClusterKind, Form, Naming, Within, Without, entry, identity, secret};
use super::rules::{Entries, GROUP, KindRules, Served};
use super::shape::{Field, SELECTOR, Shape};
use super::tenancy::{Admits, Tenancy};
use crate::name::{Namespace, Scope};
use crate::node::Node;

/// A vSphere identity.
///
/// v1beta1 does not ask for `secretName`, but nothing works without it.
pub static IDENTITY: KindRules = KindRules {
    group: GROUP,
    kind: "VSphereClusterIdentity",
    plural: "vsphereclusteridentities",
    scope: Scope::Cluster,
    tenancy: Tenancy::Vsphere,
    versions: &[Served::since("v1beta2", 10), Served::always("v1beta1")],
    spec: &[
        Field::optional("allowedNamespaces", Shape::Map(&[Field::optional("selector", SELECTOR)])),
        Field::required("secretName", Shape::Text { least: 1, most: Some(253) }),
    ],
    also_required: &[],
    singleton: None,
    immutable: &[],
    session: None,
    provider: "infrastructure-vsphere",
    conditional: &[],
    entries: &[Entries {
        reference: &["spec", "secretName"],
        types: &[],
        names: &["username", "password"],
        open: &["username"],
    }],
};

/// The namespace in which clusterctl installs the controller.
pub(super) const CONTROLLER_NAMESPACE: &str = "capv-system";

/// The field that names an identity, or a Secret: of the object's own namespace, or of the controller's where it has
/// none.
const NAMES: &[Naming] = &[Naming {
    field: &["spec", "identityRef"],
    form: Form::Map,
    choices: Choices::By {
        key: "kind",
        first_by_default: false,
        of: &[identity("VSphereClusterIdentity"), secret(&[entry("username"), entry("password")])],
    },
    namespace: Within::Own,
    without: Without::Nothing,
}];

/// The machines of clusters in several vCenters: pull requests 1743 and, of 2025-02, 70819fe0, which people run;
/// without the field, a machine has its cluster's identity.
const MACHINES: &[ClusterKind] = &[ClusterKind::infrastructure("VSphereMachine", "vspheremachines", NAMES)];

/// The failure domains of such clusters: pull request 3837 (2026-02).
const ZONE: &ClusterKind = &ClusterKind::infrastructure("VSphereDeploymentZone", "vspheredeploymentzones", NAMES);

/// The kinds of clusters; without the field, the controller's own credentials are used. A cluster of the supervisor has
/// none.
pub const CLUSTERS: &[ClusterKind] = &[
    ClusterKind::infrastructure("VSphereCluster", "vsphereclusters", NAMES).with_machines(MACHINES).with_domains(ZONE),
    ClusterKind {
        group: "vmware.infrastructure.cluster.x-k8s.io",
        ..ClusterKind::infrastructure("VSphereCluster", "vsphereclusters", &[])
    },
];

/// Whether CAPV lets a namespace use an identity.
///
/// vSphere has no `list`: the API drops the field silently, and what is left admits everybody. A `list` was
/// meant to be narrower than that, so with one the answer is unknown.
pub(super) fn admits(spec: Option<&Node>, namespace: &Namespace, labels: Labels<'_>) -> Admits {
    match Allowed::read(spec, &["selector"]) {
        Ok(None) => Admits::No,
        Ok(Some(allowed)) => allowed.selector.map_or(Admits::Yes, |selector| selector.or_everybody(namespace, labels)),
        Err(unknown) => unknown,
    }
}
