//! A lost reuse key, and a tree that somebody wrote to: what nobody vouches for withdraws nothing unseen,
//! and is not signed unless `verify` would believe it.

use super::lost_key::lose;
use super::*;

const MANIFEST: &str = "bundles/regions/eu/bundle.yaml";

/// Replaces a part of a published file and, where the manifest lists it, its hash there.
fn forge(fleet: &Fleet, path: &str, from: &str, to: &str) {
    let text = fleet.read(path);
    assert!(text.contains(from), "{path} has no {from:?}");
    let new = text.replacen(from, to, 1);
    let hash = |text: &str| pouch_core::hash::sha256_hex(text.as_bytes());
    fleet.write(path, &new);
    if path != MANIFEST {
        fleet.write(MANIFEST, fleet.read(MANIFEST).replace(&hash(&text), &hash(&new)));
    }
}

fn taking(fleet: &Fleet) -> fleet::Ran {
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu", "--identity", "keys/eu.txt"])
}

#[test]
fn what_is_gone_and_in_use_stays() {
    let deployment = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ClusterDeployment\n\
                      metadata: {name: used, namespace: eu-team}\nspec: {credential: c0}\n";
    let fleet = published(3);
    fleet.write("manifests/deployment.yaml", deployment);
    fleet.delete("eu", "c0");
    fleet.render(&[]).ends(0).says("credential-in-use");
    let before = fleet.tree("bundles");
    assert!(before.contains_key("regions/eu/core/secrets/eu-team/c0.sops.yaml"), "carried");
    lose(&fleet);
    let ran = fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(4).outcome("eu", "held");
    ran.says("rekey-impossible").says("Credential eu-team/c0 is gone and ClusterDeployments still name it");
    assert_eq!(fleet.tree("bundles"), before);
    fleet.remove("manifests/deployment.yaml");
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(0).outcome("eu", "published");
}

/// Nor does what nobody can tell: whether something still uses it, or makes it.
#[test]
fn what_may_be_in_use_or_made_stays() {
    let object = |kind: &str, metadata: &str, spec: &str| {
        format!("apiVersion: k0rdent.mirantis.com/v1beta1\nkind: {kind}\nmetadata: {{{metadata}}}\nspec: {spec}\n")
    };
    let deployment = |spec: &str| object("ClusterDeployment", "name: used, namespace: eu-team", spec);
    // A rule hands out what stands in the system namespace.
    let source = "{identityRef: {apiVersion: v1, kind: Secret, name: c0, namespace: kcm-system}}";
    let source = object("Credential", "name: c0, namespace: kcm-system", source);
    let rules = |rules: &str| {
        format!("{source}---\n{}", object("AccessManagement", "name: kcm", &format!("{{accessRules: {rules}}}")))
    };
    for (unknown, code, says, known) in [
        (
            deployment("{credential: [c0]}"),
            "deletion-unproved",
            "Credential eu-team/c0 is gone, and whether ClusterDeployments still name it is unknown",
            deployment("{credential: c1}"),
        ),
        (
            rules("7"),
            "unreadable-object",
            "Credential eu-team/c0 may still exist: the objects that would tell were not read or not understood",
            rules("[]"),
        ),
    ] {
        let fleet = published(3);
        fleet.delete("eu", "c0");
        fleet.write("manifests/unknown.yaml", &unknown);
        fleet.render(&[]).says(code);
        let before = fleet.tree("bundles");
        assert!(before.contains_key("regions/eu/core/secrets/eu-team/c0.sops.yaml"), "{code}: carried");
        lose(&fleet);
        let command = ["rekey", "--new-reuse-key", "--region", "eu"];
        let ran = fleet.run(&command).ends(4).outcome("eu", "held");
        ran.says("rekey-impossible").says(says).says("or pass --identity FILE to open what is published");
        assert_eq!(fleet.tree("bundles"), before, "{code}");
        // What is published needs no source that could tell.
        taking(&fleet).ends(0).outcome("eu", "published");
        assert!(fleet.tree("bundles").contains_key("regions/eu/core/secrets/eu-team/c0.sops.yaml"), "{code}");
        fleet.write("manifests/unknown.yaml", &known);
        fleet.private("reuse.key", pouch_core::reuse::ReuseKey::to_text(&[9; 32]));
        fleet.run(&command).ends(0).outcome("eu", "published");
        assert!(!fleet.tree("bundles").contains_key("regions/eu/core/secrets/eu-team/c0.sops.yaml"), "{code}");
    }
}

