//! The tamper table: what somebody does to a good bundle, and what is found then.
//!
//! The codes are those that remain when the manifest's hashes were made to fit, and no reuse key is at
//! hand: each row names what catches it then, so a check that is switched off fails its rows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::hidden;
use super::stage::Stage;

pub const WEST: &str = "bundles/regions/eu-west";
pub const EAST: &str = "bundles/regions/us-east";
pub const AWS: &str = "bundles/regions/eu-west/core/secrets/kcm-system/aws-main-secret.sops.yaml";
const CLOUDS: &str = "bundles/regions/eu-west/core/secrets/kcm-system/openstack-main-clouds.sops.yaml";
const KUBECONF: &str = "bundles/regions/eu-west/core/secrets/team-a/store-17-kubeconf.sops.yaml";
pub const EAST_AWS: &str = "bundles/regions/us-east/core/secrets/kcm-system/aws-main-secret.sops.yaml";
pub const IDENTITY: &str =
    "bundles/regions/eu-west/identities/azureclusteridentity.infrastructure.cluster.x-k8s.io/team-a/azure-main.yaml";
pub const TEMPLATE: &str = "bundles/regions/eu-west/core/configmaps/kcm-system/aws-main-resource-template.yaml";
const TEAM: &str = "bundles/regions/eu-west/core/namespaces/team-a.yaml";
const EAST_TEAM: &str = "bundles/regions/us-east/core/namespaces/team-a.yaml";
pub const MANIFEST: &str = "bundles/regions/eu-west/bundle.yaml";
const LEFT_ALONE: &str = "  annotations:\n    kustomize.toolkit.fluxcd.io/force: enabled\n    kustomize.toolkit.fluxcd.io/ssa: IfNotPresent\n";
const LIST: &str = "bundles/regions/eu-west/core/secrets/kustomization.yaml";
pub const CORE: &str = "bundles/flux/eu-west/core.yaml";
pub const APPLICATION: &str = "bundles/argocd/us-east/application.yaml";
const WEST_KEY: &str = "age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q";
const EAST_KEY: &str = "age1xtgp6s7dvnkl6j78c5qhjpas67680rrfpads7wfqay29thqs7scsfjs9hg";
const STRANGER: &str = "age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4";
pub const PLAIN: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n  namespace: y\nstringData:\n  a: b\n";

/// Where rows of the table must be found too: the file, and how the line there begins; the first line
/// where there is none to tell.
#[rustfmt::skip]
pub const PLACES: &[(&str, &str, &str)] = &[
    ("two Secrets swap their files", AWS, ""),
    ("two Secrets swap their files", CLOUDS, ""),
    ("ciphertext of another Secret", CLOUDS, ""),
    ("ciphertext of another region", AWS, "age:"),
    ("an entry in clear", AWS, "AccessKeyID:"),
    ("a leaf cut short", AWS, "AccessKeyID:"),
    ("a list as an entry", AWS, "A:"),
    ("a field beside", AWS, "spec:"),
    ("stringData beside", AWS, "stringData:"),
    ("another rule", AWS, "sops:"),
    ("another key service", AWS, "kms:"),
    ("no MAC", AWS, "sops:"),
    ("a MAC in clear", AWS, "mac:"),
    ("labelled for another region", AWS, "age:"),
    ("another region's stanza added", AWS, "age:"),
    ("the manifest for a stranger", MANIFEST, ""),
    ("no manifest", MANIFEST, ""),
    ("an entry that leads out", MANIFEST, "- path: ../../x"),
    ("an entry twice", MANIFEST, "- path: flux/eu-west/awsclusterstaticidentity"),
    ("a file of another region", MANIFEST, "- path: flux/us-east/core.yaml"),
    ("another fleet", MANIFEST, ""),
    ("a region gone", "bundles/regions/us-east", ""),
    ("a region too many", "bundles/regions/evil/bundle.yaml", ""),
    ("a file too many", "bundles/regions/eu-west/core/x.yaml", ""),
    ("a file missing", KUBECONF, ""),
    ("a link in the place of a file", AWS, ""),
    ("a Secret in clear in its place", AWS, ""),
    ("a Secret as JSON in a list", "bundles/x.json", ""),
    ("a Secret behind another document", "bundles/x.yaml", "apiVersion:"),
    ("an identity", "bundles/README.md", "AGE-SECRET-KEY-1"),
    ("a Secret with tags", "bundles/x.yaml", ""),
    ("an identity in a large file", "bundles/x.bin", ""),
    ("a reuse key in wrapped base64", "bundles/x.txt", "IyBtaW5lC"),
    ("attributes among the regions", "bundles/regions/.gitattributes", ""),
    ("a file too many of another fleet", "bundles/flux/evil/x.yaml", ""),
    ("a paused region from another repository", APPLICATION, "repoURL:"),
    ("a link in the place of all Applications", "bundles/argocd", ""),
    ("a remote base", LIST, "- https:"),
    ("another region's folder", LIST, "- ../../../us-east"),
    ("a patch", LIST, "patches:"),
    ("a generator of Secrets", LIST, "secretGenerator:"),
    ("a prefix", LIST, "namePrefix:"),
    ("ciphertext applied as it is", "bundles/regions/eu-west/open/kustomization.yaml", "- ../core/secrets"),
    ("Flux that substitutes", CORE, "postBuild:"),
    ("Flux on another folder", CORE, "path:"),
    ("Flux on another source", CORE, "name: evil"),
    ("Flux that deletes", CORE, "deletionPolicy:"),
    ("Flux with another key", CORE, "name: other"),
    ("Argo CD that deletes", APPLICATION, "finalizers:"),
    ("Argo CD on another repository", APPLICATION, "repoURL:"),
    ("Argo CD on another cluster", APPLICATION, "name: eu-west"),
    ("a password in an identity", IDENTITY, "aPassword:"),
    ("a token of a service account", AWS, "type:"),
    ("an identity with a comment", IDENTITY, "spec: #"),
    ("an identity with status", IDENTITY, "status:"),
    ("a ConfigMap with a field of its own", TEMPLATE, "immutable:"),
    ("a variable", IDENTITY, "clientID:"),
    ("an object of nobody's", AWS, "labels:"),
    ("a Namespace that is pruned", TEAM, "annotations:"),
];

