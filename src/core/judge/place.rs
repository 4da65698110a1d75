//! Places where nothing may land: a claim with an object there is refused.

use alloc::format;
use alloc::vec::Vec;

use crate::config::RegionConfig;
use crate::finding::{Code, Finding};
use crate::name::ObjectKey;
use crate::place::{Forbidden, forbidden};
use crate::world::World;

/// Checks where an object would land.
pub fn check(world: &World<'_>, region: &RegionConfig, lands: &ObjectKey) -> Vec<Finding> {
    if lands.namespace.is_none() {
        return Vec::new();
    }
    let why = forbidden(Some(&region.delivery), Some(&world.fleet.system_namespace), lands);
    let finding = |why: Forbidden| {
        let (code, help) = match why {
            Forbidden::Namespace => (Code::ForbiddenPlace, "Move the object to another namespace."),
            Forbidden::Key => (Code::ForbiddenPlace, "Rename the Secret."),
            Forbidden::Reserved => (Code::ReservedName, "Rename the Secret."),
        };
        Finding::new(code, format!("{lands} {}", why.words())).about(lands).help(help)
    };
    why.into_iter().map(finding).collect()
}
