//! A commit with the cure, behind one that Argo CD tries again and again.

use std::thread;
use std::time::{Duration, Instant};

use super::APPLICATION;
use super::plugin::builds;
use crate::delivered::{Delivered, aws, azure, oci, vsphere};
use crate::rig::argocd::ArgoCd;
use crate::support::shared;

/// What a region lacks stops what needs it, and no longer than the next try.
#[test]
fn what_fails_does_not_keep_the_cure_waiting() {
    let Some(mut region) = Delivered::new("argocd", "") else { return };
    let crd = shared("data/crds/identities/infrastructure.cluster.x-k8s.io_ociclusteridentities.yaml");
    region.server.kubectl_prints(["delete", "crd", "ociclusteridentities.infrastructure.cluster.x-k8s.io"], "");
    region.put(&[aws("aws", 1), azure("azure", "azure-secret", 1), oci("oci", 1), vsphere("vsphere", 1)].concat());
    region.publish();
    let Some(argo) = ArgoCd::start(&region.server, Delivered::collections(), &builds(&region)) else { return };
    let emitted = region.origin().git(&["show", "main:bundles/argocd/eu/application.yaml"]);
    // Nobody wants to wait for half minutes.
    let quick = emitted.replace("duration: 30s", "duration: 4s").replace("factor: 2", "factor: 1");
    let without = quick.replace("      refresh: true\n", "");
    assert!(quick != emitted && without != quick, "{emitted}");

    let mut state = 1;
    for (text, is_cured) in [(&without, false), (&quick, true)] {
        region.server.apply(text);
        argo.wait_until(APPLICATION, |said| tries(&said.message).is_some());
        // All but the kind that the region lacks is there.
        let differences = region.differences();
        assert!(differences.iter().all(|line| line.starts_with("OCIClusterIdentity ")), "{differences:?}");

        state += 1;
        region.put(&aws("aws", state));
        region.publish();
        argo.refresh(APPLICATION);
        assert_eq!(arrives_by_the_next_try(&region, &argo), is_cured);
        if !is_cured {
            region.server.kubectl_prints(["-n", "argocd", "delete", "application", APPLICATION, "--timeout=60s"], "");
        }
    }

    // What the region lacks comes late, and what needs it with the next try.
    region.verify_live(&[]).ends(8).says("error[kind-not-on-region]: the region serves no OCIClusterIdentity");
    region.server.install_files(&[crd.expect("the others were there")]);
    argo.wait_until_synced(APPLICATION);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// Which try an Application says that it waits for.
fn tries(message: &str) -> Option<u32> {
    let (_, rest) = message.split_once("Retrying attempt #")?;
    rest.split_once(' ')?.0.parse().ok()
}

/// Whether the region has what was published before two more tries are over.
fn arrives_by_the_next_try(region: &Delivered, argo: &ArgoCd) -> bool {
    let (began, mut first) = (Instant::now(), None);
    loop {
        if region.differences().iter().all(|line| line.starts_with("OCIClusterIdentity ")) {
            return true;
        }
        let said = argo.said(APPLICATION);
        let now = tries(&said.message);
        first = first.or(now);
        if said.phase != "Running" || now.zip(first).is_some_and(|(now, first)| now > first + 1) {
            return false;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{said:#?}");
        thread::sleep(Duration::from_millis(200));
    }
}
