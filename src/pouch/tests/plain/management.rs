//! The management cluster as a region, from files: what goes there, and what is said of it.

use crate::support::fleet::{EU, Fleet};

const CREDENTIAL: &str = "\
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: web, namespace: team-a}
spec: {identityRef: {apiVersion: v1, kind: Secret, name: web, namespace: team-a}}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: team-a, labels: {k0rdent.mirantis.com/component: kcm, k0rdent.mirantis.com/managed: 'true'}}
stringData: {token: not-a-real-token}
";

const FILE: &str = "bundles/regions/hub/core/secrets/team-a/web.sops.yaml";

/// A region `hub`, and a Credential that names none.
fn fleet() -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
         regions:\n  hub:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n\
         reuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("manifests/web.yaml", CREDENTIAL);
    fleet
}

#[test]
fn it_gets_what_names_no_region() {
    let fleet = fleet();
    fleet.run(&["render"]).ends(0);
    assert!(!fleet.has(FILE));
    let ran = fleet.run(&["explain", "team-a/web"]).ends(0);
    assert!(ran.stdout.contains("(`management: true` makes one of them that)"), "{}", ran.stdout);
    assert!(!fleet.run(&["config"]).ends(0).stdout.contains("management: true"));

    fleet.configure("    recipients:", "    management: true\n    recipients:");
    assert!(fleet.run(&["config"]).ends(0).stdout.contains("management: true"));
    fleet.run(&["render"]).ends(0);
    let sealed = fleet.read(FILE);
    // Backups choose by the one label, and k0rdent lets go by the other.
    assert!(sealed.contains("k0rdent.mirantis.com/component: kcm\n"), "{sealed}");
    assert!(sealed.contains("k0rdent.mirantis.com/managed: \"false\"\n"), "{sealed}");
    fleet.run(&["verify"]).ends(0);
    let ran = fleet.run(&["explain", "team-a/web"]).ends(0);
    assert!(ran.stdout.contains("region hub"), "{}", ran.stdout);
    let ran = fleet.run(&["explain", "region", "hub"]).ends(0);
    assert!(ran.stdout.contains("it is the management cluster (by the configuration; "), "{}", ran.stdout);
    fleet.run(&["render"]).ends(0);
    assert_eq!(fleet.read(FILE), sealed);

    // Elsewhere nobody selects by that label, and a bundle that has it is not as pouch writes it.
    fleet.configure("    management: true\n", "");
    fleet.write("manifests/web.yaml", CREDENTIAL.replace("spec: {", "spec: {region: hub, "));
    let ran = fleet.run(&["verify"]).ends(8);
    assert!(ran.stderr.contains("error[unsafe-delivery]"), "{}", ran.stderr);
    fleet.run(&["render"]).ends(0);
    assert!(!fleet.read(FILE).contains("k0rdent.mirantis.com/component"));
    fleet.run(&["verify"]).ends(0);
}

#[test]
fn a_credential_that_names_it_is_for_a_region_of_that_name() {
    let fleet = fleet();
    fleet.configure("    recipients:", "    management: true\n    recipients:");
    fleet.write("manifests/web.yaml", CREDENTIAL.replace("spec: {", "spec: {region: hub, "));
    let ran = fleet.run(&["render"]).ends(3);
    assert!(ran.stderr.contains("error[unknown-region]"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("Remove spec.region, if the Credential is for the management cluster."),
        "{}",
        ran.stderr
    );
    assert!(!fleet.has(FILE));
}
