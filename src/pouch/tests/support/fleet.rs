//! A fleet in a scratch folder, made of any of the configurations that tests use, and the built program run on it.
//!
//! What a test needs beside that (sources of its own, promises that every run keeps) it puts around a [`Fleet`].

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pouch::age::recipient_of;
use tempfile::TempDir;

use super::root;

/// The recipient of the quickstart's region `eu-west`, whose identity stands in `testdata/quickstart/keys`.
pub const EU: &str = "age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q";
/// The same of `us-east`.
pub const US: &str = "age1xtgp6s7dvnkl6j78c5qhjpas67680rrfpads7wfqay29thqs7scsfjs9hg";
const REUSE_KEY: &str = include_str!("../../../../testdata/quickstart/reuse.key");

/// A value that must never be seen outside of the manifests.
pub const CANARY: &str = "canary-value-that-never-shows";

/// A folder with whatever makes a fleet, which goes with its value.
pub struct Fleet {
    folder: TempDir,
}

/// What stands in a folder: path to content, modes and links included.
pub type Tree = BTreeMap<String, Vec<u8>>;

impl Fleet {
    /// An empty folder.
    pub fn empty() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// An empty folder in memory where the system has such: pouch syncs what it writes, so a disk would set the pace.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::within(memory) } else { Self::empty() }
    }

    fn within(place: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("pouch-test-").tempdir_in(place).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        Self { folder }
    }

    /// A configuration, and the reuse key that it may name as `reuse.key`; no sources.
    pub fn of(config: &str) -> Self {
        let fleet = Self::empty();
        fleet.configured(config);
        fleet
    }

    /// Writes a configuration and the quickstart's reuse key.
    pub fn configured(&self, config: &str) {
        self.write("pouch.yaml", config);
        self.private("reuse.key", REUSE_KEY);
    }

    /// The quickstart in `quickstart`, and what is published of it in `bundles`.
    pub fn quickstart() -> Self {
        let fleet = Self::empty();
        copy(&root().join("testdata/quickstart"), &fleet.path("quickstart"));
        copy(&root().join("bundles"), &fleet.path("bundles"));
        fleet
    }

    /// The quickstart by itself, and what is rendered of it.
    pub fn rendered_quickstart() -> Self {
        let fleet = Self::empty();
        copy(&root().join("testdata/quickstart"), &fleet.path("."));
        fleet.private("reuse.key", fleet.read("reuse.key"));
        fleet.run(&["render"]).ends(0);
        fleet
    }

    /// Two regions: `eu` with Flux and `us` with Argo CD, and no Credential.
    pub fn new() -> Self {
        let fleet = Self::of(&format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
             sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
             regions:\n\
             \x20 eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: flux}}\n\
             \x20 us: {{recipients: [{US}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: argocd}}\n\
             output: {{path: bundles}}\n\
             regionDefaults:\n\
             \x20 delivery:\n\
             \x20   flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}\n\
             \x20   argocd: {{repoURL: 'https://git.example.com/fleet.git'}}\n\
             reuseKey: {{file: reuse.key}}\n"
        ));
        fs::create_dir(fleet.path("manifests")).unwrap();
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

    /// Where something of the fleet is.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file and its folders.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes a file that only its owner can read.
    pub fn private(&self, path: &str, bytes: impl AsRef<[u8]>) {
        self.write(path, bytes);
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.path(path)).is_ok()
    }

    /// Removes a file, which must be there.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    /// Replaces a part of a file once; it must be there.
    #[track_caller]
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        self.write(path, text.replacen(from, to, 1));
    }

    /// Replaces a part of the configuration, which must be there.
    #[track_caller]
    pub fn configure(&self, from: &str, to: &str) {
        self.edit("pouch.yaml", from, to);
    }

    /// A Credential in namespace `REGION-team`, and the Secret that it is.
    pub fn credential(&self, region: &str, name: &str, value: &str) {
        self.secret(region, name, &format!("value: {value}"));
        let text = credential(region, &format!("{region}-team"), name, ["v1", "Secret", name]);
        self.write(&format!("manifests/{region}-{name}.yaml"), text);
    }

    /// The Secret of a Credential; `entries` is what stands in `stringData: {}`.
    pub fn secret(&self, region: &str, name: &str, entries: &str) {
        let text = secret(&format!("{region}-team"), name, entries);
        self.write(&format!("manifests/{region}-{name}-secret.yaml"), text);
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
        for folder in ["tmp", "home"] {
            fs::create_dir_all(self.path(folder)).unwrap();
        }
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

/// A Credential of a region; its identity is an object of its own namespace: version, kind and name.
pub fn credential(region: &str, namespace: &str, name: &str, [version, kind, identity]: [&str; 3]) -> String {
    format!(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec:\n  region: {region}\n  \
         identityRef: {{apiVersion: {version}, kind: {kind}, name: {identity}, namespace: {namespace}}}\n"
    )
}

/// A Credential of region `eu` whose identity is open to namespaces with the label `env: prod`, with its Secret.
pub fn selected(namespace: &str) -> String {
    format!(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: aws, namespace: {namespace}}}\n\
         spec:\n  region: eu\n  \
         identityRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, name: aws}}\n---\n\
         apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\nmetadata: {{name: aws}}\n\
         spec: {{secretRef: aws, allowedNamespaces: {{selector: {{matchLabels: {{env: prod}}}}}}}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: aws, namespace: kcm-system}}\n\
         stringData: {{AccessKeyID: not-real, SecretAccessKey: not-real-either}}\n"
    )
}

/// A Secret; `entries` is what stands in `stringData: {}`.
pub fn secret(namespace: &str, name: &str, entries: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\nstringData: {{{entries}}}\n"
    )
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Whether nothing was written to anywhere.
    pub fn is_silent(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }
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

    /// The `REGION=DIGEST`, or `REGION/NAMESPACE=DIGEST`, that the help of what is held prints after `flag`.
    #[track_caller]
    pub fn acceptance(&self, flag: &str, region: &str) -> String {
        let start = format!("{flag} {region}");
        let after =
            |(at, _): (usize, &str)| self.stderr.get(at + start.len()..).filter(|rest| rest.starts_with(['=', '/']));
        let rest = self.stderr.match_indices(&start).find_map(after);
        let rest = rest.unwrap_or_else(|| panic!("no {start} in:\n{}", self.stderr));
        let (whose, digest) = rest.split_once('=').expect("a digest");
        format!("{region}{whose}={}", digest.get(..16).expect("a digest"))
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

/// What is printed, which must be the recipient of the identity in `file` and nothing else.
#[track_caller]
pub fn is_pair(fleet: &Fleet, file: &str, ran: &Ran) {
    let text = fleet.read(file);
    let identity = text.lines().find(|line| line.starts_with("AGE-SECRET-KEY-1")).unwrap();
    assert_eq!(ran.stdout, format!("{}\n", recipient_of(identity).unwrap()));
    assert!(!ran.stderr.contains("SECRET-KEY"), "{}", ran.stderr);
    assert_eq!(fs::metadata(fleet.path(file)).unwrap().permissions().mode() & 0o777, 0o600);
}
