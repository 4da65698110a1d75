//! Exposure: what each recipient could ever read, by the history of a repository.
//!
//! A history never forgets: whoever has a clone and an identity can open every file that was ever sealed to that
//! identity, whatever is published now. [`expose`] takes the files and their commits, and says for each recipient which
//! Secrets it could read, and what that means for the values that are published today. Nothing is opened for that, and
//! no private key is needed.
//!
//! A verdict on a value says only what can be known without opening anything:
//!
//! - A published file is sealed to the recipient: it reads today's value.
//! - The ciphertext has another length than in every file that the recipient could open, and manifests list all of
//!   these files: the value is another.
//! - Today's values and the reuse key are at hand, in [`Today`]: tags say whether a value of today is one of the old
//!   values, even if it is by now the value of another entry, Secret or region.
//! - A commit of pouch's own says which values it replaced, and the value was replaced once between the files that the
//!   recipient could open and the published one: the value is another. Where commits say of each file between them that the
//!   value stayed, it is the same. After two changes the first value may be back.
//! - Otherwise nothing is known: files are sealed anew for many reasons, so other bytes do not prove another value. The
//!   reuse key alone does not help: a tag can only be compared with a value at hand.
//!
//! Nobody can see from here whether a provider still takes an old value.

mod living;
mod schema;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use schema::{
    Commit, EntryRecord, Exposed, Exposure, Guess, GuessEntry, Guessable, LeakedKey, Looked, NowAt, Reader,
    SecretRecord, Verdict, schema,
};

use crate::config::{Fleet, RegionConfig, RegionState};
use crate::history::listed_by::ListedBy;
use crate::history::manifest::Home;
use crate::history::sealed::{Cover, SealedLeaf, SealedSecret, UNKNOWN};
use crate::history::steps::Steps;
use crate::history::today::{Comparable, Today};
use crate::name::{Claimant, Directory, FleetName, ObjectKey};
use crate::recipient::Recipient;
use crate::reuse::Context;
use crate::secret::Payload;
use living::{Values, in_base64};

/// A file and the commits that have it.
pub struct Stood {
    /// Its region's folder.
    pub directory: Directory,
    /// The sealed file.
    pub file: Arc<SealedSecret>,
    /// The number of the first commit that has it, parents before children.
    pub first: usize,
    /// The number of the last commit that has it.
    pub last: usize,
    /// Whether the current commit has it.
    pub now: bool,
}

/// What a history holds.
pub struct History {
    /// The commits, by number.
    pub commits: Vec<Commit>,
    /// The Secrets of the bundles in them.
    pub stood: Vec<Stood>,
    /// What manifests say of these Secrets.
    pub vouched: ListedBy,
    /// The same of those manifests that a reuse key proves; nothing without keys.
    pub proved: ListedBy,
    /// What commits prove of the files that they replaced; nothing without keys.
    pub steps: Steps,
}

/// What is asked.
#[derive(Default)]
pub struct Query<'a> {
    /// Only these recipients; all if empty.
    pub recipients: BTreeSet<Recipient>,
    /// Only what recipients could read of regions that they no longer belong to.
    pub removed: bool,
    /// The configuration, which says who is a recipient; without it the current commit does.
    pub fleet: Option<&'a Fleet>,
    /// Today's values, to compare with.
    pub today: Option<&'a Today<'a>>,
}

/// One Secret: a fleet, a region's folder, and the object there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SecretPlace {
    fleet: Option<FleetName>,
    directory: Directory,
    key: ObjectKey,
}

impl SecretPlace {
    fn home(&self) -> Option<Home> {
        Some(Home { fleet: self.fleet.clone()?, directory: self.directory.clone() })
    }
}

/// A version of a Secret.
struct Version<'f> {
    stood: &'f Stood,
    credentials: BTreeSet<&'f Claimant>,
}

type SecretVersions<'f> = BTreeMap<SecretPlace, Vec<Version<'f>>>;

/// Where the values of files of one Secret are today, by the file's hash and the entry.
type Living<'f> = BTreeMap<(&'f str, &'f str), BTreeSet<NowAt>>;

