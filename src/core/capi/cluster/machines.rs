//! Machines of Clusters: what makes them, and the kinds of machines and failure domains that name an identity of their
//! own.
//!
//! A machine of most providers has its cluster's identity. Where it names another one, that stands in the template that
//! a control plane, a MachineDeployment, a MachineSet or a MachinePool refers to, or in the object behind a single
//! Machine.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::naming::{CONTROL_PLANES, Choice, Choices, ClusterKind, Naming};
use super::super::rules::{GROUP, Path};
use super::kinds::{CLUSTERS, TEMPLATE, kinds, meant_among, template_kind};
use super::named::{Places, check_fields, collect, dotted};
use super::reading::{Reading, Referred};
use crate::finding::Fault;
use crate::name::{GroupKind, Name, is_dns_subdomain, is_template, split_api_version};
use crate::node::Node;
use crate::selector::{Selector, UnusableSelector};

/// The field of a cluster's infrastructure that selects its failure domains by their labels.
pub const DOMAIN_SELECTOR: Path = &["spec", "failureDomainSelector"];

/// The relation of what makes machines to its Cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Belongs {
    /// The Cluster names it as its control plane.
    ControlPlane,
    /// It names the Cluster.
    ByName,
    /// It names the Cluster, and controllers make it: the template that it names may be gone.
    Made,
    /// It names the Cluster, and is one machine. Controllers make and delete them all the time, so those of a live
    /// cluster are not listed; what they name, their templates do.
    Machine,
}

/// A kind whose objects make machines.
#[derive(Debug)]
pub struct Maker {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource, as API paths and RBAC rules name it.
    pub plural: &'static str,
    /// The relation to its Cluster.
    pub belongs: Belongs,
    /// Where it refers to a machine, or to the template of machines.
    refers: &'static [Path],
    /// Where it names failure domains.
    domains: &'static [Path],
}

/// The Cluster of a maker of machines.
#[derive(PartialEq, Eq, Debug)]
pub enum Owner {
    /// One that names the maker.
    Naming,
    /// The one of this name.
    Is(Name),
    /// One whose name this template may become.
    MayBe(Box<str>),
    /// One whose name may be any of these texts: where the name belongs, it cannot be read.
    Among(BTreeSet<Name>),
}

/// The objects that a maker of machines refers to.
#[derive(Debug)]
pub struct Makes {
    /// The Cluster.
    pub owner: Owner,
    /// Machines, or templates of machines.
    pub machines: Vec<Referred>,
    /// The names of failure domains.
    pub domains: Vec<Name>,
    /// Its faults.
    pub faults: Vec<Fault>,
}

/// The field that names the Cluster.
const CLUSTER_NAME: Path = &["spec", "clusterName"];

const TEMPLATED: &[Path] = &[&["spec", "template", "spec", "infrastructureRef"]];

const DOMAIN_OF_TEMPLATE: Path = &["spec", "template", "spec", "failureDomain"];

/// The fields of control planes, of which each provider and each version has one.
const OF_CONTROL_PLANES: &[Path] = &[
    &["spec", "machineTemplate", "spec", "infrastructureRef"],
    &["spec", "machineTemplate", "infrastructureRef"],
    &["spec", "machineTemplate", "infrastructureTemplate"],
    &["spec", "infrastructureRef"],
    &["spec", "infrastructureTemplate"],
];

const fn control_plane(kind: &'static str, plural: &'static str) -> Maker {
    Maker {
        group: CONTROL_PLANES,
        kind,
        plural,
        belongs: Belongs::ControlPlane,
        refers: OF_CONTROL_PLANES,
        domains: &[],
    }
}

/// Cluster API v1.14 at ae7ff047, and the control planes of bootstrap providers that make machines.
static MAKERS: [Maker; 11] = [
    Maker {
        group: CLUSTERS,
        kind: "MachineDeployment",
        plural: "machinedeployments",
        belongs: Belongs::ByName,
        refers: TEMPLATED,
        domains: &[DOMAIN_OF_TEMPLATE],
    },
    Maker {
        group: CLUSTERS,
        kind: "MachinePool",
        plural: "machinepools",
        belongs: Belongs::ByName,
        refers: TEMPLATED,
        domains: &[DOMAIN_OF_TEMPLATE, &["spec", "failureDomains", "[]"]],
    },
    Maker {
        group: CLUSTERS,
        kind: "MachineSet",
        plural: "machinesets",
        belongs: Belongs::Made,
        refers: TEMPLATED,
        domains: &[DOMAIN_OF_TEMPLATE],
    },
    Maker {
        group: CLUSTERS,
        kind: "Machine",
        plural: "machines",
        belongs: Belongs::Machine,
        refers: &[&["spec", "infrastructureRef"]],
        domains: &[&["spec", "failureDomain"]],
    },
    control_plane("KubeadmControlPlane", "kubeadmcontrolplanes"),
    control_plane("K0sControlPlane", "k0scontrolplanes"),
    control_plane("RKE2ControlPlane", "rke2controlplanes"),
    control_plane("TalosControlPlane", "taloscontrolplanes"),
    control_plane("KThreesControlPlane", "kthreescontrolplanes"),
    control_plane("MicroK8sControlPlane", "microk8scontrolplanes"),
    control_plane("CK8sControlPlane", "ck8scontrolplanes"),
];

