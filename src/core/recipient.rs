//! Recipients: who can read a region.
//!
//! A recipient is the public half of an age X25519 identity, and text that stands in a configuration or a
//! recipients file is trusted with every secret of a region. So this module takes one form only and refuses
//! everything else by name. It never repeats its input: people paste secret keys.

use alloc::string::String;
use core::fmt;

use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, ByteIterExt as _, Fe32IterExt as _, Hrp};

use crate::secret::{self, holds_private_key};

/// An age X25519 recipient: canonical, in lower case, 62 characters that start with `age1`.
///
/// <https://c2sp.org/age#x25519-recipient-stanza>
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Recipient(String);

/// Why text is no recipient. The text itself is never part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipientError {
    /// There is no text.
    #[error("the recipient is empty")]
    Empty,
    /// It is what examples have where a recipient belongs, such as `age1…`.
    #[error("this stands where a recipient is to be written")]
    Placeholder,
    /// It holds an age identity, a plugin's identity, a reuse key or a private key of another kind.
    #[error("this is a secret key, not a recipient")]
    SecretKey,
    /// It is an SSH public key.
    #[error("this is an SSH key, and what delivers bundles decrypts with age identities only")]
    Ssh,
    /// It is a hybrid, post-quantum recipient (`age1pq1…`).
    #[error("this is a post-quantum recipient, and they are not supported yet")]
    PostQuantum,
    /// It is a tagged hardware recipient (`age1tag1…`, `age1tagpq1…`).
    #[error("this is a tagged hardware recipient, and they are not supported yet")]
    Tagged,
    /// It is the recipient of a plugin (`age1NAME1…`).
    #[error("this is a plugin's recipient, and pouch starts no plugins")]
    Plugin,
    /// It holds a blank, a line break, a byte order mark or another character that age never writes.
    #[error("the recipient holds a blank, a line break, a byte order mark or another foreign character")]
    ForeignCharacter,
    /// It is written in capitals.
    #[error("the recipient is written in capitals")]
    UpperCase,
    /// It mixes capitals with small letters.
    #[error("the recipient mixes capitals with small letters")]
    MixedCase,
    /// It does not start with `age1`.
    #[error("this is no age recipient; those start with age1")]
    Unknown,
    /// It does not have 62 characters.
    #[error("the recipient has {0} characters instead of 62")]
    Length(usize),
    /// Its checksum does not fit.
    #[error("the recipient's checksum does not fit, so a character is wrong")]
    Checksum,
    /// It is another spelling of a key, and no age identity opens what is sealed to it.
    #[error("the recipient is not in its canonical form, so no identity could open what is sealed to it")]
    NotCanonical,
    /// Everybody can compute what is sealed to it.
    #[error("the recipient is a point of low order, so everybody could open what is sealed to it")]
    LowOrder,
}

impl RecipientError {
    /// What to do about it, in one sentence.
    pub fn help(self) -> &'static str {
        match self {
            RecipientError::Empty => "Write the region's recipient, which `pouch keygen` or age-keygen prints.",
            RecipientError::Placeholder => {
                "Make the key with `pouch keygen`, which works before that, and write the recipient that it prints."
            }
            RecipientError::SecretKey => {
                "Take it out, treat it as leaked, and write its public half, which `age-keygen -y` prints."
            }
            RecipientError::Ssh | RecipientError::Plugin | RecipientError::PostQuantum | RecipientError::Tagged => {
                "Make a key pair with `pouch keygen` or age-keygen, and write its public key, which starts with age1."
            }
            RecipientError::ForeignCharacter => {
                "Write it without quotes and blanks; in a file, one to a line, ended by a line feed alone."
            }
            RecipientError::UpperCase | RecipientError::MixedCase => "Write it in small letters, as age-keygen does.",
            RecipientError::LowOrder => {
                "Make a new key pair with `pouch keygen` or age-keygen, and write its public key: no such tool makes this one."
            }
            RecipientError::Unknown
            | RecipientError::Length(_)
            | RecipientError::Checksum
            | RecipientError::NotCanonical => "Copy the whole public key again from where age-keygen printed it.",
        }
    }
}

/// A recipient as people read it: by its name, if it has one, and its whole key. A key whose ends are those of another is soon
/// made, and a name is whatever the configuration says.
pub fn shown(name: Option<&str>, key: &str) -> String {
    name.map_or_else(|| String::from(key), |name| format!("{name} ({key})"))
}

