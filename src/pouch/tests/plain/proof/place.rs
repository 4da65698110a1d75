//! Where bundles stand: the real ones are looked at, and what stands beside them is named.

use std::fs;

use super::repository::Repository;
use super::stage::Stage;
use crate::support::tree;

const KEYLESS: [&str; 2] = ["-f", "quickstart/keyless.yaml"];

/// Old bundles that are whole, above real ones that are not.
fn decoy(stage: &Stage) {
    for top in ["regions", "flux", "argocd"] {
        tree::copy(&stage.path(&format!("bundles/{top}")), &stage.path(top));
    }
    fs::copy(stage.path("bundles/.gitattributes"), stage.path(".gitattributes")).unwrap();
    stage.edit("bundles/flux/eu-west/core.yaml", "Orphan", "Delete");
}

#[test]
fn bundles_above_the_output_hide_nothing() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    decoy(stage);
    repository.commit("decoy");
    repository.git(&["clone", "--quiet", "--bare", ".", "home/fleet.git"]);
    const ALL: &[&str] = &["unlisted-file", "unsafe-delivery", "untrusted-bundle"];
    for arguments in [&["."][..], &[".", "--rev", "HEAD"], &["home/fleet.git"], &[".", "--region", "eu-west"]] {
        let answer = stage.verify(&[&KEYLESS, arguments].concat());
        answer.finds(&format!("{arguments:?}"), ALL);
        assert!(answer.stderr.contains("there is a folder `regions` in "), "{}", answer.stderr);
        // Nobody says which are meant.
        let answer = stage.verify(arguments);
        assert_eq!(answer.code, 64, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("and nothing says which are meant"), "{}", answer.stderr);
    }
    // The output by its name is no question.
    stage.verify(&[&KEYLESS[..], &["bundles"]].concat()).finds("the output", &ALL[1..]);
    assert_eq!(stage.verify(&["bundles"]).code, 8);
    // What is left of the output counts where its regions are gone.
    fs::remove_dir_all(stage.path("bundles/regions")).unwrap();
    let gone = stage.verify(&[&KEYLESS[..], &["."]].concat());
    assert!(gone.faults().contains("unlisted-file"), "{}", gone.stderr);
    assert!(gone.stderr.contains("nothing is published in regions/eu-west"), "{}", gone.stderr);
    // Below the output is no output.
    repository.git(&["checkout", "--quiet", "HEAD~1", "--", "bundles"]);
    tree::copy(&stage.path("regions"), &stage.path("bundles/bundles/regions"));
    let nested = stage.verify(&[&KEYLESS[..], &["bundles"]].concat());
    assert!(nested.faults().contains("unlisted-file"), "{}", nested.stderr);
}

#[test]
fn a_hook_says_where_it_did_not_look() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    // The whole fleet in a folder of a larger repository.
    fs::create_dir_all(stage.path("fleet")).unwrap();
    repository.git(&["mv", "bundles", "fleet/bundles"]);
    let config = stage.read("quickstart/keyless.yaml");
    stage.write("fleet/pouch.yaml", &config);
    repository.commit("fleet");
    let core = "fleet/bundles/regions/eu-west/open/kustomization.yaml";
    let file = stage.read(core);
    stage.write(core, file.replace("resources", "resource"));
    repository.git(&["add", "--all"]);
    let misplaced = |arguments: &[&str], folder: &str| {
        let mut command = stage.command(&[&["verify", "--staged"], arguments].concat());
        let output = command.current_dir(stage.path(folder)).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments:?} in {folder}: {said}");
        assert!(said.contains("is staged in fleet/bundles, but only "), "{said}");
        assert!(said.contains("-f fleet/pouch.yaml"), "{said}");
    };
    misplaced(&[], "");
    misplaced(&[], "quickstart");
    misplaced(&["-f", "quickstart/keyless.yaml"], "");
    let found = stage.verify(&["--staged", "-f", "fleet/pouch.yaml"]);
    assert!(found.faults().contains("not-buildable"), "{}", found.stderr);
    // A file that is removed is staged too.
    stage.write(core, &file);
    repository.git(&["rm", "--quiet", "--cached", "fleet/bundles/regions/eu-west/bundle.yaml"]);
    misplaced(&[], "");
    repository.git(&["add", "--all"]);
    let nothing = stage.verify(&["--staged"]);
    nothing.finds("nothing is staged", &[]);
    assert!(nothing.stderr.contains("no bundle is staged in ., nor in bundles"), "{}", nothing.stderr);
    // A Secret in clear is refused wherever it looks like an output, as long as nobody says what is one.
    stage.write("other/regions/eu/x.yaml", super::table::PLAIN);
    repository.git(&["add", "other"]);
    stage.verify(&["--staged"]).finds("a Secret in clear", &["plaintext-secret"]);
    stage.verify(&["--staged", "-f", "fleet/pouch.yaml"]).finds("no output's", &["plaintext-secret"]);
    stage.verify(&["--staged", "--bundles-only", "-f", "fleet/pouch.yaml"]).finds("bundles only", &[]);
    stage.verify(&["--staged", "--bundles-only"]).finds("what may be an output's", &["plaintext-secret"]);
    fs::remove_dir_all(stage.path("other")).unwrap();
    // Another fleet's hook looks at that fleet's.
    let manifest = "fleet/bundles/regions/eu-west/bundle.yaml";
    stage.write("pouch.yaml", config.replace("name: quickstart", "name: slowstart"));
    stage.edit(manifest, "kind: Bundle", "kind: bundle");
    repository.git(&["add", "--all"]);
    let other = stage.verify(&["--staged"]);
    other.finds("another fleet's", &[]);
    assert!(other.stderr.contains("warning[other-fleet]"), "{}", other.stderr);
}
