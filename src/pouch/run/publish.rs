//! Publish: renders at every place that is published to, or says what that would do.

use std::collections::BTreeSet;

use pouch_core::config::RegionState;
use pouch_core::listing::all;
use pouch_core::name::SourceName;
use pouch_core::stamp::{SourceStamp, Stamp};

use super::again::{again, told as told_of};
use super::render::{preview, render, stood_at};
use super::{Report, Run, is_first, told};
use crate::error::Failure;
use crate::shelf::branch::BranchShelf;
use crate::shelf::rounds::Work;
use crate::shelf::target::Target;
use crate::survey::last::Last;
use crate::survey::source::live::Values;
use crate::survey::{Survey, Surveyor, authors, survey};

/// What becomes of a place where no bundle of the fleet stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// It is refused: the branch may be mistyped.
    Refused,
    /// It is published to.
    Taken,
    /// It is said that it would be refused.
    Said,
    /// Nothing is said of it: the run only answers a question.
    Unsaid,
}

/// Renders at every place.
pub struct Publish<'a> {
    /// What the run works with.
    pub run: &'a Run<'a>,
    /// Reads the sources.
    pub surveyor: &'a Surveyor<'a>,
    /// Whether it reads values.
    pub values: &'a Values,
    /// What becomes of a place without any bundle of the fleet.
    pub first: First,
    /// Whether no flag lets anything through, or limits the run.
    pub plain: bool,
}

impl Publish<'_> {
    /// Says each region's recipients, all of them. No bundle stands there to compare them with; a stamp may.
    fn tell_recipients(&self, target: &Target) {
        let run = self.run.at(target);
        for region in run.destinations().map(|to| to.region).filter(|region| region.state == RegionState::Active) {
            let recipients = all(&region.recipients);
            run.session.ui.note(&format!("region {} has the recipients {recipients}", region.name));
        }
    }
}

impl Work for Publish<'_> {
    type Read = Survey;
    type Made = Report;

    fn check(&self, target: &Target, shelf: &BranchShelf) -> Result<(), Failure> {
        let fleet = &target.fleet;
        // Whoever proposed it was asked already.
        if self.first == First::Unsaid || shelf.is_proposed() || !is_first(fleet, shelf)? {
            return Ok(());
        }
        if self.first == First::Taken {
            self.tell_recipients(target);
            return Ok(());
        }
        let (place, fleet, path) = (target.called(), &fleet.name, &fleet.output.path);
        let words = format!("first-publication: {place} holds no bundle of fleet {fleet} under {path}");
        if self.first == First::Said {
            self.run.session.ui.warn(&format!("{words}; `pouch publish` will want --first"));
            return Ok(());
        }
        Err(Failure::usage(
            words,
            "If nothing was published there before, pass --first, once. If something was, correct output.git.branch, \
             output.git.repository or output.path: the regions follow another place.",
        ))
    }

    fn again(&self, last: &Stamp, standing: &str) -> Option<Report> {
        again(self.surveyor, self.run.keys, (last, standing), self.run.informs).filter(|_| self.plain)
    }

    fn read(&self, stamps: Vec<Stamp>, places: &[(&Target, &BranchShelf)]) -> Result<Survey, Failure> {
        let allowances = &self.run.allowances;
        let last = Last::new(stamps, &allowances.accept_older, &allowances.accept_source);
        let bundles = |source: &SourceName, files: &BTreeSet<&str>| stood_at(self.run, places, (source, files));
        let surveyor = Surveyor { last: Some(&last), bundles: Some(&bundles), ..self.surveyor.clone() };
        let mut survey = self.run.session.timed("survey", || survey(&surveyor, self.values.clone()))?;
        survey.remembers(&last);
        Ok(survey)
    }

    fn make(
        &self,
        (target, shelf): (&Target, &BranchShelf),
        published: &[SourceStamp],
        survey: &Survey,
    ) -> Result<(Report, String), Failure> {
        let run = self.run.at(target);
        let mut report = run.session.timed("render", || render(&run, survey, shelf))?;
        if run.fleet.output.git.as_ref().is_some_and(|git| git.authors) && report.would_change() {
            report.authors = run.session.timed("authors", || authors(self.surveyor, &survey.read, published));
        }
        let message = told::commit_message(&target.fleet, &report, &survey.read, target.proposal())?;
        Ok((report, message))
    }

    fn look(&self, target: &Target, shelf: &BranchShelf, survey: &Survey) -> Result<Report, Failure> {
        let run = self.run.at(target);
        run.session.timed("render", || preview(&run, survey, shelf))
    }

    fn stamp(&self, report: &Report, survey: &Survey, standing: Option<String>) -> Result<Option<Stamp>, Failure> {
        let read = survey.read.clone();
        let standing = standing.filter(|_| self.plain && !survey.is_late());
        let told = standing.map(|standing| told_of(self.surveyor, self.run.keys, (report, &read), standing));
        let told = told.transpose()?.flatten();
        Ok(Some(Stamp { told, sources: read, recipients: report.recipients.clone(), ..Stamp::default() }))
    }
}
