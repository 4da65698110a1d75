//! What makes Argo CD apply a region's bundle: an Application, or an element of the ApplicationSet.
//!
//! They are safe by default: everything is applied server-side (client-side apply would copy each Secret's cleartext
//! into an annotation), deleting an Application leaves what it applied, and an ApplicationSet never deletes an
//! Application. Where KSOPS decrypts, the region also gets a folder of its own, since Flux could not build a folder
//! that names a generator.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::super::file::{Files, text};
use super::super::kustomization;
use super::super::path::{self, BundlePath, delivery_name};
use super::super::place::Layout;
use super::super::split::Splits;
use super::super::style::{MANAGED_BY, MANAGED_BY_LABEL};
use super::cluster;
use crate::config::{ArgoCd, ArgoDestination, ArgoKind, ArgoMode, Delivery, Fleet, OCI_SCHEME, Sign};
use crate::destination;
use crate::finding::{Code, Finding};
use crate::listing::few;
use crate::name::{Directory, FleetName, Name, Namespace};
use crate::node::Node;
use crate::yaml::emit::Tree;

const API_VERSION: &str = "argoproj.io/v1alpha1";

/// The files of one bundle: its Application, its cluster Secret, and for KSOPS `regions/<directory>/argocd`.
///
/// `objects` are the paths of its objects.
pub fn files(layout: &Layout<'_>, argo: &ArgoCd, objects: &BTreeSet<BundlePath>) -> Files {
    let files = trees(layout, argo, objects).into_iter().map(|(path, tree)| (path, text(&tree)));
    files.chain(layout.registered.map(|text| (cluster::file(layout.directory), text.into()))).collect()
}

fn trees<'a>(
    layout: &Layout<'_>,
    argo: &'a ArgoCd,
    objects: &'a BTreeSet<BundlePath>,
) -> BTreeMap<BundlePath, Tree<'a>> {
    let mut all = BTreeMap::new();
    if argo.mode == ArgoMode::Ksops {
        all.extend(ksops(layout, objects));
    }
    if argo.kind == ArgoKind::Application {
        all.insert(path::argocd(layout.directory).join("application.yaml"), application(layout, argo));
    }
    all
}

/// The kustomization that runs KSOPS, and the list of what KSOPS decrypts.
///
/// The generator names its files one by one. Without files, it is left out together with its list: KSOPS refuses an
/// empty one.
fn ksops<'a>(layout: &Layout<'_>, objects: &'a BTreeSet<BundlePath>) -> Vec<(BundlePath, Tree<'a>)> {
    let region = layout.folder();
    let folder = region.join("argocd");
    let folders = kustomization::sealed_folders(layout);
    let sealed: Vec<Tree<'a>> = folders
        .iter()
        .flat_map(|folder| {
            let shown = folder.below(&region).unwrap_or_default();
            let beside = move |rest: &str| Tree::Text(kustomization::beside(&format!("{shown}/{rest}")));
            kustomization::below(objects, folder).map(beside)
        })
        .collect();
    let mut kustomization = kustomization::tree(kustomization::open_folders(layout));
    if sealed.is_empty() {
        return vec![(folder.join(kustomization::FILE), kustomization)];
    }
    if let Tree::Map(fields) = &mut kustomization {
        fields.insert("generators", Tree::List(vec![Tree::text("ksops.yaml")]));
    }
    let generator = Tree::map([
        ("apiVersion", Tree::text("viaduct.ai/v1")),
        ("files", Tree::List(sealed)),
        ("kind", Tree::text("ksops")),
        (
            "metadata",
            Tree::map([
                ("annotations", Tree::map([("config.kubernetes.io/function", Tree::text("exec:\n  path: ksops\n"))])),
                ("name", Tree::text("secrets")),
            ]),
        ),
    ]);
    vec![(folder.join(kustomization::FILE), kustomization), (folder.join("ksops.yaml"), generator)]
}

fn application<'a>(layout: &Layout<'_>, argo: &'a ArgoCd) -> Tree<'a> {
    let fields = Fields {
        project: Cow::Borrowed(argo.project.as_str()),
        repo_url: Cow::Borrowed(&argo.repo_url),
        revision: Cow::Borrowed(&argo.target_revision),
        path: Cow::Owned(applied(layout, argo)),
        destination: Cow::Owned(argo.destination.filled(layout.directory)),
        by: argo.destination.field(),
    };
    Tree::map([
        ("apiVersion", Tree::text(API_VERSION)),
        ("kind", Tree::text("Application")),
        ("metadata", metadata(name(layout).into(), Some(&argo.namespace))),
        ("spec", spec(fields, argo, argo.refreshes)),
    ])
}

