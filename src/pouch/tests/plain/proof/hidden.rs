//! Rows of the tamper table for what somebody hides: in spellings, in sizes, in paused regions, behind another
//! fleet's name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::stage::Stage;
use super::table::{
    APPLICATION, AWS, CORE, EAST, EAST_AWS, IDENTITY, MANIFEST, PLAIN, TEMPLATE, Tamper, WEST, edit, part, row, stays,
};

/// A file whose bytes are no text.
fn put(stage: &Stage, path: &str, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(stage.path(path).parent().unwrap()).unwrap();
    std::fs::write(stage.path(path), bytes).unwrap();
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

const SET: &str = "bundles/argocd/slowstart-applicationset.yaml";

/// Has another fleet's bundle stand there.
pub fn other_fleet(stage: &Stage) {
    let manifest = stage.read(MANIFEST).replace("fleet: quickstart", "fleet: slowstart");
    stage.write("bundles/regions/evil/bundle.yaml", manifest.replace("eu-west", "evil"));
}

/// What nobody proves is named: another fleet's ApplicationSet, and what a link leads to.
#[test]
fn what_nobody_looks_at_is_named() {
    let stage = Stage::new();
    other_fleet(&stage);
    stage.write(SET, "");
    std::os::unix::fs::symlink("../quickstart", stage.path("bundles/link")).unwrap();
    let answer = stage.consumer();
    let named =
        "regions/evil, argocd/slowstart-applicationset.yaml: its manifest says that this belongs to fleet slowstart";
    assert!(answer.stderr.contains(named), "{}", answer.stderr);
    assert!(answer.stderr.contains("warning[not-searched]: link is a symlink"), "{}", answer.stderr);
}

/// Pauses the region that Argo CD delivers.
fn pause(stage: &Stage) {
    for config in ["quickstart/pouch.yaml", "quickstart/keyless.yaml"] {
        stage.edit(config, "  us-east:\n", "  us-east:\n    state: paused\n");
    }
}

/// Secrets and keys in spellings that a reader may miss.
pub fn hidden() -> Vec<Tamper> {
    const SECRET: &[&str] = &["plaintext-secret"];
    const NOT: &[&str] = &["not-readable"];
    fn key(stage: &Stage) -> String {
        let key = stage.read("quickstart/keys/eu-west.txt");
        key.lines().find(|line| line.starts_with("AGE-")).unwrap().to_owned()
    }
    vec![
        stays("a Secret in UTF-16", SECRET, |stage| put(stage, "bundles/x.yaml", utf16(&format!("\u{feff}{PLAIN}")))),
        stays("a Secret in UTF-16 without a mark", SECRET, |stage| put(stage, "bundles/x", utf16(PLAIN))),
        stays("another manifest in UTF-16", NOT, |stage| put(stage, "bundles/x.yaml", utf16("a: b\n"))),
        stays("a manifest that is not text", NOT, |stage| put(stage, "bundles/x.yml", b"a: \xff\n")),
        stays("a Secret with tags", NOT, |stage| {
            stage.write("bundles/x.yaml", "{kind: !!binary U2VjcmV0, data: {a: aHVudGVyMg==}}\n");
        }),
        stays("a Secret in capitals' file", SECRET, |stage| {
            stage.write("bundles/x.YAML", PLAIN.replace("kind: Secret", "kind: \"Sec\\x72et\""));
        }),
        stays("a Secret with a key twice", NOT, |stage| {
            stage.write("bundles/x.Json", r#"{"kind": "Sec\u0072et", "data": {"a": "b"}, "data": {"a": "b"}}"#);
        }),
        stays("a Secret in a stream of JSON", SECRET, |stage| {
            stage.write("bundles/x.json", r#"{"a": 1} {"kind": "\u0053ecret", "data": {"a": "aHVudGVyMg=="}}"#);
        }),
        stays("a Secret in lists of lists", SECRET, |stage| {
            let inner = "{kind: SecretList, items: [{data: {a: aHVudGVyMg==}}]}";
            stage.write("bundles/x.yaml", format!("kind: List\nitems: [{{kind: List, items: [{inner}]}}]\n"));
        }),
        stays("a Secret beside deep nesting", SECRET, |stage| {
            let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
            stage.write("bundles/x.yaml", format!("a: {deep}\n---\n{PLAIN}"));
        }),
        stays("a Secret under deep nesting", NOT, |stage| {
            let deep = format!("{}{{kind: \"Sec\\x72et\", data: {{a: b}}}}{}", "[".repeat(500), "]".repeat(500));
            stage.write("bundles/x.yaml", format!("a: {deep}\n"));
        }),
        stays("a Secret beside a bomb of aliases", NOT, |stage| {
            let mut text = format!("a0: &a0 [{}]\n", "x,".repeat(40));
            for n in 1..40 {
                text.push_str(&format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(20)));
            }
            stage.write("bundles/x.yaml", format!("{text}b: {{kind: \"Sec\\x72et\", data: {{a: b}}}}\n"));
        }),
        stays("a Secret in a large file", SECRET, |stage| {
            stage.write("bundles/x.yaml", format!("a: {}\n---\n{PLAIN}", "x".repeat((1 << 20) + 1)));
        }),
        stays("an identity in a large file", SECRET, |stage| {
            put(stage, "bundles/x.bin", [vec![7; (1 << 20) + 1], key(stage).into_bytes()].concat());
        }),
        stays("an identity in UTF-16", SECRET, |stage| put(stage, "bundles/x.txt", utf16(&key(stage)))),
        stays("an identity in base64", SECRET, |stage| {
            stage.write("bundles/x.txt", format!("key={}\n", STANDARD.encode(key(stage))));
        }),
        stays("a reuse key in wrapped base64", SECRET, |stage| {
            let key = STANDARD.encode(format!("# mine\n{}", stage.read("quickstart/reuse.key").trim()));
            let lines: Vec<&str> = key.as_bytes().chunks(17).map(|row| std::str::from_utf8(row).unwrap()).collect();
            stage.write("bundles/x.txt", format!("key: |\n  {}\n", lines.join("\n  ")));
        }),
        stays("attributes among the regions", &["unlisted-file"], |stage| {
            stage.write("bundles/regions/.gitattributes", "* text eol=crlf\n");
        }),
        stays("a file that Flux obeys in a link", &["unsafe-delivery"], |stage| {
            std::os::unix::fs::symlink("README.md", stage.path("bundles/.sourceignore")).unwrap();
        }),
        stays("a large file that Flux obeys", &["unsafe-delivery"], |stage| {
            stage.write("bundles/.sourceignore", "*.yaml\n".repeat(200_000));
        }),
        row("a file that Flux obeys in a region", &["unlisted-file", "unsafe-delivery"], |stage| {
            stage.write(&format!("{WEST}/core/.sourceignore"), "secrets\n");
        }),
        row("attributes in a region", &["unlisted-file"], |stage| {
            stage.write(&format!("{WEST}/.gitattributes"), "* text eol=crlf\n");
        }),
        stays("Flux objects of what calls itself another fleet's", &["region-not-configured"], |stage| {
            let manifest = stage.read(MANIFEST).replace("fleet: quickstart", "fleet: slowstart");
            stage.write("bundles/regions/evil/bundle.yaml", &manifest);
            stage.write("bundles/flux/evil/core.yaml", stage.read(CORE));
        }),
        stays("a file too many of another fleet", &["unlisted-file"], |stage| {
            other_fleet(stage);
            stage.write("bundles/flux/evil/x.yaml", "a: b\n");
        }),
        stays("what is no ApplicationSet of another fleet", &["unsafe-delivery"], |stage| {
            other_fleet(stage);
            stage.write(SET, stage.read(APPLICATION));
        }),
        stays("an empty ApplicationSet of another fleet", &["unsafe-delivery"], |stage| {
            other_fleet(stage);
            stage.write(SET, "");
        }),
        stays("a link as another fleet's ApplicationSet", &["unsafe-delivery"], |stage| {
            other_fleet(stage);
            std::os::unix::fs::symlink("../README.md", stage.path(SET)).unwrap();
        }),
        stays("a Secret in what a run left behind", SECRET, |stage| {
            stage.write("bundles/.pouch-staging/x.yaml", PLAIN)
        }),
        stays("a repository in a region", &["not-plain-file"], |stage| {
            stage.write(&format!("{WEST}/.git/HEAD"), "ref: refs/heads/main\n");
        }),
        stays("a kustomization that makes a Secret", SECRET, |stage| {
            stage.write("bundles/k/kustomization.yaml", "secretGenerator:\n- name: x\n  literals:\n  - a=hunter2\n");
        }),
        stays("the regions in capitals", &["unlisted-file"], |stage| {
            stage.write("bundles/Regions/eu-west/core/x.yaml", "a: b\n");
            stage.write("bundles/FLUX/x.yaml", "a: b\n");
        }),
        stays("an ApplicationSet of a fleet that has nothing", &["region-not-configured", "unlisted-file"], |stage| {
            stage.write("bundles/regions/evil/bundle.yaml", "fleet: x\n");
            stage.write("bundles/argocd/x-applicationset.yaml", stage.read(APPLICATION));
        }),
    ]
}

/// What a region keeps while it is paused.
pub fn paused() -> Vec<Tamper> {
    vec![
        stays("a paused region from another repository", &["unsafe-delivery"], |stage| {
            pause(stage);
            stage.edit(APPLICATION, "git.example.com/acme", "git.example.com/evil");
        }),
        stays("a paused region without its delivery", &["untrusted-bundle", "unsafe-delivery"], |stage| {
            pause(stage);
            std::fs::remove_file(stage.path(APPLICATION)).unwrap();
        }),
        stays("a paused region's Secret for another consumer", &["unsafe-delivery"], |stage| {
            pause(stage);
            let text = stage.read(EAST_AWS);
            let annotations = part(&text, "  annotations:\n", "  labels:\n");
            let flux = "  annotations:\n    kustomize.toolkit.fluxcd.io/force: enabled\n";
            stage.write(EAST_AWS, text.replace(&annotations, flux));
        }),
        stays("a paused region gone, and what delivers it not", &["unlisted-file"], |stage| {
            pause(stage);
            std::fs::remove_dir_all(stage.path(EAST)).unwrap();
        }),
    ]
}

/// What pouch never publishes, wherever nobody vouches for the manifest.
pub fn unpublished() -> Vec<Tamper> {
    const ALIEN: &[&str] = &["untrusted-bundle"];
    const SECRET: &[&str] = &["plaintext-secret"];
    const OPAQUE: &str = "type: Opaque";
    vec![
        edit("a password in an identity", SECRET, IDENTITY, "spec:\n", "spec:\n  aPassword: hunter2\n"),
        edit(
            "a private key in a template",
            SECRET,
            TEMPLATE,
            "kind: ConfigMap\n",
            "data:\n  A: \"x-----BEGIN PRIVATE KEY-----hunter2\"\nkind: ConfigMap\n",
        ),
        edit("a token of a service account", ALIEN, AWS, OPAQUE, "type: kubernetes.io/service-account-token"),
        edit("a token of the bootstrap", ALIEN, AWS, OPAQUE, "type: bootstrap.kubernetes.io/token"),
        edit("a Helm release", ALIEN, AWS, OPAQUE, "type: helm.sh/release.v1"),
        edit(
            "a service account's annotation",
            ALIEN,
            AWS,
            "  annotations:\n",
            "  annotations:\n    kubernetes.io/service-account.name: x\n",
        ),
    ]
}
