//! Documents → [`Node`], and the configuration → its types.
//!
//! The only file that names serde-saphyr. Manifests are read from its parser's events and not through
//! serde: words must mean what they mean to kubectl ([`mod@scalar`]), every flaw must have
//! its place in the file, and it takes less than half the time. The files of our own formats go through
//! serde, for the sake of its errors. Either way a parser's message is dropped at this door: it can
//! quote a Secret.
//!
//! There are two dialects, because SOPS reads YAML with go-yaml v3 and kubectl with v2. To v3, `yes` is text, a date is
//! a time, and the order of keys counts. SOPS writes neither aliases nor tags, so a file with either was not written by
//! SOPS and is refused.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use serde::de::DeserializeOwned;
use serde_yaml::Error;
use serde_yaml::budget::BudgetBreach;
use serde_yaml::granit_parser::{self, ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag};

use super::lines::line_in;
use super::scalar::{self, Word};
use super::{Flaw, expected};
pub use serde_yaml::Spanned;

pub use super::stream::{Document, MAX_DOCUMENT_BYTES, documents, text_of};
use crate::node::{Dialect, Interner, Key, Node};

/// The most levels of lists and maps in one document.
pub const MAX_DEPTH: usize = 128;

/// The entries of open maps that memory is reserved for from the start: a usual document has fewer.
const ROOM: usize = 32;

/// Up to this many keys of a map, a new key is compared with each; beyond that a set is kept.
const FEW: usize = 16;

/// Reads one document.
///
/// Anchors, aliases and merge keys are followed. Copies may weigh 1 MiB plus four times the document's length,
/// and there may be 65,536 nodes plus one for every four bytes, so that neither an alias bomb nor `[0,0,0,…`
/// takes more memory than a multiple of its own length.
///
/// # Errors
/// A [`Flaw`] with its position in the file: text that is no YAML, a document over
/// [`MAX_DOCUMENT_BYTES`], [`MAX_DEPTH`] or those bounds, a key twice in one map, a key that is no
/// text, a number that is not finite, a tag outside YAML's core schema, a character that YAML does
/// not allow, and a merge key after a key that it also sets (kubectl takes the merged value, kustomize
/// the other).
pub fn read(document: &Document<'_>, interner: &mut Interner) -> Result<Node, Flaw> {
    placed(document, compose(document.text, interner, MOST_INDENTED))
}

/// As [`read`], for a text that is looked at and not used: what is not indented in quotes is put right once, so that no text
/// takes much longer to read than to write. A payload of 765 KiB with 70 such places takes less than 10 ms so, and 700 ms
/// where each is put right.
///
/// # Errors
/// As [`read`].
pub fn skim(document: &Document<'_>, interner: &mut Interner) -> Result<Node, Flaw> {
    placed(document, compose(document.text, interner, 1))
}

/// Reads one document as SOPS does.
///
/// # Errors
/// As [`read`], except for lines that are not indented, and where an alias, a merge key or a tag stands in the document.
pub fn read_ordered(document: &Document<'_>, interner: &mut Interner) -> Result<Node, Flaw> {
    placed(document, compose_in(Dialect::Sops, document.text, interner))
}

fn placed(document: &Document<'_>, read: Result<Node, Flaw>) -> Result<Node, Flaw> {
    read.map_err(|flaw| Flaw { line: line_in(document.first_line, flaw.line), ..flaw })
}

/// Reads a text, and indents what stands in quotes where only that is amiss: kubectl takes it as it is.
///
/// The indentation of such a line says nothing, since readers drop it.
fn compose(text: &str, interner: &mut Interner, most_indented: usize) -> Result<Node, Flaw> {
    let first = match compose_strictly(text, interner) {
        Err(flaw) if flaw.what == NOT_INDENTED => flaw,
        read => return read,
    };
    let mut lines: Vec<Cow<'_, str>> = text.split_inclusive('\n').map(Cow::Borrowed).collect();
    let indent = lines.iter().map(|line| line.len().saturating_sub(line.trim_start().len())).max().unwrap_or_default();
    let indent = " ".repeat(indent + 1);
    let mut from = first.line;
    for _ in 0..most_indented {
        // What follows without a quote still stands in the same ones.
        let mut is_last = false;
        for line in lines.iter_mut().skip(usize::try_from(from).unwrap_or(usize::MAX).saturating_sub(1)) {
            if is_last {
                break;
            }
            is_last = line.contains(['"', '\'']);
            line.to_mut().insert_str(0, &indent);
        }
        match compose_strictly(&lines.concat(), interner) {
            Err(flaw) if flaw.what == NOT_INDENTED && flaw.line > from => from = flaw.line,
            Err(flaw) if flaw.what == NOT_INDENTED => break,
            read => return read,
        }
    }
    Err(first)
}

