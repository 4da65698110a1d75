//! Lenient: fields of foreign objects, taken as far as they can be; what is wrong is collected.
//!
//! Releases differ, so an unknown field means nothing here, unless it is nearly a known one. Mistakes become faults of the
//! object; nothing here decides what a fault means.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use crate::blank;
use crate::finding::{Code, Fault};
use crate::name::is_template;
use crate::nearest::nearest;
use crate::node::Node;

/// The faults of one object, collected while it is read.
pub struct Faults {
    code: Code,
    found: Vec<Fault>,
    /// The fields in which a variable was left.
    left: Vec<String>,
}

/// Says that the fault has been added already.
#[derive(Clone, Copy)]
pub struct Told;

impl Faults {
    /// The most faults that are reported for one object; more would say the same.
    pub const MOST: usize = 16;

    /// Begins to read an object; faults get this code.
    pub fn new(code: Code) -> Self {
        Self { code, found: Vec::new(), left: Vec::new() }
    }

    /// Whether there is none yet.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.left.is_empty()
    }

    /// Adds a fault, unless there are many or it is there.
    pub fn add(&mut self, message: String, help: &str) {
        if self.found.len() < Self::MOST && !self.found.iter().any(|fault| fault.message == message) {
            self.found.push(Fault::new(self.code, message, String::from(help)));
        }
    }

    /// Adds a fault of a field, unless a variable was left in what it says: of all such fields one fault tells, because one
    /// and the same was not done.
    pub fn add_of(&mut self, field: &str, is_left: bool, message: String, help: &str) {
        if !is_left {
            return self.add(message, help);
        }
        if self.left.len() < Self::MOST && !self.left.iter().any(|left| left == field) {
            self.left.push(field.to_owned());
        }
    }

    /// Adds a fault of a field that has another type than wanted.
    pub fn wrong_type(&mut self, field: &str, found: &Node, wanted: &str) -> Told {
        let help = match (found, wanted) {
            (Node::Text(_), "a map") => "Write it as a map; after a colon YAML wants a space.",
            (_, "text") => "Quote the value, so that YAML reads it as text.",
            _ => "Write it as its definition asks.",
        };
        let blank = found.as_str().map(of_blank).unwrap_or_default();
        self.add(format!("{field} is {}, not {wanted}{blank}", found.type_name()), help);
        Told
    }

    /// The node at `path`; `null` counts as absent, and a node on the way that is no map is a fault.
    ///
    /// # Errors
    /// Where the fault was added.
    pub fn walk<'n>(&mut self, node: &'n Node, whole: &str, path: &[&str]) -> Result<Option<&'n Node>, Told> {
        let mut here = node;
        for (depth, key) in path.iter().enumerate() {
            if !here.is_map() {
                let way: Vec<&str> = path.iter().take(depth).copied().collect();
                return Err(self.wrong_type(&dotted(whole, &way), here, "a map"));
            }
            match here.get(key) {
                None | Some(Node::Null) => return Ok(None),
                Some(found) => here = found,
            }
        }
        Ok(Some(here))
    }

    /// The text at `path`; none where it is absent or empty, and a fault where it is no text.
    ///
    /// # Errors
    /// Where the fault was added.
    pub fn walk_to_text<'n>(&mut self, node: &'n Node, whole: &str, path: &[&str]) -> Result<Option<&'n str>, Told> {
        match self.walk(node, whole, path)? {
            None => Ok(None),
            // Go cannot tell the empty text from none, and neither does k0rdent.
            Some(Node::Text(text)) => Ok(Some(&**text).filter(|text| !text.is_empty())),
            Some(other) => Err(self.wrong_type(&dotted(whole, path), other, "text")),
        }
    }

    /// The node at `path`, if any.
    pub fn at<'n>(&mut self, node: &'n Node, whole: &str, path: &[&str]) -> Option<&'n Node> {
        self.walk(node, whole, path).ok().flatten()
    }

    /// The node at `path`, whose absence is a fault.
    pub fn needed_at<'n>(&mut self, node: &'n Node, whole: &str, path: &[&str], help: &str) -> Option<&'n Node> {
        let found = self.walk(node, whole, path);
        if matches!(found, Ok(None)) {
            self.add(format!("{} is missing", dotted(whole, path)), help);
        }
        found.ok().flatten()
    }

    /// The text at `path`, if any.
    pub fn text<'n>(&mut self, node: &'n Node, whole: &str, path: &[&str]) -> Option<&'n str> {
        self.walk_to_text(node, whole, path).ok().flatten()
    }

    /// The text at `path`, whose absence is a fault.
    pub fn needed<'n>(&mut self, node: &'n Node, whole: &str, path: &[&str]) -> Option<&'n str> {
        let found = self.walk_to_text(node, whole, path);
        if matches!(found, Ok(None)) {
            self.add(format!("{} is missing or empty", dotted(whole, path)), "Fill it in.");
        }
        found.ok().flatten()
    }

    /// The items of the list at `path`.
    pub fn items<'n>(&mut self, node: &'n Node, whole: &str, path: &[&str]) -> &'n [Node] {
        match self.at(node, whole, path) {
            None => &[],
            Some(Node::List(items)) => items,
            Some(other) => {
                let Told = self.wrong_type(&dotted(whole, path), other, "a list");
                &[]
            }
        }
    }

    /// Adds a fault for every field that is unknown and nearly the name of a known one that is absent.
    ///
    /// Other unknown fields are those of other releases, and mean nothing.
    ///
    /// # Errors
    /// Where a fault was added.
    pub fn mistyped(&mut self, node: &Node, at: &str, known: &[&str]) -> Result<(), Told> {
        let unknown = node.entries().iter().filter(|(key, _)| !known.contains(&&**key));
        let absent = || known.iter().copied().filter(|name| node.get(name).is_none());
        // Something typed before a field becomes part of its name.
        let within = |key: &str| absent().find(|name| name.len() > 4 && key.contains(name));
        let near = unknown.filter_map(|(key, _)| Some((key, nearest(key, absent()).or_else(|| within(key))?)));
        let mut told = Ok(());
        for (key, name) in near {
            told = Err(self.slip(format!("{at} has no field {}", quoted(key)), name));
        }
        told
    }

    /// Adds a fault of what is nearly something else.
    pub fn slip(&mut self, message: String, meant: &str) -> Told {
        let before = self.found.len();
        self.add(message, &format!("Did you mean {meant}?"));
        self.found.iter_mut().skip(before).for_each(|fault| fault.code = Code::Mistyped);
        Told
    }

    /// `text`, unless it breaks the rule.
    pub fn shaped<'n>(
        &mut self,
        text: Option<&'n str>,
        field: &str,
        rule: fn(&str) -> bool,
        shape: &str,
    ) -> Option<&'n str> {
        let text = text?;
        if rule(text) {
            return Some(text);
        }
        let message = format!("{field} is not {shape}{}", of_blank(text));
        self.add_of(field, is_template(text), message, "Write it as the API server would take it.");
        None
    }

    /// The faults so far.
    pub fn into_found(self) -> Vec<Fault> {
        variables(&self.left).into_iter().chain(self.found).collect()
    }

    /// `value` if there are no faults, else the faults.
    ///
    /// # Errors
    /// The faults.
    pub fn settle<T>(self, value: Option<T>) -> Result<T, Vec<Fault>> {
        match value {
            Some(value) if self.is_empty() => Ok(value),
            _ => Err(self.into_found()),
        }
    }
}

