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
use super::path::{BundlePath, Leaf};
use super::place::Layout;
use super::split::Part;
use crate::yaml::emit::Tree;

/// The file that kustomize looks for in a folder.
pub const FILE: &str = "kustomization.yaml";

/// All kustomizations of a region except those of its delivery.
///
/// `objects` are the paths of its objects, `leaves` those of all kinds, also of those that hold nothing any more. A
/// folder without content lists `[]`: kustomize refuses a file without `resources`, and the consumer needs the empty
/// list to prune what the folder held.
pub fn files(layout: &Layout<'_>, objects: &BTreeSet<BundlePath>, leaves: &BTreeSet<Leaf>) -> Files {
    trees(layout, objects, leaves).into_iter().map(|(path, tree)| (path, text(&tree))).collect()
}

fn trees<'a>(
    layout: &Layout<'_>,
    objects: &'a BTreeSet<BundlePath>,
    leaves: &'a BTreeSet<Leaf>,
) -> BTreeMap<BundlePath, Tree<'a>> {
    let (region, splits) = (layout.folder(), layout.splits);
    let mut all: BTreeMap<BundlePath, Tree<'a>> = BTreeMap::new();
    let mut add = |folder: &BundlePath, resources: Vec<Cow<'a, str>>| {
        all.insert(folder.join(FILE), tree(resources));
    };
    let core = splits.of(&Leaf::core()).is_none().then_some("core");
    let parts = || splits.parts().map(|part| Cow::Owned(format!("parts/{part}")));
    add(&region, core.into_iter().chain(["identities"]).map(Cow::Borrowed).chain(parts()).collect());
    add(&region.join("open"), open_folders(layout));
    let identities = region.join("identities");
    let whole = || leaves.iter().filter(|leaf| splits.of(leaf).is_none());
    add(&identities, whole().map(|leaf| Cow::Borrowed(leaf.as_str())).collect());
    let mut lists: Vec<BundlePath> = whole().map(|leaf| identities.join(leaf.as_str())).collect();
    if core.is_some() {
        let folders = ["configmaps", "namespaces", "secrets"];
        add(&region.join("core"), borrowed(folders));
        lists.extend(folders.map(|folder| region.join("core").join(folder)));
    }
    for part in splits.parts() {
        let folder = part.folder(layout.directory);
        if part.leaf == Leaf::core() {
            add(&folder, borrowed(["configmaps", "secrets"]));
            lists.extend(["configmaps", "secrets"].map(|list| folder.join(list)));
        } else {
            lists.push(folder);
        }
    }
    for folder in lists {
        let files = below(objects, &folder).map(Cow::Borrowed).collect();
        add(&folder, files);
    }
    all
}

/// The folders that hold no Secret, as seen from a folder beside them.
pub(super) fn open_folders(layout: &Layout<'_>) -> Vec<Cow<'static, str>> {
    let whole = match layout.splits.of(&Leaf::core()) {
        None => ["core/configmaps", "core/namespaces", "identities"].as_slice(),
        Some(_) => &["identities"],
    };
    let open = |part: Part| match part.leaf == Leaf::core() {
        true => format!("parts/{part}/configmaps"),
        false => format!("parts/{part}"),
    };
    whole.iter().map(|folder| beside(folder)).chain(layout.splits.parts().map(|part| beside(&open(part)))).collect()
}

/// The folders that hold the Secrets.
pub(super) fn sealed_folders(layout: &Layout<'_>) -> Vec<BundlePath> {
    let core = Leaf::core();
    match layout.splits.of(&core) {
        None => [layout.folder().join("core/secrets")].into(),
        Some(_) => layout.splits.parts_of(&core).map(|part| part.folder(layout.directory).join("secrets")).collect(),
    }
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
    use super::super::path;
    use super::super::sample::object_paths;
    use super::super::split::Splits;
    use super::*;
    use crate::config::Delivery;
    use crate::name::Directory;
    use crate::testing::json_of;
    use alloc::string::{String, ToString as _};
    use serde_json::json;

    fn sample(objects: &BTreeSet<BundlePath>, kept: &[&str]) -> BTreeMap<String, serde_json::Value> {
        let (fleet, directory) = ("acme".into(), Directory::from("eu"));
        let kept = kept.iter().map(|kind| Leaf::of(&crate::name::GroupKind::new("x.io", kind)));
        let leaves = objects.iter().filter_map(|path| Leaf::of_path(&directory, path.as_str())).chain(kept).collect();
        let (delivery, splits) = (&Delivery::None, Splits::none());
        let layout =
            Layout { fleet: &fleet, directory: &directory, delivery, output: "bundles", splits, registered: None };
        trees(&layout, objects, &leaves).into_iter().map(|(path, tree)| (path.to_string(), json_of(&tree))).collect()
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
