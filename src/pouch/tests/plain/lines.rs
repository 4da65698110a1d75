//! Slips of a line: whatever is indented wrongly, nothing published is withdrawn, and the document is named as wrong.
//!
//! Each folder of `testdata/slips` is a world with every field that some stage reads, in block style. Every line of it
//! is moved two blanks out, two in, and indented by U+00A0; every field, with what stands below it, one level out and
//! one level in.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use pouch_core::finding::{Code, Finding, Severity};

use super::slips::{Desk, document_around, entries, names, objects};
use crate::support::fleet::EU;
use crate::support::root;

/// A manifest with one slip, and the line that it moves to.
struct Slip {
    what: &'static str,
    text: String,
    line: usize,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The lines of the field that begins in a line, as a range.
fn block(lines: &[&str], from: usize) -> std::ops::Range<usize> {
    let depth = indent(lines[from]);
    let is_below = |line: &str| {
        indent(line) > depth
            || (indent(line) == depth && line.trim_start().starts_with("- ") && lines[from].ends_with(':'))
    };
    let length = lines[from + 1..].iter().take_while(|line| **line != "---" && is_below(line)).count();
    from..from + 1 + length
}

/// The line whose field a line stands in.
fn parent(lines: &[&str], of: usize) -> Option<usize> {
    let depth = indent(lines[of]);
    let before = (0..of).rev().take_while(|line| lines[*line] != "---");
    before.into_iter().find(|line| indent(lines[*line]) < depth)
}

fn slips(text: &str) -> Vec<Slip> {
    let lines: Vec<&str> = text.lines().collect();
    let mut slips = Vec::new();
    let join = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| **line != "---") {
        let mut with = |what, new: String| {
            let mut all: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            all[at] = new;
            slips.push(Slip { what, text: join(&all), line: at + 1 });
        };
        with("two in", format!("  {line}"));
        if let Some(rest) = line.strip_prefix("  ") {
            with("two out", rest.to_owned());
            with("U+00A0", format!("{}{}", "\u{a0}".repeat(indent(line)), line.trim_start()));
        }
        if line.trim_start().starts_with("- ") {
            continue;
        }
        let own = block(&lines, at);
        let moved = |before: usize, by: isize| {
            let shifted = lines[own.clone()].iter().map(|line| match by {
                2 => format!("  {line}"),
                _ => line.strip_prefix("  ").unwrap_or(line).to_owned(),
            });
            let mut all = Vec::new();
            let mut place = 0;
            for (number, line) in lines.iter().enumerate() {
                if number == before {
                    place = all.len() + 1;
                    all.extend(shifted.clone());
                }
                if !own.contains(&number) {
                    all.push((*line).to_owned());
                }
            }
            if before == lines.len() {
                place = all.len() + 1;
                all.extend(shifted);
            }
            (join(&all), place)
        };
        if let Some(up) = parent(&lines, at).filter(|up| !lines[*up].trim_start().starts_with("- ")) {
            let (text, line) = moved(block(&lines, up).end, -2);
            slips.push(Slip { what: "a level out", text, line });
        }
        // Into every neighbour that is a map.
        let is_neighbour = |other: &usize| {
            let line = lines[*other];
            indent(line) == indent(lines[at])
                && line.ends_with(':')
                && lines
                    .get(other + 1)
                    .is_some_and(|next| indent(next) == indent(line) + 2 && !next.trim_start().starts_with("- "))
                && parent(&lines, *other) == parent(&lines, at)
                && (*other.min(&at)..*other.max(&at)).all(|line| lines[line] != "---")
        };
        for other in (0..lines.len()).filter(|other| *other != at && is_neighbour(other)) {
            let (text, line) = moved(block(&lines, other).end, 2);
            slips.push(Slip { what: "a level in", text, line });
        }
    }
    slips
}

