//! One bad file: what it might hold is in doubt, and what stood in it when it was published, and nothing else.

use crate::support::fleet::{Fleet, credential, secret};

/// The text of a Credential with its Secret, each in a file of its own.
fn pair(fleet: &Fleet, namespace: &str, name: &str, value: &str) {
    fleet.write(&format!("manifests/{name}.yaml"), credential("eu", namespace, name, ["v1", "Secret", name]));
    fleet.write(&format!("manifests/{name}-secret.yaml"), secret(namespace, name, value));
}

fn file(namespace: &str, name: &str) -> String {
    format!("bundles/regions/eu/core/secrets/{namespace}/{name}.sops.yaml")
}

/// A fleet in which two teams have published a Credential each, and the brake stops nothing.
fn two_teams() -> Fleet {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("regions:", "limits: {deletions: {claimants: 9, percent: 100, most: 100, keep: 0}}\nregions:");
    pair(&fleet, "team-a", "a", "token: one");
    pair(&fleet, "team-b", "b", "token: two");
    fleet.render(&[]).ends(0);
    fleet
}

/// Files that say nothing of what they held.
const BAD: [(&str, &[u8]); 12] = [
    ("empty", b""),
    ("nothing but zeros", b"\0\0\0\0"),
    ("cut within a value", b"apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: \"a"),
    ("a key twice in its last line", b"apiVersion: v1\nkind: ConfigMap\nkind: ConfigMap\n"),
    ("a List without an end", b"apiVersion: v1\nkind: List\nitems: [{"),
    ("a List without items", b"apiVersion: v1\nkind: List\n"),
    ("a template of Helm", b"{{- if .Values.on }}\nkind: {{ .Values.kind }}\n{{- end }}\n"),
    ("a template of Jinja", b"{% for x in all %}\n- {{ x }}\n{% endfor %}\n"),
    ("a tag", b"password: !secret db_password\n"),
    ("an error page", b"<html>502 Bad Gateway</html>\n"),
    ("escapes", b"a: \"\\x41\"\nb: [\n"),
    ("no UTF-8", b"name: \xff\xfe\n"),
];

#[test]
fn a_bad_file_delays_none_and_loses_nothing_that_was_in_it() {
    for (what, bad) in BAD {
        let fleet = two_teams();
        let theirs = fleet.read(&file("team-a", "a"));
        // A file that nothing was published from: everybody goes on, newcomers too, and what is gone goes.
        fleet.write("manifests/other.yaml", bad);
        fleet.write("manifests/a-secret.yaml", secret("team-a", "a", "token: rotated"));
        pair(&fleet, "team-c", "c", "token: new");
        fleet.remove("manifests/b.yaml");
        let ran = fleet.render(&[]).ends(3);
        assert_ne!(fleet.read(&file("team-a", "a")), theirs, "{what}: {}", ran.stderr);
        assert!(fleet.has(&file("team-c", "c")), "{what}: {}", ran.stderr);
        assert!(!fleet.has(&file("team-b", "b")), "{what}: {}", ran.stderr);
        assert!(!ran.stderr.contains("was not read completely"), "{what}: {}", ran.stderr);
        // The file of a Credential: it alone keeps what it has.
        let fleet = two_teams();
        let kept = fleet.read(&file("team-b", "b"));
        fleet.write("manifests/b.yaml", bad);
        fleet.write("manifests/a-secret.yaml", secret("team-a", "a", "token: rotated"));
        let ran = fleet.render(&[]).ends(3).says("Credential team-b/b");
        assert_eq!(fleet.read(&file("team-b", "b")), kept, "{what}: {}", ran.stderr);
        // It stays so in the next run, which knows it from what this one wrote.
        fleet.render(&[]).ends(3);
        assert_eq!(fleet.read(&file("team-b", "b")), kept, "{what}");
        // The control: a file that is gone is no bad one.
        fleet.remove("manifests/b.yaml");
        fleet.render(&[]).ends(0);
        assert!(!fleet.has(&file("team-b", "b")), "{what}");
    }
}

