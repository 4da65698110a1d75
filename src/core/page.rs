//! A page to review: a plan, an explanation, or what regions have, as one HTML file that needs nothing else.
//!
//! It asks nobody for anything and runs nothing: its policy allows no script, no picture and no address, and of styles
//! the one that it brings (<https://www.w3.org/TR/CSP3/>). It reads on a phone, in light and dark. Like everything else
//! that is told of a plan, it is a view of the summary and of explanations.

mod chain;
mod html;
mod readers;
mod standing;
mod timeline;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::explain::record::{BundledRecord, ClaimRecord, Explanation, Fate};
use crate::finding::Severity;
use crate::judge::case::Verdict;
use crate::listing::counted;
use crate::log::Log;
use crate::region::change::Action;
use crate::report::document::{Text, Tone};
use crate::report::group::{Group, Tell, concerned, groups, place};
use crate::report::names::{Names, fields, held_by_acceptances, object};
use crate::report::standing::Standing;
use crate::report::summary::{
    FindingRecord, HoldRecord, Outcome, PrivilegeRecord, Region, SilencedRecord, SinceRecord, Summary,
};
use chain::chain;
use html::Html;
use timeline::Ages;

const STYLE: &str = include_str!("page/style.css");

/// How many fields of a region's objects are listed.
const FIELDS: usize = 1000;

/// How many Credentials' chains are open when the page is.
const OPEN: usize = 24;

/// Claims, by region and Credential.
type Claims<'e> = BTreeMap<(&'e str, &'e str), &'e ClaimRecord>;

/// The page of a plan; `explanation` answers what would change, `life` says what became of it before, if anything is
/// known of that, and `word` what would become of a region.
pub fn plan(
    summary: &Summary,
    (explanation, life): (&Explanation, Option<&Log>),
    word: fn(Outcome) -> &'static str,
    release: &str,
) -> String {
    let fleet = summary.fleet.as_deref().unwrap_or_default();
    let ages = timeline::ages(life, fleet);
    let mut page = begin(&format!("pouch plan for {fleet}"));
    let regions = summary.regions.as_deref().unwrap_or_default();
    page.element("h1", format!("Plan for fleet {fleet}"));
    let loud: Vec<&Region> = regions.iter().filter(|region| !region.is_quiet()).collect();
    page.element("p", sentence(summary, &loud));
    if summary.no_values {
        page.element("p class=\"changed\"", "No Secret was looked into: whether values change is not told.");
    }
    navigation(&mut page, &["regions", "changes", "readers", "findings", "timeline"]);
    if let Some(SinceRecord { base, privileges, .. }) = summary.since.as_ref().filter(|it| !it.privileges.is_empty()) {
        page.element("h2", Text::from("Privileges since ").code(base));
        let line = |PrivilegeRecord { opens, words }: &PrivilegeRecord| {
            let (tone, word) = if *opens { (Tone::Held, "opened") } else { (Tone::Left, "closed") };
            Text::of(tone, word).then(" ").then(words)
        };
        page.list(privileges.iter().map(line));
    }
    heading(&mut page, "regions", "Regions");
    table(&mut page, regions, word);
    if let Some(command) = &summary.accept_command {
        page.element("p", format!("To let through {}:", held_by_acceptances(regions)));
        page.element("p", Text::of(Tone::Code, command));
    }
    heading(&mut page, "changes", "What would change");
    if loud.is_empty() {
        page.element("p", "Nothing.");
    }
    let claims: Claims<'_> =
        explanation.claims.iter().map(|it| ((it.region.as_deref().unwrap_or_default(), &*it.credential), it)).collect();
    let mut open = OPEN;
    for region in loud {
        changes(&mut page, region, (&claims, &ages), &mut open);
    }
    heading(&mut page, "readers", "Who can read what");
    readers::of_plan(&mut page, regions, explanation);
    heading(&mut page, "findings", "Findings");
    match &summary.since {
        Some(since) if since.unknown.is_none() => since_base(&mut page, summary, since),
        since => {
            if let Some(SinceRecord { base, unknown: Some(why), .. }) = since {
                let told = Text::from("All findings are shown: the base ").code(base).then(" cannot be judged: ");
                page.element("p class=\"changed\"", told.code(why));
            }
            findings(&mut page, &summary.findings);
        }
    }
    silenced(&mut page, summary.silenced.iter());
    heading(&mut page, "timeline", "Timeline");
    timeline::of(&mut page, life, fleet);
    end(page, release)
}

