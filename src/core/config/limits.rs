//! Limits: what a run may cost and change, what goes beyond that once, and how the configuration says it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::delivery::Delivery;
use super::error::{Faults, FieldPath};
use super::forms::is_digest;
use super::region::{RegionConfig, check_known};
use super::setting::{Bytes, Percent, Seconds, Show, Unit, given, one_of, read_as, shown};
use crate::name::{Namespace, Region};
use crate::yaml::emit::Tree;

/// Bounds of one run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "LimitsFile")]
pub struct Limits {
    /// How much may be withdrawn without a person.
    pub deletions: Deletions,
    /// How long an object stays published that a Credential has just exchanged for another, so that no consumer removes it
    /// before what pointed to it has moved: a number with `s`, `m`, `h` or `d`. With `0s` it goes at once.
    #[schemars(extend("default" = "1h"))]
    pub retain_replaced: Seconds,
    /// How much of a region may be sealed anew without having changed.
    pub reseal: Reseal,
    /// What may pass beyond that, once: the digests are those that the finding's help line prints.
    pub accept: Vec<Acceptance>,
    /// The cost that reading one source may have; the costliest files beyond that are left out.
    pub sources: SourceLimits,
    /// The cost that a build by kustomize may have.
    pub build: BuildLimits,
    /// The memory that what is read of all sources may take together, about; the most that one may have is what the others
    /// leave. By default it is half of what the run may have: of the memory limit that is set for it, or of what is free.
    #[schemars(with = "Option<Bytes>")]
    pub memory: Option<Bytes>,
    /// The space that what is fetched of all sources may take together where temporary files are. By default it is half
    /// of what is free there.
    #[schemars(with = "Option<Bytes>")]
    pub space: Option<Bytes>,
    /// How long git may take.
    pub git: GitLimits,
    /// How often a push that lost against another writer is tried again from the start.
    #[schemars(with = "u32", range(min = 1, max = 100))]
    pub attempts: usize,
    /// The most objects of one region; by default what its consumer takes: 5000, with Argo CD 3000, with KSOPS 2000.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub objects_per_region: Option<usize>,
    /// About the most objects of one leaf, which is what Flux builds at once: a larger one is split. By default none is.
    /// Argo CD always applies a whole region, so there this has no effect.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub objects_per_leaf: Option<usize>,
    /// The most objects of one Credential namespace in one region.
    #[schemars(with = "u32", range(min = 1))]
    pub objects_per_namespace: usize,
    /// The most Credentials of one namespace in one region.
    #[schemars(with = "u32", range(min = 1))]
    pub credentials_per_namespace: usize,
    /// The most bytes that Secrets for one namespace take in one region once they are sealed.
    pub sealed_bytes_per_namespace: Bytes,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deletions: Deletions::DEFAULT,
            retain_replaced: Seconds::of(1, Unit::Hour),
            reseal: Reseal::default(),
            accept: Vec::new(),
            sources: SourceLimits::DEFAULT,
            build: BuildLimits::default(),
            memory: None,
            space: None,
            git: GitLimits::default(),
            attempts: 5,
            objects_per_region: None,
            objects_per_leaf: None,
            objects_per_namespace: 500,
            credentials_per_namespace: 500,
            sealed_bytes_per_namespace: Bytes(16 << 20),
        }
    }
}

shown!(Limits {
    "deletions": deletions,
    "retainReplaced": retain_replaced,
    "reseal": reseal,
    "accept": accept,
    "sources": sources,
    "build": build,
    "memory": memory,
    "space": space,
    "git": git,
    "attempts": attempts,
    "objectsPerRegion": objects_per_region,
    "objectsPerLeaf": objects_per_leaf,
    "objectsPerNamespace": objects_per_namespace,
    "credentialsPerNamespace": credentials_per_namespace,
    "sealedBytesPerNamespace": sealed_bytes_per_namespace,
});

impl Limits {
    /// The most objects of a region that is delivered to in this way.
    pub fn most_objects(&self, delivery: &Delivery) -> usize {
        self.objects_per_region.unwrap_or_else(|| delivery.most_objects())
    }

