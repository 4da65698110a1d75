//! Folders that links lead through, each read once: there may be as many links in a folder as files.

use std::collections::BTreeMap;

use crate::git::objects::{Id, Kind, ObjectsError, Store, descend};

/// The folders of a repository that were looked into.
pub(in super::super) struct Folders<'s> {
    store: &'s Store,
    known: BTreeMap<Id, BTreeMap<String, (Kind, Id)>>,
    /// The number of entries more that are looked at.
    left: usize,
}

impl<'s> Folders<'s> {
    /// None yet, of which so many entries are looked at in all.
    pub(in super::super) fn new(store: &'s Store, most: usize) -> Self {
        Self { store, known: BTreeMap::new(), left: most }
    }

    /// Finds what a folder has at a path, which is not empty. Links on the way are not followed.
    pub(in super::super) fn find(&mut self, top: Id, path: &str) -> Result<(Kind, Id), ObjectsError> {
        descend(top, path, |folder, name| {
            self.look_into(folder)?;
            Ok(self.known.get(&folder).and_then(|entries| entries.get(name)).copied())
        })
    }

    fn look_into(&mut self, folder: Id) -> Result<(), ObjectsError> {
        if !self.known.contains_key(&folder) {
            let entries = self.store.folder(folder)?;
            let too_much =
                || ObjectsError::Other("links lead through more files and folders than are looked at".to_owned());
            self.left = self.left.checked_sub(entries.len()).ok_or_else(too_much)?;
            self.known.insert(folder, entries.into_iter().map(|(name, kind, id)| (name, (kind, id))).collect());
        }
        Ok(())
    }

    /// The number of folders that were read.
    #[cfg(test)]
    pub(in super::super) fn read(&self) -> usize {
        self.known.len()
    }
}
