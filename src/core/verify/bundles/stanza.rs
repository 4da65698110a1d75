//! The header of an age file, as far as it can be read without a key: <https://c2sp.org/age>
//!
//! The header says in which ways a file opens, and not for whom: only the recipient's identity can tell whose an X25519
//! stanza is. So the check is that there is one way alone, of the kind that pouch makes.

use alloc::string::String;
use alloc::vec::Vec;
use core::str;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use crate::sops::metadata::{ARMOR_BEGIN, ARMOR_END};

const VERSION: &str = "age-encryption.org/v1";

/// What follows the header: a nonce of 16 bytes, and a data key of 32 with its tag of 16.
const PAYLOAD: usize = 64;

/// What is wrong with the armored age file of a recipient; none if it opens in one way only, for an
/// X25519 identity, and holds as much as a data key.
pub(super) fn flaw(armored: &str) -> Option<&'static str> {
    let inner = armored.strip_prefix(ARMOR_BEGIN).and_then(|rest| rest.strip_suffix(ARMOR_END));
    let Some(inner) = inner else { return Some("is no armored age file") };
    let encoded: String = inner.split('\n').collect();
    let Ok(bytes) = STANDARD.decode(encoded) else { return Some("is no armored age file") };
    let Some((stanzas, payload)) = header(&bytes) else { return Some("has a header that age does not write") };
    let (grease, real): (Vec<Stanza<'_>>, Vec<Stanza<'_>>) = stanzas.into_iter().partition(Stanza::is_grease);
    if grease.len() > 1 {
        return Some("opens in more than one way");
    }
    let real: Vec<&str> = real.into_iter().map(|stanza| stanza.kind).collect();
    match real.as_slice() {
        ["X25519"] if payload == PAYLOAD => None,
        ["X25519"] => Some("holds something other than a data key"),
        [] => Some("opens for nobody"),
        [_] => Some("opens for a key of a kind other than X25519"),
        _ => Some("opens in more than one way"),
    }
}

/// One stanza of a header.
struct Stanza<'a> {
    kind: &'a str,
    arguments: Vec<&'a str>,
    /// How many letters of base64 its body has.
    letters: usize,
}

impl Stanza<'_> {
    /// Whether it is of a made-up kind, which age adds once so that readers stay used to kinds that they do not know.
    ///
    /// See `grease_the_joint` of the crate `age-core`. A stanza outside its bounds may be a key for somebody.
    fn is_grease(&self) -> bool {
        let is_drawn = |text: &str| (1..=8).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        self.kind.strip_suffix("-grease").is_some_and(is_drawn)
            && self.arguments.len() <= 4
            && self.arguments.iter().all(|argument| is_drawn(argument))
            // 99 bytes without padding.
            && self.letters <= 132
    }
}

/// The stanzas in a header, and the length of what follows it; an X25519 stanza that is not
/// of the right shape is a flaw of the header.
fn header(bytes: &[u8]) -> Option<(Vec<Stanza<'_>>, usize)> {
    let mut rest = bytes;
    let mut next = || {
        let end = rest.iter().position(|b| *b == b'\n')?;
        let (line, after) = rest.split_at_checked(end)?;
        rest = after.get(1..)?;
        Some((str::from_utf8(line).ok()?, rest.len()))
    };
    if next()?.0 != VERSION {
        return None;
    }
    let mut stanzas = Vec::new();
    loop {
        let (line, after) = next()?;
        if line.starts_with("--- ") {
            return Some((stanzas, after));
        }
        let mut words = line.strip_prefix("-> ")?.split(' ');
        let kind = words.next()?;
        let arguments: Vec<&str> = words.collect();
        let mut body = String::new();
        loop {
            let (line, _) = next()?;
            body.push_str(line);
            // The last line of a body is shorter than the others, and may be empty.
            if line.len() < 64 {
                break;
            }
        }
        let is_32 = |text: &str| STANDARD_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32);
        if kind == "X25519" && !(is_32(&body) && matches!(arguments.as_slice(), [share] if is_32(share))) {
            return None;
        }
        stanzas.push(Stanza { kind, arguments, letters: body.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armored(bytes: &[u8]) -> String {
        let text = STANDARD.encode(bytes);
        let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
        format!("{ARMOR_BEGIN}{}{ARMOR_END}", lines.join("\n"))
    }

    /// A file with these stanzas and as many bytes behind the header.
    fn file(stanzas: &str, payload: usize) -> String {
        let mut bytes = format!("{VERSION}\n{stanzas}--- {}\n", "A".repeat(43)).into_bytes();
        bytes.resize(bytes.len() + payload, 7);
        armored(&bytes)
    }

    #[test]
    fn one_way_in_for_one_x25519_identity() {
        let share = "A".repeat(43);
        let x25519 = format!("-> X25519 {share}\n{share}\n");
        let grease = format!("-> 7y-grease a b\n{}\nAA\n", "A".repeat(64));
        let strange = |line: &str, rows: usize| {
            format!("{x25519}-> {line}\n{}AA\n", format!("{}\n", "A".repeat(64)).repeat(rows))
        };
        let table = [
            (file(&x25519, 64), None),
            (file(&format!("{x25519}{grease}"), 64), None),
            (file(&format!("{grease}{x25519}"), 64), None),
            (file(&strange("!~345678-grease 12345678 a b c", 2), 64), None),
            (file(&format!("{x25519}{grease}{grease}"), 64), Some("opens in more than one way")),
            (file(&strange("123456789-grease", 0), 64), Some("opens in more than one way")),
            (file(&strange("-grease", 0), 64), Some("opens in more than one way")),
            (file(&strange("a-grease 123456789", 0), 64), Some("opens in more than one way")),
            (file(&strange("a-grease a b c d e", 0), 64), Some("opens in more than one way")),
            (file(&strange("a-grease a  b", 0), 64), Some("opens in more than one way")),
            (file(&strange("a-grease \u{e9}", 0), 64), Some("opens in more than one way")),
            (file(&strange("a-grease", 3), 64), Some("opens in more than one way")),
            (file(&x25519, 65), Some("holds something other than a data key")),
            (file(&grease, 64), Some("opens for nobody")),
            (file(&format!("{x25519}{x25519}"), 64), Some("opens in more than one way")),
            (file(&format!("{x25519}-> scrypt AA 18\n{share}\n"), 64), Some("opens in more than one way")),
            (file(&format!("-> piv-p256 a b\n{share}\n"), 64), Some("opens for a key of a kind other than X25519")),
            (file(&format!("-> X25519 {share} x\n{share}\n"), 64), Some("has a header that age does not write")),
            (file(&format!("-> X25519 {share}\nAAAA\n"), 64), Some("has a header that age does not write")),
            (file("-> X25519", 64), Some("has a header that age does not write")),
            (armored(b"age-encryption.org/v2\n"), Some("has a header that age does not write")),
            (armored(b"\xff\xfe"), Some("has a header that age does not write")),
            (String::from("AGE"), Some("is no armored age file")),
            (format!("{ARMOR_BEGIN}***{ARMOR_END}"), Some("is no armored age file")),
        ];
        for (text, expect) in table {
            assert_eq!(flaw(&text), expect, "{text}");
        }
    }
}
