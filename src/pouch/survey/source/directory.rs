//! A folder, or one file, as a source.
//!
//! The walk goes by file descriptors and never through a link, so that swapping a folder for a link while it is
//! read leads nowhere else. Special files are told by their type before anything is opened: opening a FIFO
//! waits for a writer, opening a device can do anything.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use pouch_core::config::FileGlobs;
use pouch_core::finding::{Code, Finding};
use pouch_core::name::SourceName;
use pouch_core::yaml::alike::Reader;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, openat, statat};
use rustix::io::Errno;

use super::again::Files;
use super::beneath::{FOLDER, Opened, Trouble, open_beneath, words};
use super::budget::{self, Found};
use super::build;
use super::document::{self, Form, Text};
use super::indexer::Indexer;
use super::means::Means;
use super::reading::{Filter, Given, MOST_OF_FILE, Reading, SourceError, folder_of, none_counts, whole};
use crate::error::said;
use crate::git::objects::{self, MOST_DEPTH};

/// How many files one task reads; its documents share their keys.
const FILES_PER_TASK: usize = 32;

/// Reads all documents of the files that count below `path`.
pub(super) fn read(
    source: &SourceName,
    path: &str,
    files: &FileGlobs,
    given: &Given<'_>,
) -> Result<Reading, SourceError> {
    let typed = given.base.join(path);
    let shown = tidy(&typed);
    let unreachable = |error: std::io::Error| unreachable(source, &shown, &error);
    let real = std::fs::canonicalize(&typed).map_err(unreachable)?;
    let kind = std::fs::metadata(&real).map_err(unreachable)?;
    let folder = if kind.is_dir() { Some(&*real) } else { real.parent().filter(|_| kind.is_file()) };
    let Some(folder) = folder else {
        let help = "Give a folder or a plain file; for a stream, use a stdin source.";
        return Err(SourceError::new(source, format!("{shown} is neither a folder nor a plain file"), help));
    };
    let root = openat(CWD, folder, FOLDER, Mode::empty()).map_err(|errno| unreachable(errno.into()))?;
    let opened = Opened::new(root, given.skip);
    let (means, indexer) = (given.means, given.indexer);
    let mut place = Place { source, means, indexer, opened, real: folder, shown: &shown };
    if let (true, Some(name)) = (kind.is_file(), real.file_name()) {
        // The file was named, so no glob and no skipping applies.
        place.opened.skip_nothing();
        let found = vec![Found { at: PathBuf::from(name), shown: Arc::from(&*shown) }];
        let reading = place.read(&found).below(folder_of(&shown));
        return Ok(place.kept(reading, found));
    }
    let mut walk = Walk::new(&place, Filter::new(files));
    walk.look_at_work_tree();
    walk.folders();
    let Walk { mut reading, files, links, passed_over, .. } = walk;
    reading.tell_other_paths(source, place.top());
    if files.is_empty() && links.is_empty() && passed_over > 0 {
        reading.lacks(none_counts(source, place.top(), passed_over));
    }
    let found = settle(&place, files, links);
    reading.absorb(place.read(&found));
    let reading = reading.below(place.below());
    Ok(place.kept(reading, found))
}

/// Says that a source's folder cannot be read.
fn unreachable(source: &SourceName, shown: &str, error: &std::io::Error) -> SourceError {
    let help = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "Check its permissions: this user may not read it.",
        _ => "Correct the path; it is relative to the configuration.",
    };
    let message = match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no folder or file {shown}"),
        _ => format!("{shown} cannot be read: {}", said(error)),
    };
    SourceError::new(source, message, help)
}

/// Builds the kustomization in the folder at `path`, of files of the work tree around it.
pub(super) fn build(source: &SourceName, path: &str, relabel: bool, given: &Given<'_>) -> Result<Reading, SourceError> {
    let typed = given.base.join(path);
    let shown = tidy(&typed);
    let mut tree = build::Folder::around(&typed, given.skip).map_err(|error| unreachable(source, &shown, &error))?;
    let below = tree.below.clone();
    let show = |path: &str| beside(&shown, &below, path);
    build::read(&build::Wanted { source, folder: &below, show: &show, relabel }, &mut tree, given)
}

/// A path of a tree as the user would type it who typed `shown` for the folder at `below`.
pub(super) fn beside(shown: &str, below: &str, path: &str) -> String {
    let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (from, to) = (names(below), names(path));
    let same = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let mut told = PathBuf::from(shown);
    for _ in from.iter().skip(same) {
        if !matches!(told.components().next_back(), Some(Component::Normal(_))) || !told.pop() {
            told.push("..");
        }
    }
    told.extend(to.iter().skip(same));
    text_of(&told)
}

/// Where a source's files are.
struct Place<'a> {
    source: &'a SourceName,
    means: Means<'a>,
    indexer: Option<&'a Indexer<'a>>,
    opened: Opened,
    real: &'a Path,
    shown: &'a str,
}

/// Files with documents that were put aside, sorted by the names that they are shown by.
struct Kept {
    opened: Opened,
    files: Vec<(Arc<str>, PathBuf)>,
}

