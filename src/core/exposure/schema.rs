//! The answer of `pouch exposure`, as its JSON has it.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::history::Skipped;

/// The JSON Schema of the answer.
pub fn schema() -> Schema {
    // As it is written: what is left out when empty is not required.
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<Exposure>()
}

/// What recipients could read, or what a reuse key that leaked lets guess. Values never stand in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exposure {
    /// Always `pouch/v1alpha1`.
    pub api_version: &'static str,
    /// Always `Exposure`.
    pub kind: &'static str,
    /// What was looked at.
    pub looked: Looked,
    /// Whether values of the sources were compared with the tags in history.
    pub values: bool,
    /// Recipients that were asked for and never stood in a sealed file that was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<String>,
    /// Who could read what: first, without a recipient, what everybody could who has the repository; then those
    /// of whom it is not known who they are; then by recipient. Absent with `--reuse-key-leaked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readers: Option<Vec<Reader>>,
    /// What tags let guess, by reuse key; only with `--reuse-key-leaked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse_keys: Option<Vec<LeakedKey>>,
}

impl Exposure {
    pub(super) fn new() -> Self {
        Self {
            api_version: "pouch/v1alpha1",
            kind: "Exposure",
            looked: Looked::default(),
            values: false,
            never: Vec::new(),
            readers: None,
            reuse_keys: None,
        }
    }
}

/// What was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Looked {
    /// The repository: a URL without user, query and fragment, or a path.
    pub repository: String,
    /// The branch, tag or commit whose state counts as published now.
    pub current: String,
    /// Its commit.
    pub commit: Commit,
    /// How many commits were looked at, and folders and files that a reference leads to without one.
    pub commits: usize,
    /// How many branches, tags, other references and detached heads led to them.
    pub references: usize,
    /// Where looking began, as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Files that could not be looked at, so that what they show is not in the answer.
    pub skipped: Skipped,
}

/// A commit; or a folder or file that a reference leads to without one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    /// Its id in hex.
    pub id: String,
    /// When it was committed, or what is no commit was first tagged, in RFC 3339; empty where nobody knows.
    pub time: String,
    /// Whether something that it has may be older: looking began with this commit, or it is none.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub or_before: bool,
}

/// What one recipient could read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reader {
    /// The recipient, as files say; absent for everybody who has the repository: what stood there in clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
    /// The name that the configuration gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is none of age's recipients: `recipient` says `reader unknown` where files that somebody can
    /// open do not say who, else the kind of a key and what names it.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unknown: bool,
    /// The regions of the configuration that it is a recipient of now.
    pub regions: Vec<String>,
    /// Whether the configuration has it among `escrowRecipients`.
    pub escrow: bool,
    /// The Secrets that it could read, sorted.
    pub secrets: Vec<Exposed>,
}

/// Which Secret it is, and when the history had files of it that count here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRecord {
    /// The fleet; absent where no manifest says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
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
    /// The Credentials that needed it then, as `NAMESPACE/NAME`, by the manifests; Clusters without one, as
    /// `cluster/NAMESPACE/NAME`, and ClusterResourceSets, as `clusterresourceset/NAMESPACE/NAME`.
    pub credentials: Vec<String>,
    /// The first commit that has a file of it that can be read, or whose values can be tried.
    pub first: Commit,
    /// The last such commit.
    pub last: Commit,
    /// Whether the current commit has one.
    pub still: bool,
    /// How many different files of it can be read, or have values that can be tried.
    pub versions: usize,
}

/// A Secret that somebody could read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exposed {
    /// Whether who could read it is no recipient of the region any more.
    pub removed: bool,
    /// Which Secret.
    #[serde(flatten)]
    pub secret: SecretRecord,
    /// Folders of other regions where the same object is published now; only where this one is withdrawn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// Its entries that had a value, sorted by name.
    pub entries: Vec<EntryRecord>,
}

/// An entry that somebody could read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryRecord {
    /// Its name.
    pub name: String,
    /// What that means for its value today.
    pub verdict: Verdict,
    /// Where that value is today under another name or for another region; told only where values were
    /// compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub now_at: Vec<NowAt>,
}

/// Where a value of then is today.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NowAt {
    /// The region's folder.
    pub directory: String,
    /// The Secret's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Secret's name.
    pub name: String,
    /// The name of its entry.
    pub entry: String,
}

/// What having been able to read an entry means for its value today, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Today's published file can be read.
    Readable,
    /// Today's value stood in a file that could be read, or what could be read is today's value of another
    /// entry; told where values were compared, or commits prove that the value stayed.
    Same,
    /// The entry is published, no longer readable, and nothing tells whether its value is another.
    Unknown,
    /// Today's value is in no file that could be read.
    Changed,
    /// The entry is not published any more. Its value may still be, under another name or for another region.
    Gone,
}

/// What a reuse key that leaked lets guess.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeakedKey {
    /// The id of the key, as files have it.
    pub key_id: String,
    /// The Secrets with tags of it, most easily guessed first.
    pub secrets: Vec<Guessable>,
}

/// A Secret whose values can be tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Guessable {
    /// Which Secret.
    #[serde(flatten)]
    pub secret: SecretRecord,
    /// Its entries that had a value, sorted by name.
    pub entries: Vec<GuessEntry>,
}

/// An entry whose value can be tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuessEntry {
    /// Its name.
    pub name: String,
    /// How.
    pub guess: Guess,
}

/// How a value can be tried by whoever has the key, easiest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Guess {
    /// Shorter than 16 bytes, and the only one of its file: each try tells.
    Alone,
    /// Shorter than 16 bytes, with others: all of them must be right at once.
    Together,
    /// 16 bytes or longer, by itself: each try tells, so what people chose or could know is guessed.
    Long,
}
