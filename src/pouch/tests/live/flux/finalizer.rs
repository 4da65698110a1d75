//! A Secret that cannot be made anew at once.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, aws, azure, back_with_another_type, hold, odd};

/// Flux would delete it and wait, and core with it, for as long as a controller's finalizer stands.
#[test]
fn a_secret_of_another_type_stalls_nothing_else() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    region.put(&[odd("odd", 1), azure("azure", "azure-secret", 1), odd("other", 1)].concat());
    region.publish();
    all_ready(&flux.sync());
    let finalizer = "{\"metadata\":{\"finalizers\":[\"infrastructure.cluster.x-k8s.io/x\"]}}";
    region.server.kubectl_prints(["-n", "team-a", "patch", "secret", "odd", "--type=merge", "-p", finalizer], "");

    let mut secret = odd("odd", 2)[1].clone();
    secret["type"] = json!("example.com/other");
    region.put(&[vec![secret], azure("azure", "azure-secret", 2), odd("other", 2)].concat());
    let ran = region.origin().publish(&[]).ends(3);
    assert!(ran.stderr.contains("error[immutable-field]"), "{}", ran.stderr);
    all_ready(&flux.sync());
    let differences = region.differences();
    let is_of_it = |line: &String| line.starts_with("Secret team-a/odd ");
    assert!(!differences.is_empty() && differences.iter().all(is_of_it), "{differences:?}");
}

/// In two publishes nobody sees that a type changes. Flux then waits for the finalizer, and all of the core with it, as
/// `docs/findings/broken` says; once that is gone, everything arrives.
#[test]
fn a_held_secret_that_went_and_came_with_another_type_stalls_the_core() {
    let Some(mut region) = Delivered::new("{flux: {timeout: 31s, retryInterval: 1s}}", "") else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    region.put(&[odd("odd", 1), aws("aws", 1), odd("other", 1)].concat());
    region.publish();
    all_ready(&flux.sync());
    hold(&region, &["example.com/held"]);
    region.take(&odd("odd", 1));
    region.publish();
    back_with_another_type(&mut region);
    let tip = region.origin().tip().expect("a commit");
    assert!(flux.fetch().ready);
    flux.wait_until_said("eu-core", &format!("revision main@sha1:{tip} with a timeout of 31s"));
    // It waits longer than that, and not for this test.
    sleep(Duration::from_secs(10));
    let differences = region.differences();
    for stalled in [
        "Secret kcm-system/aws-secret data SecretAccessKey differs",
        "Secret team-a/other is too much",
        "Secret kcm-system/more-secret is missing",
        "AWSClusterStaticIdentity /more is missing",
    ] {
        assert!(differences.iter().any(|line| line == stalled), "{stalled}: {differences:#?}");
    }
    region.verify_live(&[]).ends(8).says("error[missing-on-region]: Secret team-a/odd is being deleted on the region");

    hold(&region, &[]);
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}
