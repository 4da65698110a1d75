//! Bounds of one run, acceptances and severities as they are typed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::SourceLimits;

/// Bounds of one run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LimitsFile {
    /// How much may be withdrawn without a person.
    pub deletions: DeletionsFile,
    /// How long an object stays published that a Credential has just exchanged for another, so that no consumer removes it
    /// before what pointed to it has moved: a number with `s`, `m`, `h` or `d`. With `0s` it goes at once.
    pub handover: String,
    /// How much of a region may be sealed anew without having changed.
    pub reseal: ResealFile,
    /// What may pass beyond that, once: the digests are those that the finding's help line prints.
    pub accept: Vec<AcceptFile>,
    /// What the files of one source may cost; the costliest beyond that are left out.
    pub sources: SourceLimitsFile,
    /// How long git may take.
    pub git: GitLimitsFile,
    /// How often a push that lost against another writer is tried again from the start.
    #[schemars(range(min = 1, max = 100))]
    pub attempts: u32,
    /// The most objects of one region; by default what its consumer takes: 5000, with Argo CD 3000, with KSOPS 2000.
    #[schemars(range(min = 1))]
    pub objects_per_region: Option<u32>,
    /// About the most objects of one leaf, which is what Flux builds at once: a larger one is split. By default none is.
    /// Argo CD always applies a whole region, so there this has no effect.
    #[schemars(range(min = 1))]
    pub objects_per_leaf: Option<u32>,
    /// The most objects of one Credential namespace in one region.
    #[schemars(range(min = 1))]
    pub objects_per_namespace: u32,
    /// The most Credentials of one namespace in one region.
    #[schemars(range(min = 1))]
    pub credentials_per_namespace: u32,
    /// The most bytes that Secrets for one namespace take in one region once they are sealed.
    pub sealed_bytes_per_namespace: BytesFile,
}

/// A number of bytes: a whole number, or one with `Ki`, `Mi` or `Gi`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BytesFile {
    /// In bytes.
    Number(u64),
    /// With a unit.
    Text(String),
}

impl BytesFile {
    /// The number of bytes, if it is one.
    pub fn bytes(&self) -> Option<u64> {
        let text = match self {
            Self::Number(number) => return Some(*number),
            Self::Text(text) => text,
        };
        let units = [("Ki", 10_u32), ("Mi", 20), ("Gi", 30)];
        let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
        let (digits, shift) = unit.unwrap_or((text, 0));
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(1_u64.checked_shl(shift)?)
    }
}

impl Default for LimitsFile {
    fn default() -> Self {
        Self {
            deletions: DeletionsFile::default(),
            handover: String::from("1h"),
            reseal: ResealFile::default(),
            accept: Vec::new(),
            sources: SourceLimitsFile::default(),
            git: GitLimitsFile::default(),
            attempts: 5,
            objects_per_region: None,
            objects_per_leaf: None,
            objects_per_namespace: 500,
            credentials_per_namespace: 500,
            sealed_bytes_per_namespace: BytesFile::Text(String::from("16Mi")),
        }
    }
}

/// What the files of one source may cost.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SourceLimitsFile {
    /// The most documents.
    #[schemars(range(min = 1))]
    pub documents: u32,
    /// The most values, maps and lists in them.
    #[schemars(range(min = 1))]
    pub nodes: u32,
    /// The most bytes of its files together.
    #[schemars(range(min = 1))]
    pub bytes: u32,
    /// The most bytes of text that aliases in YAML copy.
    pub copied_bytes: u32,
}

impl Default for SourceLimitsFile {
    fn default() -> Self {
        let of = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let SourceLimits { documents, nodes, bytes, copied_bytes } = SourceLimits::DEFAULT;
        Self { documents: of(documents), nodes: of(nodes), bytes: of(bytes), copied_bytes: of(copied_bytes) }
    }
}

/// How long git may take, for sources and output alike: numbers with `s`, `m`, `h` or `d`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GitLimitsFile {
    /// The longest that git may say nothing of its progress.
    pub idle: String,
    /// The longest that one fetch or push may take, however it goes on.
    pub total: String,
    /// How long a branch is watched after a push whose outcome is unknown.
    pub settle: String,
}

impl Default for GitLimitsFile {
    fn default() -> Self {
        let [idle, total, settle] = ["2m", "1h", "30s"].map(String::from);
        Self { idle, total, settle }
    }
}

/// How many claimants of one kind in one namespace may lose something of a region within a window, and in how many
/// namespaces at once: the larger of `claimants` and `percent`, never more than `most`. What is beyond stays published.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DeletionsFile {
    /// So many always may.
    pub claimants: u32,
    /// So many may, in percent of the namespace's claimants of the kind.
    #[schemars(range(min = 0, max = 100))]
    pub percent: u32,
    /// Never more than so many; of one claimant that loses more objects and entries than that, each counts.
    pub most: u32,
    /// The claimants of a region, or of a group of guests, that stay in any case, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub keep: u32,
    /// For how long withdrawals from a branch are counted together: a number with `s`, `m`, `h` or `d`.
    pub window: String,
}

impl Default for DeletionsFile {
    fn default() -> Self {
        Self { claimants: 1, percent: 20, most: 10, keep: 50, window: String::from("24h") }
    }
}

/// How much of a region may be sealed anew without having changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResealFile {
    /// The most Secrets, in percent of the region's.
    #[schemars(range(min = 0, max = 100))]
    pub percent: u32,
}

impl Default for ResealFile {
    fn default() -> Self {
        Self { percent: 20 }
    }
}

/// One acceptance; exactly one of `deletions`, `recipients` and `reseal`, each a digest of 16 hex digits.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptFile {
    /// The region.
    pub region: String,
    /// The namespace whose withdrawals are accepted, if the finding's help line names one.
    pub namespace: Option<String>,
    /// Accepts these withdrawals.
    pub deletions: Option<String>,
    /// Accepts these added recipients.
    pub recipients: Option<String>,
    /// Accepts this re-sealing, or that these values are replaced.
    pub reseal: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum LevelWord {
    /// Something is not published, or not as asked.
    Error,
    /// Works, and probably not as meant.
    Warning,
    /// Worth knowing.
    Info,
    /// Not reported at all.
    Off,
}

/// Written by hand for one word: to readers of YAML 1.1 an unquoted `off` is a truth value.
impl<'de> Deserialize<'de> for LevelWord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Level;

        impl serde::de::Visitor<'_> for Level {
            type Value = LevelWord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("error, warning, info or off")
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<LevelWord, E> {
                if value { Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self)) } else { Ok(LevelWord::Off) }
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<LevelWord, E> {
                match text {
                    "error" => Ok(LevelWord::Error),
                    "warning" => Ok(LevelWord::Warning),
                    "info" => Ok(LevelWord::Info),
                    "off" => Ok(LevelWord::Off),
                    _ => Err(E::unknown_variant("", &["error", "warning", "info", "off"])),
                }
            }
        }

        deserializer.deserialize_any(Level)
    }
}
