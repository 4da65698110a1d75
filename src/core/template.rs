//! Templates: Go's `text/template` with the functions of sprout that always give the same.
//!
//! A template is parsed and checked before it meets data: what it calls must exist, be given as many arguments as it
//! takes, and depend on nothing but those; regular expressions that stand in it are compiled then. Rendering is bounded
//! in steps, depth and size. Where pouch cannot give the bytes that Go gives, it refuses, with one exception: `keys` and
//! `values` come in another order each time in Go, and sorted by key here. A missing key is refused too, where Go goes on
//! with no value: prints `<no value>`, or takes a condition for false.
//!
//! No message quotes a value: it names a line, a function and a key of the template.

mod budget;
mod call;
mod check;
mod equal;
mod functions;
mod json;
mod lex;
mod number;
mod parse;
mod print;
mod refused;
mod regex;
mod run;
mod tree;
mod value;

#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::string::String;

pub use budget::{OUTPUT, STEPS};
pub use refused::Refused;
pub use regex::Pattern;
pub use value::Value;

/// A template that was checked.
#[derive(Clone, Debug)]
pub struct Template {
    tree: tree::List,
    defined: BTreeMap<String, tree::List>,
    patterns: budget::Patterns,
}

impl Template {
    /// Parses and checks a template.
    ///
    /// # Errors
    /// Where it is none for Go, or calls what it may not.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        if text.len() > OUTPUT {
            let message = "the template has more than 1 MiB".into();
            return Err(Refused { message, help: "Split it.".into() });
        }
        let parse::Parsed { tree, defined } = parse::parse(text)?;
        let patterns = check::check(&tree, &defined)?;
        Ok(Self { tree, defined, patterns })
    }

    /// Renders it with data: `.` is this value.
    ///
    /// # Errors
    /// Where a function fails, a key is missing, or a bound is passed.
    pub fn render(&self, data: &Value) -> Result<String, Refused> {
        run::run(&self.tree, &self.defined, self.patterns.clone(), data)
    }
}
