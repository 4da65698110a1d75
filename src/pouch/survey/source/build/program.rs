//! The program kustomize: found, asked for its version, and run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pouch_core::config::Bytes;
use pouch_core::kustomize::{Gathered, TOP};
use pouch_core::name::SourceName;
use zeroize::Zeroizing;

use super::super::reading::{Given, SourceError};
use crate::child::{self, Bounds, ChildError, ChildResult, Room};
use crate::error::said;
use crate::scratch::{NoScratch, Scratch};

/// The oldest major version whose builds are read.
const LEAST: u32 = 5;

/// The longest that kustomize may take to tell its version.
const VERSION: Duration = Duration::from_secs(20);

/// A proxy that answers nothing: nothing is fetched, whatever a kustomization says.
const NO_PROXY: &str = "http://127.0.0.1:9";

const INSTALL: &str =
    "Install kustomize 5, and put it into a folder of PATH; or remove `build`, and keep the rendered tree.";

/// The kustomize on the PATH.
struct Program {
    path: PathBuf,
    /// Such as `v5.8.1`.
    version: String,
}

/// The version of the kustomize on the PATH.
///
/// # Errors
/// Where there is none, or it is too old.
pub(in super::super) fn version(source: &SourceName, given: &Given<'_>) -> Result<String, SourceError> {
    let folder = scratch(source)?;
    found(source, given, folder.path()).map(|program| program.version)
}

/// Builds what was gathered in this time, and gives what kustomize prints, and its release.
///
/// # Errors
/// Where there is no kustomize, the build fails, or it takes more than `limits.build` allows.
pub(super) fn build(
    source: &SourceName,
    gathered: &Gathered,
    given: &Given<'_>,
    time: Duration,
) -> Result<(Zeroizing<Vec<u8>>, String), SourceError> {
    let folder = scratch(source)?;
    let program = found(source, given, folder.path())?;
    write(gathered, folder.path()).map_err(|error| {
        let message = format!("what is built of it cannot be written: {}", said(&error));
        SourceError::no_room(source, message, NoScratch::HELP)
    })?;
    let limits = given.build;
    let bounds = Bounds { timeout: time, silence: time, output: bytes(limits.bytes), ..bounds(given) };
    let wrong = |message: String, help: &str| Err(SourceError::new(source, message, help));
    const LESS: &str = "Build less of it; or raise limits.build, if kustomize by itself takes as much.";
    match run(&program.path, &["build", TOP], folder.path(), &bounds) {
        Ok(ChildResult { well: true, out, .. }) => Ok((Zeroizing::new(out), program.version)),
        Ok(ChildResult { words, .. }) => {
            let words = String::from_utf8_lossy(&words);
            // So the runtime of Go says it.
            if ["out of memory", "cannot allocate memory", "fatal error: "].iter().any(|said| words.contains(said)) {
                return wrong(
                    format!("kustomize takes more memory than limits.build.memory ({})", limits.memory.0),
                    LESS,
                );
            }
            let told = gathered.told(&words).map(|told| format!(": {told}"));
            let told = told.unwrap_or_else(|| ", and what it says may hold values, so it is not shown".to_owned());
            wrong(
                format!("kustomize does not build it{told}"),
                "Correct the tree; kustomize build says all of it in a checkout.",
            )
        }
        Err(ChildError::TimedOut { .. } | ChildError::Silent { .. }) => {
            wrong(format!("kustomize takes longer than limits.build.seconds ({})", limits.seconds), LESS)
        }
        Err(ChildError::Unheard(_)) => {
            wrong(format!("kustomize prints more than limits.build.bytes ({})", limits.bytes.0), LESS)
        }
        Err(error) => wrong(format!("kustomize {}", why(&error)), INSTALL),
    }
}

fn scratch(source: &SourceName) -> Result<Scratch, SourceError> {
    Scratch::new().map_err(|error| SourceError::no_room(source, error.to_string(), NoScratch::HELP))
}

