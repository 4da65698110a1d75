//! `pouch render`, through the built program: what is written, kept, withdrawn and held.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::support;
use crate::support::fleet::{self, Fleet, Ran};

const EU_SECRET: &str = "bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml";

fn file_of(region: &str, name: &str) -> String {
    format!("bundles/regions/{region}/core/secrets/{region}-team/{name}.sops.yaml")
}

#[test]
fn a_first_run_writes_both_regions_and_a_second_touches_nothing() {
    let fleet = Fleet::with_credentials(2);
    let ran = fleet.render(&[]).ends(0).outcome("eu", "published").outcome("us", "published");
    assert_eq!(ran.stdout.lines().filter(|line| !line.starts_with("  ")).count(), 2, "results only: {}", ran.stdout);
    assert!(fleet.read(EU_SECRET).contains("value: ENC[AES256_GCM,"));
    assert!(fleet.has("bundles/flux/eu/core.yaml") && fleet.has("bundles/argocd/us/application.yaml"));
    assert!(!fleet.has("bundles/flux/us") && !fleet.has("bundles/argocd/eu"));
    assert_eq!(fleet.read("bundles/.gitattributes"), "* -text\n");
    assert!(!fleet.has("bundles/.pouch-staging"));

    let before = fleet.stamps("bundles");
    fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
    assert_eq!(fleet.stamps("bundles"), before);
}

#[test]
fn one_changed_value_touches_one_secret_and_the_manifest() {
    let fleet = Fleet::with_credentials(3);
    fleet.render(&[]).ends(0);
    let before = fleet.tree("bundles");
    fleet.secret("eu", "c1", "value: another");
    fleet.render(&[]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
    let after = fleet.tree("bundles");
    let changed: Vec<&str> =
        after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).map(|(path, _)| path.as_str()).collect();
    assert_eq!(changed, ["regions/eu/bundle.yaml", "regions/eu/core/secrets/eu-team/c1.sops.yaml"]);
    assert_eq!(before.len(), after.len());
    assert!(!fleet.has("bundles/.pouch-staging"));
}

