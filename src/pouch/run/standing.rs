//! Standing: every region that can be looked into, compared with what is published for it, in one answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pouch_core::config::{Fleet, Look, RegionConfig, SourcePlace};
use pouch_core::finding::Finding;
use pouch_core::layout::{manifest, path};
use pouch_core::name::{Directory, Region, SourceName};
use pouch_core::region::published::Files;
use pouch_core::report::standing::{ComparedRecord, InForce, RegionStanding, Standing, UnreadRecord};
use pouch_core::report::summary::FindingRecord;
use pouch_core::reuse::KeyRing;
use pouch_core::snapshot::{CURE, Reason};
use pouch_core::world::Facts;

use super::live::{Compared, Comparison, verify};
use crate::error::{Failure, Kind};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::branch::BranchShelf;
use crate::shelf::directory::LookedAt;
use crate::shelf::output::Output;
use crate::shelf::{Look as _, plain_files};
use crate::survey::look::{
    ProviderFiles, Road, compared, connect, each, help_of, identity, is_another, patience_of_one, road,
};
use crate::survey::source::live::Values;
use crate::survey::{Looking, Reach, Surveyor, survey};

/// What is asked.
pub struct Question<'a> {
    /// The configuration.
    pub opened: &'a Opened,
    /// The only region that is compared; none for all that can be looked into.
    pub only: Option<&'a RegionConfig>,
    /// The reuse keys; none where only names and types are to be compared.
    pub keys: Option<&'a KeyRing>,
    /// The folder that holds the bundles, if one is named.
    pub path: Option<&'a Path>,
    /// How sources are reached, and how long a region may take.
    pub reach: &'a Reach,
}

/// The answer, with what is wrong.
pub struct Answer {
    /// What every region has.
    pub standing: Standing,
    /// Everything found, in the order of regions.
    pub findings: Vec<Finding>,
    /// How many findings say that a region is not what its bundle says.
    pub faults: usize,
    /// How many regions could not be compared.
    pub unread: usize,
}

/// Compares all regions that can be looked into, a few at a time, or one of them.
///
/// # Errors
/// Where there is no such region, what is published cannot be told at all, or the run should end.
pub fn standing(session: &Session, asked: &Question<'_>) -> Result<Answer, Failure> {
    let fleet = &asked.opened.settings.fleet;
    let home = Home::of(fleet);
    let as_source = home.as_ref().and_then(|home| Some((home.region, &home.sources.first()?.1)));
    let regions: Vec<(&RegionConfig, &Look)> = match asked.only {
        // A paused region is not looked into by itself, but may be asked for.
        Some(only) => only
            .compared
            .as_ref()
            .map(|look| (only, look))
            .or_else(|| as_source.filter(|(region, _)| region.name == only.name))
            .into_iter()
            .collect(),
        None => compared(fleet).chain(as_source).collect(),
    };
    if regions.is_empty() {
        return Err(match asked.only {
            Some(only) => Failure::usage(
                format!("region {} has no `cluster` in the configuration", only.name),
                format!(
                    "Say how it is reached with `regions.{}.cluster`, or name a context with --live --context CONTEXT.",
                    only.name
                ),
            ),
            None => Failure::usage(
                "no active region has `cluster` in the configuration",
                "Say it with `cluster` of the regions, or name one context with --live --context CONTEXT --region NAME.",
            ),
        });
    }
    let facts = facts(session, asked, &regions);
    let shelves = Shelves::open(session, asked, &regions)?;
    let mut files = ProviderFiles::default();
    let base = (&session.ambient, &*asked.opened.typed);
    let mut roads: Vec<(&RegionConfig, Result<Road, Reason>)> = Vec::new();
    for (region, look) in regions {
        let road = match (home.as_ref().filter(|home| home.region.name == region.name), look, &facts) {
            (Some(home), ..) => home.road(session, asked),
            (None, Look::Providers(_), Err(reason)) => Err(reason.clone()),
            (None, _, facts) => road(base, (region, look), facts.as_ref().ok().and_then(Option::as_ref), &mut files),
        };
        roads.push((region, road));
    }
    let progress = session.ui.progress("looking into regions", u64::try_from(roads.len()).unwrap_or_default());
    let compared = each(&roads, &|(region, road)| {
        let compared = one(session, asked, &shelves, (region, road));
        progress.step();
        compared
    });
    drop(progress);
    session.stop.check()?;
    let mut answer = Answer {
        standing: Standing {
            api_version: "pouch/v1alpha1",
            kind: "Standing",
            fleet: fleet.name.to_string(),
            values: asked.keys.is_some(),
            regions: Vec::new(),
        },
        findings: Vec::new(),
        faults: 0,
        unread: 0,
    };
    for ((region, _), one) in roads.iter().zip(compared) {
        one.warning.iter().for_each(|warning| session.ui.warn(&format!("region {}: {warning}", region.name)));
        answer.add(region, one);
    }
    Ok(answer)
}

