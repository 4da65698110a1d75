//! `pouch explain`: what it tells is what stands in the sources and in the bundles.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::layout::manifest;
use serde_json::Value;

use crate::support::fleet::{CANARY, EU, Fleet, US, secret};
use crate::support::origin::Origin;

/// A recipient that the fleet does not have.
const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

/// What a question is answered with, which keeps its schema.
fn asked(fleet: &Fleet, question: &[&str]) -> Value {
    let arguments = [&["explain"], question, &["-o", "json"]].concat();
    let answer: Value = serde_json::from_str(&fleet.run(&arguments).ends(0).stdout).unwrap();
    let schema = include_str!("../../../../schemas/explanation.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let faults: Vec<String> = schema.iter_errors(&answer).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}\n{answer:#}");
    answer
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// `Kind namespace/name`.
fn name(object: &Value) -> String {
    match object["namespace"].as_str() {
        Some(namespace) => format!("{} {namespace}/{}", text(&object["kind"]), text(&object["name"])),
        None => format!("{} {}", text(&object["kind"]), text(&object["name"])),
    }
}

/// What the manifests of the regions say: which files are needed by which Credential.
fn needed(fleet: &Fleet) -> BTreeMap<String, BTreeSet<String>> {
    let mut needed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for region in std::fs::read_dir(fleet.path("bundles/regions")).unwrap() {
        let bundle = std::fs::read_to_string(region.unwrap().path().join("bundle.yaml")).unwrap();
        let bundle = manifest::parse(bundle.split_once('\n').unwrap().1).unwrap();
        for object in &bundle.objects {
            for by in &object.needed_by {
                needed.entry(by.by.path()).or_default().insert(object.path.to_string());
            }
        }
    }
    needed
}

#[test]
fn what_is_told_of_a_credential_is_what_its_bundle_says() {
    let fleet = Fleet::rendered_quickstart();
    let needed = needed(&fleet);
    assert_eq!(needed.len(), 7);
    for (credential, files) in &needed {
        let answer = asked(&fleet, &[credential]);
        let [claim] = list(&answer["claims"]) else { panic!("{answer:#}") };
        assert_eq!(text(&claim["verdict"]), "admitted");
        let told: BTreeSet<String> = list(&claim["steps"]).iter().map(|step| text(&step["path"]).to_owned()).collect();
        assert_eq!(told, *files, "{credential}");
        for step in list(&claim["steps"]) {
            assert_eq!(text(&step["state"]), "unchanged");
            assert!(fleet.has(&format!("bundles/{}", text(&step["path"]))));
            // Where it stands, its document begins.
            let (file, line) = (text(&step["place"]["file"]), step["place"]["line"].as_u64().unwrap());
            let manifest = fleet.read(file);
            let mut rest = manifest.lines().skip(usize::try_from(line).unwrap() - 1);
            assert!(rest.next().unwrap().starts_with("apiVersion: "), "{file}:{line}");
            let document: Vec<&str> = rest.take_while(|line| *line != "---").collect();
            let named = format!("name: {}", text(&step["object"]["name"]));
            assert!(document.iter().any(|line| line.contains(&named)), "{file}:{line}: {named}");
        }
    }
}

#[test]
fn a_chain_says_who_names_what_and_by_which_rule() {
    let fleet = Fleet::rendered_quickstart();
    let answer = asked(&fleet, &["credential", "team-a/aws-sandbox"]);
    let steps: Vec<(String, Option<u64>, &str, &str)> = list(&answer["claims"][0]["steps"])
        .iter()
        .map(|step| (name(&step["object"]), step["namedBy"].as_u64(), text(&step["field"]), text(&step["rule"])))
        .collect();
    let expected = [
        ("AWSClusterRoleIdentity aws-sandbox", None, "spec.identityRef", "identity"),
        ("AWSClusterStaticIdentity aws-main", Some(0), "spec.sourceIdentityRef.name", "identity"),
        ("Secret kcm-system/aws-main-secret", Some(1), "spec.secretRef", "throughIdentity"),
    ];
    assert_eq!(steps, expected.map(|(name, by, field, rule)| (name.to_owned(), by, field, rule)));
    let definition = &answer["claims"][0]["steps"][0]["definition"];
    assert_eq!(
        (text(&definition["providerInterface"]), text(&definition["release"])),
        ("cluster-api-provider-aws", "v1.11")
    );
    // Through a source's own definition, it is that one which decides.
    let own = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: ours}\nspec:\n  \
               clusterIdentities:\n  - group: infrastructure.cluster.x-k8s.io\n    version: v1beta2\n    \
               kind: AWSClusterRoleIdentity\n    references:\n    - group: infrastructure.cluster.x-k8s.io\n      \
               version: v1beta2\n      kind: AWSClusterStaticIdentity\n      nameFieldPath: spec.sourceIdentityRef.name\n";
    fleet.write("manifests/ours.yaml", own);
    let answer = asked(&fleet, &["team-a/aws-sandbox"]);
    let definition = &answer["claims"][0]["steps"][0]["definition"];
    assert_eq!(text(&definition["providerInterface"]), "ours");
    assert_eq!(text(&definition["place"]["text"]), "manifests/ours.yaml:1:1");
}

