//! Sources that kustomize builds, by the real kustomize and sops.

mod random;
mod shapes;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use crate::support::fleet::{CANARY, EU, Fleet, Ran, credential, secret};
use crate::support::proof::Programs;
use crate::support::{Age, Sops, printed, root, run, tool};

/// A fleet with one source, which builds the folder `tree/over` of a repository.
struct Built {
    fleet: Fleet,
    sops: Sops,
    recipient: String,
    kustomize: PathBuf,
}

const PLACE: &str = "directory: {path: tree/over, build: kustomize}, decryption: {ageIdentityFile: keys/own.txt}";

impl Built {
    /// None, loudly, where a program is absent.
    fn new() -> Option<Self> {
        let (sops, age, kustomize) = (Sops::find()?, Age::find()?, tool("kustomize")?);
        let fleet = Fleet::new();
        fs::create_dir(fleet.path("keys")).unwrap();
        let recipient = age.keygen(&fleet.path("keys/own.txt"));
        fleet.configure("directory: {path: manifests}", PLACE);
        fs::create_dir_all(fleet.path("tree/.git")).unwrap();
        let built = Self { fleet, sops, recipient, kustomize };
        built.git(&["init", "--quiet", "--initial-branch=main"]);
        Some(built)
    }

    /// The same with a base of a Credential and its sealed Secret, neither of which says its namespace, and an overlay that does.
    fn with_base() -> Option<Self> {
        let built = Self::new()?;
        let credential = credential("eu", "x", "aws", ["v1", "Secret", "aws"]).replace(", namespace: x", "");
        built.write("base/credential.yaml", &credential);
        built.sealed("base/secret.yaml", "", "aws", &format!("token: {CANARY}"));
        built.write("base/kustomization.yaml", "resources: [credential.yaml, secret.yaml]\n");
        built.write("over/kustomization.yaml", "namespace: team-a\nresources: [../base]\n");
        Some(built)
    }

    fn write(&self, path: &str, text: &str) {
        self.fleet.write(&format!("tree/{path}"), text);
    }

    /// Writes a Secret that sops sealed; `namespace` is empty for none.
    fn sealed(&self, path: &str, namespace: &str, name: &str, entries: &str) {
        let text = secret(if namespace.is_empty() { "x" } else { namespace }, name, entries);
        let text = if namespace.is_empty() { text.replace(", namespace: x", "") } else { text };
        self.write(path, &text);
        self.seal(path);
    }

    /// Seals a file in place.
    fn seal(&self, path: &str) {
        let file = self.fleet.path(&format!("tree/{path}"));
        fs::write(&file, self.sops.sealed(&file, &self.recipient)).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let folder = self.fleet.path("tree");
        let words = ["-C".as_ref(), folder.as_os_str()].into_iter().chain(arguments.iter().map(|word| word.as_ref()));
        let identity = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        let settings: Vec<_> = identity.iter().map(|name| (*name, "x".as_ref())).collect();
        printed("git".as_ref(), &run("git".as_ref(), words, &settings));
    }

