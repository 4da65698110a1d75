//! A fleet in a scratch folder, and the built program run on it.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and starts programs"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub const EU: &str = "age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q";
pub const US: &str = "age1xtgp6s7dvnkl6j78c5qhjpas67680rrfpads7wfqay29thqs7scsfjs9hg";
const REUSE_KEY: &str = include_str!("../../../../testdata/quickstart/reuse.key");

/// A value that must never be seen outside of the manifests.
pub const CANARY: &str = "canary-value-that-never-shows";

pub struct Fleet {
    folder: TempDir,
}

/// What stands in a folder: path to content, modes and links included.
pub type Tree = BTreeMap<String, Vec<u8>>;

impl Fleet {
    /// Two regions: `eu` with Flux and `us` with Argo CD, and no Credential.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("pouch-test-").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(folder.path().join("manifests")).unwrap();
        let fleet = Self { folder };
        fleet.write("reuse.key", REUSE_KEY);
        fs::set_permissions(fleet.path("reuse.key"), fs::Permissions::from_mode(0o600)).unwrap();
        fleet.write(
            "pouch.yaml",
            &format!(
                "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
                 sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
                 regions:\n\
                 \x20 eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, detached: true, delivery: flux}}\n\
                 \x20 us: {{recipients: [{US}], namespaces: {{allowed: ['*']}}, detached: true, delivery: argocd}}\n\
                 output: {{path: bundles}}\n\
                 delivery:\n\
                 \x20 flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}\n\
                 \x20 argocd: {{repoURL: 'https://git.example.com/fleet.git'}}\n\
                 reuseKey: {{file: reuse.key}}\n"
            ),
        );
        fleet
    }

    /// [`Fleet::new`] with `count` Credentials in each region, named `c0` and so on.
    pub fn with_credentials(count: usize) -> Self {
        let fleet = Self::new();
        for region in ["eu", "us"] {
            for n in 0..count {
                fleet.credential(region, &format!("c{n}"), &format!("{CANARY}-{region}-{n}"));
            }
        }
        fleet
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.path(path)).is_ok()
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    /// Replaces a part of the configuration, which must be there.
    #[track_caller]
    pub fn configure(&self, from: &str, to: &str) {
        let text = self.read("pouch.yaml");
        assert!(text.contains(from), "the configuration has no {from:?}");
        self.write("pouch.yaml", &text.replacen(from, to, 1));
    }

    /// A Credential in namespace `REGION-team`, and the Secret that it is.
    pub fn credential(&self, region: &str, name: &str, value: &str) {
        self.secret(region, name, &format!("value: {value}"));
        self.write(
            &format!("manifests/{region}-{name}.yaml"),
            &format!(
                "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n\
                 metadata: {{name: {name}, namespace: {region}-team}}\n\
                 spec:\n  region: {region}\n  identityRef: {{apiVersion: v1, kind: Secret, name: {name}, \
                 namespace: {region}-team}}\n"
            ),
        );
    }

    /// The Secret of a Credential; `entries` is what stands in `stringData: {}`.
    pub fn secret(&self, region: &str, name: &str, entries: &str) {
        self.write(
            &format!("manifests/{region}-{name}-secret.yaml"),
            &format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {region}-team}}\n\
                 stringData: {{{entries}}}\n"
            ),
        );
    }

    /// Deletes a Credential and its Secret.
    pub fn delete(&self, region: &str, name: &str) {
        self.remove(&format!("manifests/{region}-{name}.yaml"));
        self.remove(&format!("manifests/{region}-{name}-secret.yaml"));
    }

    /// The program with these arguments, in the fleet's folder and an environment of its own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null()).env_clear();
        command.envs(std::env::var_os("PATH").map(|value| ("PATH", value)));
        fs::create_dir_all(self.path("tmp")).unwrap();
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command
    }

    /// Runs the program and says how it ended.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// Runs `pouch render` with further arguments.
    pub fn render(&self, arguments: &[&str]) -> Ran {
        self.run(&[&["render"], arguments].concat())
    }

    /// Everything below a folder of the fleet.
    pub fn tree(&self, folder: &str) -> Tree {
        tree(&self.path(folder))
    }

    /// Inode, time and size of everything below a folder: what an untouched tree keeps.
    pub fn stamps(&self, folder: &str) -> BTreeMap<String, (u64, i64, i64, u64)> {
        let root = self.path(folder);
        let mut stamps = BTreeMap::new();
        walk(&root, &mut |path| {
            let meta = fs::symlink_metadata(path).unwrap();
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            stamps.insert(name, (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()));
        });
        stamps
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or_default());
        let text = |bytes| String::from_utf8(bytes).expect("everything printed is UTF-8");
        let ran = Self { code, stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY), "a value is shown: {ran:?}");
        ran
    }
}

impl Ran {
    /// Fails unless the run ended with `code`.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless stdout has a line for `region` with `outcome`.
    #[track_caller]
    pub fn outcome(self, region: &str, outcome: &str) -> Self {
        let is = |line: &&str| line.split_whitespace().take(2).eq([region, outcome]);
        assert!(
            self.stdout.lines().any(|line| is(&line)),
            "{region} is not {outcome}:\n{}{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Fails unless stderr has `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no {text:?} in:\n{}", self.stderr);
        self
    }

    /// The `REGION=DIGEST` that a held region's help prints after `flag`.
    #[track_caller]
    pub fn acceptance(&self, flag: &str, region: &str) -> String {
        let start = format!("{flag} {region}=");
        let (_, rest) = self.stderr.split_once(&start).unwrap_or_else(|| panic!("no {start} in:\n{}", self.stderr));
        format!("{region}={}", rest.get(..16).expect("a digest"))
    }
}

/// Everything below a folder; nothing if it is missing.
pub fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    walk(root, &mut |path| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let meta = fs::symlink_metadata(path).unwrap();
        let content = match () {
            () if meta.is_file() => fs::read(path).unwrap(),
            () if meta.is_dir() => b"folder".to_vec(),
            () => b"neither file nor folder".to_vec(),
        };
        tree.insert(name, content);
    });
    tree
}

fn walk(folder: &Path, found: &mut dyn FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        found(&path);
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            walk(&path, found);
        }
    }
}

/// Copies a folder of plain files.
pub fn copy(from: &Path, to: &Path) {
    for (path, content) in tree(from) {
        let (source, target) = (from.join(&path), to.join(&path));
        if source.is_dir() {
            fs::create_dir_all(&target).unwrap();
        } else {
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(&target, content).unwrap();
        }
    }
}
