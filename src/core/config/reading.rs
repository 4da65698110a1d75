//! Reading: where identities are read, and whether companions are followed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::setting::words;

/// Where identities are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ResolutionWord")]
pub enum Resolution {
    /// Where the Credential says: the namespace of its `identityRef`, else its own.
    #[default]
    AsWritten,
    /// Where k0rdent's own controller looks: in the system namespace.
    Kcm,
}

/// Whether companions are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CompanionsWord")]
pub enum Companions {
    /// They are.
    #[default]
    Follow,
    /// They are not.
    None,
}

words!(Resolution { AsWritten: "as-written", Kcm: "kcm" });
words!(Companions { Follow: "follow", None: "none" });
