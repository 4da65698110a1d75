//! Exposure: holds what stood in a repository's history, and today's values where they are wanted, against what is
//! asked of them. What they mean is the core's business.

mod history;

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::exposure::{Exposure, History, Looked, Query, expose, guessable};
use pouch_core::listing::few;
use pouch_core::recipient::Recipient;
use pouch_core::reuse::is_key_id;

use self::history::{ReadHistory, read};
use crate::error::Failure;
use crate::git::history::{Since, Wanted};
use crate::run::history::today::with_today;
use crate::run::history::{Reading, homes, references, warn_of};
use crate::run::log::proved;
use crate::session::Session;
use crate::settings::{Opened, recipients_called};
use crate::shelf::repository::{self, Repository};
use crate::survey::Reach;
use crate::ui::Ui;

/// How many ids of keys are named.
const MOST_KEYS: usize = 20;

/// What is asked of a history.
pub struct Asked<'a> {
    /// The repository; by default that of `output.git`, else the one around the current folder.
    pub repository: Option<&'a str>,
    /// Only what these recipients could read, by key or name; all if empty.
    pub recipients: &'a [String],
    /// Only what former recipients of a region could read.
    pub removed: bool,
    /// Which values the reuse key with this id lets somebody guess, instead; with an empty one, any key of the history.
    pub key_id: Option<&'a str>,
    /// Whether the sources are read, for the values of today.
    pub values: bool,
    /// Where the history begins, as it was typed and as it is meant.
    pub since: Option<(&'a str, Since)>,
    /// Only the history of these branches, tags and commits; of all references if empty.
    pub revisions: &'a [String],
    /// How live clusters among the sources are reached.
    pub reach: Reach,
    /// Whether to warn of what is missing from the answer.
    pub warns: bool,
}

/// Answers it.
pub fn answer(session: &Session, asked: Asked<'_>) -> Result<Exposure, Failure> {
    let ui = &session.ui;
    // Without a configuration a repository can be looked at all the same, unless values are wanted.
    let opened = if asked.values { Some(Opened::open(session)?) } else { Opened::open_if_there(session)? };
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let called = asked.recipients.iter().map(|called| recipients_called(fleet, called));
    let recipients: Vec<Vec<Recipient>> = called.collect::<Result<_, _>>()?;
    let keys = match &opened {
        Some(opened) if asked.values => Some(opened.keys(session)?),
        opened => opened.as_ref().and_then(|opened| opened.keys_at_hand(session)),
    };
    let Repository { path, called, fetched } =
        repository::find(session, asked.repository, opened.as_ref(), (repository::EXPOSURE, None))?;
    let branches = if asked.revisions.is_empty() { homes(fleet) } else { BTreeMap::new() };
    let published_now: Vec<String> = branches.keys().flat_map(|branch| references(branch)).collect();
    let (typed, since) = asked.since.unzip();
    let wanted = Wanted { revisions: asked.revisions, since, current: &published_now };
    let with_keys = fleet.zip(keys.as_ref());
    let ReadHistory { mut facts, mut looked } = read(&path, called, &wanted, with_keys, session)?;
    // The values of today tell more.
    if !asked.values && asked.key_id.is_none() && with_keys.is_some_and(|(fleet, _)| fleet.output.git.is_some()) {
        facts.steps = proved(&Reading { path: &path, keys: with_keys, stop: &session.stop })?;
    }
    // All that was wanted of it is read, and what follows may take its time.
    drop(fetched);
    looked.since = typed.map(str::to_owned);
    if asked.warns {
        warn(&looked, ui);
    }
    let query =
        Query { recipients: recipients.into_iter().flatten().collect(), removed: asked.removed, fleet, today: None };
    Ok(match (asked.key_id, opened.as_ref().zip(keys.as_ref()).filter(|_| asked.values)) {
        (Some(""), _) => guessable(&facts, None, fleet, looked),
        (Some(id), _) => {
            has_key(id, &facts)?;
            guessable(&facts, Some(id), fleet, looked)
        }
        (None, None) => expose(&facts, &query, looked),
        (None, Some((opened, keys))) => with_today(session, opened, keys, &asked.reach, |today| {
            expose(&facts, &Query { today: Some(today), ..query }, looked)
        })?,
    })
}

/// Refuses the id of a key of which no file has tags: who mistypes one must not read that nothing can be
/// guessed.
fn has_key(id: &str, facts: &History) -> Result<(), Failure> {
    let tags = facts.stood.iter().filter_map(|stood| stood.file.tags.as_ref());
    let known: BTreeSet<&str> = tags.map(|tags| tags.key_id.as_str()).filter(|known| is_key_id(known)).collect();
    if known.contains(id) {
        return Ok(());
    }
    Err(Failure::usage(format!("no sealed file of these commits has tags of the reuse key {id}"), others(&known)))
}

/// Of which keys there are tags.
fn others(known: &BTreeSet<&str>) -> String {
    match known.len() {
        0 => "They have none of any other key either; see which repository and commits are looked at.".to_owned(),
        count => format!("They have those of {}.", few(known, count, MOST_KEYS)),
    }
}

/// Says beside an answer for machines what is missing from it.
fn warn(looked: &Looked, ui: &Ui) {
    if looked.commits == 0 {
        ui.warn("the repository has no commit");
    }
    warn_of(&looked.skipped, ui);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_named_are_counted() {
        let ids: Vec<String> = (0..MOST_KEYS + 2).map(|at| format!("{at:08x}")).collect();
        let known = |count: usize| others(&ids.iter().take(count).map(String::as_str).collect());
        assert!(known(0).starts_with("They have none"), "{}", known(0));
        assert_eq!(known(2), "They have those of 00000000, 00000001.");
        assert!(known(MOST_KEYS).ends_with(", 00000013."), "{}", known(MOST_KEYS));
        assert!(known(MOST_KEYS + 2).ends_with(", 00000013 and 2 more."), "{}", known(MOST_KEYS + 2));
    }
}
