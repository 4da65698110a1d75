//! What stands on a terminal: colours everywhere or nowhere, lines as wide as it is, and nothing where nothing is said.

use crate::support::fleet::Fleet;
use crate::support::terminal::{at_a_terminal, result_at_a_terminal};

/// Text without what dresses it.
fn bare(text: &str) -> String {
    let mut out = String::new();
    for (nth, part) in text.replace('\r', "").split('\u{1b}').enumerate() {
        out.push_str(if nth == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) });
    }
    out
}

#[test]
fn results_have_colours_on_a_terminal_and_only_where_they_are_wanted() {
    let fleet = Fleet::with_credentials(2);
    fleet.run(&["render"]).ends(0);
    fleet.secret("eu", "c0", "value: another");
    fleet.delete("eu", "c1");
    fleet.edit(
        "manifests/us-c0.yaml",
        "kind: Secret, name: c0",
        "kind: Secret, name: a-name-that-is-in-no-source-at-all",
    );
    for words in [
        &["plan"][..],
        &["check"],
        &["explain", "us-team/c0"],
        &["help", "missing-reference"],
        &["help", "plan"],
        &["help"],
        &["plan", "--help"],
    ] {
        let at = |more: &[&str], vars: &[(&str, &str)]| {
            let words = [words, more].concat();
            result_at_a_terminal(fleet.command(&words).env("TERM", "xterm").envs(vars.iter().copied()), 60).1
        };
        let seen = at(&[], &[]);
        assert!(seen.contains("\u{1b}["), "{words:?}: {seen}");
        if !words.contains(&"help") && !words.contains(&"--help") {
            let piped = fleet.run(words).stdout;
            let split = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(split(&bare(&seen)), split(&piped), "{words:?}");
            assert!(piped.lines().any(|line| line.len() > 60) && !piped.contains('\u{1b}'), "{words:?}: {piped}");
            let always = fleet.run(&[words, &["--color", "always"]].concat()).stdout;
            assert_eq!(bare(&always), piped);
        }
        for (more, vars) in [
            (&["--color", "never"][..], &[][..]),
            (&["--color=never"], &[]),
            (&[], &[("NO_COLOR", "1")]),
            (&[], &[("TERM", "dumb")]),
        ] {
            let seen = at(more, vars);
            assert!(!seen.contains('\u{1b}') && !seen.is_empty(), "{words:?} {more:?} {vars:?}: {seen:?}");
        }
    }
    let proved = fleet.run(&["verify", "--color", "always"]).stdout;
    assert!(proved.contains("\u{1b}[32mproved\u{1b}[0m"), "{proved}");
    let piped = fleet.run(&["help", "missing-reference"]).ends(0).stdout;
    assert!(piped.contains("**Cure.**") && piped.contains("```"), "{piped}");
}

#[test]
fn an_answer_to_a_mistyped_command_line_has_the_colours_that_it_asks_for() {
    let fleet = Fleet::new();
    for (words, coloured) in [
        (&["--color", "never", "plan", "--help"][..], false),
        (&["plan", "--help", "--color=never"], false),
        (&["--color", "always", "help", "plan"], true),
    ] {
        let seen = result_at_a_terminal(fleet.command(words).env("TERM", "xterm"), 80).1;
        assert_eq!(seen.contains('\u{1b}'), coloured, "{words:?}: {seen:?}");
    }
    for (words, coloured) in [
        (&["--color", "always", "plan", "--hepl"][..], true),
        (&["pln", "--color", "always"], true),
        (&["diff", "--color=always"], true),
        (&["plan", "--hepl"], false),
    ] {
        let ran = fleet.run(words).ends(64);
        assert_eq!(ran.stderr.contains('\u{1b}'), coloured, "{ran:?}");
    }
}

/// A snippet's marks stand below what they are about, so it stays as it is.
#[test]
fn what_is_said_is_as_wide_as_the_terminal() {
    let fleet = Fleet::with_credentials(1);
    let widest = |arguments: &[&str]| {
        let seen = at_a_terminal(fleet.command(arguments).env("TERM", "dumb"), 48).1;
        let seen = bare(&seen).replace('\r', "");
        (seen.lines().map(|line| line.chars().count()).max().unwrap(), seen)
    };
    for arguments in [&["help", "a-code-that-is-none-and-was-never-one"][..], &["plan"], &["render"]] {
        let (most, seen) = widest(arguments);
        assert!(most <= 48 && !seen.trim().is_empty(), "{seen}");
    }
    // What is meant to be copied stays whole.
    fleet.delete("eu", "c0");
    let held = fleet.run(&["plan"]).ends(0).stderr;
    let line = |text: &str| text.lines().find(|line| line.starts_with("to let through")).map(str::to_owned);
    assert!(line(&held).is_some_and(|line| line.len() > 80), "{held}");
    assert_eq!(line(&widest(&["plan"]).1), line(&held));
    fleet.configure("output:", "outptu: {path: somewhere-or-other-that-is-far-away/bundles}\noutput:");
    let piped = fleet.run(&["plan"]).ends(64).stderr;
    let (_, seen) = widest(&["plan"]);
    let snippet = |text: &str| text.lines().filter(|line| line.contains('|')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(snippet(&seen), snippet(&piped), "{seen}");
    assert!(!snippet(&piped).is_empty(), "{piped}");
}

#[test]
fn with_q_nothing_is_said_where_all_is_well() {
    let fleet = Fleet::with_credentials(2);
    let first = fleet.run(&["render", "-q"]).ends(0);
    assert!(first.stdout.contains("eu  published") && first.stderr.is_empty(), "{first:?}");
    for command in [&["render"][..], &["render", "--dry-run"], &["plan"], &["check"], &["verify", "bundles"]] {
        assert!(fleet.run(&[command, &["-q"]].concat()).ends(0).is_silent(), "{command:?}");
        let loud = fleet.run(command).ends(0);
        assert!(!loud.stdout.is_empty() || !loud.stderr.is_empty(), "{loud:?}");
    }
    // Of what changes, what changes is said.
    fleet.secret("eu", "c0", "value: another");
    let changed = fleet.run(&["plan", "-q"]).ends(0);
    assert!(changed.stdout.starts_with("eu  would be published") && !changed.stdout.contains("us  "), "{changed:?}");
}

/// Paragraphs are broken once, by who knows how wide the terminal is.
#[test]
fn no_line_of_help_ends_early() {
    let fleet = Fleet::new();
    for command in ["plan", "explain", "publish", "rekey", "verify", "log", "check", "help"] {
        for width in [80, 60] {
            let (code, seen) = result_at_a_terminal(fleet.command(&[command, "--help"]).env("TERM", "dumb"), width);
            assert_eq!(code, Some(0), "{seen}");
            let seen = seen.replace('\r', "");
            let (_, codes) = seen.split_once("Exit codes: ").expect(&seen);
            let lines: Vec<&str> = codes.split("\n\n").next().unwrap().trim_end().lines().collect();
            for pair in lines.windows(2) {
                let next = pair[1].split(' ').next().unwrap();
                let head = if pair[0] == lines[0] { "Exit codes: ".len() } else { 0 };
                assert!(head + pair[0].len() + 1 + next.len() > usize::from(width), "{command}: {pair:?}");
            }
        }
    }
}
