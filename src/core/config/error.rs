//! What is wrong with a configuration: the field, the fault and the cure.
//!
//! Everything that quotes the user's text does it through [`quoted`], which knows what a secret
//! looks like: a key pasted into the wrong field must not travel on into a CI log. This module knows
//! nothing of files; the shell adds line and column.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use super::repository;
use crate::listing::cut;
use crate::nearest::suggested;
use crate::secret::{holds_key, holds_private_key};

/// One step from a map or list into it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// To the value of a key.
    Key(String),
    /// To an item, counted from zero.
    Index(usize),
}

/// The path of a field, shown as `regions.eu-west.recipients[0]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// The path of the document itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// The path of the value of `key` below this one.
    pub fn key(&self, key: &str) -> Self {
        self.step(Step::Key(key.to_string()))
    }

    /// The path of an item below this one.
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The paths of the maps and lists that the field is in.
    fn above(&self) -> impl Iterator<Item = Self> {
        (0..self.0.len()).map(|depth| Self(self.0.iter().take(depth).cloned().collect()))
    }

    fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

/// Keys that are not plain words stand in brackets and quotes, so that a dot in a name does not read as a step.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |key: &str| {
            !key.is_empty()
                && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
                && !holds_secret(key)
        };
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if plain(key) && at == 0 => f.write_str(key)?,
                Step::Key(key) if plain(key) => write!(f, ".{key}")?,
                Step::Key(key) => write!(f, "[{}]", quoted(key))?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The part of a field that is at fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Spot {
    /// Its key.
    Key,
    /// Its value.
    Value,
}

/// What is said of a file whose content was not handed over.
pub const NOT_READ: &str = "the file was not read";

/// One thing that is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConfigError {
    /// The field at fault.
    pub field: FieldPath,
    /// The part of the field.
    pub spot: Spot,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Whether the field holds a secret, so that its line in the file is not quoted.
    pub secret: bool,
    /// Whether nothing is wrong but that the key for it is to be made yet.
    pub awaits_key: bool,
}

/// `field: message`.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.steps().is_empty() {
            write!(f, "{}", self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}

/// The faults found so far, in order, each once.
#[derive(Clone, Default, Debug)]
pub struct Faults {
    all: Vec<ConfigError>,
    seen: BTreeSet<ConfigError>,
}

impl Faults {
    /// Records a fault of a value.
    pub fn add(&mut self, field: &FieldPath, message: impl Into<String>, help: impl Into<String>) {
        self.push(fault((field, Spot::Value), message.into(), help.into()));
    }

    /// Records a fault of a key.
    pub fn add_at_key(&mut self, field: &FieldPath, message: impl Into<String>, help: impl Into<String>) {
        self.push(fault((field, Spot::Key), message.into(), help.into()));
    }

    /// Records a fault of a value that holds a secret.
    pub fn add_secret(&mut self, field: &FieldPath, message: impl Into<String>, help: impl Into<String>) {
        self.push(ConfigError { secret: true, ..fault((field, Spot::Value), message.into(), help.into()) });
    }

    /// Records that a key of age is to be made yet.
    pub fn add_awaiting_key(&mut self, at: (&FieldPath, Spot), message: impl Into<String>, help: impl Into<String>) {
        self.push(ConfigError { awaits_key: true, ..fault(at, message.into(), help.into()) });
    }

    /// Returns true if nothing is wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Everything that was recorded, in order, each once.
    pub fn into_errors(self) -> Vec<ConfigError> {
        self.all
    }

    /// Adds those of values; a map in which a field is wrong is not judged as a whole.
    pub(super) fn extend(&mut self, values: Self) {
        let wrong: BTreeSet<FieldPath> = self.all.iter().flat_map(|error| error.field.above()).collect();
        let is_whole = |error: &ConfigError| !wrong.contains(&error.field);
        values.all.into_iter().filter(is_whole).for_each(|error| self.push(error));
    }

    /// The same faults, in the same order, at other fields; of several at one other field with the same help, the first.
    pub(super) fn moved(self, field: impl Fn(&ConfigError) -> Option<FieldPath>) -> Self {
        let (mut all, mut moved) = (Self::default(), BTreeSet::new());
        for error in self.all {
            match field(&error) {
                None => all.push(error),
                Some(field) => {
                    if moved.insert((field.clone(), error.help.clone())) {
                        all.push(ConfigError { field, ..error });
                    }
                }
            }
        }
        all
    }

    fn push(&mut self, error: ConfigError) {
        // Text that regions share is checked for each of them, so a fault may come twice.
        if self.seen.insert(error.clone()) {
            self.all.push(error);
        }
    }
}

fn fault((field, spot): (&FieldPath, Spot), message: String, help: String) -> ConfigError {
    ConfigError { field: field.clone(), spot, message, help, secret: false, awaits_key: false }
}

/// Whether `text` holds a key of age or pouch, a private key in PEM, or a URL with a password.
pub fn holds_secret(text: &str) -> bool {
    // A password may contain a separator, so the longer words between blanks and quotes are checked too.
    let words = || text.split(SEPARATORS).chain(text.split([' ', '\t', '"', '\'', '\n']));
    holds_private_key(text.as_bytes()) || words().any(repository::holds_password)
}

