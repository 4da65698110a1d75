//! The trees of an output repository, read into memory.

use std::collections::BTreeMap;

use pouch_core::layout::form::{Form, MOST_BYTES};
use pouch_core::region::published::{Files, Proved};

use crate::git::objects::{Again, Budget, Id, ObjectsError, Store};
use crate::shelf::ShelfError;
use crate::shelf::beside::form_of;

/// How the names of sealed files end, and the name of a manifest.
const SEALED: &str = ".sops.yaml";

pub(super) fn damaged(error: ObjectsError) -> ShelfError {
    let message = format!("the output repository cannot be read: {error}");
    ShelfError::Unreachable { message, help: String::new() }
}

pub(super) fn read_into(
    store: &Store,
    folder: Id,
    path: &str,
    budget: &mut Budget,
    (files, odd): (&mut Files, &mut BTreeMap<String, Form>),
) -> Result<(), ShelfError> {
    let mut again = Again::default();
    let mut folders = vec![(folder, path.to_owned(), 0_usize)];
    while let Some((folder, before, depth)) = folders.pop() {
        let entries = store.entries(folder).map_err(damaged)?;
        if again.enter(folder, entries.len()).is_none() {
            odd.insert(before, Form::Repeated);
            continue;
        }
        for (name, mode, id) in entries {
            let path = format!("{before}/{name}");
            budget.enter(&path, depth).map_err(damaged)?;
            let form = match mode.map(form_of) {
                None => {
                    folders.push((id, path, depth + 1));
                    continue;
                }
                Some(form @ (Form::Plain | Form::Executable)) => match store.blob(id, MOST_BYTES) {
                    Ok(bytes) => {
                        budget.keep(bytes.len()).map_err(damaged)?;
                        files.insert(path.clone(), bytes);
                        form
                    }
                    Err(ObjectsError::TooLarge(_)) => Form::Large,
                    Err(error) => return Err(damaged(error)),
                },
                Some(form) => form,
            };
            if form != Form::Plain {
                odd.insert(path, form);
            }
        }
    }
    Ok(())
}

/// Adds the files below a folder, of which only what is sealed is read, and of the manifest only its id; says whether there
/// is nothing but plain files.
pub(super) fn read_sealed_into(
    store: &Store,
    folder: Id,
    path: &str,
    proved: &mut Proved<'_>,
    (manifest, id_of_manifest): (&str, &mut Option<Id>),
) -> Result<bool, ObjectsError> {
    let mut budget = Budget::default();
    let mut folders = vec![(folder, path.to_owned(), 0_usize)];
    while let Some((folder, before, depth)) = folders.pop() {
        for (name, mode, id) in store.entries(folder)? {
            let path = format!("{before}/{name}");
            budget.enter(&path, depth)?;
            match mode.map(form_of) {
                None => folders.push((id, path, depth + 1)),
                Some(Form::Plain) if name.ends_with(SEALED) => {
                    let bytes = store.blob(id, MOST_BYTES)?;
                    budget.keep(bytes.len())?;
                    proved.files.insert(path, bytes);
                }
                Some(Form::Plain) if path == manifest => *id_of_manifest = Some(id),
                Some(Form::Plain) => _ = proved.unread.insert(path),
                Some(_) => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// Adds the files below a folder, by path; of folders that stand in too many places only some.
pub(super) fn list_into(
    store: &Store,
    folder: Id,
    path: &str,
    found: &mut BTreeMap<String, Id>,
) -> Result<(), ShelfError> {
    let mut again = Again::default();
    let mut folders = vec![(folder, path.to_owned())];
    while let Some((folder, before)) = folders.pop() {
        let entries = store.entries(folder).map_err(damaged)?;
        if again.enter(folder, entries.len()).is_none() {
            continue;
        }
        for (name, mode, id) in entries {
            let path = format!("{before}/{name}");
            match mode {
                None => folders.push((id, path)),
                Some(_) => _ = found.insert(path, id),
            }
        }
    }
    Ok(())
}
