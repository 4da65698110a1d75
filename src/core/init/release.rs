//! Which built-in ProviderInterfaces a k0rdent release stands for.
//!
//! A release is told by the version of its Release object, else by its name. If a release has no known set of its own,
//! the set of the nearest older release is the safe guess, since k0rdent never took a definition back. This module
//! knows nothing of clusters.

use alloc::string::{String, ToString as _};

use crate::release::Release;

/// A release by its numbers: 1 and 11 of `1.11.4`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Numbers {
    /// The major version.
    pub major: u16,
    /// The minor version.
    pub minor: u16,
}

impl Numbers {
    /// Reads `spec.version` of a Release: `1.11.4`, `v1.12.0-rc2`.
    pub fn of_version(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        Self::of(parts.next()?, parts.next()?)
    }

    /// Reads the name of a Release: `kcm-1-11-4`, `kcm-1-12-0-rc2`.
    pub fn of_name(text: &str) -> Option<Self> {
        let mut parts = text.split('-').skip_while(|part| number(part).is_none());
        Self::of(parts.next()?, parts.next()?)
    }

    fn of(major: &str, minor: &str) -> Option<Self> {
        Some(Self { major: number(major)?, minor: number(minor)? })
    }
}

fn number(text: &str) -> Option<u16> {
    // `parse` would take a plus sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// What is written for a release, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChosenRelease {
    /// The value of `providerInterfaces.builtin`.
    pub builtin: String,
    /// Why that set, as a sentence.
    pub why: String,
}

/// Whether the cluster has ProviderInterfaces of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interfaces {
    /// It has some.
    Some,
    /// It has none, or nobody knows.
    None,
}

/// Chooses the built-in set.
///
/// If nobody knows the release, the cluster's own ProviderInterfaces say what there is to know, and nothing is built in
/// beside them; without any, the newest known set is better than none.
pub fn choose(release: Option<Numbers>, interfaces: Interfaces) -> ChosenRelease {
    let of = |release: &Release| (1, u16::from(release.minor));
    let chosen = |builtin: String, why: String| ChosenRelease { builtin, why };
    let Some(Numbers { major, minor }) = release else {
        return match (interfaces, Release::KNOWN.last()) {
            (Interfaces::None, Some(newest)) => {
                let why = "Nothing says which release runs, and the cluster has no ProviderInterfaces: the newest.";
                chosen(newest.name(), why.to_string())
            }
            _ => {
                let why = "Nothing says which release runs: the cluster's own ProviderInterfaces are all that counts.";
                chosen("none".to_string(), why.to_string())
            }
        };
    };
    match Release::KNOWN.iter().rev().find(|known| of(known) <= (major, minor)) {
        Some(known) if of(known) == (major, minor) => {
            chosen(known.name(), format!("The release that runs is {major}.{minor}."))
        }
        Some(known) => chosen(
            known.name(),
            format!("The release that runs is {major}.{minor}, whose set pouch does not know: the nearest older one."),
        ),
        None => chosen(
            "none".to_string(),
            format!("The release that runs is {major}.{minor}, older than any whose set pouch knows."),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_told_by_version_and_by_name() {
        let numbers = |major, minor| Some(Numbers { major, minor });
        for (text, expect) in [
            ("1.11.4", numbers(1, 11)),
            ("v1.12.0-rc2", numbers(1, 12)),
            ("1.7", numbers(1, 7)),
            ("", None),
            ("1", None),
            ("1.+2.0", None),
            ("1.99999.0", None),
            ("one.two", None),
        ] {
            assert_eq!(Numbers::of_version(text), expect, "{text}");
        }
        for (text, expect) in [
            ("kcm-1-11-4", numbers(1, 11)),
            ("kcm-1-12-0-rc2", numbers(1, 12)),
            ("my-own-kcm-1-5-0", numbers(1, 5)),
            ("kcm", None),
            ("kcm-1", None),
            ("kcm-1-x-0", None),
            ("", None),
        ] {
            assert_eq!(Numbers::of_name(text), expect, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_the_nearest_older() {
        let at = |major, minor| choose(Some(Numbers { major, minor }), Interfaces::Some);
        for (major, minor, builtin, why) in [
            (1, 11, "v1.11", "is 1.11."),
            (1, 5, "v1.5", "is 1.5."),
            (1, 7, "v1.6", "nearest older"),
            (1, 13, "v1.12", "nearest older"),
            (2, 0, "v1.12", "nearest older"),
            (1, 4, "none", "older than any"),
            (0, 3, "none", "older than any"),
        ] {
            let chosen = at(major, minor);
            assert!(chosen.builtin == builtin && chosen.why.contains(why), "{major}.{minor}: {chosen:?}");
        }
        assert_eq!(choose(None, Interfaces::Some).builtin, "none");
        assert_eq!(choose(None, Interfaces::None).builtin, "v1.12");
    }
}
