//! Reading `bundle.yaml` back, strictly.
//!
//! A manifest is believed as a whole or not at all: an unknown field, an entry out of order, a path
//! that the layout does not derive make it unusable. Whoever reads it here has already checked that
//! the reuse key authenticates it; the strictness is the second lock, and keeps one version of pouch
//! from half understanding what another wrote.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::content::{
    API_VERSION, FORMER, Guest, KIND, Manifest, ManifestFile, ManifestObject, NeededBy, ObjectState, Reason,
    SourceIdentity, Texts,
};
use super::taker::Taker;
use crate::finding::Code;
use crate::layout::path::{self, BundlePath};
use crate::layout::split::Splits;
use crate::name::step::Step;
use crate::name::{
    Claimant, Directory, Entry, GroupKind, MadeBy, Name, Namespace, ObjectKey, ReadAt, ReadFrom, TakenObject,
    is_directory, is_dns_label,
};
use crate::node::{Interner, Node};
use crate::recipient::Recipient;
use crate::yaml::emit::{Tree, append};
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
    let format = match version {
        API_VERSION => Some(Format::Own),
        FORMER => Some(Format::Former),
        later if later.starts_with("pouch/v") => return Err(Unusable::Newer(later.chars().take(40).collect())),
        _ => None,
    };
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
        "texts",
        "restsOn",
    ];
    let [_, kind, metadata, fleet, recipients, sources, parts, former, objects, files, cluster, texts, rests_on] =
        map(Some(node), "the manifest", fields)?;
    let (Some(format), KIND) = (format, text(kind, "kind")?) else {
        return Err(malformed("apiVersion and kind are not those of a bundle"));
    };
    let [name] = map(metadata, "metadata", ["name"])?;
    let directory = text(name, "metadata.name")?;
    if !is_directory(directory) {
        return Err(malformed("metadata.name is no region's folder"));
    }
    let directory = Directory::from(directory);
    let recipients = each(recipients, "recipients", |node| recipient(node, format))?;
    let sources = each(sources, "sources", source)?;
    let splits = splits(parts, former)?;
    let objects = each(objects, "objects", |node| object(node, (&directory, &splits), format))?;
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
    let texts = texts.map(|_| self::texts(texts)).transpose()?.unwrap_or_default();
    let rests_on = rests_on.map(|_| self::rests_on(rests_on)).transpose()?;
    Ok(Manifest { directory, fleet, recipients, sources, cluster, splits, objects, files, texts, rests_on })
}

fn rests_on(node: Option<&Value<'_>>) -> Result<BTreeMap<ObjectKey, ReadAt>, Unusable> {
    let read = each(node, "restsOn", |node| {
        let fields = ["group", "kind", "namespace", "name", "source", "path"];
        let [group, kind, namespace, name, source, path] = map(Some(node), "an entry", fields)?;
        let at = ReadAt { source: text(source, "an entry.source")?.into(), path: text(path, "an entry.path")?.into() };
        Ok((key_of((group, kind), (namespace, name), "an entry")?, at))
    })?;
    ascending("restsOn", read.iter().map(|(key, _)| key))?;
    Ok(read.into_iter().collect())
}

/// The file in which an object was read, if it was in one.
fn read_at(source: Option<&Value<'_>>, path: Option<&Value<'_>>) -> Result<Option<ReadAt>, Unusable> {
    match (optional(source, "from.source")?, optional(path, "from.path")?) {
        (None, None) => Ok(None),
        (Some(source), Some(path)) => Ok(Some(ReadAt { source: source.into(), path: path.into() })),
        _ => Err(malformed("from.source and from.path do not stand together")),
    }
}

