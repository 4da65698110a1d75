//! What is known of regions' clusters: read from real manifests, printed, read again, and what it holds.

use std::fs;

use crate::support::fleet::{Fleet, secret, selected};
use crate::support::shared;

const TIED: &str = "\
apiVersion: pouch/v1alpha1
kind: Fleet
metadata: {name: acme}
sources: [{name: manifests, directory: {path: manifests}}]
regions:
  eu:
    recipients: [age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q]
    namespaces: {allowed: ['*']}
    inventory: {clusterProfile: {namespace: fleet-system, property: {location: apac}}, registryCluster: local-cluster}
    gate: [ControlPlaneHealthy, Joined]
reuseKey: {file: reuse.key}
";

const SEEN: &str = "\
apiVersion: pouch/v1alpha1
kind: RegionFacts
metadata: {name: eu}
spec:
  clusterUID: 995ba61b-0073-4e42-89e2-18282b1801ac
  kubernetesVersion: v1.28.4
  kinds: [{group: infrastructure.cluster.x-k8s.io, kind: AWSClusterStaticIdentity, scope: Cluster, versions: [v1beta2]}]
  namespaces: [{name: team-a, labels: {env: prod}}]
  providerInterfaces: []
";

/// A fleet with the ClusterProfile of SIG Multicluster's own page and the registry's own Cluster, as they are published.
fn tied() -> Option<Fleet> {
    let seeds = shared("data/seeds")?;
    let read = |path: &str| fs::read_to_string(seeds.join(path)).unwrap();
    let fleet = Fleet::of(TIED);
    fleet.write("manifests/profile.yaml", read("clusterprofile/site.yaml"));
    fleet.write("manifests/cluster.yaml", read("cluster-registry/cisco-cluster.yaml"));
    fleet.write("manifests/seen.yaml", SEEN);
    fleet.write("manifests/aws.yaml", selected("team-a"));
    Some(fleet)
}

fn explained(fleet: &Fleet, words: &str) {
    let told = fleet.run(&["explain", "region", "eu"]).ends(0).stdout;
    assert!(told.contains(words), "{told}");
}

#[test]
fn facts_of_real_manifests_decide_and_give_the_same_bytes_from_what_was_printed() {
    let Some(fleet) = tied() else { return };
    // A selector admits by the labels that were seen; without them nobody would be admitted.
    fleet.render(&[]).ends(0);
    let before = fleet.tree("bundles");
    assert!(before.keys().any(|path| path.ends_with("secrets/kcm-system/aws.sops.yaml")), "{:?}", before.keys());
    let facts = fleet.run(&["facts"]).ends(0).stdout;
    for words in ["kind: ClusterProfile", "kind: Cluster\n", "kind: RegionFacts"] {
        assert!(facts.contains(words), "{words}\n{facts}");
    }
    for words in ["Time", "message", "displayName", "authInfo", "extension", "clusterName"] {
        assert!(!facts.contains(words), "{words}\n{facts}");
    }
    explained(
        &fleet,
        "ControlPlaneHealthy: True (by ClusterProfile fleet-system/some-cluster-name; it decides the gate)",
    );
    for file in ["profile", "cluster", "seen"] {
        fleet.remove(&format!("manifests/{file}.yaml"));
    }
    // Without facts nobody knows the labels, and nothing says that the cluster is well.
    assert!(fleet.run(&["check"]).ends(7).stdout.contains("not-admitted"));
    fleet.write("manifests/facts.yaml", &facts);
    assert_eq!(fleet.run(&["facts"]).ends(0).stdout, facts);
    fleet.render(&[]).ends(0);
    assert_eq!(fleet.tree("bundles"), before);
}

