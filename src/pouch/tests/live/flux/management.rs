//! The management cluster as a region: what Flux brings there is read back in the next run, and is no source.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, aws, odd, sealed};
use crate::objects::{K0RDENT, SYSTEM, TENANT, credential, namespace, path, reference};

const GIT: &str = "{name: manifests, directory: {path: manifests}, provides: {namespaces: ['*'], clusterScoped: true}}";
const HUB: &str = "{name: hub, cluster: {kubeconfig: kubeconfig, context: admin}, \
                   provides: {namespaces: ['*'], clusterScoped: true}}";

/// The management cluster as the one region, read as a source beside git.
fn management() -> Option<Delivered> {
    let region = Delivered::new("flux", "")?;
    let alone = "sources: [{name: manifests, directory: {path: manifests}}]";
    region.fleet.configure(alone, &format!("sources: [{GIT}, {HUB}]"));
    region.fleet.configure("k0rdentPushDisabled: true,", "management: true,");
    region.server.apply(&namespace(TENANT).to_string());
    Some(region)
}

/// The same objects, their Credentials for the management cluster.
fn at_home(mut objects: Vec<Value>) -> Vec<Value> {
    for object in objects.iter_mut().filter(|object| object["kind"] == "Credential") {
        object["spec"].as_object_mut().unwrap().remove("region");
    }
    objects
}

/// Puts objects into git, and those of k0rdent onto the cluster, as somebody else's Flux does.
fn put(region: &mut Delivered, objects: &[Value]) {
    region.put(objects);
    let of_k0rdent = objects.iter().filter(|object| object["kind"] == "Credential");
    of_k0rdent.for_each(|object| region.server.apply(&object.to_string()));
}

fn label<'a>(object: &'a Value, label: &str) -> &'a Value {
    &object["metadata"]["labels"][label]
}

fn secret(region: &Delivered, namespace: &str, name: &str) -> Value {
    region.get(&path(&sealed(namespace, name, &[], 0)))
}

/// Fails unless a run and what Flux makes of it change nothing any more.
#[track_caller]
fn rests(region: &Delivered, flux: &crate::rig::flux::Flux) {
    let (tip, versions) = (region.origin().tip(), region.versions());
    for _ in 0..2 {
        region.publish();
        assert_eq!(region.origin().tip(), tip, "{:?}", region.origin().changed());
        all_ready(&flux.sync());
        assert_eq!(region.versions(), versions, "an object was written again");
    }
}

