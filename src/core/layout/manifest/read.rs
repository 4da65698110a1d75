//! Reading `bundle.yaml` back, strictly.
//!
//! A manifest is believed as a whole or not at all: an unknown field, an entry out of order, a path
//! that the layout does not derive make it unusable. Whoever reads it here has already checked that
//! the reuse key authenticates it; the strictness is the second lock, and keeps one version of pouch
//! from half understanding what another wrote.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::content::{
    API_VERSION, Guest, KIND, Manifest, ManifestFile, ManifestObject, NeededBy, NeededVia, ObjectState, ReadFrom,
    SourceIdentity,
};
use crate::finding::Code;
use crate::layout::path::{self, BundlePath};
use crate::layout::split::Splits;
use crate::name::{Claimant, Directory, GroupKind, Name, ObjectKey, is_directory};
use crate::node::Interner;
use crate::recipient::Recipient;
use crate::yaml::lines::line_of_item;
use crate::yaml::read::{documents, read};
use crate::yaml::written::{self, Value};

/// Why a manifest cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unusable {
    /// It is written in a format that this pouch does not know.
    #[error("the manifest says apiVersion {0:?}, which is newer than this pouch knows")]
    Newer(String),
    /// It is not what pouch writes, at this spot.
    #[error("the manifest is not what pouch writes: {0}")]
    Malformed(String, Spot),
}

/// Where in a manifest something is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// Nowhere in particular.
    Whole,
    /// At a line, from one.
    Line(u32),
    /// In an item of one of its lists, counted from zero.
    Item(&'static str, usize),
}

impl Spot {
    /// The line in a manifest's text, from one, if it is known.
    pub fn line(self, text: &str) -> Option<u32> {
        match self {
            Spot::Whole => None,
            Spot::Line(line) => Some(line),
            Spot::Item(list, index) => line_of_item(text, list, index),
        }
    }
}

fn malformed(why: impl Into<String>) -> Unusable {
    Unusable::Malformed(why.into(), Spot::Whole)
}

/// Reads a manifest; comment lines before it, such as the tag, are skipped.
///
/// # Errors
/// [`Unusable::Newer`] for another `pouch/…` version, [`Unusable::Malformed`] for everything else.
pub fn parse(text: &str) -> Result<Manifest, Unusable> {
    // What pouch wrote itself is nearly all that is ever read here.
    if let Some(value) = written::read(text) {
        return of_value(&value);
    }
    parse_any(text)
}

/// As [`parse`], however the text is written.
pub(super) fn parse_any(text: &str) -> Result<Manifest, Unusable> {
    let mut documents = documents(text);
    let (Some(document), None) = (documents.next(), documents.next()) else {
        return Err(malformed("it is not exactly one document"));
    };
    let node = read(&document, &mut Interner::new())
        .map_err(|flaw| Unusable::Malformed("it is not YAML that pouch can read".into(), Spot::Line(flaw.line)))?;
    of_value(&Value::of(&node))
}

/// As [`parse`], from a document that was already read.
pub(super) fn of_value(node: &Value<'_>) -> Result<Manifest, Unusable> {
    let version = match node.get("apiVersion") {
        Some(Value::Text(version)) => version,
        _ => "",
    };
    if version != API_VERSION && version.starts_with("pouch/v") {
        return Err(Unusable::Newer(version.chars().take(40).collect()));
    }
    let fields = [
        "apiVersion",
        "kind",
        "metadata",
        "fleet",
        "recipients",
        "sources",
        "parts",
        "formerParts",
        "objects",
        "files",
        "cluster",
    ];
    let [_, kind, metadata, fleet, recipients, sources, parts, former, objects, files, cluster] =
        map(Some(node), "the manifest", fields)?;
    if version != API_VERSION || text(kind, "kind")? != KIND {
        return Err(malformed("apiVersion and kind are not those of a bundle"));
    }
    let [name] = map(metadata, "metadata", ["name"])?;
    let directory = text(name, "metadata.name")?;
    if !is_directory(directory) {
        return Err(malformed("metadata.name is no region's folder"));
    }
    let directory = Directory::from(directory);
    let recipients = each(recipients, "recipients", recipient)?;
    let sources = each(sources, "sources", source)?;
    let splits = splits(parts, former)?;
    let objects = each(objects, "objects", |node| object(node, &directory, &splits))?;
    let files = each(files, "files", file)?;

    ascending("recipients", recipients.iter())?;
    ascending("sources", sources.iter().map(|source| &source.name))?;
    ascending("objects", objects.iter().map(|object| &object.key))?;
    let mut taken = BTreeSet::from([path::manifest(&directory)]);
    if !objects.iter().all(|object| taken.insert(object.path.clone())) {
        return Err(malformed("two objects share a path"));
    }
    let folders = [path::region(&directory), path::flux(&directory), path::argocd(&directory)];
    for (at, file) in files.iter().enumerate() {
        let wrong = |what: &str| Err(Unusable::Malformed(format!("{} {what}", file.path), Spot::Item("files", at)));
        if !folders.iter().any(|folder| file.path.below(folder).is_some()) {
            return wrong("is no path of this region");
        }
        if taken.contains(&file.path) {
            return wrong("is listed as a file and is something else");
        }
    }
    ascending("files", files.iter().map(|file| &file.path))?;
    let fleet = text(fleet, "fleet")?.into();
    let cluster = cluster.map(|cluster| text(Some(cluster), "cluster").map(String::from)).transpose()?;
    Ok(Manifest { directory, fleet, recipients, sources, cluster, splits, objects, files })
}

