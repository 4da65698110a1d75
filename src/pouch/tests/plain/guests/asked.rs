//! What is asked about and only groups of guest clusters have, what slips in their names are told as, and how what templates
//! make is called.

use serde_json::Value;

use crate::support::fleet::{CANARY, EU, Fleet, Ran};

const TEMPLATE: &str = r#"
apiVersion: automation.kubensync.com/v1alpha1
kind: ManagedResource
metadata: {name: login}
spec:
  namespaceSelector: {regex: "^team-"}
  template:
    data: [{name: pull, type: Secret, ref: {name: pull, namespace: registry}}]
    literal: |
      apiVersion: v1
      kind: Secret
      metadata: {name: registry-login}
      type: Opaque
      data: {token: '{{ index .Data.pull "token" | base64Encode }}'}
"#;

const RULE: &str = "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: ResourceSyncRule\nmetadata: {name: copies}\n\
    spec: {groupVersionKind: {version: v1, kind: Secret}, rules: [{match: [{labels: [{matchLabels: {copy: 'yes'}}]}]}]}\n";

/// A group for two namespaces, of which the template selects one.
fn fleet() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n\
         regions:\n  management: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, detached: true, delivery: none}}\n\
         limits: {{handover: 0s}}\nreuseKey: {{file: reuse.key}}\n\
         guests:\n  pull:\n    region: management\n    namespaces: [team-a, dev-b]\n    \
         clusterSelector: {{matchLabels: {{pull: 'yes'}}}}\n    objects:\n      \
         - {{kind: Secret, namespace: registry, name: pull, to: {{namespace: kube-system, name: regcred}}}}\n      \
         - {{kind: ConfigMap, namespace: registry, name: trust}}\n      - {{syncRule: copies}}\n      - {{template: login}}\n"
    ));
    let secret = |name: &str, labels: &str| {
        format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: registry{labels}}}, stringData: {{token: \
             {CANARY}}}}}\n"
        )
    };
    fleet.write("manifests/pull.yaml", secret("pull", ""));
    fleet.write("manifests/copied.yaml", secret("copied", ", labels: {copy: 'yes'}"));
    let trust =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: trust, namespace: registry}, data: {ca.crt: none}}\n";
    fleet.write("manifests/trust.yaml", trust);
    fleet.write("manifests/template.yaml", TEMPLATE);
    fleet.write("manifests/rule.yaml", RULE);
    fleet
}

fn explain(fleet: &Fleet, question: &[&str]) -> Ran {
    fleet.run(&[&["explain"], question].concat())
}

/// The name under which a made object is found is nobody's business.
#[test]
fn what_a_template_makes_is_called_by_its_name_and_its_template() {
    let fleet = fleet();
    let is_plain = |text: &str| {
        assert!(!text.contains("@guests") && !text.contains("@management") && !text.contains("login@"), "{text}");
    };
    for format in ["text", "json", "html", "mermaid", "dot"] {
        is_plain(&explain(&fleet, &["guest", "team-a/pull", "-o", format]).ends(0).stdout);
    }
    let json = explain(&fleet, &["guest", "team-a/pull", "-o", "json"]).ends(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let steps = json["claims"][0]["steps"].as_array().unwrap();
    let made: Vec<&Value> = steps.iter().filter(|step| step["object"]["madeBy"] == "login").collect();
    assert_eq!(made.len(), 1, "{steps:?}");
    assert_eq!(
        (&made[0]["object"]["namespace"], &made[0]["object"]["name"]),
        (&"team-a".into(), &"registry-login".into())
    );
    fleet.run(&["render"]).ends(0);
    for (kind, code) in [
        ("example.com/login", "secret-type-changed"),
        ("kubernetes.io/service-account-token", "forbidden-type"),
        ("kubernetes.io/dockerconfigjson", "malformed-secret"),
    ] {
        fleet.write("manifests/template.yaml", TEMPLATE.replace("Opaque", kind));
        for format in ["text", "json", "markdown", "html"] {
            let plan = fleet.run(&["plan", "-o", format]);
            is_plain(&plan.stdout);
            is_plain(&plan.stderr);
            if format == "text" {
                let told = format!("{}{}", plan.stdout, plan.stderr);
                let made = "Secret team-a/registry-login (made by ManagedResource login)";
                assert!(told.contains(code) && told.contains(made), "{kind}\n{told}");
            }
        }
    }
}

/// Both groups are named, once.
#[test]
fn two_groups_that_write_one_object_are_told_once() {
    let fleet = fleet();
    let text = fleet.read("pouch.yaml");
    let (_, group) = text.split_once("guests:\n").unwrap();
    fleet.write(
        "pouch.yaml",
        format!("{text}{}", group.replacen("  pull:", "  more:", 1).replace("[team-a, dev-b]", "[team-a]")),
    );
    let told = fleet.run(&["check"]).stdout;
    assert_eq!(told.matches("may both write").count(), 1, "{told}");
    assert!(told.contains("Guest team-a/more and Guest team-a/pull may both write"), "{told}");
    assert!(explain(&fleet, &["guest", "team-a/pull"]).ends(0).stdout.contains("may both write"));
}
