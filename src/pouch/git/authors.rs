//! Authors: the names in the commits that one commit has and another does not.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use git2::{Oid, Repository};

use super::header::{self, Header};
use super::objects::Store;

/// The most commits that are looked at on either side: a history that was rewritten must not cost all of it each time.
const MOST: usize = 4096;

/// Gives the authors of all commits that lead to `new` and not to `old`, those of the newest commits first; none where one of
/// the two is not there.
pub fn between(store: &Store, new: &str, old: &str) -> Option<Vec<String>> {
    let repository = store.repository();
    let (new, old) = (Oid::from_str(new).ok()?, Oid::from_str(old).ok()?);
    let mut known = BTreeSet::new();
    walk(repository, old, &BTreeSet::new(), |id, _| _ = known.insert(id))?;
    let mut names = Vec::new();
    walk(repository, new, &known, |_, commit| names.push(commit.author))?;
    Some(names)
}

/// Visits a commit and those before it, the newest first, but for `known` ones and what is behind them. What was not fetched
/// ends the way. None where the first is not there.
fn walk(repository: &Repository, from: Oid, known: &BTreeSet<Oid>, mut visit: impl FnMut(Oid, Header)) -> Option<()> {
    let read = |id: Oid| header::read(repository, id).ok();
    let first = read(from)?;
    let mut seen = BTreeSet::from([from]);
    // Of those of one second, the first that leads there.
    let mut next = BinaryHeap::from([(first.seconds, Reverse(0), from)]);
    let mut left = MOST;
    while let Some((_, _, id)) = next.pop()
        && left > 0
    {
        let Some(commit) = read(id).filter(|_| !known.contains(&id)) else { continue };
        left = left.saturating_sub(1);
        for parent in &commit.parents {
            if seen.insert(*parent)
                && let Some(commit) = read(*parent)
            {
                next.push((commit.seconds, Reverse(seen.len()), *parent));
            }
        }
        visit(id, commit);
    }
    Some(())
}
