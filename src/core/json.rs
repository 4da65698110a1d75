//! Stand-in for the JSON door.

use alloc::string::ToString as _;

use serde::de::DeserializeSeed as _;

use crate::node::{Interner, Node};
use crate::yaml::Flaw;
use crate::yaml::read::Seed;

/// Reads one JSON value.
///
/// # Errors
/// Where it is no JSON.
pub fn read(text: &str, interner: &mut Interner) -> Result<Node, Flaw> {
    let mut de = serde_json::Deserializer::from_str(text);
    Seed(interner).deserialize(&mut de).and_then(|node| de.end().map(|()| node)).map_err(|error| Flaw {
        line: u32::try_from(error.line()).unwrap_or(1),
        column: u32::try_from(error.column()).unwrap_or(1),
        what: "it is no JSON that pouch reads".to_string(),
    })
}
