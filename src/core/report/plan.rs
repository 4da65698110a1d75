//! A plan as a document, for a comment on a pull request.
//!
//! Names and messages come from manifests that anybody may write, so each is code: there neither HTML nor Markdown counts,
//! and GitHub makes no mention, link or emoji of it.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::document::{Document, Text, Tone};
use super::escape;
use super::group::{Group, Tell, by_news, concerned, counts, groups, place};
use super::names::{Names, fields, held_by_acceptances, readable};
use super::privileges::of_plan;
use super::summary::{FindingRecord, Outcome, PrivilegeRecord, Region, SilencedRecord, SinceRecord, Summary};
use crate::finding::Severity;
use crate::listing::{counted, cut};

/// The most lines of names, and of fields, of a region.
const LINES: usize = 100;

/// The most Credentials that are named where many are concerned.
const NAMED: usize = 5;

/// The most Secrets that are listed for recipients that are added.
const NAMES: usize = 20;

/// The most characters of such a line.
const CHARS: usize = 300;

/// A plan as a document; `word` says what would become of a region.
pub fn plan(summary: &Summary, word: fn(Outcome) -> &'static str) -> Document {
    let mut out = Document::default();
    let regions = summary.regions.as_deref().unwrap_or_default();
    let (quiet, loud): (Vec<&Region>, Vec<&Region>) = regions.iter().partition(|region| region.is_quiet());
    let title = Text::from("pouch plan");
    out.heading(3, summary.fleet.iter().fold(title, |title, fleet| title.then(" for fleet ").code(fleet)));
    let is_unseen = summary.no_values;
    if is_unseen {
        out.paragraph("No Secret was looked into: whether values change is not told.");
    }
    if loud.is_empty() {
        out.paragraph(if is_unseen { "As far as names tell, nothing would change." } else { "Nothing would change." });
    }
    // Who writes much must not push out of sight what others would lose, so that comes before what is said in detail.
    for region in &loud {
        head(&mut out, region, &region.named(word));
    }
    if !loud.is_empty() {
        out.blank();
    }
    if let Some(command) = &summary.accept_command {
        let what = held_by_acceptances(regions);
        out.paragraph(Text::from(format!("To let through {what}: ")).code(command));
    }
    privileged(&mut out, &of_plan(summary));
    let told = summary.findings.iter().filter(|finding| finding.severity != Severity::Info);
    let (new, old) = by_news(told);
    let is_held_against = summary.since.as_ref().is_some_and(|since| since.unknown.is_none());
    match &summary.since {
        Some(since) => news(&mut out, since, &new),
        None if new.is_empty() => {}
        None => out.paragraph(format!("{}; they stand at the end.", counts(&new))),
    }
    for region in &loud {
        changes(&mut out, region);
    }
    if !quiet.is_empty() && !loud.is_empty() {
        let named = quiet.iter().take(LINES).enumerate();
        let names = named.fold(Text::from("Unchanged: "), |names, (at, region)| {
            let names = if at > 0 { names.then(", ") } else { names };
            names.code(&region.name)
        });
        let more = quiet.iter().skip(LINES).count();
        out.paragraph(if more > 0 { names.then(format!(" and {more} more")) } else { names });
    }
    if !is_held_against {
        findings(&mut out, &counted(new.len(), "finding", "findings"), &new);
    }
    if !old.is_empty() {
        let title = format!("{} that the base has too", counted(old.len(), "finding", "findings"));
        out.fold(title, |out| each(out, &old));
    }
    silenced(&mut out, &summary.silenced);
    out
}

/// Says in a few lines what becomes of a region.
fn head(out: &mut Document, region: &Region, word: &str) {
    let objects = counted(region.objects, "object", "objects");
    let unseen = match region.unseen {
        0 => String::new(),
        count => format!(", {} not looked into", counted(count, "Secret", "Secrets")),
    };
    let counts: String = region.counts().map(|(action, count)| format!(", {count} {}", action.word())).collect();
    let stay = [("carried over", region.carried), ("handed over", region.handover)];
    let stay: String = stay.iter().filter(|(_, count)| *count > 0).map(|(word, it)| format!(", {it} {word}")).collect();
    out.item(0, Text::of(Tone::Code, &region.name).then(format!(" {word}, {objects}{counts}{stay}{unseen}")));
    for hold in &region.holds {
        let held = Text::of(Tone::Strong, "held:").then(" ").code(hold.code.text());
        out.item(
            1,
            match hold.flag.as_deref().zip(hold.value.as_deref()) {
                Some((flag, value)) => {
                    held.then("; ").code(format!("{flag} {value}")).then(format!(" {}", region.lets_through()))
                }
                None => held,
            },
        );
    }
    for recipient in &region.recipients_added {
        out.item(1, Text::of(Tone::Strong, format!("{}:", region.gains())).then(" ").code(region.recipient(recipient)));
    }
    for recipient in &region.recipients_removed {
        out.item(1, Text::from(format!("{}: ", region.loses())).code(region.recipient(recipient)));
    }
}

