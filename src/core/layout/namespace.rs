//! The Namespaces that pouch makes, so that what it publishes has a place to land.
//!
//! A Namespace holds far more than what came with it. So each carries marks that keep every consumer from deleting it,
//! and from touching a Namespace that was there first.

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::style::{MANAGED_BY, MANAGED_BY_LABEL, Style};
use crate::kinds;
use crate::name::Namespace;
use crate::yaml::emit::{Tree, TreeMap};

/// Whether a bundle holds the Namespace that its objects land in.
///
/// The system namespace, `default` and `kube-*` exist on every region without pouch.
pub fn is_emitted(namespace: &Namespace, system: &Namespace) -> bool {
    namespace != system && !namespace.is_everywhere()
}

/// The document of a Namespace with the labels that the region's configuration gives it.
pub fn tree<'a>(namespace: &'a Namespace, labels: Option<&'a BTreeMap<String, String>>, style: Style) -> Tree<'a> {
    let labels = labels.into_iter().flatten();
    let mut all: TreeMap<'a> = labels.map(|(key, value)| (key.as_str(), Tree::text(value.as_str()))).collect();
    // An existing Namespace is left alone, unless there are labels to keep up there.
    let apply = if all.is_empty() { "IfNotPresent" } else { "Merge" };
    all.insert(MANAGED_BY_LABEL, Tree::text(MANAGED_BY));
    let annotations = kinds::NEVER_DELETED
        .map(|(key, value)| (key, Tree::text(value)))
        .into_iter()
        .chain([("kustomize.toolkit.fluxcd.io/ssa", Tree::text(apply))]);
    // Argo CD would call an Application out of sync for ever, because of a Namespace that left it and that it may not
    // remove.
    let argocd = [("argocd.argoproj.io/compare-options", "IgnoreExtraneous"), ("argocd.argoproj.io/sync-wave", "-3")];
    let argocd = argocd.into_iter().filter(|_| style == Style::ArgoCd).map(|(key, value)| (key, Tree::text(value)));
    Tree::map([
        ("apiVersion", Tree::text("v1")),
        ("kind", Tree::text("Namespace")),
        (
            "metadata",
            Tree::map([
                ("annotations", Tree::map(annotations.chain(argocd))),
                ("labels", Tree::Map(all)),
                ("name", Tree::text(namespace.as_str())),
            ]),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::json_of;
    use serde_json::json;

    #[test]
    fn a_namespace_is_made_gently_and_never_deleted() {
        let namespace = "team-a".into();
        let tree = tree(&namespace, None, Style::Flux);
        assert_eq!(
            json_of(&tree),
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "annotations": {
                        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
                        "kustomize.toolkit.fluxcd.io/prune": "disabled",
                        "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent",
                    },
                    "labels": {"app.kubernetes.io/managed-by": "pouch"},
                    "name": "team-a",
                },
            })
        );
    }

    #[test]
    fn configured_labels_are_merged_and_ours_wins() {
        let labels = BTreeMap::from([("env".into(), "prod".into()), (MANAGED_BY_LABEL.into(), "me".into())]);
        let namespace = "team-a".into();
        let value = json_of(&tree(&namespace, Some(&labels), Style::ArgoCd));
        assert_eq!(value["metadata"]["labels"], json!({"app.kubernetes.io/managed-by": "pouch", "env": "prod"}));
        assert_eq!(value["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/ssa"], "Merge");
        assert_eq!(value["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"], "-3");
        let none = BTreeMap::new();
        let value = json_of(&tree(&namespace, Some(&none), Style::Plain));
        assert_eq!(value["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/ssa"], "IfNotPresent");
        assert!(value["metadata"]["annotations"].get("argocd.argoproj.io/sync-wave").is_none());
    }

    #[test]
    fn namespaces_that_others_make_are_not_emitted() {
        for (namespace, emitted) in [
            ("kcm-system", false),
            ("default", false),
            ("kube-system", false),
            ("kube-public", false),
            ("kube-anything", false),
            ("kube", true),
            ("kubes", true),
            ("team-a", true),
            ("defaults", true),
        ] {
            assert_eq!(is_emitted(&namespace.into(), &"kcm-system".into()), emitted, "{namespace}");
        }
        assert!(is_emitted(&"kcm-system".into(), &"k0rdent".into()));
    }
}
