//! What templates compute with: Go's values, as far as templates can tell them apart.
//!
//! The type of a value decides in Go what a function takes, what is equal and what JSON says of nothing. Values never
//! change, and no one prints them but a template.

use alloc::collections::BTreeMap;
use alloc::string::ToString as _;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::node::Node;

/// What is wrong, in words that hold no value.
pub type Fault = &'static str;

/// What a function gives back.
pub type Answer = Result<Value, Fault>;

/// How deep lists and maps may be nested that a template makes.
const DEEPEST: u16 = 128;

/// A value.
#[derive(Clone)]
pub enum Value {
    /// Nothing.
    Nil,
    /// A truth value.
    Bool(bool),
    /// Go's `int`: numbers that stand in a template.
    Int(i64),
    /// Go's `int64`: whole numbers in objects.
    Int64(i64),
    /// Go's `uint`.
    Uint(u64),
    /// Go's `uint64`.
    Uint64(u64),
    /// Go's `float64`.
    Float(f64),
    /// A text.
    Text(Arc<str>),
    /// Bytes that are no text: only encoding takes them.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<List>),
    /// A map.
    Map(Arc<Map>),
}

/// Nothing of a value is ever shown.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value")
    }
}

/// What a list holds in Go's eyes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListOf {
    /// `[]any`.
    Any,
    /// `[]string`.
    Text,
    /// `[]int`.
    Int,
    /// `[][]any`.
    Lists,
    /// `[][]string`.
    TextLists,
    /// `[]map[string]string`.
    TextMaps,
}

/// What a map holds in Go's eyes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapOf {
    /// `map[string]any`.
    Any,
    /// `map[string]string`.
    Text,
    /// No map in Go, but something with fields: they are read by name, and it is good for nothing else.
    Fields,
    /// A map of which not all is known: what is known is read by name, and it is good for nothing else.
    Part,
}

/// A list.
pub struct List {
    /// What it holds.
    pub(super) of: ListOf,
    /// Whether Go has no list here at all, which only JSON and comparing tell.
    pub(super) nil: bool,
    /// Whether Go has the items in another list too.
    pub(super) shared: bool,
    /// The items.
    pub(super) items: Vec<Value>,
    depth: u16,
}

/// A map.
pub struct Map {
    /// What it holds.
    pub(super) of: MapOf,
    /// The entries.
    pub(super) entries: BTreeMap<Arc<str>, Value>,
    depth: u16,
}

impl Value {
    /// A field of an object, as Go has it.
    pub fn of_node(node: &Node) -> Self {
        match node {
            Node::Null => Self::Nil,
            Node::Bool(value) => Self::Bool(*value),
            Node::Int(number) => Self::Int64(*number),
            Node::Uint(number) => Self::Uint64(*number),
            Node::Float(number) => Self::Float(*number),
            Node::Time(moment) => Self::text(&moment.to_string()),
            Node::Text(text) => Self::text(text),
            Node::List(items) => Self::list(items.iter().map(Self::of_node).collect()),
            Node::Map(entries) | Node::InOrder(entries) => {
                Self::map(entries.iter().map(|(key, node)| (key.clone(), Self::of_node(node))))
            }
        }
    }

    /// A text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// A text that was made.
    pub(super) fn from_string(text: alloc::string::String) -> Self {
        Self::Text(text.into())
    }

    /// Text, or bytes where they are none.
    pub fn bytes(bytes: &[u8]) -> Self {
        core::str::from_utf8(bytes).map_or_else(|_| Self::Bytes(bytes.into()), Self::text)
    }

