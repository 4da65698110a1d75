//! The exchange with one registry: requests, logging in, and trying again.
//!
//! A server is asked through an origin of its own, and credentials go to two places: the registry, and what gives tokens
//! for it, where the registry names one over TLS. Where an upload goes to another server, none go along.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::config::ArtifactPlace;
use pouch_core::json;
use pouch_core::node::Interner;
use pouch_core::report::escape;
use tracing::debug;
use zeroize::Zeroizing;

use super::challenge::{Challenge, encoded};
use super::docker::{Credentials, Login};
use super::trouble::{Health, RegistryError, Turn};
use crate::ambient::Ambient;
use crate::cluster::Broken;
use crate::cluster::origin::{Answered, Origin, Question};

/// The most bytes of an answer that is not looked into.
const MOST_OF_WORDS: usize = 1 << 20;

/// How often a request is made at most.
const TRIES: u32 = 4;

/// The first pause before a request is made again; the next ones are twice as long each.
const PAUSE: Duration = Duration::from_millis(250);

/// How long servers may ask to be waited for, in all, about one repository; and no longer than nothing may move.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How often a pause looks whether it should end.
const GLANCE: Duration = Duration::from_millis(50);

/// Where Docker Hub's registry is.
const HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// What registries are asked with.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Environment and entropy.
    pub ambient: &'a Ambient,
    /// Whether the run should end.
    pub stop: &'a Arc<AtomicBool>,
    /// Who asks.
    pub credentials: &'a Credentials,
    /// What the run has seen of the servers.
    pub health: &'a Health,
    /// How long nothing may move during a request.
    pub request: Duration,
    /// Whether registries are asked by plain HTTP.
    pub insecure: bool,
}

/// A request.
#[derive(Clone)]
pub(super) struct Wanted<'a> {
    pub method: &'static str,
    /// Path and query; or, where the registry said where to go on, a URL.
    pub path: String,
    pub headers: &'a [(&'static str, &'a str)],
    pub body: &'a [u8],
    /// The most bytes of the answer.
    pub most: usize,
}

impl Wanted<'_> {
    /// A GET without anything.
    pub(super) fn get(path: String) -> Self {
        Self { method: "GET", path, headers: &[], body: &[], most: MOST_OF_WORDS }
    }
}

/// An answer, and who gave it.
pub(super) struct Reply {
    host: String,
    answered: Answered,
}

impl Deref for Reply {
    type Target = Answered;

    fn deref(&self) -> &Answered {
        &self.answered
    }
}

/// What a request is sent with.
type Authorization = Rc<Zeroizing<String>>;

