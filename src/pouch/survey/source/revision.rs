//! A git repository at a revision as a source, read from objects: nothing is checked out.
//!
//! Names in a tree never become paths of files, so no name can lead anywhere. Links are resolved
//! within the given folder of the tree; submodules are other repositories and are refused.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pouch_core::config::{AsCommitted, Content};
use pouch_core::finding::{Code, Finding};
use pouch_core::kustomize::paths::normal;
use pouch_core::name::SourceName;
use pouch_core::stamp::SourceStamp;
use pouch_core::yaml::alike::Reader;

use self::folders::Folders;
use super::again::{Files, parts_of};
use super::budget::{self, Found};
use super::build;
use super::directory::{beside, tidy};
use super::document::{self, Form, Text};
use super::indexer::Indexer;
use super::means::{MAX_FILE_BYTES, Means};
use super::reading::{Filter, Given, MOST_OF_FILE, Reading, SourceError, folder_of, none_counts, whole};
use crate::child::Room;
use crate::git::authors;
use crate::git::descent::{self, DescentError};
use crate::git::kept::{self, Kept};
use crate::git::objects::{self, Id, Kind, MOST_DEPTH, ObjectsError, Store};
use crate::git::program::{GitError, Wanting};
use crate::git::{self, Address, program};
use crate::scratch::{NoScratch, Scratch};

/// The most bytes that the files of one source sum to: one blob can stand in a tree a million times.
const MOST_BYTES: u64 = 4 << 30;

/// How many files one task reads; it opens the repository anew, and its documents share their keys.
const FILES_PER_TASK: usize = 256;

/// The longest target of a link; Linux allows no longer ones.
const MOST_LINK_BYTES: u64 = 4096;

/// How many links may follow each other.
const MOST_LINKS: usize = 8;

pub(super) mod folders;

/// What the configuration asks for.
pub(super) struct Wanted<'a> {
    pub(super) repository: &'a str,
    pub(super) reference: &'a str,
    pub(super) path: &'a str,
    pub(super) content: &'a Content,
    /// True if a build may put what is sealed into another namespace.
    pub(super) relabel: bool,
    /// The directory in the place of which it is read.
    pub(super) directory: Option<&'a AsCommitted>,
}

impl Wanted<'_> {
    /// How the path is shown: as `git show` takes it, or as the directory.
    fn shown(&self, path: &str, base: &Path) -> String {
        match self.directory {
            Some(directory) => tidy(&base.join(&directory.path)),
            None => format!("{}:{path}", self.reference),
        }
    }

    /// The path of what is fetched: a build may take files of the whole repository.
    fn fetched<'p>(&self, path: &'p str) -> &'p str {
        if self.content.is_built() { "" } else { path }
    }
}

/// A fetched copy of a repository elsewhere.
pub struct Fetched {
    /// Removed as soon as nothing is read of it; what was fetched may hold secrets.
    folder: Scratch,
    git: program::Git,
    kept: Option<Kept>,
}

impl Fetched {
    /// The bytes that it takes where temporary files are.
    pub fn size(&self) -> u64 {
        self.folder.size()
    }
}

/// Fetches what [`read`] reads, where that is elsewhere and what the configuration asks for can be read at all.
pub(super) fn fetch_ahead(
    source: &SourceName,
    wanted: &Wanted<'_>,
    given: &Given<'_>,
) -> Option<Result<Fetched, SourceError>> {
    let Ok(Address::Remote(remote)) = git::address(wanted.repository) else { return None };
    let is_sound = git::is_reference(wanted.reference) && normal(wanted.path).is_some();
    is_sound.then(|| fetch_all(source, wanted, &remote, given))
}

