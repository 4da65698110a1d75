//! Rekey: seals what is published anew, from the sources or from what is published itself.

use std::collections::BTreeSet;
use std::path::Path;

use pouch_core::region::rekey::unpublished;
use pouch_core::report::summary::Outcome;
use pouch_core::stamp::SourceStamp;

use super::rekey::{Unproved, rekey};
use super::render::{preview, render};
use super::{Report, Run};
use crate::age::Identities;
use crate::error::Failure;
use crate::shelf::branch::BranchShelf;
use crate::shelf::target::Target;
use crate::shelf::{Look, Shelf};
use crate::survey::last::Last;
use crate::survey::source::live::Values;
use crate::survey::torn::Bundles;
use crate::survey::{Survey, Surveyor, survey};

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

/// Where something is sealed anew.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// At a branch.
    Branch(&'a Target),
    /// In a folder.
    Folder(&'a Path),
}

/// What one attempt made.
pub struct Made {
    /// What it did and found.
    pub report: Report,
    /// Which state of each source was read.
    pub read: Vec<SourceStamp>,
}

impl Anew<'_> {
    /// Whether a second attempt would find nothing to read.
    pub fn reads_stdin(&self) -> bool {
        self.identities.is_none() && self.surveyor.reads_stdin()
    }

    /// Refuses a branch that is not there: it is not made.
    pub fn check(&self, target: &Target, published: &BranchShelf) -> Result<(), Failure> {
        if published.is_there()? {
            return Ok(());
        }
        Err(Failure::unavailable(
            format!("there is no {}, so there is nothing to seal anew", target.called()),
            "Correct `output.git` in pouch.yaml; for a new fleet, `pouch publish` makes the branch.",
        ))
    }

    /// Reads the sources, if values come from there.
    pub fn read(&self, last: Option<&Last>, bundles: &Bundles<'_>) -> Result<Option<Survey>, Failure> {
        let surveyor = Surveyor { last, bundles: Some(bundles), ..self.surveyor.clone() };
        let survey = || self.run.session.timed("survey", || survey(&surveyor, Values::Read));
        let mut read = self.identities.is_none().then(survey).transpose()?;
        if let (Some(survey), Some(last)) = (&mut read, last) {
            survey.remembers(last);
        }
        Ok(read)
    }

    /// Seals everything anew and stages it on the shelf, if there is one. A region without a bundle is not
    /// sealed; where it was asked for, or where no region has one, that is no success.
    pub fn make(
        &self,
        read: Option<&Survey>,
        (published, shelf): (&dyn Look, Option<&dyn Shelf>),
        place: Place<'_>,
    ) -> Result<Made, Failure> {
        let (run, place) = match place {
            Place::Branch(target) => (self.run.at(target), target.called()),
            Place::Folder(folder) => (*self.run, folder.display().to_string()),
        };
        let Run { session, fleet, .. } = run;
        let (mut bare, mut all) = (BTreeSet::new(), true);
        for to in run.destinations() {
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
        let mut made = self.sealed(&run, read, (published, shelf))?;
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
        report.findings.extend(bare.iter().map(|region| unpublished(region, &place)));
        report.findings = fleet.govern(std::mem::take(&mut report.findings));
        Ok(made)
    }

    fn sealed(
        &self,
        run: &Run<'_>,
        read: Option<&Survey>,
        (published, shelf): (&dyn Look, Option<&dyn Shelf>),
    ) -> Result<Made, Failure> {
        let (session, mut sources) = (run.session, Vec::new());
        let report = session.timed("render", || match (&self.identities, read) {
            (Some(identities), _) => rekey(run, identities, self.unproved, published, shelf),
            (None, None) => Err(Failure::bug("no source was read")),
            (None, Some(survey)) => {
                sources.clone_from(&survey.read);
                match shelf {
                    Some(shelf) => render(run, survey, shelf),
                    None => preview(run, survey, published),
                }
            }
        })?;
        Ok(Made { report, read: sources })
    }
}
