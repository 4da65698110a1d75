//! What makes Flux apply a region's bundle: one Kustomization for the core, one per identity kind, or one for each part
//! of what is split.
//!
//! They are apart so that a CRD which the region lacks stops that kind only. They are safe by default: deleting a
//! Kustomization orphans what it applied, nothing is substituted, and each brings its own decryption, because Flux does
//! not inherit it.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::super::file::{Files, text};
use super::super::kustomization;
use super::super::path::{self, BundlePath, Leaf, delivery_name};
use super::super::place::Layout;
use super::super::split::Part;
use super::super::style::{MANAGED_BY, MANAGED_BY_LABEL};
use crate::config::{Flux, HealthCheck};
use crate::yaml::emit::Tree;

/// The files below `flux/<directory>`, and the empty folder of what is split.
pub fn files(layout: &Layout<'_>, flux: &Flux, leaves: &BTreeSet<Leaf>) -> Files {
    trees(layout, flux, leaves).into_iter().map(|(path, tree)| (path, text(&tree))).collect()
}

/// What a region's Kustomizations are called.
struct Names<'a> {
    layout: &'a Layout<'a>,
    /// What all of them begin with.
    first: String,
}

impl<'a> Names<'a> {
    /// On a hub, other fleets may have a region of the same name. No fleet's name has a dot in it, so the two parts of
    /// this one are told apart.
    fn new(layout: &'a Layout<'_>, flux: &Flux) -> Self {
        let first = match flux.kube_config {
            Some(_) => format!("{}.{}", layout.fleet, layout.directory),
            None => layout.directory.as_str().to_string(),
        };
        Self { layout, first }
    }

    /// Those that bring a leaf: its own, or those of its parts.
    fn bringing(&self, leaf: &Leaf) -> Vec<String> {
        let splits = self.layout.splits;
        match splits.of(leaf) {
            None => [self.of(leaf)].into(),
            Some(_) => splits.parts_of(leaf).map(|part| self.of_part(&part)).collect(),
        }
    }

    fn of(&self, leaf: &Leaf) -> String {
        delivery_name(&format!("{}-{leaf}", self.first))
    }

    fn of_part(&self, part: &Part) -> String {
        delivery_name(&format!("{}-{}-{}-of-{}", self.first, part.leaf, part.number, part.of))
    }
}

/// A Kustomization for each leaf and part.
///
/// Identities alone wait for what the user wants looked at, because nothing waits for them: were it the core, then a
/// provider that does not start would keep the identity from the region that lets it start.
///
/// What held a leaf before it was split, or before its parts were doubled, stays, to prune what leaves the bundle: it
/// applies an empty folder, once everything that it held belongs to others. Flux prunes only what still has its label.
fn trees<'a>(layout: &Layout<'_>, flux: &'a Flux, leaves: &BTreeSet<Leaf>) -> BTreeMap<BundlePath, Tree<'a>> {
    let (region, splits, names) = (layout.folder(), layout.splits, Names::new(layout, flux));
    let folder = path::flux(layout.directory);
    let core = Leaf::core();
    let secrets = names.bringing(&core);
    let emptied = region.join("parts/emptied");
    let applied = |folder: &BundlePath| layout.in_repository(folder);
    let checks_of = |leaf: &Leaf| if leaf.is_of_kind() { &*flux.health_checks } else { &[] };
    let mut objects = BTreeMap::new();
    for leaf in [&core].into_iter().chain(leaves) {
        let (stands, depends_on) = match splits.of(leaf) {
            Some(_) => (emptied.clone(), names.bringing(leaf)),
            None if leaf.is_of_kind() => (region.join("identities").join(leaf.as_str()), secrets.clone()),
            None => (region.join("core"), Vec::new()),
        };
        let file = folder.join(&format!("{leaf}.yaml"));
        let checks = if splits.of(leaf).is_none() { checks_of(leaf) } else { &[] };
        objects.insert(file, object(flux, names.of(leaf), applied(&stands), (depends_on, checks)));
    }
    let file = |part: &Part| folder.join(&format!("parts/{part}.yaml"));
    for part in splits.parts() {
        let depends_on = match &part.leaf {
            leaf if leaf.is_of_kind() => secrets.clone(),
            leaf if *leaf == core => names.bringing(&Leaf::namespaces()),
            _ => Vec::new(),
        };
        let stands = part.folder(layout.directory);
        let waits = (depends_on, checks_of(&part.leaf));
        objects.insert(file(&part), object(flux, names.of_part(&part), applied(&stands), waits));
    }
    for part in splits.former() {
        let depends_on = names.bringing(&part.leaf);
        objects.insert(file(&part), object(flux, names.of_part(&part), applied(&emptied), (depends_on, &[])));
    }
    // Without a kustomization, Flux would make one up from every YAML file below.
    let listed: Vec<_> = objects.keys().filter_map(|path| path.below(&folder)).map(String::from).collect();
    objects.insert(folder.join(kustomization::FILE), kustomization::tree(listed.into_iter().map(Cow::Owned)));
    if !splits.is_none() {
        objects.insert(emptied.join(kustomization::FILE), kustomization::tree([]));
    }
    objects
}

