//! The published tree of one region: untrusted until its manifest authenticates it (DESIGN §4.1).
//!
//! A published file is believed only if the manifest's tag verifies under a reuse key, the file's hash
//! matches, and its path is the one that the layout derives from its object's key. What nobody
//! vouches for is reported, and is never carried, counted or removed.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::odd::{Odd, foreign_file};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::judge::incumbents::Incumbents;
use crate::layout::manifest::{self, Manifest, ManifestObject, NeededBy};
use crate::layout::path::{self, BundlePath};
use crate::name::{Claimant, Directory, FleetName, ObjectKey};
use crate::node::{Interner, Node};
use crate::reuse::{self, KeyRing};
use crate::yaml::read;

/// What stands in one region's folders, by path relative to the output; any file can stand there.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What stands in the folders of a region of which the history proves that it is what pouch published last: plain files
/// and nothing else, and not all of them read.
pub struct Proved<'s> {
    /// The files that were read; `bundle.yaml` is not among them.
    pub files: Files,
    /// The paths of the others.
    pub unread: BTreeSet<String>,
    /// The `bundle.yaml` that stands there, if one does.
    pub manifest: Option<Box<dyn Unread + 's>>,
}

/// A file that is not read unless it must be.
pub trait Unread {
    /// Whether these bytes are what it holds.
    fn holds(&self, bytes: &[u8]) -> bool;

    /// What it holds; none where it cannot be read.
    fn read(&self) -> Option<Vec<u8>>;
}

/// The state of a region's folders.
pub enum State {
    /// There is nothing.
    Nothing,
    /// A manifest that a reuse key authenticates.
    Bundle(Box<Manifest>),
    /// There are files, and no manifest that a reuse key authenticates.
    Unsigned,
    /// The manifest is written in a newer format.
    Newer(String),
}

/// A region's published files and what vouches for them.
pub struct Published {
    /// Every file in the region's folders.
    pub files: Files,
    /// What stands beside them that is no plain file.
    pub odd: Odd,
    /// What vouches for them.
    pub state: State,
    /// What an unsigned bundle says of itself.
    claimed: Option<Manifest>,
    /// Why its tag does not verify; empty if it has no tag.
    unfit: String,
    /// The place of each object in the manifest, and whether its file is the one that the manifest vouches for.
    by_key: BTreeMap<ObjectKey, (usize, bool)>,
}

impl Published {
    /// Nothing at all.
    pub fn nothing() -> Self {
        Self {
            files: Files::new(),
            odd: Odd::default(),
            state: State::Nothing,
            claimed: None,
            unfit: String::new(),
            by_key: BTreeMap::new(),
        }
    }

    /// Files that nobody has looked at yet: nothing vouches for them.
    pub fn unexamined(files: Files) -> Self {
        Self { files, ..Self::nothing() }
    }

    /// The same with what stands beside the files.
    pub fn with(self, odd: Odd) -> Self {
        Self { odd, ..self }
    }

    /// Whether something stands in one of the region's folders, or in its place.
    pub fn stands_in(&self, folder: &str) -> bool {
        let is_inside = |path: &String| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.files.keys().chain(self.odd.forms.keys()).any(is_inside) || self.odd.forms.contains_key(folder)
    }

    /// Decides how far the files in a region's folders are believed.
    pub fn examine(fleet: &FleetName, directory: &Directory, files: Files, keys: &KeyRing) -> Self {
        let bytes = files.get(path::manifest(directory).as_str());
        let (state, claimed) = match bytes {
            None if files.is_empty() => (State::Nothing, None),
            None => (State::Unsigned, None),
            Some(bytes) => authenticate(fleet, directory, bytes, keys),
        };
        let unsigned = bytes.filter(|_| matches!(state, State::Unsigned));
        let unfit = unsigned.map(|bytes| keys.unfit(bytes)).unwrap_or_default();
        Self { claimed, unfit, ..Self::of_state(files, state) }
    }

