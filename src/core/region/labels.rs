//! Labels: the recipients that sealed files name.

use alloc::vec::Vec;

/// How the path of a sealed file ends.
pub(super) const SEALED: &str = ".sops.yaml";

/// The recipients that a sealed file names, in its order.
pub(super) fn labels(file: &[u8]) -> Vec<&str> {
    let named = file.split(|b| *b == b'\n').filter_map(|line| {
        let line = line.trim_ascii();
        core::str::from_utf8(line.strip_prefix(b"- ").unwrap_or(line).strip_prefix(b"recipient: ")?).ok()
    });
    named.collect()
}
