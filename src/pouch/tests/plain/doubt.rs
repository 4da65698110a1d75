//! A source that is not to be had, or holds what is wrong, stops nobody but who depends on it.

use std::process::Command;

use crate::support::fleet::{Fleet, Ran, credential, secret};

/// The fleet's own manifests, which may provide everything, and the team's repository, which may provide its namespace.
fn two_sources() -> Fleet {
    let fleet = Fleet::with_credentials(1);
    fleet.configure(
        "sources: [{name: manifests, directory: {path: manifests}}]",
        "sources:\n\
         - {name: manifests, directory: {path: manifests}, provides: {namespaces: ['*'], clusterScoped: true}}\n\
         - {name: team, git: {repository: team.git, ref: main, path: keys}, provides: {namespaces: [team-z]}}\n\
         # end of sources",
    );
    let web = credential("eu", "team-z", "web", ["v1", "Secret", "web"]);
    fleet.write("team/keys/web.yaml", format!("{web}---\n{}", secret("team-z", "web", "token: of-the-team")));
    team(
        &fleet,
        "git init -q --bare --initial-branch=main ../team.git; git init -q --initial-branch=main;
         git add -A; git commit -qm x; git push -q ../team.git main",
    );
    fleet
}

/// Runs a script in the team's work tree.
#[track_caller]
fn team(fleet: &Fleet, script: &str) -> String {
    let mut command = Command::new("sh");
    command.arg("-ec").arg(script).current_dir(fleet.path("team")).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    for (name, value) in [("NAME", "t"), ("EMAIL", "t@example.com")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const THEIRS: &str = "bundles/regions/eu/core/secrets/team-z/web.sops.yaml";

#[test]
fn a_source_that_cannot_be_read_stops_nobody_else() {
    let no_folder = "rm -f ../team.git/objects/$(git rev-parse HEAD^{tree} | sed 's,^..,&/,')";
    for (what, script, url, says) in [
        ("the branch is gone", "git -C ../team.git update-ref -d refs/heads/main", false, "there is no branch"),
        (
            "the branch of a URL is gone",
            "git -C ../team.git update-ref -d refs/heads/main",
            true,
            "has no refs/heads/main",
        ),
        (
            "the folder is a link",
            "mkdir elsewhere; git mv keys/web.yaml elsewhere; rm -rf keys; ln -s elsewhere keys; git add -A; git commit -qm y;
             git push -q ../team.git main",
            false,
            "is a symlink or a submodule",
        ),
        ("the folder of the commit is lost", no_folder, true, "cannot be fetched"),
        ("the repository is gone", "mv ../team.git ../away.git", false, "there is no git repository"),
    ] {
        let fleet = two_sources();
        if url {
            fleet.configure(
                "repository: team.git",
                &format!("repository: 'file://{}'", fleet.path("team.git").display()),
            );
        }
        fleet.render(&[]).ends(0);
        let theirs = fleet.read(THEIRS);
        team(&fleet, script);
        fleet.secret("eu", "c0", "value: rotated");
        let ours = fleet.read("bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml");
        let ran = fleet.render(&[]).ends(3).says("error[unavailable-source]: source team: ").says(says);
        assert!(ran.stderr.contains("Credential team-z/web keeps what it has, because source team was not read"), "{what}: {}", ran.stderr);
        assert_eq!(fleet.read(THEIRS), theirs, "{what}");
        assert_ne!(fleet.read("bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml"), ours, "{what}");
        // What everybody depends on is another matter.
        fleet.configure("provides: {namespaces: [team-z]}", "provides: {namespaces: [team-z], clusterScoped: true}");
        fleet.render(&[]).ends(5).says(says);
    }
}

#[test]
fn a_name_that_leads_to_no_commit_is_said_as_it_was_asked_for() {
    for is_remote in [false, true] {
        let fleet = two_sources();
        if is_remote {
            let url = format!("repository: 'file://{}'", fleet.path("team.git").display());
            fleet.configure("repository: team.git", &url);
        }
        fleet.render(&[]).ends(0);
        let folder = team(
            &fleet,
            "cd ../team.git; git tag folder main^{tree}; git tag file main:keys/web.yaml;
             git tag -am x noted main:keys/web.yaml; git tag -am x right main; git rev-parse main^{tree}",
        );
        let mut at = "main".to_owned();
        for path in ["path: keys", "path: ''"] {
            fleet.configure("path: keys", path);
            for name in ["refs/tags/folder", "refs/tags/file", "refs/tags/noted", &folder] {
                fleet.configure(&format!("ref: {at},"), &format!("ref: {name},"));
                at = name.to_owned();
                let ran = fleet.render(&[]).ends(3).says("error[unavailable-source]: source team: ");
                let ran = ran.says(&format!(": {name} does not lead to a commit"));
                assert!(!ran.stderr.contains("refs/pouch"), "{}", ran.stderr);
            }
            // The control: a tag of a commit.
            fleet.configure(&format!("ref: {at},"), "ref: refs/tags/right,");
            at = "refs/tags/right".to_owned();
            fleet.render(&[]).ends(0);
            fleet.configure(path, "path: keys");
        }
    }
}

#[test]
fn a_wrong_document_stops_its_own_object_alone() {
    let fleet = two_sources();
    fleet.credential("us", "c1", "stays");
    fleet.render(&[]).ends(0);
    let (ours, theirs) = ("bundles/regions/us/core/secrets/us-team/c0.sops.yaml", THEIRS);
    assert!(fleet.has(ours) && fleet.has(theirs));
    // Each of these once made the whole source doubtful, so that nothing in it could be told to be gone.
    let wrong = [
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: lost}\n", "namespace-missing"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {namespace: team-b}\n", "unparsable-document"),
        ("apiVersion: v1\nkind: Secret\n", "unparsable-document"),
        ("apiVersion: v1\nmetadata: {name: lost, namespace: team-b}\n", "unparsable-document"),
        ("- {apiVersion: v1, kind: Secret, metadata: {name: lost}}\n", "unparsable-document"),
        ("apiVersion: v1\nkind: List\nitems: [{metadata: {name: lost, namespace: team-b}}]\n", "unparsable-document"),
        ("{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": lost}}\n", "unparsable-document"),
    ];
    let gone = |fleet: &Fleet, text: &str| -> Ran {
        fleet.render(&[]).ends(0);
        let name = if text.starts_with('{') { "manifests/wrong.json" } else { "manifests/wrong.yaml" };
        fleet.write(name, text);
        fleet.delete("us", "c0");
        let ran = fleet.render(&[]).ends(3);
        fleet.credential("us", "c0", "again");
        fleet.remove(name);
        ran
    };
    for (text, code) in wrong {
        let ran = gone(&fleet, text).says(&format!("error[{code}]"));
        assert!(!fleet.has(ours), "{text}: {}", ran.stderr);
    }
    // The control: a document that might have been the Credential keeps it.
    let ran = gone(
        &fleet,
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {nmae: c0, namespace: us-team}\n",
    );
    assert!(fleet.has(ours), "{}", ran.stderr);
}
