//! History: what the history of a branch says of one region (DESIGN §2.8).
//!
//! The shell reads it, and only where something of a region changes. A directory has no history: what stands there is
//! what its last run left.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use super::published::{Published, State, document};
use crate::config::{Accept, Acceptance};
use crate::hash::sha256_hex;
use crate::layout::BundlePath;
use crate::layout::manifest::{Manifest, ManifestObject};
use crate::name::{Namespace, ObjectKey, Region};
use crate::node::Node;
use crate::recipient::Recipient;

/// What the history of a branch says of one region.
#[derive(Default)]
pub struct History {
    /// What pouch itself published last, if something else stands there now.
    pub own: Option<Published>,
    /// The authenticated manifests since which withdrawals may be counted, newest first: those of commits that carry an
    /// acceptance, and last the newest that is older than the window, or else the oldest. Read where somebody loses
    /// something: they are large, and mostly nobody does.
    pub past: OnceCell<Vec<Past>>,
    /// The objects whose hand-over is over, of those that are in one. Asked for only where some are; where it never was,
    /// as for a directory, all of them.
    pub over: OnceCell<BTreeSet<ObjectKey>>,
    /// The recipients of what pouch published last, as it noted them beside the branch. They count where the branch has no
    /// bundle to compare with, as where it was deleted.
    pub noted: Vec<Recipient>,
    /// The acceptances that commits of the branch carry; they are spent.
    pub spent: BTreeSet<Acceptance>,
}

/// An authenticated manifest of the past, and what its commit accepted.
#[derive(Clone)]
pub struct Past {
    /// The manifest.
    pub manifest: Manifest,
    /// The acceptances in the commit's trailers.
    pub accepted: Vec<Acceptance>,
    /// The entries, empty ones left out, of Secrets whose files were others than they are now.
    entries: BTreeMap<ObjectKey, BTreeSet<String>>,
}

impl Past {
    /// A manifest of the past; `file` gives its files. Those of Secrets that `now` has too, with other files, are read.
    ///
    /// # Errors
    /// Those of `file`.
    pub fn of<E>(
        manifest: Manifest,
        accepted: Vec<Acceptance>,
        now: &Manifest,
        file: impl Fn(&BundlePath) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Self, E> {
        let mut entries = BTreeMap::new();
        let hashes: BTreeMap<&ObjectKey, &str> =
            now.objects.iter().map(|object| (&object.key, &*object.sha256)).collect();
        let changed = |object: &&ManifestObject| {
            object.key.kind.is_secret() && hashes.get(&object.key).is_some_and(|hash| **hash != *object.sha256)
        };
        for object in manifest.objects.iter().filter(changed) {
            if let Some(bytes) = file(&object.path)?.filter(|bytes| sha256_hex(bytes) == object.sha256) {
                entries.insert(object.key.clone(), document(&bytes).map(|it| filled_entries(&it)).unwrap_or_default());
            }
        }
        Ok(Self { manifest, accepted, entries })
    }

    /// The entries that a Secret had then and `now` lacks or leaves empty; none where its file was the same.
    pub(super) fn lost_entries(&self, key: &ObjectKey, now: impl FnOnce() -> BTreeSet<String>) -> BTreeSet<String> {
        let Some(then) = self.entries.get(key) else { return BTreeSet::new() };
        let now = now();
        then.difference(&now).cloned().collect()
    }
}

/// The entries of a published Secret that are not empty: their names are readable, their values sealed.
pub(super) fn filled_entries(document: &Node) -> BTreeSet<String> {
    let data = document.at(&["data"]).map(Node::entries).unwrap_or_default();
    let filled = data.iter().filter(|(_, value)| value.as_str().is_some_and(|text| !text.is_empty()));
    filled.map(|(name, _)| String::from(&**name)).collect()
}

impl History {
    /// What pouch itself published last: what stands there, unless the history knows better. What a later pouch wrote is
    /// believed, to be held.
    pub fn last<'p>(&'p self, standing: &'p Published) -> &'p Published {
        let is_newer = matches!(standing.state, State::Newer(_));
        self.own.as_ref().filter(|_| !is_newer).unwrap_or(standing)
    }

    /// The states since which withdrawals may be counted, newest first, as far as they were read.
    pub(super) fn pasts(&self) -> &[Past] {
        self.past.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the hand-over of an object that is in one is over.
    pub(super) fn is_over(&self, key: &ObjectKey) -> bool {
        self.over.get().is_none_or(|over| over.contains(key))
    }

    /// The state since which a namespace's withdrawals from a region are counted; none if what stands there is all that
    /// is known.
    pub(super) fn baseline(&self, region: &Region, namespace: Option<&Namespace>) -> Option<&Past> {
        let resets = |acceptance: &Acceptance| {
            let whose = acceptance.namespace.is_none() || acceptance.namespace.as_ref() == namespace;
            acceptance.what == Accept::Deletions && acceptance.region == *region && whose
        };
        let past = self.past.get()?;
        past.iter().find(|past| past.accepted.iter().any(resets)).or(past.last())
    }
}
