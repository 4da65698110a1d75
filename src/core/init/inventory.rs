//! Which regions a management cluster's inventories describe, beside its Regions: a draft of them, and of their ties.
//!
//! A ClusterProfile or a Cluster of the cluster registry makes no region by itself; here it only makes a draft that
//! somebody reads. What shows beyond doubt that two objects are of one cluster joins them; a name alone is a guess, which is
//! written and not in force.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use super::scalar::scalar;
use crate::finding::{Origin, Place};
use crate::inventory::profile::{self, CLUSTER_ID, CLUSTER_SET, Profile, mark};
use crate::inventory::registry::{self, Registered};
use crate::kinds::{MULTICLUSTER, REGISTRY, Scopes};
use crate::name::{Name, Namespace, Region, SourceName, is_dns_subdomain};
use crate::node::Node;
use crate::object::{KeepNothing, admit};

/// A Region of k0rdent, as far as names tell which cluster it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownRegion {
    /// Its name.
    pub name: Region,
    /// The ClusterDeployment that it is made from.
    pub deployment: Option<Name>,
}

/// What a management cluster's inventories have.
#[derive(Default)]
pub struct Inventories {
    /// The ClusterProfiles, by namespace and name.
    pub profiles: BTreeMap<(Namespace, Name), Profile>,
    /// The Clusters of the cluster registry.
    pub clusters: BTreeMap<Name, Registered>,
}

impl Inventories {
    /// Adds an object that a cluster listed; what cannot be read of it is left out.
    pub fn add(&mut self, document: Node) {
        // What is drafted says nothing of where it stands.
        let origin = Origin { source: SourceName::from(""), place: Place::Whole };
        let Ok(object) = admit(document, origin, &Scopes::new(), None, &KeepNothing) else { return };
        let name = object.key.name.clone();
        match &object.key.namespace {
            Some(namespace) if object.key.kind.is(MULTICLUSTER, "ClusterProfile") => {
                self.profiles.insert((namespace.clone(), name), profile::read(&object).0);
            }
            None if object.key.kind.is(REGISTRY, "Cluster") => {
                self.clusters.insert(name, registry::read(&object).0);
            }
            _ => {}
        }
    }
}

/// What a region may be tied to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TiedTo {
    /// A ClusterProfile.
    Profile(Namespace, Name),
    /// A Cluster of the cluster registry.
    Registry(Name),
}

impl TiedTo {
    /// The field of `inventory`, and what stands there.
    pub(super) fn field(&self) -> String {
        match self {
            Self::Profile(namespace, name) => {
                let (namespace, name) = (scalar(namespace.as_str()), scalar(name.as_str()));
                format!("clusterProfile: {{namespace: {namespace}, name: {name}}}")
            }
            Self::Registry(name) => format!("registryCluster: {}", scalar(name.as_str())),
        }
    }
}

/// The object, for people.
impl fmt::Display for TiedTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(namespace, name) => write!(f, "ClusterProfile {namespace}/{name}"),
            Self::Registry(name) => write!(f, "registry Cluster {name}"),
        }
    }
}

/// A tie in the making.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DraftTie {
    /// The object.
    pub to: TiedTo,
    /// Whether it is in force; a guess is not.
    pub sure: bool,
}

/// A region with its ties.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DraftTies {
    /// The ties, the first of each kind.
    pub ties: Vec<DraftTie>,
    /// Further objects of the same cluster, to which nothing is tied.
    pub others: Vec<TiedTo>,
    /// Whether there is a Region of k0rdent's for it; without, no Credential names the region.
    pub is_known: bool,
}

/// The regions of a draft, and the objects that are no region.
#[derive(Default, Debug)]
pub struct Described {
    /// The regions: all that k0rdent has, and those that only the inventories have.
    pub regions: BTreeMap<Region, DraftTies>,
    /// What was left out, each with why.
    pub left_out: Vec<(TiedTo, &'static str)>,
}

/// What is known of one object of an inventory.
struct Item<'a> {
    to: TiedTo,
    /// What no two clusters share.
    marks: BTreeSet<String>,
    /// The names that people may have given the cluster, the best one first.
    names: Vec<&'a str>,
    /// Why it is no region, if so.
    no_region: Option<&'static str>,
}

