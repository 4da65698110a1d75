//! What a tag is bound to, and how fields go into it.

use alloc::vec::Vec;

use hmac::Mac as _;

use super::key::Keyed;
use crate::name::{Directory, FleetName, ObjectKey};
use crate::recipient::Recipient;

/// The format that tags are bound to.
const FORMAT: &[u8] = b"pouch/v1";

/// What a sealed file is for. A tag made for one context is worth nothing in another; the file's path
/// is no part of it, so that moving a file re-seals nothing.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region's folder.
    pub directory: &'a Directory,
    /// The object as it lands on the region.
    pub landing: &'a ObjectKey,
    /// Who can open the file, in any order.
    pub recipients: &'a [Recipient],
}

pub(super) fn add_context(tag: &mut Keyed, context: &Context<'_>) {
    let Context { fleet, directory, landing, recipients } = context;
    let ObjectKey { kind, namespace: _, name, made: _ } = landing;
    add(tag, FORMAT);
    add(tag, fleet.as_str().as_bytes());
    add(tag, directory.as_str().as_bytes());
    for part in [kind.group.as_str(), kind.kind.as_str(), landing.namespace_text(), name.as_str()] {
        add(tag, part.as_bytes());
    }
    let mut recipients: Vec<&str> = recipients.iter().map(Recipient::as_str).collect();
    recipients.sort_unstable();
    add_count(tag, recipients.len());
    for recipient in recipients {
        add(tag, recipient.as_bytes());
    }
}

pub(super) fn add(tag: &mut Keyed, field: &[u8]) {
    add_count(tag, field.len());
    tag.update(field);
}

pub(super) fn add_count(tag: &mut Keyed, count: usize) {
    // No target has lengths beyond 64 bits.
    tag.update(&u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes());
}
