//! A fleet to plant canaries in, and everything that a run lets out, sink by sink.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::support::choir::{Choir, Ear};
use crate::support::spoilt::{Fleet, Ran, Tree, tree};

/// What comes out where: sinks by name.
pub type Sinks = BTreeMap<String, Vec<u8>>;

/// Variables that are in no case children's, and those of the surroundings that are.
const VARIABLES: [(&str, &str); 7] = [
    ("SOPS_AGE_KEY", "«environment: SOPS_AGE_KEY»"),
    ("SOPS_AGE_KEY_CMD", "echo «environment: SOPS_AGE_KEY_CMD»"),
    ("POUCH_OTHER", "«environment: POUCH_OTHER»"),
    ("AWS_SECRET_ACCESS_KEY", "«handed on: AWS_SECRET_ACCESS_KEY»"),
    ("no_proxy", "«handed on: no_proxy»"),
    ("GIT_CONFIG_PARAMETERS", "'http.extraheader=Bearer «environment: GIT_CONFIG_PARAMETERS»'"),
    ("GIT_TRACE", "2"),
];

/// What stands in front of the real git: it writes down what a child gets.
const GIT: &str =
    "#!/bin/sh\n{ env; printf '%s\\n' \"$@\"; } >> \"${0%/*}/../children.log\"\nPATH=${PATH#*:}\nexec git \"$@\"\n";

/// A fleet, and what was in its folder before pouch ran.
pub struct Stage {
    pub fleet: Fleet,
    /// What is filled in, and by and by listened for.
    pub choir: Choir,
    vars: Vec<(String, String)>,
    inputs: Tree,
}

impl Stage {
    /// A good fleet, which publishes to a repository too. Its keys and surroundings are canaries.
    pub fn new() -> Self {
        let fleet = Fleet::new();
        let mut choir = Choir::default();
        choir.add("reuse key: a file", crate::support::spoilt::KEY.trim_start_matches("POUCH-REUSE-KEY-1"));
        let vars = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), choir.fill(value))).collect();
        fleet.configure(
            "output: {path: bundles}",
            "output: {path: bundles, git: {repository: origin.git, branch: main}}",
        );
        let mut options = git2::RepositoryInitOptions::new();
        options.bare(true).external_template(false).initial_head("main");
        git2::Repository::init_opts(fleet.path("origin.git"), &options).unwrap();
        fleet.write("bin/git", GIT);
        fs::set_permissions(fleet.path("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(fleet.path("tmp")).unwrap();
        let mut stage = Self { fleet, choir, vars, inputs: Tree::new() };
        let path = std::env::var("PATH").unwrap();
        stage.set("PATH", &format!("{}:{path}", stage.fleet.path("bin").display()));
        stage.set("TMPDIR", &stage.fleet.path("tmp").display().to_string());
        stage
    }

    /// Sets a variable of the runs to come; its value may have markers.
    pub fn set(&mut self, name: &str, value: &str) {
        let value = self.choir.fill(value);
        self.vars.retain(|(known, _)| known != name);
        self.vars.push((name.to_owned(), value));
    }

    /// Writes an input, with its markers filled in.
    pub fn write(&mut self, path: &str, text: &str) {
        let text = self.choir.fill(text);
        self.fleet.write(path, text);
    }

    /// Says that what is in the folder now is input, and no sink.
    pub fn begin(&mut self) {
        self.inputs = tree(self.fleet.path("").as_path());
    }

    /// Runs pouch, reading nothing.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, Stdio::null())
    }

    /// Runs pouch, reading `stdin`.
    pub fn run_with(&self, arguments: &[&str], stdin: Stdio) -> Ran {
        self.fleet.run_in(arguments, stdin, &self.vars)
    }

    /// Everything that a run let out.
    pub fn sinks(&self, ran: &Ran) -> Sinks {
        let mut sinks = Sinks::new();
        sinks.insert("stdout".into(), ran.out.clone().into_bytes());
        sinks.insert("stderr".into(), ran.err.clone().into_bytes());
        for (path, bytes) in tree(self.fleet.path("").as_path()) {
            let is_packed = path.starts_with("origin.git/objects/");
            if !is_packed && self.inputs.get(&path) != Some(&bytes) {
                sinks.insert(format!("name of {path}"), path.clone().into_bytes());
                sinks.insert(format!("file {path}"), bytes);
            }
        }
        objects(&self.fleet.path("origin.git"), &mut sinks);
        sinks
    }

    /// Fails if a canary is anywhere where a run let something out. `case` is for the message.
    #[track_caller]
    pub fn is_silent(&self, ear: &Ear, case: &str, ran: &Ran) {
        let hits: Vec<String> = hits(ear, &self.sinks(ran));
        assert!(hits.is_empty(), "{case}: pouch {} (exit {:?}) let out\n{}", ran.arguments, ran.code, hits.join("\n"));
    }
}

/// What is heard in sinks: `place in sink, as form`. What children are handed on with reason counts only elsewhere.
pub fn hits(ear: &Ear, sinks: &Sinks) -> Vec<String> {
    let mut hits = Vec::new();
    for (sink, bytes) in sinks {
        for (place, forms) in ear.hears(bytes) {
            if !(place.starts_with("handed on: ") && sink == "file children.log") {
                hits.push(format!("{place} in {sink}, as {}", forms.into_iter().collect::<Vec<_>>().join(", ")));
            }
        }
    }
    hits
}

/// Every object of a repository, unpacked.
fn objects(folder: &Path, sinks: &mut Sinks) {
    let repository = git2::Repository::open_bare(folder).unwrap();
    let store = repository.odb().unwrap();
    let mut ids = Vec::new();
    store
        .foreach(|id| {
            ids.push(*id);
            true
        })
        .unwrap();
    for id in ids {
        let object = store.read(id).unwrap();
        sinks.insert(format!("git {} {id}", object.kind().str()), object.data().to_vec());
    }
}
