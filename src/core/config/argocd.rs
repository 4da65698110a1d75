//! Delivery by Argo CD: what the emitted Applications and ApplicationSets say.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, NOT_READ, quoted};
use super::forms;
use super::output::Output;
use super::registry::OCI_SCHEME;
use super::repository::filled;
use super::setting::{Fault, Show, given, record, words};
use crate::name::{Directory, Name, Namespace};
use crate::yaml::emit::Tree;

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
    /// The way in which Secrets are decrypted.
    pub mode: ArgoMode,
    /// Name of the plugin, for [`ArgoMode::Plugin`].
    pub plugin: Option<Name>,
    /// The kind of object that is emitted.
    pub kind: ArgoKind,
    /// Set if the Argo CD knows `syncPolicy.retry.refresh`.
    pub refreshes: bool,
    /// Set if the Argo CD knows `provideClusterInfo` and `config` of an exec plugin.
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
    /// Its content.
    pub text: Arc<str>,
}

words!(ArgoMode { Plugin: "plugin", Ksops: "ksops" });
words!(ArgoKind { Application: "Application", ApplicationSet: "ApplicationSet" });

impl ArgoCd {
    /// A release that knows what this one knows; none of one of today.
    fn least_known(&self) -> Option<String> {
        let (major, minor) = match (self.refreshes, self.informs) {
            (_, true) => return None,
            (true, false) => REFRESHES,
            (false, false) => (3, 1),
        };
        Some(format!("{major}.{minor}"))
    }
}

impl Show for ArgoCd {
    fn show(&self) -> Option<Tree<'_>> {
        let cluster = |cluster: &'_ ArgoCluster| cluster.providers.as_ref().map(|file| Tree::text(file.path.clone()));
        Some(given([
            ("namespace", self.namespace.show()),
            ("project", self.project.show()),
            ("repoURL", self.repo_url.show()),
            ("targetRevision", self.target_revision.show()),
            ("destination", Some(given([(self.destination.field(), Some(Tree::text(self.destination.text())))]))),
            ("mode", self.mode.show()),
            ("kind", self.kind.show()),
            ("plugin", self.plugin.show()),
            ("version", self.least_known().map(Tree::text)),
            ("cluster", self.cluster.as_ref().map(|it| given([("providers", cluster(it))]))),
        ]))
    }
}

/// What the emitted Argo CD objects say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ArgoCdFile {
    /// Their namespace; by default `argocd`.
    #[schemars(extend("x-check" = "namespace"))]
    pub(super) namespace: Option<Namespace>,
    /// The AppProject; by default `default`.
    #[schemars(extend("x-check" = "object-name"))]
    pub(super) project: Option<Name>,
    /// The repository that holds the bundles, a URL without password; needed. `{region}` stands for the region's folder.
    #[serde(rename = "repoURL")]
    pub(super) repo_url: Option<String>,
    /// The revision to follow; by default the `base` of `output.git`, else its `branch`, else `HEAD`. `{region}` stands for
    /// the region's folder.
    pub(super) target_revision: Option<String>,
    /// The cluster that the bundle goes to.
    pub(super) destination: Option<DestinationFile>,
    /// How Secrets are decrypted; by default `plugin`.
    pub(super) mode: Option<ArgoMode>,
    /// The name of the config management plugin; by default Argo CD finds it by itself.
    #[schemars(extend("x-check" = "object-name"))]
    pub(super) plugin: Option<Name>,
    /// Which object is emitted; by default `Application`.
    pub(super) kind: Option<ArgoKind>,
    /// The Argo CD that reads the objects, such as `3.1`; by default one of today. What an older one does not know is left
    /// out: `retry.refresh` before 3.2. A cluster Secret that needs more than it knows is not written:
    /// `provideClusterInfo` before 3.5.
    #[schemars(extend("x-check" = "argocd-release"))]
    pub(super) version: Option<String>,
    /// The Secret that makes the region's cluster known to Argo CD, as its ClusterProfile describes it; by default somebody
    /// else writes that.
    pub(super) cluster: Option<ArgoClusterFile>,
}

