//! The reader that remembers how texts are built, on every manifest that is committed here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pouch_core::node::Interner;
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::read::{documents, read, text_of};

use crate::support::root;

fn yaml_below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => yaml_below(&path, found),
            _ if path.extension().is_some_and(|end| end == "yaml" || end == "yml") => _ = found.insert(path),
            _ => {}
        }
    }
}

/// Twice over, so that what is remembered of one file is used for others, and for itself.
#[test]
fn every_committed_document_is_read_as_without_memory() {
    let mut files = BTreeSet::new();
    ["testdata", "examples", "bundles", "fuzz/corpus"].iter().for_each(|top| yaml_below(&root().join(top), &mut files));
    let (mut reader, mut count) = (Reader::new(), 0_usize);
    for path in files.iter().chain(&files) {
        let bytes = fs::read(path).unwrap();
        let Ok(text) = text_of(&bytes) else { continue };
        for document in documents(text) {
            let (plain, alike) = (read(&document, &mut Interner::new()), reader.read(&document));
            let place = format!("{}:{}", path.display(), document.line);
            assert_eq!(plain.as_ref().err(), alike.as_ref().err(), "{place}");
            assert!(plain.ok() == alike.ok(), "{place}");
            count += 1;
        }
    }
    assert!(count > 2000, "{count}");
}