    /// Commits the tree, and gives the commit.
    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "tree"]);
    }

    /// Lets the source be the repository's commit.
    fn read_from_git(&self) {
        self.commit();
        self.fleet.configure("directory: {path: tree/over,", "git: {repository: tree, ref: main, path: over,");
    }

    /// The program with kustomize in its PATH, and a tree that git knows.
    fn command(&self, arguments: &[&str]) -> Command {
        self.git(&["add", "--all"]);
        let mut command = self.fleet.command(arguments);
        let old = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.kustomize.parent().unwrap().to_owned()).chain(std::env::split_paths(&old));
        let path: OsString = std::env::join_paths(folders).unwrap();
        command.env("PATH", path);
        command
    }

    fn render(&self) -> Ran {
        Ran::from(self.command(&["render"]).output().unwrap())
    }

    /// Puts a program of our own in the place of kustomize. It prints a version, and then runs these lines.
    fn stand_in(&mut self, script: &str) {
        let path = self.fleet.path("bin/kustomize");
        let text = format!("#!/bin/sh\nif [ \"$1\" = version ]; then echo v5.9.9; exit; fi\n{script}\n");
        self.fleet.write("bin/kustomize", text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self.kustomize = path;
    }

    /// The values of the published Secrets, in base64, by namespace and name.
    fn published(&self) -> Vec<String> {
        let programs = Programs::find().unwrap();
        let identity = root().join("testdata/quickstart/keys/eu-west.txt");
        let files = self.fleet.tree("bundles/regions/eu/core/secrets").into_keys();
        let opened = files.filter(|path| path.ends_with(".sops.yaml")).map(|path| {
            let file = self.fleet.path(&format!("bundles/regions/eu/core/secrets/{path}"));
            let (name, entries) = programs.opened(&file, &identity);
            format!("{name} {}", entries.keys().cloned().collect::<Vec<_>>().join(","))
        });
        opened.collect()
    }
}

/// An overlay with a patch of one operation.
fn patch(target: &str, operation: &str) -> String {
    format!("namespace: team-a\nresources: [../base]\npatches:\n- target: {target}\n  patch: |-\n    - {operation}\n")
}

#[test]
fn what_is_published_is_what_kustomize_builds_of_folders_and_commits() {
    let Some(built) = Built::with_base() else { return };
    assert!(EU.starts_with("age1"));
    // A component, a generated ConfigMap, a label, and a Secret that KSOPS would open, beside what the base has.
    built.write(
        "part/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n",
    );
    built.write(
        "part/c.yaml",
        &credential("eu", "team-b", "more", ["v1", "Secret", "more"]).replace("team-b", "team-a"),
    );
    built.sealed("over/more.enc.yaml", "team-a", "more", "one: a, two: b");
    built.write(
        "over/ksops.yaml",
        "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: x}\nfiles: [more.enc.yaml]\n",
    );
    built.write(
        "over/kustomization.yaml",
        "namespace: team-a\nresources: [../base]\ncomponents: [../part]\ngenerators: [ksops.yaml]\n\
         configMapGenerator: [{name: settings, files: [../base/kustomization.yaml]}]\n\
         labels: [{pairs: {team: a}}]\n",
    );
    let mut command = built.command(&["render", "--summary", "summary.json"]);
    let ran = Ran::from(command.output().unwrap()).ends(0).outcome("eu", "published");
    let summary: serde_json::Value = serde_json::from_str(&built.fleet.read("summary.json")).unwrap();
    assert!(summary["kustomize"].as_str().unwrap().starts_with("v5."), "{summary}");
    assert!(!ran.stderr.contains("warning") && !ran.stderr.contains("error"), "{}", ran.stderr);
    assert_eq!(built.published(), ["team-a/aws token", "team-a/more one,two"]);
    let bundle = built.fleet.read("bundles/regions/eu/bundle.yaml");
    assert!(bundle.contains("path: base/secret.yaml\n"), "{bundle}");
    // Nothing changes in a second run, nor where the same tree is read from its commit but for where it stands.
    let before = built.fleet.tree("bundles/regions/eu/core");
    built.render().ends(0).outcome("eu", "unchanged");
    built.read_from_git();
    built.render().ends(0);
    assert_eq!(built.fleet.tree("bundles/regions/eu/core"), before);
    let bundle = built.fleet.read("bundles/regions/eu/bundle.yaml");
    assert!(bundle.contains("path: base/secret.yaml\n"), "{bundle}");
}

