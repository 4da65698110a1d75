//! Pack: one region's objects, fresh from admitted closures or carried over, before they are files.
//!
//! Decides for each Secret what becomes of its published bytes. Writes nothing and judges nothing.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::carry::{self, Fate, Fates};
use super::draft::{Input, Order};
use super::published::document;
use super::rekey;
use crate::config::RegionState;
use crate::finding::{Code, Finding};
use crate::judge::Verdict;
use crate::judge::region::Case;
use crate::layout::manifest::{ManifestObject, NeededBy, Via};
use crate::layout::sanitise::sanitise;
use crate::layout::{Style, namespace};
use crate::name::{Claimant, Namespace, ObjectKey};
use crate::recipient::Recipient;
use crate::reuse::{self, Context};
use crate::secret::Payload;
use crate::yaml::emit::emit;

/// One object of a bundle, before it is written.
pub(super) enum Packed {
    Fresh { order: Order, needed_by: BTreeSet<NeededBy>, text: Zeroizing<String>, keep: Keep },
    Carried { object: ManifestObject, needed_by: BTreeSet<NeededBy>, code: Code },
    Namespace { text: Zeroizing<String> },
}

/// What becomes of a Secret's published bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Keep {
    /// They stay.
    Kept,
    /// They stay under a new header: the tag was made with a previous reuse key.
    Retagged(Vec<u8>),
    /// The same Secret, for other recipients or because somebody asked.
    Resealed,
    /// Anything else, and every object that is no Secret.
    Changed,
}

pub(super) struct Pack {
    pub(super) objects: BTreeMap<ObjectKey, Packed>,
    pub(super) holds: Vec<Finding>,
    pub(super) findings: Vec<Finding>,
    pub(super) unasked: Vec<ObjectKey>,
}

/// What the admitted claims want published, and who wants it.
pub(super) type Wanted = BTreeMap<ObjectKey, (Order, BTreeSet<NeededBy>)>;

pub(super) fn wanted(cases: &[Case]) -> Wanted {
    let mut wanted = Wanted::new();
    for case in cases.iter().filter(|case| case.verdict == Verdict::Admitted) {
        for member in case.published_members() {
            let order =
                || Order { read: member.read.clone(), lands: member.lands.clone(), edits: member.edits.clone() };
            let entry = wanted.entry(member.lands.clone()).or_insert_with(|| (order(), BTreeSet::new()));
            entry.1.insert(needed_by(&case.claim.by, &member.via));
        }
    }
    wanted
}

/// The Namespaces that pouch makes for objects, as they are written.
pub(super) fn namespaces<'k>(
    input: &Input<'_>,
    keys: impl Iterator<Item = &'k ObjectKey>,
) -> Vec<(ObjectKey, Zeroizing<String>)> {
    let names: BTreeSet<&Namespace> = keys.filter_map(|key| key.namespace.as_ref()).collect();
    let emitted = names.into_iter().filter(|name| namespace::is_emitted(name, &input.court.fleet.system_namespace));
    emitted
        .map(|name| {
            let labels = input.region.labels.get(name);
            let text = emit(&namespace::tree(name, labels, Style::of(&input.region.delivery)));
            (ObjectKey::namespace(name), text)
        })
        .collect()
}

pub(super) fn pack(input: &Input<'_>, cases: &[Case]) -> Pack {
    let mut pack = Pack { objects: BTreeMap::new(), holds: Vec::new(), findings: Vec::new(), unasked: Vec::new() };
    if input.region.state == RegionState::Retired {
        return pack;
    }
    let mut wanted = wanted(cases);
    let fates = carry::fates(input, cases);
    pack.findings.extend(fates.findings(input, cases));
    carry_over(input, &fates, &mut wanted, &mut pack);
    for (lands, (order, needed_by)) in wanted {
        let Some(object) = input.court.snapshot.get(&order.read) else { continue };
        let text = emit(&sanitise(object, &lands, &order.edits, Style::of(&input.region.delivery)));
        let keep = if lands.kind.is_secret() {
            reuse_of(input, &lands, &text, object.payload.as_ref(), &mut pack.unasked)
        } else {
            Keep::Changed
        };
        pack.objects.insert(lands, Packed::Fresh { order, needed_by, text, keep });
    }
    for (key, text) in namespaces(input, pack.objects.keys()) {
        pack.objects.insert(key, Packed::Namespace { text });
    }
    pack
}

