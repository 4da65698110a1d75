//! Behind: what the objects that a Cluster refers to name, and what keeps that from being known.
//!
//! What one object says is worked out once, however many Clusters refer to it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::{NamedBy, Start, Starts, wait};
use super::makers::Makers;
use crate::capi::cluster::{self, ClusterSpec, Named, Referred, Templated};
use crate::capi::naming::ClusterKind;
use crate::config::{Fleet, Grant, Granted, grants_for};
use crate::finding::{Code, Fault, Finding, Severity};
use crate::k0rdent::root::Root;
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey, Region, SourceName};
use crate::object::{Object, findings_of};
use crate::snapshot::{Lookup, Snapshot};

/// The templates of a ClusterClass, or its faults.
type Templates = Result<Vec<Templated>, Vec<Fault>>;

/// The names in an object, or its faults.
type AllNamed = Result<Vec<Named>, Vec<Fault>>;

/// What is known of the objects behind Clusters.
pub(super) struct Behind<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) snapshot: &'a Snapshot,
    /// The names in objects and templates, by key and source, and by the namespace of the Clusters that use them.
    named: BTreeMap<(ObjectKey, SourceName, Namespace), AllNamed>,
    classes: BTreeMap<ObjectKey, Arc<Templates>>,
    /// The objects that make the machines of Clusters.
    pub(super) makers: Option<Arc<Makers<'a>>>,
}

/// One Cluster that is looked at.
pub(super) struct Looked<'a> {
    /// The claimant.
    pub(super) by: &'a Claimant,
    /// The region that takes it.
    pub(super) region: &'a Region,
    /// Itself.
    pub(super) cluster: &'a Object,
    /// What is wrong.
    pub(super) findings: Vec<Finding>,
    /// What is named.
    pub(super) starts: Vec<Start>,
    /// The same, to be found.
    pub(super) roots: BTreeSet<Root>,
    /// The other sources with an equal copy of it that may have machines of it. They add nothing.
    pub(super) others: Vec<&'a SourceName>,
    /// True if its own source is trusted with what has no namespace, and so with more than the others.
    is_trusted: bool,
    /// The machines, and templates of machines, that were looked at, and whether each names something.
    pub(super) machines: BTreeMap<ObjectKey, bool>,
    /// The objects without which something would not be named that machines name: nothing else refers to them.
    pub(super) makers: BTreeSet<ObjectKey>,
    /// The finding about what may make machines of the Cluster, if it is told only where something stays for it.
    pub(super) doubt: Option<Finding>,
    /// The findings so far, and the number of what is named, before machines are looked at.
    own: Option<(Vec<Finding>, usize)>,
}

impl<'a> Behind<'a> {
    pub(super) fn new(fleet: &'a Fleet, snapshot: &'a Snapshot) -> Self {
        Self { fleet, snapshot, named: BTreeMap::new(), classes: BTreeMap::new(), makers: None }
    }

    /// Looks at everything behind a Cluster.
    pub(super) fn look(&mut self, looked: &mut Looked<'_>) {
        match cluster::read(&looked.cluster.body, looked.by.namespace()) {
            Ok(spec) => self.follow(looked, &spec),
            Err(faults) => looked.faults(&faults, looked.cluster),
        }
    }

    fn follow(&mut self, looked: &mut Looked<'_>, spec: &ClusterSpec) {
        let mut with_machines = None;
        for referred in &spec.refers_to {
            let Some(known) = looked.known(referred, cluster::known(&referred.kind)) else { continue };
            let namespace = Some(looked.by.namespace().clone());
            let key = ObjectKey::new(referred.kind.clone(), namespace, referred.name.clone());
            if let Some(object) = self.look_up(looked, &key, &format!("spec.{}", referred.field)) {
                self.take(looked, known, object, false);
                if referred.field == cluster::INFRASTRUCTURE {
                    with_machines = Some((known, object));
                }
            }
        }
        let infrastructure = spec.refers_to.iter().find(|to| to.field == cluster::INFRASTRUCTURE);
        if let Some(known) = infrastructure.and_then(|to| cluster::known(&to.kind)) {
            let others = spec.refers_to.iter().filter(|to| to.field == cluster::CONTROL_PLANE).map(|to| &to.kind);
            looked.leaves_to(known, others, "spec.controlPlaneRef of the Cluster");
        }
        match &spec.class {
            _ if spec.has_infrastructure => {}
            None => {
                let message =
                    "spec has neither infrastructureRef nor topology, so nothing tells what the Cluster is made of";
                let finding = Finding::new(Code::InvalidObject, message).about(&looked.cluster.key);
                looked.findings.push(finding.at(&looked.cluster.origin).help("Correct the Cluster, or its source."));
            }
            Some((namespace, name)) => {
                let namespace = namespace.clone().unwrap_or_else(|| looked.by.namespace().clone());
                let key = ObjectKey::new(cluster::class_kind(), Some(namespace), name.clone());
                if self.may_read(looked, &key) {
                    self.of_class(looked, &key, spec);
                }
            }
        }
        // An identity that the Cluster itself names is never one of its machines'.
        if let Some((known, object)) = with_machines.filter(|(known, _)| !known.machines.is_empty()) {
            looked.begin_machines();
            self.of_machines(looked, known, Some((object, &object.body)), spec, BTreeSet::new());
        }
    }

