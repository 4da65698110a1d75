//! Reads what a repository's history held: a file once, however many commits and paths have it, and a manifest once for
//! each of its versions. What they mean is the core's business.

pub(in crate::run) mod today;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use pouch_core::config::Fleet;
use pouch_core::history::manifest::{Brought, Reads};
use pouch_core::history::{File, Skipped, SkippedFile, directory_of};
use pouch_core::listing::counted;
use pouch_core::name::Directory;
use pouch_core::node::Interner;
use pouch_core::reuse::{KeyRing, manifest_verifies};
use rayon::prelude::*;

use crate::error::Failure;
use crate::git::history::{HistoryError, Passed, PassedOver};
use crate::git::objects::{self, Id, Kind, ObjectsError, Store};
use crate::harden::wiped;
use crate::stop::Stop;
use crate::ui::Ui;

/// The largest file that is read, in bytes; the API takes no Secret beyond 1 MiB.
const MOST_BYTES: u64 = 16 << 20;

/// The most versions of a manifest that one task reads: they are mostly alike, so that many together are quick.
const MOST_VERSIONS: usize = 256;

/// The least files that are read by one view of the repository.
const LEAST_FILES: usize = 128;

/// The most that are named of what is passed over.
const MOST_NAMED: usize = 20;

/// A repository while its files are read.
#[derive(Clone, Copy)]
pub(in crate::run) struct Reading<'r> {
    /// The folder of the repository.
    pub path: &'r Path,
    /// The fleet and the keys that prove its manifests and commits, where there are some.
    pub keys: Option<(&'r Fleet, &'r KeyRing)>,
    /// Says when the run should end.
    pub stop: &'r Stop,
}

/// A manifest in a commit.
pub(in crate::run) struct Manifest {
    /// Its path.
    pub path: Arc<str>,
    /// The number of the commit that brought this version of it.
    pub commit: usize,
    /// Its content; none if it is gone.
    pub id: Option<Id>,
}

impl Reading<'_> {
    /// The contents of files, in the order of `ids`.
    pub fn files(&self, ids: &[Id]) -> Result<Vec<File>, Failure> {
        let read = |desk: &mut Desk, id: &Id| {
            self.stop.check()?;
            Ok(File::read(desk.bytes(*id)?, &mut desk.interner))
        };
        ids.par_iter().with_min_len(LEAST_FILES).map_init(|| Desk::at(self.path), read).collect()
    }

    /// Reads manifests in parts. They are sorted by path, and the versions of each as they came.
    pub fn manifests<R: Reads + Send>(
        &self,
        manifests: &[Manifest],
        skipped: &mut PassedOver,
    ) -> Result<Vec<R>, Failure> {
        let mut tasks: Vec<Task<'_>> = Vec::new();
        for versions in manifests.chunk_by(|one, next| one.path == next.path) {
            let Some(directory) = versions.first().and_then(|one| directory_of(&one.path)) else { continue };
            let mut before = None;
            for versions in versions.chunks(MOST_VERSIONS) {
                tasks.push(Task { directory: directory.clone(), before, versions });
                before = versions.last();
            }
        }
        let done = tasks.par_iter().map_init(|| Desk::at(self.path), |desk, task| wiped(|| self.versions(desk, task)));
        let done: Result<Vec<_>, Failure> = done.collect();
        let mut found = Vec::with_capacity(tasks.len());
        for (read, faults) in done? {
            faults.into_iter().for_each(|(path, why)| skipped.add(path, why));
            found.push(read);
        }
        Ok(found)
    }

    fn versions<'t, R: Reads>(&self, desk: &mut Desk, task: &Task<'t>) -> Result<(R, Faults<'t>), Failure> {
        let (mut read, mut faults) = (R::default(), Faults::new());
        desk.interner = Interner::new();
        if let Some(version) = task.before {
            // Who read it as the last version of its task says what is wrong with it.
            _ = self.version(desk, &task.directory, version, &mut read)?;
            read = read.after();
        }
        for version in task.versions {
            self.stop.check()?;
            if let Err(why) = self.version(desk, &task.directory, version, &mut read)? {
                faults.insert((&version.path, why));
            }
        }
        Ok((read, faults))
    }

    fn version<R: Reads>(
        &self,
        desk: &mut Desk,
        directory: &Directory,
        version: &Manifest,
        read: &mut R,
    ) -> Result<Result<(), &'static str>, Failure> {
        let Manifest { path, commit, id } = version;
        let bytes = id.map(|id| desk.bytes(id)).transpose()?.transpose();
        let text = bytes.as_ref().ok().and_then(Option::as_deref);
        let verifies = |(fleet, keys): (&Fleet, &KeyRing), text| manifest_verifies(keys, &fleet.name, directory, text);
        let is_proved = self.keys.zip(text).is_some_and(|(keys, text)| verifies(keys, text).is_some());
        let brought = Brought { manifest: path, directory, commit: *commit, bytes: text, is_proved };
        let outcome = read.read(&brought, &mut desk.interner);
        Ok(bytes.map(|_| ()).and(outcome))
    }
}

