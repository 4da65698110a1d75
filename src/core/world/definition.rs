//! Definitions: which ProviderInterface says what a kind refers to.
//!
//! The sources win over the built-in set, kind by kind; an exact version wins over the newest one.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::capi;
use crate::config::Fleet;
use crate::finding::{Code, Fault, Finding, Severity};
use crate::k0rdent::provider_interface::{self, Definition, IDENTITIES, ReferencePath, version_priority};
use crate::k0rdent::{self, builtin};
use crate::kinds;
use crate::name::{GroupKind, Name, ObjectKey, Version, split_api_version};
use crate::nearest::edits;
use crate::node::{Key, Node};
use crate::object::{Object, finding_of};
use crate::release::Release;
use crate::snapshot::Snapshot;

/// What is known of one kind.
#[derive(Default)]
struct KnownVersions {
    /// Definitions, at most one per version.
    definitions: Vec<Definition>,
    /// Why no claim of this kind can be resolved.
    faults: Vec<Finding>,
}

/// Every definition that counts, by kind.
#[derive(Default)]
pub struct Definitions {
    kinds: BTreeMap<GroupKind, KnownVersions>,
}

/// What looking a kind up gives.
pub enum Defined<'a> {
    /// The definition of the very version that was asked for.
    Exactly(&'a Definition),
    /// The definition of the newest version, since the asked one has none.
    Nearest(&'a Definition),
    /// No ProviderInterface defines the kind.
    Unknown,
    /// The ProviderInterfaces contradict each other or cannot be followed.
    Faulty(&'a [Finding]),
}

impl Definitions {
    /// Collects the definitions of the sources and of the configured release.
    pub fn collect(fleet: &Fleet, snapshot: &Snapshot) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut faulty = Vec::new();
        let interfaces = GroupKind::new(k0rdent::GROUP, "ProviderInterface");
        let (mut kinds, wrong) = read_all(fleet, snapshot, snapshot.all(&interfaces));
        for (object, faults) in wrong {
            let named: BTreeSet<GroupKind> = snapshot.copies(&object.key).flat_map(named_kinds).collect();
            for kind in named {
                faulty.push((kind.kind.clone(), faults.clone()));
                kinds.entry(kind).or_default();
            }
            findings.extend(faults);
        }
        findings.extend(fleet.builtin.filter(|release| release.is_newer()).map(newer));
        let mut builtin: BTreeMap<GroupKind, KnownVersions> = BTreeMap::new();
        for definition in fleet.builtin.map(builtin::definitions).unwrap_or_default() {
            add(builtin.entry(definition.kind.clone()).or_default(), definition);
        }
        for (kind, known) in builtin {
            match kinds.get(&kind) {
                None => {
                    kinds.insert(kind, known);
                }
                // Of a kind that has only faults, nothing is known that could differ.
                Some(ours)
                    if ours.faults.is_empty()
                        && !ours.definitions.is_empty()
                        && !same(&ours.definitions, &known.definitions) =>
                {
                    let interface = ours.definitions.first().map(|d| (*d.interface).to_owned()).unwrap_or_default();
                    let message =
                        format!("ProviderInterface {interface} defines {kind} differently from the built-in one");
                    let kind = GroupKind::new(k0rdent::GROUP, "ProviderInterface");
                    let key = ObjectKey::new(kind, None, Name::from(interface.as_str()));
                    let finding = Finding::new(Code::OverridesBuiltin, message).about(&key).help(
                        "If this is unintended, correct it, or choose the release in providerInterfaces.builtin.",
                    );
                    let origin = snapshot.get(&key).map(|object| object.origin.clone());
                    findings.push(Finding { origin, ..finding });
                }
                Some(_) => {}
            }
        }
        // A group or a letter of the kind may be what is wrong: then the kind that was meant is as doubtful.
        for (kind, known) in &mut kinds {
            for (_, faults) in faulty.iter().filter(|(named, _)| edits(named.as_str(), kind.kind.as_str()).is_some()) {
                known.faults.extend(faults.iter().cloned());
            }
        }
        (Self { kinds }, findings)
    }

    /// Collects the definitions of a region's own ProviderInterfaces: what it has, and no more.
    pub fn of_region(fleet: &Fleet, snapshot: &Snapshot, objects: &[Object]) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let (mut kinds, wrong) = read_all(fleet, snapshot, objects.iter());
        for (object, faults) in wrong {
            for kind in named_kinds(object) {
                kinds.entry(kind).or_default().faults.extend(faults.iter().cloned());
            }
            findings.extend(faults);
        }
        (Self { kinds }, findings)
    }

    /// The kinds that these define in a version with other references than `others` do.
    pub fn differing<'d>(&'d self, others: &'d Self) -> impl Iterator<Item = &'d GroupKind> {
        let differs = |(kind, known): &(&GroupKind, &KnownVersions)| {
            let other = |version: &Version| others.exactly(kind, version);
            let mut all = known.definitions.iter();
            all.any(|own| other(&own.version).is_some_and(|other| other.references != own.references))
        };
        self.kinds.iter().filter(differs).map(|(kind, _)| kind)
    }

    /// Whether no kind is defined, however badly.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The definition of a kind, as near to `version` as there is one.
    pub fn find(&self, kind: &GroupKind, version: &Version) -> Defined<'_> {
        let Some(known) = self.kinds.get(kind) else { return Defined::Unknown };
        if !known.faults.is_empty() {
            return Defined::Faulty(&known.faults);
        }
        if let Some(exact) = known.definitions.iter().find(|definition| definition.version == *version) {
            return Defined::Exactly(exact);
        }
        let newest = known.definitions.iter().max_by(|a, b| version_priority(&a.version, &b.version));
        newest.map_or(Defined::Unknown, Defined::Nearest)
    }

    /// Returns true if objects of a kind say the namespaces of Secrets that they name.
    pub fn say_namespaces(&self, kind: &GroupKind) -> bool {
        let says = |definition: &Definition| {
            definition.references.iter().any(|path| path.kind.is_secret() && path.namespace.is_some())
        };
        let known = self.kinds.get(kind).into_iter().flat_map(|known| &known.definitions);
        by_provider(kind).iter().chain(known).any(says)
    }

    /// The definition whose group, kind and version are exactly these, as k0rdent's own code looks it up.
    pub fn exactly(&self, kind: &GroupKind, version: &Version) -> Option<&Definition> {
        self.kinds.get(kind)?.definitions.iter().find(|definition| definition.version == *version)
    }
}

