//! The ancestors of a commit, newest first, as far as they were fetched.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use git2::{Oid, Repository};

use super::header;
use super::objects::{Id, ObjectsError};

/// A commit as it was made.
pub struct Ancestor {
    /// Its id.
    pub id: Id,
    /// The id of its parent; empty where it has none, or several.
    pub parent: String,
    /// The id of its tree.
    pub tree: String,
    /// When it was committed, in seconds since 1970-01-01 UTC.
    pub seconds: i64,
    /// Its message; empty if that is no UTF-8.
    pub message: String,
}

/// The history that ends in `tip`, as far as it was fetched and has at most `most` commits, children before parents; and
/// whether that is all.
///
/// # Errors
/// Where a commit cannot be read.
pub fn ancestors(path: &Path, tip: Id, most: usize) -> Result<(Vec<Ancestor>, bool), ObjectsError> {
    // Opened anew: what was fetched since is seen. libgit2's own walk stumbles over the end of what was fetched.
    let repository = Repository::open_bare(path)?;
    let odb = repository.odb()?;
    let mut commits: BTreeMap<Oid, (Ancestor, Vec<Oid>)> = BTreeMap::new();
    let mut is_whole = true;
    let mut next = VecDeque::from([tip.0]);
    while let Some(id) = next.pop_front() {
        if commits.contains_key(&id) {
            continue;
        }
        if commits.len() >= most || !odb.exists(id) {
            is_whole = false;
            continue;
        }
        let (ancestor, parents) = ancestor(&repository, id)?;
        next.extend(parents.iter().copied());
        commits.insert(id, (ancestor, parents));
    }
    let mut children: BTreeMap<Oid, usize> = BTreeMap::new();
    for parent in commits.values().flat_map(|(_, parents)| parents) {
        *children.entry(*parent).or_default() += 1;
    }
    // The newest of those whose children all came before.
    let mut ready = BTreeSet::from([(commits.get(&tip.0).map(|(tip, _)| tip.seconds), tip.0)]);
    let mut found = Vec::new();
    while let Some((_, id)) = ready.pop_last() {
        let Some((ancestor, parents)) = commits.remove(&id) else { continue };
        for parent in parents {
            let Some(count) = children.get_mut(&parent) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                ready.insert((commits.get(&parent).map(|(parent, _)| parent.seconds), parent));
            }
        }
        found.push(ancestor);
    }
    Ok((found, is_whole))
}

fn ancestor(repository: &Repository, id: Oid) -> Result<(Ancestor, Vec<Oid>), ObjectsError> {
    let commit = header::read(repository, id)?;
    let (parent, tree) = (commit.only_parent(), commit.tree.to_string());
    let ancestor = Ancestor { id: Id(id), parent, tree, seconds: commit.seconds, message: commit.message };
    Ok((ancestor, commit.parents))
}
