//! A plan in Markdown, for a comment on a pull request.
//!
//! Names and messages come from manifests that anybody may write, so each stands in a code span: there neither HTML nor
//! Markdown counts, and GitHub makes no mention, link or emoji of it.
//! <https://github.github.com/gfm/#code-spans>

use alloc::string::String;
use alloc::vec::Vec;

use super::escape;
use super::group::{Group, Tell, concerned, counts, groups, place};
use super::names::{Names, fields, held_by_acceptances, readable};
use super::summary::{FindingRecord, Outcome, Region, SilencedRecord, Summary};
use crate::finding::Severity;
use crate::listing::{counted, cut};

/// The longest comment that GitHub takes, in characters.
const MOST: usize = 65_536;

/// What is kept for the last words.
const LAST_WORDS: usize = 256;

/// How many lines of names, and of fields, a region has.
const LINES: usize = 100;

/// How many Credentials are named where many are concerned.
const NAMED: usize = 5;

/// How many Secrets are listed for recipients that are added.
const NAMES: usize = 20;

/// How many characters of such a line are shown.
const CHARS: usize = 300;

/// A plan; `word` says what would become of a region.
pub fn plan(summary: &Summary, word: fn(Outcome) -> &'static str) -> String {
    let mut out = Out::default();
    let regions = summary.regions.as_deref().unwrap_or_default();
    let (quiet, loud): (Vec<&Region>, Vec<&Region>) = regions.iter().partition(|region| region.is_quiet());
    let fleet = summary.fleet.as_deref().map(|fleet| format!(" for fleet {}", code(fleet))).unwrap_or_default();
    out.line(&format!("### pouch plan{fleet}\n"));
    let is_unseen = summary.no_values;
    if is_unseen {
        out.line("No Secret was looked into: whether values change is not told.\n");
    }
    if loud.is_empty() {
        out.line(if is_unseen { "As far as names tell, nothing would change.\n" } else { "Nothing would change.\n" });
    }
    // Who writes much must not push out of sight what others would lose, so that comes before what is said in detail.
    for region in &loud {
        out.head(region, word(region.outcome));
    }
    if !loud.is_empty() {
        out.line("");
    }
    if let Some(command) = &summary.accept_command {
        let what = held_by_acceptances(regions);
        out.line(&format!("To let through {what}: {}\n", code(command)));
    }
    out.counts(&summary.findings);
    for region in &loud {
        out.region(region);
    }
    if !quiet.is_empty() && !loud.is_empty() {
        let names: Vec<String> = quiet.iter().take(LINES).map(|region| code(&region.name)).collect();
        let more = quiet.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        out.line(&format!("Unchanged: {}{more}\n", names.join(", ")));
    }
    out.findings(&summary.findings);
    out.silenced(&summary.silenced);
    out.done("pouch plan")
}

/// Markdown that is no longer than a comment may be.
#[derive(Default)]
pub struct Out {
    text: String,
    chars: usize,
    /// Lines for which there was no room.
    left_out: usize,
}

