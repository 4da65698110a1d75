//! Tests of `inline`.

use super::*;
use crate::layout::sample::object;
use proptest::prelude::*;
use serde_json::{Value, json};

fn found(spec: &Value) -> Vec<String> {
    let document = json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec});
    inline_secrets(&object(&document, &[]))
}

#[test]
fn secrets_in_a_spec_are_found() {
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n";
    let encoded = STANDARD.encode(pem);
    for (spec, path) in [
        (json!({"password": "hunter2"}), "spec.password"),
        (json!({"Password": "a"}), "spec.Password"),
        (json!({"adminPassword": "a"}), "spec.adminPassword"),
        (json!({"admin_password": "a"}), "spec.admin_password"),
        (json!({"admin-passwd": "a"}), "spec.admin-passwd"),
        (json!({"db.pwd": "a"}), "spec[\"db.pwd\"]"),
        (json!({"passphrase": "a"}), "spec.passphrase"),
        (json!({"passwords": ["a"]}), "spec.passwords[0]"),
        (json!({"token": "a"}), "spec.token"),
        (json!({"apiToken": "a"}), "spec.apiToken"),
        (json!({"hcloudToken": "a"}), "spec.hcloudToken"),
        (json!({"bearer_token": "a"}), "spec.bearer_token"),
        (json!({"sasToken": "a"}), "spec.sasToken"),
        (json!({"accessToken": "a"}), "spec.accessToken"),
        (json!({"apiKey": "a"}), "spec.apiKey"),
        (json!({"API_KEY": "a"}), "spec.API_KEY"),
        (json!({"secretKey": "a"}), "spec.secretKey"),
        (json!({"secretAccessKey": "a"}), "spec.secretAccessKey"),
        (json!({"AWS_SECRET_ACCESS_KEY": "a"}), "spec.AWS_SECRET_ACCESS_KEY"),
        (json!({"privateKey": "a"}), "spec.privateKey"),
        (json!({"private_key_pem": "a"}), "spec.private_key_pem"),
        (json!({"sshKey": "a"}), "spec.sshKey"),
        (json!({"storageAccountKey": "a"}), "spec.storageAccountKey"),
        (json!({"connectionString": "a"}), "spec.connectionString"),
        (json!({"clientSecret": "a"}), "spec.clientSecret"),
        (json!({"clientSecret": {"value": "a"}}), "spec.clientSecret.value"),
        (json!({"auth": {"users": [{"name": "x"}, {"name": "y", "password": "a"}]}}), "spec.auth.users[1].password"),
        (json!({"env": [{"name": "DB_PASSWORD", "value": "a"}]}), "spec.env[0].value"),
        (json!({"secret": "Tr0ub4dor&3"}), "spec.secret"),
        (json!({"secret": "9f86d081884c7d659a2feaa0c55ad015"}), "spec.secret"),
        (json!({"secret": "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"}), "spec.secret"),
        (json!({"credentials": "{\"type\": \"service_account\"}"}), "spec.credentials"),
        (json!({"kubeconfig": "apiVersion: v1\nkind: Config\n"}), "spec.kubeconfig"),
        (json!({"secrets": {"data": {"x": 1, "password": "a"}}}), "spec.secrets.data.password"),
        (json!({"anything": pem}), "spec.anything"),
        (json!({"list": ["a", pem]}), "spec.list[1]"),
        (json!({"anything": encoded}), "spec.anything"),
        (json!({"userData": format!("#cloud-config\n{pem}")}), "spec.userData"),
        (json!({"note": "AGE-SECRET-KEY-1QQQ"}), "spec.note"),
    ] {
        assert_eq!(found(&spec), [path], "{path}");
    }
}