/// How often quotes that go on in lines that are not indented are put right.
const MOST_INDENTED: usize = 64;

const NOT_INDENTED: &str = "quotes are opened and not closed, or the text in them is not indented";

pub(super) fn compose_strictly(text: &str, interner: &mut Interner) -> Result<Node, Flaw> {
    compose_in(Dialect::Kubectl, text, interner)
}

fn compose_in(dialect: Dialect, text: &str, interner: &mut Interner) -> Result<Node, Flaw> {
    let mut composer = Composer {
        dialect,
        events: Events::of(text)?,
        interner,
        anchors: BTreeMap::new(),
        entries: Vec::with_capacity(ROOM),
        items: Vec::new(),
        copies_left: text.len().saturating_mul(4).saturating_add(1 << 20),
    };
    let mut root = None;
    loop {
        match composer.events.next()? {
            (Event::StreamEnd, _) => return Ok(root.unwrap_or(Node::Null)),
            (Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _) => {}
            (_, at) if root.is_some() => return Err(flaw(at, "a second document begins here")),
            (event, at) => root = Some(composer.node(event, at, 0)?),
        }
    }
}

/// What a node weighs beside its text, against the bound on copies.
const NODE_WEIGHT: usize = 32;

struct Anchored {
    node: Node,
    weight: usize,
    height: usize,
}

/// How many values and keys a document may have.
pub(super) fn most_values(text: &str) -> usize {
    (text.len() / 4).saturating_add(1 << 16)
}

/// The events of a document's text, one after the other, within the bounds of [`read`].
struct Events<'text> {
    parser: Parser<'text, StrInput<'text>>,
    nodes_left: usize,
}

impl<'text> Events<'text> {
    fn of(text: &'text str) -> Result<Self, Flaw> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(Flaw::new(1, 1, "the document is larger than 64 MiB"));
        }
        refuse_unprintable(text)?;
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH + 1,
            block_nesting_limit: MAX_DEPTH + 1,
        };
        let parser = Parser::new_from_str_with_options(text, options);
        Ok(Self { parser, nodes_left: most_values(text) })
    }

    fn next(&mut self) -> Result<(Event<'text>, Marker), Flaw> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, span.start)),
            Some(Err(error)) => Err(scan_flaw(&error)),
            None => Ok((Event::StreamEnd, Marker::default())),
        }
    }

    /// Counts a value, which begins at `at`.
    fn count(&mut self, at: Marker) -> Result<(), Flaw> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or_else(|| flaw(at, "the document has too many values"))?;
        Ok(())
    }
}

struct Composer<'text, 'run> {
    dialect: Dialect,
    events: Events<'text>,
    interner: &'run mut Interner,
    anchors: BTreeMap<usize, Anchored>,
    /// Entries and items of the collections that are open, so that each is allocated once, at its size.
    entries: Vec<(Key, Node)>,
    items: Vec<Node>,
    copies_left: usize,
}