/// What a row does.
pub struct Tamper {
    pub what: &'static str,
    pub codes: &'static [&'static str],
    pub spoil: Box<dyn Fn(&Stage)>,
    /// Whether the next render repairs it, told to replace what nobody vouches for.
    pub repaired: bool,
}

pub fn row(what: &'static str, codes: &'static [&'static str], spoil: impl Fn(&Stage) + 'static) -> Tamper {
    Tamper { what, codes, spoil: Box::new(spoil), repaired: true }
}

/// A row that a render cannot repair, because it touches nothing that is not pouch's.
pub fn stays(what: &'static str, codes: &'static [&'static str], spoil: impl Fn(&Stage) + 'static) -> Tamper {
    Tamper { repaired: false, ..row(what, codes, spoil) }
}

/// A row that replaces one text in one file.
pub fn edit(
    what: &'static str,
    codes: &'static [&'static str],
    path: &'static str,
    from: &'static str,
    to: &'static str,
) -> Tamper {
    row(what, codes, move |stage| stage.edit(path, from, to))
}

/// The part of a file from one line to before another.
pub fn part(text: &str, from: &str, to: &str) -> String {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from:?}"));
    let end = text[start..].find(to).unwrap_or_else(|| panic!("no {to:?}"));
    text[start..start + end].to_owned()
}

/// Moves ciphertext, stanzas and MAC from one file into another.
fn transplant(stage: &Stage, from: &str, to: &str) {
    let (source, mut target) = (stage.read(from), stage.read(to));
    for (start, end) in [("data:\n", "kind:"), ("sops:\n", "type: ")] {
        target = target.replace(&part(&target, start, end), &part(&source, start, end));
    }
    stage.write(to, &target);
}

fn stanza(stage: &Stage, path: &str) -> String {
    part(&stage.read(path), "  - enc: |", "  encrypted_regex")
}

/// Replaces the one stanza's age file.
fn rewrap(stage: &Stage, bytes: &[u8]) {
    let text = stage.read(AWS);
    let encoded = STANDARD.encode(bytes);
    let lines: Vec<String> =
        encoded.as_bytes().chunks(64).map(|line| format!("      {}\n", String::from_utf8_lossy(line))).collect();
    let inner = part(&text, "-----BEGIN AGE ENCRYPTED FILE-----\n", "      -----END");
    stage.write(AWS, text.replace(&inner, &format!("-----BEGIN AGE ENCRYPTED FILE-----\n{}", lines.concat())));
}

fn age_file(stanzas: &str) -> Vec<u8> {
    let mut bytes = format!("age-encryption.org/v1\n{stanzas}--- {}\n", "A".repeat(43)).into_bytes();
    bytes.extend([7; 64]);
    bytes
}

