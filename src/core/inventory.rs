//! The inventory: objects of other systems that describe clusters, read leniently.
//!
//! A ClusterProfile (KEP-4322) and a Cluster of the cluster registry say what a region's cluster is; a PlacementDecision
//! lists ClusterProfiles. None of them makes a region or says who may read it: the configuration ties a region to the
//! objects that describe it, and what becomes of that is [`world`](crate::world)'s.
//!
//! <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/4322-cluster-inventory>

pub mod argocd;
pub mod document;
pub mod looked;
pub mod placement;
pub mod profile;
pub mod providers;
pub mod registry;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};

use crate::lenient::Faults;
use crate::node::Node;

/// What a condition says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody knows, or the text is none of the three.
    Unknown,
}

/// The conditions of an object, by type.
///
/// A condition without a reason is read as well, and so is a status that is a boolean: the KEP's own example has both.
fn conditions(body: &Node, faults: &mut Faults) -> BTreeMap<String, Status> {
    let mut conditions = BTreeMap::new();
    for (index, condition) in faults.items(body, "", &["status", "conditions"]).iter().enumerate() {
        let at = format!("status.conditions[{index}]");
        let Some(kind) = faults.needed(condition, &at, &["type"]) else { continue };
        let status = match condition.at(&["status"]) {
            Some(Node::Bool(true)) => Status::True,
            Some(Node::Bool(false)) => Status::False,
            Some(Node::Text(text)) if &**text == "True" => Status::True,
            Some(Node::Text(text)) if &**text == "False" => Status::False,
            _ => Status::Unknown,
        };
        // Two that differ say nothing.
        conditions
            .entry(kind.to_string())
            .and_modify(|said| *said = if *said == status { status } else { Status::Unknown })
            .or_insert(status);
    }
    conditions
}

/// The minor release of Kubernetes that a text names, such as 33 of `v1.33.2-gke.1` or `1.33`.
pub fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix('v').unwrap_or(version).strip_prefix("1.")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_kubernetes_are_told_by_their_minor() {
        for (text, expect) in [
            ("1.28.0", Some(28)),
            ("v1.33.2-gke.100", Some(33)),
            ("1.30+", Some(30)),
            ("v1.31", Some(31)),
            ("2.0", None),
            ("v1.", None),
            ("", None),
        ] {
            assert_eq!(minor(text), expect, "{text}");
        }
    }
}
