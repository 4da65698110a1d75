//! What each commit of a branch did to which object, and what stands in the end.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::facts::{Branch, Facts, Step, credentials};
use super::schema::{EntryChange, EntryRecord, Event, Values, What};
use super::values::{Version, compare, sealed_texts};
use crate::history::listed_by::ListedBy;
use crate::history::listing::{Listed, Relisted};
use crate::history::manifest::Home;
use crate::history::rotated::Rotated;
use crate::history::sealed::{SealedLeaf, SealedSecret};
use crate::history::steps::{Known, Steps};
use crate::history::today::Today;
use crate::name::{Claimant, Name, Namespace, ObjectKey};
use crate::report::summary::ObjectRecord;
use crate::secret::EntryChange as EntryFate;

/// An object, as questions are about it.
pub(super) struct About {
    pub home: Home,
    pub key: ObjectKey,
    pub claimants: BTreeSet<Claimant>,
    pub from: Option<(Option<Namespace>, Name)>,
}

/// The effect of a commit on an object. `event` lacks what is the same for every event of an object.
pub(super) struct Told {
    pub about: Rc<About>,
    pub event: Event,
}

/// A Secret that stands in the end.
pub(super) struct Standing {
    pub about: About,
    /// The first commit that published it.
    pub first: usize,
    /// The ages of its entries that have a value, by their names; one without a name where nothing is known of entries.
    pub ages: Vec<(String, Age)>,
}

/// Since when a value is what it is: numbers of commits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age {
    /// The last that is known to have changed it, or the first that published the Secret.
    pub known: usize,
    /// Whether that one changed it.
    pub changed: bool,
    /// The last after it that may have changed it.
    pub perhaps: Option<usize>,
}

impl Age {
    /// The age of several values together: that of the oldest.
    pub(super) fn oldest(ages: &[Self]) -> Option<Self> {
        let Self { known, changed, .. } = *ages.iter().min()?;
        let least = ages.iter().map(|age| age.perhaps.unwrap_or(age.known)).min();
        Some(Self { known, changed, perhaps: least.filter(|least| *least > known) })
    }
}

/// Since when a Secret's values are what they are, entry by entry: one that is new makes no other one younger, and one
/// that is put back is as old as it was.
#[derive(Clone)]
struct Ages<'f> {
    first: usize,
    /// Of entries of which nothing was noted.
    others: Age,
    entries: BTreeMap<String, Age>,
    /// By an entry's name and its sealed text, which no two sealings have in common.
    sealed: BTreeMap<(&'f str, &'f str), Age>,
}

impl<'f> Ages<'f> {
    fn since(first: usize) -> Self {
        let others = Age { known: first, changed: false, perhaps: None };
        Self { first, others, entries: BTreeMap::new(), sealed: BTreeMap::new() }
    }

    /// Remembers how old the values of a version are; those of an earlier one are as old as they were.
    fn remember(&mut self, version: &'f SealedSecret) {
        for (name, text) in sealed_texts(version) {
            let now = self.entries.get(name).copied().unwrap_or(self.others);
            let age = *self.sealed.entry((name, text)).or_insert(now);
            self.entries.insert(String::from(name), age);
        }
    }

    /// Notes what a commit did to entries; what came may be an old value under a new name.
    fn note(&mut self, commit: usize, entries: &[EntryRecord]) {
        for EntryRecord { name, change } in entries {
            if name.is_empty() {
                self.others.perhaps = Some(commit);
                self.entries.values_mut().for_each(|age| age.perhaps = Some(commit));
                continue;
            }
            let old = self.entries.get(name).copied().unwrap_or(self.others);
            let new = match change {
                EntryChange::Changed => Age { known: commit, changed: true, perhaps: None },
                EntryChange::Unknown => Age { perhaps: Some(commit), ..old },
                EntryChange::Added | EntryChange::Withdrawn => {
                    Age { known: self.first, changed: false, perhaps: Some(commit) }
                }
            };
            self.entries.insert(name.clone(), new);
        }
    }

    /// The ages of these entries.
    fn of<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<(String, Age)> {
        let age = |name: &str| self.entries.get(name).copied().unwrap_or(self.others);
        let ages: Vec<(String, Age)> = names.map(|name| (String::from(name), age(name))).collect();
        if ages.is_empty() { Vec::from([(String::new(), self.others)]) } else { ages }
    }
}

