//! The commits of a history, in the order in which they are walked.
//!
//! It tells which commits count, and which of them show the state before the walk began. Folders are not known
//! here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use git2::{ErrorCode, ObjectType, Oid, Reference, Repository, RepositoryOpenFlags};

use super::asked::{HistoryError, Since, Wanted};
use super::passed::PassedOver;
use crate::git::header::{self, Header, Peeled};
use crate::git::objects::{Kind, named, opened};
use crate::stop::Stop;

/// A commit as the walk needs it; or a folder or file that a reference leads to without a commit.
pub(super) struct Commit {
    pub(super) id: Oid,
    /// What it holds: a folder or a file.
    pub(super) holds: Oid,
    /// What it is, if a reference leads to it without a commit.
    pub(super) loose: Option<Kind>,
    /// None if unknown.
    pub(super) seconds: Option<i64>,
    pub(super) parents: Vec<usize>,
    pub(super) has_children: bool,
    pub(super) or_before: bool,
}

/// The commits that are looked at, parents before children; of several that could be next, the older comes
/// first.
pub(super) struct Graph {
    pub(super) commits: Vec<Commit>,
    pub(super) references: usize,
    pub(super) called: String,
    pub(super) current: Option<usize>,
    pub(super) passed: PassedOver,
}

impl Graph {
    pub(super) fn of(repository: &Repository, wanted: &Wanted<'_>, stop: &Stop) -> Result<Self, HistoryError> {
        let mut found = Found { repository, infos: BTreeMap::new(), passed: PassedOver::default(), stop };
        let mut starts = BTreeSet::new();
        let mut references = 0_usize;
        for revision in wanted.revisions {
            references = references.saturating_add(1);
            starts.insert(found.named(revision)?);
        }
        if wanted.revisions.is_empty() {
            for target in targets(repository)? {
                starts.extend(found.start_if_any(target)?);
                references = references.saturating_add(1);
            }
        }
        let existing = |name: &&String| named(repository, name).is_ok();
        let (called, current) = match wanted.current.iter().find(existing).or_else(|| wanted.revisions.first()) {
            Some(name) => (name.clone(), Some(found.named(name)?)),
            None => {
                let head = repository.head().ok();
                let name = head.as_ref().and_then(|head| head.shorthand().ok().map(str::to_owned));
                let target = head.as_ref().and_then(target);
                let commit = target.map(|target| found.start_if_any(target)).transpose()?.flatten();
                (name.unwrap_or_else(|| "HEAD".to_owned()), commit)
            }
        };
        starts.extend(current);
        let mut members: BTreeSet<Oid> = BTreeSet::new();
        let mut stack: Vec<Oid> = starts.into_iter().collect();
        let mut hidden = BTreeSet::new();
        if let Some(Since::Revision(revision)) = &wanted.since {
            let from = found.named(revision)?;
            let mut above = vec![from];
            while let Some(id) = above.pop() {
                if hidden.insert(id) {
                    above.extend(found.info(id)?.parents.iter().copied());
                }
            }
            members.insert(from);
        }
        let earliest = if let Some(Since::Time(seconds)) = wanted.since { seconds } else { i64::MIN };
        // Commits whose parents are looked at too; the others show the state when the walk began.
        let mut inner: BTreeSet<Oid> = BTreeSet::new();
        let mut seen: BTreeSet<Oid> = BTreeSet::new();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let info = found.info(id)?;
            let counts = !hidden.contains(&id) && info.seconds.is_none_or(|seconds| seconds >= earliest);
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
        let passed = PassedOver::default();
        Self { commits: Vec::new(), references, called, current: None, passed }.ordered(found, members, &inner, current)
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
        while let Some((_, id)) = ready.pop_first() {
            let info = found.info(id)?;
            let is_inner = inner.contains(&id);
            let parents = info.parents.iter().filter(|_| is_inner).filter_map(|parent| numbers.get(parent).copied());
            let parents: Vec<usize> = parents.collect();
            let is_cut = info.parents.iter().any(|parent| found.infos.get(parent).is_some_and(|it| it.holds.is_zero()));
            numbers.insert(id, self.commits.len());
            self.commits.push(Commit {
                id,
                holds: info.holds,
                loose: info.loose,
                seconds: info.seconds,
                parents,
                has_children: children.contains_key(&id),
                or_before: info.loose.is_some() || is_cut || (!is_inner && !info.parents.is_empty()),
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
        self.passed = found.passed;
        Ok(self)
    }
}

/// The targets of all references, of whatever kind, and of all detached heads.
///
/// Each work tree that is linked to a repository has a head and references of its own; what they lead to is
/// kept as long.
fn targets(repository: &Repository) -> Result<Vec<Oid>, HistoryError> {
    let open = |path: &Path| opened(path, RepositoryOpenFlags::NO_SEARCH);
    let common = open(repository.commondir())?;
    let mut found = Vec::new();
    for reference in common.references()? {
        found.extend(target(&reference?));
    }
    found.extend(detached(&common, "HEAD")?);
    for name in &common.worktrees()? {
        let Some(name) = name? else { continue };
        found.extend(detached(&common, &format!("worktrees/{name}/HEAD"))?);
        let linked = open(&common.path().join("worktrees").join(name))?;
        for own in ["refs/bisect/*", "refs/rewritten/*", "refs/worktree/*"] {
            for reference in linked.references_glob(own)? {
                found.extend(target(&reference?));
            }
        }
    }
    Ok(found)
}

/// What a reference leads to; nothing where it leads nowhere yet.
fn target(reference: &Reference<'_>) -> Option<Oid> {
    reference.resolve().ok()?.target()
}

/// The target of a head, if the head is detached.
fn detached(repository: &Repository, name: &str) -> Result<Option<Oid>, HistoryError> {
    match repository.find_reference(name) {
        Ok(head) => Ok(head.target()),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What references lead to, each object read once.
struct Found<'r> {
    repository: &'r Repository,
    infos: BTreeMap<Oid, Info>,
    passed: PassedOver,
    stop: &'r Stop,
}

#[derive(Clone)]
struct Info {
    /// No object at all for a commit that is passed over.
    holds: Oid,
    loose: Option<Kind>,
    seconds: Option<i64>,
    parents: Rc<[Oid]>,
}

impl Found<'_> {
    /// What a commit says.
    ///
    /// Every long walk asks here for each commit, so here it notices that the run should end: a run that is cut
    /// off leaves behind the repository that was fetched.
    fn info(&mut self, id: Oid) -> Result<Info, HistoryError> {
        self.stop.check()?;
        if let Some(info) = self.infos.get(&id) {
            return Ok(info.clone());
        }
        let info = match self.passed.read(self.repository, id)? {
            Some(Header { tree, parents, seconds, .. }) => {
                Info { holds: tree, loose: None, seconds: Some(seconds), parents: parents.into() }
            }
            None => Info { holds: Oid::ZERO_SHA1, loose: None, seconds: None, parents: Rc::new([]) },
        };
        self.infos.insert(id, info.clone());
        Ok(info)
    }

    /// What a revision leads to.
    fn named(&mut self, revision: &str) -> Result<Oid, HistoryError> {
        Ok(self.start(header::peel(self.repository, named(self.repository, revision)?)?))
    }

    /// Begins with what an object leads to; none where a tag on the way is passed over.
    fn start_if_any(&mut self, object: Oid) -> Result<Option<Oid>, HistoryError> {
        match header::peel(self.repository, object) {
            Err(error) if header::is_odd(&error) => {
                self.passed.add(&format!("tag {object}"), "it is none that git makes");
                Ok(None)
            }
            peeled => Ok(Some(self.start(peeled?))),
        }
    }

    /// Begins with the commit that tags lead to, or the folder or file if they lead to no commit: every clone of the
    /// repository has that too. A folder or file is as old as its oldest tag, or older.
    fn start(&mut self, Peeled { id, kind, tagged }: Peeled) -> Oid {
        let loose = match kind {
            ObjectType::Tree => Kind::Folder,
            ObjectType::Blob => Kind::File,
            _ => return id,
        };
        let new = Info { holds: id, loose: Some(loose), seconds: tagged, parents: Rc::new([]) };
        let info = self.infos.entry(id).or_insert(new);
        info.seconds = info.seconds.into_iter().chain(tagged).min();
        id
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use git2::Signature;

    use super::*;
    use crate::stop::Stopped;

    #[test]
    fn a_run_that_should_end_goes_through_no_more_commits() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let tree = repository.find_tree(repository.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let who = Signature::now("a", "a@example.com").unwrap();
        repository.commit(Some("HEAD"), &who, &who, "x", &tree, &[]).unwrap();
        let (wanted, stop) = (Wanted { revisions: &[], since: None, current: &[] }, Stop::never());
        assert_eq!(Graph::of(&repository, &wanted, &stop).map(|graph| graph.commits.len()), Ok(1));
        stop.flag().store(true, Ordering::SeqCst);
        assert_eq!(Graph::of(&repository, &wanted, &stop).err(), Some(HistoryError::Stopped(Stopped)));
    }
}
