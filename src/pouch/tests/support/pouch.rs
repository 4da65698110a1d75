//! The built program, run as a user runs it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What the program answered.
pub struct Answer {
    /// Its exit code.
    pub code: i32,
    /// Its results.
    pub stdout: String,
    /// Everything else it said.
    pub stderr: String,
    /// What `--summary` wrote; null if it wrote nothing.
    pub summary: Value,
}

impl Answer {
    /// The answer, if the exit code is this one.
    ///
    /// # Panics
    /// With everything that was said, if it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "it said:\n{}{}", self.stdout, self.stderr);
        self
    }

    /// What became of each region: pairs of name and outcome.
    pub fn outcomes(&self) -> Vec<(&str, &str)> {
        let regions = self.summary["regions"].as_array().map(Vec::as_slice).unwrap_or_default();
        regions.iter().filter_map(|region| Some((region["name"].as_str()?, region["outcome"].as_str()?))).collect()
    }

    /// The findings that are warnings or errors, or of one of the codes: `code namespace/name`, sorted.
    pub fn findings(&self, codes: &[&str]) -> Vec<String> {
        let findings = self.summary["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        let told = findings
            .iter()
            .filter(|finding| finding["severity"] != "info" || codes.iter().any(|code| finding["code"] == **code));
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let mut all: Vec<String> =
            told.map(|finding| format!("{} {}", text(&finding["code"]), text(&finding["credential"]))).collect();
        all.sort();
        all
    }
}

/// Runs `pouch render -f CONFIG --output-dir FOLDER` with more flags.
///
/// # Panics
/// If it cannot be started or ends by a signal.
#[track_caller]
pub fn render(config: &Path, folder: &Path, flags: &[&str]) -> Answer {
    render_in(Path::new("."), config, folder, flags, &[])
}

/// Runs `pouch plan -f CONFIG` with more flags.
///
/// # Panics
/// As [`render`].
#[track_caller]
pub fn plan(config: &Path, flags: &[&str]) -> Answer {
    run(Path::new("."), &["plan".as_ref(), "-f".as_ref(), config.as_os_str()], flags, &[])
}

/// [`render`], from another current folder and with variables in its environment, which has no others.
///
/// # Panics
/// As [`render`].
#[track_caller]
pub fn render_in(cwd: &Path, config: &Path, folder: &Path, flags: &[&str], vars: &[(&str, &str)]) -> Answer {
    let words = ["render".as_ref(), "-f".as_ref(), config.as_os_str(), "--output-dir".as_ref(), folder.as_os_str()];
    run(cwd, &words, flags, vars)
}

fn run(cwd: &Path, words: &[&OsStr], flags: &[&str], vars: &[(&str, &str)]) -> Answer {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let summary = scratch.path().join("summary.json");
    let mut command = Command::new(program());
    command.args(words);
    command.args([OsStr::new("--summary"), summary.as_os_str()]).args(flags);
    command.current_dir(cwd).stdin(Stdio::null()).env_clear().envs(vars.iter().copied());
    let output = command.output().expect("pouch can be started");
    Answer {
        code: output.status.code().expect("pouch ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        summary: std::fs::read(summary).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default(),
    }
}

/// Fails unless `pouch verify` finds no fault in a folder of bundles.
///
/// # Panics
/// With what it said.
#[track_caller]
pub fn proved(config: &Path, folder: &Path) {
    let mut command = Command::new(program());
    command.args(["verify".as_ref(), "-f".as_ref(), config.as_os_str(), folder.as_os_str()]);
    let output = command.stdin(Stdio::null()).env_clear().output().expect("pouch can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{}{said}", String::from_utf8_lossy(&output.stdout));
}

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_pouch"))
}
