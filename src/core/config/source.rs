//! Sources: where they are and what they may provide.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use super::content::{Builder, Content, include};
use super::error::{Faults, FieldPath, quoted};
use super::globs::Globs;
use super::guarded::Guarded;
use super::kind::ExtraKind;
use super::limits::{GitLimits, SourceGitLimits, SourceLimits};
use super::named::{KnownKinds, placed};
use super::output::Output;
use super::overlap::overlap;
use super::region::{RegionConfig, check_known};
use super::repository;
use super::setting::{Seconds, Show, given, items, one_of, read_as, shown};
use crate::kinds::{cluster_feature, is_by_configuration, is_managed_resource, sync_rule};
use crate::name::{Group, GroupKind, Kind, Namespace, ObjectKey, Region, SourceName, Variables};
use crate::yaml::emit::{Tree, TreeMap};

// Everything else in it is ignored with a finding.
/// What a source may provide.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ProvidesFile")]
pub struct Provides {
    /// Globs of the namespaces whose objects it may provide.
    #[schemars(extend("items" = items("namespace-glob")))]
    pub namespaces: Globs,
    /// Whether it may provide cluster-scoped objects and those of the system namespace.
    #[serde(default)]
    pub cluster_scoped: bool,
    /// Objects that it may provide beside those: a team's own cluster-scoped identity, its Secret in the
    /// system namespace.
    #[serde(default)]
    pub objects: Vec<ProvidedObjects>,
}

shown!(Provides { "namespaces": namespaces, "clusterScoped": cluster_scoped, "objects": objects });

/// Objects of one kind and namespace that a source may provide.
#[derive(Clone, Debug)]
pub struct ProvidedObjects {
    /// Their kind.
    pub kind: GroupKind,
    /// Their namespace; none for a cluster-scoped kind.
    pub namespace: Option<Namespace>,
    /// Their names: one glob with `*` and `?`.
    pub names: Globs,
}

/// Objects of one kind and namespace.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProvidedObjectsFile {
    /// Their API group, by default the core group's.
    #[serde(default)]
    #[schemars(with = "String")]
    group: Group,
    /// Their kind, one that is published at all.
    kind: Kind,
    /// Their namespace; none for a cluster-scoped kind.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Option<Namespace>,
    /// A glob over their names: `*` stands for any characters, `?` for one.
    #[schemars(extend("x-check" = "name-glob"))]
    name: String,
}

read_as!(ProvidedObjects as ProvidedObjectsFile);

impl From<ProvidedObjectsFile> for ProvidedObjects {
    fn from(file: ProvidedObjectsFile) -> Self {
        let ProvidedObjectsFile { group, kind, namespace, name } = file;
        Self { kind: GroupKind { group, kind }, namespace, names: Globs::new(&[name]).unwrap_or_default() }
    }
}

impl Show for ProvidedObjects {
    fn show(&self) -> Option<Tree<'_>> {
        Some(given([
            ("group", self.kind.group.show()),
            ("kind", self.kind.kind.show()),
            ("name", Some(Tree::text(self.glob()))),
            ("namespace", self.namespace.show()),
        ]))
    }
}

impl Provides {
    /// Returns true if a source may provide an object (DESIGN §2.4).
    pub fn admits(&self, key: &ObjectKey, guarded: &Guarded) -> bool {
        let by_place = match &key.namespace {
            None => self.cluster_scoped,
            Some(namespace) => self.has_namespace(namespace, guarded),
        };
        by_place || self.objects.iter().any(|objects| objects.are(&key.kind, key.namespace.as_ref(), key.name.as_str()))
    }

    /// Returns true if a source may provide everything in a namespace.
    pub fn has_namespace(&self, namespace: &Namespace, guarded: &Guarded) -> bool {
        match guarded.contains(namespace) {
            true => self.cluster_scoped,
            false => self.namespaces.matches(namespace.as_str()),
        }
    }
}

impl ProvidedObjects {
    /// Returns true if the object of a kind, a namespace and a name is one of these.
    pub fn are(&self, kind: &GroupKind, namespace: Option<&Namespace>, name: &str) -> bool {
        self.kind == *kind && self.namespace.as_ref() == namespace && self.names.matches(name)
    }

