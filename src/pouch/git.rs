//! Git: the only place that names git2 or runs `git`.
//!
//! [`objects`] reads repositories that are on this machine; [`program`] does what needs the network,
//! because the user's ssh, credential helpers and proxies work there. This page fetches.

mod address;
pub mod ancestors;
pub mod authors;
mod below;
pub mod commits;
pub mod descent;
mod header;
pub mod history;
pub mod ignored;
pub mod kept;
pub mod objects;
mod pack;
pub mod program;
pub mod sign;
pub mod signers;
mod words;

use std::path::Path;

pub use self::address::{Address, address, full, identity, is_commit_id, is_reference, is_revision, short};
use self::kept::Kept;
use self::objects::ObjectsError;
use crate::error::said;

/// The reference under which [`fetch`] stores what it fetched.
pub const FETCHED: &str = "refs/pouch/fetched";

/// Options of every fetch: nothing but what is asked for, and a word now and then of how far it is.
const OPTIONS: [&str; 4] = ["--progress", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"];

/// The option of a fetch that leaves all files out. A server that cannot do so sends them.
const WITHOUT_FILES: &str = "--filter=blob:none";

/// The number of objects that one run of git is asked for: their ids are arguments, whose length systems bound.
const MOST_IDS: usize = 8192;

/// Fetches one reference or commit of a remote repository, without its history, into a new bare repository. Objects
/// that are kept are not fetched again.
///
/// # Errors
/// As [`program::Git::run`].
pub fn fetch(
    git: &program::Git,
    remote: &str,
    named: &str,
    into: &Path,
    kept: Option<&Kept>,
) -> Result<(), program::GitError> {
    fetch_below(git, remote, named, "", into, kept)
}

/// Fetches the same with all of its folders, but of its files only those at `path`, which is empty for all of them.
///
/// # Errors
/// As [`program::Git::run`]. It may fail where [`fetch`] does not: a server may refuse to leave files out, or to send those.
pub fn fetch_below(
    git: &program::Git,
    remote: &str,
    named: &str,
    path: &str,
    into: &Path,
    kept: Option<&Kept>,
) -> Result<(), program::GitError> {
    let reference = &*full(named);
    // Git asks for nothing by itself that was left out, whatever a server sends.
    let git = &git.clone().seeing("GIT_NO_LAZY_FETCH", "1");
    git.make(into)?;
    let is_here = |kept: &Kept| is_commit_id(reference) && borrow(into, reference, (reference, FETCHED), kept);
    if kept.is_some_and(is_here) {
        return Ok(());
    }
    fetch_made(git, remote, reference, path, into, kept)
}

fn fetch_made(
    git: &program::Git,
    remote: &str,
    reference: &str,
    path: &str,
    into: &Path,
    kept: Option<&Kept>,
) -> Result<(), program::GitError> {
    let Some(kept) = kept else { return fetch_into(git, remote, reference, path, into) };
    let is_lent = kept.lend(into);
    match fetch_into(git, remote, reference, path, into) {
        // It may be for what was lent. Where it works without, it was.
        Err(program::GitError::Failed { .. }) if is_lent => {
            Kept::take_back(into);
            fetch_into(git, remote, reference, path, into)?;
            kept.clear();
        }
        done => done?,
    }
    if let Ok(id) = objects::open(into).and_then(|store| store.commit(FETCHED)) {
        kept.keep(git, into, reference, &id.to_string());
    }
    Ok(())
}

/// The reference under which [`fetch_tips`] stores what it fetched, by its number.
pub fn fetched(number: usize) -> String {
    format!("{FETCHED}-{number}")
}

/// Fetches several references of a remote repository, given with the commits that they stand at, as [`fetch`] does one:
/// each becomes [`fetched`] of its number.
///
/// # Errors
/// As [`program::Git::run`].
pub fn fetch_tips(
    git: &program::Git,
    remote: &str,
    tips: &[(String, String)],
    into: &Path,
    kept: Option<&Kept>,
) -> Result<(), program::GitError> {
    git.make(into)?;
    let wanted = || (0..).map(fetched).zip(tips).map(|(name, (reference, id))| (name, reference.as_str(), id.as_str()));
    // Lent once for all of them: there may be a branch for each region.
    let is_lent = kept.is_some_and(|kept| kept.lend(into));
    let lent = objects::open(into).ok();
    let is_kept = |(name, reference, id): &(String, &str, &str)| {
        let is_there = || lent.as_ref().is_some_and(|store| store.commit(id).is_ok());
        let is_known = kept.and_then(|kept| kept.tip(reference)).is_some_and(|tip| tip == *id);
        is_known && is_there() && std::fs::write(into.join(name), format!("{id}\n")).is_ok()
    };
    let missing: Vec<(String, &str, &str)> = wanted().filter(|one| !is_kept(one)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    match fetch_all(git, remote, &missing, into) {
        // It may be for what was lent. Where it works without, it was.
        Err(program::GitError::Failed { .. }) if is_lent => {
            Kept::take_back(into);
            fetch_all(git, remote, &wanted().collect::<Vec<_>>(), into)?;
            kept.into_iter().for_each(Kept::clear);
        }
        done => done?,
    }
    let Some((kept, store)) = kept.zip(objects::open(into).ok()) else { return Ok(()) };
    for (name, reference, _) in wanted() {
        if let Ok(id) = store.commit(&name) {
            kept.keep(git, into, reference, &id.to_string());
        }
    }
    Ok(())
}

/// Fetches references by one run of git.
fn fetch_all(
    git: &program::Git,
    remote: &str,
    wanted: &[(String, &str, &str)],
    into: &Path,
) -> Result<(), program::GitError> {
    let shallow: Vec<&str> = OPTIONS.into_iter().chain(["--depth=1"]).collect();
    let specs: Vec<String> = wanted.iter().map(|(name, reference, _)| format!("+{reference}:{name}")).collect();
    let operands: Vec<&std::ffi::OsStr> =
        std::iter::once(remote).chain(specs.iter().map(String::as_str)).map(std::ffi::OsStr::new).collect();
    match git.run(Some(into), "fetch", &shallow, &operands) {
        Err(error @ program::GitError::Failed { .. }) => git.expects_git(remote).and(Err(error)),
        Err(error) => Err(error),
        Ok(_) => {
            let head = fetch_head(into)?;
            match wanted.iter().find(|(_, reference, _)| !head.lines().any(|line| address::is_fetched(reference, line)))
            {
                Some((_, reference, _)) => Err(missing(reference)),
                None => Ok(()),
            }
        }
    }
}

/// Makes a reference in a new repository a commit that stood at a remote one and is kept, all of it. Says whether it is.
fn borrow(into: &Path, reference: &str, (id, name): (&str, &str), kept: &Kept) -> bool {
    if kept.tip(reference).is_none_or(|tip| tip != id) {
        return false;
    }
    _ = kept.lend(into);
    let is_there = objects::open(into).and_then(|store| store.commit(id)).is_ok();
    // Half a reference would be in a fetch's way.
    is_there
        && std::fs::write(into.join(name), format!("{id}\n"))
            .or_else(|error| std::fs::remove_file(into.join(name)).and(Err(error)))
            .is_ok()
}

/// What git says of a reference that is not there.
fn missing(reference: &str) -> program::GitError {
    program::GitError::Failed { command: "fetch".to_owned(), words: format!("couldn't find remote ref {reference}") }
}

fn fetch_into(
    git: &program::Git,
    remote: &str,
    reference: &str,
    path: &str,
    into: &Path,
) -> Result<(), program::GitError> {
    let one = format!("+{reference}:{FETCHED}");
    let without_files = (!path.is_empty()).then_some(WITHOUT_FILES);
    let shallow: Vec<&str> = OPTIONS.into_iter().chain(["--depth=1"]).chain(without_files).collect();
    match git.run(Some(into), "fetch", &shallow, &[remote.as_ref(), one.as_ref()]) {
        // Not every server gives a commit by its id: fetch all branches and tags, and look for it there. Such a one gives no
        // file by its id either.
        Err(program::GitError::Failed { .. }) if is_commit_id(reference) && path.is_empty() => {
            let everything = ["+refs/heads/*:refs/pouch/heads/*", "+refs/tags/*:refs/pouch/tags/*"];
            let operands: Vec<&std::ffi::OsStr> =
                std::iter::once(remote).chain(everything).map(std::ffi::OsStr::new).collect();
            git.run(Some(into), "fetch", &OPTIONS, &operands)?;
            let commit = format!("{reference}^{{commit}}");
            git.run(Some(into), "update-ref", &[], &[FETCHED.as_ref(), commit.as_ref()])?;
        }
        Ok(_) if !is_commit_id(reference) && !address::is_fetched(reference, &fetch_head(into)?) => {
            return Err(missing(reference));
        }
        Err(error @ program::GitError::Failed { .. }) => return git.expects_git(remote).and(Err(error)),
        done => _ = done?,
    }
    // What cannot be read is told where it is read.
    if let Ok(Err(ObjectsError::NoCommit(_))) = objects::open(into).map(|store| store.commit(FETCHED)) {
        return Err(program::GitError::NoCommit(reference.to_owned()));
    }
    match path {
        "" => Ok(()),
        path => fetch_left_out(git, remote, path, into),
    }
}

/// Fetches the files at a path of what was fetched, as far as they were left out.
fn fetch_left_out(git: &program::Git, remote: &str, path: &str, into: &Path) -> Result<(), program::GitError> {
    let left_out = objects::open(into).and_then(|store| below::left_out(&store, FETCHED, path));
    let failed = |trouble: objects::ObjectsError| program::GitError::Failed {
        command: "fetch".to_owned(),
        words: trouble.to_string(),
    };
    let ids: Vec<String> = left_out.map_err(failed)?.iter().map(ToString::to_string).collect();
    // What is there is told to no server, which would take it for all that belongs to it.
    let git = git.clone().with("fetch.negotiationAlgorithm=noop");
    let options: Vec<&str> = OPTIONS.into_iter().chain(["--no-write-fetch-head", WITHOUT_FILES]).collect();
    for some in ids.chunks(MOST_IDS) {
        let operands: Vec<&std::ffi::OsStr> =
            std::iter::once(remote).chain(some.iter().map(String::as_str)).map(std::ffi::OsStr::new).collect();
        git.run(Some(into), "fetch", &options, &operands)?;
    }
    Ok(())
}

/// What git notes of the references that it fetched.
fn fetch_head(repository: &Path) -> Result<String, program::GitError> {
    match std::fs::read_to_string(repository.join("FETCH_HEAD")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| program::GitError::Unheard { command: "fetch".to_owned(), why: said(&error) }),
    }
}

/// The commit at a reference of a remote repository; none where there is none, or nobody answers.
pub fn tip(git: &program::Git, remote: &str, reference: &str) -> Option<String> {
    let peeled = format!("{reference}^{{}}");
    let operands = [remote.as_ref(), reference.as_ref(), peeled.as_ref()];
    let out = git.run(None, "ls-remote", &["--quiet"], &operands).ok()?;
    let text = String::from_utf8_lossy(&out);
    let at = |name: &str| text.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix('\t'));
    // Of a tag that is an object, git tells the commit beside it.
    at(&peeled).or(at(reference)).filter(|id| is_commit_id(id)).map(str::to_owned)
}