    /// Believes a region's manifest without a reuse key to prove it: to look at what it says, or, if the user says that
    /// the key is lost, to seal anew what it lists.
    ///
    /// Nothing may be removed by it.
    pub fn unproved(fleet: &FleetName, directory: &Directory, files: Files) -> Self {
        let state = match files.get(path::manifest(directory).as_str()) {
            None if files.is_empty() => State::Nothing,
            None => State::Unsigned,
            Some(bytes) if reuse::is_newer(bytes) => State::Newer(String::from("a later format")),
            Some(bytes) => parsed(fleet, directory, bytes),
        };
        Self::of_state(files, state)
    }

    /// Files that a manifest lists, itself among them, each with the hash that it has: nothing is left to examine.
    pub(super) fn proved(files: Files, manifest: Manifest) -> Self {
        let by_key = (0..).zip(&manifest.objects).map(|(index, object)| (object.key.clone(), (index, true))).collect();
        Self { by_key, files, state: State::Bundle(Box::new(manifest)), ..Self::nothing() }
    }

    fn of_state(files: Files, state: State) -> Self {
        let mut by_key = BTreeMap::new();
        if let State::Bundle(manifest) = &state {
            let placed = |(index, object): (usize, &ManifestObject)| {
                (object.key.clone(), (index, vouches(&files, &object.path, &object.sha256)))
            };
            by_key.extend(manifest.objects.iter().enumerate().map(placed));
        }
        Self { files, odd: Odd::default(), state, claimed: None, unfit: String::new(), by_key }
    }

    /// The bytes of a file that is no object, if the manifest vouches for them.
    pub(super) fn open_file(&self, path: &BundlePath) -> Option<&[u8]> {
        let file = self.manifest()?.files.iter().find(|file| file.path == *path)?;
        self.files.get(path.as_str()).map(Vec::as_slice).filter(|_| vouches(&self.files, path, &file.sha256))
    }

    /// The manifest, if one is authenticated.
    pub fn manifest(&self) -> Option<&Manifest> {
        if let State::Bundle(manifest) = &self.state { Some(manifest) } else { None }
    }

    /// Why the tag of an unsigned bundle does not verify; ends a sentence, and is empty if there is no tag.
    pub fn unfit(&self) -> &str {
        &self.unfit
    }

    /// What an unsigned bundle says of itself, which nobody vouches for: a reason to hold, never to write.
    pub fn claimed(&self) -> Option<&Manifest> {
        self.claimed.as_ref()
    }

    /// The manifest's entry of an object.
    pub fn object(&self, key: &ObjectKey) -> Option<&ManifestObject> {
        self.manifest()?.objects.get(self.by_key.get(key)?.0)
    }

    /// The hash of an object's file that the manifest lists; none for an object that it does not list.
    pub fn sha256(&self, key: &ObjectKey) -> Option<String> {
        self.object(key).map(|object| object.sha256.clone())
    }

    /// An object's file, if it is the one that the manifest vouches for.
    pub fn bytes(&self, key: &ObjectKey) -> Option<&[u8]> {
        let object = self.object(key)?;
        self.intact(key).then_some(self.files.get(object.path.as_str())?)
    }

    fn intact(&self, key: &ObjectKey) -> bool {
        self.by_key.get(key).is_some_and(|(_, intact)| *intact)
    }

    /// An object's file as a document, if the manifest vouches for it.
    pub fn document(&self, key: &ObjectKey) -> Option<Node> {
        document(self.bytes(key)?)
    }

