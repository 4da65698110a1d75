//! The `kustomization.yaml` of every folder.
//!
//! Each lists exactly what stands below it, from a fixed shape with `apiVersion`, `kind` and
//! `resources` only, so that nothing from a source can become a generator, a patch or a remote base.
//! Folders refer to folders that have a `kustomization.yaml` of their own, which kustomize's default
//! load restrictor allows also across `..`; files are listed only by the folder above them.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::file::{Files, text};
use super::path::{self, BundlePath, Leaf};
use crate::name::Directory;
use crate::yaml::emit::Tree;

/// The file that kustomize looks for in a folder.
pub const FILE: &str = "kustomization.yaml";

/// All kustomizations of a region except those of its delivery.
///
/// `objects` are the paths of its objects, `leaves` all leaves, also those that hold nothing any
/// more. A folder without content lists `[]`: kustomize refuses a file without `resources`, and the
/// consumer needs the empty list to prune what the folder held.
pub fn files(directory: &Directory, objects: &BTreeSet<BundlePath>, leaves: &BTreeSet<Leaf>) -> Files {
    trees(directory, objects, leaves).into_iter().map(|(path, tree)| (path, text(&tree))).collect()
}

fn trees<'a>(
    directory: &Directory,
    objects: &'a BTreeSet<BundlePath>,
    leaves: &'a BTreeSet<Leaf>,
) -> BTreeMap<BundlePath, Tree<'a>> {
    let region = path::region(directory);
    let mut all: BTreeMap<BundlePath, Tree<'a>> = BTreeMap::new();
    let mut add = |folder: &BundlePath, resources: Vec<Cow<'a, str>>| {
        all.insert(folder.join(FILE), tree(resources));
    };
    add(&region, borrowed(["core", "identities"]));
    add(&region.join("core"), borrowed(["configmaps", "namespaces", "secrets"]));
    add(&region.join("open"), open_folders().to_vec());
    let identities = region.join("identities");
    add(&identities, leaves.iter().map(|leaf| Cow::Borrowed(leaf.as_str())).collect());
    let lists = ["core/configmaps", "core/namespaces", "core/secrets"].map(|folder| region.join(folder));
    for folder in lists.into_iter().chain(leaves.iter().map(|leaf| identities.join(leaf.as_str()))) {
        let files = below(objects, &folder).map(Cow::Borrowed).collect();
        add(&folder, files);
    }
    all
}

/// The folders that hold no Secret, as seen from a folder beside them.
pub(super) fn open_folders() -> [Cow<'static, str>; 3] {
    ["../core/configmaps", "../core/namespaces", "../identities"].map(Cow::Borrowed)
}

/// What remains of all paths below `folder`, sorted.
pub(super) fn below<'a>(
    objects: &'a BTreeSet<BundlePath>,
    folder: &BundlePath,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let first = folder.join("");
    objects.range(first.clone()..).map_while(move |path| path.as_str().strip_prefix(first.as_str()))
}

fn borrowed<'a, const N: usize>(names: [&'static str; N]) -> Vec<Cow<'a, str>> {
    names.map(Cow::Borrowed).to_vec()
}

/// A Kustomization of `resources`.
pub(super) fn tree<'a>(resources: impl IntoIterator<Item = Cow<'a, str>>) -> Tree<'a> {
    Tree::map([
        ("apiVersion", Tree::text("kustomize.config.k8s.io/v1beta1")),
        ("kind", Tree::text("Kustomization")),
        ("resources", Tree::List(resources.into_iter().map(Tree::Text).collect())),
    ])
}

/// A file listed from the folder beside it.
pub(super) fn beside(rest: &str) -> Cow<'static, str> {
    Cow::Owned(format!("../{rest}"))
}

#[cfg(test)]
mod tests {
    use super::super::sample::object_paths;
    use super::*;
    use crate::testing::json_of;
    use alloc::string::{String, ToString as _};
    use serde_json::json;

