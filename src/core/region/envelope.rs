//! Envelopes: what pouch makes for guest clusters, as objects.
//!
//! A payload of a ClusterResourceSet holds one object of the sources, sanitised as everything that is published, in one
//! entry. What follows sees an object as any other, with that entry: it is sealed, tagged and compared by it. Without a reuse
//! key, and of a Secret of which nobody looked at the values, the entry is there and its value is not.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use super::content::Order;
use crate::admission::tenancy_of;
use crate::capi::resource_set::{PAYLOAD_TYPE, resource_set_kind};
use crate::claim::guest::{self, NEWEST};
use crate::claim::{Edit, GuestSet, Own, Parcel, parcel};
use crate::config::{Expression, Fleet, GuestGroup};
use crate::finding::Origin;
use crate::hash::sha256_hex;
use crate::layout::manifest::Guest;
use crate::layout::sanitise::sanitise;
use crate::layout::{Marks, Style, namespace};
use crate::name::{Directory, GroupKind, Name, Namespace, ObjectKey, Version};
use crate::node::{Key, Node};
use crate::object::Object;
use crate::reuse::{ReuseKey, guest_line};
use crate::secret::{Payload, SecretBytes};
use crate::snapshot::Snapshot;
use crate::yaml::emit::emit;

/// The entry of a payload.
const ENTRY: &str = "objects.yaml";

/// What is published: an object that was read, or one that pouch makes.
pub enum Source<'s> {
    /// One that was read.
    Read(&'s Object),
    /// One that pouch makes, and what of it is for guests.
    Made(Box<Object>, Option<Guest>),
}

impl Deref for Source<'_> {
    type Target = Object;

    fn deref(&self) -> &Object {
        match self {
            Source::Read(object) => object,
            Source::Made(object, _) => object,
        }
    }
}

impl Source<'_> {
    /// What of it is for guests.
    pub(super) fn guest(&self) -> Option<&Guest> {
        match self {
            Source::Read(_) => None,
            Source::Made(_, guest) => guest.as_ref(),
        }
    }
}

/// What envelopes are made with.
#[derive(Clone, Copy)]
pub struct Envelopes<'a> {
    /// The configuration.
    pub fleet: &'a Fleet,
    /// The folder of the region.
    pub directory: &'a Directory,
    /// The reuse key, if there is one.
    pub key: Option<&'a ReuseKey>,
}

impl Order {
    /// What is published by the order; none if it vanished.
    pub fn source<'s>(&self, snapshot: &'s Snapshot, with: &Envelopes<'_>) -> Option<Source<'s>> {
        if let Some(own) = self.edits.iter().find_map(own) {
            return Some(of_pouch(&self.lands, own));
        }
        let object = snapshot.get(&self.read)?;
        Some(match parcel(&self.edits) {
            Some(parcel) => enclose(object, &self.lands, parcel, with),
            None => Source::Read(object),
        })
    }
}

/// Orders what delivers payloads of a group in a namespace: sets, and payloads with the Namespaces that are needed in
/// guests. `payloads` gives what each is in a guest, and `version` that of sets on the region.
pub fn delivering(
    group: &GuestGroup,
    namespace: &Namespace,
    payloads: &BTreeMap<Name, ObjectKey>,
    version: Option<&Version>,
) -> Vec<Order> {
    let (namespaces, sets) = guest::sets(group, payloads);
    let of_namespace = |(name, payload)| made(&ObjectKey::config_map(namespace.clone(), payload), Own::Namespace(name));
    let of_set = |set: GuestSet| {
        let key = ObjectKey::new(resource_set_kind(), Some(namespace.clone()), set.name.clone());
        made(&key, Own::Set(set, version.cloned()))
    };
    namespaces.into_iter().map(of_namespace).chain(sets.into_iter().map(of_set)).collect()
}

/// Orders what pouch makes itself.
pub(super) fn made(lands: &ObjectKey, own: Own) -> Order {
    Order { read: lands.clone(), lands: lands.clone(), edits: vec![Edit::Own(Arc::new(own))] }
}

fn own(edit: &Edit) -> Option<&Own> {
    match edit {
        Edit::Own(own) => Some(own),
        _ => None,
    }
}