/// Says what becomes of whom in a region.
fn changes(out: &mut Document, region: &Region) {
    let lines: Vec<Text> = readable(region, NAMES).into_iter().chain(Names::of(region).lines(LINES)).collect();
    let fields = fields(region, LINES);
    if lines.is_empty() && fields.is_empty() {
        return;
    }
    out.heading(4, Text::of(Tone::Code, &region.name));
    let short = |line: &Text| short(&escape(&line.to_string()));
    out.items(0, lines.iter().map(short));
    out.items(1, fields.iter().map(short));
    out.blank();
}

/// Shows as much of a text as fits, as code.
fn short(text: &str) -> Text {
    Text::of(Tone::Code, cut(text, CHARS))
}

/// Says what a change brings, and what it cures.
fn news(out: &mut Document, since: &SinceRecord, new: &[Group<'_, FindingRecord>]) {
    let SinceRecord { base, unknown, cured, .. } = since;
    if let Some(why) = unknown {
        let told = Text::of(Tone::Strong, "All findings are shown").then(": the base ").code(base);
        out.paragraph(told.then(" cannot be judged: ").code(cut(why, CHARS)));
        return;
    }
    if new.is_empty() {
        out.paragraph(Text::from("Nothing is found that ").code(base).then(" has not."));
    }
    findings(out, &format!("{} with this change", counted(new.len(), "new finding", "new findings")), new);
    if !cured.is_empty() {
        out.heading(4, format!("{} by this change", counted(cured.len(), "finding is cured", "findings are cured")));
        out.items(0, cured.iter().take(LINES).map(|line| short(line)));
        if let more @ 1.. = cured.len().saturating_sub(LINES) {
            out.item(0, format!("and {more} more"));
        }
        out.blank();
    }
}

/// Says what is given to whom, and what is taken.
fn privileged(out: &mut Document, privileges: &[PrivilegeRecord]) {
    if privileges.is_empty() {
        return;
    }
    out.heading(4, "Privileges that this change gives and takes");
    for PrivilegeRecord { opens, words } in privileges.iter().take(LINES) {
        out.item(0, Text::of(Tone::Strong, if *opens { "opened" } else { "closed" }).then(" ").code(cut(words, CHARS)));
    }
    if let more @ 1.. = privileges.len().saturating_sub(LINES) {
        out.item(0, format!("and {more} more"));
    }
    out.blank();
}

fn findings(out: &mut Document, title: &str, groups: &[Group<'_, FindingRecord>]) {
    if groups.is_empty() {
        return;
    }
    out.heading(4, title);
    each(out, groups);
    out.blank();
}

fn each(out: &mut Document, groups: &[Group<'_, FindingRecord>]) {
    for group in groups {
        out.item(0, head_of(group, |finding| finding));
        let help = Some(&group.first.help).filter(|help| !help.is_empty());
        out.items(1, group.consequence(NAMED).iter().chain(help).map(|line| short(line)));
    }
}

/// Says what annotations silence, and why: a reviewer should see that too.
fn silenced(out: &mut Document, silenced: &[SilencedRecord]) {
    let groups = groups(silenced);
    if groups.is_empty() {
        return;
    }
    out.heading(4, format!("{} silenced by annotations", counted(groups.len(), "finding", "findings")));
    for group in &groups {
        out.item(0, head_of(group, |silenced| &silenced.finding));
        out.item(1, Text::from("silenced: ").code(cut(&group.first.reason, CHARS)));
    }
    out.blank();
}

/// Says what was found, whom it concerns and where that is.
fn head_of<T: Tell>(group: &Group<'_, T>, finding: fn(&T) -> &FindingRecord) -> Text {
    let FindingRecord { severity, code, message, .. } = finding(group.first);
    let mut head = Text::of(Tone::Strong, severity.word()).then(" ").code(code.text());
    if let Some(whose) = concerned(&group.whose(), NAMED) {
        head = head.then(" for ").code(cut(&whose, CHARS));
    }
    if let Some(at) = place(finding(group.first)) {
        head = head.then(" at ").code(at);
    }
    if let more @ 1.. = group.places(|it| place(finding(it))) {
        head = head.then(format!(" and {}", counted(more, "other place", "other places")));
    }
    head.then(": ").code(cut(message, CHARS))
}
