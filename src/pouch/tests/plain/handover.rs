//! Make before break: what a Credential exchanged for another object stays until consumers have followed.

use crate::support::fleet::{CANARY, EU, Fleet, Ran, credential, secret};
use crate::support::origin::Origin;

const START: u64 = 1_700_000_000;
const HOUR: u64 = 3600;

/// The identity `az` of a Credential of its name, which names this Secret.
fn names(fleet: &Fleet, name: &str) {
    let identity = format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\n\
         metadata: {{name: az, namespace: eu-team}}\n\
         spec: {{type: ServicePrincipal, tenantID: t, clientID: c, allowedNamespaces: {{}}, \
         clientSecret: {{name: {name}, namespace: eu-team}}}}\n"
    );
    fleet.write("manifests/az.yaml", identity);
}

/// Two Credentials in `eu`: `az`, whose identity names the Secret `one` of two, and one that never changes.
fn two_secrets() -> Fleet {
    let fleet = Fleet::new();
    fleet.credential("eu", "still", CANARY);
    let version = "infrastructure.cluster.x-k8s.io/v1beta1";
    let text = credential("eu", "eu-team", "az", [version, "AzureClusterIdentity", "az"]);
    fleet.write("manifests/eu-az.yaml", text);
    for name in ["one", "two"] {
        let text = secret("eu-team", name, &format!("clientSecret: {CANARY}-{name}"));
        fleet.write(&format!("manifests/{name}.yaml"), text);
    }
    names(&fleet, "one");
    fleet
}

/// Publishes so many seconds after the start.
#[track_caller]
fn publish(fleet: &Fleet, after: u64, arguments: &[&str]) -> Ran {
    let arguments = [&["publish", "-v"], arguments].concat();
    let time = (START + after).to_string();
    Ran::from(fleet.command(&arguments).env("SOURCE_DATE_EPOCH", time).output().unwrap())
}

fn path(name: &str) -> String {
    format!("bundles/regions/eu/core/secrets/eu-team/{name}.sops.yaml")
}