    /// The claimants that have something published, and where each object was read.
    pub fn incumbents(&self) -> Incumbents {
        let mut incumbents = Incumbents::default();
        for object in self.manifest().map(|manifest| &*manifest.objects).unwrap_or_default() {
            let claimants: Vec<Claimant> = object.needed_by.iter().map(|needed_by| needed_by.by.clone()).collect();
            incumbents.claimants.extend(claimants.iter().cloned());
            let bytes = self.files.get(object.path.as_str()).map(Vec::len).unwrap_or_default();
            incumbents.files.insert(object.key.clone(), (bytes, claimants));
            if let Some(from) = &object.from {
                for NeededBy { by, .. } in &object.needed_by {
                    let guest = object.guest.as_ref().filter(|_| !object.state.is_handover());
                    let place = guest.map(|guest| (by.whole().into_owned(), guest.key.clone()));
                    let has = || (by.clone(), from.clone());
                    place.into_iter().for_each(|place| incumbents.in_guests.entry(place).or_default().push(has()));
                }
                incumbents.sources.insert(object.key.clone(), from.clone());
            }
        }
        incumbents
    }

    /// Files that the manifest does not list.
    pub fn foreign(&self, directory: &Directory) -> Vec<&str> {
        let Some(manifest) = self.manifest() else { return Vec::new() };
        self.unlisted(directory, manifest)
    }

    fn unlisted(&self, directory: &Directory, manifest: &Manifest) -> Vec<&str> {
        let own = path::manifest(directory);
        let mut ours: BTreeSet<&str> = listed(manifest).collect();
        ours.insert(own.as_str());
        self.files.keys().map(String::as_str).filter(|path| !ours.contains(path)).collect()
    }

    /// Files of a region without an authenticated manifest that neither `made`, the bundle that takes their place, nor
    /// the manifest that stands there lists.
    ///
    /// If no readable manifest stands there, every file that `made` does not list is somebody's.
    pub fn strange(&self, directory: &Directory, made: &Manifest) -> Vec<&str> {
        if self.manifest().is_some() {
            return Vec::new();
        }
        let made: BTreeSet<&str> = self.unlisted(directory, made).into_iter().collect();
        let listed = self.claimed().map(|claimed| self.unlisted(directory, claimed));
        let listed = listed.unwrap_or_else(|| made.iter().copied().collect());
        listed.into_iter().filter(|path| made.contains(path)).collect()
    }

    /// Files that the manifest lists and that are missing or not as it says.
    pub fn tampered(&self) -> Vec<&BundlePath> {
        let Some(manifest) = self.manifest() else { return Vec::new() };
        let objects = manifest.objects.iter().filter(|object| !self.intact(&object.key)).map(|object| &object.path);
        let files = manifest.files.iter().filter(|file| !vouches(&self.files, &file.path, &file.sha256));
        objects.chain(files.map(|file| &file.path)).collect()
    }

    /// Findings about what stands in the folders where `own` is what pouch published last: some hold the region, others
    /// only warn.
    pub fn findings_beside(&self, own: &Published, directory: &Directory) -> Vec<Finding> {
        if core::ptr::eq(self, own) {
            return self.findings(directory);
        }
        let what = match &self.state {
            State::Nothing => "is gone",
            State::Bundle(_) => "is another state than the last that pouch published",
            State::Unsigned | State::Newer(_) => "has no manifest that the reuse key authenticates",
        };
        let message = format!("regions/{directory} {what}; what pouch published last counts");
        let help = "Find out who changed the branch: its history says when. What pouch published last is put back when the \
                    region is published next.";
        let is_same = self.manifest().is_some() && self.manifest() == own.manifest();
        let mut findings: Vec<Finding> = match is_same {
            true => self.tampered().into_iter().map(tampered_file).collect(),
            false => [Finding::new(Code::NotAsPublished, message).help(help)].into(),
        };
        let mut ours: BTreeSet<&str> = own.files.keys().map(String::as_str).collect();
        ours.extend(self.manifest().into_iter().flat_map(listed));
        let manifest = path::manifest(directory);
        ours.insert(manifest.as_str());
        let foreign = self.files.keys().filter(|path| !ours.contains(path.as_str()));
        findings.extend(foreign.map(|path| foreign_file(directory, path)));
        findings.extend(self.odd.findings(directory));
        findings
    }

