//! Verify: asks a region what its bundle makes worth asking, and has the two compared.
//!
//! Everything is read by name, but for what k0rdent marks as its own: of that the metadata is listed,
//! where that is allowed. An answer that does not come ends the run, and is no difference. What a
//! difference is, is not known here.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::capi::cluster::cluster_kind;
use pouch_core::capi::resource_set::binding_kind;
use pouch_core::config::{Fleet, RegionConfig};
use pouch_core::finding::{Class, Finding, Severity, crowd};
use pouch_core::k0rdent::MANAGED_LABEL;
use pouch_core::layout::{Leaf, MANAGED_BY, MANAGED_BY_LABEL};
use pouch_core::listing::{all, counted};
use pouch_core::name::{GroupKind, Namespace, ObjectKey};
use pouch_core::node::Node;
use pouch_core::region::published::{Files, Published};
use pouch_core::report::document::{Text, Tone};
use pouch_core::reuse::KeyRing;
use pouch_core::verify::live::compare::{Answers, compare};
use pouch_core::verify::live::tally::{Tally, tally};
use pouch_core::verify::live::{Questions, guests, open};

use crate::cluster::request::{Portion, Resource};
use crate::cluster::{Broken, Cluster, Got, ListError};
use crate::error::Failure;
use crate::ui::Ui;

/// What is compared.
pub struct Compared<'a> {
    /// The resolved configuration.
    pub fleet: &'a Fleet,
    /// The region.
    pub region: &'a RegionConfig,
    /// Every file in its folders.
    pub files: Files,
    /// The reuse keys; none where only names and types are to be compared.
    pub keys: Option<&'a KeyRing>,
}

/// What came of it.
pub struct Comparison {
    /// How many objects the bundle has, Namespaces not counted.
    pub objects: usize,
    /// The kinds of which nobody knows whether anything was left behind, because they cannot be listed.
    pub unlisted: BTreeSet<String>,
    /// Everything found, settled.
    pub findings: Vec<Finding>,
    /// What is told of guest clusters; nothing where the bundle delivers nothing.
    pub delivered: Option<String>,
    /// The same in numbers; none where nothing vouches for a bundle.
    pub tally: Option<Tally>,
}

impl Comparison {
    /// How many findings say that the region is not what its bundle says.
    pub fn faults(&self) -> usize {
        let is_fault = |finding: &&Finding| finding.code.class() == Class::Fault && finding.severity == Severity::Error;
        crowd::count(self.findings.iter().filter(is_fault))
    }

    /// One line for the region.
    pub fn line(&self, region: &RegionConfig) -> Text {
        let objects = counted(self.objects, "object", "objects");
        let is_warning = |finding: &&Finding| finding.severity == Severity::Warning;
        let warnings = crowd::count(self.findings.iter().filter(is_warning));
        let (tone, word, mut line) = match self.faults() {
            0 => (Tone::Good, "as published", objects),
            faults => (Tone::Broken, "not as published", format!("{objects}, {}", counted(faults, "fault", "faults"))),
        };
        if warnings > 0 {
            line.push_str(&format!(", {}", counted(warnings, "warning", "warnings")));
        }
        if let Some(delivered) = &self.delivered {
            line.push_str(&format!("; {delivered}"));
        }
        if !self.unlisted.is_empty() {
            let kinds = all(&self.unlisted);
            line.push_str(&format!("; not looked for what was left behind of {kinds}"));
        }
        Text::column(Tone::Strong, region.name.as_str(), 0).and_column(tone, word, 0).then(line)
    }
}

/// Compares a region's cluster with its bundle. `connect` is called if there is a bundle to compare with; how far it is
/// is shown to whoever looks.
pub fn verify(
    subject: Compared<'_>,
    connect: impl FnOnce() -> Result<Cluster, Failure>,
    ui: Option<&Ui>,
) -> Result<Comparison, Failure> {
    let Compared { fleet, region, files, keys } = subject;
    let published = match keys {
        Some(keys) => Published::examine(&fleet.name, &region.directory, files, keys),
        None => Published::unproved(&fleet.name, &region.directory, files),
    };
    let (bundle, mut findings) = open(fleet, region, &published, keys);
    let (mut objects, mut unlisted, mut delivered, mut counted) = (0, BTreeSet::new(), None, None);
    if let Some(bundle) = bundle {
        objects = bundle.objects();
        let asked = AskedCluster { cluster: &connect()?, ui };
        let answers = asked.answers(bundle.questions())?;
        findings.extend(compare(&bundle, &answers));
        let delivery = guests::compare(&bundle, &answers);
        delivered = delivery.told();
        findings.extend(delivery.findings);
        counted = Some(tally(&bundle, &answers, &findings));
        unlisted = answers.unlisted;
        ui.into_iter().for_each(|ui| {
            ui.detail(&format!("cluster {}: {} requests", asked.cluster.context, asked.cluster.requests()))
        });
    }
    Ok(Comparison { objects, unlisted, delivered, tally: counted, findings: fleet.govern(findings) })
}

/// The cluster that is asked.
struct AskedCluster<'a> {
    cluster: &'a Cluster,
    ui: Option<&'a Ui>,
}