#[test]
fn what_fails_is_told_up_to_where_it_fails() {
    let fleet = Fleet::rendered_quickstart();
    fleet.edit("manifests/aws.yaml", "  secretRef: aws-main-secret", "  secretRef: aws-main-secrit");
    let ran = fleet.run(&["explain", "team-a/aws-sandbox"]).ends(0);
    for line in [
        "  region us-east: broken: what it had stays",
        "      Secret kcm-system/aws-main-secrit",
        "        read       it is in no source",
        "  Secret kcm-system/aws-main-secret stays published for it",
        "  error[missing-reference]: spec.secretRef names Secret kcm-system/aws-main-secrit, which is in no source",
        "    = help: Did you mean Secret kcm-system/aws-main-secret? Add the object, or correct the reference.",
    ] {
        assert!(ran.stdout.lines().any(|said| said == line), "{line}\n{}", ran.stdout);
    }
    // And the other way round: who misses it, and for whom the published one stays.
    let missed = asked(&fleet, &["secret", "kcm-system/aws-main-secrit"]);
    assert_eq!(list(&missed["claims"]).len(), 2);
    let stays = asked(&fleet, &["secret", "kcm-system/aws-main-secret"]);
    // By its name it is a companion too.
    let [claim] = list(&stays["claims"]) else { panic!("{stays:#}") };
    assert_eq!(text(&claim["steps"][1]["role"]), "propagationSecret");
    let stays: Vec<(&str, &str)> =
        list(&stays["objects"]).iter().map(|object| (text(&object["state"]), text(&object["reason"]))).collect();
    assert_eq!(stays, [("carried", "missing-reference"); 2]);
}

/// An object that a projection names is told of as named by the Credential; a copy that k0rdent makes is not told of.
#[test]
fn the_objects_of_a_projection_are_told_as_named_by_the_credential() {
    let fleet = Fleet::rendered_quickstart();
    let credential = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: p, namespace: team-a}\n\
                      spec:\n  region: us-east\n  identityRef: {apiVersion: v1, kind: Secret, name: own, namespace: team-a}\n  \
                      projectionConfig: {resourceTemplate: 'a: b', secretDataRef: {name: data}}\n";
    let rule = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: AccessManagement\nmetadata: {name: kcm}\n\
                spec: {accessRules: [{targetNamespaces: {list: [team-a]}, resources: [{kind: Secret, names: [data]}]}]}\n";
    let secrets = [secret("team-a", "own", "value: a"), secret("team-a", "data", "password: b")];
    let all = [credential, rule, &secrets[0], &secrets[1]].join("---\n");
    fleet.write("manifests/projected.yaml", &all);
    let told = || fleet.run(&["explain", "team-a/p"]).ends(0).stdout;
    let with = told();
    for line in [
        "  Secret team-a/data",
        "    named by   spec.projectionConfig.secretDataRef of the Credential",
        "    admitted   because it stands in the Credential's namespace",
    ] {
        assert!(with.lines().any(|said| said == line), "{line}\n{with}");
    }
    fleet.write(
        "manifests/projected.yaml",
        all.replace("{name: data, namespace: team-a}", "{name: data, namespace: kcm-system}"),
    );
    let without = told();
    assert!(!without.contains("/data"), "{without}");
}

/// The chain of a Credential that goes for somebody else's Secret.
fn of_a_thief(fleet: &Fleet) -> Value {
    let thief = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: thief, namespace: us-team}\n\
                 spec:\n  region: us\n  identityRef: {apiVersion: v1, kind: Secret, name: prize, namespace: eu-team}\n";
    fleet.write("manifests/thief.yaml", thief);
    let answer = asked(fleet, &["us-team/thief"]);
    assert_eq!(text(&answer["claims"][0]["verdict"]), "refused");
    answer["claims"][0]["steps"].clone()
}

