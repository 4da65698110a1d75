//! `pouch rekey`, as a user runs it: from the sources, from what is published, into a folder and a branch.

mod bad_input;
mod branch;
mod folder;
mod forged;
mod killed;
mod lost_key;

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::region::published::document;
use pouch_core::sops;

use crate::support::fleet::{self, CANARY, EU, Fleet, Tree, US};
use crate::support::root;

/// The file of a region's identity, relative to the fleet's folder.
pub fn identity_file(region: &str) -> String {
    format!("keys/{region}.txt")
}

/// A fleet of `count` Credentials in each of two regions, published, with the regions' identities at hand.
pub fn published(count: usize) -> Fleet {
    let fleet = unpublished(count);
    fleet.render(&[]).ends(0);
    fleet
}

/// The same before it is published.
pub fn unpublished(count: usize) -> Fleet {
    let fleet = Fleet::with_credentials(count);
    let keys = root().join("testdata/quickstart/keys");
    for (region, from) in [("eu", "eu-west.txt"), ("us", "us-east.txt")] {
        fleet.private(&identity_file(region), std::fs::read_to_string(keys.join(from)).unwrap());
    }
    fleet
}

/// Makes an identity; gives its recipient, and writes its file.
pub fn new_identity(fleet: &Fleet, path: &str) -> String {
    let (secret, recipient) = pouch::age::generate_identity().unwrap();
    fleet.private(path, format!("{}\n", &*secret));
    recipient.to_string()
}

/// Takes the sources away, which ends any run that reads them.
pub fn without_sources(fleet: &Fleet) {
    std::fs::rename(fleet.path("manifests"), fleet.path("manifests-gone")).unwrap();
}

/// Whether a path is that of a sealed file.
pub fn is_sealed(path: &str) -> bool {
    path.ends_with(".sops.yaml")
}

/// Paths below a folder whose bytes differ.
pub fn changed(before: &Tree, after: &Tree) -> BTreeSet<String> {
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    all.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

/// Sealed files of a region, and its manifest: what a rekey changes, and nothing else.
pub fn of_rekey(tree: &Tree, region: &str) -> BTreeSet<String> {
    let folder = format!("regions/{region}/");
    let touched = |path: &&String| path.starts_with(&folder) && (is_sealed(path) || path.ends_with("/bundle.yaml"));
    tree.keys().filter(touched).cloned().collect()
}

/// What one identity reads in a region: values by path. Panics where a file does not open.
#[track_caller]
pub fn opened(fleet: &Fleet, tree: &Tree, region: &str, identity: &str) -> BTreeMap<String, Vec<(String, Vec<u8>)>> {
    let secret = fleet.read(identity);
    let secret = secret.lines().find(|line| line.starts_with("AGE-SECRET-KEY-1")).unwrap();
    let folder = format!("regions/{region}/");
    let files = tree.iter().filter(|(path, _)| path.starts_with(&folder) && is_sealed(path));
    let read = files.map(|(path, bytes)| {
        let document = document(bytes).unwrap();
        let data_key = sops::stanzas(&document).iter().find_map(|(_, stanza)| pouch::age::unwrap(stanza, secret).ok());
        let data_key = data_key.unwrap_or_else(|| panic!("{path} does not open with {identity}"));
        let values = sops::open(&document, &data_key).unwrap();
        (path.clone(), values.into_iter().map(|(name, value)| (name, value.expose().to_vec())).collect())
    });
    read.collect()
}

/// Every long run of base64 in the sealed files of a region: IVs, tags, values, lines of stanzas. Written
/// without knowledge of their form, so that nothing is missed that the program does not think of.
pub fn randomness(tree: &Tree, region: &str) -> BTreeSet<String> {
    const LONG: usize = 22;
    let folder = format!("regions/{region}/");
    let files = tree.iter().filter(|(path, _)| path.starts_with(&folder) && is_sealed(path));
    let texts = files.map(|(_, bytes)| String::from_utf8(bytes.clone()).unwrap());
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let mut found = BTreeSet::new();
    for text in texts {
        // The first lines are tags; of the rest, names and recipients stay the same.
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.contains("recipient: ")) {
            let runs = line.split(|c| !is_base64(c)).filter(|run| run.len() >= LONG && !run.contains("EJlZ2lu"));
            found.extend(runs.map(str::to_owned));
        }
    }
    found
}

/// Fails unless a region was sealed anew for exactly these recipients, says the same, and shares nothing
/// with its former state.
#[track_caller]
pub fn prove(fleet: &Fleet, before: &Tree, after: &Tree, region: &str, readers: (&str, &str), recipients: &[&str]) {
    let (old_reader, new_reader) = readers;
    assert_eq!(opened(fleet, before, region, old_reader), opened(fleet, after, region, new_reader));
    assert!(randomness(before, region).len() > 10);
    let shared: Vec<String> = randomness(before, region).intersection(&randomness(after, region)).cloned().collect();
    assert_eq!(shared, [""; 0], "{region} shares sealed text with its former state");
    let folder = format!("regions/{region}/");
    for (path, bytes) in after.iter().filter(|(path, _)| path.starts_with(&folder)) {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let named: BTreeSet<&str> =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.starts_with("age1")).collect();
        let expected: BTreeSet<&str> = recipients.iter().copied().collect();
        assert!(named.is_empty() || named == expected, "{path} names {named:?}");
        assert_eq!(named.is_empty(), !is_sealed(path) && !path.ends_with("/bundle.yaml"), "{path}");
        assert!(!text.contains(CANARY), "{path}");
    }
}

/// Writes who can read a region into the configuration.
pub fn configured(fleet: &Fleet, region: &str, recipients: &[&str]) {
    let config = fleet.read("pouch.yaml");
    let line = config.lines().find(|line| line.trim_start().starts_with(&format!("{region}: "))).unwrap();
    let (start, rest) = line.split_once('[').unwrap();
    let (_, end) = rest.split_once(']').unwrap();
    fleet.configure(line, &format!("{start}[{}]{end}", recipients.join(", ")));
}

/// The recipient of a region of [`Fleet::new`].
pub fn own(region: &str) -> &'static str {
    if region == "eu" { EU } else { US }
}
