//! The rule of a SOPS file: which of its values are sealed.
//!
//! It knows keys and patterns, but no values. A rule that is read otherwise than SOPS reads it opens nothing: a
//! value must be sealed exactly where the rule says so.

use alloc::boxed::Box;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use super::error::OpenError;
use super::format::{ENCRYPTED_REGEX, is_sealed_key};

/// The names of the fields that hold a rule, in the order of [`EncryptionRule::new`].
pub const FIELDS: [&str; 6] = [
    "unencrypted_suffix",
    "encrypted_suffix",
    "unencrypted_regex",
    "encrypted_regex",
    "unencrypted_comment_regex",
    "encrypted_comment_regex",
];

/// The suffix that counts where a file names no rule.
pub const DEFAULT_SUFFIX: &str = "_unencrypted";

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;

/// The most that a compiled pattern may take, in bytes.
const MAX_COMPILED_BYTES: usize = 128 << 10;

/// Which values of a file are sealed.
pub struct EncryptionRule(RuleForm);

enum RuleForm {
    /// Sealed unless a key on the path passes the test.
    Unless(KeyTest),
    /// Sealed if a key on the path passes the test.
    If(KeyTest),
    /// Comments decide, and they say no more than the values themselves: a value is sealed if it looks sealed.
    /// The MAC still proves as much, as it covers all values.
    Comments,
}

enum KeyTest {
    Suffix(Box<str>),
    /// The test that pouch itself writes; by far the most frequent one.
    Own,
    Regex(Box<Regex>),
}

impl EncryptionRule {
    /// The rule that the fields of a `sops` block name, in the order of [`FIELDS`]; empty fields are ignored.
    ///
    /// # Errors
    /// Where two fields are set, or a pattern is invalid, is longer than 1,024 bytes or grows beyond 128 KiB
    /// when it is compiled.
    pub fn new(fields: [Option<&str>; 6]) -> Result<Self, OpenError> {
        let fields = fields.map(|field| field.filter(|text| !text.is_empty()));
        if fields.iter().flatten().count() > 1 {
            return Err(OpenError::Rules);
        }
        let regex = |pattern: &str| match pattern {
            ENCRYPTED_REGEX => Ok(KeyTest::Own),
            pattern => compile(pattern).map(|regex| KeyTest::Regex(Box::new(regex))),
        };
        let suffix = |text: &str| KeyTest::Suffix(text.into());
        Ok(Self(match fields {
            [Some(text), ..] => RuleForm::Unless(suffix(text)),
            [_, Some(text), ..] => RuleForm::If(suffix(text)),
            [_, _, Some(pattern), ..] => RuleForm::Unless(regex(pattern)?),
            [_, _, _, Some(pattern), ..] => RuleForm::If(regex(pattern)?),
            [.., Some(_), _] | [.., Some(_)] => RuleForm::Comments,
            _ => RuleForm::Unless(suffix(DEFAULT_SUFFIX)),
        }))
    }

    /// Whether the rule marks a key, and with it all values below.
    pub fn marks(&self, key: &str) -> bool {
        match &self.0 {
            RuleForm::Unless(test) | RuleForm::If(test) => test.matches(key),
            RuleForm::Comments => false,
        }
    }

    /// Whether a value is sealed; `marked` says whether the rule marks a key on its path, and `looks`
    /// whether it looks sealed.
    pub fn seals(&self, marked: bool, looks: bool) -> bool {
        match self.0 {
            RuleForm::Unless(_) => !marked,
            RuleForm::If(_) => marked,
            RuleForm::Comments => looks,
        }
    }
}

impl KeyTest {
    fn matches(&self, key: &str) -> bool {
        match self {
            KeyTest::Suffix(suffix) => key.ends_with(&**suffix),
            KeyTest::Own => is_sealed_key(key),
            KeyTest::Regex(regex) => regex.is_match(key),
        }
    }
}

