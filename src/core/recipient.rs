//! Recipients: who can read a region.
use alloc::string::String;

/// An age X25519 recipient (`age1…`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Recipient(String);
