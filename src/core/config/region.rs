//! Regions, and how the configuration says them: their folders, who can read them, and whose claims may go there.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use super::clusters::ClusterEntries;
use super::delivery::{Delivery, RegionDeliveryFile};
use super::error::{Faults, FieldPath, NOT_READ, Spot, holds_secret, leaks, quoted, suggest};
use super::forms::{FOLDER, is_label_word, label};
use super::globs::Globs;
use super::inventory::{Inventory, Look, RegionClusterFile};
use super::output::Output;
use super::reader::{ReaderFile, Readers};
use super::setting::{Show, given, items, record, words};
use crate::name::{Directory, Namespace, Region, is_directory, is_dns_subdomain};
use crate::recipient::{Recipient, RecipientError};
use crate::yaml::emit::Tree;

/// What happens to a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "StateWord")]
pub enum RegionState {
    /// It is rendered.
    #[default]
    Active,
    /// Its published bytes stay as they are.
    Paused,
    /// Its bundle and delivery files are removed, under the brake; objects on the region stay.
    Retired,
}

words!(RegionState { Active: "active", Paused: "paused", Retired: "retired" });

/// One region; exactly one of `recipients` and `recipientsFile` says who can open its bundle.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RegionFile", extend("x-shared" = true))]
pub struct RegionConfig {
    /// Its name.
    #[serde(skip, default = "unnamed")]
    pub name: Region,
    /// Age recipients (`age1…`) that can open the region's bundle. None may stand in a second region.
    #[serde(rename = "recipients")]
    pub(super) own: Option<Vec<ReaderFile>>,
    /// Everybody who can read the bundle, escrow included; sorted, never empty.
    #[serde(skip)]
    pub recipients: Vec<Recipient>,
    /// A file of recipients, one per line, relative to this file and not under `output.path`.
    pub recipients_file: Option<String>,
    /// What happens to the region.
    #[serde(default)]
    pub state: RegionState,
    /// The region's folder, by default its name. Paths, tags and delivery objects use it: keep it when the
    /// region is renamed, and nothing moves or is sealed again.
    #[serde(rename = "directory")]
    #[schemars(extend("x-check" = "directory"))]
    pub(super) named: Option<Directory>,
    /// Its folder.
    #[serde(skip, default = "no_folder")]
    pub directory: Directory,
    /// Whether the region is k0rdent's management cluster, where Credentials without `spec.region` go. At most one is. What a
    /// `cluster` source reads there and would land where it is already, is not published.
    #[serde(default)]
    pub management: bool,
    /// How the bundle reaches the region; by default as `regionDefaults` says, else `none`.
    #[serde(default, rename = "delivery")]
    pub(super) delivered: RegionDeliveryFile,
    /// Its delivery, merged with the fleet's.
    #[serde(skip)]
    pub delivery: Delivery,
    /// Which namespaces' Credentials may go there.
    pub namespaces: RegionNamespaces,
    /// Whether the region's own ProviderInterfaces keep k0rdent from distributing identities there.
    #[serde(default, rename = "k0rdentPushDisabled")]
    pub push_disabled: bool,
    /// The objects that describe the region's cluster. They say what it is; that there is the region, who can open its
    /// bundle and what may go there stands in this file alone.
    #[serde(default, deserialize_with = "super::setting::or_default")]
    #[schemars(with = "Option<Inventory>")]
    pub inventory: Inventory,
    // Sorted, once the region is resolved.
    /// Conditions of the `clusterProfile`, or else of the `registryCluster`, that must be `True`: as long as one is not,
    /// the region stays as it is published.
    #[serde(default)]
    #[schemars(extend("items" = items("condition")))]
    pub require_conditions: Vec<String>,
    /// The Clusters of Cluster API without Credential whose identities go there: globs over `NAMESPACE/NAME`, or maps with
    /// such a glob and the identity. A Cluster that no region names counts for nothing.
    #[serde(default)]
    pub clusters: ClusterEntries,
    /// The ResourceSyncRules of the cluster registry by which objects of the sources go there: globs over their names. A
    /// rule that no region names counts for nothing.
    #[serde(default)]
    #[schemars(extend("items" = items("sync-rule")))]
    pub sync_rules: Globs,
    /// The ClusterResourceSets of Cluster API whose payloads go there, because they stand in this cluster: globs over
    /// `NAMESPACE/NAME`. A set that no region names counts for nothing.
    #[serde(default)]
    #[schemars(extend("items" = items("resource-set")))]
    pub resource_sets: Globs,
    /// The ManagedResources of KubeNSync that are rendered for the region's namespaces: globs over their names. One that no
    /// region names counts for nothing.
    #[serde(default)]
    pub templates: Globs,
    /// How the region's own cluster is looked into, for what is otherwise guessed: it is read, and nothing is written.
    pub(super) cluster: Option<RegionClusterFile>,
    /// The way in which its cluster is looked into, to be compared with its bundle.
    #[serde(skip)]
    pub compared: Option<Look>,
    /// True if it is looked into when its bundle is made, too.
    #[serde(skip)]
    looks_when_made: bool,
}

