//! What groups of guest clusters deliver: whether it fits into a payload, and what is wrong with it.
//!
//! A guest is not the region: what lands in `kube-system` there is fair, and which versions it serves nobody knows here. The
//! payloads and sets land on the region, and are held to its rules.

use alloc::vec::Vec;

use super::{copied, place};
use crate::capi::resource_set::resource_set_kind;
use crate::claim::{Claim, Edit, Own, Parcel, made};
use crate::closure::Member;
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::object::Object;
use crate::world::World;
use crate::world::cluster::ClusterFacts;

/// The most bytes of one payload: the API server takes Secrets whose values have 1 MiB together.
pub const MOST_BYTES: usize = 900 << 10;

/// What stands around the entries of an object.
const AROUND: usize = 1 << 10;

/// Checks an object that goes into a payload, but for what it holds.
pub(super) fn check(world: &World<'_>, claim: &Claim, object: &Object, parcel: &Parcel) -> Vec<Finding> {
    let lands = &parcel.lands;
    let mut findings = Vec::new();
    if made(&parcel.edits).is_some() {
        findings.extend(copied::check(world, claim.acting(&object.key), object, lands));
    }
    let bytes = size(object).saturating_add(AROUND);
    if bytes > MOST_BYTES {
        let message = format!("{} takes about {bytes} bytes in a payload, and one holds {MOST_BYTES}", object.key);
        let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
        findings.push(finding.help("Divide the object."));
    }
    findings
}

/// About how many bytes an object takes as text.
pub(super) fn size(object: &Object) -> usize {
    const PER_ENTRY: usize = 8;
    if let Some(payload) = &object.payload {
        let entries = payload.entries().iter();
        let sizes = entries.map(|(name, bytes)| name.len().saturating_add(bytes.len().div_ceil(3).saturating_mul(4)));
        return sizes.fold(0_usize, |sum, size| sum.saturating_add(size).saturating_add(PER_ENTRY));
    }
    node_size(&object.body)
}

fn node_size(node: &crate::node::Node) -> usize {
    use crate::node::Node;
    const AROUND: usize = 8;
    let below = match node {
        Node::Text(text) => text.len(),
        Node::List(items) => items.iter().map(node_size).fold(0, usize::saturating_add),
        Node::Map(entries) => {
            entries.iter().map(|(key, node)| key.len().saturating_add(node_size(node))).fold(0, usize::saturating_add)
        }
        _ => 0,
    };
    below.saturating_add(AROUND)
}

/// Checks what pouch makes for guests.
pub(super) fn own(world: &World<'_>, to: &Destination<'_>, member: &Member) -> Vec<Finding> {
    let mut findings = place::check(to, &member.lands);
    let version = member.edits.iter().find_map(|edit| match edit {
        Edit::Own(own) => match &**own {
            Own::Set(_, version) => Some(version),
            Own::Namespace(_) => None,
        },
        _ => None,
    });
    let looked = world.cluster(&to.region.name).and_then(ClusterFacts::looked);
    let served = looked.and_then(|looked| looked.kinds.get(&resource_set_kind()));
    if let (Some(version), Some(served)) = (version, served)
        && !served.versions.contains(version)
    {
        let message = format!("region {} does not serve ClusterResourceSets in {version}", to.region.name);
        let finding = Finding::new(Code::VersionNotServed, message).about(&member.lands);
        findings.push(finding.help("Install or upgrade Cluster API there; what is published stays meanwhile."));
    }
    findings
}
