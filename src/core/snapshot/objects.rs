//! The objects of a snapshot, by key.
//!
//! A key is looked up part by part: thousands of objects share a kind and hundreds a namespace, so comparing
//! whole keys would read the same words again and again before it comes to a name.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

use crate::config::Fleet;
use crate::finding::{Code, Fault};
use crate::name::{GroupKind, Name, Namespace, ObjectKey};
use crate::nearest::edits;
use crate::object::Object;

/// The most names that are compared with one that nothing has.
pub(super) const MOST_COMPARED: usize = 2_000;

/// Objects of one kind in one namespace.
pub(super) type Named = BTreeMap<Name, Held>;

#[derive(Default)]
pub(super) struct Objects(BTreeMap<GroupKind, BTreeMap<Option<Namespace>, Named>>);

impl Objects {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Held> {
        if key.made.is_some() {
            return None;
        }
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

    /// All of them, sorted by key.
    pub(super) fn all(&self) -> impl Iterator<Item = &Held> {
        self.0.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    /// The object that was probably meant by a key that none has: of nearly that name, in that namespace. Where the
    /// configuration asks, which names any namespace, also one of that name in a namespace that is called nearly so; others'
    /// namespaces are none of a tenant's business.
    pub(super) fn near(&self, key: &ObjectKey, in_any_namespace: bool) -> Option<&Held> {
        let namespaces = self.0.get(&key.kind)?;
        let named = namespaces.get(&key.namespace).into_iter().flatten().take(MOST_COMPARED);
        let by_name = named.filter_map(|(name, held)| Some((edits(name.as_str(), key.name.as_str())?, held)));
        let others = namespaces.iter().filter(|_| in_any_namespace).take(MOST_COMPARED);
        let by_namespace = others.filter_map(|(namespace, named)| {
            let (near, meant) = namespace.as_ref().zip(key.namespace.as_ref())?;
            Some((edits(near.as_str(), meant.as_str())?, named.get(&key.name)?))
        });
        by_name.chain(by_namespace).min_by_key(|(edits, _)| *edits).map(|(_, held)| held)
    }

    /// Their pieces, each of which can be dropped by itself.
    pub(super) fn apart(self) -> impl Iterator<Item = Named> {
        self.0.into_values().flat_map(BTreeMap::into_values)
    }

    /// All of a kind, sorted by key.
    pub(super) fn of_kind(&self, kind: &GroupKind) -> impl Iterator<Item = &Held> {
        self.0.get(kind).into_iter().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }
}

/// The value of an entry; `words` become those of its key, so that equal words share memory.
fn shared<'m, K: Ord + Clone, V: Default>(entry: Entry<'m, K, V>, words: &mut K) -> &'m mut V {
    *words = entry.key().clone();
    entry.or_default()
}

/// The place of a content that was put aside: the number of the source, and that of the document.
pub(super) type Place = (usize, usize);

/// The copy of an object that counts, and those of other sources.
pub(super) struct Held {
    pub(super) from: usize,
    pub(super) object: Box<Object>,
    /// Nearly no object has any, and there may be hundreds of thousands.
    more: Option<Box<More>>,
}

/// Copies of an object beside the one that counts, each with the number of its source.
#[derive(Default)]
struct More {
    others: Vec<(usize, Box<Object>)>,
    /// Further copies in a source, whatever they say.
    repeated: Vec<(usize, Box<Object>)>,
}

/// Puts an object among those of other sources, in whatever order they come.
pub(super) fn place(objects: &mut Objects, fleet: &Fleet, index: usize, mut object: Box<Object>) {
    let held = match objects.entry(&mut object.key) {
        Entry::Occupied(held) => held.into_mut(),
        Entry::Vacant(place) => {
            place.insert(Held { from: index, object, more: None });
            return;
        }
    };
    let More { others, repeated } = &mut **held.more.get_or_insert_default();
    let other = others.iter_mut().find(|(from, _)| *from == index).map(|(_, object)| object);
    let twice = if held.from == index { Some(&mut held.object) } else { other };
    match twice {
        Some(first) => repeat(fleet, index, first, object, repeated),
        None => others.push((index, object)),
    }
    held.settle(fleet);
}

