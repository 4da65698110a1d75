//! The `git` program: started with a cleaned environment, without prompts and hooks, within a time.
//!
//! Everything that is run goes through [`Git::ask`]. What git says stands in messages as `words` lets it.
//! A run that makes progress may take long: git is told to say how far it is, and its silence is what ends it early.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pouch_core::secret::holds_key;
use tracing::info_span;

use super::address::{Address, address};
use super::objects;
use super::words::{self, Words};
use crate::ambient::Timer;
use crate::child::{self, Bounds, ChildError, ChildResult, Room};
use crate::error::said;
use crate::scratch::{NoScratch, Scratch};

/// How long one run may take, and how long it may say nothing, unless somebody says otherwise.
const DEFAULT: Deadlines = Deadlines { silence: Duration::from_secs(120), whole: Duration::from_secs(3600) };

/// The most bytes of standard output that are kept.
const MOST_OUTPUT: u64 = 64 << 20;

/// The settings of every run, before the subcommand.
///
/// Hooks would see the environment, `ext` transports and file-system monitors are programs, and
/// background maintenance would outlive the run. What is fetched is read by libgit2, which knows
/// neither reftables nor SHA-256, so a repository made here has neither, whatever the user prefers.
const SETTINGS: [&str; 24] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    // Trees and blobs are judged where they are used. Who can write anywhere in a repository would else stop everybody who
    // publishes there, by a commit with a date that git does not write, or by a `.gitmodules` that is never followed.
    "fetch.fsckObjects=false",
    "-c",
    "transfer.fsckObjects=false",
    "-c",
    "init.defaultRefFormat=files",
    "-c",
    "init.defaultObjectFormat=sha1",
    // What is sealed resembles nothing, and `bundle.yaml` is never found beside the one before it: git orders files by
    // the ends of their paths. Deltas that are there already are sent as they are.
    "-c",
    "pack.window=0",
    // What is fetched stays one pack, however little it is.
    "-c",
    "transfer.unpackLimit=1",
    // A large file passes through memory in pieces.
    "-c",
    "core.bigFileThreshold=16m",
];

/// How `git` is run.
#[derive(Clone)]
pub struct Git {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    deadlines: Deadlines,
    /// The time that all runs took so far that share one deadline.
    spent: Option<Arc<Mutex<Duration>>>,
    room: Room,
    stop: Arc<AtomicBool>,
    settings: Vec<OsString>,
    secrets: Vec<String>,
}

/// How long a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadlines {
    /// How long git may say nothing.
    pub silence: Duration,
    /// How long it may take in all.
    pub whole: Duration,
}

impl Deadlines {
    /// From seconds.
    pub fn of(silence: u64, whole: u64) -> Self {
        Self { silence: Duration::from_secs(silence), whole: Duration::from_secs(whole) }
    }
}

/// What git answered.
pub struct Answer {
    /// Whether it ended well.
    pub well: bool,
    /// Its standard output.
    pub out: Vec<u8>,
    /// What it said besides.
    pub words: String,
}

/// A thing that a machine has too little of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanting {
    /// Space for files.
    Space,
    /// Memory.
    Memory,
}

/// Why a run of `git` failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GitError {
    /// There is no such program.
    #[error("the program git is not installed, or not in PATH")]
    Missing,
    /// It could not be started.
    #[error("git cannot be started: {0}")]
    Start(String),
    /// There is no place for temporary files.
    #[error("{0}")]
    NoScratch(String),
    /// It ended with an error.
    #[error("git {command} failed: {words}")]
    Failed {
        /// The subcommand.
        command: String,
        /// The end of what it said, safe to print.
        words: String,
    },
    /// Something else than a git server answers.
    #[error("the server answers, but does not speak git's smart protocol")]
    NotGit,
    /// The repository has ids of another kind than all that is read and written here.
    #[error("the repository has SHA-256 object ids, which pouch neither reads nor writes")]
    Sha256,
    /// A folder or a file was fetched, or a tag of one: it has the name that was asked for.
    #[error("{0} does not lead to a commit")]
    NoCommit(String),
    /// It took too long, and was ended.
    #[error("git {command} took longer than {seconds} s and was ended")]
    TimedOut {
        /// The subcommand.
        command: String,
        /// The bound.
        seconds: u64,
    },
    /// It said nothing for too long, and was ended.
    #[error("git {command} said nothing for {seconds} s and was ended")]
    Silent {
        /// The subcommand.
        command: String,
        /// The bound.
        seconds: u64,
    },
    /// It ended, and its answer cannot be read.
    #[error("what git {command} answers cannot be read: {why}")]
    Unheard {
        /// The subcommand.
        command: String,
        /// What the system says.
        why: String,
    },
    /// The user asked to stop, and it was ended.
    #[error("git {command} was ended")]
    Stopped {
        /// The subcommand.
        command: String,
    },
}

