//! ClusterClasses: which templates they make a Cluster's objects from, and which of their patches may write what names an
//! identity.
//!
//! A patch takes its values from variables of each Cluster, and one that a program writes may write anything: what it
//! writes is not worked out. A selector counts as choosing an object wherever it may.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::rules::Path;
use super::kinds::{meant_template, of_template};
use super::machines::{DOMAIN_SELECTOR, of_machines};
use super::named::{dotted, fields};
use super::reading::{Reading, Referred};
use crate::finding::Fault;
use crate::lenient::Told;
use crate::name::Name;
use crate::node::Node;

/// The field of a ClusterClass with the template of the infrastructure.
pub const OF_INFRASTRUCTURE: &str = "infrastructure";

/// The field of a ClusterClass with the template of the control plane.
pub const OF_CONTROL_PLANE: &str = "controlPlane";

/// The field of a ClusterClass with the templates of machines: of those of its control plane, below that.
pub const OF_MACHINES: &str = "machineInfrastructure";

/// The fields of a ClusterClass's `spec`, in whatever version.
const FIELDS: [&str; 8] = [
    "availabilityGates",
    OF_INFRASTRUCTURE,
    OF_CONTROL_PLANE,
    "workers",
    "variables",
    "patches",
    "upgrade",
    "kubernetesVersions",
];

/// What a ClusterClass says of one of the objects that it makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Templated {
    /// The template.
    pub template: Referred,
    /// The class of workers whose machines are made of it; none of other objects, and of the machines of a control
    /// plane.
    pub workers: Option<Name>,
    /// The failure domains that the machines are placed in, unless a Cluster says others.
    pub domains: Vec<Name>,
    /// The first patch that may write where the object names something, and the field.
    pub written: Option<(String, String)>,
    /// The same of the field that selects failure domains.
    pub selector_written: Option<(String, String)>,
}

impl Templated {
    fn of(template: Referred) -> Self {
        Self { template, workers: None, domains: Vec::new(), written: None, selector_written: None }
    }
}

/// The templates of the infrastructure, the control plane and the machines in a ClusterClass.
///
/// # Errors
/// As [`read`](super::read), and where a patch is not what Cluster API takes.
pub fn templates(body: &Node) -> Result<Vec<Templated>, Vec<Fault>> {
    let mut reading = Reading::new();
    let help = "Correct the ClusterClass.";
    if let Some(spec) = reading.faults.needed_at(body, "", &["spec"], help) {
        reading.mistyped(spec, "spec", &FIELDS);
    }
    let mut found = Vec::new();
    for field in [OF_INFRASTRUCTURE, OF_CONTROL_PLANE] {
        let at = format!("spec.{field}");
        let Some(class) = reading.faults.at(body, "", &["spec", field]) else {
            if field == OF_INFRASTRUCTURE {
                reading.faults.add(format!("{at} is missing"), help);
            }
            continue;
        };
        reading.mistyped(class, &at, &["ref", "templateRef", "naming", "namingStrategy", "metadata", OF_MACHINES]);
        let Some(template) = read_template(&mut reading, class, &at, field) else { continue };
        let at = format!("the template of {at}");
        // The kind of the infrastructure is known, or nothing is known of the identity.
        if field == OF_CONTROL_PLANE
            && of_template(&template.kind).is_none()
            && let Some(meant) = meant_template(&template.kind)
        {
            let message = format!("there is no kind {} for {at}", template.kind);
            let Told = reading.faults.slip(message, &format!("{meant}"));
        }
        found.push(Templated::of(template));
    }
    if let Some(node) = reading.faults.at(body, "", &["spec", OF_CONTROL_PLANE, OF_MACHINES]) {
        let at = format!("spec.{OF_CONTROL_PLANE}.{OF_MACHINES}");
        reading.mistyped(node, &at, &["ref", "templateRef"]);
        found.extend(read_template(&mut reading, node, &at, OF_MACHINES).map(Templated::of));
    }
    read_workers(&mut reading, body, &mut found);
    let patches = reading.faults.items(body, "", &["spec", "patches"]).iter().enumerate();
    let patches: Vec<Patch<'_>> = patches.map(|(number, patch)| read_patch(&mut reading, patch, number)).collect();
    let templated = found.into_iter().map(|templated| {
        let kind = &templated.template.kind;
        let known = of_template(kind).or_else(|| of_machines(kind).map(|(machine, _)| machine));
        let fields: Vec<Path> = known.into_iter().flat_map(fields).collect();
        let written = patches.iter().find_map(|patch| patch.may_write(&templated, &fields));
        let selects = known.is_some_and(|known| known.domains.is_some());
        let mut selecting = patches.iter().filter(|_| selects);
        let selector_written = selecting.find_map(|patch| patch.may_write(&templated, &[DOMAIN_SELECTOR]));
        Templated { written, selector_written, ..templated }
    });
    reading.settle(templated.collect())
}

