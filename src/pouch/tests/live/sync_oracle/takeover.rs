//! Taking over from the controller, step by step as docs/sync-rules.md has them: the copies become pouch's in place, and
//! the controller leaves them alone.

use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::made::rule;
use super::mesh::{Mesh, OWNER, create};
use super::{LAST_APPLIED, fleet};
use crate::support::fleet::{Fleet, Ran};

/// How long the controller is watched for what it must not do. It does what it does at all within the second.
const WATCHED: Duration = Duration::from_secs(4);

fn secret(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "team-a", "labels": labels},
           "stringData": {"token": "first", "old": "left"}})
}

fn by_label(name: &str, label: &str, mutations: Value) -> Value {
    let step = json!({"match": [{"labels": [{"matchLabels": {label: "yes"}}]}], "mutations": mutations});
    rule(name, json!({"groupVersionKind": {"version": "v1", "kind": "Secret"}, "rules": [step]}))
}

/// A Secret of the sink.
fn copy(mesh: &Mesh, name: &str) -> Option<Value> {
    mesh.get(&format!("/api/v1/namespaces/team-a/secrets/{name}"))
}

#[track_caller]
fn value(copy: Option<&Value>, entry: &str) -> Option<String> {
    let text = copy?["data"][entry].as_str()?;
    Some(String::from_utf8(STANDARD.decode(text).unwrap()).unwrap())
}

fn set(mesh: &Mesh, name: &str, token: &str) {
    let patch = json!({"stringData": {"token": token}}).to_string();
    mesh.source.kubectl_prints(["patch", "secret", "-n", "team-a", name, "--type=merge", "-p", &patch], "");
}

/// Publishes, and applies what is published as a region without Flux and Argo CD does.
fn deliver(fleet: &Fleet, flags: &[&str], code: i32) -> Ran {
    fleet.render(flags).ends(0);
    apply(fleet).ends(code)
}

fn apply(fleet: &Fleet) -> Ran {
    fleet.run(&[
        "deliver",
        "bundles",
        "-f",
        "pouch.yaml",
        "--region=eu",
        "--identity=eu.agekey",
        "--kubeconfig=sink",
        "--context=admin",
        "--inventory-namespace=default",
    ])
}

