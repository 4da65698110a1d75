//! What `--summary` and `--metrics` tell of a run that applies.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::table::publish_all;
use super::{apply, patch, region};
use crate::delivered::{Delivered, aws, azure, odd, openstack, shows_nothing, vsphere};
use crate::objects::SYSTEM;

fn files(region: &Delivered) -> (Value, String) {
    let summary = region.fleet.read("summary.json");
    let metrics = region.fleet.read("pouch.prom");
    for (what, text) in [("the summary", &summary), ("the metrics", &metrics)] {
        shows_nothing(what, text);
    }
    (serde_json::from_str(&summary).expect("the summary is JSON"), metrics)
}

/// What is brought beside the Credential of AWS.
fn others() -> Vec<Vec<Value>> {
    vec![azure("azure", "azure-secret", 1), vsphere("vsphere", 1), openstack("openstack"), odd("odd", 1)]
}

/// Runs with both files.
fn recorded(region: &Delivered, code: i32, more: &[&str]) -> (Value, String) {
    apply(region, &[&["--summary", "summary.json", "--metrics", "pouch.prom"], more].concat()).ends(code);
    files(region)
}

#[track_caller]
fn says(metrics: &str, sample: &str) {
    assert!(metrics.lines().any(|line| line == sample), "no {sample} in\n{metrics}");
}

const RUN: &str = "fleet=\"acme\",command=\"deliver\",region=\"eu\"";

fn outcome(word: &str, count: usize) -> String {
    format!("pouch_region_applied{{fleet=\"acme\",region=\"eu\",outcome=\"{word}\"}} {count}")
}

