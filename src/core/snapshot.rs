//! The snapshot: every object that was read, and what is known of those that were not.
//!
//! [`assemble`] puts the sources together in order: objects that a source may not provide are ignored, the same
//! object twice is a fault of the object, and whatever an incomplete source might have held is unknown. A
//! source that is asked piece by piece starts with an [`Inquiry`], and its answers are
//! [supplied](Snapshot::supply) as the closures ask. Nothing here knows files, clusters or YAML.

mod absent;
mod asked;
mod astray;
mod at_home;
mod controller;
mod copies;
mod definitions;
mod described;
mod elsewhere;
mod guesses;
mod home;
mod ignored;
pub mod index;
mod inquiry;
mod machine;
mod made;
mod mistyped;
mod objects;
mod pattern;
mod reason;
mod sealed;
mod slip;
mod state;
mod strays;
mod supply;
mod unopened;
mod unread;
mod words;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use crate::capi::cluster;
use crate::config::{Fleet, Guarded, Source};
use crate::finding::{Code, Finding, Origin};
use crate::kinds::{DEFINITION, K0RDENT, Scopes, is_definition};
use crate::name::{GroupKind, Name, ObjectKey, ReadAt, SourceName};
use crate::node::Node;
use crate::object::{Object, Unusable, admit, finding_of, kind_of, unrendered};
use crate::unread_words::UnreadWords;

use astray::Astray;
use definitions::learn_definitions;
use guesses::Guesses;
use home::{Home, Word as HomeWord};
use ignored::refused;
use mistyped::{Judged, Mistyped, kind_words};
use objects::{Held, Named, Objects, place};
use state::State;
use strays::Stray;
use words::Words;

pub use copies::{File, Proof};
pub use definitions::Definition;
pub use elsewhere::Elsewhere;
pub use home::CURE;
pub use inquiry::Inquiry;
pub use machine::OfMachine;
pub use made::{AllMade, Made, MadeFor};
pub use mistyped::{KindWords, Meant, nearly};
pub use pattern::Pattern;
pub use reason::{Reason, Unread};
pub use unopened::SealedDocument;

/// A part of a snapshot that is of no use any more.
#[expect(dead_code, reason = "it is only dropped")]
pub struct Piece(Named, made::Piece);

/// What one source gave: documents in a fixed order, and whether they are all.
#[derive(Default)]
pub struct Reading {
    /// Documents that have `apiVersion` and `kind`, and where they stand; those in `weighed` are not among them.
    pub documents: Vec<(Node, Origin)>,
    /// Documents that were weighed when they were read.
    pub weighed: Vec<Admitted>,
    /// Encrypted documents that the source can open.
    pub sealed: Vec<SealedDocument>,
    /// Whether an object that is not in `documents` or `sealed` is proved absent from the source, except for
    /// what `unread_words` might hold and what an `inquiry` has yet to ask.
    pub complete: bool,
    /// Documents that could not be read.
    pub unread_words: Vec<UnreadWords>,
    /// The beginning of all paths of its files, which no bundle names; none where it has no files.
    pub root: Option<String>,
    /// The objects that a bundle says were read in files that could not be read to their ends.
    pub stood: BTreeSet<ObjectKey>,
    /// What is known of a source that is asked piece by piece; none for one that was read as a whole.
    pub inquiry: Option<Inquiry>,
    /// The UID of the cluster that the source is; none where it is none, or nobody knows which.
    pub cluster: Option<String>,
    /// The lines of misplaced fields, by the document that has one.
    pub lines: BTreeMap<Origin, FaultLine>,
}

/// The line of a fault of a document, which only its text knows.
pub struct FaultLine {
    /// The fault's message, or how it ends.
    pub message: String,
    /// The line in its file, from one.
    pub line: u32,
    /// The column in that line, from one.
    pub column: u32,
}

