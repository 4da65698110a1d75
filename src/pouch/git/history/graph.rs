//! The commits of a history, in the order in which they are walked.
//!
//! Which commits count, and which of them show what stood before looking began. Folders are not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use git2::{ErrorCode, Oid, Reference, Repository};

use super::{HistoryError, Since, Wanted};
use crate::git::objects::ObjectsError;

/// A commit as the walk needs it.
pub(super) struct Commit {
    pub(super) id: Oid,
    pub(super) tree: Oid,
    pub(super) seconds: i64,
    pub(super) parents: Vec<usize>,
    pub(super) has_children: bool,
    pub(super) or_before: bool,
}

/// The commits that are looked at, parents before children; of several that could be next, the older.
pub(super) struct Graph {
    pub(super) commits: Vec<Commit>,
    pub(super) references: usize,
    pub(super) called: String,
    pub(super) current: Option<usize>,
}

impl Graph {
    pub(super) fn of(repository: &Repository, wanted: &Wanted<'_>) -> Result<Self, HistoryError> {
        let mut starts = BTreeSet::new();
        let mut references = 0_usize;
        for revision in wanted.revisions {
            references = references.saturating_add(1);
            starts.insert(commit_of(repository, revision)?);
        }
        if wanted.revisions.is_empty() {
            for reference in repository.references()? {
                let commit = led_to(&reference?)?;
                references = references.saturating_add(usize::from(commit.is_some()));
                starts.extend(commit);
            }
        }
        let existing = |name: &&String| repository.revparse_single(name).is_ok();
        let (called, current) = match wanted.current.iter().find(existing).or_else(|| wanted.revisions.first()) {
            Some(name) => (name.clone(), Some(commit_of(repository, name)?)),
            None => {
                let head = repository.head().ok();
                let name = head.as_ref().and_then(|head| head.shorthand().ok().map(str::to_owned));
                let commit = head.as_ref().map(led_to).transpose()?.flatten();
                (name.unwrap_or_else(|| "HEAD".to_owned()), commit)
            }
        };
        starts.extend(current);
        let mut found = Found { repository, infos: BTreeMap::new() };
        let mut members: BTreeSet<Oid> = BTreeSet::new();
        let mut stack: Vec<Oid> = starts.into_iter().collect();
        let mut hidden = BTreeSet::new();
        if let Some(Since::Revision(revision)) = &wanted.since {
            let from = commit_of(repository, revision)?;
            let mut above = vec![from];
            while let Some(id) = above.pop() {
                if hidden.insert(id) {
                    above.extend(found.info(id)?.parents.iter().copied());
                }
            }
            members.insert(from);
        }
        let earliest = if let Some(Since::Time(seconds)) = wanted.since { seconds } else { i64::MIN };
        // Commits whose parents are looked at too; the others show what stood when looking began.
        let mut inner: BTreeSet<Oid> = BTreeSet::new();
        let mut seen: BTreeSet<Oid> = BTreeSet::new();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let info = found.info(id)?;
            let counts = !hidden.contains(&id) && info.seconds >= earliest;
            if counts {
                members.insert(id);
                members.extend(info.parents.iter().copied());
                inner.insert(id);
            }
            // A clock may have stood wrong: an older commit can have a newer parent.
            if !hidden.contains(&id) {
                stack.extend(info.parents.iter().copied());
            }
        }
        members.extend(current);
        Self { commits: Vec::new(), references, called, current: None }.ordered(found, members, &inner, current)
    }

    fn ordered(
        mut self,
        mut found: Found<'_>,
        members: BTreeSet<Oid>,
        inner: &BTreeSet<Oid>,
        current: Option<Oid>,
    ) -> Result<Self, HistoryError> {
        let mut children: BTreeMap<Oid, Vec<Oid>> = BTreeMap::new();
        let mut waiting: BTreeMap<Oid, usize> = BTreeMap::new();
        let mut ready = BTreeSet::new();
        for id in &members {
            let info = found.info(*id)?;
            // One commit may name a parent twice.
            let parents: BTreeSet<Oid> = match inner.contains(id) {
                true => info.parents.iter().copied().collect(),
                false => BTreeSet::new(),
            };
            if parents.is_empty() {
                ready.insert((info.seconds, *id));
            }
            waiting.insert(*id, parents.len());
            for parent in parents {
                children.entry(parent).or_default().push(*id);
            }
        }
        let mut numbers: BTreeMap<Oid, usize> = BTreeMap::new();
        while let Some((seconds, id)) = ready.pop_first() {
            let info = found.info(id)?;
            let is_inner = inner.contains(&id);
            let parents = info.parents.iter().filter(|_| is_inner).filter_map(|parent| numbers.get(parent).copied());
            let parents: Vec<usize> = parents.collect();
            numbers.insert(id, self.commits.len());
            self.commits.push(Commit {
                id,
                tree: info.tree,
                seconds,
                parents,
                has_children: children.contains_key(&id),
                or_before: !is_inner && !info.parents.is_empty(),
            });
            for child in children.get(&id).into_iter().flatten() {
                let left = waiting.entry(*child).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.insert((found.info(*child)?.seconds, *child));
                }
            }
        }
        self.current = current.and_then(|id| numbers.get(&id).copied());
        Ok(self)
    }
}

/// The commit that a reference leads to. One that leads nowhere yet, or to something else, holds no bundle; one
/// whose object is gone held something that nobody can tell.
fn led_to(reference: &Reference<'_>) -> Result<Option<Oid>, HistoryError> {
    let Ok(resolved) = reference.resolve() else { return Ok(None) };
    match resolved.peel_to_commit() {
        Ok(commit) => Ok(Some(commit.id())),
        Err(error) if error.code() == ErrorCode::NotFound => Err(ObjectsError::Missing.into()),
        Err(_) => Ok(None),
    }
}

fn commit_of(repository: &Repository, revision: &str) -> Result<Oid, HistoryError> {
    let found = repository.revparse_single(revision).and_then(|object| object.peel_to_commit());
    found.map(|commit| commit.id()).map_err(|error| match error.code() {
        ErrorCode::NotFound | ErrorCode::InvalidSpec | ErrorCode::Peel => {
            let names = repository.references().into_iter().flatten().flatten();
            let short = |reference: git2::Reference<'_>| reference.shorthand().ok().map(str::to_owned);
            let known = names.filter_map(short).collect();
            ObjectsError::NoReference { reference: revision.to_owned(), known }.into()
        }
        _ => error.into(),
    })
}

/// Commits, each read once.
struct Found<'r> {
    repository: &'r Repository,
    infos: BTreeMap<Oid, Info>,
}

#[derive(Clone)]
struct Info {
    tree: Oid,
    seconds: i64,
    parents: Rc<[Oid]>,
}

impl Found<'_> {
    fn info(&mut self, id: Oid) -> Result<Info, HistoryError> {
        if let Some(info) = self.infos.get(&id) {
            return Ok(info.clone());
        }
        let commit = self.repository.find_commit(id)?;
        let info =
            Info { tree: commit.tree_id(), seconds: commit.time().seconds(), parents: commit.parent_ids().collect() };
        self.infos.insert(id, info.clone());
        Ok(info)
    }
}
