//! Delivery: the settings of the emitted Flux and Argo CD objects; a region's settings override the fleet's.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, NOT_READ, quoted};
use super::super::file::{
    ArgoCdFile, ArgoClusterFile, DeliveryWord, FleetFile, FluxFile, Given, HealthCheckFile, RegionDeliveryFile,
    SourceKindWord,
};
use super::super::repository::filled;
use super::super::{
    ArgoCd, ArgoCluster, ArgoDestination, ArgoKind, ArgoMode, Delivery, Flux, HealthCheck, OCI_REPOSITORY, OCI_SCHEME,
    Output, RegionConfig, RegionState, TextFile,
};
use super::name::{namespace, object_name};
use crate::name::{Name, Namespace, Region, is_dns_label, is_dns_subdomain};

/// What of a configuration decides about every region's delivery.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) file: &'a FleetFile,
    /// The content of the files that it names.
    pub(super) texts: &'a BTreeMap<String, String>,
    pub(super) output: &'a Output,
}

/// Resolves one region's delivery; `directory` is the region's folder, `path` the path of the region's own `delivery`.
pub(super) fn resolve(
    whole: Whole<'_>,
    (directory, typed): (&str, &RegionDeliveryFile),
    path: &FieldPath,
    faults: &mut Faults,
) -> Delivery {
    let file = whole.file;
    match typed {
        RegionDeliveryFile::Word(DeliveryWord::None) => Delivery::None,
        RegionDeliveryFile::Word(DeliveryWord::Flux) => Delivery::Flux(flux(file, directory, None, path, faults)),
        RegionDeliveryFile::Word(DeliveryWord::Argocd) => {
            Delivery::ArgoCd(argocd(whole, directory, None, path, faults))
        }
        RegionDeliveryFile::Map(map) => match (&map.flux, &map.argocd) {
            (Some(over), None) => Delivery::Flux(flux(file, directory, Some(over), path, faults)),
            (None, Some(over)) => Delivery::ArgoCd(argocd(whole, directory, Some(over), path, faults)),
            _ => {
                let help = "Write `flux`, `argocd`, `none`, or a map with `flux` or `argocd` in it.";
                faults.add(path, "a region has exactly one way of delivery", help);
                Delivery::None
            }
        },
    }
}

/// Checks what the fleet's `delivery` says although no region uses it yet.
pub(super) fn check_unused(whole: Whole<'_>, regions: &BTreeMap<Region, RegionConfig>, faults: &mut Faults) {
    let file = whole.file;
    let path = FieldPath::root().key("delivery");
    if file.delivery.flux.is_some() && !regions.values().any(|region| matches!(region.delivery, Delivery::Flux(_))) {
        flux(file, "region", None, &path, faults);
    }
    if file.delivery.argocd.is_some() && !regions.values().any(|region| matches!(region.delivery, Delivery::ArgoCd(_)))
    {
        argocd(whole, "region", None, &path, faults);
    }
}

/// Checks that no two regions are brought to one cluster, as far as that can be seen: each consumer would take away what
/// the other applies, and what one region may hold would be in the other's reach.
pub(super) fn check_apart(regions: &BTreeMap<Region, RegionConfig>, faults: &mut Faults) {
    let root = FieldPath::root().key("regions");
    let mut clusters: BTreeMap<Cluster<'_>, &Region> = BTreeMap::new();
    let mut keys: BTreeMap<(&Namespace, &Name), &Region> = BTreeMap::new();
    let in_use = || regions.iter().filter(|(_, region)| region.state != RegionState::Retired);
    for (name, region) in in_use() {
        if let Delivery::Flux(flux) = &region.delivery {
            keys.insert((&flux.namespace, &flux.decryption_secret), name);
        }
        let Some((cluster, [consumer, field])) = cluster(region) else { continue };
        let text = cluster.1.clone();
        if let Some(other) = clusters.insert(cluster, name) {
            let message = format!("the region {:?} goes to the same cluster: {text}", other.as_str());
            let help =
                "Name each region's own cluster: on one cluster, two bundles would take each other's objects away.";
            faults.add(&root.key(name.as_str()).key("delivery").key(consumer).key(field), message, help);
        }
    }
    for (name, region) in in_use() {
        let Delivery::Flux(Flux { namespace, kube_config: Some((secret, _)), .. }) = &region.delivery else { continue };
        if let Some(other) = keys.get(&(namespace, secret)) {
            let message =
                format!("{secret} is also the Secret with the age identity of the region {:?}", other.as_str());
            let help = "Give the kubeconfig a Secret of its own.";
            faults.add(&root.key(name.as_str()).key("delivery").key("flux").key("kubeConfig"), message, help);
        }
    }
}

