//! Tests of `inline`.

use super::*;
use crate::layout::sample::object;
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
