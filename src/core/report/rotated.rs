//! The values that a publication replaced, from the records of its regions.

use super::summary::{ObjectRecord, Outcome, Region};
use crate::history::rotated::Rotated;
use crate::name::{GroupKind, ObjectKey};
use crate::region::change::{Reason, Values};
use crate::secret::EntryChange;

/// The values that the published regions replaced.
pub fn rotated(regions: &[&Region]) -> Rotated {
    let mut rotated = Rotated::default();
    for region in regions.iter().filter(|region| region.outcome == Outcome::Published) {
        let directory = region.directory.as_str().into();
        // A Secret that was not published has no value of before.
        for change in region.changes.iter().filter(|change| change.values().is_some()) {
            rotated.compare(&directory);
            let secret = key(&change.object).path();
            let is_untold = change.reasons().iter().any(|reason| {
                matches!(
                    reason,
                    Reason::File | Reason::NoTags | Reason::ReuseKey | Reason::NoValues | Reason::Unvouched
                )
            });
            if is_untold || change.values() == Some(Values::Unknown) && change.entries().is_empty() {
                rotated.unknown(&directory, &secret);
                continue;
            }
            for entry in change.entries() {
                match entry.change {
                    EntryChange::Changed => rotated.entry(&directory, &secret, &entry.name, true),
                    EntryChange::PerhapsChanged => rotated.entry(&directory, &secret, &entry.name, false),
                    EntryChange::Same | EntryChange::Added | EntryChange::Withdrawn => {}
                }
            }
        }
    }
    rotated
}

fn key(record: &ObjectRecord) -> ObjectKey {
    let ObjectRecord { group, kind, namespace, name, .. } = record.clone();
    ObjectKey::new(GroupKind { group, kind }, namespace, name)
}
