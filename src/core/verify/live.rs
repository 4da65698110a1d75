//! Verify: whether a region is what its bundle says.
//!
//! [`open`] takes a published bundle apart, and believes of it what its manifest vouches for; what must
//! be asked of the region is [`Bundle::questions`], and [`compare::compare`] makes findings of the answers.
//! Nothing here decrypts: what a Secret's values should be is known by the tags of its file alone.
//! Values, and how long they are, never stand in a finding. No client and no file is known here.

pub mod compare;
pub mod guests;
pub(crate) mod stale;
pub mod tally;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi;
use crate::capi::cluster::CLUSTERS;
use crate::capi::resource_set::ADDONS;
use crate::config::{Fleet, RegionConfig};
use crate::finding::{Code, Finding};
use crate::layout::Leaf;
use crate::layout::manifest::Manifest;
use crate::name::{GroupKind, Namespace, ObjectKey, Version};
use crate::node::Node;
use crate::region::published::{Published, State};
use crate::reuse::KeyRing;

/// A region's published bundle, as far as it is believed.
pub struct Bundle<'p> {
    fleet: &'p Fleet,
    region: &'p RegionConfig,
    manifest: &'p Manifest,
    objects: Vec<Expected<'p>>,
    keys: Option<&'p KeyRing>,
}

/// An object as the bundle wants it on the region.
struct Expected<'p> {
    key: &'p ObjectKey,
    version: Version,
    document: Node,
    bytes: &'p [u8],
}

/// What a region must be asked so that it can be compared with its bundle.
pub struct Questions {
    /// API groups whose kinds and versions must be known.
    pub groups: BTreeSet<String>,
    /// Objects to get as a whole, by kind and by the version that the bundle writes them in.
    pub objects: BTreeMap<GroupKind, BTreeMap<Version, Vec<ObjectKey>>>,
    /// Namespaces of which the metadata is wanted.
    pub namespaces: BTreeSet<Namespace>,
    /// Kinds whose objects with k0rdent's mark, or with pouch's label, are to be listed, metadata only, where that is
    /// allowed.
    pub listed: BTreeSet<GroupKind>,
    /// Namespaces whose Clusters, and ClusterResourceSetBindings, say what has arrived in guest clusters.
    pub guests: BTreeSet<Namespace>,
    /// Leaves of the bundle: a leaf stays as long as its region, so a kind that the configuration no longer knows has one
    /// yet. Kinds that are served and have a leaf are to be listed too.
    pub leaves: BTreeSet<Leaf>,
}

/// Takes a region's published bundle apart; none if nothing vouches for a manifest.
///
/// Without reuse keys the manifest is taken at its word ([`Published::unproved`]), and values cannot be compared;
/// findings say both.
pub fn open<'p>(
    fleet: &'p Fleet,
    region: &'p RegionConfig,
    published: &'p Published,
    keys: Option<&'p KeyRing>,
) -> (Option<Bundle<'p>>, Vec<Finding>) {
    let directory = &region.directory;
    let untrusted = |message: String, help: &str| {
        Finding::new(Code::UntrustedBundle, message).in_region(&region.name).help(String::from(help))
    };
    let manifest = match &published.state {
        State::Bundle(manifest) => manifest,
        State::Nothing => {
            let help = "Name the folder that holds the bundles: the output's, in a checkout of its branch.";
            return (None, Vec::from([untrusted(format!("nothing is published in regions/{directory}"), help)]));
        }
        State::Unsigned => {
            let message = match keys {
                Some(_) => format!(
                    "regions/{directory} has files and no manifest that the reuse key authenticates{}",
                    published.unfit()
                ),
                None => format!("regions/{directory} has files and no manifest of this fleet and folder"),
            };
            let help = "Check that these are this fleet's bundles, and that the reuse key is the one that they were written \
                 with.";
            return (None, Vec::from([untrusted(message, help)]));
        }
        State::Newer(version) => {
            let message = format!("the bundle of {directory} is written as {version}, which this pouch does not know");
            return (None, Vec::from([untrusted(message, "Use the pouch that wrote it, or a newer one.")]));
        }
    };
    let mut findings = Vec::new();
    if keys.is_none() {
        let message = "--no-values: nobody vouches for the bundle, and of Secrets only types and names of entries were \
                       compared";
        let help = "Run without --no-values where the reuse key is.";
        findings.push(Finding::new(Code::NotProved, message).in_region(&region.name).help(help));
    }
    for path in published.tampered() {
        let message = format!("{path} is missing or does not match the manifest");
        findings.push(untrusted(message, "Find out who changed it, and render or check out the bundle anew."));
    }
    let mut objects = Vec::new();
    for object in manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()) {
        let Some(bytes) = published.bytes(&object.key) else { continue };
        let document = published.document(&object.key);
        let version = document.as_ref().and_then(|document| version_of(document, &object.key.kind));
        match document.zip(version) {
            Some((document, version)) => objects.push(Expected { key: &object.key, version, document, bytes }),
            None => findings.push(untrusted(
                format!("{} does not hold the object that the manifest says", object.path),
                "This is not what pouch writes; render the bundle anew.",
            )),
        }
    }
    (Some(Bundle { fleet, region, manifest, objects, keys }), findings)
}

