//! Turns: runs on one machine that publish to one branch go one after the other.
//!
//! The lease of a push alone would keep them apart, but each that loses reads its sources again. So a run locks a
//! file of its own cache folder that stands for the branch. The system unlocks it when the run ends, however it ends;
//! the file stays. Without a cache, and between machines, there is only the lease.

use std::fs::File;
use std::time::Duration;

use pouch_core::hash::sha256_hex;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

use super::ShelfError;
use crate::cache::{Cache, cache};
use crate::error::{Failure, said};
use crate::session::Session;

/// How long to wait between two looks, at first and at most.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// A run's turn, until this is dropped; empty where there is no cache to lock in.
#[derive(Debug)]
pub struct Turn(Option<File>);

/// Waits for the turn to publish to a branch of a repository, `called` so in messages.
///
/// # Errors
/// Where another run holds it for longer than `most`, or the user asks to stop.
pub fn turn(session: &Session, (remote, branch): (&str, &str), called: &str, most: Duration) -> Result<Turn, Failure> {
    let file = match cache(&session.ambient).and_then(|cache| cache.folder("locks")) {
        Ok(locks) => opened(&locks, remote, branch),
        Err(why) => Err(why.to_string()),
    };
    let file = match file {
        Ok(file) => file,
        Err(why) => {
            session.ui.detail(&format!("runs on this machine are not kept apart: {why}"));
            return Ok(Turn(None));
        }
    };
    let (mut waited, mut pause) = (Duration::ZERO, SHORTEST);
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if waited >= most {
            return Err(ShelfError::Busy(called.to_owned()).into());
        }
        if waited.is_zero() {
            session.ui.note(&format!("another pouch on this machine is writing to {called}; waiting for it to end"));
        }
        let now = pause.min(most.saturating_sub(waited));
        session.stop.pause(now)?;
        // A pause of nothing would never come to an end.
        waited = waited.saturating_add(now.max(Duration::from_millis(1)));
        pause = pause.saturating_mul(2).min(LONGEST);
    }
    Ok(Turn(Some(file)))
}

impl Turn {
    /// Whether anything keeps others waiting.
    pub fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

/// The file that stands for a branch; its name says nothing of the repository.
fn opened(locks: &Cache, remote: &str, branch: &str) -> Result<File, String> {
    let name = sha256_hex(format!("{remote}\n{branch}").as_bytes());
    let path = locks.path().join(name);
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = open(&path, flags, Mode::RUSR | Mode::WUSR);
    file.map(File::from).map_err(|error| format!("{}: {}", path.display(), said(&error.into())))
}
