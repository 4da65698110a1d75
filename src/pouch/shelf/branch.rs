//! A branch of a repository as a shelf.
//!
//! The branch's tip is fetched into a repository of its own, everything is written there as objects,
//! and one push with a lease moves the branch from exactly the commit that was read to the new one. A
//! run that loses against another writer starts over from the sources: rebasing would publish an
//! older reading on top of a newer one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex};

use pouch_core::layout::path::TOPS;
use pouch_core::name::Directory;
use pouch_core::region::published::Files;
use tempfile::TempDir;

use super::{Look, NewFile, NewFiles, Shelf, ShelfError, folders};
use crate::git::commits::{Author, FileId, FolderId, Writer};
use crate::git::objects::{self, Budget, Id, Kind, ObjectsError, Store};
use crate::git::program::{Git, GitError};
use crate::git::{self, FETCHED};
use crate::stop::Stop;

/// The largest published file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// A branch that holds bundles.
pub struct BranchShelf {
    git: Git,
    remote: String,
    branch: String,
    /// The output's path in the tree, without a slash at either end; may be empty.
    prefix: String,
    inner: Mutex<Inner>,
    folder: TempDir,
}

struct Inner {
    store: Store,
    tip: Option<Id>,
    writer: Writer,
    folders: BTreeMap<String, Option<FolderId>>,
    files: BTreeMap<String, FileId>,
}

/// How a push ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// There was nothing to change.
    Nothing,
    /// The branch is at this commit now.
    Commit(String),
    /// Another writer was faster.
    Lost,
    /// The branch is where it was, and the server could not move it now: another push may be under way. Holds
    /// the server's words.
    Contended(String),
}

impl BranchShelf {
    /// Fetches the tip of `branch`, if there is one.
    ///
    /// # Errors
    /// Where the repository cannot be reached.
    pub fn open(git: Git, remote: &str, branch: &str, output: &str) -> Result<Self, ShelfError> {
        use std::os::unix::fs::PermissionsExt as _;
        let private = std::fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("pouch-").permissions(private).tempdir();
        let folder = folder.map_err(|error| ShelfError::io("cannot make", &std::env::temp_dir(), error))?;
        let reference = format!("refs/heads/{branch}");
        let unreached = |error: GitError| ShelfError::Unreachable {
            message: format!("the output repository cannot be reached: {error}"),
            help: error.help(remote),
        };
        let tip = if tip_of(&git, remote, &reference).map_err(unreached)?.is_some() {
            git::fetch(&git, remote, &reference, folder.path()).map_err(unreached)?;
            Some(FETCHED)
        } else {
            git.run(None, "init", &["--bare", "--quiet", "--template="], &[folder.path().as_os_str()])
                .map_err(unreached)?;
            None
        };
        let store = objects::open(folder.path()).map_err(damaged)?;
        let tip_id = tip.map(|reference| store.commit(reference)).transpose().map_err(damaged)?;
        let writer = Writer::open(folder.path(), tip).map_err(damaged)?;
        let prefix = clean(output);
        if let Some(tip) = tip_id {
            check_way(&store, tip, &prefix)?;
        }
        let inner = Inner { store, tip: tip_id, writer, folders: BTreeMap::new(), files: BTreeMap::new() };
        Ok(Self { git, remote: remote.to_owned(), branch: branch.to_owned(), prefix, inner: Mutex::new(inner), folder })
    }

    /// Whether there is such a branch.
    ///
    /// # Errors
    /// Where another part of the run failed.
    pub fn is_there(&self) -> Result<bool, ShelfError> {
        self.with(|inner| Ok(inner.tip.is_some()))
    }

