//! The management cluster, asked for what is not part of a survey: regions, the release, labels of namespaces.

use std::collections::BTreeMap;

use pouch_core::config::Fleet;
use pouch_core::init::inventory::{Inventories, KnownRegion};
use pouch_core::init::release::{Interfaces, Numbers};
use pouch_core::kinds::{MULTICLUSTER, REGISTRY};
use pouch_core::name::{GroupKind, Name, Namespace, ObjectKey, Region, is_dns_subdomain};
use pouch_core::node::Node;
use pouch_core::{inquiry, k0rdent};

use crate::cluster::request::{Portion, Resource};
use crate::cluster::{Broken, Cluster, Got, ListError, Listing, Served, core_resource};
use crate::error::Failure;
use crate::session::Session;
use crate::survey::Reach;

/// The one Management that k0rdent knows.
const MANAGEMENT: &str = "kcm";

/// What to do about a right that is missing.
pub(super) const RIGHTS: &str = "Nothing is written unless everything can be read. Grant this user the right, or act as another \
                      user with --as. Secrets are not read.";

/// The cluster, asked for what is not part of a survey.
pub(super) struct Asker {
    pub(super) cluster: Cluster,
    served: Served,
}

impl Asker {
    pub(super) fn connect(session: &Session, reach: &Reach) -> Result<Self, Failure> {
        let cluster = Cluster::connect(&reach.wanted, reach.patience, &session.ambient, &session.stop.flag())?;
        let served = cluster.discover([k0rdent::GROUP, MULTICLUSTER, REGISTRY]);
        let served = served.map_err(|broken| unavailable(&cluster, "its API groups", &broken))?;
        if let Some(broken) = served.unknown.get(k0rdent::GROUP) {
            return Err(unavailable(&cluster, "k0rdent's API group", broken));
        }
        Ok(Self { cluster, served })
    }

    /// Looks whether the groups of identities can be asked: of one in trouble nobody knows what it serves.
    pub(super) fn check_groups(&self, fleet: &Fleet) -> Result<(), Failure> {
        let served = self.cluster.discover(inquiry::groups(fleet));
        let served = served.map_err(|broken| unavailable(&self.cluster, "its API groups", &broken))?;
        match served.unknown.iter().next() {
            Some((group, broken)) => Err(unavailable(&self.cluster, &format!("the API group {group}"), broken)),
            None => Ok(()),
        }
    }

    fn resource(&self, kind: &str) -> Option<&Resource> {
        self.served.kinds.get(&GroupKind::new(k0rdent::GROUP, kind)).map(|(resource, _)| resource)
    }

    /// Lists a kind of k0rdent's; none where it is not served.
    fn list(&self, kind: &str) -> Result<Option<Listing>, Failure> {
        let Some(resource) = self.resource(kind) else { return Ok(None) };
        match self.cluster.list(resource, None, Portion::Whole, &|_| {}) {
            Ok(listing) => Ok(Some(listing)),
            Err(ListError::Forbidden) => Err(self.refused("list", resource, None)),
            Err(ListError::Broken(broken)) => Err(unavailable(&self.cluster, &resource.name(), &broken)),
        }
    }

    fn get(&self, resource: &Resource, key: &ObjectKey, form: Portion) -> Result<Got, Failure> {
        let got = self.cluster.get(resource, vec![key.clone()], form, &|| {});
        let mut got = got.map_err(|broken| unavailable(&self.cluster, &resource.name(), &broken))?;
        match got.pop() {
            Some((_, Got::Failed(broken))) => Err(unavailable(&self.cluster, &resource.name(), &broken)),
            Some((_, got)) => Ok(got),
            None => Err(Failure::bug("nothing came of asking for an object")),
        }
    }

    pub(super) fn find_namespace(&self, name: &Namespace) -> Result<(), Failure> {
        match self.namespace(name)? {
            Got::Absent => Err(Failure::usage(
                format!("cluster {} has no namespace {name}", self.cluster.context),
                "Check that this is k0rdent's management cluster. If k0rdent runs in another namespace there, name it \
                 with --system-namespace NAME.",
            )),
            _ => Ok(()),
        }
    }

    fn namespace(&self, name: &Namespace) -> Result<Got, Failure> {
        let key = ObjectKey::namespace(name);
        let Some(resource) = core_resource(&key.kind) else { return Err(Failure::bug("Namespaces are not known")) };
        match self.get(&resource, &key, Portion::Metadata)? {
            Got::Forbidden => Err(self.refused("get", &resource, Some(&key))),
            got => Ok(got),
        }
    }

