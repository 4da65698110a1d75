//! Clusters without Credential, from the command line: planned, explained, published, logged and taken back by name.

use std::time::Instant;

use serde_json::Value;

use crate::support::fleet::{EU, Fleet, secret};

const CLUSTERS: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: prod, namespace: team-a}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: prod}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: prod, namespace: team-a}
spec: {region: eu-west-1, identityRef: {kind: AWSClusterStaticIdentity, name: acct}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: acct}
spec: {secretRef: acct, allowedNamespaces: {list: [team-a]}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: web, namespace: team-a}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: GCPCluster, name: web}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: GCPCluster
metadata: {name: web, namespace: team-a}
spec: {credentialsRef: {namespace: team-a, name: web}}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: web, namespace: team-a}
spec: {region: eu-west, identityRef: {apiVersion: v1, kind: Secret, name: web, namespace: team-a}}
"#;

fn fleet() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n\
         regions:\n  eu-west:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n    detached: true\n    \
         clusters: [team-a/*]\ncompanions: none\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/clusters.yaml", CLUSTERS);
    fleet.write(
        "manifests/secrets.yaml",
        format!("{}---\n{}", aws_secret(), secret("team-a", "web", "credentials: not-a-real-key")),
    );
    fleet
}

fn aws_secret() -> String {
    "apiVersion: v1\nkind: Secret\nmetadata: {name: acct, namespace: kcm-system}\n\
     stringData: {AccessKeyID: example, SecretAccessKey: not-a-real-key}\n"
        .to_owned()
}

#[test]
fn a_cluster_is_planned_and_explained_by_its_own_name() {
    let fleet = fleet();
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("Cluster team-a/prod"), "{plan}");
    fleet.run(&["render"]).ends(0);
    let bundle = fleet.read("bundles/regions/eu-west/bundle.yaml");
    assert!(bundle.contains("kind: Cluster"), "{bundle}");
    assert!(!fleet.tree("bundles").keys().any(|path| path.contains("awscluster.") || path.contains("clusters.")));
    let told = fleet.run(&["explain", "cluster", "team-a/prod"]).ends(0).stdout;
    for line in [
        "Cluster team-a/prod at manifests/clusters.yaml:2:1",
        "named by   AWSCluster spec.identityRef",
        "because it admits the Cluster's namespace",
        "named by   spec.secretRef",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    // The Credential of the same name is another claimant.
    let cluster = fleet.run(&["explain", "cluster/team-a/web"]).ends(0).stdout;
    assert!(cluster.contains("GCPCluster spec.credentialsRef") && !cluster.contains("spec.identityRef"), "{cluster}");
    let credential = fleet.run(&["explain", "team-a/web"]).ends(0).stdout;
    assert!(credential.contains("Credential team-a/web") && !credential.contains("GCPCluster"), "{credential}");
    let json: Value =
        serde_json::from_str(&fleet.run(&["explain", "cluster", "team-a/web", "-o", "json"]).ends(0).stdout).unwrap();
    assert_eq!(json["claims"][0]["credential"], "cluster/team-a/web");
    let of_secret = fleet.run(&["explain", "secret", "team-a/web"]).ends(0).stdout;
    assert!(of_secret.contains("Cluster team-a/web") && of_secret.contains("Credential team-a/web"), "{of_secret}");
    fleet.run(&["explain", "cluster", "team-a/nope"]).ends(1);
}

#[test]
fn a_cluster_that_breaks_keeps_what_it_has_until_somebody_takes_it_back() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    // A variable of clusterctl is left in; the Credential of the same name goes on.
    fleet.write("manifests/clusters.yaml", CLUSTERS.replace("name: acct}}", "name: '${AWS_IDENTITY}'}}"));
    let run = fleet.run(&["render"]).ends(3);
    assert!(run.stderr.contains("unrendered-template") && run.stderr.contains("Cluster team-a/prod"), "{}", run.stderr);
    assert!(fleet.has("bundles/regions/eu-west/core/secrets/kcm-system/acct.sops.yaml"));
    let run = fleet.run(&["check", "-o", "json"]).ends(7);
    assert!(run.stdout.contains("cluster/team-a/prod"), "{}", run.stdout);
    // Of several broken claimants this one is named.
    fleet.run(&["render", "--withdraw", "team-a/prod"]).ends(3);
    assert!(fleet.has("bundles/regions/eu-west/core/secrets/kcm-system/acct.sops.yaml"));
    fleet.run(&["render", "--withdraw", "cluster/team-a/prod"]).ends(3);
    assert!(!fleet.has("bundles/regions/eu-west/core/secrets/kcm-system/acct.sops.yaml"));
    assert!(fleet.has("bundles/regions/eu-west/core/secrets/team-a/web.sops.yaml"));
}

#[test]
fn a_run_may_refresh_one_cluster() {
    let fleet = fleet();
    fleet.run(&["render", "--credential", "cluster/team-a/web"]).ends(0);
    assert!(fleet.has("bundles/regions/eu-west/core/secrets/team-a/web.sops.yaml"));
    assert!(!fleet.has("bundles/regions/eu-west/core/secrets/kcm-system/acct.sops.yaml"));
    fleet.run(&["render", "--credential", "machine/team-a/web"]).ends(64);
}

#[test]
fn a_cluster_that_the_configuration_does_not_name_counts_for_nothing() {
    let fleet = fleet();
    fleet.configured(&fleet.read("pouch.yaml").replace("    clusters: [team-a/*]\n", ""));
    fleet.run(&["render"]).ends(0);
    assert!(!fleet.has("bundles/regions/eu-west/core/secrets/kcm-system/acct.sops.yaml"));
    assert!(!fleet.read("bundles/regions/eu-west/bundle.yaml").contains("kind: Cluster"));
}

#[test]
fn what_is_typed_wrong_is_said_where_it_stands() {
    let fleet = fleet();
    let config = fleet.read("pouch.yaml");
    for (clusters, says) in [
        ("[team-a]", "not a glob over Clusters"),
        ("[team-a/b/c]", "not a glob over Clusters"),
        ("[{name: team-a/*, identityRef: {apiVersion: v1, kind: Pod, name: x}}]", "pouch publishes no objects of kind"),
        (
            "[{name: team-a/*, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, namespace: a, name: x}}]",
            "have no namespace",
        ),
    ] {
        fleet.configured(&config.replace("[team-a/*]", clusters));
        let run = fleet.run(&["config"]).ends(64);
        assert!(run.stderr.contains(says), "{clusters}: {}", run.stderr);
    }
    fleet.configured(&config.replace("{path: manifests}}", "{path: manifests}, region: eu-wets}"));
    assert!(fleet.run(&["config"]).ends(64).stderr.contains("Did you mean \"eu-west\"?"));
    let clusters = "[{name: team-a/*, identityRef: {apiVersion: v1, kind: Secret, name: x}}, '*/*']";
    let typed =
        config.replace("[team-a/*]", clusters).replace("{path: manifests}}", "{path: manifests}, region: eu-west}");
    fleet.configured(&typed);
    // What is shown can be read again, and shows the same.
    let shown = fleet.run(&["config"]).ends(0).stdout;
    assert!(shown.contains("region: eu-west") && shown.contains("*/*"), "{shown}");
    fleet.configured(&shown);
    assert_eq!(fleet.run(&["config"]).ends(0).stdout, shown);
}

