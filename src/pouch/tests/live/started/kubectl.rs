//! With neither: `pouch deliver`, and kubectl over k0rdent's copies.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use serde_json::json;

use super::{ADOPTION, OPERATIONS, Reader, found_behind, k0rdent_is_back, k0rdent_lets_go, kept, path_with, pushed};
use crate::rig::apiserver::ApiServer;
use crate::support::reader::follow_live;
use crate::support::root;

const PAGE: &str = "docs/getting-started/kubectl.md";

#[test]
fn from_nothing_to_the_last_object() {
    let Some(mut reader) = Reader::new("022") else { return };
    reader.follow(PAGE, "");
    exchange(&mut reader);
    reader.follow(OPERATIONS, "### Retiring without Flux and Argo CD");
    reader.is_empty();
}

/// The CronJob of `examples` runs after every command, and at no moment is there a bundle that it cannot open.
fn exchange(reader: &mut Reader) {
    reader.server.apply(&fs::read_to_string(root().join("examples/deliver-cronjob.yaml")).unwrap());
    let keys = reader.session.folder().join("fleet/keys");
    let from = format!("--from-file=eu-west.agekey={}", keys.join("eu-west.txt").display());
    reader.server.kubectl_prints(["-n", "pouch", "create", "secret", "generic", "pouch-identity", &from], "");
    let Reader { server, session, folder, .. } = reader;
    let run = || run_job(server, folder.path());
    let (code, said) = run();
    assert_eq!(code, Some(0), "{said}");
    let text = fs::read_to_string(root().join(OPERATIONS)).unwrap();
    let mut runs = 0;
    follow_live(session, (OPERATIONS, &text), "#### Exchanging with `pouch deliver`", &mut |command| {
        let (code, said) = run();
        assert_eq!(code, Some(0), "after {command}: {said}");
        runs += 1;
    });
    assert!(runs > 5, "{runs}");
    // It would have been seen: the old key alone opens nothing any more.
    let old = format!("{from} --dry-run=client -o yaml");
    let words = ["-n", "pouch", "create", "secret", "generic", "pouch-identity"].into_iter().chain(old.split(' '));
    let old = server.kubectl_prints(words, "");
    server.apply(&old);
    let (code, said) = run();
    assert!(code == Some(64) && said.contains("opens nothing"), "{said}");
}

/// Does what the cluster does with the CronJob: mounts the Secret, and runs the container's command in a clone.
fn run_job(server: &ApiServer, folder: &Path) -> (Option<i32>, String) {
    let get = |target: &str| server.endpoint("admin").get(target).unwrap().value();
    let cron = get("/apis/batch/v1/namespaces/pouch/cronjobs/pouch-deliver");
    let pod = &cron["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["command"], json!(["pouch"]));
    let identities = get("/api/v1/namespaces/pouch/secrets/pouch-identity");
    let mounted = folder.join("mounted");
    fs::create_dir_all(&mounted).unwrap();
    for (name, value) in identities["data"].as_object().unwrap() {
        let value = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap()).unwrap();
        let path = mounted.join(name);
        fs::write(&path, value).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let kubeconfig = folder.join("admin");
    server.kubeconfig(&kubeconfig, "admin");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
    // The page's commits are not signed.
    let words = container["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    for word in words.filter(|word| !word.starts_with("--allowed-signers")) {
        let word = word.replace("/etc/pouch/identity", mounted.to_str().unwrap());
        command.arg(word.replace("/var/run/pouch/fleet.git", folder.join("fleet.git").to_str().unwrap()));
    }
    command.env_clear().env("PATH", path_with(&[])).env("KUBECONFIG", kubeconfig).env("HOME", folder);
    command.args(["--context", "admin"]).env("TMPDIR", folder).stdin(Stdio::null());
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn from_k0rdent_and_back_again() {
    let Some(mut reader) = Reader::new("077") else { return };
    let before = pushed(&reader.server);
    reader.follow(ADOPTION, "## What k0rdent pushed");
    for part in ["## 1. The configuration and the keys", "## 2. The first publish", "## 3. The rights"] {
        reader.follow(PAGE, part);
    }
    reader.follow(ADOPTION, "### Taking over with kubectl");
    reader.follow(ADOPTION, "## What stays behind");
    found_behind(&reader.session, &["stale-entry", "k0rdent-leftover"]);
    assert_eq!(kept(&reader.server), before);
    k0rdent_lets_go(&reader.server);
    reader.follow(ADOPTION, "### Back again with kubectl");
    assert_eq!(kept(&reader.server), before);
    k0rdent_is_back(&reader.server);
}