impl<'text> Composer<'text, '_> {
    fn node(&mut self, event: Event<'text>, at: Marker, depth: usize) -> Result<Node, Flaw> {
        self.events.count(at)?;
        if self.dialect == Dialect::Sops && !is_of_sops(&event) {
            return Err(flaw(at, "there is an alias, an anchor or a tag here, which SOPS does not write"));
        }
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (scalar(self.dialect, &text, style, tag.as_deref()).map_err(|what| flaw(at, what))?, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_tag_unless("seq", tag.as_deref()).map_err(|what| flaw(at, what))?;
                (self.list(deeper(depth, at)?)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_tag_unless("map", tag.as_deref()).map_err(|what| flaw(at, what))?;
                (self.map(deeper(depth, at)?)?, anchor)
            }
            Event::Alias(anchor) => return self.copy(anchor, at, depth),
            _ => return Err(flaw(at, "a value is missing here")),
        };
        if anchor != 0 {
            self.keep(anchor, &node, at)?;
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Node, Flaw> {
        let start = self.items.len();
        loop {
            match self.events.next()? {
                (Event::SequenceEnd, _) => break,
                (event, at) => {
                    let item = self.node(event, at, depth)?;
                    self.items.push(item);
                }
            }
        }
        Ok(Node::List(self.items.drain(start..).collect()))
    }

    fn map(&mut self, depth: usize) -> Result<Node, Flaw> {
        let start = self.entries.len();
        let mut seen = BTreeSet::new();
        let mut merged: Option<BTreeMap<Key, Node>> = None;
        loop {
            let (event, at) = self.events.next()?;
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(text, style, 0, tag)
                    if self.dialect == Dialect::Kubectl && is_merge(&text, style, tag.as_deref()) =>
                {
                    let (event, value_at) = self.events.next()?;
                    let value = self.node(event, value_at, depth)?;
                    let sources = merge_sources(value).ok_or_else(|| flaw(value_at, "only maps can be merged"))?;
                    if merged.is_some() {
                        return Err(flaw(at, "the merge key is here for the second time"));
                    }
                    if sources.keys().any(|key| self.has_key(start, &seen, key)) {
                        return Err(flaw(
                            at,
                            "this merge sets a key that is before it, and readers disagree on which one counts; put \
                             the merge first",
                        ));
                    }
                    merged = Some(sources);
                    continue;
                }
                event => self.key(event, at)?,
            };
            if self.has_key(start, &seen, &key) {
                return Err(flaw(at, "this key is here for the second time"));
            }
            let (event, value_at) = self.events.next()?;
            let value = self.node(event, value_at, depth)?;
            self.entries.push((key.clone(), value));
            let own = self.entries.get(start..).unwrap_or_default();
            if own.len() == FEW {
                seen.extend(own.iter().map(|(key, _)| key.clone()));
            } else if own.len() > FEW {
                seen.insert(key);
            }
        }
        for (key, value) in merged.into_iter().flatten() {
            if !self.has_key(start, &seen, &key) {
                // Not noted in `seen`: merged keys differ among themselves.
                self.entries.push((key, value));
            }
        }
        if self.dialect == Dialect::Sops {
            return Ok(Node::InOrder(self.entries.drain(start..).collect()));
        }
        if let Some(own) = self.entries.get_mut(start..) {
            own.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        }
        Ok(Node::Map(self.entries.drain(start..).collect()))
    }

    fn has_key(&self, start: usize, seen: &BTreeSet<Key>, key: &str) -> bool {
        let own = self.entries.get(start..).unwrap_or_default();
        if seen.is_empty() { own.iter().any(|(known, _)| **known == *key) } else { seen.contains(key) }
    }

    fn key(&mut self, event: Event<'text>, at: Marker) -> Result<Key, Flaw> {
        let refusal = || flaw(at, "a key must be text; put it in quotes");
        if self.dialect == Dialect::Kubectl {
            self.events.count(at)?;
        }
        match event {
            Event::Scalar(text, ScalarStyle::Plain, 0, None) => match scalar::resolve_in(self.dialect, &text) {
                Word::Text => Ok(self.interner.key(&text)),
                Word::Merge => Err(flaw(at, "there is a merge key here, which SOPS does not write")),
                _ => Err(refusal()),
            },
            Event::Scalar(text, _, 0, None) => Ok(self.interner.key(&text)),
            event @ (Event::Scalar(..) | Event::Alias(_)) if self.dialect == Dialect::Kubectl => {
                let key = self.node(event, at, 0)?;
                key.as_str().map(|text| self.interner.key(text)).ok_or_else(refusal)
            }
            _ => Err(refusal()),
        }
    }

    /// Keeps the node that an anchor names. Keeping counts like copying: anchors around anchors would otherwise
    /// hold the innermost text once for each.
    fn keep(&mut self, anchor: usize, node: &Node, at: Marker) -> Result<(), Flaw> {
        let (weight, height) = measure(node);
        self.pay(weight, at)?;
        self.anchors.insert(anchor, Anchored { node: node.clone(), weight, height });
        Ok(())
    }

    fn copy(&mut self, anchor: usize, at: Marker, depth: usize) -> Result<Node, Flaw> {
        let Some(Anchored { node, weight, height }) = self.anchors.get(&anchor) else {
            return Err(flaw(at, "an alias is inside the value that it names"));
        };
        let (node, weight, height) = (node.clone(), *weight, *height);
        deeper(depth.saturating_add(height).saturating_sub(1), at)?;
        self.pay(weight, at)?;
        Ok(node)
    }

    fn pay(&mut self, weight: usize, at: Marker) -> Result<(), Flaw> {
        self.copies_left =
            self.copies_left.checked_sub(weight).ok_or_else(|| flaw(at, "the document's aliases copy too much"))?;
        Ok(())
    }
}