#[test]
fn a_sealed_value_stays_in_its_document_and_under_its_key() {
    let Some(built) = Built::with_base() else { return };
    built.sealed("base/other.yaml", "", "other", "token: other");
    built.write("base/kustomization.yaml", "resources: [credential.yaml, secret.yaml, other.yaml]\n");
    built.render().ends(0);
    let undecryptable = "error[undecryptable-source]";
    let secret = "{kind: Secret, name: aws}";
    for (kustomization, code, why) in [
        // From one key to another; into another Secret under the same key; into two.
        (
            patch(secret, "{op: move, from: /stringData/token, path: /stringData/other}"),
            undecryptable,
            "the sealed value at stringData.other does not stand there in the document that was sealed",
        ),
        (
            "namespace: team-a\nresources: [../base]\nreplacements: [{source: {kind: Secret, name: other, fieldPath: \
             stringData.token}, targets: [{select: {kind: Secret, name: aws}, fieldPaths: [stringData.token]}]}]\n"
                .to_owned(),
            undecryptable,
            "the sealed value at stringData.token does not stand there in the document that was sealed",
        ),
        (
            "namespace: team-a\nresources: [../base, ../again]\n".to_owned(),
            undecryptable,
            "several objects were built of one sealed document: Secret team-a/aws, Secret team-a/aws-again",
        ),
        (
            patch(secret, "{op: add, path: /stringData/plain, value: in-the-open}"),
            "error[mixed-sealing]",
            "the value at stringData.plain is not sealed, and the document that it was built of seals what stands there",
        ),
        (
            patch(secret, "{op: replace, path: /sops/mac, value: forged}"),
            undecryptable,
            "its sops block is that of no document that was built",
        ),
    ] {
        built.write("again/kustomization.yaml", "resources: [../base/secret.yaml]\nnameSuffix: -again\n");
        built.write("over/kustomization.yaml", &kustomization);
        let before = built.published();
        let ran = built.render().ends(3).says(code).says(why);
        assert!(!ran.stderr.contains("in-the-open"), "{}", ran.stderr);
        assert_eq!(built.published(), before, "{kustomization}");
    }
    // A value that was copied in the tree itself, before any build.
    built.write("over/kustomization.yaml", "namespace: team-a\nresources: [../base]\n");
    let (whole, other) = (built.fleet.read("tree/base/secret.yaml"), built.fleet.read("tree/base/other.yaml"));
    let value = |text: &str| text.lines().find(|line| line.contains("token: ENC")).unwrap().to_owned();
    built.write("base/secret.yaml", &whole.replace(&value(&whole), &value(&other)));
    built
        .render()
        .ends(3)
        .says("error[copied-ciphertext]: a sealed value of Secret team-a/aws stands in Secret team-a/other too");
    built.write("base/secret.yaml", &whole);
    // Without its block it is no sealed document any more.
    built.write("over/kustomization.yaml", &patch(secret, "{op: remove, path: /sops}"));
    built.render().ends(3).says("error[");
    // The control: what is readable may be changed, and a value that is left out is.
    built.write("over/kustomization.yaml", &patch(secret, "{op: add, path: /metadata/labels, value: {a: b}}"));
    built.render().ends(0);
}

