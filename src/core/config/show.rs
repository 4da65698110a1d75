//! The resolved configuration in the form of the file: what `pouch config` prints.
//!
//! The output is again a configuration with the same meaning; a test holds it to that. It names the places of keys and
//! never a key.

use alloc::borrow::Cow;

use super::Fleet;
use super::file::{API_VERSION, KIND};
use super::kind;
use super::setting::{Show, given, tree as shown};
use crate::yaml::emit::Tree;

/// The tree of a resolved configuration, defaults written out.
pub fn tree(fleet: &Fleet) -> Tree<'_> {
    let builtin = fleet.builtin.map_or(Cow::Borrowed("none"), |release| Cow::Owned(release.name()));
    let regions =
        fleet.regions.iter().map(|(name, region)| (name.as_str(), region.tree(&fleet.escrow, &fleet.readers)));
    let findings = fleet.severities.iter().map(|(code, level)| (code.text(), shown(level)));
    let kinds = fleet.kinds.iter().map(|(kind, extra)| extra.tree(kind, &fleet.controllers));
    let built_in = fleet.controllers.iter().filter(|(kind, _)| !fleet.kinds.contains_key(kind));
    let built_in = built_in.map(|(kind, namespace)| kind::built_in(kind, namespace));
    given([
        ("apiVersion", Some(Tree::text(API_VERSION))),
        ("kind", Some(Tree::text(KIND))),
        ("metadata", Some(given([("name", fleet.name.show())]))),
        ("sources", fleet.sources.show()),
        ("systemNamespace", fleet.system_namespace.show()),
        ("resolution", fleet.resolution.show()),
        ("providerInterfaces", Some(given([("builtin", Some(Tree::text(builtin)))]))),
        ("kinds", Some(Tree::List(kinds.chain(built_in).collect()))),
        ("keepMetadata", fleet.keep.show()),
        ("companions", fleet.companions.show()),
        ("emitControllerIdentity", fleet.emit_controller_identity.show()),
        ("regions", Some(Tree::map(regions))),
        ("guests", fleet.guests.show()),
        ("escrowRecipients", Some(Tree::List(fleet.escrow.iter().map(|it| fleet.readers.tree(it)).collect()))),
        ("grants", fleet.grants.show()),
        ("output", fleet.output.show()),
        ("reuseKey", fleet.reuse_key.show()),
        ("limits", fleet.limits.show()),
        ("findings", Some(Tree::map(findings))),
    ])
}
