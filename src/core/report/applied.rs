//! Applied: what `apply` did to a region, as summary and metrics have it.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Serialize;

use super::record::ObjectRecord;
use super::summary::Word;

/// A region that was brought its bundle.
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
    /// Objects that are not as they should be after the run: of the bundle, or that left it and could not be taken away.
    pub failed: usize,
    /// Whether withdrawals were held; a finding says which.
    pub held: bool,
    /// What became of which object, in the order in which it happened; Namespaces are among them.
    pub changes: Vec<AppliedRecord>,
    /// What the region refused or did not answer, object by object.
    pub troubles: Vec<TroubleRecord>,
}

/// One object that was changed on the region, or would be.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedRecord {
    /// `added`, `changed` or `withdrawn`.
    pub action: Word,
    /// The object.
    pub object: ObjectRecord,
}

/// Something that the region refused or did not answer.
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
    pub fn count(&self, action: &str) -> usize {
        let is_namespace = |object: &ObjectRecord| object.group == "" && object.kind == "Namespace";
        self.changes.iter().filter(|change| change.action == action && !is_namespace(&change.object)).count()
    }

    /// The objects by what became of them, each with its word. What is withdrawn is of the bundle no more.
    pub fn outcomes(&self) -> [(&'static str, usize); 5] {
        [
            ("unchanged", self.unchanged),
            ("added", self.count("added")),
            ("changed", self.count("changed")),
            ("withdrawn", self.count("withdrawn")),
            ("failed", self.failed),
        ]
    }
}
