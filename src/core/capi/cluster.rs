//! Clusters of Cluster API: what a Cluster refers to, and where the objects behind it name an identity or a Secret.
//!
//! A Cluster names no identity itself. Its infrastructure object does, or its control plane; each provider's file says in
//! which fields, what an absent field means, and which namespace counts. Objects are looked at one at a time: nothing here
//! looks an object up, and nothing decides who may use what is named.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::naming::{CONTROL_PLANES, Choice, Choices, ClusterKind, Form, Naming, Within, Without};
use super::rules::{GROUP, Path};
use super::{aws, azure, gcp, hetzner, kubevirt, nutanix, oci, openstack, others, proxmox, rules, secrets, vsphere};
use crate::finding::{Code, Fault};
use crate::lenient::{Faults, quoted};
use crate::name::{
    GroupKind, Name, Namespace, Scope, Version, is_dns_label, is_dns_subdomain, is_template, split_api_version,
};
use crate::node::Node;

/// The API group of Clusters.
pub const CLUSTERS: &str = "cluster.x-k8s.io";

/// What ends the kind of a template.
const TEMPLATE: &str = "Template";

/// Every kind that is known.
pub fn kinds() -> impl Iterator<Item = &'static ClusterKind> {
    let with_identities = [aws::CLUSTERS, azure::CLUSTERS, oci::CLUSTERS, openstack::CLUSTERS, vsphere::CLUSTERS];
    let with_secrets =
        [gcp::CLUSTERS, hetzner::CLUSTERS, kubevirt::CLUSTERS, nutanix::CLUSTERS, proxmox::CLUSTERS, secrets::CLUSTERS];
    with_identities.into_iter().chain(with_secrets).chain([others::CLUSTERS]).flatten()
}

/// What is known of a kind that a Cluster refers to.
pub fn known(kind: &GroupKind) -> Option<&'static ClusterKind> {
    if kind.group != GROUP && kind.group != CONTROL_PLANES {
        return None;
    }
    kinds().find(|known| known.is(kind))
}

/// The kind that a ClusterClass makes of a template, if it is one of those.
pub fn of_template(template: &GroupKind) -> Option<&'static ClusterKind> {
    let kind = template.kind.as_str().strip_suffix(TEMPLATE)?;
    known(&GroupKind::new(template.group.as_str(), kind))
}

/// The kind of Clusters.
pub fn cluster_kind() -> GroupKind {
    GroupKind::new(CLUSTERS, "Cluster")
}

/// The kind of the classes that Clusters can be made from.
pub fn class_kind() -> GroupKind {
    GroupKind::new(CLUSTERS, "ClusterClass")
}

/// Whether a field of `spec` says something of what a Cluster names.
pub fn is_read_of_spec(field: &str) -> bool {
    let of_cluster = ["infrastructureRef", "controlPlaneRef", "topology"].contains(&field);
    of_cluster || kinds().flat_map(|kind| kind.names).any(|naming| naming.field.get(1) == Some(&field))
}

/// An object that a Cluster or a ClusterClass refers to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Referred {
    /// The field that names it.
    pub field: &'static str,
    /// Group and kind.
    pub kind: GroupKind,
    /// The name.
    pub name: Name,
}

/// What a Cluster refers to.
#[derive(PartialEq, Eq, Debug)]
pub struct ClusterSpec {
    /// Its infrastructure and its control plane, as far as it names them.
    pub refers_to: Vec<Referred>,
    /// Whether its infrastructure is among them.
    pub has_infrastructure: bool,
    /// The ClusterClass that it is made from: its namespace, if it says one, and its name.
    pub class: Option<(Option<Namespace>, Name)>,
}

/// The field of a Cluster that names its infrastructure.
pub const INFRASTRUCTURE: &str = "infrastructureRef";

/// The field of a ClusterClass with the template of the infrastructure.
pub const OF_INFRASTRUCTURE: &str = "infrastructure";

const CONTROL_PLANE: &str = "controlPlaneRef";

