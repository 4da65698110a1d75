//! System calls of a program, listed and spoilt by the real strace: so a test hits every one of them, where time hits
//! what takes long.
//!
//! strace counts each kind of call by itself, in each process and thread, and spoils the first that gets so far. A call
//! is spoilt before it does anything.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{skipped, tool_on_path};

/// Calls that change something that outlives them: files, locks, processes, what others were sent.
const CHANGES: [&str; 36] = [
    "chmod",
    "clone",
    "clone3",
    "connect",
    "copy_file_range",
    "execve",
    "exit_group",
    "fchmod",
    "fchmodat",
    "fdatasync",
    "flock",
    "fork",
    "fsync",
    "ftruncate",
    "kill",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "pwrite64",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "sendmsg",
    "sendto",
    "setpgid",
    "symlink",
    "syncfs",
    "unlink",
    "unlinkat",
    "utimensat",
    "vfork",
    "wait4",
    "write",
    "writev",
];

/// Calls that only look.
const LOOKS: [&str; 22] = [
    "access",
    "close",
    "dup",
    "dup2",
    "epoll_create1",
    "eventfd2",
    "fcntl",
    "fstat",
    "getcwd",
    "getdents64",
    "getrandom",
    "lseek",
    "newfstatat",
    "pipe2",
    "poll",
    "pread64",
    "read",
    "readlink",
    "recvfrom",
    "socket",
    "socketpair",
    "statx",
];

/// The real strace.
pub struct Strace(PathBuf);

/// A system call of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Which, such as `openat`.
    pub name: String,
    /// How many of its kind its process or thread had made, itself included.
    pub nth: usize,
    /// Its arguments, as far as strace shows them.
    pub arguments: String,
}

impl Call {
    /// Whether it changes something that outlives it.
    pub fn changes(&self) -> bool {
        match &*self.name {
            "openat" => ["O_CREAT", "O_TRUNC"].iter().any(|flag| self.arguments.contains(flag)),
            name => CHANGES.contains(&name),
        }
    }
}

/// Who is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The program with its threads, and no program that it starts.
    Alone,
    /// All that it starts too.
    All,
}

impl Watched {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &["-f", "-b", "execve"],
            Self::All => &["-f"],
        }
    }
}

impl Strace {
    /// Finds it, or says that it is absent or may not trace here.
    pub fn find() -> Option<Self> {
        let strace = tool_on_path("strace")?;
        let tried = Command::new(&strace).args(["-qqq", "-o", "/dev/null", "true"]).output().unwrap();
        if !tried.status.success() {
            skipped(&format!("strace may not trace here: {}", String::from_utf8_lossy(&tried.stderr)));
            return None;
        }
        Some(Self(strace))
    }

    /// The words of a shell that run a program watched.
    pub fn words(&self, watched: Watched, options: &[String]) -> String {
        let quoted = |word: &dyn AsRef<OsStr>| format!("'{}'", word.as_ref().to_string_lossy());
        let mut words = vec![quoted(&self.0), quoted(&"-qqq")];
        words.extend(watched.flags().iter().map(|flag| quoted(flag)));
        words.extend(options.iter().map(|option| quoted(option)));
        words.join(" ")
    }

    /// A command, watched.
    pub fn around(&self, watched: Watched, options: &[String], command: &Command) -> Command {
        let mut words = vec![self.0.as_os_str(), "-qqq".as_ref()];
        words.extend(watched.flags().iter().map(OsStr::new));
        words.extend(options.iter().map(OsStr::new));
        before(&words, command)
    }
}

/// A command with others before it, in the same folder and environment, which must have been cleared.
pub fn before(words: &[&OsStr], command: &Command) -> Command {
    let mut new = Command::new(words[0]);
    new.args(&words[1..]).arg(command.get_program()).args(command.get_args()).env_clear().stdin(Stdio::null());
    new.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    new.current_dir(command.get_current_dir().expect("a folder is given"));
    new
}

/// Options that list calls in a file, which is named last.
pub fn listing(file: &Path) -> Vec<String> {
    vec!["-s".to_owned(), "200".to_owned(), "-o".to_owned(), file.display().to_string()]
}

/// Calls by which a file comes to be, gets another name, or is opened.
const FILES: &str = "trace=creat,link,linkat,memfd_create,mkdir,mkdirat,mknod,mknodat,open,openat,openat2,rename,renameat,\
                     renameat2,symlink,symlinkat,truncate";

/// Options that list in a file, which is named last, the calls by which others come to be or are opened.
pub fn listing_files(file: &Path) -> Vec<String> {
    [&["-e".to_owned(), FILES.to_owned()][..], &listing(file)].concat()
}

/// The calls of such a list by which something may get into a file.
pub fn writing(list: &Path) -> Vec<String> {
    let text = String::from_utf8_lossy(&fs::read(list).unwrap()).into_owned();
    let reads = |line: &&str| {
        line.contains(" open") && !["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| line.contains(flag))
    };
    // Of a thread that ends while its next call is looked at, nobody knows which that is; it was not made.
    let is_call = |line: &&str| {
        line.contains('(') && !line.split_whitespace().nth(1).is_some_and(|call| call.starts_with("???("))
    };
    let lines: Vec<&str> = text.lines().filter(is_call).collect();
    assert!(lines.len() > 10, "only {} files are opened", lines.len());
    lines.into_iter().filter(|line| !reads(line) && !line.contains("\"/dev/null\"")).map(str::to_owned).collect()
}

/// Options that spoil one kind of call: `what` as strace takes it, such as `signal=KILL`.
pub fn spoiling(call: &str, what: &str) -> Vec<String> {
    ["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &format!("inject={call}:{what}")]
        .map(str::to_owned)
        .into()
}

/// The calls that a list names, in order, each kind and number once; without those by which the system loads a program.
pub fn calls(list: &Path) -> Vec<Call> {
    let text = String::from_utf8_lossy(&fs::read(list).unwrap()).into_owned();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let (mut loading, mut known, mut found) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for line in text.lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = rest.trim_start().split_once('(') else { continue };
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        let count = counts.entry((process.to_owned(), name.to_owned())).or_default();
        *count += 1;
        if name == "execve" {
            loading.insert(process.to_owned());
        }
        // The C library's last question before it hands over.
        if name == "prlimit64" && arguments.contains("RLIMIT_STACK") {
            loading.remove(process);
        }
        let is_of_interest = CHANGES.contains(&name) || LOOKS.contains(&name) || name == "openat";
        if !is_of_interest || loading.contains(process) || !known.insert((name.to_owned(), *count)) {
            continue;
        }
        found.push(Call { name: name.to_owned(), nth: *count, arguments: arguments.to_owned() });
    }
    found
}

/// At most so many of a list, spread over it; another `seed` gives others.
pub fn spread<T: Clone>(all: &[T], most: usize, seed: usize) -> Vec<T> {
    if all.len() <= most {
        return all.to_vec();
    }
    let at = |n: usize| (n * 8 + seed % 8) * all.len() / (most * 8);
    (0..most).map(|n| all[at(n)].clone()).collect()
}
