//! What `plan`, `publish` and `render` are asked for in the same words, and what they work with for that.

use std::path::{Path, PathBuf};

use pouch_core::explain::Question;
use pouch_core::region::allowances::{Allowances, Refresh, Selection};
use pouch_core::reuse::KeyRing;

use super::accept::Requested;
use super::part::Part;
use super::reach::ReachArgs;
use crate::error::Failure;
use crate::run::artifacts::Copying;
use crate::run::places::{Places, together};
use crate::run::publish::{First, Publish};
use crate::run::render::{preview, telling};
use crate::run::{Report, Run};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::directory::LookedAt;
use crate::shelf::output::Output;
use crate::survey::look::regions;
use crate::survey::source::live::Values;
use crate::survey::{Contents, Looking, Reach, Survey, Surveyor, survey};

/// Flags of every command that only looks.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct LookArgs {
    /// Compare without the reuse key, as for a fork: no Secret is read, and changed values are not reported
    #[arg(long)]
    pub no_values: bool,
    /// Read the configuration as this branch or commit of the repository around it has it
    #[arg(long, value_name = "REV")]
    pub config_from: Option<String>,
}

/// Flags of every command that renders, or says what rendering would come to.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Asked {
    #[command(flatten)]
    part: Part,
    /// What is let through.
    #[command(flatten)]
    pub wanted: Requested,
    #[command(flatten)]
    reach: ReachArgs,
    /// How it is looked at, by a command that only looks.
    #[arg(skip)]
    look: LookArgs,
}

impl Asked {
    /// Everything as the configuration says, and clusters reached like this.
    pub fn reaching(reach: ReachArgs) -> Self {
        Self { reach, ..Self::default() }
    }

    /// The same, looked at like this.
    #[must_use]
    pub fn looking(self, look: &LookArgs) -> Self {
        Self { look: look.clone(), ..self }
    }

    /// Returns true if the configuration is another one than that beside what is looked at, which may be a proposal.
    pub fn judges_a_proposal(&self) -> bool {
        self.look.config_from.is_some()
    }

    /// Reads the configuration.
    pub fn open(&self, session: &Session) -> Result<Opened, Failure> {
        let mut opened = Opened::open_from(session, self.look.config_from.as_deref())?;
        self.part.reads_labels(&mut opened.settings.fleet)?;
        Ok(opened)
    }

    /// Resolves the flags; `outputs` are the folders that no source is read from.
    pub fn prepared<'a>(
        &self,
        session: &'a Session,
        opened: &'a Opened,
        outputs: Vec<PathBuf>,
    ) -> Result<Prepared<'a>, Failure> {
        let fleet = &opened.settings.fleet;
        let no_values = self.look.no_values;
        let keys = if no_values { KeyRing::blind() } else { opened.keys(session)? };
        let allowances = self.wanted.allowances(fleet)?;
        let selection = self.part.selection(fleet)?;
        let reach = self.reach.reach(&session.ambient);
        let is_plain = self.wanted == Requested::default()
            && selection.refresh.is_none()
            && !self.reach.names_a_cluster()
            && !no_values;
        if no_values {
            session.ui.note("no Secret is looked into, and what is published is taken at its word");
        }
        // What is looked at with it may be a proposal.
        let looking = if self.look.config_from.is_some() { Looking::AtAProposal } else { Looking::IntoRegions };
        if looking == Looking::AtAProposal && regions(fleet).next().is_some() {
            session.ui.note("no region is looked into: --config-from runs nothing that a proposal could have changed");
        }
        let values = if no_values { Values::Unseen } else { Values::Read };
        Ok(Prepared {
            session,
            opened,
            keys,
            allowances,
            selection,
            outputs,
            reach,
            values,
            is_plain,
            is_narrow: false,
            looking,
            informs: session.informs(),
        })
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
    values: Values,
    /// Whether no flag lets anything through, or limits the run.
    pub is_plain: bool,
    /// Whether nothing is asked for but what the one claimant needs that is refreshed.
    is_narrow: bool,
    /// What is looked at beside the sources.
    looking: Looking,
    /// True if pieces of information are told, which are counted otherwise.
    informs: bool,
}

impl Prepared<'_> {
    /// The same, also telling pieces of information if `informs`.
    #[must_use]
    pub fn informing(self, informs: bool) -> Self {
        Self { informs: self.informs || informs, ..self }
    }

    /// The same for a question: where it is narrow, nothing is asked for that it does not need.
    #[must_use]
    pub fn narrowed(self, question: &Question) -> Self {
        let Some(by) = question.narrow(&self.opened.settings.fleet) else { return self };
        let refresh = Some(Refresh { claimants: [by.clone()].into(), ..Refresh::default() });
        Self { selection: Selection { refresh, ..self.selection }, is_plain: false, is_narrow: true, ..self }
    }

    /// The run, for all places.
    pub fn run(&self) -> Run<'_> {
        let Self { session, opened, keys, allowances, selection, informs, .. } = self;
        let run = Run::new(session, &opened.settings.fleet, keys, (allowances, selection));
        Run { informs: *informs, ..run }
    }

    /// Looks what a publish would do, where it would be published, and answers a question about that if there is one.
    pub fn look(&self, question: Option<&Question>) -> Result<Places, Failure> {
        if self.opened.settings.fleet.output.git.is_some() {
            // Whoever only asks is not told that a publish would want --first.
            return self.look_at_branches(&Output::of(self.opened)?, (First::Unsaid, false), question);
        }
        let (report, survey) = self.look_at(&self.opened.output(), question)?;
        Ok(survey.wiped_beside(|| Places::of_folder(report)))
    }

    /// Looks what a publish would do at the branches. `plain` is whether an earlier run may answer for this one.
    pub fn look_at_branches(
        &self,
        output: &Output<'_>,
        (first, plain): (First, bool),
        question: Option<&Question>,
    ) -> Result<Places, Failure> {
        let (run, surveyor) = (Run { question, ..self.run() }, self.surveyor());
        let work = Publish { run: &run, surveyor: &surveyor, values: &self.values, first, plain };
        together(self.session, output.preview(self.session, &self.keys, &work))
    }

    /// Looks what rendering to a folder would do. What was read is given too, to be wiped beside other work.
    pub fn look_at(&self, target: &Path, question: Option<&Question>) -> Result<(Report, Survey), Failure> {
        let run = Run { question, ..self.run() };
        let published = LookedAt::open_or_empty(target)?;
        let bundles = telling(&run, &published);
        let surveyor = Surveyor { bundles: Some(&*bundles), ..self.surveyor() };
        let survey = self.session.timed("survey", || survey(&surveyor, self.values.clone()))?;
        let report = self.session.timed("render", || preview(&run, &survey, &published))?;
        Ok((report, survey))
    }

    /// What copies to a registry.
    pub fn copying(&self) -> Copying<'_> {
        let Self { session, opened, keys, reach, .. } = self;
        Copying { session, fleet: &opened.settings.fleet, keys, request: reach.patience.request }
    }

    /// What reads the sources.
    pub fn surveyor(&self) -> Surveyor<'_> {
        let Self { session, opened, outputs, reach, .. } = self;
        let fleet = &opened.settings.fleet;
        let only = self.selection.refresh.iter().filter(|_| self.is_narrow).find_map(|it| it.claimants.first());
        let (looking, contents) = (self.looking, Contents::ByRegion);
        let usual = Surveyor::new(session, fleet, &opened.typed, (outputs, reach));
        Surveyor { only, looking, contents, ..usual }
    }
}
