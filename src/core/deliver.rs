//! Apply: what a region without Flux and Argo CD is sent of its bundle, in which order, and what is taken away.
//!
//! [`Bundle::questions`] says what must be known of the region, [`plan`](plan::plan) decides from the answers and from
//! the [`inventory`] of what was brought before, and [`release`] says of what left the bundle which objects may go once
//! the outcome is known. An object is sent again unless nobody wrote to it since the same file was sent. What is taken
//! away stands in the inventory, was really sent, and has pouch's label; so two bundles on one cluster leave each other's
//! objects alone. Each bundle applies as a field manager of its own, so its objects say whose they are.
//! Nothing here knows a client or a value of a Secret.

pub mod beside;
pub mod inventory;
mod losses;
pub mod plan;
pub mod release;
pub mod whose;

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use zeroize::Zeroizing;

use self::inventory::{Inventory, Needed, mark};
use crate::layout::{MANAGED_BY, MANAGED_BY_LABEL};
use crate::name::{Claimant, Directory, FleetName, GroupKind, Namespace, ObjectKey, Version};
use crate::node::{Interner, Node};
use crate::verify::bundles::unpack::{Part, Unpacked};
use crate::yaml::emit::{Tree, emit};
use crate::yaml::read::{Document, read};

/// How much of a name is kept where something is added to it: names have up to 253 characters.
const LONGEST_START: usize = 240;

/// A bundle in clear, as it is applied.
pub struct Bundle<'u> {
    /// The fleet that it belongs to.
    pub fleet: &'u FleetName,
    /// The region's folder.
    pub directory: &'u Directory,
    /// SHA-256 of its `bundle.yaml`.
    pub digest: &'u str,
    /// The field manager that it is applied as.
    pub manager: String,
    /// Its Namespaces, each as it is written.
    namespaces: Vec<(Part<'u>, Node)>,
    /// Everything else, in the order in which it is applied.
    objects: Vec<Wanted<'u>>,
}

/// An object of the bundle that is no Namespace.
pub struct Wanted<'u> {
    /// What it is on the region.
    pub key: &'u ObjectKey,
    /// The manifest in clear.
    pub text: &'u str,
    /// The version that it is written in.
    pub version: Version,
    /// Who needs it.
    claimants: &'u [Claimant],
    /// Returns true where they have another in its place already.
    is_exchanged: bool,
    /// What tells its published file from another.
    mark: String,
    /// What an identity's `spec` says; it may be the name of an object that it points to.
    says: BTreeSet<String>,
}

impl Wanted<'_> {
    /// What the inventory notes of who needs it.
    fn needed(&self) -> Needed {
        match self.claimants {
            _ if self.is_exchanged => Needed::Exchanged,
            [] => Needed::Unknown,
            claimants => Needed::By(claimants.iter().cloned().collect()),
        }
    }
}

/// A manifest of a proved bundle that cannot be read back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} is not what its manifest says")]
pub struct Unreadable(ObjectKey);

/// What must be known of a region before anything is sent.
pub struct Questions {
    /// API groups whose kinds and versions must be known.
    pub groups: BTreeSet<String>,
    /// Namespaces to get, metadata only.
    pub namespaces: BTreeSet<Namespace>,
    /// Objects to get by name, metadata only, by kind and the version that the bundle writes them in; none where they
    /// left the bundle, and any version will do.
    pub objects: BTreeMap<(GroupKind, Option<Version>), Vec<ObjectKey>>,
}

/// What a region says of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Live {
    /// There is none.
    Absent,
    /// It is there.
    Here(Meta),
    /// Nobody can tell.
    Unknown,
}

/// What is known of an object that is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meta {
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion: it changes with every write.
    pub version: String,
    /// Whether it has pouch's label.
    pub is_ours: bool,
    /// Whether it is only there until its finalizers are through.
    pub is_going: bool,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// Its labels.
    labels: BTreeMap<String, String>,
    /// The bundles that it was applied of, by their field managers.
    appliers: BTreeSet<String>,
}

