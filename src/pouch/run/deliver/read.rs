//! What a region is asked before anything is sent, and its inventory.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::deliver::beside::beside;
use pouch_core::deliver::inventory::{Inventory, MOST_BYTES, Unusable};
use pouch_core::deliver::whose::{emit_own, named};
use pouch_core::deliver::{Bundle, Live, Meta, Questions};
use pouch_core::finding::Finding;
use pouch_core::kinds;
use pouch_core::name::{GroupKind, ObjectKey, Scope, Version};
use pouch_core::node::Node;

use super::terms::Applying;
use super::told;
use crate::cluster::request::{Portion, Resource, Trial};
use crate::cluster::write::{Applied, Written};
use crate::cluster::{Broken, Cluster, Created, Got, Served, core_resource};
use crate::error::Failure;
use crate::session::Session;
use crate::survey::look::is_another;

/// What is known of a region.
pub(super) struct Known {
    served: Served,
    /// The kinds that it serves, each with its versions.
    pub(super) versions: BTreeMap<GroupKind, BTreeSet<Version>>,
    /// What they are called in paths.
    pub(super) called: BTreeMap<GroupKind, String>,
    /// The kinds that it neither serves nor defines.
    pub(super) undefined: BTreeSet<GroupKind>,
    /// The groups that do not answer.
    pub(super) silent: BTreeSet<String>,
    /// What there is of what was asked for.
    pub(super) live: BTreeMap<ObjectKey, Live>,
    /// What others keep in objects of the bundle.
    pub(super) beside: BTreeMap<ObjectKey, Vec<Finding>>,
    /// Secrets and ConfigMaps that cannot be changed in place, and whether for their type.
    pub(super) unchangeable: BTreeMap<ObjectKey, bool>,
}

impl Known {
    /// The resource of a kind, in the newest version that is served.
    pub(super) fn resource(&self, kind: &GroupKind) -> Option<Resource> {
        self.served.resource(kind)
    }
}

fn config_maps() -> Resource {
    Resource::core("ConfigMap", "configmaps", Scope::Namespaced)
}

const INVENTORY: &str = "the inventory";
const NAMES: &str = "the names of bundles";

/// Reads a ConfigMap that apply keeps for itself.
fn own(cluster: &Cluster, key: &ObjectKey, what: &str) -> Result<Option<Node>, Failure> {
    let got = cluster.get(&config_maps(), vec![key.clone()], Portion::Whole, &|| {});
    let got = got.map_err(|broken| unreadable(cluster, what, &broken))?;
    match got.into_iter().next() {
        Some((_, Got::Found(node, _))) => Ok(Some(node)),
        Some((_, Got::Absent)) | None => Ok(None),
        Some((_, Got::Forbidden)) => Err(may_not(cluster, "get", key)),
        Some((_, Got::Failed(broken))) => Err(unreadable(cluster, what, &broken)),
    }
}

/// That a right to what apply keeps for itself is missing.
fn may_not(cluster: &Cluster, verb: &str, key: &ObjectKey) -> Failure {
    let message = cluster.refusal(verb, &config_maps(), key.namespace.as_ref(), Some(&key.name));
    Failure::unavailable(message, told::RIGHTS_OF_INVENTORY)
}

/// Refuses a cluster that is another one than that for which the bundle was made.
pub(super) fn hold_to_cluster(subject: &Applying<'_>, cluster: &Cluster) -> Result<(), Failure> {
    let Some(made_for) = &subject.unpacked.cluster else { return Ok(()) };
    let another = is_another(cluster, made_for).map_err(|reason| {
        let message = format!("whether this is the cluster that the bundle was made for is unknown: {}", reason.why);
        Failure::unavailable(message, format!("{} {}", reason.help, told::RIGHTS))
    })?;
    let Some(message) = another else { return Ok(()) };
    let help = "Check --context. If the region has a new cluster, publish for that first.";
    Err(Failure::unavailable(format!("{message}: nothing was applied"), help))
}