pub fn tampers() -> Vec<Tamper> {
    let mut rows = sealed();
    rows.extend(hidden::hidden());
    rows.extend(hidden::paused());
    rows.extend(hidden::unpublished());
    rows.extend(recipients());
    rows.extend(manifests());
    rows.extend(files());
    rows.extend(builds());
    rows.extend(objects());
    rows
}

fn sealed() -> Vec<Tamper> {
    const NOT: &[&str] = &["not-sealed"];
    const ALIEN: &[&str] = &["untrusted-bundle"];
    let regex = "  encrypted_regex: \"^(data|stringData)$\"\n";
    vec![
        row("two Secrets swap their files", &["untrusted-bundle"], |stage| {
            let (one, two) = (stage.read(AWS), stage.read(CLOUDS));
            stage.write(AWS, &two);
            stage.write(CLOUDS, &one);
        }),
        row("ciphertext of another Secret", &["not-sealed", "repeated-ciphertext"], |stage| {
            transplant(stage, CLOUDS, AWS);
        }),
        row("ciphertext of another region", &["foreign-recipient", "wrong-recipients", "repeated-ciphertext"], |s| {
            transplant(s, EAST_AWS, AWS);
        }),
        row("one leaf copied from another Secret", &["repeated-ciphertext"], |stage| {
            let leaf = part(&stage.read(CLOUDS), "ENC[", "\n");
            let text = stage.read(AWS);
            stage.write(AWS, text.replacen(&part(&text, "ENC[", "\n"), &leaf, 1));
        }),
        edit("a leaf of another type", NOT, AWS, ",type:str]", ",type:bool]"),
        edit("a Secret with a finalizer", ALIEN, AWS, "  labels:\n", "  finalizers:\n  - x.example/y\n  labels:\n"),
        edit(
            "a Secret with an owner",
            ALIEN,
            AWS,
            "  namespace: kcm-system\n",
            "  namespace: kcm-system\n  ownerReferences: []\n",
        ),
        edit(
            "an identity with a finalizer",
            ALIEN,
            IDENTITY,
            "  labels:\n",
            "  finalizers:\n  - x.example/y\n  labels:\n",
        ),
        edit("a Namespace that is deleted", ALIEN, TEAM, "  labels:\n", "  deletionTimestamp: x\n  labels:\n"),
        edit("a Secret of another version", ALIEN, AWS, "apiVersion: v1\n", "apiVersion: v9\n"),
        edit("another rule", NOT, AWS, regex, "  encrypted_regex: \"^(data)$\"\n"),
        edit("no rule", NOT, AWS, regex, ""),
        edit("a second rule", NOT, AWS, "  version:", "  unencrypted_suffix: _x\n  version:"),
        edit("a MAC of sealed values only", NOT, AWS, "  version:", "  mac_only_encrypted: true\n  version:"),
        edit("key groups", NOT, AWS, "  version:", "  shamir_threshold: 2\n  version:"),
        edit("another key service", NOT, AWS, "  lastmodified:", "  kms:\n  - arn: x\n  lastmodified:"),
        edit("no version", NOT, AWS, "  version: \"3.9.0\"\n", ""),
        edit("another form of time", NOT, AWS, "Z\"\n  mac", "+00:00\"\n  mac"),
        row("no MAC", NOT, |stage| {
            let text = stage.read(AWS);
            stage.write(AWS, text.replace(&part(&text, "  mac: ENC", "  version"), ""));
        }),
        row("a MAC in clear", NOT, |stage| {
            let text = stage.read(AWS);
            stage.write(AWS, text.replace(&part(&text, "  mac: ENC", "  version"), "  mac: abc\n"));
        }),
        row("an entry in clear", NOT, |stage| {
            let text = stage.read(AWS);
            stage.write(AWS, text.replacen(&part(&text, "ENC[", "\n"), "aHVudGVyMg==", 1));
        }),
        edit("a leaf cut short", NOT, AWS, ",type:str]", ""),
        edit("a number as an entry", NOT, AWS, "data:\n", "data:\n  A: 17\n"),
        edit("a list as an entry", NOT, AWS, "data:\n", "data:\n  A:\n  - hunter2\n"),
        edit("stringData beside", NOT, AWS, "type: Opaque\n", "stringData:\n  a: hunter2\ntype: Opaque\n"),
        edit("a field beside", NOT, AWS, "type: Opaque\n", "spec: hunter2\ntype: Opaque\n"),
        edit("data below metadata", &["not-sealed", "untrusted-bundle"], AWS, "  labels:\n", "  data: x\n  labels:\n"),
        edit("a comment", NOT, AWS, "kind: Secret\n", "# password: hunter2\nkind: Secret\n"),
        edit("a comment behind a value", NOT, AWS, "kind: Secret\n", "kind: Secret # hunter2\n"),
        edit("an anchor", NOT, AWS, "kind: Secret\n", "kind: &a Secret\n"),
        edit("a tag for no entry", NOT, AWS, "entry AccessKeyID", "entry AccessKeyId"),
        edit("a note in the header", NOT, AWS, "apiVersion:", "# pouch: hunter2\napiVersion:"),
        edit("a value as a tag", NOT, AWS, "apiVersion:", "# pouch/v1 entries hunter2\napiVersion:"),
        row("no header", NOT, |stage| {
            let text = stage.read(AWS);
            stage.write(AWS, &text[text.find("apiVersion").unwrap()..]);
        }),
        row("a second document", NOT, |stage| {
            let text = stage.read(AWS);
            stage.write(AWS, format!("{text}---\napiVersion: v1\nkind: ConfigMap\n"));
        }),
        row("no YAML", NOT, |stage| stage.write(AWS, "{[\n")),
        row("a Secret in clear in its place", &["plaintext-secret"], |stage| {
            let clear =
                PLAIN.replace("name: x", "name: aws-main-secret").replace("namespace: y", "namespace: kcm-system");
            let labels = "metadata:\n  annotations:\n    kustomize.toolkit.fluxcd.io/force: enabled\n  labels:\n    \
                          app.kubernetes.io/managed-by: pouch\n    k0rdent.mirantis.com/managed: \"false\"\n";
            stage.write(AWS, clear.replace("metadata:\n", labels));
        }),
        edit("the sops block renamed", &["not-sealed"], AWS, "sops:\n", "sopz:\n"),
    ]
}

