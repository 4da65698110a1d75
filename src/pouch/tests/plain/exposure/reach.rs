//! What of a repository is looked at, and what is said of the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::{Secret, asked, bare, import, label, list, rotated, text, verdicts};
use crate::support::fleet::{Fleet, Ran};
use crate::support::peak::peak;

#[test]
fn what_is_not_whole_or_not_there_is_refused() {
    let (fleet, _) = rotated();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("HOME", fleet.path("home"));
        assert!(git.args(arguments).current_dir(fleet.path(".")).status().unwrap().success(), "{arguments:?}");
    };
    let url = format!("file://{}", fleet.path("repo.git").display());
    git(&["clone", "--quiet", "--depth=1", &url, "shallow"]);
    fleet.run(&["exposure", "shallow"]).ends(5).says("--unshallow");
    git(&["clone", "--quiet", "--depth=1", &url, "a shallow one"]);
    fleet.run(&["exposure", "a shallow one"]).ends(5).says("a shallow one' fetch --unshallow");
    git(&["-C", "repo.git", "config", "uploadpack.allowFilter", "true"]);
    git(&["clone", "--quiet", "--filter=blob:none", "--bare", &url, "partial"]);
    fleet.run(&["exposure", "partial"]).ends(5).says("without --filter");
    // A whole clone says the same as the repository, and so does the URL.
    git(&["clone", "--quiet", &url, "whole"]);
    let expected = verdicts(&asked(&fleet, &["--removed"]));
    assert_eq!(verdicts(&asked(&fleet, &["whole", "--removed"])), expected);
    assert_eq!(verdicts(&asked(&fleet, &[&url, "--removed"])), expected);
    fleet.run(&["exposure", "nowhere"]).ends(64).says("no git repository");
    fleet.run(&["exposure", "--rev", "nowhere"]).ends(64).says("no branch or commit nowhere");
    fleet.run(&["exposure", "--since", "main~1"]).ends(64);
    fleet.run(&["exposure", "--recipient", "age1x"]).ends(64);
    fleet.run(&["exposure", "--upload-pack=x"]).ends(64);
    fleet.run(&["exposure", "ext::sh -c x"]).ends(64);
    // A missing object is said, and is no absence; only what nobody has to read may be missing.
    let whole = fleet.run(&["exposure", "-o", "json"]).ends(0).stdout;
    let files = fleet.tree("repo.git/objects");
    let (mut said, mut spare) = (0, 0);
    for path in files.keys().filter(|path| path.len() == 41) {
        fleet.remove(&format!("repo.git/objects/{path}"));
        let ran = fleet.run(&["exposure", "-o", "json"]);
        if ran.code == 0 {
            assert_eq!(ran.stdout, whole, "without {path}");
            spare += 1;
        } else {
            ran.ends(5);
            said += 1;
        }
        fs_restore(&fleet, path, &files[path]);
    }
    assert!(said > spare, "{said} missing objects were said, {spare} were not needed");
}

