//! What the history of a branch says of its regions.
//!
//! Only the tip is fetched at first. Where something of a region changes, the branch is deepened until the last commit
//! of pouch's own and one that is older than the window are known; both are mostly among the first few. A commit is
//! pouch's own if its last line proves it. In a history without any such commit, made by a release that wrote none or
//! rewritten since, manifests that a reuse key authenticates take their place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pouch_core::config::Acceptance;
use pouch_core::layout::form::MOST_BYTES;
use pouch_core::layout::manifest::Manifest;
use pouch_core::layout::path::{self, BundlePath};
use pouch_core::name::{Directory, ObjectKey};
use pouch_core::region::history::{History, Past};
use pouch_core::region::published::{Files, Published, authentic};
use pouch_core::reuse::{Made, Under, commit_under, commit_verifies};
use pouch_core::stamp::{SourceStamp, Stamp};

use super::tree::{damaged, read_into};
use crate::git;
use crate::git::ancestors::{Ancestor, ancestors};
use crate::git::objects::{Budget, Id, Kind, ObjectsError, Store};
use crate::git::program::Git;
use crate::shelf::{HistoryQuery, ShelfError, folders};
use crate::text::{ACCEPTED, PUT_BACK, SOURCE, UNPROVED, trailers, values};

/// How many more commits are fetched at first; each time after that, four times as many.
const FIRST: usize = 32;

/// The most commits that are looked at.
const MOST: usize = 4096;

/// After how many commits an older one need not be pouch's own to begin the window: the branch may be that of a large
/// repository, in which pouch began to publish a moment ago.
const MANY: usize = 1024;

/// The commits of a branch, newest first, as far as they are known.
#[derive(Default)]
pub(super) struct Lineage {
    commits: Vec<Commit>,
    is_whole: bool,
    /// How many commits were asked for last.
    depth: usize,
}

/// What one commit says of itself.
struct Commit {
    id: Id,
    seconds: i64,
    /// Whether pouch made it.
    is_own: bool,
    /// Whether the current reuse key says so.
    is_current: bool,
    /// The folders of regions that pouch did not look at when it made the commit, or left as they were.
    unproved: BTreeSet<String>,
    /// Those of them that pouch withdrew before, and somebody put back.
    put_back: BTreeSet<String>,
    /// What was accepted in it.
    accepted: Vec<Acceptance>,
    /// What its message names anywhere as accepted. What was squashed or quoted counts as spent, and lets nothing through.
    named: Vec<Acceptance>,
    /// What was read for it.
    sources: Vec<SourceStamp>,
}

impl Commit {
    fn of(ancestor: &Ancestor, fetched: &Fetched<'_>, asked: &HistoryQuery<'_>) -> Self {
        let Ancestor { id, parent, tree, seconds, message } = ancestor;
        let made = Made { branch: fetched.branch, path: fetched.prefix, parent, tree, seconds: *seconds };
        let (trailers, named) = (trailers(message), values(message, ACCEPTED));
        let folders = |name| values(trailers, name).flat_map(str::split_whitespace).map(str::to_owned).collect();
        Self {
            id: *id,
            seconds: *seconds,
            is_own: commit_verifies(asked.keys, asked.fleet, made, message),
            is_current: commit_under(asked.keys, asked.fleet, made, message) == Some(Under::Current),
            unproved: folders(UNPROVED),
            put_back: folders(PUT_BACK),
            accepted: values(trailers, ACCEPTED).filter_map(Acceptance::of_trailer).collect(),
            named: named.filter_map(Acceptance::of_trailer).collect(),
            sources: values(trailers, SOURCE).filter_map(SourceStamp::of_trailer).collect(),
        }
    }

    fn proves(&self, directory: &Directory) -> bool {
        self.is_own && !self.unproved.contains(directory.as_str())
    }

    fn finds_put_back(&self, directory: &Directory) -> bool {
        self.is_own && self.put_back.contains(directory.as_str())
    }
}

/// The branch's repository, as far as it was fetched.
pub(super) struct Fetched<'s> {
    pub(super) git: &'s Git,
    pub(super) remote: &'s str,
    /// The branch's full name.
    pub(super) reference: &'s str,
    /// Its name, as commits prove it.
    pub(super) branch: &'s str,
    /// Where it was fetched to.
    pub(super) folder: &'s Path,
    pub(super) store: &'s Store,
    pub(super) tip: Id,
    /// The output's path in the tree, without a slash at either end; may be empty.
    pub(super) prefix: &'s str,
    /// Whether what pouch proposes is merged into the branch by others, who may squash it.
    pub(super) is_merged_into: bool,
}

