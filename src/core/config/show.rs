//! The resolved configuration in the form of the file: what `pouch config` prints.
//!
//! The output is again a configuration with the same meaning; a test holds it to that. It names the places of keys and
//! never a key.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::file::{API_VERSION, KIND};
use super::grant::key_of;
use super::{
    Acceptance, ArgoCd, ArgoKind, ArgoMode, Companions, Decryption, Delivery, ExtraKind, FileGlobs, Fleet, Flux, Globs,
    Grant, GrantRegions, Granted, Grantee, HealthCheck, Identity, Inventory, KeyPlace, Limits, Look, MessageTemplates,
    Output, OutputOci, Placement, PlacementBy, ProfileBy, RegionConfig, RegionState, Resolution, ReuseKeyPlaces, Sign,
    Source, SourcePlace, TakenClusters,
};
use crate::name::{GroupKind, Scope};
use crate::recipient::Recipient;
use crate::yaml::emit::{Tree, TreeMap};

/// The tree of a resolved configuration, defaults written out.
pub fn tree(fleet: &Fleet) -> Tree<'_> {
    let builtin = fleet.builtin.map_or(Cow::Borrowed("none"), |release| Cow::Owned(release.name()));
    let regions = fleet.regions.iter().map(|(name, region)| (name.as_str(), region_tree(region, fleet)));
    let findings = fleet.severities.iter().map(|(code, level)| {
        let level = level.map_or("off", crate::finding::Severity::word);
        (code.text(), Tree::text(level))
    });
    Tree::map([
        ("apiVersion", Tree::text(API_VERSION)),
        ("kind", Tree::text(KIND)),
        ("metadata", Tree::map([("name", Tree::text(fleet.name.as_str()))])),
        ("sources", Tree::List(fleet.sources.iter().map(source).collect())),
        ("systemNamespace", Tree::text(fleet.system_namespace.as_str())),
        (
            "resolution",
            Tree::text(match fleet.resolution {
                Resolution::AsWritten => "as-written",
                Resolution::Kcm => "kcm",
            }),
        ),
        ("providerInterfaces", Tree::map([("builtin", Tree::text(builtin))])),
        ("kinds", Tree::List(fleet.kinds.iter().map(|(kind, extra)| kind_tree(kind, extra)).collect())),
        ("keep", Tree::map([("labels", globs(&fleet.keep_labels)), ("annotations", globs(&fleet.keep_annotations))])),
        (
            "companions",
            Tree::text(match fleet.companions {
                Companions::Follow => "follow",
                Companions::None => "none",
            }),
        ),
        ("emitControllerIdentity", Tree::Bool(fleet.emit_controller_identity)),
        ("regions", Tree::map(regions)),
        ("escrowRecipients", recipients(fleet.escrow.iter())),
        ("grants", Tree::List(fleet.grants.iter().map(grant).collect())),
        ("output", output(&fleet.output)),
        ("reuseKey", reuse_key(&fleet.reuse_key)),
        ("limits", limits(&fleet.limits)),
        ("findings", Tree::map(findings)),
    ])
}

fn globs(globs: &Globs) -> Tree<'_> {
    Tree::List(globs.patterns().iter().map(|pattern| Tree::text(pattern.as_str())).collect())
}

fn recipients<'a>(recipients: impl Iterator<Item = &'a Recipient>) -> Tree<'a> {
    Tree::List(recipients.map(|recipient| Tree::text(recipient.to_string())).collect())
}

fn count(number: usize) -> Tree<'static> {
    u64::try_from(number).map_or(Tree::Null, Tree::Uint)
}

