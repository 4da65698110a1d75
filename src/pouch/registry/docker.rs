//! Credentials for registries, from where docker keeps them: `config.json`, its text in `DOCKER_AUTH_CONFIG`, and the
//! credential helpers that it names.
//!
//! A helper gets the registry's name and none of pouch's own variables; what it prints is read by our JSON door and never
//! quoted. Who is asked to log in nowhere is nobody, as for docker.
//!
//! <https://docs.docker.com/reference/cli/docker/login/#credential-stores>

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::config::error::quoted;
use pouch_core::json;
use pouch_core::node::{Interner, Node};
use zeroize::Zeroizing;

use super::trouble::RegistryError;
use crate::ambient::Ambient;
use crate::child::{self, Bounds, ChildError, Room};
use crate::error::said;
use crate::git::program::is_for_children;

/// How long a helper may take: it may have to ask a cloud.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of a file of credentials, and of a helper's output.
const MOST: u64 = 1 << 20;

/// Where the registry of Docker Hub is known by other names.
const HUB: &str = "docker.io";
const HUB_KEY: &str = "https://index.docker.io/v1/";

/// What all helpers' names start with.
const HELPER: &str = "docker-credential-";

/// Who logs in.
#[derive(Clone)]
pub(super) enum Login {
    /// Nobody.
    Nobody,
    /// A user with a password.
    Password(Zeroizing<String>, Zeroizing<String>),
    /// Whoever has a token that tokens are given for.
    Identity(Zeroizing<String>),
    /// Whoever has a token that the registry itself takes.
    Token(Zeroizing<String>),
}

/// Credentials for registries.
pub struct Credentials {
    /// The maps of registries, in the order in which they count.
    files: Vec<Node>,
    environment: Vec<(OsString, OsString)>,
    stop: Arc<AtomicBool>,
    /// Who logs in where, of those that were asked.
    known: Mutex<BTreeMap<String, Result<Login, RegistryError>>>,
}

impl Credentials {
    /// Reads what docker reads; where there is nothing, nobody logs in anywhere.
    ///
    /// # Errors
    /// Where there is something that cannot be read.
    pub fn open(ambient: &Ambient, stop: &Arc<AtomicBool>) -> Result<Self, RegistryError> {
        const ENVIRONMENT: &str = "DOCKER_AUTH_CONFIG";
        let mut files = Vec::new();
        if let Some(text) = ambient.var(ENVIRONMENT).map(Zeroizing::new).filter(|text| !text.is_empty()) {
            files.push(map(&text).ok_or_else(|| {
                RegistryError::new(
                    format!("{ENVIRONMENT} is not what docker's config.json is: JSON with a map `auths`"),
                    "Correct the variable, or unset it.",
                )
            })?);
        }
        let folder = match ambient.var("DOCKER_CONFIG").filter(|folder| !folder.is_empty()) {
            Some(folder) => Some(ambient.cwd().join(folder)),
            None => ambient.var("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".docker")),
        };
        if let Some(file) = folder.map(|folder| folder.join("config.json")) {
            let shown = file.display();
            match std::fs::metadata(&file).and_then(|there| match there.len() {
                length if length > MOST => Err(std::io::Error::from(ErrorKind::FileTooLarge)),
                _ => std::fs::read_to_string(&file).map(Zeroizing::new),
            }) {
                Ok(text) => files.push(map(&text).ok_or_else(|| {
                    RegistryError::new(
                        format!("{shown} is not JSON as docker writes it"),
                        "Log in again: docker mends it.",
                    )
                })?),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => {
                    let message = format!("docker's credentials in {shown} cannot be read: {}", said(&error));
                    return Err(RegistryError::new(
                        message,
                        "Check permissions, or name another folder in DOCKER_CONFIG.",
                    ));
                }
            }
        }
        let environment =
            ambient.environment().into_iter().filter(|(name, value)| is_for_children(name, value)).collect();
        Ok(Self { files, environment, stop: stop.clone(), known: Mutex::default() })
    }

    /// Who logs in at a registry, for a repository.
    ///
    /// # Errors
    /// Where a helper fails, or what stands there is no login.
    pub(super) fn of(&self, registry: &str, repository: &str) -> Result<Login, RegistryError> {
        let place = format!("{registry}/{repository}");
        let Ok(mut known) = self.known.lock() else {
            return Err(RegistryError::new("another part of the run failed", ""));
        };
        if let Some(login) = known.get(&place) {
            return login.clone();
        }
        let login = self.find(registry, &place);
        known.insert(place, login.clone());
        login
    }

    fn find(&self, registry: &str, place: &str) -> Result<Login, RegistryError> {
        let key = if registry == HUB { HUB_KEY } else { registry };
        for file in &self.files {
            let helper = file.str_at(&["credHelpers", registry]).or_else(|| file.str_at(&["credHelpers", key]));
            let helper = helper.or_else(|| file.str_at(&["credsStore"])).filter(|name| !name.is_empty());
            if let Some(helper) = helper
                && let Some(login) = self.asked(helper, key)?
            {
                return Ok(login);
            }
            let auths = file.get("auths").map(Node::entries).unwrap_or_default();
            // The one that names most of the place, as podman has it; docker names registries only.
            let fits = |name: &str| {
                let name = plain(name);
                place.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    || (registry == HUB && matches!(name, "index.docker.io/v1" | "index.docker.io"))
            };
            let best = auths.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| plain(name).len());
            if let Some((_, entry)) = best
                && let Some(login) = login(entry).map_err(|()| {
                    RegistryError::new(
                        format!("docker's credentials for {registry} are no user and password"),
                        "Log in again with `docker login`.",
                    )
                })?
            {
                return Ok(login);
            }
        }
        Ok(Login::Nobody)
    }

