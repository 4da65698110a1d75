//! Temporary folders, which only their owner can read, files that take another's place when they are whole, and what
//! killed runs left of theirs.
//!
//! A run that is killed removes nothing, so the next one does. It recognises such a folder by the lock beside it: an
//! empty file with the folder's name, on which a run that lives holds a lock of its own. So nobody's else is touched and
//! none that is in use. The file is there before the folder, and goes after it: what a kill leaves, whenever it comes,
//! is found. A file beside others has a name of ours, and is its own lock. What folders and files hold is not known here.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::NamedTempFile;

use crate::error::Failure;

/// What folders are called, before random letters.
const FOLDER: &str = "pouch-";

/// What locks are called: a dot, the folder's name and this.
const LOCK: &str = ".lock";

/// What files are called that stand beside a user's own, before random letters. Collectors of metrics read `*.prom`; a
/// name that starts with a dot is passed over.
const BESIDE: &str = ".pouch-new-";

/// How many letters a name has by chance, as `tempfile` draws them.
const LETTERS: usize = 6;

/// How often another name is tried, where somebody took the first for left behind.
const TRIES: usize = 16;

/// A temporary folder, which goes with its value.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    lock: PathBuf,
    /// Locked as long as it is open.
    _held: File,
}

/// Why no temporary folder can be made.
#[derive(Debug, thiserror::Error)]
#[error("no temporary folder can be made in {}: {error}", place.display())]
pub struct NoScratch {
    place: PathBuf,
    error: io::Error,
}

impl NoScratch {
    /// What to do about it.
    pub const HELP: &str =
        "Check that TMPDIR names a folder that this user can write to, and that there is space in it.";
}

impl From<NoScratch> for Failure {
    fn from(error: NoScratch) -> Self {
        Failure::failed(error.to_string(), NoScratch::HELP)
    }
}

impl Scratch {
    /// Makes a folder where the system has temporary files. The first time it removes what killed runs left there.
    ///
    /// # Errors
    /// Where nothing can be made there.
    pub fn new() -> Result<Self, NoScratch> {
        static SWEPT: Once = Once::new();
        let place = std::env::temp_dir();
        SWEPT.call_once(|| sweep(&place));
        Self::within(&place).map_err(|error| NoScratch { place, error })
    }

