//! A branch of a repository as a shelf.
//!
//! The branch's tip is fetched into a repository of its own, everything is written there as objects,
//! and one push with a lease moves the branch from exactly the commit that was read to the new one. A
//! run that loses against another one starts over from the sources: rebasing would publish an older reading
//! on top of a newer one. Against somebody who changed nothing of what runs read and write, it goes on from his commit.

mod follow;
mod local;
mod outcome;
mod past;
mod proposal;
pub mod stamp;
mod tree;
pub mod turn;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use pouch_core::layout::form::{Form, MOST_BYTES};
use pouch_core::layout::manifest::Manifest;
use pouch_core::layout::path::{self, BundlePath, TOPS};
use pouch_core::name::{Directory, FleetName, ObjectKey, Region};
use pouch_core::region::history::{History, Past};
use pouch_core::region::odd::Odd;
use pouch_core::region::published::{Files, Proved, Published, Unread};
use pouch_core::reuse::KeyRing;
use pouch_core::stamp::Stamp;
use pouch_core::verify::bundles::Above;

pub use self::local::Local;
use self::outcome::{Move, Push};
pub use self::outcome::{Pushed, Watch};
use self::proposal::Proposal;
pub use self::proposal::Step;
use self::tree::{damaged, list_into, read_into, read_sealed_into};
use super::beside::{Beside, Listed, beside, form_of, further_up};
use super::target::{Target, clean};
use super::{HistoryQuery, Look, NewFile, NewFiles, Shelf, ShelfError, folders};
use crate::git::commits::{Author, Changes, Commit, FileId, Seal, Writer};
use crate::git::objects::{self, Budget, Id, Kind, ObjectsError, Store};
use crate::stop::Stop;

/// A branch that holds bundles.
pub struct BranchShelf {
    local: Arc<Local>,
    target: Target,
    /// What is proposed already, where that was looked at.
    proposal: Option<Proposal>,
    /// The output's path in the tree, without a slash at either end; may be empty.
    prefix: String,
    inner: Mutex<Inner>,
}

struct Inner {
    store: Store,
    tip: Option<Id>,
    writer: Writer,
    changes: Changes,
    lineage: past::Lineage,
    /// The stamp, if it was read.
    noted: Stamp,
}

impl BranchShelf {
    /// Opens a target's branch as it was fetched; `output` is the folder of the bundles.
    ///
    /// # Errors
    /// Where its tip cannot be read, or something else than folders leads to the output.
    pub fn open(local: &Arc<Local>, target: &Target, output: &str) -> Result<Self, ShelfError> {
        let store = objects::open(local.path()).map_err(damaged)?;
        let base = local.tip(&target.base_reference());
        let tip = base.map(|reference| store.commit(reference)).transpose().map_err(damaged)?;
        let writer = Writer::open(local.path(), base).map_err(damaged)?;
        let prefix = clean(output);
        if let Some(tip) = tip {
            check_way(&store, tip, &prefix)?;
        }
        let inner = Inner {
            store,
            tip,
            writer,
            changes: Changes::default(),
            lineage: past::Lineage::default(),
            noted: Stamp::default(),
        };
        let (local, target) = (local.clone(), target.clone());
        Ok(Self { local, target, proposal: None, prefix, inner: Mutex::new(inner) })
    }

    /// The same place as it is now, with the branch at this commit, or where it was read.
    ///
    /// # Errors
    /// As [`BranchShelf::open`].
    pub fn again_at(&self, commit: Option<&str>) -> Result<Self, ShelfError> {
        let shelf = Self::open(&self.local, &self.target, &self.prefix)?;
        shelf.with(|inner| {
            if let Some(commit) = commit {
                inner.tip = Some(inner.store.commit(commit).map_err(damaged)?);
            }
            Ok(())
        })?;
        Ok(shelf)
    }

