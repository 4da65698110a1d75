//! One Flux on a hub, which applies to a region by a kubeconfig.

use serde_json::{Value, json};

use super::all_ready;
use crate::delivered::{Delivered, aws, azure, odd, shows_nothing};
use crate::rig::apiserver::ApiServer;
use crate::rig::flux::{Flux, NAMESPACE};

#[test]
fn one_flux_on_a_hub_applies_to_a_region() {
    let delivery =
        "{flux: {kubeConfig: {secretRef: '{region}-kubeconfig'}, decryption: {secretRef: 'sops-age-{region}'}}}";
    let Some(mut region) = Delivered::new(delivery, "") else { return };
    let Some(hub) = ApiServer::start() else { return };
    let Some(flux) = Flux::start(&hub, &[]) else { return };
    let secret = |name: &str, entries: Value| {
        let meta = json!({"name": name, "namespace": NAMESPACE});
        hub.apply(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": entries}).to_string());
    };
    secret("sops-age-eu", json!({"eu.agekey": Delivered::identity()}));
    // As docs/operations makes it: Flux takes no kubeconfig that points to files.
    let kubeconfig = region.server.kubectl(["config", "view", "--raw", "--flatten", "--minify"], "");
    assert!(kubeconfig.status.success());
    secret("eu-kubeconfig", json!({"value": String::from_utf8(kubeconfig.stdout).unwrap()}));
    flux.follow(&region.url(), "./bundles/flux/eu", &Value::Null);

    region.put(&[aws("aws", 1), azure("azure", "azure-secret", 1), odd("odd", 1)].concat());
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    region.put(&aws("aws", 2));
    region.take(&odd("odd", 1));
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);

    // Nothing of it is on the hub.
    let secrets = hub.endpoint("admin").get("/api/v1/secrets").expect("the API server answers").value();
    let secrets = secrets["items"].as_array().expect("a list");
    let names: Vec<&str> = secrets.iter().filter_map(|secret| secret["metadata"]["name"].as_str()).collect();
    assert_eq!(names, ["eu-kubeconfig", "sops-age-eu"]);
    shows_nothing("Flux's log", &flux.log());
}
