//! What is told of a run: a line for each region, acceptances that it had no need of, its summary and metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pouch_core::config::{Acceptance, Fleet};
use pouch_core::finding::{Counts, Finding};
use pouch_core::layout::path::gitattributes;
use pouch_core::listing::{counted, few};
use pouch_core::name::Claimant;
use pouch_core::region::change::Action;
use pouch_core::report::document::{Document, Text, Tone};

use pouch_core::report::metrics::RunFacts;
use pouch_core::report::names::{Names, fields, held_by_acceptances, readable, recipients};
use pouch_core::report::shell;
use pouch_core::report::since::Since;
use pouch_core::report::summary::{
    self, About, ChangeRecord, FindingRecord, Outcome, PrivilegeRecord, SilencedRecord, Summary,
};
use pouch_core::report::{escape, escape_json};
use pouch_core::stamp::SourceStamp;

use super::{Report, SharedChange, metrics};
use crate::error::{Ended, Failure};
use crate::session::{Global, Session};
use crate::settings;
use crate::text;

/// How many lines of names a region has, unless all are asked for.
const NAMES: usize = 20;

/// The width of the column of words for what becomes of regions.
const WORD: usize = 9;

/// How many regions are named that stay held.
const STAY: usize = 3;

/// One line a region, and below it what becomes of whose objects.
pub fn outcomes(session: &Session, report: &Report) -> String {
    let mut lines = lines(session, report, Outcome::word, |_, _| Vec::new());
    let shared: BTreeSet<&SharedChange> = report.shared_changes.iter().collect();
    let of_file = |change: &SharedChange| match change {
        // It is the same for ever.
        SharedChange::Written(path) if *path == gitattributes() => None,
        SharedChange::Written(path) => Some(format!("the fleet's file {path} is written")),
        SharedChange::Removed(path) => Some(format!("the fleet's file {path} is removed: no region needs it any more")),
    };
    lines.items(0, shared.into_iter().filter_map(of_file));
    session.ui.shown(&lines)
}

/// The same of a run that only says what it would do.
pub fn planned(session: &Session, report: &Report) -> String {
    // Several places may have the same.
    let files: BTreeSet<&SharedChange> = report.shared_changes.iter().collect();
    let of_file = |change: &SharedChange| match change {
        SharedChange::Written(path) => format!("the fleet's file {path} would change"),
        SharedChange::Removed(path) => format!("the fleet's file {path} would be removed"),
    };
    let mut lines = lines(session, report, planned_word, fields);
    lines.items(0, files.into_iter().map(of_file));
    session.ui.shown(&lines)
}

/// What is said of a region after names, in so many lines.
type After = fn(&summary::Region, usize) -> Vec<Text>;

/// One line a region, with a word for what becomes of it; then who can read more or less, what becomes of whose objects,
/// and what is to be said of it after that, in so many lines.
pub fn lines(session: &Session, report: &Report, word: fn(Outcome) -> &'static str, after: After) -> Document {
    let most = if session.global.verbose { usize::MAX } else { NAMES };
    let width = report.regions.iter().map(|region| region.name.len()).max().unwrap_or_default();
    let mut out = Document::default();
    let mut of_region = |region: &summary::Region| {
        let names = Names::of(region);
        let names = if session.global.verbose { names.all() } else { names.lines(most) };
        let what = [recipients(region), readable(region, most), names].concat();
        let after = after(region, most);
        let is_known = region.objects > 0 && region.unseen == 0;
        let is_alone = what.is_empty() && after.is_empty() && region.outcome == Outcome::Published && is_known;
        let alone = if is_alone { ", none changed" } else { "" };
        let head = Text::column(Tone::Strong, &region.name, width);
        let head = head.and_column(region.outcome.tone(), &region.named(word), WORD);
        out.item(0, head.then(outcome_line(region) + alone));
        out.items(1, what);
        out.items(2, after);
    };
    // With -q, a run in which all is well says nothing: what a job prints is mailed to somebody.
    let is_told = |region: &&summary::Region| !session.ui.is_quiet() || !region.is_quiet();
    report.regions.iter().filter(is_told).for_each(&mut of_region);
    out
}