fn unnamed() -> Region {
    Region::from("")
}

fn no_folder() -> Directory {
    Directory::from("")
}

/// The namespaces of a region.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RegionNamespacesFile", extend("x-shared" = true))]
pub struct RegionNamespaces {
    /// Globs of the namespaces whose Credentials may go there.
    #[schemars(extend("items" = items("namespace-glob")))]
    pub allowed: Globs,
    /// Labels of namespaces on the region: for selectors of identities, and for the Namespaces that pouch
    /// emits.
    #[serde(default)]
    pub labels: BTreeMap<Namespace, BTreeMap<String, String>>,
}

super::setting::shown!(RegionNamespaces { "allowed": allowed, "labels": labels });

impl RegionConfig {
    /// Whether the region is planned at all: a paused region keeps its files verbatim, and nothing is looked at for it.
    pub fn is_rendered(&self) -> bool {
        self.state != RegionState::Paused
    }

    /// Whether the region names ResourceSyncRules.
    pub(super) fn names_sync_rules(&self) -> bool {
        !self.sync_rules.is_empty()
    }

    /// k0rdent's Region that describes its cluster.
    pub fn tied(&self) -> &Region {
        self.inventory.region.as_ref().unwrap_or(&self.name)
    }

    /// The folder of the region of this name, before it is resolved.
    pub(super) fn folder<'r>(&'r self, name: &'r Region) -> &'r str {
        self.named.as_ref().map_or(name.as_str(), Directory::as_str)
    }

    /// The way in which its cluster is looked into when its bundle is made, if it is.
    pub fn look(&self) -> Option<&Look> {
        self.compared.as_ref().filter(|_| self.looks_when_made)
    }

    /// As the configuration has it, without the recipients of every region.
    pub(super) fn tree<'t>(&'t self, escrow: &BTreeSet<Recipient>, readers: &'t Readers) -> Tree<'t> {
        let Self {
            name: _,
            own: _,
            recipients,
            recipients_file: _,
            state,
            named: _,
            directory,
            management,
            delivered: _,
            delivery,
            namespaces,
            push_disabled,
            inventory,
            require_conditions,
            clusters,
            sync_rules,
            resource_sets,
            templates,
            cluster: _,
            compared,
            looks_when_made,
        } = self;
        let own = recipients.iter().filter(|recipient| !escrow.contains(*recipient));
        given([
            ("recipients", Some(Tree::List(own.map(|own| readers.tree(own)).collect()))),
            ("state", state.show()),
            ("directory", directory.show()),
            ("delivery", delivery.show()),
            ("namespaces", namespaces.show()),
            ("k0rdentPushDisabled", push_disabled.show()),
            ("management", management.show()),
            ("inventory", inventory.show().filter(|_| *inventory != Inventory::default())),
            ("requireConditions", require_conditions.show()),
            ("cluster", compared.as_ref().map(|way| way.tree(!looks_when_made))),
            ("clusters", clusters.show()),
            ("resourceSets", resource_sets.show()),
            ("syncRules", sync_rules.show()),
            ("templates", templates.show()),
        ])
    }

