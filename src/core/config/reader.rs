//! Readers: recipients as the configuration has them, with the names that people know them by.
//!
//! A name is for people alone. Nothing that is sealed, tagged or compared has one, so that giving or changing one seals
//! nothing again.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, holds_secret, quoted};
use super::setting::given;
use crate::go_time::is_day;
use crate::name::Region;
use crate::nearest::did_you_mean;
use crate::recipient::Recipient;
use crate::yaml::emit::Tree;

/// The most characters of a name.
const MOST: usize = 64;

/// The beginning of a key.
const KEY: &str = "age1";

/// A recipient: its key, or its key and a name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum ReaderFile {
    /// An age recipient (`age1…`).
    Key(String),
    /// An age recipient and the name that people know it by.
    Named(NamedReaderFile),
}

/// A recipient with a name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NamedReaderFile {
    /// An age recipient (`age1…`).
    key: String,
    /// The name that answers show beside the key, such as that of the person who has the identity: up to 64 letters, digits,
    /// blanks and `-_.@+'`. The keys of one person in several regions may share a name.
    name: String,
    /// The last day, in UTC, on which it should be there, such as `2027-03-01`: after that a warning says so. Nothing else
    /// follows from it.
    until: Option<String>,
}

impl ReaderFile {
    /// The text of its key, and the field that has it.
    pub(super) fn key(&self, path: &FieldPath) -> (&str, FieldPath) {
        match self {
            Self::Key(key) => (key, path.clone()),
            Self::Named(NamedReaderFile { key, .. }) => (key, path.key("key")),
        }
    }
}

/// The names of recipients.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Readers {
    names: BTreeMap<Recipient, String>,
    /// By region and name; escrow recipients have no region.
    keys: BTreeMap<(Option<Region>, String), Recipient>,
    /// The last day of those that have one.
    until: BTreeMap<Recipient, String>,
}

impl Readers {
    /// Notes the names in a list.
    pub(super) fn add(&mut self, list: &[ReaderFile], region: Option<&Region>, path: &FieldPath, faults: &mut Faults) {
        for (at, reader) in list.iter().enumerate() {
            let ReaderFile::Named(NamedReaderFile { key, name, until }) = reader else { continue };
            let (path, of_date) = (path.index(at).key("name"), path.index(at).key("until"));
            self.add_date(key, until.as_deref(), &of_date, faults);
            if holds_secret(name) {
                let help = "Remove it and treat it as leaked; a name is for people.";
                faults.add_secret(&path, "this is a secret key; a name belongs here", help);
                continue;
            }
            if !is_name(name) {
                let message = format!("{} cannot name a recipient", quoted(name));
                let help = "Use 1 to 64 letters, digits, blanks and `-_.@+'`, a letter or digit first; none that runs from right to left \
                            or is not seen, and not `age1…` in any case.";
                faults.add(&path, message, help);
                continue;
            }
            // What is no key is told where it stands.
            let Ok(key) = Recipient::parse(key) else { continue };
            if let Some(other) = self.names.insert(key.clone(), name.clone()).filter(|other| other != name) {
                let message = format!("the same key is called {} elsewhere", quoted(&other));
                faults.add(&path, message, "Call it the same in every place.");
            }
            if self.keys.insert((region.cloned(), name.clone()), key.clone()).is_some_and(|other| other != key) {
                let message = format!("another key of the list is called {} too", quoted(name));
                faults.add(&path, message, "Give one of them another name; only keys of different regions share one.");
            }
        }
    }

    /// Notes the last day of a key.
    fn add_date(&mut self, key: &str, until: Option<&str>, path: &FieldPath, faults: &mut Faults) {
        let (Some(until), Ok(key)) = (until, Recipient::parse(key)) else { return };
        if !is_day(until) {
            return faults.add(
                path,
                format!("{} is no day", quoted(until)),
                "Write YEAR-MONTH-DAY, such as 2027-03-01.",
            );
        }
        if let Some(other) = self.until.insert(key, until.into()).filter(|other| other != until) {
            let message = format!("the same key has the last day {other} elsewhere");
            faults.add(path, message, "Write the same day in every place.");
        }
    }