fn texts(node: Option<&Value<'_>>) -> Result<Texts, Unusable> {
    let texts = each(node, "texts", |node| {
        let [digest, access_rule, group, rule, template] =
            map(Some(node), "a text", ["digest", "accessRule", "group", "rule", "template"])?;
        let name = |node| text(node, "the name of what takes objects").map(Name::from);
        let taker = match (access_rule, group, rule, template) {
            (Some(_), None, None, None) => Taker::AccessRule(name(access_rule)?),
            (None, Some(_), None, None) => Taker::Group(name(group)?),
            (None, None, Some(_), None) => Taker::Rule(name(rule)?),
            (None, None, None, Some(_)) => Taker::Template(name(template)?),
            _ => return Err(malformed("a text is not that of one thing")),
        };
        Ok((taker, String::from(text(digest, "digest")?)))
    })?;
    ascending("texts", texts.iter().map(|(taker, _)| taker))?;
    if texts.is_empty() {
        return Err(malformed("texts is empty"));
    }
    Ok(texts.into_iter().collect())
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

fn recipient(node: &Value<'_>, format: Format) -> Result<Recipient, Unusable> {
    let key = match format {
        Format::Former => text(Some(node), "a recipient")?,
        Format::Own => {
            let [key, name] = map(Some(node), "a recipient", ["key", "name"])?;
            optional(name, "name")?;
            text(key, "key")?
        }
    };
    Recipient::parse(key).map_err(|_| malformed("an entry is no recipient"))
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

fn object(
    node: &Value<'_>,
    (directory, splits): (&Directory, &Splits),
    format: Format,
) -> Result<ManifestObject, Unusable> {
    let fields = ["key", "from", "guest", "path", "sha256", "state", "reason", "neededBy", "recipients"];
    let [key, from, guest, path, sha256, state, reason, needed, readers] = map(Some(node), "an object", fields)?;
    let key = object_key(key, "key")?;
    let guest = guest.map(of_guest).transpose()?;
    let (from, at) = match from {
        None => (None, None),
        Some(_) => {
            let fields = ["namespace", "name", "template", "source", "path"];
            let [namespace, name, template, source, path] = map(from, "from", fields)?;
            let at = read_at(source, path)?;
            let made = optional(template, "from.template")?.map(|template| MadeBy {
                template: template.into(),
                lands: guest.as_ref().map_or(&key, |guest| &guest.key).namespace.clone(),
                directory: directory.as_str().into(),
                in_guests: guest.is_some(),
            });
            let namespace = optional(namespace, "from.namespace")?.map(Into::into);
            (Some(ReadFrom { namespace, name: text(name, "from.name")?.into(), made: made.map(Arc::new) }), at)
        }
    };
    let derived = splits.of_object(directory, &key);
    if text(path, "path")? != derived.as_str() {
        return Err(malformed(format!("path of {key} is not {derived}")));
    }
    let state = match (text(state, "state")?, optional(reason, "reason")?) {
        ("current", None) => ObjectState::Current,
        ("carried", Some(reason)) => Code::parse(reason)
            .map_or_else(|| ObjectState::Other(reason.into()), |code| ObjectState::Carried(Reason::of(code))),
        _ => return Err(malformed("state is neither current nor carried with a reason")),
    };
    let needed_by = match format {
        Format::Own => each(needed, "neededBy", needed_by)?,
        Format::Former => each(needed, "neededBy", former::needed_by)?,
    };
    ascending("neededBy", needed_by.iter())?;
    let needed_by = by_entry(needed_by, guest.as_ref(), from.as_ref());
    let recipients = match readers {
        None => Vec::new(),
        Some(_) if state == ObjectState::Current || !key.kind.is_secret() => {
            return Err(malformed("recipients are for Secrets that are carried"));
        }
        Some(_) => each(readers, "recipients", |node| recipient(node, format))?,
    };
    ascending("recipients", recipients.iter())?;
    if readers.is_some() && recipients.is_empty() {
        return Err(malformed("recipients is empty"));
    }
    let sha256 = digest(sha256)?;
    Ok(ManifestObject { key, from, read_at: at, guest, path: derived, sha256, state, recipients, needed_by })
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

fn object_key(node: Option<&Value<'_>>, what: &str) -> Result<ObjectKey, Unusable> {
    let [group, kind, namespace, name] = map(node, what, ["group", "kind", "namespace", "name"])?;
    key_of((group, kind), (namespace, name), what)
}

fn key_of(
    (group, kind): (Option<&Value<'_>>, Option<&Value<'_>>),
    (namespace, name): (Option<&Value<'_>>, Option<&Value<'_>>),
    what: &str,
) -> Result<ObjectKey, Unusable> {
    let kind = GroupKind::new(text(group, &format!("{what}.group"))?, text(kind, &format!("{what}.kind"))?);
    let namespace = optional(namespace, &format!("{what}.namespace"))?.map(Into::into);
    Ok(ObjectKey::new(kind, namespace, text(name, &format!("{what}.name"))?.into()))
}

fn needed_by(node: &Value<'_>) -> Result<NeededBy, Unusable> {
    let [at, by, through] = map(Some(node), "an entry", ["at", "by", "through"])?;
    // The place of another release's claimants.
    if at.is_some_and(|at| !matches!(at, Value::Map(_))) {
        return Err(malformed("at is not a map"));
    }
    Ok(NeededBy { by: claimant(by)?, through: each(through, "through", step)? })
}

/// The entry of a group of guest clusters: a rule, a template, or an object.
fn entry_of_group(node: &Value<'_>) -> Result<Entry, Unusable> {
    let named = |field| -> Result<Name, Unusable> {
        let [name] = map(Some(node), "by.entry", [field])?;
        Ok(text(name, &format!("by.entry.{field}"))?.into())
    };
    match () {
        () if node.get("rule").is_some() => {
            let [rule, object] = map(Some(node), "by.entry", ["rule", "object"])?;
            let taken = |_: &Value<'_>| -> Result<TakenObject, Unusable> {
                let [name, namespace] = map(object, "by.entry.object", ["name", "namespace"])?;
                let namespace = optional(namespace, "by.entry.object.namespace")?.map(Into::into);
                Ok(TakenObject { namespace, name: text(name, "by.entry.object.name")?.into() })
            };
            let object = object.map(taken).transpose()?;
            Ok(Entry::Rule { rule: text(rule, "by.entry.rule")?.into(), object })
        }
        () if node.get("template").is_some() => Ok(Entry::Template(named("template")?)),
        () => Ok(Entry::Object(object_key(Some(node), "by.entry")?)),
    }
}

/// The same, where a bundle says of what an entry of a group of guests delivers only that the group has it, or that a rule took
/// it.
fn by_entry(mut needed_by: Vec<NeededBy>, guest: Option<&Guest>, from: Option<&ReadFrom>) -> Vec<NeededBy> {
    let Some((guest, from)) = guest.zip(from) else { return needed_by };
    let taken = || Some(TakenObject { namespace: from.namespace.clone(), name: from.name.clone() });
    for NeededBy { by, through } in &mut needed_by {
        let Claimant::Guests { entry, .. } = by else { continue };
        let named = match (entry.as_deref(), through.first()) {
            (Some(Entry::Rule { rule, object: None }), _) | (None, Some(Step::Rule(rule))) => {
                Entry::Rule { rule: rule.clone(), object: taken() }
            }
            (None, Some(Step::Field { .. })) => {
                let (kind, namespace) = (guest.key.kind.clone(), from.namespace.clone());
                Entry::Object(ObjectKey::new(kind, namespace, from.name.clone()))
            }
            (None, Some(Step::Template(template))) => Entry::Template(template.clone()),
            (Some(_), _) | (None, Some(Step::AccessRule(_) | Step::Data(_) | Step::Opaque(_)) | None) => continue,
        };
        *entry = Some(Box::new(named));
    }
    needed_by.sort();
    needed_by.dedup();
    needed_by
}

/// A claimant. Of a kind that this release does not know, it is kept as it is written.
fn claimant(node: Option<&Value<'_>>) -> Result<Claimant, Unusable> {
    let kind = text(node.and_then(|node| node.get("kind")), "by.kind")?;
    let namespace = |node| {
        let namespace = text(node, "by.namespace")?;
        match is_dns_label(namespace) {
            true => Ok(Namespace::from(namespace)),
            false => {
                Err(malformed(format!("by.namespace of a {kind} is {namespace:?}, and no namespace is called so")))
            }
        }
    };
    // What another kind writes is not looked into.
    match Claimant::new(kind, Namespace::from(""), "") {
        Claimant::Cluster { .. } | Claimant::ResourceSet { .. } | Claimant::Credential { .. } => {
            let [_, name, within] = map(node, "by", ["kind", "name", "namespace"])?;
            Ok(Claimant::new(kind, namespace(within)?, text(name, "by.name")?))
        }
        Claimant::Guests { .. } => {
            let [_, group, within, entry] = map(node, "by", ["kind", "group", "namespace", "entry"])?;
            let entry = entry.map(entry_of_group).transpose()?.map(Box::new);
            Ok(Claimant::Guests { namespace: namespace(within)?, group: text(group, "by.group")?.into(), entry })
        }
        Claimant::Template { .. } => {
            let [_, template, within] = map(node, "by", ["kind", "template", "namespace"])?;
            Ok(Claimant::Template { namespace: namespace(within)?, template: text(template, "by.template")?.into() })
        }
        Claimant::SyncRule { .. } => {
            let [_, rule, object, within] = map(node, "by", ["kind", "rule", "object", "namespace"])?;
            let object = match object {
                None => None,
                Some(_) => {
                    let [name] = map(object, "by.object", ["name"])?;
                    Some(text(name, "by.object.name")?.into())
                }
            };
            Ok(Claimant::SyncRule { namespace: namespace(within)?, rule: text(rule, "by.rule")?.into(), object })
        }
        Claimant::Other { .. } => {
            let shown = |field| match node.and_then(|node| node.get(field)) {
                Some(Value::Text(text)) => &**text,
                _ => "",
            };
            let (namespace, name) = (shown("namespace").into(), shown("name").into());
            if map(node, "by", ["kind", "name", "namespace"])
                .is_ok_and(|fields| fields.iter().all(|field| matches!(field, Some(Value::Text(_)))))
            {
                return Ok(Claimant::Other { kind: kind.into(), namespace, name, written: Box::default() });
            }
            let written =
                node.and_then(tree).ok_or_else(|| malformed("by holds what is neither text, list nor map"))?;
            let mut lines = String::new();
            append(&written, &mut lines);
            Ok(Claimant::Other { kind: kind.into(), namespace, name, written: lines.into() })
        }
    }
}

/// The claimant of an entry of `neededBy`, in either format, where nothing else of the manifest is judged.
pub fn claimant_in(entry: &Node) -> Option<Claimant> {
    if let Some(by) = entry.at(&["by"]) {
        return claimant(Some(&Value::of(by))).ok();
    }
    let kind = entry.str_at(&["kind"]).unwrap_or("Credential");
    Some(Claimant::new(kind, entry.str_at(&["namespace"])?.into(), entry.str_at(&["name"])?))
}

/// The tree of a value that another release wrote, to be written again as it is.
fn tree<'v>(value: &'v Value<'_>) -> Option<Tree<'v>> {
    match value {
        Value::Text(text) => Some(Tree::text(&**text)),
        Value::List(items) => items.iter().map(tree).collect::<Option<Vec<_>>>().map(Tree::List),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| Some((&**key, tree(value)?)));
            entries.collect::<Option<Vec<_>>>().map(Tree::map)
        }
        Value::Other(_) => None,
    }
}

