//! What a person at a terminal sees while a cluster is read: which kind, and how far.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::ground::{CLUSTER, Ground};
use crate::objects::aws;
use crate::rig::proxy::Proxy;

/// Runs a command with a terminal for its stderr, and gives what was written there.
fn at_a_terminal(command: &mut Command) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
    // The command keeps the other end open, and would never let this one come to its end.
    command.stderr(Stdio::null());
    let mut seen = Vec::new();
    // Linux ends a terminal with an error where the other side is closed.
    let _ = File::from(ours).read_to_end(&mut seen);
    (child.wait().unwrap().code(), String::from_utf8(seen).unwrap())
}

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
        command.args(["render", "-f"]).arg(&config).arg(ground.path("out")).arg("--kubeconfig").arg(&kubeconfig);
        let (code, seen) = at_a_terminal(command.args(flags).env_clear().env("TERM", "xterm"));
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
