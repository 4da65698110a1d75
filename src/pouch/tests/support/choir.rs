//! Canaries, and an ear for them: each place has its own, so that a hit names the place.
//!
//! What is listened for are pieces of eight bytes in any of the ways in which a program might write
//! them: as they are, in base64 at each of the three offsets, hex, percent signs, JSON's escapes, UTF-16,
//! and all of that backwards.

use std::collections::{BTreeMap, BTreeSet};

use super::spoilt::base64;

/// How many bytes of a canary make a hit.
const PIECE: usize = 8;

/// The canaries, by place.
#[derive(Default)]
pub struct Choir(BTreeMap<String, String>);

impl Choir {
    /// The canary of a place, made when it is first asked for: letters and digits, a letter first.
    pub fn voice(&mut self, place: &str) -> String {
        self.0.entry(place.to_owned()).or_insert_with(random).clone()
    }

    /// Takes a secret that must have a form of its own, such as a key.
    pub fn add(&mut self, place: &str, value: &str) {
        assert!(self.0.insert(place.to_owned(), value.to_owned()).is_none(), "{place} has a canary already");
    }

    /// Fills a text: `«place»` becomes the canary of that place, `«64:place»` the same in base64.
    pub fn fill(&mut self, text: &str) -> String {
        let mut parts = text.split('«');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('»').expect("a marker is closed");
            match name.strip_prefix("64:") {
                Some(name) => out.push_str(&base64(self.voice(name).as_bytes())),
                None => out.push_str(&self.voice(name)),
            }
            out.push_str(rest);
        }
        out
    }

    /// How many places there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Gets ready to listen.
    pub fn ear(&self) -> Ear {
        let mut ear = Ear { pieces: BTreeMap::new(), likely: vec![false; 1 << 20] };
        for (place, canary) in &self.0 {
            for (form, text, length) in forms(canary) {
                for piece in text.windows(length) {
                    ear.likely[hash(piece)] = true;
                    let key: [u8; PIECE] = piece[..PIECE].try_into().unwrap();
                    ear.pieces.entry(key).or_default().push(Piece {
                        whole: piece.to_vec(),
                        place: place.clone(),
                        form,
                    });
                }
            }
        }
        ear
    }
}

/// Letters and digits as nobody else has them.
pub fn random() -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789Zz";
    let mut bytes = [0_u8; 23];
    getrandom::fill(&mut bytes).unwrap();
    let rest = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 63)]));
    std::iter::once('C').chain(rest).collect()
}

/// A text in every form, and how long a piece of it is that stands for eight bytes of the canary.
pub fn forms(canary: &str) -> Vec<(&'static str, Vec<u8>, usize)> {
    let each = |write: &dyn Fn(u8) -> String| canary.bytes().map(write).collect::<String>().into_bytes();
    let mut forms = vec![
        ("clear", canary.as_bytes().to_vec(), PIECE),
        ("lower case", canary.to_lowercase().into_bytes(), PIECE),
        ("upper case", canary.to_uppercase().into_bytes(), PIECE),
        ("hex", each(&|byte| format!("{byte:02x}")), 2 * PIECE),
        ("HEX", each(&|byte| format!("{byte:02X}")), 2 * PIECE),
        ("percent signs", each(&|byte| format!("%{byte:02X}")), 3 * PIECE),
        ("JSON's escapes", each(&|byte| format!("\\u{byte:04x}")), 6 * PIECE),
        ("UTF-16LE", canary.bytes().flat_map(|byte| [byte, 0]).collect(), 2 * PIECE),
        ("UTF-16BE", canary.bytes().flat_map(|byte| [0, byte]).collect(), 2 * PIECE),
    ];
    for (offset, form) in ["base64", "base64, one byte on", "base64, two bytes on"].into_iter().enumerate() {
        let text = base64(format!("{}{canary}", "x".repeat(offset)).as_bytes());
        // The characters at both ends depend on the neighbours.
        let inner: String = text.trim_end_matches('=').chars().skip(4).collect();
        let inner = inner.as_bytes()[..inner.len() - 2].to_vec();
        // Ten characters are 60 bits, all of them of the canary.
        let url: Vec<u8> = inner
            .iter()
            .map(|c| {
                if *c == b'+' {
                    b'-'
                } else if *c == b'/' {
                    b'_'
                } else {
                    *c
                }
            })
            .collect();
        forms.push(("base64url", url, 10));
        forms.push((form, inner, 10));
    }
    let backwards: Vec<_> =
        forms.iter().map(|(_, text, length)| ("backwards", text.iter().rev().copied().collect(), *length)).collect();
    forms.into_iter().chain(backwards).collect()
}

/// Listens for the canaries of a choir.
pub struct Ear {
    pieces: BTreeMap<[u8; PIECE], Vec<Piece>>,
    likely: Vec<bool>,
}

struct Piece {
    whole: Vec<u8>,
    place: String,
    form: &'static str,
}

fn hash(bytes: &[u8]) -> usize {
    let word = u32::from_le_bytes(bytes[..4].try_into().unwrap()) ^ u32::from_le_bytes(bytes[4..8].try_into().unwrap());
    usize::try_from(word.wrapping_mul(0x9e37_79b1) >> 12).unwrap()
}

impl Ear {
    /// The places whose canaries are in `bytes`, each with a form in which it is.
    pub fn hears(&self, bytes: &[u8]) -> BTreeMap<&str, BTreeSet<&'static str>> {
        let mut heard: BTreeMap<&str, BTreeSet<&'static str>> = BTreeMap::new();
        for at in 0..bytes.len().saturating_sub(PIECE - 1) {
            let rest = &bytes[at..];
            if !self.likely[hash(rest)] {
                continue;
            }
            let key: [u8; PIECE] = rest[..PIECE].try_into().unwrap();
            for piece in self.pieces.get(&key).into_iter().flatten().filter(|piece| rest.starts_with(&piece.whole)) {
                heard.entry(&piece.place).or_default().insert(piece.form);
            }
        }
        heard
    }
}
