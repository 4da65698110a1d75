//! A directory as a shelf.
//!
//! Everything is written into a staging folder beside the bundles, synced once, and then each
//! region's folder is exchanged with its new form in one system call: whoever reads it, also after a
//! crash, finds the old or the new one whole. The old form is removed file by file, and only files that
//! were known before; what somebody put there meanwhile stays in the staging folder and is reported.

pub mod whole;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pouch_core::layout::attributes::keeps_bytes;
use pouch_core::layout::form::{Form, MOST_BYTES};
use pouch_core::layout::path::TOPS;
use pouch_core::layout::staged::{RECORD, Region, Staged};
use pouch_core::name::Directory;
use pouch_core::region::odd::Odd;
use pouch_core::region::published::{Files, Published};
use pouch_core::report::escape;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, flock, openat, renameat_with, statat,
    syncfs,
};
use rustix::io::Errno;

use super::beside::{Beside, Listed, beside};
use super::{Look, NewFile, NewFiles, Shelf, ShelfError, folders};
use crate::error::Failure;
use crate::git::objects::{Budget, ObjectsError};
use crate::session::Session;

/// The staging folder's name. It is left behind only by a crash, and the next run removes it.
const STAGING: &str = ".pouch-staging";

/// In the staging folder: what is written, and after the exchange what was there before.
const NEW: &str = "new";

/// In the staging folder: the record, as long as it is written.
const UNFINISHED: &str = "staged.json.new";

/// A directory that holds bundles.
pub struct DirectoryShelf {
    root: PathBuf,
    staged: Mutex<Staged>,
    left: Vec<String>,
    lock: File,
}

impl DirectoryShelf {
    /// Opens a directory, making it where it is missing, and locks it against other runs.
    ///
    /// # Errors
    /// Where it cannot be made or locked, is no folder, or holds links where bundles belong.
    pub fn open(root: &Path) -> Result<Self, ShelfError> {
        fs::create_dir_all(root).map_err(|error| ShelfError::io("cannot make", root, error))?;
        let lock = File::open(root).map_err(|error| ShelfError::io("cannot open", root, error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => ShelfError::Busy(root.display().to_string()),
            error => ShelfError::io("cannot lock", root, error.into()),
        })?;
        // What lies below is looked at by name; behind a link it would be somebody else's.
        if stands(&root.join(STAGING)).is_some() {
            return Err(ShelfError::NotPlain(root.join(STAGING).display().to_string()));
        }
        let left = tidy(root)?;
        Ok(Self { root: root.to_owned(), staged: Mutex::default(), left, lock })
    }

