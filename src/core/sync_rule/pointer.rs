//! Pointers: which place of an object a patch changes, in the words of BOSH's go-patch.
//!
//! `/a/b` are keys, `/a/0` an index, `/a/-` the place behind a list, `/a/name=x` the item of a list whose `name` is `x`. A
//! `?` behind a key or such an item lets it be absent, and so may be all that follow. Modifiers such as `:after` are refused.
//! <https://github.com/cppforlife/go-patch/blob/master/docs/examples.md>

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::content::{Wrong, index};
use crate::kinds;
use crate::lenient::quoted;
use crate::name::GroupKind;
use crate::node::{Key, Node};

/// A place in an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pointer {
    tokens: Vec<Token>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Key { key: Key, is_optional: bool },
    Index(usize),
    Behind,
    Item { key: Key, value: Box<str>, is_optional: bool },
}

/// The most bytes and parts of a path.
const MOST_BYTES: usize = 4096;
const MOST_PARTS: usize = 64;

impl Pointer {
    /// Reads a path of an override for objects of a kind.
    ///
    /// # Errors
    /// Where it is no path, or leads to what is not published, or to what stands elsewhere in a rule.
    pub fn read(text: &str, kind: &GroupKind) -> Result<Self, Wrong> {
        const HELP: &str = "Write it as `/spec/field`, `/spec/list/0`, `/spec/list/-` or `/spec/list/name=x`.";
        let rest = text.strip_prefix('/').filter(|_| text.len() <= MOST_BYTES);
        let parts: Vec<&str> = rest.map(|rest| rest.split('/').collect()).unwrap_or_default();
        if parts.is_empty() || parts.len() > MOST_PARTS {
            return Err((format!("{} is no path", quoted(text)), HELP));
        }
        let (mut tokens, mut is_optional) = (Vec::new(), false);
        for (at, part) in parts.iter().enumerate() {
            let is_last = at + 1 == parts.len();
            tokens.push(match token(part, is_last, &mut is_optional) {
                Some(token) => token,
                None => return Err((format!("{} is no part of a path that pouch takes", quoted(part)), HELP)),
            });
        }
        let pointer = Self { tokens };
        pointer.check(kind)?;
        Ok(pointer)
    }

    fn check(&self, kind: &GroupKind) -> Result<(), Wrong> {
        let mut keys = self.tokens.iter().map(|token| match token {
            Token::Key { key, .. } => Some(&**key),
            _ => None,
        });
        let first = keys.next().flatten();
        match (first, keys.next().flatten(), self.tokens.len()) {
            (Some("data" | "stringData"), ..) if kind.is_secret() => Err((
                String::from("it leads into the values of a Secret, and a value would stand in the rule in clear"),
                "Write the value into the Secret.",
            )),
            (Some("type"), ..) if kind.is_secret() => Err((
                String::from("the type of a Secret stays: by it pouch tells which Secrets never leave their cluster"),
                "Give the Secret its type where it stands.",
            )),
            (Some("apiVersion" | "kind"), ..) => Err((
                String::from("apiVersion and kind are no place for a patch"),
                "Use groupVersionKind of the mutations.",
            )),
            (Some("metadata"), Some("name" | "namespace"), 2)
            | (Some("metadata"), Some("labels" | "annotations"), 3) => Ok(()),
            (Some(field), ..) if field != "metadata" && !kind.is_secret() && kinds::fields(kind).contains(&field) => {
                Ok(())
            }
            _ => Err((
                format!("pouch publishes no such field of a {}", kind.kind),
                "Change the name, the namespace, one label or annotation, or what stands below `spec`.",
            )),
        }
    }

    /// Whether it can be taken away.
    ///
    /// # Errors
    /// Where it cannot.
    pub fn removes(&self) -> Result<(), Wrong> {
        let is_place = self.tokens.len() == 2 && self.is_of_metadata();
        let is_behind = matches!(self.tokens.last(), Some(Token::Behind));
        match is_place || is_behind {
            true => Err((String::from("this cannot be removed"), "Remove another place, or the entry.")),
            false => Ok(()),
        }
    }

    /// Whether it leads to the name, the namespace, a label or an annotation.
    pub fn is_of_metadata(&self) -> bool {
        matches!(self.tokens.first(), Some(Token::Key { key, .. }) if **key == *"metadata")
    }

    /// The document with a value at the place.
    ///
    /// # Errors
    /// Where the place is not there; the message quotes nothing of the document.
    pub fn replace(&self, document: &Node, value: &Node) -> Result<Node, String> {
        replace(document, &self.tokens, value)
    }

    /// The document without what stands at the place.
    ///
    /// # Errors
    /// Where the place is not there; the message quotes nothing of the document.
    pub fn remove(&self, document: &Node) -> Result<Node, String> {
        Ok(remove(document, &self.tokens)?.unwrap_or_else(|| document.clone()))
    }
}

fn token(part: &str, is_last: bool, is_optional: &mut bool) -> Option<Token> {
    // A modifier, such as `:after`.
    if part.contains(':') {
        return None;
    }
    let plain = unescaped(part);
    if is_last && plain == "-" {
        return Some(Token::Behind);
    }
    let is_number = plain.strip_prefix(['-', '+']).unwrap_or(&plain).bytes().all(|b| b.is_ascii_digit())
        && plain.bytes().any(|b| b.is_ascii_digit());
    if is_number {
        return index(&plain).map(Token::Index);
    }
    *is_optional |= plain.ends_with('?');
    if let Some((key, value)) = plain.split_once('=') {
        let value = value.strip_suffix('?').unwrap_or(value);
        return Some(Token::Item { key: Key::from(key), value: value.into(), is_optional: *is_optional });
    }
    let key = plain.strip_suffix('?').unwrap_or(&plain);
    (!key.is_empty()).then(|| Token::Key { key: Key::from(key), is_optional: *is_optional })
}

