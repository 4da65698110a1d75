//! Sources: what is known of them, and that they are the ones that a bundle was rendered from.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::change::Hold;
use super::input::Input;
use crate::finding::{Code, Finding};
use crate::layout::manifest::SourceIdentity;
use crate::name::SourceName;

/// Holds for sources that are another cluster or repository than the published bundle says.
pub(super) fn changes(input: &Input<'_>) -> Vec<Hold> {
    let Some(manifest) = input.published.manifest() else { return Vec::new() };
    let region = &input.terms.to.region.name;
    let accepted =
        |identity: &str| input.terms.allowances.accept_source.contains(&(region.to_string(), identity.into()));
    let changed = |source: &&SourceIdentity| {
        manifest.sources.iter().any(|before| before.name == source.name && before.identity != source.identity)
            && !accepted(&source.identity)
    };
    input
        .terms
        .sources
        .iter()
        .filter(changed)
        .map(|source| {
            let message = format!(
                "source {} is now {}, but region {region} was rendered from another one",
                source.name, source.identity
            );
            let finding = Finding::new(Code::SourceChanged, message).in_region(region);
            Hold::fast(finding.help(format!("If this is intended, pass --accept-source {region}={}.", source.identity)))
        })
        .collect()
}

/// What is known of the sources, in the configuration's order. One that cannot be asked now is the one that it was: so
/// nothing changes while it is away, and another in its place is noticed when it is back.
pub(super) fn known(input: &Input<'_>) -> Vec<SourceIdentity> {
    let before = input.published.manifest().map(|manifest| &*manifest.sources).unwrap_or_default();
    let known = |name: &SourceName| {
        let now = input.terms.sources.iter().find(|source| source.name == *name);
        now.or_else(|| before.iter().find(|source| source.name == *name && input.terms.unidentified.contains(name)))
            .cloned()
    };
    input.terms.world.fleet.sources.iter().filter_map(|source| known(&source.name)).collect()
}
