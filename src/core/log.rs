//! Log: the life of what is published, by the history of the branches that regions follow.
//!
//! Every commit of a branch is compared with its first parent, which is what the branch held before: regions never saw
//! what else was merged. An object is what a manifest lists, and its file; a file that no manifest ever listed is no part of
//! the log. Nothing is opened for that, and no private key is needed.
//!
//! Whether a value changed shows only sometimes, as `log/values.rs` says. So an age has two ends: a value was published at
//! most since the last commit that is known to have changed it, or first published the Secret, and at least since the
//! last one that sealed it anew. A Secret is as old as the oldest of its entries that are secrets: a user's name that never
//! changes makes no password old.
//!
//! Who can write a branch can write its history: names, times and messages are those that the commits give themselves.

mod facts;
mod life;
pub mod markdown;
mod schema;
pub mod text;
mod values;

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;

pub use facts::{Branch, Commit, Facts, Step};
pub use schema::{
    BranchRecord, CommitName, CommitRecord, EntryAge, EntryChange, EntryRecord, Event, Log, Looked, SecretRecord,
    SourceRecord, Values, What, schema,
};

use crate::capi;
use crate::config::Fleet;
use crate::history::manifest::Home;
use crate::history::steps::Steps;
use crate::history::today::Today;
use crate::name::{Claimant, Directory, Kind, Name, Namespace, ObjectKey};
use crate::nearest::suggested;
use facts::credentials;
use life::{About, Age, Life, Standing, Told, life};

/// How far a commit may be ahead of the clock, in seconds: clocks differ.
const AHEAD: i64 = 86_400;

/// What is asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// A Credential, or another claimant.
    Claimant(Claimant),
    /// An object, by where it is read or where it lands.
    Object(ObjectKey),
    /// A region, by its folder.
    Region(Directory),
}

/// The question in the words of the command line.
impl core::fmt::Display for Question {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Question::Claimant(by) => write!(f, "{by}"),
            Question::Object(key) => write!(f, "{key}"),
            Question::Region(directory) => write!(f, "region {directory}"),
        }
    }
}

/// How it is asked.
#[derive(Default)]
pub struct Query<'a> {
    /// What about; everything if none.
    pub question: Option<&'a Question>,
    /// Only Secrets that are not known to have been rotated for so many seconds.
    pub older_than: Option<u64>,
    /// Entries that are no secret, so that they make no Secret old.
    pub not_secret: &'a [String],
    /// The configuration, which names regions.
    pub fleet: Option<&'a Fleet>,
    /// Today's values, to compare with.
    pub today: Option<&'a Today<'a>>,
    /// When it is asked, in seconds since 1970-01-01 UTC.
    pub now: i64,
    /// The same as text.
    pub at: String,
}

/// The answer; or, where the history has nothing of what is asked about, the name that was probably meant, if any.
///
/// # Errors
/// Where no commit ever had anything of what is asked about.
pub fn log(facts: &Facts, asked: &Query<'_>, looked: Looked) -> Result<Log, Option<String>> {
    let mut names = BTreeSet::new();
    let mut commits: Vec<(Reverse<i64>, usize, Reverse<usize>, CommitRecord)> = Vec::new();
    let mut secrets: Vec<SecretRecord> = Vec::new();
    let mut published: usize = 0;
    let mut is_known = asked.question.is_none();
    for (at, branch) in facts.branches.iter().enumerate() {
        let Life { told, standing } = life(facts, branch, asked.today);
        // Clocks stand wrong: of one branch, commits stay in its order.
        let mut newest = i64::MIN;
        for (number, commit) in branch.commits.iter().enumerate() {
            newest = newest.max(commit.seconds);
            let Some(told) = told.get(&number) else { continue };
            let of_question = told.iter().filter(|told| {
                let is_about = asked.is_about(&told.about);
                if !is_about {
                    asked.note(&mut names, &told.about);
                }
                is_about
            });
            let mut events: Vec<Event> = of_question.map(|told| asked.event(told)).collect();
            is_known |= !events.is_empty();
            if asked.older_than.is_some() || events.is_empty() {
                continue;
            }
            events.sort_by(|a, b| order(a).cmp(&order(b)));
            commits.push((Reverse(newest), at, Reverse(number), record(branch, commit, events)));
        }
        let standing: Vec<&Standing> = standing.iter().filter(|standing| asked.is_about(&standing.about)).collect();
        published = published.saturating_add(standing.len());
        secrets.extend(standing.into_iter().filter_map(|standing| asked.secret(branch, standing)));
    }
    if !is_known {
        let typed = asked.question.map(typed).unwrap_or_default();
        return Err(suggested(&typed, names.iter().map(String::as_str)).map(ToString::to_string));
    }
    commits.sort_by_key(|commit| (commit.0, commit.1, commit.2));
    let place = |secret: &SecretRecord| {
        let SecretRecord { fleet, directory, branch, namespace, name, .. } = secret;
        (fleet.clone(), directory.clone(), branch.clone(), Reverse(secret.at_most), namespace.clone(), name.clone())
    };
    secrets.sort_by_cached_key(place);
    let commits = commits.into_iter().map(|(.., record)| record).collect();
    Ok(Log {
        api_version: "pouch/v1alpha1",
        kind: "Log",
        question: asked.question.map(ToString::to_string),
        at: asked.at.clone(),
        looked,
        values: asked.today.is_some(),
        older_than: asked.older_than,
        not_secret: asked.not_secret.to_vec(),
        commits: asked.older_than.is_none().then_some(commits),
        published,
        secrets,
    })
}

/// What is proved of the files that the commits of branches replaced.
pub fn steps(facts: &Facts) -> Steps {
    life::steps(facts)
}

