//! Clusters: the only place that knows kube, HTTP and the asynchronous runtime.
//!
//! [`Cluster`] connects as kubectl would and asks: which kinds a server has, all objects of a kind in pages,
//! single objects by name. It only ever GETs, except in [`Cluster::create`], which makes one new object and
//! never changes one, and in [`mod@write`], which applies objects and deletes them. An answer is believed only if it is what
//! was asked for; everything else is tried again, within bounds, and then counts as unknown. Why something is asked, and
//! what follows from an answer, is not known here.

mod exec;
mod kubeconfig;
mod link;
pub mod origin;
mod provider;
pub mod request;
pub mod write;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::StreamExt as _;
use pouch_core::capi::resource_set::is_resource_set;
use pouch_core::inventory::providers::Way;
use pouch_core::k0rdent::provider_interface::version_priority;
use pouch_core::name::{GroupKind, Name, Namespace, ObjectKey, Scope, Version};
use pouch_core::node::Node;
use tokio::runtime::{Builder, Runtime};

use self::kubeconfig::Access;
pub use self::kubeconfig::Wanted;
use self::link::{Ask, Link, Reply};
pub use self::link::{Broken, Patience};
use self::request::{Portion, Resource, Stamp, Trial};
use crate::ambient::Ambient;
use crate::error::{Failure, said};

/// How many requests for single objects are under way at once.
pub const IN_FLIGHT: usize = 32;

/// How often a list is started over because its state expired or its pages did not fit together.
const RESTARTS: usize = 4;

/// The most objects of one list: five times those of the largest fleet that pouch is measured with.
const MOST_LISTED: usize = 500_000;

/// How many objects of one kind may fail by the server's own fault, with none of the kind answered, before the
/// others are not asked for: then the whole kind is down.
const FAILURES: usize = 3;

/// A connected cluster.
pub struct Cluster {
    // Dropped before the runtime, whose end stops what the link has under way.
    link: Link,
    runtime: Background,
    /// The kubeconfig's context, `in-cluster`, or the region whose ClusterProfile names the cluster.
    pub context: Arc<str>,
    /// The server's URL, and the proxy on the way to it.
    pub server: String,
    insecure: bool,
    /// The bytes of memory that whole objects take.
    taken: Cell<usize>,
    /// True if they are counted against a part of `limits.memory`.
    is_part: Cell<bool>,
    /// Whether somebody asked the run to end.
    stop: Arc<AtomicBool>,
}

/// The runtime, which waits for nothing at its end: resolving a name may take longer than anybody's patience.
struct Background(Option<Runtime>);