fn splits(now: Option<&Value<'_>>, former: Option<&Value<'_>>) -> Result<Splits, Unusable> {
    if now.is_none() && former.is_none() {
        return Ok(Splits::default());
    }
    let part = |node: &Value<'_>| {
        let listed = text(Some(node), "an entry")?;
        Splits::parse(listed).ok_or_else(|| malformed(format!("{listed:?} is no leaf in parts")))
    };
    let leaves = each(now, "parts", part)?;
    ascending("parts", leaves.iter())?;
    let former = former.map(|_| each(former, "formerParts", part)).transpose()?.unwrap_or_default();
    ascending("formerParts", former.iter())?;
    let splits = Splits::from_leaves(leaves, former).filter(|splits| !splits.is_none());
    splits.ok_or_else(|| malformed("parts are not those of a split bundle"))
}

fn recipient(node: &Value<'_>) -> Result<Recipient, Unusable> {
    Recipient::parse(text(Some(node), "a recipient")?).map_err(|_| malformed("an entry is no recipient"))
}

fn source(node: &Value<'_>) -> Result<SourceIdentity, Unusable> {
    let [name, identity] = map(Some(node), "a source", ["name", "identity"])?;
    Ok(SourceIdentity { name: text(name, "name")?.into(), identity: text(identity, "identity")?.into() })
}

fn file(node: &Value<'_>) -> Result<ManifestFile, Unusable> {
    let [path, sha256] = map(Some(node), "a file", ["path", "sha256"])?;
    let path = BundlePath::parse(text(path, "path")?).ok_or_else(|| malformed("path is none that pouch writes"))?;
    Ok(ManifestFile { path, sha256: digest(sha256)? })
}

fn object(node: &Value<'_>, directory: &Directory, splits: &Splits) -> Result<ManifestObject, Unusable> {
    let fields = ["key", "from", "guest", "path", "sha256", "state", "reason", "neededBy", "recipients"];
    let [key, from, guest, path, sha256, state, reason, needed, readers] = map(Some(node), "an object", fields)?;
    let [group, kind, namespace, name] = map(key, "key", ["group", "kind", "namespace", "name"])?;
    let kind = GroupKind::new(text(group, "key.group")?, text(kind, "key.kind")?);
    let namespace = optional(namespace, "key.namespace")?.map(Into::into);
    let key = ObjectKey::new(kind, namespace, text(name, "key.name")?.into());
    let from = match from {
        None => None,
        Some(_) => {
            let [namespace, name] = map(from, "from", ["namespace", "name"])?;
            let namespace = optional(namespace, "from.namespace")?.map(Into::into);
            Some(ReadFrom { namespace, name: text(name, "from.name")?.into() })
        }
    };
    let derived = splits.of_object(directory, &key);
    if text(path, "path")? != derived.as_str() {
        return Err(malformed(format!("path of {key} is not {derived}")));
    }
    let state = match (text(state, "state")?, optional(reason, "reason")?) {
        ("current", None) => ObjectState::Current,
        ("carried", Some(reason)) => {
            ObjectState::Carried(Code::parse(reason).ok_or_else(|| malformed("reason is no code of a finding"))?)
        }
        _ => return Err(malformed("state is neither current nor carried with a reason")),
    };
    let needed_by = each(needed, "neededBy", needed_by)?;
    ascending("neededBy", needed_by.iter())?;
    let recipients = match readers {
        None => Vec::new(),
        Some(_) if state == ObjectState::Current || !key.kind.is_secret() => {
            return Err(malformed("recipients are for Secrets that are carried"));
        }
        Some(_) => each(readers, "recipients", recipient)?,
    };
    ascending("recipients", recipients.iter())?;
    if readers.is_some() && recipients.is_empty() {
        return Err(malformed("recipients is empty"));
    }
    let guest = guest.map(of_guest).transpose()?;
    Ok(ManifestObject { key, from, guest, path: derived, sha256: digest(sha256)?, state, recipients, needed_by })
}

