//! The objects of a snapshot, by key.
//!
//! A key is looked up part by part: thousands of objects share a kind and hundreds a namespace, so comparing
//! whole keys would read the same words again and again before it comes to a name.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::vec::Vec;

use crate::config::Fleet;
use crate::finding::{Code, Fault};
use crate::kinds::K0RDENT;
use crate::name::{GroupKind, Name, Namespace, ObjectKey};
use crate::object::Object;

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

/// The copy of an object that counts, and those of other sources.
pub(super) struct Held {
    pub(super) from: usize,
    pub(super) object: Object,
    pub(super) others: Vec<(usize, Object)>,
    /// Further copies in one source that say something else, where it matters what each of them says.
    repeated: Vec<Object>,
}

/// Puts an object among those of other sources, in whatever order they come.
pub(super) fn place(objects: &mut Objects, fleet: &Fleet, index: usize, mut object: Object) {
    let held = match objects.entry(&mut object.key) {
        Entry::Occupied(held) => held.into_mut(),
        Entry::Vacant(place) => {
            place.insert(Held { from: index, object, others: Vec::new(), repeated: Vec::new() });
            return;
        }
    };
    let others = held.others.iter_mut().find(|(from, _)| *from == index).map(|(_, object)| object);
    let twice = if held.from == index { Some(&mut held.object) } else { others };
    match twice {
        Some(earlier) => {
            let repeated = repeat(fleet, index, earlier, object);
            held.repeated.extend(repeated.filter(|object| object.key.kind.is(K0RDENT, "ProviderInterface")));
        }
        None => held.others.push((index, object)),
    }
    held.settle(fleet);
}

/// Notes on the copy that stands first in a source that there is another one, and gives the other one; two that say
/// the same are one.
fn repeat(fleet: &Fleet, index: usize, earlier: &mut Object, mut object: Object) -> Option<Object> {
    let source = fleet.sources.get(index)?;
    let told: Vec<Fault> = earlier.faults.extract_if(.., |fault| fault.code == Code::DuplicateObject).collect();
    let is_same = earlier.same_content(&object);
    if object.origin < earlier.origin {
        core::mem::swap(earlier, &mut object);
    }
    earlier.faults.extend(told);
    if is_same {
        return None;
    }
    let message = format!("{} is in source {} twice, also at {}", object.key, source.name, object.origin);
    let help = "Remove one of the two, or keep one out of the source with exclude.";
    earlier.faults.push(Fault::new(Code::DuplicateObject, message, help));
    Some(object)
}

impl Held {
    /// All copies.
    pub(super) fn copies(&self) -> impl Iterator<Item = &Object> {
        let others = self.others.iter().map(|(_, object)| object);
        core::iter::once(&self.object).chain(others).chain(&self.repeated)
    }

    pub(super) fn copy_of(&mut self, index: usize) -> Option<&mut Object> {
        if self.from == index {
            return Some(&mut self.object);
        }
        self.others.iter_mut().find(|(from, _)| *from == index).map(|(_, object)| object)
    }

    /// Decides which copy counts: the first, unless a later source overrides it; a later one that says
    /// something else is a fault of the one that counts.
    pub(super) fn settle(&mut self, fleet: &Fleet) {
        if self.others.is_empty() {
            return;
        }
        for object in self.others.iter_mut().map(|(_, object)| object).chain([&mut self.object]) {
            object.faults.retain(|fault| fault.code != Code::Shadowed);
        }
        let source = |index: usize| fleet.sources.get(index);
        let indices = self.others.iter().map(|(index, _)| *index).chain([self.from]);
        let counts = indices.clone().filter(|index| source(*index).is_some_and(|source| source.overrides)).max();
        let first = indices.min().unwrap_or(self.from);
        let counts = counts.filter(|index| *index != first).unwrap_or(first);
        if let Some((from, object)) = self.others.iter_mut().find(|(index, _)| *index == counts) {
            core::mem::swap(from, &mut self.from);
            core::mem::swap(object, &mut self.object);
        }
        self.others.sort_by_key(|(index, _)| *index);
        for (_, other) in self.others.iter().filter(|(index, _)| *index > counts) {
            if self.object.same_content(other) {
                continue;
            }
            let name = &other.origin.source;
            let message = format!("{} differs in source {name}, at {}", other.key, other.origin);
            let help = "Make the two equal, remove one, or set overrides: true on the later source.";
            self.object.faults.push(Fault::new(Code::Shadowed, message, help));
            // One fault tells it; comparing with it would find everything different.
            break;
        }
    }
}