/// A word for what would become of a region.
pub fn planned_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Published => "would be published",
        Outcome::Withdrawn => "would be withdrawn",
        Outcome::Held => "would be held",
        Outcome::Unchanged | Outcome::Paused => outcome.word(),
    }
}

/// The counts of a region.
fn outcome_line(region: &summary::Region) -> String {
    if region.outcome == Outcome::Paused {
        return String::from("what is published stays");
    }
    let (namespaces, objects): (Vec<&ChangeRecord>, Vec<&ChangeRecord>) =
        region.changes.iter().partition(|change| change.object.is_namespace());
    let held = region.outcome == Outcome::Held;
    let mut parts = if held { Vec::new() } else { vec![counted(region.objects, "object", "objects")] };
    for action in Action::ALL {
        let (count, word) =
            (|changes: &[&ChangeRecord]| changes.iter().filter(|it| it.action == *action).count(), action.word());
        // What a bundle has is counted without its Namespaces, so these are counted apart.
        if count(&objects) > 0 {
            parts.push(format!("{} {word}", count(&objects)));
        }
        if count(&namespaces) > 0 {
            parts.push(format!("{} {word}", counted(count(&namespaces), "Namespace", "Namespaces")));
        }
    }
    if region.carried > 0 {
        parts.push(format!("{} carried over", region.carried));
    }
    if region.handover > 0 {
        parts.push(format!("{} handed over", region.handover));
    }
    let unseen = match region.unseen {
        0 => String::new(),
        count => format!(", {} not looked into", counted(count, "Secret", "Secrets")),
    };
    let what = match (held, parts.is_empty()) {
        (true, true) => String::from("nothing else would change"),
        (true, false) => format!("would be: {}", parts.join(", ")),
        (false, _) => parts.join(", "),
    };
    what + &unseen
}

/// What flags let through, and whose carried objects they withdraw.
#[derive(Default)]
pub struct Given {
    /// What is let through of the brake.
    pub accepted: Vec<Acceptance>,
    /// For whom what is carried over is withdrawn, and what is said where that is nothing.
    pub withdraw: BTreeMap<Claimant, String>,
}

/// Tells of a run that rendered: what was found, these lines, and what of the flags that were given did nothing. A digest
/// lets one set of changes through, on one published state; one that is spent or mistyped does no harm, but who gave it
/// believes something that is not so.
pub fn tell(session: &Session, report: &Report, lines: &str, given: &Given) {
    match &report.since {
        None => session.ui.findings(&report.findings),
        Some(since) => tell_since(session, &report.findings, since),
    }
    session.ui.silenced(&report.silenced);
    session.ui.result(lines);
    for acceptance in &given.accepted {
        if let Some(why) = unneeded(acceptance, report) {
            session.ui.warn(&format!("{} {acceptance} let nothing through: {why}", acceptance.what.flag()));
        }
    }
    for (path, why) in given.withdraw.iter().map(|(by, why)| (by.path(), why)) {
        if !report.in_part && !report.regions.iter().any(|region| takes_away(region, &path)) {
            session.ui.warn(&format!("--withdraw {path} withdraws nothing; {why}"));
        }
    }
    if let Some(command) = accept_command(session, report) {
        session.ui.offer(&format!("to let through {}", held_by_acceptances(&report.regions)), &command);
    } else if !report.wanted.is_empty() {
        let stays: Vec<&str> =
            report.regions.iter().filter(|region| region.stays_held()).map(|region| &*region.name).collect();
        if !stays.is_empty() {
            session.ui.note(&format!(
                "no acceptance lets region {} through: cure first what else holds it",
                few(&stays, stays.len(), STAY)
            ));
        }
    }
}

/// What is said of a base that cannot be judged.
pub fn unknown_base(base: &str, why: &str) -> String {
    format!("the base {base} cannot be judged, so all findings are shown: {why}")
}

/// The most cured findings that are told one by one.
const CURED: usize = 10;

