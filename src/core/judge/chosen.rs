//! Chosen: ClusterResourceSets that choose no Cluster of their own namespace, and would choose one of another.
//!
//! Cluster API looks for Clusters in the namespace of the set alone. Files do not prove that there are no others: so nothing is
//! said where some Cluster or set may be unseen, where no Clusters are read, or where k0rdent makes some.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::capi::cluster::cluster_kind;
use crate::capi::resource_set::{self, resource_set_kind};
use crate::claim::{Asked, deployments};
use crate::config::{Source, SourcePlace};
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Region};
use crate::node::Node;
use crate::object::Object;
use crate::selector::{Label, Selector, Truth};
use crate::world::World;

/// Gives the sets that deliver to no Cluster, because one that they would choose is in another namespace.
pub(super) fn astray(world: &World<'_>) -> Vec<Finding> {
    if !world.fleet.chooses_clusters() {
        return Vec::new();
    }
    let field = Field::of(world);
    let taken = world.facts.asked().iter().filter(|asked| asked.by.is_resource_set() && asked.claim.is_some());
    taken.filter_map(|asked| field.look(asked)).collect()
}

/// The Clusters that sets may choose among, and the sets.
struct Field<'w> {
    world: &'w World<'w>,
    /// All Clusters of each namespace.
    clusters: BTreeMap<&'w Namespace, Vec<&'w Object>>,
    /// The Clusters that have a label.
    labelled: BTreeMap<(&'w str, &'w str), Vec<&'w Object>>,
    /// The selectors of all sets of each namespace, taken or not; none of those that cannot be read.
    selectors: BTreeMap<&'w Namespace, Vec<Option<Selector>>>,
    /// The namespaces in which k0rdent makes Clusters.
    made: BTreeSet<&'w Namespace>,
}

impl<'w> Field<'w> {
    fn of(world: &'w World<'w>) -> Self {
        let snapshot = world.snapshot;
        let (mut clusters, mut labelled): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        for cluster in snapshot.all(&cluster_kind()) {
            cluster.key.namespace.iter().for_each(|namespace| clusters.entry(namespace).or_default().push(cluster));
            let labels = cluster.matched.iter().flat_map(|matched| matched.labels.entries());
            for (key, value) in labels.filter_map(|(key, value)| Some((&**key, value.as_str()?))) {
                labelled.entry((key, value)).or_default().push(cluster);
            }
        }
        let mut selectors: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for set in snapshot.all(&resource_set_kind()) {
            let selector = resource_set::read(&set.body).ok().map(|says| says.selector);
            set.key.namespace.iter().for_each(|it| selectors.entry(it).or_default().push(selector.clone()));
        }
        let made = snapshot.all(&deployments::kind()).filter_map(|object| object.key.namespace.as_ref()).collect();
        Self { world, clusters, labelled, selectors, made }
    }

    /// The finding about a set that chooses no Cluster, while one elsewhere has the labels.
    fn look(&self, asked: &Asked) -> Option<Finding> {
        let set = self.world.snapshot.get(&kinds::claimant(&asked.by)?)?;
        let selector = resource_set::read(&set.body).ok()?.selector;
        let (namespace, region) = (asked.by.namespace(), asked.region.as_ref()?);
        let own = self.clusters.get(namespace).into_iter().flatten();
        let mut copies = own.flat_map(|cluster| self.world.snapshot.copies(&cluster.key));
        if copies.any(|cluster| chooses(&selector, cluster) != Truth::No) || !self.knows_clusters(namespace) {
            return None;
        }
        // Without a label that it needs, a set chooses nearly all: that one of them stands elsewhere tells nothing.
        let (key, values) = selector.needs()?;
        let has_one = |value| self.labelled.get(&(key, value)).into_iter().flatten().copied();
        let mut meant = values.iter().flat_map(|value| has_one(&**value));
        let meant = meant.find(|cluster| self.is_meant(region, &selector, cluster))?;
        Some(tell(asked, set, region, meant))
    }

    /// Returns true if a set for a region could be meant to choose a Cluster, and no set of the Cluster's own namespace has the selector.
    fn is_meant(&self, region: &Region, selector: &Selector, cluster: &Object) -> bool {
        let Some(namespace) = cluster.key.namespace.as_ref() else { return false };
        let is_same = |own: &Option<Selector>| own.as_ref().is_none_or(|own| own == selector);
        let has_own = || self.selectors.get(namespace).into_iter().flatten().any(is_same);
        self.world.fleet.may_take(&cluster.origin.source, region)
            && chooses(selector, cluster) == Truth::Yes
            && !has_own()
            && self.knows(&resource_set_kind(), namespace)
    }

