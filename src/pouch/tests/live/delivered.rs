//! A region that a consumer brings what pouch publishes: an API server, a fleet whose one region it is, the repository
//! that the fleet publishes to, and what must stand on the region, worked out from the sources without pouch.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::objects::{CAPI, K0RDENT, SYSTEM, TENANT, credential, reference};
use crate::rig::apiserver::ApiServer;
use crate::support::fleet::{CANARY, EU, Fleet, Ran};
use crate::support::githttp::GitServer;
use crate::support::origin::Origin;
use crate::support::root;

/// The kinds of which a region has objects by pouch, as the API has them: kind and place.
const KINDS: [(&str, &str); 9] = [
    ("Secret", "/api/v1/secrets"),
    ("ConfigMap", "/api/v1/configmaps"),
    ("AWSClusterControllerIdentity", "v1beta2/awsclustercontrolleridentities"),
    ("AWSClusterRoleIdentity", "v1beta2/awsclusterroleidentities"),
    ("AWSClusterStaticIdentity", "v1beta2/awsclusterstaticidentities"),
    ("AzureClusterIdentity", "v1beta1/azureclusteridentities"),
    ("OCIClusterIdentity", "v1beta2/ociclusteridentities"),
    ("OpenStackClusterIdentity", "v1alpha1/openstackclusteridentities"),
    ("VSphereClusterIdentity", "v1beta2/vsphereclusteridentities"),
];

/// What consumers write onto what they apply.
const CONSUMERS: [&str; 2] = ["kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/"];

/// A region, its fleet and its repository.
pub struct Delivered {
    pub server: ApiServer,
    pub fleet: Fleet,
    pub http: GitServer,
    /// The source manifests, by the name of their file.
    sources: BTreeMap<String, Value>,
}

