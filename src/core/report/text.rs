//! Findings as people read them: severity, code, what; where; whose; what to do.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::{Document, Text, Tone};
use super::group::{self, Group};
use crate::finding::{Code, Finding, Severity};
use crate::listing::counted;
use crate::silence::Silenced;

/// Where the page of each code stands, for terminals that show links.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Links(BTreeMap<Code, String>);

impl Links {
    /// The address of a code's page, if there is one.
    pub fn page(&self, code: Code) -> Option<&str> {
        self.0.get(&code).map(String::as_str)
    }
}

impl FromIterator<(Code, String)> for Links {
    fn from_iter<I: IntoIterator<Item = (Code, String)>>(links: I) -> Self {
        Self(links.into_iter().collect())
    }
}

/// How many findings of a code are told in full, and how many claimants of each, unless all are asked for.
const MOST: usize = 5;

/// Findings, each followed by an empty line, and last how many there are; nothing where there are none.
///
/// What is said of many claimants in the same words is said once, and what follows from a finding is told below it. Of a
/// code, a few of as many sources and namespaces as can be are told in full, and the rest are counted unless `all` are wanted.
pub fn findings(findings: &[&Finding], links: &Links, all: bool) -> Document {
    let groups = group::groups(findings.iter().copied());
    let mut out = Document::default();
    let most = if all { usize::MAX } else { MOST };
    let kind = |group: &Group<'_, Finding>| (group.first.severity, group.first.code);
    let mut told: BTreeMap<(Severity, Code), usize> = BTreeMap::new();
    let mut rest: BTreeMap<(Severity, Code), usize> = BTreeMap::new();
    let mut is_told: BTreeSet<usize> = BTreeSet::new();
    for (at, group) in in_turn(&groups) {
        let count = told.entry(kind(group)).or_default();
        // What others follow from is told wherever it stands, and so is what stands for others.
        let is_one = *count < most || !group.consequences.is_empty() || group.first.is_rest();
        let count = if is_one { count } else { rest.entry(kind(group)).or_default() };
        *count = count.saturating_add(1);
        is_told.extend(is_one.then_some(at));
    }
    // One alone is told rather than counted.
    rest.retain(|_, count| *count > 1);
    let is_rest: BTreeSet<(Severity, Code)> = rest.keys().copied().collect();
    for (at, group) in groups.iter().enumerate() {
        if is_told.contains(&at) || !is_rest.contains(&kind(group)) {
            for group in core::iter::once(group).chain(group.consequences.iter().filter(|_| all)) {
                one(&mut out, group, links, most);
                out.blank();
            }
        } else if let Some(rest) = rest.remove(&kind(group)) {
            out.item(0, head(group.first.severity, group.first.code, links).then(format!(": {rest} more of these")));
            let code = group.first.code.text();
            out.item(1, mark("= help:", &format!("-v tells all of them; `pouch help {code}` says what they mean.")));
            out.blank();
        }
    }
    if !groups.is_empty() {
        out.item(0, group::counts(&groups));
    }
    out
}