    /// The last day of a recipient that has one.
    pub fn until(&self, recipient: &Recipient) -> Option<&str> {
        self.until.get(recipient).map(String::as_str)
    }

    /// The name of a key, if it has one.
    pub fn name(&self, key: &str) -> Option<&str> {
        self.names.iter().find(|(recipient, _)| recipient.as_str() == key).map(|(_, name)| name.as_str())
    }

    /// The names of those of some keys that have one.
    pub fn named<'k>(&self, keys: impl IntoIterator<Item = &'k String>) -> BTreeMap<String, String> {
        keys.into_iter().filter_map(|key| Some((key.clone(), self.name(key)?.into()))).collect()
    }

    /// The keys of a name; else a sentence that offers the nearest name.
    ///
    /// # Errors
    /// Where no key has the name.
    pub fn called(&self, name: &str) -> Result<impl Iterator<Item = &Recipient>, String> {
        if !self.names.values().any(|known| known == name) {
            return Err(did_you_mean(name, self.names.values().map(String::as_str)));
        }
        Ok(self.names.iter().filter(move |(_, known)| *known == name).map(|(key, _)| key))
    }

    /// A recipient as the configuration has it.
    pub(super) fn tree(&self, recipient: &Recipient) -> Tree<'_> {
        match self.names.get_key_value(recipient) {
            Some((key, name)) => given([
                ("key", Some(Tree::text(key.as_str()))),
                ("name", Some(Tree::text(name.as_str()))),
                ("until", self.until(recipient).map(Tree::text)),
            ]),
            None => Tree::text(recipient.to_string()),
        }
    }
}

/// Returns true for what can name a recipient. No name has a character that steers a terminal, turns text around or is not seen,
/// and none looks like a key, which upper case is as well.
fn is_name(text: &str) -> bool {
    let fits = |char: char| {
        " -_.@+'".contains(char) || (char.is_alphanumeric() && !is_invisible(char) && !is_right_to_left(char))
    };
    let begins_like_a_key = text.get(..KEY.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(KEY));
    text.chars().next().is_some_and(char::is_alphanumeric)
        && !text.ends_with(' ')
        && text.chars().all(fits)
        && text.chars().count() <= MOST
        && !begins_like_a_key
}

/// Returns true for letters that have no shape: those of Unicode's `Default_Ignorable_Code_Point`.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}')
}

/// Returns true for what is in the blocks of scripts that run from right to left, and so would reorder the line around it.
fn is_right_to_left(char: char) -> bool {
    matches!(
        char,
        '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_for_people_and_steer_nothing() {
        for good in ["alice", "Zoë O'Neill", "ops@example.org", "break-glass 2", &"x".repeat(MOST)] {
            assert!(is_name(good), "{good}");
        }
        for bad in
            ["", " a", "a ", "a\n", "a\u{202e}b", "a\u{200b}b", "a (b)", "a, b", "age1x", "-a", &"x".repeat(MOST + 1)]
        {
            assert!(!is_name(bad), "{bad:?}");
        }
        for bad in [
            "AGE1XTGP6S7DVNKL6J78C5QHJPAS67680RRFPADS7WFQAY29THQS7SCSFJS9HG",
            "Age1x",
            "alice\u{3164}",
            "al\u{115f}ice",
            "אב 1",
            "a\u{627}",
            "1\u{660}",
            "a\u{1e900}",
        ] {
            assert!(!is_name(bad), "{bad:?}");
        }
        // Other scripts are as good as Latin, and only the beginning of a key is its own.
        for good in ["Алиса", "小林", "दीपा", "page1", "agent 1"] {
            assert!(is_name(good), "{good}");
        }
    }
}
