//! Unpacking: proves one region's bundle and opens it, or neither.

use std::collections::BTreeSet;
use std::sync::Mutex;

use pouch_core::finding::{Code, Finding, Place, Severity};
use pouch_core::kinds;
use pouch_core::layout::manifest::ManifestObject;
use pouch_core::layout::path;
use pouch_core::listing::{counted, few};
use pouch_core::recipient::Recipient;
use pouch_core::verify::bundles::unpack::{Opened, Unpacked, unpack as put_together};
use pouch_core::verify::bundles::{BundleTree, Measure, ProvedRegion, open};
use pouch_core::yaml::emit::{Tree, emit};

use super::is_fault;
use super::verify::prove_book;
use crate::age::Identities;
use crate::error::Failure;

/// How many names a message has.
const SOME: usize = 5;

/// What came of unpacking a region.
pub struct Outcome {
    /// Everything found about what is handed out.
    pub findings: Vec<Finding>,
    /// The manifests; none where something is wrong with the bundle.
    pub unpacked: Option<Unpacked>,
}

/// Unpacks the region in `directory`.
///
/// # Errors
/// Where there is no such bundle, or the identities do not open all of it.
pub fn unpack(
    measure: &Measure<'_>,
    tree: &BundleTree,
    directory: &str,
    identities: &Identities,
    more: Vec<Finding>,
) -> Result<Outcome, Failure> {
    let (book, mut found) = open(measure, tree);
    found.extend(more);
    let opened: Mutex<Opened> = Mutex::default();
    let proof = prove_book(&book, tree, identities, found, &|sealed, document| {
        let text = emit(&Tree::of(document));
        if let Ok(mut opened) = opened.lock() {
            opened.insert(sealed.path.clone(), text);
        }
    });
    // Delivery objects are not handed out, and a consumer may be given the region's own folder alone.
    let handed_out = |finding: &Finding| match finding.origin.as_ref().map(|origin| &origin.place) {
        Some(Place::File { path, .. }) => {
            let below = path.strip_prefix(&*measure.shown);
            below.is_none_or(|below| !["flux/", "argocd/"].iter().any(|top| below.starts_with(top)))
        }
        _ => true,
    };
    let findings: Vec<Finding> = proof.findings.into_iter().filter(handed_out).collect();
    if findings.iter().any(is_fault) {
        return Ok(Outcome { findings, unpacked: None });
    }
    let Some(region) = book.regions.get(directory) else {
        let message = format!("there is no bundle of region {directory}");
        return Err(Failure::unavailable(message, "Name the folder or the revision that has it."));
    };
    if let (Some(object), None) = (of_strange_kind(region), measure.fleet) {
        let message = format!(
            "{} holds {}, of a kind that pouch publishes only where its configuration names it",
            object.path, object.key
        );
        let help = "If it is among the configuration's `kinds`, name the configuration with -f. If not, find out who put it there.";
        return Err(Failure::usage(message, help));
    }
    let opened = opened.into_inner().map_err(|_| Failure::bug("a thread that opened Secrets ended early"))?;
    match put_together(region, tree, &opened) {
        Ok(unpacked) => Ok(Outcome { findings, unpacked: Some(unpacked) }),
        Err(missing) => Err(unopened(region, &missing, identities)),
    }
}

/// An object of a kind that is not one of pouch's own. Whoever can write a manifest could name one that runs programs or
/// grants rights on the region.
fn of_strange_kind<'r>(region: &'r ProvedRegion<'_>) -> Option<&'r ManifestObject> {
    region
        .manifest
        .objects
        .iter()
        .find(|object| !object.key.kind.is_namespace() && !kinds::is_published(&object.key.kind))
}

/// Says what the identities do not open, and whose would.
fn unopened(region: &ProvedRegion<'_>, missing: &[&ManifestObject], identities: &Identities) -> Failure {
    let secrets = region.manifest.objects.iter().filter(|object| object.key.kind.is_secret()).count();
    let held = few(identities.recipients(), identities.recipients().count(), SOME);
    let theirs = |object: &ManifestObject| match object.recipients.is_empty() {
        true => region.manifest.recipients.clone(),
        false => object.recipients.clone(),
    };
    let readers: BTreeSet<Recipient> = missing.iter().flat_map(|object| theirs(object)).collect();
    let readers = few(&readers, readers.len(), SOME);
    let message = match missing.len() == secrets {
        true => format!("the identity of {held} opens nothing in {}", path::region(&region.directory)),
        false => format!(
            "the identity of {held} does not open {} of {}: {}",
            missing.len(),
            counted(secrets, "Secret", "Secrets"),
            few(missing.iter().map(|object| &object.key), missing.len(), SOME),
        ),
    };
    Failure::usage(message, format!("Give the identity of one that can read them: {readers}."))
}

/// Whether a finding only says what cannot be known without configuration and reuse key, which consumers never have.
pub fn is_expected(finding: &Finding) -> bool {
    finding.severity != Severity::Error && finding.code == Code::NotProved
}
