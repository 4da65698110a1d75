//! Documents that are probably meant to be what they do not say they are (DESIGN §2.6: mistyped is not absent).
//!
//! A document whose kind is nearly one that pouch reads becomes the object that was meant, with a fault: so it breaks
//! what needs it and lets nothing look as if it were gone. Where it cannot be told which object was meant, [`Meant`] says
//! which ones it could be.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;

use super::pattern::Pattern;
use super::reason::Reason;
use crate::capi;
use crate::capi::cluster::{self, CLUSTERS, names_cluster};
use crate::capi::naming::CONTROL_PLANES;
use crate::capi::resource_set::ADDONS;
use crate::config::Fleet;
use crate::finding::{Code, Fault, Origin};
use crate::kinds::{self, K0RDENT, KUBENSYNC, OLD_K0RDENT, REGISTRY, is_definition, is_listed};
use crate::name::{GroupKind, Namespace, ObjectKey, is_template, split_api_version};
use crate::nearest::{edits, nearest};
use crate::node::Node;
use crate::object::{Object, kind_of, meant_version, unrendered};

/// What is said of each kind that some document has, so that it is worked out once however many have it.
#[derive(Default)]
pub(super) struct Judged(BTreeMap<(Box<str>, Box<str>, bool), Option<Mistyped>>);

impl Judged {
    /// Judges the kinds of documents; `declared` are the kinds that the sources themselves define.
    pub(super) fn of(fleet: &Fleet, declared: &BTreeSet<GroupKind>, kinds: BTreeSet<KindWords<'_>>) -> Self {
        let judge = |(api_version, kind, has_items): KindWords<'_>| {
            let judged = check(fleet, declared, (api_version, kind, has_items));
            ((api_version.into(), kind.into(), has_items), judged)
        };
        Self(kinds.into_iter().map(judge).collect())
    }

    /// What is wrong with the kind of a document, if it is not a kind that somebody knows.
    pub(super) fn get(&self, document: &Node) -> Option<Mistyped> {
        let (api_version, kind, has_items) = kind_words(document);
        self.0.get(&(api_version.into(), kind.into(), has_items)).cloned().flatten()
    }
}

/// What of a document says which kind it is: `apiVersion`, `kind`, and whether it has items.
pub type KindWords<'d> = (&'d str, &'d str, bool);

pub(super) fn kind_words(document: &Node) -> KindWords<'_> {
    let text = |field| document.str_at(&[field]).unwrap_or_default();
    (text("apiVersion"), text("kind"), document.get("items").is_some())
}

/// What is wrong with the kind of a document, and which kind was probably meant.
#[derive(Clone)]
pub(super) struct Mistyped {
    pub(super) meant: Option<GroupKind>,
    pub(super) fault: Fault,
}

/// What begins a template in the words of Helm.
const HELM: &str = "{{";

/// Whether a text that an object of a kind is called by is an unrendered template.
///
/// Flux fills in `${…}` on the cluster, so a file may well have it; but where clusterctl was to fill it in, the names of
/// Clusters and of what stands behind them are missing, and what those have published must stay.
pub(super) fn is_unrendered(kind: &GroupKind, text: &str) -> bool {
    text.contains(HELM) || (kinds::is_by_configuration(kind) && is_template(text))
}

/// A text by which an object of a kind is called, or of any kind, as what it could become.
pub(super) fn pattern(kind: Option<&GroupKind>, text: &str) -> Pattern {
    Pattern::of(text, kind.is_some_and(kinds::is_by_configuration))
}

/// Whether the kind of a document that no source has is nearly one that somebody knows; and which, if that can be told.
pub fn nearly(fleet: &Fleet, declared: &BTreeSet<GroupKind>, document: &Node) -> Option<Option<GroupKind>> {
    check(fleet, declared, kind_words(document)).map(|mistyped| mistyped.meant)
}

/// Returns true if the words of a kind are nearly those of a known one.
pub(super) fn is_near(fleet: &Fleet, declared: &BTreeSet<GroupKind>, words: KindWords<'_>) -> bool {
    check(fleet, declared, words).is_some()
}

