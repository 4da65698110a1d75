//! What the sources have now, region by region: which of the values that could be read are today's.

use std::collections::BTreeMap;

use pouch_core::config::Fleet;
use pouch_core::destination;
use pouch_core::finding::Code;
use pouch_core::judge::case::Verdict;
use pouch_core::judge::cases;
use pouch_core::name::{Claimant, Directory, ObjectKey};
use pouch_core::secret::Payload;

use crate::harden::wiped;
use crate::survey::Survey;

/// What the sources have now.
#[derive(Default)]
pub struct Current<'s> {
    /// By region folder, the Secrets that each region is to get.
    pub values: BTreeMap<Directory, BTreeMap<ObjectKey, &'s Payload>>,
    /// The Credentials that are broken, so that nobody knows what values of today they stand for; each with why.
    pub broken: BTreeMap<Claimant, Code>,
}

/// Finds the values of today.
pub fn current<'s>(fleet: &Fleet, survey: &'s Survey) -> Current<'s> {
    wiped(|| sorted(fleet, survey))
}

fn sorted<'s>(fleet: &Fleet, survey: &'s Survey) -> Current<'s> {
    let world = survey.world(fleet);
    let mut current = Current::default();
    for to in destination::all(fleet).filter(|to| to.region.is_rendered()) {
        let cases = cases(&world, world.facts.asked_for(&to));
        let broken = cases.iter().filter_map(|case| Some((case.claim.by.clone(), case.broken_by()?)));
        current.broken.extend(broken);
        let admitted = cases.iter().filter(|case| case.verdict == Verdict::Admitted);
        for member in admitted.flat_map(|case| case.published_members()) {
            let payload = survey.snapshot.get(&member.read).and_then(|object| object.payload.as_ref());
            if let Some(payload) = payload {
                current.values.entry(to.directory().clone()).or_default().insert(member.lands.clone(), payload);
            }
        }
    }
    current
}
