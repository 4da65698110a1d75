//! A region that k0rdent pushed its copies to, and that Flux takes over.

use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, shows_nothing};
use crate::kcm::{self, K0rdent, closures, old_copies};
use crate::objects::path;
use crate::rig::flux::Flux;
use crate::rig::http::Request;

#[test]
fn copies_of_k0rdent_are_taken_over_in_place() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    old_copies().iter().for_each(|closure| K0rdent(&region.server).push(closure));
    let uids = kcm::uids(&region);
    assert_eq!(uids.len(), 8, "four identities and four Secrets");

    region.put(&closures(2).concat());
    region.publish();
    let ran = region.verify_live(&[]).ends(8);
    assert!(ran.stderr.contains("error[not-taken-over]"), "{}", ran.stderr);
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    all_ready(&flux.sync());
    assert_eq!(kcm::uids(&region), uids, "something was made anew");
    // What another field manager owns stays: an entry that is not in the source any more. Flux itself takes copies in
    // clear away.
    mend_by_hand(&region);
    is_exact(&region);
    let ran = region.verify_live(&[]).ends(0);
    assert!(!ran.stderr.contains("warning["), "{}", ran.stderr);
    kcm::again(&region);
    all_ready(&flux.reconcile());
    is_exact(&region);
    marks_of_controllers_stay(&mut region, &flux);
    shows_nothing("Flux's log", &flux.log());
}

/// Fails unless the region is as the sources say, but for the labels by which k0rdent knew its copies.
#[track_caller]
fn is_exact(region: &Delivered) {
    let mut differences = region.differences();
    differences.retain(|line| !line.contains(" labels k0rdent.mirantis.com/credential."));
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

/// What a provider's controller sets on a Secret stays there, also when its value changes; its program has the name that
/// k0rdent's has.
fn marks_of_controllers_stay(region: &mut Delivered, flux: &Flux) {
    let secret = closures(2).concat().into_iter().find(|object| object["kind"] == "Secret").expect("there is one");
    let target = path(&secret);
    let uid = region.get("/api/v1/namespaces/default")["metadata"]["uid"].clone();
    let marks = json!({
        "finalizers": ["example.com/held"],
        "labels": {"example.com/owner": "me"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": uid}],
    });
    let patch = |region: &Delivered, marks: &Value| {
        let body = json!({"metadata": marks});
        let target = format!("{target}?fieldManager=manager");
        let request = Request::with_json("PATCH", &target, "application/merge-patch+json", &body);
        let answer = region.server.endpoint("admin").ask(&request).expect("the API server answers");
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    };
    patch(region, &marks);
    let version = region.get(&target)["metadata"]["resourceVersion"].clone();
    region.put(&closures(3).concat());
    region.publish();
    all_ready(&flux.sync());
    all_ready(&flux.reconcile());
    let live = region.get(&target);
    assert_ne!(live["metadata"]["resourceVersion"], version, "the value changed");
    for field in ["finalizers", "ownerReferences"] {
        assert_eq!(live["metadata"][field], marks[field], "{field}");
    }
    assert_eq!(live["metadata"]["labels"]["example.com/owner"], "me");
    region.verify_live(&[]).ends(0);
    patch(region, &json!({"finalizers": null, "ownerReferences": null, "labels": {"example.com/owner": null}}));
    is_exact(region);
}
