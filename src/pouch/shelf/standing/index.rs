//! What is staged for the next commit: its bundles, and what must not be committed elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pouch_core::config::{Source, SourcePlace};
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::name::SourceName;
use pouch_core::region::published::fleet_of;
use pouch_core::verify::bundles::{
    Above, MOST_BYTES, TreeScope, directory_of, holds_key, secret_in_clear, secret_manifest,
};

use super::files::{blob, tree, unreadable};
use super::place::{self, folder, roots};
use super::{Asking, Read};
use crate::error::Failure;
use crate::git::objects::Store;
use crate::git::objects::standing::{Found, Mode, discover};
use crate::git::{self, Address};
use crate::shelf::beside::further_up;
use crate::shelf::directory::whole::Extent;

/// Every path of the index.
type Index<'a> = BTreeMap<&'a str, &'a Found>;

impl Asking<'_> {
    /// Reads what is staged.
    pub(super) fn index(&self, start: &Path, output: &str) -> Result<Read, Failure> {
        let (store, way) = discover(start).map_err(|error| unreadable(&error))?;
        let Some(top) = store.root() else {
            return Err(Failure::usage("a bare repository has nothing staged", "Name a revision with --rev."));
        };
        // Git names the index that a commit is made from, relative to the root of the work tree.
        let file =
            self.session.ambient.var("GIT_INDEX_FILE").filter(|file| !file.is_empty()).map(|file| top.join(file));
        let found = store.index(file.as_deref()).map_err(|error| unreadable(&error))?;
        let changed: BTreeSet<String> =
            store.staged(file.as_deref()).map_err(|error| unreadable(&error))?.into_iter().collect();
        let roots = roots(&way, output);
        let index = by_path(&found);
        let has = |root: &str, tops: &[&str]| {
            let stands = |top: &&str| {
                let before = if root.is_empty() { format!("{top}/") } else { format!("{root}/{top}/") };
                index.keys().copied().chain(changed.iter().map(|path| &**path)).any(|path| path.starts_with(&before))
            };
            Ok(tops.iter().any(stands))
        };
        let chosen = place::choose(&roots, self.opened.is_some(), has)?;
        // Without bundles, a Secret that somebody commits where they will be is looked for all the same.
        let root = chosen.map(|chosen| chosen.root.to_owned()).or(roots.last().cloned()).unwrap_or_default();
        let fleet = self.opened.map(|opened| opened.settings.fleet.name.as_str());
        let below = if root.is_empty() { String::new() } else { format!("{root}/") };
        let inside = |path: &str| path.strip_prefix(&below).map(str::to_owned);

        let read = |path: &str| match index.get(path).filter(|found| found.mode != Mode::Submodule) {
            Some(found) => Ok(blob(&store, found)?.unwrap_or_default()),
            None => Ok(Vec::new()),
        };
        let staged = Staged { root: &root, fleet, index: &index, changed: &changed };
        let mut findings = staged.elsewhere(read)?;
        let sources = if self.bundles_only { vec![String::new()] } else { self.sources(&top) };
        // Below the output every file is looked at, so there a key or a Secret is found with all else.
        for found in found.iter().filter(|found| changed.contains(&found.path) && inside(&found.path).is_none()) {
            let Some(bytes) = staged.searched(&store, found, &mut findings)? else { continue };
            let is_source = || sources.iter().any(|source| is_below(&found.path, source));
            findings.extend(key_in(&found.path, &bytes).or_else(|| {
                let is_told = staged.fleet.is_none() && below_regions(&found.path).is_some();
                if is_told || is_source() { None } else { secret_in(&found.path, &bytes) }
            }));
        }

        let mut above = Vec::new();
        for (name, path, way) in further_up(&root) {
            match index.get(&*path).filter(|_| changed.contains(&path)) {
                Some(found) if found.mode == Mode::Link => above.extend(Above::link(name, path, way)),
                Some(found) if matches!(found.mode, Mode::File | Mode::Executable) => {
                    let bytes = store.blob(found.id, MOST_BYTES).map_err(|error| unreadable(&error))?;
                    above.push(Above { name, shown: path, way, bytes });
                }
                _ => {}
            }
        }

        let asked = |path: &String| match &self.region {
            Some(region) => directory_of(path).is_some_and(|directory| directory == region),
            None => true,
        };
        let scope = TreeScope::Changed(changed.iter().filter_map(|path| inside(path)).filter(asked).collect());
        let within =
            found.into_iter().filter_map(|found| Some(Found { path: inside(&found.path)?, ..found })).collect();
        let tree = tree(&store, within, Extent::Everything)?;
        let places = roots.iter().map(|root| folder(root)).collect::<Vec<_>>().join(", nor in ");
        Ok(Read { tree, shown: below, scope, commit: None, is_held: false, above, findings, places })
    }

    /// The folders and files of the configuration's sources, relative to the repository at `top`.
    fn sources(&self, top: &Path) -> Vec<String> {
        let Some(opened) = self.opened else { return Vec::new() };
        let within = |path: &str| {
            let (store, way) = discover(&opened.settings.base.join(path)).ok()?;
            (store.root().as_deref() == Some(top)).then_some(way)
        };
        let place = |source: &Source| match &source.place {
            SourcePlace::Directory { path, .. } => within(path),
            // Of a repository by its URL nobody knows whether it is this one.
            SourcePlace::Git { repository, path, .. } => match git::address(repository) {
                Ok(Address::Local(root)) => within(&root).filter(String::is_empty).map(|_| path.clone()),
                _ => None,
            },
            SourcePlace::Stdin | SourcePlace::Cluster { .. } => None,
        };
        opened.settings.fleet.sources.iter().filter_map(place).collect()
    }
}

