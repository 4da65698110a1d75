//! Cluster API identity kinds: what is known of each without asking a cluster.
//!
//! One file per provider says scope, versions, fields, what cannot change and which namespaces an
//! identity admits, and in which fields the objects behind a [Cluster](cluster) name identities and Secrets. Read from the providers' sources and CRDs. What a region's API would reject is
//! [`validity`](crate::validity)'s. This module looks at one body at a time: it follows no reference and knows
//! nothing of objects and Credentials.

mod allowed;
pub mod aws;
pub mod azure;
pub mod cluster;
mod gcp;
mod hetzner;
mod kubevirt;
pub mod naming;
mod nutanix;
pub mod oci;
pub mod openstack;
mod others;
mod proxmox;
pub mod resource_set;
pub mod rules;
mod secrets;
pub mod shape;
mod slip;
pub mod tenancy;
pub mod vsphere;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

pub use self::rules::{Conditional, Entries, GROUP, KeptSession, KindRules, Path, Served};
use self::shape::Shape;
pub use self::slip::{Slip, slip};
pub use self::tenancy::{Admits, Tenancy};
use crate::finding::{Code, Fault};
use crate::name::{GroupKind, Namespace, Version};
use crate::nearest::nearest;
use crate::node::Node;
use crate::release::Release;
use crate::selector::NAME_LABEL;

/// Whether an object needs one of its references.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Need {
    /// The object does not work without the reference: an absent field is a fault.
    Needed,
    /// An absent field is no reference; a present one counts.
    Optional,
    /// The provider ignores the field, whatever it says.
    Unused,
}

/// The namespace of the controller that reads the Secrets which identities of a kind name, as clusterctl installs it;
/// none of a kind whose objects say the namespace themselves, or name no Secret.
pub fn controller_namespace(kind: &GroupKind) -> Option<&'static str> {
    let all = [(&aws::STATIC, aws::CONTROLLER_NAMESPACE), (&vsphere::IDENTITY, vsphere::CONTROLLER_NAMESPACE)];
    all.into_iter().find(|(rules, _)| kind.is(rules.group, rules.kind)).map(|(_, namespace)| namespace)
}

/// The namespaces in which clusterctl installs the controllers of providers that have identities.
pub fn controller_namespaces() -> impl Iterator<Item = &'static str> {
    let own = [aws::CONTROLLER_NAMESPACE, vsphere::CONTROLLER_NAMESPACE];
    own.into_iter().chain(["capz-system", "capo-system", "cluster-api-provider-oci-system"])
}

/// The rules of every built-in identity kind.
pub fn all() -> impl Iterator<Item = &'static KindRules> {
    let aws: [&'static KindRules; 3] = [&aws::STATIC, &aws::ROLE, &aws::CONTROLLER];
    aws.into_iter().chain([&azure::IDENTITY, &oci::IDENTITY, &openstack::IDENTITY, &vsphere::IDENTITY])
}

/// The rules of a built-in identity kind.
pub fn rules(kind: &GroupKind) -> Option<&'static KindRules> {
    if kind.group != GROUP {
        return None;
    }
    all().find(|rules| kind.kind == rules.kind)
}

/// Whether regions of a release serve a version; without a release, whether any does.
pub fn served(rules: &KindRules, version: &Version, release: Option<Release>) -> bool {
    rules
        .versions
        .iter()
        .any(|served| *version == served.version && release.is_none_or(|release| release >= served.since))
}

/// Whether an object needs the reference whose name or namespace stands at `path`.
///
/// `body` is the object's body. A path that is not known is an optional reference.
pub fn need(rules: &KindRules, body: &Node, path: &[&str]) -> Need {
    if let Some(condition) = rules.conditional.iter().find(|condition| path.starts_with(condition.reference)) {
        let given = body.str_at(condition.given).unwrap_or_default();
        if !condition.values.contains(&given) {
            return Need::Unused;
        }
        let otherwise = condition.unless.is_some_and(|field| body.at(field).is_some());
        return if otherwise { Need::Optional } else { Need::Needed };
    }
    if rules.also_required.iter().any(|required| path.starts_with(required)) || required_by_schema(rules, path) {
        return Need::Needed;
    }
    Need::Optional
}

