//! The real programs read what pouch writes: sops, age and kustomize, in the versions of `scripts/tools/pins`.
//!
//! Long tests are `#[ignore]`d; `.ci/run` runs them too.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::path::Path;

use support::{Age, Kustomize, PyYaml, Sops};

const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: aws\n  namespace: kcm-system\n\
    type: Opaque\ndata:\n  AccessKeyID: QUtJQUVYQU1QTEU=\n";

fn write(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("the scratch folder can be written");
    path
}

/// Without this, a helper that always says yes would make every test below it worthless.
#[test]
fn sops_opens_for_its_recipient_only_and_notices_a_touched_byte() {
    let (Some(sops), Some(age)) = (Sops::find(), Age::find()) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (mine, other) = (scratch.path().join("mine.txt"), scratch.path().join("other.txt"));
    let recipient = age.keygen(&mine);
    age.keygen(&other);
    let plain = write(scratch.path(), "plain.yaml", SECRET);
    let sealed = String::from_utf8(sops.sealed(&plain, &recipient)).unwrap();
    assert!(sealed.contains("AccessKeyID: ENC[AES256_GCM,") && !sealed.contains("QUtJQUVYQU1QTEU="));

    let file = write(scratch.path(), "sealed.sops.yaml", &sealed);
    let opened = String::from_utf8(sops.opened(&file, &mine)).unwrap();
    assert!(opened.contains("AccessKeyID: QUtJQUVYQU1QTEU="), "{opened}");
    assert!(!sops.decrypt(&file, &other).status.success(), "a stranger's identity opened it");
    let touched = write(scratch.path(), "touched.sops.yaml", &sealed.replace("name: aws", "name: gcp"));
    assert!(!sops.decrypt(&touched, &mine).status.success(), "the MAC did not cover the name");
}

#[test]
fn age_opens_for_its_recipient_only() {
    let Some(age) = Age::find() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (mine, other) = (scratch.path().join("mine.txt"), scratch.path().join("other.txt"));
    let recipient = age.keygen(&mine);
    age.keygen(&other);
    let plain = write(scratch.path(), "plain", "thirty-two bytes of a data key..");
    let sealed = scratch.path().join("sealed.age");
    age.seal(&plain, &recipient, &sealed);
    assert_eq!(age.decrypt(&sealed, &mine).stdout, b"thirty-two bytes of a data key..");
    assert!(!age.decrypt(&sealed, &other).status.success(), "a stranger's identity opened it");
}

#[test]
fn kustomize_builds_and_refuses() {
    let Some(kustomize) = Kustomize::find() else { return };
    let scratch = tempfile::tempdir().unwrap();
    write(scratch.path(), "aws.yaml", SECRET);
    write(scratch.path(), "kustomization.yaml", "resources:\n- aws.yaml\n");
    let built = String::from_utf8(kustomize.built(scratch.path())).unwrap();
    assert!(built.contains("AccessKeyID: QUtJQUVYQU1QTEU="), "{built}");
    write(scratch.path(), "kustomization.yaml", "resources:\n- gone.yaml\n");
    assert!(!kustomize.build(scratch.path()).status.success());
}

#[test]
fn pyyaml_reads_as_yaml_1_1_does() {
    let Some(python) = PyYaml::find() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let file = write(scratch.path(), "x.yaml", "a: yes\n---\nb: \"yes\"\n");
    assert_eq!(String::from_utf8(python.read(&file).stdout).unwrap(), r#"[{"a": true}, {"b": "yes"}]"#);
}

/// The benchmarks make their keys themselves; age must agree with them, and YAML's own reader too.
#[test]
fn a_generated_fleet_is_what_age_and_yaml_say_it_is() {
    let (Some(python), Some(age)) = (PyYaml::find(), Age::find()) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("fleet");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/bench/fleet");
    python.script(&script, &["--regions=2", "--credentials=6", "--out", folder.to_str().unwrap()]);
    let config = fs::read_to_string(folder.join("pouch.yaml")).unwrap();
    for region in ["region-000", "region-001"] {
        let recipient = age.recipient(&folder.join("keys").join(region).with_extension("txt"));
        assert!(config.contains(&format!("recipients: [{recipient}]")), "{region} has another recipient");
        let file = folder.join("manifests").join(region).with_extension("yaml");
        let documents: serde_json::Value = serde_json::from_slice(&python.read(&file).stdout).unwrap();
        assert_eq!(documents.as_array().map(Vec::len), Some(6 * 3));
    }
}

#[test]
fn a_program_is_found_in_the_first_folder_that_has_it() {
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    for folder in [&first, &second] {
        fs::create_dir(folder).unwrap();
        write(folder, "sops", "");
    }
    write(&second, "age", "");
    let folders = std::env::join_paths([&first, &second]).unwrap();
    assert_eq!(support::find("sops", &folders), Some(first.join("sops")));
    assert_eq!(support::find("age", &folders), Some(second.join("age")));
    assert_eq!(support::find("kustomize", &folders), None);
}
