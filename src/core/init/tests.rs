//! Drafts by tables: what is written, and what is found lacking.

extern crate std;

use super::examine::{Examined, examine};
use super::release::{Interfaces, Numbers, choose};
use super::*;
use crate::config::{Fleet, resolve, shape};
use crate::finding::{Origin, Place};
use crate::name::{Claimant, ObjectKey};
use crate::snapshot::{Reading, assemble};
use crate::testing::case::{RECIPIENTS, fleet};
use crate::testing::{node, yaml};
use serde_json::json;

fn drafted(names: &[&str]) -> Draft {
    let regions: Vec<Region> = names.iter().map(|name| Region::from(*name)).collect();
    let entries = directories(regions.iter()).into_iter().zip(RECIPIENTS).map(|((name, directory), recipient)| {
        let key_file = format!("keys/{directory}.txt");
        let recipient = Recipient::parse(recipient).unwrap();
        let region = DraftRegion {
            directory,
            recipient,
            key_file,
            claimants: BTreeMap::new(),
            labels: BTreeMap::new(),
            described: Default::default(),
            push_disabled: false,
        };
        (name, region)
    });
    Draft {
        context: "mgmt".to_string(),
        kubeconfig: None,
        plugin_environment: Variables::default(),
        system_namespace: SYSTEM_NAMESPACE.into(),
        builtin: choose(Some(Numbers { major: 1, minor: 11 }), Interfaces::Some),
        regions: entries.collect(),
        grants: BTreeMap::new(),
    }
}

/// The blocks as a whole configuration, which must load.
#[track_caller]
fn loaded(draft: &Draft) -> (Fleet, String) {
    let blocks = draft.blocks();
    let text = format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\nsources:\n{}\n{}\n{}\nregions:\n{}\n{}\n\
         reuseKey: {{file: reuse.key}}\n",
        blocks.source, blocks.system_namespace, blocks.provider_interfaces, blocks.regions, blocks.grants
    );
    let typed = shape::read(&text).unwrap_or_else(|_| panic!("unfit:\n{text}"));
    let fleet = resolve::resolve(&typed, &BTreeMap::new()).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    (fleet, text)
}

fn least(by: &str, key: ObjectKey, region: &str) -> Grant {
    let (namespace, name) = by.split_once('/').unwrap();
    Grant::least(&Claimant::credential(namespace.into(), name.into()), &region.into(), &key)
}

fn need(sure: Sure, why: &str) -> Need {
    Need { sure, why: why.to_string() }
}

#[test]
fn ties_are_in_force_where_they_are_no_guess() {
    use super::inventory::{DraftTie, TiedTo};
    let profile = |name: &str| TiedTo::Profile("fleet".into(), name.into());
    let tie = |to: TiedTo, sure| DraftTie { to, sure };
    let mut draft = drafted(&["ap", "eu"]);
    draft.regions.get_mut("ap").unwrap().described = DraftTies {
        ties: vec![tie(profile("007"), true), tie(TiedTo::Registry("ap".into()), false)],
        others: vec![TiedTo::Registry("other".into())],
        is_known: false,
    };
    draft.regions.get_mut("eu").unwrap().described =
        DraftTies { ties: vec![tie(profile("eu"), false)], others: Vec::new(), is_known: true };
    let (fleet, text) = loaded(&draft);
    let by = |region: &str| fleet.regions[region].inventory.cluster_profile.clone().map(|tie| format!("{:?}", tie.by));
    assert_eq!((by("ap").as_deref(), by("eu")), (Some("Name(\"007\")"), None), "{text}");
    assert!(fleet.regions.values().all(|region| region.inventory.registry_cluster.is_none()));
    assert!(text.contains(
        "    # There is no Region of this cluster, as far as names tell, so no Credential names it today.\n"
    ));
    assert!(text.contains("    # The same cluster by its server or its UID: registry Cluster other.\n"), "{text}");
    // The mark is all that is to be removed.
    let text = text.replace("#@ ", "");
    let typed = shape::read(&text).unwrap_or_else(|_| panic!("unfit:\n{text}"));
    let fleet = resolve::resolve(&typed, &BTreeMap::new()).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    assert_eq!(fleet.regions["ap"].inventory.registry_cluster.as_ref().map(|name| name.as_str()), Some("ap"));
    assert!(fleet.regions["eu"].inventory.cluster_profile.is_some());
}