impl FaultLine {
    /// Notes the line in the fault of an object that says this.
    fn note(lines: &BTreeMap<Origin, Self>, object: &mut Object) {
        let Some(it) = lines.get(&object.origin) else { return };
        let meant = object.faults.iter_mut().filter(|fault| fault.message.ends_with(&it.message));
        meant.for_each(|fault| (fault.line, fault.column) = (Some(it.line), it.column));
    }
}

/// The result of looking up a key. Absence is proved, never assumed.
pub enum Lookup<'a> {
    /// The object.
    Found(&'a Object),
    /// No source has the object: each that might have it was read completely or said so.
    Absent,
    /// Unknown: a source that might have the object was not read completely.
    Unread(Unread<'a>),
    /// Not asked yet: a source that is asked piece by piece was not asked for the object, or a source that
    /// holds it encrypted has not opened it.
    Unasked,
}

/// What a source answers that is asked for one object.
pub enum Answer {
    /// The object.
    Found(Node, Origin),
    /// A Secret without its values, which nobody looked at, and perhaps without its entries.
    Unseen(Node, Origin),
    /// The source says that there is none.
    Absent,
    /// The source does not say.
    Unread(Reason),
    /// The object is there, but encrypted, and cannot be opened.
    Sealed(Reason),
}

/// Every object that was read, by key: what all views share, and the contents that were read for this one.
pub struct Snapshot {
    base: Arc<Base>,
    /// Contents that were put aside and read again, or why that failed. What is read before there are views is in the base.
    again: BTreeMap<objects::Place, Result<Box<Object>, Reason>>,
}

/// The part of a snapshot that all its views share.
pub struct Base {
    objects: Objects,
    sources: Vec<State>,
    /// As the configuration has it.
    guarded: Guarded,
    /// The scopes that were learnt.
    pub scopes: Scopes,
    /// The CustomResourceDefinitions in the sources, by the kind that they define.
    pub definitions: BTreeMap<GroupKind, Definition>,
    /// The objects that would make Secrets that are in no source, by the Secret's key.
    elsewhere: BTreeMap<ObjectKey, Elsewhere>,
    /// Where objects stand that their own source may not provide.
    ignored: BTreeMap<ObjectKey, Origin>,
    /// The objects that machines name of a fleet that takes no Clusters.
    pub of_machines: Vec<OfMachine>,
    /// The sealed values that stand in several files.
    copies: copies::Copies,
    /// Which sources are the management cluster itself.
    home: Home,
    /// What templates made of what was read.
    pub made: AllMade,
}

impl Deref for Snapshot {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Snapshot {
    /// Makes a view of it, for contents that are read again for one region.
    pub fn view(&self) -> Self {
        let failed = self.again.iter().filter_map(|(place, read)| Some((*place, Err(read.as_ref().err()?.clone()))));
        Self { base: Arc::clone(&self.base), again: failed.collect() }
    }

    /// The shared part, as long as there are no views.
    fn base_mut(&mut self) -> Option<&mut Base> {
        Arc::get_mut(&mut self.base)
    }

    /// Takes what templates made; there are no views yet.
    pub fn set_made(&mut self, made: AllMade) {
        if let Some(base) = self.base_mut() {
            base.made = made;
        }
    }

    /// Looks a key up.
    pub fn look_up(&self, key: &ObjectKey) -> Lookup<'_> {
        match self.stands(key) {
            Lookup::Found(object) if object.is_aside() => Lookup::Unasked,
            found => found,
        }
    }

    /// Looks a key up where the content of the object does not matter: what was put aside is found.
    pub fn stands(&self, key: &ObjectKey) -> Lookup<'_> {
        if let Some(object) = self.made.get(key) {
            return Lookup::Found(object);
        }
        let found = self.objects.get(key);
        let mut unread = None;
        for (index, state) in self.providers(key) {
            let Some(doubt) = state.doubt(key) else { continue };
            // An earlier source's copy may differ from the one found, so every source is asked.
            if doubt.is_open() {
                return Lookup::Unasked;
            }
            // An unread source counts, unless a later source holds the object and overrides it.
            let may_differ = |held: &Held| index > held.from || (index < held.from && !self.overrides(held.from));
            let counts = found.is_none_or(|held| doubt.may_be_another() && may_differ(held));
            if unread.is_none() && counts {
                unread = Some(Unread { source: &state.name, reason: doubt.reason });
            }
        }
        match (unread, found) {
            (Some(unread), _) => Lookup::Unread(unread),
            (None, Some(held)) => match self.again_of(held) {
                Some(Err(reason)) => {
                    Lookup::Unread(Unread { source: &held.object.origin.source, reason: Some(reason) })
                }
                _ => Lookup::Found(self.content(held)),
            },
            (None, None) => Lookup::Absent,
        }
    }

    /// What one source does not say of a key, if it may provide it and was not read completely.
    pub fn unread_of(&self, source: &SourceName, key: &ObjectKey) -> Option<Unread<'_>> {
        self.providers(key).find(|(_, state)| state.name == *source)?.1.unread(key)
    }

    /// The content of an object that was put aside, or why it cannot be read; none if it was not read again yet.
    fn again_of(&self, held: &Held) -> Option<&Result<Box<Object>, Reason>> {
        self.again.get(&held.place()?)
    }

    /// The copy that counts, with its content if that was read again.
    fn content<'s>(&'s self, held: &'s Held) -> &'s Object {
        match self.again_of(held) {
            Some(Ok(object)) => object,
            _ => &held.object,
        }
    }

    fn overrides(&self, index: usize) -> bool {
        self.sources.get(index).is_some_and(|state| state.overrides)
    }

    /// The sources, by index, that have yet to be asked for a key.
    pub fn unasked(&self, key: &ObjectKey) -> impl Iterator<Item = usize> {
        let is_open = |(_, state): &(usize, &State)| state.doubt(key).is_some_and(|doubt| doubt.is_open());
        self.providers(key).filter(is_open).map(|(index, _)| index).chain(self.aside_in(key))
    }

    /// The object under a key, whether or not a later source might have another.
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.made.get(key).or_else(|| self.objects.get(key).map(|held| self.content(held)))
    }

    /// The file in which an object was read, as bundles name it; none of what stands in no file, and of what was made. Of
    /// several copies that say the same, the first counts that has one.
    pub fn read_at(&self, key: &ObjectKey) -> Option<ReadAt> {
        self.agreeing(key).find_map(|object| self.file_of(object))
    }

    /// The file of one of these sources in which some copy of an object was read, whichever counts.
    pub fn read_in(&self, sources: &[SourceName], key: &ObjectKey) -> Option<ReadAt> {
        let of_these = |object: &&Object| sources.contains(&object.origin.source);
        self.copies(key).filter(of_these).find_map(|object| self.file_of(object))
    }

    fn file_of(&self, object: &Object) -> Option<ReadAt> {
        let source = &object.origin.source;
        let root = self.sources.iter().find(|state| state.name == *source)?.root.as_deref()?;
        let (path, ..) = object.origin.position()?;
        Some(ReadAt { source: source.clone(), path: Arc::from(path.strip_prefix(root)?) })
    }

    /// All copies of an object, in whatever source: they may say different things.
    pub fn copies(&self, key: &ObjectKey) -> impl Iterator<Item = &Object> {
        self.objects.get(key).into_iter().flat_map(|held| held.copies_beside(self.content(held)))
    }

    /// The copy of an object that counts, and those of later sources that say the same.
    pub fn agreeing(&self, key: &ObjectKey) -> impl Iterator<Item = &Object> {
        self.objects.get(key).into_iter().flat_map(|held| held.agreeing_with(self.content(held)))
    }

    /// All objects of a kind, sorted by key.
    pub fn all(&self, kind: &GroupKind) -> impl Iterator<Item = &Object> {
        self.objects.of_kind(kind).map(|held| self.content(held))
    }

    /// What it holds, in pieces that can be dropped side by side.
    pub fn apart(self) -> impl Iterator<Item = Piece> {
        let base = Arc::into_inner(self.base).into_iter();
        base.flat_map(|base| {
            let made = base.made.apart().map(|made| Piece(Named::default(), made));
            base.objects.apart().map(|read| Piece(read, made::Piece::default())).chain(made)
        })
    }

    /// All objects, sorted by key; of several copies, the one that counts.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.all().map(|held| self.content(held))
    }
}

