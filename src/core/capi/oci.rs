//! Oracle Cloud: one identity kind. `allowedNamespaces` means the same as for Azure.
//!
//! k0rdent ships no ProviderInterface for it; a source can bring one.
//! Source: <https://github.com/oracle/cluster-api-provider-oci>, `api/v1beta2`.

use super::naming::{Choices, ClusterKind, Form, Naming, Within, Without, identity};
use super::rules::{Conditional, Entries, GROUP, KindRules, Served};
use super::shape::{ALLOWED_NAMESPACES, Field, SECRET_REFERENCE, TEXT};
use super::tenancy::Tenancy;
use crate::name::Scope;

/// An Oracle Cloud identity.
pub static IDENTITY: KindRules = KindRules {
    group: GROUP,
    kind: "OCIClusterIdentity",
    plural: "ociclusteridentities",
    scope: Scope::Namespaced,
    tenancy: Tenancy::Azure,
    versions: &[Served::always("v1beta2"), Served::always("v1beta1")],
    spec: &[ALLOWED_NAMESPACES, Field::optional("principalSecret", SECRET_REFERENCE), Field::required("type", TEXT)],
    also_required: &[],
    singleton: None,
    immutable: &[],
    session: None,
    provider: "infrastructure-oci",
    conditional: &[Conditional {
        reference: &["spec", "principalSecret"],
        given: &["spec", "type"],
        // InstancePrincipal and Workload authenticate by where the controller runs.
        values: &["UserPrincipal"],
        unless: None,
    }],
    entries: &[Entries {
        reference: &["spec", "principalSecret"],
        types: &["UserPrincipal"],
        names: &["tenancy", "user", "fingerprint", "key", "region"],
        open: &["tenancy", "user", "fingerprint", "region", "useInstancePrincipal"],
    }],
};

/// Without the field, the controller's own credentials are used.
const NAMES: &[Naming] = &[Naming {
    field: &["spec", "identityRef"],
    form: Form::Map,
    choices: Choices::By { key: "kind", first_by_default: true, of: &[identity("OCIClusterIdentity")] },
    namespace: Within::SaidOrOwn,
    without: Without::Nothing,
}];

/// The kinds of clusters; a managed control plane uses what its cluster names.
pub const CLUSTERS: &[ClusterKind] = &[
    ClusterKind::infrastructure("OCICluster", "ociclusters", NAMES),
    ClusterKind::infrastructure("OCIManagedCluster", "ocimanagedclusters", NAMES),
    ClusterKind::infrastructure("OCIManagedControlPlane", "ocimanagedcontrolplanes", &[]),
];
