//! `pouch publish`, through the built program, to a repository on this machine.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::fleet::{self, Fleet, Ran};
use crate::support::origin::Origin;

const EU_SECRET: &str = "bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml";

#[test]
fn it_makes_one_commit_for_a_change_and_none_for_nothing() {
    let fleet = Fleet::with_credentials(2);
    let origin =
        Origin::new(&fleet, ", author: 'Bot <bot@example.com>', committer: {name: Robot, email: r@example.com}");
    let ran = origin.publish(&["--summary", "summary.json"]).ends(0).outcome("eu", "published");
    assert_eq!(ran.stdout.lines().filter(|line| !line.starts_with(' ')).count(), 2);
    let first = origin.tip().unwrap();
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    assert_eq!((&summary["commit"], &summary["command"]), (&first.as_str().into(), &"publish".into()));
    assert!(!fleet.has("bundles"), "a publish writes no directory");
    assert!(
        origin.files().contains(&EU_SECRET.to_owned()) && origin.files().contains(&"bundles/.gitattributes".to_owned())
    );
    assert_eq!(
        origin.git(&["log", "-1", "--format=%an|%ae|%cn|%ce|%P", "main"]),
        "Bot|bot@example.com|Robot|r@example.com|"
    );

    origin.publish(&[]).ends(0).outcome("eu", "unchanged").says("nothing changed");
    assert_eq!(origin.tip().unwrap(), first);

    fleet.secret("eu", "c0", "value: changed");
    origin.publish(&[]).ends(0).outcome("us", "unchanged");
    assert_eq!(origin.changed(), ["bundles/regions/eu/bundle.yaml", EU_SECRET]);
    assert_eq!(origin.git(&["rev-parse", "main^"]), first);
    // The tree of a commit is what render would write.
    fleet.render(&["--output-dir", "out"]).ends(0);
    let rendered: Vec<String> =
        fleet.tree("out").into_iter().filter(|(_, content)| content != b"folder").map(|(path, _)| path).collect();
    let published: Vec<String> =
        origin.files().iter().map(|path| path.strip_prefix("bundles/").unwrap().to_owned()).collect();
    assert_eq!(rendered, published);
}

#[test]
fn the_message_has_a_subject_a_line_for_each_region_and_trailers() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let message = origin.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.starts_with("2 regions: "), "{message}");
    assert!(
        message.contains("- eu: published, 3 added\n") && message.contains("- us: published, 3 added\n"),
        "{message}"
    );
    let trailers = origin.git(&["log", "-1", "--format=%(trailers:only,unfold)", "main"]);
    let version = env!("CARGO_PKG_VERSION");
    let known = format!(
        "Pouch-Fleet: acme\nPouch-Version: {version}\nPouch-Release: v1.11\nPouch-Regions: eu us\nPouch-Seal: 5a6aa2d1 "
    );
    assert!(trailers.starts_with(&known) && trailers.lines().count() == 5, "{trailers}");
    fleet.secret("us", "c1", "value: changed");
    origin.publish(&[]).ends(0);
    assert_eq!(origin.git(&["log", "-1", "--format=%s", "main"]).trim(), "us: 1 change");
}

#[test]
fn a_git_source_is_named_in_a_trailer() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let script = format!("cp -r '{}' manifests", fleet.path("manifests").display());
    origin.commit_beside(&script);
    let source = origin.tip().unwrap();
    fleet.configure("directory: {path: manifests}", "git: {repository: repo.git, ref: main, path: manifests}");
    origin.publish(&[]).ends(0);
    let trailers = origin.git(&["log", "-1", "--format=%(trailers:key=Pouch-Source)", "main"]);
    assert!(trailers.starts_with(&format!("Pouch-Source: manifests {source} ")), "{trailers}");
    assert!(origin.files().contains(&"manifests/eu-c0.yaml".to_owned()));
}

