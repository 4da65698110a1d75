//! A template's tokens: Go's `text/template/parse/lex.go`.
//!
//! Names are of ASCII letters, and numbers are written without underscores, as octal only behind `0o` or `0`, and in
//! hexadecimal without point and exponent: what else Go takes is refused.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::refused::Refused;
use super::tree::Line;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    Text(Arc<str>),
    Open,
    Close,
    Space,
    /// `=`.
    Assign,
    /// `:=`.
    Declare,
    Pipe,
    Left,
    Right,
    Comma,
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Quoted(Arc<str>),
    Field(Arc<str>),
    Variable(Arc<str>),
    Name(Arc<str>),
    Word(Keyword),
    End,
}

/// A word that means something by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

/// Takes a text apart.
///
/// # Errors
/// What Go's lexer refuses, and what this one does not know.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Line)>, Refused> {
    let mut lexer = Lexer { rest: text, line: 1, tokens: Vec::new() };
    let mut trimmed = false;
    loop {
        let (before, behind) =
            lexer.rest.split_once("{{").map_or((lexer.rest, None), |(before, behind)| (before, Some(behind)));
        let marker = behind.and_then(|behind| behind.strip_prefix('-')).filter(|behind| behind.starts_with(is_space));
        let mut shown = before;
        if trimmed {
            shown = shown.trim_start_matches(is_space);
        }
        // Lines are counted up to where the text that is left begins.
        let skipped = before.strip_suffix(shown).unwrap_or_default();
        lexer.count(skipped);
        if marker.is_some() {
            shown = shown.trim_end_matches(is_space);
        }
        if !shown.is_empty() {
            lexer.push(Token::Text(shown.into()));
        }
        lexer.count(before.strip_prefix(skipped).unwrap_or_default());
        let Some(behind) = behind else { break };
        let inside = marker.and_then(|behind| behind.strip_prefix(is_space)).unwrap_or(behind);
        if let Some(comment) = inside.strip_prefix("/*") {
            lexer.rest = inside;
            trimmed = lexer.comment(comment)?;
            continue;
        }
        lexer.push(Token::Open);
        lexer.rest = behind;
        // The marker is a dash and a space.
        lexer.take(if marker.is_some() { 2 } else { 0 });
        trimmed = lexer.action()?;
    }
    lexer.push(Token::End);
    Ok(lexer.tokens)
}

struct Lexer<'t> {
    rest: &'t str,
    line: usize,
    tokens: Vec<(Token, Line)>,
}

pub(super) fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

fn in_name(letter: char) -> bool {
    letter == '_' || letter.is_ascii_alphanumeric()
}

const HELP: &str = "Correct the template.";

impl<'t> Lexer<'t> {
    fn push(&mut self, token: Token) {
        self.tokens.push((token, Line(self.line)));
    }

    fn count(&mut self, text: &str) {
        self.line += text.matches('\n').count();
    }

    fn refused<T>(&self, message: &str) -> Result<T, Refused> {
        Err(Refused::at(Line(self.line), message, HELP))
    }

