//! What consumers build and are told: kustomizations, KSOPS lists, Flux and Argo CD objects.
//!
//! All of them follow from the region's objects and its delivery, so they are made once more and compared with what
//! stands there. Without a configuration, and for paused regions whose manifest a reuse key authenticates, what the
//! delivery objects are free to say (names, a repository, an interval) is taken from themselves; their shape is not
//! theirs to choose.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::{first_difference, only_document};
use super::ignore::leaves_out;
use super::measure::{Measure, at};
use super::region::ProvedRegion;
use super::tree::{ATTRIBUTES, IGNORE};
use super::tree::{Above, BundleTree, Standing, folders};
use crate::config::error::quoted;
use crate::config::{
    ArgoCd, ArgoDestination, ArgoKind, ArgoMode, Delivery, Flux, HealthCheck, RegionConfig, RegionState,
};
use crate::finding::{Code, Finding};
use crate::layout::delivery::argocd;
use crate::layout::delivery::cluster::{self, ClusterSecret};
use crate::layout::form::Form;
use crate::layout::kustomization::FILE;
use crate::layout::path::{self, BundlePath, Leaf, TOPS};
use crate::layout::{Files, Layout, attributes, fleet_files};
use crate::name::{Directory, FleetName};
use crate::node::{Interner, Node};
use crate::yaml::read;

const BUILD: &str = "Kustomize and the consumers would build something other than the bundle, or nothing. Find out who \
                     changed it, and render the bundle anew.";
const DELIVERY: &str = "A consumer would apply something other than the bundle, or apply it in another way. Find out \
                        who changed it, and render the bundle anew, which also follows a change of the configuration.";

/// Looks at a region's open files.
pub(super) fn look(measure: &Measure<'_>, region: &ProvedRegion<'_>, tree: &BundleTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (delivery, output) = match (region.to, measure.fleet) {
        (Some(to), Some(fleet)) if region.follows() => {
            (to.delivery().clone(), String::from(to.delivery().folder_in(&fleet.output)))
        }
        _ => match inferred(region, tree) {
            Ok(inferred) => inferred,
            Err(path) => {
                let message = format!("{path} is not a delivery object that pouch writes");
                findings.push(measure.find(Code::UnsafeDelivery, &path, 1, message).help(DELIVERY));
                (Delivery::None, String::new())
            }
        },
    };
    let registered = match registered(region, tree, &delivery) {
        Ok(registered) => registered,
        Err((path, standing)) => {
            let message = format!(
                "{path} is not the cluster Secret that pouch writes for the region: it may hold a credential, or lead Argo CD \
                 to another cluster"
            );
            findings.push(measure.find(Code::UnsafeDelivery, path.as_str(), 1, message).help(DELIVERY));
            Some(standing)
        }
    };
    let expected = files(region, tree, (&delivery, &output, registered.as_deref()));
    for (path, text) in &expected {
        findings.extend(hold(measure, path, text, tree));
    }
    for file in region.manifest.files.iter().filter(|file| !expected.contains_key(&file.path)) {
        let message = format!("{} is listed by the manifest, but the layout has no such file", file.path);
        findings.push(measure.find(Code::UnlistedFile, file.path.as_str(), 1, message).help(
            "Find out who put it there, and render the bundle anew; if the region's delivery changed in the \
             configuration, rendering is enough.",
        ));
    }
    let free = |finding: &Finding| finding.code != Code::NotBuildable;
    findings.into_iter().map(|found| if free(&found) { region.or_paused(found) } else { found }).collect()
}

/// The cluster Secret that a region should have, if its manifest lists one; else its path and what stands there instead.
///
/// What it says of the cluster is its ClusterProfile's to say, and nobody asks for that here. All else follows from the
/// delivery.
fn registered(
    region: &ProvedRegion<'_>,
    tree: &BundleTree,
    delivery: &Delivery,
) -> Result<Option<String>, (BundlePath, String)> {
    let path = cluster::file(&region.directory);
    let Delivery::ArgoCd(argo) = delivery else { return Ok(None) };
    let is_meant = argo.cluster.is_some() || !region.follows();
    let is_listed = region.manifest.files.iter().any(|file| file.path == path);
    let Some(standing) = tree.get(path.as_str()).filter(|_| is_meant && is_listed) else { return Ok(None) };
    let Some(secret) = ClusterSecret::read(&standing.bytes) else {
        return Err((path, String::from_utf8_lossy(&standing.bytes).into_owned()));
    };
    let (fleet, directory) = (&region.manifest.fleet, &region.directory);
    let layout = Layout { fleet, directory, delivery, output: "", splits: &region.manifest.splits, registered: None };
    Ok(Some(ClusterSecret::of(&layout, argo, secret.registration).text()))
}

