//! Characters that stop a consumer: text in the open that kustomize cannot read back.
//!
//! kustomize turns objects into JSON and reads that with a YAML reader, which refuses DEL, C1 controls and
//! non-characters that JSON leaves as they are ("control characters are not allowed", measured with kustomize 5.8.1):
//! one such object would stop the build of the whole region. kustomize writes next line, line separator and paragraph
//! separator as they are, and whoever reads those gets a space instead. Values of Secrets are base64 and may hold
//! anything.

use crate::node::Node;
use crate::object::Object;
use crate::object::steering::steers;

/// The first character of an object's published labels and annotations that kustomize cannot read back.
pub(super) fn in_metadata(object: &Object) -> Option<char> {
    let pairs = object.labels.iter().chain(&object.annotations).filter(|(key, _)| !steers(key));
    pairs.flat_map(|(key, value)| key.chars().chain(value.chars())).find(|c| is_refused(*c))
}

/// The first character of the fields that are published in the open that kustomize cannot read back.
pub(super) fn in_body(object: &Object) -> Option<char> {
    in_node(&object.body)
}

fn in_node(node: &Node) -> Option<char> {
    match node {
        Node::Text(text) => text.chars().find(|c| is_refused(*c)),
        Node::List(items) => items.iter().find_map(in_node),
        Node::Map(entries) => {
            entries.iter().find_map(|(key, node)| key.chars().find(|c| is_refused(*c)).or_else(|| in_node(node)))
        }
        _ => None,
    }
}

/// Whether a YAML 1.1 reader refuses a character (<https://yaml.org/spec/1.1/#id868524>) that JSON does not escape.
///
/// The three line breaks of YAML 1.1 that no other reader has count as refused.
fn is_refused(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    #[test]
    fn what_stops_kustomize_is_found_wherever_it_stands() {
        let at = |spec: &str| {
            in_body(&object(&format!("apiVersion: x.io/v1\nkind: X\nmetadata: {{name: x}}\nspec: {spec}")))
        };
        for (text, found) in
            [("\\x7f", '\u{7f}'), ("\\x9b", '\u{9b}'), ("\\uFFFE", '\u{fffe}'), ("\\u2028", '\u{2028}')]
        {
            assert_eq!(at(&format!("\"a{text}\"")), Some(found));
            assert_eq!(at(&format!("{{a: [\"{text}\"]}}")), Some(found));
            assert_eq!(at(&format!("{{\"{text}\": 1}}")), Some(found));
        }
        assert_eq!(at("{\"a\\u0085\": 1}"), Some('\u{85}'));
        assert_eq!(at("\"a\\u001b\\0\\uFEFFé\""), None);
    }
}
