//! What becomes of a region by name: a line for each Credential and for what happens to its objects.
//!
//! A view of a region's part of the summary, for the terminal and for commit messages. What takes something away comes
//! first, so that a list which is cut short hides no withdrawal behind what is added.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::{Text, Tone};
use super::summary::{CarriedRecord, ChangeRecord, EntryRecord, FieldRecord, ObjectRecord, Region, SplitRecord};
use crate::finding::{Class, Code};
use crate::judge::case::Verdict;
use crate::listing::{counted, few};
use crate::name::{Claimant, Namespace};
use crate::region::change::{Action, Reason, Values};
use crate::secret::EntryChange;

/// The width of the column of words.
const WIDTH: usize = 9;

/// How much a line names.
struct Most {
    objects: usize,
    /// Of a Secret.
    entries: usize,
}

/// What a line names where not all is asked for.
const SOME: Most = Most { objects: 5, entries: 10 };

/// What a line names where all is asked for.
const ALL: Most = Most { objects: usize::MAX, entries: usize::MAX };

/// What happens, in the order in which it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    Withdrawn,
    /// The object stays, because others need it.
    Left,
    Refused,
    /// Nothing of it is carried over.
    Broken,
    Carried,
    /// The object goes once consumers have followed.
    Handover,
    /// More may use an identity.
    Opened,
    /// Fewer may use an identity.
    Closed,
    Added,
    /// The object was published for others.
    Joined,
    Changed,
    Resealed,
}

impl What {
    /// The tone and the word.
    fn word(self) -> (Tone, &'static str) {
        match self {
            What::Withdrawn => (Tone::Withdrawn, "withdrawn"),
            What::Left => (Tone::Left, "left"),
            What::Refused => (Tone::Refused, "refused"),
            What::Broken => (Tone::Broken, "broken"),
            What::Carried => (Tone::Carried, "carried"),
            What::Handover => (Tone::Handover, "handover"),
            What::Opened => (Tone::Held, "opened"),
            What::Closed => (Tone::Left, "closed"),
            What::Changed => (Tone::Changed, "changed"),
            What::Added => (Tone::Added, "added"),
            What::Joined => (Tone::Joined, "joined"),
            What::Resealed => (Tone::Resealed, "resealed"),
        }
    }
}

impl From<Action> for What {
    fn from(action: Action) -> Self {
        match action {
            Action::Added => What::Added,
            Action::Changed => What::Changed,
            Action::Resealed => What::Resealed,
            Action::Withdrawn => What::Withdrawn,
        }
    }
}

