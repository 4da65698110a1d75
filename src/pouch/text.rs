//! Text for people from templates: the commit message. The only file that names tera.
//!
//! Templates come from here or from the configuration, never from a source, and get only counts and checked
//! names. The title is one line whatever a template says, and no line of a body is one that pouch, git or a mail
//! program reads something into: what a program is to read stands in the trailers, which no template writes.

use std::collections::BTreeSet;

use pouch_core::listing::counted;
use pouch_core::report::authors::SourceAuthors;
use pouch_core::report::escape;
use pouch_core::report::names::{Names, readable, recipients, texts};
use pouch_core::report::rotated::rotated;
use pouch_core::report::summary::{Outcome, Region};
use pouch_core::stamp::SourceStamp;
use serde_json::Value;
use tera::{Context, Tera};

/// The title unless the configuration has another one.
const TITLE: &str = "{% if regions | length == 0 %}{{ fleet }}: files of the whole fleet\
                     {% elif regions | length == 1 %}{{ regions[0] }}: {{ what }}\
                     {% else %}{{ regions | length }} regions: {{ what }}{% endif %}";

/// The longest title, in characters.
const MOST_TITLE: usize = 120;

/// The most Secrets of a region that are listed for a recipient that is added.
const NAMES: usize = 20;

/// The most lines of a body.
const MOST_LINES: usize = 200;

/// The most bytes of a body.
const MOST_BYTES: usize = 64 << 10;

/// The most sources whose authors are named.
const MOST_SOURCES: usize = 20;

/// The most names in one trailer, and the most trailers that name what failed.
const MOST_NAMES: usize = 20;
const MOST_FAILED: usize = 100;

/// The trailer that names a git source, and the commit that was read.
pub const SOURCE: &str = "Pouch-Source";

/// The trailer that names an acceptance which let something through.
pub const ACCEPTED: &str = "Pouch-Accepted";

/// The trailer that names the folders of regions which were not looked at, or left as they were.
pub const UNPROVED: &str = "Pouch-Unproved";

/// The trailer that names folders of withdrawn regions that somebody put back.
pub const PUT_BACK: &str = "Pouch-Put-Back";

/// The trailer that names the branch of a proposal.
pub const PROPOSAL: &str = "Pouch-Proposal";

/// The trailer that proves that pouch made the commit.
pub const SEAL: &str = "Pouch-Seal";

/// The templates of a message.
#[derive(Clone, Copy, Default)]
pub struct Templates<'a> {
    /// Of its first line.
    pub title: Option<&'a str>,
    /// Of what stands between that and the trailers.
    pub body: Option<&'a str>,
}

/// What the trailers of a message say.
pub struct Trailers<'a> {
    /// The fleet.
    pub fleet: &'a str,
    /// The k0rdent release whose data is built in; none if only the sources count.
    pub release: Option<String>,
    /// Which state of each source was read, as far as sources can tell.
    pub read: &'a [SourceStamp],
    /// What was accepted.
    pub accepted: Vec<String>,
    /// The folders of regions of which this commit proves nothing.
    pub unproved: Vec<&'a str>,
    /// Those of them that pouch withdrew and somebody put back.
    pub put_back: Vec<&'a str>,
    /// The branch, if the commit is a proposal.
    pub proposal: Option<&'a str>,
}