/// The open files that a region should have: those of its delivery, seen with this output, and its cluster Secret.
fn files(
    region: &ProvedRegion<'_>,
    tree: &BundleTree,
    (delivery, output, registered): (&Delivery, &str, Option<&str>),
) -> Files {
    let objects: BTreeSet<BundlePath> = region.manifest.objects.iter().map(|object| object.path.clone()).collect();
    let (fleet, directory, splits) = (&region.manifest.fleet, &region.directory, &region.manifest.splits);
    let layout = Layout { fleet, directory, delivery, output, splits, registered };
    // A leaf that holds nothing any more stays; only the tree tells which leaves there were.
    let below = |folder: String| {
        tree.range(folder.clone()..).map_while(move |(path, _)| path.starts_with(&folder).then_some(path.as_str()))
    };
    let leaves = below(format!("{}/identities/", layout.folder()));
    let kustomizations = leaves.filter(|path| path.ends_with("/kustomization.yaml"));
    let plain = kustomizations.filter(|path| BundlePath::parse(path).is_some());
    layout.files(&objects, &layout.kept(plain))
}

/// Compares one open file with what it should be.
fn hold(measure: &Measure<'_>, path: &BundlePath, expected: &str, tree: &BundleTree) -> Option<Finding> {
    let is_build = path.as_str().ends_with(FILE) && path.as_str().starts_with("regions/");
    let (code, help) = if is_build { (Code::NotBuildable, BUILD) } else { (Code::UnsafeDelivery, DELIVERY) };
    let find = |line, message: String| Some(measure.find(code, path.as_str(), line, message).help(help));
    let Some(standing) = tree.get(path.as_str()).filter(|standing| standing.form != Form::Link) else {
        return find(1, format!("{path} is missing"));
    };
    if standing.bytes == expected.as_bytes() {
        return None;
    }
    let text = core::str::from_utf8(&standing.bytes).unwrap_or_default();
    let line = first_difference(expected, text).unwrap_or(1);
    let document = match only_document(&standing.bytes) {
        Ok(document) => document,
        Err(line) => return find(line, format!("{path} is not one document of YAML")),
    };
    let wanted = only_document(expected.as_bytes()).unwrap_or(Node::Null);
    let strange = document.entries().iter().find(|(field, _)| wanted.get(field).is_none());
    if let Some((field, _)) = strange {
        return find(line, format!("{path} has the field {}, which pouch does not write there", quoted(field)));
    }
    for list in ["resources", "generators", "files"] {
        let of = |document: &'_ Node| -> BTreeSet<String> {
            let items = document.at(&[list]).map(Node::items).unwrap_or_default();
            items.iter().map(|item| String::from(item.as_str().unwrap_or("what is not text"))).collect()
        };
        let (should, does) = (of(&wanted), of(&document));
        if let Some(strange) = does.difference(&should).next() {
            // A remote base may be a URL with a password.
            return find(line, format!("{path} lists {}, which does not belong there", quoted(strange)));
        }
        if let Some(lacking) = should.difference(&does).next() {
            return find(line, format!("{path} does not list {lacking}"));
        }
    }
    find(line, format!("{path} differs from what pouch writes, from this line on"))
}

