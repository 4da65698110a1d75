//! Checks of names and globs, whatever field they stand in.

use alloc::string::String;

use super::super::Globs;
use super::super::error::{Faults, FieldPath, quoted};
use crate::name::{Name, Namespace, is_dns_label, is_dns_subdomain};

/// Checks a DNS label.
pub(super) fn label(text: &str, what: &str, path: &FieldPath, faults: &mut Faults) {
    if !is_dns_label(text) {
        let message = format!("{} cannot name a {what}", quoted(text));
        let help = "Use 1 to 63 of a-z, 0-9 and dashes, with a letter or digit at both ends.";
        faults.add(path, message, help);
    }
}

/// Checks a namespace.
pub(super) fn namespace(text: &str, path: &FieldPath, faults: &mut Faults) -> Namespace {
    label(text, "namespace", path, faults);
    Namespace::from(text)
}

/// Checks the name of an object.
pub(super) fn object_name(text: &str, path: &FieldPath, faults: &mut Faults) -> Name {
    if !is_dns_subdomain(text) {
        let message = format!("{} cannot name an object", quoted(text));
        faults.add(path, message, "Use labels of a-z, 0-9 and dashes, joined by dots, at most 253 characters in all.");
    }
    text.into()
}

/// Compiles globs.
pub(super) fn globs(patterns: &[String], path: &FieldPath, faults: &mut Faults) -> Globs {
    for (at, pattern) in patterns.iter().enumerate() {
        if pattern.is_empty() || Globs::new(core::slice::from_ref(pattern)).is_err() {
            let help =
                "`*` stands for any characters, `?` for one, `[ab]` for one of some, `{a,b}` for one text of some.";
            faults.add(&path.index(at), format!("{} is not a glob", quoted(pattern)), help);
        }
    }
    Globs::new(patterns).unwrap_or_default()
}

/// Compiles globs over namespaces; one without a wildcard must be able to name one.
pub(super) fn namespace_globs(patterns: &[String], path: &FieldPath, faults: &mut Faults) -> Globs {
    for (at, pattern) in patterns.iter().enumerate() {
        if !pattern.is_empty() && !pattern.contains(['*', '?', '[', '{']) {
            namespace(pattern, &path.index(at), faults);
        }
    }
    globs(patterns, path, faults)
}
