//! Kinds: the one table of the kinds that pouch knows.
//!
//! The identity kinds of providers are rows of [`capi`]; the others stand here, and this page answers for both. The
//! configuration may add kinds, and sources may say otherwise of scopes: [`Scopes`] is asked with what they say. What
//! nobody knows stays unknown; nothing is guessed from an object.

pub mod shape;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use crate::capi::resource_set::{ADDONS, is_resource_set};
use crate::capi::{self, cluster};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Scope};

/// The API group of k0rdent's kinds.
pub const K0RDENT: &str = "k0rdent.mirantis.com";

/// The API group of k0rdent's kinds before it was renamed; no release serves it any more.
pub const OLD_K0RDENT: &str = "hmc.mirantis.com";

/// The label that k0rdent puts on what it distributes: `"true"` means "mine to overwrite or delete".
pub const MANAGED_LABEL: &str = "k0rdent.mirantis.com/managed";

/// The label, with the value [`OF_KCM`], by which backups of a management cluster choose objects.
pub const COMPONENT_LABEL: &str = "k0rdent.mirantis.com/component";

/// The value of [`COMPONENT_LABEL`].
pub const OF_KCM: &str = "kcm";

/// The label that says who writes an object.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The value of [`MANAGED_BY_LABEL`] on what pouch publishes.
pub const MANAGED_BY: &str = "pouch";

/// The annotations that keep every consumer from deleting a Namespace.
pub const NEVER_DELETED: [(&str, &str); 2] = [
    ("argocd.argoproj.io/sync-options", "Prune=false,Delete=false"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
];

/// The label of a ProviderInterface that names its Cluster API provider, from k0rdent 1.11 on.
pub const PROVIDER_LABEL: &str = "cluster.x-k8s.io/provider";

/// The API group of ClusterProfiles and PlacementDecisions. Sveltos has a ClusterProfile in another group.
pub const MULTICLUSTER: &str = "multicluster.x-k8s.io";

/// The API group of KubeNSync.
pub const KUBENSYNC: &str = "automation.kubensync.com";

/// The API group of the cluster registry's kinds.
pub const REGISTRY: &str = "clusterregistry.k8s.cisco.com";

/// The group of pouch's own kinds.
pub const POUCH: &str = "pouch";

/// The label that all slices of one placement have.
pub const DECISION_KEY: &str = "multicluster.x-k8s.io/decision-key";

/// The label that numbers the slices of a placement, from 0 on.
pub const DECISION_INDEX: &str = "multicluster.x-k8s.io/decision-index";

/// The annotation that takes a cluster out of the registry's work, whatever its value.
pub const DISABLED: &str = "cluster-registry.k8s.cisco.com/cluster-disabled";

/// The kind that defines others.
pub const DEFINITION: &str = "CustomResourceDefinition";

/// The kind of the registry's rules by which objects are synchronised to other clusters.
pub const SYNC_RULE: &str = "ResourceSyncRule";
/// The kind of KubeNSync's templates.
const MANAGED_RESOURCE: &str = "ManagedResource";

/// The kind of what rules of the registry choose source clusters by.
pub const CLUSTER_FEATURE: &str = "ClusterFeature";

/// What is known of one kind.
#[derive(Debug)]
pub struct Known {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource, as API paths and RBAC rules name it.
    pub plural: &'static str,
    /// Whether its objects have a namespace.
    pub scope: Scope,
    /// How its objects are come by.
    pub listed: Listed,
    /// Whether a stage reads its objects.
    pub read: bool,
    /// Whether its objects may be published as what a claim needs (DESIGN §2.4).
    pub published: bool,
    /// Whether its objects make claims.
    pub claims: bool,
    /// The top-level fields that a stage reads.
    pub fields: &'static [&'static str],
    /// The labels that a stage reads, beside [`MANAGED_LABEL`].
    pub labels: &'static [&'static str],
    /// An annotation that a stage reads.
    pub annotation: Option<&'static str>,
}