/// Fetches the commit, and what of the history tells whether it is older than what an earlier run read.
fn fetch_all(source: &SourceName, wanted: &Wanted<'_>, at: &str, given: &Given<'_>) -> Result<Fetched, SourceError> {
    let identity = git::identity(wanted.repository);
    let path = normal(wanted.path).unwrap_or_default();
    let path = wanted.fetched(&path);
    let (git, kept) = (git_of(given), (given.kept)(&kept::below(at, path)));
    let folder = fetch(source, at, (wanted.reference, path), (&git, given.room), kept.as_ref())?;
    // What cannot be read is told where it is read.
    let commit = objects::open(folder.path()).and_then(|store| store.commit(git::FETCHED));
    if let Ok(commit) = commit {
        let (reference, commit) = (git::full(wanted.reference), commit.to_string());
        is_no_older(source, (&identity, &reference, &commit), given, |old, new| {
            descent::comes_after_at(&git, at, &reference, (new, old), kept.as_ref()).map_err(|trouble| {
                let message = format!("the history of {identity} cannot be fetched: {trouble}");
                match &trouble {
                    DescentError::Git(trouble) => {
                        failed(source, message, (trouble.help(at), trouble.wanting()), given.room)
                    }
                    DescentError::Scratch(_) => SourceError::no_room(source, message, NoScratch::HELP),
                }
            })
        })?;
    }
    Ok(Fetched { folder, git, kept })
}

/// Reads all documents of the files that count below the path, at the revision. `ahead` is what was fetched of it already.
pub(super) fn read(
    source: &SourceName,
    wanted: &Wanted<'_>,
    given: &Given<'_>,
    ahead: Option<Result<Fetched, SourceError>>,
) -> Result<Reading, SourceError> {
    let error = |message: String, help: &str| SourceError::new(source, message, help);
    if !git::is_reference(wanted.reference) {
        let help = "Give the name of a branch, a whole commit id, or refs/tags/TAG.";
        return Err(error(format!("ref {:?} cannot name a branch, tag or commit", wanted.reference), help));
    }
    let Some(path) = normal(wanted.path) else {
        let help = "Give a path from the root of the repository, without `..`.";
        return Err(error(format!("path {:?} leads out of the repository", wanted.path), help));
    };
    let identity = git::identity(wanted.repository);
    let refused =
        |why: String| error(format!("the repository {why}"), "Give a local path, or a URL with https or ssh.");
    let at = match git::address(wanted.repository).map_err(refused)? {
        Address::Local(local) => {
            let store = open(source, &given.base.join(local))?;
            let read = read_at(source, (wanted, &path, &identity), (&store, wanted.reference), given)?.0;
            let commit = read.revision.as_deref().unwrap_or_default();
            let what = (identity.as_str(), read.reference.as_str(), commit);
            is_no_older(source, what, given, |old, new| match descent::comes_after(&store, new, old) {
                Ok(Some(comes)) => Ok(Some(comes)),
                Ok(None) => Err(error(
                    format!("{identity} was cloned without the history that leads from commit {old} to {new}"),
                    &format!(
                        "Clone it with its history (fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 of GitLab), or give \
                         the repository's URL. For this one time, --accept-older {source}={new} stands in for the proof."
                    ),
                )),
                Err(trouble) => Err(unreachable(source, &identity, &trouble)),
            })?;
            return Ok(read);
        }
        Address::Remote(remote) => remote,
    };
    let Fetched { mut folder, git, mut kept } = ahead.unwrap_or_else(|| fetch_all(source, wanted, &at, given))?;
    loop {
        let store = open(source, folder.path())?;
        let read = read_at(source, (wanted, &path, &identity), (&store, git::FETCHED), given);
        let is_damaged = store.is_damaged() || matches!(read, Ok((_, true)));
        match kept.take().filter(|_| is_damaged) {
            // What is kept is damaged: once more, with all of it fetched.
            Some(kept) => {
                kept.clear();
                folder = fetch(source, &at, (wanted.reference, wanted.fetched(&path)), (&git, given.room), None)?;
            }
            None => {
                let mut read = read?.0;
                read.library = read.library.map(|library| library.holding(folder));
                return Ok(read);
            }
        }
    }
}

