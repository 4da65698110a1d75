//! Whether git would take a file that is about to be written.

use std::path::Path;

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::objects::{ObjectsError, refused};

/// What git would do with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Care {
    /// No repository is around the file, or the repository's rules leave it out.
    Left,
    /// The next `git add` could take it, or it is in the index already.
    Taken,
    /// There is a repository that cannot be opened.
    Closed(ObjectsError),
    /// There is a repository that cannot be asked.
    Unknown,
}

/// Finds out what git would do with the file at `path`, which need not exist; its folder must.
pub fn care(path: &Path) -> Care {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Care::Unknown };
    // Links are followed to the folder that the file would really be in.
    let Ok(folder) = std::fs::canonicalize(folder) else { return Care::Unknown };
    let none: [&Path; 0] = [];
    let repository = match Repository::open_ext(&folder, RepositoryOpenFlags::empty(), none) {
        Ok(repository) => repository,
        Err(error) if error.code() == ErrorCode::NotFound => return Care::Left,
        Err(error) => return Care::Closed(refused(&folder, error)),
    };
    let Some(top) = repository.workdir().and_then(|top| std::fs::canonicalize(top).ok()) else {
        // Inside of a bare repository nothing is added.
        return Care::Left;
    };
    let whole = folder.join(name);
    let Ok(below) = whole.strip_prefix(&top) else { return Care::Left };
    let Ok(index) = repository.index() else { return Care::Unknown };
    if index.get_path(below, 0).is_some() {
        return Care::Taken;
    }
    match repository.is_path_ignored(below) {
        Ok(true) => Care::Left,
        Ok(false) => Care::Taken,
        Err(_) => Care::Unknown,
    }
}
