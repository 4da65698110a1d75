//! Parts of a history that are not looked into, and why.

use std::collections::BTreeSet;

use git2::{Oid, Repository};

use crate::git::header::{self, Header};
use crate::git::objects::Kind;

/// The most of them that are kept apart. All are counted: of a hostile history there may be millions.
const MOST_KEPT: usize = 10_000;

/// The reason why a commit is passed over.
const ODD_COMMIT: &str = "it names no folder, or is larger than 128 MiB; what came before it is not looked at";

/// A commit among paths.
pub(super) fn commit_called(id: Oid) -> String {
    format!("commit {id}")
}

/// A file, folder or commit that is not looked into.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Passed {
    /// Its path; `commit` or `tag` and an id where it is one.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// All that is not looked into.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PassedOver {
    first: BTreeSet<Passed>,
    more: usize,
}

impl PassedOver {
    /// Notes one.
    pub fn add(&mut self, what: &str, why: &str) {
        let new = Passed { what: what.to_owned(), why: why.to_owned() };
        if self.first.len() < MOST_KEPT {
            self.first.insert(new);
        } else if !self.first.contains(&new) {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Reads a commit; none if it is passed over.
    pub(super) fn read(&mut self, repository: &Repository, id: Oid) -> Result<Option<Header>, git2::Error> {
        match header::read(repository, id) {
            Err(error) if header::is_odd(&error) => {
                self.add(&commit_called(id), ODD_COMMIT);
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Notes a symlink or a submodule.
    pub fn add_kind(&mut self, path: &str, kind: Kind) {
        match kind {
            Kind::Link => self.add(path, "it is a symlink, and none is followed"),
            Kind::Submodule => self.add(path, "it is a submodule, which is a repository of its own"),
            Kind::File | Kind::Folder => {}
        }
    }

    /// Notes those of another part.
    pub fn absorb(&mut self, other: Self) {
        other.first.iter().for_each(|one| self.add(&one.what, &one.why));
        self.more = self.more.saturating_add(other.more);
    }

    /// The number of all.
    pub fn count(&self) -> usize {
        self.first.len().saturating_add(self.more)
    }

    /// The first ones, sorted.
    pub fn first(self) -> impl Iterator<Item = Passed> {
        self.first.into_iter()
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
        assert_eq!((other.count(), other.first().count()), (MOST_KEPT + 6, MOST_KEPT));
    }
}
