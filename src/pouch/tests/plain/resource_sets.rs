//! ClusterResourceSets, from the command line: their payloads are planned, explained, sealed, carried and taken back; and
//! what public sets say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::encrypted::sources::{DECRYPTION, Sealed};
use crate::support::fleet::{CANARY, EU, Fleet};
use crate::support::shared;

const SETS: &str = r#"apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: addons, namespace: team-a}
spec:
  clusterSelector: {matchLabels: {addons: "yes"}}
  resources:
  - {kind: Secret, name: pull}
  - {kind: ConfigMap, name: net}
  strategy: Reconcile
"#;

const PAYLOADS: &str = r#"apiVersion: v1
kind: Secret
type: addons.cluster.x-k8s.io/resource-set
metadata: {name: pull, namespace: team-a}
stringData:
  pull.yaml: |
    apiVersion: v1
    kind: Secret
    metadata: {name: pull, namespace: kube-system}
    stringData: {password: canary-value-that-never-shows}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: net, namespace: team-a}
data:
  net.yaml: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: net, namespace: kube-system}
    data: {mtu: "1500"}
"#;

const SEALED: &str = "bundles/regions/eu-west/core/secrets/team-a/pull.sops.yaml";
const OPEN: &str = "bundles/regions/eu-west/core/configmaps/team-a/net.yaml";

fn fleet() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\n\
         sources: [{{name: all, directory: {{path: manifests}}, defaultNamespace: team-a}}]\n\
         regions:\n  eu-west:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n    k0rdentPushDisabled: true\n    \
         resourceSets: ['*/*']\ncompanions: none\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/sets.yaml", SETS);
    fleet.write("manifests/payloads.yaml", PAYLOADS);
    fleet
}

/// Another set, whose payload it does not share.
fn write_another(fleet: &Fleet) {
    let set = SETS
        .replace("name: addons", "name: other")
        .replace("name: pull}\n  - {kind: ConfigMap, name: net}", "name: more}");
    let payload = PAYLOADS
        .split("---\n")
        .next()
        .unwrap()
        .replace("name: pull, namespace: team-a", "name: more, namespace: team-a");
    fleet.write("manifests/other.yaml", format!("{set}---\n{payload}"));
}

#[test]
fn a_set_is_planned_and_explained_and_its_payloads_are_published_as_they_are() {
    let fleet = fleet();
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("ClusterResourceSet team-a/addons"), "{plan}");
    fleet.run(&["render"]).ends(0);
    let bundle = fleet.read("bundles/regions/eu-west/bundle.yaml");
    assert!(bundle.contains("kind: ClusterResourceSet"), "{bundle}");
    // The set stays where it stands; the Secret is sealed, and has the type without which nothing is delivered.
    assert!(!fleet.tree("bundles").keys().any(|path| path.contains("resourceset")), "{bundle}");
    let sealed = fleet.read(SEALED);
    assert!(sealed.contains("type: addons.cluster.x-k8s.io/resource-set") && !sealed.contains(CANARY), "{sealed}");
    assert!(fleet.read(OPEN).contains("    data: {mtu: \"1500\"}\n"), "{}", fleet.read(OPEN));
    let told = fleet.run(&["explain", "clusterresourceset", "team-a/addons"]).ends(0).stdout;
    for line in [
        "ClusterResourceSet team-a/addons at manifests/sets.yaml:1:1",
        "Secret team-a/pull",
        "ConfigMap team-a/net",
        "named by   ClusterResourceSet spec.resources",
        "because it stands in the ClusterResourceSet's namespace",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let json = fleet.run(&["explain", "clusterresourceset/team-a/addons", "-o", "json"]).ends(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["claims"][0]["credential"], "clusterresourceset/team-a/addons");
    let of_secret = fleet.run(&["explain", "secret", "team-a/pull"]).ends(0).stdout;
    assert!(of_secret.contains("ClusterResourceSet team-a/addons"), "{of_secret}");
    fleet.run(&["explain", "clusterresourceset", "team-a/nope"]).ends(1);
    fleet.run(&["check", "--deny", "info"]).ends(0);
    fleet.run(&["plan", "--no-values"]).ends(0);
}

