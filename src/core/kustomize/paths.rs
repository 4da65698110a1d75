//! Paths of a tree: names with `/` between them, from its root.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// The name of a kustomization in the folder that is built.
pub(super) const WRITTEN: &str = "kustomization.yaml";

/// A path without `.`, `..` and empty names; none if it leads above its start.
pub fn normal(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// A path below a folder.
pub fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_string() } else { format!("{folder}/{path}") }
}

/// The last name of a path.
pub fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
