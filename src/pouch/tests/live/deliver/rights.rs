//! The rights that `pouch rbac --deliver` prints: they suffice.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{changes, flags, inventory, region};
use crate::delivered::{Delivered, aws, azure, odd, role, vsphere};
use crate::objects::TENANT;
use crate::support::fleet::Ran;

fn as_pouch(region: &Delivered) -> Ran {
    let fixed = flags(region);
    let right = |flag: &&String| !flag.starts_with("--context");
    let words: Vec<&str> = fixed.iter().filter(right).map(String::as_str).chain(["--context=pouch"]).collect();
    region.fleet.run(&words)
}

/// Prints the rights, and gives them to the user.
fn grant(region: &Delivered) -> String {
    let ran = region
        .fleet
        .run(&["rbac", "--deliver", "--region=eu", "--user=pouch", "--inventory-namespace=default"])
        .ends(0);
    region.server.apply(&ran.stdout);
    ran.stdout
}

/// Runs until the API server has noticed the rights.
fn granted(region: &Delivered) -> Ran {
    let began = Instant::now();
    loop {
        let ran = as_pouch(region);
        if ran.code == 0 || began.elapsed() > Duration::from_secs(60) {
            return ran.ends(0);
        }
        thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn the_printed_rights_suffice() {
    let Some(mut region) = region() else { return };
    let all = |state: u64| -> Vec<Value> {
        [aws("aws", state), role("role", "aws"), azure("azure", "azure-secret", state), vsphere("vsphere", state)]
            .concat()
    };
    region.put(&[all(1), odd("odd", 1)].concat());
    region.publish();
    region.server.kubectl_prints(["create", "namespace", TENANT], "");
    let ran = as_pouch(&region).ends(5);
    assert!(ran.stderr.contains("does not allow \"get\" on configmaps in namespace default"), "{}", ran.stderr);
    assert!(ran.stderr.contains("pouch rbac --deliver"), "{}", ran.stderr);
    let rights = grant(&region);
    assert!(!rights.contains("- list") && !rights.contains('*') && !rights.contains("- watch"), "{rights}");
    granted(&region);
    region.is_exact();
    region.put(&all(2));
    region.take(&odd("odd", 1));
    region.publish();
    assert!(changes(&as_pouch(&region).ends(0)).contains(&"withdrawn Secret team-a/odd".to_owned()));
    region.is_exact();
    assert!(!inventory(&region).contains(&"Secret team-a/odd".to_owned()));

    // What the user may not take away, others take away as ever.
    region.server.kubectl_prints(["-n", TENANT, "delete", "role", "pouch-deliver-acme-eu"], "");
    region.put(&aws("aws", 3));
    region.publish();
    let began = Instant::now();
    let ran = loop {
        let ran = as_pouch(&region);
        if ran.code == 3 || began.elapsed() > Duration::from_secs(60) {
            break ran.ends(3);
        }
        thread::sleep(Duration::from_millis(500));
    };
    assert!(ran.stderr.contains("does not allow \"get\" on secrets in namespace team-a"), "{}", ran.stderr);
    region.is_exact();
}
