//! What must not land at a destination: a claim for it is refused.

use alloc::vec::Vec;

use crate::destination::{Destination, Forbidden};
use crate::finding::{Code, Finding};
use crate::name::ObjectKey;

/// Checks where an object would land.
pub fn check(to: &Destination<'_>, lands: &ObjectKey) -> Vec<Finding> {
    if lands.namespace.is_none() {
        return Vec::new();
    }
    let finding = |why: Forbidden| {
        let (code, help) = match why {
            Forbidden::Namespace => (Code::ForbiddenPlace, "Move the object to another namespace."),
            Forbidden::Key => (Code::ForbiddenPlace, "Rename the Secret."),
            Forbidden::Reserved => (Code::ReservedName, "Rename the Secret."),
        };
        Finding::new(code, format!("{lands} {}", why.words())).about(lands).help(help)
    };
    to.ground().forbids(lands).into_iter().map(finding).collect()
}