impl Fetched<'_> {
    /// A path of the output, in the tree.
    fn below(&self, path: &str) -> String {
        if self.prefix.is_empty() { path.to_owned() } else { format!("{}/{path}", self.prefix) }
    }

    /// Fetches so many commits more of the history.
    fn deepen(&self, by: usize) -> Result<(), ShelfError> {
        let Fetched { git, remote, reference, folder, .. } = *self;
        git::deepen(git, remote, reference, folder, by).map_err(|error| ShelfError::Unreachable {
            message: format!("the history of {reference} cannot be fetched: {error}"),
            help: error.help(remote),
        })
    }
}

impl Lineage {
    /// What the history says of one region.
    pub(super) fn history(
        &mut self,
        fetched: &Fetched<'_>,
        directory: &Directory,
        asked: &HistoryQuery<'_>,
    ) -> Result<History, ShelfError> {
        let scope = self.scope(fetched, directory, asked)?;
        if !fetched.is_merged_into || asked.whole || scope.is_last()? {
            return scope.history();
        }
        // Whether something stood there before, all of the history says.
        self.scope(fetched, directory, &HistoryQuery { whole: true, ..*asked })?.history()
    }

    /// What the history says of the region's past, where `now` is what pouch published last.
    pub(super) fn past(
        &mut self,
        fetched: &Fetched<'_>,
        directory: &Directory,
        asked: &HistoryQuery<'_>,
        now: &Manifest,
    ) -> Result<Vec<Past>, ShelfError> {
        self.scope(fetched, directory, asked)?.all_past(now)
    }

    /// The objects of `now`, what pouch published last, whose hand-over began before the window that `asked` names.
    pub(super) fn over(
        &mut self,
        fetched: &Fetched<'_>,
        directory: &Directory,
        asked: &HistoryQuery<'_>,
        now: &Manifest,
    ) -> Result<BTreeSet<ObjectKey>, ShelfError> {
        self.scope(fetched, directory, asked)?.over(now)
    }

    /// Whether the last commit of pouch's own proves that a region had no manifest then, or one that somebody put back.
    pub(super) fn is_withdrawn(
        &mut self,
        fetched: &Fetched<'_>,
        directory: &Directory,
        asked: &HistoryQuery<'_>,
    ) -> Result<bool, ShelfError> {
        let scope = self.scope(fetched, directory, asked)?;
        let says = |commit: &&Commit| commit.proves(directory) || commit.finds_put_back(directory);
        let own = scope.commits.iter().find(says);
        own.map_or(Ok(false), |own| Ok(own.finds_put_back(directory) || scope.manifest(own.id)?.is_none()))
    }

    /// Whether what stands of a region is what pouch published last, as far as the newest commits tell: a commit of others
    /// may have put back a state that holds the same. What others merge by squashing has no commit of pouch's own.
    pub(super) fn is_last(
        &mut self,
        fetched: &Fetched<'_>,
        directory: &Directory,
        asked: &HistoryQuery<'_>,
    ) -> Result<bool, ShelfError> {
        if fetched.is_merged_into {
            return Ok(true);
        }
        let Some(own) = self.first(fetched, asked, |commit| commit.proves(directory))?.map(|own| own.id) else {
            return Ok(true);
        };
        let scope = Scope { fetched, commits: &self.commits, directory, asked };
        Ok(own == fetched.tip || scope.ids(own)? == scope.ids(fetched.tip)?)
    }

    /// Whether what stands of a region is what pouch published last, as the commits prove that were fetched already: then
    /// every file is as its manifest says.
    ///
    /// Only the current key proves that. Under a previous one, which others may know by now, somebody could make a commit
    /// that leaves the manifest as it is and changes a file beside it.
    pub(super) fn is_proved(
        &mut self,
        fetched: &Fetched<'_>,
        directory: &Directory,
        asked: &HistoryQuery<'_>,
    ) -> Result<bool, ShelfError> {
        if self.depth == 0 {
            self.deepen(fetched, asked)?;
        }
        let own = self.commits.iter().find(|commit| commit.proves(directory));
        let Some(own) = own.filter(|own| own.is_current && !fetched.is_merged_into).map(|own| own.id) else {
            return Ok(false);
        };
        let scope = Scope { fetched, commits: &self.commits, directory, asked };
        Ok(own == fetched.tip || scope.ids(own)? == scope.ids(fetched.tip)?)
    }

