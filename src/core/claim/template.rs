//! Claims that ManagedResources of KubeNSync make: one for each namespace of a region that a template selects.
//!
//! A ManagedResource is cluster-scoped: only sources that may provide such count, and only templates that the
//! configuration names. Which namespaces a region has is told to this file; where nobody knows, nothing is asked for, and
//! nothing is taken away.

mod spec;
mod telling;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Ask, Asked, Claim};
use crate::config::{Fleet, RegionConfig, RegionState};
use crate::destination::{Destination, Place};
use crate::finding::{Code, Finding, Origin, Severity};
use crate::kinds;
use crate::listing::few;
use crate::name::{Claimant, Name, Namespace, ObjectKey, Region};
use crate::object::{Object, finding_of};
use crate::selector::Truth;
use crate::snapshot::{Lookup, Snapshot};

pub use spec::{Datum, DatumKind, Labels, TemplateSpec, read};
pub use telling::{Led, Telling};

/// The namespaces that a region has, as far as anybody knows.
#[derive(Default)]
pub struct Namespaces {
    /// Those that are known, with what is known of their labels.
    pub known: BTreeMap<Namespace, Labels>,
    /// Those that are known to be absent.
    pub absent: BTreeSet<Namespace>,
    /// Those of the known ones that a Namespace in a file names.
    pub told: BTreeSet<Namespace>,
    /// The sources whose Namespaces say so.
    pub telling: Telling,
    /// Whether there are no others, but for those that a source that describes the region may hold unread.
    pub complete: bool,
    /// Whether a look into the region's cluster says so, and nobody else.
    pub is_seen: bool,
    /// Whether that look failed.
    pub is_unread: bool,
    /// Whether its list is from before, and nobody may look again: labels may be other ones by now.
    pub is_older: bool,
    /// Those of the known ones that only a list of the cluster's own names.
    pub listed: BTreeSet<Namespace>,
}

impl Namespaces {
    /// Whether a template is for a namespace.
    fn selected(&self, spec: &TemplateSpec, namespace: &Namespace) -> Truth {
        let unknown = Labels::default();
        match spec.selects(namespace, self.known.get(namespace).unwrap_or(&unknown)) {
            Truth::No if self.is_older && spec.may_be_for(namespace) => Truth::Unknown,
            selected => selected,
        }
    }

    /// Returns true if it is proved that a template is not for a namespace.
    fn is_gone(&self, snapshot: &Snapshot, spec: &TemplateSpec, namespace: &Namespace) -> bool {
        if self.known.contains_key(namespace) {
            return self.selected(spec, namespace) == Truth::No;
        }
        self.absent.contains(namespace) || (self.complete && !self.telling.is_doubted(snapshot, namespace))
    }

    /// The same of a namespace to which a Namespace led that says nothing of the region now: it is gone, or whose it is became
    /// open. The configuration may say all the same that the template is for it no more.
    fn is_gone_that_led(
        &self,
        snapshot: &Snapshot,
        region: &RegionConfig,
        spec: &TemplateSpec,
        namespace: &Namespace,
        led: Led<'_>,
    ) -> bool {
        let known = region.namespaces.labels.get(namespace).cloned().unwrap_or_default();
        if spec.selects(namespace, &Labels { known, complete: false }) == Truth::No {
            return true;
        }
        let is_known = self.known.contains_key(namespace);
        let is_selected = is_known && self.selected(spec, namespace) != Truth::No;
        !is_selected && !self.telling.may_still_lead(snapshot, namespace, led)
    }
}

/// What the ManagedResources say that some region takes.
#[derive(Default)]
pub struct Templates {
    /// By name: those that can be read.
    pub specs: BTreeMap<Name, TemplateSpec>,
    /// Those that are for too many namespaces of a region.
    crowded: BTreeSet<(Region, Name)>,
}

impl Templates {
    /// What the template of a claimant says, if it is one that can be read.
    pub fn spec_of(&self, by: &Claimant) -> Option<&TemplateSpec> {
        self.specs.get(by.template()?)
    }
}