/// Fetches further commits of a branch into a repository that [`fetch`] made.
///
/// # Errors
/// As [`program::Git::run`].
pub fn deepen(
    git: &program::Git,
    remote: &str,
    reference: &str,
    into: &Path,
    by: usize,
) -> Result<(), program::GitError> {
    // The branch may have moved since; what was fetched first stays where it is.
    fetch_more(git, (remote, reference), into, (&format!("--deepen={by}"), &format!("{FETCHED}-history")))
}

/// Where [`fetch_on`] puts what it fetched.
pub const FETCHED_ON: &str = "refs/pouch/fetched-on";

/// How many commits of others are looked at that came on top: below a merge there may be a whole history.
pub const MOST_ON: usize = 32;

/// Fetches what came to a branch since, into a repository that has what it was at, to [`FETCHED_ON`]: [`MOST_ON`] commits
/// deep.
///
/// # Errors
/// As [`program::Git::run`].
pub fn fetch_on(git: &program::Git, remote: &str, reference: &str, into: &Path) -> Result<(), program::GitError> {
    fetch_more(git, (remote, reference), into, (&format!("--depth={MOST_ON}"), FETCHED_ON))
}

fn fetch_more(
    git: &program::Git,
    (remote, reference): (&str, &str),
    into: &Path,
    (how, at): (&str, &str),
) -> Result<(), program::GitError> {
    let options: Vec<&str> = OPTIONS.into_iter().chain(["--no-write-fetch-head", how]).collect();
    let one = format!("+{reference}:{at}");
    git.run(Some(into), "fetch", &options, &[remote.as_ref(), one.as_ref()]).map(|_| ())
}

/// Fetches a remote repository with all its references and its whole history into a new bare repository.
pub fn mirror(git: &program::Git, remote: &str, into: &Path) -> Result<(), program::GitError> {
    // No template: its hooks would see the environment.
    let options = ["--mirror", "--progress", "--template=", "--no-recurse-submodules"];
    git.run(None, "clone", &options, &[remote.as_ref(), into.as_os_str()]).map(|_| ())
}

/// The branches that a remote repository has, by short names, and its tags, by full ones, for messages; none if it
/// does not say.
pub fn branches_and_tags(git: &program::Git, remote: &str) -> Vec<String> {
    let Ok(out) = git.run(None, "ls-remote", &["--heads", "--tags", "--refs", "--quiet"], &[remote.as_ref()]) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&out);
    let name = |line: &str| line.split('\t').nth(1).map(|name| short(name).to_owned());
    text.lines().filter_map(name).collect()
}
