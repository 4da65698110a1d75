//! Why a sealed document was not opened.

use alloc::string::String;

use super::cipher::CipherError;
use super::format::{ENCRYPTED_REGEX, MAX_STANZAS};

/// Why a sealed document was not opened. Paths are of keys, each with a colon after it; no values.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It has no `sops` block.
    #[error("the document has no sops block")]
    NoBlock,
    /// Its data key is split among groups of keys.
    #[error("the data key is split among key groups, which pouch does not put together")]
    KeyGroups,
    /// Its MAC covers sealed values only.
    #[error("the MAC covers sealed values only (mac_only_encrypted)")]
    MacOnlyEncrypted,
    /// It names two rules.
    #[error("the sops block names two rules of which values are sealed, and SOPS takes one")]
    Rules,
    /// Its rule cannot be followed.
    #[error("the sops block's regular expression is none, or larger than pouch takes")]
    Pattern,
    /// A field of its block is not what SOPS writes there.
    #[error("the field {0} of the sops block does not hold what SOPS writes there")]
    Field(&'static str),
    /// Nothing that age made holds its data key.
    #[error("the sops block names no age recipient, and pouch opens files with age keys only")]
    NoAge,
    /// It is for more recipients than are tried.
    #[error("the sops block names more than {} age recipients", MAX_STANZAS)]
    TooManyStanzas,
    /// It is no map.
    #[error("the document is not a map")]
    NotMap,
    /// It is sealed under another rule.
    #[error("the document is not sealed under encrypted_regex {}", ENCRYPTED_REGEX)]
    Rule,
    /// It names no version.
    #[error("the sops block names no version")]
    NoVersion,
    /// Its time is missing or in another form.
    #[error("the sops block has no lastmodified written as 2026-11-21T07:51:52Z")]
    Time,
    /// It has no MAC.
    #[error("the sops block has no MAC")]
    NoMac,
    /// Its MAC cannot be opened.
    #[error("the MAC cannot be opened: {0}")]
    SealedMac(CipherError),
    /// Its MAC is that of other values.
    #[error("the MAC does not fit: a value was changed, moved, added or taken away")]
    Mac,
    /// A value that should be sealed is not.
    #[error("the value at {0} is not sealed")]
    NotSealed(String),
    /// A value looks sealed and stands where the rule seals nothing.
    #[error("the value at {0} looks sealed, and the rule of the sops block leaves it in clear")]
    SealedInClear(String),
    /// A value cannot be opened.
    #[error("the value at {0} cannot be opened: {1}")]
    Value(String, CipherError),
    /// A value is not what its type says.
    #[error("the value at {0} is not what its type says")]
    Type(String),
    /// An entry of `data` is not base64.
    #[error("entry {0:?} of data is not base64")]
    NotBase64(String),
}
