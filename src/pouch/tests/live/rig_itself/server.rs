//! The real API server: its users, its kinds.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::rig::apiserver::ApiServer;

#[test]
fn the_api_server_knows_its_users() {
    let Some(server) = ApiServer::shared() else { return };
    let namespace = server.namespace("users");
    let target = format!("/api/v1/namespaces/{namespace}/secrets");
    for (user, status) in [("admin", 200), ("pouch", 403), ("reader", 403), ("nobody", 403), ("stranger", 401)] {
        assert_eq!(server.endpoint(user).get(&target).unwrap().status, status, "{user}");
    }
    let scratch = tempfile::tempdir().unwrap();
    let config = scratch.path().join("kubeconfig");
    server.kubeconfig(&config, "nobody");
    let whoami = |context: &str| {
        let mut arguments = vec!["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
        let file = format!("--kubeconfig={}", config.display());
        let flag = format!("--context={context}");
        arguments.push(&file);
        arguments.extend((!context.is_empty()).then_some(flag.as_str()));
        server.kubectl_prints(arguments, "")
    };
    assert_eq!([whoami(""), whoami("reader"), whoami("admin")], ["nobody", "reader", "admin"]);
    let (certificate, key) = server.client_certificate("of-a-certificate", "some");
    for (name, text) in [("client.pem", certificate), ("client.key", key)] {
        fs::write(scratch.path().join(name), text).unwrap();
    }
    let text = fs::read_to_string(&config).unwrap();
    let by = format!("client-certificate: {0}/client.pem, client-key: {0}/client.key", scratch.path().display());
    fs::write(&config, text.replace("token: token-of-nobody", &by)).unwrap();
    assert_eq!(whoami(""), "of-a-certificate");
    // A grant opens what it names, so the others were not refused for another reason.
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "reader", "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "reader", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}]});
    server.apply(&format!("{role}\n---\n{binding}\n"));
    let began = Instant::now();
    while server.endpoint("reader").get(&target).unwrap().status != 200 {
        assert!(began.elapsed() < Duration::from_secs(60), "the grant did not come into force");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.endpoint("nobody").get(&target).unwrap().status, 403);
}

#[test]
fn the_fields_kinds_are_served() {
    let Some(server) = ApiServer::shared() else { return };
    if !server.install_crds() {
        return;
    }
    assert!(server.install_crds(), "a second time changes nothing");
    let admin = server.endpoint("admin");
    for target in [
        "/apis/k0rdent.mirantis.com/v1beta1/credentials",
        "/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsclusterstaticidentities",
        "/apis/infrastructure.cluster.x-k8s.io/v1beta1/vsphereclusteridentities",
    ] {
        assert_eq!(admin.get(target).unwrap().status, 200, "{target}");
    }
    let namespace = server.namespace("kinds");
    server.apply(&format!(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: aws, namespace: {namespace}}}\n\
         spec:\n  region: eu\n  identityRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, \
         kind: AWSClusterStaticIdentity, name: aws}}\n"
    ));
    let target = format!("/apis/k0rdent.mirantis.com/v1beta1/namespaces/{namespace}/credentials/aws");
    assert_eq!(admin.get(&target).unwrap().value()["spec"]["region"], "eu");
    let refused = server.kubectl(["apply", "-f", "-"], "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n");
    assert!(!refused.status.success(), "a Credential without a name was accepted");
}
