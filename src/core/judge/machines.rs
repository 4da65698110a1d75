//! Machines: a Cluster keeps what it names itself, whatever its machines and failure domains name.
//!
//! A claim that stops with its machines need not stop without them. Then the objects that the Cluster names itself are
//! published, and what is published for machines stays, judged object by object.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::sharing::Heard;
use super::{Examined, judge};
use crate::claim::{self, Claim};
use crate::closure::close;
use crate::finding::Finding;
use crate::world::World;

/// Judges a claim again without its machines; `before` is what was found before it was closed.
pub(super) fn leave_out(
    world: &World<'_>,
    examined: &mut Examined,
    own: &Claim,
    before: Vec<Finding>,
    heard: &mut Heard,
) {
    let mut closure = close(world, own);
    let mut findings = before;
    findings.append(&mut closure.findings);
    findings.extend(judge(world, examined, own, &closure));
    let known: BTreeSet<&Finding> = findings.iter().collect();
    let others = heard.findings.iter().filter(|finding| finding.stops_claim() && !known.contains(finding));
    let others: Vec<Finding> = others.cloned().collect();
    findings.extend(claim::wait(others));
    (heard.closure, heard.findings) = (closure, findings);
}