    /// Looks at what is proposed already.
    ///
    /// # Errors
    /// Where the tip of the branch cannot be read.
    pub fn with_proposal(mut self, fleet: &FleetName, keys: &KeyRing) -> Result<Self, ShelfError> {
        if let Some(reference) = self.local.tip(&self.target.reference()).filter(|_| self.target.proposes()) {
            let of = |inner: &mut Inner| {
                let repository = (self.local.path(), &inner.store);
                Proposal::of(repository, (reference, &self.target, &self.prefix), (fleet, keys)).map_err(damaged)
            };
            let proposal = self.with(of)?;
            self.proposal = proposal;
        }
        Ok(self)
    }

    /// Whether pouch itself proposes something already.
    pub fn is_proposed(&self) -> bool {
        self.proposal.as_ref().is_some_and(|proposal| proposal.is_own)
    }

    /// The commit that the branch is at, if there is one, and the repository that it was fetched to.
    pub fn tip(&self) -> Result<(Option<String>, &Path), ShelfError> {
        self.with(|inner| Ok((inner.writer.base(), self.local.path())))
    }

    /// The branch whose history goes on, and the output's path in it, as a commit proves them.
    pub fn place(&self) -> (&str, &str) {
        (&self.target.base, &self.prefix)
    }

    /// Whether there is such a branch.
    pub fn is_there(&self) -> Result<bool, ShelfError> {
        self.with(|inner| Ok(inner.tip.is_some()))
    }

    /// Whether an object could not be read that should be there.
    pub fn is_damaged(&self) -> bool {
        self.with(|inner| Ok(inner.store.is_damaged())).unwrap_or_default()
    }

    /// Clears away what is kept of the repository; says whether something was.
    pub fn forget_kept(&self) -> bool {
        self.local.forget_kept()
    }

    fn below(&self, path: &str) -> String {
        if self.prefix.is_empty() { path.to_owned() } else { format!("{}/{path}", self.prefix) }
    }

    /// The commit that made a region's folders what they are now; none where nothing stands there, or where that was longer
    /// ago than anybody looks.
    ///
    /// # Errors
    /// Where the history cannot be fetched or read.
    pub fn since(&self, directory: &Directory) -> Result<Option<String>, ShelfError> {
        self.ask(|lineage, fetched| lineage.since(fetched, directory))
    }