/// One thing that a line names.
enum Item<'r> {
    Object(&'r ObjectRecord),
    Carried(&'r CarriedRecord),
    Change(&'r ChangeRecord),
    Codes(&'r [Code]),
    Words(&'r str),
}

/// No reason.
const NO_REASON: Cow<'static, str> = Cow::Borrowed("");

/// What one line is about: what happens, to whom, and why. Objects that nobody claims have no Credential.
type Head<'r> = (What, Option<&'r str>, Cow<'r, str>);

/// What becomes of a region, by Credential.
pub struct Names<'r> {
    lines: BTreeMap<Head<'r>, Vec<Item<'r>>>,
    splits: &'r [SplitRecord],
    restored: usize,
}

impl<'r> Names<'r> {
    /// Gathers what is to be told of a region.
    pub fn of(region: &'r Region) -> Self {
        let mut names = Self { lines: BTreeMap::new(), splits: &region.splits, restored: region.restored };
        for change in &region.changes {
            let what = What::from(change.action);
            let why = match change.action {
                Action::Resealed => Cow::Owned(resealed(change)),
                Action::Withdrawn => change.why.map_or(NO_REASON, |why| Cow::Borrowed(why.shown())),
                Action::Added | Action::Changed => NO_REASON,
            };
            names.add(what, &change.credentials, why, || Item::Change(change));
            for privilege in change.privileges() {
                let what = if privilege.opens { What::Opened } else { What::Closed };
                names.add(what, &change.credentials, NO_REASON, || Item::Words(&privilege.words));
            }
        }
        for sharing in &region.sharings {
            let mut share = |what, credentials: &'r [String]| {
                if !credentials.is_empty() {
                    names.add(what, credentials, NO_REASON, || Item::Object(&sharing.object));
                }
            };
            share(What::Joined, &sharing.joined);
            share(What::Left, &sharing.left);
        }
        for carried in &region.carried_objects {
            let (what, why) = match carried.is_handover() {
                true => (What::Handover, NO_REASON),
                false => (What::Carried, Cow::Borrowed(carried.reason.text())),
            };
            names.add(what, &carried.credentials, why, || Item::Carried(carried));
        }
        let carried = region.carried_objects.iter().filter(|carried| !carried.is_handover());
        let carried: BTreeSet<&String> = carried.flat_map(|carried| &carried.credentials).collect();
        for stopped in &region.stopped {
            let what = match stopped.verdict {
                Verdict::Refused => What::Refused,
                Verdict::Broken | Verdict::Admitted => What::Broken,
            };
            // The line of what is carried over for it says why.
            if what == What::Broken && carried.contains(&stopped.credential) {
                continue;
            }
            names.add(what, core::slice::from_ref(&stopped.credential), NO_REASON, || Item::Codes(&stopped.codes));
        }
        names
    }

    fn add(&mut self, what: What, credentials: &'r [String], why: Cow<'r, str>, item: impl Fn() -> Item<'r>) {
        let whose = credentials.iter().map(|credential| Some(credential.as_str()));
        let nobody = credentials.is_empty().then_some(None);
        for whose in whose.chain(nobody) {
            self.lines.entry((what, whose, why.clone())).or_default().push(item());
        }
    }

    /// What happens and to what, by Credential: first those for which something is held, and then by what happens to each
    /// that is told first.
    pub fn by_credential(&self) -> Vec<(Option<&'r str>, Vec<Text>)> {
        let mut all: BTreeMap<Option<&'r str>, (bool, What, Vec<Text>)> = BTreeMap::new();
        for ((what, whose, why), items) in &self.lines {
            let (tone, word) = what.word();
            let is_held = Code::parse(why).is_some_and(|code| code.class() == Class::Held);
            let (is_free, _, lines) = all.entry(*whose).or_insert((true, *what, Vec::new()));
            *is_free &= !is_held;
            lines.push(Text::of(tone, word).then(format!(" {}", objects(items, why, &SOME))));
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|(whose, (is_free, what, _))| (*is_free, *what, *whose));
        all.into_iter().map(|(whose, (.., lines))| (whose, lines)).collect()
    }

    /// All lines, each with all that it is about.
    pub fn all(&self) -> Vec<Text> {
        self.told(usize::MAX, &ALL)
    }

    /// The first `most` lines, and one that counts the rest, if there is one.
    pub fn lines(&self, most: usize) -> Vec<Text> {
        self.told(most, &SOME)
    }

    fn told(&self, most: usize, named: &Most) -> Vec<Text> {
        let shown = shown(self.lines.len(), most);
        let mut out: Vec<Text> = self.splits.iter().map(SplitRecord::line).collect();
        if self.restored > 0 {
            let files = counted(self.restored, "file", "files");
            out.push(Text::column(Tone::Plain, "restored", WIDTH).then(format!("{files} put back as published")));
        }
        out.extend(self.lines.iter().take(shown).map(|(head, items)| line(head, items, named)));
        let rest = self.lines.keys().skip(shown).count();
        if rest > 0 {
            let mut counts: BTreeMap<What, usize> = BTreeMap::new();
            for (what, ..) in self.lines.keys().skip(shown) {
                let count = counts.entry(*what).or_default();
                *count = count.saturating_add(1);
            }
            let counts: Vec<String> =
                counts.into_iter().map(|(what, count)| format!("{count} {}", what.word().1)).collect();
            out.push(format!("and {rest} more: {}", counts.join(", ")).into());
        }
        out
    }
}

fn line((what, whose, why): &Head<'_>, items: &[Item<'_>], most: &Most) -> Text {
    let whose = whose.map_or(String::new(), |credential| format!("{}: ", Claimant::titled(credential)));
    let (tone, word) = what.word();
    Text::column(tone, word, WIDTH).then(format!("{whose}{}", objects(items, why, most)))
}

/// What a line is about, and why.
fn objects(items: &[Item<'_>], why: &str, most: &Most) -> String {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    few(items.iter().map(|it| item(it, most)), items.len(), most.objects) + &why
}

fn item(item: &Item<'_>, most: &Most) -> String {
    match item {
        Item::Object(record) => object(record),
        Item::Carried(carried) => {
            let guest = carried.guest.as_ref().map(|guest| format!(" (in guests: {})", object(guest)));
            object(&carried.object) + &guest.unwrap_or_default()
        }
        Item::Codes(codes) => texts(codes).join(", "),
        Item::Words(words) => String::from(*words),
        Item::Change(change) => {
            let entry = |entry: &EntryRecord| match (&entry.name, entry.change) {
                (name, EntryChange::Changed) => name.clone(),
                (name, EntryChange::PerhapsChanged) => format!("perhaps {name}"),
                (name, change @ (EntryChange::Same | EntryChange::Added | EntryChange::Withdrawn)) => {
                    format!("{name} {}", change.word())
                }
            };
            let untold = untold(change);
            // Without tags every entry that stays has perhaps changed.
            let is_told = |record: &&EntryRecord| untold.is_none() || record.change != EntryChange::PerhapsChanged;
            let entries = change.entries().iter().filter(is_told).map(entry);
            // What is sealed anew for what stands open says so in its reason.
            let fields = change.fields().iter().filter(|_| change.action != Action::Resealed);
            let mut parts: Vec<String> = entries.chain(fields.map(|field| field.path.clone())).collect();
            let count = parts.len();
            let more = few(parts.drain(..), count, most.entries);
            let parts: Vec<String> = [(count > 0).then_some(more), untold].into_iter().flatten().collect();
            let parts = if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join("; ")) };
            let guest = match change.guest() {
                None => String::new(),
                Some(guest) if change.within.as_ref().is_some_and(|within| within.to_some) => {
                    format!(" (in guests: {}, which stays where no other set delivers it)", object(guest))
                }
                Some(guest) if change.action == Action::Withdrawn => {
                    format!(" (in guests: {}, which stays there)", object(guest))
                }
                Some(guest) => format!(" (in guests: {})", object(guest)),
            };
            let stays = change.action == Action::Withdrawn && change.object.is_namespace();
            object(&change.object) + &guest + if stays { " (stays on the region)" } else { "" } + &parts
        }
    }
}

