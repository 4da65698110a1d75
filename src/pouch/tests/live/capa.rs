//! Identities of AWS as Cluster API Provider AWS takes them: an API server with its CRDs judges each that pouch publishes,
//! for Credentials and for Clusters without one.
//!
//! The CRDs are those of v2.13.0, as its Go module has them in config/crd.

use serde_json::Value;

use crate::rig::apiserver::ApiServer;
use crate::support::fleet::{EU, Fleet, secret};
use crate::support::root;

/// Every kind of identity, each field of a role, a chain of two roles, and the default of a Cluster that names none.
const OBJECTS: &str = r#"
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: acct}
spec: {secretRef: acct, allowedNamespaces: {list: [team-a]}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterControllerIdentity
metadata: {name: default}
spec: {allowedNamespaces: {}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterRoleIdentity
metadata: {name: first}
spec:
  roleARN: arn:aws:iam::123456789012:role/first
  sessionName: pouch
  durationSeconds: 900
  externalID: example
  inlinePolicy: '{"Version": "2012-10-17", "Statement": []}'
  policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"]
  sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: acct}
  allowedNamespaces: {selector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [team-a]}]}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterRoleIdentity
metadata: {name: second}
spec:
  roleARN: arn:aws:iam::123456789012:role/second
  sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: first}
  allowedNamespaces: {list: [team-a]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterRoleIdentity
metadata: {name: eks}
spec:
  roleARN: arn:aws:iam::123456789012:role/eks
  sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}
  allowedNamespaces: {}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: chain, namespace: team-a}
spec:
  region: eu
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterRoleIdentity, name: second}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: static, namespace: team-a}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: static}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: static, namespace: team-a}
spec: {region: eu-west-1, identityRef: {kind: AWSClusterStaticIdentity, name: acct}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: default, namespace: team-a}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: default}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: default, namespace: team-a}
spec: {region: eu-west-1}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eks, namespace: team-a}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedCluster, name: eks}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AWSManagedControlPlane, name: eks}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedCluster
metadata: {name: eks, namespace: team-a}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: eks, namespace: team-a}
spec: {region: eu-west-1, identityRef: {kind: AWSClusterRoleIdentity, name: eks}}
"#;

const IDENTITIES: [(&str, &str); 4] = [
    ("AWSClusterStaticIdentity", "acct"),
    ("AWSClusterRoleIdentity", "first"),
    ("AWSClusterRoleIdentity", "second"),
    ("AWSClusterRoleIdentity", "eks"),
];

#[test]
fn capas_crds_take_each_identity_that_pouch_publishes() {
    let Some(server) = ApiServer::start() else { return };
    if !server.install_crds() {
        return;
    }
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\nproviderInterfaces: {{builtin: v1.12}}\n\
         regions: {{eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, clusters: ['*/*']}}}}\n\
         companions: none\nreuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/all.yaml", OBJECTS);
    fleet.write("manifests/secret.yaml", secret("kcm-system", "acct", "AccessKeyID: a, SecretAccessKey: not-real"));
    let identity = std::fs::read_to_string(root().join("testdata/quickstart/keys/eu-west.txt")).unwrap();
    fleet.private("eu.agekey", identity);
    let ran = fleet.render(&["-v"]).ends(0);
    let text = fleet.run(&["unpack", "bundles", "--region=eu", "--identity=eu.agekey"]).ends(0).stdout;

    // The provider itself makes its own one, on every region.
    assert!(!text.contains("\nkind: AWSClusterControllerIdentity"), "{text}");
    server.kubectl_prints(["create", "namespace", "kcm-system"], "");
    let strictly = |text: &str| {
        server.kubectl(["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"], text)
    };
    let applied = strictly(&text);
    let said = String::from_utf8_lossy(&applied.stderr).into_owned();
    assert!(applied.status.success(), "{said}");
    for (kind, name) in IDENTITIES {
        let version = "infrastructure.cluster.x-k8s.io/v1beta2";
        let plural = kind.to_lowercase().replace("identity", "identities");
        let target = format!("/apis/{version}/{plural}/{name}");
        let answer = server.endpoint("admin").get(&target).unwrap();
        assert_eq!(answer.status, 200, "{kind} {name}\n{text}\n{}", ran.stderr);
        let found: Value = answer.value();
        assert!(found["spec"].is_object() && found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "pouch");
    }

    // The judge says no, too.
    for (from, to) in [
        ("durationSeconds: 900", "durationSeconds: 899"),
        ("sessionName:", "sessionNames:"),
        ("kind: AWSClusterStaticIdentity\n    name: acct", "kind: Secret\n    name: acct"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        assert!(!strictly(&text.replacen(from, to, 1)).status.success(), "{to}");
    }
}