#[test]
fn a_few_withdrawals_pass_and_many_are_held_until_accepted() {
    let fleet = Fleet::with_credentials(8);
    fleet.render(&[]).ends(0);
    fleet.delete("eu", "c7");
    fleet.render(&[]).ends(0).outcome("eu", "published");
    assert!(!fleet.has(&file_of("eu", "c7")));

    let before = fleet.stamps("bundles/regions/eu/core");
    for n in 0..5 {
        fleet.delete("eu", &format!("c{n}"));
    }
    fleet.credential("us", "new", "a-new-one");
    // The withdrawals are held; that they are is published, and so is the rest.
    let held = fleet.render(&[]).ends(4).outcome("eu", "published").outcome("us", "published").says("deletions-held");
    assert_eq!(fleet.stamps("bundles/regions/eu/core").keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(fleet.has(&file_of("us", "new")));
    fleet.render(&["--tolerate", "brake"]).ends(0).outcome("eu", "unchanged");
    fleet.render(&["--tolerate", "partial"]).ends(4);

    let accepted = held.acceptance("--accept-deletions", "eu");
    // Another region's acceptance, or one of another kind, lets nothing through.
    fleet.render(&["--accept-deletions", &accepted.replace("eu/eu-", "us/us-")]).ends(4);
    fleet.render(&["--accept-recipients", &accepted]).ends(64);
    fleet.render(&["--accept-reseal", &accepted]).ends(64);
    fleet.render(&["--accept-reseal", &accepted.replace("/eu-team", "")]).ends(4);
    fleet.render(&["--accept-deletions", "eu"]).ends(64);
    fleet.render(&["--accept-deletions", "nowhere=0123456789abcdef"]).ends(64).says("nowhere");
    // It fits exactly that set: one more deletion, and it is stale.
    fleet.delete("eu", "c5");
    let more = fleet.render(&["--accept-deletions", &accepted]).ends(4).acceptance("--accept-deletions", "eu");
    assert_ne!(more, accepted);
    fleet.credential("eu", "c5", "is back, sealed anew or not");
    fleet.secret("eu", "c5", &format!("value: {}-eu-5", fleet::CANARY));
    fleet.render(&["--accept-deletions", &accepted]).ends(0).outcome("eu", "published");
    assert!(!fleet.has(EU_SECRET) && fleet.has(&file_of("eu", "c5")));
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn acceptances_can_stand_in_the_configuration() {
    let fleet = Fleet::with_credentials(6);
    fleet.render(&[]).ends(0);
    for n in 0..5 {
        fleet.delete("us", &format!("c{n}"));
    }
    let accepted = fleet.render(&[]).ends(4).acceptance("--accept-deletions", "us");
    let digest = accepted.strip_prefix("us/us-team=").unwrap();
    fleet.configure(
        "reuseKey",
        &format!("limits: {{accept: [{{region: us, namespace: us-team, deletions: '{digest}'}}]}}\nreuseKey"),
    );
    fleet.render(&[]).ends(0).outcome("us", "published");
    fleet.render(&[]).ends(0).outcome("us", "unchanged");
}

#[test]
fn an_emptied_region_always_asks_and_keeps_its_leaves() {
    let fleet = Fleet::with_credentials(1);
    fleet.render(&[]).ends(0);
    fleet.delete("eu", "c0");
    let held = fleet
        .render(&[])
        .ends(4)
        .says("Of 1 claimants in all, 0 would keep something, and without a person 50 percent must.");
    assert!(fleet.has(EU_SECRET));
    fleet.render(&["--accept-deletions", &held.acceptance("--accept-deletions", "eu")]).ends(0);
    assert!(!fleet.has(EU_SECRET));
    let leaf = fleet.read("bundles/regions/eu/core/secrets/kustomization.yaml");
    assert!(leaf.contains("resources: []"), "{leaf}");
    assert!(fleet.has("bundles/flux/eu/core.yaml"));
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn entries_that_leave_a_secret_count() {
    let fleet = Fleet::with_credentials(2);
    let entries: Vec<String> = ('a'..='l').map(|name| format!("{name}: {name}")).collect();
    fleet.secret("eu", "c0", &entries.join(", "));
    fleet.render(&[]).ends(0);
    fleet.secret("eu", "c0", "a: a, b: '', c: ''");
    let held = fleet.render(&[]).ends(4).says("entry b of Secret eu-team/c0").says("which makes 11");
    fleet.render(&["--accept-deletions", &held.acceptance("--accept-deletions", "eu")]).ends(0);
    fleet.secret("eu", "c0", "a: ''");
    fleet.render(&[]).ends(0);
}

#[test]
fn a_broken_credential_keeps_its_bytes_until_it_is_cured() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    let before = fleet.read(EU_SECRET);
    fleet.remove("manifests/eu-c0-secret.yaml");
    let ran = fleet.render(&[]).ends(3).outcome("eu", "published").says("missing-reference");
    ran.says("3 Credentials resolved, 0 refused, 1 broken (what they had stays), 0 not for a region");
    // One that never was published keeps nothing.
    fleet.credential("eu", "c2", "x");
    fleet.remove("manifests/eu-c2-secret.yaml");
    let ran = fleet.render(&[]).ends(3);
    ran.says("3 Credentials resolved, 0 refused, 2 broken (what 1 of them had stays), 0 not for a region");
    fleet.remove("manifests/eu-c2.yaml");
    assert_eq!(fleet.read(EU_SECRET), before);
    let manifest = fleet.read("bundles/regions/eu/bundle.yaml");
    assert!(manifest.contains("state: carried") && manifest.contains("reason: missing-reference"), "{manifest}");
    fleet.render(&["--tolerate", "partial,brake"]).ends(0).outcome("eu", "unchanged");
    fleet.secret("eu", "c0", &format!("value: {}-eu-0", fleet::CANARY));
    fleet.render(&[]).ends(0).outcome("eu", "published");
    assert_eq!(fleet.read(EU_SECRET), before);
    assert!(!fleet.read("bundles/regions/eu/bundle.yaml").contains("carried"));
}

/// However it breaks, and whatever becomes of its region, the last line says whether what it had stays.
#[test]
fn what_broken_credentials_had_is_told() {
    let fleet = || {
        let fleet = Fleet::with_credentials(2);
        fleet.render(&[]).ends(0);
        fleet
    };
    let stays = |fleet: &Fleet, flags: &[&str], code: i32| {
        let ran = fleet.render(flags).ends(code);
        ran.says("1 broken (what they had stays)");
    };
    // It names no region that there is, or none that can be read.
    let astray = fleet();
    for region in ["eu-wset", "[eu]"] {
        astray.credential("eu", "c0", "x");
        astray.edit("manifests/eu-c0.yaml", "region: eu", &format!("region: {region}"));
        stays(&astray, &[], 3);
    }
    // So it is where the region is paused.
    astray.configure("eu: {", "eu: {state: paused, ");
    stays(&astray, &[], 3);
    // A run of it alone does not look at what stays.
    let alone = fleet();
    alone.remove("manifests/eu-c0-secret.yaml");
    stays(&alone, &["eu-team/c0"], 3);
    // In a region that is held everything stays.
    let held = fleet();
    held.remove("manifests/eu-c0-secret.yaml");
    held.write("bundles/regions/eu/core/of-somebody-else.yaml", "x: 1\n");
    stays(&held, &[], 4);
    // Two share an identity's Secret, of which one is broken by its own text.
    let shared = fleet();
    shared.edit("manifests/eu-c1.yaml", "name: c1, namespace: eu-team}\n", "name: c0, namespace: eu-team}\n");
    shared.remove("manifests/eu-c1-secret.yaml");
    _ = shared.render(&["--withdraw", "eu-team/c1"]);
    shared.edit("manifests/eu-c1.yaml", "spec:", "specc:");
    shared.render(&[]).ends(3).says(" broken (what they had stays)");
    // What was never published has nothing.
    let new = fleet();
    new.credential("eu", "c9", "x");
    new.edit("manifests/eu-c9.yaml", "region: eu", "region: eu-wset");
    new.render(&[]).ends(3).says("1 broken (nothing is published for them)");
}

/// A Namespace leaves the bundle with the last Credential in it, and nothing deletes it on the region.
#[test]
fn a_namespace_that_leaves_says_that_it_stays() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    (0..2).for_each(|n| fleet.delete("us", &format!("c{n}")));
    let ran = fleet.render(&["--withdraw", "us-team/c0", "--withdraw", "us-team/c1"]).ends(0);
    assert!(ran.stdout.contains("Namespace us-team (stays on the region)"), "{}", ran.stdout);
    fleet.write("bundles/regions/eu/core/of-another.yaml", "x: 1\n");
    fleet.render(&[]).ends(4).says(", 1 region held");
}

#[test]
fn a_refused_credential_is_withdrawn() {
    let fleet = Fleet::with_credentials(3);
    fleet.credential("eu", "other", "x");
    let text = fleet.read("manifests/eu-other.yaml").replace("eu-team", "strangers");
    fleet.write("manifests/eu-other.yaml", &text);
    let text = fleet.read("manifests/eu-other-secret.yaml").replace("eu-team", "strangers");
    fleet.write("manifests/eu-other-secret.yaml", &text);
    fleet.render(&[]).ends(0);
    let path = "bundles/regions/eu/core/secrets/strangers/other.sops.yaml";
    assert!(fleet.has(path));
    fleet.configure("allowed: ['*']", "allowed: [eu-team]");
    fleet.render(&[]).ends(3).says("namespace-not-allowed");
    assert!(!fleet.has(path) && fleet.has(EU_SECRET));
}

#[test]
fn a_paused_region_stays_verbatim_and_a_retired_one_goes() {
    let fleet = Fleet::with_credentials(5);
    fleet.render(&[]).ends(0);
    fleet.configure("delivery: flux}", "delivery: flux, state: paused}");
    fleet.secret("eu", "c0", "value: changed");
    fleet.delete("eu", "c1");
    let before = fleet.stamps("bundles");
    fleet.render(&[]).ends(0).outcome("eu", "paused");
    assert_eq!(fleet.stamps("bundles"), before);

    fleet.configure("state: paused", "state: retired");
    let held = fleet.render(&[]).ends(4).outcome("eu", "held");
    assert_eq!(fleet.stamps("bundles"), before);
    fleet
        .render(&["--accept-deletions", &held.acceptance("--accept-deletions", "eu")])
        .ends(0)
        .outcome("eu", "withdrawn");
    assert!(!fleet.has("bundles/regions/eu") && !fleet.has("bundles/flux"), "{:?}", fleet.tree("bundles").keys());
    assert!(fleet.has("bundles/regions/us/bundle.yaml"));
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn a_renamed_region_with_its_directory_moves_nothing() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    let before = fleet.stamps("bundles");
    fleet.configure("  eu: {", "  europe: {directory: eu, ");
    for n in 0..2 {
        let path = format!("manifests/eu-c{n}.yaml");
        fleet.write(&path, fleet.read(&path).replace("region: eu", "region: europe"));
    }
    fleet.render(&[]).ends(0).outcome("europe", "unchanged");
    assert_eq!(fleet.stamps("bundles"), before);
    // Without it, the published folder is nobody's.
    fleet.configure("directory: eu, ", "");
    fleet.render(&[]).ends(64).says("region-not-configured");
    assert_eq!(fleet.stamps("bundles"), before);
}

#[test]
fn delivery_files_of_the_former_consumer_go_and_nothing_else() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.write("bundles/flux/readme.txt", "mine");
    fleet.configure("delivery: flux}", "delivery: argocd}");
    fleet.render(&[]).ends(8).outcome("eu", "published");
    assert!(!fleet.has("bundles/flux/eu") && fleet.has("bundles/argocd/eu/application.yaml"));
    assert_eq!(fleet.read("bundles/flux/readme.txt"), "mine");
    fleet.configure("delivery: argocd}", "delivery: none}");
    fleet.render(&[]).ends(8);
    assert!(!fleet.has("bundles/argocd/eu") && fleet.has("bundles/argocd/us/application.yaml"));
    fleet.render(&[]).ends(8).outcome("eu", "unchanged");
}

