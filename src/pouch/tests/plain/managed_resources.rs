//! Templates for namespaces, from the command line: planned, explained, published, rotated and taken back by name.

use crate::support::fleet::{EU, Fleet, Tree, secret};

const TEMPLATE: &str = r#"
apiVersion: automation.kubensync.com/v1alpha1
kind: ManagedResource
metadata: {name: pull}
spec:
  namespaceSelector: {regex: "^dev-"}
  template:
    data: [{name: pull, type: Secret, ref: {name: pull, namespace: registry}}]
    literal: |
      ---
      apiVersion: v1
      kind: Secret
      metadata:
        name: my-pull-secret
        namespace: {{ .Namespace.Name }}
      stringData:
        config: '{{ index .Data.pull "config" | base64Encode }}'
"#;

fn fleet() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n\
         regions:\n  eu-west:\n    recipients: [{EU}]\n    detached: true\n    templates: [pull]\n    \
         namespaces:\n      allowed: ['*']\n      labels: {{dev-a: {{}}, dev-b: {{}}, prod: {{}}}}\n\
         companions: none\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/template.yaml", TEMPLATE);
    fleet.write("manifests/secret.yaml", secret("registry", "pull", "config: not-a-real-key"));
    fleet
}

#[test]
fn a_template_is_planned_explained_and_rotated_by_its_own_name() {
    let fleet = fleet();
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("ManagedResource dev-a/pull"), "{plan}");
    fleet.run(&["render"]).ends(0);
    let bundle = fleet.read("bundles/regions/eu-west/bundle.yaml");
    assert!(bundle.contains("kind: ManagedResource") && !bundle.contains("prod"), "{bundle}");
    let made: Vec<String> = fleet.tree("bundles").into_keys().filter(|path| path.contains("my-pull-secret")).collect();
    assert_eq!(made.len(), 2, "{made:?}");
    // Neither the value nor what the template makes of it stands anywhere.
    for (path, content) in fleet.tree("bundles") {
        let text = String::from_utf8_lossy(&content);
        assert!(!text.contains("not-a-real-key") && !text.contains("bm90LWEtcmVhbC1rZXk="), "{path}");
    }
    let told = fleet.run(&["explain", "managedresource", "dev-a/pull"]).ends(0).stdout;
    for line in ["ManagedResource dev-a/pull at manifests/template.yaml:2:1", "spec.template with Secret registry/pull"]
    {
        assert!(told.contains(line), "{line}\n{told}");
    }
    assert!(fleet.run(&["explain", "managedresource/dev-b/pull"]).ends(0).stdout.contains("dev-b/my-pull-secret"));
    fleet.run(&["explain", "managedresource", "prod/pull"]).ends(1);
    // Nothing changed, nothing is written; a new value arrives with the next run.
    let before = fleet.tree("bundles");
    fleet.run(&["render"]).ends(0);
    assert_eq!(fleet.tree("bundles"), before);
    fleet.write("manifests/secret.yaml", secret("registry", "pull", "config: another-one"));
    let plan = fleet.run(&["plan", "--credential", "managedresource/dev-a/pull"]).ends(0).stdout;
    assert!(plan.contains("dev-a/my-pull-secret") && !plan.contains("dev-b/my-pull-secret"), "{plan}");
    fleet.run(&["render"]).ends(0);
    let changed: Vec<&String> =
        made.iter().filter(|path| fleet.tree("bundles").get(*path) != before.get(*path)).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
}

#[test]
fn a_value_that_would_stand_in_plain_sight_breaks_the_template_alone() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let before = fleet.tree("bundles");
    fleet.edit("manifests/template.yaml", "name: my-pull-secret", "name: '{{ index .Data.pull \"config\" }}'");
    let ran = fleet.run(&["render"]).ends(3);
    assert!(ran.stderr.contains("invalid-template") && !ran.stderr.contains("not-a-real-key"), "{}", ran.stderr);
    let secrets = |tree: Tree| tree.into_iter().filter(|(path, _)| path.contains("my-pull-secret")).collect::<Vec<_>>();
    assert_eq!(secrets(fleet.tree("bundles")), secrets(before));
}

#[test]
fn without_values_a_template_is_shown_with_stand_ins() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let ran = fleet.run(&["plan", "--no-values"]);
    assert!(!ran.stdout.contains("invalid-template") && !ran.stderr.contains("not-a-real-key"), "{}", ran.stderr);
}
