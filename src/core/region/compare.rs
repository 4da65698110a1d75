//! Compare: a pack against the published tree, by object and entry, and what the brake makes of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::brake::{self, Account, Braked, Load, Share, added_recipients};
use super::change::{Action, Change, Hold, Loss, Reason, Sealing, Sharing, Values};
use super::delivered::{Delivered, Left};
use super::fields::differences;
use super::guests;
use super::history::{History, Past, filled_entries};
use super::input::Input;
use super::pack::{Keep, Pack, Packed, keepers};
use super::published::{State, document};
use super::sealing::{Sealed, sealed, will_have};
use super::unsigned::{self, Evidence};
use super::values;
use crate::claim::made;
use crate::closure::Member;
use crate::config::{Limits, RegionState};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::judge::case::Ruling;
use crate::judge::region::immutable_changes;
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::name::holder::Holder;
use crate::name::{Claimant, Namespace, ObjectKey, SourceName};

/// Breaks claims whose objects differ from the published ones where they must not, or are not read back by consumers.
pub(super) fn break_immutable(input: &Input<'_>, rulings: &mut [Ruling<'_>], pack: &Pack) -> bool {
    let mut broken: Vec<(&ObjectKey, &ObjectKey, Finding)> = Vec::new();
    let is_of_guests = |packed: &Packed| matches!(packed, Packed::Fresh { guest: Some(_), .. });
    let delivers = pack.objects.values().any(is_of_guests);
    let before = if delivers { guests::Before::of(input.published) } else { guests::Before::default() };
    for (lands, packed) in &pack.objects {
        if let Packed::Fresh { guest: Some(guest), order, needed_by, .. } = packed {
            let by = needed_by.first().map(|needed_by| &needed_by.by);
            let changed = before.changed_type(input, (order, by), guest);
            broken.extend(changed.map(|finding| (lands, &order.read, finding)));
        }
        if let (Packed::Fresh { order, .. }, Some(trouble)) = (packed, pack.unreadable.get(lands)) {
            let message = format!("{lands} holds {trouble}, which kustomize cannot read back");
            let finding = Finding::new(Code::InvalidObject, message).about(lands);
            let origin = input.world.snapshot.get(&order.read).map(|object| &object.origin);
            let finding = origin.map_or(finding.clone(), |origin| finding.at(origin));
            broken.push((lands, &order.read, finding.help(trouble.cure())));
            continue;
        }
        let Packed::Fresh { order, keep: Keep::Changed, .. } = packed else { continue };
        let Some(new) = order.source(input.world.snapshot, &input.envelopes()) else { continue };
        if let Some(finding) = guests::too_large(order, &new) {
            broken.push((lands, &order.read, finding));
            continue;
        }
        let Some(document) = input.published.document(lands) else { continue };
        let made = made(&order.edits).filter(|_| !lands.kind.is_secret()).map(|made| made.object(&new, lands));
        let new = made.as_ref().unwrap_or(&new);
        broken.extend(immutable_changes(lands, &document, new).map(|finding| (lands, &order.read, finding)));
    }
    let mut any = false;
    for ruling in rulings.iter_mut().filter(|ruling| ruling.is_admitted()) {
        for (lands, read, finding) in &broken {
            let closure = &ruling.case.closure;
            let here = || closure.members.iter().chain(&closure.contested).filter(|member| member.lands == **lands);
            // Several may want one place: it is about the one that has it.
            match here().find(|member| member.read == **read).or_else(|| here().next()) {
                None => {}
                // Who owns one object that a rule takes keeps nothing from the others.
                Some(Member { read, rule: Some(_), .. }) => any |= ruling.let_wait(read, finding),
                Some(_) => {
                    ruling.find(finding.clone());
                    any = true;
                }
            }
        }
    }
    any
}