impl GitError {
    /// Returns what git wanted more of than this machine has, or than it was given.
    pub fn wanting(&self) -> Option<Wanting> {
        const SPACE: [&str; 4] = [
            "No space left on device",
            "Disk quota exceeded",
            "File too large",
            // SIGXFSZ: <https://www.man7.org/linux/man-pages/man2/getrlimit.2.html>
            "died of signal 25",
        ];
        const MEMORY: [&str; 4] = [
            "out of memory",
            "Out of memory",
            "Cannot allocate memory",
            "unable to create thread: Resource temporarily",
        ];
        let words = match self {
            GitError::Failed { words, .. } => words,
            GitError::NoScratch(_) => return Some(Wanting::Space),
            _ => return None,
        };
        // What a server says of its own comes after `remote:`.
        let said = |known: &[&str]| {
            let mut own = words.split("; ").filter(|line| !line.starts_with("remote:"));
            own.any(|line| known.iter().any(|known| line.contains(known)))
        };
        match () {
            () if said(&SPACE) => Some(Wanting::Space),
            () if said(&MEMORY) => Some(Wanting::Memory),
            () => None,
        }
    }

    /// Whether what was to be fetched is not there.
    pub fn is_for_want_of_a_reference(&self) -> bool {
        const WORDS: [&str; 4] =
            ["couldn't find remote ref", "not a valid SHA1", "not our ref", "needed a single revision"];
        matches!(self, GitError::Failed { words, .. } if WORDS.iter().any(|known| words.contains(known)))
    }

    /// What to do about it; `repository` is the URL or path that git was given.
    pub fn help(&self, repository: &str) -> String {
        if let GitError::Failed { words, .. } = self
            && words.contains("dubious ownership")
        {
            // The words may be those of a server's git, so nobody should paste a command from them.
            return local(repository).map_or_else(
                || "Git on the server does not trust the owner of the repository there; see safe.directory.".to_owned(),
                |path| objects::trust(&path.display().to_string()),
            );
        }
        let help = match self {
            GitError::Missing => "Install git; pouch runs it for everything that needs the network.",
            GitError::Start(_) => "Check that git can be run by this user.",
            GitError::NoScratch(_) => NoScratch::HELP,
            GitError::Failed { words, .. } if words.contains("Host key verification failed") => {
                "Add the server's host key to known_hosts; pouch never accepts an unknown one."
            }
            // As GnuTLS and as OpenSSL have it.
            GitError::Failed { words, .. }
                if ["certificate verification failed", "SSL certificate problem"]
                    .iter()
                    .any(|it| words.contains(it)) =>
            {
                "Name the file of the authority that signed the server's certificate, if that is yours: `http.sslCAInfo` of \
                 git, or GIT_SSL_CAINFO. Pouch trusts no other."
            }
            GitError::Failed { words, .. } if words.contains("could not read Username") => {
                "Configure a credential helper for git; pouch never asks."
            }
            GitError::Failed { .. } => "Check that the same git command works in a shell, without prompts.",
            GitError::NotGit => {
                "Check the URL and the proxy: a login page or a plain web server may answer in the git server's place."
            }
            GitError::NoCommit(_) => objects::NO_COMMIT,
            GitError::Sha256 => "Use a repository that was made with `--object-format=sha1`, as they are by default.",
            GitError::TimedOut { .. } => {
                "If the server is that slow, raise `limits.git.total`; for a source that is not trusted with everything, \
                 `limits.git.tenant.total` or the source's own `git.limits.total`."
            }
            GitError::Silent { .. } => {
                "Check whether the server answers. If it needs that long without a word, raise `limits.git.idle`; for a \
                 source that is not trusted with everything, `limits.git.tenant.idle` or the source's own `git.limits.idle`."
            }
            GitError::Unheard { .. } | GitError::Stopped { .. } => "Start pouch again.",
        };
        help.to_owned()
    }
}

