//! Who signed a commit: git answers, and believes the file of allowed signers and nothing else.
//!
//! <https://git-scm.com/docs/git-config#Documentation/git-config.txt-gpgsshallowedSignersFile>

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::program::{Git, GitError};

/// The settings that keep the user's own configuration out of the answer: neither a key ring of GnuPG nor a key
/// that no line of the file names vouches for anything, and no object stands in for the commit.
const SETTINGS: [&str; 6] = [
    "gpg.ssh.program=ssh-keygen",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.x509.program=false",
    "gpg.minTrustLevel=fully",
    "core.useReplaceRefs=false",
];

/// What the type of a public key starts with.
const TYPES: [&str; 4] = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"];

/// Whether a file of allowed signers has a line that could allow somebody: principals, options and then a
/// public key. A public key alone is no such line.
pub fn is_usable(text: &str) -> bool {
    text.lines().filter(|line| !line.trim_start().starts_with('#')).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let pairs = words.iter().zip(words.iter().skip(1)).skip(1);
        pairs
            .into_iter()
            .any(|(kind, key)| TYPES.iter().any(|start| kind.starts_with(start)) && key.starts_with("AAAA"))
    })
}

/// Whether a signer in the file `allowed`, an absolute path, has signed the commit; if not, what git says.
pub fn verify(git: Git, repository: &Path, commit: &str, allowed: &Path) -> Result<Result<(), String>, GitError> {
    let mut setting = OsString::from("gpg.ssh.allowedSignersFile=");
    setting.push(allowed);
    let git = SETTINGS.iter().fold(git.with(setting), |git, setting| git.with(setting));
    match git.run(Some(repository), "verify-commit", &[], &[OsStr::new(commit)]) {
        Ok(_) => Ok(Ok(())),
        Err(GitError::Failed { words, .. }) if !words.contains("dubious ownership") => Ok(Err(words)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_alone_allows_nobody() {
        for good in [
            "me@example.com ssh-ed25519 AAAAC3Nza me",
            "# us\n*@example.com namespaces=\"git, file\" sk-ssh-ed25519@openssh.com AAAAGnNr\n",
        ] {
            assert!(is_usable(good), "{good}");
        }
        for bad in [
            "",
            "ssh-ed25519 AAAAC3Nza me",
            "# me ssh-ed25519 AAAAC3Nza",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n",
        ] {
            assert!(!is_usable(bad), "{bad}");
        }
    }
}
