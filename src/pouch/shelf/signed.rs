//! Whether a commit is signed by an SSH key that a file allows.

use std::path::Path;

use crate::error::{Failure, said};
use crate::git::{program, signers};
use crate::session::Session;

/// Whether a key in the file `allowed` has signed a commit of a repository; if not, what git says. Messages call the
/// file `shown`.
///
/// # Errors
/// Where the file cannot be read or allows nobody, or git cannot answer.
pub fn check(
    session: &Session,
    repository: &Path,
    commit: &str,
    (allowed, shown): (&Path, &Path),
) -> Result<Result<(), String>, Failure> {
    let format = "It has lines such as `me@example.com ssh-ed25519 AAAA…`; ssh-keygen(1) has the format.";
    if !allowed.is_file() {
        return Err(Failure::usage(format!("there is no file of allowed signers at {}", shown.display()), format));
    }
    let text = std::fs::read(allowed).map_err(|error| {
        Failure::usage(format!("{} cannot be read: {}", shown.display(), said(&error)), "Check its permissions.")
    })?;
    if !signers::is_usable(&String::from_utf8_lossy(&text)) {
        let message = format!("{} has no line of an allowed signer: who, and then the public key", shown.display());
        return Err(Failure::usage(message, format));
    }
    let git = program::git(&session.ambient.environment()).stopped_by(session.stop.flag());
    signers::verify(git, repository, commit, allowed)
        .map_err(|error| Failure::unavailable(error.to_string(), error.help(&repository.display().to_string())))
}
