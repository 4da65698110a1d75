//! Reports: what a run did and found, as text, as JSON and as metrics. Pure: the shell prints.

pub mod applied;
pub mod authors;
pub mod check;
pub mod commit;
pub mod compared;
pub mod document;
pub mod escape;
pub mod exposure;
pub mod group;
pub mod markdown;
pub mod metrics;
pub mod names;
pub mod pages;
pub mod plan;
pub mod privileges;
mod record;
pub mod rotated;
pub mod shell;
pub mod since;
mod split;
pub mod standing;
pub mod summary;
mod target;
pub mod terminal;
pub mod text;
pub mod wrap;

pub use escape::{escape, escape_json, markup};
