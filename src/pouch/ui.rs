//! The only printer: results on stdout, everything else on stderr.

mod pages;

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pouch_core::finding::{Code, Finding, Severity};
use pouch_core::listing::counted;
use pouch_core::report::document::{Document, Tone};
use pouch_core::report::pages::Page;
use pouch_core::report::summary::{FindingRecord, SilencedRecord};
use pouch_core::report::terminal::{Paint, terminal};
use pouch_core::report::text::{self, Links};
use pouch_core::report::wrap::wrap;
use pouch_core::report::{escape, escape_json};
use pouch_core::silence::Silenced;

use crate::ambient::Ambient;
use crate::error::said;
use crate::ui::pages::Pages;

/// How what is not a result is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for machines.
    Json,
}

/// When colours are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Errors only.
    Quiet,
    /// Errors and warnings.
    Normal,
    /// Information too.
    Verbose,
}

/// Where a run's words go.
pub struct Ui {
    format: LogFormat,
    paint: Paint,
    result_paint: Paint,
    level: Level,
    terminal: bool,
    result_terminal: bool,
    /// Where codes of findings link to.
    pages: Option<Pages>,
    result_pages: Option<Pages>,
    /// How wide standard error and standard output are, where they are terminals.
    width: Option<usize>,
    result_width: Option<usize>,
    /// Why a result could not be written.
    lost: OnceLock<String>,
}

impl Ui {
    /// Decides once how to print.
    pub fn new(format: LogFormat, colour: Colour, level: Level, ambient: &Ambient) -> Self {
        let terminal = ambient.stderr_is_terminal();
        // <https://no-color.org/>
        let unwanted = ambient.var("NO_COLOR").is_some_and(|value| !value.is_empty())
            || ambient.var("TERM").is_some_and(|value| value == "dumb");
        let paint = |terminal: bool| match colour {
            Colour::Always => Paint::Colours,
            Colour::Auto if terminal && !unwanted => Paint::Colours,
            Colour::Auto | Colour::Never => Paint::Plain,
        };
        let result_paint = paint(ambient.stdout_is_terminal());
        let paint = if format == LogFormat::Text { paint(terminal) } else { Paint::Plain };
        // Who wants no colours wants no other sequences either.
        let pages = |paint, shows: bool| (paint == Paint::Colours && shows).then(|| Pages::of(ambient)).flatten();
        let result_pages = pages(result_paint, ambient.stdout_shows_links());
        let pages = pages(paint, ambient.stderr_shows_links());
        let (width, result_width) = (ambient.stderr_width(), ambient.stdout_width());
        Self {
            format,
            paint,
            result_paint,
            level,
            terminal,
            result_terminal: ambient.stdout_is_terminal(),
            pages,
            result_pages,
            width,
            result_width,
            lost: OnceLock::new(),
        }
    }

