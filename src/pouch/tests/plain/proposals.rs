//! Proposals: a commit on the tip of one branch, pushed to another, for somebody to merge.

use crate::support::fleet::{Fleet, Ran};
use crate::support::githttp::GitServer;
use crate::support::origin::Origin;
use crate::support::{root, skipped};

const EU_SECRET: &str = "bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml";
const BRANCH: &str = "pouch/all";

/// A fleet whose changes are proposed to `main`, which has a file of somebody else.
fn proposing(count: usize, more: &str) -> Fleet {
    let fleet = Fleet::with_credentials(count);
    let origin = Origin::new(&fleet, more);
    fleet.configure("branch: main", &format!("base: main, branch: {BRANCH}"));
    origin.commit_beside("echo theirs > README");
    fleet
}

impl Origin<'_> {
    fn tip_of(&self, branch: &str) -> Option<String> {
        let reference = format!("refs/heads/{branch}");
        let found = self.git(&["for-each-ref", "--format=%(objectname)", &reference]);
        (!found.is_empty()).then_some(found)
    }

    fn parent_of(&self, branch: &str) -> String {
        self.git(&["rev-parse", &format!("{branch}^")])
    }

    fn file(&self, branch: &str, path: &str) -> String {
        self.git(&["show", &format!("{branch}:{path}")])
    }

    /// Merges as people do, and removes no branch.
    fn merge(&self, how: &str) {
        let script = match how {
            "fast-forward" => "git merge -q --ff-only origin/BRANCH",
            "merge commit" => "git merge -q --no-ff -m 'Merge a proposal' origin/BRANCH",
            "squash" => "git merge -q --squash origin/BRANCH; git commit -qm 'Squashed (#1)'",
            _ => panic!("{how}"),
        };
        self.run_beside(&format!("{}; git push -q origin HEAD:main", script.replace("BRANCH", BRANCH)));
    }
}

#[track_caller]
fn summary(fleet: &Fleet) -> serde_json::Value {
    serde_json::from_str(&fleet.read("summary.json")).unwrap()
}

#[test]
fn a_proposal_is_one_commit_on_its_base_made_anew_for_each_change() {
    let fleet = proposing(2, "");
    let origin = Origin::known(&fleet);
    let base = origin.tip().unwrap();
    let first = origin.publish(&["--summary", "summary.json"]).ends(0).outcome("eu", "published");
    let proposed = origin.tip_of(BRANCH).unwrap();
    first.says(&format!("{BRANCH} proposes {proposed} to main"));
    assert_eq!((origin.tip().unwrap(), origin.parent_of(BRANCH)), (base.clone(), base.clone()));
    let target = summary(&fleet)["targets"][0].clone();
    assert_eq!((&target["state"], &target["commit"]), (&"proposed".into(), &proposed.as_str().into()));
    assert_eq!((&target["base"], &target["branch"]), (&"main".into(), &BRANCH.into()));
    let message = origin.git(&["log", "-1", "--format=%B", BRANCH]);
    let (title, body) = (target["proposal"]["title"].as_str().unwrap(), target["proposal"]["body"].as_str().unwrap());
    assert!(message.starts_with(&format!("{title}\n\n")) && title.starts_with("2 regions: "), "{title}");
    assert!(body.contains("- eu: published, 3 added\n") && body.contains("Pouch-Proposal: pouch/all\n"), "{body}");
    assert!(message.contains("Pouch-Proposal: pouch/all\n") && !body.contains("Pouch-Seal"), "{body}");

    // Again, and nothing is pushed; --first is needed no more, because somebody was asked already.
    let again = fleet.run(&["publish", "--summary", "summary.json"]).ends(0).outcome("eu", "published");
    again.says(&format!("nothing changed; {BRANCH} proposes {proposed} to main already"));
    assert_eq!(origin.tip_of(BRANCH).unwrap(), proposed);
    let target = summary(&fleet)["targets"][0].clone();
    assert_eq!((&target["state"], &target["proposal"]["title"]), (&"stillProposed".into(), &title.into()));
    origin.check();

    // A change is one commit again, and what did not change keeps its bytes.
    let sealed = |at: &str| origin.file(at, EU_SECRET);
    let (kept, other) = (sealed(BRANCH), "bundles/regions/eu/core/secrets/eu-team/c1.sops.yaml");
    let before = origin.file(BRANCH, other);
    fleet.secret("eu", "c1", "value: changed");
    origin.publish(&[]).ends(0);
    let changed = origin.tip_of(BRANCH).unwrap();
    assert!(changed != proposed && origin.parent_of(BRANCH) == base && origin.tip().unwrap() == base);
    assert!(sealed(BRANCH) == kept && origin.file(BRANCH, other) != before);

    // The base moves, so the proposal follows it, without a byte of it changing.
    let tree = |at: &str| origin.git(&["ls-tree", "-r", at, "bundles"]);
    let before = tree(BRANCH);
    origin.commit_beside("echo more > README");
    origin.publish(&[]).ends(0).says(&format!("{BRANCH} proposes "));
    assert_eq!((origin.parent_of(BRANCH), tree(BRANCH)), (origin.tip().unwrap(), before));
    assert_eq!(origin.file(BRANCH, "README"), "more");
    fleet.run(&["publish"]).ends(0).says("already");
    // Sealing anew means it.
    let kept = sealed(BRANCH);
    origin.publish(&["--reseal", "eu"]).ends(0);
    assert_ne!(sealed(BRANCH), kept);
}

