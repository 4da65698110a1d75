//! What is known of regions' clusters: read from real manifests, printed, read again, and what it holds.

use std::fs;

use crate::support::fleet::{Fleet, secret, selected};
use crate::support::shared;
use crate::support::tree::placeless;

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
    requireConditions: [ControlPlaneHealthy, Joined]
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

/// The same, with line ends of Unix, so that lines can be changed.
fn editable() -> Option<Fleet> {
    let fleet = tied()?;
    fleet.write("manifests/profile.yaml", fleet.read("manifests/profile.yaml").replace("\r\n", "\n"));
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
        "ControlPlaneHealthy: True (by ClusterProfile fleet-system/some-cluster-name; it decides what the region requires)",
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

/// ClusterProfiles of other projects, how they are called, and what is known by them.
const FOUND: [(&str, &str, &[&str]); 8] = [
    (
        "kep-4322-1.yaml",
        "generated-cluster-name",
        &[
            "managed by some-cluster-manager",
            "Kubernetes 1.28.0",
            "a cluster of the ClusterSet some-clusterset",
            "ControlPlaneHealthy: True",
        ],
    ),
    (
        "kep-4322-2.yaml",
        "my-cluster-1",
        &[
            "managed by GKE-Fleet",
            "server https://connectgateway.googleapis.com:443/v1/projects/123456789/locations/us-central1/gkeMemberships/my-cluster-1",
        ],
    ),
    ("kep-4322-3.yaml", "my-cluster-1", &["managed by inhouse-manager", "server https://some:443"]),
    ("kep-4322-4.yaml", "my-on-prem-cluster", &["server https://my-on-prem-k8s.example.dev:443"]),
    ("kep-4322-5.yaml", "my-aks-cluster", &["server https://braveion-abcxyz.hcp.eastus2.azmk8s.io:443"]),
    ("kueue-1.yaml", "multikueue-worker-1", &["managed by some", "server https://some.example:443"]),
    ("kueue-2.yaml", "worker1-cluster", &["server https://some.example:443"]),
    (
        "gke-fleet-script.txt",
        "some-some",
        &["managed by fleet-memberships-to-clusterprofile-script", "Kubernetes some"],
    ),
];

/// A text with something in place of what its reader is to fill in: `<a name>`, `$name` and `...`.
fn filled(text: &str) -> String {
    let manager = "spec: {clusterManager: {name: some}}";
    let mut text = text.replace("spec: ...", manager).replace("spec:\n  ...", manager);
    text = text.replace("cluster:\n      ...", "cluster: {server: 'https://some.example'}");
    text = text.replace("<cluster-url>", "https://some.example");
    let lines: Vec<&str> = text.lines().filter(|line| line.trim() != "...").collect();
    let mut filled = String::new();
    for line in lines {
        let mut rest = line;
        while let Some(at) = rest.find(['<', '$']) {
            filled.push_str(&rest[..at]);
            filled.push_str("some");
            let is_end =
                |c: char| if rest[at..].starts_with('<') { c == '>' } else { !c.is_ascii_alphanumeric() && c != '_' };
            let end = rest[at + 1..].find(is_end).map_or(rest.len(), |end| at + 1 + end);
            rest = rest[end..].strip_prefix('>').unwrap_or(&rest[end..]);
        }
        filled.push_str(rest);
        filled.push('\n');
    }
    filled
}

#[test]
fn profiles_as_other_projects_have_them_are_read() {
    let Some(seeds) = shared("data/seeds/clusterprofile") else { return };
    for (file, name, expect) in FOUND {
        let text = filled(&fs::read_to_string(seeds.join(file)).unwrap());
        let namespace = text.lines().find_map(|line| line.trim().strip_prefix("namespace: ")).unwrap_or("fleet");
        let tie = format!("inventory: {{clusterProfile: {{namespace: {namespace}, name: {name}}}}}");
        let config =
            TIED.replace("directory: {path: manifests}", "directory: {path: manifests}, defaultNamespace: fleet");
        let (before, rest) = config.split_once("    inventory: ").unwrap();
        let (_, rest) = rest.split_once('\n').unwrap();
        let gate =
            if expect.iter().any(|words| words.contains("Healthy")) { rest } else { rest.split_once('\n').unwrap().1 };
        let fleet = Fleet::of(&format!("{before}    {tie}\n{gate}"));
        fleet.write("manifests/profile.yaml", &text);
        fleet.write("manifests/s.yaml", secret("team-a", "s", "value: not-real"));
        let checked = fleet.run(&["check", "-v"]).ends(0);
        assert!(!checked.stdout.contains("unreadable-object"), "{file}\n{text}\n{}", checked.stdout);
        for words in expect {
            explained(&fleet, words);
        }
        // What is printed of it is read again, and says the same.
        let facts = fleet.run(&["facts"]).ends(0).stdout;
        fleet.write("manifests/profile.yaml", &facts);
        assert_eq!(fleet.run(&["facts"]).ends(0).stdout, facts, "{file}");
    }
}

#[test]
fn provider_files_as_their_project_has_them_are_read_but_for_their_relative_commands() {
    let Some(seeds) = shared("data/seeds/clusterprofile") else { return };
    for name in ["secretreader", "kubeconfig-secretreader"] {
        let fleet = Fleet::with_credentials(1);
        let tie = "inventory: {clusterProfile: {namespace: fleet, name: eu}}, cluster: {providers: providers.json}, ";
        fleet.configure("  eu: {", &format!("  eu: {{{tie}"));
        let profile = "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {name: eu, namespace: fleet}, \
                       spec: {clusterManager: {name: x}}, status: {accessProviders: [{name: NAME, cluster: {server: 'https://127.0.0.1:1'}}]}}";
        fleet.write("manifests/profile.yaml", profile.replace("NAME", name));
        let file = fs::read_to_string(seeds.join(format!("provider-config-{name}.json"))).unwrap();
        fleet.write("providers.json", &file);
        fleet.render(&[]).ends(0).says("providers[0].execConfig.command is a relative path");
        fleet.write("providers.json", file.replace("./bin/", "/no/such/"));
        fleet.render(&[]).ends(0).says(&format!("the credential plugin of provider {name} is not installed"));
    }
}

#[test]
fn a_profile_of_another_group_is_none() {
    let Some(fleet) = tied() else { return };
    fleet.configure("property: {location: apac}", "labels: {x-k8s.io/cluster-manager: some-cluster-manager}");
    fleet.render(&[]).ends(0);
    let (before, facts) = (fleet.tree("bundles"), fleet.run(&["facts"]).ends(0).stdout);
    // Sveltos' own, with the name, the namespace and the label of the one that the region is tied to.
    let sveltos = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\n\
                   metadata: {name: some-cluster-name, namespace: fleet-system, labels: {x-k8s.io/cluster-manager: some-cluster-manager}}\n\
                   spec: {clusterSelector: {matchLabels: {env: prod}}, syncMode: Continuous, clusterManager: {name: other}}\n";
    fleet.write("manifests/sveltos.yaml", sveltos);
    let ran = fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    assert!(!ran.stderr.contains("sveltos"), "{}", ran.stderr);
    assert_eq!((fleet.tree("bundles"), fleet.run(&["facts"]).ends(0).stdout), (before, facts));
    // Alone it describes nothing: the tie finds none.
    fleet.remove("manifests/profile.yaml");
    fleet.render(&[]).ends(4).says("no ClusterProfile of namespace fleet-system fits");
}

#[test]
fn ten_thousand_properties_are_read_and_only_those_that_are_asked_for_are_printed() {
    let Some(fleet) = editable() else { return };
    let facts = fleet.run(&["facts"]).ends(0).stdout;
    let properties: String =
        (0..10_000).map(|n| format!("    - name: p{n}.example\n      value: {}\n", "v".repeat(64))).collect();
    fleet.edit("manifests/profile.yaml", "  properties:\n", &format!("  properties:\n{properties}"));
    assert_eq!(fleet.run(&["facts"]).ends(0).stdout, facts);
    fleet.render(&[]).ends(0);
    explained(&fleet, "a cluster of the ClusterSet some-clusterset (by ClusterProfile fleet-system/some-cluster-name)");
    // The tie asks for the last one as for any other.
    fleet.configure("property: {location: apac}", "property: {location: apac, p9999.example: other}");
    fleet.render(&[]).ends(4).says("no ClusterProfile of namespace fleet-system fits");
}

#[test]
fn explain_says_which_set_the_cluster_is_in() {
    let Some(fleet) = editable() else { return };
    let id = "      value: some-clusterset\n    - name: cluster.clusterset.k8s.io\n      value: eu-1\n";
    fleet.edit("manifests/profile.yaml", "      value: some-clusterset\n", id);
    explained(
        &fleet,
        "cluster eu-1 in the ClusterSet some-clusterset (by ClusterProfile fleet-system/some-cluster-name; it decides whether \
         two regions are one cluster)",
    );
    fleet.edit("manifests/profile.yaml", "    - name: clusterset.k8s.io\n      value: some-clusterset\n", "");
    explained(&fleet, "cluster eu-1 in a ClusterSet not named (by ClusterProfile");
}

#[test]
fn what_waits_for_one_region_is_told_in_one_place() {
    const COUNT: usize = 30;
    let fleet = Fleet::with_credentials(1);
    fleet.write("manifests/seen.yaml", SEEN.replace("clusterUID", "clusterUdi"));
    for number in 0..COUNT {
        let text = selected("team-a").replace("name: aws", &format!("name: aws{number}"));
        fleet.write(
            &format!("manifests/aws{number}.yaml"),
            text.replace("secretRef: aws", &format!("secretRef: aws{number}")),
        );
    }
    let told = fleet.run(&["check"]).ends(7).stdout;
    assert_eq!(told.matches("error[unread]").count(), 1, "{told}");
    let words = format!(
        "{COUNT} Credentials keep what they have, because the facts of region eu are unknown: team-a/aws0, team-a/aws1, "
    );
    assert!(told.contains(&words), "{told}");
    // Machines get each of them.
    fleet.render(&["--summary", "summary.json"]).ends(3);
    assert_eq!(fleet.read("summary.json").matches("\"becauseRegion\": \"eu\"").count(), COUNT);
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
    fleet.write("pouch.yaml", TIED.replace("    requireConditions: [ControlPlaneHealthy, Joined]\n", ""));
    fleet.render(&[]).ends(0).says("[unmatched-entry]");
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

/// A cluster says its UID itself: that of another holds no region but its own.
#[test]
fn a_cluster_with_the_uid_of_another_holds_its_own_region_alone() {
    let fleet = Fleet::with_credentials(1);
    let uids = ["995ba61b-0073-4e42-89e2-18282b1801ac", "0b9f54a7-62c7-4fd6-9c5f-5f9bd7e6a0c2"];
    let seen = |region: &str, uid: &str| {
        let name = format!("manifests/seen-{region}.yaml");
        let head = format!("apiVersion: pouch/v1alpha1\nkind: RegionFacts\nmetadata: {{name: {region}}}\n");
        fleet.write(&name, format!("{head}spec: {{clusterUID: {uid}}}\n"));
    };
    ["eu", "us"].iter().zip(uids).for_each(|(region, uid)| seen(region, uid));
    fleet.render(&[]).ends(0);
    seen("us", uids[0]);
    let says = format!("regions eu, us are one cluster, as they have the same cluster UID: {}", uids[0]);
    for (run, regions) in [["us", "eu"].as_slice(), &["eu"]].into_iter().enumerate() {
        fleet.secret("eu", "c0", &format!("value: rotated-{run}"));
        let arguments: Vec<&str> = if regions.len() == 1 { vec!["--region", "eu"] } else { Vec::new() };
        let ran = fleet.render(&arguments).outcome("eu", "published");
        match regions.len() {
            1 => assert!(!ran.ends(0).stderr.contains("are one cluster")),
            _ => _ = ran.ends(4).outcome("us", "held").says(&says),
        }
    }
    // The control: where nobody vouches for what is published of the other, both wait.
    fleet.edit("bundles/regions/us/bundle.yaml", "cluster: ", "cluster:  ");
    fleet.secret("eu", "c0", "value: rotated-again");
    fleet.render(&[]).ends(4).outcome("us", "held").outcome("eu", "held").says(&says);
}

#[test]
fn ties_that_cannot_be_meant_are_refused_where_they_are_typed() {
    let fleet = Fleet::of(TIED);
    for (from, to, words) in [
        ("property: {location: apac}", "property: {location: apac}, name: x", "it is not said which ClusterProfile"),
        ("property: {location: apac}", "labels: {}", "it is not said which ClusterProfile"),
        (
            "requireConditions: [ControlPlaneHealthy, Joined]",
            "requireConditions: [Joined, Joined]",
            "the condition is here twice",
        ),
        (
            "requireConditions: [ControlPlaneHealthy, Joined]",
            "requireConditions: ['no condition']",
            "cannot be the type of a condition",
        ),
        (
            "requireConditions: [",
            "cluster: {providers: p.json, context: x}\n    requireConditions: [",
            "two ways to reach the cluster",
        ),
        ("requireConditions: [", "cluster: {}\n    requireConditions: [", "it is not said how the cluster is reached"),
        ("registryCluster: local-cluster", "registryClutser: x", "registryCluster"),
        (
            "inventory: {clusterProfile: {namespace: fleet-system, property: {location: apac}}, registryCluster: local-cluster}",
            "k0rdentPushDisabled: true",
            "is tied to no object that has conditions",
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
    // But for the files in which they stand.
    assert_eq!(placeless(&fleet.tree("bundles")), placeless(&before));

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
fn a_region_without_a_profile_is_told_where_others_have_one() {
    let Some(fleet) = placed() else { return };
    let told = |fleet: &Fleet| fleet.run(&["check", "-v"]).ends(7).stdout.matches("info[untied]: region ").count();
    assert_eq!(told(&fleet), 0);
    fleet.configure("inventory: {clusterProfile: {namespace: fleet1, name: cluster3}}, ", "");
    assert_eq!(told(&fleet), 1);
    fleet.configure("inventory: {clusterProfile: {namespace: fleet1, name: cluster1}}, ", "");
    assert_eq!(told(&fleet), 0);
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
    let missing = format!("the kubeconfig {} does not exist", nowhere.display());
    away(&missing);

    // Where `verify --live` alone looks, only that misses it.
    fleet.configure("context: x}", "context: x, look: verify}");
    let ran = fleet.render(&[]).ends(0);
    assert!(!ran.stderr.contains("was not looked into"), "{}", ran.stderr);
    fleet.run(&["verify", "--live", "--region=eu"]).ends(5).says(&missing);
    assert!(fleet.run(&["config"]).ends(0).stdout.contains("look: verify"));
    fleet.run(&["rbac", "--region=eu"]).ends(64).says("does not have region eu looked into");
    fleet.configure("context: x, look: verify}", "context: x, look: never}");
    fleet.run(&["check"]).ends(64).says("pouch.yaml:");
    fleet.configure("context: x, look: never}", "context: x}");

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