impl Maker {
    /// The kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group, self.kind)
    }

    /// Returns true if its objects name their Cluster.
    pub fn names_cluster(&self) -> bool {
        self.belongs != Belongs::ControlPlane
    }

    /// The kinds that one of its objects refers to, where they can be read.
    pub fn kinds(&self, body: &Node) -> impl Iterator<Item = GroupKind> {
        let kind = |reference: &Node| {
            let of_version = || reference.str_at(&["apiVersion"]).map(|text| split_api_version(text).0);
            let group = reference.str_at(&["apiGroup"]).or_else(of_version)?;
            Some(GroupKind::new(group, reference.str_at(&["kind"])?))
        };
        self.refers.iter().filter_map(move |path| kind(body.at(path)?))
    }

    /// The fields that are read of its objects.
    pub fn fields(&self) -> impl Iterator<Item = Path> {
        let own = self.names_cluster().then_some(CLUSTER_NAME);
        self.refers.iter().chain(self.domains).copied().chain(own)
    }
}

/// Every kind whose objects make machines.
pub fn makers() -> &'static [Maker] {
    &MAKERS
}

/// The groups and kinds of what makes machines, and of failure domains, as far as no object refers to them.
pub fn unnamed_of_machines<'s>() -> impl Iterator<Item = (&'s str, &'s str)> {
    let makers = MAKERS.iter().filter(|maker| maker.names_cluster()).map(|maker| (maker.group, maker.kind));
    makers.chain(kinds().filter_map(|known| known.domains).map(|domain| (domain.group, domain.kind)))
}

/// Gives what is known of a kind whose objects make machines.
pub fn maker(kind: &GroupKind) -> Option<&'static Maker> {
    MAKERS.iter().find(|maker| kind.is(maker.group, maker.kind))
}

/// Every kind of machines and of failure domains that name an identity of their own.
pub fn machines() -> impl Iterator<Item = &'static ClusterKind> {
    kinds().flat_map(|known| known.machines.iter().chain(known.domains))
}

/// Gives what is known of a kind among the machines of a cluster's kind, or among their templates; true for a template.
pub fn machine_of(known: &ClusterKind, kind: &GroupKind) -> Option<(&'static ClusterKind, bool)> {
    let is_template = |machine: &ClusterKind| {
        kind.group == machine.group && kind.kind.as_str().strip_suffix(TEMPLATE) == Some(machine.kind)
    };
    let of = |machine: &'static ClusterKind| match machine.is(kind) {
        true => Some((machine, false)),
        false => is_template(machine).then_some((machine, true)),
    };
    known.machines.iter().find_map(of)
}

/// The kind of machines, or of their templates, that was probably meant by one that is not among those of a cluster's
/// kind.
pub fn meant_machine(known: &ClusterKind, kind: &GroupKind) -> Option<GroupKind> {
    let own = |machine: &ClusterKind| [machine.group_kind(), template_kind(machine)];
    meant_among(kind, known.machines.iter().flat_map(own))
}

/// The kinds of machines and of failure domains that can name an identity of a kind.
pub fn naming_kind(kind: &GroupKind) -> impl Iterator<Item = &'static ClusterKind> {
    let is_it = move |choice: &Choice| kind.is(choice.group, choice.kind);
    let may_name = move |naming: &Naming| match &naming.choices {
        Choices::One(choice) => is_it(choice),
        Choices::By { of, .. } => of.iter().any(is_it),
    };
    machines().filter(move |machine| machine.names.iter().any(may_name))
}