/// Whether `text` holds a whole key of age or pouch, a private key in PEM, or a URL with a password.
///
/// These are wrong wherever they stand. [`holds_secret`] is more careful, and also finds what had better not be shown.
pub fn leaks(text: &str) -> bool {
    // The name of a kind of key is not a key: a key has 58 symbols or more behind it, though people cut when they copy.
    const LEAST: usize = 16;
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    let is_key = |word: &str| {
        // Split at the first `1`, not at the last: a mistyped key is still a secret.
        let symbols = word.split_once('1').map_or("", |(_, symbols)| symbols);
        holds_key(word.as_bytes()) && symbols.len() >= LEAST
    };
    let is_pem = || holds_private_key(text.as_bytes()) && !holds_key(text.as_bytes());
    is_pem()
        || text.split(word).any(is_key)
        || text.split(SEPARATORS).any(|word| {
            let (_, rest) = word.split_once("://").unwrap_or_default();
            // The name of a variable is not its value.
            let password = rest.split_once(':').map_or("", |(_, password)| password);
            !password.starts_with('$') && word.contains("://") && repository::holds_password(word)
        })
}

/// The characters that end a word in a configuration.
const SEPARATORS: [char; 11] = [' ', '\t', '"', '\'', ',', '[', ']', '{', '}', '\n', ')'];

/// The user's text in quotes: escaped, cut at 80 characters, and withheld if it holds a secret.
pub fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    if holds_secret(text) {
        return String::from("a value that is not shown");
    }
    format!("{:?}", cut(text, MOST))
}

/// `Did you mean "x"?`, or else the words there are.
pub fn suggest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match suggested(typed, known.clone()) {
        Some(word) => format!("Did you mean {word:?}?"),
        None => {
            let words: Vec<&str> = known.into_iter().collect();
            if words.is_empty() { String::from("There is none.") } else { format!("There are: {}.", words.join(", ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_show_dots_in_names_as_no_steps() {
        let path = FieldPath::root().key("regions").key("eu.west").key("recipients").index(2);
        assert_eq!(path.to_string(), "regions[\"eu.west\"].recipients[2]");
        assert_eq!(FieldPath::root().key("a").key("b-c").to_string(), "a.b-c");
    }

    #[test]
    fn secrets_are_seen_and_never_quoted() {
        for secret in [
            "x/y://user:hun[ter2@git.example.com/x",
            "AGE-SECRET-KEY-1QQQ",
            "age-secret-key-1qqq",
            "x: POUCH-REUSE-KEY-1ABC",
            "https://me:hunter2@example.com/x.git",
            "  - {repository: \"https://me:hunter2@example.com/x.git\"}",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
        ] {
            assert!(holds_secret(secret), "{secret}");
            assert_eq!(quoted(secret), "a value that is not shown");
        }
        for plain in
            ["age1qqq", "https://git.example.com/x.git", "git@example.com:x.git", "a: b", "# -----BEGIN regions"]
        {
            assert!(!holds_secret(plain), "{plain}");
        }
    }

    #[test]
    fn what_only_looks_like_a_secret_leaks_nothing() {
        let key = "Q".repeat(58);
        for leak in [
            format!("# AGE-SECRET-KEY-1{key}"),
            format!("--identity=age-secret-key-1{}", key.to_lowercase()),
            format!("{{env: POUCH-REUSE-KEY-1{key}}}"),
            format!("AGE-SECRET-KEY-PQ-1{key}"),
            format!("AGE-SECRET-KEY-1{key}1QQQQ"),
            "repository: https://me:hunter2@example.com/x.git".into(),
            "(https://me:hunter2@example.com/x.git)".into(),
            "https://example.com/x?access_token=abc".into(),
            "-----BEGIN OPENSSH PRIVATE KEY-----".into(),
        ] {
            assert!(leaks(&leak), "{leak}");
        }
        for plain in [
            "# contact mailto:ops@example.com",
            "# cron 10:30@utc",
            "owner:alice@corp",
            "oidc:alice@example.com",
            "backup:2026@home",
            "https://example.com/login?secret_type=age",
            "https://example.com/x?kv-secrets=list",
            "# the identity begins with AGE-SECRET-KEY-1 and is in the vault",
            "# git clone https://oauth2:$TOKEN@example.com/x.git",
            "# git clone https://oauth2:${TOKEN}@example.com/x.git",
            "# -----BEGIN regions",
        ] {
            assert!(!leaks(plain), "{plain}");
        }
    }

    #[test]
    fn quotes_escape_what_terminals_obey() {
        assert_eq!(quoted("a\u{1b}[2J\u{202e}b"), "\"a\\u{1b}[2J\\u{202e}b\"");
        assert!(quoted(&"x".repeat(200)).chars().count() < 90);
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["regions", "resolution", "output"];
        assert_eq!(suggested("region", known), Some("regions"));
        assert_eq!(suggested("Resolutoin", known), Some("resolution"));
        assert_eq!(suggested("zebra", known), None);
        assert_eq!(suggested("", known), None);
    }
}
