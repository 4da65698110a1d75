//! Rounds: every place is read, then the sources, and then one commit is made and pushed for each place.
//!
//! Each place is published to by itself: what fails at one stops no other. Where another writer was faster, the next
//! round begins with the place and reads the sources again, because rebasing would publish an older reading on top of a
//! newer one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use pouch_core::reuse::{KeyRing, Made, commit_line};
use pouch_core::stamp::{SourceStamp, Stamp};
use tracing::field::Empty;
use tracing::info_span;

use super::branch::stamp::Stamped;
use super::branch::{BranchShelf, Pushed, Step, Watch};
use super::output::Output;
use super::target::Target;
use super::turn::turn;
use super::turns::Turns;
use crate::error::Failure;
use crate::git::commits::Author;
use crate::harden;
use crate::session::Session;

/// How often a run loses before it asks for its turn.
const LOSSES: usize = 2;

/// How often an attempt goes on from where somebody else moved the branch.
const FOLLOWED: usize = 16;

/// By how much another clock may be ahead, in seconds.
const A_DAY: i64 = 24 * 3600;

/// What a run does for the places that it publishes to.
pub trait Work {
    /// What is read for all of them.
    type Read;
    /// What is told of one of them.
    type Made;

    /// Looks whether a place may be published to at all, before anything else is read.
    ///
    /// # Errors
    /// Where it may not.
    fn check(&self, target: &Target, shelf: &BranchShelf) -> Result<(), Failure>;

    /// What the run comes to where it would read what an earlier one read that changed nothing, by the place's stamp and
    /// what is standing there; none if it has to read.
    fn again(&self, _last: &Stamp, _standing: &str) -> Option<Self::Made> {
        None
    }

    /// Reads what is published at these places, and of no source an older state than one of the stamps says.
    ///
    /// # Errors
    /// Where nothing can be published anywhere.
    fn read(&self, stamps: Vec<Stamp>, places: &[(&Target, &BranchShelf)]) -> Result<Self::Read, Failure>;

    /// Stages what belongs to a place, and gives the message of its commit; `published` is what was read for the last one.
    ///
    /// # Errors
    /// Where nothing can be published there.
    fn make(
        &self,
        place: (&Target, &BranchShelf),
        published: &[SourceStamp],
        read: &Self::Read,
    ) -> Result<(Self::Made, String), Failure>;

    /// What [`Work::make`] would make, without staging or sealing anything.
    ///
    /// # Errors
    /// Where nothing could be published there.
    fn look(&self, target: &Target, shelf: &BranchShelf, read: &Self::Read) -> Result<Self::Made, Failure>;

    /// The stamp that the next run is to find, if this one read anything. `standing` is what stands at the place if
    /// nothing changed, and the next run may be spared.
    ///
    /// # Errors
    /// Where it cannot be made.
    fn stamp(&self, made: &Self::Made, read: &Self::Read, standing: Option<String>) -> Result<Option<Stamp>, Failure>;
}

/// What was made for a place, the message of its commit, and what was done at its branch; or why nothing was done, or
/// nobody knows whether something was.
pub type Went<T> = Result<(T, String, Step), Failure>;

/// What became of a place.
pub struct Done<'t, T> {
    /// The place.
    pub target: &'t Target,
    /// What came of it.
    pub result: Went<T>,
    /// What stands there now, where nothing failed.
    pub stands: Option<Stands>,
}

/// A place as it was read, and the commit that the branch of its regions was moved to since.
pub struct Stands(BranchShelf, Option<String>);

impl Stands {
    /// What regions follow there now, to look at.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn look(&self) -> Result<BranchShelf, Failure> {
        Ok(self.0.again_at(self.1.as_deref())?)
    }
}

/// A place that is read.
struct Open<'t> {
    target: &'t Target,
    shelf: BranchShelf,
    last: Stamped,
}

/// A place with what is to be published there.
struct Ready<'t, T> {
    open: Open<'t>,
    made: T,
    message: String,
    step: Step,
    /// What is to be noted, but for the commit.
    noted: Option<Stamp>,
    /// The commit of a new stamp.
    stamp: Option<String>,
}

