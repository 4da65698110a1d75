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
use crate::report::commit::minute;
use crate::report::document::{Text, Tone};
use crate::report::group::{Group, Tell, concerned, groups, place};
use crate::report::names::{Names, fields, held_by_acceptances, object};
use crate::report::privileges::of_plan;
use crate::report::standing::Standing;
use crate::report::summary::{
    FindingRecord, HoldRecord, Outcome, PrivilegeRecord, Region, SilencedRecord, SinceRecord, Summary,
};
use chain::chain;
use html::{Html, prose};
use timeline::Ages;

const STYLE: &str = include_str!("page/style.css");

/// How many fields of a region's objects are listed.
const FIELDS: usize = 1000;

/// How many Credentials' chains are open when the page is.
const OPEN: usize = 24;

/// Claims, by region and Credential.
type Claims<'e> = BTreeMap<(&'e str, &'e str), &'e ClaimRecord>;

/// What cards say of Credentials beside what becomes of them.
struct Beside<'p> {
    claims: Claims<'p>,
    ages: Ages<'p>,
    /// What was found, by region and Credential.
    found: BTreeMap<(&'p str, &'p str), Vec<&'p FindingRecord>>,
}

/// The program that makes a page, and when.
#[derive(Clone, Copy)]
pub struct Maker<'m> {
    /// Its version.
    pub release: &'m str,
    /// The time, in RFC 3339.
    pub time: &'m str,
}