/// Notes on the copy that stands first in a source which others say something else; what says the same is one.
///
/// Documents come in the order in which they stand, so the first one seldom changes.
fn repeat(
    fleet: &Fleet,
    index: usize,
    first: &mut Box<Object>,
    mut object: Box<Object>,
    repeated: &mut Vec<(usize, Box<Object>)>,
) {
    let Some(source) = fleet.sources.get(index) else { return };
    let note = |first: &mut Object, other: &Object| {
        if !first.same_content(other) {
            let message = format!("{} is in source {} twice, also at {}", other.key, source.name, other.origin);
            let help = "Remove one of the two, or keep one out of the source with exclude.";
            first.faults.push(Fault::new(Code::DuplicateObject, message, help));
        } else if let (Some(matched), Some(others)) = (&mut first.matched, &other.matched) {
            matched.differs(others, || {
                let (key, origin) = (&other.key, &other.origin);
                format!("{key} is in source {} twice, with other labels or annotations at {origin}", source.name)
            });
        }
    };
    if object.origin < first.origin {
        core::mem::swap(first, &mut object);
        object.faults.retain(|fault| fault.code != Code::DuplicateObject);
        object.matched.iter_mut().for_each(|matched| matched.stands_behind());
        repeated.iter().filter(|(from, _)| *from == index).for_each(|(_, other)| note(first, other));
    }
    note(first, &object);
    repeated.push((index, object));
}

impl Held {
    /// The place of the content, if that was put aside.
    pub(super) fn place(&self) -> Option<Place> {
        self.object.aside.as_ref().map(|aside| (self.from, aside.document))
    }

    /// All copies, but not those that repeat what the one that counts says.
    pub(super) fn copies(&self) -> impl Iterator<Item = &Object> {
        self.copies_beside(&self.object)
    }

    /// The same, with the content of the one that counts.
    pub(super) fn copies_beside<'s>(&'s self, counts: &'s Object) -> impl Iterator<Item = &'s Object> {
        let others = self.more.iter().flat_map(|more| &more.others);
        let repeated = self.more.iter().flat_map(|more| &more.repeated);
        let repeated = repeated.filter(|(_, object)| !object.same_content(&self.object));
        core::iter::once(counts).chain(others.chain(repeated).map(|(_, object)| &**object))
    }

    /// The copy that counts, with its content, and those of later sources that say the same.
    pub(super) fn agreeing_with<'s>(&'s self, counts: &'s Object) -> impl Iterator<Item = &'s Object> {
        let others = self.more.iter().flat_map(|more| &more.others);
        let agrees = |(from, object): &&(usize, Box<Object>)| *from > self.from && object.same_content(&self.object);
        core::iter::once(counts).chain(others.filter(agrees).map(|(_, object)| &**object))
    }

    pub(super) fn copy_of(&mut self, index: usize) -> Option<&mut Object> {
        if self.from == index {
            return Some(&mut self.object);
        }
        let others = self.more.iter_mut().flat_map(|more| &mut more.others);
        others.filter(|(from, _)| *from == index).map(|(_, object)| &mut **object).next()
    }

    /// Decides which copy counts: the first, unless a later source overrides it; a later one that says
    /// something else is a fault of the one that counts.
    pub(super) fn settle(&mut self, fleet: &Fleet) {
        let Some(More { others, .. }) = self.more.as_deref_mut().filter(|more| !more.others.is_empty()) else { return };
        for object in others.iter_mut().map(|(_, object)| object).chain([&mut self.object]) {
            object.faults.retain(|fault| fault.code != Code::Shadowed);
        }
        let source = |index: usize| fleet.sources.get(index);
        let indices = others.iter().map(|(index, _)| *index).chain([self.from]);
        let counts = indices.clone().filter(|index| source(*index).is_some_and(|source| source.overrides)).max();
        let first = indices.min().unwrap_or(self.from);
        let counts = counts.filter(|index| *index != first).unwrap_or(first);
        if let Some((from, object)) = others.iter_mut().find(|(index, _)| *index == counts) {
            core::mem::swap(from, &mut self.from);
            core::mem::swap(object, &mut self.object);
        }
        others.sort_by_key(|(index, _)| *index);
        for (_, other) in others.iter().filter(|(index, _)| *index > counts) {
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
