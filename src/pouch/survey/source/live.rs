//! A live cluster as a source: asked piece by piece, then looked at a second time.
//!
//! [`Live::begin`] finds out which cluster it is and what it serves, [`Live::list`] reads the kinds of
//! which everything is needed, [`Live::ask`] the objects that closures want. What was read at different
//! moments is one state of the cluster only if nothing changed in between: [`Live::prove`] looks at
//! everything again, at metadata alone, and names what differs. What the objects mean is not known
//! here, and neither is HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pouch_core::config::{Fleet, Source};
use pouch_core::finding::{Origin, Place};
use pouch_core::inquiry::{self, IDENTITY_NAMESPACE, ListedKind, Ruled};
use pouch_core::inventory::looked::is_uid;
use pouch_core::k0rdent;
use pouch_core::name::{GroupKind, Name, Namespace, ObjectKey, SourceName, is_dns_label, is_dns_subdomain};
use pouch_core::node::{Key, Node};
use pouch_core::snapshot::{Answer, Inquiry, Reading, Reason};
use pouch_core::stamp::SourceStamp;

use super::reading::SourceError;
use crate::cluster::request::{Portion, Resource, Stamp};
use crate::cluster::{Broken, Cluster, Got, ListError, Served};
use crate::survey::last::Last;

/// Whether Secrets are read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// They are.
    Read,
    /// They are not: the question does not depend on them.
    Leave,
    /// They are not, and each Secret that is asked for counts as present: the question is what would be done with
    /// it, as far as its name tells.
    Unseen,
    /// They are not, and each that is asked for counts as present except for some: the question is what would
    /// be needed if nothing were missing.
    Presume {
        /// Secrets that are taken to be absent.
        absent: Arc<BTreeSet<ObjectKey>>,
    },
}

/// A cluster that is being read.
pub struct Live {
    cluster: Cluster,
    name: SourceName,
    origin: Origin,
    values: Values,
    served: Served,
    identity: String,
    documents: Vec<(Node, Origin)>,
    inquiry: Inquiry,
    lists: Vec<SeenList>,
    /// The oldest state of the cluster that a list shows.
    version: Option<u64>,
    /// True if a list had no number for its state.
    is_unnumbered: bool,
    /// True if that was said.
    is_told: bool,
    seen: BTreeMap<ObjectKey, Seen>,
    /// What was asked for by name, in the order of asking.
    order: Vec<(GroupKind, Vec<ObjectKey>)>,
}

/// A list as it was read.
struct SeenList {
    resource: Resource,
    namespace: Option<Namespace>,
    stamps: Vec<(ObjectKey, Stamp)>,
}

/// The answer about an object that was asked for by name.
#[derive(PartialEq, Eq)]
enum Seen {
    Stamped(Stamp),
    Absent,
    Unread,
}

/// What differs in the second look.
pub struct Changed {
    /// The object.
    pub key: ObjectKey,
    /// How it differs, as a clause for people.
    pub why: String,
}

impl Live {
    /// Makes a source of a connected cluster.
    pub fn new(source: &Source, cluster: Cluster, values: Values) -> Self {
        let place = Place::Cluster { context: cluster.context.clone() };
        Self {
            origin: Origin { source: source.name.clone(), place },
            name: source.name.clone(),
            cluster,
            values,
            served: Served::default(),
            identity: String::new(),
            documents: Vec::new(),
            inquiry: Inquiry::default(),
            lists: Vec::new(),
            version: None,
            is_unnumbered: false,
            is_told: false,
            seen: BTreeMap::new(),
            order: Vec::new(),
        }
    }

    /// The source's name.
    pub fn name(&self) -> &SourceName {
        &self.name
    }

    /// The kubeconfig's context.
    pub fn context(&self) -> &Arc<str> {
        &self.cluster.context
    }

    /// The UID of the cluster's `kube-system`.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Which state of which cluster was read, if it says so.
    pub fn stamp(&self) -> Option<SourceStamp> {
        let version = self.version.filter(|_| !self.is_unnumbered)?;
        Some(SourceStamp::of_cluster(self.name.as_str(), &self.identity, version))
    }

