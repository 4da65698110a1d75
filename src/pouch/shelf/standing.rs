//! Bundles as they stand: in a folder, in a commit, or staged for the next one.
//!
//! What is wrong with them is not known here; only where they are looked for, and what says something of them.

mod commit;
mod files;
mod index;
mod place;

use std::path::{Path, PathBuf};

use pouch_core::finding::Finding;
use pouch_core::layout::path::TOPS;
use pouch_core::verify::bundles::{Above, BundleTree, MOST_BYTES, TreeScope};

use self::files::unreadable;
use self::place::{no_bundles, roots};
use super::beside::further_up;
use super::directory::whole::{self, Extent};
use super::target::Target;
use crate::error::{self, Failure, said};
use crate::git::objects::standing::discover;
use crate::git::objects::{self, ObjectsError, Store};
use crate::git::{self, Address};
use crate::session::Session;
use crate::settings::Opened;

/// What was read, and from where.
pub struct Read {
    /// The files.
    pub tree: BundleTree,
    /// What stands before a path where it is shown.
    pub shown: String,
    /// What of it is asked about.
    pub scope: TreeScope,
    /// The commit that was read, or that a work tree is held against.
    pub commit: Option<String>,
    /// Whether it is a work tree that is held against the commit.
    pub is_held: bool,
    /// What git and Flux are told of the output from further up.
    pub above: Vec<Above>,
    /// What was found on the way.
    pub findings: Vec<Finding>,
    /// Where bundles were looked for, for who has none.
    pub places: String,
}

/// What a run asks about.
pub struct Asking<'a> {
    /// What every command is given.
    pub session: &'a Session,
    /// The configuration, if there is one.
    pub opened: Option<&'a Opened>,
    /// The folder or repository that the command line names.
    pub path: Option<&'a Path>,
    /// The place that it is about, where the configuration says where that is.
    pub target: Option<&'a Target>,
    /// The revision that it names.
    pub rev: Option<&'a str>,
    /// Whether it is about what is staged.
    pub staged: bool,
    /// Whether of that only bundles are searched for Secrets in clear.
    pub bundles_only: bool,
    /// Who may have signed the commit, if somebody must have.
    pub allowed_signers: Option<&'a Path>,
    /// The region's folder, where one is named.
    pub region: Option<String>,
    /// Whether nothing is read of other regions, nor of what lies beside bundles.
    pub alone: bool,
    /// Where the output is, below what is named.
    pub output: &'a str,
}