    /// Whether a Cluster may use a ClusterClass: one of its own namespace, or one that a grant opens. Of another, nothing
    /// is told, not even whether it exists.
    fn may_read(&self, looked: &mut Looked<'_>, key: &ObjectKey) -> bool {
        let is_described = self.fleet.described_by(&looked.cluster.origin.source).is_some();
        let opens = |grant: &Grant| {
            let is_chosen = is_described && grant.to == Granted::Closure;
            grant.names(looked.region) && !is_chosen
        };
        let is_own = key.namespace.as_ref() == Some(looked.by.namespace());
        if is_own || grants_for(&self.fleet.grants, looked.by, key).any(opens) {
            return true;
        }
        let why = format!("its ClusterClass stands in another namespace, and {key} is not open to it");
        let grant = Grant::least(looked.by, looked.region, key);
        let help = format!(
            "To open it, add to `grants`: `- {grant}`; a placement does not open a ClusterClass. {}",
            cure(looked.cluster)
        );
        looked.unknown(&why, looked.cluster, help);
        false
    }

    /// An object that another one names in a field.
    pub(super) fn look_up(&self, looked: &mut Looked<'_>, key: &ObjectKey, field: &str) -> Option<&'a Object> {
        let finding = match self.snapshot.look_up(key) {
            Lookup::Found(object) => {
                let describes = |of: &Object| self.fleet.described_by(&of.origin.source).is_some();
                if describes(object) && !describes(looked.cluster) {
                    // Whoever writes there is trusted with Clusters of his own.
                    let source = &object.origin.source;
                    let why =
                        format!("{field} names {key}, which stands in source {source}, and that describes one region");
                    let help =
                        format!("Keep the Cluster and what it is made of in one source. {}", cure(looked.cluster));
                    looked.unknown(&why, looked.cluster, help);
                    return None;
                }
                looked.faults(&object.faults, object);
                return Some(object).filter(|object| !object.is_mistyped());
            }
            Lookup::Unread(unread) => unread.finding(key),
            Lookup::Unasked => unasked(key),
            Lookup::Absent => self.absent(looked, key, field),
        };
        looked.findings.push(finding.at(&looked.cluster.origin));
        None
    }

    /// A machine or a template of machines in the source of what names it: its copies in others are nothing to it.
    pub(super) fn in_source(
        &self,
        looked: &mut Looked<'_>,
        source: &SourceName,
        key: &ObjectKey,
        field: &str,
    ) -> Option<&'a Object> {
        let finding = match self.copy_in(source, key) {
            Some(object) if object.is_aside() => unasked(key),
            Some(object) => {
                looked.faults(object.faults.iter().filter(|fault| fault.code != Code::Shadowed), object);
                // Of two in one source, nothing tells which one counts.
                let is_unclear = |fault: &Fault| [Code::Mistyped, Code::DuplicateObject].contains(&fault.code);
                return Some(object).filter(|object| !object.faults.iter().any(is_unclear));
            }
            None => match self.snapshot.unread_of(source, key) {
                Some(unread) => unread.finding(key),
                None => match self.snapshot.copies(key).next() {
                    Some(other) => {
                        let elsewhere = &other.origin.source;
                        let message =
                            format!("{field} names {key}, which stands in source {elsewhere} and not in {source}");
                        Finding::new(Code::MissingReference, message).about(key).help(IN_ONE_SOURCE)
                    }
                    None => self.absent(looked, key, field),
                },
            },
        };
        looked.findings.push(finding.at(&looked.cluster.origin));
        None
    }