/// The life of a branch.
pub(super) struct Life {
    /// What each commit did, by its number.
    pub told: BTreeMap<usize, Vec<Told>>,
    /// The Secrets that stand in the end and have values.
    pub standing: Vec<Standing>,
}

/// One object of a region of a fleet.
type Place = (Home, ObjectKey);

/// What one manifest says of an object, and where its file is. A file may stay when it is no longer listed.
struct Entry {
    path: Arc<str>,
    listed: Option<Arc<Listed>>,
}

/// An object as a commit has it.
#[derive(Clone, PartialEq, Eq)]
struct View {
    /// The number of its file's content.
    file: usize,
    listed: Option<Arc<Listed>>,
}

/// What is remembered of an object that was ever published.
struct Past<'f> {
    ages: Option<Ages<'f>>,
    /// How it stood last.
    last: View,
}

struct Walk<'f> {
    facts: &'f Facts,
    branch: &'f Branch,
    today: Option<&'f Today<'f>>,
    /// The contents of all files that stand, by path.
    files: BTreeMap<Arc<str>, usize>,
    /// What manifests say, by the manifests' paths.
    listed: BTreeMap<Place, BTreeMap<Arc<str>, Entry>>,
    /// Which objects are in which file.
    owners: BTreeMap<Arc<str>, BTreeSet<Place>>,
    standing: BTreeMap<Place, View>,
    past: BTreeMap<Place, Past<'f>>,
    /// The lists of those manifests that a reuse key proves.
    proved: ListedBy,
    /// What is proved of files that were replaced, where that is wanted.
    steps: Option<Steps>,
}

/// What is proved of the files that the commits of branches replaced.
pub(super) fn steps(facts: &Facts) -> Steps {
    facts.branches.iter().fold(Steps::default(), |steps, branch| {
        let mut walk = Walk { steps: Some(steps), ..Walk::of(facts, branch, None) };
        branch.steps.iter().for_each(|step| _ = walk.step(step));
        walk.steps.unwrap_or_default()
    })
}

/// Goes through a branch.
pub(super) fn life<'f>(facts: &'f Facts, branch: &'f Branch, today: Option<&'f Today<'f>>) -> Life {
    let mut walk = Walk::of(facts, branch, today);
    let mut told = BTreeMap::new();
    for step in &branch.steps {
        let of_step = walk.step(step);
        if !of_step.is_empty() {
            told.insert(step.commit, of_step);
        }
    }
    let standing = walk.standing.iter().filter_map(|(place, view)| walk.standing_of(place, view)).collect();
    Life { told, standing }
}

impl<'f> Walk<'f> {
    fn of(facts: &'f Facts, branch: &'f Branch, today: Option<&'f Today<'f>>) -> Self {
        let mut proved = ListedBy::default();
        for relisted in branch.steps.iter().flat_map(|step| &step.listings).filter(|relisted| relisted.is_proved) {
            if let Some(listed) = &relisted.change.listed {
                proved.file(&relisted.change.home, &listed.sha256);
            }
        }
        Self {
            facts,
            branch,
            today,
            files: BTreeMap::new(),
            listed: BTreeMap::new(),
            owners: BTreeMap::new(),
            standing: BTreeMap::new(),
            past: BTreeMap::new(),
            proved,
            steps: None,
        }
    }

    fn step(&mut self, step: &Step) -> Vec<Told> {
        let mut touched: BTreeSet<Place> = BTreeSet::new();
        for (path, content) in &step.files {
            match content {
                Some(content) => _ = self.files.insert(path.clone(), *content),
                None => _ = self.files.remove(path),
            }
            touched.extend(self.owners.get(path).into_iter().flatten().cloned());
        }
        for relisted in &step.listings {
            let place = (relisted.change.home.clone(), relisted.change.key.clone());
            self.list(&place, relisted);
            touched.insert(place);
        }
        let mut told = Vec::new();
        for place in touched {
            let new = self.view(&place);
            let old = self.standing.get(&place).cloned();
            if old == new {
                continue;
            }
            self.told(&place, step.commit, (old.as_ref(), new.as_ref()), &mut told);
            match new {
                Some(new) => _ = self.standing.insert(place, new),
                None => _ = self.standing.remove(&place),
            }
        }
        told
    }