    /// Checks what no value says by itself.
    pub(super) fn check(&self, regions: &BTreeMap<Region, RegionConfig>, faults: &mut Faults) {
        let at = FieldPath::root().key("limits");
        if self.deletions.most < self.deletions.claimants {
            let help = "Raise `most`, or lower `claimants`: it is the most in any case.";
            faults.add(&at.key("deletions").key("most"), "this is less than `claimants`", help);
        }
        for (index, acceptance) in self.accept.iter().enumerate() {
            acceptance.check(&at.key("accept").index(index), regions, faults);
        }
    }
}

/// The cost that reading one source may have.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "SourceLimitsFile")]
pub struct SourceLimits {
    /// The most documents.
    #[schemars(with = "u32", range(min = 1))]
    pub documents: usize,
    // Counted after aliases are followed.
    /// The most values, maps and lists in them.
    #[schemars(with = "u32", range(min = 1))]
    pub nodes: usize,
    // One that stands in several places counts in each.
    /// The most bytes of its files together.
    #[schemars(with = "u32", range(min = 1))]
    pub bytes: usize,
    /// The most bytes of text that aliases in YAML copy.
    #[schemars(with = "u32")]
    pub copied_bytes: usize,
    /// The longest that a run reads a source without `provides.clusterScoped`: files once they are fetched, or all requests
    /// to a cluster together. A number with `s`, `m`, `h` or `d`. A source that takes longer counts as unread.
    #[schemars(extend("default" = "5m", "x-check" = "time-above-zero"))]
    pub time: Seconds,
}

impl SourceLimits {
    /// Room for 300,000 objects of the usual size three times over, in about a gigabyte of memory.
    pub const DEFAULT: Self = Self {
        documents: 1_000_000,
        nodes: 10_000_000,
        bytes: 1 << 30,
        copied_bytes: 64 << 20,
        time: Seconds::of(5, Unit::Minute),
    };
}

impl Default for SourceLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

shown!(SourceLimits {
    "documents": documents,
    "nodes": nodes,
    "bytes": bytes,
    "copiedBytes": copied_bytes,
    "time": time,
});

/// The cost that a build by kustomize may have: one that takes more is ended, and its source counts as unread.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "BuildLimitsFile")]
pub struct BuildLimits {
    /// The longest that it may take, in seconds, with what is gathered for it.
    #[schemars(with = "u32", range(min = 1))]
    pub seconds: usize,
    /// The most bytes that it may be given, and print.
    pub bytes: Bytes,
    /// The most files that it may be given, and objects that it may make.
    #[schemars(with = "u32", range(min = 1))]
    pub objects: usize,
    /// The most memory that kustomize may take.
    pub memory: Bytes,
}

impl Default for BuildLimits {
    fn default() -> Self {
        Self { seconds: 60, bytes: Bytes(64 << 20), objects: 20_000, memory: Bytes(1 << 30) }
    }
}

shown!(BuildLimits { "seconds": seconds, "bytes": bytes, "objects": objects, "memory": memory });

/// How long git may take, for sources and output alike: numbers with `s`, `m`, `h` or `d`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "GitLimitsFile")]
pub struct GitLimits {
    /// The longest that git may say nothing of its progress.
    #[schemars(extend("default" = "2m", "x-check" = "time-above-zero"))]
    pub idle: Seconds,
    /// The longest that one fetch or push may take, however it goes on.
    #[schemars(extend("default" = "1h", "x-check" = "time-above-zero"))]
    pub total: Seconds,
    /// How long a branch is watched after a push whose outcome is unknown.
    #[schemars(extend("default" = "30s"))]
    pub settle: Seconds,
    /// The time that git may take for a source without `provides.clusterScoped`: everyone else waits for its server too.
    pub tenant: TenantGitLimits,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            idle: Seconds::of(2, Unit::Minute),
            total: Seconds::of(1, Unit::Hour),
            settle: Seconds::of(30, Unit::Second),
            tenant: TenantGitLimits::default(),
        }
    }
}