/// The brake counts by files where the manifest was emptied, shortened, torn or removed.
#[test]
fn no_manifest_switches_the_brake_off() {
    type Way = fn(&Fleet);
    let ways: [(&str, Way); 4] = [
        ("emptied", |fleet| {
            let text = fleet.read(MANIFEST);
            let (head, rest) = text.split_once("\nobjects:\n").unwrap();
            let (_, tail) = rest.split_once("\nrecipients:").unwrap();
            fleet.write(MANIFEST, format!("{head}\nobjects: []\nrecipients:{tail}"));
        }),
        ("removed", |fleet| fleet.remove(MANIFEST)),
        ("torn", |fleet| fleet.write(MANIFEST, "kind: [")),
        ("unreadable files", |fleet| {
            fleet.remove(MANIFEST);
            for n in 1..8 {
                fleet.write(&format!("bundles/regions/eu/core/secrets/eu-team/c{n}.sops.yaml"), "[");
            }
        }),
    ];
    for (name, way) in ways {
        let fleet = published(8);
        lose(&fleet);
        way(&fleet);
        let before = fleet.tree("bundles");
        // Two are within the budget, which a manifest that was meddled with does not have.
        for n in 6..8 {
            fleet.delete("eu", &format!("c{n}"));
        }
        let command = ["rekey", "--new-reuse-key", "--region", "eu"];
        let few = fleet
            .run(&command)
            .ends(4)
            .outcome("eu", "held")
            .says("deletions-held")
            .says("every withdrawal must be accepted");
        assert!(few.stdout.contains("2 withdrawn"), "{name}: {}", few.stdout);
        let stale = few.acceptance("--accept-deletions", "eu");
        for n in 1..6 {
            fleet.delete("eu", &format!("c{n}"));
        }
        let accepting = |digest: &str| fleet.run(&[&command[..], &["--accept-deletions", digest]].concat());
        let many = accepting(&stale).ends(4).says("7 of its 8 objects").says("Secret eu-team/c1");
        let many = many.says("let nothing through: it is spent or mistyped");
        assert_eq!(fleet.tree("bundles"), before, "{name}");
        accepting(&many.acceptance("--accept-deletions", "eu")).ends(0);
        assert_eq!(opened(&fleet, &fleet.tree("bundles"), "eu", "keys/eu.txt").len(), 1, "{name}");
    }
}

#[test]
fn a_manifest_that_lost_nothing_asks_for_nothing() {
    let fleet = published(3);
    lose(&fleet);
    fleet.remove(MANIFEST);
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(0).outcome("eu", "published");
}

/// Who joins is asked for also where the manifest that named the recipients is gone.
#[test]
fn who_joins_is_asked_for_by_what_the_files_say() {
    let fleet = published(2);
    lose(&fleet);
    fleet.remove(MANIFEST);
    let second = new_identity(&fleet, "keys/second.txt");
    configured(&fleet, "eu", &[EU, &second]);
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(4).says("recipient-added").says(&second);
}

/// Adopting asks for neither, and says what goes.
#[test]
fn adopting_says_what_it_removes() {
    let fleet = published(6);
    fleet.remove(MANIFEST);
    for n in 1..6 {
        fleet.delete("eu", &format!("c{n}"));
    }
    let ran = fleet.render(&["--replace-unsigned", "eu"]).ends(0).outcome("eu", "published");
    assert!(ran.stdout.contains("5 withdrawn"), "{}", ran.stdout);
}

#[test]
fn what_verify_would_not_believe_is_not_signed() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: forged\n";
    let object = |text: &str| {
        format!(
            "- key:\n    group: rbac.authorization.k8s.io\n    kind: ClusterRoleBinding\n    name: forged\n  \
             neededBy: []\n  path: regions/eu/identities/clusterrolebinding.rbac.authorization.k8s.io/forged.yaml\n  \
             sha256: {}\n  state: current\nrecipients:\n",
            pouch_core::hash::sha256_hex(text.as_bytes())
        )
    };
    let fleet = published(2);
    lose(&fleet);
    let honest = fleet.read(MANIFEST);
    let path = "bundles/regions/eu/identities/clusterrolebinding.rbac.authorization.k8s.io/forged.yaml";
    fleet.write(path, role);
    fleet.write(MANIFEST, honest.replacen("recipients:\n", &object(role), 1));
    let before = fleet.tree("bundles");
    taking(&fleet).ends(4).outcome("eu", "held").says("rekey-impossible").says("forged.yaml");
    // What would be held must be said before it is.
    let dry = fleet.run(&["rekey", "--new-reuse-key", "--region", "eu", "--identity", "keys/eu.txt", "--dry-run"]);
    dry.ends(0).says("rekey-impossible");
    assert_eq!(fleet.tree("bundles"), before);
}

/// What steers consumers follows from the configuration, whatever stands there.
#[test]
fn open_files_are_written_anew() {
    let fleet = published(2);
    let before = fleet.tree("bundles");
    lose(&fleet);
    forge(&fleet, "bundles/flux/eu/core.yaml", "  prune: ", "  postBuild: {substitute: {a: b}}\n  prune: ");
    forge(&fleet, "bundles/regions/eu/core/secrets/kustomization.yaml", "resources:\n", "namePrefix: x\nresources:\n");
    taking(&fleet).ends(0).outcome("eu", "published").says("taken at their own word");
    let after = fleet.tree("bundles");
    assert_eq!(changed(&before, &after), of_rekey(&after, "eu"));
    fleet.run(&["verify", "--region", "eu", "bundles"]).ends(0);
}