/// Reads a Cluster of any version.
///
/// # Errors
/// Where a reference has no kind, name or group, or one that the API server refuses; where a template is left in one.
pub fn read(body: &Node, own: &Namespace) -> Result<ClusterSpec, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidCluster);
    let mut templates = Vec::new();
    let mut refers_to = Vec::new();
    for field in [INFRASTRUCTURE, CONTROL_PLANE] {
        let Some(reference) = faults.at(body, "", &["spec", field]) else { continue };
        let at = format!("spec.{field}");
        refers_to.extend(referred(&mut faults, &mut templates, reference, &at, field));
        if let Some(namespace) = faults.text(reference, &at, &["namespace"]).filter(|said| *said != own.as_str()) {
            let message = format!("{at}.namespace is {}, and not the namespace of the Cluster", quoted(namespace));
            template_or(
                &mut faults,
                &mut templates,
                namespace,
                message,
                "Remove the field: Cluster API takes no other.",
            );
        }
    }
    let class = class(&mut faults, &mut templates, body);
    let has_infrastructure = refers_to.iter().any(|to| to.field == INFRASTRUCTURE);
    settle(faults, templates, ClusterSpec { refers_to, has_infrastructure, class })
}

fn class(faults: &mut Faults, templates: &mut Vec<Fault>, body: &Node) -> Option<(Option<Namespace>, Name)> {
    const AT: &str = "spec.topology";
    let topology = faults.at(body, "", &["spec", "topology"])?;
    // The newer form is a reference, the older one a name, with its namespace beside it in some releases.
    let by_reference = faults.text(topology, AT, &["classRef", "name"]);
    let name = match by_reference {
        Some(name) => name,
        None => faults.text(topology, AT, &["class"])?,
    };
    let said = faults.text(topology, AT, &["classRef", "namespace"]);
    let namespace = said.or_else(|| faults.text(topology, AT, &["classNamespace"]));
    let name = named(faults, templates, name, "the name of spec.topology's class", is_dns_subdomain)?;
    let namespace = match namespace {
        Some(text) => Some(named(faults, templates, text, "the namespace of spec.topology's class", is_dns_label)?),
        None => None,
    };
    Some((namespace.map(Namespace::from), name.into()))
}

/// A reference of the older form, with `apiVersion`, or of the newer one, with `apiGroup`.
fn referred(
    faults: &mut Faults,
    templates: &mut Vec<Fault>,
    reference: &Node,
    at: &str,
    field: &'static str,
) -> Option<Referred> {
    let of_version = faults.text(reference, at, &["apiVersion"]).map(|text| split_api_version(text).0);
    let group = faults.text(reference, at, &["apiGroup"]).or(of_version);
    if group.is_none() {
        faults.add(format!("{at} has neither apiGroup nor apiVersion"), "Write the API group of the object.");
    }
    let kind = faults.needed(reference, at, &["kind"]);
    let name = faults.needed(reference, at, &["name"]);
    let group = named(faults, templates, group?, &format!("the group of {at}"), is_dns_subdomain);
    let kind = named(faults, templates, kind?, &format!("{at}.kind"), is_word);
    let name = named(faults, templates, name?, &format!("{at}.name"), is_dns_subdomain);
    Some(Referred { field, kind: GroupKind::new(group?, kind?), name: name?.into() })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 63 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A text that must be a name of some kind.
fn named<'t>(
    faults: &mut Faults,
    templates: &mut Vec<Fault>,
    text: &'t str,
    at: &str,
    is_named: impl Fn(&str) -> bool,
) -> Option<&'t str> {
    if is_named(text) {
        return Some(text);
    }
    let message = format!("{at} cannot be {}", quoted(text));
    template_or(faults, templates, text, message, "Write it as Kubernetes takes it.");
    None
}

/// Adds that a text is an unrendered template, or else that something is wrong with it.
fn template_or(faults: &mut Faults, templates: &mut Vec<Fault>, text: &str, message: String, help: &str) {
    if !is_template(text) {
        return faults.add(message, help);
    }
    let message = format!("{message}: a variable was left in it");
    let help = "Give pouch what comes out of clusterctl, Flux or Helm, in which all variables are filled in.";
    if !templates.iter().any(|fault| fault.message == message) {
        templates.push(Fault::new(Code::UnrenderedTemplate, message, help));
    }
}

fn settle<T>(faults: Faults, templates: Vec<Fault>, found: T) -> Result<T, Vec<Fault>> {
    let mut wrong = templates;
    let found = match faults.settle(Some(found)) {
        Ok(found) => found,
        Err(faults) => {
            wrong.extend(faults);
            return Err(wrong);
        }
    };
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

/// What an object names, as far as it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Group and kind.
    pub kind: GroupKind,
    /// A version of it.
    pub version: Version,
    /// The name.
    pub name: Name,
    /// The namespace that counts; none of a cluster-scoped kind.
    pub namespace: Option<Namespace>,
    /// The field.
    pub field: String,
    /// The entries that the provider reads of it.
    pub entries: Vec<Box<str>>,
}

