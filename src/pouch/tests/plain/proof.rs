//! `pouch verify` without a cluster: good bundles are proved, and whatever somebody does to one is found.

mod hidden;
mod kustomize;
mod place;
mod repository;
mod stage;
mod table;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pouch_core::reuse::ReuseKey;
use stage::Stage;
use table::{MANIFEST, PLACES, WEST, tampers};

use crate::support::fleet::{self, Fleet};
use crate::support::root;

#[test]
fn a_good_bundle_is_proved() {
    let stage = Stage::new();
    let owner = stage.owner();
    owner.finds("the owner", &[]);
    assert_eq!(owner.stdout, "eu-west  proved  8 objects, 4 Secrets\nus-east  proved  6 objects, 2 Secrets\n");
    let record = &owner.summary["proved"][0];
    assert_eq!((&record["tags"], &record["recipients"]), (&true.into(), &true.into()), "{record}");
    assert_eq!(owner.summary["findings"], serde_json::json!([]));

    let consumer = stage.consumer();
    consumer.finds("a consumer", &[]);
    assert_eq!(consumer.summary["proved"][0]["tags"], false);
    assert!(consumer.stderr.contains("warning[not-proved]"), "{}", consumer.stderr);

    let holder = stage.holder("us-east");
    holder.finds("who holds a key", &[]);
    assert!(holder.stdout.contains("us-east  proved  6 objects, 2 Secrets, 2 opened\n"), "{}", holder.stdout);
    assert!(holder.stderr.contains("belongs to us-east"), "{}", holder.stderr);
    let both = ["quickstart/keys/us-east.txt", "quickstart/keys/eu-west.txt"];
    let all = stage.verify(&["-f", "quickstart/pouch.yaml", "bundles", "--identity", both[0], "--identity", both[1]]);
    all.finds("who holds all keys and the reuse key", &[]);
    assert_eq!(all.stdout.matches(" opened").count(), 2, "{}", all.stdout);

    // A region's user has the bundle and nothing else.
    let user = stage.verify(&["bundles"]);
    user.finds("a region's user", &[]);
    for code in ["not-proved", "not-proved"] {
        assert!(user.stderr.contains(code), "{}", user.stderr);
    }
    assert_eq!(user.summary["fleet"], "quickstart");
    // One region, wherever the bundles are below what is named.
    let one = stage.verify(&["-f", "quickstart/keyless.yaml", ".", "--region", "us-east"]);
    one.finds("one region", &[]);
    assert_eq!(one.stdout, "us-east  proved  6 objects, 2 Secrets\n");
}

/// What Flux's Kustomizations may say is taken from themselves where there is no configuration.
#[test]
fn what_flux_is_told_is_free_without_a_configuration() {
    let stage = Stage::new();
    stage.private("quickstart/reuse.key", stage.read("quickstart/reuse.key"));
    let fields = "retryInterval: 2m\n      timeout: 3m\n      serviceAccountName: pouch\n      healthChecks: [{apiVersion: apps/v1, \
                  kind: Deployment, name: capa, namespace: kcm-system}]\n      sourceRef:";
    stage.edit("quickstart/pouch.yaml", "sourceRef:", fields);
    stage.render(&["-f", "quickstart/pouch.yaml"]).ends(0);
    let written = stage.tree("quickstart/bundles/flux");
    let with = |text: &str| written.values().filter(|file| String::from_utf8_lossy(file).contains(text)).count();
    assert!(with("retryInterval: \"2m\"") > with("name: capa\n") && with("name: capa\n") > 1);
    stage.verify(&["quickstart/bundles"]).finds("a region's user", &[]);
}

/// Every row is found as it is, repaired where that is pouch's to do, and found by its own check, at its
/// own place, where hashes were made to fit and there is no reuse key.
#[test]
fn whatever_is_tampered_with_is_found() {
    let rows = tampers();
    assert!(rows.len() >= 50, "{} rows", rows.len());
    for (what, ..) in PLACES {
        assert_eq!(rows.iter().filter(|row| row.what == *what).count(), 1, "{what}");
    }
    let halves = rows.len() / 2;
    let failed: Vec<String> = std::thread::scope(|scope| {
        let check = |first: usize, last: usize| {
            let mut failed = Vec::new();
            for row in &tampers()[first..last] {
                let checked = catch_unwind(AssertUnwindSafe(|| check_row(row)));
                if let Err(why) = checked {
                    let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                    failed.push(format!("{}: {why}", row.what));
                }
            }
            failed
        };
        let other = scope.spawn(move || check(0, halves));
        let mut failed = check(halves, rows.len());
        failed.extend(other.join().unwrap());
        failed
    });
    assert!(failed.is_empty(), "{}", failed.join("\n----\n"));
}

