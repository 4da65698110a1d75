//! What is sent to a region and what is to be taken away, decided before anything is.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::inventory::{Brought, Inventory, Needed};
use super::losses::{self, End, Lost, Stood};
use super::{Bundle, Live, Meta, Wanted, is_prunable};
use crate::config::{Accept, Acceptance, Deletions};
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::listing::few;
use crate::name::{Claimant, GroupKind, ObjectKey, Region, Version};
use crate::node::Node;
use crate::region::accounts::{Account, Whose};
use crate::region::brake;
use crate::region::change::Hold;

/// How many objects the brake's finding names.
const SHOWN: usize = 5;

/// The annotation that says whether a Namespace that is there already is left alone.
const SSA: &str = "kustomize.toolkit.fluxcd.io/ssa";

/// What a region answered.
pub struct Answers<'a> {
    /// The kinds that it serves, each with its versions.
    pub served: &'a BTreeMap<GroupKind, BTreeSet<Version>>,
    /// What the kinds that it serves are called in paths.
    pub called: &'a BTreeMap<GroupKind, String>,
    /// The kinds that it does not serve, and that are not defined there either: there is no object of them.
    pub undefined: &'a BTreeSet<GroupKind>,
    /// The API groups that could not be asked.
    pub silent: &'a BTreeSet<String>,
    /// What there is of what was asked for, Namespaces too.
    pub live: &'a BTreeMap<ObjectKey, Live>,
}

/// What the user lets through.
pub struct Let<'a> {
    /// The region, for people.
    pub region: &'a Region,
    /// The brake's numbers.
    pub budget: Deletions,
    /// The digests that were accepted.
    pub accepted: &'a BTreeSet<String>,
}

/// What is to be done.
pub struct Plan<'u> {
    /// Namespaces to make, and only if they are not there.
    pub make: Vec<Sending<'u>>,
    /// Namespaces whose labels are to be set.
    pub label: Vec<Sending<'u>>,
    /// ConfigMaps, Secrets and identities to send, in this order, in one list for each kind.
    pub send: Vec<Vec<Sending<'u>>>,
    /// Objects that are as they were sent.
    pub same: BTreeSet<&'u ObjectKey>,
    /// Objects of kinds, or versions, that the region does not serve.
    pub lacking: BTreeSet<&'u ObjectKey>,
    /// Objects of API groups that do not answer, or that could not be looked at.
    pub silent: BTreeSet<&'u ObjectKey>,
    /// Objects that were applied of another bundle, by its field manager.
    pub of_others: BTreeMap<&'u ObjectKey, String>,
    /// What may be taken away, once the rest is done.
    pub goners: Vec<Goner>,
    /// What left the bundle, and is somebody else's.
    pub given_up: Vec<(ObjectKey, Stays)>,
    /// What left the bundle, and may be there for all anybody knows: its kind is not served just now, or it could not be
    /// looked at.
    pub unseen: BTreeSet<ObjectKey>,
    /// What of that stays, because it is more than may go at once.
    pub kept: BTreeSet<ObjectKey>,
    /// Why it does.
    pub held: Option<Hold>,
    /// What of it is exchanged, and what takes its place: if that fails, it stays.
    pub instead: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// The objects that were brought and stand there, and who needed them then. What the inventory merely names counts for
    /// nothing, and neither does what this run brings: both would let more go.
    stood: BTreeMap<ObjectKey, Needed>,
    /// The inventory to write before anything is sent.
    pub before: Inventory,
}

/// Why something that left the bundle is not taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stays {
    /// It does not carry pouch's label.
    Unlabelled,
    /// It was never applied of this bundle, or it is not known to have been.
    NotBrought,
    /// Another bundle was applied over it.
    OfAnother,
}

/// A manifest that is sent.
#[derive(Clone, Copy)]
pub struct Sending<'u> {
    /// What it is on the region.
    pub key: &'u ObjectKey,
    /// The version that it is written in.
    pub version: &'u str,
    /// The manifest in clear.
    pub text: &'u str,
    /// The index of the object it stands for.
    wanted: Option<usize>,
}