    /// The glob over their names.
    pub fn glob(&self) -> &str {
        self.names.patterns().first().map(String::as_str).unwrap_or_default()
    }
}

/// One source, in the order of the configuration.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: SourceName,
    /// Where it is.
    pub place: SourcePlace,
    /// The objects that it may provide.
    pub provides: Provides,
    /// Whether the source may say something else about an object of an earlier source.
    pub overrides: bool,
    /// The region whose Clusters the source describes; none if its Clusters may be any region's.
    pub region: Option<Region>,
    /// The namespace of namespaced objects that name none.
    pub default_namespace: Option<Namespace>,
    /// Where the identities for its encrypted files are; none if the files are not opened.
    pub decryption: Option<Decryption>,
    /// True if a build may put an encrypted object into another namespace than it was sealed for.
    pub relabel: bool,
}

impl Source {
    /// The region whose Clusters the source describes, if it is trusted with no more than that: what its Credentials ask
    /// for is held to that region, and to what the source itself has.
    pub fn described(&self) -> Option<&Region> {
        self.region.as_ref().filter(|_| !self.provides.cluster_scoped)
    }
}

impl Source {
    /// The time that git may take for the source: without a word, and in all. `all` is `limits.git`.
    pub fn git_limits(&self, all: &GitLimits) -> (Seconds, Seconds) {
        let own = match &self.place {
            SourcePlace::Git { limits, .. } => *limits,
            _ => SourceGitLimits::default(),
        };
        let (idle, total) = match self.provides.cluster_scoped {
            true => (all.idle, all.total),
            false => (all.tenant.idle, all.tenant.total),
        };
        (own.idle.unwrap_or(idle), own.total.unwrap_or(total))
    }

    /// The longest that a run reads the source; none for one that all depend on.
    pub fn time(&self, limits: &SourceLimits) -> Option<Seconds> {
        Some(limits.time).filter(|_| !self.provides.cluster_scoped)
    }
}

impl Show for Source {
    fn show(&self) -> Option<Tree<'_>> {
        let (key, place) = self.place.field();
        Some(given([
            ("name", self.name.show()),
            (key, Some(place)),
            ("provides", self.provides.show()),
            ("overrides", self.overrides.show()),
            ("defaultNamespace", self.default_namespace.show()),
            ("region", self.region.show()),
            ("decryption", self.decryption.show()),
            ("relabel", self.relabel.show()),
        ]))
    }
}

/// Where to find the age identities that open a source's encrypted files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decryption {
    /// In a file, relative to the configuration.
    AgeIdentityFile(String),
    /// In the environment: in `SOPS_AGE_KEY`, and in the file that `SOPS_AGE_KEY_FILE` names.
    Environment,
}

/// How encrypted files of a source are opened; exactly one of `ageIdentityFile` and `environment`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(
    &["ageIdentityFile", "environment"],
    ["it does not say where the identities are", OPENERS],
    ["it names two places for identities", OPENERS],
)))]
struct SourceDecryptionFile {
    /// A file of age identities, relative to this file and not under `output.path`.
    age_identity_file: Option<String>,
    /// `true` for the identities of the environment variables `SOPS_AGE_KEY` and `SOPS_AGE_KEY_FILE`.
    #[serde(default)]
    #[allow(dead_code, reason = "it is the other one that tells")]
    environment: bool,
}

const OPENERS: &str = "Write `ageIdentityFile: PATH`, or `environment: true` for SOPS_AGE_KEY and SOPS_AGE_KEY_FILE.";

read_as!(Decryption as SourceDecryptionFile);

impl From<SourceDecryptionFile> for Decryption {
    fn from(file: SourceDecryptionFile) -> Self {
        file.age_identity_file.map_or(Self::Environment, Self::AgeIdentityFile)
    }
}

impl Show for Decryption {
    fn show(&self) -> Option<Tree<'_>> {
        Some(match self {
            Decryption::AgeIdentityFile(path) => given([("ageIdentityFile", path.show())]),
            Decryption::Environment => given([("environment", Some(Tree::Bool(true)))]),
        })
    }
}

