//! Who can read what: recipients across, Credentials down.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::chain::short;
use super::html::Html;
use crate::explain::record::{ClaimRecord, Explanation, RegionRecord};
use crate::report::markup;
use crate::report::summary::Region;

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
    let row = |page: &mut Html, what: &str, held: &[String], reads: &dyn Fn(&String) -> bool| {
        page.raw("<tr><td>");
        page.text(what);
        for recipient in &all {
            let (class, mark) = match (reads(recipient), added.contains(recipient), removed.contains(recipient)) {
                (true, true, _) => (" withdrawn", "+"),
                (true, false, _) => ("", "●"),
                (false, ..) if held.contains(recipient) => (" withdrawn", "held"),
                (false, _, true) => (" dim", "−"),
                (false, ..) => ("", ""),
            };
            page.raw(&format!("<td class=\"c{class}\">{mark}"));
        }
        page.raw("</tr>\n");
    };
    row(page, "whatever else is in it", &region.recipients_held, &|recipient| now.contains(recipient));
    for claim in claims.iter().filter(|claim| !claim.recipients.is_empty()) {
        row(page, &claim.credential, &claim.recipients_held, &|recipient| claim.recipients.contains(recipient));
    }
    page.raw("</table></div>\n");
}
