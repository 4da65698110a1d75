//! Built: an object that kustomize made of a sealed document.
//!
//! SOPS binds a sealed value to its path in a document, and to nothing that says which document it is. So a value opens
//! wherever it stands under the same path, and a build could move it into another object. Here an object gets only the values
//! of the one document that it is held against, each where that has it; their MAC was verified there before.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::cipher::MARK;
use super::metadata::KEY;
use super::rule::EncryptionRule;
use crate::node::{Key, Node};

/// Why an object is not what became of a sealed document. Paths are of keys, with dots between them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuiltError {
    /// A sealed value stands where the document has another one, or none.
    #[error("the sealed value at {0} does not stand there in the document that was sealed")]
    Moved(String),
    /// It is another object than the document is: of another kind, type or name.
    #[error("its {0} is not that of the document that was sealed")]
    Another(&'static str),
    /// A value is readable where the document seals all values.
    #[error("the value at {0} is not sealed, and the document that it was built of seals what stands there")]
    Mixed(String),
}

/// The values of an object that was built of a document: `sealed` is the document as it stands, `open` the opened one.
///
/// # Errors
/// Where a value was moved, or added without being sealed.
pub(super) fn filled(built: &Node, sealed: &Node, open: &Node, rule: &EncryptionRule) -> Result<Node, BuiltError> {
    for field in ["apiVersion", "kind", "type"] {
        // What was sealed for no type may get one; none that never leaves loses it.
        if open.at(&[field]).is_some_and(|sealed| built.at(&[field]) != Some(sealed)) {
            return Err(BuiltError::Another(field));
        }
    }
    // A build may put something before it and behind it.
    let name = |node: &Node| node.str_at(&["metadata", "name"]).unwrap_or_default().to_string();
    if !name(built).contains(&name(open)) {
        return Err(BuiltError::Another("metadata.name"));
    }
    let entries = built.entries().iter().filter(|(key, _)| **key != *KEY);
    Filling { rule }.map(entries, (Some(sealed), Some(open)), &mut Vec::new(), false)
}

struct Filling<'a> {
    rule: &'a EncryptionRule,
}

/// What a document has at a path: as it stands, and opened.
type Both<'n> = (Option<&'n Node>, Option<&'n Node>);

impl Filling<'_> {
    fn map<'n>(
        &self,
        entries: impl Iterator<Item = &'n (Key, Node)>,
        (sealed, open): Both<'_>,
        path: &mut Vec<Key>,
        marked: bool,
    ) -> Result<Node, BuiltError> {
        let mut filled = Vec::new();
        for (key, value) in entries {
            path.push(key.clone());
            let below = (sealed.and_then(|node| node.get(key)), open.and_then(|node| node.get(key)));
            let value = self.value(value, below, path, marked || self.rule.marks(key))?;
            path.pop();
            filled.push((key.clone(), value));
        }
        Ok(Node::map(filled))
    }

    fn value(&self, built: &Node, both: Both<'_>, path: &mut Vec<Key>, marked: bool) -> Result<Node, BuiltError> {
        let (sealed, open) = both;
        match built {
            Node::Map(entries) | Node::InOrder(entries) => self.map(entries.iter(), both, path, marked),
            Node::List(items) => {
                let (sealed, open) = (sealed.map(Node::items), open.map(Node::items));
                // A comment among the items of a list is one of them as long as it is sealed.
                let (sealed, open) = match (sealed, open) {
                    (Some(sealed), Some(open)) if sealed.len() == open.len() => (sealed, open),
                    _ => (&[][..], &[][..]),
                };
                let item = |(at, item): (usize, &Node)| self.value(item, (sealed.get(at), open.get(at)), path, marked);
                let items: Result<Vec<Node>, BuiltError> = items.iter().enumerate().map(item).collect();
                Ok(Node::List(items?.into_boxed_slice()))
            }
            Node::Text(text) if text.starts_with(MARK) => match open {
                Some(open) if sealed == Some(built) => Ok(open.clone()),
                _ => Err(BuiltError::Moved(told(path))),
            },
            empty if *empty == Node::Null || empty.as_str() == Some("") => match sealed {
                Some(Node::Text(text)) if text.starts_with(MARK) => Err(BuiltError::Moved(told(path))),
                _ => Ok(empty.clone()),
            },
            // Labels, annotations and a namespace are what builds add, under whatever rule.
            _ if self.rule.seals(marked, false) && !(sealed.is_none() && is_metadata(path)) => {
                Err(BuiltError::Mixed(told(path)))
            }
            value => Ok(value.clone()),
        }
    }
}