fn deeper(depth: usize, at: Marker) -> Result<usize, Flaw> {
    let depth = depth + 1;
    if depth > MAX_DEPTH { Err(flaw(at, "lists and maps are nested too deeply here")) } else { Ok(depth) }
}

/// Whether a key is the merge key: by what it is, or by its tag.
fn is_merge(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    let tagged = tag.map(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() == Some("merge"));
    text == "<<" && tagged.unwrap_or(style == ScalarStyle::Plain)
}

/// The entries that `<<` brings; in a list of maps, the earlier ones win.
fn merge_sources(value: Node) -> Option<BTreeMap<Key, Node>> {
    let maps = match value {
        Node::List(maps) => maps,
        map => Box::from([map]),
    };
    let mut merged = BTreeMap::new();
    for map in maps {
        let Node::Map(entries) = map else { return None };
        for (key, value) in entries {
            merged.entry(key).or_insert(value);
        }
    }
    Some(merged)
}

/// Returns true if SOPS writes such an event: without an anchor, and without a tag but `!`.
fn is_of_sops(event: &Event<'_>) -> bool {
    match event {
        Event::Scalar(_, _, 0, tag) => tag.as_deref().is_none_or(is_bare),
        Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag) => *anchor == 0 && tag.is_none(),
        _ => false,
    }
}

fn scalar(dialect: Dialect, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Node, &'static str> {
    let Some(tag) = tag else {
        return match style {
            ScalarStyle::Plain => node_of(scalar::resolve_in(dialect, text), text),
            _ => Ok(Node::text(text)),
        };
    };
    let word = |text| node_of(scalar::resolve(text), text);
    let not_this = "the value is not what its tag says";
    match tag.core_suffix() {
        Some("str") => Ok(Node::text(text)),
        Some("null") => matches!(word(text)?, Node::Null).then_some(Node::Null).ok_or(not_this),
        Some("bool") => Some(word(text)?).filter(|node| matches!(node, Node::Bool(_))).ok_or(not_this),
        Some("int") => Some(word(text)?).filter(|node| matches!(node, Node::Int(_) | Node::Uint(_))).ok_or(not_this),
        Some("float") => float(&word(text)?).map(Node::Float).ok_or(not_this),
        _ if is_bare(tag) => Ok(Node::text(text)),
        _ => Err(FOREIGN_TAG),
    }
}

const FOREIGN_TAG: &str = "this tag is not one of YAML's core schema";

/// Whether a tag is `!`, which makes a scalar text.
fn is_bare(tag: &Tag) -> bool {
    matches!(tag.parts(), ("", "!") | ("!", ""))
}

/// The node of an unquoted word.
fn node_of(word: Word, text: &str) -> Result<Node, &'static str> {
    Ok(match word {
        Word::Null => Node::Null,
        Word::Bool(value) => Node::Bool(value),
        Word::Int(value) => Node::Int(value),
        Word::Uint(value) => Node::Uint(value),
        Word::Float(value) => Node::Float(value),
        Word::Time(moment) => Node::Time(moment),
        Word::Text | Word::Merge => Node::text(text),
        Word::NotFinite => return Err("a number must be finite; put it in quotes if it is text"),
    })
}

fn float(number: &Node) -> Option<f64> {
    // An integer under `!!float` goes through the decimal form, which rounds as reading does.
    match number {
        Node::Float(value) => Some(*value),
        Node::Int(value) => format!("{value}").parse().ok(),
        Node::Uint(value) => format!("{value}").parse().ok(),
        _ => None,
    }
}

fn refuse_tag_unless(kind: &str, tag: Option<&Tag>) -> Result<(), &'static str> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.core_suffix() == Some(kind) || is_bare(tag) => Ok(()),
        Some(_) => Err(FOREIGN_TAG),
    }
}

