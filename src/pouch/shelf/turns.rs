//! Turns at branches, between machines: who lost twice goes next, and others wait for him.
//!
//! All of it is courtesy: where a turn cannot be taken, seen or waited for, the run goes on, and the lease decides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pouch_core::hash::digits;

use super::branch::turn::TurnPlace;
use super::output::Output;
use super::target::Target;
use crate::git::program::Git;
use crate::session::Session;

/// The least and the most that a run waits between two looks.
const LEAST: Duration = Duration::from_millis(200);
const MORE: Duration = Duration::from_millis(300);

/// For how many runs that do nothing a run waits at most.
const MOST: u32 = 4;

/// The turns of one run.
pub(super) struct Turns<'a> {
    output: &'a Output<'a>,
    session: &'a Session,
    git: Git,
    /// For how long this run waits for others in all, by the clock and with all that it asks meanwhile.
    patience: Duration,
    /// How long it did.
    waited: Duration,
    /// What stands for the turns that it has, by repository and reference.
    held: BTreeMap<(String, String), String>,
    /// What stood for the turns of runs that did nothing for too long.
    stale: BTreeSet<String>,
}

impl<'a> Turns<'a> {
    /// Those of a run that waits for others for so long at most, and never for longer than for a few of them; one that does
    /// not wait takes no turn either.
    pub(super) fn new(output: &'a Output<'a>, session: &'a Session, wait: Duration) -> Self {
        let git = output.program(session);
        let settle = Duration::from_secs(output.fleet.limits.git.settle.0);
        let (patience, waited) = (wait.min(settle.saturating_mul(MOST)), Duration::ZERO);
        Self { output, session, git, patience, waited, held: BTreeMap::new(), stale: BTreeSet::new() }
    }

    fn is_impatient(&self) -> bool {
        self.waited >= self.patience
    }

    /// Does something that counts as waiting.
    pub(super) fn waiting<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let timer = self.session.ambient.timer();
        let before = self.waited;
        let done = work(self);
        self.waited = before.saturating_add(timer.elapsed());
        done
    }

    /// Waits while another run, `seen` at the reference of a place, says that it is its turn; says whether it waited. One
    /// that does nothing for too long loses its turn.
    pub(super) fn give_way(&mut self, target: &Target, seen: Option<&str>) -> bool {
        let (Some(reference), Some(seen)) = (target.turn(), seen) else { return false };
        let is_own = self.held.get(&(target.remote.clone(), reference.clone())).is_some_and(|held| held == seen);
        if is_own || self.stale.contains(seen) || self.is_impatient() {
            return false;
        }
        let git = self.git.clone();
        let place = TurnPlace { git: &git, remote: &target.remote, reference: &reference };
        if !self.waiting(|_| place.is_turn(seen)) {
            self.stale.insert(seen.to_owned());
            return false;
        }
        self.session.ui.note(&format!("another run lost at {} and goes next; waiting for it", target.pushed()));
        self.waiting(|this| this.wait_out((target, &reference), seen));
        true
    }

    fn wait_out(&mut self, (target, reference): (&Target, &str), seen: &str) {
        let Self { session, git, .. } = self;
        let place = TurnPlace { git, remote: &target.remote, reference };
        let settle = Duration::from_secs(self.output.fleet.limits.git.settle.0);
        let timer = session.ambient.timer();
        loop {
            let more = session.ambient.part_of(MORE).unwrap_or(MORE);
            let left = self.patience.saturating_sub(self.waited).saturating_sub(timer.elapsed());
            if session.stop.pause(LEAST.saturating_add(more).min(left)).is_err() {
                self.patience = Duration::ZERO;
                return;
            }
            if !place.holder().is_ok_and(|holder| holder.as_deref() == Some(seen)) {
                return;
            }
            if timer.elapsed() >= settle {
                place.give_back(seen);
                self.stale.insert(seen.to_owned());
                return;
            }
            if self.waited.saturating_add(timer.elapsed()) >= self.patience {
                return;
            }
        }
    }

    /// Takes the turn at a place, after others that have it.
    pub(super) fn take(&mut self, target: &Target) {
        let Some(reference) = target.turn() else { return };
        let key = (target.remote.clone(), reference.clone());
        let mut bytes = [0; 16];
        if self.is_impatient() || self.held.contains_key(&key) || self.session.ambient.fill(&mut bytes).is_err() {
            return;
        }
        let unique: String = digits(&bytes).collect();
        let seconds = self.session.ambient.now().as_second();
        let (author, _) = self.output.people(seconds, seconds);
        let git = self.git.clone();
        let place = TurnPlace { git: &git, remote: &target.remote, reference: &reference };
        let taken = self.waiting(|this| {
            let timer = this.session.ambient.timer();
            while this.waited.saturating_add(timer.elapsed()) < this.patience {
                match place.holder() {
                    // Nobody may take it back from a run that did nothing, where that failed.
                    Ok(Some(other)) if this.stale.contains(&other) => return None,
                    Ok(Some(other)) => _ = this.give_way(target, Some(&other)),
                    Ok(None) => match place.take(&author, &unique) {
                        Ok(Some(held)) => return Some(held),
                        // Where nobody was faster, the server takes none.
                        _ if !matches!(place.holder(), Ok(Some(_))) => return None,
                        _ => {}
                    },
                    Err(_) => return None,
                }
            }
            None
        });
        if let Some(held) = taken {
            self.held.insert(key, held);
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
