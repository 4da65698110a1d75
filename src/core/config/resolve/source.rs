//! Sources: where they are and what they may provide.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, quoted, suggest};
use super::super::file::{
    ClusterFile, FleetFile, GitFile, ProvidedObjectsFile, RefFile, SourceDecryptionFile, SourceFile,
};
use super::super::overlap::overlap;
use super::super::{
    Decryption, ExtraKind, FileGlobs, Globs, Output, ProvidedObjects, Provides, Source, SourcePlace, repository,
};
use super::grant::KnownKinds;
use super::name::{globs, label, namespace, namespace_globs};
use crate::kinds::{cluster_feature, is_by_configuration, is_managed_resource, sync_rule};
use crate::name::{GroupKind, Region, SourceName};

/// The longest glob over names, in bytes: names of objects are no longer.
const MOST_GLOB_BYTES: usize = 253;

/// Resolves all sources.
pub(super) fn resolve(
    file: &FleetFile,
    output: &Output,
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    faults: &mut Faults,
) -> Vec<Source> {
    let path = FieldPath::root().key("sources");
    if file.sources.is_empty() {
        faults.add(
            &path,
            "there is no source",
            "Name at least one `directory`, `git` repository, `cluster` or `stdin`.",
        );
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut stdin = None;
    let mut sources = Vec::new();
    for (at, typed) in file.sources.iter().enumerate() {
        let path = path.index(at);
        label(&typed.name, "source", &path.key("name"), faults);
        if let Some(first) = names.insert(&typed.name, at) {
            let message = format!("sources[{first}] has the same name");
            faults.add(&path.key("name"), message, "Give every source a name of its own.");
        }
        if typed.stdin.is_some() {
            if let Some(first) = stdin {
                let message = format!("sources[{first}] is standard input already, and there is only one");
                faults.add(&path.key("stdin"), message, "Join what comes in, or read the rest from a directory.");
            }
            stdin = stdin.or(Some(at));
        }
        let Some(place) = place(typed, &path, faults) else { continue };
        let mut provides = provides(typed, file.sources.len(), &path, faults);
        let objects = typed.provides.as_ref().map(|provides| &*provides.objects).unwrap_or_default();
        let path_of_objects = path.key("provides").key("objects");
        if typed.cluster.is_some() && !objects.is_empty() {
            let message = "a cluster's own rights say who may write which object in it";
            faults.add_at_key(&path_of_objects, message, "Remove the field.");
        }
        for (at, typed) in objects.iter().enumerate() {
            provides.objects.push(provided(typed, kinds, &path_of_objects.index(at), faults));
        }
        if typed.cluster.is_some() && typed.default_namespace.is_some() {
            let message = "a cluster's objects name their namespaces themselves";
            faults.add_at_key(&path.key("defaultNamespace"), message, "Remove the field.");
        }
        let default_namespace = typed.default_namespace.as_ref().map(|text| {
            let path = path.key("defaultNamespace");
            let namespace = namespace(text, &path, faults);
            if !provides.namespaces.matches(text) {
                let message = format!("the source does not provide {}, so all of that would be ignored", quoted(text));
                faults.add(&path, message, "Add the namespace to `provides.namespaces`.");
            }
            namespace
        });
        let name = SourceName::from(typed.name.as_str());
        let decryption = typed.decryption.as_ref();
        let decryption = decryption.and_then(|wanted| decryption_of(typed, wanted, &path, output, faults));
        let region = typed.region.as_deref().and_then(|text| described(file, text, &path.key("region"), faults));
        if let Some(region) = &region {
            refuse_trust(file, typed, region, &path, faults);
        }
        let overrides = typed.overrides;
        sources.push(Source { name, place, provides, overrides, region, default_namespace, decryption });
    }
    // Places in the list are those of the file only if all of it could be resolved.
    if sources.len() == file.sources.len() {
        overlaps(&sources, &file.system_namespace, faults);
    }
    sources
}

/// The region whose Clusters a source describes.
fn described(file: &FleetFile, text: &str, path: &FieldPath, faults: &mut Faults) -> Option<Region> {
    if file.regions.contains_key(text) {
        return Some(Region::from(text));
    }
    let names: Vec<&str> = file.regions.keys().map(String::as_str).collect();
    faults.add(path, format!("there is no region {}", quoted(text)), suggest(text, names));
    None
}

fn provided(
    typed: &ProvidedObjectsFile,
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    path: &FieldPath,
    faults: &mut Faults,
) -> ProvidedObjects {
    // Rules choose among the objects of everybody, so no source provides one by its name.
    let known = KnownKinds {
        kinds,
        also: |kind| is_by_configuration(kind) && *kind != sync_rule() && !is_managed_resource(kind),
    };
    let (kind, namespace) =
        super::grant::placed((&typed.group, &typed.kind), typed.namespace.as_deref(), &known, path, faults);
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '*' | '?');
    if typed.name.is_empty() || typed.name.len() > MOST_GLOB_BYTES || !typed.name.chars().all(is_of_name) {
        let message = format!("{} is not a glob over names of objects", quoted(&typed.name));
        faults.add(
            &path.key("name"),
            message,
            "Use a-z, 0-9, dashes and dots, `*` for any characters and `?` for one.",
        );
    }
    ProvidedObjects { kind, namespace, names: Globs::new(core::slice::from_ref(&typed.name)).unwrap_or_default() }
}

