//! How a cluster is reached: kubeconfig files merged as kubectl merges them, a context chosen, or the
//! service account of the Pod that pouch runs in.
//!
//! What kube says about a kubeconfig may quote it, and it holds keys: its errors are turned into our
//! own words here, and dropped. Which cluster is right is not known here; it is never guessed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use kube::config::{Kubeconfig, KubeconfigError};
use pouch_core::config::error::{nearest, quoted};
use pouch_core::yaml;

use super::exec::{self, Plugin};
use crate::ambient::Ambient;

/// What the user and the configuration say about which cluster.
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
}

/// Everything that is needed to talk to one API server.
#[derive(Clone)]
pub struct Access {
    config: kube::Config,
    plugin: Option<Plugin>,
    /// The context, or `in-cluster`.
    pub context: Arc<str>,
    /// The server's URL.
    pub server: String,
    /// Whether the server's certificate is not checked, as the kubeconfig says.
    pub insecure: bool,
}

/// Why a cluster cannot be reached, or may not be guessed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessError {
    /// What is the matter, in one sentence without a full stop; quotes no secret.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Whether flags or configuration are at fault, rather than what they lead to.
    pub usage: bool,
}

impl AccessError {
    fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into(), usage: true }
    }

    pub(super) fn unavailable(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into(), usage: false }
    }

    pub(super) fn token_unreadable() -> Self {
        Self::unavailable("the token file cannot be read", "See that the file is there and readable by this user.")
    }
}

/// Finds out how to reach the cluster.
///
/// # Errors
/// Where there is no kubeconfig, it cannot be used, or it leaves open which context is meant.
pub fn access(wanted: &Wanted, ambient: &Ambient, stop: &Arc<AtomicBool>) -> Result<Access, AccessError> {
    let Some(files) = files(wanted, ambient)? else { return in_cluster(wanted, ambient) };
    let mut merged = Kubeconfig::default();
    for file in &files {
        let one = Kubeconfig::read_from(file).map_err(|error| unreadable(file, &error))?;
        merged = merged.merge(one).map_err(|_| {
            let message = format!("{} is of another kind than the kubeconfigs before it", file.display());
            AccessError::unavailable(message, "Let KUBECONFIG list kubeconfigs only.")
        })?;
    }
    let names: Vec<String> = merged.contexts.iter().map(|context| context.name.clone()).collect();
    let chosen = choose(wanted.context.as_deref(), merged.current_context.as_deref(), &names, &files, ambient)?;
    merged.current_context = Some(chosen.clone());
    let proxied = proxied_by_kubeconfig(&merged, &chosen);
    let mut config = kube::Config::try_from(merged).map_err(|error| unusable(&chosen, &error))?;
    if !proxied {
        config.proxy_url = proxy(&config.cluster_url, ambient)?;
    }
    finish(config, chosen.as_str().into(), wanted, ambient, stop)
}

/// The kubeconfigs to read; none where nothing names one.
fn files(wanted: &Wanted, ambient: &Ambient) -> Result<Option<Vec<PathBuf>>, AccessError> {
    let missing = |path: &Path| format!("the kubeconfig {} does not exist", path.display());
    if let Some(path) = &wanted.kubeconfig {
        return match path.exists() {
            true => Ok(Some(vec![path.clone()])),
            false => Err(AccessError::usage(
                missing(path),
                "Name a file that is there, or leave it away for the usual ones.",
            )),
        };
    }
    if let Some(list) = ambient.var("KUBECONFIG").filter(|list| !list.is_empty()) {
        let all: Vec<PathBuf> = std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
        // As kubectl does: files of the list that are not there count for nothing.
        let there: Vec<PathBuf> =
            all.iter().map(|path| ambient.cwd().join(path)).filter(|path| path.exists()).collect();
        return match all.first() {
            Some(first) if there.is_empty() => Err(AccessError::usage(
                missing(first),
                "KUBECONFIG names it: correct the variable, or use --kubeconfig.",
            )),
            _ => Ok(Some(there)),
        };
    }
    let home = ambient.var("HOME").filter(|home| !home.is_empty());
    let usual = home.map(|home| Path::new(&home).join(".kube/config"));
    Ok(usual.filter(|path| path.exists()).map(|path| vec![path]))
}

