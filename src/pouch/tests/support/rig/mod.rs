//! The rig for tests against a live API server: a real one, a proxy that injects faults, a writer in a loop.
//!
//! - [`apiserver`] runs etcd and kube-apiserver and makes kubeconfigs, namespaces and CRDs;
//! - [`proxy`] stands between a program and an API and spoils one answer by a [`fault`];
//! - [`writer`] keeps changing objects and knows every state that existed;
//! - [`tunnel`] is a forward proxy;
//! - [`guarded`] runs a program beside a test, [`flux`] the controllers of Flux, and [`argocd`] those of Argo CD;
//! - [`registry`] is a registry for artifacts;
//! - [`http`] and [`tls`] are what these speak with, and a small client for assertions.
//!
//! A test binary takes it in with `#[path = "../support/rig/mod.rs"] mod rig;` beside `mod support;`. Everything
//! listens on loopback, on free ports, waits no longer than it says, and ends with its value or its process.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod apiserver;
pub mod argocd;
pub mod cluster_api;
pub mod fault;
pub mod flux;
pub mod guarded;
pub mod http;
pub mod proxy;
pub mod registry;
pub mod tls;
pub mod tunnel;
pub mod writer;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The users that the API server knows, each with its group: one administrator, the others without any right.
pub const USERS: [(&str, &str); 4] = [("admin", "system:masters"), ("pouch", ""), ("reader", ""), ("nobody", "")];

/// The bearer token of one of [`USERS`].
pub fn token(user: &str) -> String {
    format!("token-of-{user}")
}

/// Writes a kubeconfig with a context per user, each called as its user; `user`'s is the current one.
///
/// The authority's certificate lands beside it, as the file's name with `.ca.pem`.
///
/// # Panics
/// If a file cannot be written.
#[track_caller]
pub fn write_kubeconfig(path: &Path, user: &str, url: &str, ca: &str) {
    let mut certificate = path.as_os_str().to_owned();
    certificate.push(".ca.pem");
    fs::write(&certificate, ca).expect("the certificate can be written");
    let certificate = certificate.to_str().expect("scratch paths are UTF-8");
    let mut text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {user}\nclusters:\n- name: rig\n  cluster:\n    \
         server: {url}\n    certificate-authority: {certificate}\ncontexts:\n"
    );
    for (name, _) in USERS {
        text.push_str(&format!("- name: {name}\n  context: {{cluster: rig, user: {name}}}\n"));
    }
    text.push_str("users:\n");
    for (name, _) in USERS {
        text.push_str(&format!("- name: {name}\n  user: {{token: {}}}\n", token(name)));
    }
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).expect("it can be made");
    file.write_all(text.as_bytes()).expect("it can be written");
}
