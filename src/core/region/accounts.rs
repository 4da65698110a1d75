//! Accounts: what claimants lose of a region, for those whose losses are weighed together (DESIGN §2.8).
//!
//! A claimant loses an object that it had, that leaves the bundle, and in whose place its own chain reaches no other. What it
//! exchanges is no loss, and neither is what another claimant keeps in the bundle, unless that is a tenant with a source of
//! his own: what he claims weighs nothing for others.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::change::{Action, Change, Loss};
use super::history::{History, Past, filled_entries};
use super::input::Input;
use super::pack::{Pack, Packed, keepers};
use super::sealing::will_have;
use super::unsigned::Evidence;
use crate::config::Fleet;
use crate::hash::sha256_hex;
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy, ObjectState, Reason};
use crate::name::holder::Writer;
use crate::name::step::Step;
use crate::name::{Claimant, GroupKind, Kind, Name, Namespace, ObjectKey, SourceName};

/// Those whose losses are weighed together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Whose {
    /// The claimants of one kind in one namespace.
    Kind {
        /// The namespace.
        namespace: Namespace,
        /// The kind.
        kind: Kind,
    },
    /// A group of guest clusters, in all its namespaces.
    Group(Name),
    /// Of one of these, what a tenant writes that a rule or template of the platform takes.
    Written {
        /// Those that it belongs to.
        of: Box<Self>,
        /// The tenant.
        by: Writer,
    },
    /// Anybody: of a bundle that no reuse key vouches for, nobody knows who claims.
    Anybody,
}

impl Whose {
    /// The account that a claimant belongs to.
    pub fn of(by: &Claimant) -> Self {
        match by {
            Claimant::Guests { group, .. } => Self::Group(group.clone()),
            Claimant::Cluster { namespace, .. }
            | Claimant::ResourceSet { namespace, .. }
            | Claimant::Credential { namespace, .. }
            | Claimant::Template { namespace, .. }
            | Claimant::SyncRule { namespace, .. }
            | Claimant::Other { namespace, .. } => {
                Self::Kind { namespace: namespace.clone(), kind: Kind::from(by.kind()) }
            }
        }
    }

    /// The account of what a tenant writes for a claimant, if one does, else the claimant's own.
    pub fn written(by: &Claimant, writer: Option<Writer>) -> Self {
        let of = Self::of(by);
        match writer {
            Some(by) => Self::Written { of: Box::new(of), by },
            None => of,
        }
    }

    /// The namespace of its claimants, if they all have the same.
    pub fn namespace(&self) -> Option<&Namespace> {
        match self {
            Self::Kind { namespace, .. } => Some(namespace),
            Self::Written { of, .. } => of.namespace(),
            Self::Group(_) | Self::Anybody => None,
        }
    }
}

/// For people: `Credentials of namespace team-a`, `claims of group pull of guests`.
impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { namespace, kind } => write!(f, "{kind}s of namespace {namespace}"),
            Self::Group(group) => write!(f, "claims of group {group} of guests"),
            Self::Written { of, by } => write!(f, "{of} by {by}"),
            Self::Anybody => f.write_str("objects"),
        }
    }
}

/// What those of one account lose.
#[derive(Clone, Debug)]
pub struct Account {
    /// Whose it is.
    pub whose: Whose,
    /// The source whose share of the region it uses up: the own one of who writes what it has. None of what belongs to all.
    pub source: Option<SourceName>,
    /// Its claimants at the baseline. What came since lets nothing more go.
    pub claimants: usize,
    /// What it has lost since the baseline if nothing is held: claimants that lose something, but of each that loses more
    /// than `limits.deletions.most` objects and entries all of these.
    pub lost: usize,
    /// Its claimants of the baseline that have lost all since then.
    pub gone: usize,
    /// Those of them that are refused.
    pub gone_refused: usize,
    /// Its claimants that lost something before, and lose nothing now.
    pub before: usize,
    /// What its claimants would lose now.
    pub losses: BTreeMap<Claimant, BTreeSet<Loss>>,
    /// What would go now of which nobody knows who claims it.
    pub unclaimed: BTreeSet<Loss>,
    /// Those of them that are refused, or may no longer have what they lose: that waits for nobody else.
    pub refused: BTreeSet<Claimant>,
    /// Returns true where some of that was held before.
    pub is_held: bool,
}

impl Account {
    /// One that loses nothing.
    pub fn new(whose: Whose, claimants: usize) -> Self {
        Self {
            whose,
            source: None,
            claimants,
            lost: 0,
            gone: 0,
            gone_refused: 0,
            before: 0,
            losses: BTreeMap::new(),
            unclaimed: BTreeSet::new(),
            refused: BTreeSet::new(),
            is_held: false,
        }
    }

