//! Hashes: SHA-256 and its hexadecimal digits, without the formatting machinery, since every file has a hash.

use alloc::string::String;

use sha2::{Digest as _, Sha256};

/// The lower-case digits of `bytes`, two for each.
pub fn digits(bytes: &[u8]) -> impl Iterator<Item = char> {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves.filter_map(|half| char::from_digit(half.into(), 16))
}

/// SHA-256 of `bytes` in 64 lower-case hex digits: for ciphertext and open files, never for a value.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(64);
    out.extend(digits(&Sha256::digest(bytes)));
    out
}

/// The first bytes of SHA-256 of `bytes`.
pub fn sha256_start<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut start = [0; N];
    start.iter_mut().zip(Sha256::digest(bytes)).for_each(|(into, byte)| *into = byte);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_the_digits_that_formatting_gives_it() {
        for byte in 0..=u8::MAX {
            assert_eq!(digits(&[byte, 0]).collect::<String>(), format!("{byte:02x}00"));
        }
    }
}
