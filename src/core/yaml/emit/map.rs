//! The entries of a mapping that is to be written.
//!
//! Every map of every object goes through here, most of them with two to six entries: a sorted vector of just
//! that size is made and dropped faster than a tree with room for eleven.

use alloc::borrow::Cow;
use alloc::vec::{IntoIter, Vec};

use super::Tree;

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