fn in_cluster(wanted: &Wanted, ambient: &Ambient) -> Result<Access, AccessError> {
    if let Some(context) = &wanted.context {
        let message = format!("the context {} is asked for, and there is no kubeconfig", quoted(context));
        return Err(AccessError::usage(message, "Name the kubeconfig with --kubeconfig or KUBECONFIG."));
    }
    if ambient.var("KUBERNETES_SERVICE_HOST").is_none() {
        let message = "there is no kubeconfig, and pouch does not run in a Pod";
        return Err(AccessError::usage(message, "Name a kubeconfig with --kubeconfig or KUBECONFIG."));
    }
    let config = kube::Config::incluster().map_err(|_| {
        let help = "See that the Pod mounts its service account's token (automountServiceAccountToken).";
        AccessError::unavailable("the Pod's service account cannot be used: its token or CA cannot be read", help)
    })?;
    finish(config, "in-cluster".into(), wanted, ambient, &Arc::default())
}

/// Chooses the context. Without a terminal nobody sees which one a kubeconfig happens to point at.
fn choose(
    wanted: Option<&str>,
    current: Option<&str>,
    names: &[String],
    files: &[PathBuf],
    ambient: &Ambient,
) -> Result<String, AccessError> {
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
            let near = nearest(name, names.iter().map(String::as_str));
            let help = near.map_or_else(listed, |near| format!("Did you mean {near}? {}", listed()));
            Err(AccessError::usage(format!("{shown} has no context {}", quoted(name)), help))
        }
        (None, _, [only]) => Ok(only.clone()),
        (None, Some(current), _) if known(current) && ambient.stderr_is_terminal() => Ok(current.to_owned()),
        (None, Some(current), _) if !known(current) => {
            let message = format!("the current context of {shown} is {}, which it does not have", quoted(current));
            Err(AccessError::usage(message, format!("Choose one with --context. {}", listed())))
        }
        (None, _, []) => Err(AccessError::usage(format!("{shown} has no context"), "Name another kubeconfig.")),
        (None, _, _) => {
            let message = format!("{shown} has several contexts, and none is chosen");
            Err(AccessError::usage(
                message,
                format!("Choose one with --context, or in the configuration. {}", listed()),
            ))
        }
    }
}

fn proxied_by_kubeconfig(merged: &Kubeconfig, context: &str) -> bool {
    let context = merged.contexts.iter().find(|named| named.name == context).and_then(|named| named.context.as_ref());
    let cluster = context.and_then(|context| merged.clusters.iter().find(|named| named.name == context.cluster));
    let url = cluster.and_then(|named| named.cluster.as_ref()).and_then(|cluster| cluster.proxy_url.as_deref());
    url.is_some_and(|url| !url.is_empty())
}

/// The proxy that the environment names for a server, as Go's `http.ProxyFromEnvironment` reads it.
///
/// kube compares `NO_PROXY` with the proxy's own name instead of the server's, so it is done here.
fn proxy(server: &http::Uri, ambient: &Ambient) -> Result<Option<http::Uri>, AccessError> {
    let var = |names: [&str; 2]| names.iter().find_map(|name| ambient.var(name).filter(|value| !value.is_empty()));
    let chosen = match server.scheme_str() {
        Some("http") => var(["HTTP_PROXY", "http_proxy"]),
        _ => var(["HTTPS_PROXY", "https_proxy"]),
    };
    let Some(chosen) = chosen else { return Ok(None) };
    let no = var(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if Matcher::builder().all(chosen.as_str()).no(no.as_str()).build().intercept(server).is_none() {
        return Ok(None);
    }
    let written = if chosen.contains("://") { chosen } else { format!("http://{chosen}") };
    written.parse().map(Some).map_err(|_| {
        AccessError::usage("HTTPS_PROXY or HTTP_PROXY is no URL", "Correct the variable, such as http://proxy:3128.")
    })
}

fn finish(
    mut config: kube::Config,
    context: Arc<str>,
    wanted: &Wanted,
    ambient: &Ambient,
    stop: &Arc<AtomicBool>,
) -> Result<Access, AccessError> {
    if let Some(provider) = config.auth_info.auth_provider.as_ref() {
        let message = format!("the context {context} uses the auth provider {}", quoted(&provider.name));
        let help = "kubectl dropped auth providers in 1.26: use the exec plugin of the same cloud.";
        return Err(AccessError::usage(message, help));
    }
    if let Some(user) = &wanted.as_user {
        config.auth_info.impersonate = Some(user.clone());
        config.auth_info.impersonate_groups = None;
    }
    if !wanted.as_groups.is_empty() {
        if config.auth_info.impersonate.is_none() {
            return Err(AccessError::usage("--as-group needs --as", "Say whom to act as, too."));
        }
        config.auth_info.impersonate_groups = Some(wanted.as_groups.clone());
    }
    // Retrying is the link's business, which knows the whole run's time.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    let plugin = match config.auth_info.exec.take() {
        Some(exec) => Some(Plugin::new(exec, ambient, stop).map_err(|why| exec_failed(&context, &why))?),
        None => None,
    };
    let server = shown(&config.cluster_url);
    let insecure = config.accept_invalid_certs;
    Access { config, plugin, context, server, insecure }.renewed()
}

