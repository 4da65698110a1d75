//! The stamp: what a run read, written down for the next one.
//!
//! Nobody but the holder of the reuse key can make one. A run compares what it reads with the last stamp, so that an
//! older state of a source is never published over a newer one; and where it would read exactly what a run read that
//! changed nothing, it ends there, and tells what that run told.

mod told;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use self::told::ToldStamp;
use crate::config::{Fleet, show};
use crate::hash::sha256_hex;
use crate::json;
use crate::reuse::{KeyRing, Place, stamp_line, stamp_verifies};

/// The largest stamp that is read, in bytes.
pub const MOST_BYTES: u64 = 4 << 20;

/// The most bytes that what was told may have; what tells more is told anew each time.
const MOST_TOLD: usize = 1 << 20;

/// What a run read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stamp {
    /// Of each source.
    pub sources: Vec<SourceStamp>,
    /// What the run told, if it changed nothing and the next may tell it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<ToldStamp>,
}

/// Which state of a source a run read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceStamp {
    /// Its name in the configuration.
    pub name: String,
    /// Which cluster or repository it is, as in a manifest.
    pub identity: String,
    /// What the configuration asks of a repository: a branch, a tag or a commit, by its full name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// The commit of a repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The state of a cluster when reading it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<u64>,
}

impl SourceStamp {
    /// What an acceptance of this state is written as: a commit, or a cluster's state.
    pub fn mark(&self) -> String {
        match self.resource_version {
            Some(version) => version.to_string(),
            None => self.commit.clone(),
        }
    }
}

/// Whether text has the form of [`SourceStamp::mark`]: no identity of a source has it.
pub fn is_mark(text: &str) -> bool {
    let is_commit = text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_commit || (!text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit()))
}

impl Stamp {
    /// Adds what an earlier run read of sources that the configuration still has and this run did not reach.
    #[must_use]
    pub fn after<'a>(mut self, before: impl Iterator<Item = &'a Stamp>, fleet: &Fleet) -> Self {
        let is_configured = |of: &&SourceStamp| fleet.sources.iter().any(|source| source.name.as_str() == of.name);
        for old in before.flat_map(|before| &before.sources).filter(is_configured) {
            if !self.sources.iter().any(|new| new.name == old.name) {
                self.sources.push(old.clone());
            }
        }
        self
    }

    /// The last state of a source.
    pub fn source(&self, name: &str) -> Option<&SourceStamp> {
        self.sources.iter().find(|source| source.name == name)
    }

    /// The file's bytes.
    pub fn to_bytes(&self, keys: &KeyRing, place: Place<'_>) -> Vec<u8> {
        let text = |stamp: &Self| serde_json::to_string_pretty(stamp).unwrap_or_default() + "\n";
        let mut rest = text(self);
        if rest.len() > MOST_TOLD {
            rest = text(&Self { told: None, ..self.clone() });
        }
        let mut bytes = stamp_line(&keys.current, place, rest.as_bytes()).into_bytes();
        bytes.extend_from_slice(rest.as_bytes());
        bytes
    }

    /// The stamp in a file; none if no reuse key made it for this place.
    pub fn read(bytes: &[u8], keys: &KeyRing, place: Place<'_>) -> Option<Self> {
        serde_json::from_slice(stamp_verifies(keys, place, bytes)?).ok()
    }
}

/// A digest of what decides, beside the sources and what is published, what a run does: the configuration, the reuse
/// keys, who opens sealed sources, and this program.
pub fn inputs(fleet: &Fleet, keys: &KeyRing, openers: &[String], program: &str) -> String {
    let ring = core::iter::once(&keys.current).chain(&keys.previous).map(|key| key.id());
    let mut text = json::value(&show::tree(fleet)).to_string();
    for part in [program].into_iter().chain(ring).chain(openers.iter().map(String::as_str)) {
        // No part has a line feed, and JSON on one line has none.
        text.push('\n');
        text.push_str(part);
    }
    sha256_hex(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::FleetName;
    use crate::reuse::ReuseKey;

    fn ring(byte: u8, previous: Vec<u8>) -> KeyRing {
        let key = |byte| ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).ok().unwrap();
        KeyRing { current: key(byte), previous: previous.into_iter().map(key).collect() }
    }

    fn source(name: &str, commit: &str) -> SourceStamp {
        SourceStamp {
            name: name.to_string(),
            identity: "https://git.example.com/x".to_string(),
            reference: "refs/heads/main".to_string(),
            commit: commit.to_string(),
            resource_version: None,
        }
    }

    #[test]
    fn a_stamp_is_read_where_it_was_written_and_nowhere_else() {
        let stamp = Stamp { sources: vec![source("a", "1"), source("b", "2")], told: None };
        let fleet = FleetName::from("acme");
        let place = Place { fleet: &fleet, branch: "main", path: "bundles" };
        let bytes = stamp.to_bytes(&ring(1, vec![]), place);
        let read = |bytes: &[u8], ring: &KeyRing, place| Stamp::read(bytes, ring, place);
        assert_eq!(read(&bytes, &ring(1, vec![]), place), Some(stamp.clone()));
        assert_eq!(read(&bytes, &ring(2, vec![1]), place), Some(stamp));
        assert_eq!(read(&bytes, &ring(2, vec![]), place), None);
        let other = FleetName::from("other");
        for place in [
            Place { fleet: &other, ..place },
            Place { branch: "mai", path: "nbundles", ..place },
            Place { path: "", ..place },
        ] {
            assert_eq!(read(&bytes, &ring(1, vec![]), place), None);
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(read(&changed, &ring(1, vec![]), place), None, "{at}");
        }
        assert_eq!(read(b"", &ring(1, vec![]), place), None);
    }

    #[test]
    fn what_tells_too_much_is_not_told_again() {
        let findings = vec![crate::finding::Finding::new(crate::finding::Code::Unread, "x".repeat(1 << 10)); 1100];
        let told = ToldStamp::new((String::new(), String::new()), Default::default(), Vec::new(), &findings);
        let fleet = FleetName::from("acme");
        let place = Place { fleet: &fleet, branch: "main", path: "bundles" };
        let keys = ring(1, vec![]);
        let stamp = Stamp { sources: vec![source("a", "1")], told: Some(told) };
        let read = Stamp::read(&stamp.to_bytes(&keys, place), &keys, place).unwrap();
        assert_eq!((read.told, read.sources), (None, stamp.sources));
    }

    #[test]
    fn marks_are_told_from_identities() {
        assert!(is_mark(&"0a".repeat(20)) && is_mark("1") && is_mark("18446744073709551615"));
        for identity in
            ["", "9f1c1f2e-7a57-4e5c-a8c6-1d8c7e3b0a11", "https://example.com/a", "/srv/a", &"0A".repeat(20)]
        {
            assert!(!is_mark(identity), "{identity}");
        }
    }
}