impl Meta {
    /// Takes what is known from an object, or from its metadata alone.
    pub fn of(node: &Node) -> Self {
        let text = |field: &str| node.str_at(&["metadata", field]).unwrap_or_default().to_owned();
        let of = |field: &str| node.at(&["metadata", field]);
        let labels: BTreeMap<String, String> = of("labels")
            .map(Node::entries)
            .unwrap_or_default()
            .iter()
            .filter_map(|(key, value)| Some((String::from(&**key), String::from(value.as_str()?))))
            .collect();
        let finalizers = of("finalizers").map(Node::items).unwrap_or_default();
        let managers = of("managedFields").map(Node::items).unwrap_or_default();
        let applier = |entry: &Node| {
            let name = entry.str_at(&["manager"]).filter(|name| name.starts_with(inventory::PREFIX))?;
            (entry.str_at(&["operation"]) == Some("Apply")).then(|| String::from(name))
        };
        Self {
            uid: text("uid"),
            version: text("resourceVersion"),
            is_ours: labels.get(MANAGED_BY_LABEL).is_some_and(|value| value == MANAGED_BY),
            is_going: of("deletionTimestamp").is_some(),
            finalizers: finalizers.iter().filter_map(Node::as_str).map(String::from).collect(),
            labels,
            appliers: managers.iter().filter_map(applier).collect(),
        }
    }

    /// The field manager of another bundle that it was applied of, if there is one.
    pub fn of_another(&self, manager: &str) -> Option<&str> {
        self.appliers.iter().map(String::as_str).find(|applier| *applier != manager)
    }

    /// Whether it was applied of a bundle with this field manager.
    pub fn is_applied_by(&self, manager: &str) -> bool {
        self.appliers.contains(manager)
    }
}

impl<'u> Bundle<'u> {
    /// Takes a bundle apart.
    ///
    /// # Errors
    /// Where a manifest is not of the kind that it was listed as.
    pub fn new(unpacked: &'u Unpacked) -> Result<Self, Unreadable> {
        let mut bundle = Self {
            fleet: &unpacked.fleet,
            directory: &unpacked.directory,
            digest: &unpacked.digest,
            manager: inventory::name(&unpacked.fleet, &unpacked.directory).to_string(),
            namespaces: Vec::new(),
            objects: Vec::new(),
        };
        let mut interner = Interner::new();
        for part in unpacked.parts() {
            let Part { key, sha256, text, claimants, is_exchanged } = part;
            // Values of Secrets are not looked at here.
            if key.kind.is_secret() || key.kind.is_config_map() {
                let (mark, says) = (mark(sha256), BTreeSet::new());
                bundle.objects.push(Wanted { key, text, version: "v1".into(), claimants, is_exchanged, mark, says });
                continue;
            }
            let node = read(&Document::whole(text), &mut interner).map_err(|_| Unreadable(key.clone()))?;
            if key.kind.is_namespace() {
                bundle.namespaces.push((part, node));
                continue;
            }
            let written = node.str_at(&["apiVersion"]).and_then(|written| written.rsplit_once('/'));
            let (_, version) = written.ok_or_else(|| Unreadable(key.clone()))?;
            let says = said(&node);
            let mark = mark(sha256);
            bundle.objects.push(Wanted { key, text, version: version.into(), claimants, is_exchanged, mark, says });
        }
        Ok(bundle)
    }