/// The delivery that a region's own files describe, and the output's path in them; else the file that cannot be
/// understood.
pub(super) fn inferred(region: &ProvedRegion<'_>, tree: &BundleTree) -> Result<(Delivery, String), String> {
    let directory = &region.directory;
    let flux = format!("{}/core.yaml", path::flux(directory));
    let argo = format!("{}/application.yaml", path::argocd(directory));
    let document = |path: &str| tree.get(path).map(|standing| only_document(&standing.bytes).ok());
    if let Some(document) = document(&flux) {
        return document.as_ref().and_then(|document| flux_of(region, document, tree)).ok_or(flux);
    }
    if let Some(document) = document(&argo) {
        return document.as_ref().and_then(|document| argo_of(region, document)).ok_or(argo);
    }
    let ksops = tree.contains_key(&format!("{}/argocd/{FILE}", path::region(directory)));
    let secret = tree.get(cluster::file(directory).as_str()).map(|standing| ClusterSecret::read(&standing.bytes));
    if ksops || secret.is_some() {
        // What an ApplicationSet says of the region stands in the fleet's file.
        let none = || "x".into();
        let secret = secret.flatten();
        let argo = ArgoCd {
            namespace: secret.as_ref().map_or_else(|| "x".into(), |secret| secret.namespace.clone()),
            project: "x".into(),
            repo_url: none(),
            target_revision: none(),
            destination: ArgoDestination::Name(secret.map_or_else(none, |secret| secret.called)),
            mode: if ksops { ArgoMode::Ksops } else { ArgoMode::Plugin },
            plugin: None,
            kind: ArgoKind::ApplicationSet,
            refreshes: true,
            informs: true,
            cluster: None,
        };
        return Ok((Delivery::ArgoCd(argo), String::new()));
    }
    Ok((Delivery::None, String::new()))
}

fn flux_of(region: &ProvedRegion<'_>, document: &Node, tree: &BundleTree) -> Option<(Delivery, String)> {
    let text = |path: &[&str]| document.str_at(path);
    let flux = Flux {
        namespace: text(&["metadata", "namespace"])?.into(),
        source_kind: text(&["spec", "sourceRef", "kind"])?.into(),
        source_name: text(&["spec", "sourceRef", "name"])?.into(),
        decryption_secret: text(&["spec", "decryption", "secretRef", "name"])?.into(),
        interval: text(&["spec", "interval"])?.into(),
        retry_interval: text(&["spec", "retryInterval"])?.into(),
        timeout: text(&["spec", "timeout"]).map(String::from),
        wait: document.at(&["spec", "wait"]).is_some(),
        health_checks: health_checks(region, tree),
        service_account: text(&["spec", "serviceAccountName"]).map(Into::into),
        kube_config: text(&["spec", "kubeConfig", "secretRef", "name"])
            .map(|name| (name.into(), text(&["spec", "kubeConfig", "secretRef", "key"]).map(String::from))),
    };
    let applied = text(&["spec", "path"])?.strip_prefix("./")?;
    let applied_there = if region.manifest.splits.of(&Leaf::core()).is_some() { "parts/emptied" } else { "core" };
    let output = applied.strip_suffix(&format!("{}/{applied_there}", path::region(&region.directory)))?;
    Some((Delivery::Flux(flux), String::from(output)))
}

/// What the first Kustomization of identities has Flux look at: the core's has none.
fn health_checks(region: &ProvedRegion<'_>, tree: &BundleTree) -> Vec<HealthCheck> {
    let folder = format!("{}/", path::flux(&region.directory));
    let below = tree.range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder));
    let first = below.filter_map(|(_, standing)| only_document(&standing.bytes).ok()).find_map(|document| {
        let checks = document.at(&["spec", "healthChecks"])?.items().iter().map(|check| {
            Some(HealthCheck {
                api_version: check.str_at(&["apiVersion"])?.into(),
                kind: check.str_at(&["kind"])?.into(),
                name: check.str_at(&["name"])?.into(),
                namespace: check.str_at(&["namespace"]).map(Into::into),
            })
        });
        checks.collect::<Option<Vec<_>>>()
    });
    first.unwrap_or_default()
}

fn argo_of(region: &ProvedRegion<'_>, document: &Node) -> Option<(Delivery, String)> {
    let text = |path: &[&str]| document.str_at(path);
    let applied = text(&["spec", "source", "path"])?;
    let folder = path::region(&region.directory);
    let (output, mode) = match applied.strip_suffix(&format!("{folder}/argocd")) {
        Some(output) => (output, ArgoMode::Ksops),
        None => (applied.strip_suffix(folder.as_str())?, ArgoMode::Plugin),
    };
    let argo = ArgoCd {
        namespace: text(&["metadata", "namespace"])?.into(),
        project: text(&["spec", "project"])?.into(),
        repo_url: text(&["spec", "source", "repoURL"])?.into(),
        target_revision: text(&["spec", "source", "targetRevision"])?.into(),
        destination: match text(&["spec", "destination", "server"]) {
            Some(server) => ArgoDestination::Server(server.into()),
            None => ArgoDestination::Name(text(&["spec", "destination", "name"])?.into()),
        },
        mode,
        plugin: text(&["spec", "source", "plugin", "name"]).map(Into::into),
        kind: ArgoKind::Application,
        refreshes: document.at(&["spec", "syncPolicy", "retry", "refresh"]).is_some(),
        informs: true,
        cluster: None,
    };
    Some((Delivery::ArgoCd(argo), String::from(output)))
}

