//! Trees in the shapes that people keep: each is published whole, or says for each object why not.

use super::Built;
use crate::support::fleet::{credential, secret};

/// A tree, how its source is read, and what becomes of it.
#[derive(Default)]
struct Shape {
    name: &'static str,
    /// The folder of the source, and more of its fields.
    source: &'static str,
    files: Vec<(&'static str, String)>,
    /// Files that sops seals.
    sealed: &'static [&'static str],
    code: i32,
    published: &'static [&'static str],
    findings: &'static [&'static str],
}

fn pair(name: &str, namespace: &str) -> (String, String) {
    (credential("eu", namespace, name, ["v1", "Secret", name]), secret(namespace, name, "token: not-real"))
}

/// A manifest without its namespace.
fn bare(text: &str) -> String {
    text.replace(", namespace: team-a", "")
}

fn shapes() -> Vec<Shape> {
    let (a, a_secret) = pair("a", "team-a");
    let (b, b_secret) = pair("b", "team-a");
    let both = |one: &str, two: &str| format!("{one}---\n{two}");
    let sops = || "creation_rules: [{path_regex: .*, encrypted_regex: '^(data|stringData)$', age: x}]\n".to_owned();
    let flux = |path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: flux-system}}\n\
             spec:\n  interval: 10m\n  path: {path}\n  prune: true\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n  \
             decryption: {{provider: sops, secretRef: {{name: sops-age}}}}\n"
        )
    };
    let whole = "directory: {path: tree}";
    vec![
        Shape {
            name: "Flux with SOPS, a folder per cluster over bases",
            source: "directory: {path: tree/clusters/prod, build: kustomize}",
            files: vec![
                (".sops.yaml", sops()),
                ("clusters/prod/flux-system/gotk-sync.yaml", flux("./clusters/prod")),
                ("clusters/prod/kustomization.yaml", "resources: [../../apps/base]\nnamespace: team-a\npatches: [{path: region.yaml}]\n".into()),
                ("clusters/prod/region.yaml", "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: a}\nspec: {region: eu}\n".into()),
                ("apps/base/kustomization.yaml", "resources: [a.yaml, a.sops.yaml]\n".into()),
                ("apps/base/a.yaml", bare(&a).replace("region: eu", "region: replaced")),
                ("apps/base/a.sops.yaml", bare(&a_secret)),
            ],
            sealed: &["apps/base/a.sops.yaml"],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "Flux with SOPS, plain folders that Flux gives a namespace",
            source: "directory: {path: tree}, defaultNamespace: team-a",
            files: vec![
                ("apps/kustomization.yaml", "resources: [a.yaml, a.sops.yaml]\n".into()),
                ("apps/a.yaml", bare(&a)),
                ("apps/a.sops.yaml", bare(&a_secret)),
                ("flux-system/apps.yaml", flux("./apps")),
            ],
            sealed: &["apps/a.sops.yaml"],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "Argo CD with KSOPS",
            source: "directory: {path: tree, build: kustomize}",
            files: vec![
                ("kustomization.yaml", "namespace: team-a\nresources: [a.yaml]\ngenerators: [secret-generator.yaml]\n".into()),
                ("a.yaml", a.clone()),
                ("secrets/a.enc.yaml", a_secret.clone()),
                (
                    "secret-generator.yaml",
                    "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata:\n  name: secrets\n  annotations:\n    \
                     config.kubernetes.io/function: |\n      exec: {path: ksops}\nfiles: [./secrets/a.enc.yaml]\n"
                        .into(),
                ),
            ],
            sealed: &["secrets/a.enc.yaml"],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "a chart of Helm beside manifests",
            source: whole,
            files: vec![
                ("credentials/a.yaml", both(&a, &a_secret)),
                ("charts/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 0.1.0\n".into()),
                ("charts/app/values.yaml", "replicas: 1\nimage: {tag: latest}\n".into()),
                ("charts/app/templates/x.yaml", "{{- if .Values.on }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n{{- end }}\n".into()),
            ],
            code: 3,
            published: &["team-a/a"],
            findings: &["error[unparsable-document]: there is an unrendered template here"],
            ..Shape::default()
        },
        Shape {
            name: "a home-lab with templates of Jinja",
            source: whole,
            files: vec![
                ("bootstrap/x.yaml.j2", "{% for x in all %}\n- {{ x }}\n{% endfor %}\n".into()),
                ("bootstrap/group_vars/all.yaml", "github_token: \"{{ lookup('env', 'TOKEN') }}\"\n".into()),
                ("templates/x.yaml", "#% if bootstrap %#\nspec: #{ bootstrap }#\n#% endif %#\n".into()),
                ("playbook.yaml", "- hosts: all\n  tasks:\n    - debug: {msg: \"{{ inventory_hostname }}\"}\n".into()),
                ("cluster/a.yaml", both(&a, &a_secret)),
            ],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "files with CRLF and a mark of their order",
            source: "directory: {path: tree, build: kustomize}",
            files: vec![
                ("kustomization.yaml", "\u{feff}resources:\r\n- a.yaml\r\n- a-secret.yaml\r\nnamespace: team-a\r\n".into()),
                ("a.yaml", bare(&a).replace('\n', "\r\n")),
                ("a-secret.yaml", bare(&a_secret).replace('\n', "\r\n")),
            ],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "anchors and merge keys",
            source: "directory: {path: tree, build: kustomize}",
            files: vec![
                ("kustomization.yaml", "resources: &all [a.yaml]\nnamespace: team-a\n".into()),
                (
                    "a.yaml",
                    "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: &meta {name: a}\nspec:\n  region: eu\n  \
                     identityRef: {apiVersion: v1, kind: Secret, <<: *meta}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n\
                     stringData: {one: &same not-real, two: *same}\n"
                        .into(),
                ),
            ],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "a List that kubectl printed",
            source: "directory: {path: tree, build: kustomize}",
            files: vec![
                ("kustomization.yaml", "resources: [all.yaml, b.json]\n".into()),
                (
                    "all.yaml",
                    format!("apiVersion: v1\nkind: List\nmetadata: {{resourceVersion: ''}}\nitems:\n{}", [&a, &a_secret].map(|text| {
                        let indented = text.trim_end().replace('\n', "\n  ");
                        format!("- {indented}\n")
                    }).concat()),
                ),
                (
                    "b.json",
                    "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"other\", \"namespace\": \"team-a\"}, \"stringData\": {\"x\": \"y\"}}\n".into(),
                ),
            ],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "manifests in block scalars",
            source: whole,
            files: vec![
                ("a.yaml", both(&a, &a_secret)),
                (
                    "resource-set.yaml",
                    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: manifests, namespace: team-a}}\ndata:\n  all.yaml: |\n    {}", both(&b, &b_secret).replace('\n', "\n    ")),
                ),
            ],
            published: &["team-a/a"],
            ..Shape::default()
        },
        Shape {
            name: "components, and ConfigMaps and Secrets that are generated",
            source: "directory: {path: tree/overlays/eu, build: kustomize}",
            files: vec![
                (
                    "overlays/eu/kustomization.yaml",
                    "resources: [../../base]\ncomponents: [../../components/b]\nnamespace: team-a\ngeneratorOptions: {disableNameSuffixHash: true}\n\
                     secretGenerator: [{name: a, envs: [a.env]}]\nconfigMapGenerator: [{name: settings, files: [settings.ini]}]\n"
                        .into(),
                ),
                ("overlays/eu/a.env", "token=not-real\n".into()),
                ("overlays/eu/settings.ini", "[default]\nregion = x\n".into()),
                ("base/kustomization.yaml", "resources: [a.yaml]\n".into()),
                ("base/a.yaml", bare(&a)),
                ("components/b/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [b.yaml]\n".into()),
                ("components/b/b.yaml", both(&bare(&b), &bare(&b_secret))),
            ],
            published: &["team-a/a", "team-a/b"],
            ..Shape::default()
        },
        Shape {
            name: "a name with a hash, which a field of ours is told of",
            source: "directory: {path: tree, build: kustomize}",
            files: vec![
                (
                    "kustomization.yaml",
                    "resources: [a.yaml]\nnamespace: team-a\nnamePrefix: prod-\nconfigurations: [references.yaml]\nsecretGenerator: [{name: a, literals: [token=not-real]}]\n".into(),
                ),
                (
                    "references.yaml",
                    "nameReference:\n- kind: Secret\n  version: v1\n  fieldSpecs: [{kind: Credential, group: k0rdent.mirantis.com, path: spec/identityRef/name}]\n".into(),
                ),
                ("a.yaml", bare(&a)),
            ],
            published: &["team-a/prod-a-"],
            ..Shape::default()
        },
        Shape {
            name: "kustomize that was left in a folder of manifests",
            source: whole,
            files: vec![
                ("kustomization.yaml", "resources: [a.yaml]\nnamespace: team-b\n".into()),
                ("a.yaml", both(&a, &a_secret)),
            ],
            published: &["team-a/a"],
            findings: &["warning[unbuilt-kustomization]"],
            ..Shape::default()
        },
        Shape {
            name: "a merge that was not resolved",
            source: whole,
            files: vec![
                ("a.yaml", both(&a, &a_secret)),
                ("b.yaml", format!("<<<<<<< HEAD\n{b}=======\n{b_secret}>>>>>>> other\n")),
            ],
            code: 3,
            published: &["team-a/a"],
            findings: &["there is a merge conflict here that was not resolved"],
            ..Shape::default()
        },
    ]
}

/// Why a shape is not as it should be; none if it is.
fn fault(shape: &Shape) -> Option<String> {
    let built = Built::new()?;
    built.fleet.configure("directory: {path: tree/over, build: kustomize}", shape.source);
    shape.files.iter().for_each(|(path, text)| built.write(path, text));
    shape.sealed.iter().for_each(|path| built.seal(path));
    let ran = built.render();
    let published = if ran.code == 5 { Vec::new() } else { built.published() };
    let is_published = published.len() == shape.published.len()
        && published.iter().zip(shape.published).all(|(published, wanted)| published.starts_with(wanted));
    let is_told = match shape.findings {
        [] => !ran.stderr.contains("error[") && !ran.stderr.contains("warning["),
        findings => findings.iter().all(|finding| ran.stderr.contains(finding)),
    };
    let is_right = ran.code == shape.code && is_published && is_told;
    (!is_right).then(|| format!("{}: {} {published:?}\n{}", shape.name, ran.code, ran.stderr))
}

#[test]
fn trees_as_people_have_them_work_as_they_are() {
    let shapes = shapes();
    assert!(shapes.len() >= 12, "{} shapes", shapes.len());
    let faults: Vec<String> = shapes.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
