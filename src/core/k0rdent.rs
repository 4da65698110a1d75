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
use crate::name::is_dns_label;

/// Whether `text` can be a kind: a letter, then letters and digits, at most 63 in all.
fn is_kind(text: &str) -> bool {
    text.len() <= 63 && starts_with_letter(text) && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether `text` can be an API version: an RFC 1035 label.
fn is_version(text: &str) -> bool {
    is_dns_label(text) && starts_with_letter(text)
}

fn starts_with_letter(text: &str) -> bool {
    text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
}

const SUBDOMAIN: &str = "a DNS-1123 subdomain, as names of objects are";
const LABEL: &str = "a DNS-1123 label, as names of namespaces are";
const KIND: &str = "the name of a kind";
const VERSION: &str = "the name of an API version";
const API_GROUP: &str = "the name of an API group";
