//! A Secret that cannot be made anew at once.

use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, azure, odd};

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
    assert!(ran.stderr.contains("error[secret-type-changed]"), "{}", ran.stderr);
    all_ready(&flux.sync());
    let differences = region.differences();
    let is_of_it = |line: &String| line.starts_with("Secret team-a/odd ");
    assert!(!differences.is_empty() && differences.iter().all(is_of_it), "{differences:?}");
}
