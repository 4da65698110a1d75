//! Tests of [`super`].

use super::*;
use crate::config::{ArgoDestination, ArgoKind, ArgoMode, Delivery};
use crate::inventory::profile::AccessCluster;
use crate::inventory::providers::{Exec, Way};
use crate::layout::Splits;
use crate::name::Variables;
use alloc::collections::BTreeMap;

fn registration(name: &str) -> Registration {
    let cluster = AccessCluster { server: "https://eu-1.example.com:6443".into(), ..AccessCluster::default() };
    let exec = Exec {
        api_version: "client.authentication.k8s.io/v1".into(),
        command: "/bin/a".into(),
        arguments: vec!["eu-1".into()],
        variables: Vec::new(),
        inherited: Variables::default(),
        provide_cluster_info: false,
        install_hint: String::new(),
    };
    let labels =
        [("env", "prod"), ("argocd.argoproj.io/secret-type", "repository"), ("app.kubernetes.io/instance", "x")];
    Registration {
        name: name.into(),
        labels: labels.map(|(key, value)| (key.into(), value.into())).into_iter().collect::<BTreeMap<_, _>>(),
        way: Way { provider: "a".into(), cluster, exec, config: None },
        extensions: Vec::new(),
    }
}

fn secret(name: &str) -> String {
    let argo = ArgoCd {
        namespace: "argocd".into(),
        project: "default".into(),
        repo_url: "https://git.example.com/fleet.git".into(),
        target_revision: "main".into(),
        destination: ArgoDestination::Name("{region}-cluster".into()),
        mode: ArgoMode::Plugin,
        plugin: None,
        kind: ArgoKind::Application,
        refreshes: true,
        informs: true,
        cluster: None,
    };
    let (fleet, directory, delivery) = ("acme".into(), "eu".into(), Delivery::None);
    let layout = Layout {
        fleet: &fleet,
        directory: &directory,
        delivery: &delivery,
        output: "bundles",
        splits: Splits::none(),
        registered: None,
    };
    ClusterSecret::of(&layout, &argo, registration(name)).text()
}

const TEXT: &str = r#"apiVersion: v1
kind: Secret
metadata:
  labels:
    app.kubernetes.io/managed-by: pouch
    argocd.argoproj.io/secret-type: cluster
    env: prod
    pouch/directory: eu
    pouch/fleet: acme
  name: cluster-eu-1
  namespace: argocd
stringData:
  config: |-
    {
      "execProviderConfig": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "args": [
          "eu-1"
        ],
        "command": "/bin/a"
      },
      "tlsClientConfig": {
        "insecure": false
      }
    }
  name: eu-cluster
  server: https://eu-1.example.com:6443
type: Opaque
"#;

#[test]
fn it_reads_as_it_is_meant_and_has_no_label_that_steers_argo_cd() {
    assert_eq!(secret("cluster-eu-1"), TEXT);
    let read = ClusterSecret::read(TEXT.as_bytes()).unwrap();
    assert_eq!((read.fleet.as_str(), read.directory.as_str(), read.called.as_str()), ("acme", "eu", "eu-cluster"));
    assert_eq!(read.registration.labels, BTreeMap::from([("env".into(), "prod".into())]));
}

#[test]
fn a_long_name_is_cut_and_known_again() {
    let text = secret(&format!("cluster-{}", "a".repeat(200)));
    let read = ClusterSecret::read(text.as_bytes()).unwrap();
    assert_eq!(read.registration.name.len(), 63);
    assert!(read.registration.name.starts_with("cluster-aaa"));
    assert_eq!(read.text(), text);
}

#[test]
fn whatever_else_stands_in_it_is_not_pouchs() {
    let json = |from: &str, to: &str| TEXT.replacen(from, to, 1);
    for (what, text) in [
        ("a token", json("      \"tlsClient", "      \"bearerToken\": \"hunter2\",\n      \"tlsClient")),
        ("a user", json("      \"tlsClient", "      \"password\": \"hunter2\",\n      \"tlsClient")),
        ("a certificate", json("\"insecure\": false", "\"certData\": \"eA==\",\n        \"insecure\": false")),
        ("AWS", json("      \"execPro", "      \"awsAuthConfig\": {\"clusterName\": \"x\"},\n      \"execPro")),
        ("a config that nobody hears", json("\"command\"", "\"config\": {\"a\": 1},\n        \"command\"")),
        ("an argument that is a token", json("\"eu-1\"\n", "\"--token=hunter2\"\n")),
        ("a further entry", json("  name: eu-cluster", "  clusterResources: \"true\"\n  name: eu-cluster")),
        ("data beside", format!("{TEXT}data: {{}}\n")),
        ("an annotation", json("  labels:", "  annotations: {a: b}\n  labels:")),
        ("a label that steers", json("    env: prod", "    argoproj.io/x: y\n    env: prod")),
        ("a label gone", json("    pouch/fleet: acme\n", "")),
        ("another type", json("type: Opaque", "type: Other")),
        ("another name", json("name: cluster-eu-1", "name: argocd-secret")),
        ("another kind of Secret", json("secret-type: cluster", "secret-type: repository")),
        ("another form", json("server: https", "server:  https")),
        ("a comment", format!("# x\n{TEXT}")),
        ("two documents", format!("{TEXT}---\n{TEXT}")),
        ("a server with a password", json("https://eu-1", "https://me:hunter2@eu-1")),
        ("both ways to trust", json("\"insecure\": false", "\"caData\": \"eA==\",\n        \"insecure\": true")),
        ("nothing", String::new()),
    ] {
        assert_ne!(text, TEXT, "{what}");
        assert!(ClusterSecret::read(text.as_bytes()).is_none(), "{what}:\n{text}");
    }
}

#[test]
fn it_stands_in_one_place() {
    assert_eq!(file(&"eu".into()).as_str(), "argocd/eu/cluster.yaml");
    assert_eq!(directory_of("argocd/eu/cluster.yaml"), Some("eu"));
    for other in
        ["argocd/cluster.yaml", "argocd/a/b/cluster.yaml", "regions/eu/cluster.yaml", "argocd/eu/xcluster.yaml"]
    {
        assert_eq!(directory_of(other), None, "{other}");
    }
}
