//! `bundle.yaml`: what a bundle holds, where each object came from, and who needs it.
//!
//! Later runs believe a published file only if this manifest names it with its hash, and the manifest
//! only if its first line authenticates the rest; that line is written and checked elsewhere. Nothing in it changes
//! from run to run unless the content changes, and it holds no value of a Secret: the hashes are those of sealed or
//! open files.

mod content;
mod read;
mod taker;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

pub use content::{
    API_VERSION, FORMER, Guest, KIND, Manifest, ManifestFile, ManifestObject, NeededBy, ObjectState, Reason,
    SourceIdentity, Texts,
};
pub use read::{Spot, Unusable, claimant_in, parse};
pub use taker::Taker;

use crate::name::step::Step;
use crate::name::{Claimant, Entry, Name, Namespace, ObjectKey, ReadAt, TakenObject};
use crate::renamed;
use crate::yaml::emit::{Tree, append, field, line};

/// The JSON Schema of `bundle.yaml`, for people and tools that read bundles; tests hold it against what is written.
pub const SCHEMA: &str = include_str!("../../../schemas/bundle.schema.json");

/// The claimants that a file names as those who need an object; nothing has to vouch for it. None if it is not a manifest.
pub fn claimants_in(bytes: &[u8]) -> BTreeSet<Claimant> {
    let text = core::str::from_utf8(bytes).ok();
    let manifest = text.and_then(|text| parse(text).ok());
    manifest.iter().flat_map(Manifest::claimants).cloned().collect()
}

/// Returns true if a text is [emitted](emit) of a manifest, except that [reasons](Reason) may have their words of before the
/// first release.
pub fn is_emitted(text: &str, emitted: &str) -> bool {
    text == emitted || in_words_of_now(text) == emitted
}

fn in_words_of_now(text: &str) -> String {
    let mut now = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let told = line.strip_prefix(REASON).and_then(|rest| renamed::code(rest.trim_end()));
        match told {
            Some(renamed) => now.extend([REASON, renamed.new, "\n"]),
            None => now.push_str(line),
        }
    }
    now
}

/// The beginning of the line of a reason.
const REASON: &str = "  reason: ";

/// The text of a manifest, sorted throughout, without the line that authenticates it.
pub fn emit(manifest: &Manifest) -> String {
    let recipients =
        sorted(&manifest.recipients).into_iter().map(|recipient| Tree::map([("key", Tree::text(recipient.as_str()))]));
    let sources = sorted(&manifest.sources).into_iter().map(|source| {
        Tree::map([("identity", Tree::text(&*source.identity)), ("name", Tree::text(source.name.as_str()))])
    });
    let files = sorted(&manifest.files)
        .into_iter()
        .map(|file| Tree::map([("path", Tree::text(file.path.as_str())), ("sha256", Tree::text(&*file.sha256))]));
    let former: Vec<Tree<'_>> = manifest.splits.listed_former().into_iter().map(Tree::text).collect();
    let former = (!former.is_empty()).then_some(("formerParts", Tree::List(former)));
    let cluster = manifest.cluster.as_ref().map(|cluster| ("cluster", Tree::text(cluster.as_str())));
    let head = [
        ("apiVersion", Tree::text(API_VERSION)),
        ("files", Tree::List(files.collect())),
        ("fleet", Tree::text(manifest.fleet.as_str())),
    ];
    let tail_of_head =
        [("kind", Tree::text(KIND)), ("metadata", Tree::map([("name", Tree::text(manifest.directory.as_str()))]))];
    let head = Tree::map(head.into_iter().chain(cluster).chain(former).chain(tail_of_head));
    let parts = manifest.splits.listed().into_iter().map(Tree::text).collect();
    let parts = (!manifest.splits.is_none()).then_some(("parts", Tree::List(parts)));
    let recipients = ("recipients", Tree::List(recipients.collect()));
    let parts = Tree::map(parts.into_iter().chain([recipients]));
    let sources = ("sources", Tree::List(sources.collect()));
    let texts = manifest.texts.iter().map(|(taker, digest)| {
        let (field, name) = taker.field();
        Tree::map([("digest", Tree::text(digest.as_str())), (field, Tree::text(name.as_str()))])
    });
    let texts = (!manifest.texts.is_empty()).then(|| ("texts", Tree::List(texts.collect())));
    let tail = Tree::map([sources].into_iter().chain(texts));
    let mut objects: Vec<&ManifestObject> = manifest.objects.iter().collect();
    objects.sort_by(|a, b| a.key.cmp(&b.key));

    let mut text = String::with_capacity(objects.len() * OBJECT_BYTES);
    append(&head, &mut text);
    // A region has thousands of objects: one tree of them all would be most of what an unchanged run allocates.
    text.push_str(if objects.is_empty() { "objects: []\n" } else { "objects:\n" });
    for one in objects {
        object(one, &mut text);
    }
    append(&parts, &mut text);
    if let Some(rests_on) = &manifest.rests_on {
        text.push_str(if rests_on.is_empty() { "restsOn: []\n" } else { "restsOn:\n" });
    }
    for (key, at) in manifest.rests_on.iter().flatten() {
        text.push_str("- ");
        field(("group", key.kind.group.as_str()), 2, &mut text);
        line(("kind", key.kind.kind.as_str()), 2, &mut text);
        place(key.namespace.as_ref(), &key.name, 2, &mut text);
        read_at(at, 2, &mut text);
    }
    append(&tail, &mut text);
    text
}

