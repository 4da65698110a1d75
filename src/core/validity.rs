//! Validity: what a region's API would reject of an object, before a consumer applies it.
//!
//! One object that an API server refuses can stop everything that is applied with it. Each file looks at one object
//! by itself; what is known of identity kinds stands in [`capi`](crate::capi).

pub mod config_map;
pub mod identity;
pub mod secret;