#[test]
fn a_set_that_breaks_keeps_what_it_has_until_somebody_takes_it_back() {
    let fleet = fleet();
    // As long as something is left, three objects may go unasked.
    write_another(&fleet);
    fleet.run(&["render"]).ends(0);
    fleet.write("manifests/sets.yaml", SETS.replace("resources:", "resource:"));
    let run = fleet.run(&["render"]).ends(3);
    assert!(run.stderr.contains("Did you mean resources?"), "{}", run.stderr);
    assert!(fleet.has(SEALED) && fleet.has(OPEN));
    let run = fleet.run(&["check", "-o", "json"]).ends(7);
    assert!(run.stdout.contains("clusterresourceset/team-a/addons"), "{}", run.stdout);
    fleet.run(&["render", "--withdraw", "clusterresourceset/team-a/addons"]).ends(3);
    assert!(!fleet.has(SEALED) && !fleet.has(OPEN));
}

#[test]
fn a_run_may_refresh_one_set() {
    let fleet = fleet();
    write_another(&fleet);
    fleet.run(&["render", "clusterresourceset/team-a/addons"]).ends(0);
    assert!(fleet.has(SEALED) && !fleet.has("bundles/regions/eu-west/core/secrets/team-a/more.sops.yaml"));
}

/// A fleet that takes no sets is the same with and without them, to the byte and to the word.
#[test]
fn a_set_that_the_configuration_does_not_name_counts_for_nothing() {
    let fleet = fleet();
    fleet.configure("    resourceSets: ['*/*']\n", "");
    let told = |sets: &str| {
        match sets {
            "" => fs::remove_file(fleet.path("manifests/sets.yaml")).unwrap(),
            sets => fleet.write("manifests/sets.yaml", sets),
        }
        let run = fleet.run(&["render"]).ends(0);
        let check = fleet.run(&["check", "-o", "json", "--deny", "info"]);
        (run.stderr, check.stdout, check.code, fleet.tree("bundles"))
    };
    fleet.run(&["render"]).ends(0);
    let without = told("");
    for sets in [
        SETS,
        &SETS.replace("resources:", "resource:"),
        &SETS.replace("name: addons", "name: '${CLUSTER_NAME}-addons'"),
        &SETS.replace("ClusterResourceSet", "ClusterResourceSte"),
        &SETS.replace(", namespace: team-a", ""),
    ] {
        assert!(told(sets) == without, "{sets}");
    }
}

#[test]
fn what_is_typed_wrong_is_said_where_it_stands() {
    let fleet = fleet();
    let config = fleet.read("pouch.yaml");
    for (sets, says) in [
        ("[team-a]", "not a glob over ClusterResourceSets"),
        ("['*/*', team-a/b/c]", "regions.eu-west.resourceSets[1]"),
        ("team-a/*", "resourceSets"),
    ] {
        fleet.configured(&config.replace("['*/*']", sets));
        fleet.run(&["config"]).ends(64).says(says);
    }
    fleet.configured(&config.replace("resourceSets", "resourceSet"));
    fleet.run(&["config"]).ends(64).says("resourceSets");
    fleet.configured(&format!(
        "{config}grants: [{{from: {{clusterResourceSet: team-a/addons}}, to: {{namespace: b, kind: Secret, name: s}}, regions: \
         [eu-west]}}]\n"
    ));
    // What is shown can be read again, and shows the same.
    let shown = fleet.run(&["config"]).ends(0).stdout;
    assert!(shown.contains("resourceSets:") && shown.contains("clusterResourceSet: team-a/addons"), "{shown}");
    fleet.configured(&shown);
    assert_eq!(fleet.run(&["config"]).ends(0).stdout, shown);
}