    /// Notes what a manifest says of an object from now on.
    fn list(&mut self, place: &Place, relisted: &Relisted) {
        let Relisted { manifest, change, .. } = relisted;
        let entries = self.listed.entry(place.clone()).or_default();
        let path = match relisted.path() {
            Some(path) => Some(Arc::from(path)),
            None => entries.get(manifest).map(|entry| entry.path.clone()),
        };
        let Some(path) = path else { return };
        if let Some(old) = entries.insert(manifest.clone(), Entry { path: path.clone(), listed: change.listed.clone() })
            && old.path != path
            && let Some(owners) = self.owners.get_mut(&old.path)
        {
            owners.remove(place);
        }
        self.owners.entry(path).or_default().insert(place.clone());
    }

    /// How an object stands now; not at all if it has no file. What is listed goes before what is left over, and else the
    /// first path counts.
    fn view(&mut self, place: &Place) -> Option<View> {
        let entries = self.listed.get_mut(place)?;
        let files = &self.files;
        let gone = |entry: &Entry| entry.listed.is_none() && !files.contains_key(&entry.path);
        for path in entries.values().filter(|entry| gone(entry)).map(|entry| &entry.path) {
            if let Some(owners) = self.owners.get_mut(path) {
                owners.remove(place);
            }
        }
        entries.retain(|_, entry| !gone(entry));
        let views = entries.values().filter_map(|entry| {
            let file = *files.get(&entry.path)?;
            Some(View { file, listed: entry.listed.clone() })
        });
        views.min_by_key(|view| view.listed.is_none())
    }