    /// Says once that an older state of the cluster could not be told from a newer one, if that is so.
    pub fn warning(&mut self) -> Option<String> {
        let is_new = self.is_unnumbered && !std::mem::replace(&mut self.is_told, true);
        let warning = || {
            format!(
                "source {}: the states of cluster {} have no numbers (`resourceVersion`), so an older one cannot be told",
                self.name,
                self.context()
            )
        };
        is_new.then(warning)
    }

    /// Refuses another cluster than the one that an earlier run read, of a source on which others do not depend: then it is
    /// unknown which cluster it is. One on which all depend holds the regions.
    pub fn is_the_same(&mut self, source: &Source, last: &Last) -> Result<(), SourceError> {
        if source.provides.cluster_scoped || !last.is_another_cluster(self.name.as_str(), &self.identity) {
            return Ok(());
        }
        let identity = std::mem::take(&mut self.identity);
        let message = format!("cluster {} is now {identity}, and an earlier run read another one", self.context());
        let help = format!("If this is intended, pass --accept-source REGION={identity} once for each region.");
        Err(self.error(message, help))
    }

    /// Refuses what was listed if an earlier run read a later state of the cluster.
    pub fn is_no_older(&self, last: &Last) -> Result<(), SourceError> {
        let Some(now) = self.stamp() else { return Ok(()) };
        match last.before(&now).into_iter().find(|before| **before > now.state) {
            Some(then) => {
                let message = format!(
                    "cluster {} is at state {}, and an earlier run read state {then}: etcd was restored, or what answers \
                     lags behind",
                    self.context(),
                    now.state
                );
                Err(SourceError::stale(&self.name, message, last.help(&now)))
            }
            None => Ok(()),
        }
    }

    /// How many requests went out so far.
    pub fn requests(&self) -> usize {
        self.cluster.requests()
    }

    /// Takes out, at the end, the objects that were asked for by name, whatever the answer, and the kinds that
    /// the cluster serves.
    pub fn take_asked(&mut self) -> (BTreeSet<ObjectKey>, Vec<Resource>) {
        let asked = std::mem::take(&mut self.seen).into_keys().filter(|key| !key.kind.is_namespace());
        let kinds = std::mem::take(&mut self.served.kinds).into_values().map(|(resource, _)| resource);
        (asked.collect(), kinds.collect())
    }

    /// Starts over: finds out which cluster it is and what it serves. What is read of it may take so many bytes of memory.
    ///
    /// # Errors
    /// Where the cluster cannot be asked, or is not the kind of cluster that the configuration means.
    pub fn begin(&mut self, fleet: &Fleet, source: &Source, memory: usize) -> Result<(), SourceError> {
        self.cluster.set_room(memory);
        self.documents.clear();
        self.inquiry = Inquiry::default();
        self.lists.clear();
        self.version = None;
        self.is_unnumbered = false;
        self.seen.clear();
        self.order.clear();
        let groups: BTreeSet<&str> = inquiry::groups(fleet).into_iter().chain([k0rdent::GROUP]).collect();
        self.served = self.cluster.discover(groups).map_err(|broken| self.unreachable("its API groups", &broken))?;
        for (kind, (resource, versions)) in &self.served.kinds {
            self.inquiry.served.insert(kind.clone(), (resource.scope, versions.clone()));
        }
        let namespaces = inquiry::identity_namespaces(fleet, source);
        let keys: Vec<ObjectKey> = namespaces.iter().map(ObjectKey::namespace).collect();
        let resource = Resource::namespaces();
        self.order.push((resource.kind.clone(), keys.clone()));
        let got = self.cluster.get(&resource, keys, Portion::Metadata, &|| {});
        for (key, got) in got.map_err(|broken| self.unreachable("its namespaces", &broken))? {
            let seen = match got {
                Got::Found(node, stamp) => {
                    if key.name == *IDENTITY_NAMESPACE {
                        let uid = node.str_at(&["metadata", "uid"]).filter(|uid| is_uid(uid));
                        // It stands in every region's bundle, and in what people are told to type.
                        let message = || format!("cluster {} has no UID that one could be told by", self.context());
                        let help =
                            "Check what is between pouch and the API server: namespace kube-system has none like it.";
                        uid.ok_or_else(|| self.error(message(), help))?.clone_into(&mut self.identity);
                    }
                    Seen::Stamped(stamp)
                }
                Got::Absent => return Err(self.no_namespace(&key.name)),
                Got::Forbidden => return Err(self.refused("get", &resource, None, Some(&key.name))),
                Got::Failed(broken) => return Err(self.unreachable(&format!("namespace {}", key.name), &broken)),
            };
            self.seen.insert(key, seen);
        }
        Ok(())
    }