/// Objects that others may point to and that are not as they should be, by name.
pub struct Broken<'b>(BTreeMap<&'b str, Vec<&'b Wanted<'b>>>);

impl<'b> Broken<'b> {
    /// Those of a bundle among what failed.
    pub fn of(bundle: &'b Bundle<'_>, failed: &BTreeSet<ObjectKey>) -> Self {
        let mut names: BTreeMap<&str, Vec<&Wanted<'_>>> = BTreeMap::new();
        for wanted in bundle.objects.iter().filter(|wanted| is_pointed_to(wanted.key) && failed.contains(wanted.key)) {
            names.entry(wanted.key.name.as_str()).or_default().push(wanted);
        }
        Self(names)
    }
}

/// An object that is to be taken away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goner {
    /// What it is.
    pub key: ObjectKey,
    /// How it was found.
    pub meta: Meta,
}

impl Goner {
    /// Whether others may point to it, and it points to nothing.
    pub fn is_pointed_to(&self) -> bool {
        is_pointed_to(&self.key)
    }
}

/// Whether identities may point to an object, and it points to nothing.
pub fn is_pointed_to(key: &ObjectKey) -> bool {
    key.kind.is_secret() || key.kind.is_config_map()
}

impl Plan<'_> {
    /// What is not as the bundle says before anything is sent, and may point to what left the bundle.
    pub fn staying(&self) -> impl Iterator<Item = &ObjectKey> {
        let given_up = self.given_up.iter().map(|(key, _)| key);
        given_up.chain(&self.unseen).chain(&self.kept).filter(|key| !is_pointed_to(key))
    }

    /// What is taken away, or waits for nothing but finalizers.
    pub fn going(&self) -> impl Iterator<Item = &Goner> {
        self.goners.iter().filter(|goner| !self.kept.contains(&goner.key))
    }
}

/// Holds objects that would be made anew where these are more than may go at once.
///
/// Between its deletion and its creation such an object is missing, and a region that does not take one of them may take
/// none. They are counted by themselves: what left the bundle is not missed.
pub fn replacing(
    plan: &Plan<'_>,
    bundle: &Bundle<'_>,
    inventory: &Inventory,
    lets: &Let<'_>,
    anew: &[(&ObjectKey, &Meta)],
) -> Option<(Hold, BTreeSet<Whose>)> {
    let stood = plan.stood();
    let going = anew.iter().map(|(key, _)| *key).collect();
    let lost = losses::lost(&stood, core::iter::empty(), (&going, End::Anew), &lets.budget);
    let beyond = brake::those_beyond(&weighed(inventory, lost.accounts), &lets.budget);
    if beyond.is_empty() {
        return None;
    }
    let (count, of) = (anew.len(), stood.len());
    let hold = held(bundle, inventory, lets, (anew, " anew"), |named| {
        format!("would have {count} of the {of} objects that were brought to it deleted and made anew: {named}")
    })?;
    Some((hold, beyond))
}

/// The accounts, with what an earlier run held.
fn weighed(inventory: &Inventory, accounts: Vec<Account>) -> Vec<Account> {
    let is_held = |account: &Account| account.is_losing() && inventory.held.contains(&account.whose);
    accounts.into_iter().map(|account| Account { is_held: is_held(&account), ..account }).collect()
}

/// Holds objects unless that they go was accepted. With their UIDs, an acceptance is spent with the objects that it was
/// for; `how` tells what is deleted for good from what is made anew.
fn held(
    bundle: &Bundle<'_>,
    inventory: &Inventory,
    lets: &Let<'_>,
    (going, how): (&[(&ObjectKey, &Meta)], &str),
    says: impl FnOnce(String) -> String,
) -> Option<Hold> {
    let line = |(key, meta): &(&ObjectKey, &Meta)| {
        let mark = inventory.objects.get(key).and_then(|brought| brought.mark.as_deref()).unwrap_or_default();
        brake::line(key, &format!("{mark} {}{how}", meta.uid))
    };
    let of = brake::BundleName { fleet: bundle.fleet, directory: bundle.directory };
    let digest = brake::digest_of(Accept::Deletions, of, None, going.iter().map(line));
    if lets.accepted.contains(&digest) {
        return None;
    }
    let named = few(going.iter().map(|(key, _)| key), going.len(), SHOWN);
    let message = format!("region {} {}", lets.region, says(named));
    let wanted = Acceptance { region: lets.region.clone(), namespace: None, what: Accept::Deletions, digest };
    let help =
        format!("If that is meant, pass --accept-deletions {wanted}. Until then they stay, and all else goes on.");
    Some(Hold::lifted_by(Finding::new(Code::DeletionsHeld, message).in_region(lets.region).help(help), wanted))
}