    /// Takes so many bytes, which must end a character.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.count(taken);
        taken
    }

    /// Takes what consists of such characters.
    fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let bytes = self.rest.find(|letter| !wanted(letter)).unwrap_or(self.rest.len());
        self.take(bytes)
    }

    /// Whether it trims the text behind it.
    fn comment(&mut self, inside: &'t str) -> Result<bool, Refused> {
        let Some(length) = inside.find("*/") else { return self.refused("a comment is not closed") };
        for bytes in ["/*".len(), length, "*/".len()] {
            self.take(bytes);
        }
        match self.at_close() {
            Some(trims) => {
                self.take(if trims { 4 } else { 2 });
                Ok(trims)
            }
            None => self.refused("a comment does not end right before its }}"),
        }
    }

    /// Whether braces close here, and trim.
    fn at_close(&self) -> Option<bool> {
        if self.rest.starts_with("}}") {
            return Some(false);
        }
        let marker = self.rest.strip_prefix(is_space).and_then(|rest| rest.strip_prefix('-'));
        marker.filter(|rest| rest.starts_with("}}")).map(|_| true)
    }

    fn at_end_of_name(&self) -> bool {
        let end = |letter| is_space(letter) || matches!(letter, '.' | ',' | '|' | ':' | ')' | '(');
        self.rest.starts_with("}}") || self.rest.chars().next().is_none_or(end)
    }

    /// Takes an action up to its end; whether it trims the text behind it.
    fn action(&mut self) -> Result<bool, Refused> {
        let mut open = 0_usize;
        loop {
            if let Some(trims) = self.at_close() {
                if open > 0 {
                    return self.refused("a parenthesis is not closed");
                }
                self.take(if trims { 2 } else { 0 });
                self.push(Token::Close);
                self.take(2);
                return Ok(trims);
            }
            let Some(letter) = self.rest.chars().next() else { return self.refused("an action is not closed") };
            match letter {
                letter if is_space(letter) => {
                    self.push(Token::Space);
                    // The last space may belong to a marker.
                    while self.rest.starts_with(is_space) && self.at_close().is_none() {
                        self.take(1);
                    }
                }
                '=' => self.one(Token::Assign),
                ':' if self.rest.starts_with(":=") => {
                    self.one(Token::Declare);
                    self.take(1);
                }
                '|' => self.one(Token::Pipe),
                ',' => self.one(Token::Comma),
                '(' => {
                    open += 1;
                    self.one(Token::Left);
                }
                ')' => {
                    let Some(less) = open.checked_sub(1) else { return self.refused("a parenthesis was not opened") };
                    open = less;
                    self.one(Token::Right);
                }
                '"' => self.quoted()?,
                '`' => self.raw()?,
                '\'' => self.character()?,
                '$' => {
                    self.take(1);
                    let name = if self.at_end_of_name() { "" } else { self.run(in_name) };
                    self.named(&format!("${name}"), Token::Variable)?;
                }
                '.' if !self
                    .rest
                    .get(1..)
                    .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit())) =>
                {
                    self.take(1);
                    if self.at_end_of_name() {
                        self.push(Token::Dot);
                    } else {
                        let name = self.run(in_name);
                        self.named(name, Token::Field)?;
                    }
                }
                '.' | '+' | '-' | '0'..='9' => self.number()?,
                letter if in_name(letter) => {
                    let name = self.run(in_name);
                    self.named(name, word)?;
                }
                _ => return self.refused("an action holds a character that means nothing there"),
            }
        }
    }

    fn one(&mut self, token: Token) {
        self.push(token);
        self.take(1);
    }

    fn named(&mut self, name: &str, token: fn(Arc<str>) -> Token) -> Result<(), Refused> {
        if !self.at_end_of_name() {
            return self.refused("a name is followed by a character that may not stand there");
        }
        self.push(token(name.into()));
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), Refused> {
        let (bytes, behind) = self.unquoted('"')?;
        let Ok(text) = String::from_utf8(bytes) else { return self.refused("a text in quotes is not UTF-8") };
        self.push(Token::Quoted(text.into()));
        self.rest = behind;
        Ok(())
    }

    fn raw(&mut self) -> Result<(), Refused> {
        let inside = self.rest.get(1..).unwrap_or_default();
        let Some((text, behind)) = inside.split_once('`') else {
            return self.refused("a text in backquotes is not closed");
        };
        self.push(Token::Quoted(text.replace('\r', "").into()));
        self.count(text);
        self.rest = behind;
        Ok(())
    }

    fn character(&mut self) -> Result<(), Refused> {
        let (bytes, behind) = self.unquoted('\'')?;
        let text = core::str::from_utf8(&bytes).unwrap_or_default();
        let mut letters = text.chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else {
            return self.refused("single quotes hold other than one character");
        };
        self.push(Token::Int(i64::from(u32::from(letter))));
        self.rest = behind;
        Ok(())
    }

    /// Reads what stands in quotes here, always within a line, and the text behind them: Go's `strconv.Unquote`.
    fn unquoted(&self, mark: char) -> Result<(Vec<u8>, &'t str), Refused> {
        let mut bytes = Vec::new();
        let mut letters = self.rest.chars();
        letters.next();
        loop {
            match letters.next() {
                None | Some('\n') => return self.refused("a text in quotes is not closed in its line"),
                Some(letter) if letter == mark => break,
                Some('\\') => match escape(&mut letters, mark) {
                    Some(escaped) => bytes.extend(escaped),
                    None => return self.refused("a text in quotes has an unknown escape"),
                },
                Some(letter) => bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        Ok((bytes, letters.as_str()))
    }

    fn number(&mut self) -> Result<(), Refused> {
        let is_part = |letter: char| in_name(letter) || letter == '.';
        let is_signed = |rest: &str| rest.starts_with(['+', '-']);
        let mut text = String::from(self.take(usize::from(is_signed(self.rest))));
        let digits = self.run(is_part);
        text.push_str(digits);
        // A sign belongs to the exponent of a decimal number only.
        if digits.ends_with(['e', 'E']) && !digits.starts_with("0x") && is_signed(self.rest) {
            text.push_str(self.take(1));
            text.push_str(self.run(is_part));
        }
        // `1+2i` is complex.
        match number(&text).filter(|_| !is_signed(self.rest)) {
            Some(token) => self.push(token),
            None => return self.refused("a number is none, or is not offered in this form"),
        }
        Ok(())
    }
}

fn word(name: Arc<str>) -> Token {
    Token::Word(match &*name {
        "nil" => return Token::Nil,
        "true" => return Token::Bool(true),
        "false" => return Token::Bool(false),
        "block" => Keyword::Block,
        "break" => Keyword::Break,
        "continue" => Keyword::Continue,
        "define" => Keyword::Define,
        "else" => Keyword::Else,
        "end" => Keyword::End,
        "if" => Keyword::If,
        "range" => Keyword::Range,
        "template" => Keyword::Template,
        "with" => Keyword::With,
        _ => return Token::Name(name),
    })
}

/// What an escape stands for; none if there is no such.
fn escape(letters: &mut core::str::Chars<'_>, mark: char) -> Option<Vec<u8>> {
    let letter = letters.next()?;
    let byte = match letter {
        'a' => 0x7,
        'b' => 0x8,
        'f' => 0xc,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0xb,
        '\\' => b'\\',
        '"' | '\'' if letter == mark => u8::try_from(letter).ok()?,
        'x' => u8::try_from(digits(letters, 2, 16)?).ok()?,
        'u' | 'U' => {
            let letter = char::from_u32(digits(letters, if letter == 'u' { 4 } else { 8 }, 16)?)?;
            return Some(letter.encode_utf8(&mut [0; 4]).bytes().collect());
        }
        '0'..='7' => {
            let first = letter.to_digit(8)?;
            u8::try_from(first.checked_mul(64)?.checked_add(digits(letters, 2, 8)?)?).ok()?
        }
        _ => return None,
    };
    // In single quotes, a byte is a character of that number.
    Some(if mark == '\'' && byte > 0x7f {
        char::from(byte).encode_utf8(&mut [0; 4]).bytes().collect()
    } else {
        vec![byte]
    })
}

fn digits(letters: &mut core::str::Chars<'_>, count: usize, radix: u32) -> Option<u32> {
    let mut number = 0u32;
    for _ in 0..count {
        number = number.checked_mul(radix)?.checked_add(letters.next()?.to_digit(radix)?)?;
    }
    Some(number)
}

/// A number as it is written.
fn number(text: &str) -> Option<Token> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, plain) = match digits.split_at_checked(2) {
        Some(("0x" | "0X", digits)) => (16, digits),
        Some(("0o" | "0O", digits)) => (8, digits),
        Some(("0b" | "0B", digits)) => (2, digits),
        _ if digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (8, digits)
        }
        _ => (10, digits),
    };
    if !plain.is_empty() && plain.chars().all(|digit| digit.is_digit(radix)) {
        let size = i128::from_str_radix(plain, radix).ok()?;
        return i64::try_from(if negative { size.checked_neg()? } else { size }).ok().map(Token::Int);
    }
    let (mantissa, exponent) =
        digits.split_once(['e', 'E']).map_or((digits, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_is_whole = exponent.is_none_or(|text| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && decimal(digits)
    });
    let fits = decimal(whole) && decimal(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_is_whole;
    if !fits || !(mantissa.contains('.') || exponent.is_some()) {
        return None;
    }
    text.strip_prefix('+').unwrap_or(text).parse::<f64>().ok().filter(|number| number.is_finite()).map(Token::Float)
}
