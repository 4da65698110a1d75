//! Time: how long a run reads one source, on whatever occasion.
//!
//! It passes while any thread is at work on the source, whether one or many are. Reading again what was put aside takes of
//! the same time; a run that starts over because something changed begins with a new one, except of a source that was late.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pouch_core::config::{Fleet, Seconds, Source};

use crate::ambient::Timer;

/// The setting.
pub const SETTING: &str = "limits.sources.time";

/// The time that a run has for one source.
#[derive(Debug, Default)]
pub struct Time {
    /// None for a source that all depend on.
    most: Option<Seconds>,
    passed: Mutex<Passed>,
    /// True once the run should end.
    stop: Arc<AtomicBool>,
}

/// The time that passed so far.
#[derive(Debug, Default)]
struct Passed {
    /// Before the present work began.
    before: Duration,
    /// The number of pieces of work that are under way, within each other or side by side.
    at_work: usize,
    /// When the first of them began.
    since: Option<Timer>,
}

impl Passed {
    fn all(&self) -> Duration {
        self.before.saturating_add(self.since.map(|since| since.elapsed()).unwrap_or_default())
    }

    fn is_over(&self, most: Seconds) -> bool {
        self.all() > Duration::from_secs(most.0)
    }
}

impl Time {
    /// The time for each source, in the order of the configuration.
    pub fn of_all(fleet: &Fleet, stop: &Arc<AtomicBool>) -> Vec<Arc<Self>> {
        let of = |source: &Source| {
            let most = source.time(&fleet.limits.sources);
            Arc::new(Self { most, passed: Mutex::default(), stop: Arc::clone(stop) })
        };
        fleet.sources.iter().map(of).collect()
    }

    /// Begins anew for a source that was in time so far.
    pub fn start_over(&self) {
        if !self.is_over() {
            *self.passed() = Passed::default();
        }
    }

    /// Does a piece of work of which the source decides how long it takes; none once its time is over, or the run should end.
    pub fn spend<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        // Who has all the time there is needs no clock.
        let Some(most) = self.most else { return Some(work()) };
        let at_work = AtWork::begin(self, most)?;
        let done = work();
        drop(at_work);
        Some(done)
    }

    /// The time that is left; none for a source that all depend on.
    pub fn left(&self) -> Option<Duration> {
        self.most.map(|most| Duration::from_secs(most.0).saturating_sub(self.passed().all()))
    }

    /// Returns true if more passed than there was.
    pub fn is_over(&self) -> bool {
        self.most.is_some_and(|most| self.passed().is_over(most))
    }

    fn passed(&self) -> MutexGuard<'_, Passed> {
        // Nothing under the lock can panic.
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the time is over, as a clause.
    pub fn over(&self) -> String {
        let most = self.most.map(|most| format!(" ({most})")).unwrap_or_default();
        format!("reading it takes longer than {SETTING} allows{most}")
    }

    /// The advice for a source that is late.
    pub const HELP: &str = "Let it hold less, or name a part of it with `path` and `files`; or raise `limits.sources.time` for all sources.";
}

/// A piece of work that is under way.
struct AtWork<'t>(&'t Time);

impl<'t> AtWork<'t> {
    /// Begins it, unless more passed than there is.
    fn begin(time: &'t Time, most: Seconds) -> Option<Self> {
        let mut passed = time.passed();
        if passed.is_over(most) {
            return None;
        }
        passed.at_work = passed.at_work.saturating_add(1);
        passed.since.get_or_insert_with(Timer::start);
        Some(Self(time))
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut passed = self.0.passed();
        passed.at_work = passed.at_work.saturating_sub(1);
        if passed.at_work == 0 {
            passed.before = passed.all();
            passed.since = None;
        }
    }
}

#[cfg(test)]
impl Time {
    /// The time of a source that has so many seconds.
    pub fn of_seconds(most: u64) -> Arc<Self> {
        let most = Some(Seconds::parse(&format!("{most}s")).unwrap());
        Arc::new(Self { most, ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_spend_is_counted_together() {
        let time = Time::of_seconds(0);
        assert_eq!((time.spend(|| 1), time.is_over()), (Some(1), true));
        assert_eq!(
            (time.spend(|| 2), time.over()),
            (None, format!("reading it takes longer than {SETTING} allows (0s)"))
        );
        // The controls: with more time, and of a source that all depend on.
        for time in [&*Time::of_seconds(60), &Time::default()] {
            assert_eq!((time.spend(|| 1), time.spend(|| 2), time.is_over()), (Some(1), Some(2), false));
        }
    }

    /// Threads beside each other, and work within work, take the time that passes and no more.
    #[test]
    fn what_is_done_at_once_counts_once() {
        let time = Time::of_seconds(600);
        let nap = || std::thread::sleep(Duration::from_millis(40));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| time.spend(|| time.spend(nap)));
            }
        });
        let passed = time.passed().all();
        assert!(passed >= Duration::from_millis(40) && passed < Duration::from_millis(8 * 40), "{passed:?}");
        nap();
        assert_eq!(time.passed().all(), passed, "between pieces of work none passes");
        time.start_over();
        assert_eq!(time.passed().all(), Duration::ZERO);
        let late = Time::of_seconds(0);
        late.spend(nap);
        late.start_over();
        assert!(late.is_over(), "what was late stays late");
    }

    #[test]
    fn a_run_that_should_end_begins_no_more_work() {
        let time = Time::default();
        assert_eq!(time.spend(|| 1), Some(1));
        time.stop.store(true, Ordering::Relaxed);
        assert_eq!((time.spend(|| 2), time.is_over()), (None, false));
    }
}
