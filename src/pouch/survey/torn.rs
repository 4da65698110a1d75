//! Torn: files that could not be read to their ends, and what stood in them when it was published.
//!
//! The bundles are asked for it only where there is such a file.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::layout::manifest::Manifest;
use pouch_core::region::rests_on::stood_in;

use super::{Looked, Surveyor};
use crate::error::Failure;

/// Gives the manifests that stand where the run publishes to; none where one of them is not believed.
pub type Bundles<'a> = dyn Fn() -> Result<Option<Vec<Manifest>>, Failure> + Sync + 'a;

/// Notes what stood in torn files. Where nothing tells, the source is not read completely.
pub(super) fn settle(surveyor: &Surveyor<'_>, looked: &mut BTreeMap<usize, Looked>) -> Result<(), Failure> {
    let mut torn = looked.iter_mut().filter(|(_, found)| !found.torn.is_empty()).peekable();
    if torn.peek().is_none() {
        return Ok(());
    }
    let manifests = surveyor.bundles.map(|bundles| bundles()).transpose()?.flatten();
    for (index, found) in torn {
        let (Some(source), Some(manifests)) = (surveyor.fleet.sources.get(*index), &manifests) else {
            found.reading.complete = false;
            continue;
        };
        let root = found.reading.root.as_deref().unwrap_or_default();
        let files: BTreeSet<&str> = found.torn.iter().filter_map(|path| path.strip_prefix(root)).collect();
        let system = &surveyor.fleet.system_namespace;
        let stood = manifests.iter().flat_map(|manifest| stood_in(manifest, &source.name, &files, system));
        found.reading.stood = stood.collect();
    }
    Ok(())
}
