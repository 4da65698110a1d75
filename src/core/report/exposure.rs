//! The answer of `pouch exposure` as people read it: by recipient, what to rotate first.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::commit::{day, short};
use super::document::{Document, Text, Tone};
use crate::exposure::{
    Commit, EntryRecord, Exposed, Exposure, Guess, LeakedKey, Looked, NowAt, Reader, SecretRecord, Verdict,
};
use crate::history::SkippedFile;
use crate::listing::counted;
use crate::name::Claimant;
use crate::recipient::shown;

/// Which recipients were asked for.
#[derive(Clone, Copy, Default)]
pub struct Whom {
    /// Whether recipients were asked for by name.
    pub named: bool,
    /// Whether only those were asked for that are recipients no more.
    pub removed: bool,
}

/// The whole answer, ending in a line feed; recipients that were asked for by name count as lost by their holders.
pub fn exposure(answer: &Exposure, whom: Whom) -> Document {
    let mut lines = Lines(Document::default());
    if answer.looked.commits == 0 {
        lines.line(0, "The repository has no commit: nothing was ever published there.");
        return lines.0;
    }
    lines.looked(&answer.looked);
    for recipient in &answer.never {
        lines.line(0, format!("{recipient} is in no sealed file of these commits"));
    }
    for reader in answer.readers.iter().flatten() {
        lines.reader(reader, whom.named, answer.values);
    }
    for key in answer.reuse_keys.iter().flatten() {
        lines.key(key);
    }
    let none = |list: Option<usize>| list == Some(0);
    if none(answer.readers.as_ref().map(Vec::len)) && answer.never.is_empty() {
        let asked = if whom.named { "No recipient that was asked for" } else { "No recipient" };
        let of = if whom.removed { " of a region of which it is no recipient any more" } else { "" };
        lines.line(0, format!("{asked} could read anything{of}."));
    }
    if none(answer.reuse_keys.as_ref().map(Vec::len)) {
        lines.line(0, "No sealed file of these commits has tags of a reuse key that was asked for.");
    }
    lines.0
}

struct Lines(Document);

impl Lines {
    fn line(&mut self, depth: usize, text: impl Into<Text>) {
        self.0.item(depth, text);
    }

    fn title(&mut self, depth: usize, title: impl Into<String>) {
        self.line(depth, Text::of(Tone::Strong, title));
    }

    fn looked(&mut self, looked: &Looked) {
        let commits = counted(looked.commits, "commit", "commits");
        let references = counted(looked.references, "reference", "references");
        let since = looked.since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default();
        let (current, at) = (&looked.current, dated(&looked.commit, false));
        self.line(0, format!("{commits}{since} of {references}; published now is {current} at {at}"));
        if looked.skipped.count > 0 {
            let files = counted(looked.skipped.count, "file, folder or commit", "files, folders or commits");
            self.title(0, format!("{files} could not be read, so what they hold is not in this answer:"));
            for SkippedFile { path, why } in &looked.skipped.files {
                self.line(1, format!("{path}: {why}"));
            }
            if let more @ 1.. = looked.skipped.count.saturating_sub(looked.skipped.files.len()) {
                self.line(1, format!("and {more} more"));
            }
        }
    }

    fn reader(&mut self, reader: &Reader, named: bool, values: bool) {
        let Some(recipient) = &reader.recipient else {
            self.0.blank();
            self.line(0, "Everybody who has the repository: these were there in clear");
            return self.advice(&reader.secrets.iter().collect::<Vec<_>>(), values);
        };
        let (removed, current): (Vec<&Exposed>, Vec<&Exposed>) =
            reader.secrets.iter().partition(|secret| secret.removed || named);
        let mut roles = reader.regions.clone();
        if reader.escrow {
            roles = Vec::from([String::from("escrow")]);
        }
        if reader.unknown {
            roles.push(String::from("no recipient that pouch knows"));
        } else if reader.secrets.iter().any(|secret| secret.removed) {
            roles.push(String::from("removed"));
        }
        let role = if roles.is_empty() { String::new() } else { format!("  ({})", roles.join(", ")) };
        self.0.blank();
        self.line(0, format!("{}{role}", shown(reader.name.as_deref(), recipient)));
        if !current.is_empty() {
            self.title(1, "Reads, or could read, as a recipient:");
            for secret in current {
                self.secret(secret, &secret.entries.iter().collect::<Vec<_>>());
            }
        }
        self.advice(&removed, values);
    }

