//! `--metrics FILE`: the file that a collector picks up after every run.
//!
//! What stands in it is the core's business; here it gets the time, and into place in one step: a
//! collector that looks while it is written sees the old text or the new, never half of one.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use pouch_core::report::metrics::{self, RunFacts, Times};
use pouch_core::report::summary::Summary;

use crate::scratch;
use crate::session::Session;

/// What a collector may do with the file, which runs as somebody else: the umask takes away from it.
const MODE: u32 = 0o666;

/// Writes the metrics of a run that did its work.
pub fn write(path: &Path, summary: &Summary, session: &Session) -> io::Result<()> {
    with_times(path, session, |times| metrics::text(summary, times))
}

/// Writes the metrics of a run that did not.
pub fn write_failed(path: &Path, run: RunFacts<'_>, exit_code: u8, session: &Session) -> io::Result<()> {
    with_times(path, session, |times| metrics::failed(run, exit_code, times))
}

/// The most bytes of a former file that are looked at.
const MOST_BYTES: u64 = 16 << 20;

fn with_times(path: &Path, session: &Session, text: impl Fn(&Times<'_>) -> String) -> io::Result<()> {
    let mut former = String::new();
    // A file that cannot be read tells nothing; what is no file is not waited for.
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _ = file.take(MOST_BYTES).read_to_string(&mut former);
    }
    let stages = session.stages();
    let stages: Vec<(&str, u128)> = stages.iter().map(|(stage, time)| (*stage, time.as_millis())).collect();
    let times = Times { now: session.ambient.now().as_second(), stages: &stages, former: &former };
    replace(path, &text(&times))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = scratch::file_in(folder, MODE)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_others_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pouch.prom");
        replace(&path, "one\n").unwrap();
        replace(&path, "two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("none/pouch.prom"), "").is_err());
    }
}