fn places(facts: &History) -> SecretVersions<'_> {
    let mut places: SecretVersions<'_> = BTreeMap::new();
    for stood in &facts.stood {
        for (fleet, credentials) in facts.vouched.of(&stood.directory, &stood.file.sha256) {
            let (fleet, directory) = (fleet.cloned(), stood.directory.clone());
            let place = SecretPlace { fleet, directory, key: stood.file.key.clone() };
            places.entry(place).or_default().push(Version { stood, credentials });
        }
    }
    places
}

/// A reader of files, in the order in which readers are reported.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who<'f> {
    /// Everybody who has the repository.
    Everybody,
    /// Somebody who is not known by an age recipient.
    Unknown(&'f str),
    /// An age recipient.
    Recipient(&'f str),
}

impl<'f> Who<'f> {
    fn name(self) -> Option<&'f str> {
        match self {
            Who::Everybody => None,
            Who::Unknown(name) | Who::Recipient(name) => Some(name),
        }
    }
}

/// The entries of a file that have a value.
fn filled(file: &SealedSecret) -> BTreeSet<&str> {
    file.filled().collect()
}

/// The entries of a file whose value is in clear, or has a copy in clear beside it.
fn clear(file: &SealedSecret) -> BTreeSet<&str> {
    let open = file.entries.iter().filter(|(_, leaf)| **leaf == SealedLeaf::Clear).map(|(name, _)| name.as_str());
    open.chain(file.applied.iter().map(String::as_str)).collect()
}

/// Says what each recipient could read; `looked` tells the reader of the answer what was looked at.
pub fn expose(facts: &History, asked: &Query<'_>, looked: Looked) -> Exposure {
    let places = places(facts);
    let mut readers: BTreeMap<Who<'_>, Vec<Exposed>> = BTreeMap::new();
    let court = Court::open(facts, asked, &places);
    for (place, versions) in &places {
        let mut living = Living::new();
        let files = || versions.iter().map(|version| &*version.stood.file);
        let recipients: BTreeSet<&str> = files().flat_map(|file| &file.recipients).map(String::as_str).collect();
        for recipient in recipients {
            let removed = !court.is_recipient(place, recipient);
            let wanted = asked.recipients.is_empty() || asked.recipients.iter().any(|one| one.as_str() == recipient);
            if wanted && (removed || !asked.removed) {
                let opens = |file: &SealedSecret| file.recipients.contains(recipient);
                let exposed = court.exposed(place, versions, removed, opens, filled, &mut living);
                readers.entry(Who::Recipient(recipient)).or_default().push(exposed);
            }
        }
        // Nothing says that these readers are recipients, so each counts as removed. A reader without any name may be
        // any recipient that is asked for.
        let unknown: BTreeSet<&str> = files().flat_map(|file| &file.unknown).map(String::as_str).collect();
        for reader in unknown.into_iter().filter(|reader| asked.recipients.is_empty() || *reader == UNKNOWN) {
            let opens = |file: &SealedSecret| file.unknown.contains(reader);
            let exposed = court.exposed(place, versions, true, opens, filled, &mut living);
            readers.entry(Who::Unknown(reader)).or_default().push(exposed);
        }
        // Whoever reads the repository reads what is not sealed; no recipient's removal changes that.
        if asked.recipients.is_empty() && files().any(|file| !clear(file).is_empty()) {
            let opens = |file: &SealedSecret| !clear(file).is_empty();
            let exposed = court.exposed(place, versions, true, opens, clear, &mut living);
            readers.entry(Who::Everybody).or_default().push(exposed);
        }
    }
    let is_escrow =
        |recipient: &str| asked.fleet.is_some_and(|fleet| fleet.escrow.iter().any(|one| one.as_str() == recipient));
    let readers = readers.into_iter().map(|(who, secrets)| {
        let recipient = if let Who::Recipient(recipient) = who { Some(recipient) } else { None };
        Reader {
            recipient: who.name().map(String::from),
            name: recipient.and_then(|key| asked.fleet?.readers.name(key)).map(String::from),
            unknown: matches!(who, Who::Unknown(_)),
            regions: recipient.map(|recipient| regions_of(asked.fleet, recipient)).unwrap_or_default(),
            escrow: recipient.is_some_and(is_escrow),
            secrets,
        }
    });
    let never: Vec<String> = asked.recipients.iter().map(ToString::to_string).collect();
    let readers: Vec<Reader> = readers.collect();
    let seen = |text: &String| readers.iter().any(|reader| reader.recipient.as_ref() == Some(text));
    let never = never.into_iter().filter(|text| !seen(text)).collect();
    Exposure { looked, values: asked.today.is_some(), never, readers: Some(readers), ..Exposure::new() }
}

