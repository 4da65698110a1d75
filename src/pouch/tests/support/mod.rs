//! What tests share: the real programs, the field's data beside the checkout, and how to skip loudly.
//!
//! A test that lacks a program or a folder is skipped with a line that says so; where `CI` is
//! `true` it fails instead, so that nothing is skipped where work is judged.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod block;
pub mod choir;
pub mod chromium;
pub mod fleet;
pub mod githttp;
pub mod group;
pub mod nodes;
pub mod origin;
pub mod peak;
pub mod placeholders;
pub mod pouch;
pub mod proof;
pub mod reader;
pub mod registry;
pub mod skips;
pub mod spoilt;
pub mod sshd;
pub mod strace;
pub mod terminal;
pub mod tree;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, io, thread};

/// The top of the repository.
///
/// # Panics
/// If it is gone.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout is there")
}

/// The real program called `name`, from the folders of `POUCH_TOOLS_BIN` if that is set, else of `PATH`.
///
/// None, after saying so, where it is absent.
///
/// # Panics
/// Where it is absent and `CI` is `true`.
pub fn tool(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("POUCH_TOOLS_BIN").or_else(|| env::var_os("PATH")).unwrap_or_default();
    let found = find(name, &folders);
    if found.is_none() {
        skipped(&format!("no program {name} in POUCH_TOOLS_BIN or PATH (scripts/tools/get installs it)"));
    }
    found
}

/// The program called `name` from the folders of `PATH`, which the machine itself has.
///
/// None, after saying so, where it is absent.
///
/// # Panics
/// Where it is absent and `CI` is `true`.
pub fn tool_on_path(name: &str) -> Option<PathBuf> {
    let found = find(name, &env::var_os("PATH").unwrap_or_default());
    if found.is_none() {
        skipped(&format!("no program {name} in PATH"));
    }
    found
}

/// The file called `name` in the first of `folders` (joined as in `PATH`) that has one.
pub fn find(name: &str, folders: &OsStr) -> Option<PathBuf> {
    env::split_paths(folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A file or folder of the field's data, which lies beside the checkout where pouch is developed.
///
/// None, after saying so, where it is absent.
///
/// # Panics
/// Where it is absent and `CI` is `true`.
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    if found.exists() {
        return Some(found);
    }
    skipped(&format!("no {path} in the folder `shared` beside the checkout"));
    None
}

/// Says loudly that a test is skipped.
///
/// # Panics
/// Where `CI` is `true`.
pub fn skipped(why: &str) {
    assert!(env::var_os("CI").is_none_or(|value| value != "true"), "not skipped in CI: {why}");
    skipped_anywhere(why);
}

/// Says loudly that a test, or a part of it, is skipped, also in CI: for what no machine is sure to have.
pub fn skipped_anywhere(why: &str) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    // What macros print, the test harness keeps for itself where a test does not fail.
    let _ = io::stderr().write_all(format!("SKIPPED {test}: {why}\n").as_bytes());
    // For the last lines of `cargo test`.
    skips::note(Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/skipped")), &format!("{test}: {why}"));
}

/// Runs a program without the caller's secrets and settings in its environment, and gives its answer.
///
/// # Panics
/// If it cannot be started.
pub fn run<I, S>(program: &Path, arguments: I, settings: &[(&str, &OsStr)]) -> Output
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).env_clear();
    for name in ["PATH", "TMPDIR"] {
        command.envs(env::var_os(name).map(|value| (name, value)));
    }
    // Programs keep their settings in the home folder; a test's outcome must not hang on yours.
    command.env("HOME", env::temp_dir().join("pouch-no-home")).envs(settings.iter().copied());
    command.output().unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()))
}

/// What the program printed, as it must where it succeeds.
///
/// # Panics
/// If it failed; the message carries its name and what it said.
#[track_caller]
pub fn printed(program: &Path, answer: &Output) -> Vec<u8> {
    assert!(
        answer.status.success(),
        "{} failed with {}:\n{}",
        program.display(),
        answer.status,
        String::from_utf8_lossy(&answer.stderr)
    );
    answer.stdout.clone()
}