/// How many namespaces that a region takes nothing of are looked at to tell of them.
const MOST_SHUT: usize = 1_000;

/// The most claims that templates make for one region.
const MOST_CLAIMS: usize = 200_000;

/// The templates that are for the most namespaces, as many as have to go so that the others make no more claims than `most`.
fn crowded(mut counts: Vec<(usize, Name)>, most: usize) -> Vec<Name> {
    counts.sort();
    let mut sum = 0;
    let fits = |(count, _): &(usize, Name)| {
        sum += *count;
        sum <= most
    };
    counts.into_iter().skip_while(fits).map(|(_, name)| name).collect()
}

/// What every ManagedResource asks for that a region takes, sorted by claimant and region, and what is wrong with those that
/// ask for nothing.
pub fn claims<'n>(
    fleet: &Fleet,
    snapshot: &Snapshot,
    namespaces: impl Fn(&Region) -> Option<&'n Namespaces>,
) -> (Templates, Vec<Asked>, Vec<Finding>) {
    let (mut templates, mut asking, mut findings) = (Templates::default(), Vec::new(), Vec::new());
    if !fleet.names_templates() {
        return (templates, Vec::new(), findings);
    }
    for object in snapshot.all(&kinds::managed_resource()) {
        let mut taking = fleet.regions.values().filter(|region| trusted(fleet, snapshot, region, object).is_some());
        let groups = fleet.guests.values().filter(|group| group.templates.contains(&object.key.name));
        let mut for_guests = groups.filter(|group| trusted_copy(fleet, snapshot, &group.region, object).is_some());
        let is_taken = taking.next().is_some() || for_guests.next().is_some();
        if let (true, Ok(spec)) = (is_taken, read(object)) {
            templates.specs.insert(object.key.name.clone(), spec);
        }
    }
    for region in fleet.regions.values() {
        let of_region = |object| Some((object, trusted(fleet, snapshot, region, object)?));
        let taken: Vec<(&Object, &Object)> = snapshot.all(&kinds::managed_resource()).filter_map(of_region).collect();
        let Some(namespaces) = namespaces(&region.name).filter(|_| !taken.is_empty()) else { continue };
        let ground = Destination { fleet, region }.ground();
        let is_open = |name: &Namespace| {
            region.namespaces.allowed.matches(name.as_str()) && ground.forbids(&ObjectKey::namespace(name)).is_empty()
        };
        let (open, mut shut): (Vec<_>, Vec<_>) = namespaces.known.iter().partition(|(name, _)| is_open(name));
        // Who writes them into the configuration or a source means something by it.
        shut.sort_by_key(|(name, _)| namespaces.listed.contains(*name));
        shut.truncate(MOST_SHUT);
        let mut chosen = Vec::new();
        for (object, copy) in taken {
            match templates.specs.get(&object.key.name) {
                Some(spec) if !object.is_mistyped() => chosen.push((object, copy, choose(&open, &shut, spec))),
                _ => findings.extend(faulty(region, object)),
            }
        }
        let counts = chosen.iter().map(|(object, _, choice)| (choice.open.len(), object.key.name.clone())).collect();
        let crowd: BTreeSet<Name> = crowded(counts, MOST_CLAIMS).into_iter().collect();
        for (object, copy, choice) in chosen {
            if namespaces.known.is_empty() && !namespaces.complete {
                findings.push(unknown(region, object));
            }
            if crowd.contains(&object.key.name) {
                findings.push(too_many(region, object, choice.open.len()));
                continue;
            }
            let unseen = unseen(region, object, &choice.unknown);
            findings.extend(unseen.map(|it| if namespaces.is_unread { it.without_facts_of(&region.name) } else { it }));
            // Nothing at all comes of it, which nobody means who names namespaces; a cluster has some that nobody named.
            let is_named = choice.shut.iter().any(|name| !namespaces.listed.contains(*name));
            let is_for_none = choice.open.is_empty() && choice.unknown.is_empty() && is_named;
            let severity = if is_for_none { Severity::Warning } else { Severity::Info };
            findings.extend(shut_out(region, object, &choice.shut).map(|finding| finding.severity(severity)));
            // Where nobody asks for it, nobody else would tell what is wrong with it.
            if choice.open.is_empty() {
                findings.extend(faulty(region, object));
            }
            asking.extend(
                choice.open.into_iter().map(|name| ((name, &object.key.name, &region.name), (object, copy), region)),
            );
        }
        templates.crowded.extend(crowd.into_iter().map(|name| (region.name.clone(), name)));
    }
    // There may be hundreds of thousands, and what each asks for is large.
    asking.sort_by_key(|(by, ..)| *by);
    let asked = asking
        .into_iter()
        .map(|((namespace, ..), (object, copy), region)| ask(object, copy, region, namespace))
        .collect();
    (templates, asked, findings)
}

