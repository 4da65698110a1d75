//! The corpora of the fuzz targets, replayed without a fuzz engine, and what keeps targets, programs and
//! corpora together.
//!
//! The engine itself runs in `scripts/soak/run --fuzz`.
#![allow(clippy::as_conversions, missing_docs, reason = "a target is written as one of `fuzz`")]

#[path = "../../../../fuzz/src/targets/mod.rs"]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use crate::support::root;

/// The least files that each target has, so that an empty folder does not pass for a corpus.
const LEAST: usize = 6;

fn fuzz() -> PathBuf {
    root().join("fuzz")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn every_input_of_every_corpus_passes() {
    for (name, _) in targets::ALL {
        let folder = fuzz().join("corpus").join(name);
        let inputs = names(&folder);
        assert!(inputs.len() >= LEAST, "{name} has {} inputs", inputs.len());
        for input in inputs {
            let data = fs::read(folder.join(&input)).unwrap();
            let outcome = panic::catch_unwind(|| targets::run(name, &data));
            assert!(outcome.is_ok(), "the target {name} fails with fuzz/corpus/{name}/{input}");
        }
    }
}

/// Any input is one for every target.
#[test]
fn every_target_takes_the_corpus_of_every_other() {
    for folder in names(&fuzz().join("corpus")) {
        for input in names(&fuzz().join("corpus").join(&folder)) {
            let data = fs::read(fuzz().join("corpus").join(&folder).join(&input)).unwrap();
            for (name, target) in targets::ALL {
                let outcome = panic::catch_unwind(|| target(&data));
                assert!(outcome.is_ok(), "the target {name} fails with fuzz/corpus/{folder}/{input}");
            }
        }
    }
}

#[test]
fn targets_programs_and_corpora_are_the_same() {
    let targets: BTreeSet<String> = targets::ALL.iter().map(|(name, _)| String::from(*name)).collect();
    assert_eq!(names(&fuzz().join("corpus")), targets);
    let programs = names(&fuzz().join("fuzz_targets"));
    assert_eq!(programs, targets.iter().map(|name| format!("{name}.rs")).collect());
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in &targets {
        let program = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("targets::run(\"{name}\", data)")), "{name}.rs runs another target");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is not in fuzz/Cargo.toml");
    }
}
