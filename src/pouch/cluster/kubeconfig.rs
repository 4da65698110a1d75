//! How a cluster is reached: kubeconfig files merged as kubectl merges them, a context chosen, or the
//! service account of the Pod that pouch runs in.
//!
//! kube's errors may quote a kubeconfig, which holds keys: they are turned into our own words here, and
//! dropped. Which cluster is right is not known here, and never guessed.

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::{AuthInfo, Cluster as KubeCluster, ExecAuthCluster, Kubeconfig, KubeconfigError};
use pouch_core::config::error::quoted;
use pouch_core::name::Variables;
use pouch_core::nearest::suggested;
use pouch_core::yaml;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use secrecy::ExposeSecret as _;
use zeroize::Zeroizing;

use super::exec::environment::Inherited;
use super::exec::{self, Plugin};
use crate::ambient::Ambient;
use crate::error::{Failure, said};

/// Where a Pod has its service account's token and the cluster's authority.
///
/// <https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/>
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Which cluster the user and the configuration want.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// The kubeconfig, as an absolute path; none for the usual places.
    pub kubeconfig: Option<PathBuf>,
    /// The context.
    pub context: Option<String>,
    /// The user to act as.
    pub as_user: Option<String>,
    /// The groups to act as.
    pub as_groups: Vec<String>,
    /// The variables that the kubeconfig's credential plugin is handed, beside those that every one is.
    pub plugin_environment: Variables,
    /// The folder of the Pod's service account; none for the one that Kubernetes mounts.
    pub service_account: Option<PathBuf>,
}

/// Everything that is needed to talk to one API server.
#[derive(Clone)]
pub struct Access {
    pub(super) config: kube::Config,
    plugin: Option<Plugin>,
    /// What the cluster is called: the context, `in-cluster`, or a region.
    pub context: Arc<str>,
    /// Who says how it is reached, for sentences: "context x", or "provider x".
    by: Arc<str>,
    /// The server's URL.
    pub server: String,
    /// Whether the server's certificate is not checked, as the kubeconfig says.
    pub insecure: bool,
}

/// Finds out how to reach the cluster.
///
/// # Errors
/// Where there is no kubeconfig, it cannot be used, or it leaves open which context is meant.
pub fn access(wanted: &Wanted, ambient: &Ambient, stop: &Arc<AtomicBool>) -> Result<Access, Failure> {
    let Some(files) = files(wanted, ambient)? else { return in_cluster(wanted, ambient) };
    let mut merged = Kubeconfig::default();
    for file in &files {
        let mut one = Kubeconfig::read_from(file).map_err(|error| unreadable(file, &error))?;
        // As for kubectl, the empty text chooses nothing, and the next file may.
        one.current_context = one.current_context.filter(|name| !name.is_empty());
        merged = merged.merge(one).map_err(|_| {
            let message = format!("{} is of another kind than the kubeconfigs before it", file.display());
            Failure::unavailable(message, "Let KUBECONFIG list kubeconfigs only.")
        })?;
    }
    let names: Vec<String> = merged.contexts.iter().map(|context| context.name.clone()).collect();
    // The name is printed, and a line feed in it could begin a line that a CI system obeys.
    if let Some(name) = names.iter().chain(&wanted.context).find(|name| name.chars().any(char::is_control)) {
        let message = format!("the context {} has a control character in its name", quoted(name));
        return Err(Failure::usage(message, "Rename it: kubectl config rename-context."));
    }
    let chosen = choose(wanted.context.as_deref(), merged.current_context.as_deref(), &names, &files, ambient)?;
    let config = config(merged, &chosen, ambient)?;
    finish(config, Called::of_context(&chosen), wanted, ambient, stop)
}

