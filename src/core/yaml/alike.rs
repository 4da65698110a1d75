//! Documents that differ in their words alone: how such a text is built is asked of the parser once.
//!
//! The manifests of a fleet are a few texts, written a hundred thousand times with other names and values, and parsing
//! them is most of what a run costs. [`Reader`] cuts a text into words and what is between them. When what is between
//! comes again, it has the parser read that text with a mark in each word's place, keeps the tree with the marks in it,
//! and from then on puts words where the marks are. 20,000 Credentials take 33 ms so, and 224 ms without.
//!
//! That is exact, because no rule of YAML looks into such a word. A word is of letters, digits and `_ - . + / =`, begins
//! with a letter, a digit or `+ / =`, and is text by itself: none of its characters has a meaning behind the first, and
//! these have none as the first. Whatever could give it one keeps a text, or a word, from being treated so: escapes,
//! anchors, aliases and tags (their characters), the header of a block scalar, a key, a number or truth value, which
//! stay as they are, and lines so long that a key's end would not be looked for. Whatever the parser refuses with marks
//! it is given without, so that a flaw is found where it is.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::Flaw;
use super::read::{self, Document};
use super::scalar::{self, Word};
use crate::node::{Interner, Key, Node};

/// The longest text that is compared with others, in bytes: so it cannot reach the bounds of [`read::read`].
const MOST_BYTES: usize = 16 << 10;

/// The longest line, in bytes: YAML looks for the end of a key within 1024 characters.
///
/// <https://yaml.org/spec/1.2.2/#example-single-pair-explicit-entry>
const LONGEST_LINE: usize = 1000;

/// How many bytes of texts without their words are remembered.
const MOST_REMEMBERED: usize = 256 << 10;

/// What stands for a word; six digits follow. A text that has it is left to the parser.
const MARK: &str = "pouchMark";

/// How many digits follow a mark.
const DIGITS: usize = 6;

/// Reads documents one after the other, and shares among them what they have in common.
#[derive(Default)]
pub struct Reader {
    /// The keys of all documents.
    pub interner: Interner,
    known: BTreeMap<Box<str>, Known>,
    remembered: usize,
    cut: Cut,
}

/// What is known of texts that are the same without their words.
enum Known {
    /// There was one.
    Once,
    /// What they say.
    Form(Form),
    /// The parser has to read each.
    Unlike,
}

impl Reader {
    /// Makes a reader that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a document, as [`read::read`] does.
    ///
    /// # Errors
    /// Those of [`read::read`].
    pub fn read(&mut self, document: &Document<'_>) -> Result<Node, Flaw> {
        match self.like_others(document.text) {
            Some(node) => Ok(node),
            None => read::read(document, &mut self.interner),
        }
    }

    /// The same, with what is known, and nothing of the document is remembered.
    ///
    /// # Errors
    /// Those of [`read::read`].
    pub fn read_and_forget(&mut self, document: &Document<'_>) -> Result<Node, Flaw> {
        let text = document.text;
        let known = self.cut.is_made(text).then(|| self.known.get(self.cut.between.as_str())).flatten();
        let form = if let Some(Known::Form(form)) = known { Some(form) } else { None };
        match form.and_then(|form| form.filled(text, &self.cut.words)) {
            Some(node) => Ok(node),
            None => read::read(document, &mut Interner::new()),
        }
    }

    /// The document, if it differs from earlier ones in its words alone.
    fn like_others(&mut self, text: &str) -> Option<Node> {
        let cut = &mut self.cut;
        if !cut.is_made(text) {
            return None;
        }
        match self.known.get_mut(cut.between.as_str()) {
            Some(Known::Form(form)) => form.filled(text, &cut.words),
            Some(Known::Unlike) => None,
            Some(known) => {
                let form = cut.marked(text).and_then(|marked| read::compose_strictly(&marked, &mut self.interner).ok());
                let form = form.and_then(Form::of);
                let node = form.as_ref().and_then(|form| form.filled(text, &cut.words));
                *known = form.map_or(Known::Unlike, Known::Form);
                node
            }
            None => {
                self.remembered += cut.between.len();
                if self.remembered <= MOST_REMEMBERED {
                    self.known.insert(cut.between.as_str().into(), Known::Once);
                }
                None
            }
        }
    }
}

/// A text, cut into its words and what is between them.
#[derive(Default)]
struct Cut {
    /// The text with a zero byte for each word.
    between: String,
    /// Where the words stand.
    words: Vec<Range<usize>>,
}

impl Cut {
    /// Cuts a text; whether it is one that can be compared with others.
    fn is_made(&mut self, text: &str) -> bool {
        self.between.clear();
        self.words.clear();
        if text.len() > MOST_BYTES || !has_short_lines(text) || may_have_long_keys(text) {
            return false;
        }
        let mut rest = text;
        let mut at = 0_usize;
        let mut before = None;
        loop {
            let other = rest.bytes().position(|byte| class(byte) != Class::Between).unwrap_or(rest.len());
            let Some((between, behind)) = rest.split_at_checked(other) else { return false };
            self.between.push_str(between);
            before = between.bytes().last().or(before);
            at += other;
            let length = behind.bytes().position(|byte| class(byte) != Class::Word).unwrap_or(behind.len());
            let Some((word, behind)) = behind.split_at_checked(length) else { return false };
            if word.is_empty() {
                // Either the text ends here, or this byte may mean anything.
                return behind.is_empty();
            }
            let end = at + length;
            let is_header = matches!(before, Some(b'|' | b'>'));
            if is_header || is_key(behind) || !is_word(word) {
                self.between.push_str(word);
            } else {
                self.between.push('\0');
                self.words.push(at..end);
            }
            (rest, at, before) = (behind, end, None);
        }
    }

