//! `--base` and `--baseline`: what a change brings and cures is told apart from what was found before.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;

fn git(fleet: &Fleet, arguments: &[&str]) {
    let folder = fleet.path("");
    let words = ["-C", folder.to_str().unwrap(), "-c", "user.name=a", "-c", "user.email=a@example.com"];
    let output = Command::new("git").args(words).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A published fleet below a folder of a repository, in which one Credential is broken, and the work tree with a change that
/// cures it and breaks another; a third is broken as before.
fn changed() -> Fleet {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    for file in ["pouch.yaml", "reuse.key", "manifests", "bundles"] {
        fs::create_dir_all(fleet.path("deploy")).unwrap();
        fs::rename(fleet.path(file), fleet.path(&format!("deploy/{file}"))).unwrap();
    }
    break_one(&fleet, "c0");
    break_one(&fleet, "c2");
    git(&fleet, &["init", "--quiet", "--initial-branch=main"]);
    git(&fleet, &["add", "deploy"]);
    git(&fleet, &["commit", "--quiet", "-m", "base"]);
    fleet.edit("deploy/manifests/eu-c0.yaml", "name: gone,", "name: c0,");
    break_one(&fleet, "c1");
    // A line more moves what was wrong before.
    let text = fleet.read("deploy/manifests/eu-c2.yaml");
    fleet.write("deploy/manifests/eu-c2.yaml", format!("# One more line.\n{text}"));
    fleet
}

fn break_one(fleet: &Fleet, name: &str) {
    let file = format!("deploy/manifests/eu-{name}.yaml");
    fleet.edit(&file, &format!("kind: Secret, name: {name},"), "kind: Secret, name: gone,");
}

fn run(fleet: &Fleet, arguments: &[&str]) -> Ran {
    fleet.run(&[&["-f", "deploy/pouch.yaml"], arguments].concat())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The Credentials whose errors are new, and whose are not, and what is cured.
fn news(fleet: &Fleet, arguments: &[&str]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let plan = json(&run(fleet, &[&["plan", "-o", "json"], arguments].concat()).ends(0));
    let of = |is_new: bool| {
        let all = plan["findings"].as_array().unwrap().iter();
        let those = all.filter(|it| it["severity"] == "error" && it["new"] == is_new);
        those.map(|it| it["credential"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let cured = plan["since"]["cured"].as_array().unwrap().iter();
    let cured = cured.map(|it| it.as_str().unwrap().to_owned()).filter(|it| it.starts_with("missing-reference"));
    (of(true), of(false), cured.collect())
}

const CURED: &str = "missing-reference of Credential eu-team/c0 in deploy/manifests/eu-c0.yaml";

fn expected() -> (Vec<String>, Vec<String>, Vec<String>) {
    (vec!["eu-team/c1".into()], vec!["eu-team/c2".into()], vec![CURED.into()])
}

#[test]
fn what_a_change_brings_comes_first_and_what_it_cures_next_in_every_format() {
    let fleet = changed();
    assert_eq!(news(&fleet, &["--base", "main"]), expected());
    assert_eq!(news(&fleet, &["--base", "HEAD", "--no-values", "--config-from", "HEAD"]), expected());
    let told = run(&fleet, &["plan", "--base", "main"]).ends(0);
    assert!(
        told.stderr.contains("= Credential eu-team/c1,") && !told.stderr.contains("eu-team/c2,"),
        "{}",
        told.stderr
    );
    let told = told.says(&format!("cured since main: {CURED}")).says("1 finding that main has too; -v tells them");
    let all = run(&fleet, &["plan", "--base", "main", "-v"]).ends(0);
    let places = ["= Credential eu-team/c1,", "cured since main: ", "that main has too:", "= Credential eu-team/c2,"];
    let at: Vec<usize> =
        places.iter().map(|it| all.stderr.find(it).unwrap_or_else(|| panic!("{it}\n{all:?}"))).collect();
    assert!(at.is_sorted(), "{at:?}\n{}", all.stderr);
    // The lines of the plan are those that they are without a base.
    assert_eq!(told.stdout, run(&fleet, &["plan"]).ends(0).stdout);

    let markdown = run(&fleet, &["plan", "--base", "main", "-o", "markdown"]).ends(0).stdout;
    let places = [
        "#### 1 new finding with this change\n",
        "for `Credential eu-team/c1, region eu`",
        "#### 1 finding is cured by this change\n",
        CURED,
        "<details><summary>1 finding that the base has too</summary>\n",
        "for `Credential eu-team/c2, region eu`",
        "</details>",
    ];
    let at: Vec<usize> =
        places.iter().map(|it| markdown.find(it).unwrap_or_else(|| panic!("{it}\n{markdown}"))).collect();
    assert!(at.is_sorted(), "{at:?}\n{markdown}");

    let page = run(&fleet, &["plan", "--base", "main", "-o", "html"]).ends(0).stdout;
    let places =
        ["<code>main</code>", "New with this change", "1 cured finding<", CURED, "Findings that the base has too"];
    let at: Vec<usize> = places.iter().map(|it| page.find(it).unwrap_or_else(|| panic!("{it}\n{page}"))).collect();
    assert!(at.is_sorted(), "{at:?}");

    // The line to paste is one of a publish.
    fleet.remove("deploy/manifests/eu-c1.yaml");
    fleet.edit("deploy/pouch.yaml", "regions:", "limits: {deletions: {claimants: 0, percent: 1}}\nregions:");
    for flags in [&["--base", "main"][..], &["--base=main"]] {
        let held = run(&fleet, &[&["plan"], flags].concat()).says("deletions-held");
        let line = held.stderr.lines().find(|line| line.contains("pouch -f deploy/pouch.yaml render")).unwrap();
        assert!(line.contains(" render --accept-deletions eu/"), "{line}");
    }
}

#[test]
fn a_check_denies_only_what_a_change_brings() {
    let fleet = changed();
    run(&fleet, &["check"]).ends(7);
    let check = run(&fleet, &["check", "--base", "main"]).ends(7).says("left out: main has the same");
    assert!(check.stdout.contains("eu-team/c1") && !check.stdout.contains("eu-team/c2"), "{check:?}");
    fleet.edit("deploy/manifests/eu-c1.yaml", "name: gone,", "name: c1,");
    run(&fleet, &["check"]).ends(7);
    run(&fleet, &["check", "--base", "main"]).ends(0);
}

#[test]
fn the_configuration_is_judged_as_the_base_has_it() {
    let fleet = changed();
    git(&fleet, &["commit", "--quiet", "-am", "all of it"]);
    assert_eq!(news(&fleet, &["--base", "HEAD"]).0, [""; 0]);
    // What a source may provide is taken away, and with it all that is in it.
    fleet.edit(
        "deploy/pouch.yaml",
        "directory: {path: manifests}",
        "directory: {path: manifests}, provides: {namespaces: [other]}",
    );
    let (new, old, _) = news(&fleet, &["--base", "HEAD"]);
    assert!(old.is_empty() && !new.contains(&"eu-team/c1".into()), "{new:?} {old:?}");
    let told = run(&fleet, &["plan", "--base", "HEAD"]).ends(0);
    assert!(told.stderr.contains("not-provided-here"), "{}", told.stderr);
}

/// What a change of the configuration lets who do is told before all else, whether or not anything comes of it yet.
#[test]
fn a_privilege_that_the_configuration_gives_is_told_in_every_format() {
    let fleet = changed();
    git(&fleet, &["commit", "--quiet", "-am", "all of it"]);
    let grant =
        "grants: [{from: {namespace: eu-team}, to: {namespace: us-team, kind: Secret, name: c0}, regions: [eu]}]";
    fleet.edit("deploy/pouch.yaml", "regions:", &format!("{grant}\nregions:"));
    let words = "namespace eu-team may now use Secret us-team/c0, in region eu";
    run(&fleet, &["plan", "--base", "HEAD"]).ends(0).says(&format!("opened since HEAD: {words}"));
    let markdown = run(&fleet, &["plan", "--base", "HEAD", "-o", "markdown"]).ends(0).stdout;
    assert!(markdown.contains(&format!("- **opened** `{words}`\n")), "{markdown}");
    let page = run(&fleet, &["plan", "--base", "HEAD", "-o", "html"]).ends(0).stdout;
    assert!(page.contains(words) && page.find(words) < page.find("h2 id=\"regions\""), "{page}");
    let plan = json(&run(&fleet, &["plan", "--base", "HEAD", "-o", "json"]).ends(0));
    assert_eq!(plan["since"]["privileges"], serde_json::json!([{"opens": true, "words": words}]));
    // The other way round, and where the configuration is the base's own.
    git(&fleet, &["commit", "--quiet", "-am", "granted"]);
    fleet.edit("deploy/pouch.yaml", grant, "");
    run(&fleet, &["plan", "--base", "HEAD"]).ends(0).says("closed since HEAD: namespace eu-team may no longer use");
    let told = run(&fleet, &["plan", "--base", "HEAD", "--config-from", "HEAD"]).ends(0);
    told.says("closed since HEAD: namespace eu-team may no longer use");
}

/// Bundles below a source's own folder are no part of it, at whatever commit.
#[test]
fn bundles_of_the_base_are_no_source() {
    let fleet = changed();
    fleet.edit("deploy/pouch.yaml", "directory: {path: manifests}", "directory: {path: .}");
    git(&fleet, &["commit", "--quiet", "-am", "all of it"]);
    assert_eq!(news(&fleet, &["--base", "HEAD"]), (vec![], vec!["eu-team/c1".into(), "eu-team/c2".into()], vec![]));
}

#[test]
fn a_branch_is_compared_with_for_both() {
    let fleet = Fleet::with_credentials(3);
    let _origin = Origin::new(&fleet, "");
    fleet.run(&["publish", "--first"]).ends(0);
    fs::create_dir_all(fleet.path("deploy")).unwrap();
    git(&fleet, &["init", "--quiet", "--initial-branch=main"]);
    git(&fleet, &["add", "manifests", "pouch.yaml"]);
    git(&fleet, &["commit", "--quiet", "-m", "base"]);
    fleet.edit("manifests/eu-c1.yaml", "kind: Secret, name: c1,", "kind: Secret, name: gone,");
    let told = fleet.run(&["plan", "--base", "main"]).ends(0).says("= Credential eu-team/c1,");
    assert!(!told.stderr.contains("that main has too"), "{}", told.stderr);
    git(&fleet, &["commit", "--quiet", "-am", "two"]);
    fleet.run(&["plan", "--base", "main"]).ends(0).says("nothing is found that main has not");
}

#[test]
fn a_file_is_a_base_too() {
    let fleet = changed();
    git(&fleet, &["stash", "--quiet"]);
    run(&fleet, &["check", "--write-baseline", "known.json"]).ends(0);
    git(&fleet, &["stash", "pop", "--quiet"]);
    assert_eq!(news(&fleet, &["--baseline", "known.json"]), expected());
    run(&fleet, &["plan", "--baseline", "none.json"]).ends(64).says("the baseline none.json cannot be used");
    run(&fleet, &["plan", "--baseline", "known.json", "--base", "main"]).ends(64);
}

#[test]
fn a_base_that_cannot_be_judged_hides_nothing() {
    let fleet = changed();
    let all = |revision: &str, why: &str| {
        let told = run(&fleet, &["plan", "--base", revision]).ends(0);
        let told = told.says(&format!("warning: the base {revision} cannot be judged, so all findings are shown: "));
        let told = told.says(why);
        assert!(["c1", "c2"].iter().all(|name| told.stderr.contains(&format!("eu-team/{name}"))), "{}", told.stderr);
        let markdown = run(&fleet, &["plan", "--base", revision, "-o", "markdown"]).ends(0).stdout;
        assert!(markdown.contains("**All findings are shown**") && markdown.contains("eu-team/c2"), "{markdown}");
        let plan = json(&run(&fleet, &["plan", "--base", revision, "-o", "json"]).ends(0));
        assert!(plan["since"]["unknown"].is_string() && plan["findings"][0]["new"].is_null(), "{plan:#}");
        run(&fleet, &["check", "--base", revision]).ends(7);
    };
    all("nowhere", "there is no branch or commit nowhere");
    git(&fleet, &["checkout", "--quiet", "--orphan", "bare"]);
    git(&fleet, &["rm", "--quiet", "-r", "-f", "--cached", "."]);
    fleet.write("other", "x");
    git(&fleet, &["add", "other"]);
    git(&fleet, &["commit", "--quiet", "-m", "no configuration"]);
    all("bare", "pouch.yaml");
    // Standard input is read once.
    fleet.edit("deploy/pouch.yaml", "directory: {path: manifests}", "stdin: {}");
    run(&fleet, &["plan", "--base", "main"])
        .ends(64)
        .says("source manifests is standard input")
        .says("--baseline FILE");
}

/// Changes to the folder of bundles are new, also where that folder stands in the repository.
#[test]
fn what_a_change_does_to_the_bundles_is_new() {
    let fleet = changed();
    git(&fleet, &["checkout", "--quiet", "."]);
    let check = |arguments: &[&str]| run(&fleet, &[&["check"], arguments].concat());
    // What is there in the commit too is old.
    check(&["--base", "main"]).ends(0);
    let foreign = "deploy/bundles/regions/eu/core/secrets/eu-team/evil.yaml";
    let evil = "{apiVersion: v1, kind: Secret, metadata: {name: evil, namespace: eu-team}, stringData: {a: b}}\n";
    fleet.write(foreign, evil);
    let told = check(&["--base", "main"]).ends(7);
    assert!(told.stdout.contains("error[foreign-file]"), "{told:?}");
    let markdown = run(&fleet, &["plan", "--base", "main", "-o", "markdown"]).stdout;
    assert!(!markdown.contains("Nothing is found that `main` has not"), "{markdown}");
    // So it is where the configuration of the base judges, as in CI.
    check(&["--no-values", "--config-from", "main", "--base", "main"]).ends(7);
    git(&fleet, &["add", "-A"]);
    git(&fleet, &["commit", "--quiet", "-m", "evil"]);
    check(&["--base", "main"]).ends(0);
    fleet.edit("deploy/bundles/regions/eu/bundle.yaml", "fleet: acme", "fleet: other");
    check(&["--base", "main"]).ends(7);
}

/// With `--config-from`, the configuration of the base is not opened, and nothing that it names is run or read.
#[test]
fn the_configuration_of_a_base_runs_nothing_beside_the_trusted_one() {
    let fleet = changed();
    git(&fleet, &["checkout", "--quiet", "."]);
    git(&fleet, &["checkout", "--quiet", "-b", "evil"]);
    let plugin = fleet.path("plugin.sh");
    fleet.write("plugin.sh", format!("#!/bin/sh\ntouch {}\n", fleet.path("PWNED").display()));
    std::fs::set_permissions(&plugin, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:9'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         users: [{{name: u, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: '{}', \
         interactiveMode: Never}}}}}}]\n",
        plugin.display()
    );
    fleet.write("kc", kubeconfig);
    let source = format!(
        "directory: {{path: manifests}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}, {{name: live, provides: \
         {{namespaces: [x]}}, cluster: {{kubeconfig: {}, context: c}}",
        fleet.path("kc").display()
    );
    fleet.edit("deploy/pouch.yaml", "directory: {path: manifests}", &source);
    git(&fleet, &["commit", "--quiet", "-am", "evil"]);
    git(&fleet, &["checkout", "--quiet", "main"]);
    run(&fleet, &["plan", "--no-values", "--config-from", "main", "--base", "evil"]).ends(0);
    assert!(!fleet.has("PWNED"));
    // The control: as a configuration of one's own it is trusted, as the help says.
    run(&fleet, &["plan", "--no-values", "--base", "evil"]);
    assert!(fleet.has("PWNED"));
}

/// Sources that read this repository are read at the base, and what is in no commit hides nothing.
#[test]
fn sources_are_read_at_the_base_where_they_can_be() {
    let fleet = changed();
    git(&fleet, &["checkout", "--quiet", "."]);
    fleet.edit("deploy/pouch.yaml", "directory: {path: manifests}", "git: {repository: .., path: deploy/manifests}");
    git(&fleet, &["commit", "--quiet", "-am", "read as git"]);
    git(&fleet, &["checkout", "--quiet", "-b", "change"]);
    break_one(&fleet, "c1");
    git(&fleet, &["commit", "--quiet", "-am", "change"]);
    let check = |fleet: &Fleet, arguments: &[&str]| run(fleet, &[&["check"], arguments].concat());
    check(&fleet, &["--base", "main"]).ends(7);
    check(&fleet, &["--base", "change"]).ends(0);
    // A directory outside of the repository is the same for both.
    let fleet = changed();
    git(&fleet, &["checkout", "--quiet", "."]);
    fs::rename(fleet.path("deploy/manifests"), fleet.path("beside")).unwrap();
    fs::create_dir_all(fleet.path("deploy/.git-of-its-own")).unwrap();
    git(&fleet, &["init", "--quiet", "--initial-branch=main", "deploy"]);
    fleet.edit("deploy/pouch.yaml", "path: manifests", "path: ../beside");
    let inner = |arguments: &[&str]| git(&fleet, &[&["-C", "deploy"], arguments].concat());
    inner(&["add", "pouch.yaml", "bundles"]);
    inner(&["commit", "--quiet", "-m", "base"]);
    let told = check(&fleet, &["--base", "main"]).ends(7);
    told.says("source manifests is in no commit of this repository: what is found of it is told as new");
}

/// In the form that CI takes, what a proposal's configuration gives is told, though nothing else of it counts.
#[test]
fn what_a_proposed_configuration_gives_is_told_beside_the_trusted_one() {
    let fleet = changed();
    let plan = &["plan", "--no-values", "--config-from", "main", "--base", "main"];
    assert!(!run(&fleet, plan).ends(0).stderr.contains("opened since"));
    let grant =
        "grants: [{from: {namespace: team-b}, to: {namespace: eu-team, kind: Secret, name: c1}, regions: ['*']}]";
    fleet.edit("deploy/pouch.yaml", "output: {", &format!("systemNamespace: elsewhere\n{grant}\noutput: {{"));
    let told = run(&fleet, plan).ends(0);
    let told = told.says("opened since main: namespace team-b may now use Secret eu-team/c1, in every region");
    told.says("opened since main: the configuration changes systemNamespace from kcm-system to elsewhere");
    fleet.write("deploy/pouch.yaml", "sources: {");
    run(&fleet, plan).ends(0).says("which privileges the configuration of the work tree gives is not told");
}

/// A baseline is a file that others may write: it steers neither a terminal nor a runner.
#[test]
fn what_a_baseline_says_is_shown_on_one_line() {
    let fleet = changed();
    let baseline = |print: &str| {
        let findings = serde_json::json!({print: "x\nerror: forged\n::stop-commands::x"});
        let all = serde_json::json!({"apiVersion": "pouch/v1alpha1", "kind": "Baseline", "findings": findings});
        fleet.write("known.json", all.to_string());
        run(&fleet, &["plan", "--baseline", "known.json"])
    };
    let told = baseline(&"a".repeat(64)).ends(0);
    assert!(told.stderr.contains("cured since known.json: x") && !told.stderr.contains("\nerror: forged"), "{told:?}");
    assert!(!told.stderr.contains("\n::stop-commands"), "{told:?}");
    baseline("abc").ends(64).says("the baseline known.json cannot be used");
}

/// Findings that a change silences or switches off are not cured by it, and that it does so is told.
#[test]
fn what_a_change_hides_is_not_cured() {
    let fleet = changed();
    let text = fleet.read("deploy/manifests/eu-c2.yaml");
    let secret = |more: &str| {
        let metadata = format!("metadata: {{name: p, namespace: eu-team{more}}}");
        format!(
            "{text}\n---\napiVersion: v1\nkind: Secret\n{metadata}\nstringData: {{password: changeme}}\n---\n\
             apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: p, namespace: eu-team}}\n\
             spec: {{region: eu, identityRef: {{apiVersion: v1, kind: Secret, name: p, namespace: eu-team}}}}\n"
        )
    };
    fleet.write("deploy/manifests/eu-c2.yaml", secret(""));
    git(&fleet, &["commit", "--quiet", "-am", "all of it"]);
    let told = || run(&fleet, &["plan", "--base", "HEAD"]).ends(0).stderr;
    let cured = "cured since HEAD: placeholder-value of Credential eu-team/p";
    assert!(!told().contains("cured since"), "{}", told());
    fleet.edit("deploy/manifests/eu-c2.yaml", "changeme", "a-real-value-of-its-own");
    assert!(told().contains(cured), "{}", told());
    // Silenced, and switched off.
    fleet.write("deploy/manifests/eu-c2.yaml", secret(", annotations: {pouch/silence: 'placeholder-value: known'}"));
    assert!(!told().contains("cured since"), "{}", told());
    git(&fleet, &["checkout", "--quiet", "."]);
    fleet.edit("deploy/pouch.yaml", "output:", "findings: {placeholder-value: \"off\"}\noutput:");
    let now = told();
    assert!(!now.contains("cured since"), "{now}");
    assert!(now.contains("opened since HEAD: the configuration now has findings.placeholder-value: off"), "{now}");
}
