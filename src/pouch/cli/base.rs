//! `--base` and `--baseline`: what findings are held against, so that a change is judged by what it brings and cures.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pouch_core::config::{Fleet, Source, SourcePlace};
use pouch_core::finding::{Cause, Class, Finding, Severity};
use pouch_core::listing::counted;
use pouch_core::name::SourceName;
use pouch_core::report::check::baseline::Baseline;
use pouch_core::report::check::{Checked, Checkout, checked};
use pouch_core::report::privileges::between;
use pouch_core::report::since::Since;
use pouch_core::report::summary::PrivilegeRecord;

use super::asked::Asked;
use crate::error::{Failure, said};
use crate::run::Report;
use crate::run::publish::First;
use crate::run::told;
use crate::scratch::Scratch;
use crate::session::Session;
use crate::settings::{AtRevision, Opened};
use crate::shelf::output::Output;
use crate::ui::Ui;

/// Flags of commands that tell which findings are new.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct BaseArgs {
    /// Tell what is new since this branch or commit: the configuration, its directories and the folder of bundles are judged
    /// as they are there. The configuration there is trusted as yours is, unless --config-from names another one
    #[arg(long, value_name = "REV", conflicts_with = "baseline")]
    pub base: Option<String>,
    /// Tell what is new since this file, which `pouch check --write-baseline` has written
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
}

/// The flag that names a commit.
const BASE: &str = "--base";

/// What findings are held against.
pub enum Base {
    /// The findings of a file, or of a commit.
    Known {
        /// What it is called.
        name: String,
        /// Its findings.
        baseline: Baseline,
        /// The privileges that the configuration gives and takes beside that of a commit.
        privileges: Vec<PrivilegeRecord>,
    },
    /// One that could not be judged.
    Unknown {
        /// What it is called.
        name: String,
        /// Why.
        why: String,
    },
}

impl Base {
    /// Holds what a run found against it.
    pub fn held_against(&self, report: &Report, places: &Places) -> Since {
        match self {
            Self::Known { name, baseline, privileges } => {
                let silenced: Vec<Finding> = report.silenced.iter().map(|silenced| silenced.finding.clone()).collect();
                let [found, silenced] =
                    [&report.findings, &silenced].map(|findings| checked(findings, &places.checkout()));
                let since = Since::of(name.clone(), baseline, &found, &silenced);
                Since { privileges: privileges.clone(), ..since }
            }
            Self::Unknown { name, why } => Since::unknown(name.clone(), why.clone()),
        }
    }

    /// Returns true if it has a finding.
    pub fn knows(&self, checked: &Checked<'_>) -> bool {
        matches!(self, Self::Known { baseline, .. } if baseline.knows(checked))
    }

    /// How many of its findings are none of these any more.
    pub fn cured<'c>(&self, found: impl IntoIterator<Item = &'c Checked<'c>>) -> usize {
        match self {
            Self::Known { baseline, .. } => baseline.cured(found).len(),
            Self::Unknown { .. } => 0,
        }
    }

    /// Tells how many findings are left out because it has them, and how many it has that are not found any more.
    pub fn tell(&self, ui: &Ui, left_out: usize, cured: usize) {
        let name = match self {
            Self::Known { name, .. } => name,
            Self::Unknown { name, why } => return ui.warn(&told::unknown_base(name, why)),
        };
        ui.note(&format!("{} left out: {name} has the same", counted(left_out, "finding is", "findings are")));
        if cured > 0 {
            ui.note(&format!("{} cured since {name}", counted(cured, "finding is", "findings are")));
        }
    }
}

impl BaseArgs {
    /// The base that is asked for, if one is. A commit is judged as `asked` says; of what is found there, what is less severe
    /// than all that is told does not count.
    ///
    /// # Errors
    /// Where a file is no baseline, or a source has no base at all.
    pub fn judged(
        &self,
        session: &Session,
        opened: &Opened,
        (asked, least): (&Asked, Severity),
    ) -> Result<Option<Base>, Failure> {
        if let Some(path) = &self.baseline {
            let (name, baseline) = (path.display().to_string(), read(path)?);
            return Ok(Some(Base::Known { name, baseline, privileges: Vec::new() }));
        }
        let Some(revision) = &self.base else { return Ok(None) };
        if let Some(source) = stdin_of(opened) {
            return Err(Failure::usage(
                format!("{BASE} {revision}: source {source} is standard input, which can be read only once"),
                "Hold what is found against a file: --baseline FILE, which `pouch check --write-baseline FILE` has written.",
            ));
        }
        let name = revision.clone();
        Ok(Some(match found_at(session, opened, (asked, least), revision) {
            Ok(Judged { findings, opened: base, written, shared }) => {
                for source in &shared {
                    session.ui.note(&format!(
                        "source {source} is in no commit of this repository: what is found of it is told as new"
                    ));
                }
                let places = Places::of(session, &base);
                let baseline = Baseline::of(&checked(&findings, &places.checkout()));
                let privileges = match asked.judges_a_proposal() {
                    true => proposed(session, &written),
                    false => between(&written, &opened.settings.fleet),
                };
                Base::Known { name, baseline, privileges }
            }
            Err(failure) => {
                session.stop.check()?;
                let why = failure.message.replacen(&format!("{BASE} {name}: "), "", 1);
                Base::Unknown { name, why }
            }
        }))
    }
}

