//! What the regions' clusters have of what is published for them.

use alloc::string::String;
use alloc::vec::Vec;

use super::html::Html;
use crate::listing::counted;
use crate::report::document::{Text, Tone};
use crate::report::standing::{ComparedRecord, InForce, RegionStanding, Standing};

/// What is said of all regions together.
pub(super) fn sentence(standing: &Standing) -> String {
    let compared: Vec<&ComparedRecord> =
        standing.regions.iter().filter_map(|region| region.compared.as_ref()).collect();
    let whole = compared.iter().filter(|compared| is_whole(compared)).count();
    let away = standing.regions.iter().filter(|region| region.compared.is_none()).count();
    let mut parts = vec![format!("{} of {} as published", whole, counted(standing.regions.len(), "region", "regions"))];
    if let other @ 1.. = compared.iter().filter(|compared| !is_whole(compared)).count() {
        parts.push(format!("{other} otherwise"));
    }
    if away > 0 {
        parts.push(format!("{away} not compared"));
    }
    format!("{}.", parts.join("; "))
}

fn is_whole(compared: &ComparedRecord) -> bool {
    compared.as_published == compared.objects && compared.left_behind == 0
}

/// One row for each region.
pub(super) fn table(page: &mut Html, standing: &Standing) {
    page.raw(
        "<div class=\"scroll\"><table><tr><th>region<th>since<th>as published<th>missing<th>differing<th>left behind\
         <th>in force</tr>\n",
    );
    for region in &standing.regions {
        page.raw("<tr><td>");
        page.element("code", &region.name);
        page.raw("<td>");
        commit(page, region);
        match &region.compared {
            Some(compared) => counts(page, compared),
            None => {
                page.raw("<td colspan=\"5\" class=\"broken\">not compared: ");
                page.text(region.unread.as_ref().map_or("there is nothing to compare with", |unread| &unread.message));
            }
        }
        page.raw("</tr>\n");
    }
    page.raw("</table></div>\n");
}

fn commit(page: &mut Html, region: &RegionStanding) {
    let Some((commit, short)) = region.commit.as_ref().zip(region.since()) else { return };
    page.element(&format!("code title=\"{}\"", crate::report::markup(commit)), short);
}

fn counts(page: &mut Html, compared: &ComparedRecord) {
    let class = if compared.as_published == compared.objects { "" } else { " changed" };
    page.raw(&format!("<td class=\"n{class}\">{} of {}", compared.as_published, compared.objects));
    let left = if compared.unlisted.is_empty() { "" } else { " or more" };
    for (count, class, more) in [
        (compared.missing, "withdrawn", ""),
        (compared.differing, "changed", ""),
        (compared.left_behind, "withdrawn", left),
    ] {
        match count {
            0 => page.raw(&format!("<td class=\"n\">0{more}")),
            count => page.raw(&format!("<td class=\"n {class}\">{count}{more}")),
        }
    }
    let in_force = compared.claimants.iter().filter(|claimant| claimant.in_force).count();
    let class = if in_force == compared.claimants.len() { "" } else { " changed" };
    page.raw(&format!("<td class=\"n{class}\">{in_force} of {}", compared.claimants.len()));
}

/// Which Credentials are in force in each region that was compared: those that are not first, and in plain sight.
pub(super) fn claimants(page: &mut Html, standing: &Standing) {
    for (region, compared) in standing.regions.iter().filter_map(|region| Some((region, region.compared.as_ref()?))) {
        if compared.claimants.is_empty() {
            continue;
        }
        page.element("h3", &region.name);
        let (in_force, lost): (Vec<&InForce>, Vec<&InForce>) =
            compared.claimants.iter().partition(|claimant| claimant.in_force);
        if !lost.is_empty() {
            page.raw("<p class=\"withdrawn\">not in force</p>");
            list(page, &lost);
        }
        if !in_force.is_empty() {
            page.raw("<details>");
            page.element("summary", format!("in force: {}", in_force.len()));
            list(page, &in_force);
            page.raw("</details>\n");
        }
    }
}

fn list(page: &mut Html, claimants: &[&InForce]) {
    let line = |it: &&InForce| Text::of(Tone::Code, format!("{} {}/{}", it.kind, it.namespace, it.name));
    page.list(claimants.iter().map(line));
    page.raw("\n");
}

/// What could not be compared, and what to do about it.
pub(super) fn unread(page: &mut Html, standing: &Standing) {
    for (region, unread) in standing.regions.iter().filter_map(|region| Some((region, region.unread.as_ref()?))) {
        page.raw("<dl>");
        page.element("dt", format!("region {} was not compared: {}", region.name, unread.message));
        page.element("dd", &unread.help);
        page.raw("</dl>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::super::standing as page_of;
    use super::*;
    use crate::finding::{Code, Finding};
    use crate::report::standing::UnreadRecord;
    use crate::report::summary::FindingRecord;

    fn region(name: &str) -> RegionStanding {
        RegionStanding {
            name: name.into(),
            directory: name.into(),
            commit: None,
            unread: None,
            compared: None,
            findings: Vec::new(),
        }
    }

    fn compared(as_published: usize, in_force: bool) -> ComparedRecord {
        let by = |name: &str, in_force| InForce {
            kind: "Credential".into(),
            namespace: "a".into(),
            name: name.into(),
            in_force,
        };
        ComparedRecord {
            objects: 3,
            as_published,
            missing: 3_usize.saturating_sub(as_published),
            differing: 0,
            left_behind: 0,
            unlisted: Vec::new(),
            claimants: vec![by("x", true), by("y", in_force)],
        }
    }

    #[test]
    fn the_page_says_what_is_where_and_text_is_text() {
        let hostile = "</table><script>alert(1)</script>";
        let away = UnreadRecord { message: hostile.into(), help: "Look.".into() };
        let lost = FindingRecord::from(&Finding::new(Code::MissingOnRegion, hostile));
        let standing = Standing {
            api_version: "",
            kind: "",
            fleet: hostile.into(),
            values: false,
            regions: vec![
                RegionStanding { unread: Some(away), ..region("away") },
                RegionStanding {
                    commit: Some("0123456789abcdef".into()),
                    compared: Some(compared(3, true)),
                    ..region("eu")
                },
                RegionStanding { compared: Some(compared(1, false)), findings: vec![lost], ..region("us") },
            ],
        };
        let html = page_of(&standing, crate::page::Maker { release: "1.0", time: "2026-01-02T03:04:05Z" });
        assert!(!html.contains("<script>"), "{html}");
        for part in [
            "<p>1 of 3 regions as published; 1 otherwise; 1 not compared.</p>",
            "<td><code title=\"0123456789abcdef\">0123456789ab</code><td class=\"n\">3 of 3<td class=\"n\">0",
            "<td class=\"n changed\">1 of 3<td class=\"n withdrawn\">2<td class=\"n\">0<td class=\"n\">0<td class=\"n changed\">1 of 2",
            "class=\"broken\">not compared: &lt;/table&gt;",
            "<p class=\"withdrawn\">not in force</p><ul><li><code>Credential a/y</code></li></ul>",
            "<summary>in force: 2</summary>",
            "<code>missing-on-region</code>",
            "Values of Secrets were not compared.",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
    }
}