/// Finds kustomize, and asks for its version.
fn found(source: &SourceName, given: &Given<'_>, folder: &Path) -> Result<Program, SourceError> {
    let wrong = |message: String| SourceError::new(source, message, INSTALL);
    let path = given.environment.iter().find(|(name, _)| name == "PATH").and_then(|(_, path)| child::absolute(path));
    let missing = || wrong("kustomize is to build it, and is not installed, or not in PATH".to_owned());
    let path = path.and_then(|path| child::found_in(&path, "kustomize")).ok_or_else(missing)?;
    let told = run(&path, &["version"], folder, &bounds(given));
    let told = told.map_err(|error| wrong(format!("kustomize does not tell its version: it {}", why(&error))))?;
    let told = String::from_utf8_lossy(&told.out).into_owned();
    match release(&told) {
        Some((major, version)) if major >= LEAST => Ok(Program { path, version }),
        Some((_, version)) => {
            Err(wrong(format!("the kustomize in PATH is {version}, and builds are read of version {LEAST} or later")))
        }
        None => Err(wrong("kustomize does not tell its version".to_owned())),
    }
}

/// The release in what kustomize tells of itself, and its major version: `v5.8.1`, or an older one's
/// `{Version:kustomize/v3.9.4 …`.
fn release(told: &str) -> Option<(u32, String)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let of = |word: &str| {
        let major = word.strip_prefix('v')?.split('.').next()?.parse().ok()?;
        Some((major, word.chars().take(40).collect()))
    };
    told.split(|c| !is_part(c)).find_map(of)
}

fn bytes(Bytes(most): Bytes) -> u64 {
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// The bounds of a short run.
fn bounds<'g>(given: &'g Given<'_>) -> Bounds<'g> {
    let memory = bytes(given.build.memory).min(given.room.memory.unwrap_or(u64::MAX));
    Bounds {
        timeout: VERSION,
        silence: VERSION,
        stop: &given.stop,
        output: 1 << 10,
        room: Room { memory: Some(memory), file: given.room.file },
    }
}

/// Runs kustomize with nothing of this process's environment: no other program is in its PATH, and its home is the folder.
fn run(program: &Path, arguments: &[&str], folder: &Path, bounds: &Bounds<'_>) -> Result<ChildResult, ChildError> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts kustomize")]
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "").args(arguments).current_dir(folder);
    for name in ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(name, folder);
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(name, NO_PROXY).env(name.to_ascii_lowercase(), NO_PROXY);
    }
    child::run(command, bounds)
}

fn write(gathered: &Gathered, folder: &Path) -> std::io::Result<()> {
    for (path, bytes) in &gathered.files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, &**bytes)?;
    }
    Ok(())
}

fn why(error: &ChildError) -> String {
    match error {
        ChildError::Missing => "is not there any more".to_owned(),
        ChildError::Start(why) => format!("cannot be started: {why}"),
        ChildError::TimedOut { seconds } | ChildError::Silent { seconds } => format!("took longer than {seconds} s"),
        ChildError::Stopped => "was stopped".to_owned(),
        ChildError::Unheard(why) => format!("cannot be heard: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::release as release_of;

    #[test]
    fn a_release_is_found_in_what_any_version_tells() {
        for (told, release) in [
            ("v5.8.1\n", Some((5, "v5.8.1"))),
            (
                "{Version:kustomize/v3.9.4 GitCommit:f0c4bb3 BuildDate:2021-02-09T19:22:06Z GoOs:linux}",
                Some((3, "v3.9.4")),
            ),
            ("{Version:kustomize/v4.5.7 GitCommit:56d82a8}", Some((4, "v4.5.7"))),
            ("v6.0.0-rc.1", Some((6, "v6.0.0-rc.1"))),
            ("(devel)", None),
            ("version unknown", None),
            ("", None),
        ] {
            assert_eq!(release_of(told), release.map(|(major, text)| (major, text.to_owned())), "{told}");
        }
    }
}
