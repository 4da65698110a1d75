//! What an attacker did with sealed files, each once tried with success: values opened for somebody else, values
//! that came out readable, and withdrawals by what nobody could verify.

use std::fs;

use crate::fleet::CANARY;
use crate::sources::{DECRYPTION, FIRST, Sealed};

/// The type of a value is under no tag, so it tells no copy from another.
#[test]
fn a_copy_is_known_whatever_type_it_says() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    let text = fleet.read(FIRST);
    let relabelled =
        text.replace("    name: c0\n    namespace: eu-team\n", "    name: c\n    namespace: \"0eu-team\"\n");
    let data = relabelled.lines().find(|line| line.contains("value: ENC")).unwrap();
    let relabelled = relabelled.replace(data, &data.replace("type:str", "type:bytes"));
    assert!(relabelled.contains("type:bytes"));
    fleet.write("manifests/eu-c1-secret.yaml", &relabelled);
    let ran = fleet.render(&[]).ends(3).says("error[copied-ciphertext]");
    assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
    assert!(!sealed.published("eu", "c0").exists());
}

/// What has its namespace from its source is bound to none, and would be another's object in another source.
#[test]
fn a_sealed_object_says_its_namespace_itself() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.configure(DECRYPTION, &format!("{DECRYPTION}, defaultNamespace: eu-team"));
    fleet.render(&[]).ends(0);
    fleet.write(FIRST, "apiVersion: v1\nkind: Secret\nmetadata: {name: c0}\nstringData: {value: x}\n");
    sealed.seal(FIRST, &sealed.own);
    fleet.render(&[]).ends(3).says("error[undecryptable-source]").says("it says no namespace");
}

/// Only values of Secrets are published sealed: nothing else that was sealed comes out.
#[test]
fn what_was_sealed_elsewhere_in_an_object_is_not_published_in_clear() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    fleet.configure("regions:", "keep: {annotations: [note]}\nregions:");
    let canary = |what: &str| format!("{CANARY}-{what}");
    fleet.write(
        FIRST,
        &format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: c0, namespace: eu-team, annotations: {{note: {}}}}}\n\
             stringData: {{value: x}}\n",
            canary("annotation")
        ),
    );
    sealed.seal_by(FIRST, &sealed.own, "encrypted_regex: '^(annotations|data|stringData)$'");
    fleet.write(
        "manifests/companion.yaml",
        &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c1-resource-template, namespace: eu-team}}\n\
             data: {{template: {}}}\n",
            canary("companion")
        ),
    );
    sealed.seal("manifests/companion.yaml", &sealed.own);
    fleet.write("manifests/eu-c9.yaml", &fleet.read("manifests/eu-c0.yaml").replace("c0", "c9"));
    sealed.seal_by("manifests/eu-c9.yaml", &sealed.own, "encrypted_regex: ^spec$");
    let ran = fleet
        .render(&[])
        .ends(3)
        .says("data.template is encrypted, and would be published or said in clear")
        .says("spec.identityRef.apiVersion is encrypted");
    assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
    for (path, bytes) in fleet.tree("bundles") {
        assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()), "{path}");
    }
}

/// What cannot be verified says nothing: not that a Secret must stay, nor that a Credential went elsewhere.
#[test]
fn nothing_that_is_not_verified_withdraws() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    let credential = "manifests/eu-c0.yaml";
    sealed.seal(credential, &sealed.own);
    let (secret, whole) = (fleet.read(FIRST), fleet.read(credential));
    fleet.render(&[]).ends(0);
    let published = fs::read(sealed.published("eu", "c0")).unwrap();
    let is_kept = |what: &str| {
        let ran = fleet.render(&[]).ends(3);
        assert_eq!(fs::read(sealed.published("eu", "c0")).ok().as_ref(), Some(&published), "{what}: {}", ran.stderr);
        fleet.write(FIRST, &secret);
        fleet.write(credential, &whole);
    };
    for open in [true, false] {
        if !open {
            fleet.configure(DECRYPTION, "directory: {path: manifests}");
        }
        sealed.edit(FIRST, |text| text.replace("kind: Secret\n", "kind: Secret\ntype: helm.sh/release.v1\n"));
        is_kept("a type that never leaves");
        sealed.edit(FIRST, |text| {
            text.replace(
                "    name: c0\n",
                "    annotations:\n        kubernetes.io/service-account.name: x\n    name: c0\n",
            )
        });
        is_kept("a service account's annotation");
        sealed.edit(credential, |text| text.replace("region: eu", "region: us"));
        is_kept("another region");
        sealed.edit(credential, |text| {
            text.replace(
                "    name: c0\n",
                "    labels:\n        k0rdent.mirantis.com/managed: \"true\"\n    name: c0\n",
            )
        });
        is_kept("k0rdent's label");
    }
}

/// A ClusterDeployment that cannot be read may use any Credential of its namespace.
#[test]
fn a_deployment_that_says_nothing_keeps_what_it_may_use() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.configure(DECRYPTION, "directory: {path: manifests}");
    for region in ["eu", "us"] {
        fleet.secret(region, "c0", "value: x");
    }
    fleet.credential("eu", "c1", "other");
    fleet.render(&[]).ends(0);
    let deployment = |spec: &str| {
        format!(
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ClusterDeployment\n\
             metadata: {{name: d, namespace: eu-team}}\nspec: {spec}\n"
        )
    };
    fleet.remove("manifests/eu-c0.yaml");
    let path = "manifests/deployment.yaml";
    for spec in ["{credential: [c0]}", "[c0]", "{credential: 'ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]'}"] {
        fleet.write(path, &deployment(spec));
        fleet.render(&[]).says("warning[deletion-unproved]");
        assert!(sealed.published("eu", "c0").exists(), "{spec}");
    }
    fleet.write(path, &deployment("{credential: c0}"));
    sealed.seal_by(path, &sealed.own, "encrypted_regex: ^spec$");
    fleet.render(&[]);
    assert!(sealed.published("eu", "c0").exists(), "a sealed one");
    // One that says what it uses keeps that alone.
    fleet.write(path, &deployment("{credential: c1}"));
    fleet.render(&[]).ends(0);
    assert!(!sealed.published("eu", "c0").exists());
}
