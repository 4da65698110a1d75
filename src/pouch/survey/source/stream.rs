//! Standard input as a source.
//!
//! It reads to the end and within a bound. The end of a stream proves nothing: a stream that is empty, or ends
//! within a line, counts as cut short.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use pouch_core::finding::{Code, Finding};
use pouch_core::name::SourceName;
use pouch_core::yaml::alike::Reader;

use super::again::{Files, parts_of};
use super::budget::Meter;
use super::document::{self, Form, Text};
use super::indexer::Indexer;
use super::means::Means;
use super::reading::{Reading, SourceError, whole};
use crate::error::said;

/// What standard input is called in origins.
const PATH: &str = "<stdin>";

/// Reads all documents of a stream.
pub(super) fn read(
    source: &SourceName,
    input: impl Read,
    means: Means<'_>,
    indexer: Option<&Indexer<'_>>,
) -> Result<Reading, SourceError> {
    let most = u64::try_from(means.limits.bytes).unwrap_or(u64::MAX).min(means.most_of_file());
    let mut bytes = Vec::new();
    if let Err(error) = input.take(most.saturating_add(1)).read_to_end(&mut bytes) {
        let help = "Check whether the program that writes to standard input failed.";
        return Err(SourceError::new(source, format!("standard input cannot be read: {}", said(&error)), help));
    }
    if u64::try_from(bytes.len()).map_or(true, |len| len > most) {
        let help = "Give the manifests in several files, as a directory source.";
        return Err(SourceError::new(source, format!("standard input is longer than {most} bytes"), help));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let mut reading = Reading::nothing();
        let finding = Finding::new(Code::UnparsableDocument, "standard input is empty, which proves nothing");
        let help = "Check whether the program that writes to standard input failed; an empty List says that there is \
             nothing.";
        reading.lacks(finding.at(&whole(source)).help(help));
        return Ok(reading);
    }
    let meter = Meter::new(means);
    let path = Arc::from(PATH);
    let text = Text::new((source, &path), (Form::Stream, &bytes), &meter).indexed(indexer);
    let mut reading = document::read(&text, &mut Reader::new());
    let Some(passed) = meter.passed() else {
        reading.held = meter.held().saturating_add(bytes.len());
        reading.file(Bytes(bytes));
        return Ok(reading);
    };
    let mut nothing = Reading::nothing();
    let finding = Finding::new(Code::RefusedFile, format!("standard input costs more than a source may: {passed}"));
    nothing.lacks(finding.at(&whole(source)).help("Give the manifests in several sources, or raise the limit."));
    Ok(nothing)
}

/// The bytes of a stream, which cannot be read twice.
struct Bytes(Vec<u8>);

impl Files for Bytes {
    fn parts(&self, _: &str, parts: &[Range<u32>]) -> Result<Vec<Vec<u8>>, String> {
        parts_of(&self.0, parts)
    }
}

#[cfg(test)]
mod tests {
    use pouch_core::config::SourceLimits;

    use super::*;
    use crate::survey::source::tests::{all, means, summary};

    #[track_caller]
    fn check(input: &str, expect: &str) {
        assert_eq!(summary(&read(&"s".into(), input.as_bytes(), all(), None).unwrap()), expect, "{input:?}");
    }

    const A: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";

    #[test]
    fn a_whole_stream_is_complete() {
        check(A, "Secret a <stdin>:1:1\n");
        check(&format!("{A}---\n{A}"), "Secret a <stdin>:1:1\nSecret a <stdin>:5:1\n");
        check(r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"j"}}"#, "Secret j <stdin>:1:1\n");
        let two = "{\"apiVersion\":\"v1\",\"kind\":\"A\"}\n\n  {\"apiVersion\":\"v1\",\n\"kind\":\"B\"}";
        check(two, "A - <stdin>:1:1\nB - <stdin>:3:1\n");
        check("{apiVersion: v1, kind: Secret, metadata: {name: flow}}\n", "Secret flow <stdin>:1:1\n");
        check(
            "{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n---\n{\"apiVersion\": \"v1\", \"kind\": \"B\"}\n",
            "A - <stdin>:1:1\nB - <stdin>:3:1\n",
        );
        check(r#"{"apiVersion":"v1","kind":"List","items":[]}"#, "");
    }

    #[test]
    fn a_stream_that_may_be_cut_short_proves_nothing() {
        check("", "unparsable-document source s\nincomplete\n");
        check(" \n\t\n", "unparsable-document source s\nincomplete\n");
        // Half a value is YAML, too: what was cut is not taken.
        check(
            &format!("{A}---\n{}", "apiVersion: v1\nkind: Secret\nstringData: {}\ntype: Opa"),
            "Secret a <stdin>:1:1\nunparsable-document <stdin>:5:1\nincomplete\n",
        );
        check(
            r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","#,
            "unparsable-document <stdin>:1:61\nincomplete\n",
        );
    }

    #[test]
    fn a_stream_that_is_too_long_or_fails_is_unreachable() {
        let is_read = |bytes, memory| {
            let limits = SourceLimits { bytes, ..SourceLimits::DEFAULT };
            read(&"s".into(), A.as_bytes(), means(&limits, memory), None).is_ok()
        };
        assert!(!is_read(47, usize::MAX) && is_read(48, usize::MAX));
        assert!(!is_read(48, 4 * 47) && is_read(48, 4 * 48));
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::ConnectionReset.into())
            }
        }
        assert!(read(&"s".into(), Failing, all(), None).is_err());
    }
}