/// One step of a chain. One that this release does not know is kept as words.
fn step(node: &Value<'_>) -> Result<Step, Unusable> {
    const FIELDS: [&str; 7] = ["field", "providerInterface", "accessRule", "rule", "template", "data", "opaque"];
    let Value::Map(entries) = node else {
        return Err(malformed(format!("a step is {}, not a map", node.type_name())));
    };
    if entries.iter().any(|(key, _)| !FIELDS.contains(&&**key)) {
        let written = tree(node).ok_or_else(|| malformed("a step holds what is neither text, list nor map"))?;
        let mut words = String::new();
        append(&written, &mut words);
        return Ok(Step::Opaque(words));
    }
    let [field, interface, access_rule, rule, template, data, opaque] = map(Some(node), "a step", FIELDS)?;
    let step = match (field, access_rule, rule, template, data, opaque) {
        (Some(_), None, None, None, None, None) => {
            let interface = optional(interface, "providerInterface")?.map(Name::from);
            return Ok(Step::Field { interface, field: text(field, "field")?.into() });
        }
        (None, Some(_), None, None, None, None) => Step::AccessRule(text(access_rule, "accessRule")?.into()),
        (None, None, Some(_), None, None, None) => Step::Rule(text(rule, "rule")?.into()),
        (None, None, None, Some(_), None, None) => Step::Template(text(template, "template")?.into()),
        (None, None, None, None, Some(_), None) => Step::Data(object_key(data, "data")?),
        (None, None, None, None, None, Some(_)) => Step::Opaque(text(opaque, "opaque")?.into()),
        _ => return Err(malformed("a step says not exactly one thing")),
    };
    match interface {
        None => Ok(step),
        Some(_) => Err(malformed("providerInterface stands without a field")),
    }
}