impl Output<'_> {
    /// Publishes to every place. Where everything can be read `once` only, a place that another writer was faster at is
    /// not tried again. Gives what became of each, in their order.
    pub fn publish<W: Work>(&self, session: &Session, keys: &KeyRing, once: bool, work: &W) -> Vec<Done<'_, W::Made>> {
        let attempts = if once { 1 } else { self.fleet.limits.attempts };
        let mut rounds = Rounds::new(self, session, keys, work, (attempts, self.wait));
        let (mut turns, mut waiting) = (Vec::new(), Vec::new());
        for target in self.targets() {
            match turn(session, (&target.remote, &target.branch), &target.pushed(), self.wait) {
                Ok(turn) => {
                    turns.push(turn);
                    waiting.push(target);
                }
                Err(failure) => rounds.fail(target, failure),
            }
        }
        for attempt in 0..attempts {
            if waiting.is_empty() {
                break;
            }
            waiting = rounds.round(attempt, waiting);
            rounds.turns.give_back(&waiting);
        }
        rounds.turns.give_back(&[]);
        for target in waiting {
            rounds.fail(
                target,
                Failure::lost(
                    format!("other writers were faster, {attempts} of {attempts} times; nothing is published"),
                    "Run pouch again, and let one job at a time publish to this branch.",
                ),
            );
        }
        rounds.finish()
    }

    /// Works out what [`Output::publish`] would do at every place, and does nothing at any.
    pub fn preview<W: Work>(&self, session: &Session, keys: &KeyRing, work: &W) -> Vec<Done<'_, W::Made>> {
        let mut rounds = Rounds::new(self, session, keys, work, (1, Duration::ZERO));
        let (opened, read) = rounds.read(&self.targets().iter().collect::<Vec<_>>());
        for mut open in opened {
            let (target, Some(read)) = (open.target, &read) else { continue };
            let made = rounds.whole(&mut open, |shelf| work.look(target, shelf, read));
            let made = made.map(|made| (made, String::new(), Step::Nothing));
            rounds.done.insert(key(target), made);
        }
        rounds.finish()
    }
}

/// What tells places apart: repository and branch.
type Key<'t> = (&'t str, &'t str);

fn key(target: &Target) -> Key<'_> {
    (&target.remote, &target.branch)
}

struct Rounds<'t, 'w, W: Work> {
    output: &'t Output<'t>,
    session: &'w Session,
    keys: &'w KeyRing,
    work: &'w W,
    attempts: usize,
    done: BTreeMap<Key<'t>, Went<W::Made>>,
    stands: BTreeMap<Key<'t>, Stands>,
    turns: Turns<'w>,
}

