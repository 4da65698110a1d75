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
use crate::config::{Fleet, RegionConfig, RegionState, Resolution, Source};
use crate::destination::{Address, Destination};
use crate::finding::{Code, Fault, Finding, Severity};
use crate::k0rdent::root::Root;
use crate::kinds;
use crate::listing::few;
use crate::name::{Claimant, Name, Namespace, ObjectKey, Region, SourceName};
use crate::object::{Object, finding_of};
use crate::selector::Truth;
use crate::snapshot::{Lookup, Snapshot};

pub use spec::{Datum, DatumKind, Labels, TemplateSpec, read};

/// The namespaces that a region has, as far as anybody knows.
#[derive(Default)]
pub struct Namespaces {
    /// Those that are known, with what is known of their labels.
    pub known: BTreeMap<Namespace, Labels>,
    /// Those that are known to be absent.
    pub absent: Vec<Namespace>,
    /// Whether there are no others, but for those that a source that describes the region may hold unread.
    pub complete: bool,
}

/// The sources that say which namespaces a region has: those that describe its cluster, and may bring Namespaces.
pub fn describing(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig) -> Vec<SourceName> {
    let describes = |source: &&Source| {
        let brings = source.provides.cluster_scoped || source.provides.objects.iter().any(|it| it.kind.is_namespace());
        let is_its = source.region.as_ref() == Some(&region.name);
        brings && (is_its || (region.management && snapshot.is_home(&source.name)))
    };
    fleet.sources.iter().filter(describes).map(|source| source.name.clone()).collect()
}

/// Whether a source that describes a region may hold a Namespace that was not read, or not as it stands.
pub fn is_doubted(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig, namespace: &Namespace) -> bool {
    let key = ObjectKey::namespace(namespace);
    describing(fleet, snapshot, region).iter().any(|source| snapshot.is_silent_on(source, &key))
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
    for object in snapshot.all(&kinds::managed_resource()) {
        let of_region = |region| Some((region, trusted(fleet, snapshot, region, object)?));
        let mut taking = fleet.regions.values().filter_map(of_region).peekable();
        if taking.peek().is_none() {
            continue;
        }
        let spec = read(object);
        for (region, copy) in taking {
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
            let selected = selected.map(|(name, _)| name);
            let ground = Destination { fleet, region }.ground();
            let is_open = |name: &&Namespace| {
                region.allowed.matches(name.as_str()) && ground.forbids(&ObjectKey::namespace(name)).is_empty()
            };
            let (open, shut): (Vec<_>, Vec<_>) = selected.partition(is_open);
            let before = asked.len();
            asked.extend(open.iter().map(|name| ask((object, copy), region, name)));
            match open.is_empty() {
                // Nothing at all comes of it, which nobody means.
                true => asked.extend(shut.iter().map(|name| ask((object, copy), region, name))),
                false => findings.extend(shut_out(region, object, &shut)),
            }
            // Where nobody asks for it, nobody else would tell what is wrong with it.
            if asked.len() == before {
                findings.extend(faulty(&object.faults));
            }
        }
        if let Ok(spec) = spec {
            templates.insert(object.key.name.clone(), spec);
        }
    }
    (templates, asked, findings)
}

/// The copy by which a region takes a ManagedResource, if it does: one of those that say the same, from a source that is
/// trusted with cluster-scoped objects of this region.
fn trusted<'s>(fleet: &Fleet, snapshot: &'s Snapshot, region: &RegionConfig, object: &'s Object) -> Option<&'s Object> {
    if region.state == RegionState::Retired || !region.templates.matches(object.key.name.as_str()) {
        return None;
    }
    snapshot.agreeing(&object.key).find(|copy| fleet.trusts_with_templates(&copy.origin.source, &region.name))
}

/// Asks for what a template makes for a namespace; the copy is of a source that the region trusts.
fn ask((object, copy): (&Object, &Object), region: &RegionConfig, namespace: &Namespace) -> Asked {
    let by = Claimant::managed_resource(namespace.clone(), object.key.name.clone());
    let root = Root {
        kind: object.key.kind.clone(),
        version: object.version.clone(),
        name: object.key.name.clone(),
        namespace: None,
    };
    let claim = Claim {
        by: by.clone(),
        origin: copy.origin.clone(),
        to: Address::Region(region.name.clone()),
        root,
        starts: Vec::new(),
        resolution: Resolution::AsWritten,
        managed: false,
        copied: None,
    };
    let mut asked = Asked {
        by,
        origin: copy.origin.clone(),
        region: Some(region.name.clone()),
        claim: Some(claim),
        findings: object.faults.iter().map(|fault| finding_of(fault, object)).collect(),
    };
    asked.settle();
    asked
}

/// Tells once that a template for every namespace is for those alone that the region takes something of.
fn shut_out(region: &RegionConfig, object: &Object, namespaces: &[&Namespace]) -> Option<Finding> {
    const SHOWN: usize = 5;
    namespaces.first()?;
    let named = few(namespaces.iter().map(|name| String::from(name.as_str())), namespaces.len(), SHOWN);
    let message = format!("region {} takes nothing of namespaces that the template selects: {named}", region.name);
    let finding = Finding::new(Code::NamespaceNotAllowed, message).about(&object.key).at(&object.origin);
    let help = "If this is unintended, add them to the region's namespaces.allowed.";
    Some(finding.in_region(&region.name).help(help).severity(Severity::Info))
}

fn unknown(region: &RegionConfig, object: &Object) -> Finding {
    let name = &region.name;
    let message = format!("which namespaces region {name} has is unknown, so nothing is made of {}", object.key);
    let help = format!(
        "Write its namespaces with their labels into regions.{name}.namespaces.labels. What is published stays."
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
    if trusted(fleet, snapshot, region, object).is_none() {
        return Some(Code::Unread);
    }
    // Another copy may be the one that was meant, or what stands there is not what was meant.
    let faults = object.faults.iter().map(|fault| finding_of(fault, object));
    if let Some(fault) = faults.into_iter().find(Finding::stops_claim) {
        return Some(fault.code);
    }
    // What it was meant to select is not known.
    let Ok(spec) = read(object) else { return Some(Code::InvalidTemplate) };
    let Some(namespaces) = namespaces else { return Some(Code::Unread) };
    match namespaces.known.get(&by.namespace) {
        Some(labels) if spec.selects(&by.namespace, labels) == Truth::No => None,
        Some(_) => Some(Code::Unread),
        None if namespaces.absent.contains(&by.namespace) => None,
        None if namespaces.complete && !is_doubted(fleet, snapshot, region, &by.namespace) => None,
        None => Some(Code::Unread),
    }
}