    /// Fills in the folder, and checks that it and the name can be those of a region.
    pub(super) fn resolve_name(&mut self, name: &Region, path: &FieldPath, faults: &mut Faults) {
        if !is_dns_subdomain(name.as_str()) {
            let help = "Write the name of the Region object: labels of a-z, 0-9 and dashes, joined by dots.";
            faults.add_at_key(path, format!("{} cannot name a region", quoted(name.as_str())), help);
        } else if self.named.is_none() && !is_directory(name.as_str()) {
            let message = "the region's name cannot name its folder, so it needs a `directory`";
            faults.add_at_key(path, message, FOLDER);
        }
        self.directory = Directory::from(self.folder(name));
        self.named = None;
        self.name = name.clone();
        if self.inventory.region.as_ref() == Some(name) {
            self.inventory.region = None;
        }
    }

    /// Fills in what stands in the region's own fields, and checks it.
    pub(super) fn resolve(&mut self, output: &Output, path: &FieldPath, faults: &mut Faults) {
        let conditions = path.key("requireConditions");
        for (at, condition) in self.require_conditions.iter().enumerate() {
            if self.require_conditions.iter().take(at).any(|before| before == condition) {
                faults.add(&conditions.index(at), "the condition is here twice", "Remove one of them.");
            }
        }
        self.require_conditions.sort();
        self.own = None;
        let Inventory { cluster_profile, registry_cluster, .. } = &self.inventory;
        if !self.require_conditions.is_empty() && cluster_profile.is_none() && registry_cluster.is_none() {
            let message = format!("region {} is tied to no object that has conditions", quoted(self.name.as_str()));
            let help = "Tie the region to a `clusterProfile` or a `registryCluster` in `inventory`.";
            faults.add(&conditions, message, help);
        }
        if let Some(typed) = self.cluster.take() {
            self.compared = Look::resolve(&typed, cluster_profile.as_ref(), output, &path.key("cluster"), faults);
            self.looks_when_made = typed.looks_when_made();
        }
        labels(&self.namespaces.labels, &path.key("namespaces").key("labels"), faults);
    }
}

/// Checks that there is a region of a name.
pub(super) fn check_known(
    name: &Region,
    regions: &BTreeMap<Region, RegionConfig>,
    path: &FieldPath,
    faults: &mut Faults,
) {
    if !regions.contains_key(name) {
        let names: Vec<&str> = regions.keys().map(Region::as_str).collect();
        let message = format!("there is no region {}", quoted(name.as_str()));
        faults.add(path, message, suggest(name.as_str(), names));
    }
}

/// The recipients of a region's own.
pub(super) fn recipients(
    typed: &RegionConfig,
    texts: &BTreeMap<String, String>,
    output: &Output,
    path: &FieldPath,
    faults: &mut Faults,
) -> BTreeSet<Recipient> {
    let mut recipients = BTreeSet::new();
    let (field, count) = match (&typed.own, &typed.recipients_file) {
        (Some(list), None) => {
            let path = path.key("recipients");
            for (at, reader) in list.iter().enumerate() {
                let (text, path) = reader.key(&path.index(at));
                add_recipient(text, &path, "", &mut recipients, faults);
            }
            (path, list.len())
        }
        (None, Some(name)) => {
            let path = path.key("recipientsFile");
            output.not_among_bundles(name, &path, faults);
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

pub(super) fn add_recipient(
    text: &str,
    path: &FieldPath,
    place: &str,
    recipients: &mut BTreeSet<Recipient>,
    faults: &mut Faults,
) {
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

fn labels(labels: &BTreeMap<Namespace, BTreeMap<String, String>>, path: &FieldPath, faults: &mut Faults) {
    for (name, pairs) in labels {
        let path = path.key(name.as_str());
        record(label(name.as_str(), "namespace"), &path, faults);
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
    }
}

/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>
fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_word(name),
        None => is_label_word(key),
    }
}