#[test]
fn whatever_a_cluster_says_is_a_value_or_a_comment() {
    for hostile in [
        "plain",
        "no",
        "007",
        "a: b",
        "# x",
        "{regions}",
        "- a",
        "\"q\" 'p' \\",
        "&a *b !c |d >e",
        "@x",
        "`y`",
        "%z",
        "é\u{202e}x",
        " blanks ",
        "a\u{2028}b",
        "\u{feff}",
    ] {
        let mut draft = drafted(&["eu"]);
        draft.context = hostile.to_string();
        draft.kubeconfig = Some(hostile.to_string());
        draft.plugin_environment = Variables::new(alloc::vec!["AWS_*".to_string(), "TRUE".to_string()]);
        draft.builtin.why = format!("{hostile}\nkinds: []\u{85}escrowRecipients: []\r\n");
        let eu = draft.regions.values_mut().next().unwrap();
        eu.key_file = format!("{hostile}\ndelivery: flux");
        eu.claimants.insert("team-a".into(), [Name::from(&*format!("{hostile}\n- '*'"))].into());
        let grant = least("team-a/aws", ObjectKey::secret("shared".into(), "dns".into()), "eu");
        draft.grants.insert(grant.clone(), need(Sure::Certain, &format!("{hostile}\n  - {{}}")));
        let (fleet, text) = loaded(&draft);
        let crate::config::SourcePlace::Cluster { context, kubeconfig, plugin_environment } = &fleet.sources[0].place
        else {
            panic!("{text}")
        };
        assert_eq!((context.as_deref(), kubeconfig.as_deref()), (Some(hostile), Some(hostile)), "{text}");
        assert_eq!(*plugin_environment, draft.plugin_environment, "{text}");
        assert_eq!(fleet.grants, [grant].into(), "{text}");
        assert_eq!(fleet.regions["eu"].namespaces.allowed.patterns(), ["team-a"], "{text}");
        assert!(fleet.kinds.is_empty() && fleet.escrow.is_empty() && fleet.regions.len() == 1, "{text}");
    }
}

#[test]
fn namespaces_and_labels_are_written_as_they_are() {
    let mut draft = drafted(&["no", "us.east"]);
    draft.system_namespace = "on".into();
    let (_, region) = draft.regions.iter_mut().next().unwrap();
    region.claimants.insert("123".into(), [Name::from("a")].into());
    region.claimants.insert("y".into(), (0..10_u8).map(|n| Name::from(&*format!("c{n}"))).collect());
    let labels = [("env", "true"), ("a.io/tier", "1e3"), ("none", "")];
    region.labels.insert("y".into(), labels.map(|(key, value)| (key.to_string(), value.to_string())).into());
    region.labels.insert("123".into(), BTreeMap::new());
    let (fleet, text) = loaded(&draft);
    assert_eq!(fleet.system_namespace, "on");
    assert_eq!(fleet.regions["no"].namespaces.allowed.patterns(), ["123", "y"], "{text}");
    assert_eq!(fleet.regions["no"].namespaces.labels["y"]["a.io/tier"], "1e3");
    assert_eq!(fleet.regions["no"].namespaces.labels["y"]["none"], "");
    // Known to have none is more than nothing known.
    assert_eq!(fleet.regions["no"].namespaces.labels.get("123"), Some(&BTreeMap::new()));
    assert!(fleet.regions["us.east"].namespaces.allowed.patterns().is_empty());
    assert_eq!(fleet.regions["us.east"].directory, "us-east");
    assert!(text.contains("# Credential: a\n") && text.contains("c7, 2 more\n"), "{text}");
}

