//! Sealing: why a published Secret is sealed anew, and which of its entries change.
//!
//! Everything here is told and decides nothing: whether published bytes stay is decided by the file tag (`pack`).

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::change::{Action, Reason, Sealing, Values};
use super::content::Order;
use super::envelope::Envelopes;
use super::fields::{FieldChange, differences};
use super::history::filled_entries;
use super::input::Input;
use super::published::document;
use crate::claim::parcel;
use crate::layout::Marks;
use crate::layout::sanitise::{open_part, steers};
use crate::name::ObjectKey;
use crate::node::Node;
use crate::recipient::Recipient;
use crate::reuse::{self, EntryChange};
use crate::secret::Payload;
use crate::yaml::emit::emit;

/// What becomes of a published Secret that is sealed anew.
pub(super) struct Sealed {
    pub(super) action: Action,
    pub(super) lost_entries: Vec<String>,
    pub(super) entries: Vec<(String, EntryChange)>,
    pub(super) fields: Vec<FieldChange>,
    pub(super) sealing: Sealing,
}

/// Compares a published Secret with the one that is made anew. `is_same` says that its file tag proves both the same.
pub(super) fn sealed(input: &Input<'_>, order: &Order, is_same: bool) -> Sealed {
    let lands = &order.lands;
    let mut reasons: BTreeSet<Reason> = BTreeSet::new();
    if readers(input, lands).is_some_and(|readers| readers != input.terms.to.region.recipients) {
        reasons.insert(Reason::Recipients);
    }
    if input.terms.reseals() {
        reasons.insert(Reason::Asked);
    }
    let done = |action, values, reasons: BTreeSet<Reason>| Sealed {
        action,
        lost_entries: Vec::new(),
        entries: Vec::new(),
        fields: Vec::new(),
        sealing: Sealing { values, reasons: reasons.into_iter().collect() },
    };
    if is_same {
        let values = if input.terms.keys.is_blind() { Values::Unknown } else { Values::Same };
        reasons.extend(input.terms.keys.is_blind().then_some(Reason::NoValues));
        return done(Action::Resealed, values, reasons);
    }
    let Some(before) = input.published.document(lands) else {
        reasons.insert(Reason::File);
        return done(Action::Changed, Values::Unknown, reasons);
    };
    let fields = open_fields(input, order, &before, &mut reasons);
    let entries = changed_entries(input, order, &before);
    let is_certain = |(_, change): &(String, EntryChange)| *change != EntryChange::PerhapsChanged;
    let values = match entries.unknown {
        // The file tag tells that something differs: if nothing that stands open does, a value does.
        Some(Reason::NoTags) if fields.is_empty() => Values::Changed,
        None if entries.changes.is_empty() => Values::Same,
        _ if entries.changes.iter().any(is_certain) => Values::Changed,
        _ => Values::Unknown,
    };
    reasons.extend(entries.unknown);
    let action = match values {
        Values::Same if !reasons.contains(&Reason::Type) => Action::Resealed,
        _ => Action::Changed,
    };
    Sealed {
        lost_entries: lost_entries(input, order, &before),
        entries: entries.changes,
        fields,
        ..done(action, values, reasons)
    }
}

/// Who can read the published Secret.
fn readers<'i>(input: &Input<'i>, lands: &ObjectKey) -> Option<&'i [Recipient]> {
    Some(input.published.object(lands)?.readers(input.published.manifest()?))
}

/// What changes of a Secret outside its values.
fn open_fields(input: &Input<'_>, order: &Order, before: &Node, reasons: &mut BTreeSet<Reason>) -> Vec<FieldChange> {
    let Some(object) = order.source(input.terms.world.snapshot, &input.terms.envelopes()) else { return Vec::new() };
    let text = emit(&open_part(&object, &order.lands, &order.edits, Marks::of(&input.terms.to)));
    let Some(after) = document(text.as_bytes()) else { return Vec::new() };
    let nothing = Node::Map([].into());
    let open = |document: &Node| {
        let part = |name: &str| Some((name.into(), document.at(&[name])?.clone()));
        Node::Map(["metadata", "type"].into_iter().filter_map(part).collect())
    };
    for part in ["annotations", "labels"] {
        let [one, other] = [before, &after].map(|document| document.at(&["metadata", part]).unwrap_or(&nothing));
        let keys: BTreeSet<&str> = one.entries().iter().chain(other.entries()).map(|(key, _)| &**key).collect();
        let differs = keys.into_iter().filter(|key| one.get(key) != other.get(key));
        reasons.extend(differs.map(|key| if steers(key) { Reason::Delivery } else { Reason::Metadata }));
    }
    if before.str_at(&["type"]) != after.str_at(&["type"]) {
        reasons.insert(Reason::Type);
    }
    differences(&open(before), &open(&after))
}

