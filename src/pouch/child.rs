//! Children: how a program that pouch starts is watched, bounded and ended.
//!
//! The caller decides what a child sees; here it gets no terminal, a process group of its own, a bounded time
//! and bounded output. A child that says something, be it only how far it is, is at work: besides the whole time
//! its silence is bounded. What a child's words mean is not known here.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

use crate::error::said;

/// The most bytes of standard error that are kept: the first half and the last.
const MOST_WORDS: usize = 16 << 10;

/// How often a waiting run checks whether it should stop.
const GLANCE: Duration = Duration::from_millis(100);

/// How long a child that should end may take before it is killed. Together with a glance, that is less than the
/// 1.5 s after which a stopped run is ended itself, and then nobody removes what the child was to write to.
const ASKED: Duration = Duration::from_secs(1);

/// How long to wait for the end of a killed child, and for the last output of any child.
const GRACE: Duration = Duration::from_secs(2);

/// For how many of them more output of a child that has ended is waited for, as on a machine that is busy.
const GRACES: usize = 3;

/// What a child is allowed.
pub struct Bounds<'a> {
    /// How long it may take in all.
    pub timeout: Duration,
    /// How long it may say nothing.
    pub silence: Duration,
    /// Ends the child early when it becomes true.
    pub stop: &'a AtomicBool,
    /// The most bytes of standard output; a child that prints more is ended.
    pub output: u64,
    /// Its part of this machine.
    pub room: Room,
}

/// The part of this machine that a child may take, and each of its own children: beyond that the system refuses it, or ends it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Room {
    /// The most bytes of memory; none if it is not bounded.
    pub memory: Option<u64>,
    /// The largest file that it may write, in bytes.
    pub file: Option<u64>,
}

impl Room {
    /// Bounds a child that was just started; one that is gone already needs no bound.
    ///
    /// <https://www.man7.org/linux/man-pages/man2/prlimit.2.html>
    fn holds(self, child: Pid) {
        for (resource, most) in [(Resource::Data, self.memory), (Resource::Fsize, self.file)] {
            if most.is_some() {
                _ = prlimit(Some(child), resource, Rlimit { current: most, maximum: most });
            }
        }
    }
}

/// The result of a child that ended by itself.
pub struct ChildResult {
    /// Whether it ended well.
    pub well: bool,
    /// Its standard output.
    pub out: Vec<u8>,
    /// The beginning and the end of its standard error, as a terminal shows them: without counts that others were written over.
    pub words: Vec<u8>,
}

/// Why a child did not end by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChildError {
    /// There is no such program.
    Missing,
    /// It could not be started.
    Start(String),
    /// It took too long, and was ended.
    TimedOut {
        /// The bound.
        seconds: u64,
    },
    /// It said nothing for too long, and was ended.
    Silent {
        /// The bound.
        seconds: u64,
    },
    /// The user asked to stop, and it was ended.
    Stopped,
    /// What it said cannot be read, or is too much: half of an answer is none.
    Unheard(String),
}

/// The folders of a `PATH` that do not depend on the current folder, in which anybody's program may lie; none if there are
/// none, as an empty `PATH` means the current folder too.
pub fn absolute(path: &OsStr) -> Option<OsString> {
    let folders: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    std::env::join_paths(folders).ok().filter(|path| !path.is_empty())
}

/// Where a program lies in a `PATH`. One that is started by its path needs no copy of this process to look for it, and
/// that copy takes longer the more memory there is.
pub fn found_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    let can_be_run = |file: &PathBuf| file.metadata().is_ok_and(|it| it.is_file() && it.mode() & 0o111 != 0);
    std::env::split_paths(path).map(|folder| folder.join(program)).find(can_be_run)
}

/// Runs a program to its end, without standard input.
///
/// # Errors
/// Where it cannot be started or heard, takes too long, or the user asks to stop.
pub fn run(mut command: Command, bounds: &Bounds<'_>) -> Result<ChildResult, ChildError> {
    command.stdin(Stdio::null());
    started(command, &[], bounds)
}

/// The same with this text as its standard input: a line or two, which a pipe takes at once.
///
/// # Errors
/// As [`run`].
pub fn run_told(mut command: Command, text: &[u8], bounds: &Bounds<'_>) -> Result<ChildResult, ChildError> {
    command.stdin(Stdio::piped());
    started(command, text, bounds)
}

