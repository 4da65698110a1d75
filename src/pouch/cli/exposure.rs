//! `pouch exposure`: what each recipient could ever read, by the history of a repository.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::civil::Date;
use pouch_core::config::Fleet;
use pouch_core::exposure::{Exposure, History, Query, ValuesToday, expose, guessable};
use pouch_core::finding::Code;
use pouch_core::listing::{counted, few};
use pouch_core::name::Claimant;
use pouch_core::recipient::Recipient;
use pouch_core::report::exposure::Whom;
use pouch_core::report::{self, escape_json};
use pouch_core::reuse::is_key_id;

use super::reach::{self, ReachArgs};
use crate::ambient::Ambient;
use crate::error::{Ended, Failure};
use crate::git;
use crate::git::history::{Since, Wanted};
use crate::harden::wiped;
use crate::run::exposure::{ReadHistory, current, read};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::repository::{self, Repository};
use crate::survey::source::live;
use crate::survey::{Surveyor, survey};
use crate::ui::Ui;

/// How many broken Credentials are named.
const MOST_BROKEN: usize = 20;

/// How many ids of keys are named.
const MOST_KEYS: usize = 20;

/// Say what each recipient could ever read, by the history of a repository, and what to rotate
///
/// Who has a clone and a region's identity opens everything that was ever sealed to it, whatever is
/// published now. Nothing is opened for this, and no private key is needed. With --removed it answers what
/// somebody knows who lost access; with --recipient, what to rotate after that identity leaked. Whether a
/// value was rotated since is told as far as it can be proved; whether the provider still takes an old value
/// cannot be seen from here. Commits that no reference leads to any more are not seen.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What to list", after_help = reach::ONLY_FOR)]
pub struct Args {
    /// The repository, bare or not: a path or a URL; by default that of `output.git`, else the one around
    /// the current folder
    #[arg(value_name = "REPO")]
    repository: Option<String>,
    /// Only what this recipient could read, as if its identity had leaked; may be given several times
    #[arg(long, value_name = "AGE1…")]
    recipient: Vec<String>,
    /// Only what former recipients of a region could read
    #[arg(long)]
    removed: bool,
    /// List instead which values a leaked reuse key lets somebody guess: the key with this id, or all in history
    #[arg(long, value_name = "KEY-ID", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with_all = ["recipient", "removed", "values"])]
    reuse_key_leaked: Option<String>,
    /// Read the sources and the reuse key too, and say which of today's values could be read
    #[arg(long)]
    values: bool,
    /// Begin with the state at a date (2026-11-21), a time (2026-11-21T07:51:52Z), a branch, tag or commit
    #[arg(long, value_name = "REV|DATE")]
    since: Option<String>,
    /// Only the history of this branch, tag or commit; may be given several times, and the first then counts as
    /// published now [default: every reference and head]
    #[arg(long, value_name = "REV")]
    rev: Vec<String>,
    /// How the answer is written
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    #[command(flatten)]
    reach: ReachArgs,
}

