//! Acceptances that a run had no need of.
//!
//! A digest lets one set of changes through, on one published state. One that is spent or mistyped lets
//! nothing through and does no harm; but who gave it believes something that is not so.

use pouch_core::config::{Accept, Acceptance};
use pouch_core::finding::Code;
use pouch_core::report::summary::{Outcome, Region};

use crate::run::Report;
use crate::ui::Ui;

/// Says which acceptances of flags let nothing through.
pub(super) fn warn_unneeded(accepted: &[Acceptance], report: &Report, ui: &Ui) {
    for acceptance in accepted {
        if let Some(why) = unneeded(acceptance, report) {
            let Acceptance { region, what, digest } = acceptance;
            ui.warn(&format!("{} {region}={digest} let nothing through: {why}", names(*what).0));
        }
    }
}

/// The flag of an acceptance, and the finding that asks for it.
pub(super) fn names(what: Accept) -> (&'static str, Code) {
    match what {
        Accept::Deletions => ("--accept-deletions", Code::DeletionsHeld),
        Accept::Recipients => ("--accept-recipients", Code::RecipientAdded),
        Accept::Reseal => ("--accept-reseal", Code::ResealHeld),
    }
}

/// Why an acceptance let nothing through; none where it may have.
fn unneeded(acceptance: &Acceptance, report: &Report) -> Option<&'static str> {
    let Some(region) = report.regions.iter().find(|region| region.name == acceptance.region.as_str()) else {
        return Some("the region was not looked at");
    };
    let asks = |finding: &&pouch_core::finding::Finding| {
        finding.code == names(acceptance.what).1 && finding.region.as_ref() == Some(&acceptance.region)
    };
    match region.outcome {
        Outcome::Unchanged => Some("the region did not change"),
        Outcome::Paused => Some("the region is paused"),
        Outcome::Held if report.findings.iter().any(|finding| asks(&finding)) => {
            Some("it is spent or mistyped, or meant for something else; the finding has the digest of what is held now")
        }
        Outcome::Held | Outcome::Published | Outcome::Withdrawn => {
            (!has(region, acceptance.what)).then_some("there was nothing of the kind")
        }
    }
}

/// Whether a region has changes that an acceptance can be for.
fn has(region: &Region, what: Accept) -> bool {
    match what {
        Accept::Deletions => {
            region.changes.iter().any(|change| change.action == "removed" || !change.lost_entries.is_empty())
        }
        // A manifest that was meddled with may claim a recipient that files do not have.
        Accept::Recipients => !region.recipients_added.is_empty() || region.sealed > 0,
        Accept::Reseal => region.changes.iter().any(|change| matches!(change.action, "resealed" | "changed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pouch_core::finding::Finding;
    use pouch_core::report::summary::{ChangeRecord, ObjectRecord};

    #[test]
    fn what_let_nothing_through_is_said_and_nothing_else() {
        let report = |outcome: Outcome, change: Option<&'static str>, finding: Option<Code>| {
            let mut region = Region::new(&"eu".into(), &"eu".into(), outcome);
            let object = ObjectRecord { group: "".into(), kind: "Secret".into(), namespace: None, name: "s".into() };
            region.changes.extend(change.map(|action| ChangeRecord { action, object, lost_entries: Vec::new() }));
            let finding = finding.map(|code| Finding::new(code, "x").in_region(&"eu".into()));
            Report { regions: vec![region], credentials: None, findings: finding.into_iter().collect() }
        };
        let given = |region: &str, what| Acceptance { region: region.into(), what, digest: "0123456789abcdef".into() };
        let says = |what, report: &Report| unneeded(&given("eu", what), report);
        let removed = report(Outcome::Published, Some("removed"), None);
        assert_eq!(says(Accept::Deletions, &removed), None);
        assert_eq!(says(Accept::Recipients, &removed), Some("there was nothing of the kind"));
        assert_eq!(says(Accept::Reseal, &removed), Some("there was nothing of the kind"));
        assert_eq!(unneeded(&given("us", Accept::Reseal), &removed), Some("the region was not looked at"));
        assert_eq!(says(Accept::Deletions, &report(Outcome::Unchanged, None, None)), Some("the region did not change"));
        let held = report(Outcome::Held, Some("removed"), Some(Code::DeletionsHeld));
        assert!(says(Accept::Deletions, &held).is_some_and(|why| why.starts_with("it is spent or mistyped")));
        assert_eq!(says(Accept::Deletions, &report(Outcome::Held, Some("removed"), Some(Code::ForeignFile))), None);
    }
}
