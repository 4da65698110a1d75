//! Delivery: how a region's bundle reaches the region, and what the emitted objects say.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::name::{Directory, Name, Namespace};
use crate::yaml::emit::Tree;

/// The kind of Flux's sources that are OCI artifacts.
pub const OCI_REPOSITORY: &str = "OCIRepository";

/// How Argo CD's URLs of OCI artifacts start.
pub const OCI_SCHEME: &str = "oci://";

/// How a region's bundle reaches the region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// None: pouch emits no delivery objects.
    None,
    /// By Flux's kustomize-controller.
    Flux(Flux),
    /// By Argo CD.
    ArgoCd(ArgoCd),
}

impl Delivery {
    /// Who applies the bundle, for people.
    pub fn consumer(&self) -> &'static str {
        match self {
            Delivery::None => "a consumer",
            Delivery::Flux(_) => "Flux",
            Delivery::ArgoCd(argo) if argo.mode == ArgoMode::Ksops => "Argo CD with KSOPS",
            Delivery::ArgoCd(_) => "Argo CD",
        }
    }

    /// Whether a bundle is applied leaf by leaf. Argo CD renders a region as a whole: several Applications would prune
    /// what they hand over to each other.
    pub fn is_by_leaf(&self) -> bool {
        !matches!(self, Delivery::ArgoCd(_))
    }

    /// Whether the consumer reads OCI artifacts from a registry, and not a repository of git.
    pub fn takes_artifacts(&self) -> bool {
        match self {
            Delivery::None => false,
            Delivery::Flux(flux) => flux.source_kind == OCI_REPOSITORY,
            Delivery::ArgoCd(argo) => argo.repo_url.starts_with(OCI_SCHEME),
        }
    }

    /// The most objects of a region that its consumer was seen to apply.
    ///
    /// Measured on two cores: Flux applies 6,000 objects in a minute and a half. Argo CD 3.2 needs two minutes for 2,000
    /// and more than seven for 6,000, if it comes to the end at all; KSOPS opens 1,000 Secrets in 6 s and 3,000 in 95 s,
    /// where Argo CD ends it after 90 s.
    pub fn most_objects(&self) -> usize {
        match self {
            Delivery::None | Delivery::Flux(_) => 5000,
            Delivery::ArgoCd(argo) => match argo.mode {
                ArgoMode::Plugin => 3000,
                ArgoMode::Ksops => 2000,
            },
        }
    }
}

/// The settings of the emitted Flux Kustomizations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flux {
    /// Their namespace; also that of the source and of the decryption Secret.
    pub namespace: Namespace,
    /// Kind of the source: `GitRepository`, `OCIRepository` or `Bucket`.
    pub source_kind: String,
    /// Name of the source.
    pub source_name: Name,
    /// Name of the Secret with the region's age identity.
    pub decryption_secret: Name,
    /// Reconcile interval, a Go duration such as `10m`.
    pub interval: String,
    /// How soon Flux tries again what failed, a Go duration.
    pub retry_interval: String,
    /// How long one try may take, a Go duration.
    pub timeout: Option<String>,
    /// Whether a Kustomization is ready only when all that it applied is.
    pub wait: bool,
    /// Objects of the region without which no Kustomization of identities is ready.
    pub health_checks: Vec<HealthCheck>,
    /// The ServiceAccount whose rights Flux applies with.
    pub service_account: Option<Name>,
    /// The Secret with the kubeconfig of the region, where Flux runs elsewhere, and the entry in it.
    pub kube_config: Option<(Name, Option<String>)>,
}

/// An object that Flux looks at after it applied others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HealthCheck {
    /// Its group and version, such as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: Name,
    /// Its namespace; none for an object of the cluster.
    pub namespace: Option<Namespace>,
}

impl HealthCheck {
    /// The map that names it, to Flux as in the configuration.
    pub fn tree(&self) -> Tree<'_> {
        let namespace = self.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
        let fields = [("apiVersion", &*self.api_version), ("kind", &*self.kind), ("name", self.name.as_str())];
        Tree::map(fields.map(|(key, text)| (key, Tree::text(text))).into_iter().chain(namespace))
    }
}

/// How Argo CD decrypts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ArgoModeWord")]
pub enum ArgoMode {
    /// A config management plugin decrypts in place and runs kustomize.
    #[default]
    Plugin,
    /// KSOPS runs as a kustomize generator.
    Ksops,
}

/// Which Argo CD object is emitted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "ArgoKindWord")]
pub enum ArgoKind {
    /// One Application per region.
    #[default]
    Application,
    /// One ApplicationSet for the fleet.
    ApplicationSet,
}

/// The cluster that an Application goes to; `{region}` stands for the region's folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgoDestination {
    /// By its name in Argo CD.
    Name(String),
    /// By the URL of its API server.
    Server(String),
}