    fn within(place: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let mut builder = tempfile::Builder::new();
            builder.prefix(".pouch-").suffix(LOCK).rand_bytes(LETTERS);
            let (held, lock) = builder.tempfile_in(place)?.keep().map_err(|error| error.error)?;
            // Between its making and its lock, another run may take it for left behind.
            match held.try_lock() {
                Ok(()) if is_same(&held, &lock)? => {}
                Ok(()) | Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => {
                    let _ = fs::remove_file(&lock);
                    return Err(error);
                }
            }
            let made = folder_of(&lock).ok_or(io::Error::from(io::ErrorKind::InvalidFilename)).and_then(|folder| {
                fs::DirBuilder::new().mode(0o700).create(&folder)?;
                Ok(folder)
            });
            match made {
                Ok(folder) => return Ok(Self { folder, lock, _held: held }),
                Err(error) => {
                    let _ = fs::remove_file(&lock);
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The bytes that the files in it have together.
    pub fn size(&self) -> u64 {
        let (mut sum, mut folders) = (0_u64, vec![self.folder.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(found) if found.is_dir() => folders.push(entry.path()),
                    Ok(found) => sum = sum.saturating_add(found.len()),
                    Err(_) => {}
                }
            }
        }
        sum
    }
}

/// The space that is free where the system has temporary files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// In bytes.
    pub free: u64,
    /// True if what is written there takes memory.
    pub is_memory: bool,
}

impl Space {
    /// Looks where temporary files are made; none if the system does not say.
    pub fn of_system() -> Option<Self> {
        // <https://www.man7.org/linux/man-pages/man2/statfs.2.html>
        const TMPFS: rustix::fs::FsWord = 0x0102_1994;
        let found = rustix::fs::statfs(std::env::temp_dir()).ok()?;
        let free = found.f_bavail.saturating_mul(u64::try_from(found.f_bsize).ok()?);
        Some(Self { free, is_memory: found.f_type == TMPFS })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is the next run's to remove.
        if fs::remove_dir_all(&self.folder).is_ok() {
            let _ = fs::remove_file(&self.lock);
        }
    }
}

/// Makes an empty file in a folder that may be anybody's, with these permissions as far as the umask leaves them. It goes
/// with its value, unless it is put in another's place. Removes what killed runs left of such files in that folder.
///
/// # Errors
/// Where nothing can be made there.
pub fn file_in(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    for left in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if left.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_drawn(name, BESIDE)) {
            let _ = unused(&left).and_then(|_held| fs::remove_file(&left));
        }
    }
    for _ in 0..TRIES {
        let mut builder = tempfile::Builder::new();
        builder.prefix(BESIDE).rand_bytes(LETTERS).permissions(fs::Permissions::from_mode(mode));
        let made = builder.tempfile_in(folder)?;
        // Between its making and its lock, another run may take it for left behind.
        match made.as_file().try_lock() {
            Ok(()) if is_same(made.as_file(), made.path())? => return Ok(made),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            // Where nothing can be locked, nothing is removed either.
            Err(TryLockError::Error(_)) => return Ok(made),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The folder of a lock, if the lock is called as one.
fn folder_of(lock: &Path) -> Option<PathBuf> {
    let name = lock.file_name()?.to_str()?.strip_prefix('.')?.strip_suffix(LOCK)?;
    is_drawn(name, FOLDER).then(|| lock.with_file_name(name))
}

/// Whether a name is this and random letters.
fn is_drawn(name: &str, first: &str) -> bool {
    let letters = name.strip_prefix(first).unwrap_or_default();
    letters.len() == LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether this file still stands at the path.
fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((held.dev(), held.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the folders of runs that were killed. Whatever goes wrong stays as it is: it is in nobody's way.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for lock in entries.flatten().map(|entry| entry.path()) {
        if let Some(folder) = folder_of(&lock) {
            let _ = remove_left(&lock, &folder);
        }
    }
}

fn remove_left(lock: &Path, folder: &Path) -> io::Result<()> {
    let held = unused(lock)?;
    if held.metadata()?.len() > 0 {
        return Ok(());
    }
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() && is_ours(&found) => fs::remove_dir_all(folder)?,
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs::remove_file(lock)
}

/// Opens a plain file of this user that no run holds, and holds it.
fn unused(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Nobody can make this wait, or look elsewhere.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path)?;
    let metadata = file.metadata()?;
    // Whoever lives holds it.
    let is_unused = metadata.is_file() && is_ours(&metadata) && file.try_lock().is_ok() && is_same(&file, path)?;
    if is_unused { Ok(file) } else { Err(io::ErrorKind::ResourceBusy.into()) }
}

fn is_ours(metadata: &fs::Metadata) -> bool {
    metadata.uid() == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(place: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_its_owner_s_and_goes_with_its_lock() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::within(place.path()).unwrap();
        assert_eq!(fs::metadata(scratch.path()).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(scratch.path().join("x"), "x").unwrap();
        // One that is in use stays, whoever looks.
        sweep(place.path());
        assert_eq!(names(place.path()).len(), 2);
        assert!(scratch.path().join("x").exists());
        drop(scratch);
        assert_eq!(names(place.path()), [""; 0]);
    }

    #[test]
    fn what_killed_runs_left_goes_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let lock = |name: &str| fs::write(at(name), "").unwrap();
        // A run that was killed while it worked, one before it made its folder, one while it removed it.
        lock(".pouch-aaaaaa.lock");
        fs::create_dir_all(at("pouch-aaaaaa/objects/ab")).unwrap();
        lock(".pouch-bbbbbb.lock");
        // What only looks alike.
        fs::create_dir(at("pouch-nolock")).unwrap();
        fs::create_dir(at("pouch-test-abcdef")).unwrap();
        fs::create_dir_all(at("pouch-notours")).unwrap();
        lock(".pouch-toolong7.lock");
        fs::write(at(".pouch-cccccc.lock"), "words").unwrap();
        fs::create_dir(at("pouch-cccccc")).unwrap();
        symlink(at("pouch-notours"), at("pouch-dddddd")).unwrap();
        lock(".pouch-dddddd.lock");
        symlink(at(".pouch-cccccc.lock"), at(".pouch-eeeeee.lock")).unwrap();
        fs::create_dir(at("pouch-eeeeee")).unwrap();
        let before = names(place.path());
        sweep(place.path());
        let gone: Vec<String> = before.into_iter().filter(|name| fs::symlink_metadata(at(name)).is_err()).collect();
        assert_eq!(gone, [".pouch-aaaaaa.lock", ".pouch-bbbbbb.lock", "pouch-aaaaaa"]);
    }

    #[test]
    fn files_beside_others_go_with_the_next_unless_they_are_in_use() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        // Left behind, half written or not at all; and what only looks alike.
        fs::write(at(".pouch-new-aaaaaa"), "half").unwrap();
        fs::write(at(".pouch-new-bbbbbb"), "").unwrap();
        fs::write(at(".pouch-new-toolong"), "mine").unwrap();
        fs::write(at("mine"), "mine").unwrap();
        symlink(at("mine"), at(".pouch-new-cccccc")).unwrap();
        fs::create_dir(at(".pouch-new-dddddd")).unwrap();
        let used = file_in(place.path(), 0o666).unwrap();
        let other = file_in(place.path(), 0o600).unwrap();
        assert_eq!(fs::metadata(other.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(used.path().exists());
        other.persist(at("other")).unwrap();
        drop(used);
        let stays = [".pouch-new-cccccc", ".pouch-new-dddddd", ".pouch-new-toolong", "mine", "other"];
        assert_eq!(names(place.path()), stays);
        assert_eq!(fs::read_to_string(at("mine")).unwrap(), "mine");
    }

    #[test]
    fn many_at_once_take_nothing_from_each_other() {
        let place = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        sweep(place.path());
                        let scratch = Scratch::within(place.path()).unwrap();
                        fs::write(scratch.path().join("x"), "x").unwrap();
                        sweep(place.path());
                        assert_eq!(fs::read_to_string(scratch.path().join("x")).unwrap(), "x");
                    }
                });
            }
        });
        assert_eq!(names(place.path()), [""; 0]);
    }
}