/// The real sops.
pub struct Sops(PathBuf);

impl Sops {
    /// Finds it, or says that it is absent.
    pub fn find() -> Option<Self> {
        tool("sops").map(Self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Decrypts a YAML file with the age identities in `identities`, which also checks its MAC.
    pub fn decrypt(&self, file: &Path, identities: &Path) -> Output {
        let arguments = ["decrypt", "--input-type=yaml", "--output-type=yaml"].map(OsString::from);
        let arguments = arguments.into_iter().chain([file.into()]);
        run(&self.0, arguments, &[("SOPS_AGE_KEY_FILE", identities.as_os_str())])
    }

    /// [`Sops::decrypt`] where it must succeed.
    ///
    /// # Panics
    /// If sops refuses.
    #[track_caller]
    pub fn opened(&self, file: &Path, identities: &Path) -> Vec<u8> {
        printed(&self.0, &self.decrypt(file, identities))
    }

    /// [`Sops::opened`] as JSON.
    ///
    /// # Panics
    /// If sops refuses.
    #[track_caller]
    pub fn opened_as_json(&self, file: &Path, identities: &Path) -> Vec<u8> {
        self.as_json(&["--input-type=yaml"], file, identities)
    }

    /// Decrypts a JSON file as Flux does, which sorts the keys and therefore asks for no MAC.
    ///
    /// # Panics
    /// If sops refuses.
    #[track_caller]
    pub fn opened_by_flux(&self, file: &Path, identities: &Path) -> Vec<u8> {
        self.as_json(&["--input-type=json", "--ignore-mac"], file, identities)
    }

    fn as_json(&self, flags: &[&str], file: &Path, identities: &Path) -> Vec<u8> {
        let all = ["decrypt", "--output-type=json"].iter().chain(flags).map(OsStr::new).chain([file.as_os_str()]);
        printed(&self.0, &run(&self.0, all, &[("SOPS_AGE_KEY_FILE", identities.as_os_str())]))
    }

    /// Encrypts a YAML file for `recipients` (joined by commas) as pouch's bundles are encrypted.
    ///
    /// # Panics
    /// If sops refuses.
    #[track_caller]
    pub fn sealed(&self, file: &Path, recipients: &str) -> Vec<u8> {
        let arguments =
            ["encrypt", "--input-type=yaml", "--output-type=yaml", "--encrypted-regex=^(data|stringData)$", "--age"];
        let arguments = arguments.map(OsString::from).into_iter().chain([recipients.into(), file.into()]);
        printed(&self.0, &run(&self.0, arguments, &[]))
    }
}

/// The real age and age-keygen.
pub struct Age {
    age: PathBuf,
    keygen: PathBuf,
}

impl Age {
    /// Finds them, or says which is absent.
    pub fn find() -> Option<Self> {
        Some(Self { age: tool("age")?, keygen: tool("age-keygen")? })
    }

    /// Makes an identity at `path` and gives its recipient.
    ///
    /// # Panics
    /// If age-keygen refuses, for instance because the file is there.
    #[track_caller]
    pub fn keygen(&self, path: &Path) -> String {
        printed(&self.keygen, &run(&self.keygen, [OsStr::new("-o"), path.as_os_str()], &[]));
        self.recipient(path)
    }

    /// The recipient of the identity at `path`.
    ///
    /// # Panics
    /// If that is no identity.
    #[track_caller]
    pub fn recipient(&self, path: &Path) -> String {
        let out = printed(&self.keygen, &run(&self.keygen, [OsStr::new("-y"), path.as_os_str()], &[]));
        String::from_utf8(out).expect("age-keygen prints ASCII").trim().to_owned()
    }

    /// Decrypts an age file, armored or not, with the identities in `identities`.
    pub fn decrypt(&self, file: &Path, identities: &Path) -> Output {
        run(&self.age, [OsStr::new("-d"), OsStr::new("-i"), identities.as_os_str(), file.as_os_str()], &[])
    }

    /// Encrypts `file` for one recipient into `out`, armored.
    ///
    /// # Panics
    /// If age refuses.
    #[track_caller]
    pub fn seal(&self, file: &Path, recipient: &str, out: &Path) {
        let arguments =
            ["-a".as_ref(), "-r".as_ref(), recipient.as_ref(), "-o".as_ref(), out.as_os_str(), file.as_os_str()];
        printed(&self.age, &run(&self.age, arguments, &[]));
    }
}

/// The real kustomize.
pub struct Kustomize(PathBuf);

impl Kustomize {
    /// Finds it, or says that it is absent.
    pub fn find() -> Option<Self> {
        tool("kustomize").map(Self)
    }

    /// Builds a folder.
    pub fn build(&self, folder: &Path) -> Output {
        run(&self.0, [OsStr::new("build"), folder.as_os_str()], &[])
    }

    /// Builds a folder that names generators, which are programs in the folder `programs`.
    ///
    /// # Panics
    /// If kustomize refuses.
    #[track_caller]
    pub fn generated(&self, folder: &Path, programs: &Path, settings: &[(&str, &OsStr)]) -> Vec<u8> {
        let old = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(std::iter::once(programs.to_owned()).chain(env::split_paths(&old))).expect("a PATH");
        let settings: Vec<_> = settings.iter().copied().chain([("PATH", path.as_os_str())]).collect();
        let flags = ["build", "--enable-alpha-plugins", "--enable-exec"].map(OsStr::new);
        printed(&self.0, &run(&self.0, flags.into_iter().chain([folder.as_os_str()]), &settings))
    }

    /// [`Kustomize::build`] where it must succeed.
    ///
    /// # Panics
    /// If kustomize refuses.
    #[track_caller]
    pub fn built(&self, folder: &Path) -> Vec<u8> {
        printed(&self.0, &self.build(folder))
    }
}

/// Python with PyYAML, a reader of YAML 1.1 that nobody here wrote.
pub struct PyYaml(PathBuf);

impl PyYaml {
    /// Finds it, or says that it is absent.
    pub fn find() -> Option<Self> {
        tool("python-yaml").map(Self)
    }

    /// Reads a file of YAML documents and gives them as one JSON array.
    ///
    /// PyYAML gives a plain `=` the type `value` of YAML 1.1, and a plain `<<` the type `merge`, and then
    /// has no text for them; kustomize writes both.
    pub fn read(&self, file: &Path) -> Output {
        const SCRIPT: &str = "import json, sys, yaml\n\
            for tag in ('value', 'merge'):\n    yaml.SafeLoader.add_constructor('tag:yaml.org,2002:' + tag, lambda l, n: l.construct_scalar(n))\n\
            with open(sys.argv[1], 'rb') as f:\n    json.dump(list(yaml.safe_load_all(f)), sys.stdout, default=repr)\n";
        run(&self.0, ["-I".as_ref(), "-c".as_ref(), SCRIPT.as_ref(), file.as_os_str()], &[])
    }

    /// Writes a program that this Python runs.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn program(&self, path: &Path, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        // The interpreter may itself be a script, which the first line of another may not name.
        let text = format!("#!/bin/sh\nexec '{}' -I -c '{script}'\n", self.0.display());
        std::fs::write(path, text).expect("a program can be written");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a program can be made one");
    }

    /// Runs one of our own scripts.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn script(&self, script: &Path, arguments: &[&str]) {
        let all = [OsStr::new("-B"), script.as_os_str()].into_iter().chain(arguments.iter().map(OsStr::new));
        printed(&self.0, &run(&self.0, all, &[]));
    }
}
