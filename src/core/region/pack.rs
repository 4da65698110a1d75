//! Pack: one region's objects, fresh from resolved claims or carried over, before they are files.
//!
//! Decides for each Secret what becomes of its published bytes. Writes nothing, and judges no claim.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::alike::{looks_alike, retag};
use super::allowances::Selection;
use super::content::Order;
use super::guests;
use super::handover;
use super::input::{Input, Terms};
use super::ledger::Gone;
use super::resealing;
use crate::admission::tenancy_of;
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::layout::manifest::{Guest, Manifest, ManifestObject, NeededBy, ObjectState, Reason};
use crate::layout::path::BundlePath;
use crate::layout::sanitise::{open_part, sanitise};
use crate::layout::{Layout, Marks, namespace};
use crate::listing::{few, few_that_fit};
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey};
use crate::object::Object;
use crate::reuse;
use crate::yaml::consumers::{Trouble, trouble};
use crate::yaml::emit::emit;

/// One object of a bundle, before it is written.
pub(super) enum Packed {
    Fresh { order: Order, needed_by: BTreeSet<NeededBy>, text: Zeroizing<String>, keep: Keep, guest: Option<Guest> },
    Carried { object: ManifestObject, needed_by: BTreeSet<NeededBy>, state: ObjectState },
    Namespace { text: Zeroizing<String>, keep: Keep },
}

impl Packed {
    /// Returns true for what pouch makes to deliver what groups of guests have.
    pub(super) fn is_delivery(&self) -> bool {
        match self {
            Packed::Fresh { order, .. } => order.origin().is_none(),
            Packed::Carried { object, .. } => object.is_delivery(),
            Packed::Namespace { .. } => false,
        }
    }

    /// The kind of a payload's object in guests; none of what is there as it is.
    pub(super) fn kind(&self) -> Option<&GroupKind> {
        let guest = match self {
            Packed::Fresh { guest, .. } => guest,
            Packed::Carried { object, .. } => &object.guest,
            Packed::Namespace { .. } => return None,
        };
        guest.as_ref().map(|guest| &guest.key.kind)
    }

    /// Whether it stays only for a hand-over: who is named with it has another now.
    pub(super) fn is_handover(&self) -> bool {
        matches!(self, Packed::Carried { state, .. } if state.is_handover())
    }
}

/// What becomes of an object's published bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Keep {
    /// They stay.
    Kept,
    /// They stay under a new header: the tag was made with a previous reuse key.
    Retagged(Vec<u8>),
    /// The same Secret, for other recipients or because somebody asked.
    Resealed,
    /// Anything else.
    Changed,
}

impl Keep {
    /// What becomes of an object that is no Secret.
    pub(super) fn of_open(published: Option<&[u8]>, text: &str) -> Self {
        if published == Some(text.as_bytes()) { Keep::Kept } else { Keep::Changed }
    }
}

/// One region's objects.
#[derive(Default)]
pub(super) struct Pack {
    pub(super) objects: BTreeMap<ObjectKey, Packed>,
    pub(super) findings: Vec<Finding>,
    /// Objects that must be carried over and cannot be.
    pub(super) impossible: BTreeSet<ObjectKey>,
    /// Secrets that are carried over although a removed recipient can read them, and why they are carried.
    pub(super) readable: BTreeMap<ObjectKey, BTreeSet<Claimant>>,
    /// Unchanged Secrets that are sealed anew without anybody having asked.
    pub(super) unasked: Vec<ObjectKey>,
    /// The objects that are not handed over for want of room, and the reason.
    pub(super) left_out: BTreeMap<ObjectKey, String>,
    /// Fresh objects that consumers would not read back, and why.
    pub(super) unreadable: BTreeMap<ObjectKey, Trouble>,
    /// Published objects that do not stay, because no consumer reads them.
    pub(super) dropped: BTreeSet<ObjectKey>,
    /// The reason for which published objects go, of those that all claimants lose for one reason.
    pub(super) gone: BTreeMap<ObjectKey, Gone>,
    /// Claimants that are refused, or may no longer have something that they have published.
    pub(super) refused: BTreeSet<Claimant>,
}