#[test]
fn files_that_sops_sealed_are_entries_of_generated_secrets() {
    let Some(built) = Built::with_base() else { return };
    let seal = |path: &str, text: &str, kind: &str| {
        built.write(path, text);
        let file = built.fleet.path(&format!("tree/{path}"));
        let arguments =
            ["encrypt", "--input-type", kind, "--output-type", if kind == "yaml" { "yaml" } else { "json" }, "--age"];
        let arguments =
            arguments.map(OsString::from).into_iter().chain([built.recipient.clone().into(), file.clone().into()]);
        fs::write(&file, printed(built.sops.path(), &run(built.sops.path(), arguments, &[]))).unwrap();
    };
    seal("over/key.enc", &format!("[default]\nkey = {CANARY}\n"), "binary");
    seal(
        "over/clouds.enc.yaml",
        &format!("clouds: {{openstack: {{auth: {{password: {CANARY}}}, verify: true, port: 5000}}}}\n"),
        "yaml",
    );
    seal("over/azure.json", &format!("{{\"clientSecret\": \"{CANARY}\"}}"), "json");
    let generator = "secretGenerator:\n- name: generated\n  files: [key.enc, credentials=key.enc, clouds.yaml=clouds.enc.yaml, azure.json]\n  literals: [plain=x]\n";
    let more = credential("eu", "x", "generated", ["v1", "Secret", "generated"]).replace(", namespace: x", "");
    built.write("over/more.yaml", &more);
    let rest = "namespace: team-a\nresources: [../base, more.yaml]\n";
    built.write("over/kustomization.yaml", &format!("{rest}{generator}"));
    built.render().ends(5).says(
        "tree/over/kustomization.yaml:3: over/key.enc is sealed by SOPS, and the name would hang on what is in it",
    );
    built.write("over/kustomization.yaml", &format!("{rest}{generator}  options: {{disableNameSuffixHash: true}}\n"));
    built.render().ends(0);
    assert_eq!(
        built.published(),
        ["team-a/aws token", "team-a/generated azure.json,clouds.yaml,credentials,key.enc,plain"]
    );
    let programs = Programs::find().unwrap();
    let file = built.fleet.path("bundles/regions/eu/core/secrets/team-a/generated.sops.yaml");
    let (_, entries) = programs.opened(&file, &root().join("testdata/quickstart/keys/eu-west.txt"));
    let text = |name: &str| String::from_utf8(pouch_core::secret::from_base64(&entries[name]).unwrap()).unwrap();
    assert_eq!(text("credentials"), format!("[default]\nkey = {CANARY}\n"));
    assert_eq!(text("key.enc"), text("credentials"));
    let clouds: serde_json::Value = serde_json::from_str(&text("azure.json")).unwrap();
    assert_eq!(clouds["clientSecret"], CANARY);
    assert_eq!(
        text("clouds.yaml"),
        format!("clouds:\n  openstack:\n    auth:\n      password: {CANARY}\n    port: 5000\n    verify: true\n")
    );
    // One that was changed breaks its Secret alone.
    let bent = built.fleet.read("tree/over/azure.json").replacen("\"clientSecret\"", "\"other\"", 1);
    built.write("over/azure.json", &bent);
    built.render().ends(3).says("the file of its entry azure.json: ").says("Secret team-a/generated");
}

#[test]
fn a_reference_that_kustomize_does_not_know_is_told_how_it_is_told() {
    let Some(built) = Built::with_base() else { return };
    built.write("over/kustomization.yaml", "namespace: team-a\nnamePrefix: prod-\nresources: [../base]\n");
    built.render().ends(3).says("error[missing-reference]").says(
        "kustomize built Secret team-a/prod-aws: if that is the one, set `generatorOptions: {disableNameSuffixHash: true}`, or \
         let `nameReference` in a file of `configurations` name the field.",
    );
    // The control: kustomize is told.
    let field = "{kind: Credential, group: k0rdent.mirantis.com, path: spec/identityRef/name}";
    built.write("over/names.yaml", &format!("nameReference: [{{kind: Secret, version: v1, fieldSpecs: [{field}]}}]\n"));
    built.write(
        "over/kustomization.yaml",
        "namespace: team-a\nnamePrefix: prod-\nresources: [../base]\nconfigurations: [names.yaml]\n",
    );
    built.render().ends(0);
    assert_eq!(built.published(), ["team-a/prod-aws token"]);
}