/// One registry, asked about one repository.
pub(super) struct Exchange<'a> {
    means: Means<'a>,
    place: &'a ArtifactPlace,
    origins: RefCell<BTreeMap<String, Rc<Origin>>>,
    authorization: RefCell<Option<Authorization>>,
    /// How often it was logged in.
    logins: Cell<usize>,
    /// How long it may still be waited because a server asks for that.
    wait: Cell<Duration>,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(means: Means<'a>, place: &'a ArtifactPlace) -> Self {
        let (origins, authorization) = (RefCell::default(), RefCell::default());
        let wait = Cell::new(LONGEST_WAIT.min(means.request));
        Self { means, place, origins, authorization, logins: Cell::new(0), wait }
    }

    /// Asks the registry.
    ///
    /// # Errors
    /// Where it does not answer, or wants other credentials.
    pub(super) fn ask(&self, wanted: &Wanted<'_>) -> Result<Reply, RegistryError> {
        self.of_registry(&self.url_of(self.host()), wanted)
    }

    /// Asks where the registry said to go on.
    ///
    /// # Errors
    /// As [`Exchange::ask`], and where it is no place that anything may be sent to.
    pub(super) fn ask_located(&self, wanted: &Wanted<'_>) -> Result<Reply, RegistryError> {
        if wanted.path.starts_with('/') && !wanted.path.starts_with("//") {
            return self.ask(wanted);
        }
        let Some((scheme, host, path)) = parts(&wanted.path) else { return Err(self.no_registry()) };
        let wanted = Wanted { path: path.to_owned(), ..wanted.clone() };
        // A registry behind something that ends TLS may not know that it is asked by TLS.
        if host.eq_ignore_ascii_case(self.host()) {
            return self.ask(&wanted);
        }
        if scheme != "https" && !self.means.insecure {
            return Err(self.unsafe_place("sends uploads to", host));
        }
        self.trying(&format!("{scheme}://{host}"), &wanted, None)
    }

    /// The registry's own host.
    fn host(&self) -> &str {
        if self.place.registry == HUB.0 { HUB.1 } else { &self.place.registry }
    }

    fn url_of(&self, host: &str) -> String {
        format!("{}://{host}", if self.means.insecure { "http" } else { "https" })
    }

    /// Asks the registry, and logs in where it wants that.
    fn of_registry(&self, url: &str, wanted: &Wanted<'_>) -> Result<Reply, RegistryError> {
        let had = self.authorization.borrow().clone();
        let answer = self.trying(url, wanted, had.as_deref().map(|text| text.as_str()))?;
        if answer.status != 401 {
            return Ok(answer);
        }
        let Some(challenge) = Challenge::of(&answer.headers("www-authenticate")) else {
            return Err(self.not_let_in("wants to know who asks in a way that pouch does not know"));
        };
        let new = self.log_in(&challenge)?.map(Rc::new);
        // Sent again, the same would be answered the same.
        if new.is_none() || (new == had && self.logins.get() > 1) {
            return Err(self.not_let_in("does not let this user do it (401)"));
        }
        *self.authorization.borrow_mut() = new.clone();
        let answer = self.trying(url, wanted, new.as_deref().map(|text| text.as_str()))?;
        match answer.status {
            401 => Err(self.not_let_in("does not accept the credentials (401)")),
            _ => Ok(answer),
        }
    }

    /// Works out what to send along; none where nobody is to log in.
    fn log_in(&self, challenge: &Challenge) -> Result<Option<Zeroizing<String>>, RegistryError> {
        self.logins.update(|logins| logins + 1);
        let ArtifactPlace { registry, repository, .. } = self.place;
        let login = self.means.credentials.of(registry, repository)?;
        let basic = |login: &Login| match login {
            Login::Password(user, password) => {
                let pair = Zeroizing::new(format!("{}:{}", **user, **password));
                Some(Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes()))))
            }
            _ => None,
        };
        let (realm, service) = match (challenge, &login) {
            (_, Login::Token(token)) => return self.bearer(token).map(Some),
            (Challenge::Basic, _) => return Ok(basic(&login)),
            (Challenge::Bearer { realm, service }, _) => (realm, service),
        };
        let Some((scheme, host, path)) = parts(realm) else { return Err(self.no_registry()) };
        // Where the registry needs no TLS, neither does a service beside it; one on another machine does.
        let is_beside = self.means.insecure && machine(host) == machine(&self.place.registry);
        if scheme != "https" && !is_beside {
            return Err(self.unsafe_place("wants credentials sent to", host));
        }
        let scope = encoded(&format!("repository:{repository}:pull,push"));
        let asks = format!("service={}&scope={scope}", encoded(service));
        let url = format!("{scheme}://{host}");
        let answer = match &login {
            Login::Identity(token) => {
                let refreshed = encoded(token);
                let body = Zeroizing::new(format!(
                    "grant_type=refresh_token&{asks}&client_id=pouch&refresh_token={refreshed}"
                ));
                let headers = &[("content-type", "application/x-www-form-urlencoded")];
                let body = body.as_bytes();
                self.trying(&url, &Wanted { method: "POST", headers, body, ..Wanted::get(path.to_owned()) }, None)?
            }
            _ => {
                let gap = if path.contains('?') { '&' } else { '?' };
                let authorization = basic(&login);
                let wanted = Wanted::get(format!("{path}{gap}{asks}"));
                self.trying(&url, &wanted, authorization.as_deref().map(String::as_str))?
            }
        };
        let shown = escape(host);
        match answer.status {
            200 => {}
            401 | 403 => return Err(self.not_let_in(&format!("gets no token for these credentials from {shown}"))),
            status => {
                return Err(RegistryError::new(
                    format!("{shown}, which gives tokens for {registry}, answers {status}"),
                    "Try again later, or see its own log.",
                ));
            }
        }
        let text = std::str::from_utf8(&answer.body).unwrap_or_default();
        let node = json::read(text, &mut Interner::new()).ok();
        let field = |name: &str| node.as_ref().and_then(|node| node.str_at(&[name])).filter(|text| !text.is_empty());
        match field("token").or_else(|| field("access_token")) {
            Some(token) => self.bearer(token).map(Some),
            None => Err(RegistryError::new(
                format!("{shown}, which gives tokens for {registry}, answers with none"),
                "Find out what is between pouch and the registry.",
            )),
        }
    }

    fn bearer(&self, token: &str) -> Result<Zeroizing<String>, RegistryError> {
        match token.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Zeroizing::new(format!("Bearer {token}"))),
            false => Err(self.not_let_in("is given a token with characters that no token has")),
        }
    }

    /// Asks a server that the run has not given up, and notes how it behaves.
    fn trying(&self, url: &str, wanted: &Wanted<'_>, authorization: Option<&str>) -> Result<Reply, RegistryError> {
        let host = host_of(url);
        let begun = loop {
            match self.means.health.begin(host) {
                Turn::Asked(begun) => break begun,
                Turn::Never => return Err(given_up(host)),
                Turn::Later if self.is_over() => return Err(stopped()),
                Turn::Later => std::thread::sleep(GLANCE),
            }
        };
        let asked = self.again_and_again(url, wanted, authorization);
        let is_of_use = asked.as_ref().is_ok_and(|answer| !is_in_trouble(answer.status));
        self.means.health.end(host, begun, is_of_use);
        Ok(Reply { host: host.to_owned(), answered: asked? })
    }

    /// Asks a server, and again after trouble that passes.
    fn again_and_again(
        &self,
        url: &str,
        wanted: &Wanted<'_>,
        authorization: Option<&str>,
    ) -> Result<Answered, RegistryError> {
        let origin = self.origin(url)?;
        let Wanted { method, path, headers, body, most } = wanted.clone();
        let question = Question { method, path, headers, authorization, body };
        let (mut pause, mut tried) = (PAUSE, 0_u32);
        loop {
            if self.is_over() {
                return Err(stopped());
            }
            tried = tried.saturating_add(1);
            let asked = origin.ask(&question, most, || self.is_over());
            // Without its query, in which a registry may put what lets somebody in.
            let path = question.path.split('?').next().unwrap_or_default();
            let status = asked.as_ref().map(|answer| answer.status).unwrap_or_default();
            debug!(host = host_of(url), method, path, status, tried, "answered");
            let wait = match &asked {
                Ok(answer) if is_in_trouble(answer.status) => {
                    answer.header("retry-after").and_then(|text| text.parse::<u64>().ok())
                }
                Err(Broken::Late { .. }) => continue,
                // Whoever did not answer in time had all the time that there is.
                Ok(_) | Err(Broken::TooLong | Broken::Garbled(_) | Broken::TimedOut) => {
                    return asked.map_err(|why| self.broken(url, &why));
                }
                Err(Broken::Connection(what)) if what.contains("certificate") => {
                    return asked.map_err(|why| self.broken(url, &why));
                }
                Err(_) => None,
            };
            let wait = Duration::from_secs(wait.unwrap_or_default());
            let left = self.wait.get().checked_sub(wait);
            let (true, Some(left)) = (tried < TRIES, left) else {
                return asked.map_err(|why| self.broken(url, &why));
            };
            self.wait.set(left);
            // Runs that met once do not meet again.
            let part = self.means.ambient.part_of(pause).unwrap_or(pause);
            self.pause(wait.saturating_add(pause.saturating_add(part) / 2));
            pause = pause.saturating_mul(2);
        }
    }

    fn is_over(&self) -> bool {
        self.means.stop.load(Ordering::Relaxed)
    }

    fn pause(&self, length: Duration) {
        let mut left = length;
        while !left.is_zero() && !self.is_over() {
            std::thread::sleep(left.min(GLANCE));
            left = left.saturating_sub(GLANCE);
        }
    }

    fn origin(&self, url: &str) -> Result<Rc<Origin>, RegistryError> {
        if let Some(origin) = self.origins.borrow().get(url) {
            return Ok(origin.clone());
        }
        let origin = Origin::new(url, self.means.request, self.means.ambient)
            .map_err(|failure| RegistryError::new(failure.message, failure.help))?;
        let origin = Rc::new(origin);
        self.origins.borrow_mut().insert(url.to_owned(), origin.clone());
        Ok(origin)
    }

    fn broken(&self, url: &str, why: &Broken) -> RegistryError {
        let host = escape(host_of(url));
        let help = match why {
            Broken::Connection(what) if what.contains("certificate") => {
                "Name a file with the authority's certificates in SSL_CERT_FILE; for a registry without TLS, set \
                 output.oci.insecure: true."
            }
            Broken::Connection(_) => "Check that the registry runs and can be reached from here.",
            Broken::TimedOut | Broken::Late { .. } => "Try again later, or give it more time with --request-timeout.",
            _ => "Find out what is between pouch and the registry.",
        };
        RegistryError::new(format!("{host} cannot be used: {}", why.what()), help)
    }

    /// What a status means that no answer should have.
    pub(super) fn refused(&self, doing: &str, answer: &Reply) -> RegistryError {
        let (registry, status) = (&self.place.registry, answer.status);
        if answer.host != self.host() {
            return RegistryError::new(
                format!("{}, where {registry} sends uploads, answers {status} to {doing}", escape(&answer.host)),
                "See the logs of both: the registry names the place for each upload.",
            );
        }
        let help = match status {
            300..400 => {
                let to = answer.header("location").and_then(parts).map_or("another place", |(_, host, _)| host);
                return RegistryError::new(
                    format!("{registry} answers {status} to {doing}, and refers to {}; nobody follows", escape(to)),
                    "Write the registry's own name in output.oci.repository. A page for logging in is no registry.",
                );
            }
            403 => "Let this user push to the repository.",
            404 => "Make the repository in the registry, if it makes none by itself, or correct output.oci.repository.",
            405 | 415 => "Check that the registry takes OCI artifacts (manifests of OCI 1.1).",
            413 => "The registry takes no blob of that size: raise its limit, or that of the proxy before it.",
            429 => "Wait, and run pouch again.",
            500.. => "Try again later, or see the registry's own log.",
            _ => "See the registry's own log.",
        };
        RegistryError::new(format!("{registry} answers {status} to {doing}"), help)
    }

    /// What answers, answers as no registry does.
    pub(super) fn no_registry(&self) -> RegistryError {
        RegistryError::new(
            format!("{} does not answer as a registry does", self.place.registry),
            "Correct output.oci.repository, or find out what is between pouch and the registry: a page for logging in is \
             no registry.",
        )
    }

    fn unsafe_place(&self, does: &str, host: &str) -> RegistryError {
        RegistryError::new(
            format!("{} {does} {} without TLS", self.place.registry, escape(host)),
            "Nothing is sent there. Correct the registry's own configuration.",
        )
    }

    fn not_let_in(&self, what: &str) -> RegistryError {
        let registry = &self.place.registry;
        RegistryError::new(
            format!("{registry} {what}"),
            format!(
                "Log in with `docker login {registry}` as somebody who may push, or name the folder of docker's \
                 config.json in DOCKER_CONFIG."
            ),
        )
    }
}

/// Whether a status speaks of trouble that may pass.
fn is_in_trouble(status: u16) -> bool {
    status == 429 || status >= 500
}

/// The host of a server's URL.
fn host_of(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, host)| host)
}

fn stopped() -> RegistryError {
    RegistryError::new("stopped", "")
}

fn given_up(host: &str) -> RegistryError {
    RegistryError::new(
        format!(
            "{} is not asked again in this run, as what it was asked for other regions came to nothing",
            escape(host)
        ),
        "See what is said of those.",
    )
}

/// Scheme, host with port, and path with query of a URL without a user.
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "https" | "http"))?;
    let rest = rest.split('#').next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    let is_fine = !host.is_empty() && host.bytes().all(is_host) && path.bytes().all(|byte| byte.is_ascii_graphic());
    is_fine.then_some((scheme, host, if path.is_empty() { "/" } else { path }))
}

/// A host without its port.
fn machine(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}
