//! Settings: values of the configuration that read, explain, check and show themselves.
//!
//! The type of a field is all there is to say of it: its `Deserialize` reads what was typed, its `JsonSchema` explains
//! it to editors, and [`Show`] writes it back. The form that a text must have beyond its type is named in the schema by
//! [`CHECK`], which the published schema leaves out; [`super::checks`] has what is wrong with one. A
//! value with a fault reads as a default: no configuration with faults is used.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use super::error::{Faults, FieldPath, quoted};
use crate::name::{Directory, FleetName, Group, Kind, Name, Namespace, Region, SourceName};
use crate::recipient::Recipient;
use crate::yaml::emit::Tree;

/// The keyword of the schema that names the form of a value.
pub(super) const CHECK: &str = "x-check";

/// A fault of a value that was typed.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: String,
    /// Set if the value holds a secret, so that its line is not quoted.
    pub(super) secret: bool,
}

impl Fault {
    /// A fault where a condition holds.
    pub(super) fn of(is_wrong: bool, message: impl FnOnce() -> String, help: &str) -> Option<Self> {
        is_wrong.then(|| Self { message: message(), help: help.into(), secret: false })
    }
}

/// Records the faults of a value.
pub(super) fn record(found: impl IntoIterator<Item = Fault>, path: &FieldPath, faults: &mut Faults) {
    for Fault { message, help, secret } in found {
        match secret {
            true => faults.add_secret(path, message, help),
            false => faults.add(path, message, help),
        }
    }
}

/// The schema of a list of texts with the name of a form.
pub(super) fn items(name: &str) -> Json {
    serde_json::json!({"type": "string", CHECK: name})
}

/// A schema with the name of a form.
fn checked(mut schema: Schema, name: &str) -> Schema {
    schema.insert(CHECK.into(), name.into());
    schema
}

/// The keyword of the schema for [`one_of`].
pub(super) const ONE: &str = "x-one";

/// The field of the configuration with what regions share.
pub(super) const DEFAULTS: &str = "regionDefaults";

/// The keyword of the schema for a map whose fields may stand in `regionDefaults`.
pub(super) const SHARED: &str = "x-shared";

/// A value that can be written as the configuration has it.
pub(super) trait Show {
    /// The tree of the value; none where the field is left out.
    fn show(&self) -> Option<Tree<'_>>;
}

/// Shows a struct field by field; a field that shows nothing is left out.
macro_rules! shown {
    ($type:ty { $($key:literal: $field:ident),* $(,)? }) => {
        impl $crate::config::setting::Show for $type {
            fn show(&self) -> Option<$crate::yaml::emit::Tree<'_>> {
                // A field that is forgotten does not compile: `config` would not show it, and no stamp would know it.
                let Self { $($field),* } = self;
                Some($crate::config::setting::given([$(($key, $crate::config::setting::Show::show($field))),*]))
            }
        }
    };
}
pub(super) use shown;

/// Reads a type as another one, which also explains it.
macro_rules! read_as {
    ($type:ty as $file:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$file as serde::Deserialize>::deserialize(deserializer).map(Self::from)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                <$file as schemars::JsonSchema>::inline_schema()
            }

            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                <$file as schemars::JsonSchema>::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$file as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}
pub(super) use read_as;

/// Shows an enum by the words that the configuration has for its values.
macro_rules! words {
    ($type:ty { $($value:ident: $word:literal),* $(,)? }) => {
        impl $crate::config::setting::Show for $type {
            fn show(&self) -> Option<$crate::yaml::emit::Tree<'_>> {
                Some($crate::yaml::emit::Tree::text(match self {
                    $(Self::$value => $word),*
                }))
            }
        }
    };
}
pub(super) use words;

/// A map of the fields that show something.
pub(super) fn given<'a>(fields: impl IntoIterator<Item = (&'static str, Option<Tree<'a>>)>) -> Tree<'a> {
    Tree::map(fields.into_iter().filter_map(|(key, tree)| Some((key, tree?))))
}

/// The rule of a map of which exactly one of some fields is given.
#[derive(Serialize)]
pub(super) struct OneOf {
    fields: &'static [&'static str],
    /// The message and the help where none is given, and where several are.
    none: [&'static str; 2],
    several: [&'static str; 2],
    /// Set if faults are at the key of the map, and not at its value.
    key: bool,
    /// Set if an empty map counts as none.
    filled: bool,
}

/// Makes a rule of the fields, and the message and the help where none is given, and where several are.
pub(super) fn one_of(fields: &'static [&'static str], none: [&'static str; 2], several: [&'static str; 2]) -> OneOf {
    OneOf { fields, none, several, key: false, filled: false }
}

impl OneOf {
    /// Puts faults at the key of the map.
    pub(super) fn at_key(self) -> Self {
        Self { key: true, ..self }
    }

    /// Counts an empty map as none.
    pub(super) fn filled(self) -> Self {
        Self { filled: true, ..self }
    }
}

/// Reads a value, or nothing as the default.
pub(super) fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The tree of a value that is never left out.
pub(super) fn tree(value: &impl Show) -> Tree<'_> {
    value.show().unwrap_or(Tree::Null)
}

impl Show for bool {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::Bool(*self))
    }
}

impl Show for usize {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::count(*self))
    }
}

impl Show for String {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::text(self.as_str()))
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> Option<Tree<'_>> {
        self.as_ref().and_then(Show::show)
    }
}

impl<T: Show> Show for Vec<T> {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::List(self.iter().filter_map(Show::show).collect()))
    }
}

impl<T: Show> Show for BTreeSet<T> {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::List(self.iter().filter_map(Show::show).collect()))
    }
}