    fn no_namespace(&self, name: &Name) -> SourceError {
        self.error(
            format!("cluster {} has no namespace {name}", self.context()),
            "Check that this is k0rdent's management cluster, and that `systemNamespace` of the configuration names \
             the namespace that k0rdent runs in.",
        )
    }

    /// Lists a kind. `seen` is told how many objects there are so far. Gives their number.
    ///
    /// # Errors
    /// Where the kind cannot be listed, and nothing can be read without it.
    pub fn list(&mut self, listed: &ListedKind, seen: &dyn Fn(usize)) -> Result<usize, SourceError> {
        let Some(resource) = self.served.resource(&listed.kind) else {
            return self.unserved(listed);
        };
        let mut count = 0;
        let places: Vec<Option<Namespace>> = match &listed.namespaces {
            None => vec![None],
            Some(namespaces) => namespaces.iter().cloned().map(Some).collect(),
        };
        for namespace in places {
            let before = count;
            let told = |number: usize| seen(number + before);
            let listing = match self.cluster.list(&resource, namespace.as_ref(), Portion::Whole, &told) {
                Ok(listing) => listing,
                Err(ListError::Forbidden) if listed.may_be_refused => {
                    let reason = self.may_not("list", &resource, namespace.as_ref(), None);
                    self.inquiry.listed.insert(listed.kind.clone(), Err(reason));
                    return Ok(count);
                }
                Err(ListError::Forbidden) => return Err(self.refused("list", &resource, namespace.as_ref(), None)),
                Err(ListError::Broken(broken)) => return Err(self.unreachable(&resource.name(), &broken)),
            };
            self.version = self.version.into_iter().chain(listing.version).min();
            self.is_unnumbered |= listing.version.is_none();
            count += listing.items.len();
            let mut stamps = Vec::with_capacity(listing.items.len());
            for (key, stamp, node) in listing.items {
                stamps.push((key, stamp));
                self.documents.push((node, self.origin.clone()));
            }
            self.lists.push(SeenList { resource: resource.clone(), namespace, stamps });
        }
        self.inquiry.listed.insert(listed.kind.clone(), Ok(()));
        Ok(count)
    }

    /// Reads what ResourceSyncRules may take: looks at the metadata of everything where that is asked for, and asks for what
    /// is named or may match. Gives how many objects that are.
    ///
    /// # Errors
    /// Where the cluster does not answer.
    pub fn read_ruled(&mut self, ruled: &Ruled) -> Result<usize, SourceError> {
        let kind = &ruled.kind;
        let mut keys = ruled.named.clone();
        if self.served.resource(kind).is_none() && !self.served.unknown.contains_key(kind.group.as_str()) {
            std::mem::take(&mut keys).into_iter().for_each(|key| self.inquiry.answered(key, Ok(())));
        }
        let places: Vec<Option<Namespace>> = match ruled.listed.as_ref().map(|listed| &listed.namespaces) {
            None => Vec::new(),
            Some(None) => vec![None],
            Some(Some(namespaces)) => namespaces.iter().cloned().map(Some).collect(),
        };
        for namespace in places {
            if let Some(told) = self.look_through(ruled, namespace.as_ref(), &mut keys)? {
                self.inquiry.matched(kind.clone(), namespace, told);
            }
        }
        let (mut count, mut documents) = (0, Vec::new());
        for (key, answer) in self.ask(kind, keys.into_iter().collect(), &|| {})? {
            match answer {
                Answer::Found(node, origin) => {
                    documents.push((node, origin));
                    self.inquiry.answered(key, Ok(()));
                    count += 1;
                }
                Answer::Absent => self.inquiry.answered(key, Ok(())),
                // Where no Secret is to be looked at, nobody is to be told that one was not.
                Answer::Unread(reason) | Answer::Sealed(reason) if !kind.is_secret() || self.values == Values::Read => {
                    self.inquiry.matched(kind.clone(), key.namespace.clone(), Err(reason.clone()));
                    self.inquiry.answered(key, Err(reason));
                }
                Answer::Unread(_) | Answer::Sealed(_) | Answer::Unseen(..) => {}
            }
        }
        self.documents.append(&mut documents);
        Ok(count)
    }

