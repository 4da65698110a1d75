//! What became of it before: how old values are, and the last commits.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::html::Html;
use crate::listing::counted;
use crate::log::text::{Most, lines};
use crate::log::{CommitRecord, Log, SecretRecord};
use crate::report::commit::{day, minute, short};
use crate::report::document::{Text, Tone};

/// How many commits are told, and how much of each.
const COMMITS: usize = 20;
const MOST: Most = Most { commits: COMMITS, lines: 10, names: 5, fleets: false };

/// How old the values of Secrets are, by region and Credential.
pub(super) type Ages<'l> = BTreeMap<(&'l str, &'l str), Vec<String>>;

/// What is known of the ages of what Credentials have.
pub(super) fn ages<'l>(life: Option<&'l Log>, fleet: &str) -> Ages<'l> {
    let mut ages = Ages::new();
    // A repository may have the bundles of several fleets.
    for secret in life.iter().flat_map(|life| &life.secrets).filter(|secret| secret.fleet == fleet) {
        let region = secret.region.as_ref().unwrap_or(&secret.directory);
        for credential in &secret.credentials {
            ages.entry((region, credential)).or_default().push(age(secret));
        }
    }
    ages
}

fn age(secret: &SecretRecord) -> String {
    let what = if secret.changed { "a value was last known to change" } else { "first published" };
    let perhaps = match &secret.perhaps_rotated {
        Some(commit) => format!(", and perhaps changed on {}", day(&commit.time)),
        None => String::new(),
    };
    format!("Secret {}: {what} on {}{perhaps}", secret.name, day(&secret.rotated.time))
}

/// The last commits that changed something.
pub(super) fn of(page: &mut Html, life: Option<&Log>, fleet: &str) {
    let of_fleet = |commit: &CommitRecord| {
        let events: Vec<_> = commit.events.iter().filter(|event| event.fleet == fleet).cloned().collect();
        (!events.is_empty()).then(|| CommitRecord { events, ..commit.clone() })
    };
    let commits = life.and_then(|life| life.commits.as_ref()).into_iter().flatten();
    let commits: Vec<CommitRecord> = commits.filter_map(of_fleet).collect();
    if commits.is_empty() {
        page.element("p", "Nothing is known of what was published before.");
        return;
    }
    for commit in commits.iter().take(COMMITS) {
        one(page, commit);
    }
    let rest = commits.iter().skip(COMMITS).count();
    if rest > 0 {
        let rest = counted(rest, "older commit", "older commits");
        page.element("p class=\"dim\"", format!("and {rest}; `pouch log` tells all"));
    }
}

fn one(page: &mut Html, record: &CommitRecord) {
    let CommitRecord { commit, subject, .. } = record;
    let head = Text::of(Tone::Dim, minute(&commit.time)).then(" ").code(short(&commit.id)).then(format!(" {subject}"));
    page.raw("<details>");
    page.element("summary", head);
    page.list(lines(record, MOST).iter().map(Text::to_string));
    page.raw("</details>\n");
}
