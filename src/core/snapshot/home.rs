//! Home: which sources are the management cluster itself, where the configuration has that as a region.
//!
//! What pouch published there carries its label, and reading it back would make it a source of itself: a credential that
//! went from git would be published for ever. The label alone decides. What is published proves nothing here: a branch
//! that was emptied or forged would turn copies into sources. Who writes the label on an object of his own takes that
//! from his own claims only.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::objects::Objects;
use super::reason::Reason;
use crate::capi::resource_set::is_resource_set;
use crate::config::{Fleet, Source, SourcePlace, is_name_of_guests};
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
    own: BTreeMap<ObjectKey, Own>,
    /// Why nobody knows what is there that none of its sources may provide.
    narrow: Option<Reason>,
}

/// What pouch published, read back.
struct Own {
    origin: Origin,
    /// The number of its source.
    from: usize,
    backed_up: bool,
}

/// What an object of a source counts as.
pub(super) enum Word {
    /// An object as any other.
    Counts,
    /// What pouch published, read back from the management cluster.
    Own,
    /// What pouch published, read back from the cluster of another region.
    Delivered,
    /// One of the two, and nobody knows which.
    Unclear(Reason),
}

impl Home {
    /// Finds the management cluster among the sources; `clusters` has the UID of each that is a cluster, in their order.
    ///
    /// Only a cluster that is trusted with everything is where k0rdent reads Credentials: the cluster of a tenant is not,
    /// even where it is the only one. Other sources count if they are the very same cluster. One that is away has no UID,
    /// and might be any cluster.
    pub(super) fn of(fleet: &Fleet, clusters: &[Option<String>]) -> Self {
        let Some(region) = fleet.management() else { return Self::default() };
        let is_live = |source: &Source| matches!(source.place, SourcePlace::Cluster { .. });
        let live = || fleet.sources.iter().zip(clusters).filter(|(source, _)| is_live(source));
        let named = |names: &mut dyn Iterator<Item = &Source>| {
            names.map(|source| source.name.to_string()).collect::<Vec<_>>().join(", ")
        };
        let candidates: Vec<(&Source, &Option<String>)> =
            live().filter(|(source, _)| source.provides.cluster_scoped && !fleet.is_regional(source)).collect();
        let uids: BTreeSet<&Option<String>> = candidates.iter().map(|(_, uid)| *uid).collect();
        let mut home = Self::default();
        let doubt = match uids.first() {
            None if live().next().is_none() => return home,
            None => format!(
                "no cluster among the sources has `provides.clusterScoped`, so none is known to be the management cluster that \
                 region {} is: {}",
                region.name,
                named(&mut live().map(|(source, _)| source))
            ),
            Some(Some(uid)) if uids.len() == 1 => {
                home.cluster = Some(uid.clone());
                home.sources = live()
                    .filter(|(_, other)| other.as_ref() == Some(uid))
                    .map(|(source, _)| source.name.clone())
                    .collect();
                home.narrow = Some(Reason::new(
                    "no source that is the management cluster may provide it",
                    "Widen `provides` of the source that is the management cluster, so that pouch sees what is there.",
                ));
                return home;
            }
            Some(None) if uids.len() == 1 => format!(
                "nobody knows which cluster {} is, and it may be the management cluster that region {} is",
                named(&mut candidates.iter().map(|(source, _)| *source)),
                region.name
            ),
            Some(_) => format!(
                "sources {} are different clusters, and each of them may be the management cluster that region {} is",
                named(&mut candidates.iter().map(|(source, _)| *source)),
                region.name
            ),
        };
        home.doubt = Some(doubt);
        home.doubtful = live().map(|(source, _)| source.name.clone()).collect();
        home
    }

    /// What an object of a source counts as.
    pub(super) fn word(&self, fleet: &Fleet, source: &Source, object: &Object) -> Word {
        // Of other sets the label says nothing: pouch publishes none but those of guests, and what templates make.
        let may_be_made = fleet.makes_resource_sets() && !fleet.is_regional(source);
        let may_be_named = || may_be_made || is_name_of_guests(&object.key.name);
        let may_be_own = fleet.publishes(&object.key.kind) || (is_resource_set(&object.key.kind) && may_be_named());
        if !object.ours || !may_be_own {
            return Word::Counts;
        }
        if fleet.is_regional(source) {
            return Word::Delivered;
        }
        match &self.doubt {
            Some(why) if self.doubtful.contains(&source.name) => Word::Unclear(Reason::new(why.clone(), CURE)),
            _ if self.sources.contains(&source.name) => Word::Own,
            _ => Word::Counts,
        }
    }

    /// Remembers what pouch published.
    pub(super) fn note(&mut self, index: usize, object: Object) {
        let Object { key, origin, backed_up, .. } = object;
        self.own.entry(key).or_insert(Own { origin, from: index, backed_up });
    }

    /// Lets the copy that counts belong into backups where what pouch made of an earlier one does.
    ///
    /// What was published was made from the object on the cluster, as long as that counted. Its label would go as soon as
    /// pouch's copy stands in its place.
    pub(super) fn back_up(&self, objects: &mut Objects, key: &ObjectKey) {
        let own = self.own.get(key).filter(|own| own.backed_up);
        if let Some((own, held)) = own.zip(objects.get_mut(key))
            && own.from < held.from
        {
            held.object.backed_up = true;
        }
    }

    /// As [`Self::back_up`], for all that was read back.
    pub(super) fn back_up_all(&self, objects: &mut Objects) {
        self.own.keys().for_each(|key| self.back_up(objects, key));
    }

    pub(super) fn is(&self, source: &SourceName) -> bool {
        self.sources.contains(source)
    }

    pub(super) fn own(&self, key: &ObjectKey) -> Option<&Origin> {
        self.own.get(key).map(|own| &own.origin)
    }

    /// A source that is the management cluster, and why nobody knows what is there that none may provide.
    pub(super) fn unseen(&self) -> Option<(&SourceName, &Reason)> {
        self.sources.first().zip(self.narrow.as_ref())
    }

    pub(super) fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    pub(super) fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }
}

/// What makes it known which source is the management cluster.
pub const CURE: &str =
    "Let the source that is the management cluster, and no other cluster, have `provides.clusterScoped: true`.";