    /// Asks the history something; without a commit there is nothing to say.
    fn ask<T: Default>(
        &self,
        ask: impl FnOnce(&mut past::Lineage, &past::Fetched<'_>) -> Result<T, ShelfError>,
    ) -> Result<T, ShelfError> {
        self.with(|inner| {
            let Some(tip) = inner.tip else { return Ok(T::default()) };
            let reference = self.target.base_reference();
            let fetched = past::Fetched {
                git: &self.local.git,
                remote: &self.local.remote,
                reference: &reference,
                branch: &self.target.base,
                folder: self.local.path(),
                store: &inner.store,
                tip,
                prefix: &self.prefix,
                is_merged_into: self.target.proposes(),
            };
            ask(&mut inner.lineage, &fetched)
        })
    }

    /// The files in a region's folders in the tip, by path in the output.
    fn files_of(&self, inner: &Inner, directory: &Directory) -> Result<BTreeMap<String, Id>, ShelfError> {
        let mut found = BTreeMap::new();
        for folder in folders(directory) {
            if let Standing::Folder(id) = standing_at(inner, &self.below(&folder))? {
                list_into(&inner.store, id, &folder, &mut found)?;
            }
        }
        Ok(found)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> Result<T, ShelfError>) -> Result<T, ShelfError> {
        match self.inner.lock() {
            Ok(mut inner) => work(&mut inner),
            Err(_) => Err(ShelfError::Git("another part of the run failed".to_owned())),
        }
    }

    /// Makes a commit of what was staged and has it signed, where something is to be pushed. `sign` gives the commit to
    /// publish in place of the one in a repository.
    ///
    /// # Errors
    /// Where an object cannot be written, the commit cannot be signed, or the branch has commits of somebody else.
    pub fn commit(
        &self,
        people: (&Author<'_>, &Author<'_>),
        (message, seal): (&str, Seal<'_>),
        sign: &dyn Fn(&Path, String) -> Result<String, ShelfError>,
    ) -> Result<Step, ShelfError> {
        let (commit, base) = self.with(|inner| {
            let Inner { writer, changes, .. } = inner;
            Ok((writer.commit(changes, people, (message, seal)).map_err(unwritten)?, writer.base()))
        })?;
        let step = |commit: Commit| Ok(Step::Push(sign(self.local.path(), commit.id)?));
        match (commit, &self.proposal) {
            (None, None) => Ok(Step::Nothing),
            (None, Some(proposal)) if self.may_go(proposal)? => Ok(Step::Remove),
            (None, Some(proposal)) => Ok(Step::Stays(proposal.id.to_string())),
            (Some(commit), Some(proposal)) if proposal.is(&commit.tree, &base.unwrap_or_default()) => {
                Ok(Step::Stands(proposal.id.to_string()))
            }
            (Some(commit), Some(proposal)) if self.may_go(proposal)? => step(commit),
            (Some(_), Some(proposal)) => {
                Err(ShelfError::Theirs { branch: self.target.pushed(), commit: proposal.id.to_string() })
            }
            (Some(commit), None) => step(commit),
        }
    }

    /// Returns true if nothing of others is lost where a proposal goes: pouch made it, or the base has it; and it is at a
    /// branch of its own, not at a name for another one.
    fn may_go(&self, proposal: &Proposal) -> Result<bool, ShelfError> {
        if self.local.is_symbolic(&self.target.reference()) {
            return Ok(false);
        }
        if proposal.is_own {
            return Ok(true);
        }
        let id = proposal.id.to_string();
        Ok(self.ask(|lineage, fetched| lineage.has(fetched, &id))? == Some(true))
    }

    /// Whether anything is proposed, by whomever.
    pub fn has_proposal(&self) -> bool {
        self.proposal.is_some()
    }

    /// Pushes a commit, or removes the branch, and with it moves the stamp if there is a new one, with a lease on what was
    /// read. `options` are for the server. `stop` is told when nothing may end the run any more. Where the stamp is in the
    /// way and the branch is not, the branch is moved alone, and it is said why; a stamp that another run moved makes this
    /// one lose, unless the attempt is the last.
    ///
    /// # Errors
    /// Where the push fails for another reason than a faster writer, or the run was asked to stop before it.
    pub fn push(
        &self,
        (commit, stamp): (Option<&str>, Option<&str>),
        (options, is_last): (&[String], bool),
        (watch, stop): (&Watch<'_>, &Stop),
    ) -> Result<(Pushed, Option<String>), ShelfError> {
        let proposal = self.proposal.as_ref().map(|proposal| proposal.id.to_string());
        let from = if self.target.proposes() { proposal } else { self.with(|inner| Ok(inner.writer.base()))? };
        let reference = self.target.reference();
        let moved = Move { reference: &reference, from: from.as_deref(), to: commit };
        let Local { git, remote, .. } = &*self.local;
        let push = Push { git, folder: self.local.path(), remote, branch: moved, beside: &[], options };
        let (pushed, refused) = match stamp.and_then(|stamp| self.stamp_move(stamp)) {
            None => (outcome::push(&push, watch, stop)?, None),
            Some(Err(why)) => (outcome::push(&push, watch, stop)?, Some(why)),
            Some(Ok(beside)) => match outcome::push(&Push { beside: &[beside], ..push }, watch, stop) {
                Ok(Pushed::Moved) => (Pushed::Moved, None),
                Ok(Pushed::Lost) => match self.way(&moved, &beside)? {
                    Way::Lost => (Pushed::Lost, None),
                    Way::Moved if !is_last => (Pushed::Lost, None),
                    Way::Moved => (outcome::push(&push, watch, stop)?, Some("another run moves it".to_owned())),
                    Way::Free => (outcome::push(&push, watch, stop)?, Some(HIDDEN.to_owned())),
                },
                Ok(Pushed::Contended(why) | Pushed::Aside(why)) | Err(ShelfError::Git(why)) => {
                    stop.resume();
                    (outcome::push(&push, watch, stop)?, Some(why))
                }
                Err(error) => return Err(error),
            },
        };
        if pushed == Pushed::Moved {
            commit.into_iter().for_each(|commit| self.local.keep(&reference, commit));
            self.keep_stamp(stamp.filter(|_| refused.is_none()));
        }
        Ok((pushed, refused))
    }

    /// What a push with a stamp lost against.
    fn way(&self, branch: &Move<'_>, stamp: &Move<'_>) -> Result<Way, ShelfError> {
        let references = [branch.reference.to_owned(), stamp.reference.to_owned()];
        let Local { git, remote, .. } = &*self.local;
        let found = outcome::tips_of(git, remote, &references).map(|tips| tips.found).map_err(|error| {
            ShelfError::Unreachable {
                message: format!("the output repository cannot be reached: {error}"),
                help: error.help(remote),
            }
        })?;
        let at = |one: &Move<'_>| found.iter().find(|(name, _)| name == one.reference).map(|(_, id)| id.as_str());
        Ok(match (at(branch) == branch.from, at(stamp) == stamp.from) {
            (false, _) => Way::Lost,
            (true, false) => Way::Moved,
            (true, true) => Way::Free,
        })
    }

    /// Pushes the commit of a stamp alone.
    ///
    /// # Errors
    /// As [`BranchShelf::push`].
    pub fn push_stamp(&self, stamp: &str, watch: &Watch<'_>, stop: &Stop) -> Result<Pushed, ShelfError> {
        let moved = match self.stamp_move(stamp) {
            None => return Ok(Pushed::Moved),
            Some(Err(why)) => return Ok(Pushed::Contended(why)),
            Some(Ok(moved)) => moved,
        };
        let Local { git, remote, .. } = &*self.local;
        let push = Push { git, folder: self.local.path(), remote, branch: moved, beside: &[], options: &[] };
        let pushed = outcome::push(&push, watch, stop)?;
        match pushed {
            Pushed::Moved => self.keep_stamp(Some(stamp)),
            // No other run made this one lose.
            Pushed::Lost if matches!(self.way(&moved, &moved)?, Way::Free) => {
                return Ok(Pushed::Contended(HIDDEN.to_owned()));
            }
            _ => {}
        }
        Ok(pushed)
    }

    /// The move of the stamp; the reason against it, where what stands there is none of pouch's.
    fn stamp_move<'a>(&'a self, to: &'a str) -> Option<Result<Move<'a>, String>> {
        let reference = self.target.stamp.as_deref()?;
        if self.local.is_symbolic(reference) {
            return Some(Err(format!(
                "{reference} only names another reference, which stays as it is; remove that name"
            )));
        }
        Some(Ok(Move { reference, from: self.local.id(reference), to: Some(to) }))
    }

    fn keep_stamp(&self, stamp: Option<&str>) {
        if let (Some(reference), Some(commit)) = (&self.target.stamp, stamp) {
            self.local.keep(reference, commit);
        }
    }
}

/// Why a stamp cannot be moved that nobody else moved.
const HIDDEN: &str = "the server does not show it where it takes it to be";

/// What a push of a branch and a stamp lost against.
enum Way {
    /// The branch was moved.
    Lost,
    /// The stamp was moved.
    Moved,
    /// Neither was, as far as can be seen.
    Free,
}

/// Refuses an output behind a link or a file: nothing below would be what it seems.
fn check_way(store: &Store, tip: Id, prefix: &str) -> Result<(), ShelfError> {
    let ends = prefix.match_indices('/').map(|(end, _)| prefix.split_at(end).0);
    let output = Some(prefix).filter(|prefix| !prefix.is_empty());
    for path in ends.chain(output) {
        match store.at(tip, path) {
            Ok(entry) if entry.kind == Kind::Folder => {}
            Ok(_) => return Err(ShelfError::NotPlain(path.to_owned())),
            Err(ObjectsError::NoPath(_)) => {}
            Err(error) => return Err(damaged(error)),
        }
    }
    Ok(())
}

fn unwritten(error: ObjectsError) -> ShelfError {
    ShelfError::Git(format!("the commit cannot be made: {error}"))
}

/// A file of the branch.
struct Blob<'s> {
    shelf: &'s BranchShelf,
    id: Id,
}

impl Unread for Blob<'_> {
    fn holds(&self, bytes: &[u8]) -> bool {
        FileId::of(self.id).holds(bytes)
    }

    fn read(&self) -> Option<Vec<u8>> {
        self.shelf.with(|inner| inner.store.blob(self.id, MOST_BYTES).map_err(damaged)).ok()
    }
}

impl Look for BranchShelf {
    fn regions(&self) -> Result<BTreeSet<String>, ShelfError> {
        self.with(|inner| {
            let Standing::Folder(top) = standing_at(inner, &self.below("regions"))? else { return Ok(BTreeSet::new()) };
            let entries = inner.store.entries(top).map_err(damaged)?;
            Ok(entries.into_iter().filter(|(_, mode, _)| mode.is_none()).map(|(name, ..)| name).collect())
        })
    }

