//! Bad input: a clear message, nothing wrong published, nothing quoted.

use pouch_core::reuse::ReuseKey;
use sha2::{Digest as _, Sha256};

use super::*;

const A: &str = "bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml";
const B: &str = "bundles/regions/eu/core/secrets/eu-team/c1.sops.yaml";
const MANIFEST: &str = "bundles/regions/eu/bundle.yaml";
const BY_IDENTITY: [&str; 5] = ["rekey", "--region", "eu", "--identity", "keys/eu.txt"];

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts other text into a file, and, as who has no reuse key would, its hash into the manifest.
fn forge(fleet: &Fleet, path: &str, text: &str) {
    let manifest = fleet.read(MANIFEST);
    let (old, new) = (hex(&fleet.read(path)), hex(text));
    assert!(manifest.contains(&old), "{path}");
    fleet.write(MANIFEST, manifest.replace(&old, &new));
    fleet.write(path, text);
}

#[test]
fn identities_that_open_nothing_are_named() {
    let fleet = published(2);
    let before = fleet.tree("bundles");
    let other = new_identity(&fleet, "keys/other.txt");
    let ran = fleet.run(&["rekey", "--identity", "keys/other.txt"]).ends(64);
    ran.says("open none of the regions");
    // One of two: the other one stays, and says for whom it is sealed.
    let ran = fleet.run(&["rekey", "--identity", "keys/other.txt", "--identity", "keys/us.txt"]).ends(4);
    let ran = ran.outcome("eu", "held").outcome("us", "published").says("rekey-impossible");
    assert!(ran.stderr.contains(EU) && ran.stderr.contains(&other), "{}", ran.stderr);
    assert_eq!(changed(&before, &fleet.tree("bundles")), of_rekey(&before, "us"));

    let secret = fleet.read("keys/eu.txt").lines().find(|line| line.starts_with("AGE-SECRET")).unwrap().to_owned();
    let before = fleet.stamps("bundles");
    for (text, says) in [
        (String::new(), "it holds no identity"),
        (format!("{EU}\n"), "line 1 of the file of identities cannot be used: this is a recipient"),
        (format!("\n{}Q\n", &secret[..60]), "line 2"),
        ("-----BEGIN AGE ENCRYPTED FILE-----\n".to_owned(), "it is itself encrypted"),
    ] {
        fleet.private("keys/bad.txt", &text);
        let ran = fleet.run(&["rekey", "--identity", "keys/bad.txt"]).ends(64).says(says);
        assert!(!ran.stderr.contains(&secret[20..50]), "{}", ran.stderr);
    }
    fleet.run(&["rekey", "--identity", "keys/none.txt"]).ends(64).says("is not there");
    assert_eq!(fleet.stamps("bundles"), before);
}

#[test]
fn an_identity_that_everybody_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let fleet = published(1);
    std::fs::set_permissions(fleet.path("keys/eu.txt"), std::fs::Permissions::from_mode(0o644)).unwrap();
    fleet.run(&BY_IDENTITY).ends(0).says("chmod 600");
}

#[test]
fn regions_that_there_are_not_are_named() {
    let fleet = published(1);
    let before = fleet.stamps("bundles");
    fleet.run(&["rekey", "--region", "eux"]).ends(64).says("no region eux").says("eu, us");
    fleet.run(&["rekey", "--region", "all"]).ends(64).says("no region all");
    fleet.run(&["rekey", "--accept-recipients", "all=0123456789abcdef"]).ends(64);
    for (config, says) in [
        ("recipients: []", "recipients"),
        (&format!("recipients: [{EU}, {EU}]"), "twice"),
        (&format!("recipients: [{US}]"), "us"),
    ] {
        let fleet = published(1);
        fleet.configure(&format!("recipients: [{EU}]"), config);
        let before = fleet.stamps("bundles");
        for way in [&["rekey"][..], &BY_IDENTITY] {
            fleet.run(way).ends(64).says(says);
        }
        assert_eq!(fleet.stamps("bundles"), before);
    }
    assert_eq!(fleet.stamps("bundles"), before);
}

#[test]
fn reuse_keys_that_cannot_be_used_are_refused() {
    let fleet = published(1);
    let before = fleet.stamps("bundles");
    let good = ReuseKey::to_text(&[9; 32]);
    for text in ["", "POUCH-REUSE-KEY-1QQQQ", &good[..74], &good.to_lowercase(), "hunter2-hunter2"] {
        fleet.private("reuse.key", text);
        let ran = fleet.run(&["rekey", "--new-reuse-key"]).ends(64).says("reuse.key");
        assert!(text.len() < 8 || !ran.stderr.contains(text), "{}", ran.stderr);
    }
    // Another fleet's: it vouches for nothing here.
    fleet.private("reuse.key", &good);
    fleet.run(&["rekey"]).ends(4).says("unsigned-bundle");
    fleet.run(&BY_IDENTITY).ends(4).says("unsigned-bundle");
    assert_eq!(fleet.stamps("bundles"), before);
}

