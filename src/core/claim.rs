//! Claims: who asks for which root, where.
//!
//! A Credential claims its identity for its region, and a rule of an AccessManagement claims what it
//! hands to a namespace. A Cluster claims what the objects behind it name, a ClusterResourceSet its payloads, and a
//! ResourceSyncRule each object that it takes. A group of guest clusters claims what the configuration delivers to them.
//! What is asked for is in the claim, for a claimant in a namespace. The stages
//! after this one look at the claimant's kind only where k0rdent, Cluster API or the cluster registry do.

pub mod access;
mod cluster;
pub mod collect;
mod credential;
pub mod deployments;
pub mod guest;
pub mod resource_set;
pub mod sync_rule;
mod taken;
pub mod template;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::config::{ClusterSelector, Resolution};
use crate::destination::Place;
use crate::finding::telling::Telling;
use crate::finding::{Class, Code, Finding, Origin};
use crate::k0rdent::credential::Projection;
use crate::k0rdent::root::Root;
use crate::listing::counted;
use crate::name::step::{Step, is_handed_out};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Region, SourceName, Version};
use crate::snapshot::MadeFor;
use crate::sync_rule::Made;

/// One request, for one place.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The claimant.
    pub by: Claimant,
    /// The place that the objects are for.
    pub at: Place,
    /// The origin of the claimant.
    pub origin: Origin,
    /// The objects that are asked for.
    pub ask: Ask,
    /// The beginning of all its chains: the rule of an AccessManagement that makes it, or nothing.
    pub through: Vec<Step>,
}

/// The objects that a claim asks for. Each claimant has an ask of its own; a Cluster and a ClusterResourceSet share one.
#[derive(Clone, Debug)]
pub enum Ask {
    /// The identity that a Credential names, and all that it needs.
    Root {
        /// The identity.
        root: Root,
        /// Where it is looked for.
        resolution: Resolution,
        /// The objects from which k0rdent projects the credential, in place of companions.
        projection: Option<Projection>,
    },
    /// The identities that the objects behind a Cluster name, or the payloads of a ClusterResourceSet; empty where none is known.
    Starts(Starts),
    /// The object that a ResourceSyncRule takes.
    Copy(Box<Copied>),
    /// The objects that a template makes.
    Render {
        /// True if they go to guest clusters.
        for_guests: bool,
    },
    /// An object that a group of guest clusters names, in each of its places, or that one of its rules takes; none of a rule as
    /// a whole, nor for a namespace too many.
    Entry(Arc<[Item]>),
    /// The objects of a template that a group of guest clusters names, once that is rendered.
    Deliver {
        /// The beginning of its payloads' names.
        base: Name,
        /// The claim that the template would make, or the reason why that is unknown; none where it is not for the namespace.
        rendered: Option<Result<Arc<Claim>, Vec<Finding>>>,
    },
}

/// An object that a ResourceSyncRule takes, and what it makes of it.
#[derive(Clone, Debug)]
pub struct Copied {
    /// What is read.
    pub read: ObjectKey,
    /// The version of its API in which the rule names it.
    pub version: Version,
    /// The source of the copy by which the rule takes it, if it is known.
    pub source: Option<SourceName>,
    /// What it becomes.
    pub lands: ObjectKey,
    /// What is rewritten on the way.
    pub edits: Vec<Edit>,
}

/// An identity, a Secret or a ConfigMap from which the claim of a Cluster or a set starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// What is named; its namespace is the one that counts.
    pub root: Root,
    /// The field that names it, with the kind of the object that the field stands in.
    pub field: String,
    /// The entries that the provider reads of it, if it is a Secret.
    pub entries: Vec<Box<str>>,
    /// Whether the field is absent, and the provider takes this then.
    pub by_default: bool,
    /// The origin of the reference.
    pub named_by: NamedBy,
}

/// The objects from which the claim of a Cluster or a set starts.
///
/// A Cluster keeps what it names itself, whatever its machines name: they are a part that may wait alone.
#[derive(Clone, Default, Debug)]
pub struct Starts {
    /// The objects, those that machines name last.
    pub named: Vec<Start>,
    /// The number of those that the claimant names itself.
    pub own: usize,
    /// The code for which machines may name more than that, if they may: what is published of it stays.
    pub open: Option<Code>,
    /// The finding that is told where something of machines stays, if nothing else says why.
    pub doubt: Option<Box<Finding>>,
    /// The objects that say which machines there are, and that nothing refers to.
    pub makers: BTreeSet<ObjectKey>,
}

impl Starts {
    /// The starts of a claimant without machines.
    pub fn of(named: Vec<Start>) -> Self {
        Self { own: named.len(), named, ..Self::default() }
    }
}

