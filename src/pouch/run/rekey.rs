//! Rekey without sources: published bundles are opened with private keys and sealed anew.
//!
//! Nothing but Secrets' files, their hashes and the recipients in the manifest changes: what is published
//! stays exactly what it says. Where nobody vouches for it, what follows from layout and configuration is
//! written anew too, and the result must pass the proof that `verify` makes. A region whose files do not
//! all open, or do not all pass, is left alone. What may be opened and what a result must prove is decided
//! by the core.

use std::collections::BTreeMap;

use pouch_core::destination::Destination;
use pouch_core::finding::Finding;
use pouch_core::hash::sha256_hex;
use pouch_core::layout::delivery::cluster;
use pouch_core::layout::manifest::{Manifest, ManifestFile, ObjectState};
use pouch_core::layout::{BundlePath, Layout};
use pouch_core::name::ObjectKey;
use pouch_core::recipient::Recipient;
use pouch_core::region::history::History;
use pouch_core::region::odd;
use pouch_core::region::plan::{bundle_yaml, list_files};
use pouch_core::region::published::{Files, Published, State};
use pouch_core::region::rekey::{self, Opened, Reopened, Unopened, open, reopen, strangers, unopened};
use pouch_core::report::summary::{self, Outcome};
use pouch_core::reuse::Context;
use pouch_core::verify::bundles::{BundleTree, Form, Measure, Standing, TreeScope};
use rayon::prelude::*;

use super::seal::{FILES_PER_TASK, Sealer};
use super::{Report, Run, Told, check_regions, is_fault, verify};
use crate::age::Identities;
use crate::error::Failure;
use crate::harden::wiped;
use crate::shelf::{Look, NewFile, NewFiles, Shelf, too_large};

/// What a bundle that no reuse key vouches for is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unproved {
    /// Nothing: its region is held.
    Held,
    /// Its own word: the key that vouched for it is lost, and somebody said so.
    Taken,
}

/// Opens the published Secrets of the regions that the run takes up, seals them for the configured
/// recipients, and stages that on the `shelf`, if there is one; else it says whether it could.
///
/// # Errors
/// Where nothing may be published at all: the shelf cannot be read, no identity opens any region, or the
/// run should end.
pub fn rekey(
    run: &Run<'_>,
    identities: &Identities,
    unproved: Unproved,
    published: &dyn Look,
    shelf: Option<&dyn Shelf>,
) -> Result<Report, Failure> {
    let put_back = check_regions(run, published)?;
    let work = Work { run, identities, unproved, published, shelf };
    let (done, strange): (Vec<Told>, Vec<bool>) =
        run.each(("sealing", run.destinations()), |to| work.region(&to))?.into_iter().unzip();
    if !strange.is_empty() && strange.iter().all(|strange| *strange) {
        return Err(Failure::usage(
            "the identities of --identity open none of the regions",
            "Give the identity of a region, or an escrow identity. `bundle.yaml` lists who can read each bundle.",
        ));
    }
    Ok(Report { put_back, ..Report::of(run.fleet, done, Vec::new()) })
}

/// Proves what was sealed anew before anybody sees it.
///
/// # Errors
/// Where it does not pass, which is a bug.
pub fn prove(published: &Files, manifest: &Manifest, new: &NewFiles) -> Result<(), Failure> {
    let bytes = |path: &BundlePath| match new.get(path) {
        Some(NewFile::Bytes(bytes)) => Some(bytes.as_slice()),
        Some(NewFile::Kept(_)) | None => None,
    };
    rekey::prove(published, manifest, bytes).map_err(|flaw| Failure::bug(flaw.to_string()))
}

/// A file sealed anew, or which Secret's is not and why.
type Again = Result<(BundlePath, Vec<u8>), (ObjectKey, Unopened)>;

struct Work<'a> {
    run: &'a Run<'a>,
    identities: &'a Identities,
    unproved: Unproved,
    published: &'a dyn Look,
    shelf: Option<&'a dyn Shelf>,
}