/// From the sources a file that was exchanged is written anew; what is published cannot be, so its region
/// stays.
#[test]
fn ciphertext_that_was_moved_is_not_opened() {
    let fleet = published(3);
    let sound = fleet.tree("bundles");
    let (a, b) = (fleet.read(A), fleet.read(B));
    fleet.write(A, &b);
    fleet.write(B, &a);
    let before = fleet.tree("bundles");
    let ran = fleet.run(&BY_IDENTITY).ends(4).says("rekey-impossible").outcome("eu", "held");
    assert!(ran.stderr.contains("c0.sops.yaml does not match the manifest"), "{}", ran.stderr);
    assert_eq!(fleet.tree("bundles"), before);
    fleet.run(&["rekey"]).ends(0).says("not-as-published");
    let healed = fleet.tree("bundles");
    prove(&fleet, &sound, &healed, "eu", ("keys/eu.txt", "keys/eu.txt"), &[EU]);
}

/// Whoever may write to the repository, where the reuse key is lost and the bundle is taken at its word: what
/// the files themselves prove still holds.
#[test]
fn forgeries_in_an_unsigned_bundle_are_seen() {
    let taken = [&BY_IDENTITY[..], &["--new-reuse-key"]].concat();
    let case = |what: &str, forgery: &dyn Fn(&Fleet), says: &str| {
        let fleet = published(2);
        fleet.private("reuse.key", ReuseKey::to_text(&[7; 32]));
        forgery(&fleet);
        let before = fleet.stamps("bundles");
        let ran = fleet.run(&taken);
        assert_eq!(ran.code, 4, "{what}: {}{}", ran.stdout, ran.stderr);
        ran.says(says);
        assert_eq!(fleet.stamps("bundles"), before, "{what}");
    };
    let moved = |fleet: &Fleet| {
        let b = fleet.read(B);
        forge(fleet, A, &b);
    };
    case("moved between two Secrets", &moved, "it holds another object");
    let leaf = |text: &str| text.split("value: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let spliced = |fleet: &Fleet| {
        let (a, b) = (fleet.read(A), fleet.read(B));
        forge(fleet, A, &a.replace(&leaf(&a), &leaf(&b)));
    };
    case("a value moved", &spliced, "cannot be opened");
    let renamed = |fleet: &Fleet| {
        let b = fleet.read(B);
        forge(fleet, A, &b.replace("name: c1", "name: c0"));
    };
    case("moved and renamed", &renamed, "the MAC does not fit");
    let region = |fleet: &Fleet| {
        let other = fleet.read("bundles/regions/us/core/secrets/us-team/c0.sops.yaml");
        forge(fleet, A, &other.replace("us-team", "eu-team").replace(US, EU));
    };
    case("moved between two regions", &region, "no identity that was given opens it");
    let readers = |fleet: &Fleet| {
        let a = fleet.read(A);
        forge(fleet, A, &a.replace(EU, US));
    };
    case("stanzas of others", &readers, "other recipients than its bundle");
    let plain = |fleet: &Fleet| {
        let a = fleet.read(A);
        let name = a.replace(&leaf(&a), "aGFja2Vk");
        forge(fleet, A, &name);
    };
    case("a value in the clear", &plain, "is not sealed");
    let header = |fleet: &Fleet| {
        let a = fleet.read(A);
        let body: Vec<&str> = a.lines().filter(|line| !line.starts_with('#')).collect();
        forge(fleet, A, &(body.join("\n") + "\n"));
    };
    case("no header", &header, "no sealed file as pouch writes it");
    let edit = |from: &'static str, to: &'static str| {
        move |fleet: &Fleet| {
            let text = fleet.read(MANIFEST);
            assert!(text.contains(from), "{text}");
            fleet.write(MANIFEST, text.replace(from, to));
        }
    };
    let up = edit("path: regions/eu/core/secrets/eu-team/c0.sops.yaml", "path: regions/eu/../us/c0.sops.yaml");
    case("a path that leads out", &up, "unsigned-bundle");
    case("an entry that is not there", &edit("name: c0\n", "name: c9\n"), "unsigned-bundle");
    case("another fleet", &edit("fleet: acme", "fleet: acne"), "unsigned-bundle");
    let foreign = |fleet: &Fleet| fleet.write("bundles/regions/eu/core/secrets/eu-team/x.sops.yaml", "x");
    case("a foreign file", &foreign, "foreign-file");
}

/// With the reuse key, a manifest that was touched is worth nothing.
#[test]
fn forged_manifests_hold_their_region() {
    for (from, to) in
        [("state: current", "state: carried"), ("c0.sops.yaml", "../c0.sops.yaml"), ("sha256: ", "sha256: 0")]
    {
        for way in [&["rekey", "--region", "eu"][..], &BY_IDENTITY] {
            let fleet = published(2);
            let text = fleet.read(MANIFEST);
            fleet.write(MANIFEST, text.replacen(from, to, 1));
            let before = fleet.stamps("bundles");
            fleet.run(way).ends(4).says("unsigned-bundle").outcome("eu", "held");
            assert_eq!(fleet.stamps("bundles"), before);
        }
    }
}
