//! Globs: a set of patterns over names.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::setting::{Show, items};
use crate::yaml::emit::Tree;

/// The glob that most configurations have. It is in no set: each set that is asked has a cache of its own.
const EVERYTHING: &str = "*";

/// A set of globs over namespaces or metadata keys; `*` matches any run of characters.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    patterns: Vec<String>,
    set: globset::GlobSet,
}

impl Globs {
    /// Compiles patterns.
    ///
    /// # Errors
    /// Names the first pattern that is no glob.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        let mut set = globset::GlobSetBuilder::new();
        for pattern in patterns.iter().filter(|pattern| *pattern != EVERYTHING) {
            set.add(globset::Glob::new(pattern).map_err(|_| pattern.clone())?);
        }
        let set = set.build().map_err(|_| patterns.join(", "))?;
        Ok(Self { patterns: patterns.to_vec(), set })
    }

    /// Returns true if all patterns are globs.
    pub(super) fn are_globs(patterns: &[&str]) -> bool {
        patterns.iter().all(|pattern| globset::Glob::new(pattern).is_ok())
    }

    /// Returns true if there is no glob.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Globs that match everything.
    pub fn everything() -> Self {
        Self::new(&[String::from(EVERYTHING)]).unwrap_or_default()
    }

    /// Whether one of the globs matches the whole of `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern == EVERYTHING) || self.set.is_match(text)
    }

    /// Returns true if a pattern matches nothing but its own text.
    pub fn is_name(pattern: &str) -> bool {
        !pattern.contains(['*', '?', '[', '{', '\\'])
    }

    /// The patterns that match nothing but their own text.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(String::as_str).filter(|pattern| Self::is_name(pattern))
    }

    /// The patterns as typed.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl<'de> Deserialize<'de> for Globs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let patterns = Vec::<String>::deserialize(deserializer)?;
        Ok(Self::new(&patterns).unwrap_or_else(|_| Self { patterns, ..Self::default() }))
    }
}

/// The default that the schema says.
impl Serialize for Globs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.patterns.serialize(serializer)
    }
}

impl JsonSchema for Globs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Globs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Vec::<String>::json_schema(generator);
        schema.insert("items".into(), items("glob"));
        schema
    }
}

impl Show for Globs {
    fn show(&self) -> Option<Tree<'_>> {
        self.patterns.show()
    }
}
