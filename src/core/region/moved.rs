//! Moved: leaves of a region that are split, or in more parts than before.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::change::Split;
use super::content::Content;
use super::input::Input;
use crate::layout::manifest::{Manifest, ManifestObject};
use crate::layout::path::{BundlePath, Leaf};
use crate::layout::split::Splits;

/// The leaves whose parts are others than the published ones.
pub(super) fn splits(input: &Input<'_>, manifest: &Manifest, files: &BTreeMap<BundlePath, Content>) -> Vec<Split> {
    // Of what stands there and nobody vouches for, only the parts stay; of nothing, nothing is told.
    let before = match input.published.manifest() {
        Some(before) => &before.splits,
        None if input.published.files.is_empty() => return Vec::new(),
        None => Splits::none(),
    };
    let (core, namespaces) = (Leaf::core(), Leaf::namespaces());
    let moves =
        |object: &&ManifestObject| matches!(files.get(&object.path), Some(Content::Kept(from)) if *from != object.path);
    let changed = manifest.splits.leaves().filter(|(leaf, of)| before.of(leaf) != Some(*of));
    let split = |(leaf, parts): (&Leaf, u32)| {
        let is_in = |object: &&ManifestObject| Leaf::home(&object.key.kind) == *leaf;
        let files = manifest.objects.iter().filter(is_in).filter(moves).count();
        Split { leaf: leaf.clone(), parts, files }
    };
    // That Namespaces stand apart is a part of what happens to the core.
    let is_of_core = before.of(&core).is_none();
    changed.filter(|(leaf, _)| !is_of_core || **leaf != namespaces).map(split).collect()
}
