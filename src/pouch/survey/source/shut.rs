//! Shut: why what SOPS sealed is not opened, and what to do about it.

use pouch_core::listing::few;
use pouch_core::recipient::Recipient;
use pouch_core::report::shell;
use pouch_core::snapshot::Reason;
use pouch_core::sops::{OpenError, Sealed};

use super::sealed::SealedFile;
use crate::age::{AgeError, Identities};

/// The longest reason that is given, in characters: a path of keys may have any length.
const MOST_WORDS: usize = 400;

/// How many of a file's recipients are named.
const MOST_RECIPIENTS: usize = 3;

/// The cure of a file that was changed.
pub(super) const SEAL_AGAIN: &str = "Open the file with sops, see whether it is as it should be, and seal it again.";

pub(super) fn not_opened(error: &OpenError, line: Option<u32>) -> Reason {
    let help = match error {
        OpenError::KeyGroups | OpenError::NoAge => "Seal it for an age recipient, without key groups.",
        OpenError::MacOnlyEncrypted => {
            "Seal it without mac_only_encrypted: with it, anybody may have changed the names and references."
        }
        OpenError::Mac => {
            "If kustomize or another program wrote the file, a transformer (namespace, labels, names) may have changed it after \
             it was sealed: take the file as SOPS wrote it. Else open it with sops, see whether it is as it should be, and seal \
             it again."
        }
        OpenError::NoMac | OpenError::NoVersion => "Take the block as SOPS wrote it, or seal the plain manifest anew.",
        _ => SEAL_AGAIN,
    };
    let why: String = error.to_string().chars().take(MOST_WORDS).collect();
    Reason { line, ..Reason::new(why, help) }
}

/// Why a file's data key is out of reach. Recipients are public, and shown only if they are valid.
pub(super) fn locked(error: AgeError, sealed: &Sealed, identities: &Identities, file: &SealedFile) -> Reason {
    let stanzas = sealed.stanzas();
    let recipients: Vec<Recipient> = stanzas.iter().filter_map(|(label, _)| Recipient::parse(label).ok()).collect();
    let why = match error {
        AgeError::Length => "its data key does not have 32 bytes".to_owned(),
        _ if recipients.is_empty() => "no identity of this source opens it".to_owned(),
        _ => format!(
            "no identity of this source opens it; it claims to be for {}",
            few(&recipients, recipients.len(), MOST_RECIPIENTS)
        ),
    };
    // Any identity's recipient will do; only somebody with one of the file's own identities can run the
    // command.
    let help = match identities.recipients().next() {
        Some(recipient) => format!(
            "Have somebody who can open it seal it for this source as well, `sops rotate -i --add-age {recipient} {}`; or \
             add an identity that opens it to the source's `decryption`.",
            shell::word(&file.path)
        ),
        None => "Add an identity that opens it to the source's `decryption`.".to_owned(),
    };
    Reason::new(why, help)
}
