//! Readable: labels and annotations that hold a value of another object, a Secret.
//!
//! A text that holds a value of its own Secret is left out of what is published, for each claim. One with a value of another
//! Secret depends on the claim: on what else it needs, and on which Secrets of that name the region gets. So it stops the
//! claim, as other secrets in the open do.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::sharing::Heard;
use crate::claim::{made, parcel};
use crate::cleartext::own::{OwnValues, Values};
use crate::closure::{Closure, Member};
use crate::finding::{Code, Finding};
use crate::name::{Name, Namespace, ObjectKey};
use crate::object::Object;
use crate::object::steering::{SYNC_DISABLED, steers};
use crate::world::World;

/// The Secrets of a region, by their namespace and name.
type ByName<'h> = BTreeMap<(Option<&'h Namespace>, &'h Name), &'h Object>;

/// The least bytes of a text that can hold a value.
const LEAST: usize = 6;

/// Stops claims of a region in which a label or an annotation holds a value of a Secret that the claim needs, or that has the
/// name of the object.
pub(super) fn readable(world: &World<'_>, heard: &mut [Heard]) {
    let mut found: Vec<(usize, Finding)> = Vec::new();
    let mut by_name: Option<ByName<'_>> = None;
    for (index, heard_of) in heard.iter().enumerate().filter(|(_, heard)| !heard.is_stopped()) {
        let mut of_claim: Option<Values<'_>> = None;
        for member in heard_of.closure.members.iter().filter(|member| member.is_published()) {
            let Some(object) = world.snapshot.get(&member.read) else { continue };
            let mut texts = texts(object, member).peekable();
            if texts.peek().is_none() {
                continue;
            }
            let of_claim = of_claim.get_or_insert_with(|| Values::sure(secrets(world, &heard_of.closure)));
            let by_name = by_name.get_or_insert_with(|| named(world, heard));
            let same = by_name.get(&(member.read.namespace.as_ref(), &member.read.name)).copied();
            let of_name = Values::sure(same.into_iter().filter(|_| !member.read.kind.is_secret()));
            let own = OwnValues::of(object);
            let is_held = |text: &str| of_claim.stand_in(text) || of_name.stand_in(text);
            let held = texts.find(|(_, key, text)| !own.stand_in(key, text) && (is_held(key) || is_held(text)));
            if let Some((field, key, _)) = held {
                let key = if is_held(key) { "one whose key holds it" } else { key };
                found.push((index, finding(&member.read, field, key).at(&object.origin)));
            }
        }
    }
    for (index, finding) in found {
        if let Some(Heard { claim, findings, .. }) = heard.get_mut(index) {
            findings.push(finding.claimed_by(&claim.by).in_region(claim.region()));
        }
    }
}

fn finding(key: &ObjectKey, field: &str, annotation: &str) -> Finding {
    let message = format!(
        "{key} holds a value of a Secret in metadata.{field}, {annotation}, and only the `data` of Secrets is sealed"
    );
    let help =
        "Remove it from the object or from the rule, or keep it no more; replace the value if it was published so.";
    Finding::new(Code::InlineSecret, message).about(key).help(help)
}

/// The labels and annotations of what is published of a member, as far as they can hold a value: field, key and text.
fn texts<'m>(object: &'m Object, member: &'m Member) -> impl Iterator<Item = (&'static str, &'m str, &'m str)> {
    let made = made(parcel(&member.edits).map_or(&member.edits, |parcel| &parcel.edits));
    let fields = [
        ("labels", &object.labels, made.map(|made| &made.labels)),
        ("annotations", &object.annotations, made.map(|made| &made.annotations)),
    ];
    fields.into_iter().flat_map(|(field, pairs, changes)| {
        let is_kept = move |key: &str| !steers(key) && changes.is_none_or(|changes| !changes.contains_key(key));
        let kept = pairs.iter().filter(move |(key, _)| is_kept(key)).map(|(key, text)| (&**key, &**text));
        let made = changes.into_iter().flatten().filter_map(|(key, text)| Some((&**key, text.as_deref()?)));
        let made = made.filter(|(key, _)| *key != SYNC_DISABLED);
        let all = kept.chain(made).filter(|(key, text)| key.len().max(text.len()) >= LEAST);
        all.map(move |(key, text)| (field, key, text))
    })
}

/// The Secrets that a claim needs, published or not.
fn secrets<'w>(world: &World<'w>, closure: &Closure) -> impl Iterator<Item = &'w Object> {
    let secrets = closure.members.iter().filter(|member| member.read.kind.is_secret());
    secrets.filter_map(|member| world.snapshot.get(&member.read))
}

fn named<'h>(world: &World<'h>, heard: &'h [Heard]) -> ByName<'h> {
    let members = heard.iter().flat_map(|heard| &heard.closure.members);
    let secrets = members.filter(|member| member.read.kind.is_secret());
    let named = |member: &'h Member| {
        let key = &member.read;
        Some(((key.namespace.as_ref(), &key.name), world.snapshot.get(key)?))
    };
    secrets.filter_map(named).collect()
}