/// The most regions that inventories alone bring into a draft: each gets a key pair.
const MOST_REGIONS: usize = 100;

/// Why a ClusterProfile is no region where it may be a tenant's.
const MAY_BE_TENANTS: &str = "several namespaces have ClusterProfiles, and one of them may be a tenant's; if it is a region, add it to `regions`";

/// Drafts the regions and their ties.
///
/// Where several namespaces have ClusterProfiles nobody knows whose they are: none of them makes a region then.
pub fn describe(known: &[KnownRegion], inventories: &Inventories) -> Described {
    let mut described = Described::default();
    for region in known {
        described.regions.insert(region.name.clone(), DraftTies { is_known: true, ..DraftTies::default() });
    }
    let namespaces: BTreeSet<&Namespace> = inventories.profiles.keys().map(|(namespace, _)| namespace).collect();
    let mut unnamed = Vec::new();
    for group in joined(items(inventories)) {
        if let Some(why) = group.iter().find_map(|item| item.no_region) {
            described.left_out.extend(group.into_iter().map(|item| (item.to, why)));
            continue;
        }
        let names: BTreeSet<&str> = group.iter().flat_map(|item| item.names.iter().copied()).collect();
        let has_name = |region: &&KnownRegion| {
            let deployment = region.deployment.as_ref().map(Name::as_str);
            names.contains(region.name.as_str()) || deployment.is_some_and(|name| names.contains(name))
        };
        let mut regions = known.iter().filter(has_name);
        match (regions.next(), regions.next()) {
            (None, _) if namespaces.len() > 1 => {
                let is_registered = |item: &Item<'_>| matches!(item.to, TiedTo::Registry(_));
                let (registered, profiles): (Vec<_>, Vec<_>) = group.into_iter().partition(is_registered);
                described.left_out.extend(profiles.into_iter().map(|item| (item.to, MAY_BE_TENANTS)));
                unnamed.push(registered);
            }
            (None, _) => unnamed.push(group),
            // A name proves nothing, so the tie is not in force.
            (Some(region), None) => add(&mut described, &region.name, group, false),
            (Some(_), Some(_)) => {
                let why = "several Regions could be its cluster";
                described.left_out.extend(group.into_iter().map(|item| (item.to, why)));
            }
        }
    }
    // ClusterProfiles come first, and a Cluster of the registry that only has the name of one is perhaps the same.
    unnamed.sort_by(|a, b| a.first().map(|item| &item.to).cmp(&b.first().map(|item| &item.to)));
    let mut made = 0;
    for group in unnamed {
        let Some(first) = group.first() else { continue };
        if made == MOST_REGIONS {
            let why = "inventories have brought 100 regions into the draft already";
            described.left_out.extend(group.into_iter().map(|item| (item.to, why)));
            continue;
        }
        let name = first.names.first().copied().unwrap_or_default();
        let region = Region::from(name);
        let is_guess = matches!(first.to, TiedTo::Registry(_))
            && described.regions.get(&region).is_some_and(|it| !it.is_known && !has_registry(it));
        match is_guess {
            true => add(&mut described, &region, group, false),
            false => {
                let region = free(&described, &first.to, name);
                add(&mut described, &region, group, true);
                made += 1;
            }
        }
    }
    described
}

fn has_registry(ties: &DraftTies) -> bool {
    ties.ties.iter().any(|tie| matches!(tie.to, TiedTo::Registry(_)))
}

