//! Clusters of Cluster API: what a Cluster refers to, and where the objects behind it name an identity or a Secret.
//!
//! A Cluster names no identity itself. Its infrastructure object does, or its control plane; each provider's file says in
//! which fields, what an absent field means, and which namespace counts. A field that is nearly one of those, or has
//! another type, is never an absent one. Objects are looked at one at a time: nothing here looks an object up, and nothing
//! decides who may use what is named.

mod class;
mod kinds;
mod machines;
mod named;
mod reading;
mod spec;
#[cfg(test)]
mod tests;

pub use class::{OF_CONTROL_PLANE, OF_INFRASTRUCTURE, OF_MACHINES, Templated, of_made, templates};
pub use kinds::{CLUSTERS, class_kind, cluster_kind, is_cluster, kinds, known, meant, of_template, template_kind};
pub use machines::{
    AND, Belongs, DOMAIN_SELECTOR, Maker, Makes, Owner, domain_selector, is_domain, is_named_by_machines,
    is_of_machines, is_read_of_spec, machine_of, machines, maker, makers, makes, meant_machine, names_cluster,
    names_in, naming_kind, of_machines, unnamed_of_machines,
};
pub use named::{MOST_NAMED, Named, dotted, fields, names, shown};
pub use reading::Referred;
pub use spec::{CONTROL_PLANE, ClusterSpec, INFRASTRUCTURE, read};
