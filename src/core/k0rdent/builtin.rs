//! Built-in ProviderInterfaces. STAND-IN: this file is written on another branch.
use alloc::format;
use alloc::string::String;

/// A k0rdent release whose built-in ProviderInterfaces are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Release {
    /// The minor version: 11 for v1.11.
    pub minor: u8,
}

/// Why a text names no release with a known set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnknownRelease(String);

impl Release {
    /// Understands `v1.11`.
    ///
    /// # Errors
    /// Names those that are known.
    pub fn parse(text: &str) -> Result<Release, UnknownRelease> {
        let known = [5, 6, 8, 9, 10, 11, 12].map(|minor| Release { minor });
        let found = known.into_iter().find(|release| release.name() == text);
        let why = match text {
            "v1.7" => "what k0rdent v1.7 ships is not known; take a neighbour: v1.6, v1.8",
            _ => "no such release; known are v1.5, v1.6, v1.8, v1.9, v1.10, v1.11, v1.12",
        };
        found.ok_or_else(|| UnknownRelease(why.into()))
    }

    /// The release as the configuration writes it: `v1.11`.
    pub fn name(self) -> String {
        format!("v1.{}", self.minor)
    }
}
