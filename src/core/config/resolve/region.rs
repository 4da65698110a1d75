//! Regions: their folders, who can read them, and whose Credentials may go there.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, NOT_READ, Spot, holds_secret, leaks, quoted};
use super::super::file::{FleetFile, RegionFile, RegionNamespacesFile, SourceFile};
use super::super::{Delivery, ExtraKind, Output, RegionConfig, RegionState};
use super::name::{globs, namespace, namespace_globs};
use super::{clusters, delivery, inventory, sync_rules};
use crate::name::{Directory, GroupKind, Namespace, Region, is_directory, is_dns_subdomain};
use crate::recipient::{Recipient, RecipientError};

/// Resolves `escrowRecipients`.
pub(super) fn escrow(typed: &[String], faults: &mut Faults) -> BTreeSet<Recipient> {
    let path = FieldPath::root().key("escrowRecipients");
    let mut recipients = BTreeSet::new();
    for (at, text) in typed.iter().enumerate() {
        add_recipient(text, &path.index(at), "", &mut recipients, faults);
    }
    recipients
}

/// Resolves all regions.
pub(super) fn resolve(
    file: &FleetFile,
    texts: &BTreeMap<String, String>,
    escrow: &BTreeSet<Recipient>,
    (output, kinds): (&Output, &BTreeMap<GroupKind, ExtraKind>),
    faults: &mut Faults,
) -> BTreeMap<Region, RegionConfig> {
    let whole = delivery::Whole { file, texts, output };
    let path = FieldPath::root().key("regions");
    if file.regions.is_empty() {
        faults.add(&path, "there is no region", "Name at least one region, as `Credential.spec.region` does.");
    }
    let mut regions = BTreeMap::new();
    let mut folders: BTreeMap<String, &str> = BTreeMap::new();
    let mut readers: BTreeMap<Recipient, &str> = BTreeMap::new();
    let mut management: Option<&str> = None;
    for (name, typed) in &file.regions {
        let path = path.key(name);
        if !is_dns_subdomain(name) {
            let help = "Write the name of the Region object: labels of a-z, 0-9 and dashes, joined by dots.";
            faults.add_at_key(&path, format!("{} cannot name a region", quoted(name)), help);
        }
        let directory = directory(name, typed, &path, faults);
        if let Some(other) = folders.insert(directory.clone(), name) {
            let message = format!("the region {other:?} has the same folder {directory:?}");
            faults.add(&path.key("directory"), message, "Give one of them another `directory`.");
        }
        let own = recipients(typed, texts, output, &path, faults);
        for recipient in own.iter().filter(|recipient| !escrow.contains(recipient)) {
            if let Some(other) = readers.insert(recipient.clone(), name) {
                let message = format!("a recipient of this region also stands in the region {other:?}: {recipient}");
                let help = "Give every region a key of its own, or move the recipient to `escrowRecipients`.";
                faults.add(&path.key("recipients"), message, help);
            }
        }
        if !own.is_empty() && own.iter().all(|recipient| escrow.contains(recipient)) {
            let message = "all recipients of the region are escrow recipients; it has none of its own";
            faults.add(&path.key("recipients"), message, "Add the recipient of the region's own key.");
        }
        if typed.management {
            if let Some(other) = management.replace(name) {
                let message = format!("the region {other:?} is the management cluster already");
                let help = "There is one management cluster: keep `management: true` in the region that is it.";
                faults.add(&path.key("management"), message, help);
            }
            of_management(file, typed, &path, faults);
        }
        let config = RegionConfig {
            name: Region::from(name.as_str()),
            directory: Directory::from(directory.as_str()),
            state: typed.state,
            management: typed.management,
            recipients: own.union(escrow).cloned().collect(),
            recipients_file: typed.recipients_file.clone(),
            allowed: namespace_globs(&typed.namespaces.allowed, &path.key("namespaces").key("allowed"), faults),
            labels: labels(&typed.namespaces, &path.key("namespaces").key("labels"), faults),
            delivery: delivery::resolve(whole, (&directory, &typed.delivery), &path.key("delivery"), faults),
            detached: typed.detached,
            inventory: inventory::resolve(name, typed, output, &path, faults),
            clusters: clusters::resolve(&typed.clusters, kinds, &path.key("clusters"), faults),
            sync_rules: sync_rules::resolve(&typed.sync_rules, &path.key("syncRules"), faults),
            resource_sets: clusters::globs(
                &typed.resource_sets,
                "ClusterResourceSet",
                &path.key("resourceSets"),
                faults,
            ),
            templates: globs(&typed.templates, &path.key("templates"), faults),
        };
        described(&config, &path.key("delivery"), faults);
        regions.insert(config.name.clone(), config);
    }
    delivery::check_unused(whole, &regions, faults);
    delivery::check_apart(&regions, faults);
    regions
}

