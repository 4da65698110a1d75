//! What two sealed files of one Secret tell of their values, without being opened.
//!
//! Equal values never show: whatever is sealed anew has other bytes and other tags. What is known:
//!
//! - The same sealed text, byte for byte, is the same value.
//! - Ciphertext of another length is another value, if manifests list both files: pouch's base64 has one spelling.
//! - What a commit proves of the values that it replaced is so, where both files are as proved manifests list them.
//! - With today's values and the reuse key, tags tell of each file whether it holds today's value. If one of two files does
//!   and the other does not, the values differ; if both do, they are the same.
//!
//! Otherwise nothing is known. What pouch makes for guest clusters is a document around the values, so that another one may
//! hold the same.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{EntryChange, EntryRecord, Values};
use crate::history::sealed::{SealedLeaf, SealedSecret};
use crate::secret;

/// A file of a Secret, and what is known of it.
pub(super) struct Version<'f> {
    pub file: &'f SealedSecret,
    /// Whether the manifest beside it lists it.
    pub is_listed: bool,
    /// The entries of which it is known whether they hold today's value.
    pub held: BTreeMap<&'f str, bool>,
}

/// What the commit that replaced one file by the other proves of an entry.
pub(super) type Proved<'a> = &'a dyn Fn(&str) -> Option<secret::EntryChange>;

/// What became of the values from one file to another.
pub(super) fn compare(old: &Version<'_>, new: &Version<'_>, proved: Proved<'_>) -> (Values, Vec<EntryRecord>) {
    let names: BTreeSet<&String> = old.file.entries.keys().chain(new.file.entries.keys()).collect();
    let mut entries = Vec::new();
    for name in names {
        let change = match (filled(old.file, name), filled(new.file, name)) {
            (None, None) => None,
            (None, Some(_)) => Some(EntryChange::Added),
            (Some(_), None) => Some(EntryChange::Withdrawn),
            (Some(SealedLeaf::Sealed(a)), Some(SealedLeaf::Sealed(b))) if a == b => None,
            _ => match (old.held.get(name.as_str()), new.held.get(name.as_str()), proved(name)) {
                (Some(true), Some(true), _) | (_, _, Some(secret::EntryChange::Same)) => None,
                (Some(a), Some(b), _) if a != b => Some(EntryChange::Changed),
                (_, _, Some(secret::EntryChange::Changed)) => Some(EntryChange::Changed),
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

fn filled<'f>(file: &'f SealedSecret, name: &str) -> Option<&'f SealedLeaf> {
    file.entries.get(name).filter(|leaf| **leaf != SealedLeaf::Empty)
}

/// Whether two ciphertexts have lengths that no value has both of.
///
/// Somebody else may have sealed the same value in another spelling, so both files must be listed.
fn other_length(name: &str, old: &Version<'_>, new: &Version<'_>) -> bool {
    let length =
        |version: &Version<'_>| version.file.length(name).filter(|_| version.is_listed && !version.file.is_envelope());
    matches!((length(old), length(new)), (Some(a), Some(b)) if a != b)
}
