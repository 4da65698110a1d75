//! A region that k0rdent pushed its copies to, and that Flux takes over.

use serde_json::Value;

use super::{all_ready, set_up};
use crate::delivered::{Delivered, shows_nothing};
use crate::kcm::{self, K0rdent, closures, old_copies};

#[test]
fn copies_of_k0rdent_are_taken_over_in_place() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    old_copies().iter().for_each(|closure| K0rdent(&region.server).push(closure));
    let copies = closures(1).concat();
    kcm::mark(&region.server, &copies);
    let kept = kcm::kept(&region.server, &copies);
    assert_eq!(kept.len(), 8, "four identities and four Secrets");

    region.put(&closures(2).concat());
    region.publish();
    let ran = region.verify_live(&[]).ends(8);
    assert!(ran.stderr.contains("error[not-taken-over]"), "{}", ran.stderr);
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    all_ready(&flux.sync());
    assert_eq!(kcm::kept(&region.server, &copies), kept, "something was made anew, or taken from controllers");
    // What another field manager owns stays: an entry that is not in the source any more. Flux itself takes copies in
    // clear away.
    mend_by_hand(&region);
    is_exact(&region);
    let ran = region.verify_live(&[]).ends(0);
    assert!(!ran.stderr.contains("warning["), "{}", ran.stderr);
    kcm::again(&region);
    all_ready(&flux.reconcile());
    is_exact(&region);

    // So it is where all values change.
    let versions = region.versions();
    region.put(&closures(3).concat());
    region.publish();
    all_ready(&flux.sync());
    all_ready(&flux.reconcile());
    is_exact(&region);
    assert_ne!(region.versions(), versions);
    assert_eq!(kcm::kept(&region.server, &copies), kept, "something was taken from controllers");
    region.verify_live(&[]).ends(0);
    shows_nothing("Flux's log", &flux.log());
}

/// Fails unless the region is as the sources say, but for the labels by which k0rdent knew its copies, and those of others.
#[track_caller]
fn is_exact(region: &Delivered) {
    let mut differences = region.differences();
    differences.retain(|line| !line.contains(" labels k0rdent.mirantis.com/credential."));
    differences.retain(|line| !line.contains(&format!(" labels {}", kcm::MARK)));
    assert_eq!(differences, Vec::<String>::new());
}

/// Does what `verify --live` says of each finding.
fn mend_by_hand(region: &Delivered) {
    let ran = region.verify_live(&[]).ends(8);
    let (mut entries, mut copies) = (0, 0);
    for line in ran.stderr.lines() {
        if let Some(rest) = line.strip_prefix("error[stale-entry]: Secret ") {
            let (place, rest) = rest.split_once(" has data.").unwrap();
            let (namespace, name) = place.split_once('/').unwrap();
            let entry = rest.split_once(' ').unwrap().0;
            let patch = format!("[{{\"op\": \"remove\", \"path\": \"/data/{entry}\"}}]");
            region.server.kubectl_prints(["-n", namespace, "patch", "secret", name, "--type=json", "-p", &patch], "");
            entries += 1;
        } else if let Some(command) = line.split_once("Remove it there: kubectl ").map(|(_, command)| command) {
            let words: Vec<&str> = command.split(' ').collect();
            region.server.kubectl_prints(words, "");
            copies += 1;
        } else {
            assert!(!line.starts_with("error[") || line.starts_with("error[stale-entry]"), "{line}");
        }
    }
    assert_eq!((entries, copies), (4, 0), "{}", ran.stderr);
}
