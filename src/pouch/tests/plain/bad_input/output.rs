//! Outputs that cannot be written, hold what is not ours, or were touched.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use pouch_core::name::{Directory, FleetName};
use pouch_core::reuse::{ReuseKey, manifest_line};
use rustix::fs::{FlockOperation, flock};

use crate::support::skipped;
use crate::support::spoilt::{Fleet, GOOD, Tree, differing, each, none, plain, tree};

/// A file system of its own below the fleet, gone with this value.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn new(fleet: &Fleet, path: &str, options: &str) -> Option<Self> {
        let folder = fleet.path(path);
        fs::create_dir_all(&folder).unwrap();
        let words = ["mount", "-t", "tmpfs", "-o", &format!("mode=777,{options}"), "none"];
        if as_root(&words, &folder) {
            return Some(Self(folder));
        }
        skipped("no right to mount a tmpfs");
        None
    }

    fn again(&self, options: &str) {
        assert!(as_root(&["mount", "-o", &format!("remount,{options}")], &self.0));
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        as_root(&["umount"], &self.0);
    }
}

/// Runs a program as root, as whom we may be already; else sudo must not ask.
fn as_root(words: &[&str], folder: &Path) -> bool {
    let sudo: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["sudo", "-n"] };
    let all: Vec<&str> = sudo.iter().chain(words).copied().collect();
    Command::new(all[0]).args(&all[1..]).arg(folder).output().is_ok_and(|answer| answer.status.success())
}

/// What spoils a fleet.
type Spoil<'a> = &'a dyn Fn(&Fleet);

