//! `bundles/` is what `pouch render` makes of `testdata/quickstart`, and the real programs can use it.

use std::fs;
use std::path::Path;

use crate::support::fleet::Fleet;
use crate::support::proof::{Programs, Region};
use crate::support::{self, pouch, root, tree};

#[test]
fn rendering_again_changes_no_byte() {
    let fleet = Fleet::quickstart();
    let bundles = fleet.path("bundles");
    let (before, written) = (tree::read(&bundles), tree::written(&bundles));
    let answer = pouch::render(&root().join("testdata/quickstart/pouch.yaml"), &bundles, &[]).exits(0);
    assert_eq!(answer.outcomes(), [("eu-west", "unchanged"), ("us-east", "unchanged")], "{}", answer.stderr);
    assert_eq!(tree::changes(&before, &tree::read(&bundles)), [""; 0]);
    assert_eq!(written, tree::written(&bundles), "a file was written anew");
}

/// Without this the test above could pass because render writes nothing at all.
#[test]
fn rendering_from_nothing_makes_the_same_but_for_the_seals() {
    let scratch = tempfile::tempdir().unwrap();
    let bundles = scratch.path().join("bundles");
    pouch::render(&root().join("testdata/quickstart/pouch.yaml"), &bundles, &[]).exits(0);
    let (committed, fresh) = (tree::read(&root().join("bundles")), tree::read(&bundles));
    let changes = tree::changes(&committed, &fresh);
    let sealed = |path: &String| path.ends_with(".sops.yaml") || path.ends_with("/bundle.yaml");
    assert!(changes.iter().all(|path| path.starts_with('~') && sealed(path)), "{changes:#?}");
    let count = committed.keys().filter(|path| sealed(path)).count();
    assert_eq!(changes.len(), count, "every sealing takes a new data key");
}

#[test]
fn an_entry_that_leaves_its_source_leaves_the_bundle() {
    let fleet = Fleet::quickstart();
    let (source, bundles) = (fleet.path("quickstart"), fleet.path("bundles"));
    let manifest = source.join("manifests/openstack.yaml");
    let text = fs::read_to_string(&manifest).unwrap();
    let more = text.replace("stringData:\n", "stringData:\n  cacert: not a certificate\n");
    assert_ne!(text, more);
    let committed = tree::read(&bundles);
    let expected =
        ["~regions/eu-west/bundle.yaml", "~regions/eu-west/core/secrets/kcm-system/openstack-main-clouds.sops.yaml"];

    fs::write(&manifest, &more).unwrap();
    pouch::render(&source.join("pouch.yaml"), &bundles, &[]).exits(0);
    let with_it = tree::read(&bundles);
    assert_eq!(tree::changes(&committed, &with_it), expected);
    fs::write(&manifest, &text).unwrap();
    let answer = pouch::render(&source.join("pouch.yaml"), &bundles, &[]).exits(0);
    assert_eq!(answer.summary["regions"][0]["changes"][0]["lostEntries"], serde_json::json!(["cacert"]));
    assert_eq!(tree::changes(&with_it, &tree::read(&bundles)), expected);
}

#[test]
fn a_file_that_was_removed_comes_back() {
    let fleet = Fleet::quickstart();
    let (source, bundles) = (fleet.path("quickstart"), fleet.path("bundles"));
    let path = "regions/us-east/identities/vsphereclusteridentity.infrastructure.cluster.x-k8s.io/vsphere-dc1.yaml";
    let before = tree::read(&bundles);
    fs::remove_file(bundles.join(path)).unwrap();
    let answer = pouch::render(&source.join("pouch.yaml"), &bundles, &[]).exits(0);
    assert_eq!(answer.outcomes(), [("eu-west", "unchanged"), ("us-east", "published")]);
    assert_eq!(tree::changes(&before, &tree::read(&bundles)), [""; 0]);
}

/// What git gives to a clean clone must be what was committed, on every system.
#[test]
fn git_never_touches_the_line_ends() {
    let Some(git) = support::tool_on_path("git") else { return };
    if !root().join(".git").exists() {
        return;
    }
    let folder = root();
    for path in ["bundles/regions/eu-west/bundle.yaml", "bundles/.gitattributes", "testdata/quickstart/reuse.key"] {
        let arguments = ["-C", folder.to_str().unwrap(), "check-attr", "text", "--", path];
        let answer = support::printed(&git, &support::run(&git, arguments, &[]));
        assert_eq!(String::from_utf8(answer).unwrap(), format!("{path}: text: unset\n"));
    }
}

#[test]
fn the_real_programs_open_and_build_it() {
    let Some(programs) = Programs::find() else { return };
    prove(&programs, &root().join("bundles"));
}

/// As small as parts can be.
#[test]
fn the_real_programs_open_and_build_it_in_parts() {
    let Some(programs) = Programs::find() else { return };
    let fleet = Fleet::rendered_quickstart();
    fleet.write("pouch.yaml", fleet.read("pouch.yaml") + "limits: {objectsPerLeaf: 1}\n");
    fleet.run(&["render"]).ends(0);
    fleet.run(&["verify", "bundles"]).ends(0);
    assert!(fleet.has("bundles/regions/eu-west/parts/core"));
    prove(&programs, &fleet.path("bundles"));
}

fn prove(programs: &Programs, bundles: &Path) {
    let mut all = programs.secrets_of(&root().join("testdata/quickstart/manifests"));
    // It is for the management cluster.
    assert!(all.remove("kcm-system/gcp-lab-service-account").is_some());
    let region = |directory: &'static str, names: &[&str]| Region {
        directory,
        identity: root().join("testdata/quickstart/keys").join(directory).with_extension("txt"),
        plain: names.iter().map(|name| ((*name).to_owned(), all[*name].clone())).collect(),
    };
    let west = [
        "kcm-system/aws-main-secret",
        "kcm-system/openstack-main-clouds",
        "team-a/azure-main-secret",
        "team-a/store-17-kubeconf",
    ];
    // The role of another account is assumed with the access key, so its Secret goes along.
    let east = ["kcm-system/aws-main-secret", "kcm-system/vsphere-dc1-secret"];
    programs.prove(bundles, &[region("eu-west", &west), region("us-east", &east)]);
}
