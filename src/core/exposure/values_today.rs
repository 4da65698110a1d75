//! Where values that could once be read are today: under another name, in another Secret, for another region.
//!
//! A tag is bound to the place of its file, so nobody can tell whether two files hold the same value. The question is
//! which of today's values the tags of an old file were made of.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::listed_by::ListedBy;
use super::schema::NowAt;
use super::sealed::{SealedLeaf, SealedSecret, Tags};
use crate::name::{Directory, ObjectKey};
use crate::recipient::Recipient;
use crate::reuse::{self, Context, EntryChange, KeyRing};
use crate::secret::{Payload, SecretBytes};
use crate::sops::cipher;

/// Today's values, and the keys that made the tags.
pub struct ValuesToday<'a> {
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// By region folder, the Secrets as the sources have them now.
    pub now: BTreeMap<Directory, BTreeMap<ObjectKey, &'a Payload>>,
    /// What those manifests say that a tag of these keys proves.
    pub proved: &'a ListedBy,
}

/// Values of today, by the length of their base64.
pub(super) type Today<'a> = BTreeMap<usize, Vec<(&'a Directory, &'a ObjectKey, &'a str, &'a SecretBytes)>>;

/// Sorts today's values by length.
pub(super) fn today<'a>(values: &'a ValuesToday<'a>) -> Today<'a> {
    let mut today = Today::new();
    for (directory, secrets) in &values.now {
        for (key, payload) in secrets {
            for (name, value) in payload.entries() {
                today.entry(in_base64(value)).or_default().push((directory, key, name, value));
            }
        }
    }
    today
}

/// The length of a value as base64, which is what is sealed.
pub(super) fn in_base64(value: &SecretBytes) -> usize {
    value.len().div_ceil(3).saturating_mul(4)
}

/// A file's tags, with what comparing them needs.
pub(super) struct Comparable<'f> {
    /// The tags.
    pub(super) tags: &'f Tags,
    /// Whom the file is sealed to.
    pub(super) recipients: Vec<Recipient>,
    /// What stands in place of its values.
    pub(super) leaves: Vec<(String, String)>,
}

impl<'f> Comparable<'f> {
    /// The tags of a file; none unless pouch sealed the whole file.
    pub(super) fn of(file: &'f SealedSecret) -> Option<Self> {
        let recipients = file.recipients.iter().map(|text| Recipient::parse(text).ok());
        let leaves = file.entries.iter().map(|(name, leaf)| match leaf {
            SealedLeaf::Empty => Some((name.clone(), String::new())),
            SealedLeaf::Sealed(text) => Some((name.clone(), String::from(&**text))),
            SealedLeaf::Clear => None,
        });
        Some(Self {
            tags: file.tags.as_ref()?,
            recipients: recipients.collect::<Option<_>>()?,
            leaves: leaves.collect::<Option<_>>()?,
        })
    }

    /// Where the value of an entry is today.
    pub(super) fn living(
        &self,
        values: &ValuesToday<'_>,
        today: &Today<'_>,
        context: &Context<'_>,
        name: &str,
    ) -> BTreeSet<NowAt> {
        let Self { tags, leaves, .. } = self;
        let now_at = |directory: &Directory, key: &ObjectKey, entry: &str| NowAt {
            directory: directory.to_string(),
            namespace: key.namespace.as_ref().map(ToString::to_string),
            name: key.name.to_string(),
            entry: String::from(entry),
        };
        let mut found = BTreeSet::new();
        let length = leaves.iter().find(|(entry, _)| entry == name).and_then(|(_, leaf)| cipher::length(leaf));
        let alike = || length.and_then(|length| today.get(&length)).into_iter().flatten();
        for (key, _) in values.keys.with_id(&tags.key_id) {
            let each = alike().map(|(directory, key, entry, value)| ((*directory, *key, *entry), *value));
            let fit = reuse::had(key, context, &tags.entry_lines, leaves, name, each);
            found.extend(fit.into_iter().map(|(directory, key, entry)| now_at(directory, key, entry)));
            // Short values that share a tag must all be right at once, as they are where a Secret was renamed.
            if !reuse::own_tags(&tags.entry_lines).contains_key(name) {
                for &(directory, landing, entry, _) in alike().filter(|(_, _, entry, _)| *entry == name) {
                    let payload = values.now.get(directory).and_then(|secrets| secrets.get(landing));
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
