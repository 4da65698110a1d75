//! What a Cluster refers to: its infrastructure, its control plane, or the ClusterClass that makes them.

use alloc::collections::BTreeSet;
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
    /// The classes of workers that its topology has machines of.
    pub workers: BTreeSet<Name>,
    /// The names of the failure domains that its topology places machines in.
    pub domains: BTreeSet<Name>,
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
    let (mut workers, mut domains) = (BTreeSet::new(), BTreeSet::new());
    read_workers(&mut reading, body, &mut workers, &mut domains);
    reading.settle(ClusterSpec { refers_to, has_infrastructure, class, workers, domains })
}

/// Reads which classes of workers a topology has machines of, and in which failure domains.
fn read_workers(reading: &mut Reading, body: &Node, workers: &mut BTreeSet<Name>, domains: &mut BTreeSet<Name>) {
    const AT: &str = "spec.topology.workers";
    const KINDS: [&str; 2] = ["machineDeployments", "machinePools"];
    const FIELDS: [&str; 5] = ["name", "class", "failureDomain", "failureDomains", "replicas"];
    let Some(node) = body.at(&["spec", "topology", "workers"]) else { return };
    reading.mistyped(node, AT, &KINDS);
    for kind in KINDS {
        let at = format!("{AT}.{kind}[]");
        for item in reading.faults.items(node, AT, &[kind]) {
            reading.mistyped(item, &at, &FIELDS);
            let class = reading.faults.needed(item, &at, &["class"]);
            workers.extend(class.map(Name::from));
            domains.extend(reading.faults.text(item, &at, &["failureDomain"]).map(Name::from));
            let several = reading.faults.items(item, &at, &["failureDomains"]).iter();
            domains.extend(several.filter_map(Node::as_str).map(Name::from));
        }
    }
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