/// The format in which a manifest is written.
#[derive(Clone, Copy)]
enum Format {
    /// The one that is written.
    Own,
    /// The one before.
    Former,
}

/// The entries of `neededBy` in the format before. Its claimants are believed, and of its chains those that are data: those of
/// rules, templates and groups of guests are words, which are never read.
mod former {
    use super::{Claimant, NeededBy, Step, Unusable, Value, each, map, optional, text};

    pub(super) fn needed_by(node: &Value<'_>) -> Result<NeededBy, Unusable> {
        let [kind, namespace, name, via] = map(Some(node), "an entry", ["kind", "namespace", "name", "via"])?;
        let by = Claimant::new(text(kind, "kind")?, text(namespace, "namespace")?.into(), text(name, "name")?);
        let step = |node: &Value<'_>| {
            let [interface, field] = map(Some(node), "an entry", ["providerInterface", "field"])?;
            let (interface, field) = (optional(interface, "providerInterface")?, text(field, "field")?);
            Ok(match by {
                Claimant::Credential { .. } | Claimant::Cluster { .. } | Claimant::ResourceSet { .. } => {
                    Step::Field { interface: interface.map(Into::into), field: field.into() }
                }
                Claimant::Guests { .. }
                | Claimant::Template { .. }
                | Claimant::SyncRule { .. }
                | Claimant::Other { .. } => Step::Opaque(field.into()),
            })
        };
        let through = each(via, "via", step)?;
        Ok(NeededBy { by, through })
    }
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
            let spot = Spot::Item(what, at + 1);
            Err(Unusable::Malformed(format!("{what} are not sorted, or one stands twice"), spot))
        }
    }
}