#[test]
fn namespaces_carry_the_labels_of_the_configuration() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("{allowed: ['*']}", "{allowed: ['*'], labels: {eu-team: {env: prod}}}");
    fleet.render(&[]).ends(0);
    let namespace = fleet.read("bundles/regions/eu/core/namespaces/eu-team.yaml");
    assert!(namespace.contains("env: prod"), "{namespace}");
}

#[test]
fn reseal_seals_anew_and_a_touched_file_is_healed() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    let before = fleet.read(EU_SECRET);
    fleet.render(&["--reseal", "eu"]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
    let after = fleet.read(EU_SECRET);
    assert_ne!(before, after);
    // One of the files that are no Secrets.
    let kustomization = fleet.read("bundles/regions/eu/core/kustomization.yaml");
    fleet.write("bundles/regions/eu/core/kustomization.yaml", "resources: []\n");
    fleet.remove("bundles/flux/eu/core.yaml");
    fleet.render(&[]).ends(0).outcome("eu", "published").says("not-as-published");
    assert_eq!(fleet.read("bundles/regions/eu/core/kustomization.yaml"), kustomization);
    assert!(fleet.has("bundles/flux/eu/core.yaml"));
    // Secrets are sealed anew only after somebody looked.
    fleet.write(EU_SECRET, after.replace("ENC[", "ENC ["));
    let held = fleet.render(&[]).ends(4).says("reseal-held");
    fleet.render(&["--accept-reseal", &held.acceptance("--accept-reseal", "eu")]).ends(0);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn foreign_files_hold_a_region_until_they_are_to_go() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.write("bundles/regions/eu/notes.txt", "mine");
    fleet.secret("eu", "c0", "value: changed");
    fleet.render(&[]).ends(4).outcome("eu", "held").says("foreign-file").says("--remove-foreign eu");
    assert_eq!(fleet.read("bundles/regions/eu/notes.txt"), "mine");
    fleet.render(&["--remove-foreign", "us"]).ends(4);
    fleet.render(&["--remove-foreign", "eu"]).ends(0).outcome("eu", "published");
    assert!(!fleet.has("bundles/regions/eu/notes.txt") && !fleet.has("bundles/.pouch-staging"));
}