    fn secret(&self, place: &Place, view: &View) -> Option<&'f SealedSecret> {
        let of_key = |secret: &&Arc<SealedSecret>| secret.key == place.1;
        self.facts.files.get(view.file)?.secrets.iter().flatten().find(of_key).map(|secret| &**secret)
    }

    /// Whether an object's file is the one that its manifest lists.
    fn is_as_listed(&self, view: &View) -> bool {
        let sha256 = self.facts.files.get(view.file).map(|file| file.sha256.as_str());
        view.listed.as_ref().is_some_and(|listed| Some(listed.sha256.as_str()) == sha256)
    }

    /// What a commit that replaced an object's file by another proves of the values.
    fn rotated(&self, place: &Place, commit: usize, old: &View, new: &View) -> Option<&'f Rotated> {
        // A document for guests may be another around the same values.
        let tells = |view: &View| {
            self.is_proved(place, view) && self.secret(place, view).is_some_and(|secret| !secret.is_envelope())
        };
        Some(&self.branch.commits.get(commit)?.rotated).filter(|_| tells(old) && tells(new))
    }

    /// Notes what is proved of a file that replaced another one.
    fn step_to(&mut self, place: &Place, commit: usize, old: &View, new: &View) {
        let secrets = self.secret(place, old).zip(self.secret(place, new));
        let Some((then, now)) = secrets.filter(|_| self.steps.is_some()) else { return };
        let (rotated, secret) = (self.rotated(place, commit, old, new), place.1.path());
        let known = then.filled().filter_map(|entry| {
            let both = (then.entries.get(entry), now.entries.get(entry));
            let is_changed = match both {
                (_, None | Some(SealedLeaf::Empty)) => return None,
                (Some(SealedLeaf::Sealed(a)), Some(SealedLeaf::Sealed(b))) if a == b => false,
                _ => match rotated?.of(&place.0.directory, &secret, entry)? {
                    EntryFate::Changed => true,
                    EntryFate::Same => false,
                    _ => return None,
                },
            };
            Some((String::from(entry), is_changed))
        });
        let (known, files) = (known.collect(), (then.sha256.as_str(), now.sha256.as_str()));
        self.steps.iter_mut().for_each(|steps| steps.add((&place.0, &place.1), files, Known::clone(&known)));
    }

    /// Returns true for a file that its manifest lists, and a proved one too. Pouch compared with no other.
    fn is_proved(&self, place: &Place, view: &View) -> bool {
        let (Home { fleet, directory }, sha256) = (&place.0, self.facts.files.get(view.file).map(|file| &file.sha256));
        self.is_as_listed(view) && sha256.is_some_and(|sha256| self.proved.says(fleet, directory, sha256))
    }

    /// What the values of an object became from one view to another; in `commit`, if that replaced one by the other.
    fn values(&self, place: &Place, commit: Option<usize>, old: &View, new: &View) -> (Values, Vec<EntryRecord>) {
        if old.file == new.file {
            return (Values::Same, Vec::new());
        }
        let version = |view: &View| {
            let file = self.secret(place, view)?;
            let held = self.today.and_then(|today| today.held(&place.0, file, &self.proved));
            Some(Version { file, is_listed: self.is_as_listed(view), held: held.unwrap_or_default() })
        };
        let rotated = commit.and_then(|commit| self.rotated(place, commit, old, new));
        let (directory, secret) = (&place.0.directory, place.1.path());
        match (version(old), version(new)) {
            (Some(old), Some(new)) => compare(&old, &new, &|entry| rotated?.of(directory, &secret, entry)),
            // What cannot be looked into may be anything.
            _ => (Values::Unknown, Vec::from([EntryRecord { name: String::new(), change: EntryChange::Unknown }])),
        }
    }

    /// Says what became of one object.
    fn told(&mut self, place: &Place, commit: usize, views: (Option<&View>, Option<&View>), told: &mut Vec<Told>) {
        let empty = BTreeSet::new();
        let by = |view: Option<&'_ View>| view.and_then(|view| view.listed.clone());
        let (before, after) = (by(views.0), by(views.1));
        let old_claimants = before.as_ref().map_or(&empty, |listed| &listed.claimants);
        let new_claimants = after.as_ref().map_or(&empty, |listed| &listed.claimants);
        let mut events = Vec::new();
        match views {
            (None, None) => {}
            (None, Some(new)) => events = self.published(place, commit, new),
            (Some(_), None) => events.push(event(What::Withdrawn, place)),
            (Some(old), Some(new)) => {
                events = self.changed(place, commit, old, new);
                let joined = credentials(new_claimants.difference(old_claimants));
                let left = credentials(old_claimants.difference(new_claimants));
                // What is said nowhere is no other claim.
                if before.is_some() && after.is_some() && !(joined.is_empty() && left.is_empty()) {
                    let needed = event(What::Needed, place);
                    events.push(Event { credentials_added: joined, credentials_removed: left, ..needed });
                }
            }
        }
        let claimants: BTreeSet<Claimant> = old_claimants.union(new_claimants).cloned().collect();
        let from = after.as_ref().or(before.as_ref()).and_then(|listed| listed.from.clone());
        let (home, key) = place.clone();
        let about = Rc::new(About { home, key, claimants, from });
        told.extend(events.into_iter().map(|event| Told { about: about.clone(), event }));
        if let Some(new) = views.1 {
            let ages = self.past.get_mut(place).and_then(|past| past.ages.take());
            self.past.insert(place.clone(), Past { ages, last: new.clone() });
        }
    }

    fn published(&mut self, place: &Place, commit: usize, new: &View) -> Vec<Event> {
        let past = self.past.get(place).map(|past| past.last.clone());
        let secret = self.secret(place, new);
        let of_secret = past.as_ref().filter(|_| place.1.kind.is_secret());
        let (values, entries) = of_secret.map(|last| self.values(place, None, last, new)).unzip();
        let entries = entries.unwrap_or_default();
        self.note(place, commit, (new, &entries));
        let recipients_added = secret.map(|secret| secret.readers().map(ToString::to_string).collect());
        let mut events = Vec::from([Event {
            again: past.is_some(),
            values,
            entries: named(entries),
            recipients_added: recipients_added.unwrap_or_default(),
            ..event(What::Published, place)
        }]);
        events.extend(self.carried(place, None, new));
        if !self.is_as_listed(new) {
            events.push(event(What::Altered, place));
        }
        events
    }

    /// Notes a version of a Secret in its age.
    fn note(&mut self, place: &Place, commit: usize, (new, entries): (&View, &[EntryRecord])) {
        let version = self.secret(place, new);
        let unseen = || Past { ages: None, last: View { file: usize::MAX, listed: None } };
        let ages = &mut self.past.entry(place.clone()).or_insert_with(unseen).ages;
        let ages = ages.get_or_insert_with(|| Ages::since(commit));
        ages.note(commit, entries);
        if let Some(version) = version {
            ages.remember(version);
        }
    }

    fn changed(&mut self, place: &Place, commit: usize, old: &View, new: &View) -> Vec<Event> {
        let mut events = Vec::new();
        if old.file != new.file {
            self.step_to(place, commit, old, new);
            let (values, entries) = self.values(place, Some(commit), old, new);
            match (self.secret(place, old), self.secret(place, new)) {
                (Some(a), Some(b)) => {
                    self.note(place, commit, (new, &entries));
                    let (then, now): (BTreeSet<&str>, BTreeSet<&str>) = (a.readers().collect(), b.readers().collect());
                    let only = |one: &BTreeSet<&str>, other: &BTreeSet<&str>| -> Vec<String> {
                        one.difference(other).map(ToString::to_string).collect()
                    };
                    let is_resealed = a.entries != b.entries;
                    let what = match values {
                        Values::Changed => What::Changed,
                        _ if then != now => What::Recipients,
                        _ if is_resealed => What::Resealed,
                        _ => What::Retagged,
                    };
                    let values = Some(values);
                    events.push(Event {
                        values,
                        entries: named(entries),
                        recipients_added: only(&now, &then),
                        recipients_removed: only(&then, &now),
                        ..event(what, place)
                    });
                }
                // What cannot be looked into is told below: it is not as it is listed.
                _ if place.1.kind.is_secret() => self.note(place, commit, (new, &entries)),
                _ => events.push(event(What::Changed, place)),
            }
        }
        events.extend(self.carried(place, Some(old), new));
        match (self.is_as_listed(old), self.is_as_listed(new)) {
            (true, false) => events.push(event(What::Altered, place)),
            (false, true) => events.push(event(What::AsListed, place)),
            _ => {}
        }
        events
    }

    fn carried(&self, place: &Place, old: Option<&View>, new: &View) -> Option<Event> {
        let reason = |view: &View| view.listed.as_ref().and_then(|listed| listed.carried.clone());
        match (old.and_then(reason), reason(new)) {
            (old, Some(new)) if old.as_ref() != Some(&new) => {
                Some(Event { reason: Some(new), ..event(What::Carried, place) })
            }
            // What is not listed is not said to be current.
            (Some(_), None) if new.listed.is_some() => Some(event(What::Current, place)),
            _ => None,
        }
    }

    fn standing_of(&self, place: &Place, view: &View) -> Option<Standing> {
        let secret = self.secret(place, view);
        let is_empty = secret.is_some_and(|secret| secret.filled().next().is_none());
        if !place.1.kind.is_secret() || is_empty {
            return None;
        }
        let ages = self.past.get(place)?.ages.as_ref()?;
        let (first, of_entries) = match secret {
            Some(secret) => (ages.first, ages.of(secret.filled())),
            None => (ages.first, ages.of(ages.entries.keys().map(String::as_str))),
        };
        let (home, key) = place.clone();
        let listed = view.listed.as_ref();
        let claimants = listed.map(|listed| listed.claimants.clone()).unwrap_or_default();
        let from = listed.and_then(|listed| listed.from.clone());
        Some(Standing { about: About { home, key, claimants, from }, first, ages: of_entries })
    }
}

/// The entries that have a name.
fn named(entries: Vec<EntryRecord>) -> Vec<EntryRecord> {
    entries.into_iter().filter(|entry| !entry.name.is_empty()).collect()
}

fn event(what: What, (_, key): &Place) -> Event {
    Event {
        what,
        fleet: String::new(),
        directory: String::new(),
        region: None,
        object: ObjectRecord::from(key),
        credentials: Vec::new(),
        again: false,
        values: None,
        entries: Vec::new(),
        recipients_added: Vec::new(),
        recipients_removed: Vec::new(),
        recipient_names: BTreeMap::new(),
        reason: None,
        credentials_added: Vec::new(),
        credentials_removed: Vec::new(),
    }
}