#[test]
fn an_object_that_was_moved_out_of_a_file_that_is_empty_now_is_where_it_is() {
    let fleet = two_teams();
    fleet.write("manifests/b.yaml", "");
    fleet.write("manifests/moved.yaml", credential("eu", "team-b", "b", ["v1", "Secret", "b"]));
    fleet.write("manifests/b-secret.yaml", secret("team-b", "b", "token: rotated"));
    let before = fleet.read(&file("team-b", "b"));
    fleet.render(&[]).ends(3);
    assert_ne!(fleet.read(&file("team-b", "b")), before);
    let bundle = fleet.read("bundles/regions/eu/bundle.yaml");
    assert!(bundle.contains("  name: b\n  namespace: team-b\n  path: moved.yaml\n  source: manifests\n"), "{bundle}");
}

#[test]
fn what_hands_out_a_credential_is_kept_with_its_file() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("regions:", "limits: {deletions: {claimants: 9, percent: 100, most: 100, keep: 0}}\nregions:");
    let access = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: AccessManagement\nmetadata: {name: kcm}\nspec:\n  \
                  accessRules:\n  - targetNamespaces: {list: [team-a]}\n    credentials: [shared]\n";
    fleet.write("manifests/access.yaml", access);
    fleet.write("manifests/shared.yaml", credential("eu", "kcm-system", "shared", ["v1", "Secret", "shared"]));
    fleet.write("manifests/shared-secret.yaml", secret("kcm-system", "shared", "token: x"));
    fleet.render(&[]).ends(0);
    let there = file("team-a", "shared");
    assert!(fleet.has(&there));
    for name in ["access", "shared"] {
        let path = format!("manifests/{name}.yaml");
        let text = fleet.read(&path);
        fleet.write(&path, "");
        let ran = fleet.render(&[]).ends(3);
        assert!(fleet.has(&there), "{name}: {}", ran.stderr);
        fleet.write(&path, text);
        fleet.render(&[]).ends(0);
    }
    // The control: without the file it goes.
    fleet.remove("manifests/access.yaml");
    fleet.render(&[]).ends(0);
    assert!(!fleet.has(&there));
}

const CLUSTER: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: prod, namespace: team-a}
spec: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereCluster, name: prod}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereCluster
metadata: {name: prod, namespace: team-a}
spec: {failureDomainSelector: {matchLabels: {site: a}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereMachineTemplate
metadata: {name: gpu, namespace: team-a}
spec: {template: {spec: {identityRef: {kind: VSphereClusterIdentity, name: machines}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereClusterIdentity
metadata: {name: machines}
spec: {secretName: machines, allowedNamespaces: {selector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereClusterIdentity
metadata: {name: zones}
spec: {secretName: zones, allowedNamespaces: {selector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}}
"#;

/// Nothing refers to a MachineDeployment, nor to a failure domain that is selected: without a note, a file that says
/// nothing would look like one without them.
#[test]
fn what_makes_machines_and_failure_domains_are_kept_with_their_files() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("regions:", "limits: {deletions: {claimants: 9, percent: 100, most: 100, keep: 0}}\nregions:");
    fleet.configure("  eu: {", "  eu: {clusters: ['team-a/*'], ");
    fleet.write("manifests/cluster.yaml", CLUSTER);
    fleet.write(
        "manifests/machines.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: gpu, namespace: team-a}\nspec: \
         {clusterName: prod, template: {spec: {infrastructureRef: {apiVersion: \
         infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachineTemplate, name: gpu}}}}\n",
    );
    fleet.write(
        "manifests/zones.yaml",
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: VSphereDeploymentZone\nmetadata: {name: z, labels: \
         {site: a}}\nspec: {identityRef: {kind: VSphereClusterIdentity, name: zones}}\n",
    );
    for name in ["machines", "zones"] {
        let path = format!("manifests/{name}-secret.yaml");
        fleet.write(&path, secret("kcm-system", name, "username: u, password: made-up"));
    }
    fleet.render(&[]).ends(0);
    for name in ["machines", "zones"] {
        let path = format!("manifests/{name}.yaml");
        let (text, there) = (fleet.read(&path), file("kcm-system", name));
        assert!(fleet.has(&there), "{name}");
        fleet.write(&path, "");
        // The next run knows it from what this one wrote.
        for _ in 0..2 {
            let ran = fleet.render(&[]).ends(3).says("machines-wait");
            assert!(fleet.has(&there), "{name}: {}", ran.stderr);
        }
        // The control: without the file it goes, after a hand-over.
        fleet.remove(&path);
        fleet.render(&[]).ends(0);
        fleet.render(&[]).ends(0);
        assert!(!fleet.has(&there), "{name}");
        fleet.write(&path, text);
        fleet.render(&[]).ends(0);
    }
}