/// What identities of a kind refer to by their provider's own account, for Clusters that need no ProviderInterface: the
/// Secrets that are named with their namespaces.
pub fn by_provider(kind: &GroupKind) -> Option<Definition> {
    let rules = capi::rules(kind)?;
    let path = |field: &str, key: &str| ["spec", field, key].into_iter().map(Key::from).collect();
    let references = capi::named_secrets(rules).map(|field| ReferencePath {
        kind: GroupKind::new("", "Secret"),
        version: "v1".into(),
        name: path(field, "name"),
        namespace: Some(path(field, "namespace")),
    });
    let references: Vec<ReferencePath> = references.collect();
    let version = rules.versions.first()?.version;
    let definition =
        Definition { interface: "".into(), kind: kind.clone(), version: version.into(), references, provider: None };
    (!definition.references.is_empty()).then_some(definition)
}

/// ProviderInterfaces of which nobody knows what they define, and why.
type Wrong<'o> = Vec<(&'o Object, Vec<Finding>)>;

/// What ProviderInterfaces define, and those of which that cannot be told, each with why.
fn read_all<'o>(
    fleet: &Fleet,
    snapshot: &Snapshot,
    objects: impl Iterator<Item = &'o Object>,
) -> (BTreeMap<GroupKind, KnownVersions>, Wrong<'o>) {
    let mut kinds: BTreeMap<GroupKind, KnownVersions> = BTreeMap::new();
    let mut wrong = Vec::new();
    for object in objects {
        match read(fleet, snapshot, object) {
            Ok(definitions) => {
                for definition in definitions {
                    add(kinds.entry(definition.kind.clone()).or_default(), definition);
                }
            }
            Err(faults) => wrong.push((object, faults.iter().map(|fault| finding_of(fault, object)).collect())),
        }
    }
    (kinds, wrong)
}