/// Looks at the files of the whole fleet, as far as they are to be verified: they follow from the configuration, and from
/// which regions have a bundle.
pub(super) fn fleet(measure: &Measure<'_>, tree: &BundleTree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = converted(measure, tree).into_iter().collect();
    findings.extend(steered(measure, tree));
    let Some(fleet) = measure.fleet else { return findings };
    let set = path::application_set(&fleet.name);
    if !measure.scope.has_shared(set.as_str()) {
        return findings;
    }
    let has_bundle = |region: &RegionConfig| tree.contains_key(path::manifest(&region.directory).as_str());
    let expected = fleet_files(fleet, has_bundle).remove(&set);
    // Proposals of single regions have one text, so that they merge: it has those that are proposed elsewhere.
    let proposed = fleet_files(fleet, |region| region.state == RegionState::Active || has_bundle(region)).remove(&set);
    let standing = tree.get(set.as_str());
    if standing.is_some_and(|standing| proposed.is_some_and(|text| *text.as_bytes() == *standing.bytes)) {
        return findings;
    }
    match expected {
        Some(text) => findings.extend(hold_stream(measure, &set, &text, tree)),
        None if standing.is_some() => findings.push(left_over(measure, &set)),
        None => {}
    }
    findings
}

/// A file of ApplicationSets that delivers no region.
pub(super) fn left_over(measure: &Measure<'_>, set: &BundlePath) -> Finding {
    let message = format!("{set} is there, but no region of the configuration is delivered by it");
    measure.find(Code::UnlistedFile, set.as_str(), 1, message).help("Remove it.")
}

/// What to say of a file of a fleet's ApplicationSets, of which none are needed any more: nothing where pouch wrote it.
pub fn strange_set(measure: &Measure<'_>, fleet: &FleetName, bytes: &[u8]) -> Option<Finding> {
    (!is_own(fleet, bytes, |_| true)).then(|| left_over(measure, &path::application_set(fleet)))
}

/// Whether ApplicationSets are such as pouch writes for a fleet's regions.
fn is_own(fleet: &FleetName, bytes: &[u8], theirs: impl Fn(&Directory) -> bool) -> bool {
    let text = read::text_of(bytes).unwrap_or_default();
    let mut interner = Interner::new();
    let documents: Option<Vec<Node>> =
        read::documents(text).map(|document| read::read(&document, &mut interner).ok()).collect();
    let again = documents.and_then(|documents| argocd::inferred_sets(fleet, &documents, theirs));
    again.is_some_and(|again| again == text && !text.is_empty())
}

/// Looks at what steers git or Flux: files further up, and what leaves files of the tree out.
pub(super) fn steered(measure: &Measure<'_>, tree: &BundleTree) -> Vec<Finding> {
    let above = measure.above.iter().filter_map(|above| match above.name {
        IGNORE => ignored_above(above, tree),
        _ => converted_above(above),
    });
    above.chain(tree.iter().filter_map(|(path, standing)| ignored(measure, path, standing, tree))).collect()
}

/// Whether git would change bytes below the output.
///
/// Without a configuration, the tree may be a part of the output, without the file.
fn converted(measure: &Measure<'_>, tree: &BundleTree) -> Option<Finding> {
    let path = path::gitattributes();
    let standing = tree.get(path.as_str()).filter(|standing| standing.form != Form::Link);
    let wanted = match measure.fleet {
        Some(fleet) => fleet.regions.values().any(|region| region.state != RegionState::Retired),
        None => standing.is_some() && folders(tree).next().is_some(),
    };
    let above = measure.above.iter().filter(|above| above.name == ATTRIBUTES);
    let above: Vec<&[u8]> = above.map(|above| &*above.bytes).collect();
    let bytes = standing.map(|standing| &*standing.bytes).unwrap_or_default();
    // For one region, the file is verified only if it is there: a bundle that is verified before publishing has none.
    let asked = match standing {
        Some(_) => measure.scope.has_below(path.as_str()),
        None => measure.scope.has_shared(path.as_str()),
    };
    if !wanted || !asked || attributes::keeps_bytes(bytes, &above) {
        return None;
    }
    let message = format!(
        "{path} is missing or lacks the line `* -text`, or another line lets git change files that end in .yaml"
    );
    let finding = measure.find(Code::UnsafeDelivery, path.as_str(), 1, message);
    Some(finding.help("Render, or correct the lines: hashes, tags and MACs hold for the exact bytes."))
}

