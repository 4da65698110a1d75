//! Proof of bundles: has every file looked at, by as many threads as there are, and identities tried.
//!
//! What is wrong with a bundle is the core's business; age opens stanzas here, because it is no part of
//! the core.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pouch_core::config::Fleet;
use pouch_core::finding::{Class, Finding, Severity, settle};
use pouch_core::listing::counted;
use pouch_core::name::Region;
use pouch_core::recipient::Recipient;
use pouch_core::report::summary::{self, FindingRecord, Summary};
use pouch_core::verify::bundles::opened::{StanzaAnswers, judge};
use pouch_core::verify::bundles::{Book, BundleTree, Measure, SealedFile, open};
use rayon::prelude::*;

use super::{govern, told};
use crate::age::Identities;
use crate::error::Ended;
use crate::harden::wiped;

/// What came of a proof.
pub struct Proof {
    /// The regions that were looked at, by folder.
    pub regions: Vec<RegionProof>,
    /// To which regions' files each identity belongs.
    pub belongs: BTreeMap<Recipient, Vec<Region>>,
    /// Whose identities opened something, rightly or not.
    pub openers: BTreeSet<Recipient>,
    /// Everything found, settled.
    pub findings: Vec<Finding>,
}

impl Proof {
    /// One line for each region, and one for what is outside of them.
    pub fn lines(&self) -> String {
        let mut faults: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in self.findings.iter().filter(|finding| is_fault(finding)) {
            *faults.entry(finding.region.as_ref().map_or("", |region| region.as_str())).or_default() += 1;
        }
        let mut text = String::new();
        for region in &self.regions {
            let faults = faults.remove(region.name.as_str()).unwrap_or_default();
            let word = if faults == 0 { "proved" } else { "not proved" };
            let _ = write!(text, "{}  {word}  {}", region.name, counted(region.objects, "object", "objects"));
            let _ = write!(text, ", {}", counted(region.secrets, "Secret", "Secrets"));
            if region.opened > 0 {
                let _ = write!(text, ", {} opened", region.opened);
            }
            text.push_str(&if faults == 0 {
                "\n".to_owned()
            } else {
                format!(", {}\n", counted(faults, "fault", "faults"))
            });
        }
        for (region, faults) in faults {
            let place = if region.is_empty() { "elsewhere" } else { region };
            let _ = writeln!(text, "{place}  not proved  {}", counted(faults, "fault", "faults"));
        }
        text
    }

    /// The summary of a proof.
    pub fn summary(&self, fleet: Option<&Fleet>, commit: Option<String>, ended: Ended) -> Summary {
        let faults_of = |name: &str| {
            let theirs =
                |finding: &&Finding| is_fault(finding) && finding.region.as_ref().is_some_and(|of| *of == *name);
            self.findings.iter().filter(theirs).count()
        };
        let proved = self.regions.iter().map(|region| summary::Proved {
            region: region.name.to_string(),
            directory: region.directory.clone(),
            objects: region.objects,
            secrets: region.secrets,
            tags: region.tags,
            recipients: fleet.is_some(),
            opened: region.opened,
            faults: faults_of(region.name.as_str()),
        });
        let named = self.regions.first().map(|region| region.fleet.clone()).unwrap_or_default();
        let fleet = fleet.map_or(named, |fleet| fleet.name.to_string());
        Summary {
            commit,
            proved: Some(proved.collect()),
            findings: self.findings.iter().map(FindingRecord::from).collect(),
            ..told::summary(fleet, "verify", ended)
        }
    }
}

/// One region.
pub struct RegionProof {
    /// Its name.
    pub name: Region,
    /// Its folder.
    pub directory: String,
    /// The fleet that its manifest names.
    pub fleet: String,
    /// How many objects it has, Namespaces not counted.
    pub objects: usize,
    /// How many Secrets.
    pub secrets: usize,
    /// Whether a reuse key authenticates its manifest.
    pub tags: bool,
    /// How many of its Secrets an identity opened.
    pub opened: usize,
}

/// Whether a finding says that something is not as it should be.
pub fn is_fault(finding: &Finding) -> bool {
    finding.code.class() == Class::Fault && finding.severity == Severity::Error
}

/// Proves what `measure` asks of a tree, as far as that goes with the identities at hand.
pub fn prove(measure: &Measure<'_>, tree: &BundleTree, identities: &Identities, more: Vec<Finding>) -> Proof {
    let (book, mut findings) = open(measure, tree);
    findings.extend(more);
    let held: BTreeSet<Recipient> = identities.recipients().cloned().collect();
    let looked: Vec<_> = tree
        .par_iter()
        .map(|(path, standing)| {
            let mut looked = book.file(path, standing);
            let mut openers: Vec<Recipient> = Vec::new();
            if let Some(sealed) = looked.sealed.as_ref().filter(|_| !held.is_empty()) {
                looked.findings.extend(wiped(|| {
                    let answers = answers(sealed, identities);
                    openers.extend(answers.iter().flatten().map(|(who, _)| who.clone()));
                    judge(&book, sealed, standing, &held, &answers)
                }));
            }
            (looked, openers)
        })
        .collect();
    let mut sealed: Vec<SealedFile> = Vec::new();
    let mut opened: BTreeMap<Region, usize> = BTreeMap::new();
    let mut secrets: BTreeMap<Region, usize> = BTreeMap::new();
    let mut all: BTreeSet<Recipient> = BTreeSet::new();
    for (looked, openers) in looked {
        findings.extend(looked.findings);
        if let Some(file) = looked.sealed {
            *secrets.entry(file.region.clone()).or_default() += 1;
            *opened.entry(file.region.clone()).or_default() += usize::from(!openers.is_empty());
            sealed.push(file);
        }
        all.extend(openers);
    }
    let regions: Vec<_> = book.regions.values().collect();
    let of_regions: Vec<Vec<Finding>> = regions.par_iter().map(|region| book.region(region, tree)).collect();
    findings.extend(of_regions.into_iter().flatten());
    findings.extend(book.across(&sealed, tree));
    let proved = |region: &&pouch_core::verify::bundles::ProvedRegion<'_>| RegionProof {
        name: region.name.clone(),
        directory: region.directory.to_string(),
        fleet: region.manifest.fleet.to_string(),
        objects: region.objects(),
        secrets: secrets.get(&region.name).copied().unwrap_or_default(),
        tags: region.authentic,
        opened: opened.get(&region.name).copied().unwrap_or_default(),
    };
    let findings = match measure.fleet {
        Some(fleet) => govern(fleet, findings),
        None => settle(findings),
    };
    Proof { regions: regions.iter().map(proved).collect(), belongs: belongs(&book, &held), openers: all, findings }
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
