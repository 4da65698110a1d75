//! Paths: where everything stands below `output.path`.
//!
//! The layout follows from a region's folder and an object's key alone, so that what was published
//! can be checked against it. Names come from sources that nobody validated; this module makes them
//! harmless as parts of paths, on every file system and in every git, and keeps different names
//! apart. It knows nothing of what the files hold.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use core::fmt::{self, Write as _};

use crate::hash::sha256_hex;
use crate::name::{Directory, FleetName, GroupKind, ObjectKey, is_dns_subdomain};

/// A file or folder, relative to `output.path`, its parts joined by `/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundlePath(Arc<str>);

impl BundlePath {
    /// Reads a path of the shape that pouch itself writes; anything else is none.
    ///
    /// Parts consist of `[a-z0-9._-]`, are 1 to 255 bytes long and start with no dot (only the
    /// top-level `.gitattributes` does). So no absolute path, no `..` and no `.git` gets in.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
        let part = |part: &str| (1..=255).contains(&part.len()) && !part.starts_with('.') && part.bytes().all(plain);
        (text == GITATTRIBUTES || text.split('/').all(part)).then(|| Self(Arc::from(text)))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What remains of the path below `folder`, if it lies there.
    pub fn below(&self, folder: &BundlePath) -> Option<&str> {
        self.0.strip_prefix(folder.as_str())?.strip_prefix('/')
    }

    /// The path of `rest` below this folder; `rest` must be made of parts that pouch writes.
    pub(super) fn join(&self, rest: &str) -> Self {
        Self(Arc::from(format!("{}/{rest}", self.0)))
    }
}

impl fmt::Display for BundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The folders that hold regions.
pub const TOPS: [&str; 3] = ["regions", "flux", "argocd"];

const GITATTRIBUTES: &str = ".gitattributes";

/// The file that keeps git from touching line ends.
pub fn gitattributes() -> BundlePath {
    BundlePath(Arc::from(GITATTRIBUTES))
}

/// The folder of a region's bundle: `regions/<directory>`.
///
/// The directory is used as it is: the configuration checked it, and whoever lists `regions/` reads it back.
pub fn region(directory: &Directory) -> BundlePath {
    BundlePath(Arc::from(format!("regions/{directory}")))
}

/// The folder of a region's Flux objects: `flux/<directory>`.
pub fn flux(directory: &Directory) -> BundlePath {
    BundlePath(Arc::from(format!("flux/{directory}")))
}

/// The folder of a region's Argo CD objects: `argocd/<directory>`.
pub fn argocd(directory: &Directory) -> BundlePath {
    BundlePath(Arc::from(format!("argocd/{directory}")))
}

/// The fleet's ApplicationSet: `argocd/<fleet>-applicationset.yaml`.
pub fn application_set(fleet: &FleetName) -> BundlePath {
    BundlePath(Arc::from(format!("argocd/{}-applicationset.yaml", component(fleet.as_str()))))
}

/// A region's manifest: `regions/<directory>/bundle.yaml`.
pub fn manifest(directory: &Directory) -> BundlePath {
    region(directory).join("bundle.yaml")
}

/// The file of the object `key` in the bundle of the region in `directory`, where its leaf is whole.
pub fn of_object(directory: &Directory, key: &ObjectKey) -> BundlePath {
    let whole = match key.kind {
        _ if key.kind.is_secret() || key.kind.is_config_map() => "core",
        _ if key.kind.is_namespace() => "core/namespaces",
        _ => &format!("identities/{}", Leaf::of(&key.kind)),
    };
    of_object_below(directory, whole, key)
}

/// The file of an object whose leaf, or the part of it, stands in `folder`, relative to the region's.
pub(super) fn of_object_below(directory: &Directory, folder: &str, key: &ObjectKey) -> BundlePath {
    let region = directory.as_str();
    let name = &*part(key.name.as_str(), is_plain_or_dot);
    let namespace = || part(key.namespace_text(), is_plain);
    // Put together at once: a fleet has hundreds of thousands of such paths.
    let path = |parts: &[&str]| BundlePath(Arc::from(parts.concat()));
    if key.kind.is_secret() {
        path(&["regions/", region, "/", folder, "/secrets/", &namespace(), "/", name, ".sops.yaml"])
    } else if key.kind.is_config_map() {
        path(&["regions/", region, "/", folder, "/configmaps/", &namespace(), "/", name, ".yaml"])
    } else if key.namespace.is_some() && !key.kind.is_namespace() {
        path(&["regions/", region, "/", folder, "/", &namespace(), "/", name, ".yaml"])
    } else {
        path(&["regions/", region, "/", folder, "/", name, ".yaml"])
    }
}