/// The client configuration for a context of a kubeconfig.
///
/// It is put together here and not by kube, which reads the environment's proxies itself: it compares
/// `NO_PROXY` with the proxy's own name instead of the server's, drops a `proxy-url` for that, and refuses
/// lists that Go takes.
fn config(merged: Kubeconfig, chosen: &str, ambient: &Ambient) -> Result<kube::Config, Failure> {
    let unusable = |what: &str| {
        let message = format!("the context {} {what}", quoted(chosen));
        Failure::unavailable(message, "Check that `kubectl --context` works with it.")
    };
    let context = merged.contexts.into_iter().find(|named| named.name == *chosen).and_then(|named| named.context);
    let context = context.ok_or_else(|| unusable("is empty"))?;
    let cluster =
        merged.clusters.into_iter().find(|named| named.name == context.cluster).and_then(|named| named.cluster);
    let cluster = cluster.ok_or_else(|| unusable("names a cluster that the kubeconfig does not have"))?;
    // As for kubectl: a user that the kubeconfig does not have is nobody.
    let user = merged.auth_infos.into_iter().find(|named| Some(&named.name) == context.user.as_ref());
    let user = user.and_then(|named| named.auth_info).unwrap_or_default();
    client_config(cluster, user, ambient, &unusable)
}

/// The client configuration for a cluster and a user, wherever both are written.
///
/// # Errors
/// What `unusable` makes of the problem.
pub(super) fn client_config(
    cluster: KubeCluster,
    mut user: AuthInfo,
    ambient: &Ambient,
    unusable: &dyn Fn(&str) -> Failure,
) -> Result<kube::Config, Failure> {
    let server = cluster.server.as_deref().filter(|server| !server.is_empty());
    let server = server.ok_or_else(|| unusable("names a cluster without a server"))?;
    let server: http::Uri = server.parse().map_err(|_| unusable("names a cluster whose server is no URL"))?;
    if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        let told = ExecAuthCluster::try_from(&cluster);
        exec.cluster = Some(told.map_err(|_| unusable("has a certificate authority that cannot be read"))?);
    }
    let mut config = kube::Config::new(server);
    config.root_cert = authority(&cluster).map_err(|()| unusable("has a certificate authority that cannot be read"))?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name.filter(|name| !name.is_empty());
    config.auth_info = user;
    config.proxy_url = match cluster.proxy_url.filter(|url| !url.is_empty()) {
        Some(url) => Some(proxy_url(&url).ok_or_else(|| unusable("has a proxy-url that is no URL"))?),
        None => proxy(&config.cluster_url, ambient)?,
    };
    Ok(config)
}

/// The certificates of a cluster's authority, as DER; none if the system's own authorities count.
fn authority(cluster: &KubeCluster) -> Result<Option<Vec<Vec<u8>>>, ()> {
    let pem = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        (Some(data), _) if !data.is_empty() => STANDARD.decode(data).map_err(|_| ())?,
        (_, Some(file)) if !file.is_empty() => std::fs::read(file).map_err(|_| ())?,
        _ => return Ok(None),
    };
    certificates(&pem).map(Some)
}

/// Certificates as DER; at least one.
fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, ()> {
    let read: Result<Vec<Vec<u8>>, _> =
        CertificateDer::pem_slice_iter(pem).map(|one| one.map(|der| der.to_vec())).collect();
    read.map_err(|_| ()).and_then(|all| if all.is_empty() { Err(()) } else { Ok(all) })
}

/// The kubeconfigs to read; none where nothing names one.
fn files(wanted: &Wanted, ambient: &Ambient) -> Result<Option<Vec<PathBuf>>, Failure> {
    let missing = |path: &Path| format!("the kubeconfig {} does not exist", path.display());
    if let Some(path) = &wanted.kubeconfig {
        return match path.exists() {
            true => Ok(Some(vec![path.clone()])),
            false => {
                Err(Failure::usage(missing(path), "Name a file that is there, or leave it out for the usual ones."))
            }
        };
    }
    if let Some(list) = ambient.var("KUBECONFIG").filter(|list| !list.is_empty()) {
        let all: Vec<PathBuf> = std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
        // As in kubectl, files of the list that do not exist are ignored.
        let there: Vec<PathBuf> =
            all.iter().map(|path| ambient.cwd().join(path)).filter(|path| path.exists()).collect();
        return match all.first() {
            Some(first) if there.is_empty() => {
                Err(Failure::usage(missing(first), "KUBECONFIG names it: correct the variable, or use --kubeconfig."))
            }
            _ => Ok(Some(there)),
        };
    }
    let home = ambient.var("HOME").filter(|home| !home.is_empty());
    let usual = home.map(|home| Path::new(&home).join(".kube/config"));
    Ok(usual.filter(|path| path.exists()).map(|path| vec![path]))
}

