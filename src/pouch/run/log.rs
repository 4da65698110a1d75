//! Log: holds what branches held, one commit after another, against what is asked. What it means is the core's business.

mod history;

use std::collections::BTreeSet;

use jiff::Timestamp;
use pouch_core::config::Fleet;
use pouch_core::history::steps::Steps;
use pouch_core::listing::few;
use pouch_core::log::{Facts, Log, Looked, Query, Question, log, steps};
use pouch_core::name::{Claimant, Directory, ObjectKey, Region, is_directory};

use self::history::{Line, ReadLines, read};
use crate::error::Failure;
use crate::git::history::line::Ends;
use crate::run::history::today::with_today;
use crate::run::history::{Reading, homes, references, warn_of};
use crate::session::Session;
use crate::settings::{Opened, region_called};
use crate::shelf::repository::{self, Repository};
use crate::survey::Reach;

/// How many branches are named.
const MOST_NAMED: usize = 8;

/// What is asked about.
pub enum Subject {
    /// A Credential.
    Claimant(Claimant),
    /// An object.
    Object(ObjectKey),
    /// A region, by its name or its folder.
    Region(String),
}

/// What is asked of a history.
pub struct Asked<'a> {
    /// The configuration, if there is one; the values of today need it.
    pub opened: Option<&'a Opened>,
    /// The repository; by default that of `output.git`, else the one around the current folder.
    pub repository: Option<&'a str>,
    /// What about; everything if none.
    pub subject: Option<Subject>,
    /// Only Secrets that are not known to have been rotated for so many seconds.
    pub older_than: Option<u64>,
    /// Entries that are no secret, so that they make no Secret old.
    pub not_secret: &'a [String],
    /// Whether the sources are read, for the values of today.
    pub values: bool,
    /// Only the history of these branches, tags and commits; of those that regions follow if empty.
    pub revisions: &'a [String],
    /// How live clusters among the sources are reached.
    pub reach: Reach,
    /// Whether to warn of what is missing from the answer.
    pub warns: bool,
}

/// What a page tells of the history of what is published, and of the subject alone if there is one; none, with a note,
/// where there is no history at hand.
pub fn beside(session: &Session, opened: &Opened, subject: Option<Subject>) -> Option<Log> {
    let asked = Asked {
        opened: Some(opened),
        repository: None,
        subject,
        older_than: None,
        not_secret: &[],
        values: false,
        revisions: &[],
        // No source is read.
        reach: Reach::default(),
        warns: true,
    };
    answer(session, &asked)
        .inspect_err(|why| session.ui.detail(&format!("the page has no timeline: {}", why.message)))
        .ok()
}

/// Answers it.
pub fn answer(session: &Session, asked: &Asked<'_>) -> Result<Log, Failure> {
    let opened = asked.opened;
    let fleet = opened.map(|opened| &opened.settings.fleet);
    let question = asked.subject.as_ref().map(|subject| question(subject, fleet)).transpose()?;
    let keys = match opened {
        Some(opened) if asked.values => Some(opened.keys(session)?),
        opened => opened.and_then(|opened| opened.keys_at_hand(session)),
    };
    let region = if let Some(Question::Region(directory)) = &question { Some(directory) } else { None };
    let how = (repository::LOG, region);
    let Repository { path, called, fetched } = repository::find(session, asked.repository, opened, how)?;
    let ReadLines { facts, looked } = {
        let progress = session.ui.progress("walking", 0);
        progress.say(&called);
        let ends = Ends::open(&path)?;
        let (lines, missing) = lines(&ends, asked.revisions, (fleet, region))?;
        let ReadLines { facts, looked } =
            read(&Reading { path: &path, keys: fleet.zip(keys.as_ref()), stop: &session.stop }, &ends, &lines)?;
        ReadLines { facts, looked: Looked { repository: called, missing, ..looked } }
    };
    // All that was wanted of it is read, and what follows may take its time.
    drop(fetched);
    if asked.warns {
        warn(&looked, session);
    }
    let now = session.ambient.now();
    let query = Query {
        question: question.as_ref(),
        older_than: asked.older_than,
        not_secret: asked.not_secret,
        fleet,
        today: None,
        now: now.as_second(),
        at: Timestamp::from_second(now.as_second()).unwrap_or(now).to_string(),
    };
    match opened.zip(keys.as_ref()).filter(|_| asked.values) {
        None => told(&facts, &query, looked),
        Some((opened, keys)) => with_today(session, opened, keys, &asked.reach, |today| {
            told(&facts, &Query { today: Some(today), ..query }, looked)
        })?,
    }
}

/// What is proved of the files that were replaced on the branches that regions follow.
pub(in crate::run) fn proved(reading: &Reading<'_>) -> Result<Steps, Failure> {
    let ends = Ends::open(reading.path)?;
    let (lines, _) = lines(&ends, &[], (reading.keys.map(|(fleet, _)| fleet), None))?;
    Ok(steps(&read(reading, &ends, &lines)?.facts))
}