/// Tells what is new since a base, what is cured, and how many findings the base has too.
fn tell_since(session: &Session, findings: &[Finding], since: &Since) {
    let Session { ui, global, .. } = session;
    let Since { base, unknown, cured, privileges, .. } = since;
    if let Some(why) = unknown {
        ui.warn(&unknown_base(base, why));
        return ui.findings(findings);
    }
    let of = |is_known: bool| {
        let those = findings
            .iter()
            .enumerate()
            .filter(|(number, it)| it.severity >= ui.least() && since.has(*number) == Some(is_known));
        those.map(|(_, finding)| finding.clone()).collect::<Vec<_>>()
    };
    let (new, old) = (of(false), of(true));
    for PrivilegeRecord { opens, words } in privileges {
        ui.note(&format!("{} since {base}: {words}", if *opens { "opened" } else { "closed" }));
    }
    ui.findings(&new);
    if new.is_empty() {
        ui.note(&format!("nothing is found that {base} has not"));
    }
    for line in cured.iter().take(CURED) {
        // A baseline is a file that others may write.
        ui.note(&format!("cured since {base}: {}", escape(line)));
    }
    if let more @ 1.. = cured.len().saturating_sub(CURED) {
        ui.note(&format!("{} cured since {base}", counted(more, "more finding is", "more findings are")));
    }
    if !old.is_empty() {
        let left_out = if global.verbose { ":" } else { "; -v tells them" };
        ui.note(&format!("{} that {base} has too{left_out}", counted(old.len(), "finding", "findings")));
    }
    if global.verbose {
        ui.findings(&old);
    }
}

/// Whether a Credential loses something in a region, or would if the region were not held.
fn takes_away(region: &summary::Region, path: &String) -> bool {
    let withdrawn = |change: &ChangeRecord| change.action == Action::Withdrawn && change.credentials.contains(path);
    region.changes.iter().any(withdrawn)
        || region.sharings.iter().any(|sharing| sharing.left.contains(path))
        || region.holds.iter().any(|hold| hold.credentials.contains(path))
}

/// This run's command line, with the acceptances that let through all that the brake held in it; none if they let nothing
/// through. Of a region that stays held whatever is accepted there are none.
///
/// Acceptances that were given stay if they are still needed. The rest of the line is the user's own, so that what is
/// accepted is what was looked at.
fn accept_command(session: &Session, report: &Report) -> Option<String> {
    let stays = |of: &&Acceptance| report.regions.iter().any(|it| it.stays_held() && it.name == of.region.as_str());
    let wanted: Vec<&Acceptance> = report.wanted.iter().filter(|of| !stays(of)).collect();
    if wanted.is_empty() {
        return None;
    }
    const OF_PLANS: [&str; 3] = ["--output", "--baseline", "--base"];
    const FLAGS: [&str; 3] = ["--accept-deletions", "--accept-recipients", "--accept-reseal"];
    let typed: Vec<String> =
        session.ambient.arguments().iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let (mut words, mut operands) = (vec![String::from("pouch")], Vec::new());
    let (mut typed, mut done_by) = (typed.into_iter(), report.done_by);
    while let Some(word) = typed.next() {
        if let Some(command) = done_by.filter(|_| !word.starts_with('-')) {
            // Before the command's name stand nothing but flags of every command, and their values.
            let is_value = words.last().is_some_and(|before| Global::takes_value(before));
            words.push(if is_value { word } else { command.to_owned() });
            done_by = done_by.filter(|_| is_value);
            continue;
        }
        if word == "--" {
            operands = [word].into_iter().chain(typed).collect();
            break;
        }
        // How a plan is written, and what it is held against, is nothing to who does it.
        if let Some(flag) = report.done_by.and_then(|_| OF_PLANS.into_iter().find_map(|flag| word.strip_prefix(flag)))
            && (flag.is_empty() || flag.starts_with('='))
        {
            if flag.is_empty() {
                _ = typed.next();
            }
            continue;
        }
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        if let Some((flags, format)) = letters.filter(|_| report.done_by.is_some()).and_then(|it| it.split_once('o'))
            && flags.chars().all(|flag| matches!(flag, 'v' | 'q'))
        {
            if format.is_empty() {
                _ = typed.next();
            }
            words.extend((!flags.is_empty()).then(|| format!("-{flags}")));
            continue;
        }
        // What was looked at is not the configuration that a publish would take.
        if word == "--config-from" || word.starts_with("--config-from=") {
            return None;
        }
        match FLAGS.into_iter().find_map(|flag| word.strip_prefix(flag)) {
            Some("") => _ = typed.next(),
            Some(value) if value.starts_with('=') => {}
            // Whoever looked first wants it done.
            _ if ["--dry-run", "--detailed-exitcode", "--no-values"].contains(&&*word) => {}
            _ => words.push(word),
        }
    }
    let needed = report.accepted.iter().filter(|accepted| !report.spent.contains(accepted));
    for acceptance in needed.chain(wanted) {
        words.extend([acceptance.what.flag().to_owned(), acceptance.to_string()]);
    }
    let words: Vec<String> = words.iter().chain(&operands).map(|word| shell::word(word)).collect();
    Some(words.join(" "))
}

