//! Sanitising: a published object is rebuilt from an allow-list.
//!
//! Nothing is stripped, because nothing is copied in the first place: a field that is not named here
//! cannot get out, whatever a future API or a careless tool puts beside it. That is how copies of
//! Secrets in annotations, ownership marks and status stay behind. Which objects go, and where they
//! land, was decided before; how the text looks is the emitter's business.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::style::{MANAGED_BY, MANAGED_BY_LABEL, Marks, Style};
use crate::capi;
use crate::capi::Tenancy;
use crate::claim::{Edit, made};
use crate::cleartext::own::OwnValues;
use crate::k0rdent::MANAGED_LABEL;
use crate::kinds::{COMPONENT_LABEL, OF_KCM};
use crate::name::{GroupKind, ObjectKey};
use crate::node::{Key, Node};
pub(crate) use crate::object::steering::steers;
use crate::object::{Object, TEMPLATE_ANNOTATION};
use crate::sync_rule::Made;
use crate::sync_rule::mutation::Changes;
use crate::yaml::emit::{Tree, TreeMap};

/// The document of `object` as it is published at `lands`, with `edits` made.
///
/// The labels and annotations are those that admission kept, without any that would steer a consumer of the bundle or hold
/// a value of the Secret, and those that pouch adds. A Secret's values are in the document, in base64: it goes to be sealed, nowhere else.
/// `tenancy` says whose meaning of `allowedNamespaces` the kind follows.
pub fn sanitise<'a>(
    object: &'a Object,
    lands: &'a ObjectKey,
    edits: &'a [Edit],
    marks: Marks,
    tenancy: Option<Tenancy>,
) -> Tree<'a> {
    let made = made(edits);
    let body = made.and_then(|made| made.body.as_ref()).unwrap_or(&object.body);
    let mut document = TreeMap::with_capacity(5);
    if lands.kind.is_secret() {
        document.insert("type", Tree::text(object.body.str_at(&["type"]).unwrap_or("Opaque")));
        document.insert("data", secret_data(object));
    } else {
        let of = |field| body.at(&[field]).map(|node| (field, node));
        if lands.kind.is_config_map() {
            for (field, node) in ["data", "binaryData"].into_iter().filter_map(of) {
                document.insert(field, Tree::of(node));
            }
        } else if let Some((field, node)) = of("spec") {
            document.insert(field, without_nulls(node));
        }
        for edit in edits {
            replace(&mut document, edit);
        }
        if tenancy.is_some_and(|tenancy| capi::is_open_by_an_empty_map(&lands.kind, tenancy, body.at(&["spec"])))
            && let Some(Tree::Map(spec)) = document.get_mut("spec")
        {
            spec.insert("allowedNamespaces", every_namespace());
        }
    }
    let open = document.values().any(holds_variable);
    let version = made.map_or(&object.version, |made| &made.version);
    document.insert("apiVersion", Tree::text(lands.kind.api_version(version)));
    document.insert("kind", Tree::text(lands.kind.kind.as_str()));
    document.insert("metadata", metadata(object, lands, (made, marks), open));
    Tree::Map(document)
}

/// What stands open in the sealed file of a Secret and can differ: its type, and its metadata with labels and annotations.
pub(crate) fn open_part<'a>(object: &'a Object, lands: &'a ObjectKey, edits: &'a [Edit], marks: Marks) -> Tree<'a> {
    let kind = Tree::text(object.body.str_at(&["type"]).unwrap_or("Opaque"));
    let open = holds_variable(&kind);
    Tree::map([("metadata", metadata(object, lands, (made(edits), marks), open)), ("type", kind)])
}

/// What a `spec` says: a null field is as if it was not there, to pouch as to an API server, whose CRD may refuse it.
///
/// In a list nothing can be left out; such an object is not published (`validity`).
fn without_nulls(node: &Node) -> Tree<'_> {
    match node {
        Node::List(items) => Tree::List(items.iter().map(without_nulls).collect()),
        Node::Map(entries) => {
            let present = entries.iter().filter(|(_, value)| !matches!(value, Node::Null));
            Tree::map(present.map(|(key, value)| (&**key, without_nulls(value))))
        }
        other => Tree::of(other),
    }
}

/// `allowedNamespaces` that admits everybody to every provider that has the field.
///
/// Most write that as an empty map. Server-side apply cannot set one where the field held something before: it takes
/// away what the map held, leaves `null`, which a provider reads as nobody or its CRD refuses, and merges nothing
/// over it. A selector that every namespace fits has no empty map in it, and means the same to all of them; the API
/// server puts this label on every namespace.
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name>
fn every_namespace<'a>() -> Tree<'a> {
    let every = [("key", Tree::text("kubernetes.io/metadata.name")), ("operator", Tree::text("Exists"))];
    Tree::map([("selector", Tree::map([("matchExpressions", Tree::List(vec![Tree::map(every)]))]))])
}

fn secret_data(object: &Object) -> Tree<'_> {
    let entries = object.payload.iter().flat_map(|payload| payload.entries());
    Tree::map(entries.map(|(name, bytes)| (&**name, Tree::Secret(bytes.to_base64()))))
}