    fn advice(&mut self, secrets: &[&Exposed], values: bool) {
        for verdict in [Verdict::Readable, Verdict::Same, Verdict::Unknown, Verdict::Changed, Verdict::Gone] {
            let mut told = false;
            for secret in secrets {
                let of_verdict = secret.entries.iter().filter(|entry| entry.verdict == verdict);
                let entries: Vec<&EntryRecord> = of_verdict.collect();
                if !entries.is_empty() {
                    if !core::mem::replace(&mut told, true) {
                        self.title(1, heading(verdict, values));
                    }
                    self.secret(secret, &entries);
                }
            }
        }
    }

    fn secret(&mut self, secret: &Exposed, entries: &[&EntryRecord]) {
        let record = &secret.secret;
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        self.line(2, format!("{}: {}", named(record), names.join(", ")));
        let elsewhere = match secret.elsewhere.as_slice() {
            [] => String::new(),
            others => format!("; still published for {}", others.join(", ")),
        };
        self.line(3, format!("{}{elsewhere}", when(record)));
        for entry in entries {
            for NowAt { directory, namespace, name, entry: now } in &entry.now_at {
                let what = what(&record.fleet, directory, namespace, name);
                self.line(3, format!("the value of {} is today that of {what}: {now}", entry.name));
            }
        }
    }

    fn key(&mut self, key: &LeakedKey) {
        self.0.blank();
        self.line(0, format!("reuse key {}", key.key_id));
        for guess in [Guess::Alone, Guess::Together, Guess::Long] {
            let mut told = false;
            for secret in &key.secrets {
                let of_guess = secret.entries.iter().filter(|entry| entry.guess == guess);
                let names: Vec<&str> = of_guess.map(|entry| entry.name.as_str()).collect();
                if !names.is_empty() {
                    if !core::mem::replace(&mut told, true) {
                        self.title(1, guessing(guess));
                    }
                    self.line(2, format!("{}: {}", named(&secret.secret), names.join(", ")));
                    self.line(3, when(&secret.secret));
                }
            }
        }
    }
}

/// The heading over values of a verdict: what to do about them.
fn heading(verdict: Verdict, values: bool) -> &'static str {
    match verdict {
        Verdict::Readable => "Published in a file that can be read: seal it anew first, then rotate:",
        Verdict::Same => "Rotate, today's value could be read:",
        Verdict::Unknown if values => "Rotate, unless you know that the value was changed since:",
        Verdict::Unknown => {
            "Rotate, unless you know that the value was changed since; --values compares it with the sources:"
        }
        Verdict::Changed => "Changed since; check that the provider no longer accepts the old value:",
        Verdict::Gone => {
            "No longer published there, perhaps elsewhere or under another name; check that the provider no longer \
             accepts the value:"
        }
    }
}

fn guessing(guess: Guess) -> &'static str {
    match guess {
        Guess::Alone => "Rotate first, shorter than 16 bytes and tried one guess at a time:",
        Guess::Together => "Rotate next, shorter than 16 bytes and tried only together with the others of the file:",
        Guess::Long => "Rotate what people chose or partly know, 16 bytes or longer and tried one guess at a time:",
    }
}

fn named(secret: &SecretRecord) -> String {
    let place = secret.region.as_deref().unwrap_or(&secret.directory);
    what(&secret.fleet, place, &secret.namespace, &secret.name)
}

fn what(fleet: &Option<String>, place: &str, namespace: &Option<String>, name: &str) -> String {
    let fleet = fleet.as_deref().unwrap_or("?");
    let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{fleet}/{place} Secret {namespace}{name}")
}

/// Who needed the Secret, and from when to when, of how many versions.
fn when(secret: &SecretRecord) -> String {
    let SecretRecord { first, last, still, versions, .. } = secret;
    let credentials = match secret.credentials.as_slice() {
        [] => String::from("no Credential known"),
        [one] => Claimant::titled(one),
        several if several.iter().all(|path| Claimant::of_path(path).is_none_or(|by| by.is_credential())) => {
            format!("Credentials {}", several.join(", "))
        }
        several => several.iter().map(|path| Claimant::titled(path)).collect::<Vec<_>>().join(", "),
    };
    let from = if first.or_before { "at or before " } else { "" };
    // Within one day, only the time tells the two commits apart.
    let timed = !*still && first.id != last.id && day(&first.time) == day(&last.time);
    let end = if *still { String::from("still") } else { dated(last, timed) };
    format!("{credentials}; {from}{} … {end}; {}", dated(first, timed), counted(*versions, "version", "versions"))
}

fn dated(commit: &Commit, timed: bool) -> String {
    let id = short(&commit.id);
    let time = if timed { commit.time.as_str() } else { day(&commit.time) };
    match (id.is_empty(), time.is_empty()) {
        (true, _) => String::from("no commit"),
        (false, true) => format!("{id} (no date)"),
        (false, false) => format!("{id} ({time})"),
    }
}