/// Findings that a change brings, those that it cures, and folded those that the base has too.
fn since_base(page: &mut Html, summary: &Summary, since: &SinceRecord) {
    let told = summary.findings.iter().filter(|finding| finding.severity != Severity::Info).cloned();
    let (old, new): (Vec<FindingRecord>, Vec<FindingRecord>) = told.partition(|finding| finding.is_new == Some(false));
    page.element("h3", Text::from("New since ").code(&since.base));
    findings(page, &new);
    if !since.cured.is_empty() {
        page.element("h3", format!("{} by this change", counted(since.cured.len(), "cured finding", "cured findings")));
        page.list(since.cured.iter().map(|line| Text::of(Tone::Code, line)));
    }
    if !old.is_empty() {
        page.raw("<details>");
        page.element("summary", format!("{} that the base has too", counted(old.len(), "finding", "findings")));
        findings(page, &old);
        page.raw("</details>\n");
    }
}

/// The page of an explanation.
pub fn explain(explanation: &Explanation, life: Option<&Log>, release: &str) -> String {
    let ages = timeline::ages(life, &explanation.fleet);
    let mut page = begin(&format!("pouch explain {}", explanation.question));
    page.element("h1", &explanation.question);
    page.element("p class=\"dim\"", format!("in fleet {}", explanation.fleet));
    navigation(&mut page, &["changes", "readers", "findings", "timeline"]);
    heading(&mut page, "changes", "What is needed");
    page.raw("<div class=\"cards\">");
    let mut open = OPEN;
    for claim in &explanation.claims {
        let region = claim.region.as_deref().unwrap_or_default();
        let age = ages.get(&(region, &*claim.credential)).map(Vec::as_slice).unwrap_or_default();
        card(&mut page, &claim.credential, (Vec::new(), age), Some(claim), &mut open);
    }
    page.raw("</div>");
    if !explanation.objects.is_empty() {
        let line =
            |object: &BundledRecord| Text::of(Tone::Code, &object.path).then(format!(" {}", object.state.word()));
        page.list(explanation.objects.iter().map(line));
    }
    heading(&mut page, "readers", "Who can read what");
    readers::of_explanation(&mut page, explanation);
    heading(&mut page, "findings", "Findings");
    let all: Vec<FindingRecord> = explanation.claims.iter().flat_map(|claim| claim.findings.clone()).collect();
    findings(&mut page, &all);
    silenced(&mut page, explanation.claims.iter().flat_map(|claim| &claim.silenced));
    heading(&mut page, "timeline", "Timeline");
    timeline::of(&mut page, life, &explanation.fleet);
    end(page, release)
}

/// The page of what the regions' clusters have of what is published for them.
pub fn standing(standing: &Standing, release: &str) -> String {
    let mut page = begin(&format!("pouch verify for {}", standing.fleet));
    page.element("h1", format!("Regions of fleet {}", standing.fleet));
    page.element("p", standing::sentence(standing));
    if !standing.values {
        page.element("p class=\"changed\"", "Values of Secrets were not compared.");
    }
    navigation(&mut page, &["regions", "credentials", "findings"]);
    heading(&mut page, "regions", "Regions");
    standing::table(&mut page, standing);
    standing::unread(&mut page, standing);
    heading(&mut page, "credentials", "Credentials");
    standing::claimants(&mut page, standing);
    heading(&mut page, "findings", "Findings");
    let all: Vec<FindingRecord> = standing.regions.iter().flat_map(|region| region.findings.iter().cloned()).collect();
    findings(&mut page, &all);
    end(page, release)
}

fn begin(title: &str) -> Html {
    let mut page = Html::default();
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    page.raw(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" \
         content=\"no-referrer\">\n"
    ));
    page.element("title", title);
    page.raw(&format!("\n<style>{STYLE}</style>\n<body>\n"));
    page
}

fn end(mut page: Html, release: &str) -> String {
    page.element(
        "p class=\"dim\"",
        format!("Made by pouch {release}. It shows no value of any Secret, and asks nobody for anything."),
    );
    page.raw("\n</body>\n</html>\n");
    page.into_string()
}

fn heading(page: &mut Html, id: &str, title: &str) {
    page.element(&format!("h2 id=\"{id}\""), title);
    page.raw("\n");
}

fn navigation(page: &mut Html, ids: &[&str]) {
    page.raw("<nav>");
    for id in ids {
        page.raw(&format!("<a href=\"#{id}\">{id}</a> "));
    }
    page.raw("</nav>\n");
}

fn sentence(summary: &Summary, loud: &[&Region]) -> String {
    let count = |of: &[Outcome]| loud.iter().filter(|region| of.contains(&region.outcome)).count();
    let (held, changed) = (count(&[Outcome::Held]), count(&[Outcome::Published, Outcome::Withdrawn]));
    let mut parts = vec![match changed {
        0 => String::from("Nothing would change"),
        changed => format!("{} would change", counted(changed, "region", "regions")),
    }];
    if held > 0 {
        parts.push(format!("{held} would be held"));
    }
    if let Some(c) = &summary.credentials {
        parts.push(format!(
            "{} resolved, {} refused, {} broken",
            counted(c.admitted, "Credential", "Credentials"),
            c.refused,
            c.broken
        ));
    }
    format!("{}.", parts.join("; "))
}

