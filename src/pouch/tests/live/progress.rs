//! What a person at a terminal sees while a cluster is read: which kind, and how far.

use std::process::Command;
use std::time::Duration;

use crate::ground::{CLUSTER, Ground};
use crate::objects::aws;
use crate::rig::proxy::Proxy;
use crate::support::terminal::at_a_terminal;

#[test]
fn a_terminal_shows_kinds_and_counts() {
    let Some(ground) = Ground::new() else { return };
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let kubeconfig = ground.path("kubeconfig-proxy");
    proxy.kubeconfig(&kubeconfig, "admin");
    let objects: Vec<_> = (0..8).flat_map(|number| aws(&format!("aws-{number}"), 1)).collect();
    ground.apply(&objects);
    let config = ground.config("pouch.yaml", CLUSTER, "");
    proxy.calm();
    proxy.before(|_, _| std::thread::sleep(Duration::from_millis(150)));
    let render = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
        command
            .args(["render", "-f"])
            .arg(&config)
            .arg("--output-dir")
            .arg(ground.path("out"))
            .arg("--kubeconfig")
            .arg(&kubeconfig);
        let (code, seen) = at_a_terminal(command.args(flags).env_clear().env("TERM", "xterm"), 80);
        assert_eq!(code, Some(0), "{seen}");
        seen
    };
    let seen = render(&[]);
    for word in ["reading Credential 8 ", "reading Secret ", " 0/8", "checking"] {
        assert!(seen.contains(word), "no {word:?} in {seen:?}");
    }
    // The last that is left on the line is what the run says at its end.
    assert!(seen.trim_end().ends_with("0 not for a region"), "{seen:?}");
    for flags in [["--quiet"].as_slice(), &["--log-format", "json"]] {
        let seen = render(flags);
        assert!(!seen.contains("reading Cred") && !seen.contains('\u{1b}'), "{seen:?}");
    }
}
