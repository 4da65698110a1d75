use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::*;
use crate::finding::{Code, Place, Severity};
use crate::name::{Claimant, GroupKind};

/// What is looked at from the folder of the configuration.
fn looked_at(findings: &[Finding]) -> Vec<Checked<'_>> {
    let in_commits = ["git".into()].into();
    checked(findings, &Checkout { config: "pouch.yaml", base: "", cwd: "/srv", in_commits: &in_commits })
}

fn at(path: &str, line: u32) -> Origin {
    Origin { source: "s".into(), place: Place::File { path: path.into(), line, column: 3 } }
}

fn finding(code: Code, path: &str, line: u32) -> Finding {
    Finding::new(code, "it is so").at(&at(path, line)).help("Do this.")
}

#[test]
fn a_fingerprint_outlives_the_line_and_tells_all_else_apart() {
    let one = finding(Code::MissingReference, "a.yaml", 1);
    let print = |finding: &Finding| looked_at(core::slice::from_ref(finding)).remove(0).fingerprint;
    assert_eq!(print(&one), print(&finding(Code::MissingReference, "a.yaml", 9)));
    let says = |message: &str| Finding { message: message.to_string(), ..one.clone() };
    assert_eq!(print(&says("also at b.yaml:3:1 and x")), print(&says("also at b.yaml:14:15 and x")));
    for other in [
        finding(Code::MissingReference, "b.yaml", 1),
        finding(Code::TooManyHops, "a.yaml", 1),
        says("something else is so"),
        one.clone().severity(Severity::Warning),
        one.clone().in_region(&"eu".into()),
    ] {
        assert_ne!(print(&one), print(&other), "{other:?}");
    }
    // What is held tells by its help what it holds.
    let held = |help: &'static str| Finding::new(Code::DeletionsHeld, "it is held").help(help);
    assert_ne!(print(&held("pass a=1")), print(&held("pass a=2")));
    // The very same twice has two, and one before it changes none.
    let all = [says("a"), one.clone(), one.clone()];
    let prints: Vec<_> = looked_at(&all).into_iter().map(|checked| checked.fingerprint).collect();
    assert_eq!(prints[1], print(&one));
    assert_ne!(prints[1], prints[2]);
}

#[test]
fn a_baseline_of_before_the_first_release_knows_the_same_by_its_other_code() {
    for renamed in renamed::CODES {
        let kind = GroupKind::new("infrastructure.cluster.x-k8s.io", "AWSClusterStaticIdentity");
        let finding = finding(Code::parse(renamed.old).unwrap(), "a.yaml", 1);
        let finding = finding.about(&ObjectKey::new(kind, None, "aws".into()));
        assert_eq!(finding.code.text(), renamed.new);
        let now = looked_at(core::slice::from_ref(&finding));
        let checkout = Checkout { config: "", base: "", cwd: "", in_commits: &BTreeSet::new() };
        let before = subject(&finding, &checkout).replacen(renamed.new, renamed.old, 1);
        assert!(before.contains("\0AWSClusterStaticIdentity.infrastructure.cluster.x-k8s.io aws\0"), "{before}");
        let known = |about: &str| {
            let print = sha256_hex(format!("{about}\00").as_bytes());
            let json = serde_json::json!({"apiVersion": "pouch/v1alpha1", "kind": "Baseline", "findings": {print: ""}});
            serde_json::from_value::<baseline::Baseline>(json).unwrap()
        };
        let baseline = known(&before);
        assert!(baseline.knows(&now[0]) && baseline.cured(&now).is_empty(), "{}", renamed.old);
        let other = known(&before.replacen(renamed.old, "missing-reference", 1));
        assert!(!other.knows(&now[0]) && other.cured(&now).len() == 1);
    }
}

#[test]
fn a_fingerprint_is_the_same_for_whoever_looks_and_in_whichever_commit() {
    let print = |path: &str, source: &str, config: &str, base: &str| {
        let place = Place::File { path: path.into(), line: 1, column: 1 };
        let finding = Finding::new(Code::NullEntry, "x").at(&Origin { source: source.into(), place });
        let in_commits = ["git".into()].into();
        let checkout = Checkout { config, base, cwd: "/srv", in_commits: &in_commits };
        checked(core::slice::from_ref(&finding), &checkout).remove(0).fingerprint
    };
    let here = print("m/a.yaml", "s", "pouch.yaml", "");
    assert_eq!(here, print("fleet/m/a.yaml", "s", "fleet/pouch.yaml", "fleet"));
    assert_eq!(here, print("/srv/fleet/m/a.yaml", "s", "/srv/fleet/pouch.yaml", "/srv/fleet"));
    assert_eq!(print("HEAD:a.yaml", "git", "pouch.yaml", ""), print("0123abcd:a.yaml", "git", "pouch.yaml", ""));
    assert_ne!(print("HEAD:a.yaml", "s", "pouch.yaml", ""), print("a.yaml", "s", "pouch.yaml", ""));
}

