//! Tenancy: which provider's rule decides the namespaces that may use an identity.

use schemars::JsonSchema;
use serde::Deserialize;

/// Whose meaning of "which namespaces may use this" a kind follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TenancyWord")]
pub enum Tenancy {
    // Nobody, if the object is cluster-scoped.
    /// No namespace but the object's own.
    #[default]
    None,
    /// Every namespace.
    All,
    /// As AWS identities mean `allowedNamespaces`.
    Aws,
    // OCI identities mean the same.
    /// As Azure identities mean it.
    Azure,
    /// As vSphere identities mean it.
    Vsphere,
    /// As OpenStack identities mean `namespaceSelector`.
    Openstack,
}

impl Tenancy {
    /// The word for it in `pouch.yaml`.
    pub fn word(self) -> &'static str {
        match self {
            Tenancy::None => "none",
            Tenancy::All => "all",
            Tenancy::Aws => "aws",
            Tenancy::Azure => "azure",
            Tenancy::Vsphere => "vsphere",
            Tenancy::Openstack => "openstack",
        }
    }
}

/// Where an identity says which namespaces may use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The field of its `spec`.
    pub field: &'static str,
    /// The keys below it; none where the field itself is a label selector.
    pub keys: &'static [&'static str],
}

impl Form {
    /// Whether namespaces can be named there.
    pub fn lists(&self) -> bool {
        self.keys.contains(&"list")
    }

    /// Whether the field itself is a label selector.
    pub fn is_selector(&self) -> bool {
        self.keys.is_empty()
    }
}

impl Tenancy {
    /// Where identities say it; none where they say nothing.
    pub fn form(self) -> Option<Form> {
        let (field, keys): (_, &[&str]) = match self {
            Tenancy::None | Tenancy::All => return None,
            Tenancy::Aws | Tenancy::Azure => ("allowedNamespaces", &["list", "selector"]),
            Tenancy::Vsphere => ("allowedNamespaces", &["selector"]),
            Tenancy::Openstack => ("namespaceSelector", &[]),
        };
        Some(Form { field, keys })
    }
}

/// Whether an identity may be used from a namespace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Admits {
    /// It may.
    Yes,
    /// It may not.
    No,
    /// Nobody knows, so it may not; says why.
    Unknown(&'static str),
}