impl Background {
    fn block_on<T>(&self, work: impl Future<Output = Result<T, Broken>>) -> Result<T, Broken> {
        match &self.0 {
            Some(runtime) => runtime.block_on(work),
            None => Err(Broken::Connection("the connection was ended")),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// What an API server serves of some groups.
#[derive(Default)]
pub struct Served {
    /// The kinds, in the newest version of each, and all its versions, newest first.
    pub kinds: BTreeMap<GroupKind, (Resource, Vec<Version>)>,
    /// The groups that could not be asked, each with the trouble.
    pub unknown: BTreeMap<String, Broken>,
}

/// Every object of a kind.
pub struct Listing {
    /// The objects by key, with the stamp that tells whether one changed.
    pub items: Vec<(ObjectKey, Stamp, Node)>,
    /// The state of the cluster that the list shows: later ones have larger numbers.
    ///
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions>
    pub version: Option<u64>,
}

/// Why a kind could not be listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListError {
    /// The user may not list the kind.
    Forbidden,
    /// There was no answer.
    Broken(Broken),
}

/// The result of asking for one object.
pub enum Got {
    /// The object.
    Found(Node, Stamp),
    /// The server says that there is none.
    Absent,
    /// The user may not get the object.
    Forbidden,
    /// The server itself fails to answer.
    Failed(Broken),
}

/// About how many bytes of memory an object takes, with what is made of it later.
fn held_by(node: &Node) -> usize {
    const OBJECT: usize = 1000;
    node.size().held().saturating_add(OBJECT)
}

impl Broken {
    /// Whether the trouble concerns the whole server, and not one object.
    fn is_of_server(&self) -> bool {
        !matches!(self, Broken::Status(_) | Broken::Garbled(_) | Broken::TooLong | Broken::TimedOut)
    }

    /// Returns true if the server answered that it will not do what it is asked.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Broken::Status(300..=499) | Broken::Unauthorized)
    }

    /// The problem: a clause whose subject is the server.
    pub fn what(&self) -> String {
        match self {
            Broken::Connection(what) | Broken::Garbled(what) => (*what).to_owned(),
            Broken::TooLong => "its answer is longer than any should be".to_owned(),
            Broken::NoRoom { bytes, is_part: true } => {
                format!("what it holds takes more memory than its part of limits.memory, {} MiB", bytes >> 20)
            }
            Broken::NoRoom { bytes, is_part: false } => {
                format!("what it holds takes more memory than this run may take, {} MiB", bytes >> 20)
            }
            Broken::TimedOut => "it did not answer in time".to_owned(),
            Broken::Status(status) => format!("it answered {status}"),
            Broken::Unauthorized => "it does not accept the credentials (401)".to_owned(),
            Broken::Late { setting, last } => {
                let last = last.map(|status| format!(", and it answered {status} meanwhile")).unwrap_or_default();
                format!("it took longer than all requests together may ({setting}){last}")
            }
            Broken::Access(error) => error.message.clone(),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Broken::Connection(what) if what.contains("certificate") || what.contains("TLS") => {
                "Check that the kubeconfig's server and certificate authority belong to this cluster.".to_owned()
            }
            Broken::Connection(_) => "Check that the server runs and can be reached from here.".to_owned(),
            Broken::TimedOut => {
                "Check whether the server is overloaded, or give it more time with --request-timeout.".to_owned()
            }
            Broken::Late { setting, .. } => {
                format!("Check whether the server is overloaded, or give it more time with {setting}.")
            }
            Broken::Status(403) => {
                "Let this user read the API's groups: the ClusterRole system:discovery allows it to everybody who logs \
                 in."
                .to_owned()
            }
            Broken::Status(_) => "See the API server's own log.".to_owned(),
            Broken::NoRoom { is_part: true, .. } => {
                "If the cluster is meant to hold that much, give the run more memory or raise `limits.memory`. Sources share \
                 it, and a look into a region's cluster may take an eighth of it."
                    .to_owned()
            }
            Broken::NoRoom { is_part: false, .. } => {
                "If the cluster is meant to hold that much, give the run more memory: it takes half of what the container or \
                 the machine has free."
                    .to_owned()
            }
            Broken::Garbled(_) | Broken::TooLong => "Find out what is between pouch and the API server.".to_owned(),
            Broken::Unauthorized => "Log in again, or renew the token or certificate.".to_owned(),
            Broken::Access(error) => error.help.clone(),
        }
    }
}

impl Cluster {
    /// Finds out which cluster is meant, and gets ready to ask it. Nothing is sent yet, except by
    /// credential plugins.
    ///
    /// # Errors
    /// Where it is unclear which cluster is meant, or its credentials cannot be used.
    pub fn connect(
        wanted: &Wanted,
        patience: Patience,
        ambient: &Ambient,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        Self::by(kubeconfig::access(wanted, ambient, stop)?, patience, ambient, stop)
    }

    /// Gets ready to ask the cluster that a ClusterProfile names, which is called by this name. Nothing is sent yet,
    /// except by the credential plugin.
    ///
    /// # Errors
    /// Where the plugin gives no credentials, or the connection cannot be made as the ClusterProfile says.
    pub fn reach(
        way: &Way,
        name: &str,
        patience: Patience,
        ambient: &Ambient,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        Self::by(provider::access(way, name, ambient, stop)?, patience, ambient, stop)
    }

