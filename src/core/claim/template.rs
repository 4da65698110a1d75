//! Claims that ManagedResources of KubeNSync make: one for each namespace of a region that a template selects.
//!
//! A ManagedResource is cluster-scoped: only sources that may provide such count, and only templates that the
//! configuration names. Which namespaces a region has is told to this file; where nobody knows, nothing is asked for, and
//! nothing is taken away.

mod spec;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Asked, Claim};
use crate::config::{Fleet, RegionConfig, RegionState, Resolution};
use crate::destination::Address;
use crate::finding::{Code, Fault, Finding};
use crate::k0rdent::root::Root;
use crate::kinds::{self, KUBENSYNC};
use crate::name::{Claimant, GroupKind, Name, Namespace, Region};
use crate::object::{Object, finding_of};
use crate::selector::Truth;
use crate::snapshot::{Lookup, Snapshot};

pub use spec::{Datum, DatumKind, TemplateSpec, read};

/// The kind of templates.
pub fn template_kind() -> GroupKind {
    GroupKind::new(KUBENSYNC, "ManagedResource")
}

/// The namespaces that a region has, as far as anybody knows.
#[derive(Default)]
pub struct Namespaces {
    /// Those that are known, with their labels.
    pub known: BTreeMap<Namespace, BTreeMap<String, String>>,
    /// Those that are known to be absent.
    pub absent: Vec<Namespace>,
    /// Whether there are no others.
    pub complete: bool,
}

/// What the ManagedResources say that some region takes, by name: those that can be read.
pub type Templates = BTreeMap<Name, TemplateSpec>;

/// What every ManagedResource asks for that a region takes, and what is wrong with those that ask for nothing.
pub fn claims<'n>(
    fleet: &Fleet,
    snapshot: &Snapshot,
    namespaces: impl Fn(&Region) -> Option<&'n Namespaces>,
) -> (Templates, Vec<Asked>, Vec<Finding>) {
    let (mut templates, mut asked, mut findings) = (Templates::new(), Vec::new(), Vec::new());
    if !fleet.names_templates() {
        return (templates, asked, findings);
    }
    for object in snapshot.all(&template_kind()) {
        let mut taking = fleet.regions.values().filter(|region| takes(fleet, region, object)).peekable();
        if taking.peek().is_none() {
            continue;
        }
        let spec = read(object);
        for region in taking {
            let faulty = |faults: &[Fault]| {
                faults.iter().map(|fault| finding_of(fault, object).in_region(&region.name)).collect::<Vec<_>>()
            };
            let spec = match &spec {
                Ok(spec) if !object.is_mistyped() => spec,
                Ok(_) => {
                    findings.extend(faulty(&object.faults));
                    continue;
                }
                Err(faults) => {
                    findings.extend(faulty(faults));
                    continue;
                }
            };
            let Some(namespaces) = namespaces(&region.name) else { continue };
            if namespaces.known.is_empty() && !namespaces.complete {
                findings.push(unknown(region, object));
            }
            let selected = namespaces.known.iter().filter(|(name, labels)| spec.selects(name, labels) == Truth::Yes);
            asked.extend(selected.map(|(name, _)| ask(object, region, name)));
        }
        if let Ok(spec) = spec {
            templates.insert(object.key.name.clone(), spec);
        }
    }
    (templates, asked, findings)
}

/// Whether a region takes a ManagedResource. A source must be trusted with cluster-scoped objects as such.
fn takes(fleet: &Fleet, region: &RegionConfig, object: &Object) -> bool {
    let source = fleet.sources.iter().find(|source| source.name == object.origin.source);
    let is_trusted = source.is_some_and(|source| {
        source.provides.cluster_scoped && source.region.as_ref().is_none_or(|own| *own == region.name)
    });
    is_trusted && region.state != RegionState::Retired && region.templates.matches(object.key.name.as_str())
}

fn ask(object: &Object, region: &RegionConfig, namespace: &Namespace) -> Asked {
    let by = Claimant::managed_resource(namespace.clone(), object.key.name.clone());
    let root = Root {
        kind: object.key.kind.clone(),
        version: object.version.clone(),
        name: object.key.name.clone(),
        namespace: None,
    };
    let claim = Claim {
        by: by.clone(),
        origin: object.origin.clone(),
        to: Address::Region(region.name.clone()),
        root,
        starts: Vec::new(),
        resolution: Resolution::AsWritten,
        managed: false,
    };
    let mut asked = Asked {
        by,
        origin: object.origin.clone(),
        region: Some(region.name.clone()),
        claim: Some(claim),
        findings: object.faults.iter().map(|fault| finding_of(fault, object)).collect(),
    };
    asked.settle();
    asked
}

fn unknown(region: &RegionConfig, object: &Object) -> Finding {
    let name = &region.name;
    let message = format!("which namespaces region {name} has is unknown, so nothing is made of {}", object.key);
    let help = format!(
        "Write its namespaces with their labels into regions.{name}.namespaces.labels, or let pouch look into the \
         region: regions.{name}.cluster. What is published stays."
    );
    Finding::new(Code::Unread, message).about(&object.key).at(&object.origin).in_region(name).help(help)
}

/// The code that says why what was made of a template for a namespace stays although nothing is asked for, if it does.
pub fn kept_by(
    fleet: &Fleet,
    snapshot: &Snapshot,
    by: &Claimant,
    region: &RegionConfig,
    namespaces: Option<&Namespaces>,
) -> Option<Code> {
    // Of a template that the region takes no more, the configuration has said enough.
    if !region.templates.matches(by.name.as_str()) {
        return None;
    }
    let object = match snapshot.look_up(&kinds::claimant(by)?) {
        Lookup::Absent => return None,
        Lookup::Unread(_) | Lookup::Unasked => return Some(Code::Unread),
        Lookup::Found(object) => object,
    };
    // It is there, from a source that is not trusted with it: somebody may have moved it.
    if !takes(fleet, region, object) {
        return Some(Code::Unread);
    }
    let spec = match read(object) {
        Ok(spec) if !object.is_mistyped() => spec,
        // What it was meant to select is not known.
        _ => return Some(Code::InvalidTemplate),
    };
    let Some(namespaces) = namespaces else { return Some(Code::Unread) };
    match namespaces.known.get(&by.namespace) {
        Some(labels) if spec.selects(&by.namespace, labels) == Truth::No => None,
        Some(_) => Some(Code::Unread),
        None if namespaces.absent.contains(&by.namespace) || namespaces.complete => None,
        None => Some(Code::Unread),
    }
}