fn source(source: &Source) -> Tree<'_> {
    fn place<'a>(files: &'a FileGlobs, fields: Vec<(&'static str, &'a str)>) -> Tree<'a> {
        let texts = fields.into_iter().map(|(key, text)| (key, Tree::text(text)));
        Tree::map(texts.chain([("include", globs(&files.include)), ("exclude", globs(&files.exclude))]))
    }
    let (key, place) = match &source.place {
        SourcePlace::Directory { path, files } => ("directory", place(files, vec![("path", path)])),
        SourcePlace::Git { repository, reference, path, files } => {
            ("git", place(files, vec![("repository", repository), ("ref", reference), ("path", path)]))
        }
        SourcePlace::Stdin => ("stdin", Tree::Map(TreeMap::new())),
        SourcePlace::Cluster { context, kubeconfig } => {
            let fields = [("context", context), ("kubeconfig", kubeconfig)];
            let given = fields.into_iter().filter_map(|(key, text)| Some((key, Tree::text(text.as_deref()?))));
            ("cluster", Tree::map(given))
        }
    };
    let objects = source.provides.objects.iter().map(|objects| {
        let fields = [
            ("group", Tree::text(objects.kind.group.as_str())),
            ("kind", Tree::text(objects.kind.kind.as_str())),
            ("name", Tree::text(objects.glob())),
        ];
        let namespace = objects.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
        Tree::map(fields.into_iter().chain(namespace))
    });
    let provides = Tree::map([
        ("namespaces", globs(&source.provides.namespaces)),
        ("clusterScoped", Tree::Bool(source.provides.cluster_scoped)),
        ("objects", Tree::List(objects.collect())),
    ]);
    let mut fields = vec![
        ("name", Tree::text(source.name.as_str())),
        (key, place),
        ("provides", provides),
        ("overrides", Tree::Bool(source.overrides)),
    ];
    fields.extend(source.default_namespace.as_ref().map(|name| ("defaultNamespace", Tree::text(name.as_str()))));
    fields.extend(source.region.as_ref().map(|region| ("region", Tree::text(region.as_str()))));
    fields.extend(source.decryption.as_ref().map(|decryption| {
        let field = match decryption {
            Decryption::AgeIdentityFile(path) => ("ageIdentityFile", Tree::text(path.as_str())),
            Decryption::Environment => ("environment", Tree::Bool(true)),
        };
        ("decryption", Tree::map([field]))
    }));
    Tree::map(fields)
}

fn kind_tree<'a>(kind: &'a GroupKind, extra: &ExtraKind) -> Tree<'a> {
    let scope = match extra.scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    Tree::map([
        ("group", Tree::text(kind.group.as_str())),
        ("kind", Tree::text(kind.kind.as_str())),
        ("scope", Tree::text(scope)),
        ("allowedNamespaces", Tree::text(extra.tenancy.word())),
    ])
}

fn region_tree<'a>(region: &'a RegionConfig, fleet: &'a Fleet) -> Tree<'a> {
    let state = match region.state {
        RegionState::Active => "active",
        RegionState::Paused => "paused",
        RegionState::Retired => "retired",
    };
    let labels = region.labels.iter().map(|(namespace, labels)| {
        let labels = labels.iter().map(|(key, value)| (key.as_str(), Tree::text(value.as_str())));
        (namespace.as_str(), Tree::map(labels))
    });
    let namespaces = Tree::map([("allowed", globs(&region.allowed)), ("labels", Tree::map(labels))]);
    let own = region.recipients.iter().filter(|recipient| !fleet.escrow.contains(recipient));
    let fields = [
        ("recipients", recipients(own)),
        ("state", Tree::text(state)),
        ("directory", Tree::text(region.directory.as_str())),
        ("delivery", delivery(&region.delivery)),
        ("namespaces", namespaces),
        ("detached", Tree::Bool(region.detached)),
    ];
    let management = region.management.then_some(("management", Tree::Bool(true)));
    let clusters = region.clusters.iter().map(taken).collect();
    let clusters = (!region.clusters.is_empty()).then_some(("clusters", Tree::List(clusters)));
    Tree::map(fields.into_iter().chain(management).chain(inventory(region)).chain(clusters))
}