#[test]
fn what_is_merged_is_proposed_no_more_however_it_was_merged() {
    for how in ["fast-forward", "merge commit", "squash"] {
        eprintln!("--- {how}");
        let fleet = proposing(2, "");
        let origin = Origin::known(&fleet);
        origin.publish(&[]).ends(0);
        origin.merge(how);
        let ran = origin.publish(&["--summary", "summary.json"]).ends(0).outcome("eu", "unchanged");
        ran.says("nothing to propose").says(&format!("{BRANCH} is removed"));
        assert_eq!(summary(&fleet)["targets"][0]["state"], "removed");
        assert_eq!(origin.tip_of(BRANCH), None);
        origin.publish(&[]).ends(0).says("nothing to propose; main is as it should be");
        fleet.run(&["verify"]).ends(0);
        // The next change begins with what was merged, and touches nothing else.
        let other = origin.file("main", EU_SECRET);
        fleet.secret("eu", "c1", "value: changed");
        let next = origin.publish(&[]).ends(0).outcome("us", "unchanged");
        assert!(!next.stderr.contains("tampered") && !next.stderr.contains("state-changed"), "{}", next.stderr);
        assert_eq!((origin.parent_of(BRANCH), origin.file(BRANCH, EU_SECRET)), (origin.tip().unwrap(), other));
        // And once more, so that the history has several of the kind.
        origin.merge(how);
        origin.publish(&[]).ends(0).says(&format!("{BRANCH} is removed"));
        fleet.delete("eu", "c0");
        let next = origin.publish(&[]).ends(0).outcome("eu", "published");
        assert!(!next.stderr.contains("tampered"), "{}", next.stderr);
        origin.merge(how);
        origin.publish(&[]).ends(0).outcome("eu", "unchanged");
        assert!(!origin.files().contains(&EU_SECRET.to_owned()));
    }
}