    fn below(&self, path: &str) -> String {
        if self.prefix.is_empty() { path.to_owned() } else { format!("{}/{path}", self.prefix) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> Result<T, ShelfError>) -> Result<T, ShelfError> {
        match self.inner.lock() {
            Ok(mut inner) => work(&mut inner),
            Err(_) => Err(ShelfError::Git("another part of the run failed".to_owned())),
        }
    }

    /// Commits what was staged and pushes it, with a lease on the tip that was read. `stop` is told
    /// when nothing may end the run any more.
    ///
    /// # Errors
    /// Where an object cannot be written, the push fails for another reason than a faster writer, or the
    /// run was asked to stop before it.
    pub fn push(
        &self,
        author: &Author<'_>,
        committer: &Author<'_>,
        message: &str,
        stop: &Stop,
    ) -> Result<Pushed, ShelfError> {
        let (commit, base) = self.with(|inner| {
            let commit =
                inner.writer.commit(&inner.folders, &inner.files, author, committer, message).map_err(unwritten)?;
            Ok((commit, inner.writer.base()))
        })?;
        let Some(commit) = commit else { return Ok(Pushed::Nothing) };
        let reference = format!("refs/heads/{}", self.branch);
        let lease = format!("--force-with-lease={reference}:{}", base.as_deref().unwrap_or_default());
        let move_it = format!("{commit}:{reference}");
        let operands = [OsStr::new(&self.remote), OsStr::new(&move_it)];
        stop.begin_publishing().map_err(|_| ShelfError::Git("stopped before the push".to_owned()))?;
        // From here on only its own timeout ends git: a push cut in two has an unknown outcome.
        let git = self.git.clone().stopped_by(Arc::default());
        let pushed = git.run(Some(self.folder.path()), "push", &["--quiet", "--no-verify", &lease], &operands);
        let Err(error) = pushed else { return Ok(Pushed::Commit(commit)) };
        // The server may have taken the push before the connection broke: only the branch itself tells.
        match tip_of(&git, &self.remote, &reference) {
            Ok(Some(tip)) if tip == commit => Ok(Pushed::Commit(commit)),
            Ok(tip) if tip != base => {
                stop.resume();
                Ok(Pushed::Lost)
            }
            Ok(_) if is_contended(&error) => {
                stop.resume();
                Ok(Pushed::Contended(error.to_string()))
            }
            Ok(_) => Err(ShelfError::Git(format!("the push was refused: {error}"))),
            Err(unreached) => Err(ShelfError::Unreachable {
                message: format!(
                    "whether {commit} is published on {} is unknown: {error}; and then {unreached}",
                    self.branch
                ),
                help: String::new(),
            }),
        }
    }
}

/// Whether a push may have failed because another one was under way. These are the words of git's
/// `receive-pack`; a branch `main/x` beside `main` gets the same words, so they are not believed for ever.
fn is_contended(error: &GitError) -> bool {
    const WORDS: [&str; 2] = ["failed to update ref", "incorrect old value"];
    matches!(error, GitError::Failed { words, .. } if WORDS.iter().any(|known| words.contains(known)))
}

/// The commit at a reference of a remote repository.
fn tip_of(git: &Git, remote: &str, reference: &str) -> Result<Option<String>, GitError> {
    let out = git.run(None, "ls-remote", &["--quiet"], &[OsStr::new(remote), OsStr::new(reference)])?;
    let text = String::from_utf8_lossy(&out);
    Ok(text.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix('\t').map(str::to_owned)))
}

/// Refuses an output behind a link or a file: nothing below would be what it seems.
fn check_way(store: &Store, tip: Id, prefix: &str) -> Result<(), ShelfError> {
    let ends = prefix.match_indices('/').map(|(end, _)| prefix.split_at(end).0);
    let output = Some(prefix).filter(|prefix| !prefix.is_empty());
    let below = |top: &str| if prefix.is_empty() { top.to_owned() } else { format!("{prefix}/{top}") };
    for path in ends.chain(output).map(str::to_owned).chain(TOPS.map(below)) {
        match store.at(tip, &path) {
            Ok(entry) if entry.kind == Kind::Folder => {}
            Ok(_) => return Err(ShelfError::NotPlain(path)),
            Err(ObjectsError::NoPath(_)) => {}
            Err(error) => return Err(damaged(error)),
        }
    }
    Ok(())
}