/// Versions of one manifest that are read together, and the one before them.
struct Task<'t> {
    /// The region's folder that the manifest is in.
    directory: Directory,
    before: Option<&'t Manifest>,
    versions: &'t [Manifest],
}

/// Manifests that cannot be used, and why.
type Faults<'t> = BTreeSet<(&'t str, &'static str)>;

/// A thread's own view of a repository.
struct Desk {
    store: Result<Store, ObjectsError>,
    interner: Interner,
}

impl Desk {
    fn at(path: &Path) -> Self {
        Self { store: objects::open(path), interner: Interner::new() }
    }

    /// A file; or why it is passed over.
    fn bytes(&self, id: Id) -> Result<Result<Vec<u8>, &'static str>, Failure> {
        let store = self.store.as_ref().map_err(|error| HistoryError::from(error.clone()))?;
        match store.blob(id, MOST_BYTES) {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(ObjectsError::TooLarge(_)) => Ok(Err("it is larger than 16 MiB")),
            Err(error) => Err(HistoryError::from(error).into()),
        }
    }
}

/// Counts what was passed over, and names the first.
pub(in crate::run) fn told(passed: PassedOver) -> Skipped {
    let count = passed.count();
    let file = |Passed { what, why }| SkippedFile { path: what, why };
    Skipped { count, files: passed.first().take(MOST_NAMED).map(file).collect() }
}

/// Decides whether something in a commit can have to do with bundles.
pub(in crate::run) fn counts(path: &str, kind: Kind) -> bool {
    match kind {
        // What is behind a link or a submodule is unknown: it may be the folder of one region or of all.
        Kind::Link | Kind::Submodule => {
            path == "regions" || path.ends_with("/regions") || directory_of(&format!("{path}/x")).is_some()
        }
        Kind::File | Kind::Folder => directory_of(path).is_some(),
    }
}

/// A time as answers have it.
pub(in crate::run) fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).to_string()
}

/// The branches that regions follow, each with the folders of its regions. What is proposed is not published yet.
pub(in crate::run) fn homes(fleet: Option<&Fleet>) -> BTreeMap<String, BTreeSet<Directory>> {
    let mut homes: BTreeMap<String, BTreeSet<Directory>> = BTreeMap::new();
    if let Some((fleet, git)) = fleet.and_then(|fleet| Some((fleet, fleet.output.git.as_ref()?))) {
        for region in fleet.regions.values() {
            homes.entry(git.place(&region.directory).base).or_default().insert(region.directory.clone());
        }
    }
    homes
}

/// A branch's names: in a clone of its repository, and in the repository itself.
pub(in crate::run) fn references(branch: &str) -> [String; 2] {
    [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")]
}

/// Says what could not be read.
pub(in crate::run) fn warn_of(skipped: &Skipped, ui: &Ui) {
    let count = skipped.count;
    if count > 0 {
        let first: BTreeMap<&str, &str> =
            skipped.files.iter().take(3).map(|file| (file.path.as_str(), file.why.as_str())).collect();
        let first: Vec<String> = first.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        ui.warn(&format!(
            "{} could not be read, so what they hold is not in the answer: {}",
            counted(count, "file, folder or commit", "files, folders or commits"),
            first.join("; ")
        ));
    }
}