    /// The copy of an object in a source.
    pub(super) fn copy_in(&self, source: &SourceName, key: &ObjectKey) -> Option<&'a Object> {
        self.snapshot.copies(key).find(|copy| copy.origin.source == *source)
    }

    /// The finding about an object that is named in a field and is in no source.
    fn absent(&self, looked: &Looked<'_>, key: &ObjectKey, field: &str) -> Finding {
        let message = format!("{field} names {key}, which is in no source");
        let help = match self.snapshot.ignored(key) {
            None if key.kind == cluster::class_kind() => {
                format!("Add the ClusterClass with its templates, or correct the reference. {}", cure(looked.cluster))
            }
            _ => self.snapshot.cure_of_absence(key, false),
        };
        Finding::new(Code::MissingReference, message).about(key).help(help)
    }

    /// Takes what an object names, or what is made from a template. Returns true if it names something.
    pub(super) fn take(
        &mut self,
        looked: &mut Looked<'_>,
        known: &ClusterKind,
        object: &'a Object,
        is_template: bool,
    ) -> bool {
        let own = looked.by.namespace().clone();
        self.take_from(looked, known, object, is_template, &own)
    }

    /// Takes the same; where the object says no namespace, `own` counts.
    pub(super) fn take_from(
        &mut self,
        looked: &mut Looked<'_>,
        known: &ClusterKind,
        object: &'a Object,
        is_template: bool,
        own: &Namespace,
    ) -> bool {
        let at = (object.key.clone(), object.origin.source.clone(), own.clone());
        let named = self.named.entry(at).or_insert_with(|| {
            let body = if is_template { cluster::of_made(&object.body)? } else { &object.body };
            cluster::names(known, body, own)
        });
        let named = match named {
            Ok(named) => named,
            Err(faults) => {
                looked.faults(&*faults, object);
                return true;
            }
        };
        for named in &*named {
            let field = cluster::shown(known, named);
            let Named { kind, version, name, namespace, entries, field: _, by_default } = named.clone();
            let root = Root { kind, version, name, namespace };
            // Infrastructure and control plane may well name the same.
            match looked.roots.insert(root.clone()) {
                true => {
                    let named_by = NamedBy::Object(object.key.clone());
                    looked.starts.push(Start { root, field, entries, by_default, named_by });
                }
                false => looked.is_named_also(&root, &field),
            }
        }
        !named.is_empty()
    }

    /// Takes what the templates of a ClusterClass name, unless a patch may write that.
    fn of_class(&mut self, looked: &mut Looked<'_>, key: &ObjectKey, spec: &ClusterSpec) {
        let Some(class) = self.look_up(looked, key, "spec.topology") else { return };
        let read = self.classes.entry(key.clone()).or_insert_with(|| Arc::new(cluster::templates(&class.body)));
        let read = Arc::clone(read);
        let templates = match &*read {
            Ok(templates) => templates,
            Err(faults) => return looked.faults(faults, class),
        };
        let kinds =
            || templates.iter().map(|templated| (&templated.template, cluster::of_template(&templated.template.kind)));
        let infrastructure = kinds().find(|(template, _)| template.field == cluster::OF_INFRASTRUCTURE);
        let infrastructure = infrastructure.and_then(|(_, known)| known);
        if let Some(known) = infrastructure {
            let others: Vec<GroupKind> =
                kinds().filter_map(|(_, known)| known).map(|known| known.group_kind()).collect();
            looked.leaves_to(known, others.iter(), &format!("spec.controlPlane of {key}"));
        }
        let mut selecting = None;
        for Templated { template, written, .. } in templates {
            if template.field == cluster::OF_MACHINES {
                continue;
            }
            let Some(known) = looked.known(template, cluster::of_template(&template.kind)) else { continue };
            if let Some((patch, field)) = written {
                let why = format!("patch {patch} of {key} may write {field} of the {}", known.kind);
                looked.unknown(&why, class, cure(looked.cluster));
                continue;
            }
            let key = ObjectKey::new(template.kind.clone(), key.namespace.clone(), template.name.clone());
            let field = format!("spec.{} of the ClusterClass", template.field);
            if let Some(object) = self.look_up(looked, &key, &field) {
                self.take(looked, known, object, true);
                if template.field == cluster::OF_INFRASTRUCTURE {
                    selecting = cluster::of_made(&object.body).ok().map(|body| (object, body));
                }
            }
        }
        if let Some(known) = infrastructure.filter(|known| !known.machines.is_empty()) {
            looked.begin_machines();
            let mut selectors = templates.iter().filter_map(|templated| templated.selector_written.as_ref());
            if let Some((patch, field)) = selectors.next().filter(|_| self.makers().has_zones()) {
                let why = format!("patch {patch} of {key} may write {field} of the {}", known.kind);
                looked.unknown(&why, class, cure(looked.cluster));
            }
            let domains = self.of_class_machines(looked, class, known, templates, spec);
            self.of_machines(looked, known, selecting, spec, domains);
        }
    }
}