#[test]
fn no_chain_leads_into_somebody_else_s_namespace() {
    let fleet = Fleet::with_credentials(1);
    let without = of_a_thief(&fleet);
    assert_eq!((list(&without).len(), text(&without[0]["read"])), (1, "notTold"));
    fleet.write("manifests/prize.yaml", secret("eu-team", "prize", &format!("value: {CANARY}-prize")));
    let with = of_a_thief(&fleet);
    assert_eq!(without, with);
}

#[test]
fn why_nothing_is_published_is_told() {
    let fleet = Fleet::with_credentials(2);
    fleet.run(&["render"]).ends(0);
    let said = |credential: &str, line: &str| {
        let ran = fleet.run(&["explain", credential]).ends(0);
        assert!(ran.stdout.lines().any(|said| said == line), "{line}\n{}", ran.stdout);
    };
    fleet.edit("manifests/eu-c0.yaml", "  region: eu\n", "");
    said(
        "eu-team/c0",
        "  not published: spec.region is not set, so it is for the management cluster, which is none of the configured \
         regions (`management: true` makes one of them that)",
    );
    fleet.edit("manifests/eu-c1.yaml", "  region: eu\n", "  regoin: eu\n");
    said("eu-team/c1", "  error[mistyped]: spec has no field \"regoin\"");
    fleet.edit("manifests/eu-c1.yaml", "\nspec:", "\nsepc:");
    said("eu-team/c1", "  error[mistyped]: the Credential has no field \"sepc\"");
    said("eu-team/c1", "    = help: Did you mean spec? Until this is corrected, what is published by it stays.");
    fleet.edit("manifests/eu-c1.yaml", "\nsepc:", "\nspec:");
    fleet.edit("manifests/us-c0.yaml", "  region: us\n", "  region: uss\n");
    said("us-team/c0", "  region uss: broken: what it had stays");
    fleet.configure("us: {", "us: {state: paused, ");
    said("us-team/c1", "  region us: the region is paused, and what is published stays");
    // Who never was is no Credential, and says what was probably meant.
    fleet
        .run(&["explain", "-n", "us-team", "c9"])
        .ends(1)
        .says("no Credential us-team/c9 was read")
        .says("Did you mean")
        .says("`pouch log us-team/c9` tells what became of it");
    fleet.run(&["explain", "eu"]).ends(64).says("`pouch explain region eu`");
    fleet.run(&["explain", "region", "euu"]).ends(64).says("euu");
    fleet
        .run(&["explain", "machine", "x"])
        .ends(64)
        .says("credential, cluster, resourcesyncrule, managedresource, secret, region, recipient");
    fleet.run(&["explain", "secret", "eu-team/none"]).ends(1).says("no Secret eu-team/none was read");
    fleet.write("manifests/spare.yaml", secret("eu-team", "spare", &format!("value: {CANARY}-spare")));
    let spare = fleet.run(&["explain", "secret", "eu-team/spare"]).ends(0);
    assert_eq!(spare.stdout, "no Credential needs Secret eu-team/spare\n");
}

#[test]
fn what_is_gone_is_told_as_long_as_a_bundle_has_it() {
    let fleet = Fleet::with_credentials(8);
    fleet.run(&["render"]).ends(0);
    (0..8).for_each(|n| fleet.delete("eu", &format!("c{n}")));
    // The brake keeps it.
    fleet.run(&["render"]).ends(4);
    let ran = fleet.run(&["explain", "eu-team/c3"]).ends(0).says("no Credential eu-team/c3 was read");
    assert!(
        ran.stdout.contains("Secret eu-team/c3 in regions/eu/core/secrets/eu-team/c3.sops.yaml: carried"),
        "{ran:?}"
    );
}

/// The sealed files of the bundles that have a recipient.
fn sealed_for(fleet: &Fleet, recipient: &str) -> BTreeSet<String> {
    let files = fleet.tree("bundles");
    let is_for = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&format!("recipient: {recipient}\n"));
    let sealed = files.iter().filter(|(path, bytes)| path.ends_with(".sops.yaml") && is_for(bytes));
    sealed.map(|(path, _)| path.clone()).collect()
}

