//! OpenStack: one identity kind, cluster-scoped, with a Secret in any namespace.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-openstack>, `api/v1alpha1`.

use super::allowed::{Labels, Selected};
use super::naming::{Choice, Choices, ClusterKind, Form, Naming, Within, Without, entry, secret};
use super::rules::{Entries, GROUP, KindRules, Served};
use super::shape::{Field, SELECTOR, Shape, TEXT};
use super::tenancy::{Admits, Tenancy};
use crate::name::{Namespace, Scope};
use crate::node::Node;

const SELECTOR_FIELD: &str = "namespaceSelector";

/// An OpenStack identity.
pub static IDENTITY: KindRules = KindRules {
    group: GROUP,
    kind: "OpenStackClusterIdentity",
    plural: "openstackclusteridentities",
    scope: Scope::Cluster,
    tenancy: Tenancy::Openstack,
    versions: &[Served::always("v1alpha1")],
    spec: &[
        Field::optional(SELECTOR_FIELD, SELECTOR),
        Field::required("secretRef", Shape::Map(&[Field::required("name", TEXT), Field::required("namespace", TEXT)])),
    ],
    also_required: &[],
    singleton: None,
    immutable: &[],
    session: None,
    provider: "infrastructure-openstack",
    conditional: &[],
    entries: &[Entries { reference: &["spec", "secretRef"], types: &[], names: &["clouds.yaml"], open: &["cacert"] }],
};

const CLOUDS: &[Choice] = &[
    secret(&[entry("clouds.yaml")]),
    Choice { word: "ClusterIdentity", group: GROUP, kind: "OpenStackClusterIdentity", entries: &[] },
];

const fn identity_ref(without: Without) -> Naming {
    Naming {
        field: &["spec", "identityRef"],
        form: Form::Map,
        choices: Choices::By { key: "type", first_by_default: true, of: CLOUDS },
        namespace: Within::Own,
        without,
    }
}

/// The machines, `api/v1beta2` at e52de58 (2026-08-21); without the field, a machine has its cluster's cloud, and so
/// has the bastion.
const MACHINES: &[ClusterKind] =
    &[ClusterKind::infrastructure("OpenStackMachine", "openstackmachines", &[identity_ref(Without::Nothing)])];

/// The kind of clusters: `type` says whether a Secret or an identity is named.
pub const CLUSTERS: &[ClusterKind] =
    &[ClusterKind::infrastructure("OpenStackCluster", "openstackclusters", &[identity_ref(Without::Refused)])
        .with_machines(MACHINES)];

/// Decides for the only provider to which a missing selector means everybody, so a misspelt one must not count
/// as missing.
pub(super) fn admits(spec: Option<&Node>, namespace: &Namespace, labels: Labels<'_>) -> Admits {
    let Some(spec) = spec.filter(|spec| spec.is_map()) else { return Admits::Unknown("spec is not a map") };
    let meant_to_narrow = |key: &str| {
        let key = key.to_ascii_lowercase();
        key.contains("selector") || key.contains("namespaces")
    };
    if spec.entries().iter().any(|(key, _)| **key != *SELECTOR_FIELD && meant_to_narrow(key)) {
        return Admits::Unknown("spec has a field that looks like a misspelt namespaceSelector");
    }
    match spec.at(&[SELECTOR_FIELD]).map(Selected::read) {
        None => Admits::Yes,
        Some(Ok(selector)) => selector.or_everybody(namespace, labels),
        Some(Err(unknown)) => unknown,
    }
}