/// The entries that the provider of an identity reads of the Secret that a field refers to, such as `spec.secretRef.name`.
pub fn entries(rules: &KindRules, body: &Node, field: &str) -> &'static [&'static str] {
    let kind = body.str_at(&["spec", "type"]).unwrap_or_default();
    let is_meant = |entries: &&Entries| {
        let path = entries.reference.join(".");
        let is_field = field.strip_prefix(&*path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        is_field && (entries.types.is_empty() || entries.types.contains(&kind))
    };
    rules.entries.iter().find(is_meant).map(|entries| entries.names).unwrap_or_default()
}

/// Whether an entry of a Secret is no secret by its nature, by the names of all entries that have a value: a Secret with
/// everything that a provider's identity reads is taken for such a one, whatever refers to it.
pub fn is_open_entry(name: &str, names: &BTreeSet<&str>) -> bool {
    let rows = all().flat_map(|rules| rules.entries);
    rows.filter(|row| row.open.contains(&name)).any(|row| row.names.iter().all(|name| names.contains(name)))
}

/// The path that was probably meant by one that leads to no field of a kind.
///
/// A field that is near to none may be one that a newer version of the provider has.
pub fn mistyped_path(rules: &KindRules, path: &[&str]) -> Option<String> {
    let (&"spec", keys) = path.split_first()? else { return None };
    let (mut fields, mut meant) = (rules.spec, String::from("spec"));
    let mut wrong = false;
    for key in keys {
        let names = fields.iter().map(|field| field.name);
        let name = nearest(key, names)?;
        wrong |= name != *key;
        let field = fields.iter().find(|field| field.name == name)?;
        meant.push('.');
        meant.push_str(name);
        fields = if let Shape::Map(inner) = &field.shape { inner } else { &[] };
    }
    wrong.then_some(meant)
}

/// The fields of `spec` in which identities of a kind name a Secret together with its namespace.
pub fn named_secrets(rules: &KindRules) -> impl Iterator<Item = &'static str> {
    let is_reference = |field: &&shape::Field| {
        let Shape::Map(inner) = field.shape else { return false };
        inner.iter().map(|field| field.name).eq(["name", "namespace"])
    };
    rules.spec.iter().filter(is_reference).map(|field| field.name)
}

fn required_by_schema(rules: &KindRules, path: &[&str]) -> bool {
    let Some((&"spec", keys)) = path.split_first() else { return false };
    let mut fields = rules.spec;
    keys.iter().all(|key| {
        let Some(field) = fields.iter().find(|field| field.name == *key) else { return false };
        fields = if let Shape::Map(inner) = &field.shape { inner } else { &[] };
        field.required
    })
}

/// The immutable fields in which the new object differs from the published one; both arguments are bodies.
pub fn immutable_changes(rules: &KindRules, published: &Node, new: &Node) -> Vec<Fault> {
    let changed = rules.immutable.iter().filter(|path| !same(published.at(path), new.at(path)));
    changed
        .map(|path| {
            let message = format!("{} of {} cannot change once the object exists", path.join("."), rules.kind);
            let help = "Make an identity under a new name and move the Credential to it.";
            Fault::new(Code::ImmutableField, message, help)
        })
        .collect()
}

/// Whether two fields are equal; `null` and absent count as the same.
fn same(a: Option<&Node>, b: Option<&Node>) -> bool {
    let nothing = |node: Option<&Node>| node.is_none_or(|node| matches!(node, Node::Null));
    match (a, b) {
        (Some(a @ Node::Map(_)), Some(b @ Node::Map(_))) => {
            let keys = a.entries().iter().chain(b.entries()).map(|(key, _)| key);
            keys.into_iter().all(|key| same(a.get(key), b.get(key)))
        }
        (Some(a), Some(b)) => a == b,
        (a, b) => nothing(a) && nothing(b),
    }
}