    /// A namespace's labels; none where it is not there.
    pub(super) fn labels(&self, name: &Namespace) -> Result<BTreeMap<String, String>, Failure> {
        let Got::Found(node, _) = self.namespace(name)? else { return Ok(BTreeMap::new()) };
        let entries = node.at(&["metadata", "labels"]).map(Node::entries).unwrap_or_default();
        let text = |(key, value): &(pouch_core::node::Key, Node)| Some((key.to_string(), value.as_str()?.to_owned()));
        Ok(entries.iter().filter_map(text).collect())
    }

    /// The ClusterProfiles and Clusters of the cluster registry that the cluster has, and what could not be seen of them.
    /// Nothing that has to be known hangs on them.
    pub(super) fn inventories(&self) -> (Inventories, Vec<String>) {
        let (mut inventories, mut unseen) = (Inventories::default(), Vec::new());
        for kind in [GroupKind::new(MULTICLUSTER, "ClusterProfile"), GroupKind::new(REGISTRY, "Cluster")] {
            if let Some(broken) = self.served.unknown.get(kind.group.as_str()) {
                unseen.push(self.cluster.trouble(&format!("the API group {}", kind.group), broken));
                continue;
            }
            let Some((resource, _)) = self.served.kinds.get(&kind) else { continue };
            match self.cluster.list(resource, None, Portion::Whole, &|_| {}) {
                Ok(listing) => listing.items.into_iter().for_each(|(_, _, document)| inventories.add(document)),
                Err(ListError::Forbidden) => unseen.push(self.cluster.refusal("list", resource, None, None)),
                Err(ListError::Broken(broken)) => unseen.push(self.cluster.trouble(&resource.name(), &broken)),
            }
        }
        (inventories, unseen)
    }

    pub(super) fn regions(&self) -> Result<Vec<KnownRegion>, Failure> {
        let context = &self.cluster.context;
        let Some(listing) = self.list("Region")? else {
            return Err(Failure::unavailable(
                format!("cluster {context} serves no Region.{}", k0rdent::GROUP),
                "Check that the context is that of k0rdent's management cluster, and that k0rdent is 1.4 or newer.",
            ));
        };
        let regions = listing.items.into_iter().map(|(key, _, node)| KnownRegion {
            name: Region::new(key.name.shared()),
            deployment: node.str_at(&["spec", "clusterDeployment", "name"]).map(Name::from),
        });
        let regions: Vec<KnownRegion> = regions.collect();
        match regions.iter().map(|region| &region.name).find(|name| !is_dns_subdomain(name.as_str())) {
            Some(name) => Err(Failure::unavailable(
                format!("cluster {context} has a Region that no configuration can name: {name}"),
                "Kubernetes takes no such name; find out what is between pouch and the API server.",
            )),
            None => Ok(regions),
        }
    }

    /// The release that runs. None only where there is no Management, or it names none that tells.
    ///
    /// # Errors
    /// Where the Management or its Release may be there and cannot be read.
    pub(super) fn release(&self) -> Result<Option<Numbers>, Failure> {
        let Some(management) = self.object("Management", MANAGEMENT)? else { return Ok(None) };
        let Some(name) = management.str_at(&["spec", "release"]).filter(|name| is_dns_subdomain(name)) else {
            return Ok(None);
        };
        let release = self.object("Release", name)?;
        let told = release.as_ref().and_then(|release| release.str_at(&["spec", "version"]));
        Ok(told.and_then(Numbers::of_version).or_else(|| Numbers::of_name(name)))
    }

    /// A cluster-scoped object of k0rdent's; none where its kind is not served, or the server says that
    /// there is none.
    fn object(&self, kind: &str, name: &str) -> Result<Option<Node>, Failure> {
        let Some(resource) = self.resource(kind) else { return Ok(None) };
        let key = ObjectKey::new(GroupKind::new(k0rdent::GROUP, kind), None, name.into());
        match self.get(resource, &key, Portion::Whole)? {
            Got::Found(node, _) => Ok(Some(node)),
            Got::Absent => Ok(None),
            Got::Forbidden => Err(self.refused("get", resource, Some(&key))),
            Got::Failed(broken) => Err(unavailable(&self.cluster, &resource.name(), &broken)),
        }
    }

    pub(super) fn interfaces(&self) -> Result<Interfaces, Failure> {
        let listing = self.list("ProviderInterface")?;
        Ok(if listing.is_some_and(|listing| !listing.items.is_empty()) { Interfaces::Some } else { Interfaces::None })
    }

    fn refused(&self, verb: &str, resource: &Resource, key: Option<&ObjectKey>) -> Failure {
        let place = key.and_then(|key| key.namespace.as_ref());
        Failure::unavailable(self.cluster.refusal(verb, resource, place, key.map(|key| &key.name)), RIGHTS)
    }
}

fn unavailable(cluster: &Cluster, what: &str, broken: &Broken) -> Failure {
    Failure::unavailable(cluster.trouble(what, broken), broken.help())
}
