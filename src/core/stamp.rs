//! The stamp: what a run read, written down for the next one.
//!
//! Nobody but the holder of the reuse key can make one. A run compares what it reads with the last stamp, so that an
//! older state of a source is never published over a newer one; and where it would read exactly what a run read that
//! changed nothing, it ends there, and tells what that run told.

mod told;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

pub use self::told::{MOST_FINDINGS, ToldStamp};
use crate::config::{Delivery, Fleet, show};
use crate::hash::sha256_hex;
use crate::json;
use crate::name::Directory;
use crate::recipient::Recipient;
use crate::reuse::{KeyRing, Place, ReuseKey, stamp_digest, stamp_line, stamp_verifies};

/// The largest stamp that is read, in bytes.
pub const MOST_BYTES: u64 = 4 << 20;

/// The most bytes that what was told may have; what tells more is told anew each time.
const MOST_TOLD: usize = 1 << 20;

/// The most states that are remembered; those of sources that are long gone go first.
const MOST_STATES: usize = 256;

/// What a run read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stamp {
    /// The last commit of pouch's own that stood on the branch after the run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Of each source; further back, of those that earlier runs read and this one did not.
    pub sources: Vec<SourceStamp>,
    /// The recipients of each region's bundle as pouch published it last, by the region's folder; empty if it was
    /// withdrawn since. The branch may be gone when that counts, and its bundles with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recipients: BTreeMap<String, Vec<String>>,
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
    /// Where it was read: digits that differ for each cluster, and for each reference of each repository.
    pub place: String,
    /// What was read there.
    pub state: SourceState,
}

/// The state of a source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SourceState {
    /// The commit of a repository.
    Commit(String),
    /// The `resourceVersion` of the cluster when reading it began.
    Version(u64),
}

impl SourceStamp {
    /// The commit of a repository, which stood at a reference.
    pub fn of_repository(name: &str, (identity, reference): (&str, &str), commit: &str) -> Self {
        Self {
            name: name.to_string(),
            place: place(identity, reference),
            state: SourceState::Commit(commit.to_string()),
        }
    }

    /// The state of a cluster.
    pub fn of_cluster(name: &str, identity: &str, version: u64) -> Self {
        Self { name: name.to_string(), place: place(identity, ""), state: SourceState::Version(version) }
    }

    /// The commit, if it is one of a repository.
    pub fn commit(&self) -> Option<&str> {
        match &self.state {
            SourceState::Commit(commit) => Some(commit),
            SourceState::Version(_) => None,
        }
    }

    /// What a trailer of a commit says of it.
    pub fn trailer(&self) -> String {
        format!("{} {} {}", self.name, self.state, self.place)
    }

    /// What a trailer says.
    pub fn of_trailer(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (name, state, place) = (words.next()?, words.next()?, words.next()?);
        let stamp = Self { name: name.to_string(), place: place.to_string(), state: SourceState::parse(state)? };
        words.next().is_none().then_some(stamp)
    }
}

fn place(identity: &str, reference: &str) -> String {
    sha256_hex(format!("{identity}\n{reference}").as_bytes()).chars().take(16).collect()
}

impl fmt::Display for SourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceState::Commit(commit) => f.write_str(commit),
            SourceState::Version(version) => version.fmt(f),
        }
    }
}

impl SourceState {
    /// The state that is shown so; no identity of a source has that form.
    pub fn parse(text: &str) -> Option<Self> {
        let is_commit = text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let is_number = text.bytes().all(|b| b.is_ascii_digit());
        match (is_commit, is_number) {
            (true, _) => Some(SourceState::Commit(text.to_string())),
            (false, true) => text.parse().ok().map(SourceState::Version),
            (false, false) => None,
        }
    }
}

