//! How much templates may make in one run, all of them together: what is made is held until it is published.
//!
//! Where it is too much, the templates that make the most are left out, until the others fit. So a template breaks for what it
//! makes itself, and never for what is made beside it of a smaller one. What is held meanwhile is bounded too: beyond the
//! bound everything is only weighed, and what fits is made again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::claim::Claim;
use crate::finding::Finding;
use crate::name::Name;
use crate::node::{Key, Node};
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

/// Makes what a claim asks for.
pub type Make<'m> = &'m (dyn Fn(&Claim) -> Weighed + Sync);

/// What was made of some claims, in their order, within `most` bytes; of a template that makes too much, what `lost` says.
/// `run` makes it, and may do so on several threads; what it fails with ends all.
///
/// # Errors
/// With what `run` fails.
pub(super) fn within<E>(
    claims: &[&Claim],
    most: usize,
    (make, lost): (impl Fn(&Claim) -> One + Sync, impl Fn(&Claim) -> Finding + Sync),
    run: impl Fn(Make<'_>) -> Result<Vec<Weighed>, E>,
) -> Result<Vec<One>, E> {
    let held = AtomicUsize::new(0);
    let made = run(&|claim| {
        let made = make(claim);
        let weight = weight(&made);
        let before = held.fetch_add(weight, Ordering::Relaxed);
        Weighed { weight, made: (before.saturating_add(weight) <= most).then_some(made) }
    })?;
    let whole = |made: Vec<Weighed>| made.into_iter().map(|it| it.made.unwrap_or_else(|| Err(Vec::new()))).collect();
    if made.iter().all(|it| it.made.is_some()) {
        return Ok(whole(made));
    }
    let mut weights: BTreeMap<&Name, usize> = BTreeMap::new();
    for (claim, it) in claims.iter().zip(&made) {
        let weight = weights.entry(&claim.by.name).or_default();
        *weight = weight.saturating_add(it.weight);
    }
    drop(made);
    let heavy = too_heavy(&weights, most);
    let again = run(&|claim| match heavy.contains(&claim.by.name) {
        false => Weighed { weight: 0, made: Some(make(claim)) },
        true => Weighed { weight: 0, made: Some(Err(vec![lost(claim)])) },
    })?;
    Ok(whole(again))
}

/// Those that weigh the most, as many as have to go so that the others weigh no more than `most` together.
fn too_heavy<'n>(weights: &BTreeMap<&'n Name, usize>, most: usize) -> BTreeSet<&'n Name> {
    let mut sorted: Vec<(usize, &Name)> = weights.iter().map(|(name, weight)| (*weight, *name)).collect();
    sorted.sort();
    let mut sum = 0_usize;
    let fits = |(weight, _): &(usize, &Name)| {
        sum = sum.saturating_add(*weight);
        sum <= most
    };
    sorted.into_iter().skip_while(fits).map(|(_, name)| name).collect()
}

/// About how many bytes are held of what was made.
fn weight(made: &One) -> usize {
    let objects = made.as_deref().unwrap_or_default();
    let of = |object: &Object| {
        let payload = object.payload.as_ref().map(Payload::entries).unwrap_or_default();
        let payload = payload.iter().map(|(name, value)| name.len().saturating_add(value.len()).saturating_add(64));
        payload.fold(node(&object.body).saturating_add(AROUND), usize::saturating_add)
    };
    objects.iter().map(of).fold(0, usize::saturating_add)
}

fn node(it: &Node) -> usize {
    const ONE: usize = 24;
    let inner = match it {
        Node::Text(text) => text.len(),
        Node::List(items) => items.iter().map(node).fold(0, usize::saturating_add),
        Node::Map(entries) => {
            let of = |(key, value): &(Key, Node)| node(value).saturating_add(key.len()).saturating_add(ONE);
            entries.iter().map(of).fold(0, usize::saturating_add)
        }
        _ => 0,
    };
    inner.saturating_add(ONE)
}

#[cfg(test)]
mod tests;