/// What an object names that a Cluster in the namespace `own` refers to; `body` has its `spec`.
///
/// # Errors
/// Where a field is not what the provider takes, or a template is left in it.
pub fn names(known: &ClusterKind, body: &Node, own: &Namespace) -> Result<Vec<Named>, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidCluster);
    let mut templates = Vec::new();
    let mut found: Vec<Named> = Vec::new();
    for naming in known.names {
        let mut places = Vec::new();
        collect(body, naming.field, &mut places);
        if places.is_empty() {
            match naming.without {
                Without::Nothing => {}
                Without::Name(name) => found.extend(by_default(naming, name, own)),
                Without::Refused => faults.add(
                    format!("{} is missing", dotted(naming.field)),
                    "Write it: the provider takes no such object without it.",
                ),
            }
        }
        for place in places {
            let named = one(&mut faults, &mut templates, naming, place, own);
            found.extend(named.filter(|named| !found.contains(named)));
        }
    }
    settle(faults, templates, found)
}

/// The fields of an object in which something is named.
pub fn fields(known: &ClusterKind) -> impl Iterator<Item = Path> {
    known.names.iter().map(|naming| naming.field)
}

/// A field as people write it.
pub fn dotted(field: Path) -> String {
    field.join(".").replace(".[]", "[]")
}

/// The nodes at a path; `null` counts as absent.
fn collect<'n>(node: &'n Node, path: &[&str], found: &mut Vec<&'n Node>) {
    match path.split_first() {
        None if matches!(node, Node::Null) => {}
        None => found.push(node),
        Some((&"[]", rest)) => node.items().iter().for_each(|item| collect(item, rest, found)),
        Some((key, rest)) => {
            if let Some(next) = node.get(key) {
                collect(next, rest, found);
            }
        }
    }
}

fn by_default(naming: &Naming, name: &str, own: &Namespace) -> Option<Named> {
    let choice = match &naming.choices {
        Choices::One(choice) => choice,
        Choices::By { of, .. } => of.first()?,
    };
    let entries = choice.entries.iter().map(|entry| Box::from(entry.name)).collect();
    Some(made(naming, choice, name, own.clone(), entries))
}

fn made(naming: &Naming, choice: &Choice, name: &str, namespace: Namespace, entries: Vec<Box<str>>) -> Named {
    let kind = GroupKind::new(choice.group, choice.kind);
    let known = rules(&kind);
    let namespace = Some(namespace).filter(|_| known.is_none_or(|rules| rules.scope == Scope::Namespaced));
    let newest = known.and_then(|rules| rules.versions.first());
    let version = Version::from(newest.map_or("v1", |served| served.version));
    Named { kind, version, name: name.into(), namespace, field: dotted(naming.field), entries }
}

fn one(
    faults: &mut Faults,
    templates: &mut Vec<Fault>,
    naming: &Naming,
    node: &Node,
    own: &Namespace,
) -> Option<Named> {
    let at = dotted(naming.field);
    if naming.form == Form::Text {
        let Choices::One(choice) = &naming.choices else { return None };
        let name = faults.needed(node, &at, &[])?;
        let name = self::named(faults, templates, name, &at, is_dns_subdomain)?;
        let entries = choice.entries.iter().map(|entry| Box::from(entry.name)).collect();
        return Some(made(naming, choice, name, own.clone(), entries));
    }
    let choice = choice(faults, templates, &naming.choices, node, &at)?;
    if choice.kind.is_empty() {
        return None;
    }
    let name = match naming.without {
        Without::Name(default) if matches!(naming.choices, Choices::One(_)) => {
            faults.text(node, &at, &["name"]).unwrap_or(default)
        }
        _ => faults.needed(node, &at, &["name"])?,
    };
    let name = self::named(faults, templates, name, &format!("{at}.name"), is_dns_subdomain)?;
    let namespace = match naming.namespace {
        Within::Own => None,
        Within::SaidOrOwn => faults.text(node, &at, &["namespace"]),
        Within::Said => Some(faults.needed(node, &at, &["namespace"])?),
    };
    let namespace = match namespace {
        None => own.clone(),
        Some(text) => self::named(faults, templates, text, &format!("{at}.namespace"), is_dns_label)?.into(),
    };
    let entries = choice.entries.iter().map(|entry| {
        let said = if entry.by.is_empty() { None } else { faults.text(node, &at, entry.by) };
        Box::from(said.unwrap_or(entry.name))
    });
    let entries = entries.collect();
    Some(made(naming, &choice, name, namespace, entries))
}