/// A column with the word for what happens to an object.
pub fn column(action: Action) -> Text {
    let (tone, word) = What::from(action).word();
    Text::column(tone, word, WIDTH)
}

/// The codes of findings as they are printed.
pub fn texts(codes: &[Code]) -> Vec<&'static str> {
    codes.iter().map(|code| code.text()).collect()
}

/// What one command line of acceptances lets through: all that is held, but for regions that stay held.
pub fn held_by_acceptances(regions: &[Region]) -> String {
    const SHOWN: usize = 3;
    let stays: Vec<String> = regions.iter().filter(|region| region.stays_held()).map(|it| it.name.clone()).collect();
    match stays.len() {
        0 => String::from("all that is held"),
        1 => format!("all that is held but region {}, which no acceptance lets through", stays.concat()),
        count => format!("all that is held but regions {}, which no acceptance lets through", few(stays, count, SHOWN)),
    }
}

/// Whom a region gains and loses as recipients, a line each.
pub fn recipients(region: &Region) -> Vec<Text> {
    let line = |word: &str, recipient: &String, what: &str| {
        Text::column(Tone::Plain, word, WIDTH).then(format!("recipient {}: {what}", region.recipient(recipient)))
    };
    let added = region.recipients_added.iter().map(|it| line("adds", it, region.gains()));
    let removed = region.recipients_removed.iter().map(|it| line("removes", it, region.loses()));
    added.chain(removed).collect()
}