/// A count of a region.
type Count = fn(&Region) -> usize;

/// The columns of counts.
const COUNTED: [(&str, Count); 9] = [
    (Action::Added.word(), |region| region.count(Action::Added)),
    (Action::Changed.word(), |region| region.count(Action::Changed)),
    (Action::Resealed.word(), |region| region.count(Action::Resealed)),
    (Action::Withdrawn.word(), |region| region.count(Action::Withdrawn)),
    ("handover", |region| region.handover),
    ("unseen", |region| region.unseen),
    ("carried", |region| region.carried),
    (Verdict::Refused.word(), |region| region.stopped(Verdict::Refused)),
    (Verdict::Broken.word(), |region| region.stopped(Verdict::Broken)),
];

fn table(page: &mut Html, regions: &[Region], word: fn(Outcome) -> &'static str) {
    // What no region has needs no column.
    let columns: Vec<(&str, Count)> =
        COUNTED.into_iter().filter(|(_, count)| regions.iter().any(|region| count(region) > 0)).collect();
    page.raw("<div class=\"scroll\"><table><tr><th>region<th>what would happen<th>objects");
    columns.iter().for_each(|(word, _)| page.raw(&format!("<th>{word}")));
    page.raw("</tr>\n");
    for region in regions {
        page.raw("<tr><td>");
        page.element("code", &region.name);
        page.raw(if region.outcome == Outcome::Held { "<td class=\"held\">" } else { "<td>" });
        page.text(&region.named(word));
        page.raw(&format!("<td class=\"n\">{}", region.objects));
        for (word, count) in &columns {
            match count(region) {
                0 => page.raw("<td>"),
                count => page.raw(&format!("<td class=\"n {word}\">{count}")),
            }
        }
        page.raw("</tr>\n");
    }
    page.raw("</table></div>\n");
}

/// What changes in one region: what is held, who can read more or less, a card for each Credential, fields.
fn changes(page: &mut Html, region: &Region, (claims, ages): (&Claims<'_>, &Ages<'_>), open: &mut usize) {
    page.element("h3", &region.name);
    page.raw("\n");
    region.holds.iter().for_each(|hold| held(page, region, hold));
    for (recipients, class, words) in
        [(&region.recipients_added, "withdrawn", region.gains()), (&region.recipients_removed, "dim", region.loses())]
    {
        for recipient in recipients {
            page.element(&format!("p class=\"{class}\""), Text::of(Tone::Code, recipient).then(format!(" {words}")));
            page.raw("\n");
        }
    }
    if !region.readable_by_added.is_empty() {
        let count = counted(region.readable_by_added.len(), "Secret", "Secrets");
        page.raw("<details>");
        page.element("summary", format!("readable by who is added: {count}"));
        page.list(region.readable_by_added.iter().map(|record| Text::of(Tone::Code, object(record))));
        page.raw("</details>\n");
    }
    let names = Names::of(region);
    let (of_none, by_credential): (Vec<_>, Vec<_>) =
        names.by_credential().into_iter().partition(|(credential, _)| credential.is_none());
    for (_, lines) in of_none {
        page.list(lines);
        page.raw("\n");
    }
    page.raw("<div class=\"cards\">\n");
    for (credential, lines) in by_credential {
        let Some(credential) = credential else { continue };
        let claim = claims.get(&(region.name.as_str(), credential)).copied();
        let age = ages.get(&(region.name.as_str(), credential)).map(Vec::as_slice).unwrap_or_default();
        card(page, credential, (lines, age), claim, open);
    }
    page.raw("</div>\n");
    let fields = fields(region, FIELDS);
    if !fields.is_empty() {
        page.raw("<details open>");
        page.element("summary", counted(fields.len(), "field", "fields"));
        page.list(fields.iter().map(|field| Text::of(Tone::Code, field.to_string())));
        page.raw("</details>\n");
    }
}

fn held(page: &mut Html, region: &Region, hold: &HoldRecord) {
    page.raw("<p><span class=\"pill held\">held</span> ");
    let code = Text::of(Tone::Code, hold.code.text());
    page.spans(&match hold.flag.as_deref().zip(hold.value.as_deref()) {
        Some((flag, value)) => {
            code.then("; ").code(format!("{flag} {value}")).then(format!(" {}", region.lets_through()))
        }
        None => code,
    });
    page.raw("</p>\n");
}

