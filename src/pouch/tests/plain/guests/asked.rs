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
         regions:\n  management: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: none}}\n\
         limits: {{retainReplaced: 0s}}\nreuseKey: {{file: reuse.key}}\n\
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

#[test]
fn a_set_a_payload_and_a_name_in_guests_lead_to_their_groups() {
    let fleet = fleet();
    for is_published in [false, true] {
        if is_published {
            fleet.run(&["render"]).ends(0);
        }
        let told = explain(&fleet, &["clusterresourceset", "team-a/pouch-pull-90dca733"]).ends(0);
        assert!(told.stdout.contains("needed by guest/team-a/pull\n") && !told.stderr.contains("was read"), "{told:?}");
        assert!(!told.stdout.contains("registry/pull") && !told.stdout.contains("dev-b"), "{told:?}");
        let json = explain(&fleet, &["guest", "team-a/pull", "-o", "json"]).ends(0).stdout;
        let json: Value = serde_json::from_str(&json).unwrap();
        let mut steps = json["claims"].as_array().unwrap().iter().flat_map(|claim| claim["steps"].as_array().unwrap());
        let payload = steps.find(|step| step["guest"]["name"] == "trust").unwrap();
        let payload = format!("team-a/{}", payload["lands"]["name"].as_str().unwrap());
        let told = explain(&fleet, &["configmap", &payload]).ends(0);
        assert!(told.stdout.contains("Guest team-a/pull/ConfigMap/registry/trust at "), "{told:?}");
        assert!(!told.stderr.contains("was read"), "{told:?}");
        let told = explain(&fleet, &["secret", "kube-system/regcred"]).ends(0);
        let note = "Secret kube-system/regcred is delivered into guest clusters by guest/dev-b/pull/Secret/registry/pull, \
                    guest/team-a/pull/Secret/registry/pull";
        assert!(told.stderr.contains(note) && !told.stderr.contains("was read"), "{told:?}");
        assert!(told.stdout.contains("in guests as Secret kube-system/regcred"), "{told:?}");
    }
    for unknown in [
        ["clusterresourceset", "team-a/theirs"],
        ["clusterresourceset", "team-c/pouch-pull-90dca733"],
        ["secret", "kube-system/none"],
        ["configmap", "kube-system/regcred"],
    ] {
        explain(&fleet, &unknown).ends(1).says("was read");
    }
    // A set that goes is still that of the group which it was made for.
    fleet.configure("{pull: 'yes'}", "{pull: 'no'}");
    let told = explain(&fleet, &["clusterresourceset", "team-a/pouch-pull-90dca733"]).ends(0).stdout;
    assert!(told.contains("needed by guest/team-a/pull"), "{told}");
}