/// What changes, by object and entry.
pub(super) fn compare(input: &Input<'_>, pack: &Pack) -> Vec<Change> {
    let mut changes = Vec::new();
    let claimed = input.published.claimed().into_iter().flat_map(|manifest| &*manifest.objects);
    let claimed: BTreeMap<&ObjectKey, &ManifestObject> = claimed.map(|object| (&object.key, object)).collect();
    for (lands, packed) in &pack.objects {
        let (text, claimants) = match packed {
            Packed::Carried { .. }
            | Packed::Fresh { keep: Keep::Kept | Keep::Retagged(_), .. }
            | Packed::Namespace { keep: Keep::Kept, .. } => continue,
            Packed::Fresh { text, needed_by, .. } => (text, claimants(needed_by)),
            Packed::Namespace { text, .. } => (text, Vec::new()),
        };
        let action = match (input.published.object(lands), packed) {
            (None, _) => match unvouched(input, claimed.get(lands).copied(), text.as_bytes()) {
                Some(action) => action,
                None => continue,
            },
            (Some(_), Packed::Fresh { order, keep, .. }) if lands.kind.is_secret() => {
                let Sealed { action, lost_entries, entries, fields, sealing } =
                    sealed(input, order, *keep == Keep::Resealed);
                let (key, sealing, guest) = (lands.clone(), Some(sealing), guest_of(packed));
                let change =
                    Change { lost_entries, entries, fields, sealing, guest, ..Change::of(&key, action, claimants) };
                changes.push(change);
                continue;
            }
            (Some(_), _) => Action::Changed,
        };
        let fields = match action {
            Action::Changed => {
                let (before, after) = (input.published.document(lands), document(text.as_bytes()));
                before.zip(after).map(|(before, after)| differences(&before, &after)).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        // Of what nobody vouches for, nothing is compared.
        let asked = input.rekeys().then_some(Reason::Asked);
        let reasons = || asked.into_iter().chain([Reason::Unvouched]).collect();
        let sealing = (action == Action::Resealed).then(|| Sealing { values: Values::Unknown, reasons: reasons() });
        let guest = guest_of(packed);
        changes.push(Change { fields, sealing, guest, ..Change::of(lands, action, claimants) });
    }
    let removed = |key: &ObjectKey, claimants| Change::of(key, Action::Withdrawn, claimants);
    match input.published.manifest() {
        Some(manifest) => {
            let gone: Vec<&ManifestObject> =
                manifest.objects.iter().filter(|object| !pack.objects.contains_key(&object.key)).collect();
            let is_of_guests = gone.iter().any(|object| object.guest.is_some());
            let delivered = is_of_guests.then(|| Delivered::of(input, pack));
            changes.extend(gone.into_iter().map(|object| {
                let change = removed(&object.key, claimants(&object.needed_by));
                let Some((delivered, guest)) = delivered.as_ref().zip(object.guest.as_ref()) else { return change };
                match delivered.left(input.published, &object.key, &guest.key) {
                    // What another payload delivers does not just stay there.
                    Left::Delivered => change,
                    left => Change { guest: Some(guest.key.clone()), elsewhere: left == Left::ToSome, ..change },
                }
            }));
        }
        None => {
            let gone = evidence(input).map(|evidence| evidence.gone(input.to.directory(), pack.objects.keys()));
            changes.extend(gone.unwrap_or_default().iter().map(|key| removed(key, Vec::new())));
        }
    }
    changes.sort();
    changes
}

/// What a payload is in guest clusters.
fn guest_of(packed: &Packed) -> Option<ObjectKey> {
    match packed {
        Packed::Fresh { guest, .. } => guest.as_ref().map(|guest| guest.key.clone()),
        Packed::Carried { .. } | Packed::Namespace { .. } => None,
    }
}

/// The claimants that need an object, each once.
fn claimants<'n>(needed_by: impl IntoIterator<Item = &'n NeededBy>) -> Vec<Claimant> {
    let mut claimants: Vec<Claimant> = needed_by.into_iter().map(|needed_by| needed_by.by.clone()).collect();
    claimants.dedup();
    claimants
}

/// What an unsigned region seems to have published; none for any other region.
fn evidence(input: &Input<'_>) -> Option<Evidence> {
    matches!(input.published.state, State::Unsigned).then(|| Evidence::of(input.published, input.to.directory()))
}

/// What becomes of an object that no reuse key vouches for, by what the bundle says of it; none if the published text is
/// the same.
///
/// This is only reported, and decides nothing.
fn unvouched(input: &Input<'_>, told: Option<&ManifestObject>, text: &[u8]) -> Option<Action> {
    let stands = told.and_then(|object| Some((object, input.published.files.get(object.path.as_str())?)));
    match stands {
        None => Some(Action::Added),
        Some((object, _)) if object.key.kind.is_secret() => Some(Action::Resealed),
        Some((_, bytes)) => (bytes.as_slice() != text).then_some(Action::Changed),
    }
}

/// How many entries, of Secrets that a namespace had at a baseline and keeps, went before this run: what is lost now is
/// counted apart, and what comes back is not lost.
fn entries_before(input: &Input<'_>, pack: &Pack, past: &Past, keys: impl Iterator<Item = ObjectKey>) -> usize {
    let lost = |key: ObjectKey| {
        let published = || input.published.document(&key).map(|document| filled_entries(&document)).unwrap_or_default();
        let gone = past.lost_entries(&key, published);
        match pack.objects.get(&key) {
            Some(Packed::Fresh { order, .. }) if !gone.is_empty() => gone.difference(&will_have(input, order)).count(),
            _ => gone.len(),
        }
    };
    keys.map(lost).fold(0_usize, usize::saturating_add)
}

/// The objects that stay and that others need than before; `changes` names those that are told of anyway.
pub(super) fn sharings(input: &Input<'_>, manifest: &Manifest, changes: &[Change]) -> Vec<Sharing> {
    let told: BTreeSet<&ObjectKey> =
        changes.iter().filter(|change| change.action != Action::Withdrawn).map(|change| &change.key).collect();
    let sharing = |now: &ManifestObject| {
        let before = &input.published.object(&now.key)?.needed_by;
        if *before == now.needed_by {
            return None;
        }
        let only = |these: &[NeededBy], those: &[NeededBy]| {
            let mut only = claimants(these);
            only.retain(|claimant| !those.iter().any(|needed_by| needed_by.by == *claimant));
            only
        };
        let joined = if told.contains(&now.key) { Vec::new() } else { only(&now.needed_by, before) };
        let sharing = Sharing { key: now.key.clone(), joined, left: only(before, &now.needed_by) };
        (!sharing.joined.is_empty() || !sharing.left.is_empty()).then_some(sharing)
    };
    manifest.objects.iter().filter_map(sharing).collect()
}

/// Whether a claimant needs an object no longer that it has published, or a Secret loses an entry.
pub(super) fn is_anything_lost(input: &Input<'_>, pack: &Pack, changes: &[Change]) -> bool {
    let is_needed = |key: &ObjectKey, before: &NeededBy| {
        pack.objects.get(key).is_some_and(|packed| keepers(packed).any(|now| now.by == before.by))
    };
    let published = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    changes.iter().any(|change| change.action == Action::Withdrawn || !change.lost_entries.is_empty())
        || kept_by_somebody(published)
            .any(|object| object.needed_by.iter().any(|before| !is_needed(&object.key, before)))
}

/// What each holder loses, against what he has published and had at the baseline.
///
/// An object counts for every holder that needed it and needs it no longer, whoever else still does: so nobody's budget
/// depends on what others claim.
fn accounts(input: &Input<'_>, pack: &Pack, changes: &[Change], history: &History) -> Vec<Account> {
    let Some(manifest) = input.published.manifest() else { return Vec::new() };
    if !is_anything_lost(input, pack, changes) {
        return Vec::new();
    }
    let system = &input.world.fleet.system_namespace;
    let mut new = Needs::new(system);
    for (key, packed) in &pack.objects {
        keepers(packed).for_each(|by| new.add(key, by));
    }
    let old = Needs::of(manifest, system);
    let nothing = (BTreeSet::new(), BTreeSet::new());
    let mut baselines: BTreeMap<*const Manifest, Needs<'_>> = BTreeMap::new();
    let mut accounts = Vec::new();
    for (whose, (objects, claimants)) in &old.of {
        let namespace = &whose.namespace;
        let (left, remaining) = new.of.get(whose).unwrap_or(&nothing);
        let sha256 = |key: &ObjectKey| input.published.sha256(key).unwrap_or_default();
        let loss = |key: &ObjectKey, entry| Loss { key: key.clone(), entry, sha256: sha256(key) };
        // What no consumer reads is no loss.
        let gone = objects.difference(left).filter(|key| !pack.dropped.contains(**key));
        let mut losses: Vec<Loss> = gone.map(|key| loss(key, None)).collect();
        for change in changes.iter().filter(|change| left.contains(&change.key) && objects.contains(&change.key)) {
            losses.extend(change.lost_entries.iter().map(|entry| loss(&change.key, Some(entry.clone()))));
        }
        if losses.is_empty() {
            continue;
        }
        losses.sort();
        let losing = losing(input, whose, &losses);
        let past = history.baseline(&input.to.region.name, Some(namespace));
        let baseline = past.map_or(manifest, |past| &past.manifest);
        let then = baselines.entry(core::ptr::from_ref(baseline)).or_insert_with(|| Needs::of(baseline, system));
        let (before, claimed) = then.of.get(whose).unwrap_or(&nothing);
        let gone = before.iter().filter(|key| !objects.contains(*key));
        let stay = before.iter().copied().filter(|key| objects.contains(*key) && left.contains(*key));
        let entries = past.map_or(0, |past| entries_before(input, pack, past, stay.cloned()));
        // Where nothing is left of what others bring there either, all of them count.
        let is_emptied = new.of_namespace(namespace).next().is_none()
            && then.of_namespace(namespace).chain(old.of_namespace(namespace)).collect::<BTreeSet<_>>().len() > 1;
        accounts.push(Account {
            whose: Some(whose.clone()),
            source: input.world.fleet.own_source(namespace).cloned(),
            lost_before: gone.clone().filter(|key| !left.contains(*key)).count().saturating_add(entries),
            objects: objects.len().saturating_add(gone.count()),
            loses_all: (remaining.is_empty() && claimed.union(claimants).count() > 1) || is_emptied,
            losses,
            losing,
        });
    }
    accounts
}

/// The claimants of a holder that needed what he loses.
fn losing(input: &Input<'_>, whose: &Holder, losses: &[Loss]) -> Vec<Claimant> {
    let object = |loss: &Loss| input.published.object(&loss.key);
    let claimants =
        losses.iter().filter_map(object).flat_map(|object| &object.needed_by).map(|needed_by| &needed_by.by);
    let losing: BTreeSet<&Claimant> = claimants.filter(|by| input.whose(by) == *whose).collect();
    losing.into_iter().cloned().collect()
}

/// The objects and claimants of each holder, Namespaces not counted.
struct Needs<'n> {
    system: &'n Namespace,
    of: BTreeMap<Holder, (BTreeSet<&'n ObjectKey>, BTreeSet<&'n Claimant>)>,
}