#[test]
fn what_is_wrong_with_the_question_or_the_sources_is_said() {
    let (fleet, _) = rotated();
    let since = fleet.run(&["exposure", "--since", "yesterday"]).ends(64).says("yesterday");
    assert!(since.stderr.contains("a date such as 2026-11-21") && since.stderr.contains("main"), "{}", since.stderr);
    let rev = fleet.run(&["exposure", "--rev", "yesterday"]).ends(64);
    assert!(!rev.stderr.contains("2026-11-21"), "{}", rev.stderr);

    // A Credential that is broken has no values of today, and that is no reason to say nothing.
    let whole = fleet.run(&["exposure", "--removed", "--values"]).ends(0);
    assert!(!whole.stderr.contains("broken Credentials"), "{}", whole.stderr);
    fleet.remove("manifests/eu-c0-secret.yaml");
    let ran = fleet.run(&["exposure", "--removed", "--values"]).ends(0);
    assert!(ran.stderr.contains("today's values of broken Credentials"), "{}", ran.stderr);
    assert!(ran.stderr.contains("eu-team/c0 (missing-reference)"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("eu-team/c1"), "{}", ran.stderr);

    // The configuration names what cannot be reached; on the command line it is a mistake of who typed it.
    std::fs::rename(fleet.path("repo.git"), fleet.path("moved.git")).unwrap();
    fleet.run(&["exposure"]).ends(5).says("the output repository repo.git is not there").says("output.git.repository");
    fleet.run(&["exposure", "repo.git"]).ends(64);
    fleet.run(&["exposure", "moved.git"]).ends(0);
}

fn fs_restore(fleet: &Fleet, path: &str, bytes: &[u8]) {
    std::fs::write(fleet.path(&format!("repo.git/objects/{path}")), bytes).unwrap();
}

#[test]
fn hostile_trees_are_passed_over_and_counted() {
    let fleet = bare();
    let good =
        Secret { recipients: BTreeSet::from([label(1)]), entries: BTreeMap::from([("e".to_owned(), 3)]), salt: 7 };
    let long = "x".repeat(17 << 20) + "Secret";
    let deep = "d/".repeat(100);
    let files: Vec<(&str, String, String)> = vec![
        ("100644", "a/regions/eu/core/secrets/team/good.sops.yaml".into(), good.text("good")),
        ("100644", "a/regions/eu/core/secrets/regions/good2.sops.yaml".into(), good.text("good2")),
        ("100644", "a/regions/eu/mal\\033[31mformed.yaml".into(), "kind: Secret\nkind: Secret\n".into()),
        ("120000", "a/regions/eu/link.sops.yaml".into(), "good.sops.yaml".into()),
        ("100644", "a/regions/eu/huge.yaml".into(), long),
        ("100644", "a/regions/eu/bytes.json".into(), "Secret \u{0}".into()),
        ("100644", "a/regions/eu/notes.txt".into(), "no Secret: [here".into()),
        ("100644", "a/regions/eu/bundle.yaml".into(), "kind: [".into()),
        ("100644", "a/regions/Not A Folder/x.sops.yaml".into(), good.text("nowhere")),
        ("100644", format!("a/regions/eu/{deep}x.sops.yaml"), good.text("deep")),
        (
            "100644",
            "a/regions/eu/plain.yaml".into(),
            "apiVersion: v1\nkind: Secret\nmetadata: {name: plain}\nstringData: {open: hunter2}\n".into(),
        ),
    ];
    let mut stream = "commit refs/heads/main\ncommitter M <m@example.com> 1 +0000\ndata 0\n".to_owned();
    for (mode, path, content) in files {
        writeln!(stream, "M {mode} inline \"{path}\"\ndata {}\n{content}", content.len()).unwrap();
    }
    for path in ["a/regions/eu/module", "a/regions/ap", "b/regions", "elsewhere"] {
        writeln!(stream, "M 160000 {} {path}", "1".repeat(40)).unwrap();
    }
    for path in ["a/regions/us", "c/regions", "a/regions/Not A Folder Either", "README"] {
        writeln!(stream, "M 120000 inline {path}\ndata 2\neu").unwrap();
    }
    stream.push_str("done\n");
    import(&fleet, &stream);
    let people = fleet.run(&["exposure", "model.git"]).ends(0);
    assert!(people.stdout.contains("could not be read") && people.stderr.is_empty(), "{}", people.stderr);
    let machines = fleet.run(&["exposure", "model.git", "-o", "json"]).ends(0).says("could not be read");
    for ran in [people, machines] {
        assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{}", ran.stderr);
        assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    }
    let answer = asked(&fleet, &["model.git"]);
    let names: Vec<(String, String)> = list(&answer["readers"])
        .iter()
        .flat_map(|reader| list(&reader["secrets"]).iter().map(move |secret| (reader, secret)))
        .map(|(reader, secret)| (reader["recipient"].as_str().unwrap_or("everybody").to_owned(), text(&secret["name"])))
        .collect();
    let expected = [("everybody", "plain"), ("age1model1", "good"), ("age1model1", "good2")];
    assert_eq!(names, expected.map(|(who, what)| (who.to_owned(), what.to_owned())));
    let skipped: Vec<String> =
        list(&answer["looked"]["skipped"]["files"]).iter().map(|file| text(&file["path"])).collect();
    let deep = format!("a/regions/eu{}", "/d".repeat(62));
    let expected = [
        "a/regions/ap",
        "a/regions/eu/bundle.yaml",
        "a/regions/eu/bytes.json",
        &deep,
        "a/regions/eu/huge.yaml",
        "a/regions/eu/link.sops.yaml",
        "a/regions/eu/mal\u{1b}[31mformed.yaml",
        "a/regions/eu/module",
        "a/regions/us",
        "b/regions",
        "c/regions",
    ];
    assert_eq!(skipped, expected);
    assert_eq!(answer["looked"]["skipped"]["count"], expected.len());
}

#[test]
fn readers_without_a_name_and_secrets_in_odd_places_are_told() {
    let fleet = bare();
    let secret = |name: &str, metadata: &str, sops: &str| {
        let leaf = "ENC[AES256_GCM,data:AAA=,iv:AA==,tag:AA==,type:str]";
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}{metadata}}}\ndata: {{e: \"{leaf}\"}}\nsops: {{{sops}}}\n"
        )
    };
    let known = "age: [{recipient: age1model1, enc: x}]";
    let applied = ", annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"e\":\"hunter2\"}}'}";
    let files = [
        ("regions/eu/k/kustomization.yaml", secret("odd", "", known)),
        ("regions/eu/kustomization.yaml", "kind: Kustomization\nresources: [core]\n".to_owned()),
        ("regions/eu/nameless.yaml", secret("nameless", "", "age: [{enc: x}]")),
        ("regions/eu/other.yaml", secret("other", "", "pgp: [{fp: ABCD, enc: x}]")),
        ("regions/eu/applied.yaml", secret("applied", applied, known)),
        ("regions/eu/core/bundle.yaml", secret("manifest", "", known)),
    ];
    let mut stream = "commit refs/heads/main\ncommitter M <m@example.com> 1 +0000\ndata 0\n".to_owned();
    for (path, content) in files {
        writeln!(stream, "M 100644 inline {path}\ndata {}\n{content}", content.len()).unwrap();
    }
    import(&fleet, &(stream + "done\n"));
    let answer = asked(&fleet, &["model.git", "--removed"]);
    let told = |reader: &Value| {
        let names: Vec<String> = list(&reader["secrets"]).iter().map(|secret| text(&secret["name"])).collect();
        let who = reader["recipient"].as_str().unwrap_or("everybody");
        format!("{who} {} {}", reader["unknown"] == true, names.join(","))
    };
    let all: Vec<String> = list(&answer["readers"]).iter().map(told).collect();
    assert_eq!(all, ["everybody false applied", "pgp ABCD true other", "reader unknown true nameless"]);
    let answer = asked(&fleet, &["model.git"]);
    assert_eq!(told(&list(&answer["readers"])[3]), "age1model1 false applied,odd");
    // What is called as a manifest and is none is said too.
    assert_eq!(answer["looked"]["skipped"]["files"][0]["path"], "regions/eu/core/bundle.yaml");
    let ran = fleet.run(&["exposure", "model.git"]).ends(0);
    assert!(ran.stdout.contains("reader unknown  (no recipient that pouch knows)"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
}

#[test]
fn all_that_references_and_heads_lead_to_is_looked_at() {
    let fleet = bare();
    let hidden = ["tree", "dated", "nested", "pull", "stash", "head", "linked", "gone", "bisect", "part", "blob"];
    let mut stream = String::new();
    for name in ["main"].iter().chain(&hidden) {
        let secret =
            Secret { recipients: BTreeSet::from([label(1)]), entries: BTreeMap::from([("e".to_owned(), 3)]), salt: 7 };
        let text = secret.text(name);
        let data = format!("data {}\n{text}\n", text.len());
        let path = format!("bundles/regions/eu/{name}.sops.yaml");
        writeln!(
            stream,
            "commit refs/heads/{name}\ncommitter M <m@example.com> 1700000000 +0000\ndata 0\nM 100644 inline {path}\n{data}"
        )
        .unwrap();
    }
    import(&fleet, &(stream + "done\n"));
    let git = |folder: &str, arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).current_dir(fleet.path(folder));
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_COMMITTER_DATE", "1600000000 +0000");
        git.args(["-c", "user.name=M", "-c", "user.email=m@example.com"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "git {arguments:?}");
    };
    let bare = |arguments: &[&str]| git("model.git", arguments);
    bare(&["tag", "to-tree", "tree^{tree}"]);
    bare(&["tag", "-a", "-m", "x", "to-dated", "dated^{tree}"]);
    bare(&["tag", "-a", "-m", "x", "to-nested", "nested^{tree}"]);
    bare(&["tag", "-a", "-m", "x", "to-tag", "to-nested"]);
    bare(&["tag", "-d", "to-nested"]);
    bare(&["update-ref", "refs/pull/1/head", "pull"]);
    bare(&["update-ref", "refs/stash", "stash"]);
    bare(&["worktree", "add", "--detach", "../linked", "linked"]);
    bare(&["worktree", "add", "--detach", "../gone", "gone"]);
    git("linked", &["update-ref", "refs/bisect/bad", "bisect"]);
    std::fs::remove_dir_all(fleet.path("gone")).unwrap();
    bare(&["tag", "to-part", "part:bundles/regions/eu"]);
    bare(&["tag", "to-blob", "blob:bundles/regions/eu/blob.sops.yaml"]);
    // Parts of what a commit has, which say nothing more.
    bare(&["tag", "known-root", "main:bundles"]);
    bare(&["tag", "known-part", "main:bundles/regions"]);
    bare(&["tag", "known-blob", "main:bundles/regions/eu/main.sops.yaml"]);
    bare(&["update-ref", "--no-deref", "HEAD", "head"]);
    hidden.iter().for_each(|name| bare(&["update-ref", "-d", &format!("refs/heads/{name}")]));

    let names = |answer: &Value| -> BTreeSet<String> {
        let secrets = list(&answer["readers"]).iter().flat_map(|reader| list(&reader["secrets"]));
        secrets.map(|secret| text(&secret["name"])).collect()
    };
    let all: BTreeSet<String> = ["main"].iter().chain(&hidden[..9]).map(|name| (*name).to_owned()).collect();
    for repository in ["model.git", "linked"] {
        let answer = asked(&fleet, &[repository]);
        assert_eq!(names(&answer), all, "{repository}");
        let skipped: Vec<(String, String)> = list(&answer["looked"]["skipped"]["files"])
            .iter()
            .map(|file| (text(&file["path"]), text(&file["why"])))
            .collect();
        assert!(
            matches!(&*skipped, [(blob, why), (part, _)] if blob.len() == 40 && part == "part.sops.yaml" && why.contains("holds a Secret")),
            "{skipped:?}"
        );
        assert_eq!(answer["looked"]["references"], 15, "branch, pull, stash, tags, three heads and one of a bisection");
        for secret in list(&answer["readers"]).iter().flat_map(|reader| list(&reader["secrets"])) {
            let (time, or_before) = match text(&secret["name"]).as_str() {
                "tree" => ("", true),
                "dated" | "nested" => ("2020-09-13T12:26:40Z", true),
                _ => ("2023-11-14T22:13:20Z", false),
            };
            assert_eq!(
                (&secret["first"]["time"], secret["first"]["orBefore"] == true),
                (&time.into(), or_before),
                "{secret}"
            );
        }
    }
    let ran = fleet.run(&["exposure", "model.git"]).ends(0);
    assert!(ran.stdout.contains("2 files, folders or commits could not be read"), "{}", ran.stdout);
    assert_eq!(names(&asked(&fleet, &["model.git", "--rev", "main"])), BTreeSet::from(["main".to_owned()]));
    // A tag of the branch's name leads elsewhere, and stands for nothing but itself.
    bare(&["update-ref", "refs/tags/main", "refs/tags/to-tag"]);
    assert_eq!(names(&asked(&fleet, &["model.git", "--rev", "main"])), BTreeSet::from(["main".to_owned()]));
    bare(&["update-ref", "-d", "refs/tags/main"]);
    fleet.run(&["exposure", "model.git", "--rev", "to-tag"]).ends(64).says("refs/tags/to-tag");
    let tagged = asked(&fleet, &["model.git", "--rev", "refs/tags/to-tag"]);
    assert_eq!(
        (names(&tagged), &tagged["readers"][0]["secrets"][0]["still"]),
        (BTreeSet::from(["nested".to_owned()]), &true.into())
    );
    // What is gone held something that nobody can tell.
    bare(&["update-ref", "-d", "refs/tags/to-blob"]);
    let blob = fleet.read("model.git/HEAD").trim().to_owned();
    fleet.write("model.git/refs/heads/lost", format!("{}\n", blob.chars().rev().collect::<String>()));
    fleet.run(&["exposure", "model.git"]).ends(5);
}

