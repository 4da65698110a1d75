//! Reuse keys. STAND-IN: this is written on another branch.
use alloc::string::String;

use bech32::{Bech32, ByteIterExt as _, Fe32IterExt as _, Hrp};
use zeroize::Zeroizing;

/// A reuse key.
pub struct ReuseKey(());

/// Why text is no reuse key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is no reuse key")]
pub struct ReuseKeyError;

impl ReuseKeyError {
    /// What to do about it.
    pub fn help(self) -> &'static str {
        "Give the whole line as it was generated."
    }
}

impl ReuseKey {
    /// Takes the text of a key.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &str) -> Result<Self, ReuseKeyError> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        if text.starts_with("POUCH-REUSE-KEY-1") && text.len() == 75 { Ok(Self(())) } else { Err(ReuseKeyError) }
    }

    /// The text of a key.
    pub fn to_text(bytes: &[u8; 32]) -> Zeroizing<String> {
        let prefix = Hrp::parse_unchecked("pouch-reuse-key-");
        let symbols = bytes.iter().copied().bytes_to_fes().with_checksum::<Bech32>(&prefix).chars();
        Zeroizing::new(symbols.map(|c| c.to_ascii_uppercase()).collect())
    }
}

/// The current key and its predecessors.
pub struct KeyRing {
    /// What tags are made with.
    pub current: ReuseKey,
    /// What older tags are verified with as well.
    pub previous: alloc::vec::Vec<ReuseKey>,
}