fn name(layout: &Layout<'_>) -> String {
    delivery_name(&format!("{}-{}", layout.fleet, layout.directory))
}

/// The folder that Argo CD builds: the region's own folder if a plugin decrypts in place.
fn applied(layout: &Layout<'_>, argo: &ArgoCd) -> String {
    match argo.mode {
        ArgoMode::Plugin => layout.in_repository(&layout.folder()),
        ArgoMode::Ksops => layout.in_repository(&layout.folder().join("argocd")),
    }
}

fn metadata<'a>(name: Cow<'a, str>, namespace: Option<&'a Namespace>) -> Tree<'a> {
    let fields = [("labels", Tree::map([(MANAGED_BY_LABEL, Tree::text(MANAGED_BY))])), ("name", Tree::Text(name))];
    let namespace = namespace.map(|namespace| ("namespace", Tree::text(namespace.as_str())));
    Tree::map(fields.into_iter().chain(namespace))
}

/// What differs from region to region.
struct Fields<'a> {
    project: Cow<'a, str>,
    repo_url: Cow<'a, str>,
    revision: Cow<'a, str>,
    path: Cow<'a, str>,
    destination: Cow<'a, str>,
    /// By what field the destination is named.
    by: &'static str,
}

impl Fields<'static> {
    /// The placeholders in an ApplicationSet's template for the elements' values.
    const fn template(by: &'static str) -> Self {
        Self {
            by,
            project: Cow::Borrowed("{{.project}}"),
            repo_url: Cow::Borrowed("{{.repoURL}}"),
            revision: Cow::Borrowed("{{.targetRevision}}"),
            path: Cow::Borrowed("{{.path}}"),
            destination: Cow::Borrowed("{{.destination}}"),
        }
    }
}

/// The spec of an Application. `allowEmpty` is left out: Argo CD then refuses to prune everything.
fn spec<'a>(fields: Fields<'a>, argo: &'a ArgoCd, refreshes: bool) -> Tree<'a> {
    let source = [
        ("path", Tree::Text(fields.path)),
        ("repoURL", Tree::Text(fields.repo_url)),
        ("targetRevision", Tree::Text(fields.revision)),
    ];
    // Without a name Argo CD asks every plugin whether it wants the folder.
    let plugin = || ("plugin", Tree::map(argo.plugin.as_ref().map(|name| ("name", Tree::text(name.as_str())))));
    let source = source.into_iter().chain((argo.mode == ArgoMode::Plugin).then(plugin));
    let backoff =
        Tree::map([("duration", Tree::text("30s")), ("factor", Tree::Int(2)), ("maxDuration", Tree::text("5m"))]);
    // Without it a revision that fails is tried again and again, and a commit with the cure behind it waits.
    let refresh = refreshes.then_some(("refresh", Tree::Bool(true)));
    let retry = Tree::map([("backoff", backoff), ("limit", Tree::Int(5))].into_iter().chain(refresh));
    let sync = Tree::map([
        ("automated", Tree::map([("prune", Tree::Bool(true)), ("selfHeal", Tree::Bool(true))])),
        ("retry", retry),
        // What goes, goes in the last wave, which is the only one that Argo CD does not wait for: a Secret that a finalizer
        // holds would keep the operation running, and every commit behind it waiting.
        ("syncOptions", Tree::List(vec![Tree::text("ServerSideApply=true"), Tree::text("PruneLast=true")])),
    ]);
    Tree::map([
        ("destination", Tree::map([(fields.by, Tree::Text(fields.destination))])),
        ("project", Tree::Text(fields.project)),
        ("source", Tree::map(source)),
        ("syncPolicy", sync),
    ])
}

