//! What a history is asked, and why it cannot answer.

use pouch_core::report::shell;

use crate::error::Failure;
use crate::git::objects::ObjectsError;
use crate::stop::Stopped;

/// The name of the folder below which files count.
pub(super) const FOLDER: &str = "regions";

/// Where looking begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Since {
    /// With the state of a branch, tag or commit.
    Revision(String),
    /// With the state at a time, in seconds since 1970-01-01 UTC.
    Time(i64),
}

/// What of a repository is looked at.
pub struct Wanted<'a> {
    /// Branches, tags or commits; every reference if there are none.
    pub revisions: &'a [String],
    /// Where looking begins, if not with the first commits.
    pub since: Option<Since>,
    /// Candidates for what is published now, the first that exists counts; then the first of `revisions`,
    /// then `HEAD`.
    pub current: &'a [String],
}

/// Why a history cannot be looked at.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HistoryError {
    /// It is not all there.
    #[error("the repository at {0} is shallow: what its history held is not there")]
    Shallow(String),
    /// An object cannot be read.
    #[error(transparent)]
    Objects(#[from] ObjectsError),
    /// The run should end.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<git2::Error> for HistoryError {
    fn from(error: git2::Error) -> Self {
        HistoryError::Objects(error.into())
    }
}

impl HistoryError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            HistoryError::Shallow(path) => format!("Fetch the rest: git -C {} fetch --unshallow", shell::word(path)),
            HistoryError::Objects(ObjectsError::NoRepository(_)) => {
                "Name a repository, bare or not: `pouch exposure PATH|URL`, or `pouch log --repo PATH|URL`.".to_owned()
            }
            HistoryError::Objects(error) => error.help(),
            HistoryError::Stopped(_) => String::new(),
        }
    }
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        let help = error.help();
        match &error {
            HistoryError::Objects(
                ObjectsError::NoReference { .. } | ObjectsError::NoCommit(_) | ObjectsError::NoRepository(_),
            ) => Failure::usage(error.to_string(), help),
            _ => Failure::unavailable(error.to_string(), help),
        }
    }
}