/// Makes every slip in a world; fails where one withdraws something, or an entry of a Secret. What only the limits of
/// deletions hold would go from a larger region, so it is withdrawn.
#[track_caller]
fn suffer(world: &str) {
    let folder = root().join("testdata/slips").join(world);
    let mut manifests = BTreeMap::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        manifests.insert(name, fs::read_to_string(path).unwrap());
    }
    let config = manifests.remove("pouch.yaml").unwrap().replace("[EU]", &format!("[{EU}]"));
    let manifests: Vec<(String, String)> = manifests.into_iter().collect();
    let desk = Desk::new(&config, &manifests);
    let (before, held) = (objects(&desk.published), entries(&desk.published));
    let errors: Vec<String> = desk.render().iter().filter(|it| is_error(it)).map(|it| it.message.clone()).collect();
    assert!(!before.is_empty() && errors.is_empty(), "{world}: {before:?} {errors:?}");
    let (mut wrong, mut broken) = (String::new(), 0);
    for (file, text) in &manifests {
        for slip in slips(text) {
            desk.fleet.write(&format!("manifests/{file}"), &slip.text);
            let findings = desk.render();
            let after = desk.shelf.0.lock().unwrap().clone();
            let (stays, still) = (objects(&after), entries(&after));
            let lost: Vec<&&str> = before.iter().filter(|path| !stays.contains(*path)).collect();
            let emptied: Vec<&String> = held.difference(&still).collect();
            let around = document_around(&slip.text, slip.line);
            let around = (around.0.saturating_sub(1), around.1);
            let is_named = findings.iter().any(|it| is_error(it) && names(it, file, around));
            let is_unnamed = !is_named && findings.iter().any(is_error);
            broken += usize::from(is_named);
            let is_stopped = findings.iter().any(|it| it.code == Code::DeletionsHeld);
            if is_stopped || is_unnamed || !lost.is_empty() || !emptied.is_empty() {
                let line = slip.text.lines().nth(slip.line - 1).unwrap_or_default();
                let named = if is_unnamed { "unnamed" } else { "named" };
                _ = writeln!(wrong, "{file}:{}: {} {line:?} {named} lost {lost:?} {emptied:?}", slip.line, slip.what);
                for finding in &findings {
                    _ = writeln!(wrong, "    {:?} {} {}", finding.severity, finding.code.text(), finding.message);
                }
            }
        }
        desk.fleet.write(&format!("manifests/{file}"), text);
    }
    assert!(wrong.is_empty(), "{world}:\n{wrong}");
    assert!(broken > 0, "no slip broke anything, so this proves nothing");
}

fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

#[test]
fn no_line_that_slips_withdraws_from_clusters() {
    suffer("clusters");
}

#[test]
fn no_line_that_slips_withdraws_from_credentials() {
    suffer("credentials");
}

#[test]
fn no_line_that_slips_withdraws_from_guests() {
    suffer("guests");
}

#[test]
fn no_line_that_slips_withdraws_from_placements() {
    suffer("placements");
}

#[test]
fn no_line_that_slips_withdraws_from_rules() {
    suffer("rules");
}

#[test]
fn no_line_that_slips_withdraws_from_sets() {
    suffer("sets");
}

#[test]
fn no_line_that_slips_withdraws_from_sync_rules() {
    suffer("sync-rules");
}

#[test]
fn no_line_that_slips_withdraws_from_templates() {
    suffer("templates");
}

/// Without every sort of slip the tests above would prove less than they say.
#[test]
fn every_sort_of_slip_is_made() {
    let made = slips("a:\n  b: 1\n  c:\n    d: 2\n");
    let has = |what: &str, text: &str| made.iter().any(|slip| slip.what == what && slip.text == text);
    assert!(has("two out", "a:\nb: 1\n  c:\n    d: 2\n"));
    assert!(has("two in", "a:\n  b: 1\n  c:\n      d: 2\n"));
    assert!(has("U+00A0", "a:\n  b: 1\n  c:\n\u{a0}\u{a0}\u{a0}\u{a0}d: 2\n"));
    assert!(has("a level out", "a:\n  b: 1\nc:\n  d: 2\n"));
    assert!(has("a level in", "a:\n  c:\n    d: 2\n    b: 1\n"));
}