/// The management cluster as a region, and the sources that could be it, each with how it is reached.
struct Home<'a> {
    region: &'a RegionConfig,
    sources: Vec<(&'a SourceName, Look)>,
}

impl<'a> Home<'a> {
    /// None where it is looked into as others are, or no source could be it.
    fn of(fleet: &'a Fleet) -> Option<Self> {
        let region = fleet.management().filter(|region| region.is_rendered() && region.compared.is_none())?;
        let trusted = fleet.sources.iter().filter(|source| source.provides.cluster_scoped);
        let reached = trusted.filter_map(|source| match &source.place {
            SourcePlace::Cluster { context, kubeconfig, plugin_environment } => {
                let look = Look::Kubeconfig {
                    kubeconfig: kubeconfig.clone(),
                    context: context.clone(),
                    plugin_environment: plugin_environment.clone(),
                };
                Some((&source.name, look))
            }
            _ => None,
        });
        let sources: Vec<_> = reached.collect();
        (!sources.is_empty()).then_some(Self { region, sources })
    }

    /// The way to it: that of its first source, if all that could be it are one cluster, as a run has it as well.
    fn road(&self, session: &Session, asked: &Question<'_>) -> Result<Road, Reason> {
        let mut ways = Vec::new();
        for (name, look) in &self.sources {
            let base = (&session.ambient, &*asked.opened.typed);
            ways.push((*name, road(base, (self.region, look), None, &mut ProviderFiles::default())?));
        }
        if ways.len() > 1 {
            let uids = each(&ways, &|(name, road)| self.uid(session, asked, (name, road)));
            if uids.into_iter().collect::<Result<BTreeSet<String>, Reason>>()?.len() > 1 {
                let names: Vec<&str> = ways.iter().map(|(name, _)| name.as_str()).collect();
                let names = names.join(", ");
                let why =
                    format!("sources {names} are different clusters, and each of them may be the management cluster");
                return Err(Reason::new(why, CURE));
            }
        }
        let first = ways.into_iter().next().map(|(_, road)| road);
        first.ok_or_else(|| Reason::new("no source is the management cluster", CURE))
    }

    /// The UID of the cluster that a source is.
    fn uid(
        &self,
        session: &Session,
        asked: &Question<'_>,
        (name, road): (&SourceName, &Road),
    ) -> Result<String, Reason> {
        let cluster = connect(session, &self.region.name, road, patience_of_one(asked.reach.patience));
        let uid = cluster.map_err(|failure| Reason::new(failure.message, failure.help)).and_then(|it| identity(&it));
        uid.map_err(|Reason { why, help, .. }| {
            let why = format!("source {name} may be the management cluster, and was not reached: {why}");
            Reason::new(why, help)
        })
    }
}

/// What the sources say of ClusterProfiles, if one is needed. Where they cannot be read, the regions that need none are
/// compared all the same.
fn facts(session: &Session, asked: &Question<'_>, regions: &[(&RegionConfig, &Look)]) -> Result<Option<Facts>, Reason> {
    if !regions.iter().any(|(_, look)| matches!(look, Look::Providers(_))) {
        return Ok(None);
    }
    let outputs = [asked.opened.output()];
    let surveyor = Surveyor {
        looking: Looking::AtSources,
        ..Surveyor::new(session, &asked.opened.settings.fleet, &asked.opened.typed, (&outputs, asked.reach))
    };
    let survey = survey(&surveyor, Values::Leave).map_err(|failure| {
        Reason::new(format!("its ClusterProfile cannot be read: {}", failure.message), failure.help)
    })?;
    Ok(Some(survey.facts))
}

/// Where bundles stand.
enum Shelves {
    /// In a folder.
    Folder(LookedAt),
    /// On branches, each fetched once; of a region, the place among them, or why it could not be fetched.
    Branches(Vec<Result<BranchShelf, Failure>>, BTreeMap<Region, usize>),
}

impl Shelves {
    fn open(session: &Session, asked: &Question<'_>, regions: &[(&RegionConfig, &Look)]) -> Result<Self, Failure> {
        let root = match asked.path {
            Some(path) => session.ambient.cwd().join(path),
            None if asked.opened.settings.fleet.output.git.is_some() => return Self::fetch(session, asked, regions),
            None => asked.opened.output(),
        };
        if !root.is_dir() {
            let message = format!("there is no folder {}", root.display());
            let help =
                "Name the folder that holds the bundles, in a checkout of the branch that they are published to.";
            return Err(Failure::usage(message, help));
        }
        Ok(Self::Folder(LookedAt::open(&root).map_err(unread)?))
    }

