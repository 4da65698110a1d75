//! ResourceSyncRules of the cluster registry, from the command line: planned, explained, published and taken back by name.

use std::fs;

use crate::encrypted::sources::{DECRYPTION, Sealed};
use crate::support::fleet::{CANARY, EU, Fleet, US};
use crate::support::root;

const RULE: &str = "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: ResourceSyncRule\nmetadata: {name: pull}\nspec:\n  \
                    groupVersionKind: {version: v1, kind: Secret}\n  rules:\n    - match: [{labels: [{matchLabels: {pull: 'yes'}}]}]\n      \
                    mutations: {labels: {add: {istio/multiCluster: 'true'}}}\n";

fn labelled(name: &str, pull: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: team-a, labels: {{pull: '{pull}'}}}}\n\
         stringData: {{token: {CANARY}-{name}}}\n"
    )
}

fn fleet() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n\
         regions:\n  eu-west:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n    k0rdentPushDisabled: true\n    \
         syncRules: [pull]\n  us-east:\n    recipients: [{US}]\n    namespaces: {{allowed: ['*']}}\n    k0rdentPushDisabled: true\n    \
         syncRules: ['p*']\ncompanions: none\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/rule.yaml", RULE);
    fleet.write("manifests/first.yaml", labelled("first", "yes"));
    fleet.write("manifests/second.yaml", labelled("second", "yes"));
    fleet.write("manifests/third.yaml", labelled("third", "no"));
    fleet
}

fn path(region: &str, name: &str) -> String {
    format!("bundles/regions/{region}/core/secrets/team-a/{name}.sops.yaml")
}

#[test]
fn a_rule_takes_what_it_matches_and_nothing_more() {
    let fleet = fleet();
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("ResourceSyncRule team-a/pull:first") && !plan.contains("third"), "{plan}");
    let ran = fleet.run(&["render", "-v"]).ends(0);
    assert!(!ran.stderr.contains(CANARY) && !ran.stdout.contains(CANARY));
    for region in ["eu-west", "us-east"] {
        for (name, is_there) in [("first", true), ("second", true), ("third", false)] {
            assert_eq!(fleet.has(&path(region, name)), is_there, "{region} {name}");
        }
        let copy = fleet.read(&path(region, "first"));
        assert!(
            copy.contains("istio/multiCluster: \"true\"") && copy.contains("resource-sync-disabled: \"true\""),
            "{copy}"
        );
        assert!(!copy.contains("pull:") && copy.contains("ENC["), "{copy}");
        let bundle = fleet.read(&format!("bundles/regions/{region}/bundle.yaml"));
        assert!(
            bundle.contains("      object:\n        name: first\n      rule: pull\n    through:\n    - rule: pull\n"),
            "{bundle}"
        );
    }
    fleet.run(&["render"]).ends(0).outcome("eu-west", "unchanged");
    // The other region is named in none of its findings, and no rule goes out by itself.
    assert!(!fleet.tree("bundles").keys().any(|path| path.contains("resourcesyncrule")));
}

#[test]
fn a_rule_s_object_is_explained_by_its_own_name() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let told = fleet.run(&["explain", "resourcesyncrule", "team-a/pull:first"]).ends(0).stdout;
    assert!(told.contains("ResourceSyncRule team-a/pull:first") && told.contains("us-east"), "{told}");
    let same = fleet.run(&["explain", "resourcesyncrule/team-a/pull:first"]).ends(0).stdout;
    assert_eq!(told, same);
    let who = fleet.run(&["explain", "secret", "team-a/first"]).ends(0).stdout;
    assert!(who.contains("pull:first"), "{who}");
    for (wrong, code) in
        [("team-a/pull", 64), ("team-a/Pull:first", 64), ("team-a/pull:a/b", 64), ("team-a/pull:none", 1)]
    {
        fleet.run(&["explain", "resourcesyncrule", wrong]).ends(code);
    }
    let json = fleet.run(&["explain", "resourcesyncrule", "team-a/pull:first", "-o", "json"]).ends(0).stdout;
    assert!(json.contains("resourcesyncrule/team-a/pull:first") && !json.contains(CANARY), "{json}");
}