/// Decides.
pub fn plan<'u>(
    bundle: &'u Bundle<'u>,
    inventory: &Inventory,
    revision: Option<&str>,
    answers: &Answers<'_>,
    lets: &Let<'_>,
) -> Plan<'u> {
    let mut before = inventory.clone();
    before.bundle = String::from(bundle.digest);
    // A bundle from a folder has none, and what is older than the last one that was known stays older.
    if let Some(revision) = revision {
        before.revision = Some(String::from(revision));
    }
    let mut plan = Plan {
        make: Vec::new(),
        label: Vec::new(),
        send: Vec::new(),
        same: BTreeSet::new(),
        lacking: BTreeSet::new(),
        silent: BTreeSet::new(),
        of_others: BTreeMap::new(),
        goners: Vec::new(),
        given_up: Vec::new(),
        unseen: BTreeSet::new(),
        kept: BTreeSet::new(),
        held: None,
        instead: BTreeMap::new(),
        stood: BTreeMap::new(),
        before,
    };
    for (part, node) in &bundle.namespaces {
        let sending = Sending { key: part.key, version: "v1", text: part.text, wanted: None };
        match answers.live.get(part.key) {
            Some(Live::Absent) => plan.make.push(sending),
            Some(Live::Here(meta)) if is_kept_up(node) && !has_labels(meta, node) => plan.label.push(sending),
            Some(Live::Here(_)) => {}
            None | Some(Live::Unknown) => _ = plan.silent.insert(part.key),
        }
    }
    let mut last: Option<&GroupKind> = None;
    for (index, wanted) in bundle.objects.iter().enumerate() {
        let key = wanted.key;
        if is_lacking(wanted, answers) {
            plan.lacking.insert(key);
            continue;
        }
        match answers.live.get(key) {
            None | Some(Live::Unknown) => {
                plan.silent.insert(key);
                continue;
            }
            Some(Live::Here(meta)) if is_same(wanted, meta, inventory.objects.get(key)) => {
                plan.same.insert(key);
                continue;
            }
            Some(Live::Here(meta)) => {
                if let Some(other) = meta.of_another(&bundle.manager) {
                    plan.of_others.insert(key, String::from(other));
                    continue;
                }
            }
            Some(Live::Absent) => {}
        }
        let called = answers.called.get(&key.kind).filter(|_| !is_listed(&key.kind));
        plan.before.note(key, called.cloned());
        let sending = Sending { key, version: wanted.version.as_str(), text: wanted.text, wanted: Some(index) };
        match plan.send.last_mut().filter(|_| last == Some(&key.kind)) {
            Some(phase) => phase.push(sending),
            None => plan.send.push(Vec::from([sending])),
        }
        last = Some(&key.kind);
    }
    for wanted in &bundle.objects {
        if let Some(brought) = plan.before.objects.get_mut(wanted.key) {
            brought.needed = wanted.needed();
        }
    }
    leavers(&mut plan, bundle, inventory, answers, lets);
    plan
}

/// Whether a Namespace's labels are set where it is there already.
fn is_kept_up(node: &Node) -> bool {
    node.str_at(&["metadata", "annotations", SSA]) == Some("Merge")
}

fn has_labels(meta: &Meta, node: &Node) -> bool {
    let labels = node.at(&["metadata", "labels"]).map(Node::entries).unwrap_or_default();
    labels.iter().all(|(key, value)| meta.labels.get(&**key).map(String::as_str) == value.as_str())
}

/// Whether the region serves no such kind, or not in this version. A group that does not answer proves nothing.
fn is_lacking(wanted: &Wanted<'_>, answers: &Answers<'_>) -> bool {
    let kind = &wanted.key.kind;
    let served = || answers.served.get(kind).is_some_and(|versions| versions.contains(&wanted.version));
    kind.group != "" && !answers.silent.contains(kind.group.as_str()) && !served()
}