/// Why an acceptance let nothing through; none where it did.
fn unneeded(acceptance: &Acceptance, report: &Report) -> Option<&'static str> {
    let Some(region) = report.regions.iter().find(|region| region.name == acceptance.region.as_str()) else {
        return Some("the region was not looked at");
    };
    let asks = |wanted: &Acceptance| wanted.region == acceptance.region && wanted.what == acceptance.what;
    match region.outcome {
        Outcome::Paused => Some("the region is paused"),
        _ if report.accepted.contains(acceptance) => None,
        _ if report.wanted.iter().any(asks) => {
            Some("it is spent or mistyped, or meant for something else; the finding has the digest of what is held now")
        }
        Outcome::Unchanged => Some("the region did not change"),
        _ => Some("nothing of the kind was held"),
    }
}

/// The message of the commit that publishes what a run did, but for its last line. `fleet` has the regions whose bundles
/// stand there, `proposal` is the branch that proposes the commit, if one does.
pub fn commit_message(
    fleet: &Fleet,
    report: &Report,
    read: &[SourceStamp],
    proposal: Option<&str>,
) -> Result<String, Failure> {
    let is_proved = |region: &summary::Region| !matches!(region.outcome, Outcome::Held | Outcome::Paused);
    let proved =
        |directory: &str| report.regions.iter().any(|region| region.directory == directory && is_proved(region));
    let directories = fleet.regions.values().map(|region| region.directory.as_str());
    let trailers = text::Trailers {
        fleet: fleet.name.as_str(),
        release: fleet.builtin.map(|release| release.name()),
        read,
        accepted: report.used().map(Acceptance::trailer).collect(),
        // What somebody put back is in the commit's tree, and pouch did not put it there.
        unproved: directories
            .filter(|directory| !proved(directory))
            .chain(report.put_back.iter().map(String::as_str))
            .collect(),
        put_back: report.put_back.iter().map(String::as_str).collect(),
        proposal,
    };
    let templates = fleet.output.git.as_ref().map_or(text::Templates::default(), |git| text::Templates {
        title: git.message.title.as_deref(),
        body: git.message.body.as_deref(),
    });
    text::commit_message(templates, (&report.regions, &report.authors), &trailers)
        .map_err(|error| Failure::usage(error, "Correct the template."))
}

/// Whether the configuration's templates for commit messages work: where files of the whole fleet change alone, and
/// where a region does.
pub fn check_message(fleet: &Fleet) -> Result<(), Failure> {
    let names = (&"region".into(), &"region".into());
    let region = summary::Region::new(names.0, names.1, Outcome::Published);
    for regions in [Vec::new(), vec![region]] {
        commit_message(fleet, &Report { regions, ..Report::default() }, &[], None)?;
    }
    Ok(())
}

/// What a run did that did its work.
pub struct Finished<'a> {
    /// The command.
    pub command: &'static str,
    /// What it found and did.
    pub report: &'a Report,
    /// The commit that it published.
    pub commit: Option<String>,
    /// What became of the places that it published to.
    pub targets: Option<Vec<summary::Target>>,
    /// What became of the regions' artifacts.
    pub artifacts: Option<Vec<summary::Artifact>>,
    /// Whether it wrote and published nothing, because nobody wanted it to.
    pub only_looks: bool,
    /// How it ended.
    pub ended: Ended,
}