/// A directory of the configuration, as a commit has it.
#[derive(Clone, Debug)]
pub struct AsCommitted {
    /// The path of the directory: its files are called as they are there.
    pub path: String,
    /// Folders of the commit that pouch itself writes.
    pub skip: Vec<String>,
}

/// Where a source is.
#[derive(Clone, Debug)]
pub enum SourcePlace {
    /// A folder, or one file.
    Directory {
        /// Relative to the configuration.
        path: String,
        /// The content there.
        content: Content,
    },
    /// A git repository at a revision, read from its objects.
    Git {
        /// URL or local path, the latter relative to the configuration.
        repository: String,
        /// A full `refs/…`, `HEAD`, a whole commit id, or else a branch.
        reference: String,
        /// A folder, or one file, in the tree; empty for the root.
        path: String,
        /// The content there.
        content: Content,
        /// The time that git may take, where that is said.
        limits: SourceGitLimits,
        /// The directory in the place of which it is read, if it is one. No key of the configuration.
        directory: Option<AsCommitted>,
    },
    /// Standard input.
    Stdin,
    /// A live cluster; only what the Credentials need is read.
    Cluster {
        /// The kubeconfig's context; none if there is only one to choose.
        context: Option<String>,
        /// The kubeconfig, relative to the configuration; none for the usual places.
        kubeconfig: Option<String>,
        /// The variables that its credential plugin is handed, beside those that every one is.
        plugin_environment: Variables,
    },
}

impl SourcePlace {
    /// Returns true if kustomize builds what is read of it.
    pub fn is_built(&self) -> bool {
        match self {
            SourcePlace::Directory { content, .. } | SourcePlace::Git { content, .. } => content.is_built(),
            SourcePlace::Stdin | SourcePlace::Cluster { .. } => false,
        }
    }

    /// The field of a source that says it.
    fn field(&self) -> (&'static str, Tree<'_>) {
        match self {
            SourcePlace::Directory { path, content } => {
                ("directory", given([("path", path.show())].into_iter().chain(content.fields())))
            }
            SourcePlace::Git { repository, reference, path, content, limits, directory: _ } => {
                let fields = [("repository", repository), ("ref", reference), ("path", path)];
                let limits = Some(limits).filter(|limits| **limits != SourceGitLimits::default());
                let others = content.fields().into_iter().chain([("limits", limits.and_then(Show::show))]);
                ("git", given(fields.map(|(key, text)| (key, text.show())).into_iter().chain(others)))
            }
            SourcePlace::Stdin => ("stdin", Tree::Map(TreeMap::new())),
            SourcePlace::Cluster { context, kubeconfig, plugin_environment } => {
                let fields = [("context", context.show()), ("kubeconfig", kubeconfig.show())];
                ("cluster", given(fields.into_iter().chain([("pluginEnvironment", plugin_environment.show())])))
            }
        }
    }
}

const NO_PLACE: [&str; 2] =
    ["the source does not say what to read", "Add one of `directory`, `git`, `cluster` and `stdin`."];
const TWO_PLACES: [&str; 2] =
    ["the source names several places", "Keep one of `directory`, `git`, `cluster` and `stdin`."];
const ONE_REF: [&str; 2] = ["it does not name one thing", "Write one of `branch`, `tag` and `commit`."];