fn check_row(row: &table::Tamper) {
    let stage = Stage::new();
    (row.spoil)(&stage);
    let owner = stage.owner();
    assert_eq!(owner.code, 8, "not found at all\n{}{}", owner.stdout, owner.stderr);
    assert!(!format!("{}{}", owner.stdout, owner.stderr).contains("hunter2"), "it is quoted: {}", owner.stderr);
    if row.repaired {
        assert_eq!(stage.repair(), 0, "it cannot be rendered");
        stage.owner().finds("after a render", &[]);
    }
    let stage = Stage::new();
    (row.spoil)(&stage);
    stage.forge();
    let consumer = stage.consumer();
    consumer.finds("with hashes that fit", row.codes);
    for (_, path, start) in PLACES.iter().filter(|(what, ..)| *what == row.what) {
        let line = if start.is_empty() { 1 } else { line_of(&stage.read(path), start) };
        let there = consumer.places();
        assert!(there.contains(&(path, line)), "nothing at {path}:{line}, but at {there:?}");
    }
}

/// The number of the first line that starts so, but for its indent.
#[track_caller]
fn line_of(text: &str, start: &str) -> u64 {
    let found = (1..).zip(text.lines()).find(|(_, line)| line.trim_start().starts_with(start));
    found.unwrap_or_else(|| panic!("no line starts with {start:?}")).0
}

/// Without this, the forged half of the table could be one that finds everything.
#[test]
fn hashes_that_are_made_to_fit_are_no_fault_of_their_own() {
    let stage = Stage::new();
    stage.forge();
    stage.owner().finds("nothing was changed", &[]);
    // What nobody but the reuse key can know: an object taken out, with all that speaks of it.
    let path = "regions/eu-west/core/configmaps/kcm-system/aws-main-resource-template.yaml";
    fs::remove_file(stage.path(&format!("bundles/{path}"))).unwrap();
    let manifest = stage.read(&format!("{WEST}/bundle.yaml"));
    let start = manifest.find("- from:\n    name: aws-main-resource-template").unwrap();
    let length = manifest[start..].find("- key:").unwrap();
    stage.write(&format!("{WEST}/bundle.yaml"), manifest.replace(&manifest[start..start + length], ""));
    let list = format!("{WEST}/core/configmaps/kustomization.yaml");
    let entry = "resources:\n- kcm-system/aws-main-resource-template.yaml\n";
    stage.edit(&list, entry, "resources: []\n");
    stage.forge();
    stage.consumer().finds("without the reuse key", &[]);
    stage.owner().finds("with the reuse key", &["untrusted-bundle"]);
}