    fn manifest(&self, folder: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        let path = self.below(&format!("regions/{folder}/bundle.yaml"));
        self.with(|inner| {
            let entry = inner.tip.and_then(|tip| inner.store.at(tip, &path).ok());
            let file = entry.filter(|entry| entry.kind == Kind::File);
            Ok(file.and_then(|entry| inner.store.blob(entry.id, MOST_BYTES).ok()))
        })
    }

    fn read(&self, directory: &Directory) -> Result<(Files, Odd), ShelfError> {
        let (mut files, mut odd) = (Files::new(), Odd::default());
        self.with(|inner| {
            let mut budget = Budget::default();
            for (top, folder) in TOPS.into_iter().zip(folders(directory)) {
                match standing_at(inner, &self.below(top)) {
                    Ok(Standing::Other(form)) => _ = odd.tops.insert(top, form),
                    Ok(Standing::Nothing) => {}
                    Ok(Standing::Folder(_)) => {
                        let read = match standing_at(inner, &self.below(&folder)) {
                            Ok(Standing::Nothing) => Ok(()),
                            Ok(Standing::Other(form)) => {
                                odd.forms.insert(folder, form);
                                Ok(())
                            }
                            Ok(Standing::Folder(id)) => {
                                read_into(&inner.store, id, &folder, &mut budget, (&mut files, &mut odd.forms))
                            }
                            Err(error) => Err(error),
                        };
                        odd.unread = odd.unread.take().or(read.err().map(|error| error.to_string()));
                    }
                    Err(error) => odd.unread = Some(error.to_string()),
                }
            }
            Ok(())
        })?;
        Ok(if odd.unread.is_some() { (Files::new(), odd) } else { (files, odd) })
    }

