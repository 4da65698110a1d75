//! The real programs read what pouch writes: sops, age and kustomize, in the versions of `scripts/tools/pins`.
//!
//! Bundles of odd Secrets are made here; those of the quickstart and of k0rdent's samples have files of
//! their own beside this one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pouch_core::secret::SecretBytes;
use serde_json::{Value, json};

use crate::support::fleet::Fleet;
use crate::support::proof::{Plain, Programs, Region};
use crate::support::{self, Age, Kustomize, PyYaml, Sops, pouch, root, tree};

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
    let script = root().join("scripts/bench/fleet");
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

/// A Secret's entries: names and values.
type Entries = Vec<(&'static str, Vec<u8>)>;

/// Secrets, each by namespace and name, with names and values that a writer of YAML, a reader of YAML 1.1, sops or kustomize could stumble on.
fn odd_secrets() -> Vec<(&'static str, &'static str, Entries)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("team-a", "nothing", vec![]),
        ("team-a", "empty", vec![("empty", vec![])]),
        ("team-a", "binary", vec![("every-byte", (0..=255).collect()), ("no-utf-8", vec![0xff, 0xfe, 0, 0x80])]),
        // The most that the API takes.
        ("team-a", "large", vec![("blob", (0..1024 * 1024_u32).map(|n| n.to_le_bytes()[0]).collect())]),
        (
            "team-a",
            "names",
            [
                "sops",
                "data",
                "stringData",
                "mac",
                "true",
                "yes",
                "n",
                "null",
                "1234",
                "0x1f",
                "1e3",
                "1_000",
                "2001-01-01",
                ".hidden",
                "_x",
                "-",
                "a.b-c_d",
            ]
            .map(|name| (name, text(name)))
            .to_vec(),
        ),
        (
            "team-a",
            "values",
            vec![
                ("unicode", text("\u{feff}p\u{e4}ssw\u{f6}rd \u{1f511}\u{2028}\u{200b}")),
                ("lines", text("a\r\nb\n\n---\n...\n- c: d # e\n")),
                ("spaces", text("  \t x \t\n ")),
                ("templates", text("${HOME} $(x) {{ .y }} %s")),
                ("short", text("x")),
            ],
        ),
        ("1234", "true", vec![("on", text("off"))]),
        ("null", "1e3", vec![("y", text("~"))]),
        ("con", "kustomization", vec![("kind", text("Secret"))]),
        ("con", "nul.yaml", vec![("k", text("v"))]),
        ("con", "0x1f", vec![("a", text("same value")), ("b", text("same value"))]),
    ]
}

/// Writes each document as a JSON file of its own, so that this test decides nothing about YAML.
fn document(folder: &Path, document: &Value) {
    let name = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let file = format!("{}-{}-{}.json", name("/kind"), name("/metadata/namespace"), name("/metadata/name"));
    write(folder, &file, &document.to_string());
}

fn credential(folder: &Path, region: &str, namespace: &str, secret: &str) {
    let identity = json!({"apiVersion": "v1", "kind": "Secret", "name": secret, "namespace": namespace});
    document(
        folder,
        &json!({
            "apiVersion": "k0rdent.mirantis.com/v1beta1",
            "kind": "Credential",
            "metadata": {"name": format!("{region}-{secret}"), "namespace": namespace},
            "spec": {"region": region, "identityRef": identity},
        }),
    );
}

