//! The one YAML emitter: keys sorted, two spaces of indent, strings that YAML 1.1 and 1.2 readers agree on.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::node::Node;

/// What can be emitted. Maps are sorted by key, whatever order they were filled in.
pub enum Tree<'a> {
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// A finite number.
    Float(f64),
    /// Text, quoted wherever some reader could take it for something else.
    Text(Cow<'a, str>),
    /// Text that is wiped on drop; quoted like [`Tree::Text`].
    Secret(Zeroizing<String>),
    /// Text that is always written plain: only for `ENC[…]` values, whose consumers search for the
    /// unquoted form.
    Plain(Cow<'a, str>),
    /// A sequence.
    List(Vec<Tree<'a>>),
    /// A mapping.
    Map(BTreeMap<Cow<'a, str>, Tree<'a>>),
}

impl<'a> Tree<'a> {
    /// Text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Tree::Text(text.into())
    }

    /// A mapping of entries.
    pub fn map<K: Into<Cow<'a, str>>>(entries: impl IntoIterator<Item = (K, Tree<'a>)>) -> Self {
        Tree::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A document's tree, borrowed.
    pub fn of(node: &'a Node) -> Self {
        match node {
            Node::Null => Tree::Null,
            Node::Bool(value) => Tree::Bool(*value),
            Node::Int(value) => Tree::Int(*value),
            Node::Uint(value) => Tree::Uint(*value),
            Node::Float(value) => Tree::Float(*value),
            Node::Text(text) => Tree::Text(Cow::Borrowed(text)),
            Node::List(items) => Tree::List(items.iter().map(Tree::of).collect()),
            Node::Map(entries) => Tree::map(entries.iter().map(|(key, value)| (&**key, Tree::of(value)))),
        }
    }
}

/// Writes one document, ending in a line feed, without a `---` line.
pub fn emit(tree: &Tree<'_>) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    write(tree, 0, &mut out);
    out
}

fn write(tree: &Tree<'_>, indent: usize, out: &mut String) {
    match tree {
        Tree::Null => out.push_str("null\n"),
        Tree::Bool(value) => push_line(out, &value.to_string()),
        Tree::Int(value) => push_line(out, &value.to_string()),
        Tree::Uint(value) => push_line(out, &value.to_string()),
        Tree::Float(value) => push_line(out, &value.to_string()),
        Tree::Text(text) => push_line(out, &quoted(text)),
        Tree::Secret(text) => push_line(out, &quoted(text)),
        Tree::Plain(text) => push_line(out, text),
        Tree::List(items) if items.is_empty() => out.push_str("[]\n"),
        Tree::Map(entries) if entries.is_empty() => out.push_str("{}\n"),
        Tree::List(items) => {
            for item in items {
                pad(out, indent);
                // STAND-IN: the emitter is written on another branch.
                let is_block = matches!(item, Tree::List(items) if !items.is_empty())
                    || matches!(item, Tree::Map(entries) if !entries.is_empty());
                out.push_str(if is_block { "-\n" } else { "- " });
                write(item, indent.saturating_add(2), out);
            }
        }
        Tree::Map(entries) => {
            for (key, value) in entries {
                pad(out, indent);
                out.push_str(&quoted(key));
                out.push_str(": ");
                if matches!(value, Tree::List(items) if !items.is_empty())
                    || matches!(value, Tree::Map(entries) if !entries.is_empty())
                {
                    out.push('\n');
                }
                write(value, indent.saturating_add(2), out);
            }
        }
    }
}

fn push_line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn pad(out: &mut String, indent: usize) {
    out.extend(core::iter::repeat_n(' ', indent));
}

fn quoted(text: &str) -> String {
    alloc::format!("{text:?}")
}