    fn by(access: Access, patience: Patience, ambient: &Ambient, stop: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let mut seed = [0_u8; 8];
        // The seed only spreads pauses: without entropy they are not spread.
        let _ = ambient.fill(&mut seed);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            Failure::unavailable(format!("the network cannot be used: {}", said(&error)), "See ulimit -n.")
        })?;
        let (context, server, insecure) = (access.context.clone(), access.shown(), access.insecure);
        let link = {
            let _inside = runtime.enter();
            Link::new(access, patience, u64::from_le_bytes(seed))?
        };
        // Who reads it for several at once says how much of that it may have.
        link.set_room(ambient.memory());
        let runtime = Background(Some(runtime));
        let (taken, is_part) = (Cell::new(0), Cell::new(false));
        Ok(Self { link, runtime, context, server, insecure, taken, is_part, stop: stop.clone() })
    }

    /// Sets how many bytes of memory answers may take from now on, a part of `limits.memory`: whole objects as long as the
    /// cluster is asked, others as long as they are looked at.
    pub fn set_room(&self, bytes: usize) {
        self.link.set_room(bytes);
        self.taken.set(0);
        self.is_part.set(true);
    }

    /// Finds out if there is room for answers that take so much, beside the whole objects that were read before.
    fn has_room(&self, form: Portion, bytes: usize) -> Result<usize, Broken> {
        let room = self.link.room();
        let before = if form == Portion::Whole { self.taken.get() } else { 0 };
        let taken = before.saturating_add(bytes);
        match taken > room {
            true => Err(Broken::NoRoom { bytes: room, is_part: self.is_part.get() }),
            false => Ok(taken),
        }
    }

    /// Takes the room of answers that stay.
    fn take_room(&self, form: Portion, bytes: usize) -> Result<(), Broken> {
        let taken = self.has_room(form, bytes)?;
        if form == Portion::Whole {
            self.taken.set(taken);
        }
        Ok(())
    }

    /// How many requests went out so far.
    pub fn requests(&self) -> usize {
        self.link.requests()
    }

    /// The warning for whoever chose this cluster, if there is one.
    pub fn warning(&self) -> Option<String> {
        let context = &self.context;
        let warning = || {
            format!("context {context} does not check the server's certificate: anybody can pretend to be the server")
        };
        self.insecure.then(warning)
    }

    /// Says that something could not be read, and why: a sentence without an end.
    pub fn trouble(&self, what: &str, broken: &Broken) -> String {
        format!("cluster {} at {} cannot be read, asked for {what}: {}", self.context, self.server, broken.what())
    }

    /// Says that something could not be written there, and why: a sentence without an end.
    pub fn unwritten(&self, what: &str, broken: &Broken) -> String {
        format!("{what} cannot be written to cluster {} at {}: {}", self.context, self.server, broken.what())
    }

    /// Says that the user lacks a right: a sentence without an end, with the verb and the resource of the
    /// missing rule.
    pub fn refusal(&self, verb: &str, resource: &Resource, place: Option<&Namespace>, name: Option<&Name>) -> String {
        let place = match (place, resource.scope) {
            (Some(namespace), _) => format!(" in namespace {namespace}"),
            (None, Scope::Namespaced) => " in all namespaces".to_owned(),
            (None, Scope::Cluster) => String::new(),
        };
        let name = name.map(|name| format!(", name {name}")).unwrap_or_default();
        format!("cluster {} does not allow \"{verb}\" on {}{place}{name}", self.context, resource.name())
    }

    /// The version of Kubernetes that the server says it is, such as `v1.33.1`.
    ///
    /// # Errors
    /// Where the server cannot be asked, or does not say it.
    pub fn version(&self) -> Result<String, Broken> {
        let understood = |reply: Reply| match reply.found()? {
            Some(node) => Ok(request::version(&node)?),
            None => Err(Broken::Status(404)),
        };
        let asked = self.link.get("/version", Portion::Whole.of_object(), Ask::Object, understood);
        self.runtime.block_on(self.link.in_time(asked))
    }

    /// Finds out which kinds of some API groups the server has.
    ///
    /// # Errors
    /// Where the server as a whole cannot be asked; a group that is down is in [`Served::unknown`].
    pub fn discover<'a>(&self, groups: impl IntoIterator<Item = &'a str>) -> Result<Served, Broken> {
        let mut served = Served::default();
        for group in groups {
            match self.runtime.block_on(self.link.in_time(self.group(group))) {
                Ok(resources) => resources.into_iter().for_each(|resource| served.add(resource)),
                Err(broken) if broken.is_of_server() => return Err(broken),
                Err(broken) => _ = served.unknown.insert(group.to_owned(), broken),
            }
        }
        Ok(served)
    }

    async fn group(&self, group: &str) -> Result<Vec<Resource>, Broken> {
        let accept = Portion::Whole.of_object();
        let path = format!("/apis/{group}");
        let understood = |reply: Reply| match reply.found()? {
            Some(node) => Ok(Some(request::group_versions(&node, group)?)),
            None => Ok(None),
        };
        let mut versions = self.link.get(&path, accept, Ask::Object, understood).await?;
        if versions.is_none() {
            // Versions that are missing by accident are there when asked again.
            versions = self.link.get(&path, accept, Ask::Object, understood).await?;
        }
        let mut resources = Vec::new();
        for version in versions.into_iter().flatten() {
            let understood = |reply: Reply| match reply.found()? {
                Some(node) => Ok(request::resources(&node, group, &version)?),
                None => Err(Broken::Status(404)),
            };
            resources.extend(self.link.get(&format!("{path}/{version}"), accept, Ask::Object, understood).await?);
        }
        Ok(resources)
    }

    /// Lists every object of a kind, in the cluster or in one namespace. `seen` is told how many there
    /// are after each page.
    ///
    /// A list is one state of the cluster, whatever changes meanwhile; if that state expires, or pages are
    /// missing or come twice, the list is started over.
    pub fn list(
        &self,
        resource: &Resource,
        namespace: Option<&Namespace>,
        form: Portion,
        seen: &dyn Fn(usize),
    ) -> Result<Listing, ListError> {
        self.listing(resource, namespace, form, &|limit, token| resource.list_path(namespace, limit, token), seen)
    }

    /// As [`Cluster::list`], for the objects of the whole cluster that have a label with this value.
    pub fn labelled(
        &self,
        resource: &Resource,
        (label, value): (&str, &str),
        form: Portion,
    ) -> Result<Listing, ListError> {
        self.listing(resource, None, form, &|limit, token| resource.labelled_path(label, value, limit, token), &|_| {})
    }

    /// Reads a list whose pages have these paths, by continue token.
    fn listing(
        &self,
        resource: &Resource,
        namespace: Option<&Namespace>,
        form: Portion,
        path: &dyn Fn(usize, &str) -> String,
        seen: &dyn Fn(usize),
    ) -> Result<Listing, ListError> {
        let listing = async {
            let mut why = Broken::Garbled("its lists expire before they are read");
            let mut limits = request::PAGES.into_iter();
            let mut limit = limits.next().unwrap_or(1);
            for _ in 0..RESTARTS {
                match self.pages(resource, namespace, form, &|token| path(limit, token), seen).await {
                    Ok(Pages::Whole(listing)) => return Ok(Ok(listing)),
                    Ok(Pages::Forbidden) => return Ok(Err(ListError::Forbidden)),
                    Ok(Pages::Expired) => {}
                    Ok(Pages::Misfit(what)) => why = Broken::Garbled(what),
                    Err(Broken::TooLong) => {
                        why = Broken::TooLong;
                        limit = limits.next().unwrap_or(1);
                    }
                    Err(broken) => return Err(broken),
                }
            }
            Err(why)
        };
        match self.runtime.block_on(self.link.in_time(listing)) {
            Ok(Ok(listing)) => Ok(listing),
            Ok(Err(error)) => Err(error),
            Err(broken) => Err(ListError::Broken(broken)),
        }
    }

    async fn pages(
        &self,
        resource: &Resource,
        namespace: Option<&Namespace>,
        form: Portion,
        path: &dyn Fn(&str) -> String,
        seen: &dyn Fn(usize),
    ) -> Result<Pages, Broken> {
        let mut listing = Vec::new();
        let mut held = 0_usize;
        let mut state: Option<String> = None;
        let mut expected: Option<u64> = None;
        let mut token = String::new();
        let mut tokens = BTreeSet::new();
        loop {
            let path = path(&token);
            let understood = |reply: Reply| match reply {
                Reply::Found(node) => Ok(Turned::Page(request::page(node, resource, namespace, form)?)),
                Reply::Forbidden => Ok(Turned::Forbidden),
                Reply::Gone => Ok(Turned::Expired),
                // The kind was there a moment ago.
                Reply::NotFound(_) => Err(Broken::Status(404)),
            };
            let ask = match &resource.kind {
                _ if form == Portion::Arrivals => Ask::Arrivals,
                kind if request::is_inventory(kind) => Ask::Inventory,
                kind if is_resource_set(kind) => Ask::ResourceSets,
                _ => Ask::List,
            };
            let page = match self.link.get(&path, form.of_list(), ask, understood).await? {
                Turned::Page(page) => page,
                Turned::Forbidden => return Ok(Pages::Forbidden),
                Turned::Expired => return Ok(Pages::Expired),
            };
            // A server may give everything on one page, but not more than asked for on one page of several.
            let [largest, ..] = request::PAGES;
            if page.items.len() > largest && !page.token.is_empty() {
                return Ok(Pages::Misfit("a page of a list is longer than was asked for"));
            }
            if listing.len() + page.items.len() > MOST_LISTED {
                return Err(Broken::TooLong);
            }
            held = page.items.iter().map(|(_, _, node)| held_by(node)).fold(held, usize::saturating_add);
            self.has_room(form, held)?;
            let count = u64::try_from(page.items.len()).unwrap_or(u64::MAX);
            let total = page.remaining.map_or_else(|| page.token.is_empty().then_some(count), |r| count.checked_add(r));
            if expected.is_some() && total.is_some() && expected != total {
                return Ok(Pages::Misfit("pages of a list are missing, or come twice"));
            }
            expected = page.remaining;
            if state.get_or_insert_with(|| page.version.clone()) != &page.version {
                return Ok(Pages::Misfit("pages of a list show different states"));
            }
            listing.extend(page.items);
            seen(listing.len());
            if page.token.is_empty() {
                break;
            }
            if !tokens.insert(page.token.clone()) {
                return Ok(Pages::Misfit("a list does not come to its end"));
            }
            token = page.token;
        }
        listing.sort_by(|a, b| a.0.cmp(&b.0));
        if listing.windows(2).any(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
            return Ok(Pages::Misfit("a list has one object twice"));
        }
        self.take_room(form, held)?;
        let number = state.filter(|state| state.bytes().all(|byte| byte.is_ascii_digit()));
        let version = number.and_then(|number| number.parse().ok());
        Ok(Pages::Whole(Listing { items: listing, version }))
    }

    /// Asks for single objects of one kind. `seen` is told of each answer.
    ///
    /// # Errors
    /// Where the server as a whole cannot be asked.
    pub fn get(
        &self,
        resource: &Resource,
        keys: Vec<ObjectKey>,
        form: Portion,
        seen: &dyn Fn(),
    ) -> Result<Vec<(ObjectKey, Got)>, Broken> {
        let fate = Fate::default();
        let asked = futures_util::stream::iter(keys).map(|key| async {
            let got = self.one(resource, &key, form, &fate).await;
            seen();
            (key, got)
        });
        let gathered = async {
            let mut answers = Vec::new();
            let mut asked = std::pin::pin!(asked.buffer_unordered(IN_FLIGHT));
            while let Some((key, got)) = asked.next().await {
                let got = got?;
                if let Got::Found(node, _) = &got {
                    self.take_room(form, held_by(node))?;
                }
                answers.push((key, got));
            }
            Ok(answers)
        };
        let mut answers = self.runtime.block_on(self.link.in_time(gathered))?;
        answers.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(answers)
    }

    /// Creates an object that must not exist yet, from a YAML document that is never sent twice.
    ///
    /// # Errors
    /// Where there is no answer; after [`Trial::Real`] it is then unknown whether the object was made.
    pub fn create(
        &self,
        resource: &Resource,
        key: &ObjectKey,
        document: &str,
        trial: Trial,
    ) -> Result<Created, Broken> {
        let path = resource.create_path(key.namespace.as_ref(), trial);
        let status = self.runtime.block_on(self.link.in_time(self.link.post(&path, document)))?;
        match status {
            200..=202 => Ok(Created::Made),
            409 => Ok(Created::There),
            403 => Ok(Created::Forbidden),
            404 => Ok(Created::NoNamespace),
            status => Err(Broken::Status(status)),
        }
    }

    async fn one(&self, resource: &Resource, key: &ObjectKey, form: Portion, fate: &Fate) -> Result<Got, Broken> {
        if !fate.answered.get() && fate.failures.get() >= FAILURES {
            return Ok(Got::Failed(Broken::Garbled("it failed at other objects of the kind")));
        }
        let understood = |reply: Reply| match reply {
            Reply::Found(node) => {
                let (node, stamp) = request::object(node, resource, key, form)?;
                Ok(Got::Found(node, stamp))
            }
            Reply::NotFound(Some(status)) if request::says_absent(&status, resource, key) => Ok(Got::Absent),
            Reply::NotFound(_) => Err(Broken::Garbled("it answered 404, and not that this object is absent")),
            Reply::Forbidden => Ok(Got::Forbidden),
            Reply::Gone => Err(Broken::Status(410)),
        };
        match self.link.get(&resource.path(key), form.of_object(), Ask::Object, understood).await {
            Ok(got) => {
                fate.answered.set(true);
                Ok(got)
            }
            Err(broken) if broken.is_of_server() => Err(broken),
            Err(broken) => {
                fate.failures.update(|failures| failures + 1);
                Ok(Got::Failed(broken))
            }
        }
    }
}