/// Entries of a published Secret that the new one lacks or leaves empty.
fn lost_entries(input: &Input<'_>, order: &Order, document: &Node) -> Vec<String> {
    let stays = will_have(input, order);
    filled_entries(document).into_iter().filter(|name| !stays.contains(name)).collect()
}

/// Returns true if a value of a published Secret is known to be the one that was read.
pub(super) fn keeps_a_value(input: &Input<'_>, order: &Order) -> bool {
    let Some(document) = input.published.document(&order.lands) else { return false };
    let Entries { changes, unknown } = changed_entries(input, order, &document);
    let is_same = |name: &String| !changes.iter().any(|(changed, _)| changed == name);
    unknown.is_none() && filled_entries(&document).iter().any(is_same)
}

/// The entries of a Secret that is made anew, empty ones left out.
pub(super) fn will_have(input: &Input<'_>, order: &Order) -> BTreeSet<String> {
    let object = order.source(input.terms.world.snapshot, &input.terms.envelopes());
    let payload = object.as_ref().and_then(|object| object.payload.as_ref());
    let names = |payload: &'_ Payload| {
        let names = payload.entries().iter().map(|(name, _)| &**name);
        names.filter(|name| payload.may_have(name)).map(String::from).collect()
    };
    payload.map(names).unwrap_or_default()
}

/// What is known of a Secret's entries.
#[derive(Default)]
struct Entries {
    changes: Vec<(String, EntryChange)>,
    /// Why the values of entries that stay cannot be compared.
    unknown: Option<Reason>,
}

/// Entries of a published Secret that do not stay as they are, as far as its tags tell.
fn changed_entries(input: &Input<'_>, order: &Order, document: &Node) -> Entries {
    let lands = &order.lands;
    let tagged = input.published.bytes(lands).and_then(reuse::split);
    let key = tagged.as_ref().and_then(|tagged| Some(input.terms.keys.with_id(tagged.key_id).next()?.0));
    // What goes into guests has a line by the key of then; by another one, every value would seem to change.
    let with = input.terms.envelopes();
    let object = order.source(input.terms.world.snapshot, &Envelopes { key: key.or(with.key), ..with });
    let unknown = |reason| Entries { unknown: Some(reason), ..Entries::default() };
    let Some(payload) = object.as_ref().and_then(|object| object.payload.as_ref()) else {
        return unknown(Reason::NoValues);
    };
    let Some(leaves) = reuse::leaves(document) else { return unknown(Reason::File) };
    let Some(current) = input.terms.keys.current() else {
        return Entries { changes: reuse::compare_names(&leaves, payload), ..unknown(Reason::NoValues) };
    };
    let context = input.terms.context(lands, readers(input, lands).unwrap_or_default());
    // A Secret without values needs no tags.
    let has_values = leaves.iter().any(|(_, leaf)| !leaf.is_empty());
    let (lines, unknown) = match (&tagged, key) {
        (Some(_), None) => ("", Some(Reason::ReuseKey)),
        (Some(tagged), Some(_)) if !tagged.entry_lines.is_empty() => (tagged.entry_lines, None),
        _ => ("", Some(Reason::NoTags)),
    };
    let unknown = unknown.filter(|_| has_values);
    let key = key.unwrap_or(current);
    let changes = reuse::compare_entries(key, &context, lines, &leaves, payload);
    // The document in an envelope has labels and a form too, so that its value need not be another.
    let is_envelope = parcel(&order.edits).is_some();
    let weigh = |(name, change)| match change {
        EntryChange::Same => None,
        // Without tags only the names tell.
        EntryChange::Changed if unknown.is_some() || is_envelope => Some((name, EntryChange::PerhapsChanged)),
        change => Some((name, change)),
    };
    Entries { changes: changes.into_iter().filter_map(weigh).collect(), unknown }
}