/// Which commit a source is at now; none where nobody can tell without reading it.
pub(super) fn state(source: &SourceName, wanted: &Wanted<'_>, given: &Given<'_>) -> Option<SourceStamp> {
    let reference = git::full(wanted.reference);
    let commit = match git::address(wanted.repository).ok()? {
        Address::Local(local) => {
            objects::open(&given.base.join(local)).ok()?.commit(wanted.reference).ok()?.to_string()
        }
        Address::Remote(_) if git::is_commit_id(&reference) => reference.to_string(),
        Address::Remote(remote) => git::tip(&git_of(given), &remote, &reference)?,
    };
    Some(SourceStamp::of_repository(source.as_str(), (&git::identity(wanted.repository), &reference), &commit))
}

/// Gives the authors of the commits that lead to `new` and not to `old`, whatever they changed; none where the history does not
/// tell.
pub(super) fn authors(wanted: &Wanted<'_>, given: &Given<'_>, (new, old): (&str, &str)) -> Option<Vec<String>> {
    match git::address(wanted.repository).ok()? {
        Address::Local(local) => authors::between(&objects::open(&given.base.join(local)).ok()?, new, old),
        Address::Remote(remote) => {
            let kept = (given.kept)(&kept::below(&remote, &normal(wanted.path)?));
            let reference = git::full(wanted.reference);
            let folder = descent::history_at(&git_of(given), &remote, &reference, (new, old), kept.as_ref()).ok()??;
            authors::between(&objects::open(folder.path()).ok()?, new, old)
        }
    }
}

