//! `docs/findings.md` lists every code, and the page of each class explains its codes with examples that run.
//!
//! An example is the blocks of a section, or of a part of it below a title. It starts from the page's `base` blocks; `yaml
//! FILE` writes a file, `diff FILE` changes one, and `sh` is run. Then `pouch render -v` must print the `text` block. A `text
//! COMMAND` is what that command prints in place of the render, `text not-run` what no example can make, and `text live` what
//! takes an API server: the test `live::verify` sees it printed.

use std::fmt::Write as _;
use std::fs;

use pouch_core::finding::{Class, Code};

use super::text_of;
use crate::support::block::{Block, blocks, fits_line};
use crate::support::reader::{Session, lacking};
use crate::support::{self, root};

const INDEX: &str = "docs/findings.md";

/// The classes in the order of the codes.
fn classes() -> Vec<Class> {
    let mut classes: Vec<Class> = Code::ALL.iter().map(|code| code.class()).collect();
    classes.dedup();
    classes
}

fn page_of(class: Class) -> String {
    format!("docs/findings/{}.md", class.word())
}

/// What a page says before its first section, and its sections by code.
fn sections(page: &str) -> (&str, Vec<(&str, &str)>) {
    let mut parts = page.split("\n## `");
    let intro = parts.next().unwrap_or_default();
    (intro, parts.map(|part| part.split_once("`\n").expect("a section's title is its code")).collect())
}

/// The severity of a code, and the other one with its case.
fn severities(code: Code) -> String {
    let otherwise = code.otherwise().map(|(other, when)| format!("; {} {when}", other.word()));
    format!("{}{}", code.severity().word(), otherwise.unwrap_or_default())
}

#[test]
fn every_code_has_one_section_that_states_severity_meaning_and_cure() {
    for class in classes() {
        let page = text_of(&page_of(class));
        let codes = Code::ALL.iter().filter(|code| code.class() == class);
        let (intro, sections) = sections(&page);
        assert!(intro.starts_with(&format!("# Findings of class {}\n", class.word())), "{}", page_of(class));
        let titles: Vec<&str> = sections.iter().map(|(code, _)| *code).collect();
        assert_eq!(titles, codes.clone().map(|code| code.text()).collect::<Vec<_>>(), "{}", page_of(class));
        for (code, (_, text)) in codes.zip(sections) {
            let severity = severities(*code);
            let head = format!("\n**{}{}.** {}\n", severity[..1].to_uppercase(), &severity[1..], code.meaning());
            assert!(text.starts_with(&head), "the section of {} does not start with\n{head}", code.text());
            assert!(text.contains("\n**Cure.** "), "{} has no cure", code.text());
        }
    }
}

#[test]
fn the_index_lists_every_code() {
    let mut index = String::new();
    for class in classes() {
        let page = class.word();
        let _ = write!(index, "\n## Class {page}\n\n| code | severity | meaning |\n|---|---|---|\n");
        for code in Code::ALL.iter().filter(|code| code.class() == class) {
            let (text, severity) = (code.text(), severities(*code));
            let _ = writeln!(index, "| [`{text}`](findings/{page}.md#{text}) | {severity} | {} |", code.meaning());
        }
    }
    let page = text_of(INDEX);
    let intro = &page[..page.find("\n## ").unwrap_or(page.len())];
    let fresh = format!("{intro}{index}");
    if std::env::var_os("POUCH_REWRITE").is_some() {
        fs::write(root().join(INDEX), fresh).unwrap();
    } else {
        assert_eq!(page, fresh, "{INDEX} is not what the codes make; POUCH_REWRITE=1 writes it");
    }
}