/// What is wrong with a ManagedResource, for a region that takes it.
fn faulty(region: &RegionConfig, object: &Object) -> Vec<Finding> {
    let read = if object.is_mistyped() { None } else { read(object).err() };
    let faults = read.as_ref().unwrap_or(&object.faults);
    faults.iter().map(|fault| finding_of(fault, object).in_region(&region.name)).collect()
}

/// The namespaces of a region that a template selects.
struct Choice<'n> {
    /// Those that the region takes something of.
    open: Vec<&'n Namespace>,
    /// Of the others, as many as are looked at.
    shut: Vec<&'n Namespace>,
    /// Those of which nobody knows, and that the region takes something of.
    unknown: Vec<&'n Namespace>,
}

type OfRegion<'n> = (&'n Namespace, &'n Labels);

fn choose<'n>(open: &[OfRegion<'n>], shut: &[OfRegion<'n>], spec: &TemplateSpec) -> Choice<'n> {
    let shut = shut.iter().filter(|(name, labels)| spec.selects(name, labels) == Truth::Yes);
    let mut choice = Choice { open: Vec::new(), shut: shut.map(|(name, _)| *name).collect(), unknown: Vec::new() };
    for (name, labels) in open {
        match spec.selects(name, labels) {
            Truth::No => {}
            Truth::Yes => choice.open.push(name),
            Truth::Unknown => choice.unknown.push(name),
        }
    }
    choice
}

/// The copy by which a region takes a ManagedResource, if it does: one of those that say the same, from a source that is
/// trusted with cluster-scoped objects of this region.
fn trusted<'s>(fleet: &Fleet, snapshot: &'s Snapshot, region: &RegionConfig, object: &'s Object) -> Option<&'s Object> {
    if region.state == RegionState::Retired || !region.templates.matches(object.key.name.as_str()) {
        return None;
    }
    trusted_copy(fleet, snapshot, &region.name, object)
}

fn trusted_copy<'s>(fleet: &Fleet, snapshot: &'s Snapshot, region: &Region, object: &Object) -> Option<&'s Object> {
    snapshot.agreeing(&object.key).find(|copy| fleet.trusts_with_templates(&copy.origin.source, region))
}

/// The templates, and what is known of a region's namespaces.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    /// The templates.
    pub templates: &'k Templates,
    /// The namespaces; none where nobody knows them.
    pub namespaces: Option<&'k Namespaces>,
}