impl<'a> Looked<'a> {
    /// Begins with one of the copies of a Cluster that say the same: that of the source which is trusted most.
    ///
    /// The makers of its machines stand in that source alone. An equal copy elsewhere neither adds to the Cluster nor
    /// takes from it, in whatever order the sources come.
    pub(super) fn of(behind: &Behind<'a>, by: &'a Claimant, cluster: &'a Object, region: &'a Region) -> Self {
        let trust = |copy: &&Object| {
            let source = behind.fleet.source(&copy.origin.source);
            source.map(|source| (!source.provides.cluster_scoped, source.region.is_some()))
        };
        let cluster = behind.snapshot.agreeing(&cluster.key).min_by_key(trust).unwrap_or(cluster);
        let sources = behind.snapshot.agreeing(&cluster.key).map(|copy| &copy.origin.source);
        let others = sources.filter(|source| **source != cluster.origin.source).collect();
        let is_trusted = behind.fleet.source(&cluster.origin.source).is_some_and(|own| own.provides.cluster_scoped);
        let (findings, starts, roots) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (machines, makers, doubt, own) = (BTreeMap::new(), BTreeSet::new(), None, None);
        Self { by, region, cluster, findings, starts, roots, others, is_trusted, machines, makers, doubt, own }
    }
}

