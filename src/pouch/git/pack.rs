//! Objects on their way into a repository: kept in memory, and written together as packs.
//!
//! One file for each object would be most of the work of a large publication. An object has its name as soon as it is
//! added; it can be read once [`Packs::write`] has come back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use git2::{ObjectType, Odb, OdbLookupFlags, Oid, Repository};

use super::objects::ObjectsError;
use crate::error::said;

/// How many bytes of objects wait in memory at most: a pack is written when there are as many. What changed is mostly
/// less, and so one pack.
const MOST_WAITING: usize = 32 << 20;

/// What an object costs beside its bytes.
const EACH: usize = 64;

/// The place of a memory backend among those of a repository: before all others.
const FIRST: i32 = 1000;

/// The mode of a pack, which nobody writes to again.
const MODE: u32 = 0o444;

/// An object that no repository has yet.
type Waiting = (Oid, ObjectType, Vec<u8>);

/// The objects that are added to one repository.
pub(super) struct Packs {
    place: PathBuf,
    waiting: Mutex<Batch>,
}

#[derive(Default)]
struct Batch {
    objects: Vec<Waiting>,
    bytes: usize,
    /// All objects that were added, in this pack and in those before.
    added: BTreeSet<Oid>,
}

impl Packs {
    /// Objects for the bare repository at `place`, whose configuration must tell libgit2 to look for no deltas: what
    /// is sealed has none.
    pub(super) fn new(place: &Path) -> Self {
        Self { place: place.to_owned(), waiting: Mutex::default() }
    }

    /// Adds an object that is not in `known`, and gives its name. May write a pack; other threads can go on adding.
    pub(super) fn add(&self, known: &Odb<'_>, kind: ObjectType, bytes: Vec<u8>) -> Result<Oid, ObjectsError> {
        let id = Oid::hash_object(kind, &bytes)?;
        let is_there = known.exists_ext(id, OdbLookupFlags::NO_REFRESH);
        let full = self.with(|waiting| {
            if is_there || !waiting.added.insert(id) {
                return None;
            }
            waiting.bytes = waiting.bytes.saturating_add(bytes.len()).saturating_add(EACH);
            waiting.objects.push((id, kind, bytes));
            (waiting.bytes >= MOST_WAITING).then(|| waiting.take())
        })?;
        full.map_or(Ok(()), |objects| pack(&self.place, objects))?;
        Ok(id)
    }

    /// Writes what still waits.
    pub(super) fn write(&self) -> Result<(), ObjectsError> {
        let rest = self.with(Batch::take)?;
        pack(&self.place, rest)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Batch) -> T) -> Result<T, ObjectsError> {
        match self.waiting.lock() {
            Ok(mut waiting) => Ok(work(&mut waiting)),
            Err(_) => Err(ObjectsError::Other("another part of the run failed".to_owned())),
        }
    }
}

impl Batch {
    fn take(&mut self) -> Vec<Waiting> {
        self.bytes = 0;
        std::mem::take(&mut self.objects)
    }
}

/// Writes objects as one pack.
fn pack(place: &Path, objects: Vec<Waiting>) -> Result<(), ObjectsError> {
    if objects.is_empty() {
        return Ok(());
    }
    // Opened anew: the backend in memory stays with the repository that it was added to.
    let repository = Repository::open_bare(place)?;
    let odb = repository.odb()?;
    odb.add_new_mempack_backend(FIRST)?;
    let mut pack = repository.packbuilder()?;
    for (id, kind, bytes) in objects {
        odb.write(kind, &bytes)?;
        pack.insert_object(id, None)?;
    }
    let folder = place.join("objects").join("pack");
    std::fs::create_dir_all(&folder).map_err(|error| ObjectsError::Other(said(&error)))?;
    Ok(pack.write(&folder, MODE)?)
}