#[test]
fn references_and_settings_are_no_secrets() {
    for spec in [
        json!({"secretRef": "aws"}),
        json!({"secretRef": {"name": "aws", "namespace": "kcm-system"}}),
        json!({"secretName": "aws-secret"}),
        json!({"clientSecret": {"name": "az-secret", "namespace": "kcm-system"}}),
        json!({"principalSecret": {"name": "oci", "namespace": "x"}}),
        json!({"sourceIdentityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"}}),
        json!({"passwordSecretRef": {"name": "a", "key": "password"}}),
        json!({"passwordKey": "password"}),
        json!({"tokenSecretName": "a"}),
        json!({"accessKeyID": "AKIAIOSFODNN7EXAMPLE"}),
        json!({"keyID": "a", "keyName": "b", "key": "c"}),
        json!({"tokenURL": "https://login.example.com"}),
        json!({"tokenEndpoint": "https://login.example.com"}),
        json!({"tokenPath": "/var/run/token", "tokenFile": "x"}),
        json!({"tokenTTL": "1h", "tokenExpirationSeconds": "60"}),
        json!({"passwordPolicy": "strict", "passwordLength": 12}),
        json!({"password": ""}),
        json!({"password": null}),
        json!({"tokens": 3, "token": true}),
        json!({"secret": "my-secret-name"}),
        json!({"credentials": "cluster-creds"}),
        json!({"imagePullSecrets": ["regcred"]}),
        json!({"imagePullSecrets": [{"name": "regcred"}]}),
        json!({"credentialsRef": "a", "credentialSource": "Environment"}),
        json!({"publicKey": "ssh-ed25519 AAAA", "sshPublicKey": "ssh-rsa AAAA", "sshAuthorizedKeys": ["ssh-rsa AAAA"]}),
        json!({"certificate": "-----BEGIN CERTIFICATE-----\nMIIE\n"}),
        json!({"caBundle": STANDARD.encode("-----BEGIN CERTIFICATE-----\nMIIEMIIEMIIEMIIEMIIE\n-----END CERTIFICATE-----\n")}),
        json!({"roleARN": "arn:aws:iam::1:role/x", "sessionName": "s", "externalID": "e", "policyARNs": ["arn"]}),
        json!({"clientID": "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "tenantID": "x", "type": "ServicePrincipal"}),
        json!({"env": [{"name": "DB_HOST", "value": "a"}, {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"key": "p", "name": "s"}}}]}),
        json!({"allowedNamespaces": {"list": ["a"], "selector": {"matchLabels": {"token-users": "yes"}}}}),
    ] {
        assert_eq!(found(&spec), Vec::<String>::new(), "{spec}");
    }
}

#[test]
fn templates_may_talk_of_passwords_but_hold_no_private_key() {
    let document = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": data});
    let template =
        json!({"configmap.yaml": "password: {{ $secret.data.password }}\ntoken: x\n", "password": "{{ x }}"});
    assert_eq!(inline_secrets(&object(&document(template), &[])), Vec::<String>::new());
    let key = json!({"a.yaml": "x\n-----BEGIN OPENSSH PRIVATE KEY-----\n", "b": "y"});
    assert_eq!(inline_secrets(&object(&document(key), &[])), ["data[\"a.yaml\"]"]);
    let mut annotated = document(json!({}));
    annotated["metadata"]["annotations"] = json!({"x/y": "-----BEGIN EC PRIVATE KEY-----"});
    assert_eq!(inline_secrets(&object(&annotated, &[])), Vec::<String>::new());
    assert_eq!(inline_secrets(&object(&annotated, &["*"])), ["metadata.annotations[\"x/y\"]"]);
}

#[test]
fn a_secret_may_hold_secrets() {
    let document = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}, "stringData": {"password": "x"},
    });
    assert_eq!(inline_secrets(&object(&document, &[])), Vec::<String>::new());
}

/// Where a workload in a payload has a value, under a key.
fn in_manifest(key: &str, value: &str) -> bool {
    let env = json!([{"name": key, "value": value}]);
    let document =
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": {"env": env}});
    let kind = GroupKind::new("apps", "DaemonSet");
    !manifest_secrets(&kind, &crate::testing::node(&document)).is_empty()
}

