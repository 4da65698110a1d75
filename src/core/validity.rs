//! Validity: what a region's API would reject of an object, before a consumer applies it.
//!
//! One object that an API server refuses can stop everything that is applied with it. Each file looks at one object
//! by itself; what is known of identity kinds stands in [`capi`](crate::capi).

pub mod config_map;
pub mod identity;
pub mod secret;
mod stored;
pub mod suspect;

use alloc::vec::Vec;

use crate::finding::Fault;
use crate::object::Object;

/// Faults for which a region's API refuses an object of any kind, a ConfigMap or a Secret, beside those that the object
/// has as it was read.
pub fn faults(object: &Object) -> Vec<Fault> {
    let mut faults = config_map::check_size(object);
    if object.key.kind.is_config_map() {
        faults.extend(config_map::check_config_map(object));
    }
    if object.key.kind.is_secret() {
        faults.extend(secret::check_secret(object));
    }
    faults.extend(stored::check(object));
    faults
}