/// What a document of a source is.
enum Weighed {
    /// An object that the source may provide; what is said of it, and what it could be, if its name is an unrendered
    /// template.
    Ours(Box<Object>, Vec<Finding>, Option<Box<Meant>>),
    /// An object that the source may not provide.
    Foreign(Box<Stray>),
    /// The objects that a machine names of a fleet that takes no Clusters.
    Idle(Option<Box<OfMachine>>),
    /// A document that no stage reads, with its kind and place.
    Unread(Box<(GroupKind, Node, Origin)>),
    /// A document of an unknown kind: what is said of it, the object that it was meant to be, and what else it could be.
    Mistyped(Box<(Vec<Finding>, Option<Object>, Vec<Meant>)>),
    /// A document that cannot be admitted.
    Refused(Box<(Unusable, GroupKind, Origin)>),
}

/// A document and where it stands.
pub type Standing = (Node, Origin);

/// Who does what is to be done with each document, which does not depend on the others; the shell does so in parallel.
pub trait Hands {
    /// Looks at parts of the documents, in any order of the parts.
    fn look<'d>(
        &self,
        documents: &'d [Standing],
        look: &(dyn Fn(&'d [Standing]) -> Looked<'d> + Sync),
    ) -> Vec<Looked<'d>>;

    /// Weighs each document; what comes of them stands in their order.
    fn weigh(&self, documents: Vec<Standing>, weigh: &(dyn Fn(Standing) -> Admitted + Sync)) -> Vec<Vec<Admitted>>;
}

