//! Closed: what the claims of a region need, before anything of it is judged.
//!
//! A closure is complete without the contents of Secrets and ConfigMaps, which sources put aside. So it is known here what
//! is to be read again, for one region after the other.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::quota;
use crate::claim::{Asked, Claim};
use crate::closure::wanted::{self, BySource};
use crate::closure::{Closure, close};
use crate::destination::Destination;
use crate::finding::Finding;
use crate::name::Claimant;
use crate::snapshot::Snapshot;
use crate::world::World;

/// The claims of a region, each with what it needs.
pub struct Closed(pub(super) Vec<Needs>);

/// A claim, what it needs, and what was found of it before.
pub(super) struct Needs {
    pub(super) claim: Arc<Claim>,
    /// None of a claim over its quota.
    pub(super) closure: Option<Closure>,
    pub(super) findings: Vec<Finding>,
}

/// Closes those claims of one region that are meant.
///
/// Claims over the quota of their namespace are not closed: a claimant that has nothing published fails, and takes no more
/// memory than that. `published` names those that have something, and is asked only if there is too much.
pub fn closed(
    world: &World<'_>,
    to: &Destination<'_>,
    is_meant: impl Fn(&Asked) -> bool,
    published: impl FnOnce() -> BTreeSet<Claimant>,
) -> Closed {
    let too_many = quota::too_many(world, to);
    let published = if too_many.is_empty() { BTreeSet::new() } else { published() };
    let needs = |asked: &Asked| {
        let claim = asked.claim.clone()?;
        let mut findings = asked.findings.clone();
        if let Some(why) = too_many.get(&quota::whose(world, &claim)).filter(|_| !published.contains(&claim.by)) {
            findings.push(why.clone().at(&claim.origin).claimed_by(&claim.by).in_region(claim.region()));
            return Some(Needs { claim, closure: None, findings });
        }
        let closure = Some(close(world, &claim));
        Some(Needs { claim, closure, findings })
    };
    Closed(world.facts.asked_for(to).filter(|asked| is_meant(asked)).filter_map(needs).collect())
}

impl Closed {
    /// The objects whose contents were put aside and are needed, by the number of their source.
    pub fn unread(&self, snapshot: &Snapshot) -> BySource {
        let mut unread = BySource::new();
        for closure in self.0.iter().filter_map(|needs| needs.closure.as_ref()) {
            wanted::add_aside(&mut unread, snapshot, closure.unread(snapshot).chain(&closure.wanted));
        }
        unread
    }

    /// Closes those again of which more is known now, or that need a content which cannot be read.
    pub fn close_again(&mut self, world: &World<'_>) {
        let is_other = |closure: &Closure| {
            let mut members = closure.members.iter();
            !closure.wanted.is_empty() || members.any(|member| world.snapshot.is_lost(&member.read))
        };
        for Needs { claim, closure, .. } in &mut self.0 {
            if closure.as_ref().is_some_and(is_other) {
                *closure = Some(close(world, claim));
            }
        }
    }
}
