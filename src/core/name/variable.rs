//! Environment variables by name, as a list of those that a program is handed.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// A list of environment variables. A name that ends with `*` means all variables that begin so.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Variables(Vec<String>);

impl Variables {
    /// Makes a list of names that have no [fault](variable_fault).
    pub fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// The names as typed.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of both lists.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    /// Returns true if the list has a variable.
    pub fn has(&self, name: &str) -> bool {
        let is_it = |typed: &String| match typed.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == typed,
        };
        self.0.iter().any(is_it)
    }
}

/// Returns the help for a text that cannot stand in a list of variables. The bare `*` cannot: it would list nothing.
pub fn variable_fault(text: &str) -> Option<&'static str> {
    if text.starts_with("POUCH_") || text.starts_with("SOPS_") {
        return Some("Remove it: no other program is handed pouch's own keys, or those of sops.");
    }
    let is_name = is_variable(text.strip_suffix('*').unwrap_or(text));
    (!is_name).then_some("Write the name of a variable, such as AWS_PROFILE, or the beginning of names and `*`: AWS_*.")
}

/// Returns true if a text can be the name of a variable: letters, digits and `_`, without a digit at the beginning.
///
/// <https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html>
pub fn is_variable(text: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !text.is_empty() && text.bytes().all(is_inner) && !text.starts_with(|c: char| c.is_ascii_digit())
}
