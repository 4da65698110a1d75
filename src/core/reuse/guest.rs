//! The first line of what goes into a payload of a guest cluster.
//!
//! Cluster API publishes the SHA-256 of each payload, for everybody who may read its bindings. With this line, which
//! nobody can make without the key, a value cannot be guessed by that.

use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;

use super::context::{Context, add, add_context};
use super::key::ReuseKey;
use crate::name::{Directory, FleetName, ObjectKey};

/// The line for an object of a guest with this content, line break included.
pub fn guest_line(
    key: &ReuseKey,
    (fleet, directory): (&FleetName, &Directory),
    payload: &ObjectKey,
    inner: &ObjectKey,
    content: &[u8],
) -> String {
    let mut tag = key.guest();
    add_context(&mut tag, &Context { fleet, directory, landing: payload, recipients: &[] });
    for part in [inner.kind.group.as_str(), inner.kind.kind.as_str(), inner.namespace_text(), inner.name.as_str()] {
        add(&mut tag, part.as_bytes());
    }
    add(&mut tag, content);
    format!("# pouch: {}\n", URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes()))
}
