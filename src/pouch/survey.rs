//! Survey: reads every source and puts a snapshot together.
//!
//! Files are read one source after the other, clusters side by side. Of files an index is made. Both they and a live cluster
//! are asked in turns with the closures: what they want that nobody has asked yet is asked, until they want nothing more.
//! Then everything read from clusters is looked at again, and where something changed meanwhile the survey starts over. What
//! still changes at the last look is marked, so that only who needs it waits; the rest is a state that existed. Regions' own
//! clusters are looked into ([`look`]) once the sources have said which and how. What the objects mean is not known here.

mod asking;
mod clusters;
pub mod last;
pub mod look;
mod openers;
mod shares;
pub mod source;
mod surveyor;
mod templates;
mod threads;
pub mod time;
mod times;
pub mod torn;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pouch_core::config::{Fleet, Source, SourcePlace};
use pouch_core::finding::Finding;
use pouch_core::layout::manifest::SourceIdentity;
use pouch_core::listing::counted;
use pouch_core::name::{ObjectKey, SourceName};
use pouch_core::object::RunKey;
use pouch_core::report::authors::SourceAuthors;
use pouch_core::snapshot::{Reading, SealedDocument, Snapshot, assemble_by};
use pouch_core::stamp::{SourceStamp, Stamp};
use pouch_core::world::looks::Looks;
use pouch_core::world::{Facts, World};

use crate::child::Room;
use crate::cluster::request::Resource;
use crate::cluster::{Cluster, Patience, Wanted};
use crate::error::Failure;
use crate::git::kept::Kept;
use crate::git::program::Deadlines;
use crate::session::Session;
pub use asking::Libraries;
use asking::{Sources, ask};
use clusters::{begin, list_behind, list_namespaces, prove, read_ruled, side_by_side};
use last::Last;
use look::Done;
use openers::{openers, shared};
use rayon::prelude::*;
use shares::{Shares, turns};
use source::decrypt::{Opener, Seen, Vault, unopened};
use source::live::{Changed, Live, Values};
use source::{Fetched, Given, Indexer, Means, SourceError, Texts};
pub use surveyor::{Contents, Looking, Reach, Surveyor};
use threads::Threads;
use time::Time;
use times::Times;
use tracing::{info, info_span};
use zeroize::Zeroizing;

/// The number of times that everything is read, where a cluster that all depend on changes meanwhile.
const LOOKS: u32 = 5;

/// The same where only others do: what else there is was read whole.
const LOOKS_FOR_OTHERS: u32 = 2;

/// What the sources say.
pub struct Survey {
    /// Every object, by key.
    pub snapshot: Snapshot,
    /// The files that hold contents which were put aside.
    pub libraries: Libraries,
    /// What the listed objects say together.
    pub facts: Facts,
    /// What is wrong with what they say together.
    pub facts_findings: Vec<Finding>,
    /// What was wrong with the sources themselves.
    pub findings: Vec<Finding>,
    /// The sources that can tell which cluster or repository they are, for manifests.
    pub sources: Vec<SourceIdentity>,
    /// Clusters that could not be reached, so that nobody knows which ones they are.
    pub unidentified: BTreeSet<SourceName>,
    /// The release of kustomize that built sources, if any did.
    pub kustomize: Option<String>,
    /// Which state of each source was read, as far as sources can tell.
    pub read: Vec<SourceStamp>,
    /// What each cluster source was asked for by name, and the kinds that the cluster serves.
    pub asked: BTreeMap<SourceName, (BTreeSet<ObjectKey>, Vec<Resource>)>,
    /// The time that is left for each source.
    time: Vec<Arc<Time>>,
    /// When it was read, in seconds since 1970.
    pub now: i64,
}

impl Survey {
    /// What all stages after the survey share.
    pub fn world<'a>(&'a self, fleet: &'a Fleet) -> World<'a> {
        World { fleet, snapshot: &self.snapshot, facts: &self.facts, now: self.now }
    }