impl<'n> Needs<'n> {
    fn new(system: &'n Namespace) -> Self {
        Self { system, of: BTreeMap::new() }
    }

    fn of(manifest: &'n Manifest, system: &'n Namespace) -> Self {
        let mut needs = Self::new(system);
        for object in kept_by_somebody(&manifest.objects) {
            object.needed_by.iter().for_each(|by| needs.add(&object.key, by));
        }
        needs
    }

    fn add(&mut self, key: &'n ObjectKey, by: &'n NeededBy) {
        let (objects, claimants) = self.of.entry(Holder::of(&by.by, self.system)).or_default();
        objects.insert(key);
        claimants.insert(&by.by);
    }

    /// The claimants of a namespace, whatever brought them there.
    fn of_namespace(&self, namespace: &Namespace) -> impl Iterator<Item = &'n Claimant> {
        let all = self.of.range(Holder::own(namespace.clone())..);
        let theirs = all.take_while(|(whose, _)| whose.namespace == *namespace);
        theirs.flat_map(|(_, (_, claimants))| claimants.iter().copied())
    }
}

/// The objects that count as what somebody has. What is handed over was counted as lost when that began.
fn kept_by_somebody(objects: &[ManifestObject]) -> impl Iterator<Item = &ManifestObject> {
    objects.iter().filter(|object| !object.state.is_handover())
}