/// The result of making an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Created {
    /// It is made.
    Made,
    /// An object of that name exists already, and stays as it is.
    There,
    /// The user may not make it.
    Forbidden,
    /// Its namespace does not exist.
    NoNamespace,
}

/// How asking for the objects of one kind, or sending them, has gone.
#[derive(Default)]
struct Fate {
    answered: Cell<bool>,
    failures: Cell<usize>,
}

/// The result of reading all pages of a list.
enum Pages {
    Whole(Listing),
    Forbidden,
    Expired,
    Misfit(&'static str),
}

/// The result of reading one page.
enum Turned {
    Page(request::Page),
    Forbidden,
    Expired,
}

impl Served {
    /// The resource of a kind; none if the kind is not served.
    pub fn resource(&self, kind: &GroupKind) -> Option<Resource> {
        core_resource(kind).or_else(|| self.kinds.get(kind).map(|(resource, _)| resource.clone()))
    }

    /// Notes a kind in one version; the newest version is the one that will be asked for.
    fn add(&mut self, resource: Resource) {
        let version = resource.version.clone();
        match self.kinds.get_mut(&resource.kind) {
            None => _ = self.kinds.insert(resource.kind.clone(), (resource, vec![version])),
            Some((known, versions)) => {
                if version_priority(&version, &known.version).is_gt() {
                    *known = resource;
                }
                versions.push(version);
                versions.sort_by(|a, b| version_priority(b, a));
            }
        }
    }
}

/// The kinds of the core group that are ever read.
pub fn core_resource(kind: &GroupKind) -> Option<Resource> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => Some(Resource::core("Secret", "secrets", Scope::Namespaced)),
        ("", "ConfigMap") => Some(Resource::core("ConfigMap", "configmaps", Scope::Namespaced)),
        ("", "Namespace") => Some(Resource::namespaces()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_to_those_alone_who_have_it() {
        let told = |is_part: bool| {
            let broken = Broken::NoRoom { bytes: 3 << 20, is_part };
            format!("{}. {}", broken.what(), broken.help())
        };
        assert!(told(true).contains("its part of limits.memory, 3 MiB"), "{}", told(true));
        assert!(told(false).contains("than this run may take, 3 MiB"), "{}", told(false));
        assert!(!told(false).contains("limits.memory"), "{}", told(false));
    }

    #[test]
    fn what_a_server_may_have_done_is_no_refusal() {
        for (broken, expect) in [
            (Broken::Status(307), true),
            (Broken::Status(422), true),
            (Broken::Status(429), true),
            (Broken::Unauthorized, true),
            (Broken::Status(500), false),
            (Broken::TimedOut, false),
            (Broken::Connection("the connection was lost"), false),
        ] {
            assert_eq!(broken.is_refusal(), expect, "{broken:?}");
        }
    }
}