fn recipients() -> Vec<Tamper> {
    const WRONG: &[&str] = &["wrong-recipients"];
    let x25519 = format!("-> X25519 {}\n{}\n", "A".repeat(43), "A".repeat(43));
    let twice = format!("{x25519}{x25519}");
    let ssh = format!("-> ssh-ed25519 AAAAAA {}\n{}\n", "A".repeat(43), "A".repeat(43));
    let both = format!("{x25519}-> scrypt AAAA 18\n{}\n", "A".repeat(43));
    let short = |stage: &Stage| {
        let text = stage.read(AWS);
        let inner = part(&text, "-----BEGIN AGE ENCRYPTED FILE-----\n", "      -----END");
        let first = inner.lines().nth(1).unwrap().to_owned();
        stage.write(AWS, text.replace(&format!("{first}\n"), ""));
    };
    vec![
        row("no stanza", WRONG, |stage| {
            let text = stage.read(AWS);
            stage.write(AWS, text.replace(&format!("  age:\n{}", stanza(stage, AWS)), "  age: []\n"));
        }),
        row("a stanza twice", &["wrong-recipients", "repeated-ciphertext"], |stage| {
            let one = stanza(stage, AWS);
            stage.edit(AWS, &one, &format!("{one}{one}"));
        }),
        row("a stanza of another file", &["wrong-recipients", "repeated-ciphertext"], |stage| {
            stage.edit(AWS, &stanza(stage, AWS), &stanza(stage, CLOUDS).replace(WEST_KEY, STRANGER));
        }),
        row("another region's stanza added", &["foreign-recipient", "repeated-ciphertext"], |stage| {
            let one = stanza(stage, AWS);
            stage.edit(AWS, &one, &format!("{one}{}", stanza(stage, EAST_AWS)));
        }),
        edit("labelled for another region", &["foreign-recipient", "wrong-recipients"], AWS, WEST_KEY, EAST_KEY),
        edit("labelled for a stranger", WRONG, AWS, WEST_KEY, STRANGER),
        edit("labelled for nobody", WRONG, AWS, WEST_KEY, "age1nobody"),
        edit("a stanza with a note", WRONG, AWS, "    recipient:", "    note: hunter2\n    recipient:"),
        edit("a stanza without its age file", WRONG, AWS, "enc: |", "enb: |"),
        row("a stanza that names nobody", WRONG, |stage| {
            stage.edit(AWS, &format!("    recipient: {WEST_KEY}\n"), "");
        }),
        row("an age file cut short", WRONG, short),
        row("an age file for an SSH key", WRONG, move |stage| rewrap(stage, &age_file(&ssh))),
        row("an age file with two ways in", WRONG, move |stage| rewrap(stage, &age_file(&twice))),
        row("an age file with a passphrase beside", WRONG, move |stage| rewrap(stage, &age_file(&both))),
        row("an age file that opens for nobody", WRONG, |stage| rewrap(stage, &age_file(""))),
        row("an age file with more in it", WRONG, move |stage| {
            let mut long = age_file(&x25519);
            long.extend([7; 32]);
            rewrap(stage, &long);
        }),
        row("the manifest for another region too", &["foreign-recipient"], |stage| {
            stage.edit(MANIFEST, &format!("- key: {WEST_KEY}\n"), &format!("- key: {WEST_KEY}\n- key: {EAST_KEY}\n"));
        }),
        row("the manifest for a stranger", WRONG, |stage| stage.edit(MANIFEST, WEST_KEY, STRANGER)),
    ]
}