impl Delivered {
    /// A region `eu` with the field's CRDs and the system namespace; `more` are further lines of the configuration,
    /// `git` further keys of `output.git`. None, after saying so, where something is absent.
    pub fn new(delivery: &str, git: &str) -> Option<Self> {
        let server = ApiServer::start()?;
        if !server.install_crds() {
            return None;
        }
        let fleet = Fleet::empty();
        let http = GitServer::new(&fleet.path("."));
        let url = http.url("repo.git");
        fleet.configured(&format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
             sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
             regions:\n  eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: {delivery}}}\n\
             output: {{path: bundles}}\n\
             regionDefaults:\n\
             \x20 delivery:\n\
             \x20   flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}\n\
             \x20   argocd: {{repoURL: '{url}'}}\n\
             limits: {{deletions: {{claimants: 1000, most: 1000, keep: 1}}, reseal: {{percent: 100}}}}\n\
             reuseKey: {{file: reuse.key}}\n"
        ));
        fleet.write("manifests/oci.json", oci_interface().to_string());
        Origin::new(&fleet, git);
        server.kubeconfig(&fleet.path("kubeconfig"), "admin");
        server.kubectl_prints(["create", "namespace", SYSTEM], "");
        Some(Self { server, fleet, http, sources: BTreeMap::new() })
    }

    /// The repository as its server has it.
    pub fn url(&self) -> String {
        self.http.url("repo.git")
    }

    pub fn origin(&self) -> Origin<'_> {
        Origin::known(&self.fleet)
    }

    /// The region's identity, as `pouch keygen` writes it.
    pub fn identity() -> String {
        fs::read_to_string(root().join("testdata/quickstart/keys/eu-west.txt")).unwrap()
    }

    /// Writes source manifests, each in a file of its own that is replaced by the next state of the same object.
    pub fn put(&mut self, objects: &[Value]) {
        for object in objects {
            let name = file(object);
            self.fleet.write(&format!("manifests/{name}"), object.to_string());
            self.sources.insert(name, object.clone());
        }
    }

    /// Removes source manifests.
    pub fn take(&mut self, objects: &[Value]) {
        for object in objects {
            let name = file(object);
            self.fleet.remove(&format!("manifests/{name}"));
            assert!(self.sources.remove(&name).is_some(), "{name} was never there");
        }
    }

    /// Publishes, which must succeed.
    #[track_caller]
    pub fn publish(&self) -> Ran {
        self.origin().publish(&[]).ends(0)
    }

    /// Where the API has what bundles hold.
    pub fn collections() -> Vec<String> {
        KINDS.map(|(_, place)| collection(place)).to_vec()
    }

    /// Compares the region with what stands in the repository, by pouch.
    pub fn verify_live(&self, flags: &[&str]) -> Ran {
        let fixed = ["verify", "--kubeconfig", "kubeconfig", "--live", "--context", "admin"];
        self.fleet.run(&[&fixed, flags].concat())
    }

    /// Proves the repository, by pouch.
    pub fn verify(&self) -> Ran {
        self.fleet.run(&["verify"])
    }

    /// What must stand on the region: everything of the sources but what k0rdent alone reads, as it is written there.
    fn expected(&self) -> BTreeMap<String, Value> {
        let delivered = self.sources.values().filter(|object| object["kind"] != "Credential");
        delivered.map(|object| (key(object), stated(object))).collect()
    }

    /// What stands on the region.
    fn found(&self) -> BTreeMap<String, Value> {
        self.items().iter().map(|item| (key(item), seen(item))).collect()
    }

    /// Every object of the region of a kind that bundles have, but those of the cluster itself and of consumers.
    fn items(&self) -> Vec<Value> {
        let mut found = Vec::new();
        for (kind, place) in KINDS {
            let target = collection(place);
            let answer = self.server.endpoint("admin").get(&target).expect("the API server answers");
            if answer.status == 404 {
                continue;
            }
            assert_eq!(answer.status, 200, "{target}");
            let items = answer.value()["items"].as_array().cloned().unwrap_or_default();
            for mut item in items {
                item["kind"] = json!(kind);
                let namespace = item["metadata"]["namespace"].as_str().unwrap_or_default();
                if !namespace.starts_with("kube-") && !["flux-system", "argocd", "default"].contains(&namespace) {
                    found.push(item);
                }
            }
        }
        found
    }

    /// How many objects the region has of the kinds that bundles have.
    pub fn items_there(&self) -> usize {
        self.items().len()
    }

    /// What is not on the region as the sources say, by name; never by value.
    pub fn differences(&self) -> Vec<String> {
        let (expected, found) = (self.expected(), self.found());
        let keys: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        let mut all = Vec::new();
        for key in keys {
            match (expected.get(key), found.get(key)) {
                (Some(_), None) => all.push(format!("{key} is missing")),
                (None, Some(_)) => all.push(format!("{key} is too much")),
                (Some(expected), Some(found)) => differ(key, expected, found, &mut all),
                (None, None) => {}
            }
        }
        all
    }

    /// Fails unless the region has every object of the sources with exactly its values, and nothing else.
    #[track_caller]
    pub fn is_exact(&self) {
        let differences = self.differences();
        assert!(differences.is_empty(), "{differences:#?}");
        assert!(!self.expected().is_empty(), "nothing is expected at all");
    }

    /// The version of every object that the region has of the bundle.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let version = |item: &Value| item["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        self.items().iter().map(|item| (key(item), version(item))).collect()
    }

    /// The UID of every object that the region has of the bundle: another one, and it was deleted and made again.
    pub fn uids(&self) -> BTreeMap<String, String> {
        let uid = |item: &Value| item["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        self.items().iter().map(|item| (key(item), uid(item))).collect()
    }

    /// An object of the region; null where it is not there.
    pub fn get(&self, target: &str) -> Value {
        let answer = self.server.endpoint("admin").get(target).expect("the API server answers");
        if answer.status == 404 { Value::Null } else { answer.value() }
    }
}

/// Lets the Secret `odd` have these finalizers, as a provider's controller sets them.
pub fn hold(region: &Delivered, finalizers: &[&str]) {
    let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
    region.server.kubectl_prints(["-n", TENANT, "patch", "secret", "odd", "--type=merge", "-p", &patch], "");
}

/// Has the Secret `odd` back with another type after it left the bundle, and beside it other values, an identity more and one
/// withdrawn Secret, `other`: pouch sees no change of a type, and holds nothing.
pub fn back_with_another_type(region: &mut Delivered) {
    let mut back = odd("odd", 2);
    back[1]["type"] = json!("example.com/other");
    region.put(&[back, aws("aws", 2), aws("more", 1)].concat());
    region.take(&odd("other", 1));
    region.publish();
}

/// Fails if a value of a Secret stands in a text, as it is or as the API writes it. Does not show the text.
#[track_caller]
pub fn shows_nothing(what: &str, text: &str) {
    assert!(!text.is_empty(), "{what} is empty");
    assert!(!shows(text), "{what} shows a value");
}

/// Whether a value of a Secret stands in a text, as it is or as the API writes it.
pub fn shows(text: &str) -> bool {
    let encoded = STANDARD.encode(&CANARY[..CANARY.len() / 3 * 3]);
    text.contains(CANARY) || text.contains(&encoded)
}

