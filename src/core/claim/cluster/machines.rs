//! Machines: the identities that those of a Cluster name beside its infrastructure.
//!
//! Only machines of providers count that let them name an identity of their own. What makes them is found by the name
//! of the Cluster in it, and by the Cluster's own reference to its control plane. A Cluster is held to its own source:
//! what makes machines, and failure domains, count only there.
//!
//! Machines take nothing from their Cluster. What is wrong with them, or may be missing, leaves open which identities
//! they name, and what is published of these stays.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::behind::{Behind, Looked, cure};
use super::makers::{Makers, Making, naming};
use crate::capi::cluster::{self, Belongs, ClusterSpec, Maker, Owner, Referred, Templated};
use crate::capi::naming::ClusterKind;
use crate::finding::{Code, Finding, Severity};
use crate::name::{GroupKind, Name, ObjectKey, SourceName};
use crate::node::Node;
use crate::object::Object;
use crate::snapshot::Lookup;

impl<'a> Behind<'a> {
    /// Takes what the machines of a Cluster name, and its failure domains: of these names, and those that the
    /// infrastructure selects, which stands in an object or is made of it.
    pub(super) fn of_machines(
        &mut self,
        looked: &mut Looked<'_>,
        known: &'static ClusterKind,
        infrastructure: Option<(&Object, &Node)>,
        spec: &ClusterSpec,
        mut domains: BTreeSet<Name>,
    ) {
        let (namespace, name) = (looked.by.namespace().clone(), looked.cluster.key.name.clone());
        let source = looked.cluster.origin.source.clone();
        let mut kinds = naming().map(|maker| (maker, maker.group_kind()));
        let unread = kinds.find(|(_, kind)| self.snapshot.may_lack_naming(&source, kind, &namespace, &name));
        if let Some((maker, _)) = unread {
            self.unread(looked, &format!("{}s in namespace {namespace}", maker.kind));
        }
        let makers = self.makers();
        if let Some((stray, is_slip)) = makers.stray(&source, &namespace, &name) {
            let finding = of_stray(looked, stray);
            // Who has machines of Clusters that are elsewhere is not told so of each Cluster.
            match is_slip {
                true => looked.findings.push(finding),
                false => looked.doubt = Some(finding),
            }
        }
        for making in makers.of(&source, &namespace, &name) {
            self.of_maker(looked, known, making, &mut domains);
        }
        let others = looked.others.iter().flat_map(|other| makers.of(other, &namespace, &name));
        let elsewhere = others.map(|making| making.object).next();
        looked.doubt_of(elsewhere);
        if let Some((object, maker)) = self.control_plane(looked, spec) {
            let makes = cluster::makes(maker, &object.body);
            self.of_maker(looked, known, &Making { object, maker, makes }, &mut domains);
        }
        self.of_domains(looked, known, infrastructure, &domains);
    }

    fn unread(&self, looked: &mut Looked<'_>, what: &str) {
        let source = &looked.cluster.origin.source;
        let message = format!("source {source} may have {what} that were not read");
        let finding = Finding::new(Code::Unread, message).about(&looked.cluster.key).at(&looked.cluster.origin);
        looked.findings.push(
            finding.help(
                "Let pouch read all of the source; of a cluster, apply again the rights that `pouch rbac` prints.",
            ),
        );
    }

