//! Machines: the identities that those of a Cluster name beside its infrastructure.
//!
//! Only machines of providers count that let them name an identity of their own. What makes them is found by the name of the
//! Cluster in it, and by the Cluster's own reference to its control plane. A Cluster is held to its own source: what makes
//! machines, and failure domains, count only there.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use super::behind::{Behind, Looked, cure};
use super::makers::{Makers, Making, controller_of, naming};
use crate::capi::cluster::{self, Belongs, ClusterSpec, Maker, Referred, Templated};
use crate::capi::naming::ClusterKind;
use crate::finding::{Code, Finding};
use crate::name::{GroupKind, Name, ObjectKey, SourceName};
use crate::node::Node;
use crate::object::Object;
use crate::selector::{Label, Selector, Truth};
use crate::snapshot::Lookup;

impl<'a> Behind<'a> {
    /// Takes what the machines of a Cluster name, and its failure domains: of these names, and those that the infrastructure
    /// selects, whose body is given.
    pub(super) fn of_machines(
        &mut self,
        looked: &mut Looked<'_>,
        known: &'static ClusterKind,
        body: &Node,
        spec: &ClusterSpec,
        mut domains: BTreeSet<Name>,
    ) {
        if known.machines.is_empty() {
            return;
        }
        let (namespace, name) = (looked.by.namespace().clone(), looked.cluster.key.name.clone());
        let unread = naming().find_map(|maker| {
            let mut sources = self.snapshot.unread_naming(maker.group_kind(), &namespace, &name);
            sources.find(|source| looked.sources.contains(source)).map(|source| (source.clone(), maker))
        });
        if let Some((source, maker)) = unread {
            self.unread(looked, &source, &format!("{}s in namespace {namespace}", maker.kind));
        }
        let makers = self.makers();
        for making in makers.of(&namespace, &name) {
            self.of_maker(looked, known, making, &mut domains);
        }
        if let Some((object, maker)) = self.control_plane(looked, spec) {
            let makes = cluster::makes(maker, &object.body);
            self.of_maker(looked, known, &Making { object, maker, makes }, &mut domains);
        }
        self.of_domains(looked, known, body, &domains);
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

    /// The objects that make machines, found once.
    pub(super) fn makers(&mut self) -> Arc<Makers<'a>> {
        Arc::clone(self.makers.get_or_insert_with(|| Arc::new(Makers::among(self.fleet, self.snapshot))))
    }

    /// Returns true if a source of the Cluster has a copy of an object; one that differs from the copy that counts is a fault
    /// of that.
    fn is_own(&self, looked: &Looked<'_>, object: &Object) -> bool {
        self.snapshot.copies(&object.key).any(|copy| looked.sources.contains(&&copy.origin.source))
    }

    /// The control plane that a Cluster names, if it makes machines and is there.
    fn control_plane(&self, looked: &mut Looked<'_>, spec: &ClusterSpec) -> Option<(&'a Object, &'static Maker)> {
        let referred = spec.refers_to.iter().find(|to| to.field == cluster::CONTROL_PLANE)?;
        let maker = cluster::maker(&referred.kind).filter(|maker| maker.belongs == Belongs::ControlPlane)?;
        let key = own(looked, &referred.kind, &referred.name);
        // A control plane that names no identity itself may stand elsewhere.
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
        if !self.is_own(looked, object) {
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
                self.take(looked, machine, found, is_template);
            }
        }
    }

    /// Takes what the templates of machines name in a ClusterClass, of those classes of workers that the Cluster has; gives the
    /// failure domains in which they are placed.
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
        body: &Node,
        names: &BTreeSet<Name>,
    ) {
        let Some(domain) = known.domains else { return };
        let makers = self.makers();
        let selector = match body.at(cluster::DOMAIN_SELECTOR).map(Selector::read).transpose() {
            Ok(selector) => selector,
            Err(_) => {
                let why = "the selector of its failure domains cannot be read";
                return looked.unknown(why, looked.cluster, cure(looked.cluster));
            }
        };
        let kind = domain.group_kind();
        let key = |name: &Name| ObjectKey::new(kind.clone(), None, name.clone());
        let is_unread = |source: &&&SourceName| {
            names.iter().any(|name| self.snapshot.unread_of(source, &key(name)).is_some())
                || (selector.is_some() && self.snapshot.all_unread_in(&kind, None).any(|unread| unread == **source))
        };
        let unread = looked.sources.iter().find(is_unread).copied();
        if let Some(source) = unread {
            self.unread(looked, source, &format!("{}s", domain.kind));
        }
        let selects = |selector: &Selector, zone: &Object| {
            let label = |key: &str| zone.label(key).map_or(Label::Absent, Label::Is);
            zone.key.kind == kind && selector.matches(label) == Truth::Yes
        };
        let named = names.iter().filter_map(|name| makers.domains.get_key_value(&key(name)));
        let selected =
            selector.iter().flat_map(|selector| makers.domains.iter().filter(|(_, zone)| selects(selector, zone)));
        let chosen: BTreeMap<&ObjectKey, &'a Object> = named.chain(selected).map(|(key, zone)| (*key, *zone)).collect();
        // They have no namespace: a Secret that one names stands in that of the controller.
        let own = controller_of(self.fleet, domain);
        for zone in chosen.into_values() {
            if self.is_own(looked, zone) {
                looked.faults(&zone.faults, zone);
                if !zone.is_mistyped() {
                    self.take_from(looked, domain, zone, false, &own);
                }
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
