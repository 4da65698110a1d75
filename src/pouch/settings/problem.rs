//! What is wrong with a configuration, and how that is shown.

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use pouch_core::config::written::Position;
use pouch_core::report::escape;

use crate::error::{Failure, Kind};

/// One thing that is wrong with the configuration or with a file that it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The place in the file, if it is one of the configuration.
    pub position: Option<Position>,
    /// What is the matter, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// The line of the place, if it may be shown.
    pub(super) line: Option<String>,
    /// Whether it says that a secret stands at the place.
    pub(super) is_leak: bool,
}

/// Everything that is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    /// The problems, in the order of the file; never empty.
    pub problems: Vec<Problem>,
}

impl SettingsError {
    /// The one problem of a file as a whole.
    pub(super) fn one(file: String, message: String, help: &str) -> Self {
        let help = help.to_owned();
        Self { problems: vec![Problem { file, position: None, message, help, line: None, is_leak: false }] }
    }
}

impl std::error::Error for SettingsError {}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        // The problems carry their own help, each beside its place, and are several lines each.
        let report = error.to_string();
        // The printer says the first `error: `.
        let message = report.strip_prefix("error: ").unwrap_or(&report).to_owned();
        Self { kind: Kind::Usage, message, help: String::new() }
    }
}

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
        // Without a line to show, as findings are written.
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
        Some(quote) => rest.get(1..).and_then(|inner| inner.find(quote)).map(|at| at + 2),
        None => rest.find([' ', ',', ']', '}', ':']).filter(|at| *at > 0),
    };
    start..start + length.unwrap_or(rest.len())
}
