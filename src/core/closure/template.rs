//! The closure of a ManagedResource for one namespace: the data that its template is given, and what was made of it.
//!
//! The data is read and not published. It is open to a template as a source is trusted with it: what the template's own
//! source has, and what a grant names.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::at_home;
use super::landing::Places;
use super::member::{Closure, Member, Role, Via};
use crate::admission::{self, Namer, Sought};
use crate::claim::Claim;
use crate::claim::template::{Datum, TemplateSpec};
use crate::config::Grant;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{GroupKind, Name, Namespace, ObjectKey};
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
    let field = field(&spec.data);
    for (read, lands) in &made.objects {
        let via = vec![Via { interface: None, field: field.clone() }];
        let places = Places { read: read.clone(), lands: lands.clone() };
        closure.members.push(Member::new(places, Role::Root, via, None));
    }
    // A guest is not the management cluster.
    if !claim.is_for_guests() {
        at_home::mark(world, claim, closure);
    }
}

/// The field that leads to what a template makes: it names the data that is in it.
fn field(data: &[Datum]) -> String {
    let mut field = String::from(FIELD);
    for (at, datum) in data.iter().enumerate() {
        field.push_str(if at == 0 { WITH } else { AND });
        field.push_str(&datum.object.to_string());
    }
    field
}

const FIELD: &str = "spec.template";
const WITH: &str = " with ";
const AND: &str = ", ";

/// The same where a group of guest clusters has it rendered.
pub(super) fn by_group(group: &str, field: &str) -> String {
    format!("{group}{AND}{field}")
}

/// The data that is in what a template made, by the field that led to it.
pub fn data_of(field: &str) -> impl Iterator<Item = ObjectKey> {
    let field = match field.split_once(AND) {
        Some((group, rest)) if !group.starts_with(FIELD) => rest,
        _ => field,
    };
    let named = field.strip_prefix(FIELD).and_then(|rest| rest.strip_prefix(WITH)).unwrap_or_default();
    named.split(AND).filter_map(|text| {
        let (kind, place) = text.split_once(' ')?;
        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
        let (namespace, name) = match place.split_once('/') {
            Some((namespace, name)) => (Some(Namespace::from(namespace)), name),
            None => (None, place),
        };
        Some(ObjectKey::new(GroupKind::new(group, kind), namespace, Name::from(name)))
    })
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
pub fn is_shut(world: &World<'_>, claim: &Claim, key: &ObjectKey) -> bool {
    !is_open(world, claim, key) && admission::undecided(world, claim, &datum(key)).is_none()
}

fn datum(read: &ObjectKey) -> Sought<'_> {
    Sought { read, namer: Namer::Claimant }
}

fn is_open(world: &World<'_>, claim: &Claim, key: &ObjectKey) -> bool {
    admission::is_of_own_source(world, claim, key) || world.grants(&claim.by, claim.region(), key)
}

/// Why data is not open to a template, if it is not. Its text is no rule that takes something away: it may be mistyped. What
/// it has published of such data is [judged](is_shut) by itself.
fn shut(world: &World<'_>, claim: &Claim, key: &ObjectKey) -> Option<Finding> {
    if is_open(world, claim, key) {
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
    Some(Finding::new(Code::InvalidTemplate, message).about(key).help(help))
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::claim::template::DatumKind;

    #[test]
    fn the_data_of_what_was_made_is_read_back() {
        let keys = [
            ObjectKey::secret("registry".into(), "pull.a".into()),
            ObjectKey::new(GroupKind::new("x.y.z", "Thing"), None, "a".into()),
            ObjectKey::new(GroupKind::new("x.y", "Thing"), Some("b".into()), "c".into()),
        ];
        let datum =
            |object: &ObjectKey| Datum { name: Arc::from("d"), kind: DatumKind::Object, object: object.clone() };
        for count in 0..=keys.len() {
            let data: Vec<Datum> = keys.iter().take(count).map(datum).collect();
            let by_group = by_group("guests.a: ManagedResource spec.template", &field(&data));
            for field in [field(&data), by_group] {
                assert_eq!(data_of(&field).collect::<Vec<_>>(), keys[..count], "{field}");
            }
        }
        assert!(data_of("spec.identityRef").next().is_none());
    }
}
