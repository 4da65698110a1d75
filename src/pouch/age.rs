//! age: wraps a file's data key for each recipient.
//!
//! The only file that names the age crate, which draws its own randomness and so has no place in the core. It
//! wraps and, where an identity is at hand, unwraps; it decides nothing about who a recipient is. Errors are in
//! our own words, because age's could repeat its input.

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

/// Why a line of an identity file was not taken. The line itself is never part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The file has no identity.
    #[error("it holds no identity")]
    None,
    /// The whole file is encrypted with a passphrase.
    #[error("it is itself encrypted, and pouch asks for no passphrase")]
    Encrypted,
    /// Every key of it is for another program; the first of them by its line.
    #[error("it holds no identity that pouch opens files with: line {0} is {1}, and pouch takes age X25519 identities")]
    Others(usize, OtherKey),
    /// A recipient, so the public half.
    #[error("this is a recipient, the public half of a key; opening takes the identity")]
    Recipient,
    /// A block, such as an SSH key, that does not end.
    #[error("a block of another key begins here, and its END line is missing")]
    Cut,
    /// Anything else.
    #[error("this is no age identity; those start with AGE-SECRET-KEY-1")]
    Unknown,
}

/// A key that pouch opens nothing with, and another program may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtherKey {
    /// An identity of a plugin.
    #[error("a plugin's identity")]
    Plugin,
    /// A hybrid, post-quantum identity.
    #[error("a post-quantum identity")]
    PostQuantum,
    /// An SSH key in one line.
    #[error("an SSH key")]
    Ssh,
    /// An SSH, PGP or other key, or a message, between BEGIN and END.
    #[error("a block such as an SSH or PGP key")]
    Block,
}

/// Identities that open files, in the order of their file. They are wiped when dropped, and cannot be
/// printed.
#[derive(Default)]
pub struct Identities {
    known: Vec<(Recipient, age::x25519::Identity)>,
    others: Vec<(usize, OtherKey)>,
}

impl Identities {
    /// Reads an identity file as `age-keygen` writes it: one identity to a line, empty lines and lines
    /// that start with `#` aside. Blanks around a line count for nothing. Keys for other programs are passed over, and
    /// [told](Self::others) by their lines.
    ///
    /// # Errors
    /// The number of the line, from 1, and what the line is instead; 0 for the whole file.
    pub fn parse(text: &str) -> Result<Self, (usize, IdentityError)> {
        if text.trim_start().starts_with("-----BEGIN AGE ENCRYPTED FILE") || text.starts_with("age-encryption.org/") {
            return Err((0, IdentityError::Encrypted));
        }
        let mut identities = Self::default();
        let mut lines = (1..).zip(text.lines().map(str::trim));
        while let Some((number, line)) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with("-----BEGIN ") {
                // An identity in between is not the block's: its end was lost.
                let is_end = |(_, line): (usize, &str)| match line {
                    _ if line.starts_with("-----END ") => Some(true),
                    _ if line.starts_with("-----BEGIN ") || is_identity(line) => Some(false),
                    _ => None,
                };
                if lines.find_map(is_end) != Some(true) {
                    return Err((number, IdentityError::Cut));
                }
                identities.others.push((number, OtherKey::Block));
                continue;
            }
            match other_key(line) {
                Some(other) => identities.others.push((number, other)),
                None => identities.known.push(parse_identity(line).map_err(|error| (number, error))?),
            }
        }
        match (identities.known.is_empty(), identities.others.first()) {
            (false, _) => Ok(identities),
            (true, Some((number, other))) => Err((0, IdentityError::Others(*number, *other))),
            (true, None) => Err((0, IdentityError::None)),
        }
    }

    /// The lines of a file, from 1, at which keys for other programs begin.
    pub fn others(&self) -> &[(usize, OtherKey)] {
        &self.others
    }

    /// Adds the identities of another file.
    pub fn absorb(&mut self, others: Self) {
        self.known.extend(others.known);
    }

    /// Their recipients, in order.
    pub fn recipients(&self) -> impl Iterator<Item = &Recipient> {
        self.known.iter().map(|(recipient, _)| recipient)
    }

    /// Opens a file's data key with whichever identity opens one of its stanzas.
    ///
    /// A stanza is a pair: the recipient that it claims, and the armored age file. Stanzas that claim one of
    /// the identities come first; a claim proves nothing, so the others are tried as well.
    ///
    /// # Errors
    /// Where no identity opens a stanza, and where an opened stanza holds no data key.
    pub fn unwrap(&self, stanzas: &[(String, String)]) -> Result<Zeroizing<[u8; 32]>, AgeError> {
        let named = |(label, _): &&(String, String)| self.recipients().any(|recipient| recipient.as_str() == label);
        let likely = stanzas.iter().filter(named);
        let others = stanzas.iter().filter(|stanza| !named(stanza));
        let mut result = Err(AgeError::Unwrap);
        for (label, armored) in likely.chain(others) {
            for (_, identity) in self.by_likeliness(label) {
                match open_stanza(armored, identity) {
                    Ok(data_key) => return Ok(data_key),
                    Err(AgeError::Length) => result = Err(AgeError::Length),
                    Err(_) => {}
                }
            }
        }
        result
    }

    /// The recipient of the identity that opens one armored stanza, and the data key in it; the identity that
    /// the stanza claims is tried first.
    pub fn opening(&self, label: &str, armored: &str) -> Option<(&Recipient, Zeroizing<[u8; 32]>)> {
        let mut tried = self.by_likeliness(label);
        tried.find_map(|(recipient, identity)| Some((recipient, open_stanza(armored, identity).ok()?)))
    }

    fn by_likeliness(&self, label: &str) -> impl Iterator<Item = &(Recipient, age::x25519::Identity)> {
        let is_it = move |(recipient, _): &&(Recipient, age::x25519::Identity)| recipient.as_str() == label;
        self.known.iter().filter(is_it).chain(self.known.iter().filter(move |pair| !is_it(pair)))
    }
}

