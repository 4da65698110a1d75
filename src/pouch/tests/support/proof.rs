//! The proof that bundles are what their consumers need: opened and built by the real programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pouch_core::node::{Interner, Node};
use pouch_core::sops;
use pouch_core::yaml::read::{Document, documents, read, text_of};
use serde_json::Value;

use super::{Age, Kustomize, PyYaml, Sops, printed, tree};

/// The Secrets of one region in the clear: by `namespace/name`, entries by name, values in base64.
pub type Plain = BTreeMap<String, BTreeMap<String, String>>;

/// What stands in for KSOPS, which no module proxy serves: it speaks the protocol and lets the real sops decrypt.
pub const KSOPS: &str = r#"
import json, os, subprocess, sys, yaml
config = yaml.safe_load(sys.stdin)["functionConfig"]
assert (config["apiVersion"], config["kind"]) == ("viaduct.ai/v1", "ksops"), config
def opened(path):
    command = [os.environ["SOPS"], "decrypt", "--input-type=yaml", "--output-type=json", path]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
items = [opened(path) for path in config["files"]]
json.dump({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}, sys.stdout)
"#;

/// A region's folder and what it should hold.
pub struct Region {
    /// The folder's name.
    pub directory: &'static str,
    /// The file with its age identity.
    pub identity: PathBuf,
    /// What its Secrets say.
    pub plain: Plain,
}

/// The real programs together.
pub struct Programs {
    sops: Sops,
    age: Age,
    kustomize: Kustomize,
    python: PyYaml,
}

impl Programs {
    /// Finds them, or says which is absent.
    pub fn find() -> Option<Self> {
        Some(Self { sops: Sops::find()?, age: Age::find()?, kustomize: Kustomize::find()?, python: PyYaml::find()? })
    }

