//! Groups of guest clusters, from the command line: planned with what they are in guests, sealed, unchanged when nothing
//! changed, explained, and told of when something stays in guests.

mod asked;

use serde_json::Value;

use crate::support::fleet::{CANARY, EU, Fleet};
use crate::support::origin::Origin;

const GROUP: &str = "guests:\n  pull: {region: management, namespaces: [team-a], clusterSelector: {matchLabels: {pull: 'yes'}}, \
    objects: [{kind: Secret, namespace: registry, name: pull, to: {namespace: kube-system}}MORE]}\n";

const MORE: &str = ", {kind: Secret, namespace: registry, name: more}";

fn secret(name: &str, value: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: registry}}, stringData: {{token: {value}}}}}\n"
    )
}

fn fleet() -> Fleet {
    let group = GROUP.replace("MORE", MORE);
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n\
         regions:\n  management: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: flux}}\n\
         regionDefaults: {{delivery: {{flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}}}}}\n\
         limits: {{retainReplaced: 0s}}\nreuseKey: {{file: reuse.key}}\n{group}"
    ));
    fleet.write("manifests/pull.yaml", secret("pull", CANARY));
    fleet.write("manifests/more.yaml", secret("more", CANARY));
    fleet
}

fn sealed(fleet: &Fleet) -> Vec<String> {
    let paths = fleet.tree("bundles").into_keys();
    paths.filter(|path| path.contains("/secrets/") && path.contains(".sops.")).collect()
}

#[test]
fn a_group_is_planned_sealed_and_explained_by_what_it_is_in_guests() {
    let fleet = fleet();
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("Guest team-a/pull: ") && plan.contains("(in guests: Secret kube-system/pull)"), "{plan}");
    fleet.run(&["render"]).ends(0);
    let before = fleet.tree("bundles");
    let files = sealed(&fleet);
    assert_eq!(files.len(), 2, "{files:?}");
    for (path, bytes) in &before {
        assert!(!String::from_utf8_lossy(bytes).contains(CANARY), "{path}");
    }
    fleet.run(&["render"]).ends(0).outcome("management", "unchanged");
    assert!(fleet.tree("bundles") == before);
    fleet.run(&["verify"]).ends(0);
    // Without the key, whether a payload changes is not known, and nothing else is different.
    let blind = fleet.run(&["plan", "--no-values"]).ends(0).stdout;
    assert!(blind.contains("unchanged") && blind.contains("2 Secrets not looked into"), "{blind}");

    let told = fleet.run(&["explain", "guest", "team-a/pull"]).ends(0).stdout;
    for line in [
        "Guest team-a/pull/Secret/registry/pull at the configuration",
        "in guests as Secret kube-system/pull",
        "because the configuration names it",
        "ClusterResourceSet team-a/pouch-pull-",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let json: Value =
        serde_json::from_str(&fleet.run(&["explain", "guest/team-a/pull", "-o", "json"]).ends(0).stdout).unwrap();
    let claims = json["claims"].as_array().unwrap();
    let names: Vec<&str> = claims.iter().filter_map(|claim| claim["credential"].as_str()).collect();
    assert_eq!(names, ["guest/team-a/pull/Secret/registry/more", "guest/team-a/pull/Secret/registry/pull"]);
    assert_eq!(claims[1]["steps"][0]["guest"]["namespace"], "kube-system", "{claims:?}");
    // One of them is asked for as it is written there.
    let one = fleet.run(&["explain", names[0]]).ends(0).stdout;
    assert!(one.contains("registry/more") && !one.contains("registry/pull"), "{one}");

    fleet.write("manifests/pull.yaml", secret("pull", &format!("{CANARY}-rotated")));
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("(in guests: Secret kube-system/pull) [perhaps objects.yaml]"), "{plan}");
    assert!(!plan.contains("registry/more"), "{plan}");
    fleet.run(&["render"]).ends(0);
    assert_eq!(sealed(&fleet), files);
}

