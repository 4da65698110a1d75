//! `pouch rbac`: the rights that reading the configuration's clusters takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use pouch_core::capi::cluster::cluster_kind;
use pouch_core::config::{Source, SourcePlace};
use pouch_core::finding::{Finding, Severity, settle};
use pouch_core::inquiry::{self, ListedKind};
use pouch_core::kinds::sync_rule;
use pouch_core::name::{GroupKind, Name, Namespace, SourceName, is_dns_label, is_dns_subdomain};
use pouch_core::node::Node;
use pouch_core::object::Object;
use pouch_core::rbac::deliver::{self, DeliverBasis};
use pouch_core::rbac::look::{self as rights, LookBasis};
use pouch_core::rbac::namespaces::with_namespaces;
use pouch_core::rbac::owners::owners;
use pouch_core::rbac::{AskedByName, Basis, RbacManifest, Secrets, Subject, manifests};

use super::bundle::{Listed, listed};
use super::reach::ReachArgs;
use crate::error::{Ended, Failure};
use crate::session::Session;
use crate::settings::{Opened, region_called};
use crate::survey::source::live::Values;
use crate::survey::{Looking, Reach, Survey, Surveyor, look, survey};

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch rbac > rbac.yaml
  pouch rbac --secrets namespaces
  pouch rbac --user github:repo:acme/fleet:environment:pouch
  pouch rbac --region eu-west                     for looking into a region's own cluster
  pouch rbac --deliver --region eu-west           for `pouch deliver`, on the region
  pouch rbac --deliver --region eu-west --with-namespaces | kubectl --context eu-west apply -f -

Exit codes: 0 printed; 3 not all that Credentials need could be found out, so rights may be missing; 5 the cluster, or the bundle, cannot be read; 64 usage or configuration.";

/// Print the least RBAC rules for reading clusters, or for delivering to a region
///
/// Nothing is applied: look at what comes out, keep it in git, and apply it with kubectl. Secrets are never
/// listed, and none is read for this either. Print it again when Credentials change.
///
/// With --region it prints the rights that looking into the region's own cluster takes (`regions.NAME.cluster`), to be
/// applied there. With --deliver it prints the rights that `pouch deliver` takes on a region, for the bundle as it is published.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Which Secrets and ConfigMaps may be read
    #[arg(long, value_name = "HOW", default_value = "names", conflicts_with = "region")]
    secrets: How,
    /// Print the rights that applying a region's bundle takes there
    #[arg(long, conflicts_with_all = ["secrets", "context", "kubeconfig", "as_user"])]
    deliver: bool,
    /// Print the rights that looking into this region takes, by name or folder; with --deliver the region to deliver to
    /// [default there: the only one]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// With --deliver: the namespace of the ConfigMap that says what was applied [default: the system namespace]
    #[arg(long, value_name = "NAMESPACE", requires = "deliver")]
    inventory_namespace: Option<String>,
    /// Print the Namespaces of the roles first, so that one `kubectl apply` works where they are missing
    #[arg(long)]
    with_namespaces: bool,
    /// The service account that gets the rights [default: pouch/pouch]
    #[arg(long, value_name = "NAMESPACE/NAME", group = "subject")]
    service_account: Option<String>,
    /// The user that gets the rights instead, as the API server knows it
    #[arg(long, value_name = "NAME", group = "subject")]
    user: Option<String>,
    /// The group that gets the rights instead
    #[arg(long, value_name = "NAME", group = "subject")]
    group: Option<String>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// How Secrets are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum How {
    /// Only those that today's Credentials need, each by name
    Names,
    /// All in the known namespaces
    Namespaces,
}

