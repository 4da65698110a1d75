//! Argo CD's clusters: what Argo CD is told of a cluster that a ClusterProfile describes.
//!
//! Argo CD knows a cluster by a Secret, which mostly holds a credential. This one holds none: it says where the cluster is,
//! and which program gives Argo CD the credentials. So it can stand in git in clear, as long as nothing gets into it that
//! somebody could log in with. The controller clusterprofile-integration-for-argocd writes the same on a live cluster;
//! unlike it, nothing is made here of what a ClusterProfile says beyond this closed list of fields.
//!
//! <https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters>
//! <https://github.com/argoproj-labs/clusterprofile-integration-for-argocd>

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::profile::{Access, AccessCluster, EXEC_EXTENSION, Profile};
use super::providers::{
    ARGUMENTS_EXTENSION, ArgumentsPolicy, Exec, ProviderFile, VARIABLES_EXTENSION, VariablesPolicy, Way,
};
use crate::cleartext::{is_secret_of, is_telling, secrets_below, secrets_in_arguments};
use crate::finding::{Code, Fault};
use crate::lenient::quoted;
use crate::name::{Name, Variables};
use crate::node::Node;
use crate::selector::{is_label_key, is_label_value};
use crate::yaml::consumers::{self, Trouble};
use crate::yaml::emit::Tree;

/// How the names of access providers begin whose plugin is part of Argo CD.
const BUILT_IN: &str = "argo-cd-builtin-";

/// The clouds of which Argo CD has a plugin.
const CLOUDS: [&str; 3] = ["aws", "azure", "gcp"];

/// The plugin that is part of Argo CD, and the version of ExecCredential that it speaks.
const BUILT_IN_COMMAND: &str = "argocd-k8s-auth";
const BUILT_IN_VERSION: &str = "client.authentication.k8s.io/v1beta1";

/// The most bytes of what Argo CD is told of a cluster: less than what an API server takes as a Secret, and enough for the
/// certificates of many authorities.
const MOST_BYTES: usize = 256 << 10;

/// The most labels of a ClusterProfile that a cluster Secret takes over.
const MOST_LABELS: usize = 100;

const AT_THE_PROFILE: &str = "Correct it where the ClusterProfile is made.";

/// What Argo CD is told of a cluster.
#[derive(Clone, PartialEq)]
pub struct Registration {
    /// The name of the Secret, before it is cut to a length.
    pub name: String,
    /// The labels that it takes over from the ClusterProfile.
    pub labels: BTreeMap<String, String>,
    /// How Argo CD reaches the cluster.
    pub way: Way,
    /// The extensions of the ClusterProfile that took part in it.
    pub extensions: Vec<&'static str>,
}

/// The name of the Secret of a ClusterProfile, before it is cut to a length.
pub fn name(profile: &Name) -> String {
    format!("cluster-{profile}")
}

