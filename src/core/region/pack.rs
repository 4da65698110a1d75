//! Pack: one region's objects, fresh from resolved claims or carried over, before they are files.
//!
//! Decides for each Secret what becomes of its published bytes. Writes nothing and judges nothing.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::carry::{self, Fate, Fates};
use super::content::Order;
use super::input::{Input, Terms};
use super::published::document;
use super::resealing;
use super::revoked::{self, Admission, Revoked};
use crate::closure::Via;
use crate::config::RegionState;
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::layout::manifest::{ManifestObject, NeededBy, NeededVia};
use crate::layout::namespace;
use crate::layout::sanitise::sanitise;
use crate::name::{Claimant, Namespace, ObjectKey};
use crate::object::Object;
use crate::reuse;
use crate::secret::Payload;
use crate::yaml::emit::emit;

/// One object of a bundle, before it is written.
pub(super) enum Packed {
    Fresh { order: Order, needed_by: BTreeSet<NeededBy>, text: Zeroizing<String>, keep: Keep },
    Carried { object: ManifestObject, needed_by: BTreeSet<NeededBy>, code: Code },
    Namespace { text: Zeroizing<String>, keep: Keep },
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
    fn of_open(published: Option<&[u8]>, text: &str) -> Self {
        if published == Some(text.as_bytes()) { Keep::Kept } else { Keep::Changed }
    }
}

/// One region's objects.
#[derive(Default)]
pub(super) struct Pack {
    pub(super) objects: BTreeMap<ObjectKey, Packed>,
    pub(super) holds: Vec<Finding>,
    pub(super) findings: Vec<Finding>,
    /// Unchanged Secrets that are sealed anew without anybody having asked.
    pub(super) unasked: Vec<ObjectKey>,
}

/// What the resolved claims want published, and who wants it.
type Wanted = BTreeMap<ObjectKey, (Order, BTreeSet<NeededBy>)>;

fn wanted(rulings: &[Ruling<'_>]) -> Wanted {
    let mut wanted = Wanted::new();
    for case in rulings.iter().filter(|ruling| ruling.is_admitted()).map(|ruling| ruling.case) {
        for member in case.published_members() {
            let order =
                || Order { read: member.read.clone(), lands: member.lands.clone(), edits: member.edits.clone() };
            let entry = wanted.entry(member.lands.clone()).or_insert_with(|| (order(), BTreeSet::new()));
            entry.1.insert(needed_by(&case.claim.by, &member.via));
        }
    }
    wanted
}

/// Packs what the claims want, against what is published.
pub(super) fn pack(input: &Input<'_>, rulings: &[Ruling<'_>]) -> Pack {
    let mut pack = Pack::default();
    if input.to.region.state == RegionState::Retired {
        return pack;
    }
    let mut wanted = wanted(rulings);
    let fates = carry::fates(input, rulings);
    carry_over(input, &fates, rulings, &mut wanted, &mut pack);
    let mut unasked = Vec::new();
    let keep = |lands: &ObjectKey, text: &str, object: Option<&Object>| {
        Some(if lands.kind.is_secret() {
            let payload = object.and_then(|object| object.payload.as_ref());
            reuse_of(input, lands, text, payload, &mut unasked)
        } else {
            Keep::of_open(input.published.bytes(lands), text)
        })
    };
    // Here `keep` never gives up, so there is always a pack.
    _ = fill(&input.terms, wanted, &mut pack, keep);
    pack.unasked = unasked;
    pack
}

/// Packs what the claims want, supposing that all of it is published as `file` gives it; none if one object is not.
pub(super) fn pack_as_published<'f>(
    terms: &Terms<'_>,
    rulings: &[Ruling<'_>],
    file: impl Fn(&ObjectKey) -> Option<&'f [u8]>,
) -> Option<Pack> {
    let mut pack = Pack::default();
    let keep = |lands: &ObjectKey, text: &str, _: Option<&Object>| {
        let bytes = file(lands)?;
        let same = if lands.kind.is_secret() {
            let context = terms.context(lands, &terms.to.region.recipients);
            reuse::verify(terms.keys, &context, text.as_bytes(), bytes) == Some(reuse::Under::Current)
        } else {
            bytes == text.as_bytes()
        };
        same.then_some(Keep::Kept)
    };
    fill(terms, wanted(rulings), &mut pack, keep)?;
    Some(pack)
}

/// Adds what is wanted and the Namespaces for all of it; none as soon as `keep` gives up.
///
/// `keep` gets the object's key and text, and the object that it is made from, if any.
fn fill(
    terms: &Terms<'_>,
    wanted: Wanted,
    pack: &mut Pack,
    mut keep: impl FnMut(&ObjectKey, &str, Option<&Object>) -> Option<Keep>,
) -> Option<()> {
    let style = terms.layout().style();
    for (lands, (order, needed_by)) in wanted {
        let Some(object) = terms.world.snapshot.get(&order.read) else { continue };
        let text = emit(&sanitise(object, &lands, &order.edits, style));
        let keep = keep(&lands, &text, Some(object))?;
        // The text of what stays as it is, is not needed again.
        let text = if keep == Keep::Kept { Zeroizing::default() } else { text };
        pack.objects.insert(lands, Packed::Fresh { order, needed_by, text, keep });
    }
    let names: BTreeSet<Namespace> = pack.objects.keys().filter_map(|key| key.namespace.clone()).collect();
    for name in names.iter().filter(|name| namespace::is_emitted(name, &terms.world.fleet.system_namespace)) {
        let text = emit(&namespace::tree(name, terms.to.region.labels.get(name), style));
        let key = ObjectKey::namespace(name);
        let keep = keep(&key, &text, None)?;
        pack.objects.insert(key, Packed::Namespace { text, keep });
    }
    Some(())
}