/// The Secret that makes a region's cluster known to Argo CD. It holds no credential: a program gives it to Argo CD.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ArgoClusterFile {
    /// A provider file of cluster-inventory-api, relative to this file: which program gives Argo CD the credentials for
    /// clusters of which access provider. Without it, the access providers that Argo CD has built in are taken
    /// (`argo-cd-builtin-aws`, `argo-cd-builtin-azure`, `argo-cd-builtin-gcp`).
    pub(super) providers: Option<String>,
}

/// The cluster that a bundle goes to.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DestinationFile {
    /// The cluster's name in Argo CD; `{region}` stands for the region's folder, and is the default.
    pub(super) name: Option<String>,
    /// The URL of the cluster's API server, instead of a name.
    pub(super) server: Option<String>,
}

impl ArgoCdFile {
    /// Resolves the settings for the region with a folder.
    pub(super) fn resolve(self, directory: &str, whole: Whole<'_>, at: &FieldPath, faults: &mut Faults) -> ArgoCd {
        let repo_url = self.repo_url.map(|url| filled(&url, directory));
        match &repo_url {
            Some(url) => record(forms::url(url), &at.key("repoURL"), faults),
            None => {
                let help = "Add the URL by which Argo CD reads the repository of the bundles.";
                faults.add_at_key(
                    &at.key("repoURL"),
                    "the field is missing, and a region is delivered by Argo CD",
                    help,
                );
            }
        }
        let repo_url = repo_url.unwrap_or_default();
        let is_artifact = repo_url.starts_with(OCI_SCHEME);
        let wanted = self.target_revision;
        // What is followed is what was merged.
        let base = || match (&whole.output.oci, &whole.output.git) {
            (Some(oci), _) if is_artifact => &*oci.tag,
            (_, git) => git.as_ref().map_or("HEAD", |git| git.base()),
        };
        let target_revision = filled(wanted.as_deref().unwrap_or_else(base), directory);
        // Whoever pins an artifact names its digest.
        if wanted.is_some() && !(is_artifact && is_digest(&target_revision)) {
            record(forms::ref_name(&target_revision), &at.key("targetRevision"), faults);
        }
        let destination = self.destination.unwrap_or_default().resolve(directory, &at.key("destination"), faults);
        let mode = self.mode.unwrap_or_default();
        let plugin = self.plugin;
        if plugin.is_some() && mode == ArgoMode::Ksops {
            let message = "a plugin is named, but the mode is `ksops`, which uses none";
            faults.add(&at.key("plugin"), message, "Remove one of them.");
        }
        let version = self.version.and_then(|text| release(&text));
        let has = |since: (u16, u16)| version.is_none_or(|release| release >= since);
        let cluster = self.cluster.map(|typed| typed.resolve(whole, &at.key("cluster"), faults));
        if cluster.is_some() {
            named_by_its_secret(&destination, directory, &at.key("cluster"), faults);
        }
        ArgoCd {
            namespace: self.namespace.unwrap_or_else(|| "argocd".into()),
            project: self.project.unwrap_or_else(|| "default".into()),
            repo_url,
            target_revision,
            destination,
            mode,
            plugin,
            kind: self.kind.unwrap_or_default(),
            refreshes: has(REFRESHES),
            informs: has(INFORMS),
            cluster,
        }
    }
}

/// The parts of a configuration that every region's delivery depends on.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) output: &'a Output,
    /// The content of the files that it names.
    pub(super) texts: &'a BTreeMap<String, String>,
}

impl DestinationFile {
    fn resolve(self, directory: &str, at: &FieldPath, faults: &mut Faults) -> ArgoDestination {
        let name = match (self.name, self.server) {
            (None, Some(server)) => {
                if !is_server(&filled(&server, directory)) {
                    let message = format!("{} is no URL of an API server", quoted(&server));
                    let help = "Write it as Argo CD knows it, such as `https://eu-west.example.com:6443`; the only \
                                placeholder is `{region}`.";
                    match server.contains('@') {
                        true => faults.add_secret(&at.key("server"), "the URL has a user or password in it", help),
                        false => faults.add(&at.key("server"), message, help),
                    }
                }
                return ArgoDestination::Server(server);
            }
            (Some(_), Some(_)) => {
                let help = "Write its `name` in Argo CD or its `server`, not both.";
                faults.add(at, "a cluster is named twice", help);
                None
            }
            (name, None) => name,
        };
        let name = name.unwrap_or_else(|| String::from("{region}"));
        let filled = filled(&name, "x");
        if filled.contains(['{', '}']) || filled.chars().any(char::is_control) || filled.is_empty() {
            let message = format!("{} cannot name a cluster", quoted(&name));
            faults.add(&at.key("name"), message, "Write its name in Argo CD; the only placeholder is `{region}`.");
        }
        ArgoDestination::Name(name)
    }
}