/// Whatever is found in a payload, no output has a value of it.
#[test]
fn no_value_of_a_payload_is_ever_shown() {
    let fleet = fleet();
    let long = format!("# {CANARY} {CANARY}");
    for (payload, code) in [
        (PAYLOADS.replace("name: pull, namespace: kube-system", &format!("name: \"{CANARY} \"")), 0),
        (PAYLOADS.replace("kind: Secret\n    metadata", &format!("kind: {CANARY}\n    metadata")), 0),
        (PAYLOADS.replace("apiVersion: v1\n    kind: Secret", &format!("{CANARY}: {{ {{{CANARY}}} }}\n    kind: Secret")), 0),
        (PAYLOADS.replace("    apiVersion: v1\n    kind: Secret", &format!("    {long}\n    - {CANARY}: [")), 0),
        (PAYLOADS.replace("{password: ", &format!("{{{CANARY}: '${{{CANARY}}}', password: ")), 0),
        (PAYLOADS.replace("name: pull, namespace: kube-system", &format!("name: '${{{CANARY}}}'")), 3),
        (PAYLOADS.replace("type: addons.cluster.x-k8s.io/resource-set", "type: Opaque"), 3),
        (PAYLOADS.replace("type: addons.cluster.x-k8s.io/resource-set", &format!("type: {CANARY}")), 3),
        (PAYLOADS.replace("mtu: \"1500\"}", &format!("mtu: \"1500\"}}\n    ---\n    {{apiVersion: v1, kind: Secert, metadata: {{name: x}}, stringData: {{{CANARY}: {CANARY}}}}}")), 3),
        (PAYLOADS.replace("mtu: \"1500\"}", &format!("mtu: \"1500\"}}\n    ---\n    [[{{kind: List, items: [{{apiVersion: v1, kind: Secret, data: {{{CANARY}: {CANARY}}}}}]}}]]")), 3),
        (PAYLOADS.replace("mtu: \"1500\"", &format!("mtu: \"1500\"}}\n    ---\n    {{apiVersion: v1, kind: Secret, metadata: {{name: {CANARY}x}}, data: {{{CANARY}: {CANARY}}}")).replace(&format!("name: {CANARY}x"), "name: x"), 3),
    ] {
        fleet.write("manifests/payloads.yaml", &payload);
        for words in [&["check", "--deny", "info"][..], &["render"], &["plan", "-o", "json"], &["explain", "clusterresourceset/team-a/addons"]] {
            let run = fleet.run(words);
            assert!(!run.stdout.contains(CANARY) && !run.stderr.contains(CANARY), "{words:?}\n{payload}\n{}{}", run.stdout, run.stderr);
            if words == ["render"] {
                assert_eq!(run.code, code, "{payload}\n{}", run.stderr);
            }
        }
        let open: Vec<_> = fleet.tree("bundles").into_iter().filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(CANARY)).collect();
        assert!(open.is_empty(), "{payload}\n{:?}", open.iter().map(|(path, _)| path).collect::<Vec<_>>());
    }
}

