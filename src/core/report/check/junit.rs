//! A JUnit report: a test case for each finding, which fails where the finding is denied.
//!
//! <https://github.com/testmoapp/junitxml> describes what the systems that read it have in common.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::Checked;
use crate::finding::Severity;
use crate::report::markup;

/// The report of these findings, of which those at or above `deny` fail. So does what could not be looked at.
pub fn junit(checked: &[Checked<'_>], deny: Option<Severity>, is_whole: bool) -> String {
    let is_denied = |checked: &&Checked<'_>| deny.is_some_and(|deny| checked.finding.severity >= deny);
    // A report without a test looks as if nothing had been checked.
    let tests = checked.len().saturating_add(usize::from(!is_whole)).max(1);
    let failures = checked.iter().filter(is_denied).count().saturating_add(usize::from(!is_whole));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\"");
    out.push_str(&format!("<testsuites {counts}>\n  <testsuite name=\"pouch check\" {counts}>\n"));
    if !is_whole {
        let why = "not all places could be looked at";
        let failure = format!("<failure type=\"error\" message=\"{why}\">{why}</failure>");
        out.push_str(&format!("    <testcase name=\"places\" classname=\"pouch\">{failure}</testcase>\n"));
    } else if checked.is_empty() {
        out.push_str("    <testcase name=\"no findings\" classname=\"pouch\"/>\n");
    }
    let mut seen: BTreeMap<(&String, String), usize> = BTreeMap::new();
    for one in checked {
        let Checked { finding, file, line, .. } = one;
        let name = format!("{}{}", finding.code.text(), one.subject());
        // Who reads a report takes two of one name for the same test.
        let count = seen.entry((file, name.clone())).or_default();
        *count = count.saturating_add(1);
        let nth = if *count > 1 { format!(" ({count})") } else { String::new() };
        let name = markup(&format!("{name}{nth}"));
        let place = format!("file=\"{}\" line=\"{line}\"", markup(file));
        out.push_str(&format!("    <testcase name=\"{name}\" classname=\"{}\" {place}>\n", markup(file)));
        let text = markup(&one.text());
        out.push_str(&match is_denied(&one) {
            true => {
                let kind = finding.severity.word();
                format!("      <failure type=\"{kind}\" message=\"{}\">{text}</failure>\n", markup(&finding.message))
            }
            false => format!("      <system-out>{text}</system-out>\n"),
        });
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}