impl Asking<'_> {
    /// Reads the bundles from where the command line says they are.
    pub fn read(&self) -> Result<Read, Failure> {
        let Self { path, opened, output, .. } = *self;
        let (start, typed) = match (path, opened) {
            (Some(path), _) => (self.session.ambient.cwd().join(path), path.to_owned()),
            (None, Some(opened)) => (opened.settings.base.join(output), opened.typed.join(output)),
            (None, None) => (self.session.ambient.cwd().to_owned(), PathBuf::new()),
        };
        if path.is_some_and(|path| !start.exists() && is_remote(path)) {
            return Err(Failure::usage(
                "PATH is a URL, but this command reads only what is on this machine",
                "Clone the repository first, `git clone --bare URL` is enough, and name the clone.",
            ));
        }
        // What the configuration names may have gone; what somebody types he may have mistyped.
        if let Some(path) = path.filter(|_| !start.exists()) {
            return Err(Failure::usage(
                format!("{} is not there", path.display()),
                "Name the folder that holds the bundles, or the repository; --region names a region.",
            ));
        }
        // What the configuration names is the output, and what somebody types may be the folder above.
        let output = if path.is_none() && opened.is_some() { "" } else { output };
        if self.staged {
            return self.index(&start, output);
        }
        if let (None, Some(opened)) = (path, opened.filter(|opened| opened.settings.fleet.output.git.is_some())) {
            return self.branch(opened);
        }
        let repository = objects::open(&start);
        if self.rev.is_some() || repository.as_ref().is_ok_and(Store::is_bare) {
            let (store, way) = discover(&start).map_err(|error| unreadable(&error))?;
            let reference = self.reference(&store)?;
            return self.commit(&store, &reference, &reference, &roots(&way, output), &way);
        }
        let roots = roots("", output);
        let has = |root: &str, tops: &[&str]| Ok(tops.iter().any(|top| start.join(root).join(top).is_dir()));
        let Some(chosen) = place::choose(&roots, opened.is_some(), has)? else {
            return Err(match repository {
                Err(error @ (ObjectsError::Partial(_) | ObjectsError::Owner(_))) => unreadable(&error),
                _ => no_bundles(&typed.display().to_string(), output),
            });
        };
        let folder = start.join(chosen.root);
        // All that can go wrong here is that the published state cannot be read.
        let tree = whole::read(&folder, &self.keeps(), self.extent())
            .map_err(|error| Failure { kind: error::Kind::Unavailable, ..Failure::from(error) })?;
        let shown = |root: &str| {
            let shown = typed.join(root);
            let shown = if shown.as_os_str().is_empty() { String::new() } else { format!("{}/", shown.display()) };
            plainly(&shown)
        };
        let decoy = chosen.other.map(|other| place::decoy(&shown(other), &shown(chosen.root)));
        let shown = shown(chosen.root);
        let (commit, mut findings) = match self.allowed_signers {
            Some(file) => {
                let (commit, findings) = self.held(&folder, &tree, &shown, file)?;
                (Some(commit), findings)
            }
            None => (None, Vec::new()),
        };
        let is_held = commit.is_some();
        let above = self.above(&folder)?;
        findings.extend(decoy);
        Ok(Read { tree, shown, scope: self.scope(), commit, is_held, above, findings, places: String::new() })
    }

    /// What stands in the attributes of a work tree further up than a folder.
    ///
    /// # Errors
    /// Where it cannot be read: what is there would count.
    fn above(&self, folder: &Path) -> Result<Vec<Above>, Failure> {
        let (store, way) = match discover(folder) {
            Err(ObjectsError::NoRepository(_)) => return Ok(Vec::new()),
            other => other.map_err(|error| unreadable(&error))?,
        };
        let Some(top) = store.root() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, path, way) in further_up(&way) {
            let path = top.join(path);
            let shown = path.strip_prefix(self.session.ambient.cwd()).unwrap_or(&path).display().to_string();
            let failed = |why: &dyn std::fmt::Display| {
                let message = format!("{shown} cannot be read, and may change what of the bundles is delivered: {why}");
                Failure::unavailable(message, "Make it readable, or move it away.")
            };
            let meta = match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                other => other.map_err(|error| failed(&said(&error)))?,
            };
            if meta.is_symlink() {
                found.extend(Above::link(name, shown, way));
            } else if meta.is_file() {
                if meta.len() > MOST_BYTES {
                    return Err(failed(&format!("it is larger than {MOST_BYTES} bytes")));
                }
                let bytes = std::fs::read(&path).map_err(|error| failed(&said(&error)))?;
                found.push(Above { name, shown, way, bytes });
            }
        }
        Ok(found)
    }

    /// Which folders of a tree are looked into.
    pub(super) fn keeps(&self) -> impl Fn(&str) -> bool {
        let alone = self.alone;
        let region = self.region.as_deref();
        move |folder| {
            let mut parts = folder.split('/');
            let of_bundles = parts.next().is_some_and(|top| TOPS.contains(&top));
            let of_region = parts.next().is_none_or(|directory| region.is_none_or(|region| region == directory));
            !alone || of_bundles && of_region
        }
    }

    pub(super) fn extent(&self) -> Extent {
        if self.alone { Extent::Listed } else { Extent::Everything }
    }

    pub(super) fn scope(&self) -> TreeScope {
        self.region.clone().map_or(TreeScope::Whole, TreeScope::Region)
    }
}

/// Whether a path is no path but a repository elsewhere.
fn is_remote(path: &Path) -> bool {
    let Some(text) = path.to_str() else { return false };
    text.contains("://") || matches!(git::address(text), Ok(Address::Remote(_)))
}

/// A path without what says nothing: a leading `./` and doubled slashes.
fn plainly(path: &str) -> String {
    path.trim_start_matches("./").replace("//", "/")
}