    /// Returns true if something would go now.
    pub fn is_losing(&self) -> bool {
        !self.losses.is_empty() || !self.unclaimed.is_empty()
    }
}

/// Returns true if a claimant needs an object no longer that it has published, or a Secret loses an entry.
pub(super) fn is_anything_lost(input: &Input<'_>, pack: &Pack, changes: &[Change]) -> bool {
    let is_needed = |key: &ObjectKey, before: &NeededBy| {
        pack.objects.get(key).is_some_and(|packed| keepers(packed).any(|now| now.by == before.by))
    };
    let published = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    changes.iter().any(|change| change.action == Action::Withdrawn || !change.lost_entries.is_empty())
        || kept_by_somebody(published)
            .any(|object| object.needed_by.iter().any(|before| !is_needed(&object.key, before)))
}

/// The objects that count as what claimants have. What is handed over was exchanged or lost when that began, and what pouch makes
/// to deliver others is claimed by none.
pub(super) fn kept_by_somebody(objects: &[ManifestObject]) -> impl Iterator<Item = &ManifestObject> {
    objects.iter().filter(|object| !object.state.is_handover() && !object.is_delivery())
}

/// All accounts of a region; none where nobody loses anything.
pub(super) fn accounts(input: &Input<'_>, pack: &Pack, changes: &[Change], history: &History) -> Vec<Account> {
    let Some(manifest) = input.published.manifest() else { return Vec::new() };
    if !is_anything_lost(input, pack, changes) {
        return Vec::new();
    }
    let fleet = input.terms.world.fleet;
    let (before, now) = (Holdings::of(fleet, manifest), Holdings::of_pack(fleet, pack));
    let then: BTreeMap<*const Past, Holdings<'_>> =
        history.pasts().iter().map(|past| (core::ptr::from_ref(past), Holdings::of(fleet, &past.manifest))).collect();
    let all: BTreeSet<&Whose> = before.of.keys().chain(then.values().flat_map(|then| then.of.keys())).collect();
    let nothing = Holding::new();
    let entries: BTreeMap<&ObjectKey, &[String]> = changes
        .iter()
        .filter(|change| !change.lost_entries.is_empty())
        .map(|change| (&change.key, &*change.lost_entries))
        .collect();
    let account = |whose: &Whose| {
        let past = history.baseline(&input.terms.to.region.name, whose.namespace());
        let then = past.and_then(|past| then.get(&core::ptr::from_ref(past))).unwrap_or(&before);
        let weighing = Weighing {
            input,
            pack,
            entries: &entries,
            past,
            whose,
            source: source_of(fleet, whose),
            then: then.of.get(whose).unwrap_or(&nothing),
            before: before.of.get(whose).unwrap_or(&nothing),
            now: now.of.get(whose).unwrap_or(&nothing),
        };
        weighing.account()
    };
    all.into_iter().map(account).collect()
}

/// The source whose share an account uses up.
fn source_of<'f>(fleet: &'f Fleet, whose: &Whose) -> Option<&'f SourceName> {
    match whose {
        Whose::Kind { namespace, .. } => fleet.own_source(namespace),
        Whose::Written { by, .. } => fleet.source_of(by),
        Whose::Group(_) | Whose::Anybody => None,
    }
}

/// The objects that a claimant needs, by the chain that reaches them.
type Reach<'n> = BTreeMap<&'n [Step], BTreeSet<&'n ObjectKey>>;

/// What the claimants of one account have.
type Holding<'n> = BTreeMap<&'n Claimant, Reach<'n>>;

/// What the claimants of all accounts have, Namespaces not counted.
struct Holdings<'n> {
    of: BTreeMap<Whose, Holding<'n>>,
}

/// An object that a claimant needs.
struct Need<'n> {
    key: &'n ObjectKey,
    /// The kind of the object: of a payload, in guests.
    kind: &'n GroupKind,
    needed_by: &'n NeededBy,
}

