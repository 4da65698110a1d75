//! Words: the part of what kustomize says that may be told.
//!
//! kustomize prints a patch that does not fit, a line that is no YAML, and whole objects. So its words are not shown: of them
//! are told phrases that are known, the objects that it names by their ids, and the files.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::listing::few;

/// Words of kustomize without a value in it.
const PHRASES: [&str; 14] = [
    "no matches for Id",
    "no resource matches",
    "no such file or directory",
    "already registered id",
    "cycle detected",
    "produces ID conflict",
    "missing metadata.name",
    "missing Resource metadata",
    "unable to find field",
    "unable to find patch target",
    "multiple matches",
    "json: cannot unmarshal",
    "invalid Kustomization",
    "unable to parse SM or JSON patch",
];

/// The most objects, and files, that are named.
const MOST: usize = 3;

/// The id of an object, as kustomize writes it: `Secret.v1.[noGrp]/aws.team-a`.
///
/// <https://github.com/kubernetes-sigs/kustomize/blob/master/kyaml/resid/resid.go>
fn id(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != ']');
    let (kind, name) = word.split_once('/')?;
    let parts: Vec<&str> = kind.splitn(3, '.').collect();
    let [kind, version, group] = *parts else { return None };
    let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_version =
        version == "[noVer]" || (version.starts_with('v') && version.bytes().all(|b| b.is_ascii_alphanumeric()));
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    let is_name = |text: &str| {
        let text = text.strip_suffix(".[noNs]").unwrap_or(text);
        text == "[noGrp]" || (!text.is_empty() && text.bytes().all(is_plain))
    };
    (is_kind && is_version && is_name(group) && is_name(name)).then_some(word)
}

/// Gives what may be told, in one clause; none where nothing is known of it.
pub(super) fn told<'n>(words: &str, files: impl Iterator<Item = (&'n str, &'n str)>) -> Option<String> {
    let phrase = PHRASES.iter().find(|phrase| words.contains(**phrase))?;
    let ids: BTreeSet<&str> =
        words.split([' ', '\'', '"', ',', ';', '\n', '(', ')', '=', '{', '}', '|']).filter_map(id).collect();
    let paths: BTreeSet<&str> = files.filter(|(name, _)| has_word(words, name)).map(|(_, path)| path).collect();
    let mut told = (*phrase).to_string();
    for (more, list) in [(": ", few(&ids, ids.len(), MOST)), (", in ", few(&paths, paths.len(), MOST))] {
        if !list.is_empty() {
            told.push_str(more);
            told.push_str(&list);
        }
    }
    Some(told)
}

/// Returns true if a name that ends in a digit, or in `.yaml`, stands there, and not as the beginning of a longer one.
fn has_word(words: &str, name: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    words.match_indices(name).any(|(at, _)| words.get(at.saturating_add(name.len())..).is_some_and(is_end))
}
