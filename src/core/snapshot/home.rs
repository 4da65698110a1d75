//! Home: which sources are the management cluster itself, where the configuration has that as a region.
//!
//! What pouch published there carries its label, and reading it back would make it a source of itself: a credential that
//! went from git would be published for ever. The label alone decides. What is published proves nothing here: a branch
//! that was emptied or forged would turn copies into sources. Who writes the label on an object of his own takes that
//! from his own claims only.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::reason::Reason;
use crate::config::{Fleet, Source};
use crate::finding::Origin;
use crate::name::{ObjectKey, SourceName};
use crate::object::Object;

/// Which sources are the management cluster.
#[derive(Default)]
pub(super) struct Home {
    /// Its UID, if a source is it.
    cluster: Option<String>,
    sources: BTreeSet<SourceName>,
    /// The sources of which one is the management cluster, and nobody knows which.
    doubtful: BTreeSet<SourceName>,
    doubt: Option<String>,
    /// What pouch published there, and where it stands.
    own: BTreeMap<ObjectKey, Origin>,
}

/// What an object of a source counts as.
pub(super) enum Word {
    /// An object as any other.
    Counts,
    /// What pouch published, read back.
    Own,
    /// One of the two, and nobody knows which.
    Unclear(Reason),
}

impl Home {
    /// Finds the management cluster among the sources; `clusters` has the UID of each that is a cluster, in their order.
    ///
    /// A source that is trusted with everything, and is a cluster with Credentials, is where k0rdent reads them. Other
    /// sources count if they are the very same cluster.
    pub(super) fn of(fleet: &Fleet, clusters: &[Option<String>]) -> Self {
        let Some(region) = fleet.management() else { return Self::default() };
        let live = || fleet.sources.iter().zip(clusters).filter_map(|(source, uid)| Some((source, uid.as_ref()?)));
        let trusted: Vec<(&Source, &String)> = live().filter(|(source, _)| source.provides.cluster_scoped).collect();
        let candidates = if trusted.is_empty() { live().collect() } else { trusted };
        let uids: BTreeSet<&String> = candidates.iter().map(|(_, uid)| *uid).collect();
        let mut home = Self::default();
        match uids.first() {
            None => {}
            Some(uid) if uids.len() == 1 => {
                home.cluster = Some((*uid).clone());
                home.sources =
                    live().filter(|(_, other)| other == uid).map(|(source, _)| source.name.clone()).collect();
            }
            Some(_) => {
                let names: Vec<String> = candidates.iter().map(|(source, _)| source.name.to_string()).collect();
                home.doubt = Some(format!(
                    "sources {} are different clusters, and each of them may be the management cluster that region {} is",
                    names.join(", "),
                    region.name
                ));
                home.doubtful = live().map(|(source, _)| source.name.clone()).collect();
            }
        }
        home
    }

    /// What an object of a source counts as.
    pub(super) fn word(&self, fleet: &Fleet, source: &Source, object: &Object) -> Word {
        if !object.ours || !fleet.publishes(&object.key.kind) {
            return Word::Counts;
        }
        match &self.doubt {
            Some(why) if self.doubtful.contains(&source.name) => Word::Unclear(Reason::new(why.clone(), CURE)),
            _ if self.sources.contains(&source.name) => Word::Own,
            _ => Word::Counts,
        }
    }

    /// Remembers what pouch published.
    pub(super) fn note(&mut self, object: Object) {
        self.own.entry(object.key).or_insert(object.origin);
    }

    pub(super) fn is(&self, source: &SourceName) -> bool {
        self.sources.contains(source)
    }

    pub(super) fn own(&self, key: &ObjectKey) -> Option<&Origin> {
        self.own.get(key)
    }

    pub(super) fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    pub(super) fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }
}

/// What makes it known which source is the management cluster.
pub(super) const CURE: &str = "Let only the source that is the management cluster have `provides.clusterScoped: true`.";
