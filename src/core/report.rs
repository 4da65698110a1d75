//! Reports: what a run did and found, as text and as JSON. Pure: the shell prints.

pub mod escape;
pub mod summary;
pub mod text;

pub use escape::{escape, escape_json};
