//! Placements: lists of regions that a scheduler keeps, and the configuration names.
//!
//! A PlacementDecision names ClusterProfiles; which regions these are, the ties of the configuration say. So a placement
//! chooses among the regions that there are, and never makes one.
//!
//! <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/5313-placement-decision-api>

use alloc::string::String;
use core::fmt;

use crate::name::{Name, Namespace};

/// Which PlacementDecisions list the regions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Placement {
    /// Their namespace.
    pub namespace: Namespace,
    /// Which of those in it.
    pub by: PlacementBy,
}

/// Which PlacementDecisions of a namespace are meant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlacementBy {
    /// All slices with this decision key.
    Key(String),
    /// The one of this name.
    Name(Name),
}

/// The placement in words, after `placement`.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            PlacementBy::Key(key) => write!(f, "{}, decision key {key}", self.namespace),
            PlacementBy::Name(name) => write!(f, "{}/{name}", self.namespace),
        }
    }
}
