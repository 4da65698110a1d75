//! The `sops` block: who can open a file, under which rule, and its sealed MAC.
//!
//! The block that pouch writes is constant but for stanzas, time and MAC. Reading refuses, by name, whatever in
//! a block would change the meaning of the rest of the file.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::OpenError;
pub use super::format::{ENCRYPTED_REGEX, is_sealed_key};
use super::rule::FIELDS;
pub use crate::ciphertext::ARMOR_BEGIN;
use crate::node::Node;
use crate::recipient::Recipient;
use crate::yaml::emit::Tree;

/// The top-level key that holds the block.
pub const KEY: &str = "sops";

/// The version that files claim: the oldest with every feature used, because old readers compare it
/// and the command refuses files without one.
pub const VERSION: &str = "3.9.0";

/// The line that an armored age file ends with, after the line feed before it.
pub const ARMOR_END: &str = "\n-----END AGE ENCRYPTED FILE-----\n";

/// Whether text is a UTC time to the second, as `2026-11-21T07:51:52Z`: the only form in which the
/// MAC's additional data equals the text itself.
pub fn is_time(text: &str) -> bool {
    let shaped = text.len() == 20
        && text.bytes().zip(*b"0000-00-00T00:00:00Z").all(|(b, form)| match form {
            b'0' => b.is_ascii_digit(),
            _ => b == form,
        });
    let mut numbers = text.split(['-', 'T', ':', 'Z']).skip(1).map(|part| part.parse::<u8>().unwrap_or(u8::MAX));
    let mut within = |low, high| numbers.next().is_some_and(|number| (low..=high).contains(&number));
    shaped && within(1, 12) && within(1, 31) && within(0, 23) && within(0, 59) && within(0, 59)
}

/// Whether text has the form of an armored age file.
pub fn is_stanza(text: &str) -> bool {
    let inner = text.strip_prefix(ARMOR_BEGIN).and_then(|rest| rest.strip_suffix(ARMOR_END));
    inner.is_some_and(|inner| {
        !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'\n'))
    })
}

/// Writes the block.
pub fn write(stanzas: &[(Recipient, String)], last_modified: &str, mac: String) -> Tree<'static> {
    let stanza = |(recipient, armored): &(Recipient, String)| {
        Tree::map([("recipient", Tree::text(recipient.as_str().to_owned())), ("enc", Tree::text(armored.clone()))])
    };
    Tree::map([
        ("age", Tree::List(stanzas.iter().map(stanza).collect())),
        ("encrypted_regex", Tree::text(ENCRYPTED_REGEX)),
        ("lastmodified", Tree::text(last_modified.to_owned())),
        // Plain, because Flux looks for the bytes `mac: ENC[`.
        ("mac", Tree::Plain(mac.into())),
        ("version", Tree::text(VERSION)),
    ])
}

/// Checks that the block of `document` is one that pouch writes: its one rule, a full MAC, its form of the
/// time.
///
/// # Errors
/// Where the block is missing, lacks a field that SOPS requires, or changes which values are sealed or counted.
pub fn check_own(document: &Node) -> Result<(), OpenError> {
    let block = document.at(&[KEY]).filter(|block| block.is_map()).ok_or(OpenError::NoBlock)?;
    let said = |key: &str| block.at(&[key]).is_some_and(|node| node.as_str() != Some("") && !is_empty_list(node));
    if said("key_groups") || said("shamir_threshold") {
        return Err(OpenError::KeyGroups);
    }
    if block.at(&["mac_only_encrypted"]).is_some_and(|node| node.as_bool() != Some(false)) {
        return Err(OpenError::MacOnlyEncrypted);
    }
    let text = |key: &str| block.str_at(&[key]).filter(|text| !text.is_empty());
    let other_rules = FIELDS.iter().any(|rule| *rule != "encrypted_regex" && said(rule));
    if other_rules || text("encrypted_regex") != Some(ENCRYPTED_REGEX) {
        return Err(OpenError::Rule);
    }
    text("version").ok_or(OpenError::NoVersion)?;
    text("lastmodified").filter(|text| is_time(text)).ok_or(OpenError::Time)?;
    text("mac").ok_or(OpenError::NoMac).map(|_| ())
}

fn is_empty_list(node: &Node) -> bool {
    matches!(node, Node::List(items) if items.is_empty())
}

