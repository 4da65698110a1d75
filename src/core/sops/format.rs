//! What pouch writes and takes of the SOPS format.

/// The rule of every file: a value is sealed if any key on its path is one of the two.
pub const ENCRYPTED_REGEX: &str = "^(data|stringData)$";

/// Whether a key brings all below it under the rule of [`ENCRYPTED_REGEX`].
pub fn is_sealed_key(key: &str) -> bool {
    key == "data" || key == "stringData"
}

/// The most age recipients that a file may have: each costs a try to open.
pub const MAX_STANZAS: usize = 256;