/// The output's path in the form of paths in a tree.
fn clean(output: &str) -> String {
    let parts: Vec<&str> = output.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

fn damaged(error: ObjectsError) -> ShelfError {
    let message = format!("the output repository cannot be read: {error}");
    ShelfError::Unreachable { message, help: String::new() }
}

fn unwritten(error: ObjectsError) -> ShelfError {
    ShelfError::Git(format!("the commit cannot be made: {error}"))
}

impl Look for BranchShelf {
    fn regions(&self) -> Result<BTreeMap<String, Option<Vec<u8>>>, ShelfError> {
        let path = self.below("regions");
        self.with(|inner| {
            let mut found = BTreeMap::new();
            let Some(top) = folder_at(inner, &path)? else { return Ok(found) };
            for (name, kind, id) in inner.store.folder(top).map_err(damaged)? {
                if kind != Kind::Folder {
                    continue;
                }
                let manifest = match inner.store.in_folder(id, "bundle.yaml") {
                    Ok(entry) if entry.kind == Kind::File => inner.store.blob(entry.id, MOST_BYTES).ok(),
                    _ => None,
                };
                found.insert(name, manifest);
            }
            Ok(found)
        })
    }

    fn read(&self, directory: &Directory) -> Result<Files, ShelfError> {
        let mut files = Files::new();
        self.with(|inner| {
            for folder in folders(directory) {
                if let Some(id) = folder_at(inner, &self.below(&folder))? {
                    read_into(&inner.store, id, &folder, &mut files)?;
                }
            }
            Ok(())
        })?;
        Ok(files)
    }
}

impl Shelf for BranchShelf {
    fn stage(&self, directory: &Directory, files: NewFiles, published: &Files) -> Result<(), ShelfError> {
        self.with(|inner| {
            for folder in folders(directory) {
                let mut here = BTreeMap::new();
                for (path, file) in &files {
                    let Some(rest) = path.as_str().strip_prefix(&folder).and_then(|rest| rest.strip_prefix('/')) else {
                        continue;
                    };
                    let bytes = match file {
                        NewFile::Bytes(bytes) => bytes.as_slice(),
                        NewFile::Kept(from) => published.get(from.as_str()).map(Vec::as_slice).unwrap_or_default(),
                    };
                    here.insert(rest.to_owned(), inner.writer.file(bytes).map_err(unwritten)?);
                }
                let id = inner.writer.folder(&here).map_err(unwritten)?;
                inner.folders.insert(self.below(&folder), id);
            }
            Ok(())
        })
    }

    fn stage_shared(&self, path: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        let path = self.below(path);
        self.with(|inner| {
            let standing = match inner.tip {
                Some(tip) => match inner.store.at(tip, &path) {
                    Ok(entry) if entry.kind == Kind::File => {
                        Some(inner.store.blob(entry.id, MOST_BYTES).map_err(damaged)?)
                    }
                    Ok(_) => return Err(ShelfError::NotPlain(path)),
                    Err(ObjectsError::NoPath(_)) => None,
                    Err(error) => return Err(damaged(error)),
                },
                None => None,
            };
            match standing {
                Some(found) if found == bytes => return Ok(()),
                _ => {}
            }
            let id = inner.writer.file(bytes).map_err(unwritten)?;
            inner.files.insert(path, id);
            Ok(())
        })
    }
}

fn folder_at(inner: &Inner, path: &str) -> Result<Option<Id>, ShelfError> {
    let Some(tip) = inner.tip else { return Ok(None) };
    match inner.store.at(tip, path) {
        Ok(entry) if entry.kind == Kind::Folder => Ok(Some(entry.id)),
        Ok(_) => Err(ShelfError::NotPlain(path.to_owned())),
        Err(ObjectsError::NoPath(_)) => Ok(None),
        Err(error) => Err(damaged(error)),
    }
}

fn read_into(store: &Store, folder: Id, path: &str, files: &mut Files) -> Result<(), ShelfError> {
    let mut budget = Budget::default();
    let mut folders = vec![(folder, path.to_owned(), 0_usize)];
    while let Some((folder, before, depth)) = folders.pop() {
        for (name, kind, id) in store.folder(folder).map_err(damaged)? {
            let path = format!("{before}/{name}");
            budget.enter(&path, depth).map_err(damaged)?;
            match kind {
                Kind::Folder => folders.push((id, path, depth.saturating_add(1))),
                Kind::File => {
                    let bytes = store.blob(id, MOST_BYTES).map_err(damaged)?;
                    budget.keep(bytes.len()).map_err(damaged)?;
                    files.insert(path, bytes);
                }
                Kind::Link | Kind::Submodule => return Err(ShelfError::NotPlain(path)),
            }
        }
    }
    Ok(())
}