/// Ten thousand Clusters cost at most a second more than as many Credentials for the same Secrets.
#[test]
#[ignore = "a measurement: cargo test --release --test plain -- --ignored clusters"]
fn ten_thousand_clusters_take_little_longer_than_their_credentials() {
    let fleet = fleet();
    let (mut clusters, mut credentials, mut secrets) = (String::new(), String::new(), String::new());
    for n in 0..10_000 {
        let name = format!("c{n}");
        clusters.push_str(&format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {name}, namespace: team-a}}\n\
             spec: {{infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: GCPCluster, name: {name}}}}}\n\
             ---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: GCPCluster\n\
             metadata: {{name: {name}, namespace: team-a}}\nspec: {{credentialsRef: {{namespace: team-a, name: {name}}}}}\n"
        ));
        credentials.push_str(&format!(
            "---\napiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: {name}, namespace: team-a}}\n\
             spec: {{region: eu-west, identityRef: {{apiVersion: v1, kind: Secret, name: {name}, namespace: team-a}}}}\n"
        ));
        secrets.push_str(&format!("---\n{}", secret("team-a", &name, "credentials: not-a-real-key")));
    }
    fleet.write("manifests/secrets.yaml", secrets);
    fleet.configured(&format!(
        "{}limits: {{objectsPerRegion: 20000, objectsPerNamespace: 20000, credentialsPerNamespace: 20000, sealedBytesPerNamespace: 1Gi}}\n",
        fleet.read("pouch.yaml")
    ));
    let time = |manifests: String| {
        fleet.write("manifests/clusters.yaml", manifests);
        let begun = Instant::now();
        fleet.run(&["check"]).ends(0);
        begun.elapsed()
    };
    let (with_credentials, with_clusters) = (time(credentials), time(clusters));
    eprintln!("10,000 Credentials {with_credentials:?}, 10,000 Clusters {with_clusters:?}");
    assert!(
        with_clusters < with_credentials + std::time::Duration::from_secs(1),
        "{with_credentials:?} {with_clusters:?}"
    );
}
