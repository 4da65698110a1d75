//! Tests of [`super`].

use super::*;
use crate::inventory::{profile, providers};
use crate::json;
use crate::node::Interner;
use crate::testing::object;
use alloc::boxed::Box;

const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

/// A profile with these labels and this access.
fn profile(labels: &str, access: &str) -> Profile {
    let text = format!(
        "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata: {{name: eu-1, namespace: fleet, labels: {{{labels}}}}}\n\
         spec: {{clusterManager: {{name: ocm}}}}\nstatus: {{accessProviders: [{access}]}}\n"
    );
    let mut read = profile::read(&object(&text)).0;
    // The tests' objects keep no labels.
    for pair in labels.split(", ").filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once(": ").unwrap();
        read.labels.insert(key.into(), value.into());
    }
    read
}

fn at(name: &str, cluster: &str) -> String {
    format!("{{name: {name}, cluster: {{server: 'https://eu-1.example.com:6443'{cluster}}}}}")
}

/// A file with one provider, `a`; `exec` and `rest` are added to it.
fn file(exec: &str, rest: &str) -> ProviderFile {
    let text = format!(
        r#"{{"providers": [{{"name": "a", "execConfig": {{"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/a"{exec}}}{rest}}}]}}"#
    );
    providers::read(&text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn registered(profile: &Profile, file: Option<&ProviderFile>) -> Result<Registration, Vec<(Code, String)>> {
    let told = |faults: Vec<Fault>| faults.into_iter().map(|fault| (fault.code, fault.message)).collect();
    register((&"eu-1".into(), profile), file, true, |key| key.starts_with("keep.example/")).map_err(told)
}

/// The `config` of a registration, which must come back from its text.
fn told(registration: &Registration) -> serde_json::Value {
    let text = json::pretty(&config(&registration.way));
    let node = json::read(&text, &mut Interner::new()).ok().unwrap();
    let again = of_config(&registration.way.cluster.server, &node).unwrap();
    assert_eq!(json::pretty(&config(&again)), text);
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn refused(profile: &Profile, file: &ProviderFile, code: Code, words: &str) {
    let Err(faults) = registered(profile, Some(file)) else { panic!("{words}: it was taken") };
    let is_meant = |(found, message): &(Code, String)| *found == code && message.contains(words);
    assert!(faults.iter().any(is_meant), "{words}: {faults:?}");
    assert!(!faults.iter().any(|(_, message)| message.contains("hunter2")), "{faults:?}");
}

#[test]
fn a_cluster_is_what_its_profile_and_the_file_say() {
    let data = STANDARD.encode(CERTIFICATE);
    let cluster = format!(
        ", certificate-authority-data: {data}, tls-server-name: eu, proxy-url: 'http://proxy:3128', disable-compression: true, \
         extensions: [{{name: {EXEC_EXTENSION}, extension: {{clusterName: eu-1, deep: [1, true]}}}}, {{name: other, extension: {{token: x}}}}]"
    );
    let said = profile("keep.example/env: prod, other: x", &at("a", &cluster));
    let exec = r#", "args": ["--cluster={{ .ClusterProfileName }}", "{{ .ClusterProfileServer }}/x"],
        "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}], "provideClusterInfo": true, "installHint": "Install it.""#;
    let Ok(registration) = registered(&said, Some(&file(exec, ""))) else { panic!("it is refused") };
    assert_eq!(registration.name, "cluster-eu-1");
    assert_eq!(registration.labels, BTreeMap::from([("keep.example/env".into(), "prod".into())]));
    assert_eq!(registration.extensions, [EXEC_EXTENSION]);
    let expect = serde_json::json!({
        "disableCompression": true,
        "execProviderConfig": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "args": ["--cluster=eu-1", "https://eu-1.example.com:6443/x"],
            "command": "/bin/a",
            "config": {"clusterName": "eu-1", "deep": [1, true]},
            "env": {"A": "1", "B": "2"},
            "installHint": "Install it.",
            "provideClusterInfo": true,
        },
        "proxyUrl": "http://proxy:3128",
        "tlsClientConfig": {"caData": data, "insecure": false, "serverName": "eu"},
    });
    assert_eq!(told(&registration), expect);

    // A plugin that is not told where the cluster is gets no config either.
    let Ok(registration) = registered(&said, Some(&file("", ""))) else { panic!("it is refused") };
    let expect = serde_json::json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/a"});
    assert_eq!(told(&registration)["execProviderConfig"], expect);
    assert!(registration.extensions.is_empty());
}

#[test]
fn what_argo_cd_has_built_in_needs_no_file_and_no_file_makes_way_for_it() {
    for cloud in ["aws", "azure", "gcp"] {
        let built_in = [at("a", ""), at("argo-cd-builtin-oci", ""), at(&format!("argo-cd-builtin-{cloud}"), "")];
        let said = profile("", &built_in.join(", "));
        let Ok(registration) = registered(&said, None) else { panic!("{cloud}") };
        let expect = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1beta1", "args": [cloud], "command": "argocd-k8s-auth",
        });
        assert_eq!(told(&registration)["execProviderConfig"], expect);
        // Whoever writes ClusterProfiles does not choose another program than the file does.
        let Ok(registration) = registered(&said, Some(&file("", ""))) else { panic!("{cloud}") };
        assert_eq!(told(&registration)["execProviderConfig"]["command"], "/bin/a");
        refused(
            &profile("", &built_in[1..].join(", ")),
            &file("", ""),
            Code::UnreadableObject,
            "the provider file has a",
        );
    }
    let Err(faults) = registered(&profile("", &at("a", "")), None) else { panic!("there is no file") };
    assert!(faults[0].1.contains("there is no provider file"), "{faults:?}");
}