fn check(
    fleet: &Fleet,
    declared: &BTreeSet<GroupKind>,
    (api_version, kind, has_items): (&str, &str, bool),
) -> Option<Mistyped> {
    let (group, _) = split_api_version(api_version);
    let kind = GroupKind::new(group, kind);
    let is_known = |kind: &GroupKind| {
        fleet.reads(kind) || kinds::known(kind).is_some() || is_definition(kind) || declared.contains(kind)
    };
    if is_known(&kind) {
        return None;
    }
    if is_template(api_version) || is_template(kind.kind.as_str()) {
        let found = of_template(fleet, api_version, &kind);
        let is_meant =
            |meant: &GroupKind| is_unrendered(meant, api_version) || is_unrendered(meant, kind.kind.as_str());
        let is_known = found.meant.as_ref().is_some_and(is_meant);
        if is_known || [api_version, kind.kind.as_str()].iter().any(|text| text.contains(HELM)) {
            return Some(found);
        }
    }
    // A second slash would be part of the version.
    let (group, _) = api_version.rsplit_once('/').unwrap_or_default();
    // No other group of Cluster API has such a kind.
    let is_set = edits(kind.kind.as_str(), RESOURCE_SET).is_some() && group.ends_with(SIGS);
    if is_set && fleet.names_resource_sets() {
        let meant = GroupKind::new(ADDONS, RESOURCE_SET);
        return Some(mistyped(Some(meant.clone()), &kind, &meant_text(&kind, &meant)));
    }
    // Others have ManagedResources too: Gardener.
    let meant = kinds::managed_resource();
    let is_meant = || {
        let is_near = |label: &str| label.contains("kubensync") || edits(label, "kubensync").is_some();
        let is_its = || kind.kind == meant.kind && group.split('.').any(|label| edits(label, "automation").is_some());
        edits(kind.kind.as_str(), meant.kind.as_str()).is_some() && (group.split('.').any(is_near) || is_its())
    };
    if fleet.names_templates() && is_meant() {
        return Some(mistyped(Some(meant.clone()), &kind, &meant_text(&kind, &meant)));
    }
    if let Some(meant) = of_registry(fleet, group, &kind) {
        return Some(mistyped(Some(meant.clone()), &kind, &meant_text(&kind, &meant)));
    }
    of_k0rdent(group, &kind).unwrap_or_else(|| {
        if has_items && group.is_empty() && edits(kind.kind.as_str(), "List").is_some() {
            return Some(mistyped(None, &kind, "List"));
        }
        // Of kinds that no stage reads, none was meant.
        let is_meant = |known: &&kinds::Known| match known.group {
            CLUSTERS => fleet.names_clusters() || (known.kind == "Cluster" && fleet.looks_for_guests()),
            ADDONS => fleet.names_resource_sets(),
            _ if kinds::is_of_sync_rules(&GroupKind::new(known.group, known.kind)) => fleet.names_sync_rules(),
            KUBENSYNC => fleet.names_templates(),
            _ => true,
        };
        let core = kinds::all().filter(|known| known.group != K0RDENT).filter(is_meant);
        let known = core.map(|known| (known.group, known.kind));
        let known = known.chain(capi::all().map(|rules| (rules.group, rules.kind)));
        // Nothing refers to these, so nothing else notices that one is not there.
        let unnamed = cluster::unnamed_of_machines().filter(|_| fleet.names_clusters());
        let known = known.chain(unnamed);
        let declared = fleet.kinds.keys().map(|kind| (kind.group.as_str(), kind.kind.as_str()));
        let near = known.chain(declared).filter_map(|(near_group, near_kind)| {
            let between = group_edits(api_version, group, near_group)?;
            Some((between + edits(kind.kind.as_str(), near_kind)?, near_group, near_kind))
        });
        let (_, group, name) = near.min()?;
        let meant = GroupKind::new(group, name);
        Some(mistyped(Some(meant.clone()), &kind, &meant_text(&kind, &meant)))
    })
}

/// The kind of the cluster registry that was meant, where a region names rules. No other group has ResourceSyncRules; others
/// may have a ClusterFeature.
fn of_registry(fleet: &Fleet, group: &str, kind: &GroupKind) -> Option<GroupKind> {
    let (rule, feature) = (kinds::sync_rule(), kinds::cluster_feature());
    let is_near = |known: &GroupKind| edits(kind.kind.as_str(), known.kind.as_str()).is_some();
    let is_of_registry = || ["cisco", "registry"].iter().any(|word| group.contains(word));
    let meant = match () {
        () if !fleet.names_sync_rules() => return None,
        () if is_near(&rule) => rule,
        () if is_near(&feature) && is_of_registry() => feature,
        () => return None,
    };
    Some(meant)
}

const RESOURCE_SET: &str = "ClusterResourceSet";

/// How the groups of Cluster API end.
const SIGS: &str = "x-k8s.io";

