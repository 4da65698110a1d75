//! An Argo CD that knows a region on another API server by the Secret that pouch writes, and logs in with a plugin.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::plugin::builds;
use super::{APPLICATION, synced};
use crate::delivered::{Delivered, aws, odd};
use crate::rig::apiserver::ApiServer;
use crate::rig::argocd::{ArgoCd, NEXT};
use crate::rig::token;

/// A file of the branch, applied to Argo CD's own API server.
fn apply(region: &Delivered, hub: &ApiServer, file: &str) {
    hub.apply(&region.origin().git(&["show", &format!("main:bundles/argocd/eu/{file}")]));
}

fn get(hub: &ApiServer, target: &str) -> Value {
    hub.endpoint("admin").get(target).expect("the API server answers").value()
}

/// Writes a plugin that gives the administrator's token, and notes what it was asked for.
fn plugin(region: &Delivered) {
    let status = json!({"token": token("admin")});
    let credential =
        json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status});
    let asked = region.fleet.path("asked");
    let script = format!("#!/bin/sh\necho \"$*$KUBERNETES_EXEC_INFO\" >> '{}'\necho '{credential}'\n", asked.display());
    program(region, "reader", &script);
}

fn program(region: &Delivered, path: &str, script: &str) {
    region.fleet.write(path, script);
    fs::set_permissions(region.fleet.path(path), fs::Permissions::from_mode(0o700)).unwrap();
}

fn providers(region: &Delivered, argument: &str) {
    let plugin = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": region.fleet.path("reader"), "args": [argument],
    });
    let file = json!({"providers": [{"name": "reader", "execConfig": plugin}]});
    region.fleet.write("providers.json", file.to_string());
}

/// Whether the plugin was asked with this argument.
fn is_asked(region: &Delivered, argument: &str) -> bool {
    region.fleet.has("asked") && region.fleet.read("asked").lines().any(|line| line.split('{').next() == Some(argument))
}

fn set() -> Value {
    let selector = json!({"matchLabels": {"pouch/fleet": "acme", "env": "prod"}});
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
        "metadata": {"name": "by-label", "namespace": "argocd"},
        "spec": {
            "goTemplate": true, "goTemplateOptions": ["missingkey=error"],
            "generators": [{"clusters": {"selector": selector}}],
            "template": {
                "metadata": {"name": "{{.name}}-by-label"},
                "spec": {
                    "project": "default",
                    "destination": {"name": "{{.name}}"},
                    "source": {
                        "repoURL": "https://git.example.com/fleet.git", "targetRevision": "main",
                        "path": "bundles/regions/{{index .metadata.labels \"pouch/directory\"}}",
                    },
                },
            },
        },
    })
}

/// A region that is tied to a ClusterProfile with these extensions.
fn tied(extensions: &Value) -> Option<Delivered> {
    let region = Delivered::new("argocd", "")?;
    let cluster = json!({
        "server": region.server.url(), "certificate-authority-data": STANDARD.encode(region.server.ca()),
        "extensions": extensions,
    });
    region.fleet.write(
        "manifests/profile.json",
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "eu-1", "namespace": "fleet", "labels": {"env": "prod"}},
            "spec": {"clusterManager": {"name": "test"}},
            "status": {"accessProviders": [{"name": "reader", "cluster": cluster}]},
        })
        .to_string(),
    );
    let tie = "delivery: argocd, inventory: {clusterProfile: {namespace: fleet, name: eu-1}}}";
    region.fleet.configure("delivery: argocd}", tie);
    region.fleet.configure("argocd: {", "argocd: {cluster: {providers: providers.json}, ");
    region.fleet.configure("limits:", "keepMetadata: {labels: [env]}\nlimits:");
    plugin(&region);
    Some(region)
}

