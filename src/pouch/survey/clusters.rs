//! Clusters: what is asked of those among the sources as a whole, of several at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use pouch_core::config::Source;
use pouch_core::inquiry::{self, ListedKind};
use pouch_core::name::SourceName;
use pouch_core::node::Node;
use pouch_core::snapshot::Reading;

use super::look;
use super::source::SourceError;
use super::source::live::{Changed, Live};
use super::surveyor::Surveyor;
use super::times::Times;
use crate::error::Failure;

/// Lists what a cluster is read for as a whole; or says why that cannot be.
pub(super) fn begin(
    surveyor: &Surveyor<'_>,
    (index, source): (usize, &Source),
    (live, memory): (&mut Live, usize),
    times: &Times,
) -> Result<Result<(), SourceError>, Failure> {
    let begun = live.begin(surveyor.fleet, source, memory);
    if let Err(error) = begun.and_then(|()| surveyor.last.map_or(Ok(()), |last| live.is_the_same(source, last))) {
        return Ok(Err(error));
    }
    for listed in inquiry::listed(surveyor.fleet, source) {
        if let Err(error) = list(surveyor, live, index, &listed, times)? {
            return Ok(Err(error));
        }
    }
    Ok(surveyor.last.map_or(Ok(()), |last| live.is_no_older(last)))
}

fn list(
    surveyor: &Surveyor<'_>,
    live: &mut Live,
    index: usize,
    listed: &ListedKind,
    times: &Times,
) -> Result<Result<(), SourceError>, Failure> {
    surveyor.session.stop.check()?;
    let timer = surveyor.session.ambient.timer();
    let progress = surveyor.session.ui.progress("reading", 0);
    let kind = listed.kind.kind.as_str();
    let count = live.list(listed, &|count| progress.say(&format!("{kind} {count}")));
    Ok(count.map(|count| times.add(index, &listed.kind, count, timer)))
}

/// Lists the Namespaces of clusters that may provide them, where a rule of any source selects some.
pub(super) fn list_namespaces(
    surveyor: &Surveyor<'_>,
    clusters: &mut BTreeMap<usize, Live>,
    readings: &[Reading],
    times: &Times,
) -> Result<(), Failure> {
    if clusters.is_empty() {
        return Ok(());
    }
    let sources = &surveyor.fleet.sources;
    let rules = sources.iter().zip(readings).filter(|(source, _)| source.provides.cluster_scoped);
    let selected = rules.flat_map(|(_, reading)| &reading.documents).map(|(document, _)| document);
    if !inquiry::select_namespaces(selected) && !clusters.values().any(Live::selects_namespaces) {
        return Ok(());
    }
    side_by_side(surveyor, clusters, |(index, source), live| {
        if source.provides.cluster_scoped && !inquiry::has_namespaces(surveyor.fleet, source) {
            list(surveyor, live, index, &inquiry::listed_namespaces(), times)??;
        }
        Ok(())
    })
    .map(drop)
}

/// Does a piece of work with each cluster, with several at once: one that is slow holds up itself alone.
pub(super) fn side_by_side<T: Send>(
    surveyor: &Surveyor<'_>,
    clusters: &mut BTreeMap<usize, Live>,
    work: impl Fn((usize, &Source), &mut Live) -> Result<T, Failure> + Sync,
) -> Result<Vec<(usize, T)>, Failure> {
    let sources = &surveyor.fleet.sources;
    let at_hand = clusters.iter_mut().filter_map(|(index, live)| Some((*index, sources.get(*index)?, live)));
    let at_hand: Vec<_> = at_hand.map(|(index, source, live)| (index, source, Mutex::new(live))).collect();
    let done = look::each(&at_hand, &|(index, source, live)| {
        // Each has one worker.
        let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
        surveyor.session.stop.check()?;
        work((*index, source), &mut live).map(|done| (*index, done))
    });
    done.into_iter().collect()
}

/// Chains what was read of files and listed of clusters so far, each document with its source.
fn documents<'r>(
    readings: &'r [Reading],
    clusters: &'r BTreeMap<usize, Live>,
) -> impl Iterator<Item = (&'r Node, &'r SourceName)> {
    let of_files = readings.iter().flat_map(|reading| &reading.documents);
    let all = of_files.chain(clusters.values().flat_map(Live::documents));
    all.map(|(document, origin)| (document, &origin.source))
}

/// Lists the objects behind the Clusters that regions take, of every kind that such a Cluster of any source refers to.
pub(super) fn list_behind(
    surveyor: &Surveyor<'_>,
    clusters: &mut BTreeMap<usize, Live>,
    readings: &[Reading],
    times: &Times,
) -> Result<(), Failure> {
    let fleet = surveyor.fleet;
    let kinds = inquiry::behind_all(fleet, documents(readings, clusters));
    side_by_side(surveyor, clusters, |(index, source), live| {
        for kind in &kinds {
            let Some(listed) = inquiry::listed_behind(fleet, &source.provides, kind.clone()) else { continue };
            if let Err(error) = list(surveyor, live, index, &listed, times)? {
                surveyor.unless_trusted(source, error)?;
            }
        }
        Ok(())
    })
    .map(drop)
}

/// Reads what ResourceSyncRules of trusted sources may take.
pub(super) fn read_ruled(
    surveyor: &Surveyor<'_>,
    clusters: &mut BTreeMap<usize, Live>,
    readings: &[Reading],
    times: &Times,
) -> Result<(), Failure> {
    let fleet = surveyor.fleet;
    let rules = inquiry::rules_among(fleet, documents(readings, clusters));
    side_by_side(surveyor, clusters, |(index, source), live| {
        for ruled in inquiry::ruled(fleet, &source.provides, &rules) {
            surveyor.session.stop.check()?;
            let timer = surveyor.session.ambient.timer();
            match live.read_ruled(&ruled) {
                Ok(found) => times.add(index, &ruled.kind, found, timer),
                Err(error) => _ = surveyor.unless_trusted(source, error)?,
            }
        }
        Ok(())
    })
    .map(drop)
}

/// Looks at everything again; gives what changed, with the number of its source.
pub(super) fn prove(
    surveyor: &Surveyor<'_>,
    clusters: &mut BTreeMap<usize, Live>,
    away: &BTreeSet<usize>,
) -> Result<Vec<(usize, Changed)>, Failure> {
    let changed = side_by_side(surveyor, clusters, |(index, source), live| {
        if away.contains(&index) {
            return Ok(Vec::new());
        }
        let progress = surveyor.session.ui.progress("checking", 0);
        let found = live.prove(&|| progress.step());
        drop(progress);
        found.or_else(|error| surveyor.unless_trusted(source, error).map(|_| live.all()))
    })?;
    let of_source = |(index, found): (usize, Vec<Changed>)| found.into_iter().map(move |found| (index, found));
    Ok(changed.into_iter().flat_map(of_source).collect())
}
