//! From tokens to a tree: Go's `text/template/parse/parse.go`.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::lex::{Keyword, Token, tokens};
use super::refused::Refused;
use super::tree::{Branch, Command, Kind, Line, List, Node, Pipe, Word};

/// How deep branches and parentheses may be nested.
const DEEPEST: u32 = 100;

/// A template, and those that it defines by name.
pub(super) struct Parsed {
    pub(super) tree: List,
    pub(super) defined: BTreeMap<String, List>,
}

/// Parses a text.
///
/// # Errors
/// What Go's parser refuses, a name that is defined twice, and what is nested too deeply.
pub(super) fn parse(text: &str) -> Result<Parsed, Refused> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, levels: DEEPEST, defined: BTreeMap::new() };
    let mut tree = Vec::new();
    loop {
        if *parser.peek() == Token::End {
            return Ok(Parsed { tree, defined: parser.defined });
        }
        let begin = parser.at;
        if *parser.next() == Token::Open {
            if *parser.next_word() == Token::Word(Keyword::Define) {
                parser.definition()?;
                continue;
            }
            parser.at = begin;
        } else {
            parser.at = begin;
        }
        match parser.node()? {
            Item::Node(node) => tree.push(node),
            Item::End | Item::Else => return parser.refused("{{end}} or {{else}} ends nothing"),
        }
    }
}

/// What stands in a list.
enum Item {
    Node(Node),
    End,
    Else,
}

/// What a pipeline is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Action,
    Range,
    Parentheses,
}

struct Parser {
    tokens: Vec<(Token, Line)>,
    at: usize,
    /// The levels that it may still go deeper.
    levels: u32,
    defined: BTreeMap<String, List>,
}

const HELP: &str = "Correct the template.";

impl Parser {
    fn token(&self, at: usize) -> &(Token, Line) {
        const END: &(Token, Line) = &(Token::End, Line(0));
        self.tokens.get(at).or(self.tokens.last()).unwrap_or(END)
    }

    fn line(&self) -> Line {
        self.token(self.at.saturating_sub(1)).1
    }

    fn peek(&self) -> &Token {
        &self.token(self.at).0
    }

    fn next(&mut self) -> &Token {
        self.at += 1;
        &self.token(self.at.saturating_sub(1)).0
    }

    fn skip_space(&mut self) {
        while *self.peek() == Token::Space {
            self.at += 1;
        }
    }

    /// The next token that is no space.
    fn next_word(&mut self) -> &Token {
        self.skip_space();
        self.next()
    }

    /// The same, which stays.
    fn peek_word(&mut self) -> &Token {
        self.skip_space();
        self.peek()
    }

    fn refused<T>(&self, message: &str) -> Result<T, Refused> {
        Err(Refused::at(self.line(), message, HELP))
    }

    fn expect_close(&mut self) -> Result<(), Refused> {
        if *self.next_word() == Token::Close { Ok(()) } else { self.refused("an action goes on where it should end") }
    }

