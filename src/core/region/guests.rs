//! Guests: what is made to deliver objects to guest clusters, and what becomes of these when their payloads change.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::content::Order;
use super::envelope::{Source, delivering, made};
use super::handover;
use super::history::History;
use super::input::{Input, Terms};
use super::pack::{self, Pack, Packed, Wanted, standing_state};
use super::published::Published;
use crate::capi::resource_set::{self, MOST_BYTES, ResourceSet, Strategy, is_resource_set};
use crate::claim::guest::{self, OLDER, named_by};
use crate::claim::{Edit, GuestSet, Own, parcel};
use crate::closure::version_of_sets;
use crate::config::{ClusterSelector, GuestGroup, RegionState};
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::layout::manifest::{Guest, Manifest, ManifestObject, NeededBy, ObjectState, Reason};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Version};
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
        let finding = Finding::new(Code::SecretTypeChanged, message).about(&order.read);
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
    let bytes = secret.chain(open).fold(0_usize, usize::saturating_add);
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

/// Lets groups that are made anew deliver what they have: what is wanted, and what stays of it as published.
///
/// A payload that is handed over is no longer delivered: whoever needed it has another.
pub(super) fn deliver(terms: &Terms<'_>, rulings: &[Ruling<'_>], pack: &Pack, wanted: &mut Wanted) {
    let made_anew = rulings.iter().filter(|ruling| ruling.is_admitted() && ruling.case.claim.delivered().is_some());
    let made_anew = made_anew.map(|ruling| &ruling.case.claim.by).filter(|by| terms.selection.refreshes(by));
    let mut of: BTreeMap<&Claimant, BTreeMap<Name, ObjectKey>> = made_anew.map(|by| (by, BTreeMap::new())).collect();
    if of.is_empty() {
        return;
    }
    let mut add = |needed_by: &BTreeSet<NeededBy>, payload: &ObjectKey, lands: &ObjectKey| {
        for NeededBy { by, .. } in needed_by {
            let is_current = || terms.world.fleet.group_of(by).is_some_and(|group| is_of(&payload.name, &group.base()));
            if let Some(payloads) = of.get_mut(by).filter(|_| is_current()) {
                payloads.insert(payload.name.clone(), lands.clone());
            }
        }
    };
    for (lands, (order, needed_by)) in &*wanted {
        parcel(&order.edits).into_iter().for_each(|parcel| add(needed_by, lands, &parcel.lands));
    }
    for Staying { object, guest, needed_by, reason } in staying(pack) {
        if reason != Some(Reason::HandedOver) {
            add(needed_by, &object.key, &guest.key);
        }
    }
    let version = version_of_sets(&terms.world, &terms.to.region.name);
    for (by, payloads) in of {
        let Some(group) = terms.world.fleet.group_of(by) else { continue };
        let needed_by = BTreeSet::from([NeededBy::of(by, &[named_by(by)])]);
        for order in delivering(group, by.namespace(), &payloads, version.as_ref()) {
            wanted.insert(order.lands.clone(), (order, needed_by.clone()));
        }
    }
}

/// Lets stay, of what is published to deliver others, what no group makes anew and what still delivers something. A limited run
/// lets all of it stay.
pub(super) fn let_stay(
    input: &Input<'_>,
    history: &History,
    rulings: &[Ruling<'_>],
    wanted: &mut Wanted,
    pack: &mut Pack,
) {
    let manifest = input.published.manifest().filter(|_| input.terms.to.region.state != RegionState::Retired);
    let Some(manifest) = manifest else { return };
    let admitted = rulings.iter().filter(|ruling| ruling.is_admitted()).map(|ruling| &ruling.case.claim.by);
    let delivery = Delivery { input, history, manifest, admitted: admitted.collect() };
    let is_left = |object: &&ManifestObject| object.is_delivery() && !wanted.contains_key(&object.key);
    // What is delivered comes before what names it.
    let (sets, payloads): (Vec<_>, Vec<_>) = manifest.objects.iter().filter(is_left).partition(|object| is_set(object));
    for object in payloads.into_iter().chain(sets) {
        let needed_by: BTreeSet<NeededBy> = object.needed_by.iter().cloned().collect();
        if input.terms.selection.refresh.is_some() {
            let state = standing_state(input, manifest, object);
            pack::let_stay(input, pack, manifest, object, needed_by, state);
            continue;
        }
        match delivery.of(object, wanted, pack) {
            Delivers::Nothing => {}
            Delivers::Renewed(order) => _ = wanted.insert(object.key.clone(), (order, needed_by)),
            Delivers::AsPublished(reason) => {
                pack::let_stay(input, pack, manifest, object, needed_by, ObjectState::Carried(reason));
            }
        }
    }
}

/// What becomes of something published that delivers others, and that no group makes anew.
enum Delivers {
    /// It goes: nothing that it delivers is there any more.
    Nothing,
    /// It stays as published, for this reason.
    AsPublished(Reason),
    /// It is made anew with what is left of its payloads.
    Renewed(Order),
}

/// What it goes by.
struct Delivery<'d> {
    input: &'d Input<'d>,
    history: &'d History,
    manifest: &'d Manifest,
    /// The claimants that are made anew.
    admitted: BTreeSet<&'d Claimant>,
}