fn needed_by(by: &Claimant, via: &[Via]) -> NeededBy {
    let step = |via: &Via| NeededVia { provider_interface: via.interface.clone(), field: via.field.clone() };
    NeededBy { by: by.clone(), via: via.iter().map(step).collect() }
}

/// Carries over what broken claims have published and may still have, and adds these claims to objects that are fresh
/// anyway.
fn carry_over(input: &Input<'_>, fates: &Fates, rulings: &[Ruling<'_>], wanted: &mut Wanted, pack: &mut Pack) {
    let Some(manifest) = input.published.manifest() else { return };
    let admission = Admission::of(input, rulings, manifest);
    let mut ended: BTreeMap<&Claimant, Vec<Revoked>> = BTreeMap::new();
    let mut staying: BTreeSet<&Claimant> = BTreeSet::new();
    let mut carried: BTreeMap<&ObjectKey, (&ManifestObject, BTreeSet<NeededBy>, Code)> = BTreeMap::new();
    for object in &manifest.objects {
        let mut names = BTreeSet::new();
        let mut why = None;
        for needed_by in &object.needed_by {
            let Fate::Carried(code) = fates.of(needed_by) else { continue };
            match admission.ends(object, needed_by) {
                Some(revoked) => ended.entry(&needed_by.by).or_default().push(revoked),
                None => {
                    staying.insert(&needed_by.by);
                    names.insert(needed_by.clone());
                    why.get_or_insert(code);
                }
            }
        }
        match (wanted.get_mut(&object.key), why) {
            (_, None) => {}
            (Some((_, needed_by)), _) => needed_by.extend(names),
            (None, Some(code)) => _ = carried.insert(&object.key, (object, names, code)),
        }
    }
    pack.findings.extend(fates.findings(input, rulings, &staying));
    pack.findings.extend(ended.iter().filter_map(|(by, ended)| revoked::finding(input, by, ended)));
    let holds = |key: &ObjectKey| wanted.contains_key(key) || carried.contains_key(key);
    let renewed: Wanted = carried
        .values()
        .filter_map(|(object, names, _)| {
            let (read, edits) = admission.new_text(object, &names.first()?.by, holds)?;
            Some((object.key.clone(), (Order { read, lands: object.key.clone(), edits }, names.clone())))
        })
        .collect();
    let mut impossible: Vec<String> = Vec::new();
    for (key, (object, names, code)) in carried.into_iter().filter(|(key, _)| !renewed.contains_key(*key)) {
        // A user who asks for new keys is not given old ones, not even for what is broken.
        let rekeys = input.rekeys();
        let as_sealed = manifest.recipients == input.to.region.recipients && !rekeys;
        if input.published.bytes(key).is_none() || (key.kind.is_secret() && !as_sealed) {
            impossible.push(format!("{key}"));
            if !rekeys {
                continue;
            }
            // The region is held, and nothing of it is about to go.
        }
        pack.objects.insert(key.clone(), Packed::Carried { object: object.clone(), needed_by: names, code });
    }
    wanted.extend(renewed);
    if let Some(first) = impossible.first() {
        let region = &input.to.region.name;
        let others = match impossible.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        pack.holds.push(if input.rekeys() {
            let message = format!(
                "{first}{others} of region {region} cannot be sealed anew: the sources do not give what is published"
            );
            resealing::impossible(region, message).help(resealing::CURE)
        } else {
            let message = format!(
                "{first}{others} must be carried over in region {region} and cannot be: recipients changed, or files \
                 do not match the manifest"
            );
            Finding::new(Code::CarryImpossible, message).in_region(region).help(
                "Cure the broken Credentials first, or restore the files; where recipients changed, `pouch rekey \
                 --identity FILE` seals what is published anew.",
            )
        });
    }
}

/// Whether a Secret's published bytes can stay (DESIGN §3).
fn reuse_of(
    input: &Input<'_>,
    lands: &ObjectKey,
    text: &str,
    payload: Option<&Payload>,
    unasked: &mut Vec<ObjectKey>,
) -> Keep {
    let region = input.to.region;
    let Some(manifest) = input.published.manifest().filter(|_| input.published.object(lands).is_some()) else {
        return Keep::Changed;
    };
    let asked = input.reseals();
    // The file's own tag would also vouch for an older sealing that somebody put back.
    let Some(bytes) = input.published.bytes(lands) else {
        if !asked && manifest.recipients == region.recipients {
            unasked.push(lands.clone());
        }
        return Keep::Changed;
    };
    let now = input.context(lands, &region.recipients);
    if let Some(matched) = reuse::verify(input.keys, &now, text.as_bytes(), bytes) {
        return match matched {
            _ if asked => Keep::Resealed,
            reuse::Under::Current => Keep::Kept,
            reuse::Under::Previous => retag(input, &now, text, bytes, payload).map_or(Keep::Changed, Keep::Retagged),
        };
    }
    let before = input.context(lands, &manifest.recipients);
    match reuse::verify(input.keys, &before, text.as_bytes(), bytes) {
        Some(_) => Keep::Resealed,
        None => Keep::Changed,
    }
}

/// Gives a file whose tag was made with a previous reuse key a header under the current one.
fn retag(
    input: &Input<'_>,
    context: &reuse::Context<'_>,
    text: &str,
    bytes: &[u8],
    payload: Option<&Payload>,
) -> Option<Vec<u8>> {
    let document = document(bytes)?;
    let leaves = reuse::leaves(&document)?;
    reuse::retag(input.keys, context, text.as_bytes(), bytes, &reuse::pair(&leaves, payload?)?)
}
