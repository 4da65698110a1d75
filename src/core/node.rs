//! `Node`: a document as a compact tree.
//!
//! Both doors (YAML and JSON) make it. Keys are shared, lists and maps are boxed slices, and there is no `Serialize`
//! and no `Display`: a tree can hold a Secret's values until [`object::admit`](crate::object::admit) has taken them
//! out, so nothing here can print one.
//!
//! Keys are sorted, so that what differs in their order alone is equal and each is found by a binary search. Only of a
//! file that SOPS sealed does the order count: [`Node::InOrder`] keeps it. To remember the order of every map as well
//! would take 4 bytes for each entry of 40, and more for where they stand.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::go_time::GoTime;

/// A key of a map: shared, because the same few hundred keys stand in every document.
pub type Key = Arc<str>;

/// One value of a document.
#[derive(Clone, PartialEq)]
pub enum Node {
    /// `null`, `~` or nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// A finite number with a fraction or exponent.
    Float(f64),
    /// A time, which an unquoted date is to SOPS; to kubectl it is text.
    Time(GoTime),
    /// Text.
    Text(Box<str>),
    /// A sequence.
    List(Box<[Node]>),
    /// A mapping; keys are sorted and stand once.
    Map(Box<[(Key, Node)]>),
    /// A mapping as SOPS counts its values: keys stand once, in the order of the document.
    InOrder(Box<[(Key, Node)]>),
}

/// The program whose reading of a document is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// kubectl: the order of keys says nothing.
    Kubectl,
    /// SOPS: values count in their order and by the types that it gives them.
    Sops,
}

impl Node {
    /// Makes text.
    pub fn text(text: &str) -> Self {
        Node::Text(Box::from(text))
    }

    /// Makes a map; the keys are sorted here, and the first of equal keys stays.
    pub fn map(mut entries: Vec<(Key, Node)>) -> Self {
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, first| later.0 == first.0);
        Node::Map(entries.into_boxed_slice())
    }

    /// An empty map.
    pub fn empty_map() -> Self {
        Node::Map(Box::default())
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let entries = self.entries();
        let at = match self {
            Node::InOrder(_) => entries.iter().position(|(k, _)| **k == *key),
            _ => entries.binary_search_by(|(k, _)| (**k).cmp(key)).ok(),
        };
        entries.get(at?).map(|(_, node)| node)
    }

    /// The value at a path of keys; `null` counts as absent.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        let found = path.iter().try_fold(self, |node, key| node.get(key))?;
        (!matches!(found, Node::Null)).then_some(found)
    }

    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Node::Text(text) = self { Some(text) } else { None }
    }

    /// Every text in it, wherever it stands; keys are none.
    pub fn texts(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut open = Vec::from([self]);
        while let Some(node) = open.pop() {
            found.extend(node.as_str());
            open.extend(node.items());
            open.extend(node.entries().iter().map(|(_, value)| value));
        }
        found
    }

    /// The text at a path of keys.
    pub fn str_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path).and_then(Node::as_str)
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Node::Bool(value) = self { Some(*value) } else { None }
    }

    /// The items, if this is a list; else none.
    pub fn items(&self) -> &[Node] {
        if let Node::List(items) = self { items } else { &[] }
    }

    /// The entries, if this is a map; else none.
    pub fn entries(&self) -> &[(Key, Node)] {
        if let Node::Map(entries) | Node::InOrder(entries) = self { entries } else { &[] }
    }

    /// Whether this is a map.
    pub fn is_map(&self) -> bool {
        matches!(self, Node::Map(_) | Node::InOrder(_))
    }

    /// Measures the tree.
    pub fn size(&self) -> Size {
        let mut size = Size::default();
        self.add_to(&mut size);
        size
    }

    fn add_to(&self, size: &mut Size) {
        size.nodes += 1;
        match self {
            Node::Text(text) => size.texts += text.len(),
            Node::List(items) => items.iter().for_each(|item| item.add_to(size)),
            Node::Map(entries) | Node::InOrder(entries) => {
                size.entries += entries.len();
                for (key, node) in entries {
                    size.keys += key.len();
                    node.add_to(size);
                }
            }
            Node::Null | Node::Bool(_) | Node::Int(_) | Node::Uint(_) | Node::Float(_) | Node::Time(_) => {}
        }
    }

    /// The name of the value's type, for messages: never the value itself.
    pub fn type_name(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Bool(_) => "a boolean",
            Node::Int(_) | Node::Uint(_) => "an integer",
            Node::Float(_) => "a number",
            Node::Time(_) => "a time",
            Node::Text(_) => "text",
            Node::List(_) => "a list",
            Node::Map(_) | Node::InOrder(_) => "a map",
        }
    }

    /// A copy in which the text at `path` is replaced; a plain copy if the path leads nowhere.
    pub fn with_text(&self, path: &[&str], text: &str) -> Node {
        match (path.split_first(), self) {
            (None, _) => Node::text(text),
            (Some((head, rest)), Node::Map(entries)) => Node::Map(
                entries
                    .iter()
                    .map(|(key, node)| {
                        let node = if **key == **head { node.with_text(rest, text) } else { node.clone() };
                        (key.clone(), node)
                    })
                    .collect(),
            ),
            (Some(_), _) => self.clone(),
        }
    }
}