impl Delivery<'_> {
    fn of(&self, object: &ManifestObject, wanted: &Wanted, pack: &Pack) -> Delivers {
        let by = object.needed_by.iter().map(|needed_by| &needed_by.by).find(|by| by.group().is_some());
        let Some(by) = by else { return Delivers::Nothing };
        let group = self.input.terms.world.fleet.group_of(by).filter(|_| self.admitted.contains(by));
        // What is delivered by the selector of now is in the sets of now.
        let is_made_by = |group: &GuestGroup| object.key.name.as_str().starts_with(&*group.base());
        let is_replaced = group.is_some_and(is_made_by);
        let handed_over = || match handover::stays(self.input, self.history, self.manifest, object) {
            true => Delivers::AsPublished(Reason::HandedOver),
            false => Delivers::Nothing,
        };
        if let Some(Guest { key, .. }) = &object.guest {
            let lands_there = |it: &Staying<'_>| {
                let base = base_of(&it.object.key.name).map(|base| format!("{base}{}", guest::OF_NAMESPACES));
                it.object.key.namespace == object.key.namespace
                    && it.guest.key.namespace_text() == key.name.as_str()
                    && base.is_some_and(|base| is_of(&object.key.name, &base))
            };
            return match reason(staying(pack).filter(lands_there)) {
                None => Delivers::Nothing,
                Some(Reason::HandedOver) => handed_over(),
                Some(_) if is_replaced => handed_over(),
                Some(reason) => Delivers::AsPublished(reason),
            };
        }
        // Of a set that cannot be read, nobody knows what it names.
        let Some(set) = published_set(self.input.published, &object.key) else {
            let own = staying(pack).filter(|it| it.needed_by.iter().any(|needed_by| needed_by.by == *by));
            return reason(own).filter(|_| !is_replaced).map_or(Delivers::Nothing, Delivers::AsPublished);
        };
        let named: Vec<ObjectKey> = set.payloads.iter().map(|(kind, name)| beside(object, kind, name)).collect();
        let stays = |key: &ObjectKey| match pack.objects.get(key) {
            Some(Packed::Carried { state, .. }) => state.reason(),
            Some(Packed::Fresh { .. } | Packed::Namespace { .. }) | None => None,
        };
        let is_there =
            |key: &ObjectKey| wanted.contains_key(key) || stays(key).is_some_and(|it| it != Reason::OwnOutput);
        let stays = first_reason(named.iter().filter_map(stays)).filter(|it| *it != Reason::HandedOver && !is_replaced);
        match stays {
            None if named.iter().any(is_there) => handed_over(),
            None => Delivers::Nothing,
            Some(reason) => {
                let renewed = group.and_then(|group| self.of_what_is_left(group, &object.key, is_there));
                renewed.map_or(Delivers::AsPublished(reason), Delivers::Renewed)
            }
        }
    }

    /// What makes a published set anew with what is left of its payloads, as `is_left` tells.
    ///
    /// Cluster API skips a payload that is not there and calls the set applied, so a set names nothing that has gone.
    fn of_what_is_left(
        &self,
        group: &GuestGroup,
        key: &ObjectKey,
        is_left: impl Fn(&ObjectKey) -> bool,
    ) -> Option<Order> {
        let body = self.input.published.document(key)?;
        let set = resource_set::read(&body).ok()?;
        let (base, start) = guest::place_of(group, &key.name)?;
        let is_left = |(kind, name): &(GroupKind, Name)| {
            is_left(&ObjectKey::new(kind.clone(), key.namespace.clone(), name.clone()))
        };
        let left = set.payloads.into_iter().filter(is_left).collect();
        let renewed = GuestSet {
            name: key.name.clone(),
            base,
            start,
            clusters: ClusterSelector::read(body.at(&["spec", "clusterSelector"])?)?,
            once: set.strategy == Strategy::ApplyOnce,
            payloads: left,
        };
        let version = version_of_sets(&self.input.terms.world, &self.input.terms.to.region.name);
        Some(made(key, Own::Set(renewed, version)))
    }
}

/// A payload of an object that stays as published.
struct Staying<'p> {
    object: &'p ManifestObject,
    guest: &'p Guest,
    needed_by: &'p BTreeSet<NeededBy>,
    /// The reason for it, if it is not current.
    reason: Option<Reason>,
}

/// The payloads of objects that stay as published.
fn staying(pack: &Pack) -> impl Iterator<Item = Staying<'_>> {
    pack.objects.values().filter_map(|packed| match packed {
        Packed::Carried { object, needed_by, state } => {
            let guest = object.guest.as_ref().filter(|_| object.from.is_some())?;
            let reason = state.reason();
            (reason != Some(Reason::OwnOutput)).then_some(Staying { object, guest, needed_by, reason })
        }
        Packed::Fresh { .. } | Packed::Namespace { .. } => None,
    })
}

/// The reason for which the first of these payloads stays; one that is handed over says least.
fn reason<'p>(payloads: impl Iterator<Item = Staying<'p>>) -> Option<Reason> {
    first_reason(payloads.filter_map(|it| it.reason))
}

fn first_reason(reasons: impl Iterator<Item = Reason>) -> Option<Reason> {
    reasons.min_by_key(|reason| *reason == Reason::HandedOver)
}

/// The key of a payload that a set names.
fn beside(set: &ManifestObject, kind: &GroupKind, name: &Name) -> ObjectKey {
    ObjectKey::new(kind.clone(), set.key.namespace.clone(), name.clone())
}

/// The beginning of a payload's name.
fn base_of(payload: &Name) -> Option<&str> {
    payload.as_str().rsplit_once('-').map(|(base, _)| base)
}

fn is_of(payload: &Name, base: &str) -> bool {
    base_of(payload) == Some(base)
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
