//! A region that is proved: what its manifest says, and what the configuration says of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::manifest::{Wrong, listed_by, manifest_of};
use super::measure::Measure;
use super::tree::{BundleTree, Standing};
use crate::config::RegionState;
use crate::config::error::quoted;
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::layout::form::Form;
use crate::layout::manifest::{Manifest, ManifestObject, parse};
use crate::name::{Directory, Region as RegionName, is_directory};
use crate::recipient::Recipient;
use crate::region::published::fleet_of;
use crate::yaml::read;

/// A region that is proved.
pub struct ProvedRegion<'a> {
    /// Its name: the configuration's, else its folder's.
    pub name: RegionName,
    /// Its folder.
    pub directory: Directory,
    /// What its manifest says.
    pub manifest: Manifest,
    /// Whether a reuse key authenticates the manifest.
    pub authentic: bool,
    /// Where it goes, if the configuration says so.
    pub(super) to: Option<Destination<'a>>,
    /// Everybody who should be able to open its files.
    pub(super) recipients: BTreeSet<Recipient>,
    /// Which of the manifest's objects stands at a path.
    pub(super) by_path: BTreeMap<String, usize>,
}

impl ProvedRegion<'_> {
    /// How many objects it has, Namespaces not counted.
    pub fn objects(&self) -> usize {
        self.manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()).count()
    }

    /// Everybody who should be able to open its files.
    pub fn recipients(&self) -> impl Iterator<Item = &Recipient> {
        self.recipients.iter()
    }

    /// Whether what the configuration says of the region is what should stand there: unless it is paused, and
    /// its manifest is believed.
    pub(super) fn follows(&self) -> bool {
        self.to.is_some_and(|to| to.region.state != RegionState::Paused || !self.authentic)
    }

    /// A finding about what follows from the configuration, which may have moved on while the region is paused.
    pub(super) fn or_paused(&self, finding: Finding) -> Finding {
        match self.to {
            Some(to) if to.region.state == RegionState::Paused && !self.authentic => finding.help(
                "No reuse key says that pouch wrote this. If the configuration changed while the region was paused, \
                 activate the region and render; if not, find out who changed the file.",
            ),
            _ => finding,
        }
    }

    /// What the manifest says of a path.
    pub(super) fn listed(&self, path: &str) -> Option<ListedPath<'_>> {
        let Manifest { objects, files, .. } = &self.manifest;
        if let Some(object) = self.by_path.get(path).and_then(|at| objects.get(*at)) {
            return Some(ListedPath { sha256: &object.sha256, object: Some(object) });
        }
        let at = files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        files.get(at).map(|file| ListedPath { sha256: &file.sha256, object: None })
    }
}

/// What a manifest says of one path.
pub(super) struct ListedPath<'b> {
    pub(super) sha256: &'b str,
    pub(super) object: Option<&'b ManifestObject>,
}

/// Judges one folder of `regions/`, and reads its manifest.
pub(super) fn judged<'a>(
    measure: &'a Measure<'a>,
    tree: &BundleTree,
    folder: &str,
    to: Option<Destination<'a>>,
) -> (Option<ProvedRegion<'a>>, Vec<Finding>) {
    let own = format!("regions/{folder}/bundle.yaml");
    let name = to.map_or_else(|| RegionName::from(folder), |to| to.region.name.clone());
    let find_at = |code, line, message: String, help: &str| {
        measure.find(code, &own, line, message).in_region(&name).help(String::from(help))
    };
    let find = |code, message: String, help: &str| find_at(code, 1, message, help);
    let is_file = |standing: &&Standing| matches!(standing.form, Form::Plain | Form::Executable);
    let (standing, odd) = (tree.get(&own).filter(is_file), tree.get(&own).filter(|standing| !is_file(standing)));
    let fleet = standing.and_then(|standing| fleet_of(&standing.bytes));
    if let (Some(configured), None) = (measure.fleet, to) {
        let why = standing.and_then(|standing| listed_by(folder, &standing.bytes).err());
        // Another fleet's bundles may stand beside ours, but nothing else.
        if let (Some(fleet), Some(why)) = (fleet.filter(|fleet| configured.name != **fleet), why) {
            let Wrong { why, line, .. } = why;
            let message = format!("regions/{folder} names another fleet, {}, and {why}", quoted(&fleet));
            let help = "Find out who put it there. If it is that fleet's, have it rendered anew, or upgrade pouch.";
            return (None, Vec::from([find_at(Code::RegionNotConfigured, line, message, help)]));
        }
        let message = format!("regions/{folder} holds files, and no region of the configuration has that folder");
        let help =
            "Withdraw the region with `state: retired` before it leaves the configuration, or remove the folder.";
        return (None, Vec::from([find(Code::RegionNotConfigured, message, help)]));
    }
    let mut findings = Vec::new();
    if to.is_some_and(|to| to.region.state == RegionState::Retired) {
        let message = format!("region {name} is retired, and regions/{folder} still holds its bundle");
        findings.push(find(Code::RegionNotConfigured, message, "Render or publish, which withdraws it."));
    }
    let read = match odd {
        Some(odd) => Err(format!("has a bundle.yaml that {}", odd.form.words()).into()),
        None => manifest_of(measure, folder, standing.map(|standing| &*standing.bytes)),
    };
    let (manifest, authentic) = match read {
        Ok(read) => read,
        Err(Wrong { why, line, help }) => {
            findings.push(find_at(Code::UntrustedBundle, line, format!("regions/{folder} {why}"), help));
            // What it says may still be held against the files, so that all faults are seen at once.
            match standing.and_then(|standing| parse(read::text_of(&standing.bytes).ok()?).ok()) {
                Some(manifest) if is_directory(folder) && manifest.directory == *folder => (manifest, false),
                _ => return (None, findings),
            }
        }
    };
    let recipients = match to {
        Some(to) => to.region.recipients.iter().cloned().collect(),
        None => manifest.recipients.iter().cloned().collect(),
    };
    let objects = manifest.objects.iter().enumerate();
    let by_path = objects.map(|(at, object)| (String::from(object.path.as_str()), at)).collect();
    (Some(ProvedRegion { name, directory: folder.into(), manifest, authentic, to, recipients, by_path }), findings)
}