    /// Returns true if something was read too slowly: another run may read it.
    pub fn is_late(&self) -> bool {
        self.time.iter().any(|time| time.is_over())
    }

    /// Remembers what earlier runs read of sources that this one did not reach, or of which it read nothing.
    pub fn remembers(&mut self, last: &Last) {
        let read = Stamp { sources: std::mem::take(&mut self.read), ..Stamp::default() };
        self.read = read.after(last.stamps.iter()).sources;
    }

    /// Does what needs no survey any more while memory is wiped of it, which takes as long.
    pub fn wiped_beside<T: Send>(self, work: impl FnOnce() -> T + Send) -> T {
        let Self { snapshot, facts, facts_findings, findings, .. } = self;
        let pieces: Vec<_> = snapshot.apart().collect();
        let rest = (facts, facts_findings, findings);
        rayon::join(work, || rayon::join(|| drop(rest), || pieces.into_par_iter().for_each(drop))).0
    }
}

/// Connects to the cluster of a source; flags win over what the configuration says.
///
/// # Errors
/// Where it cannot be told which cluster is meant, or its credentials cannot be used.
pub fn connect(surveyor: &Surveyor<'_>, source: &Source) -> Result<Cluster, Failure> {
    let SourcePlace::Cluster { context, kubeconfig, plugin_environment } = &source.place else {
        return Err(Failure::bug("a source that is no cluster was to be connected to"));
    };
    let Surveyor { session: Session { ambient, stop, .. }, base, reach, .. } = surveyor;
    let mut patience = reach.patience;
    if let Some(time) = source.time(&surveyor.fleet.limits.sources).map(|time| Duration::from_secs(time.0))
        && time < patience.whole
    {
        patience = Patience { whole: time, setting: time::SETTING, ..patience };
    }
    let mut wanted = reach.wanted.clone();
    wanted.context = wanted.context.or_else(|| context.clone());
    wanted.plugin_environment = wanted.plugin_environment.and(plugin_environment);
    let written = || kubeconfig.as_ref().map(|path| ambient.cwd().join(base).join(path));
    if let (None, Some(path), true) = (&wanted.kubeconfig, kubeconfig, surveyor.looking == Looking::AtAProposal)
        && Path::new(path).is_relative()
    {
        return Err(Failure::usage(
            format!("the kubeconfig {path} of source {} is not used with --config-from", source.name),
            "It stands beside the configuration, where a proposal could have put another, and a kubeconfig can run programs. \
             Name a kubeconfig of your own with --kubeconfig.",
        ));
    }
    wanted.kubeconfig = wanted.kubeconfig.or_else(written);
    let named = |error: Failure| Failure { message: format!("source {}: {}", source.name, error.message), ..error };
    Cluster::connect(&wanted, patience, ambient, &stop.flag()).map_err(named)
}

/// Reads all sources, in order.
///
/// # Errors
/// Where a source cannot be reached at all, changes faster than it can be read, or the run should end.
pub fn survey(surveyor: &Surveyor<'_>, values: Values) -> Result<Survey, Failure> {
    let Surveyor { session, fleet, base, reach, .. } = surveyor;
    let Session { ui, stop, .. } = session;
    let mut clusters: BTreeMap<usize, Live> = BTreeMap::new();
    for (index, source) in fleet.sources.iter().enumerate() {
        if matches!(source.place, SourcePlace::Cluster { .. }) {
            if !clusters.is_empty() && (reach.wanted.context.is_some() || reach.wanted.kubeconfig.is_some()) {
                return Err(Failure::usage(
                    "--context and --kubeconfig name one cluster, and the configuration has several",
                    "Name the contexts in the configuration.",
                ));
            }
            let cluster = connect(surveyor, source)?;
            ui.note(&format!("source {}: reading cluster {} at {}", source.name, cluster.context, cluster.server));
            if let Some(warning) = cluster.warning() {
                ui.warn(&warning);
            }
            clusters.insert(index, Live::new(source, cluster, values.clone()));
        }
    }
    if clusters.is_empty() && reach.wanted != Wanted::default() {
        return Err(Failure::usage(
            "--kubeconfig, --context, --as, --as-group and --plugin-env are for live clusters, and no source is one",
            "Leave them out, or add a `cluster` source to the configuration.",
        ));
    }
    let openers = openers(session, fleet, base, &values)?;
    let time = Time::of_all(fleet, &stop.flag());
    let mut standing = Standing { clusters, openers, time, done: Done::default() };
    // Standard input can be read only once.
    let looks = if surveyor.reads_stdin() { 1 } else { LOOKS };
    for look in 1..=looks {
        match one_look(surveyor, &mut standing, Look { number: look, most: looks })? {
            Ok(survey) => return Ok(survey),
            Err(changed) => ui.note(&format!("{changed} while it was read; reading everything again")),
        }
        stop.pause(pause(surveyor, look)?)?;
    }
    Err(Failure::bug("what changes at the last look was not set apart"))
}

