//! The answer of `pouch log`, as its JSON has it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::history::Skipped;
use crate::report::summary::ObjectRecord;

/// The JSON Schema of the answer.
pub fn schema() -> Schema {
    // As it is written: what is left out when empty is not required.
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<Log>()
}

/// The life of what is published, by the history of the branches that regions follow. Values never stand in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    /// Always `pouch/v1alpha1`.
    pub api_version: &'static str,
    /// Always `Log`.
    pub kind: &'static str,
    /// What was asked about, in the words of the command line; absent if everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// When it was asked: ages are counted up to then.
    pub at: String,
    /// What was looked at.
    pub looked: Looked,
    /// Whether values of the sources were compared with the tags in history.
    pub values: bool,
    /// The age of `--older-than`, in seconds; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<u64>,
    /// The entries of `--not-secret`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_secret: Vec<String>,
    /// The commits that changed something that was asked about, newest first; absent with `--older-than`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<Vec<CommitRecord>>,
    /// How many Secrets are published now of what was asked about.
    pub published: usize,
    /// The Secrets that are published now, by region, and of a region those first whose values are known for longest;
    /// with `--older-than` only those that are not known to have been rotated since.
    pub secrets: Vec<SecretRecord>,
}

/// What was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Looked {
    /// The repository: a URL without user, query and fragment, or a path.
    pub repository: String,
    /// The branches, tags or commits whose history was looked at, each along its first parents.
    pub branches: Vec<BranchRecord>,
    /// Branches of the configuration that the repository does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Files that could not be looked at, so that what they show is not in the answer.
    pub skipped: Skipped,
}

/// A line of history.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchRecord {
    /// Its name, as it was looked up.
    pub name: String,
    /// Its newest commit.
    pub commit: CommitName,
    /// How many commits were looked at.
    pub commits: usize,
    /// How many of them have a line of pouch's that does not fit the commit: they were made anew since, or by somebody
    /// else. Told only with the reuse key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproved: Option<usize>,
}

/// A commit.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitName {
    /// Its id.
    pub id: String,
    /// When it was committed, as the commit says.
    pub time: String,
}

/// A commit that changed something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitRecord {
    /// Which commit.
    #[serde(flatten)]
    pub commit: CommitName,
    /// The branch in whose history it is.
    pub branch: String,
    /// Its author's name, as the commit says.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// The commits that it merges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<CommitName>,
    /// Which states of the sources were read for it, as the commit says, or else as those say that it merges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceRecord>,
    /// Whether its last line proves that pouch made it, on this parent and with this content; or that of a commit that it
    /// merges as it is. Told only with the reuse key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proved: Option<bool>,
    /// What it changed.
    pub events: Vec<Event>,
}

/// A state of a source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceRecord {
    /// The source's name in the configuration.
    pub name: String,
    /// The commit of a repository, or the `resourceVersion` of a cluster.
    pub state: String,
}

/// What a commit did to an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What it did.
    pub what: What,
    /// The fleet.
    pub fleet: String,
    /// The region's folder.
    pub directory: String,
    /// The region's name, where the configuration has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The object as it lands on the region.
    pub object: ObjectRecord,
    /// The Credentials that need it, or needed it before, by the manifest, as `NAMESPACE/NAME`; Clusters without one, as
    /// `cluster/NAMESPACE/NAME`, and ClusterResourceSets, as `clusterresourceset/NAMESPACE/NAME`.
    pub credentials: Vec<String>,
    /// Whether it was published before, and withdrawn in between.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub again: bool,
    /// What became of a Secret's values, where its file is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// The entries whose values are others, or may be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryRecord>,
    /// Who can read the file, and could not read the one before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipients_added: Vec<String>,
    /// Who could read the file before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipients_removed: Vec<String>,
    /// The names that the configuration gives these recipients now, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub recipient_names: BTreeMap<String, String>,
    /// Why it was carried over: the code of a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Those that need it, and did not before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credentials_added: Vec<String>,
    /// Those that do not need it any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credentials_removed: Vec<String>,
}

/// What a commit did to an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// It is withdrawn.
    Withdrawn,
    /// It is published, for the first time or again.
    Published,
    /// Its content is another; of a Secret, at least one value.
    Changed,
    /// A Secret is sealed for others.
    Recipients,
    /// A Secret is sealed anew for the same recipients, and no value is known to be another.
    Resealed,
    /// A Secret has new tags of pouch, and the sealed values of before.
    Retagged,
    /// It stays as it was published, because of a finding.
    Carried,
    /// It was carried over, and is again as the sources say.
    Current,
    /// Others need it.
    Needed,
    /// Its file is not the one that the manifest lists.
    Altered,
    /// Its file is again the one that the manifest lists.
    AsListed,
}

impl What {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            What::Withdrawn => "withdrawn",
            What::Published => "published",
            What::Changed => "changed",
            What::Recipients => "recipients",
            What::Resealed => "resealed",
            What::Retagged => "retagged",
            What::Carried => "carried",
            What::Current => "current",
            What::Needed => "needed",
            What::Altered => "altered",
            What::AsListed => "as listed",
        }
    }
}

/// What is known of values in two files of one Secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Values {
    /// At least one is another.
    Changed,
    /// Nothing tells whether one is another.
    Unknown,
    /// All are the same.
    Same,
}

/// An entry of a Secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryRecord {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub change: EntryChange,
}

/// What became of an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EntryChange {
    /// It has a value, and had none.
    Added,
    /// It has another value.
    Changed,
    /// It has no value any more.
    Withdrawn,
    /// Nothing tells whether it has another value.
    Unknown,
}

/// A Secret that is published now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRecord {
    /// The branch that it is published on.
    pub branch: String,
    /// The fleet.
    pub fleet: String,
    /// The region's folder.
    pub directory: String,
    /// The region's name, where the configuration has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The Secret's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Secret's name.
    pub name: String,
    /// The Credentials that need it, by the manifest, and Clusters without one.
    pub credentials: Vec<String>,
    /// The first commit of this history that published it.
    pub first: CommitName,
    /// The names of the entries by which its age counts, because no other one that counts is as old.
    pub oldest: Vec<String>,
    /// The last commit that is known to have changed the value of its oldest entry, or the first that published the Secret.
    pub rotated: CommitName,
    /// Whether that commit changed a value; otherwise it was the first that published the Secret.
    pub changed: bool,
    /// The last commit after it that sealed the Secret anew, or added an entry, so that nobody can tell from here whether a
    /// value was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perhaps_rotated: Option<CommitName>,
    /// For how long its values have been published at most, in seconds: since `rotated`.
    pub at_most: u64,
    /// For how long its values have been published at least, in seconds: since `perhapsRotated`, if there is that.
    pub at_least: u64,
    /// Its entries that have a value, by name; none where its file cannot be read.
    pub entries: Vec<EntryAge>,
}

/// Since when the value of an entry is what it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryAge {
    /// Its name.
    pub name: String,
    /// Whether it makes its Secret old: not if it is no secret by its nature, such as a user's name beside a password, or
    /// if `--not-secret` names it; but all count where no other one is left.
    pub counts: bool,
    /// The last commit that is known to have changed its value, or the first that published the Secret.
    pub rotated: CommitName,
    /// Whether that commit changed it; otherwise it was the first that published the Secret.
    pub changed: bool,
    /// The last commit after it that may have changed the value, or brought it under this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perhaps_rotated: Option<CommitName>,
    /// For how long its value has been published at most, in seconds.
    pub at_most: u64,
    /// For how long its value has been published at least, in seconds.
    pub at_least: u64,
}