#[test]
fn a_rule_is_explained_as_a_whole() {
    let fleet = fleet();
    let explain = |rule: &str| fleet.run(&["explain", "resourcesyncrule", rule]).ends(0).stdout;
    let told = explain("pull");
    for line in [
        "ResourceSyncRule pull at manifests/rule.yaml:1:1\n  takes  Secret (v1), or may take: 2 of the 3 that were read\n",
        "  if     {\"labels\":[{\"matchLabels\":{\"pull\":\"yes\"}}]}\n",
        "  to     regions eu-west, us-east\n",
        "  resourcesyncrule/team-a/pull:second  admitted, 1 object, by Secret team-a/second\n",
    ] {
        assert!(told.contains(line), "{line}:\n{told}");
    }
    assert!(!told.contains("third") && !told.contains("from "), "{told}");
    let json = fleet.run(&["explain", "resourcesyncrule", "pull", "-o", "json"]).ends(0).stdout;
    assert!(json.contains("\"taken\": 2") && json.contains("\"question\": \"ResourceSyncRule pull\""), "{json}");
    for format in ["mermaid", "dot", "html"] {
        assert!(fleet.run(&["explain", "resourcesyncrule", "pull", "-o", format]).ends(0).stdout.contains("first"));
    }

    // Why not: by the features of a source, by the rule itself, or since no region names it.
    fleet.edit("manifests/rule.yaml", "spec:\n", "spec:\n  clusterFeatureMatch: [{featureName: none}]\n");
    let told = explain("pull");
    assert!(told.contains("0 of the 3") && told.contains("from   source all, which lacks a ClusterFeature"), "{told}");
    fleet.edit("manifests/rule.yaml", "labels: [", "lables: [");
    let told = explain("pull");
    assert!(told.contains("error[mistyped]: spec.rules[0].match[0] has no field") && told.contains("lables"), "{told}");
    // Of a rule that is broken nothing is repeated: what stands there may be a value.
    let values = format!("content: [{{key: data.token, value: {CANARY}}}], labels: [");
    fleet.edit("manifests/rule.yaml", "lables: [", &values);
    for format in ["text", "json", "html"] {
        let told = fleet.run(&["explain", "resourcesyncrule", "pull", "-o", format]).ends(0).stdout;
        assert!(told.contains("would answer guesses") && !told.contains(CANARY), "{told}");
    }
    fleet.edit("manifests/rule.yaml", "name: pull", "name: other");
    assert!(explain("other").contains("to     nowhere: no region names it"), "{}", explain("other"));
    fleet.run(&["explain", "resourcesyncrule", "othre"]).ends(1).says("Did you mean other?");
    fleet.run(&["log", "resourcesyncrule", "other"]).ends(64).says("NAMESPACE/other:OBJECT");
}

#[test]
fn what_a_rule_no_longer_takes_goes_and_what_nobody_knows_stays() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    // A slip in the rule takes nothing away, and says what was meant.
    fleet.edit("manifests/rule.yaml", "labels: [", "lables: [");
    fleet.run(&["render"]).ends(3).says("error[mistyped]").says("lables").says("Did you mean labels?");
    assert!(fleet.has(&path("eu-west", "first")) && fleet.has(&path("us-east", "second")));
    fleet.edit("manifests/rule.yaml", "lables: [", "labels: [");
    fleet.run(&["render"]).ends(0);
    // An object that no longer matches goes, in both regions, and the finding says where to look.
    fleet.write("manifests/second.yaml", labelled("second", "no"));
    fleet.run(&["render", "-v"]).ends(0).says("info[withdrawn]").says("takes Secret team-a/second no more");
    assert!(!fleet.has(&path("eu-west", "second")) && !fleet.has(&path("us-east", "second")));
    // One claimant is taken back by name, in the regions where it is.
    fleet.edit("manifests/first.yaml", "pull: 'yes'", "pull: [a]");
    fleet.run(&["render"]).ends(3).says("is sealed, mistyped, or no text");
    assert!(fleet.has(&path("eu-west", "first")));
}