/// What a tree weighs, and how many levels it has.
fn measure(node: &Node) -> (usize, usize) {
    let inner = |(weight, height): (usize, usize), (w, h): (usize, usize)| (weight.saturating_add(w), height.max(h));
    let (weight, height) = match node {
        Node::Text(text) => (text.len(), 0),
        Node::List(items) => items.iter().map(measure).fold((0, 0), inner),
        Node::Map(entries) => entries.iter().map(|(_, value)| measure(value)).fold((0, 0), inner),
        _ => (0, 0),
    };
    let levels = usize::from(matches!(node, Node::List(_) | Node::Map(_)));
    (weight.saturating_add(NODE_WEIGHT), height.saturating_add(levels))
}

fn flaw(at: Marker, what: &'static str) -> Flaw {
    Flaw::new(at.line(), at.col() + 1, what)
}

/// Refuses what YAML's `c-printable` leaves out, as kubectl does: a parser may stop at a NUL, and a
/// terminal obeys an escape. <https://yaml.org/spec/1.2.2/#51-character-set>
fn refuse_unprintable(text: &str) -> Result<(), Flaw> {
    // C1 controls begin with 0xC2, U+2028 with 0xE2, U+FFFE and U+FFFF with 0xEF: most texts have none of these bytes.
    let suspicious = |byte: u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127 | 0xC2 | 0xE2 | 0xEF);
    // Without an early exit the compiler can look at many bytes at once.
    if !text.bytes().fold(false, |found, byte| found | suspicious(byte)) {
        return Ok(());
    }
    let Some((at, c)) = text.char_indices().find(|(_, c)| is_break_of_some(*c) || !is_printable(*c)) else {
        return Ok(());
    };
    let what = match is_break_of_some(c) {
        true => "some readers take this character for a line break; write it as an escape in double quotes",
        false => "there is a control character here",
    };
    Err(Flaw::after(text.get(..at).unwrap_or_default(), what))
}