fn manifests() -> Vec<Tamper> {
    const NOT: &[&str] = &["untrusted-bundle"];
    vec![
        row("no manifest", NOT, |stage| std::fs::remove_file(stage.path(MANIFEST)).unwrap()),
        edit("an entry that leads out", NOT, MANIFEST, "path: regions/eu-west/core/configmaps", "path: ../../x"),
        edit(
            "an entry under another name",
            NOT,
            MANIFEST,
            "kind: Secret\n    name: aws-main-secret\n",
            "kind: Secret\n    name: other\n",
        ),
        edit(
            "an entry with a field of its own",
            NOT,
            MANIFEST,
            "  state: current\n",
            "  note: hunter2\n  state: current\n",
        ),
        edit("an entry twice", NOT, MANIFEST, "files:\n", "files:\n- path: flux/eu-west/core.yaml\n  sha256: x\n"),
        edit("a file of another region", NOT, MANIFEST, "path: flux/eu-west/core.yaml", "path: flux/us-east/core.yaml"),
        edit("a comment", NOT, MANIFEST, "kind: Bundle\n", "kind: Bundle # hunter2\n"),
        edit("another fleet", NOT, MANIFEST, "fleet: quickstart", "fleet: slowstart"),
        edit("another folder", NOT, MANIFEST, "  name: eu-west\n", "  name: eu-east\n"),
        stays("a later format", NOT, |stage| stage.edit(MANIFEST, "pouch/v1alpha2", "pouch/v2")),
        stays("a later tag", NOT, |stage| stage.edit(MANIFEST, "# pouch/v1 ", "# pouch/v2 ")),
        row("no tag", NOT, |stage| {
            let text = stage.read(MANIFEST);
            stage.write(MANIFEST, text.split_once('\n').unwrap().1);
        }),
        row("that of another region", NOT, |stage| {
            let other = stage.read(&format!("{EAST}/bundle.yaml"));
            stage.write(MANIFEST, &other);
        }),
        row("an object that grants rights", &["untrusted-bundle", "unsafe-delivery", "not-buildable"], |stage| {
            let leaf = "identities/clusterrolebinding.rbac.authorization.k8s.io";
            let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  labels:\n    \
                           app.kubernetes.io/managed-by: pouch\n    k0rdent.mirantis.com/managed: \"false\"\n  name: evil\n";
            stage.write(&format!("{WEST}/{leaf}/evil.yaml"), binding);
            let entry = format!(
                "- key:\n    group: rbac.authorization.k8s.io\n    kind: ClusterRoleBinding\n    name: evil\n  neededBy: []\n  \
                 path: regions/eu-west/{leaf}/evil.yaml\n  sha256: \"{}\"\n  state: current\n",
                "0".repeat(64)
            );
            stage.edit(MANIFEST, "recipients:\n", &format!("{entry}recipients:\n"));
        }),
        row("a region gone", &["untrusted-bundle", "unlisted-file"], |stage| {
            std::fs::remove_dir_all(stage.path(EAST)).unwrap();
        }),
        stays("a region too many", &["region-not-configured"], |stage| {
            stage.write("bundles/regions/evil/bundle.yaml", stage.read(MANIFEST));
        }),
    ]
}

