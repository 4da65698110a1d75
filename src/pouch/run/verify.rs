//! Proof of bundles: has every file looked at, by as many threads as there are, and identities tried.
//!
//! What is wrong with a bundle is the core's business; age opens stanzas here, because it is no part of
//! the core.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::finding::crowd::{self, Account};
use pouch_core::finding::{Finding, settle};
use pouch_core::listing::counted;
use pouch_core::name::Region;
use pouch_core::node::Node;
use pouch_core::recipient::Recipient;
use pouch_core::report::document::{Document, Text, Tone};
use pouch_core::report::summary::{FindingRecord, Proved, Summary};
use pouch_core::verify::bundles::opened::{StanzaAnswers, judge};
use pouch_core::verify::bundles::{Book, BundleTree, Measure, ProvedRegion, SealedFile, Standing, open};
use rayon::prelude::*;

use super::{is_fault, told};
use crate::age::Identities;
use crate::error::Ended;
use crate::harden::wiped;

/// What came of a proof.
pub struct Proof {
    /// The fleet: the configuration's, or else the one that the first manifest names.
    pub fleet: String,
    /// The regions that were looked at, by folder.
    pub regions: Vec<Proved>,
    /// To which regions' files each identity belongs.
    pub belongs: BTreeMap<Recipient, Vec<Region>>,
    /// Whose identities opened something, rightly or not.
    pub openers: BTreeSet<Recipient>,
    /// Everything found, settled.
    pub findings: Vec<Finding>,
}

impl Proof {
    /// The proofs of several places as one; none of none.
    pub fn together(proofs: Vec<Self>) -> Option<Self> {
        let mut proofs = proofs.into_iter();
        let mut all = proofs.next()?;
        for mut proof in proofs {
            all.regions.append(&mut proof.regions);
            all.findings.append(&mut proof.findings);
            all.openers.append(&mut proof.openers);
            for (recipient, mut regions) in proof.belongs {
                all.belongs.entry(recipient).or_default().append(&mut regions);
            }
        }
        all.regions.sort_by(|one, other| one.region.cmp(&other.region));
        all.findings = settle(all.findings);
        Some(all)
    }

    /// One line for each region, and one for what is outside of them.
    pub fn lines(&self) -> Document {
        let mut faults: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in self.findings.iter().filter(|finding| is_fault(finding)) {
            *faults.entry(finding.region.as_ref().map_or("", |region| region.as_str())).or_default() += finding.count();
        }
        let mut out = Document::default();
        let head = |name: &str, (tone, word)| Text::column(Tone::Strong, name, 0).and_column(tone, word, 0);
        let amiss = (Tone::Broken, "not proved");
        for region in &self.regions {
            let faults = faults.remove(region.region.as_str()).unwrap_or_default();
            let mut parts =
                vec![counted(region.objects, "object", "objects"), counted(region.secrets, "Secret", "Secrets")];
            if region.opened > 0 {
                parts.push(format!("{} opened", region.opened));
            }
            if faults > 0 {
                parts.push(counted(faults, "fault", "faults"));
            }
            let state = if faults == 0 { (Tone::Good, "proved") } else { amiss };
            out.item(0, head(&region.region, state).then(parts.join(", ")));
        }
        for (region, faults) in faults {
            let place = if region.is_empty() { "elsewhere" } else { region };
            out.item(0, head(place, amiss).then(counted(faults, "fault", "faults")));
        }
        out
    }

    /// The summary of a proof.
    pub fn summary(&self, commit: Option<String>, ended: Ended) -> Summary {
        Summary {
            commit,
            proved: Some(self.regions.clone()),
            findings: self.findings.iter().map(FindingRecord::from).collect(),
            ..told::summary(Some(self.fleet.clone()), "verify", ended)
        }
    }
}

/// Proves what `measure` asks of a tree, as far as that goes with the identities at hand.
pub fn prove(measure: &Measure<'_>, tree: &BundleTree, identities: &Identities, more: Vec<Finding>) -> Proof {
    let (book, mut findings) = open(measure, tree);
    findings.extend(more);
    prove_book(&book, tree, identities, findings, &|_, _| {})
}

/// The number of files that are looked at before their findings are bounded.
const FILES_AT_ONCE: usize = 10_000;