#[test]
fn a_sealed_document_stays_the_object_that_it_is() {
    let Some(built) = Built::with_base() else { return };
    built.sealed("base/other.yaml", "", "prod-root", "token: other");
    built.write("base/kustomization.yaml", "resources: [credential.yaml, secret.yaml, other.yaml]\n");
    built.render().ends(0);
    let before = built.published();
    let rename = |from: &str, to: &str| {
        format!(
            "- target: {{kind: Secret, name: {from}}}\n  patch: |-\n    - {{op: replace, path: /metadata/name, value: {to}}}\n"
        )
    };
    let head = "namespace: team-a\nresources: [../base]\npatches:\n";
    // One Secret under the name of another; emptied; without the type that it was sealed for.
    for (patches, why) in [
        (rename("aws", "gone") + &rename("prod-root", "aws"), "its metadata.name is not that of the document that was sealed"),
        (
            "- target: {kind: Secret, name: aws}\n  patch: |-\n    - {op: replace, path: /stringData/token, value: ''}\n".into(),
            "the sealed value at stringData.token does not stand there",
        ),
    ] {
        built.write("over/kustomization.yaml", &format!("{head}{patches}"));
        built.render().ends(3).says(why);
        assert_eq!(built.published(), before);
    }
    // Where it comes from is what it was sealed in, whatever a patch says of that.
    let forged = "config.kubernetes.io/origin: \"path: ../pouch-d1/pouch-f2.yaml\"";
    built.write(
        "over/kustomization.yaml",
        &format!("{head}- patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {{name: aws, annotations: {{{forged}}}}}\n"),
    );
    built.render().ends(0);
    let bundle = built.fleet.read("bundles/regions/eu/bundle.yaml");
    assert!(bundle.contains("path: base/secret.yaml\n") && !bundle.contains("other.yaml"), "{bundle}");
}

#[test]
fn documents_of_one_sealed_file_need_no_values_of_their_own() {
    let Some(built) = Built::with_base() else { return };
    let credential = built.fleet.read("tree/base/credential.yaml");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n";
    built.write(
        "base/secret.yaml",
        &format!("{credential}---\n{map}---\n{}", secret("x", "aws", "a: b").replace(", namespace: x", "")),
    );
    built.seal("base/secret.yaml");
    built.write("base/kustomization.yaml", "resources: [secret.yaml]\n");
    built.render().ends(0).outcome("eu", "published");
    assert_eq!(built.published(), ["team-a/aws a"]);
}

#[test]
fn what_git_does_not_know_is_not_in_the_tree() {
    let Some(built) = Built::with_base() else { return };
    let text = "namespace: team-a\nresources: [../base]\ngeneratorOptions: {disableNameSuffixHash: true}\n";
    for path in ["kubeconfig", ".env", "bundles/regions/eu/bundle.yaml"] {
        built.write(path, "token: kept-beside-the-checkout\n");
        built.write(".gitignore", &format!("/{path}\n"));
        built.write(
            "over/kustomization.yaml",
            &format!("{text}configMapGenerator: [{{name: x, files: [x=../{path}]}}]\n"),
        );
        built.render().ends(5).says("which git does not know, so it is not in the tree: git add it, if it should be");
        // The control: it is one like others once it is added.
        built.write(".gitignore", "");
        built.render().ends(0);
    }
    // What pouch publishes is never read, known or not.
    built.fleet.configure("output: {path: bundles}", "output: {path: tree/bundles}");
    built.render().ends(5).says("which is what pouch itself publishes");
}

#[test]
fn a_folder_in_no_work_tree_is_its_own_tree() {
    let Some(built) = Built::with_base() else { return };
    crate::support::fleet::copy(&built.fleet.path("tree/base"), &built.fleet.path("alone/base"));
    built.fleet.write("alone/over/kustomization.yaml", "namespace: team-a\nresources: [../base]\n");
    built.fleet.configure("path: tree/over", "path: alone/over");
    built.render().ends(5).says("which leads out of the tree").says("No git work tree is around that folder");
    built.fleet.write("alone/kustomization.yaml", "namespace: team-a\nresources: [base]\n");
    built.fleet.configure("path: alone/over", "path: alone");
    built.render().ends(0);
}

