//! What the history of the output branch decides: budgets, recipients, and what counts as published.

use pouch_core::reuse::{Made, ReuseKey, commit_line};

use crate::support::fleet::{Fleet, US};
use crate::support::origin::Origin;

const OTHER: &str = "age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph";

/// Twenty Credentials in each region, published.
fn twenty() -> Fleet {
    Fleet::with_credentials(20)
}

/// Deletes some of a region's Credentials.
fn delete(fleet: &Fleet, numbers: std::ops::Range<usize>) {
    numbers.for_each(|n| fleet.delete("eu", &format!("c{n}")));
}

#[test]
fn many_do_not_become_few_run_by_run() {
    let fleet = twenty();
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    delete(&fleet, 0..4);
    origin.publish(&[]).ends(0).outcome("eu", "published");
    delete(&fleet, 4..5);
    fleet.secret("eu", "c9", "value: changed");
    let held = origin.publish(&[]).ends(4).outcome("eu", "published").says("after 4 that lost something before");
    let secret = |n: u8| format!("bundles/regions/eu/core/secrets/eu-team/c{n}.sops.yaml");
    assert!(origin.changed().contains(&secret(9)) && origin.files().contains(&secret(4)), "the rest goes on");
    origin.publish(&[]).ends(4).outcome("eu", "unchanged");
    // Whoever accepts it starts the count anew.
    let accepted = held.acceptance("--accept-deletions", "eu");
    assert!(accepted.starts_with("eu/eu-team="), "{accepted}");
    origin.publish(&["--accept-deletions", &accepted]).ends(0);
    assert!(!origin.files().contains(&secret(4)));
    let trailers = origin.git(&["log", "-1", "--format=%(trailers:only,unfold)", "main"]);
    assert!(trailers.contains(&format!("Pouch-Accepted: deletions {accepted}\n")), "{trailers}");
    delete(&fleet, 5..8);
    origin.publish(&[]).ends(0);
    // What was held stays held until somebody accepts it, whatever the limits say by then.
    delete(&fleet, 8..9);
    origin.publish(&[]).ends(4);
    fleet.configure("reuseKey", "limits: {deletions: {window: 0s}}\nreuseKey");
    origin.publish(&[]).ends(4).says("It was held before, and goes once somebody accepts it.");
}

/// The control of both: without a window each run counts for itself.
#[test]
fn without_a_window_each_run_counts_for_itself() {
    let fleet = twenty();
    fleet.configure("reuseKey", "limits: {deletions: {window: 0s}}\nreuseKey");
    let origin = Origin::new(&fleet, "");
    let entries = |names: &str| {
        let all: Vec<String> = names.chars().map(|name| format!("{name}: some-value")).collect();
        fleet.secret("eu", "c10", &all.join(", "));
    };
    for (gone, left) in [(0..0, "abcdefghijklmp"), (0..4, "abcdefghijklmp"), (4..6, "klmp"), (0..0, "lmp")] {
        delete(&fleet, gone);
        entries(left);
        origin.publish(&[]).ends(0);
    }
}

/// The names of entries are readable in the baseline's files, so that they are counted as objects are.
#[test]
fn entries_that_go_run_by_run_are_counted_together() {
    let fleet = twenty();
    let origin = Origin::new(&fleet, "");
    let entries = |names: &str| {
        let all: Vec<String> = names.chars().map(|name| format!("{name}: some-value")).collect();
        fleet.secret("eu", "c0", &all.join(", "));
    };
    // Up to ten of one Secret count once, and of more each.
    entries("abcdefghijklmp");
    origin.publish(&[]).ends(0);
    entries("klmp");
    origin.publish(&[]).ends(0).outcome("eu", "published");
    entries("lmp");
    fleet.secret("eu", "c9", "value: changed");
    let held = origin.publish(&[]).ends(4).outcome("eu", "published");
    let held = held.says("1 of 20 Credentials of namespace eu-team would lose 1 entry of a Secret that stays");
    held.says("entry k of Secret eu-team/c0").says("which makes 11, and 4 may go without a person.");
    // What comes back is not lost.
    entries("abklmp");
    origin.publish(&[]).ends(0);
    entries("aklmp");
    origin.publish(&[]).ends(0);
    entries("lmp");
    origin.publish(&[]).ends(4).says("which makes 11");
}