#[test]
fn a_template_makes_the_subject_and_nothing_else() {
    let table = [
        ("{{ fleet }}/{{ regions | join(sep=' ') }}: {{ changes }}", "acme/eu us: 6"),
        ("one\\nSigned-off-by: Mallory <m@x>\\n\\nPouch-Fleet: other", "one"),
        ("\\n\\n  second line  ", "second line"),
        ("{% if changes > 100 %}many{% endif %}", "pouch"),
        ("a\\u001b[31mb\\u202ec", "a\\u{1b}[31mb\\u{202e}c"),
    ];
    for (template, subject) in table {
        let fleet = Fleet::with_credentials(2);
        let origin = Origin::new(&fleet, &format!(", message: \"{template}\""));
        origin.publish(&[]).ends(0);
        let found = origin.git(&["log", "-1", "--format=%s", "main"]);
        assert!(found == subject || (subject.contains("\\u") && !found.contains(['\x1b', '\u{202e}'])), "{found:?}");
        let trailers = origin.git(&["log", "-1", "--format=%(trailers:only,unfold,keyonly)", "main"]);
        assert_eq!(trailers, "Pouch-Fleet\nPouch-Version\nPouch-Release\nPouch-Regions\nPouch-Seal");
    }
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, ", message: '{{ nothing.here }}'");
    origin.publish(&[]).ends(64).says("output.git.message");
    assert_eq!(origin.tip(), None);
}

#[test]
fn other_files_of_the_repository_stay_as_they_are() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("{path: bundles, git", "{path: ./deploy/all/bundles, git");
    origin.commit_beside(
        "mkdir -p deploy/all bundles; echo a > README; echo b > deploy/x; ln -s README link; \
         printf '#!/bin/sh\\n' > run; chmod +x run; echo c > bundles/mine",
    );
    let before = origin.git(&["ls-tree", "-r", "main"]);
    origin.publish(&[]).ends(0);
    let after = origin.git(&["ls-tree", "-r", "main"]);
    for line in before.lines() {
        assert!(after.contains(line), "{line}");
    }
    assert!(origin.changed().iter().all(|path| path.starts_with("deploy/all/bundles/")));
    // Everything withdrawn: no empty folders stay.
    for region in ["flux", "argocd"] {
        fleet.configure(&format!("delivery: {region}}}"), &format!("delivery: {region}, state: retired}}"));
    }
    let held = origin.publish(&[]).ends(4);
    let accept = |region| held.acceptance("--accept-deletions", region);
    let accepting = ["--accept-deletions", &accept("eu"), "--accept-deletions", &accept("us")];
    let accepted = origin.publish(&accepting).ends(0);
    assert!(!accepted.stderr.contains("let nothing through"), "{}", accepted.stderr);
    origin.publish(&accepting).ends(0).says("let nothing through: the region did not change");
    let files = origin.files();
    assert!(files.contains(&"deploy/x".to_owned()) && !files.iter().any(|path| path.contains("regions")), "{files:?}");
}

#[test]
fn what_stands_in_the_way_is_not_written_over() {
    for script in ["ln -s /etc bundles", "echo mine > bundles"] {
        let fleet = Fleet::with_credentials(1);
        let origin = Origin::new(&fleet, "");
        origin.commit_beside(script);
        let before = origin.tip();
        origin.publish(&[]).ends(5).says("no plain file or folder");
        assert_eq!(origin.tip(), before, "{script}");
    }
    // An output below a folder that is called like those of regions.
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("path: bundles", "path: flux/bundles");
    origin.commit_beside("mkdir flux; ln -s /etc flux/bundles");
    let before = origin.tip();
    origin.publish(&[]).ends(5).says("flux/bundles is no plain file or folder");
    assert_eq!(origin.tip(), before);
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.commit_beside("mkdir bundles; echo '*.yaml text' > bundles/.gitattributes");
    origin.publish(&[]).ends(0);
    assert!(origin.changed().contains(&"bundles/.gitattributes".to_owned()));
}

