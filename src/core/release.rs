//! Releases of k0rdent: those whose built-in ProviderInterfaces are known, and those that are known by name alone.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// A k0rdent release whose built-in ProviderInterfaces are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Release {
    /// The minor version: 11 for v1.11.
    pub minor: u8,
}

/// Why a text names no known release.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownRelease {
    /// The release exists, but what it ships is not known.
    #[error("the ProviderInterfaces of k0rdent {0} are not known; choose a neighbouring release: {1}")]
    NoData(String, String),
    /// It is not among the known releases.
    #[error("there is no such release; the known ones are {0}")]
    Unlisted(String),
}

impl Release {
    /// The releases whose set is known, oldest first.
    pub const KNOWN: [Release; 7] = [
        Release { minor: 5 },
        Release { minor: 6 },
        Release { minor: 8 },
        Release { minor: 9 },
        Release { minor: 10 },
        Release { minor: 11 },
        Release { minor: 12 },
    ];

    /// The newest release that is known by name alone: what it ships could not be had.
    const NAMED: Release = Release { minor: 13 };

    /// Reads a release such as `v1.11`.
    ///
    /// One newer than all known releases counts: what the newest of them ships was never taken back.
    ///
    /// # Errors
    /// Names the neighbours of a release without data, else all known releases.
    pub fn parse(text: &str) -> Result<Release, UnknownRelease> {
        let minor = text.strip_prefix("v1.").and_then(|minor| minor.parse().ok());
        let named = minor.map(|minor| Release { minor }).filter(|release| release.name() == text);
        if let Some(release) = named.filter(|release| Self::KNOWN.contains(release) || release.is_newer()) {
            return Ok(release);
        }
        let names = |which: &dyn Fn(u8) -> bool| {
            let names: Vec<String> = Self::KNOWN.iter().filter(|r| which(r.minor)).map(|r| r.name()).collect();
            names.join(", ")
        };
        Err(match text {
            "v1.7" => UnknownRelease::NoData(text.to_string(), names(&|minor| minor == 6 || minor == 8)),
            _ => {
                UnknownRelease::Unlisted(format!("{} and, by its name alone, {}", names(&|_| true), Self::NAMED.name()))
            }
        })
    }

    /// Whether the release is newer than all known ones, so that the newest of them stands for it.
    pub fn is_newer(self) -> bool {
        Self::KNOWN.iter().all(|known| *known < self)
    }

    /// Returns true if the release is known by name alone: it exists, and is newer than all whose set is known.
    pub fn is_named_alone(self) -> bool {
        self.is_newer() && self <= Self::NAMED
    }

    /// The release as the configuration writes it: `v1.11`.
    pub fn name(self) -> String {
        format!("v1.{}", self.minor)
    }
}
