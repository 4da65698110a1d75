//! Requests that are spoilt, one at a time: nothing is believed that was not said, and the next run cures it.

use std::time::{Duration, Instant};

use super::{apply, flags, inventory, region};
use crate::delivered::{Delivered, azure, odd};
use crate::rig::fault::Fault;
use crate::rig::proxy::{Proxy, When};
use crate::support::fleet::Ran;

const FAULTS: [Fault; 10] = [
    Fault::ResetBeforeHeaders,
    Fault::CutBody,
    Fault::Internal,
    Fault::Conflict,
    Fault::TruncatedJson,
    Fault::NotFoundNamed,
    Fault::NotFoundText,
    Fault::Unauthorized,
    Fault::Forbidden,
    Fault::Stall,
];

/// A run through the proxy, of one revision, with all the patience that a busy machine needs.
fn through(region: &Delivered, revision: &str) -> Ran {
    within(region, revision, "30s")
}

fn within(region: &Delivered, revision: &str, patience: &str) -> Ran {
    let fixed = flags(region);
    let own = |flag: &&String| !flag.starts_with("--rev") && !flag.starts_with("--kubeconfig");
    let rev = format!("--rev={revision}");
    let patience = format!("--request-timeout={patience}");
    let more = ["--kubeconfig=through", "--rollback", &patience, &rev];
    region.fleet.run(&fixed.iter().filter(own).map(String::as_str).chain(more).collect::<Vec<_>>())
}

#[test]
fn whatever_goes_wrong_with_a_request_the_next_run_cures_it() {
    let Some(mut region) = region() else { return };
    region.put(&[azure("azure", "one", 1), odd("odd", 1)].concat());
    region.publish();
    let first = region.origin().tip().unwrap();
    region.take(&azure("azure", "one", 1)[..1]);
    region.put(&[azure("azure", "two", 2), odd("odd", 2)].concat());
    region.publish();
    let second = region.origin().tip().unwrap();
    let proxy = Proxy::to(region.server.endpoint("admin"));
    proxy.kubeconfig(&region.fleet.path("through"), "admin");
    proxy.calm();
    through(&region, &first).ends(0);
    proxy.calm();
    let ran = through(&region, &second).ends(0);
    let requests = proxy.requests().len();
    assert!(requests > 12 && ran.stdout.contains("withdrawn  Secret team-a/one"), "{requests}: {}", ran.stdout);
    let (mut spoilt, mut failed) = (0, 0);
    for (number, fault) in FAULTS.into_iter().enumerate() {
        for at in (number % 3..requests).step_by(3) {
            let (revision, other) = if (number + at) % 2 == 0 { (&first, "two") } else { (&second, "one") };
            proxy.arm(fault, When::Once(at));
            let began = Instant::now();
            // Only what never answers is waited for.
            let ran = within(&region, revision, if matches!(fault, Fault::Stall) { "1s" } else { "30s" });
            assert!(began.elapsed() < Duration::from_secs(40), "{fault:?} at {at}");
            assert!([0, 1, 3, 5].contains(&ran.code), "{fault:?} at {at}: {}\n{}", ran.code, ran.stderr);
            spoilt += proxy.injected();
            failed += usize::from(ran.code != 0);
            proxy.calm();
            let ran = through(&region, revision).ends(0);
            assert!(!ran.stdout.contains("Namespace"), "{}", ran.stdout);
            let kept: Vec<String> = inventory(&region);
            let there: Vec<String> = region.versions().into_keys().collect();
            assert_eq!((kept.len(), there.len()), (3, 3), "{fault:?} at {at}: {kept:?} {there:?}");
            assert!(!kept.contains(&format!("Secret team-a/{other}")), "{fault:?} at {at}: {kept:?}");
        }
    }
    assert!(spoilt > 30 && failed > 5, "{spoilt} requests were spoilt, and {failed} runs failed");
    apply(&region, &[]).ends(0);
    region.is_exact();
}

/// Who says falsely that what left the bundle is not there, or no more, has nothing forgotten.
#[test]
fn what_is_absent_by_accident_is_not_forgotten() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("one", 1), odd("two", 1)].concat());
    region.publish();
    let first = region.origin().tip().unwrap();
    region.take(&odd("one", 1));
    region.publish();
    let proxy = Proxy::to(region.server.endpoint("admin"));
    proxy.kubeconfig(&region.fleet.path("through"), "admin");
    let back = || {
        proxy.calm();
        through(&region, &first).ends(0);
        proxy.calm();
    };
    let withdrawn = "withdrawn  Secret team-a/one";
    back();
    assert!(through(&region, "main").ends(0).stdout.contains(withdrawn));
    let deletion = proxy.requests().iter().position(|request| request.method == "DELETE").unwrap();

    back();
    proxy.arm(Fault::NotFoundNamed, When::PathTimes("/secrets/one".to_owned(), 1));
    assert!(through(&region, "main").ends(0).stdout.contains(withdrawn));
    assert_eq!(proxy.injected(), 1);
    region.is_exact();

    back();
    proxy.arm(Fault::NotFoundNamed, When::Once(deletion));
    let ran = through(&region, "main").ends(0);
    assert!(proxy.injected() == 1 && !ran.stdout.contains(withdrawn), "{}", ran.stdout);
    assert_eq!(inventory(&region), ["Secret team-a/one", "Secret team-a/two"]);
    // It is gone, as the proxy spoils answers only: the next run sees that for itself.
    proxy.calm();
    through(&region, "main").ends(0);
    assert_eq!(inventory(&region), ["Secret team-a/two"]);
    region.is_exact();
}

#[test]
fn a_region_that_falls_silent_ends_the_run() {
    let Some(mut region) = region() else { return };
    region.put(&[azure("azure", "one", 1), odd("odd", 1)].concat());
    region.publish();
    let proxy = Proxy::to(region.server.endpoint("admin"));
    proxy.kubeconfig(&region.fleet.path("through"), "admin");
    proxy.calm();
    through(&region, "main").ends(0);
    let requests = proxy.requests().len();
    region.put(&odd("odd", 2));
    region.publish();
    for at in [0, requests / 2] {
        proxy.arm(Fault::ResetBeforeHeaders, When::From(at));
        let ran = through(&region, "main").ends(5);
        assert!(ran.stderr.contains("the connection was"), "{}", ran.stderr);
    }
    proxy.calm();
    through(&region, "main").ends(0);
    region.is_exact();
}