/// A name for a region that no other has.
fn free(described: &Described, to: &TiedTo, name: &str) -> Region {
    let wider = match to {
        TiedTo::Profile(namespace, _) => format!("{namespace}-{name}"),
        TiedTo::Registry(_) => format!("registry-{name}"),
    };
    let numbered = (2_usize..).map(|number| format!("{wider}-{number}"));
    let mut names = [name.to_string(), wider.clone()].into_iter().chain(numbered).map(|name| Region::from(&*name));
    names.find(|name| !described.regions.contains_key(name)).unwrap_or_else(|| Region::from(name))
}

/// Ties a region to objects of one cluster.
fn add(described: &mut Described, region: &Region, group: Vec<Item<'_>>, sure: bool) {
    let entry = described.regions.entry(region.clone()).or_default();
    for Item { to, .. } in group {
        let is_profile = matches!(to, TiedTo::Profile(..));
        let is_taken = entry.ties.iter().any(|tie| matches!(tie.to, TiedTo::Profile(..)) == is_profile);
        if is_taken { entry.others.push(to) } else { entry.ties.push(DraftTie { to, sure }) }
    }
}

fn items(inventories: &Inventories) -> Vec<Item<'_>> {
    let profiles = inventories.profiles.iter().map(|((namespace, name), profile)| {
        let mut marks: BTreeSet<String> =
            profile.access.iter().map(|access| format!("server {}", mark(&access.cluster))).collect();
        let property = |name: &str| profile.properties.get(name);
        if let Some(id) = property(CLUSTER_ID) {
            // The ID is unique within a set only, unless it is the UID that the registry has too.
            marks.extend(is_uid(id).then(|| format!("uid {id}")));
            marks.extend(property(CLUSTER_SET).map(|set| format!("cluster {id} of set {set}")));
        }
        let names = [Some(name.as_str()), profile.display.as_deref()].into_iter().flatten();
        Item {
            to: TiedTo::Profile(namespace.clone(), name.clone()),
            marks,
            names: names.filter(|name| is_dns_subdomain(name)).collect(),
            no_region: profile.deleting.then_some("it is being deleted"),
        }
    });
    let clusters = inventories.clusters.iter().map(|(name, registered)| {
        let servers = registered.servers.iter().map(|server| format!("server {server}"));
        let id = Some(&registered.id).filter(|id| !id.is_empty()).map(|id| format!("uid {id}"));
        Item {
            to: TiedTo::Registry(name.clone()),
            marks: servers.chain(id).collect(),
            names: [name.as_str()].into_iter().filter(|name| is_dns_subdomain(name)).collect(),
            no_region: match (registered.deleting, registered.local) {
                (true, _) => Some("it is being deleted"),
                (_, true) => Some("it is the management cluster itself"),
                _ => None,
            },
        }
    });
    // No name is a name of a region, and no cluster has two.
    profiles.chain(clusters).filter(|item| !item.names.is_empty()).collect()
}