    /// Writes a result to stdout. A reader that went away is no error; what else goes wrong is
    /// [remembered](Self::lost).
    pub fn result(&self, text: &str) {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => _ = self.lost.set(said(&error)),
            _ => {}
        }
    }

    /// Writes a result that a program waits for: one that went away has it only in part, which is
    /// [remembered](Self::lost) like everything else that goes wrong.
    pub fn hand_out(&self, text: &str) {
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            _ = self.lost.set(said(&error));
        }
    }

    /// Why a result could not be written, such as a full disk.
    pub fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// The least severity that is told of.
    pub fn least(&self) -> Severity {
        match self.level {
            Level::Quiet => Severity::Error,
            Level::Normal => Severity::Warning,
            Level::Verbose => Severity::Info,
        }
    }

    /// Returns true if pieces of information are told.
    pub fn informs(&self) -> bool {
        self.least() == Severity::Info
    }

    /// Where the codes of findings link to in results.
    pub fn result_links(&self, findings: &[&Finding]) -> Links {
        linked(self.result_pages.as_ref(), findings.iter().copied())
    }

    /// Writes a result of prose to stdout, in colours and as wide as the terminal.
    pub fn prose(&self, document: &Document) {
        self.result(&self.shown(document));
    }

    /// A result of prose, in colours and as wide as the terminal.
    pub fn shown(&self, document: &Document) -> String {
        wrap(&terminal(document, self.result_paint), self.result_width)
    }

    /// Writes what a command line asked to know about it, with its colours.
    pub fn help(&self, text: &clap::builder::StyledStr) {
        match self.result_paint {
            Paint::Colours => self.result(&text.ansi().to_string()),
            Paint::Plain => self.result(&text.to_string()),
        }
    }

    /// A page of the documentation: as words on a terminal, and elsewhere in Markdown, for whatever shows that.
    pub fn page(&self, page: &Page) {
        self.result(&match self.result_terminal {
            true => page.plain(self.result_paint, self.result_width),
            false => page.text(),
        });
    }

    /// Whether nothing is said where nothing is wrong.
    pub fn is_quiet(&self) -> bool {
        self.level == Level::Quiet
    }

    /// Writes findings, most severe first, as far as the level asks for them.
    pub fn findings(&self, findings: &[Finding]) {
        let told: Vec<&Finding> = findings.iter().filter(|finding| finding.severity >= self.least()).collect();
        match self.format {
            LogFormat::Text => {
                let links = linked(self.pages.as_ref(), told.iter().copied());
                self.say(&text::findings(&told, &links, self.level >= Level::Verbose));
            }
            LogFormat::Json => {
                for finding in told {
                    let record = serde_json::to_string(&FindingRecord::from(finding)).unwrap_or_default();
                    self.log(&format!("{}\n", escape_json(&record)));
                }
            }
        }
    }

    /// Says how many findings annotations silence, and with `-v` which ones and why.
    pub fn silenced(&self, silenced: &[Silenced]) {
        if silenced.is_empty() {
            return;
        }
        let count = format!("{} silenced by annotations", counted(silenced.len(), "finding", "findings"));
        if self.level < Level::Verbose {
            self.note(&format!("{count}; -v shows them"));
            return;
        }
        match self.format {
            LogFormat::Text => {
                let links = linked(self.pages.as_ref(), silenced.iter().map(|silenced| &silenced.finding));
                self.say(&text::silenced(silenced, &links));
            }
            LogFormat::Json => {
                for silenced in silenced {
                    let record = serde_json::to_string(&SilencedRecord::from(silenced)).unwrap_or_default();
                    self.log(&format!("{}\n", escape_json(&record)));
                }
            }
        }
        self.note(&count);
    }

    /// Says how a run ended, or another fact that is no finding.
    pub fn note(&self, message: &str) {
        if self.level > Level::Quiet {
            self.event("info", message, "");
        }
    }

    /// Says with which command to go on. It is meant to be copied, so no terminal's width breaks it.
    pub fn offer(&self, what: &str, command: &str) {
        let message = format!("{what}: {command}");
        match self.format {
            LogFormat::Json => self.note(&message),
            LogFormat::Text if self.level > Level::Quiet => self.log(&format!("{}\n", escape(&message))),
            LogFormat::Text => {}
        }
    }

    /// Writes a detail that only somebody who looks for it wants to know.
    pub fn detail(&self, message: &str) {
        if self.level >= Level::Verbose {
            self.event("debug", message, "");
        }
    }

    /// Says how many objects of a kind were read of a cluster, and how long that took.
    pub fn read(&self, source: &str, context: &str, kind: &str, count: usize, time: Duration) {
        let seconds = time.as_millis();
        let seconds = format!("{}.{:03}", seconds / 1000, seconds % 1000);
        match self.format {
            LogFormat::Text => self.detail(&format!("cluster {context}: {count} {kind} in {seconds} s")),
            LogFormat::Json if self.level > Level::Quiet => {
                let record = serde_json::json!({
                    "severity": "info",
                    "message": format!("read {kind} of cluster {context}"),
                    "source": source,
                    "kind": kind,
                    "count": count,
                    "seconds": time.as_secs_f64(),
                });
                self.log(&format!("{}\n", escape_json(&record.to_string())));
            }
            LogFormat::Json => {}
        }
    }

    /// Warns of something that is no finding about an object.
    pub fn warn(&self, message: &str) {
        if self.level > Level::Quiet {
            self.event("warning", message, "");
        }
    }

    /// Says why the run failed and what to do.
    pub fn error(&self, message: &str, help: &str) {
        self.event("error", message, help);
    }

    fn event(&self, level: &str, message: &str, help: &str) {
        match self.format {
            LogFormat::Json => {
                let mut record = serde_json::Map::new();
                record.insert("severity".into(), level.into());
                record.insert("message".into(), message.into());
                if !help.is_empty() {
                    record.insert("help".into(), help.into());
                }
                self.log(&format!("{}\n", escape_json(&serde_json::Value::Object(record).to_string())));
            }
            LogFormat::Text => {
                // Messages may have several lines (a snippet of pouch.yaml); each is escaped by itself.
                let lines: Vec<String> = message.split('\n').map(escape).collect();
                let body = lines.join("\n");
                let head = match level {
                    "error" => format!("{}: ", self.paint.with(Tone::Error, "error")),
                    "warning" => format!("{}: ", self.paint.with(Tone::Warning, "warning")),
                    _ => String::new(),
                };
                let text = format!("{head}{body}\n");
                // Where there are several, they may be a snippet, whose marks stand below what they are about.
                let width = self.width.filter(|_| lines.len() == 1);
                self.log(&wrap(&text, width));
                if !help.is_empty() {
                    let mut document = Document::default();
                    document.item(1, text::mark("= help:", help));
                    self.say(&document);
                }
            }
        }
    }

    fn say(&self, document: &Document) {
        self.log(&wrap(&terminal(document, self.paint), self.width));
    }

    fn log(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Shows that something takes its time, on a terminal only; cleared when dropped or finished.
    pub fn progress(&self, what: &'static str, total: u64) -> Progress {
        if !self.terminal || self.format == LogFormat::Json || self.level == Level::Quiet {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(total);
        let template =
            if total == 0 { "{spinner} {prefix} {msg}" } else { "{spinner} {prefix} {msg} {bar:30} {pos}/{len}" };
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_prefix(what);
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress(bar)
    }
}

fn linked<'f>(pages: Option<&Pages>, findings: impl Iterator<Item = &'f Finding>) -> Links {
    let codes = || findings.map(|finding| finding.code).collect::<BTreeSet<Code>>();
    pages.map(|pages| pages.links(&codes())).unwrap_or_default()
}

/// Something that takes its time.
pub struct Progress(ProgressBar);

impl Progress {
    /// Shows progress towards an unknown end.
    pub fn say(&self, what: &str) {
        self.0.set_message(escape(what));
    }

    /// Counts one step.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Writes what pouch or a library says of its own work, for whoever looks for a fault.
pub fn trace(format: LogFormat, level: &str, target: &str, message: &str) {
    let line = match format {
        LogFormat::Text => format!("{level} {}: {}\n", escape(target), escape(message)),
        LogFormat::Json => {
            let record = serde_json::json!({"severity": level, "target": target, "message": message});
            format!("{}\n", escape_json(&record.to_string()))
        }
    };
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Writes to stderr from where no [`Ui`] is at hand: before there is one, and in a panic.
pub fn last_words(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