    fn fetch(session: &Session, asked: &Question<'_>, regions: &[(&RegionConfig, &Look)]) -> Result<Self, Failure> {
        let output = Output::of(asked.opened)?;
        let mut shelves = Vec::new();
        let mut places = BTreeMap::new();
        for target in output.bases() {
            let of_target = regions.iter().filter(|(region, _)| {
                let its = output.target_of(&region.name);
                its.is_some_and(|its| (&its.remote, &its.base) == (&target.remote, &target.base))
            });
            let of_target: Vec<Region> = of_target.map(|(region, _)| region.name.clone()).collect();
            if of_target.is_empty() {
                continue;
            }
            places.extend(of_target.into_iter().map(|region| (region, shelves.len())));
            shelves.push(output.open(session, target));
        }
        Ok(Self::Branches(shelves, places))
    }

    /// The files of a region, and the commit that made them what they are.
    fn read(&self, region: &Region, directory: &Directory) -> Result<(Files, Option<String>), Failure> {
        match self {
            Self::Folder(folder) => Ok((folder.read(directory).and_then(plain_files).map_err(unread)?, None)),
            Self::Branches(shelves, places) => {
                let shelf = places.get(region).and_then(|place| shelves.get(*place));
                let shelf = shelf.ok_or_else(|| Failure::bug("the region has no place"))?;
                let shelf = shelf.as_ref().map_err(Clone::clone)?;
                let files = shelf.read(directory).and_then(plain_files).map_err(unread)?;
                // What is published can be told without: a history that cannot be fetched costs one column.
                Ok((files, shelf.since(directory).unwrap_or_default()))
            }
        }
    }
}

/// All that can go wrong there is that the published state cannot be read.
fn unread(error: impl Into<Failure>) -> Failure {
    Failure { kind: Kind::Unavailable, ..error.into() }
}

/// What came of one region.
struct One {
    commit: Option<String>,
    warning: Option<String>,
    compared: Result<Comparison, Reason>,
}

fn one(
    session: &Session,
    asked: &Question<'_>,
    shelves: &Shelves,
    (region, road): (&RegionConfig, &Result<Road, Reason>),
) -> One {
    let fleet = &asked.opened.settings.fleet;
    let away = |failure: Failure| Reason::new(failure.message, failure.help);
    let (files, commit) = match shelves.read(&region.name, &region.directory) {
        Ok(read) => read,
        Err(failure) => return One { commit: None, warning: None, compared: Err(away(failure)) },
    };
    let road = match road {
        Ok(road) => road,
        Err(reason) => return One { commit, warning: None, compared: Err(reason.clone()) },
    };
    let mut warning = None;
    // Which cluster the bundle was made for, if it says so.
    let made_for = files
        .get(path::manifest(&region.directory).as_str())
        .and_then(|bytes| manifest::told_cluster(std::str::from_utf8(bytes).ok()?).map(str::to_owned));
    let compared = verify(
        Compared { fleet, region, files, keys: asked.keys },
        || {
            let patience = patience_of_one(asked.reach.patience);
            let cluster = connect(session, &region.name, road, patience)
                .map_err(|failure| Failure { help: help_of(&region.name, road, failure.help.clone()), ..failure })?;
            warning = cluster.warning();
            if let Some(Ok(Some(message))) = made_for.as_ref().map(|made_for| is_another(&cluster, made_for)) {
                let help = format!("Correct `regions.{}.cluster`, or publish for the new cluster.", region.name);
                return Err(Failure::unavailable(message, help));
            }
            Ok(cluster)
        },
        None,
    );
    One { commit, warning, compared: compared.map_err(away) }
}

impl Answer {
    fn add(&mut self, region: &RegionConfig, one: One) {
        let mut record = RegionStanding {
            name: region.name.to_string(),
            directory: region.directory.to_string(),
            commit: one.commit,
            unread: None,
            compared: None,
            findings: Vec::new(),
        };
        match one.compared {
            Err(Reason { why, help, .. }) => {
                self.unread += 1;
                record.unread = Some(UnreadRecord { message: why, help });
            }
            Ok(compared) => {
                self.faults += compared.faults();
                record.findings = compared.findings.iter().map(FindingRecord::from).collect();
                record.compared = compared.tally.map(|tally| ComparedRecord {
                    objects: compared.objects,
                    as_published: tally.as_published,
                    missing: tally.missing,
                    differing: tally.differing,
                    left_behind: tally.left_behind,
                    unlisted: compared.unlisted.into_iter().collect(),
                    claimants: tally
                        .claimants
                        .into_iter()
                        .map(|(by, in_force)| InForce {
                            kind: by.kind().to_string(),
                            namespace: by.namespace().to_string(),
                            name: by.name().to_string(),
                            in_force,
                        })
                        .collect(),
                });
                self.findings.extend(compared.findings);
            }
        }
        self.standing.regions.push(record);
    }
}