    fn proved(&self, directory: &Directory, asked: &HistoryQuery<'_>) -> Option<Proved<'_>> {
        self.ask(|lineage, fetched| lineage.is_proved(fetched, directory, asked)).ok().filter(|proved| *proved)?;
        let read = |inner: &mut Inner| {
            let mut proved = Proved { files: Files::new(), unread: BTreeSet::new(), manifest: None };
            let (manifest, mut id_of_manifest) = (path::manifest(directory), None);
            for (top, folder) in TOPS.into_iter().zip(folders(directory)) {
                let is_plain = match (standing_at(inner, &self.below(top))?, standing_at(inner, &self.below(&folder))?)
                {
                    (Standing::Folder(_), Standing::Folder(id)) => {
                        let manifest = (manifest.as_str(), &mut id_of_manifest);
                        read_sealed_into(&inner.store, id, &folder, &mut proved, manifest).map_err(damaged)?
                    }
                    (Standing::Folder(_) | Standing::Nothing, Standing::Nothing) => true,
                    _ => false,
                };
                if !is_plain {
                    return Ok(None);
                }
            }
            proved.manifest = id_of_manifest.map(|id| -> Box<dyn Unread> { Box::new(Blob { shelf: self, id }) });
            Ok(Some(proved))
        };
        self.with(read).ok().flatten()
    }

    /// What a commit holds never changes.
    fn still_holds(&self, _: &Directory, _: (&Files, &Odd)) -> Result<bool, ShelfError> {
        Ok(true)
    }

    fn beside(&self, known: &BTreeSet<&Directory>) -> Result<Beside, ShelfError> {
        self.with(|inner| {
            let Some(tip) = inner.tip else { return Ok(Beside::default()) };
            let shown = format!("{}:{}", self.target.base, self.below(""));
            let above = further_up(&self.prefix).into_iter().filter_map(|(name, path, way)| {
                let shown = format!("{}:{path}", self.target.base);
                let entry = inner.store.at(tip, &path).ok()?;
                match entry.kind {
                    Kind::Link => Above::link(name, shown, way),
                    Kind::File => Some(Above { name, shown, way, bytes: inner.store.blob(entry.id, MOST_BYTES).ok()? }),
                    Kind::Folder | Kind::Submodule => None,
                }
            });
            let above = above.collect();
            match standing_at(inner, &self.prefix) {
                Ok(Standing::Folder(root)) => Ok(beside(&inner.store, &root, known, above, shown)),
                _ => Ok(Beside::default()),
            }
        })
    }

    fn shared_differs(&self, path: &str, bytes: &[u8]) -> Result<bool, ShelfError> {
        self.with(|inner| {
            if !self.takes_shared(inner, path)? {
                return Ok(false);
            }
            Ok(self.standing_file(inner, path)?.is_none_or(|now| now != bytes))
        })
    }

    fn shared(&self, path: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        self.with(|inner| self.standing_file(inner, path))
    }

    fn history(&self, directory: &Directory, asked: &HistoryQuery<'_>) -> Result<History, ShelfError> {
        let history = self.ask(|lineage, fetched| lineage.history(fetched, directory, asked))?;
        let noted = self.with(|inner| Ok(inner.noted.recipients(directory)))?;
        Ok(History { noted, ..history })
    }

    fn is_last(&self, directory: &Directory, asked: &HistoryQuery<'_>) -> Result<bool, ShelfError> {
        // Without a commit nothing stands there.
        Ok(!self.ask(|lineage, fetched| Ok(!lineage.is_last(fetched, directory, asked)?))?)
    }

    fn past(&self, directory: &Directory, asked: &HistoryQuery<'_>, now: &Manifest) -> Result<Vec<Past>, ShelfError> {
        self.ask(|lineage, fetched| lineage.past(fetched, directory, asked, now))
    }

    fn over(
        &self,
        directory: &Directory,
        asked: &HistoryQuery<'_>,
        now: &Manifest,
    ) -> Result<BTreeSet<ObjectKey>, ShelfError> {
        self.ask(|lineage, fetched| lineage.over(fetched, directory, asked, now))
    }

    fn is_withdrawn(&self, directory: &Directory, fleet: &FleetName, keys: &KeyRing) -> Result<bool, ShelfError> {
        // The newest commit of pouch's own is enough, whenever it was made, and nothing was accepted for the region.
        let region = &Region::from(directory.as_str());
        let asked = HistoryQuery { fleet, region, keys, since: i64::MAX, whole: false, is_retired: false };
        Ok(self.ask(|lineage, fetched| lineage.is_withdrawn(fetched, directory, &asked))?
            || self.is_moved_back(fleet, keys)?)
    }
}

impl BranchShelf {
    /// Whether a file of the whole fleet has its place at a path: what is no file, or no folder above it, stays.
    fn standing_file(&self, inner: &Inner, path: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        let path = self.below(path);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let Standing::Folder(folder) = standing_at(inner, folder)? else { return Ok(None) };
        let mut standing = inner.store.list(&folder).into_iter();
        // What is executable is healed.
        let plain = standing.find(|(known, form, _)| known == name && *form == Some(Form::Plain));
        Ok(plain.and_then(|(_, _, id)| inner.store.bytes(&id, MOST_BYTES)))
    }

