//! The index of a source: what is kept of each document when the source is read for the first time.
//!
//! Of Secrets and ConfigMaps everything is put aside but what identifies them; the document of one that
//! is needed is read again. Whatever could make a document more than such an object keeps it whole: a fault, a slip, a rule that
//! matches objects by what they say. Of what no stage reads nothing is kept.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use super::mistyped::{Judged, KindWords, is_near, kind_words};
use super::objects::Held;
use super::reason::Reason;
use super::{Admitted, Known, PROVIDER_INTERFACE, Snapshot, Weighed, elsewhere, weigh};
use crate::capi::cluster::of_machines;
use crate::config::{Fleet, Source};
use crate::finding::Origin;
use crate::kinds::{Scopes, is_definition};
use crate::name::ObjectKey;
use crate::node::Node;
use crate::object::{Keep as _, Object, RunKey, admit, kind_of};

/// The reader's index of one source.
pub struct Index<'f> {
    fleet: &'f Fleet,
    source: &'f Source,
    key: RunKey,
    /// The table of kinds, which nothing in a source changes for kinds of Kubernetes itself.
    known: Known,
}

/// The part of a document that is kept.
pub enum Kept {
    /// The document, which is looked at together with those of all sources.
    Whole(Node, Origin),
    /// Its object, without the content if nothing else is to be known of that.
    Weighed(Admitted),
    /// Nothing: no stage reads objects of its kind.
    Nothing,
}

impl<'f> Index<'f> {
    /// Makes the index of a source of a fleet, with a key for this run.
    pub fn new(fleet: &'f Fleet, source: &'f Source, key: RunKey) -> Self {
        let known = Known { scopes: Scopes::new(), judged: Judged::default() };
        Self { fleet, source, key, known }
    }

    /// Sorts a document. `is_near` decides if words are nearly those of a kind that is read, as [`Self::is_near`] does: a
    /// source has few kinds and many documents.
    pub fn keep(&self, document: Node, origin: Origin, is_near: impl FnOnce(KindWords<'_>) -> bool) -> Kept {
        let kind = kind_of(&document);
        if (kind.is_secret() || kind.is_config_map()) && !self.fleet.is_matched(&kind) {
            let mut weighed = weigh(self.fleet, self.source, &self.known, (document, origin));
            if let Weighed::Ours(object, told, could_be) = &mut weighed
                && object.faults.is_empty()
                && told.is_empty()
                && could_be.is_none()
            {
                object.put_aside(&self.key);
            }
            return Kept::Weighed(Admitted(weighed));
        }
        // Of machines it is told which identities they name, also where no region takes Clusters.
        if of_machines(&kind).is_some() && !self.fleet.reads(&kind) {
            return Kept::Weighed(Admitted(weigh(self.fleet, self.source, &self.known, (document, origin))));
        }
        let is_known = || self.fleet.reads(&kind) || is_definition(&kind) || kind.kind == PROVIDER_INTERFACE;
        match is_known() || elsewhere::is_maker(&kind) || is_near(kind_words(&document)) {
            true => Kept::Whole(document, origin),
            false => Kept::Nothing,
        }
    }

    /// Decides if the words of a kind that no stage reads are nearly those of one that is read.
    pub fn is_near(&self, words: KindWords<'_>) -> bool {
        is_near(self.fleet, &BTreeSet::new(), words)
    }
}

impl Admitted {
    /// Numbers the document of an object whose content was put aside.
    pub(super) fn numbered(mut self, document: usize) -> Self {
        if let Weighed::Ours(object, ..) = &mut self.0
            && let Some(aside) = &mut object.aside
        {
            aside.document = document;
        }
        self
    }
}

impl Snapshot {
    /// Returns true if an object is known to stand in a source, its content was put aside, and it was not read again yet.
    pub fn is_aside(&self, key: &ObjectKey) -> bool {
        self.aside_in(key).is_some()
    }

    /// The number of the source that put the content of an object aside, if it was not read again yet.
    pub fn aside_in(&self, key: &ObjectKey) -> Option<usize> {
        let held = self.objects.get(key).filter(|held| held.object.is_aside())?;
        self.again_of(held).is_none().then_some(held.from)
    }

    /// Returns true if the content of an object was put aside and cannot be read again.
    pub fn is_lost(&self, key: &ObjectKey) -> bool {
        self.objects.get(key).is_some_and(|held| matches!(self.again_of(held), Some(Err(_))))
    }

    /// The number of the document of a source with the content of an object, if that was put aside.
    pub fn aside(&self, index: usize, key: &ObjectKey) -> Option<usize> {
        let (source, document) = self.objects.get(key)?.place()?;
        (source == index).then_some(document)
    }

    /// Makes an object of its document that was read again; none if that says something else than when it was indexed.
    pub fn admit_again(&self, fleet: &Fleet, index: usize, (key, document): (&ObjectKey, Node)) -> Option<Box<Object>> {
        let held = self.objects.get(key).filter(|held| held.from == index)?;
        let source = fleet.sources.get(index)?;
        let (origin, default) = (held.object.origin.clone(), source.default_namespace.as_ref());
        let object = admit(document, origin, &self.scopes, default, fleet).ok()?;
        let is_it = object.key == *key && held.object.is_content_of(&object);
        if !is_it || !object.faults.is_empty() {
            return None;
        }
        // What was found of its place among others stays.
        let (faults, backed_up) = (held.object.faults.clone(), held.object.backed_up);
        Some(Box::new(Object { faults, backed_up, ..object }))
    }

    /// Takes contents that were read again, or why that failed: for all views as long as there is none, else for this one.
    pub fn take_again(&mut self, read: impl IntoIterator<Item = (ObjectKey, Result<Box<Object>, Reason>)>) {
        for (key, read) in read {
            match (read, self.base_mut()) {
                (Ok(object), Some(base)) => {
                    if let Some(held) = base.objects.get_mut(&key) {
                        held.object = object;
                    }
                }
                (read, _) => {
                    if let Some(place) = self.objects.get(&key).and_then(Held::place) {
                        self.again.insert(place, read);
                    }
                }
            }
        }
    }
}
