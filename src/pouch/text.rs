//! Text for people from templates: the commit message. The only file that names tera.
//!
//! Templates come from here or from the configuration, never from a source, and get only counts and checked
//! names. The subject is one line whatever a template says.

use pouch_core::report::escape;
use pouch_core::report::summary::{Outcome, Region};
use tera::{Context, Tera};

/// The subject unless the configuration has another one.
const SUBJECT: &str = "{% if regions | length == 0 %}{{ fleet }}: files of the whole fleet\
                       {% elif regions | length == 1 %}{{ regions[0] }}: {{ changes }} changes\
                       {% else %}{{ regions | length }} regions: {{ changes }} changes{% endif %}";

/// The longest subject, in characters.
const MOST: usize = 120;

/// The trailer that names an acceptance which let something through.
pub const ACCEPTED: &str = "Pouch-Accepted";

/// The trailer that names the folders of regions which were not looked at, or left as they were.
pub const UNPROVED: &str = "Pouch-Unproved";

/// What the trailers of a message say.
pub struct Trailers<'a> {
    /// The fleet.
    pub fleet: &'a str,
    /// The commit of each git source, by its name.
    pub revisions: &'a [(String, String)],
    /// What was accepted.
    pub accepted: Vec<String>,
    /// The folders of regions of which this commit proves nothing.
    pub unproved: Vec<&'a str>,
}

/// Writes the message of a commit: a subject, a line for each region, and trailers.
pub fn commit_message(template: Option<&str>, regions: &[Region], trailers: &Trailers<'_>) -> Result<String, String> {
    let Trailers { fleet, revisions, accepted, unproved } = trailers;
    let moved: Vec<&Region> =
        regions.iter().filter(|region| matches!(region.outcome, Outcome::Published | Outcome::Withdrawn)).collect();
    let changes: usize = moved.iter().map(|region| region.changes.len()).sum();
    let names: Vec<&str> = moved.iter().map(|region| region.name.as_str()).collect();
    let mut context = Context::new();
    context.insert("fleet", fleet);
    context.insert("regions", &names);
    context.insert("changes", &changes);
    let tera = Tera::default();
    let written = tera.render_str(template.unwrap_or(SUBJECT), &context, false);
    let subject = written.map_err(|error| format!("output.git.message is no usable template: {error}"))?;
    let subject = subject.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("pouch");
    let subject: String = escape(subject).chars().take(MOST).collect();

    let mut message = format!("{subject}\n\n");
    for region in &moved {
        let count = |action: &str| region.changes.iter().filter(|change| change.action == action).count();
        let parts: Vec<String> = ["added", "changed", "resealed", "withdrawn"]
            .into_iter()
            .filter(|action| count(action) > 0)
            .map(|action| format!("{} {action}", count(action)))
            .collect();
        let what = if parts.is_empty() { "manifest only".to_owned() } else { parts.join(", ") };
        message.push_str(&format!("- {}: {}, {what}\n", escape(&region.name), region.outcome.word()));
    }
    if !moved.is_empty() {
        message.push('\n');
    }
    message.push_str(&format!("Pouch-Fleet: {}\n", escape(fleet)));
    message.push_str(&format!("Pouch-Version: {}\n", env!("CARGO_PKG_VERSION")));
    for (source, revision) in *revisions {
        message.push_str(&format!("Pouch-Source: {} {}\n", escape(source), escape(revision)));
    }
    for accepted in accepted {
        message.push_str(&format!("{ACCEPTED}: {}\n", escape(accepted)));
    }
    if !unproved.is_empty() {
        message.push_str(&format!("{UNPROVED}: {}\n", unproved.join(" ")));
    }
    Ok(message)
}
