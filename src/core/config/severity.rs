//! Severities: how much findings matter where the configuration says so.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, quoted};
use super::setting::words;
use crate::finding::{Class, Code, Severity};
use crate::nearest::suggested;

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum LevelWord {
    /// Something is not published, or not as asked.
    Error,
    /// Works, and probably not as meant.
    Warning,
    /// Worth knowing.
    Info,
    /// Not reported at all.
    Off,
}

/// Written by hand for one word: to readers of YAML 1.1 an unquoted `off` is a truth value.
impl<'de> Deserialize<'de> for LevelWord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Level;

        impl serde::de::Visitor<'_> for Level {
            type Value = LevelWord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("error, warning, info or off")
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<LevelWord, E> {
                if value { Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self)) } else { Ok(LevelWord::Off) }
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<LevelWord, E> {
                match text {
                    "error" => Ok(LevelWord::Error),
                    "warning" => Ok(LevelWord::Warning),
                    "info" => Ok(LevelWord::Info),
                    "off" => Ok(LevelWord::Off),
                    _ => Err(E::unknown_variant("", &["error", "warning", "info", "off"])),
                }
            }
        }

        deserializer.deserialize_any(Level)
    }
}

words!(LevelWord { Error: "error", Warning: "warning", Info: "info", Off: "off" });

impl LevelWord {
    fn word(self) -> &'static str {
        self.severity().map_or("off", Severity::word)
    }

    /// The severity; none of a finding that is switched off.
    pub fn severity(self) -> Option<Severity> {
        match self {
            LevelWord::Error => Some(Severity::Error),
            LevelWord::Warning => Some(Severity::Warning),
            LevelWord::Info => Some(Severity::Info),
            LevelWord::Off => None,
        }
    }
}

/// Resolves `findings`.
pub(super) fn severities(typed: &BTreeMap<String, LevelWord>, faults: &mut Faults) -> BTreeMap<Code, LevelWord> {
    let at = FieldPath::root().key("findings");
    let mut severities = BTreeMap::new();
    for (text, level) in typed {
        let path = at.key(text);
        let Some(code) = Code::parse(text) else {
            let help = match suggested(text, Code::ALL.iter().map(|code| code.text())) {
                Some(code) => format!("Did you mean {code:?}?"),
                None => String::from("docs/findings.md lists all codes."),
            };
            faults.add_at_key(&path, format!("there is no finding {}", quoted(text)), help);
            continue;
        };
        // The class decides what is published, or whether a bundle passes `verify`; a milder word would only hide that.
        let stops = matches!(code.class(), Class::Refused | Class::Broken | Class::Held | Class::Fault);
        if stops && *level != LevelWord::Error {
            let message = format!("findings of the class {} cannot be lowered", code.class().word());
            let help = match code.class() {
                Class::Fault => "Remove the entry, and cure the finding.",
                _ => "Remove the entry; cure the finding, or pass the flag in its help line.",
            };
            faults.add(&path, message, help);
            continue;
        }
        // Codes of before the first release may be one now.
        let first = *severities.entry(code).or_insert(*level);
        if first != *level {
            let (new, first, level) = (code.text(), first.word(), level.word());
            let message = format!("what this line says of {new} and what another one says differ: {level} and {first}");
            faults.add(&path, message, format!("Write one line: `{new}: {first}` or `{new}: {level}`."));
        }
    }
    severities
}