#[test]
fn an_empty_file_keeps_what_was_published_of_it_and_a_bad_one_is_named() {
    let Some(built) = Built::with_base() else { return };
    built.sealed("base/other.yaml", "", "other", "token: other");
    built.write(
        "base/more.yaml",
        &credential("eu", "x", "other", ["v1", "Secret", "other"]).replace(", namespace: x", ""),
    );
    built.write("base/kustomization.yaml", "resources: [credential.yaml, secret.yaml, more.yaml, other.yaml]\n");
    built.render().ends(0);
    let before = built.published();
    assert_eq!(before.len(), 2);
    built.write("base/more.yaml", "");
    built.render().ends(3).says("tree/base/more.yaml:1:1").says("the file is empty");
    assert_eq!(built.published(), before);
    for (text, why) in [
        ("apiVersion: v1\nkind: [\n", "tree/base/more.yaml:"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"x\\u2028y\"}\n",
            "kustomize does not give back what it reads",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {internal.config.kubernetes.io/x: y}}\n",
            "a document has the annotation internal.config.kubernetes.io/x",
        ),
        ("replicas: 1\n", "a document in it is no object of a cluster"),
    ] {
        built.write("base/more.yaml", text);
        built.render().ends(5).says(why);
    }
    // The control: a file that no kustomization names is none.
    built.write("base/kustomization.yaml", "resources: [credential.yaml, secret.yaml, other.yaml]\n");
    built.render().ends(0);
    assert_eq!(built.published(), ["team-a/aws token"]);
}

#[test]
fn a_sealed_document_that_states_a_namespace_keeps_it() {
    let Some(built) = Built::with_base() else { return };
    built.sealed("base/secret.yaml", "team-b", "aws", "token: theirs");
    built.render().ends(3).says("it was sealed for namespace team-b, and the build puts it into another");
    built.fleet.configure("decryption:", "relabel: true, decryption:");
    built.render().ends(0);
    assert_eq!(built.published(), ["team-a/aws token"]);
}

#[test]
fn what_sops_sealed_is_not_opened_for_kustomize_which_sees_nothing_else() {
    let Some(mut built) = Built::with_base() else { return };
    let real = built.kustomize.display().to_string();
    let seen = built.fleet.path("seen").display().to_string();
    built.stand_in(&format!(
        "/bin/cp -R . '{seen}'; /usr/bin/env > '{seen}/environment'; /usr/bin/stat -c %a . > '{seen}/mode'; exec '{real}' \"$@\""
    ));
    let mut command = built.command(&["render"]);
    command.env("SOPS_AGE_KEY", "AGE-SECRET-KEY-x").env("POUCH_REUSE_KEY", "x").env("AWS_SECRET_ACCESS_KEY", CANARY);
    Ran::from(command.output().unwrap()).ends(0);
    let all: Vec<(String, String)> =
        built.fleet.tree("seen").into_iter().map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect();
    assert!(all.iter().all(|(_, text)| !text.contains(CANARY) && !text.contains("AGE-SECRET")), "{all:?}");
    assert!(all.iter().any(|(_, text)| text.contains("token: \"ENC[AES256_GCM")), "{all:?}");
    assert_eq!(built.fleet.read("seen/mode"), "700\n");
    let environment = built.fleet.read("seen/environment");
    assert!(environment.lines().any(|line| line == "PATH=" || line.starts_with("PATH=\0")), "{environment}");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        assert!(environment.contains(&format!("{name}=http://127.0.0.1:9\n")), "{environment}");
    }
    assert!(!environment.contains("SOPS_") && !environment.contains("POUCH_"), "{environment}");
    // And nothing of it stays.
    assert_eq!(built.fleet.tree("tmp").len(), 0);
}