/// What only who holds a key can find.
#[test]
fn a_private_key_finds_what_no_look_from_outside_can() {
    let aws = format!("{WEST}/core/secrets/kcm-system/aws-main-secret.sops.yaml");
    let leaf = |text: &str, name: &str| {
        let start = text.find(name).unwrap() + name.len();
        text[start..start + text[start..].find('\n').unwrap()].to_owned()
    };
    type Spoil<'a> = &'a dyn Fn(&Stage);
    let swap: Spoil<'_> = &|stage| {
        let text = stage.read(&aws);
        let (one, two) = (leaf(&text, "  AccessKeyID: "), leaf(&text, "  SecretAccessKey: "));
        stage.write(&aws, text.replace(&one, "ONE").replace(&two, &one).replace("ONE", &two));
    };
    let retype: Spoil<'_> = &|stage| stage.edit(&aws, "type: Opaque", "type: Other");
    let blank: Spoil<'_> = &|stage| {
        let text = stage.read(&aws);
        let line = text.lines().find(|line| line.contains("entry SecretAccessKey")).unwrap();
        let leaf = leaf(&text, "  SecretAccessKey: ");
        stage.write(&aws, text.replace(&format!("{line}\n"), "").replace(&leaf, "\"\""));
    };
    // A stanza that says to be for the region, and is for somebody else.
    let mislabel: Spoil<'_> = &|stage| {
        let age = age_for("age1xtgp6s7dvnkl6j78c5qhjpas67680rrfpads7wfqay29thqs7scsfjs9hg");
        let text = stage.read(&aws);
        let start = text.find("      -----BEGIN").unwrap();
        let end = text.find("    recipient:").unwrap();
        let lines: String = age.lines().map(|line| format!("      {line}\n")).collect();
        stage.write(&aws, format!("{}{lines}{}", &text[..start], &text[end..]));
    };
    let rows: [(&str, Spoil<'_>, &[&str], &[&str]); 4] = [
        ("two entries of one Secret swapped", swap, &["broken-seal"], &[]),
        ("another type", retype, &["broken-seal"], &[]),
        ("an entry blanked", blank, &["broken-seal"], &[]),
        ("a stanza for somebody else", mislabel, &["wrong-recipients"], &["foreign-recipient"]),
    ];
    for (what, spoil, west, east) in rows {
        let stage = Stage::new();
        spoil(&stage);
        assert_eq!(stage.owner().code, 8, "{what}");
        stage.forge();
        stage.consumer().finds(what, &[]);
        stage.holder("eu-west").finds(what, west);
        // Nor does it leave the bundle in clear: all Secrets are opened, and their MACs checked, before the first is printed
        // or sent.
        for command in OPENING {
            let (code, stdout, stderr) = stage.opened(command);
            assert!((code, &*stdout) == (8, "") && stderr.contains(west[0]), "{what}, {command:?}: {code}\n{stderr}");
        }
        if !east.is_empty() {
            assert!(east.iter().all(|code| stage.holder("us-east").faults().contains(code)), "{what}");
        }
    }
}

/// What opens a region to hand it out; the second would send it to a server that is not there.
const OPENING: [&[&str]; 2] = [
    &["unpack"],
    &["deliver", "--kubeconfig=nowhere.kubeconfig", "--context=nowhere", "--inventory-namespace=default"],
];

/// A bundle that others apply is printed, and not sent beside them: two that apply one take its objects from each other.
#[test]
fn a_bundle_that_nobody_touched_is_printed_or_sent() {
    let fleet = Fleet::rendered_quickstart();
    fleet.write("nowhere.kubeconfig", stage::NOWHERE);
    let opened = |words: &[&str], region: &str| {
        let of = ["bundles".to_owned(), format!("--region={region}"), format!("--identity=keys/{region}.txt")];
        fleet.run(&words.iter().copied().chain(of.iter().map(String::as_str)).collect::<Vec<_>>())
    };
    for (region, consumer) in [("eu-west", "Flux"), ("us-east", "Argo CD")] {
        assert!(opened(OPENING[0], region).ends(0).stdout.contains("kind: Secret"));
        let said = format!("{consumer} applies the bundle of region {region}, so nothing was applied here");
        opened(OPENING[1], region).ends(64).says(&said);
    }
    fleet.configure("delivery: flux", "delivery: none");
    fleet.render(&[]).ends(0);
    opened(OPENING[1], "eu-west").ends(5).says("nowhere");
}

/// A data key for a recipient, as age writes it.
fn age_for(recipient: &str) -> String {
    let recipient = pouch_core::recipient::Recipient::parse(recipient).unwrap();
    let prepared = pouch::age::prepare(&[recipient]).unwrap();
    pouch::age::wrap(&[9; 32], &prepared[0]).unwrap()
}

/// With the private key and the reuse key the very file is proved, header and all.
#[test]
fn a_file_tag_is_proved_with_both_keys() {
    let stage = Stage::new();
    let aws = format!("{WEST}/core/secrets/kcm-system/aws-main-secret.sops.yaml");
    let text = stage.read(&aws);
    let tag = text.split(' ').nth(3).unwrap().split('\n').next().unwrap().to_owned();
    stage.write(&aws, text.replace(&tag, &tag.chars().rev().collect::<String>()));
    stage.forge();
    stage.consumer().finds("no key sees it", &[]);
    stage.holder("eu-west").finds("nor does the private one alone", &[]);
    let arguments = ["-f", "quickstart/pouch.yaml", "bundles", "--identity", "quickstart/keys/eu-west.txt"];
    let both = stage.verify(&arguments);
    assert!(both.stderr.contains("does not have the tag that the reuse key makes"), "{}", both.stderr);
}