/// The objects that are of one cluster by a mark, each group in the order of its objects.
fn joined(items: Vec<Item<'_>>) -> Vec<Vec<Item<'_>>> {
    let mut group_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<Item<'_>>> = Vec::new();
    for item in items {
        let found: BTreeSet<usize> = item.marks.iter().filter_map(|mark| group_of.get(mark)).copied().collect();
        let mut found = found.into_iter();
        let index = found.next().unwrap_or(groups.len());
        if index == groups.len() {
            groups.push(Vec::new());
        }
        // What held two groups apart until now was that nobody had seen this object.
        for other in found {
            let moved = groups.get_mut(other).map(core::mem::take).unwrap_or_default();
            for mark in moved.iter().flat_map(|item| &item.marks) {
                group_of.insert(mark.clone(), index);
            }
            if let Some(group) = groups.get_mut(index) {
                group.extend(moved);
            }
        }
        group_of.extend(item.marks.iter().map(|mark| (mark.clone(), index)));
        if let Some(group) = groups.get_mut(index) {
            group.push(item);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups.iter_mut().for_each(|group| group.sort_by(|a, b| a.to.cmp(&b.to)));
    groups
}

/// Whether a text has the form of a UID of Kubernetes.
fn is_uid(text: &str) -> bool {
    let is_at = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, yaml};

    const UID: &str = "995ba61b-0073-4e42-89e2-18282b1801ac";

    fn profile(name: &str, rest: &str) -> String {
        let (namespace, name) = name.split_once('/').unwrap();
        format!(
            "{{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {{name: {name}, namespace: {namespace}}}, \
             spec: {{clusterManager: {{name: ocm}}}}, status: {{{rest}}}}}"
        )
    }

    fn served_at(server: &str) -> String {
        format!("accessProviders: [{{name: p, cluster: {{server: '{server}'}}}}]")
    }

    fn cluster(name: &str, id: &str, endpoints: &str, status: &str) -> String {
        format!(
            "{{apiVersion: clusterregistry.k8s.cisco.com/v1alpha1, kind: Cluster, metadata: {{name: {name}}}, \
             spec: {{clusterID: '{id}', kubernetesApiEndpoints: [{endpoints}]}}, status: {{{status}}}}}"
        )
    }

    /// `region: tie, (guess), +other`, one line each, then what was left out.
    fn drafted(known: &[(&str, &str)], documents: &[String]) -> String {
        let known: Vec<KnownRegion> = known
            .iter()
            .map(|(name, deployment)| KnownRegion {
                name: Region::from(*name),
                deployment: Some(*deployment).filter(|name| !name.is_empty()).map(Name::from),
            })
            .collect();
        let mut inventories = Inventories::default();
        documents.iter().for_each(|document| inventories.add(node(&yaml(document))));
        let described = describe(&known, &inventories);
        let mut lines: Vec<String> = Vec::new();
        for (region, ties) in &described.regions {
            let mut line = format!("{region}{}:", if ties.is_known { "" } else { " new" });
            for tie in &ties.ties {
                line += &if tie.sure { format!(" {}", tie.to) } else { format!(" ({})", tie.to) };
            }
            ties.others.iter().for_each(|other| line += &format!(" +{other}"));
            lines.push(line);
        }
        let short = |why: &&'static str| if *why == MAY_BE_TENANTS { "MAY_BE" } else { *why };
        let mut left_out: Vec<String> =
            described.left_out.iter().map(|(object, why)| format!("not {object}: {}", short(why))).collect();
        left_out.sort();
        lines.extend(left_out);
        lines.join("\n")
    }

    #[track_caller]
    fn check(known: &[(&str, &str)], documents: &[String], expect: &str) {
        assert_eq!(drafted(known, documents), expect);
        // In whatever order they are listed.
        let back: Vec<String> = documents.iter().rev().cloned().collect();
        assert_eq!(drafted(known, &back), expect);
    }

    #[test]
    fn a_name_alone_is_a_guess_and_what_no_region_has_is_a_new_one() {
        check(
            &[("eu", ""), ("us", "us-deployment")],
            &[
                profile("fleet/eu", ""),
                profile("fleet/us-deployment", ""),
                profile("fleet/ap", &served_at("https://ap")),
                cluster("af", UID, "", ""),
            ],
            "af new: registry Cluster af\nap new: ClusterProfile fleet/ap\neu: (ClusterProfile fleet/eu)\nus: (ClusterProfile fleet/us-deployment)",
        );
        check(
            &[("a", "b"), ("b", "")],
            &[profile("fleet/b", "")],
            "a:\nb:\nnot ClusterProfile fleet/b: several Regions could be its cluster",
        );
        check(&[], &[], "");
    }

    #[test]
    fn no_cluster_is_two_regions() {
        let id = |id: &str, set: &str| {
            format!(
                "properties: [{{name: cluster.clusterset.k8s.io, value: '{id}'}}, {{name: clusterset.k8s.io, value: {set}}}]"
            )
        };
        // By the server, in whatever spelling, the ID within a set, and the UID that the registry has.
        check(
            &[],
            &[
                profile("f/x", &served_at("https://X.example.com")),
                profile("f/xx", &served_at("https://x.example.com:443/")),
                cluster("z", "", "{serverAddress: 'x.example.com:443'}", ""),
            ],
            "x new: ClusterProfile f/x registry Cluster z +ClusterProfile f/xx",
        );
        check(
            &[],
            &[profile("f/x", &id("c-1", "s")), profile("f/xx", &id("c-1", "s"))],
            "x new: ClusterProfile f/x +ClusterProfile f/xx",
        );
        check(
            &[],
            &[profile("f/x", &id("c-1", "s")), profile("f/xx", &id("c-1", "t"))],
            "x new: ClusterProfile f/x\nxx new: ClusterProfile f/xx",
        );
        check(
            &[],
            &[profile("f/x", &id(UID, "s")), cluster("z", UID, "", "")],
            "x new: ClusterProfile f/x registry Cluster z",
        );
        // What joins two may come last.
        let both = format!("{}, {}", served_at("https://one"), id("c-1", "s"));
        check(
            &[],
            &[profile("f/x", &served_at("https://one")), profile("f/xx", &id("c-1", "s")), profile("f/zz", &both)],
            "x new: ClusterProfile f/x +ClusterProfile f/xx +ClusterProfile f/zz",
        );
        // An address within a network is none outside of it.
        let private = "{serverAddress: '10.0.0.1:443', clientNetwork: n}";
        check(
            &[],
            &[cluster("w", "1", private, ""), cluster("z", "2", private, "")],
            "w new: registry Cluster w\nz new: registry Cluster z",
        );
        // With the same name alone, it is a guess.
        check(&[], &[profile("f/x", ""), cluster("x", UID, "", "")], "x new: ClusterProfile f/x (registry Cluster x)");
        // A Region's cluster is no second one.
        check(
            &[("eu", "")],
            &[profile("f/eu", &served_at("https://one")), profile("f/other", &served_at("https://one"))],
            "eu: (ClusterProfile f/eu) +ClusterProfile f/other",
        );
    }

    #[test]
    fn what_is_no_region_is_said_and_no_name_is_taken_twice() {
        check(
            &[],
            &[
                cluster("hub", UID, "", "type: Local"),
                profile("a/hub-profile", &format!("properties: [{{name: cluster.clusterset.k8s.io, value: {UID}}}]")),
                profile("a/x", &served_at("https://one")),
                profile("b/x", &served_at("https://two")),
                cluster("x", "1", "", ""),
                cluster("b-x", "2", "", ""),
            ],
            "b-x new: registry Cluster b-x\nx new: registry Cluster x\n\
             not ClusterProfile a/hub-profile: it is the management cluster itself\nnot ClusterProfile a/x: MAY_BE\n\
             not ClusterProfile b/x: MAY_BE\n\
             not registry Cluster hub: it is the management cluster itself",
        );
    }

    #[test]
    fn no_tenant_brings_its_own_region_or_takes_a_name() {
        check(
            &[("eu", "")],
            &[
                profile("fleet/eu", ""),
                profile("fleet/us", &served_at("https://us")),
                profile("team-a/af", &served_at("https://af")),
                profile("team-a/us", &served_at("https://mine")),
                cluster("af", UID, "{serverAddress: 'af:443'}", ""),
            ],
            "af new: registry Cluster af\neu: (ClusterProfile fleet/eu)\n\
             not ClusterProfile fleet/us: MAY_BE\nnot ClusterProfile team-a/af: MAY_BE\n\
             not ClusterProfile team-a/us: MAY_BE",
        );
    }

    #[test]
    fn inventories_bring_no_more_regions_than_somebody_reads() {
        let documents: Vec<String> = (0..=MOST_REGIONS).map(|n| profile(&format!("fleet/r{n:03}"), "")).collect();
        let drafted = drafted(&[], &documents);
        assert_eq!(drafted.matches(" new: ").count(), MOST_REGIONS);
        let last = "\nnot ClusterProfile fleet/r100: inventories have brought 100 regions into the draft already";
        assert!(drafted.ends_with(last), "{drafted}");
    }
}
