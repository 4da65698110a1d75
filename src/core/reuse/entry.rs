//! Entry tags: they tell the plan which entry of a Secret changes.
//!
//! They never decide reuse. A value of 16 bytes or more has a tag of its own; shorter ones, which
//! could be guessed one by one if the key leaked, share one tag. Every tag covers the leaf's own
//! ciphertext, so that equal values show no equal tags.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;

use super::context::{Context, add, add_context, add_count};
use super::key::{Keyed, ReuseKey};
use crate::node::Node;
use crate::secret::{EntryChange, Payload, SecretBytes, same_bytes};

/// Values of at least this many decoded bytes have a tag of their own.
const LONG: usize = 16;
const ENTRY: &str = "# pouch/v1 entry ";
const ENTRIES: &str = "# pouch/v1 entries ";

/// One entry of a sealed Secret, with its value.
#[derive(Clone, Copy)]
pub struct EntryLeaf<'a> {
    /// The entry's name, a valid data key.
    pub name: &'a str,
    /// The text that stands in the file: `ENC[…]`, or nothing for an empty value.
    pub leaf: &'a str,
    /// The decoded value.
    pub value: &'a SecretBytes,
}

/// The leaves of the `data` of a sealed document, sorted by name; none if one is no text.
pub fn leaves(sealed: &Node) -> Option<Vec<(String, String)>> {
    let entries = sealed.at(&["data"]).map(Node::entries).unwrap_or_default();
    entries.iter().map(|(name, leaf)| Some(((**name).to_owned(), leaf.as_str()?.to_owned()))).collect()
}

/// Pairs leaves and values by name; none unless both have the same names, and the same of them are empty.
pub fn pair<'a>(leaves: &'a [(String, String)], payload: &'a Payload) -> Option<Vec<EntryLeaf<'a>>> {
    if leaves.len() != payload.entries().len() {
        return None;
    }
    let paired = leaves.iter().map(|(name, leaf)| {
        let value = payload.get(name)?;
        (leaf.is_empty() == value.is_empty()).then_some(EntryLeaf { name, leaf, value })
    });
    paired.collect()
}

/// The tag of one entry: the first 8 bytes of an HMAC over context, name, leaf and value.
pub fn entry_tag(key: &ReuseKey, context: &Context<'_>, entry: &EntryLeaf<'_>) -> String {
    let mut tag = key.entry();
    add_context(&mut tag, context);
    add_entry(&mut tag, entry);
    shortened(tag)
}

/// The one tag of all short values, in the same form; none where every value is long or empty.
pub fn joint_tag(key: &ReuseKey, context: &Context<'_>, entries: &[EntryLeaf<'_>]) -> Option<String> {
    let mut short: Vec<_> = entries.iter().filter(|entry| (1..LONG).contains(&entry.value.len())).collect();
    short.sort_unstable_by_key(|entry| entry.name);
    if short.is_empty() {
        return None;
    }
    let mut tag = key.entry();
    add_context(&mut tag, context);
    // The count keeps this tag apart from an entry's tag, where a name's length and a letter follow.
    add_count(&mut tag, short.len());
    for entry in short {
        add_entry(&mut tag, entry);
    }
    Some(shortened(tag))
}

fn add_entry(tag: &mut Keyed, entry: &EntryLeaf<'_>) {
    add(tag, entry.name.as_bytes());
    add(tag, entry.leaf.as_bytes());
    add(tag, entry.value.expose());
}

fn shortened(tag: Keyed) -> String {
    let bytes: [u8; 32] = tag.finalize().into_bytes().into();
    URL_SAFE_NO_PAD.encode(bytes.first_chunk::<8>().map_or(bytes.as_slice(), |first| first))
}

/// The lines of a header after its first.
pub(super) fn lines(key: &ReuseKey, context: &Context<'_>, entries: &[EntryLeaf<'_>]) -> String {
    let mut long: Vec<_> = entries.iter().filter(|entry| entry.value.len() >= LONG).collect();
    long.sort_unstable_by_key(|entry| entry.name);
    let mut text = String::new();
    for entry in long {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{ENTRY}{} {}", entry.name, entry_tag(key, context, entry));
    }
    if let Some(tag) = joint_tag(key, context, entries) {
        let _ = writeln!(text, "{ENTRIES}{tag}");
    }
    text
}

/// The entries that have a tag of their own, with it, from the header's lines after the first.
pub fn own_tags(entry_lines: &str) -> BTreeMap<&str, &str> {
    entry_lines.lines().filter_map(|line| line.strip_prefix(ENTRY)?.split_once(' ')).collect()
}