impl Pack {
    /// The objects, where nothing is carried over, with the hashes of their files.
    pub(super) fn listed(
        &self,
        terms: &Terms<'_>,
        layout: &Layout<'_>,
        hash: &dyn Fn(&BundlePath) -> Option<String>,
    ) -> Vec<ManifestObject> {
        let object = |(lands, packed): (&ObjectKey, &Packed)| {
            let path = layout.of_object(lands);
            let (from, read_at, guest) = match packed {
                Packed::Fresh { order, guest, .. } => {
                    (order.origin(), order.read_at(terms.world.snapshot), guest.clone())
                }
                Packed::Carried { .. } | Packed::Namespace { .. } => (None, None, None),
            };
            ManifestObject {
                key: lands.clone(),
                from,
                read_at,
                guest,
                sha256: hash(&path).unwrap_or_default(),
                path,
                state: ObjectState::Current,
                recipients: Vec::new(),
                needed_by: needers(packed).cloned().collect(),
            }
        };
        self.objects.iter().map(object).collect()
    }
}

/// What the resolved claims want published, and who wants it.
pub(super) type Wanted = BTreeMap<ObjectKey, (Order, BTreeSet<NeededBy>)>;

pub(super) fn wanted(rulings: &[Ruling<'_>], selection: &Selection) -> Wanted {
    let mut wanted = Wanted::new();
    let admitted = rulings.iter().filter(|ruling| ruling.is_admitted());
    for ruling in admitted.filter(|ruling| selection.refreshes(&ruling.case.claim.by)) {
        let case = ruling.case;
        for member in case.published_members().filter(|member| !ruling.holds(member)) {
            let entry = wanted.entry(member.lands.clone()).or_insert_with(|| (Order::of(member), BTreeSet::new()));
            entry.1.insert(NeededBy::of(&case.claim.by, &member.through));
        }
    }
    wanted
}

/// Of so many objects that are published otherwise, and a share of all that were looked at, nobody supposes any more
/// that a little changed.
const FEW: usize = 32;
const SHARE: usize = 4;

/// What is known of the published file of an object.
pub(super) enum Stood<'f> {
    /// The file holds these bytes.
    Read(&'f [u8]),
    /// The file was not read, and is supposed to hold what is made.
    Supposed,
}

/// Packs what is wanted, supposing that `file` gives all that is published of it, by the object's key and the text
/// that is wanted. Whatever is not there as it is wanted counts as changed, until [`decide_changed`] says how; none if an
/// object is not there at all, or much changed.
pub(super) fn pack_as_published<'f>(
    terms: &Terms<'_>,
    wanted: Wanted,
    mut file: impl FnMut(&ObjectKey, &str) -> Option<Stood<'f>>,
) -> Option<Pack> {
    let mut pack = Pack::default();
    let (mut seen, mut changed) = (0, 0);
    let keep = |lands: &ObjectKey, text: &str, object: Option<&Object>| {
        let is_secret = lands.kind.is_secret();
        let stood = file(lands, text)?;
        seen += 1;
        let bytes = match stood {
            Stood::Read(bytes) => bytes,
            Stood::Supposed => return Some(Keep::Kept),
        };
        let same = if is_secret && terms.keys.is_blind() {
            looks_alike(bytes, object)
        } else if is_secret {
            let context = terms.context(lands, &terms.to.region.recipients);
            reuse::verify(terms.keys, &context, text.as_bytes(), bytes) == Some(reuse::Under::Current)
        } else {
            bytes == text.as_bytes()
        };
        changed += usize::from(!same);
        let is_little = changed <= FEW + seen / SHARE;
        is_little.then_some(if same { Keep::Kept } else { Keep::Changed })
    };
    fill(terms, wanted, &mut pack, |_: &ObjectKey| true, keep)?;
    // Then a claim breaks, which takes what is published.
    Some(pack).filter(|pack| pack.unreadable.is_empty())
}

impl Pack {
    /// Whether the values of some payload for guests were not looked at.
    pub(super) fn has_unseen_guests(&self) -> bool {
        let is_unseen = |guest: &Guest| guest.sha256.is_none();
        let mut packed = self.objects.values();
        packed.any(|it| matches!(it, Packed::Fresh { guest: Some(guest), .. } if is_unseen(guest)))
    }

    /// Whether some set is not published as it is made, and only what is published says in which version it stays.
    pub(super) fn has_open_versions(&self) -> bool {
        let is_open = |packed: &Packed| match packed {
            Packed::Fresh { order, keep: Keep::Changed, .. } => matches!(guests::set(order), Some((_, None))),
            _ => false,
        };
        self.objects.values().any(is_open)
    }