    fn staging(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    /// Makes everything staged visible. Returns the paths of things that this run, or one that crashed, found
    /// in the way.
    ///
    /// # Errors
    /// Where a folder cannot be exchanged. Regions that were exchanged before stay new, and the error
    /// names them.
    pub fn commit(mut self) -> Result<Vec<String>, ShelfError> {
        let staged = match self.staged.get_mut() {
            Ok(staged) => std::mem::take(staged),
            Err(poisoned) => std::mem::take(poisoned.into_inner()),
        };
        let mut left = std::mem::take(&mut self.left);
        if staged.is_empty() {
            return Ok(left);
        }
        let staging = self.staging();
        let handle = File::open(&staging).map_err(|error| ShelfError::io("cannot open", &staging, error))?;
        let sync = || syncfs(&handle).map_err(|error| ShelfError::io("cannot sync", &staging, error.into()));
        let record = staging.join(RECORD);
        let unwritten = |error: io::Error| ShelfError::io("cannot write", &record, error);
        create(&staging.join(UNFINISHED), &staged.to_bytes().map_err(|error| unwritten(error.into()))?)?;
        // The record must not appear before all that it stands for.
        sync()?;
        fs::rename(staging.join(UNFINISHED), &record).map_err(unwritten)?;
        let mut done = Vec::new();
        self.exchange_all(&staged, &mut done).map_err(|error| partly(done, error))?;
        sync()?;
        left.extend(tidy(&self.root)?);
        Ok(left)
    }

    /// As [`DirectoryShelf::commit`], unless the run was asked to stop before, and says what was found in the way.
    pub fn publish(self, session: &Session) -> Result<(), Failure> {
        session.stop.begin_publishing()?;
        let root = self.root.clone();
        for path in self.commit()? {
            session.ui.warn(&format!(
                "a file that pouch did not write appeared while it was writing; it was moved to {}",
                escape(&root.join(path).display().to_string())
            ));
        }
        Ok(())
    }

    fn exchange_all(&self, staged: &Staged, done: &mut Vec<String>) -> Result<(), ShelfError> {
        let new = self.staging().join(NEW);
        for path in &staged.shared {
            let target = self.root.join(path);
            make_parent(&target)?;
            fs::rename(new.join(path), &target).map_err(|error| ShelfError::io("cannot replace", &target, error))?;
        }
        for (directory, region) in &staged.regions {
            exchange_region(&self.root, &new, directory, region)?;
            done.push(directory.to_string());
        }
        for target in staged.removed.iter().map(|path| self.root.join(path)) {
            fs::remove_file(&target).map_err(|error| ShelfError::io("cannot remove", &target, error))?;
            // Its folder goes with the last file.
            _ = target.parent().map(fs::remove_dir);
        }
        Ok(())
    }
}

impl Drop for DirectoryShelf {
    /// A run that failed leaves nothing behind, least of all on a full disk.
    fn drop(&mut self) {
        let _ = tidy(&self.root);
        // Closing the file does not unlock it as long as a child that is just being started shares it.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

fn partly(done: Vec<String>, error: ShelfError) -> ShelfError {
    if done.is_empty() { error } else { ShelfError::Partly { done, error: Box::new(error) } }
}

impl Rooted for DirectoryShelf {
    fn root(&self) -> &Path {
        &self.root
    }
}

impl Shelf for DirectoryShelf {
    fn stage(&self, directory: &Directory, files: NewFiles, published: &Published) -> Result<(), ShelfError> {
        let new = self.staging().join(NEW);
        make_folder(&new)?;
        let before = published.files.keys().chain(published.odd.forms.keys()).cloned().collect();
        let after = files.keys().map(|path| path.as_str().to_owned()).collect();
        if let Ok(mut staged) = self.staged.lock() {
            staged.regions.insert(directory.clone(), Region { before, after });
        }
        let mut parents: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, file) in files {
            let target = new.join(path.as_str());
            if let Some(parent) = target.parent()
                && parents.insert(parent.to_owned())
            {
                make_folder(parent)?;
            }
            match file {
                NewFile::Bytes(bytes) => create(&target, &bytes)?,
                NewFile::Kept(from) => {
                    let bytes = published.files.get(from.as_str()).map(Vec::as_slice).unwrap_or_default();
                    link_or_copy(&self.root.join(from.as_str()), bytes, &target)?;
                }
            }
        }
        Ok(())
    }

    fn stage_shared(&self, path: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        if !self.shared_differs(path, bytes)? {
            return Ok(());
        }
        let target = self.staging().join(NEW).join(path);
        make_parent(&target)?;
        create(&target, bytes)?;
        _ = self.staged.lock().map(|mut staged| staged.shared.insert(path.to_owned()));
        Ok(())
    }

    fn stage_removal(&self, path: &str) -> Result<(), ShelfError> {
        make_folder(&self.staging().join(NEW))?;
        _ = self.staged.lock().map(|mut staged| staged.removed.insert(path.to_owned()));
        Ok(())
    }
}

/// A directory that is only looked at: nothing is made, tidied or written, and meanwhile no run exchanges a
/// region's folders.
pub struct LookedAt {
    root: PathBuf,
    /// None where there is nothing that a run could exchange.
    _lock: Option<File>,
}

impl LookedAt {
    /// Opens a directory.
    ///
    /// # Errors
    /// Where it is not there, or another run writes to it.
    pub fn open(root: &Path) -> Result<Self, ShelfError> {
        let unread = |error: io::Error| ShelfError::unread(root, error);
        let lock = File::open(root).map_err(unread)?;
        flock(&lock, FlockOperation::NonBlockingLockShared).map_err(|error| match error {
            Errno::WOULDBLOCK => ShelfError::Busy(root.display().to_string()),
            error => unread(error.into()),
        })?;
        Ok(Self { root: root.to_owned(), _lock: Some(lock) })
    }

