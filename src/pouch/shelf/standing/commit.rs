//! Bundles in a commit, and whether a work tree equals one that was signed.

use std::collections::BTreeSet;
use std::path::Path;

use pouch_core::config::OutputGit;
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::layout::path::gitattributes;
use pouch_core::name::SourceName;
use pouch_core::verify::bundles::{Above, BundleTree, Form, MOST_BYTES, Standing, directory_of, is_regions};

use super::files::{self, unreadable};
use super::place::{self, no_bundles, roots};
use super::{Asking, Read};
use crate::error::Failure;
use crate::git::objects::standing::discover;
use crate::git::objects::{self, Id, Kind, ObjectsError, Store};
use crate::git::{FETCHED, is_revision};
use crate::settings::Opened;
use crate::shelf::beside::further_up;
use crate::shelf::output::Output;
use crate::shelf::signed;

impl Asking<'_> {
    /// The branch, tag or commit that is meant.
    pub(super) fn reference(&self, store: &Store) -> Result<String, Failure> {
        if let Some(rev) = self.rev {
            if !is_revision(rev) {
                let help = "Give the name of a branch, a commit id, refs/tags/TAG, or an ancestor such as main~3.";
                return Err(Failure::usage(format!("--rev {rev:?} cannot name a branch, tag or commit"), help));
            }
            return Ok(rev.to_owned());
        }
        let known = match store.commit("HEAD") {
            Ok(_) => return Ok("HEAD".to_owned()),
            Err(ObjectsError::NoReference { known, .. }) => known,
            Err(error) => return Err(unreadable(&error)),
        };
        let configured = self.opened.and_then(|opened| opened.settings.fleet.output.git.as_ref());
        if let Some(branch) = configured.map(OutputGit::base).filter(|branch| store.commit(branch).is_ok()) {
            return Ok(branch.to_owned());
        }
        let head = store.head_branch().unwrap_or_else(|| "nothing".to_owned());
        let help = match known.first() {
            Some(first) => format!("Pass --rev, such as --rev {first}."),
            None => "It has no branch and no tag yet.".to_owned(),
        };
        Err(Failure::usage(format!("the repository's HEAD names {head}, which does not exist"), help))
    }

    /// Reads the branch that regions follow, as it stands in its repository.
    pub(super) fn branch(&self, opened: &Opened) -> Result<Read, Failure> {
        if self.rev.is_some() {
            return Err(Failure::usage(
                "--rev names a revision of PATH, but no PATH is given; of output.git only the branch's tip is proved",
                "Name a clone of the repository: pouch verify PATH --rev REV.",
            ));
        }
        let output = Output::of(opened)?;
        let target = self.target.or(output.targets().first());
        let target = target.ok_or_else(|| Failure::bug("nothing is published anywhere"))?;
        let folder = output.copy(self.session, target)?;
        let store = objects::open(folder.path()).map_err(|error| unreadable(&error))?;
        self.commit(&store, FETCHED, &target.base, &roots(self.output, ""), "")
    }

    /// Reads the tree of a commit: the first of `roots` that holds bundles.
    pub(super) fn commit(
        &self,
        store: &Store,
        reference: &str,
        called: &str,
        roots: &[String],
        way: &str,
    ) -> Result<Read, Failure> {
        let commit = store.commit(reference).map_err(|error| unreadable(&error))?;
        let folder = |root: &str| {
            store.check_way(commit, root).map_err(|error| unreadable(&error))?;
            match store.at(commit, root) {
                Ok(entry) => Ok(Some(entry.id).filter(|_| entry.kind == Kind::Folder)),
                Err(ObjectsError::NoPath(_)) => Ok(None),
                Err(error) => Err(unreadable(&error)),
            }
        };
        let has = |root: &str, tops: &[&str]| {
            Ok(folder(root)?.is_some_and(|id| tops.iter().any(|top| has_folder(store, id, top))))
        };
        let place = if way.is_empty() { called.to_owned() } else { format!("{called}:{way}") };
        let missing = || no_bundles(&place, if roots.len() > 1 { self.output } else { "" });
        let place::Chosen { root, other } = place::choose(roots, self.opened.is_some(), has)?.ok_or_else(missing)?;
        let id = folder(root)?.ok_or_else(missing)?;
        let found = store.everything(id, &self.keeps()).map_err(|error| unreadable(&error))?;
        let tree = files::tree(store, found, self.extent())?;
        let shown = |root: &str| format!("{called}:{root}{}", if root.is_empty() { "" } else { "/" });
        let mut findings: Vec<Finding> = match self.allowed_signers {
            Some(file) => self.signed(store, commit, file, called)?.into_iter().collect(),
            None => Vec::new(),
        };
        findings.extend(other.map(|other| place::decoy(&shown(other), &shown(root))));
        let shown = shown(root);
        let mut above = Vec::new();
        for (name, path, way) in further_up(root) {
            let entry = match store.at(commit, &path) {
                Ok(entry) if entry.kind == Kind::File => entry,
                Ok(entry) if entry.kind == Kind::Link => {
                    above.extend(Above::link(name, format!("{called}:{path}"), way));
                    continue;
                }
                Ok(_) | Err(ObjectsError::NoPath(_)) => continue,
                Err(error) => return Err(unreadable(&error)),
            };
            let bytes = store.blob(entry.id, MOST_BYTES).map_err(|error| unreadable(&error))?;
            above.push(Above { name, shown: format!("{called}:{path}"), way, bytes });
        }
        let commit = Some(commit.to_string());
        Ok(Read { tree, shown, scope: self.scope(), commit, is_held: false, above, findings, places: String::new() })
    }

    /// Holds a work tree's bundles against the commit that they are checked out from, and has that looked at.
    pub(super) fn held(
        &self,
        folder: &Path,
        tree: &BundleTree,
        shown: &str,
        allowed: &Path,
    ) -> Result<(String, Vec<Finding>), Failure> {
        let (store, way) = discover(folder).map_err(|error| unreadable(&error))?;
        let commit = store.commit(&self.reference(&store)?).map_err(|error| unreadable(&error))?;
        let mut findings: Vec<Finding> = self.signed(&store, commit, allowed, "HEAD")?.into_iter().collect();
        store.check_way(commit, &way).map_err(|error| unreadable(&error))?;
        let committed = match store.at(commit, &way) {
            Ok(entry) if entry.kind == Kind::Folder => {
                let found = store.everything(entry.id, &self.keeps()).map_err(|error| unreadable(&error))?;
                files::tree(&store, found, self.extent())?
            }
            Ok(_) | Err(ObjectsError::NoPath(_)) => BundleTree::new(),
            Err(error) => return Err(unreadable(&error)),
        };
        let asked = |path: &&String| match &self.region {
            Some(region) => directory_of(path).is_some_and(|directory| directory == region),
            None => is_regions(path) || **path == *gitattributes().as_str(),
        };
        // Modes are no part of this: a work tree's are not always told.
        let form = |standing: &Standing| if standing.form == Form::Executable { Form::Plain } else { standing.form };
        let differs = |path: &&String| match (tree.get(*path), committed.get(*path)) {
            (Some(one), Some(other)) => one.bytes != other.bytes || form(one) != form(other),
            _ => true,
        };
        let paths: BTreeSet<&String> = tree.keys().chain(committed.keys()).filter(asked).filter(differs).collect();
        if let Some(first) = paths.first() {
            let rest = match paths.len() {
                1 => String::new(),
                count => format!(", and so do {} more", count.saturating_sub(1)),
            };
            let message = format!("{first} differs from commit {commit}{rest}, so its signature is not theirs");
            let place = Place::File { path: format!("{shown}{first}").into(), line: 1, column: 1 };
            let finding = Finding::new(Code::UntrustedCommit, message);
            let finding = finding.at(&Origin { source: SourceName::from("bundles"), place });
            findings.push(finding.help("Check out what was signed, or commit and sign this; `git status` lists it."));
        }
        Ok((commit.to_string(), findings))
    }

    /// Has git say who signed the commit.
    fn signed(&self, store: &Store, commit: Id, file: &Path, called: &str) -> Result<Option<Finding>, Failure> {
        let allowed = self.session.ambient.cwd().join(file);
        let answer = signed::check(self.session, store.path(), &commit.to_string(), (&allowed, file))?;
        let Err(words) = answer else { return Ok(None) };
        let message = match store.is_signed(commit).map_err(|error| unreadable(&error))? {
            true => format!("commit {commit} at {called} is not signed by an allowed signer; git says: {words}"),
            false => format!("commit {commit} at {called} is not signed"),
        };
        let finding = Finding::new(Code::UntrustedCommit, message);
        Ok(Some(finding.help(
            "Find out who made the commit. If it is fine, add its signer to the file of allowed signers, or have the \
             next commit signed.",
        )))
    }
}

fn has_folder(store: &Store, folder: Id, name: &str) -> bool {
    store.in_folder(folder, name).is_ok_and(|entry| entry.kind == Kind::Folder)
}