/// Hands that do one thing after the other.
struct Alone;

impl Hands for Alone {
    fn look<'d>(
        &self,
        documents: &'d [Standing],
        look: &(dyn Fn(&'d [Standing]) -> Looked<'d> + Sync),
    ) -> Vec<Looked<'d>> {
        vec![look(documents)]
    }

    fn weigh(&self, documents: Vec<Standing>, weigh: &(dyn Fn(Standing) -> Admitted + Sync)) -> Vec<Vec<Admitted>> {
        vec![documents.into_iter().map(weigh).collect()]
    }
}

/// The result of weighing a document, which only [`assemble_by`] looks into.
pub struct Admitted(Weighed);

/// What documents say of kinds, which only [`assemble_by`] looks into.
#[derive(Default)]
pub struct Looked<'d> {
    /// The kinds that they have.
    kinds: BTreeSet<KindWords<'d>>,
    /// Those that define kinds, or refer to some.
    define: Vec<&'d Node>,
}

impl<'d> Looked<'d> {
    fn at(documents: &'d [Standing]) -> Self {
        let mut looked = Self::default();
        for (document, _) in documents {
            let words = kind_words(document);
            if matches!(words.1, DEFINITION | PROVIDER_INTERFACE) {
                looked.define.push(document);
            }
            looked.kinds.insert(words);
        }
        looked
    }
}

/// The kind of the objects that say which kinds identities have.
const PROVIDER_INTERFACE: &str = "ProviderInterface";

/// What is known of kinds before any object is looked at.
struct Known {
    scopes: Scopes,
    /// What is wrong with kinds that nothing defines.
    judged: Judged,
}