#[test]
fn what_may_be_needed_is_written_and_not_in_force() {
    let sure = least("team-a/aws", ObjectKey::secret("shared".into(), "dns".into()), "eu");
    let maybe = least("team-a/aws", ObjectKey::secret("shared".into(), "dns-secret".into()), "eu");
    let mut draft = drafted(&["eu"]);
    assert!(loaded(&draft).0.grants.is_empty());
    draft.grants.insert(maybe.clone(), need(Sure::IfThere, "why"));
    let unmarked = |text: &str| {
        let all: String = text.lines().map(|line| line.replacen("#@ ", "", 1) + "\n").collect();
        let typed = shape::read(&all).unwrap_or_else(|_| panic!("unfit:\n{all}"));
        resolve::resolve(&typed, &BTreeMap::new()).unwrap_or_else(|errors| panic!("{errors:?}\n{all}")).grants
    };
    let (fleet, text) = loaded(&draft);
    assert!(
        fleet.grants.is_empty() && text.contains("# Credential team-a/aws: why. Needed if Secret shared/dns-secret")
    );
    assert_eq!(unmarked(&text), [maybe.clone()].into(), "{text}");
    for doubt in [Sure::NotReady, Sure::NotRead, Sure::Propagation] {
        draft.grants.insert(sure.clone(), need(doubt, "why"));
        let (fleet, text) = loaded(&draft);
        assert!(fleet.grants.is_empty(), "{text}");
        assert_eq!(unmarked(&text), [sure.clone(), maybe.clone()].into(), "{text}");
    }
    draft.grants.insert(sure.clone(), need(Sure::Certain, "why"));
    let (fleet, text) = loaded(&draft);
    assert_eq!(fleet.grants, [sure.clone()].into(), "{text}");
    assert_eq!(unmarked(&text), [sure.clone(), maybe.clone()].into(), "{text}");
    // Whoever removes the last one need not know that the key stays.
    let none = text.replacen(&format!("\n  - {sure}"), "", 1);
    let typed = shape::read(&none).unwrap_or_else(|_| panic!("unfit:\n{none}"));
    assert!(none.contains("\ngrants:\n") && resolve::resolve(&typed, &BTreeMap::new()).unwrap().grants.is_empty());
    assert_eq!(loaded(&draft.in_force()).0.grants, [sure, maybe].into());
}

#[test]
fn what_nobody_uses_or_what_does_not_help_is_not_granted() {
    let key = |name: &str| ObjectKey::secret("shared".into(), name.into());
    let (used, unused, broken) =
        (least("a/x", key("used"), "eu"), least("a/x", key("unused"), "eu"), least("a/y", key("used"), "eu"));
    let mut draft = drafted(&["eu"]);
    for grant in [&used, &unused, &broken] {
        draft.grants.insert(grant.clone(), need(Sure::Certain, ""));
    }
    let mut examined = Examined { used: [used.clone(), broken].into(), ..Examined::default() };
    let why = crate::finding::Finding::new(crate::finding::Code::MissingReference, "");
    examined.stopped.insert(Claimant::credential("a".into(), "y".into()), why);
    draft.prune(&examined);
    assert_eq!(draft.grants.keys().collect::<Vec<_>>(), [&used]);
}