    /// Whether every object stays as it is.
    pub(super) fn is_kept(&self) -> bool {
        self.objects.values().all(|packed| {
            matches!(packed, Packed::Fresh { keep: Keep::Kept, .. } | Packed::Namespace { keep: Keep::Kept, .. })
        })
    }

    /// The objects that are there to stay, and the Namespaces for them. What is carried over goes, or is made anew: where
    /// many exchange what they have, or a withdrawal is held, no leaf is split for both.
    pub(super) fn lasting(&self) -> impl Iterator<Item = &ObjectKey> {
        let fresh = |(_, packed): &(&ObjectKey, &Packed)| matches!(packed, Packed::Fresh { .. });
        let namespaces: BTreeSet<&str> =
            self.objects.iter().filter(fresh).map(|(key, _)| key.namespace_text()).collect();
        let stays = move |(key, packed): &(&ObjectKey, &Packed)| match packed {
            Packed::Fresh { .. } => true,
            Packed::Carried { .. } => false,
            Packed::Namespace { .. } => namespaces.contains(key.name.as_str()),
        };
        self.objects.iter().filter(stays).map(|(key, _)| key)
    }
}

/// Decides what becomes of the objects that [`pack_as_published`] only knows to differ.
pub(super) fn decide_changed(input: &Input<'_>, pack: &mut Pack) {
    let mut unasked = Vec::new();
    for (lands, packed) in &mut pack.objects {
        match packed {
            Packed::Fresh { order, text, keep, .. } if *keep == Keep::Changed => {
                let source = order.source(input.terms.world.snapshot, &input.terms.envelopes());
                *keep = keep_of(input, lands, text, source.as_deref(), &mut unasked);
            }
            Packed::Namespace { text, keep } if *keep == Keep::Changed => {
                *keep = keep_of(input, lands, text, None, &mut unasked);
            }
            _ => {}
        }
    }
    pack.unasked = unasked;
}

/// What becomes of the published bytes of an object that is wanted with this text.
pub(super) fn keep_of(
    input: &Input<'_>,
    lands: &ObjectKey,
    text: &str,
    object: Option<&Object>,
    unasked: &mut Vec<ObjectKey>,
) -> Keep {
    if lands.kind.is_secret() {
        reuse_of(input, lands, text, object, unasked)
    } else {
        Keep::of_open(input.published.bytes(lands), text)
    }
}

/// Adds what is wanted and the Namespaces for all of it; none as soon as `keep` gives up.
///
/// `keep` gets the object's key and text, and the object that it is made from, if any. A Secret's text is only made where
/// somebody reads it.
pub(super) fn fill(
    terms: &Terms<'_>,
    wanted: Wanted,
    pack: &mut Pack,
    is_read: impl Fn(&ObjectKey) -> bool,
    mut keep: impl FnMut(&ObjectKey, &str, Option<&Object>) -> Option<Keep>,
) -> Option<()> {
    let (marks, with) = (Marks::of(&terms.to), terms.envelopes());
    for (lands, (order, needed_by)) in wanted {
        let Some(object) = order.source(terms.world.snapshot, &with) else { continue };
        let is_unseen = lands.kind.is_secret() && (terms.keys.is_blind() || !is_read(&lands));
        let tenancy = tenancy_of(terms.world.fleet, &lands.kind);
        let emitted = || emit(&sanitise(&object, &lands, &order.edits, marks, tenancy));
        let text = if is_unseen { Zeroizing::default() } else { emitted() };
        let trouble = match is_unseen {
            true => trouble(emit(&open_part(&object, &lands, &order.edits, marks)).as_bytes()),
            false => trouble(text.as_bytes()),
        };
        pack.unreadable.extend(trouble.map(|trouble| (lands.clone(), trouble)));
        let keep = keep(&lands, &text, Some(&object))?;
        // The text of what stays as it is, is not needed again.
        let text = if keep == Keep::Kept { Zeroizing::default() } else { text };
        let guest = object.guest().cloned();
        pack.objects.insert(lands, Packed::Fresh { order, needed_by, text, keep, guest });
    }
    add_namespaces(terms, pack, &mut keep)
}

