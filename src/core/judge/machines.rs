//! Machines: a Cluster keeps what it names itself, whatever its machines and failure domains name.
//!
//! An object that the Cluster may not have refuses the claim, and so withdraws all that the claim has. One that only machines
//! name breaks the claim instead; what is published is then judged object by object.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use crate::closure::{Closure, Member, NamedBy};
use crate::finding::{Class, Code, Finding};
use crate::kinds;
use crate::name::ObjectKey;

/// Lets what refuses a claim break it, where only machines name the object.
pub(super) fn break_for_machines(closure: &Closure, findings: &mut [Finding]) {
    let is_refused = |finding: &&mut Finding| finding.code.class() == Class::Refused && finding.object.is_some();
    let mut refused = findings.iter_mut().filter(is_refused).peekable();
    if refused.peek().is_none() || !closure.members.iter().any(is_of_machine) {
        return;
    }
    let own = own(closure);
    for finding in refused {
        if finding.object.as_ref().is_some_and(|key| !own.contains(key)) {
            let of_machines = Finding::new(Code::MachineIdentityRefused, finding.message.clone());
            (finding.code, finding.severity) = (of_machines.code, of_machines.severity);
            let help =
                format!("{} Machines of the Cluster name it; until then, what the Cluster has stays.", finding.help);
            finding.help = Cow::Owned(help);
        }
    }
}

fn is_of_machine(member: &Member) -> bool {
    member.referrer.is_none() && matches!(&member.named_by, NamedBy::Object(key) if kinds::is_of_machines(&key.kind))
}

/// The objects that a claim needs without its machines.
fn own(closure: &Closure) -> BTreeSet<&ObjectKey> {
    let roots = closure.members.iter().map(|member| member.referrer.is_none() && !is_of_machine(member));
    let mut is_own: Vec<bool> = roots.collect();
    loop {
        let named = |member: &Member| {
            let mut referrers = member.referrer.iter().chain(&member.also);
            referrers.any(|index| is_own.get(*index).copied().unwrap_or_default())
        };
        let next: Vec<bool> =
            closure.members.iter().zip(&is_own).map(|(member, is_own)| *is_own || named(member)).collect();
        if next == is_own {
            break;
        }
        is_own = next;
    }
    let members = closure.members.iter().zip(is_own).filter(|(_, is_own)| *is_own);
    members.flat_map(|(member, _)| [&member.read, &member.lands]).collect()
}
