//! The objects of a snapshot, by key.
//!
//! A key is looked up part by part: thousands of objects share a kind and hundreds a namespace, so comparing
//! whole keys would read the same words again and again before it comes to a name.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

use super::Held;
use crate::name::{GroupKind, Name, Namespace, ObjectKey};

type Named = BTreeMap<Name, Held>;

#[derive(Default)]
pub(super) struct Objects(BTreeMap<GroupKind, BTreeMap<Option<Namespace>, Named>>);

impl Objects {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Held> {
        self.0.get(&key.kind)?.get(&key.namespace)?.get(&key.name)
    }

    pub(super) fn get_mut(&mut self, key: &ObjectKey) -> Option<&mut Held> {
        self.0.get_mut(&key.kind)?.get_mut(&key.namespace)?.get_mut(&key.name)
    }

    /// The entry of a key; from now on the key shares its words with the keys beside it.
    pub(super) fn entry(&mut self, key: &mut ObjectKey) -> Entry<'_, Name, Held> {
        let namespaces = shared(self.0.entry(key.kind.clone()), &mut key.kind);
        shared(namespaces.entry(key.namespace.clone()), &mut key.namespace).entry(key.name.clone())
    }

    /// All of a kind, sorted by key.
    pub(super) fn of_kind(&self, kind: &GroupKind) -> impl Iterator<Item = &Held> {
        self.0.get(kind).into_iter().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum()
    }
}

/// The value of an entry; `words` become those of its key, so that equal words share memory.
fn shared<'m, K: Ord + Clone, V: Default>(entry: Entry<'m, K, V>, words: &mut K) -> &'m mut V {
    *words = entry.key().clone();
    entry.or_default()
}