impl Files for Kept {
    fn parts(&self, path: &str, parts: &[Range<u32>]) -> Result<Vec<Vec<u8>>, String> {
        let at = self.files.binary_search_by(|(shown, _)| (**shown).cmp(path)).ok();
        let (_, at) = at.and_then(|at| self.files.get(at)).ok_or("was not indexed")?;
        let missed = |error: std::io::Error| format!("cannot be read again: {}", said(&error));
        let (file, _) = self.opened.file(at).map_err(|trouble| match trouble {
            Trouble::Skipped => "was swapped for one of pouch's own".to_owned(),
            Trouble::Refused(why) => why,
            Trouble::Missed(why) => format!("cannot be read again: {why}"),
        })?;
        let part = |range: &Range<u32>| {
            let mut bytes = vec![0; usize::try_from(range.end.saturating_sub(range.start)).unwrap_or_default()];
            file.read_exact_at(&mut bytes, range.start.into()).map_err(missed)?;
            Ok(bytes)
        };
        parts.iter().map(part).collect()
    }
}

/// A walk through the folders of a source.
struct Walk<'a> {
    place: &'a Place<'a>,
    filter: Filter<'a>,
    reading: Reading,
    files: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    submodules: BTreeSet<String>,
    seen: usize,
    passed_over: usize,
}

impl<'a> Walk<'a> {
    fn new(place: &'a Place<'a>, filter: Filter<'a>) -> Self {
        Self {
            place,
            filter,
            reading: Reading::nothing(),
            files: BTreeSet::new(),
            links: BTreeMap::new(),
            submodules: BTreeSet::new(),
            seen: 0,
            passed_over: 0,
        }
    }

    /// Asks git which files of its tree are not in the folder: those are absent from the folder only.
    fn look_at_work_tree(&mut self) {
        let tree = objects::work_tree(self.place.real);
        let left_out = tree.left_out.iter().filter(|path| self.counts(path)).count();
        if left_out > 0 || tree.unknown {
            let message = format!("{} is in a sparse git checkout, which leaves files of it out", self.place.top());
            let help = "Run git sparse-checkout disable, or read the repository as a git source.";
            let finding = Finding::new(Code::UnreadableFile, message).at(&whole(self.place.source));
            self.reading.lacks(finding.help(help));
        }
        self.submodules = tree.submodules.into_iter().collect();
    }

    fn counts(&self, path: &str) -> bool {
        path.split('/').all(|name| self.filter.name(name)) && self.filter.file(path)
    }

    fn folders(&mut self) {
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop().filter(|_| !self.place.means.time.is_over()) {
            match self.folder(&folder, &mut folders) {
                Err(errno) => self.miss(&folder, &words(errno)),
                Ok(()) if self.seen == 0 && folder.as_os_str().is_empty() => {
                    let message = format!("{} is empty, which proves nothing", self.place.top());
                    let help = "Check whether something should be mounted there. If the folder is meant to be empty, \
                                put a file .gitkeep into it.";
                    let finding = Finding::new(Code::UnreadableFile, message).at(&whole(self.place.source));
                    self.reading.lacks(finding.help(help));
                }
                Ok(()) => {}
            }
            let most = self.place.means.most_entries();
            if self.seen > most {
                let message = format!("{} holds more than {most} files and folders", self.place.top());
                let finding = Finding::new(Code::RefusedFile, message).at(&whole(self.place.source));
                return self.reading.lacks(finding.help("Name a folder further down, or exclude folders."));
            }
        }
    }