#[test]
fn outputs_that_are_no_folder() {
    let spoilers: [(&str, Spoil<'_>); 4] = [
        ("a file", &|fleet| fleet.write("bundles", "mine\n")),
        ("a link to nowhere", &|fleet| fleet.link("nowhere/x/y", "bundles")),
        ("a device", &|fleet| fleet.link("/dev/full", "bundles")),
        ("below a file", &|fleet| {
            fleet.write("file", "mine\n");
            fleet.configure("{path: bundles}", "{path: file/bundles}");
        }),
    ];
    each(spoilers, |(name, spoil)| {
        let fleet = Fleet::new();
        spoil(&fleet);
        eprintln!("--- {name}");
        let ran = fleet.render();
        eprintln!("{}", ran.err);
        ran.ended(1).says(&["bundles"]).helps();
        assert!(!tree(fleet.path("").as_path()).keys().any(|path| path.contains("eu-west")), "{name}");
    });
}

#[test]
fn a_read_only_output_stays_and_is_named() {
    let fleet = Fleet::new();
    let Some(mounted) = Mounted::new(&fleet, "bundles", "size=4m") else { return };
    let good = fleet.rendered();
    fleet.write("manifests/more.yaml", plain("team-b", "more"));
    mounted.again("ro");
    fleet.render().ended(1).says(&["bundles", "ead-only"]).helps();
    assert_eq!(differing(&good, &fleet.published()), none());
    mounted.again("rw");
    fleet.render().ended(0);
}

#[test]
fn a_full_disk_leaves_what_is_published() {
    let fleet = Fleet::new();
    let Some(_mounted) = Mounted::new(&fleet, "bundles", "size=256k") else { return };
    let good = fleet.rendered();
    for at in 0..30 {
        fleet.write(&format!("manifests/more-{at}.yaml"), plain("team-b", &format!("more-{at}")));
    }
    fleet.render().ended(1).says(&["bundles", "o space left"]).helps();
    let after = fleet.published();
    let lost = good.iter().filter(|(path, bytes)| after.get(*path) != Some(bytes)).count();
    assert_eq!(lost, 0);
    fleet.restore();
    fleet.render().ended(0);
    assert_eq!(differing(&good, &fleet.published()), none());
}

#[test]
fn an_output_that_another_process_holds_is_left_alone() {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    let folder = File::open(fleet.path("bundles")).unwrap();
    flock(&folder, FlockOperation::LockExclusive).unwrap();
    fleet.write("manifests/more.yaml", plain("team-b", "more"));
    fleet.render().ended(1).says(&["another pouch", "bundles"]).helps();
    assert_eq!(differing(&good, &fleet.published()), none());
    drop(folder);
    fleet.render().ended(0);
}

#[test]
fn what_others_keep_beside_the_bundles_stays() {
    let fleet = Fleet::new();
    let theirs = [
        "README.md",
        "regions/README.md",
        "regions/mine/kustomization.yaml",
        "flux/mine/a.yaml",
        ".git/config",
        ".pouch-staging/left/x",
    ];
    for path in theirs {
        fleet.write(&format!("bundles/{path}"), "theirs\n");
    }
    fleet.link("/etc", "bundles/link");
    // What stands among the regions may be applied, and is for somebody to look at.
    fleet.render().ended(8);
    let published = fleet.published();
    for path in theirs {
        assert_eq!(published.get(path).map(Vec::as_slice), Some(&b"theirs\n"[..]), "{path}");
    }
    assert_eq!(published.get("link").map(Vec::as_slice), Some(&b"-> /etc"[..]));
    // Also when the region goes.
    fleet.configure("k0rdentPushDisabled: true", "state: retired");
    let held = fleet.render();
    held.ended(8).says(&["error[deletions-held]", "--accept-deletions eu-west/team-a="]);
    let command = held.err.lines().find_map(|line| line.strip_prefix("to let through all that is held: pouch "));
    let words: Vec<&str> = command.unwrap().split_whitespace().collect();
    fleet.run(&words).keeps_quiet_about(&["error[deletions-held]"]);
    let after = fleet.published();
    assert!(theirs.iter().all(|path| after.contains_key(*path)), "{:?}", after.keys());
    assert!(!after.keys().any(|path| path.contains("eu-west")), "{:?}", after.keys());
}

#[test]
fn gitattributes_of_somebody_else() {
    let fleet = Fleet::new();
    let standing = |fleet: &Fleet| fleet.published().get(".gitattributes").cloned().unwrap_or_default();
    let converts = "* -text\n*.yaml text eol=crlf working-tree-encoding=UTF-16\n";
    // In a folder of its own the file is pouch's, also where nothing else changes.
    for text in ["*.md text\n", converts] {
        fleet.write("bundles/.gitattributes", text);
        fleet.render().ended(0);
        assert_eq!(standing(&fleet), b"* -text\n");
    }
    // At a repository's root it is not.
    std::fs::create_dir(fleet.path("bundles/.git")).unwrap();
    fleet.write("bundles/.gitattributes", converts);
    fleet.render().ended(1).says(&[".gitattributes", "* -text"]).helps();
    fleet.write("bundles/.gitattributes", "*.md text\n* -text\n");
    fleet.render().ended(0);
    assert_eq!(standing(&fleet), b"*.md text\n* -text\n");
}

#[test]
fn no_link_in_the_output_is_followed() {
    each(
        [
            "regions/eu-west",
            "regions",
            "flux",
            "flux/eu-west",
            "regions/eu-west/core",
            "regions/eu-west/bundle.yaml",
            GOOD[0],
            ".gitattributes",
            ".pouch-staging",
            ".pouch-staging/new",
        ],
        |path| {
            for published in [false, true] {
                let fleet = Fleet::new();
                if published {
                    fleet.rendered();
                }
                fleet.write("victim/precious.txt", "precious\n");
                fleet.remove(&format!("bundles/{path}"));
                fs::create_dir_all(fleet.path(&format!("bundles/{path}")).parent().unwrap()).unwrap();
                fleet.link(fleet.path("victim"), &format!("bundles/{path}"));
                let before = fleet.published();
                let ran = fleet.render();
                eprintln!("--- {path} {published}\n{}", ran.err);
                let victims = tree(&fleet.path("victim"));
                assert_eq!(victims.keys().collect::<Vec<_>>(), ["precious.txt"], "{path}: {}", ran.shown());
                assert_eq!(fs::read(fleet.path("victim/precious.txt")).unwrap(), b"precious\n");
                if path == ".pouch-staging/new" {
                    // What a crash may have left is moved aside, the link and not what it leads to.
                    ran.ended(0).says(&["left-1"]);
                    continue;
                }
                ran.says(&[path.split('/').next_back().unwrap()]);
                // 8 where something stands there that `verify` would not prove.
                if path == ".gitattributes" {
                    assert!([Some(0), Some(8)].contains(&ran.code), "{}", ran.shown());
                    continue;
                }
                let expected = if path == ".pouch-staging" { 5 } else { 4 };
                assert!([Some(expected), Some(8)].contains(&ran.code), "{}", ran.shown());
                let changed = differing(&before, &fleet.published());
                assert!(changed.iter().all(|path| path == ".gitattributes"), "{path}: {changed:?} {}", ran.shown());
            }
        },
    );
}

#[test]
fn names_in_the_output_forge_no_line() {
    let fleet = Fleet::new();
    fleet.rendered();
    fleet.link("/etc", "bundles/regions/eu-west/x\n::error::y\u{1b}[2J\u{202e}");
    fleet.render().ended(4).says(&["x\\u{a}::error::y\\u{1b}[2J\\u{202e}"]).helps();
    fleet.render_json().ended(4);
    fleet.render_coloured().ended(4);
    let fleet = Fleet::new();
    fleet.rendered();
    fleet.write("bundles/regions/eu-west/x\n::error::y\u{1b}[2J\u{202e}", "");
    fleet.render().ended(4).says(&["error[foreign-file]", "x\\u{a}::error::y"]).helps();
    fleet.render_json().ended(4);
    fleet.render_coloured().ended(4);
}

/// Held as it is, then as the help line says.
#[track_caller]
fn held(name: &str, spoil: impl Fn(&Fleet), code: &str, flag: &[&str], cured: i32) {
    let fleet = Fleet::new();
    fleet.rendered();
    spoil(&fleet);
    fleet.write("manifests/more.yaml", plain("team-b", "more"));
    let before = fleet.published();
    let ran = fleet.render();
    eprintln!("--- {name}\n{}", ran.err);
    ran.ended(4).says(&[&format!("error[{code}]"), "eu-west"]).helps();
    assert_eq!(differing(&before, &fleet.published()), none(), "{name}");
    if let [flag, ..] = flag {
        ran.says(&[flag]);
    }
    let ran = fleet.run(&[&["render"], flag].concat());
    eprintln!("{}", ran.err);
    ran.ended(cured);
    if cured == 0 {
        let tree = fleet.published();
        assert!(tree.keys().any(|path| path.contains("team-b/more")), "{name}");
        assert!(!tree.keys().any(|path| path.contains("foreign")), "{name}");
        fleet.render().ended(0);
        assert_eq!(differing(&tree, &fleet.published()), none(), "{name}");
    }
}

#[test]
fn regions_that_are_held() {
    let manifest = "bundles/regions/eu-west/bundle.yaml";
    let edit = |from: &'static str, to: &'static str| {
        move |fleet: &Fleet| {
            let text = fs::read_to_string(fleet.path(manifest)).unwrap();
            assert!(text.contains(from));
            fleet.write(manifest, text.replacen(from, to, 1));
        }
    };
    held(
        "a foreign file",
        |fleet| fleet.write("bundles/regions/eu-west/foreign.yaml", "x"),
        "foreign-file",
        &["--remove-foreign", "eu-west"],
        0,
    );
    held(
        "a foreign file deep down",
        |fleet| fleet.write("bundles/flux/eu-west/a/b/foreign.yaml", "x"),
        "foreign-file",
        &["--remove-foreign", "eu-west"],
        0,
    );
    held("no manifest", |fleet| fleet.remove(manifest), "unsigned-bundle", &["--replace-unsigned", "eu-west"], 0);
    held(
        "an edited manifest",
        edit("kind: Bundle", "kind: Bundle "),
        "unsigned-bundle",
        &["--replace-unsigned", "eu-west"],
        0,
    );
    held(
        "an empty manifest",
        |fleet| fleet.write(manifest, ""),
        "unsigned-bundle",
        &["--replace-unsigned", "eu-west"],
        0,
    );
    held(
        "a manifest of noise",
        |fleet| fleet.write(manifest, [0xff, 0, 0x1b].repeat(1000)),
        "unsigned-bundle",
        &["--replace-unsigned", "eu-west"],
        0,
    );
    held("a newer format", edit("# pouch/v1 ", "# pouch/v2 "), "newer-format", &[], 4);
    held("a newer manifest that nobody vouches for", edit("pouch/v1alpha2", "pouch/v2"), "newer-format", &[], 4);
    let newer = |fleet: &Fleet| {
        edit("pouch/v1alpha2", "pouch/v2")(fleet);
        let key = fs::read_to_string(fleet.path("reuse.key")).unwrap();
        let (key, text) = (ReuseKey::parse(key.trim()).unwrap(), fs::read_to_string(fleet.path(manifest)).unwrap());
        let (_, body) = text.split_once('\n').unwrap();
        let tag = manifest_line(&key, &FleetName::from("acme"), &Directory::from("eu-west"), body.as_bytes());
        fleet.write(manifest, format!("{tag}{body}"));
    };
    held("a newer manifest whose tag fits", newer, "newer-format", &[], 4);
    held(
        "another reuse key",
        |fleet| fleet.write("reuse.key", &*ReuseKey::to_text(&[9; 32])),
        "unsigned-bundle",
        &["--replace-unsigned", "eu-west"],
        0,
    );
}

#[test]
fn a_touched_file_is_healed_and_reported() {
    let identity =
        "regions/eu-west/identities/azureclusteridentity.infrastructure.cluster.x-k8s.io/team-a/good-azure.yaml";
    let touch = |path: &'static str, bytes: Option<&'static [u8]>| {
        let fleet = Fleet::new();
        let good = fleet.rendered();
        match bytes {
            Some(bytes) => fleet.write(&format!("bundles/{path}"), bytes),
            None => fleet.remove(&format!("bundles/{path}")),
        }
        let ran = fleet.render();
        eprintln!("--- {path}\n{}", ran.err);
        ran.ended(0).says(&["warning[not-as-published]", path]).helps();
        let now = fleet.published();
        assert!(good.keys().eq(now.keys()), "{:?}", now.keys());
        let changed = differing(&good, &now);
        assert!(changed.iter().all(|changed| changed == path || changed.ends_with("bundle.yaml")), "{changed:?}");
        fleet.render().ended(0).keeps_quiet_about(&["tampered"]);
    };
    touch(identity, Some(b"kind: Evil\n"));
    touch(identity, Some(b""));
    touch(identity, None);
    touch("regions/eu-west/core/kustomization.yaml", Some(b"resources: [https://evil.example.com/x]\n"));
    // Sealed anew and unchanged: that counts against the budget, and a touched Secret is a matter to look at.
    let fleet = Fleet::new();
    let good = fleet.rendered();
    let path = format!("bundles/{}", GOOD[0]);
    fleet.write(
        &path,
        String::from_utf8(good.get(GOOD[0]).unwrap().clone()).unwrap().replacen("data:A", "data:B", 1) + "# x\n",
    );
    let held = fleet.render();
    eprintln!("{}", held.err);
    held.ended(4)
        .says(&["warning[not-as-published]", GOOD[0], "error[reseal-held]", "--accept-reseal eu-west="])
        .helps();
    let digest: String = held.err.split("--accept-reseal eu-west=").nth(1).unwrap().chars().take(16).collect();
    fleet.run(&["render", "--accept-reseal", &format!("eu-west={digest}")]).ended(0);
    fleet.render().ended(0).keeps_quiet_about(&["tampered"]);
}

#[test]
fn bundles_of_others_are_theirs() {
    // Another fleet renders into the same output, with its own key and region.
    let fleet = Fleet::new();
    let good = fleet.rendered();
    fleet.configure("{name: acme}", "{name: other}");
    fleet.configure("  eu-west:", "  us-east:");
    let manifests = fleet.path("manifests");
    for entry in fs::read_dir(&manifests).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        fs::write(entry.path(), text.replace("region: eu-west", "region: us-east")).unwrap();
    }
    fleet.render().ended(0);
    let both = fleet.published();
    assert!(good.iter().all(|(path, bytes)| both.get(path) == Some(bytes)));
    // The first one again: it neither reads nor counts nor changes the second's.
    fleet.restore();
    fleet.render().ended(0).keeps_quiet_about(&["us-east"]);
    assert_eq!(differing(&both, &fleet.published()), none());
}