    /// Returns true if all Clusters that there are in a namespace were read.
    fn knows_clusters(&self, namespace: &Namespace) -> bool {
        let may_be_made = || self.world.snapshot.unread_in(&deployments::kind(), Some(namespace)).is_some();
        self.knows(&cluster_kind(), namespace) && !self.made.contains(namespace) && !may_be_made()
    }

    /// Returns true if all objects of a kind in a namespace were read. A live cluster lists claimants where a region takes some of it.
    fn knows(&self, kind: &GroupKind, namespace: &Namespace) -> bool {
        let World { fleet, snapshot, .. } = *self.world;
        let key = ObjectKey::new(kind.clone(), Some(namespace.clone()), Name::from(""));
        let is_unlisted = |source: &Source| {
            matches!(source.place, SourcePlace::Cluster { .. })
                && !fleet.takes(&source.name, kind)
                && source.provides.admits(&key, &fleet.guarded)
        };
        snapshot.unread_in(kind, Some(namespace)).is_none() && !fleet.sources.iter().any(is_unlisted)
    }
}

/// Returns true if a selector chooses a Cluster, by its labels as they are written.
fn chooses(selector: &Selector, cluster: &Object) -> Truth {
    let matched = cluster.matched.as_ref().filter(|_| !cluster.is_mistyped());
    let Some(matched) = matched.filter(|it| it.unclear.as_ref().is_none_or(|unclear| !unclear.labels)) else {
        return Truth::Unknown;
    };
    if !matches!(matched.labels, Node::Map(_) | Node::Null) {
        return Truth::Unknown;
    }
    selector.matches(|key| match matched.labels.get(key).map(|value| value.as_str()) {
        Some(Some(value)) => Label::Is(value),
        Some(None) => Label::Unknown,
        None => Label::Absent,
    })
}