/// A writer of the branch stops the region in whose place something stands, and no other one.
#[test]
fn what_stands_in_a_region_s_place_stops_that_region_alone() {
    const SUB: &str = "git init -q sub; git -C sub commit -q --allow-empty -m x; git rm -rq --cached --ignore-unmatch PATH; \
                       rm -rf PATH; mv sub PATH";
    let eu = "bundles/regions/eu";
    let table = [
        ("a link for the folder", "rm -r PATH; ln -s /etc PATH", "is a symlink", eu),
        ("a file for the folder", "rm -r PATH; echo mine > PATH", "is a plain file", eu),
        ("a submodule for the folder", SUB, "is a submodule", eu),
        ("a link in it", "ln -s /etc PATH", "is a symlink", "bundles/regions/eu/core/x"),
        ("a submodule in it", SUB, "is a submodule", "bundles/regions/eu/core/secrets/x"),
        ("a link for the manifest", "ln -sf /etc/passwd PATH", "is a symlink", "bundles/regions/eu/bundle.yaml"),
        ("a link for its delivery", "rm -r PATH; ln -s /etc PATH", "is a symlink", "bundles/flux/eu"),
        ("a file for all with Flux", "rm -r PATH; echo mine > PATH", "is a plain file", "bundles/flux"),
    ];
    for (name, script, says, path) in table {
        let fleet = Fleet::with_credentials(1);
        let origin = Origin::new(&fleet, "");
        origin.publish(&[]).ends(0);
        origin.commit_beside(&script.replace("PATH", path));
        fleet.secret("us", "c0", "value: changed");
        eprintln!("--- {name}");
        let held = origin.publish(&[]).ends(4).outcome("eu", "held").outcome("us", "published");
        let shown = path.strip_prefix("bundles/").unwrap();
        held.says("error[foreign-file]").says(shown).says(says);
        assert!(origin.changed().iter().all(|path| path.starts_with("bundles/regions/us/")), "{:?}", origin.changed());
        // What stands there goes only if somebody says so; what all share never goes.
        if path == "bundles/flux" {
            origin.publish(&["--remove-foreign", "eu"]).ends(4).outcome("eu", "held");
            continue;
        }
        origin.publish(&["--remove-foreign", "eu", "--replace-unsigned", "eu"]).ends(0).outcome("eu", "published");
        assert!(origin.files().contains(&EU_SECRET.to_owned()), "{name}");
        origin.publish(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
    }
}

/// Who delivers without Flux does not care what `flux` is.
#[test]
fn a_folder_that_a_region_does_not_use_does_not_stop_it() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("delivery: flux}", "delivery: argocd}");
    let origin = Origin::new(&fleet, "");
    origin.commit_beside("mkdir bundles; ln -s /etc bundles/flux");
    origin.publish(&[]).ends(8).outcome("eu", "published").says("error[not-plain-file]: flux is a symlink");
    origin.publish(&[]).ends(8).outcome("eu", "unchanged");
}

#[test]
fn a_region_that_cannot_be_read_back_is_held_by_itself() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let deep = "d=bundles/regions/eu; for n in $(seq 70); do d=$d/x; done; mkdir -p $d; echo a > $d/a";
    for (script, code, says) in [
        (deep, "unreadable-bundle", "64 folders deep"),
        ("truncate -s 65M bundles/regions/eu/bundle.yaml", "foreign-file", "is larger than 64 MiB"),
    ] {
        let before = origin.tip().unwrap();
        origin.commit_beside(script);
        fleet.secret("us", "c0", &format!("value: {code}"));
        let held = origin.publish(&[]).ends(4).outcome("eu", "held").outcome("us", "published");
        held.says(&format!("error[{code}]")).says(says);
        origin.git(&["update-ref", "refs/heads/main", &before]);
    }
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn an_execution_bit_is_healed() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let modes = || origin.git(&["ls-tree", "-r", "main"]).lines().filter(|line| line.starts_with("100755")).count();
    origin.commit_beside(&format!("chmod +x {EU_SECRET} bundles/flux/eu/core.yaml bundles/.gitattributes"));
    assert_eq!(modes(), 3);
    let healed = origin.publish(&[]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
    healed.says("warning[not-as-published]").says("is marked as executable");
    assert_eq!(modes(), 0);
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    // The same in a folder.
    fleet.render(&["--output-dir", "out"]).ends(0);
    let mode = |bits: Option<u32>| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = fleet.path("out/regions/eu/core/secrets/eu-team/c0.sops.yaml");
        if let Some(bits) = bits {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).unwrap();
        }
        std::fs::metadata(path).unwrap().permissions().mode() & 0o111
    };
    assert_eq!((mode(None), mode(Some(0o755))), (0, 0o111));
    fleet.render(&["--output-dir", "out"]).ends(0).outcome("eu", "published").says("is marked as executable");
    assert_eq!(mode(None), 0);
    fleet.render(&["--output-dir", "out"]).ends(0).outcome("eu", "unchanged");
}

