//! What becomes of objects in guest clusters when their payloads change.

use super::content::Order;
use super::input::Input;
use super::published::Published;
use crate::finding::{Code, Finding};
use crate::layout::manifest::{Guest, Manifest};

/// A Secret of another type than the one that was delivered: the API server of a guest keeps the old one, and Cluster API
/// says so in a log alone.
pub(super) fn changed_type(input: &Input<'_>, order: &Order, guest: &Guest) -> Option<Finding> {
    let before = input.published.object(&order.lands)?.guest.as_ref()?;
    if before.key != guest.key || before.secret_type == guest.secret_type {
        return None;
    }
    let message = format!(
        "the type of {} in guest clusters changes, and no API server lets it: the change would never arrive",
        guest.key
    );
    let finding = Finding::new(Code::SecretTypeChanged, message).about(&order.read);
    let finding = match input.world.snapshot.get(&order.read) {
        Some(object) => finding.at(&object.origin),
        None => finding,
    };
    Some(
        finding.help("Let it land under another name with `to`, or keep the type; until then what is published stays."),
    )
}

/// Lets a manifest say of payloads that stay what was said of them, where nobody looked at their values.
pub(super) fn keep_hashes(manifest: &mut Manifest, published: &Published) {
    for object in &mut manifest.objects {
        let Some(guest) = object.guest.as_mut().filter(|guest| guest.sha256.is_none()) else { continue };
        let before = published.object(&object.key).and_then(|before| before.guest.as_ref());
        guest.sha256 = before.and_then(|before| before.sha256.clone());
    }
}
