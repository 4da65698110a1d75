use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::*;

/// Files by their paths; what is no file is written as its kind in angle brackets.
struct Files(BTreeMap<String, String>);

impl SourceTree for Files {
    fn look(&mut self, path: &str) -> Entry {
        let below = format!("{path}/");
        match self.0.get(path).map(String::as_str) {
            Some("<link>") => Entry::Other("is a symlink"),
            Some(_) => Entry::File,
            None if path.is_empty() || self.0.keys().any(|file| file.starts_with(&below)) => Entry::Folder,
            None => Entry::Nothing,
        }
    }

    fn help(&self) -> &'static str {
        "Name another."
    }

    fn bytes(&mut self, path: &str) -> Result<Vec<u8>, Trouble> {
        self.0.get(path).map(|text| text.as_bytes().to_vec()).ok_or_else(|| Trouble::new(path, "is not there", ""))
    }

    fn nested(&mut self, _: &str, entry: &str, _: &[u8]) -> Result<Vec<u8>, Trouble> {
        Ok(format!("in the place of {entry}").into_bytes())
    }

    fn resources(&mut self, path: &str) -> Result<Zeroizing<String>, Trouble> {
        self.bytes(path).map(|bytes| Zeroizing::new(String::from_utf8(bytes).unwrap()))
    }
}

fn gathered(folder: &str, files: &[(&str, &str)]) -> Result<Gathered, Trouble> {
    let files = files.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string()));
    gather(&mut Files(files.collect()), folder, Bounds { files: 100, bytes: 10_000 })
}

/// A file of what is built.
fn text<'g>(gathered: &'g Gathered, path: &str) -> &'g str {
    core::str::from_utf8(gathered.files.get(path).unwrap()).unwrap()
}

/// The reason why the kustomization of a folder is not built, where the folder has a few files that could be.
fn refused(kustomization: &str) -> Option<String> {
    let files = [
        ("k/kustomization.yaml", kustomization),
        ("k/a.yaml", "kind: A\n"),
        ("k/link", "<link>"),
        ("k/sealed.yaml", "data: {x: 'ENC[AES256_GCM,data:x]'}\n"),
        ("k/key", "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ\n"),
        ("k/patch.yaml", "kind: A\n"),
        ("k/gen/ksops.yaml", "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: x}\nfiles: [a.yaml]\n"),
        ("k/gen/from.yaml", "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: x}\nsecretFrom: []\n"),
        ("k/gen/builtin.yaml", "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: x}\nprefix: p-\n"),
        ("k/gen/exec.yaml", "apiVersion: example.com/v1\nkind: Anything\nmetadata: {name: x}\n"),
        ("base/kustomization.yaml", "resources: []\n"),
        (".git/config", "[remote]\n"),
        ("github.com/a/kustomization.yaml", "resources: []\n"),
    ];
    gathered("k", &files).err().map(|trouble| {
        assert!(!trouble.help.is_empty() && !trouble.message.ends_with('.'), "{trouble:?}");
        format!("{}:{}: {}", trouble.path, trouble.line.unwrap_or_default(), trouble.message)
    })
}