/// Writes an object to the repository `model.git` as it is; gives its id.
fn object(fleet: &Fleet, kind: &str, bytes: &[u8]) -> String {
    fs::write(fleet.path("object"), bytes).unwrap();
    git(fleet, &["hash-object", "-w", "--literally", "-t", kind, fleet.path("object").to_str().unwrap()])
}

fn git(fleet: &Fleet, arguments: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).arg("-C").arg(fleet.path("model.git"));
    let output = git.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A folder with these entries.
fn folder(fleet: &Fleet, entries: &[(&str, &str, &str)]) -> String {
    let entry = |(mode, name, id): &(&str, &str, &str)| {
        let id = (0..40).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap());
        [format!("{mode} {name}\0").into_bytes(), id.collect()].concat()
    };
    object(fleet, "tree", &entries.iter().flat_map(entry).collect::<Vec<u8>>())
}

/// Ten folders in each of ten levels, which are eleven folders in all.
fn bomb(fleet: &Fleet) -> String {
    let file = object(fleet, "blob", b"x\n");
    let mut id = folder(fleet, &[("100644", "a.sops.yaml", &file)]);
    for _ in 0..10 {
        let names: Vec<String> = (0..10).map(|name| format!("d{name}")).collect();
        id = folder(fleet, &names.iter().map(|name| ("40000", name.as_str(), id.as_str())).collect::<Vec<_>>());
    }
    id
}

