//! `--config-from`: the configuration of a commit, with the manifests of the work tree.

use std::fs;
use std::process::Command;

use crate::support::fleet::{EU, Fleet, Ran, selected};

const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

fn git(fleet: &Fleet, arguments: &[&str]) {
    let folder = fleet.path("");
    let words = ["-C", folder.to_str().unwrap(), "-c", "user.name=a", "-c", "user.email=a@example.com"];
    let output = Command::new("git").args(words).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn committed() -> Fleet {
    let fleet = Fleet::with_credentials(2);
    fleet.write("people/eu.txt", format!("{EU}\n"));
    fleet.configure(&format!("recipients: [{EU}]"), "recipientsFile: people/eu.txt");
    fleet.run(&["render"]).ends(0);
    git(&fleet, &["init", "--quiet", "--initial-branch=main"]);
    git(&fleet, &["add", "pouch.yaml", "manifests", "people"]);
    git(&fleet, &["commit", "--quiet", "-m", "one"]);
    fleet
}

#[test]
fn a_proposal_does_not_change_what_it_is_judged_by() {
    let fleet = committed();
    let plan = |more: &[&str]| fleet.run(&[&["plan", "--detailed-exitcode"], more].concat());
    // Somebody proposes to read along, and a Credential.
    fleet.write("people/eu.txt", format!("{EU}\n{ESCROW}\n"));
    fleet.configure("metadata: {name: acme}", "metadata: {name: theirs}");
    plan(&["--config-from", "main"]).ends(0).outcome("eu", "unchanged");
    fleet.configure("metadata: {name: theirs}", "metadata: {name: acme}");
    plan(&[]).ends(2).says("recipient-added");
    for way in [&["--config-from", "HEAD"][..], &["--config-from=HEAD"]] {
        git(&fleet, &["commit", "--quiet", "-am", "theirs"]);
        let held = plan(&[way, &["--no-values"]].concat()).says("recipient-added");
        // A publish takes the configuration that is there, which nobody looked at.
        assert!(!held.stderr.contains("to let through all"), "{}", held.stderr);
        git(&fleet, &["reset", "--quiet", "--soft", "HEAD~1"]);
    }
    fleet.credential("eu", "late", "late");
    let ran = plan(&["--config-from", "HEAD"]).ends(2).outcome("eu", "would");
    assert!(ran.stdout.contains("added") && !ran.stderr.contains("recipient-added"), "{ran:?}");
    // A configuration that cannot be read any more, or is gone.
    fleet.write("pouch.yaml", "nothing: of the kind");
    plan(&[]).ends(64);
    plan(&["--config-from", "main"]).ends(2);
    fleet.remove("pouch.yaml");
    plan(&["--config-from", "main"]).ends(2);
    for command in ["check", "explain"] {
        let what: &[&str] = if command == "check" { &[] } else { &["eu-team/c0"] };
        fleet.run(&[&[command], what, &["--config-from", "main"]].concat()).ends(0);
    }
}

/// Who proposes a change writes the work tree, and must not say by it which file of the commit is read.
#[test]
fn nothing_in_the_work_tree_leads_to_another_configuration() {
    let fleet = committed();
    let plan = || fleet.run(&["-f", "below/pouch.yaml", "plan", "--config-from", "refs/heads/main"]);
    let config = fleet.read("pouch.yaml").replace("path: manifests", "path: ../manifests");
    for (folder, name) in [("below", "acme"), ("other", "other")] {
        fleet.write(&format!("{folder}/pouch.yaml"), config.replace("name: acme", &format!("name: {name}")));
        fleet.write(&format!("{folder}/people/eu.txt"), format!("{EU}\n"));
        fleet.write(&format!("{folder}/reuse.key"), fleet.read("reuse.key"));
    }
    git(&fleet, &["add", "below", "other"]);
    git(&fleet, &["commit", "--quiet", "-m", "two"]);
    let shown = |ran: Ran| ran.ends(0).stdout;
    let good = shown(plan());
    // A folder that is a bare repository by its content, with a branch of the same name.
    let bare = fleet.path("bare");
    let clone = |words: &[&str]| assert!(Command::new("git").args(words).output().unwrap().status.success());
    clone(&["clone", "--quiet", "--bare", fleet.path("").to_str().unwrap(), bare.to_str().unwrap()]);
    fleet.write("evil/below/pouch.yaml", "nothing: of the kind");
    for part in ["HEAD", "objects", "refs", "packed-refs", "config"] {
        if fleet.has(&format!("bare/{part}")) {
            fs::rename(bare.join(part), fleet.path(&format!("below/{part}"))).unwrap();
        }
    }
    fs::remove_dir_all(fleet.path("below/refs")).unwrap();
    fs::create_dir_all(fleet.path("below/refs/heads")).unwrap();
    fs::write(fleet.path("below/packed-refs"), "").unwrap();
    assert_eq!(shown(plan()), good);
    // A link in place of the folder.
    fs::remove_dir_all(fleet.path("below")).unwrap();
    std::os::unix::fs::symlink("other", fleet.path("below")).unwrap();
    let ran = plan();
    assert!(!ran.stdout.contains("other") && !ran.stderr.contains("fleet other"), "{ran:?}");
    assert_eq!(shown(ran), good);
    // And a link to the whole repository, which the user made.
    let link = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(fleet.path(""), link.path().join("link")).unwrap();
    let there = link.path().join("link/pouch.yaml");
    fleet.run(&["-f", there.to_str().unwrap(), "plan", "--config-from", "refs/heads/main"]).ends(0);
}

#[test]
fn what_no_commit_has_is_named() {
    let fleet = committed();
    let says = |words: &[&str], text: &str| {
        let ran = fleet.run(words).ends(64);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    };
    says(&["plan", "--config-from", "mian"], "--config-from mian: there is no branch or commit mian");
    for odd in ["main^{tree}", "main:pouch.yaml"] {
        says(&["plan", "--config-from", odd], &format!("--config-from {odd}: there is no branch or commit {odd}"));
    }
    says(&["-f", "other.yaml", "plan", "--config-from", "main"], "main:other.yaml");
    // A fault of the committed file is shown where it is.
    let good = fleet.read("pouch.yaml");
    fleet.configure("kind: Fleet", "kind: Fleet\nregoins: {}");
    git(&fleet, &["commit", "--quiet", "-am", "two"]);
    fleet.write("pouch.yaml", &good);
    says(&["plan", "--config-from", "main"], "--> main:pouch.yaml:3:1");
    fleet.run(&["plan", "--config-from", "main~1"]).ends(0);
    // What is outside of the repository is in no commit.
    fleet.configure("people/eu.txt", "../people.txt");
    git(&fleet, &["commit", "--quiet", "-am", "three"]);
    says(&["plan", "--config-from", "main"], "outside of the repository");
    let alone = Fleet::with_credentials(1);
    let ran = alone.run(&["plan", "--config-from", "main"]).ends(64);
    assert!(ran.stderr.contains("git repository"), "{}", ran.stderr);
}

const SEEN: &str = "\
apiVersion: pouch/v1alpha1
kind: RegionFacts
metadata: {name: eu}
spec:
  kinds: [{group: infrastructure.cluster.x-k8s.io, kind: AWSClusterStaticIdentity, scope: Cluster, versions: [v1beta2]}]
  namespaces: [{name: eu-team, labels: {env: prod}}]
";

/// A provider file and a kubeconfig say which programs run, and a ClusterProfile who gets what they give. All of them may
/// stand in the work tree, where a proposal writes.
#[test]
fn nothing_of_a_proposal_is_run_or_logged_in_with() {
    let fleet = committed();
    fleet.write("manifests/aws.yaml", selected("eu-team"));
    fleet.write("manifests/seen.yaml", SEEN);
    fleet.run(&["render"]).ends(0);
    fleet.remove("manifests/seen.yaml");
    let tie =
        "  eu: {inventory: {clusterProfile: {namespace: fleet, name: eu}}, cluster: {providers: providers.json}, ";
    fleet.configure("  eu: {", tie);
    git(&fleet, &["add", "manifests", "pouch.yaml"]);
    git(&fleet, &["commit", "--quiet", "-am", "looked into"]);

    let script = format!("#!/bin/sh\ntouch '{}'\n", fleet.path("ran").display());
    fleet.write("plugin", script);
    fs::set_permissions(fleet.path("plugin"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let command = fleet.path("plugin").display().to_string();
    let exec = serde_json::json!({"apiVersion": "client.authentication.k8s.io/v1", "command": command, "interactiveMode": "Never"});
    let file = serde_json::json!({"providers": [{"name": "p", "execConfig": exec}]});
    fleet.write("providers.json", file.to_string());
    let profile = "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {name: eu, namespace: fleet}, \
                   spec: {clusterManager: {name: x}}, status: {accessProviders: [{name: p, cluster: {server: 'https://127.0.0.1:1'}}]}}";
    fleet.write("manifests/profile.yaml", profile);
    let kubeconfig = serde_json::json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"exec": exec}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]});
    fleet.private("kubeconfig", kubeconfig.to_string());

    let way = ["--no-values", "--config-from", "main"];
    let has_run = || fs::remove_file(fleet.path("ran")).is_ok();
    for command in [&["plan"][..], &["check"], &["explain", "eu-team/aws"], &["explain", "region", "eu"]] {
        let ran = fleet.run(&[command, &way].concat());
        assert!(!has_run(), "{command:?} ran what the proposal wrote");
        ran.says("no region is looked into: --config-from runs nothing that a proposal could have changed");
    }
    // What is not known takes nothing away.
    let ran = fleet.run(&[&["plan"], &way[..]].concat()).says("no region is looked into with --config-from");
    assert!(!ran.stdout.contains("withdrawn"), "{ran:?}");
    // Without the flag it is the user's own, and runs.
    fleet.run(&["plan", "--no-values"]);
    assert!(has_run());

    fleet.configure("cluster: {providers: providers.json}", "cluster: {kubeconfig: kubeconfig}");
    git(&fleet, &["commit", "--quiet", "-m", "by kubeconfig", "pouch.yaml"]);
    fleet.run(&[&["plan"], &way[..]].concat());
    assert!(!has_run());
    fleet.run(&["plan", "--no-values"]);
    assert!(has_run());

    // A source is read where it is said by somebody's own file alone.
    fleet.configure("cluster: {kubeconfig: kubeconfig}, ", "");
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    git(&fleet, &["commit", "--quiet", "-m", "a source", "pouch.yaml"]);
    let ran = fleet.run(&[&["plan"], &way[..]].concat()).ends(64);
    ran.says("the kubeconfig kubeconfig of source manifests is not used with --config-from");
    assert!(!has_run());
    let own = fleet.path("kubeconfig").display().to_string();
    fleet.run(&[&["plan"], &way[..], &["--kubeconfig", &own]].concat());
    assert!(has_run());
}

