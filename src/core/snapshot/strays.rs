//! Strays: objects that their source may not provide. They count as nothing; but where the namespace of one is nearly called
//! like one of its source's, and no one else speaks of it, a slip is likelier, and what was meant is not gone.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::ignored::not_provided;
use super::mistyped::{Meant, words_of};
use super::objects::{Held, MOST_COMPARED, Objects};
use super::reason::Reason;
use super::state::State;
use crate::config::{Fleet, ProvidedObjects, Provides};
use crate::finding::{Code, Finding, Origin};
use crate::name::{Namespace, ObjectKey};
use crate::nearest::nearest;
use crate::object::Object;

/// An object that its source may not provide.
pub(super) struct Stray {
    key: ObjectKey,
    origin: Origin,
    /// The words by which it is looked for, if its name is not that by which it is.
    words: BTreeSet<Box<str>>,
}

impl Stray {
    /// One that is looked for by its key.
    pub(super) fn named(key: ObjectKey, origin: Origin) -> Self {
        Self { key, origin, words: BTreeSet::new() }
    }

    /// Any object.
    pub(super) fn of(object: Object) -> Self {
        let words = words_of(&object);
        Self { key: object.key, origin: object.origin, words }
    }

    /// What is said where the namespace is probably mistyped.
    fn mistyped(&self, meant: &str) -> Finding {
        let Self { key, origin, .. } = self;
        let message = format!(
            "source {} provides no objects of namespace {}; {key} is ignored",
            origin.source,
            key.namespace_text()
        );
        Finding::new(Code::Mistyped, message).about(key).at(origin).help(format!(
            "Did you mean namespace {meant}? Until this is corrected, what is published by this name in {meant} stays. If \
             the namespace is right, add it to `provides` of the source."
        ))
    }
}

/// Tells of the strays of each source, given by its number, and returns where they stand. The states of the sources learn what
/// each could be meant to be.
pub(super) fn ignore(
    fleet: &Fleet,
    objects: &Objects,
    (strays, states): (Vec<(usize, Stray)>, &mut [State]),
    findings: &mut Vec<Finding>,
) -> BTreeMap<ObjectKey, Origin> {
    let mut ignored = BTreeMap::new();
    let mut known = None;
    let mut meant_in = BTreeMap::new();
    for (index, stray) in strays {
        let (Some(source), Some(state)) = (fleet.sources.get(index), states.get_mut(index)) else { continue };
        let meant = stray.key.namespace.as_ref().and_then(|typed| {
            let known: &Known = known.get_or_insert_with(|| Known::of(fleet, objects));
            let meant = || known.meant(fleet, &source.provides, typed);
            meant_in.entry((index, typed.clone())).or_insert_with(meant).as_ref()
        });
        let meant = meant.map(|namespace| ObjectKey { namespace: Some(namespace.clone()), ..stray.key.clone() });
        // Where that is there, this is its copy for another place.
        let has = |held: &Held| held.copies().any(|copy| copy.origin.source == source.name);
        let is_meant =
            |key: &ObjectKey| source.provides.admits(key, &fleet.guarded) && !objects.get(key).is_some_and(has);
        match meant.filter(is_meant) {
            Some(meant) => {
                findings.push(stray.mistyped(meant.namespace_text()));
                state.meant.add(Meant::keyed(&meant, stray.words, Reason::of_document(&stray.origin)));
            }
            None => findings.push(not_provided(source, &stray.key, &stray.origin)),
        }
        ignored.entry(stray.key).or_insert(stray.origin);
    }
    ignored
}

/// The namespaces that the configuration names, and those in which a source has what it may provide.
struct Known(BTreeSet<Namespace>);

impl Known {
    fn of(fleet: &Fleet, objects: &Objects) -> Self {
        let mut known = fleet.named_namespaces();
        for held in objects.all() {
            let key = &held.object.key;
            match &key.namespace {
                Some(namespace) if !known.contains(namespace) => _ = known.insert(namespace.clone()),
                None if key.kind.is_namespace() => _ = known.insert(Namespace::from(key.name.as_str())),
                _ => {}
            }
        }
        Self(known)
    }

    /// The namespace that was probably meant by one that a source does not provide.
    fn meant(&self, fleet: &Fleet, provides: &Provides, typed: &Namespace) -> Option<Namespace> {
        let is_own = |namespace: &&Namespace| {
            let has = |objects: &ProvidedObjects| objects.namespace.as_ref() == Some(namespace);
            provides.has_namespace(namespace, &fleet.guarded) || provides.objects.iter().any(has)
        };
        let own = || self.0.iter().filter(is_own).map(Namespace::as_str).take(MOST_COMPARED);
        (!self.0.contains(typed)).then(|| nearest(typed.as_str(), own())).flatten().map(Namespace::from)
    }
}
