//! Places: what a run did at each place that it published to, told as one.

use pouch_core::config::Fleet;
use pouch_core::listing::counted;
use pouch_core::report::summary::{self, FailureRecord, TargetState};

use super::Report;
use super::artifacts::Artifacts;
use super::told::{self, Finished};
use crate::error::{Ended, Failure, Kind};
use crate::session::Session;
use crate::shelf::branch::Step;
use crate::shelf::rounds::Done;
use crate::shelf::target::Target;

/// What a run did at all places.
pub struct Places {
    /// What it found and did, where nothing failed.
    pub report: Report,
    /// None where all of it is in one folder.
    targets: Option<Vec<summary::Target>>,
    artifacts: Option<Artifacts>,
    failed: Option<Kind>,
}

/// Puts together what became of each place, and says what failed.
///
/// # Errors
/// Where nothing came of any place: the worst of the failures.
pub fn together(session: &Session, done: Vec<Done<'_, Report>>) -> Result<Places, Failure> {
    let (is_only, mut reports, mut targets) = (done.len() < 2, Vec::new(), Vec::new());
    let mut failures: Vec<Failure> = Vec::new();
    for Done { target, result, .. } in done {
        let mut record = record(target);
        match result {
            Ok((mut report, message, step)) => {
                if matches!(step, Step::Push(_)) && !target.proposes() {
                    report.spend();
                }
                reports.push(report);
                (record.state, record.commit) = state(&step, target);
                record.proposal = record.commit.as_ref().filter(|_| target.proposes()).map(|_| proposal(&message));
            }
            Err(failure) => {
                let Failure { kind, message, help } = failure;
                record.failure = Some(FailureRecord { message: message.clone(), help: help.clone() });
                let message = if is_only { message } else { format!("{}: {message}", target.pushed()) };
                failures.push(Failure { kind, message, help });
            }
        }
        targets.push(record);
    }
    let worst = failures.iter().map(|failure| failure.kind).max();
    if reports.is_empty() {
        let at = failures.iter().position(|failure| Some(failure.kind) == worst).unwrap_or_default();
        let last = (at < failures.len()).then(|| failures.remove(at));
        failures.iter().for_each(|failure| session.ui.error(&failure.message, &failure.help));
        return Err(last.unwrap_or_else(|| Failure::bug("nothing is published anywhere")));
    }
    failures.iter().for_each(|failure| session.ui.error(&failure.message, &failure.help));
    let mut report = Report::together(reports);
    report.in_part |= worst.is_some();
    Ok(Places { report, targets: Some(targets), artifacts: None, failed: worst })
}

impl Places {
    /// What a run did in a folder.
    pub fn of_folder(report: Report) -> Self {
        Self { report, targets: None, artifacts: None, failed: None }
    }

    /// The same with what became of the regions' artifacts.
    #[must_use]
    pub fn with(self, artifacts: Option<Artifacts>) -> Self {
        let failed = self.failed.max(artifacts.as_ref().and_then(Artifacts::failed));
        Self { artifacts, failed, ..self }
    }

    /// The worst that failed at some of the places.
    pub fn failed(&self) -> Option<Kind> {
        self.failed
    }

    /// Says what was done at each place.
    pub fn tell(&self, session: &Session) {
        let targets = self.targets.as_deref().unwrap_or_default();
        let is_only = targets.len() < 2;
        let mut unchanged = 0_usize;
        for target in targets {
            if !is_only && target.state == TargetState::Unchanged {
                unchanged += 1;
            } else if let Some(words) = words(target, is_only) {
                session.ui.note(&words);
            }
        }
        if unchanged > 0 {
            session.ui.note(&format!("nothing changed at {}", counted(unchanged, "place", "places")));
        }
        if let Some(artifacts) = &self.artifacts {
            artifacts.tell(session);
        }
    }

    /// How a run ended that only said what it would do.
    pub fn ended_plan(&self, detailed: bool) -> Ended {
        match self.failed {
            Some(kind) => Ended::Partway(kind),
            None if detailed && (self.report.would_change() || self.report.is_held()) => Ended::Changes,
            None => Ended::Done,
        }
    }

