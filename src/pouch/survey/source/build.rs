//! Builds: what kustomize makes of the kustomization of a folder, as a source (DESIGN §5).
//!
//! [`pouch_core::kustomize`] says which files kustomize is given; they are written into a private folder, and kustomize builds
//! that folder: with an empty PATH, with proxies that lead nowhere, without plugins, and within `limits.build`. An object that
//! comes out is held against the file that it comes from (`output`). Nothing is opened here that SOPS sealed. A build that
//! fails leaves the whole source unread: half of a build is none.

mod output;
mod program;
mod reached;
mod trees;

use std::collections::BTreeMap;

use pouch_core::kustomize::{Trouble, gather};

use self::output::{Known, Output};
pub(super) use self::program::version;
use self::reached::Reached;
pub(super) use self::reached::{Files, Wanted};
pub(super) use self::trees::{Commit, Folder};
use super::budget::Meter;
use super::reading::{Given, Reading, SourceError, folder_of};

/// Builds, and reads what comes out.
pub(super) fn read(wanted: &Wanted<'_>, files: &mut dyn Files, given: &Given<'_>) -> Result<Reading, SourceError> {
    let meter = Meter::new(given.means);
    let mut reached = Reached { wanted, files, meter: &meter, read: BTreeMap::new() };
    let gathered = gather(&mut reached, wanted.folder).map_err(|trouble| refused(wanted, &trouble))?;
    let known = Known::new(reached.read);
    let (printed, release) = program::build(wanted.source, &gathered, given)?;
    let mut output = Output { wanted, gathered: &gathered, known, meter: &meter, reading: Reading::nothing() };
    output.read(&printed, given.build.objects)?;
    let mut reading = output.reading();
    if let Some(passed) = meter.passed() {
        let message = format!("what kustomize builds of it is more than is read: {passed}");
        return Err(SourceError::new(wanted.source, message, "Build less of it, or raise the limit."));
    }
    reading.held = meter.held();
    reading.kustomize = Some(release);
    // What stands before the name of a file at the top.
    Ok(reading.below(folder_of(&(wanted.show)("x"))))
}

fn refused(wanted: &Wanted<'_>, trouble: &Trouble) -> SourceError {
    let Trouble { path, line, message, help } = trouble;
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    SourceError::new(wanted.source, format!("it cannot be built: {}{line}: {message}", (wanted.show)(path)), help)
}
