//! Random trees: what pouch publishes of one is what kustomize builds of it and Flux would open.
//!
//! `POUCH_TREES` says how many trees are made, and `POUCH_SEED` where they begin.
//!
//! Named differences: Flux opens an object by its path alone, so it takes a Secret that a build put into another namespace
//! than the sealed file states, and pouch does not. Generators of KSOPS are run by neither: the tree that kustomize is given
//! here names their files as resources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::super::read_back::numbered;
use super::super::slips::Dice;
use super::Built;
use crate::support::fleet::credential;
use crate::support::proof::{Programs, plain_of};
use crate::support::{Kustomize, PyYaml, printed, root};

/// How many trees are made by default: 4 % of what the soak makes.
const TREES: usize = 20;

/// The Secrets of a tree by namespace and name, entries by name, values in base64.
type Plain = BTreeMap<String, BTreeMap<String, String>>;

/// One tree, as pouch is given it and as kustomize is.
struct Tree<'a> {
    built: &'a Built,
    dice: &'a mut Dice,
    /// The number of Secrets so far.
    secrets: usize,
    /// The namespace that each sealed file states, by the Secret's name; empty for none.
    stated: BTreeMap<String, &'static str>,
}

const NAMESPACES: [&str; 3] = ["team-a", "team-b", ""];

impl Tree<'_> {
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.dice.roll(all.len())]
    }

    fn maybe(&mut self, percent: usize) -> bool {
        self.dice.roll(100) < percent
    }

    /// A Credential with its Secret in a folder, the latter sealed or not; gives the files, those of KSOPS apart.
    fn pair(&mut self, folder: &str, namespace: &'static str) -> (Vec<String>, Vec<String>) {
        let (name, number) = (format!("s{}", self.secrets), self.secrets);
        self.secrets += 1;
        let at = |file: &str| format!("{folder}/{file}");
        let of = if namespace.is_empty() { "x" } else { namespace };
        // The identity is in the Credential's own namespace, wherever a build puts that.
        let text = credential("eu", of, &name, ["v1", "Secret", &name]);
        let text = text.replace(&format!("name: {name}, namespace: {of}}}\n"), &format!("name: {name}}}\n"));
        let text = if namespace.is_empty() { text.replace(", namespace: x", "") } else { text };
        self.built.write(&at(&format!("c{number}.yaml")), &text);
        let mut entries = String::new();
        for entry in 0..=self.dice.roll(3) {
            let value = self.one_of(&["plain", "two\\nlines", "", "0x1f", "ünïcödé ☂", "yes", "1e3"]);
            let _ = write!(entries, "{}e{entry}: \"{value}\"", if entry == 0 { "" } else { ", " });
        }
        let file = format!("s{number}.yaml");
        if self.maybe(80) {
            self.built.sealed(&at(&file), namespace, &name, &entries);
            self.stated.insert(name, namespace);
        } else {
            let text = crate::support::fleet::secret(of, &name, &entries);
            let text = if namespace.is_empty() { text.replace(", namespace: x", "") } else { text };
            self.built.write(&at(&file), &text);
        }
        let own = vec![format!("c{number}.yaml")];
        if self.maybe(20) { (own, vec![file]) } else { (own.into_iter().chain([file]).collect(), Vec::new()) }
    }

    /// A kustomization in a folder: what it has, what it is built on, and what it changes.
    fn kustomization(&mut self, folder: &str, bases: &[&str], namespace: &'static str, is_component: bool) {
        let mut resources: Vec<String> = bases.iter().map(|base| format!("../{base}")).collect();
        let mut ksops = Vec::new();
        for _ in 0..self.dice.roll(3) {
            let stated = if self.maybe(15) {
                "team-b"
            } else if namespace.is_empty() {
                "team-a"
            } else {
                ""
            };
            let (own, by_ksops) = self.pair(folder, stated);
            resources.extend(own);
            ksops.extend(by_ksops);
        }
        let mut text = String::new();
        let mut add = |line: &str| text.push_str(line);
        if is_component {
            add("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n");
        }
        if !namespace.is_empty() {
            add(&format!("namespace: {namespace}\n"));
        }
        if self.maybe(50) {
            add("labels: [{pairs: {team: a}}]\n");
        }
        if self.maybe(30) {
            add("commonAnnotations: {note: \"a: b\"}\n");
        }
        if self.maybe(30) {
            add("transformers: [{apiVersion: builtin, kind: AnnotationsTransformer, metadata: {name: x}, annotations: {c: d}, fieldSpecs: [{path: metadata/annotations, create: true}]}]\n"
                .replace("[{apiVersion", "['{apiVersion").replace("true}]}]", "true}]}']").as_str());
        }
        if self.maybe(40) {
            add(
                "patches:\n- target: {kind: Credential}\n  patch: |-\n    - op: add\n      path: /spec/description\n      value: patched\n",
            );
        }
        if self.maybe(30) {
            let name = format!("g{}", self.secrets);
            self.secrets += 1;
            add(&format!(
                "secretGenerator: [{{name: {name}, namespace: team-a, literals: [a=b, c=d], options: {{disableNameSuffixHash: true}}}}]\n"
            ));
            let text = credential("eu", "team-a", &name, ["v1", "Secret", &name]);
            self.built.write(&format!("{folder}/{name}.yaml"), &text);
            resources.push(format!("{name}.yaml"));
        }
        // What kustomize itself is given stands beside it.
        let listed = |all: &[String]| format!("resources: [{}]\n", all.join(", "));
        let plain = format!("{text}{}", listed(&[resources.clone(), ksops.clone()].concat()));
        if !ksops.is_empty() {
            let config = format!(
                "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {{name: x}}\nfiles: [{}]\n",
                ksops.join(", ")
            );
            self.built.write(&format!("{folder}/ksops.yaml"), &config);
            text.push_str("generators: [ksops.yaml]\n");
        }
        text.push_str(&listed(&resources));
        self.built.write(&format!("{folder}/kustomization.yaml"), &text);
        self.built.fleet.write(&format!("plain/{folder}/kustomization.yaml"), plain);
    }

    /// Makes it: one to three folders, each built on some before it.
    fn grow(&mut self) {
        let folders = ["one", "two", "three"];
        let count = 1 + self.dice.roll(3);
        let mut free: Vec<&str> = Vec::new();
        for folder in folders.iter().take(count) {
            // No folder is built on twice: kustomize takes no object twice.
            let (bases, rest): (Vec<&str>, Vec<&str>) = free.into_iter().partition(|_| self.dice.roll(2) == 0);
            let namespace = self.one_of(&NAMESPACES);
            self.kustomization(folder, &bases, namespace, false);
            free = rest.into_iter().chain([*folder]).collect();
        }
        let namespace = self.one_of(&["team-a", "team-b"]);
        self.kustomization("over", &free, namespace, false);
        if self.maybe(40) {
            self.kustomization("part", &[], "", true);
            for tree in ["tree", "plain"] {
                let path = format!("{tree}/over/kustomization.yaml");
                let text = self.built.fleet.read(&path);
                self.built.fleet.write(&path, format!("{text}components: [../part]\n"));
            }
        }
    }
}