/// Lets what stops a claim stop the machines of a Cluster alone, each object once.
pub fn wait(findings: Vec<Finding>) -> Vec<Finding> {
    let (mut telling, mut seen, mut last) = (Telling::default(), BTreeSet::new(), None);
    let mut waiting = Vec::new();
    for finding in findings {
        if !finding.stops_claim() {
            waiting.push(finding);
            continue;
        }
        let message = format!("what machines name waits, and what is published of it stays: {}", finding.message);
        let finding = Finding { code: Code::MachinesWait, message, ..finding };
        if !seen.insert(finding.message.clone()) {
            continue;
        }
        match finding.object.as_ref().is_none_or(|object| telling.tells(object)) {
            true => waiting.push(finding),
            false => last = Some(finding),
        }
    }
    if let (Some(others), Some(last)) = (telling.others(), last) {
        let message = format!("what machines name waits for {}", counted(others, "other reason", "other reasons"));
        waiting.push(Finding { message, object: None, ..last });
    }
    waiting
}

/// The origin of the reference to the root of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedBy {
    /// The claimant itself.
    Claimant,
    /// An object behind it.
    Object(ObjectKey),
    /// The configuration.
    Configuration,
}

/// An object that is delivered.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is read.
    pub read: ObjectKey,
    /// What becomes of it: its place in a guest, and what is rewritten.
    pub parcel: Arc<Parcel>,
    /// The payload that holds it.
    pub payload: Name,
    /// The claim that the ResourceSyncRule would make which takes it; none of an object that the configuration names.
    pub rule: Option<Arc<Claim>>,
}

impl Item {
    /// The payload in a namespace.
    pub fn payload_in(&self, namespace: &Namespace) -> ObjectKey {
        payload_key(namespace, &self.parcel.lands, self.payload.clone())
    }
}

/// The key of a payload, by what it is in guests: what is secret there is sealed here.
fn payload_key(namespace: &Namespace, lands: &ObjectKey, payload: Name) -> ObjectKey {
    let key = if lands.kind.is_secret() { ObjectKey::secret } else { ObjectKey::config_map };
    key(namespace.clone(), payload)
}

/// An object as it lands in a guest.
#[derive(PartialEq, Debug)]
pub struct Parcel {
    /// The object in the guest.
    pub lands: ObjectKey,
    /// What is rewritten on the way.
    pub edits: Vec<Edit>,
}

/// A ClusterResourceSet that pouch makes.
#[derive(Clone, PartialEq, Debug)]
pub struct GuestSet {
    /// Its name.
    pub name: Name,
    /// Which Clusters of its namespace it is for.
    pub clusters: ClusterSelector,
    /// Whether it writes its payloads once, and never again.
    pub once: bool,
    /// Its payloads, in order.
    pub payloads: Vec<(GroupKind, Name)>,
}

/// What pouch makes itself for guest clusters, and reads from no source.
#[derive(PartialEq, Debug)]
pub enum Own {
    /// The payload with a Namespace.
    Namespace(Namespace),
    /// A set, in a version of its API; none where nobody knows which ones the region has.
    Set(GuestSet, Option<Version>),
}

/// The field of a [`Start`] that the configuration names.
pub const CONFIGURED: &str = "identityRef of the configuration";

impl Claim {
    /// The region whose configuration the claim's destination goes by.
    pub fn region(&self) -> &Region {
        self.at.region()
    }

    /// The object that decides which provider serves the claim, by kind and version: the identity, or the first of several;
    /// none of what makes its objects itself.
    pub fn identity(&self) -> Option<(&GroupKind, &Version)> {
        match &self.ask {
            Ask::Root { root, .. } => Some((&root.kind, &root.version)),
            Ask::Starts(starts) => starts.named.first().map(|start| (&start.root.kind, &start.root.version)),
            Ask::Copy(copied) => Some((&copied.read.kind, &copied.version)),
            Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => None,
        }
    }

    /// The identity that a Credential names.
    pub fn root(&self) -> Option<&Root> {
        match &self.ask {
            Ask::Root { root, .. } => Some(root),
            Ask::Starts(_) | Ask::Copy(_) | Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => None,
        }
    }

    /// The objects from which k0rdent projects the credential, if a Credential names some.
    pub fn projection(&self) -> Option<&Projection> {
        match &self.ask {
            Ask::Root { projection, .. } => projection.as_ref(),
            Ask::Starts(_) | Ask::Copy(_) | Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => None,
        }
    }

    /// Where identities are looked for.
    pub fn resolution(&self) -> Resolution {
        match &self.ask {
            Ask::Root { resolution, .. } => *resolution,
            Ask::Starts(_) | Ask::Copy(_) | Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => {
                Resolution::AsWritten
            }
        }
    }

    /// Returns true for what a rule of a group of guest clusters asks for as a whole.
    pub fn asks_for_nothing(&self) -> bool {
        matches!(&self.ask, Ask::Entry(items) if items.is_empty())
    }

    /// The objects that it starts from, if it is a Cluster's or a set's.
    pub fn starts(&self) -> &[Start] {
        match &self.ask {
            Ask::Starts(starts) => &starts.named,
            Ask::Root { .. } | Ask::Copy(_) | Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => &[],
        }
    }