/// Ends a run: writes the summary and the metrics, and says how it went.
pub fn finish(session: &Session, fleet: &Fleet, finished: Finished<'_>) -> Result<Ended, Failure> {
    let Finished { command, report, commit, targets, artifacts, only_looks, ended } = finished;
    let done = match &commit {
        Some(commit) => format!("{commit} is published"),
        None if only_looks => String::from("Nothing was to be published"),
        None => String::from("The bundles are written"),
    };
    let summary = || Summary { targets, artifacts, ..summary_of(session, report, command, commit, fleet, ended) };
    record(session, summary, &done)?;
    let Some(c) = report.credentials() else { return Ok(ended) };
    let (one, many) = if fleet.names_others() { ("claimant", "claimants") } else { ("Credential", "Credentials") };
    let credentials = counted(c.admitted, one, many);
    let paused = if c.paused == 0 { String::new() } else { format!(", {} for paused regions", c.paused) };
    let count =
        |is_it: fn(&summary::Region) -> bool, words: &str| match report.regions.iter().filter(|it| is_it(it)).count() {
            0 => String::new(),
            count => format!(", {} {words}", counted(count, "region", "regions")),
        };
    let held = count(|region| region.outcome == Outcome::Held, "held");
    let partly = count(summary::Region::is_partly_held, "partly held");
    let stays = match (c.broken, c.kept) {
        (0, _) => String::new(),
        (_, 0) => String::from(" (nothing is published for them)"),
        (broken, keep) if keep == broken => String::from(" (what they had stays)"),
        (_, keep) => format!(" (what {keep} of them had stays)"),
    };
    session.ui.note(&format!(
        "{credentials} resolved, {} refused, {} broken{stays}, {} not for a region{paused}{held}{partly}",
        c.refused, c.broken, c.unpublished
    ));
    Ok(ended)
}

/// A summary of nothing.
pub fn summary(fleet: Option<String>, command: &'static str, ended: Ended) -> Summary {
    Summary {
        api_version: "pouch/v1alpha2",
        kind: "Summary",
        fleet,
        command,
        exit_code: ended.code(),
        failure: None,
        commit: None,
        targets: None,
        artifacts: None,
        authors: Vec::new(),
        no_values: false,
        kustomize: None,
        credentials: None,
        regions: None,
        verified: None,
        proved: None,
        compared: None,
        applied: None,
        accept_command: None,
        findings: Vec::new(),
        since: None,
        silenced: Vec::new(),
        about: About::Fleet,
        counted: Counts::default(),
    }
}

/// The records of all findings of a run.
fn records(report: &Report) -> Vec<FindingRecord> {
    let is_new = |number| report.since.as_ref().and_then(|since| since.has(number)).map(|has| !has);
    let record = |(number, finding)| FindingRecord { is_new: is_new(number), ..FindingRecord::from(finding) };
    report.findings.iter().enumerate().map(record).collect()
}

/// The summary of a run.
pub fn summary_of(
    session: &Session,
    report: &Report,
    command: &'static str,
    commit: Option<String>,
    fleet: &Fleet,
    ended: Ended,
) -> Summary {
    Summary {
        commit,
        accept_command: accept_command(session, report),
        authors: report.authors.clone(),
        no_values: report.no_values,
        kustomize: report.kustomize.clone(),
        credentials: report.credentials(),
        regions: Some(report.regions.clone()),
        findings: records(report),
        since: report.since.as_ref().map(Since::record),
        silenced: report.silenced.iter().map(SilencedRecord::from).collect(),
        counted: report.counted.clone(),
        ..summary(Some(fleet.name.to_string()), command, ended)
    }
}

/// Writes the summary and the metrics, as far as they are wanted.
///
/// # Errors
/// Where one of them cannot be written; `done` says what was done all the same.
pub fn record(session: &Session, summary: impl FnOnce() -> Summary, done: &str) -> Result<(), Failure> {
    // The summary holds a copy of all findings, which is large where the fleet is: made only if it is wanted.
    if session.global.summary.is_none() && session.global.metrics.is_none() {
        return Ok(());
    }
    let summary = summary();
    if let Some(path) = &session.global.summary {
        write(path, &summary).map_err(|error| {
            let message = format!("cannot write the summary to {}: {error}", path.display());
            Failure::failed(message, format!("{done}; only the summary is missing."))
        })?;
    }
    if let Some(path) = &session.global.metrics {
        metrics::write(path, &summary, session).map_err(|error| {
            let message = format!("cannot write the metrics to {}: {error}", path.display());
            Failure::failed(message, format!("{done}; only the metrics are missing."))
        })?;
    }
    Ok(())
}

