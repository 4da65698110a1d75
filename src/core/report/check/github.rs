//! Annotations of a GitHub workflow: commands on standard output.
//!
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>. GitHub shows ten annotations
//! of each kind and step, so the most severe come first and the rest are counted.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::Checked;
use crate::finding::{Code, Finding, Severity};
use crate::report::group::amounts;

/// How many annotations of a kind GitHub shows of one step.
const MOST: usize = 10;

/// The commands for these findings, which are sorted.
pub fn github(checked: &[Checked<'_>]) -> String {
    let mut out = String::new();
    let mut rest: Vec<&Finding> = Vec::new();
    for (severity, command) in [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "notice")]
    {
        let places = places(checked.iter().filter(|checked| checked.finding.severity == severity));
        for same in places.iter().take(MOST) {
            let Some(first) = same.first() else { continue };
            let Checked { finding, file, line, column, .. } = first;
            let (file, title) = (property(file), property(finding.code.text()));
            let place = format!("file={file},line={line},col={column},title={title}");
            let more = match same.iter().skip(1).count() {
                0 => String::new(),
                more => format!(" And {more} more {} here.", finding.code.text()),
            };
            out.push_str(&format!("::{command} {place}::{}{more}\n", data(&first.text())));
        }
        rest.extend(places.iter().skip(MOST).flatten().map(|checked| checked.finding));
    }
    if !rest.is_empty() {
        out.push_str(&format!(
            "and {} that GitHub would not show\n",
            amounts(rest.iter().map(|finding| finding.severity))
        ));
    }
    out
}

/// Findings by code and place, in the order of the first ones: one annotation stands for those of one line.
fn places<'c, 'f>(all: impl Iterator<Item = &'c Checked<'f>>) -> Vec<Vec<&'c Checked<'f>>> {
    let mut places: Vec<Vec<&Checked<'f>>> = Vec::new();
    let mut known: BTreeMap<(Code, &str, u32), usize> = BTreeMap::new();
    for checked in all {
        let at = *known.entry((checked.finding.code, &checked.file, checked.line)).or_insert(places.len());
        match places.get_mut(at) {
            Some(place) => place.push(checked),
            None => places.push([checked].into()),
        }
    }
    places
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