fn tell(asked: &Asked, set: &Object, region: &Region, meant: &Object) -> Finding {
    let message = format!(
        "clusterSelector chooses no Cluster of namespace {}, and a set delivers nothing to another: {} has the labels",
        asked.by.namespace(),
        meant.key.path()
    );
    let help = "Put the set and its payloads into the namespace of the Cluster, or correct the selector.";
    let finding = Finding::new(Code::NothingDelivered, message).about(&set.key).at(&set.origin);
    finding.claimed_by(&asked.by).in_region(region).help(help)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;
    use crate::testing::case::{Document, Scene};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};

    /// The set is taken, and so are Clusters.
    const TAKES: &str = "{regions: {eu: {resourceSets: ['a/*'], clusters: ['*/*']}}}";

    fn cluster(namespace: &str, label: &str) -> String {
        format!(
            "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: c, namespace: {namespace}, labels: {{{label}}}}}}}"
        )
    }

    fn set(namespace: &str, selector: &str) -> String {
        format!(
            "{{apiVersion: addons.cluster.x-k8s.io/v1beta2, kind: ClusterResourceSet, metadata: {{name: s, namespace: \
             {namespace}}}, spec: {{clusterSelector: {selector}, strategy: Reconcile, resources: [{{kind: Secret, name: p}}]}}}}"
        )
    }

    fn desk(config: &str, documents: &[String]) -> Desk {
        let document = |text: &String| Document { source: "all".into(), node: node(&yaml(text)), line: 1 };
        let documents = documents.iter().map(document).collect();
        Desk::new(&Scene { config: yaml(config), documents, incomplete: Vec::new(), run: yaml("{}") })
    }

    /// The messages about the set of namespace a, where the sources have these objects, too.
    fn said_by(config: &str, others: &[&str]) -> Vec<String> {
        let own = set("a", "{matchLabels: {x: z}}");
        let documents: Vec<String> = [own].into_iter().chain(others.iter().map(|it| String::from(*it))).collect();
        astray(&desk(config, &documents).world()).into_iter().map(|finding| finding.message).collect()
    }

    fn said(others: &[&str]) -> Vec<String> {
        said_by(TAKES, others)
    }

    #[test]
    fn a_set_whose_cluster_is_in_another_namespace_is_told() {
        let (elsewhere, here, other) = (cluster("b", "x: z"), cluster("a", "x: z"), cluster("d", "x: w"));
        let told = "clusterSelector chooses no Cluster of namespace a, and a set delivers nothing to another: b/c has the labels";
        assert_eq!(said(&[&elsewhere]), [told]);
        assert_eq!(said(&[&elsewhere, &other]), [told]);
        assert!(said(&[]).is_empty() && said(&[&other]).is_empty());
        assert!(said(&[&elsewhere, &here]).is_empty(), "it chooses one of its own");
        assert_eq!(said(&[&elsewhere, &cluster("a", "x: w")]), [told], "its own has other labels");
        // A set of b, which no region takes.
        let theirs = set("b", "{matchLabels: {x: z}}");
        assert!(said(&[&elsewhere, &theirs]).is_empty(), "each namespace has its own set");
        assert_eq!(said(&[&elsewhere, &set("b", "{matchLabels: {x: w}}")]), [told], "their set is for others");
    }

    #[test]
    fn where_a_cluster_may_be_unseen_nothing_is_told() {
        let elsewhere = cluster("b", "x: z");
        assert_eq!(said(&[&elsewhere]).len(), 1);
        let lost = |kind: &str| format!("{{apiVersion: {kind}, metadata: {{nmae: d, namespace: a}}}}");
        for kind in [
            "cluster.x-k8s.io/v1beta2, kind: Cluster",
            "addons.cluster.x-k8s.io/v1beta2, kind: ClusterResourceSet",
            "k0rdent.mirantis.com/v1beta1, kind: ClusterDeployment",
        ] {
            let lost = match kind.starts_with("addons") {
                true => lost(kind).replace("namespace: a", "namespace: b"),
                false => lost(kind),
            };
            assert!(said(&[&elsewhere, &lost]).is_empty(), "{kind}");
        }
        let deployment = "{apiVersion: k0rdent.mirantis.com/v1beta1, kind: ClusterDeployment, metadata: {name: d, namespace: a}, \
            spec: {credential: k}}";
        assert!(said(&[&elsewhere, deployment]).is_empty(), "k0rdent makes one in its namespace");
        let of_others = deployment.replace("namespace: a", "namespace: b");
        assert_eq!(said(&[&elsewhere, &of_others]).len(), 1);
        let unclear = cluster("a", "").replace("labels: {}", "labels: [x]");
        assert!(said(&[&elsewhere, &unclear]).is_empty(), "the labels of its own are unknown");
    }

    /// A live cluster of which no region takes Clusters is not asked for them.
    #[test]
    fn where_a_cluster_was_not_listed_nothing_is_told() {
        let elsewhere = cluster("b", "x: z");
        let live = |more: &str| {
            format!(
                "{{sources: [{{name: all, provides: {{namespaces: ['*'], clusterScoped: true}}}}, {{name: hub, {more} cluster: \
                 {{context: hub}}, provides: {{namespaces: [a]}}}}], regions: {{eu: {{resourceSets: ['a/*'], clusters: \
                 ['*/*']}}, us: {{}}}}}}"
            )
        };
        assert!(said_by(&live("region: us,"), &[&elsewhere]).is_empty());
        assert_eq!(said_by(&live("region: us,").replace("namespaces: [a]", "namespaces: [d]"), &[&elsewhere]).len(), 1);
    }

    /// Clusters are read where the configuration takes some: for a warning alone, no Cluster is read and none is wrong.
    #[test]
    fn a_fleet_with_sets_alone_reads_no_clusters() {
        let config = "{regions: {eu: {resourceSets: ['*/*']}}}";
        let wrong = cluster("a", "x: z").replace("name: c, ", "name: c, nmaespace: b, ");
        let desk_of =
            |config: &str| desk(config, &[set("a", "{matchLabels: {x: z}}"), cluster("b", "x: z"), wrong.clone()]);
        let read = |config: &str| desk_of(config).snapshot.all(&cluster_kind()).count();
        assert_eq!([read(config), read(TAKES)], [0, 2]);
        assert!(astray(&desk_of(config).world()).is_empty());
    }

    /// Copies of a Cluster differ by labels in a live cluster and in files: that is no contradiction.
    #[test]
    fn labels_make_no_copy_of_a_cluster_another() {
        let config = "{sources: [{name: all, provides: {namespaces: ['*'], clusterScoped: true}}, {name: more, provides: \
            {namespaces: ['*'], clusterScoped: true}}], regions: {eu: {resourceSets: ['a/*'], clusters: ['*/*']}}}";
        let copies = |label: &str| {
            let document =
                |source: &str, text: &str| Document { source: source.into(), node: node(&yaml(text)), line: 1 };
            let documents = alloc::vec![document("all", &cluster("b", "x: z")), document("more", &cluster("b", label))];
            let desk = Desk::new(&Scene { config: yaml(config), documents, incomplete: Vec::new(), run: yaml("{}") });
            let key = ObjectKey::new(cluster_kind(), Some("b".into()), "c".into());
            desk.snapshot.agreeing(&key).count()
        };
        assert_eq!([copies("x: z"), copies("x: w")], [2, 2]);
    }
}
