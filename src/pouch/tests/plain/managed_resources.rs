//! Templates for namespaces, from the command line: planned, explained, published, rotated and taken back by name; and what
//! becomes of public ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::support::fleet::{EU, Fleet, Tree, secret};
use crate::support::shared;

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
         regions:\n  eu-west:\n    recipients: [{EU}]\n    k0rdentPushDisabled: true\n    templates: [pull]\n    \
         namespaces:\n      allowed: ['*']\n      labels: {{dev-a: {{}}, dev-b: {{}}, prod: {{}}}}\n\
         companions: none\nlimits: {{reseal: {{percent: 100}}}}\nreuseKey: {{file: reuse.key}}\n"
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
    for line in
        ["ManagedResource dev-a/pull at manifests/template.yaml:2:1", "ManagedResource pull with Secret registry/pull"]
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
    let plan = fleet.run(&["plan", "managedresource/dev-a/pull"]).ends(0).stdout;
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
    assert!(ran.stderr.contains("invalid-object") && !ran.stderr.contains("not-a-real-key"), "{}", ran.stderr);
    let secrets = |tree: Tree| tree.into_iter().filter(|(path, _)| path.contains("my-pull-secret")).collect::<Vec<_>>();
    assert_eq!(secrets(fleet.tree("bundles")), secrets(before));
}

/// What broke keeps what it made until somebody lets it go, for one namespace at a time.
#[test]
fn what_a_broken_template_made_is_let_go_by_name() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let made = |namespace: &str| {
        fleet.has(&format!("bundles/regions/eu-west/core/secrets/{namespace}/my-pull-secret.sops.yaml"))
    };
    fleet.edit("manifests/template.yaml", "\"config\" |", "\"confgi\" |");
    fleet.run(&["render"]).ends(3);
    assert!(made("dev-a") && made("dev-b"));
    fleet.run(&["render", "--withdraw", "managedresource/dev-a/pull"]).ends(3);
    assert!(!made("dev-a") && made("dev-b"));
}

/// Whoever may label namespaces, or writes a wide regex, takes no room from others, and the run ends.
#[test]
fn ten_thousand_namespaces_are_too_many_for_one_template_and_no_trouble_for_others() {
    let fleet = fleet();
    let many: String = (0..10_000).map(|number| format!(", wide-{number}: {{}}")).collect();
    fleet.configure("prod: {}", &format!("prod: {{}}{many}"));
    fleet.write(
        "manifests/wide.yaml",
        TEMPLATE.replace("name: pull}\nspec", "name: pull-wide}\nspec").replace("^dev-", "^wide-"),
    );
    fleet.configure("templates: [pull]", "templates: [pull, pull-wide]");
    let ran = fleet.run(&["plan", "-v"]).ends(0);
    // The region takes 5,000 objects, and whoever asks for less goes first.
    assert!(ran.stderr.contains("error[too-many-objects]"), "{}", ran.stderr.lines().last().unwrap_or_default());
    assert!(ran.stderr.ends_with(
        "5000 claimants resolved, 0 refused, 5002 broken (nothing is published for them), 0 not for a region\n"
    ));
    let of = |word: &str, name: &str| {
        let starts = format!("  {word}");
        ran.stdout.lines().filter(|line| line.starts_with(&starts) && line.contains(name)).count()
    };
    assert_eq!([of("added", "/pull:"), of("broken", "/pull:")], [2, 0]);
    assert_eq!([of("added", "/pull-wide:"), of("broken", "/pull-wide:")], [4998, 5002]);
}

#[test]
fn without_values_a_template_is_shown_with_stand_ins() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let ran = fleet.run(&["plan", "--no-values"]).ends(0);
    for said in [&ran.stdout, &ran.stderr] {
        assert!(!said.contains("error[") && !said.contains("not-a-real-key"), "{said}");
    }
    assert!(!ran.stdout.contains("withdrawn"), "{}", ran.stdout);
}