impl<'n> Holdings<'n> {
    fn of(fleet: &Fleet, manifest: &'n Manifest) -> Self {
        let needs = |object: &'n ManifestObject| {
            let need = |needed_by| Need { key: &object.key, kind: object.kind(), needed_by };
            object.needed_by.iter().map(need)
        };
        Self::new(fleet, kept_by_somebody(&manifest.objects).flat_map(needs))
    }

    fn of_pack(fleet: &Fleet, pack: &'n Pack) -> Self {
        let objects = pack.objects.iter().filter(|(_, packed)| !packed.is_delivery());
        let needs = |(key, packed): (&'n ObjectKey, &'n Packed)| {
            let kind = packed.kind().unwrap_or(&key.kind);
            keepers(packed).map(move |needed_by| Need { key, kind, needed_by })
        };
        Self::new(fleet, objects.flat_map(needs))
    }

    fn new(fleet: &Fleet, needs: impl Iterator<Item = Need<'n>>) -> Self {
        let mut of: BTreeMap<Whose, Holding<'n>> = BTreeMap::new();
        for Need { key, kind, needed_by } in needs {
            let by = &needed_by.by;
            let whose = Whose::written(by, fleet.writer(by, kind));
            let reach = of.entry(whose).or_default().entry(by).or_default();
            reach.entry(needed_by.steps()).or_default().insert(key);
        }
        Self { of }
    }
}

/// All that a claimant needs.
fn keys<'n>(reach: Option<&Reach<'n>>) -> BTreeSet<&'n ObjectKey> {
    reach.into_iter().flat_map(BTreeMap::values).flatten().copied().collect()
}

/// What a claimant needs no longer, and in whose place the same chain reaches no other.
///
/// At the end of a Credential's chain is one object, so that any other takes its place, also one that a limited run
/// published before what it replaces went. A chain of others may lead to several, of which each needs another.
fn left<'n>(by: &Claimant, before: &Reach<'n>, now: Option<&Reach<'_>>) -> BTreeSet<&'n ObjectKey> {
    let (had, has) = (keys(Some(before)), keys(now));
    let mut left = BTreeSet::new();
    for (chain, keys) in before {
        let gone: Vec<&ObjectKey> = keys.iter().filter(|key| !has.contains(**key)).copied().collect();
        let mut reached = now.and_then(|now| now.get(chain)).into_iter().flatten();
        let is_replaced = match by.is_credential() {
            true => reached.next().is_some(),
            false => reached.filter(|key| !had.contains(**key)).count() >= gone.len(),
        };
        if !is_replaced {
            left.extend(gone);
        }
    }
    left
}

/// What claimants need no longer of what a manifest lists, and exchange for nothing: of those that are chosen.
pub(super) fn left_by<'m>(
    fleet: &Fleet,
    manifest: &'m Manifest,
    pack: &Pack,
    is_chosen: impl Fn(&Claimant) -> bool,
) -> BTreeMap<&'m Claimant, BTreeSet<&'m ObjectKey>> {
    let (before, now) = (Holdings::of(fleet, manifest), Holdings::of_pack(fleet, pack));
    let mut all = BTreeMap::new();
    for (whose, holding) in &before.of {
        for (by, reach) in holding.iter().filter(|(by, _)| is_chosen(by)) {
            let now = now.of.get(whose).and_then(|now| now.get(by));
            all.insert(*by, left(by, reach, now));
        }
    }
    all
}

/// What those of one account had at the baseline, have published, and have if nothing is held.
struct Weighing<'a> {
    input: &'a Input<'a>,
    pack: &'a Pack,
    /// The entries that leave Secrets which stay.
    entries: &'a BTreeMap<&'a ObjectKey, &'a [String]>,
    past: Option<&'a Past>,
    whose: &'a Whose,
    /// The source whose share of the region it uses up, if it is a tenant's own.
    source: Option<&'a SourceName>,
    then: &'a Holding<'a>,
    before: &'a Holding<'a>,
    now: &'a Holding<'a>,
}

