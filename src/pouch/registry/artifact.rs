//! An artifact: a region's files as one layer, and the manifest that names it.
//!
//! The same files give the same bytes on every machine and at any time: entries are sorted, and have no time, no owner
//! and one mode. The layer's type is the only one that Flux and Argo CD both take without being told: Flux takes the
//! first layer whatever its type, Argo CD exactly one of the types that it allows.
//!
//! <https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md>

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use pouch_core::hash::sha256_hex;
use pouch_core::json;
use pouch_core::name::{Directory, FleetName};
use pouch_core::node::{Interner, Node};
use pouch_core::reuse::{KeyRing, Packed, artifact_seal, artifact_verifies};

/// The type of the manifest.
pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// The type of the artifact: its configuration is empty, so the manifest says what it is.
const ARTIFACT_TYPE: &str = "application/vnd.pouch.bundle.v1+tar";

/// The type of the layer.
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The empty configuration.
///
/// <https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md#guidance-for-an-empty-descriptor>
pub(super) const EMPTY: &[u8] = b"{}";
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
pub(super) const EMPTY_DIGEST: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

/// Fleet and folder.
const TITLE: &str = "org.opencontainers.image.title";

/// SHA-256 of the bundle's own manifest.
const BUNDLE: &str = "pouch.bundle";

/// What proves that pouch packed that bundle into that layer.
const SEAL: &str = "pouch.seal";

/// The digest of some bytes, as registries write it.
pub fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}

/// The region whose bundle it is.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region's folder.
    pub directory: &'a Directory,
    /// What proves and seals.
    pub keys: &'a KeyRing,
}

/// An artifact that pouch made.
pub struct Made {
    /// SHA-256 of the bundle's own manifest.
    pub bundle: String,
    /// The digest of the layer.
    pub layer: String,
    /// Whether nothing else stands in it than what pouch would write today.
    pub is_exact: bool,
}

impl Of<'_> {
    /// The manifest of an artifact; none without a key to seal it with.
    pub fn manifest(&self, packed: Packed<'_>) -> Option<Vec<u8>> {
        let Self { fleet, directory, keys } = *self;
        let seal = artifact_seal(keys.current()?, fleet, directory, packed);
        let title = format!("{fleet}/{directory}");
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "artifactType": ARTIFACT_TYPE,
            "config": {"mediaType": EMPTY_TYPE, "digest": EMPTY_DIGEST, "size": EMPTY.len()},
            "layers": [{"mediaType": LAYER_TYPE, "digest": packed.layer, "size": packed.size}],
            "annotations": {TITLE: title, BUNDLE: packed.bundle, SEAL: seal},
        });
        Some(manifest.to_string().into_bytes())
    }

    /// What a manifest says that pouch made for this region; none of any other.
    pub fn made(&self, manifest: &[u8]) -> Option<Made> {
        let Self { fleet, directory, keys } = *self;
        let node = json::read(std::str::from_utf8(manifest).ok()?, &mut Interner::new()).ok()?;
        let [layer] = node.get("layers")?.items() else { return None };
        let (bundle, seal) = (node.str_at(&["annotations", BUNDLE])?, node.str_at(&["annotations", SEAL])?);
        let digest = layer.str_at(&["digest"])?;
        let size = match layer.get("size")? {
            Node::Int(size) => u64::try_from(*size).ok()?,
            _ => return None,
        };
        let packed = Packed { bundle, layer: digest, size };
        artifact_verifies(keys, fleet, directory, packed, seal).then(|| Made {
            bundle: bundle.to_owned(),
            layer: digest.to_owned(),
            is_exact: self.manifest(packed).as_deref() == Some(manifest),
        })
    }
}

/// The layer of these files, by their paths below the output.
///
/// # Errors
/// Where memory runs out: nothing else is written to.
pub fn layer(files: &BTreeMap<&str, &[u8]>) -> std::io::Result<Vec<u8>> {
    // Without a name, a time and the system that wrote it.
    let mut gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::new(LEVEL));
    for (path, bytes) in files {
        if let Some((folder, name)) = ustar(path) {
            gzip.write_all(&header((folder, name), bytes.len(), b'0'))?;
        } else {
            let record = record(path);
            gzip.write_all(&header(("", LONG), record.len(), b'x'))?;
            padded(&mut gzip, record.as_bytes())?;
            gzip.write_all(&header(("", LONG), bytes.len(), b'0'))?;
        }
        padded(&mut gzip, bytes)?;
    }
    gzip.write_all(&[0; 2 * BLOCK])?;
    gzip.finish()
}

/// How much is done for a smaller layer. Half of it is ciphertext, of which nothing is gained after the first step.
const LEVEL: u32 = 1;

/// The size of a block of tar.
const BLOCK: usize = 512;

/// The name of an entry whose path stands before it.
const LONG: &str = "pax";

fn padded(to: &mut impl std::io::Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes)?;
    let gap = bytes.len().next_multiple_of(BLOCK).saturating_sub(bytes.len());
    to.write_all([0; BLOCK].get(..gap).unwrap_or_default())
}

/// A path as the two fields of a header have it: folder and name; none where it is too long for them.
fn ustar(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    path.match_indices('/')
        .map(|(at, _)| (path.split_at(at).0, path.split_at(at).1.trim_start_matches('/')))
        .find(|(folder, name)| folder.len() <= 155 && name.len() <= 100 && !name.is_empty())
}

/// A path as a record before its entry, whose own length it begins with.
///
/// <https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_03>
fn record(path: &str) -> String {
    let rest = format!(" path={path}\n");
    let mut length = rest.len();
    loop {
        let whole = format!("{length}{rest}");
        if whole.len() == length {
            return whole;
        }
        length = whole.len();
    }
}

/// <https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06>
fn header((folder, name): (&str, &str), size: usize, kind: u8) -> [u8; BLOCK] {
    let mut block = [0_u8; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| {
        for (to, from) in block.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    };
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(329, b"0000000\0");
    put(337, b"0000000\0");
    put(345, folder.as_bytes());
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    for (to, from) in block.iter_mut().skip(148).zip(sum.as_bytes()) {
        *to = *from;
    }
    block
}

#[cfg(test)]
mod tests;
