//! Claims: who asks for which root, where.
//!
//! A Credential claims its identity for its region, and a rule of an AccessManagement claims what it
//! hands to a namespace. Later sync rules and templates claim too, so nothing after this stage knows what
//! a Credential is.

pub mod access;
pub mod collect;
mod credential;

use alloc::string::String;
use alloc::vec::Vec;

use crate::config::Resolution;
use crate::finding::{Class, Code, Finding, Origin};
use crate::k0rdent::root::Root;
use crate::name::{Claimant, Region};

/// Where a claim's objects go, by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Address {
    /// A region's own cluster.
    Region(Region),
}

/// One request for a root and all that it needs, for one address.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who asks.
    pub by: Claimant,
    /// Where that stands.
    pub origin: Origin,
    /// Where the objects go.
    pub to: Address,
    /// What is asked for.
    pub root: Root,
    /// Where it is looked for.
    pub resolution: Resolution,
    /// Whether an AccessManagement rule makes the claim, from a Credential of the system namespace.
    pub managed: bool,
}

impl Claim {
    /// The region whose cluster the objects go to.
    pub fn region(&self) -> &Region {
        let Address::Region(region) = &self.to;
        region
    }
}

/// A text in an object that is replaced before the object is published.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edit {
    /// The path of keys to it.
    pub path: Vec<String>,
    /// What stands there afterwards.
    pub text: String,
}

/// One Credential, of the snapshot or as a rule makes it, and what it asks for.
#[derive(Debug)]
pub struct Asked {
    /// The Credential.
    pub by: Claimant,
    /// Where it stands, or what it is made from.
    pub origin: Origin,
    /// The region that it names, whether or not the configuration knows it.
    pub region: Option<Region>,
    /// Its claim; none where it names no region of ours or cannot be read.
    pub claim: Option<Claim>,
    /// What is wrong with the Credential itself.
    pub findings: Vec<Finding>,
}

impl Asked {
    /// Why nobody knows where the Credential's objects should go, if that is so: its fields cannot be
    /// read, or name a region that the configuration does not know, or it stands twice and the two need
    /// not agree.
    pub fn broken_by(&self) -> Option<Code> {
        let unknown = |finding: &&Finding| {
            let twice = matches!(finding.code, Code::Shadowed | Code::DuplicateObject);
            finding.stops_claim() && finding.code.class() == Class::Broken && (self.claim.is_none() || twice)
        };
        self.findings.iter().find(unknown).map(|finding| finding.code)
    }
}

impl Asked {
    /// Tells every finding whose it is and where it belongs.
    fn settle(&mut self) {
        for finding in &mut self.findings {
            finding.claimant = Some(self.by.clone());
            finding.region.clone_from(&self.region);
        }
    }
}