/// The template that a part of a ClusterClass names; none where the fault was added.
fn read_template(reading: &mut Reading, class: &Node, at: &str, field: &'static str) -> Option<Referred> {
    // The newer form calls the reference `templateRef`.
    let newer = reading.faults.at(class, at, &["templateRef"]);
    let Some(reference) = newer.or_else(|| reading.faults.at(class, at, &["ref"])) else {
        reading.faults.add(format!("{at} names no template"), "Name it in `templateRef`, or in the older `ref`.");
        return None;
    };
    reading.referred(reference, &format!("the template of {at}"), field)
}

/// Reads the templates of the machines of workers: the newer form has them one level further out.
fn read_workers(reading: &mut Reading, body: &Node, found: &mut Vec<Templated>) {
    const KINDS: [&str; 2] = ["machineDeployments", "machinePools"];
    let Some(workers) = reading.faults.at(body, "", &["spec", "workers"]) else { return };
    reading.mistyped(workers, "spec.workers", &KINDS);
    for kind in KINDS {
        let at = format!("spec.workers.{kind}[]");
        for class in reading.faults.items(workers, "spec.workers", &[kind]) {
            reading.mistyped(class, &at, &["class", "template", OF_INFRASTRUCTURE, "failureDomain", "failureDomains"]);
            let name = reading.faults.needed(class, &at, &["class"]);
            let newer = reading.faults.at(class, &at, &[OF_INFRASTRUCTURE]);
            let Some(node) = newer.or_else(|| reading.faults.at(class, &at, &["template", OF_INFRASTRUCTURE])) else {
                continue;
            };
            let template = read_template(reading, node, &format!("{at}.{OF_INFRASTRUCTURE}"), OF_MACHINES);
            let several = reading.faults.items(class, &at, &["failureDomains"]).iter().filter_map(Node::as_str);
            let domains = reading.faults.text(class, &at, &["failureDomain"]).into_iter().chain(several);
            let domains = domains.map(Name::from).collect();
            let (Some(template), Some(name)) = (template, name) else { continue };
            found.push(Templated { workers: Some(name.into()), domains, ..Templated::of(template) });
        }
    }
}

/// What of a template says what is made of it: an object with the same `spec`.
///
/// # Errors
/// Where it does not say that as a template does.
pub fn of_made(template: &Node) -> Result<&Node, Vec<Fault>> {
    let mut reading = Reading::new();
    let help = "Correct the template.";
    if let Some(spec) = reading.faults.at(template, "", &["spec"]) {
        reading.mistyped(spec, "spec", &["template"]);
    }
    let made = reading.faults.needed_at(template, "", &["spec", "template"], help);
    if let Some(made) = made {
        reading.mistyped(made, "spec.template", &["metadata", "spec"]);
        reading.faults.needed_at(made, "spec.template", &["spec"], help);
    }
    reading.settle(made.unwrap_or(&Node::Null))
}

/// A patch of a ClusterClass, as far as it matters what it may write.
struct Patch<'n> {
    name: &'n str,
    /// Whether a program writes it.
    is_external: bool,
    definitions: Vec<Definition<'n>>,
}

/// What a patch writes of the objects that a selector chooses.
struct Definition<'n> {
    of_infrastructure: bool,
    of_control_plane: bool,
    of_workers: bool,
    /// JSON pointers into the template.
    pointers: Vec<&'n str>,
}

