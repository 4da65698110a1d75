//! PlacementDecisions: lists of ClusterProfiles, one placement in several slices.
//!
//! <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/5313-placement-decision-api>

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::kinds::MULTICLUSTER;
use crate::lenient::Faults;
use crate::name::split_api_version;
use crate::node::Node;
use crate::object::Object;

/// The ClusterProfiles that a slice lists, by namespace and name; how many there are is no matter.
///
/// # Errors
/// Where an entry cannot be read: a list of which a part is unknown decides nothing.
pub fn read(object: &Object) -> Result<BTreeSet<(&str, &str)>, Vec<Fault>> {
    let mut faults = Faults::new(Code::UnreadableObject);
    let mut profiles = BTreeSet::new();
    // The list is required, and may be empty. A slice that keeps it elsewhere must not count as one that lists nothing.
    let help =
        "Write `decisions: []` if it lists none; other schedulers keep the list elsewhere, where nobody reads it.";
    let decisions = faults.needed_at(&object.body, "", &["decisions"], help);
    if let Some(other) = decisions.filter(|node| !matches!(node, Node::List(_))) {
        faults.wrong_type("decisions", other, "a list");
    }
    for (index, decision) in decisions.map(Node::items).unwrap_or_default().iter().enumerate() {
        let at = format!("decisions[{index}]");
        let name = faults.needed(decision, &at, &["clusterProfileRef", "name"]);
        let namespace = faults.text(decision, &at, &["clusterProfileRef", "namespace"]);
        let namespace = namespace.unwrap_or_else(|| object.key.namespace_text());
        // The API knows neither field. The KEP's own example has them, and Sveltos has a ClusterProfile too.
        let kind = faults.text(decision, &at, &["clusterProfileRef", "kind"]);
        let api_version = faults.text(decision, &at, &["clusterProfileRef", "apiVersion"]);
        let group = api_version.map(|text| split_api_version(text).0);
        if kind.is_some_and(|kind| kind != "ClusterProfile") || group.is_some_and(|group| group != MULTICLUSTER) {
            let message = format!("{at}.clusterProfileRef names no ClusterProfile of {MULTICLUSTER}");
            faults.add(message, "Remove `kind` and `apiVersion`: only ClusterProfiles can stand here.");
        }
        profiles.extend(name.map(|name| (namespace, name)));
    }
    faults.settle(Some(profiles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use alloc::string::String;

    const HEAD: &str =
        "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: PlacementDecision\nmetadata: {name: a, namespace: here}\n";

    fn slice(rest: &str) -> Object {
        object(&format!("{HEAD}{rest}\n"))
    }

    #[test]
    fn an_empty_namespace_is_the_slices_own() {
        let object = slice(
            "decisions: [{clusterProfileRef: {name: x, namespace: ''}}, {clusterProfileRef: {name: x}}, \
             {clusterProfileRef: {name: two, namespace: there, apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile}, reason: z}]",
        );
        assert_eq!(read(&object).unwrap().into_iter().collect::<Vec<_>>(), [("here", "x"), ("there", "two")]);
        assert!(read(&slice("decisions: []")).unwrap().is_empty());
    }

    #[test]
    fn more_than_a_hundred_are_read_all() {
        let many: Vec<_> = (0..150).map(|n| format!("{{clusterProfileRef: {{name: c{n}}}}}")).collect();
        assert_eq!(read(&slice(&format!("decisions: [{}]", many.join(", ")))).unwrap().len(), 150);
    }

    #[test]
    fn a_list_of_which_a_part_cannot_be_read_is_none() {
        for (rest, expect) in [
            (
                "decisions: [{clusterProfileRef: {}}, {clusterProfileRef: {name: x}}]",
                "decisions[0].clusterProfileRef.name is missing or empty",
            ),
            (
                "decisions: [{clusterProfileRef: {name: 7}}]",
                "decisions[0].clusterProfileRef.name is an integer, not text",
            ),
            (
                "decisions: [{clusterProfileRef: {name: x, namespace: []}}]",
                "decisions[0].clusterProfileRef.namespace is a list, not text",
            ),
            ("decisions: [{clusterProfileRef: x}]", "decisions[0].clusterProfileRef is text, not a map"),
            ("decisions: [x]", "decisions[0] is text, not a map"),
            ("decisions: {a: {clusterProfileRef: {name: x}}}", "decisions is a map, not a list"),
            ("decisions: null", "decisions is missing"),
            ("status: {decisions: [{clusterName: x}]}", "decisions is missing"),
            (
                "decisions: [{clusterProfileRef: {name: x, kind: ManagedCluster}}]",
                "decisions[0].clusterProfileRef names no ClusterProfile of multicluster.x-k8s.io",
            ),
            (
                "decisions: [{clusterProfileRef: {name: x, apiVersion: config.projectsveltos.io/v1beta1}}]",
                "decisions[0].clusterProfileRef names no ClusterProfile of multicluster.x-k8s.io",
            ),
        ] {
            let object = slice(rest);
            let faults = read(&object).unwrap_err();
            let messages: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
            assert_eq!(messages.first().map(String::as_str), Some(expect), "{rest}");
        }
    }
}