    /// The objects that make machines, found once.
    pub(super) fn makers(&mut self) -> Arc<Makers<'a>> {
        Arc::clone(self.makers.get_or_insert_with(|| Arc::new(Makers::among(self.fleet, self.snapshot))))
    }

    /// The control plane that a Cluster names, if it makes machines.
    fn control_plane(&self, looked: &mut Looked<'_>, spec: &ClusterSpec) -> Option<(&'a Object, &'static Maker)> {
        let referred = spec.refers_to.iter().find(|to| to.field == cluster::CONTROL_PLANE)?;
        let maker = cluster::maker(&referred.kind).filter(|maker| maker.belongs == Belongs::ControlPlane)?;
        let key = own(looked, &referred.kind, &referred.name);
        self.look_up(looked, &key, "spec.controlPlaneRef").map(|object| (object, maker))
    }

    /// Takes what the machines of one maker name, and adds the failure domains that it names.
    fn of_maker(
        &mut self,
        looked: &mut Looked<'_>,
        known: &'static ClusterKind,
        Making { object, maker, makes }: &Making<'a>,
        domains: &mut BTreeSet<Name>,
    ) {
        // What another source says under the same name is nothing to this one.
        let faults = object.faults.iter().filter(|fault| fault.code != Code::Shadowed);
        looked.faults(faults.chain(&makes.faults), object);
        if object.is_mistyped() {
            return;
        }
        domains.extend(makes.domains.iter().cloned());
        for referred in &makes.machines {
            let Some((machine, is_template)) = machine_of(looked, known, referred, object) else { continue };
            let key = own(looked, &referred.kind, &referred.name);
            // Many machines are made of one template.
            if !looked.machines.insert(key.clone()) {
                continue;
            }
            let is_spent = matches!(maker.belongs, Belongs::Made | Belongs::Machine);
            // A template is deleted as soon as nothing new is to be made of it.
            if is_spent && matches!(self.snapshot.look_up(&key), Lookup::Absent) {
                continue;
            }
            let field = format!("{} of {}", referred.field, object.key);
            if let Some(found) = self.look_up(looked, &key, &field) {
                let before = looked.starts.len();
                self.take(looked, machine, found, is_template);
                if looked.starts.len() > before && maker.names_cluster() {
                    looked.makers.insert(object.key.clone());
                }
            }
        }
    }

    /// Takes what the templates of machines name in a ClusterClass, of those classes of workers that the Cluster has;
    /// gives the failure domains in which they are placed.
    pub(super) fn of_class_machines(
        &mut self,
        looked: &mut Looked<'_>,
        class: &'a Object,
        known: &'static ClusterKind,
        templates: &[Templated],
        spec: &ClusterSpec,
    ) -> BTreeSet<Name> {
        let mut domains = spec.domains.clone();
        for Templated { template, workers, domains: placed, written, .. } in templates {
            let is_had = workers.as_ref().is_none_or(|name| spec.workers.contains(name));
            if template.field != cluster::OF_MACHINES || !is_had {
                continue;
            }
            domains.extend(placed.iter().cloned());
            let Some((machine, is_template)) = machine_of(looked, known, template, class) else { continue };
            if let Some((patch, field)) = written {
                let why = format!("patch {patch} of {} may write {field} of the {}", class.key, machine.kind);
                looked.unknown(&why, class, cure(looked.cluster));
                continue;
            }
            let key = ObjectKey::new(template.kind.clone(), class.key.namespace.clone(), template.name.clone());
            if let Some(object) = self.look_up(looked, &key, &format!("a template of machines of {}", class.key)) {
                self.take(looked, machine, object, is_template);
            }
        }
        domains
    }

    /// Takes what failure domains name: those of these names, and those that the infrastructure selects.
    fn of_domains(
        &mut self,
        looked: &mut Looked<'_>,
        known: &'static ClusterKind,
        infrastructure: Option<(&Object, &Node)>,
        names: &BTreeSet<Name>,
    ) {
        let Some(domain) = known.domains else { return };
        let source = looked.cluster.origin.source.clone();
        let kind = domain.group_kind();
        let mut selector = None;
        if let Some((object, body)) = infrastructure {
            match cluster::domain_selector(body) {
                Ok(read) => selector = read,
                Err(faults) => return looked.faults(&faults, object),
            }
        }
        let keys = || names.iter().map(|name| ObjectKey::new(kind.clone(), None, name.clone()));
        let is_named_unread = || keys().any(|key| self.snapshot.unread_of(&source, &key).is_some());
        let is_unread = || {
            selector.as_ref().is_some_and(|selector| {
                let values = selector.needs().map(|(_, values)| values);
                self.snapshot.may_lack_selected(&source, &kind, values)
            })
        };
        if is_named_unread() || is_unread() {
            self.unread(looked, &format!("{}s", domain.kind));
        }
        for key in keys().filter(|key| matches!(self.snapshot.stands(key), Lookup::Absent)) {
            let message = format!("machines are placed in {key}, which is in no source");
            let finding = Finding::new(Code::MissingReference, message).about(&key).at(&looked.cluster.origin);
            looked.findings.push(finding.help("Add the object, or correct the name of the failure domain."));
        }
        let makers = self.makers();
        let of = |source: &SourceName| {
            let Some(zones) = makers.zones(source) else { return BTreeMap::new() };
            let named = keys().flat_map(|key| zones.named(&key).collect::<Vec<_>>());
            let selected = selector.iter().flat_map(|selector| zones.selected(&kind, selector));
            named.chain(selected).map(|zone| (&zone.key, zone)).collect::<BTreeMap<&ObjectKey, &'a Object>>()
        };
        let elsewhere = looked.others.iter().find_map(|other| of(other).into_values().next());
        looked.doubt_of(elsewhere);
        let chosen = of(&source);
        // They have no namespace: a Secret that one names stands in that of the controller.
        let own = self.fleet.controller_of(domain);
        for zone in chosen.into_values() {
            looked.faults(zone.faults.iter().filter(|fault| fault.code != Code::Shadowed), zone);
            if !zone.is_mistyped() {
                let before = looked.starts.len();
                self.take_from(looked, domain, zone, false, own);
                if looked.starts.len() > before {
                    looked.makers.insert(zone.key.clone());
                }
            }
        }
    }
}

/// The finding about what makes machines of a Cluster that cannot be told: perhaps of this one.
fn of_stray(looked: &Looked<'_>, Making { object, makes, .. }: &Making<'_>) -> Finding {
    let said = match &makes.owner {
        Owner::Is(name) => format!("names Cluster {name}, which is in no source"),
        Owner::MayBe(_) => String::from("names its Cluster by a template that is not rendered"),
        Owner::Among(_) | Owner::Naming => String::from("does not say of which Cluster it is"),
    };
    let message = format!("{} {said}, and may be meant for {}", object.key, looked.cluster.key);
    Finding::new(Code::MachinesWait, message)
        .severity(Severity::Warning)
        .about(&object.key)
        .at(&object.origin)
        .help("Correct `spec.clusterName`, or remove the object. Until then, what is published for machines stays.")
}

/// The kind of machines that is referred to; none where it names no identity, or the fault was added.
fn machine_of(
    looked: &mut Looked<'_>,
    known: &'static ClusterKind,
    referred: &Referred,
    at: &Object,
) -> Option<(&'static ClusterKind, bool)> {
    let found = cluster::machine_of(known, &referred.kind);
    if found.is_none()
        && let Some(meant) = cluster::meant_machine(known, &referred.kind)
    {
        let message = format!("{} refers to the kind {}, which is not known", at.key, referred.kind.qualified());
        let help = format!("Did you mean {}?", meant.qualified());
        looked.findings.push(Finding::new(Code::Mistyped, message).about(&at.key).at(&at.origin).help(help));
    }
    found
}

/// An object of the Cluster's own namespace.
fn own(looked: &Looked<'_>, kind: &GroupKind, name: &Name) -> ObjectKey {
    ObjectKey::new(kind.clone(), Some(looked.by.namespace().clone()), name.clone())
}
