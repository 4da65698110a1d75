//! Applied: what `deliver` did to a region, as summary and metrics have it.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Serialize;

use super::record::ObjectRecord;
use crate::region::change::Action;

/// A region that was brought its bundle, or would be.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedRegion {
    /// The region.
    pub region: String,
    /// Its folder.
    pub directory: String,
    /// Objects in the bundle, Namespaces not counted.
    pub objects: usize,
    /// Objects of the bundle that were as it says.
    pub unchanged: usize,
    /// Objects that could not be brought or taken away: the region refused them or did not answer, does not serve their kind,
    /// or has them of another bundle; or they waited for one of these. What findings tell is not counted: what others keep in
    /// an object, and what stays behind as something may point to it.
    pub failed: usize,
    /// Whether deletions were held, of what left the bundle or of what would be made anew; a finding says which.
    pub held: bool,
    /// What became of which object, in the order in which it happened; Namespaces are among them.
    pub changes: Vec<AppliedRecord>,
    /// Why objects could not be brought or taken away.
    pub troubles: Vec<TroubleRecord>,
}

/// One object that was changed on the region, or would be.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedRecord {
    /// `added`, `changed` or `withdrawn`.
    pub action: Action,
    /// The object.
    pub object: ObjectRecord,
}

/// Why something could not be brought or taken away.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TroubleRecord {
    /// The object; absent where it is about several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRecord>,
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub help: String,
}

impl AppliedRegion {
    /// How many objects are `added`, `changed` or `withdrawn`, Namespaces not counted.
    pub fn count(&self, action: Action) -> usize {
        let is_namespace = |object: &ObjectRecord| object.group == "" && object.kind == "Namespace";
        self.changes.iter().filter(|change| change.action == action && !is_namespace(&change.object)).count()
    }

    /// The objects by what became of them, each with its word. What is withdrawn is of the bundle no more.
    pub fn outcomes(&self) -> [(&'static str, usize); 5] {
        [
            ("unchanged", self.unchanged),
            (Action::Added.word(), self.count(Action::Added)),
            (Action::Changed.word(), self.count(Action::Changed)),
            (Action::Withdrawn.word(), self.count(Action::Withdrawn)),
            ("failed", self.failed),
        ]
    }
}