/// Reads the inventory, with its resourceVersion; an empty one where there is none.
pub(super) fn inventory(subject: &Applying<'_>, cluster: &Cluster) -> Result<(Inventory, Option<String>), Failure> {
    let key = subject.kept();
    let (fleet, directory) = (&subject.unpacked.fleet, &subject.unpacked.directory);
    let Some(node) = own(cluster, &key, INVENTORY)? else { return Ok((Inventory::empty(fleet, directory), None)) };
    let inventory = Inventory::read(&node, fleet, directory).map_err(|why| {
        let help = match why {
            Unusable::Immutable => "Make it anew without `immutable`: what it says is still needed.",
            _ => "Find out who wrote it. If it is deleted, nothing is taken away that left the bundle before.",
        };
        Failure::unavailable(format!("the inventory, {key}, {why}"), help)
    })?;
    Ok((inventory, Some(Meta::of(&node).version)))
}

/// The bundles that were applied to the cluster, as it names them.
pub(super) fn bundles(subject: &Applying<'_>, cluster: &Cluster) -> Result<BTreeSet<String>, Failure> {
    Ok(own(cluster, &subject.bundles(), NAMES)?.map(|node| named(&node)).unwrap_or_default())
}

/// Adds the bundle to those that were applied to the cluster.
pub(super) fn settle(subject: &Applying<'_>, cluster: &Cluster, bundle: &Bundle<'_>) -> Result<(), Failure> {
    let (key, text) = (subject.bundles(), emit_own(bundle, subject.kept_in));
    match cluster.replace(&Applied { resource: config_maps(), key: &key, manager: &bundle.manager, text: &text }) {
        Written::Done { .. } => Ok(()),
        Written::Refused(refusal) if refusal.status == 403 => Err(may_not(cluster, "patch", &key)),
        Written::Refused(refusal) => Err(told::refused(&key, &refusal, &BTreeSet::new())),
        Written::Failed(broken) => Err(unwritten(cluster, NAMES, &broken)),
    }
}

/// Asks whether a new inventory could be made; whether its namespace is there.
pub(super) fn rehearse(subject: &Applying<'_>, cluster: &Cluster, inventory: &Inventory) -> Result<bool, Failure> {
    let (key, resource) = (subject.kept(), config_maps());
    match cluster.create(&resource, &key, &inventory.emit(subject.kept_in, None), Trial::Dry) {
        Ok(Created::Made | Created::There) => Ok(true),
        Ok(Created::NoNamespace) => Ok(false),
        Ok(Created::Forbidden) => Err(may_not(cluster, "create", &key)),
        Err(broken) => Err(unwritten(cluster, INVENTORY, &broken)),
    }
}

/// That the inventory's namespace is not there.
pub(super) fn nowhere(subject: &Applying<'_>) -> Failure {
    let message = format!("namespace {} is not on the region, and the inventory stands in it", subject.kept_in);
    Failure::usage(message, "Make the namespace, or name another one with --inventory-namespace.")
}

