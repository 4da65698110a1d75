//! What two sealed files of one Secret tell of their values, without being opened.
//!
//! Equal values never show: whatever is sealed anew has other bytes and other tags. What is known:
//!
//! - The same sealed text, byte for byte, is the same value.
//! - Ciphertext of another length is another value, if manifests list both files: pouch's base64 has one spelling.
//! - With today's values and the reuse key, tags tell of each file whether it holds today's value. If one of two files does
//!   and the other does not, the values differ; if both do, they are the same.
//!
//! Otherwise nothing is known. What pouch makes for guest clusters is a document around the values, so that another one may
//! hold the same.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{EntryChange, EntryRecord, Values};
use crate::exposure::listed_by::Home;
use crate::exposure::sealed::{SealedLeaf, SealedSecret};
use crate::name::{Directory, FleetName, ObjectKey};
use crate::recipient::Recipient;
use crate::reuse::{self, Context, KeyRing};
use crate::secret::Payload;

/// Today's values, and the keys that made the tags.
pub struct Today<'a> {
    /// The fleet whose values they are.
    pub fleet: &'a FleetName,
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// By region folder, the Secrets as the sources have them now.
    pub now: BTreeMap<Directory, BTreeMap<ObjectKey, &'a Payload>>,
}

/// A file of a Secret, and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Version<'f> {
    pub file: &'f SealedSecret,
    /// Whether the manifest beside it lists it.
    pub is_listed: bool,
    /// Whether a manifest that a reuse key proves lists it.
    pub is_proved: bool,
}

/// What became of the values from one file to another.
pub(super) fn compare(
    home: &Home,
    (old, new): (Version<'_>, Version<'_>),
    today: Option<&Today<'_>>,
) -> (Values, Vec<EntryRecord>) {
    let (then, now) = (todays(home, old, today), todays(home, new, today));
    let names: BTreeSet<&String> = old.file.entries.keys().chain(new.file.entries.keys()).collect();
    let mut entries = Vec::new();
    for name in names {
        let change = match (filled(old.file, name), filled(new.file, name)) {
            (None, None) => None,
            (None, Some(_)) => Some(EntryChange::Added),
            (Some(_), None) => Some(EntryChange::Withdrawn),
            (Some(SealedLeaf::Sealed(a)), Some(SealedLeaf::Sealed(b))) if a == b => None,
            _ => match (then.get(name.as_str()), now.get(name.as_str())) {
                (Some(true), Some(true)) => None,
                (Some(a), Some(b)) if a != b => Some(EntryChange::Changed),
                _ if other_length(name, old, new) => Some(EntryChange::Changed),
                _ => Some(EntryChange::Unknown),
            },
        };
        entries.extend(change.map(|change| EntryRecord { name: name.clone(), change }));
    }
    let values = match entries.iter().all(|entry| entry.change == EntryChange::Unknown) {
        true if entries.is_empty() => Values::Same,
        true => Values::Unknown,
        false => Values::Changed,
    };
    (values, entries)
}

/// The entries of a Secret that are sealed, with their text.
pub(super) fn sealed_texts(file: &SealedSecret) -> impl Iterator<Item = (&str, &str)> {
    file.entries.iter().filter_map(|(name, leaf)| match leaf {
        SealedLeaf::Sealed(text) => Some((name.as_str(), &**text)),
        _ => None,
    })
}

/// The entries of a Secret that have a value.
pub(super) fn with_values(file: &SealedSecret) -> impl Iterator<Item = &String> {
    file.entries.iter().filter(|(_, leaf)| **leaf != SealedLeaf::Empty).map(|(name, _)| name)
}

/// Whether a Secret has a value at all.
pub(super) fn has_values(file: &SealedSecret) -> bool {
    file.entries.values().any(|leaf| *leaf != SealedLeaf::Empty)
}

fn filled<'f>(file: &'f SealedSecret, name: &str) -> Option<&'f SealedLeaf> {
    file.entries.get(name).filter(|leaf| **leaf != SealedLeaf::Empty)
}

/// Whether two ciphertexts have lengths that no value has both of.
///
/// Somebody else may have sealed the same value in another spelling, so both files must be listed.
fn other_length(name: &str, old: Version<'_>, new: Version<'_>) -> bool {
    let length =
        |version: Version<'_>| version.file.length(name).filter(|_| version.is_listed && !version.file.is_envelope());
    matches!((length(old), length(new)), (Some(a), Some(b)) if a != b)
}

/// The entries of a file of which it is known whether they hold today's value.
fn todays<'f>(home: &Home, version: Version<'f>, today: Option<&Today<'_>>) -> BTreeMap<&'f str, bool> {
    let Version { file, is_proved, .. } = version;
    let mut known = BTreeMap::new();
    let Some(today) = today.filter(|today| *today.fleet == home.fleet) else { return known };
    let payload = today.now.get(&home.directory).and_then(|secrets| secrets.get(&file.key)).copied();
    let recipients: Option<Vec<Recipient>> = file.recipients.iter().map(|text| Recipient::parse(text).ok()).collect();
    let (Some(payload), Some(tags), Some(recipients)) = (payload, &file.tags, recipients) else { return known };
    let leaf = |(name, leaf): (&String, &SealedLeaf)| match leaf {
        SealedLeaf::Empty => Some((name.clone(), String::new())),
        SealedLeaf::Sealed(text) => Some((name.clone(), String::from(&**text))),
        SealedLeaf::Clear => None,
    };
    let Some(leaves) = file.entries.iter().map(leaf).collect::<Option<Vec<_>>>() else { return known };
    let context =
        Context { fleet: &home.fleet, directory: &home.directory, landing: &file.key, recipients: &recipients };
    for (key, _) in today.keys.with_id(&tags.key_id) {
        for (name, change) in reuse::compare_entries(key, &context, &tags.entry_lines, &leaves, payload) {
            let Some((name, _)) = file.entries.get_key_value(&name) else { continue };
            match change {
                // A tag that fits cannot be forged without the key.
                reuse::EntryChange::Same => _ = known.insert(name.as_str(), true),
                // One that does not fit may have been spoilt, unless a manifest that is proved lists the file.
                reuse::EntryChange::Changed | reuse::EntryChange::Withdrawn if is_proved && !file.is_envelope() => {
                    known.entry(name.as_str()).or_insert(false);
                }
                _ => {}
            }
        }
    }
    known
}