/// The size of a tree.
#[derive(Clone, Copy, Default)]
pub struct Size {
    /// The values, lists and maps.
    pub nodes: usize,
    /// The entries of maps.
    pub entries: usize,
    /// The bytes of their keys.
    pub keys: usize,
    /// The bytes of all values that are text.
    pub texts: usize,
}

impl Size {
    /// Estimates how many bytes the tree takes as text.
    pub fn written(self) -> usize {
        const AROUND: usize = 8;
        self.keys + self.texts + self.nodes * AROUND
    }

    /// Estimates how many bytes of memory the tree takes. Its keys are shared with other trees.
    pub fn held(self) -> usize {
        const NODE: usize = 40;
        const ENTRY: usize = 16;
        self.texts + self.nodes * NODE + self.entries * ENTRY
    }
}

/// Counts the values that a text of YAML or JSON may have at most, without what its aliases repeat: each but the first
/// follows one of a few characters, or a dash with a blank behind it.
pub fn values_at_most(text: &[u8]) -> usize {
    let follows = |(at, next): &(&u8, &u8)| match at {
        b',' | b'[' | b'{' | b'\n' => true,
        b'-' => next.is_ascii_whitespace(),
        _ => false,
    };
    text.iter().zip(text.iter().skip(1)).filter(follows).count().saturating_add(1)
}

/// The most bytes of memory that a value takes while its text is read.
pub const VALUE_BYTES: usize = 80;

/// Shares equal keys among the documents that one reader makes.
#[derive(Default)]
pub struct Interner {
    keys: BTreeSet<Key>,
}

impl Interner {
    /// The most keys that are remembered; further ones still work, unshared.
    const MOST: usize = 65_536;

    /// Makes an empty interner.
    pub fn new() -> Self {
        Self::default()
    }

    /// The shared form of `key`.
    pub fn key(&mut self, key: &str) -> Key {
        if let Some(known) = self.keys.get(key) {
            return known.clone();
        }
        let new: Key = Arc::from(key);
        if self.keys.len() < Self::MOST {
            self.keys.insert(new.clone());
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_measured_with_all_below_it() {
        let list = Node::List(Box::from([Node::text("né"), Node::Null]));
        let size = Node::map(vec![(Key::from("a"), list), (Key::from("bc"), Node::Int(1))]).size();
        assert_eq!((size.nodes, size.entries, size.keys, size.texts), (5, 2, 3, 3));
        assert_eq!(size.written(), 46);
    }

    fn sample() -> Node {
        let inner = Node::map(vec![("b".into(), Node::text("x")), ("a".into(), Node::Int(1))]);
        Node::map(vec![("spec".into(), inner), ("n".into(), Node::Null)])
    }

    #[test]
    fn paths_lead_to_values_and_null_is_nothing() {
        assert_eq!(sample().str_at(&["spec", "b"]), Some("x"));
        assert!(sample().at(&["n"]).is_none());
        assert!(sample().at(&["spec", "b", "c"]).is_none());
    }

    #[test]
    fn replacing_text_touches_only_its_path() {
        let edited = sample().with_text(&["spec", "b"], "y");
        assert_eq!(edited.str_at(&["spec", "b"]), Some("y"));
        assert!(edited.at(&["spec", "a"]) == Some(&Node::Int(1)));
        assert!(sample().with_text(&["no", "such"], "y") == sample());
    }

    #[test]
    fn a_map_in_order_has_the_same_entries() {
        let (one, two) = (("b".into(), Node::Int(1)), ("a".into(), Node::Null));
        let map = Node::InOrder([one, two].into());
        assert!(map.is_map() && map.get("b") == Some(&Node::Int(1)) && map.at(&["a"]).is_none());
        assert_eq!(map.entries().iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn equal_keys_are_shared() {
        let mut interner = Interner::new();
        let (one, two) = (interner.key("spec"), interner.key("spec"));
        assert!(Arc::ptr_eq(&one, &two));
    }

    #[test]
    fn a_node_stays_small() {
        assert!(core::mem::size_of::<Node>() <= 24);
    }
}