/// How far a group is from the one that could be meant; none if it is too far.
///
/// The core group has no name: what has one of two letters, or lost its slash, is near it. Nothing in the core group
/// has the name of a custom kind, so one that lost its group is as near.
fn group_edits(api_version: &str, group: &str, near: &str) -> Option<usize> {
    match (group.is_empty(), near.is_empty()) {
        (true, true) => Some(0),
        (true, false) => Some(1),
        (false, true) => edits(api_version, "v1").or_else(|| (group.len() <= 2).then_some(group.len())),
        (false, false) => edits(group, near),
    }
}

/// Judges the kinds of k0rdent's groups, which are all known; none if the group is another one.
fn of_k0rdent(group: &str, kind: &GroupKind) -> Option<Option<Mistyped>> {
    let name = kind.kind.as_str();
    let is_lost = group.is_empty() && kinds::all().any(|known| known.group == K0RDENT && known.kind == name);
    let between = if group == OLD_K0RDENT || is_lost { Some(1) } else { edits(group, K0RDENT) }?;
    let exact = kinds::of_k0rdent().find(|known| *known == name);
    let near = exact.or_else(|| nearest(name, kinds::of_k0rdent()));
    let meant = near.map(|near| GroupKind::new(K0RDENT, near));
    let ours = meant.clone().filter(kinds::is_read);
    Some(match (exact, near, meant) {
        (Some(_), ..) if between == 0 => None,
        // The old group had these kinds, and nothing is read of them.
        (Some(_), ..) if group == OLD_K0RDENT && ours.is_none() => None,
        (_, Some(_), Some(meant)) => Some(mistyped(ours, kind, &meant_text(kind, &meant))),
        _ if between == 0 || group == OLD_K0RDENT => {
            let message = format!("k0rdent is not known to have a kind {}", kind.kind);
            let help = "Correct the kind. If a newer release of k0rdent has it, set `findings: {unknown-kind: info}`.";
            Some(Mistyped { meant: None, fault: Fault::new(Code::UnknownKind, message, help) })
        }
        _ => Some(mistyped(None, kind, K0RDENT)),
    })
}

/// What to write instead: the part in which the two differ, or the whole.
fn meant_text(said: &GroupKind, meant: &GroupKind) -> String {
    match (said.group == meant.group, said.kind == meant.kind) {
        (true, _) => meant.kind.as_str().to_owned(),
        (_, true) if !meant.group.as_str().is_empty() => meant.group.as_str().to_owned(),
        (_, true) => "`apiVersion: v1`".to_owned(),
        _ => meant.qualified(),
    }
}

fn mistyped(meant: Option<GroupKind>, said: &GroupKind, text: &str) -> Mistyped {
    let group = if said.group == "" { "the core group" } else { said.group.as_str() };
    let message = format!("there is no kind {} in {group}, so the document is not read", said.kind);
    let help = format!("Did you mean {text}? Until this is corrected, what the document made is kept as published.");
    Mistyped { meant, fault: Fault::new(Code::Mistyped, message, help) }
}

fn of_template(fleet: &Fleet, api_version: &str, kind: &GroupKind) -> Mistyped {
    let reads = |group: &str| Some(GroupKind::new(group, kind.kind.as_str())).filter(|kind| fleet.reads(kind));
    let (group, _) = split_api_version(api_version);
    let meant = reads(group)
        .or_else(|| reads(""))
        .or_else(|| reads(K0RDENT))
        .or_else(|| reads(capi::GROUP))
        .or_else(|| reads(CLUSTERS))
        .or_else(|| reads(CONTROL_PLANES))
        .or_else(|| reads(ADDONS))
        .or_else(|| reads(REGISTRY))
        .or_else(|| reads(KUBENSYNC));
    let field = if is_template(api_version) { "apiVersion" } else { "kind" };
    Mistyped { meant, fault: unrendered(field) }
}

/// A copy of a document that says it is of another kind, in the version that it names.
pub(super) fn as_meant(document: &Node, meant: &GroupKind) -> Node {
    let api_version = document.str_at(&["apiVersion"]).unwrap_or_default();
    let version = meant_version(api_version.rsplit('/').next().unwrap_or_default(), meant);
    let api_version = meant.api_version(&version.into());
    document.with_text(&["apiVersion"], &api_version).with_text(&["kind"], meant.kind.as_str())
}

/// The words by which an object is looked for, if it is of a kind that is not looked for by its name.
pub(super) fn words_of(object: &Object) -> BTreeSet<Box<str>> {
    let texts = names_cluster(&object.key.kind).then(|| object.body.texts());
    texts.into_iter().flatten().map(Box::from).collect()
}