impl ArgoClusterFile {
    fn resolve(self, whole: Whole<'_>, at: &FieldPath, faults: &mut Faults) -> ArgoCluster {
        let providers = self.providers.and_then(|file| {
            let at = at.key("providers");
            whole.output.not_among_bundles(&file, &at, faults);
            let Some(text) = whole.texts.get(&file) else {
                faults.add(&at, NOT_READ, "Check that it is there and can be read.");
                return None;
            };
            Some(TextFile { text: text.as_str().into(), path: file })
        });
        ArgoCluster { providers }
    }
}

/// Checks that the destination is a cluster that a Secret can make known: it has the name that the Secret gives it.
fn named_by_its_secret(destination: &ArgoDestination, directory: &str, at: &FieldPath, faults: &mut Faults) {
    match destination {
        ArgoDestination::Server(_) => {
            let message =
                "a cluster that `cluster` makes known goes by its name, and `destination.server` names it by a URL";
            let help = "Leave `server` out: the ClusterProfile says it. `destination.name`, by default the region's folder, is \
                        what Argo CD will call the cluster.";
            faults.add_at_key(at, message, help);
        }
        ArgoDestination::Name(name) if filled(name, directory) == "in-cluster" => {
            let message =
                "`destination.name` is in-cluster here, which Argo CD itself makes known: the cluster that it runs on";
            faults.add_at_key(at, message, "Leave `cluster` out for such a region, or give its cluster another name.");
        }
        ArgoDestination::Name(_) => {}
    }
}

/// Returns true for the URL of an API server: a scheme of HTTP, a host, and nothing that only a browser would send.
fn is_server(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = |rest: &str| rest.split('/').next().is_some_and(|host| !host.is_empty() && !host.starts_with(':'));
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || "@?#{}<>\"\\^`|".contains(c);
    rest.is_some_and(|rest| host(rest) && !rest.contains(is_odd))
}

/// Returns true if a text names an artifact by its content.
fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The first release of Argo CD whose Applications have `syncPolicy.retry.refresh`.
///
/// <https://argo-cd.readthedocs.io/en/stable/user-guide/auto_sync/>
const REFRESHES: (u16, u16) = (3, 2);

/// The first release of Argo CD whose `execProviderConfig` has `provideClusterInfo` and `config`.
///
/// <https://github.com/argoproj/argo-cd/blob/v3.5.7/pkg/apis/application/v1alpha1/types.go>
const INFORMS: (u16, u16) = (3, 5);

/// The first two numbers of a release.
fn release(text: &str) -> Option<(u16, u16)> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
    let release = (number(parts.next()?)?, number(parts.next()?)?);
    parts.all(|part| number(part).is_some()).then_some(release)
}

/// Finds out if a text is no release of Argo CD.
pub(super) fn release_fault(text: &str) -> Option<Fault> {
    let help = "Write the first two numbers of the release, such as `\"3.2\"`.";
    Fault::of(release(text).is_none(), || format!("{} is no release of Argo CD", quoted(text)), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_url_of_http() {
        for good in
            ["https://a", "https://a.example.com:6443", "http://127.0.0.1:8080/k8s/clusters/c-1", "https://[::1]:6443"]
        {
            assert!(is_server(good), "{good}");
        }
        let bad =
            ["", "x", ".", "../x", "/etc/x", "file:///x", "git@h:x", "oci://r/x", "ssh://x", "https://", "https://:1"];
        for bad in
            bad.iter().chain(&["https://a b", "https://{cluster}.x", "https://u:p@a", "https://a?x", "https://a\n"])
        {
            assert!(!is_server(bad), "{bad}");
        }
    }
}