/// JSON as it is printed.
///
/// # Errors
/// None that is known: what is printed has no keys but text.
pub fn json(written: serde_json::Result<String>) -> Result<String, Failure> {
    Ok(escape_json(&written.map_err(|_| Failure::bug("the result is not JSON"))?) + "\n")
}

fn write(path: &Path, summary: &Summary) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(summary).map_err(std::io::Error::other)?;
    std::fs::write(path, escape_json(&text) + "\n")
}

/// Writes the summary and the metrics of a run that failed, as far as they are wanted. That one of them cannot be
/// written is a warning: why the run failed is what the user needs to hear.
pub fn record_failed(session: &Session, run: &Failed<'_>, failure: &Failure, exit_code: u8) {
    let Session { global, ambient, ui, .. } = session;
    if global.summary.is_none() && global.metrics.is_none() {
        return;
    }
    let so_far = session.so_far().unwrap_or_else(|| {
        let settings = settings::load(&global.file, ambient);
        let fleet = settings.as_ref().ok().map(|settings| settings.fleet.name.to_string());
        let about = run.region.map_or(About::Fleet, |name| About::Region(name.to_owned()));
        Summary { about, ..summary(fleet, run.command, Ended::Done) }
    });
    let Failure { message, help, .. } = failure;
    let failure = Some(summary::FailureRecord { message: message.clone(), help: help.clone() });
    let summary = Summary { failure, exit_code, ..so_far };
    if let Some(path) = &global.metrics {
        let Summary { command, fleet, about, .. } = &summary;
        let written = match &summary.applied {
            Some(_) => metrics::write(path, &summary, session),
            None => {
                let run = RunFacts { command, fleet: fleet.as_deref(), about };
                metrics::write_failed(path, run, exit_code, session)
            }
        };
        if let Err(error) = written {
            ui.warn(&format!("cannot write the metrics to {}: {error}", path.display()));
        }
    }
    if let Some(path) = &global.summary
        && let Err(error) = write(path, &summary)
    {
        ui.warn(&format!("cannot write the summary to {}: {error}", path.display()));
    }
}

/// Which run failed.
pub struct Failed<'a> {
    /// The command.
    pub command: &'static str,
    /// The region that it was about, if about one.
    pub region: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pouch_core::config::Accept;
    use pouch_core::report::summary::Region;

    #[test]
    fn what_let_nothing_through_is_said_and_nothing_else() {
        let given = |region: &str, what| {
            let digest = "0123456789abcdef".into();
            Acceptance { region: region.into(), namespace: None, what, digest }
        };
        let report = |outcome: Outcome, accepted: &[Acceptance], wanted: &[Acceptance]| Report {
            regions: vec![Region::new(&"eu".into(), &"eu".into(), outcome)],
            accepted: accepted.to_vec(),
            wanted: wanted.to_vec(),
            ..Report::default()
        };
        let says = |what, report: &Report| unneeded(&given("eu", what), report);
        let used = report(Outcome::Published, &[given("eu", Accept::Deletions)], &[]);
        assert_eq!(says(Accept::Deletions, &used), None);
        assert_eq!(says(Accept::Recipients, &used), Some("nothing of the kind was held"));
        assert_eq!(unneeded(&given("us", Accept::Reseal), &used), Some("the region was not looked at"));
        assert_eq!(says(Accept::Deletions, &report(Outcome::Unchanged, &[], &[])), Some("the region did not change"));
        let other = Acceptance { digest: "fedcba9876543210".into(), ..given("eu", Accept::Deletions) };
        let held = report(Outcome::Held, &[], &[other]);
        assert!(says(Accept::Deletions, &held).is_some_and(|why| why.starts_with("it is spent or mistyped")));
        assert_eq!(says(Accept::Reseal, &held), Some("nothing of the kind was held"));
    }
}
