//! YAML → [`Ordered`]: the second way to read a document, for files that SOPS sealed.
//!
//! SOPS reads YAML with go-yaml v3, kubectl with v2. To v3, `yes` is text, a date is a time, and the order of
//! keys counts. SOPS writes neither aliases nor tags, so a file with either was not written by SOPS and is
//! refused.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use serde_yaml::granit_parser::{Event, Marker, ScalarStyle};

use super::{Document, Events, deeper, flaw, is_bare};
use crate::go_time::GoTime;
use crate::node::{Interner, Key};
use crate::sops_document::Ordered;
use crate::yaml::Flaw;
use crate::yaml::scalar::{self, Word};

/// Reads one document as SOPS does.
///
/// # Errors
/// As [`read`](super::read), and where an alias, a merge key or a tag stands in the document.
pub fn read_ordered(document: &Document<'_>, interner: &mut Interner) -> Result<Ordered, Flaw> {
    let mut composer = Composer { events: Events::of(document.text)?, interner };
    let mut root = None;
    loop {
        match composer.events.next()? {
            (Event::StreamEnd, _) => return Ok(root.unwrap_or(Ordered::Null)),
            (Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _) => {}
            (_, at) if root.is_some() => return Err(flaw(at, "a second document begins here")),
            (event, at) => root = Some(composer.value(event, at, 0)?),
        }
    }
}

struct Composer<'text, 'run> {
    events: Events<'text>,
    interner: &'run mut Interner,
}