/// Decides what becomes of an object's bytes, by its key, its text and what it is made from; none to give up.
pub(super) type Keeping<'a> = dyn FnMut(&ObjectKey, &str, Option<&Object>) -> Option<Keep> + 'a;

/// Adds the Namespaces of everything that is packed; none as soon as `keep` gives up.
pub(super) fn add_namespaces(terms: &Terms<'_>, pack: &mut Pack, keep: &mut Keeping<'_>) -> Option<()> {
    let style = terms.layout().style();
    let names: BTreeSet<Namespace> = pack.objects.keys().filter_map(|key| key.namespace.clone()).collect();
    for name in names.iter().filter(|name| namespace::is_emitted(name, &terms.world.fleet.system_namespace)) {
        let text = emit(&namespace::tree(name, terms.to.region.namespaces.labels.get(name), style));
        let key = ObjectKey::namespace(name);
        let keep = keep(&key, &text, None)?;
        pack.objects.insert(key, Packed::Namespace { text, keep });
    }
    Some(())
}

/// The state of an object that a limited run leaves alone: a Secret that is sealed for others than the region's
/// recipients is not current.
pub(super) fn standing_state(input: &Input<'_>, manifest: &Manifest, object: &ManifestObject) -> ObjectState {
    let (now, readers) = (&input.terms.to.region.recipients, object.readers(manifest));
    if object.state != ObjectState::Current || !object.key.kind.is_secret() || readers == *now {
        return object.state.clone();
    }
    let is_revoked = readers.iter().any(|reader| !now.contains(reader));
    ObjectState::Carried(if is_revoked { Reason::RecipientRemoved } else { Reason::RecipientAdded })
}

/// Lets an object's published bytes stay for some of those that needed it.
///
/// Recipients may have changed since a Secret was sealed. Its file stays as long as the region itself can read it:
/// removing a recipient never waits for a claim to be mended.
pub(super) fn let_stay(
    input: &Input<'_>,
    pack: &mut Pack,
    manifest: &Manifest,
    object: &ManifestObject,
    needed_by: BTreeSet<NeededBy>,
    state: ObjectState,
) {
    let (key, now) = (&object.key, &input.terms.to.region.recipients);
    if let Some(trouble) = input.published.bytes(key).and_then(trouble) {
        // One file that is not read back stops everything of the region, so nobody keeps it.
        if pack.dropped.insert(key.clone()) {
            pack.findings.extend(unread_back(input, key, &needed_by, trouble));
        }
        return;
    }
    let mut object = object.clone();
    if key.kind.is_secret() {
        let readers = object.readers(manifest).to_vec();
        // A user who asks for new keys is not given old ones, not even for what is broken.
        if !handover::is_shared(input, &readers) || input.terms.rekeys() {
            pack.impossible.insert(key.clone());
        } else if readers.iter().any(|reader| !now.contains(reader)) {
            pack.readable.insert(key.clone(), needed_by.iter().map(|needed_by| needed_by.by.clone()).collect());
        }
        object.recipients = if readers == *now { Vec::new() } else { readers };
    }
    if input.published.bytes(key).is_none() {
        pack.impossible.insert(key.clone());
    }
    // Where it cannot stay, the region is held, and nothing of it is about to go.
    pack.objects.insert(key.clone(), Packed::Carried { object, needed_by, state });
}

/// The findings about a published object that does not stay, for each claimant that would keep it.
fn unread_back<'n>(
    input: &Input<'_>,
    key: &'n ObjectKey,
    needed_by: &'n BTreeSet<NeededBy>,
    trouble: Trouble,
) -> impl Iterator<Item = Finding> {
    let region = input.terms.to.region.name.clone();
    let message = format!(
        "the published file of {key} holds {trouble}, which kustomize cannot read back, so it is removed from the bundle"
    );
    let claimants: BTreeSet<&Claimant> = needed_by.iter().map(|needed_by| &needed_by.by).collect();
    claimants.into_iter().map(move |by| {
        let finding = Finding::new(Code::InvalidObject, message.clone()).about(key).claimed_by(by).in_region(&region);
        finding.help(format!("Nothing of the region is applied while it stands there. {}", trouble.cure()))
    })
}

/// Who needs an object.
pub(super) fn needers(packed: &Packed) -> impl Iterator<Item = &NeededBy> {
    match packed {
        Packed::Fresh { needed_by, .. } | Packed::Carried { needed_by, .. } => Some(needed_by),
        Packed::Namespace { .. } => None,
    }
    .into_iter()
    .flatten()
}

