//! Tallies: how much of a bundle stands on its region as published, and whose credentials are in force there.

use alloc::collections::{BTreeMap, BTreeSet};

use super::Bundle;
use super::compare::{Answers, copies_left, is_going, ours_left};
use crate::finding::{Class, Finding};
use crate::name::{Claimant, ObjectKey};

/// What came of comparing a region with its bundle, in numbers. Namespaces are not counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Objects that stand there as published.
    pub as_published: usize,
    /// Objects that do not stand there, or are being deleted.
    pub missing: usize,
    /// Objects that stand there otherwise.
    pub differing: usize,
    /// Objects that stand there and left the bundle, or are k0rdent's copies.
    pub left_behind: usize,
    /// Who has something in the bundle, and whether all of it stands there as published.
    pub claimants: BTreeMap<Claimant, bool>,
}

/// Counts what was found.
pub fn tally(bundle: &Bundle<'_>, answers: &Answers, findings: &[Finding]) -> Tally {
    let faults = findings.iter().filter(|finding| finding.code.class() == Class::Fault);
    let faulty: BTreeSet<&ObjectKey> = faults.filter_map(|finding| finding.object.as_ref()).collect();
    let mut tally = Tally::default();
    let mut amiss: BTreeSet<&ObjectKey> = BTreeSet::new();
    for expected in &bundle.objects {
        let key = expected.key;
        let has_place = !key.namespace.as_ref().is_some_and(|name| matches!(answers.namespaces.get(name), Some(None)));
        let live = answers.objects.get(key).and_then(Option::as_ref).filter(|live| has_place && !is_going(live));
        match live {
            // A kind that is not served was not asked for, and is missing too.
            None => tally.missing += 1,
            Some(_) if faulty.contains(key) => tally.differing += 1,
            Some(_) => {
                tally.as_published += 1;
                continue;
            }
        }
        amiss.insert(key);
    }
    // What the bundle's files do not have as its manifest says was not compared.
    let compared: BTreeSet<&ObjectKey> = bundle.objects.iter().map(|expected| expected.key).collect();
    for object in bundle.manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()) {
        let stands = compared.contains(&object.key) && !amiss.contains(&object.key);
        for needed in &object.needed_by {
            let in_force = tally.claimants.entry(needed.by.clone()).or_insert(true);
            *in_force = *in_force && stands;
        }
    }
    let left: BTreeSet<&ObjectKey> = ours_left(bundle, answers).chain(copies_left(bundle, answers)).collect();
    tally.left_behind = left.len();
    tally
}