    /// Opens a directory, or what is seen where none stands yet.
    ///
    /// # Errors
    /// Where it cannot be opened, or another run writes to it.
    pub fn open_or_empty(root: &Path) -> Result<Self, ShelfError> {
        match fs::symlink_metadata(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { root: root.to_owned(), _lock: None }),
            _ => Self::open(root),
        }
    }
}

impl Rooted for LookedAt {
    fn root(&self) -> &Path {
        &self.root
    }
}

/// A shelf that stands in a folder of this machine, and is looked at in one way, whether it is written to or not.
trait Rooted: Sync {
    fn root(&self) -> &Path;
}

impl<T: Rooted> Look for T {
    fn regions(&self) -> Result<BTreeSet<String>, ShelfError> {
        let root = self.root().join("regions");
        if stands(&root).is_some() {
            return Ok(BTreeSet::new());
        }
        let is_folder = |name: &String| is_folder(&root.join(name));
        Ok(entries(&root)?.into_iter().filter(is_folder).collect())
    }

    fn manifest(&self, folder: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        let regions = self.root().join("regions");
        let folder = regions.join(folder);
        let is_plain = stands(&regions).is_none() && is_folder(&folder);
        Ok(is_plain.then(|| read_plain(&folder.join("bundle.yaml")).ok()).flatten())
    }

    fn read(&self, directory: &Directory) -> Result<(Files, Odd), ShelfError> {
        Ok(files_of(self.root(), directory))
    }

    fn beside(&self, known: &BTreeSet<&Directory>) -> Result<Beside, ShelfError> {
        Ok(beside(&Folders, &self.root().to_owned(), known, Vec::new(), format!("{}/", self.root().display())))
    }

    fn shared(&self, path: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        let is_way = path.split_once('/').is_none_or(|(top, _)| stands(&self.root().join(top)).is_none());
        Ok(is_way.then(|| read_plain(&self.root().join(path)).ok()).flatten())
    }