fn files() -> Vec<Tamper> {
    vec![
        row("a file too many", &["unlisted-file"], |stage| stage.write(&format!("{WEST}/core/x.yaml"), "a: b\n")),
        row("a delivery file too many", &["unlisted-file"], |stage| {
            stage.write("bundles/flux/eu-west/x.yaml", "a: b\n");
        }),
        row("a file too many that the manifest lists", &["unlisted-file"], |stage| {
            stage.write("bundles/flux/eu-west/z.yaml", "a: b\n");
            let entry = "- path: regions/eu-west/core/configmaps/kustomization.yaml\n";
            let more = format!("- path: flux/eu-west/z.yaml\n  sha256: \"{}\"\n{entry}", "0".repeat(64));
            stage.edit(MANIFEST, entry, &more);
        }),
        stays("Flux objects of no region", &["unlisted-file"], |stage| {
            stage.write("bundles/flux/evil/core.yaml", stage.read(CORE));
        }),
        stays("an Application of no region", &["unlisted-file"], |stage| {
            stage.write("bundles/argocd/evil/application.yaml", stage.read(APPLICATION));
        }),
        stays("an Application beside the regions' folders", &["unlisted-file"], |stage| {
            stage.write("bundles/argocd/x.yaml", stage.read(APPLICATION));
        }),
        stays("an ApplicationSet of no fleet", &["unlisted-file"], |stage| {
            stage.write("bundles/argocd/x-applicationset.yaml", stage.read(APPLICATION));
        }),
        stays("an ApplicationSet of the fleet, which has none", &["unlisted-file"], |stage| {
            stage.write("bundles/argocd/quickstart-applicationset.yaml", stage.read(APPLICATION));
        }),
        stays("a kustomization of all regions", &["unlisted-file"], |stage| {
            stage.write("bundles/regions/kustomization.yaml", "resources: [eu-west]\n");
        }),
        stays("what delivers a retired region", &["unlisted-file"], |stage| {
            for config in ["quickstart/pouch.yaml", "quickstart/keyless.yaml"] {
                stage.edit(config, "  us-east:\n", "  us-east:\n    state: retired\n");
            }
            std::fs::remove_dir_all(stage.path(EAST)).unwrap();
        }),
        stays("a link to delivery objects", &["not-plain-file"], |stage| {
            std::os::unix::fs::symlink("eu-west", stage.path("bundles/flux/evil")).unwrap();
        }),
        stays(
            "a link in the place of all Applications",
            &["not-plain-file", "untrusted-bundle", "unsafe-delivery"],
            |stage| {
                std::fs::rename(stage.path("bundles/argocd"), stage.path("elsewhere")).unwrap();
                std::os::unix::fs::symlink(stage.path("elsewhere"), stage.path("bundles/argocd")).unwrap();
            },
        ),
        row("a Secret in clear beside", &["unlisted-file", "plaintext-secret"], |stage| {
            stage.write(&format!("{WEST}/core/secrets/team-a/x.yaml"), PLAIN);
        }),
        row("a file missing", &["untrusted-bundle"], |stage| std::fs::remove_file(stage.path(KUBECONF)).unwrap()),
        row("a kustomization missing", &["untrusted-bundle", "not-buildable"], |stage| {
            std::fs::remove_file(stage.path(LIST)).unwrap();
        }),
        stays("a link in the place of a file", &["not-plain-file"], |stage| {
            std::fs::rename(stage.path(AWS), stage.path("elsewhere")).unwrap();
            std::os::unix::fs::symlink(stage.path("elsewhere"), stage.path(AWS)).unwrap();
        }),
        stays("a link in the place of a folder", &["not-plain-file", "untrusted-bundle", "not-buildable"], |stage| {
            std::fs::rename(stage.path(&format!("{WEST}/core/namespaces")), stage.path("elsewhere")).unwrap();
            std::os::unix::fs::symlink(stage.path("elsewhere"), stage.path(&format!("{WEST}/core/namespaces")))
                .unwrap();
        }),
        stays("a Secret in clear outside of the regions", &["plaintext-secret"], |stage| {
            stage.write("bundles/notes.yaml", PLAIN);
        }),
        stays("a Secret as JSON in a list", &["plaintext-secret"], |stage| {
            stage.write("bundles/x.json", r#"{"kind":"List","items":[{"kind":"Secret","data":{"a":"Yg=="}}]}"#);
        }),
        stays("a SecretList", &["plaintext-secret"], |stage| {
            stage.write("bundles/x.yaml", "kind: SecretList\nitems:\n- data: {a: Yg==}\n");
        }),
        stays("a Secret behind another document", &["plaintext-secret"], |stage| {
            stage.write("bundles/x.yaml", format!("a: b\n---\n{PLAIN}"));
        }),
        stays("a Secret whose kind is written otherwise", &["plaintext-secret"], |stage| {
            stage.write("bundles/x.yml", PLAIN.replace("kind: Secret", "kind: \"\\x53ecret\""));
        }),
        stays("a Secret that is not YAML", &["plaintext-secret"], |stage| {
            stage.write("bundles/x.yaml", format!("{PLAIN}  - [\n"));
        }),
        stays("a Secret in another kind of file", &["plaintext-secret"], |stage| stage.write("bundles/README", PLAIN)),
        stays("an identity", &["plaintext-secret"], |stage| {
            stage.write("bundles/README.md", stage.read("quickstart/keys/eu-west.txt"));
        }),
        stays("a reuse key", &["plaintext-secret"], |stage| {
            stage.write("bundles/README.md", stage.read("quickstart/reuse.key").to_lowercase());
        }),
        row("line ends for git to change", &["unsafe-delivery"], |stage| {
            std::fs::remove_file(stage.path("bundles/.gitattributes")).unwrap();
        }),
        row("another encoding for git to make", &["unsafe-delivery"], |stage| {
            let text = "* -text\n*.yaml text eol=crlf working-tree-encoding=UTF-16\n";
            stage.write("bundles/.gitattributes", text);
        }),
    ]
}

fn builds() -> Vec<Tamper> {
    const NOT: &[&str] = &["not-buildable"];
    const UNSAFE: &[&str] = &["unsafe-delivery"];
    let kind = "kind: Kustomization\n";
    vec![
        edit("a Secret not listed", NOT, LIST, "- team-a/store-17-kubeconf.sops.yaml\n", ""),
        edit("a remote base", NOT, LIST, "resources:\n", "resources:\n- https://git.example.com/evil\n"),
        edit(
            "a remote base with a password",
            NOT,
            LIST,
            "resources:\n",
            "resources:\n- https://u:hunter2@x.example/y\n",
        ),
        edit("another region's folder", NOT, LIST, "resources:\n", "resources:\n- ../../../us-east/core\n"),
        edit("a patch", NOT, LIST, kind, "kind: Kustomization\npatches:\n- path: x.yaml\n"),
        edit("a generator", NOT, LIST, "kind:", "generators:\n- x.yaml\nkind:"),
        edit(
            "a generator with values",
            &["not-buildable", "plaintext-secret"],
            LIST,
            "resources:",
            "secretGenerator:\n- literals:\n  - a=hunter2\n  name: x\nresources:",
        ),
        edit("a generator of Secrets", NOT, LIST, "resources:", "secretGenerator:\n- name: x\nresources:"),
        edit("a prefix", NOT, LIST, "resources:", "namePrefix: x-\nresources:"),
        edit("a comment", NOT, LIST, kind, "kind: Kustomization # hunter2\n"),
        edit("no YAML", NOT, LIST, kind, "{[\n"),
        edit("a folder not listed", NOT, "bundles/regions/eu-west/core/kustomization.yaml", "- secrets\n", ""),
        edit(
            "ciphertext applied as it is",
            NOT,
            "bundles/regions/eu-west/open/kustomization.yaml",
            "- ../core/configmaps\n",
            "- ../core/configmaps\n- ../core/secrets\n",
        ),
        row("a leaf of somebody's own", &["unlisted-file", "not-buildable", "unsafe-delivery"], |stage| {
            stage.write(&format!("{WEST}/identities/evil.example.com/kustomization.yaml"), "resources: [x.yaml]\n");
        }),
        edit(
            "Flux without decryption",
            UNSAFE,
            CORE,
            "  decryption:\n    provider: sops\n    secretRef:\n      name: sops-age\n",
            "",
        ),
        edit("Flux that substitutes", UNSAFE, CORE, "  prune:", "  postBuild:\n    substitute: {a: b}\n  prune:"),
        edit("Flux on another folder", UNSAFE, CORE, "regions/eu-west/core", "regions/us-east/core"),
        edit("Flux on another source", UNSAFE, CORE, "    name: fleet\n", "    name: evil\n"),
        edit("Flux that deletes", UNSAFE, CORE, "deletionPolicy: Orphan", "deletionPolicy: Delete"),
        edit("Flux with another key", UNSAFE, CORE, "name: sops-age", "name: other"),
        edit("Flux objects not listed", UNSAFE, "bundles/flux/eu-west/kustomization.yaml", "- core.yaml\n", ""),
        edit(
            "Argo CD on the ciphertext",
            UNSAFE,
            APPLICATION,
            "    path: bundles/regions/us-east\n    plugin: {}\n",
            "    path: bundles/regions/us-east/core\n",
        ),
        edit("Argo CD by client-side apply", UNSAFE, APPLICATION, "    - ServerSideApply=true\n", ""),
        edit(
            "Argo CD that deletes",
            UNSAFE,
            APPLICATION,
            "metadata:\n",
            "metadata:\n  finalizers: [resources-finalizer.argocd.argoproj.io]\n",
        ),
        edit("Argo CD on another repository", UNSAFE, APPLICATION, "git.example.com/acme", "git.example.com/evil"),
        edit("Argo CD on another cluster", UNSAFE, APPLICATION, "    name: us-east\n", "    name: eu-west\n"),
        row("no delivery object", &["untrusted-bundle", "unsafe-delivery"], |stage| {
            std::fs::remove_file(stage.path(APPLICATION)).unwrap();
        }),
    ]
}

fn objects() -> Vec<Tamper> {
    const NOT: &[&str] = &["untrusted-bundle"];
    const UNSAFE: &[&str] = &["unsafe-delivery"];
    let force = "  annotations:\n    kustomize.toolkit.fluxcd.io/force: enabled\n";
    vec![
        edit("a Secret under another namespace", NOT, AWS, "namespace: kcm-system", "namespace: team-a"),
        edit("a Secret under another name", NOT, AWS, "  name: aws-main-secret", "  name: other"),
        edit("an identity of another kind", NOT, IDENTITY, "kind: AzureClusterIdentity", "kind: ClusterRole"),
        edit("an identity with a comment", NOT, IDENTITY, "spec:\n", "spec: # hunter2\n"),
        edit("an identity with status", NOT, IDENTITY, "spec:\n", "status:\n  a: b\nspec:\n"),
        edit(
            "a ConfigMap with a field of its own",
            NOT,
            TEMPLATE,
            "kind: ConfigMap\n",
            "immutable: true\nkind: ConfigMap\n",
        ),
        edit(
            "a ConfigMap that is a Secret",
            &["untrusted-bundle", "plaintext-secret"],
            TEMPLATE,
            "kind: ConfigMap\n",
            "data:\n  a: Yg==\nkind: Secret\n",
        ),
        edit("a variable", UNSAFE, IDENTITY, "11111111-2222-3333-4444-555555555555", "${x}"),
        edit(
            "a Secret that is not decrypted",
            UNSAFE,
            AWS,
            force,
            "  annotations:\n    kustomize.toolkit.fluxcd.io/decrypt: disabled\n    kustomize.toolkit.fluxcd.io/force: enabled\n",
        ),
        edit("a Secret whose type stops a region", UNSAFE, AWS, force, ""),
        edit("a Secret that is left alone", UNSAFE, AWS, force, LEFT_ALONE),
        row("a Secret that is left alone, and that nobody needs", UNSAFE, move |stage| {
            stage.edit(AWS, force, LEFT_ALONE);
            let text = stage.read(MANIFEST);
            let at = text.find("name: aws-main-secret").unwrap();
            let needed = part(&text[at..], "  neededBy:", "  path:");
            stage.write(MANIFEST, text.replace(&needed, "  neededBy: []\n"));
        }),
        row("a Secret that is left alone for a template that the region does not take", UNSAFE, move |stage| {
            stage.edit(AWS, force, LEFT_ALONE);
            let text = stage.read(MANIFEST);
            let at = text.find("name: aws-main-secret").unwrap();
            let needed = part(&text[at..], "  neededBy:", "  path:");
            let other = "  neededBy:\n  - by:\n      kind: ManagedResource\n      namespace: kcm-system\n      template: x\n    through: []\n";
            stage.write(MANIFEST, text.replace(&needed, other));
        }),
        edit("a Secret applied by the client", UNSAFE, EAST_AWS, "ServerSideApply=true", "ServerSideApply=false"),
        edit(
            "a copy of the Secret in an annotation",
            UNSAFE,
            AWS,
            force,
            "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: hunter2\n    kustomize.toolkit.fluxcd.io/force: enabled\n",
        ),
        edit("an object handed back to k0rdent", UNSAFE, AWS, "managed: \"false\"", "managed: \"true\""),
        edit("an object of nobody's", UNSAFE, AWS, "    app.kubernetes.io/managed-by: pouch\n", ""),
        edit("a Namespace with a label of somebody's", UNSAFE, TEAM, "  labels:\n", "  labels:\n    a: b\n"),
        edit("a Namespace with another label", UNSAFE, EAST_TEAM, "environment: production", "environment: test"),
        edit("a Namespace without its label", UNSAFE, EAST_TEAM, "    environment: production\n", ""),
        edit("a Namespace that is left alone", UNSAFE, EAST_TEAM, "ssa: Merge", "ssa: IfNotPresent"),
        edit("a Namespace that is pruned", UNSAFE, TEAM, "    kustomize.toolkit.fluxcd.io/prune: disabled\n", ""),
    ]
}
