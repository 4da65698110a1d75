//! `docs/threat-model.md` has every threat, and names tests that exist.

use std::collections::BTreeSet;
use std::fs;

use super::text_of;
use crate::support::root;

const PAGE: &str = "docs/threat-model.md";

/// The threats, in order; their meaning stands on the page.
fn threats() -> impl Iterator<Item = String> {
    (1..=35).map(|number| format!("S{number:02}"))
}

/// The names of all tests in a source.
fn tests_in(source: &str) -> impl Iterator<Item = &str> {
    // Attributes may stand between the two.
    source.split("#[test]").skip(1).filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next())
}

/// What is wrong with a page, given the tests that there are.
fn faults(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let sections: Vec<(&str, &str)> =
        page.split("\n### ").skip(1).filter_map(|section| section.split("\n## ").next()?.split_once(' ')).collect();
    let ids: Vec<&str> = sections.iter().map(|(id, _)| *id).collect();
    if !threats().eq(ids.iter().copied()) {
        faults.push(format!("the threats are {ids:?}"));
    }
    for (id, text) in sections {
        for part in ["\n**Tests.** ", "\n**Without the control.** "] {
            let line = text.split_once(part).map(|(_, rest)| rest.lines().next().unwrap_or_default());
            // Names of tests are words joined by underscores; other words in such marks are none.
            let names = line.unwrap_or_default().split('`').skip(1).step_by(2).filter(|name| name.contains('_'));
            let names: Vec<&str> = names.collect();
            if names.is_empty() {
                faults.push(format!("{id} names no test after{part}"));
            }
            faults.extend(
                names
                    .into_iter()
                    .filter(|name| !tests.contains(*name))
                    .map(|name| format!("{id}: there is no test {name}")),
            );
        }
    }
    faults
}

#[test]
fn every_threat_names_tests_that_exist() {
    let mut tests = BTreeSet::new();
    for entry in walkdir::WalkDir::new(root().join("src")).into_iter().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "rs") {
            tests.extend(tests_in(&fs::read_to_string(entry.path()).unwrap()).map(str::to_owned));
        }
    }
    assert!(tests.len() > 500, "only {} tests were found", tests.len());
    let page = text_of(PAGE);
    let found = faults(&page, &tests);
    assert!(found.is_empty(), "{PAGE}:\n{}", found.join("\n"));
    // A test that is gone, a threat that is missing, and one without its control are each seen.
    let (name, ..) = page.split_once("**Tests.** `").and_then(|(_, rest)| rest.split_once('`')).unwrap();
    let mut fewer = tests.clone();
    fewer.remove(name);
    assert!(faults(&page, &fewer).iter().any(|fault| fault.contains(name)));
    for from in ["### S14 ", "**Without the control.** ", "**Tests.** "] {
        assert_ne!(faults(&page.replacen(from, "x", 1), &tests), [""; 0], "{from}");
    }
}