#[test]
fn every_kind_of_delivery_is_proved() {
    let flux = "delivery: flux";
    for delivery in [
        "delivery: none",
        "delivery: {argocd: {mode: ksops}}",
        "delivery: {argocd: {mode: plugin, plugin: sops}}",
        "delivery: {argocd: {mode: ksops, kind: ApplicationSet}}",
        "delivery: {argocd: {kind: ApplicationSet}}",
        flux,
    ] {
        let fleet = Fleet::with_credentials(3);
        if delivery != flux {
            fleet.configure(flux, delivery);
        }
        fleet.render(&[]).ends(0);
        fleet.run(&["verify"]).ends(0).outcome("eu", "proved").outcome("us", "proved");
        fs::create_dir_all(fleet.path("user")).unwrap();
        let user = fleet.command(&["verify", "../bundles"]).current_dir(fleet.path("user")).output().unwrap();
        let user = fleet::Ran::from(user);
        user.ends(0).outcome("eu", "proved");
        if delivery.contains("ksops") {
            let list = "bundles/regions/eu/argocd/ksops.yaml";
            let text = fleet.read(list);
            fleet.write(list, text.replace("- ../core/secrets/eu-team/c1.sops.yaml\n", ""));
            fleet.run(&["verify"]).ends(8).says("does not list ../core/secrets/eu-team/c1.sops.yaml");
            fleet.write(list, &text);
            fleet.remove(list);
            fleet.run(&["verify"]).ends(8).says("error[unsafe-delivery]: regions/eu/argocd/ksops.yaml is missing");
        }
        if delivery.contains("Set") {
            let set = "bundles/argocd/acme-applicationset.yaml";
            let text = fleet.read(set);
            fleet.write(set, text.replace("create-update", "sync"));
            fleet.run(&["verify"]).ends(8).says("error[unsafe-delivery]: argocd/acme-applicationset.yaml differs");
            let user = fleet.command(&["verify", "../bundles"]).current_dir(fleet.path("user")).output().unwrap();
            fleet::Ran::from(user).ends(8).says("is no ApplicationSet that pouch writes");
        }
    }
}

#[test]
fn escrow_recipients_belong_everywhere_and_others_do_not() {
    let fleet = Fleet::with_credentials(1);
    const ESCROW: &str = "age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4";
    fleet.configure("output:", &format!("escrowRecipients: [{ESCROW}]\noutput:"));
    fleet.render(&[]).ends(0);
    fleet.run(&["verify"]).ends(0);
    fs::create_dir_all(fleet.path("user")).unwrap();
    let user = fleet.command(&["verify", "../bundles"]).current_dir(fleet.path("user")).output().unwrap();
    fleet::Ran::from(user).ends(0);
    // Taken out of the configuration, it still opens everything: that is a fault until it is rendered.
    fleet.configure(&format!("escrowRecipients: [{ESCROW}]\n"), "");
    fleet.run(&["verify"]).ends(8).says(&format!("the configuration: {ESCROW} too many"));
    // Likewise a region's own key that was replaced.
    fleet.configure(fleet::EU, ESCROW);
    let identity = root().join("testdata/quickstart/keys/eu-west.txt");
    let replaced = fleet.run(&["verify", "--identity", identity.to_str().unwrap()]);
    assert!(!replaced.stderr.contains("opened nothing"), "{}", replaced.stderr);
    replaced.ends(8).says("but its identity opens files all the same").says("error[foreign-recipient]");
    fleet.configure(ESCROW, fleet::EU);
    fleet.render(&[]).ends(0);
    fleet.run(&["verify"]).ends(0);
}

