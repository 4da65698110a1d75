//! A region's bundle in clear: one stream of manifests, in the order in which they are to be applied.
//!
//! Only what was proved is handed out: the caller stops before this where anything was found.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use zeroize::Zeroizing;

use super::delivery::inferred;
use super::region::ProvedRegion;
use super::tree::BundleTree;
use crate::config::Delivery;
use crate::hash::sha256_hex;
use crate::layout::manifest::ManifestObject;
use crate::layout::path;
use crate::name::{Claimant, Directory, FleetName, GroupKind, ObjectKey};
use crate::yaml::read;

/// Secrets in clear, by the paths of their files.
pub type Opened = BTreeMap<String, Zeroizing<String>>;

/// A region's manifests.
pub struct Unpacked {
    /// The fleet that the bundle belongs to.
    pub fleet: FleetName,
    /// The region's folder.
    pub directory: Directory,
    /// SHA-256 of `bundle.yaml` in lower-case hex.
    pub digest: String,
    /// The consumer that applies the bundle, such as Flux, if there is one.
    pub consumer: Option<&'static str>,
    /// The UID of the cluster for which the bundle was made, if pouch looked into that.
    pub cluster: Option<String>,
    /// All of them, each behind a line `---`.
    pub text: Zeroizing<String>,
    /// Where each of them stands in it.
    places: Vec<Place>,
}

/// Where a manifest stands.
struct Place {
    key: ObjectKey,
    sha256: String,
    claimants: Vec<Claimant>,
    is_exchanged: bool,
    at: Range<usize>,
}

/// One manifest.
#[derive(Clone, Copy)]
pub struct Part<'u> {
    /// What it is on the region.
    pub key: &'u ObjectKey,
    /// SHA-256 of its published file in lower-case hex.
    pub sha256: &'u str,
    /// The manifest in clear.
    pub text: &'u str,
    /// Who needs it.
    pub claimants: &'u [Claimant],
    /// Returns true where they have another in its place already.
    pub is_exchanged: bool,
}

impl Unpacked {
    /// One for a test: keys, digests, manifests, and who needs them.
    #[cfg(test)]
    pub(crate) fn of(parts: Vec<(ObjectKey, &str, String, Vec<Claimant>)>) -> Self {
        let (mut text, mut places) = (Zeroizing::new(String::new()), Vec::new());
        for (key, sha256, part, claimants) in parts {
            let start = text.len();
            text.push_str(&part);
            let at = start..text.len();
            places.push(Place { key, sha256: String::from(sha256), claimants, is_exchanged: false, at });
        }
        let digest = String::from("d1");
        Self { fleet: "acme".into(), directory: "eu".into(), digest, consumer: None, cluster: None, text, places }
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.places.len()
    }

    /// The manifests one by one, in the order in which they are to be applied.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let text = |at: &Range<usize>| self.text.get(at.clone()).unwrap_or_default();
        self.places.iter().map(move |Place { key, sha256, claimants, is_exchanged, at }| {
            let text = text(at);
            Part { key, sha256, text, claimants, is_exchanged: *is_exchanged }
        })
    }
}

/// Puts a region's objects together: Namespaces first, then ConfigMaps, Secrets, and what points to them.
///
/// # Errors
/// The objects that are not there in clear.
pub fn unpack<'r>(
    region: &'r ProvedRegion<'_>,
    tree: &BundleTree,
    opened: &Opened,
) -> Result<Unpacked, Vec<&'r ManifestObject>> {
    let mut objects: Vec<&ManifestObject> = region.manifest.objects.iter().collect();
    objects.sort_by_key(|object| rank(&object.key.kind));
    let text = |object: &ManifestObject| {
        let path = object.path.as_str();
        match object.key.kind.is_secret() {
            true => opened.get(path).map(|text| text.as_str()),
            false => tree.get(path).and_then(|standing| read::text_of(&standing.bytes).ok()),
        }
    };
    let missing: Vec<&ManifestObject> = objects.iter().copied().filter(|object| text(object).is_none()).collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let texts: Vec<(&ManifestObject, &str)> =
        objects.iter().filter_map(|object| text(object).map(|text| (*object, text))).collect();
    // At full size at once: what a growing text leaves behind would have to be wiped each time.
    let room = texts.iter().flat_map(|(_, text)| [BREAK.len(), text.len(), 1]).sum();
    let mut stream = Zeroizing::new(String::with_capacity(room));
    let mut places = Vec::with_capacity(texts.len());
    for (object, text) in texts {
        stream.push_str(BREAK);
        let start = stream.len();
        stream.push_str(text);
        if !text.ends_with('\n') {
            stream.push('\n');
        }
        let (key, sha256, at) = (object.key.clone(), object.sha256.clone(), start..stream.len());
        let claimants = object.needed_by.iter().map(|needed| needed.by.clone()).collect();
        places.push(Place { key, sha256, claimants, is_exchanged: object.state.is_handover(), at });
    }
    let own = tree.get(path::manifest(&region.directory).as_str()).map(|standing| sha256_hex(&standing.bytes));
    let (fleet, directory) = (region.manifest.fleet.clone(), region.directory.clone());
    let (digest, consumer, cluster) =
        (own.unwrap_or_default(), consumer(region, tree), region.manifest.cluster.clone());
    Ok(Unpacked { fleet, directory, digest, consumer, cluster, text: stream, places })
}

/// The consumer for which a bundle is written, if there is one.
fn consumer(region: &ProvedRegion<'_>, tree: &BundleTree) -> Option<&'static str> {
    let told = region.to.filter(|_| region.follows()).map(|to| to.delivery().clone());
    let delivery = told.or_else(|| inferred(region, tree).ok().map(|(delivery, _)| delivery))?;
    (delivery != Delivery::None).then(|| delivery.consumer())
}

const BREAK: &str = "---\n";

/// When a kind is applied.
fn rank(kind: &GroupKind) -> u8 {
    match kind {
        kind if kind.is_namespace() => 0,
        kind if kind.is_config_map() => 1,
        kind if kind.is_secret() => 2,
        _ => 3,
    }
}
