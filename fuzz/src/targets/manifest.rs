//! Manifests: `bundle.yaml` as text, and as what vouches for the files of a region.

use std::collections::BTreeMap;

use pouch_core::layout::manifest::{Unusable, emit, parse};
use pouch_core::layout::path;
use pouch_core::name::{Directory, FleetName, is_directory};
use pouch_core::region::published::{Published, State, fleet_of};
use pouch_core::report::terminal::{Paint, terminal};
use pouch_core::report::text::{Links, finding};
use pouch_core::reuse::{KeyRing, ReuseKey, manifest_line};
use pouch_core::yaml::written;

use super::report::is_plain_lines;

/// Any text as a manifest, unsigned and signed.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse(text) {
        Ok(manifest) => {
            let written = emit(&manifest);
            assert!(parse(&written).as_ref() == Ok(&manifest), "what is written says something else:\n{written}");
            assert!(written::read(&written).is_some(), "the strict reader declines what is written:\n{written}");
            assert!(is_directory(manifest.directory.as_str()));
            let folders =
                [path::region(&manifest.directory), path::flux(&manifest.directory), path::argocd(&manifest.directory)];
            let objects = manifest.objects.iter().map(|object| &object.path);
            for listed in objects.chain(manifest.files.iter().map(|file| &file.path)) {
                let text = listed.as_str();
                assert!(folders.iter().any(|folder| listed.below(folder).is_some()), "{text} is somewhere else");
                let steps = ["..", ".", "", ".git"];
                assert!(!text.starts_with('/') && !text.split('/').any(|part| steps.contains(&part)), "{text}");
                assert_ne!(*listed, path::manifest(&manifest.directory), "the manifest lists itself");
            }
            vouches(data, &manifest.fleet, &manifest.directory, true);
        }
        Err(Unusable::Newer(version)) => assert!(version.chars().count() <= 40, "a version has no end"),
        Err(Unusable::Malformed(..)) => vouches(data, &"acme".into(), &"eu-west".into(), false),
    }
    let _ = fleet_of(data);
}

/// What stands in a region's folder is believed where the key signed it for this fleet and folder.
fn vouches(text: &[u8], fleet: &FleetName, directory: &Directory, good: bool) {
    let key = |byte| ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).expect("a key's own text is taken");
    let keys = KeyRing::new(key(7), Vec::new());
    let signed = [manifest_line(keys.current().unwrap(), fleet, directory, text).as_bytes(), text].concat();
    let own = path::manifest(directory).to_string();
    let foreign = format!("regions/{directory}/foreign\u{1b}[2J\n.yaml");
    let files = |manifest: &[u8]| BTreeMap::from([(own.clone(), manifest.to_vec()), (foreign.clone(), Vec::new())]);

    let published = Published::examine(fleet, directory, files(&signed), &keys);
    assert_eq!(matches!(published.state, State::Bundle(_)), good, "a signature decides alone");
    for found in published.findings(directory) {
        is_plain_lines(&terminal(&finding(&found, &Links::default()), Paint::Plain));
    }
    if let Some(manifest) = published.manifest() {
        assert_eq!(published.foreign(directory), [foreign.as_str()], "nobody vouches for this file alone");
        // No file is there, so all that the manifest lists is missing; nothing is believed.
        assert_eq!(published.tampered().len(), manifest.objects.len() + manifest.files.len());
        assert!(manifest.objects.iter().all(|object| published.bytes(&object.key).is_none()));
    }
    let elsewhere = Published::examine(&"other".into(), directory, files(&signed), &keys);
    assert!(elsewhere.manifest().is_none(), "a manifest of another fleet is believed");
    let unsigned = Published::examine(fleet, directory, files(text), &keys);
    assert!(unsigned.manifest().is_none(), "an unsigned manifest is believed");
    let unproved = Published::unproved(fleet, directory, files(&signed));
    assert_eq!(unproved.manifest(), published.manifest(), "the tag decides what a manifest says");
}
