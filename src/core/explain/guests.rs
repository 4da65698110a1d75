//! Groups of guest clusters where another thing is asked about: a ClusterResourceSet that a group makes, or a
//! ResourceSyncRule or ManagedResource that a group names. None of these need be a claimant itself.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::record::{ClaimRecord, Explanation, StepRecord};
use super::{Bundle, Steps};
use crate::admission::Rule;
use crate::claim::guest::named_by;
use crate::claim::{Asked, Claim, parcel};
use crate::closure::{Closure, Member, version_of_sets};
use crate::config::{Fleet, GuestGroup};
use crate::judge::case::Verdict;
use crate::kinds;
use crate::listing::few;
use crate::name::step::shown;
use crate::name::{Claimant, ObjectKey};
use crate::object::Object;
use crate::region::content::Order;
use crate::region::envelope::delivering;
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

/// Whether a claim is that of a group which has a template rendered for this namespace, or would.
pub(super) fn names_template(fleet: &Fleet, claim: &Claim, by: &Claimant) -> bool {
    let group = fleet.group_of(&claim.by);
    let is_named = by.template().zip(group).is_some_and(|(template, group)| group.templates.contains(template));
    is_named && claim.by.namespace() == by.namespace()
}

/// What groups ask for that name something, for each of their namespaces.
pub(super) fn naming<'w>(
    world: &World<'w>,
    is_named: impl Fn(&GuestGroup) -> bool,
) -> impl Iterator<Item = (&'w Asked, &'w Claim)> {
    let (fleet, facts) = (world.fleet, world.facts);
    let guests = facts.asked().iter().filter(|asked| asked.by.group().is_some());
    let named = guests.filter(move |asked| fleet.group_of(&asked.by).is_some_and(&is_named));
    named.filter_map(|asked| Some((asked, asked.claim.as_ref()?)))
}

/// The steps to what pouch makes to deliver what a group has.
pub(super) fn made(
    world: &World<'_>,
    bundle: &Bundle<'_>,
    (claim, closure, verdict): (&Claim, &Closure, Verdict),
    steps: &Steps<'_>,
) -> Vec<StepRecord> {
    let Some(group) = world.fleet.group_of(&claim.by).filter(|_| claim.delivered().is_some()) else {
        return Vec::new();
    };
    let published = closure.members.iter().filter(|member| member.is_published());
    let payload = |member: &Member| Some((member.lands.name.clone(), parcel(&member.edits)?.lands.clone()));
    let version = version_of_sets(world, claim.region());
    let orders = delivering(group, claim.by.namespace(), &published.filter_map(payload).collect(), version.as_ref());
    let is_told = |order: &Order| match steps {
        Steps::All => true,
        Steps::To(key) => order.lands == **key,
        Steps::By(_) => false,
    };
    let step = |Order { lands, .. }: Order| {
        let state = bundle.state_for(verdict, &lands).filter(|_| bundle.has(&claim.by, &lands));
        StepRecord {
            object: ObjectRecord::from(&lands),
            lands: ObjectRecord::from(&lands),
            role: "made".into(),
            named_by: None,
            field: shown(&[named_by(&claim.by)]),
            rule: Some(Rule::OwnNamespace.word().into()),
            placement: None,
            read: "made".into(),
            place: None,
            definition: None,
            rewritten: Vec::new(),
            guest: None,
            in_place: false,
            state: state.map(Into::into),
            reason: state.and_then(|_| bundle.reason(&lands)),
            path: state.and_then(|_| bundle.objects.get(&lands)).map(|object| object.path.to_string()),
        }
    };
    orders.into_iter().filter(is_told).map(step).collect()
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
