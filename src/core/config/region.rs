//! Regions, and how the configuration says them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ClusterEntries, Delivery, Globs, Inventory, TakenClusters};
use crate::name::{Directory, Namespace, Region};
use crate::recipient::Recipient;
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

/// One region.
#[derive(Clone, Debug)]
pub struct RegionConfig {
    /// Its name.
    pub name: Region,
    /// Its folder.
    pub directory: Directory,
    /// What happens to it.
    pub state: RegionState,
    /// Whether it is the management cluster, where Credentials without a region go.
    pub management: bool,
    /// Everybody who can read the bundle, escrow included; sorted, never empty.
    pub recipients: Vec<Recipient>,
    /// The file that lists the region's own recipients, relative to the configuration; none if the configuration lists
    /// them.
    pub recipients_file: Option<String>,
    /// The namespaces whose Credentials may go there.
    pub allowed: Globs,
    /// Labels of namespaces there, for selectors and for the Namespaces that pouch emits.
    pub labels: BTreeMap<Namespace, BTreeMap<String, String>>,
    /// How its bundle gets there.
    pub delivery: Delivery,
    /// Whether its own ProviderInterfaces keep k0rdent from distributing identities there.
    pub detached: bool,
    /// Which objects describe its cluster, and how that is looked into.
    pub inventory: Inventory,
    /// The Clusters of Cluster API whose identities go there; the first entry that a Cluster matches counts.
    pub clusters: ClusterEntries,
    /// The ResourceSyncRules that take objects there, by name.
    pub sync_rules: Globs,
    /// The ClusterResourceSets of Cluster API whose payloads go there: globs over `namespace/name`.
    pub resource_sets: Globs,
    /// The ManagedResources that are rendered for its namespaces.
    pub templates: Globs,
}

impl RegionConfig {
    /// Whether the region is planned at all: a paused region keeps its files verbatim, and nothing is looked at for it.
    pub fn is_rendered(&self) -> bool {
        self.state != RegionState::Paused
    }

    /// Whether the region names ResourceSyncRules.
    pub(super) fn names_sync_rules(&self) -> bool {
        !self.sync_rules.patterns().is_empty()
    }

    /// As the configuration has it, without the recipients of every region.
    pub(super) fn tree(&self, escrow: &BTreeSet<Recipient>) -> Tree<'_> {
        let state = match self.state {
            RegionState::Active => "active",
            RegionState::Paused => "paused",
            RegionState::Retired => "retired",
        };
        let labels = self.labels.iter().map(|(namespace, labels)| {
            let labels = labels.iter().map(|(key, value)| (key.as_str(), Tree::text(value.as_str())));
            (namespace.as_str(), Tree::map(labels))
        });
        let namespaces = Tree::map([("allowed", self.allowed.tree()), ("labels", Tree::map(labels))]);
        let own = self.recipients.iter().filter(|recipient| !escrow.contains(*recipient));
        let fields = [
            ("recipients", Tree::List(own.map(|own| Tree::text(own.to_string())).collect())),
            ("state", Tree::text(state)),
            ("directory", Tree::text(self.directory.as_str())),
            ("delivery", self.delivery.tree()),
            ("namespaces", namespaces),
            ("detached", Tree::Bool(self.detached)),
        ];
        let management = self.management.then_some(("management", Tree::Bool(true)));
        let clusters = self.clusters.iter().map(TakenClusters::tree).collect();
        let clusters = (!self.clusters.is_empty()).then_some(("clusters", Tree::List(clusters)));
        let has_sets = !self.resource_sets.patterns().is_empty();
        let resource_sets = has_sets.then(|| ("resourceSets", self.resource_sets.tree()));
        let rules = self.names_sync_rules().then(|| ("syncRules", self.sync_rules.tree()));
        let templates = (!self.templates.patterns().is_empty()).then(|| ("templates", self.templates.tree()));
        let taken = clusters.into_iter().chain(resource_sets).chain(rules).chain(templates);
        Tree::map(fields.into_iter().chain(management).chain(self.inventory.fields(&self.name)).chain(taken))
    }
}