fn metadata<'a>(
    object: &'a Object,
    lands: &'a ObjectKey,
    (made, marks): (Option<&'a Made>, Marks),
    open: bool,
) -> Tree<'a> {
    // Only `data` is sealed: what holds a value of it stays behind, wherever the text comes from.
    let own = OwnValues::of(object);
    let kept = |pairs: &'a [(Key, Box<str>)], changes: Option<&'a Changes>| -> TreeMap<'a> {
        // What a rule copies is no template of a Credential, and Sveltos on the region would read it as one.
        let is_template = |key: &str| made.is_none() && lands.kind.is_config_map() && key == TEMPLATE_ANNOTATION;
        let passes = |key: &str| !steers(key) || is_template(key);
        let pairs = pairs.iter().filter(|(key, _)| passes(key)).map(|(key, value)| (key, &**value));
        let is_open = |(key, value): &(&'a str, &'a str)| !own.stand_in(key, value);
        let text = |(key, value): (&'a str, &'a str)| (Cow::Borrowed(key), Tree::text(value));
        match changes {
            None => pairs.map(|(key, value)| (&**key, value)).filter(is_open).map(text).collect(),
            Some(changes) => Made::changed(changes, pairs).into_iter().filter(is_open).map(text).collect(),
        }
    };
    let mut labels = kept(&object.labels, made.map(|made| &made.labels));
    labels.insert(MANAGED_BY_LABEL, Tree::text(MANAGED_BY));
    labels.insert(MANAGED_LABEL, Tree::text("false"));
    if marks.backup && object.backed_up {
        labels.insert(COMPONENT_LABEL, Tree::text(OF_KCM));
    }
    let mut annotations = kept(&object.annotations, made.map(|made| &made.annotations));
    match marks.style {
        Style::Plain => {}
        Style::Flux => {
            let open = open || annotations.values().chain(labels.values()).any(holds_variable);
            for_flux(&lands.kind, open).into_iter().for_each(|(key, value)| annotations.insert(key, value));
            if object.create_only {
                annotations.insert(CREATE_ONLY.0, Tree::text(CREATE_ONLY.1));
            }
        }
        Style::ArgoCd => for_argocd(&lands.kind).into_iter().for_each(|(key, value)| annotations.insert(key, value)),
    }
    let annotations = (!annotations.is_empty()).then_some(("annotations", Tree::Map(annotations)));
    let own = [("labels", Tree::Map(labels)), ("name", Tree::text(lands.name.as_str()))];
    let namespace = lands.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
    Tree::map(annotations.into_iter().chain(own).chain(namespace))
}

/// The annotation by which Flux leaves alone what is there already.
pub(crate) const CREATE_ONLY: (&str, &str) = ("kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent");

fn for_flux<'a>(kind: &GroupKind, holds_variable: bool) -> Vec<(Cow<'a, str>, Tree<'a>)> {
    let mut added = Vec::new();
    if kind.is_secret() {
        // A Secret's type is immutable, and a region may hold one of another type that pouch never published: with this,
        // Flux makes it anew instead of stopping at it. What pouch published itself keeps its type (`validity`).
        added.push((Cow::Borrowed("kustomize.toolkit.fluxcd.io/force"), Tree::text("enabled")));
    }
    if holds_variable {
        // pouch writes no postBuild. Somebody who adds one would have `${x}` replaced by nothing.
        added.push((Cow::Borrowed("kustomize.toolkit.fluxcd.io/substitute"), Tree::text("disabled")));
    }
    added
}

fn for_argocd<'a>(kind: &GroupKind) -> Vec<(Cow<'a, str>, Tree<'a>)> {
    const OPTIONS: Cow<'static, str> = Cow::Borrowed("argocd.argoproj.io/sync-options");
    const WAVE: Cow<'static, str> = Cow::Borrowed("argocd.argoproj.io/sync-wave");
    let core = || (WAVE, Tree::text("-2"));
    if kind.is_secret() {
        // Client-side apply would copy the whole cleartext into an annotation on the region.
        vec![(OPTIONS, Tree::text("ServerSideApply=true")), core()]
    } else if kind.is_config_map() {
        vec![core()]
    } else {
        // A CRD that the region lacks must not fail the dry run of everything else. Wave 0.
        vec![(OPTIONS, Tree::text("SkipDryRunOnMissingResource=true"))]
    }
}

/// All annotations that steer a consumer on an object of this kind; those of Namespaces are in
/// [`namespace`](super::namespace).
pub(crate) fn steering(kind: &GroupKind, style: Style, holds_variable: bool) -> TreeMap<'static> {
    match style {
        Style::Plain => TreeMap::new(),
        Style::Flux => for_flux(kind, holds_variable).into_iter().collect(),
        Style::ArgoCd => for_argocd(kind).into_iter().collect(),
    }
}

/// Replaces the text at the edit's path; where the path leads nowhere, nothing happens.
fn replace(document: &mut TreeMap<'_>, edit: &Edit) {
    let Edit::Text { path, text } = edit else { return };
    let Some((last, parents)) = path.split_last() else { return };
    let mut map = document;
    for key in parents {
        let Some(Tree::Map(inner)) = map.get_mut(key.as_str()) else { return };
        map = inner;
    }
    if let Some(slot) = map.get_mut(last.as_str()) {
        *slot = Tree::text(text.clone());
    }
}

/// Whether some text has a variable of Flux's post-build substitution; base64 never has one.
fn holds_variable(tree: &Tree<'_>) -> bool {
    let is_variable = |text: &str| text.contains("${");
    match tree {
        Tree::Text(text) | Tree::Plain(text) => is_variable(text),
        Tree::List(items) => items.iter().any(holds_variable),
        Tree::Map(entries) => entries.iter().any(|(key, value)| is_variable(key) || holds_variable(value)),
        Tree::Null | Tree::Bool(_) | Tree::Int(_) | Tree::Uint(_) | Tree::Float(_) | Tree::Secret(_) => false,
    }
}

#[cfg(test)]
mod tests;
