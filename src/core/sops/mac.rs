//! The MAC of a SOPS file: SHA-512 over all values, in the order in which they stand.
//!
//! It covers neither keys nor the boundaries between values; that is SOPS's definition, and the reason why a
//! decrypted file does not prove its own name. How the MAC is sealed is not known here.

use alloc::string::String;

use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use crate::hash;

/// The running sum. Values of a document are added in its order; `null` adds nothing.
#[derive(Default)]
pub struct Mac(Sha512);

/// The start of the sum if the MAC covers sealed values only.
///
/// <https://github.com/getsops/sops/blob/v3.13.3/sops.go>, `MACOnlyEncryptedInitialization`.
const SEALED_VALUES_ONLY: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b, 0x97, 0x5b,
    0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

impl Mac {
    /// The sum for a MAC that covers sealed values only; other values must not be added.
    pub fn of_sealed_values() -> Self {
        Self(Sha512::new_with_prefix(SEALED_VALUES_ONLY))
    }

    /// Adds text, or any value in the form in which it was sealed.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a truth value.
    pub fn boolean(&mut self, value: bool) {
        self.0.update(if value { "True" } else { "False" });
    }

    /// Adds an integer.
    pub fn integer(&mut self, value: i64) {
        self.0.update(format!("{value}"));
    }

    /// Adds a finite number: the shortest decimal form, never with an exponent.
    pub fn number(&mut self, value: f64) {
        self.0.update(format!("{value}"));
    }

    /// The sum in 128 upper-case hexadecimal digits, which are made of secrets and are sealed like one.
    pub fn finish(self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(128));
        text.extend(hash::digits(&self.0.finalize()).map(|digit| digit.to_ascii_uppercase()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_hashed_in_the_form_that_go_writes() {
        let mut mac = Mac::default();
        mac.boolean(true);
        mac.boolean(false);
        mac.integer(-3);
        for value in [1.5, 1e21, 1.25e-7, -0.5] {
            mac.number(value);
        }
        mac.bytes(b"x");
        let mut same = Mac::default();
        same.bytes(b"TrueFalse-31.510000000000000000000000.000000125-0.5x");
        assert_eq!(*mac.finish(), *same.finish());
    }

    #[test]
    fn a_sum_of_sealed_values_begins_as_sops_begins_it() {
        let (mut mac, mut same) = (Mac::of_sealed_values(), Mac::default());
        same.bytes(&SEALED_VALUES_ONLY);
        mac.bytes(b"x");
        same.bytes(b"x");
        assert_eq!(*mac.finish(), *same.finish());
    }

    #[test]
    fn the_sum_is_upper_case_sha_512() {
        let mut mac = Mac::default();
        mac.bytes(b"abc");
        // FIPS 180-4, example of SHA-512.
        assert!(mac.finish().starts_with("DDAF35A193617ABACC417349AE204131"));
    }
}
