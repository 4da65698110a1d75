//! Placements: lists of regions that a scheduler keeps, and the configuration names.
//!
//! A PlacementDecision names ClusterProfiles; which regions these are, the ties of the configuration say. So a placement
//! chooses among the regions that there are, and never makes one.
//!
//! <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/5313-placement-decision-api>

use alloc::string::String;
use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::setting::{Show, given, one_of, read_as};
use crate::name::{Name, Namespace};
use crate::yaml::emit::Tree;

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

/// PlacementDecisions that list ClusterProfiles, which only a source with `clusterScoped` can provide. They stand for
/// the regions that are tied to these ClusterProfiles. Exactly one of `decisionKey` and `name` says which of the namespace.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(&["decisionKey", "name"], WHICH, WHICH).at_key()))]
struct PlacementFile {
    /// The namespace of the PlacementDecisions.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Namespace,
    /// The value of their label `multicluster.x-k8s.io/decision-key`: all slices that have it, together.
    #[schemars(extend("x-check" = "decision-key"))]
    decision_key: Option<String>,
    /// The name of a single PlacementDecision.
    #[schemars(extend("x-check" = "object-name"))]
    name: Option<Name>,
}

const WHICH: [&str; 2] =
    ["it is not said which PlacementDecisions of the namespace are meant", "Write either `decisionKey` or `name`."];

read_as!(Placement as PlacementFile);

impl From<PlacementFile> for Placement {
    fn from(file: PlacementFile) -> Self {
        let PlacementFile { namespace, decision_key, name } = file;
        let by = name.map_or_else(|| PlacementBy::Key(decision_key.unwrap_or_default()), PlacementBy::Name);
        Self { namespace, by }
    }
}

impl Show for Placement {
    fn show(&self) -> Option<Tree<'_>> {
        let by = match &self.by {
            PlacementBy::Key(key) => ("decisionKey", key.show()),
            PlacementBy::Name(name) => ("name", name.show()),
        };
        Some(given([("namespace", self.namespace.show()), by]))
    }
}