impl Out {
    /// Adds a line, if there is room.
    pub fn line(&mut self, line: &str) {
        let chars = line.chars().count().saturating_add(1);
        // Once a line is left out, none follows that would seem to belong to another one.
        if self.left_out > 0 || self.chars.saturating_add(chars) > MOST.saturating_sub(LAST_WORDS) {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.chars = self.chars.saturating_add(chars);
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// What becomes of a region, in a few lines.
    fn head(&mut self, region: &Region, word: &str) {
        let objects = counted(region.objects, "object", "objects");
        let unseen = match region.unseen {
            0 => String::new(),
            count => format!(", {} not looked into", counted(count, "Secret", "Secrets")),
        };
        let counts: String = region.counts().map(|(action, count)| format!(", {count} {}", action.word())).collect();
        let stay = [("carried over", region.carried), ("handed over", region.handover)];
        let stay: String =
            stay.iter().filter(|(_, count)| *count > 0).map(|(word, it)| format!(", {it} {word}")).collect();
        self.line(&format!("- {} {word}, {objects}{counts}{stay}{unseen}", code(&region.name)));
        for hold in &region.holds {
            let accept = hold.flag.as_deref().zip(hold.value.as_deref());
            let lets = region.lets_through();
            let accept = accept.map(|(flag, value)| format!("; {} {lets}", code(&format!("{flag} {value}"))));
            self.line(&format!("  - **held:** {}{}", code(hold.code.text()), accept.unwrap_or_default()));
        }
        for recipient in &region.recipients_added {
            self.line(&format!("  - **{}:** {}", region.gains(), code(recipient)));
        }
        for recipient in &region.recipients_removed {
            self.line(&format!("  - {}: {}", region.loses(), code(recipient)));
        }
    }

    /// How much was found.
    fn counts(&mut self, findings: &[FindingRecord]) {
        let groups = groups(findings.iter().filter(|finding| finding.severity != Severity::Info));
        if !groups.is_empty() {
            self.line(&format!("{}; they stand at the end.\n", counts(&groups)));
        }
    }

    /// What becomes of whom in a region.
    fn region(&mut self, region: &Region) {
        let lines: Vec<String> = readable(region, NAMES).into_iter().chain(Names::of(region).lines(LINES)).collect();
        let fields = fields(region, LINES);
        if lines.is_empty() && fields.is_empty() {
            return;
        }
        self.line(&format!("#### {}\n", code(&region.name)));
        for line in lines {
            self.line(&format!("- {}", code(&cut(line.trim(), CHARS))));
        }
        for line in fields {
            self.line(&format!("  - {}", code(&cut(&line, CHARS))));
        }
        self.line("");
    }

    fn findings(&mut self, findings: &[FindingRecord]) {
        let groups = groups(findings.iter().filter(|finding| finding.severity != Severity::Info));
        if groups.is_empty() {
            return;
        }
        self.line(&format!("#### {}\n", counted(groups.len(), "finding", "findings")));
        for group in &groups {
            self.head_of(group, |finding| finding);
            let help = Some(&group.first.help).filter(|help| !help.is_empty());
            for line in group.consequence(NAMED).iter().chain(help) {
                self.line(&format!("  - {}", code(&cut(line, CHARS))));
            }
        }
        self.line("");
    }

    /// What annotations silence, and why: whoever reviews should see that too.
    fn silenced(&mut self, silenced: &[SilencedRecord]) {
        let groups = groups(silenced);
        if groups.is_empty() {
            return;
        }
        self.line(&format!("#### {} silenced by annotations\n", counted(groups.len(), "finding", "findings")));
        for group in &groups {
            self.head_of(group, |silenced| &silenced.finding);
            self.line(&format!("  - silenced: {}", code(&cut(&group.first.reason, CHARS))));
        }
        self.line("");
    }

    /// What was found, whom it concerns and where it stands.
    fn head_of<T: Tell>(&mut self, group: &Group<'_, T>, finding: fn(&T) -> &FindingRecord) {
        let FindingRecord { severity, code: text, message, .. } = finding(group.first);
        let at = place(finding(group.first)).map(|at| format!(" at {}", code(&at))).unwrap_or_default();
        let at = match group.places(|it| place(finding(it))) {
            0 => at,
            more => format!("{at} and {}", counted(more, "other place", "other places")),
        };
        let whose = concerned(&group.whose(), NAMED).map(|whose| format!(" for {}", code(&cut(&whose, CHARS))));
        let whose = whose.unwrap_or_default();
        self.line(&format!(
            "- **{}** {}{whose}{at}: {}",
            severity.word(),
            code(text.text()),
            code(&cut(message, CHARS))
        ));
    }

    /// The text, which ends with how many lines there was no room for, and what tells all.
    pub fn done(mut self, whole: &str) -> String {
        if self.left_out > 0 {
            self.text
                .push_str(&format!("\n… and {} more. `{whole}` tells all.\n", counted(self.left_out, "line", "lines")));
        }
        self.text
    }
}

/// A code span: of as many backticks as no run inside has.
pub fn code(text: &str) -> String {
    let text = escape(text);
    let runs = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(runs.saturating_add(1));
    // One space at each end is not shown, and keeps a backtick or a space of the text's own apart.
    let is_bare = !text.is_empty() && !text.starts_with(['`', ' ']) && !text.ends_with(['`', ' ']);
    let pad = if is_bare { "" } else { " " };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_holds_whatever_stands_in_it() {
        for (text, expected) in [
            ("a", "`a`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            (" a", "`  a `"),
            ("", "`  `"),
            ("a\n<b>@c", "`a\\u{a}<b>@c`"),
        ] {
            assert_eq!(code(text), expected);
        }
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut out = Out::default();
        (0..9000).for_each(|_| out.line("0123456789"));
        let text = out.done("pouch plan");
        assert!(text.chars().count() <= MOST, "{}", text.chars().count());
        let told = text.matches("0123456789").count();
        assert!(text.ends_with(&format!("… and {} lines more. `pouch plan` tells all.\n", 9000 - told)), "{text}");
    }
}
