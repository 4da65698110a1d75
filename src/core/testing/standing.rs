//! A region's folders, for tests: it counts what is asked of it.

extern crate std;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cell::Cell;
use core::convert::Infallible;

use crate::layout::manifest::Manifest;
use crate::name::ObjectKey;
use crate::region::history::{History, Past};
use crate::region::odd::Odd;
use crate::region::published::{Files, Proved, Unread};
use crate::region::standing::Standing;

/// Files that stand there, the last that pouch published. As for a directory, each hand-over is over.
pub(crate) struct Stands<'f> {
    files: &'f Files,
    is_proved: bool,
    pub(crate) is_read: Cell<bool>,
    pub(crate) is_past_asked: Cell<bool>,
}

impl<'f> Stands<'f> {
    /// Files of which nothing is known.
    pub(crate) fn new(files: &'f Files) -> Self {
        Self { files, is_proved: false, is_read: Cell::new(false), is_past_asked: Cell::new(false) }
    }

    /// Files that the history proves.
    pub(crate) fn proved(files: &'f Files) -> Self {
        Self { is_proved: true, ..Self::new(files) }
    }
}

impl Standing for Stands<'_> {
    type Error = Infallible;

    fn proved(&self) -> Option<Proved<'_>> {
        self.is_proved.then(|| proved(self.files))
    }

    fn read(&self) -> Result<(Files, Odd), Infallible> {
        self.is_read.set(true);
        Ok((self.files.clone(), Odd::default()))
    }

    fn is_last(&self) -> Result<bool, Infallible> {
        Ok(true)
    }

    fn history(&self) -> Result<History, Infallible> {
        Ok(History::default())
    }

    fn past(&self, _: &Manifest) -> Result<Vec<Past>, Infallible> {
        self.is_past_asked.set(true);
        Ok(Vec::new())
    }

    fn over(&self, last: &Manifest) -> Result<BTreeSet<ObjectKey>, Infallible> {
        Ok(last.handed_over().cloned().collect())
    }
}

/// The part of a region's files that is read where the history proves the others.
fn proved(files: &Files) -> Proved<'static> {
    let is_read = |path: &str| path.ends_with(".sops.yaml");
    let read = files.iter().filter(|(path, _)| is_read(path)).map(|(path, bytes)| (path.clone(), bytes.clone()));
    let (mut unread, mut manifest) = (BTreeSet::new(), None);
    for (path, bytes) in files.iter().filter(|(path, _)| !is_read(path)) {
        match path.ends_with("/bundle.yaml") {
            true => {
                let stood: Box<dyn Unread> = Box::new(Stood(bytes.clone()));
                manifest = Some(stood);
            }
            false => _ = unread.insert(path.clone()),
        }
    }
    Proved { files: read.collect(), unread, manifest }
}

/// A manifest that stands there.
struct Stood(Vec<u8>);

impl Unread for Stood {
    fn holds(&self, bytes: &[u8]) -> bool {
        self.0 == bytes
    }

    fn read(&self) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}
