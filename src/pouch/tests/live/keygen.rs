//! `pouch keygen --context`: the Secret that it makes on a real API server, and what it leaves alone.

use base64::Engine as _;
use serde_json::Value;

use crate::rig::apiserver::ApiServer;
use crate::support::fleet::{Fleet, is_pair};

#[test]
fn a_cluster_gets_a_new_secret_and_keeps_an_old_one() {
    let Some(server) = ApiServer::start() else { return };
    let fleet = Fleet::new();
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let keygen = |more: &[&str]| fleet.run(&[&["keygen", "eu", "--kubeconfig", "kubeconfig"], more].concat());

    // Nothing is written where the Secret could not be made.
    keygen(&["--context", "admin"]).ends(64).says("has no namespace flux-system");
    server.apply("{apiVersion: v1, kind: Namespace, metadata: {name: flux-system}}");
    keygen(&["--context", "nobody"]).ends(5).says("does not allow \"create\" on secrets in namespace flux-system");
    assert!(!fleet.has("keys/eu.txt"));

    let ran = keygen(&["--context", "admin"]).ends(0).says("made Secret flux-system/sops-age on cluster admin");
    is_pair(&fleet, "keys/eu.txt", &ran);
    let get = || {
        server.kubectl_prints(
            ["-n", "flux-system", "get", "secret", "sops-age", "-o", "json", "--show-managed-fields"],
            "",
        )
    };
    let made: Value = serde_json::from_str(&get()).unwrap();
    let held = base64::engine::general_purpose::STANDARD.decode(made["data"]["eu.agekey"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(held).unwrap(), fleet.read("keys/eu.txt"));
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "pouch");

    keygen(&["--context", "admin", "--write-identity", "keys/eu-2.txt"]).ends(64).says("nothing is overwritten");
    assert!(!fleet.has("keys/eu-2.txt"));
    assert_eq!(serde_json::from_str::<Value>(&get()).unwrap(), made);
    // The way that is told instead adds the new identity and keeps the old one.
    fleet.run(&["keygen", "eu", "--write-identity", "keys/eu-2.txt", "--manifest", "keys/eu-2.yaml"]).ends(0);
    let file = fleet.path("keys/eu-2.yaml");
    server.kubectl_prints(
        ["-n", "flux-system", "patch", "secret", "sops-age", "--patch-file", file.to_str().unwrap()],
        "",
    );
    let both: Value = serde_json::from_str(&get()).unwrap();
    let names: Vec<&String> = both["data"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["eu-2.agekey", "eu.agekey"]);
}
