//! Acceptances: each lets one set of one content through, once.

use crate::support::fleet::{Fleet, Ran, US, credential};
use crate::support::origin::Origin;

const OTHER: &str = "age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph";

fn trailers(origin: &Origin<'_>) -> String {
    origin.git(&["log", "-1", "--format=%(trailers:only,unfold)", "main"])
}

/// Publishes what is held with the acceptance that the finding prints, which is given back.
#[track_caller]
fn accept(origin: &Origin<'_>, flag: &str, region: &str) -> String {
    let digest = origin.publish(&[]).ends(4).acceptance(flag, region);
    origin.publish(&[flag, &digest]).ends(0);
    let word = flag.trim_start_matches("--accept-");
    assert!(trailers(origin).contains(&format!("Pouch-Accepted: {word} {digest}\n")), "{}", trailers(origin));
    digest
}

/// What was accepted once is no reason to let the same through again, and none to hold it for good.
#[test]
fn a_key_that_was_removed_is_asked_for_anew_and_can_be_accepted_anew() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let (without, with) = (format!("[{US}]"), format!("[{US}, {OTHER}]"));
    let mut digests: Vec<String> = Vec::new();
    for _ in 0..3 {
        fleet.configure(&without, &with);
        for used in &digests {
            origin
                .publish(&["--accept-recipients", used])
                .ends(4)
                .outcome("us", "held")
                .says("it is spent or mistyped");
        }
        let digest = accept(&origin, "--accept-recipients", "us");
        assert!(!digests.contains(&digest), "{digest} was used before");
        digests.push(digest);
        fleet.configure(&with, &without);
        origin.publish(&[]).ends(0).outcome("us", "published");
    }
}

/// An identity without a Secret has the same bytes each time, and so the same line in a digest.
#[test]
fn a_withdrawal_of_bytes_that_repeat_is_asked_for_anew() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let write = |name: &str| {
        let version = "infrastructure.cluster.x-k8s.io/v1beta1";
        let credential =
            crate::support::fleet::credential("eu", "eu-id", name, [version, "AzureClusterIdentity", name]);
        let identity = format!(
            "---\napiVersion: {version}\nkind: AzureClusterIdentity\nmetadata: {{name: {name}, namespace: eu-id}}\nspec: \
             {{type: WorkloadIdentity, clientID: c, tenantID: t, allowedNamespaces: {{list: [eu-id]}}}}\n"
        );
        fleet.write(&format!("manifests/{name}.yaml"), credential + &identity);
    };
    let mut digests: Vec<String> = Vec::new();
    for _ in 0..3 {
        ["one", "two"].into_iter().for_each(write);
        origin.publish(&[]).ends(0).outcome("eu", "published");
        ["one", "two"].iter().for_each(|name| fleet.remove(&format!("manifests/{name}.yaml")));
        for used in &digests {
            origin.publish(&["--accept-deletions", used]).ends(4).says("it is spent or mistyped");
        }
        let digest = accept(&origin, "--accept-deletions", "eu");
        assert!(digest.starts_with("eu/eu-id=") && !digests.contains(&digest), "{digest}");
        digests.push(digest);
    }
}

/// Else it would be spent, and the window would begin anew, though nothing passed.
#[test]
fn an_acceptance_is_not_spent_by_a_run_that_holds_the_region() {
    let fleet = Fleet::with_credentials(6);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    (0..5).for_each(|n| fleet.delete("eu", &format!("c{n}")));
    origin.commit_beside("echo x > bundles/regions/eu/core/extra.yaml");
    let held = origin.publish(&[]).ends(4);
    let digest = held.acceptance("--accept-deletions", "eu");
    fleet.secret("us", "c0", "value: changed");
    origin.publish(&["--accept-deletions", &digest]).ends(4).outcome("eu", "held").outcome("us", "published");
    assert!(!trailers(&origin).contains("Pouch-Accepted"), "{}", trailers(&origin));
    origin.commit_beside("rm bundles/regions/eu/core/extra.yaml");
    origin.publish(&["--accept-deletions", &digest]).ends(0).outcome("eu", "published");
    assert!(trailers(&origin).contains("Pouch-Accepted"));
}