#[test]
fn what_stays_in_guests_is_said_in_text_and_json() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    fleet.configure(MORE, "");
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("(in guests: Secret registry/more, which stays there)"), "{plan}");
    let json: Value = serde_json::from_str(&fleet.run(&["plan", "-o", "json"]).ends(0).stdout).unwrap();
    let changes = json["regions"][0]["changes"].as_array().unwrap().clone();
    let gone: Vec<&Value> =
        changes.iter().filter(|change| change["action"] == "withdrawn" && !change["guest"].is_null()).collect();
    let names: Vec<&str> = gone.iter().filter_map(|change| change["guest"]["name"].as_str()).collect();
    assert_eq!(names, ["registry", "more"], "{changes:?}");
}

/// Another reuse key makes every payload new, whatever is published under the old one; and no value is another one, so that
/// nothing is held.
#[test]
fn another_reuse_key_makes_payloads_new() {
    let fleet = fleet();
    for name in ["three", "four", "five", "six"] {
        fleet.configure(MORE, &format!("{MORE}{}", MORE.replace("name: more", &format!("name: {name}"))));
        fleet.write(&format!("manifests/{name}.yaml"), secret(name, CANARY));
    }
    fleet.run(&["render"]).ends(0);
    fleet.private("other.key", &*pouch_core::reuse::ReuseKey::to_text(&[9; 32]));
    fleet.configure("reuseKey: {file: reuse.key}", "reuseKey: {file: other.key, previous: [{file: reuse.key}]}");
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(
        plan.contains("resealed   Guest team-a/pull/Secret/registry/pull: Secret")
            && plan.contains("(values unchanged)"),
        "{plan}"
    );
    assert!(!plan.contains("reseal-held"), "{plan}");
    fleet.run(&["render"]).ends(0);
}

#[test]
fn a_group_is_planned_logged_and_let_go_by_its_name() {
    let fleet = fleet();
    fleet.configure(
        "guests:\n",
        "guests:\n  other: {region: management, namespaces: [team-b], clusterSelector: {matchLabels: {pull: 'yes'}}, \
         objects: [{kind: Secret, namespace: registry, name: pull, to: {namespace: kube-system}}]}\n",
    );
    let one = ["guest/team-a/pull"];
    let plan = fleet.run(&[&["plan"][..], &one].concat()).ends(0).stdout;
    assert!(plan.contains("Guest team-a/pull") && !plan.contains("team-b"), "{plan}");
    fleet.run(&["plan", "guests/team-a/pull"]).ends(64);
    fleet.configure("reuseKey:", "output: {path: bundles}\nreuseKey:");
    let origin = Origin::new(&fleet, "");
    fleet.run(&["publish", "--first"]).ends(0);
    let log = fleet.run(&["log", "guest", "team-a/pull"]).ends(0).stdout;
    assert!(log.contains("team-a/pouch-pull-") && !log.contains("team-b"), "{log}");
    assert_eq!(fleet.run(&["log", "guest/team-a/pull"]).ends(0).stdout, log);

    // What a group lacks stays as it has it until it is let go, and that takes nothing else of the group, nor of another one.
    let there = || {
        let paths = origin.git(&["ls-tree", "-r", "--name-only", "main"]);
        let sealed = |team| paths.lines().filter(|it| it.contains(&format!("/secrets/team-{team}/pouch-"))).count();
        ["a", "b"].map(sealed)
    };
    fleet.remove("manifests/more.yaml");
    fleet.write("manifests/pull.yaml", secret("pull", &format!("{CANARY}-rotated")));
    fleet.run(&["publish"]).ends(3).outcome("management", "published");
    assert_eq!(there(), [2, 1]);
    let one = ["publish", "--withdraw", "guest/team-a/pull"];
    fleet.run(&one).ends(3);
    assert_eq!(there(), [1, 1]);
}