/// What a template asks for that is rendered for guest clusters of a namespace: what it would ask for if the region took it,
/// or why nobody knows. None if the template is not for the namespace.
pub(super) fn for_guests(
    fleet: &Fleet,
    snapshot: &Snapshot,
    Known { templates, namespaces }: Known<'_>,
    region: &RegionConfig,
    group: &Name,
    name: &Name,
    namespace: &Namespace,
) -> Option<Result<Claim, Vec<Finding>>> {
    let key = ObjectKey::new(kinds::managed_resource(), None, name.clone());
    let one = |finding: Finding| Some(Err(vec![finding.about(&key)]));
    let object = match snapshot.look_up(&key) {
        Lookup::Found(object) => object,
        Lookup::Unread(unread) => return one(unread.finding(&key)),
        Lookup::Absent | Lookup::Unasked => {
            let message = format!("guests.{group} names {key}, which no source with `clusterScoped` has");
            let place = fleet.guests.get(group).map_or_else(Origin::configuration, |group| group.origin_of(&key));
            let finding = Finding::new(Code::MissingReference, message).at(&place);
            let meant = snapshot.did_you_mean(&key, true);
            return one(finding.help(format!("{meant}Add the template, or correct the name in the group.")));
        }
    };
    let Some(copy) = trusted_copy(fleet, snapshot, &region.name, object) else {
        let message = format!(
            "guests.{group} names {key}, which no source has that is trusted with templates for region {}",
            region.name
        );
        let finding = Finding::new(Code::MissingReference, message).at(&object.origin);
        return one(finding.help("Move it into a source with `clusterScoped`, or correct the name in the group."));
    };
    let mut faults = faulty(region, object);
    let is_faulty = faults.iter().any(Finding::stops_claim);
    let Some(spec) = templates.specs.get(name).filter(|_| !is_faulty) else {
        if !is_faulty {
            let message = format!("whether {key} counts as it was read is unknown");
            let finding = Finding::new(Code::Unread, message).about(&key).at(&object.origin);
            faults.push(finding.help("Correct the source: its own findings say what is wrong."));
        }
        return Some(Err(faults));
    };
    match namespaces.unwrap_or(&Namespaces::default()).selected(spec, namespace) {
        Truth::No => None,
        Truth::Yes => {
            let claim = ask(object, copy, region, namespace).claim;
            claim.map(|claim| Ok(Claim { ask: Ask::Render { for_guests: true }, ..Arc::unwrap_or_clone(claim) }))
        }
        Truth::Unknown => {
            let message = format!(
                "whether the template is for namespace {namespace} is unknown, because the labels of the namespace are unknown"
            );
            let finding = Finding::new(Code::Unread, message).at(&object.origin).in_region(&region.name);
            let help =
                "Write the labels into `namespaces.labels` of the region, or correct what keeps them from being read.";
            one(finding.help(help))
        }
    }
}

/// Asks for what a template makes for a namespace; the copy is of a source that the region trusts.
fn ask(object: &Object, copy: &Object, region: &RegionConfig, namespace: &Namespace) -> Asked {
    let by = Claimant::Template { namespace: namespace.clone(), template: object.key.name.clone() };
    let (at, origin) = (Place::Region(region.name.clone()), copy.origin.clone());
    let claim = Claim { by: by.clone(), at, origin, ask: Ask::Render { for_guests: false }, through: Vec::new() };
    let mut asked = Asked {
        by,
        origin: copy.origin.clone(),
        region: Some(region.name.clone()),
        claim: Some(Arc::new(claim)),
        findings: object.faults.iter().map(|fault| finding_of(fault, object)).collect(),
    };
    asked.settle();
    asked
}

/// Tells of a template that is for too many namespaces.
fn too_many(region: &RegionConfig, object: &Object, count: usize) -> Finding {
    let message = format!(
        "templates are rendered for more than {MOST_CLAIMS} namespaces of region {} all together, and this one is for {count}, \
         the most",
        region.name
    );
    let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
    finding.in_region(&region.name).help("Select fewer namespaces; what is published stays.")
}

/// Tells once that nobody knows whether a template is for some namespaces.
fn unseen(region: &RegionConfig, object: &Object, namespaces: &[&Namespace]) -> Option<Finding> {
    let named = named(namespaces)?;
    let message = format!("whether the template is for namespaces of region {} is unknown: {named}", region.name);
    let finding = Finding::new(Code::Unread, message).about(&object.key).at(&object.origin);
    let help = "Their labels were not seen. Correct what keeps the region, or its Namespaces, from being read.";
    Some(finding.in_region(&region.name).help(help).severity(Severity::Info))
}