/// Groups with their places, the first of each source before the second of any, and so the namespaces of a source, or the regions:
/// who has much keeps room for the others.
fn in_turn<'g, 'f>(groups: &'g [Group<'f, Finding>]) -> Vec<(usize, &'g Group<'f, Finding>)> {
    let mut met: BTreeMap<(Code, &str, &str), usize> = BTreeMap::new();
    let mut turn = |code, source, within| {
        let met = met.entry((code, source, within)).or_default();
        *met = met.saturating_add(1);
        *met
    };
    let mut order: Vec<(usize, &Group<'f, Finding>, &str, usize)> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let source = group.first.origin.as_ref().map(|origin| origin.source.as_str()).unwrap_or_default();
        let region = group.first.region.as_ref().map(|region| region.as_str());
        let within = group.first.namespace().map(|namespace| namespace.as_str()).or(region).unwrap_or_default();
        order.push((at, group, source, turn(group.first.code, source, within)));
    }
    order.sort_by_key(|(.., turn)| *turn);
    let mut met: BTreeMap<(Code, &str), usize> = BTreeMap::new();
    let mut turns: Vec<(usize, usize, &Group<'f, Finding>)> = Vec::new();
    for (at, group, source, _) in order {
        let met = met.entry((group.first.code, source)).or_default();
        *met = met.saturating_add(1);
        turns.push((*met, at, group));
    }
    turns.sort_by_key(|(turn, at, _)| (*turn, *at));
    turns.into_iter().map(|(_, at, group)| (at, group)).collect()
}

/// One finding, several lines.
pub fn finding(finding: &Finding, links: &Links) -> Document {
    let mut out = Document::default();
    group::groups([finding]).iter().for_each(|group| one(&mut out, group, links, 1));
    out
}

/// Findings that annotations silence, each with its reason and followed by an empty line.
pub fn silenced(silenced: &[Silenced], links: &Links) -> Document {
    let mut out = Document::default();
    for Silenced { finding, reason } in silenced {
        group::groups([finding]).iter().for_each(|group| one(&mut out, group, links, 1));
        out.item(1, mark("= silenced:", reason));
        out.blank();
    }
    out
}

impl From<Severity> for Tone {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Tone::Error,
            Severity::Warning => Tone::Warning,
            Severity::Info => Tone::Info,
        }
    }
}

/// The head of a finding: `error[code]`.
pub fn head(severity: Severity, code: Code, links: &Links) -> Text {
    let tone = severity.into();
    let text = Text::of(tone, format!("{}[", severity.word()));
    text.and(tone, code.text()).linked(links.page(code)).and(tone, "]")
}

/// More about a finding.
pub fn mark(mark: &str, text: &str) -> Text {
    Text::of(Tone::Mark, mark).then(format!(" {text}"))
}