#[test]
fn facts_keep_kubeconfigs_of_regions_at_home_and_say_nothing_that_may_be_secret() {
    let Some(fleet) = tied() else { return };
    // One Region that no region is tied to, and one that cannot be read; each names a Secret that a Credential would have sent.
    let kubeconfig = |name: &str, spec: &str| {
        format!(
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Region\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n\
             apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: {name}, namespace: team-a}}\n\
             spec: {{region: eu, identityRef: {{apiVersion: v1, kind: Secret, name: {name}-kube}}}}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-kube, namespace: team-a}}\nstringData: {{value: not-real}}\n---\n"
        )
    };
    let objects = kubeconfig("elsewhere", "{kubeConfig: {name: elsewhere-kube, key: value}}")
        + &kubeconfig("eu", "{kubeConfig: {name: eu-kube}, providers: aws}");
    fleet.write("manifests/regions.yaml", &objects);
    let profile = fleet.read("manifests/profile.yaml").replace("name: secretreader", "name: secretreader # ");
    let profile = profile
        .replace("clusterName: some-cluster-name", "clusterName: some-cluster-name\n              token: hunter2");
    fleet.write("manifests/profile.yaml", profile);
    let refused = |fleet: &Fleet| {
        let told = fleet.run(&["check"]).ends(7).stdout;
        assert_eq!(told.matches("error[forbidden-type]").count(), 2, "{told}");
    };
    refused(&fleet);
    let facts = fleet.run(&["facts"]).ends(3).stdout;
    assert!(!facts.contains("hunter2"), "{facts}");
    for file in ["profile", "cluster", "seen"] {
        fleet.remove(&format!("manifests/{file}.yaml"));
    }
    let others = objects.split("---\n").filter(|document| !document.contains("kind: Region\n")).collect::<Vec<_>>();
    fleet.write("manifests/regions.yaml", others.join("---\n"));
    fleet.write("manifests/facts.yaml", &facts);
    refused(&fleet);
    assert_eq!(fleet.run(&["facts"]).ends(3).stdout, facts);
}

#[test]
fn a_gate_holds_and_withdraws_nothing() {
    let Some(fleet) = tied() else { return };
    fleet.render(&[]).ends(0);
    let before = fleet.tree("bundles");
    fleet.write("manifests/aws.yaml", selected("team-a").replace("not-real-either", "another"));
    fleet.write("pouch.yaml", TIED.replace("Joined]", "joined]"));
    fleet.render(&[]).ends(4).says("[region-gated]").says("Did you mean Joined?");
    fleet.remove("manifests/profile.yaml");
    fleet.write("pouch.yaml", TIED);
    fleet.render(&[]).ends(4).says("no ClusterProfile of namespace fleet-system fits");
    assert_eq!(fleet.tree("bundles"), before);
    explained(&fleet, "held [region-gated]");
    fleet.write("pouch.yaml", TIED.replace("    gate: [ControlPlaneHealthy, Joined]\n", ""));
    fleet.render(&[]).ends(0).says("[tie-not-found]");
    assert_ne!(fleet.tree("bundles"), before);
}

#[test]
fn facts_that_cannot_be_parsed_are_not_absent_and_other_documents_cast_no_doubt_on_them() {
    let Some(fleet) = tied() else { return };
    fleet.render(&[]).ends(0);
    let before = fleet.tree("bundles");
    fleet.write("manifests/seen.yaml", SEEN.replace("v1.28.4", "\"v1.28.4"));
    fleet.render(&[]).ends(3).says("is open to namespace team-a is unknown: ");
    assert!(fleet.read("bundles/regions/eu/bundle.yaml").contains("cluster: \"995ba61b-"));
    fleet.write("manifests/seen.yaml", SEEN);
    fleet.render(&[]).ends(0);
    assert!(fleet.tree("bundles").keys().eq(before.keys()));
    // Something that cannot be read, and names the region, in a fleet without RegionFacts.
    fleet.remove("manifests/seen.yaml");
    fleet.write("manifests/aws.yaml", selected("team-a").replace("{selector: {matchLabels: {env: prod}}}", "{}"));
    fleet.render(&[]).ends(0);
    fleet.write("manifests/other.yaml", "a: {{ template }}\nb: eu \"\n");
    assert!(!fleet.render(&[]).stderr.contains("is unknown: "));
}

#[test]
fn another_cluster_is_accepted_by_its_uid() {
    let Some(fleet) = tied() else { return };
    fleet.render(&[]).ends(0);
    fleet.write("pouch.yaml", TIED.replace(", registryCluster: local-cluster", ""));
    let other = "0b9f54a7-62c7-4fd6-9c5f-5f9bd7e6a0c2";
    fleet.write("manifests/seen.yaml", SEEN.replace("995ba61b-0073-4e42-89e2-18282b1801ac", other));
    fleet.render(&[]).ends(4).says("[wrong-cluster]").says(&format!("--accept-source eu={other}"));
    fleet.render(&["--accept-source", &format!("eu={other}")]).ends(0);
    fleet.render(&[]).ends(0);
    assert!(fleet.read("bundles/regions/eu/bundle.yaml").contains(&format!("cluster: \"{other}\"\n")));
}