fn of_guest(node: &Value<'_>) -> Result<Guest, Unusable> {
    let fields = ["group", "kind", "namespace", "name", "sha256", "type"];
    let [group, kind, namespace, name, sha256, secret_type] = map(Some(node), "guest", fields)?;
    let kind = GroupKind::new(text(group, "guest.group")?, text(kind, "guest.kind")?);
    let namespace = optional(namespace, "guest.namespace")?.map(Into::into);
    Ok(Guest {
        key: ObjectKey::new(kind, namespace, text(name, "guest.name")?.into()),
        secret_type: optional(secret_type, "guest.type")?.map(String::from),
        sha256: sha256.map(|_| digest(sha256)).transpose()?,
    })
}

fn needed_by(node: &Value<'_>) -> Result<NeededBy, Unusable> {
    let [kind, namespace, name, via] = map(Some(node), "an entry", ["kind", "namespace", "name", "via"])?;
    let via = each(via, "via", |node| {
        let [interface, field] = map(Some(node), "an entry", ["providerInterface", "field"])?;
        let provider_interface = optional(interface, "providerInterface")?.map(Name::from);
        Ok(NeededVia { provider_interface, field: text(field, "field")?.into() })
    })?;
    let by = Claimant::new(text(kind, "kind")?, text(namespace, "namespace")?.into(), text(name, "name")?);
    Ok(NeededBy { by, via })
}

/// The values of `fields` in a map that has no others.
fn map<'n, const N: usize>(
    node: Option<&'n Value<'n>>,
    what: &str,
    fields: [&str; N],
) -> Result<[Option<&'n Value<'n>>; N], Unusable> {
    let Some(node) = node else { return Err(malformed(format!("{what} is missing"))) };
    let Value::Map(entries) = node else {
        return Err(malformed(format!("{what} is {}, not a map", node.type_name())));
    };
    if let Some((key, _)) = entries.iter().find(|(key, _)| !fields.contains(&&**key)) {
        return Err(malformed(format!("{what} has the unknown field {key:?}")));
    }
    Ok(fields.map(|field| node.get(field)))
}

/// A list's items; the fault of an item says which item it is.
fn each<T>(
    node: Option<&Value<'_>>,
    what: &'static str,
    item: impl Fn(&Value<'_>) -> Result<T, Unusable>,
) -> Result<Vec<T>, Unusable> {
    let Some(Value::List(items)) = node else { return Err(malformed(format!("{what} is not a list"))) };
    let located = |(at, node)| {
        item(node).map_err(|flaw| match flaw {
            // The outermost list is a manifest's own.
            Unusable::Malformed(why, _) => Unusable::Malformed(format!("{what}[{at}]: {why}"), Spot::Item(what, at)),
            newer => newer,
        })
    };
    items.iter().enumerate().map(located).collect()
}

fn text<'n>(node: Option<&'n Value<'n>>, what: &str) -> Result<&'n str, Unusable> {
    match node {
        Some(Value::Text(text)) => Ok(text),
        Some(other) => Err(malformed(format!("{what} is {}, not text", other.type_name()))),
        None => Err(malformed(format!("{what} is missing"))),
    }
}

fn optional<'n>(node: Option<&'n Value<'n>>, what: &str) -> Result<Option<&'n str>, Unusable> {
    node.map(|_| text(node, what)).transpose()
}

fn digest(node: Option<&Value<'_>>) -> Result<String, Unusable> {
    let digest = text(node, "sha256")?;
    let hex = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
    if digest.len() == 64 && digest.bytes().all(hex) {
        Ok(digest.into())
    } else {
        Err(malformed("sha256 is not 64 lower-case hex digits"))
    }
}

fn ascending<T: Ord>(what: &'static str, items: impl Iterator<Item = T> + Clone) -> Result<(), Unusable> {
    match items.clone().zip(items.skip(1)).position(|(a, b)| a >= b) {
        None => Ok(()),
        Some(at) => {
            let spot = Spot::Item(what, at.saturating_add(1));
            Err(Unusable::Malformed(format!("{what} are not sorted, or one stands twice"), spot))
        }
    }
}