/// What `verify` calls a fault, `publish` and `render` name, and go on.
#[test]
fn foreign_files_beside_the_regions_are_named() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let tip = origin.tip().unwrap();
    let table = [
        ("mkdir bundles/flux/zz; echo a > bundles/flux/zz/a.yaml", "unlisted-file", "flux/zz/a.yaml"),
        ("echo a > bundles/argocd/a.yaml", "unlisted-file", "argocd/a.yaml"),
        ("mkdir bundles/Regions; echo a > bundles/Regions/a.yaml", "unlisted-file", "Regions"),
        ("ln -s /etc bundles/regions/zz", "not-plain-file", "regions/zz is a symlink"),
        ("echo '*.sops.yaml' > bundles/.sourceignore", "unsafe-delivery", ".sourceignore makes Flux leave files out"),
        ("echo 'secrets/' > bundles/.sourceignore", "unsafe-delivery", ".sourceignore makes Flux leave files out"),
        ("echo 'bundles/flux' > .sourceignore", "unsafe-delivery", ".sourceignore may make Flux leave"),
        ("ln -sf /etc/passwd bundles/.gitattributes", "not-plain-file", ".gitattributes is a symlink"),
        ("mkdir bundles/regions/zz; echo a > bundles/regions/zz/a", "region-not-configured", "regions/zz holds files"),
        // A bundle that names this fleet, and that nobody vouches for.
        ("cp -r bundles/regions/eu bundles/regions/zz", "region-not-configured", "regions/zz holds files"),
    ];
    for (script, code, says) in table {
        origin.commit_beside(script);
        fleet.secret("eu", "c0", &format!("value: '{script}'").replace(['\'', '*'], ""));
        eprintln!("--- {script}");
        let ran = origin.publish(&[]).ends(8).outcome("eu", "published");
        ran.says(&format!("error[{code}]")).says(says);
        let verified = fleet.run(&["verify"]).ends(8);
        assert!(verified.stderr.contains(&format!("[{code}]")), "{}", verified.stderr);
        if !script.contains("> .sourceignore") {
            origin.git(&["archive", "--format=tar", "-o", &fleet.path("tree.tar").display().to_string(), "main"]);
            let _ = std::fs::remove_dir_all(fleet.path("tree"));
            std::fs::create_dir(fleet.path("tree")).unwrap();
            let (tar, tree) = (fleet.path("tree.tar"), fleet.path("tree"));
            let untar = std::process::Command::new("tar").arg("xf").arg(tar).arg("-C").arg(tree).status().unwrap();
            assert!(untar.success());
            let ran = fleet.render(&["--output-dir", "tree/bundles"]).ends(8).says(&format!("error[{code}]"));
            ran.says(says);
        }
        origin.git(&["update-ref", "refs/heads/main", &tip]);
    }
    // The control: without them nothing is said, also not of what others keep beside, or of another fleet.
    origin.commit_beside("echo a > bundles/README.md; mkdir bundles/charts; echo a > bundles/charts/a.yaml");
    let ran = origin.publish(&[]).ends(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}