/// How the answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For machines; `pouch schema exposure` describes it
    Json,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Session { ambient, ui, .. } = session;
    let recipients = args.recipients()?;
    let key_id = args.key_id(ambient)?;
    for revision in args.rev.iter().chain(&args.since) {
        is_revision(revision)?;
    }
    let opened = args.config(session)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let keys = match &opened {
        Some(opened) if args.values => Some(opened.keys(session)?),
        _ => None,
    };
    let since = args.since.as_deref().map(since_of);
    if let Some(Since::Time(seconds)) = since
        && seconds > ambient.now().as_second()
    {
        return Err(Failure::usage(
            "--since names a time that is yet to come",
            "Name a time in the past; commits count from then on.",
        ));
    }
    let Repository { path, called, fetched } = repository::find(session, args.repository.as_deref(), opened.as_ref())?;
    let published_now = if args.rev.is_empty() { published(fleet) } else { Vec::new() };
    let wanted = Wanted { revisions: &args.rev, since, current: &published_now };
    let ReadHistory { facts, mut looked, proved } = read(&path, called, &wanted, fleet.zip(keys.as_ref()), session)?;
    // All that was wanted of it is read, and what follows may take its time.
    drop(fetched);
    looked.since = args.since.clone();
    // The text says it itself, in its first lines.
    if args.output == Format::Json {
        warn(&looked, ui);
    }
    if let Some(id) = key_id.filter(|id| !id.is_empty()) {
        has_key(id, &facts)?;
    }

    let answer = match (key_id, opened.as_ref().zip(keys.as_ref())) {
        (Some(id), _) => guessable(&facts, Some(id).filter(|id| !id.is_empty()), fleet, looked),
        (None, None) => expose(&facts, &Query { recipients, removed: args.removed, fleet, values: None }, looked),
        (None, Some((opened, keys))) => {
            let fleet = &opened.settings.fleet;
            let reach = args.reach.reach(ambient);
            let outputs = [opened.output()];
            let surveyor = Surveyor { session, fleet, base: &opened.typed, outputs: &outputs, reach: &reach };
            let survey = survey(&surveyor, live::Values::Read)?;
            ui.findings(&survey.findings);
            let current = current(fleet, &survey);
            warn_of_broken(&current.broken, ui);
            let values = ValuesToday { keys, now: current.values, proved: &proved };
            let asked = Query { recipients, removed: args.removed, fleet: Some(fleet), values: Some(values) };
            // Tags are made of the values.
            wiped(|| expose(&facts, &asked, looked))
        }
    };
    ui.result(&args.shown(&answer)?);
    Ok(Ended::Done)
}

impl Args {
    fn recipients(&self) -> Result<BTreeSet<Recipient>, Failure> {
        let parsed = |text: &String| {
            let named = |error: pouch_core::recipient::RecipientError| {
                Failure::usage(format!("--recipient: {error}"), error.help())
            };
            Recipient::parse(text).map_err(named)
        };
        self.recipient.iter().map(parsed).collect()
    }

    fn key_id(&self, ambient: &Ambient) -> Result<Option<&str>, Failure> {
        let Some(id) = &self.reuse_key_leaked else { return Ok(None) };
        match (id.as_str(), self.repository.as_deref()) {
            ("", Some(typed)) if is_key_id(typed) && !ambient.cwd().join(typed).exists() => Err(Failure::usage(
                format!("there is no repository {typed}"),
                format!("Did you mean --reuse-key-leaked={typed}?"),
            )),
            ("", _) => Ok(Some("")),
            (id, _) if is_key_id(id) => Ok(Some(id)),
            // What was typed may be the key itself.
            _ => Err(Failure::usage(
                "--reuse-key-leaked takes the id of a key, 8 hex digits, and no key",
                "The id is the word after `# pouch/v1` in a sealed file's first line; without one all ids are told.",
            )),
        }
    }

    /// The configuration. Without one a repository can be looked at all the same, unless values are wanted.
    fn config(&self, session: &Session) -> Result<Option<Opened>, Failure> {
        if self.values { Opened::open(session).map(Some) } else { Opened::open_if_there(session) }
    }

    fn shown(&self, answer: &Exposure) -> Result<String, Failure> {
        match self.output {
            Format::Text => {
                let whom = Whom { named: !self.recipient.is_empty(), removed: self.removed };
                Ok(report::exposure::exposure(answer, whom))
            }
            Format::Json => {
                let text = serde_json::to_string_pretty(answer).map_err(|_| Failure::bug("the answer is not JSON"))?;
                Ok(escape_json(&text) + "\n")
            }
        }
    }
}

/// Refuses the id of a key of which no file has tags: who mistypes one must not read that nothing can be
/// guessed.
fn has_key(id: &str, facts: &History) -> Result<(), Failure> {
    let tags = facts.stood.iter().filter_map(|stood| stood.file.tags.as_ref());
    let known: BTreeSet<&str> = tags.map(|tags| tags.key_id.as_str()).filter(|known| is_key_id(known)).collect();
    if known.contains(id) {
        return Ok(());
    }
    Err(Failure::usage(format!("no sealed file of these commits has tags of the reuse key {id}"), others(&known)))
}

