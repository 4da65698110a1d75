//! Why a shelf cannot be read or written.

use pouch_core::report::escape;

use crate::error::Failure;
use crate::scratch::NoScratch;

/// Why a shelf cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// An operation on a file or folder failed.
    #[error("{doing} {path}: {error}")]
    Io {
        /// What was being done, such as `cannot read`.
        doing: &'static str,
        /// The file or folder.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The published state cannot be read.
    #[error("cannot read {path}: {error}")]
    Unread {
        /// The file or folder.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Some regions are published, and then something failed.
    #[error("{error}; published before that: {}", done.join(", "))]
    Partly {
        /// The folders of the published regions.
        done: Vec<String>,
        /// What failed.
        error: Box<ShelfError>,
    },
    /// Something stands where only plain files and folders may.
    #[error("{0} is no plain file or folder; pouch follows no links")]
    NotPlain(String),
    /// A fleet-wide file is somebody else's.
    #[error("{0} is the repository's, and lacks the line `* -text` or lets git change files that end in .yaml")]
    NotOurs(String),
    /// Somebody else's commit is on the branch of a proposal.
    #[error("{branch} is at commit {commit}, which pouch did not propose, so the branch stays as it is")]
    Theirs {
        /// The branch and its repository.
        branch: String,
        /// The commit.
        commit: String,
    },
    /// Another run holds the output.
    #[error("another pouch is writing to {0}")]
    Busy(String),
    /// A commit cannot be made, or the server refuses it.
    #[error("{0}")]
    Git(String),
    /// Temporary files cannot be made.
    #[error(transparent)]
    NoScratch(#[from] NoScratch),
    /// There is no space for temporary files.
    #[error("there is no space for temporary files: {0}")]
    Full(String),
    /// A commit is not signed as it should be.
    #[error("{message}")]
    Unsigned {
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// The repository does not answer, or cannot be read.
    #[error("{message}")]
    Unreachable {
        /// What cannot be done.
        message: String,
        /// What to do about it; empty where nobody knows.
        help: String,
    },
}

impl ShelfError {
    /// Joins what was done, where, and what the system says.
    pub fn io(doing: &'static str, path: &std::path::Path, error: std::io::Error) -> Self {
        Self::Io { doing, path: path.display().to_string(), error }
    }

    /// Joins a path that cannot be read and what the system says.
    pub fn unread(path: &std::path::Path, error: std::io::Error) -> Self {
        Self::Unread { path: path.display().to_string(), error }
    }
}

impl From<ShelfError> for Failure {
    fn from(error: ShelfError) -> Self {
        let help = match &error {
            ShelfError::Io { .. } => "Check permissions and free space; what is published is untouched.",
            ShelfError::Unread { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
                "It is not there: correct the path, or write the bundles with `pouch render` first."
            }
            ShelfError::Unread { .. } => "Check permissions; nothing is published.",
            ShelfError::Partly { .. } => "Cure it and run pouch again; it goes on from there.",
            ShelfError::NotPlain(_) => "Remove it, or choose another output.",
            ShelfError::NotOurs(_) => "Add the line after the others, or choose another output.path.",
            ShelfError::Theirs { .. } => {
                "Nothing is proposed. Merge what is on the branch, or remove the branch (`git push REPOSITORY --delete \
                 BRANCH`), and run pouch again: it proposes what is missing then. Changes belong into the sources."
            }
            ShelfError::Busy(_) => "Wait for it to end.",
            ShelfError::Unsigned { help, .. } | ShelfError::Unreachable { help, .. } => help,
            ShelfError::NoScratch(_) | ShelfError::Full(_) => NoScratch::HELP,
            ShelfError::Git(_) => "",
        };
        // Names of files are anybody's: a line feed in one must not begin a line of the log.
        let message = escape(&error.to_string());
        match &error {
            ShelfError::NotPlain(_) | ShelfError::Unread { .. } | ShelfError::Unreachable { .. } => {
                Failure::unavailable(message, help)
            }
            _ => Failure::failed(message, help),
        }
    }
}
