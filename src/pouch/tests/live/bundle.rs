//! What is published of a region, opened: each object's path, who needs it, and its content in the clear.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::node::{Interner, Node};
use pouch_core::sops;
use pouch_core::yaml::read::{Document, read, text_of};

use crate::support::tree::{self, Tree};

/// An object of a bundle.
#[derive(Clone, PartialEq, Eq)]
pub struct Published {
    /// The Credentials that need it.
    pub needed_by: BTreeSet<String>,
    /// Its content; of a Secret, what it says when it is opened.
    pub content: String,
}

/// Without the content, which may be a Secret's.
impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes for {:?}", self.content.len(), self.needed_by)
    }
}

/// A bundle by path.
pub type Bundle = BTreeMap<String, Published>;

pub fn node(bytes: &[u8]) -> Node {
    read(&Document::whole(text_of(bytes).expect("UTF-8")), &mut Interner::new()).expect("a document that we wrote")
}

/// What a sealed file says.
fn opened(bytes: &[u8], identity: &str) -> String {
    let document = node(bytes);
    let stanza = document.at(&["sops", "age"]).map(Node::items).and_then(<[Node]>::first);
    let armored = stanza.and_then(|stanza| stanza.str_at(&["enc"])).expect("a stanza");
    let key = pouch::age::unwrap(armored, identity).expect("our own stanza");
    let opened = sops::open(&document, &key).expect("our own file");
    let text = String::from_utf8_lossy(bytes);
    // Everything but ciphertext and the seal's own data, which differ each time.
    let open: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("sops:"))
        .filter(|line| !line.contains("ENC[") && !line.starts_with("# pouch/v1 "))
        .collect();
    let clear = |base64: &str| {
        String::from_utf8(STANDARD.decode(base64).expect("base64")).unwrap_or_else(|_| format!("bytes {base64}"))
    };
    let entries: Vec<String> =
        opened.into_iter().map(|(name, value)| format!("{name}={}", clear(value.to_base64().as_str()))).collect();
    format!("{}\n{}", open.join("\n"), entries.join("\n"))
}

/// The whole tree with Secrets opened, and what differs from run to run left out: the manifest's seal, the hashes of
/// sealed files and where all of it was read.
pub fn readable(folder: &Path, identity: &str) -> BTreeMap<String, String> {
    let mut readable = BTreeMap::new();
    for (path, bytes) in tree::read(folder) {
        let text = if path.ends_with(".sops.yaml") {
            opened(&bytes, identity)
        } else if path.ends_with("/bundle.yaml") {
            let text = String::from_utf8(bytes).unwrap();
            let text = text.split_once("\nsources:").map_or(text.as_str(), |(before, _)| before);
            text.lines().skip(1).filter(|line| !line.contains("sha256:")).collect::<Vec<_>>().join("\n")
        } else {
            String::from_utf8(bytes).unwrap()
        };
        readable.insert(path, text);
    }
    readable
}

/// The objects that the manifest of region `eu` lists; none where there is no bundle.
///
/// # Panics
/// If a listed object has no file: then the bundle is wrong in itself.
#[track_caller]
pub fn of(tree: &Tree, identity: &str) -> Bundle {
    let Some(manifest) = tree.get("regions/eu/bundle.yaml") else { return Bundle::new() };
    let manifest = node(manifest);
    let mut bundle = Bundle::new();
    for object in manifest.get("objects").map(Node::items).unwrap_or_default() {
        let path = object.str_at(&["path"]).expect("a path").to_owned();
        let bytes = tree.get(&path).unwrap_or_else(|| panic!("{path} is listed and missing"));
        let needed_by = object.get("neededBy").map(Node::items).unwrap_or_default();
        let name =
            |by: &Node| format!("{}/{}", by.str_at(&["by", "namespace"]).unwrap(), by.str_at(&["by", "name"]).unwrap());
        let content = match path.ends_with(".sops.yaml") {
            true => opened(bytes, identity),
            false => String::from_utf8(bytes.clone()).unwrap(),
        };
        bundle.insert(path, Published { needed_by: needed_by.iter().map(name).collect(), content });
    }
    bundle
}