    fn sample(objects: &BTreeSet<BundlePath>, kept: &[&str]) -> BTreeMap<String, serde_json::Value> {
        let directory = Directory::from("eu");
        let kept = kept.iter().map(|kind| Leaf::of(&crate::name::GroupKind::new("x.io", kind)));
        let leaves = objects.iter().filter_map(|path| Leaf::of_path(&directory, path)).chain(kept).collect();
        trees(&directory, objects, &leaves).into_iter().map(|(path, tree)| (path.to_string(), json_of(&tree))).collect()
    }

    #[test]
    fn every_folder_lists_what_stands_in_it() {
        let files = sample(&object_paths("eu"), &["Gone"]);
        let resources = |path: &str| files[path]["resources"].clone();
        assert_eq!(
            files["regions/eu/kustomization.yaml"],
            json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["core", "identities"]})
        );
        assert_eq!(resources("regions/eu/core/kustomization.yaml"), json!(["configmaps", "namespaces", "secrets"]));
        assert_eq!(
            resources("regions/eu/core/configmaps/kustomization.yaml"),
            json!(["team-a/aws-resource-template.yaml"])
        );
        assert_eq!(resources("regions/eu/core/namespaces/kustomization.yaml"), json!(["team-a.yaml"]));
        assert_eq!(
            resources("regions/eu/core/secrets/kustomization.yaml"),
            json!(["kcm-system/aws.sops.yaml", "team-a/aws.sops.yaml"])
        );
        assert_eq!(
            resources("regions/eu/identities/kustomization.yaml"),
            json!(["cluster.x.io", "gone.x.io", "spaced.x.io"])
        );
        assert_eq!(resources("regions/eu/identities/cluster.x.io/kustomization.yaml"), json!(["aws.yaml"]));
        assert_eq!(resources("regions/eu/identities/gone.x.io/kustomization.yaml"), json!([]));
        assert_eq!(resources("regions/eu/identities/spaced.x.io/kustomization.yaml"), json!(["team-a/aws.yaml"]));
        assert_eq!(
            resources("regions/eu/open/kustomization.yaml"),
            json!(["../core/configmaps", "../core/namespaces", "../identities"])
        );
        assert_eq!(files.len(), 10);
    }

    #[test]
    fn a_region_without_objects_is_whole() {
        let files = sample(&BTreeSet::new(), &[]);
        for folder in ["core/configmaps", "core/namespaces", "core/secrets", "identities"] {
            assert_eq!(files[&format!("regions/eu/{folder}/kustomization.yaml")]["resources"], json!([]), "{folder}");
        }
        assert_eq!(files.len(), 7);
    }

    /// S10: only the three fields, and every resource is a file or a folder of the bundle.
    #[test]
    fn nothing_but_local_files_and_folders_is_ever_listed() {
        let mut objects = object_paths("eu");
        let directory = Directory::from("eu");
        for hostile in
            ["https://x/y?ref=z", "../../../etc", "a\nresources: [x]", "github.com/a/b//c", "-", "kustomization"]
        {
            for kind in ["Secret", "ConfigMap", "Namespace"] {
                let key = crate::name::ObjectKey::new(
                    crate::name::GroupKind::new("", kind),
                    (kind != "Namespace").then(|| hostile.into()),
                    hostile.into(),
                );
                objects.insert(path::of_object(&directory, &key));
            }
        }
        let files = sample(&objects, &["Gone", "https://evil"]);
        let mut listed = BTreeSet::new();
        for (path, file) in &files {
            let fields: Vec<&str> = file.as_object().expect("a map").keys().map(String::as_str).collect();
            assert_eq!(fields, ["apiVersion", "kind", "resources"]);
            let folder = path.strip_suffix("/kustomization.yaml").expect("its name");
            for resource in file["resources"].as_array().expect("a list") {
                let resource = resource.as_str().expect("text");
                let target = match resource.strip_prefix("../") {
                    Some(rest) => format!("{}/{rest}", folder.rsplit_once('/').expect("a parent").0),
                    None => format!("{folder}/{resource}"),
                };
                let target = BundlePath::parse(&target).expect("a plain path");
                let is_folder = files.contains_key(&format!("{target}/kustomization.yaml"));
                assert!(is_folder || objects.contains(&target), "{path} lists {resource}");
                listed.insert(target);
            }
        }
        assert!(objects.iter().all(|object| listed.contains(object)), "an object that nobody lists");
    }
}