fn taken(entry: &TakenClusters) -> Tree<'_> {
    let glob = Tree::text(entry.clusters.patterns().first().map_or("", String::as_str));
    let Some(identity) = &entry.identity else { return glob };
    let fields = [
        ("apiVersion", Tree::text(identity.kind.api_version(&identity.version))),
        ("kind", Tree::text(identity.kind.kind.as_str())),
        ("name", Tree::text(identity.name.as_str())),
    ];
    let namespace = identity.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
    Tree::map([("name", glob), ("identityRef", Tree::map(fields.into_iter().chain(namespace)))])
}

/// What is said of a region's cluster, where anything is.
fn inventory(region: &RegionConfig) -> Vec<(&'static str, Tree<'_>)> {
    let Inventory { region: tied, profile, registry, gate, look } = &region.inventory;
    fn texts(pairs: &BTreeMap<String, String>) -> Tree<'_> {
        Tree::map(pairs.iter().map(|(key, value)| (key.as_str(), Tree::text(value.as_str()))))
    }
    let profile = profile.as_ref().map(|tie| {
        let by = match &tie.by {
            ProfileBy::Name(name) => ("name", Tree::text(name.as_str())),
            ProfileBy::Properties(properties) => ("property", texts(properties)),
            ProfileBy::Labels(labels) => ("labels", texts(labels)),
        };
        let manager = tie.manager.as_ref().map(|manager| ("manager", Tree::text(manager.as_str())));
        let fields = [("namespace", Tree::text(tie.namespace.as_str())), by];
        ("clusterProfile", Tree::map(fields.into_iter().chain(manager)))
    });
    let registry = registry.as_ref().map(|name| ("registryCluster", Tree::text(name.as_str())));
    let tied = (*tied != region.name).then(|| ("region", Tree::text(tied.as_str())));
    let objects: Vec<_> = tied.into_iter().chain(profile).chain(registry).collect();
    let objects = (!objects.is_empty()).then(|| ("inventory", Tree::map(objects)));
    let gate = gate.iter().map(|condition| Tree::text(condition.as_str())).collect();
    let gate = (!region.inventory.gate.is_empty()).then(|| ("gate", Tree::List(gate)));
    let look = look.as_ref().map(|look| {
        let fields = match look {
            Look::Providers(file) => vec![("providers", Tree::text(file.as_str()))],
            Look::Kubeconfig { kubeconfig, context } => {
                let fields = [("kubeconfig", kubeconfig), ("context", context)];
                let given = fields.into_iter().filter_map(|(key, text)| Some((key, Tree::text(text.as_deref()?))));
                given.collect()
            }
        };
        ("cluster", Tree::map(fields))
    });
    objects.into_iter().chain(gate).chain(look).collect()
}

fn placement(placement: &Placement) -> Tree<'_> {
    let by = match &placement.by {
        PlacementBy::Key(key) => ("decisionKey", Tree::text(key)),
        PlacementBy::Name(name) => ("name", Tree::text(name.as_str())),
    };
    let fields = Tree::map([("namespace", Tree::text(placement.namespace.as_str())), by]);
    Tree::map([("placement", fields)])
}

fn grant(grant: &Grant) -> Tree<'_> {
    let from = match &grant.from {
        Grantee::Namespace(namespace) => ("namespace".into(), Tree::text(namespace.as_str())),
        Grantee::Claimant(by) => (key_of(&by.kind), Tree::text(by.place())),
    };
    let mut fields = vec![("from", Tree::map([from]))];
    if let Granted::Object(key) = &grant.to {
        let object = [
            ("group", Tree::text(key.kind.group.as_str())),
            ("kind", Tree::text(key.kind.kind.as_str())),
            ("name", Tree::text(key.name.as_str())),
        ];
        let namespace = key.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
        fields.push(("to", Tree::map(object.into_iter().chain(namespace))));
    }
    let regions = match &grant.regions {
        GrantRegions::All => vec![Tree::text("*")],
        GrantRegions::These { regions, placements } => {
            let names = regions.iter().map(|region| Tree::text(region.as_str()));
            names.chain(placements.iter().map(placement)).collect()
        }
    };
    fields.push(("regions", Tree::List(regions)));
    Tree::map(fields)
}

