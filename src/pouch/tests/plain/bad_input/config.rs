//! Broken configurations and command lines: exit 64, the place, the line, and what to do.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::spoilt::{Fleet, KEY, OTHER, RECIPIENT, differing, each, none};

/// Runs on a spoilt configuration where something is published, and nothing of that changes.
#[track_caller]
fn check(name: &str, spoil: impl Fn(&Fleet), words: &[&str]) {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    spoil(&fleet);
    let ran = fleet.render();
    eprintln!("--- {name}\n{}", ran.err);
    ran.ended(64).says(words).helps();
    for ran in [ran, fleet.render_json()] {
        ran.ended(64).keeps_quiet_about(&["AGE-SECRET-KEY-1", KEY]);
        let failed = ran.summary.as_ref().is_some_and(|summary| summary.contains("\"failure\""));
        assert!(ran.out.is_empty() && failed, "{}", ran.shown());
    }
    assert_eq!(differing(&good, &fleet.published()), none(), "{name}");
}

#[track_caller]
fn edited(name: &str, from: &str, to: &str, words: &[&str]) {
    check(name, |fleet| fleet.configure(from, to), words);
}

const SECRET_KEY: &str = "AGE-SECRET-KEY-1C9GDVNS3E05H0VJLZYVQA40T0V0M84RJF8L2LGZU6NDQHQLHCT8QA49E75";

/// One line, one error, with the help that belongs to its field; and without a line to show the place stands where
/// findings have theirs.
#[test]
fn a_pasted_key_is_said_once() {
    let fleet = Fleet::new();
    fleet.configure(RECIPIENT, SECRET_KEY);
    let ran = fleet.render();
    ran.ended(64)
        .keeps_quiet_about(&["AGE-SECRET-KEY-1", KEY])
        .says(&["\n  --> pouch.yaml:13:18\n  = help: Remove it"]);
    assert!(ran.err.matches("error: ").count() == 1 && !ran.err.contains("reuseKey"), "{}", ran.shown());
    // In a comment it has no field of its own, and beside a recipient's it is another one.
    fleet.configure("k0rdentPushDisabled: true", &format!("k0rdentPushDisabled: true # {SECRET_KEY}"));
    let ran = fleet.render();
    ran.ended(64).says(&["pouch.yaml:13:18", "\n  --> pouch.yaml:15:5\n", "`reuseKey` says where"]);
    assert_eq!(ran.err.matches("error: ").count(), 2, "{}", ran.shown());
}

