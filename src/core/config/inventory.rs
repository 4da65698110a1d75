//! Inventory: which objects describe a region's cluster, and how the cluster is looked into.
//!
//! The configuration ties a region to objects; an object never ties itself.

use alloc::collections::BTreeMap;
use alloc::string::String;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath};
use super::output::Output;
use super::setting::{Show, given, one_of, read_as, shown};
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Region, Variables};
use crate::yaml::emit::Tree;

/// The objects that describe a region's cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "InventoryFile")]
pub struct Inventory {
    /// The name of k0rdent's Region; by default the region's own name.
    #[schemars(extend("x-check" = "object-name"))]
    pub region: Option<Region>,
    /// The ClusterProfile, which only a source with `clusterScoped` can provide.
    pub cluster_profile: Option<ProfileTie>,
    /// The name of the cluster registry's Cluster.
    #[schemars(extend("x-check" = "object-name"))]
    pub registry_cluster: Option<Name>,
}

shown!(Inventory { "region": region, "clusterProfile": cluster_profile, "registryCluster": registry_cluster });

impl Inventory {
    /// The key of the Cluster of the cluster registry.
    pub fn registry(&self) -> Option<ObjectKey> {
        let kind = GroupKind::new(crate::kinds::REGISTRY, "Cluster");
        self.registry_cluster.as_ref().map(|name| ObjectKey::new(kind, None, name.clone()))
    }
}

/// Which ClusterProfile describes a region's cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileTie {
    /// The namespace, which is one inventory.
    pub namespace: Namespace,
    /// Which of those in it.
    pub by: ProfileBy,
    /// Who must manage it.
    pub manager: Option<String>,
}

/// What tells one ClusterProfile of an inventory from the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileBy {
    /// Its name.
    Name(Name),
    /// Its properties: those of exactly one.
    Properties(BTreeMap<String, String>),
    /// Its labels: those of exactly one.
    Labels(BTreeMap<String, String>),
}

/// A ClusterProfile; exactly one of `name`, `property` and `labels` says which of its namespace.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(&["name", "property", "labels"], WHICH, WHICH).at_key().filled()))]
struct ClusterProfileFile {
    /// Its namespace, which is one inventory.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Namespace,
    /// Its name.
    #[schemars(extend("x-check" = "object-name"))]
    name: Option<Name>,
    /// Properties that exactly one ClusterProfile of the namespace has.
    property: Option<BTreeMap<String, String>>,
    /// Labels that exactly one ClusterProfile of the namespace has.
    labels: Option<BTreeMap<String, String>>,
    /// The cluster manager that it must have, by name.
    #[schemars(extend("x-check" = "manager"))]
    manager: Option<String>,
}

const WHICH: [&str; 2] = [
    "it is not said which ClusterProfile of the namespace is meant",
    "Write exactly one of `name`, `property` and `labels`, and not an empty one.",
];

read_as!(ProfileTie as ClusterProfileFile);

impl From<ClusterProfileFile> for ProfileTie {
    fn from(file: ClusterProfileFile) -> Self {
        let ClusterProfileFile { namespace, name, property, labels, manager } = file;
        let by = match (name, property) {
            (Some(name), _) => ProfileBy::Name(name),
            (None, Some(properties)) => ProfileBy::Properties(properties),
            (None, None) => ProfileBy::Labels(labels.unwrap_or_default()),
        };
        Self { namespace, by, manager }
    }
}

impl Show for ProfileTie {
    fn show(&self) -> Option<Tree<'_>> {
        let by = match &self.by {
            ProfileBy::Name(name) => ("name", name.show()),
            ProfileBy::Properties(properties) => ("property", properties.show()),
            ProfileBy::Labels(labels) => ("labels", labels.show()),
        };
        Some(given([("namespace", self.namespace.show()), by, ("manager", self.manager.show())]))
    }
}