/// What a server squashed is no commit of pouch's, but a state that pouch made and that never stood there before.
#[test]
fn what_was_squashed_counts_as_published_where_pouch_published_before() {
    let fleet = Fleet::with_credentials(20);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.configure("branch: main", &format!("base: main, branch: {BRANCH}"));
    // The branch that Argo CD follows did not change.
    origin.publish(&[]).ends(0).says("nothing to propose");
    for round in 0..3 {
        (0..2).for_each(|n| fleet.delete("eu", &format!("c{}", 2 * round + n)));
        fleet.secret("eu", "c19", &format!("value: round-{round}"));
        let ran = origin.publish(&[]);
        eprintln!("--- {round}: {}", ran.stderr);
        // Budgets count over a day, whoever merged.
        if round == 2 {
            ran.ends(4).outcome("eu", "published").says("deletions-held");
            break;
        }
        assert!(!ran.stderr.contains("state-changed") && !ran.stderr.contains("tampered"), "{}", ran.stderr);
        let sealed = |at: &str| origin.file(at, "bundles/regions/eu/core/secrets/eu-team/c18.sops.yaml");
        assert_eq!(ran.ends(0).outcome("us", "unchanged").code, 0);
        assert_eq!(sealed(BRANCH), sealed("main"));
        origin.merge("squash");
        let next = origin.publish(&[]).ends(0).outcome("eu", "unchanged");
        next.says("is removed");
    }
    // The control: an older state that somebody puts back is one.
    let (old, eu) = (origin.git(&["rev-parse", "main~2"]), "bundles/regions/eu bundles/flux/eu");
    origin.run_beside(&format!(
        "git rm -rq {eu}; git checkout -q {old} -- {eu}; git commit -qm back; git push -q origin HEAD:main"
    ));
    let healed = origin.publish(&[]);
    assert!(healed.stderr.contains("warning[") && healed.stderr.contains("eu"), "{}", healed.stderr);
    assert!(!origin.git(&["ls-tree", "-r", "--name-only", BRANCH]).contains("/eu-team/c0."), "{}", healed.stderr);
}