#[test]
fn an_unsigned_region_is_held_until_it_is_adopted() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    let manifest = fleet.read("bundles/regions/eu/bundle.yaml");
    fleet.write("bundles/regions/eu/bundle.yaml", manifest.replacen("eu-team", "su-team", 1));
    let before = fleet.tree("bundles");
    fleet.render(&[]).ends(4).outcome("eu", "held").says("unsigned-bundle").says("--replace-unsigned eu");
    assert_eq!(fleet.tree("bundles"), before);
    fleet.render(&["--replace-unsigned", "eu"]).ends(0).outcome("eu", "published");
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn bundles_of_another_fleet_are_left_alone() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.configure("name: acme", "name: other");
    let before = fleet.stamps("bundles");
    fleet.render(&[]).ends(4).outcome("eu", "held").outcome("us", "held");
    assert_eq!(fleet.stamps("bundles"), before);
}

#[test]
fn links_are_never_followed() {
    // What stands in the place of regions' folders holds the regions that need them.
    for (place, exit) in [("regions", 4), ("regions/eu", 4), (".pouch-staging", 5), ("flux", 4)] {
        let place = &*format!("bundles/{place}");
        let fleet = Fleet::with_credentials(1);
        fleet.write("elsewhere/new/mine.txt", "mine");
        fs::create_dir_all(fleet.path(place).parent().unwrap()).unwrap();
        symlink(fleet.path("elsewhere"), fleet.path(place)).unwrap();
        let before = fleet.tree("elsewhere");
        let ran = fleet.render(&[]).says(place.trim_start_matches("bundles/"));
        // 8 where something stands there that `verify` would not prove.
        assert!([exit, 8].contains(&ran.code), "{place}: {}", ran.stderr);
        assert_eq!(fleet.tree("elsewhere"), before, "{place}");
    }
    // The output itself may be one: somebody chose it.
    let fleet = Fleet::with_credentials(1);
    fs::create_dir(fleet.path("real")).unwrap();
    symlink("real", fleet.path("bundles")).unwrap();
    fleet.render(&[]).ends(0);
    assert!(fleet.has("real/regions/eu/bundle.yaml"));
}

