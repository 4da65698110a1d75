//! Today's values, and the comparison of files in a history with them by tags.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::listed_by::ListedBy;
use super::manifest::Home;
use super::sealed::{SealedLeaf, SealedSecret, Tags};
use crate::name::{Directory, FleetName, ObjectKey};
use crate::recipient::Recipient;
use crate::reuse::{Context, EntryChange, KeyRing, compare_entries};
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

/// A file's tags, with what comparing them needs.
pub struct Comparable<'f> {
    /// The tags.
    pub tags: &'f Tags,
    /// The recipients that the file is sealed to.
    pub recipients: Vec<Recipient>,
    /// The text in place of its values.
    pub leaves: Vec<(String, String)>,
}

impl<'f> Comparable<'f> {
    /// The tags of a file; none unless pouch sealed the whole file.
    pub fn of(file: &'f SealedSecret) -> Option<Self> {
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
}

impl Today<'_> {
    /// Today's values of a Secret.
    pub fn payload(&self, home: &Home, key: &ObjectKey) -> Option<&Payload> {
        self.now.get(&home.directory)?.get(key).copied().filter(|_| home.fleet == *self.fleet)
    }

    /// Decides for the entries of a file whether they hold today's value, as far as that is known; none if its tags cannot
    /// be compared with today's values. `proved` is what those manifests say that the keys prove.
    pub fn held<'f>(&self, home: &Home, file: &'f SealedSecret, proved: &ListedBy) -> Option<BTreeMap<&'f str, bool>> {
        let payload = self.payload(home, &file.key)?;
        let Comparable { tags, recipients, leaves } = Comparable::of(file)?;
        let Home { fleet, directory } = home;
        let context = Context { fleet, directory, landing: &file.key, recipients: &recipients };
        // A tag that does not fit may have been spoilt, unless a manifest that is proved lists the file; and the same values
        // may stand in another document for guests.
        let tells = !file.is_envelope() && proved.says(fleet, directory, &file.sha256);
        let mut held = BTreeMap::new();
        for (key, _) in self.keys.with_id(&tags.key_id) {
            for (name, change) in compare_entries(key, &context, &tags.entry_lines, &leaves, payload) {
                let Some((name, _)) = file.entries.get_key_value(&name) else { continue };
                match change {
                    // A tag that fits cannot be forged without the key.
                    EntryChange::Same => _ = held.insert(name.as_str(), true),
                    EntryChange::Changed | EntryChange::Withdrawn if tells => {
                        _ = held.entry(name.as_str()).or_insert(false)
                    }
                    _ => {}
                }
            }
        }
        Some(held)
    }
}