/// The cluster that a manifest's text names, in the form in which [`emit`] writes it; the text is not proved by that.
pub fn told_cluster(text: &str) -> Option<&str> {
    let line = text.lines().take_while(|line| *line != "files:").find_map(|line| line.strip_prefix("cluster: "))?;
    Some(line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).unwrap_or(line))
}

/// About what the entry of an object takes.
const OBJECT_BYTES: usize = 512;

fn sorted<T: Ord>(items: &[T]) -> Vec<&T> {
    let mut items: Vec<&T> = items.iter().collect();
    items.sort();
    items.dedup();
    items
}

/// Adds the entry of an object, line by line: trees of them all are a tenth of what a publication takes.
fn object(object: &ManifestObject, text: &mut String) {
    let key = &object.key;
    text.push_str("- ");
    if let Some(from) = &object.from {
        text.push_str("from:\n");
        place(from.namespace.as_ref(), &from.name, 4, text);
        object.read_at.iter().for_each(|at| read_at(at, 4, text));
        from.made.iter().for_each(|by| line(("template", by.template.as_str()), 4, text));
        text.push_str("  ");
    }
    if let Some(guest) = &object.guest {
        text.push_str("guest:\n");
        line(("group", guest.key.kind.group.as_str()), 4, text);
        line(("kind", guest.key.kind.kind.as_str()), 4, text);
        place(guest.key.namespace.as_ref(), &guest.key.name, 4, text);
        guest.sha256.iter().for_each(|sha256| line(("sha256", sha256), 4, text));
        guest.secret_type.iter().for_each(|secret_type| line(("type", secret_type), 4, text));
        text.push_str("  ");
    }
    text.push_str("key:\n");
    line(("group", key.kind.group.as_str()), 4, text);
    line(("kind", key.kind.kind.as_str()), 4, text);
    place(key.namespace.as_ref(), &key.name, 4, text);
    text.push_str(if object.needed_by.is_empty() { "  neededBy: []\n" } else { "  neededBy:\n" });
    sorted(&object.needed_by).into_iter().for_each(|by| needed_by(by, text));
    line(("path", object.path.as_str()), 2, text);
    let (state, reason) = match &object.state {
        ObjectState::Current => ("current", None),
        ObjectState::Carried(reason) => ("carried", Some(reason.word())),
        ObjectState::Other(reason) => ("carried", Some(&**reason)),
    };
    reason.into_iter().for_each(|reason| line(("reason", reason), 2, text));
    if !object.recipients.is_empty() {
        text.push_str("  recipients:\n");
    }
    for recipient in sorted(&object.recipients) {
        text.push_str("  - ");
        field(("key", recipient.as_str()), 4, text);
    }
    line(("sha256", &object.sha256), 2, text);
    line(("state", state), 2, text);
}