/// Puts together what Argo CD is told of the cluster of a ClusterProfile. `keeps` says which labels are taken over, and
/// `informs` whether this Argo CD can tell a plugin where the cluster is.
///
/// Where there is a provider file, it alone says which program runs. Without one, that is a plugin of Argo CD's own, as the
/// controller has it.
///
/// # Errors
/// Where the ClusterProfile and the provider file do not say it together, or something of it may not stand in git.
pub fn register(
    (name, profile): (&Name, &Profile),
    file: Option<&ProviderFile>,
    informs: bool,
    keeps: impl Fn(&str) -> bool,
) -> Result<Registration, Vec<Fault>> {
    let mut way = match file {
        Some(file) => file.choose(profile)?,
        None => profile.access.iter().find_map(built_in).ok_or_else(|| {
            let message =
                "the ClusterProfile has no access provider that Argo CD has built in, and there is no provider file";
            let help = "Name a file with a plugin for one of its providers: `delivery.argocd.cluster.providers`. Built in are \
                        argo-cd-builtin-aws, -azure and -gcp.";
            vec![Fault::new(Code::UnreadableObject, message, help)]
        })?,
    };
    let extensions = extensions(&way, file);
    let mut faults = Vec::new();
    if way.exec.provide_cluster_info {
        if !informs {
            let message = format!(
                "the plugin of provider {} is to be told where the cluster is (provideClusterInfo), which Argo CD does from 3.5 on",
                quoted(&way.provider)
            );
            let help = "Give the plugin what it needs as arguments, in which `{{ .ClusterProfileName }}` and \
                        `{{ .ClusterProfileServer }}` are filled in, and leave `provideClusterInfo` out of the provider file; or \
                        use Argo CD 3.5 and correct `delivery.argocd.version`.";
            faults.push(Fault::new(Code::ArgocdTooOld, message, help));
        }
    } else {
        // Without the cluster, nobody hands it to the plugin.
        way.config = None;
    }
    for (index, argument) in way.exec.arguments.iter_mut().enumerate() {
        let filled = argument
            .replace("{{ .ClusterProfileName }}", name.as_str())
            .replace("{{ .ClusterProfileServer }}", &way.cluster.server);
        if filled.contains("{{") {
            let message = format!("args[{index}] of provider {} has another template in it", quoted(&way.provider));
            let help = "Write `{{ .ClusterProfileName }}` or `{{ .ClusterProfileServer }}`, with these blanks.";
            faults.push(Fault::new(Code::UnreadableObject, message, help));
        }
        *argument = filled;
    }
    faults.extend(unfit(&way));
    let kept: BTreeMap<String, String> =
        profile.labels.iter().filter(|(key, _)| keeps(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    faults.extend(unfit_labels(&kept));
    if faults.is_empty() {
        Ok(Registration { name: self::name(name), labels: kept, way, extensions })
    } else {
        Err(faults)
    }
}

fn built_in(access: &Access) -> Option<Way> {
    let cloud = access.name.strip_prefix(BUILT_IN).filter(|cloud| CLOUDS.contains(cloud))?;
    let exec = Exec {
        api_version: BUILT_IN_VERSION.to_string(),
        command: BUILT_IN_COMMAND.to_string(),
        arguments: vec![cloud.to_string()],
        variables: Vec::new(),
        inherited: Variables::default(),
        provide_cluster_info: false,
        install_hint: String::new(),
    };
    Some(Way { provider: access.name.clone(), cluster: access.cluster.clone(), exec, config: None })
}

/// The extensions of a ClusterProfile that took part in a way.
fn extensions(way: &Way, file: Option<&ProviderFile>) -> Vec<&'static str> {
    let provider = file.and_then(|file| file.providers.iter().find(|provider| provider.name == way.provider));
    let Some(provider) = provider else { return Vec::new() };
    let used = [
        (EXEC_EXTENSION, way.exec.provide_cluster_info),
        (ARGUMENTS_EXTENSION, provider.arguments == ArgumentsPolicy::Append),
        (VARIABLES_EXTENSION, provider.variables != VariablesPolicy::Ignore),
    ];
    let is_there = |name: &&str| way.cluster.extensions.contains_key(*name);
    used.into_iter().filter(|(_, used)| *used).map(|(name, _)| name).filter(is_there).collect()
}

/// Why a cluster Secret may not say this: Argo CD would not take it, or it looks like a credential.
pub fn unfit(way: &Way) -> Vec<Fault> {
    let Way { cluster, exec, config, .. } = way;
    if size(way) > MOST_BYTES {
        let message = format!("what Argo CD is to be told of the cluster is more than {} KiB", MOST_BYTES >> 10);
        return vec![Fault::new(Code::UnreadableObject, message, AT_THE_PROFILE)];
    }
    let mut faults = Vec::new();
    if let Some(why) = unfit_server(&cluster.server) {
        faults.push(Fault::new(Code::UnreadableObject, format!("its server {why}"), AT_THE_PROFILE));
    }
    let is_proxy = |url: &String| ["http://", "https://", "socks5://"].iter().any(|scheme| url.starts_with(scheme));
    if cluster.proxy_url.as_ref().is_some_and(|url| !is_proxy(url) || url.contains(char::is_whitespace)) {
        let message = "its proxy-url is none that Argo CD takes: http, https or socks5";
        faults.push(Fault::new(Code::UnreadableObject, message, AT_THE_PROFILE));
    }
    let variables = exec.variables.iter().map(|(_, value)| value);
    if variables.chain([&exec.command, &exec.install_hint]).any(|text| text.contains("{{")) {
        let message = "a template stands outside of args, where nothing is filled in";
        faults.push(Fault::new(Code::UnreadableObject, message, "Move it to `args` of the provider file."));
    }
    if cluster.insecure && cluster.ca_data.is_some() {
        let message =
            "the cluster has certificate-authority-data and insecure-skip-tls-verify, which exclude each other";
        faults.push(Fault::new(Code::UnreadableObject, message, AT_THE_PROFILE));
    }
    if cluster.ca_data.as_ref().is_some_and(|data| !is_authority(data)) {
        let message = "certificate-authority-data is no base64 of certificates in PEM, and of nothing else";
        faults.push(Fault::new(Code::UnreadableObject, message, AT_THE_PROFILE));
    }
    let own =
        [Some(&cluster.server), cluster.tls_server_name.as_ref(), cluster.proxy_url.as_ref()].into_iter().flatten();
    let texts = own.chain([&exec.command, &exec.install_hint]).chain(&exec.arguments);
    let variables = exec.variables.iter().flat_map(|(name, value)| [name, value]);
    let refused = texts.chain(variables).find_map(|text| consumers::refused(text));
    if let Some(c) = refused.or_else(|| config.as_ref().and_then(consumers::refused_in)) {
        let found = Trouble::Character(c);
        let message =
            format!("what Argo CD is to be told of the cluster has {found}, which kustomize refuses or changes");
        faults.push(Fault::new(Code::UnreadableObject, message, AT_THE_PROFILE));
    }
    let mut found = secrets_in_arguments(&exec.arguments, "args");
    for (name, value) in &exec.variables {
        if is_secret_of(name, value) {
            found.push(format!("env[{}]", quoted(name)));
        }
    }
    found.extend(config.iter().flat_map(|config| secrets_below(config, "config")));
    let texts = [
        ("server", Some(&cluster.server)),
        ("tls-server-name", cluster.tls_server_name.as_ref()),
        ("proxy-url", cluster.proxy_url.as_ref()),
        ("command", Some(&exec.command)),
    ];
    let is_told = |text: Option<&String>| text.is_some_and(|text| is_telling(text));
    found.extend(texts.into_iter().filter(|(_, text)| is_told(*text)).map(|(at, _)| at.to_string()));
    if is_secret_of("", &exec.install_hint) {
        found.push("installHint".to_string());
    }
    faults.extend(found.into_iter().map(|at| {
        let message = format!("{at} of the plugin for Argo CD looks like a key, a token or a password");
        let help = "Take it out of the provider file, or of the ClusterProfile: what Argo CD is told of a cluster stands in git in \
                    clear. Let the plugin find its own credential where it runs.";
        Fault::new(Code::InlineSecret, message, help)
    }));
    faults
}

/// Why labels of a ClusterProfile cannot be taken over.
pub fn unfit_labels(labels: &BTreeMap<String, String>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if labels.len() > MOST_LABELS {
        let message = format!(
            "`keepMetadata` lets {} labels of the ClusterProfile through, and a cluster Secret takes {MOST_LABELS}",
            labels.len()
        );
        let help = "Name the labels that ApplicationSets select by in `keepMetadata.labels`.";
        return vec![Fault::new(Code::UnreadableObject, message, help)];
    }
    for (key, value) in labels {
        if !is_label_key(key) || !is_label_value(value) {
            let message = format!("label {} of the ClusterProfile is none that Kubernetes takes", quoted(key));
            faults.push(Fault::new(Code::UnreadableObject, message, AT_THE_PROFILE));
        } else if is_secret_of(key.rsplit('/').next().unwrap_or(key), value) {
            let message =
                format!("label {} of the ClusterProfile looks like a key, a token or a password", quoted(key));
            faults.push(Fault::new(
                Code::InlineSecret,
                message,
                "Take it out of the ClusterProfile, or out of `keepMetadata.labels`.",
            ));
        }
    }
    faults
}

/// About how many bytes the texts of a way have.
fn size(way: &Way) -> usize {
    let Way { cluster, exec, config, .. } = way;
    let AccessCluster { server, tls_server_name, ca_data, proxy_url, .. } = cluster;
    let texts = [Some(server), tls_server_name.as_ref(), ca_data.as_ref(), proxy_url.as_ref()].into_iter().flatten();
    let texts = texts.chain([&exec.command, &exec.install_hint]).chain(&exec.arguments);
    let texts = texts.chain(exec.variables.iter().flat_map(|(name, value)| [name, value]));
    let config = config.as_ref().map(|config| config.size().written()).unwrap_or_default();
    texts.map(String::len).sum::<usize>() + config
}

/// Why Argo CD should not be sent to a server; ends a sentence.
///
/// By one of these addresses Argo CD means the cluster that it runs on, and takes its own rights there instead of a plugin:
/// the region's bundle would be applied to, and pruned on, that cluster.
fn unfit_server(server: &str) -> Option<&'static str> {
    let Some((scheme, rest)) = server.split_once("://") else { return Some("is no URL") };
    if !scheme.eq_ignore_ascii_case("https") {
        return Some("is not reached by https, so the plugin's credential would travel in clear");
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let bare = authority.rsplit_once(']').map_or(authority, |(_, port)| port);
    let (host, port) = bare.split_once(':').unwrap_or((bare, "443"));
    if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
        return Some("has a port that is no number");
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_own = host == "kubernetes" || host == "kubernetes.default" || host.starts_with("kubernetes.default.");
    is_own.then_some("is the cluster that Argo CD itself runs on")
}

/// Whether a text is base64 of certificates in PEM alone: no key stands between them.
fn is_authority(data: &str) -> bool {
    let decoded = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(text) = decoded else { return false };
    let mut is_inside = false;
    let mut certificates = 0_usize;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line, is_inside) {
            ("-----BEGIN CERTIFICATE-----", false) => is_inside = true,
            ("-----END CERTIFICATE-----", true) => {
                is_inside = false;
                certificates += 1;
            }
            (line, true) if line.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b)) => {}
            _ => return false,
        }
    }
    certificates > 0 && !is_inside
}