fn told(facts: &Facts, query: &Query<'_>, looked: Looked) -> Result<Log, Failure> {
    let branches: Vec<&str> = looked.branches.iter().map(|branch| branch.name.as_str()).collect();
    let nowhere = match branches.is_empty() {
        true => String::from("the repository has no commit"),
        false => format!("nothing of it was ever published on {}", branches.join(", ")),
    };
    log(facts, query, looked).map_err(|near| {
        let question = query.question.map(ToString::to_string).unwrap_or_default();
        let regions = query.fleet.filter(|_| matches!(query.question, Some(Question::Region(_))));
        let regions = regions.map(|fleet| fleet.regions.keys().map(Region::as_str).collect::<Vec<_>>());
        let meant = match (near, regions.as_deref()) {
            (Some(near), _) => format!("Did you mean {near}? "),
            (None, Some(regions @ [_, ..])) => {
                format!("The configuration's regions are {}. ", few(regions, regions.len(), MOST_NAMED))
            }
            (None, _) => String::new(),
        };
        let help = format!("{meant}Without a name, `pouch log` tells everything; --rev names another branch.");
        Failure::failed(format!("{question}: {nowhere}"), help)
    })
}

fn question(subject: &Subject, fleet: Option<&Fleet>) -> Result<Question, Failure> {
    Ok(match subject {
        Subject::Claimant(by) => Question::Claimant(by.clone()),
        Subject::Object(key) => Question::Object(key.clone()),
        Subject::Region(called) => match fleet.map(|fleet| region_called(fleet, called)) {
            Some(Ok(region)) => Question::Region(region.directory.clone()),
            // The region may be gone from the configuration, and its folder is known to the history alone.
            _ if is_directory(called) => Question::Region(Directory::from(called.as_str())),
            Some(Err(failure)) => return Err(failure),
            None => {
                let message = format!("{called:?} is no region's folder");
                return Err(Failure::usage(message, "Name the folder below `regions`, such as eu-west."));
            }
        },
    })
}

/// The branches that are gone through, and those that should be there and are not.
fn lines(
    ends: &Ends,
    revisions: &[String],
    (fleet, region): (Option<&Fleet>, Option<&Directory>),
) -> Result<(Vec<Line>, Vec<String>), Failure> {
    let homes = homes(fleet);
    let line = |name: &str, tip| Line {
        name: name.to_owned(),
        branches: homes.keys().cloned().chain([short(name).to_owned()]).collect(),
        tip,
        elsewhere: BTreeSet::new(),
    };
    let mut lines = Vec::new();
    for revision in revisions {
        lines.push(line(revision, ends.named(revision)?));
    }
    if !lines.is_empty() {
        return Ok((lines, Vec::new()));
    }
    let mut missing = Vec::new();
    // Of one region, only its own branch is told, if that is known.
    let is_known = homes.values().flatten().any(|known| Some(known) == region);
    for (branch, own) in homes.iter().filter(|(_, own)| !is_known || own.iter().any(|own| Some(own) == region)) {
        match ends.first(&references(branch))? {
            Some((_, tip)) => {
                let others = homes.values().flatten().filter(|directory| !own.contains(*directory));
                lines.push(Line { elsewhere: others.cloned().collect(), ..line(branch, tip) });
            }
            None => missing.push(branch.clone()),
        }
    }
    if lines.is_empty() && missing.is_empty() {
        let (name, tip) = match (ends.head()?, &*ends.branches()?) {
            (Some(head), _) => head,
            (None, []) => return Ok((lines, missing)),
            // HEAD may name a branch that was never made.
            (None, [only]) => (short(only).to_owned(), ends.named(only)?),
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|name| short(name)).collect();
                let help = format!("Name one with --rev: {}.", few(&names, names.len(), MOST_NAMED));
                return Err(Failure::usage(
                    "the repository has several branches, and HEAD leads to none of them",
                    help,
                ));
            }
        };
        lines.push(line(&name, tip));
    }
    Ok((lines, missing))
}

/// A branch's name as people write it.
fn short(reference: &str) -> &str {
    let name = reference.strip_prefix("refs/").unwrap_or(reference);
    name.strip_prefix("heads/").or_else(|| name.strip_prefix("remotes/")).unwrap_or(name)
}

/// Says beside an answer for machines what is missing from it.
fn warn(looked: &Looked, session: &Session) {
    if looked.branches.is_empty() {
        session.ui.warn("the repository has no commit");
    }
    for branch in &looked.missing {
        session.ui.warn(&format!("the repository has no branch {branch}, so nothing was published there"));
    }
    warn_of(&looked.skipped, &session.ui);
}
