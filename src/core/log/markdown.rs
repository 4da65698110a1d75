//! The life of what is published as a document for an issue or a comment.
//!
//! Names, subjects and authors come from whoever writes manifests and commits, so each is code.

use alloc::string::ToString as _;

use super::schema::{CommitRecord, Log};
use super::text::{Most, lines, looked, no_secrets, none_older, nothing, now, older, sources, untold};
use crate::report::commit::{minute, short};
use crate::report::document::{Document, Text, Tone};

/// The whole answer.
pub fn document(log: &Log) -> Document {
    let mut out = Document::default();
    let all = Most::ALL.of(log);
    let title = Text::from("pouch log");
    out.heading(3, log.question.iter().fold(title, |title, question| title.then(" of ").code(question)));
    let code = |line: &Text| Text::of(Tone::Code, line.to_string().trim());
    out.items(0, looked(&log.looked).iter().map(code));
    out.blank();
    match &log.commits {
        Some(commits) => {
            if commits.is_empty() {
                nothing(log).into_iter().for_each(|line| out.line(line));
            }
            commits.iter().for_each(|record| commit(&mut out, record, all));
        }
        None if log.looked.branches.is_empty() => {}
        None => {
            for group in older(log, all) {
                out.heading(4, Text::of(Tone::Code, group.title));
                out.items(0, group.lines.into_iter().map(|line| Text::of(Tone::Code, line)));
                out.blank();
            }
            if let Some(line) = no_secrets(log) {
                out.line(Text::of(Tone::Code, line));
            }
            if log.secrets.is_empty() {
                out.line(none_older(log));
            }
        }
    }
    let is_now = log.question.is_some() && log.commits.is_some() && !log.secrets.is_empty();
    if is_now {
        out.heading(4, "Published now");
        out.items(0, now(log, all).into_iter().map(|line| Text::of(Tone::Code, line)));
        out.blank();
    }
    if let Some(line) = untold(log).filter(|_| is_now || log.commits.is_none()) {
        out.line(Text::of(Tone::Code, line));
    }
    out
}

fn commit(out: &mut Document, record: &CommitRecord, all: Most) {
    let CommitRecord { commit, subject, author, .. } = record;
    let head = Text::of(Tone::Code, short(&commit.id)).then(format!(" {}: ", minute(&commit.time)));
    out.heading(4, head.code(subject));
    let by = Text::from("By ").code(author);
    out.paragraph(match record.proved {
        Some(true) => by.then(", proved to be pouch's."),
        Some(false) => by.then(", ").and(Tone::Strong, "not proved").then(" to be pouch's."),
        None => by.then("."),
    });
    out.items(0, sources(record).map(|line| Text::of(Tone::Code, line)));
    out.items(0, lines(record, all).iter().map(|line| Text::of(Tone::Code, line.to_string())));
    out.blank();
}