    /// Looks at the metadata of all objects in a place, and adds those that a rule may take; says why, if it may not.
    fn look_through(
        &mut self,
        ruled: &Ruled,
        namespace: Option<&Namespace>,
        keys: &mut BTreeSet<ObjectKey>,
    ) -> Result<Option<Result<(), Reason>>, SourceError> {
        if ruled.kind.is_secret() && self.values != Values::Read {
            return Ok(None);
        }
        let Some(resource) = self.served.resource(&ruled.kind) else {
            // As of the kinds behind Clusters: a cluster that is known not to serve a kind has no such object.
            let is_known = !self.served.unknown.contains_key(ruled.kind.group.as_str());
            return Ok(Some(if is_known { Ok(()) } else { Err(self.not_served(&ruled.kind)) }));
        };
        match self.cluster.list(&resource, namespace, Portion::Metadata, &|_| {}) {
            Ok(listing) => {
                let found = listing.items.into_iter();
                let may_take = |(key, _, node): (ObjectKey, Stamp, Node)| {
                    ruled.may_take(&key, node.at(&["metadata", "labels"])).then_some(key)
                };
                keys.extend(found.filter_map(may_take));
                Ok(Some(Ok(())))
            }
            Err(ListError::Forbidden) => Ok(Some(Err(self.may_not("list", &resource, namespace, None)))),
            Err(ListError::Broken(broken)) => Err(self.unreachable(&resource.name(), &broken)),
        }
    }

    /// Handles a kind that the cluster does not serve.
    fn unserved(&mut self, listed: &ListedKind) -> Result<usize, SourceError> {
        if let Some(broken) = self.served.unknown.get(listed.kind.group.as_str()) {
            return Err(self.unreachable(&format!("the API group {}", listed.kind.group), broken));
        }
        if listed.may_be_absent {
            self.inquiry.listed.insert(listed.kind.clone(), Ok(()));
            return Ok(0);
        }
        let message = format!("cluster {} serves no {}", self.context(), listed.kind);
        if listed.needed {
            let help = "Check that the context is that of k0rdent's management cluster, and that k0rdent is installed.";
            return Err(self.error(message, help));
        }
        let help = match listed.kind.group == k0rdent::GROUP {
            true => "Install k0rdent's CRDs; until then what its objects decide is unknown.".to_owned(),
            false => format!("Install the CRD of {}; until then what its objects say is unknown.", listed.kind),
        };
        self.inquiry.listed.insert(listed.kind.clone(), Err(Reason::new(message, help)));
        Ok(0)
    }

    /// Whether a rule among what was listed selects namespaces.
    pub fn selects_namespaces(&self) -> bool {
        inquiry::select_namespaces(self.documents.iter().map(|(document, _)| document))
    }

    /// What was listed so far.
    pub fn documents(&self) -> &[(Node, Origin)] {
        &self.documents
    }

    /// What was listed, as the snapshot begins with it.
    pub fn reading(&mut self) -> Reading {
        Reading {
            documents: std::mem::take(&mut self.documents),
            complete: true,
            inquiry: Some(std::mem::take(&mut self.inquiry)),
            cluster: Some(self.identity.clone()).filter(|identity| !identity.is_empty()),
            ..Reading::default()
        }
    }