    fn takes_shared(&self, inner: &Inner, path: &str) -> Result<bool, ShelfError> {
        if let Some((top, _)) = path.split_once('/')
            && let Standing::Other(_) = standing_at(inner, &self.below(top))?
        {
            return Ok(false);
        }
        Ok(matches!(standing_at(inner, &self.below(path))?, Standing::Nothing | Standing::Other(Form::Plain)))
    }
}

impl Listed for Store {
    type Id = Id;

    fn list(&self, folder: &Id) -> Vec<(String, Option<Form>, Id)> {
        let entries = self.entries(*folder).unwrap_or_default();
        entries.into_iter().map(|(name, mode, id)| (name, mode.map(form_of), id)).collect()
    }

    fn bytes(&self, file: &Id, most: u64) -> Option<Vec<u8>> {
        self.blob(*file, most).ok()
    }
}

impl Shelf for BranchShelf {
    fn stage(&self, directory: &Directory, files: NewFiles, published: &Published) -> Result<(), ShelfError> {
        let (writer, standing) =
            self.with(|inner| Ok((inner.writer.files().map_err(unwritten)?, self.files_of(inner, directory)?)))?;
        let mut new: BTreeMap<&str, BTreeMap<String, FileId>> = BTreeMap::new();
        let folders = folders(directory);
        for (path, file) in files {
            let inside = |folder: &String| path.as_str().strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
            let Some((folder, rest)) = folders.iter().find_map(|folder| Some((folder, inside(folder)?))) else {
                continue;
            };
            let id = match file {
                NewFile::Bytes(bytes) => writer.file(bytes).map_err(unwritten)?,
                NewFile::Kept(from) => match standing.get(from.as_str()) {
                    Some(id) => FileId::of(*id),
                    None => return Err(ShelfError::Git(format!("{from} is to stay and is not there"))),
                },
            };
            new.entry(folder).or_default().insert(rest, id);
        }
        for folder in &folders {
            let id = new.remove(folder.as_str()).map(|files| writer.folder(&files)).transpose().map_err(unwritten)?;
            // Where nothing of the region is and nothing was, somebody else's may stand on the way.
            if id.is_some() || published.stands_in(folder) {
                let over = published.odd.forms.contains_key(folder);
                self.with(|inner| {
                    inner.changes.folder(&self.below(folder), id, over);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn proposed(&self, path: &BundlePath) -> Option<Vec<u8>> {
        let proposal = self.proposal.as_ref().filter(|proposal| proposal.is_own)?;
        let path = self.below(path.as_str());
        let read = self.with(|inner| {
            // What cannot be read is made anew.
            let file = inner.store.at(proposal.id, &path).ok().filter(|entry| entry.kind == Kind::File);
            Ok(file.and_then(|entry| inner.store.blob(entry.id, MOST_BYTES).ok()))
        });
        read.ok().flatten()
    }

    fn stage_shared(&self, path: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        self.with(|inner| {
            if self.takes_shared(inner, path)? {
                // What would not change the tree makes no commit.
                let id = inner.writer.files().and_then(|files| files.file(bytes.to_vec())).map_err(unwritten)?;
                inner.changes.file(&self.below(path), id);
            }
            Ok(())
        })
    }

    fn stage_removal(&self, path: &str) -> Result<(), ShelfError> {
        self.with(|inner| {
            inner.changes.folder(&self.below(path), None, true);
            Ok(())
        })
    }
}

/// What stands at a path of the tip.
enum Standing {
    Nothing,
    Folder(Id),
    Other(Form),
}

fn standing_at(inner: &Inner, path: &str) -> Result<Standing, ShelfError> {
    let Some(tip) = inner.tip else { return Ok(Standing::Nothing) };
    match inner.store.at(tip, path) {
        Ok(entry) => Ok(match entry.kind {
            Kind::Folder => Standing::Folder(entry.id),
            Kind::File => Standing::Other(Form::Plain),
            Kind::Link => Standing::Other(Form::Link),
            Kind::Submodule => Standing::Other(Form::Submodule),
        }),
        Err(ObjectsError::NoPath(_)) => Ok(Standing::Nothing),
        Err(error) => Err(damaged(error)),
    }
}