fn collection(place: &str) -> String {
    if place.starts_with('/') { place.to_owned() } else { format!("/apis/{CAPI}/{place}") }
}

fn differ(path: &str, expected: &Value, found: &Value, all: &mut Vec<String>) {
    match (expected.as_object(), found.as_object()) {
        (Some(one), Some(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let null = Value::Null;
                let pair = (one.get(key).unwrap_or(&null), other.get(key).unwrap_or(&null));
                differ(&format!("{path} {key}"), pair.0, pair.1, all);
            }
        }
        _ if expected == found => {}
        _ => all.push(format!("{path} differs")),
    }
}

fn file(object: &Value) -> String {
    key(object).to_lowercase().replace([' ', '/'], "-") + ".json"
}

fn key(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let meta = &object["metadata"];
    format!("{} {}/{}", text(&object["kind"]), text(&meta["namespace"]), text(&meta["name"]))
}

/// A source object as it must stand on a region.
fn stated(object: &Value) -> Value {
    let mut labels = json!({"app.kubernetes.io/managed-by": "pouch", "k0rdent.mirantis.com/managed": "false"});
    labels.sort_all_objects();
    let mut stated = json!({"labels": labels, "annotations": {}});
    match object["kind"].as_str().unwrap() {
        "Secret" => {
            let mut data = Map::new();
            for (name, value) in object["data"].as_object().into_iter().flatten() {
                data.insert(name.clone(), value.clone());
            }
            for (name, value) in object["stringData"].as_object().into_iter().flatten() {
                data.insert(name.clone(), json!(STANDARD.encode(value.as_str().unwrap())));
            }
            stated["type"] = object.get("type").cloned().unwrap_or(json!("Opaque"));
            stated["data"] = Value::Object(data);
        }
        "ConfigMap" => {
            stated["data"] = object["data"].clone();
            // Without this mark the propagation of credentials does not take it for a template.
            stated["annotations"] = json!({"projectsveltos.io/template": "true"});
        }
        _ => stated["spec"] = object["spec"].clone(),
    }
    stated
}

/// An object of the region without what the API server and consumers keep in it.
fn seen(object: &Value) -> Value {
    let without = |field: &str| {
        let all = object["metadata"][field].as_object().into_iter().flatten();
        let kept = all.filter(|(name, _)| !CONSUMERS.iter().any(|prefix| name.starts_with(prefix)));
        Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let mut seen = json!({"labels": without("labels"), "annotations": without("annotations")});
    for field in ["type", "data", "spec", "stringData", "binaryData", "immutable"] {
        if let Some(value) = object.get(field) {
            seen[field] = value.clone();
        }
    }
    seen
}

fn value(name: &str, state: u64) -> String {
    format!("{CANARY}-{name}-{state}")
}

/// A Secret whose values say which state they are of.
pub fn sealed(namespace: &str, name: &str, entries: &[&str], state: u64) -> Value {
    let data: Map<String, Value> =
        entries.iter().map(|entry| ((*entry).to_owned(), json!(value(&format!("{name}-{entry}"), state)))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name},
        "type": "Opaque", "stringData": data})
}

fn identity(version: &str, kind: &str, namespace: Option<&str>, name: &str, spec: Value) -> Value {
    let mut meta = json!({"name": name});
    if let Some(namespace) = namespace {
        meta["namespace"] = json!(namespace);
    }
    json!({"apiVersion": format!("{CAPI}/{version}"), "kind": kind, "metadata": meta, "spec": spec})
}

/// A Credential of the region with its identity.
fn with_credential(identity: Value) -> [Value; 2] {
    let meta = &identity["metadata"];
    let namespace = meta["namespace"].as_str().unwrap_or(SYSTEM);
    [credential(namespace, meta["name"].as_str().unwrap(), "eu", &reference(&identity)), identity]
}

pub fn aws(name: &str, state: u64) -> Vec<Value> {
    let spec = json!({"secretRef": format!("{name}-secret"), "allowedNamespaces": {"list": [SYSTEM, TENANT]}});
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": SYSTEM, "name": format!("{name}-resource-template"),
            "annotations": {"projectsveltos.io/template": "true"}},
        "data": {"configmap.yaml": format!("state: {state}\n{{{{ .x }}}} ${{y}}\n")}});
    let mut all = vec![sealed(SYSTEM, &format!("{name}-secret"), &["AccessKeyID", "SecretAccessKey"], state), template];
    all.extend(with_credential(identity("v1beta2", "AWSClusterStaticIdentity", None, name, spec)));
    all
}

