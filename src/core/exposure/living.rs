//! Where values that could once be read are today: under another name, in another Secret, for another region.
//!
//! A tag is bound to the place of its file, so nobody can tell whether two files hold the same value. The question is
//! which of today's values the tags of an old file were made of.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::schema::NowAt;
use crate::history::today::{Comparable, Today};
use crate::name::{Directory, ObjectKey};
use crate::reuse::{self, Context, EntryChange};
use crate::secret::SecretBytes;
use crate::sops::cipher;

/// Today's values, found by their length.
pub(super) struct Values<'a> {
    /// Today's values.
    pub(super) today: &'a Today<'a>,
    by_length: BTreeMap<usize, Vec<(&'a Directory, &'a ObjectKey, &'a str, &'a SecretBytes)>>,
}

/// The length of a value as base64, which is what is sealed.
pub(super) fn in_base64(value: &SecretBytes) -> usize {
    value.len().div_ceil(3).saturating_mul(4)
}

impl<'a> Values<'a> {
    /// Sorts today's values by the length of their base64.
    pub(super) fn of(today: &'a Today<'a>) -> Self {
        let mut values = Self { today, by_length: BTreeMap::new() };
        for (directory, secrets) in &today.now {
            for (key, payload) in secrets {
                for (name, value) in payload.entries() {
                    values.by_length.entry(in_base64(value)).or_default().push((directory, key, name, value));
                }
            }
        }
        values
    }

    /// The places where the value of an entry of a file is today.
    pub(super) fn living(&self, file: &Comparable<'_>, context: &Context<'_>, name: &str) -> BTreeSet<NowAt> {
        let Comparable { tags, leaves, .. } = file;
        let now_at = |directory: &Directory, key: &ObjectKey, entry: &str| NowAt {
            directory: directory.to_string(),
            namespace: key.namespace.as_ref().map(ToString::to_string),
            name: key.name.to_string(),
            entry: String::from(entry),
        };
        let mut found = BTreeSet::new();
        let length = leaves.iter().find(|(entry, _)| entry == name).and_then(|(_, leaf)| cipher::length(leaf));
        let alike = || length.and_then(|length| self.by_length.get(&length)).into_iter().flatten();
        for (key, _) in self.today.keys.with_id(&tags.key_id) {
            let each = alike().map(|(directory, key, entry, value)| ((*directory, *key, *entry), *value));
            let fit = reuse::had(key, context, &tags.entry_lines, leaves, name, each);
            found.extend(fit.into_iter().map(|(directory, key, entry)| now_at(directory, key, entry)));
            // Short values that share a tag must all be right at once, as they are where a Secret was renamed.
            if !reuse::own_tags(&tags.entry_lines).contains_key(name) {
                for &(directory, landing, entry, _) in alike().filter(|(_, _, entry, _)| *entry == name) {
                    let payload = self.today.now.get(directory).and_then(|secrets| secrets.get(landing));
                    let changes =
                        payload.map(|payload| reuse::compare_entries(key, context, &tags.entry_lines, leaves, payload));
                    let is_same =
                        |(entry, change): &(String, EntryChange)| entry == name && *change == EntryChange::Same;
                    if changes.iter().flatten().any(is_same) {
                        found.insert(now_at(directory, landing, entry));
                    }
                }
            }
        }
        found
    }
}
