//! Claims that Clusters of Cluster API make: what the objects behind them name, for the region that takes them.
//!
//! A Cluster has no Credential. Its infrastructure or its control plane names the identity, or the Secret; both are found
//! by the Cluster's references, or, where a ClusterClass makes them, by the templates of that. Only Clusters count that
//! the configuration names. A Cluster that is being deleted still needs its identity, to be deleted with.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Asked, Claim, Start};
use crate::capi::Path;
use crate::capi::cluster::{self, ClusterSpec, Named};
use crate::capi::naming::ClusterKind;
use crate::config::{Fleet, RegionConfig, RegionState, Resolution, TakenClusters, taken};
use crate::destination::Address;
use crate::finding::{Code, Finding};
use crate::k0rdent::root::Root;
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey};
use crate::node::Node;
use crate::object::{Object, finding_of};
use crate::snapshot::{Lookup, Snapshot};

/// Whether some region takes a Cluster, whatever source it may stand in.
pub(super) fn may_be_taken(fleet: &Fleet, by: &Claimant) -> bool {
    fleet.regions.values().any(|region| taken(&region.clusters, &by.place()).is_some())
}

/// What every Cluster asks for that a region takes.
pub(super) fn claims(fleet: &Fleet, snapshot: &Snapshot) -> Vec<Asked> {
    if !fleet.names_clusters() {
        return Vec::new();
    }
    let ask = |object: &Object| {
        let by = Claimant::cluster(object.key.namespace.clone()?, object.key.name.clone());
        let path = by.place();
        let mut regions = fleet.taking(&object.origin.source, &path);
        let first = regions.next()?;
        let others: Vec<&RegionConfig> = regions.map(|(region, _)| region).collect();
        let mut asked =
            if others.is_empty() { ask(snapshot, object, by, first) } else { several(object, by, first.0, &others) };
        asked.settle();
        Some(asked)
    };
    snapshot.all(&cluster::cluster_kind()).filter_map(ask).collect()
}

fn several(object: &Object, by: Claimant, first: &RegionConfig, others: &[&RegionConfig]) -> Asked {
    let names: Vec<&str> = [&first].into_iter().chain(others).map(|region| region.name.as_str()).collect();
    let message = format!("several regions take this Cluster: {}", names.join(", "));
    let finding = Finding::new(Code::SeveralRegions, message)
        .about(&object.key)
        .at(&object.origin)
        .help("Narrow `clusters` of all but one, or say with `region` of the source whose Clusters it describes.");
    Asked { by, origin: object.origin.clone(), region: None, claim: None, findings: vec![finding] }
}

fn ask(snapshot: &Snapshot, object: &Object, by: Claimant, (region, entry): (&RegionConfig, &TakenClusters)) -> Asked {
    let origin = object.origin.clone();
    let mut asked = Asked {
        by: by.clone(),
        origin: origin.clone(),
        region: Some(region.name.clone()),
        claim: None,
        findings: Vec::new(),
    };
    if region.state == RegionState::Retired {
        let message = format!("region {} is retired; nothing is published for it", region.name);
        let finding = Finding::new(Code::RegionRetired, message).about(&object.key).at(&object.origin);
        asked
            .findings
            .push(finding.help("Take the Cluster out of the region's `clusters`, or into those of another region."));
        return asked;
    }
    asked.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
    let (starts, found) = match &entry.identity {
        Some(identity) => (
            vec![Start {
                root: Root {
                    kind: identity.kind.clone(),
                    version: identity.version.clone(),
                    name: identity.name.clone(),
                    namespace: Some(identity.namespace.clone().unwrap_or_else(|| by.namespace.clone())),
                },
                field: String::from("identityRef of the configuration"),
                entries: Vec::new(),
            }],
            Vec::new(),
        ),
        // What a mistyped field says is missing from all others.
        None if object.is_mistyped() => (Vec::new(), Vec::new()),
        None => starts(snapshot, object, &by.namespace),
    };
    asked.findings.extend(found);
    let is_stopped = asked.findings.iter().any(Finding::stops_claim);
    if starts.is_empty() && !is_stopped {
        let message =
            "the objects behind the Cluster name no identity: its provider has its credentials from elsewhere";
        let finding = Finding::new(Code::NoClusterIdentity, message).about(&object.key).at(&object.origin);
        asked.findings.push(finding.help("Nothing has to be done, unless an identity was meant to be named."));
        return asked;
    }
    let root = match starts.first() {
        Some(start) => start.root.clone(),
        // Nobody knows what is asked for; the claim is broken, and nothing is looked for.
        None => Root {
            kind: object.key.kind.clone(),
            version: object.version.clone(),
            name: by.name.clone(),
            namespace: Some(by.namespace.clone()),
        },
    };
    let to = Address::Region(region.name.clone());
    let resolution = Resolution::AsWritten;
    asked.claim = Some(Claim { by, origin, to, root, starts, resolution, managed: false });
    asked
}