/// Finds objects that two sources may provide, of which at least one names them: each could put its own in the place of
/// the other's. A source with `clusterScoped` is trusted with all of them.
fn overlaps(sources: &[Source], system_namespace: &str, faults: &mut Faults) {
    for (at, source) in sources.iter().enumerate() {
        let path = FieldPath::root().key("sources").index(at).key("provides").key("objects");
        // Each cluster has ClusterFeatures of its own, whatever others call by the same name.
        let of_all =
            source.provides.objects.iter().enumerate().filter(|(_, objects)| objects.kind != cluster_feature());
        for (number, objects) in of_all {
            let path = path.index(number).key("name");
            for (other, them) in sources.iter().enumerate().filter(|(other, _)| *other != at) {
                let is_same = |theirs: &&ProvidedObjects| {
                    theirs.kind == objects.kind
                        && theirs.namespace == objects.namespace
                        && overlap(theirs.glob(), objects.glob())
                };
                // Of two that name the same, the later one is told.
                let theirs = them.provides.objects.iter().find(is_same).filter(|_| other < at);
                let by_namespace = objects.namespace.as_ref().is_some_and(|namespace| {
                    namespace.as_str() != system_namespace
                        && !them.provides.cluster_scoped
                        && them.provides.namespaces.matches(namespace.as_str())
                });
                let what = match theirs {
                    Some(theirs) => format!("those that match {}", quoted(theirs.glob())),
                    None if by_namespace => String::from("all objects of that namespace"),
                    None => continue,
                };
                let message = format!("sources[{other}] may provide some of these objects too: {what}");
                faults.add(&path, message, "Narrow one of the two, so that each object has one source.");
            }
        }
    }
}

/// Refuses to trust a source with what belongs to all, if all that it is to describe is the Clusters of one region. Its
/// rules and definitions would count for other regions, and whoever rules that region could have the Secrets of others sent
/// there. The management cluster is trusted with everything anyway.
fn refuse_trust(file: &FleetFile, typed: &SourceFile, region: &Region, path: &FieldPath, faults: &mut Faults) {
    let is_management = file.regions.get(region.as_str()).is_some_and(|region| region.management);
    // Of the only source there are no others.
    if file.sources.len() == 1 || is_management {
        return;
    }
    let describes = format!("the source describes the Clusters of region {region}, and");
    if typed.provides.as_ref().is_some_and(|provides| provides.cluster_scoped) {
        let path = path.key("provides").key("clusterScoped");
        let help = "Remove `clusterScoped`, and name under `provides.objects` the identities and Secrets that its Clusters use; \
                    or remove `region`.";
        faults.add(&path, format!("{describes} would be trusted with all regions"), help);
    }
    if typed.overrides {
        let message = format!("{describes} its objects would count for all regions in place of those of other sources");
        faults.add(&path.key("overrides"), message, "Remove `overrides`, or remove `region`.");
    }
}

fn decryption_of(
    source: &SourceFile,
    typed: &SourceDecryptionFile,
    path: &FieldPath,
    output: &Output,
    faults: &mut Faults,
) -> Option<Decryption> {
    let path = path.key("decryption");
    let help = "Write `ageIdentityFile: PATH`, or `environment: true` for SOPS_AGE_KEY and SOPS_AGE_KEY_FILE.";
    if source.cluster.is_some() {
        let message = "objects of a cluster are not opened";
        faults.add_at_key(&path, message, "Remove the field; the cluster has its Secrets in clear.");
        return None;
    }
    match (&typed.age_identity_file, typed.environment) {
        (Some(file), false) => {
            let path = path.key("ageIdentityFile");
            let leaked = "Treat the identity as leaked: seal its files for a new one, and rotate the credentials in \
                          them. Write here the file that holds the new identity.";
            let is_path = super::output::key_file(file, &path, leaked, output, faults);
            is_path.then(|| Decryption::AgeIdentityFile(file.clone()))
        }
        (None, true) => Some(Decryption::Environment),
        (Some(_), true) => {
            faults.add(&path, "it names two places for identities", help);
            None
        }
        (None, false) => {
            faults.add(&path, "it does not say where the identities are", help);
            None
        }
    }
}

