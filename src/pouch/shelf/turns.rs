//! Turns at branches, between machines: who lost twice goes next, and others wait for him.
//!
//! All of it is courtesy: where a turn cannot be taken, seen or waited for, the run goes on, and the lease decides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::branch::turn::TurnPlace;
use super::output::Output;
use super::target::Target;
use crate::git::program::Git;
use crate::session::Session;

/// The least and the most that a run waits between two looks.
const LEAST: Duration = Duration::from_millis(200);
const MORE: Duration = Duration::from_millis(300);

/// The turns of one run.
pub(super) struct Turns<'a> {
    output: &'a Output<'a>,
    session: &'a Session,
    git: Git,
    /// For how long this run still waits for others.
    patience: Duration,
    /// What stands for the turns that it has, by repository and reference.
    held: BTreeMap<(String, String), String>,
    /// What stood for the turns of runs that did nothing for too long.
    stale: BTreeSet<String>,
}

impl<'a> Turns<'a> {
    /// Those of a run that waits for others for so long; one that does not wait takes no turn either.
    pub(super) fn new(output: &'a Output<'a>, session: &'a Session, patience: Duration) -> Self {
        let git = output.program(session);
        Self { output, session, git, patience, held: BTreeMap::new(), stale: BTreeSet::new() }
    }

    /// Waits while another run, `seen` at the reference of a place, says that it is its turn; says whether it waited.
    pub(super) fn give_way(&mut self, target: &Target, seen: Option<&str>) -> bool {
        let (Some(reference), Some(seen)) = (target.turn(), seen) else { return false };
        let is_own = self.held.get(&(target.remote.clone(), reference.clone())).is_some_and(|held| held == seen);
        if is_own || self.stale.contains(seen) || self.patience.is_zero() {
            return false;
        }
        let Self { session, git, .. } = self;
        session.ui.note(&format!("another run lost at {} and goes next; waiting for it", target.pushed()));
        let place = TurnPlace { git, remote: &target.remote, reference: &reference };
        let mut left = Duration::from_secs(self.output.fleet.limits.git.settle);
        loop {
            let more = session.ambient.part_of(MORE).unwrap_or(MORE);
            let pause = LEAST.saturating_add(more).min(self.patience);
            if session.stop.pause(pause).is_err() {
                self.patience = Duration::ZERO;
                return true;
            }
            (left, self.patience) = (left.saturating_sub(pause), self.patience.saturating_sub(pause));
            let stands = place.holder().is_ok_and(|holder| holder.as_deref() == Some(seen));
            if !stands || self.patience.is_zero() {
                return true;
            }
            if left.is_zero() {
                self.stale.insert(seen.to_owned());
                return true;
            }
        }
    }

    /// Takes the turn at a place, after others that have it.
    pub(super) fn take(&mut self, target: &Target) {
        let Some(reference) = target.turn() else { return };
        let key = (target.remote.clone(), reference.clone());
        let mut bytes = [0; 16];
        if self.patience.is_zero() || self.held.contains_key(&key) || self.session.ambient.fill(&mut bytes).is_err() {
            return;
        }
        let unique: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let seconds = self.session.ambient.now().as_second();
        let (author, _) = self.output.people(seconds, seconds);
        let git = self.git.clone();
        let place = TurnPlace { git: &git, remote: &target.remote, reference: &reference };
        let mut refused = false;
        while !refused && !self.patience.is_zero() {
            match place.holder() {
                Ok(Some(other)) if self.stale.contains(&other) => {
                    place.give_back(&other);
                    refused = place.holder().is_ok_and(|now| now == Some(other));
                }
                Ok(Some(other)) => _ = self.give_way(target, Some(&other)),
                Ok(None) => {
                    if let Ok(Some(held)) = place.take(&author, &unique) {
                        _ = self.held.insert(key, held);
                        return;
                    }
                    // Where nobody was faster, the server takes none.
                    refused = !matches!(place.holder(), Ok(Some(_)));
                }
                Err(_) => refused = true,
            }
        }
    }

    /// Gives back the turns that this run has, but for those at places where it goes on.
    pub(super) fn give_back(&mut self, goes_on: &[&Target]) {
        let goes_on = |(remote, reference): &(String, String)| {
            goes_on.iter().any(|target| target.remote == *remote && target.turn().as_ref() == Some(reference))
        };
        let (stay, go) = std::mem::take(&mut self.held).into_iter().partition(|(key, _)| goes_on(key));
        self.held = stay;
        // Also where the user asked to stop: others would wait for nothing.
        let git = self.git.clone().stopped_by(std::sync::Arc::default());
        let go: BTreeMap<(String, String), String> = go;
        for ((remote, reference), held) in go {
            TurnPlace { git: &git, remote: &remote, reference: &reference }.give_back(&held);
        }
    }
}