/// Proves an opened tree, beside what was `found` already; `keep` is given every Secret that an identity opened.
pub fn prove_book(
    book: &Book<'_>,
    tree: &BundleTree,
    identities: &Identities,
    found: Vec<Finding>,
    keep: &(dyn Fn(&SealedFile, &Node) + Sync),
) -> Proof {
    let (measure, mut findings) = (book.measure, found);
    let held: BTreeSet<Recipient> = identities.recipients().cloned().collect();
    let look = |(path, standing): &(&String, &Standing)| {
        let mut looked = book.file(path, standing);
        let mut openers: Vec<Recipient> = Vec::new();
        if let Some(sealed) = looked.sealed.as_ref().filter(|_| !held.is_empty()) {
            looked.findings.extend(wiped(|| {
                let answers = answers(sealed, identities);
                openers.extend(answers.iter().flatten().map(|(who, _)| who.clone()));
                let judged = judge(book, sealed, standing, &held, &answers);
                judged.opened.iter().for_each(|opened| keep(sealed, opened));
                judged.findings
            }));
        }
        (looked, openers)
    };
    let settled = |findings| match measure.fleet {
        Some(fleet) => fleet.govern(findings),
        None => crowd::bounded(settle(findings), Account::without_source),
    };
    let mut sealed: Vec<SealedFile> = Vec::new();
    let mut opened: BTreeMap<Region, usize> = BTreeMap::new();
    let mut secrets: BTreeMap<Region, usize> = BTreeMap::new();
    let mut all: BTreeSet<Recipient> = BTreeSet::new();
    let files: Vec<(&String, &Standing)> = tree.iter().collect();
    for some in files.chunks(FILES_AT_ONCE) {
        for (looked, openers) in some.par_iter().map(look).collect::<Vec<_>>() {
            findings.extend(looked.findings);
            if let Some(file) = looked.sealed {
                *secrets.entry(file.region.clone()).or_default() += 1;
                *opened.entry(file.region.clone()).or_default() += usize::from(!openers.is_empty());
                sealed.push(file);
            }
            all.extend(openers);
        }
        // A folder that stands at many paths has as many faults.
        if findings.len() > FILES_AT_ONCE {
            findings = settled(findings);
        }
    }
    let regions: Vec<_> = book.regions.values().collect();
    let of_regions: Vec<Vec<Finding>> = regions.par_iter().map(|region| book.region(region, tree)).collect();
    findings.extend(of_regions.into_iter().flatten());
    findings.extend(book.across(&sealed, tree));
    let findings = settled(findings);
    let mut faults: BTreeMap<&Region, usize> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| is_fault(finding)) {
        if let Some(region) = &finding.region {
            *faults.entry(region).or_default() += finding.count();
        }
    }
    let proved = |region: &&ProvedRegion<'_>| Proved {
        region: region.name.to_string(),
        directory: region.directory.to_string(),
        objects: region.objects(),
        secrets: secrets.get(&region.name).copied().unwrap_or_default(),
        tags: region.authentic,
        recipients: measure.fleet.is_some(),
        opened: opened.get(&region.name).copied().unwrap_or_default(),
        faults: faults.get(&region.name).copied().unwrap_or_default(),
    };
    let first = || regions.first().map(|region| &region.manifest.fleet);
    let fleet = measure.fleet.map(|fleet| &fleet.name).or_else(first).map(ToString::to_string).unwrap_or_default();
    let regions = regions.iter().map(proved).collect();
    Proof { fleet, regions, belongs: belongs(book, &held), openers: all, findings }
}

/// What the identities make of a file's stanzas.
fn answers(sealed: &SealedFile, identities: &Identities) -> StanzaAnswers {
    let answer = |(label, armored): &(String, String)| {
        identities.opening(label, armored).map(|(recipient, data_key)| (recipient.clone(), data_key))
    };
    sealed.stanzas.iter().map(answer).collect()
}

fn belongs(book: &Book<'_>, held: &BTreeSet<Recipient>) -> BTreeMap<Recipient, Vec<Region>> {
    let of = |recipient: &Recipient| {
        let theirs = book.regions.values().filter(|region| region.recipients().any(|known| known == recipient));
        theirs.map(|region| region.name.clone()).collect()
    };
    held.iter().map(|recipient| (recipient.clone(), of(recipient))).collect()
}
