//! A file of the set-up, and where it goes.

use alloc::string::String;

/// The folder of the files, from the configuration's folder.
pub const FOLDER: &str = "setup";

/// One file of the set-up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupFile {
    /// Its path from the configuration's folder.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What it is for.
    pub is_for: String,
}