/// What came of asking a source.
#[derive(Default)]
struct KnownSource {
    /// What it was asked for by name.
    asked: AskedByName,
    /// What its cluster calls its resources.
    plurals: BTreeMap<GroupKind, String>,
    /// Whether its Namespaces were listed.
    namespaces: bool,
    /// The kinds of the objects behind Clusters.
    behind: BTreeSet<GroupKind>,
    /// What ResourceSyncRules have listed.
    ruled: Vec<ListedKind>,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let subject = args.subject()?;
    let opened = Opened::open(session)?;
    let fleet = &opened.settings.fleet;
    if args.deliver {
        return applying(session, args, &opened, &subject);
    }
    if let Some(region) = &args.region {
        return looking(session, args, &opened, (region, &subject));
    }
    let clusters: Vec<&Source> = fleet.sources.iter().filter(|source| is_cluster(source)).collect();
    if clusters.is_empty() {
        return Err(Failure::usage(
            "the configuration has no cluster among its sources",
            "Folders, repositories and standard input take no rights. For those to look into a region, pass --region NAME; for those of `pouch deliver`, --deliver.",
        ));
    }
    let secrets = match args.secrets {
        How::Names => Secrets::Names,
        How::Namespaces => Secrets::Namespaces,
    };
    let outputs = [opened.output()];
    let reach = args.reach.reach(&session.ambient);
    let surveyor = surveyor(session, &opened, &outputs, &reach);
    let (known, ended) = asked(&surveyor, secrets)?;
    let nothing = KnownSource::default();
    let mut printed = Vec::new();
    for source in clusters {
        let KnownSource { asked, plurals, namespaces, behind, ruled } = known.get(&source.name).unwrap_or(&nothing);
        let mut listed = inquiry::listed(fleet, source);
        // Where nobody looked, or rules are to suffice for tomorrow's Clusters, any kind may stand behind one.
        let any = if secrets == Secrets::Namespaces { inquiry::any_behind(fleet) } else { Vec::new() };
        let behind = behind.iter().cloned().chain(any).collect::<BTreeSet<_>>();
        listed.extend(behind.into_iter().filter_map(|kind| inquiry::listed_behind(fleet, &source.provides, kind)));
        listed.extend(ruled.iter().cloned());
        // Where nobody looked, or rules are to suffice for tomorrow's objects, a rule may select some.
        let is_listed = inquiry::has_namespaces(fleet, source);
        if source.provides.cluster_scoped && !is_listed && (*namespaces || secrets == Secrets::Namespaces) {
            listed.push(inquiry::listed_namespaces());
        }
        let terms = Basis { fleet, source, secrets, listed: &listed, asked, plurals, subject: &subject };
        let made = manifests(&terms).map_err(|error| Failure::usage(error.to_string(), error.help()))?;
        printed.extend(made);
    }
    print(session, args, printed);
    Ok(ended)
}

/// Prints the rights that applying a bundle takes.
fn applying(session: &Session, args: &Args, opened: &Opened, subject: &Subject) -> Result<Ended, Failure> {
    let fleet = &opened.settings.fleet;
    let Listed { directory, objects } = listed(session, opened, args.region.as_deref())?;
    let kept_in = args.inventory_namespace.as_deref().map_or(fleet.system_namespace.clone(), Namespace::from);
    if !is_dns_label(kept_in.as_str()) {
        return Err(Failure::usage("--inventory-namespace cannot be a namespace", "Name one that is on the region."));
    }
    let terms =
        DeliverBasis { fleet: &fleet.name, directory: &directory, objects: &objects, kept_in: &kept_in, subject };
    print(session, args, deliver::manifests(&terms));
    Ok(Ended::Done)
}

/// Prints manifests, with their Namespaces where these are asked for.
fn print(session: &Session, args: &Args, made: Vec<RbacManifest>) {
    let all = if args.with_namespaces { with_namespaces(made) } else { made };
    let texts: Vec<String> = all.into_iter().map(|manifest| manifest.text).collect();
    session.ui.result(&texts.join("---\n"));
}

/// Prints the rights that looking into a region takes.
fn looking(
    session: &Session,
    args: &Args,
    opened: &Opened,
    (region, subject): (&str, &Subject),
) -> Result<Ended, Failure> {
    let fleet = &opened.settings.fleet;
    let region = region_called(fleet, region)?;
    if look::regions(fleet).all(|(known, _)| known.name != region.name) {
        return Err(Failure::usage(
            format!("the configuration does not have region {} looked into", region.name),
            "Say with `cluster` of the region how its cluster is reached; only an active region is looked into, and none with `look: verify`. With \
             --deliver, the rights for `pouch deliver` are printed.",
        ));
    }
    let outputs = [opened.output()];
    let reach = args.reach.reach(&session.ambient);
    let surveyor = surveyor(session, opened, &outputs, &reach);
    let survey = survey(&surveyor, Values::Leave)?;
    let claims = survey.facts.rendered(fleet).filter(|claim| *claim.region() == region.name);
    let claims: Vec<_> =
        claims.filter(|claim| region.namespaces.allowed.matches(claim.by.namespace().as_str())).collect();
    let guests =
        claims.iter().filter(|claim| claim.by.group().is_some()).map(|claim| claim.by.namespace().clone()).collect();
    let namespaces = claims.iter().map(|claim| claim.by.namespace()).chain(survey.facts.asked_by_templates(region));
    let namespaces = namespaces.filter(|name| is_dns_label(name.as_str())).cloned().collect();
    let lists = fleet.renders(region);
    let terms = LookBasis { fleet: &fleet.name, region, namespaces: &namespaces, guests: &guests, subject, lists };
    let ended = told(session, survey.findings);
    print(session, args, rights::manifests(&terms));
    Ok(ended)
}

fn surveyor<'a>(session: &'a Session, opened: &'a Opened, outputs: &'a [PathBuf], reach: &'a Reach) -> Surveyor<'a> {
    let fleet = &opened.settings.fleet;
    // Whoever asks which rights are needed may have none yet.
    Surveyor { looking: Looking::AtSources, ..Surveyor::new(session, fleet, &opened.typed, (outputs, reach)) }
}

fn is_cluster(source: &Source) -> bool {
    matches!(source.place, SourcePlace::Cluster { .. })
}