#[test]
fn what_is_reached_has_names_of_our_own_and_stands_beside_what_names_it() {
    let gathered = gathered(
        "over/lay",
        &[
            (
                "over/lay/kustomization.yaml",
                "resources: [../../base, ../../github.com/x]\npatches: [{path: ../p.yaml}]\nnamePrefix: a-\n\
                 secretGenerator: [{name: s, files: [../../base/key.pem, k=own.txt]}]\ngenerators: [ksops.yaml]\n",
            ),
            ("over/p.yaml", "kind: A\nspec: {x: 1}\n"),
            ("over/lay/own.txt", "text\n"),
            ("over/lay/ksops.yaml", "apiVersion: viaduct.ai/v1\nkind: ksops\nfiles: [../../base/sealed.yaml]\n"),
            ("base/key.pem", "pem\n"),
            ("base/sealed.yaml", "kind: Secret\n"),
            ("base/kustomization.yml", "resources: [r.yaml]\n"),
            ("base/r.yaml", "kind: R\n"),
            ("github.com/x/Kustomization", "resources: []\n"),
        ],
    )
    .ok()
    .unwrap();
    let names: Vec<&str> = gathered.files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "pouch-d0/kustomization.yaml",
            "pouch-d0/pouch-f0.yaml",
            "pouch-d0/pouch-f1.yaml",
            "pouch-d0/pouch-f2.yaml",
            "pouch-d0/pouch-f3.yaml",
            "pouch-d1/kustomization.yaml",
            "pouch-d1/pouch-f4.yaml",
            "pouch-d2/kustomization.yaml"
        ]
    );
    // The resource of KSOPS is one like others; no other word of the kustomization is lost.
    assert_eq!(
        text(&gathered, "pouch-d0/kustomization.yaml"),
        "buildMetadata:\n- originAnnotations\ngenerators: []\nnamePrefix: a-\npatches:\n- path: pouch-f1.yaml\nresources:\n- ../pouch-d1\n- ../pouch-d2\n- pouch-f0.yaml\n\
         secretGenerator:\n- files:\n  - key.pem=pouch-f2.yaml\n  - k=pouch-f3.yaml\n  name: s\n"
    );
    let told = gathered.told("cycle detected: pouch-d0/pouch-f1.yaml, 'pouch-f1.yaml' of pouch-d1 and pouch-d10");
    assert_eq!(told.as_deref(), Some("cycle detected, in base, over/p.yaml"));
    assert_eq!(gathered.path("../pouch-d1/pouch-f4.yaml"), Some("base/r.yaml"));
    assert_eq!(gathered.path("pouch-f1.yaml"), Some("over/p.yaml"));
    assert_eq!(gathered.path("../../etc/passwd"), None);
}

/// A resource is written anew; as an entry or a patch the same file counts as it stands.
#[test]
fn a_file_in_two_roles_is_two_files() {
    struct Rewriting(Files);
    impl SourceTree for Rewriting {
        fn look(&mut self, path: &str) -> Entry {
            self.0.look(path)
        }
        fn help(&self) -> &'static str {
            self.0.help()
        }
        fn bytes(&mut self, path: &str) -> Result<Vec<u8>, Trouble> {
            self.0.bytes(path)
        }
        fn nested(&mut self, path: &str, entry: &str, sealed: &[u8]) -> Result<Vec<u8>, Trouble> {
            self.0.nested(path, entry, sealed)
        }
        fn resources(&mut self, _: &str) -> Result<Zeroizing<String>, Trouble> {
            Ok(Zeroizing::new(String::from("rewritten\n")))
        }
    }
    let kustomization = "resources: [a.yaml]\nconfigMapGenerator: [{name: c, files: [a.yaml, b=a.yaml]}]\n";
    let files = [("kustomization.yaml", kustomization), ("a.yaml", "as it is\n")];
    let files = Files(files.map(|(path, text)| (path.to_string(), text.to_string())).into());
    let gathered = gather(&mut Rewriting(files), "", Bounds { files: 9, bytes: 999 }).ok().unwrap();
    let texts: Vec<&str> = (0..2).map(|number| text(&gathered, &format!("{TOP}/{FILE}{number}.yaml"))).collect();
    assert_eq!((texts, gathered.files.len()), (Vec::from(["as it is\n", "rewritten\n"]), 3));
}