/// How the objects of a kind are come by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listed {
    /// They are asked for one by one, by name.
    ByName,
    /// All of them are looked at as far as sources give them; a live cluster is not asked as a matter of course.
    AsGiven,
    /// All of them are looked at. Where a live cluster does not serve the kind, what they decide is unknown.
    IfServed,
    /// All of them are looked at. A live cluster that does not serve the kind cannot be read at all.
    Needed,
}

const CORE: Known = Known {
    group: "",
    kind: "",
    plural: "",
    scope: Scope::Namespaced,
    listed: Listed::ByName,
    read: true,
    published: true,
    claims: false,
    fields: SPEC,
    labels: &[],
    annotation: None,
};

const OF_K0RDENT: Known =
    Known { group: K0RDENT, scope: Scope::Cluster, listed: Listed::IfServed, published: false, ..CORE };

const OF_INVENTORY: Known = Known { listed: Listed::AsGiven, published: false, ..CORE };

const SPEC: &[&str] = &["spec"];
const SPEC_AND_STATUS: &[&str] = &["spec", "status"];

/// Every kind that no provider brings; live clusters are asked in this order.
static KNOWN: [Known; 19] = [
    // A Secret's values become its payload.
    Known { kind: "Secret", plural: "secrets", ..CORE },
    Known { kind: "ConfigMap", plural: "configmaps", fields: &["spec", "data", "binaryData"], ..CORE },
    // Of a Namespace only name and labels are read.
    Known {
        kind: "Namespace",
        plural: "namespaces",
        scope: Scope::Cluster,
        listed: Listed::AsGiven,
        published: false,
        fields: &[],
        ..CORE
    },
    // The snapshot learns from the documents, and makes no objects of them.
    Known {
        group: "apiextensions.k8s.io",
        kind: DEFINITION,
        plural: "customresourcedefinitions",
        scope: Scope::Cluster,
        listed: Listed::AsGiven,
        read: false,
        published: false,
        ..CORE
    },
    Known {
        kind: "ProviderInterface",
        plural: "providerinterfaces",
        listed: Listed::Needed,
        labels: &[PROVIDER_LABEL],
        ..OF_K0RDENT
    },
    Known { kind: "Region", plural: "regions", fields: SPEC_AND_STATUS, ..OF_K0RDENT },
    Known { kind: "AccessManagement", plural: "accessmanagements", ..OF_K0RDENT },
    Known { kind: "Management", plural: "managements", listed: Listed::AsGiven, read: false, ..OF_K0RDENT },
    Known { kind: "ClusterDeployment", plural: "clusterdeployments", scope: Scope::Namespaced, ..OF_K0RDENT },
    Known {
        kind: "Credential",
        plural: "credentials",
        scope: Scope::Namespaced,
        listed: Listed::Needed,
        claims: true,
        fields: SPEC_AND_STATUS,
        ..OF_K0RDENT
    },
    // What describes regions' clusters, where the configuration ties a region to it.
    Known {
        group: MULTICLUSTER,
        kind: "ClusterProfile",
        plural: "clusterprofiles",
        fields: SPEC_AND_STATUS,
        ..OF_INVENTORY
    },
    // Lists of ClusterProfiles, where the configuration names a placement.
    Known {
        group: MULTICLUSTER,
        kind: "PlacementDecision",
        plural: "placementdecisions",
        fields: &["decisions"],
        labels: &[DECISION_KEY, DECISION_INDEX],
        ..OF_INVENTORY
    },
    Known {
        group: REGISTRY,
        kind: "Cluster",
        plural: "clusters",
        scope: Scope::Cluster,
        fields: SPEC_AND_STATUS,
        annotation: Some(DISABLED),
        ..OF_INVENTORY
    },
    // Clusters without Credential, where a region of the configuration names some.
    Known {
        group: cluster::CLUSTERS,
        kind: "Cluster",
        plural: "clusters",
        listed: Listed::AsGiven,
        read: false,
        published: false,
        claims: true,
        ..CORE
    },
    // Templates of KubeNSync, where a region of the configuration names some.
    Known {
        group: KUBENSYNC,
        kind: MANAGED_RESOURCE,
        plural: "managedresources",
        scope: Scope::Cluster,
        listed: Listed::AsGiven,
        read: false,
        published: false,
        claims: true,
        ..CORE
    },
    // Rules of the cluster registry, and what they choose source clusters by, where a region of the configuration names some.
    Known {
        group: REGISTRY,
        kind: SYNC_RULE,
        plural: "resourcesyncrules",
        scope: Scope::Cluster,
        read: false,
        claims: true,
        ..OF_INVENTORY
    },
    Known {
        group: REGISTRY,
        kind: CLUSTER_FEATURE,
        plural: "clusterfeatures",
        scope: Scope::Cluster,
        read: false,
        ..OF_INVENTORY
    },
    // Sets of payloads for guest clusters, where a region of the configuration names some.
    Known {
        group: ADDONS,
        kind: "ClusterResourceSet",
        plural: "clusterresourcesets",
        listed: Listed::AsGiven,
        read: false,
        published: false,
        claims: true,
        ..CORE
    },
    // What a look into a region found; no API server has the kind.
    Known { group: POUCH, kind: "RegionFacts", plural: "regionfacts", scope: Scope::Cluster, ..OF_INVENTORY },
];

