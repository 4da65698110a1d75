//! Objects on their way into a repository: kept in memory, and written together as packs.
//!
//! One file for each object would be most of the work of a large publication. An object has its name as soon as it is
//! added; it can be read once [`Packs::write`] has come back.
//!
//! libgit2 would hash each object four times on its way into a pack and inflate it once, so packs are written here: each
//! object whole, because what is sealed has no deltas. <https://git-scm.com/docs/gitformat-pack>

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use git2::{ObjectType, Odb, OdbLookupFlags, Oid};
use pouch_core::hash::digits;
use sha1::{Digest as _, Sha1};

use super::objects::ObjectsError;
use crate::error::said;

/// How many bytes of objects wait in memory at most: a pack is written when there are as many. What changed is mostly
/// less, and so one pack.
const MOST_WAITING: usize = 32 << 20;

/// What an object costs beside its bytes.
const EACH: usize = 64;

/// The mode of a pack, which nobody writes to again.
const MODE: u32 = 0o444;

/// What packs and their indexes begin with, and the version of each.
const PACK: &[u8] = b"PACK\0\0\0\x02";
const INDEX: &[u8] = b"\xfftOc\0\0\0\x02";

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
    /// Objects for the bare repository at `place`.
    pub(super) fn new(place: &Path) -> Self {
        Self { place: place.to_owned(), waiting: Mutex::default() }
    }

    /// Adds an object that is not in `known`, and gives its name. May write a pack; other threads can go on adding.
    pub(super) fn add(&self, known: &Odb<'_>, kind: ObjectType, bytes: Vec<u8>) -> Result<Oid, ObjectsError> {
        let id = name_of(kind, &bytes)?;
        let is_there = known.exists_ext(id, OdbLookupFlags::NO_REFRESH);
        let full = self.with(|waiting| {
            if is_there || !waiting.added.insert(id) {
                return None;
            }
            waiting.bytes += bytes.len() + EACH;
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

/// The name of an object. Nobody looks here for bytes that belong to an attack on SHA-1: git does wherever it takes a
/// pack in, and so what is pushed and what is fetched.
pub(super) fn name_of(kind: ObjectType, bytes: &[u8]) -> Result<Oid, ObjectsError> {
    let mut hash = Sha1::new();
    hash.update(format!("{} {}\0", kind.str(), bytes.len()));
    hash.update(bytes);
    Ok(Oid::from_bytes(&hash.finalize())?)
}

/// Writes objects as one pack.
fn pack(place: &Path, objects: Vec<Waiting>) -> Result<(), ObjectsError> {
    if objects.is_empty() {
        return Ok(());
    }
    let folder = place.join("objects").join("pack");
    let mut pack = Pack::of(objects.len())?;
    for (id, kind, bytes) in objects {
        pack.add(id, kind, &bytes)?;
    }
    let (pack, index, name) = pack.close()?;
    let put = |ending: &str, bytes: &[u8]| -> io::Result<()> {
        let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(MODE)).tempfile_in(&folder)?;
        file.write_all(bytes)?;
        file.persist(folder.join(format!("pack-{name}.{ending}"))).map_err(|error| error.error)?;
        Ok(())
    };
    // A pack counts once its index is there.
    let written = fs::create_dir_all(&folder).and_then(|()| put("pack", &pack)).and_then(|()| put("idx", &index));
    written.map_err(|error| ObjectsError::Other(said(&error)))
}

/// A pack that is being made.
struct Pack {
    bytes: Vec<u8>,
    deflate: Compress,
    entries: Vec<Packed>,
}

/// What an index says of an object.
struct Packed {
    id: Oid,
    crc: u32,
    offset: u32,
}

impl Pack {
    /// A pack for so many objects.
    fn of(count: usize) -> Result<Self, ObjectsError> {
        let bytes = [PACK, &short(count)?.to_be_bytes()].concat();
        // What is sealed is hardly smaller after more work, and of the rest most is a `bundle.yaml`, whose lines recur.
        Ok(Self { bytes, deflate: Compress::new(Compression::fast(), true), entries: Vec::with_capacity(count) })
    }

    fn add(&mut self, id: Oid, kind: ObjectType, bytes: &[u8]) -> Result<(), ObjectsError> {
        let begins = self.bytes.len();
        self.head(kind, bytes.len())?;
        self.deflated(bytes)?;
        let mut crc = Crc::new();
        crc.update(self.bytes.get(begins..).unwrap_or_default());
        self.entries.push(Packed { id, crc: crc.sum(), offset: short(begins)? });
        Ok(())
    }

    /// Adds what stands before an object: its kind, and its size in groups of bits, the lowest first.
    fn head(&mut self, kind: ObjectType, size: usize) -> Result<(), ObjectsError> {
        let kind: u8 = match kind {
            ObjectType::Commit => 1,
            ObjectType::Tree => 2,
            ObjectType::Blob => 3,
            _ => return Err(ObjectsError::Other(format!("a {} is not packed", kind.str()))),
        };
        let low = |size: usize, bits: usize| u8::try_from(size & bits).unwrap_or_default();
        let (mut byte, mut rest) = ((kind << 4) | low(size, 0x0f), size >> 4);
        while rest > 0 {
            self.bytes.push(byte | 0x80);
            (byte, rest) = (low(rest, 0x7f), rest >> 7);
        }
        self.bytes.push(byte);
        Ok(())
    }

    fn deflated(&mut self, bytes: &[u8]) -> Result<(), ObjectsError> {
        self.deflate.reset();
        loop {
            let done = usize::try_from(self.deflate.total_in()).unwrap_or(usize::MAX);
            let rest = bytes.get(done..).unwrap_or_default();
            // Only what is reserved is written to. What cannot be made smaller becomes a little larger.
            self.bytes.reserve(rest.len() + (rest.len() >> 10) + EACH);
            let status = self.deflate.compress_vec(rest, &mut self.bytes, FlushCompress::Finish);
            match status.map_err(|error| ObjectsError::Other(error.to_string()))? {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => {}
            }
        }
    }

    /// The pack, its index and the name of both.
    fn close(mut self) -> Result<(Vec<u8>, Vec<u8>, String), ObjectsError> {
        let sum = Sha1::digest(&self.bytes);
        self.bytes.extend_from_slice(&sum);
        self.entries.sort_by_key(|entry| entry.id);
        let mut index = INDEX.to_vec();
        for first in 0..=u8::MAX {
            let until = self.entries.partition_point(|entry| entry.id.as_bytes().first() <= Some(&first));
            index.extend_from_slice(&short(until)?.to_be_bytes());
        }
        self.entries.iter().for_each(|entry| index.extend_from_slice(entry.id.as_bytes()));
        self.entries.iter().for_each(|entry| index.extend_from_slice(&entry.crc.to_be_bytes()));
        self.entries.iter().for_each(|entry| index.extend_from_slice(&entry.offset.to_be_bytes()));
        index.extend_from_slice(&sum);
        let own = Sha1::digest(&index);
        index.extend_from_slice(&own);
        Ok((self.bytes, index, digits(&sum).collect()))
    }
}

/// A number of an index, which has a bit to say that another one is meant.
fn short(number: usize) -> Result<u32, ObjectsError> {
    let fits = u32::try_from(number).ok().filter(|number| number >> 31 == 0);
    fits.ok_or_else(|| ObjectsError::Other("a pack would be larger than an index can tell".to_owned()))
}

#[cfg(test)]
mod tests {
    use git2::Repository;

    use super::*;

    /// Objects of sizes around those at which the head of one has another byte, alike and unlike themselves.
    fn objects() -> Vec<Waiting> {
        let sizes = [0, 1, 15, 16, 2047, 2048, 70_000, 300_000];
        let bytes = |size: usize, unlike: bool| -> Vec<u8> {
            let mut state = 7_u32;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                u8::try_from(state >> 24).unwrap()
            };
            (0..size).map(|_| if unlike { next() } else { b'a' }).collect()
        };
        let all = sizes.into_iter().flat_map(|size| [bytes(size, false), bytes(size, true)]);
        let kinds = [ObjectType::Blob, ObjectType::Tree, ObjectType::Commit];
        let mut seen = BTreeSet::new();
        let object = |(bytes, kind): (Vec<u8>, ObjectType)| (name_of(kind, &bytes).unwrap(), kind, bytes);
        all.zip(kinds.into_iter().cycle()).map(object).filter(|(id, ..)| seen.insert(*id)).collect()
    }

    #[test]
    fn libgit2_makes_the_same_names_and_the_same_index() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let mut pack = Pack::of(objects().len()).unwrap();
        for (id, kind, bytes) in objects() {
            assert_eq!(id, Oid::hash_object(kind, &bytes).unwrap());
            pack.add(id, kind, &bytes).unwrap();
        }
        let (bytes, index, name) = pack.close().unwrap();
        let odb = repository.odb().unwrap();
        let mut writer = odb.packwriter().unwrap();
        writer.write_all(&bytes).unwrap();
        writer.commit().unwrap();
        let theirs = fs::read(folder.path().join(format!("objects/pack/pack-{name}.idx"))).unwrap();
        assert!(index == theirs);
    }

    #[test]
    fn what_is_packed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let (packs, odb) = (Packs::new(folder.path()), repository.odb().unwrap());
        // Twice: what is there already, and what waits already, is not packed again.
        for _ in 0..2 {
            for (id, kind, bytes) in objects().into_iter().chain(objects()) {
                assert_eq!(packs.add(&odb, kind, bytes).unwrap(), id);
            }
            packs.write().unwrap();
        }
        for (id, kind, bytes) in objects() {
            let read = odb.read(id).unwrap();
            assert!((read.kind(), read.data()) == (kind, &*bytes), "{kind:?} of {} bytes", bytes.len());
        }
        let files = fs::read_dir(folder.path().join("objects/pack")).unwrap();
        let mut endings: Vec<_> = files.map(|file| file.unwrap().path().extension().unwrap().to_owned()).collect();
        endings.sort();
        assert_eq!(endings, ["idx", "pack"]);
    }
}
