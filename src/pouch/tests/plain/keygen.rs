//! `pouch keygen`, through the built program: the files that it makes on this machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use pouch_core::yaml::read::typed;
use serde_json::Value;

use crate::support::fleet::{self, Fleet, Ran, is_pair};

fn git(fleet: &Fleet, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.args(arguments).current_dir(fleet.path(".")).status().unwrap().success());
}

fn manifest(text: &str) -> Value {
    typed(text).unwrap()
}

#[test]
fn a_pair_is_made_once_and_never_overwritten() {
    let fleet = Fleet::new();
    let ran = fleet.run(&["keygen", "eu"]).ends(0).says("recipients of region eu");
    is_pair(&fleet, "keys/eu.txt", &ran);
    assert_eq!(fleet.read("keys/.gitignore"), "*\n");
    let before = (fleet.tree("."), fleet.read("pouch.yaml"));
    fleet.run(&["keygen", "eu"]).ends(64).says("nothing is overwritten").says("`--write-identity keys/eu-2.txt`");
    symlink("nowhere", fleet.path("keys/us.txt")).unwrap();
    fleet.run(&["keygen", "us"]).ends(64).says("nothing is overwritten");
    fleet.remove("keys/us.txt");
    assert_eq!((fleet.tree("."), fleet.read("pouch.yaml")), before);
    // A region that the configuration does not have, a second pair for one that it has, and escrow.
    let ran = fleet.run(&["keygen", "ap-south"]).ends(0).says("  regions:\n    ap-south:\n");
    is_pair(&fleet, "keys/ap-south.txt", &ran);
    let ran = fleet.run(&["keygen", "eu", "--write-identity", "keys/eu-2.txt"]).ends(0);
    is_pair(&fleet, "keys/eu-2.txt", &ran);
    fleet.run(&["keygen", "eu"]).ends(64).says("`--write-identity keys/eu-3.txt`");
    let ran = fleet.run(&["keygen", "--escrow"]).ends(0).says("escrowRecipients: [age1");
    is_pair(&fleet, "keys/escrow.txt", &ran);
    fleet.run(&["keygen"]).ends(64).says("--escrow").says("--reuse-key");
    fleet.configure(
        "regions:",
        &format!(
            "escrowRecipients: [{}]
regions:",
            ran.stdout.trim()
        ),
    );
    fleet.run(&["keygen", "--escrow", "--write-identity", "keys/escrow-2.txt"]).ends(0).says("escrowRecipients: [age1");
    for arguments in [&["keygen", "../x"][..], &["keygen", "Eu"], &["keygen", "eu", "--escrow"]] {
        fleet.run(arguments).ends(64);
    }
    // The first key may come before the configuration, but not instead of one that was named.
    fleet.remove("pouch.yaml");
    fleet.run(&["keygen", "first"]).ends(0);
    fleet.run(&["keygen", "second", "-f", "other.yaml"]).ends(64);
}

/// What stderr says to write, taken word for word.
#[track_caller]
fn to_paste(ran: &Ran, start: &str) -> String {
    let line = ran.stderr.lines().find(|line| line.trim_start().starts_with(start));
    line.unwrap_or_else(|| panic!("nothing starts with {start}: {}", ran.stderr)).trim().to_owned()
}

#[test]
fn what_is_printed_to_paste_is_valid_and_the_next_step_is_named() {
    let fleet = Fleet::with_credentials(1);
    fleet.render(&[]).ends(0);
    fs::create_dir(fleet.path("keys")).unwrap();
    // Beside the recipient that is there.
    let ran = fleet.run(&["keygen", "eu", "--write-identity", "keys/eu-2.txt"]).ends(0);
    let line = to_paste(&ran, "recipients: [");
    assert!(line.contains(ran.stdout.trim()) && !ran.stderr.contains('…'), "{}", ran.stderr);
    let ran = ran.says("then run `pouch rekey --region eu`");
    fleet.configure(&format!("recipients: [{}]", fleet::EU), &line);
    fleet.run(&["rekey", "--region", "eu"]).ends(4).says("recipient-added").says(ran.stdout.trim());
    // For all regions.
    let ran = fleet.run(&["keygen", "--escrow"]).ends(0).says("then run `pouch rekey`");
    let first = to_paste(&ran, "escrowRecipients: [");
    fleet.configure("regions:", &format!("{first}\nregions:"));
    let ran = fleet.run(&["keygen", "--escrow", "--write-identity", "keys/escrow-2.txt"]).ends(0);
    fleet.configure(&first, &to_paste(&ran, "escrowRecipients: ["));
    fleet.run(&["config"]).ends(0);
    // In the file of a region's recipients.
    fleet.write("eu.recipients", format!("{}\n", fleet::EU));
    fleet.configure(&line, "recipientsFile: eu.recipients");
    let ran = fleet.run(&["keygen", "eu", "--write-identity", "keys/eu-3.txt"]).ends(0);
    let ran = ran.says("add a line to eu.recipients");
    assert!(!ran.stderr.contains("recipients: ["), "{}", ran.stderr);
    fleet.write("eu.recipients", format!("{}\n{}\n", fleet::EU, to_paste(&ran, "age1")));
    fleet.run(&["rekey", "--region", "eu"]).ends(4).says(ran.stdout.trim());
    // A new region.
    let ran = fleet.run(&["keygen", "ap-south"]).ends(0);
    let (_, block) = ran.stderr.split_once("  regions:\n").unwrap();
    let block = block.lines().take_while(|line| line.starts_with("    "));
    let block: Vec<&str> = block.filter_map(|line| line.strip_prefix("  ")).collect();
    fleet.configure("regions:\n", &format!("regions:\n{}\n", block.join("\n")));
    let ran = fleet.run(&["config"]).ends(0);
    assert!(ran.stdout.contains("ap-south"), "{}", ran.stdout);
}