impl Weighing<'_> {
    fn account(&self) -> Account {
        let mut account = Account::new(self.whose.clone(), self.then.len());
        let fleet = self.input.terms.world.fleet;
        account.source = self.source.cloned();
        let had: BTreeSet<&Claimant> = self.then.keys().chain(self.before.keys()).copied().collect();
        // However many share a Secret, an entry counts once.
        let mut counted: BTreeSet<(&ObjectKey, String)> = BTreeSet::new();
        // Whoever is named to be withdrawn was looked at by a person.
        for by in had.into_iter().filter(|by| !self.input.terms.allowances.asks_to_withdraw(by)) {
            let now = self.now.get(by);
            let lost_now = self.lost(by, self.before.get(by), now);
            let mut objects = self.lost(by, self.then.get(by), now);
            let mut losses: BTreeSet<Loss> = lost_now.iter().map(|key| self.loss(key, None)).collect();
            objects.extend(lost_now);
            let entries = self.lost_entries(by);
            losses.extend(
                entries
                    .iter()
                    .filter(|(_, _, is_now)| *is_now)
                    .map(|(key, entry, _)| self.loss(key, Some(entry.clone()))),
            );
            let own = entries.into_iter().filter(|(key, entry, _)| counted.insert((key, entry.clone()))).count();
            let weight = fleet.limits.deletions.weight(objects.len() + own);
            account.lost += weight;
            let is_refused = self.pack.refused.contains(by);
            let is_gone = now.is_none() && !objects.is_empty() && self.then.contains_key(by);
            account.gone += usize::from(is_gone);
            account.gone_refused += usize::from(is_gone && is_refused);
            account.before += usize::from(losses.is_empty() && weight > 0);
            if !losses.is_empty() {
                account.is_held |= !is_refused && losses.iter().any(|loss| self.is_held(&loss.key));
                account.refused.extend(Some(by.clone()).filter(|_| is_refused));
                account.losses.insert(by.clone(), losses);
            }
        }
        account
    }

    /// Returns true for an object that stays published only because its withdrawal was held.
    fn is_held(&self, key: &ObjectKey) -> bool {
        let object = self.input.published.object(key);
        object.is_some_and(|object| object.state == ObjectState::Carried(Reason::HeldDeletion))
    }

    /// What a claimant had, needs no longer, and leaves the bundle.
    fn lost<'n>(&self, by: &Claimant, before: Option<&Reach<'n>>, now: Option<&Reach<'_>>) -> BTreeSet<&'n ObjectKey> {
        let mut lost = before.map(|before| left(by, before, now)).unwrap_or_default();
        // What no consumer reads is no loss.
        lost.retain(|key| !self.stays(key) && !self.pack.dropped.contains(*key));
        lost
    }

    /// Returns true for an object that the bundle keeps for these, or for others who are not tenants with a source of their own.
    fn stays(&self, key: &ObjectKey) -> bool {
        let fleet = self.input.terms.world.fleet;
        self.pack.objects.get(key).is_some_and(|packed| {
            let kind = packed.kind().unwrap_or(&key.kind);
            let keeps = |NeededBy { by, .. }: &NeededBy| {
                // A former bundle lists a group as a whole: what its entries keep is not lost.
                let is_of_this =
                    || Whose::of(by) == *self.whose || Whose::written(by, fleet.writer(by, kind)) == *self.whose;
                fleet.share_of(by, kind).is_none_or(|own| Some(own) == self.source) || is_of_this()
            };
            keepers(packed).any(keeps)
        })
    }

    fn loss(&self, key: &ObjectKey, entry: Option<String>) -> Loss {
        Loss { key: key.clone(), entry, sha256: self.input.published.sha256(key).unwrap_or_default() }
    }

    /// The entries that leave Secrets of a claimant which stay, and whether they leave now.
    fn lost_entries(&self, by: &Claimant) -> Vec<(&ObjectKey, String, bool)> {
        let mut lost = Vec::new();
        let then = keys(self.then.get(by));
        for key in keys(self.before.get(by)).into_iter().filter(|key| self.stays(key)) {
            let now = self.entries.get(key).copied().unwrap_or_default();
            lost.extend(now.iter().map(|entry| (key, entry.clone(), true)));
            let Some(past) = self.past.filter(|_| then.contains(key)) else { continue };
            lost.extend(self.lost_before(past, key).into_iter().map(|entry| (key, entry, false)));
        }
        lost
    }

    /// The entries of a Secret that went before this run. What is lost now is counted apart, and what comes back is not lost.
    fn lost_before(&self, past: &Past, key: &ObjectKey) -> BTreeSet<String> {
        let published =
            || self.input.published.document(key).map(|document| filled_entries(&document)).unwrap_or_default();
        let gone = past.lost_entries(key, published);
        match self.pack.objects.get(key) {
            Some(Packed::Fresh { order, .. }) if !gone.is_empty() => {
                gone.difference(&will_have(self.input, order)).cloned().collect()
            }
            _ => gone,
        }
    }
}

/// What would go of a region that nobody vouches for, each object of which counts by itself.
pub(super) fn unvouched(input: &Input<'_>, evidence: &Evidence, changes: &[Change]) -> Account {
    let file = |key: &ObjectKey| input.published.files.get(evidence.file(key)?.as_str());
    let loss = |key: &ObjectKey| Loss {
        key: key.clone(),
        entry: None,
        sha256: file(key).map(|bytes| sha256_hex(bytes)).unwrap_or_default(),
    };
    let removed = changes.iter().filter(|change| change.action == Action::Withdrawn && !change.key.kind.is_namespace());
    let losses: BTreeSet<Loss> = removed.map(|change| loss(&change.key)).collect();
    let objects = evidence.keys().filter(|key| !key.kind.is_namespace()).count();
    Account { lost: losses.len(), gone: losses.len(), unclaimed: losses, ..Account::new(Whose::Anybody, objects) }
}
