//! Text as a value of YAML, for templates.

use alloc::string::{String, ToString as _};

use crate::yaml::emit::{Tree, emit};

/// Text as a YAML scalar on one line.
pub fn scalar(text: &str) -> String {
    // A line feed would make the text a block; names that may have line feeds are refused before.
    let line: String = text.chars().filter(|c| *c != '\n').collect();
    emit(&Tree::text(line)).trim_end_matches('\n').to_string()
}