#[test]
fn an_older_argo_cd_is_told_nothing_that_it_would_overlook() {
    let said = profile("", &at("a", ""));
    for (exec, fits) in
        [("", true), (r#", "provideClusterInfo": false"#, true), (r#", "provideClusterInfo": true"#, false)]
    {
        let told = register((&"eu-1".into(), &said), Some(&file(exec, "")), false, |_| false);
        assert_eq!(told.is_ok(), fits, "{exec}");
        assert!(told.err().is_none_or(|faults| faults.iter().all(|fault| fault.code == Code::ArgocdTooOld)));
    }
}

#[test]
fn nothing_that_looks_like_a_credential_is_written() {
    let said = profile("", &at("a", ""));
    for arguments in [
        r#""--token=hunter2""#,
        r#""--token", "hunter2""#,
        r#""--client-secret=Hunter2!hunter2""#,
        r#""-c", "echo '{\"status\": {\"token\": \"hunter2\"}}'""#,
        r#""PASSWORD=hunter2""#,
        r#""https://me:hunter2@eu""#,
        r#""eyJhbGciOi.eyJzdWIi.hunter2""#,
        r#""ghp_hunter2hunter2""#,
        r#""-----BEGIN RSA PRIVATE KEY-----""#,
        r#""-H", "Authorization: Bearer hunter2hunter2""#,
        r#""--password=$hunter2!""#,
        r#""https://eu/eyJhbGciOi.eyJzdWIi.hunter2""#,
        r#""--token=/x+hunter2=""#,
    ] {
        let file = file(&format!(r#", "args": [{arguments}]"#), "");
        refused(&said, &file, Code::InlineSecret, "args[");
    }
    for (name, value) in [("AWS_SECRET_ACCESS_KEY", "hunter2"), ("TOKEN", "hunter2"), ("X", "glpat-hunter2hunter2")] {
        let file = file(&format!(r#", "env": [{{"name": "{name}", "value": "{value}"}}]"#), "");
        refused(&said, &file, Code::InlineSecret, &format!("env[{name:?}]"));
    }
    for extension in
        ["{token: hunter2}", "{a: [{b: {password: hunter2}}]}", "{pin: {password: 1234}}", "{a: 'x: token=hunter2'}"]
    {
        let cluster = format!(", extensions: [{{name: {EXEC_EXTENSION}, extension: {extension}}}]");
        let informed = file(r#", "provideClusterInfo": true"#, "");
        refused(&profile("", &at("a", &cluster)), &informed, Code::InlineSecret, "config");
        // Nobody hears it otherwise.
        assert!(registered(&profile("", &at("a", &cluster)), Some(&file("", ""))).is_ok());
    }
    // What a policy lets in from the profile is looked at as well.
    let cluster = format!(", extensions: [{{name: {ARGUMENTS_EXTENSION}, extension: [--token, hunter2]}}]");
    let appended = file("", r#", "profileSourcedCLIArgsPolicy": "Append""#);
    refused(&profile("", &at("a", &cluster)), &appended, Code::InlineSecret, "args[1]");
    refused(&profile("keep.example/token: hunter2", &at("a", "")), &file("", ""), Code::InlineSecret, "label");

    // What only names a credential, or where one is, is none.
    for arguments in [
        r#""get-token", "--login", "azurecli""#,
        r#""--token-file=/var/run/secrets/token", "--secret-name=eu""#,
        r#""--tokenURL", "https://sts.example.com/token""#,
        r#""-c", "cat $TOKEN_FILE; echo token: $TOKEN""#,
    ] {
        let taken = registered(&said, Some(&file(&format!(r#", "args": [{arguments}]"#), "")));
        assert!(taken.is_ok(), "{arguments}: {:?}", taken.err());
    }
    for (name, value) in [("GOOGLE_APPLICATION_CREDENTIALS", "/var/run/secrets/key.json"), ("TOKEN", "/run/token")] {
        let taken =
            registered(&said, Some(&file(&format!(r#", "env": [{{"name": "{name}", "value": "{value}"}}]"#), "")));
        assert!(taken.is_ok(), "{name}: {:?}", taken.err());
    }
    // A host may be called so.
    let mut called = said.clone();
    called.access[0].cluster.server = String::from("https://vault-token:6443");
    assert!(registered(&called, Some(&file("", ""))).is_ok());
}

#[test]
fn what_argo_cd_or_kubernetes_would_not_take_is_refused() {
    let none = file("", "");
    let both =
        format!(", insecure-skip-tls-verify: true, certificate-authority-data: {}", STANDARD.encode(CERTIFICATE));
    refused(&profile("", &at("a", &both)), &none, Code::UnreadableObject, "exclude each other");
    let key = format!("{CERTIFICATE}-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n");
    for data in [String::from("%%"), STANDARD.encode("hunter2"), STANDARD.encode(key)] {
        let cluster = format!(", certificate-authority-data: '{data}'");
        refused(&profile("", &at("a", &cluster)), &none, Code::UnreadableObject, "no base64 of certificates");
    }
    let template = file(r#", "args": ["{{ .Values.x }}"]"#, "");
    refused(
        &profile("", &at("a", "")),
        &template,
        Code::UnreadableObject,
        "args[0] of provider \"a\" has another template",
    );
    refused(&profile("keep.example/a b: x", &at("a", "")), &none, Code::UnreadableObject, "none that Kubernetes takes");
    let many: Box<[String]> = (0..10_000).map(|n| format!("keep.example/n{n}: x")).collect();
    refused(&profile(&many.join(", "), &at("a", "")), &none, Code::UnreadableObject, "lets 10000 labels");
    refused(&profile("", &at("b", "")), &none, Code::UnreadableObject, "the provider file has a");
    for exec in [r#", "env": [{"name": "A", "value": "{{ .ClusterProfileName }}"}]"#, r#", "installHint": "{{ x }}""#] {
        refused(
            &profile("", &at("a", "")),
            &file(exec, ""),
            Code::UnreadableObject,
            "a template stands outside of args",
        );
    }
    for proxy in ["gopher://p", "http://p x"] {
        let cluster = format!(", proxy-url: '{proxy}'");
        refused(&profile("", &at("a", &cluster)), &none, Code::UnreadableObject, "proxy-url is none");
    }
}

#[test]
fn argo_cd_is_sent_to_no_cluster_by_its_own_rights_and_to_none_in_clear() {
    let none = file("", "");
    let own = "is the cluster that Argo CD itself runs on";
    for (server, words) in [
        ("https://kubernetes.default.svc", own),
        ("https://kubernetes.default.svc/", own),
        ("HTTPS://Kubernetes.Default.svc.:443/x", own),
        ("https://kubernetes.default.svc.cluster.local:6443", own),
        ("https://kubernetes.default", own),
        ("https://kubernetes", own),
        ("http://eu-1", "is not reached by https"),
        ("https://eu-1:x", "has a port that is no number"),
    ] {
        let said = profile("", &format!("{{name: a, cluster: {{server: '{server}'}}}}"));
        refused(&said, &none, Code::UnreadableObject, words);
    }
    for server in ["https://kubernetes.example.com", "https://[fd00::1]:6443", "https://10.0.0.1:6443/k8s/clusters/c-1"]
    {
        let said = profile("", &format!("{{name: a, cluster: {{server: '{server}'}}}}"));
        assert!(registered(&said, Some(&none)).is_ok(), "{server}");
    }
}

/// One such file would stop the build of all that stands beside it.
#[test]
fn what_kustomize_refuses_is_told_to_nobody() {
    let plain = file("", "");
    let named = |name: &str| profile("", &at("a", &format!(", tls-server-name: \"{name}\"")));
    refused(&named("eu\\x7f"), &plain, Code::UnreadableObject, "the character U+007F");
    assert!(registered(&named("eu\\x1b"), Some(&plain)).is_ok());
    let informed = file(r#", "provideClusterInfo": true"#, "");
    let with = format!(", extensions: [{{name: {EXEC_EXTENSION}, extension: {{a: [{{\"b\\u2028\": 1}}]}}}}]");
    refused(&profile("", &at("a", &with)), &informed, Code::UnreadableObject, "the character U+2028");
}

#[test]
fn a_large_profile_costs_nobody_anything() {
    // Each of these signs is looked at, and what follows it only as far as that tells.
    let informed = file(r#", "provideClusterInfo": true"#, "");
    let with = |text: &str| {
        profile("", &at("a", &format!(", extensions: [{{name: {EXEC_EXTENSION}, extension: {{a: '{text}'}}}}]")))
    };
    assert!(registered(&with(&":".repeat(200_000)), Some(&informed)).is_ok());
    refused(&with(&"token=".repeat(40_000)), &informed, Code::InlineSecret, "config");
    refused(&with(&"x".repeat(300_000)), &informed, Code::UnreadableObject, "more than 256 KiB");
}
