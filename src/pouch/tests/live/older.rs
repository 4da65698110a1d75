//! A cluster that is at an earlier state than one that was read: a restored etcd, or an answer that lags behind.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ground::{CLUSTER, Ground, program};
use crate::objects::*;
use crate::rig::http::Request;
use crate::rig::proxy::Proxy;

#[test]
fn an_earlier_state_of_a_cluster_is_not_published_over_a_later_one() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&store("store", 1));
    assert!(
        Command::new("git")
            .args(["init", "-q", "--bare", "-b", "main"])
            .arg(ground.path("repo.git"))
            .status()
            .unwrap()
            .success()
    );
    let real = ground.server.endpoint("admin");
    let state = Arc::new(AtomicU64::new(0));
    let restored = state.clone();
    // Every list shows a later state than the one before, as clusters do, and from a restore on they start at a low one.
    let proxy = Proxy::canned(move |request: &Request| {
        let mut answer = real.ask(request).expect("the API server answers");
        if restored.load(Ordering::Relaxed) > 0 {
            let text = String::from_utf8(answer.body).unwrap();
            let mut body: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            answer.body = text.into_bytes();
            if body["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) && body["metadata"].is_object() {
                let number = restored.fetch_add(1, Ordering::Relaxed);
                // From a million on, the lists of one kind have no number.
                let is_word = number >= 1_000_000 && body["kind"] == "CredentialList";
                let version = if is_word { format!("+{number}") } else { number.to_string() };
                body["metadata"]["resourceVersion"] = version.into();
                answer.body = body.to_string().into_bytes();
            }
        }
        answer
    });
    let through = ground.path("through");
    proxy.kubeconfig(&through, "admin");
    ground.config("pouch.yaml", CLUSTER, "output: {path: bundles, git: {repository: repo.git, branch: main}}\n");
    let path = std::env::var("PATH").unwrap();
    let publish = |flags: &[&str]| {
        let fixed = ["publish", "--kubeconfig", through.to_str().unwrap()];
        program(&ground.path(""), &[&fixed, flags].concat(), &[("PATH", &path), ("HOME", "/nonexistent")])
    };
    let (code, _, err) = publish(&["--first"]);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = publish(&[]);
    assert_eq!(code, 0, "{err}");
    state.store(7, Ordering::Relaxed);
    ground.apply(&store("store", 2));
    let (code, out, err) = publish(&[]);
    assert!(code == 5 && out.is_empty(), "{code} {out} {err}");
    assert!(err.contains("is at state 7, and an earlier run read state"), "{err}");
    let flag = err.split("--accept-older ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(flag.ends_with("=7"), "{flag}");
    // The next run sees a later state than the one that is accepted.
    let (code, _, err) = publish(&["--accept-older", flag]);
    assert_eq!(code, 0, "{err}");
    // Once: it is the state that later ones are compared with.
    let (code, _, err) = publish(&[]);
    assert_eq!(code, 0, "{err}");
    state.store(0, Ordering::Relaxed);
    let (code, _, err) = publish(&[]);
    assert_eq!(code, 0, "{err}");
    let unnumbered = "the states of cluster admin have no numbers (`resourceVersion`), so an older one cannot be told";
    assert!(!err.contains(unnumbered), "{err}");
    state.store(1_000_000, Ordering::Relaxed);
    let (code, _, err) = publish(&[]);
    assert_eq!((code, err.matches(unnumbered).count()), (0, 1), "{err}");
    // What other kinds show is then no state of the cluster.
    state.store(7, Ordering::Relaxed);
    let (code, _, err) = publish(&[]);
    assert!(code == 5 && err.contains("is at state 7, and an earlier run read state"), "{code} {err}");
    assert!(!err.contains("read state 10000"), "{err}");
}