fn weigh(fleet: &Fleet, source: &Source, known: &Known, (document, origin): Standing) -> Weighed {
    let (scopes, default) = (&known.scopes, source.default_namespace.as_ref());
    let kind = kind_of(&document);
    if is_definition(&kind) && !source.provides.cluster_scoped {
        let name = Name::from(document.str_at(&["metadata", "name"]).unwrap_or_default());
        return Weighed::Foreign(Box::new(Stray::named(ObjectKey::new(kind, None, name), origin)));
    }
    // A source without cluster-scoped objects cannot provide Namespaces; those that it has are worth no
    // finding.
    let foreign = kind.is_namespace() && !source.provides.cluster_scoped;
    if foreign || !fleet.reads(&kind) {
        return match known.judged.get(&document) {
            Some(wrong) => Weighed::Mistyped(Box::new(slip::weigh((fleet, source, scopes), (document, origin), wrong))),
            // Nothing follows from one, so nothing is said of one that cannot be used.
            None if cluster::of_machines(&kind).is_some()
                && let Ok(object) = admit(document.clone(), origin.clone(), scopes, default, fleet)
                && source.provides.admits(&object.key, &fleet.guarded) =>
            {
                Weighed::Idle(OfMachine::of(fleet, &object).map(Box::new))
            }
            None => Weighed::Unread(Box::new((kind, document, origin))),
        };
    }
    let mut told = Vec::new();
    if let Some(astray) = astray::check(&document, &kind, (fleet, source, scopes), &origin) {
        let Astray { finding, could_be } = *astray;
        told.push(finding);
        if !could_be.is_empty() {
            return Weighed::Mistyped(Box::new((told, None, could_be)));
        }
    }
    match admit(document, origin.clone(), scopes, default, fleet) {
        Ok(mut object) if source.provides.admits(&object.key, &fleet.guarded) => {
            let template = unrendered_key(&mut object).map(|(finding, could_be)| {
                told.push(finding);
                Box::new(could_be)
            });
            Weighed::Ours(Box::new(object), told, template)
        }
        Ok(object) => Weighed::Foreign(Box::new(Stray::of(object))),
        Err(refusal) => Weighed::Refused(Box::new((refusal, kind, origin))),
    }
}

/// The fault of an object whose name or namespace is an unrendered template, and what the object could be.
fn unrendered_key(object: &mut Object) -> Option<(Finding, Meant)> {
    let key = &object.key;
    let field = match &key.namespace {
        _ if mistyped::is_unrendered(&key.kind, key.name.as_str()) => "metadata.name",
        Some(namespace) if mistyped::is_unrendered(&key.kind, namespace.as_str()) => "metadata.namespace",
        _ => return None,
    };
    let fault = unrendered(field);
    let finding = finding_of(&fault, object);
    object.faults.push(fault);
    Some((finding, Meant::by_key(object)))
}

/// Puts the sources' readings together, in the order of the configuration.
pub fn assemble(fleet: &Fleet, readings: Vec<Reading>) -> (Snapshot, Vec<Finding>) {
    assemble_by(fleet, readings, &Alone)
}