/// Compares published entries with the values to come, sorted by name.
///
/// `key` and `context` are those that the file was written with: its key id, its published recipients.
/// `entry_lines` and `published` ([`leaves`]) are the file's own; the manifest proves whether they can be
/// believed.
pub fn compare_entries(
    key: &ReuseKey,
    context: &Context<'_>,
    entry_lines: &str,
    published: &[(String, String)],
    payload: &Payload,
) -> Vec<(String, EntryChange)> {
    let tags = own_tags(entry_lines);
    let published: BTreeMap<&str, &str> = published.iter().map(|(name, leaf)| (name.as_str(), leaf.as_str())).collect();
    let short: Vec<(&str, &str)> = published
        .iter()
        .filter(|(name, leaf)| !leaf.is_empty() && !tags.contains_key(**name))
        .map(|(name, leaf)| (*name, *leaf))
        .collect();
    let joint = entry_lines.lines().find_map(|line| line.strip_prefix(ENTRIES));
    let judge_short = || {
        let paired: Option<Vec<_>> = short
            .iter()
            .map(|(name, leaf)| {
                let value = payload.get(name).filter(|value| (1..LONG).contains(&value.len()))?;
                Some(EntryLeaf { name, leaf, value })
            })
            .collect();
        match paired.and_then(|entries| joint_tag(key, context, &entries)).zip(joint) {
            Some((tag, written)) if same_bytes(tag.as_bytes(), written.as_bytes()) => EntryChange::Same,
            _ if short.len() == 1 => EntryChange::Changed,
            _ => EntryChange::PerhapsChanged,
        }
    };
    let of_short = judge_short();
    let weigh = |name: &str| match (published.get(name), payload.get(name)) {
        (None, _) => EntryChange::Added,
        (_, None) => EntryChange::Withdrawn,
        (Some(leaf), Some(value)) => match tags.get(name) {
            _ if leaf.is_empty() && value.is_empty() => EntryChange::Same,
            _ if leaf.is_empty() || value.is_empty() => EntryChange::Changed,
            Some(written) => {
                let tag = entry_tag(key, context, &EntryLeaf { name, leaf, value });
                let same = same_bytes(tag.as_bytes(), written.as_bytes());
                if same { EntryChange::Same } else { EntryChange::Changed }
            }
            None if value.len() >= LONG => EntryChange::Changed,
            None => of_short,
        },
    };
    let names: BTreeSet<&str> =
        published.keys().copied().chain(payload.entries().iter().map(|(name, _)| &**name)).collect();
    names.into_iter().map(|name| (name.to_owned(), weigh(name))).collect()
}

/// Which entries come and go, by their names alone, and which become empty, or are no longer, where values were read.
pub fn compare_names(published: &[(String, String)], payload: &Payload) -> Vec<(String, EntryChange)> {
    let is_other = |(name, leaf): &&(String, String)| {
        payload.is_seen() && payload.get(name).is_some_and(|value| value.is_empty() != leaf.is_empty())
    };
    let others = published.iter().filter(is_other).map(|(name, _)| (name.clone(), EntryChange::Changed));
    let before: BTreeSet<&str> = published.iter().map(|(name, _)| name.as_str()).collect();
    let after: BTreeSet<&str> = payload.entries().iter().map(|(name, _)| &**name).collect();
    let weigh = |name: &&str| {
        (
            String::from(*name),
            match before.contains(name) {
                true => EntryChange::Withdrawn,
                false => EntryChange::Added,
            },
        )
    };
    let mut all: Vec<_> = before.symmetric_difference(&after).map(weigh).chain(others).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

/// Those of the given values that a published entry has had, as far as its tags tell.
///
/// The entry's own tag tells, or the joint tag if the entry is the only short value. `key`, `context`,
/// `entry_lines` and `published` are as for [`compare_entries`].
pub fn had<'v, T>(
    key: &ReuseKey,
    context: &Context<'_>,
    entry_lines: &str,
    published: &[(String, String)],
    name: &str,
    values: impl Iterator<Item = (T, &'v SecretBytes)>,
) -> Vec<T> {
    let tags = own_tags(entry_lines);
    let mut tag = key.entry();
    add_context(&mut tag, context);
    let (written, is_long) = match tags.get(name) {
        Some(written) => (*written, true),
        None => {
            let is_short = |(name, leaf): &&(String, String)| !leaf.is_empty() && !tags.contains_key(name.as_str());
            let joint = entry_lines.lines().find_map(|line| line.strip_prefix(ENTRIES));
            let Some(joint) = joint.filter(|_| published.iter().filter(is_short).count() == 1) else {
                return Vec::new();
            };
            add_count(&mut tag, 1);
            (joint, false)
        }
    };
    let Some((_, leaf)) = published.iter().find(|(published, leaf)| published == name && !leaf.is_empty()) else {
        return Vec::new();
    };
    add(&mut tag, name.as_bytes());
    add(&mut tag, leaf.as_bytes());
    let fits = |value: &SecretBytes| {
        let mut tag = tag.clone();
        add(&mut tag, value.expose());
        !value.is_empty()
            && (value.len() >= LONG) == is_long
            && same_bytes(shortened(tag).as_bytes(), written.as_bytes())
    };
    values.filter(|(_, value)| fits(value)).map(|(of, _)| of).collect()
}