/// Who can commit to the output must not be able to have files removed outside of it.
#[test]
fn a_prepared_staging_folder_leads_nowhere() {
    let fleet = Fleet::with_credentials(1);
    fleet.write("elsewhere/mine.txt", "mine");
    fs::create_dir_all(fleet.path("bundles/.pouch-staging/new")).unwrap();
    symlink(fleet.path("elsewhere"), fleet.path("bundles/.pouch-staging/new/regions")).unwrap();
    let mine = fleet.path("elsewhere/mine.txt");
    let shared = ["regions/mine.txt", "../../../elsewhere/mine.txt", mine.to_str().unwrap()];
    let record = serde_json::json!({"regions": {}, "shared": shared, "removed": []});
    fleet.write("bundles/.pouch-staging/staged.json", record.to_string());
    fleet.render(&[]).ends(0);
    assert_eq!(fleet.read("elsewhere/mine.txt"), "mine");
}

#[test]
fn two_runs_do_not_meet() {
    let fleet = Fleet::with_credentials(1);
    fs::create_dir(fleet.path("bundles")).unwrap();
    let lock = fs::File::open(fleet.path("bundles")).unwrap();
    lock.lock().unwrap();
    fleet.render(&[]).ends(1).says("another pouch is writing to");
    assert!(fleet.tree("bundles").is_empty());
    drop(lock);
    fleet.render(&[]).ends(0);
}

#[test]
fn the_summary_keeps_its_schema() {
    let schema = include_str!("../../../../schemas/summary.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let fleet = Fleet::with_credentials(6);
    fleet.render(&["--summary", "first.json"]).ends(0);
    fleet.remove("manifests/us-c0-secret.yaml");
    for n in 0..5 {
        fleet.delete("eu", &format!("c{n}"));
    }
    fleet.render(&["--summary", "second.json"]).ends(4);
    for file in ["first.json", "second.json"] {
        let text = fleet.read(file);
        assert!(!text.contains(fleet::CANARY));
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        let faults: Vec<String> = schema.iter_errors(&summary).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
    }
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("second.json")).unwrap();
    assert_eq!((&summary["exitCode"], &summary["command"]), (&4.into(), &"render".into()));
    // Nothing of it changes but what the manifest says of five objects.
    assert_eq!(
        (&summary["regions"][0]["outcome"], &summary["regions"][0]["carried"]),
        (&"published".into(), &5.into())
    );
    assert_eq!(summary["regions"][0]["changes"].as_array().map(Vec::len), Some(0));
    assert_eq!(summary["credentials"]["broken"], 1);
}