/// How a region's cluster is looked into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Look {
    /// By a context of a kubeconfig.
    Kubeconfig {
        /// The kubeconfig, relative to the configuration; none for the usual places.
        kubeconfig: Option<String>,
        /// The context; none if there is only one to choose.
        context: Option<String>,
        /// The variables that its credential plugin is handed, beside those that every one is.
        plugin_environment: Variables,
    },
    /// As its ClusterProfile says, by a plugin of this provider file, which is relative to the configuration.
    Providers(String),
}

/// How a region's cluster is looked into: by a kubeconfig, or by its ClusterProfile and `providers`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RegionClusterFile {
    /// A kubeconfig, relative to this file; by default the files of `KUBECONFIG`, else `~/.kube/config`.
    kubeconfig: Option<String>,
    /// The context of the kubeconfig.
    context: Option<String>,
    /// The environment variables that the kubeconfig's credential plugin is handed, beside those that every program needs:
    /// names, or their beginning and `*`. A provider file lists its own.
    #[serde(default)]
    plugin_environment: Variables,
    /// A provider file of cluster-inventory-api, relative to this file: the ClusterProfile says where the cluster is, and
    /// this file which program gives the credentials. It is code, like this file.
    providers: Option<String>,
    /// The commands that look: `publish`, and all that say what it would do, or `verify` alone, with `--live`.
    #[serde(default)]
    look: LookFor,
}

/// The commands that look into a region's cluster.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum LookFor {
    /// Everything that makes its bundle, and `verify --live`.
    #[default]
    Publish,
    /// `verify --live` alone.
    Verify,
}

impl RegionClusterFile {
    /// Returns true if the cluster is looked into when the bundle is made.
    pub(super) fn looks_when_made(&self) -> bool {
        self.look == LookFor::Publish
    }
}

impl Look {
    /// The way that was typed, in a region that is tied to a ClusterProfile or is not.
    pub(super) fn resolve(
        typed: &RegionClusterFile,
        profile: Option<&ProfileTie>,
        output: &Output,
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Option<Self> {
        let help = match (&typed.providers, &typed.kubeconfig, &typed.context) {
            (Some(file), None, None) => {
                if !typed.plugin_environment.is_empty() {
                    let help = "List the variables there, as `inheritedEnvVars` of each provider.";
                    faults.add(
                        &path.key("pluginEnvironment"),
                        "the provider file says what its plugins are handed",
                        help,
                    );
                }
                if profile.is_none() {
                    let message = "`providers` looks into the cluster that a ClusterProfile names, and the region is tied to none";
                    faults.add(&path.key("providers"), message, "Add `inventory.clusterProfile`.");
                }
                output.not_among_bundles(file, &path.key("providers"), faults);
                return Some(Self::Providers(file.clone()));
            }
            (Some(_), _, _) => {
                let help = "Keep either `providers`, or `kubeconfig` and `context`.";
                ("two ways to reach the cluster are given", help)
            }
            (None, None, None) => {
                ("it is not said how the cluster is reached", "Write `context` (and `kubeconfig`), or `providers`.")
            }
            (None, kubeconfig, context) => {
                if let Some(file) = kubeconfig {
                    output.not_among_bundles(file, &path.key("kubeconfig"), faults);
                }
                return Some(Self::Kubeconfig {
                    kubeconfig: kubeconfig.clone(),
                    context: context.clone(),
                    plugin_environment: typed.plugin_environment.clone(),
                });
            }
        };
        faults.add_at_key(path, help.0, help.1);
        None
    }
}

impl Look {
    /// As the configuration has it; of a cluster that `verify --live` alone looks into, that is shown too.
    pub(super) fn tree(&self, is_for_verify_alone: bool) -> Tree<'_> {
        let look = ("look", is_for_verify_alone.then(|| Tree::text("verify")));
        match self {
            Look::Providers(file) => given([("providers", file.show()), look]),
            Look::Kubeconfig { kubeconfig, context, plugin_environment } => given([
                ("kubeconfig", kubeconfig.show()),
                ("context", context.show()),
                ("pluginEnvironment", plugin_environment.show()),
                look,
            ]),
        }
    }
}