impl<'text> Composer<'text, '_> {
    fn value(&mut self, event: Event<'text>, at: Marker, depth: usize) -> Result<Ordered, Flaw> {
        self.events.count(at)?;
        match event {
            Event::Scalar(text, ScalarStyle::Plain, 0, None) => word(&text).map_err(|what| flaw(at, what)),
            Event::Scalar(text, _, 0, tag) if tag.as_deref().is_none_or(is_bare) => Ok(Ordered::Text(text.into())),
            Event::SequenceStart(_, 0, None) => self.list(deeper(depth, at)?),
            Event::MappingStart(_, 0, None) => self.map(deeper(depth, at)?),
            _ => Err(flaw(at, "there is an alias, an anchor or a tag here, which SOPS does not write")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Ordered, Flaw> {
        let mut items = Vec::new();
        loop {
            match self.events.next()? {
                (Event::SequenceEnd, _) => return Ok(Ordered::List(items.into_boxed_slice())),
                (event, at) => items.push(self.value(event, at, depth)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Ordered, Flaw> {
        let mut entries: Vec<(Key, Ordered)> = Vec::new();
        let mut seen = BTreeSet::new();
        loop {
            let (event, at) = self.events.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(Ordered::Map(Box::from(entries))),
                Event::Scalar(text, style, 0, None) => self.key(&text, style, at)?,
                _ => return Err(flaw(at, "a key must be text; put it in quotes")),
            };
            if !seen.insert(key.clone()) {
                return Err(flaw(at, "this key is here for the second time"));
            }
            let (event, value_at) = self.events.next()?;
            let value = self.value(event, value_at, depth)?;
            entries.push((key, value));
        }
    }

    fn key(&mut self, text: &str, style: ScalarStyle, at: Marker) -> Result<Key, Flaw> {
        if style == ScalarStyle::Plain && text == "<<" {
            return Err(flaw(at, "there is a merge key here, which SOPS does not write"));
        }
        match style {
            ScalarStyle::Plain if !matches!(word(text), Ok(Ordered::Text(_))) => {
                Err(flaw(at, "a key must be text; put it in quotes"))
            }
            _ => Ok(self.interner.key(text)),
        }
    }
}

/// What an unquoted word is to go-yaml v3.
///
/// <https://github.com/yaml/go-yaml/blob/v3.0.4/resolve.go>
fn word(text: &str) -> Result<Ordered, &'static str> {
    if let Some(moment) = GoTime::of_word(text) {
        return Ok(Ordered::Time(moment));
    }
    // Underscores are taken out only of words that begin with a digit or a sign.
    if text.starts_with('.') && text.contains('_') {
        return Ok(Ordered::Text(text.into()));
    }
    Ok(match scalar::resolve(text) {
        Word::Null => Ordered::Null,
        Word::Bool(value) if matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") => {
            Ordered::Bool(value)
        }
        Word::Int(value) => Ordered::Int(value),
        Word::Uint(value) => Ordered::Uint(value),
        Word::Float(value) => Ordered::Float(value),
        Word::NotFinite => return Err("a number must be finite; put it in quotes if it is text"),
        Word::Bool(_) | Word::Text | Word::Merge => Ordered::Text(text.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use core::fmt::Write as _;

    fn show(value: &Ordered, out: &mut String) {
        match value {
            Ordered::Null => out.push('~'),
            Ordered::Bool(value) => _ = write!(out, "{value}"),
            Ordered::Int(value) => _ = write!(out, "{value}"),
            Ordered::Uint(value) => _ = write!(out, "u{value}"),
            Ordered::Float(value) => _ = write!(out, "f{value}"),
            Ordered::Time(value) => _ = write!(out, "@{value}"),
            Ordered::Text(text) => _ = write!(out, "{text:?}"),
            Ordered::List(items) => {
                out.push('[');
                for item in items {
                    show(item, out);
                    out.push(' ');
                }
                out.push(']');
            }
            Ordered::Map(entries) => {
                out.push('{');
                for (key, value) in entries {
                    _ = write!(out, "{key}:");
                    show(value, out);
                    out.push(' ');
                }
                out.push('}');
            }
        }
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let mut shown = String::new();
        match read_ordered(&Document::whole(text), &mut Interner::new()) {
            Ok(value) => show(&value, &mut shown),
            Err(flaw) => {
                assert!(!flaw.what.contains("CANARY"));
                _ = write!(shown, "{}:{} {}", flaw.line, flaw.column, flaw.what);
            }
        }
        assert_eq!(shown, expect, "{text}");
    }

    #[test]
    fn order_and_types_are_those_of_sops() {
        check("", "~");
        check("b: 1\na: {z: ~, y: }\n", "{b:1 a:{z:~ y:~ } }");
        check("[yes, no, on, True, FALSE, y]", r#"["yes" "no" "on" true false "y" ]"#);
        check("[017, 0o17, 1_000, -0x1f, 08]", "[15 15 1000 -31 f8 ]");
        check("[1.50, .5, .5_0, 1e3, 18446744073709551615]", r#"[f1.5 f0.5 ".5_0" f1000 u18446744073709551615 ]"#);
        check("[2024-01-02, \"2024-01-02\", 'yes', ! 1]", r#"[@2024-01-02T00:00:00Z "2024-01-02" "yes" "1" ]"#);
        check("a: |\n  x\n  y\nb: >-\n  x\n  y\n", r#"{a:"x\ny\n" b:"x y" }"#);
        check("# no\na: 1 # no\n", "{a:1 }");
        check("\"<<\": 1\nyes: 2\n", "{<<:1 yes:2 }");
    }

    #[test]
    fn what_sops_does_not_write_is_refused() {
        for (text, expect) in [
            ("a: &x CANARY\nb: *x\n", "1:7 there is an alias, an anchor or a tag here, which SOPS does not write"),
            ("a: !!str 1\n", "1:10 there is an alias, an anchor or a tag here, which SOPS does not write"),
            ("a: CANARY\na: 2\n", "2:1 this key is here for the second time"),
            ("x: {a: CANARY, a: 2}\n", "1:16 this key is here for the second time"),
            ("<<: {a: 1}\n", "1:1 there is a merge key here, which SOPS does not write"),
            ("a: .inf\n", "1:4 a number must be finite; put it in quotes if it is text"),
            ("2024-01-02: CANARY\n", "1:1 a key must be text; put it in quotes"),
            ("1: CANARY\n", "1:1 a key must be text; put it in quotes"),
            ("? [a]\n: CANARY\n", "1:3 a key must be text; put it in quotes"),
        ] {
            check(text, expect);
        }
        check(&"[".repeat(1000), "1:130 lists and maps are nested too deeply here");
    }
}