/// The fields of `spec` that some stage reads of a listed kind: what a live cluster says in another is never seen.
const LISTED_SPEC: [&str; 20] = [
    // ProviderInterface, and the older form of it.
    "clusterIdentities",
    "clusterIdentityKinds",
    // Region.
    "kubeConfig",
    "clusterDeployment",
    "providers",
    // AccessManagement.
    "accessRules",
    // ClusterDeployment.
    "credential",
    "propagateCredentials",
    // Credential.
    "identityRef",
    "region",
    // ClusterProfile.
    "clusterManager",
    "displayName",
    // Cluster of the cluster registry.
    "clusterID",
    "kubernetesApiEndpoints",
    // ResourceSyncRule, and ClusterFeature.
    "clusterFeatureMatch",
    "groupVersionKind",
    "rules",
    "featureName",
    // ManagedResource.
    "namespaceSelector",
    "avoidResourceUpdate",
];

/// Further kinds of k0rdent's groups, in any release: none of them says anything about credentials.
///
/// <https://github.com/k0rdent/kcm/tree/main/api>, <https://github.com/Mirantis/hmc/tree/main/api/v1alpha1>
const OTHERS_OF_K0RDENT: [&str; 23] = [
    "ClusterAuditPolicy",
    "ClusterAuthentication",
    "ClusterDataSource",
    "ClusterIPAM",
    "ClusterIPAMClaim",
    "ClusterTemplate",
    "ClusterTemplateChain",
    "DataSource",
    "ManagedCluster",
    "ManagementBackup",
    "MultiClusterService",
    "PluggableProvider",
    "ProviderTemplate",
    "RBACPolicy",
    "Release",
    "ServiceSet",
    "ServiceTemplate",
    "ServiceTemplateChain",
    "StateManagementProvider",
    "Template",
    "TemplateManagement",
    "UnmanagedCluster",
    "UnmanagedMachine",
];

/// The names of all kinds that some release of k0rdent has or had.
pub fn of_k0rdent() -> impl Iterator<Item = &'static str> {
    all().filter(|known| known.group == K0RDENT).map(|known| known.kind).chain(OTHERS_OF_K0RDENT)
}

/// Every kind that no provider brings, in the order in which live clusters are asked.
pub fn all() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter()
}

/// What is known of a kind that no provider brings.
pub fn known(kind: &GroupKind) -> Option<&'static Known> {
    all().find(|known| kind.kind == known.kind && kind.group == known.group)
}

/// The resource of a kind, as API paths and RBAC rules name it.
pub fn plural(kind: &GroupKind) -> Option<&'static str> {
    let of_provider = || capi::rules(kind).map(|rules| rules.plural);
    let of_cluster = || cluster::known(kind).map(|known| known.plural);
    let of_maker = || cluster::maker(kind).map(|maker| maker.plural);
    let of_machine =
        || cluster::of_machines(kind).filter(|(_, is_template)| !is_template).map(|(known, _)| known.plural);
    let found = known(kind).map(|known| known.plural).or_else(of_provider).or_else(of_cluster);
    found.or_else(of_maker).or_else(of_machine)
}