/// Of which keys there are tags.
fn others(known: &BTreeSet<&str>) -> String {
    match known.len() {
        0 => "They have none of any other key either; see which repository and commits are looked at.".to_owned(),
        count => format!("They have those of {}.", few(known, count, MOST_KEYS)),
    }
}

/// What is published now, as a repository of its own or a clone of it names it.
fn published(fleet: Option<&Fleet>) -> Vec<String> {
    let branch = fleet.and_then(|fleet| fleet.output.git.as_ref()).map(|git| &git.branch);
    let names = |branch: &String| [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")];
    branch.into_iter().flat_map(names).collect()
}

fn is_revision(text: &str) -> Result<(), Failure> {
    // A time has colons, which no reference has.
    if git::is_reference(text) || time_of(text).is_some() {
        return Ok(());
    }
    let help = "Give the name of a branch, a commit's id, refs/tags/TAG, or for --since a date such as 2026-11-21.";
    Err(Failure::usage(format!("{text:?} names no branch, tag or commit"), help))
}

fn since_of(text: &str) -> Since {
    time_of(text).map_or_else(|| Since::Revision(text.to_owned()), Since::Time)
}

/// Seconds since 1970 of a time, or of the beginning of a date in UTC.
fn time_of(text: &str) -> Option<i64> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_second());
    }
    let is_date = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let date: Date = text.parse().ok().filter(|_| is_date)?;
    date.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp().as_second())
}

/// Says whose values of today are not compared.
fn warn_of_broken(broken: &BTreeMap<Claimant, Code>, ui: &Ui) {
    if broken.is_empty() {
        return;
    }
    let named: Vec<String> = broken.iter().map(|(name, code)| format!("{} ({})", name.path(), code.text())).collect();
    ui.warn(&format!(
        "today's values of broken Credentials are unknown, so their entries are listed as without --values: {}; `pouch \
         render` says what is wrong",
        few(&named, named.len(), MOST_BROKEN)
    ));
}

/// Says beside an answer for machines what is missing from it.
fn warn(looked: &pouch_core::exposure::Looked, ui: &Ui) {
    if looked.commits == 0 {
        ui.warn("the repository has no commit");
    }
    let count = looked.skipped.count;
    if count > 0 {
        let first: BTreeMap<&str, &str> =
            looked.skipped.files.iter().take(3).map(|file| (file.path.as_str(), file.why.as_str())).collect();
        let first: Vec<String> = first.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        ui.warn(&format!(
            "{} could not be read, so what they hold is not in the answer: {}",
            counted(count, "file or folder", "files or folders"),
            first.join("; ")
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_named_are_counted() {
        let ids: Vec<String> = (0..MOST_KEYS + 2).map(|at| format!("{at:08x}")).collect();
        let known = |count: usize| others(&ids.iter().take(count).map(String::as_str).collect());
        assert!(known(0).starts_with("They have none"), "{}", known(0));
        assert_eq!(known(2), "They have those of 00000000, 00000001.");
        assert!(known(MOST_KEYS).ends_with(", 00000013."), "{}", known(MOST_KEYS));
        assert!(known(MOST_KEYS + 2).ends_with(", 00000013 and 2 more."), "{}", known(MOST_KEYS + 2));
    }

    #[test]
    fn dates_are_times_and_all_else_is_a_revision() {
        assert_eq!(since_of("1970-01-02"), Since::Time(86_400));
        assert_eq!(since_of("1970-01-01T00:00:05Z"), Since::Time(5));
        for revision in ["main", "v1", "2026", "20261121", "1970-13-01"] {
            assert_eq!(since_of(revision), Since::Revision(revision.to_owned()));
        }
        for bad in ["", "-x", "main~1", "a b", "@{1}", "1970-01-01 00:00"] {
            assert!(is_revision(bad).is_err(), "{bad}");
        }
    }
}