/// A branch of one's own may be called as one of a remote, and a branch as a commit.
#[test]
fn a_name_with_two_readings_is_refused_wherever_a_revision_is_taken() {
    let fleet = committed();
    git(&fleet, &["update-ref", "refs/remotes/origin/main", "main"]);
    git(&fleet, &["update-ref", "refs/heads/origin/main", "main"]);
    let all: [&[&str]; 4] = [
        &["plan", "--config-from", "origin/main"],
        &["exposure", "--repo", ".", "--rev", "origin/main"],
        &["log", "--repo", ".", "--rev", "origin/main"],
        &["verify", "--repo", ".", "--rev", "origin/main"],
    ];
    // The control: both are one commit.
    let before: Vec<i32> = all.iter().map(|words| fleet.run(words).code).collect();
    assert_eq!(before[0], 0);
    fleet.write("people/eu.txt", format!("{EU}\n{ESCROW}\n"));
    git(&fleet, &["commit", "--quiet", "-am", "theirs"]);
    git(&fleet, &["update-ref", "refs/heads/origin/main", "main"]);
    for words in all {
        let ran = fleet.run(words);
        assert!([5, 64].contains(&ran.code), "{words:?}: {}", ran.stderr);
        let ran = ran
            .says("origin/main can mean different commits: refs/heads/origin/main is ")
            .says("Name the one that is meant in full: refs/heads/origin/main or refs/remotes/origin/main.");
        assert_eq!(ran.stdout, "", "{words:?}");
    }
    // In full it is one, also as a whole commit id that a branch is called like.
    fleet.run(&["plan", "--config-from", "refs/remotes/origin/main"]).ends(0);
    fleet.run(&["plan", "--config-from", "refs/heads/origin/main"]).says("recipient-added");
    let id = Command::new("git").current_dir(fleet.path("")).args(["rev-parse", "main~1"]).output().unwrap().stdout;
    let id = String::from_utf8(id).unwrap().trim().to_owned();
    git(&fleet, &["update-ref", &format!("refs/heads/{id}"), "main"]);
    git(&fleet, &["update-ref", &format!("refs/heads/{}", &id[..9]), "main"]);
    fleet.run(&["plan", "--config-from", &id]).ends(0);
    fleet.run(&["plan", "--config-from", &id[..9]]).says(&format!("commit {id} begins with it"));
}
