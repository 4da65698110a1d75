//! Staged: a run as it is staged beside the bundles, by the trees that it would publish and a record of what becomes of them.
//!
//! Whatever the run comes to, the next one reads the record and knows which files of the trees are pouch's.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::name::Directory;

/// The record's name in the staging folder. It appears when all is staged; without it nothing was exchanged yet.
pub const RECORD: &str = "staged.json";

/// The changes of the output, by paths in the trees and in the output alike.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Staged {
    /// The regions whose folders are exchanged.
    pub regions: BTreeMap<Directory, Region>,
    /// The fleet-wide files that are written.
    pub shared: BTreeSet<String>,
    /// The fleet-wide files that are removed.
    pub removed: BTreeSet<String>,
}

/// The paths of one region's files, before and after.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Those that are published.
    pub before: BTreeSet<String>,
    /// Those that take their place.
    pub after: BTreeSet<String>,
}

impl Staged {
    /// Returns true where nothing becomes of anything.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty() && self.shared.is_empty() && self.removed.is_empty()
    }

    /// Every path that it names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let regions = self.regions.values().flat_map(|region| region.before.iter().chain(&region.after));
        regions.chain(&self.shared).chain(&self.removed).map(String::as_str)
    }

    /// The record's bytes.
    ///
    /// # Errors
    /// Never in practice: it has texts alone.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// The record in a file; none where the file holds something else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_run_reads_what_was_staged() {
        let paths = |paths: &[&str]| paths.iter().map(|path| String::from(*path)).collect::<BTreeSet<String>>();
        let region = Region { before: paths(&["regions/eu/a"]), after: paths(&["regions/eu/b", "regions/eu/\u{85}"]) };
        let staged = Staged {
            regions: [("eu".into(), region)].into(),
            shared: paths(&[".gitattributes"]),
            removed: paths(&["argocd/fleet.yaml"]),
        };
        let bytes = staged.to_bytes().unwrap();
        assert_eq!(Staged::read(&bytes), Some(staged));
        assert_eq!(Staged::read(&bytes[..bytes.len() - 1]), None);
        let read = Staged::read(&bytes).unwrap();
        let all: Vec<&str> = read.paths().collect();
        assert_eq!(all, ["regions/eu/a", "regions/eu/b", "regions/eu/\u{85}", ".gitattributes", "argocd/fleet.yaml"]);
        assert!(!read.is_empty() && Staged::default().is_empty());
    }
}