/// The Secrets that kustomize builds, each opened as Flux does, and named by a Credential of its own namespace.
fn by_flux(built: &Built, kustomize: &Kustomize, python: &PyYaml, stated: &BTreeMap<String, &'static str>) -> Plain {
    // Its files are those of the tree, with kustomizations of its own.
    for (path, bytes) in built.fleet.tree("tree") {
        let is_file = !path.ends_with("kustomization.yaml")
            && !path.starts_with(".git")
            && built.fleet.path(&format!("tree/{path}")).is_file();
        if is_file {
            built.fleet.write(&format!("plain/{path}"), bytes);
        }
    }
    let out = built.fleet.path("built.yaml");
    let identity = built.fleet.path("keys/own.txt");
    fs::write(&out, kustomize.built(&built.fleet.path("plain/over"))).unwrap();
    let objects: Vec<Value> = serde_json::from_slice(&printed("python".as_ref(), &python.read(&out))).unwrap();
    let mut secrets = Plain::new();
    for object in objects.iter().filter(|object| object["kind"] == "Secret") {
        let mut object = object.clone();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        if object.get("sops").is_some() {
            let file = built.fleet.path("object.json");
            fs::write(&file, serde_json::to_vec(&object).unwrap()).unwrap();
            object = serde_json::from_slice(&built.sops.opened_by_flux(&file, &identity)).unwrap();
        }
        // The one difference that is named.
        if stated.get(&name).is_none_or(|stated| stated.is_empty() || **stated == *namespace) {
            let (name, entries) = plain_of(&object);
            secrets.insert(name, entries);
        }
    }
    let is_named = |name: &String| {
        objects.iter().any(|object| {
            let named = &object["spec"]["identityRef"];
            let own = object["metadata"]["namespace"].as_str().unwrap_or_default();
            object["kind"] == "Credential"
                && named["namespace"].as_str().is_none_or(|namespace| namespace == own)
                && *name
                    == format!("{}/{}", named["namespace"].as_str().unwrap_or(own), named["name"].as_str().unwrap())
        })
    };
    secrets.into_iter().filter(|(name, _)| is_named(name)).collect()
}

/// The Secrets that pouch publishes.
fn by_pouch(built: &Built, programs: &Programs) -> Plain {
    let identity = root().join("testdata/quickstart/keys/eu-west.txt");
    let folder = "bundles/regions/eu/core/secrets";
    let files = built.fleet.tree(folder).into_keys().filter(|path| path.ends_with(".sops.yaml"));
    files.map(|path| programs.opened(&built.fleet.path(&format!("{folder}/{path}")), &identity)).collect()
}

#[test]
fn random_trees_give_what_kustomize_and_flux_make_of_them() {
    let (Some(programs), Some(kustomize), Some(python)) = (Programs::find(), Kustomize::find(), PyYaml::find()) else {
        return;
    };
    let seed = numbered("POUCH_SEED").unwrap_or(43);
    let count = numbered("POUCH_TREES").map_or(TREES, |count| usize::try_from(count).unwrap());
    let (mut same, mut moved) = (0, 0);
    for number in 0..count {
        let Some(built) = Built::new() else { return };
        let mut dice = Dice(seed.wrapping_add(u64::try_from(number).unwrap().wrapping_mul(0x9e37_79b9)));
        let mut tree = Tree { built: &built, dice: &mut dice, secrets: 0, stated: BTreeMap::new() };
        tree.grow();
        let stated = tree.stated;
        let wanted = by_flux(&built, &kustomize, &python, &stated);
        let ran = built.render();
        assert!([0, 3].contains(&ran.code), "tree {number} of seed {seed}: {}", ran.stderr);
        assert_eq!(by_pouch(&built, &programs), wanted, "tree {number} of seed {seed}: {}", ran.stderr);
        same += wanted.len();
        moved += usize::from(ran.stderr.contains("it was sealed for namespace"));
    }
    // Trees of which nothing is published prove nothing.
    assert!(same > count && moved > 0, "{same} Secrets of {count} trees, {moved} with one that was moved");
}