/// Writes the inventory over the one of this resourceVersion, or as a new one; returns its resourceVersion.
pub(super) fn keep(
    subject: &Applying<'_>,
    cluster: &Cluster,
    inventory: &Inventory,
    over: Option<&str>,
) -> Result<String, Failure> {
    let key = subject.kept();
    let resource = config_maps();
    let text = inventory.emit(subject.kept_in, over);
    if text.len() > MOST_BYTES {
        let message = format!("the inventory of {} objects is larger than a ConfigMap can be", inventory.objects.len());
        return Err(Failure::failed(message, "Give the region several bundles, or Flux or Argo CD."));
    }
    if over.is_none() {
        match cluster.create(&resource, &key, &text, Trial::Real) {
            Ok(Created::Made) => {}
            // Perhaps by this very run, whose answer was lost.
            Ok(Created::There) => return again(subject, cluster, inventory),
            Ok(Created::Forbidden) => return Err(may_not(cluster, "create", &key)),
            Ok(Created::NoNamespace) => return Err(nowhere(subject)),
            Err(broken) => return Err(unwritten(cluster, INVENTORY, &broken)),
        }
        return again(subject, cluster, inventory);
    }
    let applied = Applied { resource: resource.clone(), key: &key, manager: key.name.as_str(), text: &text };
    match cluster.overwrite(&applied, subject.trial) {
        Written::Done { .. } if subject.trial == Trial::Dry => Ok(over.unwrap_or_default().to_owned()),
        Written::Done { answer, .. } => Ok(Meta::of(&answer).version),
        Written::Refused(refusal) if refusal.status == 409 => again(subject, cluster, inventory),
        Written::Refused(refusal) if refusal.status == 403 => Err(may_not(cluster, "patch", &key)),
        Written::Refused(refusal) => Err(told::refused(&key, &refusal, &BTreeSet::new())),
        Written::Failed(broken) => Err(unwritten(cluster, INVENTORY, &broken)),
    }
}

/// The resourceVersion of an inventory that must stand there by now.
fn again(subject: &Applying<'_>, cluster: &Cluster, wanted: &Inventory) -> Result<String, Failure> {
    let (found, version) = inventory(subject, cluster)?;
    version.filter(|_| found == *wanted).ok_or_else(|| {
        let message = format!("another run wrote the inventory, {}, meanwhile", subject.kept());
        Failure::unavailable(message, "Let one run apply a bundle at a time, and run this again.")
    })
}

/// Asks what the region serves and has.
pub(super) fn answers(
    cluster: &Cluster,
    session: &Session,
    questions: Questions,
    (inventory, manager): (&Inventory, &str),
    troubles: &mut Vec<(Option<ObjectKey>, Failure)>,
) -> Result<Known, Failure> {
    let served = cluster.discover(questions.groups.iter().map(String::as_str));
    let served = served.map_err(|broken| unreadable(cluster, "its API groups", &broken))?;
    for (group, broken) in &served.unknown {
        troubles.push((None, unreadable(cluster, &format!("the API group {group}"), broken)));
    }
    let versions: BTreeMap<_, BTreeSet<Version>> =
        served.kinds.iter().map(|(kind, (_, versions))| (kind.clone(), versions.iter().cloned().collect())).collect();
    let called = served.kinds.iter().map(|(kind, (resource, _))| (kind.clone(), resource.plural.clone())).collect();
    let silent = served.unknown.keys().cloned().collect();
    let unserved = questions.objects.keys().map(|(kind, _)| kind).filter(|kind| {
        core_resource(kind).is_none()
            && served.resource(kind).is_none()
            && !served.unknown.contains_key(kind.group.as_str())
    });
    let undefined = undefined(cluster, unserved.cloned().collect(), inventory)?;
    let mut asked: Vec<(Resource, Vec<ObjectKey>, bool)> =
        vec![(Resource::namespaces(), questions.namespaces.iter().map(ObjectKey::namespace).collect(), false)];
    for ((kind, version), keys) in questions.objects {
        let Some(resource) = served.resource(&kind) else { continue };
        let is_served = |version: &Version| {
            core_resource(&kind).is_some() || versions.get(&kind).is_some_and(|all| all.contains(version))
        };
        match version {
            Some(version) if is_served(&version) => asked.push((Resource { version, ..resource }, keys, false)),
            Some(_) => {}
            None => asked.push((resource, keys, true)),
        }
    }
    let (mut live, mut kept) = (BTreeMap::new(), BTreeMap::new());
    for (resource, keys, has_left) in asked {
        session.stop.check()?;
        let progress = session.ui.progress("reading", u64::try_from(keys.len()).unwrap_or_default());
        let seen = || progress.step();
        // What left the bundle and is not there is forgotten, so that must be sure.
        let got = match has_left {
            true => surely(cluster, &resource, keys, Portion::Metadata, &seen),
            false => cluster.get(&resource, keys, Portion::Metadata, &seen),
        };
        let got = got.map_err(|broken| unreadable(cluster, &resource.name(), &broken))?;
        // One word for all objects of a place that may not be read.
        let mut forbidden = BTreeSet::new();
        for (key, got) in got {
            let found = match got {
                Got::Found(node, _) => {
                    let found = if has_left { Vec::new() } else { beside(&key, &node, manager) };
                    kept.insert(key.clone(), found);
                    Live::Here(Meta::of(&node))
                }
                Got::Absent => Live::Absent,
                Got::Forbidden => {
                    if forbidden.insert(key.namespace.clone()) {
                        let message = cluster.refusal("get", &resource, key.namespace.as_ref(), None);
                        troubles.push((None, Failure::failed(message, told::RIGHTS)));
                    }
                    Live::Unknown
                }
                Got::Failed(broken) => {
                    troubles.push((Some(key.clone()), unreadable(cluster, &key.to_string(), &broken)));
                    Live::Unknown
                }
            };
            live.insert(key, found);
        }
    }
    Ok(Known { served, versions, called, undefined, silent, live, beside: kept, unchangeable: BTreeMap::new() })
}

