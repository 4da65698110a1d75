//! Asking: what closures want is asked of clusters, opened, or read again, until they want nothing more.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::closure::Closure;
use pouch_core::closure::wanted::{BySource, add_aside, wanted};
use pouch_core::config::Fleet;
use pouch_core::name::{GroupKind, ObjectKey};
use pouch_core::snapshot::{Answer, Reason, Snapshot};
use pouch_core::world::{Facts, World};

use super::shares::{Shares, turns};
use super::source::Library;
use super::source::decrypt::Vault;
use super::source::live::Live;
use super::surveyor::{Contents, Surveyor};
use super::times::Times;
use crate::error::Failure;

/// The sources that can be asked, by their numbers.
#[derive(Default)]
pub(super) struct Sources {
    /// Those that have encrypted files.
    pub(super) vaults: BTreeMap<usize, Vault>,
    /// Those that put contents aside.
    pub(super) libraries: Libraries,
}

/// The sources that put contents aside, by their numbers.
#[derive(Default)]
pub struct Libraries {
    pub(super) of: BTreeMap<usize, Library>,
    /// The bytes of memory that what is read of them at once may take.
    pub(super) memory: usize,
}

impl Libraries {
    /// Reads contents again that were put aside, and gives them to a snapshot, or to a view of one. The sources share the
    /// memory for them.
    pub fn read(&self, fleet: &Fleet, snapshot: &mut Snapshot, wanted: &BySource) {
        let mut shares = Shares::new(self.memory, wanted.len());
        for (index, keys) in turns(fleet).into_iter().filter_map(|index| wanted.get_key_value(&index)) {
            let library = self.of.get(index);
            let again = library.map(|library| library.read((fleet, snapshot, *index), keys, shares.next()));
            let (again, taken) = again.unwrap_or_default();
            shares.took(taken);
            snapshot.take_again(again);
            // Without an answer they would be asked for again and again.
            let lost = || Reason::new("its source does not give it again", "This is a bug in pouch; please report it.");
            let unanswered: Vec<_> = keys.iter().filter(|key| snapshot.is_aside(key)).collect();
            snapshot.take_again(unanswered.into_iter().map(|key| (key.clone(), Err(lost()))));
        }
    }
}

/// Asks for what the closures want, until they want nothing more. Contents that were put aside are read where no region reads
/// them by itself later.
pub(super) fn ask(
    surveyor: &Surveyor<'_>,
    clusters: &mut BTreeMap<usize, Live>,
    sources: &Sources,
    (snapshot, facts): (&mut Snapshot, &Facts),
    times: &Times,
) -> Result<(), Failure> {
    let fleet = surveyor.fleet;
    let rendered = facts.rendered(fleet);
    let mut wanting: Vec<_> = rendered.filter(|claim| surveyor.only.is_none_or(|only| claim.by == *only)).collect();
    let mut unread = BySource::new();
    loop {
        surveyor.session.stop.check()?;
        let known = |closure: &Closure| {
            if surveyor.contents == Contents::AtOnce {
                add_aside(&mut unread, snapshot, closure.unread(snapshot));
            }
        };
        let (wanted, still) = wanted(&World { fleet, snapshot, facts, now: 0 }, wanting.into_iter(), known);
        if wanted.is_empty() {
            break;
        }
        wanting = still;
        for (index, mut keys) in wanted {
            surveyor.session.stop.check()?;
            // The answer of a source before this one may have settled it.
            keys.retain(|key| snapshot.unasked(key).any(|unasked| unasked == index));
            let aside = keys.extract_if(.., |key| snapshot.aside_in(key) == Some(index)).collect();
            sources.libraries.read(fleet, snapshot, &BySource::from([(index, aside)]));
            if keys.is_empty() {
                continue;
            }
            if let Some(vault) = sources.vaults.get(&index) {
                if vault.opens() {
                    settle_copies(fleet, &sources.vaults, snapshot, (index, &keys));
                }
                let answers = vault.answer(snapshot, index, keys);
                snapshot.supply(fleet, index, answers);
                continue;
            }
            ask_cluster(surveyor, (index, clusters), keys, snapshot, times)?;
        }
    }
    sources.libraries.read(fleet, snapshot, &unread);
    // What was left unread because the run should end is no fault of a source.
    surveyor.session.stop.check()?;
    Ok(())
}

/// Asks a cluster for objects, kind by kind.
fn ask_cluster(
    surveyor: &Surveyor<'_>,
    (index, clusters): (usize, &mut BTreeMap<usize, Live>),
    keys: BTreeSet<ObjectKey>,
    snapshot: &mut Snapshot,
    times: &Times,
) -> Result<(), Failure> {
    let fleet = surveyor.fleet;
    let (Some(live), Some(source)) = (clusters.get_mut(&index), fleet.sources.get(index)) else {
        return Err(Failure::bug("a source that is no cluster was to be asked"));
    };
    let mut by_kind: BTreeMap<GroupKind, Vec<ObjectKey>> = BTreeMap::new();
    for key in keys {
        by_kind.entry(key.kind.clone()).or_default().push(key);
    }
    for (kind, keys) in by_kind {
        surveyor.session.stop.check()?;
        let timer = surveyor.session.ambient.timer();
        let count = keys.len();
        let progress = surveyor.session.ui.progress("reading", u64::try_from(count).unwrap_or_default());
        progress.say(kind.kind.as_str());
        let answers = live.ask(&kind, keys.clone(), &|| progress.step()).or_else(|error| {
            surveyor.unless_trusted(source, error.clone())?;
            let unread = |key| (key, Answer::Unread(Reason::new(&*error.message, &*error.help)));
            Ok::<_, Failure>(keys.into_iter().map(unread).collect())
        })?;
        drop(progress);
        let found =
            answers.iter().filter(|(_, answer)| matches!(answer, Answer::Found(..) | Answer::Unseen(..))).count();
        times.add(index, &kind, found, timer);
        snapshot.supply(fleet, index, answers);
    }
    Ok(())
}

/// Looks at the files that share a sealed value with one that is wanted: only its MAC tells which is the copy.
fn settle_copies(
    fleet: &Fleet,
    vaults: &BTreeMap<usize, Vault>,
    snapshot: &mut Snapshot,
    (index, keys): (usize, &BTreeSet<ObjectKey>),
) {
    let mut files: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (source, file) in snapshot.in_doubt(index, keys) {
        files.entry(source).or_default().insert(file);
    }
    let prove = |(source, files): (usize, BTreeSet<usize>)| {
        let proofs = vaults.get(&source).map(|vault| vault.prove(&files)).unwrap_or_default();
        files.into_iter().map(move |file| ((source, file), proofs.get(&file).copied().flatten()))
    };
    let proofs: BTreeMap<_, _> = files.into_iter().flat_map(prove).collect();
    if !proofs.is_empty() {
        snapshot.settle_copies(fleet, &proofs);
    }
}
