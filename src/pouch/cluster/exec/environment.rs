//! Environment: the variables that a credential plugin is handed, and those that it is not.
//!
//! A kubeconfig may come from others, and so may the program that it names. The environment of a CI job is full of
//! secrets that are for other programs, under names that cannot be foreseen. So what is handed on is listed: here, what
//! every program needs, and in the configuration or the provider file, what the one plugin needs beside that.

use std::ffi::OsString;

use pouch_core::listing::few_that_fit;
use pouch_core::name::{Variables, is_variable};

use crate::git::program::is_for_children;

/// Variables that every plugin is handed.
const OF_ALL: [&str; 32] = [
    // Where programs are.
    "PATH",
    // Who runs them, and where the files of that user are, such as a cloud's login.
    "HOME",
    "USER",
    "LOGNAME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    // Where temporary files go.
    "TMPDIR",
    "TMP",
    "TEMP",
    // How text and times are written: without a language, tools in Python refuse text that is not ASCII.
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    // How the network is reached, and which authorities are trusted there.
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "all_proxy",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // Where a Pod finds the API server of its own cluster, for plugins that log in with its service account.
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
];

/// Beginnings of names by which clouds log in: of what is withheld, these are named first.
const OF_CLOUDS: [&str; 7] = ["AWS_", "AZURE_", "AAD_", "ARM_", "CLOUDSDK_", "GOOGLE_", "OS_"];

/// The most variables in a message.
const MOST_TOLD: usize = 8;

/// The variables that a credential plugin may inherit.
#[derive(Clone, Debug)]
pub struct Inherited<'a> {
    /// The variables beside those that every plugin is handed.
    pub variables: &'a Variables,
    /// Says where more are listed: the end of a sentence.
    pub listed: String,
}

/// The environment of this process, divided.
pub(super) struct Divided {
    /// The variables that the plugin is handed.
    pub handed: Vec<(OsString, OsString)>,
    /// The sentence of a help that names what it is not handed, and that could be listed; empty if there is nothing.
    pub withheld: String,
}

impl Inherited<'_> {
    /// Divides an environment. What no child of pouch sees can be listed nowhere.
    pub(super) fn divide(&self, environment: Vec<(OsString, OsString)>) -> Divided {
        let is_listed = |name: &str| OF_ALL.contains(&name) || self.variables.has(name);
        let seen = environment.into_iter().filter(|(name, value)| is_for_children(name, value));
        let (handed, kept): (Vec<_>, Vec<_>) = seen.partition(|(name, _)| name.to_str().is_some_and(is_listed));
        let mut names: Vec<&str> =
            kept.iter().filter_map(|(name, _)| name.to_str()).filter(|name| is_variable(name)).collect();
        names.sort_unstable_by_key(|name| (!OF_CLOUDS.iter().any(|cloud| name.starts_with(cloud)), *name));
        let withheld = match names.len() {
            0 => String::new(),
            count => {
                let told = few_that_fit(&names, count, MOST_TOLD);
                format!(" It was not handed {told} of this environment: list what it needs {}.", self.listed)
            }
        };
        Divided { handed, withheld }
    }
}