impl Work<'_> {
    /// What is told of a region, and whether no identity is one of its recipients.
    fn region(&self, to: &Destination<'_>) -> Result<(Told, bool), Failure> {
        let (run, region) = (self.run, to.region);
        run.session.stop.check()?;
        let mut told = Told::new(to, Outcome::Unchanged);
        let (files, odd) = self.published.read(to.directory())?;
        let mut published = Published::examine(&run.fleet.name, to.directory(), files, run.keys);
        let taken = self.unproved == Unproved::Taken && matches!(published.state, State::Unsigned);
        if taken {
            published = Published::unproved(&run.fleet.name, to.directory(), published.files);
        }
        let standing = published.with(odd);
        let is_nothing = standing.files.is_empty() && standing.odd.is_nothing();
        let history = match taken || is_nothing {
            // Without the key that proved them, no commit is known as pouch's own; and what is gone is put back from the
            // sources, not by this.
            true => History::default(),
            false => self.published.history(to.directory(), &run.query(region)?)?,
        };
        let Some(reopened) = reopen(to, &standing, &history, run.allowances) else {
            return Ok((told, false));
        };
        let published = history.last(&standing);
        let Reopened { manifest, before, changes, holds, accepted, findings } = reopened;
        (told.accepted, told.findings) = (accepted, findings);
        let found = told.findings.len();
        told.hold(holds);
        let record = &mut told.record;
        record.objects = manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()).count();
        record.handover = manifest.handed_over().count();
        let carried = manifest.objects.iter().filter(|object| object.state != ObjectState::Current).count();
        record.carried = carried.saturating_sub(record.handover);
        record.changes = changes.iter().map(summary::ChangeRecord::from).collect();
        record.carried_objects = manifest.objects.iter().filter_map(summary::CarriedRecord::of).collect();
        record.compare_recipients(&before, &manifest, &run.fleet.readers);
        let given: Vec<&Recipient> = self.identities.recipients().collect();
        let strange = if changes.is_empty() { None } else { strangers(&region.name, &before, &given) };
        let is_strange = strange.is_some();
        told.findings.extend(strange);
        // Without a Secret there is still a manifest to say who the recipients are.
        let is_due = taken || !changes.is_empty() || before != region.recipients;
        if told.findings.len() == found && is_due {
            let worth = if taken { Unproved::Taken } else { Unproved::Held };
            match self.files(to, published, manifest, &before, worth)? {
                Ok(mut new) => {
                    if taken {
                        run.session.ui.warn(&format!(
                            "region {}: no reuse key vouches for its bundle; its Secrets and objects are taken at their own word",
                            region.name
                        ));
                    }
                    record.outcome = Outcome::Published;
                    record.sealed = changes.len();
                    for file in new.values_mut() {
                        if let NewFile::Kept(from) = file {
                            *file = NewFile::kept(from.clone(), published, &standing);
                        }
                    }
                    match too_large(&new, &standing) {
                        Some(why) => told.findings.push(odd::too_large(&region.name, &why)),
                        None => self.shelf.map_or(Ok(()), |shelf| shelf.stage(to.directory(), new, &standing))?,
                    }
                }
                Err(finding) => told.findings.push(finding),
            }
        }
        if told.findings.len() > found {
            record.outcome = Outcome::Held;
        }
        told.recipients = (told.record.outcome == Outcome::Published).then(|| region.recipients.clone());
        Ok((told, is_strange))
    }

    /// The files of a region sealed anew; empty where nothing was to be sealed. Or why they cannot be.
    fn files(
        &self,
        to: &Destination<'_>,
        published: &Published,
        mut manifest: Manifest,
        before: &[Recipient],
        worth: Unproved,
    ) -> Result<Result<NewFiles, Finding>, Failure> {
        let (run, splits) = (self.run, manifest.splits.clone());
        let layout = Layout::of(to).with(&splits);
        let is_dry = self.shelf.is_none() && worth == Unproved::Held;
        let sealer = Sealer::new(&run.session.ambient, &to.region.recipients)?;
        let secrets: Vec<&ObjectKey> =
            manifest.objects.iter().map(|object| &object.key).filter(|key| key.kind.is_secret()).collect();
        // A data key is in memory no longer than its file, and so are the values.
        let again = |key: &ObjectKey| {
            run.session.stop.check()?;
            let opened = match self.open(to, published, key, before) {
                Ok(opened) => opened,
                Err(why) => return Ok(Err((key.clone(), why))),
            };
            let bytes = if is_dry { Vec::new() } else { sealer.seal_again(run, to, key, &opened)? };
            Ok(Ok((layout.of_object(key), bytes)))
        };
        let sealed: Result<Vec<Vec<Again>>, Failure> = secrets
            .par_chunks(FILES_PER_TASK)
            .map(|keys| wiped(|| keys.iter().copied().map(again).collect()))
            .collect();
        let (mut fresh, mut closed) = (BTreeMap::new(), Vec::new());
        for file in sealed?.into_iter().flatten() {
            match file {
                Ok((path, bytes)) => _ = fresh.insert(path, bytes),
                Err(why) => closed.push(why),
            }
        }
        if let Some((key, why)) = closed.first() {
            return Ok(Err(unopened(&to.region.name, key, closed.len(), why)));
        }
        let mut new = NewFiles::new();
        if is_dry {
            return Ok(Ok(new));
        }
        for object in &mut manifest.objects {
            let file = match fresh.remove(&object.path) {
                Some(bytes) => {
                    object.sha256 = sha256_hex(&bytes);
                    NewFile::Bytes(bytes)
                }
                None => NewFile::Kept(object.path.clone()),
            };
            new.insert(object.path.clone(), file);
        }
        match worth {
            Unproved::Held => {
                let kept = |file: &ManifestFile| (file.path.clone(), NewFile::Kept(file.path.clone()));
                new.extend(manifest.files.iter().map(kept));
            }
            Unproved::Taken => {
                // What Argo CD is told of the cluster is taken at its word as well.
                let secret = published.files.get(cluster::file(to.directory()).as_str());
                let secret = secret.filter(|bytes| cluster::ClusterSecret::read(bytes).is_some());
                let secret = secret.and_then(|bytes| std::str::from_utf8(bytes).ok());
                new.extend(open_files(&layout.registered(secret), &mut manifest));
            }
        }
        prove(&published.files, &manifest, &new)?;
        let text = bundle_yaml(&manifest, run.key()?);
        new.insert(layout.manifest(), NewFile::Bytes(text.into_bytes()));
        let flaw = if worth == Unproved::Taken { self.flaw(to, published, &new) } else { None };
        Ok(flaw.map_or(Ok(new), Err))
    }

    /// What `verify` would say of a result that nobody has vouched for: signing it would vouch for it.
    fn flaw(&self, to: &Destination<'_>, published: &Published, new: &NewFiles) -> Option<Finding> {
        let bytes = |file: &NewFile| match file {
            NewFile::Bytes(bytes) => bytes.clone(),
            NewFile::Kept(from) => published.files.get(from.as_str()).cloned().unwrap_or_default(),
        };
        let standing = |(path, file): (&BundlePath, &NewFile)| {
            (path.as_str().to_owned(), Standing::file(path.as_str(), Form::Plain, bytes(file)))
        };
        let tree: BundleTree = new.iter().map(standing).collect();
        let measure = Measure {
            fleet: Some(self.run.fleet),
            keys: Some(self.run.keys),
            scope: TreeScope::Region(to.directory().to_string()),
            shown: String::new(),
            above: Vec::new(),
        };
        let verdict = verify::prove(&measure, &tree, self.identities, Vec::new());
        let faults: Vec<&Finding> = verdict.findings.iter().filter(|finding| is_fault(finding)).collect();
        let first = faults.first()?;
        Some(rekey::unproved(&to.region.name, first, faults.len()))
    }

    fn open(
        &self,
        to: &Destination<'_>,
        published: &Published,
        key: &ObjectKey,
        before: &[Recipient],
    ) -> Result<Opened, Unopened> {
        let file = published.bytes(key).ok_or(Unopened::Form)?;
        let readers =
            published.object(key).zip(published.manifest()).map(|(object, manifest)| object.readers(manifest));
        let recipients = readers.unwrap_or(before);
        let context = Context { fleet: &self.run.fleet.name, directory: to.directory(), landing: key, recipients };
        open(self.run.keys, &context, file, &|stanzas| self.identities.unwrap(stanzas).ok())
    }
}

/// The files of a bundle that are no objects, made anew from its layout; lists them.
fn open_files(layout: &Layout<'_>, manifest: &mut Manifest) -> NewFiles {
    let kept = layout.kept(manifest.files.iter().map(|file| file.path.as_str()));
    let files = list_files(layout, manifest, &kept);
    files.into_iter().map(|(path, text)| (path, NewFile::Bytes(text.into_bytes()))).collect()
}
