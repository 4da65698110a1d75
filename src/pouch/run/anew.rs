//! Rekey: seals what is published anew, from the sources or from what is published itself.

use std::collections::BTreeSet;

use pouch_core::region::rekey::unpublished;
use pouch_core::report::summary::Outcome;

use super::rekey::{Unproved, rekey};
use super::render::{preview, render};
use super::{Report, Run, govern};
use crate::age::Identities;
use crate::error::Failure;
use crate::shelf::branch::BranchShelf;
use crate::shelf::output::Branch;
use crate::shelf::{Look, Shelf};
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};

/// What one attempt needs.
pub struct Anew<'a> {
    /// What the run works with.
    pub run: &'a Run<'a>,
    /// Reads the sources, if values come from there.
    pub surveyor: Surveyor<'a>,
    /// Who opens what is published; none where values come from the sources.
    pub identities: Option<Identities>,
    /// What a bundle that no reuse key vouches for is worth.
    pub unproved: Unproved,
    /// Whether no region was asked for by name.
    pub every: bool,
}

/// What one attempt made.
pub struct Made {
    /// What it did and found.
    pub report: Report,
    /// The commit of each git source that was read.
    pub revisions: Vec<(String, String)>,
}

impl Anew<'_> {
    /// Whether a second attempt would find nothing to read.
    pub fn reads_stdin(&self) -> bool {
        self.identities.is_none() && self.surveyor.reads_stdin()
    }

    /// As [`Self::make`], on a branch: one that is not there is not made.
    pub fn of_branch(
        &self,
        branch: &Branch<'_>,
        published: &BranchShelf,
        shelf: Option<&dyn Shelf>,
    ) -> Result<Made, Failure> {
        if published.is_there()? {
            return self.make(published, shelf, &branch.called());
        }
        Err(Failure::unavailable(
            format!("there is no {}, so there is nothing to seal anew", branch.called()),
            "Correct `output.git` in pouch.yaml; for a new fleet, `pouch publish` makes the branch.",
        ))
    }

    /// Seals everything anew and stages it on the shelf, if there is one. A region without a bundle is not
    /// sealed; where it was asked for, or where no region has one, that is no success. `place` is the
    /// shelf's name.
    pub fn make(&self, published: &dyn Look, shelf: Option<&dyn Shelf>, place: &str) -> Result<Made, Failure> {
        let Run { session, fleet, .. } = *self.run;
        let (mut bare, mut all) = (BTreeSet::new(), true);
        for to in self.run.destinations() {
            let has_files = || {
                let (files, odd) = published.read(to.directory())?;
                Ok::<_, Failure>(!files.is_empty() || !odd.is_nothing())
            };
            if published.manifest(to.directory().as_str())?.is_some() || has_files()? {
                all = false;
            } else {
                bare.insert(to.region.name.clone());
            }
        }
        let mut made = self.sealed(published, shelf)?;
        if !all && self.every {
            for region in &bare {
                session.ui.warn(&format!(
                    "nothing is published for region {region} in {place}, so nothing of it is sealed anew"
                ));
            }
            return Ok(made);
        }
        let report = &mut made.report;
        for region in report.regions.iter_mut().filter(|region| bare.contains(&*region.name)) {
            region.outcome = Outcome::Held;
        }
        report.findings.extend(bare.iter().map(|region| unpublished(region, place)));
        report.findings = govern(fleet, std::mem::take(&mut report.findings));
        Ok(made)
    }

    fn sealed(&self, published: &dyn Look, shelf: Option<&dyn Shelf>) -> Result<Made, Failure> {
        let session = self.run.session;
        if let Some(identities) = &self.identities {
            let rekey = || rekey(self.run, identities, self.unproved, published, shelf);
            let report = session.timed("render", rekey)?;
            return Ok(Made { report, revisions: Vec::new() });
        }
        let survey = session.timed("survey", || survey(&self.surveyor, Values::Read))?;
        let report = session.timed("render", || match shelf {
            Some(shelf) => render(self.run, &survey, shelf),
            None => preview(self.run, &survey, published),
        })?;
        Ok(Made { report, revisions: survey.revisions })
    }
}
