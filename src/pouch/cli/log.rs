//! `pouch log`: the life of a credential, from the history of the branches that regions follow.

use clap::ValueEnum;
use pouch_core::finding::Severity;
use pouch_core::log::text::Most;
use pouch_core::log::{Log, markdown, text};
use pouch_core::report::markdown::markdown as render;

use super::check::Deny;
use super::reach::{self, ReachArgs};
use super::subject::{self, Kind, Words};
use crate::error::{Ended, Failure};
use crate::git;
use crate::run::log::{Asked, Subject, answer};
use crate::run::{self, told};
use crate::session::Session;
use crate::settings::Opened;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch log team-a/aws
  pouch log secret kcm-system/aws-secret
  pouch log region eu-west -o markdown
  pouch log --older-than 90d --deny warning   for a job that reminds people
  pouch log --repo fleet.git --rev main       without a configuration

Exit codes: 0 answered; 1 no commit ever had what was asked about; 5 the repository cannot be read, or not \
all of it is there; 7 with --deny, a Secret is older than --older-than; 64 usage or configuration.";

/// Say what became of a credential over time, and which Secrets are overdue for rotation
///
/// For every commit it tells what was published, changed, sealed anew or for others, carried over and
/// withdrawn, for which Credentials and from which states of the sources. No key is needed, and nothing is
/// opened: where it is not known whether a value changed, it says so. With the reuse key at hand, the commits
/// of pouch itself prove which values they replaced. With --values it reads the sources too, and tells since
/// when today's values are published.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What to tell", after_help = reach::ONLY_FOR, after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// What is asked about: a Credential's NAMESPACE/NAME, `secret NAMESPACE/NAME` or `region NAME` [default:
    /// everything]
    #[arg(value_name = "[KIND] NAME")]
    what: Vec<String>,
    /// The namespace of a name that is given without one
    #[arg(short, long, value_name = "NAMESPACE", requires = "what")]
    namespace: Option<String>,
    /// List the Secrets that are not known to have been rotated for so long, by region, in place of the history: 90d, 12h
    /// or 2w
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
    /// Entries of this name are no secret, and make no Secret old; may be given several times
    #[arg(long, value_name = "ENTRY")]
    not_secret: Vec<String>,
    /// Minimum severity that fails the run with 7; a Secret that --older-than lists is a warning
    #[arg(long, value_name = "LEVEL", requires = "older_than", default_value = "error")]
    deny: Deny,
    /// Read the sources and the reuse key too, and tell since when today's values are published
    #[arg(long)]
    values: bool,
    /// The repository, bare or not: a path or a URL; by default that of `output.git`, else the one around the
    /// configuration or the current folder
    #[arg(long, value_name = "PATH|URL")]
    repo: Option<String>,
    /// The history of this branch, tag or commit; may be given several times [default: the branches that regions
    /// follow, else HEAD]
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
    /// For people; the last of it, or with -v everything
    Text,
    /// For machines; `pouch schema log` describes it
    Json,
    /// For an issue or a comment
    Markdown,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    run::threads()?;
    if let Some(bad) = args.rev.iter().find(|revision| !git::is_reference(revision)) {
        let help = "Give the name of a branch, a commit's id, or refs/tags/TAG.";
        return Err(Failure::usage(format!("{bad:?} names no branch, tag or commit"), help));
    }
    // Without a configuration a repository can be looked at all the same, unless values are wanted.
    let opened = if args.values { Some(Opened::open(session)?) } else { Opened::open_if_there(session)? };
    let asked = Asked {
        opened: opened.as_ref(),
        repository: args.repo.as_deref(),
        subject: args.subject(session, opened.as_ref())?,
        older_than: args.older_than.as_deref().map(seconds).transpose()?,
        not_secret: &args.not_secret,
        values: args.values,
        revisions: &args.rev,
        reach: args.reach.reach(&session.ambient),
        // The others say it themselves, in their first lines.
        warns: args.output == Format::Json,
    };
    let log = answer(session, &asked)?;
    session.ui.result(&args.shown(session, &log)?);
    let is_denied = args.deny.severity().is_some_and(|least| least <= Severity::Warning) && !log.secrets.is_empty();
    Ok(if is_denied { Ended::Denied } else { Ended::Done })
}

impl Args {
    fn subject(&self, session: &Session, opened: Option<&Opened>) -> Result<Option<Subject>, Failure> {
        if self.what.is_empty() {
            return Ok(None);
        }
        let words = Words {
            command: "log",
            kinds: &[
                Kind::Credential,
                Kind::Cluster,
                Kind::ResourceSyncRule,
                Kind::ManagedResource,
                Kind::Secret,
                Kind::Region,
                Kind::ClusterResourceSet,
                Kind::Guest,
            ],
            fleet: opened.map(|opened| &opened.settings.fleet),
            ui: &session.ui,
        };
        Ok(match words.subject(&self.what, self.namespace.as_deref())? {
            subject::Subject::Claimant(by) => Some(Subject::Claimant(by)),
            subject::Subject::Rule(rule) => {
                return Err(Failure::usage(
                    format!("{rule} is a rule, and the log tells of each object that a rule takes"),
                    format!("Write NAMESPACE/{rule}:OBJECT; `pouch explain resourcesyncrule {rule}` names them."),
                ));
            }
            subject::Subject::Template(template) => {
                return Err(Failure::usage(
                    format!("{template} is a template, and the log tells of what it makes for each namespace"),
                    format!(
                        "Write NAMESPACE/{template}; `pouch explain managedresource {template}` says where it goes."
                    ),
                ));
            }
            subject::Subject::Object(key) => Some(Subject::Object(key)),
            subject::Subject::Region(name) => Some(Subject::Region(name)),
            // It is none of the kinds above.
            subject::Subject::Recipient(_) => None,
        })
    }

    fn shown(&self, session: &Session, log: &Log) -> Result<String, Failure> {
        match self.output {
            Format::Text => {
                let most = if session.global.verbose { Most::ALL } else { Most::FEW };
                Ok(session.ui.shown(&text::text(log, most)))
            }
            Format::Json => told::json(serde_json::to_string_pretty(log)),
            Format::Markdown => Ok(render(&markdown::document(log), "pouch log -v")),
        }
    }
}

/// The seconds of an age.
fn seconds(text: &str) -> Result<u64, Failure> {
    const UNITS: [(char, u64); 3] = [('h', 3_600), ('d', 86_400), ('w', 604_800)];
    let parsed = UNITS.iter().find_map(|(unit, seconds)| {
        let digits = text.strip_suffix(*unit).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse::<u64>().ok()?.checked_mul(*seconds)
    });
    parsed.filter(|seconds| *seconds > 0).ok_or_else(|| {
        Failure::usage(
            format!("--older-than: {text:?} is no age"),
            "Give a number and a unit: hours as 12h, days as 90d, weeks as 2w.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_number_and_a_unit() {
        for (text, expected) in [("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600)] {
            assert_eq!(seconds(text), Ok(expected));
        }
        for bad in ["", "d", "0d", "-1d", "+1d", "1.5d", "90", "90 d", "1d12h", "3m", "99999999999999999w", "٣d"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
