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

use super::kubeconfig::{Access, Wanted, client_config, finish};
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
    finish(config, (name.into(), by.as_str().into()), &Wanted::default(), ambient, stop)
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
