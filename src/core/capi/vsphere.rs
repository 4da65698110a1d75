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

/// The kind of clusters; without the field, the controller's own credentials are used.
pub const CLUSTERS: &[ClusterKind] = &[ClusterKind::infrastructure(
    "VSphereCluster",
    "vsphereclusters",
    &[Naming {
        field: &["spec", "identityRef"],
        form: Form::Map,
        choices: Choices::By {
            key: "kind",
            first_by_default: false,
            of: &[identity("VSphereClusterIdentity"), secret(&[entry("username"), entry("password")])],
        },
        namespace: Within::Own,
        without: Without::Nothing,
    }],
)];

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