fn started(mut command: Command, text: &[u8], bounds: &Bounds<'_>) -> Result<ChildResult, ChildError> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that what it starts ends with it: ssh, credential helpers.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => ChildError::Missing,
        _ => ChildError::Start(said(&error)),
    })?;
    let group = Pid::from_child(&child);
    bounds.room.holds(group);
    // Whoever does not read what it is told answers without.
    _ = child.stdin.take().map(|mut pipe| pipe.write_all(text));
    let heard = Arc::<AtomicU64>::default();
    let most = usize::try_from(bounds.output).unwrap_or(usize::MAX);
    let collected = |pipe| collect(pipe, Kept::First { most, bytes: Vec::new(), more: false }, &heard);
    let out = child.stdout.take().map(collected).transpose();
    let words = child.stderr.take().map(|pipe| collect(pipe, Kept::Words(Words::default()), &heard)).transpose();
    let (out, words) = match (out, words) {
        (Ok(out), Ok(words)) => (out, words),
        (Err(error), _) | (_, Err(error)) => {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = child.wait();
            return Err(error);
        }
    };
    let kept = out.as_ref().map(|out| out.kept.clone());
    let floods = || kept.as_ref().is_some_and(is_beyond);
    let well = wait(child, bounds, &heard, &floods)?;
    // ssh's control master inherits both pipes and stays: the end of the pipes is awaited for the grace only,
    // and the output is what came until the child itself ended.
    let taken = |from: Option<Collected>| from.map(|from| from.taken(&heard)).transpose();
    let (out, words) = (taken(out), taken(words));
    // What a child printed last is read after its end.
    if floods() {
        return Err(flood(bounds));
    }
    let unheard = |why: String| match well {
        true => Vec::new(),
        false => format!("what it said cannot be read: {why}").into_bytes(),
    };
    let words = words.map(Option::unwrap_or_default).unwrap_or_else(unheard);
    Ok(ChildResult { well, out: out.map_err(ChildError::Unheard)?.unwrap_or_default(), words })
}