/// Words that a message adds about a text in which another blank than a space stands, if one does.
pub fn of_blank(text: &str) -> String {
    blank::told(text).map(|said| format!(": {said}")).unwrap_or_default()
}

/// The fault of the fields in which a variable was left, if there are any.
fn variables(fields: &[String]) -> Option<Fault> {
    const NAMED: usize = 3;
    let (last, before) = fields.split_last()?;
    let named = match (before.get(NAMED..), before) {
        (Some(more), _) => {
            let first: Vec<&str> = before.iter().take(NAMED).map(String::as_str).collect();
            format!("{} and {} more fields", first.join(", "), more.len().saturating_add(1))
        }
        (None, []) => last.clone(),
        (None, before) => format!("{} and {last}", before.join(", ")),
    };
    let help = "Give pouch what comes out of clusterctl, Flux or Helm, in which all variables are filled in.";
    Some(Fault::new(Code::UnrenderedTemplate, format!("a variable was left in {named}"), help))
}

/// A key as a message shows it: escaped, and cut beyond the length of any key of these kinds.
pub fn quoted(key: &str) -> String {
    let short: String = key.chars().take(63).collect();
    format!("{short:?}")
}

/// A path as messages show it: keys joined by dots, `whole` before them.
pub fn dotted(whole: &str, path: &[&str]) -> String {
    let mut text = whole.to_owned();
    for key in path {
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(key);
    }
    if text.is_empty() { "the object".to_owned() } else { text }
}