/// The names of the configured regions that a recipient belongs to.
fn regions_of(fleet: Option<&Fleet>, recipient: &str) -> Vec<String> {
    let regions = fleet.into_iter().flat_map(|fleet| fleet.regions.values());
    regions.filter(|region| has(region, recipient)).map(|region| region.name.to_string()).collect()
}

fn has(region: &RegionConfig, recipient: &str) -> bool {
    region.state != RegionState::Retired && region.recipients.iter().any(|one| one.as_str() == recipient)
}

/// Everything that a verdict needs.
struct Court<'f, 'a> {
    facts: &'f History,
    asked: &'a Query<'a>,
    /// Whom the files of each region are sealed to in the current commit.
    readers: BTreeMap<(&'a Option<FleetName>, &'a Directory), BTreeSet<&'f str>>,
    /// Where an object is published now.
    published: BTreeMap<(&'a Option<FleetName>, &'a ObjectKey), Vec<&'a Directory>>,
    values: Option<Values<'a>>,
}

impl<'f, 'a> Court<'f, 'a> {
    fn open(facts: &'f History, asked: &'a Query<'a>, places: &'a SecretVersions<'f>) -> Self {
        let values = asked.today.map(Values::of);
        let mut court = Self { facts, asked, readers: BTreeMap::new(), published: BTreeMap::new(), values };
        for (SecretPlace { fleet, directory, key }, versions) in places {
            let now: Vec<&Stood> = versions.iter().map(|version| version.stood).filter(|stood| stood.now).collect();
            if !now.is_empty() {
                let sealed_to = now.into_iter().flat_map(|stood| &stood.file.recipients).map(String::as_str);
                court.readers.entry((fleet, directory)).or_default().extend(sealed_to);
                court.published.entry((fleet, key)).or_default().push(directory);
            }
        }
        court
    }

    fn region(&self, place: &SecretPlace) -> Option<&RegionConfig> {
        place.home()?.region(self.asked.fleet)
    }

    /// Whether a recipient is meant to read a region today.
    fn is_recipient(&self, place: &SecretPlace, recipient: &str) -> bool {
        if self.asked.fleet.is_some_and(|fleet| Some(&fleet.name) == place.fleet.as_ref()) {
            return self.region(place).is_some_and(|region| has(region, recipient));
        }
        self.readers.get(&(&place.fleet, &place.directory)).is_some_and(|readers| readers.contains(recipient))
    }

