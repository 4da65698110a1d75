//! Follows a document as a reader would: its commands in order, in one folder, with one shell's state.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::block::{Block, blocks, fits};
use super::{find, root, skipped, skipped_anywhere};

/// Programs that a document may use and that not every machine has.
const TOOLS: [&str; 4] = ["git", "sops", "age", "kustomize"];

/// Commands of cargo that a reader types and that are not run again from inside the tests.
const CARGO: [&str; 2] = ["cargo test", "cargo install --locked --path src/pouch"];

/// The mark of blocks that need a cluster.
const LIVE: &str = "live";

/// A reader's shell.
pub struct Session {
    folder: tempfile::TempDir,
    now: PathBuf,
    /// What its reader has set.
    environment: Vec<(&'static str, OsString)>,
    umask: &'static str,
}

/// One command of a block and what is shown below it.
struct Step {
    command: String,
    code: i32,
    optional: bool,
    shown: String,
}

/// Does everything that a document says, and compares what comes out with what it shows.
///
/// # Panics
/// Where the two differ.
pub fn follow(document: &str, text: &str) {
    let blocks = blocks(text);
    if !blocks.iter().any(|block| block.language == "console" && block.rest != LIVE) {
        return;
    }
    let mut session = Session::new();
    for block in &blocks {
        let at = format!("{document}:{}", block.line);
        if let Some(path) = block.rest.strip_prefix("file=") {
            session.write(path, block.text);
        }
        if block.language != "console" || block.rest == LIVE {
            continue;
        }
        for step in steps(block) {
            match lacking(&step.command) {
                Some(tool) if step.optional => {
                    skipped_anywhere(&format!("{at}: no program {tool} for `{}`", step.command))
                }
                Some(tool) => return skipped(&format!("{at} and all after it: no program {tool}")),
                None => session.take(&step, &at),
            }
        }
    }
    // What stands at the top of a page can come from what its reader does further down.
    for block in &blocks {
        let made = match (block.rest.strip_prefix("tree="), block.rest.strip_prefix("from=")) {
            (Some(path), _) => tree(&session.folder.path().join(path)),
            (_, Some(command)) => session.run(command).0,
            _ => continue,
        };
        assert!(fits(block.text, &made), "{document}:{}: what was made is\n{made}", block.line);
    }
}

/// Does what the blocks of a document say that are marked `live`: those below the heading `from`, or all. After each command `after` gets to know it.
///
/// # Panics
/// Where what comes out differs from what the document shows, and where no block is marked.
pub fn follow_live(session: &mut Session, (document, text): (&str, &str), from: &str, after: &mut dyn FnMut(&str)) {
    let (first, last) = section(text, from).unwrap_or_else(|| panic!("{document} has no line {from}"));
    let mut seen = 0;
    for block in blocks(text).iter().filter(|block| (first..last).contains(&block.line)) {
        let Some(rest) = block.rest.strip_prefix(LIVE) else { continue };
        let at = format!("{document}:{}", block.line);
        if let Some(path) = rest.strip_prefix(" file=") {
            session.write(path, block.text);
            continue;
        }
        for step in steps(block) {
            session.take(&step, &at);
            after(&step.command);
            seen += 1;
        }
    }
    assert!(seen > 0, "{document} {from}: no block is marked {LIVE}");
}

/// The lines of a section, from one: from its heading to the next of its rank or a higher one.
fn section(text: &str, heading: &str) -> Option<(usize, usize)> {
    if heading.is_empty() {
        return Some((1, usize::MAX));
    }
    let rank = |line: &str| line.find(|c| c != '#').filter(|at| *at > 0 && line[*at..].starts_with(' '));
    let (mut first, mut is_code) = (None, false);
    for (index, line) in text.lines().enumerate() {
        is_code ^= line.starts_with("```");
        match first {
            None if line == heading => first = Some(index + 1),
            Some(first) if !is_code && rank(line).is_some_and(|found| Some(found) <= rank(heading)) => {
                return Some((first, index + 1));
            }
            _ => {}
        }
    }
    first.map(|first| (first, usize::MAX))
}

fn steps(block: &Block<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = block.text.lines();
    while let Some(line) = lines.next() {
        let Some(typed) = line.strip_prefix("$ ") else {
            let step = steps.last_mut().unwrap_or_else(|| panic!("line {}: output before a command", block.line));
            step.shown.push_str(line);
            step.shown.push('\n');
            continue;
        };
        let mut command = typed.to_owned();
        while command.ends_with('\\') {
            let more = lines.next().expect("a command goes on after its backslash");
            let _ = write!(command, "\n{more}");
        }
        let note = command.rsplit_once("  # ").map(|(_, note)| note).unwrap_or_default();
        let code = note.strip_prefix("exit ").map_or(0, |code| code.parse().expect("`# exit N`"));
        let optional = note == "optional";
        steps.push(Step { command, code, optional, shown: String::new() });
    }
    steps
}

/// A program that a command needs and this machine lacks.
pub fn lacking(command: &str) -> Option<&'static str> {
    let mut at_head = true;
    for word in command.split_whitespace() {
        let head = at_head;
        at_head = matches!(word, "|" | "&&" | "||" | ";") || (head && word.contains('='));
        if head && let Some(tool) = TOOLS.into_iter().find(|tool| *tool == word) {
            return find(tool, &path()).is_none().then_some(tool);
        }
    }
    None
}