#[test]
fn words_go_to_stderr_in_the_form_that_was_asked_for() {
    let fleet = Fleet::with_credentials(2);
    fleet.remove("manifests/eu-c0-secret.yaml");
    let plain = fleet.render(&[]).ends(3);
    assert!(!plain.stderr.contains('\x1b') && plain.stdout.starts_with("eu "));
    let coloured = fleet.render(&["--color", "always"]).ends(3);
    assert!(coloured.stderr.contains('\x1b') && coloured.stdout.contains('\x1b'));
    assert!(!fleet.render(&["--color", "never"]).ends(3).stderr.contains('\x1b'));
    let json = fleet.render(&["--log-format", "json", "--color", "always", "-v"]).ends(3);
    assert!(json.stderr.lines().count() > 1);
    for line in json.stderr.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(record["severity"].is_string() && record["message"].is_string(), "{line}");
    }
    let quiet = fleet.render(&["-q"]).ends(3);
    assert!(!quiet.stderr.contains("Credentials published"), "{}", quiet.stderr);
    fleet.run(&["render", "--no-such-flag"]).ends(64);
    fleet
        .run(&["decrypt", "x"])
        .ends(64)
        .says("there is no command decrypt")
        .says("`pouch unpack PATH --identity FILE`");
    fleet.run(&["diff"]).ends(64).says("there is no command diff").says("`pouch plan`");
    fleet.run(&["pubish"]).ends(64).says("'publish'");
    let init = fleet.run(&["init", "-f", "a fleet/pouch.yaml", "--region", "ap"]).ends(0);
    for says in [
        "mkdir -p 'a fleet/manifests'",
        "pouch render -f 'a fleet/pouch.yaml'",
        "-n flux-system create secret generic sops-age --from-file='ap.agekey=a fleet/keys/ap.txt'",
        "-n argocd create secret generic sops-age-ap --from-file='ap.agekey=a fleet/keys/ap.txt'",
    ] {
        assert!(init.stdout.contains(says), "{}", init.stdout);
    }
}

#[test]
fn an_added_recipient_asks_and_a_removed_one_does_not() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.configure("output:", &format!("escrowRecipients: [{}]\noutput:", escrow()));
    let held = fleet.render(&[]).ends(4).says("recipient-added").outcome("eu", "held").outcome("us", "held");
    let (eu, us) = (held.acceptance("--accept-recipients", "eu"), held.acceptance("--accept-recipients", "us"));
    fleet.render(&["--accept-recipients", &eu, "--accept-recipients", &us]).ends(0);
    assert!(fleet.read(EU_SECRET).contains(escrow()));
    fleet.configure(&format!("escrowRecipients: [{}]\n", escrow()), "");
    fleet.render(&[]).ends(0).outcome("eu", "published");
    assert!(!fleet.read(EU_SECRET).contains(escrow()));
}

fn escrow() -> &'static str {
    "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl"
}