const PREFIX: Hrp = Hrp::parse_unchecked("age");
const LENGTH: usize = 62;

impl Recipient {
    /// Reads the canonical text of a recipient, and nothing else: not even a blank around it.
    ///
    /// # Errors
    /// Says what the text is instead, without repeating any of it.
    pub fn parse(text: &str) -> Result<Self, RecipientError> {
        judge_shape(text)?;
        let checked = CheckedHrpstring::new::<Bech32>(text).map_err(|_| RecipientError::Checksum)?;
        let mut point = [0_u8; 32];
        let mut bytes = checked.byte_iter();
        if checked.hrp() != PREFIX || bytes.len() != point.len() {
            return Err(RecipientError::Length(text.len()));
        }
        for (to, from) in point.iter_mut().zip(&mut bytes) {
            *to = from;
        }
        judge_point(&point)?;
        // Bech32 has four spare bits here; set ones would make a second name for the same recipient.
        let canonical: String = point.iter().copied().bytes_to_fes().with_checksum::<Bech32>(&PREFIX).chars().collect();
        if canonical == text { Ok(Self(canonical)) } else { Err(RecipientError::NotCanonical) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn judge_shape(text: &str) -> Result<(), RecipientError> {
    if text.is_empty() {
        return Err(RecipientError::Empty);
    }
    if holds_private_key(text.as_bytes()) {
        return Err(RecipientError::SecretKey);
    }
    let starts =
        |prefix: &str| text.as_bytes().get(..prefix.len()).is_some_and(|s| s.eq_ignore_ascii_case(prefix.as_bytes()));
    if starts("ssh-") || starts("ecdsa-sha2-") || starts("sk-ssh-") || starts("sk-ecdsa-") {
        return Err(RecipientError::Ssh);
    }
    if is_placeholder(text) {
        return Err(RecipientError::Placeholder);
    }
    if !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(RecipientError::ForeignCharacter);
    }
    if !starts("age1") {
        return Err(RecipientError::Unknown);
    }
    match (text.bytes().any(|b| b.is_ascii_uppercase()), text.bytes().any(|b| b.is_ascii_lowercase())) {
        (true, true) => return Err(RecipientError::MixedCase),
        (true, false) => return Err(RecipientError::UpperCase),
        (false, _) => {}
    }
    // Bech32 parts at the last `1`, and its alphabet has none: a second one means another prefix.
    match text.rsplit_once('1').map(|(prefix, _)| prefix) {
        Some("age") if text.len() == LENGTH => Ok(()),
        Some("age") => Err(RecipientError::Length(text.len())),
        Some("age1pq") => Err(RecipientError::PostQuantum),
        Some("age1tag" | "age1tagpq") => Err(RecipientError::Tagged),
        _ => Err(RecipientError::Plugin),
    }
}

/// Whether a text only stands for a recipient, as `age1…`, `age1...`, `age1xxx` and `<recipient>` do.
fn is_placeholder(text: &str) -> bool {
    let rest = text.strip_prefix("age1").unwrap_or_default();
    let is_one_letter = |letter: char| !rest.is_empty() && rest.chars().all(|it| it.eq_ignore_ascii_case(&letter));
    let is_cut = rest.ends_with('…') || rest.ends_with("...");
    is_cut || is_one_letter('x') || (text.starts_with('<') && text.ends_with('>')) || secret::is_placeholder(text)
}

/// u-coordinates of the points whose order divides 8, little-endian: with them the shared secret is
/// all zero. RFC 7748 §6.1; <https://cr.yp.to/ecdh.html#validate>
const LOW_ORDER: [[u8; 32]; 7] = [
    little_endian(0x00, 0x00, 0x00),
    little_endian(0x01, 0x00, 0x00),
    [
        0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09,
        0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
    ],
    [
        0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44,
        0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
    ],
    // p - 1, and p and p + 1, which are 0 and 1 in other words.
    little_endian(0xec, 0xff, 0x7f),
    little_endian(0xed, 0xff, 0x7f),
    little_endian(0xee, 0xff, 0x7f),
];

const fn little_endian(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut bytes = [middle; 32];
    let ([head, .., tail], first, last) = (&mut bytes, first, last);
    *head = first;
    *tail = last;
    bytes
}

fn judge_point(point: &[u8; 32]) -> Result<(), RecipientError> {
    let [first, middle @ .., last] = *point;
    let mut masked = *point;
    let [.., top] = &mut masked;
    *top &= 0x7f;
    if LOW_ORDER.contains(&masked) {
        return Err(RecipientError::LowOrder);
    }
    // X25519 ignores bit 255 and takes values modulo p = 2^255 - 19, but age hashes the recipient's bytes into
    // the wrapping key: the identity cannot open what is sealed to another spelling. And one recipient under
    // two names would pass for two.
    let above_p = first >= 0xed && middle.iter().all(|b| *b == 0xff) && last & 0x7f == 0x7f;
    if last & 0x80 != 0 || above_p { Err(RecipientError::NotCanonical) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;
    use alloc::vec::Vec;
    use bech32::Bech32m;

    const GOOD: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
    const SECRET: &str = "AGE-SECRET-KEY-1PRKM3XJARJQ5LWJYZP672PDUF370A9CEJ6XACKCX82FQYSVHZ2GS3CMTS3";

    fn encode(hrp: &str, bytes: &[u8]) -> String {
        bech32::encode::<Bech32>(Hrp::parse(hrp).unwrap(), bytes).unwrap()
    }

    #[track_caller]
    fn check(text: &str, expect: RecipientError) {
        let error = Recipient::parse(text).unwrap_err();
        assert_eq!(error, expect, "{text:?}");
        let said = format!("{error} {} {error:?}", error.help());
        let long = |word: &&str| word.len() > 10;
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(long) {
            assert!(!said.to_lowercase().contains(&word.to_lowercase()), "{said}");
        }
    }

    #[test]
    fn a_recipient_is_taken_as_it_is() {
        assert_eq!(Recipient::parse(GOOD).unwrap().to_string(), GOOD);
    }

    #[test]
    fn secret_keys_are_named_and_never_repeated() {
        for text in [
            SECRET.to_string(),
            SECRET.to_lowercase(),
            format!(" {SECRET}"),
            format!("\u{feff}{SECRET}\r"),
            format!("{GOOD} {SECRET}"),
            format!("recipient={SECRET}"),
            SECRET.replace("AGE", "Age"),
            "AGE-SECRET-KEY-PQ-1QQQQQQQQQQQQQQ".into(),
            "AGE-SECRET-KEY-".into(),
            "AGE-PLUGIN-YUBIKEY-1QQQQQQQQQQ".into(),
            "POUCH-REUSE-KEY-1QQQQQQQQQQQQ".into(),
            "-----BEGIN OPENSSH PRIVATE KEY-----".into(),
        ] {
            check(&text, RecipientError::SecretKey);
        }
    }

    #[test]
    fn other_kinds_of_recipient_are_named() {
        let point = [9_u8; 32];
        check("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN", RecipientError::Ssh);
        check("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ== somebody@somewhere", RecipientError::Ssh);
        check("ecdsa-sha2-nistp256 AAAAE2VjZHNh", RecipientError::Ssh);
        check("SSH-ED25519 AAAA", RecipientError::Ssh);
        check("sk-ssh-ed25519@openssh.com AAAA", RecipientError::Ssh);
        check("sk-ecdsa-sha2-nistp256@openssh.com AAAA", RecipientError::Ssh);
        check(&encode("age1pq", &[7; 200]), RecipientError::PostQuantum);
        check(&encode("age1tag", &[2; 33]), RecipientError::Tagged);
        check(&encode("age1tagpq", &[2; 200]), RecipientError::Tagged);
        check(&encode("age1xyz", &point), RecipientError::Plugin);
        check(&encode("age1yubikey", &[2; 33]), RecipientError::Plugin);
        check(&encode("age1", &point), RecipientError::Plugin);
        check(&encode("agf", &point), RecipientError::Unknown);
        check(&encode("bc", &point), RecipientError::Unknown);
        check("FBC7B9E2A4F9289AC0C1D4843D16CEE4A27381B4", RecipientError::Unknown);
        check("arn:aws:kms:us-east-1:111122223333:key/1234abcd", RecipientError::Unknown);
        check("null", RecipientError::Unknown);
        check("age", RecipientError::Unknown);
        check("\"age1\"", RecipientError::Unknown);
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        for (error, expect) in [
            (RecipientError::Empty, "age-keygen"),
            (RecipientError::SecretKey, "treat it as leaked"),
            (RecipientError::Ssh, "Make a key pair"),
            (RecipientError::Plugin, "Make a key pair"),
            (RecipientError::ForeignCharacter, "without quotes and blanks"),
            (RecipientError::UpperCase, "small letters"),
            (RecipientError::Checksum, "Copy the whole public key again"),
        ] {
            assert!(error.help().contains(expect), "{error}");
        }
    }

    #[test]
    fn what_only_stands_for_a_recipient_is_told_as_that() {
        for text in ["age1…", "age1...", "age1qqq…", "age1xxxxxxxx", "age1XXX", "<recipient>", "<age1…>"] {
            check(text, RecipientError::Placeholder);
        }
        // A mark behind it makes a recipient none.
        check(&format!("{GOOD}.."), RecipientError::Length(64));
        check(&format!("{GOOD}x"), RecipientError::Length(63));
    }

    #[test]
    fn spellings_are_refused() {
        check("", RecipientError::Empty);
        for text in [
            format!(" {GOOD}"),
            format!("{GOOD} "),
            format!("{GOOD}\n"),
            format!("{GOOD}\r"),
            format!("{GOOD}\t"),
            format!("\u{feff}{GOOD}"),
            format!("{GOOD}\u{a0}"),
            format!("{GOOD}\u{200b}"),
            format!("{GOOD}\0"),
            format!("{GOOD},{GOOD} "),
            GOOD.replace('a', "\u{430}"),
            " ".into(),
        ] {
            check(&text, RecipientError::ForeignCharacter);
        }
        check(&GOOD.to_uppercase(), RecipientError::UpperCase);
        check(&GOOD.replace("age", "AGE"), RecipientError::MixedCase);
        check(&GOOD.replace("f09", "F09"), RecipientError::MixedCase);
        check(GOOD.strip_suffix('f').unwrap(), RecipientError::Length(61));
        check(&format!("{GOOD}q"), RecipientError::Length(63));
        check("age1", RecipientError::Length(4));
        check(&encode("age", &[9; 31]), RecipientError::Length(60));
        check(&encode("age", &[9; 33]), RecipientError::Length(63));
        check(&encode("age", &[9; 400]), RecipientError::Length(650));
        check(&GOOD.replace("f09", "f08"), RecipientError::Checksum);
        check(&GOOD.replace("f09", "fb9"), RecipientError::Checksum);
        check(&GOOD.replace("f09", "f,9"), RecipientError::Checksum);
        let wrong_checksum = bech32::encode::<Bech32m>(PREFIX, &[9; 32]).unwrap();
        check(&wrong_checksum, RecipientError::Checksum);
    }

    #[test]
    fn a_second_spelling_of_a_key_is_refused() {
        let mut aliased = [9_u8; 32];
        aliased[31] |= 0x80;
        check(&encode("age", &aliased), RecipientError::NotCanonical);
        for above in 0xef..=0xff {
            check(&encode("age", &little_endian(above, 0xff, 0x7f)), RecipientError::NotCanonical);
        }
        // The largest value below p that is no point of low order, and one that is large in its low bytes only.
        assert!(Recipient::parse(&encode("age", &little_endian(0xeb, 0xff, 0x7f))).is_ok());
        assert!(Recipient::parse(&encode("age", &little_endian(0xff, 0xff, 0x3f))).is_ok());

        let symbols = [9_u8; 32].iter().copied().bytes_to_fes().collect::<Vec<_>>();
        let last = *symbols.last().unwrap();
        for padding in 1..16_u8 {
            let bent = bech32::Fe32::try_from(last.to_u8() | padding).unwrap();
            let text: String =
                symbols[..51].iter().copied().chain([bent]).with_checksum::<Bech32>(&PREFIX).chars().collect();
            check(&text, RecipientError::NotCanonical);
        }
    }

    #[test]
    fn points_of_low_order_are_refused_in_every_spelling() {
        for mut point in LOW_ORDER {
            check(&encode("age", &point), RecipientError::LowOrder);
            point[31] |= 0x80;
            check(&encode("age", &point), RecipientError::LowOrder);
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics_and_only_itself_is_taken(text in "(age1|AGE1)?[ -~é]{0,70}") {
            if let Ok(recipient) = Recipient::parse(&text) {
                assert_eq!(recipient.as_str(), text);
            }
        }

        #[test]
        fn one_changed_character_is_seen(at in 4_usize..62, to in "[a-z0-9]") {
            let mut text = GOOD.to_string();
            text.replace_range(at..=at, &to);
            assert_eq!(Recipient::parse(&text).is_ok(), text == GOOD);
        }
    }
}
