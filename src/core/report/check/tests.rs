use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::*;
use crate::finding::{Code, Origin};
use crate::name::Claimant;

fn at(path: &str, line: u32) -> Origin {
    Origin { source: "s".into(), place: Place::File { path: path.into(), line, column: 3 } }
}

fn finding(code: Code, path: &str, line: u32) -> Finding {
    Finding::new(code, "it is so").at(&at(path, line)).help("Do this.")
}

#[test]
fn a_fingerprint_outlives_the_line_and_the_words() {
    let one = finding(Code::MissingReference, "a.yaml", 1);
    let moved = Finding { message: "other words".to_string(), ..finding(Code::MissingReference, "a.yaml", 9) };
    let elsewhere = finding(Code::MissingReference, "b.yaml", 1);
    let print = |finding: &Finding| checked(core::slice::from_ref(finding), "pouch.yaml").remove(0).fingerprint;
    assert_eq!(print(&one), print(&moved));
    assert_ne!(print(&one), print(&elsewhere));
    assert_ne!(print(&one), print(&finding(Code::TooManyHops, "a.yaml", 1)));
    // Of two alike, each has one, and the first keeps its own.
    let both = [one.clone(), moved];
    let both = checked(&both, "pouch.yaml");
    assert_eq!(both[0].fingerprint, print(&one));
    assert_ne!(both[0].fingerprint, both[1].fingerprint);
}

#[test]
fn what_is_in_no_file_stands_in_the_configuration() {
    for place in [
        Place::Cluster { context: "c".into() },
        Place::Whole,
        Place::File { path: "HEAD:a.yaml".into(), line: 7, column: 1 },
    ] {
        let finding = Finding::new(Code::UnparsableDocument, "x").at(&Origin { source: "s".into(), place });
        let checked = checked(core::slice::from_ref(&finding), "conf/pouch.yaml").remove(0);
        assert_eq!((&*checked.file, checked.line, checked.column), ("conf/pouch.yaml", 1, 1));
    }
}

/// Text that steers whatever reads it without an escape.
const HOSTILE: &str = "a\n::error::b%0A]]>\"'<script>&amp;\u{1b}[31m\u{202e},file=x:y\r";

/// The same for a path.
const PATH: &str = "a,b\n%0A<x>\"&'\u{1b}\r.yaml";

fn hostile() -> Vec<Finding> {
    let claimant = Claimant::credential("team".into(), HOSTILE.into());
    [Finding { message: HOSTILE.to_string(), ..finding(Code::MissingReference, PATH, 2) }.claimed_by(&claimant)].into()
}

#[test]
fn no_name_is_a_command_or_ends_a_line() {
    let findings = hostile();
    let checked = checked(&findings, "pouch.yaml");
    let said = github::github(&checked);
    assert_eq!(said.lines().count(), 1, "{said}");
    let place = "::error file=a%2Cb\\u{a}%250A<x>\"&'\\u{1b}\\u{d}.yaml,line=2,col=3,title=missing-reference::";
    assert!(said.starts_with(place), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{202e}', '\r']), "{said}");
    let xml = junit::junit(&checked, Some(Severity::Error));
    assert!(!xml.contains("<script>") && !xml.contains(['\u{1b}', '\u{202e}', '\r']) && !xml.contains("]]>"), "{xml}");
}

#[test]
fn github_shows_ten_of_each_kind_and_the_rest_is_counted() {
    let error = |line| finding(Code::MissingReference, "a.yaml", line);
    let mut findings: Vec<Finding> = (1..=13).map(error).collect();
    findings.extend((1..=11).map(|line| finding(Code::NullEntry, "a.yaml", line)));
    let said = github::github(&checked(&findings, "pouch.yaml"));
    assert_eq!(said.matches("::error ").count(), 10);
    assert_eq!(said.matches("::warning ").count(), 10);
    assert!(said.ends_with("\nand 3 errors, 1 warning that GitHub would not show\n"), "{said}");
}

#[test]
fn junit_fails_what_is_denied_and_never_reports_nothing() {
    let findings = [finding(Code::MissingReference, "a.yaml", 1), finding(Code::NullEntry, "a.yaml", 2)];
    let checked = checked(&findings, "pouch.yaml");
    for (deny, failures) in [(None, 0), (Some(Severity::Error), 1), (Some(Severity::Warning), 2)] {
        let xml = junit::junit(&checked, deny);
        assert_eq!(xml.matches("<failure ").count(), failures);
        assert!(xml.contains(&format!("tests=\"2\" failures=\"{failures}\"")), "{xml}");
    }
    assert!(junit::junit(&[], None).contains("<testcase name=\"no findings\""));
}

#[test]
fn a_baseline_knows_what_it_was_made_of() {
    let findings = [finding(Code::MissingReference, "a.yaml", 1), finding(Code::NullEntry, "a.yaml", 2)];
    let all = checked(&findings, "pouch.yaml");
    let baseline = baseline::Baseline::of(&all);
    assert!(baseline.is_known() && all.iter().all(|checked| baseline.knows(checked)));
    assert_eq!((baseline.cured(&all), baseline.cured(&all[..1])), (0, 1));
    assert!(!baseline.knows(&checked(&[finding(Code::TooManyHops, "a.yaml", 1)], "pouch.yaml")[0]));
}