    /// The newest commit of pouch's own among the newest commits, and what was read for it; nothing where there is none.
    pub(super) fn newest(&mut self, fetched: &Fetched<'_>, asked: &HistoryQuery<'_>) -> Result<Stamp, ShelfError> {
        let own = self.first(fetched, asked, |commit| commit.is_own)?;
        let stamp =
            |own: &Commit| Stamp { commit: own.id.to_string(), sources: own.sources.clone(), ..Stamp::default() };
        Ok(own.map(stamp).unwrap_or_default())
    }

    /// The first of the newest commits that is such a one; further back nobody looks.
    fn first(
        &mut self,
        fetched: &Fetched<'_>,
        asked: &HistoryQuery<'_>,
        is_one: impl Fn(&Commit) -> bool,
    ) -> Result<Option<&Commit>, ShelfError> {
        loop {
            let found = self.commits.iter().position(&is_one);
            if found.is_some() || self.is_whole || self.depth > FIRST {
                return Ok(found.and_then(|at| self.commits.get(at)));
            }
            self.deepen(fetched, asked)?;
        }
    }

    /// The history, fetched as far as it must be known to tell of a region.
    fn scope<'s>(
        &'s mut self,
        fetched: &'s Fetched<'s>,
        directory: &'s Directory,
        asked: &'s HistoryQuery<'s>,
    ) -> Result<Scope<'s>, ShelfError> {
        while !self.tells(directory, asked) {
            self.deepen(fetched, asked)?;
        }
        Ok(Scope { fetched, commits: &self.commits, directory, asked })
    }

    /// Whether the history has a commit; none where it is longer than what is looked at.
    pub(super) fn has(&self, fetched: &Fetched<'_>, commit: &str) -> Result<Option<bool>, ShelfError> {
        let mut depth = FIRST;
        loop {
            let (found, is_whole) = ancestors(fetched.folder, fetched.tip, MOST).map_err(damaged)?;
            if found.iter().any(|known| known.id.to_string() == commit) {
                return Ok(Some(true));
            }
            if is_whole || found.len() >= MOST || depth > MOST * 4 {
                return Ok(is_whole.then_some(false));
            }
            fetched.deepen(depth)?;
            depth *= 4;
        }
    }

    /// The commit that made a region's folders what they are now; none where nothing stands there, or the history is
    /// longer than what is looked at.
    pub(super) fn since(&self, fetched: &Fetched<'_>, directory: &Directory) -> Result<Option<String>, ShelfError> {
        let ids = |commit: Id| -> Result<Vec<Option<Id>>, ShelfError> {
            let at = |folder: String| match fetched.store.at(commit, &fetched.below(&folder)) {
                Ok(entry) => Ok(Some(entry.id)),
                Err(ObjectsError::NoPath(_)) => Ok(None),
                Err(error) => Err(damaged(error)),
            };
            folders(directory).into_iter().map(at).collect()
        };
        let now = ids(fetched.tip)?;
        if now.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut depth = FIRST;
        loop {
            let (found, is_whole) = ancestors(fetched.folder, fetched.tip, MOST).map_err(damaged)?;
            let mut since = None;
            for ancestor in &found {
                if ids(ancestor.id)? != now {
                    return Ok(since);
                }
                since = Some(ancestor.id.to_string());
            }
            if is_whole || found.len() >= MOST || depth > MOST * 4 {
                return Ok(since.filter(|_| is_whole));
            }
            fetched.deepen(depth)?;
            depth *= 4;
        }
    }

    fn deepen(&mut self, fetched: &Fetched<'_>, asked: &HistoryQuery<'_>) -> Result<(), ShelfError> {
        let Fetched { folder, tip, .. } = *fetched;
        // What is here already is looked at first.
        if self.depth > 0 {
            fetched.deepen(self.depth)?;
        }
        self.depth = if self.depth == 0 { FIRST } else { self.depth * 4 };
        let (found, is_whole) = ancestors(folder, tip, MOST).map_err(damaged)?;
        // A server that gives no more than it gave has no more.
        let stuck = self.depth > FIRST && found.len() <= self.commits.len();
        self.commits = found.iter().map(|ancestor| Commit::of(ancestor, fetched, asked)).collect();
        self.is_whole = is_whole || stuck || self.commits.len() >= MOST;
        Ok(())
    }

    /// Whether enough is known of a region.
    fn tells(&self, directory: &Directory, asked: &HistoryQuery<'_>) -> bool {
        let last = self.commits.iter().position(|commit| commit.proves(directory));
        let many = self.commits.len() >= MANY;
        let older = |commit: &Commit| (many || commit.proves(directory)) && commit.seconds <= asked.since;
        let is_counted = last.and_then(|last| self.commits.get(last..)).is_some_and(|known| known.iter().any(older));
        self.is_whole || (is_counted && !asked.whole)
    }
}

