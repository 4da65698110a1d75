//! Commits: the beginning of an id, and as much of a time as is shown.

use alloc::string::String;

/// The number of characters of an id that are shown.
const SHORT: usize = 10;

/// The beginning of an id.
pub fn short(id: &str) -> String {
    id.chars().take(SHORT).collect()
}

/// The day of a time.
pub fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or_default()
}

/// A time without its seconds.
pub fn minute(time: &str) -> String {
    time.chars().take(16).map(|char| if char == 'T' { ' ' } else { char }).collect()
}
