//! What a Cluster refers to: its infrastructure, its control plane, or the ClusterClass that makes them.

use alloc::vec::Vec;

use super::reading::{Reading, Referred};
use crate::finding::Fault;
use crate::lenient::quoted;
use crate::name::{Name, Namespace, is_dns_label, is_dns_subdomain, is_template};
use crate::node::Node;

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

/// The field of a Cluster that names its control plane.
pub const CONTROL_PLANE: &str = "controlPlaneRef";

/// The fields of a Cluster's `spec`, in whatever version.
const FIELDS: [&str; 7] = [
    "paused",
    "clusterNetwork",
    "controlPlaneEndpoint",
    CONTROL_PLANE,
    INFRASTRUCTURE,
    "topology",
    "availabilityGates",
];

/// Those of its `topology`.
const OF_TOPOLOGY: [&str; 8] =
    ["class", "classRef", "classNamespace", "version", "rolloutAfter", "controlPlane", "workers", "variables"];

/// Reads a Cluster of any version.
///
/// # Errors
/// Where a reference has no kind, name or group, or one that the API server refuses; where a field is nearly one of a
/// Cluster, or has another type; where a template is left in one.
pub fn read(body: &Node, own: &Namespace) -> Result<ClusterSpec, Vec<Fault>> {
    let mut reading = Reading::new();
    if let Some(spec) = reading.faults.at(body, "", &["spec"]) {
        reading.mistyped(spec, "spec", &FIELDS);
    }
    let mut refers_to = Vec::new();
    for field in [INFRASTRUCTURE, CONTROL_PLANE] {
        let Some(reference) = reading.faults.at(body, "", &["spec", field]) else { continue };
        let at = format!("spec.{field}");
        refers_to.extend(reading.referred(reference, &at, field));
        let namespace = reading.faults.text(reference, &at, &["namespace"]);
        if let Some(namespace) = namespace.filter(|said| *said != own.as_str()) {
            let field = format!("{at}.namespace");
            let message = format!("{field} is {}, and not the namespace of the Cluster", quoted(namespace));
            let help = "Remove the field: Cluster API takes no other.";
            reading.faults.add_of(&field, is_template(namespace), message, help);
        }
    }
    let class = class(&mut reading, body);
    let has_infrastructure = refers_to.iter().any(|to| to.field == INFRASTRUCTURE);
    reading.settle(ClusterSpec { refers_to, has_infrastructure, class })
}

fn class(reading: &mut Reading, body: &Node) -> Option<(Option<Namespace>, Name)> {
    const AT: &str = "spec.topology";
    let topology = reading.faults.at(body, "", &["spec", "topology"])?;
    reading.mistyped(topology, AT, &OF_TOPOLOGY);
    if let Some(reference) = reading.faults.at(topology, AT, &["classRef"]) {
        reading.mistyped(reference, "spec.topology.classRef", &["name", "namespace"]);
    }
    // The newer form is a reference, the older one a name, since v1.10 with its namespace beside it.
    let by_reference = reading.faults.text(topology, AT, &["classRef", "name"]);
    let name = by_reference.or_else(|| reading.faults.text(topology, AT, &["class"]));
    if name.is_none() && topology.is_map() {
        let help = "Name the ClusterClass in `classRef.name`, or in the older `class`.";
        reading.faults.add(format!("{AT} names no ClusterClass"), help);
    }
    let said = reading.faults.text(topology, AT, &["classRef", "namespace"]);
    let namespace = said.or_else(|| reading.faults.text(topology, AT, &["classNamespace"]));
    let name = reading.named(name?, "the name of spec.topology's class", is_dns_subdomain)?;
    let namespace = match namespace {
        Some(text) => Some(reading.named(text, "the namespace of spec.topology's class", is_dns_label)?),
        None => None,
    };
    Some((namespace.map(Namespace::from), name.into()))
}
