//! Baselines: findings that are known and do not count, so that a check can begin before everything is cured.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Checked;

/// What a baseline is called.
const KIND: &str = "Baseline";

/// The version of its format.
const API_VERSION: &str = "pouch/v1alpha1";

/// Findings that are known, by fingerprint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Baseline {
    api_version: String,
    kind: String,
    /// What each is about, for people.
    findings: BTreeMap<String, String>,
}

impl Baseline {
    /// The baseline of these findings.
    pub fn of(checked: &[Checked<'_>]) -> Self {
        let about = |checked: &Checked<'_>| {
            let whom = checked.finding.claimant.as_ref().map(|claimant| format!(" of {claimant}"));
            let text = format!("{}{} in {}", checked.finding.code.text(), whom.unwrap_or_default(), checked.file);
            (checked.fingerprint.clone(), crate::report::escape(&text))
        };
        Self {
            api_version: API_VERSION.to_string(),
            kind: KIND.to_string(),
            findings: checked.iter().map(about).collect(),
        }
    }

    /// Whether this is a baseline, in a format that is known here.
    pub fn is_known(&self) -> bool {
        let is_print = |print: &String| print.len() == 64 && print.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.kind == KIND && self.api_version == API_VERSION && self.findings.keys().all(is_print)
    }

    /// Whether a finding is known.
    pub fn knows(&self, checked: &Checked<'_>) -> bool {
        checked.fingerprints().any(|print| self.findings.contains_key(print))
    }

    /// What is said of those of its findings that are none of these any more, sorted.
    pub fn cured<'c>(&self, checked: impl IntoIterator<Item = &'c Checked<'c>>) -> Vec<&str> {
        let found: BTreeSet<&String> = checked.into_iter().flat_map(Checked::fingerprints).collect();
        let cured = self.findings.iter().filter(|(known, _)| !found.contains(known));
        let mut cured: Vec<&str> = cured.map(|(_, about)| about.as_str()).collect();
        cured.sort_unstable();
        cured
    }
}
