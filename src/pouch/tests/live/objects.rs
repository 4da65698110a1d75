//! Manifests as values: the small fleet that most of these tests render, in any of its states.
//!
//! State *n* has *n* in every Secret, identity and template, so that a bundle made of two states shows it.

use serde_json::{Value, json};

use crate::rig::writer::Write;

pub const SYSTEM: &str = "kcm-system";
pub const TENANT: &str = "team-a";
pub const CAPI: &str = "infrastructure.cluster.x-k8s.io";
pub const K0RDENT: &str = "k0rdent.mirantis.com";

/// Where the API has objects of a kind.
pub fn collection(object: &Value) -> String {
    let plural = match object["kind"].as_str().unwrap() {
        "Secret" => "secrets",
        "ConfigMap" => "configmaps",
        "Namespace" => "namespaces",
        "Credential" => "credentials",
        "ClusterDeployment" => "clusterdeployments",
        "AccessManagement" => "accessmanagements",
        "AWSClusterStaticIdentity" => "awsclusterstaticidentities",
        "AzureClusterIdentity" => "azureclusteridentities",
        "AWSClusterRoleIdentity" => "awsclusterroleidentities",
        "OCIClusterIdentity" => "ociclusteridentities",
        "OpenStackClusterIdentity" => "openstackclusteridentities",
        "VSphereClusterIdentity" => "vsphereclusteridentities",
        "APIService" => "apiservices",
        kind => panic!("the plural of {kind}"),
    };
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    }
}

/// Where the API has this object.
pub fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), object["metadata"]["name"].as_str().unwrap())
}

/// The change that makes an object so.
pub fn apply(object: &Value) -> Write {
    Write::Apply(path(object), object.clone())
}

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tenant": "yes"}}})
}

pub fn secret(namespace: &str, name: &str, values: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name},
        "type": "Opaque", "data": base64(values)})
}

fn base64(values: &Value) -> Value {
    let encoded = |value: &Value| {
        let bytes = value.as_str().unwrap().as_bytes().to_vec();
        json!(*pouch_core::secret::SecretBytes::new(bytes).to_base64())
    };
    values.as_object().unwrap().iter().map(|(name, value)| (name.clone(), encoded(value))).collect()
}

pub fn template(namespace: &str, name: &str, state: u64) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": format!("{name}-resource-template"),
            "annotations": {"projectsveltos.io/template": "true"}},
        "data": {"configmap.yaml": format!("state: {state}\n")}})
}

/// A Credential of region `eu`, or of none where the region is empty.
pub fn credential(namespace: &str, name: &str, region: &str, identity: &Value) -> Value {
    let mut credential = json!({"apiVersion": format!("{K0RDENT}/v1beta1"), "kind": "Credential",
        "metadata": {"namespace": namespace, "name": name}, "spec": {"identityRef": identity}});
    if !region.is_empty() {
        credential["spec"]["region"] = json!(region);
    }
    credential
}

/// A reference to an object, as Credentials have it.
pub fn reference(object: &Value) -> Value {
    let mut reference = json!({"apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"]});
    if object["metadata"]["namespace"].is_string() {
        reference["namespace"] = object["metadata"]["namespace"].clone();
    }
    reference
}

pub fn aws(name: &str, state: u64) -> [Value; 4] {
    let identity = json!({"apiVersion": format!("{CAPI}/v1beta2"), "kind": "AWSClusterStaticIdentity",
        "metadata": {"name": name}, "spec": {"secretRef": format!("{name}-secret"),
            "allowedNamespaces": {"list": [format!("state-{state}"), SYSTEM, TENANT, "team-b"]}}});
    let key = json!({"AccessKeyID": format!("key-{state}"), "SecretAccessKey": format!("secret-{state}")});
    [
        secret(SYSTEM, &format!("{name}-secret"), &key),
        template(SYSTEM, name, state),
        credential(SYSTEM, name, "eu", &reference(&identity)),
        identity,
    ]
}

pub fn azure(name: &str, state: u64) -> [Value; 4] {
    let named = format!("{name}-secret");
    let identity = json!({"apiVersion": format!("{CAPI}/v1beta1"), "kind": "AzureClusterIdentity",
        "metadata": {"namespace": TENANT, "name": name},
        "spec": {"allowedNamespaces": {}, "clientID": format!("client-{state}"), "tenantID": "tenant",
            "type": "ServicePrincipal", "clientSecret": {"name": named, "namespace": TENANT}}});
    [
        secret(TENANT, &named, &json!({"clientSecret": format!("secret-{state}")})),
        template(TENANT, name, state),
        credential(TENANT, name, "eu", &reference(&identity)),
        identity,
    ]
}

pub fn store(name: &str, state: u64) -> [Value; 3] {
    let secret = secret(TENANT, name, &json!({"value": format!("kubeconfig-{state}")}));
    [template(TENANT, name, state), credential(TENANT, name, "eu", &reference(&secret)), secret]
}

/// Hands the Credential `aws` to every namespace with the label `tenant`.
pub fn access() -> Value {
    json!({"apiVersion": format!("{K0RDENT}/v1beta1"), "kind": "AccessManagement", "metadata": {"name": "kcm"},
        "spec": {"accessRules": [
            {"credentials": ["aws"], "targetNamespaces": {"selector": {"matchLabels": {"tenant": "yes"}}}}]}})
}

/// The small fleet in a state: an identity of the cluster, one of a namespace, a bare Secret, and a rule that hands
/// one of the Credentials to a tenant.
pub fn fleet(state: u64) -> Vec<Value> {
    let mut all = vec![access()];
    all.extend(aws("aws", state));
    all.extend(azure("azure", state));
    all.extend(store("store", state));
    all
}
