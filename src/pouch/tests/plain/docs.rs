//! The documentation is true: commands run, examples print what is shown, and lists are complete.
//!
//! What kinds of blocks there are in README.md and docs/ is told in CONTRIBUTING.md.

mod findings;
mod threats;

use std::fs;
use std::process::{Command, Stdio};

use pouch::error::{Ended, Kind};

use crate::support::block::{blocks, fits};
use crate::support::{printed, reader, root, run, tool_on_path};

/// A file of the repository.
pub fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All pages for readers.
fn documents() -> Vec<String> {
    let mut documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned).to_vec();
    for folder in ["docs", "docs/findings", "docs/getting-started"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            documents.extend(name.ends_with(".md").then(|| format!("{folder}/{name}")));
        }
    }
    documents.sort();
    documents
}

#[test]
fn every_command_in_readme_and_docs_does_what_is_shown() {
    for document in documents() {
        reader::follow(&document, &text_of(&document));
    }
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let titles = text.lines().filter(|line| line.starts_with('#')).filter_map(|line| line.split_once("# "));
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    titles.map(|(_, title)| title.to_lowercase().replace(|c| !kept(c), "").replace(' ', "-")).collect()
}

/// No renderer shows what stands behind a fence.
#[test]
fn a_reader_is_told_where_to_save_what_a_page_shows() {
    let mut seen = 0;
    for document in documents() {
        let text = text_of(&document);
        let lines: Vec<&str> = text.lines().collect();
        for block in blocks(&text) {
            let Some((_, path)) = block.rest.split_once("file=") else { continue };
            let before = lines[..block.line - 1].iter().rev().skip_while(|line| line.is_empty());
            let said = before.take_while(|line| !line.is_empty()).any(|line| line.contains(&format!("`{path}`")));
            assert!(said, "{document}:{}: nothing before the block says that it is {path}", block.line);
            seen += 1;
        }
    }
    assert!(seen > 4, "{seen}");
}

/// A newcomer may sit before a Mac, whose sed takes what follows `-i` for an ending.
#[test]
fn what_a_newcomer_types_is_no_single_system_s() {
    for document in documents().into_iter().filter(|document| document.starts_with("docs/getting-started/")) {
        let text = text_of(&document);
        let typed: Vec<&str> = blocks(&text).iter().filter(|it| it.language == "console").map(|it| it.text).collect();
        for word in ["sed -i ", "base64 -w", "readlink -f", "date -d", "grep -P", "sed -r", "mktemp --"] {
            assert!(typed.iter().all(|text| !text.contains(word)), "{document}: {word}");
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for document in documents() {
        let text = text_of(&document);
        let folder = root().join(&document).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains('\n') {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let page = if path.is_empty() { root().join(&document) } else { folder.join(path) };
            assert!(page.exists(), "{document} links to {target}");
            let there = anchor.is_empty() || anchors(&fs::read_to_string(page).unwrap()).iter().any(|a| a == anchor);
            assert!(there, "{document} links to {target}");
        }
    }
}

/// Every command that does something shows how it is used, in lines that it takes.
#[test]
fn the_help_of_every_command_has_examples_that_it_takes() {
    let pouch = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
        command.args(words).stdin(Stdio::null()).env_clear().output().unwrap()
    };
    let text = |words: &[&str]| String::from_utf8(pouch(words).stdout).unwrap();
    let all = text(&["--help"]);
    // Each group of commands has a heading, and ends where the options begin.
    let listed = all.split_once("Start:\n").unwrap().1.split_once("\nOptions:\n").unwrap().0;
    let of_commands = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands: Vec<&str> = of_commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(commands.len(), 20, "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "man") {
        let help = text(&[command, "--help"]);
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command} shows no examples"));
        let lines: Vec<&str> = examples.lines().map_while(|line| line.strip_prefix("  pouch ")).collect();
        assert!(!lines.is_empty(), "{command}");
        for line in lines {
            // What follows two blanks is a remark, and what follows a bar or an arrow is the shell's.
            let line = line.split("  ").next().unwrap().split(['>', '|']).next().unwrap();
            let words: Vec<&str> = line.split_whitespace().chain(["--help"]).collect();
            assert!(pouch(&words).status.success(), "pouch {line}");
        }
    }
}

/// The picture is what the script draws; that of a page is made by hand, as it is another one with other fonts.
#[test]
fn the_picture_of_the_flow_is_what_its_script_draws() {
    let Some(python) = tool_on_path("python3") else { return };
    let drawn = printed(&python, &run(&python, [root().join("scripts/pictures").as_os_str(), "flow".as_ref()], &[]));
    assert!(
        drawn == text_of("docs/pictures/flow.svg").into_bytes(),
        "draw it: scripts/pictures flow > docs/pictures/flow.svg"
    );
}

/// The exit codes as they stand in the source, so that a new one cannot be forgotten here.
fn exit_codes() -> Vec<u8> {
    let source = text_of("src/pouch/error.rs");
    let mut known: Vec<u8> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub const ")?.split_once("u8 = ")?.1.strip_suffix(';'))
        .map(|value| value.parse().unwrap())
        .collect();
    known.sort_unstable();
    assert!(known.contains(&Ended::Partial.code()) && known.contains(&Kind::Bug.code()), "{known:?}");
    known
}

#[test]
fn every_exit_code_is_explained_and_no_other() {
    let known = exit_codes();
    let text = text_of("docs/exit-codes.md");
    let rows = |text: &str| -> Vec<u8> {
        let number = |line: &str| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok();
        text.lines().filter_map(number).collect()
    };
    assert_eq!(rows(&text), known);
}

#[test]
fn the_order_of_exit_codes_is_complete() {
    let text = text_of("docs/exit-codes.md");
    let order = text.split("in this order:").nth(1).and_then(|rest| rest.split('.').next()).expect("the order is told");
    let mut told: Vec<u8> = order.split(',').map(|code| code.trim().parse().unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, exit_codes());
}

#[test]
fn dots_stand_for_anything_and_nothing_else_does() {
    assert!(fits("a\n…\nd\n", "a\nb\nc\nd\n") && fits("a\n…\nd\n", "a\nd\n") && fits("x=…, y=…\n", "x=1, y=2\n"));
    assert!(
        !fits("a\n…\nd\n", "a\nb\n") && !fits("a\n", "a\nb\n") && !fits("x=….\n", "x=1\n") && !fits("a b\n", "a  b\n")
    );
}