/// A Kustomization that applies a folder, after those that it depends on; it is ready once the objects of `checks` are.
fn object<'a>(
    flux: &'a Flux,
    name: String,
    applied: String,
    (depends_on, checks): (Vec<String>, &'a [HealthCheck]),
) -> Tree<'a> {
    let decryption = Tree::map([
        ("provider", Tree::text("sops")),
        ("secretRef", Tree::map([("name", Tree::text(flux.decryption_secret.as_str()))])),
    ]);
    let source =
        Tree::map([("kind", Tree::text(flux.source_kind.as_str())), ("name", Tree::text(flux.source_name.as_str()))]);
    let spec = [
        ("decryption", decryption),
        ("deletionPolicy", Tree::text("Orphan")),
        ("interval", Tree::text(flux.interval.as_str())),
        ("path", Tree::text(format!("./{applied}"))),
        ("prune", Tree::Bool(true)),
        ("retryInterval", Tree::text(flux.retry_interval.as_str())),
        ("sourceRef", source),
    ];
    // Flux runs elsewhere, and applies to the region from there.
    let kube_config = flux.kube_config.as_ref().map(|(name, key)| {
        let key = key.as_ref().map(|key| ("key", Tree::text(key.as_str())));
        let named = Tree::map([("name", Tree::text(name.as_str()))].into_iter().chain(key));
        ("kubeConfig", Tree::map([("secretRef", named)]))
    });
    let account = flux.service_account.as_ref().map(|name| ("serviceAccountName", Tree::text(name.as_str())));
    let timeout = flux.timeout.as_ref().map(|timeout| ("timeout", Tree::text(timeout.as_str())));
    let wait = flux.wait.then_some(("wait", Tree::Bool(true)));
    let checks =
        (!checks.is_empty()).then(|| ("healthChecks", Tree::List(checks.iter().map(HealthCheck::tree).collect())));
    let more = kube_config.into_iter().chain(account).chain(timeout).chain(wait).chain(checks);
    let named = depends_on.into_iter().map(|name| Tree::map([("name", Tree::text(name))])).collect::<Vec<_>>();
    let depends_on = (!named.is_empty()).then_some(("dependsOn", Tree::List(named)));
    Tree::map([
        ("apiVersion", Tree::text("kustomize.toolkit.fluxcd.io/v1")),
        ("kind", Tree::text("Kustomization")),
        (
            "metadata",
            Tree::map([
                ("labels", Tree::map([(MANAGED_BY_LABEL, Tree::text(MANAGED_BY))])),
                ("name", Tree::text(name)),
                ("namespace", Tree::text(flux.namespace.as_str())),
            ]),
        ),
        ("spec", Tree::map(spec.into_iter().chain(more).chain(depends_on))),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::super::split::Splits;
    use super::*;
    use crate::config::Delivery;
    use crate::name::GroupKind;
    use crate::testing::json_of;
    use serde_json::json;

    fn plain() -> Flux {
        Flux {
            namespace: "flux-system".into(),
            source_kind: "GitRepository".into(),
            source_name: "fleet".into(),
            decryption_secret: "sops-age".into(),
            interval: "10m".into(),
            retry_interval: "1m".into(),
            timeout: None,
            wait: false,
            health_checks: Vec::new(),
            service_account: None,
            kube_config: None,
        }
    }

    fn sample(directory: &str, output: &str, kinds: &[(&str, &str)]) -> BTreeMap<String, serde_json::Value> {
        files_of(&plain(), directory, output, kinds)
    }

    fn files_of(
        flux: &Flux,
        directory: &str,
        output: &str,
        kinds: &[(&str, &str)],
    ) -> BTreeMap<String, serde_json::Value> {
        let leaves = kinds.iter().map(|(group, kind)| Leaf::of(&GroupKind::new(group, kind))).collect();
        let (fleet, directory, delivery) = ("acme".into(), directory.into(), Delivery::Flux(flux.clone()));
        let layout = Layout {
            fleet: &fleet,
            directory: &directory,
            delivery: &delivery,
            output,
            splits: Splits::none(),
            registered: None,
        };
        let trees = trees(&layout, flux, &leaves);
        trees.into_iter().map(|(path, tree)| (path.to_string(), json_of(&tree))).collect()
    }

    /// Fleets that share a hub may have regions of one name.
    #[test]
    fn on_a_hub_a_name_says_whose_region_it_is() {
        let flux = Flux { kube_config: Some(("eu-kubeconfig".into(), None)), ..plain() };
        let delivery = Delivery::Flux(flux.clone());
        let (directory, splits) = ("eu".into(), Splits::none());
        let named = |fleet: &str| {
            let fleet = fleet.into();
            let layout = Layout {
                fleet: &fleet,
                directory: &directory,
                delivery: &delivery,
                output: "bundles",
                splits,
                registered: None,
            };
            let leaves = [Leaf::of(&GroupKind::new("x.io", "Thing"))].into();
            let trees = trees(&layout, &flux, &leaves);
            let tree = |path: &str| json_of(&trees[&path::flux(&directory).join(path)]);
            let (core, thing) = (tree("core.yaml"), tree("thing.x.io.yaml"));
            assert_eq!(thing["spec"]["dependsOn"][0]["name"], core["metadata"]["name"]);
            [core, thing].map(|it| it["metadata"]["name"].as_str().unwrap().to_string())
        };
        assert_eq!(named("acme"), ["acme.eu-core", "acme.eu-thing.x.io"]);
        assert_eq!(named("other"), ["other.eu-core", "other.eu-thing.x.io"]);
    }

    #[test]
    fn the_core_goes_first_and_each_kind_follows_on_its_own() {
        let files = sample("eu-west", "bundles", &[("x.io", "Thing")]);
        let core = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {
                "labels": {"app.kubernetes.io/managed-by": "pouch"},
                "name": "eu-west-core",
                "namespace": "flux-system",
            },
            "spec": {
                "decryption": {"provider": "sops", "secretRef": {"name": "sops-age"}},
                "deletionPolicy": "Orphan",
                "interval": "10m",
                "path": "./bundles/regions/eu-west/core",
                "prune": true,
                "retryInterval": "1m",
                "sourceRef": {"kind": "GitRepository", "name": "fleet"},
            },
        });
        let mut thing = core.clone();
        thing["metadata"]["name"] = json!("eu-west-thing.x.io");
        thing["spec"]["path"] = json!("./bundles/regions/eu-west/identities/thing.x.io");
        thing["spec"]["dependsOn"] = json!([{"name": "eu-west-core"}]);
        assert_eq!(files["flux/eu-west/core.yaml"], core);
        assert_eq!(files["flux/eu-west/thing.x.io.yaml"], thing);
        assert_eq!(files["flux/eu-west/kustomization.yaml"]["resources"], json!(["core.yaml", "thing.x.io.yaml"]));
        assert_eq!(files.len(), 3);
    }

    /// What waits for nothing of them is the core: a provider may need its Secrets to start.
    #[test]
    fn identities_alone_wait_for_health_checks() {
        let check = HealthCheck {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            name: "capa-controller-manager".into(),
            namespace: Some("kcm-system".into()),
        };
        let flux = Flux { health_checks: vec![check], interval: "1h".into(), retry_interval: "2m".into(), ..plain() };
        let files = files_of(&flux, "eu", "b", &[("x.io", "Thing")]);
        let spec = |file: &str| files[&format!("flux/eu/{file}.yaml")]["spec"].clone();
        assert!(spec("core").get("healthChecks").is_none());
        let expect = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "capa-controller-manager",
            "namespace": "kcm-system"}]);
        assert_eq!(spec("thing.x.io")["healthChecks"], expect);
        for (field, said) in [("interval", "1h"), ("retryInterval", "2m")] {
            assert_eq!([&spec("core")[field], &spec("thing.x.io")[field]], [said, said]);
        }
    }

    #[test]
    fn a_flux_elsewhere_applies_by_a_kubeconfig() {
        let flux = Flux {
            timeout: Some("2m".into()),
            wait: true,
            service_account: Some("pouch".into()),
            kube_config: Some(("eu-kubeconfig".into(), Some("value.yaml".into()))),
            ..plain()
        };
        let spec =
            json_of(&object(&flux, "eu-core".into(), "b/regions/eu/core".into(), (Vec::new(), &[])))["spec"].take();
        assert_eq!(spec["kubeConfig"], json!({"secretRef": {"name": "eu-kubeconfig", "key": "value.yaml"}}));
        assert_eq!(spec["serviceAccountName"], "pouch");
        assert_eq!((&spec["timeout"], &spec["wait"]), (&json!("2m"), &json!(true)));
        let without = Flux { kube_config: Some(("eu-kubeconfig".into(), None)), ..plain() };
        let spec =
            json_of(&object(&without, "eu-core".into(), "b/regions/eu/core".into(), (Vec::new(), &[])))["spec"].take();
        assert_eq!(spec["kubeConfig"], json!({"secretRef": {"name": "eu-kubeconfig"}}));
        assert!(spec.get("wait").is_none() && spec.get("timeout").is_none());
    }

    #[test]
    fn paths_are_as_the_repository_has_them() {
        for (output, expect) in [
            ("bundles", "./bundles/regions/eu/core"),
            ("./a/b/", "./a/b/regions/eu/core"),
            (".", "./regions/eu/core"),
            ("", "./regions/eu/core"),
        ] {
            assert_eq!(sample("eu", output, &[])["flux/eu/core.yaml"]["spec"]["path"], expect, "{output:?}");
        }
    }

    #[test]
    fn names_are_bounded_and_stay_apart() {
        let directory = "a".repeat(40);
        let group = "infrastructure.cluster.x-k8s.io";
        let files = sample(&directory, "b", &[(group, "AWSClusterStaticIdentity"), (group, "AWSClusterRoleIdentity")]);
        let names: BTreeSet<&str> = files.values().filter_map(|file| file["metadata"]["name"].as_str()).collect();
        assert_eq!(names.len(), 3);
        for name in names {
            assert!(name.len() <= 63 && crate::name::is_dns_subdomain(name), "{name}");
        }
    }

    #[test]
    fn a_core_kind_called_core_does_not_meet_the_core() {
        let files = sample("eu", "b", &[("", "Core")]);
        assert_eq!(files.len(), 3);
        assert_eq!(files["flux/eu/core.yaml"]["metadata"]["name"], "eu-core");
    }
}