/// A part in which `~0`, `~1` and `~7` stand for `~`, `/` and `:`.
fn unescaped(part: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(part.len()), part);
    while let Some((before, after)) = rest.split_once('~') {
        out.push_str(before);
        let (c, taken) = match after.as_bytes().first() {
            Some(b'0') => ('~', 1),
            Some(b'1') => ('/', 1),
            Some(b'7') => (':', 1),
            _ => ('~', 0),
        };
        out.push(c);
        rest = after.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The place of an item of a list; none where it is absent and may be.
fn place(items: &[Node], token: &Token) -> Result<Option<usize>, String> {
    match token {
        Token::Index(index) if *index < items.len() => Ok(Some(*index)),
        Token::Index(index) => Err(format!("the list has no item {index}")),
        Token::Item { key, value, is_optional } => {
            let is_it = |item: &Node| item.get(key).and_then(Node::as_str) == Some(value);
            let mut found = items.iter().enumerate().filter(|(_, item)| is_it(item)).map(|(index, _)| index);
            match (found.next(), found.next()) {
                (Some(index), None) => Ok(Some(index)),
                (None, _) if *is_optional => Ok(None),
                (None, _) => Err(format!("the list has no item whose {} is {}", quoted(key), quoted(value))),
                (Some(_), Some(_)) => {
                    Err(format!("the list has several items whose {} is {}", quoted(key), quoted(value)))
                }
            }
        }
        Token::Behind | Token::Key { .. } => Err(String::from("a list has no such place")),
    }
}

fn replace(node: &Node, tokens: &[Token], value: &Node) -> Result<Node, String> {
    let Some((token, rest)) = tokens.split_first() else { return Ok(value.clone()) };
    match (token, node) {
        (Token::Key { key, is_optional }, Node::Map(entries)) => {
            let new = match (node.get(key), rest.first()) {
                (None, _) if !is_optional => return Err(format!("there is no {}", quoted(key))),
                (Some(found), _) => replace(found, rest, value)?,
                (None, None) => value.clone(),
                (None, Some(Token::Behind | Token::Item { .. })) => replace(&Node::List(Box::default()), rest, value)?,
                (None, Some(Token::Key { .. })) => replace(&Node::empty_map(), rest, value)?,
                (None, Some(Token::Index(_))) => return Err(format!("there is no list {}", quoted(key))),
            };
            let others = entries.iter().filter(|(other, _)| other != key).cloned();
            Ok(Node::map(others.chain([(key.clone(), new)]).collect()))
        }
        (Token::Key { key, .. }, _) => {
            Err(format!("what has to hold {} is {}, not a map", quoted(key), node.type_name()))
        }
        (Token::Behind, Node::List(items)) => Ok(Node::List(items.iter().cloned().chain([value.clone()]).collect())),
        (token, Node::List(items)) => match (place(items, token)?, token) {
            (Some(index), _) => {
                let new = |(at, item): (usize, &Node)| {
                    if at == index { replace(item, rest, value) } else { Ok(item.clone()) }
                };
                Ok(Node::List(items.iter().enumerate().map(new).collect::<Result<_, _>>()?))
            }
            (None, Token::Item { key, value: is, .. }) if !rest.is_empty() => {
                let item = Node::map(vec![(key.clone(), Node::text(is))]);
                let new = replace(&item, rest, value)?;
                Ok(Node::List(items.iter().cloned().chain([new]).collect()))
            }
            (None, _) => Ok(Node::List(items.iter().cloned().chain([value.clone()]).collect())),
        },
        (_, other) => Err(format!("what has to be a list is {}", other.type_name())),
    }
}

/// The node without the place; none where it may be absent, and is.
fn remove(node: &Node, tokens: &[Token]) -> Result<Option<Node>, String> {
    let Some((token, rest)) = tokens.split_first() else { return Ok(None) };
    match (token, node) {
        (Token::Key { key, is_optional }, Node::Map(entries)) => {
            let Some(found) = node.get(key) else {
                return if *is_optional { Ok(None) } else { Err(format!("there is no {}", quoted(key))) };
            };
            let others = entries.iter().filter(|(other, _)| other != key).cloned();
            if rest.is_empty() {
                return Ok(Some(Node::map(others.collect())));
            }
            let Some(new) = remove(found, rest)? else { return Ok(None) };
            Ok(Some(Node::map(others.chain([(key.clone(), new)]).collect())))
        }
        (Token::Key { key, .. }, _) => {
            Err(format!("what has to hold {} is {}, not a map", quoted(key), node.type_name()))
        }
        (token, Node::List(items)) => {
            let Some(index) = place(items, token)? else { return Ok(None) };
            let others = |(at, _): &(usize, &Node)| *at != index;
            if rest.is_empty() {
                let left = items.iter().enumerate().filter(others).map(|(_, item)| item.clone());
                return Ok(Some(Node::List(left.collect())));
            }
            let Some(Some(new)) = items.get(index).map(|item| remove(item, rest)).transpose()? else { return Ok(None) };
            let item = |(at, item): (usize, &Node)| if at == index { new.clone() } else { item.clone() };
            Ok(Some(Node::List(items.iter().enumerate().map(item).collect())))
        }
        (_, other) => Err(format!("what has to be a list is {}", other.type_name())),
    }
}
