//! `pouch facts`: what is known of the regions' clusters, as manifests.

use std::collections::BTreeSet;

use pouch_core::facts;
use pouch_core::finding::{Class, Code, Finding, Severity, settle};
use pouch_core::kinds;
use pouch_core::name::Region;
use pouch_core::world::cluster::Tied;

use super::reach::{self, ReachArgs};
use crate::error::{Ended, Failure};
use crate::session::Session;
use crate::settings::{Opened, region_called};
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch facts > facts.new && mv facts.new facts/regions.yaml
  pouch facts --region eu-west
  pouch facts | git diff --no-index facts/regions.yaml -

Exit codes: 0 printed; 3 something of a region could not be read, and is not in it: keep the file of before; 5 a source cannot be read; \
64 usage or configuration.";

/// Print what is known of the regions' clusters, as manifests
///
/// Only fields that pouch reads are in it: k0rdent's Region, the ClusterProfile and the cluster registry's
/// Cluster that a region is tied to, the PlacementDecisions that the configuration names, and what was seen in
/// the cluster itself. Kept in git and read as a source, they let a run decide as this one without any cluster,
/// and a changed fact is a diff to review. No Secret is read for it.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR, after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// Only this region, by name or folder; may be given several times
    #[arg(long, value_name = "NAME")]
    region: Vec<String>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let opened = Opened::open(session)?;
    let fleet = &opened.settings.fleet;
    let named = args.region.iter().map(|name| region_called(fleet, name).map(|region| &region.name));
    let named = named.collect::<Result<BTreeSet<&Region>, _>>()?;
    let outputs = [opened.output()];
    let reach = args.reach.reach(&session.ambient);
    let surveyor = Surveyor::new(session, fleet, &opened.typed, (&outputs, &reach));
    let survey = survey(&surveyor, Values::Leave)?;
    let world = survey.world(fleet);
    let is_named = |name: &Region| named.is_empty() || named.contains(name);
    let regions = fleet.regions.values().filter(|region| is_named(&region.name));
    let documents = facts::of(&world, &named);
    // What concerns Credentials alone is told by `check`.
    let mut findings = survey.findings.clone();
    findings.extend(survey.facts_findings.iter().cloned());
    findings.retain(|finding| match finding.code.class() {
        Class::Source => true,
        _ => finding.region.as_ref().is_some_and(is_named) && finding.claimant.is_none(),
    });
    let findings = settle(fleet.govern(findings));
    session.ui.findings(&findings);
    let is_lack = |finding: &Finding| {
        // An AccessManagement decides about Credentials, and says nothing of a region.
        let is_of_regions =
            || finding.object.as_ref().is_none_or(|key| !key.kind.is(kinds::K0RDENT, "AccessManagement"));
        finding.severity == Severity::Error || finding.code == Code::UnreadableObject && is_of_regions()
    };
    let mut lacks = findings.iter().any(is_lack);
    for region in regions {
        let Some(cluster) = world.cluster(&region.name) else { continue };
        lacks |= matches!(cluster.profile, Tied::Unknown(_)) || matches!(cluster.registered, Tied::Unknown(_));
        if let Some(reason) = cluster.unread() {
            // A look that failed was told when it did.
            if region.look().is_none() {
                session.ui.warn(&format!("region {}: {}", region.name, reason.why));
            }
            lacks = true;
        }
    }
    for (placement, why) in world.facts.placements.unread() {
        session.ui.warn(&format!("placement {placement}: {why}"));
        lacks = true;
    }
    if documents.is_empty() {
        session.ui.note("nothing is known of any region's cluster; docs/regions.md says what can be");
    }
    session.ui.result(&documents.join("---\n"));
    Ok(if lacks { Ended::Partial } else { Ended::Done })
}