/// How many lines are shown of so many: one alone is told rather than counted.
fn shown(count: usize, most: usize) -> usize {
    if count <= most.saturating_add(1) { count } else { most }
}

/// The Secrets that recipients which are added can read, a line each.
pub fn readable(region: &Region, most: usize) -> Vec<Text> {
    let all = &region.readable_by_added;
    let shown = shown(all.len(), most);
    let line = |record| format!("readable   by who is added: {}", object(record)).into();
    let mut lines: Vec<Text> = all.iter().take(shown).map(line).collect();
    if let rest @ 1.. = all.iter().skip(shown).count() {
        lines.push(format!("and {rest} more readable").into());
    }
    lines
}

/// Why a Secret is sealed anew, and what becomes of its values, as far as that is known.
fn resealed(change: &ChangeRecord) -> String {
    let why = |reason: &Reason| match reason {
        Reason::Delivery => Some("the delivery changed"),
        Reason::Metadata => Some("its labels or annotations changed"),
        Reason::Recipients => Some("the recipients changed"),
        Reason::Asked => Some("that was asked for"),
        Reason::Unvouched => Some("no reuse key vouches for what is published"),
        Reason::Type | Reason::File | Reason::NoTags | Reason::ReuseKey | Reason::NoValues => None,
    };
    let why: Vec<&str> = change.reasons().iter().filter_map(why).collect();
    let values = match change.values() {
        Some(Values::Same) => Some("values unchanged"),
        Some(Values::Unknown) => Some("whether values change is not told"),
        Some(Values::Changed) | None => None,
    };
    let why = (!why.is_empty()).then(|| format!("because {}", why.join(" and ")));
    [why.as_deref(), values].into_iter().flatten().collect::<Vec<&str>>().join("; ")
}

/// What is said of a changed Secret if its values cannot be compared with those that are published.
fn untold(change: &ChangeRecord) -> Option<String> {
    // Where no Secret is looked into, that is said once.
    let why = |reason: &Reason| match reason {
        Reason::File => Some("its file is missing, or not the one that pouch published"),
        Reason::NoTags => Some("it is published without entry tags"),
        Reason::ReuseKey => Some("its entry tags are of a reuse key that is not at hand"),
        Reason::Delivery | Reason::Metadata | Reason::Type | Reason::Recipients | Reason::Asked => None,
        Reason::Unvouched | Reason::NoValues => None,
    };
    let why = change.reasons().iter().find_map(why)?;
    let what = match change.values() {
        Some(Values::Changed) => "which entries change",
        Some(Values::Same | Values::Unknown) | None => "which entries change, if any",
    };
    Some(format!("cannot tell {what}: {why}"))
}

/// The fields of a region's changed objects, from what to what, a line each.
pub fn fields(region: &Region, most: usize) -> Vec<Text> {
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| String::from("nothing"));
    let line = |(change, field): (&ChangeRecord, &FieldRecord)| {
        let (before, after) = (word(&field.before), word(&field.after));
        format!("{} {}: {before} becomes {after}", object(&change.object), field.path).into()
    };
    let all = || region.changes.iter().flat_map(|change| change.fields().iter().map(move |field| (change, field)));
    let mut lines: Vec<Text> = all().take(most).map(line).collect();
    let rest = all().skip(most).count();
    if rest > 0 {
        lines.push(format!("and {rest} more fields").into());
    }
    lines
}

/// `Kind namespace/name` of an object.
pub fn object(record: &ObjectRecord) -> String {
    let object = named(record.kind.as_str(), record.namespace.as_ref().map(Namespace::as_str), record.name.as_str());
    match &record.made_by {
        Some(template) => format!("{object} (made by ManagedResource {template})"),
        None => object,
    }
}

/// `Kind namespace/name`.
pub fn named(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