/// Paused, retired and carried regions keep what they have, and are proved as that.
#[test]
fn regions_that_are_not_rendered_are_proved_as_they_stand() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.configure("delivery: flux}", "delivery: argocd, state: paused}");
    fleet.run(&["verify"]).ends(0).outcome("eu", "proved");
    fleet.configure("state: paused", "state: retired");
    fleet.run(&["verify"]).ends(8).says("error[region-not-configured]");
    fleet.configure("delivery: argocd, state: retired", "delivery: flux");
    // A Secret that cannot be read any more: what is published for it stays.
    fleet.write("manifests/eu-c0-secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: c0\n");
    fleet.render(&[]).ends(3);
    fleet.run(&["verify"]).ends(0).outcome("eu", "proved");
}

/// A paused region may be older than the configuration: its manifest says what stands there, if somebody
/// vouches for it; else the configuration does, and nothing at all is said too.
#[test]
fn a_paused_region_is_held_against_what_can_be_believed() {
    let fleet = Fleet::with_credentials(1);
    fleet.render(&[]).ends(0);
    fleet.configure("delivery: flux}", "delivery: argocd, state: paused}");
    fleet.run(&["verify"]).ends(0).outcome("eu", "proved");
    fleet.configure("{file: reuse.key}", "{env: NOT_THERE}");
    let moved = fleet.run(&["verify"]);
    moved
        .ends(8)
        .says("error[unsafe-delivery]: argocd/eu/application.yaml is missing")
        .says("activate the region and render");
    fleet.configure("delivery: argocd, state: paused}", "delivery: flux, state: paused}");
    fleet.run(&["verify"]).ends(0).outcome("eu", "proved");
    // Files that fit their manifest, which does not fit the configuration.
    fleet.configure(fleet::EU, "age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4");
    fleet.run(&["verify"]).ends(8).says("error[wrong-recipients]");
    fleet.configure("age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4", fleet::EU);
    for top in ["regions", "flux"] {
        fs::remove_dir_all(fleet.path(&format!("bundles/{top}/eu"))).unwrap();
    }
    fleet.run(&["verify"]).ends(0).says("warning[region-not-published]: nothing is published in regions/eu");
    fleet.run(&["verify", "--region", "eu"]).ends(5).says("there is no bundle of region eu");
}

/// Labels of Namespaces follow the configuration, also where that has moved on.
#[test]
fn labels_of_namespaces_are_those_of_the_configuration() {
    let fleet = Fleet::with_credentials(1);
    fleet.render(&[]).ends(0);
    fleet.configure("namespaces: {allowed: ['*']}", "namespaces: {allowed: ['*'], labels: {eu-team: {env: prod}}}");
    fleet.run(&["verify"]).ends(8).says("Namespace eu-team does not have the labels that the configuration gives it");
    fleet.render(&[]).ends(0);
    fleet.run(&["verify"]).ends(0);
}

/// Another fleet's bundles stay unproved, and that is said.
#[test]
fn bundles_of_another_fleet_are_named() {
    let stage = Stage::new();
    let config = stage.read("quickstart/keyless.yaml");
    let other = config.replace("name: quickstart", "name: slowstart").replace("  eu-west:\n", "  west:\n");
    stage.write("other.yaml", other.replace("  us-east:\n", "  us-east:\n    directory: east\n"));
    for top in ["regions", "argocd"] {
        fs::rename(stage.path(&format!("bundles/{top}/us-east")), stage.path(&format!("bundles/{top}/east"))).unwrap();
    }
    let manifest = stage.read("bundles/regions/east/bundle.yaml");
    let own = manifest.replace("us-east", "east").replace("fleet: quickstart", "fleet: slowstart");
    stage.write("bundles/regions/east/bundle.yaml", &own);
    let answer = stage.verify(&["-f", "other.yaml", "bundles"]);
    let said = "regions/eu-west: its manifest says that this belongs to fleet quickstart, so it was not proved";
    assert!(answer.stderr.contains(&format!("warning[other-fleet]: {said}")), "{}", answer.stderr);
    assert!(!answer.stderr.contains("flux/eu-west"), "{}", answer.stderr);
    assert!(answer.stderr.contains("nothing is published in regions/west"), "{}", answer.stderr);
    // A folder of ours is ours, whatever its manifest says.
    stage.edit("bundles/regions/east/bundle.yaml", "fleet: slowstart", "fleet: quickstart");
    let answer = stage.verify(&["-f", "other.yaml", "bundles"]);
    assert!(answer.stderr.contains("regions/east has a bundle of fleet quickstart"), "{}", answer.stderr);
}