/// Where something was read.
fn read_at(at: &ReadAt, indent: usize, text: &mut String) {
    line(("path", &at.path), indent, text);
    line(("source", at.source.as_str()), indent, text);
}

/// A name, and a namespace where there is one.
fn place(namespace: Option<&Namespace>, name: &Name, indent: usize, text: &mut String) {
    line(("name", name.as_str()), indent, text);
    namespace.into_iter().for_each(|namespace| line(("namespace", namespace.as_str()), indent, text));
}

fn needed_by(by: &NeededBy, text: &mut String) {
    text.push_str("  - by:\n");
    claimant(&by.by, text);
    text.push_str(if by.through.is_empty() { "    through: []\n" } else { "    through:\n" });
    for step in &by.through {
        text.push_str("    - ");
        match step {
            Step::Field { interface, field: path } => {
                field(("field", path), 6, text);
                interface.iter().for_each(|name| line(("providerInterface", name.as_str()), 6, text));
            }
            Step::AccessRule(name) => field(("accessRule", name.as_str()), 6, text),
            Step::Rule(rule) => field(("rule", rule.as_str()), 6, text),
            Step::Template(template) => field(("template", template.as_str()), 6, text),
            Step::Data(key) => {
                text.push_str("data:\n");
                line(("group", key.kind.group.as_str()), 8, text);
                line(("kind", key.kind.kind.as_str()), 8, text);
                place(key.namespace.as_ref(), &key.name, 8, text);
            }
            Step::Opaque(words) => field(("opaque", words), 6, text),
        }
    }
}

/// Adds what an entry of a group of guest clusters names: a rule, a template, or an object.
fn entry_of_group(entry: &Entry, text: &mut String) {
    match entry {
        Entry::Rule { rule, object } => {
            if let Some(TakenObject { namespace, name }) = object {
                text.push_str("        object:\n");
                place(namespace.as_ref(), name, 10, text);
            }
            line(("rule", rule.as_str()), 8, text);
        }
        Entry::Template(name) => line(("template", name.as_str()), 8, text),
        Entry::Object(ObjectKey { kind, namespace, name, .. }) => {
            line(("group", kind.group.as_str()), 8, text);
            line(("kind", kind.kind.as_str()), 8, text);
            place(namespace.as_ref(), name, 8, text);
        }
    }
}

/// Adds the fields of a claimant, each kind with its own.
fn claimant(by: &Claimant, text: &mut String) {
    let mut field = |name, value: &str| line((name, value), 6, text);
    let (kind, namespace) = (by.kind(), by.namespace().as_str());
    match by {
        Claimant::Other { written, .. } if !written.is_empty() => {
            for line in written.lines() {
                if !line.is_empty() {
                    text.push_str("      ");
                    text.push_str(line);
                }
                text.push('\n');
            }
        }
        Claimant::Cluster { name, .. }
        | Claimant::ResourceSet { name, .. }
        | Claimant::Credential { name, .. }
        | Claimant::Other { name, .. } => {
            field("kind", kind);
            field("name", name.as_str());
            field("namespace", namespace);
        }
        Claimant::Guests { group, entry, .. } => {
            if let Some(entry) = entry {
                text.push_str("      entry:\n");
                entry_of_group(entry, text);
            }
            let mut field = |name, value: &str| line((name, value), 6, text);
            field("group", group.as_str());
            field("kind", kind);
            field("namespace", namespace);
        }
        Claimant::Template { template, .. } => {
            field("kind", kind);
            field("namespace", namespace);
            field("template", template.as_str());
        }
        Claimant::SyncRule { rule, object, .. } => {
            field("kind", kind);
            field("namespace", namespace);
            if let Some(object) = object {
                text.push_str("      object:\n");
                line(("name", object.as_str()), 8, text);
            }
            line(("rule", rule.as_str()), 6, text);
        }
    }
}

#[cfg(test)]
mod tests;
