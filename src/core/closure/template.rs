//! The closure of a ManagedResource for one namespace: the data that its template is given, and what was made of it.
//!
//! The data is read and not published. It is open to a template as a source is trusted with it: what the template's own
//! source has, and what a grant names.

use alloc::string::String;
use alloc::vec::Vec;

use super::at_home;
use super::landing::Places;
use super::member::{Closure, Member, Role};
use crate::admission::{self, Asker, Namer, Sought};
use crate::claim::Claim;
use crate::claim::template::{Datum, TemplateSpec};
use crate::config::Grant;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::ObjectKey;
use crate::name::step::Step;
use crate::object::{Object, finding_of};
use crate::snapshot::Lookup;
use crate::world::World;

pub(super) fn close(world: &World<'_>, claim: &Claim, closure: &mut Closure) {
    let template = kinds::claimant(&claim.by).map(|key| world.snapshot.look_up(&key));
    let (Some(Lookup::Found(template)), Some(spec)) = (template, world.facts.templates.spec_of(&claim.by)) else {
        // A copy that was not read may say something else.
        let message = format!("whether {} counts as it was read is unknown", claim.by);
        let finding = Finding::new(Code::Unread, message).at(&claim.origin);
        return closure.find(claim, finding.help("Correct the source: its own findings say what is wrong."));
    };
    let data = data(world, claim, spec);
    for key in &data.wanted {
        closure.want(claim, key);
    }
    let is_known = data.is_known();
    data.findings.into_iter().for_each(|finding| closure.find(claim, finding));
    if !is_known {
        return;
    }
    let Some(made) = world.snapshot.made.of(&claim.made_for()) else {
        let finding =
            Finding::new(Code::Unread, format!("nothing was made of {} yet", template.key)).about(&template.key);
        return closure.find(claim, finding.at(&claim.origin).help("This is a bug in pouch; please report it."));
    };
    made.findings.iter().for_each(|finding| closure.find(claim, finding.clone()));
    if !made.is_known && !made.findings.iter().any(Finding::stops_claim) {
        let message = format!("what {} makes here is unknown", template.key);
        let finding = Finding::new(Code::Unread, message).about(&template.key).at(&claim.origin);
        return closure
            .find(claim, finding.help("Run pouch again; if it stays, this is a bug in pouch; please report it."));
    }
    let given = spec.data.iter().map(|datum| datum.object.clone()).chain(namespace(world, claim)).map(Step::Data);
    let through: Vec<Step> = [Step::Template(template.key.name.clone())].into_iter().chain(given).collect();
    for (read, lands) in &made.objects {
        let places = Places { read: read.clone(), lands: lands.clone() };
        closure.members.push(Member::new(places, Role::Root, through.clone(), None));
    }
    // A guest is not the management cluster.
    if !claim.is_for_guests() {
        at_home::mark(world, claim, closure);
    }
}

/// The Namespace of a source that leads a template to its namespace: what stands for it in the bundle says later what has to be
/// gone before it may go.
fn namespace(world: &World<'_>, claim: &Claim) -> Option<ObjectKey> {
    let namespaces = world.namespaces(claim.region()).filter(|_| !claim.is_for_guests())?;
    let name = claim.by.namespace();
    namespaces.told.contains(name).then(|| ObjectKey::namespace(name))
}

/// The data of a template, as far as it is known.
pub struct Data<'a, 's> {
    /// What is there.
    pub found: Vec<(&'s Datum, &'a Object)>,
    /// Why other data is not.
    pub findings: Vec<Finding>,
    /// What no source has been asked for yet.
    pub wanted: Vec<ObjectKey>,
}

impl Data<'_, '_> {
    /// Whether all of it is known. What is merely told of an object keeps nobody from using it.
    pub fn is_known(&self) -> bool {
        self.wanted.is_empty() && !self.findings.iter().any(Finding::stops_claim)
    }
}

/// Looks for the data of a template.
pub fn data<'a, 's>(world: &World<'a>, claim: &Claim, spec: &'s TemplateSpec) -> Data<'a, 's> {
    let mut data = Data { found: Vec::new(), findings: Vec::new(), wanted: Vec::new() };
    for datum in &spec.data {
        let key = &datum.object;
        if let Some(finding) = shut(world, claim, key) {
            data.findings.push(finding.at(&claim.origin));
            continue;
        }
        match world.snapshot.look_up(key) {
            Lookup::Found(object) => {
                data.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
                data.findings.extend(stays(world, object).map(|finding| finding.at(&claim.origin)));
                data.found.push((datum, object));
            }
            Lookup::Unasked => data.wanted.push(key.clone()),
            Lookup::Unread(unread) => data.findings.push(unread.finding(key).at(&claim.origin)),
            Lookup::Absent => {
                let message = format!("data {} is {key}, which is in no source", datum.name);
                let help = match world.fleet.reads(&key.kind) {
                    true => "Add the object, or correct the reference.",
                    false if kinds::is_kubernetes_own(key.kind.group.as_str()) => {
                        "pouch reads no objects of this kind: write what the template needs of it into a ConfigMap."
                    }
                    false => "pouch reads no objects of this kind: use a ConfigMap, or declare the kind in `kinds`.",
                };
                let finding = Finding::new(Code::MissingReference, message).about(key).at(&claim.origin);
                data.findings.push(finding.help(help));
            }
        }
    }
    data
}

/// What never leaves its cluster does not leave it in another dress either.
fn stays(world: &World<'_>, object: &Object) -> Option<Finding> {
    let is_kubeconfig = object.key.kind.is_secret() && world.facts.kubeconfigs.contains(&object.key.name);
    let why = object.stays.or(is_kubeconfig.then_some("it is named as the kubeconfig of a Region"))?;
    let message = format!("{} never leaves its cluster: {why}", object.key);
    Some(Finding::new(Code::ForbiddenType, message).about(&object.key).help("Give the template another Secret."))
}

/// Whether data is known not to be open to a template.
pub fn is_shut<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, key: &ObjectKey) -> bool {
    let asker = asker.into();
    !is_open(world, asker, key) && admission::undecided(world, asker, &datum(key)).is_none()
}

fn datum(read: &ObjectKey) -> Sought<'_> {
    Sought { read, namer: Namer::Claimant }
}

fn is_open(world: &World<'_>, asker: Asker<'_>, key: &ObjectKey) -> bool {
    admission::is_of_own_source(world, asker, key) || world.grants(asker.by, asker.region, key)
}

/// Why data is not open to a template, if it is not. Its text is no rule that takes something away: it may be mistyped. What
/// it has published of such data is [judged](is_shut) by itself.
fn shut(world: &World<'_>, claim: &Claim, key: &ObjectKey) -> Option<Finding> {
    if is_open(world, claim.into(), key) {
        return None;
    }
    if let Some(undecided) = admission::undecided(world, claim, &datum(key)) {
        return Some(undecided);
    }
    let message = format!("{key} is not open to {}: {}", claim.by, admission::OF_ANOTHER_SOURCE);
    let help = match world.fleet.publishes(&key.kind) {
        true => {
            let grant = Grant::least(&claim.by, claim.region(), key);
            format!("Correct the reference, put it into the template's own source, or add to `grants`: `- {grant}`.")
        }
        false => String::from("Correct the reference, or put it into the template's own source."),
    };
    Some(Finding::new(Code::InvalidObject, message).about(key).help(help))
}
