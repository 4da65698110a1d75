//! How a cluster is reached that a ClusterProfile names: as its access provider says, with the credentials of a plugin.
//!
//! cluster-inventory-api puts together a `rest.Config` here, and loses the name of the certificate, whether it is checked
//! and whether answers are compressed. What a kubeconfig would say of the same cluster holds here as well. Which provider
//! is chosen, and what of a ClusterProfile reaches the plugin, is decided in
//! [`providers`](pouch_core::inventory::providers).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kube::config::{AuthInfo, Cluster as KubeCluster, ExecConfig, ExecInteractiveMode, NamedExtension};
use pouch_core::inventory::profile::EXEC_EXTENSION;
use pouch_core::inventory::providers::Way;
use pouch_core::json;
use pouch_core::yaml::emit::Tree;

use super::kubeconfig::{Access, Called, Wanted, client_config, finish};
use crate::ambient::Ambient;
use crate::error::Failure;

/// Gets the credentials, and what else is needed to talk to the cluster, which is called by this name.
///
/// # Errors
/// Where the plugin gives no credentials, or the connection cannot be made as the ClusterProfile says.
pub(super) fn access(way: &Way, name: &str, ambient: &Ambient, stop: &Arc<AtomicBool>) -> Result<Access, Failure> {
    let by = format!("provider {}", way.provider);
    let unusable = |what: &str| {
        let message = format!("the ClusterProfile's access {by} {what}");
        Failure::unavailable(message, "Correct it where the ClusterProfile is made.")
    };
    let user = AuthInfo { exec: Some(plugin(way)), ..AuthInfo::default() };
    let config = client_config(cluster(way), user, ambient, &unusable)?;
    let listed = format!("in `inheritedEnvVars` of {by} in the provider file");
    let called = Called { context: name.into(), by: by.as_str().into(), listed };
    let wanted = Wanted { plugin_environment: way.exec.inherited.clone(), ..Wanted::default() };
    finish(config, called, &wanted, ambient, stop)
}

/// The cluster as a kubeconfig would have it. What names a file of this machine is not there.
fn cluster(way: &Way) -> KubeCluster {
    let said = &way.cluster;
    let extension = |config| NamedExtension { name: EXEC_EXTENSION.to_owned(), extension: config };
    let config = way.config.as_ref().map(|config| json::value(&Tree::of(config)));
    KubeCluster {
        server: Some(said.server.clone()),
        tls_server_name: said.tls_server_name.clone(),
        insecure_skip_tls_verify: said.insecure.then_some(true),
        certificate_authority_data: said.ca_data.clone(),
        proxy_url: said.proxy_url.clone(),
        disable_compression: said.disable_compression.then_some(true),
        extensions: config.map(|config| vec![extension(config)]),
        ..KubeCluster::default()
    }
}