    /// What must be known of the region.
    pub fn questions(&self, inventory: &Inventory) -> Questions {
        let mut objects: BTreeMap<(GroupKind, Option<Version>), Vec<ObjectKey>> = BTreeMap::new();
        for wanted in &self.objects {
            let place = (wanted.key.kind.clone(), Some(wanted.version.clone()));
            objects.entry(place).or_default().push(wanted.key.clone());
        }
        let wanted: BTreeSet<&ObjectKey> = self.objects.iter().map(|wanted| wanted.key).collect();
        for key in inventory.objects.keys().filter(|key| !wanted.contains(key) && is_prunable(&key.kind)) {
            objects.entry((key.kind.clone(), None)).or_default().push(key.clone());
        }
        let groups = objects.keys().map(|(kind, _)| kind.group.as_str());
        Questions {
            groups: groups.filter(|group| !group.is_empty()).map(String::from).collect(),
            namespaces: self.namespaces.iter().map(|(part, _)| Namespace::new(part.key.name.shared())).collect(),
            objects,
        }
    }

    /// How many objects it has, Namespaces not counted.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }
}

/// Whether objects of a kind may be taken away.
fn is_prunable(kind: &GroupKind) -> bool {
    !kind.is_namespace()
}

/// The fields of an identity's `spec` that say who may use it: what they name is not what it points to.
const USERS: [&str; 2] = ["allowedNamespaces", "namespaceSelector"];

/// Every text in a document's `spec`, but who may use it.
fn said(node: &Node) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let spec = node.at(&["spec"]).map(Node::entries).unwrap_or_default();
    let mut left: Vec<&Node> =
        spec.iter().filter(|(field, _)| !USERS.contains(&&**field)).map(|(_, node)| node).collect();
    while let Some(node) = left.pop() {
        match node {
            Node::Text(text) => _ = texts.insert(String::from(&**text)),
            Node::List(items) => left.extend(items),
            Node::Map(entries) => left.extend(entries.iter().map(|(_, node)| node)),
            _ => {}
        }
    }
    texts
}

/// The fields of a manifest that a refusal names, as far as the manifest has them: what else a server writes where a path
/// should stand may be a value.
pub fn fields_named(text: &str, named: &[String]) -> BTreeSet<String> {
    let Ok(node) = read(&Document::whole(text), &mut Interner::new()) else { return BTreeSet::new() };
    let known = |path: &String| {
        let (mut at, mut found) = (&node, Vec::new());
        for part in path.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
            match at {
                Node::Map(_) => {
                    let Some(next) = at.get(part) else { break };
                    at = next;
                    found.push(part);
                }
                Node::List(items) => {
                    let Some(next) = part.parse::<usize>().ok().and_then(|index| items.get(index)) else { break };
                    at = next;
                }
                _ => break,
            }
        }
        (!found.is_empty()).then(|| found.join("."))
    };
    named.iter().filter_map(known).collect()
}

/// A manifest under another name, by which a region says whether it would make such an object.
///
/// Policies that ask for the beginning of a name are asked as well.
pub fn on_trial(key: &ObjectKey, text: &str) -> Option<(ObjectKey, Zeroizing<String>)> {
    let node = read(&Document::whole(text), &mut Interner::new()).ok()?;
    let start: String = key.name.as_str().chars().take(LONGEST_START).collect();
    let name = format!("{}-pouch-trial", start.trim_end_matches(['-', '.']));
    let text = emit(&Tree::of(&node.with_text(&["metadata", "name"], &name)));
    Some((ObjectKey { name: name.as_str().into(), ..key.clone() }, text))
}

/// Whether two states of an object say the same, but for what servers note in its metadata.
pub fn is_alike(one: &Node, other: &Node) -> bool {
    let without = |node: &Node| -> Vec<(String, Node)> {
        let rest = node.entries().iter().filter(|(key, _)| **key != *"metadata");
        let kept = ["labels", "annotations"].map(|field| {
            let found = node.at(&["metadata", field]).cloned().unwrap_or_else(Node::empty_map);
            (String::from(field), found)
        });
        rest.map(|(key, node)| (String::from(&**key), node.clone())).chain(kept).collect()
    };
    without(one) == without(other)
}

#[cfg(test)]
mod tests;
