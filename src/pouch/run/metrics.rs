//! `--metrics FILE`: the file that a collector picks up after every run.
//!
//! What stands in it is the core's business; here it gets the time, and into place in one step: a
//! collector that looks while it is written sees the old text or the new, never half of one.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pouch_core::report::metrics::{self, RunFacts};
use pouch_core::report::summary::Summary;

use crate::session::Session;
use crate::settings;

/// What a collector may do with the file, which runs as somebody else: the umask takes away from it.
const MODE: u32 = 0o666;

/// Writes the metrics of a run that did its work.
pub fn write(path: &Path, summary: &Summary, session: &Session) -> io::Result<()> {
    replace(path, &metrics::text(summary, session.ambient.now().as_second()))
}

/// Writes the metrics of a run of this command, about this region if about one, that did not. Why it did not
/// is what the user needs to hear, so that the file cannot be written either is a warning.
pub fn write_failed(session: &Session, (command, region): (&str, Option<&str>), exit_code: u8) {
    let Session { global, ambient, ui, .. } = session;
    let Some(path) = &global.metrics else { return };
    let settings = settings::load(&global.file, ambient);
    let fleet = settings.as_ref().ok().map(|settings| settings.fleet.name.as_str());
    let run = RunFacts { command, fleet, region };
    if let Err(error) = replace(path, &metrics::failed(run, exit_code, ambient.now().as_second())) {
        ui.warn(&format!("cannot write the metrics to {}: {error}", path.display()));
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Collectors read `*.prom`; a name that starts with a dot is passed over.
    builder.prefix(".pouch-metrics-").permissions(PermissionsExt::from_mode(MODE));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
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