#[test]
fn a_rule_and_a_template_that_only_groups_name_are_explained() {
    let fleet = fleet();
    let told = explain(&fleet, &["resourcesyncrule", "copies"]).ends(0).stdout;
    assert!(told.contains("takes  Secret (v1), or may take: 1 of the 2 that were read\n"), "{told}");
    assert!(told.contains("to     guest clusters, by guest/dev-b/pull, guest/team-a/pull\n"), "{told}");
    assert!(!told.contains("nowhere"), "{told}");
    let told = explain(&fleet, &["resourcesyncrule", "registry/copies:copied"]).ends(0);
    assert!(
        told.stdout.contains("Guest team-a/pull/ResourceSyncRule/copies:registry/copied at ")
            && told.stdout.contains("Secret registry/copied"),
        "{told:?}"
    );
    assert!(!told.stdout.contains("registry/trust") && !told.stderr.contains("was read"), "{told:?}");

    let told = explain(&fleet, &["managedresource", "login"]).ends(0).stdout;
    for line in [
        "ManagedResource login at manifests/template.yaml:2:1\n",
        "  to     guest clusters, by guest/team-a/pull\n",
        "  not    to those of guest/dev-b/pull: it does not select its namespace\n",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let told = explain(&fleet, &["managedresource", "team-a/login"]).ends(0);
    let made = "Secret team-a/registry-login (made by ManagedResource login)";
    assert!(told.stdout.contains("Guest team-a/pull/ManagedResource/login at "), "{told:?}");
    assert!(told.stdout.contains(made), "{told:?}");
    assert!(!told.stdout.contains("registry/trust") && !told.stderr.contains("was read"), "{told:?}");
    let told = explain(&fleet, &["managedresource", "dev-b/login"]).ends(0).stdout;
    assert!(told.contains("not    to those of guest/dev-b/pull") && !told.contains("registry-login"), "{told}");
    explain(&fleet, &["managedresource", "team-c/login"]).ends(1);
    explain(&fleet, &["managedresource", "logni"]).ends(1).says("Did you mean login?");
    fleet.run(&["log", "managedresource", "login"]).ends(64).says("NAMESPACE/login");

    // Machines are told the same.
    for question in [&["resourcesyncrule", "copies"][..], &["managedresource", "login"]] {
        let json = explain(&fleet, &[question, &["-o", "json"]].concat()).ends(0).stdout;
        let schema = include_str!("../../../../../schemas/explanation.schema.json");
        let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert!(schema.is_valid(&json), "{json:#}");
        let groups = json["rule"].get("groups").or(json["template"].get("groups")).unwrap().as_array().unwrap();
        assert!(groups.iter().any(|group| group == "guest/team-a/pull"), "{json:#}");
    }
    // One that a region names says so too.
    fleet.configure("delivery: none", "delivery: none, syncRules: [copies], templates: [login]");
    let told = explain(&fleet, &["resourcesyncrule", "copies"]).ends(0).stdout;
    assert!(told.contains("to     region management\n") && told.contains("to     guest clusters, by "), "{told}");
    let told = explain(&fleet, &["managedresource", "login"]).ends(0).stdout;
    assert!(told.contains("to     region management, for "), "{told}");
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
    let steps: Vec<&Value> =
        json["claims"].as_array().unwrap().iter().flat_map(|claim| claim["steps"].as_array().unwrap()).collect();
    let made: Vec<&&Value> = steps.iter().filter(|step| step["object"]["madeBy"] == "login").collect();
    assert_eq!(made.len(), 1, "{steps:?}");
    assert_eq!(
        (&made[0]["object"]["namespace"], &made[0]["object"]["name"]),
        (&"team-a".into(), &"registry-login".into())
    );
    fleet.run(&["render"]).ends(0);
    for (kind, code) in [
        ("example.com/login", "immutable-field"),
        ("kubernetes.io/service-account-token", "forbidden-type"),
        ("kubernetes.io/dockerconfigjson", "invalid-object"),
    ] {
        fleet.write("manifests/template.yaml", TEMPLATE.replace("Opaque", kind));
        for format in ["text", "json", "markdown", "html"] {
            let plan = fleet.run(&["plan", "-o", format]);
            is_plain(&plan.stdout);
            is_plain(&plan.stderr);
            if format == "text" {
                let told = format!("{}{}", plan.stdout, plan.stderr);
                assert!(told.contains(code) && told.contains("Secret team-a/registry-login"), "{kind}\n{told}");
                assert!(told.contains("manifests/template.yaml:2:1"), "{kind}\n{told}");
            }
        }
    }
}

#[test]
fn a_slip_in_the_name_of_an_entry_is_told_with_what_was_meant_and_where_it_stands() {
    let fleet = fleet();
    for (from, to, meant) in [
        ("namespace: registry, name: trust", "namespace: registry, name: trsut", "ConfigMap registry/trust"),
        ("namespace: registry, name: trust", "namespace: registri, name: trust", "ConfigMap registry/trust"),
        ("syncRule: copies", "syncRule: copeis", "ResourceSyncRule copies"),
        ("template: login", "template: logn", "ManagedResource login"),
    ] {
        fleet.configure(from, to);
        let told = fleet.run(&["check"]).stdout;
        assert!(
            told.contains("error[missing-reference]: guests.pull names ") || told.contains("guests.pull"),
            "{told}"
        );
        assert!(told.contains(&format!("Did you mean {meant}? ")), "{told}");
        let text = fleet.read("pouch.yaml");
        let (at, line) = text.lines().enumerate().find(|(_, line)| line.contains(to)).unwrap();
        let column = line.find(|c| !matches!(c, ' ' | '-')).unwrap() + 1;
        assert!(told.contains(&format!("--> pouch.yaml:{}:{column}\n", at + 1)), "{told}");
        fleet.configure(to, from);
    }
    fleet.configure("name: trust", "name: other");
    assert!(!fleet.run(&["check"]).stdout.contains("Did you mean"));
}

#[test]
fn a_group_that_has_nothing_carried_over_is_told_how_to_withdraw() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let told = |path: &str| fleet.run(&["plan", "--withdraw", path]).ends(0).stderr;
    for (path, said) in [
        (
            "guest/team-a/pull",
            "withdraws nothing; nothing of it is carried over. To withdraw what it has, take the entry, the group",
        ),
        ("guest/team-a/pul", "the configuration has no group pul, and one that is called pull"),
        ("guest/pull", "it is taken for Credential pull in namespace guest, of which nothing is carried over"),
        ("guest/pull", "write guest/NAMESPACE/pull"),
        ("team-a/aws", "withdraws nothing; `pouch explain team-a/aws` says why"),
    ] {
        assert!(told(path).contains(said), "{path}\n{}", told(path));
    }
    for command in ["plan", "publish", "render"] {
        let help = fleet.run(&[command, "--help"]).ends(0).stdout;
        assert!(help.contains("guest/team-a/pull") && help.contains("[KIND/]NAMESPACE/NAME|broken"), "{help}");
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