#[test]
fn one_object_of_a_rule_is_planned_published_and_let_go_by_itself() {
    let fleet = fleet();
    let one = ["resourcesyncrule/team-a/pull:second"];
    let plan = fleet.run(&[&["plan"][..], &one].concat()).ends(0).stdout;
    assert!(plan.contains("pull:second") && !plan.contains("first"), "{plan}");
    fleet.run(&[&["render"][..], &one].concat()).ends(0);
    assert!(fleet.has(&path("eu-west", "second")) && !fleet.has(&path("eu-west", "first")));
    fleet.run(&["plan", "syncrule/team-a/pull:second"]).ends(64);

    // And let go, where nobody knows whether the rule takes it.
    fleet.run(&["render"]).ends(0);
    fleet.edit("manifests/first.yaml", "pull: 'yes'", "pull: [a]");
    fleet.run(&["render"]).ends(3);
    let there =
        || ["first", "second"].map(|name| fleet.has(&path("eu-west", name)) && fleet.has(&path("us-east", name)));
    assert_eq!(there(), [true, true]);
    fleet.run(&["render", "--withdraw", "resourcesyncrule/team-a/pull:first"]).ends(3);
    assert_eq!(there(), [false, true]);
}

/// Two regions that are each a source, and a rule whose copies have another name and the label by which it takes objects:
/// if it took a copy from there, each run would make one more of each.
#[test]
fn a_rule_that_copies_between_two_sources_sends_nothing_round() {
    let fleet = fleet();
    let sources = ["all", "west", "east"].map(|name| {
        let folder = if name == "all" { "manifests" } else { name };
        format!(
            "{{name: {name}, directory: {{path: {folder}}}, provides: {{namespaces: ['*'], clusterScoped: {}}}}}",
            name == "all"
        )
    });
    fleet.configure(
        "sources: [{name: all, directory: {path: manifests}}]",
        &format!("sources: [{}]", sources.join(", ")),
    );
    fleet.configure(
        "companions: none",
        "companions: none\ngrants: [{from: {syncRule: pull}, regions: [eu-west, us-east]}]",
    );
    let mutations = "labels: {add: {pull: 'yes'}}, overrides: [{type: replace, path: /metadata/name, value: '{{ .Object.GetName }}-copy'}]";
    fleet.edit("manifests/rule.yaml", "labels: {add: {istio/multiCluster: 'true'}}", mutations);
    for (name, to) in [("first", "west"), ("second", "east")] {
        fleet.write(&format!("{to}/{name}.yaml"), labelled(name, "yes"));
        fleet.remove(&format!("manifests/{name}.yaml"));
    }
    fleet.run(&["render"]).ends(0);
    let before = fleet.tree("bundles");
    let copies = |(region, to): (&str, &str)| {
        let identity = root().join(format!("testdata/quickstart/keys/{region}.txt"));
        fleet.private("region.agekey", fs::read(identity).unwrap());
        // It prints values, which `Fleet::run` takes for a leak.
        let output = fleet.command(&["unpack", "--region", region, "--identity", "region.agekey"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("first-copy") && text.contains("second-copy"), "{region}");
        fleet.write(&format!("{to}/copies.yaml"), text);
    };
    [("eu-west", "west"), ("us-east", "east")].into_iter().for_each(copies);
    for region in ["eu-west", "us-east"] {
        fleet.run(&["render"]).ends(0).outcome(region, "unchanged");
    }
    assert!(fleet.tree("bundles") == before);
    // It is the mark on the copies that keeps them, and nothing else.
    fleet.edit("west/copies.yaml", "cluster-registry.k8s.cisco.com/resource-sync-disabled", "example.com/mark");
    fleet.run(&["render"]);
    assert!(fleet.has(&path("us-east", "first-copy-copy")));
}

#[test]
fn a_fleet_that_names_no_rules_sees_none() {
    let fleet = fleet();
    let with = fleet.run(&["plan"]).ends(0).stdout;
    fleet.configure("    syncRules: [pull]\n", "");
    fleet.configure("    syncRules: ['p*']\n", "");
    let ran = fleet.run(&["plan", "-v"]).ends(0);
    assert!(with.contains("pull:first") && !ran.stdout.contains("pull"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("ResourceSyncRule"), "{}", ran.stderr);
    // Not even a slip in a rule matters.
    fleet.edit("manifests/rule.yaml", "kind: ResourceSyncRule", "kind: ResourceSyncRules");
    fleet.run(&["plan"]).ends(0);
}

/// A rule sees what stands open in a sealed file, and only what it takes is opened.
#[test]
fn sealed_secrets_are_matched_by_what_stands_open() {
    let Some(sealed) = Sealed::new(0) else { return };
    let fleet = &sealed.fleet;
    fleet.configured(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\nsources: [{{name: all, {DECRYPTION}}}]\n\
         regions:\n  eu-west:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n    k0rdentPushDisabled: true\n    \
         syncRules: [pull]\ncompanions: none\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/rule.yaml", RULE);
    for (name, pull, recipient) in
        [("first", "yes", &sealed.own), ("theirs", "no", &sealed.stranger), ("second", "yes", &sealed.own)]
    {
        let path = format!("manifests/{name}.yaml");
        fleet.write(&path, labelled(name, pull));
        sealed.seal(&path, recipient);
    }
    // What is for somebody else is not opened, so nobody hears of it.
    let ran = fleet.run(&["render", "-v"]).ends(0);
    assert!(!ran.stderr.contains("undecryptable"), "{}", ran.stderr);
    assert!(fleet.has(&path("eu-west", "first")) && !fleet.has(&path("eu-west", "theirs")));
    let before = fleet.read(&path("eu-west", "first"));
    fleet.run(&["render"]).ends(0).outcome("eu-west", "unchanged");
    // A label that goes stands open too.
    sealed.edit("manifests/second.yaml", |text| text.replace("pull: \"yes\"", "pull: \"no\""));
    assert!(fleet.read("manifests/second.yaml").contains("pull: \"no\""), "{}", fleet.read("manifests/second.yaml"));
    fleet.run(&["render"]).ends(0);
    assert!(!fleet.has(&path("eu-west", "second")));
    assert_eq!(fleet.read(&path("eu-west", "first")), before);
    // A mistyped namespace is none of the source's default one, sealed or not.
    fleet.configure("{name: all, ", "{name: all, defaultNamespace: elsewhere, ");
    fleet.run(&["render"]).ends(0).outcome("eu-west", "unchanged");
    sealed.edit("manifests/first.yaml", |text| text.replace("namespace: team-a", "namespcae: team-a"));
    fleet.run(&["render"]).ends(3).says("error[mistyped]: Secret first has no field \"namespcae\" in metadata");
    assert_eq!(fleet.read(&path("eu-west", "first")), before);
}

/// A slip in a rule takes what stood there for months. What it takes no more is named; where an object is removed at its
/// source, or the rule as a whole, it was meant.
#[test]
fn a_rule_that_takes_less_since_it_changed_names_what_goes() {
    let warned = |change: &dyn Fn(&Fleet)| {
        let fleet = fleet();
        fleet.configure(
            "reuseKey:",
            "limits: {deletions: {claimants: 100, percent: 100, most: 100, keep: 0}}\nreuseKey:",
        );
        fleet.write("manifests/third.yaml", labelled("third", "yes"));
        fleet.run(&["render"]).ends(0);
        assert!(fleet.read("bundles/regions/eu-west/bundle.yaml").contains("\ntexts:\n- digest: "));
        // Written in another way, it says the same.
        fleet.edit("manifests/rule.yaml", "{version: v1, kind: Secret}", "{kind: Secret, version: v1}");
        assert!(!fleet.run(&["plan", "--detailed-exitcode"]).ends(0).stderr.contains("changed, and takes less"));
        change(&fleet);
        let plan = fleet.run(&["plan"]).ends(0);
        let ran = fleet.run(&["render"]).ends(0);
        let line = |text: &str| text.lines().find(|line| line.contains("changed, and takes less")).map(str::to_owned);
        assert_eq!(line(&format!("{}{}", plan.stdout, plan.stderr)).is_some(), line(&ran.stderr).is_some());
        assert!(!fleet.has(&path("eu-west", "second")));
        // It is said once.
        assert_eq!(line(&fleet.run(&["render"]).ends(0).stderr), None);
        line(&ran.stderr)
    };
    let slip = warned(&|fleet| {
        fleet.edit("manifests/rule.yaml", "matchLabels: {pull: 'yes'}", "matchLabels: {pull: 'yse'}");
        fleet.edit("manifests/first.yaml", "pull: 'yes'", "pull: 'yse'");
    });
    let slip = slip.expect("a slip in the rule is said");
    assert!(slip.contains("warning") && slip.contains("ResourceSyncRule pull"), "{slip}");
    assert!(slip.contains("Secret team-a/second") && slip.contains("Secret team-a/third"), "{slip}");
    assert!(!slip.contains("Secret team-a/first"), "{slip}");
    // The controls: the text is as it was, or all of it is gone.
    assert_eq!(warned(&|fleet| fleet.remove("manifests/second.yaml")), None);
    assert_eq!(warned(&|fleet| fleet.remove("manifests/rule.yaml")), None);
}
