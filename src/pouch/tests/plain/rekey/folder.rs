//! Into a folder: what changes, what is asked for, what is left alone.

use std::os::unix::fs::MetadataExt as _;

use super::*;

#[test]
fn from_the_sources_every_data_key_is_new_and_nothing_else_changes() {
    let fleet = published(3);
    let before = fleet.tree("bundles");
    let ran = fleet.run(&["rekey"]).ends(0).outcome("eu", "published").outcome("us", "published");
    // Nobody was removed.
    assert!(!ran.stderr.contains("pouch exposure"), "{}", ran.stderr);
    let after = fleet.tree("bundles");
    let expected: BTreeSet<String> = ["eu", "us"].iter().flat_map(|region| of_rekey(&before, region)).collect();
    assert_eq!(changed(&before, &after), expected);
    for region in ["eu", "us"] {
        let file = identity_file(region);
        prove(&fleet, &before, &after, region, (&file, &file), &[own(region)]);
    }
    // What was sealed anew is what a render would keep.
    fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
    assert_eq!(changed(&after, &fleet.tree("bundles")), BTreeSet::new());
}

#[test]
fn from_what_is_published_the_sources_are_not_read() {
    let fleet = published(3);
    let before = fleet.tree("bundles");
    without_sources(&fleet);
    fleet.render(&[]).ends(5);
    let files = [identity_file("eu"), identity_file("us")];
    let ran = fleet.run(&["rekey", "--identity", &files[0], "--identity", &files[1]]).ends(0);
    assert!(!ran.stderr.contains("resolved"), "{}", ran.stderr);
    let after = fleet.tree("bundles");
    let expected: BTreeSet<String> = ["eu", "us"].iter().flat_map(|region| of_rekey(&before, region)).collect();
    assert_eq!(changed(&before, &after), expected);
    for region in ["eu", "us"] {
        let file = identity_file(region);
        prove(&fleet, &before, &after, region, (&file, &file), &[own(region)]);
    }
    // The tags fit what the sources say: nothing was lost or invented on the way.
    std::fs::rename(fleet.path("manifests-gone"), fleet.path("manifests")).unwrap();
    fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
}

/// Both ways, for one region of two: a recipient joins, which somebody has to accept, and the old one goes.
#[test]
fn recipients_join_when_accepted_and_leave_without_a_trace() {
    for way in [&[][..], &["--identity", "keys/eu.txt", "--identity", "keys/second.txt"]] {
        let fleet = published(3);
        let second = new_identity(&fleet, "keys/second.txt");
        configured(&fleet, "eu", &[EU, &second]);
        fn joined<'a>(way: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
            [&["rekey", "--region", "eu"], way, more].concat()
        }
        let (before, stamps) = (fleet.tree("bundles"), fleet.stamps("bundles"));

        let dry = fleet.run(&joined(way, &["--dry-run"])).ends(0).says("recipient-added");
        assert!(dry.stdout.contains(&format!("  adds       recipient {second}: ")), "{}", dry.stdout);
        assert!(dry.stdout.starts_with("eu  would be held") && dry.stdout.contains("3 resealed"), "{}", dry.stdout);
        assert!(!dry.stdout.contains("us "), "{}", dry.stdout);
        fleet.run(&joined(way, &[])).ends(4).outcome("eu", "held");
        fleet.run(&joined(way, &["--accept-recipients", "eu=0123456789abcdef"])).ends(4);
        assert_eq!(fleet.stamps("bundles"), stamps, "nothing was touched");

        let accepted = dry.acceptance("--accept-recipients", "eu");
        let dry = fleet.run(&joined(way, &["--dry-run", "--accept-recipients", &accepted])).ends(0);
        assert!(dry.stdout.starts_with("eu  would be published"), "{dry:?}");
        assert_eq!(fleet.stamps("bundles"), stamps, "nothing was touched");
        fleet.run(&joined(way, &["--accept-recipients", &accepted])).ends(0);
        let both = fleet.tree("bundles");
        assert_eq!(changed(&before, &both), of_rekey(&before, "eu"));
        for reader in ["keys/eu.txt", "keys/second.txt"] {
            prove(&fleet, &before, &both, "eu", ("keys/eu.txt", reader), &[EU, &second]);
        }
        // Accepted once is accepted: the same line again asks for nothing.
        fleet.run(&joined(way, &["--accept-recipients", &accepted])).ends(0);
        let again = fleet.tree("bundles");
        prove(&fleet, &both, &again, "eu", ("keys/eu.txt", "keys/second.txt"), &[EU, &second]);

        configured(&fleet, "eu", &[&second]);
        let ran = fleet.run(&joined(way, &[])).ends(0);
        assert!(ran.stdout.contains(&format!("  removes    recipient {EU}: ")), "{}", ran.stdout);
        let last = fleet.tree("bundles");
        prove(&fleet, &again, &last, "eu", ("keys/eu.txt", "keys/second.txt"), &[&second]);
        for (path, bytes) in last.iter().filter(|(path, _)| path.starts_with("regions/eu/")) {
            assert!(!String::from_utf8_lossy(bytes).contains(EU), "{path}");
        }
        assert_eq!(changed(&before, &last), of_rekey(&before, "eu"), "the other region is as it was");
        fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
    }
}

