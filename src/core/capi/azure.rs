//! Azure: one identity kind of many types.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-azure>, `api/v1beta1`.

use super::allowed::{Allowed, Labels};
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