    /// A list of anything.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Arc::new(List::of(ListOf::Any, items)))
    }

    /// A map to anything.
    pub fn map(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Self {
        Self::Map(Arc::new(Map::of(MapOf::Any, entries.into_iter().collect())))
    }

    /// A map to texts, such as labels are. Bytes that are no text may be among them.
    pub fn texts(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Self {
        Self::Map(Arc::new(Map::of(MapOf::Text, entries.into_iter().collect())))
    }

    /// Something whose fields are read by their names, and which is no map.
    pub fn fields(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Self {
        Self::Map(Arc::new(Map::of(MapOf::Fields, entries.into_iter().collect())))
    }

    /// A map of which not all is known.
    pub fn part_of_map(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Self {
        Self::Map(Arc::new(Map::of(MapOf::Part, entries.into_iter().collect())))
    }

    /// A list that a function made.
    pub(super) fn made(of: ListOf, items: Vec<Value>) -> Answer {
        bounded(List::of(of, items))
    }

    /// The list that is none in Go.
    pub(super) fn no_list(of: ListOf) -> Answer {
        bounded(List { nil: true, ..List::of(of, Vec::new()) })
    }

    /// A list of texts that a function made.
    pub(super) fn made_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Answer {
        Self::made(ListOf::Text, texts.into_iter().map(Self::text).collect())
    }

    /// A list whose items Go has in another list too.
    pub(super) fn part(of: ListOf, items: Vec<Value>) -> Answer {
        bounded(List { shared: true, ..List::of(of, items) })
    }

    /// A map that a function made.
    pub(super) fn made_map(of: MapOf, entries: BTreeMap<Arc<str>, Value>) -> Answer {
        let map = Map::of(of, entries);
        if map.depth > DEEPEST { Err(TOO_DEEP) } else { Ok(Self::Map(Arc::new(map))) }
    }

    /// Whether a condition holds.
    pub(super) fn truth(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(n) | Self::Int64(n) => *n != 0,
            Self::Uint(n) | Self::Uint64(n) => *n != 0,
            Self::Float(n) => *n != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Map(map) => map.of.whole().is_err() || !map.entries.is_empty(),
        }
    }

    /// What `%T` says.
    pub(super) fn type_name(&self) -> Result<&'static str, Fault> {
        Ok(match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Uint(_) => "uint",
            Self::Uint64(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::Bytes(_) => return Err(NO_TEXT),
            Self::List(list) => match list.of {
                ListOf::Any => "[]interface {}",
                ListOf::Text => "[]string",
                ListOf::Int => "[]int",
                ListOf::Lists => "[][]interface {}",
                ListOf::TextLists => "[][]string",
                ListOf::TextMaps => "[]map[string]string",
            },
            Self::Map(map) => match map.of {
                MapOf::Any => "map[string]interface {}",
                MapOf::Text => "map[string]string",
                MapOf::Fields => return Err(ONLY_FIELDS),
                MapOf::Part => return Err(ONLY_PART),
            },
        })
    }

    /// Roughly how much is to be read in it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.items.len() * 32,
            Self::Map(map) => map.entries.len() * 64,
            _ => 1,
        }
    }

    fn depth(&self) -> u16 {
        match self {
            Self::List(list) => list.depth,
            Self::Map(map) => map.depth,
            _ => 0,
        }
    }
}

impl MapOf {
    /// Fails where something is good for nothing but its fields.
    pub(super) fn whole(self) -> Result<(), Fault> {
        match self {
            Self::Fields => Err(ONLY_FIELDS),
            Self::Part => Err(ONLY_PART),
            Self::Any | Self::Text => Ok(()),
        }
    }
}

impl List {
    fn of(of: ListOf, items: Vec<Value>) -> Self {
        let depth = items.iter().map(Value::depth).max().unwrap_or_default().saturating_add(1);
        Self { of, nil: false, shared: false, items, depth }
    }
}

impl Map {
    fn of(of: MapOf, entries: BTreeMap<Arc<str>, Value>) -> Self {
        let depth = entries.values().map(Value::depth).max().unwrap_or_default().saturating_add(1);
        Self { of, entries, depth }
    }
}

fn bounded(list: List) -> Answer {
    if list.depth > DEEPEST { Err(TOO_DEEP) } else { Ok(Value::List(Arc::new(list))) }
}

const TOO_DEEP: Fault = "lists and maps are nested too deep";

/// Said where bytes meet what wants a text.
pub(super) const NO_TEXT: Fault = "a value here is bytes that are no text; only base64Encode takes them";

/// Said where a map is used as a whole of which not all is known.
const ONLY_PART: Fault = "an object that pouch does not read as a whole is used as a whole; only its fields can be";

/// Said where something is asked for that is not known.
pub(super) const NOT_READ: Fault = "pouch does not read this field of the object, or the object has none";

/// Said where what has only fields is used as a whole.
pub(super) const ONLY_FIELDS: Fault = "an object here is used as a whole; only its fields can be";