/// Sets and payloads that SOPS sealed, with a key that opens them, and without.
#[test]
fn sealed_sets_are_opened_and_shut_ones_keep_what_they_have() {
    let Some(sealed) = Sealed::new(0) else { return };
    let fleet = &sealed.fleet;
    let config = format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\n\
         sources: [{{name: all, {DECRYPTION}}}]\n\
         regions:\n  eu-west:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n    k0rdentPushDisabled: true\n    \
         resourceSets: ['*/*']\ncompanions: none\nreuseKey: {{file: reuse.key}}\n"
    );
    fleet.write("pouch.yaml", &config);
    let (secret, map) = PAYLOADS.split_once("---\n").unwrap();
    fleet.write("manifests/sets.yaml", SETS);
    fleet.write("manifests/secret.yaml", secret);
    fleet.write("manifests/map.yaml", map);
    sealed.seal("manifests/secret.yaml", &sealed.own);
    fleet.run(&["render"]).ends(0);
    let before = fleet.tree("bundles/regions/eu-west/core");
    assert!(fleet.has(SEALED) && fleet.has(OPEN));
    // Without a key nothing is looked into: nothing is said of the payloads, and nothing goes.
    fleet.write("without.yaml", config.replace("reuse.key", "not-there.key").replace("keys/own.txt", "not-there.txt"));
    let plan = fleet.run(&["-f", "without.yaml", "plan", "--no-values"]).ends(0);
    assert!(!plan.stdout.contains("withdrawn") && !plan.stderr.contains("error["), "{plan:?}");
    // A set that is sealed is not read, and not gone either: with its whole spec, or one field of it.
    for (recipient, rule) in
        [(&sealed.stranger, "encrypted_regex: '^spec$'"), (&sealed.own, "encrypted_regex: '^strategy$'")]
    {
        fleet.write("manifests/sets.yaml", SETS);
        sealed.seal_by("manifests/sets.yaml", recipient, rule);
        fleet.run(&["render"]).says("error[unparsable-document]");
        assert_eq!(fleet.tree("bundles/regions/eu-west/core"), before);
    }
    fleet.write("manifests/sets.yaml", SETS);
    fleet.write("manifests/secret.yaml", secret);
    sealed.seal("manifests/secret.yaml", &sealed.stranger);
    fleet.run(&["render"]).ends(3).says("error[undecryptable-source]");
    assert_eq!(fleet.tree("bundles/regions/eu-west/core"), before);
}

/// A Credential, a Cluster and a set of one name are three claimants: each loses and keeps what is its own.
#[test]
fn three_claimants_may_have_one_name() {
    let fleet = fleet();
    fleet.configure("resourceSets: ['*/*']", "resourceSets: ['*/*']\n    clusters: ['*/*']");
    let others = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: addons, namespace: team-a}\n\
                  spec: {region: eu-west, identityRef: {apiVersion: v1, kind: Secret, name: one, namespace: team-a}}\n---\n\
                  apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: addons, namespace: team-a}\n\
                  spec: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: GCPCluster, name: addons}}\n---\n\
                  apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: GCPCluster\nmetadata: {name: addons, namespace: team-a}\n\
                  spec: {project: example, credentialsRef: {namespace: team-a, name: two}}\n---\n\
                  apiVersion: v1\nkind: Secret\nmetadata: {name: one, namespace: team-a}\nstringData: {credentials: not-a-real-key}\n---\n\
                  apiVersion: v1\nkind: Secret\nmetadata: {name: two, namespace: team-a}\nstringData: {credentials: not-a-real-key}\n";
    fleet.write("manifests/others.yaml", others);
    fleet.run(&["render"]).ends(0);
    let of = |name: &str| format!("bundles/regions/eu-west/core/secrets/team-a/{name}.sops.yaml");
    assert!(fleet.has(&of("one")) && fleet.has(&of("two")) && fleet.has(SEALED));
    fleet.write("manifests/sets.yaml", SETS.replace("name: pull", "name: absent"));
    fleet.run(&["render"]).ends(3).says("error[missing-reference]");
    assert!(fleet.has(&of("one")) && fleet.has(&of("two")) && fleet.has(SEALED));
    fleet.run(&["render", "--withdraw", "clusterresourceset/team-a/addons"]);
    assert!(fleet.has(&of("one")) && fleet.has(&of("two")) && !fleet.has(SEALED) && !fleet.has(OPEN));
}

