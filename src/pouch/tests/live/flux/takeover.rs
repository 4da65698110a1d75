//! A region that k0rdent pushed its copies to, and that Flux takes over.

use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, aws, azure_in, openstack, shows_nothing, vsphere};
use crate::objects::{K0RDENT, SYSTEM, path};
use crate::rig::flux::Flux;
use crate::rig::http::{Request, Response};

/// k0rdent's label on what it copied, and on what it will replace and delete.
const MANAGED: &str = "k0rdent.mirantis.com/managed";

/// k0rdent's Credential controller as far as it writes to a region: `ensureClusterIdentityObject`, `copyClusterIdentity`
/// and `ReleaseClusterIdentities` of its release 1.11.
struct K0rdent<'a>(&'a Delivered);

impl K0rdent<'_> {
    fn ask(&self, method: &str, target: &str, body: &Value) -> Response {
        // Its binary is called so, and the API server notes that name.
        let request = Request::with_json(method, &format!("{target}?fieldManager=manager"), "application/json", body);
        self.0.server.endpoint("admin").ask(&request).expect("the API server answers")
    }

    /// Copies what a Credential needs, its identity last.
    fn push(&self, closure: &[Value]) {
        let credential = closure.iter().find(|object| object["kind"] == "Credential").expect("it has one");
        for object in closure.iter().filter(|object| is_copied(object)) {
            let target = path(object);
            let mut copy = object.clone();
            let mut labels = json!({MANAGED: "true", label(credential): "true"});
            let there = self.0.get(&target);
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
    fn release(&self, closure: &[Value]) -> Vec<String> {
        let credential = closure.iter().find(|object| object["kind"] == "Credential").expect("it has one");
        let identity = closure.last().expect("it has one");
        let is_ours = |target: &str| {
            let labels = &self.0.get(target)["metadata"]["labels"];
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

fn closures(state: u64) -> Vec<Vec<Value>> {
    vec![
        aws("aws", state),
        azure_in(SYSTEM, "azure", "azure-secret", state),
        openstack("openstack"),
        vsphere("vsphere", state),
    ]
}

#[test]
fn copies_of_k0rdent_are_taken_over_in_place() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    // As they were when k0rdent last pushed: older values, an entry more, and what kubectl notes at the source.
    let mut old = closures(1);
    for object in old.iter_mut().flatten().filter(|object| object["kind"] == "Secret") {
        let noted = object.to_string();
        object["stringData"]["old"] = json!("entry");
        object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": noted});
    }
    let k0rdent = K0rdent(&region);
    old.iter().for_each(|closure| k0rdent.push(closure));
    let uids = uids(&region);
    assert_eq!(uids.len(), 8, "four identities and four Secrets");

    region.put(&closures(2).concat());
    region.publish();
    let ran = region.verify_live(&[]).ends(8);
    assert!(ran.stderr.contains("error[not-taken-over]"), "{}", ran.stderr);
    let Some(flux) = set_up(&region, &["--override-manager=manager"], &Value::Null) else { return };
    all_ready(&flux.sync());
    region.is_exact();
    assert_eq!(self::uids(&region), uids, "something was made anew");
    region.verify_live(&[]).ends(0);
    k0rdent_lets_go(&region, &flux);
    shows_nothing("Flux's log", &flux.log());
}

/// k0rdent's own rules, run again over what Flux applied, change nothing and delete nothing.
fn k0rdent_lets_go(region: &Delivered, flux: &Flux) {
    let before = region.versions();
    let k0rdent = K0rdent(region);
    for closure in closures(3) {
        k0rdent.push(&closure);
        assert_eq!(k0rdent.release(&closure), Vec::<String>::new());
    }
    assert_eq!(region.versions(), before);
    all_ready(&flux.reconcile());
    region.is_exact();
}

/// Who they are: a new one would be another object to whoever uses it.
fn uids(region: &Delivered) -> Vec<String> {
    let all = closures(1).concat();
    let objects = all.iter().filter(|object| is_copied(object)).map(|object| region.get(&path(object)));
    objects.map(|object| object["metadata"]["uid"].as_str().expect("it is there").to_owned()).collect()
}