/// Flux leaves such an object alone where it is there already, and `verify` knows that annotation from a slip.
#[test]
fn what_is_only_created_is_proved_like_everything_else() {
    let fleet = fleet();
    fleet.edit("manifests/template.yaml", "spec:", "spec:\n  avoidResourceUpdate: true");
    fleet.run(&["render"]).ends(3).says("only Flux can leave alone what is there");
    fleet.edit("pouch.yaml", "k0rdentPushDisabled: true", "k0rdentPushDisabled: true\n    delivery: flux");
    fleet.edit(
        "pouch.yaml",
        "companions: none",
        "regionDefaults: {delivery: {flux: {sourceRef: {kind: GitRepository, name: fleet}}}}\ncompanions: none",
    );
    fleet.run(&["render"]).ends(0);
    let path = "bundles/regions/eu-west/core/secrets/dev-a/my-pull-secret.sops.yaml";
    assert!(fleet.read(path).contains("kustomize.toolkit.fluxcd.io/ssa: IfNotPresent"), "{}", fleet.read(path));
    fleet.run(&["verify"]).ends(0);
    fleet.edit(path, "ssa: IfNotPresent", "ssa: Ignore");
    fleet.run(&["verify"]).ends(8);
}

/// What is made of the public ManagedResources: as they are, and where `kinds` declares ClusterResourceSets.
const PUBLIC: &str = include_str!("managed_resources/public.txt");

const KINDS: &str = "kinds: [{group: addons.cluster.x-k8s.io, kind: ClusterResourceSet, scope: Namespaced}]\n";

#[test]
fn public_templates_render_or_are_refused_as_the_table_says() {
    let Some(seeds) = shared("data/seeds/managedresource") else { return };
    let mut said = String::new();
    let files: BTreeSet<_> = fs::read_dir(&seeds).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files: Vec<_> = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    assert_eq!(files.len(), 11);
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let forms = [("as it is", ""), ("sets declared", KINDS)];
        for (form, kinds) in forms.into_iter().take(if text.contains("kind: ClusterResourceSet") { 2 } else { 1 }) {
            said.push_str(&format!("{name}, {form}\n"));
            judged(&text, kinds).iter().for_each(|line| said.push_str(&format!("  {line}\n")));
        }
    }
    if std::env::var_os("POUCH_REWRITE").is_some() {
        fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plain/managed_resources/public.txt"), &said).unwrap();
        return;
    }
    assert_eq!(said, PUBLIC);
}

/// What is found of a template for three namespaces that have what the examples ask for, and what is published.
fn judged(template: &str, kinds: &str) -> Vec<String> {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n{kinds}\
         regions:\n  eu-west:\n    recipients: [{EU}]\n    k0rdentPushDisabled: true\n    delivery: flux\n    templates: ['*']\n    \
         namespaces:\n      allowed: ['*']\n      labels:\n        dev-a: {{capi-pull-secret: 'true'}}\n        \
         shopping-a: {{environment: production}}\n        test-a: {{}}\ncompanions: none\n\
         regionDefaults: {{delivery: {{flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}}}}}\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/template.yaml", template);
    let docker = "{auths: {}}";
    for (namespace, name) in [("kube-system", "source-pull-secret"), ("default", "my-pull-secret")] {
        let entry = format!(".dockerconfigjson: '{docker}'");
        fleet.write(&format!("manifests/{name}.yaml"), secret(namespace, name, &entry));
    }
    fleet.write("manifests/my-secret.yaml", secret("default", "my-secret", "key1: one, key2: two"));
    fleet.write(
        "manifests/others.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: my-configmap, namespace: default}, data: {key1: a, key2: b}}\n\
         ---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: test, namespace: default}}\n",
    );
    let out = fleet.run(&["check", "-o", "json"]).stdout;
    let json: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}"));
    let count = |verdict: &str| json["credentials"][verdict].as_u64().unwrap();
    let mut lines =
        vec![format!("resolved {}, refused {}, broken {}", count("admitted"), count("refused"), count("broken"))];
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for finding in json["findings"].as_array().unwrap() {
        let text = |field: &str| finding[field].as_str().unwrap_or_default().to_owned();
        let told = format!("{} {}: {}", text("severity"), text("code"), text("message"));
        found.entry(told).or_default().insert(finding["credential"].as_str().unwrap_or("the file").to_owned());
    }
    lines.extend(
        found.into_iter().map(|(told, by)| format!("{told} ({})", by.into_iter().collect::<Vec<_>>().join(", "))),
    );
    fleet.run(&["render"]);
    let own = |path: &String| path.ends_with(".yaml") && path.contains("/dev-a/");
    lines.extend(fleet.tree("bundles").into_keys().filter(own).map(|path| format!("publishes {path}")));
    lines
}