/// As [`assemble`], but `hands` do the work on the documents.
pub fn assemble_by(fleet: &Fleet, readings: Vec<Reading>, hands: &dyn Hands) -> (Snapshot, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut scopes = Scopes::new();
    for (kind, extra) in &fleet.kinds {
        scopes.learn(kind.clone(), extra.scope);
    }
    let sealed = readings.iter().flat_map(|reading| &reading.sealed).map(|sealed| kind_words(&sealed.document));
    let mut kinds: BTreeSet<KindWords<'_>> = sealed.collect();
    let mut defining: Vec<Vec<&Node>> = Vec::new();
    for reading in &readings {
        let looked = hands.look(&reading.documents, &Looked::at);
        kinds.extend(looked.iter().flat_map(|looked| &looked.kinds));
        defining.push(looked.into_iter().flat_map(|looked| looked.define).collect());
    }
    let asked = readings.iter().map(|reading| reading.inquiry.as_ref()).zip(&defining);
    let sources = fleet.sources.iter().zip(asked).map(|(source, (inquiry, defining))| (source, inquiry, &**defining));
    let definitions = learn_definitions(fleet, sources, &mut scopes);
    let named = named_kinds(fleet, &defining);
    let declared: BTreeSet<GroupKind> = fleet.kinds.keys().chain(definitions.keys()).cloned().chain(named).collect();
    let judged = Judged::of(fleet, &declared, kinds);
    let known = Known { scopes, judged };
    let scopes = &known.scopes;
    let clusters: Vec<Option<String>> = readings.iter().map(|reading| reading.cluster.clone()).collect();
    let mut home = Home::of(fleet, &clusters);

    let mut objects = Objects::default();
    let mut states = Vec::new();
    let mut elsewhere = BTreeMap::new();
    let mut strays = Vec::new();
    let mut of_machines = Vec::new();
    let mut values = Vec::new();
    for (index, (source, reading)) in fleet.sources.iter().zip(readings).enumerate() {
        let Reading {
            documents,
            weighed: weighed_before,
            sealed: documents_sealed,
            complete,
            unread_words: mut words,
            root,
            stood,
            inquiry,
            cluster: _,
            lines,
        } = reading;
        let mut meant = Guesses::default();
        let weighed = hands.weigh(documents, &|document| Admitted(weigh(fleet, source, &known, document)));
        let numbered = weighed_before.into_iter().enumerate().map(|(number, weighed)| weighed.numbered(number));
        for Admitted(weighed) in weighed.into_iter().flatten().chain(numbered) {
            match weighed {
                Weighed::Ours(mut object, told, template) => {
                    FaultLine::note(&lines, &mut object);
                    findings.extend(told);
                    // No claim names a Namespace, so what selects by its labels could not say why it waits.
                    let slips =
                        object.faults.iter().filter(|it| it.code == Code::Mistyped && object.key.kind.is_namespace());
                    findings.extend(slips.map(|fault| finding_of(fault, &object)));
                    template.into_iter().for_each(|could_be| meant.add(*could_be));
                    // What is listed is never published; what is asked by name is told apart when it is supplied.
                    match home.word(fleet, source, &object) {
                        HomeWord::Counts => place(&mut objects, fleet, index, object),
                        HomeWord::Own => home.note(index, *object),
                        HomeWord::Delivered => {}
                        HomeWord::Unclear(_) => words.push(UnreadWords::of_object(&object.key)),
                    }
                }
                Weighed::Mistyped(told) => {
                    let (told, object, could_be) = *told;
                    findings.extend(told);
                    could_be.into_iter().for_each(|it| meant.add(it));
                    object.into_iter().for_each(|object| place(&mut objects, fleet, index, Box::new(object)));
                }
                Weighed::Foreign(stray) => strays.push((index, *stray)),
                Weighed::Idle(machine) => of_machines.extend(machine.map(|it| *it)),
                Weighed::Unread(unread) => {
                    let (kind, document, origin) = *unread;
                    elsewhere::note(&mut elsewhere, fleet, source, &kind, &document, &origin);
                }
                Weighed::Refused(refusal) => {
                    let (unusable, kind, origin) = *refusal;
                    findings.push(refused(&unusable.why, &kind, &origin, false));
                    words.push(*unusable.words);
                }
            }
        }
        let mut sealed = BTreeMap::new();
        for (number, document) in documents_sealed.into_iter().enumerate() {
            let kind = kind_of(&document.document);
            let astray = || astray::check(&document.document, &kind, (fleet, source, scopes), &document.origin);
            if let Some(astray) = fleet.reads(&kind).then(astray).flatten() {
                let Astray { finding, could_be } = *astray;
                findings.push(finding);
                if !could_be.is_empty() {
                    could_be.into_iter().for_each(|it| meant.add(it));
                    // Who copies its values is no less a copier.
                    let default = source.default_namespace.as_ref();
                    if let Ok(object) = admit(document.document, document.origin, scopes, default, fleet) {
                        values.push((object.key, (index, document.file), document.leaves));
                    }
                    continue;
                }
            }
            if let Some(reason) = document.trouble.as_ref().filter(|_| fleet.lists(&kind)) {
                let origin = &document.origin;
                match admit(document.document, origin.clone(), scopes, source.default_namespace.as_ref(), fleet) {
                    Ok(object) if !source.provides.admits(&object.key, &fleet.guarded) => {
                        if !kind.is_namespace() {
                            strays.push((index, Stray::of(object)));
                        }
                    }
                    admitted => {
                        findings.push(unopened::shut(&kind, origin, reason));
                        words.push(match admitted {
                            Ok(object) => UnreadWords::of_object(&object.key),
                            Err(unusable) => *unusable.words,
                        });
                    }
                }
                continue;
            }
            if !fleet.reads(&kind) {
                if let Some(Mistyped { meant: kind, fault }) = known.judged.get(&document.document) {
                    let finding = Finding::new(fault.code, fault.message).at(&document.origin).help(fault.help);
                    findings.push(finding);
                    meant.add(Meant::of(&document.document, kind, &document.origin));
                    continue;
                }
                elsewhere::note(&mut elsewhere, fleet, source, &kind, &document.document, &document.origin);
                continue;
            }
            let origin = document.origin.clone();
            match admit(document.document, document.origin, scopes, source.default_namespace.as_ref(), fleet) {
                Ok(mut object) if source.provides.admits(&object.key, &fleet.guarded) => {
                    values.push((object.key.clone(), (index, document.file), document.leaves));
                    FaultLine::note(&lines, &mut object);
                    match document.trouble {
                        Some(reason) => unopened::close(&mut object, reason),
                        // What is wrong with it is known when it is open.
                        None => {
                            object.faults.clear();
                            sealed.entry(object.key.clone()).or_insert((number, None));
                        }
                    }
                    place(&mut objects, fleet, index, Box::new(object));
                }
                Ok(object) => strays.push((index, Stray::of(object))),
                Err(unusable) => {
                    findings.push(refused(&unusable.why, &kind, &origin, true));
                    words.push(*unusable.words);
                }
            }
        }
        // One that was moved elsewhere is there.
        let has = |held: &Held| held.copies().any(|copy| copy.origin.source == source.name);
        let is_missing = |key: &&ObjectKey| !objects.get(key).is_some_and(has);
        words.extend(stood.iter().filter(is_missing).map(|key| UnreadWords::of_object(key).without_text()));
        let inquiry = inquiry
            .map(Inquiry::without_machines)
            .map(|inquiry| inquiry.without_claimants(|kind| fleet.lists(kind) && !fleet.takes(&source.name, kind)));
        states.push(State {
            name: source.name.clone(),
            provides: source.provides.clone(),
            overrides: source.overrides,
            root,
            complete,
            changing: BTreeMap::new(),
            sealed,
            meant,
            strayed: Guesses::default(),
            words: Words::of(words),
            inquiry,
        });
    }
    let ignored = strays::ignore(fleet, &objects, (strays, &mut states), &mut findings);
    home.back_up_all(&mut objects);
    let copies = copies::Copies::among(values);
    let guarded = fleet.guarded.clone();
    let base = Base {
        objects,
        sources: states,
        guarded,
        scopes: known.scopes,
        made: AllMade::default(),
        definitions,
        elsewhere,
        ignored,
        of_machines,
        copies,
        home,
    };
    (Snapshot { base: Arc::new(base), again: BTreeMap::new() }, findings)
}

/// The kinds that ProviderInterfaces of the sources define or refer to.
fn named_kinds(fleet: &Fleet, defining: &[Vec<&Node>]) -> Vec<GroupKind> {
    let sources = fleet.sources.iter().zip(defining).filter(|(source, _)| source.provides.cluster_scoped);
    let documents = sources.flat_map(|(_, documents)| documents);
    let interfaces = documents.filter(|document| kind_of(document).is(K0RDENT, PROVIDER_INTERFACE));
    let mut kinds = Vec::new();
    for identity in interfaces.filter_map(|document| document.at(&["spec", "clusterIdentities"])).flat_map(Node::items)
    {
        let references = identity.at(&["references"]).map(Node::items).unwrap_or_default();
        kinds.extend([identity].into_iter().chain(references).map(|item| {
            let text = |field| item.str_at(&[field]).unwrap_or_default();
            GroupKind::new(text("group"), text("kind"))
        }));
    }
    kinds
}
