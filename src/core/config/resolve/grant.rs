//! Grants: one object or one Credential's closure, to whom, in which regions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, quoted, suggest};
use super::super::file::{GrantFile, GrantFromFile, GrantRegionFile, GrantToFile, PlacedFile, PlacementFile};
use super::super::grant::{Grant, GrantRegions, Granted, Grantee, key_of};
use super::super::placement::{Placement, PlacementBy};
use super::super::{ExtraKind, RegionConfig};
use super::name::{namespace, object_name};
use super::region::is_label_word;
use crate::capi::cluster;
use crate::kinds::{Scopes, is_published, published};
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey, Region, Scope};

/// Resolves `grants`, sorted and each once.
pub(super) fn resolve(
    typed: &[GrantFile],
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    known: &BTreeMap<Region, RegionConfig>,
    faults: &mut Faults,
) -> BTreeSet<Grant> {
    let mut grants = BTreeSet::new();
    for (at, typed) in typed.iter().enumerate() {
        let path = FieldPath::root().key("grants").index(at);
        let from = grantee(&typed.from, &path.key("from"), faults);
        let to = match (&typed.to, &from) {
            (Some(to), from) => {
                let path = path.key("to");
                let key = object(to, kinds, &path, faults);
                if to.make && !matches!(from, None | Some(Grantee::Template(_))) {
                    faults.add(&path.key("make"), "only a template makes objects", "Remove the field.");
                }
                Some(if to.make { Granted::Made(key) } else { Granted::Object(key) })
            }
            (None, Some(Grantee::Namespace(_))) => {
                let help = "Name the object in `to`, or one Credential in `from.credential`.";
                faults.add(&path, "a grant to a whole namespace names one object, and `to` is missing", help);
                None
            }
            (None, Some(Grantee::Template(_))) => {
                let help = "Name the object in `to`.";
                faults.add(&path, "a grant to a template names one object, and `to` is missing", help);
                None
            }
            (None, _) => Some(Granted::Closure),
        };
        let regions = regions(&typed.regions, known, &path.key("regions"), faults);
        if let (Some(from), Some(to)) = (from, to) {
            grants.insert(Grant { from, to, regions });
        }
    }
    grants
}

fn grantee(typed: &GrantFromFile, path: &FieldPath, faults: &mut Faults) -> Option<Grantee> {
    const HELP: &str = "Write one of `namespace`, `credential`, `cluster`, `clusterResourceSet`, `syncRule` and `template`; add an \
                        entry for each further one.";
    const ONE: &str = "a grant is for exactly one namespace, Credential, Cluster, ClusterResourceSet, ResourceSyncRule or ManagedResource";
    let mut claimants = typed.claimants();
    let (claimant, further) = (claimants.next(), claimants.next());
    match (&typed.namespace, claimant, &typed.sync_rule, &typed.template) {
        (None, None, Some(rule), None) => Some(Grantee::SyncRule(object_name(rule, &path.key("syncRule"), faults))),
        (None, None, None, Some(name)) => Some(Grantee::Template(object_name(name, &path.key("template"), faults))),
        (Some(name), None, None, None) => Some(Grantee::Namespace(namespace(name, &path.key("namespace"), faults))),
        (None, Some((kind, text)), None, None) if further.is_none() => {
            let path = path.key(&key_of(kind.as_str()));
            let Some((space, name)) = text.split_once('/') else {
                let message = format!("{} names no {kind}", quoted(text));
                faults.add(&path, message, "Write its namespace and its name, as `NAMESPACE/NAME`.");
                return None;
            };
            let (namespace, name) = (namespace(space, &path, faults), object_name(name, &path, faults));
            Some(Grantee::Claimant(Claimant::new(kind.as_str(), namespace, name.as_str())))
        }
        _ => {
            faults.add(path, ONE, HELP);
            None
        }
    }
}

/// The object.
fn object(
    typed: &GrantToFile,
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    path: &FieldPath,
    faults: &mut Faults,
) -> ObjectKey {
    let known = KnownKinds { kinds, also: |kind| *kind == cluster::class_kind() };
    let (kind, namespace) = placed((&typed.group, &typed.kind), typed.namespace.as_deref(), &known, path, faults);
    ObjectKey::new(kind, namespace, object_name(&typed.name, &path.key("name"), faults))
}

/// The kinds that an entry may name: those that are published, and some that only say which objects are.
pub(super) struct KnownKinds<'a> {
    pub(super) kinds: &'a BTreeMap<GroupKind, ExtraKind>,
    pub(super) also: fn(&GroupKind) -> bool,
}