/// What the objects behind a Cluster name, and what is wrong with that.
fn starts(snapshot: &Snapshot, object: &Object, own: &Namespace) -> (Vec<Start>, Vec<Finding>) {
    let mut behind = Behind { snapshot, cluster: object, own, findings: Vec::new(), starts: Vec::new() };
    match cluster::read(&object.body, own) {
        Ok(spec) => behind.follow(&spec),
        Err(faults) => behind.findings.extend(faults.iter().map(|fault| finding_of(fault, object))),
    }
    (behind.starts, behind.findings)
}

/// What is known of the objects behind a Cluster.
struct Behind<'a> {
    snapshot: &'a Snapshot,
    cluster: &'a Object,
    own: &'a Namespace,
    findings: Vec<Finding>,
    starts: Vec<Start>,
}

impl<'a> Behind<'a> {
    fn follow(&mut self, spec: &ClusterSpec) {
        for referred in &spec.refers_to {
            let is_infrastructure = referred.field == cluster::INFRASTRUCTURE;
            let Some(known) = self.known(&referred.kind, is_infrastructure, cluster::known(&referred.kind)) else {
                continue;
            };
            let key = ObjectKey::new(referred.kind.clone(), Some(self.own.clone()), referred.name.clone());
            if let Some(object) = self.look_up(&key, &format!("spec.{}", referred.field)) {
                self.take(known, object, &object.body);
            }
        }
        match &spec.class {
            _ if spec.has_infrastructure => {}
            None => {
                let message =
                    "spec has neither infrastructureRef nor topology, so nothing tells what the Cluster is made of";
                let finding = Finding::new(Code::InvalidCluster, message).about(&self.cluster.key);
                self.findings.push(finding.at(&self.cluster.origin).help("Correct the Cluster, or its source."));
            }
            Some((namespace, name)) => {
                let namespace = namespace.clone().unwrap_or_else(|| self.own.clone());
                self.of_class(&ObjectKey::new(cluster::class_kind(), Some(namespace), name.clone()));
            }
        }
    }

