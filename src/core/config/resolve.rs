//! From the file to its meaning: everything that takes more than one value to say or to check.
//!
//! All faults are collected, none stops the others: a person mends a file in one go. The contents of the recipients
//! files that a configuration names are arguments, so nothing here reads a file.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem;

use super::argocd::Whole;
use super::delivery::{Delivery, FleetDelivery, RegionDeliveryFile};
pub use super::error::NOT_READ;
use super::error::{ConfigError, Faults, FieldPath, quoted};
use super::file::{self, FleetFile};
use super::globs::Globs;
use super::kind::ExtraKind;
use super::reader::{ReaderFile, Readers};
use super::region::{self, RegionConfig, RegionState};
use super::shape::Typed;
use super::source::SourceFile;
use super::{Fleet, apart, grant, guarded, kind, severity, source};
use crate::name::{GroupKind, Region};
use crate::object::COPIES;
use crate::recipient::Recipient;
use crate::release::Release;

/// The files that are part of the configuration, as typed, sorted, each once: of recipients, and [`provider_files`].
pub fn files_needed(file: &FleetFile) -> Vec<String> {
    let recipients = file.regions.values().filter_map(|region| region.recipients_file.as_ref());
    let names: BTreeSet<&String> = recipients.chain(provider_files(file)).collect();
    names.into_iter().cloned().collect()
}

/// The provider files by which clusters are made known to Argo CD, as typed.
pub fn provider_files(file: &FleetFile) -> BTreeSet<&String> {
    let shared = core::iter::once(&file.region_defaults.delivery);
    let deliveries = shared.chain(file.regions.values().map(|region| &region.delivered));
    let of_argocd = deliveries.filter_map(|delivery| match delivery {
        RegionDeliveryFile::Map(map) => map.argocd.as_ref(),
        RegionDeliveryFile::Word(_) => None,
    });
    of_argocd.filter_map(|argo| argo.cluster.as_ref()?.providers.as_ref()).collect()
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
    let Typed { file, written, faults } = typed;
    let mut faults = faults.clone();
    header(file, &mut faults);
    let folders = file.regions.iter().map(|(name, region)| (name.as_str(), region.folder(name)));
    let output = file.output.clone().resolve(folders, &mut faults);
    let (kinds, controllers) = kind::resolve(&file.kinds, &mut faults);
    let guarded = guarded::guarded(&file.system_namespace, &controllers, &file.regions);
    let sources = source::resolve(&file.sources, &file.regions, &kinds, &guarded, &output, &mut faults);
    annotations(file.keep_metadata.annotations.patterns(), &mut faults);
    let escrow = escrow(&file.escrow_recipients, &mut faults);
    let whole = Whole { output: &output, texts };
    let shared = &file.region_defaults.delivery;
    let delivery =
        FleetDelivery { fleet: &file.metadata.name, shared, system_namespace: &file.system_namespace, whole };
    let readers = readers(file, &mut faults);
    let regions = regions(file, &delivery, &escrow, &kinds, &mut faults);
    let mut guests = file.guests.clone();
    guests.iter_mut().for_each(|(name, group)| group.resolve(name, &kinds, &regions, &mut faults));
    let by_guests = guests.values().any(|group| !group.rules.is_empty());
    let syncs = by_guests || regions.values().any(RegionConfig::names_sync_rules);
    let grants = grant::resolve(file.grants.as_deref().unwrap_or_default(), &kinds, &regions, &mut faults);
    file.reuse_key.check(&output, &mut faults);
    file.limits.check(&regions, &mut faults);
    let severities = severity::severities(&file.findings, &mut faults);

    let fleet = Fleet {
        name: file.metadata.name.clone(),
        sources,
        system_namespace: file.system_namespace.clone(),
        resolution: file.resolution,
        builtin: Release::parse(&file.provider_interfaces.builtin).ok(),
        kinds,
        controllers,
        guarded,
        keep: file.keep_metadata.clone(),
        syncs,
        selects_by: BTreeSet::new(),
        companions: file.companions,
        emit_controller_identity: file.emit_controller_identity,
        regions,
        guests,
        escrow,
        readers,
        grants,
        output,
        reuse_key: file.reuse_key.clone(),
        limits: file.limits.clone(),
        severities,
    };
    (fleet, written.as_typed(faults).into_errors())
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
}

/// Checks that no annotation is kept that holds a copy of its object.
fn annotations(patterns: &[String], faults: &mut Faults) {
    let path = FieldPath::root().key("keepMetadata").key("annotations");
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
}

/// Resolves `escrowRecipients`.
fn escrow(typed: &[ReaderFile], faults: &mut Faults) -> BTreeSet<Recipient> {
    let path = FieldPath::root().key("escrowRecipients");
    let mut recipients = BTreeSet::new();
    for (at, reader) in typed.iter().enumerate() {
        let (text, path) = reader.key(&path.index(at));
        region::add_recipient(text, &path, "", &mut recipients, faults);
    }
    recipients
}

