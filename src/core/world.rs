//! The world: what all stages of a run share, put together once and borrowed by everything after.

pub mod definition;
pub mod deployments;