    fn shared_differs(&self, path: &str, bytes: &[u8]) -> Result<bool, ShelfError> {
        let standing = self.root().join(path);
        let is_way = path.split_once('/').is_none_or(|(top, _)| stands(&self.root().join(top)).is_none());
        let is_place = fs::symlink_metadata(&standing).map_or(true, |meta| form_of(&meta) == Some(Form::Plain));
        if !is_way || !is_place {
            return Ok(false);
        }
        // A folder that is a repository's root is not pouch's alone.
        let is_repository = path == ".gitattributes" && fs::symlink_metadata(self.root().join(".git")).is_ok();
        match read_plain(&standing) {
            Ok(found) if is_repository && found != bytes => match keeps_bytes(&found, &[]) {
                true => Ok(false),
                false => Err(ShelfError::NotOurs(standing.display().to_string())),
            },
            Ok(found) => Ok(found != bytes),
            Err(ShelfError::Unread { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// What stands at a path where a folder belongs.
fn stands(path: &Path) -> Option<Form> {
    form_of(&fs::symlink_metadata(path).ok()?)
}

/// What a path is; none for a folder. Marks are no part of this.
fn form_of(meta: &fs::Metadata) -> Option<Form> {
    match meta.file_type() {
        kind if kind.is_dir() => None,
        kind if kind.is_symlink() => Some(Form::Link),
        kind if !kind.is_file() => Some(Form::Special),
        _ if meta.len() > MOST_BYTES => Some(Form::Large),
        _ => Some(Form::Plain),
    }
}

/// A file system, by path.
struct Folders;

impl Listed for Folders {
    type Id = PathBuf;

    fn list(&self, folder: &PathBuf) -> Vec<(String, Option<Form>, PathBuf)> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let named = |entry: fs::DirEntry| {
            let form = form_of(&fs::symlink_metadata(entry.path()).ok()?);
            let form = if entry.file_name().to_str().is_none() { Some(Form::Special) } else { form };
            Some((entry.file_name().to_string_lossy().into_owned(), form, entry.path()))
        };
        entries.flatten().filter_map(named).collect()
    }

    fn bytes(&self, file: &PathBuf, _: u64) -> Option<Vec<u8>> {
        read_plain(file).ok()
    }
}

fn files_of(root: &Path, directory: &Directory) -> (Files, Odd) {
    let mut found = Found::default();
    let mut odd = Odd::default();
    for (top, folder) in TOPS.into_iter().zip(folders(directory)) {
        if let Some(form) = stands(&root.join(top)) {
            odd.tops.insert(top, form);
            continue;
        }
        let read = match openat(CWD, root.join(&folder), FOLDER, Mode::empty()) {
            Err(Errno::NOENT) => Ok(()),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                let form = stands(&root.join(&folder)).unwrap_or(Form::Special);
                found.odd.push((folder, form));
                Ok(())
            }
            opened => read_into(root, &folder, opened, 0, &mut found),
        };
        odd.unread = odd.unread.take().or(read.err().map(|error| error.to_string()));
    }
    if odd.unread.is_some() {
        return (Files::new(), odd);
    }
    // Some file systems mark every file as executable.
    if found.marked.len() < found.files.len() {
        odd.forms.extend(found.marked.into_iter().map(|path| (path, Form::Executable)));
    }
    odd.forms.extend(found.odd);
    // Sorting once what is nearly sorted compares fewer long paths than finding each its place.
    (found.files.into_iter().collect(), odd)
}

/// What was found in a region's folders.
#[derive(Default)]
struct Found {
    files: Vec<(String, Vec<u8>)>,
    odd: Vec<(String, Form)>,
    marked: Vec<String>,
    budget: Budget,
}

fn entries(folder: &Path) -> Result<BTreeSet<String>, ShelfError> {
    let failed = |error| ShelfError::unread(folder, error);
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = BTreeSet::new();
    for entry in list {
        let name = entry.map_err(failed)?.file_name();
        names.extend(name.to_str().map(str::to_owned));
    }
    Ok(names)
}

/// Reads everything in a folder. Each name is looked up below the open folder, because a path would be walked
/// anew for every file.
fn read_into(
    root: &Path,
    folder: &str,
    opened: Result<OwnedFd, Errno>,
    depth: usize,
    found: &mut Found,
) -> Result<(), ShelfError> {
    let unread = |error: Errno| ShelfError::unread(&root.join(folder), error.into());
    let too_much = |error: ObjectsError| ShelfError::Unreachable { message: error.to_string(), help: String::new() };
    let opened = opened.map_err(unread)?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&opened).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        match entry.file_name().to_str() {
            Ok("." | "..") => {}
            Ok(name) => entries.push((name.to_owned(), entry.file_type())),
            Err(_) => {
                found.odd.push((format!("{folder}/{}", entry.file_name().to_string_lossy()), Form::Special));
            }
        }
    }
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    for (name, kind) in entries {
        let relative = format!("{folder}/{name}");
        found.budget.enter(&relative, depth).map_err(too_much)?;
        let kind = match kind {
            FileType::Unknown => statat(&opened, &*name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| FileType::from_raw_mode(stat.st_mode))
                .map_err(|error| ShelfError::unread(&root.join(&relative), error.into()))?,
            known => known,
        };
        match kind {
            FileType::Directory => {
                let below = openat(&opened, &*name, FOLDER, Mode::empty());
                read_into(root, &relative, below, depth + 1, found)?;
            }
            FileType::RegularFile => {
                let (bytes, mode) = match read_at(&opened, Path::new(&name), &|| root.join(&relative), MOST_BYTES) {
                    Err(ShelfError::Unread { error, .. }) if error.kind() == io::ErrorKind::FileTooLarge => {
                        found.odd.push((relative, Form::Large));
                        continue;
                    }
                    read => read?,
                };
                found.budget.keep(bytes.len()).map_err(too_much)?;
                if mode & 0o111 != 0 {
                    found.marked.push(relative.clone());
                }
                found.files.push((relative, bytes));
            }
            FileType::Symlink => found.odd.push((relative, Form::Link)),
            _ => found.odd.push((relative, Form::Special)),
        }
    }
    Ok(())
}

/// A folder that is no link to one.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn read_plain(path: &Path) -> Result<Vec<u8>, ShelfError> {
    read_at(CWD, path, &|| path.to_owned(), u64::MAX).map(|(bytes, _)| bytes)
}

/// Reads a plain file in a folder and its mode, and nothing that was put in its place since it was looked at; `path` is
/// its name in messages, and it has `most` bytes at the most.
fn read_at(
    folder: impl AsFd,
    name: &Path,
    path: &dyn Fn() -> PathBuf,
    most: u64,
) -> Result<(Vec<u8>, u32), ShelfError> {
    let unread = |error| ShelfError::unread(&path(), error);
    let not_plain = || ShelfError::NotPlain(path().display().to_string());
    // Without NONBLOCK, opening a pipe would wait for somebody who writes to it.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::LOOP) => return Err(not_plain()),
        opened => File::from(opened.map_err(|errno| unread(errno.into()))?),
    };
    let meta = file.metadata().map_err(unread)?;
    if !meta.is_file() {
        return Err(not_plain());
    }
    if meta.len() > most {
        return Err(unread(io::ErrorKind::FileTooLarge.into()));
    }
    // With room for one byte more than the file has, the end is found without asking for the size again.
    let mut bytes = Vec::new();
    let room = usize::try_from(meta.len()).unwrap_or(usize::MAX).saturating_add(1);
    bytes.try_reserve_exact(room).map_err(|_| unread(io::ErrorKind::OutOfMemory.into()))?;
    file.take(u64::MAX).read_to_end(&mut bytes).map_err(unread)?;
    Ok((bytes, meta.permissions().mode()))
}

