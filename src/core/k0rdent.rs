//! k0rdent's own objects, read leniently: releases differ, and unknown fields mean nothing here.
//!
//! Each file reads one kind into the facts that the stages need. Mistakes become faults of the object; nothing
//! here decides what a fault means for a claim, and nothing looks at another object.

pub mod access;
pub mod builtin;
pub mod credential;
pub mod provider_interface;
pub mod region;
pub mod root;

pub use crate::kinds::{K0RDENT as GROUP, MANAGED_LABEL, PROVIDER_LABEL};

/// Whether `text` can be a kind: a letter, then letters and digits, at most 63 in all.
fn is_kind(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= 63
        && bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.all(|b| b.is_ascii_alphanumeric())
}

const SUBDOMAIN: &str = "a DNS-1123 subdomain, as names of objects are";
const LABEL: &str = "a DNS-1123 label, as names of namespaces are";
const KIND: &str = "the name of a kind";
const VERSION: &str = "the name of an API version";
const API_GROUP: &str = "the name of an API group";