/// Reads what a reference of a repository on this machine has at the path. Says too whether an object could not be read
/// that should be there.
fn read_at(
    source: &SourceName,
    (wanted, path, identity): (&Wanted<'_>, &str, &str),
    (store, reference): (&Store, &str),
    given: &Given<'_>,
) -> Result<(Reading, bool), SourceError> {
    let error = |message: String, help: &str| SourceError::new(source, message, help);
    let commit = store.commit(reference).map_err(|trouble| unreachable(source, identity, &trouble))?;
    let top = store.at(commit, path).map_err(|trouble| match trouble {
        ObjectsError::NoPath(_) => {
            let help = "Correct the path or the ref.";
            error(format!("{identity} has nothing at path {path:?} in {}", wanted.reference), help)
        }
        other => unreachable(source, identity, &other),
    })?;
    let root = store.at(commit, "").ok().map(|root| root.id);
    let shown = wanted.shown(path, given.base);
    let own = wanted.directory.map(|directory| &*directory.skip).unwrap_or_default();
    let skip = [given.skip_in_tree, own].concat();
    let tree = Tree {
        source,
        means: given.means,
        indexer: given.indexer,
        store,
        root,
        top: top.id,
        path,
        shown: &shown,
        damage: AtomicBool::default(),
    };
    let mut reading = match (top.kind, wanted.content) {
        (Kind::Folder, Content::Files(files)) => tree.walk(&Filter::new(files), &skip).below(tree.below()),
        (Kind::Folder, Content::Kustomization) => tree.build((wanted, &skip), given)?,
        (Kind::File, Content::Kustomization) => {
            let message = format!("path {path:?} of {identity} is a file, and the folder of a kustomization is built");
            return Err(error(message, "Name the folder, or remove `build`."));
        }
        (Kind::File, Content::Files(_)) => {
            let shown = tree.show("");
            let root = folder_of(&shown);
            tree.read(&[Found { shown, at: top.id }]).below(root)
        }
        (Kind::Link | Kind::Submodule, _) => {
            let message = format!("path {path:?} of {identity} is a symlink or a submodule");
            return Err(error(message, "Name the folder itself, in its own repository."));
        }
    };
    // A directory is nothing that a bundle knows again.
    reading.identity = Some(identity.to_owned()).filter(|_| wanted.directory.is_none());
    reading.revision = Some(commit.to_string());
    reading.reference = git::full(wanted.reference).into_owned();
    Ok((reading, tree.damage.into_inner()))
}

/// Refuses a commit that does not come after the one that an earlier run read, as far as can be seen. `comes_after` tells
/// whether the second commit comes after the first.
fn is_no_older(
    source: &SourceName,
    (identity, reference, commit): (&str, &str, &str),
    given: &Given<'_>,
    comes_after: impl Fn(&str, &str) -> Result<Option<bool>, SourceError>,
) -> Result<(), SourceError> {
    let Some(last) = given.last else { return Ok(()) };
    let now = SourceStamp::of_repository(source.as_str(), (identity, reference), commit);
    for old in last.before(&now) {
        let why = match comes_after(&old.to_string(), commit)? {
            Some(true) => continue,
            Some(false) => format!("which does not come after {old}"),
            None => format!("and none of the 4,096 commits up to there is {old}"),
        };
        let reference = git::short(reference);
        let message = format!("{reference} of {identity} is at commit {commit}, {why}, which an earlier run read");
        return Err(SourceError::stale(source, message, last.help(&now)));
    }
    Ok(())
}

fn open(source: &SourceName, path: &std::path::Path) -> Result<Store, SourceError> {
    objects::open(path).map_err(|trouble| unreachable(source, "the repository", &trouble))
}

fn unreachable(source: &SourceName, identity: &str, trouble: &ObjectsError) -> SourceError {
    let help = match trouble {
        ObjectsError::NoRepository(_) => "Give the root of a repository, bare or not; it is relative to the \
                                          configuration."
            .to_owned(),
        trouble => trouble.help(),
    };
    let message = match trouble {
        ObjectsError::NoRepository(_) | ObjectsError::Owner(_) => trouble.to_string(),
        _ => format!("{identity} cannot be read: {trouble}"),
    };
    SourceError::new(source, message, help)
}

/// Fetches the commit with the files at the path, or with all of them if the server gives no part of it.
fn fetch(
    source: &SourceName,
    remote: &str,
    (reference, path): (&str, &str),
    (git, room): (&program::Git, Room),
    kept: Option<&Kept>,
) -> Result<Scratch, SourceError> {
    let no_scratch = |error: NoScratch| SourceError::no_room(source, error.to_string(), NoScratch::HELP);
    let folder = Scratch::new().map_err(no_scratch)?;
    // Git is ended where it may write no more, and does not say by what.
    let is_full = || room.file.is_some_and(|most| folder.size() >= most);
    match git::fetch_below(git, remote, reference, path, folder.path(), kept) {
        Ok(()) => Ok(folder),
        Err(trouble @ GitError::Failed { .. }) if !path.is_empty() && trouble.wanting().is_none() && !is_full() => {
            drop(folder);
            fetch(source, remote, (reference, ""), (git, room), None)
        }
        Err(trouble) if trouble.is_for_want_of_a_reference() => {
            let message = format!("{} has no {}", git::identity(remote), git::full(reference));
            Err(SourceError::new(source, message, objects::correct(&git::branches_and_tags(git, remote))))
        }
        Err(trouble) => {
            let is_full = is_full();
            let message = match is_full {
                true => format!("{} is too large to be fetched", git::identity(remote)),
                false => format!("{} cannot be fetched: {trouble}", git::identity(remote)),
            };
            let wanting = if is_full { Some(Wanting::Space) } else { trouble.wanting() };
            Err(failed(source, message, (trouble.help(remote), wanting), room))
        }
    }
}

/// A fetch that failed: `help` says what to do, unless it is for want of something.
fn failed(source: &SourceName, message: String, (help, wanting): (String, Option<Wanting>), room: Room) -> SourceError {
    let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    let help = match wanting {
        None => return SourceError::new(source, message, help),
        Some(Wanting::Space) => format!(
            "What is fetched of it may take {} of `limits.space` where TMPDIR is: give it more, free some, or name less with \
             `path`.",
            room.file.map_or_else(|| "its part".to_owned(), mebibytes)
        ),
        Some(Wanting::Memory) => format!(
            "Git may take {} of memory for it: give the run more, or see what is so large in the repository.",
            room.memory.map_or_else(|| "its part".to_owned(), mebibytes),
        ),
    };
    SourceError::no_room(source, message, help)
}

/// The program git, for all that one source is asked for together.
fn git_of(given: &Given<'_>) -> program::Git {
    let git = program::git(given.environment).within_in_all(given.deadlines).stopped_by(given.stop.clone());
    git.with_room(given.room)
}

/// A folder of a commit.
struct Tree<'a> {
    source: &'a SourceName,
    means: Means<'a>,
    indexer: Option<&'a Indexer<'a>>,
    store: &'a Store,
    /// The folder of the whole commit, where links lead that leave the path.
    root: Option<Id>,
    top: Id,
    path: &'a str,
    /// How the path is shown.
    shown: &'a str,
    /// Whether a file could not be read that should be there.
    damage: AtomicBool,
}