    /// Asks for objects of one kind by name.
    pub fn ask(
        &mut self,
        kind: &GroupKind,
        keys: Vec<ObjectKey>,
        seen: &dyn Fn(),
    ) -> Result<Vec<(ObjectKey, Answer)>, SourceError> {
        if kind.is_secret() && self.values != Values::Read {
            let answers = keys.into_iter().map(|key| {
                let answer = self.unseen(&key);
                self.note(key, Seen::Unread, answer)
            });
            return Ok(answers.collect());
        }
        let Some(resource) = self.served.resource(kind) else {
            let reason = self.not_served(kind);
            let answer = |key| (key, Answer::Unread(reason.clone()));
            return Ok(keys.into_iter().map(answer).collect());
        };
        let got = self.cluster.get(&resource, keys.clone(), Portion::Whole, seen);
        let got = got.map_err(|broken| self.unreachable(&resource.name(), &broken))?;
        self.order.push((kind.clone(), keys));
        let mut answers = Vec::with_capacity(got.len());
        for (key, got) in got {
            answers.push(match got {
                Got::Found(node, stamp) => {
                    let answer = Answer::Found(node, self.origin.clone());
                    self.note(key, Seen::Stamped(stamp), answer)
                }
                Got::Absent => self.note(key, Seen::Absent, Answer::Absent),
                Got::Forbidden => {
                    let reason = self.may_not("get", &resource, key.namespace.as_ref(), Some(&key.name));
                    self.note(key, Seen::Unread, Answer::Unread(reason))
                }
                Got::Failed(broken) => {
                    let why = format!(
                        "asked for {}, cluster {} is in trouble: {}",
                        resource.name(),
                        self.context(),
                        broken.what()
                    );
                    self.note(key, Seen::Unread, Answer::Unread(Reason::new(why, broken.help())))
                }
            });
        }
        Ok(answers)
    }

    /// The answer about a Secret that is not looked at.
    fn unseen(&self, key: &ObjectKey) -> Answer {
        let absent = match &self.values {
            Values::Presume { absent } => Some(absent),
            Values::Unseen => None,
            Values::Read | Values::Leave => return Answer::Unread(not_read()),
        };
        let place = key.namespace.as_ref().is_some_and(|namespace| is_dns_label(namespace.as_str()));
        // No API server has a Secret with a name of another form.
        let possible = place && is_dns_subdomain(key.name.as_str());
        match possible && !absent.is_some_and(|absent| absent.contains(key)) {
            true => Answer::Unseen(presumed(key), self.origin.clone()),
            false => Answer::Absent,
        }
    }

    fn note(&mut self, key: ObjectKey, seen: Seen, answer: Answer) -> (ObjectKey, Answer) {
        self.seen.insert(key.clone(), seen);
        (key, answer)
    }

    fn not_served(&self, kind: &GroupKind) -> Reason {
        let context = self.context();
        match self.served.unknown.get(kind.group.as_str()) {
            Some(broken) => Reason::new(
                format!("the API group {} of cluster {context} is in trouble: {}", kind.group, broken.what()),
                broken.help(),
            ),
            None => Reason::new(
                format!("cluster {context} serves no {kind}"),
                "Install the provider's CRDs there, or correct the reference.",
            ),
        }
    }