    fn name(&mut self) -> Result<String, Refused> {
        match self.next_word() {
            Token::Quoted(name) => Ok(String::from(&**name)),
            _ => self.refused("a template's name must stand in quotes"),
        }
    }

    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Refused>) -> Result<T, Refused> {
        let Some(left) = self.levels.checked_sub(1) else {
            return self.refused("branches or parentheses are nested deeper than 100 levels");
        };
        let levels = mem::replace(&mut self.levels, left);
        let result = inside(self);
        self.levels = levels;
        result
    }

    fn definition(&mut self) -> Result<(), Refused> {
        let name = self.name()?;
        self.expect_close()?;
        self.body(name)
    }

    /// What stands up to an `{{end}}`, as a template of its own.
    fn body(&mut self, name: String) -> Result<(), Refused> {
        let line = self.line();
        if name.is_empty() {
            return self.refused("a template has no name");
        }
        let (list, end) = self.deeper(Self::list)?;
        if !matches!(end, Item::End) {
            return self.refused("{{else}} ends nothing");
        }
        if self.defined.insert(name, list).is_some() {
            return Err(Refused::at(line, "a template of this name is defined already", "Rename one of them."));
        }
        Ok(())
    }

    /// Nodes, and what ends them.
    fn list(&mut self) -> Result<(List, Item), Refused> {
        let mut nodes = Vec::new();
        loop {
            if *self.peek_word() == Token::End {
                return self.refused("the template ends where an {{end}} is missing");
            }
            match self.node()? {
                Item::Node(node) => nodes.push(node),
                end => return Ok((nodes, end)),
            }
        }
    }

    fn node(&mut self) -> Result<Item, Refused> {
        let token = self.next_word().clone();
        let line = self.line();
        match token {
            Token::Text(text) => Ok(Item::Node(Node::Text(line, text))),
            Token::Open => self.action(),
            _ => self.refused("something stands outside of an action"),
        }
    }

    fn action(&mut self) -> Result<Item, Refused> {
        let begin = self.at;
        let token = self.next_word().clone();
        let line = self.line();
        let Token::Word(word) = token else {
            self.at = begin;
            self.skip_space();
            return Ok(Item::Node(Node::Action(line, self.pipe(Place::Action)?)));
        };
        Ok(Item::Node(match word {
            Keyword::End => {
                self.expect_close()?;
                return Ok(Item::End);
            }
            Keyword::Else => {
                if !matches!(self.peek_word(), Token::Word(Keyword::If | Keyword::With)) {
                    self.expect_close()?;
                }
                return Ok(Item::Else);
            }
            Keyword::Break | Keyword::Continue => {
                self.expect_close()?;
                if word == Keyword::Break { Node::Break(line) } else { Node::Continue(line) }
            }
            Keyword::If | Keyword::With | Keyword::Range => return self.control(word).map(Item::Node),
            Keyword::Template => {
                let name = self.name()?;
                let begin = self.at;
                let ends = *self.next_word() == Token::Close;
                let pipe = if ends {
                    None
                } else {
                    self.at = begin;
                    Some(self.pipe(Place::Action)?)
                };
                Node::Template(line, name, pipe)
            }
            Keyword::Block => {
                let name = self.name()?;
                let pipe = self.pipe(Place::Action)?;
                self.body(name.clone())?;
                Node::Template(line, name, Some(pipe))
            }
            Keyword::Define => return self.refused("{{define}} stands within something else"),
        }))
    }

    fn control(&mut self, word: Keyword) -> Result<Node, Refused> {
        self.deeper(|parser| {
            let line = parser.line();
            let pipe = parser.pipe(if word == Keyword::Range { Place::Range } else { Place::Action })?;
            let (body, end) = parser.list()?;
            let other = match end {
                Item::Else if word != Keyword::Range && *parser.peek() == Token::Word(word) => {
                    // `{{else if}}` shares its {{end}}.
                    parser.next();
                    Some(vec![parser.control(word)?])
                }
                Item::Else => match parser.list()? {
                    (list, Item::End) => Some(list),
                    _ => return parser.refused("there is an {{else}} too many"),
                },
                _ => None,
            };
            let branch = Branch { line, pipe, body, other };
            Ok(match word {
                Keyword::If => Node::If(branch),
                Keyword::With => Node::With(branch),
                _ => Node::Range(branch),
            })
        })
    }

    fn pipe(&mut self, place: Place) -> Result<Pipe, Refused> {
        self.skip_space();
        let mut pipe =
            Pipe { line: self.token(self.at).1, variables: Vec::new(), assigns: false, commands: Vec::new() };
        self.declarations(place, &mut pipe)?;
        let end = if place == Place::Parentheses { Token::Right } else { Token::Close };
        loop {
            let begin = self.at;
            match self.next_word().clone() {
                token if token == end => break,
                Token::Bool(_)
                | Token::Int(_)
                | Token::Float(_)
                | Token::Dot
                | Token::Field(_)
                | Token::Name(_)
                | Token::Nil
                | Token::Quoted(_)
                | Token::Variable(_)
                | Token::Left => {
                    self.at = begin;
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return self.refused("an action holds something that may not stand there"),
            }
        }
        if pipe.commands.is_empty() {
            return self.refused("a value is missing");
        }
        Ok(pipe)
    }

    fn declarations(&mut self, place: Place, pipe: &mut Pipe) -> Result<(), Refused> {
        loop {
            self.skip_space();
            let begin = self.at;
            let Token::Variable(name) = self.peek().clone() else { return Ok(()) };
            self.next();
            match self.next_word() {
                token @ (Token::Assign | Token::Declare) => {
                    pipe.assigns = *token == Token::Assign;
                    pipe.variables.push(name);
                    return Ok(());
                }
                Token::Comma => {
                    pipe.variables.push(name);
                    if place != Place::Range || pipe.variables.len() > 1 {
                        return self.refused("there are too many variables");
                    }
                    if !matches!(self.peek_word(), Token::Variable(_)) {
                        return self.refused("a range can only give its values to variables");
                    }
                }
                _ => {
                    self.at = begin;
                    // Go takes a pipeline that begins with a variable behind the comma of another: nobody means that.
                    return if pipe.variables.is_empty() { Ok(()) } else { self.refused("a := is missing") };
                }
            }
        }
    }

    fn command(&mut self) -> Result<Command, Refused> {
        self.skip_space();
        let mut command = Command { line: self.token(self.at).1, words: Vec::new() };
        loop {
            self.skip_space();
            if let Some(word) = self.operand()? {
                command.words.push(word);
            }
            match self.next() {
                Token::Space => {}
                Token::Close | Token::Right => {
                    self.at = self.at.saturating_sub(1);
                    break;
                }
                Token::Pipe => {
                    // A pipe must lead somewhere.
                    if matches!(self.peek_word(), Token::Close | Token::Right) {
                        return self.refused("nothing stands behind a |");
                    }
                    break;
                }
                _ => return self.refused("a space is missing, or something stands where a value should"),
            }
        }
        if command.words.is_empty() { self.refused("a command is empty") } else { Ok(command) }
    }

    fn operand(&mut self) -> Result<Option<Word>, Refused> {
        let Some(word) = self.term()? else { return Ok(None) };
        let mut fields: Vec<Arc<str>> = Vec::new();
        while let Token::Field(name) = self.peek() {
            fields.push(name.clone());
            self.next();
        }
        if fields.is_empty() {
            return Ok(Some(word));
        }
        let line = word.line;
        let kind = match word.kind {
            Kind::Field(mut names) => {
                names.append(&mut fields);
                Kind::Field(names)
            }
            Kind::Variable(name, mut names) => {
                names.append(&mut fields);
                Kind::Variable(name, names)
            }
            Kind::Function(_) | Kind::Pipe(_) => Kind::Chain(Box::new(word), fields),
            _ => return self.refused("a constant has no fields"),
        };
        Ok(Some(Word { line, kind }))
    }

    fn term(&mut self) -> Result<Option<Word>, Refused> {
        let begin = self.at;
        let token = self.next_word().clone();
        let line = self.line();
        let kind = match token {
            Token::Name(name) => Kind::Function(name),
            Token::Dot => Kind::Dot,
            Token::Nil => Kind::Nil,
            Token::Variable(name) => Kind::Variable(name, Vec::new()),
            Token::Field(name) => Kind::Field(vec![name]),
            Token::Bool(value) => Kind::Bool(value),
            Token::Int(number) => Kind::Int(number),
            Token::Float(number) => Kind::Float(number),
            Token::Quoted(text) => Kind::Text(text),
            Token::Left => Kind::Pipe(Box::new(self.deeper(|parser| parser.pipe(Place::Parentheses))?)),
            _ => {
                self.at = begin;
                return Ok(None);
            }
        };
        Ok(Some(Word { line, kind }))
    }
}