fn in_cluster(wanted: &Wanted, ambient: &Ambient) -> Result<Access, Failure> {
    if let Some(context) = &wanted.context {
        let message = format!("the context {} is asked for, and there is no kubeconfig", quoted(context));
        return Err(Failure::usage(message, "Name the kubeconfig with --kubeconfig or KUBECONFIG."));
    }
    let said = |name| ambient.var(name).filter(|value| !value.is_empty());
    let (Some(host), Some(port)) = (said("KUBERNETES_SERVICE_HOST"), said("KUBERNETES_SERVICE_PORT")) else {
        let message = "there is no kubeconfig, and pouch does not run in a Pod";
        return Err(Failure::usage(message, "Name a kubeconfig with --kubeconfig or KUBECONFIG."));
    };
    let unusable = |what: &str| {
        let help = "Check that the Pod mounts its service account's token (automountServiceAccountToken).";
        Failure::unavailable(format!("the Pod's service account cannot be used: {what}"), help)
    };
    let host = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host };
    let server = port.parse::<u16>().ok().and_then(|port| format!("https://{host}:{port}").parse::<http::Uri>().ok());
    let server = server.ok_or_else(|| unusable("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT make no URL"))?;
    let folder = wanted.service_account.as_deref().unwrap_or(Path::new(SERVICE_ACCOUNT));
    let authority = std::fs::read(folder.join("ca.crt")).map_err(|_| ()).and_then(|pem| certificates(&pem));
    let token = folder.join("token");
    // Without a token the server would answer pouch as an anonymous user, and say what such a user may not do.
    if !token.is_file() {
        return Err(unusable("its token cannot be read"));
    }
    let mut config = kube::Config::new(server);
    config.root_cert = Some(authority.map_err(|()| unusable("its CA cannot be read"))?);
    config.auth_info.token_file = token.to_str().map(str::to_owned);
    config.proxy_url = proxy(&config.cluster_url, ambient)?;
    finish(config, Called::of_context("in-cluster"), wanted, ambient, &Arc::default())
}

/// Chooses the context. Without a terminal nobody sees which one a kubeconfig happens to point at.
fn choose(
    wanted: Option<&str>,
    current: Option<&str>,
    names: &[String],
    files: &[PathBuf],
    ambient: &Ambient,
) -> Result<String, Failure> {
    let shown: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let shown = shown.join(", ");
    let listed = || match names {
        [] => "It has none.".to_owned(),
        names => format!("Its contexts are {}.", names.join(", ")),
    };
    let known = |name: &str| names.iter().any(|known| known == name);
    match (wanted, current.filter(|name| !name.is_empty()), names) {
        (Some(name), _, _) if known(name) => Ok(name.to_owned()),
        (Some(name), _, _) => {
            let near = suggested(name, names.iter().map(String::as_str));
            let help = near.map_or_else(listed, |near| format!("Did you mean {near}? {}", listed()));
            Err(Failure::usage(format!("{shown} has no context {}", quoted(name)), help))
        }
        (None, _, [only]) => Ok(only.clone()),
        (None, Some(current), _) if known(current) && ambient.stderr_is_terminal() => Ok(current.to_owned()),
        (None, Some(current), _) if !known(current) => {
            let message = format!("the current context of {shown} is {}, which it does not have", quoted(current));
            Err(Failure::usage(message, format!("Choose one with --context. {}", listed())))
        }
        (None, _, []) => Err(Failure::usage(format!("{shown} has no context"), "Name another kubeconfig.")),
        (None, _, _) => {
            let message = format!("{shown} has several contexts, and none is chosen");
            Err(Failure::usage(message, format!("Choose one with --context, or in the configuration. {}", listed())))
        }
    }
}

