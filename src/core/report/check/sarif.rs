//! SARIF 2.1.0: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::Serialize;

use super::Checked;
use crate::finding::{Code, Severity};
use crate::report::pages::{page, without_links};

/// What a fingerprint is called; another way to make them gets another name.
const FINGERPRINT: &str = "pouch/v1";

/// The only fingerprint by which GitHub's code scanning knows a result again: a hash, and which of several results with
/// that hash it is. Ours tells all results apart.
/// <https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning>
const GITHUB: &str = "primaryLocationLineHash";

/// A log of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: Vec<Run>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    invocations: Vec<Invocation>,
    results: Vec<Found>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    /// Whether everything was looked at.
    execution_successful: bool,
}

#[derive(Debug, Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Serialize)]
struct Driver {
    name: &'static str,
    version: String,
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Text,
    help: Help,
    default_configuration: Configuration,
}

#[derive(Debug, Serialize)]
struct Text {
    text: String,
}

#[derive(Debug, Serialize)]
struct Help {
    text: String,
    markdown: String,
}

#[derive(Debug, Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    rule_id: &'static str,
    level: &'static str,
    message: Text,
    locations: Vec<Location>,
    partial_fingerprints: BTreeMap<&'static str, String>,
    /// Empty where nothing suppresses the result: the standard has it for all results of a run, or for none.
    suppressions: Vec<Suppression>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Suppression {
    kind: &'static str,
    justification: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Physical,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    region: Region,
}

#[derive(Debug, Serialize)]
struct Artifact {
    uri: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
}

/// The log of these findings, by this version of pouch; `is_whole` says whether everything could be looked at.
pub fn sarif(checked: &[Checked<'_>], version: &str, is_whole: bool) -> Log {
    let codes: BTreeSet<Code> = checked.iter().map(|checked| checked.finding.code).collect();
    Log {
        schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        version: "2.1.0",
        runs: Vec::from([Run {
            tool: Tool {
                driver: Driver {
                    name: "pouch",
                    version: version.to_string(),
                    rules: codes.into_iter().map(rule).collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            invocations: Vec::from([Invocation { execution_successful: is_whole }]),
            results: checked.iter().map(found).collect(),
        }]),
    }
}

fn rule(code: Code) -> Rule {
    let markdown = without_links(page(code));
    Rule {
        id: code.text(),
        short_description: Text { text: code.meaning().to_string() },
        help: Help { text: markdown.clone(), markdown },
        default_configuration: Configuration { level: level(code.severity()) },
    }
}

fn found(checked: &Checked<'_>) -> Found {
    let Checked { finding, fingerprint, file, line, column, .. } = checked;
    Found {
        rule_id: finding.code.text(),
        level: level(finding.severity),
        message: Text { text: checked.text() },
        locations: Vec::from([Location {
            physical_location: Physical {
                artifact_location: Artifact { uri: uri(file) },
                region: Region { start_line: *line, start_column: *column },
            },
        }]),
        partial_fingerprints: [(FINGERPRINT, fingerprint.clone()), (GITHUB, format!("{fingerprint}:1"))].into(),
        suppressions: checked.silenced.iter().map(suppression).collect(),
    }
}

fn suppression(reason: &&str) -> Suppression {
    Suppression { kind: "inSource", justification: crate::report::escape(reason) }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A path as a relative reference (<https://www.rfc-editor.org/rfc/rfc3986#section-4.2>).
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(one).collect()
}
