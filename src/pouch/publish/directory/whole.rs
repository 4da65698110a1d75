//! A folder of bundles as it stands, for looking only: links and special files as such, nothing followed.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use pouch_core::proof::{Form, Standing, Tree};
use rustix::fs::{FlockOperation, flock};

use super::super::ShelfError;
use super::{STAGING, read_plain};

/// The largest file outside of the regions' folders that is read, in bytes.
pub const MOST_ELSEWHERE: u64 = 1 << 20;

/// The largest file in a region's folder that is read, in bytes.
pub const MOST_BYTES: u64 = 64 << 20;

/// The most folders that lie in each other.
const MOST_DEPTH: usize = 64;

/// Whether a path lies where regions' files lie.
pub fn is_regions(path: &str) -> bool {
    ["regions/", "flux/", "argocd/"].iter().any(|top| path.starts_with(top))
}

/// Reads everything below `root` that can hold bundles or Secrets; no run exchanges folders meanwhile.
///
/// # Errors
/// Where something cannot be read, or another run writes there.
pub fn read(root: &Path) -> Result<Tree, ShelfError> {
    let lock = File::open(root).map_err(|error| ShelfError::unread(root, error))?;
    flock(&lock, FlockOperation::NonBlockingLockShared).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => ShelfError::Busy(root.display().to_string()),
        error => ShelfError::unread(root, error.into()),
    })?;
    let mut tree = Tree::new();
    walk(root, "", 0, &mut tree)?;
    Ok(tree)
}

fn walk(folder: &Path, before: &str, depth: usize, tree: &mut Tree) -> Result<(), ShelfError> {
    let unread = |error| ShelfError::unread(folder, error);
    if depth > MOST_DEPTH {
        return Err(ShelfError::NotPlain(folder.display().to_string()));
    }
    for entry in fs::read_dir(folder).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let (name, path) = (entry.file_name(), entry.path());
        let relative = format!("{before}{}", name.to_string_lossy());
        let kind = entry.file_type().map_err(unread)?;
        let odd = |form| Standing { form, bytes: Vec::new() };
        if std::str::from_utf8(name.as_bytes()).is_err() {
            tree.insert(relative, odd(Form::Special));
        } else if kind.is_symlink() {
            tree.insert(relative, odd(Form::Link));
        } else if kind.is_dir() {
            if name != ".git" && !(before.is_empty() && name == STAGING) {
                walk(&path, &format!("{relative}/"), depth.saturating_add(1), tree)?;
            }
        } else if kind.is_file() {
            let length = entry.metadata().map_err(unread)?.len();
            let most = if is_regions(&relative) { MOST_BYTES } else { MOST_ELSEWHERE };
            let standing = match length > most {
                true if is_regions(&relative) => odd(Form::Special),
                true => continue,
                // Modes are no part of this: some file systems mark every file as executable.
                false => Standing { form: Form::Plain, bytes: read_plain(&path)? },
            };
            tree.insert(relative, standing);
        } else {
            tree.insert(relative, odd(Form::Special));
        }
    }
    Ok(())
}
