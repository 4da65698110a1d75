//! Namespaces: those that the configuration names.

use alloc::collections::BTreeSet;
use alloc::string::String;

use super::{Fleet, Globs, Granted, Grantee};
use crate::name::Namespace;

impl Fleet {
    /// The namespaces that sources, regions and grants name. A glob names none.
    pub fn named_namespaces(&self) -> BTreeSet<Namespace> {
        let mut named = self.guarded.clone();
        for source in &self.sources {
            named.extend(source.provides.namespaces.names().map(Namespace::from));
            named.extend(source.provides.objects.iter().filter_map(|objects| objects.namespace.clone()));
            named.extend(source.default_namespace.clone());
        }
        for region in self.regions.values() {
            named.extend(region.namespaces.allowed.names().map(Namespace::from));
            named.extend(region.namespaces.labels.keys().cloned());
            let clusters = region.clusters.iter().map(|taken| taken.glob());
            let sets = region.resource_sets.patterns().iter().map(String::as_str);
            let of_objects = clusters.chain(sets).filter_map(|glob| glob.split_once('/'));
            named.extend(
                of_objects.map(|(namespace, _)| namespace).filter(|it| Globs::is_name(it)).map(Namespace::from),
            );
        }
        named.extend(self.guests.values().flat_map(|group| group.namespaces.names()).map(Namespace::from));
        for grant in &self.grants {
            match &grant.from {
                Grantee::Namespace(namespace) => _ = named.insert(namespace.clone()),
                Grantee::Claimant(claimant) => _ = named.insert(claimant.namespace().clone()),
                Grantee::SyncRule(_) | Grantee::Template(_) => {}
            }
            if let Granted::Object(key) | Granted::Made(key) = &grant.to {
                named.extend(key.namespace.clone());
            }
        }
        named
    }
}
