//! The stamp beside a branch: what runs read, at a reference of its own that moves with the branch.

use pouch_core::hash::sha256_hex;
use pouch_core::name::{FleetName, Region};
use pouch_core::reuse::{KeyRing, Place};
use pouch_core::stamp::{MOST_BYTES, SourceStamp, Stamp};

use super::past::Lineage;
use super::{BranchShelf, Inner, Standing, standing_at, unwritten};
use crate::git::commits::Author;
use crate::git::objects::{Kind, Store};
use crate::shelf::beside::further_up;
use crate::shelf::{HistoryQuery, ShelfError};

/// The file of a stamp's commit.
const FILE: &str = "stamp";

/// What earlier runs read.
#[derive(Clone, Default)]
pub struct Stamped {
    /// What the stamp says, if there is one.
    pub stamp: Option<Stamp>,
    /// The newest commit of pouch's own, as far as it is known, and what it says: a server may take no stamps.
    own: Stamp,
}

impl Stamped {
    /// All that counts of it.
    pub fn stamps(&self) -> impl Iterator<Item = &Stamp> {
        // What a stamp says that was made with or after the last commit is what is known last.
        let is_newest = self.stamp.as_ref().is_some_and(|stamp| stamp.commit == self.own.commit);
        self.stamp.iter().chain((!is_newest).then_some(&self.own))
    }

    /// What was read for the newest commit of pouch's own, as far as that is known.
    pub fn published(&self) -> &[SourceStamp] {
        &self.own.sources
    }

    /// The newest commit of pouch's own, as far as it is known.
    pub fn own(&self) -> &str {
        &self.own.commit
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
        let read = |inner: &mut Inner| {
            let stamp = self.read_stamp(&inner.store, fleet, keys);
            inner.noted = stamp.iter().map(|stamp| Stamp { told: None, ..stamp.clone() }).next().unwrap_or_default();
            Ok(stamp)
        };
        let stamp = self.with(read)?;
        // The newest commit of pouch's own is enough, and no region's.
        let region = &Region::from("");
        let asked = HistoryQuery { fleet, region, keys, since: i64::MAX, whole: false, is_retired: false };
        let own = self.ask(|lineage: &mut Lineage, fetched| lineage.newest(fetched, &asked))?;
        Ok(Stamped { stamp, own })
    }

    fn read_stamp(&self, store: &Store, fleet: &FleetName, keys: &KeyRing) -> Option<Stamp> {
        let commit = store.commit(self.local.tip(self.target.stamp.as_deref()?)?).ok()?;
        let file = store.at(commit, FILE).ok().filter(|entry| entry.kind == Kind::File)?;
        Stamp::read(&store.blob(file.id, MOST_BYTES).ok()?, keys, self.stamp_place(fleet))
    }

    /// Whether the branch's history lacks the commit that a run noted as pouch's newest: then somebody put an older state
    /// back, and what stands there is nothing that pouch left published.
    ///
    /// # Errors
    /// Where the branch's history cannot be fetched.
    pub(super) fn is_moved_back(&self, fleet: &FleetName, keys: &KeyRing) -> Result<bool, ShelfError> {
        let stamp = self.with(|inner| Ok(self.read_stamp(&inner.store, fleet, keys)))?;
        let Some(stamp) = stamp.filter(|stamp| !stamp.commit.is_empty()) else { return Ok(false) };
        Ok(self.ask(|lineage: &mut Lineage, fetched| lineage.has(fetched, &stamp.commit))? == Some(false))
    }

    /// What stands at the output, what steers it from further up, and what pouch published last, as a digest; none where
    /// the last is not known.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn standing(&self, last: &Stamped) -> Result<Option<String>, ShelfError> {
        if last.own.commit.is_empty() {
            return Ok(None);
        }
        self.with(|inner| Ok(Some(sha256_hex(format!("{}\n{}", last.own.commit, self.places(inner)?).as_bytes()))))
    }

    /// What stands at the output, and what steers it from further up.
    pub(super) fn places(&self, inner: &Inner) -> Result<String, ShelfError> {
        let mut text = match standing_at(inner, &self.prefix)? {
            Standing::Folder(id) => format!("{id}\n"),
            _ => "\n".to_owned(),
        };
        for (_, path, _) in further_up(&self.prefix) {
            if let Some(entry) = inner.tip.and_then(|tip| inner.store.at(tip, &path).ok()) {
                text.push_str(&format!("{path} {:?} {}\n", entry.kind, entry.id));
            }
        }
        Ok(text)
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
        let Some(key) = keys.current().filter(|_| self.target.stamp.is_some()) else { return Ok(None) };
        if stamp.is_empty() || last.stamp.as_ref() == Some(stamp) {
            return Ok(None);
        }
        let bytes = stamp.to_bytes(key, self.stamp_place(fleet));
        let message = format!("What was read for {} of fleet {fleet}\n", self.target.branch);
        self.with(|inner| inner.writer.note((FILE, &bytes), author, &message).map(Some).map_err(unwritten))
    }
}
