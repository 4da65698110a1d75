//! Telemetry: which events of pouch and its libraries are shown; bodies never are.
//!
//! Libraries see what must not be seen: kube's convenience methods log whole response bodies when they cannot
//! decode one (<https://github.com/kube-rs/kube/issues/1137>). pouch does not call them; as a second lock, kube
//! is silenced here, and the layers below it show no more than warnings. `ui` decides where events go.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

use crate::ui::{LogFormat, trace};

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What was tried again, too.
    Warn,
    /// What was done, too.
    Info,
    /// Every request, too.
    Debug,
    /// Everything.
    Trace,
}

/// What is shown at a level: pouch's own events as asked, those of others up to warnings, kube's none.
pub fn filter(level: LogLevel) -> Targets {
    let ours = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let off = LevelFilter::OFF;
    let others = ours.min(LevelFilter::WARN);
    Targets::new().with_default(others).with_targets([("pouch", ours), ("pouch_core", ours)]).with_targets([
        ("kube", off),
        ("kube_client", off),
        ("kube_core", off),
    ])
}

/// Shows events on standard error from now on.
pub fn start(level: LogLevel, format: LogFormat) {
    let shown = Shown { format }.with_filter(filter(level));
    // A second call, in a test, changes nothing.
    let _ = tracing::subscriber::set_global_default(Registry::default().with(shown));
}

/// Hands events to the printer, one line each.
struct Shown {
    format: LogFormat,
}

impl<S: Subscriber> Layer<S> for Shown {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let mut line = Line::default();
        event.record(&mut line);
        trace(self.format, level, event.metadata().target(), line.0.trim());
    }
}

/// The fields of an event: the message, then `name=value`.
#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        use fmt::Write as _;
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_say_no_more_than_warnings_and_kube_nothing() {
        let all = filter(LogLevel::Trace);
        let shows = |target: &str, level: Level| all.would_enable(target, &level);
        assert!(shows("pouch::cluster::link", Level::TRACE) && shows("pouch_core", Level::DEBUG));
        for target in ["hyper::proto", "rustls::client", "tower::buffer", "h2", "hyper_util"] {
            assert!(!shows(target, Level::INFO), "{target}");
        }
        assert!(shows("rustls::client", Level::WARN));
        for target in ["kube", "kube_client::client", "kube_core"] {
            assert!(!shows(target, Level::ERROR), "{target}");
        }
        assert!(!filter(LogLevel::Info).would_enable("pouch::cluster::link", &Level::DEBUG));
    }
}
