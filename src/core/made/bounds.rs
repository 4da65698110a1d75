//! How much templates may make in one run, all of them together: what is made is held until it is published.
//!
//! Where it is too much, each region has a share, and in those that want more than theirs the templates that make the most are
//! left out, until the others fit. So a template breaks for what it makes itself, never for what is made beside it of a
//! smaller one, and never for what another region has for namespaces. What is held meanwhile is bounded too: beyond the
//! bound everything is only weighed, and what fits is made again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::claim::Claim;
use crate::finding::Finding;
use crate::name::{Name, Region};
use crate::node::Node;
use crate::object::Object;
use crate::secret::Payload;

/// The most that all templates make in one run, in bytes as they are held.
pub const MOST: usize = 512 << 20;

/// What stands for an object beside its content, in bytes.
const AROUND: usize = 512;

/// What is made of one template for one namespace.
pub type One = Result<Vec<Object>, Vec<Finding>>;

/// What was made of a claim, unless it was only weighed.
pub struct Weighed {
    weight: usize,
    made: Option<One>,
}

/// Makes what some claims ask for, in their order; it is less work where those of one template come in a row.
pub type Make<'m> = &'m (dyn Fn(&[&Claim]) -> Vec<Weighed> + Sync);

/// What was made of some claims, in their order, within `most` bytes; of a template that makes too much, what `lost` says.
/// `run` makes it, and may do so on several threads; what it fails with ends all. `make` is given what it kept of the claim
/// before.
///
/// # Errors
/// With what `run` fails.
pub(super) fn within<K: Default, E>(
    claims: &[&Claim],
    most: usize,
    (make, lost): (impl Fn(&mut K, &Claim) -> One + Sync, impl Fn(&Claim) -> Finding + Sync),
    run: impl Fn(Make<'_>) -> Result<Vec<Weighed>, E>,
) -> Result<Vec<One>, E> {
    let held = AtomicUsize::new(0);
    let weighed = |kept: &mut K, claim: &Claim| {
        let made = make(kept, claim);
        let weight = weight(&made);
        let before = held.fetch_add(weight, Ordering::Relaxed);
        Weighed { weight, made: (before + weight <= most).then_some(made) }
    };
    let made = run(&|claims| {
        let mut kept = K::default();
        claims.iter().map(|claim| weighed(&mut kept, claim)).collect()
    })?;
    let whole = |made: Vec<Weighed>| made.into_iter().map(|it| it.made.unwrap_or_else(|| Err(Vec::new()))).collect();
    if made.iter().all(|it| it.made.is_some()) {
        return Ok(whole(made));
    }
    let mut weights = Weights::new();
    for (claim, it) in claims.iter().zip(&made) {
        let weight = weights.entry(claim.region()).or_default().entry(kind_of(claim)).or_default();
        *weight += it.weight;
    }
    drop(made);
    let heavy = too_heavy(&weights, most);
    let again = run(&|claims| {
        let mut kept = K::default();
        let one = |claim: &&Claim| match heavy.contains(&(claim.region(), kind_of(claim))) {
            false => Weighed { weight: 0, made: Some(make(&mut kept, claim)) },
            true => Weighed { weight: 0, made: Some(Err(vec![lost(claim)])) },
        };
        claims.iter().map(one).collect()
    })?;
    Ok(whole(again))
}

/// How much each template makes for each region.
type Weights<'n> = BTreeMap<&'n Region, BTreeMap<Kind<'n>, usize>>;

/// A template, and whether it is for guest clusters: who writes Clusters has no say in what the namespaces of a region get.
type Kind<'n> = (Option<&'n Name>, bool);

fn kind_of(claim: &Claim) -> Kind<'_> {
    (claim.by.template(), claim.is_for_guests())
}

/// Those that have to go so that the others weigh no more than `most` together: regions that want less than an equal share
/// leave the rest to the others, and in each the ones that weigh the most go.
fn too_heavy<'n>(weights: &Weights<'n>, most: usize) -> BTreeSet<(&'n Region, Kind<'n>)> {
    let all = |of: &BTreeMap<Kind<'_>, usize>| of.values().sum::<usize>();
    let mut regions: Vec<_> = weights.iter().map(|(region, of)| (all(of), *region, of)).collect();
    regions.sort_by_key(|(weight, region, _)| (*weight, *region));
    let mut left = most;
    let mut heavy = BTreeSet::new();
    for (waiting, (_, region, of)) in (1..=regions.len()).rev().zip(regions) {
        let share = left.checked_div(waiting).unwrap_or_default();
        let mut sorted: Vec<(usize, Kind<'_>)> = of.iter().map(|(name, weight)| (*weight, *name)).collect();
        // What is for guests goes first.
        sorted.sort_by_key(|(weight, (name, in_guests))| (*in_guests, *weight, *name));
        let mut kept = 0_usize;
        for (weight, name) in sorted {
            match kept.checked_add(weight).filter(|sum| *sum <= share) {
                Some(sum) => kept = sum,
                None => _ = heavy.insert((region, name)),
            }
        }
        left = left.saturating_sub(kept);
    }
    heavy
}

/// About how many bytes are held of what was made, or of what is told of it.
fn weight(made: &One) -> usize {
    match made {
        Ok(objects) => objects.iter().map(object).sum(),
        Err(findings) => findings.iter().map(|it| said(&it.message, &it.help)).sum(),
    }
}

fn said(message: &str, help: &str) -> usize {
    AROUND + message.len() + help.len()
}

fn object(object: &Object) -> usize {
    const PAIR: usize = 64;
    let payload = object.payload.as_ref().map(Payload::entries).unwrap_or_default();
    let payload = payload.iter().map(|(name, value)| PAIR + name.len() + value.len());
    let pairs = object.labels.iter().chain(&object.annotations);
    let pairs = pairs.map(|(key, value)| PAIR + key.len() + value.len());
    let faults = object.faults.iter().map(|fault| said(&fault.message, &fault.help));
    let matched = object.matched.iter().flat_map(|matched| [node(&matched.labels), node(&matched.annotations)]);
    let silence = object.silence.iter().map(|silence| silence.len());
    let all = payload.chain(pairs).chain(faults).chain(matched).chain(silence);
    all.sum::<usize>() + node(&object.body) + AROUND
}

fn node(it: &Node) -> usize {
    const ONE: usize = 24;
    let size = it.size();
    size.keys + size.texts + (size.nodes + size.entries) * ONE
}

#[cfg(test)]
mod tests;