/// What would go of a region that nobody vouches for: all in one account.
fn unvouched_account(input: &Input<'_>, evidence: &Evidence, changes: &[Change]) -> Account {
    let file = |key: &ObjectKey| input.published.files.get(evidence.file(key)?.as_str());
    let loss = |key: &ObjectKey| Loss {
        key: key.clone(),
        entry: None,
        sha256: file(key).map(|bytes| sha256_hex(bytes)).unwrap_or_default(),
    };
    let removed = changes.iter().filter(|change| change.action == Action::Withdrawn && !change.key.kind.is_namespace());
    let objects = evidence.keys().filter(|key| !key.kind.is_namespace()).count();
    Account { objects, losses: removed.map(|change| loss(&change.key)).collect(), ..Account::default() }
}

/// What the namespaces of each source have published; nothing if no source is a tenant's own.
fn shares(input: &Input<'_>, pack: &Pack, accounts: &[Account]) -> Vec<Share> {
    let fleet = &input.world.fleet;
    if accounts.is_empty() || fleet.sources.iter().all(|source| source.provides.cluster_scoped) {
        return Vec::new();
    }
    let mut shares: BTreeMap<(Option<&SourceName>, bool), Share> = BTreeMap::new();
    let mut count = |claimants: &mut dyn Iterator<Item = (&NeededBy, bool)>, add: fn(&mut Share)| {
        let of = |(by, guests): (&NeededBy, bool)| (fleet.own_source(by.by.namespace()), guests);
        let sources: BTreeSet<(Option<&SourceName>, bool)> = claimants.map(of).collect();
        for (source, guests) in sources {
            let share = || Share { source: source.cloned(), guests, ..Share::default() };
            add(shares.entry((source, guests)).or_insert_with(share));
        }
    };
    for object in input.published.manifest().iter().flat_map(|manifest| kept_by_somebody(&manifest.objects)) {
        let by = &mut object.needed_by.iter().map(|by| (by, by.by.group().is_some()));
        count(by, |share| share.objects = share.objects.saturating_add(1));
    }
    for (_, packed) in pack.objects.iter().filter(|(key, _)| !key.kind.is_config_map()) {
        // What guests get is left to the namespace of their Clusters, too.
        count(&mut keepers(packed).map(|by| (by, false)), |share| share.left = share.left.saturating_add(1));
    }
    for account in accounts {
        if let Some(share) = shares.get_mut(&(account.source.as_ref(), account.is_guests())) {
            share.objects = share.objects.saturating_add(account.lost_before);
        }
    }
    shares.into_values().collect()
}

