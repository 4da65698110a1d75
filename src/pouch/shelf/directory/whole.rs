//! A folder of bundles as it stands, only looked at: links and special files as such, nothing followed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use pouch_core::verify::bundles::{BundleTree, Form, MOST_BYTES, STEERING, Standing, paths_listed};
use rustix::fs::{FlockOperation, flock};

use super::super::ShelfError;
use super::read_plain;
use crate::git::objects::{Budget, ObjectsError};

/// Adds a path; a path that is not all text never takes another's place.
pub fn insert(tree: &mut BundleTree, mut path: String, standing: Standing) {
    while path.contains('\u{fffd}') && tree.contains_key(&path) {
        path.push('\u{fffd}');
    }
    tree.insert(path, standing);
}

/// Which folders of a tree are looked into, by their paths.
pub type Keeps<'a> = &'a dyn Fn(&str) -> bool;

/// How much of a tree is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Every file.
    Everything,
    /// What manifests list, so that nothing else costs memory.
    Listed,
}

/// Which files of a tree are read; the others are only named.
pub enum Reads {
    /// All.
    Everything,
    /// Those that manifests list, and those that steer git or Flux.
    Listed(BTreeSet<String>),
}

impl Reads {
    /// What these manifests of folders list.
    pub fn listed_by(manifests: impl Iterator<Item = (String, Vec<u8>)>) -> Self {
        // Of a manifest that is none, no more than itself is read.
        let own = |folder: &str| format!("regions/{folder}/bundle.yaml");
        let paths = |(folder, bytes): (String, Vec<u8>)| {
            paths_listed(&folder, &bytes).into_iter().chain([own(&folder)]).collect::<Vec<_>>()
        };
        Reads::Listed(manifests.flat_map(paths).collect())
    }

    /// Whether a file is read.
    pub fn has(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        match self {
            Reads::Everything => true,
            Reads::Listed(paths) => paths.contains(path) || STEERING.contains(&name),
        }
    }
}

/// Reads what below `root` can hold bundles or Secrets, in the folders that `keeps` names, or of that only what the
/// manifests list; no run exchanges folders meanwhile.
///
/// # Errors
/// Where something cannot be read, another run writes there, or there is more than [`Budget`] allows.
pub fn read(root: &Path, keeps: Keeps<'_>, extent: Extent) -> Result<BundleTree, ShelfError> {
    let lock = File::open(root).map_err(|error| ShelfError::unread(root, error))?;
    flock(&lock, FlockOperation::NonBlockingLockShared).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => ShelfError::Busy(root.display().to_string()),
        error => ShelfError::unread(root, error.into()),
    })?;
    let mut tree = BundleTree::new();
    let reads = match extent {
        Extent::Everything => Reads::Everything,
        Extent::Listed => Reads::listed_by(manifests(root, keeps)),
    };
    walk(root, "", 0, &mut Walk { keeps, reads, budget: Budget::default(), tree: &mut tree })?;
    Ok(tree)
}

/// The manifests in the folders of regions that are looked into.
fn manifests<'a>(root: &Path, keeps: Keeps<'a>) -> impl Iterator<Item = (String, Vec<u8>)> + use<'a> {
    let regions = root.join("regions");
    let is_plain = fs::symlink_metadata(&regions).is_ok_and(|meta| meta.is_dir());
    let entries = is_plain.then(|| fs::read_dir(&regions).ok()).flatten();
    let folders = entries.into_iter().flatten().flatten().filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    folders.filter_map(move |entry| {
        let folder = entry.file_name().into_string().ok().filter(|name| keeps(&format!("regions/{name}")))?;
        let path = entry.path().join("bundle.yaml");
        let is_small = fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() <= MOST_BYTES);
        Some((folder, is_small.then(|| read_plain(&path).ok()).flatten()?))
    })
}

/// What a walk carries along.
struct Walk<'a> {
    keeps: Keeps<'a>,
    reads: Reads,
    budget: Budget,
    tree: &'a mut BundleTree,
}

fn walk(folder: &Path, before: &str, depth: usize, on: &mut Walk<'_>) -> Result<(), ShelfError> {
    let unread = |error| ShelfError::unread(folder, error);
    let too_much = |error: ObjectsError| ShelfError::Unreachable {
        message: format!("{} cannot be looked at: {error}", folder.display()),
        help: "No bundles are that large: see what lies there, or name the folder that holds them.".to_owned(),
    };
    for entry in fs::read_dir(folder).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let (name, path) = (entry.file_name(), entry.path());
        let relative = format!("{before}{}", name.to_string_lossy());
        let kind = entry.file_type().map_err(unread)?;
        on.budget.enter(&relative, depth).map_err(too_much)?;
        let is_named = std::str::from_utf8(name.as_bytes()).is_ok();
        // Modes are no part of this: some file systems mark every file as executable.
        let form = if kind.is_symlink() {
            Form::Link
        } else if kind.is_dir() {
            // Every folder is walked, whatever it is called, but not what another repository keeps in `.git`.
            match name == ".git" {
                false if !(on.keeps)(&relative) => {}
                false => walk(&path, &format!("{relative}/"), depth + 1, on)?,
                true if before.is_empty() => {}
                true => insert(on.tree, relative, Standing::odd(Form::Special)),
            }
            continue;
        } else if !kind.is_file() {
            Form::Special
        } else if entry.metadata().map_err(unread)?.len() > MOST_BYTES {
            Form::Large
        } else {
            if is_named { Form::Plain } else { Form::Special }
        };
        let standing = match kind.is_file() && form != Form::Large && on.reads.has(&relative) {
            true => Standing::file(&relative, form, read_plain(&path)?),
            false => Standing::odd(form),
        };
        on.budget.keep(standing.bytes.len()).map_err(too_much)?;
        insert(on.tree, relative, standing);
    }
    Ok(())
}