/// Everything that stays from look to look.
struct Standing {
    /// The sources that are clusters, by their numbers.
    clusters: BTreeMap<usize, Live>,
    openers: BTreeMap<usize, Arc<Opener>>,
    /// The time that is left for each source.
    time: Vec<Arc<Time>>,
    /// The regions that were looked into.
    done: Done,
}

/// The number of a look, from 1, and how many there may be.
#[derive(Clone, Copy)]
struct Look {
    number: u32,
    most: u32,
}

impl Look {
    /// Returns true if everything is read again, as these sources changed meanwhile. One on which no other depends makes the
    /// others be read a second time, and not for as long as it changes.
    fn starts_over<'s>(self, mut changed: impl Iterator<Item = &'s Source>) -> bool {
        let is_trusted = changed.any(|source| source.provides.cluster_scoped);
        self.number < if is_trusted { self.most } else { self.most.min(LOOKS_FOR_OTHERS) }
    }
}

/// A growing pause, half of it by chance.
fn pause(surveyor: &Surveyor<'_>, look: u32) -> Result<Duration, Failure> {
    let base = surveyor.reach.patience.pause.saturating_mul(look);
    Ok(base.saturating_add(surveyor.session.ambient.part_of(base)?))
}

/// Reads everything once, and proves that it stood together; or names what changed, unless it is the last look.
fn one_look(surveyor: &Surveyor<'_>, standing: &mut Standing, look: Look) -> Result<Result<Survey, String>, Failure> {
    let Surveyor { session: Session { stop, ui, .. }, fleet, .. } = surveyor;
    let Standing { clusters, openers, time, done } = standing;
    time.iter().for_each(|time| time.start_over());
    let times = Times::default();
    let mut answering = Sources::default();
    let (mut findings, shared) = shared(fleet, openers);
    // As much again is left for what is made of both.
    answering.libraries.memory = surveyor.budget.memory / 2;
    let key = run_key(surveyor)?;
    let mut ahead = fetch_ahead(surveyor);
    let mut shares = Shares::new(surveyor.budget.memory, fleet.sources.len());
    let mut looked: BTreeMap<usize, Looked> = BTreeMap::new();
    for index in turns(fleet).into_iter().filter(|index| !clusters.contains_key(index)) {
        stop.check()?;
        let (Some(source), Some(time)) = (fleet.sources.get(index), time.get(index)) else { continue };
        let ahead = ahead.get_mut(index).and_then(Option::take);
        let means = Means { limits: &fleet.limits.sources, memory: shares.next(), time };
        let opener = openers.get(&index).map(|opener| (opener, shared.contains(&index)));
        let (found, held) = read_one(surveyor, (index, source), (ahead, opener), (means, time, &key), &mut answering)?;
        shares.took(held);
        looked.insert(index, found);
    }
    // More will be asked of each, for which its whole part of the memory stays.
    let memory = shares.next();
    for (index, found) in side_by_side(surveyor, clusters, |at, live| begin_at(surveyor, at, (live, memory), &times))? {
        looked.insert(index, found);
    }
    for (source, found) in looked.iter_mut().filter_map(|(index, found)| Some((fleet.sources.get(*index)?, found))) {
        torn::settle(&source.name, &mut found.reading, &found.torn, surveyor.bundles)?;
    }
    let (mut readings, mut sources, mut read) = (Vec::new(), Vec::new(), Vec::new());
    let (mut away, mut unidentified, mut kustomize) = (BTreeSet::new(), BTreeSet::new(), None);
    for (index, found) in looked {
        findings.extend(found.findings);
        sources.extend(found.identity);
        read.extend(found.stamp);
        away.extend(found.is_away.then_some(index));
        unidentified.extend(found.unidentified);
        kustomize = kustomize.or(found.kustomize);
        readings.push(found.reading);
    }
    list_namespaces(surveyor, clusters, &readings, &times)?;
    list_behind(surveyor, clusters, &readings, &times)?;
    read_ruled(surveyor, clusters, &readings, &times)?;
    for (index, live) in &mut *clusters {
        if let Some(reading) = readings.get_mut(*index).filter(|_| !away.contains(index)) {
            *reading = live.reading();
        }
    }
    for (source, reading) in fleet.sources.iter().zip(&readings) {
        let documents = reading.documents.len().saturating_add(reading.weighed.len());
        let (source, complete) = (source.name.as_str(), reading.complete);
        info!(source, documents, complete, "read");
    }
    let (mut snapshot, found) = assemble_by(fleet, readings, &Threads);
    findings.extend(found);
    let in_doubt = snapshot.all_in_doubt();
    for (index, vault) in &mut answering.vaults {
        vault.put_aside(|file| in_doubt.contains(&(*index, file)));
    }
    let mut looks = if surveyor.looking == Looking::AtAProposal { look::closed() } else { Looks::default() };
    let (mut facts, mut facts_findings) = Facts::gather(fleet, &snapshot, &looks);
    // What there is to look at, and through which ClusterProfile, is what the sources say.
    let mut errands = Vec::new();
    if surveyor.looking == Looking::IntoRegions {
        errands = look::errands(surveyor.session, (fleet, surveyor.base), &facts, surveyor.only);
    }
    if !errands.is_empty() {
        for (region, found) in
            done.all((surveyor.session, fleet), (surveyor.reach.patience, &surveyor.unreached), errands)?
        {
            looks.add(fleet, &snapshot, region.clone(), found.clone());
        }
        (facts, facts_findings) = Facts::gather(fleet, &snapshot, &looks);
    }
    // What templates are made of is asked for at once, too.
    let is_at_once = surveyor.contents == Contents::AtOnce || fleet.names_templates();
    let asks = !clusters.is_empty() || !answering.vaults.is_empty() || is_at_once;
    if asks {
        ask(surveyor, clusters, &answering, (&mut snapshot, &facts), &times)?;
    }
    templates::make((surveyor.session, fleet), &mut snapshot, &facts)?;
    // Only now it is known what lands where, and so what may stand in its way.
    if fleet.names_templates() {
        ask(surveyor, clusters, &answering, (&mut snapshot, &facts), &times)?;
    }
    if !clusters.is_empty() {
        let changed = prove(surveyor, clusters, &away)?;
        if let Some((_, Changed { key, why })) = changed.first() {
            if look.starts_over(changed.iter().filter_map(|(index, _)| fleet.sources.get(*index))) {
                return Ok(Err(why.clone()));
            }
            let waits = match changed.len().saturating_sub(1) {
                0 => format!("who needs {key} waits"),
                others => {
                    let more = counted(others, "more object", "more objects");
                    format!("and so did {more}; who needs one of them waits")
                }
            };
            ui.note(&format!("{why} each time while it was read; {waits}"));
            for (index, Changed { key, why }) in changed {
                snapshot.changes(fleet, index, &key, &why);
            }
            (facts, facts_findings) = Facts::gather(fleet, &snapshot, &looks);
            templates::make((surveyor.session, fleet), &mut snapshot, &facts)?;
        }
        times.tell(surveyor.session, clusters);
    }
    let asked = clusters.values_mut().map(|live| (live.name().clone(), live.take_asked()));
    let now = surveyor.session.time_of_run().as_second();
    let asked = asked.collect();
    let (libraries, time) = (answering.libraries, time.clone());
    Ok(Ok(Survey {
        snapshot,
        libraries,
        facts,
        facts_findings,
        findings,
        sources,
        unidentified,
        kustomize,
        read,
        asked,
        time,
        now,
    }))
}