/// Whether nobody wrote to an object since this very file was sent: to send it again would change nothing.
fn is_same(wanted: &Wanted<'_>, meta: &Meta, brought: Option<&Brought>) -> bool {
    let Some(Brought { mark: Some(mark), version: Some(version), .. }) = brought else { return false };
    *mark == wanted.mark && *version == meta.version && meta.is_ours && !meta.is_going
}

/// Whether an object was really sent: a mark says so or, where a run was killed before it wrote that down, the object.
fn is_brought(brought: &Brought, meta: &Meta, manager: &str) -> bool {
    brought.mark.is_some() || meta.is_applied_by(manager)
}

/// Whether objects of a kind go by the word of the inventory: whoever can write that could name others. Of kinds that only
/// a configuration knows, which may have dropped them since, the objects themselves must say that they were applied.
fn is_listed(kind: &GroupKind) -> bool {
    kinds::is_published(kind)
}

/// Why an object that left the bundle stays, if it does.
fn stays(key: &ObjectKey, brought: &Brought, meta: &Meta, manager: &str) -> Option<Stays> {
    let is_known = is_brought(brought, meta, manager) && (is_listed(&key.kind) || meta.is_applied_by(manager));
    if !meta.is_ours {
        Some(Stays::Unlabelled)
    } else if meta.of_another(manager).is_some() {
        Some(Stays::OfAnother)
    } else {
        (!is_known).then_some(Stays::NotBrought)
    }
}

/// Whether an object may be deleted, as far as it says itself whose it is.
pub fn is_for_taking(bundle: &Bundle<'_>, inventory: &Inventory, key: &ObjectKey, meta: &Meta) -> bool {
    inventory.objects.get(key).is_some_and(|brought| stays(key, brought, meta, &bundle.manager).is_none())
}

/// What left the bundle, and may go.
fn leavers(plan: &mut Plan<'_>, bundle: &Bundle<'_>, inventory: &Inventory, answers: &Answers<'_>, lets: &Let<'_>) {
    let wanted: BTreeSet<&ObjectKey> = bundle.objects.iter().map(|wanted| wanted.key).collect();
    let is_left = |key: &ObjectKey| !wanted.contains(key) && is_prunable(&key.kind);
    for (key, brought) in inventory.objects.iter().filter(|(key, _)| is_left(key)) {
        match answers.live.get(key) {
            Some(Live::Here(meta)) => match stays(key, brought, meta, &bundle.manager) {
                None => plan.goners.push(Goner { key: key.clone(), meta: meta.clone() }),
                Some(why) => {
                    // What it points to stays as long as it does, so an identity is not forgotten.
                    if is_pointed_to(key) {
                        plan.before.objects.remove(key);
                    }
                    plan.given_up.push((key.clone(), why));
                }
            },
            Some(Live::Absent) => _ = plan.before.objects.remove(key),
            // With its definition all objects of a kind go. While no version is served, or a server starts, they do not.
            None if answers.undefined.contains(&key.kind) => _ = plan.before.objects.remove(key),
            None | Some(Live::Unknown) => _ = plan.unseen.insert(key.clone()),
        }
    }
    // What points to others goes first.
    plan.goners.sort_by_key(Goner::is_pointed_to);
    plan.stood = stood(plan, bundle, inventory, answers);
    brake(plan, bundle, inventory, lets);
}

impl Plan<'_> {
    fn stood(&self) -> Stood<'_> {
        self.stood.iter().collect()
    }
}

fn stood(
    plan: &Plan<'_>,
    bundle: &Bundle<'_>,
    inventory: &Inventory,
    answers: &Answers<'_>,
) -> BTreeMap<ObjectKey, Needed> {
    let stands = |key: &ObjectKey, brought: &Brought| match answers.live.get(key) {
        Some(Live::Here(meta)) => is_brought(brought, meta, &bundle.manager),
        Some(Live::Unknown) => brought.mark.is_some(),
        Some(Live::Absent) | None => false,
    };
    let kept = bundle.objects.iter().map(|wanted| wanted.key);
    let kept = kept.filter(|key| inventory.objects.get(*key).is_some_and(|brought| stands(key, brought)));
    let all = kept.chain(plan.goners.iter().map(|goner| &goner.key));
    all.filter_map(|key| Some((key.clone(), inventory.objects.get(key)?.needed.clone()))).collect()
}

