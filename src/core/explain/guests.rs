//! Groups of guest clusters where another thing is asked about: a ClusterResourceSet that a group makes, or a
//! ResourceSyncRule or ManagedResource that a group names. None of these need be a claimant itself.

use alloc::string::String;
use alloc::vec::Vec;

use super::record::{ClaimRecord, Explanation};
use crate::claim::{Asked, Claim};
use crate::config::{Fleet, GuestGroup};
use crate::kinds;
use crate::listing::few;
use crate::name::{Claimant, Entry, ObjectKey};
use crate::object::Object;
use crate::report::summary::ObjectRecord;
use crate::snapshot::Lookup;
use crate::world::World;

/// How many groups a line names.
const MOST: usize = 16;

/// The ClusterResourceSet that a claimant of that kind is.
pub(super) fn set(by: &Claimant) -> Option<ObjectKey> {
    by.is_resource_set().then(|| kinds::claimant(by)).flatten()
}

/// A rule or template, as far as it was read; none at all where nothing has its name.
pub(super) fn known<'w>(world: &World<'w>, key: &ObjectKey) -> Option<Option<&'w Object>> {
    match world.snapshot.look_up(key) {
        Lookup::Absent => None,
        Lookup::Found(object) => Some(Some(object)),
        Lookup::Unread(_) | Lookup::Unasked => Some(world.snapshot.get(key)),
    }
}

/// Whether only groups may have something that is called like a claimant: its own closure would say nothing of that.
pub(super) fn may_have(fleet: &Fleet, by: &Claimant) -> bool {
    let mut groups = fleet.guests.values();
    let is_here = |group: &GuestGroup| group.namespaces.matches(by.namespace().as_str());
    match by {
        Claimant::ResourceSet { name, .. } => groups.any(|group| is_here(group) && group.may_name(name)),
        Claimant::Template { template, .. } => {
            let is_taken = fleet.regions.values().any(|region| region.templates.matches(template.as_str()));
            !is_taken && groups.any(|group| is_here(group) && group.templates.contains(template))
        }
        Claimant::SyncRule { rule, .. } => {
            fleet.ruled(rule.as_str()).next().is_none() && groups.any(|group| group.rules.contains(rule))
        }
        Claimant::Credential { .. } | Claimant::Cluster { .. } | Claimant::Guests { .. } | Claimant::Other { .. } => {
            false
        }
    }
}

/// Returns true for the claim of an entry which has a template rendered for this namespace, or would.
pub(super) fn names_template(claim: &Claim, by: &Claimant) -> bool {
    let is_named = by.template().is_some_and(|template| claim.by.entry().and_then(Entry::template) == Some(template));
    is_named && claim.by.namespace() == by.namespace()
}

/// The claims of entries that name a rule or template, for each of their namespaces.
pub(super) fn naming<'w>(world: &World<'w>, named: Entry) -> impl Iterator<Item = (&'w Asked, &'w Claim)> {
    let naming = world.facts.asked().iter().filter(move |asked| asked.by.entry() == Some(&named));
    naming.filter_map(|asked| Some((asked, asked.claim.as_deref()?)))
}

impl Explanation {
    /// The groups that deliver something into guest clusters as this object, if some do.
    pub fn delivered_by(&self, key: &ObjectKey) -> Option<String> {
        let named = ObjectRecord::from(key);
        let delivers = |claim: &&ClaimRecord| claim.steps.iter().any(|step| step.guest.as_ref() == Some(&named));
        let groups: Vec<String> = self.claims.iter().filter(delivers).map(|claim| claim.credential.clone()).collect();
        (!groups.is_empty()).then(|| listed(&groups))
    }
}

/// The groups as a line names them.
pub(super) fn listed(groups: &[String]) -> String {
    few(groups, groups.len(), MOST)
}

#[cfg(test)]
mod tests {
    use crate::explain::Question;
    use crate::name::Claimant;
    use crate::testing::case::fleet;
    use crate::testing::yaml;

    /// Of a live cluster, the closure of what only a group has would not be asked for.
    #[test]
    fn what_only_groups_may_have_is_no_narrow_question() {
        let config = "{sources: [{name: all, cluster: {context: x}}], \
            regions: {eu: {templates: [both], syncRules: [both]}}, \
            guests: {pull: {region: eu, namespaces: [team-a], clusterSelector: {matchLabels: {a: b}}, objects: [\
            {syncRule: own}, {syncRule: both}, {template: own}, {template: both}]}}}";
        let fleet = fleet(&yaml(config));
        for (path, is_narrow) in [
            ("clusterresourceset/team-a/pouch-pull-90dca733", false),
            ("clusterresourceset/team-b/pouch-pull-90dca733", true),
            ("clusterresourceset/team-a/theirs", true),
            ("managedresource/team-a/own", false),
            ("managedresource/team-b/own", true),
            ("managedresource/team-a/both", true),
            ("resourcesyncrule/registry/own:x", false),
            ("resourcesyncrule/registry/both:x", true),
            ("guest/team-a/pull", true),
            ("team-a/aws", true),
        ] {
            let question = Question::Claimant(Claimant::of_path(path).unwrap());
            assert_eq!(question.narrow(&fleet).is_some(), is_narrow, "{path}");
        }
    }
}