/// Letters that are dropped, doubled, exchanged or written large in what a set says: as long as its own name stands, nothing
/// that is published is taken away.
#[test]
fn a_slip_in_a_set_takes_nothing_away() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let before = fleet.tree("bundles/regions/eu-west/core");
    let letters: Vec<usize> = (0..SETS.len()).filter(|at| SETS.as_bytes()[*at].is_ascii_alphabetic()).collect();
    let (mut tried, mut fine) = (0, 0);
    for (number, at) in letters.into_iter().enumerate() {
        let (head, tail) = (SETS.get(..at).unwrap(), SETS.get(at + 1..).unwrap());
        let letter = char::from(SETS.as_bytes()[at]);
        if head.rsplit('\n').next().unwrap().starts_with("metadata") {
            continue;
        }
        let slip = match number % 4 {
            0 => format!("{head}{tail}"),
            1 => format!("{head}{letter}{letter}{tail}"),
            2 if letter.is_lowercase() => format!("{head}{}{tail}", letter.to_ascii_uppercase()),
            2 => format!("{head}{}{tail}", letter.to_ascii_lowercase()),
            _ => format!("{head}q{tail}"),
        };
        fleet.write("manifests/sets.yaml", &slip);
        let run = fleet.run(&["render"]);
        assert!(matches!(run.code, 0 | 3), "{slip}\n{}", run.stderr);
        fine += usize::from(run.code == 0);
        assert_eq!(fleet.tree("bundles/regions/eu-west/core"), before, "{slip}\n{}", run.stderr);
        tried += 1;
    }
    assert!(tried > 100 && fine < tried / 4, "{tried} {fine}");
}

/// What is said of the sets in public files: as they are, and with their variables filled in.
const PUBLIC: &str = include_str!("resource_sets/public.txt");

#[test]
fn public_sets_are_judged_as_the_table_says() {
    let Some(seeds) = shared("data/seeds/clusterresourceset") else { return };
    let mut said = String::new();
    let files: BTreeSet<_> = fs::read_dir(&seeds).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files: Vec<_> = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    assert_eq!(files.len(), 19);
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let mut text = fs::read_to_string(&file).unwrap();
        // One provider keeps payloads in files of their own.
        if let Some(set) =
            name.strip_suffix("-secret").map(|name| seeds.join(format!("{name}-crs.yaml"))).filter(|set| set.exists())
        {
            text = format!("{text}\n---\n{}", fs::read_to_string(set).unwrap());
        }
        for (form, text) in [("as it is", text.clone()), ("filled in", filled_in(&text))] {
            said.push_str(&format!("{name}, {form}\n"));
            let (counts, judged) = judged(&text);
            said.push_str(&format!("  {counts}\n"));
            for (by, codes) in judged {
                said.push_str(&format!("  {by}\n"));
                codes.iter().for_each(|code| said.push_str(&format!("    {code}\n")));
            }
        }
    }
    if std::env::var_os("POUCH_REWRITE").is_some() {
        fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plain/resource_sets/public.txt"), &said).unwrap();
        return;
    }
    assert_eq!(said, PUBLIC);
}

/// How many sets are resolved and how many broken, and what is found of each, or of none.
fn judged(text: &str) -> (String, BTreeMap<String, BTreeSet<String>>) {
    let fleet = fleet();
    fs::remove_file(fleet.path("manifests/payloads.yaml")).unwrap();
    fleet.write("manifests/sets.yaml", text);
    let out = fleet.run(&["check", "-o", "json"]).stdout;
    let json: Value = serde_json::from_str(&out).unwrap();
    let mut judged: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for finding in json["findings"].as_array().unwrap() {
        let by = finding["credential"].as_str().unwrap_or("the file").to_owned();
        let text = |field: &str| finding[field].as_str().unwrap_or_default();
        let of = text("object").to_owned() + text("message");
        judged.entry(by).or_default().insert(format!("{} {}: {of}", text("severity"), text("code")));
    }
    let count = |verdict: &str| json["credentials"][verdict].as_u64().unwrap();
    (format!("resolved {}, refused {}, broken {}", count("admitted"), count("refused"), count("broken")), judged)
}

/// The text with a word in place of each variable.
fn filled_in(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once("${") {
        let (mut depth, mut end) = (1, behind.len());
        for (at, char) in behind.char_indices() {
            depth += i32::from(char == '{') - i32::from(char == '}');
            if depth == 0 {
                end = at;
                break;
            }
        }
        let name: String =
            behind[..end].chars().take_while(|char| char.is_ascii_alphanumeric() || *char == '_').collect();
        out.push_str(before);
        out.push_str(&name.to_lowercase().replace('_', "-"));
        rest = behind.get(end + 1..).unwrap_or_default();
    }
    out + rest
}
