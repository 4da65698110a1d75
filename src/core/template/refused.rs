//! Why a template is refused, or its rendering.

use alloc::string::String;

use super::tree::Line;
use super::value::Fault;
use crate::listing::cut;

/// What is wrong, and what helps. No value of the data is in either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// What is wrong: `line 3: the function `env` is refused: …`.
    pub message: String,
    /// What helps.
    pub help: String,
}

impl Refused {
    pub(super) fn at(line: Line, message: &str, help: &str) -> Self {
        Self { message: format!("line {}: {message}", line.0), help: help.into() }
    }

    /// What went wrong within a function, or between them.
    pub(super) fn fault(line: Line, who: Option<&str>, fault: Fault) -> Self {
        match who {
            Some(name) => Self::at(line, &format!("`{name}` {}", said(fault)), HELP),
            None => Self::at(line, fault, HELP),
        }
    }
}

/// The most letters of a name that a message shows.
const SHOWN: usize = 64;

/// A name as a message shows it: what somebody took for one may be as long as a template.
pub(super) fn shown(name: &str) -> String {
    cut(name, SHOWN)
}

/// Faults are what a function does; others are sentences of their own.
fn said(fault: Fault) -> String {
    if ["a ", "its ", "lists "].iter().any(|start| fault.starts_with(start)) {
        format!("fails: {fault}")
    } else {
        fault.into()
    }
}

const HELP: &str = "Correct the template or its data.";