impl AskedCluster<'_> {
    fn answers(&self, questions: Questions) -> Result<Answers, Failure> {
        let mut answers = Answers::default();
        let served = self.cluster.discover(questions.groups.iter().map(String::as_str));
        let served = served.map_err(|broken| self.unreadable("its API groups", &broken))?;
        for (kind, (_, versions)) in &served.kinds {
            answers.served.insert(kind.clone(), versions.iter().cloned().collect());
        }
        let keys = questions.namespaces.iter().map(ObjectKey::namespace).collect();
        for (key, found) in self.get(&Resource::namespaces(), keys, Portion::Metadata)? {
            answers.namespaces.insert(Namespace::new(key.name.shared()), found);
        }
        for (kind, versions) in questions.objects {
            if let Some(broken) = served.unknown.get(kind.group.as_str()) {
                return Err(self.unreadable(&format!("the API group {}", kind.group), broken));
            }
            for (version, keys) in versions {
                let Some(resource) = served.resource(&kind) else { continue };
                let in_version = answers.served.get(&kind).is_none_or(|versions| versions.contains(&version));
                if in_version {
                    answers.objects.extend(self.get(&Resource { version, ..resource }, keys, Portion::Whole)?);
                }
            }
        }
        for (kind, found) in [(cluster_kind(), &mut answers.clusters), (binding_kind(), &mut answers.bindings)] {
            // Where the region does not serve the kind, it has no sets either, and that is said of them.
            let Some(resource) = served.resource(&kind) else { continue };
            for namespace in &questions.guests {
                match self.cluster.list(&resource, Some(namespace), Portion::Arrivals, &|_| {}) {
                    Ok(listing) => found.extend(listing.items.into_iter().map(|(key, _, node)| (key, node))),
                    Err(ListError::Forbidden) => {
                        let message = self.cluster.refusal("list", &resource, Some(namespace), None);
                        let help = "Grant it there: it says what has arrived in guest clusters.";
                        return Err(Failure::unavailable(message, help));
                    }
                    Err(ListError::Broken(broken)) => return Err(self.unreadable(&resource.name(), &broken)),
                }
            }
        }
        let of_leaf = |kind: &&GroupKind| questions.leaves.contains(&Leaf::of(kind));
        let of_leaves = served.kinds.keys().filter(of_leaf).cloned();
        let listed: BTreeSet<GroupKind> = questions.listed.into_iter().chain(of_leaves).collect();
        for kind in listed {
            let Some(resource) = served.resource(&kind) else {
                if served.unknown.contains_key(kind.group.as_str()) {
                    answers.unlisted.insert(kind.to_string());
                }
                continue;
            };
            for (label, found) in
                [((MANAGED_LABEL, "true"), &mut answers.copies), ((MANAGED_BY_LABEL, MANAGED_BY), &mut answers.ours)]
            {
                match self.cluster.labelled(&resource, label, Portion::Metadata) {
                    Ok(listing) => found.extend(listing.items.into_iter().map(|(key, _, node)| (key, node))),
                    Err(ListError::Forbidden) => {
                        answers.unlisted.insert(resource.name());
                        break;
                    }
                    Err(ListError::Broken(broken)) => return Err(self.unreadable(&resource.name(), &broken)),
                }
            }
        }
        Ok(answers)
    }

    /// Gets objects by name. What is absent is asked for once more: what is missing by accident, or only
    /// while it is replaced, is there then.
    fn get(
        &self,
        resource: &Resource,
        keys: Vec<ObjectKey>,
        form: Portion,
    ) -> Result<BTreeMap<ObjectKey, Option<Node>>, Failure> {
        let mut found = self.get_once(resource, keys, form)?;
        let absent: Vec<ObjectKey> =
            found.iter().filter(|(_, node)| node.is_none()).map(|(key, _)| key.clone()).collect();
        if !absent.is_empty() {
            found.extend(self.get_once(resource, absent, form)?);
        }
        Ok(found)
    }

    fn get_once(
        &self,
        resource: &Resource,
        keys: Vec<ObjectKey>,
        form: Portion,
    ) -> Result<BTreeMap<ObjectKey, Option<Node>>, Failure> {
        let total = u64::try_from(keys.len()).unwrap_or_default();
        let progress = self.ui.map(|ui| ui.progress("reading", total));
        let seen = || progress.iter().for_each(|progress| progress.step());
        let got = self.cluster.get(resource, keys, form, &seen);
        let got = got.map_err(|broken| self.unreadable(&resource.name(), &broken))?;
        let found = got.into_iter().map(|(key, got)| match got {
            Got::Found(node, _) => Ok((key, Some(node))),
            Got::Absent => Ok((key, None)),
            Got::Forbidden => Err(self.may_not(resource, &key)),
            Got::Failed(broken) => Err(self.unreadable(&resource.name(), &broken)),
        });
        found.collect()
    }

    fn unreadable(&self, what: &str, broken: &Broken) -> Failure {
        Failure::unavailable(self.cluster.trouble(what, broken), broken.help())
    }

    fn may_not(&self, resource: &Resource, key: &ObjectKey) -> Failure {
        let message = self.cluster.refusal("get", resource, key.namespace.as_ref(), Some(&key.name));
        Failure::unavailable(message, "Grant it there, or use a context or --as of somebody who may.")
    }
}
