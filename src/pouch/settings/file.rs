//! Files that a user names: read whole and within bounds, or why not.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::said;

/// The largest configuration and the largest file of recipients, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// The largest file of a reuse key, in bytes; a key has 75.
pub const MAX_KEY_BYTES: u64 = 4 << 10;

/// Whether users beside the owner and the group may read or write a file.
#[cfg(unix)]
pub fn is_open_to_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o007 != 0)
}

/// Whether users beside the owner and the group may read or write a file: nobody can tell.
#[cfg(not(unix))]
pub fn is_open_to_all(_: &Path) -> bool {
    false
}

/// Why a file cannot be read.
pub enum FileFault {
    /// It is not there.
    Absent,
    /// It is to be read from a repository, and is outside of it.
    Elsewhere,
    /// It is a folder, a pipe or a device.
    NoFile,
    /// It has more bytes than this.
    TooLarge(u64),
    /// It is not UTF-8.
    NotText,
    /// The system does not let it be read.
    Unreadable(io::Error),
}

impl FileFault {
    /// The problem, in one sentence without a full stop.
    pub fn message(&self, what: &str) -> String {
        match self {
            FileFault::Absent => format!("{what} is not there"),
            FileFault::Elsewhere => format!("{what} is outside of the repository, so no commit has it"),
            FileFault::NoFile => format!("{what} is no plain file"),
            FileFault::TooLarge(most) => format!("{what} is larger than {most} bytes"),
            FileFault::NotText => format!("{what} is not UTF-8"),
            FileFault::Unreadable(error) => format!("{what} cannot be read: {}", said(error)),
        }
    }

    /// What to do about it: only the permissions if they are in the way, else `otherwise`.
    pub fn help<'a>(&self, otherwise: &'a str) -> &'a str {
        match self {
            FileFault::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "Check the permissions of the file and of its folders: this user may not read it."
            }
            _ => otherwise,
        }
    }
}

/// Reads a file of UTF-8 of at most so many bytes.
pub fn read_text(path: &Path, most: u64) -> Result<String, FileFault> {
    let fault = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => FileFault::Absent,
        _ => FileFault::Unreadable(error),
    };
    // Looked at before it is opened: opening a pipe would wait for a writer.
    if !fs::metadata(path).map_err(fault)?.is_file() {
        return Err(FileFault::NoFile);
    }
    let mut bytes = Zeroizing::new(Vec::new());
    File::open(path).map_err(fault)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(fault)?;
    if u64::try_from(bytes.len()).map_or(true, |length| length > most) {
        return Err(FileFault::TooLarge(most));
    }
    std::str::from_utf8(&bytes).map(str::to_owned).map_err(|_| FileFault::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever may not read a file needs no other file and no other key. (Root may read all.)
    #[cfg(unix)]
    #[test]
    fn a_file_that_is_closed_is_told_to_be_opened() {
        for what in ["the configuration", "the reuse key", "the file of recipients"] {
            let closed = FileFault::Unreadable(io::ErrorKind::PermissionDenied.into());
            assert_eq!(closed.message(what), format!("{what} cannot be read: permission denied"));
            assert!(closed.help("Make another.").starts_with("Check the permissions"));
            assert_eq!(FileFault::Absent.help("Make another."), "Make another.");
        }
    }
}