/// Compiles a pattern as Go does: classes such as `\d` are ASCII only, and a match may stand anywhere. Matching
/// takes time linear in the key's length.
///
/// <https://github.com/google/re2/wiki/Syntax>
fn compile(pattern: &str) -> Result<Regex, OpenError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(OpenError::Pattern);
    }
    let config = Regex::config().nfa_size_limit(Some(MAX_COMPILED_BYTES)).utf8_empty(false);
    let syntax = syntax::Config::new().unicode(false).utf8(false).nest_limit(64);
    Regex::builder().configure(config).syntax(syntax).build(pattern).map_err(|_| OpenError::Pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(field: &str, text: &str) -> Result<EncryptionRule, OpenError> {
        EncryptionRule::new(FIELDS.map(|name| (name == field).then_some(text)))
    }

    #[test]
    fn keys_are_marked_as_go_marks_them() {
        for (pattern, yes, no) in [
            ("^(data|stringData)$", &["data", "stringData"][..], &["Data", "data2", "xdata"][..]),
            ("data", &["data", "metadata", "data2"], &["dat", ""]),
            ("^(data|spec)$", &["data", "spec"], &["stringData"]),
            ("(?i)^PASS", &["password", "Passport"], &["my-pass"]),
            (r"^\d+$", &["12"], &["", "1a", "\u{664}"]),
            (r"^\w+$", &["a_1"], &["a-b", "\u{e9}"]),
            (r"\bkey\b", &["a-key", "key"], &["keys"]),
            ("^(a|b){2,3}$", &["ab", "aba"], &["a", "abab"]),
            ("^[^.]+$", &["a"], &["a.b"]),
            ("caf\u{e9}", &["caf\u{e9}"], &["cafe"]),
            ("", &[], &[]),
        ] {
            let rule = rule("encrypted_regex", pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            for key in yes {
                assert!(rule.marks(key) && rule.seals(true, false), "{pattern} does not mark {key}");
            }
            for key in no {
                assert!(!rule.marks(key) && !rule.seals(false, true), "{pattern} marks {key}");
            }
        }
    }

    #[test]
    fn patterns_that_are_none_or_grow_are_refused() {
        assert!(rule("encrypted_regex", &"a".repeat(MAX_PATTERN_BYTES)).is_ok());
        let long = "a".repeat(MAX_PATTERN_BYTES + 1);
        let deep = "(".repeat(500);
        for pattern in ["(", "[", "*", r"\", r"\p{Greek}", r"\Qa\E", "(?<", "(?=a)", r"(a)\1", &long, &deep]
            .into_iter()
            .chain(["((a{100}){100}){100}", "(x{1000}){1000}"])
        {
            assert_eq!(rule("encrypted_regex", pattern).err(), Some(OpenError::Pattern), "{pattern}");
        }
    }

    #[test]
    fn suffixes_comments_and_none() {
        let none = EncryptionRule::new([None; 6]).ok().unwrap();
        assert!(none.marks("x_unencrypted") && !none.marks("x") && none.seals(false, false));
        let empty = EncryptionRule::new([Some(""); 6]).ok().unwrap();
        assert!(empty.marks("x_unencrypted"));
        let secret = rule("encrypted_suffix", "_secret").ok().unwrap();
        assert!(secret.marks("a_secret") && secret.seals(true, false) && !secret.seals(false, true));
        let clear = rule("unencrypted_regex", "^kind$").ok().unwrap();
        assert!(clear.marks("kind") && !clear.seals(true, true) && clear.seals(false, false));
        for field in ["encrypted_comment_regex", "unencrypted_comment_regex"] {
            let comments = rule(field, "sops:enc").ok().unwrap();
            assert!(!comments.marks("sops:enc") && comments.seals(false, true) && !comments.seals(false, false));
        }
        let mut two = [None; 6];
        (two[0], two[5]) = (Some("a"), Some("b"));
        assert_eq!(EncryptionRule::new(two).err(), Some(OpenError::Rules));
    }
}
