//! What the user set up: `pouch.yaml` with the files that it names, and the keys.
//!
//! [`load`] reads the configuration; the core knows what it means. The keys of a run, which seal and open, are
//! read apart from it and only when asked for. Faults are shown with their place, those of `pouch.yaml` with
//! their line as well: no other file's lines are ever shown, and no line that holds a secret.

mod config;
mod file;
mod keys;
#[cfg(test)]
mod sample;

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use pouch_core::config::written::Position;
use pouch_core::report::escape;

pub use self::config::{Settings, load};
pub use self::keys::{all_identities, identities, reuse_keys, reuse_keys_at_hand, source_identities};

/// One thing that is wrong with the configuration or with a file that it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The place in the file, for a problem in the configuration.
    pub position: Option<Position>,
    /// The problem, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// The line at the place, if it may be shown.
    line: Option<String>,
    /// Whether the problem is a secret at the place.
    is_leak: bool,
}

/// Everything that is wrong with a configuration; exit code 64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    /// The problems, in the order of the file; never empty.
    pub problems: Vec<Problem>,
}

impl SettingsError {
    /// The one problem of a file as a whole.
    fn one(file: String, message: String, help: &str) -> Self {
        let help = help.to_owned();
        Self { problems: vec![Problem { file, position: None, message, help, line: None, is_leak: false }] }
    }
}

impl std::error::Error for SettingsError {}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// As compilers show it: the message, the place, the line with a mark below, the help.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, help) = (escape(&self.message), escape(&self.help));
        if let (Some(at), Some(line)) = (self.position, &self.line) {
            let title = Level::ERROR.primary_title(message.as_str());
            let mark = AnnotationKind::Primary.span(marked(line, at.column));
            let number = usize::try_from(at.line).unwrap_or(0);
            let snippet = Snippet::source(line.as_str()).line_start(number).path(escape(&self.file)).annotation(mark);
            let report = [title.element(snippet).element(Level::HELP.message(help.as_str()))];
            return f.write_str(&Renderer::plain().render(&report));
        }
        let place = match self.position {
            Some(at) => format!("{}:{}:{}", self.file, at.line, at.column),
            None => self.file.clone(),
        };
        // Without a line to show, the form is that of findings.
        write!(f, "error: {message}\n  --> {}\n  = help: {help}", escape(&place))
    }
}

/// The bytes of the word that starts at a column.
fn marked(line: &str, column: u32) -> std::ops::Range<usize> {
    let before = usize::try_from(column).unwrap_or(1).saturating_sub(1);
    let start = line.char_indices().nth(before).map_or(line.len(), |(at, _)| at);
    let rest = line.get(start..).unwrap_or_default();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let length = match quote {
        Some(quote) => rest.get(1..).and_then(|inner| inner.find(quote)).map(|at| at.saturating_add(2)),
        None => rest.find([' ', ',', ']', '}', ':']).filter(|at| *at > 0),
    };
    start..start.saturating_add(length.unwrap_or(rest.len()))
}