#[test]
fn a_published_region_that_nobody_configures_stops_the_run() {
    let fleet = Fleet::new();
    let good = fleet.rendered();
    fleet.configure("  eu-west:", "  us-east:");
    fleet.render().ended(64).says(&["region-not-configured", "regions/eu-west", "retired"]).helps();
    assert_eq!(differing(&good, &fleet.published()), none());
    fleet.restore();
    fleet.render().ended(0);
    assert_ne!(differing(&good, &Tree::new()), none());
}

#[test]
fn a_summary_that_cannot_be_written_is_said() {
    let fleet = Fleet::new();
    // What can be known before is told before, and nothing is done.
    for path in ["nowhere/summary.json", "manifests", "./pouch.yaml"] {
        for flag in ["--summary", "--metrics"] {
            fleet.run(&["render", flag, path]).ended(64).says(&[path]).helps();
        }
        assert!(!Path::new(&fleet.path("bundles")).exists());
    }
    fleet.run(&["render", "--summary", "/dev/full"]).ended(1).says(&["/dev/full"]).helps();
    fleet.render().ended(0);
    assert!(Path::new(&fleet.path("summary.json")).exists());
}

/// A repository as output: its tree is as untrusted as a folder.
#[test]
fn a_branch_that_holds_links_and_modules_is_not_followed() {
    let who = git2::Signature::new("a", "a@example.com", &git2::Time::new(0, 0)).unwrap();
    each(
        [
            ("regions/eu-west", 0o120_000, "../../victim", 4),
            ("regions/eu-west/core", 0o120_000, "/etc", 4),
            ("regions", 0o120_000, "victim", 4),
            ("regions/eu-west/vendored", 0o160_000, "", 4),
            ("regions/eu-west/foreign.yaml", 0o100_644, "x", 4),
            (".gitattributes", 0o120_000, "/etc/passwd", 0),
            ("README.md", 0o100_644, "theirs", 0),
        ],
        |(path, mode, text, code)| {
            let fleet = Fleet::new();
            fleet.configure("{path: bundles}", "{path: out, git: {repository: ./fleet.git, branch: main}}");
            let repository = git2::Repository::init_bare(fleet.path("fleet.git")).unwrap();
            if path.starts_with("regions/eu-west/") {
                fleet.run(&["publish", "--first"]).ended(0);
            }
            let parent = repository.find_reference("refs/heads/main").ok().map(|tip| tip.peel_to_commit().unwrap());
            let mut index = git2::Index::new().unwrap();
            if let Some(parent) = &parent {
                index.read_tree(&parent.tree().unwrap()).unwrap();
            }
            let path = format!("out/{path}");
            index.remove_dir(Path::new(&path), 0).unwrap();
            crate::support::spoilt::add(&mut index, &repository, &path, mode, text.as_bytes());
            let tree = repository.find_tree(index.write_tree_to(&repository).unwrap()).unwrap();
            let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
            let tip = repository.commit(Some("refs/heads/main"), &who, &who, "x", &tree, &parents).unwrap();
            let ran = fleet.run(&["publish", "--first", "--summary", "summary.json"]);
            eprintln!("--- {path} {mode:o}\n{}", ran.shown());
            // 8 where something stands there that `verify` would not prove.
            assert!([Some(code), Some(8)].contains(&ran.code), "{}", ran.shown());
            let now = repository.find_reference("refs/heads/main").unwrap().target().unwrap();
            if code != 0 && now != tip {
                // What is the whole fleet's is written all the same.
                let trees = [now, tip].map(|id| repository.find_commit(id).unwrap().tree().unwrap());
                let diff = repository.diff_tree_to_tree(Some(&trees[1]), Some(&trees[0]), None).unwrap();
                let changed: Vec<_> = diff.deltas().map(|delta| delta.new_file().path().unwrap().to_owned()).collect();
                assert_eq!(changed, [Path::new("out/.gitattributes")], "{path}");
            }
            assert!(code != 0 || now != tip, "{path}");
            if code == 4 && path.contains("regions/eu-west/") && !path.ends_with("core") {
                assert!(ran.out.ends_with("nothing else would change\n"), "{}", ran.shown());
            }
            if path != "out/README.md" {
                ran.says(&[path.rsplit('/').next().unwrap()]).helps();
            }
        },
    );
}

