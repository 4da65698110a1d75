//! The namespaces that take a source with `clusterScoped`.

use alloc::collections::{BTreeMap, BTreeSet};

use super::kind::Controllers;
use super::region::RegionConfig;
use crate::capi;
use crate::name::{Namespace, Region};

/// The namespaces in which controllers read what belongs to all: the system namespace, and those of providers. A source that may
/// provide any namespace provides nothing there.
pub type Guarded = BTreeSet<Namespace>;

/// Gives them. clusterctl's namespaces count only where a region takes Clusters, for which alone Secrets are read there.
pub(super) fn guarded(
    system: &Namespace,
    controllers: &Controllers,
    regions: &BTreeMap<Region, RegionConfig>,
) -> Guarded {
    let takes_clusters = regions.values().any(|region| !region.clusters.is_empty());
    let kinds = capi::all().filter(|_| takes_clusters).map(|rules| rules.group_kind());
    let open = kinds.filter(|kind| !controllers.contains_key(kind));
    let by_default = open.filter_map(|kind| capi::controller_namespace(&kind)).map(Namespace::from);
    controllers.values().chain([system]).cloned().chain(by_default).collect()
}