/// A kind and a namespace as its scope wants it. The kind must be known: naming it here does not make it publishable.
pub(super) fn placed(
    (group, typed): (&str, &str),
    written: Option<&str>,
    known: &KnownKinds<'_>,
    path: &FieldPath,
    faults: &mut Faults,
) -> (GroupKind, Option<Namespace>) {
    let KnownKinds { kinds, also } = *known;
    let kind = GroupKind::new(group, typed);
    let written = written.map(|name| namespace(name, &path.key("namespace"), faults));
    let built_in = || Scopes::new().of(&kind).filter(|_| is_published(&kind) || also(&kind));
    let scope = kinds.get(&kind).map(|extra| extra.scope).or_else(built_in);
    match (scope, &written) {
        (None, _) => {
            let message = format!("pouch publishes no objects of kind {}", quoted(&format!("{kind}")));
            faults.add(&path.key("kind"), message, suggest_kind(typed, kinds));
        }
        (Some(Scope::Namespaced), None) => {
            let message = format!("the namespace is missing, and objects of kind {typed} have one");
            faults.add(path, message, "Write `namespace`.");
        }
        (Some(Scope::Cluster), Some(_)) => {
            let message = format!("objects of kind {typed} have no namespace");
            faults.add(&path.key("namespace"), message, "Remove the field.");
        }
        (Some(_), _) => {}
    }
    (kind, written)
}

/// Suggests the group under which a kind is published, else lists the kinds there are.
fn suggest_kind(typed: &str, kinds: &BTreeMap<GroupKind, ExtraKind>) -> String {
    let all: Vec<GroupKind> = published().chain(kinds.keys().cloned()).collect();
    if let Some(found) = all.iter().find(|kind| kind.kind == typed) {
        return format!("Write `group: {:?}`.", found.group.as_str());
    }
    let names: Vec<&str> = all.iter().map(|kind| kind.kind.as_str()).collect();
    suggest(typed, names)
}

fn regions(
    typed: &[GrantRegionFile],
    known: &BTreeMap<Region, RegionConfig>,
    path: &FieldPath,
    faults: &mut Faults,
) -> GrantRegions {
    let is_all = |entry: &GrantRegionFile| matches!(entry, GrantRegionFile::Name(name) if name == "*");
    if let [only] = typed
        && is_all(only)
    {
        return GrantRegions::All;
    }
    if typed.is_empty() {
        faults.add(path, "the grant holds in no region", "Name regions, or write `[\"*\"]` for all.");
    }
    let (mut regions, mut placements) = (BTreeSet::new(), BTreeSet::new());
    for (at, entry) in typed.iter().enumerate() {
        let path = path.index(at);
        match entry {
            GrantRegionFile::Placed(PlacedFile { placement: typed }) => {
                placements.extend(placement(typed, &path.key("placement"), faults));
            }
            GrantRegionFile::Name(name) if known.contains_key(name.as_str()) => {
                regions.insert(Region::from(name.as_str()));
            }
            GrantRegionFile::Name(name) if name == "*" => {
                faults.add(&path, "`*` is listed beside other regions", "Write it alone: it stands for all.");
            }
            GrantRegionFile::Name(name) => {
                let names: Vec<&str> = known.keys().map(Region::as_str).collect();
                faults.add(&path, format!("there is no region {}", quoted(name)), suggest(name, names));
            }
        }
    }
    GrantRegions::These { regions, placements }
}

fn placement(typed: &PlacementFile, path: &FieldPath, faults: &mut Faults) -> Option<Placement> {
    let namespace = namespace(&typed.namespace, &path.key("namespace"), faults);
    let by = match (&typed.decision_key, &typed.name) {
        (Some(key), None) => {
            if !is_label_word(key) {
                let message = format!("{} cannot be a decision key", quoted(key));
                let help = "Write it as the label `multicluster.x-k8s.io/decision-key` of the slices has it.";
                faults.add(&path.key("decisionKey"), message, help);
            }
            PlacementBy::Key(key.clone())
        }
        (None, Some(name)) => PlacementBy::Name(object_name(name, &path.key("name"), faults)),
        _ => {
            let help = "Write either `decisionKey` or `name`.";
            faults.add_at_key(path, "it is not said which PlacementDecisions of the namespace are meant", help);
            return None;
        }
    };
    Some(Placement { namespace, by })
}
