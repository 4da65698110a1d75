//! From what was typed to what it means: names checked, globs compiled, recipients parsed, defaults
//! filled in.
//!
//! All faults are collected, none stops the others: a person mends a file in one go. The contents of the recipients
//! files that a configuration names are arguments, so nothing here reads a file.

mod clusters;
mod delivery;
mod grant;
mod guests;
mod inventory;
mod name;
mod output;
mod region;
mod registry;
mod source;
mod sync_rules;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use self::name::{globs, label, namespace};
pub use super::error::NOT_READ;
use super::error::{ConfigError, Faults, FieldPath, quoted};
use super::file::{self, FleetFile, KindFile, RegionDeliveryFile, ScopeWord};
use super::shape::Typed;
use super::{ExtraKind, Fleet, Globs, GuestGroup, severity};
use crate::capi;
use crate::kinds::{K0RDENT, is_kubernetes_own};
use crate::name::{FleetName, GroupKind, Scope, is_dns_subdomain};
use crate::object::COPIES;
use crate::release::Release;

/// The files that are part of the configuration, as typed, sorted, each once: of recipients, and [`provider_files`].
pub fn files_needed(file: &FleetFile) -> Vec<String> {
    let recipients = file.regions.values().filter_map(|region| region.recipients_file.as_ref());
    let names: BTreeSet<&String> = recipients.chain(provider_files(file)).collect();
    names.into_iter().cloned().collect()
}

/// The provider files by which clusters are made known to Argo CD, as typed.
pub fn provider_files(file: &FleetFile) -> impl Iterator<Item = &String> {
    let of_regions = file.regions.values().filter_map(|region| match &region.delivery {
        RegionDeliveryFile::Map(map) => map.argocd.as_ref(),
        RegionDeliveryFile::Word(_) => None,
    });
    let clusters = file.delivery.argocd.iter().chain(of_regions).filter_map(|argo| argo.cluster.as_ref()?.as_ref());
    clusters.filter_map(|cluster| cluster.providers.as_ref())
}

/// Works out what a configuration means; `texts` holds the content of each of [`files_needed`].
///
/// # Errors
/// Everything that is wrong with it, in the order of the fields as documented.
pub fn resolve(typed: &Typed, texts: &BTreeMap<String, String>) -> Result<Fleet, Vec<ConfigError>> {
    let (fleet, errors) = resolved(typed, texts);
    if errors.is_empty() { Ok(fleet) } else { Err(errors) }
}

/// The same before the keys are made: that a recipient is still to be written is no error.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_without_keys(typed: &Typed, texts: &BTreeMap<String, String>) -> Result<Fleet, Vec<ConfigError>> {
    let (fleet, errors) = resolved(typed, texts);
    if errors.iter().all(|error| error.awaits_key) { Ok(fleet) } else { Err(errors) }
}

/// What a configuration means as far as it can be told, and all that is wrong with it.
fn resolved(typed: &Typed, texts: &BTreeMap<String, String>) -> (Fleet, Vec<ConfigError>) {
    let Typed { file, faults, .. } = typed;
    let mut faults = faults.clone();
    header(file, &mut faults);
    let root = FieldPath::root();
    let system_namespace = namespace(&file.system_namespace, &root.key("systemNamespace"), &mut faults);
    let builtin = builtin(&file.provider_interfaces.builtin, &mut faults);
    let output = output::resolve(file, &mut faults);
    // Faults stand in the order of the fields.
    let mut faults_of_kinds = Faults::default();
    let kinds = kinds(&file.kinds, &mut faults_of_kinds);
    let sources = source::resolve(file, &output, &kinds, &mut faults);
    faults.append(faults_of_kinds);
    let keep_labels = globs(&file.keep.labels, &root.key("keep").key("labels"), &mut faults);
    let keep_annotations = annotations(&file.keep.annotations, &mut faults);
    let escrow = region::escrow(&file.escrow_recipients, &mut faults);
    let regions = region::resolve(file, texts, &escrow, (&output, &kinds), &mut faults);
    let guests = guests::resolve(file, &kinds, &regions, &mut faults);
    let of_guests = guests.values().any(|group: &GuestGroup| !group.rules.is_empty());
    let syncs = of_guests || regions.values().any(|region| !region.sync_rules.patterns().is_empty());
    let grants = grant::resolve(file.grants.as_deref().unwrap_or_default(), &kinds, &regions, &mut faults);
    let reuse_key = output::reuse_key(&file.reuse_key, &output, &mut faults);
    file.limits.check(&regions, &mut faults);
    let severities = severity::severities(&file.findings, &mut faults);

    let fleet = Fleet {
        name: FleetName::from(file.metadata.name.as_str()),
        sources,
        system_namespace,
        resolution: file.resolution,
        builtin,
        kinds,
        keep_labels,
        keep_annotations,
        syncs,
        selects_by: BTreeSet::new(),
        companions: file.companions,
        emit_controller_identity: file.emit_controller_identity,
        regions,
        guests,
        escrow,
        grants,
        output,
        reuse_key,
        limits: file.limits.clone(),
        severities,
    };
    (fleet, faults.into_errors())
}