/// The file of the fleet's ApplicationSets, if one of the layouts is delivered by one.
///
/// A list of elements, not a generator that looks at folders: regions come from the configuration
/// only. One ApplicationSet has one shape, so there is one per namespace, way of decrypting and field that names the
/// cluster; each has a name of its own that does not depend on the others, because renaming one would recreate it.
pub fn application_set(fleet: &FleetName, layouts: &[Layout<'_>]) -> Option<(BundlePath, String)> {
    let documents: Vec<String> = sets(layouts).iter().map(text).collect();
    (!documents.is_empty()).then(|| (path::application_set(fleet), documents.join("---\n")))
}

fn sets<'a>(layouts: &[Layout<'a>]) -> Vec<Tree<'a>> {
    let in_set: BTreeMap<&Directory, (&Layout<'a>, &'a ArgoCd)> = layouts.iter().filter_map(in_set).collect();
    // One namespace has one Argo CD: what one region says of its release holds for all.
    let older: BTreeSet<&Namespace> =
        in_set.values().filter(|(_, argo)| !argo.refreshes).map(|(_, argo)| &argo.namespace).collect();
    let mut shapes: BTreeMap<(&Namespace, String), (&'a ArgoCd, Vec<Tree<'a>>)> = BTreeMap::new();
    for (layout, argo) in in_set.into_values() {
        // No plugin's name makes one of these like another.
        let by = match argo.destination {
            ArgoDestination::Name(_) => "",
            ArgoDestination::Server(_) => "server-",
        };
        let shape = match (argo.mode, &argo.plugin) {
            (ArgoMode::Ksops, _) => String::from("ksops"),
            (ArgoMode::Plugin, None) => String::from("plugin"),
            (ArgoMode::Plugin, Some(plugin)) => format!("plugin-{plugin}"),
        };
        let name = format!("{}-{by}{shape}", layout.fleet);
        let (_, elements) = shapes.entry((&argo.namespace, name)).or_insert((argo, Vec::new()));
        elements.push(element(layout, argo));
    }
    let refreshes = |argo: &ArgoCd| !older.contains(&argo.namespace);
    shapes.into_iter().map(|((_, name), (argo, elements))| set(&name, (argo, refreshes(argo)), elements)).collect()
}

fn in_set<'l, 'a>(layout: &'l Layout<'a>) -> Option<(&'a Directory, (&'l Layout<'a>, &'a ArgoCd))> {
    match layout.delivery {
        Delivery::ArgoCd(argo) if argo.kind == ArgoKind::ApplicationSet => Some((layout.directory, (layout, argo))),
        _ => None,
    }
}

/// The text of a fleet's ApplicationSets as pouch writes it, made from what stands there instead of a configuration.
///
/// Names, projects, repositories, revisions and regions are those that the documents say. None if they are no such
/// ApplicationSets, or name a region that `theirs` denies.
pub fn inferred_sets(fleet: &FleetName, documents: &[Node], theirs: impl Fn(&Directory) -> bool) -> Option<String> {
    let mut texts = Vec::new();
    for document in documents {
        let plugin = document.at(&["spec", "template", "spec", "source", "plugin"]);
        let mode = if plugin.is_some() { ArgoMode::Plugin } else { ArgoMode::Ksops };
        let plugin: Option<Name> = plugin.and_then(|plugin| plugin.str_at(&["name"])).map(Name::from);
        let namespace: Namespace = document.str_at(&["metadata", "namespace"])?.into();
        let [list] = document.at(&["spec", "generators"])?.items() else { return None };
        let mut regions = BTreeMap::new();
        let mut output = None;
        let by_server = document.at(&["spec", "template", "spec", "destination", "server"]).is_some();
        let destination = |text: &str| match by_server {
            true => ArgoDestination::Server(text.into()),
            false => ArgoDestination::Name(text.into()),
        };
        for element in list.at(&["list", "elements"])?.items() {
            let text = |field: &str| element.str_at(&[field]);
            let argo = ArgoCd {
                namespace: namespace.clone(),
                project: text("project")?.into(),
                repo_url: text("repoURL")?.into(),
                target_revision: text("targetRevision")?.into(),
                destination: destination(text("destination")?),
                mode,
                plugin: plugin.clone(),
                kind: ArgoKind::ApplicationSet,
                refreshes: document.at(&["spec", "template", "spec", "syncPolicy", "retry", "refresh"]).is_some(),
                informs: true,
                cluster: None,
            };
            let path = text("path")?;
            let region = if mode == ArgoMode::Ksops { path.strip_suffix("/argocd")? } else { path };
            let (above, directory) = region.rsplit_once('/')?;
            let above = above.strip_suffix("regions")?.trim_end_matches('/');
            let directory = Directory::from(directory);
            // An artifact begins where a repository has the output's folder.
            let is_artifact = above.is_empty() && argo.repo_url.starts_with(OCI_SCHEME);
            if !theirs(&directory) || (!is_artifact && *output.get_or_insert(above) != above) {
                return None;
            }
            regions.insert(directory, (Delivery::ArgoCd(argo), above));
        }
        let layout = |(directory, place)| {
            let (delivery, output): &(Delivery, &str) = place;
            Layout { fleet, directory, delivery, output, splits: Splits::none(), registered: None }
        };
        texts.push(application_set(fleet, &regions.iter().map(layout).collect::<Vec<_>>())?.1);
    }
    Some(texts.join("---\n"))
}