/// The objects that a document could be meant to be, although it cannot be told which one.
///
/// This is so where its kind, name or namespace is missing or an unrendered template. Such a document proves nothing
/// about those objects: they count as unread where they are not found.
pub struct Meant {
    kind: Option<GroupKind>,
    namespace: Option<Pattern>,
    name: Option<Pattern>,
    /// Texts among which the name of an object stands, where it does not stand where names do.
    words: BTreeSet<Box<str>>,
    /// Why those objects are unread.
    pub reason: Reason,
}

impl Meant {
    /// What a document could be meant to be; `kind` is the kind that was meant, where that is known.
    pub fn of(document: &Node, kind: Option<GroupKind>, origin: &Origin) -> Self {
        let part = |path: &[&str]| document.str_at(path).filter(|text| !text.is_empty());
        let said = kind_of(document);
        let is_whole = part(&["apiVersion"]).is_some() && part(&["kind"]).is_some();
        let kind = kind.or_else(|| is_whole.then_some(said.clone()));
        let mut words = BTreeSet::new();
        let is_maker = kind.as_ref().is_some_and(names_cluster);
        if is_maker {
            words.extend(document.texts().into_iter().map(Box::from));
        } else if part(&["metadata", "name"]).is_none() {
            // Values of Secrets are no names.
            const VALUES: [&str; 4] = ["data", "stringData", "spec", "status"];
            for (_, node) in document.entries().iter().filter(|(key, _)| !VALUES.contains(&&**key)) {
                words.extend(node.texts().into_iter().map(Box::from));
            }
        }
        let called = |field| Some(pattern(kind.as_ref(), part(&["metadata", field])?));
        Self {
            namespace: called("namespace"),
            name: called("name").filter(|_| !is_maker),
            kind,
            words,
            reason: Reason::of_document(origin),
        }
    }

    /// The same, of this namespace alone.
    pub(super) fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            kind: self.kind.clone(),
            namespace: Some(pattern(self.kind.as_ref(), namespace)),
            name: self.name.clone(),
            words: self.words.clone(),
            reason: self.reason.clone(),
        }
    }

    /// What an object could be whose name or namespace is an unrendered template.
    pub(super) fn by_key(object: &Object) -> Self {
        let why = format!("the template at {} may be meant to make it", object.origin);
        Self::keyed(&object.key, words_of(object), Reason::new(why, "Render the template."))
    }

    /// What an object could be that has a key, and these words if it is of a kind that is looked for by its words.
    pub(super) fn keyed(key: &ObjectKey, words: BTreeSet<Box<str>>, reason: Reason) -> Self {
        let ObjectKey { kind, namespace, name, .. } = key;
        Self {
            kind: Some(kind.clone()),
            namespace: namespace.as_ref().map(|namespace| pattern(Some(kind), namespace.as_str())),
            name: Some(pattern(Some(kind), name.as_str())).filter(|_| !names_cluster(kind)),
            words,
            reason,
        }
    }

    /// The kind, if it is known.
    pub(super) fn kind(&self) -> Option<&GroupKind> {
        self.kind.as_ref()
    }

    /// The namespace, which may be a template.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_ref().map(Pattern::as_str)
    }

    /// The name, which may be a template.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_ref().map(Pattern::as_str)
    }

    /// Texts among which the name stands, if the document has none where names stand.
    pub(super) fn words(&self) -> impl Iterator<Item = &Box<str>> {
        self.words.iter()
    }

    /// The same document as one that could be any object of its kind.
    pub(super) fn of_any_name(self) -> Self {
        Self { namespace: None, name: Some(pattern(None, "{{}}")), words: BTreeSet::new(), ..self }
    }

    /// Whether the document could be meant to be an object.
    ///
    /// Without any name it could be every object of a kind of which all objects are looked at: a Credential that lost
    /// its name is not gone. Of other kinds it could be only those whose names stand in it. What makes machines is
    /// looked for by the name of its Cluster.
    pub fn may_be(&self, key: &ObjectKey) -> bool {
        let name = key.name.as_str();
        let named = match &self.name {
            Some(pattern) => pattern.fits(name),
            None => {
                let is_any = is_listed(&key.kind) || kinds::is_by_configuration(&key.kind);
                (is_any && !names_cluster(&key.kind)) || self.words.contains(name)
            }
        };
        let in_place = |namespace: &Namespace| self.namespace.as_ref().is_none_or(|own| own.fits(namespace.as_str()));
        named && self.kind.as_ref().is_none_or(|own| *own == key.kind) && key.namespace.as_ref().is_none_or(in_place)
    }
}
