//! Parts of a history that are not looked into, and why.

use std::collections::BTreeSet;

use pouch_core::history::{Skipped, SkippedFile};

use crate::git::objects::Kind;

/// The most of them that are kept apart. All are counted: of a hostile history there may be millions.
const MOST_KEPT: usize = 10_000;

/// The most that are named.
const MOST_NAMED: usize = 20;

/// Why a commit is passed over.
pub(super) const ODD_COMMIT: &str =
    "it names no folder, or is larger than 128 MiB; what came before it is not looked at";

/// A commit among paths.
pub(super) fn commit_called(id: git2::Oid) -> String {
    format!("commit {id}")
}

/// Files, folders and commits that are not looked into.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PassedOver {
    first: BTreeSet<SkippedFile>,
    more: usize,
}

impl PassedOver {
    /// Notes one: a path, or a commit.
    pub fn add(&mut self, what: &str, why: &str) {
        let new = SkippedFile { path: what.to_owned(), why: why.to_owned() };
        if self.first.len() < MOST_KEPT {
            self.first.insert(new);
        } else if !self.first.contains(&new) {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Notes something that is no file.
    pub fn add_kind(&mut self, path: &str, kind: Kind) {
        match kind {
            Kind::Link => self.add(path, "it is a symlink, and none is followed"),
            Kind::Submodule => self.add(path, "it is a submodule, which is a repository of its own"),
            Kind::File | Kind::Folder => {}
        }
    }

    /// Notes those of another part.
    pub fn absorb(&mut self, other: Self) {
        other.first.iter().for_each(|one| self.add(&one.path, &one.why));
        self.more = self.more.saturating_add(other.more);
    }

    /// Counts them, and names the first.
    pub fn told(self) -> Skipped {
        let count = self.first.len().saturating_add(self.more);
        Skipped { count, files: self.first.into_iter().take(MOST_NAMED).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_few_are_kept() {
        let mut passed = PassedOver::default();
        for number in 0..MOST_KEPT + 5 {
            passed.add(&format!("a{number:06}"), "x");
            passed.add("a000000", "x");
        }
        assert_eq!(passed.first.len(), MOST_KEPT);
        let mut other = PassedOver::default();
        other.add("b", "y");
        other.absorb(passed);
        let told = other.told();
        assert_eq!((told.count, told.files.len()), (MOST_KEPT + 6, MOST_NAMED));
    }
}
