//! A region that is proved: what its manifest says, and what the configuration says of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use crate::config::RegionState;
use crate::destination::Destination;
use crate::finding::Finding;
use crate::layout::manifest::{Manifest, ManifestObject};
use crate::name::{Directory, Region as RegionName};
use crate::recipient::Recipient;

/// A region that is proved.
pub struct Region<'a> {
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

impl Region<'_> {
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
    pub(super) fn listed(&self, path: &str) -> Option<Listed<'_>> {
        let Manifest { objects, files, .. } = &self.manifest;
        if let Some(object) = self.by_path.get(path).and_then(|at| objects.get(*at)) {
            return Some(Listed { sha256: &object.sha256, object: Some(object) });
        }
        let at = files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        files.get(at).map(|file| Listed { sha256: &file.sha256, object: None })
    }
}

/// What a manifest says of one path.
pub(super) struct Listed<'b> {
    pub(super) sha256: &'b str,
    pub(super) object: Option<&'b ManifestObject>,
}
