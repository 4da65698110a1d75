//! Time: how long a run reads one source, on whatever occasion.
//!
//! Reading again what was put aside, and starting over because something changed, take of the same time. So a source of
//! which everything is slow costs its time once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// The nanoseconds that were spent by all threads.
    spent: AtomicU64,
    /// True once the run should end.
    stop: Arc<AtomicBool>,
}

impl Time {
    /// The time for each source, in the order of the configuration.
    pub fn of_all(fleet: &Fleet, stop: &Arc<AtomicBool>) -> Vec<Arc<Self>> {
        let of = |source: &Source| {
            let most = source.time(&fleet.limits.sources);
            Arc::new(Self { most, spent: AtomicU64::default(), stop: Arc::clone(stop) })
        };
        fleet.sources.iter().map(of).collect()
    }

    /// Does a piece of work of which the source decides how long it takes; none once its time is over, or the run should end.
    pub fn spend<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        if self.stop.load(Ordering::Relaxed) || self.is_over() {
            return None;
        }
        let timer = Timer::start();
        let done = work();
        let nanoseconds = u64::try_from(timer.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.spent.fetch_add(nanoseconds, Ordering::Relaxed);
        Some(done)
    }

    /// Returns true if more was spent than there was.
    pub fn is_over(&self) -> bool {
        let spent = Duration::from_nanos(self.spent.load(Ordering::Relaxed));
        self.most.is_some_and(|most| spent > Duration::from_secs(most.0))
    }

    /// Says that the time is over, as a clause.
    pub fn over(&self) -> String {
        let most = self.most.map(|most| format!(" ({most})")).unwrap_or_default();
        format!("reading it takes longer than {SETTING} allows{most}")
    }

    /// The advice for a source that is late.
    pub const HELP: &str = "Let it hold less, or name a part of it with `path` and `files`; or raise `limits.sources.time` for all sources.";
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

    #[test]
    fn a_run_that_should_end_begins_no_more_work() {
        let time = Time::default();
        assert_eq!(time.spend(|| 1), Some(1));
        time.stop.store(true, Ordering::Relaxed);
        assert_eq!((time.spend(|| 2), time.is_over()), (None, false));
    }
}
