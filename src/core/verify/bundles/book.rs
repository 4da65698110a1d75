//! A tree's regions, and what they hold where.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::measure::Measure;
use super::other::Other;
use super::region::ProvedRegion;
use super::tree::TreeScope;
use crate::finding::{Code, Finding};
use crate::layout::path::{BundlePath, TOPS, application_set};
use crate::name::FleetName;
use crate::recipient::Recipient;

pub(super) const FORM_HELP: &str = "Pouch writes plain files only. Find out who put it there, and remove it.";

/// A tree's regions, and what they hold where.
pub struct Book<'a> {
    /// What the tree is judged by.
    pub measure: &'a Measure<'a>,
    /// The regions that are proved, by folder.
    pub regions: BTreeMap<String, ProvedRegion<'a>>,
    /// Which regions a recipient should be able to open, by folder. Escrow recipients have none.
    pub(super) owners: BTreeMap<Recipient, BTreeSet<String>>,
    /// The folders that hold files of a region, proved or not: what is wrong with one as a whole is said once.
    pub(super) taken: BTreeSet<String>,
    /// Other fleets' folders.
    pub(super) others: BTreeMap<String, Other>,
    /// The ApplicationSets of the fleets that have bundles here, and whose they are.
    pub(super) sets: BTreeMap<BundlePath, FleetName>,
}

impl<'a> Book<'a> {
    /// The region whose folders a path lies in.
    pub(super) fn region_of(&self, path: &str) -> Option<&ProvedRegion<'a>> {
        let (top, rest) = path.split_once('/')?;
        let (folder, _) = rest.split_once('/')?;
        if TOPS.contains(&top) { self.regions.get(folder) } else { None }
    }

    /// Whether a path is asked about: with one region in mind, nothing else is.
    pub(super) fn concerns(&self, path: &str) -> bool {
        !matches!(self.measure.scope, TreeScope::Region(_)) || self.region_of(path).is_some()
    }

    /// Whether a path stands among the bundles and is nobody's: beside the regions' folders, or in a folder
    /// whose name no region has. What of it a consumer would apply, nobody proves.
    pub(super) fn is_stray(&self, path: &str) -> bool {
        let Some((top, rest)) = path.split_once('/') else { return false };
        if !TOPS.contains(&top) {
            return false;
        }
        match rest.split_once('/') {
            Some((folder, _)) => {
                let listed = self.others.get(folder).is_some_and(|other| other.paths.contains(path));
                self.measure.scope.has(folder) && !self.taken.contains(folder) && !listed
            }
            None => self.measure.scope.has_shared(path) && self.sets.keys().all(|set| set.as_str() != path),
        }
    }

    /// Whether a path lies in a folder that is one of the layout's where letters' case is no matter.
    pub(super) fn is_another_spelling(&self, path: &str) -> bool {
        let top = path.split('/').next().unwrap_or_default();
        let is_spelt = |known: &str| top != known && top.eq_ignore_ascii_case(known);
        TOPS.into_iter().any(is_spelt) && self.measure.scope.has_shared(path)
    }

    /// Holds the recipients that something names against those that it should have: the region's, or those that the
    /// manifest gives for a Secret that was carried over.
    pub(super) fn recipients(
        &self,
        region: &ProvedRegion<'_>,
        path: &str,
        line: usize,
        said: &BTreeSet<&Recipient>,
        what: &str,
        carried: &BTreeSet<Recipient>,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_carried = !carried.is_empty();
        let by = if region.to.is_some() && !is_carried { "the configuration" } else { "the manifest" };
        let expected = if is_carried { carried } else { &region.recipients };
        let removed: Vec<String> =
            carried.difference(&region.recipients).map(|recipient| format!("{recipient}")).collect();
        if !removed.is_empty() {
            let message = format!("{what} is carried over and can still be read by {}", removed.join(", "));
            findings.push(self.measure.find(Code::RevocationIncomplete, path, line, message).help(
                "Mend the claim that it is carried over for, or withdraw it: `pouch publish --withdraw NAMESPACE/NAME`.",
            ));
        }
        let (mut wrong, mut foreign) = (Vec::new(), Vec::new());
        for recipient in said {
            let owners = self.owners.get(*recipient);
            let elsewhere = owners.and_then(|owners| owners.iter().find(|owner| **owner != *region.directory.as_str()));
            match elsewhere {
                Some(owner) => foreign.push(format!("{} of {owner}", self.measure.called(recipient))),
                None if !expected.contains(*recipient) => {
                    wrong.push(format!("{} too many", self.measure.called(recipient)))
                }
                None => {}
            }
        }
        wrong.extend(
            expected
                .iter()
                .filter(|r| !said.contains(r))
                .map(|missing| format!("{} missing", self.measure.called(missing))),
        );
        if !foreign.is_empty() {
            let message = format!("{what} is for another region's recipient: {}", foreign.join(", "));
            findings.push(self.measure.find(Code::ForeignRecipient, path, line, message).help(
                "Treat what the file holds as known to that region: rotate it at its provider, and seal the file anew.",
            ));
        }
        if !wrong.is_empty() {
            let message = format!("{what} is not sealed to the recipients in {by}: {}", wrong.join(", "));
            findings.push(self.measure.find(Code::WrongRecipients, path, line, message).help(
                "Render, or with output.git run `pouch publish` or `pouch rekey`: they seal anew for the configured \
                 recipients. If there is a recipient too many, find out whose it is, and rotate what it could read.",
            ));
        }
        findings
    }
}

/// The files of fleets' ApplicationSets.
pub(super) fn sets<'f>(fleets: impl IntoIterator<Item = &'f FleetName>) -> BTreeMap<BundlePath, FleetName> {
    fleets.into_iter().map(|fleet| (application_set(fleet), fleet.clone())).collect()
}
