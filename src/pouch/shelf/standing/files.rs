//! The bytes of what git has, and why they cannot be read.

use pouch_core::verify::bundles::{BundleTree, Form, MOST_BYTES, Standing};

use crate::error::Failure;
use crate::git::objects::standing::{Found, Mode};
use crate::git::objects::{Budget, ObjectsError, Store};
use crate::shelf::beside::form_of;
use crate::shelf::directory::whole::{self, Extent, Reads};

/// Why a repository cannot be looked at.
pub(super) fn unreadable(error: &ObjectsError) -> Failure {
    let help = match error {
        ObjectsError::NoRepository(_) => {
            "Name a repository on this machine, bare or with a work tree; clone it first if it is elsewhere.".to_owned()
        }
        ObjectsError::Strange { .. } => format!("Nothing was proved. {}", error.help()),
        error => error.help(),
    };
    match error {
        ObjectsError::NoRepository(_) | ObjectsError::NoReference { .. } | ObjectsError::NoCommit(_) => {
            Failure::usage(error.to_string(), help)
        }
        _ => Failure::unavailable(error.to_string(), help),
    }
}

/// The bytes of a file; none where it is larger than is read.
pub(super) fn blob(store: &Store, found: &Found) -> Result<Option<Vec<u8>>, Failure> {
    match store.blob(found.id, MOST_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ObjectsError::TooLarge(_)) => Ok(None),
        Err(error) => Err(unreadable(&error)),
    }
}

/// The bytes of what was found, or of that only what the manifests among it list.
pub(super) fn tree(store: &Store, found: Vec<Found>, extent: Extent) -> Result<BundleTree, Failure> {
    let (mut tree, mut budget) = (BundleTree::new(), Budget::default());
    let manifest = |found: &Found| {
        let folder = found.path.strip_prefix("regions/")?.strip_suffix("/bundle.yaml")?;
        let bytes = matches!(found.mode, Mode::File | Mode::Executable).then(|| store.blob(found.id, MOST_BYTES).ok());
        Some((folder.to_owned(), bytes.flatten()?))
    };
    let reads = match extent {
        Extent::Listed => Reads::listed_by(found.iter().filter_map(manifest)),
        Extent::Everything => Reads::Everything,
    };
    for Found { path, mode, id } in found {
        let form = form_of(mode);
        let is_file = matches!(mode, Mode::File | Mode::Executable | Mode::Nameless);
        let standing = match (is_file && reads.has(&path)).then(|| store.blob(id, MOST_BYTES)) {
            None => Standing::odd(form),
            Some(Ok(bytes)) => Standing::file(&path, form, bytes),
            Some(Err(ObjectsError::TooLarge(_))) => Standing::odd(Form::Large),
            Some(Err(error)) => return Err(unreadable(&error)),
        };
        budget.keep(standing.bytes.len()).map_err(|error| unreadable(&error))?;
        whole::insert(&mut tree, path, standing);
    }
    Ok(tree)
}