#[test]
fn what_is_brought_there_is_no_source() {
    let Some(mut region) = management() else { return };
    // Only on the cluster.
    let own = sealed(TENANT, "own", &["value"], 1);
    region.server.apply(&own.to_string());
    region.server.apply(&credential(TENANT, "own", "", &reference(&own)).to_string());
    // Handed out by a rule; k0rdent has made its copy of before.
    let handed = sealed(SYSTEM, "handed", &["value"], 1);
    put(&mut region, &[handed.clone(), credential(SYSTEM, "handed", "", &reference(&handed))]);
    let rules = json!({"apiVersion": format!("{K0RDENT}/v1beta1"), "kind": "AccessManagement", "metadata": {"name": "kcm"},
        "spec": {"accessRules": [{"credentials": ["handed"], "targetNamespaces": {"list": [TENANT]}}]}});
    region.server.apply(&rules.to_string());
    let mut copy = sealed(TENANT, "handed", &["value"], 0);
    copy["metadata"]["labels"] = json!({"k0rdent.mirantis.com/managed": "true"});
    region.server.apply(&copy.to_string());
    // In git.
    put(&mut region, &at_home(aws("aws", 1)));
    put(&mut region, &at_home(odd("odd", 1)));
    let before = [secret(&region, TENANT, "own"), secret(&region, TENANT, "handed")];

    region.publish();
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    all_ready(&flux.sync());
    let [own_now, handed_now] = [secret(&region, TENANT, "own"), secret(&region, TENANT, "handed")];
    assert!(own_now == before[0], "what is on the cluster alone was touched");
    assert_eq!(handed_now["metadata"]["uid"], before[1]["metadata"]["uid"], "the copy was made anew");
    assert_eq!(label(&handed_now, "k0rdent.mirantis.com/managed"), "false");
    let source = secret(&region, SYSTEM, "handed");
    assert!(handed_now["data"] == source["data"] && handed_now["data"] != before[1]["data"]);
    for object in [&handed_now, &source, &secret(&region, TENANT, "odd"), &secret(&region, SYSTEM, "aws-secret")] {
        assert_eq!(label(object, "app.kubernetes.io/managed-by"), "pouch", "{}", object["metadata"]["name"]);
    }
    region.verify_live(&[]).ends(0);
    // It is reached as the source that it is.
    let ran = region.fleet.run(&["verify", "--live", "--all"]).ends(0);
    assert!(ran.stdout.lines().any(|line| line.starts_with("eu ")), "{}", ran.stdout);
    let uid = region.get("/api/v1/namespaces/kube-system")["metadata"]["uid"].as_str().unwrap().to_owned();
    let ran = region.fleet.run(&["explain", "region", "eu"]).ends(0);
    assert!(ran.stdout.contains(&format!("cluster {uid} (by the source that it is; ")), "{}", ran.stdout);
    let ran = region.fleet.run(&["explain", "team-a/own"]).ends(0);
    assert!(ran.stdout.contains("lands      nowhere: it stands there already"), "{}", ran.stdout);
    rests(&region, &flux);
    let plan = region.fleet.run(&["plan", "--no-values", "--detailed-exitcode"]).ends(0);
    assert!(!plan.stderr.contains("error["), "{}", plan.stderr);

    // The rights that are printed suffice, also to look at what would be replaced.
    let rights = region.fleet.run(&["rbac", "--user", "pouch"]).ends(0).stdout;
    region.server.apply(&rights);
    let tip = region.origin().tip();
    let begun = Instant::now();
    while region.origin().publish(&["--context", "pouch"]).code != 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the rights do not suffice");
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(region.origin().tip(), tip);

    // Which source comes first makes no difference.
    region.fleet.configure(&format!("[{GIT}, {HUB}]"), &format!("[{HUB}, {GIT}]"));
    rests(&region, &flux);

    // A value that changes in git arrives, and the older one on the cluster is in nobody's way.
    put(&mut region, &at_home(odd("odd", 2)));
    let stale = secret(&region, TENANT, "odd");
    region.publish();
    all_ready(&flux.sync());
    assert!(secret(&region, TENANT, "odd")["data"] != stale["data"]);
    rests(&region, &flux);

    // What goes from git goes from the cluster.
    let gone = at_home(odd("odd", 2));
    region.take(&gone);
    region.server.kubectl_prints(["-n", TENANT, "delete", "credential", "odd"], "");
    region.publish();
    all_ready(&flux.sync());
    assert!(secret(&region, TENANT, "odd").is_null(), "it was published again from the cluster");
    rests(&region, &flux);

    // The whole source goes, and the Credentials stay: what is published stays with them.
    let uids = region.uids();
    region.fleet.configure(&format!("[{HUB}, {GIT}]"), &format!("[{HUB}]"));
    let ran = region.origin().publish(&[]).ends(3);
    assert!(ran.stderr.contains("missing-reference") && ran.stderr.contains("own-output"), "{}", ran.stderr);
    all_ready(&flux.sync());
    assert_eq!(region.uids(), uids);
    // And without them all of it goes: under the brake, although the cluster has every copy.
    for name in ["aws", "handed"] {
        region.server.kubectl_prints(["-n", SYSTEM, "delete", "credential", name], "");
    }
    let ran = region.origin().publish(&[]).ends(4);
    let accepted = [SYSTEM, TENANT].map(|namespace| ran.acceptance("--accept-deletions", &format!("eu/{namespace}")));
    all_ready(&flux.sync());
    assert_eq!(region.uids(), uids);
    let accepted: Vec<&str> = accepted.iter().flat_map(|digest| ["--accept-deletions", digest]).collect();
    region.origin().publish(&accepted).ends(0);
    all_ready(&flux.sync());
    for (namespace, name) in [(SYSTEM, "aws-secret"), (SYSTEM, "handed"), (TENANT, "handed")] {
        assert!(secret(&region, namespace, name).is_null(), "{namespace}/{name}");
    }
    assert!(secret(&region, TENANT, "own") == before[0], "what is on the cluster alone was touched");
}