/// Git keeps once what stands in a million places, so a few bytes can be more than any memory holds.
#[test]
fn a_branch_that_grows_without_end_is_refused() {
    let who = git2::Signature::new("a", "a@example.com", &git2::Time::new(0, 0)).unwrap();
    let fleet = Fleet::new();
    fleet.configure("{path: bundles}", "{path: out, git: {repository: ./fleet.git, branch: main}}");
    let repository = git2::Repository::init_bare(fleet.path("fleet.git")).unwrap();
    let folder = |entries: &[(String, git2::Oid, i32)]| {
        let mut builder = repository.treebuilder(None).unwrap();
        for (name, id, mode) in entries {
            builder.insert(name, *id, *mode).unwrap();
        }
        builder.write().unwrap()
    };
    let above = |name: &str, id| folder(&[(name.to_owned(), id, 0o040_000)]);
    let many = |count: usize, id, mode| folder(&(0..count).map(|n| (format!("{n}"), id, mode)).collect::<Vec<_>>());
    let file = repository.blob(b"x").unwrap();
    // Each of another name: the same folder in many places is looked into in a few of them.
    let one = |n| folder(&(0..1001).map(|m| (format!("{n}-{m}"), file, 0o100_644)).collect::<Vec<_>>());
    let wide = folder(&(0..1000).map(|n| (format!("{n}"), one(n), 0o040_000)).collect::<Vec<_>>());
    let deep = (0..5000).fold(many(1, file, 0o100_644), |below, _| above("a", below));
    for (content, words) in [(wide, "1000000 files and folders"), (deep, "64 folders deep")] {
        let tree = above("out", above("regions", above("eu-west", content)));
        let tree = repository.find_tree(tree).unwrap();
        repository
            .reference("refs/heads/main", repository.commit(None, &who, &who, "x", &tree, &[]).unwrap(), true, "x")
            .unwrap();
        fleet.run(&["publish", "--first", "--summary", "summary.json"]).ended(4).says(&["unreadable-bundle", words]);
        fleet.run(&["verify"]).ended(5).says(&[words]);
    }
}

#[test]
fn a_folder_that_is_too_deep_is_refused() {
    let fleet = Fleet::new();
    fleet.run(&["render"]).ended(0);
    let mut deep = fleet.path("bundles/regions");
    deep.extend(std::iter::repeat_n("a", 70));
    fs::create_dir_all(&deep).unwrap();
    fleet.run(&["verify"]).ended(5).says(&["64 folders deep"]).helps();
    fs::remove_dir_all(fleet.path("bundles/regions/a")).unwrap();
    fleet.run(&["verify"]).ended(0);
}
