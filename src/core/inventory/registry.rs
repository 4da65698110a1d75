//! Clusters of the cluster registry: what its controller says of one cluster.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::profile::server;
use super::{Status, conditions};
use crate::finding::{Code, Fault};
use crate::kinds::DISABLED;
use crate::lenient::Faults;
use crate::node::Node;
use crate::object::Object;

/// What a Cluster says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Registered {
    /// The UID of the cluster's `kube-system`.
    pub id: String,
    /// The servers that it names for whoever comes from anywhere, as [`server`] writes them.
    pub servers: BTreeSet<String>,
    /// Whether it is the cluster that its registry runs on.
    pub local: bool,
    /// The version of Kubernetes, as written.
    pub kubernetes: Option<String>,
    /// The distribution of Kubernetes.
    pub distribution: Option<String>,
    /// The region of its cloud; of several, all, sorted.
    pub locality: Option<String>,
    /// Its conditions, by type.
    pub conditions: BTreeMap<String, Status>,
    /// Whether it is taken out of the registry's work.
    pub disabled: bool,
    /// Whether it has a `deletionTimestamp`.
    pub deleting: bool,
}

impl Registered {
    /// What a condition says; unknown where it is not there.
    pub fn condition(&self, kind: &str) -> Status {
        self.conditions.get(kind).copied().unwrap_or(Status::Unknown)
    }
}

/// Reads a Cluster of the registry; what cannot be read is left out, and is a fault.
pub fn read(object: &Object) -> (Registered, Vec<Fault>) {
    let mut faults = Faults::new(Code::UnreadableObject);
    let body = &object.body;
    let mut text = |path: &[&str]| faults.text(body, "", path).map(String::from);
    let registered = Registered {
        kubernetes: text(&["status", "version"]),
        distribution: text(&["status", "distribution"]),
        locality: text(&["status", "locality", "region"]).map(|regions| sorted(&regions)),
        local: text(&["status", "type"]).as_deref() == Some("Local"),
        disabled: text(&["status", "state"]).as_deref() == Some("Disabled")
            || object.annotations.iter().any(|(key, _)| **key == *DISABLED),
        id: faults.needed(body, "", &["spec", "clusterID"]).map(|id| id.to_string()).unwrap_or_default(),
        servers: servers(body, &mut faults),
        conditions: conditions(body, &mut faults),
        deleting: object.deleting,
    };
    (registered, faults.into_found())
}

/// The servers of a Cluster; an address within some network means nothing outside.
fn servers(body: &Node, faults: &mut Faults) -> BTreeSet<String> {
    let mut servers = BTreeSet::new();
    for (index, endpoint) in faults.items(body, "", &["spec", "kubernetesApiEndpoints"]).iter().enumerate() {
        let at = format!("spec.kubernetesApiEndpoints[{index}]");
        let address = faults.text(endpoint, &at, &["serverAddress"]);
        let is_anywhere = faults.at(endpoint, &at, &["clientNetwork"]).is_none();
        servers.extend(address.filter(|_| is_anywhere).map(|address| server(&format!("https://{address}"))));
    }
    servers
}

/// The regions of a cluster's nodes, which its controller joins in whatever order.
///
/// <https://github.com/cisco-open/cluster-registry-controller/blob/main/pkg/clustermeta/metadata.go>
fn sorted(regions: &str) -> String {
    let mut regions: Vec<&str> = regions.split(", ").collect();
    regions.sort_unstable();
    regions.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    #[test]
    fn a_cluster_is_read_as_its_controller_writes_it() {
        let head = "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: Cluster\nmetadata: {name: eu}\n";
        let read = |rest: &str| read(&object(&format!("{head}{rest}\n")));
        let (cluster, faults) = read(
            "spec: {clusterID: 995ba61b, authInfo: {secretRef: {name: x, namespace: y}}}\nstatus: {state: Ready, version: v1.30.1, \
             distribution: EKS, locality: {region: eu-west-1}, conditions: [{type: Ready, status: 'True'}]}",
        );
        assert!(faults.is_empty());
        assert_eq!((cluster.id.as_str(), cluster.locality.as_deref()), ("995ba61b", Some("eu-west-1")));
        assert_eq!(cluster.condition("Ready"), Status::True);
        let several =
            |regions: &str| read(&format!("spec: {{clusterID: a}}\nstatus: {{locality: {{region: '{regions}'}}}}")).0;
        assert_eq!(several("b, c, a").locality.as_deref(), Some("a, b, c"));
        assert!(several("b, a") == several("a, b"), "no order of theirs is a change");
        assert!(!cluster.disabled);
        let (cluster, faults) = read("spec: {}\nstatus: {state: Disabled, version: 1}");
        assert!(cluster.disabled);
        let messages: Vec<_> = faults.iter().map(|fault| &*fault.message).collect();
        assert_eq!(messages, ["status.version is an integer, not text", "spec.clusterID is missing or empty"]);
    }
}
