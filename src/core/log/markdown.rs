//! The life of what is published in Markdown, for an issue or a comment.
//!
//! Names, subjects and authors come from whoever writes manifests and commits, so each stands in a code span: there neither HTML
//! nor Markdown counts.

use alloc::string::String;

use super::schema::{CommitRecord, Log};
use super::text::{Most, lines, looked, minute, no_secrets, none_older, nothing, now, older, short, sources};
use crate::report::markdown::{Out, code};

/// The whole answer, as far as there is room in a comment.
pub fn markdown(log: &Log) -> String {
    let mut out = Out::default();
    let all = Most::ALL.of(log);
    let of = log.question.as_deref().map(|question| format!(" of {}", code(question))).unwrap_or_default();
    out.line(&format!("### pouch log{of}\n"));
    for line in looked(&log.looked) {
        out.line(&format!("- {}", code(line.trim())));
    }
    out.line("");
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
                out.line(&format!("#### {}\n", code(&group.title)));
                group.lines.iter().for_each(|line| out.line(&format!("- {}", code(line))));
                out.line("");
            }
            if let Some(line) = no_secrets(log) {
                out.line(&code(&line));
            }
            if log.secrets.is_empty() {
                out.line(&none_older(log));
            }
        }
    }
    if log.question.is_some() && log.commits.is_some() && !log.secrets.is_empty() {
        out.line("#### Published now\n");
        for line in now(log, all) {
            out.line(&format!("- {}", code(&line)));
        }
    }
    out.done("pouch log -v")
}

fn commit(out: &mut Out, record: &CommitRecord, all: Most) {
    let CommitRecord { commit, subject, author, .. } = record;
    let (id, time) = (code(&short(&commit.id)), minute(&commit.time));
    let proved = match record.proved {
        Some(true) => ", proved to be pouch's",
        Some(false) => ", **not proved** to be pouch's",
        None => "",
    };
    out.line(&format!("#### {id} {time}: {}\n", code(subject)));
    out.line(&format!("By {}{proved}.\n", code(author)));
    if let Some(sources) = sources(record) {
        out.line(&format!("- {}", code(&sources)));
    }
    for line in lines(record, all) {
        out.line(&format!("- {}", code(&line)));
    }
    out.line("");
}