/// One source; exactly one of `directory`, `git`, `cluster` and `stdin` says where it is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(&["directory", "git", "cluster", "stdin"], NO_PLACE, TWO_PLACES)))]
pub(super) struct SourceFile {
    /// The source's name, unique in this file.
    #[schemars(extend("x-check" = "source-name"))]
    pub(super) name: SourceName,
    /// A folder, or one file, of manifests.
    pub(super) directory: Option<DirectoryFile>,
    /// A git repository at a revision, read from its objects.
    pub(super) git: Option<GitFile>,
    /// A live cluster; no more is read of it than the Credentials need, and nothing is written.
    pub(super) cluster: Option<ClusterFile>,
    /// Manifests on standard input; at most one source.
    pub(super) stdin: Option<StdinFile>,
    /// What the source may provide; anything else in it is ignored with a finding. Needed with more than
    /// one source; a single source may provide everything.
    pub(super) provides: Option<Provides>,
    /// How encrypted files of this source, and of no other, are opened; without it they are not.
    pub(super) decryption: Option<Decryption>,
    /// Whether the source may say something else about an object of an earlier source.
    #[serde(default)]
    pub(super) overrides: bool,
    /// True if a build may put an encrypted object into another namespace than the file states that was sealed. Without it the
    /// object is broken: a writer of a kustomization could else hand a Secret to another namespace, unopened.
    #[serde(default)]
    pub(super) relabel: bool,
    /// The namespace of namespaced objects that name none.
    #[schemars(extend("x-check" = "namespace"))]
    pub(super) default_namespace: Option<Namespace>,
    /// The region whose Clusters of Cluster API the source describes, such as a region's own cluster: no other region takes
    /// a Cluster of it. A `cluster` source with it need not have k0rdent. It cannot have `provides.clusterScoped`, unless the
    /// region is the management cluster or there is no other source, and its Credentials are held to that region and to what
    /// the source itself has.
    pub(super) region: Option<Region>,
}

/// A folder, or one file, of manifests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DirectoryFile {
    /// The folder or file, relative to this file.
    #[schemars(extend("x-check" = "source-path"))]
    pub(super) path: String,
    /// Globs over paths below `path`; by default YAML and JSON files.
    #[serde(default = "include")]
    pub(super) include: Globs,
    /// Globs over paths below `path` of files that do not count.
    #[serde(default)]
    pub(super) exclude: Globs,
    /// `kustomize` to read what kustomize builds of the kustomization in the folder, instead of its files one by one. The
    /// program must be on the PATH, in version 5 or later.
    pub(super) build: Option<Builder>,
}

/// A git repository at a revision.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GitFile {
    /// A URL without password, or a local path relative to this file.
    #[schemars(extend("x-check" = "source-repository"))]
    pub(super) repository: String,
    /// A full `refs/…`, a branch or a whole commit id; or a map that says which it is. A tag counts only where
    /// it is said to be one. By default the repository's `HEAD`.
    #[serde(rename = "ref", default)]
    pub(super) reference: RefFile,
    /// A folder, or one file, in the repository; by default its root.
    #[serde(default)]
    pub(super) path: String,
    /// Globs over paths below `path`; by default YAML and JSON files.
    #[serde(default = "include")]
    pub(super) include: Globs,
    /// Globs over paths below `path` of files that do not count.
    #[serde(default)]
    pub(super) exclude: Globs,
    /// `kustomize` to read what kustomize builds of the kustomization in the folder, instead of its files one by one. The
    /// program must be on the PATH, in version 5 or later.
    pub(super) build: Option<Builder>,
    /// The time that git may take for this source.
    #[serde(default)]
    pub(super) limits: SourceGitLimits,
}

/// A branch, tag or commit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RefFile {
    /// A full `refs/…`, a branch or a whole commit id.
    #[schemars(extend("x-check" = "reference"))]
    Text(String),
    /// What is said to be one of them.
    Map(RefMapFile),
}

impl Default for RefFile {
    fn default() -> Self {
        Self::Text("HEAD".to_string())
    }
}

/// Exactly one of `branch`, `tag` and `commit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(&["branch", "tag", "commit"], ONE_REF, ONE_REF)))]
pub(super) struct RefMapFile {
    /// A branch, by its short name.
    #[schemars(extend("x-check" = "ref-name"))]
    pub(super) branch: Option<String>,
    /// A tag, by its short name.
    #[schemars(extend("x-check" = "ref-name"))]
    pub(super) tag: Option<String>,
    /// A commit, by its whole id.
    #[schemars(extend("x-check" = "commit"))]
    pub(super) commit: Option<String>,
}

