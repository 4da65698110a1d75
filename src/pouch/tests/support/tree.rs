//! Folders as data: every file's path and bytes, so that two states can be compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// The files below a folder: their paths, with forward slashes, and their bytes.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// Reads every file below `folder`.
///
/// # Panics
/// If something cannot be read, or is no plain file or folder.
#[track_caller]
pub fn read(folder: &Path) -> Tree {
    paths(folder).into_iter().map(|path| (path.clone(), fs::read(folder.join(&path)).expect("a file"))).collect()
}

/// When each file below `folder` was last written.
///
/// # Panics
/// As [`read`].
#[track_caller]
pub fn written(folder: &Path) -> BTreeMap<String, SystemTime> {
    let time = |path: &str| fs::metadata(folder.join(path)).and_then(|data| data.modified()).expect("a time");
    paths(folder).into_iter().map(|path| (path.clone(), time(&path))).collect()
}

/// Copies every file below `from` to the same place below `to`.
///
/// # Panics
/// If something cannot be read or written.
#[track_caller]
pub fn copy(from: &Path, to: &Path) {
    write(&read(from), to);
}

/// Writes the files below `folder`.
///
/// # Panics
/// If one cannot be written.
#[track_caller]
pub fn write(tree: &Tree, folder: &Path) {
    for (path, bytes) in tree {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
}

/// The paths that differ, sorted: `+` in front of a new one, `-` of one that went, `~` of one whose
/// bytes changed.
pub fn changes(before: &Tree, after: &Tree) -> Vec<String> {
    let gone = before.keys().filter(|path| !after.contains_key(*path)).map(|path| format!("-{path}"));
    let other = after.iter().filter_map(|(path, bytes)| match before.get(path) {
        None => Some(format!("+{path}")),
        Some(old) if old != bytes => Some(format!("~{path}")),
        Some(_) => None,
    });
    let mut all: Vec<String> = gone.chain(other).collect();
    all.sort();
    all
}

fn paths(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.expect("the folder can be walked");
        if entry.file_type().is_dir() {
            continue;
        }
        assert!(entry.file_type().is_file(), "{} is no plain file", entry.path().display());
        let path = entry.path().strip_prefix(folder).expect("below the folder");
        let parts: Vec<_> = path.iter().map(|part| part.to_str().expect("UTF-8")).collect();
        found.push(parts.join("/"));
    }
    found
}

/// A tree whose bundles do not say in which files it was read, and have no tags.
pub fn placeless(tree: &Tree) -> Tree {
    let strip = |(path, bytes): (&String, &Vec<u8>)| {
        let rest = || String::from_utf8_lossy(bytes).lines().skip(1).collect::<Vec<_>>().join("\n");
        let bytes = if path.ends_with("bundle.yaml") { without_places(&rest()).into_bytes() } else { bytes.clone() };
        (path.clone(), bytes)
    };
    tree.iter().map(strip).collect()
}

/// The text of a manifest without the files in which all of it was read.
pub fn without_places(text: &str) -> String {
    let mut is_in_list = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        is_in_list = line.starts_with("restsOn:") || (is_in_list && line.starts_with(['-', ' ']));
        if !is_in_list && !["    path: ", "    source: "].iter().any(|place| line.starts_with(place)) {
            kept.push(line);
        }
    }
    kept.join("\n")
}
