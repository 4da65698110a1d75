//! Clusters without Credential, from the command line: planned, explained, published, logged and taken back by name.

use std::time::Instant;

use serde_json::Value;

use crate::support::fleet::{EU, Fleet, US, secret};

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
         regions:\n  eu-west:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n    k0rdentPushDisabled: true\n    \
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

/// What describes Clusters is nobody's to read where no region takes any: not to be opened, and no fault where it is shut.
#[test]
fn sealed_clusters_are_left_alone_where_no_region_takes_any() {
    let fleet = fleet();
    let sealed = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta3\nkind: VCDCluster\n\
                  metadata: {name: prod, namespace: team-a}\nspec:\n    userContext:\n        password: \
                  ENC[AES256_GCM,data:AAAA,iv:AAAAAAAAAAAAAAAAAAAAAA==,tag:AAAAAAAAAAAAAAAAAAAAAA==,type:str]\n\
                  sops:\n    age: []\n    lastmodified: '2026-01-01T00:00:00Z'\n    mac: ENC[AES256_GCM,data:AAAA,\
                  iv:AAAAAAAAAAAAAAAAAAAAAA==,tag:AAAAAAAAAAAAAAAAAAAAAA==,type:str]\n    version: 3.9.0\n";
    fleet.write("manifests/vcd.sops.yaml", sealed);
    let told = |fleet: &Fleet| fleet.run(&["plan"]).stderr.contains("vcd.sops.yaml");
    // The control: where Clusters are taken, it matters.
    assert!(told(&fleet));
    fleet.configure("    clusters: [team-a/*]\n", "");
    assert!(!told(&fleet), "{}", fleet.run(&["plan"]).stderr);
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
    fleet.run(&["render", "cluster/team-a/web"]).ends(0);
    assert!(fleet.has("bundles/regions/eu-west/core/secrets/team-a/web.sops.yaml"));
    assert!(!fleet.has("bundles/regions/eu-west/core/secrets/kcm-system/acct.sops.yaml"));
    fleet.run(&["render", "machine/team-a/web"]).ends(64);
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

/// A fleet with a trusted source, and one that describes the Clusters of a region and that somebody else writes.
fn with_a_source_of_one_region(written: &str) -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\nsources:\n\
         - {{name: platform, directory: {{path: platform}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}\n\
         - {{name: eu, directory: {{path: eu}}, region: eu, provides: {{namespaces: [team-a, team-b], objects: [{{group: \
         infrastructure.cluster.x-k8s.io, kind: AWSClusterStaticIdentity, name: 'eu-*'}}]}}}}\n\
         regions:\n  eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, clusters: ['*/*']}}\n  \
         us: {{recipients: [{US}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\n\
         companions: none\nreuseKey: {{file: reuse.key}}\n"
    ));
    let of_others = "\
        {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, metadata: {name: open}, spec: {secretRef: acct, allowedNamespaces: {}}}\n---\n\
        {apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, metadata: {name: honest, namespace: team-b}, spec: {region: us, \
        identityRef: {apiVersion: v1, kind: Secret, name: honest, namespace: team-b}}}\n---\n";
    let secrets =
        [("team-a", "gold"), ("team-b", "honest")].map(|(at, name)| secret(at, name, "credentials: not-a-real-key"));
    fleet.write("platform/all.yaml", format!("{of_others}{}---\n{}", aws_secret(), secrets.join("---\n")));
    fleet.write("eu/all.yaml", written);
    fleet
}

/// Whoever writes what describes the Clusters of one region gets nothing of others, and puts nothing into another region.
#[test]
fn a_source_of_one_region_gets_nothing_of_others() {
    const INFRA: &str = "infrastructure.cluster.x-k8s.io";
    let behind = |kind: &str, spec: &str| {
        format!(
            "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: c, namespace: team-a}}, spec: {{infrastructureRef: \
             {{apiGroup: {INFRA}, kind: {kind}, name: c}}}}}}\n---\n\
             {{apiVersion: {INFRA}/v1beta1, kind: {kind}, metadata: {{name: c, namespace: team-a}}, spec: {spec}}}\n"
        )
    };
    let credential = |namespace: &str, region: &str, of: &str| {
        format!(
            "{{apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, metadata: {{name: c, namespace: {namespace}}}, \
             spec: {{region: {region}, identityRef: {of}}}}}\n"
        )
    };
    let of_secret = |name: &str, at: &str| format!("{{apiVersion: v1, kind: Secret, name: {name}, namespace: {at}}}");
    let identity =
        |name: &str| format!("{{apiVersion: {INFRA}/v1beta2, kind: AWSClusterStaticIdentity, name: {name}}}");
    let own = format!(
        "---\n{{apiVersion: {INFRA}/v1beta2, kind: AWSClusterStaticIdentity, metadata: {{name: eu-x}}, spec: {{secretRef: acct, \
         allowedNamespaces: {{}}}}}}\n"
    );
    let k0rdent = |kind: &str, spec: &str| {
        format!(
            "---\n{{apiVersion: k0rdent.mirantis.com/v1beta1, kind: {kind}, metadata: {{name: kcm}}, spec: {spec}}}\n"
        )
    };
    for (written, code, says) in [
        (
            behind("GCPCluster", "{credentialsRef: {namespace: team-a, name: gold}}"),
            3,
            "another source than its claimant",
        ),
        (behind("GCPCluster", "{credentialsRef: {namespace: kcm-system, name: acct}}"), 3, "not-admitted"),
        (behind("AWSCluster", "{identityRef: {kind: AWSClusterStaticIdentity, name: open}}"), 3, "not-admitted"),
        (behind("AWSCluster", "{identityRef: {kind: AWSClusterStaticIdentity, name: eu-x}}") + &own, 3, "not-admitted"),
        (credential("team-a", "eu", &of_secret("gold", "team-a")), 3, "another source than its claimant"),
        (credential("team-b", "eu", &of_secret("honest", "team-b")), 3, "another source than its claimant"),
        (credential("team-a", "eu", &identity("open")), 3, "not-admitted"),
        (credential("team-a", "eu", &identity("eu-x")) + &own, 3, "not-admitted"),
        (
            credential("team-a", "us", &of_secret("own", "team-a")) + "---\n" + &secret("team-a", "own", "a: brought"),
            3,
            "its source eu describes region eu",
        ),
        (credential("kcm-system", "eu", &of_secret("acct", "kcm-system")), 0, "not-provided-here"),
        (k0rdent("AccessManagement", "{accessRules: [{targetNamespaces: {list: [team-a]}}]}"), 0, "not-provided-here"),
        (k0rdent("ProviderInterface", "{clusterIdentities: []}"), 0, "not-provided-here"),
        (k0rdent("Region", "{}"), 0, "not-provided-here"),
    ] {
        let fleet = with_a_source_of_one_region(&written);
        let run = fleet.run(&["render"]).ends(code);
        assert!(run.stderr.contains(says), "{written}\n{}", run.stderr);
        let tree = fleet.tree("bundles/regions");
        let sealed: Vec<&str> = tree.keys().map(String::as_str).filter(|path| path.ends_with(".sops.yaml")).collect();
        assert_eq!(sealed, ["us/core/secrets/team-b/honest.sops.yaml"], "{written}");
    }
    // Nor can the configuration be talked into it.
    let fleet = with_a_source_of_one_region("");
    fleet.configured(
        &fleet
            .read("pouch.yaml")
            .replace("provides: {namespaces: [team-a", "provides: {clusterScoped: true, namespaces: [team-a"),
    );
    fleet.run(&["config"]).ends(64).says("would be trusted with all regions");
}

/// The control of the test above: without `region`, whatever stands in the namespaces of a source is its own.
#[test]
fn a_source_without_a_region_is_trusted_with_its_namespaces() {
    let credential = |name: &str, region: &str, of: &str| {
        format!(
            "{{apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, metadata: {{name: {name}, namespace: team-a}}, \
             spec: {{region: {region}, identityRef: {{apiVersion: v1, kind: Secret, name: {of}, namespace: team-a}}}}}}\n---\n"
        )
    };
    let written =
        credential("c", "eu", "gold") + &credential("d", "us", "own") + &secret("team-a", "own", "a: brought");
    let fleet = with_a_source_of_one_region(&written);
    fleet.run(&["render"]).ends(3);
    let sealed =
        || fleet.tree("bundles/regions").into_keys().filter(|path| path.ends_with(".sops.yaml")).collect::<Vec<_>>();
    assert_eq!(sealed(), ["us/core/secrets/team-b/honest.sops.yaml"]);
    fleet.configured(&fleet.read("pouch.yaml").replace("region: eu, ", ""));
    fleet.run(&["render"]).ends(0);
    let brought = ["eu/core/secrets/team-a/gold.sops.yaml", "us/core/secrets/team-a/own.sops.yaml"];
    assert!(brought.iter().all(|path| sealed().iter().any(|sealed| sealed == path)), "{:?}", sealed());
}

/// Letters that are dropped, doubled, exchanged or written large in what a Cluster and the objects behind it say: as long as
/// their own names stand, nothing that is published is taken away, and no other identity is brought.
#[test]
fn a_slip_behind_a_cluster_takes_nothing_away() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    let before = fleet.tree("bundles/regions/eu-west/core/secrets");
    let (begin, end) =
        (CLUSTERS.find("spec:").unwrap(), CLUSTERS.find("kind: AWSClusterStaticIdentity\nmetadata").unwrap());
    let letters: Vec<usize> = (begin..end).filter(|at| CLUSTERS.as_bytes()[*at].is_ascii_alphabetic()).collect();
    let (mut tried, mut fine) = (0, 0);
    for (number, at) in letters.into_iter().enumerate().step_by(3) {
        let (head, tail) = (CLUSTERS.get(..at).unwrap(), CLUSTERS.get(at + 1..).unwrap());
        let letter = char::from(CLUSTERS.as_bytes()[at]);
        // The Cluster's own name and namespace are another matter, and so is where in the cloud it runs.
        let line = head.rsplit('\n').next().unwrap();
        if line.starts_with("metadata") || line.contains("region: ") {
            continue;
        }
        let slip = match number % 4 {
            0 => format!("{head}{tail}"),
            1 => format!("{head}{letter}{letter}{tail}"),
            2 if letter.is_lowercase() => format!("{head}{}{tail}", letter.to_ascii_uppercase()),
            2 => format!("{head}{}{tail}", letter.to_ascii_lowercase()),
            _ => format!("{head}q{tail}"),
        };
        fleet.write("manifests/clusters.yaml", &slip);
        let run = fleet.run(&["render"]);
        assert!(matches!(run.code, 0 | 3), "{slip}\n{}", run.stderr);
        fine += usize::from(run.code == 0);
        assert_eq!(fleet.tree("bundles/regions/eu-west/core/secrets"), before, "{slip}\n{}", run.stderr);
        tried += 1;
    }
    assert!(tried > 60 && fine < tried / 4, "{tried} {fine}");
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