/// Checks what makes no sense of the management cluster.
fn of_management(file: &FleetFile, typed: &RegionFile, path: &FieldPath, faults: &mut Faults) {
    if typed.inventory.as_ref().is_some_and(|inventory| inventory.region.is_some()) {
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
        && region.inventory.profile.is_none()
        && region.state != RegionState::Retired
    {
        let message = "Argo CD is to know the region's cluster by its ClusterProfile, and the region is tied to none";
        let help = "Add `inventory.clusterProfile`, or `delivery: {argocd: {cluster: null}}` for a region whose cluster somebody \
                    else makes known.";
        faults.add_at_key(path, message, help);
    }
}

fn directory(name: &str, typed: &RegionFile, path: &FieldPath, faults: &mut Faults) -> String {
    const HELP: &str = "Use 1 to 40 of a-z, 0-9 and dashes, with a letter or digit at both ends.";
    match &typed.directory {
        Some(text) => {
            if !is_directory(text) {
                faults.add(&path.key("directory"), format!("{} cannot name a region's folder", quoted(text)), HELP);
            }
            text.clone()
        }
        None => {
            if is_dns_subdomain(name) && !is_directory(name) {
                let message = "the region's name cannot name its folder, so it needs a `directory`";
                faults.add_at_key(path, message, HELP);
            }
            name.to_string()
        }
    }
}

fn recipients(
    typed: &RegionFile,
    texts: &BTreeMap<String, String>,
    output: &Output,
    path: &FieldPath,
    faults: &mut Faults,
) -> BTreeSet<Recipient> {
    let mut recipients = BTreeSet::new();
    let (field, count) = match (&typed.recipients, &typed.recipients_file) {
        (Some(list), None) => {
            let path = path.key("recipients");
            for (at, text) in list.iter().enumerate() {
                add_recipient(text, &path.index(at), "", &mut recipients, faults);
            }
            (path, list.len())
        }
        (None, Some(name)) => {
            let path = path.key("recipientsFile");
            super::output::not_among_bundles(name, &path, output, faults);
            let Some(text) = texts.get(name) else {
                faults.add(&path, NOT_READ, "Check that it is there and can be read.");
                return recipients;
            };
            let lines: Vec<(usize, &str)> = recipient_lines(text).collect();
            if text.lines().any(|line| line.trim().starts_with('#') && leaks(line)) {
                let message = "a comment in the file holds a secret key";
                faults.add(&path, message, "Remove it and treat it as leaked; the file is no place for it.");
            }
            for (line, text) in &lines {
                add_recipient(text, &path, &format!("line {line} of {}: ", quoted(name)), &mut recipients, faults);
            }
            (path, lines.len())
        }
        (None, None) => {
            let help = "Add `recipients: [age1…]` or `recipientsFile: PATH`; `pouch keygen` makes a key pair.";
            let message = "nobody could read the region: it has no recipients";
            faults.add_awaiting_key((path, Spot::Key), message, help);
            return recipients;
        }
        (Some(_), Some(_)) => {
            let message = "both `recipients` and `recipientsFile` say who can read the region";
            faults.add_at_key(path, message, "Keep one of them.");
            return recipients;
        }
    };
    if count == 0 {
        let message = "the list is empty, so no key of the region's own could open its bundle";
        let help = "Add the recipient of the region's key; escrow recipients do not count.";
        faults.add_awaiting_key((&field, Spot::Value), message, help);
    }
    recipients
}

/// Lines of a file of recipients, as age reads one: `#` starts a comment, empty lines mean nothing.
fn recipient_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().zip(1_usize..).map(|(line, number)| (number, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn add_recipient(text: &str, path: &FieldPath, place: &str, recipients: &mut BTreeSet<Recipient>, faults: &mut Faults) {
    if holds_secret(text) {
        let message = format!("{place}this is a secret key; a recipient belongs here");
        let help = "Remove it, treat it as leaked, and write the public key of a new one (`age1…`).";
        return faults.add_secret(path, message, help);
    }
    match Recipient::parse(text) {
        Ok(recipient) => {
            if !recipients.insert(recipient) {
                faults.add(path, format!("{place}the recipient is here twice"), "Remove one of them.");
            }
        }
        Err(error @ RecipientError::Placeholder) => {
            faults.add_awaiting_key((path, Spot::Value), format!("{place}{error}"), error.help());
        }
        Err(error) => {
            faults.add(path, format!("{place}{error}"), error.help());
        }
    }
}

fn labels(
    typed: &RegionNamespacesFile,
    path: &FieldPath,
    faults: &mut Faults,
) -> BTreeMap<Namespace, BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for (name, pairs) in &typed.labels {
        let path = path.key(name);
        for (key, value) in pairs {
            if !is_label_key(key) {
                let help = "Use `name` or `prefix/name`, the name of at most 63 letters, digits, dashes, dots and underscores.";
                faults.add_at_key(&path.key(key), format!("{} cannot be the key of a label", quoted(key)), help);
            }
            if !value.is_empty() && !is_label_word(value) {
                let help = "Use at most 63 letters, digits, dashes, dots and underscores.";
                faults.add(&path.key(key), format!("{} cannot be the value of a label", quoted(value)), help);
            }
        }
        labels.insert(namespace(name, &path, faults), pairs.clone());
    }
    labels
}

/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>
fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_word(name),
        None => is_label_word(key),
    }
}

/// Whether a text can be the value of a label, and is not empty.
pub(super) fn is_label_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= 63 && text.bytes().all(inner) && edge(text.as_bytes().first()) && edge(text.as_bytes().last())
}