impl Tree<'_> {
    /// How a path is shown.
    fn show(&self, path: &str) -> Arc<str> {
        match path {
            "" => Arc::from(self.shown),
            path => Arc::from(self.below() + path),
        }
    }

    /// The beginning of the paths of all that stands in it.
    fn below(&self) -> String {
        let is_begun = self.shown.is_empty() || self.shown.ends_with([':', '/']);
        format!("{}{}", self.shown, if is_begun { "" } else { "/" })
    }

    /// Builds the kustomization in the folder, of files of the whole commit.
    fn build(&self, (of, skip): (&Wanted<'_>, &[String]), given: &Given<'_>) -> Result<Reading, SourceError> {
        let unread = || SourceError::new(self.source, "its commit has no tree", "Check the repository with git fsck.");
        let mut commit = build::Commit::new(self.store, self.root.ok_or_else(unread)?, self.means.most_entries(), skip);
        let show = |path: &str| match of.directory {
            Some(_) => beside(self.shown, self.path, path),
            None => format!("{}:{path}", of.reference),
        };
        let wanted = build::Wanted { source: self.source, folder: self.path, show: &show, relabel: of.relabel };
        build::read(&wanted, &mut commit, given)
    }

    /// Whether `path` is one of those that are passed over.
    fn is_skipped(&self, path: &str, skip: &[String]) -> bool {
        let full = if self.path.is_empty() { path.to_owned() } else { format!("{}/{path}", self.path) };
        skip.iter().any(|skipped| normal(skipped).is_some_and(|skipped| skipped == full))
    }

    fn walk(&self, filter: &Filter<'_>, skip: &[String]) -> Reading {
        let mut reading = Reading::nothing();
        let mut files: Vec<(String, Id)> = Vec::new();
        let mut links: Vec<(String, Id)> = Vec::new();
        let mut folders = vec![(String::new(), self.top)];
        let (mut seen, mut passed_over) = (0_usize, 0_usize);
        while let Some((folder, id)) = folders.pop() {
            let Some(entries) = self.means.time.spend(|| self.store.folder(id)) else { break };
            let entries = match entries {
                Ok(entries) => entries,
                Err(trouble) => {
                    self.miss(&mut reading, &folder, &trouble.to_string(), &trouble.help());
                    continue;
                }
            };
            seen += entries.len();
            let most = self.means.most_entries();
            if seen > most {
                let message = format!("{} holds more than {most} files and folders", self.show(""));
                let finding = Finding::new(Code::RefusedFile, message).at(&whole(self.source));
                reading.lacks(finding.help("Name a folder further down, or exclude folders."));
                break;
            }
            for (name, kind, id) in entries {
                let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                // Only a folder that holds bundles is skipped; another one of that name is a source's own.
                let holds_bundles = || kind == Kind::Folder && self.store.in_folder(id, "regions").is_ok();
                if !filter.name(&name) || (self.is_skipped(&path, skip) && holds_bundles()) {
                    continue;
                }
                match kind {
                    Kind::Folder | Kind::Submodule if !filter.folder(&path) => {}
                    Kind::Folder if path.split('/').count() > MOST_DEPTH => {
                        self.refuse(
                            &mut reading,
                            &path,
                            &format!("lies more than {MOST_DEPTH} folders deep"),
                            "Exclude it.",
                        );
                    }
                    Kind::Folder => folders.push((path, id)),
                    Kind::Submodule => {
                        let help = "Make the submodule a source of its own, or exclude it.";
                        self.refuse(&mut reading, &path, "is a git submodule", help);
                    }
                    Kind::Link => links.push((path, id)),
                    Kind::File if filter.file(&path) => files.push((path, id)),
                    Kind::File => passed_over += 1,
                }
            }
        }
        let read: BTreeSet<String> = files.iter().map(|(path, _)| path.clone()).collect();
        self.follow(links, filter, read, &mut files, &mut reading);
        reading.tell_other_paths(self.source, &self.show(""));
        if files.is_empty() && passed_over > 0 {
            reading.lacks(none_counts(self.source, &self.show(""), passed_over));
        }
        files.sort();
        let mut found = Vec::with_capacity(files.len());
        let mut sum = 0_u64;
        for (path, id) in files {
            // An object that cannot be read says so when it is read.
            let Some(size) = self.means.time.spend(|| self.store.size(id)) else { break };
            sum = sum.saturating_add(size.unwrap_or(0));
            if sum > MOST_BYTES {
                let message = format!("the files of {} sum to more than {MOST_BYTES} bytes", self.show(""));
                let finding = Finding::new(Code::RefusedFile, message).at(&whole(self.source));
                reading.lacks(finding.help("Name a folder further down, or exclude files."));
                break;
            }
            found.push(Found { shown: self.show(&path), at: id });
        }
        reading.absorb(self.read(&found));
        reading
    }

    /// Adds the files that links lead to, once each; refuses what leads out or to no file.
    fn follow(
        &self,
        mut links: Vec<(String, Id)>,
        filter: &Filter<'_>,
        mut read: BTreeSet<String>,
        files: &mut Vec<(String, Id)>,
        reading: &mut Reading,
    ) {
        links.sort();
        let mut folders = Folders::new(self.store, self.means.most_entries());
        for (path, id) in links {
            let help = "Copy what it names, or exclude it.";
            let target = self.means.time.spend(|| self.target(&mut folders, (&path, id), MOST_LINKS));
            let Some(target) = target else { break };
            match target {
                Target::File(target, id) if filter.file(&path) && read.insert(target.clone()) => {
                    files.push((path, id));
                }
                Target::Folder if filter.folder(&path) => {
                    self.refuse(reading, &path, "is a symlink to a folder", "Exclude it, or put a folder there.");
                }
                Target::OutsideFile if !filter.file(&path) => {}
                // Unless the target is known to be a file, only an exclusion exempts the link.
                Target::OutsideFile | Target::Outside if filter.folder(&path) => {
                    self.refuse(reading, &path, "is a symlink that leads out of the source", help);
                }
                Target::Nothing if filter.file(&path) => {
                    let why = "the symlink leads nowhere, or through other symlinks";
                    self.miss(reading, &path, why, help);
                }
                _ => {}
            }
        }
    }

    fn target(&self, folders: &mut Folders<'_>, (link, id): (&str, Id), left: usize) -> Target {
        let Ok(bytes) = self.store.blob(id, MOST_LINK_BYTES) else { return Target::Nothing };
        let Ok(words) = String::from_utf8(bytes) else { return Target::Nothing };
        let folder = link.rsplit_once('/').map_or("", |(folder, _)| folder);
        if words.starts_with('/') {
            return Target::Outside;
        }
        let Some(path) = normal(&format!("{folder}/{words}")) else {
            let elsewhere = normal(&format!("{}/{folder}/{words}", self.path));
            return match elsewhere.zip(self.root).map(|(path, root)| folders.find(root, &path)) {
                Some(Ok((Kind::File, _))) => Target::OutsideFile,
                _ => Target::Outside,
            };
        };
        if path.is_empty() {
            return Target::Folder;
        }
        match folders.find(self.top, &path) {
            Ok((Kind::File, id)) => Target::File(path, id),
            Ok((Kind::Link, id)) if left > 0 => self.target(folders, (&path, id), left.saturating_sub(1)),
            Ok((Kind::Folder, _)) => Target::Folder,
            Ok((Kind::Submodule, _)) => Target::Outside,
            _ => Target::Nothing,
        }
    }

    fn read(&self, found: &[Found<Id>]) -> Reading {
        let (source, place, damage, indexer) = (self.source, self.store.path(), &self.damage, self.indexer);
        let mut reading = budget::read((source, self.means), found, FILES_PER_TASK, |files, meter| {
            let mut reading = Reading::nothing();
            let mut reader = Reader::new();
            // A repository belongs to one thread.
            let store = objects::open(place);
            let blob = |file: &Found<Id>| {
                let store = store.as_ref().map_err(Clone::clone);
                store.and_then(|store| store.blob(file.at, meter.means().most_of_file()))
            };
            let mut read = |file: &Found<Id>| match blob(file) {
                Ok(bytes) => {
                    let text = Text::new((source, &file.shown), (Form::of(&file.shown), &bytes), meter);
                    reading.absorb(document::read(&text.indexed(indexer), &mut reader));
                }
                Err(ObjectsError::TooLarge(most)) => {
                    let why = format!("is larger than {most} bytes");
                    reading.refuse(source, &file.shown, &why, meter.means().help_of_large_file());
                }
                Err(trouble) => {
                    damage.store(true, Ordering::Relaxed);
                    reading.miss(source, &file.shown, &trouble.to_string(), &trouble.help());
                }
            };
            _ = files.iter().try_for_each(|file| meter.means().time.spend(|| read(file)));
            reading
        });
        let paths = reading.again();
        let files = found.iter().filter(|file| paths.contains(&*file.shown));
        let mut ids: Vec<_> = files.map(|file| (file.shown.clone(), file.at)).collect();
        ids.sort_by(|(a, _), (b, _)| a.cmp(b));
        reading.file(Blobs { repository: place.to_owned(), ids, last: Mutex::default() });
        reading
    }

    fn refuse(&self, reading: &mut Reading, path: &str, why: &str, help: &str) {
        reading.refuse(self.source, &self.show(path), why, help);
        reading.keep_first(MOST_OF_FILE);
    }

    fn miss(&self, reading: &mut Reading, path: &str, why: &str, help: &str) {
        reading.miss(self.source, &self.show(path), why, help);
        reading.keep_first(MOST_OF_FILE);
    }
}