impl Looked<'_> {
    pub(super) fn faults<'f>(&mut self, faults: impl IntoIterator<Item = &'f Fault>, object: &Object) {
        let faults: Vec<Fault> = faults.into_iter().cloned().collect();
        self.findings.extend(findings_of(&faults, object));
    }

    /// Doubts that machines are gone of which something stands in a source with an equal copy of the Cluster.
    pub(super) fn doubt_of(&mut self, elsewhere: Option<&Object>) {
        let Some(object) = elsewhere.filter(|_| self.doubt.is_none()) else { return };
        let (cluster, source) = (&self.cluster.key, &self.cluster.origin.source);
        let message = format!("{} does not count for {cluster}, which counts in source {source}", object.key);
        let finding = Finding::new(Code::MachinesWait, message).severity(Severity::Warning);
        let help = format!("{IN_ONE_SOURCE} Until then, what is published for machines stays.");
        self.doubt = Some(finding.about(&object.key).at(&object.origin).help(help));
    }

    /// Doubts that a failure domain is not selected whose labels, or whose content, cannot be read.
    pub(super) fn unclear(&mut self, zone: &Object) {
        let message = format!("{} may be selected for {}: it cannot be read as it stands", zone.key, self.cluster.key);
        let finding =
            Finding::new(Code::MachinesWait, message).severity(Severity::Warning).about(&zone.key).at(&zone.origin);
        let help = "Correct its labels and its spec. Until then, what is published for machines stays.";
        self.doubt.get_or_insert_with(|| finding.help(help));
    }

    /// Goes on with machines: what is found from here on takes nothing from the Cluster.
    fn begin_machines(&mut self) {
        self.own = Some((core::mem::take(&mut self.findings), self.starts.len()));
    }

    /// Notes at what the Cluster names itself that its machines name it too: it stays where they wait.
    fn is_named_also(&mut self, root: &Root, field: &str) {
        let Some((_, own)) = self.own else { return };
        let start = self.starts.iter_mut().take(own).find(|start| start.root == *root);
        if let Some(start) = start.filter(|start| !cluster::is_named_by_machines(&start.field)) {
            start.field = format!("{}{}{field}", start.field, cluster::AND);
        }
    }

    /// Leaves out what machines name where sources that are trusted alike have the Cluster: whose machines it has, nothing
    /// tells.
    fn leave_out_contested(&mut self, own: usize) {
        let Some(other) = self.others.first().filter(|_| !self.is_trusted && self.starts.len() > own) else { return };
        self.starts.truncate(own);
        let (cluster, source) = (&self.cluster.key, &self.cluster.origin.source);
        let message = format!("{cluster} stands in the sources {source} and {other}, and machines count in one alone");
        let finding = Finding::new(Code::InvalidObject, message).about(cluster).at(&self.cluster.origin);
        self.findings.push(finding.help(IN_ONE_SOURCE));
    }

    /// The starts of the claim, and the findings.
    pub(super) fn settle(mut self) -> (Starts, Vec<Finding>) {
        let Some((mut findings, own)) = self.own.take() else { return (Starts::of(self.starts), self.findings) };
        self.leave_out_contested(own);
        let waiting = wait(self.findings);
        let is_open = self.doubt.is_some() || waiting.iter().any(|finding| finding.code == Code::MachinesWait);
        findings.extend(waiting);
        let open = is_open.then_some(Code::MachinesWait);
        let doubt = self.doubt.map(Box::new);
        (Starts { named: self.starts, own, open, doubt, makers: self.makers }, findings)
    }

    /// What is known of a kind whose objects name an identity; none where there is nothing to look at.
    fn known(&mut self, referred: &Referred, known: Option<&'static ClusterKind>) -> Option<&'static ClusterKind> {
        let kind = &referred.kind;
        let is_infrastructure = [cluster::INFRASTRUCTURE, cluster::OF_INFRASTRUCTURE].contains(&referred.field);
        match known {
            Some(_) => {}
            None if is_infrastructure => {
                let why = format!("pouch does not know in which field objects of kind {} name it", kind.qualified());
                self.unknown(&why, self.cluster, cure(self.cluster));
            }
            // Control planes that are not known name none, unless one that does was meant. Of a template the class says so.
            None => {
                if let Some(meant) = cluster::meant(kind) {
                    let message =
                        format!("spec.{} names the kind {}, which is not known", referred.field, kind.qualified());
                    let finding = Finding::new(Code::Mistyped, message).about(&self.cluster.key);
                    let help = format!(
                        "Did you mean {}? Until this is corrected, what the Cluster has stays.",
                        meant.qualified()
                    );
                    self.findings.push(finding.at(&self.cluster.origin).help(help));
                }
            }
        }
        known.filter(|known| !known.names.is_empty())
    }

    /// Whether infrastructure that leaves the identity to its control plane has such a one.
    fn leaves_to<'k>(&mut self, known: &ClusterKind, mut others: impl Iterator<Item = &'k GroupKind>, at: &str) {
        if let Some(control_plane) = known.leaves_to
            && !others.any(|other| other.kind == control_plane)
        {
            let why = format!(
                "objects of kind {} leave it to an object of kind {control_plane}, which {at} names none of",
                known.kind
            );
            self.unknown(&why, self.cluster, cure(self.cluster));
        }
    }

    /// The identity cannot be told; `at` is the object that makes it so.
    pub(super) fn unknown(&mut self, why: &str, at: &Object, help: String) {
        let cluster = &self.cluster.key;
        let finding =
            Finding::new(Code::ClusterIdentityUnknown, format!("which identity {cluster} uses is unknown: {why}"));
        self.findings.push(finding.about(cluster).at(&at.origin).help(help));
    }
}

/// The finding about an object whose source was not asked for it.
fn unasked(key: &ObjectKey) -> Finding {
    let finding = Finding::new(Code::Unread, format!("whether {key} exists was not asked")).about(key);
    finding.help("Give it to pouch in clear: it holds no secret.")
}

/// The cure where machines of a Cluster stand in several sources.
pub(super) const IN_ONE_SOURCE: &str =
    "Keep a Cluster and what makes its machines in one source, and no copy in another one.";

/// What helps where the sources do not tell the identity of a Cluster.
pub(super) fn cure(cluster: &Object) -> String {
    format!(
        "Read the Cluster from its live cluster, if a ClusterClass made it; or name the identity under `clusters` of the \
         region: `{{name: {}, identityRef: {{apiVersion: …, kind: …, name: …}}}}`.",
        cluster.key.path()
    )
}
