//! Acceptances that a run had no need of.
//!
//! A digest lets one set of changes through, on one published state. One that is spent or mistyped lets
//! nothing through and does no harm; but who gave it believes something that is not so.

use pouch_core::config::{Accept, Acceptance};
use pouch_core::report::summary::Outcome;

use crate::run::Report;
use crate::ui::Ui;

/// Says which acceptances of flags let nothing through.
pub(super) fn warn_unneeded(accepted: &[Acceptance], report: &Report, ui: &Ui) {
    for acceptance in accepted {
        if let Some(why) = unneeded(acceptance, report) {
            let Acceptance { region, what, digest } = acceptance;
            ui.warn(&format!("{} {region}={digest} let nothing through: {why}", flag(*what)));
        }
    }
}

/// The flag of an acceptance.
pub(super) fn flag(what: Accept) -> &'static str {
    match what {
        Accept::Deletions => "--accept-deletions",
        Accept::Recipients => "--accept-recipients",
        Accept::Reseal => "--accept-reseal",
    }
}

/// Why an acceptance let nothing through; none where it did.
fn unneeded(acceptance: &Acceptance, report: &Report) -> Option<&'static str> {
    let Some(region) = report.regions.iter().find(|region| region.name == acceptance.region.as_str()) else {
        return Some("the region was not looked at");
    };
    let asks = |wanted: &Acceptance| wanted.region == acceptance.region && wanted.what == acceptance.what;
    match region.outcome {
        Outcome::Unchanged => Some("the region did not change"),
        Outcome::Paused => Some("the region is paused"),
        _ if report.accepted.contains(acceptance) => None,
        _ if report.wanted.iter().any(asks) => {
            Some("it is spent or mistyped, or meant for something else; the finding has the digest of what is held now")
        }
        _ => Some("nothing of the kind was held"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pouch_core::report::summary::Region;

    #[test]
    fn what_let_nothing_through_is_said_and_nothing_else() {
        let given = |region: &str, what| Acceptance { region: region.into(), what, digest: "0123456789abcdef".into() };
        let report = |outcome: Outcome, accepted: &[Acceptance], wanted: &[Acceptance]| Report {
            regions: vec![Region::new(&"eu".into(), &"eu".into(), outcome)],
            credentials: None,
            findings: Vec::new(),
            accepted: accepted.to_vec(),
            wanted: wanted.to_vec(),
        };
        let says = |what, report: &Report| unneeded(&given("eu", what), report);
        let used = report(Outcome::Published, &[given("eu", Accept::Deletions)], &[]);
        assert_eq!(says(Accept::Deletions, &used), None);
        assert_eq!(says(Accept::Recipients, &used), Some("nothing of the kind was held"));
        assert_eq!(unneeded(&given("us", Accept::Reseal), &used), Some("the region was not looked at"));
        assert_eq!(says(Accept::Deletions, &report(Outcome::Unchanged, &[], &[])), Some("the region did not change"));
        let other = Acceptance { digest: "fedcba9876543210".into(), ..given("eu", Accept::Deletions) };
        let held = report(Outcome::Held, &[], &[other]);
        assert!(says(Accept::Deletions, &held).is_some_and(|why| why.starts_with("it is spent or mistyped")));
        assert_eq!(says(Accept::Reseal, &held), Some("nothing of the kind was held"));
    }
}