    /// The documents of a file as PyYAML, a reader of YAML 1.1, understands them.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn yaml(&self, file: &Path) -> Vec<Value> {
        let answer = self.python.read(file);
        serde_json::from_slice(&printed(Path::new("python-yaml"), &answer)).expect("JSON")
    }

    /// The Secrets among the documents of every file below `folder`, as the API server would store them.
    ///
    /// # Panics
    /// If a document is no Kubernetes object.
    #[track_caller]
    pub fn secrets_of(&self, folder: &Path) -> Plain {
        let files = tree::read(folder).into_keys();
        let documents = files.flat_map(|path| self.yaml(&folder.join(path)));
        documents.filter(|document| document["kind"] == "Secret").map(|secret| plain_of(&secret)).collect()
    }

    /// What one sealed file says, by sops with the identities in a file.
    ///
    /// # Panics
    /// If sops refuses, which it also does where the MAC does not fit.
    #[track_caller]
    pub fn opened(&self, file: &Path, identity: &Path) -> (String, BTreeMap<String, String>) {
        plain_of(&serde_json::from_slice(&self.sops.opened_as_json(file, identity)).expect("sops prints JSON"))
    }

    /// Whether sops opens a file with the identities in another.
    pub fn opens(&self, file: &Path, identity: &Path) -> bool {
        self.sops.decrypt(file, identity).status.success()
    }

    /// Proves everything about every region below `bundles`; there must be no other.
    ///
    /// # Panics
    /// Where anything is not as it should be.
    #[track_caller]
    pub fn prove(&self, bundles: &Path, regions: &[Region]) {
        let folders = fs::read_dir(bundles.join("regions")).expect("a folder").flatten();
        let found: BTreeSet<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        assert_eq!(found, regions.iter().map(|region| region.directory.to_owned()).collect());
        for region in regions {
            let others: Vec<&Path> =
                regions.iter().filter(|r| r.directory != region.directory).map(|r| &*r.identity).collect();
            self.prove_sealed(bundles, region, &others);
            self.prove_built(bundles, region);
        }
    }

    /// Proves that every sealed file opens with the region's identity and with none of others', by sops, by age
    /// with our own cipher, and by our own code.
    ///
    /// # Panics
    /// Where one does not open, or says something else, or opens for another.
    #[track_caller]
    pub fn prove_sealed(&self, bundles: &Path, region: &Region, others: &[&Path]) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = bundles.join("regions").join(region.directory);
        let mut opened = Plain::new();
        for path in tree::read(&folder).into_keys().filter(|path| path.ends_with(".sops.yaml")) {
            let file = folder.join(&path);
            let (name, entries) = self.opened(&file, &region.identity);
            let document = node(&fs::read(&file).expect("a file"));
            let stanza = document.at(&["sops", "age"]).map(Node::items).and_then(<[Node]>::first);
            let armored = stanza.and_then(|stanza| stanza.str_at(&["enc"])).expect("a stanza");
            let wrapped = scratch.path().join("stanza.age");
            fs::write(&wrapped, armored).expect("a file");

            let data_key = pouch::age::unwrap(armored, &identity(&region.identity)).expect("our own stanza");
            assert_eq!(self.age.decrypt(&wrapped, &region.identity).stdout, *data_key, "{path}: age and the crate");
            let ours = sops::open(&document, &data_key).expect("our own file");
            let ours = ours.into_iter().map(|(name, value)| (name, value.to_base64().to_string())).collect();
            assert_eq!(entries, ours, "{path}: sops and the crate");

            for other in others {
                assert!(!self.opens(&file, other), "{path}: sops opens it with {}", other.display());
                assert!(!self.age.decrypt(&wrapped, other).status.success(), "{path}: age, {}", other.display());
                assert!(pouch::age::unwrap(armored, &identity(other)).is_err(), "{path}: {}", other.display());
            }
            assert!(opened.insert(name, entries).is_none(), "{path}: one Secret in two files");
        }
        assert_eq!(opened, region.plain, "the Secrets of {}", region.directory);
    }

    /// Every folder that a consumer builds is built by kustomize, and holds what the manifest says.
    fn prove_built(&self, bundles: &Path, region: &Region) {
        let folder = bundles.join("regions").join(region.directory);
        let all = manifest(&folder);
        let (core, rest): (BTreeSet<String>, BTreeSet<String>) = all
            .iter()
            .cloned()
            .partition(|object| ["Namespace ", "ConfigMap ", "Secret "].iter().any(|k| object.starts_with(k)));
        let (secrets, open): (BTreeSet<String>, BTreeSet<String>) =
            all.iter().cloned().partition(|object| object.starts_with("Secret "));
        assert_eq!(self.built(&folder, region), all);
        // In parts it is built by the Kustomizations that apply them, below.
        match folder.join("parts/core").exists() {
            true => assert!(!folder.join("core").exists()),
            false => assert_eq!(self.built(&folder.join("core"), region), core),
        }
        assert_eq!(self.built(&folder.join("open"), region), open);
        assert_eq!(secrets.len(), region.plain.len());
        let mut leaves = BTreeSet::new();
        for leaf in fs::read_dir(folder.join("identities")).expect("a folder").flatten() {
            if leaf.path().is_dir() {
                leaves.extend(self.built(&leaf.path(), region));
            }
        }
        assert_eq!(leaves, rest, "the leaves of {}", region.directory);
        self.prove_plugin(bundles, region, &all);
        self.prove_ksops(bundles, region, &all);
        self.prove_flux(bundles, region, &all);
    }

    /// What kustomize makes of a folder; its Secrets still open with their MAC, and in JSON as
    /// Flux opens them.
    #[track_caller]
    fn built(&self, folder: &Path, region: &Region) -> BTreeSet<String> {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let built = self.kustomize.built(folder);
        let whole = scratch.path().join("built.yaml");
        fs::write(&whole, &built).expect("a file");
        let texts: Vec<&str> = documents(text_of(&built).expect("UTF-8")).map(|document| document.text).collect();
        let values = self.yaml(&whole);
        let values: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
        assert_eq!(texts.len(), values.len(), "{}: documents", folder.display());
        for (text, value) in texts.into_iter().zip(&values).filter(|(_, value)| value["kind"] == "Secret") {
            let (yaml, json) = (scratch.path().join("secret.yaml"), scratch.path().join("secret.json"));
            fs::write(&yaml, text).expect("a file");
            fs::write(&json, value.to_string()).expect("a file");
            let by_flux = self.sops.opened_by_flux(&json, &region.identity);
            let by_flux = plain_of(&serde_json::from_slice(&by_flux).expect("sops prints JSON"));
            for (name, entries) in [self.opened(&yaml, &region.identity), by_flux] {
                assert_eq!(Some(&entries), region.plain.get(&name), "{name} after the build of {}", folder.display());
            }
        }
        values.iter().map(|value| title(value)).collect()
    }

    /// What a plugin does that decrypts in place and then runs kustomize.
    fn prove_plugin(&self, bundles: &Path, region: &Region, all: &BTreeSet<String>) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = scratch.path().join("region");
        tree::copy(&bundles.join("regions").join(region.directory), &folder);
        for path in tree::read(&folder).into_keys().filter(|path| path.ends_with(".sops.yaml")) {
            let file = folder.join(path);
            fs::write(&file, self.sops.opened(&file, &region.identity)).expect("a file");
        }
        let whole = scratch.path().join("built.yaml");
        fs::write(&whole, self.kustomize.built(&folder)).expect("a file");
        let values = self.yaml(&whole);
        assert_eq!(values.iter().map(title).collect::<BTreeSet<_>>(), *all);
        let plain: Plain = values.iter().filter(|value| value["kind"] == "Secret").map(plain_of).collect();
        assert_eq!(plain, region.plain, "{}, decrypted in place", region.directory);
    }

    /// The folder for KSOPS builds with a stand-in that does what KSOPS does: it is called by kustomize
    /// in the folder's own place and answers with the files' Secrets, decrypted by sops.
    fn prove_ksops(&self, bundles: &Path, region: &Region, all: &BTreeSet<String>) {
        let folder = bundles.join("regions").join(region.directory).join("argocd");
        if !folder.exists() {
            return;
        }
        let scratch = tempfile::tempdir().expect("a scratch folder");
        self.python.program(&scratch.path().join("ksops"), KSOPS);
        let sops = self.sops.path().as_os_str();
        let settings = [("SOPS", sops), ("SOPS_AGE_KEY_FILE", region.identity.as_os_str())];
        let whole = scratch.path().join("built.yaml");
        fs::write(&whole, self.kustomize.generated(&folder, scratch.path(), &settings)).expect("a file");
        let values = self.yaml(&whole);
        assert_eq!(values.iter().map(title).collect::<BTreeSet<_>>(), *all);
        let plain: Plain = values.iter().filter(|value| value["kind"] == "Secret").map(plain_of).collect();
        assert_eq!(plain, region.plain, "{}, by KSOPS", region.directory);
    }

    /// Flux's Kustomizations name folders that exist, cover the region, and wait for what exists.
    fn prove_flux(&self, bundles: &Path, region: &Region, all: &BTreeSet<String>) {
        let folder = bundles.join("flux").join(region.directory);
        if !folder.exists() {
            return;
        }
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let whole = scratch.path().join("built.yaml");
        fs::write(&whole, self.kustomize.built(&folder)).expect("a file");
        let kustomizations = self.yaml(&whole);
        let names: BTreeSet<&str> = kustomizations.iter().filter_map(|k| k["metadata"]["name"].as_str()).collect();
        let mut covered = BTreeSet::new();
        for kustomization in &kustomizations {
            assert_eq!(kustomization["apiVersion"], "kustomize.toolkit.fluxcd.io/v1");
            let spec = &kustomization["spec"];
            assert_eq!(spec["decryption"]["provider"], "sops");
            let path = spec["path"].as_str().and_then(|path| path.find("regions/").and_then(|at| path.get(at..)));
            let objects = self.built(&bundles.join(path.expect("a region's folder")), region);
            assert!(objects.is_disjoint(&covered), "two Kustomizations apply one object");
            covered.extend(objects);
            for needed in spec["dependsOn"].as_array().into_iter().flatten() {
                assert!(needed["name"].as_str().is_some_and(|name| names.contains(name)), "{needed} is no neighbour");
            }
        }
        assert_eq!(covered, *all, "what Flux applies in {}", region.directory);
    }
}

