//! Texts: digests of what takes many objects, so that the next run knows whose text changed.
//!
//! They are made with the reuse key: a template may have a secret in its text, and a digest that anybody can make would
//! confirm a guess of it.

use alloc::collections::BTreeSet;
use alloc::string::String;

use super::input::{Input, Terms};
use crate::config::RegionState;
use crate::k0rdent;
use crate::kinds;
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy, ObjectState, Reason, Taker, Texts};
use crate::name::{GroupKind, ObjectKey};
use crate::object::Object;
use crate::reuse::{ReuseKey, stamp_digest};
use crate::world::World;
use crate::yaml::emit::{Tree, emit};

/// The texts of all that the objects of a bundle are taken by, as they are now; none where one is unknown.
pub(super) fn now(terms: &Terms<'_>, objects: &[ManifestObject]) -> Option<Texts> {
    let key = terms.keys.current();
    let text = |taker: Taker| Some((digest(&terms.world, &taker, key?)?, taker));
    takers(objects.iter()).into_iter().map(|taker| text(taker).map(|(digest, taker)| (taker, digest))).collect()
}

/// Adds the texts to the manifest of a bundle. One that is unknown stays as it was published, and so does that of what a
/// limited run leaves alone, or of which the brake holds something: what goes later is told then.
pub(super) fn add(input: &Input<'_>, manifest: &mut Manifest) {
    let terms = &input.terms;
    let is_held = |object: &&ManifestObject| object.state == ObjectState::Carried(Reason::HeldDeletion);
    let held = takers(manifest.objects.iter().filter(is_held));
    let stays = terms.selection.refresh.is_some() || terms.to.region.state != RegionState::Active;
    let text = |taker: Taker| {
        let told = || input.published.manifest()?.texts.get(&taker).cloned();
        let made = || digest(&terms.world, &taker, terms.keys.current()?);
        let digest = if stays || held.contains(&taker) { told().or_else(made) } else { made().or_else(told) };
        Some((taker, digest?))
    };
    manifest.texts = takers(manifest.objects.iter()).into_iter().filter_map(text).collect();
}

/// Returns true if the text of what takes objects is known and is another one than a digest was made of.
pub(super) fn is_changed(terms: &Terms<'_>, taker: &Taker, told: &str) -> bool {
    let Some(text) = text(&terms.world, taker) else { return false };
    let mut keys = terms.keys.ids().flat_map(|id| terms.keys.with_id(id)).peekable();
    keys.peek().is_some() && !keys.any(|(key, _)| stamp_digest(key, text.as_bytes()) == *told)
}

/// The object whose text it is; none of a group of the configuration, and where it is gone or unread.
pub(super) fn object<'w>(world: &World<'w>, taker: &Taker) -> Option<&'w Object> {
    world.snapshot.get(&key(taker)?)
}

/// The key of the object whose text it is; none of a group of the configuration.
pub(super) fn key(taker: &Taker) -> Option<ObjectKey> {
    let (kind, name) = match taker {
        Taker::AccessRule(name) => (GroupKind::new(k0rdent::GROUP, "AccessManagement"), name),
        Taker::Rule(name) => (kinds::sync_rule(), name),
        Taker::Template(name) => (kinds::managed_resource(), name),
        Taker::Group(_) => return None,
    };
    Some(ObjectKey::new(kind, None, name.clone()))
}

fn takers<'o>(objects: impl Iterator<Item = &'o ManifestObject>) -> BTreeSet<Taker> {
    objects.flat_map(|object| &object.needed_by).flat_map(NeededBy::takers).collect()
}

fn digest(world: &World<'_>, taker: &Taker, key: &ReuseKey) -> Option<String> {
    Some(stamp_digest(key, text(world, taker)?.as_bytes()))
}

/// The text by which objects are taken, however it is written where it stands.
fn text(world: &World<'_>, taker: &Taker) -> Option<String> {
    let text = match taker {
        Taker::Group(name) => world.fleet.guests.get(name)?.text(),
        Taker::AccessRule(_) | Taker::Rule(_) | Taker::Template(_) => {
            String::from(&**emit(&Tree::of(&object(world, taker)?.body)))
        }
    };
    Some(format!("{} {}\n{text}", taker.field().0, taker.field().1))
}