#[test]
fn broken_configurations_are_placed() {
    let low_order = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z";
    each(
        [
            (
                "an unknown field",
                "output: {path: bundles}",
                "outptu: {path: bundles}",
                &["pouch.yaml:17:1", "outptu", "output", "17 |"][..],
            ),
            (
                "an unknown field within",
                "k0rdentPushDisabled: true",
                "k0rdentPushDisable: true",
                &["pouch.yaml:15:5", "k0rdentPushDisable", "Did you mean", "15 |"],
            ),
            (
                "an unknown setting of the delivery",
                "delivery: flux",
                "delivery: {flux: {intervall: 5m}}",
                &["pouch.yaml:16:23", "unknown field \"intervall\"", "Did you mean \"interval\"?", "16 |"],
            ),
            (
                "a wrong type",
                "k0rdentPushDisabled: true",
                "k0rdentPushDisabled: maybe",
                &["pouch.yaml:15:26", "k0rdentPushDisabled"],
            ),
            ("a list for a map", "output: {path: bundles}", "output: [bundles]", &["pouch.yaml:17:9"]),
            (
                "a duplicate key",
                "k0rdentPushDisabled: true",
                "k0rdentPushDisabled: true\n    k0rdentPushDisabled: false",
                &["pouch.yaml:16:5", "second time"],
            ),
            ("broken YAML", "output: {path: bundles}", "output: {path: bundles", &["pouch.yaml:", "bracket"]),
            ("a tab", "    k0rdentPushDisabled: true", "\tk0rdentPushDisabled: true", &["pouch.yaml:15:"]),
            (
                "an alias bomb",
                "output: {path: bundles}",
                "a: &a [x, x]\nb: &b [*a, *a]\noutput: {path: *b}",
                &["pouch.yaml:"],
            ),
            ("another version", "pouch/v1alpha1", "pouch/v9", &["pouch.yaml:1:13", "pouch/v9"]),
            ("another kind", "kind: Fleet", "kind: Flete", &["pouch.yaml:2:7", "Fleet"]),
            ("a name that leads out", "{name: acme}", "{name: ../acme}", &["pouch.yaml:3:", "1 to "]),
            ("a name that steers", "{name: acme}", "{name: \"a\\e[2J\\n::error::x\\u202E\"}", &["pouch.yaml:3:"]),
            ("a region that leads out", "  eu-west:", "  ../x:", &["pouch.yaml:12:3", "../x", "12 |"]),
            (
                "a directory that leads out",
                "k0rdentPushDisabled: true",
                "directory: ../x",
                &["pouch.yaml:15:16", "../x"],
            ),
            ("a state that is none", "k0rdentPushDisabled: true", "state: asleep", &["pouch.yaml:15:12", "active"]),
            ("a secret key for a recipient", RECIPIENT, SECRET_KEY, &["pouch.yaml:13:18", "secret key"]),
            (
                "a recipient with a typing error",
                RECIPIENT,
                "age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368p",
                &["pouch.yaml:13:18"],
            ),
            ("a low-order recipient", RECIPIENT, low_order, &["pouch.yaml:13:18", "Make a new key pair"]),
            ("an SSH recipient", RECIPIENT, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN", &["pouch.yaml:13:18"]),
            ("no recipient", &format!("recipients: [{RECIPIENT}]"), "recipients: []", &["pouch.yaml:13:17"]),
            ("no namespaces", "namespaces: {allowed: ['*']}", "state: active", &["pouch.yaml:12:", "namespaces"]),
            ("an absolute output", "{path: bundles}", "{path: /tmp/bundles}", &["pouch.yaml:17:16"]),
            (
                "a password in a URL",
                "directory: {path: tenant}",
                "git: {repository: 'https://me:CaNaRy-5e1f-sings@git.example.com/x.git'}",
                &["pouch.yaml:9:", "password"],
            ),
            (
                "a transport that runs programs",
                "directory: {path: tenant}",
                "git: {repository: 'ext::sh -c id'}",
                &["pouch.yaml:9:"],
            ),
            (
                "a repository that is a flag",
                "directory: {path: tenant}",
                "git: {repository: --upload-pack=id}",
                &["pouch.yaml:9:"],
            ),
            (
                "a ref that is a flag",
                "directory: {path: tenant}",
                "git: {repository: ./x, ref: --exec=id}",
                &["pouch.yaml:9:"],
            ),
            (
                "two places",
                "directory: {path: tenant}",
                "directory: {path: tenant}\n    stdin: {}",
                &["pouch.yaml:8:", "one of"],
            ),
            ("no provides", "    provides: {namespaces: [team-x]}\n", "", &["pouch.yaml:8:", "provides"]),
            ("two sources of one name", "name: tenant", "name: platform", &["pouch.yaml:8:11", "platform"]),
            (
                "a release without data",
                "output: {path",
                "providerInterfaces: {builtin: v1.7}\noutput: {path",
                &["pouch.yaml:17:31", "v1.6", "v1.8"],
            ),
            (
                "a refused code lowered",
                "output: {path",
                "findings: {not-admitted: info}\noutput: {path",
                &["pouch.yaml:17:"],
            ),
            (
                "a code that is none",
                "output: {path",
                "findings: {not-admited: info}\noutput: {path",
                &["pouch.yaml:17:12", "not-admitted"],
            ),
            (
                "a grant for nobody",
                "output: {path",
                "grants: [{from: {namespace: team-b}}]\noutput: {path",
                &["pouch.yaml:17:"],
            ),
            (
                "a number too large",
                "output: {path",
                "limits: {deletions: {percent: 101}}\noutput: {path",
                &["pouch.yaml:17:31"],
            ),
            (
                "a budget of objects",
                "output: {path",
                "limits: {deletions: {free: 3}}\noutput: {path",
                &[
                    "pouch.yaml:17:22",
                    "limits.deletions.free: the field is replaced by `limits.deletions.claimants`",
                    "it counted objects",
                ],
            ),
            (
                "a budget of objects, even an empty one",
                "output: {path",
                "limits: {deletions: {objects: }}\noutput: {path",
                &[
                    "pouch.yaml:17:22",
                    "limits.deletions.objects: the field is replaced by `limits.deletions.most`",
                    "it counted objects",
                ],
            ),
            (
                "a most below what always passes",
                "output: {path",
                "limits: {deletions: {claimants: 9, most: 3}}\noutput: {path",
                &["pouch.yaml:17:42", "less than `claimants`"],
            ),
            (
                "a reuse key in the open",
                "reuseKey: {file: reuse.key}",
                &format!("reuseKey: {KEY}"),
                &["pouch.yaml:22:11"],
            ),
            ("no reuse key", "reuseKey: {file: reuse.key}\n", "", &["POUCH_REUSE_KEY"]),
        ],
        |(name, from, to, words)| edited(name, from, to, words),
    );
    let two = format!("\n  us-east:\n    recipients: [{RECIPIENT}]\n    namespaces: {{allowed: ['*']}}\noutput: {{");
    edited("one recipient for two regions", "\noutput: {", &two, &["pouch.yaml:18:17", "eu-west"]);
    let two = format!(
        "\n  us-east:\n    recipients: [{OTHER}]\n    directory: eu-west\n    namespaces: {{allowed: ['*']}}\noutput: {{"
    );
    edited("one directory for two regions", "\noutput: {", &two, &["pouch.yaml:19:16", "eu-west"]);
}

#[test]
fn configurations_that_cannot_be_read() {
    each(
        [
            ("nothing", &b""[..], "pouch.yaml"),
            ("NUL", b"apiVersion: pouch/v1alpha1\nkind: \0\n", "pouch.yaml:2:7"),
            ("not UTF-8", b"apiVersion: pouch/v1alpha1\nkind: \xff\n", "UTF-8"),
            ("two documents", b"apiVersion: pouch/v1alpha1\n---\nkind: Fleet\n", "pouch.yaml"),
            ("text", b"hello", "pouch.yaml:1:1"),
            ("too long", &[b'#'; 5 << 20], "pouch.yaml"),
            ("depth", &[b'['; 100_000], "pouch.yaml"),
        ],
        |(name, bytes, word)| check(name, |fleet| fleet.write("pouch.yaml", bytes), &[word]),
    );
    check("no file", |fleet| fleet.remove("pouch.yaml"), &["pouch.yaml", "pouch init"]);
    let folder = |fleet: &Fleet| {
        fleet.remove("pouch.yaml");
        fleet.write("pouch.yaml/x", "");
    };
    check("a folder", folder, &["pouch.yaml", "no plain file"]);
}

#[test]
fn reuse_keys_that_are_none() {
    let short = KEY.get(..40).unwrap();
    let wrong = KEY.replace('7', "8");
    let twice = format!("{KEY}\n{KEY}\n");
    let lower = format!("{}x", KEY.to_lowercase());
    each(
        [
            ("empty", ""),
            ("blank", "\n"),
            ("short", short),
            ("a typing error", &wrong),
            ("two", &twice),
            ("an age key", SECRET_KEY),
            ("noise", &lower),
        ],
        |(name, text)| {
            let spoil = |fleet: &Fleet| {
                fleet.write("reuse.key", text);
                std::fs::set_permissions(fleet.path("reuse.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
            };
            check(name, spoil, &["reuse.key"]);
        },
    );
    check("missing", |fleet| fleet.remove("reuse.key"), &["reuse.key"]);
    let folder = |fleet: &Fleet| {
        fleet.remove("reuse.key");
        fleet.write("reuse.key/x", "");
    };
    check("a folder", folder, &["reuse.key"]);
    edited("not in the environment", "{file: reuse.key}", "{env: POUCH_REUSE_KEY}", &["POUCH_REUSE_KEY"]);
}

#[test]
fn recipients_files_that_are_none() {
    let line = format!("recipients: [{RECIPIENT}]");
    each(
        [
            ("a secret key", SECRET_KEY.to_owned()),
            ("nothing", String::new()),
            ("noise", format!("{RECIPIENT}\nCaNaRy-5e1f-sings\n")),
        ],
        |(name, text)| {
            let spoil = |fleet: &Fleet| {
                fleet.configure(&line, "recipientsFile: eu.txt");
                fleet.write("eu.txt", &text);
            };
            check(name, spoil, &["eu.txt"]);
        },
    );
    edited("no file", &line, "recipientsFile: nowhere.txt", &["nowhere.txt"]);
    edited(
        "where everybody may write",
        &line,
        "recipientsFile: bundles/eu.txt",
        &["pouch.yaml:13:21", "bundles/eu.txt"],
    );
}

#[test]
fn command_lines_that_say_nothing() {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    each(
        [
            (&[][..], "Usage"),
            (&["frobnicate"], "frobnicate"),
            (&["render", "--frob"], "--frob"),
            (&["render", "a", "b"], "\"a\" names no Credential"),
            (&["render", "--color", "blue"], "blue"),
            (&["render", "-q", "-v"], "cannot be used with"),
            (&["render", "-f", "nowhere.yaml"], "nowhere.yaml"),
            (&["render", "--tolerate", "everything"], "everything"),
            (&["render", "--accept-deletions", "eu-west"], "--accept-deletions takes REGION=VALUE"),
            (&["render", "--accept-deletions", "eu-west="], "--accept-deletions takes REGION=VALUE"),
            (&["render", "--accept-deletions", "=0123456789abcdef"], "no region"),
            (&["render", "--accept-deletions", "us-east=0123456789abcdef"], "no region us-east"),
            (&["render", "--accept-deletions", "eu-west=CaPiTaL"], "--accept-deletions"),
            (&["render", "--accept-recipients", "x=0123456789abcdef"], "no region x"),
            (&["render", "--accept-reseal", "x=0123456789abcdef"], "no region x"),
            (&["render", "--accept-source", "x=y"], "no region x"),
            (&["render", "--replace-unsigned", "us-east"], "no region us-east"),
            (&["render", "--replace-unsigned", "../x"], "no region ../x"),
            (&["render", "--remove-foreign", "a\n::error::"], "no region a\\u{a}::error::"),
            (&["render", "--reseal", "\u{1b}[2J"], "no region \\u{1b}[2J"),
            (&["publish"], "output.git"),
        ],
        |(arguments, word)| {
            let ran = fleet.run(arguments);
            ran.ended(64).says(&[word]);
            if !arguments.is_empty() {
                ran.helps();
            }
            assert!(ran.out.is_empty(), "{}", ran.shown());
            assert_eq!(differing(&good, &fleet.published()), none());
        },
    );
}
