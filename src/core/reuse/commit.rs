//! The last line of a commit's message: proof that pouch made the commit, on this parent and with this tree.
//!
//! A manifest proves that pouch wrote it once. Only the commit proves that it was the last that pouch wrote: an older
//! tree that somebody puts back has manifests that verify, and no such line. The line also names the branch and the path of
//! the output: what a fleet publishes for other clusters on another branch does not count where that branch is merged.

use alloc::string::{String, ToString as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;

use super::context::add;
use super::key::{KeyRing, ReuseKey, Under};
use crate::name::FleetName;
use crate::secret::same_bytes;

/// What the line starts with, up to the key's id.
const SEAL: &str = "Pouch-Seal: ";

/// What a commit is, as far as its line proves it.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// The branch whose history it continues.
    pub branch: &'a str,
    /// The output's path in its tree.
    pub path: &'a str,
    /// The id of its parent; empty where it has none.
    pub parent: &'a str,
    /// The id of its tree.
    pub tree: &'a str,
    /// When it was committed, in seconds since 1970-01-01 UTC.
    pub seconds: i64,
}

/// Makes the last line of a message, line feed included; `message` is all that precedes it.
pub fn commit_line(key: &ReuseKey, fleet: &FleetName, made: Made<'_>, message: &str) -> String {
    format!("{SEAL}{} {}\n", key.id(), tag(key, fleet, made, message))
}

/// Whether the last line of a message proves under any key of the ring that pouch made the commit for this fleet.
///
/// A blind ring takes the line at its word.
pub fn commit_verifies(keys: &KeyRing, fleet: &FleetName, made: Made<'_>, message: &str) -> bool {
    match keys.is_blind() {
        true => parts(message).is_some(),
        false => commit_under(keys, fleet, made, message).is_some(),
    }
}

/// The key under which the last line of a message proves that pouch made the commit for this fleet; none where no key of
/// the ring does, and never one of a blind ring.
pub fn commit_under(keys: &KeyRing, fleet: &FleetName, made: Made<'_>, message: &str) -> Option<Under> {
    let (before, id, written) = parts(message)?;
    let fits = |key| same_bytes(tag(key, fleet, made, before).as_bytes(), written.as_bytes());
    keys.with_id(id).find(|(key, _)| fits(key)).map(|(_, under)| under)
}

/// What precedes the line, the key's id and the tag.
fn parts(message: &str) -> Option<(&str, &str, &str)> {
    let at = message.rfind(SEAL)?;
    let (before, line) = message.split_at_checked(at)?;
    let (id, tag) = line.strip_prefix(SEAL)?.strip_suffix('\n')?.split_once(' ')?;
    before.ends_with('\n').then_some((before, id, tag))
}

fn tag(key: &ReuseKey, fleet: &FleetName, made: Made<'_>, message: &str) -> String {
    let Made { branch, path, parent, tree, seconds } = made;
    let mut tag = key.commit();
    for part in [fleet.as_str(), branch, path, parent, tree, &seconds.to_string(), message] {
        add(&mut tag, part.as_bytes());
    }
    URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_proved_where_it_is_and_nowhere_else() {
        let key = |byte| ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).ok().unwrap();
        let keys = |byte| KeyRing::new(key(byte), vec![]);
        let made = Made { branch: "main", path: "out", parent: "aa", tree: "bb", seconds: 7 };
        let body = "subject\n\nPouch-Fleet: acme\n";
        let message = format!("{body}{}", commit_line(&key(1), &"acme".into(), made, body));
        let verifies =
            |ring, fleet: &str, made, message: &str| commit_verifies(&keys(ring), &fleet.into(), made, message);
        assert!(verifies(1, "acme", made, &message));
        let under = |keys: KeyRing| commit_under(&keys, &"acme".into(), made, &message);
        assert_eq!(under(keys(1)), Some(Under::Current));
        assert_eq!(under(KeyRing::new(key(2), vec![key(1)])), Some(Under::Previous));
        assert_eq!((under(keys(2)), under(KeyRing::blind())), (None, None));
        for (ring, fleet, made) in [
            (2, "acme", made),
            (1, "other", made),
            (1, "acme", Made { branch: "mai", path: "nout", ..made }),
            (1, "acme", Made { branch: "other", ..made }),
            (1, "acme", Made { path: "", ..made }),
            (1, "acme", Made { parent: "", ..made }),
            (1, "acme", Made { tree: "cc", ..made }),
            (1, "acme", Made { seconds: 8, ..made }),
        ] {
            assert!(!verifies(ring, fleet, made, &message), "{ring} {fleet} {made:?}");
        }
        assert!(!verifies(1, "acme", made, &message.replace("subject", "another")));
        assert!(!verifies(1, "acme", made, body));
        assert!(!verifies(1, "acme", made, &format!("{message}Signed-off-by: x\n")));
    }
}
