//! A fleet with something published and something new, a repository that is reached by path, http or ssh, and what must
//! hold whatever becomes of a run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::fleet::{Fleet, Ran, credential, secret};
use crate::support::githttp::GitServer;
use crate::support::origin::Origin;
use crate::support::sshd::Sshd;
use crate::support::strace::{Call, Strace, Watched, before, calls, listing, spoiling};

/// How the repository is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Path,
    Http,
    Ssh,
}

/// Whose calls are spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of pouch itself.
    Pouch,
    /// Those of the git that pouch runs as the so-and-so-many-th, and of what that git starts on this side.
    Git(usize),
}

/// Says where a check was when it failed.
pub struct When(pub String);

impl Drop for When {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- {}", self.0);
        }
    }
}

pub struct Scene {
    pub fleet: Fleet,
    pub way: Way,
    /// The commit that was published before the sources changed.
    old: String,
    ssh: Option<(Sshd, String)>,
    _http: Option<GitServer>,
}

/// What a run must write.
const RECORDS: [&str; 4] = ["--metrics", "out/pouch.prom", "--summary", "out/summary.json"];

impl Scene {
    /// None where there is no SSH server, after saying so.
    pub fn new(way: Way) -> Option<Self> {
        let fleet = Fleet::with_credentials(3);
        let http = (way == Way::Http).then(|| GitServer::new(&fleet.path("")));
        let ssh = match way {
            Way::Ssh => Some(Sshd::start(&fleet.path("ssh"), "")?),
            Way::Path | Way::Http => None,
        };
        let url = |name: &str| match (&http, &ssh) {
            (Some(server), _) => server.url(name),
            (_, Some(sshd)) => sshd.url(&fleet.path(name)),
            _ => format!("file://{}", fleet.path(name).display()),
        };
        Origin::new(&fleet, "");
        fleet.configure("reuseKey", "limits: {attempts: 5, git: {idle: 20s, settle: 1s}}\nreuseKey");
        if way != Way::Path {
            fleet.configure("repository: repo.git", &format!("repository: '{}'", url("repo.git")));
        }
        fleet.configure(
            "sources: [{name: manifests, directory: {path: manifests}}]",
            &format!(
                "sources:\n\
                 - {{name: manifests, directory: {{path: manifests}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}\n\
                 - {{name: team, git: {{repository: '{}', ref: main}}, provides: {{namespaces: [team-z]}}}}\n#",
                url("team.git")
            ),
        );
        let ssh = ssh.map(|sshd| {
            let client = sshd.client(Some("host"));
            (sshd, client)
        });
        let mut scene = Self { fleet, way, old: String::new(), ssh, _http: http };
        scene.team(
            "of-the-team",
            "git init -q --bare --initial-branch=main ../team.git; git init -q --initial-branch=main",
        );
        fs::create_dir(scene.fleet.path("out")).unwrap();
        scene.run(&["publish", "--first"]).ends(0);
        scene.old = scene.origin().tip().unwrap();
        scene.keep();
        let fleet = &scene.fleet;
        fleet.secret("eu", "c0", "value: changed");
        fleet.credential("eu", "added", "x");
        fleet.delete("us", "c1");
        scene.team("changed", ":");
        Some(scene)
    }

    /// Has the team commit its Credential with this value.
    fn team(&self, value: &str, first: &str) {
        let web = credential("eu", "team-z", "web", ["v1", "Secret", "web"]);
        let text = format!("{web}---\n{}", secret("team-z", "web", &format!("token: {value}")));
        self.fleet.write("team/web.yaml", text);
        let mut command = Command::new("sh");
        let identity = "git -c user.name=t -c user.email=t@example.com";
        let script = format!("{first}; git add -A; {identity} commit -qm x; git push -q ../team.git HEAD:main");
        command.args(["-ec", &script]).current_dir(self.fleet.path("team")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.status().unwrap().success());
    }