#[test]
fn ties_that_cannot_be_meant_are_refused_where_they_are_typed() {
    let fleet = Fleet::of(TIED);
    for (from, to, words) in [
        ("property: {location: apac}", "property: {location: apac}, name: x", "it is not said which ClusterProfile"),
        ("property: {location: apac}", "labels: {}", "it is not said which ClusterProfile"),
        ("gate: [ControlPlaneHealthy, Joined]", "gate: [Joined, Joined]", "the condition is here twice"),
        ("gate: [ControlPlaneHealthy, Joined]", "gate: ['no condition']", "cannot be the type of a condition"),
        ("gate: [", "cluster: {providers: p.json, context: x}\n    gate: [", "two ways to reach the cluster"),
        ("gate: [", "cluster: {}\n    gate: [", "it is not said how the cluster is reached"),
        ("registryCluster: local-cluster", "registryClutser: x", "registryCluster"),
        (
            "inventory: {clusterProfile: {namespace: fleet-system, property: {location: apac}}, registryCluster: local-cluster}",
            "detached: true",
            "no object whose conditions it could ask for",
        ),
    ] {
        fleet.write("pouch.yaml", TIED.replace(from, to));
        fleet.run(&["config"]).ends(64).says(words);
    }
}

/// A fleet in which a grant holds in the regions of a placement, by the real slice of KEP-5313.
fn placed() -> Option<Fleet> {
    let slice =
        fs::read_to_string(shared("data/seeds")?.join("clusterprofile/kep-5313-placementdecision-1.yaml")).unwrap();
    let fleet = Fleet::new();
    let tie = |name: &str| format!("inventory: {{clusterProfile: {{namespace: fleet1, name: {name}}}}}, ");
    for (region, cluster) in [("eu", "cluster1"), ("us", "cluster3")] {
        fleet.configure(&format!("  {region}: {{"), &format!("  {region}: {{{}", tie(cluster)));
        fleet.write(&format!("manifests/{cluster}.yaml"), profile_of("fleet1", cluster));
        let credential = format!(
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: shared-{region}, namespace: team-a}}\n\
             spec: {{region: {region}, identityRef: {{apiVersion: v1, kind: Secret, name: s, namespace: shared}}}}\n"
        );
        fleet.write(&format!("manifests/shared-{region}.yaml"), credential);
    }
    fleet.write("manifests/shared.yaml", secret("shared", "s", "value: not-real"));
    fleet.write("manifests/slice.yaml", slice);
    let config = fleet.read("pouch.yaml");
    fleet.write("pouch.yaml", format!("{config}grants:\n{PLACED}"));
    Some(fleet)
}

const PLACED: &str = "\
- from: {namespace: team-a}
  to: {namespace: shared, kind: Secret, name: s}
  regions: [{placement: {namespace: argocd, decisionKey: argocd-app-placement-decision}}]
";

fn profile_of(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec: {{clusterManager: {{name: ocm}}}}\n"
    )
}

#[test]
fn a_real_placement_opens_its_regions_says_so_and_gives_the_same_bytes_from_what_was_printed() {
    let Some(fleet) = placed() else { return };
    let told = fleet.run(&["check", "-v"]).ends(7).stdout;
    assert_eq!(told.matches("error[not-admitted]").count(), 1, "{told}");
    let untied = "placement argocd, decision key argocd-app-placement-decision lists ClusterProfiles that no region is tied to: fleet1/cluster2";
    assert!(told.contains(untied), "{told}");
    let explained = fleet.run(&["explain", "team-a/shared-eu"]).ends(0).stdout;
    let by = "for the regions of placement argocd, decision key argocd-app-placement-decision";
    assert!(explained.contains(&format!("because a grant of the configuration names it, {by}")), "{explained}");
    let json = fleet.run(&["explain", "team-a/shared-eu", "-o", "json"]).ends(0).stdout;
    assert!(json.contains("\"placement\": \"argocd, decision key argocd-app-placement-decision\""), "{json}");

    fleet.render(&[]).ends(3);
    let before = fleet.tree("bundles");
    assert!(before.keys().any(|path| path.ends_with("eu/core/secrets/shared/s.sops.yaml")), "{:?}", before.keys());
    let facts = fleet.run(&["facts"]).ends(0).stdout;
    assert!(
        facts.contains("kind: PlacementDecision") && !facts.contains("GPUs") && !facts.contains("scheduler"),
        "{facts}"
    );
    // Without the number, whoever reads this would not miss a slice.
    assert!(facts.contains("multicluster.x-k8s.io/decision-index: \"0\""), "{facts}");
    for file in ["slice", "cluster1", "cluster3"] {
        fleet.remove(&format!("manifests/{file}.yaml"));
    }
    fleet.write("manifests/facts.yaml", &facts);
    assert_eq!(fleet.run(&["facts"]).ends(0).stdout, facts);
    fleet.render(&[]).ends(3);
    assert_eq!(fleet.tree("bundles"), before);

    // What cannot be read is not printed, and whoever has the facts of before keeps them.
    fleet.write("manifests/facts.yaml", facts.replace("decisions:", "decision:"));
    let facts =
        fleet.run(&["facts"]).ends(3).says("placement argocd, decision key argocd-app-placement-decision").stdout;
    assert!(!facts.contains("PlacementDecision"), "{facts}");
    let explained = fleet.run(&["explain", "team-a/shared-eu"]).ends(0).stdout;
    let unknown =
        "unknown: a grant opens it in the regions of placement argocd, decision key argocd-app-placement-decision";
    assert!(explained.contains(unknown), "{explained}");
    fleet.render(&[]).ends(3);
    assert!(fleet.has("bundles/regions/eu/core/secrets/shared/s.sops.yaml"));
}