fn make_folder(path: &Path) -> Result<(), ShelfError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|error| ShelfError::io("cannot make", path, error))
}

fn make_parent(path: &Path) -> Result<(), ShelfError> {
    path.parent().map_or(Ok(()), make_folder)
}

fn create(path: &Path, bytes: &[u8]) -> Result<(), ShelfError> {
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
        file.write_all(bytes)
    };
    write().map_err(|error| ShelfError::io("cannot write", path, error))
}

/// Makes `target` hold what was published at `from`, which was read as `bytes`.
fn link_or_copy(from: &Path, bytes: &[u8], target: &Path) -> Result<(), ShelfError> {
    // A link shares the very bytes; file systems without links get a copy.
    if fs::hard_link(from, target).is_err() {
        return create(target, bytes);
    }
    // Somebody may have replaced it since it was read, or made it executable, which a link would keep.
    let is_plain = fs::metadata(target).is_ok_and(|is| is.permissions().mode() & 0o111 == 0);
    if is_plain && read_plain(target).is_ok_and(|linked| linked == bytes) {
        return Ok(());
    }
    fs::remove_file(target).map_err(|error| ShelfError::io("cannot remove", target, error))?;
    create(target, bytes)
}

/// Exchanges the folders of one region, so that a crash between two of them leaves no file that the manifest in
/// `regions/` does not list: an extra file would hold the region, a missing one heals.
fn exchange_region(root: &Path, new: &Path, directory: &Directory, region: &Region) -> Result<(), ShelfError> {
    let [bundle, deliveries @ ..] = folders(directory);
    let is_of = |folder: &str, path: &String| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // Where nothing of the region is and nothing was, somebody else's link may stand on the way.
    let swap = |folder: &String| match region.before.iter().chain(&region.after).any(|path| is_of(folder, path)) {
        true => exchange(&root.join(folder), &new.join(folder)),
        false => Ok(()),
    };
    let mut later = Vec::new();
    for folder in &deliveries {
        let inside = |path: &&String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        if region.after.difference(&region.before).any(|path| inside(&path)) {
            for path in region.before.difference(&region.after).filter(inside) {
                let _ = fs::remove_file(root.join(path));
            }
            later.push(folder);
        } else {
            swap(folder)?;
        }
    }
    swap(&bundle)?;
    later.into_iter().try_for_each(swap)
}