fn place(typed: &SourceFile, path: &FieldPath, faults: &mut Faults) -> Option<SourcePlace> {
    match (&typed.directory, &typed.git, &typed.cluster, &typed.stdin) {
        (Some(directory), None, None, None) => {
            let at = path.key("directory");
            if !is_plain(&directory.path) {
                let help = "Write a folder or a file, relative to this file.";
                faults.add(&at.key("path"), "the path is empty or has a control character in it", help);
            }
            let files = file_globs(&directory.include, &directory.exclude, &at, faults);
            Some(SourcePlace::Directory { path: directory.path.clone(), files })
        }
        (None, Some(git), None, None) => Some(git_place(git, &path.key("git"), faults)),
        (None, None, Some(cluster), None) => Some(cluster_place(cluster, &path.key("cluster"), faults)),
        (None, None, None, Some(_)) => Some(SourcePlace::Stdin),
        (None, None, None, None) => {
            let help = "Add one of `directory`, `git`, `cluster` and `stdin`.";
            faults.add(path, "the source does not say what to read", help);
            None
        }
        _ => {
            let help = "Keep one of `directory`, `git`, `cluster` and `stdin`.";
            faults.add(path, "the source names several places", help);
            None
        }
    }
}

fn cluster_place(cluster: &ClusterFile, path: &FieldPath, faults: &mut Faults) -> SourcePlace {
    if let Some(context) = cluster.context.as_ref().filter(|text| !is_plain(text)) {
        let help = "Write a context's name, as `kubectl config get-contexts` lists them.";
        faults.add(&path.key("context"), format!("{} cannot name a context", quoted(context)), help);
    }
    if cluster.kubeconfig.as_ref().is_some_and(|text| !is_plain(text)) {
        let help = "Write a file, relative to this file, or leave it out for the usual places.";
        faults.add(&path.key("kubeconfig"), "the path is empty or has a control character in it", help);
    }
    SourcePlace::Cluster { context: cluster.context.clone(), kubeconfig: cluster.kubeconfig.clone() }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

fn git_place(git: &GitFile, path: &FieldPath, faults: &mut Faults) -> SourcePlace {
    super::output::url(&git.repository, &path.key("repository"), faults);
    let reference = reference(&git.reference, &path.key("ref"), faults);
    let folder = match git.path.as_str() {
        "" | "." | "./" => String::new(),
        text => repository::tidy_inside(text).unwrap_or_else(|fault| {
            let help = "Write a folder or a file in the repository, or leave it out for the root.";
            faults.add(&path.key("path"), fault.message(), help);
            String::new()
        }),
    };
    let files = file_globs(&git.include, &git.exclude, path, faults);
    SourcePlace::Git { repository: git.repository.clone(), reference, path: folder, files }
}

/// What is read, as a text that leaves nothing open: only what is called a tag can be one.
fn reference(typed: &RefFile, path: &FieldPath, faults: &mut Faults) -> String {
    let named = match typed {
        RefFile::Text(text) => {
            let name = text.strip_prefix("refs/").unwrap_or(text);
            super::output::ref_name(name, path, faults);
            return text.clone();
        }
        RefFile::Map(map) => map,
    };
    match (&named.branch, &named.tag, &named.commit) {
        (Some(branch), None, None) => {
            super::output::ref_name(branch, &path.key("branch"), faults);
            format!("refs/heads/{branch}")
        }
        (None, Some(tag), None) => {
            super::output::ref_name(tag, &path.key("tag"), faults);
            format!("refs/tags/{tag}")
        }
        (None, None, Some(commit)) => {
            if !matches!(commit.len(), 40 | 64) || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let help = "Write all of it, as `git rev-parse` prints it.";
                faults.add(&path.key("commit"), format!("{} is no whole commit id", quoted(commit)), help);
            }
            commit.to_ascii_lowercase()
        }
        _ => {
            faults.add(path, "it does not name one thing", "Write one of `branch`, `tag` and `commit`.");
            String::new()
        }
    }
}

fn file_globs(include: &[String], exclude: &[String], path: &FieldPath, faults: &mut Faults) -> FileGlobs {
    if include.is_empty() {
        faults.add(&path.key("include"), "no file would be read", "Leave it out to read YAML and JSON files.");
    }
    FileGlobs {
        include: globs(include, &path.key("include"), faults),
        exclude: globs(exclude, &path.key("exclude"), faults),
    }
}

fn provides(typed: &SourceFile, sources: usize, path: &FieldPath, faults: &mut Faults) -> Provides {
    match &typed.provides {
        Some(provides) => {
            let at = path.key("provides").key("namespaces");
            let namespaces = namespace_globs(&provides.namespaces, &at, faults);
            Provides { namespaces, cluster_scoped: provides.cluster_scoped, objects: Vec::new() }
        }
        None => {
            if sources > 1 {
                let message = "with more than one source, each must say what it may provide";
                let help =
                    "Add `provides: {namespaces: [GLOB]}`, and `clusterScoped: true` to the one that you trust most.";
                faults.add_at_key(&path.key("provides"), message, help);
            }
            Provides { namespaces: Globs::everything(), cluster_scoped: true, objects: Vec::new() }
        }
    }
}
