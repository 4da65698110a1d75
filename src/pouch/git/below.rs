//! The files below a path of a commit that a fetch left out.

use std::collections::BTreeSet;

use git2::OdbLookupFlags;

use super::objects::{Budget, Id, Kind, ObjectsError, Store};

/// The ids of the files and links at a path of a commit that its repository lacks, each once and neighbours together: a
/// server sends what resembles each other as differences.
///
/// # Errors
/// Where a folder cannot be read, or there are more of them than are read of any tree.
pub(super) fn left_out(store: &Store, revision: &str, path: &str) -> Result<Vec<Id>, ObjectsError> {
    let top = match store.commit(revision).and_then(|commit| store.at(commit, path)) {
        Err(ObjectsError::NoPath(_)) => return Ok(Vec::new()),
        found => found?,
    };
    let objects = store.repository().odb()?;
    let (mut files, mut seen, mut budget) = (Vec::new(), BTreeSet::new(), Budget::default());
    let mut next = vec![(top.kind, top.id)];
    while let Some((kind, id)) = next.pop() {
        match kind {
            // Each once, in however many places it is.
            _ if !seen.insert(id) => {}
            Kind::Folder => {
                for (name, kind, id) in store.folder(id)? {
                    budget.enter(&name, 0)?;
                    next.push((kind, id));
                }
            }
            Kind::File | Kind::Link if !objects.exists_ext(id.0, OdbLookupFlags::NO_REFRESH) => files.push(id),
            Kind::File | Kind::Link | Kind::Submodule => {}
        }
    }
    Ok(files)
}