    /// The text with marks in place of its words; none if it cannot be told from them.
    fn marked(&self, text: &str) -> Option<String> {
        if text.contains(MARK) || self.words.len() >= 10_usize.pow(6) {
            return None;
        }
        let mut marked = String::with_capacity(text.len() * 2);
        let mut from = 0_usize;
        for (number, word) in self.words.iter().enumerate() {
            marked.push_str(text.get(from..word.start)?);
            marked.push_str(&format!("{MARK}{number:0DIGITS$}"));
            from = word.end;
        }
        marked.push_str(text.get(from..)?);
        has_short_lines(&marked).then_some(marked)
    }
}

fn has_short_lines(text: &str) -> bool {
    text.len() <= LONGEST_LINE || text.split('\n').all(|line| line.len() <= LONGEST_LINE)
}

/// Whether words in comments may stand between a key and its colon: in braces and brackets, the parser looks for that over
/// lines.
fn may_have_long_keys(text: &str) -> bool {
    text.len() > LONGEST_LINE && text.contains('#') && text.contains(['{', '['])
}

/// What a byte is to a cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It may be of a word.
    Word,
    /// It may stand between words.
    Between,
    /// A text that has it is not compared with others.
    Other,
}

fn class(byte: u8) -> Class {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(Class::Other)
}

/// The class of every byte: each byte of all manifests is looked up here.
static CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [Class::Other; 256];
    let mut rest: &mut [Class] = &mut classes;
    let mut byte = 0_u8;
    while let Some((class, behind)) = rest.split_first_mut() {
        *class = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'+' | b'/' | b'=' => Class::Word,
            b' ' | b'\n' | b':' | b',' | b';' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b'\'' | b'#'
            | b'$' | b'<' | b'>' | b'|' | b'?' | b'@' | b'^' | b'~' => Class::Between,
            _ => Class::Other,
        };
        rest = behind;
        byte = byte.wrapping_add(1);
    }
    classes
}

/// Whether what stands before this is a key, or may be one.
fn is_key(behind: &str) -> bool {
    match behind.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.starts_with(':'),
        None => behind.strip_prefix(':').is_some_and(|behind| behind.is_empty() || behind.starts_with([' ', '\n'])),
    }
}

/// Whether another word may stand in the place of this one.
fn is_word(word: &str) -> bool {
    !word.starts_with(['-', '.', '_']) && scalar::resolve(word) == Word::Text
}

/// A tree in which words are missing.
enum Form {
    /// Nothing is missing here.
    Whole(Node),
    Text(Box<[Piece]>),
    List(Box<[Form]>),
    Map(Box<[(Key, Form)]>),
}

/// A part of a text.
enum Piece {
    Known(Box<str>),
    /// The word with this number.
    Word(usize),
}

impl Form {
    /// The form that a tree with marks says; none if a key has a mark.
    fn of(marked: Node) -> Option<Self> {
        Some(match marked {
            Node::Text(text) if text.contains(MARK) => Form::Text(pieces(&text)?),
            Node::List(items) => {
                Form::List(items.into_iter().map(Form::of).collect::<Option<Vec<Form>>>()?.into_boxed_slice())
            }
            Node::Map(entries) => {
                let entry = |(key, value): (Key, Node)| {
                    let form = Form::of(value)?;
                    (!key.contains(MARK)).then_some((key, form))
                };
                Form::Map(entries.into_iter().map(entry).collect::<Option<Vec<(Key, Form)>>>()?.into_boxed_slice())
            }
            whole => Form::Whole(whole),
        })
    }

    /// The tree with its words; none if they make something of a text that is none.
    fn filled(&self, text: &str, words: &[Range<usize>]) -> Option<Node> {
        let word = |number: &usize| text.get(words.get(*number)?.clone());
        Some(match self {
            Form::Whole(node) => node.clone(),
            Form::Text(pieces) => match &**pieces {
                [Piece::Word(number)] => Node::text(word(number)?),
                pieces => {
                    let mut whole = String::new();
                    for piece in pieces {
                        whole.push_str(match piece {
                            Piece::Known(known) => known,
                            Piece::Word(number) => word(number)?,
                        });
                    }
                    (scalar::resolve(&whole) == Word::Text).then(|| Node::Text(whole.into_boxed_str()))?
                }
            },
            Form::List(items) => {
                let mut nodes = Vec::with_capacity(items.len());
                for item in items {
                    nodes.push(item.filled(text, words)?);
                }
                Node::List(nodes.into_boxed_slice())
            }
            Form::Map(entries) => {
                let mut nodes = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    nodes.push((key.clone(), value.filled(text, words)?));
                }
                Node::Map(nodes.into_boxed_slice())
            }
        })
    }
}

/// A text with marks, in pieces.
fn pieces(text: &str) -> Option<Box<[Piece]>> {
    let mut pieces = Vec::new();
    let mut parts = text.split(MARK);
    let known = |text: &str| (!text.is_empty()).then(|| Piece::Known(text.into()));
    pieces.extend(known(parts.next()?));
    for part in parts {
        let (number, behind) = part.split_at_checked(DIGITS)?;
        pieces.push(Piece::Word(number.parse().ok()?));
        pieces.extend(known(behind));
    }
    Some(pieces.into_boxed_slice())
}

#[cfg(test)]
mod tests;
