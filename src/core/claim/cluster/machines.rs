//! Machines: the identities that those of a Cluster name beside its infrastructure.
//!
//! Only machines of providers count that let them name an identity of their own. What makes them is found by the name
//! of the Cluster in it, and by the Cluster's own reference to its control plane.
//!
//! Makers of machines count in the Cluster's own source alone, and what they name in that source: copies elsewhere neither
//! add to it nor take from it. Failure domains have no namespace, and are also those of sources that are trusted with such.
//!
//! Machines take nothing from their Cluster. What is wrong with them, or may be missing, leaves open which identities
//! they name, and what is published of these stays.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::behind::{Behind, IN_ONE_SOURCE, Looked, cure};
use super::makers::{Makers, Making, has_no_spec, naming};
use crate::capi::cluster::{self, Belongs, ClusterSpec, Maker, Owner, Referred, Templated};
use crate::capi::naming::ClusterKind;
use crate::config::Source;
use crate::finding::{Code, Fault, Finding, Severity};
use crate::name::{GroupKind, Name, ObjectKey, SourceName};
use crate::node::Node;
use crate::object::Object;

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
        let open = kinds.find(|(_, kind)| self.snapshot.may_lack_naming(&source, kind, &namespace, &name));
        if let Some((maker, _)) = open {
            unread(looked, &source, &format!("{}s in namespace {namespace}", maker.kind));
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

    /// The objects that make machines, found once.
    pub(super) fn makers(&mut self) -> Arc<Makers<'a>> {
        Arc::clone(self.makers.get_or_insert_with(|| Arc::new(Makers::among(self.fleet, self.snapshot))))
    }

    /// The control plane that a Cluster names, if it makes machines.
    fn control_plane(&self, looked: &mut Looked<'_>, spec: &ClusterSpec) -> Option<(&'a Object, &'static Maker)> {
        let referred = spec.refers_to.iter().find(|to| to.field == cluster::CONTROL_PLANE)?;
        let maker = cluster::maker(&referred.kind).filter(|maker| maker.belongs == Belongs::ControlPlane)?;
        let key = own(looked, &referred.kind, &referred.name);
        let source = &looked.cluster.origin.source;
        self.in_source(looked, source, &key, "spec.controlPlaneRef").map(|object| (object, maker))
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
            let names = match looked.machines.get(&key) {
                Some(names) => *names,
                None => {
                    let field = format!("{} of {}", referred.field, object.key);
                    let names = match self.is_spent(object, &key) {
                        true => false,
                        false => {
                            let found = self.in_source(looked, &object.origin.source, &key, &field);
                            found.is_none_or(|found| self.take(looked, machine, found, is_template))
                        }
                    };
                    looked.machines.insert(key, names);
                    names
                }
            };
            if names && maker.names_cluster() {
                looked.makers.insert(object.key.clone());
            }
        }
    }

    /// Returns true if a controller made an object, and what it was made of is gone: templates are deleted as soon as nothing
    /// new is to be made of them.
    fn is_spent(&self, object: &Object, template: &ObjectKey) -> bool {
        let source = &object.origin.source;
        object.made && self.copy_in(source, template).is_none() && self.snapshot.unread_of(source, template).is_none()
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
            let field = format!("a template of machines of {}", class.key);
            if let Some(object) = self.in_source(looked, &class.origin.source, &key, &field) {
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
        let kind = domain.group_kind();
        let mut selector = None;
        if let Some((object, body)) = infrastructure {
            match cluster::domain_selector(body) {
                Ok(read) => selector = read,
                Err(faults) => return looked.faults(&faults, object),
            }
        }
        let sources = self.sources_of_domains(looked);
        let keys = || names.iter().map(|name| ObjectKey::new(kind.clone(), None, name.clone()));
        let is_named_unread = |source| keys().any(|key| self.snapshot.unread_of(source, &key).is_some());
        let is_unread = |source| {
            selector.as_ref().is_some_and(|selector| {
                let values = selector.needs().map(|(_, values)| values);
                self.snapshot.may_lack_selected(source, &kind, values)
            })
        };
        if let Some(source) = sources.iter().find(|source| is_named_unread(**source) || is_unread(**source)) {
            unread(looked, source, &format!("{}s", domain.kind));
        }
        for key in keys().filter(|key| sources.iter().all(|source| self.copy_in(source, key).is_none())) {
            looked.findings.push(self.of_no_domain(looked, &key));
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
        // They have no namespace: a Secret that one names stands in that of the controller.
        let own = self.fleet.controller_of(domain);
        let mut chosen = BTreeSet::new();
        for source in sources {
            let is_own = *source == looked.cluster.origin.source;
            for zone in of(source).into_values() {
                // Of those that the Cluster's own source has, no other one counts.
                let counts = is_own || self.copy_in(&looked.cluster.origin.source, &zone.key).is_none();
                if !counts || !chosen.insert(&zone.key) {
                    continue;
                }
                let is_told = |fault: &&Fault| !is_own || fault.code != Code::Shadowed;
                looked.faults(zone.faults.iter().filter(is_told), zone);
                if has_no_spec(zone) {
                    let finding = Finding::new(Code::InvalidObject, format!("{} has no spec", zone.key));
                    looked
                        .findings
                        .push(finding.about(&zone.key).at(&zone.origin).help("Write it, or remove the object."));
                }
                let is_read =
                    !zone.is_mistyped() && !zone.faults.iter().filter(is_told).any(|fault| fault.code.is_of_copies());
                if is_read && self.take_from(looked, domain, zone, false, own) {
                    looked.makers.insert(zone.key.clone());
                }
            }
            let unclear = makers.zones(source).into_iter().flat_map(|zones| zones.unclear(&kind));
            if let Some(zone) = unclear.filter(|_| selector.is_some()).find(|zone| !chosen.contains(&zone.key)) {
                looked.unclear(zone);
            }
        }
    }

    /// The sources whose failure domains a Cluster has: its own, and those that are trusted with what has no namespace, unless
    /// its own describes a region.
    fn sources_of_domains(&self, looked: &Looked<'_>) -> Vec<&'a SourceName> {
        let own = &looked.cluster.origin.source;
        let is_described = self.fleet.described_by(own).is_some();
        let is_trusted = |source: &&Source| source.provides.cluster_scoped && source.described().is_none();
        let trusted = self.fleet.sources.iter().filter(|_| !is_described).filter(is_trusted);
        let own = self.fleet.source(own).into_iter();
        let others = trusted.map(|source| &source.name).filter(|name| **name != looked.cluster.origin.source);
        own.map(|source| &source.name).chain(others).collect()
    }

    /// The finding about a failure domain that is named and that none of the Cluster's sources has.
    fn of_no_domain(&self, looked: &Looked<'_>, key: &ObjectKey) -> Finding {
        let (message, help) = match self.snapshot.copies(key).next() {
            Some(other) => {
                let (elsewhere, source) = (&other.origin.source, &looked.cluster.origin.source);
                (
                    format!("machines are placed in {key}, which stands in source {elsewhere} and not in {source}"),
                    IN_ONE_SOURCE,
                )
            }
            None => (
                format!("machines are placed in {key}, which is in no source"),
                "Add the object, or correct the name of the failure domain.",
            ),
        };
        Finding::new(Code::MissingReference, message).about(key).at(&looked.cluster.origin).help(help)
    }
}

/// Adds the finding that a source may have more of what makes machines, or of failure domains.
fn unread(looked: &mut Looked<'_>, source: &SourceName, what: &str) {
    let message = format!("source {source} may have {what} that were not read");
    let finding = Finding::new(Code::Unread, message).about(&looked.cluster.key).at(&looked.cluster.origin);
    looked.findings.push(
        finding
            .help("Let pouch read all of the source; of a cluster, apply again the rights that `pouch rbac` prints."),
    );
}

/// The finding about what makes machines of a Cluster that cannot be told: perhaps of this one.
fn of_stray(looked: &Looked<'_>, Making { object, makes, .. }: &Making<'_>) -> Finding {
    let said = match &makes.owner {
        Owner::Is(name) => format!("names Cluster {}/{name}, which is in no source", object.key.namespace_text()),
        Owner::MayBe(_) => String::from("names its Cluster by a template that is not rendered"),
        Owner::Among(_) | Owner::Naming => String::from("does not say of which Cluster it is"),
    };
    let message = format!("{} {said}, and may be meant for {}", object.key, looked.cluster.key);
    Finding::new(Code::MachinesWait, message)
        .severity(Severity::Warning)
        .about(&object.key)
        .at(&object.origin)
        .help("Correct `spec.clusterName` or the namespace, or remove the object. Until then, what is published for machines stays.")
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