/// One region in a history.
struct Scope<'s> {
    fetched: &'s Fetched<'s>,
    commits: &'s [Commit],
    directory: &'s Directory,
    asked: &'s HistoryQuery<'s>,
}

impl Scope<'_> {
    fn history(&self) -> Result<History, ShelfError> {
        let spent = self.commits.iter().flat_map(|commit| commit.named.iter().cloned()).collect();
        let mut history = History { spent, ..History::default() };
        let (known, _) = self.known()?;
        let Some(own) = known.first() else { return Ok(history) };
        if self.ids(own.id)? != self.ids(self.fetched.tip)? {
            let files = self.files(own.id)?;
            history.own = Some(Published::examine(self.asked.fleet, self.directory, files, self.asked.keys));
        }
        Ok(history)
    }

    /// The commits from what pouch published last, and whether a commit of pouch's own proves that.
    fn known(&self) -> Result<(&[Commit], bool), ShelfError> {
        let proved = self.proved();
        // Without a commit of pouch's own, the newest manifest that is authentic stands for one.
        let mut last = self.merged(proved)?.or(proved);
        if last.is_none() {
            for (at, commit) in self.commits.iter().enumerate() {
                // Whoever made it may have put more beside it than is ever read.
                if self.manifest(commit.id)?.is_some() && self.files(commit.id).is_ok() {
                    last = Some(at);
                    break;
                }
            }
        }
        Ok((last.and_then(|last| self.commits.get(last..)).unwrap_or_default(), proved.is_some()))
    }

    /// The manifests to count against `now`, what pouch published last.
    fn all_past(&self, now: &Manifest) -> Result<Vec<Past>, ShelfError> {
        let (known, is_proved) = self.known()?;
        let older = |commit: &&Commit| commit.seconds <= self.asked.since;
        let old = known.iter().position(|commit| older(&commit) && commit.proves(self.directory));
        let old = old.or(known.iter().position(|commit| older(&commit)));
        // However much of the history is known, what is older than the window's beginning says nothing.
        let counted = known.get(..=old.unwrap_or(known.len())).unwrap_or(known);
        let mut all = Vec::new();
        let resets = |commit: &&Commit| commit.accepted.iter().any(|accepted| accepted.region == *self.asked.region);
        for commit in counted.iter().filter(|commit| commit.is_own || !is_proved).filter(resets) {
            if let Some(manifest) = self.manifest(commit.id)? {
                all.push(self.past(commit, manifest, commit.accepted.clone(), now)?);
            }
        }
        // If the region is younger than the window, its first manifest counts; of what others wrote, nothing does.
        let is_counted = |commit: &&Commit| !is_proved || commit.proves(self.directory);
        for commit in counted.iter().rev().filter(is_counted) {
            if let Some(manifest) = self.manifest(commit.id)? {
                all.push(self.past(commit, manifest, Vec::new(), now)?);
                break;
            }
        }
        Ok(all)
    }

    /// The objects of `now` that were handed over when the window began, and ever since: one that was needed again in
    /// between, or was put back by somebody, may have been applied so, and waits anew.
    fn over(&self, now: &Manifest) -> Result<BTreeSet<ObjectKey>, ShelfError> {
        let (known, is_proved) = self.known()?;
        // What is squashed into a branch has no commit of pouch's own, and the wait must end there too.
        let may_begin = |commit: &Commit| !is_proved || self.fetched.is_merged_into || commit.proves(self.directory);
        let begins = |commit: &Commit| commit.seconds <= self.asked.since && may_begin(commit);
        let mut over: BTreeSet<ObjectKey> = now.handed_over().cloned().collect();
        // Of so busy a branch no more is ever known, and the wait must end there too.
        let oldest = || (self.commits.len() >= MOST).then(|| known.len().checked_sub(1)).flatten();
        let Some(first) = known.iter().position(begins).or_else(oldest) else { return Ok(BTreeSet::new()) };
        // Newer than what pouch published last is what somebody put there.
        let newer = self.commits.len().saturating_sub(known.len());
        let since = self.commits.get(..=first + newer).unwrap_or_default();
        // Oldest first: mostly that one says already that the wait is not over.
        for (at, commit) in since.iter().rev().enumerate() {
            match self.manifest(commit.id)? {
                Some(then) => {
                    let then: BTreeSet<&ObjectKey> = then.handed_over().collect();
                    over.retain(|key| then.contains(key));
                }
                None if at == 0 || commit.proves(self.directory) => over.clear(),
                // Somebody broke it, and nothing could be applied of that.
                None => {}
            }
            if over.is_empty() {
                break;
            }
        }
        Ok(over)
    }

    /// The newest commit of pouch's own that proves something of the region.
    fn proved(&self) -> Option<usize> {
        self.commits.iter().position(|commit| commit.proves(self.directory))
    }

    /// Whether nobody touched the region since pouch did.
    fn is_last(&self) -> Result<bool, ShelfError> {
        let Some(known) = self.proved().and_then(|own| self.commits.get(..=own)) else { return Ok(false) };
        let states: Vec<_> = known.iter().map(|commit| self.ids(commit.id)).collect::<Result<_, _>>()?;
        Ok(states.iter().all(|state| Some(state) == states.last()))
    }

    /// The commit, newer than the last one of pouch's own, by which somebody squashed a proposal into the branch: it
    /// brought a whole state of the region that pouch made and that never stood there before. Whoever may merge could
    /// merge that state by any other way; an older one that is put back is none.
    fn merged(&self, proved: Option<usize>) -> Result<Option<usize>, ShelfError> {
        if !self.fetched.is_merged_into || self.is_last()? {
            return Ok(None);
        }
        let states: Vec<_> = self.commits.iter().map(|commit| self.ids(commit.id)).collect::<Result<_, _>>()?;
        for (at, (commit, state)) in self.commits.iter().zip(&states).enumerate().take(proved.unwrap_or(states.len())) {
            let older = states.get(at + 1..).unwrap_or_default();
            if state.iter().all(Option::is_none) && self.asked.is_retired {
                return Ok(Some(at));
            }
            if older.contains(state) || self.manifest(commit.id)?.is_none() {
                continue;
            }
            let Ok(files) = self.files(commit.id) else { continue };
            let published = Published::examine(self.asked.fleet, self.directory, files, self.asked.keys);
            if published.findings(self.directory).is_empty() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// What a commit says of the past, as far as it differs from what pouch published last.
    fn past(
        &self,
        commit: &Commit,
        manifest: Manifest,
        accepted: Vec<Acceptance>,
        now: &Manifest,
    ) -> Result<Past, ShelfError> {
        Past::of(manifest, accepted, now, |path| self.file(commit.id, path))
    }

    fn below(&self, path: &str) -> String {
        self.fetched.below(path)
    }

    /// The region's folders in a commit.
    fn ids(&self, commit: Id) -> Result<Vec<Option<(Kind, Id)>>, ShelfError> {
        let at = |folder: String| match self.fetched.store.at(commit, &self.below(&folder)) {
            Ok(entry) => Ok(Some((entry.kind, entry.id))),
            Err(ObjectsError::NoPath(_)) => Ok(None),
            Err(error) => Err(damaged(error)),
        };
        folders(self.directory).into_iter().map(at).collect()
    }

    fn files(&self, commit: Id) -> Result<Files, ShelfError> {
        let (mut files, mut odd, mut budget) = (Files::new(), BTreeMap::new(), Budget::default());
        for (folder, found) in folders(self.directory).iter().zip(self.ids(commit)?) {
            if let Some((Kind::Folder, id)) = found {
                read_into(self.fetched.store, id, folder, &mut budget, (&mut files, &mut odd))?;
            }
        }
        Ok(files)
    }

    /// The region's manifest in a commit, if a reuse key authenticates it.
    fn manifest(&self, commit: Id) -> Result<Option<Manifest>, ShelfError> {
        let bytes = self.file(commit, &path::manifest(self.directory))?;
        Ok(bytes.and_then(|bytes| authentic(self.asked.fleet, self.directory, &bytes, self.asked.keys)))
    }

    /// A file in a commit; none where there is none, or one that is larger than any of pouch's.
    fn file(&self, commit: Id, path: &BundlePath) -> Result<Option<Vec<u8>>, ShelfError> {
        let store = self.fetched.store;
        match store.at(commit, &self.below(path.as_str())) {
            Ok(entry) if entry.kind == Kind::File => match store.blob(entry.id, MOST_BYTES) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(ObjectsError::TooLarge(_)) => Ok(None),
                Err(error) => Err(damaged(error)),
            },
            Ok(_) | Err(ObjectsError::NoPath(_)) => Ok(None),
            Err(error) => Err(damaged(error)),
        }
    }
}