#[test]
fn what_is_in_no_file_of_the_checkout_stands_in_the_configuration_and_says_where_it_is() {
    let file = Place::File { path: "HEAD:a.yaml".into(), line: 7, column: 1 };
    for (place, says) in [
        (Place::Cluster { context: "c".into() }, "(at cluster c)"),
        (Place::Whole, "(at source git)"),
        (file, "(at HEAD:a.yaml:7:1 in git)"),
    ] {
        let finding = Finding::new(Code::UnparsableDocument, "x").at(&Origin { source: "git".into(), place });
        let checked = looked_at(core::slice::from_ref(&finding)).remove(0);
        assert_eq!((&*checked.file, checked.line, checked.column), ("pouch.yaml", 1, 1));
        assert!(checked.text().contains(says), "{}", checked.text());
    }
    // A colon alone is no commit.
    let finding = finding(Code::NullEntry, "/srv/a:b/c.yaml", 2);
    let checked = looked_at(core::slice::from_ref(&finding)).remove(0);
    assert_eq!((&*checked.file, checked.line), ("a:b/c.yaml", 2));
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
    let checked = looked_at(&findings);
    let said = github::github(&checked);
    assert_eq!(said.lines().count(), 1, "{said}");
    let place = "::error file=a%2Cb\\u{a}%250A<x>\"&'\\u{1b}\\u{d}.yaml,line=2,col=3,title=missing-reference::";
    assert!(said.starts_with(place), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{202e}', '\r']), "{said}");
    let xml = junit::junit(&checked, Some(Severity::Error), true);
    assert!(!xml.contains("<script>") && !xml.contains(['\u{1b}', '\u{202e}', '\r']) && !xml.contains("]]>"), "{xml}");
}

#[test]
fn github_shows_ten_of_each_kind_and_the_rest_is_counted() {
    let error = |line| finding(Code::MissingReference, "a.yaml", line);
    let mut findings: Vec<Finding> = (1..=13).map(error).collect();
    findings.extend((1..=11).map(|line| finding(Code::NullEntry, "a.yaml", line)));
    let said = github::github(&looked_at(&findings));
    assert_eq!(said.matches("::error ").count(), 10);
    assert_eq!(said.matches("::warning ").count(), 10);
    assert!(said.ends_with("\nand 3 errors, 1 warning that GitHub would not show\n"), "{said}");
}

#[test]
fn junit_fails_what_is_denied_and_never_reports_nothing() {
    let findings = [finding(Code::MissingReference, "a.yaml", 1), finding(Code::NullEntry, "a.yaml", 2)];
    let checked = looked_at(&findings);
    for (deny, failures) in [(None, 0), (Some(Severity::Error), 1), (Some(Severity::Warning), 2)] {
        let xml = junit::junit(&checked, deny, true);
        assert_eq!(xml.matches("<failure ").count(), failures);
        assert!(xml.contains(&format!("tests=\"2\" failures=\"{failures}\"")), "{xml}");
    }
    // A place that could not be looked at is a failure of its own.
    let partly = junit::junit(&checked, None, false);
    assert!(partly.contains("tests=\"3\" failures=\"1\"") && partly.matches("<failure ").count() == 1, "{partly}");
    assert!(junit::junit(&[], None, true).contains("<testcase name=\"no findings\""));
}

#[test]
fn a_baseline_knows_what_it_was_made_of() {
    let findings = [finding(Code::MissingReference, "a.yaml", 1), finding(Code::NullEntry, "a.yaml", 2)];
    let all = looked_at(&findings);
    let baseline = baseline::Baseline::of(&all);
    assert!(baseline.is_known() && all.iter().all(|checked| baseline.knows(checked)));
    assert_eq!((baseline.cured(&all).len(), baseline.cured(&all[..1]).len()), (0, 1));
    assert!(!baseline.knows(&looked_at(&[finding(Code::TooManyHops, "a.yaml", 1)])[0]));
}

#[test]
fn a_code_scanner_knows_a_result_again() {
    let finding = finding(Code::MissingReference, "a.yaml", 1);
    let checked = looked_at(core::slice::from_ref(&finding));
    let log = serde_json::to_value(sarif::sarif(&checked, "1.0.0", true)).unwrap();
    let (ours, prints) = (&checked[0].fingerprint, &log["runs"][0]["results"][0]["partialFingerprints"]);
    assert_eq!(*prints, serde_json::json!({"pouch/v1": ours, "primaryLocationLineHash": alloc::format!("{ours}:1")}));
}

#[test]
fn what_concerns_many_takes_one_place_in_each_format() {
    let of = |n: u32, code: Code, line: u32| {
        let by = Claimant::credential("team".into(), (&*format!("c{n}")).into());
        finding(code, "a.yaml", line).claimed_by(&by).in_region(&"eu".into())
    };
    let mut findings: Vec<Finding> = (0..12).map(|n| of(n, Code::MissingReference, 1)).collect();
    findings.extend((0..3).map(|n| Finding { message: format!("no {n}"), ..of(n, Code::TooManyHops, 2) }));
    let in_commits = BTreeSet::new();
    let checkout = Checkout { config: "pouch.yaml", base: "", cwd: "/srv", in_commits: &in_commits };
    let told = |findings: &[Finding]| {
        let all = checked(findings, &checkout);
        let told = grouped(&all, &checkout);
        let prints: BTreeSet<String> = told.iter().map(|one| one.fingerprint.clone()).collect();
        assert_eq!(prints.len(), told.len());
        (github::github(&told), junit::junit(&told, Some(Severity::Error), true), prints)
    };
    let (github, junit, prints) = told(&findings);
    assert_eq!(github.lines().count(), 2, "{github}");
    let says =
        "it is so (12 Credentials, region eu: team/c0, team/c1, team/c10, team/c11, team/c2 and 7 more). Do this.\n";
    assert!(github.contains(says), "{github}");
    assert!(github.ends_with(" And 2 more too-many-hops here.\n"), "{github}");
    assert!(junit.contains("tests=\"4\" failures=\"4\""), "{junit}");
    // It is the same fault for whomever it is one.
    let (.., fewer) = told(findings.get(1..).unwrap());
    assert_eq!(prints, fewer);
}
