//! Requests that are spoilt, one at a time: nothing is believed that was not said, and the next run cures it.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

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

/// Who ends a run is told what it did, of requests that were under way too, and never that nothing was done.
#[test]
fn a_run_that_is_stopped_says_what_it_did() {
    let Some(mut region) = region() else { return };
    region.put(&(0..80).flat_map(|n| odd(&format!("s{n}"), 1)).collect::<Vec<_>>());
    region.publish();
    let proxy = Proxy::to(region.server.endpoint("admin"));
    proxy.kubeconfig(&region.fleet.path("through"), "admin");
    let (child, sent) = (Arc::new(AtomicI32::new(0)), Arc::new(AtomicUsize::new(0)));
    let (target, counted) = (child.clone(), sent.clone());
    proxy.before(move |_, request| {
        if request.method == "PATCH" && request.target.contains("/secrets/") {
            if counted.fetch_add(1, Ordering::SeqCst) == 5 {
                let id = Pid::from_raw(target.load(Ordering::SeqCst)).unwrap();
                kill_process(id, Signal::TERM).unwrap();
            }
            thread::sleep(Duration::from_millis(300));
        }
    });
    let fixed = flags(&region);
    let own = |flag: &&String| !flag.starts_with("--kubeconfig");
    let words: Vec<&str> = fixed.iter().filter(own).map(String::as_str).chain(["--kubeconfig=through"]).collect();
    let mut command = region.fleet.command(&words);
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.store(i32::try_from(started.id()).unwrap(), Ordering::SeqCst);
    let ended = started.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(143), "{stderr}");
    assert!(stderr.contains("stopped: what was sent until then is applied"), "{stderr}");
    let there = region.items_there();
    assert!((5..80).contains(&there), "{there}");
    assert!(
        stdout.starts_with(&format!("eu  applied in part  {there} of 80 objects, {there} added")),
        "{there}: {stdout}"
    );
    let noted = region.get(super::INVENTORY)["data"]["objects.Secret"].as_str().unwrap().to_owned();
    assert_eq!(noted.lines().filter(|line| !line.ends_with(" - -")).count(), there);
    apply(&region, &[]).ends(0);
    region.is_exact();
}
