//! Again: a run that would read what a run read that changed nothing ends there, and tells what that run told.

use pouch_core::config::Fleet;
use pouch_core::expiry::day;
use pouch_core::finding::{Class, Code};
use pouch_core::report::summary::{CarriedRecord, Outcome};
use pouch_core::reuse::KeyRing;
use pouch_core::stamp::{self, SourceStamp, Stamp, ToldStamp};

use super::Report;
use crate::error::Failure;
use crate::survey::{Surveyor, states, tools};

/// This program; another release may do something else with the same input.
const PROGRAM: &str = concat!("pouch ", env!("CARGO_PKG_VERSION"));

/// What is written down of a run that changed nothing on what is `standing`, and `read` all of its sources from git; none
/// if the next run has to look for itself.
///
/// # Errors
/// Where the identities cannot be read that open sealed sources.
pub fn told(
    surveyor: &Surveyor<'_>,
    keys: &KeyRing,
    (report, read): (&Report, &[SourceStamp]),
    standing: String,
) -> Result<Option<ToldStamp>, Failure> {
    let fleet = surveyor.fleet;
    let Some(credentials) = report.credentials().filter(|_| is_repeatable(report) && is_git(fleet, read)) else {
        return Ok(None);
    };
    let found = (&*report.findings, &report.counted, &*report.silenced);
    let told = |inputs| ToldStamp::new((standing, inputs), credentials, report.regions.clone(), found);
    Ok(inputs(surveyor, keys)?.and_then(told))
}

/// What a run would tell that reads what another one read, and changes nothing for it; none if it has to look for
/// itself: also if it tells `all`, and not all of it was written down.
pub fn again(surveyor: &Surveyor<'_>, keys: &KeyRing, (last, standing): (&Stamp, &str), all: bool) -> Option<Report> {
    let is_enough = |told: &&ToldStamp| told.standing == standing && !(all && told.is_brief());
    let told = last.told.as_ref().filter(is_enough)?;
    if inputs(surveyor, keys).ok()?? != told.inputs {
        return None;
    }
    let now = states(surveyor)?;
    if !now.iter().all(|now| last.sources.contains(now)) {
        return None;
    }
    let ToldStamp { credentials, regions, .. } = told.clone();
    let (findings, silenced, counted) = (told.findings()?, told.silenced()?, told.counted()?);
    Some(Report { credentials: Some(credentials), regions, findings, silenced, counted, ..Report::default() })
}

/// Whether nothing of it depends on more than what was read.
fn is_repeatable(report: &Report) -> bool {
    let Report { regions, findings, put_back, accepted, wanted, .. } = report;
    // What is handed over goes when its time has come, whatever the sources say.
    if regions.iter().any(|region| region.carried_objects.iter().any(CarriedRecord::is_handover)) {
        return false;
    }
    let is_quiet = regions
        .iter()
        .all(|region| matches!(region.outcome, Outcome::Unchanged | Outcome::Paused) && region.holds.is_empty());
    // What could not be read may be read the next time. What is wrong with a commit stays so.
    let passes = |code: Code| matches!(code, Code::UnavailableSource | Code::StaleSource | Code::UnreadableFile);
    let is_read = !findings.iter().any(|finding| passes(finding.code) || finding.code.class() == Class::Held);
    is_quiet && is_read && put_back.is_empty() && accepted.is_empty() && wanted.is_empty()
}

/// Whether all sources are commits.
fn is_git(fleet: &Fleet, read: &[SourceStamp]) -> bool {
    fleet.sources.iter().all(|source| {
        let is_of = |read: &&SourceStamp| read.name == source.name.as_str();
        read.iter().find(is_of).is_some_and(|read| read.commit().is_some())
    })
}

fn inputs(surveyor: &Surveyor<'_>, keys: &KeyRing) -> Result<Option<String>, Failure> {
    // What expires, or should read no longer, is found on the day: so what was told holds for one.
    let today = day(surveyor.session.time_of_run().as_second());
    let more: Vec<String> = tools(surveyor)?.into_iter().chain(today).collect();
    Ok(stamp::inputs(surveyor.fleet, keys, &more, PROGRAM))
}