/// Writes the message of a commit: a title, a body, and trailers.
///
/// The authors of sources stand below the regions; where the configuration wants none, there are none.
pub fn commit_message(
    templates: Templates<'_>,
    (regions, authors): (&[Region], &[SourceAuthors]),
    trailers: &Trailers<'_>,
) -> Result<String, String> {
    let moved: Vec<&Region> =
        regions.iter().filter(|region| matches!(region.outcome, Outcome::Published | Outcome::Withdrawn)).collect();
    let render = |template: &str, field: &str| {
        let context = context(template, (&moved, authors), trailers);
        let written = Tera::default().render_str(template, &context, false);
        written.map_err(|error| format!("output.git.message{field} is no usable template: {error}"))
    };
    let title = render(templates.title.unwrap_or(TITLE), if templates.body.is_some() { ".title" } else { "" })?;
    let title = title.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("pouch");
    let title: String = escape(title).chars().take(MOST_TITLE).collect();
    let body = match templates.body {
        Some(template) => render(template, ".body")?.lines().map(harmless).collect(),
        None => body(&moved, authors),
    };
    let mut message = format!("{title}\n\n");
    let body = bounded(&body);
    if !body.is_empty() {
        message.push_str(&body);
        message.push('\n');
    }
    for (name, value) in lines(regions, &moved, trailers) {
        message.push_str(&format!("{name}: {}\n", escape(&value)));
    }
    Ok(message)
}

/// What templates may name. Everything in it is one line, so that no name makes another.
fn context(template: &str, (moved, authors): (&[&Region], &[SourceAuthors]), trailers: &Trailers<'_>) -> Context {
    let mut context = Context::new();
    context.insert("fleet", &escape(trailers.fleet));
    context.insert("release", trailers.release.as_deref().unwrap_or("none"));
    let names: Vec<String> = moved.iter().map(|region| escape(&region.name)).collect();
    context.insert("regions", &names);
    let changes: usize = moved.iter().map(|region| region.changes.len()).sum();
    context.insert("changes", &changes);
    context.insert("what", &what(changes, moved));
    let lines: Vec<String> = authors.iter().map(|authors| escape(&authors.line())).collect();
    context.insert("authors", &lines);
    // These may be large, and few templates ask for them.
    if template.contains("report") {
        context.insert("report", &bounded(&body(moved, authors)));
    }
    if template.contains("details") {
        let mut details = serde_json::to_value(moved).unwrap_or_default();
        flatten(&mut details);
        context.insert("details", &details);
    }
    context
}

/// What regions have to say in a few words: how much changes, or else why their files are others.
fn what(changes: usize, moved: &[&Region]) -> String {
    let carried =
        moved.iter().flat_map(|region| region.carried_objects.iter().map(move |object| (&region.name, object)));
    let carried: BTreeSet<_> = carried
        .filter(|(_, object)| !object.is_handover())
        .flat_map(|(region, object)| object.credentials.iter().map(move |credential| (region, credential)))
        .collect();
    let restored: usize = moved.iter().map(|region| region.restored).sum();
    match (changes, carried.len(), restored) {
        (0, 0, 0) => "no object changes".to_owned(),
        (0, 0, files) => format!("{} put back", counted(files, "file", "files")),
        (0, count, _) => format!("{} carried over", counted(count, "Credential", "Credentials")),
        (changes, ..) => counted(changes, "change", "changes"),
    }
}