/// A live cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClusterFile {
    /// The context of the kubeconfig; `--context` overrides it. Without either, the only context there
    /// is, the service account of the Pod that pouch runs in, or, on a terminal, the current context.
    #[schemars(extend("x-check" = "context"))]
    pub(super) context: Option<String>,
    /// The kubeconfig, relative to this file; `--kubeconfig` overrides it. By default the files of
    /// `KUBECONFIG`, else `~/.kube/config`.
    #[schemars(extend("x-check" = "file-path"))]
    pub(super) kubeconfig: Option<String>,
    /// The environment variables that the kubeconfig's credential plugin is handed, beside those that every program needs:
    /// names, or their beginning and `*`. `--plugin-env` adds to them.
    #[serde(default)]
    pub(super) plugin_environment: Variables,
}

/// Standard input; has no fields.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StdinFile {}

impl RefFile {
    /// The reference as a text that leaves nothing open: only one that is called a tag can be one.
    fn whole(&self) -> String {
        let RefMapFile { branch, tag, commit } = match self {
            RefFile::Text(text) => return text.clone(),
            RefFile::Map(map) => map,
        };
        let branch = branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
        let tag = || tag.as_ref().map(|tag| format!("refs/tags/{tag}"));
        let commit = || commit.as_ref().map(|commit| commit.to_ascii_lowercase());
        branch.or_else(tag).or_else(commit).unwrap_or_default()
    }
}

impl SourceFile {
    /// Where it is; standard input where nothing says so.
    fn place(&self, path: &FieldPath, faults: &mut Faults) -> SourcePlace {
        let mut content = |build: Option<Builder>, include: &Globs, exclude: &Globs, path: &FieldPath| {
            Content::resolve(build, (include, exclude), path, faults)
        };
        if let Some(DirectoryFile { path: folder, include, exclude, build }) = &self.directory {
            let content = content(*build, include, exclude, &path.key("directory"));
            SourcePlace::Directory { path: folder.clone(), content }
        } else if let Some(GitFile { repository, reference, path: folder, include, exclude, build, limits }) = &self.git
        {
            let content = content(*build, include, exclude, &path.key("git"));
            let folder = match folder.as_str() {
                "" | "." | "./" => String::new(),
                text => repository::tidy_inside(text).unwrap_or_else(|fault| {
                    let help = "Write a folder or a file in the repository, or leave it out for the root.";
                    faults.add(&path.key("git").key("path"), fault.message(), help);
                    String::new()
                }),
            };
            let (repository, reference) = (repository.clone(), reference.whole());
            SourcePlace::Git { repository, reference, path: folder, content, limits: *limits, directory: None }
        } else if let Some(ClusterFile { context, kubeconfig, plugin_environment }) = self.cluster.clone() {
            SourcePlace::Cluster { context, kubeconfig, plugin_environment }
        } else {
            SourcePlace::Stdin
        }
    }