/// Puts `new` where `old` is, and `old` where `new` was; either may be missing.
fn exchange(old: &Path, new: &Path) -> Result<(), ShelfError> {
    let failed = |error: Errno| ShelfError::io("cannot exchange", old, error.into());
    let exists = |path: &Path| fs::symlink_metadata(path).is_ok();
    match (exists(old), exists(new)) {
        (false, false) => Ok(()),
        (false, true) => {
            make_parent(old)?;
            fs::rename(new, old).map_err(|error| ShelfError::io("cannot put in place", old, error))
        }
        (true, false) => {
            make_parent(new)?;
            fs::rename(old, new).map_err(|error| ShelfError::io("cannot take away", old, error))
        }
        (true, true) => match renameat_with(CWD, old, CWD, new, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(()),
            // Some file systems cannot exchange. Then the folder is missing for one moment, and after
            // a crash in that moment the next run renders it anew.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let aside = new.with_extension("old");
                let step = |from: &Path, to: &Path| fs::rename(from, to);
                let moved = step(old, &aside).and_then(|()| step(new, old)).and_then(|()| step(&aside, new));
                moved.map_err(|error| ShelfError::io("cannot exchange", old, error))
            }
            Err(error) => Err(failed(error)),
        },
    }
}

/// Empties the staging folder of copies, and of what was exchanged for them. Returns the paths of the rest,
/// which is somebody else's.
fn tidy(root: &Path) -> Result<Vec<String>, ShelfError> {
    let (staging, new) = (root.join(STAGING), root.join(STAGING).join(NEW));
    if !is_folder(&staging) {
        return Ok(Vec::new());
    }
    let failed = |error| ShelfError::io("cannot remove", &new, error);
    put_back(root, &new);
    match read_plain(&staging.join(RECORD)) {
        // Of a record that is damaged, nothing is known to be pouch's.
        Ok(record) => Staged::read(&record).unwrap_or_default().paths().for_each(|path| remove_inside(&new, path)),
        // Nothing was exchanged, so there are copies only.
        Err(_) if is_folder(&new) => fs::remove_dir_all(&new).map_err(failed)?,
        Err(_) => {}
    }
    if is_folder(&new) {
        prune_empty(&new);
    }
    let mut left = Vec::new();
    if fs::symlink_metadata(&new).is_ok() {
        let free = |n: &u32| fs::symlink_metadata(staging.join(format!("left-{n}"))).is_err();
        let name = format!("left-{}", (1..u32::MAX).find(free).unwrap_or_default());
        fs::rename(&new, staging.join(&name)).map_err(failed)?;
        list(&staging.join(&name), &format!("{STAGING}/{name}"), &mut left);
    }
    for name in [RECORD, UNFINISHED] {
        let _ = fs::remove_file(staging.join(name));
    }
    // These go only if they are empty.
    for name in TOPS.into_iter().chain([STAGING]) {
        let _ = fs::remove_dir(root.join(name));
    }
    Ok(left)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Removes a file of the staging folder. The output may be a checkout, and the list of files and what
/// it names may come from anybody: neither `..` nor a link leads out.
fn remove_inside(new: &Path, path: &str) {
    let mut place = new.to_owned();
    for part in Path::new(path).components() {
        if !matches!(part, std::path::Component::Normal(_)) || !is_folder(&place) {
            return;
        }
        place.push(part);
    }
    let _ = fs::remove_file(place);
}

/// Puts a folder back that a crash left aside, on a file system that cannot exchange two.
fn put_back(root: &Path, new: &Path) {
    let stands_there = |top: &&str| is_folder(new) && is_folder(&new.join(top)) && stands(&root.join(top)).is_none();
    for top in TOPS.into_iter().filter(stands_there) {
        for name in entries(&new.join(top)).unwrap_or_default() {
            let Some(region) = name.strip_suffix(".old") else { continue };
            let place = root.join(top).join(region);
            if fs::symlink_metadata(&place).is_err() && make_parent(&place).is_ok() {
                let _ = fs::rename(new.join(top).join(&name), &place);
            }
        }
    }
}

/// Lists everything but folders below a folder.
fn list(folder: &Path, shown: &str, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let shown = format!("{shown}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&entry.path(), &shown, found);
        } else {
            found.push(shown);
        }
    }
    found.sort();
}

/// Removes empty folders, from the bottom up.
fn prune_empty(folder: &Path) {
    let Ok(list) = fs::read_dir(folder) else { return };
    for entry in list.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            prune_empty(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests;
