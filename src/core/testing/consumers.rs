//! What an older release published although no consumer reads it back goes, whatever would keep it.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::case::{Case, of_stage};
use super::stages::{Desk, Wishes, keys, publish};
use crate::finding::{Code, Severity};
use crate::hash::sha256_hex;
use crate::layout::path;
use crate::region::plan::bundle_yaml;
use crate::region::published::Published;

const CASE: &str = "a-character-that-kustomize-refuses-breaks-its-claimant.yaml";
const FILE: &str = "regions/eu/core/secrets/team-a/a.sops.yaml";

fn case() -> Case {
    of_stage("region").into_iter().find(|case| case.path.ends_with(CASE)).unwrap()
}

/// Publishes the first world of the case with another open line in one file, and gives what the next run makes of it where
/// the source is not read: the paths that stay, and its errors.
fn next(line: &str) -> (Vec<String>, Vec<(Code, String)>) {
    let mut scene = case().worlds.swap_remove(0);
    let desk = Desk::new(&scene);
    let region = desk.fleet.regions.values().next().unwrap();
    let nothing = Published::examine(&desk.fleet.name, &region.directory, Default::default(), &keys());
    let (plan, _) = desk.plan(region, &nothing, &Wishes::default());
    let mut manifest = plan.manifest.clone();
    let mut files = publish(&desk, region, plan, &nothing);
    let text = String::from_utf8(files[FILE].clone()).unwrap();
    assert!(text.contains("type: Opaque\n"));
    files.insert(FILE.to_string(), text.replace("type: Opaque\n", line).into_bytes());
    for object in &mut manifest.objects {
        object.sha256 = sha256_hex(&files[object.path.as_str()]);
    }
    let bundle = bundle_yaml(&manifest, keys().current().unwrap());
    files.insert(path::manifest(&region.directory).as_str().to_string(), bundle.into_bytes());

    // The tenant has deleted both, and nothing proves it: they are carried.
    scene.documents.retain(|document| document.node.str_at(&["metadata", "namespace"]) != Some("team-a"));
    scene.incomplete = ["all".to_string()].into();
    let desk = Desk::new(&scene);
    let region = desk.fleet.regions.values().next().unwrap();
    let published = Published::examine(&desk.fleet.name, &region.directory, files, &keys());
    let (plan, _) = desk.plan(region, &published, &Wishes::default());
    assert!(plan.holds.is_empty() && plan.withheld.is_empty());
    let errors = plan.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let errors = errors.map(|finding| (finding.code, finding.message.clone())).collect();
    (plan.manifest.objects.iter().map(|object| object.path.as_str().to_string()).collect(), errors)
}

#[test]
fn what_no_consumer_reads_back_is_never_carried() {
    let (stays, errors) = next("type: \"a\\x81\"\n");
    assert!(!stays.iter().any(|path| path.contains("team-a/a")), "{stays:?}");
    assert!(stays.iter().any(|path| path.contains("team-b/b")), "{stays:?}");
    assert!(
        errors.iter().any(|(code, message)| *code == Code::InvalidObject && message.contains("U+0081")),
        "{errors:?}"
    );
}

/// The control: what is read back is carried.
#[test]
fn what_consumers_read_back_is_carried() {
    let (stays, errors) = next("type: \"a\\x1b\"\n");
    assert!(stays.iter().any(|path| path.contains("team-a/a")), "{stays:?}");
    assert!(!errors.iter().any(|(code, _)| *code == Code::InvalidObject), "{errors:?}");
}
