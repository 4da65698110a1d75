//! Siblings: the rulings on the entries of one group of guests in one namespace.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::claim::parcel;
use crate::judge::case::{Ruling, Verdict};
use crate::name::{Claimant, Entry, Name, Namespace, ObjectKey, ReadFrom};

/// The rulings on what groups of guests ask for, by the group in its namespace.
#[derive(Default)]
pub(super) struct Siblings<'r, 'c> {
    groups: BTreeMap<Claimant, Group<'r, 'c>>,
    own: BTreeMap<&'r Claimant, &'r Ruling<'c>>,
}

/// Those of one group.
#[derive(Default)]
struct Group<'r, 'c> {
    all: Vec<&'r Ruling<'c>>,
    /// Those on rules as a whole and on templates that are broken: they may give more.
    open: Vec<&'r Ruling<'c>>,
    /// Those that read an object, by its namespace and name.
    reading: BTreeMap<(Option<Namespace>, Name), Vec<&'r Ruling<'c>>>,
    /// Those that put something somewhere in guests, or would.
    putting: BTreeMap<&'r ObjectKey, Vec<&'r Ruling<'c>>>,
}

impl<'r, 'c> Group<'r, 'c> {
    fn add(&mut self, ruling: &'r Ruling<'c>) {
        let (claim, closure) = (&ruling.case.claim, &ruling.case.closure);
        self.all.push(ruling);
        let gives_more = matches!(claim.by.entry(), Some(Entry::Rule { object: None, .. } | Entry::Template(_)));
        if ruling.verdict == Verdict::Broken && gives_more {
            self.open.push(ruling);
        }
        let members = closure.members.iter().map(|member| &member.read);
        for read in members.chain(closure.waiting.keys()).chain(ruling.waiting.keys()) {
            self.reading.entry((read.namespace.clone(), read.name.clone())).or_default().push(ruling);
        }
        let places = closure.members.iter().filter_map(|member| parcel(&member.edits)).map(|parcel| &parcel.lands);
        for lands in places.chain(closure.awaited.keys()) {
            self.putting.entry(lands).or_default().push(ruling);
        }
    }
}

impl<'r, 'c> Siblings<'r, 'c> {
    pub(super) fn of(rulings: &'r [Ruling<'c>]) -> Self {
        let mut of = Self::default();
        for ruling in rulings.iter().filter(|ruling| ruling.case.claim.by.group().is_some()) {
            let by = &ruling.case.claim.by;
            of.groups.entry(by.whole().into_owned()).or_default().add(ruling);
            of.own.insert(by, ruling);
        }
        of
    }

    fn group(&self, by: &Claimant) -> Option<&Group<'r, 'c>> {
        self.groups.get(&*by.whole())
    }

    /// All of the group that a claimant belongs to; nothing for others.
    pub(super) fn of_group(&self, by: &Claimant) -> &[&'r Ruling<'c>] {
        self.group(by).map(|group| &*group.all).unwrap_or_default()
    }

    /// Those of the group that are broken and may give more than they say.
    pub(super) fn open(&self, by: &Claimant) -> &[&'r Ruling<'c>] {
        self.group(by).map(|group| &*group.open).unwrap_or_default()
    }

    /// Those of the group that read an object.
    pub(super) fn reading(&self, by: &Claimant, from: &ReadFrom) -> &[&'r Ruling<'c>] {
        let group = self.group(by);
        let reading = group.and_then(|group| group.reading.get(&(from.namespace.clone(), from.name.clone())));
        reading.map(Vec::as_slice).unwrap_or_default()
    }

    /// Those of the group that put something somewhere in guests.
    pub(super) fn putting(&self, by: &Claimant, lands: &ObjectKey) -> &[&'r Ruling<'c>] {
        let putting = self.group(by).and_then(|group| group.putting.get(lands));
        putting.map(Vec::as_slice).unwrap_or_default()
    }

    /// The ruling on an entry.
    pub(super) fn own(&self, by: &Claimant) -> Option<&'r Ruling<'c>> {
        self.own.get(by).copied()
    }
}
