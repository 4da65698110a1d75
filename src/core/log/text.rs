//! The life of what is published, as people read it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{
    CommitName, CommitRecord, EntryChange, EntryRecord, Event, Log, Looked, SecretRecord, Values, What,
};
use crate::exposure::SkippedFile;
use crate::listing::{counted, few};
use crate::report::escape;
use crate::report::names::named;

/// How many characters of an id are shown.
const SHORT: usize = 10;

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Most {
    /// Of commits, and of a region's Secrets.
    pub commits: usize,
    /// Of lines for each commit.
    pub lines: usize,
    /// Of names in a line.
    pub names: usize,
    /// Whether the fleet is named beside each region.
    pub fleets: bool,
}

impl Most {
    /// What a person takes in.
    pub const FEW: Self = Self { commits: 20, lines: 10, names: 5, fleets: false };
    /// Everything.
    pub const ALL: Self = Self { commits: usize::MAX, lines: usize::MAX, names: usize::MAX, fleets: false };

    /// The same for an answer: where it tells of several fleets, each region is told with its own.
    #[must_use]
    pub fn of(self, log: &Log) -> Self {
        let events = log.commits.iter().flatten().flat_map(|commit| &commit.events).map(|event| &event.fleet);
        let fleets: BTreeSet<&String> = events.chain(log.secrets.iter().map(|secret| &secret.fleet)).collect();
        Self { fleets: fleets.len() > 1, ..self }
    }
}

/// The whole answer, ending in a line feed.
pub fn text(log: &Log, most: Most) -> String {
    let most = most.of(log);
    let mut out = Out(String::new());
    for line in looked(&log.looked) {
        out.line(0, &line);
    }
    match &log.commits {
        Some(commits) => out.commits(commits, most),
        None => {
            out.blank();
            for group in older(log, most) {
                out.line(0, &group.title);
                for line in &group.lines {
                    out.line(1, line);
                }
            }
            if log.secrets.is_empty() {
                out.line(0, &none_older(log));
            }
        }
    }
    if log.question.is_some() && log.commits.is_some() && !log.secrets.is_empty() {
        out.blank();
        out.line(0, "Published now:");
        for line in now(log, most) {
            out.line(1, &line);
        }
    }
    out.0
}

struct Out(String);

impl Out {
    /// A line, in which nothing is obeyed.
    fn line(&mut self, depth: usize, text: &str) {
        self.0.push_str(&format!("{}{}\n", "  ".repeat(depth), escape(text)));
    }

    fn blank(&mut self) {
        self.0.push('\n');
    }

    fn commits(&mut self, commits: &[CommitRecord], most: Most) {
        if commits.is_empty() {
            self.line(0, "Nothing was published in these commits.");
        }
        for record in commits.iter().take(most.commits) {
            self.blank();
            self.line(0, &head(record));
            if let Some(sources) = sources(record) {
                self.line(1, &sources);
            }
            for line in lines(record, most) {
                self.line(1, &line);
            }
        }
        if let more @ 1.. = commits.len().saturating_sub(most.commits) {
            self.blank();
            self.line(0, &format!("and {}; -v tells all", counted(more, "older commit", "older commits")));
        }
    }
}

/// What was looked at.
pub(super) fn looked(looked: &Looked) -> Vec<String> {
    let mut lines = Vec::new();
    for branch in &looked.branches {
        let (commits, at) = (counted(branch.commits, "commit", "commits"), short(&branch.commit.id));
        let when = day(&branch.commit.time);
        lines.push(format!("{commits} of {}, up to {at} ({when})", branch.name));
        if let Some(unproved @ 1..) = branch.unproved {
            let commits = counted(unproved, "commit has", "commits have");
            lines.push(format!("{commits} a line of pouch's that does not fit: made anew since, or by somebody else"));
        }
    }
    if looked.branches.is_empty() {
        lines.push(String::from("The repository has no commit: nothing was ever published there."));
    }
    if !looked.missing.is_empty() {
        let names = few(&looked.missing, looked.missing.len(), Most::FEW.names);
        lines.push(format!("Not in the repository, so nothing was published there: {names}"));
    }
    let skipped = &looked.skipped;
    if skipped.count > 0 {
        let files = counted(skipped.count, "file or folder", "files or folders");
        lines.push(format!("{files} could not be read, so what they hold is not in this answer:"));
        lines.extend(skipped.files.iter().map(|SkippedFile { path, why }| format!("  {path}: {why}")));
        if let more @ 1.. = skipped.count.saturating_sub(skipped.files.len()) {
            lines.push(format!("  and {more} more"));
        }
    }
    lines
}

