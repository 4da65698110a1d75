//! Delivery by Flux: what the emitted Kustomizations say.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, quoted};
use super::forms::object_name;
use super::repository::filled;
use super::setting::{Show, given, record, shown};
use crate::name::{FleetName, Name, Namespace, is_dns_label, is_dns_subdomain};
use crate::yaml::emit::Tree;

/// The kind of Flux's sources that are OCI artifacts.
pub const OCI_REPOSITORY: &str = "OCIRepository";

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
    /// The time until Flux tries again after a failure, a Go duration.
    pub retry_interval: String,
    /// The longest that one try may take, a Go duration.
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

impl Show for Flux {
    fn show(&self) -> Option<Tree<'_>> {
        let source = given([("kind", self.source_kind.show()), ("name", self.source_name.show())]);
        Some(given([
            ("namespace", self.namespace.show()),
            ("sourceRef", Some(source)),
            ("decryption", Some(given([("secretRef", self.decryption_secret.show())]))),
            ("interval", self.interval.show()),
            ("retryInterval", self.retry_interval.show()),
            ("wait", self.wait.show()),
            (
                "kubeConfig",
                self.kube_config.as_ref().map(|(name, key)| given([("secretRef", name.show()), ("key", key.show())])),
            ),
            ("serviceAccountName", self.service_account.show()),
            ("timeout", self.timeout.show()),
            ("healthChecks", self.health_checks.show().filter(|_| !self.health_checks.is_empty())),
        ]))
    }
}

/// What the emitted Flux Kustomizations say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FluxFile {
    /// Their namespace, which is also that of the source and of the decryption Secret; by default
    /// `flux-system`.
    #[schemars(extend("x-check" = "namespace"))]
    pub(super) namespace: Option<Namespace>,
    /// The Flux source that holds the bundles; by default the GitRepository with the fleet's name.
    pub(super) source_ref: Option<SourceRefFile>,
    /// How Flux opens the Secrets.
    pub(super) decryption: Option<DecryptionRefFile>,
    /// How often Flux reconciles, a Go duration; by default `10m`.
    #[schemars(extend("x-check" = "go-duration"))]
    pub(super) interval: Option<String>,
    /// How soon Flux tries again what failed, a Go duration; by default `1m`.
    #[schemars(extend("x-check" = "go-duration"))]
    pub(super) retry_interval: Option<String>,
    /// How long one try may take, a Go duration; by default what Flux says, the interval less 30 s.
    #[schemars(extend("x-check" = "go-duration"))]
    pub(super) timeout: Option<String>,
    /// Whether a Kustomization is ready only when all that it applied is, for whoever depends on it or watches it.
    pub(super) wait: Option<bool>,
    /// Objects of the region, such as a provider's Deployment, without which no Kustomization of identities is ready; not
    /// with `wait`, where Flux does not look at them.
    pub(super) health_checks: Option<Vec<HealthCheck>>,
    /// The ServiceAccount whose rights Flux applies with; by default Flux's own.
    #[schemars(extend("x-check" = "object-name"))]
    pub(super) service_account_name: Option<Name>,
    /// Where Flux runs on another cluster than the region: how it reaches the region.
    pub(super) kube_config: Option<KubeConfigFile>,
}

/// An object that Flux looks at after it applied others.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "HealthCheckFile")]
pub struct HealthCheck {
    /// Its group and version, such as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    #[schemars(extend("x-check" = "object-name"))]
    pub name: Name,
    /// Its namespace; left out for an object of the cluster.
    #[schemars(extend("x-check" = "namespace"))]
    pub namespace: Option<Namespace>,
}

shown!(HealthCheck { "apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace });

impl HealthCheck {
    /// The map that names it, to Flux as in the configuration.
    pub fn tree(&self) -> Tree<'_> {
        super::setting::tree(self)
    }

    fn check(&self, at: &FieldPath, faults: &mut Faults) {
        let Self { api_version, kind, .. } = self;
        let (group, version) = api_version.rsplit_once('/').map_or((None, &**api_version), |(g, v)| (Some(g), v));
        if !is_dns_label(version) || !group.is_none_or(is_dns_subdomain) {
            let help = "Write group and version as manifests have them, such as `apps/v1`.";
            faults.add(&at.key("apiVersion"), format!("{} is no apiVersion", quoted(api_version)), help);
        }
        if kind.is_empty() || !kind.bytes().all(|b| b.is_ascii_alphanumeric()) {
            let help = "Write the kind as manifests have it, such as `Deployment`.";
            faults.add(&at.key("kind"), format!("{} is no kind", quoted(kind)), help);
        }
    }
}

/// How Flux reaches a region from another cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KubeConfigFile {
    /// The Secret with the kubeconfig, in the namespace of the Kustomizations; `{region}` stands for the region's folder.
    pub(super) secret_ref: String,
    /// The entry of the Secret; by default what Flux looks for, `value` or `value.yaml`.
    #[schemars(extend("x-check" = "secret-entry"))]
    pub(super) key: Option<String>,
}