impl Stamp {
    /// Adds what earlier runs read of places that this one did not, and the recipients of regions that it did not publish.
    #[must_use]
    pub fn after<'a>(mut self, before: impl Iterator<Item = &'a Stamp>) -> Self {
        let read: BTreeSet<String> = self.sources.iter().map(|source| source.place.clone()).collect();
        for before in before {
            for old in &before.sources {
                let is_known = read.contains(&old.place) || self.sources.contains(old);
                if !is_known && self.sources.len() < MOST_STATES {
                    self.sources.push(old.clone());
                }
            }
            for (directory, recipients) in &before.recipients {
                self.recipients.entry(directory.clone()).or_insert_with(|| recipients.clone());
            }
        }
        self
    }

    /// Returns true if it says nothing.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.recipients.is_empty()
    }

    /// The recipients of a region's bundle as pouch published it last, by the region's folder; empty if it is not known.
    pub fn recipients(&self, directory: &Directory) -> Vec<Recipient> {
        let known = self.recipients.get(directory.as_str()).into_iter().flatten();
        known.filter_map(|text| Recipient::parse(text).ok()).collect()
    }

    /// The file's bytes.
    pub fn to_bytes(&self, key: &ReuseKey, place: Place<'_>) -> Vec<u8> {
        let text = |stamp: &Self| serde_json::to_string_pretty(stamp).unwrap_or_default() + "\n";
        let mut rest = text(self);
        if rest.len() > MOST_TOLD {
            rest = text(&Self { told: None, ..self.clone() });
        }
        // A stamp that is too large to be read would not say what was read either.
        if u64::try_from(rest.len()).unwrap_or(u64::MAX) > MOST_BYTES / 2 {
            rest = text(&Self { told: None, recipients: BTreeMap::new(), ..self.clone() });
        }
        let mut bytes = stamp_line(key, place, rest.as_bytes()).into_bytes();
        bytes.extend_from_slice(rest.as_bytes());
        bytes
    }

    /// The stamp in a file; none if no reuse key made it for this place.
    pub fn read(bytes: &[u8], keys: &KeyRing, place: Place<'_>) -> Option<Self> {
        serde_json::from_slice(stamp_verifies(keys, place, bytes)?).ok()
    }
}

/// A digest, which tells nobody else anything, of what decides, beside the sources and what is published, what a run does: the configuration, the reuse
/// keys, who opens sealed sources, and this program; none without a key.
pub fn inputs(fleet: &Fleet, keys: &KeyRing, openers: &[String], program: &str) -> Option<String> {
    let files: Vec<String> = fleet.regions.values().filter_map(|region| not_shown(&region.delivery)).collect();
    let ring = keys.ids();
    let mut text = json::value(&show::tree(fleet)).to_string();
    let more = openers.iter().chain(&files).map(String::as_str);
    for part in [program].into_iter().chain(ring).chain(more) {
        // No part has a line feed, and JSON on one line has none.
        text.push('\n');
        text.push_str(part);
    }
    Some(stamp_digest(keys.current()?, text.as_bytes()))
}