    /// Findings about what stands in the folders: some hold the region, others only warn.
    pub fn findings(&self, directory: &Directory) -> Vec<Finding> {
        let mut findings = Vec::new();
        match &self.state {
            State::Nothing | State::Bundle(_) => {}
            State::Unsigned => findings.push(
                Finding::new(
                    Code::UnsignedBundle,
                    format!(
                        "regions/{directory} has files and no manifest that the reuse key authenticates{}",
                        self.unfit
                    ),
                )
                .help(format!(
                    "If the reuse key changed, add the old one to reuseKey.previous; if the old one is lost, use \
                     `pouch rekey --new-reuse-key`. To replace what is published and carry nothing over, pass --replace-unsigned \
                     {directory}."
                )),
            ),
            State::Newer(version) => findings.push(
                Finding::new(
                    Code::NewerFormat,
                    format!("the bundle of {directory} is written as {version}, which this pouch does not know"),
                )
                .help("Use the pouch that wrote it, or a newer one."),
            ),
        }
        for path in self.foreign(directory) {
            findings.push(foreign_file(directory, path));
        }
        findings.extend(self.odd.findings(directory));
        findings.extend(self.tampered().into_iter().map(tampered_file));
        findings
    }
}

/// The paths of everything that a manifest lists.
fn listed(manifest: &Manifest) -> impl Iterator<Item = &str> {
    let objects = manifest.objects.iter().map(|object| object.path.as_str());
    objects.chain(manifest.files.iter().map(|file| file.path.as_str()))
}

fn vouches(files: &Files, path: &BundlePath, sha256: &str) -> bool {
    files.get(path.as_str()).is_some_and(|bytes| sha256_hex(bytes) == sha256)
}

/// The state that a manifest gives its region, and the manifest itself if nobody vouches for it.
fn authenticate(fleet: &FleetName, directory: &Directory, bytes: &[u8], keys: &KeyRing) -> (State, Option<Manifest>) {
    if let Some(rest) = reuse::manifest_verifies(keys, fleet, directory, bytes) {
        return (parsed(fleet, directory, rest), None);
    }
    // The file's word can only hold the region. It would be wrong to offer to replace what a later
    // pouch wrote.
    if reuse::is_newer(bytes) {
        return (State::Newer(String::from("a later format")), None);
    }
    match parsed(fleet, directory, bytes) {
        State::Bundle(manifest) => (State::Unsigned, Some(*manifest)),
        other => (other, None),
    }
}

fn parsed(fleet: &FleetName, directory: &Directory, bytes: &[u8]) -> State {
    let Ok(text) = read::text_of(bytes) else { return State::Unsigned };
    match manifest::parse(text) {
        Ok(manifest) if manifest.directory == *directory && manifest.fleet == *fleet => {
            State::Bundle(Box::new(manifest))
        }
        Ok(_) => State::Unsigned,
        Err(manifest::Unusable::Newer(version)) => State::Newer(version),
        Err(_) => State::Unsigned,
    }
}

fn tampered_file(path: &BundlePath) -> Finding {
    let message = format!("{path} does not match the manifest");
    Finding::new(Code::NotAsPublished, message).help("Find out who changed it; pouch writes it anew.")
}

/// The manifest in the bytes of a `bundle.yaml`, if a reuse key authenticates it.
pub fn authentic(fleet: &FleetName, directory: &Directory, bytes: &[u8], keys: &KeyRing) -> Option<Manifest> {
    match authenticate(fleet, directory, bytes, keys).0 {
        State::Bundle(manifest) => Some(*manifest),
        _ => None,
    }
}

/// The fleet that a `bundle.yaml` says it belongs to, believed only so far as to leave the bundle alone.
pub fn fleet_of(bytes: &[u8]) -> Option<String> {
    let text = read::text_of(bytes).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("fleet: "))?;
    Some(String::from(line.trim().trim_matches('"')))
}

/// A published file as a document; none where it is not one.
pub fn document(bytes: &[u8]) -> Option<Node> {
    let text = read::text_of(bytes).ok()?;
    let document = read::documents(text).next()?;
    read::read(&document, &mut Interner::new()).ok()
}
