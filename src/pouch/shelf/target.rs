//! Targets: the places that a configuration publishes to, each a branch of a repository.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::config::{Fleet, OutputGit, Place};
use pouch_core::hash::sha256_hex;
use pouch_core::name::{FleetName, Region};

use crate::error::Failure;
use crate::git::{self, Address};
use crate::settings::Opened;

/// One place that is published to.
#[derive(Clone, Debug)]
pub struct Target {
    /// The repository, as git is given it.
    pub remote: String,
    /// The branch that the regions follow: what is read, and what a commit is built on.
    pub base: String,
    /// The branch that is pushed to: the base, or one that proposes something to it.
    pub branch: String,
    /// The reference beside the branch at which runs note what they read; none where they do not.
    pub stamp: Option<String>,
    /// The repository, as messages call it.
    pub repository: String,
    /// The regions that are published by this branch.
    pub regions: BTreeSet<Region>,
    /// The configuration of all regions that follow the base.
    pub fleet: Fleet,
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

    /// Whether what changes is proposed, and not published at once.
    pub fn proposes(&self) -> bool {
        self.base != self.branch
    }

    /// The reference by which a run that lost says that it is its turn; none where runs note nothing.
    pub fn turn(&self) -> Option<String> {
        self.stamp.as_ref().map(|stamp| format!("{stamp}-turn"))
    }

    /// The branch that is pushed to, where what changes is proposed.
    pub fn proposal(&self) -> Option<&str> {
        self.proposes().then_some(&*self.branch)
    }

    /// The branch that the regions follow and its repository, for messages.
    pub fn called(&self) -> String {
        format!("branch {} of {}", self.base, self.repository)
    }

    /// The branch that is pushed to and its repository, for messages.
    pub fn pushed(&self) -> String {
        format!("branch {} of {}", self.branch, self.repository)
    }
}

/// Works out where the configuration publishes to: by repository and branch, each once.
///
/// # Errors
/// Where a repository's URL or path is none that git is given, or two places that the configuration tells apart are one.
pub fn targets(opened: &Opened, output: &OutputGit) -> Result<Vec<Target>, Failure> {
    let fleet = &opened.settings.fleet;
    let mut remotes: BTreeMap<String, String> = BTreeMap::new();
    let mut found: BTreeMap<(String, String), (Place, BTreeSet<Region>)> = BTreeMap::new();
    let mut followers: BTreeMap<(String, String), BTreeSet<Region>> = BTreeMap::new();
    for region in fleet.regions.values() {
        let place = output.place(&region.directory);
        let remote = match remotes.get(&place.repository) {
            Some(remote) => remote.clone(),
            None => {
                let remote = remote(opened, &place.repository)?;
                remotes.insert(place.repository.clone(), remote.clone());
                remote
            }
        };
        followers.entry((remote.clone(), place.base.clone())).or_default().insert(region.name.clone());
        let branch = (remote, place.branch.clone());
        let (known, regions) = found.entry(branch).or_insert_with(|| (place.clone(), BTreeSet::new()));
        if known.base != place.base {
            return Err(one_place(&place, &known.base));
        }
        regions.insert(region.name.clone());
    }
    let target = |((remote, branch), (place, regions)): ((String, String), (Place, BTreeSet<Region>))| {
        let Place { repository, base, .. } = &place;
        // By links, repositories of different names may be one.
        if output.proposes() && followers.contains_key(&(remote.clone(), branch.clone())) {
            return Err(one_place(&place, &branch));
        }
        let here = followers.get(&(remote.clone(), base.clone())).unwrap_or(&regions);
        let stamp = output.record_source_state.then(|| stamp_reference(&fleet.name, &branch, &fleet.output.path));
        let fleet = fleet.only(here);
        let (repository, base) = (git::identity(repository), base.clone());
        Ok(Target { remote, base, branch, stamp, repository, regions, fleet })
    };
    found.into_iter().map(target).collect()
}

/// Two regions would write to one branch, and follow different ones, or one of them that very branch.
fn one_place(place: &Place, other: &str) -> Failure {
    let Place { base, branch, repository } = place;
    Failure::usage(
        format!(
            "branch {branch} of {} would propose to {base}, and it is also that of regions which follow {other}",
            git::identity(repository)
        ),
        "See which repositories are one, by links or by name, and write `{region}` into `branch` too.",
    )
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
pub fn clean(output: &str) -> String {
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