/// What is too large to be looked at is a fault where it may be applied, and said elsewhere.
#[test]
fn a_file_that_nobody_reads_is_said() {
    let stage = Stage::new();
    let large = |path: &str| {
        let path = stage.path(path);
        fs::File::create(path).unwrap().set_len((64 << 20) + 1).unwrap();
    };
    large("bundles/x.bin");
    let answer = stage.consumer();
    answer.finds("no manifest", &[]);
    assert!(answer.stderr.contains("warning[not-searched]: x.bin is larger than 64 MiB"), "{}", answer.stderr);
    large("bundles/x.yml");
    stage.consumer().finds("a manifest", &["not-readable"]);
    fs::remove_file(stage.path("bundles/x.yml")).unwrap();
    large("bundles/flux/eu-west/x.bin");
    let answer = stage.consumer();
    answer.finds("among a region's files", &["not-plain-file"]);
    fs::remove_file(stage.path("bundles/flux/eu-west/x.bin")).unwrap();
    // Charts are no YAML, and may stand in a repository whose root is the output.
    stage.write("bundles/chart/x.yaml", "a: {{ .Values.a }}\n{{- end }}\n");
    let answer = stage.consumer();
    answer.finds("a template", &[]);
    assert!(answer.stderr.contains("warning[not-searched]: chart/x.yaml is a template"), "{}", answer.stderr);
    // Whose name is no text may hold a key all the same, and another of that look.
    use std::os::unix::ffi::OsStrExt as _;
    for folder in [false, true] {
        let key = stage.read("quickstart/keys/eu-west.txt");
        for (name, text) in [(&b"x\xfd"[..], ""), (b"x\xfe", &*key), (b"x\xff", "")] {
            let mut path = stage.path("bundles").join(std::ffi::OsStr::from_bytes(name));
            if folder {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                path.push("x.txt");
            }
            if fs::write(path, text).is_err() {
                // Some file systems have no such names.
                assert!(!folder);
                return;
            }
        }
        stage.consumer().finds("a name that is not text", &["plaintext-secret"]);
    }
}

/// What a broken Credential has published stays, with the tag of a key that is gone by now.
#[test]
fn what_was_carried_past_a_change_of_the_reuse_key_is_proved() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    let carried = "bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml";
    let text = fleet.read(carried);
    fleet.write("manifests/eu-c0-secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: c0\n");
    let identity = root().join("testdata/quickstart/keys/eu-west.txt");
    let identity = ["verify", "--region", "eu", "--identity", identity.to_str().unwrap()];
    fs::copy(fleet.path("reuse.key"), fleet.path("old.key")).unwrap();
    fleet.write("reuse.key", pouch_core::reuse::ReuseKey::to_text(&[7; 32]));
    fleet.configure("{file: reuse.key}", "{file: reuse.key, previous: [{file: old.key}]}");
    fleet.render(&[]).ends(3);
    fleet.run(&identity).ends(0).outcome("eu", "proved");
    fleet.configure(", previous: [{file: old.key}]", "");
    fleet.render(&[]).ends(3);
    assert_eq!(fleet.read(carried), text, "it was not carried as it stood");
    fleet.run(&identity).ends(0).outcome("eu", "proved");
    // Who changes the file is found all the same, by the hash.
    fleet.write(carried, text.replacen("# pouch/v1 ", "# pouch/v1  ", 1));
    fleet.run(&identity).ends(8).says("does not match the manifest");
}

