//! The brake, by days of work: what a fleet of any size loses without a person, and what waits for one (DESIGN §2.8).

use crate::support::fleet::{Fleet, Ran, credential, secret, selected};
use crate::support::origin::Origin;

/// A Credential of region `eu` that names a Secret `named`, which stands beside it.
fn named(namespace: &str, name: &str, named: &str) -> String {
    credential("eu", namespace, name, ["v1", "Secret", named])
}

/// A Credential of region `eu` and its Secret.
fn whole(namespace: &str, name: &str, value: &str) -> String {
    named(namespace, name, name) + "---\n" + &secret(namespace, name, &format!("value: {value}"))
}

/// A namespace with so many Credentials, each with a Secret.
fn team(namespace: &str, count: usize) -> String {
    // An empty file proves nothing.
    let head = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n");
    let all = (0..count).map(|n| whole(namespace, &format!("c{n:03}"), "not-real"));
    [head].into_iter().chain(all).collect::<Vec<_>>().join("---\n")
}

/// What becomes of a fleet that is rendered with the first manifests, and then with the second.
fn day(before: &str, after: &str) -> Ran {
    let fleet = Fleet::new();
    fleet.configure("delivery: flux}", "delivery: flux, resourceSets: ['*/*']}");
    fleet.write("manifests/all.yaml", before);
    fleet.run(&["render"]).ends(0);
    fleet.write("manifests/all.yaml", after);
    fleet.run(&["render"])
}

#[track_caller]
fn passes(before: &str, after: &str) {
    day(before, after).ends(0).outcome("eu", "published");
}

#[track_caller]
fn is_held(before: &str, after: &str, by: &str) {
    day(before, after).ends(4).says(by);
}

#[test]
fn two_files_of_the_quickstart_are_held_and_one_passes() {
    for (files, code) in [(&["aws"][..], 0), (&["vsphere"], 0), (&["aws", "vsphere"], 4)] {
        let fleet = Fleet::rendered_quickstart();
        let before = fleet.tree("bundles/regions/us-east");
        files.iter().for_each(|file| fleet.remove(&format!("manifests/{file}.yaml")));
        let ran = fleet
            .run(&["render"])
            .ends(code)
            .outcome("eu-west", if code == 0 && files == ["vsphere"] { "unchanged" } else { "published" });
        let left = fleet.tree("bundles/regions/us-east");
        let gone = before.keys().filter(|path| path.contains("sops") && !left.contains_key(*path)).count();
        assert_eq!(gone, usize::from(code == 0), "{files:?}");
        if code != 0 {
            let ran =
                ran.says("error[deletions-held]: 1 of 2 Credentials of namespace team-a").says("in region us-east");
            let flags: Vec<String> = ["us-east/kcm-system", "us-east/team-a"]
                .iter()
                .map(|whose| format!("--accept-deletions={}", ran.acceptance("--accept-deletions", whose)))
                .collect();
            // One lets its own go, and what is held beside it stays so; both let all of it go.
            fleet.run(&["render", &flags[0]]).ends(4).outcome("us-east", "published").says("It was held before");
            let rest = fleet.run(&["render"]).ends(4).acceptance("--accept-deletions", "us-east/team-a");
            fleet.run(&["render", "--accept-deletions", &rest]).ends(0);
            assert!(!fleet.has("bundles/regions/us-east/core/secrets/kcm-system/aws-main-secret.sops.yaml"));
        }
    }
}

#[test]
fn a_small_fleet_is_protected_like_a_large_one() {
    for (count, pass) in [(1, 0), (2, 1), (3, 1), (10, 2), (100, 10)] {
        let before = team("team", count);
        if pass > 0 {
            passes(&before, &team("team", count - pass));
        }
        is_held(&before, &team("team", count - pass - 1), "error[deletions-held]");
    }
}

#[test]
fn so_is_one_that_loses_them_one_by_one() {
    for (count, pass) in [(3, 1), (10, 2)] {
        let fleet = Fleet::new();
        let origin = Origin::new(&fleet, "");
        fleet.write("manifests/all.yaml", team("team", count));
        origin.publish(&[]).ends(0);
        for gone in 1..=pass + 1 {
            fleet.write("manifests/all.yaml", team("team", count - gone));
            origin.publish(&[]).ends(if gone > pass { 4 } else { 0 });
        }
    }
}

