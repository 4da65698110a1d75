//! Signing: git signs a commit that pouch made, with the key that it is told or that the user's configuration names.
//!
//! Nothing is signed here and no key is read. `git commit-tree` makes the same commit once more, with a signature over
//! all of it; what it made is looked at before anybody else sees it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use git2::Repository;

use super::objects::ObjectsError;
use super::program::{Git, GitError};

/// Whether and how a commit is signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signing {
    /// Never.
    Never,
    /// If git's configuration has `commit.gpgSign`, as it says there.
    AsGit,
    /// Always.
    With {
        /// `gpg.format`: `ssh` or `openpgp`.
        format: &'static str,
        /// `user.signingKey`; by default git's own.
        key: Option<OsString>,
    },
}

/// Why a commit is not signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// Git or its signer failed.
    #[error("the commit cannot be signed: {0}")]
    Git(#[from] GitError),
    /// The commit cannot be read.
    #[error("the commit cannot be read: {0}")]
    Unread(#[from] ObjectsError),
    /// What git made is not what it was given.
    #[error("git signed another commit than it was given")]
    Another,
}

impl From<git2::Error> for SignError {
    fn from(error: git2::Error) -> Self {
        Self::Unread(error.into())
    }
}

/// Signs a commit of the bare repository at `folder`, where it is to be signed. Gives the id of the one to publish.
///
/// # Errors
/// Where it cannot be signed, or what came of it is not the same commit with a signature.
pub fn sign(git: &Git, folder: &Path, commit: &str, signing: &Signing) -> Result<String, SignError> {
    // Git would note another encoding in the commit, which the message does not have.
    let mut git = git.clone().with("i18n.commitEncoding=UTF-8");
    match signing {
        Signing::Never => return Ok(commit.to_owned()),
        Signing::AsGit => {
            let options = ["--type=bool", "--default=false", "--get"];
            let said = git.run(Some(folder), "config", &options, &[OsStr::new("commit.gpgSign")])?;
            if said.trim_ascii() != b"true" {
                return Ok(commit.to_owned());
            }
        }
        Signing::With { format, key } => {
            git = git.with(format!("gpg.format={format}"));
            if let Some(key) = key {
                let mut setting = OsString::from("user.signingKey=");
                setting.push(key);
                git = git.with(setting);
            }
        }
    }
    let repository = Repository::open_bare(folder).map_err(ObjectsError::from)?;
    let unsigned = repository.find_commit(repository.revparse_single(commit)?.id())?;
    for (who, role) in [(unsigned.author(), "AUTHOR"), (unsigned.committer(), "COMMITTER")] {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        git = git
            .seeing(&format!("GIT_{role}_NAME"), text(who.name_bytes()))
            .seeing(&format!("GIT_{role}_EMAIL"), text(who.email_bytes()))
            .seeing(&format!("GIT_{role}_DATE"), format!("@{} +0000", who.when().seconds()));
    }
    let message = folder.join("POUCH_MESSAGE");
    std::fs::write(&message, unsigned.message_raw_bytes()).map_err(|error| ObjectsError::Other(error.to_string()))?;
    let message = message.to_str().ok_or_else(|| ObjectsError::Other("its folder's name is no text".to_owned()))?;
    let parents: Vec<String> = unsigned.parent_ids().map(|id| id.to_string()).collect();
    let mut options = vec!["-S", "-F", message];
    for parent in &parents {
        options.extend(["-p", parent]);
    }
    let tree = unsigned.tree_id().to_string();
    let made = git.run(Some(folder), "commit-tree", &options, &[OsStr::new(&tree)])?;
    let made = String::from_utf8_lossy(made.trim_ascii()).into_owned();

    let signed = repository.find_commit(repository.revparse_single(&made)?.id())?;
    let same = signed.tree_id() == unsigned.tree_id()
        && signed.parent_ids().eq(unsigned.parent_ids())
        && signed.message_raw_bytes() == unsigned.message_raw_bytes()
        && signed.committer().when() == unsigned.committer().when()
        && signed.author().when() == unsigned.author().when();
    let is_signed = signed.header_field_bytes("gpgsig").is_ok();
    if same && is_signed { Ok(signed.id().to_string()) } else { Err(SignError::Another) }
}