fn head(record: &CommitRecord) -> String {
    let CommitRecord { commit, author, subject, proved, .. } = record;
    let proved = match proved {
        Some(true) => ", proved to be pouch's",
        Some(false) => ", not proved to be pouch's",
        None => "",
    };
    let subject = if subject.is_empty() { "no message" } else { subject };
    format!("{}  {}  {subject}  (by {author}{proved})", short(&commit.id), minute(&commit.time))
}

/// What a commit merges, and from which states of the sources it was made.
pub(super) fn sources(record: &CommitRecord) -> Option<String> {
    let merged: Vec<String> = record.merged.iter().map(|commit| short(&commit.id)).collect();
    let each = record.sources.iter().map(|source| format!("{} at {}", source.name, short(&source.state)));
    let read: Vec<String> = each.collect();
    let told = |word: &str, all: &[String]| format!("{word} {}", few(all, all.len(), Most::FEW.names));
    let parts = [("merges", merged), ("from", read)].into_iter().filter(|(_, all)| !all.is_empty());
    let parts: Vec<String> = parts.map(|(word, all)| told(word, &all)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What a commit did: what became of several objects in the same words is said once.
pub fn lines(record: &CommitRecord, most: Most) -> Vec<String> {
    let mut groups: BTreeMap<(String, What, String), Vec<&Event>> = BTreeMap::new();
    for event in &record.events {
        groups.entry((place(event, most), event.what, details(event))).or_default().push(event);
    }
    let line = |((place, what, details), events): (&(String, What, String), &Vec<&Event>)| {
        let objects: Vec<String> = events.iter().map(|event| object(event)).collect();
        let by: BTreeSet<&String> = events.iter().flat_map(|event| &event.credentials).collect();
        let by = match by.len() {
            0 => String::new(),
            count => format!("; for {}", few(&by, count, most.names)),
        };
        format!("{place}  {:10}  {}{details}{by}", what.word(), few(&objects, objects.len(), most.names))
    };
    let mut lines: Vec<String> = groups.iter().take(most.lines).map(line).collect();
    if let more @ 1.. = groups.len().saturating_sub(most.lines) {
        lines.push(format!("and {more} more; -v tells all"));
    }
    lines
}

fn place(event: &Event, most: Most) -> String {
    called(most, &event.fleet, event.region.as_deref().unwrap_or(&event.directory))
}

/// What a region is called.
fn called(most: Most, fleet: &str, region: &str) -> String {
    if most.fleets { format!("{region} of fleet {fleet}") } else { String::from(region) }
}

fn object(event: &Event) -> String {
    named(&event.object.kind, event.object.namespace.as_deref(), &event.object.name)
}

/// What an event says beyond its word and its object.
fn details(event: &Event) -> String {
    let Event { what, again, values, entries, recipients_added: added, recipients_removed: removed, .. } = event;
    let mut parts: Vec<String> = Vec::new();
    match what {
        What::Published if *again => parts.push(String::from("again")),
        What::Published | What::Changed | What::Recipients | What::Current | What::Withdrawn => {}
        What::Resealed => parts.push(String::from("sealed anew")),
        What::Retagged => parts.push(String::from("new tags")),
        What::Carried => parts.push(format!("stays as it was: {}", event.reason.as_deref().unwrap_or_default())),
        What::Needed => {
            let told = |word: &str, names: &[String]| format!("{word} {}", few(names, names.len(), Most::FEW.names));
            if !event.credentials_added.is_empty() {
                parts.push(told("now by", &event.credentials_added));
            }
            if !event.credentials_removed.is_empty() {
                parts.push(told("no longer by", &event.credentials_removed));
            }
        }
        What::Altered => parts.push(String::from("its file is not the one that bundle.yaml lists")),
        What::AsListed => parts.push(String::from("its file is again the one that bundle.yaml lists")),
    }
    if *what == What::Published {
        if let count @ 1.. = added.len() {
            parts.push(format!("readable by {}", counted(count, "recipient", "recipients")));
        }
    } else {
        if !added.is_empty() {
            parts.push(format!("now readable by {}", added.join(", ")));
        }
        if !removed.is_empty() {
            parts.push(format!("no longer by {}", removed.join(", ")));
        }
    }
    match values {
        Some(Values::Changed) => {
            let mut entries: Vec<&EntryRecord> = entries.iter().collect();
            entries.sort_by_key(|entry| entry.change);
            parts.push(few(entries.iter().map(|one| entry(one)), entries.len(), Most::FEW.lines));
        }
        Some(Values::Unknown) => parts.push(String::from("whether a value changed cannot be told")),
        Some(Values::Same) => parts.push(String::from("the values are the same")),
        None => {}
    }
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) }
}