/// What a ProviderInterface defines.
fn read(fleet: &Fleet, snapshot: &Snapshot, object: &Object) -> Result<Vec<Definition>, Vec<Fault>> {
    let read = if object.faults.is_empty() { provider_interface::read(object) } else { Err(object.faults.clone()) };
    read.and_then(|definitions| match mistyped_kinds(fleet, snapshot, &definitions) {
        faults if faults.is_empty() => Ok(definitions),
        faults => Err(faults),
    })
}

fn newer(release: Release) -> Finding {
    let newest = Release::KNOWN.last().map(|newest| newest.name()).unwrap_or_default();
    let name = release.name();
    let message = format!("the ProviderInterfaces of k0rdent {name} are not known; those of {newest} are used");
    let finding = Finding::new(Code::NewerRelease, message);
    if release.is_named_alone() {
        return finding.severity(Severity::Info).help(format!(
            "Nothing has to be done where providers are as in {newest}: k0rdent never took a definition back. If {name} \
             brought a new one, give pouch the ProviderInterfaces of the cluster."
        ));
    }
    finding.help(
        "Use a newer pouch, or give pouch the ProviderInterfaces of the cluster; `none` builds in nothing beside them.",
    )
}

/// The faults of definitions whose kinds, or those that they refer to, are unknown and nearly ones that pouch publishes.
fn mistyped_kinds(fleet: &Fleet, snapshot: &Snapshot, definitions: &[Definition]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for definition in definitions {
        let references = definition.references.iter().map(|reference| &reference.kind);
        for kind in references.chain([&definition.kind]) {
            if fleet.publishes(kind) || snapshot.definitions.contains_key(kind) {
                continue;
            }
            let near = |known: &GroupKind| {
                let lost = kind.group == "" && kind.kind == known.kind;
                let group = if lost { Some(1) } else { edits(kind.group.as_str(), known.group.as_str()) };
                group.is_some() && edits(kind.kind.as_str(), known.kind.as_str()).is_some()
            };
            if let Some(meant) = kinds::published().chain(fleet.kinds.keys().cloned()).find(near) {
                let message =
                    format!("ProviderInterface {} names the kind {kind}, which is unknown", definition.interface);
                faults.push(Fault::new(Code::InvalidObject, message, format!("Did you mean {meant}?")));
            }
        }
    }
    faults
}

fn same(a: &[Definition], b: &[Definition]) -> bool {
    a.len() == b.len() && a.iter().all(|a| b.iter().any(|b| a.version == b.version && a.references == b.references))
}

fn add(known: &mut KnownVersions, definition: Definition) {
    match known.definitions.iter().find(|earlier| earlier.version == definition.version) {
        None => known.definitions.push(definition),
        Some(earlier) if earlier.references == definition.references => {}
        Some(earlier) => {
            let message = format!(
                "ProviderInterfaces {} and {} define {} differently",
                earlier.interface, definition.interface, definition.kind
            );
            let help = "Make the two agree, or remove one of them from the sources.";
            known.faults.push(Finding::new(Code::ConflictingDefinitions, message).help(help));
        }
    }
}

/// The kinds that a ProviderInterface names, however little else of it can be read.
fn named_kinds(object: &Object) -> Vec<GroupKind> {
    let spec = object.at(&["spec"]).map(Node::entries).unwrap_or_default();
    let lists = spec.iter().filter(|(key, _)| edits(key, IDENTITIES).is_some());
    let identities = lists.flat_map(|(_, list)| list.items());
    let kind = |identity: &Node| {
        let kind = identity.str_at(&["kind"])?;
        let group = identity.str_at(&["group"]).unwrap_or_default();
        // Some write the whole apiVersion into `version`; only the group matters here.
        let group = if group.is_empty() {
            split_api_version(identity.str_at(&["version"]).unwrap_or_default()).0
        } else {
            group
        };
        Some(GroupKind::new(group, kind))
    };
    identities.filter_map(kind).collect()
}
