//! Children: how a program that pouch starts is watched, bounded and ended.
//!
//! The caller decides what a child sees; here it gets no terminal, a process group of its own, a bounded time
//! and bounded output. What a child's words mean is not known here.

use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// The most bytes of standard error that are kept.
const MOST_WORDS: u64 = 16 << 10;

/// How often a waiting run checks whether it should stop.
const GLANCE: Duration = Duration::from_millis(100);

/// How long a child that should end may take before it is killed. Together with a glance, that is less than the
/// 1.5 s after which a stopped run is ended itself, and then nobody removes what the child was to write to.
const ASKED: Duration = Duration::from_secs(1);

/// How long to wait for the end of a killed child, and for the last output of any child.
const GRACE: Duration = Duration::from_secs(2);

/// What a child is allowed.
pub struct Bounds<'a> {
    /// How long it may take.
    pub timeout: Duration,
    /// Ends the child early when it becomes true.
    pub stop: &'a AtomicBool,
    /// The most bytes of standard output that are kept.
    pub output: u64,
}

/// The result of a child that ended by itself.
pub struct ChildResult {
    /// Whether it ended well.
    pub well: bool,
    /// Its standard output.
    pub out: Vec<u8>,
    /// The beginning of its standard error.
    pub words: Vec<u8>,
}

/// Why a child did not end by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildError {
    /// There is no such program.
    Missing,
    /// It could not be started.
    Start(ErrorKind),
    /// It took too long, and was ended.
    TimedOut {
        /// The bound.
        seconds: u64,
    },
    /// The user asked to stop, and it was ended.
    Stopped,
}

/// Runs a program to its end, without standard input.
///
/// # Errors
/// Where it cannot be started, takes too long, or the user asks to stop.
pub fn run(mut command: Command, bounds: &Bounds<'_>) -> Result<ChildResult, ChildError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that what it starts ends with it: ssh, credential helpers.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => ChildError::Missing,
        kind => ChildError::Start(kind),
    })?;
    let out = child.stdout.take().map(|pipe| collect(pipe, bounds.output));
    let words = child.stderr.take().map(|pipe| collect(pipe, MOST_WORDS));
    let well = wait(child, bounds)?;
    // ssh's control master inherits both pipes and stays: the end of the pipes is awaited for the grace only,
    // and the output is what came until the child itself ended.
    let out = out.map(Collected::taken).unwrap_or_default();
    let words = words.map(Collected::taken).unwrap_or_default();
    Ok(ChildResult { well, out, words })
}

/// Waits for the end, and says whether it ended well.
fn wait(mut child: Child, bounds: &Bounds<'_>) -> Result<bool, ChildError> {
    let group = Pid::from_child(&child);
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait().is_ok_and(|status| status.success())));
    let glances = bounds.timeout.as_millis().div_ceil(GLANCE.as_millis());
    for _ in 0..glances {
        match ended.recv_timeout(GLANCE) {
            Ok(well) => return Ok(well),
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Err(RecvTimeoutError::Timeout) if bounds.stop.load(Ordering::Relaxed) => {
                end(group, &ended);
                return Err(ChildError::Stopped);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    end(group, &ended);
    Err(ChildError::TimedOut { seconds: bounds.timeout.as_secs() })
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
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Collected {
    fn taken(self) -> Vec<u8> {
        let _ = self.end.recv_timeout(GRACE);
        self.bytes.lock().map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default()
    }
}

/// Reads a pipe on a thread: keeps the first `most` bytes, and drains the rest so that the writer
/// never waits.
fn collect(mut pipe: impl Read + Send + 'static, most: u64) -> Collected {
    let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
    let (sender, end) = channel();
    let kept = bytes.clone();
    std::thread::spawn(move || {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut buffer = vec![0_u8; 32 << 10];
        loop {
            let read = match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            if let Ok(mut kept) = kept.lock() {
                let room = most.saturating_sub(kept.len()).min(read);
                kept.extend(buffer.get(..room).unwrap_or_default());
            }
        }
        sender.send(())
    });
    Collected { bytes, end }
}