/// The privileges that the configuration of the work tree gives and takes beside the one by which all is judged. It is read,
/// and nothing that it names is.
fn proposed(session: &Session, trusted: &Fleet) -> Vec<PrivilegeRecord> {
    match Opened::open(&session.quiet()) {
        Ok(proposed) => between(trusted, &proposed.settings.fleet),
        Err(failure) => {
            session.ui.warn(&format!(
                "which privileges the configuration of the work tree gives is not told, as it cannot be read: {}",
                failure.message
            ));
            Vec::new()
        }
    }
}

fn stdin_of(opened: &Opened) -> Option<&SourceName> {
    let sources = &opened.settings.fleet.sources;
    sources.iter().find(|source| matches!(source.place, SourcePlace::Stdin)).map(|source| &source.name)
}

/// A commit, as it is judged.
struct Judged {
    /// What is found of it.
    findings: Vec<Finding>,
    /// Its configuration.
    opened: Opened,
    /// The same as it is written.
    written: Fleet,
    /// The sources that were read as they stand now. Nothing that is found of them counts as found in the commit.
    shared: BTreeSet<SourceName>,
}

/// Everything that is found where the configuration, the directories that it names and the folder of bundles are as a commit
/// has them. With `--config-from`, that configuration judges both: of the commit's own, nothing is opened.
fn found_at(
    session: &Session,
    opened: &Opened,
    (asked, least): (&Asked, Severity),
    revision: &str,
) -> Result<Judged, Failure> {
    // What is said of the base is no news.
    let session = &session.quiet();
    let judged_by = asked.judges_a_proposal().then_some(opened);
    let AtRevision { opened: mut base, written, commit, shared } = Opened::open_at(session, revision, BASE, judged_by)?;
    if let Some(source) = stdin_of(&base) {
        return Err(Failure::usage(format!("there, source {source} is standard input"), ""));
    }
    base.settings.fleet.reuse_key = opened.settings.fleet.reuse_key.clone();
    // What a change switches off is not cured by that, and what it calls an error was one before.
    base.settings.fleet.severities = opened.settings.fleet.severities.clone();
    let prepared = asked.prepared(session, &base, vec![base.output()])?.informing(least == Severity::Info);
    let mut findings = match &base.settings.fleet.output.git {
        Some(_) => prepared.look_at_branches(&Output::of(&base)?, (First::Unsaid, false), None)?.report.findings,
        None => {
            let folder = Scratch::new()?;
            match commit.export(&base.output(), folder.path())? {
                true => prepared.look_at(folder.path(), None)?.0.findings,
                // A folder in no commit is the proposal's too: what was done to it there is new.
                false => {
                    let mut findings = prepared.look_at(&base.output(), None)?.0.findings;
                    findings.retain(|finding| !matches!(finding.code.class(), Class::Held | Class::Fault));
                    findings
                }
            }
        }
    };
    let is_shared = |finding: &Finding| {
        let at = finding.origin.as_ref().map(|origin| &origin.source);
        let because = finding.because.as_ref().and_then(Cause::source);
        at.map(|source| source.as_str()).into_iter().chain(because).any(|name| shared.iter().any(|it| *it == *name))
    };
    findings.retain(|finding| finding.severity >= least && !is_shared(finding));
    drop(prepared);
    Ok(Judged { findings, opened: base, written, shared })
}

/// The places by which findings are known again.
pub struct Places {
    config: String,
    base: String,
    cwd: String,
    in_commits: BTreeSet<SourceName>,
}

impl Places {
    /// Those of a configuration.
    pub fn of(session: &Session, opened: &Opened) -> Self {
        // A directory that is read of a commit is called as it is in the work tree.
        let is_git = |source: &&Source| matches!(source.place, SourcePlace::Git { directory: None, .. });
        let in_commits =
            opened.settings.fleet.sources.iter().filter(is_git).map(|source| source.name.clone()).collect();
        let [config, base, cwd] =
            [&session.global.file, &opened.typed, session.ambient.cwd()].map(|path| path.display().to_string());
        Self { config, base, cwd, in_commits }
    }

    /// The same, to be looked at.
    pub fn checkout(&self) -> Checkout<'_> {
        let Self { config, base, cwd, in_commits } = self;
        Checkout { config, base, cwd, in_commits }
    }
}

/// Reads a baseline.
fn read(path: &Path) -> Result<Baseline, Failure> {
    let unusable = |why: &str| {
        Failure::usage(
            format!("the baseline {} cannot be used: {why}", path.display()),
            "Write it with `pouch check --write-baseline FILE`.",
        )
    };
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => unusable("there is no such file"),
        _ => unusable(&said(&error)),
    })?;
    let baseline: Baseline = serde_json::from_str(&text).map_err(|_| unusable("it is no baseline"))?;
    match baseline.is_known() {
        true => Ok(baseline),
        false => Err(unusable("it is in a format that this release does not know")),
    }
}