fn entry(entry: &EntryRecord) -> String {
    let name = &entry.name;
    match entry.change {
        EntryChange::Added => format!("{name} added"),
        EntryChange::Changed => name.clone(),
        EntryChange::Withdrawn => format!("{name} withdrawn"),
        EntryChange::Unknown => format!("perhaps {name}"),
    }
}

/// The Secrets that are published now.
pub(super) fn now(log: &Log, most: Most) -> Vec<String> {
    let line = |record: &SecretRecord| format!("{}  {}", region(record, most), secret(record, most));
    bounded(log.secrets.iter().map(line), log.secrets.len(), most)
}

fn bounded(lines: impl Iterator<Item = String>, count: usize, most: Most) -> Vec<String> {
    let mut lines: Vec<String> = lines.take(most.commits).collect();
    if let more @ 1.. = count.saturating_sub(lines.len()) {
        lines.push(format!("and {more} more; -v tells all"));
    }
    lines
}

fn region(record: &SecretRecord, most: Most) -> String {
    called(most, &record.fleet, record.region.as_deref().unwrap_or(&record.directory))
}

/// A Secret and its age.
fn secret(record: &SecretRecord, most: Most) -> String {
    let SecretRecord { rotated, changed, perhaps_rotated, at_most, at_least, .. } = record;
    let name = named("Secret", record.namespace.as_deref(), &record.name);
    let (most_age, least_age) = (age(*at_most), age(*at_least));
    let age = match perhaps_rotated {
        Some(_) => format!("at most {most_age}, at least {least_age}"),
        None => most_age,
    };
    let commit = |name: &CommitName| format!("{} in {}", day(&name.time), short(&name.id));
    let how = if *changed { "changed" } else { "first published" };
    let perhaps = perhaps_rotated
        .as_ref()
        .map(|name| format!("; sealed anew {}, and whether a value changed cannot be told", commit(name)));
    let by = match record.credentials.len() {
        0 => String::new(),
        count => format!("; for {}", few(&record.credentials, count, most.names)),
    };
    format!("{name}: {age}, {how} {}{}{by}", commit(rotated), perhaps.unwrap_or_default())
}

/// Lines with a title.
pub(super) struct Group {
    pub title: String,
    pub lines: Vec<String>,
}

/// What was not rotated, by region.
pub(super) fn older(log: &Log, most: Most) -> Vec<Group> {
    let mut regions: Vec<(&SecretRecord, Vec<&SecretRecord>)> = Vec::new();
    for record in &log.secrets {
        let of = |one: &SecretRecord| {
            (&one.fleet, &one.directory, &one.branch) == (&record.fleet, &record.directory, &record.branch)
        };
        match regions.last_mut().filter(|(first, _)| of(first)) {
            Some((_, records)) => records.push(record),
            None => regions.push((record, Vec::from([record]))),
        }
    }
    let least = age(log.older_than.unwrap_or_default());
    let group = |(first, records): (&SecretRecord, Vec<&SecretRecord>)| {
        let secrets = counted(records.len(), "Secret", "Secrets");
        let lines = records.iter().map(|record| secret(record, most));
        Group {
            title: format!("{}: {secrets} not known to be rotated for {least}", region(first, most)),
            lines: bounded(lines, records.len(), most),
        }
    };
    regions.into_iter().map(group).collect()
}

/// The answer where nothing is that old.
pub(super) fn none_older(log: &Log) -> String {
    let least = age(log.older_than.unwrap_or_default());
    format!("Every Secret that is published now was rotated or first published less than {least} ago.")
}

/// An age in its largest unit.
fn age(seconds: u64) -> String {
    let in_units = |unit: u64| seconds.checked_div(unit).unwrap_or_default();
    match (in_units(86_400), in_units(3_600)) {
        (days @ 2.., _) => format!("{days}d"),
        (_, hours @ 1..) => format!("{hours}h"),
        _ => String::from("less than 1h"),
    }
}

/// The beginning of an id.
pub fn short(id: &str) -> String {
    id.chars().take(SHORT).collect()
}

/// The day of a time.
pub fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or_default()
}

/// A time without its seconds.
pub fn minute(time: &str) -> String {
    time.chars().take(16).map(|char| if char == 'T' { ' ' } else { char }).collect()
}