/// Puts an object into a payload.
fn enclose<'s>(object: &'s Object, payload: &ObjectKey, parcel: &Parcel, with: &Envelopes<'_>) -> Source<'s> {
    let Parcel { lands, edits } = parcel;
    let tree = || sanitise(object, lands, edits, Marks::by(Style::Plain), tenancy_of(with.fleet, &lands.kind));
    let is_secret = payload.kind.is_secret();
    let secret_type = is_secret.then(|| object.body.str_at(&["type"]).unwrap_or("Opaque").to_owned());
    let mut guest = Guest { key: lands.clone(), secret_type, sha256: None };
    if !is_secret {
        let text = emit(&tree());
        guest.sha256 = Some(sha256_hex(text.as_bytes()));
        let data = map([(ENTRY, Node::text(&text))]);
        let made = object_of(payload, "v1".into(), object.origin.clone(), map([("data", data)]));
        return Source::Made(Box::new(made), Some(guest));
    }
    let entry = |bytes| Payload::new(Vec::from([(Key::from(ENTRY), SecretBytes::new(bytes))]));
    let is_seen = object.payload.as_ref().is_some_and(Payload::is_seen);
    let values = match with.key.filter(|_| is_seen) {
        None => entry(Vec::new()).unseen(),
        Some(key) => {
            let text = emit(&tree());
            let line = guest_line(key, (&with.fleet.name, with.directory), payload, lands, text.as_bytes());
            let bytes = [line.as_bytes(), text.as_bytes()].concat();
            guest.sha256 = Some(sha256_hex(&bytes));
            entry(bytes)
        }
    };
    let body = map([("type", Node::text(PAYLOAD_TYPE))]);
    let made = object_of(payload, "v1".into(), object.origin.clone(), body);
    Source::Made(Box::new(Object { payload: Some(values), ..made }), Some(guest))
}

/// What pouch makes of nothing that it read.
fn of_pouch<'s>(lands: &ObjectKey, own: &Own) -> Source<'s> {
    let origin = Origin::configuration();
    match own {
        Own::Namespace(name) => {
            let text = emit(&namespace::tree(name, None, Style::Plain));
            let sha256 = Some(sha256_hex(text.as_bytes()));
            let data = map([(ENTRY, Node::text(&text))]);
            let made = object_of(lands, "v1".into(), origin, map([("data", data)]));
            let guest = Guest { key: ObjectKey::namespace(name), secret_type: None, sha256 };
            Source::Made(Box::new(made), Some(guest))
        }
        Own::Set(set, version) => {
            let version = version.clone().unwrap_or_else(|| NEWEST.into());
            Source::Made(Box::new(object_of(lands, version, origin, map([("spec", spec(set))]))), None)
        }
    }
}

fn spec(set: &GuestSet) -> Node {
    let strategy = if set.once { "ApplyOnce" } else { "Reconcile" };
    let resource = |(kind, name): &(GroupKind, Name)| {
        map([("kind", Node::text(kind.kind.as_str())), ("name", Node::text(name.as_str()))])
    };
    let labels = set.clusters.labels.iter().map(|(key, value)| (Key::from(key.as_str()), Node::text(value)));
    let labels = (!set.clusters.labels.is_empty()).then(|| ("matchLabels", Node::map(labels.collect())));
    let expression = |it: &Expression| {
        let values = Node::List(it.values.iter().map(|value| Node::text(value)).collect());
        let values = (!it.values.is_empty()).then_some(("values", values));
        map([("key", Node::text(&it.key)), ("operator", Node::text(it.operator.word()))].into_iter().chain(values))
    };
    let expressions = Node::List(set.clusters.expressions.iter().map(expression).collect());
    let expressions = (!set.clusters.expressions.is_empty()).then_some(("matchExpressions", expressions));
    map([
        ("clusterSelector", map(labels.into_iter().chain(expressions))),
        ("resources", Node::List(set.payloads.iter().map(resource).collect())),
        ("strategy", Node::text(strategy)),
    ])
}

fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
    Node::map(entries.into_iter().map(|(key, node)| (Key::from(key), node)).collect())
}

fn object_of(key: &ObjectKey, version: Version, origin: Origin, body: Node) -> Object {
    Object {
        key: key.clone(),
        version,
        origin,
        labels: Box::default(),
        annotations: Box::default(),
        silence: None,
        matched: None,
        deleting: false,
        made: false,
        ours: true,
        backed_up: false,
        body,
        payload: None,
        aside: None,
        faults: Vec::new(),
        stays: None,
        create_only: false,
    }
}
