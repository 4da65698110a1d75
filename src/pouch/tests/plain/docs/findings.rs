//! `docs/findings.md` is complete, and its examples print what it shows.
//!
//! An example is a section's blocks, in order: `yaml before` is written and rendered, `sh` is run, `yaml
//! example` is written and rendered last, with `-v`, which must print the section's `text` block. A
//! further word names the file, by default `manifests/example.yaml`. What a section does not say comes
//! from the page's first block, the configuration. `text verify` and further arguments is what that command
//! prints in place of the last render, after the page's block `yaml verify` was rendered. `text not-run` is what no example can make, and
//! `text live` what takes an API server: the test `live::verify` sees it printed.

use std::collections::BTreeMap;
use std::fs;

use pouch_core::finding::Code;

use super::block::{Block, blocks, fits_line};
use super::console::{Session, lacking};
use super::text_of;
use crate::support::{self, root};

const PAGE: &str = "docs/findings.md";

/// The sections of the page by code, each with its whole text.
fn sections(page: &str) -> Vec<(&str, &str)> {
    let mut sections = Vec::new();
    for part in page.split("\n### `").skip(1) {
        let (code, rest) = part.split_once("`\n").expect("a section's title is its code");
        sections.push((code, rest.split("\n## ").next().unwrap()));
    }
    sections
}

#[test]
fn every_code_has_one_section_that_states_class_and_severity() {
    let page = text_of(PAGE);
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (code, text) in sections(&page) {
        assert!(Code::parse(code).is_some(), "{code} is no code");
        assert!(seen.insert(code, text).is_none(), "{code} has two sections");
    }
    for code in Code::ALL {
        let text = seen.get(code.text()).unwrap_or_else(|| panic!("{} has no section", code.text()));
        let head = format!("\nClass {}, {}. {}", code.class().word(), code.severity().word(), code.meaning());
        assert!(text.starts_with(&head), "the section of {} does not start with\n{head}", code.text());
        assert!(text.contains("\n**Cure.** "), "{} has no cure", code.text());
        assert!(page.contains(&format!("[`{0}`](#{0})", code.text())), "the list at the top lacks {}", code.text());
    }
}

#[test]
fn sections_stand_under_their_class() {
    let page = text_of(PAGE);
    for class in page.split("\n## Class ").skip(1) {
        let title = class.lines().next().unwrap();
        let sections = sections(class);
        assert!(!sections.is_empty(), "{title} has no sections");
        for (code, _) in sections {
            assert_eq!(Code::parse(code).unwrap().class().word(), title, "{code}");
        }
    }
}

#[test]
fn every_example_prints_what_is_shown() {
    let page = text_of(PAGE);
    let config = blocks(&page).into_iter().find(|block| block.rest == "config").expect("the page has a configuration");
    let verified = blocks(&page).into_iter().find(|block| block.rest == "verify" && block.language == "yaml");
    let verified = verified.expect("the page has what the examples of verify publish");
    let mut new = page.clone();
    let rewrite = std::env::var_os("POUCH_REWRITE").is_some();
    let mut wrong = String::new();
    for (code, text) in sections(&page) {
        let blocks = blocks(text);
        let shown = blocks.iter().find(|block| block.language == "text");
        let shown = shown.unwrap_or_else(|| panic!("{code} has no example"));
        if matches!(shown.rest, "not-run" | "live") {
            continue;
        }
        if let Some(tool) = blocks.iter().filter(|block| block.language == "sh").find_map(|b| lacking(b.text)) {
            support::skipped(&format!("the example of {code}: no program {tool}"));
            continue;
        }
        let of_verify = Some(shown.rest).filter(|rest| rest.split(' ').next() == Some("verify"));
        let printed = match of_verify {
            Some(command) => example_of_verify(config.text, verified.text, &blocks, command),
            None => example(config.text, &blocks),
        };
        if printed.iter().any(|finding| same(shown.text, finding)) {
            continue;
        }
        let head = format!("[{code}]");
        if let Some(finding) = printed.iter().find(|finding| finding.contains(&head)).filter(|_| rewrite) {
            let changed = text.replace(shown.text, &mask(finding));
            new = new.replace(text, &changed);
        } else {
            wrong.push_str(&format!("--- {code} prints\n{}\n", printed.join("\n")));
        }
    }
    if new != page {
        fs::write(root().join(PAGE), new).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Renders an example and gives the findings as printed.
fn example(config: &str, blocks: &[Block<'_>]) -> Vec<String> {
    let mut session = Session::new();
    session.run("cp testdata/quickstart/reuse.key . && chmod 600 reuse.key");
    session.write("pouch.yaml", config);
    for (at, block) in blocks.iter().enumerate() {
        let (when, file) = block.rest.split_once(' ').unwrap_or((block.rest, "manifests/example.yaml"));
        match (block.language, when) {
            ("yaml", "before" | "example") => session.write(file, block.text),
            ("sh", _) => expect_done(session.run(block.text)),
            _ => {}
        }
        let is_before = |block: &Block<'_>| block.rest.starts_with("before");
        if is_before(block) && !blocks.get(at + 1).is_some_and(is_before) {
            expect_done(session.run("pouch render"));
        }
    }
    let (output, _) = session.run("pouch render -v");
    output.split("\n\n").map(|finding| format!("{}\n", finding.trim())).collect()
}

/// Renders what the page says, changes it as the example does, and gives the findings of `verify`.
fn example_of_verify(config: &str, manifests: &str, blocks: &[Block<'_>], command: &str) -> Vec<String> {
    let mut session = Session::new();
    session.run("cp testdata/quickstart/reuse.key . && chmod 600 reuse.key");
    session.write("pouch.yaml", config);
    session.write("manifests/example.yaml", manifests);
    for block in blocks.iter().filter(|block| block.language == "yaml") {
        session.write(block.rest.split_once(' ').expect("a file is named").1, block.text);
    }
    expect_done(session.run("pouch render"));
    for block in blocks.iter().filter(|block| block.language == "sh") {
        expect_done(session.run(block.text));
    }
    let (output, _) = session.run(&format!("pouch {command} -v"));
    output.split("\n\n").map(|finding| format!("{}\n", finding.trim())).collect()
}

#[track_caller]
fn expect_done((output, code): (String, i32)) {
    assert_eq!(code, 0, "{output}");
}

/// Whether a printed finding is the one shown; other words may be printed before it.
fn same(shown: &str, printed: &str) -> bool {
    let (shown, printed): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), printed.lines().collect());
    let starts = 0..=printed.len().saturating_sub(shown.len());
    starts.into_iter().any(|start| {
        let tail = &printed[start..];
        tail.len() == shown.len() && shown.iter().zip(tail).all(|(shown, line)| fits_line(shown, line))
    })
}

/// A finding without what differs from run to run: digests of acceptances.
fn mask(finding: &str) -> String {
    let marks = ["error[", "warning[", "info["];
    let from = marks.iter().filter_map(|mark| finding.find(mark)).min().unwrap_or_default();
    let words = finding[from..].split_inclusive([' ', '\n']);
    let masked = words.map(|word| match word.split_once('=') {
        Some((region, digest)) if digest.len() > 16 && digest[..16].bytes().all(|b| b.is_ascii_hexdigit()) => {
            format!("{region}=…{}", &digest[16..])
        }
        _ => word.to_owned(),
    });
    masked.collect()
}