#[test]
fn what_a_recipient_can_read_is_what_is_sealed_for_it() {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    let nobody = fleet.run(&["explain", "recipient", ESCROW]).ends(0);
    assert_eq!(nobody.stdout, format!("no region is sealed for {ESCROW}\n"));
    // One that can read all, and one Secret that stays as it was before that.
    fleet.edit("manifests/us-c1-secret.yaml", "kind: Secret", "kind: Sekret");
    fleet.configure("output:", &format!("escrowRecipients: [{ESCROW}]\noutput:"));
    let held = fleet.run(&["render"]).ends(4);
    let [eu, us] = ["eu", "us"].map(|region| held.acceptance("--accept-recipients", region));
    fleet.run(&["render", "--accept-recipients", &eu, "--accept-recipients", &us]).ends(3);
    for (recipient, count) in [(EU, 3), (US, 3), (ESCROW, 5)] {
        let sealed = sealed_for(&fleet, recipient);
        assert_eq!(sealed.len(), count);
        let told = asked(&fleet, &["recipient", recipient]);
        let told: BTreeSet<String> = list(&told["objects"]).iter().map(|it| text(&it["path"]).to_owned()).collect();
        assert_eq!(told, sealed);
    }
    // Without the word it is as clear.
    assert_eq!(asked(&fleet, &[EU]), asked(&fleet, &["recipient", EU]));
}

#[test]
fn a_branch_is_told_as_a_folder_is() {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    let questions = [&["eu-team/c1"][..], &["secret", "us-team/c2"], &["region", "eu"], &["recipient", US]];
    let folder: Vec<Value> = questions.iter().map(|question| asked(&fleet, question)).collect();
    let origin = Origin::new(&fleet, "");
    // Before anything is published, everything is to be added.
    let before = asked(&fleet, &["eu-team/c1"]);
    assert_eq!(text(&before["claims"][0]["steps"][0]["state"]), "added");
    origin.publish(&[]).ends(0);
    let references = origin.git(&["for-each-ref"]);
    let branch: Vec<Value> = questions.iter().map(|question| asked(&fleet, question)).collect();
    assert_eq!(folder, branch);
    // Several branches are told as one.
    fleet.configure("branch: main", "branch: 'clusters/{region}'");
    let branches: Vec<Value> = questions.iter().map(|question| asked(&fleet, question)).collect();
    let shape = |answers: &[Value]| -> Vec<(usize, usize, usize)> {
        let count = |answer: &Value, key: &str| list(&answer[key]).len();
        answers.iter().map(|it| (count(it, "regions"), count(it, "claims"), count(it, "objects"))).collect()
    };
    assert_eq!(shape(&folder), shape(&branches));
    assert_eq!(references, origin.git(&["for-each-ref"]));
}

#[test]
fn graphs_name_what_the_text_names() {
    let fleet = Fleet::rendered_quickstart();
    let mermaid = fleet.run(&["explain", "team-a/aws-sandbox", "-o", "mermaid"]).ends(0).stdout;
    let dot = fleet.run(&["explain", "team-a/aws-sandbox", "-o", "dot"]).ends(0).stdout;
    assert!(mermaid.starts_with("flowchart LR\n") && dot.starts_with("digraph pouch {\n") && dot.ends_with("}\n"));
    for named in ["Credential team-a/aws-sandbox", "AWSClusterStaticIdentity aws-main", "region us-east"] {
        assert!(mermaid.contains(named) && dot.contains(named), "{named}");
    }
    assert_eq!(mermaid.matches("spec.secretRef").count(), 1);
}

#[test]
fn what_goes_or_stays_elsewhere_is_told_too() {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    // Gone, and withdrawn by the next publish.
    fleet.delete("eu", "c2");
    for question in [&["eu-team/c2"][..], &["secret", "eu-team/c2"]] {
        let answer = asked(&fleet, question);
        let [object] = list(&answer["objects"]) else { panic!("{answer:#}") };
        assert_eq!((text(&object["state"]), text(&object["region"])), ("withdrawn", "eu"));
    }
    // Only the Credential is gone.
    fleet.write("manifests/eu-c2-secret.yaml", secret("eu-team", "c2", "value: x"));
    assert_eq!(list(&asked(&fleet, &["secret", "eu-team/c2"])["objects"]).len(), 1);
    // Moved: what it has in the other region is told as well.
    fleet.edit("manifests/us-c1.yaml", "region: us", "region: eu");
    let answer = asked(&fleet, &["us-team/c1"]);
    let regions: Vec<&str> = list(&answer["regions"]).iter().map(|region| text(&region["name"])).collect();
    assert_eq!(regions, ["eu", "us"]);
    assert_eq!(text(&answer["claims"][0]["region"]), "eu");
    let [left] = list(&answer["objects"]) else { panic!("{answer:#}") };
    assert_eq!((text(&left["region"]), text(&left["state"])), ("us", "withdrawn"));
    // A region lists also what nobody in the sources claims.
    let answer = asked(&fleet, &["region", "us"]);
    assert_eq!((list(&answer["claims"]).len(), list(&answer["objects"]).len()), (2, 1));
}

