//! STAND-IN: the reading door is written on another branch; only `typed`, `Flaw` and `Spanned` are
//! used by the configuration.

use alloc::string::ToString as _;

use super::Flaw;

/// A value with its place in the text.
pub use serde_yaml::Spanned;

/// Reads one document into a type.
///
/// # Errors
/// Where the text is no YAML, or does not fit the type.
pub fn typed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Flaw> {
    serde_yaml::from_str_with_options(text, serde_yaml::options! { with_snippet: false, no_schema: true }).map_err(
        |error| {
            let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
            let number = |n: u64| u32::try_from(n).unwrap_or(0);
            Flaw { line: number(line), column: number(column), what: error.without_snippet().to_string().into() }
        },
    )
}