/// Whether a part of an object's path may be cut, so that only a hash of 64 bits tells it from another.
pub fn may_be_cut(key: &ObjectKey) -> bool {
    // A byte becomes three at the most, so shorter texts have paths shorter than every one that was cut.
    const LONG: usize = KEPT_OF_LONG / 3;
    let texts = [key.name.as_str(), key.namespace_text(), key.kind.kind.as_str(), key.kind.group.as_str()];
    texts.iter().any(|text| text.len() >= LONG)
}

/// What Flux applies on its own: the folder of one identity kind, `<kind>.<group>`, or the core, or its Namespaces where
/// it is split.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leaf(Arc<str>);

impl Leaf {
    /// The leaf of a kind.
    ///
    /// Two kinds of one group that differ in case alone share a leaf: no API serves both, because their singular names
    /// would be the same.
    pub fn of(kind: &GroupKind) -> Self {
        // A dot in a kind is encoded, so that the first one left is where the group starts; the
        // core group's empty name leaves a trailing dot, which is encoded as every trailing dot.
        let kind_text = kind.kind.as_str().to_ascii_lowercase();
        let head = match encode(&kind_text, is_plain) {
            empty if empty.is_empty() => Cow::Borrowed("_"),
            head => head,
        };
        let joined = match kind.group.as_str() {
            "" => format!("{head}_2e"),
            group => format!("{head}.{}", encode(group, is_plain_or_dot)),
        };
        let left_out = LEFT_OUT.iter().any(|ending| joined.ends_with(ending));
        Self(Arc::from(bounded(Cow::Owned(if left_out { joined + "_" } else { joined }))))
    }

    /// The leaf of Secrets and ConfigMaps.
    pub fn core() -> Self {
        Self(Arc::from(CORE))
    }

    /// The leaf of Namespaces, where the core is split.
    pub fn namespaces() -> Self {
        Self(Arc::from(NAMESPACES))
    }

    /// The leaf that a kind's objects are in where every leaf is split.
    pub fn home(kind: &GroupKind) -> Self {
        match kind {
            kind if kind.is_secret() || kind.is_config_map() => Self::core(),
            kind if kind.is_namespace() => Self::namespaces(),
            kind => Self::of(kind),
        }
    }

    /// Whether it is a kind's: those have a dot in their names, or an encoded one.
    pub fn is_of_kind(&self) -> bool {
        !matches!(self.as_str(), CORE | NAMESPACES)
    }

    /// A leaf by its folder's name; none if no leaf is called so.
    pub fn parse(text: &str) -> Option<Self> {
        let is_kind = BundlePath::parse(text).is_some() && !text.contains('/') && (text.contains(['.', '_']));
        (is_kind || matches!(text, CORE | NAMESPACES)).then(|| Self(Arc::from(text)))
    }

    /// The leaf of a kind that a published file stands in: the part after `identities/`.
    pub fn of_path(directory: &Directory, path: &str) -> Option<Self> {
        let rest = path.strip_prefix(region(directory).as_str())?.strip_prefix("/identities/")?;
        let (leaf, _) = rest.split_once('/')?;
        Some(Self(Arc::from(leaf)))
    }

