//! Bundles: whether they are whole, sealed, separated and readable by their consumers, as they stand in a folder or a
//! commit.
//!
//! [`open`] finds the regions of a tree and reads their manifests; then every file is looked at alone ([`Book::file`]),
//! every region as a whole ([`Book::region`]), and all files beside each other ([`Book::across`]). No private key is
//! needed; [`opened`] adds what a private key proves. Anybody may have written the tree: nothing in it is believed
//! because it says so. What a bundle must look like follows from the layout and, where there is one, from the
//! configuration; a manifest is only a list that the files must keep to, unless a reuse key authenticates it. Values
//! never stand in a finding.

mod beside;
mod book;
mod delivery;
mod document;
mod ignore;
mod manifest;
mod measure;
mod object;
pub mod opened;
mod other;
mod plain;
mod region;
mod sealed;
mod stanza;
mod tree;
pub mod unpack;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::RegionState;
use crate::destination::{self, Destination};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
pub use crate::layout::form::{Form, MOST_BYTES};
use crate::layout::path::{self, TOPS};
use crate::name::{Directory, FleetName};
use crate::recipient::Recipient;
use crate::region::published::fleet_of;
pub use beside::beside;
pub use book::Book;
use book::{FORM_HELP, sets};
pub use delivery::strange_set;
pub use manifest::paths_listed;
pub use measure::Measure;
use other::{Other, other, unproved};
pub use plain::{holds_key, secret_in_clear, secret_manifest};
pub use region::ProvedRegion;
use region::judged;
pub use sealed::{Inspected, SealedFile};
use tree::folders;
pub use tree::{
    Above, BundleTree, Changes, STEERING, Standing, TreeScope, directory_of, folders as regions, is_regions,
};

/// Opens a tree: finds its regions and reads their manifests.
pub fn open<'a>(measure: &'a Measure<'a>, tree: &BundleTree) -> (Book<'a>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut regions = BTreeMap::new();
    let known: BTreeMap<&str, Destination<'_>> =
        measure.fleet.into_iter().flat_map(destination::all).map(|to| (to.directory().as_str(), to)).collect();
    let mut others: BTreeMap<String, Other> = BTreeMap::new();
    for folder in folders(tree) {
        let to = known.get(folder).copied();
        if let (Some(fleet), None) = (measure.fleet, to)
            && let Some(other) = other(fleet, tree, folder)
        {
            others.insert(String::from(folder), other);
        } else if measure.scope.has(folder) {
            let (region, found) = judged(measure, tree, folder, to);
            regions.extend(region.map(|region| (String::from(folder), region)));
            findings.extend(found);
        }
    }
    for (directory, to) in known.iter().filter(|(_, to)| to.region.state != RegionState::Retired) {
        let missing = folders(tree).all(|folder| folder != *directory);
        if missing && measure.scope.has(directory) {
            let message = format!("nothing is published in regions/{directory}");
            let (code, help) = match (&measure.scope, to.region.state) {
                (TreeScope::Changed(_), _) => {
                    (Code::UntrustedBundle, "Undo the removal. To withdraw a region, set `state: retired` and render.")
                }
                (_, RegionState::Paused) => (
                    Code::RegionNotPublished,
                    "A region that was paused before its first render has no bundle. If this one had a bundle, find \
                     out who removed it, and restore it from an older revision.",
                ),
                _ => (
                    Code::UntrustedBundle,
                    "Name the folder that holds the bundles, or a revision that has them; render the region if it is \
                     new.",
                ),
            };
            let finding = measure.find(code, &format!("regions/{directory}"), 1, message);
            findings.push(finding.in_region(&to.region.name).help(help));
        }
    }
    findings.extend(unproved(measure, tree, &others));
    if measure.fleet.is_none() && !regions.is_empty() {
        let message = "there is no configuration, so each file's recipients were compared with its own manifest's only";
        let help = "If there is a configuration, name it with -f. Without one it is unknown who put a recipient there, \
                    and which recipients are for escrow.";
        findings.push(Finding::new(Code::NotProved, message).help(help));
    }
    if measure.keys.is_none() && !regions.is_empty() {
        let message = "the reuse key is not at hand, so nobody vouches that pouch wrote these bundles";
        let help = "Where the reuse key is, --require-tags demands this proof. Elsewhere, let signed commits vouch for \
                    bundles: --allowed-signers.";
        findings.push(Finding::new(Code::NotProved, message).help(help));
    }
    let owners = owners(measure, tree, &regions);
    let taken = folders(tree).filter(|folder| !others.contains_key(*folder)).map(String::from).collect();
    let manifests = folders(tree).filter_map(|folder| tree.get(&format!("regions/{folder}/bundle.yaml")));
    let named = |standing: &Standing| Some(FleetName::from(&*fleet_of(&standing.bytes)?));
    let sets = match measure.fleet {
        Some(fleet) => sets(others.values().map(|other| &other.fleet).chain([&fleet.name])),
        None => sets(&manifests.filter_map(named).collect::<BTreeSet<FleetName>>()),
    };
    (Book { measure, regions, owners, taken, others, sets }, findings)
}