/// A mistyped branch is no second place to publish to.
#[test]
fn a_first_publication_is_asked_for_once() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let first = || fleet.run(&["publish"]).ends(64).says("first-publication").says("--first");
    first().says("branch main");
    assert_eq!(origin.tip(), None);
    fleet.run(&["publish", "--first"]).ends(0);
    fleet.run(&["publish"]).ends(0).outcome("eu", "unchanged");
    fleet.run(&["publish", "--first"]).ends(0).outcome("eu", "unchanged");
    let tip = origin.tip();
    fleet.configure("branch: main", "branch: mian");
    first().says("branch mian");
    fleet.configure("branch: mian", "branch: main");
    fleet.configure("path: bundles", "path: bundels");
    first().says("bundels");
    fleet.configure("path: bundels", "path: bundles");
    // Another fleet's bundles are not this one's.
    fleet.configure("{name: acme}", "{name: other}");
    first();
    fleet.configure("{name: other}", "{name: acme}");
    assert_eq!(origin.git(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"]), "refs/heads/main");
    // Beside it there is one note, and none of the places that were refused.
    assert_eq!(origin.git(&["for-each-ref", "--format=%(refname)", "refs/pouch"]).lines().count(), 1);
    assert_eq!(origin.tip(), tip);
    // A folder only says that it is new.
    fleet.render(&["--output-dir", "out"]).ends(0).says("out is new");
    let again = fleet.render(&["--output-dir", "out"]).ends(0);
    assert!(!again.stderr.contains("is new"), "{}", again.stderr);
}

#[test]
fn held_withdrawals_stay_and_the_rest_is_committed() {
    let fleet = Fleet::with_credentials(6);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    for n in 0..5 {
        fleet.delete("eu", &format!("c{n}"));
    }
    fleet.secret("us", "c0", "value: changed");
    let held = origin.publish(&[]).ends(4).outcome("eu", "published").outcome("us", "published");
    let beside = |path: &&String| !path.starts_with("bundles/regions/us/");
    assert_eq!(origin.changed().iter().filter(beside).collect::<Vec<_>>(), ["bundles/regions/eu/bundle.yaml"]);
    assert!(origin.files().contains(&EU_SECRET.to_owned()));
    origin.publish(&["--accept-deletions", &held.acceptance("--accept-deletions", "eu")]).ends(0);
    assert!(!origin.files().contains(&EU_SECRET.to_owned()));
}

/// A push between reading and pushing, of a file beside the bundles.
fn race(origin: &Origin<'_>, how_often: &str) -> String {
    let push = origin.other_writer("mkdir -p bundles; cat /proc/sys/kernel/random/uuid >> bundles/README.md");
    format!("case \" $* \" in *' push '*) if {how_often}; then ( {push} ); fi;; esac")
}

#[test]
fn a_run_that_loses_starts_over_from_the_sources() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    // The other writer also changes what the sources say: the second attempt must read them again.
    let manifest = fleet.path("manifests/eu-c0-secret.yaml");
    let newer = format!("sed -i s/changed/changed-again-and-longer-than-before/ '{}'", manifest.display());
    let once = format!("mkdir '{}' 2>/dev/null && {newer}", fleet.path("raced").display());
    let script = race(&origin, &once);
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).outcome("eu", "published").says("starting over");
    origin.check();
    assert_eq!(origin.commits(), 3);
    assert!(origin.files().contains(&"bundles/README.md".to_owned()) && fleet.has("raced"));
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
}