    /// What a helper knows of a registry; none if it knows nothing.
    fn asked(&self, helper: &str, registry: &str) -> Result<Option<Login>, RegistryError> {
        let error = |what: String, help: &str| {
            Err(RegistryError::new(format!("docker's credential helper {} {what}", quoted(helper)), help))
        };
        if !helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return error("has a name that no program has".to_owned(), "Correct docker's config.json.");
        }
        let name = format!("{HELPER}{helper}");
        #[expect(clippy::disallowed_methods, reason = "this is the one place that starts docker's helpers")]
        let mut command = Command::new(&name);
        command.arg("get").env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        let bounds =
            Bounds { timeout: TIMEOUT, silence: TIMEOUT, stop: &self.stop, output: MOST, room: Room::default() };
        let help = format!("Check that `echo {registry} | {name} get` works, without asking anything.");
        let ended = match child::run_told(command, registry.as_bytes(), &bounds) {
            Ok(ended) => ended,
            Err(ChildError::Missing) => {
                return error(format!("is not installed: {name}"), "Install it, or log in anew.");
            }
            Err(ChildError::TimedOut { seconds } | ChildError::Silent { seconds }) => {
                return error(format!("took longer than {seconds} s and was ended"), &help);
            }
            Err(ChildError::Stopped) => return error("was ended".to_owned(), "Start pouch again."),
            Err(ChildError::Start(why) | ChildError::Unheard(why)) => {
                return error(format!("cannot be used: {why}"), &help);
            }
        };
        let out = Zeroizing::new(ended.out);
        if !ended.well {
            // The helpers' own words for it, which docker looks for too.
            let is_unknown = String::from_utf8_lossy(&out).contains("credentials not found");
            return if is_unknown { Ok(None) } else { error("failed".to_owned(), &help) };
        }
        let answer = std::str::from_utf8(&out).ok().and_then(map);
        let field = |name: &str| answer.as_ref().and_then(|answer| answer.str_at(&[name])).map(secret);
        match (field("Username"), field("Secret").filter(|secret| !secret.is_empty())) {
            // <https://github.com/docker/docker-credential-helpers#development>
            (Some(user), Some(secret)) if *user == "<token>" => Ok(Some(Login::Identity(secret))),
            (Some(user), Some(secret)) => Ok(Some(Login::Password(user, secret))),
            _ => error("printed something other than a user and a secret".to_owned(), &help),
        }
    }
}

/// JSON that is a map.
fn map(text: &str) -> Option<Node> {
    json::read(text.trim(), &mut Interner::new()).ok().filter(Node::is_map)
}

fn secret(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_owned())
}

/// A registry's name without the scheme that docker once wrote before it, and without a slash at the end.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or(name);
    name.trim_end_matches('/')
}

/// What an entry says; none if it says nothing, as where a helper keeps the rest.
fn login(entry: &Node) -> Result<Option<Login>, ()> {
    let field = |name: &str| entry.str_at(&[name]).filter(|text| !text.is_empty()).map(secret);
    if let Some(token) = field("registrytoken") {
        return Ok(Some(Login::Token(token)));
    }
    if let Some(token) = field("identitytoken") {
        return Ok(Some(Login::Identity(token)));
    }
    if let (Some(user), Some(password)) = (field("username"), field("password")) {
        return Ok(Some(Login::Password(user, password)));
    }
    let Some(auth) = field("auth") else { return Ok(None) };
    let bytes = Zeroizing::new(STANDARD.decode(auth.trim()).map_err(|_| ())?);
    let text = std::str::from_utf8(&bytes).map_err(|_| ())?;
    let (user, password) = text.split_once(':').ok_or(())?;
    Ok(Some(Login::Password(secret(user), secret(password.trim_end_matches('\0')))))
}

#[cfg(test)]
mod tests;
