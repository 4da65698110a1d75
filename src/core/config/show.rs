//! The resolved configuration in the form of the file: what `pouch config` prints.
//!
//! The output is again a configuration with the same meaning; a test holds it to that. It names the places of keys and
//! never a key.

use alloc::borrow::Cow;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::file::{API_VERSION, KIND};
use super::grant::key_of;
use super::setting;
use super::{
    Companions, Decryption, ExtraKind, FileGlobs, Fleet, Grant, GrantRegions, Granted, Grantee, Identity, KeyPlace,
    MessageTemplates, Output, OutputOci, Placement, PlacementBy, Resolution, ReuseKeyPlaces, Sign, Source, SourcePlace,
};
use crate::name::{GroupKind, Scope};
use crate::recipient::Recipient;
use crate::yaml::emit::{Tree, TreeMap};

/// The tree of a resolved configuration, defaults written out.
pub fn tree(fleet: &Fleet) -> Tree<'_> {
    let builtin = fleet.builtin.map_or(Cow::Borrowed("none"), |release| Cow::Owned(release.name()));
    let regions = fleet.regions.iter().map(|(name, region)| (name.as_str(), region.tree(&fleet.escrow)));
    let findings = fleet.severities.iter().map(|(code, level)| (code.text(), setting::tree(level)));
    let guests = fleet.guests.iter().map(|(name, group)| (name.as_str(), group.tree()));
    let guests = (!fleet.guests.is_empty()).then(|| ("guests", Tree::map(guests)));
    let fields = [
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
        ("keep", Tree::map([("labels", fleet.keep_labels.tree()), ("annotations", fleet.keep_annotations.tree())])),
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
        ("limits", setting::tree(&fleet.limits)),
        ("findings", Tree::map(findings)),
    ];
    Tree::map(fields.into_iter().chain(guests))
}

fn recipients<'a>(recipients: impl Iterator<Item = &'a Recipient>) -> Tree<'a> {
    Tree::List(recipients.map(|recipient| Tree::text(recipient.to_string())).collect())
}

fn source(source: &Source) -> Tree<'_> {
    fn place<'a>(files: &'a FileGlobs, fields: Vec<(&'static str, &'a str)>) -> Tree<'a> {
        let texts = fields.into_iter().map(|(key, text)| (key, Tree::text(text)));
        Tree::map(texts.chain([("include", files.include.tree()), ("exclude", files.exclude.tree())]))
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
        ("namespaces", source.provides.namespaces.tree()),
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
        Grantee::Template(name) => ("template".into(), Tree::text(name.as_str())),
        Grantee::Claimant(by) => (key_of(by.kind()), Tree::text(by.place())),
        Grantee::SyncRule(name) => ("syncRule".into(), Tree::text(name.as_str())),
    };
    let mut fields = vec![("from", Tree::map([from]))];
    if let Granted::Object(key) | Granted::Made(key) = &grant.to {
        let object = [
            ("group", Tree::text(key.kind.group.as_str())),
            ("kind", Tree::text(key.kind.kind.as_str())),
            ("name", Tree::text(key.name.as_str())),
        ];
        let namespace = key.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
        let make = matches!(grant.to, Granted::Made(_)).then_some(("make", Tree::Bool(true)));
        fields.push(("to", Tree::map(object.into_iter().chain(namespace).chain(make))));
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
