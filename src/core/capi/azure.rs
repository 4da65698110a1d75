//! Azure: one identity kind of many types.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-azure>, `api/v1beta1`.

use super::allowed::{Allowed, Labels};
use super::naming::{Choice, Choices, ClusterKind, Form, Naming, Within, Without, entry, identity, secret};
use super::rules::{Conditional, Entries, GROUP, KindRules, Served};
use super::shape::{ALLOWED_NAMESPACES, Field, SECRET_REFERENCE, Shape, TEXT};
use super::tenancy::{Admits, Tenancy};
use crate::name::{Namespace, Scope};
use crate::node::Node;

/// The types that read `spec.clientSecret`; the others authenticate by the pod or by files on it.
const WITH_SECRET: &[&str] = &["ServicePrincipal", "ManualServicePrincipal", "ServicePrincipalCertificate"];

/// An Azure identity.
pub static IDENTITY: KindRules = KindRules {
    group: GROUP,
    kind: "AzureClusterIdentity",
    plural: "azureclusteridentities",
    scope: Scope::Namespaced,
    tenancy: Tenancy::Azure,
    versions: &[Served::always("v1beta1")],
    spec: &[
        ALLOWED_NAMESPACES,
        Field::optional("certPath", TEXT),
        Field::required("clientID", TEXT),
        Field::optional("clientSecret", SECRET_REFERENCE),
        Field::optional("resourceID", TEXT),
        Field::required("tenantID", TEXT),
        Field::required(
            "type",
            Shape::OneOf(&[
                "ServicePrincipal",
                "UserAssignedMSI",
                "ManualServicePrincipal",
                "ServicePrincipalCertificate",
                "WorkloadIdentity",
                "UserAssignedIdentityCredential",
            ]),
        ),
        Field::optional("userAssignedIdentityCredentialsCloudType", TEXT),
        Field::optional("userAssignedIdentityCredentialsPath", TEXT),
    ],
    also_required: &[],
    singleton: None,
    immutable: &[&["spec", "type"]],
    session: None,
    provider: "infrastructure-azure",
    conditional: &[Conditional {
        reference: &["spec", "clientSecret"],
        given: &["spec", "type"],
        values: WITH_SECRET,
        // A certificate can be a file on the controller's pod instead.
        unless: Some(&["spec", "certPath"]),
    }],
    entries: &[Entries {
        reference: &["spec", "clientSecret"],
        types: &["ServicePrincipal", "ManualServicePrincipal"],
        names: &["clientSecret"],
        open: &[],
    }],
};

const IDENTITIES: &[Choice] = &[identity("AzureClusterIdentity")];

const fn identity_ref(without: Without) -> Naming {
    Naming {
        field: &["spec", "identityRef"],
        form: Form::Map,
        choices: Choices::By { key: "kind", first_by_default: true, of: IDENTITIES },
        namespace: Within::SaidOrOwn,
        without,
    }
}

/// The annotation by which Azure Service Operator finds the Secret of a resource. Resources without it use the Secret
/// `aso-credential` of their namespace, or else the operator's own.
const OF_RESOURCES: &[Naming] = &[Naming {
    field: &["spec", "resources", "[]", "metadata", "annotations", "serviceoperator.azure.com/credential-from"],
    form: Form::Text,
    choices: Choices::One(secret(&[
        entry("AZURE_SUBSCRIPTION_ID"),
        entry("AZURE_TENANT_ID"),
        entry("AZURE_CLIENT_ID"),
    ])),
    namespace: Within::Own,
    without: Without::Nothing,
}];

/// The pools of machines, each of which has resources of its own.
const POOLS: &[ClusterKind] =
    &[ClusterKind::infrastructure("AzureASOManagedMachinePool", "azureasomanagedmachinepools", OF_RESOURCES)];

/// The kinds of clusters: of AKS, the control plane names the identity.
pub const CLUSTERS: &[ClusterKind] = &[
    ClusterKind::infrastructure("AzureCluster", "azureclusters", &[identity_ref(Without::Nothing)]),
    ClusterKind::left_to("AzureManagedCluster", "azuremanagedclusters", "AzureManagedControlPlane"),
    ClusterKind::infrastructure(
        "AzureManagedControlPlane",
        "azuremanagedcontrolplanes",
        &[identity_ref(Without::Refused)],
    ),
    ClusterKind::infrastructure("AzureASOManagedCluster", "azureasomanagedclusters", OF_RESOURCES).with_machines(POOLS),
    ClusterKind::infrastructure("AzureASOManagedControlPlane", "azureasomanagedcontrolplanes", OF_RESOURCES),
];

/// Whether CAPZ lets a namespace use an identity.
///
/// The selector is a pointer: `selector: {}` counts as present, and an empty selector admits nobody.
pub(super) fn admits(spec: Option<&Node>, namespace: &Namespace, labels: Labels<'_>) -> Admits {
    let allowed = match Allowed::read(spec, &["list", "selector"]) {
        Ok(Some(allowed)) => allowed,
        Ok(None) => return Admits::No,
        Err(unknown) => return unknown,
    };
    if allowed.list.is_none() && allowed.selector.is_none() || allowed.lists(namespace) {
        return Admits::Yes;
    }
    allowed.selector.map_or(Admits::No, |selector| selector.or_nobody(namespace, labels))
}
