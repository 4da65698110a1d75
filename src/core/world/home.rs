//! Home: whether a region can be the management cluster.

use alloc::string::String;

use crate::config::RegionConfig;
use crate::finding::{Code, Finding};
use crate::k0rdent;
use crate::name::{GroupKind, ObjectKey};
use crate::snapshot::{CURE, Snapshot};

/// Holds the management cluster while nobody knows which of the sources it is: what is there already is not told from what
/// is missing. So is a region that k0rdent knows as another cluster: it would get the management cluster's credentials.
pub(super) fn homeless(region: &RegionConfig, told: Option<&str>, snapshot: &Snapshot) -> Option<Finding> {
    if !region.management {
        return None;
    }
    let (message, help) = match (snapshot.homeless(), snapshot.management_cluster(), told) {
        (Some(why), ..) => (String::from(why), CURE),
        _ if snapshot.get(&region_object(region)).is_some() => (
            format!("region {} is the management cluster, and a Region of k0rdent has its name", region.name),
            "Remove `management: true`, if this is the region of that object; else give the management cluster another name \
             in `regions`.",
        ),
        (None, Some(read), Some(told)) if read != told => (
            format!(
                "region {} is cluster {read} by the source that is the management cluster, and {told} by its facts",
                region.name
            ),
            "Correct `inventory` of the region, its facts in git, or the context of the source.",
        ),
        _ => return None,
    };
    Some(Finding::new(Code::ContradictoryTies, message).in_region(&region.name).help(help))
}

/// The Region object that has a region's name.
fn region_object(region: &RegionConfig) -> ObjectKey {
    ObjectKey::new(GroupKind::new(k0rdent::GROUP, "Region"), None, region.name.as_str().into())
}
