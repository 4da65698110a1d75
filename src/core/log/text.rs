//! The life of what is published, as people read it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::schema::{
    CommitName, CommitRecord, EntryAge, EntryChange, EntryRecord, Event, Log, Looked, SecretRecord, Values, What,
};
use crate::history::SkippedFile;
use crate::history::sealed::UNKNOWN;
use crate::listing::{self, counted, few};
use crate::recipient::shown;
use crate::report::commit::{day, minute, short};
use crate::report::document::{Document, Text, Tone};
use crate::report::names::{named, object};

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
pub fn text(log: &Log, most: Most) -> Document {
    let most = most.of(log);
    let mut out = Document::default();
    out.items(0, looked(&log.looked));
    match &log.commits {
        Some(commits) if commits.is_empty() => out.items(0, nothing(log)),
        Some(all) => commits(&mut out, all, most),
        // That there is nothing is said above.
        None if log.looked.branches.is_empty() => {}
        None => {
            out.blank();
            for group in older(log, most) {
                out.item(0, group.title);
                out.items(1, group.lines);
            }
            if let Some(line) = no_secrets(log) {
                out.blank();
                out.item(0, line);
            }
            if log.secrets.is_empty() {
                out.item(0, none_older(log));
            }
        }
    }
    let is_now = log.question.is_some() && log.commits.is_some() && !log.secrets.is_empty();
    if is_now {
        out.blank();
        out.item(0, Text::of(Tone::Strong, "Published now:"));
        out.items(1, now(log, most));
    }
    if let Some(line) = untold(log).filter(|_| is_now || log.commits.is_none()) {
        out.blank();
        out.item(0, line);
    }
    out
}

fn commits(out: &mut Document, commits: &[CommitRecord], most: Most) {
    for record in commits.iter().take(most.commits) {
        out.blank();
        out.item(0, head(record));
        out.items(1, sources(record));
        out.items(1, lines(record, most));
    }
    if let more @ 1.. = commits.iter().skip(most.commits).count() {
        out.blank();
        out.item(0, format!("and {}; -v tells all", counted(more, "older commit", "older commits")));
    }
}

/// What was looked at.
pub(super) fn looked(looked: &Looked) -> Vec<Text> {
    let mut lines = Vec::new();
    for branch in &looked.branches {
        let (commits, at) = (counted(branch.commits, "commit", "commits"), short(&branch.commit.id));
        let when = day(&branch.commit.time);
        lines.push(format!("{commits} of {}, up to {at} ({when})", branch.name).into());
        if let Some(unproved @ 1..) = branch.unproved {
            let commits = counted(unproved, "commit has", "commits have");
            lines.push(
                format!("{commits} a line of pouch's that does not fit: made anew since, or by somebody else").into(),
            );
        }
    }
    if looked.branches.is_empty() {
        lines.push("The repository has no commit: nothing was ever published there.".into());
    }
    if !looked.missing.is_empty() {
        let names = few(&looked.missing, looked.missing.len(), Most::FEW.names);
        lines.push(format!("Not in the repository, so nothing was published there: {names}").into());
    }
    let skipped = &looked.skipped;
    if skipped.count > 0 {
        let files = counted(skipped.count, "file, folder or commit", "files, folders or commits");
        lines.push(Text::of(
            Tone::Strong,
            format!("{files} could not be read, so what they hold is not in this answer:"),
        ));
        lines.extend(skipped.files.iter().map(|SkippedFile { path, why }| format!("  {path}: {why}").into()));
        if let more @ 1.. = skipped.count.saturating_sub(skipped.files.len()) {
            lines.push(format!("  and {more} more").into());
        }
    }
    lines
}

