//! Machines: what those of a Cluster name beside what its infrastructure names.
//!
//! Only machines of providers count that let them name an identity of their own. What makes them is found by the name of the
//! Cluster in it, and by the Cluster's own reference to its control plane.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::behind::{Behind, Looked, cure};
use super::makers::{Makers, Making, naming};
use crate::capi::cluster::{self, Belongs, ClusterSpec, Maker, Referred, Templated};
use crate::capi::naming::ClusterKind;
use crate::config::Fleet;
use crate::finding::{Code, Finding};
use crate::name::{GroupKind, Name, Namespace, ObjectKey, SourceName};
use crate::node::Node;
use crate::object::Object;
use crate::selector::{Label, Selector, Truth};
use crate::snapshot::Lookup;

/// Returns true if a source may say something of a Cluster in another: who describes one region's Clusters chooses for these
/// alone.
fn counts(fleet: &Fleet, source: &SourceName, cluster: &Object) -> bool {
    let described = fleet.described_by(source);
    described.is_none() || described == fleet.described_by(&cluster.origin.source)
}

impl<'a> Behind<'a> {
    /// Takes what the machines of a Cluster name, and its failure domains; `body` is that of its infrastructure.
    pub(super) fn of_machines(
        &mut self,
        looked: &mut Looked<'_>,
        known: &'static ClusterKind,
        body: &Node,
        spec: &ClusterSpec,
    ) {
        if known.machines.is_empty() {
            return;
        }
        let namespace = looked.by.namespace();
        let mut makers = self.makers.take().unwrap_or_else(|| Makers::among(self.snapshot));
        let mut domains = BTreeSet::new();
        let unread = makers.unread.entry(namespace.clone()).or_insert_with(|| self.unread_makers(namespace));
        let may_have = unread.iter().find(|(source, _)| counts(self.fleet, source, looked.cluster));
        if let Some((source, maker)) = may_have {
            self.unread(looked, source, &format!("{}s in namespace {namespace}", maker.kind));
        }
        let key = (namespace.clone(), looked.cluster.key.name.clone());
        let own = makers.of.get(&key).into_iter().chain(makers.stray.get(namespace)).flatten();
        for making in own {
            self.of_maker(looked, known, making, &mut domains);
        }
        self.makers = Some(makers);
        if let Some((object, maker)) = self.control_plane(looked, spec) {
            let makes = cluster::makes(maker, &object.body);
            self.of_maker(looked, known, &Making { object, maker, makes }, &mut domains);
        }
        self.of_domains(looked, known, body, &domains);
    }

    /// The sources that may have something unseen that makes machines.
    fn unread_makers(&self, namespace: &Namespace) -> Vec<(SourceName, &'static Maker)> {
        let mut unread = Vec::new();
        for maker in naming() {
            let kind = maker.group_kind();
            let sources = self.snapshot.all_unread_in(&kind, namespace);
            unread.extend(sources.map(|source| (source.clone(), maker)));
        }
        unread
    }

    fn unread(&self, looked: &mut Looked<'_>, source: &SourceName, what: &str) {
        let message =
            format!("source {source} may have {what} that were not read, and what their machines name is unknown");
        let finding = Finding::new(Code::Unread, message).about(&looked.cluster.key).at(&looked.cluster.origin);
        looked.findings.push(
            finding.help(
                "Let pouch read all of the source; of a cluster, apply again the rights that `pouch rbac` prints.",
            ),
        );
    }

