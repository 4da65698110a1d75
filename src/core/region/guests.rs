//! Guests: what is made to deliver objects to guest clusters, and what becomes of these when their payloads change.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::content::Order;
use super::envelope::Source;
use super::input::Input;
use super::published::Published;
use crate::capi::resource_set::{self, MOST_BYTES, ResourceSet, Strategy, is_resource_set};
use crate::claim::guest::OLDER;
use crate::claim::{Edit, GuestSet, Own};
use crate::finding::{Code, Finding};
use crate::layout::manifest::{Guest, Manifest, ManifestObject};
use crate::name::{Claimant, Namespace, ObjectKey, Version};
use crate::node::Node;
use crate::secret::Payload;

/// What is published for guests, by the namespace of the payload and the object in a guest.
#[derive(Default)]
pub(super) struct Before<'m>(BTreeMap<(Option<&'m Namespace>, &'m ObjectKey), Vec<&'m ManifestObject>>);

impl<'m> Before<'m> {
    pub(super) fn of(published: &'m Published) -> Self {
        let mut before = Self::default();
        for object in published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default() {
            if let Some(guest) = &object.guest {
                before.0.entry((object.key.namespace.as_ref(), &guest.key)).or_default().push(object);
            }
        }
        before
    }

    /// A Secret of another type than the one that was delivered to the same Clusters: the API server of a guest keeps the old
    /// one, and Cluster API says so in a log alone. Under another selector or by another group it is the same object there.
    pub(super) fn changed_type(
        &self,
        input: &Input<'_>,
        order: &Order,
        by: Option<&Claimant>,
        guest: &Guest,
    ) -> Option<Finding> {
        let others = self.0.get(&(order.lands.namespace.as_ref(), &guest.key)).map(Vec::as_slice).unwrap_or_default();
        let group = by.and_then(|by| input.terms.world.fleet.group_of(by));
        let meets = |before: &ManifestObject| {
            let Some(group) = group.filter(|_| before.key != order.lands) else { return before.key == order.lands };
            let mut sets = sets_of(input.published, &before.key);
            sets.any(|set| set.strategy == Strategy::Reconcile && group.clusters.selector.may_overlap(&set.selector))
        };
        let is_other = |before: &&&ManifestObject| {
            let of = before.guest.as_ref().and_then(|guest| guest.secret_type.as_ref());
            of != guest.secret_type.as_ref()
        };
        others.iter().filter(is_other).find(|before| meets(before))?;
        let message = format!(
            "the type of {} in guest clusters changes, and no API server lets it: the change would never arrive",
            guest.key
        );
        let finding = Finding::new(Code::ImmutableField, message).about(&order.read);
        let finding = match input.terms.world.snapshot.get(&order.read) {
            Some(object) => finding.at(&object.origin),
            None => finding,
        };
        Some(finding.help(match &order.read.made {
            Some(_) => "Let the template give it another name, or keep the type; until then what is published stays.",
            None => {
                "Let it land under another name, with `to` or by an override of the rule, or keep the type; until then what is \
                 published stays."
            }
        }))
    }
}

/// What takes more than a payload holds once it is written: every line of a text takes more than it did.
pub(super) fn too_large(order: &Order, made: &Source<'_>) -> Option<Finding> {
    made.guest()?;
    let secret = made.payload.iter().flat_map(Payload::entries).map(|(_, bytes)| bytes.len());
    let open = made.body.at(&["data"]).map(Node::entries).unwrap_or_default();
    let open = open.iter().filter_map(|(_, text)| text.as_str()).map(str::len);
    let bytes: usize = secret.chain(open).sum();
    if bytes <= MOST_BYTES {
        return None;
    }
    let message = format!("{} takes {bytes} bytes in a payload, and one holds {MOST_BYTES}", order.read);
    let finding = Finding::new(Code::InvalidObject, message).about(&order.read).at(&made.origin);
    Some(finding.help("Divide the object."))
}