#[test]
fn copies_of_the_controller_become_pouchs_and_stay_so() {
    let Some(mut mesh) = Mesh::start() else { return };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}});
    for server in [&mesh.source, &mesh.sink] {
        create(server, std::slice::from_ref(&namespace));
    }
    let taken = ["kept", "gone", "freed", "late"];
    let secrets: Vec<Value> = taken.iter().map(|name| secret(name, json!({"pull": "yes"}))).collect();
    create(&mesh.source, &secrets);
    create(&mesh.source, &[secret("control", json!({"control": "yes"})), secret("renamed", json!({"rename": "yes"}))]);
    let overrides =
        json!({"overrides": [{"type": "replace", "path": "/metadata/name", "value": "{{ .Object.GetName }}-copy"}]});
    let rules = [
        by_label("pull", "pull", json!({"labels": {"add": {"made": "yes"}}})),
        by_label("control", "control", json!({})),
        by_label("rename", "rename", overrides),
    ];
    create(&mesh.sink, &rules);
    // By this one it is seen that the controller looks.
    create(&mesh.source, &[secret("watched", json!({"watch": "yes"}))]);
    create(&mesh.sink, &[by_label("watch", "watch", json!({}))]);
    mesh.control();
    let is_there = |name: &str| copy(&mesh, name).is_some();
    mesh.wait("the copies", || taken.iter().chain(&["control", "renamed-copy", "watched"]).all(|name| is_there(name)));
    let first = copy(&mesh, "kept").unwrap();
    // Its values stand in an annotation, in clear.
    assert!(first["metadata"]["annotations"][LAST_APPLIED].is_string());

    // 1. The rules as the sink has them.
    let fleet = fleet(&mesh, &rules, "");
    for name in ["pull", "control", "rename"] {
        fleet.remove(&format!("rules/{name}.yaml"));
    }
    fleet.configure("syncRules: ['*']", "syncRules: [pull, rename]");
    fleet.configure("  - {from: {syncRule: 'control'}, regions: [eu]}\n", "");
    mesh.sink.kubeconfig(&fleet.path("sink"), "admin");
    fleet.write("rules/all.yaml", mesh.sink.kubectl_prints(["get", "resourcesyncrules", "-o", "yaml"], ""));
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    let selector = format!("--selector={OWNER}");
    let listed = mesh.sink.kubectl_prints(["get", "secrets,configmaps", "-A", &selector, "-o", "name"], "");
    for name in taken.iter().chain(&["renamed-copy"]) {
        assert!(plan.contains(name) && listed.contains(&format!("secret/{name}\n")), "{name}: {plan}\n{listed}");
    }

    // 2. In place, and from then on the controller does not write it.
    deliver(&fleet, &[], 0);
    let ours = copy(&mesh, "kept").unwrap();
    assert_eq!(ours["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(ours["metadata"]["labels"]["app.kubernetes.io/managed-by"], "pouch");
    for name in ["kept", "control", "renamed"] {
        set(&mesh, name, "second");
    }
    let token = |name: &str| value(copy(&mesh, name).as_ref(), "token");
    mesh.wait("the controller follows", || token("control").as_deref() == Some("second"));
    thread::sleep(WATCHED);
    assert_eq!(token("kept").as_deref(), Some("first"));
    assert_eq!(token("renamed-copy").as_deref(), Some("first"));
    deliver(&fleet, &[], 0);
    assert_eq!(token("kept").as_deref(), Some("second"));
    assert_eq!(token("renamed-copy").as_deref(), Some("second"));

    // What the controller wrote beside that stays, and pouch says so.
    let drop = r#"[{"op": "remove", "path": "/data/old"}]"#;
    mesh.source.kubectl_prints(["patch", "secret", "-n", "team-a", "late", "--type=json", "-p", drop], "");
    deliver(&fleet, &[], 3).says("error[stale-entry]: Secret team-a/late has data.old on the region");
    assert_eq!(value(copy(&mesh, "late").as_ref(), "old").as_deref(), Some("left"));
    fleet
        .run(&["verify", "--live", "--context=admin", "--kubeconfig=sink", "--region=eu", "bundles"])
        .ends(8)
        .says("annotate secret kept banzaicloud.com/last-applied-");

    // And back: what pouch takes away, the controller makes anew as long as it follows the rule.
    let ours = copy(&mesh, "renamed-copy").unwrap();
    fleet.configure("syncRules: [pull, rename]", "syncRules: [pull]");
    deliver(&fleet, &["-v"], 3).says("stale-entry");
    let is_new = |copy: &Value| copy["metadata"]["uid"] != ours["metadata"]["uid"];
    mesh.wait("the controller is back", || copy(&mesh, "renamed-copy").is_some_and(|copy| is_new(&copy)));
    set(&mesh, "renamed", "third");
    mesh.wait("the controller follows again", || token("renamed-copy").as_deref() == Some("third"));

    // 3. While a rule is followed, a copy with its owner's mark goes with its source, and one without stays.
    let unmark = |name: &str| {
        mesh.sink.kubectl_prints(["annotate", "secret", "-n", "team-a", name, &format!("{OWNER}-")], "");
        mesh.sink.kubectl_prints(["label", "secret", "-n", "team-a", name, &format!("{OWNER}-")], "");
    };
    unmark("freed");
    for name in ["gone", "freed"] {
        mesh.source.kubectl_prints(["delete", "secret", "-n", "team-a", name], "");
    }
    mesh.wait("the controller deletes a copy", || copy(&mesh, "gone").is_none());
    thread::sleep(WATCHED);
    assert!(is_there("freed"));
    // A copy whose source no longer matches stays, whoever made it.
    mesh.source.kubectl_prints(["label", "secret", "-n", "team-a", "control", "control-"], "");
    set(&mesh, "control", "third");
    create(&mesh.source, &[secret("afterwards", json!({"control": "yes"}))]);
    mesh.wait("the controller came by", || is_there("afterwards"));
    thread::sleep(WATCHED);
    assert_eq!(token("control").as_deref(), Some("second"));
    // Nothing goes with a rule.
    mesh.sink.kubectl_prints(["delete", "resourcesyncrules", "pull", "control", "rename"], "");
    thread::sleep(WATCHED);
    for name in ["kept", "freed", "late", "control", "renamed-copy", "afterwards"] {
        assert!(is_there(name), "{name}");
    }
    for name in ["late", "watched"] {
        mesh.source.kubectl_prints(["delete", "secret", "-n", "team-a", name], "");
    }
    mesh.wait("the controller deletes what a rule still takes", || !is_there("watched"));
    thread::sleep(WATCHED);
    assert!(is_there("late"));
    // pouch takes away what is gone.
    deliver(&fleet, &[], 0);
    assert!(!is_there("late") && !is_there("freed") && is_there("kept"));
    // 4. What no rule takes any more.
    let listed = mesh.sink.kubectl_prints(["get", "secrets,configmaps", "-A", &selector, "-o", "name"], "");
    assert!(listed.contains("secret/control\n"), "{listed}");
}
