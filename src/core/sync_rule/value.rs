//! Values of overrides: texts, which may be templates of Go.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::string::String;

use crate::node::{Interner, Node};
use crate::yaml::read::read;
use crate::yaml::stream::Document;

/// The value that a patch puts somewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    text: Box<str>,
    /// Whether the text is YAML.
    parse: bool,
}

/// What is wrong, and what helps.
type Wrong = (String, String);

/// The longest value.
const MOST_BYTES: usize = 1 << 20;

impl Value {
    /// Reads a value; `parse` says whether it is YAML.
    ///
    /// # Errors
    /// Where it cannot be used, whatever the object is.
    pub fn read(text: &str, parse: bool) -> Result<Self, Wrong> {
        if text.len() > MOST_BYTES {
            return Err((String::from("it is longer than 1 MiB"), String::from("Shorten it.")));
        }
        let value = Self { text: text.into(), parse };
        if text.contains("{{") {
            let help = "Write the value as it is to stand in the copy.".to_owned();
            return Err((String::from("it is a template, and pouch renders none in a ResourceSyncRule"), help));
        }
        value.parsed(text)?;
        Ok(value)
    }

    /// Whether it depends on the object.
    pub fn is_template(&self) -> bool {
        false
    }

    /// The value for an object; `data` is what templates may use.
    ///
    /// # Errors
    /// Where it cannot be rendered, or is no YAML then.
    pub fn render(&self, _data: &Node) -> Result<Node, Wrong> {
        self.parsed(&self.text)
    }

    fn parsed(&self, text: &str) -> Result<Node, Wrong> {
        if !self.parse {
            return Ok(Node::text(text));
        }
        let help = || String::from("Correct the YAML, or leave parseValue out.");
        read(&Document::whole(text), &mut Interner::new()).map_err(|flaw| (format!("it is no YAML: {flaw}"), help()))
    }
}