#[test]
fn days_of_real_work_pass() {
    // The last Credential of a development namespace.
    let others = (0..9).map(|n| team(&format!("n{n}"), 9)).collect::<Vec<_>>();
    let all = others.join("---\n");
    passes(&format!("{all}---\n{}", team("dev", 1)), &all);
    // Two tenants of nine each remove one.
    let mut two = others.clone();
    (two[2], two[5]) = (team("n2", 8), team("n5", 8));
    passes(&all, &two.join("---\n"));
    // One entry leaves a Secret that thirty share.
    let shared = |more: &str| {
        let parts = |namespace: &str| {
            let text = selected(namespace);
            text.split_once("---\n").map(|(own, shared)| (own.to_owned(), shared.to_owned())).unwrap()
        };
        let open = parts("n00").1.replace("selector: {matchLabels: {env: prod}}", "selector: {}");
        let open = open.replace("SecretAccessKey: not-real-either", &format!("SecretAccessKey: not-real-either{more}"));
        let claimants = (0..30).map(|n| parts(&format!("n{n:02}")).0);
        [open].into_iter().chain(claimants).collect::<Vec<_>>().join("---\n")
    };
    passes(&shared(", SessionToken: unreal"), &shared(""));
    // A tenant rotates all his Secrets.
    let rotated = |value: &str| {
        let own = (0..9).map(|n| whole("mine", &format!("c{n}"), value)).collect::<Vec<_>>().join("---\n");
        format!("{own}---\n{}", team("other", 3))
    };
    passes(&rotated("old"), &rotated("new"));
}

#[test]
fn days_on_which_something_is_wrong_are_held() {
    // A Secret goes from forty entries to one.
    let entries = |count: usize| {
        let entries: Vec<String> = (0..count).map(|n| format!("e{n}: unreal")).collect();
        format!("{}---\n{}---\n{}", named("a", "c", "s"), secret("a", "s", &entries.join(", ")), team("b", 9))
    };
    is_held(&entries(40), &entries(1), "error[deletions-held]");
    // A set of a hundred Secrets is emptied but for one; the next day, of one of two.
    let set = |count: usize| {
        let resources: Vec<String> = (0..count).map(|n| format!("{{kind: Secret, name: s{n}}}")).collect();
        let payload = r#"payload: '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}'"#;
        let secrets = (0..count).map(|n| secret("a", &format!("s{n}"), payload));
        let secrets: Vec<String> = secrets
            .map(|text| text.replace("stringData", "type: addons.cluster.x-k8s.io/resource-set\nstringData"))
            .collect();
        format!(
            "apiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata: {{name: set, namespace: a}}\n\
             spec: {{clusterSelector: {{matchLabels: {{a: b}}}}, strategy: Reconcile, resources: [{}]}}\n---\n{}---\n{}",
            resources.join(", "),
            secrets.join("---\n"),
            team("b", 9)
        )
    };
    is_held(&set(100), &set(1), "error[deletions-held]: 1 of 1 ClusterResourceSets of namespace a");
    passes(&set(2), &set(1));
    // Fifty identityRefs are repointed at once.
    let secrets = |of: &str| (0..50).map(|n| secret("a", &format!("{of}{n}"), "value: unreal")).collect::<Vec<_>>();
    let pointed = |at: &str| {
        let all: Vec<String> = (0..50).map(|n| named("a", &format!("c{n}"), &format!("{at}{n}"))).collect();
        [secrets("right"), secrets("wrong"), all].concat().join("---\n")
    };
    is_held(&pointed("right"), &pointed("wrong"), "error[reseal-held]");
    // A wrong overlay leaves half of a region out, or one in each of thirty namespaces.
    let namespaces =
        |count: usize, each: usize| (0..count).map(|n| team(&format!("n{n}"), each)).collect::<Vec<_>>().join("---\n");
    is_held(&namespaces(8, 2), &namespaces(4, 2), "error[deletions-held]");
    is_held(&namespaces(30, 5), &namespaces(30, 4), "error[deletions-held]");
}