/// A consumer's namespace, and what it calls a cluster.
type Cluster<'a> = (&'a Namespace, String);

/// The cluster that a region goes to, as its consumer names it, and the field that says so; None where each region may
/// have a consumer of its own that means its own cluster by that.
fn cluster(region: &RegionConfig) -> Option<(Cluster<'_>, [&'static str; 2])> {
    match &region.delivery {
        Delivery::None => None,
        Delivery::Flux(flux) => {
            let (secret, key) = flux.kube_config.as_ref()?;
            let text = key.as_ref().map_or_else(|| secret.to_string(), |key| format!("{secret}, entry {key}"));
            Some(((&flux.namespace, format!("Flux's Secret {text}")), ["flux", "kubeConfig"]))
        }
        Delivery::ArgoCd(argo) => {
            let named = filled(argo.destination.text(), region.directory.as_str());
            let is_own = ["in-cluster", "https://kubernetes.default.svc"].contains(&named.trim_end_matches('/'));
            (!is_own || argo.kind == ArgoKind::ApplicationSet)
                .then(|| ((&argo.namespace, format!("Argo CD's {named}")), ["argocd", "destination"]))
        }
    }
}

/// A field of the region's map, else of the fleet's, with its path; none where the region's is `null`.
fn pick<'a, F, T>(
    over: (Option<&'a F>, &FieldPath),
    fleet: (Option<&'a F>, &FieldPath),
    key: &str,
    field: impl Fn(&'a F) -> &'a Given<T>,
) -> (Option<&'a T>, FieldPath) {
    if let Some(value) = over.0.and_then(|map| field(map).as_ref()) {
        return (value.as_ref(), over.1.key(key));
    }
    // A field that is nowhere is reported at the fleet's map if there is one, else at the region's.
    let at = if fleet.0.is_some() { fleet.1 } else { over.1 };
    (fleet.0.and_then(|map| field(map).as_ref()?.as_ref()), at.key(key))
}

/// Whether a setting has a value, or is `null`; nothing where it is left out.
fn is_given<T>(setting: &Given<T>) -> Option<bool> {
    setting.as_ref().map(Option::is_some)
}

/// Refuses an empty setting of a region without which its objects would go to another cluster, or with more rights: a key
/// whose lines below were commented out is `null` as well.
fn kept(
    over: (Option<&FluxFile>, &FieldPath),
    fleet: (Option<&FluxFile>, &FieldPath),
    (key, given): (&str, fn(&FluxFile) -> Option<bool>),
    faults: &mut Faults,
) {
    if over.0.and_then(given) == Some(false) && fleet.0.and_then(given) == Some(true) {
        let message = format!("is empty, where the fleet's delivery has a {key}");
        let help = "Leave the key out to keep the fleet's. For a region without one, move it from the fleet's delivery to \
                    the regions that want it.";
        faults.add(&over.1.key(key), message, help);
    }
}

fn flux(file: &FleetFile, directory: &str, over: Option<&FluxFile>, path: &FieldPath, faults: &mut Faults) -> Flux {
    let over = (over, &path.key("flux"));
    let fleet = (file.delivery.flux.as_ref(), &FieldPath::root().key("delivery").key("flux"));
    let (value, at) = pick(over, fleet, "namespace", |f| &f.namespace);
    let namespace = place(value.map_or("flux-system", String::as_str), file, &at, faults);

    let (source, at) = pick(over, fleet, "sourceRef", |f| &f.source_ref);
    let (source_kind, source_name) = match source {
        Some(source) => {
            let kind = match source.kind {
                SourceKindWord::GitRepository => "GitRepository",
                SourceKindWord::OciRepository => OCI_REPOSITORY,
                SourceKindWord::Bucket => "Bucket",
            };
            (kind, object_name(&filled(&source.name, directory), &at.key("name"), faults))
        }
        None => {
            let help = "Add the Flux source that holds the bundles: `sourceRef: {kind: GitRepository, name: NAME}`.";
            faults.add_at_key(&at, "the field is missing, and a region is delivered by Flux", help);
            ("GitRepository", "".into())
        }
    };

    let (decryption, at) = pick(over, fleet, "decryption", |f| &f.decryption);
    let secret = decryption.map_or("sops-age", |decryption| decryption.secret_ref.as_str());
    let decryption_secret = object_name(&filled(secret, directory), &at.key("secretRef"), faults);

    let (interval, at) = pick(over, fleet, "interval", |f| &f.interval);
    let interval = duration(interval.map_or("10m", String::as_str), &at, faults);
    let (timeout, at) = pick(over, fleet, "timeout", |f| &f.timeout);
    let timeout = timeout.map(|text| duration(text, &at, faults));
    let (retry, at) = pick(over, fleet, "retryInterval", |f| &f.retry_interval);
    let retry_interval = duration(retry.map_or("1m", String::as_str), &at, faults);
    let (wait, _) = pick(over, fleet, "wait", |f| &f.wait);
    let wait = wait.copied().unwrap_or_default();
    let (checks, at) = pick(over, fleet, "healthChecks", |f| &f.health_checks);
    let checks = checks.map(Vec::as_slice).unwrap_or_default();
    if wait && !checks.is_empty() {
        let help = "Leave one of them out: with `wait`, Flux looks at all that it applied, and at nothing else.";
        faults.add(&at, "Flux looks at no health checks where `wait` is true", help);
    }
    let health_checks =
        checks.iter().enumerate().map(|(index, check)| health_check(check, &at.index(index), faults)).collect();
    let (account, at) = pick(over, fleet, "serviceAccountName", |f| &f.service_account_name);
    let service_account = account.map(|name| object_name(name, &at, faults));
    kept(over, fleet, ("serviceAccountName", |f| is_given(&f.service_account_name)), faults);
    kept(over, fleet, ("kubeConfig", |f| is_given(&f.kube_config)), faults);
    let (kube_config, at) = pick(over, fleet, "kubeConfig", |f| &f.kube_config);
    let kube_config = kube_config.map(|from| {
        let name = object_name(&filled(&from.secret_ref, directory), &at.key("secretRef"), faults);
        let key = from.key.as_ref().map(|key| {
            if !is_entry(key) {
                let help = "Write letters, digits, `-`, `_` and `.` only, such as `value.yaml`.";
                faults.add(&at.key("key"), format!("{} cannot name an entry of a Secret", quoted(key)), help);
            }
            key.clone()
        });
        (name, key)
    });
    Flux {
        namespace,
        source_kind: source_kind.into(),
        source_name,
        decryption_secret,
        interval,
        retry_interval,
        timeout,
        wait,
        health_checks,
        service_account,
        kube_config,
    }
}

fn health_check(check: &HealthCheckFile, at: &FieldPath, faults: &mut Faults) -> HealthCheck {
    let HealthCheckFile { api_version, kind, name, namespace: place } = check;
    let (group, version) = api_version.rsplit_once('/').map_or((None, &**api_version), |(g, v)| (Some(g), v));
    if !is_dns_label(version) || !group.is_none_or(is_dns_subdomain) {
        let help = "Write group and version as manifests have them, such as `apps/v1`.";
        faults.add(&at.key("apiVersion"), format!("{} is no apiVersion", quoted(api_version)), help);
    }
    if kind.is_empty() || !kind.bytes().all(|b| b.is_ascii_alphanumeric()) {
        let help = "Write the kind as manifests have it, such as `Deployment`.";
        faults.add(&at.key("kind"), format!("{} is no kind", quoted(kind)), help);
    }
    HealthCheck {
        api_version: api_version.clone(),
        kind: kind.clone(),
        name: object_name(name, &at.key("name"), faults),
        namespace: place.as_ref().map(|place| namespace(place, &at.key("namespace"), faults)),
    }
}

/// A duration that Flux takes.
fn duration(text: &str, at: &FieldPath, faults: &mut Faults) -> String {
    if !is_duration(text) {
        let help = "Write a Go duration above zero in h, m, s or ms, such as `10m` or `1h30m`.";
        faults.add(at, format!("{} is not a duration", quoted(text)), help);
    }
    text.into()
}

fn argocd(
    whole: Whole<'_>,
    directory: &str,
    over: Option<&ArgoCdFile>,
    path: &FieldPath,
    faults: &mut Faults,
) -> ArgoCd {
    let file = whole.file;
    let over = (over, &path.key("argocd"));
    let fleet = (file.delivery.argocd.as_ref(), &FieldPath::root().key("delivery").key("argocd"));
    let (value, at) = pick(over, fleet, "namespace", |f| &f.namespace);
    let namespace = place(value.map_or("argocd", String::as_str), file, &at, faults);

    let (value, at) = pick(over, fleet, "project", |f| &f.project);
    let project = object_name(value.map_or("default", String::as_str), &at, faults);

    let (value, at) = pick(over, fleet, "repoURL", |f| &f.repo_url);
    let repo_url = value.map(|url| filled(url, directory)).unwrap_or_default();
    match value {
        Some(_) => super::output::url(&repo_url, &at, faults),
        None => {
            let help = "Add the URL by which Argo CD reads the repository of the bundles.";
            faults.add_at_key(&at, "the field is missing, and a region is delivered by Argo CD", help);
        }
    }

    let (value, at) = pick(over, fleet, "targetRevision", |f| &f.target_revision);
    // What is followed is what was merged.
    let base = || match (&file.output.oci, &file.output.git) {
        (Some(oci), _) if repo_url.starts_with(OCI_SCHEME) => &*oci.tag,
        (_, git) => git.as_ref().map_or("HEAD", |git| git.base.as_ref().unwrap_or(&git.branch)),
    };
    let target_revision = &*filled(value.map_or_else(base, String::as_str), directory);
    // Whoever pins an artifact names its digest.
    let is_digest = repo_url.starts_with(OCI_SCHEME) && is_digest(target_revision);
    if value.is_some() && !is_digest {
        super::output::ref_name(target_revision, &at, faults);
    }

    let (value, at) = pick(over, fleet, "destination", |f| &f.destination);
    let destination = match value.map(|destination| (&destination.name, &destination.server)) {
        Some((None, Some(server))) => {
            if !is_server(&filled(server, directory)) {
                let message = format!("{} is no URL of an API server", quoted(server));
                let help = "Write it as Argo CD knows it, such as `https://eu-west.example.com:6443`; the only \
                            placeholder is `{region}`.";
                match server.contains('@') {
                    true => faults.add_secret(&at.key("server"), "the URL has a user or password in it", help),
                    false => faults.add(&at.key("server"), message, help),
                }
            }
            ArgoDestination::Server(server.clone())
        }
        Some((Some(_), Some(_))) => {
            faults.add(&at, "a cluster is named twice", "Write its `name` in Argo CD or its `server`, not both.");
            ArgoDestination::Name(String::from("{region}"))
        }
        Some((name, None)) => ArgoDestination::Name(name.clone().unwrap_or_else(|| String::from("{region}"))),
        None => ArgoDestination::Name(String::from("{region}")),
    };
    if let ArgoDestination::Name(name) = &destination {
        let filled = name.replace("{region}", "x");
        if filled.contains(['{', '}']) || filled.chars().any(char::is_control) || filled.is_empty() {
            let message = format!("{} cannot name a cluster", quoted(name));
            faults.add(&at.key("name"), message, "Write its name in Argo CD; the only placeholder is `{region}`.");
        }
    }

    let (mode, _) = pick(over, fleet, "mode", |f| &f.mode);
    let mode = mode.copied().unwrap_or_default();
    let (value, at) = pick(over, fleet, "plugin", |f| &f.plugin);
    let plugin = value.map(|name| object_name(name, &at, faults));
    if plugin.is_some() && mode == ArgoMode::Ksops {
        faults.add(&at, "a plugin is named, but the mode is `ksops`, which uses none", "Remove one of them.");
    }

    let (kind, _) = pick(over, fleet, "kind", |f| &f.kind);
    let kind = kind.copied().unwrap_or_default();
    let (value, at) = pick(over, fleet, "version", |f| &f.version);
    let version = value.map(|text| (text, release(text)));
    if let Some((text, None)) = version {
        let help = "Write the first two numbers of the release, such as `\"3.2\"`.";
        faults.add(&at, format!("{} is no release of Argo CD", quoted(text)), help);
    }
    let has = |since: (u16, u16)| version.and_then(|(_, release)| release).is_none_or(|release| release >= since);
    let (refreshes, informs) = (has(REFRESHES), has(INFORMS));
    let (value, at) = pick(over, fleet, "cluster", |f| &f.cluster);
    let cluster = value.map(|typed| cluster_secret(whole, typed, &at, faults));
    if cluster.is_some() {
        named_by_its_secret(&destination, &at, faults);
    }
    ArgoCd {
        namespace,
        project,
        repo_url,
        target_revision: target_revision.into(),
        destination,
        mode,
        plugin,
        kind,
        refreshes,
        informs,
        cluster,
    }
}

/// The Secret that makes a region's cluster known to Argo CD.
fn cluster_secret(whole: Whole<'_>, typed: &ArgoClusterFile, at: &FieldPath, faults: &mut Faults) -> ArgoCluster {
    let providers = typed.providers.as_ref().and_then(|file| {
        let at = at.key("providers");
        super::output::not_among_bundles(file, &at, whole.output, faults);
        let Some(text) = whole.texts.get(file) else {
            faults.add(&at, NOT_READ, "Check that it is there and can be read.");
            return None;
        };
        Some(TextFile { path: file.clone(), text: text.as_str().into() })
    });
    ArgoCluster { providers }
}

/// Checks that the destination is a cluster that a Secret can make known: it has the name that the Secret gives it.
fn named_by_its_secret(destination: &ArgoDestination, at: &FieldPath, faults: &mut Faults) {
    match destination {
        ArgoDestination::Server(_) => {
            let message =
                "a cluster that `cluster` makes known goes by its name, and `destination.server` names it by a URL";
            let help = "Leave `server` out: the ClusterProfile says it. `destination.name`, by default the region's folder, is \
                        what Argo CD will call the cluster.";
            faults.add_at_key(at, message, help);
        }
        ArgoDestination::Name(name) if name == "in-cluster" => {
            let message =
                "`destination.name` is in-cluster, which Argo CD itself makes known: the cluster that it runs on";
            faults.add_at_key(at, message, "Leave `cluster` out for such a region, or give its cluster another name.");
        }
        ArgoDestination::Name(_) => {}
    }
}

/// Whether an entry of a Secret can have this name.
///
/// <https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data>
fn is_entry(name: &str) -> bool {
    let is_fit = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=253).contains(&name.len()) && name.bytes().all(is_fit) && !name.starts_with("..") && name != "."
}

/// Whether this is the URL of an API server: a scheme of HTTP, a host, and nothing that only a browser would send.
fn is_server(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = |rest: &str| rest.split('/').next().is_some_and(|host| !host.is_empty() && !host.starts_with(':'));
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || "@?#{}<>\"\\^`|".contains(c);
    rest.is_some_and(|rest| host(rest) && !rest.contains(is_odd))
}

/// Whether a text names an artifact by its content.
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

/// The namespace of delivery objects; nothing that is published may land there.
fn place(text: &str, file: &FleetFile, path: &FieldPath, faults: &mut Faults) -> Namespace {
    if text == file.system_namespace {
        let message = "delivery objects would be in the system namespace, and then nothing could be published there";
        faults.add(path, message, "Use a namespace of its own, such as `flux-system` or `argocd`.");
    }
    namespace(text, path, faults)
}

/// Whether Flux takes `text` as an interval: the pattern of its CRDs, above zero, and no longer than Go can tell
/// (292 years).
///
/// <https://fluxcd.io/flux/components/kustomize/api/v1/>
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    let mut above_zero = false;
    let mut most = 0_u64;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Some((number, unit)) = rest.split_at_checked(number_end) else { return false };
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || part.is_empty() || part.contains('.') {
            return false;
        }
        above_zero |= number.bytes().any(|b| matches!(b, b'1'..=b'9'));
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000_u64)];
        let known = units.iter().find_map(|(name, size)| Some((unit.strip_prefix(name)?, size)));
        let Some((after, size)) = known else { return false };
        let whole = whole.parse::<u64>().unwrap_or(u64::MAX).saturating_add(1);
        most = most.saturating_add(whole.saturating_mul(*size));
        rest = after;
    }
    above_zero && most < i64::MAX.unsigned_abs() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_go_durations_that_flux_takes() {
        for good in ["10m", "1h30m", "500ms", "1.5h", "1h0m0s", "2562046h"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in [
            "",
            "10",
            "m",
            "0s",
            "10 m",
            "-1m",
            "1d",
            "1.m",
            ".5m",
            "1us",
            "10mm",
            "1.2.3s",
            "é",
            "2562048h",
            "99999999999999999999h",
        ] {
            assert!(!is_duration(bad), "{bad}");
        }
    }

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

    #[test]
    fn an_entry_has_a_name_that_secrets_take() {
        for good in ["value", "value.yaml", "a-b_c", ".x"] {
            assert!(is_entry(good), "{good}");
        }
        for bad in ["", ".", "..", "..data", "a/b", &"x".repeat(254)] {
            assert!(!is_entry(bad), "{bad}");
        }
    }
}