/// Others may know a previous reuse key by now: what stands there is believed unread under the current one alone.
#[test]
fn a_commit_under_a_previous_key_proves_no_file() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    let old = fleet.read("reuse.key");
    fleet.private("old.key", &old);
    let new = ReuseKey::to_text(&[7; 32]);
    fleet.private("reuse.key", &*new);
    fleet.configure("{file: reuse.key}", "{file: reuse.key, previous: [{file: old.key}]}");
    origin.publish(&[]).ends(0);
    let forge = |key: &str| {
        origin.commit_beside("echo '# x' >> bundles/regions/eu/core/kustomization.yaml");
        let [parent, tree] = ["main~1", "main^{tree}"].map(|name| origin.git(&["rev-parse", name]));
        let seconds = origin.git(&["log", "-1", "--format=%ct", "main"]).parse().unwrap();
        let made = Made { branch: "main", path: "bundles", parent: &parent, tree: &tree, seconds };
        let body = "forged\n\nPouch-Fleet: acme\n";
        let line = commit_line(&ReuseKey::parse(key.trim()).ok().unwrap(), &"acme".into(), made, body);
        origin.run_beside(&format!(
            "export GIT_COMMITTER_DATE='{seconds} +0000'; \
             forged=$(printf '%s' '{body}{line}' | git commit-tree {tree} -p {parent}); \
             git push -q --force origin $forged:refs/heads/main"
        ));
    };
    forge(&old);
    origin.publish(&[]).ends(0).outcome("eu", "published").says("does not match the manifest");
    // The control: who has the current key may say what pouch published, and nobody looks again.
    forge(&new);
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
}

/// An older tree has manifests that verify; the commit that brings it back does not, whatever its message says.
#[test]
fn an_older_state_that_somebody_puts_back_is_put_right() {
    let fleet = twenty();
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let first = origin.tip().unwrap();
    delete(&fleet, 0..4);
    origin.publish(&[]).ends(0);
    let second = origin.tip().unwrap();
    let message = origin.git(&["log", "-1", "--format=%B", &first]);
    for message in ["put back", &message] {
        let tree = format!("{first}^{{tree}}");
        let back = origin.git(&["commit-tree", &tree, "-p", "main", "-m", message]);
        origin.git(&["update-ref", "refs/heads/main", &back]);
        origin.publish(&[]).ends(0).says("not-as-published").outcome("eu", "published");
        assert_eq!(origin.git(&["diff", "--name-only", &second, "main"]), "");
    }
    // What was withdrawn once uses up its budget once.
    delete(&fleet, 4..5);
    origin.publish(&[]).ends(4).says("after 4 that lost something before");
    // Without the key that proves it, nothing is known of any of this.
    let ran = origin.publish(&[]).ends(4);
    assert!(!ran.stderr.contains("not-as-published"), "{}", ran.stderr);
}

#[test]
fn a_deleted_folder_makes_no_region_new() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let first = origin.tip().unwrap();
    let gone = "git rm -rq bundles/regions/us bundles/argocd";
    origin.commit_beside(gone);
    fleet.configure(&format!("[{US}]"), &format!("[{US}, {OTHER}]"));
    origin.publish(&[]).ends(4).outcome("us", "held").says("recipient-added").says("not-as-published");
    fleet.configure(&format!("[{US}, {OTHER}]"), &format!("[{US}]"));
    // What cannot be read now is put back as it was.
    fleet.remove("manifests/us-c0-secret.yaml");
    origin.publish(&[]).ends(3).outcome("us", "published").says("not-as-published");
    let secrets = "bundles/regions/us/core/secrets";
    assert_eq!(origin.git(&["diff", "--name-only", &first, "main", "--", secrets]), "");
    // A region that was never published asks for nothing.
    fleet.configure(
        "  us:",
        &format!("  new: {{recipients: [{OTHER}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: none}}\n  us:"),
    );
    fleet.credential("new", "c0", "value");
    origin.publish(&[]).ends(3).outcome("new", "published");
}