    /// What a reader of some versions of a Secret could read; `reads` says which entries of each version.
    fn exposed(
        &self,
        place: &SecretPlace,
        versions: &[Version<'f>],
        removed: bool,
        opens: impl Fn(&SealedSecret) -> bool,
        reads: fn(&SealedSecret) -> BTreeSet<&str>,
        living: &mut Living<'f>,
    ) -> Exposed {
        let read: Vec<&Version<'f>> = versions.iter().filter(|version| opens(&version.stood.file)).collect();
        let now: Vec<&Stood> = versions.iter().map(|version| version.stood).filter(|stood| stood.now).collect();
        let names: BTreeSet<&str> = read.iter().flat_map(|version| reads(&version.stood.file)).collect();
        let entries = names.into_iter().map(|name| {
            let verdict = self.verdict(place, &read, &now, name, reads);
            let now_at = match verdict {
                Verdict::Readable | Verdict::Same => Vec::new(),
                Verdict::Unknown | Verdict::Changed | Verdict::Gone => self.now_at(place, &read, name, living),
            };
            let verdict = if now_at.is_empty() { verdict } else { Verdict::Same };
            EntryRecord { name: String::from(name), verdict, now_at }
        });
        let entries: Vec<EntryRecord> = entries.collect();
        let elsewhere = match now.is_empty() {
            true => self.elsewhere(place),
            false => Vec::new(),
        };
        Exposed { removed, secret: self.record(place, &read), elsewhere, entries }
    }

    fn verdict(
        &self,
        place: &SecretPlace,
        read: &[&Version<'f>],
        now: &[&Stood],
        name: &str,
        reads: fn(&SealedSecret) -> BTreeSet<&str>,
    ) -> Verdict {
        let has = |file: &SealedSecret| file.entries.get(name).is_some_and(|leaf| *leaf != SealedLeaf::Empty);
        let told = |file: &SealedSecret| reads(file).contains(name);
        let read = || read.iter().map(|version| version.stood).filter(|stood| told(&stood.file));
        if read().any(|stood| stood.now) {
            return Verdict::Readable;
        }
        let published: Vec<&Stood> = now.iter().copied().filter(|stood| has(&stood.file)).collect();
        let home = place.home();
        let today = home.as_ref().and_then(|home| Some((home, self.asked.today?.payload(home, &place.key)?)));
        if published.is_empty() && today.and_then(|(_, payload)| payload.get(name)).is_none() {
            return Verdict::Gone;
        }
        // Somebody else may have sealed the same value in another length, whatever header the file kept.
        let length = |stood: &Stood| {
            let fleet = place.fleet.as_ref()?;
            let is_listed = self.facts.vouched.says(fleet, &place.directory, &stood.file.sha256);
            stood.file.length(name).filter(|_| is_listed)
        };
        // With several published files of one Secret, each holds somebody's value of today.
        let other_length = |stood: &Stood| {
            let then = length(stood);
            let differs = |now: &&Stood| matches!((then, length(now)), (Some(a), Some(b)) if a != b);
            !published.is_empty() && published.iter().all(differs)
        };
        let mut worst = Verdict::Changed;
        for stood in read() {
            let of_one = match today {
                Some((home, payload)) => self.by_tag(home, &stood.file, payload, name),
                None => match self.by_steps(home.as_ref(), stood, &published, name) {
                    Verdict::Unknown if other_length(stood) => Verdict::Changed,
                    by_steps => by_steps,
                },
            };
            // A copy in clear beside the sealed value may be another value, so the tags and the length prove less; and the
            // same values may stand in another document for guests.
            let is_loose = stood.file.applied.contains(name) || stood.file.is_envelope();
            let of_one = if is_loose { of_one.min(Verdict::Unknown) } else { of_one };
            worst = worst.min(of_one);
        }
        worst
    }

    /// Decides whether published values are the one in a file, by what commits prove. With several published files of one
    /// Secret, each holds a value of today.
    fn by_steps(&self, home: Option<&Home>, stood: &Stood, published: &[&Stood], name: &str) -> Verdict {
        let is_changed = |now: &&Stood| {
            let files = (stood.file.sha256.as_str(), now.file.sha256.as_str());
            self.facts.steps.is_changed((home?, &stood.file.key), files, name)
        };
        let changed: Vec<Option<bool>> = published.iter().map(is_changed).collect();
        match () {
            () if changed.contains(&Some(false)) => Verdict::Same,
            () if !changed.is_empty() && changed.iter().all(|changed| *changed == Some(true)) => Verdict::Changed,
            () => Verdict::Unknown,
        }
    }

    /// Decides whether today's value is the one in a file, by the file's tags and its length.
    fn by_tag(&self, home: &Home, file: &SealedSecret, today: &Payload, name: &str) -> Verdict {
        let proved = &self.facts.proved;
        let Some(held) = self.asked.today.and_then(|today| today.held(home, file, proved)) else {
            return Verdict::Unknown;
        };
        let is_proved = || proved.says(&home.fleet, &home.directory, &file.sha256);
        match (held.get(name), file.length(name), today.get(name)) {
            (Some(true), ..) => Verdict::Same,
            (Some(false), ..) => Verdict::Changed,
            (None, Some(then), Some(now)) if then != in_base64(now) && is_proved() => Verdict::Changed,
            (None, ..) => Verdict::Unknown,
        }
    }

    /// Where an entry's values in files are today, by the files' tags.
    ///
    /// Since then a Secret may have got another name, or a value another place; whoever could read the value still
    /// knows it.
    fn now_at(&self, place: &SecretPlace, read: &[&Version<'f>], name: &str, living: &mut Living<'f>) -> Vec<NowAt> {
        let (Some(values), Some(home)) = (&self.values, place.home()) else { return Vec::new() };
        let mut found = BTreeSet::new();
        for file in read.iter().map(|version| &version.stood.file) {
            let Some((name, SealedLeaf::Sealed(_))) = file.entries.get_key_value(name) else { continue };
            let of_file = living.entry((&file.sha256, name)).or_insert_with(|| {
                let Some(tagged) = Comparable::of(file).filter(|_| home.fleet == *values.today.fleet) else {
                    return BTreeSet::new();
                };
                let (Home { fleet, directory }, recipients) = (&home, &tagged.recipients);
                let context = Context { fleet, directory, landing: &place.key, recipients };
                values.living(&tagged, &context, name)
            });
            found.extend(of_file.iter().cloned());
        }
        found.into_iter().collect()
    }

    /// The other folders of the fleet where the same object is published now.
    fn elsewhere(&self, place: &SecretPlace) -> Vec<String> {
        let directories = self.published.get(&(&place.fleet, &place.key)).into_iter().flatten();
        directories.map(ToString::to_string).collect()
    }

    /// The record of the Secret at a place, made from these versions of it.
    fn record(&self, place: &SecretPlace, versions: &[&Version<'f>]) -> SecretRecord {
        let files: BTreeSet<&str> = versions.iter().map(|version| version.stood.file.sha256.as_str()).collect();
        SecretRecord {
            fleet: place.fleet.as_ref().map(ToString::to_string),
            directory: place.directory.to_string(),
            region: self.region(place).map(|region| region.name.to_string()),
            namespace: place.key.namespace.as_ref().map(ToString::to_string),
            name: place.key.name.to_string(),
            credentials: credentials(versions),
            first: self.commit(versions.iter().map(|version| version.stood.first).min()),
            last: self.commit(versions.iter().map(|version| version.stood.last).max()),
            still: versions.iter().any(|version| version.stood.now),
            versions: files.len(),
        }
    }

    fn commit(&self, number: Option<usize>) -> Commit {
        number.and_then(|number| self.facts.commits.get(number)).cloned().unwrap_or_default()
    }
}

fn credentials(versions: &[&Version<'_>]) -> Vec<String> {
    let names: BTreeSet<&Claimant> = versions.iter().flat_map(|version| version.credentials.iter().copied()).collect();
    names.into_iter().map(Claimant::path).collect()
}

/// Says which values can be guessed with a reuse key that leaked, most easily guessed first.
///
/// `key_id` names the key; without it, the answer covers every key in the history.
pub fn guessable(facts: &History, key_id: Option<&str>, fleet: Option<&Fleet>, looked: Looked) -> Exposure {
    let places = places(facts);
    let asked = Query { fleet, ..Query::default() };
    let court = Court::open(facts, &asked, &places);
    let mut keys: BTreeMap<&str, Vec<Guessable>> = BTreeMap::new();
    for (place, versions) in &places {
        let mut by_key: BTreeMap<&str, Vec<&Version<'_>>> = BTreeMap::new();
        for version in versions {
            let id = version.stood.file.tags.as_ref().map(|tags| tags.key_id.as_str());
            if let Some(id) = id.filter(|id| key_id.is_none_or(|wanted| wanted == *id)) {
                by_key.entry(id).or_default().push(version);
            }
        }
        for (id, versions) in by_key {
            let mut covers: BTreeMap<&str, Cover> = BTreeMap::new();
            for (name, cover) in versions.iter().flat_map(|version| version.stood.file.covers()) {
                let known = covers.entry(name).or_insert(cover);
                *known = cover.min(*known);
            }
            let entry = |(name, cover): (&str, Cover)| GuessEntry {
                name: String::from(name),
                guess: match cover {
                    Cover::Alone => Guess::Alone,
                    Cover::Joint => Guess::Together,
                    Cover::Own => Guess::Long,
                },
            };
            let entries: Vec<GuessEntry> = covers.into_iter().map(entry).collect();
            if entries.is_empty() {
                continue;
            }
            keys.entry(id).or_default().push(Guessable { secret: court.record(place, &versions), entries });
        }
    }
    let keys = keys.into_iter().map(|(id, mut secrets)| {
        secrets.sort_by_key(|secret| secret.entries.iter().map(|entry| entry.guess).min());
        LeakedKey { key_id: String::from(id), secrets }
    });
    Exposure { looked, reuse_keys: Some(keys.collect()), ..Exposure::new() }
}

#[cfg(test)]
mod tests;