fn header(file: &FleetFile, faults: &mut Faults) {
    let root = FieldPath::root();
    if file.api_version != file::API_VERSION {
        let message = format!("{} is no format that this pouch reads", quoted(&file.api_version));
        faults.add(&root.key("apiVersion"), message, format!("Write {:?}.", file::API_VERSION));
    }
    if file.kind != file::KIND {
        let message = format!("{} is no kind of configuration", quoted(&file.kind));
        faults.add(&root.key("kind"), message, format!("Write {:?}.", file::KIND));
    }
    label(&file.metadata.name, "fleet", &root.key("metadata").key("name"), faults);
}

fn annotations(patterns: &[String], faults: &mut Faults) -> Globs {
    let path = FieldPath::root().key("keep").key("annotations");
    let compiled = globs(patterns, &path, faults);
    for (at, pattern) in patterns.iter().enumerate() {
        let Ok(glob) = Globs::new(core::slice::from_ref(pattern)) else { continue };
        if let Some(copy) = COPIES.iter().find(|copy| glob.matches(copy)) {
            let message = format!("the glob matches {copy}, which holds a copy of the object in clear");
            faults.add(
                &path.index(at),
                message,
                "Name the annotations that the regions need, such as `example.com/*`.",
            );
        }
    }
    compiled
}

fn builtin(text: &str, faults: &mut Faults) -> Option<Release> {
    if text == "none" {
        return None;
    }
    match Release::parse(text) {
        Ok(release) => Some(release),
        Err(error) => {
            let path = FieldPath::root().key("providerInterfaces").key("builtin");
            faults.add(&path, error.to_string(), "Write one of them, or `none` where the sources define all kinds.");
            None
        }
    }
}

fn kinds(kinds: &[KindFile], faults: &mut Faults) -> BTreeMap<GroupKind, ExtraKind> {
    let mut known = BTreeMap::new();
    for (at, entry) in kinds.iter().enumerate() {
        let path = FieldPath::root().key("kinds").index(at);
        let kind = GroupKind::new(&entry.group, &entry.kind);
        let camel = entry.kind.starts_with(|c: char| c.is_ascii_uppercase())
            && entry.kind.bytes().all(|b| b.is_ascii_alphanumeric())
            && entry.kind.len() <= 63;
        if !camel {
            let message = format!("{} cannot be a kind", quoted(&entry.kind));
            faults.add(&path.key("kind"), message, "Write it as manifests do, such as `AWSClusterStaticIdentity`.");
        }
        if !entry.group.is_empty() && !is_dns_subdomain(&entry.group) {
            let message = format!("{} cannot be an API group", quoted(&entry.group));
            faults.add(&path.key("group"), message, "Write what stands before the slash of `apiVersion`.");
        } else if is_kubernetes_own(&entry.group) {
            let message = "kinds of Kubernetes itself are not published by configuration";
            faults.add(
                &path.key("group"),
                message,
                "Secrets, ConfigMaps and Namespaces are published as references need them.",
            );
        } else if entry.group == K0RDENT {
            let message = "kinds of k0rdent itself are not published";
            faults.add(&path.key("group"), message, "Regions get identities, not the Credentials that ask for them.");
        } else if capi::rules(&kind).is_some() {
            let message = format!("{} is built in", quoted(&entry.kind));
            faults.add(&path, message, "Remove the entry.");
        }
        let extra = ExtraKind {
            scope: match entry.scope {
                ScopeWord::Namespaced => Scope::Namespaced,
                ScopeWord::Cluster => Scope::Cluster,
            },
            tenancy: entry.allowed_namespaces,
        };
        if known.insert(kind, extra).is_some() {
            faults.add(&path, "the kind is here twice", "Remove one of the entries.");
        }
    }
    known
}

#[cfg(test)]
mod tests;
