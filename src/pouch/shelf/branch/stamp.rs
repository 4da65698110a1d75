//! The stamp beside a branch: what runs read, at a reference of its own that moves with the branch.

use pouch_core::hash::sha256_hex;
use pouch_core::name::{FleetName, Region};
use pouch_core::reuse::{KeyRing, Place};
use pouch_core::stamp::{MOST_BYTES, SourceStamp, Stamp};

use super::past::Lineage;
use super::{BranchShelf, Inner, Standing, standing_at, unwritten};
use crate::git::commits::Author;
use crate::git::objects::{Id, Kind, Store};
use crate::shelf::beside::further_up;
use crate::shelf::{HistoryQuery, ShelfError};

/// The file of a stamp's commit.
const FILE: &str = "stamp";

/// What earlier runs read.
#[derive(Clone, Default)]
pub struct Stamped {
    /// What the stamp says, if there is one.
    pub stamp: Option<Stamp>,
    /// What the last commit of pouch's own says, as far as it is known: a server may take no stamps.
    named: Stamp,
}

impl Stamped {
    /// All that was read.
    pub fn stamps(&self) -> impl Iterator<Item = &Stamp> {
        self.stamp.iter().chain([&self.named])
    }
}

impl BranchShelf {
    fn stamp_place<'a>(&'a self, fleet: &'a FleetName) -> Place<'a> {
        Place { fleet, branch: &self.target.branch, path: &self.prefix }
    }

    /// What earlier runs read.
    ///
    /// # Errors
    /// Where the branch's history cannot be fetched.
    pub fn stamped(&self, fleet: &FleetName, keys: &KeyRing) -> Result<Stamped, ShelfError> {
        let read = |inner: &mut Inner| Ok(self.read_stamp(&inner.store, fleet, keys));
        let stamp = self.with(read)?;
        // The newest commit of pouch's own is enough, and no region's.
        let region = &Region::from("");
        let asked = HistoryQuery { fleet, region, keys, since: i64::MAX, whole: false, is_retired: false };
        let named = self.past(|lineage: &mut Lineage, fetched| lineage.sources(fetched, &asked, stamp.is_none()))?;
        let source = |(name, commit)| SourceStamp {
            name,
            commit,
            identity: String::new(),
            reference: String::new(),
            resource_version: None,
        };
        let sources = named.into_iter().map(source).collect();
        Ok(Stamped { stamp, named: Stamp { sources, told: None } })
    }

    fn read_stamp(&self, store: &Store, fleet: &FleetName, keys: &KeyRing) -> Option<Stamp> {
        let commit = self.stamp_commit(store)?;
        let file = store.at(commit, FILE).ok().filter(|entry| entry.kind == Kind::File)?;
        Stamp::read(&store.blob(file.id, MOST_BYTES).ok()?, keys, self.stamp_place(fleet))
    }

    fn stamp_commit(&self, store: &Store) -> Option<Id> {
        store.commit(self.local.tip(self.target.stamp.as_deref()?)?).ok()
    }

    /// What stands at the output and steers it from further up, as a digest.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn standing(&self) -> Result<String, ShelfError> {
        self.with(|inner| {
            let mut text = match standing_at(inner, &self.prefix)? {
                Standing::Folder(id) => format!("{id}\n"),
                _ => "\n".to_owned(),
            };
            for (_, path, _) in further_up(&self.prefix) {
                if let Some(entry) = inner.tip.and_then(|tip| inner.store.at(tip, &path).ok()) {
                    text.push_str(&format!("{path} {:?} {}\n", entry.kind, entry.id));
                }
            }
            Ok(sha256_hex(text.as_bytes()))
        })
    }

    /// Makes the commit of a new stamp; none where it would say nothing, or what the last one
    /// says, or nobody wants one.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn stamp(
        &self,
        (fleet, keys): (&FleetName, &KeyRing),
        (stamp, last): (&Stamp, &Stamped),
        author: &Author<'_>,
    ) -> Result<Option<String>, ShelfError> {
        if self.target.stamp.is_none() || stamp.sources.is_empty() || last.stamp.as_ref() == Some(stamp) {
            return Ok(None);
        }
        let bytes = stamp.to_bytes(keys, self.stamp_place(fleet));
        let message = format!("What was read for {} of fleet {fleet}\n", self.target.branch);
        self.with(|inner| {
            let parent = self.stamp_commit(&inner.store);
            inner.writer.note(parent, (FILE, &bytes), author, &message).map(Some).map_err(unwritten)
        })
    }
}