/// Each line of a kustomization, and the beginning of what is said of it. The fields stand in `k/kustomization.yaml`.
const REFUSED: &[(&str, &str)] = &[
    // Outside, by every kind of path, and by every field that takes one.
    ("resources: [/etc/passwd]", "is an absolute path"),
    ("resources: [../../etc/passwd]", "leads out of the tree"),
    ("resources: ['']", "leads out of the tree"),
    ("resources: [link]", "is a symlink"),
    ("resources: [../.git/config]", "is git's own"),
    ("resources: [../.GIT/config]", "is git's own"),
    ("resources: [missing.yaml]", "is no file or folder of the tree"),
    ("resources: ['https://example.com/a.yaml']", "is somewhere else"),
    ("resources: ['git@github.com:a/b']", "is somewhere else"),
    ("resources: ['github.com/a/b?ref=v1']", "is somewhere else"),
    ("resources: ['file:///etc/passwd']", "is somewhere else"),
    ("bases: ['https://example.com/a']", "is somewhere else"),
    ("components: ['https://example.com/a']", "is somewhere else"),
    ("components: [a.yaml]", "is no folder"),
    ("crds: ['https://example.com/a']", "is somewhere else"),
    ("configurations: [/etc/passwd]", "is an absolute path"),
    ("openapi: {path: /etc/passwd}", "is an absolute path"),
    ("patches: [{path: /etc/passwd}]", "is an absolute path"),
    ("patchesJson6902: [{path: /etc/passwd}]", "is an absolute path"),
    ("patchesStrategicMerge: [/etc/passwd]", "is an absolute path"),
    ("patchesStrategicMerge: ['https://example.com/a']", "is somewhere else"),
    ("replacements: [{path: /etc/passwd}]", "is an absolute path"),
    ("configMapGenerator: [{files: [/etc/passwd]}]", "is an absolute path"),
    ("configMapGenerator: [{files: ['x=https://example.com/a']}]", "is somewhere else"),
    ("configMapGenerator: [{envs: [/etc/passwd]}]", "is an absolute path"),
    ("configMapGenerator: [{env: /etc/passwd}]", "is an absolute path"),
    ("secretGenerator: [{files: ['x=/proc/self/environ']}]", "is an absolute path"),
    ("secretGenerator: [{files: ['x=a=/etc/passwd']}]", "has a path with ="),
    ("secretGenerator: [{files: [link]}]", "is a symlink"),
    ("secretGenerator: [{files: [../base]}]", "is a folder"),
    ("generators: [/etc/passwd]", "is an absolute path"),
    ("generators: ['https://example.com/a']", "is somewhere else"),
    ("transformers: [gen]", "is a folder of configs"),
    ("validators: [../../x]", "leads out of the tree"),
    // Configs, from files and in place.
    ("generators: [gen/exec.yaml]", "is a plugin"),
    ("generators: [gen/from.yaml]", "secretFrom is not built"),
    ("transformers: [gen/ksops.yaml]", "is a plugin"),
    (
        "generators: [\"apiVersion: builtin\\nkind: SecretGenerator\\nmetadata: {name: x}\\nfiles: [x=/proc/self/status]\\n\"]",
        "is an absolute path",
    ),
    (
        "generators: [\"apiVersion: builtin\\nkind: SecretGenerator\\nmetadata: {name: x}\\nFiles: [x=/proc/self/status]\\n\"]",
        "has a field \"Files\"",
    ),
    ("generators: [\"apiVersion: builtin\\nkind: HelmChartInflationGenerator\\nname: x\\n\"]", "is a plugin"),
    ("generators: ['{apiVersion: example.com/v1, kind: X}']", "is a plugin"),
    ("transformers: [\"apiVersion: builtin\\nkind: PatchTransformer\\npath: /etc/passwd\\n\"]", "is an absolute path"),
    (
        "transformers: [\"apiVersion: builtin\\nkind: ValueAddTransformer\\ntargetFilePath: /etc/passwd\\n\"]",
        "is a plugin",
    ),
    (
        "transformers: [\"apiVersion: builtin\\nkind: PrefixTransformer\\nmetadata: {annotations: {config.kubernetes.io/function: x}}\\n\"]",
        "is a function",
    ),
    // Fields that are unknown, spelled otherwise, twice, or run something.
    ("Resources: [a.yaml]", "has a field \"Resources\""),
    ("resource: [a.yaml]", "has a field \"resource\""),
    ("configMapGenerator: [{Files: [/etc/passwd]}]", "has a field \"Files\""),
    ("resources: [a.yaml]\nresources: [/etc/passwd]", "is here for the second time"),
    ("helmCharts: [{name: x}]", "helmCharts is not built"),
    ("helmChartInflationGenerator: [{name: x}]", "helmChartInflationGenerator is not built"),
    ("helmGlobals: {chartHome: /}", "helmGlobals is not built"),
    ("resources: a.yaml", "is no list"),
    ("resources: [1]", "holds no path"),
    ("patches: [x]", "is no map"),
    ("a: b\n---\nc: d", "not exactly one document"),
    // What SOPS sealed, where no MAC could be proved, and keys.
    ("patches: [{path: sealed.yaml}]", "is sealed by SOPS"),
    ("patchesStrategicMerge: ['{data: {x: \"ENC[AES256_GCM,data:x]\"}}']", "is sealed by SOPS"),
    ("secretGenerator: [{envs: [sealed.yaml]}]", "is sealed by SOPS"),
    ("secretGenerator: [{files: [sealed.yaml]}]", "is sealed by SOPS, and the name would hang on what is in it"),
    (
        "generatorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{files: [sealed.yaml]}]",
        "is sealed by SOPS",
    ),
    ("configMapGenerator: [{files: [key]}]", "holds a secret key"),
];