/// The recipients of a document's `sops` block and their armored age files, in order; empty where
/// there are none. An entry without both texts is left out.
pub fn stanzas(document: &Node) -> Vec<(String, String)> {
    let entries = document.at(&[KEY, "age"]).map(Node::items).unwrap_or_default();
    let both = |entry: &Node| Some((entry.str_at(&["recipient"])?.into(), entry.str_at(&["enc"])?.into()));
    entries.iter().filter_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sops::cipher::CipherError;
    use alloc::collections::BTreeMap;

    #[test]
    fn times_are_utc_seconds() {
        assert!(is_time("2026-11-21T07:51:52Z"));
        for bad in [
            "",
            "2026-11-21",
            "2026-11-21T07:51:52",
            "2026-11-21T07:51:52+00:00",
            "2026-11-21T07:51:52.0Z",
            "2026-11-21t07:51:52z",
            "2026-13-21T07:51:52Z",
            "2026-00-21T07:51:52Z",
            "2026-11-32T07:51:52Z",
            "2026-11-21T24:51:52Z",
            "2026-11-21T07:60:52Z",
            "2026-11-21T07:51:60Z",
            "2026-11-21T07:51:5éZ",
            "2026-11-21 07:51:52Z",
        ] {
            assert!(!is_time(bad), "{bad}");
        }
    }

    #[test]
    fn stanzas_are_armored() {
        assert!(is_stanza("-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n"));
        for bad in [
            "",
            "YWdl",
            "-----BEGIN AGE ENCRYPTED FILE-----\n\n-----END AGE ENCRYPTED FILE-----\n",
            "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----",
            "-----BEGIN AGE ENCRYPTED FILE-----\r\nYWdl\r\n-----END AGE ENCRYPTED FILE-----\r\n",
            "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\nmore\n",
        ] {
            assert!(!is_stanza(bad), "{bad}");
        }
    }

    /// What opening says of a document whose block is complete but for `change`: a block that passes fails
    /// at its MAC, which is none.
    fn judged(change: &[(&str, Option<Node>)]) -> OpenError {
        let text = |key: &str| (key.into(), Node::text("none"));
        let stanza = Node::map(vec![text("enc"), text("recipient")]);
        let mut fields = BTreeMap::from([
            ("age", Node::List([stanza].into())),
            ("encrypted_regex", Node::text(ENCRYPTED_REGEX)),
            ("lastmodified", Node::text("2026-11-21T07:51:52Z")),
            ("mac", Node::text("none")),
            ("version", Node::text(VERSION)),
        ]);
        for (field, value) in change {
            match value {
                Some(value) => fields.insert(field, value.clone()),
                None => fields.remove(field),
            };
        }
        let block = Node::map(fields.into_iter().map(|(field, value)| (field.into(), value)).collect());
        crate::sops::decrypt(&Node::map(vec![(KEY.into(), block)]), &[7; 32]).err().unwrap()
    }

    #[test]
    fn a_block_that_means_something_else_is_refused_by_name() {
        let (none, list) = (Node::text(""), |items: &[Node]| Node::List(items.into()));
        let passes = OpenError::SealedMac(CipherError::Form);
        let groups = list(&[Node::empty_map()]);
        for (field, value, expect) in [
            ("key_groups", Some(groups.clone()), OpenError::KeyGroups),
            ("key_groups", Some(list(&[])), passes.clone()),
            ("key_groups", Some(none.clone()), passes.clone()),
            ("key_groups", Some(Node::Null), passes.clone()),
            ("shamir_threshold", Some(Node::Int(2)), OpenError::KeyGroups),
            ("mac_only_encrypted", Some(Node::Bool(true)), OpenError::MacOnlyEncrypted),
            ("mac_only_encrypted", Some(Node::text("false")), OpenError::MacOnlyEncrypted),
            ("mac_only_encrypted", Some(Node::Bool(false)), passes.clone()),
            ("unencrypted_suffix", Some(Node::text("_x")), OpenError::Rule),
            ("unencrypted_suffix", Some(none.clone()), passes.clone()),
            ("encrypted_suffix", Some(Node::text("_x")), OpenError::Rule),
            ("unencrypted_regex", Some(Node::text("x")), OpenError::Rule),
            ("unencrypted_comment_regex", Some(Node::text("x")), OpenError::Rule),
            ("encrypted_comment_regex", Some(Node::text("x")), OpenError::Rule),
            ("encrypted_regex", Some(Node::text("^data$")), OpenError::Rule),
            ("encrypted_regex", Some(none.clone()), OpenError::Rule),
            ("encrypted_regex", None, OpenError::Rule),
            ("version", Some(none.clone()), OpenError::NoVersion),
            ("version", None, OpenError::NoVersion),
            ("lastmodified", Some(Node::text("2026-11-21T08:51:52+01:00")), OpenError::Time),
            ("lastmodified", None, OpenError::Time),
            ("mac", Some(none.clone()), OpenError::NoMac),
            ("mac", None, OpenError::NoMac),
            ("age", None, OpenError::NoAge),
        ] {
            assert_eq!(judged(&[(field, value)]), expect, "{field}");
        }
        // Either says that the key is split, whatever the other says.
        let both = [("key_groups", Some(groups)), ("shamir_threshold", Some(Node::Int(2)))];
        assert_eq!(judged(&both), OpenError::KeyGroups);
    }
}