/// Whether YAML 1.1, and so kubectl, takes a character for a line break and YAML 1.2 does not.
fn is_break_of_some(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// YAML's `c-printable`.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// The parser's error in our own words, because its words can quote a character of the text.
fn scan_flaw(error: &ScanError) -> Flaw {
    use ErrorKind as Kind;
    let what = match error.kind() {
        Kind::TabNotAllowed
        | Kind::TabInBlockIndentation
        | Kind::TabInIndentation
        | Kind::TabInPlainScalar
        | Kind::TabAtBlockScalarStart => "there is a tab here, where YAML needs spaces",
        Kind::UnclosedQuotedScalar | Kind::InvalidQuotedScalarIndent => NOT_INDENTED,
        Kind::DocumentIndicatorInQuotedScalar => "the document ends inside of quotes",
        Kind::UnclosedFlowCollection { .. }
        | Kind::UnexpectedEofFlowSequence
        | Kind::UnexpectedEofFlowMapping
        | Kind::UnexpectedEofImplicitFlowMapping
        | Kind::ExpectedFlowMappingSeparator
        | Kind::ExpectedFlowSequenceSeparator => "a bracket is opened and not closed, or a comma is missing",
        Kind::MisplacedFlowCollectionEnd | Kind::MismatchedFlowCollectionEnd { .. } => {
            "a bracket is closed that was not opened"
        }
        Kind::UnexpectedEof | Kind::UnexpectedEofBlockSequence | Kind::UnexpectedEofBlockMapping => {
            "the document ends too early"
        }
        Kind::UnknownAnchor => "an alias names an anchor that does not exist",
        Kind::UndeclaredTagHandle => FOREIGN_TAG,
        Kind::RecursionLimitExceeded => "lists and maps are nested too deeply here",
        Kind::SimpleKeyExpected | Kind::InvalidSimpleKey | Kind::ExpectedBlockMappingKey => {
            "a key with a colon is expected here"
        }
        Kind::MappingValueNotAllowed | Kind::InvalidColonPlacement | Kind::InvalidMappingValueWhitespace => {
            "a colon is not allowed here; text that contains `: ` needs quotes"
        }
        Kind::InvalidIndentation
        | Kind::InvalidBlockScalarIndent
        | Kind::InvalidFlowScalarIndent
        | Kind::ZeroBlockScalarIndent
        | Kind::ExpectedBlockSequenceEntry
        | Kind::BlockSequenceEntryNotAllowed => "the indentation does not match the lines above",
        Kind::UnknownQuotedScalarEscape
        | Kind::InvalidQuotedScalarHexEscape
        | Kind::InvalidLowSurrogateHexEscape
        | Kind::InvalidLowSurrogate
        | Kind::MissingLowSurrogate
        | Kind::UnpairedLowSurrogate
        | Kind::InvalidUnicodeEscape => "double quotes hold an escape that YAML does not know",
        Kind::InvalidTrailingSingleQuotedScalar | Kind::InvalidTrailingDoubleQuotedScalar => {
            "there is something after the closing quotes"
        }
        Kind::UnexpectedCharacter { .. } => "text cannot begin with this character; put it in quotes",
        Kind::BomInsideDocument => "there is a byte order mark inside the document",
        _ => "this is not valid YAML",
    };
    flaw(*error.marker(), what)
}

/// Reads `pouch.yaml` or `bundle.yaml` into its type.
///
/// A number or truth value where text belongs is refused and not made text: `no` is a region's name
/// only in quotes.
///
/// # Errors
/// A [`Flaw`] with its position and what belongs there: an unknown field with the nearest valid name,
/// a missing field, a wrong type, a key twice in one map, text that is no YAML, several documents.
pub fn typed<T: DeserializeOwned>(text: &str) -> Result<T, Flaw> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(Flaw::new(1, 1, "the file is larger than 64 MiB"));
    }
    refuse_unprintable(text)?;
    let length = text.len();
    let options = serde_yaml::options! {
        with_snippet: false,
        no_schema: true,
        reject_unsupported_tags: true,
        budget: serde_yaml::budget! {
            max_events: length.saturating_add(1 << 16),
            max_nodes: (length / 2).saturating_add(1 << 16),
            max_total_scalar_bytes: length.saturating_mul(2).saturating_add(1 << 16),
        },
    };
    serde_yaml::from_str_with_options(text, options).map_err(|error| {
        // For text that is no YAML at all, the other door has the better message.
        if let (Error::ExternalMessage { .. }, Err(flaw)) = (&error, compose(text, &mut Interner::new(), MOST_INDENTED))
        {
            return flaw;
        }
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        let bounded = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Flaw::new(bounded(line), bounded(column), words(&error))
    })
}

fn words(error: &Error) -> Cow<'static, str> {
    let fixed = match error {
        Error::SerdeUnknownField { field, expected, .. } => return expected::unknown_field(field, expected).into(),
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            return expected::unknown_word(variant, expected).into();
        }
        Error::SerdeMissingField { field, .. } => return format!("the field `{field}` is missing").into(),
        Error::SerdeInvalidType { expected, .. } | Error::SerdeInvalidValue { expected, .. } => {
            return format!("{} is expected here", expected::kind(expected)).into();
        }
        Error::Unexpected { expected, .. } => return format!("{} is expected here", expected::kind(expected)).into(),
        Error::InvalidScalar { ty, .. } => return format!("{} is expected here", expected::kind(ty)).into(),
        Error::SerdeInvalidLength { .. } => "the number of items does not fit",
        Error::QuotingRequired { .. } => "text is expected here; put the value in quotes",
        Error::NullIntoString { .. } => "text is expected here, but there is nothing",
        Error::InvalidBooleanStrict { .. } => "`true` or `false` is expected here",
        Error::DuplicateMappingKey { .. } => "this key is here for the second time",
        Error::MultipleDocuments { .. } => "a second document begins here; the file must have one",
        Error::Eof { .. } => "the file is empty, or ends too early",
        Error::UnknownAnchor { .. } => "an alias names an anchor that does not exist",
        Error::UnsupportedTag { .. } => FOREIGN_TAG,
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => "lists and maps are nested too deeply here",
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } | Error::AliasExpansionLimitExceeded { .. } => {
            "the file has too many values, or its aliases copy too much"
        }
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => return words(error),
        // The parser's text, which can quote.
        Error::ExternalMessage { .. } => "this is not valid YAML",
        _ => "the value does not fit here",
    };
    fixed.into()
}

#[cfg(test)]
mod tests;
