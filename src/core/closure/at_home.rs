//! At home: what of a claim stands on its region already, because it was read there.
//!
//! A source may be the cluster of a region that describes its Clusters; and the management cluster may be a region.
//! There a claim may land on its own source. k0rdent never changes what is there and not its own, and neither does pouch:
//! what was read from that very place is not published, and what stands in the way of something else breaks the claim.

use super::member::{Closure, Member, Role};
use crate::claim::Claim;
use crate::finding::{Code, Finding, Severity};
use crate::k0rdent::MANAGED_LABEL;
use crate::name::ObjectKey;
use crate::object::Object;
use crate::snapshot::Lookup;
use crate::world::World;

/// Marks what is in place, and finds what is in the way.
pub(super) fn mark(world: &World<'_>, claim: &Claim, closure: &mut Closure) {
    if !world.fleet.regions.get(claim.region()).is_some_and(|region| region.management) {
        // Of most fleets no source is a region's cluster.
        if !world.fleet.sources.iter().any(|source| world.fleet.is_cluster_of(source, claim.region())) {
            return;
        }
        let read_there = |key: &ObjectKey| world.snapshot.is_only_there(world.fleet, claim.region(), key);
        for member in closure.members.iter_mut().filter(|member| member.role != Role::Assumed) {
            member.in_place = member.read == member.lands && member.edits.is_empty() && read_there(&member.read);
        }
        return;
    }
    let mut members = core::mem::take(&mut closure.members);
    for member in members.iter_mut().filter(|member| member.role != Role::Assumed) {
        let stays = member.read == member.lands && member.edits.is_empty();
        if stays {
            member.in_place = world.snapshot.is_only_at_home(&member.read);
        } else if world.fleet.publishes_for(&claim.by, claim.region(), &member.lands.kind) {
            find_occupant(world, claim, closure, member);
        }
    }
    closure.members = members;
}

/// Finds what stands where a group of guests puts what it delivers. Pouch alone gives such names, so what was not read leaves
/// nothing open.
pub(super) fn mark_delivered(world: &World<'_>, claim: &Claim, closure: &mut Closure) {
    if !world.fleet.regions.get(claim.region()).is_some_and(|region| region.management) {
        return;
    }
    let members = core::mem::take(&mut closure.members);
    for member in members.iter().filter(|member| world.fleet.publishes(&member.lands.kind)) {
        if !matches!(world.snapshot.look_up_at_home(&member.lands), Lookup::Unread(_)) {
            find_occupant(world, claim, closure, member);
        }
    }
    closure.members = members;
}

/// Finds what stands where a member lands, and neither pouch nor k0rdent put there.
///
/// A member moves only into the claimant's own namespace, so that looking there is open to the claim.
fn find_occupant(world: &World<'_>, claim: &Claim, closure: &mut Closure, member: &Member) {
    let lands = &member.lands;
    match world.snapshot.look_up_at_home(lands) {
        Lookup::Absent => {}
        Lookup::Unasked => closure.want(claim, lands),
        Lookup::Unread(unread) => closure.find(claim, unread.finding(lands).at(&claim.origin)),
        Lookup::Found(object) if !is_anothers(object) => {}
        Lookup::Found(object) => {
            let message = format!("{} would replace {lands}, which is on the management cluster already", member.read);
            let help = format!(
                "Rename or delete one of the two. To let pouch replace it, as it replaces k0rdent's own copies, set its label \
                 `{MANAGED_LABEL}: \"true\"`: whatever it holds is then lost."
            );
            closure.find(claim, Finding::new(Code::Occupied, message).about(lands).at(&object.origin).help(help));
        }
    }
}

/// Whether an object is neither k0rdent's copy nor a Secret that nobody looked at.
fn is_anothers(object: &Object) -> bool {
    let is_unseen = object.key.kind.is_secret() && object.payload.is_none() && !object.is_aside();
    !is_unseen && object.label(MANAGED_LABEL) != Some("true")
}

/// Tells of an object that the management cluster has from pouch itself.
pub(super) fn tell(world: &World<'_>, claim: &Claim, closure: &mut Closure, read: &ObjectKey) {
    let Some(origin) = world.snapshot.own_output(read) else { return };
    let (what, severity, help) = match world.snapshot.stands(read) {
        Lookup::Unread(_) | Lookup::Unasked => return,
        Lookup::Found(_) => ("another source has it", Severity::Info, "Nothing has to be done."),
        Lookup::Absent => (
            "no other source has it any more",
            Severity::Warning,
            match claim.by.is_resource_set() {
                _ if claim.by.group().is_some() => {
                    "If it went from a source by mistake, put it back there. If nobody needs it, take it out of the group. If \
                     pouch did not publish it, remove its label `app.kubernetes.io/managed-by`."
                }
                true => {
                    "If it went from a source by mistake, put it back there. If nobody needs it, take it out of the set. If \
                     pouch did not publish it, remove its label `app.kubernetes.io/managed-by`."
                }
                false => {
                    "If it went from a source by mistake, put it back there. If nobody needs it, delete the Credential. If \
                     pouch did not publish it, remove its label `app.kubernetes.io/managed-by`."
                }
            },
        ),
    };
    let message = format!("{read} on the management cluster was published by pouch and is no source; {what}");
    let finding = Finding::new(Code::OwnOutput, message).severity(severity).about(read).at(origin);
    closure.find(claim, finding.help(help));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case::{Document, Scene};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};

    /// Each is told what to do in its own words.
    #[test]
    fn of_what_a_group_names_nobody_is_told_to_delete_a_credential() {
        let config = "{sources: [{name: live, cluster: {context: hub}, provides: {namespaces: ['*'], clusterScoped: true}}], \
            regions: {mgmt: {management: true}}, guests: {pull: {region: mgmt, namespaces: [team-a], \
            clusterSelector: {matchLabels: {a: b}}, objects: [{kind: Secret, namespace: registry, name: pull}]}}}";
        let secret = "{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: registry, \
            labels: {app.kubernetes.io/managed-by: pouch}}}";
        let desk = Desk::new(&Scene {
            config: yaml(config),
            documents: vec![Document { source: "live".into(), node: node(&yaml(secret)), line: 1 }],
            incomplete: vec![],
            run: yaml("{}"),
        });
        let cases = desk.heard(&"mgmt".into());
        let told =
            cases.iter().flat_map(|case| &case.findings).find(|finding| finding.code == Code::OwnOutput).unwrap();
        assert!(told.help.contains("take it out of the group"), "{}", told.help);
    }
}