#[test]
fn a_source_gets_no_identity() {
    let fleet = Fleet::new();
    fs::create_dir_all(fleet.path("manifests/sub")).unwrap();
    for path in ["manifests/eu.txt", "manifests/sub/eu.yaml"] {
        for flag in ["--write-identity", "--manifest"] {
            fleet.run(&["keygen", "eu", flag, path]).ends(64).says("the folder of source ");
        }
        fleet.run(&["keygen", "--reuse-key", path]).ends(64).says("the folder of source ");
        assert!(!fleet.has(path) && !fleet.has("keys/eu.txt"));
    }
    // One that has everything in it reads manifests, and no keys.
    fleet.configure("path: manifests", "path: .");
    fleet.run(&["keygen", "eu", "--manifest", "eu.yaml"]).ends(64).says("the folder of source ");
    fleet.run(&["keygen", "eu"]).ends(0);
    fleet.run(&["keygen", "eu", "--write-identity", "keys/eu-2.txt"]).ends(0);
}

#[test]
fn a_path_that_is_no_text_is_the_path_that_is_written() {
    use std::os::unix::ffi::OsStrExt as _;
    let fleet = Fleet::new();
    let name = std::ffi::OsStr::from_bytes(b"odd-\xff.txt");
    let answer = fleet.command(&["keygen", "eu", "--write-identity"]).arg(name).output().unwrap();
    assert_eq!(answer.status.code(), Some(0), "{}", String::from_utf8_lossy(&answer.stderr));
    assert!(fleet.path(".").join(name).is_file());
}