shown!(GitLimits { "idle": idle, "total": total, "settle": settle, "tenant": tenant });

/// The time that git may take for a source that is not trusted with everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "TenantGitLimitsFile")]
pub struct TenantGitLimits {
    /// The longest that git may say nothing of its progress.
    #[schemars(extend("default" = "60s", "x-check" = "time-above-zero"))]
    pub idle: Seconds,
    /// The longest that all fetches of one source may take together, however they go on.
    #[schemars(extend("default" = "5m", "x-check" = "time-above-zero"))]
    pub total: Seconds,
}

impl Default for TenantGitLimits {
    fn default() -> Self {
        Self { idle: Seconds::of(60, Unit::Second), total: Seconds::of(5, Unit::Minute) }
    }
}

shown!(TenantGitLimits { "idle": idle, "total": total });

/// The time that git may take for one source, where that is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SourceGitLimitsFile")]
pub struct SourceGitLimits {
    /// The longest that git may say nothing of its progress; by default that of `limits.git`, or of `limits.git.tenant`
    /// without `provides.clusterScoped`.
    #[schemars(extend("x-check" = "time-above-zero"))]
    pub idle: Option<Seconds>,
    /// The longest that all fetches of the source may take together; by default as `idle`.
    #[schemars(extend("x-check" = "time-above-zero"))]
    pub total: Option<Seconds>,
}

shown!(SourceGitLimits { "idle": idle, "total": total });

/// How many claimants of one kind in one namespace may lose something of a region within a window, and in how many
/// namespaces at once: the larger of `claimants` and `percent`, never more than `most`. What is beyond stays published.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "DeletionsFile")]
pub struct Deletions {
    /// So many always may.
    #[schemars(with = "u32")]
    pub claimants: usize,
    /// So many may, in percent of the namespace's claimants of the kind.
    pub percent: Percent,
    /// Never more than so many; of one claimant that loses more objects and entries than that, each counts.
    #[schemars(with = "u32")]
    pub most: usize,
    /// The claimants of a region, or of a group of guests, that stay in any case, in percent.
    pub keep: Percent,
    /// For how long withdrawals from a branch are counted together: a number with `s`, `m`, `h` or `d`.
    #[schemars(extend("default" = "24h"))]
    pub window: Seconds,
}

impl Deletions {
    /// What holds unless the configuration says otherwise.
    pub const DEFAULT: Self =
        Self { claimants: 1, percent: Percent(20), most: 10, keep: Percent(50), window: Seconds::of(24, Unit::Hour) };

    /// How many of so many may be lost.
    pub fn allowed(&self, of: usize) -> usize {
        self.percent.of(of).max(self.claimants).min(self.most)
    }

    /// As what a claimant counts that loses so many objects and entries.
    pub fn weight(&self, lost: usize) -> usize {
        if lost > self.most { lost } else { lost.min(1) }
    }

    /// Returns true if enough of a whole are left.
    pub fn leaves_enough(&self, left: usize, of: usize) -> bool {
        self.keep.is_reached(left, of)
    }
}

impl Default for Deletions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

shown!(Deletions { "claimants": claimants, "percent": percent, "most": most, "keep": keep, "window": window });

/// How much of a region may be sealed anew without having changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "ResealFile")]
pub struct Reseal {
    /// The most Secrets, in percent of the region's.
    pub percent: Percent,
}

impl Default for Reseal {
    fn default() -> Self {
        Self { percent: Percent(20) }
    }
}

shown!(Reseal { "percent": percent });

/// What an acceptance lets through, once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Accept {
    /// Withdrawals.
    Deletions,
    /// Added recipients.
    Recipients,
    /// Re-sealing.
    Reseal,
}

/// One acceptance: it fits one set of changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Acceptance {
    /// The region.
    pub region: Region,
    /// The namespace whose withdrawals are accepted; none for the whole region.
    pub namespace: Option<Namespace>,
    /// What is accepted.
    pub what: Accept,
    /// First 16 hex digits of the digest that the brake printed.
    pub digest: String,
}