/// Whether a published object is a set of a group.
pub(super) fn is_set(object: &ManifestObject) -> bool {
    is_resource_set(&object.key.kind) && object.needed_by.iter().any(|needed_by| needed_by.by.group().is_some())
}

/// The published sets that name a payload.
pub(super) fn sets_of<'p>(published: &'p Published, payload: &'p ObjectKey) -> impl Iterator<Item = ResourceSet> + 'p {
    let objects = published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    let sets = objects.iter().filter(move |object| is_set(object) && object.key.namespace == payload.namespace);
    let named = (payload.kind.clone(), payload.name.clone());
    sets.filter_map(move |object| {
        let set = published_set(published, &object.key)?;
        set.payloads.contains(&named).then_some(set)
    })
}

/// Lets sets of which nobody knows the version that the region has stay in the one that is published.
pub(super) fn keep_versions<'o>(published: &Published, orders: impl Iterator<Item = &'o mut Order>) {
    for order in orders {
        let Some((made, None)) = set(order) else { continue };
        let written = published.document(&order.lands);
        let written = written.as_ref().and_then(|document| document.str_at(&["apiVersion"]));
        if written.is_some_and(|written| written == order.lands.kind.api_version(&OLDER.into())) {
            order.edits = vec![Edit::Own(Arc::new(Own::Set(made.clone(), Some(OLDER.into()))))];
        }
    }
}

/// A set of a group as it is published; none if it is not as pouch writes it.
pub(super) fn published_set(published: &Published, key: &ObjectKey) -> Option<ResourceSet> {
    resource_set::read(&published.document(key)?).ok()
}

/// The set that an order makes, if it makes one.
pub(super) fn set(order: &Order) -> Option<(&GuestSet, Option<&Version>)> {
    order.edits.iter().find_map(|edit| match edit {
        Edit::Own(own) => match &**own {
            Own::Set(set, version) => Some((set, version.as_ref())),
            Own::Namespace(_) => None,
        },
        _ => None,
    })
}

/// Lets a manifest say of payloads that stay what was said of them, where nobody looked at their values.
pub(super) fn keep_hashes(manifest: &mut Manifest, published: &Published) {
    for object in &mut manifest.objects {
        let Some(guest) = object.guest.as_mut().filter(|guest| guest.sha256.is_none()) else { continue };
        let before = published.object(&object.key).and_then(|before| before.guest.as_ref());
        guest.sha256 = before.and_then(|before| before.sha256.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Parcel;
    use crate::region::envelope::Envelopes;
    use crate::testing::case::{Document, Scene};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};

    /// Each line of a text is indented in a payload, so many short ones take several times what they took.
    #[test]
    fn a_payload_is_measured_as_it_is_written() {
        let text = |lines: usize| "a\n".repeat(lines);
        let large = |lines: usize| {
            let mut map =
                yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: trust, namespace: registry}, data: {k: x}}");
            map["data"]["k"] = text(lines).into();
            let desk = Desk::new(&Scene {
                config: yaml(
                    "{guests: {pull: {region: eu, namespaces: [team-a], clusterSelector: {matchLabels: {a: b}}, \
                     objects: [{kind: ConfigMap, namespace: registry, name: trust}]}}}",
                ),
                documents: vec![Document { source: "all".into(), node: node(&map), line: 1 }],
                incomplete: vec![],
                run: yaml("{}"),
            });
            let read = ObjectKey::config_map("registry".into(), "trust".into());
            let parcel = Parcel { lands: read.clone(), edits: vec![] };
            let lands = ObjectKey::config_map("team-a".into(), "pouch-pull-90dca733-372a252ebd7e2b83".into());
            let order = Order { read, lands, edits: vec![Edit::Parcel(Arc::new(parcel))] };
            let region = desk.fleet.regions.values().next().unwrap();
            let with = Envelopes { fleet: &desk.fleet, directory: &region.directory, key: None };
            too_large(&order, &order.source(&desk.snapshot, &with).unwrap()).is_some()
        };
        assert!(!large(100_000));
        assert!(text(400_000).len() < MOST_BYTES && large(400_000));
    }
}