    /// What is known of a kind whose objects name an identity; none where there is nothing to look at.
    fn known(
        &mut self,
        kind: &GroupKind,
        is_infrastructure: bool,
        known: Option<&'static ClusterKind>,
    ) -> Option<&'static ClusterKind> {
        if known.is_none() && is_infrastructure {
            self.unknown(&format!("pouch does not know in which field objects of kind {kind} name it"), self.cluster);
        }
        // Control planes that are not known name none.
        known.filter(|known| !known.names.is_empty())
    }

    /// An object that another one names in a field.
    fn look_up(&mut self, key: &ObjectKey, field: &str) -> Option<&'a Object> {
        let finding = match self.snapshot.look_up(key) {
            Lookup::Found(object) => {
                self.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
                return Some(object).filter(|object| !object.is_mistyped());
            }
            Lookup::Unread(unread) => unread.finding(key),
            Lookup::Unasked => Finding::new(Code::Unread, format!("whether {key} exists was not asked"))
                .about(key)
                .help("Give it to pouch in clear: it holds no secret."),
            Lookup::Absent => {
                let message = format!("{field} names {key}, which is in no source");
                let help = match self.snapshot.ignored(key) {
                    Some(origin) => format!(
                        "It stands at {origin}, in a source that may not provide it: move it to one that may, or widen \
                         `provides` if you trust everybody who writes that source."
                    ),
                    None if key.kind == cluster::class_kind() => format!(
                        "Add the ClusterClass with its templates, or correct the reference. {}",
                        cure(self.cluster)
                    ),
                    None => String::from("Add the object, or correct the reference."),
                };
                Finding::new(Code::MissingReference, message).about(key).help(help)
            }
        };
        self.findings.push(finding.at(&self.cluster.origin));
        None
    }

    /// Takes what an object names; `body` has its `spec`.
    fn take(&mut self, known: &ClusterKind, object: &Object, body: &Node) {
        let named = match cluster::names(known, body, self.own) {
            Ok(named) => named,
            Err(faults) => return self.findings.extend(faults.iter().map(|fault| finding_of(fault, object))),
        };
        for named in named {
            let field = cluster::shown(known, &named);
            let Named { kind, version, name, namespace, entries, field: _ } = named;
            let root = Root { kind, version, name, namespace };
            // Infrastructure and control plane may well name the same.
            if !self.starts.iter().any(|start| start.root == root) {
                self.starts.push(Start { root, field, entries });
            }
        }
    }

    /// Takes what the templates of a ClusterClass name, unless a patch may write that.
    fn of_class(&mut self, key: &ObjectKey) {
        let Some(class) = self.look_up(key, "spec.topology") else { return };
        let templates = match cluster::templates(&class.body) {
            Ok(templates) => templates,
            Err(faults) => return self.findings.extend(faults.iter().map(|fault| finding_of(fault, class))),
        };
        for templated in templates {
            let kind = &templated.template.kind;
            let is_infrastructure = templated.template.field == cluster::OF_INFRASTRUCTURE;
            let Some(known) = self.known(kind, is_infrastructure, cluster::of_template(kind)) else { continue };
            let fields: Vec<Path> = cluster::fields(known).collect();
            if let Some((patch, field)) = cluster::writes(&class.body, &templated, &fields) {
                self.unknown(&format!("patch {patch} of {key} may write {field} of the {}", known.kind), class);
                continue;
            }
            let key = ObjectKey::new(kind.clone(), key.namespace.clone(), templated.template.name.clone());
            let field = format!("spec.{} of the ClusterClass", templated.template.field);
            if let Some(template) = self.look_up(&key, &field) {
                match cluster::of_made(&template.body) {
                    Some(made) => self.take(known, template, made),
                    None => {
                        let finding =
                            Finding::new(Code::InvalidCluster, format!("{key} has no spec.template")).about(&key);
                        self.findings.push(finding.at(&template.origin).help("Correct the template."));
                    }
                }
            }
        }
    }

    /// The identity cannot be told; `at` is the object that makes it so.
    fn unknown(&mut self, why: &str, at: &Object) {
        let cluster = &self.cluster.key;
        let finding =
            Finding::new(Code::ClusterIdentityUnknown, format!("which identity {cluster} uses is unknown: {why}"));
        self.findings.push(finding.about(cluster).at(&at.origin).help(cure(self.cluster)));
    }
}

/// What helps where the sources do not tell the identity of a Cluster.
fn cure(cluster: &Object) -> String {
    format!(
        "Read the Cluster from its live cluster, if a ClusterClass made it; or name the identity under `clusters` of the \
         region: `{{name: {}, identityRef: {{apiVersion: …, kind: …, name: …}}}}`.",
        cluster.key.path()
    )
}