/// The folder of pouch, those of the pinned tools, and the caller's.
fn path() -> OsString {
    let pouch = Path::new(env!("CARGO_BIN_EXE_pouch")).parent().unwrap().to_owned();
    let given = ["POUCH_TOOLS_BIN", "PATH"].map(|name| std::env::var_os(name).unwrap_or_default());
    let folders = given.iter().flat_map(std::env::split_paths);
    std::env::join_paths([pouch].into_iter().chain(folders)).unwrap()
}

impl Session {
    /// A shell in a folder that holds what a clone holds of `testdata`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&root().join("testdata/quickstart"), &folder.path().join("testdata/quickstart"));
        let now = folder.path().to_owned();
        Self { folder, now, environment: Vec::new(), umask: "022" }
    }

    /// A shell in an empty folder, whose reader has set variables and a umask.
    pub fn with(umask: &'static str, environment: Vec<(&'static str, OsString)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = folder.path().to_owned();
        Self { folder, now, environment, umask }
    }

    /// The folder that it began in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The home of its reader.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join(".home")
    }

    /// Runs a command, which must end and print as is shown.
    fn take(&mut self, step: &Step, at: &str) {
        let (output, code) = self.run(&step.command);
        assert_eq!(code, step.code, "{at}: exit code of `{}`, which printed\n{output}", step.command);
        let silent = step.shown.is_empty();
        assert!(silent || fits(&step.shown, &output), "{at}: `{}` printed\n{output}", step.command);
    }

    /// Writes a file, as a reader saves it.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.now.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    /// A file's text.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.now.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Runs a command; gives what it prints, to stdout and stderr as they come, and its exit code.
    ///
    /// # Panics
    /// Where there is no shell, or the command is one of cargo that this does not know.
    pub fn run(&mut self, command: &str) -> (String, i32) {
        let script = match command.strip_prefix("cargo run -- ") {
            Some(arguments) => format!("pouch {arguments}"),
            None if command.starts_with("cargo ") => {
                assert!(CARGO.contains(&command), "`{command}` is not one of {CARGO:?}");
                return (String::new(), 0);
            }
            None => command.to_owned(),
        };
        let state = self.folder.path().join(".now");
        let script =
            format!("exec 2>&1\numask {}\n{script}\ncode=$?\npwd > '{}'\nexit $code", self.umask, state.display());
        let home = self.home();
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&self.now)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", path())
            .env("HOME", home)
            .envs([("LC_ALL", "C"), ("GIT_CONFIG_NOSYSTEM", "1"), ("SOPS_DISABLE_VERSION_CHECK", "1")])
            .envs([("GIT_AUTHOR_NAME", "Reader"), ("GIT_AUTHOR_EMAIL", "reader@example.com")])
            .envs([("GIT_COMMITTER_NAME", "Reader"), ("GIT_COMMITTER_EMAIL", "reader@example.com")])
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .output()
            .expect("there is a shell");
        if let Ok(now) = fs::read_to_string(&state) {
            self.now = PathBuf::from(now.trim_end());
        }
        (String::from_utf8(output.stdout).expect("text comes out"), output.status.code().unwrap_or(-1))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        // A quickstart that somebody rendered in place is not what a clone holds.
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == "bundles" => {}
            true => copy(&entry.path(), &target),
            false => fs::write(&target, fs::read(entry.path()).unwrap()).unwrap(),
        }
    }
}

/// A folder as people draw it: sorted, two spaces a level, folders with a slash.
fn tree(folder: &Path) -> String {
    fn draw(folder: &Path, indent: usize, out: &mut String) {
        let list = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut entries: Vec<_> = list.map(Result::unwrap).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (name, is_folder) = (entry.file_name(), entry.file_type().unwrap().is_dir());
            let slash = if is_folder { "/" } else { "" };
            let _ = writeln!(out, "{:indent$}{}{slash}", "", name.to_str().unwrap());
            if is_folder {
                draw(&entry.path(), indent + 2, out);
            }
        }
    }
    let mut out = String::new();
    draw(folder, 0, &mut out);
    out
}