fn delivery(delivery: &Delivery) -> Tree<'_> {
    match delivery {
        Delivery::None => Tree::text("none"),
        Delivery::Flux(fields) => Tree::map([("flux", flux(fields))]),
        Delivery::ArgoCd(fields) => Tree::map([("argocd", argocd(fields))]),
    }
}

fn flux(flux: &Flux) -> Tree<'_> {
    let source = [("kind", Tree::text(flux.source_kind.as_str())), ("name", Tree::text(flux.source_name.as_str()))];
    let fields = [
        ("namespace", Tree::text(flux.namespace.as_str())),
        ("sourceRef", Tree::map(source)),
        ("decryption", Tree::map([("secretRef", Tree::text(flux.decryption_secret.as_str()))])),
        ("interval", Tree::text(flux.interval.as_str())),
        ("retryInterval", Tree::text(flux.retry_interval.as_str())),
        ("wait", Tree::Bool(flux.wait)),
    ];
    let kube_config = flux.kube_config.as_ref().map(|(name, key)| {
        let key = key.as_ref().map(|key| ("key", Tree::text(key.as_str())));
        ("kubeConfig", Tree::map([("secretRef", Tree::text(name.as_str()))].into_iter().chain(key)))
    });
    let account = flux.service_account.as_ref().map(|name| ("serviceAccountName", Tree::text(name.as_str())));
    let timeout = flux.timeout.as_ref().map(|timeout| ("timeout", Tree::text(timeout.as_str())));
    let checks: Vec<Tree<'_>> = flux.health_checks.iter().map(HealthCheck::tree).collect();
    let checks = (!checks.is_empty()).then_some(("healthChecks", Tree::List(checks)));
    Tree::map(fields.into_iter().chain(kube_config).chain(account).chain(timeout).chain(checks))
}

fn argocd(argo: &ArgoCd) -> Tree<'_> {
    let mode = match argo.mode {
        ArgoMode::Plugin => "plugin",
        ArgoMode::Ksops => "ksops",
    };
    let kind = match argo.kind {
        ArgoKind::Application => "Application",
        ArgoKind::ApplicationSet => "ApplicationSet",
    };
    let mut fields = vec![
        ("namespace", Tree::text(argo.namespace.as_str())),
        ("project", Tree::text(argo.project.as_str())),
        ("repoURL", Tree::text(argo.repo_url.as_str())),
        ("targetRevision", Tree::text(argo.target_revision.as_str())),
        ("destination", Tree::map([(argo.destination.field(), Tree::text(argo.destination.text()))])),
        ("mode", Tree::text(mode)),
        ("kind", Tree::text(kind)),
    ];
    fields.extend(argo.plugin.as_ref().map(|plugin| ("plugin", Tree::text(plugin.as_str()))));
    fields.extend(argo.cluster.as_ref().map(|cluster| {
        let providers = cluster.providers.as_ref().map(|file| ("providers", Tree::text(file.path.as_str())));
        ("cluster", Tree::map(providers))
    }));
    Tree::map(fields)
}

