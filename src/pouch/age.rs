//! age: wraps a file's data key for each recipient.
//!
//! The only file that names the age crate, which draws its own randomness and so has no place in the
//! core. It wraps and, where an identity is at hand, unwraps; it decides nothing about who a recipient
//! is. Errors are said in our own words: age's own could repeat what it was given.

use age::secrecy::ExposeSecret as _;
use pouch_core::recipient::Recipient;
use zeroize::{Zeroize as _, Zeroizing};

/// Why age did not do as asked. It never holds key material.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgeError {
    /// age does not take a recipient that passed our own checks.
    #[error("age refuses the recipient {0}")]
    Recipient(Recipient),
    /// A data key was not wrapped.
    #[error("age could not wrap a data key for {0}")]
    Wrap(Recipient),
    /// The text is no X25519 identity.
    #[error("this is no age identity; those start with AGE-SECRET-KEY-1")]
    Identity,
    /// The stanza is malformed, or for another identity.
    #[error("the stanza cannot be opened with this identity")]
    Unwrap,
    /// The stanza holds something else than a data key.
    #[error("the stanza does not hold the 32 bytes of a data key")]
    Length,
}

/// A recipient that age has read, so that thousands of files cost one parsing.
pub struct Prepared {
    recipient: Recipient,
    key: age::x25519::Recipient,
}

impl Prepared {
    /// The recipient.
    pub fn recipient(&self) -> &Recipient {
        &self.recipient
    }
}

/// Reads recipients once, for many files.
///
/// # Errors
/// Where age and we disagree on what a recipient is.
pub fn prepare(recipients: &[Recipient]) -> Result<Vec<Prepared>, AgeError> {
    let read = |recipient: &Recipient| {
        let key = recipient.as_str().parse().map_err(|_| AgeError::Recipient(recipient.clone()))?;
        Ok(Prepared { recipient: recipient.clone(), key })
    };
    recipients.iter().map(read).collect()
}

/// Wraps a data key for one recipient, as an armored age file with line feeds.
///
/// # Errors
/// Where age fails to write to memory.
pub fn wrap(data_key: &[u8; 32], recipient: &Prepared) -> Result<String, AgeError> {
    let armored = age::encrypt_and_armor(&recipient.key, data_key);
    let armored = armored.map_err(|_| AgeError::Wrap(recipient.recipient.clone()))?;
    // On Windows age ends lines with two bytes; SOPS files are the same everywhere.
    Ok(if armored.contains('\r') { armored.replace('\r', "") } else { armored })
}

/// Wraps a data key for every recipient, in their order: the stanzas of one file.
///
/// # Errors
/// As [`wrap`].
pub fn stanzas(data_key: &[u8; 32], recipients: &[Prepared]) -> Result<Vec<(Recipient, String)>, AgeError> {
    let stanza = |recipient: &Prepared| Ok((recipient.recipient.clone(), wrap(data_key, recipient)?));
    recipients.iter().map(stanza).collect()
}

/// Makes a new X25519 identity: its text, `AGE-SECRET-KEY-1…`, and its recipient.
///
/// # Errors
/// Where age makes a recipient that we refuse, which would be a defect of one of the two.
pub fn generate_identity() -> Result<(Zeroizing<String>, Recipient), AgeError> {
    let identity = age::x25519::Identity::generate();
    let recipient = Recipient::parse(&identity.to_public().to_string()).map_err(|_| AgeError::Identity)?;
    Ok((Zeroizing::new(identity.to_string().expose_secret().to_owned()), recipient))
}

/// The recipient of an identity's text.
///
/// # Errors
/// Where the text is no X25519 identity.
pub fn recipient_of(identity: &str) -> Result<Recipient, AgeError> {
    let identity: age::x25519::Identity = identity.parse().map_err(|_| AgeError::Identity)?;
    Recipient::parse(&identity.to_public().to_string()).map_err(|_| AgeError::Identity)
}

