//! Targets: the places that a configuration publishes to, each a branch of a repository.

use std::collections::BTreeSet;

use pouch_core::config::OutputGit;
use pouch_core::hash::sha256_hex;
use pouch_core::name::{FleetName, Region};

use crate::error::Failure;
use crate::git::{self, Address};
use crate::settings::Opened;

/// One place that is published to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Target {
    /// The repository, as git is given it.
    pub remote: String,
    /// The branch that is read, and that a commit is built on.
    pub base: String,
    /// The branch that is pushed to.
    pub branch: String,
    /// The reference beside the branch at which runs note what they read; none where they do not.
    pub stamp: Option<String>,
    /// The repository, as messages call it.
    pub repository: String,
    /// The regions whose bundles stand there.
    pub regions: BTreeSet<Region>,
}

impl Target {
    /// The branch that is read, by its full name.
    pub fn base_reference(&self) -> String {
        format!("refs/heads/{}", self.base)
    }

    /// The branch that is pushed to, by its full name.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The branch and its repository, for messages.
    pub fn called(&self) -> String {
        format!("branch {} of {}", self.branch, self.repository)
    }
}

/// Works out where the configuration publishes to.
///
/// # Errors
/// Where a repository's URL or path is none that git is given.
pub fn targets(opened: &Opened, output: &OutputGit) -> Result<Vec<Target>, Failure> {
    let fleet = &opened.settings.fleet;
    let target = Target {
        remote: remote(opened, &output.repository)?,
        base: output.branch.clone(),
        branch: output.branch.clone(),
        stamp: output.stamp.then(|| stamp_reference(&fleet.name, &output.branch, &fleet.output.path)),
        repository: git::identity(&output.repository),
        regions: fleet.regions.keys().cloned().collect(),
    };
    Ok(vec![target])
}

/// A repository as git is given it.
fn remote(opened: &Opened, repository: &str) -> Result<String, Failure> {
    let refused = |why: String| {
        Failure::usage(format!("output.git.repository {why}"), "Give a path, or a URL with https or ssh.")
    };
    Ok(match git::address(repository).map_err(refused)? {
        Address::Local(path) => {
            // Git asks whether it trusts a path as it is given, where libgit2 resolves it.
            let path = opened.settings.base.join(path);
            std::fs::canonicalize(&path).unwrap_or(path).display().to_string()
        }
        Address::Remote(url) => url,
    })
}

/// The output's path in the form of paths in a tree.
pub(super) fn clean(output: &str) -> String {
    let parts: Vec<&str> = output.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

/// How many digits of a digest name a place within a fleet.
const DIGITS: usize = 16;

/// Where the stamp of a fleet's bundles stands that are in a branch, below a path.
fn stamp_reference(fleet: &FleetName, branch: &str, path: &str) -> String {
    let digest = sha256_hex(format!("{branch}\n{}", clean(path)).as_bytes());
    let digits: String = digest.chars().take(DIGITS).collect();
    format!("refs/pouch/{fleet}/{digits}")
}
