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
use std::time::Duration;

use pouch_core::config::{BuildLimits, Bytes};
use pouch_core::finding::{Code, Finding};
use pouch_core::kustomize::{Bounds, Trouble, gather};

use self::output::{Known, Output};
pub(super) use self::program::version;
use self::reached::Reached;
pub(super) use self::reached::{Files, Wanted};
pub(super) use self::trees::{Commit, Folder};
use super::budget::Meter;
use super::reading::{Given, Reading, SourceError, folder_of, start_of};
use crate::ambient::Timer;

/// Builds, and reads what comes out.
pub(super) fn read(wanted: &Wanted<'_>, files: &mut dyn Files, given: &Given<'_>) -> Result<Reading, SourceError> {
    let meter = Meter::new(given.means);
    let BuildLimits { objects, bytes: Bytes(bytes), seconds, .. } = *given.build;
    let most = Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
    let clock = (Timer::start(), most);
    let mut reached = Reached {
        wanted,
        files,
        meter: &meter,
        clock,
        read: BTreeMap::new(),
        empty: Vec::new(),
        sealed: 0,
        nested: Vec::new(),
    };
    let gathered = gather(&mut reached, wanted.folder, Bounds { files: objects, bytes })
        .map_err(|trouble| refused(wanted, &trouble))?;
    let (known, empty) = (Known::new(reached.read, reached.nested), reached.empty);
    let (since, most) = clock;
    let time = given.means.time;
    let left = most.saturating_sub(since.elapsed()).min(time.left().unwrap_or(Duration::MAX));
    let built = time.spend(|| program::build(wanted.source, &gathered, given, left));
    let late = || SourceError::late(wanted.source, time);
    let (printed, release) = built.ok_or_else(late)?.map_err(|error| if time.is_over() { late() } else { error })?;
    let mut output = Output { wanted, gathered: &gathered, known, meter: &meter, reading: Reading::nothing() };
    output.read(&printed, given.build.objects)?;
    let mut reading = output.reading();
    for path in empty {
        let message = "the file is empty, which does not prove that its objects are gone";
        let help = "Check whether the program that wrote it failed. What was published from it stays until it is removed from \
                    the kustomization.";
        reading.tear(
            &path,
            "",
            Finding::new(Code::UnparsableDocument, message).at(&start_of(wanted.source, &path)).help(help),
        );
    }
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