#[test]
fn nothing_but_the_tree_is_reached() {
    for (line, said) in REFUSED {
        let refused = refused(&format!("namespace: x\n{line}\n")).unwrap_or_else(|| panic!("{line} is built"));
        assert!(refused.starts_with("k/") && refused.contains(said), "{line}\n{refused}");
    }
}

#[test]
fn what_is_like_it_and_inside_is_built() {
    for line in [
        "resources: [a.yaml, ../base, ../github.com/a, ./../k/../base]",
        "bases: [../base]",
        "components: [../base]",
        "crds: [a.yaml]",
        "configurations: [a.yaml]",
        "openapi: {path: a.yaml}",
        "patches: [{path: patch.yaml, target: {kind: A}}]",
        "patchesStrategicMerge: [patch.yaml, '{kind: A}']",
        "replacements: [{path: a.yaml}, {source: {kind: A}, targets: []}]",
        "configMapGenerator: [{name: x, files: [a.yaml, b=a.yaml], envs: [a.yaml], literals: [a=b]}]",
        "secretGenerator: [{name: x, type: Opaque, options: {disableNameSuffixHash: true}}]",
        "secretGenerator: [{name: x, files: [sealed.yaml], options: {disableNameSuffixHash: true}}]",
        "generatorOptions: {disableNameSuffixHash: true}\nsecretGenerator: [{name: x, files: [a=sealed.yaml, b=sealed.yaml]}]",
        "generators: [gen/ksops.yaml]",
        "transformers: [gen/builtin.yaml, '{apiVersion: builtin, kind: SuffixTransformer, suffix: x}']",
        "helmCharts:",
        "labels: [{pairs: {a: b}, includeSelectors: true}]",
    ] {
        assert_eq!(refused(&format!("namespace: x\n{line}\n")), None, "{line}");
    }
}

#[test]
fn a_fault_is_told_with_its_line_and_the_nearest_field() {
    assert_eq!(
        refused("namespace: x\nresources:\n- a.yaml\nnamePrefx: y\n").as_deref(),
        Some("k/kustomization.yaml:4: it has a field \"namePrefx\" that is not built")
    );
    let files = [("kustomization.yaml", "namePrefx: y\n")];
    let help = gathered("", &files).err().unwrap().help;
    assert!(help.starts_with("Did you mean namePrefix? "), "{help}");
}

