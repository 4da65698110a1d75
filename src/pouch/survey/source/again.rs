//! Again: documents whose content was put aside are read a second time, by the names of the objects in them.
//!
//! A content must be the one that was indexed, or nothing is read: what stands in its place by now could be anything.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use pouch_core::config::Fleet;
use pouch_core::json;
use pouch_core::name::ObjectKey;
use pouch_core::node::Node;
use pouch_core::object::{Object, RunKey};
use pouch_core::snapshot::{Reason, Snapshot};
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::read::Document;
use rayon::prelude::*;

use super::sealed::{PartText, SealedFile, SealedPart};
use crate::harden::wiped;
use crate::scratch::Scratch;
use crate::survey::time::Time;

/// The number of files that one task reads; their documents share their keys.
const FILES_PER_TASK: usize = 16;

/// The place of a document in the files of a source.
pub(super) struct Spot {
    pub(super) path: Arc<str>,
    /// Where its text begins and ends in the file, in bytes.
    pub(super) text: Range<u32>,
    /// True for a JSON value, false for YAML.
    pub(super) is_json: bool,
}

/// The files of a source.
pub(super) trait Files: Send + Sync {
    /// Gives parts of a file.
    ///
    /// # Errors
    /// The reason why it cannot be read, to stand behind its path.
    fn parts(&self, path: &str, parts: &[Range<u32>]) -> Result<Vec<Vec<u8>>, String>;
}

/// The contents that a source put aside.
pub struct Library {
    files: Arc<dyn Files>,
    /// The places of objects, by their numbers.
    spots: Vec<Spot>,
    /// The time that the run has for the source.
    time: Arc<Time>,
    /// The folder that was fetched for it, which goes with it.
    #[expect(dead_code, reason = "it is only dropped")]
    held: Option<Scratch>,
}

/// An object whose content was asked for: it, or why it cannot be read.
pub type Again = (ObjectKey, Result<Box<Object>, Reason>);

/// An object that is asked for, and where it stands.
type Wanted<'k> = (&'k ObjectKey, &'k Spot);

impl Library {
    /// A library of files with these objects in them, by their numbers.
    pub(super) fn new(files: impl Files + 'static, spots: Vec<Spot>) -> Self {
        Self { files: Arc::new(files), spots, time: Arc::default(), held: None }
    }

    /// The same, read again within this time.
    pub fn within(self, time: &Arc<Time>) -> Self {
        Self { time: Arc::clone(time), ..self }
    }

    /// The same, with the folder that its files are in.
    pub(super) fn holding(self, folder: Scratch) -> Self {
        Self { held: Some(folder), ..self }
    }

