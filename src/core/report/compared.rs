//! Compared: of each region, how much of its bundle stands in its cluster, in numbers.

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A region that was compared with its bundle, or should have been.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedRegion {
    /// Its name.
    pub name: String,
    /// How much of its bundle stands there; absent where its cluster or its bundle could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<ComparedCounts>,
}

/// How much of a bundle stands on its region. Namespaces are not counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedCounts {
    /// Objects that stand there as published.
    pub as_published: usize,
    /// Objects that do not stand there, or are being deleted.
    pub missing: usize,
    /// Objects that stand there otherwise.
    pub differing: usize,
    /// Objects that left the bundle and stand there, as far as kinds could be listed.
    pub left_behind: usize,
    /// Credentials, and Clusters without one, of which all stands there as published.
    pub in_force: usize,
    /// The others of the bundle.
    pub not_in_force: usize,
}