/// The result of a first look at a source.
#[derive(Default)]
struct Looked {
    reading: Reading,
    /// Its files that could not be read to their ends.
    torn: BTreeSet<Arc<str>>,
    findings: Vec<Finding>,
    /// The cluster or repository that it is, where it can tell.
    identity: Option<SourceIdentity>,
    stamp: Option<SourceStamp>,
    /// True for a cluster of which nothing else is asked.
    is_away: bool,
    /// The source, if it is a cluster that could not say which one it is.
    unidentified: Option<SourceName>,
    /// The release of kustomize that built it.
    kustomize: Option<String>,
}

/// Lists what a cluster is read for as a whole, of which so many bytes may stay in memory.
fn begin_at(
    surveyor: &Surveyor<'_>,
    (index, source): (usize, &Source),
    (live, memory): (&mut Live, usize),
    times: &Times,
) -> Result<Looked, Failure> {
    let begun = begin(surveyor, (index, source), (live, memory), times)?;
    // What cluster it is may be known although not all was listed.
    let identity = SourceIdentity { name: source.name.clone(), identity: live.identity().to_owned() };
    let identity = (begun.is_ok() || !identity.identity.is_empty()).then_some(identity);
    match begun {
        // Its place among the readings; what it says is put there when it is known what else to list.
        Ok(()) => {
            live.warning().iter().for_each(|warning| surveyor.session.ui.warn(warning));
            let reading = Reading { complete: true, ..Reading::default() };
            Ok(Looked { reading, identity, stamp: live.stamp(), ..Looked::default() })
        }
        Err(error) => {
            let findings = surveyor.unless_trusted(source, error)?.findings;
            let unidentified = identity.is_none().then(|| source.name.clone());
            Ok(Looked { findings, identity, is_away: true, unidentified, ..Looked::default() })
        }
    }
}

