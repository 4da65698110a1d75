//! Claims: who asks for which root, where.
//!
//! A Credential claims its identity for its region, and a rule of an AccessManagement claims what it
//! hands to a namespace. A Cluster claims what the objects behind it name, a ClusterResourceSet its payloads, and a
//! ResourceSyncRule each object that it takes. What is asked for is in the claim, for a claimant in a namespace. The stages
//! after this one look at the claimant's kind only where k0rdent, Cluster API or the cluster registry do.

pub mod access;
mod cluster;
pub mod collect;
mod credential;
pub mod deployments;
mod resource_set;
pub mod sync_rule;
mod taken;
pub mod template;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::config::Resolution;
use crate::destination::Address;
use crate::finding::{Class, Code, Finding, Origin};
use crate::k0rdent::root::Root;
use crate::name::{Claimant, ObjectKey, Region, SourceName};
use crate::sync_rule::Made;

/// One request for a root and all that it needs, for one address.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who asks.
    pub by: Claimant,
    /// Where the claimant stands.
    pub origin: Origin,
    /// Where the objects go.
    pub to: Address,
    /// What is asked for; of a Cluster or a set, the first of its starts, or itself where nobody knows of any.
    pub root: Root,
    /// What the objects behind a Cluster name, or a set; none of any other claimant.
    pub starts: Vec<Start>,
    /// Where the root is looked for.
    pub resolution: Resolution,
    /// Whether an AccessManagement rule makes the claim, from a Credential of the system namespace.
    pub managed: bool,
    /// What a ResourceSyncRule makes of the object that it takes; none of any other claimant.
    pub copied: Option<Box<Copied>>,
}

/// An object that a ResourceSyncRule takes, and what it makes of it.
#[derive(Clone, Debug)]
pub struct Copied {
    /// What is read.
    pub read: ObjectKey,
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
}

/// The field of a [`Start`] that the configuration names.
pub const CONFIGURED: &str = "identityRef of the configuration";

impl Claim {
    /// The region whose configuration the claim's destination goes by.
    pub fn region(&self) -> &Region {
        self.to.region()
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
}

impl Edit {
    /// The paths of what is rewritten.
    pub fn paths(&self) -> Vec<String> {
        match self {
            Edit::Text { path, .. } => vec![path.join(".")],
            Edit::Made(made) => made.paths(),
        }
    }
}

/// What a ResourceSyncRule makes of an object, if it makes anything of it.
pub fn made(edits: &[Edit]) -> Option<&Made> {
    edits.iter().find_map(|edit| match edit {
        Edit::Made(made) => Some(&**made),
        Edit::Text { .. } => None,
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
    pub claim: Option<Claim>,
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
