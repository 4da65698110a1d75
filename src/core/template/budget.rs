//! What one rendering may cost.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use super::regex::Pattern;
use super::value::Fault;

/// The most steps of one rendering: nodes, commands, rounds of a range, and items that functions go through.
pub const STEPS: u32 = 100_000;

/// The most bytes of an output, and of any text on the way there.
pub const OUTPUT: usize = 1 << 20;

/// The most bytes that functions read and make altogether.
const WORK: usize = 64 << 20;

/// Regular expressions that are ready, by what is written.
pub(super) type Patterns = Arc<BTreeMap<Arc<str>, Pattern>>;

/// What is left.
pub(super) struct Budget {
    steps: u32,
    work: usize,
    patterns: Patterns,
}

impl Budget {
    pub(super) fn new(patterns: Patterns) -> Self {
        Self { steps: STEPS, work: WORK, patterns }
    }

    /// A regular expression that stands in the template, or is compiled now.
    pub(super) fn pattern(&mut self, expression: &str) -> Result<Pattern, Fault> {
        if let Some(ready) = self.patterns.get(expression) {
            return Ok(ready.clone());
        }
        // To compile costs far more than to match.
        self.steps(expression.len() + 50)?;
        Pattern::new(expression)
    }

    /// Takes one step.
    pub(super) fn step(&mut self) -> Result<(), Fault> {
        self.steps = self.steps.checked_sub(1).ok_or("takes more than 100,000 steps")?;
        Ok(())
    }

    /// Takes a step for each of so many items.
    pub(super) fn steps(&mut self, count: usize) -> Result<(), Fault> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.steps = self.steps.checked_sub(count).ok_or("takes more than 100,000 steps")?;
        Ok(())
    }

    /// Pays for bytes that are read or made.
    pub(super) fn work(&mut self, bytes: usize) -> Result<(), Fault> {
        self.work = self.work.checked_sub(bytes).ok_or("its functions read and make more than 64 MiB")?;
        Ok(())
    }
}

/// A text that is being made, and never grows beyond [`OUTPUT`].
#[derive(Default)]
pub(super) struct Growing(String);

impl Growing {
    pub(super) fn push(&mut self, text: &str) -> Result<(), Fault> {
        if self.0.len() + text.len() > OUTPUT {
            return Err(TOO_LONG);
        }
        self.0.push_str(text);
        Ok(())
    }

    pub(super) fn letter(&mut self, letter: char) -> Result<(), Fault> {
        self.push(letter.encode_utf8(&mut [0; 4]))
    }

    /// Adds one text so many times.
    pub(super) fn repeat(&mut self, text: &str, count: usize) -> Result<(), Fault> {
        if text
            .len()
            .checked_mul(count)
            .and_then(|bytes| bytes.checked_add(self.0.len()))
            .is_none_or(|all| all > OUTPUT)
        {
            return Err(TOO_LONG);
        }
        (0..if text.is_empty() { 0 } else { count }).for_each(|_| self.0.push_str(text));
        Ok(())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

/// Said of a text beyond [`OUTPUT`].
pub(super) const TOO_LONG: Fault = "makes a text of more than 1 MiB";
