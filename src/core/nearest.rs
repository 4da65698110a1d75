//! Nearest: the name that was probably meant where an unknown one stands.

use alloc::format;
use alloc::string::String;

/// The most edits that a slip of the hand makes.
pub const MOST_EDITS: usize = 2;

/// The edits between two words: insertions, deletions, replacements and swaps of neighbours, and one for all letters in
/// another case. Zero only for equal bytes: the API knows no other equality.
///
/// None where there are more than [`MOST_EDITS`], or than a third of the longer word.
pub fn edits(a: &str, b: &str) -> Option<usize> {
    let most = MOST_EDITS.min(1.max(a.len().max(b.len()) / 3));
    // A letter has up to four bytes; where it has one, the lengths alone tell most of the words apart.
    let bytes = if a.is_ascii() && b.is_ascii() { 1 } else { 4 };
    if a.len().abs_diff(b.len()) > most * bytes {
        return None;
    }
    let least = usize::from(a != b);
    Some(strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase()).max(least)).filter(|edits| *edits <= most)
}

/// The name that was probably meant; of two that are as near, the first in the alphabet.
pub fn nearest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.into_iter().filter_map(|name| Some((edits(text, name)?, name)));
    near.min().map(|(_, name)| name)
}

/// The name to suggest in place of an unknown one, which nothing depends on: at most a third of its letters away.
pub fn suggested<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let most = (typed.chars().count() / 3).max(1);
    let distance = |name: &str| strsim::damerau_levenshtein(&typed.to_lowercase(), &name.to_lowercase());
    names.into_iter().map(|name| (distance(name), name)).filter(|(far, _)| *far <= most).min().map(|(_, name)| name)
}

/// `Did you mean NAME? `, to stand before more help; empty where no name is near.
pub fn did_you_mean<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    suggested(typed, names).map(|near| format!("Did you mean {near}? ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slips_are_near_and_three_are_not() {
        let kinds = ["Credential", "ClusterDeployment", "Region"];
        for (text, meant) in [
            ("Credentail", Some("Credential")),
            ("credential", Some("Credential")),
            ("Credentials", Some("Credential")),
            ("Credentialxyz", None),
            ("Regin", Some("Region")),
            ("Reason", Some("Region")),
            ("Religion", Some("Region")),
            ("ClusterDeploymnt", Some("ClusterDeployment")),
            ("", None),
        ] {
            assert_eq!(nearest(text, kinds), meant, "{text}");
        }
    }

    #[test]
    fn another_case_is_near_and_not_equal() {
        assert_eq!(edits("k0rdent.mirantis.com", "k0rdent.mirantis.com"), Some(0));
        for group in ["k0rdent.mirantIs.com", "K0rdent.mirantis.com", "k0rdent.mirantis.cOm", "K0RDENT.MIRANTIS.COM"] {
            assert_eq!(edits(group, "k0rdent.mirantis.com"), Some(1), "{group}");
        }
        assert_eq!(edits("Kind", "kind"), Some(1));
    }

    #[test]
    fn short_words_are_near_after_one_slip_only() {
        assert_eq!(edits("kind", "knd"), Some(1));
        assert_eq!(edits("kind", "find"), Some(1));
        assert_eq!(edits("kind", "fine"), None);
        assert_eq!(edits("é".repeat(5000).as_str(), "kind"), None);
    }
}