/// The region's Secrets `one` and `two` that are published.
fn published(origin: &Origin<'_>) -> Vec<&'static str> {
    let files = origin.files();
    ["one", "two"].into_iter().filter(|name| files.contains(&path(name))).collect()
}

fn blob(origin: &Origin<'_>, name: &str) -> String {
    origin.git(&["rev-parse", &format!("main:{}", path(name))])
}

#[test]
fn a_renamed_secret_stays_for_an_hour_and_goes_with_the_next_publish() {
    let fleet = two_secrets();
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    assert_eq!(published(&origin), ["one"]);
    let before = blob(&origin, "one");
    names(&fleet, "two");
    let plan = fleet.run(&["plan", "-v", "--detailed-exitcode"]).ends(2);
    assert!(plan.stdout.contains("handover   Credential eu-team/az: Secret eu-team/one"), "{}", plan.stdout);
    let ran = publish(&fleet, 10, &[]).ends(0).says("info[handover]: Secret eu-team/one stays for a hand-over");
    ran.says("info[withdrawn]: Secret eu-team/one is no longer needed").says("1h after the one that exchanged it");
    assert_eq!((published(&origin), blob(&origin, "one")), (vec!["one", "two"], before));
    let manifest = origin.git(&["show", "main:bundles/regions/eu/bundle.yaml"]);
    assert_eq!((manifest.matches("state: carried").count(), manifest.matches("reason: handover").count()), (1, 1));
    // Within the hour nothing happens, and something else neither ends nor renews it.
    publish(&fleet, 1000, &[]).ends(0).outcome("eu", "unchanged").says("info[handover]");
    fleet.secret("eu", "still", "value: other");
    publish(&fleet, 2000, &[]).ends(0).outcome("eu", "published");
    publish(&fleet, HOUR + 9, &[]).ends(0).outcome("eu", "unchanged");
    assert_eq!(published(&origin), ["one", "two"]);
    let commits = origin.commits();
    publish(&fleet, HOUR + 10, &[]).ends(0).outcome("eu", "published");
    assert_eq!((published(&origin), origin.commits()), (vec!["two"], commits + 1));
    let ran = publish(&fleet, HOUR + 20, &[]).ends(0).outcome("eu", "unchanged");
    assert!(!ran.stderr.contains("handover"), "{}", ran.stderr);
    fleet.run(&["verify", "repo.git", "--rev", "main"]).ends(0);
    origin.check();
}

/// The control: without a hand-over it goes with the publish that exchanges it, and what is in one goes at once.
#[test]
fn without_a_hand_over_it_goes_at_once() {
    let fleet = two_secrets();
    fleet.configure("reuseKey", "limits: {retainReplaced: 0s}\nreuseKey");
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    names(&fleet, "two");
    publish(&fleet, 10, &[]).ends(0);
    assert_eq!(published(&origin), ["two"]);
    fleet.configure("retainReplaced: 0s", "retainReplaced: 30m");
    names(&fleet, "one");
    publish(&fleet, 20, &[]).ends(0).says("30m after");
    assert_eq!(published(&origin), ["one", "two"]);
    fleet.configure("retainReplaced: 30m", "retainReplaced: 0s");
    publish(&fleet, 30, &[]).ends(0);
    assert_eq!(published(&origin), ["one"]);
}

#[test]
fn what_is_named_again_is_current_with_the_same_bytes_and_its_next_hand_over_is_a_new_one() {
    let fleet = two_secrets();
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    let before = blob(&origin, "one");
    for (after, name) in [(10, "two"), (3000, "one"), (HOUR, "two")] {
        names(&fleet, name);
        publish(&fleet, after, &[]).ends(0);
        assert_eq!(published(&origin), ["one", "two"], "{after}");
    }
    assert_eq!(blob(&origin, "one"), before);
    publish(&fleet, 2 * HOUR - 1, &[]).ends(0).outcome("eu", "unchanged");
    publish(&fleet, 2 * HOUR, &[]).ends(0);
    assert_eq!(published(&origin), ["two"]);
}

/// An older state that somebody puts back is applied by consumers, so what it names must be there once more.
#[test]
fn an_older_state_that_is_put_back_begins_the_wait_anew() {
    let fleet = two_secrets();
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    names(&fleet, "two");
    publish(&fleet, 10, &[]).ends(0);
    let tree = origin.git(&["rev-parse", "main~1^{tree}"]);
    let back = origin.git(&["commit-tree", &tree, "-p", "main", "-m", "back"]);
    origin.git(&["update-ref", "refs/heads/main", &back]);
    publish(&fleet, HOUR + 100, &[]).ends(0).says("not-as-published");
    assert_eq!(published(&origin), ["one", "two"]);
}

/// Else a run with the same sources would end before anything is looked at, and the old Secret would stay for ever.
#[test]
fn no_stamp_vouches_for_what_goes_with_time() {
    let fleet = two_secrets();
    fleet.configure("directory: {path: manifests}", "git: {repository: src.git}");
    let source = |name: &str| {
        names(&fleet, name);
        let script = "test -d src.git || git init -q --bare -b main src.git; cd manifests; \
                      test -d .git || { git init -q -b main; git remote add o ../src.git; }; \
                      git add -A; git -c user.name=o -c user.email=o@x -c commit.gpgsign=false commit -qm x; \
                      git push -q o main";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-euc", script]).current_dir(fleet.path("")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(shell.status().unwrap().success());
    };
    source("one");
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    source("two");
    publish(&fleet, 10, &[]).ends(0);
    for after in [20, 30, 40] {
        publish(&fleet, after, &[]).ends(0).outcome("eu", "unchanged").says("info[handover]");
    }
    publish(&fleet, HOUR + 10, &[]).ends(0).outcome("eu", "published");
    assert_eq!(published(&origin), ["two"]);
}

/// No more than so many commits are ever looked at, and on a busy branch it would stay for ever.
#[test]
fn it_goes_however_much_others_commit() {
    const DAY: u64 = 24 * HOUR;
    for (commits, stays) in [(4200, ["two"].as_slice()), (1, &["one", "two"])] {
        let fleet = two_secrets();
        fleet.configure("reuseKey", "limits: {retainReplaced: 30d}\nreuseKey");
        let origin = Origin::new(&fleet, "");
        publish(&fleet, 0, &["--first"]).ends(0);
        names(&fleet, "two");
        publish(&fleet, DAY, &[]).ends(0);
        let mut stream = String::new();
        for n in 0..commits {
            let time = START + 2 * DAY + n;
            let from = if n == 0 { format!("from {}\n", origin.tip().unwrap()) } else { String::new() };
            stream += &format!("commit refs/heads/main\ncommitter o <o@x> {time} +0000\ndata 1\nx\n{from}\n");
        }
        fleet.write("stream", stream);
        let mut import = std::process::Command::new("git");
        import.args(["fast-import", "--quiet", "--force"]).current_dir(origin.path());
        let stream = std::fs::File::open(fleet.path("stream")).unwrap();
        assert!(import.stdin(stream).status().unwrap().success());
        publish(&fleet, 20 * DAY, &[]).ends(0);
        assert_eq!(published(&origin), stays, "{commits}");
    }
}

/// A directory has no history: the next run takes it, and the one after that changes nothing.
#[test]
fn in_a_directory_it_goes_with_the_next_run() {
    let fleet = two_secrets();
    let has = |name: &str| fleet.has(&path(name));
    fleet.render(&[]).ends(0);
    names(&fleet, "two");
    fleet.render(&["-v"]).ends(0).says("info[handover]");
    assert!(has("one") && has("two"));
    // A run that is limited removes nothing.
    fleet.render(&["-n", "eu-team"]).ends(0);
    assert!(has("one") && has("two"));
    fleet.render(&[]).ends(0).outcome("eu", "published");
    assert!(!has("one") && has("two"));
    let tree = fleet.tree("bundles");
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    assert_eq!(fleet.tree("bundles"), tree);
}

/// What would be kept for a reader who was removed goes, and so does what its Credential takes with it.
#[test]
fn nothing_is_handed_over_against_a_revocation() {
    let both = format!("[{EU}, age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph]");
    let start = || {
        let fleet = two_secrets();
        fleet.configure(&format!("[{EU}]"), &both);
        Origin::new(&fleet, "");
        publish(&fleet, 0, &["--first"]).ends(0);
        names(&fleet, "two");
        fleet
    };
    let check = |change: &dyn Fn(&Fleet), arguments: &[&str], stays: &[&str]| {
        let fleet = start();
        change(&fleet);
        publish(&fleet, 10, arguments).ends(0);
        assert_eq!(published(&Origin::known(&fleet)), stays);
        // The same once it began.
        let fleet = start();
        publish(&fleet, 10, &[]).ends(0);
        change(&fleet);
        publish(&fleet, 20, arguments).ends(0);
        assert_eq!(published(&Origin::known(&fleet)), stays);
    };
    check(&|_| {}, &[], &["one", "two"]);
    check(&|fleet| fleet.configure(&both, &format!("[{EU}]")), &[], &["two"]);
    check(&|_| {}, &["--withdraw", "eu-team/az"], &["two"]);
    check(&|fleet| fleet.remove("manifests/eu-az.yaml"), &[], &[]);
}

/// What a Credential exchanges it does not lose: neither when that begins nor when it ends.
#[test]
fn what_is_exchanged_is_no_loss() {
    let fleet = two_secrets();
    fleet.configure("reuseKey", "limits: {deletions: {claimants: 0, percent: 0}}\nreuseKey");
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    names(&fleet, "two");
    publish(&fleet, 10, &[]).ends(0).says("info[handover]");
    let manifest = || origin.git(&["show", "main:bundles/regions/eu/bundle.yaml"]);
    assert!(manifest().contains("reason: handover"));
    publish(&fleet, HOUR + 9, &[]).ends(0).outcome("eu", "unchanged");
    publish(&fleet, HOUR + 10, &[]).ends(0).outcome("eu", "published");
    assert_eq!(published(&origin), ["two"]);
    // The control: what it has nothing else for is held.
    fleet.remove("manifests/eu-az.yaml");
    publish(&fleet, 2 * HOUR, &[]).ends(4).says("1 of 2 Credentials of namespace eu-team would lose");
    assert!(manifest().contains("reason: deletions-held"));
}

/// What was exchanged is no longer what a Credential has: that it breaks, and is mended, makes the wait no longer.
#[test]
fn what_breaks_meanwhile_waits_no_longer() {
    for is_mended in [true, false] {
        let fleet = two_secrets();
        let origin = Origin::new(&fleet, "");
        publish(&fleet, 0, &["--first"]).ends(0);
        names(&fleet, "two");
        publish(&fleet, 10, &[]).ends(0);
        names(&fleet, "three");
        publish(&fleet, 1000, &[]).ends(3).says("missing-reference").says("info[handover]");
        assert_eq!(published(&origin), ["one", "two"]);
        if is_mended {
            names(&fleet, "two");
            publish(&fleet, 2000, &[]).ends(0).says("info[handover]");
        }
        publish(&fleet, HOUR + 9, &[]).outcome("eu", "unchanged");
        assert_eq!(published(&origin), ["one", "two"]);
        publish(&fleet, HOUR + 10, &[]).ends(if is_mended { 0 } else { 3 });
        // What it still has stays, broken or not.
        assert_eq!(published(&origin), ["two"]);
    }
}

/// However often a tenant exchanges something, no more of it is published than its limits say, and that is told.
#[test]
fn a_hand_over_is_within_the_limits_of_its_namespace() {
    let large = "x".repeat(3000);
    for (limit, stay, told) in [
        ("objectsPerNamespace: 5", 2, "limits.objectsPerNamespace, which is 5"),
        ("sealedBytesPerNamespace: 16000", 2, "limits.sealedBytesPerNamespace, which is 16000"),
        ("objectsPerRegion: 5", 2, "region eu would hold more than 5 objects"),
        ("objectsPerNamespace: 500", 5, ""),
    ] {
        let fleet = two_secrets();
        fleet.configure(
            "reuseKey",
            &format!("limits: {{{limit}, deletions: {{claimants: 100, most: 100, keep: 0}}}}\nreuseKey"),
        );
        let origin = Origin::new(&fleet, "");
        publish(&fleet, 0, &["--first"]).ends(0);
        let mut last = String::new();
        for n in 0..5 {
            let name = format!("r{n}");
            let text = secret("eu-team", &name, &format!("clientSecret: {large}"));
            fleet.write("manifests/r.yaml", text);
            names(&fleet, &name);
            last = publish(&fleet, 10 + n, &[]).ends(0).stderr;
        }
        let manifest = origin.git(&["show", "main:bundles/regions/eu/bundle.yaml"]);
        assert_eq!(manifest.matches("reason: handover").count(), stay, "{limit}");
        // What consumers have not followed yet is kept longest.
        assert!(origin.files().contains(&path("r3")), "{limit}");
        assert_eq!(last.contains("warning[no-handover]"), !told.is_empty(), "{limit}: {last}");
        assert!(last.contains(told), "{last}");
        let further = publish(&fleet, 20, &[]).ends(0).outcome("eu", "unchanged").stderr;
        assert!(!further.contains("no-handover"), "{further}");
    }
}

/// A Credential that moves to another identity takes its old closure along for the hand-over.
#[test]
fn an_identity_is_handed_over_with_its_secret() {
    let fleet = two_secrets();
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    fleet.write(
        "manifests/bz.yaml",
        fleet.read("manifests/az.yaml").replace("name: az,", "name: bz,").replace("name: one", "name: two"),
    );
    fleet.edit("manifests/eu-az.yaml", "kind: AzureClusterIdentity, name: az", "kind: AzureClusterIdentity, name: bz");
    publish(&fleet, 10, &[]).ends(0);
    let identity = |name: &str| {
        let leaf = "bundles/regions/eu/identities/azureclusteridentity.infrastructure.cluster.x-k8s.io";
        origin.files().contains(&format!("{leaf}/eu-team/{name}.yaml"))
    };
    assert!(identity("az") && identity("bz"));
    assert_eq!(published(&origin), ["one", "two"]);
    publish(&fleet, HOUR + 10, &[]).ends(0);
    assert!(!identity("az") && identity("bz"));
    assert_eq!(published(&origin), ["two"]);
}

/// What reads bundles says of it what it says of whatever is carried over.
#[test]
fn whatever_reads_it_names_it() {
    let fleet = two_secrets();
    let origin = Origin::new(&fleet, "");
    publish(&fleet, 0, &["--first"]).ends(0);
    names(&fleet, "two");
    let ran = publish(&fleet, 10, &["--summary", "summary.json", "--metrics", "metrics"]).ends(0);
    assert!(ran.stdout.contains("1 handed over") && !ran.stdout.contains("carried"), "{}", ran.stdout);
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    let eu = &summary["regions"][0];
    assert_eq!((&eu["handover"], &eu["carried"]), (&1.into(), &0.into()));
    assert_eq!(eu["carriedObjects"][0]["reason"], "handover");
    assert!(fleet.read("metrics").contains("pouch_region_carried{fleet=\"acme\",region=\"eu\"} 0\n"));
    let body = origin.git(&["log", "-1", "--format=%B", "main"]);
    assert!(body.contains("handover"), "{body}");
    let explained = fleet.run(&["explain", "secret", "eu-team/one"]).ends(0).stdout;
    assert!(explained.contains("handover"), "{explained}");
    let log = fleet.run(&["log", "secret", "eu-team/one"]).ends(0).stdout;
    assert!(log.contains("handover"), "{log}");
    fleet.run(&["verify", "repo.git", "--rev", "main"]).ends(0);
    fleet.run(&["exposure", "repo.git"]).ends(0);
}

/// However a proposal is merged, what it hands over goes with a later one.
#[test]
fn what_is_proposed_ends_too() {
    for merge in ["merge -q --ff-only", "merge -q --no-ff -m merged", "merge -q --squash"] {
        let fleet = two_secrets();
        fleet.configure("reuseKey", "limits: {retainReplaced: 1s}\nreuseKey");
        let origin = Origin::new(&fleet, "");
        fleet.configure("branch: main", "base: main, branch: pouch/all");
        origin.commit_beside("echo theirs > README");
        let merged = || {
            let commit = "git diff --cached --quiet || git commit -qm squashed";
            origin.run_beside(&format!("git {merge} origin/pouch/all; {commit}; git push -q origin HEAD:main"));
        };
        origin.publish(&[]).ends(0);
        merged();
        names(&fleet, "two");
        origin.publish(&[]).ends(0);
        assert_eq!(published(&origin), ["one"], "nothing is merged yet: {merge}");
        merged();
        assert_eq!(published(&origin), ["one", "two"], "{merge}");
        std::thread::sleep(std::time::Duration::from_secs(2));
        origin.publish(&[]).ends(0).outcome("eu", "published");
        merged();
        assert_eq!(published(&origin), ["two"], "{merge}");
    }
}