/// One that hangs would cost its half minute in each attempt.
#[test]
fn a_region_that_could_not_be_looked_into_is_not_tried_again_where_a_run_starts_over() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let profile = |port: u16| {
        let text = "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {name: eu, namespace: fleet}, spec: \
                    {clusterManager: {name: x}}, status: {accessProviders: [{name: p, cluster: {server: 'https://127.0.0.1:1'}}]}}";
        text.replace("127.0.0.1:1", &format!("127.0.0.1:{port}"))
    };
    fleet.write("manifests/profile.yaml", profile(1));
    let (plugin, tried) = (fleet.path("plugin"), fleet.path("tried"));
    fleet.write("plugin", format!("#!/bin/sh\necho x >> '{}'\nexit 1\n", tried.display()));
    std::fs::set_permissions(&plugin, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let exec =
        format!("{{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"command\": \"{}\"}}", plugin.display());
    fleet.write("providers.json", format!("{{\"providers\": [{{\"name\": \"p\", \"execConfig\": {exec}}}]}}"));
    let cluster = "inventory: {clusterProfile: {namespace: fleet, name: eu}}, cluster: {providers: providers.json}, ";
    fleet.configure("  eu: {", &format!("  eu: {{{cluster}"));
    let times = || fleet.read("tried").lines().count();
    let raced = fleet.path("raced");
    let lost = |meanwhile: &str| {
        let once = format!("mkdir '{}' 2>/dev/null{meanwhile}", raced.display());
        let ran = Ran::from(origin.wrapped(&race(&origin, &once), &[]).output().unwrap()).ends(0);
        let ran = ran.says("starting over").says("warning: region eu was not looked into: ");
        std::fs::remove_dir(&raced).unwrap();
        ran
    };
    let ran = lost("");
    assert_eq!(times(), 1);
    assert_eq!(ran.stderr.matches("was not looked into").count(), 1, "{}", ran.stderr);
    // The next run tries, and one whose sources say another way meanwhile tries that.
    fleet.secret("eu", "c0", "value: changed");
    fleet.write("other.yaml", profile(2));
    lost(&format!(
        " && cp '{}' '{}'",
        fleet.path("other.yaml").display(),
        fleet.path("manifests/profile.yaml").display()
    ));
    assert_eq!(times(), 3);
}

/// Otherwise an older reading of the sources could be published over a newer one, with a valid lease.
#[test]
fn the_branch_is_read_before_the_sources() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let newer = format!("sed -i s/canary/newer/ '{}'", fleet.path("manifests/eu-c0-secret.yaml").display());
    let script = format!("case \" $* \" in *' ls-remote '*) {newer};; esac");
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0);
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn runs_at_the_same_time_make_one_commit() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    let runs: Vec<Child> = (0..4).map(|_| piped(fleet.command(&["publish", "--first"]))).collect();
    for child in runs {
        ended(child).0.ends(0);
    }
    assert_eq!(origin.commits(), 1);
    origin.check();
}

#[test]
fn a_first_publish_that_loses_starts_over_too() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let script = race(&origin, &format!("mkdir '{}' 2>/dev/null", fleet.path("raced").display()));
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0);
    assert_eq!(origin.commits(), 2);
    origin.check();
}

#[test]
fn a_run_that_always_loses_gives_up_and_publishes_nothing() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("reuseKey", "limits: {attempts: 2}\nreuseKey");
    let script = race(&origin, "true");
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(6).says("2 times");
    assert_eq!((origin.commits(), origin.files()), (2, vec!["bundles/README.md".to_owned()]));
    origin.check();
}

#[test]
fn a_refusal_of_the_server_is_said_and_escaped() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.hook("pre-receive", "printf 'not on \\033[31mFridays\\n' >&2; exit 1");
    let ran = origin.publish(&[]).ends(1).says("Fridays").says("pre-receive hook declined");
    assert!(!ran.stderr.contains('\x1b'));
    assert_eq!((origin.tip(), ran.stdout.as_str()), (None, ""));
}

/// The server takes the push and the connection breaks: the outcome is looked up, not guessed.
#[test]
fn a_push_whose_answer_is_lost_is_a_push() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let path = std::env::var("PATH").unwrap();
    let script = format!("case \" $* \" in *' push '*) PATH='{path}' git \"$@\"; exit 1;; esac");
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).outcome("eu", "published");
    assert_eq!(origin.commits(), 1);
    // And where it cannot be looked up, nobody claims to know.
    fleet.configure("reuseKey", "limits: {git: {settle: 1s}}\nreuseKey");
    fleet.secret("eu", "c0", "value: changed");
    let script = format!(
        "case \" $* \" in *' push '*) touch '{flag}'; exit 1;; *' ls-remote '*) [ -e '{flag}' ] && exit 1;; esac",
        flag = fleet.path("gone").display()
    );
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(5).says("is unknown");
}