    /// The control plane that a Cluster names, if it makes machines and is there.
    fn control_plane(&self, looked: &mut Looked<'_>, spec: &ClusterSpec) -> Option<(&'a Object, &'static Maker)> {
        let referred = spec.refers_to.iter().find(|to| to.field == cluster::CONTROL_PLANE)?;
        let maker = cluster::maker(&referred.kind).filter(|maker| maker.belongs == Belongs::ControlPlane)?;
        let key = own(looked, &referred.kind, &referred.name);
        // What names no identity itself may stand elsewhere.
        if matches!(self.snapshot.look_up(&key), Lookup::Absent) {
            return None;
        }
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
        if !counts(self.fleet, &object.origin.source, looked.cluster) {
            return;
        }
        looked.faults(&object.faults, object);
        looked.faults(&makes.faults, object);
        if object.is_mistyped() {
            return;
        }
        domains.extend(makes.domains.iter().cloned());
        for referred in &makes.machines {
            let Some((machine, is_template)) = machine_of(looked, known, referred, object) else { continue };
            let key = own(looked, &referred.kind, &referred.name);
            let is_spent = matches!(maker.belongs, Belongs::Made | Belongs::Machine);
            // A template is deleted as soon as nothing new is to be made of it.
            if is_spent && matches!(self.snapshot.look_up(&key), Lookup::Absent) {
                continue;
            }
            let field = format!("{} of {}", referred.field, object.key);
            if let Some(found) = self.look_up(looked, &key, &field) {
                let own = looked.by.namespace().clone();
                self.take_from(looked, machine, found, is_template, &own);
            }
        }
    }

    /// Takes what the templates of machines name in a ClusterClass, of those classes of workers that the Cluster has.
    pub(super) fn of_class_machines(
        &mut self,
        looked: &mut Looked<'_>,
        class: &'a Object,
        known: &'static ClusterKind,
        templates: &[Templated],
        spec: &ClusterSpec,
    ) {
        let mut domains = spec.domains.clone();
        for Templated { template, workers, domains: placed, written } in templates {
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
                let own = looked.by.namespace().clone();
                self.take_from(looked, machine, object, is_template, &own);
            }
        }
        self.of_domains(looked, known, &Node::Null, &domains);
    }

    /// Takes what failure domains name: those of these names, and those that the infrastructure selects.
    pub(super) fn of_domains(
        &mut self,
        looked: &mut Looked<'_>,
        known: &'static ClusterKind,
        body: &Node,
        names: &BTreeSet<Name>,
    ) {
        let Some(domain) = known.domains else { return };
        let selector = match body.at(cluster::DOMAIN_SELECTOR).map(Selector::read) {
            None => None,
            Some(Ok(selector)) => Some(selector),
            Some(Err(_)) => {
                let why = "the selector of its failure domains cannot be read";
                return looked.unknown(why, looked.cluster, cure(looked.cluster));
            }
        };
        if names.is_empty() && selector.is_none() {
            return;
        }
        let kind = GroupKind::new(domain.group, domain.kind);
        let unread = self.snapshot.unread_in(&kind, None).filter(|source| counts(self.fleet, source, looked.cluster));
        if let Some(source) = unread {
            self.unread(looked, source, &format!("{}s", domain.kind));
        }
        let is_selected = |zone: &Object| {
            let label = |key: &str| zone.label(key).map_or(Label::Absent, Label::Is);
            selector.as_ref().is_some_and(|selector| selector.matches(label) == Truth::Yes)
        };
        // They have no namespace: a Secret that one names stands in that of the controller.
        let system = self.fleet.system_namespace.clone();
        for zone in self.snapshot.all(&kind) {
            if !counts(self.fleet, &zone.origin.source, looked.cluster)
                || !(names.contains(&zone.key.name) || is_selected(zone))
            {
                continue;
            }
            looked.faults(&zone.faults, zone);
            if !zone.is_mistyped() {
                self.take_from(looked, domain, zone, false, &system);
            }
        }
    }
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
        let help = format!("Did you mean {}? Until this is corrected, what the Cluster has stays.", meant.qualified());
        looked.findings.push(Finding::new(Code::Mistyped, message).about(&at.key).at(&at.origin).help(help));
    }
    found
}

/// An object of the Cluster's own namespace.
fn own(looked: &Looked<'_>, kind: &GroupKind, name: &Name) -> ObjectKey {
    ObjectKey::new(kind.clone(), Some(looked.by.namespace().clone()), name.clone())
}