/// Whether a file further up would make git change the bundles' bytes.
fn converted_above(above: &Above) -> Option<Finding> {
    let line = attributes::converts_below(&above.bytes, &above.way)?;
    let message = format!("{} lets git change the bundles' bytes at checkout", above.shown);
    Some(at(Finding::new(Code::UnsafeDelivery, message), above.shown.clone(), line).help(
        "Keep filter, ident and working-tree-encoding off the output's folder: `-filter`, or a pattern that leaves it \
         out. Hashes, tags and MACs hold for the exact bytes.",
    ))
}

/// What is wrong with the ApplicationSets of a fleet whose configuration is not known.
///
/// Names, a repository and a revision are their own; the regions must be those that the fleet has here.
pub(super) fn no_set(
    measure: &Measure<'_>,
    path: &str,
    standing: &Standing,
    fleet: &FleetName,
    theirs: impl Fn(&Directory) -> bool,
) -> Option<Finding> {
    if is_own(fleet, &standing.bytes, theirs) {
        return None;
    }
    let message = format!("{path} is no ApplicationSet that pouch writes for the regions that fleet {fleet} has here");
    Some(measure.find(Code::UnsafeDelivery, path, 1, message).help(DELIVERY))
}

const IGNORED: &str = "The files that it names never reach the region, and their objects are deleted there if the \
                       consumer prunes. Take the line out, or keep it in `spec.ignore` of the GitRepository, without \
                       the bundles' folder.";

/// Whether a file among the bundles tells Flux to leave files out.
fn ignored(measure: &Measure<'_>, path: &str, standing: &Standing, tree: &BundleTree) -> Option<Finding> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_above = folder.is_empty() || folder.split('/').next().is_some_and(|top| TOPS.contains(&top));
    if name != IGNORE || !is_above || !measure.scope.has_below(path) {
        return None;
    }
    let is_file = matches!(standing.form, Form::Plain | Form::Executable);
    // A link leads to what nobody looks at.
    let line = match is_file {
        true if folder.is_empty() => leaves_out(&standing.bytes, "", tree)?,
        true => first_pattern(&standing.bytes)?,
        false => 1,
    };
    let message = format!("{path} makes Flux leave files out of what it fetches");
    Some(measure.find(Code::UnsafeDelivery, path, line, message).help(IGNORED))
}

/// Whether a file further up tells Flux to leave bundles' files out.
fn ignored_above(above: &Above, tree: &BundleTree) -> Option<Finding> {
    let line = leaves_out(&above.bytes, &above.way, tree)?;
    let message = format!("{} may make Flux leave bundles' files out of what it fetches", above.shown);
    Some(at(Finding::new(Code::UnsafeDelivery, message), above.shown.clone(), line).help(IGNORED))
}

/// The first line, from one, that is neither empty nor a comment.
fn first_pattern(bytes: &[u8]) -> Option<usize> {
    let says = |line: &[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    Some(bytes.split(|b| *b == b'\n').position(says)? + 1)
}

/// As [`hold`], for a file that may hold several documents.
fn hold_stream(measure: &Measure<'_>, path: &BundlePath, expected: &str, tree: &BundleTree) -> Option<Finding> {
    let find =
        |line, message: String| Some(measure.find(Code::UnsafeDelivery, path.as_str(), line, message).help(DELIVERY));
    let Some(standing) = tree.get(path.as_str()) else { return find(1, format!("{path} is missing")) };
    let text = core::str::from_utf8(&standing.bytes).unwrap_or_default();
    let line = first_difference(expected, text)?;
    find(line, format!("{path} differs from what pouch writes, from this line on"))
}
