//! Claims: who asks for which root, where.
//!
//! A Credential claims its identity for its region, and a rule of an AccessManagement claims what it
//! hands to a namespace. Later sync rules and templates claim too, so nothing after this stage knows what
//! a Credential is.

pub mod access;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{Fleet, RegionState, Resolution};
use crate::finding::{Class, Code, CredentialName, Finding, Origin};
use crate::k0rdent::{self, credential};
use crate::name::{GroupKind, Name, Namespace, Region, Version};
use crate::object::{Fault, Object};
use crate::snapshot::Snapshot;
pub use access::Access;

/// Where a claim's objects go.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Destination {
    /// A region's own cluster.
    Region(Region),
}

/// The object that a claim starts from, as the claimant wrote it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    /// Group and kind.
    pub kind: GroupKind,
    /// The version that the reference names.
    pub version: Version,
    /// The name.
    pub name: Name,
    /// The namespace that the reference names, if any.
    pub namespace: Option<Namespace>,
}

/// One request for a root and all that it needs, at a destination.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who asks.
    pub by: CredentialName,
    /// Where that stands.
    pub origin: Origin,
    /// Where the objects go.
    pub to: Destination,
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
        let Destination::Region(region) = &self.to;
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
    pub by: CredentialName,
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

/// What every Credential of the snapshot asks for, and every one that an AccessManagement rule makes,
/// sorted by namespace and name. What is wrong with the rules themselves, [`Access::open`] says.
pub fn claims(fleet: &Fleet, snapshot: &Snapshot) -> Vec<Asked> {
    let (access, _) = Access::open(fleet, snapshot);
    let mut made = access.made();
    let mut asked = Vec::new();
    for object in snapshot.all(&access::credential_kind()) {
        let Some(namespace) = object.key.namespace.clone() else { continue };
        let by = CredentialName { namespace, name: object.key.name.clone() };
        let is_copy = object.label(k0rdent::MANAGED_LABEL) == Some("true");
        asked.push(match (made.remove(&by), is_copy) {
            (Some(source), true) => access::managed(&access, by, source, Some(object)),
            (None, true) => access::unexplained(&access, by, object),
            (source, false) => {
                let mut own = ask(fleet, object, by, false);
                source.into_iter().for_each(|source| access::not_applied(&mut own, object, source));
                own.settle();
                own
            }
        });
    }
    asked.extend(made.into_iter().map(|(by, source)| access::managed(&access, by, source, None)));
    asked.sort_by(|a, b| a.by.cmp(&b.by));
    asked
}

/// What a Credential asks for: in its own name, or as the source of a managed claim in the name of `by`.
fn ask(fleet: &Fleet, object: &Object, by: CredentialName, managed: bool) -> Asked {
    let mut asked = Asked { by, origin: object.origin.clone(), region: None, claim: None, findings: Vec::new() };
    asked.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
    let spec = match credential::read(object) {
        Ok(spec) => spec,
        Err(faults) => {
            asked.findings.extend(faults.iter().map(|fault| finding_of(fault, object)));
            return asked;
        }
    };
    asked.region = spec.region.clone();
    let Some(region) = spec.region else {
        return asked;
    };
    match fleet.regions.get(&region) {
        None => asked.findings.push(unknown_region(fleet, &region, object)),
        Some(config) if config.state == RegionState::Retired => asked.findings.push(
            Finding::new(Code::RegionRetired, format!("region {region} is retired; nothing is published for it"))
                .about(&object.key)
                .at(&object.origin)
                .help("Delete the Credential, or move it to a region that is in use."),
        ),
        Some(_) => {
            let (by, origin) = (asked.by.clone(), asked.origin.clone());
            let to = Destination::Region(region);
            asked.claim = Some(if managed {
                let root = access::handed_over(spec.identity, &by.namespace);
                Claim { by, origin, to, root, resolution: Resolution::Kcm, managed }
            } else {
                Claim { by, origin, to, root: spec.identity, resolution: fleet.resolution, managed }
            });
        }
    }
    asked
}

impl Asked {
    /// Tells every finding whose it is and where it belongs.
    fn settle(&mut self) {
        for finding in &mut self.findings {
            finding.credential = Some(self.by.clone());
            finding.region.clone_from(&self.region);
        }
    }
}

/// What a fault of an object becomes for a claim that needs it.
pub fn finding_of(fault: &Fault, object: &Object) -> Finding {
    Finding::new(fault.code, fault.message.clone())
        .about(&object.key)
        .at(&object.origin.at_line(fault.line))
        .help(fault.help.clone())
}

fn unknown_region(fleet: &Fleet, region: &Region, object: &Object) -> Finding {
    let nearest = fleet
        .regions
        .keys()
        .map(|known| (strsim::osa_distance(known.as_str(), region.as_str()), known))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= 3);
    let help = match nearest {
        Some((_, known)) => {
            format!("Did you mean {known}? Otherwise add the region to `regions` in the configuration.")
        }
        None => "Add the region to `regions` of the configuration, with its recipients.".to_owned(),
    };
    Finding::new(Code::UnknownRegion, format!("the configuration has no region {region}"))
        .about(&object.key)
        .at(&object.origin)
        .help(help)
}