/// The folder on this machine that git enters for a repository, and by whose path it decides whether to trust
/// it; none if the repository is elsewhere.
///
/// The path stays as it is written, because not every git resolves links and `..`.
/// <https://git-scm.com/docs/git-upload-pack#Documentation/git-upload-pack.txt-ltdirectorygt>
fn local(repository: &str) -> Option<PathBuf> {
    let path = match repository.strip_prefix("file://") {
        Some(path) => PathBuf::from(path),
        None => match address(repository) {
            Ok(Address::Local(path)) => PathBuf::from(path),
            _ => return None,
        },
    };
    let mut with_ending = path.clone().into_os_string();
    with_ending.push(".git");
    let there = |path: &PathBuf| path.join("HEAD").is_file();
    [path.join(".git"), path, with_ending.into()].into_iter().find(there)
}

/// Prepares runs of `git` with the part of `environment` that children may see.
pub fn git(environment: &[(OsString, OsString)]) -> Git {
    // What is set below, and what would win over it.
    let is_set = |name: &OsStr| ["GIT_TERMINAL_PROMPT", "LC_ALL", "LANGUAGE"].iter().any(|set| name == *set);
    let seen = environment.iter().filter(|(name, value)| !is_set(name) && is_for_children(name, value));
    let mut kept: Vec<_> = seen.cloned().collect();
    let path = kept.iter().position(|(name, _)| name == "PATH").map(|at| kept.swap_remove(at).1);
    kept.extend(path.and_then(|path| child::absolute(&path)).map(|path| ("PATH".into(), path)));
    let has = |name: &str| environment.iter().any(|(known, _)| *known == *name);
    // ssh would still ask on the terminal. Unless the user has a program for asking, `false` answers.
    if !has("SSH_ASKPASS") {
        kept.push(("SSH_ASKPASS".into(), "false".into()));
        kept.push(("SSH_ASKPASS_REQUIRE".into(), "force".into()));
    }
    kept.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
    // Some messages are recognised, so they must come in one language.
    kept.push(("LC_ALL".into(), "C".into()));
    let secrets = words::secrets(&kept);
    let program = kept.iter().find(|(name, _)| name == "PATH").and_then(|(_, path)| child::found_in(path, "git"));
    let program = program.unwrap_or_else(|| PathBuf::from("git"));
    Git {
        program,
        environment: kept,
        deadlines: DEFAULT,
        spent: None,
        room: Room::default(),
        stop: Arc::default(),
        settings: Vec::new(),
        secrets,
    }
}

/// Returns true if a child may see the variable `name` with this value.
///
/// Programs that the user names himself see whatever no child must not: git and what his configuration of it runs,
/// docker's helpers, a command that prints identities. Others see of that what is listed: credential plugins. No child
/// may see pouch's own variables, those that hold keys for sops, whatever their name is, those that make
/// git or its credential manager write what they send, and those that would turn git to another repository than
/// it is told. `GIT_CONFIG_COUNT` and its like stay: CI systems hand credentials over that way, and what is set
/// here wins over them.
pub fn is_for_children(name: &OsStr, value: &OsStr) -> bool {
    const PREFIXES: [&str; 5] = ["POUCH_", "SOPS_", "GIT_TRACE", "GIT_PROTOCOL", "GCM_TRACE"];
    const NAMES: [&str; 23] = [
        "DOCKER_AUTH_CONFIG",
        "GIT_ALLOW_PROTOCOL",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CEILING_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CURL_VERBOSE",
        "GIT_DEFAULT_HASH",
        "GIT_DEFAULT_REF_FORMAT",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_TEMPLATE_DIR",
        "GIT_WORK_TREE",
    ];
    let name = name.to_string_lossy();
    !PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !NAMES.contains(&&*name)
        // `reuseKey` may name any variable.
        && !holds_key(value.as_encoded_bytes())
}