#[test]
fn ten_thousand_slices_are_one_placement() {
    let Some(fleet) = placed() else { return };
    let decisions: String =
        (0..20).map(|n| format!("- clusterProfileRef: {{name: c{n}, namespace: fleet1}}\n")).collect();
    let slice = |n: usize| {
        format!(
            "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: PlacementDecision\n\
             metadata: {{name: s{n}, namespace: argocd, labels: {{multicluster.x-k8s.io/decision-key: argocd-app-placement-decision}}}}\n\
             decisions:\n{decisions}"
        )
    };
    for part in 0..10 {
        let slices: Vec<String> = (0..1000).map(|n| slice(part * 1000 + n)).collect();
        fleet.write(&format!("manifests/slices-{part}.yaml"), slices.join("---\n"));
    }
    let told = fleet.run(&["check", "-v"]).ends(7).stdout;
    assert!(
        told.contains(
            "that no region is tied to: fleet1/c0, fleet1/c1, fleet1/c10, fleet1/c11, fleet1/c12 and 16 more"
        ),
        "{told}"
    );
    assert_eq!(told.matches("error[not-admitted]").count(), 1, "{told}");
    // The key that a slice has nearly is named.
    fleet.edit("pouch.yaml", "argocd-app-placement-decision", "argocd-app-placement-desicion");
    let told = fleet.run(&["check", "-v"]).ends(7).stdout;
    assert!(told.contains("Did you mean argocd-app-placement-decision?"), "{told}");
}

#[test]
fn a_region_that_is_away_is_said_and_costs_no_other_anything() {
    let fleet = Fleet::with_credentials(1);
    fleet.render(&[]).ends(0);
    let before = fleet.tree("bundles");
    fleet.configure("  eu: {", "  eu: {cluster: {kubeconfig: nowhere, context: x}, ");
    let away = |reason: &str| {
        let ran = fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
        ran.says(&format!("warning: region eu was not looked into: {reason}"));
        assert!(fleet.tree("bundles") == before);
    };
    let nowhere = fleet.path("nowhere").canonicalize().unwrap_or(fleet.path("nowhere"));
    away(&format!("the kubeconfig {} does not exist", nowhere.display()));

    // The ClusterProfile and the provider file are both needed, and each says what is wrong with it.
    let tie = "inventory: {clusterProfile: {namespace: fleet, name: eu}}, cluster: {providers: providers.json}, ";
    fleet.configure("cluster: {kubeconfig: nowhere, context: x}, ", tie);
    away("there is no ClusterProfile");
    let profile = "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {name: eu, namespace: fleet}, \
                   spec: {clusterManager: {name: x}}, status: {accessProviders: [{name: p, cluster: {server: 'https://127.0.0.1:1'}}]}}";
    fleet.write("manifests/profile.yaml", profile);
    away("the provider file providers.json cannot be read: ");
    let exec = r#"{"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin"}"#;
    let file = |name: &str, exec: &str| format!(r#"{{"providers": [{{"name": "{name}", "execConfig": {exec}}}]}}"#);
    fleet.write("providers.json", file("p", exec));
    away("the provider file providers.json: providers[0].execConfig.command is a relative path");
    fleet.write("providers.json", "x".repeat(2 << 20));
    away("the provider file providers.json cannot be read: it is longer than 1024 KiB");
    let exec = exec.replace("./plugin", "/no/such/plugin");
    fleet.write("providers.json", file("q", &exec));
    away("the ClusterProfile has the access providers p, and the provider file has q");
    fleet.write("providers.json", file("p", &exec));
    away("the credential plugin of provider p is not installed: \"/no/such/plugin\"");
}
