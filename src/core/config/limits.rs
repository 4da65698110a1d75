//! Limits: what a run may cost and change, what goes beyond that once, and how the configuration says it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::Delivery;
use crate::name::{Namespace, Region};
use crate::yaml::emit::Tree;

/// What the files of one source may cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLimits {
    /// The most documents.
    pub documents: usize,
    /// The most values, maps and lists in them, counted after aliases are followed.
    pub nodes: usize,
    /// The most bytes of its files together; one that stands in several places counts in each.
    pub bytes: usize,
    /// The most bytes of text that aliases copy.
    pub copied_bytes: usize,
}

impl SourceLimits {
    /// Room for 300,000 objects of the usual size three times over, in about a gigabyte of memory.
    pub const DEFAULT: Self = Self { documents: 1_000_000, nodes: 10_000_000, bytes: 1 << 30, copied_bytes: 64 << 20 };
}

/// How long git may take, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GitLimits {
    /// The longest that git may say nothing of its progress.
    pub idle: u64,
    /// The longest that one fetch or push may take.
    pub total: u64,
    /// How long a branch is watched after a push whose outcome is unknown.
    pub settle: u64,
}

/// How much may be withdrawn without a person (`limits.deletions`): claimants of one kind in one namespace, and
/// namespaces with such claimants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deletions {
    /// So many always may.
    pub claimants: usize,
    /// Above that, so many in percent of those that there are.
    pub percent: usize,
    /// Never more than so many; and of one claimant that loses more objects and entries than that, each counts.
    pub most: usize,
    /// The claimants of a region, or of a group of guests, that stay in any case, in percent.
    pub keep: usize,
    /// For how long withdrawals are counted together, in seconds.
    pub window: u64,
}

impl Deletions {
    /// What holds unless the configuration says otherwise.
    pub const DEFAULT: Self = Self { claimants: 1, percent: 20, most: 10, keep: 50, window: 24 * 3600 };

    /// How many of so many may be lost.
    pub fn allowed(&self, of: usize) -> usize {
        let share = of.saturating_mul(self.percent).checked_div(100).unwrap_or_default();
        share.max(self.claimants).min(self.most)
    }

    /// As what a claimant counts that loses so many objects and entries.
    pub fn weight(&self, lost: usize) -> usize {
        if lost > self.most { lost } else { lost.min(1) }
    }

    /// Returns true if enough of a whole are left.
    pub fn leaves_enough(&self, left: usize, of: usize) -> bool {
        left.saturating_mul(100) >= of.saturating_mul(self.keep)
    }
}

/// Bounds of one run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// What the files of one source may cost.
    pub sources: SourceLimits,
    /// How much may be withdrawn without a person.
    pub deletions: Deletions,
    /// How long what a claim has exchanged for another object stays published, in seconds; 0 for not at all.
    pub handover: u64,
    /// The most unchanged Secrets of a region that may be sealed anew, in percent.
    pub reseal_percent: usize,
    /// Acceptances of what goes beyond these bounds.
    pub accept: Vec<Acceptance>,
    /// How long git may take.
    pub git: GitLimits,
    /// How often a lost push is tried again from the start.
    pub attempts: usize,
    /// The most objects of one region; none for what its consumer takes.
    pub objects_per_region: Option<usize>,
    /// The most objects that are built and applied at once before they are split; none for any number.
    pub objects_per_leaf: Option<usize>,
    /// The most objects of one Credential namespace in one region.
    pub objects_per_namespace: usize,
    /// The most Credentials of one namespace in one region.
    pub credentials_per_namespace: usize,
    /// The most bytes that Secrets for one namespace take in one region once they are sealed.
    pub sealed_bytes_per_namespace: usize,
}

impl Limits {
    /// The most objects of a region that is delivered to in this way.
    pub fn most_objects(&self, delivery: &Delivery) -> usize {
        self.objects_per_region.unwrap_or_else(|| delivery.most_objects())
    }

    /// As the configuration has them, defaults written out.
    pub(super) fn tree(&self) -> Tree<'_> {
        let deletions = [
            ("claimants", Tree::count(self.deletions.claimants)),
            ("percent", Tree::count(self.deletions.percent)),
            ("most", Tree::count(self.deletions.most)),
            ("keep", Tree::count(self.deletions.keep)),
            ("window", Tree::text(format!("{}s", self.deletions.window))),
        ];
        let sources = [
            ("documents", Tree::count(self.sources.documents)),
            ("nodes", Tree::count(self.sources.nodes)),
            ("bytes", Tree::count(self.sources.bytes)),
            ("copiedBytes", Tree::count(self.sources.copied_bytes)),
        ];
        let git = [("idle", self.git.idle), ("total", self.git.total), ("settle", self.git.settle)];
        let git = git.map(|(name, seconds)| (name, Tree::text(format!("{seconds}s"))));
        let fields = [
            ("deletions", Tree::map(deletions)),
            ("handover", Tree::text(format!("{}s", self.handover))),
            ("reseal", Tree::map([("percent", Tree::count(self.reseal_percent))])),
            ("accept", Tree::List(self.accept.iter().map(Acceptance::tree).collect())),
            ("sources", Tree::map(sources)),
            ("git", Tree::map(git)),
            ("attempts", Tree::count(self.attempts)),
            ("objectsPerNamespace", Tree::count(self.objects_per_namespace)),
            ("credentialsPerNamespace", Tree::count(self.credentials_per_namespace)),
            ("sealedBytesPerNamespace", Tree::count(self.sealed_bytes_per_namespace)),
        ];
        let per_region = self.objects_per_region.map(|most| ("objectsPerRegion", Tree::count(most)));
        let per_leaf = self.objects_per_leaf.map(|most| ("objectsPerLeaf", Tree::count(most)));
        Tree::map(fields.into_iter().chain(per_region).chain(per_leaf))
    }
}

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

/// Whether `text` can be an [`Acceptance`]'s digest: 16 hex digits in lower case.
pub fn is_digest(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
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

    /// As the configuration has it.
    fn tree(&self) -> Tree<'_> {
        let what = self.what.word();
        let namespace = self.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
        let fields = [("region", Tree::text(self.region.as_str())), (what, Tree::text(self.digest.as_str()))];
        Tree::map(fields.into_iter().chain(namespace))
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