fn element<'a>(layout: &Layout<'_>, argo: &'a ArgoCd) -> Tree<'a> {
    Tree::map([
        ("destination", Tree::text(argo.destination.filled(layout.directory))),
        ("name", Tree::text(name(layout))),
        ("path", Tree::text(applied(layout, argo))),
        ("project", Tree::text(argo.project.as_str())),
        ("repoURL", Tree::text(argo.repo_url.as_str())),
        ("targetRevision", Tree::text(argo.target_revision.as_str())),
    ])
}

fn set<'a>(name: &str, (argo, refreshes): (&'a ArgoCd, bool), elements: Vec<Tree<'a>>) -> Tree<'a> {
    let list = Tree::map([("list", Tree::map([("elements", Tree::List(elements))]))]);
    let template = Tree::map([
        ("metadata", metadata(Cow::Borrowed("{{.name}}"), None)),
        ("spec", spec(Fields::template(argo.destination.field()), argo, refreshes)),
    ]);
    let policy = Tree::map([
        ("applicationsSync", Tree::text("create-update")),
        ("preserveResourcesOnDeletion", Tree::Bool(true)),
    ]);
    Tree::map([
        ("apiVersion", Tree::text(API_VERSION)),
        ("kind", Tree::text("ApplicationSet")),
        ("metadata", metadata(delivery_name(name).into(), Some(&argo.namespace))),
        (
            "spec",
            Tree::map([
                ("generators", Tree::List(vec![list])),
                ("goTemplate", Tree::Bool(true)),
                ("goTemplateOptions", Tree::List(vec![Tree::text("missingkey=error")])),
                ("syncPolicy", policy),
                ("template", template),
            ]),
        ),
    ])
}

/// Reports commits that are signed by SSH where Argo CD is to apply them: it verifies signatures of GnuPG alone.
///
/// <https://argo-cd.readthedocs.io/en/stable/user-guide/gpg-verification/>
pub fn unverified(fleet: &Fleet) -> Option<Finding> {
    let git = fleet.output.git.as_ref().filter(|git| matches!(git.signing(), Sign::Ssh(_)))?;
    let by_argocd = destination::all(fleet).filter(|to| matches!(to.delivery(), Delivery::ArgoCd(_)));
    let regions: Vec<&str> = by_argocd.map(|to| to.region.name.as_str()).collect();
    let count = regions.len();
    let named = few(regions, count, SHOWN);
    let message =
        format!("commits of {} are signed by SSH, and Argo CD, which verifies GPG only, applies {named}", git.branch);
    let help = "Sign with `sign: gpg`; or have the plugin (`pouch unpack --allowed-signers`) or a check in CI (`pouch verify \
                --allowed-signers`) hold what Argo CD applies.";
    (count > 0).then(|| Finding::new(Code::SignatureNotVerified, message).help(help))
}

/// How many regions a message names.
const SHOWN: usize = 5;

