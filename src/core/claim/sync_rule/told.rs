//! Told: what a rule is as a whole, for who asks about it.

use alloc::vec::Vec;

use super::sources::Features;
use super::{Standing, SyncRules};
use crate::config::Fleet;
use crate::name::{Name, SourceName};
use crate::selector::Truth;
use crate::snapshot::Snapshot;
use crate::sync_rule::Rule;

/// A rule that can be followed.
pub struct Told<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The sources, and whether they have the ClusterFeatures that it asks for; none where it asks for none.
    pub sources: Vec<(&'a SourceName, Truth)>,
}

impl SyncRules {
    /// What a rule is, if a region names it and it can be followed.
    pub fn told<'a>(&'a self, fleet: &'a Fleet, snapshot: &'a Snapshot, rule: &Name) -> Option<Told<'a>> {
        let Standing::Good(rule) = self.0.get(rule)? else { return None };
        if rule.features.is_empty() {
            return Some(Told { rule, sources: Vec::new() });
        }
        let features = Features::of(fleet, snapshot);
        let answer = |source: &'a SourceName| (source, features.satisfy(rule, source).0);
        Some(Told { rule, sources: fleet.sources.iter().map(|source| answer(&source.name)).collect() })
    }
}