fn head(record: &CommitRecord) -> Text {
    let CommitRecord { commit, author, subject, proved, .. } = record;
    let proved = match proved {
        Some(true) => ", proved to be pouch's",
        Some(false) => ", not proved to be pouch's",
        None => "",
    };
    let subject = if subject.is_empty() { "no message" } else { subject };
    Text::of(Tone::Commit, short(&commit.id))
        .then(format!("  {}  {subject}  (by {author}{proved})", minute(&commit.time)))
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
pub fn lines(record: &CommitRecord, most: Most) -> Vec<Text> {
    let mut groups: BTreeMap<(String, What, String), Vec<&Event>> = BTreeMap::new();
    for event in &record.events {
        groups.entry((place(event, most), event.what, details(event))).or_default().push(event);
    }
    let line = |((place, what, details), events): (&(String, What, String), &Vec<&Event>)| {
        let objects: Vec<String> = events.iter().map(|event| object(&event.object)).collect();
        let by: BTreeSet<&String> = events.iter().flat_map(|event| &event.credentials).collect();
        let by = match by.len() {
            0 => String::new(),
            count => format!("; for {}", few(&by, count, most.names)),
        };
        Text::of(Tone::Strong, &**place)
            .then("  ")
            .and_column(tone(*what), what.word(), WIDTH)
            .then(format!("{}{details}{by}", few(&objects, objects.len(), most.names)))
    };
    let mut lines: Vec<Text> = groups.iter().take(most.lines).map(line).collect();
    if let more @ 1.. = groups.iter().skip(most.lines).count() {
        lines.push(format!("and {more} more; -v tells all").into());
    }
    lines
}

/// The width of the column of words.
const WIDTH: usize = 10;

fn tone(what: What) -> Tone {
    match what {
        What::Withdrawn | What::Altered => Tone::Withdrawn,
        What::Published => Tone::Good,
        What::Changed => Tone::Changed,
        What::Recipients | What::Resealed | What::Retagged => Tone::Resealed,
        What::Carried => Tone::Carried,
        What::Current | What::Needed | What::AsListed => Tone::Dim,
    }
}

fn place(event: &Event, most: Most) -> String {
    called(most, &event.fleet, event.region.as_deref().unwrap_or(&event.directory))
}

/// What a region is called.
fn called(most: Most, fleet: &str, region: &str) -> String {
    if most.fleets { format!("{region} of fleet {fleet}") } else { String::from(region) }
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
        let called = |key: &String| shown(event.recipient_names.get(key).map(String::as_str), key);
        let named = |all: &[String]| listing::all(all.iter().filter(|it| *it != UNKNOWN).map(called));
        for (word, names) in [("now readable by", named(added)), ("no longer by", named(removed))] {
            parts.extend((!names.is_empty()).then(|| format!("{word} {names}")));
        }
        if added.iter().any(|it| it == UNKNOWN) {
            parts.push(String::from("its readers cannot be told"));
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

/// A Secret and its age, with the entries that are as old, and how old the others are.
fn secret(record: &SecretRecord, most: Most) -> String {
    let name = named("Secret", record.namespace.as_deref(), &record.name);
    let by = match record.credentials.len() {
        0 => String::new(),
        count => format!("; for {}", few(&record.credentials, count, most.names)),
    };
    // Entries with the same life are told together, the oldest first.
    let mut lives: Vec<(&EntryAge, Vec<&str>)> = Vec::new();
    for entry in &record.entries {
        let life = |one: &EntryAge| EntryAge { name: String::new(), ..one.clone() };
        match lives.iter_mut().find(|(first, _)| life(first) == life(entry)) {
            Some((_, names)) => names.push(&entry.name),
            None => lives.push((entry, Vec::from([entry.name.as_str()]))),
        }
    }
    lives.sort_by_key(|(entry, _)| (!entry.counts, Reverse(entry.at_most), Reverse(entry.at_least)));
    if lives.len() < 2 {
        let SecretRecord { rotated, changed, perhaps_rotated, at_most, at_least, .. } = record;
        let since = since(*changed, rotated, perhaps_rotated.as_ref());
        return format!("{name}: {}, {since}{by}", between(*at_most, *at_least));
    }
    let of_life = |(place, (entry, names)): (usize, &(&EntryAge, Vec<&str>))| {
        let EntryAge { counts, rotated, changed, perhaps_rotated, at_most, at_least, .. } = entry;
        let (names, age) = (few(names, names.len(), most.names), between(*at_most, *at_least));
        let since = since(*changed, rotated, perhaps_rotated.as_ref());
        match (place, counts) {
            (0, _) => format!("{age}, {names} {since}"),
            (_, true) => format!("{names} {age}, {since}"),
            (_, false) => format!("no secret: {names} {age}"),
        }
    };
    let lives: Vec<String> = lives.iter().enumerate().map(of_life).collect();
    format!("{name}: {}{by}", lives.join("; "))
}

/// Since which commit a value is what it is.
fn since(changed: bool, rotated: &CommitName, perhaps: Option<&CommitName>) -> String {
    let commit = |name: &CommitName| format!("{} in {}", day(&name.time), short(&name.id));
    let how = if changed { "changed" } else { "first published" };
    let perhaps =
        perhaps.map(|name| format!("; sealed again {}, which does not prove whether a value changed", commit(name)));
    format!("{how} {}{}", commit(rotated), perhaps.unwrap_or_default())
}

/// An age of which both ends are known.
fn between(at_most: u64, at_least: u64) -> String {
    let (most, least) = (age(at_most), age(at_least));
    if most == least { most } else { format!("up to {most}") }
}

/// What is said where no commit did anything; that there is no commit is said before.
pub(super) fn nothing(log: &Log) -> Option<&'static str> {
    (!log.looked.branches.is_empty()).then_some("Nothing was published in these commits.")
}

/// How entries are left out that make Secrets old whose other entries were rotated since.
pub(super) fn no_secrets(log: &Log) -> Option<String> {
    let is_rotated = |secret: &SecretRecord| {
        let is_younger = |entry: &EntryAge| entry.counts && entry.changed && !secret.oldest.contains(&entry.name);
        !secret.changed && secret.entries.iter().any(is_younger)
    };
    let rotated = log.secrets.iter().filter(|secret| is_rotated(secret));
    let names: BTreeSet<&String> = rotated.flat_map(|secret| &secret.oldest).collect();
    let first = names.first()?;
    let (names, verb) = (few(&names, names.len(), Most::FEW.names), if names.len() == 1 { "was" } else { "were" });
    Some(format!(
        "{names} {verb} never known to change, and other entries of the same Secret were. If such an entry is no secret, \
         leave it out: --not-secret {first}"
    ))
}

/// The flag that tells whether values changed that no commit proves; none where that is known, or was asked for.
pub(super) fn untold(log: &Log) -> Option<String> {
    let count = log.secrets.iter().filter(|secret| secret.perhaps_rotated.is_some()).count();
    if log.values || count == 0 {
        return None;
    }
    let secrets = counted(count, "Secret", "Secrets");
    let key = match log.looked.branches.iter().any(|branch| branch.unproved.is_none()) {
        true => " Without the reuse key, no commit proves what it changed.",
        false => "",
    };
    Some(format!(
        "It is not known of {secrets} whether a value changed since; --values compares them with the sources.{key}"
    ))
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
    let least = least(log);
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
    let least = least(log);
    match (&log.question, log.published) {
        (None, 0) => String::from("No Secret is published now."),
        (Some(asked), 0) => format!("No Secret of {asked} is published now."),
        (None, _) => {
            format!("Every Secret that is published now was rotated or first published less than {least} ago.")
        }
        (Some(asked), _) => {
            format!("Whatever is published now of {asked} was rotated or first published less than {least} ago.")
        }
    }
}

/// The age that was asked for.
fn least(log: &Log) -> String {
    let seconds = log.older_than.unwrap_or_default();
    let hours = seconds.checked_div(3_600).unwrap_or_default();
    if seconds.is_multiple_of(86_400) { age(seconds) } else { format!("{hours}h") }
}

/// An age in its largest unit.
fn age(seconds: u64) -> String {
    let in_units = |unit: u64| seconds.checked_div(unit).unwrap_or_default();
    match (in_units(86_400), in_units(3_600)) {
        (days @ 1.., _) => format!("{days}d"),
        (_, hours @ 1..) => format!("{hours}h"),
        _ => String::from("less than 1h"),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::report::summary::ObjectRecord;

    #[test]
    fn a_file_that_names_no_reader_says_that_its_readers_cannot_be_told() {
        let told = |added: &[&str], removed: &[&str]| {
            let all = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            details(&Event {
                what: What::Recipients,
                fleet: String::new(),
                directory: String::new(),
                region: None,
                object: ObjectRecord {
                    group: "".into(),
                    kind: "".into(),
                    namespace: None,
                    name: "".into(),
                    made_by: None,
                },
                credentials: Vec::new(),
                again: false,
                values: None,
                entries: Vec::new(),
                recipients_added: all(added),
                recipients_removed: all(removed),
                recipient_names: BTreeMap::from([(String::from("age1alice0key"), String::from("alice"))]),
                reason: None,
                credentials_added: Vec::new(),
                credentials_removed: Vec::new(),
            })
        };
        assert_eq!(told(&[UNKNOWN], &["age1x"]), ": no longer by age1x; its readers cannot be told");
        assert_eq!(told(&["age1x"], &[UNKNOWN]), ": now readable by age1x");
        assert_eq!(told(&["age1x"], &["age1alice0key"]), ": now readable by age1x; no longer by alice (age1alice0key)");
    }
}
