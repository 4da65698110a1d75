//! Selectors as one line of text, such as `env in (prod, test), !old`, with the meaning of Kubernetes'
//! `labels.Parse`.
//!
//! There, `<` and `>` compare numbers; no selector here does, so neither is understood.
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering>

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::iter::Peekable;

use super::{Requirement, Selector, Test, UnusableSelector, requirement};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    Word(&'a str),
    Equal,
    NotEqual,
    Not,
    Open,
    Close,
    Comma,
    Compare,
}

const SHAPE: UnusableSelector = UnusableSelector::Refused("the text is not a selector");

impl Selector {
    /// Reads a selector from text; the empty text asks for nothing.
    ///
    /// # Errors
    /// Where Kubernetes would refuse the text, or where it compares numbers.
    pub fn parse(text: &str) -> Result<Self, UnusableSelector> {
        let tokens = tokens(text)?;
        let mut tokens = tokens.into_iter().peekable();
        let mut requirements = Vec::new();
        while tokens.peek().is_some() {
            requirements.push(one(&mut tokens)?);
            match tokens.next() {
                None => break,
                // Something has to follow a comma.
                Some(Token::Comma) if tokens.peek().is_some() => {}
                Some(_) => return Err(SHAPE),
            }
        }
        Ok(Self { stated: true, requirements })
    }
}

impl fmt::Display for Selector {
    /// Writes it as text that [`Selector::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Requirement { key, test }) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match test {
                Test::Exists => f.write_str(key)?,
                Test::DoesNotExist => write!(f, "!{key}")?,
                Test::In(values) => match values.as_slice() {
                    [value] => write!(f, "{key}={value}")?,
                    values => write!(f, "{key} in ({})", values.join(", "))?,
                },
                Test::NotIn(values) => match values.as_slice() {
                    [value] => write!(f, "{key}!={value}")?,
                    values => write!(f, "{key} notin ({})", values.join(", "))?,
                },
            }
        }
        Ok(())
    }
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, UnusableSelector> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '=' if rest.starts_with("==") => (Token::Equal, 2),
            '=' => (Token::Equal, 1),
            '!' if rest.starts_with("!=") => (Token::NotEqual, 2),
            '!' => (Token::Not, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '<' | '>' => (Token::Compare, 1),
            _ => {
                let is_end = |c: char| c.is_whitespace() || matches!(c, '=' | '!' | '(' | ')' | ',' | '<' | '>');
                let length = rest.find(is_end).unwrap_or(rest.len());
                (Token::Word(rest.get(..length).ok_or(SHAPE)?), length)
            }
        };
        tokens.push(token);
        rest = rest.get(length..).ok_or(SHAPE)?.trim_start();
    }
    Ok(tokens)
}

fn one<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) -> Result<Requirement, UnusableSelector> {
    let key = match tokens.next() {
        Some(Token::Not) => {
            let Some(Token::Word(key)) = tokens.next() else { return Err(SHAPE) };
            return requirement(key, Test::DoesNotExist);
        }
        Some(Token::Word(key)) => key,
        _ => return Err(SHAPE),
    };
    let test = match tokens.peek() {
        None | Some(Token::Comma) => return requirement(key, Test::Exists),
        Some(Token::Compare) => return Err(UnusableSelector::NotUnderstood("a selector compares numbers")),
        Some(operator) => *operator,
    };
    let _ = tokens.next();
    match test {
        Token::Equal => requirement(key, Test::In(vec![value(tokens)])),
        Token::NotEqual => requirement(key, Test::NotIn(vec![value(tokens)])),
        Token::Word("in") => requirement(key, Test::In(values(tokens)?)),
        Token::Word("notin") => requirement(key, Test::NotIn(values(tokens)?)),
        _ => Err(SHAPE),
    }
}

/// The value behind an equals sign, which may be empty.
fn value<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) -> Box<str> {
    match tokens.next_if(|token| matches!(token, Token::Word(_))) {
        Some(Token::Word(word)) => word.into(),
        _ => "".into(),
    }
}

/// The values between parentheses; one may be empty, but `()` is refused.
fn values<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) -> Result<Vec<Box<str>>, UnusableSelector> {
    if tokens.next() != Some(Token::Open) || tokens.peek() == Some(&Token::Close) {
        return Err(SHAPE);
    }
    let mut values = Vec::new();
    loop {
        values.push(value(tokens));
        match tokens.next() {
            Some(Token::Comma) => {}
            Some(Token::Close) => return Ok(values),
            _ => return Err(SHAPE),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::super::{Label, Truth};
    use super::*;

    #[track_caller]
    fn check(text: &str, labels: &[(&str, &str)], expect: bool) {
        let selector = Selector::parse(text).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        let said = selector.matches(|key| {
            labels.iter().find(|(name, _)| *name == key).map_or(Label::Absent, |(_, value)| Label::Is(value))
        });
        assert_eq!(said, if expect { Truth::Yes } else { Truth::No }, "{text} over {labels:?}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["", "env=prod", "env!=prod, tier=", "env in (prod, test), !old, new", "env notin (prod, test)"] {
            let selector = Selector::parse(text).unwrap();
            assert_eq!(selector.to_string(), text);
            assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }
    }

    #[test]
    fn text_means_what_kubectl_means_by_it() {
        let prod = [("env", "prod"), ("tier", "")];
        for (text, expect) in [
            ("", true),
            ("  ", true),
            ("env=prod", true),
            ("env==prod", true),
            (" env = prod ", true),
            ("env=test", false),
            ("env!=test", true),
            ("env != prod", false),
            ("absent!=x", true),
            ("env", true),
            ("absent", false),
            ("!env", false),
            ("! absent", true),
            ("env in (prod,test)", true),
            ("env in ( test )", false),
            ("env notin (test)", true),
            ("absent notin (test)", true),
            ("tier=", true),
            ("tier=,env=prod", true),
            ("tier in (,x)", true),
            ("env=prod,absent", false),
            ("env=prod,!absent,tier", true),
            ("example.com/env=prod", false),
        ] {
            check(text, &prod, expect);
        }
    }

    #[test]
    fn what_kubernetes_refuses_is_no_selector() {
        for text in [
            ",",
            "a,",
            ",a",
            "a b",
            "a=b c",
            "a in b",
            "a in (b",
            "a in ()",
            "a in (b))",
            "!",
            "!a=b",
            "a=(b)",
            "=b",
            "a b=c",
            "a=b=c",
            "A B",
            "-a",
            "a=-b",
            "a/b/c",
        ] {
            assert!(matches!(Selector::parse(text), Err(UnusableSelector::Refused(_))), "{text}");
        }
        for text in ["a>1", "a < 2"] {
            assert!(matches!(Selector::parse(text), Err(UnusableSelector::NotUnderstood(_))), "{text}");
        }
    }
}