/// Whether a path is that of a folder or lies below it; everything does below the root, which has no name.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The paths of an index. While a merge is under way it may have one more than once: then what can be read counts.
fn by_path(found: &[Found]) -> Index<'_> {
    let mut index = Index::new();
    for found in found {
        let known = index.entry(&*found.path).or_insert(found);
        if known.mode == Mode::Submodule {
            *known = found;
        }
    }
    index
}

/// An age identity or a reuse key in a file that is staged.
fn key_in(path: &str, bytes: &[u8]) -> Option<Finding> {
    let line = holds_key(bytes)?;
    let found = at(Code::PlaintextSecret, format!("{path} holds an age identity or a reuse key"), path, line);
    Some(found.help("Take it out of the commit, and keep it where git ignores it."))
}

/// A Secret in clear in a manifest that is staged.
fn secret_in(path: &str, bytes: &[u8]) -> Option<Finding> {
    let line = secret_manifest(path, bytes)?;
    let found = at(Code::PlaintextSecret, format!("{path} holds a Secret in clear"), path, line);
    Some(found.help(
        "Take it out of the commit, or seal it. Folders of the configuration's sources may hold Secrets; with \
         --bundles-only, only bundles are searched for them.",
    ))
}

/// What is staged, as far as it matters where bundles stand.
struct Staged<'a> {
    /// The folder that is looked at.
    root: &'a str,
    /// The fleet of the configuration, where there is one.
    fleet: Option<&'a str>,
    /// Every path of the index.
    index: &'a Index<'a>,
    /// The paths that the next commit changes or removes.
    changed: &'a BTreeSet<String>,
}