/// The version that a document is written in, if it is of this kind.
fn version_of(document: &Node, kind: &GroupKind) -> Option<Version> {
    let written = document.str_at(&["apiVersion"])?;
    let (group, version) = written.rsplit_once('/').unwrap_or(("", written));
    let is_kind = document.str_at(&["kind"]) == Some(kind.kind.as_str()) && kind.group == *group;
    is_kind.then(|| version.into())
}

impl Bundle<'_> {
    /// How many objects it has, Namespaces not counted.
    pub fn objects(&self) -> usize {
        self.manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()).count()
    }

    /// What the region must be asked.
    pub fn questions(&self) -> Questions {
        let mut objects: BTreeMap<GroupKind, BTreeMap<Version, Vec<ObjectKey>>> = BTreeMap::new();
        for Expected { key, version, .. } in &self.objects {
            let versions = objects.entry(key.kind.clone()).or_default();
            versions.entry(version.clone()).or_default().push((*key).clone());
        }
        let mut listed: BTreeSet<GroupKind> = capi::all().map(|rules| rules.group_kind()).collect();
        listed.extend(self.fleet.kinds.keys().cloned());
        listed.insert(GroupKind::new("", "Secret"));
        listed.insert(GroupKind::new("", "ConfigMap"));
        let directory = &self.region.directory;
        let files = self.manifest.files.iter().map(|file| file.path.as_str());
        let leaves: BTreeSet<Leaf> = files.filter_map(|path| Leaf::of_path(directory, path)).collect();
        let of_leaves = leaves.iter().filter_map(|leaf| Some(leaf.as_str().split_once('.')?.1));
        let guests = self.manifest.objects.iter().filter(|object| object.guest.is_some());
        let guests: BTreeSet<Namespace> = guests.filter_map(|object| object.key.namespace.clone()).collect();
        let of_guests = (!guests.is_empty()).then_some([CLUSTERS, ADDONS]).into_iter().flatten();
        let groups =
            listed.iter().chain(objects.keys()).map(|kind| kind.group.as_str()).chain(of_leaves).chain(of_guests);
        Questions {
            groups: groups.filter(|group| !group.is_empty()).map(String::from).collect(),
            objects,
            namespaces: self.namespaces().into_keys().collect(),
            listed,
            guests,
            leaves,
        }
    }

    /// The namespaces that the bundle concerns, and how.
    fn namespaces(&self) -> BTreeMap<Namespace, Part> {
        let mut namespaces: BTreeMap<Namespace, Part> = BTreeMap::new();
        let mut add = |namespace: &Namespace, part: Part| {
            let known = namespaces.entry(namespace.clone()).or_insert(part);
            *known = part.max(*known);
        };
        for object in &self.manifest.objects {
            match &object.key.namespace {
                Some(namespace) => add(namespace, Part::Landing),
                None if object.key.kind.is_namespace() => add(&Namespace::new(object.key.name.shared()), Part::Made),
                None => {}
            }
            for by in object.needed_by.iter().filter(|by| self.region.namespaces.labels.contains_key(by.by.namespace()))
            {
                add(by.by.namespace(), Part::Claiming);
            }
        }
        namespaces
    }
}

/// What a namespace has to do with a bundle; a later part counts for more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    /// A Credential of the namespace has something published, and the namespace's labels decided about that.
    Claiming,
    /// An object lands in it.
    Landing,
    /// The bundle itself makes it.
    Made,
}

/// `data.token`, or `data["clouds.yaml"]` where the name would look like a path.
fn entry_path(path: &str, name: &str) -> String {
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) {
        format!("{path}.{name}")
    } else {
        format!("{path}[{name:?}]")
    }
}
