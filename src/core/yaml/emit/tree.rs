//! What is to be written: trees, and the entries of their mappings.
//!
//! Every map of every object goes through here, most of them with two to six entries: a sorted vector of just
//! that size is made and dropped faster than a tree with room for eleven.

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec::{IntoIter, Vec};

use zeroize::Zeroizing;

use crate::node::Node;

/// What can be emitted. Maps are written in one order, whatever order they were filled in.
pub enum Tree<'a> {
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// A number; what is not finite is written as `null`, as JSON does.
    Float(f64),
    /// Text, quoted wherever some reader could take it for something else.
    Text(Cow<'a, str>),
    /// Text that is wiped on drop; quoted like [`Tree::Text`].
    Secret(Zeroizing<String>),
    /// Text that is written plain: only for `ENC[…]` values, whose consumers search for the unquoted
    /// form. What some reader could not read back so is quoted all the same.
    Plain(Cow<'a, str>),
    /// A sequence.
    List(Vec<Tree<'a>>),
    /// A mapping.
    Map(TreeMap<'a>),
}

impl<'a> Tree<'a> {
    /// Text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Tree::Text(text.into())
    }

    /// A number of things.
    pub fn count(number: usize) -> Self {
        u64::try_from(number).map_or(Tree::Null, Tree::Uint)
    }

    /// A mapping of entries.
    pub fn map<K: Into<Cow<'a, str>>>(entries: impl IntoIterator<Item = (K, Tree<'a>)>) -> Self {
        Tree::Map(entries.into_iter().collect())
    }

    /// A document's tree, borrowed.
    pub fn of(node: &'a Node) -> Self {
        match node {
            Node::Null => Tree::Null,
            Node::Bool(value) => Tree::Bool(*value),
            Node::Int(value) => Tree::Int(*value),
            Node::Uint(value) => Tree::Uint(*value),
            Node::Float(value) => Tree::Float(*value),
            Node::Time(moment) => Tree::text(moment.to_string()),
            Node::Text(text) => Tree::Text(Cow::Borrowed(text)),
            Node::List(items) => Tree::List(items.iter().map(Tree::of).collect()),
            Node::Map(entries) | Node::InOrder(entries) => {
                Tree::map(entries.iter().map(|(key, value)| (&**key, Tree::of(value))))
            }
        }
    }
}

type Entry<'a> = (Cow<'a, str>, Tree<'a>);

/// Entries sorted by key; each key stands once, with the value that was put there last.
#[derive(Default)]
pub struct TreeMap<'a>(Vec<Entry<'a>>);

impl<'a> TreeMap<'a> {
    /// No entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// No entries yet, and room for some.
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts a value under a key, in place of the value there.
    pub fn insert(&mut self, key: impl Into<Cow<'a, str>>, value: Tree<'a>) {
        let key = key.into();
        if let Some(there) = self.get_mut(&key) {
            *there = value;
        } else if let Err(at) = self.find(&key) {
            self.0.insert(at, (key, value));
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Tree<'a>> {
        self.0.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    /// The value under a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tree<'a>> {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Whether a key has a value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// The entries, sorted.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Cow<'a, str>, &Tree<'a>)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The entries, sorted, to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Cow<'a, str>, &mut Tree<'a>)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &Tree<'a>> {
        self.0.iter().map(|(_, value)| value)
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(key))
    }
}

impl<'a, K: Into<Cow<'a, str>>> FromIterator<(K, Tree<'a>)> for TreeMap<'a> {
    fn from_iter<I: IntoIterator<Item = (K, Tree<'a>)>>(entries: I) -> Self {
        let mut entries: Vec<Entry<'a>> = entries.into_iter().map(|(key, value)| (key.into(), value)).collect();
        if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            entries.dedup_by(|later, first| {
                let same = later.0 == first.0;
                if same {
                    core::mem::swap(later, first);
                }
                same
            });
        }
        Self(entries)
    }
}

impl<'a> IntoIterator for TreeMap<'a> {
    type Item = Entry<'a>;
    type IntoIter = IntoIter<Entry<'a>>;

    fn into_iter(self) -> IntoIter<Entry<'a>> {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_stands_once_and_the_last_value_counts() {
        let number = |map: &TreeMap<'_>, key: &str| match map.get(key) {
            Some(Tree::Int(number)) => Some(*number),
            _ => None,
        };
        let mut map: TreeMap<'_> = [("b", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5)]
            .into_iter()
            .map(|(key, n)| (key, Tree::Int(n)))
            .collect();
        assert!(map.keys().eq(["a", "b"]));
        assert_eq!((number(&map, "a"), number(&map, "b"), number(&map, "c")), (Some(4), Some(5), None));
        map.insert("aa", Tree::Int(6));
        map.insert("b", Tree::Int(7));
        assert!(map.keys().eq(["a", "aa", "b"]) && map.len() == 3 && !map.is_empty());
        assert_eq!((number(&map, "aa"), number(&map, "b")), (Some(6), Some(7)));
        assert!(map.contains_key("aa") && !map.contains_key("ab"));
    }
}
