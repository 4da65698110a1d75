//! Names the commit that a release is built of, with its date, for `pouch --version`.
//!
//! Other builds, and builds without the repository, name the version alone. Nothing of the machine or of the time of the build
//! gets in, so that the same commit makes the same program.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "no part of the program: it runs while that is built"
)]

use std::path::Path;
use std::process::Command;

const FILE: &str = "../../scripts/build/version.rs";

fn main() {
    println!("cargo::rerun-if-changed={FILE}");
    // Otherwise every commit would rebuild every test.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = is_release.then(commit).flatten().map(|commit| format!(" ({commit})"));
    println!("cargo::rustc-env=POUCH_COMMIT={}", commit.unwrap_or_default());
}

/// The commit and its date, if this is the repository's own work tree and not a copy inside of another.
fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?.canonicalize().ok()?;
    let above = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if root != above {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--path-format=absolute", "--git-path", file])?);
    }
    git(&[
        "show",
        "--no-patch",
        "--no-show-signature",
        "--format=%h %cd",
        "--abbrev=12",
        "--date=format:%Y-%m-%d",
        "HEAD",
    ])
}

fn git(arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(arguments).output().ok().filter(|ran| ran.status.success())?;
    Some(String::from_utf8(ran.stdout).ok()?.trim().to_owned())
}
