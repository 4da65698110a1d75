//! `--no-values`: all that names tell, without a key and without a look into a Secret.

use std::fs;

use serde_json::Value;

use crate::encrypted::sources::Sealed;
use crate::support::fleet::{CANARY, Fleet};
use crate::support::origin::Origin;

/// Another recipient than the regions have.
const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

/// A configuration beside the fleet's own that names keys that are not there.
fn without_keys(fleet: &Fleet) {
    let config =
        fleet.read("pouch.yaml").replace("reuse.key", "not-there.key").replace("keys/own.txt", "not-there.txt");
    fleet.write("without.yaml", config);
}

/// The plan as JSON, with values and without, and without what only values tell.
fn both(fleet: &Fleet, what: &str) -> (Value, Value) {
    without_keys(fleet);
    let plan = |flags: &[&str]| -> Value {
        let ran = fleet.run(&[flags, &["-o", "json"]].concat()).ends(0);
        assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY), "{what}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let (mut seen, mut unseen) = (plan(&["plan"]), plan(&["-f", "without.yaml", "plan", "--no-values"]));
    for region in unseen["regions"].as_array_mut().unwrap() {
        let region = region.as_object_mut().unwrap();
        let changes = region["changes"].as_array().unwrap();
        let is_counted = |change: &&Value| change["object"]["kind"] == "Secret" && change["action"] != "withdrawn";
        let told = u64::try_from(changes.iter().filter(is_counted).count()).unwrap();
        let count = region.remove("unseen").map_or(0, |count| count.as_u64().unwrap());
        // No Secret is both told and not looked into.
        assert_eq!(region["sealed"], told, "{what}: {region:?}");
        assert_eq!(region["kept"], 0, "{what}");
        region.insert("kept".into(), count.into());
        for change in region["changes"].as_array_mut().unwrap().iter_mut().filter_map(Value::as_object_mut) {
            let Some(Value::Array(mut reasons)) = change.remove("reasons") else { continue };
            reasons.retain(|reason| reason != "noValues");
            if !reasons.is_empty() {
                change.insert("reasons".into(), reasons.into());
            }
        }
    }
    // Names tell that values change, and never that they stay.
    for region in [&mut seen, &mut unseen].into_iter().flat_map(|plan| plan["regions"].as_array_mut().unwrap()) {
        for change in region["changes"].as_array_mut().unwrap().iter_mut().filter_map(Value::as_object_mut) {
            if change.get("values").is_some_and(|values| values != "changed") {
                change.remove("values");
            }
        }
    }
    for region in seen["regions"].as_array_mut().unwrap() {
        let region = region.as_object_mut().unwrap();
        let changes = region["changes"].as_array_mut().unwrap();
        let before = changes.len();
        changes.retain_mut(|change| {
            let is_secret = change["object"]["kind"] == "Secret" && change["action"] == "changed";
            if !is_secret {
                return true;
            }
            // Another type has no entries to tell of; an entry that becomes empty is seen in a plain manifest.
            let lost = change.get("lostEntries").cloned().unwrap_or_default();
            let Some(Value::Array(entries)) = change.get_mut("entries") else { return true };
            let is_empty = |name: &Value| lost.as_array().is_some_and(|lost| lost.contains(name));
            entries.retain(|entry| {
                ["added", "withdrawn"].contains(&entry["change"].as_str().unwrap()) || is_empty(&entry["name"])
            });
            !entries.is_empty()
        });
        let dropped = u64::try_from(before - changes.len()).unwrap();
        if dropped > 0 && changes.is_empty() {
            region["outcome"] = "unchanged".into();
        }
        for (count, by) in [("sealed", -1), ("kept", 1)] {
            let now = region[count].as_i64().unwrap() + by * i64::try_from(dropped).unwrap();
            region[count] = now.into();
        }
    }
    // Digests are of the same, and so is what is told of sources.
    (seen, unseen)
}

#[track_caller]
fn agree(fleet: &Fleet, what: &str) -> Value {
    let (seen, unseen) = both(fleet, what);
    assert_eq!(seen["regions"], unseen["regions"], "{what}");
    assert_eq!(seen["credentials"], unseen["credentials"], "{what}");
    assert_eq!(seen["findings"], unseen["findings"], "{what}");
    unseen
}

