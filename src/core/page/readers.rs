//! Who can read what: recipients across, Credentials down.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::chain::short;
use super::html::Html;
use crate::explain::record::{ClaimRecord, Explanation, RegionRecord};
use crate::region::change::Action;
use crate::report::markup;
use crate::report::summary::{Outcome, Region};

/// How many characters of a recipient stand in a heading; the whole one is its title.
const SHOWN: usize = 13;

/// Who can read the Secrets of Credentials that a plan touches, region by region.
pub(super) fn of_plan(page: &mut Html, regions: &[Region], explanation: &Explanation) {
    page.element(
        "p class=\"dim\"",
        "After the publish: ● can read it, + can read it from now on, − could before, and still reads what is in the history. \
         held: cannot now, and could once what is held is let through.",
    );
    let changes: BTreeMap<&str, &Region> = regions.iter().map(|region| (region.name.as_str(), region)).collect();
    matrices(page, explanation, &changes);
}

/// Who can read the Secrets of what an explanation is about, region by region.
pub(super) fn of_explanation(page: &mut Html, explanation: &Explanation) {
    matrices(page, explanation, &BTreeMap::new());
}

fn matrices(page: &mut Html, explanation: &Explanation, changes: &BTreeMap<&str, &Region>) {
    let mut claims: BTreeMap<&str, Vec<&ClaimRecord>> = BTreeMap::new();
    for claim in &explanation.claims {
        claims.entry(claim.region.as_deref().unwrap_or_default()).or_default().push(claim);
    }
    for region in &explanation.regions {
        let claims = claims.get(&*region.name).map(Vec::as_slice).unwrap_or_default();
        matrix(page, region, changes.get(&*region.name).copied(), claims);
    }
}

/// Whether a recipient can read something.
type Reads<'a> = &'a dyn Fn(&String) -> bool;

/// What becomes of the Secrets of each Credential in a region that is published: which actions there are.
struct Secrets<'r>(BTreeMap<&'r str, BTreeSet<Action>>);

impl<'r> Secrets<'r> {
    fn of(change: Option<&'r Region>) -> Self {
        let mut all: BTreeMap<&str, BTreeSet<Action>> = BTreeMap::new();
        let published = change.filter(|region| region.outcome == Outcome::Published);
        let changes = published.map(|region| &*region.changes).unwrap_or_default();
        for change in changes.iter().filter(|change| change.object.kind == "Secret") {
            for credential in &change.credentials {
                all.entry(credential).or_default().insert(change.action);
            }
        }
        Self(all)
    }

    /// Whether there was none before.
    fn are_new(&self, credential: &str) -> bool {
        self.0.get(credential).is_some_and(|actions| actions.iter().all(|action| *action == Action::Added))
    }

    /// The Credentials of which Secrets are withdrawn and nothing else becomes of any.
    fn gone(&self) -> impl Iterator<Item = &'r str> {
        self.0
            .iter()
            .filter(|(_, actions)| actions.iter().all(|action| *action == Action::Withdrawn))
            .map(|(name, _)| *name)
    }
}

fn matrix(page: &mut Html, region: &RegionRecord, change: Option<&Region>, claims: &[&ClaimRecord]) {
    let (none, now) = (Vec::new(), &region.recipients);
    let (added, removed) = change.map_or((&none, &none), |it| (&it.recipients_added, &it.recipients_removed));
    let mut all: Vec<&String> = now.iter().collect();
    let others = region.recipients_held.iter().chain(removed).chain(claims.iter().flat_map(|claim| &claim.recipients));
    let others: BTreeSet<&String> = others.filter(|recipient| !now.contains(recipient)).collect();
    all.extend(others);
    page.raw("<div class=\"scroll\"><table><tr><th>");
    page.text(&region.name);
    for recipient in &all {
        page.raw(&format!("<th class=\"mono\" title=\"{}\">", markup(recipient)));
        page.text(&short(recipient, SHOWN));
    }
    page.raw("</tr>\n");
    let row = |page: &mut Html, what: &str, held: &[String], (before, after): (Reads<'_>, Reads<'_>)| {
        page.raw("<tr><td>");
        page.text(what);
        for recipient in &all {
            let (class, mark) = match (before(recipient), after(recipient)) {
                (false, true) => (" withdrawn", "+"),
                (true, true) => ("", "●"),
                (_, false) if held.contains(recipient) => (" withdrawn", "held"),
                (true, false) => (" dim", "−"),
                (false, false) => ("", ""),
            };
            page.raw(&format!("<td class=\"c{class}\">{mark}"));
        }
        page.raw("</tr>\n");
    };
    let before =
        |recipient: &String| removed.contains(recipient) || now.contains(recipient) && !added.contains(recipient);
    row(page, "whatever else is in it", &region.recipients_held, (&before, &|recipient| now.contains(recipient)));
    let secrets = Secrets::of(change);
    for claim in claims.iter().filter(|claim| !claim.recipients.is_empty()) {
        let after = |recipient: &String| claim.recipients.contains(recipient);
        let before = |recipient: &String| {
            let could = removed.contains(recipient) || after(recipient) && !added.contains(recipient);
            could && !secrets.are_new(&claim.credential)
        };
        row(page, &claim.credential, &claim.recipients_held, (&before, &after));
    }
    let is_there = |credential: &str| claims.iter().any(|claim| claim.credential == credential);
    for credential in secrets.gone().filter(|credential| !is_there(credential)) {
        row(page, credential, &[], (&before, &|_| false));
    }
    page.raw("</table></div>\n");
}