/// Those of some kinds that the region does not serve which are not defined there either.
///
/// A definition without a version that is served keeps its objects, and a server that starts may know of a definition
/// before it serves the kind.
fn undefined(
    cluster: &Cluster,
    unserved: BTreeSet<GroupKind>,
    inventory: &Inventory,
) -> Result<BTreeSet<GroupKind>, Failure> {
    let definition = Resource {
        kind: GroupKind::new("apiextensions.k8s.io", kinds::DEFINITION),
        version: "v1".into(),
        plural: "customresourcedefinitions".to_owned(),
        scope: Scope::Cluster,
    };
    // What a kind of the configuration's own is called in paths was noted when it was served.
    let named = |kind: GroupKind| {
        let noted = || inventory.kinds.get(&kind)?.as_deref();
        let name = format!("{}.{}", kinds::plural(&kind).or_else(noted)?, kind.group);
        Some((ObjectKey::new(definition.kind.clone(), None, name.as_str().into()), kind))
    };
    let names: BTreeMap<ObjectKey, GroupKind> = unserved.into_iter().filter_map(named).collect();
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    let got = surely(cluster, &definition, names.keys().cloned().collect(), Portion::Metadata, &|| {});
    let got = got.map_err(|broken| unreadable(cluster, &definition.name(), &broken))?;
    let absent = got.into_iter().filter(|(_, got)| matches!(got, Got::Absent));
    Ok(absent.filter_map(|(key, _)| names.get(&key).cloned()).collect())
}

/// Gets objects by name, and asks once more for what is absent: what is missing by accident is there then.
pub(super) fn surely(
    cluster: &Cluster,
    resource: &Resource,
    keys: Vec<ObjectKey>,
    form: Portion,
    seen: &dyn Fn(),
) -> Result<Vec<(ObjectKey, Got)>, Broken> {
    let (absent, mut found): (Vec<_>, Vec<_>) =
        cluster.get(resource, keys, form, seen)?.into_iter().partition(|(_, got)| matches!(got, Got::Absent));
    let absent: Vec<ObjectKey> = absent.into_iter().map(|(key, _)| key).collect();
    if !absent.is_empty() {
        found.extend(cluster.get(resource, absent, form, &|| {})?);
    }
    Ok(found)
}

fn unreadable(cluster: &Cluster, what: &str, broken: &Broken) -> Failure {
    Failure::unavailable(cluster.trouble(what, broken), broken.help())
}

fn unwritten(cluster: &Cluster, what: &str, broken: &Broken) -> Failure {
    Failure::unavailable(cluster.unwritten(what, broken), broken.help())
}