/// Blobs with documents that were put aside, sorted by the names that they are shown by: an id is that of the bytes.
struct Blobs {
    repository: PathBuf,
    ids: Vec<(Arc<str>, Id)>,
    /// The large one that was read last: each region may want a part of it.
    last: Mutex<Option<(Id, Arc<Vec<u8>>)>>,
}

/// Blobs from this size on are kept until another one is read.
const LARGE_BLOB: usize = 1 << 20;

impl Files for Blobs {
    fn parts(&self, path: &str, parts: &[Range<u32>]) -> Result<Vec<Vec<u8>>, String> {
        let at = self.ids.binary_search_by(|(shown, _)| (**shown).cmp(path)).ok();
        let (_, id) = at.and_then(|at| self.ids.get(at)).ok_or("was not indexed")?;
        // Nothing under the lock can panic.
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, bytes)) = last.filter(|(last, _)| last == id) {
            return parts_of(&bytes, parts);
        }
        let blob = objects::open(&self.repository).and_then(|store| store.blob(*id, MAX_FILE_BYTES));
        let bytes = blob.map_err(|trouble| format!("cannot be read again: {trouble}"))?;
        let found = parts_of(&bytes, parts);
        if bytes.len() >= LARGE_BLOB {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((*id, Arc::new(bytes)));
        }
        found
    }
}

/// Where a link in a tree leads.
enum Target {
    File(String, Id),
    Folder,
    OutsideFile,
    Outside,
    Nothing,
}

#[cfg(test)]
mod tests;
