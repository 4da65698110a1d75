//! ResourceSyncRules that a region names.

use alloc::format;
use alloc::string::String;

use super::super::Globs;
use super::super::error::{Faults, FieldPath, quoted};

/// Resolves `syncRules` of a region: globs over names of rules, which are cluster-scoped.
pub(super) fn resolve(typed: &[String], path: &FieldPath, faults: &mut Faults) -> Globs {
    const HELP: &str = "Write the name of a ResourceSyncRule, in which `*` stands for any characters and `?` for one; `*` is every rule.";
    let may_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let may_glob = |c: char| may_name(c) || matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '!');
    for (at, text) in typed.iter().enumerate() {
        if text.is_empty() || !text.chars().all(may_glob) {
            faults.add(
                &path.index(at),
                format!("{} is not a glob over names of ResourceSyncRules", quoted(text)),
                HELP,
            );
        }
    }
    Globs::new(typed).unwrap_or_else(|pattern| {
        faults.add(path, format!("{} is not a glob", quoted(&pattern)), HELP);
        Globs::default()
    })
}
