//! Registries that keep a run waiting, and a run that is stopped meanwhile.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{artifact, publish, published};
use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;
use crate::support::registry::{Fault, Registry};

const TAGS: &str = "GET /v2/";

#[test]
fn who_sends_a_byte_now_and_then_is_not_waited_for() {
    let registry = Registry::new();
    let fleet = published(&registry);
    registry.spoil(TAGS, Fault::Drip);
    let began = Instant::now();
    let ran = publish(&fleet, &["--first"]).ends(1).outcome("eu", "published").outcome("us", "published");
    // The drip goes on for a minute.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    ran.says("cannot be used: it did not answer in time");
    // The one that was asked had all the time that there is.
    assert_eq!(registry.asked().len(), 2);
    registry.heal();
    publish(&fleet, &[]).ends(0).says("fleet/eu:latest is at sha256:").says("fleet/us:latest is at sha256:");
}

#[test]
fn a_signal_is_heard_while_a_registry_keeps_the_run_waiting() {
    for fault in [Fault::Drip, Fault::Hang(Duration::from_secs(60)), Fault::Status(503, "Retry-After: 25\r\n".into())] {
        let registry = Registry::new();
        let fleet = published(&registry);
        let name = format!("{fault:?}");
        registry.spoil(TAGS, fault);
        let mut command = fleet.command(&["publish", "--first"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        let mut asked = 0;
        while asked < 2 && began.elapsed() < Duration::from_secs(60) {
            asked += registry.asked().len();
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(asked, 2, "{name}");
        let began = Instant::now();
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert!(began.elapsed() < Duration::from_secs(15), "{name}: {:?}", began.elapsed());
        // What is published is told all the same.
        ran.ends(143).outcome("eu", "published").says("may be out of date: stopped");
        assert!(Origin::known(&fleet).tip().is_some());
    }
}

/// A fleet of many regions, more than are asked about at once.
fn many(registry: &Registry) -> Fleet {
    let fleet = published(registry);
    let more = |n: u32| {
        let region = format!("r{n}");
        fleet.credential(&region, "c0", "x");
        let (_, own) = pouch::age::generate_identity().unwrap();
        format!(
            "  {region}: {{recipients: [{own}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: flux}}\n"
        )
    };
    let regions: String = (0..18).map(more).collect();
    fleet.configure("output:", &format!("{regions}output:"));
    fleet
}

#[test]
fn a_registry_that_fails_is_not_asked_for_every_region() {
    for (fault, each) in [
        (Fault::Hang(Duration::from_secs(60)), 1),
        // Nobody waits for a day.
        (Fault::Status(503, "Retry-After: 99999\r\n".into()), 1),
        (Fault::Status(500, String::new()), 4),
    ] {
        let registry = Registry::new();
        let fleet = many(&registry);
        let name = format!("{fault:?}");
        registry.spoil(TAGS, fault);
        let began = Instant::now();
        let ran = publish(&fleet, &["--first"]).ends(1);
        assert!(began.elapsed() < Duration::from_secs(45), "{name}: {:?}", began.elapsed());
        // Eight at a time, and those that were under way when the second one failed.
        let asked = registry.asked().len();
        assert!((2 * each..=9 * each).contains(&asked), "{name}: {asked}");
        ran.says("is not asked again in this run");
        assert_eq!((artifact(&fleet, "eu")["state"].as_str(), artifact(&fleet, "r17")["state"].as_str()), {
            (Some("failed"), Some("failed"))
        });
        registry.heal();
        publish(&fleet, &[]).ends(0).says("fleet/r17:latest is at sha256:");
    }
}

/// A repository that is in trouble says nothing of the registry, which goes on answering for others.
#[test]
fn one_repository_s_trouble_keeps_no_other_waiting() {
    let registry = Registry::new();
    let fleet = many(&registry);
    for region in ["r1", "r3", "r5"] {
        registry.spoil(&format!("/fleet/{region}/"), Fault::Status(503, "Retry-After: 99999\r\n".into()));
    }
    publish(&fleet, &["--first"]).ends(1);
    for (region, state) in [("r1", "failed"), ("r17", "pushed"), ("eu", "pushed"), ("us", "pushed")] {
        assert_eq!(artifact(&fleet, region)["state"], state, "{region}");
    }
}

#[test]
fn a_place_for_uploads_may_have_a_fragment() {
    let registry = Registry::new();
    let fleet = published(&registry);
    let location = format!("Location: http://{}/v2/fleet/eu/blobs/uploads/1?x=1#part\r\n", registry.host());
    registry.spoil("POST /v2/fleet/eu/", Fault::Status(202, location));
    publish(&fleet, &["--first"]).ends(0).says("fleet/eu:latest is at sha256:");
    registry.layer("fleet/eu", "latest");
}
