//! `pouch explain`: why an object is, or is not, in a region.

use clap::ValueEnum;
use pouch_core::explain::record::{Explanation, State};
use pouch_core::explain::{Missed, Question, explanation, graph, text};
use pouch_core::finding::{Class, Finding};
use pouch_core::page;
use pouch_core::region::change::Action;

use super::asked::{Asked, LookArgs};
use super::pages::Now;
use super::reach::{self, ReachArgs};
use super::subject::{Kind, Subject, Words};
use crate::error::{Ended, Failure};
use crate::run::{self, Report, log, told};
use crate::session::Session;
use crate::settings::{Opened, region_called};

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch explain team-a/aws
  pouch explain cluster team-a/prod
  pouch explain resourcesyncrule pull-secrets
  pouch explain resourcesyncrule team-a/pull-secrets:registry
  pouch explain clusterresourceset team-a/addons
  pouch explain managedresource registry-login
  pouch explain guest team-a/pull
  pouch explain guest team-a/pull/Secret/registry/login
  pouch explain secret kcm-system/aws-secret
  pouch explain region eu-west
  pouch explain recipient age1…
  pouch explain team-a/aws -o mermaid         a picture

Exit codes: 0 answered; 1 neither a source nor a bundle has what was asked about; 5 a source or the branch \
cannot be read; 64 usage or configuration.";

/// Say why an object is, or is not, in a region, and who can read what
///
/// Of a Credential, or a Cluster without one, it tells the whole chain: each object that it needs, the field that names it, the rule
/// that admits it, where it stands in the sources and where it lands, what becomes of it, and what stops
/// it. Of a ResourceSyncRule it tells what it takes, from where and to where, and of a ManagedResource for whom it is
/// rendered. The other way round it tells who needs a Secret or ConfigMap, who has what in a region, and what a recipient can
/// read now. It reads what `pouch plan` reads, and shows no values; a live cluster is asked for no more than
/// the Credential that is asked about needs.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR, after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// A Credential by NAMESPACE/NAME, or a kind and a name; kinds: cluster, secret, configmap, region, recipient,
    /// resourcesyncrule, managedresource, clusterresourceset and guest
    #[arg(value_name = "[KIND] NAME", required = true)]
    what: Vec<String>,
    /// The namespace of a name that is given without one
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// How the answer is written
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// How the answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For machines; `pouch schema explanation` describes it
    Json,
    /// A flow chart for Mermaid, which GitHub and GitLab draw in Markdown
    Mermaid,
    /// A graph for Graphviz
    Dot,
    /// A page that needs nothing else
    Html,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    run::threads()?;
    let asked = Asked::reaching(args.reach.clone()).looking(&args.look);
    let opened = asked.open(session)?;
    let fleet = &opened.settings.fleet;
    let question = args.question(session, &opened)?;
    let prepared = asked.prepared(session, &opened, vec![opened.output()])?;
    let places = prepared.narrowed(&question).look(Some(&question))?;
    // What stands at a place that could not be looked at is not told, and not denied either.
    let failed = places.failed();
    let ended = places.ended_plan(false);
    let Report { mut explained, findings, .. } = places.report;
    // What could not be read may be what is missing; the rest stands with the claims.
    let of_source = |finding: &Finding| finding.code.class() == Class::Source;
    session.ui.findings(&findings.into_iter().filter(of_source).collect::<Vec<Finding>>());
    explained.settle();
    let missed = explained.missed.take();
    let explanation = explanation(fleet, &question, explained);
    if let Question::Object(key) = &question
        && let Some(groups) = explanation.delivered_by(key)
    {
        session.ui.note(&format!("{question} is delivered into guest clusters by {groups}"));
    }
    let is_empty = explanation.claims.is_empty() && explanation.objects.is_empty();
    if failed.is_some() {
        session.ui.note("not all places could be looked at, so this is not all");
    }
    if let Some(Missed { near }) = missed {
        let message = format!("no {question} was read");
        if is_empty && failed.is_none() {
            let meant = near.map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
            let asked = match &question {
                Question::Claimant(by) => Some(by.path()),
                Question::Object(key) if key.kind.is_secret() => Some(format!("secret {}", key.path())),
                _ => None,
            };
            let became =
                asked.map(|asked| format!(" If it was published once, `pouch log {asked}` tells what became of it."));
            let help = format!("No bundle has anything of it either.{meant}{}", became.unwrap_or_default());
            return Err(Failure::failed(message, help));
        }
        let is_published = explanation.objects.iter().any(|object| object.state != State::Changes(Action::Added));
        session.ui.note(&match is_published {
            true => format!("{message}; bundles still have what is named here"),
            false => message,
        });
    }
    match is_empty && failed.is_some() && args.output == Format::Text {
        true => {}
        false => session.ui.result(&args.shown(session, &opened, (&explanation, &question))?),
    }
    if explanation.closure_only {
        session.ui.note("only what it needs itself was asked of the cluster; what others need, `pouch plan` tells");
    }
    if let Question::Recipient(recipient) = &question {
        session.ui.offer("what it could ever read", &format!("pouch exposure --recipient {recipient}"));
    }
    Ok(ended)
}

impl Args {
    fn question(&self, session: &Session, opened: &Opened) -> Result<Question, Failure> {
        let fleet = &opened.settings.fleet;
        let asked = Words { command: "explain", kinds: Kind::value_variants(), fleet: Some(fleet), ui: &session.ui };
        Ok(match asked.subject(&self.what, self.namespace.as_deref())? {
            Subject::Claimant(by) => Question::Claimant(by),
            Subject::Rule(rule) => Question::Rule(rule),
            Subject::Template(template) => Question::Template(template),
            Subject::Object(key) => Question::Object(key),
            Subject::Region(name) => Question::Region(region_called(fleet, &name)?.name.clone()),
            Subject::Recipient(recipient) => Question::Recipient(recipient),
        })
    }

    fn shown(
        &self,
        session: &Session,
        opened: &Opened,
        (explanation, question): (&Explanation, &Question),
    ) -> Result<String, Failure> {
        Ok(match self.output {
            Format::Text => {
                let mut text = text::text(explanation, is_brief(question));
                if text.blocks().is_empty() {
                    text.item(0, nothing(question));
                }
                session.ui.shown(&text)
            }
            Format::Json => told::json(serde_json::to_string_pretty(explanation))?,
            Format::Mermaid => graph::mermaid(explanation),
            Format::Dot => graph::dot(explanation),
            Format::Html => {
                let subject = match question {
                    Question::Claimant(by) => Some(log::Subject::Claimant(by.clone())),
                    Question::Object(key) => Some(log::Subject::Object(key.clone())),
                    Question::Region(region) => Some(log::Subject::Region(region.to_string())),
                    Question::Rule(_) | Question::Template(_) | Question::Recipient(_) | Question::Changes => None,
                };
                let life = log::beside(session, opened, subject);
                page::explain(explanation, life.as_ref(), Now::of(session).maker())
            }
        })
    }
}

/// Whether a question is about many claims, each of which is told in a line.
fn is_brief(question: &Question) -> bool {
    matches!(question, Question::Region(_) | Question::Recipient(_) | Question::Rule(_) | Question::Template(_))
}

/// The answer where there is nothing to say.
fn nothing(question: &Question) -> String {
    match question {
        Question::Recipient(recipient) => format!("no region is sealed for {recipient}"),
        _ => format!("no Credential needs {question}"),
    }
}