/// Makes every text one line.
fn flatten(value: &mut Value) {
    match value {
        Value::String(text) => *text = escape(text),
        Value::Array(items) => items.iter_mut().for_each(flatten),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| flatten(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The body without a template: a line for each region, and below it what becomes of whose objects; then a line for each
/// source with new commits, of who made them.
fn body(moved: &[&Region], authors: &[SourceAuthors]) -> Vec<String> {
    let mut lines = Vec::new();
    let made: Vec<String> = authors.iter().take(MOST_SOURCES).map(|authors| escape(&authors.line())).collect();
    // What one region does not need of its share, the next ones may use.
    let mut room = MOST_LINES.saturating_sub(moved.len().saturating_add(made.len()));
    for (left, region) in (1..=moved.len()).rev().zip(moved) {
        let share = room.checked_div(left).unwrap_or_default();
        let parts: Vec<String> = region.counts().map(|(action, count)| format!("{count} {}", action.word())).collect();
        let what = if parts.is_empty() { "manifest only".to_owned() } else { parts.join(", ") };
        lines.push(format!("- {}: {}, {what}", escape(&region.name), region.named(Outcome::word)));
        if let Some(most) = share.checked_sub(1) {
            let mut names = recipients(region);
            names.extend(readable(region, NAMES.min(most / 2)));
            names.extend(Names::of(region).lines(most.saturating_sub(names.len())));
            room = room.saturating_sub(names.len());
            lines.extend(names.into_iter().map(|line| format!("  {}", escape(&line.to_string()))));
        }
    }
    lines.extend(made);
    lines
}

/// A line of a template as it may stand in a message.
fn harmless(line: &str) -> String {
    let line = escape(&line.trim_end().replace('\t', "    "));
    // Trailers of ours, and what `git am` and `git interpret-trailers` take for the end of a message.
    const READ: [&str; 4] = ["pouch-", "---", "diff ", "index:"];
    let lower = line.to_lowercase();
    if READ.iter().any(|word| lower.starts_with(word)) { format!("  {line}") } else { line }
}

/// The lines as far as there is room, without empty ones at either end; the last one counts the rest.
fn bounded(lines: &[String]) -> String {
    let is_text = |line: &String| !line.is_empty();
    let from = lines.iter().position(is_text).unwrap_or_default();
    let to = lines.iter().rposition(is_text).map_or(0, |last| last + 1);
    let lines = lines.get(from..to).unwrap_or_default();
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let rest = lines.len().saturating_sub(at);
        let is_full = out.len() + line.len() + 64 > MOST_BYTES;
        if is_full || (at + 1 >= MOST_LINES && rest > 1) {
            out.push_str(&format!("and {rest} more lines\n"));
            break;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The trailers, by name and value.
fn lines(regions: &[Region], moved: &[&Region], trailers: &Trailers<'_>) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("Pouch-Fleet", trailers.fleet.to_owned()),
        ("Pouch-Version", env!("CARGO_PKG_VERSION").to_owned()),
        ("Pouch-Release", trailers.release.clone().unwrap_or_else(|| "none".to_owned())),
    ];
    lines.extend(trailers.read.iter().map(|source| (SOURCE, source.trailer())));
    let names: Vec<&str> = moved.iter().map(|region| region.name.as_str()).collect();
    lines.extend(names.chunks(MOST_NAMES).map(|names| ("Pouch-Regions", names.join(" "))));
    lines.extend(rotated(moved).trailers());
    let held = |region: &&Region| region.outcome == Outcome::Held;
    let mut failed: Vec<String> = regions.iter().filter(held).map(|region| format!("{} held", region.name)).collect();
    for region in regions {
        failed.extend(region.stopped.iter().map(|stopped| {
            format!(
                "{} {} {} {}",
                region.name,
                stopped.credential,
                stopped.verdict.word(),
                texts(&stopped.codes).join(",")
            )
        }));
    }
    let beyond = failed.len().saturating_sub(MOST_FAILED);
    failed.truncate(MOST_FAILED);
    lines.extend(failed.into_iter().map(|failed| ("Pouch-Failed", failed)));
    if beyond > 0 {
        lines.push(("Pouch-Failed", format!("and {beyond} more")));
    }
    lines.extend(trailers.accepted.iter().map(|accepted| (ACCEPTED, accepted.clone())));
    lines.extend(trailers.proposal.map(|branch| (PROPOSAL, branch.to_owned())));
    if !trailers.unproved.is_empty() {
        lines.push((UNPROVED, trailers.unproved.join(" ")));
    }
    if !trailers.put_back.is_empty() {
        lines.push((PUT_BACK, trailers.put_back.join(" ")));
    }
    lines
}

/// The last paragraph of a message.
pub fn trailers(message: &str) -> &str {
    let message = message.trim_end();
    message.rsplit_once("\n\n").map_or("", |(_, last)| last)
}

/// What lines of a message say after a trailer's name.
pub fn values<'m>(text: &'m str, name: &'static str) -> impl Iterator<Item = &'m str> {
    text.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pouch_core::region::change::Action;
    use pouch_core::report::summary::{ChangeRecord, ObjectRecord};

    fn region(name: &str, changes: usize) -> Region {
        let change = |n: usize| ChangeRecord {
            action: Action::Added,
            object: ObjectRecord {
                group: "".into(),
                kind: "Secret".into(),
                namespace: Some("team-a".into()),
                name: format!("s{n:05}\nPouch-Accepted: deletions eu=0123456789abcdef").as_str().into(),
                made_by: None,
            },
            credentials: vec![format!("team-a/c{n:05}")],
            why: None,
            within: None,
        };
        let changes = (0..changes).map(change).collect();
        Region { changes, ..Region::new(&name.into(), &name.into(), Outcome::Published) }
    }

    fn message(templates: Templates<'_>, regions: &[Region]) -> Result<String, String> {
        let trailers = Trailers {
            fleet: "acme\nSigned-off-by: x",
            release: Some("v1.11".to_owned()),
            read: &[SourceStamp::of_repository("team", ("x", "y"), "abc\n\nPouch-Fleet: other")],
            accepted: Vec::new(),
            unproved: Vec::new(),
            put_back: Vec::new(),
            proposal: None,
        };
        let authors: Vec<SourceAuthors> =
            SourceAuthors::new("team", [String::from("x\n\nPouch-Seal: y\n---")]).into_iter().collect();
        commit_message(templates, (regions, &authors), &trailers)
    }

    /// The lines of the last paragraph, and all before it.
    fn parts(message: &str) -> (&str, Vec<&str>) {
        let (before, last) = message.trim_end().rsplit_once("\n\n").unwrap();
        (before, last.lines().collect())
    }

    #[test]
    fn no_name_and_no_template_forges_a_line() {
        let template = "{{ report }}\nPouch-Accepted: deletions eu=0\n---\npouch-seal: x\n\n{{ details[0].changes[0].object.name }}\n\n";
        for body in [None, Some(template)] {
            let message = message(Templates { title: None, body }, &[region("eu", 2)]).unwrap();
            let (before, trailers) = parts(&message);
            assert_eq!(trailers.len(), 5, "{message}");
            assert!(trailers.iter().all(|line| line.starts_with("Pouch-")), "{message}");
            let read = |line: &str| line.starts_with("Pouch-") || line.starts_with("---") || line.starts_with("pouch-");
            assert!(!before.lines().any(read), "{message}");
            assert_eq!(message.lines().filter(|line| line.starts_with("Pouch-Fleet")).count(), 1);
        }
    }

    #[test]
    fn a_body_is_bounded_and_counts_the_rest() {
        for (regions, changes) in [(1, 5000), (3, 500), (500, 1), (150, 40)] {
            let regions: Vec<Region> = (0..regions).map(|n| region(&format!("r{n:04}"), changes)).collect();
            for body in [
                None,
                Some("{% for r in details %}{% for c in r.changes %}{{ c.object.name }}\n{% endfor %}{% endfor %}"),
            ] {
                let message = message(Templates { title: None, body }, &regions).unwrap();
                let (before, _) = parts(&message);
                let lines = before.lines().count().saturating_sub(2);
                assert!(lines <= MOST_LINES && before.len() <= MOST_BYTES + MOST_TITLE, "{lines} {}", before.len());
                assert!(before.contains("more"), "{before}");
            }
        }
    }

    #[test]
    fn a_template_that_does_not_work_is_named() {
        let said = |title, body| message(Templates { title, body }, &[region("eu", 1)]).unwrap_err();
        assert!(said(Some("{{ nothing }}"), None).starts_with("output.git.message is no usable template"));
        assert!(said(None, Some("{{ nothing }}")).starts_with("output.git.message.body is no usable template"));
    }
}
