//! What `pouch log` is told by histories that somebody else wrote, cut short or lost, and by command lines.

use std::fmt::Write as _;
use std::fs;

use super::{Life, list, text, told};
use crate::exposure::{bare, import};
use crate::support::fleet::{Fleet, Ran, US};
use crate::support::origin::Origin;

/// One commit with a bundle, made by who wants to be obeyed.
fn hostile() -> Fleet {
    let fleet = bare();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: team}\ndata: {a: 'ENC[AES256_GCM,data:AAAA,iv:1]'}\n\
                  sops: {age: [{recipient: \"age1\\u001b[31m`x\", enc: x}]}\n";
    let manifest = "apiVersion: pouch/v1alpha1\nkind: Bundle\nfleet: \"f\\u001b[32m`<i>\"\nmetadata: {name: eu}\nobjects:\n\
                    - {key: {group: '', kind: Secret, namespace: team, name: s}, path: regions/eu/s.yaml, sha256: \
                    \"\\u001b[33m\", state: carried, reason: \"\\u001b[34m##[x`\\n::error::\", \
                    neededBy: [{namespace: \"t\\u202e`\", name: \"c\\n\\u001b[35m\"}]}\n";
    let message = "\u{1b}[36m`<script>` ##[group]\r\u{202e}x\n\nPouch-Fleet: x\n\
                   Pouch-Source: \u{1b}[37m`src 0123456789012345678901234567890123456789 p\n\
                   Pouch-Source: good 17 p\nPouch-Source: bad no-state p\nPouch-Seal: 0123abcd x\n";
    let mut stream = String::new();
    write!(
        stream,
        "commit refs/heads/main\nmark :1\nauthor \u{1b}[38m`b``*c* <a@example.com> 1700000000 +0000\n\
         committer C <c@example.com> 1700000000 +0000\ndata {}\n{message}\n",
        message.len()
    )
    .unwrap();
    for (path, text) in [("regions/eu/bundle.yaml", manifest), ("regions/eu/s.yaml", secret)] {
        writeln!(stream, "M 100644 inline {path}\ndata {}\n{text}", text.len()).unwrap();
    }
    import(&fleet, &format!("{stream}\ndone\n"));
    fleet
}

#[test]
fn nothing_in_a_history_is_obeyed() {
    let fleet = hostile();
    for format in ["text", "json", "markdown"] {
        for more in [&[][..], &["-v"], &["region", "eu"], &["--older-than", "1h"]] {
            let ran = fleet.run(&[&["log", "--repo", "model.git", "-o", format], more].concat()).ends(0);
            let steers = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
            assert!(!ran.stdout.contains(steers) && !ran.stdout.contains("##["), "{format}: {:?}", ran.stdout);
            assert!(!ran.stdout.contains("\n::error"), "{format}: {}", ran.stdout);
            if format == "markdown" {
                // Outside of code spans, which begin and end with as many backticks, nothing of theirs stands.
                assert!(!without_spans(&ran.stdout).contains(['<', '`', '\\']), "{}", ran.stdout);
            }
            let is_told = ran.stdout.contains("team/s") || ran.stdout.contains("\"name\": \"s\"");
            assert!(is_told, "{format} {more:?}: {}", ran.stdout);
        }
    }
    let log: serde_json::Value =
        serde_json::from_str(&fleet.run(&["log", "--repo", "model.git", "-o", "json"]).stdout).unwrap();
    let sources: Vec<&str> = list(&log["commits"][0]["sources"]).iter().map(|source| text(&source["state"])).collect();
    assert_eq!(sources, ["0123456789012345678901234567890123456789", "17"]);
    assert_eq!(told(&log).len(), 3, "published, carried and altered: {log}");
}

/// Markdown without its code spans.
fn without_spans(markdown: &str) -> String {
    let mut out = String::new();
    for line in markdown.lines() {
        let mut rest = line;
        while let Some(at) = rest.find('`') {
            out.push_str(&rest[..at]);
            let fence = rest[at..].len() - rest[at..].trim_start_matches('`').len();
            let mut inner = &rest[at + fence..];
            // The next run of exactly as many.
            loop {
                let begin = inner.find('`').unwrap_or_else(|| panic!("a span does not end: {line}"));
                let run = inner[begin..].len() - inner[begin..].trim_start_matches('`').len();
                inner = &inner[begin + run..];
                if run == fence {
                    break;
                }
            }
            rest = inner;
        }
        out.push_str(rest);
    }
    out
}

#[test]
fn a_history_that_is_not_all_there_is_refused_and_not_quoted() {
    let life = Life::new();
    life.on(0, &["publish", "--first"]).ends(0);
    life.fleet.secret("eu", "c0", "value: another-one");
    life.on(1, &["publish"]).ends(0);
    let origin = life.origin();
    let (from, shallow) = (format!("file://{}", origin.path().display()), life.fleet.path("shallow.git"));
    origin.git(&["clone", "-q", "--bare", "--depth=1", &from, &shallow.display().to_string()]);
    let ran = life.fleet.run(&["log", "--repo", "shallow.git"]).ends(5).says("is shallow").says("--unshallow");
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    // A commit, a folder, a manifest or a file that is lost.
    for lost in
        ["main~1", "main~1^{tree}", "main:bundles/regions/eu/bundle.yaml", "main~1:bundles/regions/eu/bundle.yaml"]
    {
        let id = origin.git(&["rev-parse", lost]);
        crate::support::fleet::copy(&origin.path(), &life.fleet.path("lost.git"));
        let repository = life.fleet.path("lost.git");
        // Whatever is packed is put beside the packs, where one object can be lost.
        let unpacked = "for pack in objects/pack/*.pack; do mv \"$pack\" \"$pack.tmp\"; rm -f \"${pack%.pack}.idx\" \
                        \"${pack%.pack}.rev\"; git unpack-objects -q < \"$pack.tmp\"; rm -f \"$pack.tmp\"; done";
        origin.run_beside(&format!(
            "cd '{}'; ls objects/pack/*.pack 2>/dev/null || exit 0; {unpacked}",
            repository.display()
        ));
        fs::remove_file(repository.join("objects").join(&id[..2]).join(&id[2..])).unwrap();
        let ran =
            life.fleet.run(&["log", "--repo", "lost.git"]).ends(5).says("is missing").says("Clone the repository");
        assert!(ran.stdout.is_empty() && !ran.stderr.contains("Secret"), "{lost}: {}", ran.stdout);
        fs::remove_dir_all(repository).unwrap();
    }
}

#[test]
fn commits_that_were_made_anew_are_counted_with_the_key() {
    let life = Life::new();
    life.on(0, &["publish", "--first"]).ends(0);
    life.fleet.secret("eu", "c0", "value: another-one");
    life.on(1, &["publish"]).ends(0);
    let before = life.log(&["--values"]);
    let log = |log: &serde_json::Value| (log["looked"]["branches"][0]["unproved"].clone(), told(log));
    assert_eq!(log(&before).0, 0);
    // The same message and the same content, by another committer.
    life.origin().run_beside("git commit -q --amend --no-edit --reset-author; git push -qf origin HEAD:main");
    let after = life.log(&["--values"]);
    assert_eq!(log(&after).0, 1);
    assert_eq!(after["commits"][0]["proved"], false);
    let ran = life.fleet.run(&["log", "--values"]).ends(0);
    assert!(ran.stdout.contains("1 commit has a line of pouch's that does not fit"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(by O, not proved to be pouch's)"), "{}", ran.stdout);
    assert_eq!(log(&life.log(&[])).0, 1);
    assert!(life.log_without_key(&[])["looked"]["branches"][0].get("unproved").is_none());
}

#[test]
fn what_is_asked_wrongly_or_in_vain_is_answered_with_a_cure() {
    let life = Life::new();
    life.on(0, &["publish", "--first"]).ends(0);
    let ask = |arguments: &[&str], code: i32| life.fleet.run(&[&["log"], arguments].concat()).ends(code);
    ask(&["eu-team/c9"], 1)
        .says("Credential eu-team/c9: nothing of it was ever published on main")
        .says("Did you mean eu-team/c0?");
    ask(&["secret", "eu-team/c"], 1).says("Did you mean eu-team/c0?");
    ask(&["region", "eb"], 1).says("region eb").says("Did you mean eu?");
    ask(&["region", "Not.A.Folder"], 64).says("no region Not.A.Folder");
    ask(&["c0"], 64).says("\"c0\" names no Credential: it has no namespace");
    ask(&["eu"], 64).says("`pouch log region eu`");
    ask(&["recipient", US], 64)
        .says("Name one of: credential, cluster, resourcesyncrule, managedresource, secret, region");
    ask(&["region"], 64).says("`pouch log --help` shows how");
    ask(&["region", "elsewhere"], 1).says("The configuration's regions are eu, us. ");
    ask(&["--deny"], 64).says("Write `pouch log --deny warning`");
    ask(&["--deny", "warning"], 64).says("--older-than <AGE>");
    ask(&["-n", "eu-team"], 64);
    ask(&["--older-than", "3m"], 64).says("is no age");
    ask(&["--rev", "main~1"], 64).says("names no branch, tag or commit");
    ask(&["--rev", "nothing"], 64).says("there is no branch or commit nothing").says("Its branches: main.");
    ask(&["--repo", "nowhere.git"], 64).says("there is no git repository").says("--repo PATH|URL");
    // A HEAD that leads nowhere.
    let origin = life.origin();
    origin.git(&["clone", "-q", "--mirror", ".", &life.fleet.path("head.git").display().to_string()]);
    life.fleet.write("head.git/HEAD", "ref: refs/heads/nowhere\n");
    life.fleet.write("other/x", "");
    life.fleet.configure("repo.git", "gone.git");
    let elsewhere = |code: i32| {
        let mut command = life.fleet.command(&["log", "--repo", "../head.git"]);
        Ran::from(command.current_dir(life.fleet.path("other")).output().unwrap()).ends(code)
    };
    assert!(elsewhere(0).stdout.starts_with("1 commit of main, up to "));
    origin.git(&["push", "-q", &life.fleet.path("head.git").display().to_string(), "main:second"]);
    elsewhere(64).says("HEAD leads to none of them").says("--rev: main, second.");
    ask(&[], 5).says("`pouch log --repo PATH|URL`");
    // Nothing was published yet, or not on that branch.
    let empty = Life::new();
    let ran = empty.fleet.run(&["log"]).ends(0);
    assert!(ran.stdout.contains("Not in the repository, so nothing was published there: main"), "{}", ran.stdout);
    let ran = empty.fleet.run(&["log", "-o", "json"]).ends(0);
    assert!(ran.stderr.contains("the repository has no branch main"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_read_is_counted_and_named() {
    let life = Life::new();
    life.on(0, &["publish", "--first"]).ends(0);
    life.origin().commit_beside("printf 'kind: [' > bundles/regions/eu/bundle.yaml; ln -s x bundles/regions/link");
    let log = life.log(&[]);
    assert_eq!(log["looked"]["skipped"]["count"], 2, "{log}");
    let newest = &log["commits"][0];
    let what: Vec<&str> = list(&newest["events"]).iter().map(|event| text(&event["what"])).collect();
    assert!(!what.is_empty() && what.iter().all(|what| *what == "altered"), "{newest}");
    let ran = life.fleet.run(&["log"]).ends(0);
    for says in [
        "2 files, folders or commits could not be read",
        "bundle.yaml: it is not YAML that pouch can read",
        "it is a symlink",
    ] {
        assert!(ran.stdout.contains(says), "{}", ran.stdout);
    }
    life.fleet.run(&["log", "-o", "json"]).ends(0).says("2 files, folders or commits could not be read");
}

#[test]
fn each_region_is_told_from_the_branch_that_it_follows() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("branch: main", "branch: 'for-{region}'");
    fleet.run(&["publish", "--first"]).ends(0);
    // A copy of what another branch has is nothing that the other region saw.
    origin.run_beside(
        "git checkout -q for-us; git checkout -q origin/for-eu -- bundles/regions/eu; git commit -qm copy; git push -q origin \
         HEAD:for-us",
    );
    let life = Life { fleet };
    let log = life.log(&[]);
    let mut told: Vec<(String, String)> = list(&log["commits"])
        .iter()
        .flat_map(|commit| list(&commit["events"]).iter().map(move |event| (&commit["branch"], &event["directory"])))
        .map(|(branch, directory)| (text(branch).to_owned(), text(directory).to_owned()))
        .collect();
    told.dedup();
    told.sort();
    told.dedup();
    assert_eq!(told, [("for-eu".into(), "eu".into()), ("for-us".into(), "us".into())]);
    assert_eq!(list(&log["secrets"]).len(), 2, "{log}");
    // Asked for by name, the branch is told as it is.
    let log = life.log(&["--rev", "for-us"]);
    assert_eq!(list(&log["secrets"]).len(), 2, "{log}");
    let log = life.log(&["region", "us"]);
    assert_eq!(list(&log["looked"]["branches"]).len(), 1, "{log}");
    // A region that the configuration has no more is known by its folder.
    life.fleet.configure("  us: {", "  us2: {directory: us, ");
    let log = life.log(&["region", "us2"]);
    assert_eq!((&log["secrets"][0]["region"], &log["secrets"][0]["directory"]), (&"us2".into(), &"us".into()));
    let log = life.log(&["region", "us"]);
    assert_eq!(log["secrets"][0]["region"], "us2");
}

#[test]
fn what_is_merged_counts_when_it_is_merged() {
    let life = Life::new();
    life.fleet.configure("branch: main", "base: main, branch: pouch/all");
    let (fleet, origin) = (&life.fleet, life.origin());
    origin.commit_beside("echo theirs > README");
    life.on(1, &["publish", "--first"]).ends(0);
    let ran = fleet.run(&["log"]).ends(0);
    assert!(
        ran.stdout.contains("Nothing was published in these commits."),
        "what is proposed is not published: {}",
        ran.stdout
    );
    let merge = |how: &str| {
        let merge = format!("git merge -q {how} -m 'Merge a proposal' origin/pouch/all; git push -q origin HEAD:main");
        origin.run_beside(&merge);
    };
    merge("--no-ff");
    let log = life.log(&["--values"]);
    let newest = &log["commits"][0];
    assert_eq!(list(&log["commits"]).len(), 1, "{log}");
    assert_eq!((text(&newest["subject"]), &newest["proved"]), ("Merge a proposal", &true.into()));
    let proposed = origin.git(&["rev-parse", "refs/heads/pouch/all"]);
    assert_eq!(newest["merged"][0]["id"], proposed.as_str());
    let ran = fleet.run(&["log"]).ends(0);
    assert!(ran.stdout.contains(&format!("\n  merges {}\n", &proposed[..10])), "{}", ran.stdout);
    // What somebody changed in merging is not what pouch made.
    fleet.secret("eu", "c0", "value: another-one");
    life.on(2, &["publish"]).ends(0);
    origin.run_beside(
        "git merge -q --no-ff --no-commit origin/pouch/all; echo x >> README; git commit -qam merged; git push -q origin \
         HEAD:main",
    );
    assert_eq!(life.log(&["--values"])["commits"][0]["proved"], false);
}

#[test]
fn a_region_is_told_from_the_repository_that_it_has() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.git(&["init", "-q", "--bare", "--initial-branch=main", &fleet.path("of-eu.git").display().to_string()]);
    origin.git(&["init", "-q", "--bare", "--initial-branch=main", &fleet.path("of-us.git").display().to_string()]);
    fleet.configure("repository: repo.git", "repository: 'of-{region}.git'");
    fleet.run(&["publish", "--first"]).ends(0);
    let life = Life { fleet };
    life.fleet.run(&["log"]).ends(64).says("Name one of them: `pouch log --repo PATH|URL`.");
    let log = life.log(&["region", "us"]);
    assert_eq!((text(&log["looked"]["repository"]), list(&log["secrets"]).len()), ("of-us.git", 1));
    assert_eq!(list(&life.log(&["eu-team/c0", "--repo", "of-eu.git"])["secrets"]).len(), 1);
}

#[test]
fn fleets_in_one_repository_stay_apart() {
    let fleet = bare();
    let mut stream = String::from("commit refs/heads/main\nmark :1\ncommitter C <c@x> 1700000000 +0000\ndata 1\nx\n");
    for (folder, name) in [("a", "one"), ("b/c", "two")] {
        let manifest = format!(
            "apiVersion: pouch/v1alpha1\nfleet: {name}\nkind: Bundle\nmetadata:\n  name: eu\nobjects:\n- key:\n    kind: Secret\n    \
             name: s\n    namespace: team\n  neededBy: []\n  path: regions/eu/s.yaml\n  sha256: x\n  state: current\n"
        );
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: team}\ndata: {a: 'ENC[x]'}\n";
        for (path, text) in [("bundle.yaml", manifest.as_str()), ("s.yaml", secret)] {
            writeln!(stream, "M 100644 inline {folder}/regions/eu/{path}\ndata {}\n{text}", text.len()).unwrap();
        }
    }
    // One fleet goes, and the other one's folder moves: nobody sees anything of that.
    stream.push_str("\ncommit refs/heads/main\ncommitter C <c@x> 1700000060 +0000\ndata 1\ny\nfrom :1\n");
    import(&fleet, &format!("{stream}D a\nR b/c d\n\ndone\n"));
    let ran = fleet.run(&["log", "--repo", "model.git", "-o", "json"]).ends(0);
    let log: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let events = |commit: usize| -> Vec<(String, String)> {
        let events = list(&log["commits"][commit]["events"]).iter();
        events.map(|event| (text(&event["fleet"]).to_owned(), text(&event["what"]).to_owned())).collect()
    };
    assert_eq!(events(0), [("one".into(), "withdrawn".into())]);
    assert_eq!(events(1).iter().filter(|(_, what)| what == "published").count(), 2);
    assert_eq!((list(&log["secrets"]).len(), text(&log["secrets"][0]["fleet"])), (1, "two"));
    let ran = fleet.run(&["log", "--repo", "model.git"]).ends(0);
    assert!(ran.stdout.contains("eu of fleet one") && ran.stdout.contains("eu of fleet two"), "{}", ran.stdout);
}