/// Who needs an object and keeps it; what is handed over counts as lost.
pub(super) fn keepers(packed: &Packed) -> impl Iterator<Item = &NeededBy> {
    Some(packed).filter(|packed| !packed.is_handover()).into_iter().flat_map(needers)
}

/// What holds a region whose published bytes cannot stay, and what is said of those that stay readable.
pub(super) fn unreadable_carried(input: &Input<'_>, pack: &mut Pack) -> Option<Finding> {
    const SHOWN: usize = 3;
    let region = &input.terms.to.region.name;
    if let Some(claims) = (!pack.readable.is_empty()).then(|| pack.readable.values().flatten().collect::<BTreeSet<_>>())
    {
        let secrets = few_that_fit(pack.readable.keys(), pack.readable.len(), SHOWN);
        let message = format!(
            "recipients that were removed from region {region} can still read {secrets}, carried over for {}",
            few_that_fit(&claims, claims.len(), SHOWN)
        );
        let flags: Vec<String> = claims.iter().map(|by| format!("--withdraw {}", by.path())).collect();
        let help = match &*flags {
            _ if input.terms.selection.refresh.is_some() => {
                String::from("Run again without the selection, which seals them anew.")
            }
            [one] => format!("Mend the claim, or pass {one}."),
            _ => String::from("Mend the claims, or pass --withdraw NAMESPACE/NAME for each, or --withdraw broken."),
        };
        pack.findings.push(Finding::new(Code::RevocationIncomplete, message).in_region(region).help(help));
    }
    if pack.impossible.is_empty() {
        return None;
    }
    let named = few(&pack.impossible, pack.impossible.len(), 1);
    Some(if input.terms.rekeys() {
        let message =
            format!("{named} of region {region} cannot be sealed anew: the sources do not give what is published");
        resealing::impossible(region, message).help(resealing::CURE)
    } else {
        let message = format!(
            "{named} must be carried over in region {region} and cannot be: its file is sealed for none of the \
             region's own recipients, or does not match the manifest"
        );
        Finding::new(Code::CarryImpossible, message).in_region(region).help(
            "Cure the broken Credentials first, or restore the files, or pass --withdraw broken; where recipients \
             changed, `pouch rekey --identity FILE` seals what is published anew.",
        )
    })
}

/// Whether a Secret's published bytes can stay (DESIGN §3).
fn reuse_of(
    input: &Input<'_>,
    lands: &ObjectKey,
    text: &str,
    object: Option<&Object>,
    unasked: &mut Vec<ObjectKey>,
) -> Keep {
    let payload = object.and_then(|object| object.payload.as_ref());
    let region = input.terms.to.region;
    let Some(manifest) = input.published.manifest().filter(|_| input.published.object(lands).is_some()) else {
        return Keep::Changed;
    };
    let asked = input.terms.reseals();
    // The file's own tag would also vouch for an older sealing that somebody put back.
    let Some(bytes) = input.published.bytes(lands) else {
        if !asked && manifest.recipients == region.recipients {
            unasked.push(lands.clone());
        }
        return Keep::Changed;
    };
    if input.terms.keys.is_blind() {
        let readers = input.published.object(lands).map(|object| object.readers(manifest));
        return match () {
            () if !looks_alike(bytes, object) => Keep::Changed,
            () if asked || readers.is_some_and(|readers| readers != region.recipients) => Keep::Resealed,
            () => Keep::Kept,
        };
    }
    let now = input.terms.context(lands, &region.recipients);
    if let Some(matched) = reuse::verify(input.terms.keys, &now, text.as_bytes(), bytes) {
        return match matched {
            _ if asked => Keep::Resealed,
            reuse::Under::Current => Keep::Kept,
            reuse::Under::Previous => retag(input, &now, text, bytes, payload).map_or(Keep::Changed, Keep::Retagged),
        };
    }
    let readers = input.published.object(lands).map(|object| object.readers(manifest));
    let before = input.terms.context(lands, readers.unwrap_or(&manifest.recipients));
    match reuse::verify(input.terms.keys, &before, text.as_bytes(), bytes) {
        Some(_) => Keep::Resealed,
        None => Keep::Changed,
    }
}