/// Whether an identity admits a namespace, as its provider's controller would decide.
///
/// `spec` is the identity's; `labels` are the namespace's on the region as configured, `None` where
/// nothing is configured. Absent and empty mean different things to every provider.
pub fn admits(
    tenancy: Tenancy,
    spec: Option<&Node>,
    namespace: &Namespace,
    labels: Option<&BTreeMap<String, String>>,
) -> Admits {
    match tenancy {
        Tenancy::None => Admits::No,
        Tenancy::All => Admits::Yes,
        Tenancy::Aws => aws::admits(spec, namespace, labels),
        Tenancy::Azure => azure::admits(spec, namespace, labels),
        Tenancy::Vsphere => vsphere::admits(spec, namespace, labels),
        Tenancy::Openstack => openstack::admits(spec, namespace, labels),
    }
}

/// Returns true if an identity admits every namespace that there is or will be and lists none; `spec` is the identity's.
pub fn admits_everybody(tenancy: Tenancy, spec: Option<&Node>) -> bool {
    admits_the_rest(tenancy, spec) && !is_listed(spec)
}

/// Returns true if an identity admits every namespace that there is or will be, beside those that it lists.
pub fn admits_the_rest(tenancy: Tenancy, spec: Option<&Node>) -> bool {
    // A selector with any requirement leaves somebody out, though perhaps nobody who is there now; but every namespace
    // has its name as a label, which is how pouch itself publishes what is open to all.
    let is_every = |node: &Node| {
        let text = |field: &str| node.str_at(&[field]);
        text("key") == Some(NAME_LABEL) && text("operator") == Some("Exists")
    };
    let is_free = |path: &[&str]| {
        let selector = spec.and_then(|spec| spec.at(path)).map(Node::entries).unwrap_or_default();
        !selector.iter().any(|(key, node)| match &**key {
            "matchLabels" => !node.entries().is_empty(),
            "matchExpressions" => node.items().iter().any(|item| !is_every(item)),
            _ => false,
        })
    };
    // No namespace has this name, and no list has it either.
    let longest = listed(spec).iter().filter_map(Node::as_str).map(str::len).max().unwrap_or_default();
    let any = admits(tenancy, spec, &Namespace::from("*".repeat(longest.saturating_add(1)).as_str()), None);
    matches!(any, Admits::Yes) && is_free(&["allowedNamespaces", "selector"]) && is_free(&["namespaceSelector"])
}

/// Whether an identity of a kind admits every namespace by an `allowedNamespaces` that is empty, or holds nothing but
/// empty maps, and another spelling could stand there.
///
/// Of a kind whose `spec` cannot change, what stands there stays.
pub fn is_open_by_an_empty_map(kind: &GroupKind, tenancy: Tenancy, spec: Option<&Node>) -> bool {
    let has_field = tenancy
        .form()
        .is_some_and(|form| !form.is_selector() && spec.and_then(|spec| spec.at(&[form.field])).is_some());
    let is_fixed = rules(kind).is_some_and(|rules| rules.immutable.contains(&&["spec"][..]));
    has_field && !is_fixed && admits_everybody(tenancy, spec)
}

/// Whether an identity lists the namespaces that it admits, beside what its selector admits.
fn is_listed(spec: Option<&Node>) -> bool {
    !listed(spec).is_empty()
}

/// The list of namespaces that may use an identity, as it stands.
pub fn listed(spec: Option<&Node>) -> &[Node] {
    spec.and_then(|spec| spec.at(&["allowedNamespaces", "list"])).map(Node::items).unwrap_or_default()
}

#[cfg(test)]
mod tests;
