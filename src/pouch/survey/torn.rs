//! Torn: files that could not be read to their ends, and the objects that stood in them when they were published.
//!
//! The bundles are asked for these only where there is such a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use pouch_core::name::{ObjectKey, SourceName};
use pouch_core::snapshot::Reading;

use crate::error::Failure;

/// Gives the objects that bundles say were read in these files of a source, by their paths below its own; none where one of
/// the bundles is not believed.
pub type Bundles<'a> = dyn Fn(&SourceName, &BTreeSet<&str>) -> Result<Option<BTreeSet<ObjectKey>>, Failure> + Sync + 'a;

/// Notes the objects that stood in torn files of a source. Where nothing tells, it is not read completely.
pub(super) fn settle(
    source: &SourceName,
    reading: &mut Reading,
    torn: &BTreeSet<Arc<str>>,
    bundles: Option<&Bundles<'_>>,
) -> Result<(), Failure> {
    if torn.is_empty() {
        return Ok(());
    }
    let root = reading.root.as_deref().unwrap_or_default();
    let files: BTreeSet<&str> = torn.iter().filter_map(|path| path.strip_prefix(root)).collect();
    match bundles.map(|bundles| bundles(source, &files)).transpose()?.flatten() {
        Some(stood) => reading.stood = stood,
        None => reading.complete = false,
    }
    Ok(())
}