#[test]
fn every_region_gets_a_folder_of_its_own() {
    let long = "a".repeat(45);
    let folder = |names: &[&str]| {
        let regions: Vec<Region> = names.iter().map(|name| Region::from(*name)).collect();
        let all = directories(regions.iter());
        assert!(all.values().all(|directory| is_directory(directory.as_str())), "{all:?}");
        all.values().map(|directory| directory.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(folder(&["eu", "us-1"]), "eu us-1");
    assert_eq!(folder(&["us.east"]), "us-east");
    assert_eq!(folder(&["us-east", "us.east", "us.east-2"]), "us-east us-east-2 us-east-2-2");
    assert_eq!(folder(&[&long]), "a".repeat(40));
    assert_eq!(folder(&[&format!("{long}b"), &format!("{long}c")]), format!("{} {}-2", "a".repeat(40), "a".repeat(38)));
    assert_eq!(folder(&[&format!("{}.b", "a".repeat(39))]), "a".repeat(39));
}

/// What the examination of a fleet says, one line each.
fn said(config: serde_json::Value, documents: &str) -> String {
    let fleet = fleet(&config);
    let origin = Origin { source: "all".into(), place: Place::Whole };
    let documents = documents.split("---\n").map(|text| (node(&yaml(text)), origin.clone())).collect();
    let reading = Reading { documents, complete: true, ..Reading::default() };
    let (snapshot, found) = assemble(&fleet, vec![reading]);
    assert!(found.is_empty(), "{found:?}");
    let examined = examine(&fleet, &snapshot);
    let mut out = String::new();
    for (region, namespaces) in &examined.selected {
        for (namespace, keys) in namespaces {
            writeln!(out, "label {region} {namespace} {keys:?}").unwrap();
        }
    }
    for key in &examined.elsewhere {
        writeln!(out, "elsewhere {key}").unwrap();
    }
    for (grant, need) in &examined.lacking {
        let Granted::Object(key) = &grant.to else { panic!() };
        let Grantee::Claimant(by) = &grant.from else { panic!() };
        let maybe = match need.sure {
            Sure::Certain => "",
            Sure::NotReady => "unready ",
            Sure::NotRead => "not-read ",
            Sure::IfThere => "maybe ",
            Sure::Propagation => "propagation ",
        };
        writeln!(out, "{maybe}grant {} {}", by.path(), crate::testing::case::show(key)).unwrap();
    }
    for grant in &examined.used {
        let Granted::Object(key) = &grant.to else { panic!() };
        writeln!(out, "uses {}", crate::testing::case::show(key)).unwrap();
    }
    for (by, finding) in &examined.stopped {
        writeln!(out, "stopped {} {}", by.path(), finding.code.text()).unwrap();
    }
    for key in examined.unread.keys() {
        writeln!(out, "unread {}", crate::testing::case::show(key)).unwrap();
    }
    out
}

#[track_caller]
fn check(config: serde_json::Value, documents: &[&str], expect: &[&str]) {
    let said = said(config, &documents.join("---\n"));
    assert_eq!(said.lines().collect::<Vec<_>>(), expect, "{said}");
}

fn credential(namespace: &str, identity: &str, rest: &str) -> String {
    format!(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: c, namespace: {namespace}}}\n\
         spec: {{region: eu, identityRef: {{{identity}}}}}\n{rest}\n"
    )
}

const READY: &str = "status: {ready: true}";

const AWS: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, name: aws";
const AZURE: &str =
    "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: az, namespace: team-a";
const GCP: &str = "apiVersion: v1, kind: Secret, name: gcp, namespace: team-a";

fn aws(allowed: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\nmetadata: {{name: aws}}\n\
         spec: {{secretRef: s, allowedNamespaces: {allowed}}}\n"
    )
}

fn azure(namespace: &str, secret: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\n\
         metadata: {{name: az, namespace: {namespace}}}\nspec: {{type: ServicePrincipal, tenantID: t, clientID: c, \
         allowedNamespaces: {{}}, clientSecret: {{name: s, namespace: {secret}}}}}\n"
    )
}

fn secret(namespace: &str, name: &str) -> String {
    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\n")
}

#[test]
fn what_is_admitted_lacks_nothing() {
    check(json!({}), &[&credential("kcm-system", AWS, ""), &aws("{}"), &secret("kcm-system", "s")], &[]);
    check(json!({}), &[&credential("team-a", AWS, ""), &aws("{}"), &secret("kcm-system", "s")], &[]);
    check(json!({}), &[&credential("team-a", AZURE, ""), &azure("team-a", "team-a"), &secret("team-a", "s")], &[]);
    check(json!({}), &[&credential("team-a", GCP, ""), &secret("team-a", "gcp")], &[]);
}

