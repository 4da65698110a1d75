//! Values of overrides: texts, which may be templates of Go.
//!
//! The registry's controller gives them the functions of sprig. The engine has those of sprout, and some of them mean another
//! thing under the same name; so a rule may use those alone that mean the same in both.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use crate::lenient::quoted;
use crate::node::{Interner, Node};
use crate::template::{self, Refused, Template};
use crate::yaml::read::read;
use crate::yaml::stream::Document;

/// The value that a patch puts somewhere.
#[derive(Clone, Debug)]
pub struct Value {
    text: Box<str>,
    /// Whether the text is YAML, once it is rendered.
    parse: bool,
    template: Option<Arc<Template>>,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.parse == other.parse
    }
}

/// What is wrong, and what helps.
type Wrong = (String, String);

/// The longest value.
const MOST_BYTES: usize = 1 << 20;

/// The words that a template of a rule may use beside fields: Go's own, and functions that sprig and sprout have alike.
const WORDS: [&str; 41] = [
    "and",
    "block",
    "break",
    "contains",
    "continue",
    "default",
    "define",
    "else",
    "end",
    "eq",
    "false",
    "ge",
    "gt",
    "hasPrefix",
    "hasSuffix",
    "html",
    "if",
    "index",
    "js",
    "le",
    "len",
    "lt",
    "ne",
    "nil",
    "not",
    "or",
    "print",
    "printf",
    "println",
    "quote",
    "range",
    "replace",
    "slice",
    "template",
    "trim",
    "trimPrefix",
    "trimSuffix",
    "true",
    "trunc",
    "urlquery",
    "with",
];

impl Value {
    /// Reads a value; `parse` says whether it is YAML.
    ///
    /// # Errors
    /// Where it cannot be used, whatever the object is.
    pub fn read(text: &str, parse: bool) -> Result<Self, Wrong> {
        if text.len() > MOST_BYTES {
            return Err((String::from("it is longer than 1 MiB"), String::from("Shorten it.")));
        }
        let mut value = Self { text: text.into(), parse, template: None };
        if !text.contains("{{") {
            value.parsed(text)?;
            return Ok(value);
        }
        let template = Template::parse(text).map_err(wrong)?;
        if let Some(word) = words(text).find(|word| !WORDS.contains(word)) {
            let message = format!("templates of rules have no function {}", quoted(word));
            return Err((message, format!("Use one of: {}.", WORDS.join(", "))));
        }
        value.template = Some(Arc::new(template));
        Ok(value)
    }

    /// Whether it depends on the object.
    pub fn is_template(&self) -> bool {
        self.template.is_some()
    }

    /// The value for an object; `data` is what templates may use.
    ///
    /// # Errors
    /// Where it cannot be rendered, or is no YAML then. Neither quotes what is rendered.
    pub fn render(&self, data: &template::Value) -> Result<Node, Wrong> {
        match &self.template {
            None => self.parsed(&self.text),
            Some(template) => self.parsed(&template.render(data).map_err(wrong)?),
        }
    }

    fn parsed(&self, text: &str) -> Result<Node, Wrong> {
        if !self.parse {
            return Ok(Node::text(text));
        }
        let help = || String::from("Correct the YAML, or leave parseValue out.");
        read(&Document::whole(text), &mut Interner::new()).map_err(|flaw| (format!("it is no YAML: {flaw}"), help()))
    }
}

fn wrong(Refused { message, help }: Refused) -> Wrong {
    (message, help)
}

/// The words within a template's actions that are neither fields nor variables.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).flat_map(|rest| in_action(rest.split_once("}}").map_or(rest, |(action, _)| action)))
}

fn in_action(action: &str) -> impl Iterator<Item = &str> {
    let mut rest = action;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    core::iter::from_fn(move || {
        loop {
            let c = rest.chars().next()?;
            let after = rest.get(c.len_utf8()..).unwrap_or_default();
            match c {
                '/' if after.starts_with('*') => return None,
                '"' | '`' | '\'' => rest = behind(after, c),
                '.' | '$' => rest = after.trim_start_matches(|c: char| is_word(c) || c == '.'),
                c if c.is_ascii_digit() => rest = after.trim_start_matches(|c: char| is_word(c) || c == '.'),
                c if is_word(c) => {
                    let ends = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                    let (word, behind) = rest.split_at_checked(ends).unwrap_or((rest, ""));
                    // A field of what stands before it, such as `(f).x`.
                    rest = behind.trim_start_matches(|c: char| is_word(c) || c == '.');
                    return Some(word);
                }
                _ => rest = after,
            }
        }
    })
}

/// What stands behind a literal that a mark ends.
fn behind(text: &str, mark: char) -> &str {
    let mut is_escaped = false;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if mark != '`' => is_escaped = true,
            c if c == mark => return letters.as_str(),
            _ => {}
        }
    }
    ""
}