/// A role that is taken on with the keys of the identity `source`.
pub fn role(name: &str, source: &str) -> Vec<Value> {
    let spec = json!({"roleARN": "arn:aws:iam::123456789012:role/capa", "sessionName": "capa",
        "sourceIdentityRef": {"kind": "AWSClusterStaticIdentity", "name": source},
        "allowedNamespaces": {"selector": {"matchLabels": {"kubernetes.io/metadata.name": TENANT}}}});
    with_credential(identity("v1beta2", "AWSClusterRoleIdentity", None, name, spec)).into()
}

pub fn azure(name: &str, secret: &str, state: u64) -> Vec<Value> {
    azure_in(TENANT, name, secret, state)
}

pub fn azure_in(namespace: &str, name: &str, secret: &str, state: u64) -> Vec<Value> {
    let spec = json!({"allowedNamespaces": {"list": [TENANT]}, "clientID": format!("client-{state}"),
        "tenantID": "tenant", "type": "ServicePrincipal", "clientSecret": {"name": secret, "namespace": namespace}});
    let mut all = vec![sealed(namespace, secret, &["clientSecret"], state)];
    all.extend(with_credential(identity("v1beta1", "AzureClusterIdentity", Some(namespace), name, spec)));
    all
}

pub fn vsphere(name: &str, state: u64) -> Vec<Value> {
    let spec = json!({"secretName": format!("{name}-secret"),
        "allowedNamespaces": {"selector": {"matchLabels": {"kubernetes.io/metadata.name": TENANT}}}});
    let mut all = vec![sealed(SYSTEM, &format!("{name}-secret"), &["username", "password"], state)];
    all.extend(with_credential(identity("v1beta2", "VSphereClusterIdentity", None, name, spec)));
    all
}

pub fn openstack(name: &str) -> Vec<Value> {
    let clouds = format!("clouds:\n  openstack:\n    auth: {{auth_url: 'https://x', password: {CANARY}}}\n");
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"namespace": SYSTEM, "name": format!("{name}-secret")}, "stringData": {"clouds.yaml": clouds}});
    let spec = json!({"secretRef": {"name": format!("{name}-secret"), "namespace": SYSTEM}, "namespaceSelector": {}});
    let mut all = vec![secret];
    all.extend(with_credential(identity("v1alpha1", "OpenStackClusterIdentity", None, name, spec)));
    all
}

pub fn oci(name: &str, state: u64) -> Vec<Value> {
    let entries = ["tenancy", "user", "fingerprint", "passphrase", "key", "region"];
    let spec = json!({"type": "UserPrincipal", "allowedNamespaces": {"list": [TENANT]},
        "principalSecret": {"name": format!("{name}-secret"), "namespace": TENANT}});
    let mut all = vec![sealed(TENANT, &format!("{name}-secret"), &entries, state)];
    all.extend(with_credential(identity("v1beta2", "OCIClusterIdentity", Some(TENANT), name, spec)));
    all
}

/// k0rdent ships no such definition; who uses OCI writes it.
fn oci_interface() -> Value {
    let secret = json!({"group": "", "version": "v1", "kind": "Secret", "nameFieldPath": "spec.principalSecret.name",
        "namespaceFieldPath": "spec.principalSecret.namespace"});
    json!({"apiVersion": format!("{K0RDENT}/v1beta1"), "kind": "ProviderInterface", "metadata": {"name": "oci"},
        "spec": {"clusterIdentities": [
            {"group": CAPI, "version": "v1beta2", "kind": "OCIClusterIdentity", "references": [secret]}]}})
}

/// A Secret that is a Credential's identity itself, with values that are hard to carry.
pub fn odd(name: &str, state: u64) -> Vec<Value> {
    let lines = format!("-----BEGIN X-----\n{CANARY}\n\tü ${{HOME}} {{{{ .y }}}} 'quoted' \"twice\"\n\n");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": TENANT, "name": name},
        "type": "example.com/odd",
        "data": {"bytes": STANDARD.encode([0, 159, 146, 150, 255, 10]), "empty": ""},
        "stringData": {"value": value(name, state), "lines.pem": lines, "yes": "no", "1": "0x10", "blank": " ",
            "long": format!("{CANARY}{}", "x".repeat(70_000))}});
    vec![credential(TENANT, name, "eu", &reference(&secret)), secret]
}
