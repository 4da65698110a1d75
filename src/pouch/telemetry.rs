//! Telemetry: which events of pouch and its libraries are shown; bodies never are.
//!
//! Libraries see what must not be seen: kube's convenience methods log whole response bodies when they cannot
//! decode one (<https://github.com/kube-rs/kube/issues/1137>). pouch does not call them; as a second lock, kube
//! is silenced here, and the layers below it show no more than warnings. `ui` decides where events go.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::ambient::Timer;
use crate::ui::{LogFormat, trace};

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum LogLevel {
    /// Failures
    Error,
    /// And retries
    Warn,
    /// And stages, sources, regions, git's commands and pushes, with counts and durations
    Info,
    /// And every request, without bodies
    Debug,
    /// Everything
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

/// Hands events and spans to the printer, one line each: of a span when it ends, with how long it took.
struct Shown {
    format: LogFormat,
}

/// A span that has not ended.
struct Open {
    timer: Timer,
    fields: Line,
}

impl Shown {
    fn show(&self, metadata: &Metadata<'_>, line: &str) {
        let level = match *metadata.level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        trace(self.format, level, metadata.target(), line.trim());
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Shown {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.show(event.metadata(), &line.0);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Line::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Open { timer: Timer::start(), fields });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        if let Some(Open { timer, fields }) = span.extensions_mut().remove::<Open>() {
            let took = timer.elapsed().as_millis();
            self.show(span.metadata(), &format!("{}{} took {took} ms", span.name(), fields.0));
        }
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