/// From 3.5 on Argo CD tells the plugin where the cluster is, and what the ClusterProfile has for it.
#[test]
fn a_newer_argo_cd_tells_the_plugin_what_the_profile_says() {
    let extension = json!({"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "eu-one"}});
    let Some(mut region) = tied(&json!([extension])) else { return };
    let Some(hub) = ApiServer::start() else { return };
    providers(&region, "x");
    region.fleet.edit("providers.json", "\"command\"", "\"provideClusterInfo\": true, \"command\"");
    region.put(&aws("aws", 1));
    region.publish();
    // It asks for signatures by a script of its image, whatever it is told of GPG; nothing is signed here.
    program(&region, "programs/git-verify-wrapper.sh", "#!/bin/sh\n");
    let mut builds = builds(&region);
    builds.programs.push(region.fleet.path("programs"));
    let Some(argo) = ArgoCd::start_apart(NEXT, &hub, &builds) else { return };
    for file in ["cluster.yaml", "application.yaml"] {
        apply(&region, &hub, file);
    }
    synced(&region, &argo);
    region.is_exact();
    let asked = region.fleet.read("asked");
    let info = asked.lines().find_map(|line| serde_json::from_str::<Value>(line.strip_prefix('x')?).ok());
    let cluster = &info.expect("it was told something")["spec"]["cluster"];
    assert_eq!(cluster["server"], region.server.url());
    assert_eq!(cluster["config"], json!({"clusterName": "eu-one"}));
}

#[test]
fn argo_cd_reaches_a_region_by_the_secret_and_a_plugin() {
    let Some(mut region) = tied(&json!([])) else { return };
    let Some(hub) = ApiServer::start() else { return };
    region.fleet.configure("argocd: {", "argocd: {version: '3.2', ");
    providers(&region, "{{ .ClusterProfileName }} at {{ .ClusterProfileServer }}");
    region.put(&aws("aws", 1));
    region.publish();

    let Some(mut argo) = ArgoCd::start_apart("argocd", &hub, &builds(&region)) else { return };
    // An Argo CD that does not know the cluster yet says so, and waits.
    apply(&region, &hub, "application.yaml");
    argo.wait_until(APPLICATION, |said| {
        said.conditions.iter().any(|condition| condition.contains("there are no clusters with this name: eu"))
    });
    apply(&region, &hub, "cluster.yaml");
    argo.refresh(APPLICATION);
    argo.wait_until(APPLICATION, |said| said.sync == "Synced" && said.conditions.is_empty());
    region.is_exact();
    region.verify().ends(0);
    assert!(is_asked(&region, &format!("eu-1 at {}", region.server.url())), "{}", region.fleet.read("asked"));
    // The API server keeps what the file says, and nothing that opens the region.
    let secret = get(&hub, "/api/v1/namespaces/argocd/secrets/cluster-eu-1");
    assert!(!secret.to_string().contains(&token("admin")) && secret["stringData"].is_null(), "{secret}");

    // What changes of the file arrives in the Secret.
    providers(&region, "again");
    region.put(&odd("odd", 1));
    region.publish();
    apply(&region, &hub, "cluster.yaml");
    let entries = |secret: &Value| {
        let decoded = |text: &Value| String::from_utf8(STANDARD.decode(text.as_str().unwrap()).unwrap()).unwrap();
        let data = secret["data"].as_object().unwrap();
        data.iter().map(|(key, text)| (key.clone(), decoded(text))).collect::<Vec<_>>()
    };
    let now = entries(&get(&hub, "/api/v1/namespaces/argocd/secrets/cluster-eu-1"));
    assert_eq!(now.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["config", "name", "server"]);
    let config: Value = serde_json::from_str(&now[0].1).unwrap();
    assert_eq!(config["execProviderConfig"]["args"], json!(["again"]));
    synced(&region, &argo);
    region.is_exact();
    assert!(is_asked(&region, "again"));

    // By the fleet's label an ApplicationSet finds the cluster, and no other.
    let labels = json!({"argocd.argoproj.io/secret-type": "cluster", "pouch/fleet": "other", "env": "prod"});
    hub.apply(
        &json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other", "namespace": "argocd", "labels": labels},
            "stringData": {"name": "other", "server": "https://other.example.com", "config": "{}"},
        })
        .to_string(),
    );
    argo.serve_sets(&hub);
    hub.apply(&set().to_string());
    argo.wait_for("eu-by-label");
    let applications = get(&hub, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications");
    let names: Vec<&str> =
        applications["items"].as_array().unwrap().iter().filter_map(|it| it["metadata"]["name"].as_str()).collect();
    assert_eq!(names, [APPLICATION, "eu-by-label"]);
    assert_eq!(applications["items"][1]["spec"]["source"]["path"], "bundles/regions/eu");
}