#[test]
fn what_is_not_admitted_lacks_the_narrowest_grant() {
    let reach = [&*credential("team-a", AZURE, ""), &azure("team-a", "shared"), &secret("shared", "s")];
    check(json!({}), &reach, &["unready grant team-a/c Secret shared/s", "stopped team-a/c not-admitted"]);
    let grant = json!([{"from": {"credential": "team-a/c"}, "to": {"namespace": "shared", "kind": "Secret", "name": "s"},
        "regions": ["eu"]}]);
    check(json!({"grants": grant}), &reach, &["uses Secret shared/s"]);
    let closed = [&*credential("team-a", AWS, READY), &aws("{list: [other]}"), &secret("kcm-system", "s")];
    check(json!({}), &closed, &["grant team-a/c AWSClusterStaticIdentity aws", "stopped team-a/c not-admitted"]);
}

#[test]
fn an_identity_elsewhere_is_looked_for_as_k0rdent_does() {
    let d = [&*credential("team-a", AZURE, READY), &azure("kcm-system", "kcm-system"), &secret("kcm-system", "s")];
    let root = "grant team-a/c AzureClusterIdentity kcm-system/az";
    check(json!({}), &d, &[root, "stopped team-a/c missing-reference"]);
    let to = |kind: &str, group: &str, name: &str| {
        json!({"from": {"credential": "team-a/c"}, "to": {"namespace": "kcm-system", "group": group, "kind": kind,
            "name": name}, "regions": ["eu"]})
    };
    let identity = to("AzureClusterIdentity", "infrastructure.cluster.x-k8s.io", "az");
    check(
        json!({"grants": [identity]}),
        &d,
        &[
            "grant team-a/c Secret kcm-system/s",
            "uses AzureClusterIdentity kcm-system/az",
            "stopped team-a/c not-admitted",
        ],
    );
    let both = json!([identity, to("Secret", "", "s")]);
    let uses = ["uses Secret kcm-system/s", "uses AzureClusterIdentity kcm-system/az"];
    check(json!({"grants": both}), &d, &uses);
    // The companion is only needed if it is there, which nobody looked at.
    let template = secret("kcm-system", "az-secret");
    let with = [d[0], d[1], d[2], &template];
    let lacks = "maybe grant team-a/c Secret kcm-system/az-secret";
    let template = "propagation grant team-a/c ConfigMap kcm-system/az-resource-template";
    let expect = [template, lacks, uses[0], uses[1]];
    check(json!({"grants": both, "companions": "follow"}), &with, &expect);
    // Nowhere: the grant is tried once, and helps nothing.
    check(json!({}), &[d[0]], &[root, "stopped team-a/c missing-reference"]);
    check(json!({"grants": [identity]}), &[d[0]], &["stopped team-a/c missing-reference"]);
}

