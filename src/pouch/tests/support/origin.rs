//! A bare repository that is published to, and the real git to look into it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fleet::{Fleet, Ran};

/// What git needs to know to commit, and nothing of the machine's own settings.
fn git(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).env_clear().stdin(Stdio::null());
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for (who, name) in [("AUTHOR", "Other"), ("COMMITTER", "Other")] {
        command.env(format!("GIT_{who}_NAME"), name).env(format!("GIT_{who}_EMAIL"), "other@example.com");
    }
    command
}

/// The repository `repo.git` of a fleet.
pub struct Origin<'a> {
    fleet: &'a Fleet,
}

impl<'a> Origin<'a> {
    /// Makes it, empty, and the fleet publish to it. `more` are further keys of `output.git`.
    pub fn new(fleet: &'a Fleet, more: &str) -> Self {
        fs::create_dir(fleet.path("repo.git")).unwrap();
        let output = format!("output: {{path: bundles, git: {{repository: repo.git, branch: main{more}}}}}");
        fleet.configure("output: {path: bundles}", &output);
        let origin = Self { fleet };
        origin.git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
        origin
    }

    /// The repository that [`Origin::new`] made.
    pub fn known(fleet: &'a Fleet) -> Self {
        Self { fleet }
    }

    pub fn path(&self) -> PathBuf {
        self.fleet.path("repo.git")
    }

    /// Runs git in it and gives what it prints, trimmed.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        run(git(&self.path(), arguments))
    }

    /// The commit of `main`, if there is one.
    pub fn tip(&self) -> Option<String> {
        let output = git(&self.path(), &["rev-parse", "--verify", "--quiet", "refs/heads/main"]).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// How many commits `main` has.
    pub fn commits(&self) -> usize {
        self.tip().map_or(0, |_| self.git(&["rev-list", "--count", "main"]).parse().unwrap())
    }

    /// Paths that the last commit changed.
    pub fn changed(&self) -> Vec<String> {
        let text = self.git(&["diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "main"]);
        text.lines().map(str::to_owned).collect()
    }

    /// Paths in the last commit.
    pub fn files(&self) -> Vec<String> {
        self.git(&["ls-tree", "-r", "--name-only", "main"]).lines().map(str::to_owned).collect()
    }

    /// Fails unless the repository is sound and nothing is left behind on this side.
    #[track_caller]
    pub fn check(&self) {
        self.git(&["fsck", "--strict", "--no-dangling"]);
        let left = self.fleet.tree("tmp");
        assert!(left.is_empty(), "left behind: {:?}", left.keys());
        if self.tip().is_some() {
            let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
            let trees = self.git(&["ls-tree", "-r", "-t", "--object-only", "main"]);
            assert!(!trees.contains(empty), "there is an empty folder");
        }
    }

    /// Commits as another writer: a shell script changes a work tree, which is then pushed.
    #[track_caller]
    pub fn commit_beside(&self, script: &str) {
        let text = format!("{}\n", self.other_writer(script));
        let mut command = Command::new("sh");
        run_with(command.args(["-euc", &text]));
    }

    /// Runs a shell script in a fresh clone, which commits and pushes by itself.
    #[track_caller]
    pub fn run_beside(&self, script: &str) {
        let mut command = Command::new("sh");
        run_with(command.args(["-euc", &self.in_clone(script)]));
    }

    /// The script of another writer's push.
    pub fn other_writer(&self, script: &str) -> String {
        self.in_clone(&format!(
            "{script}; git add -A; git -c commit.gpgsign=false commit -qm other; git push -q origin HEAD:main"
        ))
    }

    fn in_clone(&self, script: &str) -> String {
        let (work, repo) = (self.fleet.path("work"), self.path());
        format!(
            "export PATH='{path}' GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=O GIT_AUTHOR_EMAIL=o@x \
             GIT_COMMITTER_NAME=O GIT_COMMITTER_EMAIL=o@x; rm -rf '{work}'; git clone -q '{repo}' '{work}' 2>/dev/null; \
             cd '{work}'; {script}",
            path = std::env::var("PATH").unwrap(),
            work = work.display(),
            repo = repo.display(),
        )
    }

    /// Puts ten folders in each of eight levels below a folder of the branch: nine folders in all, which are a hundred million
    /// paths. Gives the commit of before.
    pub fn bomb(&self, path: &str) -> String {
        let make = |entries: &str| {
            self.fleet.write("entries", entries);
            let path = self.fleet.path("entries").display().to_string();
            let script = format!("git --git-dir='{}' mktree < '{path}'", self.path().display());
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let mut bomb = self.git(&["rev-parse", "main:bundles/regions/eu/core"]);
        for _ in 0..8 {
            bomb = make(&(0..10).map(|name| format!("040000 tree {bomb}\td{name}\n")).collect::<String>());
        }
        // Each folder on the way is made again, with the bomb in the last.
        let mut below =
            make(&format!("{}\n040000 tree {bomb}\tbomb\n", self.git(&["ls-tree", &format!("main:{path}")])));
        let mut parts: Vec<&str> = path.split('/').collect();
        while let Some(last) = parts.pop() {
            let above = self.git(&["ls-tree", &format!("main:{}", parts.join("/"))]);
            let others: String = above
                .lines()
                .filter(|line| !line.ends_with(&format!("\t{last}")))
                .map(|line| format!("{line}\n"))
                .collect();
            below = make(&format!("{others}040000 tree {below}\t{last}\n"));
        }
        let was = self.tip().unwrap();
        let people = ["-c", "user.name=o", "-c", "user.email=o@x"];
        let tip = self.git(&[&people[..], &["commit-tree", "-p", &was, "-m", "x", &below]].concat());
        self.git(&["update-ref", "refs/heads/main", &tip]);
        was
    }

    /// Puts a shell script in place of a hook of the repository.
    pub fn hook(&self, name: &str, script: &str) {
        executable(&self.path().join("hooks").join(name), script);
    }

    /// Whether `main` holds a bundle.
    fn has_bundles(&self) -> bool {
        self.tip().is_some() && self.files().iter().any(|path| path.ends_with("/bundle.yaml"))
    }

    /// Runs `pouch publish`, with `--first` where it is the first time, and looks whether the repository is sound
    /// afterwards.
    #[track_caller]
    pub fn publish(&self, arguments: &[&str]) -> Ran {
        let first: &[&str] = if self.has_bundles() { &[] } else { &["--first"] };
        let ran = self.fleet.run(&[&["publish"], first, arguments].concat());
        self.check();
        ran
    }

    /// `pouch publish` with a `git` that first runs `script`; `$1` and so on are git's arguments.
    pub fn wrapped(&self, script: &str, arguments: &[&str]) -> Command {
        let first: &[&str] = if self.has_bundles() { &[] } else { &["--first"] };
        self.wrapped_run(script, &[&["publish"], first, arguments].concat())
    }

    /// The same for any command.
    pub fn wrapped_run(&self, script: &str, arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
        executable(&self.fleet.path("bin/git"), &format!("{script}\nexec '{}' \"$@\"", real.display()));
        let mut command = self.fleet.command(arguments);
        command.env("PATH", format!("{}:{path}", self.fleet.path("bin").display()));
        command
    }
}

fn executable(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
fn run(mut command: Command) -> String {
    run_with(&mut command)
}

#[track_caller]
fn run_with(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