fn named(namespaces: &[&Namespace]) -> Option<String> {
    const SHOWN: usize = 5;
    namespaces.first()?;
    Some(few(namespaces.iter().map(|name| String::from(name.as_str())), namespaces.len(), SHOWN))
}

/// Tells once of a template that it is only for those namespaces that the region takes something of.
fn shut_out(region: &RegionConfig, object: &Object, namespaces: &[&Namespace]) -> Option<Finding> {
    let named = named(namespaces)?;
    let message = format!("region {} takes nothing of namespaces that the template selects: {named}", region.name);
    let finding = Finding::new(Code::NamespaceNotAllowed, message).about(&object.key).at(&object.origin);
    let help = "If this is unintended, add them to the region's namespaces.allowed.";
    Some(finding.in_region(&region.name).help(help))
}

fn unknown(region: &RegionConfig, object: &Object) -> Finding {
    let name = &region.name;
    let message = format!("which namespaces region {name} has is unknown, so nothing is made of {}", object.key);
    let (look, of_several) = match region.management {
        true => (String::from("read its cluster as a source with `clusterScoped`"), String::new()),
        false => (
            format!("let pouch look into it (`regions.{name}.cluster`, or its facts in a source)"),
            format!(", with `region: {name}` where there are other regions"),
        ),
    };
    let help = format!(
        "Write them with their labels into `regions.{name}.namespaces.labels`, {look}, or put Namespaces into the only source \
         with `clusterScoped`{of_several}. What is published stays."
    );
    Finding::new(Code::Unread, message).about(&object.key).at(&object.origin).in_region(name).help(help)
}

/// The code that says why what was made of a template for a namespace stays although nothing is asked for, if it does; `led`
/// is the Namespace that led to it, if one did.
pub fn kept_by(
    fleet: &Fleet,
    snapshot: &Snapshot,
    by: &Claimant,
    region: &RegionConfig,
    Known { templates, namespaces }: Known<'_>,
    led: Option<Led<'_>>,
) -> Option<Code> {
    // Of a template that the region takes no more, the configuration has said enough.
    let template = by.template().filter(|template| region.templates.matches(template.as_str()))?;
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
    let Ok(spec) = read(object) else { return Some(Code::InvalidObject) };
    let Some(namespaces) = namespaces else { return Some(Code::Unread) };
    // It is for too many to ask for any.
    if templates.crowded.contains(&(region.name.clone(), template.clone())) {
        return Some(Code::InvalidObject);
    }
    let is_listed = namespaces.is_seen || namespaces.telling.is_live || namespaces.told.contains(by.namespace());
    let is_gone = match led.filter(|_| !is_listed) {
        Some(led) => namespaces.is_gone_that_led(snapshot, region, &spec, by.namespace(), led),
        None => namespaces.is_gone(snapshot, &spec, by.namespace()),
    };
    (!is_gone).then_some(Code::Unread)
}

/// Whether a look alone says that a template is for a namespace no more: of another cluster than the region's it says nothing.
pub fn hangs_on_look(snapshot: &Snapshot, by: &Claimant, Known { templates, namespaces }: Known<'_>) -> bool {
    if !namespaces.is_some_and(|namespaces| namespaces.is_seen) {
        return false;
    }
    let found = kinds::claimant(by).map(|key| snapshot.look_up(&key));
    matches!(found, Some(Lookup::Found(_))) && templates.spec_of(by).is_some_and(|spec| spec.may_be_for(by.namespace()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_for_the_most_namespaces_are_too_many() {
        let counts = || [(3, "a"), (1, "b"), (3, "c"), (0, "d")].map(|(count, name)| (count, Name::from(name))).into();
        let lost = |most| crowded(counts(), most).iter().map(|name| String::from(name.as_str())).collect::<Vec<_>>();
        assert!(lost(7).is_empty());
        assert_eq!(lost(6), ["c"]);
        assert_eq!(lost(3), ["a", "c"]);
        assert_eq!(lost(0), ["b", "a", "c"]);
    }
}