/// A region's manifests stay authentic after the region was withdrawn: whoever can write puts them back.
#[test]
fn a_withdrawn_region_that_somebody_puts_back_stops_nobody() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let first = origin.tip().unwrap();
    fleet.delete("us", "c0");
    let accepted = origin.publish(&[]).ends(4).acceptance("--accept-deletions", "us");
    origin.publish(&["--accept-deletions", &accepted]).ends(0);
    fleet.configure("  us: {", "  us: {state: retired, ");
    origin.publish(&[]).ends(0).outcome("us", "withdrawn");
    let put_back = format!("git checkout -q {first} -- bundles/regions/us bundles/argocd/us");
    // As long as the configuration says that it is retired, it is withdrawn again.
    origin.commit_beside(&put_back);
    origin.publish(&[]).ends(0).outcome("us", "withdrawn").says("not-as-published");
    assert!(!origin.files().iter().any(|path| path.contains("/us/")));
    let config = fleet.read("pouch.yaml");
    let rest: Vec<&str> = config.lines().filter(|line| !line.starts_with("  us: ")).collect();
    fleet.write("pouch.yaml", rest.join("\n") + "\n");
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    origin.commit_beside(&put_back);
    for value in ["one", "two"] {
        fleet.secret("eu", "c0", &format!("value: {value}"));
        let ran = origin.publish(&[]).ends(8).outcome("eu", "published");
        ran.says("error[region-not-configured]").says("regions/us holds files");
        // What stands in the tree of this commit is not pouch's for that.
        let trailers = origin.git(&["log", "-1", "--format=%(trailers:only,unfold)", "main"]);
        assert!(trailers.contains("Pouch-Unproved: us\n"), "{trailers}");
    }
    fleet.private("eu.txt", include_str!("../../../../testdata/quickstart/keys/eu-west.txt"));
    fleet.run(&["rekey", "--identity", "eu.txt"]).ends(0);
    origin.publish(&[]).ends(8);
    fleet.run(&["verify"]).ends(8).says("error[region-not-configured]");
    // What a run noted came after that, too.
    origin.git(&["update-ref", "refs/heads/main", &first]);
    origin.publish(&[]).ends(8).says("region-not-configured");
    // The control: what pouch itself left published ends the run.
    origin.git(&["update-ref", "refs/heads/main", &first]);
    for note in origin.git(&["for-each-ref", "--format=%(refname)", "refs/pouch"]).lines() {
        origin.git(&["update-ref", "-d", note]);
    }
    origin.publish(&[]).ends(64).says("region-not-configured");
    origin.commit_beside("echo >> bundles/regions/us/kustomization.yaml");
    origin.publish(&[]).ends(64).says("region-not-configured");
}

#[test]
fn a_changed_manifest_is_put_right_from_history() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let first = origin.tip().unwrap();
    let spoil = "echo >> bundles/regions/eu/bundle.yaml; echo >> bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml";
    origin.commit_beside(spoil);
    origin.publish(&[]).ends(0).says("not-as-published");
    assert_eq!(origin.git(&["diff", "--name-only", &first, "main"]), "");
    // With a file that nobody knows, the region is held.
    origin.commit_beside("echo 'kind: ConfigMap' > bundles/regions/eu/core/extra.yaml");
    origin.publish(&[]).ends(4).outcome("eu", "held").says("foreign-file");
}

#[test]
fn an_acceptance_in_the_branch_is_spent() {
    let fleet = Fleet::with_credentials(6);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    delete(&fleet, 0..5);
    let held = origin.publish(&[]).ends(4);
    let accepted = held.acceptance("--accept-deletions", "eu");
    let parent = origin.tip().unwrap();
    let message = format!("other\n\nPouch-Accepted: deletions {accepted}\n");
    let spent = origin.git(&["commit-tree", "main^{tree}", "-p", "main", "-m", &message]);
    origin.git(&["update-ref", "refs/heads/main", &spent]);
    origin.publish(&["--accept-deletions", &accepted]).ends(4).says("it is spent or mistyped");
    origin.git(&["update-ref", "refs/heads/main", &parent]);
    origin.publish(&["--accept-deletions", &accepted]).ends(0);
}

#[test]
fn a_history_that_no_commit_of_pouch_proves_is_read_by_its_manifests() {
    let fleet = twenty();
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    delete(&fleet, 0..4);
    origin.publish(&[]).ends(0);
    // A release that wrote no last line, or somebody who rewrote the branch.
    let mut parents: Vec<String> = Vec::new();
    for commit in origin.git(&["rev-list", "--reverse", "main"]).lines() {
        let tree = format!("{commit}^{{tree}}");
        let mut arguments = vec!["commit-tree", &*tree, "-m", "rewritten"];
        parents.iter().for_each(|parent| arguments.extend(["-p", parent]));
        parents = [origin.git(&arguments)].into();
    }
    origin.git(&["update-ref", "refs/heads/main", &parents[0]]);
    delete(&fleet, 4..5);
    let ran = origin.publish(&[]).ends(4).says("after 4 that lost something before");
    assert!(!ran.stderr.contains("not-as-published"), "{}", ran.stderr);
}

