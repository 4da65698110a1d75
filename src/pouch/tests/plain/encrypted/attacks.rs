//! What an attacker did with sealed files, each once tried with success: values opened for somebody else, values
//! that came out readable, and withdrawals by what nobody could verify.

use std::fs;

use super::sources::{DECRYPTION, FIRST, Sealed};
use crate::support::fleet::CANARY;

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

/// Only values of Secrets are published sealed: nothing else that was sealed comes out.
#[test]
fn what_was_sealed_elsewhere_in_an_object_is_not_published_in_clear() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    fleet.configure("regions:", "keepMetadata: {annotations: [note]}\nregions:");
    let canary = |what: &str| format!("{CANARY}-{what}");
    fleet.write(
        FIRST,
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: c0, namespace: eu-team, annotations: {{note: {}}}}}\n\
             stringData: {{value: x}}\n",
            canary("annotation")
        ),
    );
    sealed.seal_by(FIRST, &sealed.own, "encrypted_regex: '^(annotations|data|stringData)$'");
    fleet.write(
        "manifests/companion.yaml",
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c1-resource-template, namespace: eu-team}}\n\
             data: {{template: {}}}\n",
            canary("companion")
        ),
    );
    sealed.seal("manifests/companion.yaml", &sealed.own);
    fleet.write("manifests/eu-c9.yaml", fleet.read("manifests/eu-c0.yaml").replace("c0", "c9"));
    sealed.seal_by("manifests/eu-c9.yaml", &sealed.own, "encrypted_regex: ^spec$");
    let ran = fleet
        .render(&[])
        .ends(3)
        .says("data.template is encrypted, but would be published or shown in clear")
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
        fleet.write(path, deployment(spec));
        fleet.render(&[]).says("warning[deletion-unproved]");
        assert!(sealed.published("eu", "c0").exists(), "{spec}");
    }
    fleet.write(path, deployment("{credential: c0}"));
    sealed.seal_by(path, &sealed.own, "encrypted_regex: ^spec$");
    fleet.render(&[]);
    assert!(sealed.published("eu", "c0").exists(), "a sealed one");
    // One that says what it uses keeps that alone.
    fleet.write(path, deployment("{credential: c1}"));
    fleet.render(&[]).ends(0);
    assert!(!sealed.published("eu", "c0").exists());
}

/// Whoever copies a sealed value stops himself and not the one he copied from: the MAC tells the copy.
#[test]
fn a_copy_stops_nobody_but_itself() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    fleet.render(&[]).ends(0);
    let value = |text: &str| text.lines().find(|line| line.contains("value: ENC")).unwrap().to_owned();
    let (theirs, second) = (value(&fleet.read(FIRST)), fleet.read("manifests/eu-c1-secret.yaml"));
    sealed.edit("manifests/eu-c1-secret.yaml", |text| text.replace(&value(&text), &theirs));
    let ran = fleet
        .render(&[])
        .ends(3)
        .says("error[copied-ciphertext]: a sealed value of Secret eu-team/c1 stands in Secret eu-team/c0 too")
        .says("Its MAC does not verify, so it counts as the copy")
        .says("error[undecryptable-source]");
    assert!(!ran.stderr.contains("a sealed value of Secret eu-team/c0"), "{}", ran.stderr);
    // The one who was copied from goes on changing what he has.
    fleet.remove("manifests/eu-c1-secret.yaml");
    fleet.remove("manifests/eu-c1.yaml");
    fleet.render(&[]).ends(0);
    let copy = "manifests/eu-spare-secret.yaml";
    fleet.write(copy, second.replace("name: c1", "name: spare").replace(&value(&second), &theirs));
    let relabelled = |text: &str| text.replace("name: c0", "name: spare");
    for (what, text) in [
        ("a value in another document", fleet.read(copy)),
        ("the whole file under another name", relabelled(&fleet.read(FIRST))),
        ("without a block", relabelled(fleet.read(FIRST).split("sops:\n").next().unwrap())),
        ("a block that is none", relabelled(&fleet.read(FIRST)).replace("-----BEGIN AGE", "-----BEGIN EGA")),
    ] {
        fleet.write(copy, &text);
        let ran = fleet.render(&["--reseal", "eu"]).ends(0).outcome("eu", "published");
        assert!(!ran.stderr.contains("copied-ciphertext"), "{what}: {}", ran.stderr);
    }
    // A copy that verifies is another matter: then either may be the origin.
    let whole = fleet
        .read(FIRST)
        .replace("    name: c0\n    namespace: eu-team\n", "    name: c\n    namespace: \"0eu-team\"\n");
    fleet.write(copy, &whole);
    fleet
        .render(&["--reseal", "eu"])
        .ends(3)
        .says("a sealed value of Secret eu-team/c0 stands in Secret 0eu-team/c too");
}

/// A document whose namespace is mistyped is no object, and who copies its values no less a copier.
#[test]
fn a_copy_of_what_is_mistyped_is_opened_for_nobody() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.configure(DECRYPTION, &format!("{DECRYPTION}, defaultNamespace: elsewhere"));
    let whole = fleet.read(FIRST);
    fleet.write(FIRST, whole.replace("    namespace: eu-team\n", "    namespcae: eu-team\n"));
    let relabelled =
        whole.replace("    name: c0\n    namespace: eu-team\n", "    name: c\n    namespace: \"0eu-team\"\n");
    fleet.write("manifests/copy.yaml", relabelled);
    let named = fleet.read("manifests/eu-c0.yaml").replace("eu-team", "0eu-team").replace("c0", "c");
    fleet.write("manifests/copy-credential.yaml", named);
    let ran = fleet
        .render(&[])
        .ends(3)
        .says("error[mistyped]: Secret c0 has no field \"namespcae\"")
        .says("a sealed value of Secret 0eu-team/c stands in Secret elsewhere/c0 too");
    assert!(!fleet.has("bundles/regions/eu/core/secrets/0eu-team/c.sops.yaml"), "{}", ran.stderr);
}

