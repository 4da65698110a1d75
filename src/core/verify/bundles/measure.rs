//! What a tree of bundles is judged by.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::tree::{Above, TreeScope};
use crate::config::Fleet;
use crate::destination;
use crate::finding::{Code, Finding, Origin, Place};
use crate::name::SourceName;
use crate::recipient::{Recipient, shown};
use crate::reuse::KeyRing;

/// What a tree is judged by.
pub struct Measure<'a> {
    /// The configuration; without one only the tree's own words are held against each other.
    pub fleet: Option<&'a Fleet>,
    /// The reuse keys; without them nobody vouches for a manifest.
    pub keys: Option<&'a KeyRing>,
    /// How much is asked about.
    pub scope: TreeScope,
    /// What stands before a path of the tree where it is shown: a folder, or a revision and a folder.
    pub shown: String,
    /// What git and Flux are told of the tree's folder from further up.
    pub above: Vec<Above>,
}

impl Measure<'_> {
    /// A recipient as people know it.
    pub(super) fn called(&self, recipient: &Recipient) -> String {
        let key = recipient.as_str();
        shown(self.fleet.and_then(|fleet| fleet.readers.name(key)), key)
    }

    /// Whether a region of the configuration has a folder.
    pub(super) fn knows(&self, folder: &str) -> bool {
        self.fleet.is_some_and(|fleet| destination::all(fleet).any(|to| *to.directory() == *folder))
    }

    /// A finding with its place in the tree.
    pub(super) fn find(&self, code: Code, path: &str, line: usize, message: impl Into<String>) -> Finding {
        at(Finding::new(code, message), format!("{}{path}", self.shown), line)
    }
}

/// Gives a finding its place.
pub(super) fn at(finding: Finding, path: String, line: usize) -> Finding {
    let line = u32::try_from(line).unwrap_or(u32::MAX).max(1);
    let place = Place::File { path: Arc::from(path), line, column: 1 };
    finding.at(&Origin { source: SourceName::from("bundles"), place })
}
