//! AWS: static, role and controller identities.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-aws>, `api/v1beta2`.

use super::allowed::{Allowed, Labels, Selected};
use super::naming::{Choices, ClusterKind, Form, Naming, Within, Without, identity, secret};
use super::rules::{Entries, GROUP, KeptSession, KindRules, Served};
use super::shape::{ALLOWED_NAMESPACES, Field, Shape, TEXT};
use super::tenancy::{Admits, Tenancy};
use crate::name::{Namespace, ObjectKey, Scope};
use crate::node::Node;

/// The name of the one controller identity.
pub const CONTROLLER_NAME: &str = "default";

/// The CRDs contain v1beta1 too, but do not serve it.
const VERSIONS: &[Served] = &[Served::always("v1beta2")];

/// A role's source; every kind of AWS identity is accepted.
const SOURCE: Shape = Shape::Map(&[
    Field::required(
        "kind",
        Shape::OneOf(&["AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity"]),
    ),
    Field::required("name", Shape::Text { least: 1, most: None }),
]);

const BASE: KindRules = KindRules {
    group: GROUP,
    kind: "",
    plural: "",
    scope: Scope::Cluster,
    tenancy: Tenancy::Aws,
    versions: VERSIONS,
    spec: &[],
    also_required: &[],
    singleton: None,
    immutable: &[],
    provider: "infrastructure-aws",
    conditional: &[],
    entries: &[],
    session: None,
};

/// Sessions are kept for each controller, and one list of credentials for all of them: the first controller that finds new ones
/// there notes them, and so no other sees that they are new.
/// <https://github.com/kubernetes-sigs/cluster-api-provider-aws/pull/6182>
const SESSION: KeptSession = KeptSession {
    provider: "Cluster API's provider for AWS",
    controller: "capa-controller-manager there",
    rebuilt: "of its controllers, only the first that reconciles a cluster makes its session anew",
};

/// An access key in a Secret of the controller's namespace.
pub static STATIC: KindRules = KindRules {
    kind: "AWSClusterStaticIdentity",
    plural: "awsclusterstaticidentities",
    spec: &[ALLOWED_NAMESPACES, Field::required("secretRef", TEXT)],
    immutable: &[&["spec", "secretRef"]],
    entries: &[Entries {
        reference: &["spec", "secretRef"],
        types: &[],
        names: &["AccessKeyID", "SecretAccessKey"],
        open: &["AccessKeyID"],
    }],
    session: Some(SESSION),
    ..BASE
};

/// A role that is assumed from another identity.
///
/// A source reference, once set, cannot be removed; as the webhook requires one from the start,
/// [`KindRules::also_required`] covers that.
pub static ROLE: KindRules = KindRules {
    kind: "AWSClusterRoleIdentity",
    plural: "awsclusterroleidentities",
    spec: &[
        ALLOWED_NAMESPACES,
        Field::optional("durationSeconds", Shape::Int { least: 900, most: 43_200 }),
        Field::optional("externalID", TEXT),
        Field::optional("inlinePolicy", TEXT),
        Field::optional("policyARNs", Shape::List(&TEXT)),
        Field::required("roleARN", TEXT),
        Field::optional("sessionName", TEXT),
        Field::optional("sourceIdentityRef", SOURCE),
    ],
    also_required: &[&["spec", "sourceIdentityRef"]],
    ..BASE
};

/// The controller's own rights; the provider makes the one object on every cluster.
pub static CONTROLLER: KindRules = KindRules {
    kind: "AWSClusterControllerIdentity",
    plural: "awsclustercontrolleridentities",
    spec: &[ALLOWED_NAMESPACES],
    singleton: Some(CONTROLLER_NAME),
    immutable: &[&["spec"]],
    ..BASE
};

/// An object without the field uses the controller's own rights.
const IDENTITY_REF: Naming = Naming {
    field: &["spec", "identityRef"],
    form: Form::Map,
    choices: Choices::By {
        key: "kind",
        first_by_default: false,
        of: &[
            identity("AWSClusterControllerIdentity"),
            identity("AWSClusterRoleIdentity"),
            identity("AWSClusterStaticIdentity"),
        ],
    },
    namespace: Within::Own,
    without: Without::Name(CONTROLLER_NAME),
};

/// The namespace in which clusterctl installs the controller.
pub(super) const CONTROLLER_NAMESPACE: &str = "capa-system";

/// The kinds of clusters: of EKS and ROSA, the control plane names the identity.
pub const CLUSTERS: &[ClusterKind] = &[
    ClusterKind::infrastructure("AWSCluster", "awsclusters", &[IDENTITY_REF]),
    ClusterKind::left_to("AWSManagedCluster", "awsmanagedclusters", "AWSManagedControlPlane"),
    ClusterKind::control_plane("AWSManagedControlPlane", "awsmanagedcontrolplanes", &[IDENTITY_REF]),
    ClusterKind::left_to("ROSACluster", "rosaclusters", "ROSAControlPlane"),
    ClusterKind::control_plane(
        "ROSAControlPlane",
        "rosacontrolplanes",
        &[
            IDENTITY_REF,
            // A token, or the ID and secret of a client; without the field, those of the controller.
            Naming {
                field: &["spec", "credentialsSecretRef"],
                form: Form::Map,
                choices: Choices::One(secret(&[])),
                namespace: Within::Own,
                without: Without::Nothing,
            },
        ],
    ),
];

/// Whether CAPA lets a namespace use an identity.
///
/// The selector is no pointer, and Go compares it with the zero value: `selector: {}` counts as none, so it
/// admits everybody, whatever the API's documentation says.
///
/// `matchLabels: {}` is not the zero value. Until CAPA 2.8 a webhook dropped the empty map on the way, and the
/// identity admitted everybody; from 2.9 on it admits nobody. Nobody is the answer that lets nothing out.
/// <https://github.com/k0rdent/kcm/issues/2022>
pub(super) fn admits(spec: Option<&Node>, namespace: &Namespace, labels: Labels<'_>) -> Admits {
    let allowed = match Allowed::read(spec, &["list", "selector"]) {
        Ok(Some(allowed)) => allowed,
        Ok(None) => return Admits::No,
        Err(unknown) => return unknown,
    };
    if allowed.list.is_none() && allowed.selector.as_ref().is_none_or(Selected::is_zero) {
        return Admits::Yes;
    }
    if allowed.lists(namespace) {
        return Admits::Yes;
    }
    allowed.selector.map_or(Admits::No, |selector| selector.or_nobody(namespace, labels))
}

/// The kind and name of the identity that CAPA makes by itself on every cluster.
pub fn is_controller_identity(key: &ObjectKey) -> bool {
    key.kind.is("infrastructure.cluster.x-k8s.io", "AWSClusterControllerIdentity") && key.name == "default"
}
