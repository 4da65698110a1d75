//! What the sources have now, region by region: which of the values that could be read are today's.

use std::collections::BTreeMap;

use pouch_core::config::Fleet;
use pouch_core::destination;
use pouch_core::finding::Code;
use pouch_core::judge::case::Verdict;
use pouch_core::judge::cases;
use pouch_core::name::{Claimant, Directory, ObjectKey};
use pouch_core::region::content::Order;
use pouch_core::region::envelope::{Envelopes, Source};
use pouch_core::reuse::KeyRing;
use pouch_core::secret::Payload;

use crate::harden::wiped;
use crate::survey::Survey;

/// What the sources have now.
#[derive(Default)]
pub struct Current<'s> {
    /// The Secrets that each region is to get, with its folder.
    secrets: Vec<(Directory, ObjectKey, Source<'s>)>,
    /// The Credentials that are broken, so that nobody knows what values of today they stand for; each with why.
    pub broken: BTreeMap<Claimant, Code>,
}

impl Current<'_> {
    /// The values, by region folder.
    pub fn values(&self) -> BTreeMap<Directory, BTreeMap<ObjectKey, &Payload>> {
        let mut values: BTreeMap<Directory, BTreeMap<ObjectKey, &Payload>> = BTreeMap::new();
        for (directory, lands, secret) in &self.secrets {
            if let Some(payload) = &secret.payload {
                values.entry(directory.clone()).or_default().insert(lands.clone(), payload);
            }
        }
        values
    }
}

/// Finds the values of today.
pub fn current<'s>(fleet: &Fleet, survey: &'s Survey, keys: &KeyRing) -> Current<'s> {
    wiped(|| sorted(fleet, survey, keys))
}

fn sorted<'s>(fleet: &Fleet, survey: &'s Survey, keys: &KeyRing) -> Current<'s> {
    let world = survey.world(fleet);
    let mut current = Current::default();
    for to in destination::all(fleet).filter(|to| to.region.is_rendered()) {
        let cases = cases(&world, world.facts.asked_for(&to));
        let broken = cases.iter().filter_map(|case| Some((case.claim.by.clone(), case.broken_by()?)));
        current.broken.extend(broken);
        let admitted = cases.iter().filter(|case| case.verdict == Verdict::Admitted);
        for member in admitted.flat_map(|case| case.published_members()) {
            let (read, lands, edits) = (member.read.clone(), member.lands.clone(), member.edits.clone());
            let with = Envelopes { fleet, directory: to.directory(), key: keys.current() };
            let secret = Order { read, lands, edits }.source(&survey.snapshot, &with);
            if let Some(secret) = secret.filter(|secret| secret.payload.is_some()) {
                current.secrets.push((to.directory().clone(), member.lands.clone(), secret));
            }
        }
    }
    current
}
