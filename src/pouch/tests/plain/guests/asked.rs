//! What is asked about and only groups of guest clusters have, what slips in their names are told as, and how what templates
//! make is called.

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