#[test]
fn a_reuse_key_is_made_with_the_same_care() {
    let fleet = Fleet::new();
    let ran = fleet.run(&["keygen", "--reuse-key"]).ends(0).says("--new-reuse-key");
    let key = fleet.read("keys/reuse.key");
    assert!(pouch_core::reuse::ReuseKey::parse(&key).is_ok() && ran.stdout.is_empty());
    assert!(!ran.stderr.contains("POUCH-REUSE-KEY"), "{}", ran.stderr);
    assert_eq!(fs::metadata(fleet.path("keys/reuse.key")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fleet.read("keys/.gitignore"), "*\n");
    fleet.run(&["keygen", "--reuse-key"]).ends(64).says("nothing is overwritten").says("--reuse-key keys/reuse-2.key");
    fleet.run(&["keygen", "--reuse-key", "bundles/reuse.key"]).ends(64).says("the folder of the bundles");
    fleet.run(&["keygen", "--reuse-key", "keys/other.key"]).ends(0).says("reuseKey: {file: keys/other.key");
    assert_ne!(fleet.read("keys/other.key"), key);
    assert_eq!(fleet.read("keys/reuse.key"), key);
    for more in [&["--escrow"][..], &["--write-identity", "x"], &["--manifest", "x"]] {
        fleet.run(&[&["keygen", "--reuse-key"], more].concat()).ends(64);
    }
    git(&fleet, &["init", "--quiet"]);
    fleet.run(&["keygen", "--reuse-key", "plain.key"]).ends(64).says("does not ignore it");
    // What a fleet that has lost its key is told to do.
    fs::remove_file(fleet.path("reuse.key")).unwrap();
    fleet.render(&[]).ends(64).says("`pouch keygen --reuse-key`");
}

#[test]
fn git_and_the_bundles_get_no_identity() {
    let fleet = Fleet::new();
    git(&fleet, &["init", "--quiet"]);
    fs::create_dir_all(fleet.path("plain")).unwrap();
    fleet.run(&["keygen", "eu", "--write-identity", "plain/eu.txt"]).ends(64).says("does not ignore it");
    fleet.run(&["keygen", "eu", "--write-identity", "absent/eu.txt"]).ends(64).says("folder");
    fleet.run(&["keygen", "eu", "--manifest", "plain/eu.yaml"]).ends(64).says("does not ignore it");
    symlink("../plain", fleet.path("manifests/link")).unwrap();
    fleet.run(&["keygen", "eu", "--write-identity", "manifests/link/eu.txt"]).ends(64).says("does not ignore it");
    fs::create_dir_all(fleet.path("bundles/regions")).unwrap();
    symlink("bundles", fleet.path("away")).unwrap();
    for path in ["bundles/eu.txt", "bundles/regions/eu.txt", "away/eu.txt"] {
        fleet.run(&["keygen", "eu", "--write-identity", path]).ends(64).says("the folder of the bundles");
    }
    fleet.run(&["keygen", "eu", "--write-identity", "keys/a", "--manifest", "keys/a"]).ends(64).says("one file");
    assert!(!fleet.has("plain/eu.txt") && !fleet.has("keys/eu.txt") && !fleet.has("plain/eu.yaml"));
    fleet.write(".gitignore", "plain/*.txt\n");
    fleet.run(&["keygen", "eu", "--write-identity", "plain/eu.txt"]).ends(0);
    // What git knows already it takes, ignored or not.
    fleet.write("plain/known.txt", "");
    git(&fleet, &["add", "--force", "plain/known.txt"]);
    fleet.remove("plain/known.txt");
    fleet.run(&["keygen", "eu", "--write-identity", "plain/known.txt"]).ends(64).says("does not ignore it");
    fleet.write("keys/.gitignore", "*\n!us.txt\n");
    fleet.run(&["keygen", "us"]).ends(64).says("keys/.gitignore");
    assert!(!fleet.has("keys/us.txt") && !fleet.has("plain/known.txt"));
}

#[test]
fn the_secret_is_what_the_region_reads() {
    let fleet = Fleet::new();
    fleet.configure("name: fleet}}", "name: fleet}, namespace: sync, decryption: {secretRef: region-key}}");
    let ran = fleet.run(&["keygen", "eu", "--manifest", "keys/eu.yaml"]).ends(0);
    is_pair(&fleet, "keys/eu.txt", &ran);
    assert_eq!(fs::metadata(fleet.path("keys/eu.yaml")).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = manifest(&fleet.read("keys/eu.yaml"));
    let place = |secret: &Value| {
        format!("{} {}/{}", secret["kind"], secret["metadata"]["namespace"], secret["metadata"]["name"])
            .replace('"', "")
    };
    assert_eq!(place(&secret), "Secret sync/region-key");
    assert_eq!(secret["stringData"]["eu.agekey"], fleet.read("keys/eu.txt").as_str());

    let ran = fleet.run(&["keygen", "us", "--manifest", "-"]).ends(0);
    let secret = manifest(&ran.stdout);
    assert_eq!(place(&secret), "Secret argocd/sops-age-us");
    assert_eq!(secret["stringData"]["us.agekey"], fleet.read("keys/us.txt").as_str());
    let recipient = fleet.read("keys/us.txt").lines().next().unwrap().replace("# public key: ", "");
    assert!(ran.stderr.contains(&recipient) && !ran.stderr.contains("SECRET-KEY"), "{}", ran.stderr);

    let ran =
        fleet.run(&["keygen", "us", "--for", "flux", "--write-identity", "keys/us-2.txt", "--manifest", "-"]).ends(0);
    let secret = manifest(&ran.stdout);
    assert_eq!(place(&secret), "Secret sync/region-key");
    assert!(secret["stringData"]["us-2.agekey"].is_string(), "a second identity has place beside the first");
}

/// Where each region's Secret has a name of its own, a new region's is not another's.
#[test]
fn a_region_that_is_not_configured_yet_has_a_secret_as_others_have_theirs() {
    for (typed, expect) in [("'age-{region}'", "age-new"), ("region-key", "region-key")] {
        let fleet = Fleet::new();
        fleet.configure("name: fleet}}", &format!("name: fleet}}, decryption: {{secretRef: {typed}}}}}"));
        let ran = fleet.run(&["keygen", "new", "--for", "flux", "--manifest", "-"]).ends(0);
        assert_eq!(manifest(&ran.stdout)["metadata"]["name"], expect);
    }
}

/// An example names no key yet. The keys that it is to name are made while it stands there.
#[test]
fn keys_are_made_before_the_configuration_names_them() {
    for typed in ["recipients: [age1…]", "recipients: ['<recipient>']", "recipients: []"] {
        let fleet = Fleet::new();
        fleet.configure(&format!("recipients: [{}]", fleet::EU), typed);
        let refused = fleet.run(&["plan"]).ends(64);
        if !typed.ends_with("[]") {
            let _ = refused.says("this stands where a recipient is to be written").says("`pouch keygen`");
        }
        fleet.run(&["keygen", "--reuse-key", "other.key"]).ends(0);
        let ran = fleet.run(&["keygen", "eu"]).ends(0).says("write into pouch.yaml, for the recipients of region eu");
        is_pair(&fleet, "keys/eu.txt", &ran);
        assert!(!ran.stderr.contains("rekey"), "{}", ran.stderr);
        fleet.configure(typed, &to_paste(&ran, "recipients: ["));
        fleet.run(&["config"]).ends(0);
        // Whatever else is wrong is told first.
        fleet.configure("recipients: [", "recipients: [age1…, ");
        fleet.configure("regions:", "resolution: kcn\nregions:");
        fleet.run(&["keygen", "us"]).ends(64).says("Did you mean \"kcm\"?");
    }
}
