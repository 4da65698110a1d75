//! `examples/policy`: the real conftest judges plans that pouch printed.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Output;

use crate::support::fleet::{EU, Fleet, US, credential, secret};
use crate::support::{root, run, tool};

/// Another recipient than the regions have.
const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

/// A fleet whose region `prod` is reserved by the policy, with one Credential there and eight in `eu`.
fn fleet() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
         limits: {{deletions: {{claimants: 9, keep: 20}}}}\n\
         regions:\n\
         \x20 eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\n\
         \x20 prod: {{recipients: [{US}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\n\
         output: {{path: bundles}}\n\
         reuseKey: {{file: reuse.key}}\n"
    ));
    for n in 0..8 {
        fleet.credential("eu", &format!("c{n}"), "value");
    }
    into_prod(&fleet, "payments");
    fleet.run(&["render"]).ends(0);
    fleet
}

/// Puts a Credential of a namespace into the region `prod`.
fn into_prod(fleet: &Fleet, namespace: &str) {
    let text = credential("prod", namespace, "one", ["v1", "Secret", "one"]);
    fleet.write(&format!("manifests/prod-{namespace}.yaml"), text + "---\n" + &secret(namespace, "one", "value: x"));
}

/// Lets a Credential of a namespace use an identity that is open to all.
fn shares(fleet: &Fleet, namespace: &str) {
    let group = "infrastructure.cluster.x-k8s.io/v1beta2";
    let identity = format!(
        "apiVersion: {group}\nkind: AWSClusterStaticIdentity\nmetadata: {{name: aws}}\n\
         spec: {{secretRef: aws, allowedNamespaces: {{}}}}\n---\n{}",
        secret("kcm-system", "aws", "AccessKeyID: one, SecretAccessKey: two")
    );
    fleet.write("manifests/aws.yaml", identity);
    let text = format!(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: aws, namespace: {namespace}}}\n\
         spec: {{region: prod, identityRef: {{apiVersion: {group}, kind: AWSClusterStaticIdentity, name: aws}}}}\n"
    );
    fleet.write(&format!("manifests/{namespace}-aws.yaml"), text);
}

struct Conftest(PathBuf);

impl Conftest {
    /// Its answer about what pouch prints with these arguments.
    #[track_caller]
    fn judges(&self, fleet: &Fleet, arguments: &[&str], code: i32) -> Output {
        fleet.write("plan.json", fleet.run(arguments).ends(code).stdout);
        let (policy, plan) = (root().join("examples/policy"), fleet.path("plan.json"));
        let words = ["test", "--output=json", "--policy"].map(OsStr::new);
        run(&self.0, words.into_iter().chain([policy.as_os_str(), plan.as_os_str()]), &[])
    }

    /// What the policy denies of that.
    #[track_caller]
    fn denied(&self, fleet: &Fleet, arguments: &[&str], code: i32) -> Vec<String> {
        let answer = self.judges(fleet, arguments, code);
        let told: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"));
        let [file] = &told.as_array().unwrap()[..] else { panic!("{told}") };
        let failures = file["failures"].as_array().map_or(&[][..], |failures| failures);
        let mut denied: Vec<String> = failures.iter().map(|one| one["msg"].as_str().unwrap().to_owned()).collect();
        assert_eq!(answer.status.success(), denied.is_empty(), "{answer:?}");
        denied.sort();
        denied
    }

    #[track_caller]
    fn denies(&self, fleet: &Fleet, expected: &[&str]) {
        for flags in [&[][..], &["--no-values"]] {
            let denied = self.denied(fleet, &[&["plan", "-o", "json"], flags].concat(), 0);
            assert_eq!(denied, expected, "{flags:?}");
        }
    }
}

#[test]
fn a_policy_denies_what_it_says_of_a_plan_and_nothing_else() {
    let Some(conftest) = tool("conftest").map(Conftest) else { return };
    let flags = ["fmt", "--check"].map(OsStr::new);
    let formatted = run(&conftest.0, flags.into_iter().chain([root().join("examples/policy").as_os_str()]), &[]);
    assert!(formatted.status.success(), "conftest fmt: {formatted:?}");

    let step = |change: &dyn Fn(&Fleet), expected: &[&str]| {
        let fleet = fleet();
        change(&fleet);
        conftest.denies(&fleet, expected);
    };
    step(&|fleet| fleet.credential("eu", "late", "value"), &[]);
    step(&|fleet| into_prod(fleet, "platform"), &[]);
    let late = fleet();
    late.credential("eu", "late", "value");
    assert_eq!(conftest.denied(&late, &["plan", "-o", "json", "--detailed-exitcode"], 2), [""; 0]);
    // Those who were there may go.
    step(&|fleet| fleet.remove("manifests/prod-payments.yaml"), &["region prod: held, deletions-held"]);
    step(&|fleet| (0..5).for_each(|n| fleet.delete("eu", &format!("c{n}"))), &[]);
    step(
        &|fleet| (0..6).for_each(|n| fleet.delete("eu", &format!("c{n}"))),
        &["region eu: 6 objects would be withdrawn, more than 5"],
    );
    step(&|fleet| into_prod(fleet, "team-a"), &["region prod: team-a/one is of a namespace that may not be there"]);
    // Who gets nothing that is new there, and comes to use what others have.
    step(
        &|fleet| {
            shares(fleet, "payments");
            fleet.run(&["render"]).ends(0);
            shares(fleet, "team-a");
        },
        &["region prod: team-a/aws is of a namespace that may not be there"],
    );
    let reads = format!("region eu: {ESCROW} could read it");
    step(
        &|fleet| fleet.configure(&format!("[{EU}]"), &format!("[{EU}, {ESCROW}]")),
        &[&reads, "region eu: held, recipient-added"],
    );
}

#[test]
fn a_policy_denies_what_is_no_complete_plan() {
    let Some(conftest) = tool("conftest").map(Conftest) else { return };
    let fleet = fleet();
    let no_plan = "this is no complete plan: make it by `pouch plan -o json`";
    assert_eq!(conftest.denied(&fleet, &["plan", "-o", "json"], 0), [""; 0]);
    assert_eq!(conftest.denied(&fleet, &["check", "-o", "json"], 0), [no_plan]);
    std::fs::rename(fleet.path("manifests"), fleet.path("away")).unwrap();
    // Then there is nothing to judge, and that is no success either.
    assert!(!conftest.judges(&fleet, &["plan", "-o", "json"], 5).status.success());
}