/// The `config` of the Secret, as Argo CD's ClusterConfig has it.
///
/// <https://github.com/argoproj/argo-cd/blob/v3.5.7/pkg/apis/application/v1alpha1/types.go>
pub fn config(way: &Way) -> Tree<'_> {
    let Way { cluster, exec, config, .. } = way;
    let given = |key: &'static str, text: Option<&String>| text.map(|text| (key, Tree::text(text.clone())));
    let flag = |key: &'static str, is_set: bool| is_set.then_some((key, Tree::Bool(true)));
    let tls = [
        Some(("insecure", Tree::Bool(cluster.insecure))),
        given("caData", cluster.ca_data.as_ref()),
        given("serverName", cluster.tls_server_name.as_ref()),
    ];
    let arguments: Vec<Tree<'_>> = exec.arguments.iter().map(|argument| Tree::text(argument.as_str())).collect();
    let variables = exec.variables.iter().map(|(name, value)| (name.as_str(), Tree::text(value.as_str())));
    let plugin = [
        Some(("apiVersion", Tree::text(exec.api_version.as_str()))),
        (!arguments.is_empty()).then_some(("args", Tree::List(arguments))),
        Some(("command", Tree::text(exec.command.as_str()))),
        config.as_ref().map(|config| ("config", Tree::of(config))),
        (!exec.variables.is_empty()).then(|| ("env", Tree::map(variables))),
        given("installHint", Some(&exec.install_hint).filter(|hint| !hint.is_empty())),
        flag("provideClusterInfo", exec.provide_cluster_info),
    ];
    let fields = [
        flag("disableCompression", cluster.disable_compression),
        Some(("execProviderConfig", Tree::map(plugin.into_iter().flatten()))),
        given("proxyUrl", cluster.proxy_url.as_ref()),
        Some(("tlsClientConfig", Tree::map(tls.into_iter().flatten()))),
    ];
    Tree::map(fields.into_iter().flatten())
}

