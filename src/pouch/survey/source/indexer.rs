//! The indexer: which documents a source keeps when it is read for the first time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pouch_core::config::{Fleet, Source};
use pouch_core::finding::Origin;
use pouch_core::node::Node;
use pouch_core::object::RunKey;
use pouch_core::snapshot::KindWords;
use pouch_core::snapshot::index::{Index, Kept};

/// For the words of a kind, without and with items, whether they are nearly those of a kind that is read.
type Near = BTreeMap<Box<str>, [Option<bool>; 2]>;

/// The index of a source, for all threads that read it.
pub struct Indexer<'f> {
    index: Index<'f>,
    /// Kinds that no stage reads, by `apiVersion` and `kind`.
    near: Mutex<BTreeMap<Box<str>, Near>>,
}

impl<'f> Indexer<'f> {
    /// Makes the indexer of a source, with the key of this run.
    pub fn new(fleet: &'f Fleet, source: &'f Source, key: &RunKey) -> Self {
        Self { index: Index::new(fleet, source, key.clone()), near: Mutex::default() }
    }

    /// Sorts a document.
    pub(super) fn keep(&self, document: Node, origin: Origin) -> Kept {
        self.index.keep(document, origin, |words| self.is_near(words))
    }

    fn is_near(&self, words: KindWords<'_>) -> bool {
        let (api_version, kind, has_items) = words;
        // Nothing under the lock can panic.
        let mut near = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        let known = near.get(api_version).and_then(|kinds| kinds.get(kind));
        let at = |known: [Option<bool>; 2]| if has_items { known[1] } else { known[0] };
        if let Some(is_near) = known.copied().and_then(at) {
            return is_near;
        }
        let is_near = self.index.is_near(words);
        let kinds = near.entry(api_version.into()).or_default();
        let [without, with] = kinds.entry(kind.into()).or_default();
        *(if has_items { with } else { without }) = Some(is_near);
        is_near
    }
}
