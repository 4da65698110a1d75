//! Checks: findings in the formats of the systems that show them beside a change.
//!
//! Each of these wants a file and a line. A finding that has none, because it is about a cluster, a commit or a bundle,
//! stands at the first line of the configuration.

pub mod baseline;
pub mod codequality;
pub mod github;
pub mod junit;
pub mod sarif;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::finding::{Finding, Place, Severity};
use crate::hash::sha256_hex;

/// A finding, and what the formats want to know of it besides.
pub struct Checked<'f> {
    /// The finding.
    pub finding: &'f Finding,
    /// What stays the same as long as the finding is about the same: not its words, and not its line.
    pub fingerprint: String,
    /// The file where it is shown.
    pub file: String,
    /// The line, from one.
    pub line: u32,
    /// The column, from one.
    pub column: u32,
}

impl Checked<'_> {
    /// What is the matter, with whom, and what to do about it: one paragraph without line feeds.
    pub fn text(&self) -> String {
        let Finding { message, help, claimant, region, .. } = self.finding;
        let whose = match (claimant, region) {
            (Some(claimant), Some(region)) => format!(" ({claimant}, region {region})"),
            (Some(claimant), None) => format!(" ({claimant})"),
            (None, Some(region)) => format!(" (region {region})"),
            (None, None) => String::new(),
        };
        let help = if help.is_empty() { String::new() } else { format!(" {help}") };
        super::escape(&format!("{message}{whose}.{help}"))
    }
}

/// What the formats want to know of these findings; `config` is the file of the configuration as the user typed it.
pub fn checked<'f>(findings: &'f [Finding], config: &str) -> Vec<Checked<'f>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    findings
        .iter()
        .map(|finding| {
            let about = subject(finding);
            // Of several alike, such as two mistyped fields of one object, each has a fingerprint of its own.
            let count = seen.entry(about.clone()).or_default();
            let fingerprint = sha256_hex(format!("{about}\0{count}").as_bytes());
            *count = count.saturating_add(1);
            let (file, line, column) = match finding.origin.as_ref().map(|origin| &origin.place) {
                // A path in a commit is `REF:PATH`, and is no file here.
                Some(Place::File { path, line, column }) if !path.contains(':') => (path.to_string(), *line, *column),
                _ => (String::from(config), 1, 1),
            };
            Checked { finding, fingerprint, file, line: line.max(1), column: column.max(1) }
        })
        .collect()
}

/// What a finding is about, in one text.
fn subject(finding: &Finding) -> String {
    let Finding { code, region, claimant, object, origin, .. } = finding;
    let source = origin.as_ref().map(|origin| origin.source.to_string()).unwrap_or_default();
    let file = origin.as_ref().map(|origin| match &origin.place {
        Place::File { path, .. } => path.to_string(),
        Place::Cluster { .. } | Place::Whole => String::new(),
    });
    let parts = [
        code.text().to_string(),
        region.as_ref().map(|region| region.to_string()).unwrap_or_default(),
        claimant.as_ref().map(|claimant| claimant.to_string()).unwrap_or_default(),
        object.as_ref().map(|object| object.to_string()).unwrap_or_default(),
        source,
        file.unwrap_or_default(),
    ];
    parts.join("\0")
}

/// `3 errors, 2 warnings`: how many findings there are of each severity; empty if there are none.
pub fn counts<'f>(findings: impl Iterator<Item = &'f Finding> + Clone) -> String {
    let words = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Info, "info", "infos"),
    ];
    let count = |(severity, one, many)| {
        let count = findings.clone().filter(|finding| finding.severity == severity).count();
        (count > 0).then(|| crate::listing::counted(count, one, many))
    };
    words.into_iter().filter_map(count).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests;