/// Holds what left the bundle where it is more than may go at once.
fn brake(plan: &mut Plan<'_>, bundle: &Bundle<'_>, inventory: &Inventory, lets: &Let<'_>) {
    let going: BTreeMap<&ObjectKey, &Meta> =
        plan.goners.iter().filter(|goner| !goner.meta.is_going).map(|goner| (&goner.key, &goner.meta)).collect();
    let keys = going.keys().copied().collect();
    let stood = plan.stood();
    // What cannot be brought takes no other's place.
    let comes = |key: &ObjectKey| {
        !plan.lacking.contains(key) && !plan.silent.contains(key) && !plan.of_others.contains_key(key)
    };
    let has = bundle
        .objects
        .iter()
        .filter(|wanted| comes(wanted.key) && !wanted.is_exchanged)
        .map(|wanted| (wanted.key, wanted.claimants));
    let Lost { accounts, exchanged } = losses::lost(&stood, has, (&keys, End::Gone), &lets.budget);
    let accounts = weighed(inventory, accounts);
    let beyond = brake::those_beyond(&accounts, &lets.budget);
    let losing = accounts.iter().filter(|account| beyond.contains(&account.whose));
    let kept: BTreeSet<&ObjectKey> = losing
        .clone()
        .flat_map(|account| account.losses.values().flatten().chain(&account.unclaimed))
        .map(|loss| &loss.key)
        .collect();
    let among: Vec<String> = losing
        .filter(|account| account.whose != Whose::Anybody)
        .map(|account| format!("{} of {} {}", account.losses.len(), account.claimants, account.whose))
        .collect();
    let among = if among.is_empty() { among.join("") } else { format!("; {}", few(&among, among.len(), SHOWN)) };
    let gone: Vec<(&ObjectKey, &Meta)> = going.into_iter().filter(|(key, _)| kept.contains(key)).collect();
    let (count, of) = (gone.len(), stood.len());
    let end = if count < of { "" } else { ", which is all of them" };
    let says = |named| format!("would lose {count} of the {of} objects that were brought to it{end}: {named}{among}");
    let held = if gone.is_empty() { None } else { held(bundle, inventory, lets, (&gone, ""), says) };
    let owned =
        |(key, instead): (&ObjectKey, BTreeSet<&ObjectKey>)| (key.clone(), instead.into_iter().cloned().collect());
    let instead: BTreeMap<ObjectKey, BTreeSet<ObjectKey>> = exchanged.into_iter().map(owned).collect();
    let kept = if held.is_some() { kept.into_iter().cloned().collect() } else { BTreeSet::new() };
    if held.is_some() {
        plan.before.held.extend(beyond);
    }
    for key in instead.keys().filter(|key| !kept.contains(*key)) {
        if let Some(brought) = plan.before.objects.get_mut(key) {
            brought.needed = Needed::Exchanged;
        }
    }
    (plan.held, plan.kept, plan.instead) = (held, kept, instead);
}

impl<'u> Sending<'u> {
    /// Which of these it may point to: an object that it names, and that somebody needs who needs it too. While such an
    /// object is not as it should be, what points to it stays as it was.
    pub fn points_to<'b>(&self, bundle: &Bundle<'_>, broken: &Broken<'b>) -> Option<&'b ObjectKey> {
        let pointing = bundle.objects.get(self.wanted?)?;
        let named = pointing.says.iter().filter_map(|name| broken.0.get(name.as_str())).flatten();
        // What nobody is noted for may be anybody's.
        let is_shared = |one: &[Claimant], other: &[Claimant]| {
            one.is_empty() || other.is_empty() || one.iter().any(|claimant| other.contains(claimant))
        };
        named.copied().find(|pointed| is_shared(pointing.claimants, pointed.claimants)).map(|pointed| pointed.key)
    }
}