impl Git {
    /// Sets how long one run may take, and how long it may say nothing.
    pub fn within(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Sets how long all runs of this and what is cloned of it may take together, and how long each may say nothing.
    pub fn within_in_all(mut self, deadlines: Deadlines) -> Self {
        self.spent = Some(Arc::default());
        self.within(deadlines)
    }

    /// Sets what each run may take of this machine.
    pub fn with_room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// The time that the next run may take.
    fn left(&self) -> Duration {
        let spent = self.spent.as_ref().and_then(|spent| spent.lock().ok().map(|spent| *spent));
        self.deadlines.whole.saturating_sub(spent.unwrap_or_default())
    }

    fn spend(&self, time: Duration) {
        if let Some(mut spent) = self.spent.as_ref().and_then(|spent| spent.lock().ok()) {
            *spent = spent.saturating_add(time);
        }
    }

    /// Sets the flag that ends a run early when it becomes true.
    pub fn stopped_by(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Sets one thing for every run, `NAME=VALUE` as `git -c` takes it; wins over every configuration.
    pub fn with(mut self, setting: impl Into<OsString>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Sets one variable for every run.
    pub fn seeing(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Makes a bare repository.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn make(&self, at: &Path) -> Result<(), GitError> {
        // No template: its hooks would see the environment.
        self.run(None, "init", &["--bare", "--quiet", "--template="], &[at.as_os_str()]).map(|_| ())
    }

    /// Runs `git COMMAND OPTIONS -- OPERANDS`, in the repository at `folder` if one is given, and
    /// returns its standard output.
    ///
    /// Options are ours; operands may come from the configuration and are never taken for options.
    ///
    /// # Errors
    /// Where it cannot be started, fails, takes too long, or the user asks to stop.
    pub fn run(
        &self,
        folder: Option<&Path>,
        command: &str,
        options: &[&str],
        operands: &[&OsStr],
    ) -> Result<Vec<u8>, GitError> {
        let answer = self.ask(folder, command, options, operands)?;
        if answer.well {
            return Ok(answer.out);
        }
        let words = self.words(&answer);
        let says = |known: &[&str]| words.own().any(|line| known.iter().any(|known| line.contains(known)));
        Err(match () {
            () if says(&["mismatched algorithms", "hash algorithm"]) => GitError::Sha256,
            () if says(&["not valid: is this a git repository?", "dumb http transport"]) => GitError::NotGit,
            () => GitError::Failed { command: command.to_owned(), words: words.end() },
        })
    }

    /// The same for who wants to know how it failed.
    ///
    /// # Errors
    /// Where it cannot be started, takes too long, or the user asks to stop.
    pub fn ask(
        &self,
        folder: Option<&Path>,
        command: &str,
        options: &[&str],
        operands: &[&OsStr],
    ) -> Result<Answer, GitError> {
        let program = self.program(folder, command, options, operands);
        let Deadlines { silence, whole } = self.deadlines;
        // Of what git may take, what it says is a part.
        let output = self.room.memory.map_or(MOST_OUTPUT, |memory| MOST_OUTPUT.min(memory / 4));
        let bounds = Bounds { timeout: self.left(), silence, stop: &self.stop, output, room: self.room };
        let (name, timer) = (command.to_owned(), Timer::start());
        let ended = info_span!("git", command).in_scope(|| child::run(program, &bounds));
        self.spend(timer.elapsed());
        match ended {
            Ok(ChildResult { well, out, words }) => {
                Ok(Answer { well, out, words: String::from_utf8_lossy(&words).into_owned() })
            }
            Err(ChildError::Missing) => Err(GitError::Missing),
            Err(ChildError::Start(kind)) => Err(GitError::Start(kind)),
            Err(ChildError::TimedOut { .. }) => Err(GitError::TimedOut { command: name, seconds: whole.as_secs() }),
            Err(ChildError::Silent { seconds }) => Err(GitError::Silent { command: name, seconds }),
            Err(ChildError::Stopped) => Err(GitError::Stopped { command: name }),
            Err(ChildError::Unheard(why)) => Err(GitError::Unheard { command: name, why }),
        }
    }

    /// Makes sure that a server by which a repository is reached by http knows git: git itself takes any page for the
    /// list of references of a plain web server, and an empty one for an empty repository.
    ///
    /// # Errors
    /// Where it does not, or cannot be asked.
    pub fn expects_git(&self, remote: &str) -> Result<(), GitError> {
        if !remote.starts_with("http") {
            return Ok(());
        }
        let unwritten =
            |error: std::io::Error| GitError::NoScratch(format!("git's trace cannot be read: {}", said(&error)));
        let folder = Scratch::new().map_err(|error| GitError::NoScratch(error.to_string()))?;
        let trace = folder.path().join("packets");
        let mut git = self.clone();
        git.environment.push(("GIT_TRACE_PACKET".into(), trace.as_os_str().to_owned()));
        git.run(None, "ls-remote", &["--quiet"], &[remote.as_ref(), "HEAD".as_ref()])?;
        let packets = match std::fs::read(&trace) {
            // Older versions make no file where there are none.
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(unwritten)?,
        };
        // <https://git-scm.com/docs/http-protocol#_smart_server_response>
        let known = String::from_utf8_lossy(&packets).lines().any(|line| line.contains("< # service=git-upload-pack"));
        // What a protocol of version 2 says first, where the server leaves the service out.
        let known = known || String::from_utf8_lossy(&packets).contains("< version 2");
        if known { Ok(()) } else { Err(GitError::NotGit) }
    }

    /// What an answer says, fit for messages.
    pub fn words<'a>(&'a self, answer: &'a Answer) -> Words<'a> {
        words::words(&answer.words, &self.secrets)
    }

    fn program(&self, folder: Option<&Path>, name: &str, options: &[&str], operands: &[&OsStr]) -> Command {
        let this_machine = |operand: &&OsStr| operand.as_encoded_bytes().starts_with(b"http://");
        let protocols = if operands.iter().any(this_machine) { "file:http:https:ssh" } else { "file:https:ssh" };
        #[expect(clippy::disallowed_methods, reason = "this is the one place that starts git")]
        let mut command = Command::new(&self.program);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env("GIT_ALLOW_PROTOCOL", protocols);
        command.args(SETTINGS);
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        if let Some(folder) = folder {
            command.arg("--git-dir").arg(folder);
        }
        command.arg(name).args(options).arg("--").args(operands);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(extra: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        #[expect(clippy::disallowed_methods, reason = "a test has no other way to find git")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let extra = extra.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        std::iter::once((OsString::from("PATH"), path)).chain(extra).collect()
    }

    fn is_installed() -> bool {
        let there = !matches!(git(&environment(&[])).run(None, "version", &[], &[]), Err(GitError::Missing));
        if !there {
            eprintln!("SKIPPED: the program git is not installed");
            #[expect(clippy::disallowed_methods, reason = "CI must not skip")]
            let in_ci = std::env::var_os("CI").is_some();
            assert!(!in_ci, "git must be installed in CI");
        }
        there
    }

    #[test]
    fn children_see_neither_our_keys_nor_what_turns_git_elsewhere() {
        let is_for_children = |name: &str, value: &str| is_for_children(OsStr::new(name), OsStr::new(value));
        for hidden in [
            "POUCH_REUSE_KEY",
            "SOPS_AGE_KEY",
            "GIT_TRACE_CURL",
            "GIT_TRACE",
            "GIT_CURL_VERBOSE",
            "GCM_TRACE_SECRETS",
            "GIT_DIR",
            "GIT_ALLOW_PROTOCOL",
        ] {
            assert!(!is_for_children(hidden, "1"), "{hidden}");
        }
        for key in ["POUCH-REUSE-KEY-1QQQ", "# mine\nAGE-SECRET-KEY-1QQQ", "age-secret-key-1qqq"] {
            assert!(!is_for_children("FLEET_KEY", key), "{key}");
        }
        for seen in
            ["PATH", "HOME", "SSH_AUTH_SOCK", "https_proxy", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "GIT_ASKPASS"]
        {
            assert!(is_for_children(seen, "1"), "{seen}");
        }
    }

    #[test]
    fn no_folder_of_the_path_depends_on_the_current_one() {
        for (path, expect) in
            [("/a:/b", Some("/a:/b")), (".:/a::b:../c:/d", Some("/a:/d")), (":", None), ("", None), ("bin", None)]
        {
            assert_eq!(child::absolute(OsStr::new(path)), expect.map(OsString::from), "{path:?}");
        }
    }

    #[test]
    fn a_child_is_started_with_that_environment() {
        if !is_installed() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        // git runs an alias that starts with `!` in a shell, which shows what the child was given.
        let alias = format!("!env > {} #", seen.display());
        let extra = [
            ("POUCH_REUSE_KEY", "CANARY"),
            ("SOPS_AGE_KEY", "CANARY"),
            ("GIT_TRACE", "1"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "alias.pouch-env"),
            ("GIT_CONFIG_VALUE_0", &alias),
        ];
        git(&environment(&extra)).run(None, "pouch-env", &[], &[]).unwrap();
        let text = std::fs::read_to_string(&seen).unwrap();
        assert!(text.contains("GIT_TERMINAL_PROMPT=0") && text.contains("GIT_ALLOW_PROTOCOL=file:https:ssh\n"));
        assert!(text.contains("core.hookspath") || text.contains("core.hooksPath"), "{text}");
        assert!(!text.lines().any(|line| line.contains("CANARY") || line.starts_with("GIT_TRACE")));
    }

    #[test]
    fn a_run_that_takes_too_long_is_ended_with_its_children() {
        if !is_installed() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let late = folder.path().join("late");
        // The alias runs in a shell below git: it would outlive a signal to git alone.
        let alias = format!("!sleep 1; touch {} #", late.display());
        let extra = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "alias.slow"), ("GIT_CONFIG_VALUE_0", &alias)];
        let slow = git(&environment(&extra)).within(Deadlines { whole: Duration::from_millis(300), ..DEFAULT });
        assert_eq!(
            slow.run(None, "slow", &[], &[]),
            Err(GitError::TimedOut { command: "slow".to_owned(), seconds: 0 })
        );
        let stopped = git(&environment(&extra)).stopped_by(Arc::new(AtomicBool::new(true)));
        assert_eq!(stopped.run(None, "slow", &[], &[]), Err(GitError::Stopped { command: "slow".to_owned() }));
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!late.exists());
        git(&environment(&extra)).run(None, "slow", &[], &[]).unwrap();
        assert!(late.exists());
    }

    #[test]
    fn the_help_about_an_owner_can_be_pasted() {
        let folder = tempfile::tempdir().unwrap();
        let at = std::fs::canonicalize(folder.path()).unwrap();
        git2::Repository::init(at.join("tree")).unwrap();
        git2::Repository::init_bare(at.join("bare.git")).unwrap();
        let words = "fatal: detected dubious ownership in repository at '/x'; git config --global --add y".to_owned();
        let error = GitError::Failed { command: "fetch".to_owned(), words };
        let help = |repository: &str| error.help(repository);
        let (tree, bare) = (at.join("tree").display().to_string(), at.join("bare.git").display().to_string());
        for (repository, expect) in [
            (tree.clone(), format!("{tree}/.git")),
            (bare.clone(), bare.clone()),
            (format!("file://{tree}/../bare.git"), format!("{tree}/../bare.git")),
            (bare.strip_suffix(".git").unwrap().to_owned(), bare.clone()),
        ] {
            let help = help(&repository);
            assert!(help.ends_with(&format!("git config --global --add safe.directory {expect}")), "{help}");
        }
        for elsewhere in ["ssh://h/r.git", "h:r.git", "/nonexistent/r.git"] {
            assert!(!help(elsewhere).contains("--add"), "{elsewhere}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_said_so() {
        let nowhere = [(OsString::from("PATH"), OsString::from("/nonexistent"))];
        assert_eq!(git(&nowhere).run(None, "version", &[], &[]), Err(GitError::Missing));
    }
}
