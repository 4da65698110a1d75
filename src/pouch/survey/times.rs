//! Times: the number of objects that were read of each source, and the time that took.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pouch_core::name::GroupKind;

use super::source::live::Live;
use crate::ambient::Timer;
use crate::session::Session;

/// The number of objects of each kind that were read from a source, and the time that took.
#[derive(Default)]
pub(super) struct Times(Mutex<BTreeMap<(usize, GroupKind), (usize, Duration)>>);

impl Times {
    pub(super) fn add(&self, index: usize, kind: &GroupKind, count: usize, timer: Timer) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, time) = all.entry((index, kind.clone())).or_default();
        *known += count;
        *time = time.saturating_add(timer.elapsed());
    }

    pub(super) fn tell(&self, session: &Session, clusters: &BTreeMap<usize, Live>) {
        for ((index, kind), (count, time)) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            if let Some(live) = clusters.get(index) {
                session.ui.read(live.name().as_str(), live.context(), &kind.to_string(), *count, *time);
            }
        }
        for live in clusters.values() {
            session.ui.detail(&format!("cluster {}: {} requests", live.context(), live.requests()));
        }
    }
}