/// Which regions each recipient should be able to open.
fn owners(
    measure: &Measure<'_>,
    tree: &BundleTree,
    regions: &BTreeMap<String, ProvedRegion<'_>>,
) -> BTreeMap<Recipient, BTreeSet<String>> {
    let mut owners: BTreeMap<Recipient, BTreeSet<String>> = BTreeMap::new();
    let mut add = |recipient: &Recipient, directory: &str| {
        owners.entry(recipient.clone()).or_default().insert(String::from(directory));
    };
    if let Some(fleet) = measure.fleet {
        for to in destination::all(fleet) {
            for recipient in to.region.recipients.iter().filter(|recipient| !fleet.escrow.contains(*recipient)) {
                add(recipient, to.directory().as_str());
            }
        }
        return owners;
    }
    // Without a configuration, a recipient of every region counts as escrow.
    for region in regions.values() {
        region.recipients.iter().for_each(|recipient| add(recipient, region.directory.as_str()));
    }
    let count = folders(tree).count();
    owners.retain(|_, directories| directories.len() == 1 || directories.len() < count);
    owners
}

impl Book<'_> {
    /// Looks at one file.
    pub fn file(&self, path: &str, standing: &Standing) -> Inspected {
        let mut looked = Inspected { findings: Vec::new(), sealed: None };
        if !self.concerns(path) {
            return looked;
        }
        let region = self.region_of(path);
        let find = |code, message: String, help: &str| {
            let finding = self.measure.find(code, path, 1, message).help(String::from(help));
            match region {
                Some(region) => finding.in_region(&region.name),
                None => finding,
            }
        };
        let Some(region) = region else {
            let is_stray = self.is_stray(path) || self.is_another_spelling(path);
            let ours = is_stray
                || path == path::gitattributes().as_str()
                || TOPS.contains(&path)
                || path.split_once('/').is_some_and(|(top, _)| top == "regions");
            let found = match standing.form {
                Form::Large => Some(plain::Readable::large(path)),
                Form::Link | Form::Submodule if !ours => Some(plain::Readable::elsewhere(standing.form)),
                _ => standing.found.or_else(|| plain::look(path, &standing.bytes)),
            };
            looked.findings.extend(found.map(|found| {
                self.measure.find(found.code, path, found.line, format!("{path} {}", found.what)).help(found.help())
            }));
            if ours && standing.form != Form::Plain {
                looked.findings.push(find(Code::NotPlainFile, format!("{path} {}", standing.form.words()), FORM_HELP));
            } else if is_stray {
                looked.findings.push(find(
                    Code::UnlistedFile,
                    format!("{path} is among the bundles but belongs to no region that has a bundle"),
                    "Find out who put it there and who applies it, and remove it.",
                ));
            }
            looked.findings.extend(self.sets.iter().filter(|(set, _)| set.as_str() == path).filter_map(
                |(_, fleet)| {
                    let is_ours = self.measure.fleet.is_some_and(|ours| ours.name == *fleet);
                    // The configuration says what our own should be.
                    if is_ours || !self.measure.scope.has_shared(path) {
                        return None;
                    }
                    let theirs = |directory: &Directory| match self.others.get(directory.as_str()) {
                        Some(other) => other.fleet == *fleet,
                        None => self.regions.get(directory.as_str()).is_some_and(|own| own.manifest.fleet == *fleet),
                    };
                    delivery::no_set(self.measure, path, standing, fleet, theirs)
                },
            ));
            return looked;
        };
        if standing.form != Form::Plain {
            looked.findings.push(find(Code::NotPlainFile, format!("{path} {}", standing.form.words()), FORM_HELP));
            if standing.form != Form::Executable {
                return looked;
            }
        }
        let own = path::manifest(&region.directory);
        let listed = region.listed(path);
        if let Some(listed) = &listed {
            if sha256_hex(&standing.bytes) != listed.sha256 {
                looked.findings.push(find(
                    Code::UntrustedBundle,
                    format!("{path} does not match the manifest"),
                    "Find out who changed it, and render or check out the bundle anew.",
                ));
            }
        } else if path != own.as_str() {
            looked.findings.push(find(
                Code::UnlistedFile,
                format!("{path} is in the region's folders, but the manifest does not list it"),
                &format!("Find out who put it there. Remove it, or publish with --remove-foreign {}.", region.name),
            ));
        }
        let object = listed.and_then(|listed| listed.object);
        match object {
            Some(object) if object.key.kind.is_secret() => sealed::look(self, region, object, standing, &mut looked),
            _ => {
                // A listed file is compared with what it should be; an unlisted file is a fault as such.
                let clear = plain::look(path, &standing.bytes).filter(plain::Readable::is_clear);
                looked.findings.extend(clear.map(|found| {
                    let finding = self.measure.find(found.code, path, found.line, format!("{path} {}", found.what));
                    finding.in_region(&region.name).help(found.help())
                }));
                if let Some(object) = object {
                    looked.findings.extend(object::look(self.measure, region, object, &standing.bytes));
                }
            }
        }
        looked
    }

    /// Looks at one region as a whole: nothing is missing, and consumers can use it.
    pub fn region(&self, region: &ProvedRegion<'_>, tree: &BundleTree) -> Vec<Finding> {
        let mut findings = Vec::new();
        let own = path::manifest(&region.directory);
        let objects = region.manifest.objects.iter().map(|object| &object.path);
        for path in objects.chain(region.manifest.files.iter().map(|file| &file.path)) {
            if !tree.contains_key(path.as_str()) {
                let message = format!("{path} is missing");
                let finding = self.measure.find(Code::UntrustedBundle, path.as_str(), 1, message);
                findings.push(finding.help("Find out who removed it, and render or check out the bundle anew."));
            }
        }
        let said: BTreeSet<&Recipient> = region.manifest.recipients.iter().collect();
        findings.extend(self.recipients(region, own.as_str(), 1, &said, "the manifest", &BTreeSet::new()));
        findings.extend(delivery::look(self.measure, region, tree));
        findings.into_iter().map(|finding| finding.in_region(&region.name)).collect()
    }

    /// Looks at all files beside each other: no ciphertext stands twice, and the fleet's own files are
    /// as the configuration makes them.
    pub fn across(&self, sealed: &[SealedFile], tree: &BundleTree) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut first: BTreeMap<&[u8; 32], &SealedFile> = BTreeMap::new();
        for file in sealed {
            let mut met: Option<&SealedFile> = None;
            for mark in &file.marks {
                met = met.or(first.insert(mark, file));
            }
            let Some(other) = met else { continue };
            let message = match other.path == file.path {
                true => format!("{} holds the same ciphertext twice", file.path),
                false => format!("{} holds ciphertext that stands in {} too", file.path, other.path),
            };
            let finding = self.measure.find(Code::RepeatedCiphertext, &file.path, 1, message).in_region(&file.region);
            findings.push(finding.about(&file.key).help(
                "Sealing never gives the same ciphertext twice, so one was copied from the other: find out who did \
                 that, and render the bundle anew.",
            ));
        }
        findings.extend(delivery::fleet(self.measure, tree));
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> BundleTree {
        let plain = |path: &&str| (String::from(*path), Standing::odd(Form::Plain));
        paths.iter().map(plain).collect()
    }

    fn measure(scope: TreeScope) -> Measure<'static> {
        Measure { fleet: None, keys: None, scope, shown: String::from("b/"), above: Vec::new() }
    }

    #[test]
    fn regions_are_the_folders_that_hold_files() {
        let tree = tree(&["argocd/x/y", "regions/a/b/c", "regions/a/d", "regions/b/e", "regions/f", "s/regions/g/h"]);
        assert_eq!(folders(&tree).collect::<Vec<_>>(), ["a", "b"]);
        let findings = |scope| open(&measure(scope), &tree).1.len();
        assert_eq!(findings(TreeScope::Whole), 2);
        assert_eq!(findings(TreeScope::Region("b".into())), 1);
        assert_eq!(findings(TreeScope::Changed(Changes::default())), 0);
    }

    #[test]
    fn a_place_is_where_the_user_finds_it() {
        let finding = measure(TreeScope::Whole).find(Code::UnlistedFile, "regions/a/x", 0, "x");
        assert_eq!(format!("{}", finding.origin.unwrap()), "b/regions/a/x:1:1");
    }
}