fn choice(faults: &mut Faults, templates: &mut Vec<Fault>, choices: &Choices, node: &Node, at: &str) -> Option<Choice> {
    let (key, first_by_default, of) = match choices {
        Choices::One(choice) => return Some(*choice),
        Choices::By { key, first_by_default, of } => (*key, *first_by_default, *of),
    };
    let said = match faults.text(node, at, &[key]) {
        None if first_by_default => return of.first().copied(),
        None => faults.needed(node, at, &[key])?,
        Some(said) => said,
    };
    let found = of.iter().find(|choice| choice.word == said).copied();
    if found.is_none() {
        let words: Vec<&str> = of.iter().map(|choice| choice.word).collect();
        let message = format!("{at}.{key} cannot be {}", quoted(said));
        template_or(faults, templates, said, message, &format!("Write one of: {}.", words.join(", ")));
    }
    found
}

/// What a ClusterClass says of one of the objects that it makes.
pub struct Templated {
    /// The template.
    pub template: Referred,
    /// The field of a selector that chooses the object for a patch.
    chosen_by: &'static str,
}

/// The templates of the infrastructure and the control plane in a ClusterClass.
///
/// # Errors
/// As [`read`].
pub fn templates(body: &Node) -> Result<Vec<Templated>, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidCluster);
    let mut left = Vec::new();
    let mut found = Vec::new();
    for (field, chosen_by) in [(OF_INFRASTRUCTURE, "infrastructureCluster"), ("controlPlane", "controlPlane")] {
        // The newer form calls the reference `templateRef`.
        let newer = faults.at(body, "", &["spec", field, "templateRef"]);
        let Some(reference) = newer.or_else(|| faults.at(body, "", &["spec", field, "ref"])) else { continue };
        let template = referred(&mut faults, &mut left, reference, &format!("the template of spec.{field}"), field);
        found.extend(template.map(|template| Templated { template, chosen_by }));
    }
    settle(faults, left, found)
}

/// The patch of a ClusterClass that may write one of these fields of an object made from a template, and the field.
///
/// A patch that a program writes may write anything.
pub fn writes(class: &Node, made: &Templated, fields: &[Path]) -> Option<(String, String)> {
    let patches = class.at(&["spec", "patches"]).map(Node::items).unwrap_or_default();
    patches.iter().find_map(|patch| {
        let name = || patch.str_at(&["name"]).unwrap_or_default().to_owned();
        if patch.at(&["external"]).is_some() {
            return Some((name(), dotted(fields.first()?)));
        }
        let definitions = patch.at(&["definitions"]).map(Node::items).unwrap_or_default();
        let meant = definitions.iter().filter(|definition| selects(definition, made));
        let paths = meant.flat_map(|definition| definition.at(&["jsonPatches"]).map(Node::items).unwrap_or_default());
        let written = paths
            .filter_map(|json| json.str_at(&["path"]))
            .find_map(|path| fields.iter().find(|field| touches(path, field)).map(|field| dotted(field)));
        written.map(|field| (name(), field))
    })
}

fn selects(definition: &Node, made: &Templated) -> bool {
    let text = |path: &[&str]| definition.str_at(path).unwrap_or_default();
    let (group, _) = split_api_version(text(&["selector", "apiVersion"]));
    let is_chosen = definition.at(&["selector", "matchResources", made.chosen_by]).and_then(Node::as_bool);
    made.template.kind.is(group, text(&["selector", "kind"])) && is_chosen == Some(true)
}

/// Whether a JSON pointer into a template leads to a field of what is made from it, into it, or above it.
fn touches(pointer: &str, field: &[&str]) -> bool {
    let keys: Vec<String> = pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let whole = ["spec", "template"].iter().chain(field);
    keys.iter().zip(whole).all(|(key, field)| key == field || *field == "[]")
}

/// What a template makes, as far as it names identities: an object with the same `spec`.
pub fn of_made(template: &Node) -> Option<&Node> {
    template.at(&["spec", "template"])
}

/// The field that names an identity, with the kind of the object that it stands in.
pub fn shown(known: &ClusterKind, named: &Named) -> String {
    format!("{} {}", known.kind, named.field)
}