fn output(output: &Output) -> Tree<'_> {
    let person = |person: &Identity| Tree::text(format!("{} <{}>", person.name, person.email));
    let mut fields = vec![("path", Tree::text(output.path.as_str()))];
    if let Some(git) = &output.git {
        let mut git_fields = vec![
            ("repository", Tree::text(git.repository.as_str())),
            ("base", Tree::text(git.base.as_str())),
            ("branch", Tree::text(git.branch.as_str())),
            ("author", person(&git.author)),
            ("committer", person(&git.committer)),
        ];
        if !git.push_options.is_empty() {
            git_fields
                .push(("pushOptions", Tree::List(git.push_options.iter().map(|it| Tree::text(it.as_str())).collect())));
        }
        let MessageTemplates { title, body } = &git.message;
        let templates = [("title", title), ("body", body)];
        let given = templates.map(|(field, text)| text.as_ref().map(|text| (field, Tree::text(text.as_str()))));
        if given.iter().any(Option::is_some) {
            git_fields.push(("message", Tree::map(given.into_iter().flatten())));
        }
        let (word, key) = match &git.sign {
            Sign::AsGit => (None, None),
            Sign::Never => (Some("none"), None),
            Sign::Ssh(key) => (Some("ssh"), key.as_ref()),
            Sign::Gpg(key) => (Some("gpg"), key.as_ref()),
        };
        git_fields.extend(word.map(|word| ("sign", Tree::text(word))));
        git_fields.extend(key.map(|key| ("key", Tree::text(key.as_str()))));
        git_fields.extend(git.allowed_signers.as_ref().map(|file| ("allowedSigners", Tree::text(file.as_str()))));
        let switches = [("cache", git.cache), ("stamp", git.stamp)];
        git_fields.extend(switches.into_iter().filter(|(_, on)| !on).map(|(field, on)| (field, Tree::Bool(on))));
        fields.push(("git", Tree::map(git_fields)));
    }
    if let Some(OutputOci { repository, tag, insecure }) = &output.oci {
        let oci = [
            ("repository", Tree::text(repository.as_str())),
            ("tag", Tree::text(tag.as_str())),
            ("insecure", Tree::Bool(*insecure)),
        ];
        fields.push(("oci", Tree::map(oci)));
    }
    Tree::map(fields)
}

fn key_place(place: &KeyPlace) -> (&'static str, Tree<'_>) {
    match place {
        KeyPlace::Env(name) => ("env", Tree::text(name.as_str())),
        KeyPlace::File(path) => ("file", Tree::text(path.as_str())),
    }
}

fn reuse_key(places: &ReuseKeyPlaces) -> Tree<'_> {
    let previous = places.previous.iter().map(|place| Tree::map([key_place(place)])).collect();
    Tree::map([key_place(&places.current), ("previous", Tree::List(previous))])
}

fn limits(limits: &Limits) -> Tree<'_> {
    let deletions = [
        ("free", count(limits.free_deletions)),
        ("percent", count(limits.deletion_percent)),
        ("objects", count(limits.deletion_objects)),
        ("window", Tree::text(format!("{}s", limits.deletion_window))),
    ];
    let sources = [
        ("documents", count(limits.sources.documents)),
        ("nodes", count(limits.sources.nodes)),
        ("bytes", count(limits.sources.bytes)),
        ("copiedBytes", count(limits.sources.copied_bytes)),
    ];
    let git = [("idle", limits.git.idle), ("total", limits.git.total), ("settle", limits.git.settle)];
    let git = git.map(|(name, seconds)| (name, Tree::text(format!("{seconds}s"))));
    let fields = [
        ("deletions", Tree::map(deletions)),
        ("handover", Tree::text(format!("{}s", limits.handover))),
        ("reseal", Tree::map([("percent", count(limits.reseal_percent))])),
        ("accept", Tree::List(limits.accept.iter().map(acceptance).collect())),
        ("sources", Tree::map(sources)),
        ("git", Tree::map(git)),
        ("attempts", count(limits.attempts)),
        ("objectsPerNamespace", count(limits.objects_per_namespace)),
        ("credentialsPerNamespace", count(limits.credentials_per_namespace)),
        ("sealedBytesPerNamespace", count(limits.sealed_bytes_per_namespace)),
    ];
    let per_region = limits.objects_per_region.map(|most| ("objectsPerRegion", count(most)));
    let per_leaf = limits.objects_per_leaf.map(|most| ("objectsPerLeaf", count(most)));
    Tree::map(fields.into_iter().chain(per_region).chain(per_leaf))
}

fn acceptance(acceptance: &Acceptance) -> Tree<'_> {
    let what = acceptance.what.word();
    let namespace = acceptance.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
    let fields = [("region", Tree::text(acceptance.region.as_str())), (what, Tree::text(acceptance.digest.as_str()))];
    Tree::map(fields.into_iter().chain(namespace))
}