/// Changes a fleet bit by bit and holds what is told without values against what is told with them.
fn every_step(fleet: &Fleet, publish: &[&str], secret: &dyn Fn(&str, &str)) {
    let is_sealed = || fleet.read("manifests/us-c0-secret.yaml").contains("sops:");
    let nothing = agree(fleet, "nothing is published");
    assert_eq!(nothing["regions"][0]["changes"][0]["action"], "added");
    fleet.run(publish).ends(0);
    let steps: [(&str, &dyn Fn()); 11] = [
        ("nothing", &|| {}),
        ("a value", &|| secret("c0", "value: changed")),
        ("an entry more", &|| secret("c0", "value: changed, more: than before")),
        ("an entry less", &|| secret("c0", "more: than before")),
        // What is sealed does not show that.
        ("an entry emptied", &|| {
            if !is_sealed() {
                secret("c0", "more: ''")
            }
        }),
        ("another type", &|| {
            if !is_sealed() {
                fleet.edit("manifests/eu-c4-secret.yaml", "kind: Secret", "kind: Secret\ntype: example.com/other");
            }
        }),
        ("a Credential more", &|| {
            fleet.credential("eu", "late", "late");
            secret("late", "value: late");
        }),
        ("a Credential less", &|| {
            fleet.configure("regions:\n", "limits: {deletions: {claimants: 9, keep: 0}}\nregions:\n");
            fleet.delete("eu", "c1");
        }),
        ("broken", &|| fleet.edit("manifests/us-c2.yaml", "kind: Secret", "kind: Sekret")),
        ("a missing Secret", &|| fleet.remove("manifests/us-c3-secret.yaml")),
        ("a recipient", &|| fleet.configure("regions:\n", &format!("escrowRecipients: [{ESCROW}]\nregions:\n"))),
    ];
    for (what, step) in steps {
        step();
        let told = agree(fleet, what);
        let has_changes = told["regions"].as_array().unwrap().iter().any(|it| it["changes"] != Value::Array(vec![]));
        let is_told = match what {
            // Another type breaks the claim, which keeps what it has.
            "nothing" | "a value" | "broken" | "a missing Secret" | "another type" => false,
            "an entry emptied" => !is_sealed(),
            _ => true,
        };
        assert_eq!(has_changes, is_told, "{what}");
        if what == "a recipient" {
            let resealed = told["regions"][0]["changes"].as_array().unwrap();
            assert!(resealed.iter().any(|change| change["action"] == "resealed"), "{resealed:?}");
            continue;
        }
        let ran = fleet.run(publish);
        assert!([0, 3].contains(&ran.code), "{what}: {ran:?}");
    }
}

#[test]
fn what_names_tell_is_told_without_any_key() {
    let fleet = Fleet::with_credentials(5);
    every_step(&fleet, &["render"], &|name, entries| fleet.secret("eu", name, entries));
}

#[test]
fn what_names_tell_of_a_branch_is_told_without_any_key() {
    let fleet = Fleet::with_credentials(5);
    let origin = Origin::new(&fleet, "");
    every_step(&fleet, &["publish", "--first"], &|name, entries| fleet.secret("eu", name, entries));
    // Nothing is written down either.
    let all = origin.git(&["for-each-ref"]);
    fleet.run(&["-f", "without.yaml", "plan", "--no-values"]).ends(0).says("no Secret is looked into");
    assert_eq!(origin.git(&["for-each-ref"]), all);
}

#[test]
fn what_names_tell_of_sealed_files_is_told_and_nothing_is_opened() {
    let Some(sealed) = Sealed::new(5) else { return };
    let secret = |name: &str, entries: &str| {
        sealed.fleet.secret("eu", name, entries);
        sealed.seal(&format!("manifests/eu-{name}-secret.yaml"), &sealed.own);
    };
    every_step(&sealed.fleet, &["render"], &secret);
    // A MAC that does not verify is seen by who opens the file alone.
    let file = "manifests/eu-c0-secret.yaml";
    sealed.edit(file, |text| text.replace("lastmodified: \"2", "lastmodified: \"1"));
    let check = |words: &[&str]| sealed.fleet.run(words).ends(7).stdout.contains("undecryptable-source");
    assert!(check(&["check"]) && !check(&["-f", "without.yaml", "check", "--no-values"]));
}

#[test]
fn who_looks_into_no_secret_says_so_in_every_form() {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    without_keys(&fleet);
    let look = |words: &[&str]| fleet.run(&[&["-f", "without.yaml"], words, &["--no-values"]].concat()).ends(0);
    let text = look(&["plan", "--detailed-exitcode"]).says("no Secret is looked into").stdout;
    assert!(text.contains("eu  unchanged  3 objects, 3 Secrets not looked into\n"), "{text}");
    let text = look(&["plan", "-o", "markdown"]).stdout;
    assert!(
        text.contains("No Secret was looked into") && text.contains("As far as names tell, nothing would change."),
        "{text}"
    );
    let text = look(&["explain", "eu-team/c0"]).stdout;
    assert!(text.contains("eu-team/c0.sops.yaml: not looked into\n"), "{text}");
    look(&["check"]);
    // Whoever writes needs values.
    for command in ["publish", "render", "rekey"] {
        let ran = fleet.run(&[command, "--no-values"]).ends(64);
        assert!(ran.stderr.contains("pouch plan --no-values"), "{}", ran.stderr);
    }
}

/// Without a key nobody can tell who wrote a manifest: it is believed, and where it cannot be read the region is held as
/// with one.
#[test]
fn what_is_published_is_taken_at_its_word() {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    without_keys(&fleet);
    let manifest = "bundles/regions/eu/bundle.yaml";
    let text = fleet.read(manifest);
    let plan = |code| fleet.run(&["-f", "without.yaml", "plan", "--no-values", "--detailed-exitcode"]).ends(code);
    let (first, rest) = text.split_once('\n').unwrap();
    let (line, _) = first.rsplit_once(' ').unwrap();
    fleet.write(manifest, format!("{line} {}\n{rest}", "A".repeat(43)));
    plan(0);
    fleet.run(&["plan"]).ends(0).outcome("eu", "would").says("unsigned-bundle");
    fs::write(fleet.path(manifest), format!("{first}\nnothing: of the kind\n")).unwrap();
    plan(2).outcome("eu", "would").says("unsigned-bundle");
}