fn plugin(way: &Way) -> ExecConfig {
    let said = &way.exec;
    let pair = |(name, value): &(String, String)| {
        let pair = [("name", name), ("value", value)];
        pair.into_iter().map(|(key, text)| (key.to_owned(), text.clone())).collect()
    };
    ExecConfig {
        api_version: Some(said.api_version.clone()),
        command: Some(said.command.clone()),
        args: Some(said.arguments.clone()),
        env: Some(said.variables.iter().map(pair).collect()),
        interactive_mode: Some(ExecInteractiveMode::Never),
        install_hint: Some(said.install_hint.clone()).filter(|hint| !hint.is_empty()),
        provide_cluster_info: said.provide_cluster_info,
        ..ExecConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;
    use pouch_core::inventory::profile::AccessCluster;
    use pouch_core::inventory::providers::Exec;
    use pouch_core::name::Variables;
    use pouch_core::node::{Interner, Node};
    use secrecy::ExposeSecret as _;
    use serde_json::{Value, json};

    use super::*;

    fn ambient() -> Ambient {
        #[expect(clippy::disallowed_methods, reason = "a test has no other way to find sh")]
        let path = std::env::var("PATH").unwrap_or_default();
        let vars =
            [("PATH", path.as_str()), ("POUCH_REUSE_KEY", "CANARY"), ("SOPS_AGE_KEY", "CANARY"), ("OTHER", "seen")];
        Ambient::fixed(Path::new("/"), Timestamp::UNIX_EPOCH, &vars)
    }

    fn way(script: &str) -> Way {
        Way {
            provider: "p".to_owned(),
            cluster: AccessCluster { server: "https://a.example:6443".to_owned(), ..AccessCluster::default() },
            exec: Exec {
                api_version: "client.authentication.k8s.io/v1".to_owned(),
                command: "sh".to_owned(),
                arguments: vec!["-c".to_owned(), script.to_owned()],
                variables: vec![("OTHER".to_owned(), "of the file".to_owned())],
                provide_cluster_info: true,
                inherited: Variables::new(vec!["OTHER".to_owned()]),
                install_hint: String::new(),
            },
            config: None,
        }
    }

    const GIVES: &str =
        r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t0k"}}'"#;

    fn reached(way: &Way) -> Result<Access, Failure> {
        access(way, "eu", &ambient(), &Arc::default())
    }

    /// What the plugin of a way is told, and its environment.
    fn told(change: impl FnOnce(&mut Way)) -> (Value, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let script = format!("printf %s \"$KUBERNETES_EXEC_INFO\" > {}; env > {}; {GIVES}", path("info"), path("env"));
        let mut way = way(&script);
        change(&mut way);
        let access = reached(&way).unwrap();
        assert_eq!(access.config.auth_info.token.unwrap().expose_secret(), "t0k");
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        (serde_json::from_str(&read("info")).unwrap(), read("env"))
    }

    #[test]
    fn a_plugin_is_told_where_the_cluster_is_only_if_the_file_says_so() {
        let config = json::read(r#"{"clusterName": "x", "deep": [1, true, null]}"#, &mut Interner::new()).unwrap();
        let (info, environment) = told(|way| {
            way.config = Some(config.clone());
            way.cluster.tls_server_name = Some("other.example".to_owned());
            way.cluster.proxy_url = Some("http://proxy.example:1".to_owned());
            way.cluster.insecure = true;
        });
        let cluster = json!({
            "server": "https://a.example:6443", "tls-server-name": "other.example", "insecure-skip-tls-verify": true,
            "proxy-url": "http://proxy.example:1",
            "config": {"clusterName": "x", "deep": [1, true, null]},
        });
        let expect = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
            "spec": {"interactive": false, "cluster": cluster},
        });
        assert_eq!(info, expect);
        assert!(environment.contains("OTHER=of the file\n") && !environment.contains("CANARY"), "{environment}");
        let (info, _) = told(|way| {
            way.config = Some(Node::text("x"));
            way.exec.provide_cluster_info = false;
        });
        assert_eq!(info["spec"], json!({"interactive": false}));
    }

    #[test]
    fn what_the_profile_says_of_the_connection_holds() {
        let mut way = way(GIVES);
        way.cluster.tls_server_name = Some("other.example".to_owned());
        way.cluster.insecure = true;
        way.cluster.disable_compression = true;
        way.cluster.proxy_url = Some("http://proxy.example:1".to_owned());
        let access = reached(&way).unwrap();
        assert_eq!((&*access.context, &*access.server, access.insecure), ("eu", "https://a.example:6443", true));
        let config = access.config;
        assert_eq!(config.tls_server_name.as_deref(), Some("other.example"));
        assert!(config.accept_invalid_certs && config.disable_compression);
        assert_eq!(config.proxy_url.unwrap().to_string(), "http://proxy.example:1/");
    }

    #[test]
    fn what_cannot_be_used_is_said_without_quoting_it() {
        let says = |change: fn(&mut Way), expect: &str| {
            let mut way = way("echo CANARY; echo CANARY >&2; exit 1");
            change(&mut way);
            let Err(failure) = reached(&way) else { panic!("{expect}") };
            assert_eq!(failure.message, expect);
            assert!(failure.help.ends_with('.') && !failure.help.contains("CANARY"), "{failure:?}");
        };
        says(|_| {}, "the credential plugin of provider p failed: \"sh\" ended with an error");
        says(
            |way| way.exec.command = "/no/such/plugin".to_owned(),
            "the credential plugin of provider p is not installed: \"/no/such/plugin\"",
        );
        says(
            |way| way.exec.arguments = vec!["-c".to_owned(), "echo CANARY".to_owned()],
            "the credential plugin of provider p printed something that is not JSON",
        );
        says(
            |way| way.cluster.ca_data = Some("CANARY".to_owned()),
            "the ClusterProfile's access provider p has a certificate authority that cannot be read",
        );
        says(
            |way| way.cluster.proxy_url = Some("http://[".to_owned()),
            "the ClusterProfile's access provider p has a proxy-url that is no URL",
        );
    }
}
