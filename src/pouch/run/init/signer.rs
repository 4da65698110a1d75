//! The key that signs what is published, as the user names it. Only its public half is read.

use std::path::{Path, PathBuf};

use pouch_core::init::setup::{OUTPUT, PublicKey, Signer};

use crate::ambient::Ambient;
use crate::run::keyfiles::{KeyFolder, MakeError};
use crate::settings::read_text;

/// The largest public key, in bytes: RSA of 16384 bits has 2.8 KB.
const MOST: u64 = 16 << 10;

const NO_PAIR: &str = "Make a pair with `ssh-keygen -t ed25519 -N \"\" -f FILE`. Of a key that only an agent has, name the \
                       file of its public half.";
const NO_KEY: &str = "Name a key of SSH, beside which ssh-keygen put FILE.pub. Signatures of GnuPG are set up by hand: \
                      docs/operations.md, \"Signed commits\".";

/// The key of this file, which has its public half beside it, as ssh-keygen(1) leaves both; or the file of a public half
/// itself, where an agent has the key.
///
/// # Errors
/// Where that is no public key of SSH, or the configuration cannot name the file.
pub(super) fn signer(file: &Path, place: &KeyFolder, ambient: &Ambient) -> Result<Signer, MakeError> {
    let shown = file.display();
    let unfit = |message: String, help: &'static str| MakeError::Signer { message, help };
    let public = if file.extension().is_some_and(|extension| extension == "pub") {
        file.to_owned()
    } else {
        let mut name = file.as_os_str().to_owned();
        name.push(".pub");
        PathBuf::from(name)
    };
    let whole = ambient.cwd().join(file);
    if !whole.is_file() {
        return Err(unfit(format!("--signing-key names {shown}, which is no file"), NO_PAIR));
    }
    let text = read_text(&ambient.cwd().join(&public), MOST).map_err(|fault| {
        unfit(fault.message(&format!("{}, the public half of --signing-key", public.display())), NO_PAIR)
    })?;
    let public = PublicKey::read(&text)
        .ok_or_else(|| unfit(format!("{} holds no public key of SSH", public.display()), NO_KEY))?;
    let below = whole.strip_prefix(&place.base).unwrap_or(&whole);
    let help = "Give it another name or another folder: it is where bundles are written, or the configuration cannot write it.";
    match below.to_str() {
        Some(key) if !key.chars().any(char::is_control) && !below.starts_with(OUTPUT) => {
            Ok(Signer { key: key.to_owned(), public })
        }
        _ => Err(unfit("the configuration cannot name the file of --signing-key".to_owned(), help)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHN0YW5kcyBmb3IgYSBrZXkgb2YgMzIgYnl0ZXMh pouch\n";

    #[test]
    fn a_key_is_named_from_the_configuration_and_never_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        for name in ["sub/keys/signer", "elsewhere", "sub/bundles/signer", "alone", "pgp"] {
            write(name, "not looked at");
        }
        for name in ["sub/keys/signer.pub", "elsewhere.pub", "sub/bundles/signer.pub"] {
            write(name, PUBLIC);
        }
        write("pgp.pub", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n");
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let place = KeyFolder::new(Path::new("sub/p.yaml"), &ambient);
        let of = |file: &str| signer(Path::new(file), &place, &ambient);
        assert_eq!(of("sub/keys/signer").unwrap().key, "keys/signer");
        assert_eq!(of("sub/keys/signer.pub").unwrap().key, "keys/signer.pub");
        assert_eq!(of("elsewhere").unwrap().key, folder.path().join("elsewhere").to_str().unwrap());
        for (file, says) in [
            ("alone", "alone.pub, the public half of --signing-key is not there"),
            ("absent", "--signing-key names absent, which is no file"),
            ("pgp", "pgp.pub holds no public key of SSH"),
            ("sub/bundles/signer", "cannot name the file"),
        ] {
            let failure = of(file).unwrap_err();
            assert!(failure.is_usage() && failure.to_string().contains(says), "{failure}");
        }
    }
}
