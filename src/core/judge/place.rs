//! What must not land at a destination: a claim for it is refused.

use alloc::vec::Vec;

use crate::capi::resource_set::resource_set_kind;
use crate::destination::{Destination, Forbidden};
use crate::finding::{Code, Finding};
use crate::name::{Claimant, ObjectKey};

/// Checks where an object would land.
pub fn check(to: &Destination<'_>, lands: &ObjectKey) -> Vec<Finding> {
    if lands.namespace.is_none() {
        return Vec::new();
    }
    let finding = |why: Forbidden| {
        let help = match why {
            Forbidden::Namespace => "Move the object to another namespace.",
            Forbidden::Key | Forbidden::Reserved => "Rename the Secret.",
        };
        Finding::new(Code::ForbiddenPlace, format!("{lands} {}", why.words())).about(lands).help(help)
    };
    to.ground().forbids(lands).into_iter().map(finding).collect()
}

/// Checks where an object of a claimant would land. What groups of guests call their payloads and sets is theirs alone: who
/// takes such a name would keep what they deliver from arriving.
pub fn check_of(to: &Destination<'_>, by: &Claimant, lands: &ObjectKey) -> Vec<Finding> {
    let mut findings = check(to, lands);
    let is_of_sets = lands.kind.is_secret() || lands.kind.is_config_map() || lands.kind == resource_set_kind();
    let Some(namespace) = lands.namespace.as_ref().filter(|_| is_of_sets && by.group().is_none()) else {
        return findings;
    };
    let mut groups = to.fleet.guests.values().filter(|group| group.region == to.region.name);
    let owner = groups.find(|group| group.namespaces.matches(namespace.as_str()) && group.may_name(&lands.name));
    findings.extend(owner.map(|group| {
        let message = format!("{lands} has a name that guests.{} gives to what it delivers", group.name);
        Finding::new(Code::ForbiddenPlace, message).about(lands).help("Rename the object.")
    }));
    findings
}