/// What was typed, in the form in which names are compared.
fn typed(question: &Question) -> String {
    match question {
        Question::Claimant(by) => by.path(),
        Question::Object(key) => key.path(),
        Question::Region(directory) => directory.to_string(),
    }
}

fn order(event: &Event) -> (&str, &str, What, &Kind, Option<&Namespace>, &Name) {
    let object = &event.object;
    (&event.fleet, &event.directory, event.what, &object.kind, object.namespace.as_ref(), &object.name)
}

fn record(branch: &Branch, commit: &Commit, events: Vec<Event>) -> CommitRecord {
    CommitRecord {
        commit: commit.name(),
        branch: branch.name.clone(),
        author: commit.author.clone(),
        subject: commit.subject.clone(),
        merged: commit.merged.clone(),
        sources: commit.sources.clone(),
        proved: commit.proved,
        events,
    }
}

impl Query<'_> {
    fn is_about(&self, about: &About) -> bool {
        let About { home, key, claimants, from } = about;
        match self.question {
            None => true,
            Some(Question::Claimant(by)) => claimants.iter().any(|claimant| claimant.is_of(by)),
            Some(Question::Region(directory)) => home.directory == *directory,
            Some(Question::Object(asked)) => {
                let is_asked = |from: &(Option<Namespace>, Name)| (&from.0, &from.1) == (&asked.namespace, &asked.name);
                let is_read = from.as_ref().is_some_and(is_asked);
                key == asked || (key.kind == asked.kind && is_read)
            }
        }
    }

    /// Notes what was perhaps meant.
    fn note(&self, names: &mut BTreeSet<String>, about: &About) {
        let About { home, key, claimants, .. } = about;
        match self.question {
            Some(Question::Claimant(_)) => names.extend(claimants.iter().map(Claimant::path)),
            Some(Question::Object(asked)) if asked.kind == key.kind => _ = names.insert(key.path()),
            Some(Question::Region(_)) => _ = names.insert(home.directory.to_string()),
            Some(Question::Object(_)) | None => {}
        }
    }

    fn region(&self, home: &Home) -> Option<String> {
        home.region(self.fleet).map(|region| region.name.to_string())
    }

    fn event(&self, told: &Told) -> Event {
        let About { home, claimants, .. } = &*told.about;
        let mut recipients = told.event.recipients_added.iter().chain(&told.event.recipients_removed).peekable();
        // Most events are about none.
        let readers = recipients.peek().and(self.fleet).map(|fleet| &fleet.readers);
        Event {
            recipient_names: readers.map(|readers| readers.named(recipients)).unwrap_or_default(),
            fleet: home.fleet.to_string(),
            directory: home.directory.to_string(),
            region: self.region(home),
            credentials: credentials(claimants),
            ..told.event.clone()
        }
    }

    fn secret(&self, branch: &Branch, standing: &Standing) -> Option<SecretRecord> {
        let Standing { about: About { home, key, claimants, .. }, first, ages } = standing;
        let names: BTreeSet<&str> = ages.iter().map(|(name, _)| name.as_str()).collect();
        let is_open = |name: &str| capi::is_open_entry(name, &names) || self.not_secret.iter().any(|one| one == name);
        // Where nothing else is left, everything may be a secret.
        let is_closed = names.iter().all(|name| is_open(name));
        let counts = |name: &str| is_closed || !is_open(name);
        let counting: Vec<Age> = ages.iter().filter(|(name, _)| counts(name)).map(|(_, age)| *age).collect();
        let oldest = Age::oldest(&counting)?;
        let (at_most, at_least) = self.seconds(branch, oldest);
        // A commit says itself when it was made, and one that is dated ahead says nothing of its age.
        let made = branch.commits.get(oldest.known).map(|commit| commit.seconds);
        let is_ahead = made.is_some_and(|seconds| seconds > self.now.saturating_add(AHEAD));
        if self.older_than.is_some_and(|least| at_most < least && !is_ahead) {
            return None;
        }
        let commit = |number: usize| branch.commits.get(number).map(Commit::name).unwrap_or_default();
        let named = || ages.iter().filter(|(name, _)| !name.is_empty());
        let is_oldest =
            |name: &str, age: Age| counts(name) && (age.known, age.changed) == (oldest.known, oldest.changed);
        let entry = |(name, age): &(String, Age)| {
            let (at_most, at_least) = self.seconds(branch, *age);
            EntryAge {
                name: name.clone(),
                counts: counts(name),
                rotated: commit(age.known),
                changed: age.changed,
                perhaps_rotated: age.perhaps.map(commit),
                at_most,
                at_least,
            }
        };
        Some(SecretRecord {
            branch: branch.name.clone(),
            fleet: home.fleet.to_string(),
            directory: home.directory.to_string(),
            region: self.region(home),
            namespace: key.namespace.as_ref().map(ToString::to_string),
            name: key.name.to_string(),
            credentials: credentials(claimants),
            first: commit(*first),
            oldest: named().filter(|(name, age)| is_oldest(name, *age)).map(|(name, _)| name.clone()).collect(),
            rotated: commit(oldest.known),
            changed: oldest.changed,
            perhaps_rotated: oldest.perhaps.map(commit),
            at_most,
            at_least,
            entries: named().map(entry).collect(),
        })
    }

    /// For how many seconds a value has been published at most and at least.
    fn seconds(&self, branch: &Branch, age: Age) -> (u64, u64) {
        let since = |number: usize| {
            let seconds = branch.commits.get(number).map_or(self.now, |commit| commit.seconds);
            u64::try_from(self.now.saturating_sub(seconds)).unwrap_or_default()
        };
        let at_least = since(age.perhaps.unwrap_or(age.known));
        (since(age.known).max(at_least), at_least)
    }
}
