//! What the tests of settings share.

use std::fs::write;
use std::path::Path;

use super::{Settings, SettingsError, load};
use crate::ambient::Ambient;

/// A recipient whose identity nobody kept.
pub const RECIPIENT: &str = "age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4";

/// A configuration without regions, and more lines.
pub fn config(rest: &str) -> String {
    format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\nsources:\n  - {{name: a, directory: {{path: \
         m}}}}\nreuseKey: {{env: POUCH_REUSE_KEY}}\n{rest}"
    )
}

/// A configuration in a folder of its own, loaded with these variables set.
pub fn loaded(rest: &str, vars: &[(&str, &str)]) -> (tempfile::TempDir, Ambient, Result<Settings, SettingsError>) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path().join("pouch.yaml"), config(rest)).unwrap();
    let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, vars);
    let result = load(Path::new("pouch.yaml"), &ambient);
    (folder, ambient, result)
}

/// The lines of a region with a recipient.
pub fn region(recipient: &str) -> String {
    format!("regions: {{eu: {{recipients: [{recipient}], namespaces: {{allowed: ['*']}}}}}}\n")
}
