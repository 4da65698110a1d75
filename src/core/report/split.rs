//! What is told of leaves that are split.

use alloc::string::{String, ToString as _};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Text;
use crate::listing::counted;
use crate::region::change::Split;

/// What a consumer applies at once that is split, or in more parts than before.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SplitRecord {
    /// `core`, `namespaces`, or the folder of a kind, `<kind>.<group>`.
    pub leaf: String,
    /// In how many parts it is.
    pub parts: u32,
    /// How many files of objects move as they are.
    pub files: usize,
}

impl From<&Split> for SplitRecord {
    fn from(split: &Split) -> Self {
        Self { leaf: split.leaf.to_string(), parts: split.parts, files: split.files }
    }
}

impl SplitRecord {
    /// The line that tells of it.
    pub fn line(&self) -> Text {
        let parts = counted(usize::try_from(self.parts).unwrap_or(usize::MAX), "part", "parts");
        let moved = match self.files {
            0 => String::from("no file moves"),
            1 => String::from("1 file moves"),
            count => format!("{count} files move"),
        };
        format!("{:9}  {} in {parts}: {moved}, nothing is sealed anew for it", "split", self.leaf).into()
    }
}
