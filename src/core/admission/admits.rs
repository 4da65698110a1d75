//! The namespaces that an identity admits, by its provider's own meaning.

use super::Asker;
use crate::capi::tenancy::Tenancy;
use crate::capi::{self, Admits, Slip};
use crate::config::Fleet;
use crate::name::{GroupKind, Namespace, Region};
use crate::object::Object;
use crate::world::World;

/// Whether an identity lets clusters in a claim's namespace use it, by its provider's own meaning.
pub fn admits<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, identity: &Object) -> Admits {
    let asker = asker.into();
    admits_in(world, asker.region, asker.by.namespace(), identity)
}

/// The same for a namespace of a region.
pub(super) fn admits_in(world: &World<'_>, region: &Region, namespace: &Namespace, identity: &Object) -> Admits {
    let Some(tenancy) = tenancy_of(world.fleet, &identity.key.kind) else {
        return Admits::Unknown("its kind has no rule that says who may use it");
    };
    let by = |labels| capi::admits(tenancy, identity.at(&["spec"]), namespace, labels);
    match by(world.labels(region, namespace).as_deref()) {
        Admits::Yes => Admits::Yes,
        // What is decided without labels is known all the same.
        _ if world.is_unseen(region, namespace) && matches!(by(None), Admits::Unknown(_)) => Admits::Unknown(UNSEEN),
        known => known,
    }
}

/// Why a selector admits nobody yet.
pub(super) const UNSEEN: &str = "the labels of the namespace on the region were not seen";

/// Whether an identity's answer to a claim hangs on labels of the region that should have been seen, and were not. Then
/// nobody knows whom it admits: that opens nothing, and takes nothing away.
pub fn is_unseen<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, identity: &Object) -> bool {
    admits(world, asker, identity) == Admits::Unknown(UNSEEN)
}

/// A slip in what an identity says of who may use it: then nobody may, and what is published by it is not taken away.
pub fn slip(fleet: &Fleet, identity: &Object) -> Option<Slip> {
    capi::slip(tenancy_of(fleet, &identity.key.kind)?, identity.at(&["spec"]))
}

/// The tenancy of a kind, if it has one.
pub fn tenancy_of(fleet: &Fleet, kind: &GroupKind) -> Option<Tenancy> {
    capi::rules(kind).map(|rules| rules.tenancy).or_else(|| fleet.kinds.get(kind).map(|extra| extra.tenancy))
}