/// Gathers the names of recipients.
fn readers(file: &FleetFile, faults: &mut Faults) -> Readers {
    let mut readers = Readers::default();
    let root = FieldPath::root();
    for (name, region) in &file.regions {
        let path = root.key("regions").key(name.as_str()).key("recipients");
        readers.add(region.own.as_deref().unwrap_or_default(), Some(name), &path, faults);
    }
    readers.add(&file.escrow_recipients, None, &root.key("escrowRecipients"), faults);
    readers
}

/// Resolves all regions.
fn regions(
    file: &FleetFile,
    delivery: &FleetDelivery<'_>,
    escrow: &BTreeSet<Recipient>,
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    faults: &mut Faults,
) -> BTreeMap<Region, RegionConfig> {
    let path = FieldPath::root().key("regions");
    let Whole { output, texts } = delivery.whole;
    if file.regions.is_empty() {
        faults.add(&path, "there is no region", "Name at least one region, as `Credential.spec.region` does.");
    }
    let mut regions = file.regions.clone();
    let mut folders: BTreeMap<String, &Region> = BTreeMap::new();
    let mut readers: BTreeMap<Recipient, &Region> = BTreeMap::new();
    let mut management: Option<&Region> = None;
    for ((name, typed), region) in file.regions.iter().zip(regions.values_mut()) {
        let path = path.key(name.as_str());
        region.resolve_name(name, &path, faults);
        let directory = region.directory.to_string();
        if let Some(other) = folders.insert(directory.clone(), name) {
            let message = format!("the region {:?} has the same folder {directory:?}", other.as_str());
            faults.add(&path.key("directory"), message, "Give one of them another `directory`.");
        }
        let own = region::recipients(typed, texts, output, &path, faults);
        let path_of_readers = path.key("recipients");
        for recipient in own.iter().filter(|recipient| !escrow.contains(recipient)) {
            if let Some(other) = readers.insert(recipient.clone(), name) {
                let message =
                    format!("a recipient of this region also stands in the region {:?}: {recipient}", other.as_str());
                let help = "Give every region a key of its own, or move the recipient to `escrowRecipients`.";
                faults.add(&path_of_readers, message, help);
            }
        }
        if !own.is_empty() && own.is_subset(escrow) {
            let message = "all recipients of the region are escrow recipients; it has none of its own";
            faults.add(&path_of_readers, message, "Add the recipient of the region's own key.");
        }
        region.recipients = own.union(escrow).cloned().collect();
        if typed.management {
            if let Some(other) = management.replace(name) {
                let message = format!("the region {:?} is the management cluster already", other.as_str());
                let help = "There is one management cluster: keep `management: true` in the region that is it.";
                faults.add(&path.key("management"), message, help);
            }
            of_management(file, typed, &path, faults);
        }
        region.resolve(output, &path, faults);
        region.clusters.check(kinds, &path.key("clusters"), faults);
        region.delivery = delivery.resolve(&mem::take(&mut region.delivered), &directory, &path, faults);
        described(region, &path, faults);
    }
    delivery.check_unused(regions.values().map(|region| &region.delivery), faults);
    apart::check(&regions, faults);
    regions
}

/// Checks what makes no sense of the management cluster.
fn of_management(file: &FleetFile, typed: &RegionConfig, path: &FieldPath, faults: &mut Faults) {
    if typed.inventory.region.is_some() {
        let message = "no Region object of k0rdent describes the management cluster";
        let help = "Remove the field; or remove `management: true`, if this is the region of that object.";
        faults.add(&path.key("inventory").key("region"), message, help);
    }
    // The cluster of somebody who is not trusted with everything is another one.
    let is_home = |source: &SourceFile| {
        let is_trusted = file.sources.len() == 1 || source.provides.as_ref().is_some_and(|it| it.cluster_scoped);
        source.cluster.is_some() && is_trusted
    };
    if typed.cluster.is_some() && file.sources.iter().any(is_home) {
        let message = "the management cluster is read as a source, so it is not looked into once more";
        faults.add(
            &path.key("cluster"),
            message,
            "Remove `cluster` here; the source of that kind says how it is reached.",
        );
    }
}

/// Checks that a region whose cluster is made known to Argo CD is tied to what describes the cluster.
fn described(region: &RegionConfig, path: &FieldPath, faults: &mut Faults) {
    if let Delivery::ArgoCd(argo) = &region.delivery
        && argo.cluster.is_some()
        && region.inventory.cluster_profile.is_none()
        && region.state != RegionState::Retired
    {
        let message = "Argo CD is to know the region's cluster by its ClusterProfile, and the region is tied to none";
        let help = "Add `inventory.clusterProfile`, or `delivery: {argocd: {cluster: null}}` for a region whose cluster somebody \
                    else makes known.";
        faults.add_at_key(path, message, help);
    }
}

#[cfg(test)]
mod tests;