/// What the sources do not give cannot be sealed anew from them, so that region stays whole; with an
/// identity it can, and stays carried.
#[test]
fn a_region_with_something_broken_stays_whole_unless_it_is_opened() {
    let fleet = published(3);
    fleet.remove("manifests/eu-c1-secret.yaml");
    fleet.render(&[]).ends(3).outcome("eu", "published");
    let before = fleet.tree("bundles");
    assert!(fleet.read("bundles/regions/eu/bundle.yaml").contains("state: carried"));
    let ran = fleet.run(&["rekey"]).ends(4).outcome("eu", "held").outcome("us", "published");
    ran.says("rekey-impossible").says("--identity");
    let between = fleet.tree("bundles");
    assert_eq!(changed(&before, &between), of_rekey(&before, "us"));

    fleet.run(&["rekey", "--region", "eu", "--identity", "keys/eu.txt"]).ends(0).outcome("eu", "published");
    let after = fleet.tree("bundles");
    assert_eq!(changed(&between, &after), of_rekey(&before, "eu"));
    prove(&fleet, &before, &after, "eu", ("keys/eu.txt", "keys/eu.txt"), &[EU]);
    let state = |tree: &Tree| {
        let text = String::from_utf8(tree["regions/eu/bundle.yaml"].clone()).unwrap();
        text.lines().filter(|line| !line.contains("sha256") && !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(state(&before), state(&after), "state, reason and claimants stay");
    assert_eq!(fleet.render(&[]).ends(3).outcome("eu", "unchanged").code, 3);
}

/// Changes in the sources are published with it, under the same brake.
#[test]
fn withdrawals_are_held_as_ever() {
    let fleet = published(8);
    for n in 0..7 {
        fleet.delete("eu", &format!("c{n}"));
    }
    let before = fleet.tree("bundles");
    let ran = fleet.run(&["rekey", "--region", "eu"]).ends(4).outcome("eu", "held");
    assert_eq!(fleet.tree("bundles"), before);
    let accepted = ran.acceptance("--accept-deletions", "eu");
    fleet.run(&["rekey", "--region", "eu", "--accept-deletions", &accepted]).ends(0);
    assert_eq!(fleet.tree("bundles").keys().filter(|path| is_sealed(path) && path.contains("/eu/")).count(), 1);
}

#[test]
fn what_was_never_published_is_not_published_by_it() {
    let fleet = unpublished(2);
    fleet.run(&["rekey"]).ends(5).says("bundles");
    assert!(!fleet.has("bundles"));
    fleet.run(&["rekey", "--dry-run"]).ends(5);
    assert!(!fleet.has("bundles"));
    fleet.configure("  us:", "  us: {state: paused, recipients: [");
    fleet.configure("us: {state: paused, recipients: [ {recipients: [", "us: {state: paused, recipients: [");
    fleet.render(&[]).ends(0);
    fleet.configure("state: paused, ", "");
    let before = fleet.tree("bundles");
    fleet.run(&["rekey"]).ends(0).outcome("eu", "published").outcome("us", "unchanged");
    assert_eq!(changed(&before, &fleet.tree("bundles")), of_rekey(&before, "eu"));
}

#[test]
fn a_paused_region_is_left_alone_and_named() {
    let fleet = published(2);
    fleet.configure("  us: {", "  us: {state: paused, ");
    let before = fleet.tree("bundles");
    fleet.run(&["rekey"]).ends(0).says("region us is paused");
    assert_eq!(changed(&before, &fleet.tree("bundles")), of_rekey(&before, "eu"));
    fleet.run(&["rekey", "--region", "us"]).ends(64).says("region us is not active");
}

#[test]
fn the_summary_names_what_was_done() {
    let fleet = published(2);
    fleet.run(&["rekey", "--identity", "keys/eu.txt", "--region", "eu", "--summary", "summary.json"]).ends(0);
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    assert_eq!((&summary["command"], &summary["exitCode"]), (&"rekey".into(), &0.into()));
    assert_eq!((&summary["regions"][0]["sealed"], &summary["regions"][0]["outcome"]), (&2.into(), &"published".into()));
    assert!(summary["credentials"].is_null());
    // Who looks only is told too, and nobody takes it for a run that published.
    let before = fleet.tree("bundles");
    fleet.run(&["rekey", "--dry-run", "--summary", "summary.json"]).ends(0);
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    assert_eq!((&summary["command"], &summary["exitCode"]), (&"rekey --dry-run".into(), &0.into()));
    assert_eq!((&summary["regions"][0]["name"], &fleet.tree("bundles")), (&"eu".into(), &before));
    fleet.run(&["rekey", "--dry-run", "--metrics", "metrics.txt"]).ends(64).says("--metrics");
}

/// Killed at any moment, each region is sealed for the old or the new recipients as a whole, and the same
/// command ends what was begun.
#[test]
fn killed_half_way_it_converges() {
    const CREDENTIALS: usize = 40;
    const KILLS: u32 = 24;
    let fleet = published(CREDENTIALS);
    fleet::copy(&fleet.path("bundles"), &fleet.path("old"));
    let old = fleet.tree("old");
    let recipients: Vec<String> = ["eu", "us"].map(|r| new_identity(&fleet, &format!("keys/new-{r}.txt"))).into();
    for (region, recipient) in ["eu", "us"].iter().zip(&recipients) {
        configured(&fleet, region, &[recipient]);
    }
    let dry = fleet.run(&["rekey", "--dry-run"]).ends(0);
    let accepted = ["eu", "us"].map(|region| dry.acceptance("--accept-recipients", region));
    for way in [&[][..], &["--identity", "keys/eu.txt", "--identity", "keys/us.txt"]] {
        let command = [&["rekey", "-q", "--accept-recipients", &accepted[0], "--accept-recipients", &accepted[1]], way];
        // After a part is done, its new identity is needed too.
        let more: &[&str] =
            if way.is_empty() { &[] } else { &["--identity", "keys/new-eu.txt", "--identity", "keys/new-us.txt"] };
        let command = [&command.concat()[..], more].concat();
        let started = std::time::Instant::now();
        fleet.run(&command).ends(0);
        let takes = started.elapsed();
        let (mut early, mut halves) = (0, 0);
        // On a busy machine it may take more of them until one falls between two regions.
        for n in 0..10 * KILLS {
            if n >= KILLS && halves > 0 {
                break;
            }
            let _ = std::fs::remove_dir_all(fleet.path("bundles"));
            fleet::copy(&fleet.path("old"), &fleet.path("bundles"));
            let region = fleet.path("bundles/regions/eu");
            let before = std::fs::metadata(&region).unwrap().ino();
            let mut child = fleet.command(&command).stdout(std::process::Stdio::null()).spawn().unwrap();
            if n % 2 == 0 {
                // As soon as the first region is exchanged: mostly the other one is the old one still.
                while child.try_wait().unwrap().is_none()
                    && std::fs::metadata(&region).is_ok_and(|now| now.ino() == before)
                {}
            } else {
                std::thread::sleep(takes.mul_f64(0.4 + 0.7 * f64::from(n % KILLS) / f64::from(KILLS)));
            }
            let _ = child.kill();
            early += u32::from(!child.wait().unwrap().success());
            let torn = fleet.tree("bundles");
            let states: Vec<bool> = ["eu", "us"]
                .iter()
                .zip(&recipients)
                .map(|(region, recipient)| {
                    let is_new =
                        String::from_utf8_lossy(&torn[&format!("regions/{region}/bundle.yaml")]).contains(recipient);
                    let reader = if is_new { format!("keys/new-{region}.txt") } else { identity_file(region) };
                    assert_eq!(opened(&fleet, &torn, region, &reader).len(), CREDENTIALS);
                    is_new
                })
                .collect();
            halves += u32::from(states[0] != states[1]);
            fleet.run(&command).ends(0);
            let after = fleet.tree("bundles");
            for (region, recipient) in ["eu", "us"].iter().zip(&recipients) {
                let readers = (&*identity_file(region), &*format!("keys/new-{region}.txt"));
                prove(&fleet, &old, &after, region, readers, &[recipient]);
            }
            assert!(after.keys().eq(old.keys()), "nothing is left behind");
        }
        assert!(early > KILLS / 4, "only {early} runs were killed");
        assert!(halves > 0, "no run was killed between two regions");
    }
    fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
}

/// To withdraw a region is the business of a publish.
#[test]
fn a_retired_region_is_left_alone() {
    let fleet = published(2);
    fleet.configure("  us: {", "  us: {state: retired, ");
    let before = fleet.tree("bundles");
    let ran = fleet.run(&["rekey"]).ends(0).outcome("eu", "published");
    assert!(!ran.stdout.contains("us  "), "{}", ran.stdout);
    assert_eq!(changed(&before, &fleet.tree("bundles")), of_rekey(&before, "eu"));
    fleet.run(&["rekey", "--region", "us"]).ends(64).says("region us is not active");
}

/// Where nothing is published there is nothing to seal anew: no success, and nothing is made.
#[test]
fn a_folder_without_bundles_is_no_success() {
    let fleet = unpublished(2);
    std::fs::create_dir(fleet.path("empty")).unwrap();
    for way in [&[][..], &["--region", "eu"], &["--identity", "keys/eu.txt"], &["--new-reuse-key"]] {
        let ran = fleet.run(&[&["rekey", "empty"], way].concat()).ends(4).says("error[rekey-impossible]");
        ran.says("nothing is published for region eu in ").outcome("eu", "held");
        assert!(fleet.tree("empty").is_empty(), "{:?}", fleet.tree("empty").keys());
    }
    let ran = fleet.run(&["rekey", "empty", "--dry-run"]).ends(0).outcome("eu", "would");
    assert!(ran.stdout.contains("would be held"), "{}", ran.stdout);
    ran.says("nothing is published for region eu");
    fleet.run(&["rekey", "nowhere"]).ends(5).says("It is not there");
    assert!(!fleet.path("nowhere").exists());
    // One of two: the other one is sealed, and the first is said.
    let fleet = published(2);
    std::fs::remove_dir_all(fleet.path("bundles/regions/eu")).unwrap();
    let _ = std::fs::remove_dir_all(fleet.path("bundles/flux/eu"));
    for way in [&[][..], &["--identity", "keys/us.txt"]] {
        let ran = fleet.run(&[&["rekey"], way].concat()).ends(0).outcome("us", "published").outcome("eu", "unchanged");
        ran.says("nothing is published for region eu in ");
        let ran = fleet.run(&[&["rekey", "--region", "eu", "--region", "us"], way].concat()).ends(4);
        ran.outcome("us", "published").outcome("eu", "held").says("error[rekey-impossible]");
        assert!(!fleet.path("bundles/regions/eu").exists());
    }
}

#[test]
fn help_names_what_rekey_has() {
    let fleet = published(1);
    super::lost_key::lose(&fleet);
    for way in [&[][..], &["--identity", "keys/eu.txt"]] {
        let ran = fleet.run(&[&["rekey", "--region", "eu"], way].concat()).ends(4).says("unsigned-bundle");
        assert!(!ran.stderr.contains("--replace-unsigned"), "{}", ran.stderr);
        ran.says("--new-reuse-key").says("reuseKey.previous");
    }
}

/// What a removed recipient could read matters where somebody was removed, not where that was held.
#[test]
fn a_region_that_is_held_removes_nobody() {
    const NOTE: &str = "a removed recipient can still read";
    let fleet = published(1);
    let second = new_identity(&fleet, "keys/second.txt");
    configured(&fleet, "eu", &[&second]);
    for way in [&[][..], &["--identity", "keys/eu.txt"]] {
        let command = [&["rekey", "--region", "eu"], way].concat();
        let ran = fleet.run(&command).ends(4).says("recipient-added");
        assert!(!ran.stderr.contains(NOTE), "{}", ran.stderr);
    }
    let accepted = fleet.run(&["rekey", "--region", "eu"]).acceptance("--accept-recipients", "eu");
    fleet.run(&["rekey", "--region", "eu", "--accept-recipients", &accepted]).ends(0).says(NOTE);
}
