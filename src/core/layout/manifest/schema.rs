//! The JSON Schema of `bundle.yaml`, for people and tools that read bundles.
//!
//! [`BundleFile`] mirrors the format; pouch itself reads and writes [`Manifest`](super::Manifest). A
//! test holds the two together, and the shell's holds `schemas/bundle.schema.json` to this.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

/// The schema of `bundle.yaml`.
pub fn schema() -> Schema {
    schema_for!(BundleFile)
}

/// What one region's bundle holds, where it came from and who needs it; written by pouch.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BundleFile {
    /// The format's version.
    pub api_version: ApiVersion,
    /// Always `Bundle`.
    pub kind: BundleKind,
    /// Names the region's folder.
    pub metadata: MetadataField,
    /// The fleet that the bundle belongs to.
    pub fleet: String,
    /// Everybody who can read the bundle's Secrets, sorted: age X25519 recipients.
    pub recipients: Vec<String>,
    /// Sources that can tell which cluster or repository they are, sorted by name.
    pub sources: Vec<SourceField>,
    /// Every object of the bundle, sorted by key.
    pub objects: Vec<ObjectField>,
    /// Every other file that was written for the region except this one, sorted by path.
    pub files: Vec<FileField>,
}

/// The format's version.
#[derive(Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The only one.
    #[serde(rename = "pouch/v1alpha1")]
    V1Alpha1,
}

/// The kind of the document.
#[derive(Deserialize, JsonSchema)]
pub enum BundleKind {
    /// A bundle.
    Bundle,
}

/// Names the region's folder.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetadataField {
    /// The region's folder below `regions/`.
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$"))]
    pub name: String,
}

/// A source and what it stands for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceField {
    /// The source's name in the configuration.
    pub name: String,
    /// UID of the cluster's kube-system, or the repository's URL without user, query and fragment.
    pub identity: String,
}

/// One object of the bundle.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectField {
    /// What it is on the region.
    pub key: KeyField,
    /// What it was read from; missing for what pouch makes itself.
    pub from: Option<FromField>,
    /// Its file, relative to `output.path`.
    pub path: String,
    /// SHA-256 of the file, which for a Secret is its sealed form.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub sha256: String,
    /// Whether it says what the sources say now.
    pub state: StateField,
    /// The code of the finding because of which it is carried; only with `state: carried`.
    #[schemars(extend("type" = "string"))]
    pub reason: Option<String>,
    /// Who can read the file, if that is not who can read the bundle; only for a Secret that is carried.
    #[schemars(extend("type" = "array"))]
    pub recipients: Option<Vec<String>>,
    /// Who needs it, sorted.
    pub needed_by: Vec<NeededByField>,
}

/// An object by group, kind, namespace and name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyField {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; missing for cluster-scoped kinds.
    #[schemars(extend("type" = "string"))]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// The object, of the same group and kind, that another one was made from.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FromField {
    /// The namespace; missing for cluster-scoped kinds.
    #[schemars(extend("type" = "string"))]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// Whether an object says what the sources say now.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateField {
    /// It does.
    Current,
    /// It stays as published before, for the given reason.
    Carried,
}

/// Someone who needs an object.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeededByField {
    /// The kind of the claimant: today always `Credential`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The references that lead from it to the object, in order.
    pub via: Vec<ViaField>,
}

/// One reference.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViaField {
    /// The ProviderInterface that defines it; missing where pouch itself knows it.
    #[schemars(extend("type" = "string"))]
    pub provider_interface: Option<String>,
    /// The path of the field that refers.
    pub field: String,
}

/// A file that is no object.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileField {
    /// Its path, relative to `output.path`.
    pub path: String,
    /// SHA-256 of the file.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub sha256: String,
}