fn is_metadata(path: &[Key]) -> bool {
    let mut names = path.iter().map(|key| &**key);
    names.next() == Some("metadata") && matches!(names.next(), Some("annotations" | "labels" | "namespace"))
}

fn told(path: &[Key]) -> String {
    path.iter().map(|key| (**key).to_string()).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::super::rule::FIELDS;
    use super::*;
    use crate::node::Interner;
    use crate::yaml::read::{Document, read};

    fn node(text: &str) -> Node {
        read(&Document::whole(text), &mut Interner::new()).unwrap()
    }

    /// The values of an object, or why it has none.
    fn filled_by(rule: (&str, &str), built: &str) -> Result<Node, String> {
        let sealed =
            "kind: Secret\nmetadata: {name: a}\ndata: {one: 'ENC[AES256_GCM,1]', two: 'ENC[AES256_GCM,2]', none: ''}\n";
        let open = "kind: Secret\nmetadata: {name: a}\ndata: {one: first, two: second, none: ''}\n";
        let rule = EncryptionRule::new(FIELDS.map(|field| (field == rule.0).then_some(rule.1))).unwrap();
        let head = if built.contains("kind:") { "" } else { "kind: Secret\n" };
        let name = if built.contains("metadata:") { "" } else { "metadata: {name: a}\n" };
        let built = node(&format!("{head}{name}{built}"));
        super::filled(&built, &node(sealed), &node(open), &rule).map_err(|error| error.to_string())
    }

    const OWN: (&str, &str) = ("encrypted_regex", "^(data|stringData)$");

    #[test]
    fn an_object_gets_the_values_of_its_document_where_they_stand() {
        let built = "kind: Secret\nmetadata: {name: p-a, namespace: b, labels: {x: y}}\ndata: {one: 'ENC[AES256_GCM,1]', none: ''}\nsops: {}\n";
        let open = "kind: Secret\nmetadata: {name: p-a, namespace: b, labels: {x: y}}\ndata: {one: first, none: ''}\n";
        assert!(filled_by(OWN, built) == Ok(node(open)));
    }

    #[test]
    fn a_value_that_was_moved_or_is_readable_is_named() {
        let moved =
            |path: &str| format!("the sealed value at {path} does not stand there in the document that was sealed");
        for (built, path) in [
            ("data: {one: 'ENC[AES256_GCM,2]'}\n", "data.one"),
            ("data: {three: 'ENC[AES256_GCM,1]'}\n", "data.three"),
            ("stringData: {one: 'ENC[AES256_GCM,1]'}\n", "stringData.one"),
            ("metadata: {name: a, labels: {one: 'ENC[AES256_GCM,1]'}}\n", "metadata.labels.one"),
            ("data: {one: ''}\n", "data.one"),
            ("data: {one: null}\n", "data.one"),
            ("data: {one: ['ENC[AES256_GCM,1]']}\n", "data.one"),
        ] {
            assert_eq!(filled_by(OWN, built).err(), Some(moved(path)), "{built}");
        }
        for (built, path) in [("data: {one: plain}\n", "data.one"), ("stringData: {new: plain}\n", "stringData.new")] {
            let told = filled_by(OWN, built).err().unwrap();
            assert!(told.starts_with(&format!("the value at {path} is not sealed")), "{told}");
        }
        for (built, field) in [
            ("kind: ConfigMap\n", "kind"),
            ("metadata: {name: other}\n", "metadata.name"),
            ("metadata: {}\n", "metadata.name"),
        ] {
            let told = format!("its {field} is not that of the document that was sealed");
            assert_eq!(filled_by(OWN, built).err(), Some(told), "{built}");
        }
        // Builds add labels and annotations, also where the rule would seal them.
        let narrow = ("unencrypted_regex", "^(kind|name)$");
        assert!(filled_by(narrow, "metadata: {name: a, labels: {x: y}, namespace: b}\n").is_ok());
        assert!(filled_by(narrow, "metadata: {name: a, finalizers: [x]}\n").is_err());
        // Under another rule the same is readable for good reason.
        let all_but_data = ("unencrypted_regex", "^(kind|metadata|data)$");
        assert!(filled_by(all_but_data, "data: {one: plain}\n").is_ok());
        assert!(filled_by(all_but_data, "stringData: {one: plain}\n").is_err());
    }
}
