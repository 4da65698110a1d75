//! Credential plugins: the programs that a kubeconfig names to get a token or a certificate.
//!
//! They get no terminal, a bounded time, and of the environment only what is [listed](environment). What they print is read by
//! our JSON door and never quoted. The protocol is that of client-go:
//! <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins>

pub mod environment;

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use pouch_core::config::error::quoted;
use pouch_core::json;
use pouch_core::node::{Interner, Node};
use zeroize::Zeroizing;

use crate::ambient::Ambient;
use crate::child::{self, Bounds, ChildError, Room};

use self::environment::{Divided, Inherited};

/// How long a plugin may take: it may have to ask a cloud.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of a plugin's output.
const MOST_OUTPUT: u64 = 1 << 20;

/// A plugin, ready to run.
#[derive(Clone)]
pub struct Plugin {
    command: OsString,
    arguments: Vec<String>,
    environment: Vec<(OsString, OsString)>,
    api_version: String,
    hint: String,
    /// The variables of the environment that it was not handed, for a help.
    withheld: String,
    timeout: Duration,
    stop: Arc<AtomicBool>,
}

/// Why a plugin gave no credentials. Follows a subject: "the credential plugin of context x …".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PluginError {
    /// What the plugin did or is.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl PluginError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// The credentials that a plugin gave.
pub struct Given {
    token: Option<Zeroizing<String>>,
    certificate: Option<(Zeroizing<String>, Zeroizing<String>)>,
}

impl Given {
    /// Puts the credentials where the client looks.
    pub fn fill(&self, auth: &mut AuthInfo) {
        if let Some(token) = &self.token {
            auth.token = Some(token.as_str().to_owned().into());
        }
        if let Some((certificate, key)) = &self.certificate {
            auth.client_certificate_data = Some(STANDARD.encode(certificate.as_bytes()));
            auth.client_key_data = Some(STANDARD.encode(key.as_bytes()).into());
        }
    }
}

impl Plugin {
    /// Reads what a kubeconfig says of a plugin.
    ///
    /// # Errors
    /// Where it wants a terminal, names no program, or speaks a version that nobody speaks any more.
    pub fn new(
        exec: ExecConfig,
        inherited: &Inherited<'_>,
        ambient: &Ambient,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, PluginError> {
        let Some(command) = exec.command.filter(|command| !command.is_empty()) else {
            return Err(PluginError::new("names no program", "Correct `exec.command` in the kubeconfig."));
        };
        if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
            let help = "Use a context whose plugin works without asking, such as a service account's.";
            return Err(PluginError::new("wants a terminal, which pouch never gives", help));
        }
        let api_version = exec.api_version.unwrap_or_default();
        if !matches!(&*api_version, "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1") {
            let help = "Let the cloud's tool write the kubeconfig anew; pouch speaks v1 and v1beta1.";
            return Err(PluginError::new("speaks an API version that is unknown, or removed", help));
        }
        let Divided { handed: mut environment, withheld } = inherited.divide(ambient.environment());
        for pair in exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (pair.get("name"), pair.get("value")) {
                environment.push((name.into(), value.into()));
            }
        }
        let cluster = exec.cluster.map(|cluster| serde_json::to_value(cluster).unwrap_or_default());
        let mut spec = serde_json::Map::from_iter([("interactive".to_owned(), serde_json::Value::Bool(false))]);
        spec.extend(cluster.map(|cluster| ("cluster".to_owned(), cluster)));
        let info = serde_json::json!({"apiVersion": api_version, "kind": "ExecCredential", "spec": spec});
        environment.push(("KUBERNETES_EXEC_INFO".into(), info.to_string().into()));
        Ok(Self {
            command: command.into(),
            arguments: exec.args.unwrap_or_default(),
            environment,
            api_version,
            hint: exec.install_hint.unwrap_or_default(),
            withheld,
            timeout: TIMEOUT,
            stop: stop.clone(),
        })
    }

    /// Runs the plugin.
    ///
    /// # Errors
    /// Where it cannot be started, fails, takes too long, or prints something else than credentials.
    pub fn run(&self) -> Result<Given, PluginError> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that starts plugins")]
        let mut command = Command::new(&self.command);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.args(&self.arguments);
        let name = quoted(&self.command.to_string_lossy());
        let works = format!("Check that {name} works in a shell, without asking anything.{}", self.withheld);
        let bounds = Bounds {
            timeout: self.timeout,
            silence: self.timeout,
            stop: &self.stop,
            output: MOST_OUTPUT,
            room: Room::default(),
        };
        match child::run(command, &bounds) {
            Ok(ended) if ended.well => self.read(&Zeroizing::new(ended.out)),
            // Its words may hold what it should have kept.
            Ok(_) => Err(PluginError::new(format!("failed: {name} ended with an error"), works)),
            Err(ChildError::Missing) => {
                let hint = if self.hint.is_empty() { String::new() } else { format!(" {}", self.hint.trim()) };
                Err(PluginError::new(format!("is not installed: {name}"), format!("Install it.{hint}")))
            }
            Err(ChildError::Start(kind)) => Err(PluginError::new(format!("cannot be started: {name}: {kind}"), works)),
            Err(ChildError::TimedOut { seconds } | ChildError::Silent { seconds }) => {
                Err(PluginError::new(format!("took longer than {seconds} s and was ended: {name}"), works))
            }
            Err(ChildError::Unheard(why)) => {
                Err(PluginError::new(format!("printed what cannot be read: {name}: {why}"), works))
            }
            Err(ChildError::Stopped) => Err(PluginError::new("was ended", "Start pouch again.")),
        }
    }

    fn read(&self, out: &[u8]) -> Result<Given, PluginError> {
        let help = format!("Run it by hand: it must print an ExecCredential with a status.{}", self.withheld);
        let garbled = |what: &str| PluginError::new(format!("printed {what}"), help.clone());
        let text = std::str::from_utf8(out).map_err(|_| garbled("something that is not text"))?;
        let answer = json::read(text, &mut Interner::new()).map_err(|_| garbled("something that is not JSON"))?;
        if answer.str_at(&["kind"]) != Some("ExecCredential") {
            return Err(garbled("something other than an ExecCredential"));
        }
        if answer.str_at(&["apiVersion"]) != Some(&self.api_version) {
            return Err(garbled("an ExecCredential of another version than the kubeconfig says"));
        }
        let field = |name: &str| {
            let text = answer.at(&["status", name]).and_then(Node::as_str).filter(|text| !text.is_empty());
            text.map(|text| Zeroizing::new(text.to_owned()))
        };
        let token = field("token");
        if token.as_ref().is_some_and(|token| token.chars().any(char::is_control)) {
            return Err(garbled("a token with a control character in it"));
        }
        let certificate = match (field("clientCertificateData"), field("clientKeyData")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(garbled("a certificate without its key, or a key without its certificate")),
        };
        if token.is_none() && certificate.is_none() {
            return Err(garbled("an ExecCredential without token and certificate"));
        }
        Ok(Given { token, certificate })
    }
}

#[cfg(test)]
mod tests;