#[test]
fn nobody_loses_a_commit_on_the_branch() {
    let fleet = proposing(1, "");
    let origin = Origin::known(&fleet);
    origin.publish(&[]).ends(0);
    let push = format!(
        "git checkout -q {BRANCH}; echo mine > NOTES; git add -A; git commit -qm mine; git push -q origin HEAD:{BRANCH}"
    );
    origin.run_beside(&push);
    let theirs = origin.tip_of(BRANCH).unwrap();
    // Where the proposal would be another, it ends; and so it does where the tree is the same and the base moved.
    fleet.secret("eu", "c0", "value: changed");
    let refused = origin.publish(&["--summary", "summary.json"]).ends(1);
    let refused =
        refused.says(&format!("branch {BRANCH} of repo.git is at commit {theirs}, which pouch did not propose"));
    refused.says("Merge what is on the branch, or remove the branch");
    assert_eq!(origin.tip_of(BRANCH).unwrap(), theirs);
    assert!(summary(&fleet)["failure"]["message"].as_str().unwrap().contains("did not propose"));
    // The first way out: it is merged.
    origin.merge("merge commit");
    origin.publish(&[]).ends(0).says("proposes");
    assert_eq!(origin.parent_of(BRANCH), origin.tip().unwrap());
    assert_eq!(origin.file(BRANCH, "NOTES"), "mine");
    // The second way out: the branch is removed.
    origin.run_beside(&push.replace("echo mine", "echo more"));
    fleet.secret("eu", "c0", "value: once more");
    origin.publish(&[]).ends(1);
    origin.git(&["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    origin.publish(&[]).ends(0).says("proposes");
    // Where nothing is to be proposed, it stays, and nobody is kept from anything.
    origin.run_beside(&push.replace("echo mine", "echo again"));
    let theirs = origin.tip_of(BRANCH).unwrap();
    origin.git(&["update-ref", "refs/heads/main", &format!("{BRANCH}~1")]);
    origin.publish(&[]).ends(0).says("stays for commits that pouch did not make");
    assert_eq!(origin.tip_of(BRANCH).unwrap(), theirs);
}

/// A push to a name for another branch moves that one, and a removal removes it.
#[test]
fn a_proposal_goes_to_no_branch_by_another_name() {
    let fleet = proposing(1, "");
    let origin = Origin::known(&fleet);
    origin.publish(&[]).ends(0);
    let proposed = origin.tip_of(BRANCH).unwrap();
    for commit in [&proposed, &origin.tip().unwrap()] {
        origin.git(&["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
        origin.git(&["update-ref", "refs/heads/release", commit]);
        origin.git(&["symbolic-ref", &format!("refs/heads/{BRANCH}"), "refs/heads/release"]);
        fleet.secret("eu", "c0", &format!("value: changed for {commit}"));
        origin.publish(&[]).ends(1).says("did not propose");
        assert_eq!(origin.tip_of("release").as_ref(), Some(commit));
        origin.git(&["symbolic-ref", "--delete", &format!("refs/heads/{BRANCH}")]);
        // The control: to a branch of its own it goes.
        origin.git(&["update-ref", &format!("refs/heads/{BRANCH}"), commit]);
        origin.publish(&[]).ends(0).says("proposes");
    }
    // Nor is it removed once it is merged.
    origin.merge("fast-forward");
    let merged = origin.tip_of(BRANCH).unwrap();
    origin.git(&["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    origin.git(&["update-ref", "refs/heads/release", &merged]);
    origin.git(&["symbolic-ref", &format!("refs/heads/{BRANCH}"), "refs/heads/release"]);
    origin.publish(&[]).ends(0).says("stays");
    assert_eq!(origin.tip_of("release"), Some(merged));
}

/// Pouch makes commits on branches that regions follow too, and these have a history.
#[test]
fn a_branch_that_was_published_to_is_no_proposal() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let live = origin.tip().unwrap();
    origin.git(&["branch", "other", &live]);
    fleet.secret("eu", "c0", "value: changed");
    origin.publish(&[]).ends(0);
    // Somebody swaps the two by mistake.
    fleet.configure("branch: main", "base: other, branch: main");
    let live = origin.tip().unwrap();
    fleet.secret("eu", "c0", "value: changed again");
    fleet.run(&["publish"]).ends(1).says("which pouch did not propose");
    assert_eq!(origin.tip().unwrap(), live);
}

#[test]
fn without_a_base_nothing_is_proposed() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("branch: main", "base: mian, branch: pouch/all");
    origin.commit_beside("echo theirs > README");
    let ran = fleet.run(&["publish", "--first"]).ends(64);
    ran.says("there is no branch mian of repo.git, and what is proposed is built on it");
    assert_eq!(origin.tip_of(BRANCH), None);
    // And without a bundle in it, somebody has to mean it.
    fleet.configure("base: mian", "base: main");
    fleet.run(&["publish"]).ends(64).says("first-publication: branch main of repo.git holds no bundle");
}

#[test]
fn the_brake_counts_what_stands_in_the_base() {
    let fleet = proposing(20, "");
    let origin = Origin::known(&fleet);
    origin.publish(&[]).ends(0);
    origin.merge("fast-forward");
    let delete = |from: usize, to: usize| (from..to).for_each(|n| fleet.delete("eu", &format!("c{n}")));
    delete(0, 3);
    origin.publish(&[]).ends(0);
    let proposed = origin.tip_of(BRANCH).unwrap();
    assert!(!origin.git(&["ls-tree", "-r", "--name-only", BRANCH]).contains("/eu-team/c0."));
    // Three more would pass if they were counted since the proposal.
    delete(3, 9);
    let held = origin.publish(&[]).ends(4);
    assert!(origin.git(&["ls-tree", "-r", "--name-only", BRANCH]).contains("/eu-team/c0."), "all of them are held");
    assert!(origin.tip_of(BRANCH) != Some(proposed));
    // What is accepted is spent once it is merged, and not before.
    let accept = held.acceptance("--accept-deletions", "eu");
    let accepting = ["--accept-deletions", &*accept];
    origin.publish(&accepting).ends(0);
    let body = origin.git(&["log", "-1", "--format=%B", BRANCH]);
    assert!(body.contains("Pouch-Accepted: "), "{body}");
    let accepted = origin.tip_of(BRANCH);
    origin.publish(&accepting).ends(0).says("already");
    origin.commit_beside("echo moved > README");
    origin.publish(&accepting).ends(0).says("proposes");
    assert!(
        origin.tip_of(BRANCH) != accepted && !origin.file(BRANCH, "bundles/regions/eu/bundle.yaml").contains("/c8.")
    );
    origin.merge("fast-forward");
    origin.publish(&accepting).ends(0).says("is removed").says("let nothing through");
    fleet.run(&["verify"]).ends(0);
}

#[test]
fn a_server_is_told_what_to_do_with_a_proposal_and_with_nothing_else() {
    let fleet = proposing(1, ", pushOptions: [merge_request.create, 'merge_request.title=Credentials of acme']");
    let origin = Origin::known(&fleet);
    // A server that takes none refuses all of it, and says so.
    let refused = origin.publish(&[]);
    assert!(refused.code == 5 || refused.code == 1, "{}", refused.stderr);
    refused.says("does not support push options");
    assert_eq!(origin.tip_of(BRANCH), None);
    origin.git(&["config", "receive.advertisePushOptions", "true"]);
    let told = fleet.path("told");
    let script =
        format!("echo \"$GIT_PUSH_OPTION_COUNT:$GIT_PUSH_OPTION_0:$GIT_PUSH_OPTION_1\" >> '{}'", told.display());
    origin.hook("pre-receive", &script);
    origin.publish(&[]).ends(0);
    let options = "2:merge_request.create:merge_request.title=Credentials of acme\n";
    assert_eq!(fleet.read("told"), options);
    fleet.run(&["publish"]).ends(0).says("already");
    assert_eq!(fleet.read("told"), options, "nothing was pushed");
    origin.run_beside(&format!("git merge -q --ff-only origin/{BRANCH}; git push -q origin HEAD:main"));
    fleet.write("told", "");
    origin.publish(&[]).ends(0).says("is removed");
    assert_eq!(fleet.read("told"), "0::\n");
    // The control: what is published at once takes none.
    fleet.configure(&format!("branch: {BRANCH}"), "branch: main");
    fleet.run(&["publish"]).ends(64).says("output.git.pushOptions: push options go with proposals");
}

#[test]
fn two_writers_of_one_proposal_agree() {
    let fleet = proposing(1, "");
    let origin = Origin::known(&fleet);
    // While the first run reads, another one proposes from the same sources.
    let flag = fleet.path("flag");
    let program = env!("CARGO_BIN_EXE_pouch");
    let script = format!(
        "case \"$*\" in *' push '*) if mkdir '{}' 2>/dev/null; then (cd '{}' && PATH=\"${{PATH#*:}}\" XDG_CACHE_HOME='{}' \
         '{program}' publish --first --quiet) || exit 9; fi;; esac",
        flag.display(),
        fleet.path("").display(),
        fleet.path("other-cache").display(),
    );
    let ran = Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0);
    ran.says("another writer was faster").says("already");
    assert_eq!(origin.git(&["rev-list", "--count", BRANCH]), "2");
    origin.publish(&[]).ends(0).says("already");
    origin.check();
}

#[test]
fn killed_at_any_call_of_git_the_next_run_proposes() {
    let fleet = proposing(1, ", cache: false");
    let origin = Origin::known(&fleet);
    for (at, command) in ["ls-remote", "fetch", "push"].into_iter().enumerate() {
        for after in [false, true] {
            fleet.secret("eu", "c0", &format!("value: value-{at}-{after}"));
            let real = "\"$REAL\" \"$@\"";
            let run = if after { real } else { ":" };
            let path = std::env::var("PATH").unwrap();
            let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
            let script = format!(
                "REAL='{}'; case \"$*\" in *' {command} '*) {run}; kill -9 $PPID; exit 1;; esac",
                git.display()
            );
            let killed = origin.wrapped(&script, &[]).output().unwrap();
            assert_eq!(killed.status.code(), None, "{command} {after}: {killed:?}");
            let base = origin.tip().unwrap();
            // Whatever became of it, the branch is not there or one whole commit.
            if origin.tip_of(BRANCH).is_some() {
                assert_eq!(origin.parent_of(BRANCH), base, "{command} {after}");
            }
            origin.publish(&[]).ends(0).says("propose");
            assert_eq!(origin.parent_of(BRANCH), base);
            origin.publish(&[]).ends(0).says("already");
        }
    }
    // And where the branch is to be removed.
    origin.merge("fast-forward");
    let script = "case \"$*\" in *' push '*) kill -9 $PPID; exit 1;; esac";
    assert_eq!(origin.wrapped(script, &[]).output().unwrap().status.code(), None);
    origin.publish(&[]).ends(0).says("is removed");
    assert_eq!(origin.tip_of(BRANCH), None);
}

#[test]
fn it_works_by_http() {
    let fleet = proposing(1, "");
    let origin = Origin::known(&fleet);
    origin.git(&["config", "http.receivepack", "true"]);
    let server = GitServer::new(&fleet.path(""));
    fleet.configure("repository: repo.git", &format!("repository: '{}'", server.url("repo.git")));
    origin.publish(&[]).ends(0).says("proposes");
    let proposed = origin.tip_of(BRANCH).unwrap();
    origin.publish(&[]).ends(0).says("already");
    origin.commit_beside("echo moved > README");
    origin.publish(&[]).ends(0).says("proposes");
    assert!(origin.tip_of(BRANCH) != Some(proposed));
    origin.merge("squash");
    origin.publish(&[]).ends(0).says("is removed");
    assert_eq!(origin.tip_of(BRANCH), None);
}

/// The page's shell does what the page says, with a `gh` that writes down what it is asked.
#[test]
fn the_page_s_pull_request_is_made_of_the_summary() {
    if std::process::Command::new("jq").arg("--version").output().is_err() {
        return skipped("there is no program jq");
    }
    let page = std::fs::read_to_string(root().join("docs/proposals.md")).unwrap();
    let (_, after) = page.split_once("```sh\n").unwrap();
    let script = after.split_once("```").unwrap().0;
    let fleet = proposing(1, "");
    let origin = Origin::known(&fleet);
    origin.publish(&[]).ends(0);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_pouch"));
    let gh = "#!/bin/sh\nprintf '%s|' \"$@\" >> asked; echo >> asked; [ \"$2\" = edit ]\n";
    fleet.write("bin/gh", gh);
    std::fs::set_permissions(fleet.path("bin/gh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}:{}",
        fleet.path("bin").display(),
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = std::process::Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(fleet.path("")).env_clear().env("PATH", path);
    command.env("HOME", fleet.path("home")).env("TMPDIR", fleet.path("tmp"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let target = summary(&fleet)["targets"][0].clone();
    let title = target["proposal"]["title"].as_str().unwrap();
    let create =
        format!("pr|create|--repo|acme/fleet|--base|main|--head|{BRANCH}|--title|{title}|--body-file|body.md|\n");
    let edit = format!("pr|edit|{BRANCH}|--repo|acme/fleet|--title|{title}|--body-file|body.md|\n");
    assert_eq!(fleet.read("asked"), create + &edit);
    assert_eq!(fleet.read("body.md").trim_end(), target["proposal"]["body"].as_str().unwrap().trim_end());
    // After a run that failed, or that had nothing to propose, nobody is asked anything.
    fleet.remove("asked");
    origin.merge("fast-forward");
    assert!(command.output().unwrap().status.success() && !fleet.has("asked"));
    fleet.configure("kind: Fleet", "kind: Flet");
    assert_eq!(command.output().unwrap().status.code(), Some(64));
    assert!(!fleet.has("asked"));
    // What the page shows for GitLab is a configuration.
    let gitlab = page.split("```yaml\n").find(|block| block.contains("pushOptions")).unwrap();
    let output = gitlab.split_once("```").unwrap().0;
    let fleet = Fleet::new();
    fleet.configure("output: {path: bundles}\n", output);
    let config = fleet.run(&["config"]).ends(0);
    assert!(config.stdout.contains("merge_request.target=main"), "{}", config.stdout);
}
