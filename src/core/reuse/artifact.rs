//! The seal of an artifact: proof that pouch packed a region's bundle into a layer.
//!
//! A registry holds copies. Whether a copy is of the bundle that is published now is told from its manifest alone, so
//! that nothing is packed or sent where nothing changed; that manifest is anybody's who writes to the registry, and
//! without a seal it could claim to be of a bundle that its layer does not hold.

use alloc::format;
use alloc::string::{String, ToString as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;

use super::context::add;
use super::key::{KeyRing, ReuseKey};
use crate::name::{Directory, FleetName};
use crate::secret::same_bytes;

/// A bundle and the layer that it is packed into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed<'a> {
    /// SHA-256 of the bundle's own manifest, in hex.
    pub bundle: &'a str,
    /// The digest of the layer, with its algorithm.
    pub layer: &'a str,
    /// How many bytes the layer has.
    pub size: u64,
}

/// Makes the seal: the key's id and a tag.
pub fn artifact_seal(key: &ReuseKey, fleet: &FleetName, directory: &Directory, packed: Packed<'_>) -> String {
    format!("{} {}", key.id(), tag(key, fleet, directory, packed))
}

/// Whether a seal proves under any key of the ring that pouch packed the bundle of this fleet and folder so. A blind
/// ring proves nothing.
pub fn artifact_verifies(
    keys: &KeyRing,
    fleet: &FleetName,
    directory: &Directory,
    packed: Packed<'_>,
    seal: &str,
) -> bool {
    let Some((id, written)) = seal.split_once(' ') else { return false };
    let fits = |key| same_bytes(tag(key, fleet, directory, packed).as_bytes(), written.as_bytes());
    keys.with_id(id).any(|(key, _)| fits(key))
}

fn tag(key: &ReuseKey, fleet: &FleetName, directory: &Directory, packed: Packed<'_>) -> String {
    let mut tag = key.artifact();
    for part in [fleet.as_str(), directory.as_str(), packed.bundle, packed.layer, &packed.size.to_string()] {
        add(&mut tag, part.as_bytes());
    }
    URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_seal_fits_one_bundle_in_one_layer() {
        let key = |byte| ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).ok().unwrap();
        let keys = |byte| KeyRing::new(key(byte), vec![]);
        let (fleet, eu) = (FleetName::from("acme"), Directory::from("eu"));
        let packed = Packed { bundle: "aa", layer: "sha256:bb", size: 7 };
        let seal = artifact_seal(&key(1), &fleet, &eu, packed);
        assert!(artifact_verifies(&keys(1), &fleet, &eu, packed, &seal));
        assert!(artifact_verifies(&KeyRing::new(key(2), vec![key(1)]), &fleet, &eu, packed, &seal));
        assert!(!artifact_verifies(&keys(2), &fleet, &eu, packed, &seal));
        assert!(!artifact_verifies(&keys(1), &"other".into(), &eu, packed, &seal));
        assert!(!artifact_verifies(&keys(1), &fleet, &"us".into(), packed, &seal));
        for other in [
            Packed { bundle: "ab", ..packed },
            Packed { layer: "sha256:bc", ..packed },
            Packed { size: 8, ..packed },
            // What ends one field does not begin the next.
            Packed { bundle: "aas", layer: "ha256:bb", ..packed },
        ] {
            assert!(!artifact_verifies(&keys(1), &fleet, &eu, other, &seal), "{other:?}");
        }
        assert!(!artifact_verifies(&keys(1), &fleet, &eu, packed, ""));
        assert!(!artifact_verifies(&KeyRing::blind(), &fleet, &eu, packed, &seal));
    }
}
