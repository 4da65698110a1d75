//! PlacementDecisions: lists of ClusterProfiles, one decision in several slices.
//!
//! <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/5313-placement-decision-api>

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::kinds::MULTICLUSTER;
use crate::lenient::Faults;
use crate::name::{GroupKind, Name, Namespace, ObjectKey};
use crate::object::Object;

/// The ClusterProfiles that a slice lists.
///
/// # Errors
/// Where an entry cannot be read: a decision of which a part is unknown decides nothing.
pub fn read(object: &Object) -> Result<BTreeSet<ObjectKey>, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidInventory);
    let mut profiles = BTreeSet::new();
    for (index, decision) in faults.items(&object.body, "", &["decisions"]).iter().enumerate() {
        let at = format!("decisions[{index}]");
        let Some(name) = faults.needed(decision, &at, &["clusterProfileRef", "name"]) else { continue };
        let namespace = faults.text(decision, &at, &["clusterProfileRef", "namespace"]).map(Namespace::from);
        let namespace = namespace.or_else(|| object.key.namespace.clone());
        profiles.insert(ObjectKey::new(GroupKind::new(MULTICLUSTER, "ClusterProfile"), namespace, Name::from(name)));
    }
    faults.settle(Some(profiles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use alloc::string::ToString;

    #[test]
    fn an_empty_namespace_is_the_slices_own() {
        let head = "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: PlacementDecision\nmetadata: {name: a, namespace: here}\n";
        let read = |rest: &str| read(&object(&format!("{head}{rest}\n")));
        let profiles = read(
            "decisions: [{clusterProfileRef: {name: x, namespace: ''}}, {clusterProfileRef: {name: two, namespace: there}, reason: z}]",
        );
        let names: Vec<_> = profiles.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            ["ClusterProfile.multicluster.x-k8s.io here/x", "ClusterProfile.multicluster.x-k8s.io there/two"]
        );
        assert!(read("decisions: []").unwrap().is_empty());
        let faults = read("decisions: [{clusterProfileRef: {}}, {clusterProfileRef: {name: x}}]").unwrap_err();
        assert_eq!(faults[0].message, "decisions[0].clusterProfileRef.name is missing or empty");
    }
}