#[test]
fn what_cannot_be_proved_or_read_is_said() {
    let stage = Stage::new();
    let ends = |arguments: &[&str], code: i32, says: &str| {
        let answer = stage.verify(arguments);
        assert_eq!(answer.code, code, "{arguments:?}\n{}", answer.stderr);
        assert!(answer.stderr.contains(says), "{arguments:?}: no {says:?} in\n{}", answer.stderr);
    };
    ends(&[], 64, "pouch init");
    ends(&["elsewhere"], 64, "elsewhere is not there");
    fs::create_dir(stage.path("empty")).unwrap();
    ends(&["empty"], 5, "neither has a folder `regions`");
    ends(&["-f", "elsewhere.yaml", "bundles"], 64, "the configuration is not there");
    ends(
        &["-f", "quickstart/keyless.yaml", "bundles", "--region", "eu-wset"],
        64,
        "Did you mean eu-west? Its regions are eu-west, us-east.",
    );
    ends(&["-f", "quickstart/keyless.yaml", "bundles", "--require-tags"], 64, "NOT_THERE");
    ends(&["bundles", "--require-tags"], 64, "there is no configuration");
    ends(&["bundles", "--region", "west"], 5, "there is no bundle of region west");
    ends(&["bundles", "--identity", "elsewhere"], 64, "the file of identities is not there");
    ends(&["bundles", "--identity", "quickstart/reuse.key"], 64, "line 1 of the file of identities cannot be used");
    ends(&["bundles", "--rev", "HEAD"], 64, "no git repository");
    for url in ["https://git.example.com/fleet.git", "git@git.example.com:fleet.git"] {
        ends(&[url], 64, "git clone --bare");
    }
    ends(&["bundles", "--live", "--context", "x", "--rev", "HEAD"], 64, "cannot be used with");
    ends(&["bundles", "--live"], 64, "nothing says which cluster");
    ends(&["old-context", "--live"], 64, "--live --context old-context");
    ends(&["bundles", "--no-values"], 64, "--live");
    // What a later pouch wrote is for that one to prove, whether or not its tag fits.
    let manifest = stage.read(MANIFEST);
    for (from, to) in [("pouch/v1alpha2", "pouch/v2"), ("# pouch/v1 ", "# pouch/v2 ")] {
        stage.edit(MANIFEST, from, to);
        ends(&["bundles"], 8, "help: Upgrade the reader first: use the pouch that wrote it, or a newer one.");
        stage.write(MANIFEST, &manifest);
    }
    let key = stage.read("quickstart/reuse.key");
    stage.write("quickstart/reuse.key", ReuseKey::to_text(&[9; 32]));
    ends(&["-f", "quickstart/pouch.yaml", "bundles"], 8, "authenticates: it names key 5a6aa2d1, and ours is ");
    stage.write("quickstart/reuse.key", &key);
    // A key that is there and is none is an error, not a weaker proof; so is an empty variable.
    stage.write("quickstart/reuse.key", "nonsense\n");
    ends(&["-f", "quickstart/pouch.yaml", "bundles"], 64, "no reuse key");
    let mut command = stage.command(&["verify", "-f", "quickstart/keyless.yaml", "bundles"]);
    let empty = command.env("NOT_THERE", "").output().unwrap();
    assert_eq!(empty.status.code(), Some(64), "{}", String::from_utf8_lossy(&empty.stderr));
    // Another fleet's bundles are that fleet's to prove.
    let config = stage.read("quickstart/keyless.yaml");
    let other = config.replace("name: quickstart", "name: slowstart").replace("  eu-west:\n", "  west:\n");
    stage.write("other.yaml", other.replace("  us-east:\n", "  east:\n    state: retired\n"));
    stage.verify(&["-f", "other.yaml", "bundles"]).finds("another fleet's", &["untrusted-bundle"]);
    stage.edit("other.yaml", "  west:\n", "  west:\n    state: paused\n");
    ends(&["-f", "other.yaml", "bundles"], 5, "there is no bundle of this fleet");
    // A key that no region is for opens nothing, and that is said.
    let (identity, _) = pouch::age::generate_identity().unwrap();
    stage.write("stranger.txt", &identity);
    let stranger = stage.verify(&["bundles", "--identity", "stranger.txt"]);
    assert_eq!((stranger.code, &*stranger.stdout), (64, ""), "{}", stranger.stderr);
    assert!(stranger.stderr.contains("open none of the regions"), "{}", stranger.stderr);
    let both = ["--identity", "stranger.txt", "--identity", "quickstart/keys/us-east.txt"];
    let one = stage.verify(&[&["bundles"][..], &both].concat());
    one.finds("a stranger beside a holder", &[]);
    assert!(one.stderr.contains("so its identity opened nothing"), "{}", one.stderr);
    assert!(!Path::new(&stage.path("bundles/.pouch-staging")).exists());
}