/// A tenant can write whatever it likes into its own Credential and identity; only what k0rdent itself made
/// of that counts.
#[test]
fn only_what_k0rdent_reads_for_a_ready_credential_is_granted_for_certain() {
    let check = |identity: &str, status: &str, documents: &[&str], expect: &[&str]| {
        let credential = credential("team-a", identity, status);
        check(json!({}), &[&[&*credential], documents].concat(), expect);
    };
    let stopped = "stopped team-a/c not-admitted";
    // An identity of its own: k0rdent reads the one in the system namespace, whatever that says.
    let own = [&*azure("team-a", "shared"), &azure("kcm-system", "kcm-system"), &secret("shared", "s")];
    check(AZURE, READY, &own, &["not-read grant team-a/c Secret shared/s", stopped]);
    check(AZURE, "status: {ready: false}", &own, &["unready grant team-a/c Secret shared/s", stopped]);
    check(AZURE, "status: {ready: \"true\"}", &own, &["unready grant team-a/c Secret shared/s", stopped]);
    // Another tenant's, which k0rdent never reads.
    let theirs = AZURE.replace("namespace: team-a", "namespace: team-b");
    let root = "grant team-a/c AzureClusterIdentity team-b/az";
    let lacks = ["not-read grant team-a/c Secret team-b/s", &format!("not-read {root}"), stopped];
    check(&theirs, READY, &[&azure("team-b", "team-b"), &secret("team-b", "s")], &lacks);
    let secret_of = GCP.replace("namespace: team-a", "namespace: team-b");
    let lacks = "not-read grant team-a/c Secret team-b/gcp";
    check(&secret_of, READY, &[&secret("team-b", "gcp")], &[lacks, stopped]);
    // The system namespace's.
    let systems = GCP.replace("namespace: team-a", "namespace: kcm-system");
    let lacks = "grant team-a/c Secret kcm-system/gcp";
    check(&systems, READY, &[&secret("kcm-system", "gcp")], &[lacks, stopped]);
    check(&systems, "", &[&secret("kcm-system", "gcp")], &[&format!("unready {lacks}"), stopped]);
    // A version that no definition has: k0rdent reads nothing, and calls the Credential ready.
    let other = AWS.replace("v1beta2", "v1alpha1");
    let closed = [&*aws("{list: [other]}"), &secret("kcm-system", "s")];
    check(&other, READY, &closed, &["not-read grant team-a/c AWSClusterStaticIdentity aws", stopped]);
}

#[test]
fn a_secret_is_taken_to_be_where_k0rdent_reads_it() {
    let documents = |status: &str| [credential("team-a", GCP, status), secret("team-a", "gcp")];
    let check = |status: &str, expect: &[&str]| {
        let documents = documents(status);
        check(json!({}), &[&documents[0], &documents[1]], expect);
    };
    check("", &[]);
    check("status: {ready: false}", &[]);
    check("status: {ready: true}", &["elsewhere Secret team-a/gcp"]);
}

#[test]
fn labels_are_asked_for_where_they_decide() {
    let of = |allowed: &str| [credential("team-a", AWS, READY), aws(allowed), secret("kcm-system", "s")];
    let check = |config: serde_json::Value, allowed: &str, expect: &[&str]| {
        let documents = of(allowed);
        check(config, &[&documents[0], &documents[1], &documents[2]], expect);
    };
    let lacks = ["grant team-a/c AWSClusterStaticIdentity aws", "stopped team-a/c not-admitted"];
    let selector = "{selector: {matchLabels: {env: prod}, matchExpressions: [{key: tier, operator: Exists}]}}";
    check(json!({}), selector, &["label eu team-a {\"env\", \"tier\"}", lacks[0], lacks[1]]);
    let labels = |labels: serde_json::Value| json!({"regions": {"eu": {"namespaces": {"labels": {"team-a": labels}}}}});
    check(labels(json!({"env": "prod", "tier": "1"})), selector, &[]);
    check(labels(json!({"env": "dev"})), selector, &lacks);
    // Nothing to be known: the list decides, or the name.
    check(json!({}), "{list: [team-a], selector: {matchLabels: {env: prod}}}", &[]);
    check(json!({}), "{selector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}", &[]);
}

#[test]
fn what_no_grant_cures_is_named() {
    let unknown = credential("team-a", GCP, "").replace("region: eu", "region: mars");
    check(json!({}), &[&unknown], &["stopped team-a/c unknown-region"]);
    let gone = [&*credential("team-a", AZURE, ""), &azure("team-a", "shared")];
    // A grant opens the Secret, and it is missing all the same.
    check(json!({}), &gone, &["unready grant team-a/c Secret shared/s", "stopped team-a/c missing-reference"]);
    // Names that no configuration takes.
    let evil = credential("team-a", AZURE, "");
    let identity = azure("team-a", "shared").replace("name: s,", "name: \"x}\\n- {\",");
    check(json!({}), &[&evil, &identity], &["stopped team-a/c invalid-object"]);
}
