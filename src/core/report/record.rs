//! Records: findings and the objects that they are about, as every answer for machines has them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Cause, Class, Code, Finding, Origin, Severity};
use crate::name::{Claimant, Group, Kind, Name, Namespace, ObjectKey};
use crate::region::fields::FieldChange;
use crate::silence::Silenced;

/// An object's key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRecord {
    /// The API group; empty for the core group.
    pub group: Group,
    /// The kind.
    pub kind: Kind,
    /// The namespace; absent for cluster-scoped kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The name.
    pub name: Name,
    /// The ManagedResource that makes it, if it stands in no source because a template makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Name>,
}

impl ObjectRecord {
    /// Returns true for a Namespace.
    pub fn is_namespace(&self) -> bool {
        self.kind == "Namespace" && self.group == ""
    }
}

impl From<&ObjectKey> for ObjectRecord {
    fn from(key: &ObjectKey) -> Self {
        let (ObjectKey { kind, namespace, name, .. }, made_by) = match key.made() {
            Some((own, template)) => (own, Some(template.clone())),
            None => (key.clone(), None),
        };
        Self { group: kind.group, kind: kind.kind, namespace, name, made_by }
    }
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingRecord {
    /// The stable code.
    pub code: Code,
    /// `error`, `warning` or `info`.
    pub severity: Severity,
    /// The code's class: `refused`, `broken`, `held`, `source`, `fault` or `notice`.
    pub class: Class,
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub help: String,
    /// The Credential concerned, as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// The region concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The object concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRecord>,
    /// The source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The source whose own findings say why, where this one only follows from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The region the facts of whose cluster are unknown, where this one only follows from that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because_region: Option<String>,
    /// The number of others of the kind that are not listed and that this one stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<usize>,
    /// Whether the base has it not, where findings are held against one that is known.
    #[serde(rename = "new", skip_serializing_if = "Option::is_none")]
    pub is_new: Option<bool>,
}

/// A finding that an annotation silences.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SilencedRecord {
    /// The finding.
    #[serde(flatten)]
    pub finding: FindingRecord,
    /// Why it is silenced, as the annotation says.
    pub reason: String,
}

/// What the findings were held against.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SinceRecord {
    /// The revision or the file.
    pub base: String,
    /// Why nothing is known of it, if nothing is. Then no finding says whether it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// The number of findings that the base has too.
    pub known: usize,
    /// The findings of the base that are not found any more: the code, whom it concerned, and the file.
    pub cured: Vec<String>,
    /// The privileges that the configuration gives, and after them those that it takes, beside that of the base: what sources may
    /// say, what regions take, and grants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub privileges: Vec<PrivilegeRecord>,
}

/// A change of who may use something.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrivilegeRecord {
    /// Whether more may use it; else fewer may.
    pub opens: bool,
    /// Who may, or may no longer, as a clause: `namespace team-b may now use AWSClusterRoleIdentity aws`.
    pub words: String,
}

impl From<&Finding> for FindingRecord {
    fn from(finding: &Finding) -> Self {
        let position = finding.origin.as_ref().and_then(Origin::position);
        Self {
            code: finding.code,
            severity: finding.severity,
            class: finding.code.class(),
            message: finding.message.clone(),
            help: finding.help.to_string(),
            credential: finding.claimant.as_ref().map(Claimant::path),
            region: finding.region.as_ref().map(ToString::to_string),
            object: finding.object.as_ref().map(ObjectRecord::from),
            source: finding.origin.as_ref().map(|origin| origin.source.to_string()),
            file: position.map(|(path, ..)| path.to_string()),
            line: position.map(|(_, line, _)| line),
            column: position.map(|(.., column)| column),
            because: finding.because.as_ref().and_then(Cause::source).map(String::from),
            because_region: finding.because.as_ref().and_then(Cause::region).map(String::from),
            others: Some(finding.others).filter(|others| *others > 0),
            is_new: None,
        }
    }
}

impl From<&Silenced> for SilencedRecord {
    fn from(Silenced { finding, reason }: &Silenced) -> Self {
        Self { finding: finding.into(), reason: reason.clone() }
    }
}

/// One field of an object that changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldRecord {
    /// The path, such as `spec.allowedNamespaces.list[0]`.
    pub path: String,
    /// What was published, cut after 120 characters; absent where there was no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What is published; absent where the field went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl From<&FieldChange> for FieldRecord {
    fn from(field: &FieldChange) -> Self {
        let FieldChange { path, before, after } = field.clone();
        Self { path, before, after }
    }
}