/// One Credential: what becomes of it, and its chain.
fn card(
    page: &mut Html,
    credential: &str,
    (lines, age): (Vec<Text>, &[String]),
    claim: Option<&ClaimRecord>,
    open: &mut usize,
) {
    page.raw("<div class=\"card\">");
    page.element("h4 class=\"mono\"", credential);
    if let Some(claim) = claim {
        let region = claim.region.as_ref().map(|region| format!(" for region {region}")).unwrap_or_default();
        let tone = match claim.verdict {
            Fate::Judged(Verdict::Refused) => Tone::Refused,
            Fate::Judged(Verdict::Broken) => Tone::Broken,
            Fate::Judged(Verdict::Admitted) | Fate::Unpublished | Fate::Paused => Tone::Dim,
        };
        let place = format!("{region}, at {}", claim.place.text);
        page.spans(&Text::of(tone, claim.verdict.word()).and(Tone::Dim, place));
    }
    if !lines.is_empty() {
        page.list(lines);
    }
    for age in age {
        page.element("p class=\"dim\"", age);
    }
    if let Some(claim) = claim.filter(|claim| !claim.steps.is_empty()) {
        let is_open = if *open > 0 { " open" } else { "" };
        *open = open.saturating_sub(1);
        page.raw(&format!("<details{is_open}><summary>what it needs</summary>"));
        chain(page, claim);
        page.raw("</details>");
    }
    page.raw("</div>\n");
}

/// Findings by code, the most severe first. Information is counted, as where findings are told.
fn findings(page: &mut Html, all: &[FindingRecord]) {
    let (quiet, told): (Vec<&FindingRecord>, Vec<&FindingRecord>) =
        all.iter().partition(|finding| finding.severity == Severity::Info);
    if told.is_empty() {
        page.element("p", "None.");
    }
    if !quiet.is_empty() {
        let count = counted(quiet.len(), "piece of information", "pieces of information");
        page.element("p class=\"dim\"", format!("{count} left out; `pouch check -v` tells them."));
    }
    let groups = groups(told);
    let mut of_code: BTreeMap<(bool, &str), Vec<&Group<'_, FindingRecord>>> = BTreeMap::new();
    for group in &groups {
        of_code.entry((group.first.severity != Severity::Error, group.first.code.text())).or_default().push(group);
    }
    // What others follow from comes before the rest.
    let mut of_code: Vec<_> = of_code.into_iter().collect();
    of_code
        .sort_by_key(|((is_less, _), groups)| (*is_less, !groups.iter().any(|group| !group.consequences.is_empty())));
    for ((_, code), groups) in &of_code {
        let Some(severity) = groups.first().map(|group| group.first.severity) else { continue };
        let count = groups.len();
        let head = Text::of(severity.into(), severity.word()).then(" ").code(*code);
        page.raw("<details open>");
        page.element("summary", if count > 1 { head.then(format!(", {count}")) } else { head });
        for group in groups {
            one(page, group);
        }
        page.raw("</details>\n");
    }
}

/// What annotations silence, and why.
fn silenced<'s>(page: &mut Html, silenced: impl Iterator<Item = &'s SilencedRecord>) {
    let groups = groups(silenced);
    if groups.is_empty() {
        return;
    }
    page.raw("<details>");
    page.element("summary", format!("{} silenced by annotations", counted(groups.len(), "finding", "findings")));
    for group in &groups {
        page.raw("<dl>");
        head_of(page, group, |silenced| &silenced.finding);
        page.element("dd", format!("{}, silenced: {}", group.first.finding.code.text(), group.first.reason));
        page.raw("</dl>");
    }
    page.raw("</details>\n");
}

/// How many Credentials are named where many are concerned.
const NAMED: usize = 20;

fn one(page: &mut Html, group: &Group<'_, FindingRecord>) {
    page.raw("<dl>");
    head_of(page, group, |finding| finding);
    if let Some(consequence) = group.consequence(NAMED) {
        page.element("dd", consequence);
    }
    if !group.first.help.is_empty() {
        page.element("dd", &group.first.help);
    }
    page.raw("</dl>");
}

/// What was found, whom it concerns and where it stands.
fn head_of<T: Tell>(page: &mut Html, group: &Group<'_, T>, finding: fn(&T) -> &FindingRecord) {
    page.element("dt", &finding(group.first).message);
    let more = group.places(|it| place(finding(it)));
    let more = (more > 0).then(|| counted(more, "other place", "other places"));
    let about = [place(finding(group.first)), more, concerned(&group.whose(), NAMED)];
    let about: Vec<String> = about.into_iter().flatten().collect();
    if !about.is_empty() {
        page.element("dd class=\"dim\"", about.join(", "));
    }
}