    /// Ends a run that only said what it would do: what would be held, or is wrong, is no failure of it. `detailed` is
    /// whether its exit code tells of changes.
    pub fn finish_plan(
        self,
        session: &Session,
        (command, detailed): (&'static str, bool),
        fleet: &Fleet,
    ) -> Result<Ended, Failure> {
        let ended = self.ended_plan(detailed);
        let Self { report, .. } = self;
        let finished = Finished {
            command,
            report: &report,
            commit: None,
            targets: None,
            artifacts: None,
            only_looks: true,
            ended,
        };
        told::finish(session, fleet, finished)
    }

    /// Ends the run: writes the summary and the metrics, and says how it went.
    pub fn finish(self, session: &Session, command: &'static str, fleet: &Fleet) -> Result<Ended, Failure> {
        let Self { report, targets, artifacts, failed } = self;
        let artifacts = artifacts.map(Artifacts::records);
        let is_new = |target: &&summary::Target| matches!(target.state, TargetState::Published | TargetState::Proposed);
        let new = targets.iter().flatten().filter(is_new);
        let commits: Vec<&String> = new.filter_map(|target| target.commit.as_ref()).collect();
        let commit = if let [only] = &*commits { Some((*only).clone()) } else { None };
        let ended = failed.map_or_else(|| report.ended(session), Ended::Partway);
        let finished = Finished { command, report: &report, commit, targets, artifacts, only_looks: false, ended };
        told::finish(session, fleet, finished)
    }
}

/// What is told of a place before anything is known of it.
fn record(target: &Target) -> summary::Target {
    summary::Target {
        repository: target.repository.clone(),
        base: target.base.clone(),
        branch: target.branch.clone(),
        regions: target.regions.iter().map(ToString::to_string).collect(),
        state: TargetState::Failed,
        commit: None,
        proposal: None,
        failure: None,
    }
}

fn state(step: &Step, target: &Target) -> (TargetState, Option<String>) {
    match step {
        Step::Nothing => (TargetState::Unchanged, None),
        Step::Stands(commit) => (TargetState::StillProposed, Some(commit.clone())),
        Step::Stays(_) => (TargetState::Left, None),
        Step::Push(commit) if target.proposes() => (TargetState::Proposed, Some(commit.clone())),
        Step::Push(commit) => (TargetState::Published, Some(commit.clone())),
        Step::Remove => (TargetState::Removed, None),
    }
}

/// What is said of a place; nothing where something failed, which is said already.
fn words(target: &summary::Target, is_only: bool) -> Option<String> {
    let summary::Target { repository, base, branch, commit, .. } = target;
    let commit = commit.as_deref().unwrap_or_default();
    let of = if is_only { String::new() } else { format!(" of {repository}") };
    Some(match target.state {
        TargetState::Published => format!("{branch}{of} is at {commit}"),
        TargetState::Unchanged if base == branch => format!("nothing changed; {branch}{of} stays as it is"),
        TargetState::Unchanged => format!("nothing to propose; {base}{of} is as it should be"),
        TargetState::Proposed => format!("{branch}{of} proposes {commit} to {base}"),
        TargetState::StillProposed => format!("nothing changed; {branch}{of} proposes {commit} to {base} already"),
        TargetState::Removed => {
            format!("nothing to propose; {base}{of} is as it should be, and {branch} is removed")
        }
        TargetState::Left => format!(
            "nothing to propose; {base}{of} is as it should be, and {branch} stays for commits that pouch did not make"
        ),
        TargetState::Failed => return None,
    })
}

/// The longest body that GitHub takes, in characters.
const MOST: usize = 65_536;

/// A commit's message as a pull request has it: title, then the rest, with a list instead of lines.
fn proposal(message: &str) -> summary::Proposal {
    let (title, rest) = message.split_once('\n').unwrap_or((message, ""));
    let (body, trailers) = rest.trim().rsplit_once("\n\n").unwrap_or(("", rest.trim()));
    let room = MOST.saturating_sub(trailers.chars().count()).saturating_sub(64);
    let (mut out, mut length, lines) = (String::new(), 0_usize, body.lines().count());
    for (at, line) in body.lines().enumerate() {
        let line = line.strip_prefix("  ").map_or_else(|| line.to_owned(), |below| format!("  - {below}"));
        length += line.chars().count() + 1;
        if length > room {
            out.push_str(&format!("\nand {} more lines\n", lines.saturating_sub(at)));
            break;
        }
        out.push_str(&line);
        out.push('\n');
    }
    let gap = if out.is_empty() { "" } else { "\n" };
    summary::Proposal { title: title.to_owned(), body: format!("{out}{gap}{trailers}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_has_the_commit_s_words_within_what_a_server_takes() {
        let message = "eu: 1 change\n\n- eu: published, 1 added\n  added team/c: Secret team/s\n\nPouch-Fleet: acme\n";
        let proposal = super::proposal(message);
        assert_eq!(proposal.title, "eu: 1 change");
        let body = "- eu: published, 1 added\n  - added team/c: Secret team/s\n\nPouch-Fleet: acme\n";
        assert_eq!(proposal.body, body);
        let none = super::proposal("acme: files\n\nPouch-Fleet: acme\n");
        assert_eq!((none.title.as_str(), none.body.as_str()), ("acme: files", "Pouch-Fleet: acme\n"));
        let many = format!("t\n\n{}\n{}", "  é 0123456789\n".repeat(9000), "Pouch-Fleet: acme\n".repeat(100));
        let long = super::proposal(&many).body;
        assert!(long.chars().count() <= MOST && long.chars().count() > MOST - 128, "{}", long.chars().count());
        assert!(long.contains(" more lines\n\nPouch-Fleet: acme\n"));
    }

    #[test]
    fn the_worst_of_several_failures_counts() {
        use Kind::{Bug, Failed, Lost, Unavailable, Usage};
        let mut kinds = [Failed, Usage, Bug, Lost, Unavailable];
        kinds.sort();
        assert_eq!(kinds.map(Kind::code), [6, 5, 1, 64, 70]);
    }
}