    pub fn origin(&self) -> Origin<'_> {
        Origin::known(&self.fleet)
    }

    /// Keeps what [`Scene::restore`] puts back.
    fn keep(&self) {
        self.shell("rm -rf saved; mkdir saved; cp -a repo.git home saved");
    }

    /// Puts the repository and the cache back, as they were when the old state was published.
    pub fn restore(&self) {
        self.shell("rm -rf repo.git home out; cp -a saved/repo.git saved/home .; mkdir out");
    }

    fn shell(&self, script: &str) {
        let mut command = Command::new("sh");
        assert!(command.args(["-ec", script]).current_dir(self.fleet.path("")).status().unwrap().success());
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.fleet.command(arguments);
        command.env("RAYON_NUM_THREADS", "2");
        command.envs(self.ssh.as_ref().map(|(_, client)| ("GIT_SSH_COMMAND", client)));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// What is swept: a run with everything that it can leave behind.
    pub fn publish(&self) -> Command {
        self.command(&[&["publish"], RECORDS.as_slice()].concat())
    }

    /// The calls of a run that nobody disturbs, by whose they are.
    pub fn calls(&self, strace: &Strace) -> Vec<(Whose, Vec<Call>)> {
        let lists = self.fleet.path("lists");
        fs::create_dir_all(&lists).unwrap();
        let list = lists.join("pouch");
        let ran = Ran::from(strace.around(Watched::Alone, &listing(&list), &self.publish()).output().unwrap());
        ran.ends(0).outcome("eu", "published");
        let mut all = vec![(Whose::Pouch, calls(&list))];
        self.restore();
        let words = strace.words(self.of_git(), &listing(&lists.join("git")));
        let script = format!("{words}.$n '{}' \"$@\"; exit $?", git().display());
        Ran::from(self.counted(&script, self.publish()).output().unwrap()).ends(0).outcome("eu", "published");
        self.restore();
        let of = |n: usize| {
            Some((Whose::Git(n), calls(&Some(lists.join(format!("git.{n}"))).filter(|list| list.exists())?)))
        };
        all.extend((1..).map_while(of));
        all
    }

    /// What git starts on this side; a repository on this machine has the other side below it too.
    fn of_git(&self) -> Watched {
        if self.way == Way::Path { Watched::Alone } else { Watched::All }
    }

    /// A run whose every git first runs a shell script, with the number of that git in `$n`.
    fn counted(&self, script: &str, mut command: Command) -> Command {
        use std::os::unix::fs::PermissionsExt as _;
        let count = self.fleet.path("count");
        fs::write(&count, "0").unwrap();
        let text = format!(
            "#!/bin/sh\nread n < '{0}'; n=$((n+1)); echo $n > '{0}'\n{script}\nexec '{1}' \"$@\"\n",
            count.display(),
            git().display()
        );
        self.fleet.write("bin/git", text);
        fs::set_permissions(self.fleet.path("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut path = OsString::from(self.fleet.path("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        command.env("PATH", path);
        command
    }

    /// A run of which one call is spoilt, as strace takes it, with a file `spoilt` if it was a git that was killed by that.
    /// `together` ends every process of it with the one that is killed.
    pub fn spoilt(&self, strace: &Strace, (whose, call, what): (Whose, &str, &str), together: bool) -> Command {
        let options = spoiling(call, what);
        let spoilt = self.fleet.path("spoilt");
        let _ = fs::remove_file(&spoilt);
        let command = match whose {
            Whose::Pouch => strace.around(Watched::Alone, &options, &self.publish()),
            Whose::Git(n) => {
                let words = strace.words(self.of_git(), &options);
                let after = if together { "kill -9 -1; " } else { "" };
                let script = format!(
                    "if [ $n = {n} ]; then {words} '{}' \"$@\"; s=$?; if [ $s -gt 128 ]; then : > '{}'; {after}fi; exit $s; fi",
                    git().display(),
                    spoilt.display()
                );
                let command = self.counted(&script, self.publish());
                // The first process of a name space takes no signal from within.
                if together {
                    before(&["sh", "-c", "\"$@\"; exit $?", "sh"].map(str::as_ref), &command)
                } else {
                    command
                }
            }
        };
        if together { before(&TOGETHER.map(str::as_ref), &command) } else { command }
    }

    /// Whether the repository is sound, and holds the old state or one commit on top of it. Says whether it is the latter.
    pub fn is_new(&self) -> bool {
        let origin = self.origin();
        origin.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let tip = origin.tip().expect("the branch is there");
        if tip == self.old {
            return false;
        }
        assert_eq!(origin.git(&["rev-parse", "main^"]), self.old, "the commit is made of the old state");
        // Every file of every region belongs to one manifest: no region is of both states.
        self.run(&["verify"]).ends(0);
        true
    }

    /// Removes what a server leaves that is killed: the other side of a repository on this machine ends with everything
    /// else. Says whether a lock was among it, which nobody but its owner may remove, and a run says so.
    pub fn is_unlocked_by_owner(&self) -> bool {
        let is_locked = self.left().iter().any(|path| path.starts_with("repo.git/") && path.ends_with(".lock"));
        if is_locked {
            Ran::from(self.publish().output().unwrap()).ends(1).says(".lock");
        }
        self.shell("find repo.git -name '*.lock' -delete");
        is_locked
    }

    /// The next run needs no help; after it the new state stands, once, and nothing is left behind. `most` is how many
    /// commits there may be.
    pub fn goes_on(&self, most: usize) {
        let before = self.origin().tip();
        Ran::from(self.publish().output().unwrap()).ends(0);
        self.is_quiet();
        let origin = self.origin();
        assert!((2..=most).contains(&origin.commits()), "{} commits", origin.commits());
        if origin.tip() != before {
            origin.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
            self.run(&["verify"]).ends(0);
        }
        assert_eq!(self.left(), BTreeSet::new());
    }

    /// And after that nothing is left to do.
    pub fn is_done(&self) {
        Ran::from(self.publish().output().unwrap()).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
    }

    /// Waits until no process of an earlier run is left: a git whose pouch was killed goes on.
    pub fn is_quiet(&self) {
        let began = Instant::now();
        while let Some(busy) = self.busy() {
            assert!(began.elapsed() < Duration::from_secs(60), "still running: {busy}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn busy(&self) -> Option<String> {
        let place = self.fleet.path("").display().to_string();
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).replace('\0', " ");
        fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).find_map(|process| {
            let line = text(&process.join("cmdline"));
            let is_ours = line.contains(&place) || text(&process.join("environ")).contains(&place);
            (is_ours && !line.contains("sshd_config")).then_some(line)
        })
    }

    /// Traces of killed runs: in the folder of temporary files, beside what a run writes, in the cache, in the repository.
    pub fn left(&self) -> BTreeSet<String> {
        let named = |folder: &str| {
            self.fleet.tree(folder).into_keys().map(|path| format!("{folder}/{path}")).collect::<Vec<_>>()
        };
        let is_trace = |path: &String| {
            let name = path.rsplit('/').next().unwrap();
            match path.split('/').next().unwrap() {
                "tmp" => true,
                "out" => !["pouch.prom", "summary.json"].contains(&name),
                "home" => name.starts_with('.') && name != ".cache" || name.starts_with("again-"),
                // What git's receive-pack quarantines stays where it dies of a signal (seen with 2.39), until gc. One
                // that writes to a client that was killed dies of SIGPIPE, whenever that happens to be.
                _ if path.contains("/tmp_objdir-incoming-") => false,
                _ => name.ends_with(".lock") || name.starts_with("tmp_") || name.contains("incoming"),
            }
        };
        ["tmp", "out", "home", "repo.git"].iter().flat_map(|folder| named(folder)).filter(is_trace).collect()
    }
}

/// What ends all processes of a run with its first, as the end of a container does.
const TOGETHER: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Whether processes can be ended together here.
pub fn can_end_together() -> bool {
    let tried = Command::new(TOGETHER[0]).args(&TOGETHER[1..]).arg("true").output();
    let can = tried.is_ok_and(|output| output.status.success());
    if !can {
        support::skipped_anywhere("no right to a name space of processes");
    }
    can
}

fn git() -> PathBuf {
    support::find("git", &std::env::var_os("PATH").unwrap_or_default()).expect("git is in PATH")
}