    /// Resolves the source, but for what depends on the other sources.
    fn resolve(
        &self,
        kinds: &BTreeMap<GroupKind, ExtraKind>,
        output: &Output,
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Source {
        let everything = || Provides { namespaces: Globs::everything(), cluster_scoped: true, objects: Vec::new() };
        let provides = self.provides.clone().unwrap_or_else(everything);
        let path_of_objects = path.key("provides").key("objects");
        if self.cluster.is_some() && !provides.objects.is_empty() {
            let message = "a cluster's own rights say who may write which object in it";
            faults.add_at_key(&path_of_objects, message, "Remove the field.");
        }
        for (at, objects) in provides.objects.iter().enumerate() {
            // Rules choose among the objects of everybody, so no source provides one by its name.
            let also: fn(&GroupKind) -> bool =
                |kind| is_by_configuration(kind) && *kind != sync_rule() && !is_managed_resource(kind);
            let known = KnownKinds { kinds, also };
            placed(&objects.kind, objects.namespace.as_ref(), &known, &path_of_objects.index(at), faults);
        }
        let path_of_namespace = path.key("defaultNamespace");
        if let Some(namespace) = self.default_namespace.as_ref().map(Namespace::as_str) {
            if self.cluster.is_some() {
                let message = "a cluster's objects name their namespaces themselves";
                faults.add_at_key(&path_of_namespace, message, "Remove the field.");
            }
            if !provides.namespaces.matches(namespace) {
                let message =
                    format!("the source does not provide {}, so all of that would be ignored", quoted(namespace));
                faults.add(&path_of_namespace, message, "Add the namespace to `provides.namespaces`.");
            }
        }
        let path_of_decryption = path.key("decryption");
        if self.decryption.is_some() && self.cluster.is_some() {
            let message = "objects of a cluster are not opened";
            let help = "Remove the field; the cluster has its Secrets in clear.";
            faults.add_at_key(&path_of_decryption, message, help);
        } else if let Some(Decryption::AgeIdentityFile(file)) = &self.decryption {
            let leaked = "Treat the identity as leaked: seal its files for a new one, and rotate the credentials in \
                          them. Write here the file that holds the new identity.";
            output.key_file(file, &path_of_decryption.key("ageIdentityFile"), leaked, faults);
        }
        let place = self.place(path, faults);
        if self.relabel && !place.is_built() {
            let message = "the source is not built, so every object is where its file says";
            faults.add_at_key(&path.key("relabel"), message, "Remove the field.");
        }
        Source {
            name: self.name.clone(),
            place,
            provides,
            overrides: self.overrides,
            region: self.region.clone(),
            default_namespace: self.default_namespace.clone(),
            decryption: self.decryption.clone(),
            relabel: self.relabel,
        }
    }
}

/// Resolves all sources.
pub(super) fn resolve(
    typed: &[SourceFile],
    regions: &BTreeMap<Region, RegionConfig>,
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    guarded: &Guarded,
    output: &Output,
    faults: &mut Faults,
) -> Vec<Source> {
    let path = FieldPath::root().key("sources");
    if typed.is_empty() {
        let help = "Name at least one `directory`, `git` repository, `cluster` or `stdin`.";
        faults.add(&path, "there is no source", help);
    }
    let mut names: BTreeMap<&SourceName, usize> = BTreeMap::new();
    let mut stdin = None;
    let mut sources = Vec::new();
    for (at, source) in typed.iter().enumerate() {
        let path = path.index(at);
        if let Some(first) = names.insert(&source.name, at) {
            let message = format!("sources[{first}] has the same name");
            faults.add(&path.key("name"), message, "Give every source a name of its own.");
        }
        if source.stdin.is_some() {
            if let Some(first) = stdin {
                let message = format!("sources[{first}] is standard input already, and there is only one");
                faults.add(&path.key("stdin"), message, "Join what comes in, or read the rest from a directory.");
            }
            stdin = stdin.or(Some(at));
        }
        if source.provides.is_none() && typed.len() > 1 {
            let message = "with more than one source, each must say what it may provide";
            let help =
                "Add `provides: {namespaces: [GLOB]}`, and `clusterScoped: true` to the one that you trust most.";
            faults.add_at_key(&path.key("provides"), message, help);
        }
        sources.push(source.resolve(kinds, output, &path, faults));
        if let Some(region) = &source.region {
            check_known(region, regions, &path.key("region"), faults);
            // Of the only source there are no others, and the management cluster is trusted with everything anyway.
            if typed.len() > 1 && regions.get(region).is_some_and(|region| !region.management) {
                refuse_trust(source, region, &path, faults);
            }
        }
    }
    overlaps(&sources, guarded, faults);
    sources
}

/// Finds objects that two sources may provide, of which at least one names them: each could put its own in the place of
/// the other's. A source with `clusterScoped` is trusted with all of them.
fn overlaps(sources: &[Source], guarded: &Guarded, faults: &mut Faults) {
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
                    !guarded.contains(namespace)
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
/// there.
fn refuse_trust(source: &SourceFile, region: &Region, path: &FieldPath, faults: &mut Faults) {
    let describes = format!("the source describes the Clusters of region {region}, and");
    if source.provides.as_ref().is_some_and(|provides| provides.cluster_scoped) {
        let path = path.key("provides").key("clusterScoped");
        let help = "Remove `clusterScoped`, and name under `provides.objects` the identities and Secrets that its Clusters use; \
                    or remove `region`.";
        faults.add(&path, format!("{describes} would be trusted with all regions"), help);
    }
    if source.overrides {
        let message = format!("{describes} its objects would count for all regions in place of those of other sources");
        faults.add(&path.key("overrides"), message, "Remove `overrides`, or remove `region`.");
    }
}
