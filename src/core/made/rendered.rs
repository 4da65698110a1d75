//! Rendered: the documents of a rendering, cut as KubeNSync's decoder cuts them.
//!
//! A rendering that begins with a brace may be a stream of JSON: objects one after the other, with nothing between them.
//! Behind one object the decoder still takes the rest for YAML, and behind several it does not.
//!
//! <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/util/yaml/decoder.go> (`YAMLOrJSONDecoder`)

use alloc::string::String;
use alloc::vec::Vec;

use serde::de::IgnoredAny;

use crate::json;
use crate::node::{Interner, Node};
use crate::yaml::Flaw;
use crate::yaml::alike::Reader;
use crate::yaml::lines::line_in;
use crate::yaml::stream::{self, Document};

/// The most documents of one template, as in KubeNSync.
const MOST_DOCUMENTS: usize = 1024;

/// The longest rendering of which anything is kept for the next.
const MOST_KEPT: usize = 64 << 10;

/// The number of bytes that the decoder looks at to tell JSON from YAML.
const LOOKED_AT: usize = 1024;

/// The white space of JSON.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The part that a reader keeps of a rendering for the next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The forms of texts, and their keys.
    Forms,
    /// Nothing: values of Secrets stand in it.
    Nothing,
}

/// A document of a rendering.
struct Part<'t> {
    document: Document<'t>,
    is_json: bool,
}

impl Part<'_> {
    fn read(&self, reader: &mut Reader, keep: Keep) -> Result<Node, Flaw> {
        let Self { document, is_json } = self;
        match (is_json, keep) {
            (false, Keep::Forms) => reader.read(document),
            (false, Keep::Nothing) => reader.read_and_forget(document),
            (true, Keep::Forms) => self.read_json(&mut reader.interner),
            (true, Keep::Nothing) => self.read_json(&mut Interner::new()),
        }
    }

    fn read_json(&self, interner: &mut Interner) -> Result<Node, Flaw> {
        let Document { text, line, .. } = self.document;
        json::read(text, interner).map_err(|flaw| Flaw { line: line_in(line, flaw.line), ..flaw })
    }
}

/// Reads the documents of a rendering. Most differ from the one before in their words alone.
///
/// # Errors
/// Where it is no YAML and no stream of JSON, or has too many documents; the words hold no value.
pub(super) fn documents(text: &str, reader: &mut Reader, keep: Keep) -> Result<Vec<Node>, String> {
    // Of a long text, the reader would only keep the keys.
    let mut own = Reader::new();
    let (reader, keep) = if text.len() > MOST_KEPT { (&mut own, Keep::Forms) } else { (reader, keep) };
    let mut documents = Vec::new();
    let (objects, rest) = json_objects(text);
    let is_stream = (2..=MOST_DOCUMENTS).contains(&objects.len());
    if is_stream && !rest.text.trim_start_matches(BLANKS).is_empty() {
        let line = line_in(rest.first_line, line_of_content(rest.text));
        return Err(format!(
            "what the template makes begins with several objects in JSON one after the other, and only JSON may follow; its \
             line {line} is something else"
        ));
    }
    // Behind one object the decoder looks at four bytes, and makes nothing of less.
    let behind = rest.text.trim_start_matches(BLANKS);
    if objects.len() == 1 && rest.text.len() < 4 && !behind.is_empty() {
        return Err(String::from("behind an object in JSON, what the template makes ends in something that is none"));
    }
    let json = objects.into_iter().map(|document| Part { document, is_json: true });
    let yaml = stream::documents(rest.text).map(|Document { text, line, first_line }| {
        let (line, first_line) = (line_in(rest.first_line, line), line_in(rest.first_line, first_line));
        Part { document: Document { text, line, first_line }, is_json: false }
    });
    for part in json.chain(yaml) {
        if documents.len() >= MOST_DOCUMENTS {
            return Err(format!("the template makes more than {MOST_DOCUMENTS} documents"));
        }
        match part.read(reader, keep) {
            Ok(Node::Null) => {}
            Ok(node) => documents.push(node),
            Err(flaw) => {
                let form = if part.is_json { "JSON" } else { "YAML" };
                return Err(format!("what the template makes is no {form} at its line {}: {}", flaw.line, flaw.what));
            }
        }
    }
    Ok(documents)
}