fn exec_failed(context: &str, why: &exec::PluginError) -> AccessError {
    let message = format!("the credential plugin of context {context} {}", why.message);
    AccessError::unavailable(message, why.help.clone())
}

/// A server's URL without user and password.
fn shown(url: &http::Uri) -> String {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", url.scheme_str().unwrap_or("https"))
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
    pub(super) fn renewed(&self) -> Result<Self, AccessError> {
        let mut access = self.clone();
        if let Some(plugin) = &self.plugin {
            let given = plugin.run().map_err(|why| exec_failed(&self.context, &why))?;
            given.fill(&mut access.config.auth_info);
        }
        Ok(access)
    }

    /// A client; token files are read by it, and again as they change.
    pub(super) fn client(&self) -> Result<kube::Client, AccessError> {
        let config = self.config.clone();
        kube::Client::try_from(config).map_err(|error| match error {
            kube::Error::Auth(_) => AccessError::token_unreadable(),
            kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. } => {
                AccessError::usage("the proxy's protocol is none of http and https", "Use an HTTP proxy.")
            }
            _ => AccessError::unavailable(
                format!("the certificates or keys of context {} cannot be used", self.context),
                "See that client certificate, key and CA are PEM, and belong together.",
            ),
        })
    }
}

/// What kube says about a file, in our words.
fn unreadable(file: &Path, error: &KubeconfigError) -> AccessError {
    let file = file.display();
    let help = "Mend the file, or name another one with --kubeconfig.";
    let message = match error {
        KubeconfigError::ReadConfig(error, _) => format!("the kubeconfig {file} cannot be read: {}", error.kind()),
        _ => match flaw(Path::new(&file.to_string())) {
            Some(flaw) => format!("the kubeconfig {file} is no YAML at line {}, column {}", flaw.line, flaw.column),
            None => format!("{file} is no kubeconfig"),
        },
    };
    AccessError::unavailable(message, help)
}

/// Where a file stops being YAML, by our own reader, which quotes nothing.
fn flaw(file: &Path) -> Option<yaml::Flaw> {
    let bytes = std::fs::read(file).ok()?;
    let text = yaml::stream::text_of(&bytes).ok()?;
    let mut interner = pouch_core::node::Interner::new();
    yaml::stream::documents(text).find_map(|document| yaml::read::read(&document, &mut interner).err())
}

fn unusable(context: &str, error: &KubeconfigError) -> AccessError {
    let what = match error {
        KubeconfigError::LoadContext(_) => "is empty",
        KubeconfigError::LoadClusterOfContext(_) => "names a cluster that the kubeconfig does not have",
        KubeconfigError::MissingClusterUrl => "names a cluster without a server",
        KubeconfigError::ParseClusterUrl(_) => "names a cluster whose server is no URL",
        KubeconfigError::ParseProxyUrl(_) => "has a proxy-url, or the environment an HTTPS_PROXY, that is no URL",
        KubeconfigError::LoadCertificateAuthority(_) | KubeconfigError::ParseCertificates(_) => {
            "has a certificate authority that cannot be read"
        }
        KubeconfigError::LoadClientCertificate(_) => "has a client certificate that cannot be read",
        KubeconfigError::LoadClientKey(_) => "has a client key that cannot be read",
        _ => "cannot be used",
    };
    AccessError::unavailable(
        format!("the context {} {what}", quoted(context)),
        "See that `kubectl --context` works with it.",
    )
}

#[cfg(test)]
mod tests;