impl<K: Borrow<str>, T: Show> Show for BTreeMap<K, T> {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::map(self.iter().filter_map(|(key, value)| Some((key.borrow(), value.show()?)))))
    }
}

macro_rules! shown_as_text {
    ($($type:ty),*) => {
        $(impl Show for $type {
            fn show(&self) -> Option<Tree<'_>> {
                Some(Tree::text(self.as_str()))
            }
        })*
    };
}
shown_as_text!(Directory, FleetName, Group, Kind, Name, Namespace, Region, SourceName, Recipient);

/// A span of time in whole seconds, typed as a number with `s`, `m`, `h` or `d`. It is shown in the unit in which it was typed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seconds(pub u64, Unit);

/// A unit of time.
#[derive(Clone, Copy, Debug, Default)]
pub enum Unit {
    /// Seconds.
    #[default]
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Days of 24 hours.
    Day,
}

impl Unit {
    const ALL: [Self; 4] = [Self::Second, Self::Minute, Self::Hour, Self::Day];

    const fn seconds(self) -> u64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86400,
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Minute => "m",
            Self::Hour => "h",
            Self::Day => "d",
        }
    }
}

impl Seconds {
    /// Makes one of so many units.
    pub const fn of(number: u64, unit: Unit) -> Self {
        Self(number.saturating_mul(unit.seconds()), unit)
    }

    /// Reads one; none if the text is not just so.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, letter) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let unit = Unit::ALL.into_iter().find(|unit| unit.letter() == letter)?;
        let plain = number.bytes().all(|b| b.is_ascii_digit());
        let number = number.parse::<u64>().ok().filter(|_| plain)?;
        number.checked_mul(unit.seconds()).map(|seconds| Self(seconds, unit))
    }

    /// Finds out if a text is no such time, or less than `least` seconds.
    pub(super) fn fault(text: &str, field: &Json, least: u64) -> Option<Fault> {
        let above = if least > 0 { " above 0" } else { "" };
        let example = field.get("default").and_then(Json::as_str).unwrap_or("1h");
        let help = format!("Write a number{above} with s, m, h or d, such as `{example}`.");
        let is_wrong = Self::parse(text).is_none_or(|seconds| seconds.0 < least);
        Fault::of(is_wrong, || format!("{} is not a duration", quoted(text)), &help)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::parse(&text).unwrap_or_default())
    }
}

impl JsonSchema for Seconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        checked(String::json_schema(generator), "time")
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.checked_div(self.1.seconds()).unwrap_or_default(), self.1.letter())
    }
}

/// The unit says how a time is shown and nothing else.
impl PartialEq for Seconds {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Seconds {}

impl Show for Seconds {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::text(format!("{self}")))
    }
}

/// A share of a whole, in percent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Percent(pub usize);

impl Percent {
    /// The share of so many, rounded down.
    pub fn of(self, whole: usize) -> usize {
        whole.saturating_mul(self.0).checked_div(100).unwrap_or_default()
    }

    /// Returns true if a part is at least this share of a whole.
    pub fn is_reached(self, part: usize, whole: usize) -> bool {
        part.saturating_mul(100) >= whole.saturating_mul(self.0)
    }
}

impl JsonSchema for Percent {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = u32::json_schema(generator);
        schema.insert("maximum".into(), 100.into());
        schema
    }
}

impl Show for Percent {
    fn show(&self) -> Option<Tree<'_>> {
        self.0.show()
    }
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Bytes(pub usize);

/// A number of bytes: a whole number, or one with `Ki`, `Mi` or `Gi`.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-check" = "bytes"))]
enum BytesFile {
    /// In bytes.
    Number(u64),
    /// With a unit.
    Text(String),
}

read_as!(Bytes as BytesFile);

impl From<BytesFile> for Bytes {
    fn from(file: BytesFile) -> Self {
        match file {
            BytesFile::Number(number) => Self(usize::try_from(number).unwrap_or(usize::MAX)),
            BytesFile::Text(text) => Self::parse(&text).unwrap_or_default(),
        }
    }
}

impl Bytes {
    /// Reads one; none if the text is not just so, or says none.
    fn parse(text: &str) -> Option<Self> {
        let units = [("Ki", 10_u32), ("Mi", 20), ("Gi", 30)];
        let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
        let (digits, shift) = unit.unwrap_or((text, 0));
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = digits.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(1_u64.checked_shl(shift)?)?;
        (bytes > 0).then(|| Self(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    /// Finds out if a text is no number of bytes above 0.
    pub(super) fn fault(text: &str) -> Option<Fault> {
        let help = "Write a number of bytes above 0, such as 16Mi; units are Ki, Mi and Gi.";
        Fault::of(Self::parse(text).is_none(), || "this is no number of bytes".into(), help)
    }
}

/// The largest unit that gives a whole number.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
        let (unit, name) = units.into_iter().find(|(unit, _)| self.0.is_multiple_of(*unit)).unwrap_or((1, ""));
        write!(f, "{}{name}", self.0.checked_div(unit).unwrap_or_default())
    }
}

impl Show for Bytes {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::text(format!("{self}")))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn durations_read_as_they_are_configured() {
        for (seconds, text) in
            [(1, "1s"), (90, "90s"), (60, "1m"), (60, "60s"), (5400, "90m"), (86_400, "24h"), (172_800, "2d")]
        {
            let read = Seconds::parse(text).unwrap();
            assert_eq!((read.0, &*read.to_string()), (seconds, text));
            assert_eq!(read, Seconds::of(seconds, Unit::Second));
        }
    }
}