/// A Flux source.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SourceRefFile {
    /// Its kind.
    #[serde(default)]
    pub(super) kind: SourceKindWord,
    /// Its name, by default the fleet's; `{region}` stands for the region's folder.
    pub(super) name: Option<String>,
}

/// The kind of a Flux source.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub(super) enum SourceKindWord {
    /// A git repository.
    #[default]
    GitRepository,
    /// An OCI artifact.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// An object store.
    Bucket,
}

/// How Flux opens the Secrets.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DecryptionRefFile {
    /// The Secret with the region's age identity; by default `sops-age`. `{region}` stands for the region's folder.
    pub(super) secret_ref: String,
}

impl SourceKindWord {
    /// The kind, as Flux writes it.
    fn word(self) -> &'static str {
        match self {
            SourceKindWord::GitRepository => "GitRepository",
            SourceKindWord::OciRepository => OCI_REPOSITORY,
            SourceKindWord::Bucket => "Bucket",
        }
    }
}

impl FluxFile {
    /// Refuses an empty setting of a region without which its objects would go to another cluster, or with more rights: a
    /// key whose lines below were commented out is empty as well, and wins over the shared setting.
    pub(super) fn check_kept(&self, shared: &Self, path: &FieldPath, faults: &mut Faults) {
        let kept = [
            ("serviceAccountName", self.service_account_name.is_none() && shared.service_account_name.is_some()),
            ("kubeConfig", self.kube_config.is_none() && shared.kube_config.is_some()),
        ];
        for (key, _) in kept.into_iter().filter(|(_, is_emptied)| *is_emptied) {
            let message = format!("is empty, where `regionDefaults` has a {key}");
            let help = "Leave the key out to keep the shared one. For a region without one, move it from `regionDefaults` to the \
                        regions that want it.";
            faults.add(&path.key(key), message, help);
        }
    }

    /// Resolves the settings for the region with a folder.
    pub(super) fn resolve(self, fleet: &FleetName, directory: &str, at: &FieldPath, faults: &mut Faults) -> Flux {
        let mut named = |text: &str, at: FieldPath| {
            let name = filled(text, directory);
            record(object_name(&name), &at, faults);
            Name::from(&*name)
        };
        let source = self.source_ref.unwrap_or_default();
        let source_name = source.name.as_deref().unwrap_or(fleet.as_str());
        let source_name = named(source_name, at.key("sourceRef").key("name"));
        let secret = self.decryption.map(|decryption| decryption.secret_ref);
        let decryption_secret = named(secret.as_deref().unwrap_or("sops-age"), at.key("decryption").key("secretRef"));
        let kube_config = self.kube_config;
        let kube_config =
            kube_config.map(|from| (named(&from.secret_ref, at.key("kubeConfig").key("secretRef")), from.key));
        let wait = self.wait.unwrap_or_default();
        let health_checks = self.health_checks.unwrap_or_default();
        let path = at.key("healthChecks");
        if wait && !health_checks.is_empty() {
            let help = "Leave one of them out: with `wait`, Flux looks at all that it applied, and at nothing else.";
            faults.add(&path, "Flux looks at no health checks where `wait` is true", help);
        }
        for (index, check) in health_checks.iter().enumerate() {
            check.check(&path.index(index), faults);
        }
        Flux {
            namespace: self.namespace.unwrap_or_else(|| "flux-system".into()),
            source_kind: source.kind.word().into(),
            source_name,
            decryption_secret,
            interval: self.interval.unwrap_or_else(|| "10m".into()),
            retry_interval: self.retry_interval.unwrap_or_else(|| "1m".into()),
            timeout: self.timeout,
            wait,
            health_checks,
            service_account: self.service_account_name,
            kube_config,
        }
    }
}
