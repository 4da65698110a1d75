//! Documents: words in their tones, line by line. A view says what is shown, each medium how that looks.
//!
//! Words are anybody's: whatever shows a document escapes them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The sense in which words are said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// No other.
    Plain,
    /// A name or a title.
    Strong,
    /// Words of a document or a command line, to be read as they are.
    Code,
    /// A mark before more about the line above.
    Mark,
    /// The id of a commit.
    Commit,
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// Information.
    Info,
    /// All is as it should be.
    Good,
    /// Nothing happens.
    Dim,
    /// Something is new.
    Added,
    /// Something is needed by others too.
    Joined,
    /// Something is different.
    Changed,
    /// Something stays as it was.
    Carried,
    /// A Secret is sealed again.
    Resealed,
    /// Something is needed by fewer.
    Left,
    /// Something stays until consumers have followed.
    Handover,
    /// Something goes.
    Withdrawn,
    /// Something waits for an acceptance.
    Held,
    /// Something is not allowed.
    Refused,
    /// Something cannot be had.
    Broken,
}

/// Words of one tone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// The tone.
    pub tone: Tone,
    /// The words.
    pub words: String,
    /// The address of a page about them.
    pub link: Option<String>,
}

/// A line of words.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text(Vec<Span>);

impl Text {
    /// Begins with words of a tone.
    pub fn of(tone: Tone, words: impl Into<String>) -> Self {
        Self::default().and(tone, words)
    }

    /// Begins with a word, after which others begin in one column.
    pub fn column(tone: Tone, word: &str, width: usize) -> Self {
        Self::default().and_column(tone, word, width)
    }

    /// Adds words of a tone.
    pub fn and(mut self, tone: Tone, words: impl Into<String>) -> Self {
        self.0.push(Span { tone, words: words.into(), link: None });
        self
    }

    /// Adds words of no other tone.
    pub fn then(self, words: impl Into<String>) -> Self {
        self.and(Tone::Plain, words)
    }

    /// Adds code.
    pub fn code(self, words: impl Into<String>) -> Self {
        self.and(Tone::Code, words)
    }

    /// Adds a word, after which others begin in one column.
    pub fn and_column(self, tone: Tone, word: &str, width: usize) -> Self {
        let room = width.saturating_sub(word.chars().count());
        self.and(tone, word).then(format!("{:room$}  ", ""))
    }

    /// Links the last words to a page, if there is one.
    pub fn linked(mut self, link: Option<&str>) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.link = link.map(String::from);
        }
        self
    }

    /// The words in their tones.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }
}

/// The words alone.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|span| f.write_str(&span.words))
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::of(Tone::Plain, words)
    }
}

impl From<&String> for Text {
    fn from(words: &String) -> Self {
        Self::of(Tone::Plain, words)
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::of(Tone::Plain, words)
    }
}

/// A part of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// A title, of the first level or a deeper one.
    Heading(usize, Text),
    /// A line with room below it.
    Paragraph(Text),
    /// A line.
    Line(Text),
    /// A line, below those that are less deep.
    Item(usize, Text),
    /// An empty line.
    Blank,
    /// What follows is folded under a title, where that can be, up to the end of it.
    Fold(Text),
    /// The end of what is folded.
    EndOfFold,
}

/// Lines in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Document(Vec<Block>);

/// A line alone.
impl From<Text> for Document {
    fn from(text: Text) -> Self {
        Self([Block::Line(text)].into())
    }
}

impl Document {
    /// Adds a title, of the first level or a deeper one.
    pub fn heading(&mut self, level: usize, text: impl Into<Text>) {
        self.0.push(Block::Heading(level, text.into()));
    }

    /// Adds a line with room below it.
    pub fn paragraph(&mut self, text: impl Into<Text>) {
        self.0.push(Block::Paragraph(text.into()));
    }

    /// Adds a line.
    pub fn line(&mut self, text: impl Into<Text>) {
        self.0.push(Block::Line(text.into()));
    }

    /// Adds a line, below those that are less deep.
    pub fn item(&mut self, depth: usize, text: impl Into<Text>) {
        self.0.push(Block::Item(depth, text.into()));
    }

    /// Adds lines that are equally deep.
    pub fn items<T: Into<Text>>(&mut self, depth: usize, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.item(depth, text));
    }

    /// Folds what some work adds under a title.
    pub fn fold(&mut self, title: impl Into<Text>, work: impl FnOnce(&mut Self)) {
        self.0.push(Block::Fold(title.into()));
        work(self);
        self.0.push(Block::EndOfFold);
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.0.push(Block::Blank);
    }

    /// Its parts.
    pub fn blocks(&self) -> &[Block] {
        &self.0
    }
}