#[test]
fn a_run_tells_what_it_did_with_each_object() {
    let Some(mut region) = region() else { return };
    region.put(&[vec![aws("aws", 1)], others()].concat().concat());
    region.publish();

    // One that only looks says what it would do, to nobody's alarm.
    let dry = apply(&region, &["--dry-run", "--summary", "summary.json"]).ends(0);
    let summary: Value = serde_json::from_str(&region.fleet.read("summary.json")).unwrap();
    assert_eq!((&summary["command"], &summary["exitCode"]), (&json!("deliver --dry-run"), &json!(0)), "{}", dry.stderr);
    assert_eq!(summary["applied"]["changes"][0]["action"], "added", "{summary}");
    let refused = apply(&region, &["--dry-run", "--metrics", "pouch.prom"]).ends(64);
    assert!(refused.stderr.contains("nothing to write to the file of --metrics"), "{}", refused.stderr);

    let (summary, metrics) = recorded(&region, 0, &[]);
    let applied = &summary["applied"];
    let objects = applied["objects"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap();
    assert_eq!((&summary["fleet"], &applied["region"]), (&json!("acme"), &json!("eu")));
    assert_eq!(summary["commit"].as_str().map(str::len), Some(40), "{summary}");
    let is_secret = |change: &&Value| change["object"]["kind"] == "Secret" && change["action"] == "added";
    assert!(applied["changes"].as_array().unwrap().iter().any(|change| is_secret(&change)), "{applied}");
    assert_eq!((&applied["held"], &applied["failed"], &applied["troubles"]), (&json!(false), &json!(0), &json!([])));
    says(&metrics, &format!("pouch_last_run_exit_code{{{RUN}}} 0"));
    // Namespaces are among the changes, and not among the objects that are counted.
    says(&metrics, &outcome("added", objects));
    says(&metrics, &outcome("failed", 0));

    // The next finds all as it should be.
    let (summary, metrics) = recorded(&region, 0, &[]);
    assert_eq!(summary["applied"]["changes"], json!([]));
    says(&metrics, &outcome("unchanged", objects));

    what_is_refused(&mut region);
    what_is_held(&mut region);
    what_never_came_to_that(&region);
}

/// One object is refused, and named; a finding is told.
fn what_is_refused(region: &mut Delivered) {
    let secret = format!("/api/v1/namespaces/{SYSTEM}/secrets/aws-secret");
    patch(region, &secret, &json!({"immutable": true, "metadata": {"finalizers": ["example.com/held"]}}));
    region.put(&aws("aws", 2));
    region.publish();
    let (summary, metrics) = recorded(region, 3, &[]);
    let trouble = &summary["applied"]["troubles"][0];
    assert_eq!(trouble["object"], json!({"group": "", "kind": "Secret", "namespace": SYSTEM, "name": "aws-secret"}));
    assert!(trouble["message"].as_str().unwrap().contains("example.com/held keeps it"), "{trouble}");
    let failed = summary["applied"]["failed"].as_u64().unwrap();
    assert!(failed >= 1, "{summary}");
    says(&metrics, &outcome("failed", usize::try_from(failed).unwrap()));
    patch(region, &secret, &json!({"metadata": {"finalizers": null}}));
    let (summary, _) = recorded(region, 0, &[]);
    assert_eq!(summary["applied"]["failed"], 0, "{summary}");
}

/// What left the bundle is held, and stays: no failure of an object.
fn what_is_held(region: &mut Delivered) {
    others().iter().for_each(|gone| region.take(gone));
    publish_all(region);
    let (summary, metrics) = recorded(region, 4, &[]);
    assert_eq!((&summary["applied"]["held"], &summary["exitCode"]), (&json!(true), &json!(4)), "{summary}");
    assert_eq!((&summary["applied"]["failed"], &summary["applied"]["changes"]), (&json!(0), &json!([])), "{summary}");
    assert_eq!(summary["findings"][0]["code"], "deletions-held");
    says(&metrics, &format!("pouch_findings{{{RUN},code=\"deletions-held\",severity=\"error\"}} 1"));
    says(&metrics, &format!("pouch_last_run_exit_code{{{RUN}}} 4"));
}

/// A run that applies nothing says why, and the time of the last success stays.
fn what_never_came_to_that(region: &Delivered) {
    let success = |metrics: &str| {
        let line = metrics.lines().find(|line| line.starts_with("pouch_last_success_timestamp_seconds{"));
        line.unwrap_or_else(|| panic!("no success in {metrics}")).to_owned()
    };
    let (_, before) = files(region);
    // Times are of whole seconds.
    thread::sleep(Duration::from_millis(1100));
    let (summary, metrics) = recorded(region, 64, &["--accept-deletions=all"]);
    assert!(summary["failure"]["message"].as_str().unwrap().contains("--accept-deletions"), "{summary}");
    assert_eq!(success(&metrics), success(&before));

    // A cluster that is away, without a word of which region it is: PATH has but one.
    let away = region.fleet.read("kubeconfig").replace(&region.server.url(), "https://127.0.0.1:1");
    region.fleet.private("away", away);
    let origin = region.origin().path();
    let words = ["deliver", origin.to_str().unwrap(), "--rev=main", "--identity=eu.agekey", "--kubeconfig=away"];
    let more = ["--context=admin", "--summary=summary.json", "--metrics=pouch.prom"];
    region.fleet.run(&[&words[..], &more].concat()).ends(5);
    let (summary, metrics) = files(region);
    assert!(summary["applied"].is_null() && summary["commit"].is_string(), "{summary}");
    says(&metrics, &format!("pouch_last_run_exit_code{{{RUN}}} 5"));
    assert_eq!(success(&metrics), success(&before));

    // Somebody's change of the published files.
    region.origin().commit_beside(
        "f=bundles/regions/eu/core/secrets/kcm-system/aws-secret.sops.yaml; sed -i 's/SecretAccessKey/Other/' $f; git add $f",
    );
    let (summary, metrics) = recorded(region, 8, &["--fleet=acme"]);
    assert!(summary["failure"]["message"].as_str().unwrap().starts_with("nothing was applied"), "{summary}");
    assert!(!summary["findings"].as_array().unwrap().is_empty() && summary["applied"].is_null(), "{summary}");
    says(&metrics, &format!("pouch_last_run_exit_code{{{RUN}}} 8"));
    assert_eq!(success(&metrics), success(&before));
}
