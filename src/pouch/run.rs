//! Run: what commands share once their sources are read.

pub mod anew;
pub mod exposure;
pub mod keyfiles;
pub mod live;
pub mod metrics;
pub mod rekey;
pub mod render;
pub mod seal;
pub mod told;
pub mod verify;

use pouch_core::config::{Acceptance, Fleet};
use pouch_core::destination::{self, Destination};
use pouch_core::finding::{Class, Finding, Severity, settle};
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::region::published::fleet_of;
use pouch_core::report::summary::{self, Outcome};
use pouch_core::reuse::KeyRing;

use crate::error::{Ended, Failure};
use crate::session::{Session, Tolerate};
use crate::shelf::Look;

/// What a run works with.
pub struct Run<'a> {
    /// Environment, clock, entropy, where words go, and whether the run should end.
    pub session: &'a Session,
    /// The resolved configuration.
    pub fleet: &'a Fleet,
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// What the user lets through.
    pub allowances: &'a Allowances,
    /// What the run is about.
    pub selection: &'a Selection,
}

impl<'a> Run<'a> {
    /// The destinations that the run is about.
    fn destinations(&self) -> Vec<Destination<'a>> {
        destination::all(self.fleet).filter(|to| self.selection.takes_up(to)).collect()
    }
}

/// What a run did and found.
pub struct Report {
    /// The regions, sorted by name.
    pub regions: Vec<summary::Region>,
    /// How the Credentials fared; none where no source was read.
    pub credentials: Option<summary::Credentials>,
    /// Everything found, settled.
    pub findings: Vec<Finding>,
    /// The acceptances that let something through.
    pub accepted: Vec<Acceptance>,
    /// The acceptances that would let through what is held.
    pub wanted: Vec<Acceptance>,
}

impl Report {
    /// Whether some region is held by a brake.
    pub fn is_held(&self) -> bool {
        self.regions.iter().any(|region| region.outcome == Outcome::Held)
    }

    /// Whether some Credential is not published as asked, or a source was not read completely.
    pub fn is_partial(&self) -> bool {
        self.findings.iter().any(|finding| {
            finding.severity == Severity::Error
                && matches!(finding.code.class(), Class::Refused | Class::Broken | Class::Source)
        })
    }

    /// How a run ended that did this.
    pub fn ended(&self, session: &Session) -> Ended {
        if self.is_held() && !session.tolerates(Tolerate::Brake) {
            Ended::Held
        } else if self.is_partial() && !session.tolerates(Tolerate::Partial) {
            Ended::Partial
        } else {
            Ended::Done
        }
    }
}

/// Refuses to work beside a published region of this fleet that the configuration does not know.
pub fn check_regions(fleet: &Fleet, published: &dyn Look) -> Result<(), Failure> {
    for (name, manifest) in published.regions()? {
        let known = destination::all(fleet).any(|to| *to.directory() == *name);
        let ours = manifest.as_deref().and_then(fleet_of).is_some_and(|of| fleet.name == *of);
        if !known && ours {
            return Err(Failure::usage(
                format!(
                    "region-not-configured: regions/{name} is published, and no region of the configuration has it"
                ),
                "Set `state: retired` for the region to withdraw it, or set its directory if it was renamed.",
            ));
        }
    }
    Ok(())
}

/// Applies the configuration's severities, and settles what is left.
pub fn govern(fleet: &Fleet, findings: Vec<Finding>) -> Vec<Finding> {
    let governed = findings.into_iter().filter_map(|mut finding| {
        match fleet.severities.get(&finding.code) {
            None => {}
            Some(None) => return None,
            Some(Some(severity)) => finding.severity = *severity,
        }
        Some(finding)
    });
    settle(governed.collect())
}