fn read_patch<'n>(reading: &mut Reading, patch: &'n Node, number: usize) -> Patch<'n> {
    let at = format!("spec.patches[{number}]");
    reading.mistyped(patch, &at, &["name", "description", "enabledIf", "definitions", "external"]);
    let name = reading.faults.text(patch, &at, &["name"]).unwrap_or_default();
    let is_external = patch.is_map() && reading.faults.at(patch, &at, &["external"]).is_some();
    let definitions = reading.faults.items(patch, &at, &["definitions"]).iter();
    let definitions =
        definitions.map(|definition| read_definition(reading, definition, &format!("{at}.definitions[]")));
    let definitions = definitions.collect();
    Patch { name, is_external, definitions }
}

fn read_definition<'n>(reading: &mut Reading, definition: &'n Node, at: &str) -> Definition<'n> {
    const MATCHES: [&str; 4] = ["controlPlane", "infrastructureCluster", "machineDeploymentClass", "machinePoolClass"];
    let help = "Correct the patch.";
    reading.mistyped(definition, at, &["selector", "jsonPatches"]);
    let chosen = |reading: &mut Reading, by: &str| {
        let path = ["selector", "matchResources", by];
        match reading.faults.at(definition, at, &path) {
            None => false,
            Some(Node::Bool(is_chosen)) => *is_chosen,
            Some(other) => {
                let Told = reading.faults.wrong_type(&format!("{at}.{}", path.join(".")), other, "true or false");
                false
            }
        }
    };
    for (path, known) in [
        (&["selector"][..], &["apiVersion", "kind", "matchResources"][..]),
        (&["selector", "matchResources"], &MATCHES),
    ] {
        if let Some(node) = reading.faults.needed_at(definition, at, path, help) {
            reading.mistyped(node, &format!("{at}.{}", path.join(".")), known);
        }
    }
    let (of_infrastructure, of_control_plane) =
        (chosen(reading, "infrastructureCluster"), chosen(reading, "controlPlane"));
    let of_workers = ["machineDeploymentClass", "machinePoolClass"]
        .map(|class| reading.faults.at(definition, at, &["selector", "matchResources", class]).is_some());
    let of_workers = of_workers.contains(&true);
    let of_patch = format!("{at}.jsonPatches[]");
    let mut pointers = Vec::new();
    for patch in reading.faults.items(definition, at, &["jsonPatches"]) {
        reading.mistyped(patch, &of_patch, &["op", "path", "value", "valueFrom"]);
        match reading.faults.walk(patch, &of_patch, &["path"]) {
            // The empty pointer is the whole template.
            Ok(Some(Node::Text(path))) => pointers.push(&**path),
            Ok(Some(other)) => _ = reading.faults.wrong_type(&format!("{of_patch}.path"), other, "text"),
            Ok(None) => reading.faults.add(format!("{of_patch}.path is missing"), help),
            Err(Told) => {}
        }
    }
    Definition { of_infrastructure, of_control_plane, of_workers, pointers }
}

impl Patch<'_> {
    /// The name of the patch and the field, if it may write one of these of what is made from the template in a field.
    fn may_write(&self, of: &Templated, fields: &[Path]) -> Option<(String, String)> {
        let is_meant = |definition: &&Definition<'_>| match of.template.field {
            _ if of.workers.is_some() => definition.of_workers,
            OF_INFRASTRUCTURE => definition.of_infrastructure,
            _ => definition.of_control_plane,
        };
        let mut pointers = self.definitions.iter().filter(is_meant).flat_map(|definition| &definition.pointers);
        let field = match self.is_external {
            true => fields.first(),
            false => pointers.find_map(|pointer| fields.iter().find(|field| touches(pointer, field))),
        };
        field.map(|field| (self.name.to_owned(), dotted(field)))
    }
}

/// Whether a JSON pointer into a template leads to a field of what is made from it, into it, or above it.
fn touches(pointer: &str, field: &[&str]) -> bool {
    let keys = pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~"));
    let whole = ["spec", "template"].iter().chain(field);
    keys.zip(whole).all(|(key, field)| key == *field || *field == "[]")
}