/// The page of a plan; `explanation` answers what would change, `life` says what became of it before, if anything is
/// known of that, and `word` what would become of a region.
pub fn plan(
    summary: &Summary,
    (explanation, life): (&Explanation, Option<&Log>),
    word: fn(Outcome) -> &'static str,
    maker: Maker<'_>,
) -> String {
    let fleet = summary.fleet.as_deref().unwrap_or_default();
    let mut page = begin(&format!("pouch plan for {fleet}"));
    let regions = summary.regions.as_deref().unwrap_or_default();
    page.element("h1", format!("Plan for fleet {fleet}"));
    let since = summary.since.as_ref();
    let base = since.map(|since| Text::from(". What is new is told since ").code(&since.base)).unwrap_or_default();
    made(&mut page, maker, &base);
    let loud: Vec<&Region> = regions.iter().filter(|region| !region.is_quiet()).collect();
    page.element("p", sentence(summary, &loud));
    if summary.no_values {
        page.element("p class=\"changed\"", "No Secret was looked into: whether values change is not told.");
    }
    let privileges = of_plan(summary);
    let known = since.filter(|since| since.unknown.is_none());
    let first = (!privileges.is_empty()).then_some("privileges").into_iter().chain(["regions"]);
    let ids = first.chain(known.map(|_| "new")).chain(["changes", "readers", "findings", "timeline"]);
    navigation(&mut page, &ids.collect::<Vec<&str>>());
    if !privileges.is_empty() {
        heading(&mut page, "privileges", "Privileges");
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
    let of = |is_old: bool| summary.findings.iter().filter(move |it| (it.is_new == Some(false)) == is_old);
    if let Some(since) = known {
        heading(&mut page, "new", "New with this change");
        findings(&mut page, of(false));
        if !since.cured.is_empty() {
            page.element("h3", counted(since.cured.len(), "cured finding", "cured findings"));
            page.list(since.cured.iter().map(|line| Text::of(Tone::Code, line)));
        }
    }
    heading(&mut page, "changes", "What would change");
    if loud.is_empty() {
        page.element("p", "Nothing.");
    }
    let beside = Beside::of(summary, explanation, timeline::ages(life, fleet));
    let mut open = OPEN;
    for region in loud {
        changes(&mut page, region, &beside, &mut open);
    }
    heading(&mut page, "readers", "Who can read what");
    readers::of_plan(&mut page, regions, explanation);
    match since {
        Some(SinceRecord { unknown: None, .. }) => {
            heading(&mut page, "findings", "Findings that the base has too");
            page.raw("<details>");
            page.element("summary", counted(of(true).count(), "finding", "findings"));
            findings(&mut page, of(true));
            page.raw("</details>\n");
        }
        since => {
            heading(&mut page, "findings", "Findings");
            if let Some(SinceRecord { base, unknown: Some(why), .. }) = since {
                let told = Text::from("All findings are shown: the base ").code(base).then(" cannot be judged: ");
                page.element("p class=\"changed\"", told.code(why));
            }
            findings(&mut page, summary.findings.iter());
        }
    }
    silenced(&mut page, summary.silenced.iter());
    heading(&mut page, "timeline", "Timeline");
    timeline::of(&mut page, life, fleet);
    end(page)
}

impl<'p> Beside<'p> {
    fn of(summary: &'p Summary, explanation: &'p Explanation, ages: Ages<'p>) -> Self {
        let claims = explanation.claims.iter();
        let claims = claims.map(|it| ((it.region.as_deref().unwrap_or_default(), &*it.credential), it)).collect();
        let mut found: BTreeMap<(&str, &str), Vec<&FindingRecord>> = BTreeMap::new();
        for finding in summary.findings.iter().filter(|finding| finding.severity != Severity::Info) {
            if let (Some(region), Some(credential)) = (&finding.region, &finding.credential) {
                found.entry((region, credential)).or_default().push(finding);
            }
        }
        Self { claims, ages, found }
    }
}

/// The page of an explanation.
pub fn explain(explanation: &Explanation, life: Option<&Log>, maker: Maker<'_>) -> String {
    let ages = timeline::ages(life, &explanation.fleet);
    let mut page = begin(&format!("pouch explain {}", explanation.question));
    page.element("h1", &explanation.question);
    made(&mut page, maker, &Text::from(format!(", in fleet {}", explanation.fleet)));
    navigation(&mut page, &["changes", "readers", "findings", "timeline"]);
    heading(&mut page, "changes", "What is needed");
    page.raw("<div class=\"cards\">");
    let mut open = OPEN;
    for claim in &explanation.claims {
        let region = claim.region.as_deref().unwrap_or_default();
        let age = ages.get(&(region, &*claim.credential)).map(Vec::as_slice).unwrap_or_default();
        let found = claim.findings.iter().filter(|finding| finding.severity != Severity::Info);
        let found: Vec<&FindingRecord> = found.collect();
        let told = Told { lines: Vec::new(), found: &found, age };
        card(&mut page, &claim.credential, told, Some(claim), &mut open);
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
    findings(&mut page, all.iter());
    silenced(&mut page, explanation.claims.iter().flat_map(|claim| &claim.silenced));
    heading(&mut page, "timeline", "Timeline");
    timeline::of(&mut page, life, &explanation.fleet);
    end(page)
}

/// The page of what the regions' clusters have of what is published for them.
pub fn standing(standing: &Standing, maker: Maker<'_>) -> String {
    let mut page = begin(&format!("pouch verify for {}", standing.fleet));
    page.element("h1", format!("Regions of fleet {}", standing.fleet));
    made(&mut page, maker, &Text::default());
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
    findings(&mut page, all.iter());
    end(page)
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

/// Says by what a page was made and when, and after that what else is to be said of the whole.
fn made(page: &mut Html, maker: Maker<'_>, more: &Text) {
    page.raw("<p class=\"dim\">");
    page.text(&format!("As of {} UTC, by pouch {}", minute(maker.time), maker.release));
    page.spans(more);
    page.raw("</p>\n");
}

fn end(mut page: Html) -> String {
    page.element("p class=\"dim\"", "This page shows no value of any Secret, and loads nothing.");
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
    page.raw("<div class=\"scroll\"><table class=\"rows\"><tr><th>region<th>what would happen<th>objects");
    columns.iter().for_each(|(word, _)| page.raw(&format!("<th>{word}")));
    page.raw("</tr>\n");
    for region in regions {
        page.raw("<tr><td>");
        page.element("code", &region.name);
        page.raw(if region.outcome == Outcome::Held { "<td class=\"held\">" } else { "<td>" });
        page.text(&region.named(word));
        page.raw(&format!("<td class=\"n\" title=\"objects\">{}", region.objects));
        for (word, count) in &columns {
            match count(region) {
                0 => page.raw("<td>"),
                count => page.raw(&format!("<td class=\"n {word}\" title=\"{word}\">{count}")),
            }
        }
        page.raw("</tr>\n");
    }
    page.raw("</table></div>\n");
}

/// What changes in one region: what is held, who can read more or less, a card for each Credential, fields.
fn changes(page: &mut Html, region: &Region, beside: &Beside<'_>, open: &mut usize) {
    page.element("h3", &region.name);
    page.raw("\n");
    region.holds.iter().for_each(|hold| held(page, region, hold));
    for (recipients, class, words) in
        [(&region.recipients_added, "withdrawn", region.gains()), (&region.recipients_removed, "dim", region.loses())]
    {
        for recipient in recipients {
            page.element(
                &format!("p class=\"{class}\""),
                Text::of(Tone::Code, region.recipient(recipient)).then(format!(" {words}")),
            );
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
        let at = (region.name.as_str(), credential);
        let told = Told {
            lines,
            found: beside.found.get(&at).map(Vec::as_slice).unwrap_or_default(),
            age: beside.ages.get(&at).map(Vec::as_slice).unwrap_or_default(),
        };
        card(page, credential, told, beside.claims.get(&at).copied(), open);
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

/// What is told of a Credential.
struct Told<'t> {
    /// What becomes of it.
    lines: Vec<Text>,
    /// What was found of it.
    found: &'t [&'t FindingRecord],
    /// How old its values are.
    age: &'t [String],
}

/// One Credential: what becomes of it, and its chain.
fn card(
    page: &mut Html,
    credential: &str,
    Told { lines, found, age }: Told<'_>,
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
    for finding in found {
        let head = Text::of(finding.severity.into(), finding.severity.word()).then(" ").code(finding.code.text());
        page.raw("<p>");
        page.spans(&head.then(": "));
        page.spans(&prose(&finding.message));
        page.raw("</p>");
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
fn findings<'f>(page: &mut Html, all: impl Iterator<Item = &'f FindingRecord>) {
    let (quiet, told): (Vec<&FindingRecord>, Vec<&FindingRecord>) =
        all.partition(|finding| finding.severity == Severity::Info);
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
        page.prose("dd", &group.first.help);
    }
    page.raw("</dl>");
}

/// What was found, whom it concerns and where it stands.
fn head_of<T: Tell>(page: &mut Html, group: &Group<'_, T>, finding: fn(&T) -> &FindingRecord) {
    page.prose("dt", &finding(group.first).message);
    let more = group.places(|it| place(finding(it)));
    let more = (more > 0).then(|| counted(more, "other place", "other places"));
    let about = [place(finding(group.first)), more, concerned(&group.whose(), NAMED)];
    let about: Vec<String> = about.into_iter().flatten().collect();
    if !about.is_empty() {
        page.element("dd class=\"dim\"", about.join(", "));
    }
}