/// Opens an armored stanza with an identity's text, `AGE-SECRET-KEY-1…` without anything around it.
///
/// # Errors
/// Where the text is no X25519 identity, where it does not open the stanza, and where the stanza holds
/// no data key.
pub fn unwrap(armored: &str, identity: &str) -> Result<Zeroizing<[u8; 32]>, AgeError> {
    let identity: age::x25519::Identity = identity.parse().map_err(|_| AgeError::Identity)?;
    let mut plain = age::decrypt(&identity, armored.as_bytes()).map_err(|_| AgeError::Unwrap)?;
    let mut data_key = Zeroizing::new([0; 32]);
    let whole = plain.len() == data_key.len();
    for (to, from) in data_key.iter_mut().zip(&plain) {
        *to = *from;
    }
    plain.zeroize();
    if whole { Ok(data_key) } else { Err(AgeError::Length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    use pouch_core::node::Node;
    use pouch_core::sops;
    use pouch_core::yaml::emit::Tree;

    /// A file of the shared test data; none, loudly, where the folder is absent and that may be.
    fn shared(path: &str) -> Option<String> {
        let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/sops")).join(path);
        let read = std::fs::read_to_string(&file);
        assert!(read.is_ok() || option_env!("CI") != Some("true"), "{path} is missing");
        if read.is_err() {
            eprintln!("SKIPPED: the shared test data is absent, {path} was not read");
        }
        read.ok()
    }

    fn identity(path: &str) -> Option<String> {
        shared(path)?.lines().find(|line| line.starts_with("AGE-SECRET-KEY-1")).map(str::to_owned)
    }

    fn node(value: &serde_json::Value) -> Node {
        match value {
            serde_json::Value::Null => Node::Null,
            serde_json::Value::Bool(value) => Node::Bool(*value),
            serde_json::Value::Number(value) => Node::Int(value.as_i64().unwrap()),
            serde_json::Value::String(text) => Node::text(text),
            serde_json::Value::Array(items) => Node::List(items.iter().map(node).collect()),
            serde_json::Value::Object(entries) => {
                Node::map(entries.iter().map(|(key, value)| (key.as_str().into(), node(value))).collect())
            }
        }
    }

    #[test]
    fn a_data_key_comes_back_for_its_recipients_alone() {
        let (ours, first) = generate_identity().unwrap();
        let (theirs, second) = generate_identity().unwrap();
        let (strange, _) = generate_identity().unwrap();
        assert_eq!(recipient_of(&ours).unwrap(), first);
        let data_key = [9; 32];
        let stanzas = stanzas(&data_key, &prepare(&[first.clone(), second.clone()]).unwrap()).unwrap();
        assert_eq!(stanzas.iter().map(|(r, _)| r).collect::<Vec<_>>(), [&first, &second]);
        for ((_, armored), right, wrong) in
            [(&stanzas[0], &ours, &theirs), (&stanzas[1], &theirs, &ours)].map(|(s, r, w)| (s, r, w))
        {
            assert!(sops::metadata::is_stanza(armored), "{armored}");
            assert_eq!(*unwrap(armored, right).unwrap(), data_key);
            assert_eq!(unwrap(armored, wrong).unwrap_err(), AgeError::Unwrap);
            assert_eq!(unwrap(armored, &strange).unwrap_err(), AgeError::Unwrap);
            assert_eq!(unwrap(&armored.replace("-----END", "----END"), right).unwrap_err(), AgeError::Unwrap);
        }
    }

    #[test]
    fn stanzas_never_repeat() {
        let prepared = prepare(&[generate_identity().unwrap().1]).unwrap();
        assert_ne!(wrap(&[9; 32], &prepared[0]).unwrap(), wrap(&[9; 32], &prepared[0]).unwrap());
    }

    #[test]
    fn errors_repeat_no_secret() {
        let (identity, _) = generate_identity().unwrap();
        let bent = identity.replace("KEY-1", "KEY-1Q");
        for error in [unwrap("", &bent).unwrap_err(), recipient_of(&bent).unwrap_err()] {
            assert_eq!(error, AgeError::Identity);
            assert!(!format!("{error} {error:?}").contains(identity.get(20..40).unwrap()));
        }
        let short = age::encrypt_and_armor(&identity.parse::<age::x25519::Identity>().unwrap().to_public(), b"short");
        assert_eq!(unwrap(&short.unwrap(), &identity).unwrap_err(), AgeError::Length);
    }

    #[test]
    fn each_stanza_of_a_sealed_file_is_for_one_identity() {
        let mut pairs = [generate_identity().unwrap(), generate_identity().unwrap()];
        pairs.sort_by(|a, b| a.1.cmp(&b.1));
        let recipients = pairs.each_ref().map(|(_, recipient)| recipient.clone());
        let data_key = [3; 32];
        let stanzas = stanzas(&data_key, &prepare(&recipients).unwrap()).unwrap();
        let document = Tree::map([
            ("apiVersion", Tree::text("v1")),
            ("data", Tree::map([("password", Tree::text("aHVudGVyMg=="))])),
            ("kind", Tree::text("Secret")),
        ]);
        let mut ivs = (1..).map(|n| [n; 32]);
        let ingredients = sops::Ingredients {
            data_key: &data_key,
            ivs: &mut ivs,
            last_modified: "2026-11-21T07:51:52Z",
            recipients: &recipients,
            stanzas: &stanzas,
        };
        let sealed = sops::seal(document, ingredients).unwrap();
        assert!(!sealed.text.contains("aHVudGVyMg"), "{}", sealed.text);
        for (_, armored) in &stanzas {
            assert_eq!(pairs.iter().filter(|(identity, _)| unwrap(armored, identity).is_ok()).count(), 1);
        }
    }

    #[test]
    fn files_of_the_sops_command_open() {
        let (Some(text), Some(identity)) =
            (shared("sops-cli-3.11.0/k8s-secret.enc.json"), identity("sops-cli-3.11.0/key1.txt"))
        else {
            return;
        };
        let document = node(&serde_json::from_str(&text).unwrap());
        let stanzas = sops::stanzas(&document);
        let data_key = unwrap(&stanzas[0].1, &identity).unwrap();
        let opened = sops::open(&document, &data_key).unwrap();
        let values: Vec<_> = opened.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(values[0], ("AccessKeyID", b"AKIATEST".as_slice()));
        assert_eq!(values[1], ("SecretAccessKey", b"test/secret+value=".as_slice()));
    }
}
