//! k0rdent as far as it writes to a region: the copies that were there before pouch.

use serde_json::{Value, json};

use crate::delivered::{Delivered, aws, azure_in, openstack, vsphere};
use crate::objects::{K0RDENT, SYSTEM, path};
use crate::rig::apiserver::ApiServer;
use crate::rig::http::{Request, Response};

/// k0rdent's label on what it copied, and on what it will replace and delete.
const MANAGED: &str = "k0rdent.mirantis.com/managed";

/// k0rdent's Credential controller as far as it writes to a region: `ensureClusterIdentityObject`, `copyClusterIdentity`
/// and `ReleaseClusterIdentities` of its release 1.11.
pub struct K0rdent<'a>(pub &'a ApiServer);

impl K0rdent<'_> {
    fn ask(&self, method: &str, target: &str, body: &Value) -> Response {
        // Its binary is called so, and the API server notes that name.
        let request = Request::with_json(method, &format!("{target}?fieldManager=manager"), "application/json", body);
        self.0.endpoint("admin").ask(&request).expect("the API server answers")
    }

    fn get(&self, target: &str) -> Value {
        let answer = self.0.endpoint("admin").get(target).expect("the API server answers");
        if answer.status == 404 { Value::Null } else { answer.value() }
    }

    /// Copies what a Credential needs, its identity last.
    pub fn push(&self, closure: &[Value]) {
        let credential = closure.iter().find(|object| object["kind"] == "Credential").expect("it has one");
        for object in closure.iter().filter(|object| is_copied(object)) {
            let target = path(object);
            let mut copy = object.clone();
            let mut labels = json!({MANAGED: "true", label(credential): "true"});
            let there = self.get(&target);
            if there.is_null() {
                copy["metadata"]["labels"] = labels;
                let place = target.rsplit_once('/').expect("a collection").0;
                let answer = self.ask("POST", place, &copy);
                assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
            } else if there["metadata"]["labels"][MANAGED] == "true" {
                for (name, value) in there["metadata"]["labels"].as_object().into_iter().flatten() {
                    labels[name] = value.clone();
                }
                copy["metadata"]["labels"] = labels;
                copy["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
                let answer = self.ask("PUT", &target, &copy);
                assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
            }
        }
    }

    /// Takes back what it copied for a Credential that is deleted; gives what it deletes.
    pub fn release(&self, closure: &[Value]) -> Vec<String> {
        let credential = closure.iter().find(|object| object["kind"] == "Credential").expect("it has one");
        let identity = closure.last().expect("it has one");
        let is_ours = |target: &str| {
            let labels = &self.get(target)["metadata"]["labels"];
            labels[MANAGED] == "true" && labels[label(credential)] == "true"
        };
        if !is_ours(&path(identity)) {
            return Vec::new();
        }
        let copies = closure.iter().filter(|object| is_copied(object)).map(path);
        let gone: Vec<String> = copies.filter(|target| is_ours(target)).collect();
        for target in &gone {
            assert_eq!(self.ask("DELETE", target, &Value::Null).status, 200, "{target}");
        }
        gone
    }
}

/// Companions are none of k0rdent's copies.
fn is_copied(object: &Value) -> bool {
    object["kind"] != "Credential" && object["kind"] != "ConfigMap"
}

fn label(credential: &Value) -> String {
    let meta = &credential["metadata"];
    format!("{K0RDENT}/credential.{}.{}", meta["namespace"].as_str().unwrap(), meta["name"].as_str().unwrap())
}

/// Credentials that k0rdent itself can copy, with everything they need.
pub fn closures(state: u64) -> Vec<Vec<Value>> {
    vec![
        aws("aws", state),
        azure_in(SYSTEM, "azure", "azure-secret", state),
        openstack("openstack"),
        vsphere("vsphere", state),
    ]
}

/// The same as k0rdent copied it once: older values, an entry more, and what kubectl noted at the source, but for one that
/// was not made by kubectl there.
pub fn old_copies() -> Vec<Vec<Value>> {
    let mut old = closures(1);
    for object in old.iter_mut().flatten().filter(|object| object["kind"] == "Secret") {
        let noted = object.to_string();
        object["stringData"]["old"] = json!("entry");
        if object["metadata"]["name"] != "openstack-secret" {
            object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": noted});
        }
    }
    old
}

/// k0rdent's own rules, run again: copy, and release as for Credentials that are deleted. Fails if it takes anything.
#[track_caller]
pub fn again(region: &Delivered) {
    let before = region.versions();
    let k0rdent = K0rdent(&region.server);
    for closure in closures(3) {
        k0rdent.push(&closure);
        assert_eq!(k0rdent.release(&closure), Vec::<String>::new());
    }
    assert_eq!(region.versions(), before);
}

/// A label that a provider's controller sets.
pub const MARK: &str = "example.com/owner";

/// Has providers' controllers mark copies as theirs. Their programs are called as k0rdent's is.
pub fn mark(server: &ApiServer, objects: &[Value]) {
    let k0rdent = K0rdent(server);
    let uid = k0rdent.get("/api/v1/namespaces/default")["metadata"]["uid"].clone();
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": uid});
    let marks =
        json!({"metadata": {"finalizers": ["example.com/held"], "labels": {MARK: "me"}, "ownerReferences": [owner]}});
    for target in objects.iter().filter(|object| is_copied(object)).map(path) {
        let media = "application/merge-patch+json";
        let request = Request::with_json("PATCH", &format!("{target}?fieldManager=manager"), media, &marks);
        let answer = server.endpoint("admin").ask(&request).expect("the API server answers");
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
}

/// Who copies are, and what controllers set on them: with another UID it would be another object to whoever uses it.
#[track_caller]
pub fn kept(server: &ApiServer, objects: &[Value]) -> Vec<Value> {
    let kept = |object: &Value| {
        let target = path(object);
        let meta = &K0rdent(server).get(&target)["metadata"];
        let kept = json!({"uid": meta["uid"], "finalizers": meta["finalizers"], "owners": meta["ownerReferences"],
            "label": meta["labels"][MARK]});
        let missing = kept.as_object().and_then(|all| all.iter().find(|(_, value)| value.is_null()));
        assert!(missing.is_none(), "{target} lacks {missing:?}");
        kept
    };
    let kept: Vec<Value> = objects.iter().filter(|object| is_copied(object)).map(kept).collect();
    assert!(kept.len() > 1, "{}", kept.len());
    kept
}