#[test]
fn nothing_outside_of_the_tree_is_read_by_links_submodules_or_git_s_own_files() {
    let Some(built) = Built::with_base() else { return };
    built.fleet.write("outside.yaml", secret("team-a", "outside", "token: outside"));
    fs::create_dir_all(built.fleet.path("tree/linked")).unwrap();
    symlink("../../outside.yaml", built.fleet.path("tree/linked/file.yaml")).unwrap();
    symlink("../../", built.fleet.path("tree/linked/folder")).unwrap();
    symlink("../base", built.fleet.path("tree/linked/base")).unwrap();
    built.fleet.write("tree/other/.git/HEAD", "ref: refs/heads/main\n");
    built.write("other/a.yaml", &secret("team-a", "other", "token: other"));
    built.render().ends(0);
    for (resource, why) in [
        ("../linked/file.yaml", "which is a symlink, or lies behind one"),
        ("../linked/folder/outside.yaml", "which is a symlink, or lies behind one"),
        ("../linked/base", "which is a symlink, or lies behind one"),
        ("../../outside.yaml", "which leads out of the tree"),
        ("../other/a.yaml", "which is a git repository of its own, such as a submodule"),
        ("../.git/config", "which is git's own"),
        ("https://127.0.0.1:9/a.yaml", "which is somewhere else"),
    ] {
        built.write("over/kustomization.yaml", &format!("namespace: team-a\nresources: [../base, '{resource}']\n"));
        let ran = built.render().ends(5).says(&format!("resources names {resource:?}, {why}"));
        assert!(ran.stderr.contains("tree/over/kustomization.yaml:2: "), "{}", ran.stderr);
    }
    // The same in a commit, which has links and no files outside.
    built.read_from_git();
    built.write("over/kustomization.yaml", "namespace: team-a\nresources: [../base, ../linked/base]\n");
    built.commit();
    built.render().ends(5).says("which is a symlink, or lies behind one");
}

#[test]
fn a_build_that_fails_leaves_its_source_unread_and_the_others_go_on() {
    let Some(built) = Built::with_base() else { return };
    built.render().ends(0);
    let before = built.published();
    built.fleet.configure(
        "sources: [{name: manifests, ",
        "sources: [{name: others, directory: {path: manifests}, provides: {namespaces: [eu-team], clusterScoped: true}}, \
         {name: manifests, provides: {namespaces: [team-a]}, ",
    );
    built.fleet.credential("eu", "c0", CANARY);
    // A patch that fits nothing, and holds a value; kustomize quotes it.
    built.write("over/kustomization.yaml", &patch("{kind: Secret, name: aws}", &format!("{{op: {CANARY}}}")));
    built.render().ends(3).says("error[unavailable-source]").says("what it says may hold values, so it is not shown");
    let now = built.published();
    assert!(now.contains(&before[0]) && now.len() == 2, "{now:?}");
    // One that holds none is told in kustomize's words, with the paths of the tree.
    built.write("over/kustomization.yaml", "namespace: team-a\nresources: [../base]\npatches: [{path: p.yaml}]\n");
    built.write("over/p.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: nobody}\ndata: {a: Yg==}\n");
    let ran =
        built.render().ends(3).says("kustomize does not build it: no matches for Id: Secret.v1.[noGrp]/nobody.[noNs]");
    assert!(!ran.stderr.contains("pouch-d"), "{}", ran.stderr);
}

#[test]
fn a_build_costs_no_more_than_its_limits() {
    let Some(mut built) = Built::with_base() else { return };
    let limits = |fleet: &Fleet, limits: &str| {
        fleet.configure("regions:", &format!("limits: {{build: {{{limits}}}}}\nregions:"))
    };
    // Ten overlays that double each other: 1,024 Secrets of one.
    built.write("b0/kustomization.yaml", "resources: [s.yaml]\n");
    built.write("b0/s.yaml", &secret("team-a", "s", "a: b"));
    for n in 1..=10 {
        for side in ["l", "r"] {
            let text = format!("resources: [../b{}]\nnameSuffix: -{side}\n", n - 1);
            built.write(&format!("b{n}{side}/kustomization.yaml"), &text);
        }
        built.write(&format!("b{n}/kustomization.yaml"), &format!("resources: [../b{n}l, ../b{n}r]\n"));
    }
    built.write("over/kustomization.yaml", "namespace: team-a\nresources: [../base, ../b10]\n");
    built.render().ends(0);
    limits(&built.fleet, "objects: 1000");
    built.render().ends(5).says("kustomize makes more objects than limits.build.objects (1000)");
    built.fleet.configure("objects: 1000", "bytes: 64Ki");
    built.render().ends(5).says("kustomize prints more than limits.build.bytes (65536)");
    built.fleet.configure("bytes: 64Ki", "memory: 16Mi");
    built.render().ends(5).says("error: source manifests: ");
    // One that prints without end, and one that does nothing.
    built.fleet.configure("memory: 16Mi", "seconds: 1");
    built.stand_in("exec /usr/bin/yes");
    built.render().ends(5).says("limits.build.");
    built.stand_in("exec /bin/sleep 60");
    built.render().ends(5).says("kustomize takes longer than limits.build.seconds (1)");
    // A tenant's build takes of the time that there is for all of the source.
    built.fleet.configure("seconds: 1}", "seconds: 50}, sources: {time: 2s}");
    let tenant = PLACE.to_owned() + ", provides: {namespaces: [team-a]}";
    built.fleet.configure(PLACE, &tenant);
    built.render().says("reading it takes longer than limits.sources.time allows (2s)");
    assert_eq!(built.fleet.tree("tmp").len(), 0);
}

