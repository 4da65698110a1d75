//! Shapes: the fields of kinds, where pouch knows them all.
//!
//! A field of `spec` holds anything where no stage depends on what stands below it, or where another page reads it more
//! closely. The tables name what any release since k0rdent 1.5 has; a test compares them with the CRDs.

use super::{K0RDENT, KNOWN, MULTICLUSTER};
use crate::capi;
use crate::capi::shape::{Field, Shape, TEXT};
use crate::name::GroupKind;

const fn any(name: &'static str) -> Field {
    Field::optional(name, Shape::Any)
}

const fn text(name: &'static str) -> Field {
    Field::optional(name, TEXT)
}

/// `corev1.ObjectReference`.
const REFERENCE: &[Field] = &[
    text("apiVersion"),
    text("fieldPath"),
    text("kind"),
    text("name"),
    text("namespace"),
    text("resourceVersion"),
    text("uid"),
];

/// A reference to an object of the same namespace.
const LOCAL: Shape = Shape::Map(&[text("name")]);

/// `resourceTemplate` is a template that is written inline.
const PROJECTION: &[Field] =
    &[any("resourceTemplate"), Field::optional("resourceTemplateRef", LOCAL), Field::optional("secretDataRef", LOCAL)];

/// <https://github.com/k0rdent/kcm/blob/main/api/v1beta1/credential_types.go>; `projectionConfig` comes with
/// <https://github.com/k0rdent/kcm/pull/2634>.
const CREDENTIAL: &[Field] = &[
    text("description"),
    Field::optional("identityRef", Shape::Map(REFERENCE)),
    Field::optional("projectionConfig", Shape::Map(PROJECTION)),
    text("region"),
];

/// What stands in a rule is judged rule by rule, so that a slip in one stops no other.
const ACCESS_MANAGEMENT: &[Field] = &[any("accessRules")];

/// Its lists are judged by `k0rdent::provider_interface`.
const PROVIDER_INTERFACE: &[Field] =
    &[any("clusterGVKs"), any("clusterIdentities"), any("clusterIdentityKinds"), text("description")];

const COMPONENT: &[Field] = &[any("config"), text("template")];

const REGION: &[Field] = &[
    Field::optional("clusterDeployment", Shape::Map(&[text("name"), text("namespace")])),
    Field::optional(
        "core",
        Shape::Map(&[Field::optional("capi", Shape::Map(COMPONENT)), Field::optional("kcm", Shape::Map(COMPONENT))]),
    ),
    Field::optional("kubeConfig", Shape::Map(&[text("key"), text("name")])),
    Field::optional("providers", Shape::List(&Shape::Map(&[any("config"), text("name"), text("template")]))),
    any("registryConfig"),
];

const CLUSTER_DEPLOYMENT: &[Field] = &[
    any("auditPolicy"),
    any("cleanupOnDeletion"),
    any("clusterAuth"),
    any("config"),
    any("credential"),
    any("dataSource"),
    any("dryRun"),
    any("ipamClaim"),
    any("propagateCredentials"),
    any("serviceSpec"),
    any("template"),
];

/// <https://github.com/kubernetes-sigs/cluster-inventory-api/blob/main/apis/v1alpha1/clusterprofile_types.go>
const CLUSTER_PROFILE: &[Field] =
    &[Field::optional("clusterManager", Shape::Map(&[text("name")])), text("displayName")];

/// The ways to a cluster are judged by `inventory::profile`: drafts have them as a map.
const CLUSTER_PROFILE_STATUS: &[Field] = &[
    any("accessProviders"),
    any("conditions"),
    any("credentialProviders"),
    Field::optional("properties", Shape::List(&Shape::Map(&[text("lastObservedTime"), text("name"), text("value")]))),
    Field::optional("version", Shape::Map(&[text("kubernetes")])),
];

/// The fields of `status` of a kind, if all of them are known.
pub fn status_of(kind: &GroupKind) -> Option<&'static [Field]> {
    kind.is(MULTICLUSTER, "ClusterProfile").then_some(CLUSTER_PROFILE_STATUS)
}

