//! A Secret that leaves the bundle, and that a finalizer holds.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::plugin::builds;
use super::{APPLICATION, follow, synced};
use crate::delivered::{Delivered, aws, back_with_another_type, hold, odd};
use crate::rig::argocd::ArgoCd;

/// A region that is in step with its bundle, of which a finalizer holds a Secret.
fn held() -> Option<(Delivered, ArgoCd)> {
    let mut region = Delivered::new("argocd", "")?;
    region.put(&[odd("odd", 1), aws("aws", 1), odd("other", 1)].concat());
    region.publish();
    let argo = ArgoCd::start(&region.server, Delivered::collections(), &builds(&region))?;
    follow(&region);
    synced(&region, &argo);
    hold(&region, &["example.com/held"]);
    Some((region, argo))
}

/// Waits until the last commit is applied.
fn succeeded(region: &Delivered, argo: &ArgoCd) {
    let tip = region.origin().tip().expect("a commit");
    argo.refresh(APPLICATION);
    argo.wait_until(APPLICATION, |said| said.phase == "Succeeded" && said.revision == tip);
}

/// Without `PruneLast` Argo CD 3.2.11 waits for the deletion within its operation, and applies no later commit before that.
#[test]
fn a_withdrawn_secret_that_something_holds_stalls_nothing() {
    let Some((mut region, argo)) = held() else { return };
    let applied = |region: &Delivered| {
        succeeded(region, &argo);
        // What was pruned goes when its garbage is collected, after the operation.
        let began = Instant::now();
        while region.differences() != ["Secret team-a/odd is too much"] {
            let said = argo.said(APPLICATION);
            assert!(began.elapsed() < Duration::from_secs(180), "{said:#?} {:?}", region.differences());
            sleep(Duration::from_millis(200));
        }
    };
    region.take(&odd("odd", 1));
    region.publish();
    applied(&region);

    // What comes after it arrives: other values, another identity, another withdrawal.
    region.put(&[aws("aws", 2), aws("more", 1), odd("another", 1)].concat());
    region.take(&odd("other", 1));
    region.publish();
    applied(&region);
    region.verify_live(&[]).ends(8).says("team-a/odd");

    hold(&region, &[]);
    synced(&region, &argo);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// Back with another type while it is still there: Argo CD makes no Secret anew. Other values arrive; identities and what is
/// withdrawn wait until somebody lets the old one go, as `docs/findings/broken` says.
#[test]
fn a_held_secret_that_went_and_came_with_another_type_holds_identities_and_withdrawals_up() {
    let Some((mut region, argo)) = held() else { return };
    region.take(&odd("odd", 1));
    region.publish();
    succeeded(&region, &argo);
    back_with_another_type(&mut region);
    let tip = region.origin().tip().expect("a commit");
    argo.refresh(APPLICATION);
    argo.wait_until(APPLICATION, |said| said.revision == tip && said.message.contains("Retrying attempt"));
    let said = argo.said(APPLICATION);
    assert!(said.message.contains("Secret \"odd\" is invalid: type: Invalid value"), "{said:#?}");
    let differences = region.differences();
    let is_of_it = |line: &&String| line.starts_with("Secret team-a/odd ");
    let others: Vec<&String> = differences.iter().filter(|line| !is_of_it(line)).collect();
    assert_eq!(others, ["AWSClusterStaticIdentity /more is missing", "Secret team-a/other is too much"]);
    region.verify_live(&[]).ends(8).says("error[missing-on-region]: Secret team-a/odd is being deleted on the region");

    // The next attempt, in minutes, finds it gone.
    hold(&region, &[]);
    argo.said(APPLICATION);
    assert!(!region.uids().contains_key("Secret team-a/odd"));
}
