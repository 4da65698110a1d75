//! What the user set up: `pouch.yaml` with the files that it names, and the keys.
//!
//! [`load`] reads the configuration; the core knows what it means. The keys of a run, which seal and open, are
//! read apart from it and only when asked for. Faults are shown with their place, those of `pouch.yaml` with
//! their line as well: no other file's lines are ever shown, and no line that holds a secret.

mod config;
mod file;
mod identities;
mod keys;
mod opened;
mod problem;
mod revision;
#[cfg(test)]
mod sample;

pub use self::config::{Settings, load, load_edited};
pub use self::file::{MAX_FILE_BYTES, read_text};
pub use self::identities::{Given, given};
pub use self::keys::{all_identities, identities, reuse_keys, reuse_keys_at_hand, source_identities};
pub use self::opened::{AtRevision, Opened, recipients_called, region_called};
pub use self::problem::{Problem, SettingsError};