#[test]
fn every_example_prints_what_is_shown() {
    let mut wrong = String::new();
    for class in classes() {
        let page = text_of(&page_of(class));
        let (intro, sections) = sections(&page);
        let mut new = page.clone();
        let parts = sections.into_iter().flat_map(|(code, text)| parts(code, text));
        for (code, text) in parts {
            let shown = blocks(text).into_iter().find(|block| block.language == "text");
            let shown = shown.unwrap_or_else(|| panic!("{code} has no example:\n{text}"));
            let Some(printed) = example(code, &blocks(intro), &blocks(text), shown.rest) else { continue };
            if printed.iter().any(|finding| same(shown.text, finding)) {
                continue;
            }
            let rewrite = std::env::var_os("POUCH_REWRITE").is_some();
            let head = format!("[{code}]");
            if let Some(finding) = printed.iter().find(|finding| finding.contains(&head)).filter(|_| rewrite) {
                new = new.replace(text, &text.replace(shown.text, &mask(finding)));
            } else {
                let _ = write!(wrong, "--- {code} prints\n{}\n", printed.join("\n"));
            }
        }
        if new != page {
            fs::write(root().join(page_of(class)), new).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The parts of a section that have an example of their own, each below a title; else the section.
fn parts<'t>(code: &'t str, section: &'t str) -> Vec<(&'t str, &'t str)> {
    let mut parts = section.split("\n### ");
    let first = parts.next().unwrap_or_default();
    let mut parts: Vec<(&str, &str)> = parts.map(|part| (code, part)).collect();
    if parts.is_empty() || blocks(first).iter().any(|block| block.language == "text") {
        parts.insert(0, (code, first));
    }
    parts
}

/// Does what an example says, from its page's base on, and gives the findings as printed.
///
/// None where the example cannot run here.
fn example(code: &str, base: &[Block<'_>], section: &[Block<'_>], command: &str) -> Option<Vec<String>> {
    if matches!(command, "not-run" | "live") {
        return None;
    }
    if let Some(tool) = section.iter().filter(|block| block.language == "sh").find_map(|b| lacking(b.text)) {
        support::skipped(&format!("the example of {code}: no program {tool}"));
        return None;
    }
    let mut session = Session::new();
    expect_done(code, session.run("mkdir manifests && cp testdata/quickstart/reuse.key . && chmod 600 reuse.key"));
    for block in base.iter().chain(section) {
        match (block.language, block.rest.trim_start_matches("base").trim_start()) {
            ("yaml", file) if file.contains('.') => session.write(file, block.text),
            ("diff", file) => session.write(file, &changed(code, &session.read(file), block.text)),
            ("sh", "") => expect_done(code, session.run(block.text)),
            ("text", _) => {}
            (language, rest) => panic!("{code}: a block `{language} {rest}` does nothing"),
        }
    }
    let command = Some(command).filter(|command| !command.is_empty()).unwrap_or("render");
    let (output, _) = session.run(&format!("pouch {command} -v"));
    Some(output.split("\n\n").map(|finding| format!("{}\n", finding.trim())).collect())
}

/// A file after a diff: hunks apart by `@@`, each with lines that stand there once; one without any is put at the end.
fn changed(code: &str, file: &str, diff: &str) -> String {
    let mut file = file.to_owned();
    for hunk in diff.split("@@\n") {
        let side = |other: char| -> String {
            hunk.split_inclusive('\n').filter(|line| !line.starts_with(other)).map(|line| &line[1..]).collect()
        };
        let (old, new) = (side('+'), side('-'));
        if old.is_empty() {
            file.push_str(&new);
        } else {
            assert_eq!(file.matches(&old).count(), 1, "{code}: not once in the file:\n{old}");
            file = file.replacen(&old, &new, 1);
        }
    }
    file
}

#[track_caller]
fn expect_done(code: &str, (output, exit): (String, i32)) {
    assert_eq!(exit, 0, "{code}: {output}");
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

#[test]
fn a_diff_changes_lines_that_stand_there_once() {
    let file = "a: 1\nb: 1\na: 2\n";
    assert_eq!(changed("x", file, " b: 1\n-a: 2\n+a: 3\n@@\n-a: 1\n@@\n+c: 1\n"), "b: 1\na: 3\nc: 1\n");
}
