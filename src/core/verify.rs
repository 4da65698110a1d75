//! Verify: whether what is published holds what it promises.
//!
//! [`bundles`] proves bundles offline, as they stand in a folder or a commit; [`live`] compares a region with its
//! bundle.

pub mod bundles;
pub mod live;
