//! A region's bundle in clear: one stream of manifests, in the order in which they are to be applied.
//!
//! Only what was proved is handed out: the caller stops before this where anything was found.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::region::ProvedRegion;
use super::tree::BundleTree;
use crate::layout::manifest::ManifestObject;
use crate::name::GroupKind;
use crate::yaml::read;

/// Secrets in clear, by the paths of their files.
pub type Opened = BTreeMap<String, Zeroizing<String>>;

/// A region's manifests.
pub struct Unpacked {
    /// All of them, each behind a line `---`.
    pub text: Zeroizing<String>,
    /// How many there are.
    pub objects: usize,
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
    let texts: Vec<&str> = objects.iter().filter_map(|object| text(object)).collect();
    // At full size at once: what a growing text leaves behind would have to be wiped each time.
    let room = texts
        .iter()
        .fold(0_usize, |room, text| room.saturating_add(text.len()).saturating_add(BREAK.len()).saturating_add(1));
    let mut stream = Zeroizing::new(String::with_capacity(room));
    for text in &texts {
        stream.push_str(BREAK);
        stream.push_str(text);
        if !text.ends_with('\n') {
            stream.push('\n');
        }
    }
    Ok(Unpacked { text: stream, objects: texts.len() })
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