fn parse_identity(line: &str) -> Result<(Recipient, age::x25519::Identity), IdentityError> {
    if let Ok(identity) = line.parse::<age::x25519::Identity>() {
        let recipient = Recipient::parse(&identity.to_public().to_string()).map_err(|_| IdentityError::Unknown)?;
        return Ok((recipient, identity));
    }
    let is_recipient = Recipient::parse(line).is_ok() || starts_with(line, "age1");
    Err(if is_recipient { IdentityError::Recipient } else { IdentityError::Unknown })
}

/// Returns true if a line is meant to be an identity that pouch opens files with.
fn is_identity(line: &str) -> bool {
    starts_with(line, "age-secret-key-1")
}

/// The key of another kind that stands in a line.
fn other_key(line: &str) -> Option<OtherKey> {
    let kinds = [
        ("age-secret-key-pq-", OtherKey::PostQuantum),
        ("age-plugin-", OtherKey::Plugin),
        ("ssh-", OtherKey::Ssh),
        ("ecdsa-sha2-", OtherKey::Ssh),
        ("sk-", OtherKey::Ssh),
    ];
    kinds.into_iter().find(|(prefix, _)| starts_with(line, prefix)).map(|(_, other)| other)
}

fn starts_with(line: &str, prefix: &str) -> bool {
    line.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
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
pub fn wrap(data_key: &[u8; 32], recipient: &Prepared) -> Result<String, AgeError> {
    let armored = age::encrypt_and_armor(&recipient.key, data_key);
    let armored = armored.map_err(|_| AgeError::Wrap(recipient.recipient.clone()))?;
    // On Windows age ends lines with two bytes; SOPS files are the same everywhere.
    Ok(if armored.contains('\r') { armored.replace('\r', "") } else { armored })
}

/// Wraps a data key for every recipient, in their order: the stanzas of one file.
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
    open_stanza(armored, &identity.parse().map_err(|_| AgeError::Identity)?)
}

