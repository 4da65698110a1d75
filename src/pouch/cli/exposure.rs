//! `pouch exposure`: what each recipient could ever read, by the history of a repository.

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::civil::Date;
use pouch_core::exposure::Exposure;
use pouch_core::report;
use pouch_core::report::exposure::Whom;
use pouch_core::reuse::is_key_id;

use super::reach::{self, ReachArgs};
use crate::ambient::Ambient;
use crate::error::{Ended, Failure};
use crate::git;
use crate::git::history::Since;
use crate::run::exposure::{Asked, answer};
use crate::run::told;
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch exposure --removed                    what former recipients could read
  pouch exposure --recipient age1…            what a leaked identity opens
  pouch exposure --removed --values           and which of today's values are among it
  pouch exposure --reuse-key-leaked

Exit codes: 0 answered; 5 a repository elsewhere or a source cannot be read; 64 usage or configuration, \
or no repository.";

/// Say what each recipient could ever read, by the history of a repository, and what to rotate
///
/// Who has a clone and a region's identity opens everything that was ever sealed to it, whatever is
/// published now. Nothing is opened for this, and no private key is needed. With --removed it answers what
/// somebody knows who lost access; with --recipient, what to rotate after that identity leaked. Whether a
/// value was rotated since is told as far as it can be proved; whether the provider still takes an old value
/// cannot be seen from here. Commits that no reference leads to any more are not seen.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What to list", after_help = reach::ONLY_FOR)]
#[command(after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// The repository, bare or not: a path or a URL; by default that of `output.git`, else the one around
    /// the current folder
    #[arg(value_name = "REPO")]
    repository: Option<String>,
    /// The same as REPO
    #[arg(long, value_name = "REPO", conflicts_with = "repository")]
    repo: Option<String>,
    /// Only what this recipient could read, as if its identity had leaked: a key, or a name of the configuration, which stands
    /// for all keys of that name; may be given several times
    #[arg(long, value_name = "AGE1…|NAME")]
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
    let ambient = &session.ambient;
    let key_id = args.key_id(ambient)?;
    for revision in args.rev.iter().chain(&args.since) {
        is_revision(revision)?;
    }
    let since = args.since.as_deref().map(|text| (text, since_of(text)));
    if let Some((_, Since::Time(seconds))) = since
        && seconds > ambient.now().as_second()
    {
        return Err(Failure::usage(
            "--since names a time that is yet to come",
            "Name a time in the past; commits count from then on.",
        ));
    }
    let asked = Asked {
        repository: args.repository(),
        recipients: &args.recipient,
        removed: args.removed,
        key_id,
        values: args.values,
        since,
        revisions: &args.rev,
        reach: args.reach.reach(ambient),
        // The text says it itself, in its first lines.
        warns: args.output == Format::Json,
    };
    session.ui.result(&args.shown(session, &answer(session, asked)?)?);
    Ok(Ended::Done)
}

impl Args {
    fn repository(&self) -> Option<&str> {
        self.repository.as_deref().or(self.repo.as_deref())
    }

    fn key_id(&self, ambient: &Ambient) -> Result<Option<&str>, Failure> {
        let Some(id) = &self.reuse_key_leaked else { return Ok(None) };
        match (id.as_str(), self.repository()) {
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

    fn shown(&self, session: &Session, answer: &Exposure) -> Result<String, Failure> {
        match self.output {
            Format::Text => {
                let whom = Whom { named: !self.recipient.is_empty(), removed: self.removed };
                Ok(session.ui.shown(&report::exposure::exposure(answer, whom)))
            }
            Format::Json => told::json(serde_json::to_string_pretty(answer)),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