fn one(out: &mut Document, group: &Group<'_, Finding>, links: &Links, most: usize) {
    let finding = group.first;
    out.item(0, head(finding.severity, finding.code, links).then(": ").and(Tone::Strong, &*finding.message));
    let mut line = |sign: &str, text: &str| out.item(1, mark(sign, text));
    if let Some(origin) = &finding.origin {
        let more = match group.places(|finding| finding.origin.as_ref()) {
            0 => String::new(),
            count => format!(" and {}", counted(count, "other place", "other places")),
        };
        line("-->", &format!("{origin}{more}"));
    }
    // A claimant's own object is named with the claimant.
    let mut claimants = group.all.iter().filter_map(|finding| finding.claimant.as_ref());
    let object = finding.object.as_ref().filter(|object| !claimants.any(|claimant| claimant.is_named(object)));
    if let Some(object) = object.map(|object| format!("{object}"))
        && !finding.message.contains(&object)
    {
        line("=", &object);
    }
    if let Some(whose) = group::concerned(&group.whose(), most) {
        line("=", &whose);
    }
    if let Some(consequence) = group.consequence(most) {
        line("=", &consequence);
    }
    if !finding.help.is_empty() {
        line("= help:", &finding.help);
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal::{Paint, terminal};
    use super::*;
    use crate::finding::{Origin, Place};
    use crate::name::{Claimant, ObjectKey};

    #[test]
    fn a_finding_reads_from_what_to_what_to_do() {
        let credential = Claimant::credential("team-a".into(), "aws".into());
        let place = Place::File { path: "a\u{1b}.yaml".into(), line: 3, column: 1 };
        let shown = finding(
            &Finding::new(Code::MissingReference, "spec.secretRef names Secret kcm-system/x, which is in no source")
                .at(&Origin { source: "s".into(), place })
                .claimed_by(&credential)
                .in_region(&"eu".into())
                .help("Add it."),
            &Links::default(),
        );
        let shown = terminal(&shown, Paint::Plain);
        let expected = "error[missing-reference]: spec.secretRef names Secret kcm-system/x, which is in no source\n  \
                        --> a\\u{1b}.yaml:3:1\n  = Credential team-a/aws, region eu\n  = help: Add it.\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_claimants_own_object_is_named_once() {
        let by = Claimant::credential("team-a".into(), "aws".into());
        let of = |key: &ObjectKey| {
            let found = Finding::new(Code::NullEntry, "x").claimed_by(&by).about(key);
            terminal(&finding(&found, &Links::default()), Paint::Plain)
        };
        let own = crate::kinds::claimant(&by).unwrap();
        assert_eq!(of(&own), "warning[null-entry]: x\n  = Credential team-a/aws\n");
        let other = ObjectKey { name: "other".into(), ..own };
        assert!(of(&other).contains("team-a/other\n  = Credential team-a/aws\n"), "{}", of(&other));
    }

    #[test]
    fn what_is_said_of_many_is_said_once_and_the_rest_is_counted() {
        let of = |name: &str, message: &str| {
            let claimant = Claimant::credential("team-a".into(), name.into());
            Finding::new(Code::MissingReference, message).claimed_by(&claimant).in_region(&"eu".into())
        };
        let mut all: Vec<Finding> = (0..8).map(|n| of(&format!("c{n}"), "the same")).collect();
        let text = |all: &[Finding], whole| {
            terminal(&findings(&all.iter().collect::<Vec<_>>(), &Links::default(), whole), Paint::Plain)
        };
        let shown = text(&all, false);
        assert_eq!(shown.matches("error[missing-reference]: the same\n").count(), 1, "{shown}");
        let whose = "  = 8 Credentials, region eu: team-a/c0, team-a/c1, team-a/c2, team-a/c3, team-a/c4 and 3 more\n";
        let count = "\n1 error (8 findings, counted by Credential and region)\n";
        assert!(shown.contains(whose) && shown.ends_with(count), "{shown}");
        assert!(text(&all, true).contains(", team-a/c6, team-a/c7\n"));
        // One after the fifth is told, two are counted.
        all = (0..6).map(|n| of("c", &format!("number {n}"))).collect();
        assert!(text(&all, false).contains("number 5"));
        all.push(of("c", "number 6"));
        all.push(Finding::new(Code::NullEntry, "a warning"));
        let shown = text(&all, false);
        assert!(shown.contains("number 4") && !shown.contains("number 5"), "{shown}");
        assert!(shown.contains("error[missing-reference]: 2 more of these\n  = help: -v tells"), "{shown}");
        assert!(shown.ends_with("warning[null-entry]: a warning\n\n7 errors, 1 warning\n"), "{shown}");
        assert!(text(&all, true).contains("number 6") && text(&[], false).is_empty());
    }

    #[test]
    fn a_code_is_a_link_wherever_it_heads_a_finding() {
        let links: Links = [(Code::MissingReference, String::from("file://h/x.txt"))].into_iter().collect();
        let linked = "[\u{1b}]8;;file://h/x.txt\u{1b}\\missing-reference\u{1b}]8;;\u{1b}\\]";
        let all: Vec<Finding> = (0..8).map(|n| Finding::new(Code::MissingReference, format!("number {n}"))).collect();
        let shown = terminal(&findings(&all.iter().collect::<Vec<_>>(), &links, false), Paint::Plain);
        assert_eq!(shown.matches(linked).count(), MOST + 1, "{shown}");
        let other = terminal(&finding(&Finding::new(Code::NullEntry, "x"), &links), Paint::Plain);
        assert_eq!(other, "warning[null-entry]: x\n");
    }

    #[test]
    fn a_place_in_a_commit_names_its_source() {
        let at = |path: &str| {
            let origin =
                Origin { source: "team-a".into(), place: Place::File { path: path.into(), line: 3, column: 1 } };
            terminal(
                &finding(&Finding::new(Code::UnparsableDocument, "x").at(&origin), &Links::default()),
                Paint::Plain,
            )
        };
        assert!(at("HEAD:credentials/x.yaml").contains("\n  --> HEAD:credentials/x.yaml:3:1 in team-a\n"));
        assert!(at("credentials/x.yaml").contains("\n  --> credentials/x.yaml:3:1\n"));
    }
}