/// The objects in JSON with which a text begins, and the text behind them.
fn json_objects(text: &str) -> (Vec<Document<'_>>, Document<'_>) {
    let mut objects = Vec::new();
    let mut rest = Document::whole(text);
    let begin = text.get(..text.floor_char_boundary(LOOKED_AT)).unwrap_or_default();
    if !begin.trim_start().starts_with('{') {
        return (objects, rest);
    }
    // One more than there may be is enough to tell.
    while objects.len() <= MOST_DOCUMENTS {
        let Some((object, behind)) = json_object(rest.text) else { break };
        let before = rest.text.len().saturating_sub(object.len() + behind.len());
        let before = rest.text.get(..before).unwrap_or_default();
        let line = rest.first_line.saturating_add(line_feeds(before));
        objects.push(Document { text: object, line, first_line: line });
        rest = Document::whole(behind);
        rest.first_line = line.saturating_add(line_feeds(object));
    }
    (objects, rest)
}

/// The object in JSON with which a text begins, and what is behind it.
fn json_object(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(BLANKS);
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let is_object = text.starts_with('{') && matches!(values.next(), Some(Ok(IgnoredAny)));
    is_object.then(|| text.split_at_checked(values.byte_offset())).flatten()
}

fn line_feeds(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// The line of a text, from one, in which something stands.
fn line_of_content(text: &str) -> u32 {
    let content = text.trim_start_matches(BLANKS);
    line_feeds(text.get(..text.len().saturating_sub(content.len())).unwrap_or_default()).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the documents, or the words of the refusal.
    fn names(text: &str) -> Result<String, String> {
        let mut reader = Reader::new();
        let kept = documents(text, &mut reader, Keep::Forms);
        assert!(kept == documents(text, &mut reader, Keep::Nothing), "{text:?}");
        let name = |node: &Node| String::from(node.str_at(&["k"]).unwrap_or("?"));
        Ok(kept?.iter().map(name).collect::<Vec<_>>().join(" "))
    }

    /// As KubeNSync's decoder tells them apart, which was asked; where it drops what is behind an object, pouch refuses.
    #[test]
    fn objects_in_json_stand_one_after_the_other() {
        for (text, expect) in [
            ("", ""),
            ("{\"k\": \"a\"}{\"k\": \"b\"}", "a b"),
            ("\n {\"k\": \"a\"}\r\n\t{\n  \"k\": \"b\"\n}\n\n{\"k\": \"c\", \"x\": \"}{\"}\n", "a b c"),
            ("{\"k\": \"\\ud83d\\ude00\"} {\"k\": \"\\/\"}", "\u{1f600} /"),
            // Behind one object, the rest is YAML.
            ("{\"k\": \"a\"}\n---\n{\"k\": \"b\"}\n---\nk: c\n", "a b c"),
            ("{\"k\": \"a\"}\nk: b\n", "a b"),
            ("{\"k\": \"a\"}\n# no more\n", "a"),
            ("{k: a}\n---\n{k: b}\n", "a b"),
            ("k: a\n---\n{\"k\": \"b\"}\n", "a b"),
            ("# json\n{\"k\": \"a\"}\n", "a"),
        ] {
            assert_eq!(names(text).as_deref(), Ok(expect), "{text:?}");
        }
        for (text, why) in [
            ("{\"k\": \"a\"}{\"k\": \"b\"}\n---\nk: c\n", "its line 2 is something else"),
            ("{\"k\": \"a\"}\n{\"k\": \"b\"}\n{\"k\": c}", "its line 3 is something else"),
            ("{\"k\": \"a\"}\n\n{\"k\": \"b\",\n \"k\": \"c\"}\n", "no JSON at its line 4"),
            ("{k: a}\n{k: b}\n", "no YAML at its line 2"),
            ("k: a\n---\n{\"k\": \"b\"}\n{\"k\": \"c\"}\n", "no YAML at its line 4"),
            ("{\"k\": \"a\"}\nk: b\nk: c\n", "no YAML at its line 3"),
        ] {
            let told = names(text).unwrap_err();
            assert!(told.contains(why), "{text:?}: {told}");
        }
        // The decoder looks no further than this for a brace.
        let far = |blanks: usize| names(&format!("{}{{\"k\": \"a\"}}{{\"k\": \"b\"}}", " ".repeat(blanks)));
        assert!(far(LOOKED_AT - 1).is_ok() && far(LOOKED_AT).is_err());
    }

    #[test]
    fn objects_in_json_are_counted_too() {
        let many = |count: usize| names(&"{\"k\": \"a\"}\n".repeat(count));
        assert!(many(MOST_DOCUMENTS).is_ok());
        for count in [MOST_DOCUMENTS + 1, MOST_DOCUMENTS + 2] {
            assert_eq!(many(count), Err("the template makes more than 1024 documents".into()));
        }
    }
}
