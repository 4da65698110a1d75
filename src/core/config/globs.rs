//! Globs, compiled.

use alloc::string::String;
use alloc::vec::Vec;

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
        for pattern in patterns {
            set.add(globset::Glob::new(pattern).map_err(|_| pattern.clone())?);
        }
        let set = set.build().map_err(|_| patterns.join(", "))?;
        Ok(Self { patterns: patterns.to_vec(), set })
    }

    /// Globs that match everything.
    pub fn everything() -> Self {
        Self::new(&[String::from("*")]).unwrap_or_default()
    }

    /// Whether one of the globs matches the whole of `text`.
    pub fn matches(&self, text: &str) -> bool {
        // Most configurations have this one, and each set that is asked has a cache of its own.
        self.patterns.iter().any(|pattern| pattern == "*") || self.set.is_match(text)
    }

    /// The patterns as typed.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}