/// A history with whatever its writers can put there is answered all the same, in the memory that it deserves.
#[test]
fn what_a_history_hides_behind_is_passed_over_and_the_rest_is_told() {
    let fleet = bare();
    let good =
        Secret { recipients: BTreeSet::from([label(1)]), entries: BTreeMap::from([("e".to_owned(), 3)]), salt: 7 };
    let text = good.text("good");
    let path = "bundles/regions/eu/core/secrets/team/good.sops.yaml";
    let stream = "commit refs/heads/main\ncommitter M <m@example.com> 1 +0000\ndata 0\n".to_owned();
    import(&fleet, &format!("{stream}M 100644 inline {path}\ndata {}\n{text}\ndone\n", text.len()));
    let (tree, first) = (git(&fleet, &["rev-parse", "main^{tree}"]), git(&fleet, &["rev-parse", "main"]));
    let people = "author A <a@x> 2 +0000\ncommitter A <a@x> 2 +0000\n";
    let bomb = bomb(&fleet);
    let regions = git(&fleet, &["rev-parse", "main:bundles"]);
    let wide: Vec<u8> = [&b"40000 a\0"[..], &[0x11; 20]].concat().repeat(1_300_000);
    let wide = object(&fleet, "tree", &wide);
    let commit = |tree: &str, parent: &str, message: &str| {
        object(&fleet, "commit", format!("tree {tree}\nparent {parent}\n{people}\n{message}\n").as_bytes())
    };
    let hidden = |id: &str| folder(&fleet, &[("40000", "aaa", id), ("40000", "bundles", &regions)]);
    let with_regions = folder(&fleet, &[("40000", "regions", &bomb)]);
    let huge = commit(&tree, &first, &"x".repeat(130 << 20));
    let none = object(&fleet, "commit", format!("tree none\n{people}\nm\n").as_bytes());
    for (what, id, why) in [
        ("nothing", commit(&tree, &first, "m"), None),
        ("a bomb below regions", commit(&hidden(&with_regions), &first, "m"), Some("stand in too many places")),
        ("a bomb beside regions", commit(&hidden(&bomb), &first, "m"), None),
        ("a tag of a bomb", bomb.clone(), Some("stand in too many places")),
        (
            "a wide folder",
            commit(&hidden(&folder(&fleet, &[("40000", "regions", &wide)])), &first, "m"),
            Some("32 MiB"),
        ),
        (
            "a file in place of a folder",
            {
                let file = object(&fleet, "blob", b"x\n");
                commit(&hidden(&folder(&fleet, &[("40000", "regions", &file)])), &first, "m")
            },
            Some("it is no folder"),
        ),
        ("a long message", commit(&tree, &huge, "m"), Some("larger than 128 MiB")),
        ("a commit of nothing", commit(&tree, &none, "m"), Some("it names no folder")),
        ("a tag of nothing", object(&fleet, "tag", b"object none\n\nm\n"), Some("none that git makes")),
    ] {
        fs::write(fleet.path("model.git/refs/tags/odd"), &id).unwrap();
        let is_commit = git(&fleet, &["cat-file", "-t", &id]) == "commit";
        for (is_on_main, command) in [(false, "exposure"), (is_commit, "exposure"), (is_commit, "log")] {
            fs::write(fleet.path("model.git/refs/heads/main"), if is_on_main { &id } else { &first }).unwrap();
            let repository: &[&str] = if command == "log" { &["--repo", "model.git"] } else { &["model.git"] };
            let mut pouch = fleet.command(&[&[command, "-o", "json"], repository].concat());
            let (output, most) = peak(&mut pouch);
            let ran = Ran::from(output).ends(0);
            assert!(most < 700 << 20, "{what}: {} MiB", most >> 20);
            let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
            let is_told = command == "exposure" || is_on_main;
            match why.filter(|_| is_told) {
                Some(why) => assert!(answer["looked"]["skipped"].to_string().contains(why), "{what}: {}", ran.stdout),
                None => assert_eq!(answer["looked"]["skipped"]["count"], 0, "{what}: {}", ran.stdout),
            }
            if command == "exposure" {
                assert_eq!(list(&answer["readers"])[0]["secrets"][0]["name"], "good", "{what}: {}", ran.stdout);
            }
        }
    }
}
