//! A repository on this machine whose history is looked at, fetched where it is elsewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pouch_core::config::{Fleet, OutputGit, RegionConfig};
use pouch_core::name::Directory;

use crate::error::Failure;
use crate::git::objects::{self, ObjectsError};
use crate::git::program::{Wanting, git};
use crate::git::{self, Address, history};
use crate::scratch::{NoScratch, Scratch};
use crate::session::Session;
use crate::settings::Opened;

/// A repository on this machine, for as long as it is looked at.
pub struct Repository {
    /// Where it is.
    pub path: PathBuf,
    /// What messages call it.
    pub called: String,
    /// Removed in the end: what was fetched.
    pub fetched: Option<Scratch>,
}

/// How `pouch exposure` is told which repository is meant.
pub const EXPOSURE: &str = "pouch exposure PATH|URL";

/// How `pouch log` is told that.
pub const LOG: &str = "pouch log --repo PATH|URL";

/// Finds the repository that was typed, or that the configuration publishes to, or else the one around the current
/// folder. `how` is the command that names another one, and `region` the folder of the only region that matters, if one
/// does.
pub fn find(
    session: &Session,
    typed: Option<&str>,
    opened: Option<&Opened>,
    (how, region): (&str, Option<&Directory>),
) -> Result<Repository, Failure> {
    let ambient = &session.ambient;
    let written = opened.and_then(|opened| Some((opened, opened.settings.fleet.output.git.as_ref()?)));
    let (named, base) = match (typed, written) {
        (Some(typed), _) => (typed.to_owned(), ambient.cwd()),
        (None, Some((opened, git))) => {
            (only(&opened.settings.fleet, git, (how, region))?, opened.settings.base.as_path())
        }
        (None, None) => {
            let around = opened.map_or(ambient.cwd(), |opened| &opened.settings.base);
            let path = history::find(around)?;
            return Ok(Repository { called: around.display().to_string(), path, fetched: None });
        }
    };
    let refused =
        |why: String| Failure::usage(format!("the repository {why}"), "Give a local path, or a URL with https or ssh.");
    let called = git::identity(&named);
    match git::address(&named).map_err(refused)? {
        // What the configuration names is no mistake of the command line.
        Address::Local(path) if typed.is_none() && is_missing(&base.join(&path)) => Err(Failure::unavailable(
            format!("the output repository {called} is not there"),
            format!("Check that output.git.repository is right, or name a repository: `{how}`."),
        )),
        Address::Local(path) => Ok(Repository { path: base.join(path), called, fetched: None }),
        Address::Remote(url) => fetched(session, &url, called),
    }
}

/// The repository that all regions are published to, or the one that matters.
fn only(fleet: &Fleet, git: &OutputGit, (how, region): (&str, Option<&Directory>)) -> Result<String, Failure> {
    let place = |region: &RegionConfig| git.place(&region.directory).repository;
    if let Some(region) = fleet.regions.values().find(|known| Some(&known.directory) == region) {
        return Ok(place(region));
    }
    let all: BTreeSet<String> = fleet.regions.values().map(place).collect();
    let mut names = all.iter();
    match (names.next(), names.next()) {
        (Some(only), None) => Ok(only.clone()),
        _ => Err(Failure::usage(
            format!("the regions are published to {} repositories", all.len()),
            format!("Name one of them: `{how}`. Each region's history is in its own."),
        )),
    }
}

/// Whether there is no repository at a path.
fn is_missing(path: &Path) -> bool {
    matches!(objects::open(path), Err(ObjectsError::NoRepository(_)))
}

/// A whole copy of a remote repository, which only its owner can read.
fn fetched(session: &Session, url: &str, called: String) -> Result<Repository, Failure> {
    let folder = Scratch::new()?;
    let git = git(&session.ambient.environment()).stopped_by(session.stop.flag());
    let path = folder.path().join("repository.git");
    git::mirror(&git, url, &path).map_err(|error| {
        let message = format!("{called} cannot be fetched: {error}");
        match error.wanting() == Some(Wanting::Space) {
            true => Failure::failed(message, NoScratch::HELP),
            false => Failure::unavailable(message, error.help(url)),
        }
    })?;
    Ok(Repository { path, called, fetched: Some(folder) })
}