    /// The folder's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const CORE: &str = "core";
const NAMESPACES: &str = "namespaces";

/// The name of a delivery object: `text` where an API takes it and it has at most 63 characters,
/// else its first 54, a dash and 8 hex digits of its SHA-256.
///
/// 63 rather than 253, because Flux and Argo CD also write these names into labels.
pub fn delivery_name(text: &str) -> String {
    if text.len() <= 63 && is_dns_subdomain(text) {
        return text.to_owned();
    }
    let clean = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' };
    let head: String = text.chars().take(54).map(clean).collect();
    // A dash after a dot is no name: each label starts and ends with a letter or digit.
    let head = head.trim_matches(['.', '-']);
    let hash: String = sha256_hex(text.as_bytes()).chars().take(8).collect();
    if is_dns_subdomain(head) { format!("{head}-{hash}") } else { format!("pouch-{hash}") }
}

const LONGEST: usize = 200;
const KEPT_OF_LONG: usize = 160;
const HASH_OF_LONG: usize = 16;

/// One part of a path for any text: lower-case, harmless, at most 200 bytes, different for
/// different texts.
///
/// A byte outside `[a-z0-9.-]`, and a dot at either end, becomes `_` and two hex digits. A name that
/// kustomize or Windows reserve or Flux leaves out, alone or before an extension, gets a `_` after it:
/// Windows reserves `con.txt` as it does `con`. What is longer than 200 bytes is cut to 160 and gets `_` and 16 hex
/// digits of the SHA-256 of all.
pub fn component(text: &str) -> String {
    part(text, is_plain_or_dot).into_owned()
}

/// As [`component`], at no cost where the text stays as it is.
///
/// No namespace holds a dot, so in namespaces a dot is encoded too, and a folder can never meet a file such as
/// `name.yaml` beside it.
fn part(text: &str, keep: fn(u8) -> bool) -> Cow<'_, str> {
    bounded(encode(text, keep))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn is_plain_or_dot(byte: u8) -> bool {
    is_plain(byte) || byte == b'.'
}

fn encode(text: &str, keep: fn(u8) -> bool) -> Cow<'_, str> {
    if text.bytes().all(keep) && !text.starts_with('.') && !text.ends_with('.') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let dot_at_an_end = byte == b'.' && (out.is_empty() || bytes.len() == 0);
        if keep(byte) && !dot_at_an_end {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "_{byte:02x}");
        }
    }
    Cow::Owned(out)
}

fn bounded(encoded: Cow<'_, str>) -> Cow<'_, str> {
    let marked = marked(encoded);
    // A short name that looks cut is cut as well, or it could be made to meet one that was cut.
    if marked.len() <= LONGEST && !looks_cut(&marked) {
        return marked;
    }
    let head: String = marked.chars().take(KEPT_OF_LONG).collect();
    let hash: String = sha256_hex(marked.as_bytes()).chars().take(HASH_OF_LONG).collect();
    Cow::Owned(format!("{head}_{hash}"))
}

fn looks_cut(text: &str) -> bool {
    let Some((_, tail)) = text.split_at_checked(KEPT_OF_LONG) else { return false };
    tail.strip_prefix('_').is_some_and(|hash| hash.len() == HASH_OF_LONG && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Marks empty and reserved names. `_` is otherwise always followed by a hex digit, so neither an
/// underscore before a dot nor one at the end can come from anything else.
fn marked(encoded: Cow<'_, str>) -> Cow<'_, str> {
    let (stem, extension) = match encoded.split_once('.') {
        Some((stem, extension)) => (stem, Some(extension)),
        None => (&*encoded, None),
    };
    match extension {
        _ if encoded.is_empty() => Cow::Borrowed("_"),
        _ if !is_reserved(stem) => encoded,
        Some(extension) => Cow::Owned(format!("{stem}_.{extension}")),
        None => Cow::Owned(format!("{stem}_")),
    }
}

/// The endings of folders that Flux's source-controller leaves out of what it fetches, by default.
///
/// <https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions>
const LEFT_OUT: [&str; 8] = [".jpg", ".jpeg", ".gif", ".png", ".wmv", ".flv", ".tar.gz", ".zip"];

/// Whether a name is reserved: by Windows (<https://learn.microsoft.com/windows/win32/fileio/naming-a-file>), for
/// kustomize's own file, or because Flux leaves it out.
///
/// The last is the one name ending in `.yaml` that Flux leaves out (see [`LEFT_OUT`]) and that does not start with a
/// dot.
fn is_reserved(stem: &str) -> bool {
    let port = |text: &str| matches!(text.as_bytes(), [b'1'..=b'9']);
    matches!(stem, "kustomization" | "cloudbuild" | "con" | "prn" | "aux" | "nul")
        || stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt")).is_some_and(port)
}

/// `path` as a repository has it: below `output`, without a leading `./`.
pub(super) fn in_repository(output: &str, path: &BundlePath) -> String {
    let parts = output.split('/').filter(|part| !part.is_empty() && *part != ".");
    let mut all = String::new();
    for part in parts {
        all.push_str(part);
        all.push('/');
    }
    all.push_str(&path.to_string());
    all
}

#[cfg(test)]
mod tests;