/// Reads what makes machines, in any version.
pub fn makes(maker: &Maker, body: &Node) -> Makes {
    let mut reading = Reading::new();
    let fields: Vec<Path> = maker.fields().collect();
    check_fields(&mut reading, body, &mut String::new(), &fields);
    let mut found = Makes { owner: Owner::Naming, machines: Vec::new(), domains: Vec::new(), faults: Vec::new() };
    let named = |reading: &mut Reading, path: Path| {
        let mut places = Places::new();
        collect(reading, body, &mut String::new(), path, &mut places);
        places.found
    };
    for path in maker.refers {
        let at = dotted(path);
        let nodes = named(&mut reading, path);
        // A control plane has one of several fields; of the others, the only one is required.
        if nodes.is_empty() && maker.names_cluster() && reading.faults.is_empty() {
            reading.faults.add(format!("{at} is missing"), "Write it: Cluster API takes no such object without it.");
        }
        for node in nodes {
            found.machines.extend(reading.referred(node, &at, "infrastructureRef"));
        }
    }
    for path in maker.domains {
        let at = dotted(path);
        for node in named(&mut reading, path) {
            let text = reading.faults.text(node, &at, &[]);
            found.domains.extend(text.and_then(|text| reading.named(text, &at, is_dns_subdomain)).map(Name::from));
        }
    }
    if maker.names_cluster() {
        let at = dotted(CLUSTER_NAME);
        let text = reading.faults.text(body, "", CLUSTER_NAME);
        let name = text.and_then(|text| reading.named(text, &at, is_dns_subdomain));
        let template = || text.filter(|text| is_template(text)).map(|text| Owner::MayBe(text.into()));
        let known = name.map(|name| Owner::Is(name.into())).or_else(template);
        found.owner = known.unwrap_or_else(|| Owner::Among(names_in(body)));
    }
    found.faults = reading.settle(()).err().unwrap_or_default();
    found
}

/// Every text in a node that could be the name of an object.
pub fn names_in(node: &Node) -> BTreeSet<Name> {
    node.texts().into_iter().filter(|text| is_dns_subdomain(text)).map(Name::from).collect()
}

/// Reads the selector of failure domains in a cluster's infrastructure; none where it selects none.
///
/// # Errors
/// Where it cannot be read, or a field is nearly its own.
pub fn domain_selector(body: &Node) -> Result<Option<Selector>, Vec<Fault>> {
    let mut reading = Reading::new();
    check_fields(&mut reading, body, &mut String::new(), &[DOMAIN_SELECTOR]);
    let selector = body.at(DOMAIN_SELECTOR).filter(|node| !matches!(node, Node::Null)).map(Selector::read);
    let selector = selector.transpose().unwrap_or_else(|unusable| {
        let (UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) = unusable;
        let message = format!("{} selects no failure domains: {why}", dotted(DOMAIN_SELECTOR));
        reading.faults.add(message, "Write it as Kubernetes takes it.");
        None
    });
    reading.settle(selector)
}

/// Gives what is known of a kind of machines, of their templates or of failure domains; true for a template.
pub fn of_machines(kind: &GroupKind) -> Option<(&'static ClusterKind, bool)> {
    if kind.group != GROUP {
        return None;
    }
    let domains = kinds().filter_map(|known| known.domains).find(|known| known.is(kind)).map(|known| (known, false));
    kinds().find_map(|known| machine_of(known, kind)).or(domains)
}

/// Returns true if a kind is one of failure domains, which have no namespace.
pub fn is_domain(known: &ClusterKind) -> bool {
    kinds().filter_map(|kind| kind.domains).any(|domain| domain.kind == known.kind)
}

/// The text between fields in which one identity is named.
pub const AND: &str = ", ";

/// Returns true if one of the fields in which an identity is named stands in machines or failure domains.
pub fn is_named_by_machines(fields: &str) -> bool {
    let is_of = |word: &str| machines().any(|machine| machine.kind == word);
    fields.split(AND).filter_map(|field| field.split(' ').next()).any(is_of)
}

/// Returns true if objects of a kind make machines and name their Cluster.
pub fn names_cluster(kind: &GroupKind) -> bool {
    maker(kind).is_some_and(Maker::names_cluster)
}

/// Returns true if objects of a kind say which identities the machines of Clusters name.
pub fn is_of_machines(kind: &GroupKind) -> bool {
    kind.group.as_str().ends_with(CLUSTERS) && (maker(kind).is_some() || of_machines(kind).is_some())
}

/// Returns true if a field of `spec` says something of what a Cluster names: of a Cluster, a ClusterClass, a template,
/// an object behind one, or of what makes its machines.
pub fn is_read_of_spec(field: &str) -> bool {
    const OF_CLUSTERS: [&str; 8] = [
        "infrastructureRef",
        "controlPlaneRef",
        "topology",
        "infrastructure",
        "controlPlane",
        "workers",
        "patches",
        "template",
    ];
    let of_objects = || kinds().chain(machines()).flat_map(|kind| kind.names).map(|naming| naming.field);
    let mut of_makers = makers().iter().flat_map(Maker::fields);
    OF_CLUSTERS.contains(&field)
        || DOMAIN_SELECTOR.get(1) == Some(&field)
        || of_objects().chain(of_makers.by_ref()).any(|path| path.get(1) == Some(&field))
}