#[test]
fn a_folder_that_cannot_be_read_is_no_empty_one() {
    if rustix::process::geteuid().is_root() {
        // Root reads everything; a file where a folder belongs does as well.
        let fleet = Fleet::with_credentials(1);
        fleet.write("bundles/regions/eu", "a file");
        fleet.render(&[]).ends(4).says("foreign-file");
        assert_eq!(fleet.read("bundles/regions/eu"), "a file");
        return;
    }
    use std::os::unix::fs::PermissionsExt as _;
    let fleet = Fleet::with_credentials(1);
    fleet.render(&[]).ends(0);
    fs::set_permissions(fleet.path("bundles/regions/eu"), fs::Permissions::from_mode(0o000)).unwrap();
    fleet.render(&[]).ends(4).says("unreadable-bundle");
    fs::set_permissions(fleet.path("bundles/regions/eu"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn colours_and_progress_are_for_terminals() {
    // Python has pseudo-terminals; `script` is not on every machine.
    let Some(python) = support::tool("python3") else { return };
    let fleet = Fleet::with_credentials(1);
    fleet.remove("manifests/eu-c0-secret.yaml");
    let on_terminal = |no_color: &str| {
        let pouch = fleet.command(&[]);
        let mut command = std::process::Command::new(&python);
        command.args(["-c", "import pty, sys; pty.spawn(sys.argv[1:])"]).arg(pouch.get_program()).arg("render");
        command.current_dir(fleet.path("")).env("NO_COLOR", no_color);
        command.stdin(std::process::Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    // https://no-color.org/: an empty one does not count.
    let (coloured, plain) = (on_terminal(""), on_terminal("1"));
    assert!(coloured.contains("missing-reference") && coloured.contains("\x1b[1;31m"), "{coloured:?}");
    assert!(plain.contains("missing-reference") && !plain.contains("\x1b[1;31m"), "{plain:?}");
}

/// Who listens to the metrics must hear of every end, of the bad ones above all.
#[test]
fn metrics_say_how_each_run_ended() {
    let fleet = Fleet::with_credentials(3);
    let metrics = |code: i32, arguments: &[&str]| {
        fleet.render(&[&["--metrics", "pouch.prom"], arguments].concat()).ends(code);
        fleet.read("pouch.prom")
    };
    let text = metrics(0, &[]);
    assert!(text.contains("pouch_last_run_exit_code{fleet=\"acme\",command=\"render\"} 0\n"), "{text}");
    assert!(text.contains("pouch_region_sealed{fleet=\"acme\",region=\"eu\"} 3\n"), "{text}");
    assert!(metrics(0, &[]).contains("pouch_region_outcome{fleet=\"acme\",region=\"eu\",outcome=\"unchanged\"} 1\n"));
    for n in 0..3 {
        fleet.delete("eu", &format!("c{n}"));
    }
    let text = metrics(4, &[]);
    assert!(text.contains("pouch_last_run_exit_code{fleet=\"acme\",command=\"render\"} 4\n"), "{text}");
    assert!(text.contains("pouch_region_carried{fleet=\"acme\",region=\"eu\"} 3\n"), "{text}");
    assert!(
        text.contains(
            "pouch_findings{fleet=\"acme\",command=\"render\",code=\"deletions-held\",severity=\"error\"} 1\n"
        ),
        "{text}"
    );

    // A run that did nothing says so, and nothing of what it does not know.
    let text = metrics(64, &["--reseal", "nowhere"]);
    assert!(
        text.contains("pouch_last_run_exit_code{fleet=\"acme\",command=\"render\"} 64\n") && !text.contains("region"),
        "{text}"
    );
    fleet.write("pouch.yaml", "kind: [");
    assert!(metrics(64, &[]).contains("\npouch_last_run_exit_code{command=\"render\"} 64\n"));
    // Where it cannot be written, the run's own end is still told.
    fleet.render(&["--metrics", "no/such/folder"]).ends(64).says("cannot write the metrics to no/such/folder");
}

/// Whoever reads a summary takes it for the last run's: an older one does not outlive a run that failed.
#[test]
fn no_summary_of_an_earlier_run_is_left() {
    let fleet = Fleet::with_credentials(1);
    fleet.render(&["--summary", "summary.json"]).ends(0);
    assert!(fleet.read("summary.json").contains("\"exitCode\": 0"));
    fleet.render(&["--summary", "summary.json", "--reseal", "nowhere"]).ends(64);
    assert!(fleet.read("summary.json").contains("\"exitCode\": 64"));
    // A command that has none to write says so, and touches nothing.
    fleet.write("summary.json", "mine");
    for command in [&["config"][..], &["schema", "fleet"], &["man"], &["completions", "bash"], &["rbac"], &["init"]] {
        for flag in ["--summary", "--metrics"] {
            let ran = fleet.run(&[command, &[flag, "summary.json"]].concat()).ends(64);
            ran.says("nothing to write").says("`render`, `publish`, `rekey`, `verify` and `deliver` write");
        }
    }
    assert_eq!(fleet.read("summary.json"), "mine");
    // Also a verification that could not be made is told to who watches.
    fs::remove_dir_all(fleet.path("bundles")).unwrap();
    fleet.run(&["verify", "--live", "--context", "nowhere", "--region", "eu", "--metrics", "pouch.prom"]).ends(5);
    let text = fleet.read("pouch.prom");
    let says = |line: &str| {
        line.starts_with("pouch_last_run_exit_code{fleet=\"acme\",command=\"verify\"") && line.ends_with("} 5")
    };
    assert!(text.lines().any(says), "{text}");
}

/// A list that was cut short must not look whole.
#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    let fleet = Fleet::with_credentials(1);
    for arguments in [&["render"][..], &["config"], &["schema", "fleet"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::from(fleet.command(arguments).stdout(full).output().unwrap());
        ran.ends(1).says("standard output");
    }
    let mut child = fleet.command(&["schema", "fleet"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0), "a reader that went away is no error");
}