/// What each cluster source is asked for, and how that went.
///
/// Where the configuration names every namespace, and Secrets are not named one by one, no cluster needs
/// to be asked.
fn asked(surveyor: &Surveyor<'_>, secrets: Secrets) -> Result<(BTreeMap<SourceName, KnownSource>, Ended), Failure> {
    let Surveyor { session, fleet, .. } = surveyor;
    let mut clusters = fleet.sources.iter().filter(|source| is_cluster(source));
    let named = clusters.all(|source| inquiry::namespaces(fleet, &source.provides).is_some());
    if secrets == Secrets::Namespaces && named && !fleet.names_sync_rules() {
        return Ok((BTreeMap::new(), Ended::Done));
    }
    // Where Secrets stand is told by what refers to them, so that none needs to be read.
    let survey = survey(surveyor, Values::Leave)?;
    let world = survey.world(fleet);
    let made = made_at_home(surveyor)?;
    let namespace = GroupKind::new("", "Namespace");
    let mut known = BTreeMap::new();
    let mut findings = survey.findings.clone();
    let kind = cluster_kind();
    let clusters = survey.snapshot.all(&kind).filter_map(|object| {
        let key = (object.key.namespace.as_ref()?, &object.key.name);
        Some(inquiry::behind(fleet, &object.origin.source, key, &object.body))
    });
    let behind: BTreeSet<GroupKind> = clusters.flatten().collect();
    let rules: Vec<Node> = survey.snapshot.all(&sync_rule()).map(written).collect();
    for (source, (keys, resources)) in &survey.asked {
        let index = fleet.sources.iter().position(|known| known.name == *source).unwrap_or_default();
        let (mut asked, unread) = owners(&world, world.facts.rendered(fleet), index, keys);
        findings.extend(unread);
        if let Some((made, (keys, _))) = made.as_ref().and_then(|made| Some((made, made.asked.get(source)?))) {
            let world = made.world(fleet);
            let claims =
                world.facts.rendered(fleet).filter(|claim| claim.by.template().is_some() || claim.by.group().is_some());
            let keys = keys.iter().filter(|key| !asked.contains_key(key)).cloned().collect();
            asked.extend(owners(&world, claims, index, &keys).0);
        }
        let plurals = resources.iter().map(|resource| (resource.kind.clone(), resource.plural.clone()));
        let namespaces = survey.snapshot.all(&namespace).any(|object| object.origin.source == *source);
        let provides = fleet.sources.get(index).map(|source| &source.provides);
        let ruled = provides.map(|provides| inquiry::ruled(fleet, provides, &rules)).unwrap_or_default();
        let ruled = ruled.into_iter().filter_map(|ruled| ruled.listed).collect();
        known.insert(
            source.clone(),
            KnownSource { asked, plurals: plurals.collect(), namespaces, behind: behind.clone(), ruled },
        );
    }
    Ok((known, told(session, findings)))
}

/// What is asked for where what templates make for the management cluster may stand in somebody's way there.
///
/// The names of what they make come from templates, so each Secret that they are given counts as present, with the entries
/// that they name.
fn made_at_home(surveyor: &Surveyor<'_>) -> Result<Option<Survey>, Failure> {
    let is_at_home = surveyor.fleet.regions.values().any(|region| region.management && surveyor.fleet.renders(region));
    is_at_home.then(|| survey(surveyor, Values::Unseen)).transpose()
}

/// A rule as its document says it, as far as pouch reads that.
fn written(rule: &Object) -> Node {
    let name = Node::map(vec![("name".into(), Node::text(rule.key.name.as_str()))]);
    let spec = rule.body.get("spec").cloned().unwrap_or(Node::Null);
    Node::map(vec![("metadata".into(), name), ("spec".into(), spec)])
}

/// Shows findings, and says how a run with them ends.
fn told(session: &Session, findings: Vec<Finding>) -> Ended {
    let findings = settle(findings);
    session.ui.findings(&findings);
    let lacks = findings.iter().any(|finding| finding.severity == Severity::Error);
    if lacks {
        session.ui.warn(
            "not all that Credentials need could be found out, so rights may be missing below; cure the errors first",
        );
    }
    if lacks { Ended::Partial } else { Ended::Done }
}

impl Args {
    fn subject(&self) -> Result<Subject, Failure> {
        let named = |name: &String, flag: &str| match name.is_empty() {
            true => Err(Failure::usage(format!("{flag} is empty"), "Write the name, as the API server knows it.")),
            false => Ok(name.clone()),
        };
        if let Some(user) = &self.user {
            return named(user, "--user").map(Subject::User);
        }
        if let Some(group) = &self.group {
            return named(group, "--group").map(Subject::Group);
        }
        let text = self.service_account.as_deref().unwrap_or("pouch/pouch");
        match text.split_once('/') {
            Some((namespace, name)) if is_dns_label(namespace) && is_dns_subdomain(name) => {
                Ok(Subject::ServiceAccount { namespace: Namespace::from(namespace), name: Name::from(name) })
            }
            _ => Err(Failure::usage(
                format!("--service-account {text} is not NAMESPACE/NAME"),
                "Write both, such as pouch/pouch.",
            )),
        }
    }
}
