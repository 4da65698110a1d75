//! No test is forgotten: every file in `tests` is part of one of six programs, and there is no seventh.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::support::root;

/// The programs: each has a folder with a `main.rs`.
const PROGRAMS: [&str; 6] = ["canary", "live", "memory_plain", "memory_wiped", "plain", "tidy"];

/// Sources by path, relative to `tests`.
type Sources = BTreeMap<PathBuf, String>;

/// Takes `x/..` out of a path.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if out.pop() => {}
            part => out.push(part),
        }
    }
    out
}

/// Where the modules may stand that a source declares, each in a line of its own.
fn declared(path: &Path, text: &str) -> Vec<PathBuf> {
    let folder = path.parent().unwrap();
    let of_folder = path.ends_with("main.rs") || path.ends_with("mod.rs");
    let beside = if of_folder { folder.to_owned() } else { path.with_extension("") };
    let mut found = Vec::new();
    let mut elsewhere = None;
    for line in text.lines() {
        let name =
            line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        match (name, elsewhere.take()) {
            (Some(_), Some(place)) => found.push(plain(&folder.join(place))),
            (Some(name), None) => {
                found.extend([beside.join(name).with_extension("rs"), beside.join(name).join("mod.rs")]);
            }
            (None, _) => elsewhere = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")),
        }
    }
    found
}

/// What is wrong with the files in `tests`.
fn faults(sources: &Sources) -> Vec<String> {
    let mains: Vec<PathBuf> = PROGRAMS.iter().map(|name| Path::new(name).join("main.rs")).collect();
    let mut reached = BTreeSet::new();
    let mut open = mains.clone();
    while let Some(path) = open.pop() {
        if let Some(text) = sources.get(&path)
            && reached.insert(path.clone())
        {
            open.extend(declared(&path, text));
        }
    }
    let missing = mains.iter().filter(|main| !reached.contains(*main)).map(|main| format!("no {}", main.display()));
    let forgotten = sources.keys().filter(|path| !reached.contains(*path));
    missing.chain(forgotten.map(|path| format!("{} is part of none of {PROGRAMS:?}", path.display()))).collect()
}

#[test]
fn every_file_is_part_of_one_of_six_programs() {
    let tests = root().join("src/pouch/tests");
    let mut sources = Sources::new();
    for entry in walkdir::WalkDir::new(&tests) {
        let path = entry.unwrap().into_path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            sources.insert(path.strip_prefix(&tests).unwrap().to_owned(), fs::read_to_string(path).unwrap());
        }
    }
    assert!(sources.len() > 90, "only {} files were found", sources.len());
    assert_eq!(faults(&sources), [""; 0]);

    // A file that nobody declares, a seventh program of either form, one that is gone, and a line that is lost.
    let finds = |change: &dyn Fn(&mut Sources), expect: &[&str]| {
        let mut changed = sources.clone();
        change(&mut changed);
        let found = faults(&changed);
        assert_eq!(found.len(), expect.len(), "{found:#?}");
        assert!(found.iter().zip(expect).all(|(fault, path)| fault.contains(path)), "{found:#?}");
    };
    for path in ["plain/proof/forgotten.rs", "extra.rs", "extra/main.rs", "support/rig/extra.rs"] {
        finds(&|sources| _ = sources.insert(path.into(), String::new()), &[path]);
    }
    finds(&|sources| _ = sources.remove(Path::new("memory_wiped/main.rs")), &["no memory_wiped/main.rs"]);
    let without = |sources: &mut Sources, file: &str, line: &str| {
        let text = sources.get_mut(Path::new(file)).unwrap();
        assert!(text.contains(line), "{file} has no {line:?}");
        *text = text.replacen(line, "", 1);
    };
    finds(&|sources| without(sources, "plain/main.rs", "mod attack;\n"), &["plain/attack.rs"]);
    finds(&|sources| without(sources, "plain/proof.rs", "mod place;\n"), &["plain/proof/place.rs"]);
    finds(&|sources| without(sources, "support/mod.rs", "pub mod tree;\n"), &["support/tree.rs"]);
}