#[test]
fn odd_secrets_arrive_unharmed() {
    let (Some(programs), Some(age)) = (Programs::find(), Age::find()) else { return };
    let fleet = Fleet::empty();
    let manifests = fleet.path("manifests");
    fs::create_dir(&manifests).unwrap();
    let mut plain = Plain::new();
    for (namespace, name, entries) in odd_secrets() {
        let entries: BTreeMap<String, String> = entries
            .into_iter()
            .map(|(entry, value)| (entry.to_owned(), SecretBytes::new(value).to_base64().to_string()))
            .collect();
        document(
            &manifests,
            &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": entries}),
        );
        plain.insert(format!("{namespace}/{name}"), entries);
        credential(&manifests, "ksops", namespace, name);
    }
    // One Secret in two regions is sealed twice, for each with a key of its own.
    let shared = ["team-a/names", "1234/true"];
    for name in shared {
        let (namespace, name) = name.split_once('/').unwrap();
        credential(&manifests, "flux", namespace, name);
    }
    let identity = |name: &str| fleet.path(name).with_extension("txt");
    let (one, two) = (age.keygen(&identity("ksops")), age.keygen(&identity("flux")));
    fleet.configured(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: odd}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\n\
         regions:\n\
         \x20 ksops: {{recipients: [{one}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: {{argocd: {{mode: ksops}}}}}}\n\
         \x20 flux: {{recipients: [{two}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: flux}}\n\
         regionDefaults:\n  delivery:\n    flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}\n\
         \x20   argocd: {{repoURL: 'https://git.example.com/fleet.git'}}\n\
         reuseKey: {{file: reuse.key}}\n"
    ));
    let (config, bundles) = (fleet.path("pouch.yaml"), fleet.path("bundles"));
    pouch::render(&config, &bundles, &[]).exits(0);
    let some = shared.iter().map(|name| ((*name).to_owned(), plain[*name].clone())).collect();
    programs.prove(
        &bundles,
        &[
            Region { directory: "ksops", identity: identity("ksops"), plain },
            Region { directory: "flux", identity: identity("flux"), plain: some },
        ],
    );
    pouch::proved(&config, &bundles);
    let before = tree::read(&bundles);
    assert!(
        before.contains_key("regions/ksops/argocd/ksops.yaml")
            && !before.contains_key("regions/flux/argocd/ksops.yaml")
    );
    let answer = pouch::render(&config, &bundles, &[]).exits(0);
    assert_eq!(answer.outcomes(), [("flux", "unchanged"), ("ksops", "unchanged")]);
    assert_eq!(tree::changes(&before, &tree::read(&bundles)), [""; 0]);
}

/// Without this the proof above could be one that every bundle passes.
#[test]
fn the_proof_notices_what_is_wrong() {
    let Some(programs) = Programs::find() else { return };
    let root = root();
    let all = programs.secrets_of(&root.join("testdata/quickstart/manifests"));
    let sealed = "regions/us-east/core/secrets/kcm-system/vsphere-dc1-secret.sops.yaml";
    let check = |what: &str, spoil: &dyn Fn(&Path)| {
        let scratch = tempfile::tempdir().unwrap();
        tree::copy(&root.join("bundles/regions/us-east"), &scratch.path().join("regions/us-east"));
        spoil(scratch.path());
        let names = ["kcm-system/aws-main-secret", "kcm-system/vsphere-dc1-secret"];
        let plain = names.iter().map(|name| ((*name).to_owned(), all[*name].clone())).collect();
        let identity = root.join("testdata/quickstart/keys/us-east.txt");
        let region = Region { directory: "us-east", identity, plain };
        let outcome = std::panic::catch_unwind(|| programs.prove(scratch.path(), &[region]));
        assert_eq!(outcome.is_ok(), what == "nothing", "{what}");
    };
    let replace = |path: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from));
        fs::write(path, text.replace(from, to)).unwrap();
    };
    check("nothing", &|_| {});
    check("a touched name", &|bundles| {
        replace(&bundles.join(sealed), "name: vsphere-dc1-secret", "name: vsphere-dc2-secret")
    });
    check("a touched label", &|bundles| replace(&bundles.join(sealed), "managed-by: pouch", "managed-by: me"));
    check("another region's file", &|bundles| {
        let theirs = "bundles/regions/eu-west/core/secrets/kcm-system/aws-main-secret.sops.yaml";
        fs::copy(root.join(theirs), bundles.join("regions/us-east/core/secrets/kcm-system/aws-main-secret.sops.yaml"))
            .unwrap();
    });
    check("a file that kustomize does not list", &|bundles| {
        replace(
            &bundles.join("regions/us-east/core/secrets/kustomization.yaml"),
            "- kcm-system/vsphere-dc1-secret.sops.yaml\n",
            "",
        );
    });
    check("a folder too many", &|bundles| fs::create_dir(bundles.join("regions/us-west")).unwrap());
}