/// What decides of a delivery and is not shown with the configuration: which release of Argo CD reads it, and the content
/// of its provider file.
fn not_shown(delivery: &Delivery) -> Option<String> {
    let Delivery::ArgoCd(argo) = delivery else { return None };
    let providers = argo.cluster.as_ref().and_then(|cluster| cluster.providers.as_ref());
    let hash = providers.map(|file| sha256_hex(file.text.as_bytes())).unwrap_or_default();
    Some(format!("argocd {} {} {hash}", argo.refreshes, argo.informs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::FleetName;
    use crate::reuse::ReuseKey;
    use crate::testing::case::RECIPIENTS;

    fn ring(byte: u8, previous: Vec<u8>) -> KeyRing {
        let key = |byte| ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).ok().unwrap();
        KeyRing::new(key(byte), previous.into_iter().map(key).collect())
    }

    fn source(name: &str, commit: &str) -> SourceStamp {
        SourceStamp::of_repository(name, ("https://git.example.com/x", "refs/heads/main"), commit)
    }

    #[test]
    fn a_stamp_is_read_where_it_was_written_and_nowhere_else() {
        let stamp = Stamp { sources: vec![source("a", "1"), source("b", "2")], ..Stamp::default() };
        let fleet = FleetName::from("acme");
        let place = Place { fleet: &fleet, branch: "main", path: "bundles" };
        let bytes = stamp.to_bytes(ring(1, vec![]).current().unwrap(), place);
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
        let told = ToldStamp::new(
            (String::new(), String::new()),
            Default::default(),
            Vec::new(),
            (&findings, &crate::finding::Counts::new(), &[]),
        );
        assert!(told.is_some());
        let fleet = FleetName::from("acme");
        let place = Place { fleet: &fleet, branch: "main", path: "bundles" };
        let keys = ring(1, vec![]);
        let stamp = Stamp { sources: vec![source("a", "1")], told, ..Stamp::default() };
        let read = Stamp::read(&stamp.to_bytes(keys.current().unwrap(), place), &keys, place).unwrap();
        assert_eq!((read.told, read.sources), (None, stamp.sources));
    }

    #[test]
    fn states_are_told_from_identities() {
        for state in ["0a".repeat(20), String::from("1"), String::from("18446744073709551615")] {
            assert_eq!(SourceState::parse(&state).map(|parsed| parsed.to_string()), Some(state));
        }
        let identities = ["", "9f1c1f2e-7a57-4e5c-a8c6-1d8c7e3b0a11", "https://example.com/a", "/srv/a"];
        for identity in identities.into_iter().chain([&*"0A".repeat(20), "99999999999999999999999"]) {
            assert_eq!(SourceState::parse(identity), None, "{identity}");
        }
    }

    #[test]
    fn a_trailer_says_what_a_stamp_says() {
        let read = [source("a", &"0a".repeat(20)), SourceStamp::of_cluster("b", "uid", 7)];
        for stamp in &read {
            assert_eq!(SourceStamp::of_trailer(&stamp.trailer()).as_ref(), Some(stamp));
        }
        for text in ["", "a", "a b", "a 7", "a 7 x y", "a seven x"] {
            assert_eq!(SourceStamp::of_trailer(text), None, "{text}");
        }
        assert_ne!(read[0].place, SourceStamp::of_repository("a", ("https://git.example.com/x", "HEAD"), "").place);
    }

    #[test]
    fn recipients_that_no_run_published_since_are_not_forgotten() {
        let of = |known: &[(&str, &[&str])]| {
            let recipients = known.iter().map(|(directory, all)| {
                ((*directory).to_string(), all.iter().map(|text| (*text).to_string()).collect())
            });
            Stamp { recipients: recipients.collect(), ..Stamp::default() }
        };
        let [one, two, ..] = RECIPIENTS;
        let before = of(&[("eu", &[one]), ("us", &[one]), ("gone", &[one])]);
        let now = of(&[("eu", &[one, two]), ("gone", &[])]);
        let after = now.after([&before].into_iter());
        assert_eq!(after, of(&[("eu", &[one, two]), ("gone", &[]), ("us", &[one])]));
        let known =
            |directory: &str| after.recipients(&directory.into()).iter().map(|it| it.to_string()).collect::<Vec<_>>();
        assert_eq!(
            (known("eu"), known("gone"), known("new")),
            (vec![one.to_string(), two.to_string()], vec![], vec![])
        );
        // A stamp of before is read, and says nothing of it.
        let old: Stamp = serde_json::from_str(r#"{"commit": "x", "sources": []}"#).unwrap();
        assert!(old.is_empty() && !after.is_empty());
        assert!(!serde_json::to_string(&old).unwrap().contains("recipients"));
    }

    #[test]
    fn what_is_not_read_is_not_forgotten() {
        let before =
            Stamp { sources: vec![source("gone", "1"), SourceStamp::of_cluster("b", "uid", 7)], ..Stamp::default() };
        let now = Stamp { sources: vec![source("renamed", "2")], ..Stamp::default() };
        let after = now.clone().after([&before, &before].into_iter());
        assert_eq!(after.sources, [now.sources[0].clone(), before.sources[1].clone()]);
        let many = |n: usize| SourceStamp::of_cluster("c", &n.to_string(), 1);
        let many = Stamp { sources: (0..1000).map(many).collect(), ..Stamp::default() };
        let after = after.after([&many].into_iter()).sources;
        assert_eq!((after.len(), after[0].name.as_str()), (MOST_STATES, "renamed"));
    }
}