fn open_stanza(armored: &str, identity: &age::x25519::Identity) -> Result<Zeroizing<[u8; 32]>, AgeError> {
    // The format allows blanks around the armor, but the crate only after it.
    let mut plain = age::decrypt(identity, armored.trim_ascii_start().as_bytes()).map_err(|_| AgeError::Unwrap)?;
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

    use pouch_core::node::Interner;
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
    fn identities_open_what_one_of_them_can() {
        let (ours, first) = generate_identity().unwrap();
        let (theirs, second) = generate_identity().unwrap();
        let text = format!("# made by us\n\n{}\r\n  {}\n", *ours, *theirs);
        let both = Identities::parse(&text).unwrap();
        assert_eq!(both.recipients().collect::<Vec<_>>(), [&first, &second]);
        let wrapped = |recipients: &[Recipient]| {
            let stanzas = stanzas(&[9; 32], &prepare(recipients).unwrap()).unwrap();
            stanzas.into_iter().map(|(recipient, text)| (recipient.to_string(), text)).collect::<Vec<_>>()
        };
        let strange = generate_identity().unwrap().1;
        for recipients in [vec![first.clone()], vec![second.clone()], vec![strange.clone(), second.clone()]] {
            assert_eq!(*both.unwrap(&wrapped(&recipients)).unwrap(), [9; 32]);
        }
        // What a stanza says of its recipient may be a lie.
        let mut mislabelled = wrapped(std::slice::from_ref(&first));
        mislabelled[0].0 = strange.to_string();
        assert_eq!(*both.unwrap(&mislabelled).unwrap(), [9; 32]);
        assert_eq!(both.unwrap(&wrapped(&[strange])).unwrap_err(), AgeError::Unwrap);
        assert_eq!(both.unwrap(&[]).unwrap_err(), AgeError::Unwrap);
        let short = age::encrypt_and_armor(&first.as_str().parse::<age::x25519::Recipient>().unwrap(), b"short");
        assert_eq!(both.unwrap(&[(first.to_string(), short.unwrap())]).unwrap_err(), AgeError::Length);
    }

    #[test]
    fn a_stanza_tells_whose_identity_opens_it() {
        let (ours, first) = generate_identity().unwrap();
        let (theirs, second) = generate_identity().unwrap();
        let mut both = Identities::parse(&ours).unwrap();
        both.absorb(Identities::parse(&theirs).unwrap());
        let strange = generate_identity().unwrap().1;
        let wrapped = |recipient: &Recipient| wrap(&[9; 32], &prepare(std::slice::from_ref(recipient)).unwrap()[0]);
        for (label, recipient, expect) in
            [(&first, &first, Some(&first)), (&first, &second, Some(&second)), (&second, &strange, None)]
        {
            let opened = both.opening(label.as_str(), &wrapped(recipient).unwrap());
            assert_eq!(opened.as_ref().map(|(who, _)| *who), expect);
            assert!(opened.is_none_or(|(_, data_key)| *data_key == [9; 32]));
        }
    }

    const BLOCK: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n\nBBBB\n-----END OPENSSH PRIVATE KEY-----\n";

    #[test]
    fn keys_for_others_are_passed_over_and_told_by_their_lines() {
        let (ours, recipient) = generate_identity().unwrap();
        let text = format!(
            "# keys\nAGE-PLUGIN-YUBIKEY-1QQQ\n{BLOCK}age-secret-key-pq-1qqq\n{}\nssh-ed25519 AAAA\n-----BEGIN PGP PRIVATE \
             KEY BLOCK-----\nVersion: 1\n\nAAAA\n-----END PGP PRIVATE KEY BLOCK-----\n",
            *ours
        );
        let identities = Identities::parse(&text).unwrap();
        assert_eq!(identities.recipients().collect::<Vec<_>>(), [&recipient]);
        let expect = [
            (2, OtherKey::Plugin),
            (3, OtherKey::Block),
            (8, OtherKey::PostQuantum),
            (10, OtherKey::Ssh),
            (11, OtherKey::Block),
        ];
        assert_eq!(identities.others(), expect);
        assert_eq!(Identities::parse(&ours).unwrap().others(), []);
    }

    #[test]
    fn identity_files_name_line_and_cause() {
        let (ours, recipient) = generate_identity().unwrap();
        for (text, expect) in [
            (String::new(), (0, IdentityError::None)),
            ("# nothing\n".to_owned(), (0, IdentityError::None)),
            ("-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n".to_owned(), (0, IdentityError::Encrypted)),
            (format!("{}\n{recipient}\n", *ours), (2, IdentityError::Recipient)),
            ("ssh-ed25519 AAAA\n".to_owned(), (0, IdentityError::Others(1, OtherKey::Ssh))),
            ("# a\nAGE-SECRET-KEY-PQ-1QQQ".to_owned(), (0, IdentityError::Others(2, OtherKey::PostQuantum))),
            ("AGE-PLUGIN-YUBIKEY-1QQQ".to_owned(), (0, IdentityError::Others(1, OtherKey::Plugin))),
            (BLOCK.to_owned(), (0, IdentityError::Others(1, OtherKey::Block))),
            ("-----BEGIN OPENSSH PRIVATE KEY-----".to_owned(), (1, IdentityError::Cut)),
            (format!("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n{}\n{BLOCK}", *ours), (1, IdentityError::Cut)),
            (format!("{}\nAGE-SECRET-KEY-1QQQ\n", *ours), (2, IdentityError::Unknown)),
            (format!("\n{}Q\n", *ours), (2, IdentityError::Unknown)),
            ("\u{feff}x".to_owned(), (1, IdentityError::Unknown)),
        ] {
            assert_eq!(Identities::parse(&text).err(), Some(expect), "{}", expect.1);
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
        let document = pouch_core::json::read(&text, &mut Interner::new()).unwrap();
        let stanzas = sops::stanzas(&document);
        let data_key = unwrap(&stanzas[0].1, &identity).unwrap();
        let opened = sops::open(&document, &data_key).unwrap();
        let values: Vec<_> = opened.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(values[0], ("AccessKeyID", b"AKIATEST".as_slice()));
        assert_eq!(values[1], ("SecretAccessKey", b"test/secret+value=".as_slice()));
    }
}