/// Whether every object of a kind is read, whoever asks for it; objects of other kinds are wanted by name. The kinds of
/// Clusters and ClusterResourceSets are so too where [a configuration](crate::config::Fleet::lists) takes some.
pub fn is_listed(kind: &GroupKind) -> bool {
    let is_known = || known(kind).is_some_and(|known| known.listed != Listed::ByName);
    kind.group == K0RDENT || (is_known() && !is_by_configuration(kind))
}

/// Whether objects of a kind are rules of the cluster registry, or say which clusters such rules take objects of: a stage
/// reads them where the configuration names rules.
pub fn is_of_sync_rules(kind: &GroupKind) -> bool {
    kind.group == REGISTRY && (kind.kind == SYNC_RULE || kind.kind == CLUSTER_FEATURE)
}

/// The kind of ResourceSyncRules.
pub fn sync_rule() -> GroupKind {
    GroupKind::new(REGISTRY, SYNC_RULE)
}

/// The kind of ClusterFeatures.
pub fn cluster_feature() -> GroupKind {
    GroupKind::new(REGISTRY, CLUSTER_FEATURE)
}

/// Whether objects of a kind are read only where the configuration names claimants that need them.
pub fn is_by_configuration(kind: &GroupKind) -> bool {
    let is_behind_clusters = is_of_clusters(kind) || is_of_machines(kind);
    is_behind_clusters || is_resource_set(kind) || is_of_sync_rules(kind) || is_managed_resource(kind)
}

/// The kind of KubeNSync's templates.
pub fn managed_resource() -> GroupKind {
    GroupKind::new(KUBENSYNC, MANAGED_RESOURCE)
}

/// Whether this is the kind of KubeNSync's templates, which a stage reads where the configuration names some.
pub fn is_managed_resource(kind: &GroupKind) -> bool {
    kind.is(KUBENSYNC, MANAGED_RESOURCE)
}

/// Whether objects of a kind say which identity a Cluster uses: a stage reads them where the configuration names Clusters.
pub fn is_of_clusters(kind: &GroupKind) -> bool {
    if kind.group == cluster::CLUSTERS {
        return cluster::is_cluster(kind) || *kind == cluster::class_kind();
    }
    cluster::known(kind).is_some() || cluster::of_template(kind).is_some()
}

/// Returns true if objects of a kind say which identities the machines of Clusters name.
pub fn is_of_machines(kind: &GroupKind) -> bool {
    cluster::is_of_machines(kind)
}

/// Returns true if objects of a kind are failure domains, which Clusters select by their labels.
pub fn is_failure_domain(kind: &GroupKind) -> bool {
    cluster::of_machines(kind).is_some_and(|(known, _)| cluster::is_domain(known))
}

/// Whether some stage reads objects of a kind, whatever the configuration adds.
pub fn is_read(kind: &GroupKind) -> bool {
    known(kind).is_some_and(|known| known.read) || capi::rules(kind).is_some()
}

/// Whether objects of a kind may be published at all, whatever the configuration adds: a closed list (DESIGN §2.4).
pub fn is_published(kind: &GroupKind) -> bool {
    known(kind).is_some_and(|known| known.published) || capi::rules(kind).is_some()
}

/// The kinds that may be published, whatever the configuration adds.
pub fn published() -> impl Iterator<Item = GroupKind> {
    let core = all().filter(|known| known.published).map(|known| GroupKind::new(known.group, known.kind));
    core.chain(capi::all().map(|rules| rules.group_kind()))
}

/// The kinds whose objects make claims.
pub fn claimants() -> impl Iterator<Item = GroupKind> {
    all().filter(|known| known.claims).map(|known| GroupKind::new(known.group, known.kind))
}