#[test]
fn a_folder_needs_one_kustomization() {
    let none = gathered("x", &[("x/a.yaml", "kind: A\n")]).err().unwrap();
    assert_eq!((&*none.path, &*none.message), ("x", "it has no kustomization.yaml"));
    let two = [("kustomization.yaml", "resources: []\n"), ("kustomization.yml", "resources: []\n")];
    assert_eq!(gathered("", &two).err().unwrap().message, "it has more than one kustomization");
}

#[test]
fn of_kustomize_s_words_only_phrases_ids_and_files_are_told() {
    let gathered =
        gathered("", &[("kustomization.yaml", "resources: [s.yaml]\n"), ("s.yaml", "kind: Secret\n")]).ok().unwrap();
    for (words, told) in [
        (
            "Error: accumulating resources: merging resources from 'pouch-f0.yaml': may not add resource with an already \
             registered id: Secret.v1.[noGrp]/aws.team-b",
            Some("already registered id: Secret.v1.[noGrp]/aws.team-b, in s.yaml"),
        ),
        (
            "no matches for Id AWSClusterStaticIdentity.v1beta2.infrastructure.cluster.x-k8s.io/aws.[noNs]; failed to find \
             unique target for patch Secret.v1.[noGrp]/hunter2-p@ss.[noNs]",
            Some("no matches for Id: AWSClusterStaticIdentity.v1beta2.infrastructure.cluster.x-k8s.io/aws.[noNs]"),
        ),
        (
            "found multiple objects: multiple matches for {\"stringData\":{\"clouds.yaml\":\"p@ss!w0rd#1\",\"pin\":\"4711\"}}",
            Some("multiple matches"),
        ),
        ("error: hunter2 is a value", None),
        ("", None),
    ] {
        assert_eq!(gathered.told(words).as_deref(), told, "{words}");
    }
}

#[test]
fn kustomize_is_given_no_more_than_its_bounds() {
    let most = |files: usize, bytes: usize| {
        let all =
            [("kustomization.yaml", "resources: [a.yaml, b.yaml]\n"), ("a.yaml", "kind: A\n"), ("b.yaml", "kind: B\n")];
        let all = all.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string()));
        gather(&mut Files(all.collect()), "", Bounds { files, bytes }).err().map(|trouble| trouble.message)
    };
    assert_eq!(most(2, 16), None);
    assert_eq!(most(1, 16).as_deref(), Some("it reaches more than 1 files, or more than 16 bytes"));
    assert_eq!(most(2, 15).as_deref(), Some("it reaches more than 2 files, or more than 15 bytes"));
    // One that is named often stands there once.
    let often = "configMapGenerator: [{name: x, files: [1=a.yaml, 2=a.yaml, 3=a.yaml]}]\n";
    let gathered = gathered("", &[("kustomization.yaml", often), ("a.yaml", "kind: A\n")]).ok().unwrap();
    assert_eq!(gathered.files.len(), 2);
    assert_eq!(
        refused("resources: [a.yaml, ./a.yaml]\n").as_deref(),
        Some("k/kustomization.yaml:1: it names \"k/a.yaml\" twice")
    );
}

#[test]
fn a_kustomization_that_changes_objects_needs_a_build() {
    let needs = |text: &str| needs_build(&yaml::read(&yaml::Document::whole(text), &mut Interner::new()).unwrap());
    for text in
        ["patches: [{path: a}]", "namespace: x", "components: [a]", "generators: [a]", "secretGenerator: [{name: a}]"]
    {
        assert!(needs(text), "{text}");
    }
    for text in [
        "resources: [a]",
        "apiVersion: a\nkind: Kustomization\nresources: []\npatches: []\nnamespace: ''",
        "{}",
        "kind: ConfigMap\ndata: {a: b}",
    ] {
        assert!(!needs(text), "{text}");
    }
}
