//! Two clusters of the cluster registry: a source, and a sink where the registry's real controller makes copies.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::registered::controller;
use crate::rig::apiserver::ApiServer;
use crate::rig::guarded::Guarded;
use crate::rig::http::{Connection, Request};
use crate::support::{shared, tool};

/// The group of the kinds that only this test has.
pub const OWN: &str = "oracle.example.com";
/// What the controller marks its copies with, as an annotation and as a label.
pub const OWNER: &str = "cluster-registry.k8s.cisco.com/resource-owner-cluster-id";

/// How long the controller may take to do something.
const NOTICED: Duration = Duration::from_secs(120);

/// The kinds of which there are copies, and where the API has them.
pub const KINDS: [(&str, &str); 9] = [
    ("Secret", "/api/v1/secrets"),
    ("ConfigMap", "/api/v1/configmaps"),
    ("Widget", "/apis/oracle.example.com/v1/widgets"),
    ("Gadget", "/apis/oracle.example.com/v1/gadgets"),
    ("Badge", "/apis/oracle.example.com/v1/badges"),
    ("Gear", "/apis/oracle.example.com/v1/gears"),
    ("Trinket", "/apis/oracle.example.com/v1/trinkets"),
    ("ServiceAccount", "/api/v1/serviceaccounts"),
    ("ClusterFeature", "/apis/clusterregistry.k8s.cisco.com/v1alpha1/clusterfeatures"),
];

/// The kinds that only this test has, the last of which pouch does not publish.
pub const DEFINED: [(&str, &str); 5] = [
    ("Widget", "Namespaced"),
    ("Gadget", "Namespaced"),
    ("Gear", "Namespaced"),
    ("Badge", "Cluster"),
    ("Trinket", "Namespaced"),
];

/// The clusters, and the controller beside the sink.
pub struct Mesh {
    pub source: ApiServer,
    pub sink: ApiServer,
    program: PathBuf,
    controller: Option<Guarded>,
}

/// A kind with any fields, and a status of its own.
fn definition(kind: &str, scope: &str) -> Value {
    let lower = kind.to_lowercase();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema},
               "subresources": {"status": {}}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.{OWN}")},
        "spec": {"group": OWN, "scope": scope, "versions": [version("v1", true), version("v1beta1", false)],
                 "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower, "listKind": format!("{kind}List")}},
    })
}

impl Mesh {
    /// Both clusters with the CRDs that they need; none, after saying so, where something is absent.
    pub fn start() -> Option<Self> {
        let crds = shared("data/crds/neighbours")?;
        let program = tool("cluster-registry-controller")?;
        let (source, sink) = thread::scope(|scope| {
            let other = scope.spawn(ApiServer::start);
            (ApiServer::start(), other.join().expect("an API server"))
        });
        let (source, sink) = (source?, sink?);
        let files: Vec<PathBuf> = ["clusters", "clusterfeatures", "resourcesyncrules"]
            .map(|kind| crds.join(format!("clusterregistry.k8s.cisco.com_{kind}.yaml")))
            .into();
        for server in [&source, &sink] {
            let own = DEFINED.map(|(kind, scope)| {
                let file = server.folder().join(format!("{kind}.yaml"));
                std::fs::write(&file, definition(kind, scope).to_string()).expect("the folder can be written");
                file
            });
            server.install_files(&[files.as_slice(), own.as_slice()].concat());
        }
        if !source.install_crds() {
            return None;
        }
        let mesh = Self { source, sink, program, controller: None };
        mesh.join();
        Some(mesh)
    }

    /// Tells the sink of the source, as people do who give it a kubeconfig.
    fn join(&self) {
        let file = self.sink.folder().join("source.kubeconfig");
        self.source.kubeconfig(&file, "admin");
        let kubeconfig = std::fs::read_to_string(&file).expect("it was written");
        let id = self.source.kubectl_prints(["get", "ns", "kube-system", "-o", "jsonpath={.metadata.uid}"], "");
        let meta = json!({"name": "source", "namespace": "cluster-registry"});
        let all = [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cluster-registry"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "k8s.cisco.com/cluster-registry-secret",
                "stringData": {"kubeconfig": kubeconfig}}),
            json!({"apiVersion": "clusterregistry.k8s.cisco.com/v1alpha1", "kind": "Cluster", "metadata": {"name": "source"},
                "spec": {"clusterID": id, "authInfo": {"secretRef": {"name": "source", "namespace": "cluster-registry"}}}}),
        ];
        self.sink.apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string());
    }

    /// Starts the controller of the sink, which is called `eu` there.
    pub fn control(&mut self) {
        self.controller = Some(controller(&self.sink, &self.program));
    }

    /// The copies that the controller made on the sink, by kind and place.
    pub fn copies(&self) -> BTreeMap<Key, Value> {
        let mut connection = self.sink.endpoint("admin").connect().expect("the API server answers");
        let mut all = BTreeMap::new();
        for (kind, target) in KINDS {
            let list = got(&mut connection, &format!("{target}?labelSelector={OWNER}"));
            for mut item in list["items"].as_array().cloned().unwrap_or_default() {
                // Lists name the kind once for all.
                item["kind"] = json!(kind);
                all.insert(Key::of(&item), item);
            }
        }
        all
    }

    /// An object of the sink, if it is there.
    pub fn get(&self, target: &str) -> Option<Value> {
        let answer = self.sink.endpoint("admin").get(target).expect("the API server answers");
        (answer.status == 200).then(|| answer.value())
    }

    /// Whether the controller said this.
    pub fn said(&self, words: &str) -> bool {
        self.controller.as_ref().is_some_and(|controller| controller.log().contains(words))
    }

    /// Waits until something is so, and says how long that took.
    #[track_caller]
    pub fn wait(&self, what: &str, is_so: impl Fn() -> bool) -> Duration {
        let began = Instant::now();
        while !is_so() {
            if began.elapsed() > NOTICED {
                let words = self.controller.as_ref().map(Guarded::last_words).unwrap_or_default();
                panic!("not within {} s: {what}\n{words}", NOTICED.as_secs());
            }
            thread::sleep(Duration::from_millis(250));
        }
        began.elapsed()
    }
}

/// Kind, namespace and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key(pub String, pub String, pub String);

impl Key {
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meta = &object["metadata"];
        Self(text(&object["kind"]), text(&meta["namespace"]), text(&meta["name"]))
    }
}

fn got(connection: &mut Connection, target: &str) -> Value {
    let answer = connection.send(&Request::get(target)).expect("the API server answers");
    assert_eq!(answer.status, 200, "{target}");
    answer.value()
}

/// Where the API has objects like this one.
pub fn collection(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap();
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") };
    let plural = format!("{}s", kind.to_lowercase());
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    }
}

/// Makes objects that are new, several at a time. What the API does not know of them it drops, as it did before it told.
#[track_caller]
pub fn create(server: &ApiServer, objects: &[Value]) {
    let endpoint = server.endpoint("admin");
    thread::scope(|scope| {
        for part in objects.chunks(objects.len().div_ceil(4).max(1)) {
            let endpoint = &endpoint;
            scope.spawn(move || {
                let mut connection = endpoint.connect().expect("the API server answers");
                for object in part {
                    let request = Request::with_json("POST", &collection(object), "application/json", object);
                    let answer = connection.send(&request).expect("the API server answers");
                    let said = || String::from_utf8_lossy(&answer.body).into_owned();
                    assert_eq!(answer.status, 201, "{object}: {}", said());
                }
            });
        }
    });
}
