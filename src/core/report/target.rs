//! The places that a run published to, in its summary: repositories and registries.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Serialize;

/// Why a run failed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureRecord {
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub help: String,
}

/// A place that was published to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The repository, without user and query.
    pub repository: String,
    /// The branch that the regions follow.
    pub base: String,
    /// The branch that is pushed to; another one than `base` where what changes is proposed.
    pub branch: String,
    /// The regions that are published by it; of one that failed nothing else is told.
    pub regions: Vec<String>,
    /// What became of it.
    pub state: TargetState,
    /// The commit that was published or proposed, or that proposes the same since an earlier run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What is proposed, in words for a pull request or merge request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// Why nothing was published there, or it is unknown whether something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
}

/// What became of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TargetState {
    /// Nothing changed, and nothing is proposed.
    Unchanged,
    /// A commit is published.
    Published,
    /// A commit was pushed that proposes what changes.
    Proposed,
    /// An earlier run proposed the same on the same base.
    StillProposed,
    /// Nothing is to be proposed any more, and the branch was removed.
    Removed,
    /// Nothing is to be proposed, and the branch stays: it has commits that pouch did not make.
    Left,
    /// Something failed.
    Failed,
}

/// A region's bundle in a registry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// The region.
    pub region: String,
    /// Registry, repository and tag.
    pub reference: String,
    /// What became of it.
    pub state: ArtifactState,
    /// The digest that the tag is at; absent where that is not known, or there is no such tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why it is not as the published bundle is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
}

/// What became of a region's artifact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ArtifactState {
    /// It was as the published bundle is, and nothing was sent.
    Unchanged,
    /// It is pushed, and the tag is at it.
    Pushed,
    /// No bundle of the region is published, or none that can be believed; a tag that is there stays.
    Left,
    /// Something failed, and the tag may be at what was published before.
    Failed,
}

/// What is proposed, in words for a pull request or merge request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// One line.
    pub title: String,
    /// Markdown, of at most 65,536 characters; the trailers of the commit end it.
    pub body: String,
}