    fn folder(&mut self, folder: &Path, folders: &mut Vec<PathBuf>) -> Result<(), Errno> {
        let time = self.place.means.time;
        let opened = open_beneath(self.place.opened.root(), folder, FOLDER)?;
        let opened = File::from(opened);
        let itself = opened.metadata().map_err(|_| Errno::IO)?;
        if !folder.as_os_str().is_empty() && self.place.opened.is_skipped(&itself) {
            return Ok(());
        }
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            self.seen += 1;
            if self.seen > self.place.means.most_entries() {
                return Ok(());
            }
            let path = folder.join(name);
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(errno) => {
                        self.miss(&path, &words(errno));
                        continue;
                    }
                },
                known => known,
            };
            if self.filter.name(&name.to_string_lossy()) {
                let entry = || self.entry(path, kind, folders);
                if time.spend(entry).is_none() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, kind: FileType, folders: &mut Vec<PathBuf>) {
        let text = text_of(&path);
        match kind {
            FileType::Directory if !self.filter.folder(&text) => {}
            FileType::Directory if self.submodules.contains(&*text) => {
                let help = "Make the submodule a source of its own, or exclude it.";
                self.refuse(&path, "is a git submodule", help);
            }
            FileType::Directory if path.components().count() > MOST_DEPTH => {
                self.refuse(&path, &format!("lies more than {MOST_DEPTH} folders deep"), "Exclude it.");
            }
            FileType::Directory => folders.push(path),
            FileType::Symlink => self.link(path, &text),
            FileType::RegularFile if !self.filter.file(&text) => self.passed_over += 1,
            _ if !self.filter.file(&text) => {}
            FileType::RegularFile => {
                self.files.insert(path);
            }
            _ => self.refuse(&path, "is no plain file (a FIFO, socket or device)", "Remove or exclude it."),
        }
    }

    /// A link to a file inside counts as that file. Links to folders are refused even there: they
    /// make loops, and what they hold is read where it is.
    fn link(&mut self, path: PathBuf, text: &str) {
        let target = match std::fs::canonicalize(self.place.real.join(&path)) {
            Ok(target) => target,
            Err(_) if !self.filter.file(text) => return,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.miss(&path, "the symlink leads nowhere"),
            Err(error) => return self.miss(&path, &format!("the symlink cannot be followed: {}", said(&error))),
        };
        let kind = std::fs::metadata(&target);
        let is_folder = kind.as_ref().is_ok_and(Metadata::is_dir);
        let counts = if is_folder { self.filter.folder(text) } else { self.filter.file(text) };
        match target.strip_prefix(self.place.real) {
            _ if !counts => {}
            Err(_) => {
                self.refuse(&path, "is a symlink that leads out of the source", "Copy what it names, or exclude it.")
            }
            Ok(_) if is_folder => self.refuse(&path, "is a symlink to a folder", "Exclude it, or put a folder there."),
            Ok(inside) if kind.is_ok_and(|kind| kind.is_file()) => {
                let inside = inside.to_owned();
                self.links.insert(path, inside);
            }
            Ok(_) => self.refuse(&path, "is a symlink to no plain file", "Remove or exclude it."),
        }
    }

    fn refuse(&mut self, path: &Path, why: &str, help: &str) {
        self.reading.refuse(self.place.source, &self.place.show(path), why, help);
        self.reading.keep_first(MOST_OF_FILE);
    }

    fn miss(&mut self, path: &Path, why: &str) {
        let help = "Check that this user can read it, or exclude it.";
        self.reading.miss(self.place.source, &self.place.show(path), why, help);
        self.reading.keep_first(MOST_OF_FILE);
    }
}

/// All files that count, sorted by path; a file that links lead to as well is read once.
fn settle(place: &Place<'_>, files: BTreeSet<PathBuf>, links: BTreeMap<PathBuf, PathBuf>) -> Vec<Found<PathBuf>> {
    let mut opened = files.clone();
    let mut found: Vec<(PathBuf, PathBuf)> = files.into_iter().map(|path| (path.clone(), path)).collect();
    found.extend(links.into_iter().filter(|(_, target)| opened.insert(target.clone())));
    found.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    let shown = |(path, at): (PathBuf, PathBuf)| Found { shown: Arc::from(place.show(&path)), at };
    found.into_iter().map(shown).collect()
}

impl Place<'_> {
    fn top(&self) -> &str {
        if self.shown.is_empty() { "." } else { self.shown }
    }

    fn show(&self, path: &Path) -> String {
        match text_of(path) {
            path if path.is_empty() => self.shown.to_owned(),
            path => self.below() + &path,
        }
    }

    /// The beginning of the paths of all that stands in it.
    fn below(&self) -> String {
        match self.shown {
            "" | "/" => self.shown.to_owned(),
            top => format!("{top}/"),
        }
    }

    /// Reads files, each by its path from the root without links.
    fn read(&self, found: &[Found<PathBuf>]) -> Reading {
        budget::read((self.source, self.means), found, FILES_PER_TASK, |files, meter| {
            let mut reading = Reading::nothing();
            let mut reader = Reader::new();
            let mut read = |file: &Found<PathBuf>| match self.opened.bytes(&file.at, meter.means().most_of_file()) {
                Ok(bytes) => {
                    let text = Text::new((self.source, &file.shown), (Form::of(&file.shown), &bytes), meter);
                    reading.absorb(document::read(&text.indexed(self.indexer), &mut reader));
                }
                Err(Trouble::Skipped) => {}
                Err(Trouble::Refused(why)) => {
                    reading.refuse(self.source, &file.shown, &why, meter.means().help_of_large_file());
                }
                Err(Trouble::Missed(why)) => {
                    let help = "Check that this user can read it and that nothing writes to it meanwhile.";
                    reading.miss(self.source, &file.shown, &why, help);
                }
            };
            _ = files.iter().try_for_each(|file| meter.means().time.spend(|| read(file)));
            reading
        })
    }

    /// The reading, with the files that hold the rest.
    fn kept(self, mut reading: Reading, found: Vec<Found<PathBuf>>) -> Reading {
        let paths = reading.again();
        let found = found.into_iter().filter(|file| paths.contains(&*file.shown));
        let mut files: Vec<(Arc<str>, PathBuf)> = found.map(|Found { shown, at }| (shown, at)).collect();
        files.sort();
        reading.file(Kept { opened: self.opened, files });
        reading
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A path without `.` between its names; the empty one stays empty.
pub(super) fn tidy(path: &Path) -> String {
    let kept: PathBuf = path.components().filter(|c| !matches!(c, Component::CurDir)).collect();
    text_of(&kept)
}

#[cfg(test)]
mod tests;
