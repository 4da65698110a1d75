//! Stopping: what SIGINT and SIGTERM do to a run.
//!
//! Before anything is published a run ends within two seconds, whatever it waits for. From the moment
//! it begins to publish it finishes, because half a push is worse than a late one. A second signal
//! ends it at once. What is being stopped is not known here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{Failure, code_of_signal};

/// How long a run may take to notice that it should end, before it is ended: 1.5 s of the 2 s.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How often a pause looks whether it should end.
const GLANCE: Duration = Duration::from_millis(50);

const WORKING: u8 = 0;
const PUBLISHING: u8 = 1;
const ENDED: u8 = 2;

/// Whether somebody asked the run to stop, and whether it may.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    signal: Arc<AtomicU8>,
    phase: Arc<AtomicU8>,
}

/// The run was asked to stop, and did, before anything was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped; nothing was changed")]
pub struct Stopped;

impl From<Stopped> for Failure {
    fn from(error: Stopped) -> Self {
        // The signal's number becomes the exit code where the command ends.
        Failure::failed(error.to_string(), "")
    }
}

impl Stop {
    /// A stop that no signal asks for.
    pub fn never() -> Self {
        Self::default()
    }

    /// Listens to SIGINT and SIGTERM from now on.
    ///
    /// Where the system gives no thread or handler for that, the run goes on, and signals end the process as
    /// they always do.
    pub fn on_signals() -> Self {
        let stop = Self::default();
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) {
            let heard = stop.clone();
            let listen = move || {
                for signal in signals.forever() {
                    heard.hear(signal);
                }
            };
            let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(listen);
        }
        stop
    }

    fn hear(&self, signal: i32) {
        let signal = u8::try_from(signal).unwrap_or_default();
        self.signal.store(signal, Ordering::SeqCst);
        if self.asked.swap(true, Ordering::SeqCst) {
            end(signal);
        }
        let patient = self.clone();
        let watch = move || {
            std::thread::sleep(PATIENCE);
            // A read from a pipe that nobody writes to looks at no flag.
            if patient.leave(ENDED).is_ok() {
                end(signal);
            }
        };
        let _ = std::thread::Builder::new().name("patience".to_owned()).spawn(watch);
    }

    fn leave(&self, to: u8) -> Result<(), Stopped> {
        self.phase.compare_exchange(WORKING, to, Ordering::SeqCst, Ordering::SeqCst).map(|_| ()).map_err(|_| Stopped)
    }

    /// Whether somebody asked the run to stop.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// The flag itself, for code that polls it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.asked.clone()
    }

    /// The exit code of a run that was asked to stop.
    pub fn exit_code(&self) -> Option<u8> {
        self.is_asked().then(|| code_of_signal(self.signal.load(Ordering::SeqCst)))
    }

    /// Fails if somebody asked: to be called between two pieces of work.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.is_asked() { Err(Stopped) } else { Ok(()) }
    }

    /// Says that publishing begins, or goes on with the next piece; from here on the run finishes it, whatever is asked.
    ///
    /// # Errors
    /// Where somebody asked the run to stop before.
    pub fn begin_publishing(&self) -> Result<(), Stopped> {
        self.check()?;
        if self.is_publishing() { Ok(()) } else { self.leave(PUBLISHING) }
    }

    /// Says that nothing was published after all, and the run goes on.
    pub fn resume(&self) {
        let _ = self.phase.compare_exchange(PUBLISHING, WORKING, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether publishing has begun.
    pub fn is_publishing(&self) -> bool {
        self.phase.load(Ordering::SeqCst) == PUBLISHING
    }

    /// Waits, unless the run should end.
    pub fn pause(&self, length: Duration) -> Result<(), Stopped> {
        let glances = length.as_millis().div_ceil(GLANCE.as_millis());
        for _ in 0..glances {
            self.check()?;
            std::thread::sleep(GLANCE);
        }
        self.check()
    }
}

/// Ends the process without unwinding: whatever is left to be said or tidied, the next run does.
fn end(signal: u8) {
    signal_hook::low_level::exit(i32::from(code_of_signal(signal)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_begins_only_where_nobody_asked() {
        let stop = Stop::never();
        assert_eq!((stop.check(), stop.exit_code()), (Ok(()), None));
        assert_eq!(stop.begin_publishing(), Ok(()));
        assert!(stop.is_publishing());
        stop.asked.store(true, Ordering::SeqCst);
        stop.signal.store(15, Ordering::SeqCst);
        assert_eq!(stop.leave(ENDED), Err(Stopped), "a run that publishes is not ended");
        stop.resume();
        assert_eq!((stop.check(), stop.begin_publishing()), (Err(Stopped), Err(Stopped)));
        assert_eq!(stop.exit_code(), Some(143));
        assert_eq!(stop.pause(Duration::from_secs(60)), Err(Stopped));
    }
}
