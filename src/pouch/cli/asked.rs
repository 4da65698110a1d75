//! What `plan`, `publish` and `render` are asked for in the same words, and what they work with for that.

use std::path::PathBuf;

use pouch_core::explain::Question;
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::reuse::KeyRing;

use super::accept::Requested;
use super::part::Part;
use super::reach::ReachArgs;
use crate::error::Failure;
use crate::run::Run;
use crate::run::places::{Places, together};
use crate::run::publish::{First, Publish};
use crate::run::render::preview;
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::directory::LookedAt;
use crate::shelf::output::Output;
use crate::survey::source::live::Values;
use crate::survey::{Reach, Surveyor, survey};

/// Flags of every command that renders, or says what rendering would come to.
#[derive(Debug, Default, clap::Args)]
pub struct Asked {
    #[command(flatten)]
    part: Part,
    /// What is let through.
    #[command(flatten)]
    pub wanted: Requested,
    #[command(flatten)]
    reach: ReachArgs,
}

impl Asked {
    /// Everything as the configuration says, and clusters reached like this.
    pub fn reaching(reach: ReachArgs) -> Self {
        Self { reach, ..Self::default() }
    }

    /// Reads the configuration.
    pub fn open(&self, session: &Session) -> Result<Opened, Failure> {
        let mut opened = Opened::open(session)?;
        self.part.reads_labels(&mut opened.settings.fleet)?;
        Ok(opened)
    }

    /// Works out what is meant: `named` are Credentials that stand on the command line without a flag, `outputs` the
    /// folders that no source is read from.
    pub fn prepared<'a>(
        &self,
        session: &'a Session,
        opened: &'a Opened,
        (named, outputs): (&[String], Vec<PathBuf>),
    ) -> Result<Prepared<'a>, Failure> {
        let fleet = &opened.settings.fleet;
        let keys = opened.keys(session)?;
        let allowances = self.wanted.allowances(fleet)?;
        let selection = self.part.selection(fleet, named)?;
        let reach = self.reach.reach(&session.ambient);
        let is_plain =
            self.wanted == Requested::default() && selection.refresh.is_none() && !self.reach.names_a_cluster();
        Ok(Prepared { session, opened, keys, allowances, selection, outputs, reach, is_plain })
    }
}

/// What a run works with.
pub struct Prepared<'a> {
    session: &'a Session,
    opened: &'a Opened,
    /// The reuse keys.
    pub keys: KeyRing,
    allowances: Allowances,
    selection: Selection,
    outputs: Vec<PathBuf>,
    reach: Reach,
    /// Whether no flag lets anything through, or limits the run.
    pub is_plain: bool,
}

impl Prepared<'_> {
    /// The run, for all places.
    pub fn run(&self) -> Run<'_> {
        let Self { session, opened, keys, allowances, selection, .. } = self;
        Run { session, fleet: &opened.settings.fleet, keys, allowances, selection, target: None, question: None }
    }

    /// Looks what a publish would do, where it would be published, and answers a question about that if there is one.
    pub fn look(&self, question: Option<&Question>) -> Result<Places, Failure> {
        let Self { session, opened, keys, .. } = self;
        let (run, surveyor) = (Run { question, ..self.run() }, self.surveyor());
        if opened.settings.fleet.output.git.is_some() {
            // Whoever only asks is not told that a publish would want --first.
            let work = Publish { run: &run, surveyor: &surveyor, first: First::Taken, plain: false };
            return together(session, Output::of(opened)?.preview(session, keys, &work));
        }
        let published = LookedAt::open_or_empty(&opened.output())?;
        let survey = session.timed("survey", || survey(&surveyor, Values::Read))?;
        let report = session.timed("render", || preview(&run, &survey, &published))?;
        Ok(survey.wiped_beside(|| Places::of_folder(report)))
    }

    /// What reads the sources.
    pub fn surveyor(&self) -> Surveyor<'_> {
        let Self { session, opened, outputs, reach, .. } = self;
        Surveyor { session, fleet: &opened.settings.fleet, base: &opened.typed, outputs, reach, last: None }
    }
}
