//! What tests skip is told once more in the last lines of `cargo test`.

use std::fs;
use std::process::Command;

use crate::support::skipped;
use crate::support::skips::{note, take, told};

/// Where work is judged, what is skipped fails. A process of its own, because both go by the environment.
#[test]
fn a_skip_fails_in_ci_and_nowhere_else() {
    const INNER: &str = "POUCH_TEST_SKIPS";
    if std::env::var_os(INNER).is_some() {
        return skipped("no program, to try it");
    }
    for (value, passes) in [(None, true), (Some("false"), true), (Some("true"), false)] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "skips::a_skip_fails_in_ci_and_nowhere_else"]).env(INNER, "1").env_remove("CI");
        let output = command.envs(value.map(|value| ("CI", value))).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert_eq!(output.status.success(), passes, "{value:?}\n{said}");
        let words = if passes { "SKIPPED skips::a_skip" } else { "not skipped in CI: no program, to try it" };
        assert!(said.contains(words) && said.contains("1 passed") == passes, "{value:?}\n{said}");
    }
}

#[test]
fn what_was_noted_is_told_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("skipped");
    assert_eq!(take(&place), Vec::<String>::new());
    ["two: no program", "one: no program", "two: no program"].iter().for_each(|line| note(&place, line));
    // Another run's, which may be under way.
    fs::write(place.join("1-0"), "theirs\n").unwrap();
    assert_eq!(take(&place), ["one: no program", "two: no program"]);
    assert_eq!(take(&place), Vec::<String>::new());
    assert!(place.join("1-0").exists());
}

#[test]
fn the_last_lines_say_how_many_were_skipped_and_why() {
    let told = |lines: &[&str]| told(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>());
    assert_eq!(told(&[]), "\nNo test was skipped.\n");
    assert_eq!(
        told(&["a::b: no program sops: install it"]),
        "\nSKIPPED: 1 test, or a part of it, did not run.\n  1: no program sops: install it\n     a::b\n"
    );
    assert_eq!(
        told(&["a: no sops", "b: no age", "c: no sops", "d: no sops", "e: no sops", "f: no sops"]),
        "\nSKIPPED: 6 tests, or parts of them, did not run.\n  1: no age\n     b\n  5: no sops\n     a, c, d and 2 more\n"
    );
}