/// Waits for the end, and says whether it ended well.
fn wait(
    mut child: Child,
    bounds: &Bounds<'_>,
    heard: &AtomicU64,
    floods: &dyn Fn() -> bool,
) -> Result<bool, ChildError> {
    let group = Pid::from_child(&child);
    let (sender, ended) = channel();
    let waits = thread(move || sender.send(child.wait().is_ok_and(|status| status.success())));
    if let Err(error) = waits {
        let _ = kill_process_group(group, Signal::KILL);
        return Err(error);
    }
    let glances = |time: Duration| time.as_millis().div_ceil(GLANCE.as_millis());
    let (mut silent, mut heard_before) = (0_u128, 0);
    for _ in 0..glances(bounds.timeout) {
        match ended.recv_timeout(GLANCE) {
            Ok(well) => return Ok(well),
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Err(RecvTimeoutError::Timeout) if bounds.stop.load(Ordering::Relaxed) => {
                end(group, &ended);
                return Err(ChildError::Stopped);
            }
            Err(RecvTimeoutError::Timeout) if floods() => {
                end(group, &ended);
                return Err(flood(bounds));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = heard.load(Ordering::Relaxed);
        silent = if now == heard_before { silent.saturating_add(1) } else { 0 };
        heard_before = now;
        if silent >= glances(bounds.silence) {
            end(group, &ended);
            return Err(ChildError::Silent { seconds: bounds.silence.as_secs() });
        }
    }
    end(group, &ended);
    Err(ChildError::TimedOut { seconds: bounds.timeout.as_secs() })
}

fn flood(bounds: &Bounds<'_>) -> ChildError {
    ChildError::Unheard(format!("it is more than {} KiB", bounds.output >> 10))
}

/// Ends a process group: asks, waits, and then kills. A process that is gone already is no error.
fn end(group: Pid, ended: &Receiver<bool>) {
    let _ = kill_process_group(group, Signal::TERM);
    if ended.recv_timeout(ASKED).is_err() {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = ended.recv_timeout(GRACE);
    }
}

/// What a pipe has given so far.
struct Collected {
    kept: Arc<Mutex<Kept>>,
    /// Why it was not read to its end, if it was not.
    end: Receiver<Option<String>>,
}

impl Collected {
    /// What came until the end, or until nothing more came for the grace; for a few of them at most, as somebody else may
    /// have inherited the pipe and go on.
    ///
    /// # Errors
    /// Where something of it cannot be read.
    fn taken(self, heard: &AtomicU64) -> Result<Vec<u8>, String> {
        for _ in 0..GRACES {
            let before = heard.load(Ordering::Relaxed);
            match self.end.recv_timeout(GRACE) {
                Ok(Some(why)) => return Err(why),
                Err(RecvTimeoutError::Timeout) if heard.load(Ordering::Relaxed) != before => {}
                _ => break,
            }
        }
        Ok(self.kept.lock().map(|mut kept| kept.take()).unwrap_or_default())
    }
}

/// Whether more came than is kept.
fn is_beyond(kept: &Arc<Mutex<Kept>>) -> bool {
    kept.lock().is_ok_and(|kept| matches!(*kept, Kept::First { more: true, .. }))
}

/// Which part of what comes is kept.
enum Kept {
    First { most: usize, bytes: Vec<u8>, more: bool },
    Words(Words),
}

impl Kept {
    fn add(&mut self, new: &[u8]) {
        match self {
            Self::First { most, bytes, more } => {
                let room = most.saturating_sub(bytes.len()).min(new.len());
                *more |= room < new.len();
                bytes.extend_from_slice(new.get(..room).unwrap_or_default());
            }
            Self::Words(words) => new.iter().for_each(|byte| words.add(*byte)),
        }
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::First { bytes, .. } => std::mem::take(bytes),
            Self::Words(words) => std::mem::take(words).text(),
        }
    }
}

/// Lines as a terminal shows them in the end: of counts of progress, each written over the one before, the last.
#[derive(Default)]
struct Words {
    first: Vec<u8>,
    last: VecDeque<u8>,
    line: Vec<u8>,
    column: usize,
}

impl Words {
    fn add(&mut self, byte: u8) {
        match byte {
            b'\r' => self.column = 0,
            b'\n' => {
                self.line.push(byte);
                self.keep();
            }
            _ => {
                let room = self.line.len() < MOST_WORDS / 2;
                match self.line.get_mut(self.column) {
                    Some(under) => *under = byte,
                    None if room => self.line.push(byte),
                    None => {}
                }
                self.column += 1;
            }
        }
    }

    fn keep(&mut self) {
        self.column = 0;
        let line = std::mem::take(&mut self.line);
        if self.last.is_empty() && self.first.len() + line.len() <= MOST_WORDS / 2 {
            self.first.extend(line);
            return;
        }
        self.last.extend(line);
        let beyond = self.last.len().saturating_sub(MOST_WORDS / 2);
        self.last.drain(..beyond);
    }

    fn text(mut self) -> Vec<u8> {
        self.keep();
        self.first.into_iter().chain(self.last).collect()
    }
}

/// Reads a pipe on a thread, counts what comes, and drains what is not kept so that the writer never waits.
fn collect(mut pipe: impl Read + Send + 'static, kept: Kept, heard: &Arc<AtomicU64>) -> Result<Collected, ChildError> {
    let (kept, heard) = (Arc::new(Mutex::new(kept)), heard.clone());
    let (sender, end) = channel();
    let into = kept.clone();
    thread(move || {
        let mut buffer = vec![0_u8; 32 << 10];
        let failed = loop {
            let read = match pipe.read(&mut buffer) {
                Ok(0) => break None,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => break Some(said(&error)),
            };
            heard.fetch_add(1, Ordering::Relaxed);
            if let Ok(mut kept) = into.lock() {
                kept.add(buffer.get(..read).unwrap_or_default());
            }
        };
        sender.send(failed)
    })?;
    Ok(Collected { kept, end })
}

/// Starts a thread. The standard library's own function panics where the system gives none.
fn thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<(), ChildError> {
    let started = std::thread::Builder::new().spawn(work);
    started.map(drop).map_err(|error| ChildError::Start(said(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a test needs some program")]
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn ran(script: &str, timeout: u64, silence: u64) -> Result<ChildResult, ChildError> {
        let bounds = Bounds {
            timeout: Duration::from_millis(timeout),
            silence: Duration::from_millis(silence),
            stop: &AtomicBool::new(false),
            output: 1 << 10,
            room: Room::default(),
        };
        run(sh(script), &bounds)
    }

    #[test]
    fn a_child_and_its_own_children_take_no_more_room_than_they_may() {
        let folder = tempfile::tempdir().unwrap();
        let ran = |script: &str, room: Room| {
            let minute = Duration::from_secs(60);
            let bounds =
                Bounds { timeout: minute, silence: minute, stop: &AtomicBool::new(false), output: 1 << 10, room };
            let mut command = sh(script);
            command.current_dir(folder.path());
            run(command, &bounds).unwrap().well
        };
        // The shell starts another program for each; it is given the time in which its bounds are set.
        let written = "sleep 0.2; dd if=/dev/zero of=file bs=1024 count=64 2>&1";
        let taken = "sleep 0.2; dd if=/dev/zero of=/dev/null bs=67108864 count=1 2>&1";
        let file = |most: u64| Room { file: Some(most), ..Room::default() };
        let memory = |most: u64| Room { memory: Some(most), ..Room::default() };
        assert!(ran(written, Room::default()) && ran(written, file(64 << 10)) && ran(written, memory(16 << 20)));
        assert!(!ran(written, file(63 << 10)));
        assert!(ran(taken, Room::default()) && ran(taken, memory(128 << 20)) && ran(taken, file(1)));
        assert!(!ran(taken, memory(32 << 20)));
    }

    #[test]
    fn who_says_something_may_go_on_and_who_is_silent_is_ended() {
        let steady = "for n in 1 2 3 4 5 6 7 8; do printf \"$n\\r\" >&2; sleep 0.25; done; echo done";
        assert_eq!(ran(steady, 60_000, 1000).unwrap().out, b"done\n");
        // The control: the same time without a word.
        assert_eq!(ran("sleep 2; echo done", 60_000, 1000).err(), Some(ChildError::Silent { seconds: 1 }));
        assert_eq!(ran(steady, 1000, 1000).err(), Some(ChildError::TimedOut { seconds: 1 }));
    }

    #[test]
    fn who_prints_too_much_is_ended_at_once() {
        let much = Err(ChildError::Unheard(String::from("it is more than 1 KiB")));
        for flood in ["yes", "yes | head -c 2000"] {
            assert_eq!(ran(flood, 600_000, 600_000).map(|ended| ended.out), much, "{flood}");
        }
        assert_eq!(ran("yes | head -c 1024", 60_000, 60_000).unwrap().out.len(), 1024);
    }

    /// A pipe that breaks after some bytes.
    struct Breaks(usize);

    impl Read for Breaks {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => {
                    into[..4].copy_from_slice(b"half");
                    Ok(4)
                }
                _ => Err(std::io::Error::from_raw_os_error(5)),
            }
        }
    }

    #[test]
    fn half_an_answer_is_none() {
        let heard = Arc::default();
        let kept = || Kept::First { most: 10, bytes: Vec::new(), more: false };
        let taken = |pipe: Box<dyn Read + Send>| collect(pipe, kept(), &heard).unwrap().taken(&heard);
        assert_eq!(taken(Box::new(Breaks(0))), Err("input/output error".to_owned()));
        assert_eq!(taken(Box::new(&b"whole"[..])), Ok(b"whole".to_vec()));
    }

    #[test]
    fn words_are_what_a_terminal_would_show() {
        let words = |text: &str| {
            let mut words = Words::default();
            text.bytes().for_each(|byte| words.add(byte));
            String::from_utf8(words.text()).unwrap()
        };
        assert_eq!(words("a\n1%\r2%\rdone\nb\r\nc"), "a\ndone\nb\nc");
        // Git puts its own word before each piece of what a server says.
        assert_eq!(words("remote: no  \rremote: \nfatal: x\n"), "remote: no  \nfatal: x\n");
        let long = format!("first\n{}last", "x\n".repeat(MOST_WORDS));
        let kept = words(&long);
        assert!(kept.starts_with("first\n") && kept.ends_with("last") && kept.len() <= MOST_WORDS, "{}", kept.len());
    }
}