#[test]
fn a_removed_recipient_does_not_wait_for_a_broken_claim() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    fleet.configure(&format!("[{US}]"), &format!("[{US}, {OTHER}]"));
    origin.publish(&[]).ends(0);
    fleet.configure(&format!("[{US}, {OTHER}]"), &format!("[{US}]"));
    fleet.remove("manifests/us-c0-secret.yaml");
    origin
        .publish(&[])
        .ends(3)
        .outcome("us", "published")
        .says("revocation-incomplete")
        .says("Mend the claim, or pass --withdraw us-team/c0.");
    let show =
        |name: &str| origin.git(&["show", &format!("main:bundles/regions/us/core/secrets/us-team/{name}.sops.yaml")]);
    assert!(show("c0").contains(OTHER) && !show("c1").contains(OTHER));
    let manifest = origin.git(&["show", "main:bundles/regions/us/bundle.yaml"]);
    assert_eq!(manifest.matches(OTHER).count(), 1, "the entry of what stays says who can read it\n{manifest}");
    fleet.run(&["verify", "repo.git"]).ends(0).says("can still be read by");
    let used = origin.publish(&["--withdraw", "us-team/c0", "--withdraw", "us-team/co"]).ends(3);
    let used = used.says("warning: --withdraw us-team/co withdraws nothing; `pouch explain us-team/co` says why\n");
    assert!(!used.stderr.contains("--withdraw us-team/c0 "), "{used:?}");
    // A limited run withdraws nothing by itself, and does not know the rest.
    let limited = origin.publish(&["--region", "eu", "--withdraw", "us-team/co"]).ends(0);
    assert!(!limited.stderr.contains("withdraws nothing"), "{limited:?}");
    assert!(!origin.files().iter().any(|path| path.ends_with("us-team/c0.sops.yaml")));
    fleet.run(&["verify", "repo.git"]).ends(0);
}

/// What a fleet publishes for other clusters, on another branch or below another path, does not count where it is merged.
#[test]
fn commits_for_another_branch_prove_nothing_here() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let ours = origin.tip().unwrap();
    origin.git(&["branch", "stage", "main"]);
    fleet.configure("branch: main", "branch: stage");
    fleet.secret("eu", "c0", "value: of-the-stage");
    fleet.run(&["publish"]).ends(0).outcome("eu", "published");
    fleet.configure("branch: stage", "branch: main");
    fleet.secret("eu", "c0", &format!("value: {}", crate::support::fleet::CANARY));
    // As a merge would make it that takes all from the other branch.
    let merge = origin.git(&["commit-tree", "stage^{tree}", "-p", "main", "-p", "stage", "-m", "merge"]);
    origin.git(&["update-ref", "refs/heads/main", &merge]);
    fleet.remove("manifests/eu-c0-secret.yaml");
    // The Credential is broken, so what stays is what pouch published here.
    origin.publish(&[]).ends(3).says("not-as-published").outcome("eu", "published");
    let secrets = "bundles/regions/eu/core/secrets";
    assert_eq!(origin.git(&["diff", "--name-only", &ours, "main", "--", secrets]), "");
}

/// A baseline that others can write is none: with a thousand commits of theirs, no budget begins anew.
#[test]
fn commits_of_others_begin_no_window() {
    let fleet = twenty();
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    delete(&fleet, 0..4);
    origin.publish(&[]).ends(0);
    // Old by their own word, and merged beside what pouch publishes next.
    let many = "export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'; \
                tree=$(git rev-parse 'main^{tree}'); at=$(git commit-tree $tree -m first); \
                for n in $(seq 1100); do at=$(git commit-tree $tree -p $at -m $n); done; \
                unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE; \
                git push -q origin $(git commit-tree $tree -p main -p $at -m merge):refs/heads/main";
    origin.run_beside(many);
    fleet.secret("eu", "c9", "value: changed");
    origin.publish(&[]).ends(0);
    delete(&fleet, 4..5);
    origin.publish(&[]).ends(4).says("after 4 that lost something before");
}