/// Reports one Argo CD, or one Flux on a hub, that decrypts for several regions: it then holds all their keys.
pub fn shared_decryptors(fleet: &Fleet) -> Vec<Finding> {
    let mut served: BTreeMap<(&str, &Namespace), Vec<&str>> = BTreeMap::new();
    for to in destination::all(fleet) {
        let by = match to.delivery() {
            Delivery::ArgoCd(argo) => Some(("Argo CD", &argo.namespace)),
            Delivery::Flux(flux) => flux.kube_config.as_ref().map(|_| ("Flux", &flux.namespace)),
            Delivery::None => None,
        };
        if let Some(by) = by {
            served.entry(by).or_default().push(to.region.name.as_str());
        }
    }
    let shared = served.into_iter().filter(|(_, regions)| regions.len() > 1);
    shared
        .map(|((program, namespace), regions)| {
            let (what, help) = match program {
                "Flux" => ("it", "Use a Flux on each region."),
                _ => ("its repo-server", "Give each region an Argo CD of its own, or use Flux on the region."),
            };
            let regions = regions.join(", ");
            let message = format!(
                "the {program} in namespace {namespace} decrypts for {regions}, so {what} holds all their keys"
            );
            Finding::new(Code::SharedDecryptor, message).help(help)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::sample::object_paths;
    use crate::testing::json_of;
    use alloc::string::ToString as _;
    use serde_json::{Value, json};

    /// One Flux on a hub holds the keys of all regions that it applies to, as one Argo CD does; one on each region holds its
    /// own, and so do two on one hub.
    #[test]
    fn who_decrypts_for_several_regions_is_told() {
        let told = |deliveries: [&str; 2]| -> Vec<String> {
            let [eu, us] = deliveries.map(|delivery| format!("namespaces: {{allowed: ['*']}}, delivery: {delivery}"));
            let text = format!(
                "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\nsources: [{{name: a, directory: {{path: \
                 m}}}}]\nregions:\n  eu-west: {{recipients: [{EU}], {eu}}}\n  us-east: {{recipients: [{US}], {us}}}\n\
                 regionDefaults: {{delivery: {{flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}, argocd: {{repoURL: https://a/b}}}}}}\n\
                 reuseKey: {{file: k}}\n"
            );
            let typed = crate::config::shape::read(&text).unwrap_or_else(|_| panic!("unfit:\n{text}"));
            let fleet = crate::config::resolve::resolve(&typed, &BTreeMap::new()).unwrap_or_else(|_| panic!("{text}"));
            shared_decryptors(&fleet).into_iter().map(|finding| finding.message.to_string()).collect()
        };
        let hub = "{flux: {kubeConfig: {secretRef: '{region}-kubeconfig'}, decryption: {secretRef: '{region}-age'}}}";
        let other = hub.replace("{flux: {", "{flux: {namespace: flux-of-us, ");
        let shared = |program: &str, what: &str| {
            [format!("the {program} decrypts for eu-west, us-east, so {what} holds all their keys")]
        };
        assert_eq!(told([hub, hub]), shared("Flux in namespace flux-system", "it"));
        assert_eq!(told(["argocd", "argocd"]), shared("Argo CD in namespace argocd", "its repo-server"));
        for apart in [["flux", "flux"], [hub, "flux"], [hub, &other], [hub, "argocd"], ["argocd", "none"]] {
            assert_eq!(told(apart), [""; 0], "{apart:?}");
        }
    }

    const EU: &str = "age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q";
    const US: &str = "age1xtgp6s7dvnkl6j78c5qhjpas67680rrfpads7wfqay29thqs7scsfjs9hg";

    fn argo(mode: ArgoMode, kind: ArgoKind) -> ArgoCd {
        ArgoCd {
            namespace: "argocd".into(),
            project: "default".into(),
            repo_url: "https://git.example.com/fleet.git".into(),
            target_revision: "main".into(),
            destination: ArgoDestination::Name("{region}-cluster".into()),
            mode,
            plugin: Some("sops".into()),
            kind,
            refreshes: true,
            informs: true,
            cluster: None,
        }
    }

    fn sample(argo: &ArgoCd, objects: &BTreeSet<BundlePath>) -> BTreeMap<String, Value> {
        let (fleet, directory, delivery) = ("acme".into(), "eu".into(), Delivery::None);
        let layout = Layout {
            fleet: &fleet,
            directory: &directory,
            delivery: &delivery,
            output: "bundles",
            splits: Splits::none(),
            registered: None,
        };
        let trees = trees(&layout, argo, objects);
        trees.into_iter().map(|(path, tree)| (path.to_string(), json_of(&tree))).collect()
    }

    #[test]
    fn an_application_applies_server_side_and_leaves_things_behind() {
        let files = sample(&argo(ArgoMode::Plugin, ArgoKind::Application), &object_paths("eu"));
        assert_eq!(files.len(), 1);
        assert_eq!(
            files["argocd/eu/application.yaml"],
            json!({
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "Application",
                "metadata": {
                    "labels": {"app.kubernetes.io/managed-by": "pouch"},
                    "name": "acme-eu",
                    "namespace": "argocd",
                },
                "spec": {
                    "destination": {"name": "eu-cluster"},
                    "project": "default",
                    "source": {
                        "path": "bundles/regions/eu",
                        "plugin": {"name": "sops"},
                        "repoURL": "https://git.example.com/fleet.git",
                        "targetRevision": "main",
                    },
                    "syncPolicy": {
                        "automated": {"prune": true, "selfHeal": true},
                        "retry": {"backoff": {"duration": "30s", "factor": 2, "maxDuration": "5m"}, "limit": 5, "refresh": true},
                        "syncOptions": ["ServerSideApply=true", "PruneLast=true"],
                    },
                },
            })
        );
    }

    #[test]
    fn ksops_names_every_sealed_file() {
        let argo = argo(ArgoMode::Ksops, ArgoKind::Application);
        let files = sample(&argo, &object_paths("eu"));
        let application = &files["argocd/eu/application.yaml"]["spec"]["source"];
        assert_eq!(application["path"], "bundles/regions/eu/argocd");
        assert!(application.get("plugin").is_none());
        assert_eq!(
            files["regions/eu/argocd/kustomization.yaml"],
            json!({
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "generators": ["ksops.yaml"],
                "kind": "Kustomization",
                "resources": ["../core/configmaps", "../core/namespaces", "../identities"],
            })
        );
        assert_eq!(
            files["regions/eu/argocd/ksops.yaml"],
            json!({
                "apiVersion": "viaduct.ai/v1",
                "files": ["../core/secrets/kcm-system/aws.sops.yaml", "../core/secrets/team-a/aws.sops.yaml"],
                "kind": "ksops",
                "metadata": {
                    "annotations": {"config.kubernetes.io/function": "exec:\n  path: ksops\n"},
                    "name": "secrets",
                },
            })
        );
        let files = sample(&argo, &BTreeSet::new());
        assert!(!files.contains_key("regions/eu/argocd/ksops.yaml"));
        assert!(files["regions/eu/argocd/kustomization.yaml"].get("generators").is_none());
    }

    #[test]
    fn an_application_set_lists_the_configured_regions() {
        let (plugin, ksops) =
            (argo(ArgoMode::Plugin, ArgoKind::ApplicationSet), argo(ArgoMode::Ksops, ArgoKind::ApplicationSet));
        assert!(sample(&plugin, &object_paths("eu")).is_empty());
        let (plugin, ksops) = (Delivery::ArgoCd(plugin), Delivery::ArgoCd(ksops));
        let (fleet, [a, b, c]) = ("acme".into(), ["a".into(), "b".into(), "c".into()]);
        let layout = |(directory, delivery)| Layout {
            fleet: &fleet,
            directory,
            delivery,
            output: "bundles",
            splits: Splits::none(),
            registered: None,
        };
        let layouts = [(&a, &plugin), (&b, &ksops), (&c, &plugin)].map(layout);
        let sets: Vec<Value> = sets(&layouts).iter().map(json_of).collect();
        assert_eq!(sets.len(), 2);
        assert_eq!(sets[0]["metadata"]["name"], "acme-ksops");
        assert_eq!(sets[1]["metadata"]["name"], "acme-plugin-sops");
        let spec = &sets[1]["spec"];
        let elements = &spec["generators"][0]["list"]["elements"];
        assert_eq!(
            elements[1],
            json!({
                "destination": "c-cluster",
                "name": "acme-c",
                "path": "bundles/regions/c",
                "project": "default",
                "repoURL": "https://git.example.com/fleet.git",
                "targetRevision": "main",
            })
        );
        assert_eq!(elements.as_array().map(Vec::len), Some(2));
        assert_eq!(
            spec["syncPolicy"],
            json!({"applicationsSync": "create-update", "preserveResourcesOnDeletion": true})
        );
        assert_eq!(spec["goTemplateOptions"], json!(["missingkey=error"]));
        assert_eq!(spec["template"]["metadata"]["name"], "{{.name}}");
        assert_eq!(spec["template"]["spec"]["source"]["plugin"], json!({"name": "sops"}));
        assert!(sets[0]["spec"]["template"]["spec"]["source"].get("plugin").is_none());
        let fields = elements[0].as_object().expect("a map");
        let template = spec["template"].to_string();
        assert!(fields.keys().all(|field| template.contains(&format!("{{{{.{field}}}}}"))), "{template}");
        assert!(application_set(&fleet, &[]).is_none());
        let (path, text) = application_set(&fleet, &layouts).expect("a file");
        assert_eq!(path.as_str(), "argocd/acme-applicationset.yaml");
        assert_eq!(text.matches("---\n").count(), 1);
    }

    #[test]
    fn application_sets_of_two_shapes_are_two() {
        let fleet = FleetName::from("acme");
        let by = |plugin: Option<&str>, server: bool, refreshes: bool| {
            let mut argo = argo(ArgoMode::Plugin, ArgoKind::ApplicationSet);
            argo.plugin = plugin.map(Name::from);
            argo.refreshes = refreshes;
            if server {
                argo.destination = ArgoDestination::Server("https://{region}".into());
            }
            Delivery::ArgoCd(argo)
        };
        let all = [
            by(Some("server"), false, true),
            by(None, true, true),
            by(Some("x-server"), false, false),
            by(Some("x"), true, true),
        ];
        let directories = ["a", "b", "c", "d"].map(Directory::from);
        let layouts: Vec<Layout<'_>> = directories
            .iter()
            .zip(&all)
            .map(|(directory, delivery)| Layout {
                fleet: &fleet,
                directory,
                delivery,
                output: "bundles",
                splits: Splits::none(),
                registered: None,
            })
            .collect();
        let sets: Vec<Value> = sets(&layouts).iter().map(json_of).collect();
        let names: Vec<&Value> = sets.iter().map(|set| &set["metadata"]["name"]).collect();
        assert_eq!(names, ["acme-plugin-server", "acme-plugin-x-server", "acme-server-plugin", "acme-server-plugin-x"]);
        for set in &sets {
            let destination = &set["spec"]["template"]["spec"]["destination"];
            let by_server = set["metadata"]["name"].as_str().is_some_and(|name| name.contains("-server-plugin"));
            assert_eq!(destination.get("server").is_some(), by_server, "{set}");
            // One of them says that this Argo CD is older.
            assert!(set["spec"]["template"]["spec"]["syncPolicy"]["retry"].get("refresh").is_none(), "{set}");
        }
    }

    #[test]
    fn application_sets_are_known_again() {
        let fleet = FleetName::from("acme");
        for (mode, plugin) in [(ArgoMode::Ksops, None), (ArgoMode::Plugin, None), (ArgoMode::Plugin, Some("sops"))] {
            let mut argo = argo(mode, ArgoKind::ApplicationSet);
            argo.plugin = plugin.map(Name::from);
            let (eu, us) = (Directory::from("eu"), Directory::from("us"));
            let delivery = Delivery::ArgoCd(argo);
            for output in ["bundles", "a/b", ""] {
                let layout = |directory| Layout {
                    fleet: &fleet,
                    directory,
                    delivery: &delivery,
                    output,
                    splits: Splits::none(),
                    registered: None,
                };
                let (_, text) = application_set(&fleet, &[&eu, &us].map(layout)).unwrap();
                let again = |text: &str| {
                    let mut interner = crate::node::Interner::new();
                    let read = |document| crate::yaml::read::read(&document, &mut interner).ok().unwrap();
                    let documents: Vec<Node> = crate::yaml::read::documents(text).map(read).collect();
                    inferred_sets(&fleet, &documents, |directory| directory.as_str() != "zz")
                };
                assert_eq!(again(&text).as_deref(), Some(&*text), "{output}");
                for (from, to) in
                    [("create-update", "sync"), ("regions/eu", "elsewhere/eu"), ("regions/eu", "regions/zz")]
                {
                    let other = text.replacen(from, to, 1);
                    assert_ne!(text, other);
                    assert_ne!(again(&other).as_deref(), Some(&*other), "{from}");
                }
            }
        }
    }

    #[test]
    fn no_argo_object_ever_deletes_what_it_applied() {
        let application = sample(&argo(ArgoMode::Plugin, ArgoKind::Application), &BTreeSet::new());
        assert!(!application["argocd/eu/application.yaml"].to_string().contains("finalizers"));
    }
}