/// The same across sources: whose identities open nothing of another's cannot stop him either.
#[test]
fn a_copy_in_another_tenant_s_source_stops_itself() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.configure(
        &format!("[{{name: manifests, {DECRYPTION}}}]"),
        &format!(
            "[{{name: manifests, {DECRYPTION}, provides: {{namespaces: [eu-team, us-team]}}}}, \
              {{name: theirs, directory: {{path: theirs}}, decryption: {{ageIdentityFile: keys/stranger.txt}}, \
              provides: {{namespaces: [their-team]}}}}]"
        ),
    );
    fleet.write("theirs/secret.yaml", fleet.read(FIRST).replace("eu-team", "their-team"));
    fleet.write("theirs/credential.yaml", fleet.read("manifests/eu-c0.yaml").replace("eu-team", "their-team"));
    let ran = fleet
        .render(&[])
        .ends(3)
        .says("a sealed value of Secret their-team/c0 stands in Secret eu-team/c0 too")
        .says("no identity of this source opens it");
    assert!(!ran.stderr.contains("a sealed value of Secret eu-team/c0"), "{}", ran.stderr);
    assert!(sealed.published("eu", "c0").exists());
    assert!(!fleet.has("bundles/regions/eu/core/secrets/their-team"));
}

/// SOPS seals documents, so an item of a `List` that has a block of its own opens nowhere, and says why.
#[test]
fn an_item_of_a_list_says_why_it_does_not_open() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    let item = |path: &str| fleet.read(path).trim_end().replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}\n", item(FIRST));
    fleet.remove(FIRST);
    fleet.write("manifests/list.yaml", &list);
    let says = "it is an item of a List and has a sops block of its own";
    let check = |code: &str| {
        let ran = fleet.render(&[]).ends(3).says(code).says(says).says("Write it as a document of its own");
        assert!(!ran.stderr.contains("no key is configured"), "{}", ran.stderr);
        assert!(!sealed.published("eu", "c0").exists());
    };
    check("error[undecryptable-source]");
    sealed.seal("manifests/eu-c0.yaml", &sealed.own);
    let list = format!("{list}- {}\n", item("manifests/eu-c0.yaml"));
    fleet.remove("manifests/eu-c0.yaml");
    fleet.write("manifests/list.yaml", &list);
    check("error[unparsable-document]");
    // Nor would a key help where none is configured.
    for name in ["eu-c1-secret", "us-c0-secret", "us-c1-secret"] {
        fleet.remove(&format!("manifests/{name}.yaml"));
    }
    fleet.configure(DECRYPTION, "directory: {path: manifests}");
    check("error[unparsable-document]");
}

/// What a source may not provide says nothing of the source, whether or not it opens.
#[test]
fn what_is_out_of_a_source_s_bounds_leaves_it_whole() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.configure(DECRYPTION, &format!("{DECRYPTION}, provides: {{namespaces: [eu-team, us-team]}}"));
    fleet.render(&[]).ends(0);
    let stray = "manifests/stray.yaml";
    for open in [true, false] {
        if !open {
            fleet.configure(DECRYPTION, "directory: {path: manifests}");
            for region in ["eu", "us"] {
                fleet.secret(region, "c0", &format!("value: {CANARY}-{region}-0"));
            }
        }
        let provider =
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: p}\nspec: {}\n";
        for (text, ends) in [
            (fleet.read("manifests/eu-c0.yaml").replace("eu-team", "other-team"), 0),
            (provider.to_owned(), 0),
            (fleet.read("manifests/eu-c0.yaml").replace("name: c0, ", "name: c9, "), 3),
        ] {
            fleet.write(stray, &text);
            sealed.seal_by(stray, &sealed.stranger, "encrypted_regex: ^spec$");
            let ran = fleet.render(&[]).ends(ends);
            let (says, other) = ("warning[not-provided-here]", "error[unparsable-document]");
            let (says, silent) = if ends == 0 { (says, other) } else { (other, says) };
            assert!(ran.stderr.contains(says) && !ran.stderr.contains(silent), "{}", ran.stderr);
        }
    }
}

/// Sources that open each other's files are told, wherever their identity comes from.
#[test]
fn sources_that_share_an_identity_are_told() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.write("keys/again.txt", format!("# another file\n{}", fleet.read("keys/own.txt")));
    let source = |name: &str, key: &str, namespaces: &str| {
        format!(
            "{{name: {name}, directory: {{path: {name}}}, decryption: {{ageIdentityFile: keys/{key}.txt}}, \
             provides: {{namespaces: [{namespaces}]}}}}"
        )
    };
    fleet.write("theirs/none.yaml", "# nothing yet\n");
    let config = fleet.read("pouch.yaml");
    let with = |key: &str, namespaces: &str| {
        let sources = [source("manifests", "own", "eu-team, us-team"), source("theirs", key, namespaces)];
        fleet.write("pouch.yaml", &config);
        fleet.configure(&format!("[{{name: manifests, {DECRYPTION}}}]"), &format!("[{}]", sources.join(", ")));
        fleet.render(&[]).ends(0).stderr
    };
    const TOLD: &str = "warning[shared-source-identity]";
    let told = with("again", "other");
    assert!(
        told.contains(TOLD)
            && told.contains(&format!("sources manifests, theirs open files with one identity, {}", sealed.own)),
        "{told}"
    );
    assert!(!with("stranger", "other").contains(TOLD));
    assert!(!with("again", "us-team, eu-team").contains(TOLD), "who may write one may write the other");
}
