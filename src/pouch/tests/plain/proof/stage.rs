//! A good bundle to tamper with, and how `pouch verify` answers.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Deref;
use std::process::{Command, Stdio};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::support::fleet::Fleet;

/// A cluster where nobody answers.
pub const NOWHERE: &str = "apiVersion: v1\nkind: Config\nclusters: [{name: nowhere, cluster: {server: 'https://127.0.0.1:9'}}]\n\
                       users: [{name: nowhere, user: {token: none}}]\n\
                       contexts: [{name: nowhere, context: {cluster: nowhere, user: nowhere}}]\n";

/// The quickstart and its bundles, copied.
pub struct Stage(Fleet);

impl Deref for Stage {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.0
    }
}

/// What `pouch verify` answered.
pub struct Verified {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub summary: Value,
}

impl Verified {
    /// The codes of the faults.
    pub fn faults(&self) -> BTreeSet<&str> {
        let findings = self.summary["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        findings.iter().filter(|finding| finding["class"] == "fault").filter_map(|f| f["code"].as_str()).collect()
    }

    /// The file and the line of each fault.
    pub fn places(&self) -> BTreeSet<(&str, u64)> {
        let findings = self.summary["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        let faults = findings.iter().filter(|finding| finding["class"] == "fault");
        faults.filter_map(|fault| Some((fault["file"].as_str()?, fault["line"].as_u64()?))).collect()
    }

    /// Fails unless these faults were found and no other, and the exit code says so.
    #[track_caller]
    pub fn finds(&self, what: &str, codes: &[&str]) {
        let expect: BTreeSet<&str> = codes.iter().copied().collect();
        assert_eq!(self.faults(), expect, "{what}\n{}{}", self.stdout, self.stderr);
        assert_eq!(self.code, if codes.is_empty() { 0 } else { 8 }, "{what}\n{}{}", self.stdout, self.stderr);
        let findings = self.summary["findings"].as_array().unwrap();
        for finding in findings.iter().filter(|finding| finding["class"] == "fault") {
            assert!(finding["line"].as_u64().is_some_and(|line| line > 0), "{what}: no line in {finding}");
            assert!(!finding["help"].as_str().unwrap_or_default().is_empty(), "{what}: no help in {finding}");
        }
    }
}

impl Stage {
    pub fn new() -> Self {
        let stage = Self(Fleet::quickstart());
        // What a consumer's CI has: the configuration, and no reuse key.
        let config = stage.read("quickstart/pouch.yaml");
        let keyless = config.replace("reuseKey: {file: reuse.key}", "reuseKey: {env: NOT_THERE}");
        assert_ne!(config, keyless);
        stage.write("quickstart/keyless.yaml", &keyless);
        stage
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
        command.args(arguments).current_dir(self.path("")).stdin(Stdio::null()).env_clear();
        command.envs(std::env::var_os("PATH").map(|value| ("PATH", value)));
        command.env("HOME", self.path("")).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs `pouch verify` with these arguments.
    pub fn verify(&self, arguments: &[&str]) -> Verified {
        let scratch = tempfile::tempdir().unwrap();
        let summary = scratch.path().join("summary.json");
        let mut command = self.command(&["verify", "--summary", summary.to_str().unwrap()]);
        let output = command.args(arguments).output().unwrap();
        Verified {
            code: output.status.code().expect("it ends by itself"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            summary: fs::read(summary).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default(),
        }
    }

    /// As its owner: with the reuse key.
    pub fn owner(&self) -> Verified {
        self.verify(&["-f", "quickstart/pouch.yaml", "bundles"])
    }

    /// As a consumer's CI: with the configuration alone.
    pub fn consumer(&self) -> Verified {
        self.verify(&["-f", "quickstart/keyless.yaml", "bundles"])
    }

    /// As somebody who holds a region's key.
    pub fn holder(&self, region: &str) -> Verified {
        let identity = format!("quickstart/keys/{region}.txt");
        self.verify(&["-f", "quickstart/keyless.yaml", "bundles", "--identity", &identity])
    }

    /// What a command does with the region `eu-west` that opens all of it: its exit code and both outputs.
    pub fn opened(&self, words: &[&str]) -> (i32, String, String) {
        self.write("nowhere.kubeconfig", NOWHERE);
        let region = ["bundles/regions/eu-west", "--identity", "quickstart/keys/eu-west.txt"];
        let output = self.command(&[words, &region].concat()).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code().expect("it ends by itself"), stdout, stderr)
    }

    /// Makes the manifests' hashes fit again, as somebody does who tampers and has no reuse key: what is
    /// found then, something else than a hash has found.
    pub fn forge(&self) {
        for region in ["eu-west", "us-east"] {
            let path = format!("bundles/regions/{region}/bundle.yaml");
            if !self.path(&path).is_file() {
                continue;
            }
            let text = self.read(&path);
            let mut forged = String::new();
            let mut hash = None;
            for line in text.split_inclusive('\n') {
                let word = line.trim_start_matches([' ', '-']);
                if let Some(listed) = word.strip_prefix("path: ") {
                    let bytes = fs::read(self.path(&format!("bundles/{}", listed.trim()))).ok();
                    hash = bytes.map(|bytes| format!("{:x}", Sha256::digest(bytes)));
                }
                match hash.take_if(|_| word.starts_with("sha256: ")) {
                    Some(hash) => {
                        // As the emitter writes it: what a reader could take for a number stands in quotes.
                        let number = hash.bytes().next().is_some_and(|b| b.is_ascii_digit());
                        let quote = if number { "\"" } else { "" };
                        forged.push_str(&format!("  sha256: {quote}{hash}{quote}\n"));
                    }
                    None => forged.push_str(line),
                }
            }
            self.write(&path, &forged);
        }
    }

    /// Renders with everything let through that a tampered region may need.
    pub fn repair(&self) -> i32 {
        let mut arguments =
            vec!["render", "-q", "-f", "quickstart/pouch.yaml", "--output-dir", "bundles", "--reseal", "all"];
        for region in ["eu-west", "us-east"] {
            arguments.extend(["--replace-unsigned", region, "--remove-foreign", region]);
        }
        self.command(&arguments).output().unwrap().status.code().unwrap()
    }
}