/// The proxy that the environment names for a server, as Go's `http.ProxyFromEnvironment` reads it.
pub(super) fn proxy(server: &http::Uri, ambient: &Ambient) -> Result<Option<http::Uri>, Failure> {
    let var = |names: [&str; 2]| names.iter().find_map(|name| ambient.var(name).filter(|value| !value.is_empty()));
    let chosen = match server.scheme_str() {
        Some("http") => var(["HTTP_PROXY", "http_proxy"]),
        _ => var(["HTTPS_PROXY", "https_proxy"]),
    };
    let Some(chosen) = chosen else { return Ok(None) };
    // As Go has it: no proxy stands between this machine and itself, whatever NO_PROXY says.
    if server.host().is_some_and(is_loopback) {
        return Ok(None);
    }
    let no = var(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if Matcher::builder().all(chosen.as_str()).no(no.as_str()).build().intercept(server).is_none() {
        return Ok(None);
    }
    proxy_url(&chosen).map(Some).ok_or_else(|| {
        Failure::usage("HTTPS_PROXY or HTTP_PROXY is no URL", "Correct the variable, such as http://proxy:3128.")
    })
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn proxy_url(written: &str) -> Option<http::Uri> {
    let url = if written.contains("://") { written.to_owned() } else { format!("http://{written}") };
    url.parse().ok()
}

/// The names of a cluster in messages.
pub(super) struct Called {
    /// The context, `in-cluster`, or a region.
    pub context: Arc<str>,
    /// The place that says how it is reached: "context x", or "provider x".
    pub by: Arc<str>,
    /// Where the variables of its plugin are listed: the end of a sentence.
    pub listed: String,
}

impl Called {
    fn of_context(context: &str) -> Self {
        let listed = "under `pluginEnvironment`, beside the context in the configuration, or with --plugin-env";
        Self { context: context.into(), by: format!("context {context}").into(), listed: listed.to_owned() }
    }
}

/// Makes the access of a client configuration, with credentials.
pub(super) fn finish(
    mut config: kube::Config,
    Called { context, by, listed }: Called,
    wanted: &Wanted,
    ambient: &Ambient,
    stop: &Arc<AtomicBool>,
) -> Result<Access, Failure> {
    if let Some(provider) = config.auth_info.auth_provider.as_ref() {
        let message = format!("the {by} uses the auth provider {}", quoted(&provider.name));
        let help = "kubectl dropped auth providers in 1.26: use the exec plugin of the same cloud.";
        return Err(Failure::usage(message, help));
    }
    // The tunnel to such a proxy would be made with the cluster's own authority and client certificate.
    if let Some(proxy) = config.proxy_url.as_ref().filter(|proxy| proxy.scheme_str() != Some("http")) {
        let message = format!("the proxy {} is not one that is reached by plain HTTP", shown(proxy));
        return Err(Failure::usage(message, "Use one such as http://proxy:3128; what goes through it is TLS."));
    }
    for text in wanted.as_user.iter().chain(&wanted.as_groups) {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
            let message = format!("{} cannot be sent as a user or group", quoted(text));
            return Err(Failure::usage(message, "HTTP takes visible ASCII characters there."));
        }
    }
    if let Some(user) = &wanted.as_user {
        config.auth_info.impersonate = Some(user.clone());
        config.auth_info.impersonate_groups = None;
    }
    if !wanted.as_groups.is_empty() {
        if config.auth_info.impersonate.is_none() {
            return Err(Failure::usage("--as-group needs --as", "Name the user to act as, too."));
        }
        config.auth_info.impersonate_groups = Some(wanted.as_groups.clone());
    }
    // Retrying is the link's business, which knows the whole run's time.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    let plugin = match config.auth_info.exec.take() {
        Some(exec) => {
            let inherited = Inherited { variables: &wanted.plugin_environment, listed };
            Some(Plugin::new(exec, &inherited, ambient, stop).map_err(|why| exec_failed(&by, &why))?)
        }
        None => None,
    };
    let server = shown(&config.cluster_url);
    let insecure = config.accept_invalid_certs;
    Access { config, plugin, context, by, server, insecure }.renewed()
}