#[test]
fn what_is_left_alone_or_held_is_told_as_it_stands() {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    fleet.configure("us: {", "us: {state: paused, ");
    assert_eq!(list(&asked(&fleet, &["recipient", US])["objects"]).len(), 3);
    assert_eq!(list(&asked(&fleet, &["secret", "us-team/c1"])["objects"]).len(), 1);
    assert_eq!(list(&asked(&fleet, &["us-team/c1"])["objects"]).len(), 1);
    // Who is configured instead of the one that can read it can not, until that is let through.
    fleet.configure(EU, ESCROW);
    fleet.run(&["plan"]).ends(0).says("recipient-added");
    assert_eq!(list(&asked(&fleet, &["recipient", EU])["objects"]).len(), 3);
    let waiting = asked(&fleet, &["recipient", ESCROW]);
    assert!(list(&waiting["objects"]).is_empty(), "{waiting:#}");
    let told = fleet.run(&["explain", "region", "eu"]).ends(0).stdout;
    assert!(told.contains(&format!("  readable by {EU}, and not yet by {ESCROW}\n")), "{told}");
}

#[test]
fn who_is_refused_has_nothing_of_what_others_have() {
    let fleet = Fleet::rendered_quickstart();
    fleet.configure("regions:", "findings: {}\nregions:");
    let shares = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: shares, namespace: team-z}\n\
                  spec:\n  region: us-east\n  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: \
                  AWSClusterStaticIdentity, name: aws-main}\n";
    fleet.write("manifests/shares.yaml", shares);
    let answer = asked(&fleet, &["team-z/shares"]);
    assert_eq!(text(&answer["claims"][0]["verdict"]), "refused");
    assert!(list(&answer["claims"][0]["steps"]).iter().all(|step| step["state"].is_null()), "{answer:#}");
    let told = fleet.run(&["explain", "team-z/shares"]).ends(0).stdout;
    assert!(told.contains("refused: nothing is published for it\n"), "{told}");
    // Nor does one who may not have an object spoil the picture of one who may.
    let thief = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: aaa, namespace: team-a}\nspec:\n  \
                 region: eu-west\n  identityRef: {apiVersion: v1, kind: Secret, name: openstack-main-clouds, namespace: \
                 kcm-system}\n";
    fleet.write("manifests/thief.yaml", thief);
    let drawn = fleet.run(&["explain", "secret", "kcm-system/openstack-main-clouds", "-o", "mermaid"]).ends(0).stdout;
    assert!(drawn.contains("[\"Secret kcm-system/openstack-main-clouds\"]"), "{drawn}");
    assert_eq!(drawn.matches("not admitted").count(), 1, "{drawn}");
}

#[test]
fn what_could_not_be_looked_at_is_not_denied() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    fleet.configure("branch: main", "branch: 'clusters/{region}'");
    origin.publish(&[]).ends(0);
    let script = "git checkout -q clusters/us; rm -r bundles; ln -s /nowhere bundles; git add -A; git commit -qm x; \
                  git push -q origin HEAD:clusters/us";
    origin.run_beside(script);
    fleet.run(&["plan"]).ends(5);
    for question in [&["recipient", US][..], &["secret", "us-team/c1"], &["region", "us"], &["us-team/c1"]] {
        let ran = fleet.run(&[&["explain"], question].concat()).ends(5).says("not all places could be looked at");
        assert_eq!(ran.stdout, "", "{ran:?}");
    }
    let checked = fleet.run(&["check"]).ends(5);
    assert!(!checked.stderr.contains("nothing found"), "{checked:?}");
    fleet.run(&["check", "--write-baseline", "known.json"]).ends(5).says("no baseline is written");
    assert!(fleet.run(&["check", "-o", "sarif"]).ends(5).stdout.contains("\"executionSuccessful\": false"));
    assert!(fleet.run(&["check", "-o", "junit"]).ends(5).stdout.contains("<failure "));
}

#[test]
fn a_question_that_is_mistyped_is_told_how() {
    let fleet = Fleet::rendered_quickstart();
    for (question, says) in [
        (&["secret"][..], "a name is missing after `secret`"),
        (&["secret", "kcm-system", "aws-main-secret"], "Write a namespace before the name"),
        (&["team-a/aws-sandbox", "-n", "other"], "-n other has no meaning"),
        (&["region", "eu-west", "-n", "other"], "-n other has no meaning"),
    ] {
        fleet.run(&[&["explain"], question].concat()).ends(64).says(says);
    }
    fleet.run(&["explain", "secrets", "kcm-system/aws-main-secret"]).ends(0);
    fleet.run(&["explain", "secret/aws-main-secret"]).ends(1).says("for a kind, write `secret aws-main-secret`");
}