/// What the manifest in a region's folder lists, each as `Kind namespace/name`.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn manifest(folder: &Path) -> BTreeSet<String> {
    objects(folder).into_iter().map(|object| object.title).collect()
}

/// An object of a manifest.
pub struct Listed {
    /// `Kind namespace/name`, without the namespace for cluster-scoped kinds.
    pub title: String,
    /// The Credentials that need it, each as `namespace/name`.
    pub needed_by: BTreeSet<String>,
}

/// What the manifest in a region's folder lists.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn objects(folder: &Path) -> Vec<Listed> {
    let manifest = node(&fs::read(folder.join("bundle.yaml")).expect("a manifest"));
    let named = |node: &Node| match (node.str_at(&["namespace"]), node.str_at(&["name"])) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_owned(),
        (_, None) => panic!("an object without a name"),
    };
    let objects = manifest.get("objects").map(Node::items).unwrap_or_default();
    objects
        .iter()
        .map(|object| {
            let key = object.get("key").expect("a key");
            let needed_by = object.get("neededBy").map(Node::items).unwrap_or_default();
            Listed {
                title: format!("{} {}", key.str_at(&["kind"]).expect("a kind"), named(key)),
                needed_by: needed_by.iter().map(|entry| named(entry.get("by").expect("a claimant"))).collect(),
            }
        })
        .collect()
}

/// The text of an identity in a file that may have comments around it.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn identity(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a file");
    text.lines().find(|line| line.starts_with("AGE-SECRET-KEY-1")).expect("an identity").to_owned()
}

fn node(bytes: &[u8]) -> Node {
    let text = text_of(bytes).expect("UTF-8");
    read(&Document::whole(text), &mut Interner::new()).expect("a document that we wrote")
}

fn title(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let (kind, name) = (text("/kind").expect("a kind"), text("/metadata/name").expect("a name"));
    text("/metadata/namespace")
        .map_or_else(|| format!("{kind} {name}"), |namespace| format!("{kind} {namespace}/{name}"))
}

/// A Secret as the API server would store it: `stringData` folded into `data`.
pub fn plain_of(secret: &Value) -> (String, BTreeMap<String, String>) {
    let empty = serde_json::Map::new();
    let entries = |field: &str| secret[field].as_object().unwrap_or(&empty).clone();
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => panic!("no text but {}", if other.is_number() { "a number" } else { "something else" }),
    };
    let encoded =
        |value: &Value| pouch_core::secret::SecretBytes::new(text(value).into_bytes()).to_base64().to_string();
    let data = entries("data").into_iter().map(|(name, value)| (name, text(&value)));
    let folded = entries("stringData").into_iter().map(|(name, value)| (name, encoded(&value)));
    let name = title(secret).trim_start_matches("Secret ").to_owned();
    (name, data.chain(folded).collect())
}