#[test]
fn a_repository_that_does_not_answer_ends_with_5() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("{path: bundles}", "{path: bundles, git: {repository: nowhere.git, branch: main}}");
    fleet.run(&["publish", "--first"]).ends(5).says("cannot be reached");
    fleet.configure("nowhere.git", "'https://user:hunter2@example.com/x.git'");
    let ran = fleet.run(&["publish"]).ends(64);
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    let without = Fleet::with_credentials(1);
    without.run(&["publish"]).ends(64).says("output.git");
}

#[test]
fn a_file_url_is_a_repository_too() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("repository: repo.git", &format!("repository: 'file://{}'", origin.path().display()));
    origin.publish(&[]).ends(0);
    assert_eq!(origin.commits(), 1);
}

#[test]
fn children_see_no_key_and_run_no_hook_of_the_user() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let key = fleet.read("reuse.key").trim().to_owned();
    fleet.configure("reuseKey: {file: reuse.key}", "reuseKey: {env: POUCH_REUSE_KEY}");
    let seen = fleet.path("seen");
    let script = format!("env >> '{0}'; printf '%s\\n' \"$@\" >> '{0}'", seen.display());
    // A template folder whose hooks would run in every repository that git makes. The server reads the
    // same settings here; its own hooks are its business.
    let ran =
        format!("#!/bin/sh\ncase $(pwd) in *repo.git*) ;; *) touch '{}';; esac\n", fleet.path("hook-ran").display());
    for hook in ["pre-push", "reference-transaction", "post-update"] {
        fleet.write(&format!("template/hooks/{hook}"), &ran);
        let path = fleet.path("template/hooks").join(hook);
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let config =
        format!("[init]\n\ttemplateDir = {0}\n[core]\n\thooksPath = {0}/hooks\n", fleet.path("template").display());
    fleet.write("home/.gitconfig", &config);
    let mut command = origin.wrapped(&script, &[]);
    command.env("POUCH_REUSE_KEY", &key).env("SOPS_AGE_KEY", "CANARY-KEY").env("GIT_TRACE", "/dev/stderr");
    command.env("GIT_DIR", "/nowhere").env("POUCH_OTHER", "x");
    Ran::from(command.output().unwrap()).ends(0);
    assert_eq!(origin.commits(), 1);
    let seen = fleet.read("seen");
    assert!(seen.contains("push") && seen.contains("GIT_TERMINAL_PROMPT=0"));
    for hidden in [key.as_str(), "CANARY-KEY", "POUCH_", "SOPS_", "GIT_TRACE=", fleet::CANARY] {
        assert!(!seen.contains(hidden), "a child sees {hidden}");
    }
    assert!(!fleet.has("hook-ran"));
}

#[test]
fn branches_are_names_and_the_repository_is_one_that_can_be_read() {
    for branch in ["HEAD", "-x", "a..b", "'a b'", "main~1", "a:b", "'*'"] {
        let fleet = Fleet::with_credentials(1);
        let origin = Origin::new(&fleet, "");
        fleet.configure("branch: main", &format!("branch: {branch}"));
        origin.publish(&[]).ends(64).says("output.git.branch");
    }
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    std::fs::remove_dir_all(origin.path()).unwrap();
    std::fs::create_dir(origin.path()).unwrap();
    origin.git(&["init", "--quiet", "--bare", "--initial-branch=main", "--object-format=sha256"]);
    let tree = origin.git(&["hash-object", "-t", "tree", "-w", "--stdin"]);
    let commit = origin.git(&["commit-tree", &tree, "-m", "other"]);
    origin.git(&["update-ref", "refs/heads/main", &commit]);
    fleet.run(&["publish", "--first"]).ends(5);
    assert_eq!(origin.tip(), Some(commit));
}

