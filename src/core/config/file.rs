//! The file `pouch.yaml` as it was typed, before anything is checked that takes more than one value.
//!
//! The comments on the fields, here and in the files of the types, are the descriptions of the JSON Schema, which
//! editors show, and which [`super::shape`] checks a document against. What a field means beyond its value is
//! [`super::resolve`]'s business.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::defaults::RegionDefaults;
use super::globs::Globs;
use super::grant::GrantFile;
use super::guests::GuestGroup;
use super::kind::KindFile;
use super::limits::Limits;
use super::output::{Output, ReuseKeyPlaces};
use super::reader::ReaderFile;
use super::reading::{Companions, Resolution};
use super::region::RegionConfig;
use super::setting::{CHECK, ONE, SHARED, shown};
use super::severity::LevelWord;
use super::source::SourceFile;
use crate::finding::Code;
use crate::name::{FleetName, Name, Namespace, Region};

/// The value of `apiVersion`.
pub const API_VERSION: &str = "pouch/v1alpha1";

/// The value of `kind`.
pub const KIND: &str = "Fleet";

/// The configuration of one fleet: what is read, which regions there are, who can open their bundles
/// and where the bundles go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "pouch.yaml")]
pub struct FleetFile {
    /// The format of this file.
    #[schemars(extend("const" = API_VERSION))]
    pub(super) api_version: String,
    /// What this file is.
    #[serde(default = "kind")]
    #[schemars(extend("const" = KIND))]
    pub(super) kind: String,
    /// The fleet's name.
    pub(super) metadata: MetadataFile,
    /// Where Credentials, ProviderInterfaces, identities and Secrets are read, in order.
    pub(super) sources: Vec<SourceFile>,
    /// k0rdent's system namespace, the same on the management cluster and on every region.
    #[serde(default = "system_namespace")]
    #[schemars(extend("x-check" = "namespace"))]
    pub(super) system_namespace: Namespace,
    /// Where identities are read.
    #[serde(default)]
    pub(super) resolution: Resolution,
    /// Whose definitions of identity kinds count where the sources have none.
    #[serde(default)]
    pub(super) provider_interfaces: ProviderInterfacesFile,
    /// Further kinds that may be published, beside the built-in identity kinds.
    #[serde(default)]
    pub(super) kinds: Vec<KindFile>,
    /// Labels and annotations of source objects to keep; by default none.
    #[serde(default)]
    pub(super) keep_metadata: Keep,
    /// Whether the ConfigMap `<identity>-resource-template` and the Secret `<identity>-secret`, which
    /// credential propagation needs on the region, are followed.
    #[serde(default)]
    pub(super) companions: Companions,
    /// Whether `AWSClusterControllerIdentity/default`, which the AWS provider makes on every region by
    /// itself, is published too.
    #[serde(default)]
    pub(super) emit_controller_identity: bool,
    /// Settings that regions share. A region's own maps are merged with them, and its other values win.
    #[serde(default)]
    pub(super) region_defaults: RegionDefaults,
    /// The regions, by the name that `Credential.spec.region` holds.
    pub(super) regions: BTreeMap<Region, RegionConfig>,
    /// What is delivered into guest clusters by ClusterResourceSets of the cluster that manages them, by names of groups:
    /// they are part of the names of objects.
    #[serde(default)]
    pub(super) guests: BTreeMap<Name, GuestGroup>,
    /// Age recipients that can open the bundles of every region, for disasters.
    #[serde(default)]
    pub(super) escrow_recipients: Vec<ReaderFile>,
    /// What may be used although nothing else admits it: each entry names one object, or one Credential and
    /// so all that it needs. The key may stay when the last entry went.
    #[serde(default)]
    pub(super) grants: Option<Vec<GrantFile>>,
    /// Where bundles go.
    #[serde(default)]
    pub(super) output: Output,
    /// Where the reuse key is, with which pouch proves that a published Secret need not be sealed again; by default in the
    /// variable `POUCH_REUSE_KEY`.
    #[serde(default)]
    #[schemars(extend("default" = serde_json::json!({"env": "POUCH_REUSE_KEY"})))]
    pub(super) reuse_key: ReuseKeyPlaces,
    /// Bounds of one run; what a region may lose at once among them.
    #[serde(default)]
    pub(super) limits: Limits,
    /// Severities of finding codes that differ from their own. Codes of the classes refused, broken,
    /// held and fault cannot be lowered.
    #[serde(default)]
    #[schemars(extend("propertyNames" = codes()))]
    pub(super) findings: BTreeMap<String, LevelWord>,
}

/// Metadata of the fleet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MetadataFile {
    /// The fleet's name, a DNS label. It is part of every authenticated manifest: bundles of a fleet with
    /// another name are never touched.
    #[schemars(extend("x-check" = "fleet-name"))]
    pub(super) name: FleetName,
}

/// Whose definitions of identity kinds count where the sources have none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ProviderInterfacesFile {
    /// The k0rdent release, such as `v1.11`, whose ProviderInterfaces are built in, or `none`. Those of the newest known one stand
    /// for a newer one.
    #[schemars(extend("x-check" = "release"))]
    pub(super) builtin: String,
}

impl Default for ProviderInterfacesFile {
    fn default() -> Self {
        Self { builtin: "v1.11".to_string() }
    }
}

/// Metadata of source objects to keep.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "KeepFile")]
pub struct Keep {
    /// Globs over label keys.
    #[serde(default)]
    pub labels: Globs,
    /// Globs over annotation keys; none may match an annotation that holds a copy of the object.
    #[serde(default)]
    pub annotations: Globs,
}

shown!(Keep { "labels": labels, "annotations": annotations });

fn codes() -> serde_json::Value {
    serde_json::json!({"enum": Code::ALL.iter().map(|code| code.text()).collect::<Vec<_>>()})
}

fn kind() -> String {
    KIND.to_string()
}

fn system_namespace() -> Namespace {
    "kcm-system".into()
}

/// The JSON Schema (draft 2020-12) of `pouch.yaml`.
pub fn schema() -> Schema {
    let mut schema = checked_schema();
    let mut forget = RecursiveTransform(|schema: &mut Schema| {
        schema.remove(CHECK);
        schema.remove(ONE);
        // A region may have from `regionDefaults` what it needs.
        if schema.remove(SHARED).is_some() {
            schema.remove("required");
        }
    });
    forget.transform(&mut schema);
    schema
}

/// The same with what settings are checked for.
pub(super) fn checked_schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<FleetFile>()
}
