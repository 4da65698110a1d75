//! Recipients: who can read a region. STAND-IN: this file is written on another branch.
use alloc::string::String;
use core::fmt;

use bech32::primitives::decode::CheckedHrpstring;

/// An age X25519 recipient (`age1…`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Recipient(String);

/// Why text is no recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is no age recipient")]
pub struct RecipientError;

impl RecipientError {
    /// What to do about it.
    pub fn help(self) -> &'static str {
        "Copy the whole public key again from where age-keygen printed it."
    }
}

impl Recipient {
    /// Takes the canonical text of a recipient.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &str) -> Result<Self, RecipientError> {
        let checked = CheckedHrpstring::new::<bech32::Bech32>(text).map_err(|_| RecipientError)?;
        if checked.hrp().as_str() != "age" || text.len() != 62 {
            return Err(RecipientError);
        }
        Ok(Self(text.into()))
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