fn needed_by(by: &Claimant, via: &[crate::closure::Via]) -> NeededBy {
    let step = |via: &crate::closure::Via| Via { provider_interface: via.interface.clone(), field: via.field.clone() };
    NeededBy {
        kind: "Credential".into(),
        namespace: by.namespace.clone(),
        name: by.name.clone(),
        via: via.iter().map(step).collect(),
    }
}

/// Carries over what broken claims have published, and adds their names to what is fresh anyway.
fn carry_over(input: &Input<'_>, fates: &Fates, wanted: &mut Wanted, pack: &mut Pack) {
    let Some(manifest) = input.published.manifest() else { return };
    let mut impossible: Vec<String> = Vec::new();
    for object in &manifest.objects {
        let carried: Vec<(&NeededBy, Code)> = object
            .needed_by
            .iter()
            .filter_map(|by| match fates.of(by) {
                Fate::Carried(code) => Some((by, code)),
                Fate::Fresh | Fate::Withdrawn => None,
            })
            .collect();
        let Some((_, code)) = carried.first().cloned() else { continue };
        let names = carried.into_iter().map(|(by, _)| by.clone());
        if let Some((_, needed_by)) = wanted.get_mut(&object.key) {
            needed_by.extend(names);
            continue;
        }
        // Who asks for new keys is not given old ones, not even for what is broken.
        let rekeys = input.wishes.rekeys(input.region);
        let as_sealed = manifest.recipients == input.region.recipients && !rekeys;
        if input.published.bytes(&object.key).is_none() || (object.key.kind.is_secret() && !as_sealed) {
            impossible.push(format!("{}", object.key));
            if !rekeys {
                continue;
            }
            // The region is held, and nothing of it is about to go.
        }
        let carried = Packed::Carried { object: object.clone(), needed_by: names.collect(), code };
        pack.objects.insert(object.key.clone(), carried);
    }
    if let Some(first) = impossible.first() {
        let region = &input.region.name;
        let others = match impossible.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        pack.holds.push(if input.wishes.rekeys(input.region) {
            let message = format!(
                "{first}{others} of region {region} cannot be sealed anew: the sources do not give what is published"
            );
            rekey::impossible(region, message).help(rekey::CURE)
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

pub(super) fn context<'a>(input: &'a Input<'_>, lands: &'a ObjectKey, recipients: &'a [Recipient]) -> Context<'a> {
    Context { fleet: &input.court.fleet.name, directory: &input.region.directory, landing: lands, recipients }
}

/// Whether a Secret's published bytes can stay (DESIGN §3).
fn reuse_of(
    input: &Input<'_>,
    lands: &ObjectKey,
    text: &str,
    payload: Option<&Payload>,
    unasked: &mut Vec<ObjectKey>,
) -> Keep {
    let region = input.region;
    let Some(manifest) = input.published.manifest().filter(|_| input.published.object(lands).is_some()) else {
        return Keep::Changed;
    };
    let asked = input.wishes.reseals(region);
    // The file's own tag would also vouch for an older sealing that somebody put back.
    let Some(bytes) = input.published.bytes(lands) else {
        if !asked && manifest.recipients == region.recipients {
            unasked.push(lands.clone());
        }
        return Keep::Changed;
    };
    let now = context(input, lands, &region.recipients);
    if let Some(matched) = reuse::verify(input.keys, &now, text.as_bytes(), bytes) {
        return match matched {
            _ if asked => Keep::Resealed,
            reuse::Under::Current => Keep::Kept,
            reuse::Under::Previous => retag(input, &now, text, bytes, payload).map_or(Keep::Changed, Keep::Retagged),
        };
    }
    let before = context(input, lands, &manifest.recipients);
    match reuse::verify(input.keys, &before, text.as_bytes(), bytes) {
        Some(_) => Keep::Resealed,
        None => Keep::Changed,
    }
}

/// Gives a file whose tag was made with a previous reuse key a header under the current one.
fn retag(
    input: &Input<'_>,
    context: &Context<'_>,
    text: &str,
    bytes: &[u8],
    payload: Option<&Payload>,
) -> Option<Vec<u8>> {
    let document = document(bytes)?;
    let leaves = reuse::leaves(&document)?;
    reuse::retag(input.keys, context, text.as_bytes(), bytes, &reuse::pair(&leaves, payload?)?)
}