impl Staged<'_> {
    /// The bytes of a staged file; none, and perhaps a finding, where it is none that can be searched.
    fn searched(&self, store: &Store, found: &Found, findings: &mut Vec<Finding>) -> Result<Option<Vec<u8>>, Failure> {
        let Found { path, mode, .. } = found;
        if !matches!(mode, Mode::File | Mode::Executable | Mode::Nameless) {
            return Ok(None);
        }
        let bytes = blob(store, found)?;
        if bytes.is_none() {
            let message = format!("{path} is larger than 64 MiB, so it was not searched for keys");
            findings.push(at(Code::NotSearched, message, path, 1).help("Check yourself that it holds none."));
        }
        Ok(bytes)
    }

    /// Finds what is staged in other folders with bundles than the one that is looked at; `read` gives the bytes of
    /// a path in the index.
    ///
    /// # Errors
    /// Where bundles that nobody would look at are staged, and those of `read`.
    fn elsewhere(&self, read: impl Fn(&str) -> Result<Vec<u8>, Failure>) -> Result<Vec<Finding>, Failure> {
        let mut findings = Vec::new();
        let mut fleets: BTreeMap<String, Option<String>> = BTreeMap::new();
        for path in self.changed {
            let Some((output, directory)) = below_regions(path).filter(|(output, _)| *output != self.root) else {
                continue;
            };
            let before = if output.is_empty() { String::new() } else { format!("{output}/") };
            let manifest = format!("{before}regions/{directory}/bundle.yaml");
            if !fleets.contains_key(&manifest) {
                let is_there = self.index.contains_key(&*manifest);
                let fleet = if is_there { fleet_of(&read(&manifest)?) } else { None };
                if let (Some(ours), Some(fleet)) =
                    (self.fleet, fleet.as_deref().filter(|fleet| Some(*fleet) != self.fleet))
                {
                    let message = format!(
                        "{before}regions/{directory}: its manifest says that this belongs to fleet {fleet:?} and not \
                         to {ours}, so it was not proved"
                    );
                    findings.push(at(Code::OtherFleet, message, &manifest, 1).help(
                        "Verify it with that fleet's configuration too: pouch verify --staged -f DIR/pouch.yaml.",
                    ));
                }
                fleets.insert(manifest.clone(), fleet);
            }
            let fleet = fleets.get(&manifest).and_then(Option::as_deref);
            let is_bundle = match self.fleet {
                Some(ours) => fleet == Some(ours),
                None => fleet.is_some() || *path == manifest || path.ends_with(".sops.yaml"),
            };
            if is_bundle {
                return Err(self.misplaced(path, output));
            }
            if self.fleet.is_none() && self.index.contains_key(&**path) {
                let found = secret_in_clear(path, &read(path)?);
                findings.extend(found.map(|line| {
                    let message = format!("{path} holds a Secret in clear, below a folder `regions`");
                    at(Code::PlaintextSecret, message, path, line)
                        .help("Take it out. If this is no output of pouch, name the configuration with -f.")
                }));
            }
        }
        Ok(findings)
    }

    fn misplaced(&self, path: &str, output: &str) -> Failure {
        let folders = output.match_indices('/').map(|(at, _)| output.split_at(at).0).chain([output, ""]);
        let configs: BTreeSet<String> = folders
            .map(|folder| if folder.is_empty() { "pouch.yaml".to_owned() } else { format!("{folder}/pouch.yaml") })
            .filter(|config| self.index.contains_key(&**config))
            .collect();
        // The nearest one, which is the longest.
        let config = configs.into_iter().max_by_key(String::len).unwrap_or_else(|| "DIR/pouch.yaml".to_owned());
        Failure::usage(
            format!("{path} is staged in {}, but only {} was proved", folder(output), folder(self.root)),
            format!("Name the configuration whose output it is: pouch verify --staged -f {config}."),
        )
    }
}

fn at(code: Code, message: String, path: &str, line: usize) -> Finding {
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    let place = Place::File { path: path.into(), line, column: 1 };
    Finding::new(code, message).at(&Origin { source: SourceName::from("staged"), place })
}

/// The folder and the region's folder of a path below `regions/`.
fn below_regions(path: &str) -> Option<(&str, &str)> {
    let (output, rest) = match path.strip_prefix("regions/") {
        Some(rest) => ("", rest),
        None => path.split_once("/regions/")?,
    };
    rest.split_once('/').map(|(directory, _)| (output, directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_regions_have_an_output() {
        assert_eq!(below_regions("regions/eu/bundle.yaml"), Some(("", "eu")));
        assert_eq!(below_regions("a/b/regions/eu/core/x.yaml"), Some(("a/b", "eu")));
        for path in ["regions/x", "a/regions", "regionsx/eu/x", "a/xregions/eu/x"] {
            assert_eq!(below_regions(path), None, "{path}");
        }
    }
}