/// What the brake says of the region.
pub(super) fn hold(input: &Input<'_>, pack: &Pack, changes: &[Change], history: &History) -> Braked {
    let region = input.to.region;
    // If the key that vouched for the objects is lost, `rekey` still counts what stands there: that can hold a region,
    // and lets nothing through. Whoever adopts a region asked for neither.
    let counted = evidence(input).filter(|_| input.rekeys());
    let (accounts, added) = match (input.published.manifest(), &counted) {
        (Some(before), _) => {
            (accounts(input, pack, changes, history), added_recipients(&before.recipients, &region.recipients))
        }
        (None, Some(evidence)) => {
            let account = unvouched_account(input, evidence, changes);
            ([account].into(), unsigned::added_recipients(input.published, region))
        }
        (None, None) => (Vec::new(), Vec::new()),
    };
    let retired = region.state == RegionState::Retired;
    let published = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    let published = kept_by_somebody(published).filter(|object| !object.key.kind.is_namespace()).count();
    let before: usize = accounts.iter().map(|account| account.lost_before).sum();
    let line = |key: &ObjectKey| brake::line(key, &input.published.sha256(key).unwrap_or_default());
    let unasked: Vec<String> = pack.unasked.iter().map(line).collect();
    let shares = shares(input, pack, &accounts);
    let replaced = values::replaced(input, pack, changes);
    let load = Load {
        fleet: &input.world.fleet.name,
        region: &region.name,
        directory: input.to.directory(),
        accounts: &accounts,
        objects: accounts
            .iter()
            .map(|account| account.objects)
            .max()
            .unwrap_or_default()
            .max(published.saturating_add(before)),
        left: pack
            .objects
            .iter()
            .filter(|(key, packed)| !key.kind.is_namespace() && !key.kind.is_config_map() && !packed.is_handover())
            .count(),
        shares: &shares,
        added_recipients: if retired { &[] } else { &added },
        unasked_reseals: &unasked,
        replaced: &replaced,
        secrets: pack.objects.keys().filter(|key| key.kind.is_secret()).count(),
        spent: &history.spent,
    };
    let limits = &input.world.fleet.limits;
    let mut braked = match counted.is_some_and(|evidence| !evidence.is_whole) {
        false => brake::hold(&load, limits, &input.allowances.accepted),
        // A manifest that is lost, or leaves out what stands there, has been meddled with: then there is no budget.
        true => {
            let none = Limits { free_deletions: 0, deletion_percent: 0, deletion_objects: 0, ..limits.clone() };
            let mut braked = brake::hold(&load, &none, &input.allowances.accepted);
            braked.deletions.iter_mut().for_each(meddled);
            braked
        }
    };
    // With nothing to count against, an adopted region could be emptied unseen.
    if load.left == 0 && !retired && matches!(input.published.state, State::Unsigned) {
        let message = format!("region {} would be adopted with nothing in it", region.name);
        let finding = Finding::new(Code::DeletionsHeld, message).in_region(&region.name);
        braked.holds.push(Hold::fast(
            finding.help("Correct the sources first. If the region should be empty, retire it or move its files away."),
        ));
    }
    braked
}

/// Says why a withdrawal within the budget is held all the same.
fn meddled(hold: &mut Hold) {
    hold.finding
        .message
        .push_str("; its bundle.yaml does not list what is published, so every withdrawal must be accepted");
}
