//! Alike: what can be told of a published Secret without a key, and a new header for one that stays.

use alloc::string::String;
use alloc::vec::Vec;

use super::input::Input;
use super::published::document;
use crate::node::Key;
use crate::object::Object;
use crate::reuse;
use crate::secret::{Payload, SecretBytes};

/// Whether a published Secret has the same type and the same entries by name, and of values that were read the same
/// ones empty: all that can be told without a key, as far as anything of the Secret was looked at.
pub(super) fn looks_alike(bytes: &[u8], object: Option<&Object>) -> bool {
    let Some((object, payload)) = object.and_then(|object| Some((object, object.payload.as_ref()?))) else {
        return true;
    };
    let Some(document) = document(bytes) else { return false };
    let Some(leaves) = reuse::leaves(&document) else { return false };
    let is_alike = |((published, leaf), (name, value)): (&(String, String), &(Key, SecretBytes))| {
        *published == **name && (!payload.is_seen() || leaf.is_empty() == value.is_empty())
    };
    let types = [document.str_at(&["type"]), object.body.str_at(&["type"])].map(|it| it.unwrap_or("Opaque"));
    let [before, after] = types;
    before == after && leaves.len() == payload.entries().len() && leaves.iter().zip(payload.entries()).all(is_alike)
}

/// Gives a file whose tag was made with a previous reuse key a header under the current one.
pub(super) fn retag(
    input: &Input<'_>,
    context: &reuse::Context<'_>,
    text: &str,
    bytes: &[u8],
    payload: Option<&Payload>,
) -> Option<Vec<u8>> {
    let document = document(bytes)?;
    let leaves = reuse::leaves(&document)?;
    reuse::retag(input.terms.keys, context, text.as_bytes(), bytes, &reuse::pair(&leaves, payload?)?)
}
