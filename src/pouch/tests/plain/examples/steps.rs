//! Runs scripts of the examples as a CI system would, with stand-ins for what is not here.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::fleet::{EU, Fleet, Ran};

/// The recipient that a proposal would like to have.
pub const THEIRS: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

/// A place where scripts run: a folder, what is found there, and the variables that the system sets.
pub struct Place {
    pub fleet: Fleet,
    variables: Vec<(String, String)>,
}

impl Place {
    /// `upstream`, a repository with a fleet that is published into it, and `fork`, a clone in which somebody proposes
    /// to read along, a Credential, and one that is wrong. Nobody has a key there.
    pub fn proposal() -> Self {
        let fleet = Fleet::with_credentials(2);
        fleet.run(&["render"]).ends(0);
        let place = Self { fleet, variables: Vec::new() };
        place.git("", &["init", "--quiet", "--initial-branch=main", "upstream"]);
        for name in ["pouch.yaml", "manifests", "bundles"] {
            fs::rename(place.fleet.path(name), place.fleet.path("upstream").join(name)).unwrap();
        }
        fs::remove_file(place.fleet.path("reuse.key")).unwrap();
        place.commit("upstream", "one");
        place.git("", &["clone", "--quiet", "upstream", "fork"]);
        place.git("fork", &["switch", "--quiet", "-c", "proposal"]);
        place.fleet.edit("fork/pouch.yaml", &format!("[{EU}]"), &format!("[{EU}, {THEIRS}]"));
        for name in ["late", "wrong"] {
            for file in ["", "-secret"] {
                let text = place.fleet.read(&format!("fork/manifests/eu-c0{file}.yaml"));
                place.fleet.write(&format!("fork/manifests/eu-{name}{file}.yaml"), text.replace("c0", name));
            }
        }
        place.fleet.edit("fork/manifests/eu-wrong-secret.yaml", "name: wrong", "name: elsewhere");
        place.commit("fork", "two");
        place
    }

    /// An empty place.
    pub fn empty() -> Self {
        Self { fleet: Fleet::empty(), variables: Vec::new() }
    }

    pub fn git(&self, folder: &str, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.fleet.path(folder)).args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
        let output = command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn commit(&self, folder: &str, message: &str) {
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "-m", message]);
    }

    /// Sets a variable; a path is one in this place.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    pub fn set_path(&mut self, name: &str, path: &str) {
        self.set(name, self.fleet.path(path).to_str().unwrap());
    }

    /// A program that is found before all others.
    pub fn stand_in(&self, name: &str, script: &str) {
        let file = format!("bin/{name}");
        self.fleet.write(&file, script);
        fs::set_permissions(self.fleet.path(&file), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a script in a folder by a shell with its arguments.
    pub fn run(&self, shell: &[&str], script: &str, folder: &str) -> Ran {
        self.fleet.write("script", script);
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(self.fleet.path("script")).current_dir(self.fleet.path(folder)).env_clear();
        let pouch = Path::new(env!("CARGO_BIN_EXE_pouch")).parent().unwrap().to_owned();
        let own: Vec<PathBuf> = vec![self.fleet.path("bin"), pouch];
        let path = env::var_os("PATH").unwrap_or_default();
        command.env("PATH", env::join_paths(own.into_iter().chain(env::split_paths(&path))).unwrap());
        for name in ["home", "tmp"] {
            fs::create_dir_all(self.fleet.path(name)).unwrap();
        }
        command.env("HOME", self.fleet.path("home")).env("TMPDIR", self.fleet.path("tmp"));
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        Ran::from(command.envs(variables).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs a step of a GitHub workflow, as GitHub does with `shell: bash`.
    pub fn step(&self, step: &Value, folder: &str) -> Ran {
        self.run(&["bash", "--noprofile", "--norc", "-eo", "pipefail"], step["run"].as_str().unwrap(), folder)
    }
}

/// The step with this name, or of this action.
pub fn step<'a>(job: &'a Value, name: &str) -> &'a Value {
    let is = |step: &&Value| {
        step["name"] == name || step["uses"].as_str().is_some_and(|uses| uses.split('@').next() == Some(name))
    };
    job["steps"].as_array().unwrap().iter().find(is).unwrap_or_else(|| panic!("no step {name}"))
}