#[test]
fn places_and_names_with_slashes_are_no_secrets() {
    for (key, value) in [
        ("KUBECONFIG", "C:/etc/cni/net.d/calico-kubeconfig"),
        ("KUBECONFIG", "C:\\k\\config"),
        ("KUBECONFIG", "c:\\Program Files (x86)\\Kube\\Config"),
        ("KUBECONFIG", "%ProgramData%\\k\\config"),
        ("KUBECONFIG", "$env:SystemDrive/k/config"),
        ("KUBECONFIG", "/conf/.kube/config"),
        ("KUBECONFIG", "~/.kube/config"),
        ("KUBECONFIG", "$HOME/.kube/config"),
        ("KUBECONFIG", "../conf/kube_config.yaml"),
        ("TOKEN", "C:/var/run/secrets/kubernetes.io/serviceaccount/token"),
        ("IMAGE_PULL_SECRET", "kube-system/regcred"),
        ("API_TOKEN", "<your-token>"),
        ("API_PASSWORD", "«token»"),
        ("REGISTRY_SECRETS", "team-a2/pull.v1"),
    ] {
        assert!(!in_manifest(key, value), "{key}: {value}");
        assert!(!assigns_secret(&format!("{key}={value}")), "{key}={value}");
        assert!(!assigns_secret(&format!("set \"{key}\": \"{value}\", more")), "{key}: {value}");
    }
    for (key, value) in [
        // The key says that the value is the secret.
        ("API_PASSWORD", "kube-system/regcred"),
        ("API_TOKEN", "~/.kube/config"),
        ("KUBECONFIG", "kube-system/Tr0ub4dor"),
        ("CLUSTER_SECRET", "C:Tr0ub4dor/3"),
        ("CLUSTER_SECRET", "CD:/Tr0ub4dor"),
        ("CLUSTER_SECRET", "C:/Tr0ub4dor&3"),
        ("CLUSTER_SECRET", "a8f5f167/f44f4964"),
        ("CLUSTER_SECRET", "team-a/1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"),
        ("CLUSTER_SECRET", "team-a/"),
        ("API_TOKEN", "<your-token>hunter2"),
        ("API_TOKEN", "<Tr0ub4dor&3>"),
        ("CLUSTER_SECRET", "a//b"),
        // Credentials may be a user and his password.
        ("ORACLE_CREDENTIALS", "scott/tiger"),
        ("CLUSTER_SECRET", "a/b/c"),
        ("CLUSTER_SECRET", "$HOME/b"),
        ("KUBECONFIG", "$Kx9v2LqP7sT1mZQw8/ab"),
        ("API_TOKEN", "“Sommer2024”"),
        ("API_PASSWORD", "<Winter2025>"),
    ] {
        assert!(in_manifest(key, value), "{key}: {value}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Base64 with a slash in it is no place and no name, wherever the slash is.
    #[test]
    fn base64_with_a_slash_stays_a_secret(
        key in "(KUBECONFIG|IMAGE_PULL_SECRET|GCP_CREDENTIALS|APP_SECRET|TOKEN)",
        bytes in proptest::collection::vec(any::<u8>(), 24..64),
        at in any::<prop::sample::Index>(),
    ) {
        let mut text = STANDARD.encode(bytes);
        let at = at.index(text.trim_end_matches('=').len());
        text.replace_range(at..=at, "/");
        prop_assert!(in_manifest(&key, &text), "{}", text);
        let line = format!("{key}={text}");
        prop_assert!(assigns_secret(&line), "{}", line);
    }

    /// Places and names that people write pass under a key that may be the name of a Secret.
    #[test]
    fn places_and_names_pass(
        root in "(/|~/|\\./|\\.\\./|\\$HOME/|[a-zA-Z]:/|[a-zA-Z]:\\\\|)",
        parts in proptest::collection::vec("[a-z]{1,8}[0-9]{0,2}([-._][a-z]{1,8}){0,2}", 2..5),
    ) {
        let separator = if root.ends_with('\\') { "\\" } else { "/" };
        let name = parts.iter().take(2).map(String::as_str).collect::<Vec<_>>().join("/");
        for (key, text) in [("KUBECONFIG", format!("{root}{}", parts.join(separator))), ("IMAGE_PULL_SECRET", name)] {
            prop_assert!(!in_manifest(key, &text), "{}", text);
            let line = format!("{key}={text}");
            prop_assert!(!assigns_secret(&line), "{}", line);
        }
    }
}