impl ArgoDestination {
    /// The field of an Application that names it so.
    pub fn field(&self) -> &'static str {
        match self {
            ArgoDestination::Name(_) => "name",
            ArgoDestination::Server(_) => "server",
        }
    }

    /// The name or the URL of the cluster of the region with this folder.
    pub fn filled(&self, directory: &Directory) -> String {
        self.text().replace("{region}", directory.as_str())
    }

    /// The name or the URL.
    pub fn text(&self) -> &str {
        match self {
            ArgoDestination::Name(text) | ArgoDestination::Server(text) => text,
        }
    }
}

/// The settings of the emitted Argo CD objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgoCd {
    /// Their namespace.
    pub namespace: Namespace,
    /// The AppProject.
    pub project: Name,
    /// The repository that holds the bundles.
    pub repo_url: String,
    /// The revision that is followed.
    pub target_revision: String,
    /// The destination cluster.
    pub destination: ArgoDestination,
    /// How Secrets are decrypted.
    pub mode: ArgoMode,
    /// Name of the plugin, for [`ArgoMode::Plugin`].
    pub plugin: Option<Name>,
    /// Which object is emitted.
    pub kind: ArgoKind,
    /// Whether the Argo CD knows `syncPolicy.retry.refresh`.
    pub refreshes: bool,
    /// Whether the Argo CD knows `provideClusterInfo` and `config` of an exec plugin.
    pub informs: bool,
    /// The Secret that makes the cluster known to Argo CD; none where somebody else writes it.
    pub cluster: Option<ArgoCluster>,
}

/// The Secret that makes a region's cluster known to Argo CD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgoCluster {
    /// The provider file; none where only providers are used that Argo CD has built in.
    pub providers: Option<TextFile>,
}

/// A file that is part of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextFile {
    /// Its path, relative to the configuration.
    pub path: String,
    /// What stands in it.
    pub text: Arc<str>,
}

impl Delivery {
    /// As the configuration has it.
    pub(super) fn tree(&self) -> Tree<'_> {
        match self {
            Delivery::None => Tree::text("none"),
            Delivery::Flux(fields) => Tree::map([("flux", fields.tree())]),
            Delivery::ArgoCd(fields) => Tree::map([("argocd", fields.tree())]),
        }
    }
}

impl Flux {
    fn tree(&self) -> Tree<'_> {
        let source = [("kind", Tree::text(self.source_kind.as_str())), ("name", Tree::text(self.source_name.as_str()))];
        let fields = [
            ("namespace", Tree::text(self.namespace.as_str())),
            ("sourceRef", Tree::map(source)),
            ("decryption", Tree::map([("secretRef", Tree::text(self.decryption_secret.as_str()))])),
            ("interval", Tree::text(self.interval.as_str())),
            ("retryInterval", Tree::text(self.retry_interval.as_str())),
            ("wait", Tree::Bool(self.wait)),
        ];
        let kube_config = self.kube_config.as_ref().map(|(name, key)| {
            let key = key.as_ref().map(|key| ("key", Tree::text(key.as_str())));
            ("kubeConfig", Tree::map([("secretRef", Tree::text(name.as_str()))].into_iter().chain(key)))
        });
        let account = self.service_account.as_ref().map(|name| ("serviceAccountName", Tree::text(name.as_str())));
        let timeout = self.timeout.as_ref().map(|timeout| ("timeout", Tree::text(timeout.as_str())));
        let checks: Vec<Tree<'_>> = self.health_checks.iter().map(HealthCheck::tree).collect();
        let checks = (!checks.is_empty()).then_some(("healthChecks", Tree::List(checks)));
        Tree::map(fields.into_iter().chain(kube_config).chain(account).chain(timeout).chain(checks))
    }
}

impl ArgoCd {
    fn tree(&self) -> Tree<'_> {
        let mode = match self.mode {
            ArgoMode::Plugin => "plugin",
            ArgoMode::Ksops => "ksops",
        };
        let kind = match self.kind {
            ArgoKind::Application => "Application",
            ArgoKind::ApplicationSet => "ApplicationSet",
        };
        let mut fields = vec![
            ("namespace", Tree::text(self.namespace.as_str())),
            ("project", Tree::text(self.project.as_str())),
            ("repoURL", Tree::text(self.repo_url.as_str())),
            ("targetRevision", Tree::text(self.target_revision.as_str())),
            ("destination", Tree::map([(self.destination.field(), Tree::text(self.destination.text()))])),
            ("mode", Tree::text(mode)),
            ("kind", Tree::text(kind)),
        ];
        fields.extend(self.plugin.as_ref().map(|plugin| ("plugin", Tree::text(plugin.as_str()))));
        fields.extend(self.cluster.as_ref().map(|cluster| {
            let providers = cluster.providers.as_ref().map(|file| ("providers", Tree::text(file.path.as_str())));
            ("cluster", Tree::map(providers))
        }));
        Tree::map(fields)
    }
}