/// One acceptance; exactly one of `deletions`, `recipients` and `reseal`, each a digest of 16 hex digits.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(&["deletions", "recipients", "reseal"], ONE, ONE)))]
struct AcceptFile {
    /// The region.
    region: Region,
    /// The namespace whose withdrawals are accepted, if the finding's help line names one.
    namespace: Option<Namespace>,
    /// Accepts these withdrawals.
    #[schemars(extend("x-check" = "digest"))]
    deletions: Option<String>,
    /// Accepts these added recipients.
    #[schemars(extend("x-check" = "digest"))]
    recipients: Option<String>,
    /// Accepts this re-sealing, or that these values are replaced.
    #[schemars(extend("x-check" = "digest"))]
    reseal: Option<String>,
}

/// The message and the help for an acceptance that names none of its fields, or several.
const ONE: [&str; 2] = [
    "an acceptance lets exactly one thing through",
    "Write one of `deletions`, `recipients` and `reseal`; add an entry for each further one.",
];

read_as!(Acceptance as AcceptFile);

impl From<AcceptFile> for Acceptance {
    fn from(file: AcceptFile) -> Self {
        let AcceptFile { region, namespace, deletions, recipients, reseal } = file;
        let given = [(Accept::Deletions, deletions), (Accept::Recipients, recipients), (Accept::Reseal, reseal)];
        let given = given.into_iter().find_map(|(what, digest)| Some((what, digest?)));
        let (what, digest) = given.unwrap_or((Accept::Deletions, String::new()));
        Self { region, namespace, what, digest }
    }
}

impl Show for Acceptance {
    fn show(&self) -> Option<Tree<'_>> {
        let fields = [
            ("region", self.region.show()),
            ("namespace", self.namespace.show()),
            (self.what.word(), self.digest.show()),
        ];
        Some(given(fields))
    }
}

impl Accept {
    /// The word for it, in digests and in the trailers of commits.
    pub fn word(self) -> &'static str {
        match self {
            Accept::Deletions => "deletions",
            Accept::Recipients => "recipients",
            Accept::Reseal => "reseal",
        }
    }

    /// The flag of the command line.
    pub fn flag(self) -> &'static str {
        match self {
            Accept::Deletions => "--accept-deletions",
            Accept::Recipients => "--accept-recipients",
            Accept::Reseal => "--accept-reseal",
        }
    }

    /// Returns true if one namespace's can be accepted.
    pub fn is_by_namespace(self) -> bool {
        self == Accept::Deletions
    }
}

impl Acceptance {
    /// Reads `REGION=DIGEST`, or `REGION/NAMESPACE=DIGEST` of withdrawals; none if it is neither.
    pub fn parse(what: Accept, text: &str) -> Option<Self> {
        let (whose, digest) = text.split_once('=')?;
        let (region, namespace) = match whose.split_once('/') {
            Some((region, namespace)) if what.is_by_namespace() => (region, Some(namespace.into())),
            Some(_) => return None,
            None => (whose, None),
        };
        is_digest(digest).then(|| Self { region: region.into(), namespace, what, digest: digest.into() })
    }

    /// What a commit that needed it says of it.
    pub fn trailer(&self) -> String {
        format!("{} {self}", self.what.word())
    }

    /// Reads what a commit says of an acceptance that it needed.
    pub fn of_trailer(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ')?;
        let what = [Accept::Deletions, Accept::Recipients, Accept::Reseal].into_iter().find(|what| what.word() == word);
        Self::parse(what?, rest)
    }

    fn check(&self, path: &FieldPath, regions: &BTreeMap<Region, RegionConfig>, faults: &mut Faults) {
        check_known(&self.region, regions, &path.key("region"), faults);
        if self.namespace.is_some() && !self.what.is_by_namespace() {
            let help = "Remove it: recipients and values are a region's.";
            faults.add(&path.key("namespace"), String::from("this acceptance is for a whole region"), help);
        }
    }
}

/// An acceptance as flags and commits write it: `eu-west/team-a=0123456789abcdef`.
impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.region)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "/{namespace}")?;
        }
        write!(f, "={}", self.digest)
    }
}