impl<'t: 'w, 'w, W: Work> Rounds<'t, 'w, W> {
    /// So many `attempts` at most, of which none waits for other machines for longer than `patience`.
    fn new(
        output: &'t Output<'t>,
        session: &'w Session,
        keys: &'w KeyRing,
        work: &'w W,
        (attempts, patience): (usize, Duration),
    ) -> Self {
        let turns = Turns::new(output, session, patience);
        Self { output, session, keys, work, attempts, done: BTreeMap::new(), stands: BTreeMap::new(), turns }
    }

    fn fail(&mut self, target: &'t Target, failure: Failure) {
        self.done.insert(key(target), Err(failure));
    }

    /// Notes what became of a place.
    fn is_done(&mut self, ready: Ready<'t, W::Made>) {
        let Ready { open, made, message, step, .. } = ready;
        let commit = match &step {
            Step::Push(commit) if !open.target.proposes() => Some(commit.clone()),
            _ => None,
        };
        self.stands.insert(key(open.target), Stands(open.shelf, commit));
        self.done.insert(key(open.target), Ok((made, message, step)));
    }

    /// Takes what went well further, and notes what did not.
    fn went<T>(&mut self, target: &'t Target, result: Result<T, Failure>) -> Option<T> {
        result.map_err(|failure| self.fail(target, failure)).ok()
    }

    /// Tries once; gives those at which another writer was faster.
    fn round(&mut self, attempt: usize, waiting: Vec<&'t Target>) -> Vec<&'t Target> {
        if attempt > 0
            && let Err(failure) = self.pause(attempt)
        {
            waiting.into_iter().for_each(|target| self.fail(target, failure.clone()));
            return Vec::new();
        }
        if attempt >= LOSSES {
            waiting.iter().for_each(|target| self.turns.take(target));
        }
        let (opened, Some(read)) = self.read(&waiting) else { return Vec::new() };
        let mut ready = Vec::new();
        for open in opened {
            let target = open.target;
            let made = self.make(open, &read);
            ready.extend(self.went(target, made));
        }
        drop(read);
        ready.into_iter().filter_map(|ready| self.push(attempt, ready)).collect()
    }

    /// What became of each place, in their order.
    fn finish(mut self) -> Vec<Done<'t, W::Made>> {
        let all = self.output.targets().iter();
        let results = all.map(|target| (target, self.done.remove(&key(target)), self.stands.remove(&key(target))));
        results.filter_map(|(target, result, stands)| Some(Done { target, result: result?, stands })).collect()
    }

    /// Opens the places and reads the sources, unless one of both fails or nothing has to be read.
    fn read(&mut self, waiting: &[&'t Target]) -> (Vec<Open<'t>>, Option<W::Read>) {
        // The branches before the sources: whoever publishes a newer reading in between makes this run lose.
        let mut opened = self.open(waiting);
        if opened.is_empty() {
            return (opened, None);
        }
        if let [only] = &*opened
            && let Some(made) = self.again(only)
        {
            self.done.insert(key(only.target), Ok((made, String::new(), Step::Nothing)));
            let stands = |open: Open<'t>| (key(open.target), Stands(open.shelf, None));
            self.stands.extend(opened.pop().map(stands));
            return (Vec::new(), None);
        }
        let stamps = opened.iter().flat_map(|open| open.last.stamps().cloned()).collect();
        let places: Vec<_> = opened.iter().map(|open| (open.target, &open.shelf)).collect();
        match self.work.read(stamps, &places) {
            Ok(read) => (opened, Some(read)),
            Err(failure) => {
                opened.into_iter().for_each(|open| self.fail(open.target, failure.clone()));
                (Vec::new(), None)
            }
        }
    }

    /// What the run comes to without reading anything, where that is known.
    fn again(&self, open: &Open<'t>) -> Option<W::Made> {
        // A proposal is to be looked at: it may have to go.
        let standing = open.shelf.standing(&open.last).ok().filter(|_| !open.shelf.has_proposal())??;
        let made = self.work.again(open.last.stamp.as_ref()?, &standing)?;
        let same = "nothing changed since a run that changed nothing; what it told is told again";
        self.session.ui.detail(same);
        (!open.shelf.is_damaged()).then_some(made)
    }

    /// Waits for a moment before another attempt.
    fn pause(&self, attempt: usize) -> Result<(), Failure> {
        let Session { ambient, ui, stop, .. } = self.session;
        stop.resume();
        ui.note("another writer was faster; starting over");
        // Up to a quarter of a second more each time.
        let most = u64::try_from(attempt).unwrap_or(1).min(8).saturating_mul(250);
        Ok(stop.pause(ambient.part_of(Duration::from_millis(most))?)?)
    }

    /// Reads the places, each repository once.
    fn open(&mut self, waiting: &[&'t Target]) -> Vec<Open<'t>> {
        let mut opened = Vec::new();
        for targets in waiting.chunk_by(|one, other| one.remote == other.remote) {
            let (output, session) = (self.output, self.session);
            let fetch = || session.timed("fetch", || output.fetch(session, targets)).map_err(Failure::from);
            let mut fetched = fetch();
            while let Ok(local) = &fetched
                && targets.iter().any(|target| {
                    let seen = target.turn().and_then(|reference| local.turn(&reference));
                    self.turns.give_way(target, seen)
                })
            {
                fetched = self.turns.waiting(|_| fetch());
            }
            match fetched {
                Err(failure) => targets.iter().for_each(|target| self.fail(target, failure.clone())),
                Ok(local) => {
                    for target in targets.iter().copied() {
                        let shelf = BranchShelf::open(&local, target, &output.fleet.output.path);
                        let checked = shelf.map_err(Failure::from).and_then(|shelf| self.checked(target, shelf));
                        opened.extend(self.went(target, checked));
                    }
                }
            }
        }
        opened
    }

    fn checked(&self, target: &'t Target, shelf: BranchShelf) -> Result<Open<'t>, Failure> {
        let shelf = shelf.with_proposal(&target.fleet.name, self.keys)?;
        if target.proposes() && !shelf.is_there()? {
            return Err(Failure::usage(
                format!("there is no {}, and what is proposed is built on it", target.called()),
                "Correct output.git.base and output.git.repository, or make the branch with a first commit.",
            ));
        }
        self.output.check_tip(self.session, target, &shelf)?;
        let mut open = Open { target, shelf, last: Stamped::default() };
        open.last = self.whole(&mut open, |shelf| {
            self.work.check(target, shelf)?;
            Ok(shelf.stamped(&self.output.fleet.name, self.keys)?)
        })?;
        Ok(open)
    }

    /// Does a piece of work with a place, and where what is kept of the repository turns out to be damaged, does it again
    /// with all of it fetched.
    fn whole<T>(&self, open: &mut Open<'t>, work: impl Fn(&BranchShelf) -> Result<T, Failure>) -> Result<T, Failure> {
        let Self { output, session, .. } = self;
        let done = work(&open.shelf);
        if !open.shelf.is_damaged() || !open.shelf.forget_kept() {
            return done;
        }
        session.ui.note("what was kept of the output repository is damaged; fetching all of it");
        let local = session.timed("fetch", || output.fetch(session, &[open.target]))?;
        let shelf = BranchShelf::open(&local, open.target, &output.fleet.output.path)?;
        open.shelf = shelf.with_proposal(&output.fleet.name, self.keys)?;
        output.check_tip(session, open.target, &open.shelf)?;
        work(&open.shelf)
    }

    /// Makes the commit of a place.
    fn make(&self, mut open: Open<'t>, read: &W::Read) -> Result<Ready<'t, W::Made>, Failure> {
        let (output, target) = (self.output, open.target);
        let (made, message) = {
            let published = open.last.published().to_vec();
            self.whole(&mut open, |shelf| self.work.make((target, shelf), &published, read))?
        };
        let step = self.commit(&open, &message)?;
        // What several places have together is told of none.
        let is_told = step == Step::Nothing && output.targets().len() == 1;
        let standing = is_told.then(|| open.shelf.standing(&open.last)).transpose()?.flatten();
        let noted = self.work.stamp(&made, read, standing)?;
        let stamp = self.note(&open, &step, noted.as_ref())?;
        Ok(Ready { open, made, message, step, noted, stamp })
    }

    /// Makes the commit of what is staged at a place.
    fn commit(&self, open: &Open<'t>, message: &str) -> Result<Step, Failure> {
        let Self { output, session, keys, .. } = self;
        let (author, committer) = self.people()?;
        let (branch, path) = open.shelf.place();
        let key = keys.current().ok_or_else(|| Failure::bug("a commit is to be made without a reuse key"))?;
        let seal = |parent: &str, tree: &str, seconds: i64| {
            commit_line(key, &output.fleet.name, Made { branch, path, parent, tree, seconds }, message)
        };
        let sign = |repository: &Path, commit: String| output.sign(session, repository, &commit);
        let commit = || open.shelf.commit((&author, &committer), (message, &seal), &sign);
        Ok(session.timed("publish", commit)?)
    }

    /// Makes the commit of what is to be noted with a step.
    fn note(&self, open: &Open<'t>, step: &Step, noted: Option<&Stamp>) -> Result<Option<String>, Failure> {
        let Some(mut stamp) = noted.cloned() else { return Ok(None) };
        stamp.commit = match step {
            Step::Push(commit) if !open.target.proposes() => commit.clone(),
            // What is proposed is not published yet.
            Step::Push(_) | Step::Stands(_) => {
                stamp.recipients.clear();
                open.last.own().to_owned()
            }
            _ => open.last.own().to_owned(),
        };
        let stamp = stamp.after(open.last.stamps());
        let place = (&self.output.fleet.name, self.keys);
        Ok(open.shelf.stamp(place, (&stamp, &open.last), &self.people()?.1)?)
    }

    /// Who makes commits now, and who wrote them.
    fn people(&self) -> Result<(Author<'t>, Author<'t>), Failure> {
        let latest = self.session.ambient.now().as_second().saturating_add(A_DAY);
        Ok(self.output.people(self.session.commit_time()?.as_second(), latest))
    }

    /// Pushes what is ready, if need be on top of what others put on the branch meanwhile that is no business of pouch's;
    /// gives the place if another run was faster.
    fn push(&mut self, attempt: usize, mut ready: Ready<'t, W::Made>) -> Option<&'t Target> {
        for _ in 0..FOLLOWED {
            ready = self.push_once(attempt, ready)?;
            let target = ready.open.target;
            if let Step::Nothing | Step::Stands(_) | Step::Stays(_) | Step::Remove = ready.step {
                return Some(target);
            }
            match self.follow(&mut ready) {
                Ok(true) => self.session.ui.detail("others changed something else on the branch; going on from there"),
                Ok(false) => return Some(target),
                Err(failure) => {
                    self.fail(target, failure);
                    return None;
                }
            }
        }
        Some(ready.open.target)
    }

    /// Makes the commit anew on top of what others put on the branch, if that changes nothing that was read.
    fn follow(&self, ready: &mut Ready<'t, W::Made>) -> Result<bool, Failure> {
        let Ready { open, message, noted, .. } = ready;
        self.session.stop.check()?;
        if !open.shelf.follow((&self.output.fleet.name, self.keys))? {
            return Ok(false);
        }
        self.output.check_tip(self.session, open.target, &open.shelf)?;
        ready.step = self.commit(open, message)?;
        ready.stamp = self.note(open, &ready.step, noted.as_ref())?;
        Ok(matches!(ready.step, Step::Push(_)))
    }

    /// Does what is to be done at a branch, and moves its stamp if there is a new one; gives all of it back if another writer
    /// was faster.
    fn push_once(&mut self, attempt: usize, ready: Ready<'t, W::Made>) -> Option<Ready<'t, W::Made>> {
        let Session { ambient, stop, ui, .. } = self.session;
        let Ready { open: Open { target, shelf, .. }, step, stamp, .. } = &ready;
        // At least half of each pause, so that all of them are about as long as configured.
        let pause = |most: Duration| match ambient.part_of(most) {
            Ok(part) => stop.pause(most.saturating_add(part) / 2).is_ok(),
            Err(_) => stop.pause(most).is_ok(),
        };
        let watch = Watch { settle: Duration::from_secs(self.output.fleet.limits.git.settle.0), pause: &pause };
        let is_last = attempt + 1 >= self.attempts;
        let commit = match step {
            Step::Push(commit) => Some(commit.as_str()),
            Step::Remove => None,
            Step::Nothing | Step::Stands(_) | Step::Stays(_) => {
                let pushed = stamp
                    .as_deref()
                    .map(|stamp| self.session.timed("publish", || shelf.push_stamp(stamp, &watch, stop)));
                stop.resume();
                match pushed.transpose() {
                    // Another run noted something at the same time. Once is enough: nothing changed.
                    Ok(Some(Pushed::Lost)) if attempt == 0 && !is_last => return Some(ready),
                    Ok(Some(Pushed::Contended(why))) => ui.warn(&unstamped(&why)),
                    Ok(_) => {}
                    Err(error) => ui.warn(&unstamped(&error.to_string())),
                }
                self.is_done(ready);
                return None;
            }
        };
        let target = *target;
        let options = if target.proposes() && commit.is_some() { self.output.push_options() } else { &[] };
        let push = || shelf.push((commit, stamp.as_deref()), (options, is_last), (&watch, stop));
        let span = info_span!("push", branch = target.branch, attempt, outcome = Empty);
        let pushed = span.in_scope(|| self.session.timed("publish", push));
        let outcome = pushed.as_ref().map_or("failed", |(pushed, _)| match pushed {
            Pushed::Moved | Pushed::Aside(_) => "moved",
            Pushed::Lost | Pushed::Contended(_) => "lost",
        });
        span.record("outcome", outcome);
        match pushed {
            Ok((Pushed::Lost, _)) => return Some(ready),
            Ok((Pushed::Contended(why), _)) if is_last => {
                let help = "See what holds the branch in the repository, such as a lock that a crash left behind.";
                self.fail(target, Failure::failed(format!("the push was refused: {why}"), help));
            }
            Ok((Pushed::Contended(_), _)) => return Some(ready),
            Ok((Pushed::Moved | Pushed::Aside(_), refused)) => {
                if let Some(why) = refused {
                    ui.warn(&unstamped(&why));
                }
                if let Some(commit) = commit {
                    harden::published(format!("commit {commit} of branch {}", target.branch));
                }
                self.is_done(ready);
            }
            Err(error) => self.fail(target, error.into()),
        }
        None
    }
}

/// What is said where the stamp could not be moved.
fn unstamped(why: &str) -> String {
    format!(
        "what was read is not noted beside the branch, so that a later run on an older state of a source may go unnoticed: \
         {why}; where the server takes no such reference, set output.git.recordSourceState: false"
    )
}