#[test]
fn another_push_under_way_is_waited_for_and_a_branch_in_the_way_is_not() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("reuseKey", "limits: {attempts: 2}\nreuseKey");
    // With a note, the branch is tried again without it first.
    let origin = Origin::new(&fleet, ", recordSourceState: false");
    fleet.write("repo.git/refs/heads/main.lock", "");
    fleet.run(&["publish", "--first"]).ends(1).says("starting over").says("failed to update ref");
    let lock = fleet.path("repo.git/refs/heads/main.lock");
    let gone = format!(
        "case \" $* \" in *' push '*) mkdir '{0}' 2>/dev/null || rm -f '{1}';; esac",
        fleet.path("once").display(),
        lock.display()
    );
    Ran::from(origin.wrapped(&gone, &[]).output().unwrap()).ends(0).says("starting over");
    origin.git(&["update-ref", "-d", "refs/heads/main"]);
    origin.commit_beside("echo a > README");
    origin.git(&["branch", "-m", "main", "main/x"]);
    origin.publish(&[]).ends(1).says("beside branch main/x");
}

fn stop(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[track_caller]
fn ended(child: Child) -> (Ran, Duration) {
    let started = Instant::now();
    let ran = Ran::from(child.wait_with_output().unwrap());
    (ran, started.elapsed())
}

fn piped(mut command: std::process::Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn wait_for(fleet: &Fleet, path: &str) {
    for _ in 0..200 {
        if fleet.has(path) {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("{path} does not appear");
}

#[test]
fn a_signal_before_the_push_stops_the_run_at_once() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let fleet = Fleet::with_credentials(1);
        let origin = Origin::new(&fleet, "");
        let script = format!("touch '{}'; sleep 30", fleet.path("started").display());
        let child = piped(origin.wrapped(&script, &[]));
        wait_for(&fleet, "started");
        stop(&child, signal);
        let (ran, took) = ended(child);
        ran.ends(code).says("stopped; nothing was changed");
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert_eq!(origin.tip(), None);
        origin.check();
    }
}

#[test]
fn a_signal_during_the_push_lets_it_finish() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let flag = fleet.path("pushing");
    let script = format!("case \" $* \" in *' push '*) touch '{}'; sleep 2;; esac", flag.display());
    let child = piped(origin.wrapped(&script, &[]));
    wait_for(&fleet, "pushing");
    stop(&child, Signal::TERM);
    let (ran, _) = ended(child);
    ran.ends(143).outcome("eu", "published").says("finished");
    assert_eq!(origin.commits(), 1);
    origin.check();
}

#[test]
fn a_second_signal_ends_it_where_it_is() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let flag = fleet.path("pushing");
    let script = format!("case \" $* \" in *' push '*) touch '{}'; sleep 5; exit 1;; esac", flag.display());
    let child = piped(origin.wrapped(&script, &[]));
    wait_for(&fleet, "pushing");
    stop(&child, Signal::TERM);
    std::thread::sleep(Duration::from_millis(200));
    stop(&child, Signal::INT);
    let (ran, took) = ended_without_output(child);
    assert_eq!(ran, Some(130));
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(origin.tip(), None);
}

/// The child's own child still holds the pipes, so only its end is waited for.
fn ended_without_output(mut child: Child) -> (Option<i32>, Duration) {
    let started = Instant::now();
    let status = child.wait().unwrap();
    (status.code(), started.elapsed())
}

#[test]
fn a_signal_ends_a_run_that_waits_for_its_standard_input() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("directory: {path: manifests}", "stdin: {}");
    let mut command = fleet.command(&["render"]);
    command.stdin(Stdio::piped());
    let mut child = piped_with_input(command);
    let input = child.stdin.take();
    std::thread::sleep(Duration::from_millis(300));
    stop(&child, Signal::INT);
    let (ran, took) = ended(child);
    drop(input);
    ran.ends(130);
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(fleet.tree("bundles").is_empty());
}

fn piped_with_input(mut command: std::process::Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}