/// The fields of `spec` of a kind, if all of them are known.
pub fn spec_of(kind: &GroupKind) -> Option<&'static [Field]> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        (K0RDENT, "AccessManagement") => Some(ACCESS_MANAGEMENT),
        (K0RDENT, "ClusterDeployment") => Some(CLUSTER_DEPLOYMENT),
        (K0RDENT, "Credential") => Some(CREDENTIAL),
        (K0RDENT, "ProviderInterface") => Some(PROVIDER_INTERFACE),
        (K0RDENT, "Region") => Some(REGION),
        (K0RDENT, _) => None,
        (MULTICLUSTER, "ClusterProfile") => Some(CLUSTER_PROFILE),
        _ => capi::rules(kind).map(|rules| rules.spec),
    }
}

/// The fields that objects of a kind have beside `apiVersion`, `kind` and `metadata`, if all of them are known.
pub fn top(kind: &GroupKind) -> Option<&'static [&'static str]> {
    let is_known = || {
        KNOWN.iter().any(|known| kind.is(known.group, known.kind))
            || capi::rules(kind).is_some()
            || super::is_of_clusters(kind)
            || super::is_of_machines(kind)
    };
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => Some(&["data", "immutable", "stringData", "type"]),
        ("", "ConfigMap") => Some(&["binaryData", "data", "immutable"]),
        (MULTICLUSTER, "PlacementDecision") => Some(&["decisions", "schedulerName", "spec", "status"]),
        _ => is_known().then_some(&["spec", "status"]),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::collections::BTreeSet;
    use alloc::string::ToString as _;

    use serde_json::Value;

    use super::*;
    use crate::testing::{shared, yaml};

    /// Fields that the CRDs at hand lack: of a release before them, and of one behind them.
    const OTHERS: [&str; 3] = ["clusterGVKs", "projectionConfig", "registryConfig"];

    /// Holds the fields of a map against a schema, as deep as both know them.
    fn check(fields: &[Field], schema: &Value, at: &str) {
        let ours: BTreeSet<&str> = fields.iter().map(|field| field.name).collect();
        let theirs: BTreeSet<&str> = schema["properties"].as_object().unwrap().keys().map(|key| &**key).collect();
        let missing: BTreeSet<&&str> = theirs.difference(&ours).collect();
        assert!(missing.is_empty(), "{at} lacks {missing:?}");
        let unknown: BTreeSet<&str> = ours.difference(&theirs).copied().filter(|name| !OTHERS.contains(name)).collect();
        assert!(unknown.is_empty(), "{at} has {unknown:?}");
        for field in fields.iter().filter(|field| !OTHERS.contains(&field.name)) {
            let (mut shape, mut schema) = (&field.shape, &schema["properties"][field.name]);
            while let Shape::List(item) = shape {
                (shape, schema) = (item, &schema["items"]);
            }
            if let Shape::Map(inner) = shape {
                check(inner, schema, &[at, field.name].join("."));
            }
        }
    }

    #[test]
    fn the_fields_of_cluster_profiles_are_those_of_their_crd() {
        let Some(file) = shared("data/crds/neighbours/multicluster.x-k8s.io_clusterprofiles.yaml") else { return };
        let crd = yaml(&std::fs::read_to_string(file).unwrap());
        let kind = GroupKind::new(MULTICLUSTER, crd["spec"]["names"]["kind"].as_str().unwrap());
        let fields = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        check(spec_of(&kind).unwrap(), &fields["spec"], "spec");
        check(status_of(&kind).unwrap(), &fields["status"], "status");
    }

    #[test]
    fn the_fields_of_k0rdents_kinds_are_those_of_its_crds() {
        let Some(folder) = shared("data/crds/k0rdent") else { return };
        let mut seen = BTreeSet::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let crd = yaml(&std::fs::read_to_string(file.unwrap().path()).unwrap());
            let kind = crd["spec"]["names"]["kind"].as_str().unwrap().to_string();
            let Some(fields) = spec_of(&GroupKind::new(K0RDENT, &kind)) else { continue };
            for version in crd["spec"]["versions"].as_array().unwrap() {
                check(fields, &version["schema"]["openAPIV3Schema"]["properties"]["spec"], &kind);
            }
            seen.insert(kind);
        }
        assert_eq!(seen.len(), 5, "{seen:?}");
    }
}