    /// Reads the contents of objects, as many as so many bytes of memory hold, the smallest first; `index` is the source's
    /// own. Says how many bytes they take.
    pub fn read(
        &self,
        of: (&Fleet, &Snapshot, usize),
        keys: &BTreeSet<ObjectKey>,
        memory: usize,
    ) -> (Vec<Again>, usize) {
        let (_, snapshot, index) = of;
        let spot = |key| snapshot.aside(index, key).and_then(|number| self.spots.get(number)).map(|spot| (key, spot));
        let mut wanted: Vec<Wanted<'_>> = keys.iter().filter_map(spot).collect();
        wanted.sort_by_key(|(_, spot)| spot.held());
        let mut sum = 0_usize;
        let fit = wanted.iter().take_while(|(_, spot)| {
            sum = sum.saturating_add(spot.held());
            sum <= memory
        });
        let fit = fit.count();
        let (fit, beyond) = wanted.split_at(fit);
        let taken = fit.iter().map(|(_, spot)| spot.held()).fold(0, usize::saturating_add);
        let mut files: BTreeMap<&str, Vec<Wanted<'_>>> = BTreeMap::new();
        fit.iter().for_each(|(key, spot)| files.entry(&spot.path).or_default().push((key, spot)));
        let files: Vec<(&str, Vec<Wanted<'_>>)> = files.into_iter().collect();
        let some = |files: &[(&str, Vec<Wanted<'_>>)]| {
            let mut reader = Reader::new();
            let mut again = |path: &str, wanted: &[Wanted<'_>]| {
                let read = self.time.spend(|| self.read_file(of, (path, wanted), &mut reader));
                let late = |(key, _): &Wanted<'_>| ((*key).clone(), Err(late(&self.time)));
                read.unwrap_or_else(|| wanted.iter().map(late).collect())
            };
            files.iter().flat_map(|(path, wanted)| again(path, wanted)).collect()
        };
        let read: Vec<Vec<Again>> = files.par_chunks(FILES_PER_TASK).map(|files| wiped(|| some(files))).collect();
        let no_room = |(key, spot): &Wanted<'_>| ((*key).clone(), Err(no_room(&spot.path, memory)));
        (read.into_iter().flatten().chain(beyond.iter().map(no_room)).collect(), taken)
    }

    fn read_file(
        &self,
        (fleet, snapshot, index): (&Fleet, &Snapshot, usize),
        (path, wanted): (&str, &[Wanted<'_>]),
        reader: &mut Reader,
    ) -> Vec<Again> {
        let ranges: Vec<Range<u32>> = wanted.iter().map(|(_, spot)| spot.text.clone()).collect();
        let parts = match self.files.parts(path, &ranges) {
            Ok(parts) => parts,
            Err(why) => {
                let missed = |(key, _): &Wanted<'_>| ((*key).clone(), Err(reason(path, &why)));
                return wanted.iter().map(missed).collect();
            }
        };
        let again = |((key, spot), part): (&Wanted<'_>, Vec<u8>)| {
            let changed = || reason(path, "changed after it was read");
            let read = spot.document(&part, reader).ok_or_else(changed);
            let read = read.and_then(|node| snapshot.admit_again(fleet, index, (key, node)).ok_or_else(changed));
            ((*key).clone(), read)
        };
        wanted.iter().zip(parts).map(again).collect()
    }
}

/// The texts of sealed files of a source.
pub struct Texts {
    files: Option<Arc<dyn Files>>,
    key: RunKey,
    time: Arc<Time>,
}

impl Texts {
    /// The texts of a source whose files are in a library, if any are; key and time are those of the run.
    pub fn new(library: Option<&Library>, key: &RunKey, time: &Arc<Time>) -> Self {
        let files = library.map(|library| Arc::clone(&library.files));
        Self { files, key: key.clone(), time: Arc::clone(time) }
    }

    /// The time that the run has for the source.
    pub(super) fn time(&self) -> &Time {
        &self.time
    }

    /// Drops the text of a part, if it can be read again.
    pub(super) fn put_aside(&self, part: &mut SealedPart) {
        if let PartText::Here(text, Some(at)) = &part.text {
            part.text = PartText::Aside(at.clone(), self.key.digest(text.as_bytes()));
        }
    }

    /// The texts of a file's parts.
    ///
    /// # Errors
    /// Where they cannot be read again, or are others by now.
    pub(super) fn of<'f>(&self, file: &'f SealedFile) -> Result<Vec<Cow<'f, str>>, Reason> {
        let aside = file.parts.iter().filter_map(|part| match &part.text {
            PartText::Aside(at, _) => Some(at.clone()),
            PartText::Here(..) => None,
        });
        let aside: Vec<Range<u32>> = aside.collect();
        let mut again = match &self.files {
            Some(files) if !aside.is_empty() => {
                files.parts(&file.path, &aside).map_err(|why| reason(&file.path, &why))?
            }
            _ => Vec::new(),
        }
        .into_iter();
        let mut text = |part: &'f SealedPart| match &part.text {
            PartText::Here(text, _) => Some(Cow::Borrowed(&**text)),
            PartText::Aside(_, digest) => {
                let same = again.next().filter(|bytes| self.key.digest(bytes) == *digest)?;
                String::from_utf8(same).ok().map(Cow::Owned)
            }
        };
        let changed = || reason(&file.path, "changed after it was read");
        file.parts.iter().map(|part| text(part).ok_or_else(changed)).collect()
    }
}

impl Spot {
    /// About how many bytes of memory the document takes, and what is made of it.
    fn held(&self) -> usize {
        const TIMES: usize = 3;
        const OBJECT: usize = 1000;
        let text = usize::try_from(self.text.end.saturating_sub(self.text.start)).unwrap_or(usize::MAX);
        text.saturating_mul(TIMES).saturating_add(OBJECT)
    }

    /// The document in its text, by the same doors as before.
    fn document(&self, text: &[u8], reader: &mut Reader) -> Option<Node> {
        document(std::str::from_utf8(text).ok()?, self.is_json, reader)
    }
}

/// Reads a document that was read before; none if it cannot be read now.
pub(super) fn document(text: &str, is_json: bool, reader: &mut Reader) -> Option<Node> {
    match is_json {
        true => json::read(text, &mut reader.interner).ok(),
        false => reader.read(&Document::whole(text)).ok(),
    }
}

/// Parts of what is at hand as a whole.
///
/// # Errors
/// Where it is shorter than it was.
pub(super) fn parts_of(bytes: &[u8], parts: &[Range<u32>]) -> Result<Vec<Vec<u8>>, String> {
    let part = |range: &Range<u32>| {
        let (from, to) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
        Some(bytes.get(from..to)?.to_vec())
    };
    parts.iter().map(part).collect::<Option<_>>().ok_or_else(|| "is shorter than when it was read".to_owned())
}

/// Says that what a file holds does not fit beside what else is wanted of its source.
fn no_room(path: &str, memory: usize) -> Reason {
    Reason::new(
        format!("what is needed of {path} takes more memory than there is for its source ({} MiB)", memory >> 20),
        "Give the run more memory, or raise `limits.memory`; or let the source hold less for one region.",
    )
}

/// Says that the source has no time left.
pub(super) fn late(time: &Time) -> Reason {
    Reason::new(format!("its source was read no further: {}", time.over()), Time::HELP)
}

fn reason(path: &str, why: &str) -> Reason {
    Reason::new(
        format!("{path} {why}"),
        "Run pouch again; if it happens often, see what writes this file all the time.",
    )
}

#[cfg(test)]
mod tests;
