//! A writer in a loop: keeps changing objects on an API server, and knows every state that existed.
//!
//! It writes one thing after the other, so state *n* of the cluster is what the first *n* entries of its log
//! left behind; a reader that saw anything else saw a mix. What is written is the caller's business.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http::{Connection, Endpoint, Request, Response};

/// One change of one object.
#[derive(Clone, Debug)]
pub enum Write {
    /// Makes a new object in a collection (`/api/v1/namespaces/x/secrets`).
    Create(String, Value),
    /// Replaces an object (`…/secrets/y`) as a whole, whatever its version is.
    Replace(String, Value),
    /// Makes or changes an object by server-side apply.
    Apply(String, Value),
    /// Deletes an object.
    Delete(String),
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Written {
    /// What the closure was called with: 0, 1, 2, …
    pub sequence: u64,
    /// The method and path.
    pub what: String,
    /// When it was sent. The change took place between this and `ended`.
    pub began: Instant,
    /// When the answer had come.
    pub ended: Instant,
    /// The answer's status code.
    pub status: u16,
    /// The object's version after it, if it is still there.
    pub version: Option<String>,
}

/// The thread that writes. It ends when this is dropped.
pub struct Writer {
    stop: Arc<AtomicBool>,
    log: Arc<Mutex<Vec<Written>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts to write what `step` gives for 0, 1, 2, …, in order, and rests for `pause` after each step.
    pub fn start(to: Endpoint, pause: Duration, mut step: impl FnMut(u64) -> Vec<Write> + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (stopped, entries) = (Arc::clone(&stop), Arc::clone(&log));
        let thread = thread::spawn(move || {
            let mut connection = to.connect().expect("the API server answers");
            for sequence in 0.. {
                for write in step(sequence) {
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    let written = write.send(&mut connection, sequence);
                    entries.lock().unwrap_or_else(PoisonError::into_inner).push(written);
                }
                rest(pause, &stopped);
            }
        });
        Self { stop, log, thread: Some(thread) }
    }

    /// What was written so far, in order.
    pub fn log(&self) -> Vec<Written> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until at least `count` changes were made.
    ///
    /// # Panics
    /// If that takes more than 30 seconds or the writer has failed.
    #[track_caller]
    pub fn wait_for(&self, count: usize) {
        let began = Instant::now();
        while self.log.lock().unwrap_or_else(PoisonError::into_inner).len() < count {
            let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
            assert!(!ended && began.elapsed() < Duration::from_secs(30), "the writer does not get to {count} changes");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends it and gives its log.
    ///
    /// # Panics
    /// If it failed, or if a change was refused: then its states are not what the caller believes.
    #[track_caller]
    pub fn stop(mut self) -> Vec<Written> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok(), "the writer panicked");
        }
        let log = self.log();
        let mut refused = String::new();
        for written in log.iter().filter(|written| !(200..300).contains(&written.status)) {
            let _ = writeln!(refused, "{}: {} at {}", written.sequence, written.status, written.what);
        }
        assert!(refused.is_empty(), "the API server refused changes:\n{refused}");
        log
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panic of the writer has been printed by its own thread.
        self.thread.take().map(JoinHandle::join);
    }
}

/// Makes many changes in no particular order, over eight connections at once.
///
/// # Panics
/// If one is refused.
#[track_caller]
pub fn write_all(to: &Endpoint, writes: &[Write]) {
    thread::scope(|scope| {
        for part in writes.chunks(writes.len().div_ceil(8).max(1)) {
            scope.spawn(move || {
                let mut connection = to.connect().expect("the API server answers");
                for write in part {
                    let written = write.send(&mut connection, 0);
                    assert!((200..300).contains(&written.status), "{}: {}", written.what, written.status);
                }
            });
        }
    });
}

/// Sleeps, but not past the end.
fn rest(pause: Duration, stopped: &AtomicBool) {
    let until = Instant::now() + pause;
    while !stopped.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(20)));
    }
}

impl Write {
    fn send(&self, connection: &mut Connection, sequence: u64) -> Written {
        const JSON: &str = "application/json";
        let request = match self {
            Self::Create(path, object) => Request::with_json("POST", path, JSON, object),
            Self::Replace(path, object) => {
                // Custom resources want to be told which version is replaced. Nobody else writes here.
                let old = answer(connection, &Request::get(path)).value();
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
                Request::with_json("PUT", path, JSON, &object)
            }
            Self::Apply(path, object) => {
                let target = format!("{path}?fieldManager=writer&force=true");
                Request::with_json("PATCH", &target, "application/apply-patch+yaml", object)
            }
            Self::Delete(path) => Request { method: String::from("DELETE"), ..Request::get(path) },
        };
        let began = Instant::now();
        let response = answer(connection, &request);
        let version = response.value()["metadata"]["resourceVersion"].as_str().map(String::from);
        let what = format!("{} {}", request.method, request.path());
        Written { sequence, what, began, ended: Instant::now(), status: response.status, version }
    }
}

fn answer(connection: &mut Connection, request: &Request) -> Response {
    connection.send(request).expect("the API server answers the writer")
}
