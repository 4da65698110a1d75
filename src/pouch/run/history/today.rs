//! What the sources have now, region by region: which of the values that could be read are today's.

use std::collections::BTreeMap;

use pouch_core::config::Fleet;
use pouch_core::destination;
use pouch_core::finding::Code;
use pouch_core::history::today::Today;
use pouch_core::judge::case::Verdict;
use pouch_core::judge::cases;
use pouch_core::listing::few;
use pouch_core::name::{Claimant, Directory, ObjectKey};
use pouch_core::region::content::Order;
use pouch_core::region::envelope::{Envelopes, Source};
use pouch_core::reuse::KeyRing;
use pouch_core::secret::Payload;

use crate::error::Failure;
use crate::harden::wiped;
use crate::session::Session;
use crate::settings::Opened;
use crate::survey::source::live::Values;
use crate::survey::{Looking, Reach, Survey, Surveyor, survey};
use crate::ui::Ui;

/// The most broken Credentials that are named.
const MOST_BROKEN: usize = 20;

/// What the sources have now.
#[derive(Default)]
struct Current<'s> {
    /// The Secrets that each region is to get, with its folder.
    secrets: Vec<(Directory, ObjectKey, Source<'s>)>,
    /// The Credentials that are broken, so that their values of today are unknown; each with why.
    broken: BTreeMap<Claimant, Code>,
}

impl Current<'_> {
    fn values(&self) -> BTreeMap<Directory, BTreeMap<ObjectKey, &Payload>> {
        let mut values: BTreeMap<Directory, BTreeMap<ObjectKey, &Payload>> = BTreeMap::new();
        for (directory, lands, secret) in &self.secrets {
            if let Some(payload) = &secret.payload {
                values.entry(directory.clone()).or_default().insert(lands.clone(), payload);
            }
        }
        values
    }
}

/// Reads the sources, and answers with today's values.
pub(in crate::run) fn with_today<T>(
    session: &Session,
    opened: &Opened,
    keys: &KeyRing,
    reach: &Reach,
    answer: impl FnOnce(&Today<'_>) -> T,
) -> Result<T, Failure> {
    let (fleet, outputs) = (&opened.settings.fleet, [opened.output()]);
    let surveyor =
        Surveyor { looking: Looking::AtSources, ..Surveyor::new(session, fleet, &opened.typed, (&outputs, reach)) };
    let survey = survey(&surveyor, Values::Read)?;
    session.ui.findings(&survey.findings);
    let current = wiped(|| sorted(fleet, &survey, keys));
    warn_of_broken(&current.broken, &session.ui);
    let today = Today { fleet: &fleet.name, keys, now: current.values() };
    // Tags are made of the values.
    Ok(wiped(|| answer(&today)))
}

/// Says whose values of today are not compared.
fn warn_of_broken(broken: &BTreeMap<Claimant, Code>, ui: &Ui) {
    if broken.is_empty() {
        return;
    }
    let named: Vec<String> = broken.iter().map(|(name, code)| format!("{} ({})", name.path(), code.text())).collect();
    ui.warn(&format!(
        "today's values of broken Credentials are unknown, so their entries are listed as without --values: {}; `pouch \
         render` says what is wrong",
        few(&named, named.len(), MOST_BROKEN)
    ));
}

fn sorted<'s>(fleet: &Fleet, survey: &'s Survey, keys: &KeyRing) -> Current<'s> {
    let world = survey.world(fleet);
    let mut current = Current::default();
    for to in destination::all(fleet).filter(|to| to.region.is_rendered()) {
        // Whatever is published of them was published once, so that none is over a quota here.
        let cases = cases(&world, &to, |_| true, || world.facts.asked_for(&to).map(|asked| asked.by.clone()).collect());
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