#[test]
fn kustomize_must_be_there_and_not_older_than_5() {
    let Some(mut built) = Built::with_base() else { return };
    built.stand_in("exit 1");
    let text = built.fleet.read("bin/kustomize");
    for (version, says) in [
        (
            "{Version:kustomize/v4.5.7 GitCommit:56d82a8}",
            "the kustomize in PATH is v4.5.7, and builds are read of version 5 or later",
        ),
        ("(devel)", "kustomize does not tell its version"),
    ] {
        built.fleet.write("bin/kustomize", text.replace("v5.9.9", version));
        built.render().ends(5).says(says).says("Install kustomize 5");
    }
    built.fleet.remove("bin/kustomize");
    let mut command = built.fleet.command(&["render"]);
    command.env("PATH", built.fleet.path("bin"));
    Ran::from(command.output().unwrap()).ends(5).says("kustomize is to build it, and is not installed, or not in PATH");
}

#[test]
fn a_folder_without_kustomization_and_fields_that_do_not_fit_are_named() {
    let Some(built) = Built::with_base() else { return };
    built.fleet.remove("tree/over/kustomization.yaml");
    built.render().ends(5).says("tree/over: it has no kustomization.yaml");
    built.fleet.configure("build: kustomize}", "build: kustomize, include: ['*.yaml']}");
    built.render().ends(64).says("the kustomization says which files are built");
    built.fleet.configure("build: kustomize, include: ['*.yaml']}", "build: make}");
    built.render().ends(64).says("build");
    built.fleet.configure("directory: {path: tree/over, build: make}", "stdin: {build: kustomize}");
    built.render().ends(64).says("build");
    built.fleet.configure("stdin: {build: kustomize}", "relabel: true, directory: {path: tree/over}");
    built.render().ends(64).says("the source is not built, so every object is where its file says");
}

#[test]
fn a_tree_that_is_not_built_although_it_needs_it_is_told_how() {
    let Some(built) = Built::with_base() else { return };
    built.fleet.configure("directory: {path: tree/over, build: kustomize}", "directory: {path: tree}");
    let ran = built.render().says("warning[unbuilt-kustomization]").says("tree/over/kustomization.yaml");
    assert!(!ran.stderr.contains("tree/base/kustomization.yaml"), "{}", ran.stderr);
    built.fleet.configure("{path: tree}", "{path: tree, exclude: ['*kustomization.yaml']}");
    let ran = built.render();
    assert!(!ran.stderr.contains("unbuilt-kustomization"), "{}", ran.stderr);
}

#[test]
fn a_draft_builds_the_folder_of_manifests_where_that_has_a_kustomization() {
    for (name, is_built) in [("kustomization.yaml", true), ("Kustomization", true), ("other.yaml", false)] {
        let fleet = Fleet::empty();
        fleet.write(&format!("manifests/{name}"), "resources: []\n");
        fleet.run(&["init", "--region", "eu"]).ends(0);
        let text = fleet.read("pouch.yaml");
        assert_eq!(text.contains("\n      build: kustomize\n"), is_built, "{text}");
        fleet.run(&["config"]).ends(0);
    }
}