fn exec_failed(by: &str, why: &exec::PluginError) -> Failure {
    let message = format!("the credential plugin of {by} {}", why.message);
    Failure::unavailable(message, why.help.clone())
}

/// A server's URL without user and password.
pub(super) fn shown(url: &http::Uri) -> String {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme_str().unwrap_or("https"), url.path().trim_end_matches('/'))
}

impl Access {
    /// The server's URL and the way to it, for people.
    pub(super) fn shown(&self) -> String {
        match &self.config.proxy_url {
            Some(proxy) => format!("{} through the proxy {}", self.server, shown(proxy)),
            None => self.server.clone(),
        }
    }

    /// The same access with fresh credentials, where a plugin gives them.
    pub(super) fn renewed(&self) -> Result<Self, Failure> {
        let mut access = self.clone();
        if let Some(plugin) = &self.plugin {
            let given = plugin.run().map_err(|why| exec_failed(&self.by, &why))?;
            given.fill(&mut access.config.auth_info);
        }
        // Read here and not by kube, which takes the line feed at a file's end for a part of the token.
        let auth = &mut access.config.auth_info;
        if let Some(file) = &auth.token_file {
            let token = std::fs::read_to_string(file).map_err(|error| {
                let message = format!("the token file {file} cannot be read: {}", said(&error));
                Failure::unavailable(message, "Check that the file is there and readable by this user.")
            })?;
            auth.token = Some(Zeroizing::new(token).trim().to_owned().into());
        }
        if let Some(token) = &auth.token {
            let token = token.expose_secret().trim();
            // The header that carries it would make kube panic.
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                let message = format!("the token of {} has characters that no token has", self.by);
                return Err(Failure::unavailable(message, "Write the token anew, without line breaks and spaces."));
            }
            auth.token = Some(token.to_owned().into());
        }
        Ok(access)
    }

    /// Makes a client.
    pub(super) fn client(&self) -> Result<kube::Client, Failure> {
        let mut config = self.config.clone();
        config.auth_info.token_file = None;
        kube::Client::try_from(config).map_err(|_| {
            Failure::unavailable(
                format!("the certificates or keys of {} cannot be used", self.by),
                "Check that client certificate, key and CA are PEM, and belong together.",
            )
        })
    }
}

/// What kube says about a file, in our words.
fn unreadable(file: &Path, error: &KubeconfigError) -> Failure {
    let file = file.display();
    let help = "Mend the file, or name another one with --kubeconfig.";
    let message = match error {
        KubeconfigError::ReadConfig(error, _) => format!("the kubeconfig {file} cannot be read: {}", said(error)),
        _ => match flaw(Path::new(&file.to_string())) {
            Some(flaw) => format!("the kubeconfig {file} is not YAML at line {}, column {}", flaw.line, flaw.column),
            None => format!("{file} is no kubeconfig"),
        },
    };
    Failure::unavailable(message, help)
}

/// Where a file stops being YAML, by our own reader, which quotes nothing.
fn flaw(file: &Path) -> Option<yaml::Flaw> {
    let bytes = std::fs::read(file).ok()?;
    let text = yaml::stream::text_of(&bytes).ok()?;
    let mut interner = pouch_core::node::Interner::new();
    yaml::stream::documents(text).find_map(|document| yaml::read::read(&document, &mut interner).err())
}

#[cfg(test)]
mod tests;
