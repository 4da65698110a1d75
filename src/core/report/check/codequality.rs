//! A code quality report of GitLab: <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::Checked;
use crate::finding::Severity;

/// One finding.
#[derive(Debug, Serialize)]
pub struct Issue {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Debug, Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Debug, Serialize)]
struct Lines {
    begin: u32,
}

/// The report of these findings.
pub fn codequality(checked: &[Checked<'_>]) -> Vec<Issue> {
    let issue = |checked: &Checked<'_>| Issue {
        description: checked.text(),
        check_name: checked.finding.code.text(),
        fingerprint: checked.fingerprint.clone(),
        severity: match checked.finding.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Info => "info",
        },
        // GitLab shows a finding only where the path is as in the repository.
        location: Location {
            path: String::from(checked.file.strip_prefix("./").unwrap_or(&checked.file)),
            lines: Lines { begin: checked.line },
        },
    };
    checked.iter().map(issue).collect()
}