/// What is published by now is not asked for again.
#[test]
fn what_is_spent_is_not_in_the_line_that_lets_the_rest_through() {
    let fleet = Fleet::with_credentials(6);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    for region in ["eu", "us"] {
        (0..5).for_each(|n| fleet.delete(region, &format!("c{n}")));
    }
    let held = origin.publish(&[]).ends(4);
    let of_eu = held.acceptance("--accept-deletions", "eu");
    // Who only looks has spent nothing.
    let seen = origin.publish(&["--dry-run", "--accept-deletions", &of_eu]).ends(0);
    let seen = seen.says("to let through all that is held: pouch publish");
    assert!(seen.stderr.contains(&format!("--accept-deletions {of_eu} --accept-deletions us")), "{seen:?}");
    let rest = origin.publish(&["--accept-deletions", &of_eu]).ends(4).outcome("eu", "published");
    let rest = rest.says("to let through all that is held: pouch publish");
    assert!(!rest.stderr.contains(&of_eu), "{rest:?}");
    let of_us = rest.acceptance("--accept-deletions", "us");
    origin.publish(&["--accept-deletions", &of_us]).ends(0).outcome("us", "published");
}

/// Sources that were exchanged have the old names and other values.
#[test]
fn values_that_are_all_replaced_at_once_are_held() {
    let fleet = Fleet::with_credentials(10);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let sealed = |region: &str| -> Vec<String> {
        let folder = format!("main:bundles/regions/{region}/core/secrets");
        origin.git(&["ls-tree", "-r", &folder]).lines().map(str::to_owned).collect()
    };
    let before = (sealed("eu"), sealed("us"));
    let rotate = |region: &str, count: usize, value: &str| {
        (0..count).for_each(|n| fleet.secret(region, &format!("c{n}"), &format!("value: {value}-{n}")));
    };
    // Of us one value stays.
    rotate("eu", 10, "first");
    rotate("us", 9, "first");
    let held: Ran = origin.publish(&[]).ends(4).outcome("eu", "published").outcome("us", "published");
    let says = "reseal-held]: every value of region eu would be replaced at once, in 10 Secrets";
    let held = held.says(says);
    assert_eq!(sealed("eu"), before.0);
    assert_ne!(sealed("us"), before.1);
    fleet.run(&["verify", "repo.git"]).ends(0);
    origin.publish(&[]).ends(4).outcome("eu", "unchanged");
    let digest = held.acceptance("--accept-reseal", "eu");
    assert!(digest.starts_with("eu="), "{digest}");
    origin.publish(&["--accept-reseal", &digest]).ends(0);
    assert_ne!(sealed("eu"), before.0);
    assert!(trailers(&origin).contains(&format!("Pouch-Accepted: reseal {digest}\n")), "{}", trailers(&origin));
    // The next time it is asked for again; the configuration may say it too, or want no brake.
    rotate("eu", 10, "second");
    let again = origin.publish(&["--accept-reseal", &digest]).ends(4).acceptance("--accept-reseal", "eu");
    let (_, hex) = again.split_once('=').unwrap();
    let line = format!("limits: {{accept: [{{region: eu, reseal: {hex}}}]}}\nreuseKey");
    fleet.configure("reuseKey", &line);
    origin.publish(&[]).ends(0);
    rotate("eu", 10, "third");
    origin.publish(&[]).ends(4);
    fleet.configure(&line, "limits: {reseal: {percent: 100}}\nreuseKey");
    origin.publish(&[]).ends(0);
}

/// One tenant rotates all that he has on any day, under the old names or under others.
#[test]
fn one_tenant_rotates_all_that_he_has() {
    let fleet = Fleet::with_credentials(9);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    (0..9).for_each(|n| fleet.secret("eu", &format!("c{n}"), &format!("value: second-{n}")));
    origin.publish(&[]).ends(0).outcome("eu", "published");
    let repoint = |count: usize, generation: &str| {
        for n in 0..count {
            let (name, other) = (format!("c{n}"), format!("c{n}-{generation}"));
            fleet.secret("eu", &other, &format!("value: {generation}-{n}"));
            let text = credential("eu", "eu-team", &name, ["v1", "Secret", &other]);
            fleet.write(&format!("manifests/eu-{name}.yaml"), text);
        }
    };
    repoint(9, "third");
    origin.publish(&[]).ends(0).outcome("eu", "published");
    // A region of ten whose references are all repointed is another place's, and keeps the whole chain of each.
    fleet.credential("eu", "c9", "value");
    origin.publish(&[]).ends(0);
    repoint(10, "fourth");
    let held = origin.publish(&[]).ends(4).says("every value of region eu would be replaced at once, in 10 Secrets");
    let files = || origin.files().into_iter().filter(|path| path.contains("-fourth")).count();
    let manifest = origin.git(&["show", "main:bundles/regions/eu/bundle.yaml"]);
    assert_eq!((files(), manifest.matches("reason: reseal-held\n").count()), (0, 10), "{manifest}");
    origin.publish(&[]).ends(4).outcome("eu", "unchanged");
    origin.publish(&["--accept-reseal", &held.acceptance("--accept-reseal", "eu")]).ends(0);
    assert_eq!(files(), 10);
}