    /// The same with what its machines name, and what may be missing there.
    pub fn all_starts(&self) -> Option<&Starts> {
        match &self.ask {
            Ask::Starts(starts) => Some(starts),
            Ask::Root { .. } | Ask::Copy(_) | Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => None,
        }
    }

    /// The claim of a Cluster without what its machines name, if they name something.
    pub fn without_machines(&self) -> Option<Self> {
        let starts = self.all_starts().filter(|starts| starts.own < starts.named.len())?;
        let named = starts.named.iter().take(starts.own).cloned().collect();
        Some(Self { ask: Ask::Starts(Starts { open: Some(Code::MachinesWait), ..Starts::of(named) }), ..self.clone() })
    }

    /// The object that a ResourceSyncRule takes, and the copy that it makes.
    pub fn copied(&self) -> Option<&Copied> {
        match &self.ask {
            Ask::Copy(copied) => Some(copied),
            Ask::Root { .. } | Ask::Starts(_) | Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => None,
        }
    }

    /// Returns true if an AccessManagement rule makes the claimant, from a Credential of the system namespace.
    pub fn is_handed_out(&self) -> bool {
        is_handed_out(&self.through)
    }

    /// The claim of the template that is rendered for the guest clusters of this claim, or the reason why that is unknown.
    pub fn rendered(&self) -> Option<&Result<Arc<Claim>, Vec<Finding>>> {
        match &self.ask {
            Ask::Deliver { rendered, .. } => rendered.as_ref(),
            Ask::Root { .. } | Ask::Starts(_) | Ask::Copy(_) | Ask::Render { .. } | Ask::Entry(_) => None,
        }
    }

    /// Under what it is found what a template makes for it.
    pub fn made_for(&self) -> MadeFor {
        MadeFor { region: self.region().clone(), by: self.by.clone(), in_guests: self.is_for_guests() }
    }

    /// Whether what it makes goes to guest clusters.
    pub fn is_for_guests(&self) -> bool {
        matches!(self.ask, Ask::Render { for_guests: true })
    }
}

/// What is rewritten in an object before it is published.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// A text is replaced.
    Text {
        /// The path of keys to the text.
        path: Vec<String>,
        /// The text that stands there afterwards.
        text: String,
    },
    /// The object becomes what a ResourceSyncRule makes of it.
    Made(Arc<Made>),
    /// The object goes into a payload of a ClusterResourceSet.
    Parcel(Arc<Parcel>),
    /// There is no object: pouch makes it itself.
    Own(Arc<Own>),
}

impl Edit {
    /// The paths of what is rewritten.
    pub fn paths(&self) -> Vec<String> {
        match self {
            Edit::Text { path, .. } => vec![path.join(".")],
            Edit::Made(made) => made.paths(),
            Edit::Parcel(_) | Edit::Own(_) => Vec::new(),
        }
    }
}

/// What a ResourceSyncRule makes of an object, if it makes anything of it.
pub fn made(edits: &[Edit]) -> Option<&Made> {
    edits.iter().find_map(|edit| match edit {
        Edit::Made(made) => Some(&**made),
        Edit::Text { .. } | Edit::Parcel(_) | Edit::Own(_) => None,
    })
}

/// What an object becomes in a guest cluster, if it goes into a payload.
pub fn parcel(edits: &[Edit]) -> Option<&Arc<Parcel>> {
    edits.iter().find_map(|edit| match edit {
        Edit::Parcel(parcel) => Some(parcel),
        _ => None,
    })
}

/// One claimant, read from a source or made by a rule, and what it asks for.
#[derive(Debug)]
pub struct Asked {
    /// The claimant.
    pub by: Claimant,
    /// Where it stands, or where the Credential stands that it is made from.
    pub origin: Origin,
    /// The region that a Credential names, whether or not the configuration knows it; for one that names none, the management
    /// cluster where the configuration has that as a region. The region that takes a Cluster.
    pub region: Option<Region>,
    /// Its claim; none if it names no region that the configuration knows, or cannot be read.
    pub claim: Option<Arc<Claim>>,
    /// What is wrong with the claimant itself.
    pub findings: Vec<Finding>,
}

impl Asked {
    /// The code that says why nobody knows where the claimant's objects should go, if that is so.
    ///
    /// Its fields cannot be read, or name a region that the configuration does not know, or the claimant stands twice and
    /// the two need not agree.
    pub fn broken_by(&self) -> Option<Code> {
        let unknown = |finding: &&Finding| {
            let twice = finding.code.is_of_copies();
            finding.stops_claim() && finding.code.class() == Class::Broken && (self.claim.is_none() || twice)
        };
        self.findings.iter().find(unknown).map(|finding| finding.code)
    }
}

impl Asked {
    /// Gives every finding its claimant and its region.
    fn settle(&mut self) {
        for finding in &mut self.findings {
            finding.claimant = Some(self.by.clone());
            finding.region.clone_from(&self.region);
        }
    }
}