    /// Looks at everything again, in the order of the first look, and says what changed.
    ///
    /// An object with the same stamp in both looks did not change between them: at the moment when the first
    /// look ended, all that was found stood together. Absence in both looks is less certain: an object may have
    /// been made and removed in between.
    pub fn prove(&mut self, seen: &dyn Fn()) -> Result<Vec<Changed>, SourceError> {
        let mut changed = Vec::new();
        for list in &self.lists {
            let listing = self.cluster.list(&list.resource, list.namespace.as_ref(), Portion::Metadata, &|_| seen());
            let listing = match listing {
                Ok(listing) => listing.items,
                Err(ListError::Forbidden) => {
                    return Err(self.refused("list", &list.resource, list.namespace.as_ref(), None));
                }
                Err(ListError::Broken(broken)) => return Err(self.unreachable(&list.resource.name(), &broken)),
            };
            let same = listing.len() == list.stamps.len()
                && listing.iter().zip(&list.stamps).all(|(now, then)| now.0 == then.0 && now.1 == then.1);
            if !same {
                let now: BTreeSet<_> = listing.iter().map(|(key, stamp, _)| (key, stamp)).collect();
                let then: BTreeSet<_> = list.stamps.iter().map(|(key, stamp)| (key, stamp)).collect();
                let keys: BTreeSet<&ObjectKey> = now.symmetric_difference(&then).map(|(key, _)| *key).collect();
                changed.extend(keys.into_iter().map(|key| self.changed(key, "changed")));
            }
        }
        for (kind, keys) in self.order.clone() {
            let Some(resource) = self.served.resource(&kind) else { continue };
            let got = self.cluster.get(&resource, keys, Portion::Metadata, seen);
            for (key, got) in got.map_err(|broken| self.unreachable(&resource.name(), &broken))? {
                let now = match got {
                    Got::Found(node, _) if key.kind.is_namespace() && key.name == *IDENTITY_NAMESPACE => {
                        if node.str_at(&["metadata", "uid"]) != Some(&self.identity) {
                            let message = format!("cluster {} is another one than a moment ago", self.context());
                            return Err(self.error(message, "Check what is between pouch and the API server."));
                        }
                        continue;
                    }
                    Got::Found(_, stamp) => Seen::Stamped(stamp),
                    Got::Absent => Seen::Absent,
                    Got::Forbidden | Got::Failed(_) => Seen::Unread,
                };
                if self.seen.get(&key) != Some(&now) {
                    let what = if now == Seen::Unread { "could not be read again" } else { "changed" };
                    changed.push(self.changed(&key, what));
                }
            }
        }
        Ok(changed)
    }

    /// Everything that was read, where a second look at it was not to be had.
    pub fn all(&self) -> Vec<Changed> {
        let listed = self.lists.iter().flat_map(|list| &list.stamps).map(|(key, _)| key);
        listed.chain(self.seen.keys()).map(|key| self.changed(key, "could not be looked at again")).collect()
    }

    fn changed(&self, key: &ObjectKey, what: &str) -> Changed {
        Changed { key: key.clone(), why: format!("{key} of cluster {} {what}", self.context()) }
    }

    fn error(&self, message: impl Into<String>, help: impl Into<String>) -> SourceError {
        SourceError::new(&self.name, message, help)
    }

    /// The cluster as a whole cannot be asked.
    fn unreachable(&self, what: &str, broken: &Broken) -> SourceError {
        let message = match broken {
            Broken::Late { .. } => format!("cluster {}: {}", self.context(), broken.what()),
            _ => self.cluster.trouble(what, broken),
        };
        self.error(message, broken.help())
    }

    fn may_not(&self, verb: &str, resource: &Resource, place: Option<&Namespace>, name: Option<&Name>) -> Reason {
        Reason::new(
            self.cluster.refusal(verb, resource, place, name),
            "Grant it: `pouch rbac` prints the rules that this configuration needs.",
        )
    }

    fn refused(&self, verb: &str, resource: &Resource, place: Option<&Namespace>, name: Option<&Name>) -> SourceError {
        let Reason { why, help, .. } = self.may_not(verb, resource, place, name);
        self.error(why, help)
    }
}

/// A Secret of which only the name is known.
fn presumed(key: &ObjectKey) -> Node {
    let text = |name: &str, text: &str| (Key::from(name), Node::text(text));
    let metadata = Node::map(vec![text("name", key.name.as_str()), text("namespace", key.namespace_text())]);
    Node::map(vec![text("apiVersion", "v1"), text("kind", "Secret"), (Key::from("metadata"), metadata)])
}

fn not_read() -> Reason {
    let why = "values of Secrets were not asked for".to_owned();
    Reason::new(why, "This run reads no Secrets.")
}
