//! Annotations of a GitHub workflow: commands on standard output.
//!
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>. GitHub shows ten annotations
//! of each kind and step, so the most severe come first and the rest are counted.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::Checked;
use crate::finding::{Finding, Severity};
use crate::report::text::counts;

/// How many annotations of a kind GitHub shows of one step.
const MOST: usize = 10;

/// The commands for these findings, which are sorted.
pub fn github(checked: &[Checked<'_>]) -> String {
    let mut out = String::new();
    let mut rest: Vec<&Finding> = Vec::new();
    for (severity, command) in [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "notice")]
    {
        let of_kind = || checked.iter().filter(|checked| checked.finding.severity == severity);
        for checked in of_kind().take(MOST) {
            let Checked { finding, file, line, column, .. } = checked;
            let (file, title) = (property(file), property(finding.code.text()));
            let place = format!("file={file},line={line},col={column},title={title}");
            out.push_str(&format!("::{command} {place}::{}\n", data(&checked.text())));
        }
        rest.extend(of_kind().skip(MOST).map(|checked| checked.finding));
    }
    if !rest.is_empty() {
        out.push_str(&format!("and {} that GitHub would not show\n", counts(rest.iter().copied())));
    }
    out
}

/// Text after a command: what would end it is escaped.
fn data(text: &str) -> String {
    let one = |char| match char {
        '%' => String::from("%25"),
        '\r' => String::from("%0D"),
        '\n' => String::from("%0A"),
        char => char.to_string(),
    };
    text.chars().map(one).collect()
}

/// The value of a property, which a colon or a comma would end too.
fn property(text: &str) -> String {
    data(&crate::report::escape(text)).replace(':', "%3A").replace(',', "%2C")
}