/// The opener of a source's files; true if a source that may provide other objects shares an identity.
type Opens<'o> = (&'o Arc<Opener>, bool);

/// Reads files; says how many bytes of memory stay taken.
fn read_one(
    surveyor: &Surveyor<'_>,
    (index, source): (usize, &Source),
    (ahead, opener): (Option<Result<Fetched, SourceError>>, Option<Opens<'_>>),
    (means, time, key): (Means<'_>, &Arc<Time>, &RunKey),
    answering: &mut Sources,
) -> Result<(Looked, usize), Failure> {
    let mut reading = info_span!("source", source = source.name.as_str())
        .in_scope(|| read_files(surveyor, source, ahead, (means, key)))?;
    let sealed = set_aside(surveyor.fleet, source, &mut reading, opener, (key, time), (index, &mut answering.vaults));
    answering.libraries.of.extend(reading.library.map(|library| (index, library.within(time))));
    let stamp = reading.identity.as_ref().zip(reading.revision).map(|(identity, commit)| {
        SourceStamp::of_repository(source.name.as_str(), (identity, reading.reference.as_str()), &commit)
    });
    let looked = Looked {
        findings: reading.findings,
        identity: reading.identity.map(|identity| SourceIdentity { name: source.name.clone(), identity }),
        stamp,
        torn: reading.torn,
        kustomize: reading.kustomize,
        reading: Reading {
            documents: reading.documents,
            weighed: reading.weighed,
            sealed,
            complete: reading.complete,
            unread_words: reading.unread_words,
            root: reading.root,
            stood: BTreeSet::new(),
            inquiry: None,
            cluster: None,
            lines: reading.lines,
        },
        ..Looked::default()
    };
    Ok((looked, reading.held))
}

/// A key for the digests of this run.
fn run_key(surveyor: &Surveyor<'_>) -> Result<RunKey, Failure> {
    let mut bytes = Zeroizing::new([0; 32]);
    surveyor.session.ambient.fill(&mut *bytes)?;
    RunKey::new(&bytes).ok_or_else(|| Failure::bug("a key of 32 bytes is none for digests"))
}

/// Takes a source's sealed files out of what was read: those of a source that opens them are kept for
/// later, those of another are documents like all others.
fn set_aside(
    fleet: &Fleet,
    source: &Source,
    reading: &mut source::Reading,
    opener: Option<Opens<'_>>,
    (key, time): (&RunKey, &Arc<Time>),
    (index, vaults): (usize, &mut BTreeMap<usize, Vault>),
) -> Vec<SealedDocument> {
    let files = std::mem::take(&mut reading.sealed);
    let seen: Vec<Seen> = match opener {
        None => unopened(fleet, files).collect(),
        Some((opener, is_shared)) => {
            let texts = Texts::new(reading.library.as_ref(), key, time);
            let (vault, seen) = Vault::new(fleet, &source.name, (Arc::clone(opener), is_shared), (files, texts));
            if !vault.is_empty() {
                vaults.insert(index, vault);
            }
            seen
        }
    };
    let mut sealed = Vec::new();
    for seen in seen {
        match seen {
            Seen::Open(document, origin) => reading.documents.push((document, origin)),
            Seen::Sealed(document) => sealed.push(document),
        }
    }
    sealed
}

/// What decides, beside their states, what the sources say: who opens the encrypted files of each, by its name and each
/// recipient, and which kustomize builds.
///
/// # Errors
/// Where an identity cannot be read.
pub fn tools(surveyor: &Surveyor<'_>) -> Result<Vec<String>, Failure> {
    let mut tools = openers::opened_by(surveyor.session, surveyor.fleet, surveyor.base)?;
    let built = surveyor.fleet.sources.iter().find(|source| source.place.is_built());
    let version = built.and_then(|source| given(surveyor, source, |given| source::builder(source, given)));
    tools.extend(version.map(|version| format!("kustomize {version}")));
    Ok(tools)
}

/// The state that each source is in now, without reading any; none where not all of them are repositories that can
/// tell, or where regions are looked into: what is seen there has no state that could be compared.
pub fn states(surveyor: &Surveyor<'_>) -> Option<Vec<SourceStamp>> {
    if surveyor.looking == Looking::IntoRegions && look::regions(surveyor.fleet).next().is_some() {
        return None;
    }
    let state = |source: &Source| given(surveyor, source, |given| source::state(source, given));
    look::each(&surveyor.fleet.sources, &state).into_iter().collect()
}

/// The authors of each source's commits since the states that were `published`, as far as the histories tell. Whatever they do
/// not tell is nothing to wait for.
pub fn authors(surveyor: &Surveyor<'_>, read: &[SourceStamp], published: &[SourceStamp]) -> Vec<SourceAuthors> {
    let of = |source: &Source| {
        let now = read.iter().find(|stamp| stamp.name == source.name.as_str())?;
        let before = published.iter().find(|stamp| stamp.place == now.place && stamp.state != now.state)?;
        let names = given(surveyor, source, |given| source::authors(source, given, (now.commit()?, before.commit()?)))?;
        SourceAuthors::new(source.name.as_str(), names)
    };
    look::each(&surveyor.fleet.sources, &of).into_iter().flatten().collect()
}

/// Fetches what is read of servers, of several at a time: one that is slow holds up those alone who need it. What needs
/// more than an equal part of the room is fetched again by itself, with what the others left.
fn fetch_ahead(surveyor: &Surveyor<'_>) -> Vec<Option<Result<Fetched, SourceError>>> {
    let Surveyor { fleet, budget, session, .. } = surveyor;
    let fetch = |source: &Source, room: Room| {
        let span = info_span!("fetch", source = source.name.as_str());
        let fetch = |given: &Given<'_>| source::fetch_ahead(source, &Given { room, ..given.clone() });
        span.in_scope(|| given(surveyor, source, fetch))
    };
    let equal = budget.room(fetched_at_once(fleet));
    let mut ahead = look::each(&fleet.sources, &|source| fetch(source, equal));
    let is_wanting = |fetched: &Option<Result<Fetched, SourceError>>| {
        fetched.as_ref().is_some_and(|fetched| fetched.as_ref().is_err_and(|error| error.is_for_want_of_room))
    };
    let size = |fetched: &Option<Result<Fetched, SourceError>>| {
        let size = fetched.as_ref().and_then(|fetched| fetched.as_ref().ok()).map_or(0, Fetched::size);
        usize::try_from(size).unwrap_or(usize::MAX)
    };
    let taken = ahead.iter().map(size).fold(0, usize::saturating_add);
    let mut shares =
        Shares::new(budget.space.saturating_sub(taken), ahead.iter().filter(|fetched| is_wanting(fetched)).count());
    for index in turns(fleet) {
        let (Some(source), Some(fetched)) = (fleet.sources.get(index), ahead.get_mut(index)) else { continue };
        let room = budget.room_of(shares.next(), 1);
        if is_wanting(fetched) && room != equal && session.stop.check().is_ok() {
            *fetched = fetch(source, room);
            shares.took(size(fetched));
        }
    }
    ahead
}

/// The number of sources that are fetched.
fn fetched_at_once(fleet: &Fleet) -> usize {
    fleet.sources.iter().filter(|source| source::is_fetched(source)).count()
}

/// Does a piece of work with what reading a source depends on.
fn given<T>(surveyor: &Surveyor<'_>, source: &Source, work: impl FnOnce(&Given<'_>) -> T) -> T {
    let Surveyor { session: Session { ambient, stop, .. }, fleet, base, outputs, budget, .. } = surveyor;
    let skip_in_tree = [fleet.output.path.clone()];
    let environment = ambient.environment();
    let kept = |remote: &str| Kept::wanted(ambient, fleet, remote);
    let (idle, total) = source.git_limits(&fleet.limits.git);
    // None of it counts before anything is read.
    let time = Time::default();
    let given = Given {
        base,
        skip: outputs,
        skip_in_tree: &skip_in_tree,
        environment: &environment,
        deadlines: Deadlines::of(idle.0, total.0),
        stop: stop.flag(),
        means: Means { limits: &fleet.limits.sources, memory: budget.memory, time: &time },
        build: &fleet.limits.build,
        room: budget.room(fetched_at_once(fleet)),
        kept: &kept,
        last: surveyor.last,
        indexer: None,
    };
    work(&given)
}

fn read_files(
    surveyor: &Surveyor<'_>,
    source: &Source,
    ahead: Option<Result<Fetched, SourceError>>,
    (means, key): (Means<'_>, &RunKey),
) -> Result<source::Reading, Failure> {
    let Session { ui, stop, .. } = surveyor.session;
    let progress = ui.progress("reading", 0);
    let indexer = Indexer::new(surveyor.fleet, source, key);
    let reading = given(surveyor, source, |given| {
        source::read(source, &Given { indexer: Some(&indexer), means, ..given.clone() }, ahead)
    });
    stop.check()?;
    // What was read of a late one is none of its states.
    let reading = match means.time.is_over() {
        true => Err(SourceError::late(&source.name, means.time)),
        false => reading,
    };
    let reading = reading.or_else(|error| surveyor.unless_trusted(source, error))?;
    drop(progress);
    ui.detail(&format!(
        "source {}: {} documents, {} skipped{}",
        source.name,
        reading.objects,
        reading.skipped,
        if reading.complete && reading.unread_words.is_empty() { "" } else { ", incomplete" }
    ));
    Ok(reading)
}
