//! One Flux on a hub, which applies to a region by a kubeconfig.

use serde_json::{Value, json};

use super::all_ready;
use crate::delivered::{Delivered, aws, azure, odd, shows_nothing};
use crate::rig::apiserver::ApiServer;
use crate::rig::flux::{Flux, NAMESPACE};

const KUBECONFIG_AND_ACCOUNT: &str = "kubeConfig: {secretRef: '{region}-kubeconfig'}, serviceAccountName: applier,";

/// What that account needs on the region: what bundles hold, and nothing else.
fn rights() -> Value {
    let verbs = ["get", "list", "create", "patch", "delete"];
    let rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "applier"},
        "rules": [rule("", &["namespaces", "secrets", "configmaps"]),
            rule("infrastructure.cluster.x-k8s.io", &["awsclusterstaticidentities", "azureclusteridentities"])]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "applier"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "applier"},
        "subjects": [{"kind": "ServiceAccount", "name": "applier", "namespace": NAMESPACE}]});
    json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]})
}

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

    // With a ServiceAccount of the region, Flux may do there what that one may, and no more.
    region.fleet.configure("kubeConfig: {secretRef: '{region}-kubeconfig'},", KUBECONFIG_AND_ACCOUNT);
    region.publish();
    flux.sync();
    // From here on Flux knows of it. What comes now waits for the rights.
    region.put(&aws("aws", 3));
    region.publish();
    let before = region.versions();
    let said = flux.sync();
    let core = said.iter().find(|said| said.name.ends_with("eu-core")).expect("there is a core");
    let nobody = "\"system:serviceaccount:flux-system:applier\" cannot";
    assert!(!core.ready && core.message.contains(nobody), "{said:#?}");
    assert_eq!(region.versions(), before);
    region.verify_live(&[]).ends(8).says("error[differs-on-region]");
    region.server.apply(&rights().to_string());
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