/// The way that a `config` says, to this server; none where it lacks a part. What it says beyond [`config`] is left out.
pub fn of_config(server: &str, config: &Node) -> Option<Way> {
    let text = |path: &[&str]| config.str_at(path).map(String::from);
    let flag = |path: &[&str]| matches!(config.at(path), Some(Node::Bool(true)));
    let plugin = |field: &'static str| ["execProviderConfig", field];
    let items = config.at(&plugin("args")).map(Node::items).unwrap_or_default();
    let pairs = config.at(&plugin("env")).map(Node::entries).unwrap_or_default();
    let variable = |(name, value): &(crate::node::Key, Node)| Some((name.to_string(), value.as_str()?.to_string()));
    let cluster = AccessCluster {
        server: server.to_string(),
        tls_server_name: text(&["tlsClientConfig", "serverName"]),
        insecure: flag(&["tlsClientConfig", "insecure"]),
        ca_data: text(&["tlsClientConfig", "caData"]),
        proxy_url: text(&["proxyUrl"]),
        disable_compression: flag(&["disableCompression"]),
        extensions: BTreeMap::new(),
    };
    let exec = Exec {
        api_version: text(&plugin("apiVersion"))?,
        command: text(&plugin("command"))?,
        arguments: items.iter().map(|item| item.as_str().map(String::from)).collect::<Option<_>>()?,
        variables: pairs.iter().map(variable).collect::<Option<_>>()?,
        inherited: Variables::default(),
        provide_cluster_info: flag(&plugin("provideClusterInfo")),
        install_hint: text(&plugin("installHint")).unwrap_or_default(),
    };
    // Without the cluster, nobody hands it to the plugin, and it is not written.
    let config = config.at(&plugin("config")).filter(|_| exec.provide_cluster_info).cloned();
    Some(Way { provider: String::new(), cluster, exec, config })
}

#[cfg(test)]
mod tests;