/// The object that a claimant is, of a rule and an object the rule; none of a group of guests, and where this release does
/// not know its kind.
pub fn claimant(by: &Claimant) -> Option<ObjectKey> {
    let of = |group: &str, namespace: Option<&Namespace>, name: &Name| {
        Some(ObjectKey::new(GroupKind::new(group, by.kind()), namespace.cloned(), name.clone()))
    };
    match by {
        Claimant::Credential { namespace, name } => of(K0RDENT, Some(namespace), name),
        Claimant::Cluster { namespace, name } => of(cluster::CLUSTERS, Some(namespace), name),
        Claimant::ResourceSet { namespace, name } => of(ADDONS, Some(namespace), name),
        // A template stands for itself in each namespace.
        Claimant::Template { template, .. } => of(KUBENSYNC, None, template),
        Claimant::SyncRule { rule, .. } => of(REGISTRY, None, rule),
        Claimant::Guests { .. } | Claimant::Other { .. } => None,
    }
}

/// The top-level fields that some stage reads of objects of a kind.
pub fn fields(kind: &GroupKind) -> &'static [&'static str] {
    known(kind).map_or(SPEC, |known| known.fields)
}

/// Whether some stage reads a field of `spec` of objects that are listed from a live cluster.
pub fn is_read_of_spec(field: &str) -> bool {
    LISTED_SPEC.contains(&field) || cluster::is_read_of_spec(field)
}

/// Whether Kubernetes itself owns a group: the core group, groups without a dot and `*.k8s.io`.
///
/// A Role that a ProviderInterface points at would be a way to rights on the region. Cluster API's own groups end in
/// `x-k8s.io`.
pub fn is_kubernetes_own(group: &str) -> bool {
    !group.contains('.') || group == "k8s.io" || group.ends_with(".k8s.io")
}

/// Whether a kind defines others.
pub fn is_definition(kind: &GroupKind) -> bool {
    kind.is("apiextensions.k8s.io", DEFINITION)
}

/// What sources say of kinds, beyond the table.
#[derive(Default)]
pub struct Scopes {
    learnt: BTreeMap<GroupKind, Scope>,
    /// Fields of `spec` that definitions of k0rdent's kinds have.
    fields: BTreeMap<GroupKind, BTreeSet<Box<str>>>,
    /// The versions that they have.
    versions: BTreeMap<GroupKind, BTreeSet<Box<str>>>,
}

impl Scopes {
    /// Makes one that knows the table only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns the scope of a kind; what is learnt wins over the table, but for the core group: no definition may have it.
    pub fn learn(&mut self, kind: GroupKind, scope: Scope) {
        if kind.group != "" {
            self.learnt.insert(kind, scope);
        }
    }

    /// Learns that objects of a kind may have a field of `spec`.
    pub fn learn_field(&mut self, kind: &GroupKind, field: &str) {
        self.fields.entry(kind.clone()).or_default().insert(field.into());
    }

    /// Learns that objects of a kind may be written in a version.
    pub fn learn_version(&mut self, kind: &GroupKind, version: &str) {
        self.versions.entry(kind.clone()).or_default().insert(version.into());
    }

    /// Returns true if a definition in the sources has a version.
    pub fn has_version(&self, kind: &GroupKind, version: &str) -> bool {
        self.versions.get(kind).is_some_and(|versions| versions.contains(version))
    }

    /// Returns true if a definition in the sources has a field of `spec`.
    pub fn has_field(&self, kind: &GroupKind, field: &str) -> bool {
        self.fields.get(kind).is_some_and(|fields| fields.contains(field))
    }

    /// The scope of `kind`, if known.
    pub fn of(&self, kind: &GroupKind) -> Option<Scope> {
        let learnt = self.learnt.get(kind).copied();
        let known = || known(kind).map(|known| known.scope);
        let of_provider = || capi::rules(kind).map(|rules| rules.scope);
        let of_clusters = || match is_failure_domain(kind) {
            true => Some(Scope::Cluster),
            false => (is_of_clusters(kind) || is_of_machines(kind)).then_some(Scope::Namespaced),
        };
        // Releases of k0rdent bring kinds that no table has; all of those were cluster-scoped.
        let found = learnt.or_else(known).or_else(of_provider).or_else(of_clusters);
        found.or_else(|| (kind.group == K0RDENT).then_some(Scope::Cluster))
    }
}
