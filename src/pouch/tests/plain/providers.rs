//! How a cluster is reached, as pouch chooses and as cluster-inventory-api does, for generated ClusterProfiles and
//! provider files. Where the two differ, [`DIFFERENCES`] says why that is meant.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use pouch_core::finding::{Fault, Origin, Place};
use pouch_core::inventory::profile;
use pouch_core::inventory::providers::{self, ARGUMENTS_EXTENSION, VARIABLES_EXTENSION, Way};
use pouch_core::json;
use pouch_core::kinds::Scopes;
use pouch_core::node::Interner;
use pouch_core::object::{KeepNothing, admit};
use pouch_core::yaml::emit::Tree;
use serde_json::{Value, json};

use super::slips::Dice;
use crate::support::tool;

/// How many pairs are tried.
const PAIRS: usize = 500;

/// What pouch refuses and the library does not, by what is said of it, and why.
const DIFFERENCES: [(&str, &str); 8] = [
    ("is not a variable that provider", "a variable such as PATH chooses what runs: the file lists those that do not"),
    ("exclude each other", "client-go refuses it later, when a connection is made of the rest.Config"),
    ("is an integer, not text", "the library reads numbers as text, and cannot tell 1.0 from 1"),
    (
        "which is no policy",
        "the library notices only where a ClusterProfile has the extension, so until then nobody does",
    ),
    ("as that of a provider before it", "the library takes the first, and the other can never be chosen"),
    ("as that of one before it", "the library takes the last, or hands over both, by the policy"),
    ("is a relative path", "the library runs whatever the current folder has"),
    ("has no field", "the library takes a field that is mistyped for none"),
];

/// What the library refuses and pouch does not, by what it says, and why.
const BEYOND: [(&str, &str); 1] =
    [("duplicate name", "an extension that stands there twice: the last one counts, as for everything read leniently")];

impl Dice {
    /// Whether one of `of` came up.
    fn once_in(&mut self, of: usize) -> bool {
        self.roll(of) == 0
    }

    fn of<'t>(&mut self, words: &[&'t str]) -> &'t str {
        words[self.roll(words.len())]
    }

    /// Some of these names, each once, in any order.
    fn some(&mut self, names: &[&'static str], most: usize) -> Vec<&'static str> {
        let mut left = names.to_vec();
        (0..self.roll(most + 1)).map(|_| left.remove(self.roll(left.len()))).collect()
    }
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const VARIABLES: [&str; 5] = ["A", "B", "REGION", "x_y", "EMPTY"];

fn file(dice: &mut Dice) -> String {
    let mut names = dice.some(&NAMES, 4);
    if dice.once_in(30) && !names.is_empty() {
        names.push(names[0]);
    }
    let providers: Vec<Value> = names
        .iter()
        .map(|name| {
            let mut variables = dice.some(&VARIABLES, 3);
            if dice.once_in(40) && !variables.is_empty() {
                variables.push(variables[0]);
            }
            let variables: Vec<Value> = variables
                .iter()
                .map(|name| json!({"name": name, "value": if *name == "EMPTY" { "" } else { dice.of(&["file", "1", "a=b"]) }}))
                .collect();
            let command = if dice.once_in(40) { format!("./bin/{name}") } else { format!("/bin/{name}") };
            let version = dice.of(&["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]);
            let mut exec = json!({"apiVersion": version, "command": command});
            if !dice.once_in(3) {
                exec["args"] = json!(dice.some(&["--one", "two", "--three=3"], 3));
                exec["env"] = json!(variables);
            }
            if dice.once_in(5) {
                exec["args"] = Value::Null;
                exec["env"] = Value::Null;
            }
            if dice.once_in(2) {
                exec["provideClusterInfo"] = json!(dice.once_in(2));
            }
            let mut provider = json!({"name": name, "execConfig": exec});
            if !dice.once_in(3) {
                provider["profileSourcedCLIArgsPolicy"] = json!(dice.of(&["Ignore", "Append", "Append"]));
            }
            if !dice.once_in(3) {
                provider["profileSourcedEnvVarsPolicy"] = json!(dice.of(&["Ignore", "AppendIfNotExists", "Replace"]));
            }
            // The library does not know the list.
            provider["profileSourcedEnvVars"] = json!(VARIABLES);
            if dice.once_in(40) {
                provider["profileSourcedCLIArgsPolicy"] = json!("append");
            }
            if dice.once_in(60) {
                provider["profileSourcedArgsPolicy"] = json!("Append");
            }
            provider
        })
        .collect();
    json!({"providers": providers}).to_string()
}

fn cluster(dice: &mut Dice) -> Value {
    let mut cluster =
        json!({"server": dice.of(&["https://one.example", "https://two.example:6443/k8s/x", "http://127.0.0.1:1"])});
    if dice.once_in(2) {
        cluster["certificate-authority-data"] = json!(dice.of(&["Q0E=", "QQ=="]));
    }
    if dice.once_in(8) {
        cluster["insecure-skip-tls-verify"] = json!(dice.once_in(2));
    }
    if dice.once_in(4) {
        cluster["proxy-url"] = json!(dice.of(&["http://proxy.example:3128", "socks5://proxy.example:1080"]));
    }
    if dice.once_in(4) {
        cluster["tls-server-name"] = json!("other.example");
        cluster["certificate-authority"] = json!("/etc/passwd");
    }
    let mut extensions = Vec::new();
    let mut add = |name: &str, extension: Value| extensions.push(json!({"name": name, "extension": extension}));
    if dice.once_in(2) {
        add("client.authentication.k8s.io/exec", json!({"clusterName": "x", "deep": {"list": [1, true, null, "y"]}}));
    }
    if dice.once_in(2) {
        let mut arguments = json!(dice.some(&["--one", "more", ""], 3));
        match dice.roll(10) {
            0 => arguments = json!({"args": ["more"]}),
            1 => arguments = json!(["more", 1]),
            _ => {}
        }
        add(ARGUMENTS_EXTENSION, arguments);
    }
    if dice.once_in(2) {
        let mut variables: BTreeMap<&str, Value> =
            dice.some(&VARIABLES, 3).into_iter().map(|name| (name, json!("profile"))).collect();
        match dice.roll(12) {
            0 => _ = variables.insert("PATH", json!("/tmp")),
            1 => _ = variables.insert("LD_PRELOAD", json!("/tmp/x.so")),
            2 => _ = variables.insert("COUNT", json!(7)),
            _ => {}
        }
        let listed = dice.once_in(20);
        add(VARIABLES_EXTENSION, if listed { json!(["A=profile"]) } else { json!(variables) });
    }
    if dice.once_in(20) {
        add("other.example/x", json!({"y": "z"}));
        add("other.example/x", json!({"y": "z"}));
    }
    if !extensions.is_empty() {
        cluster["extensions"] = json!(extensions);
    }
    cluster
}

fn profile(dice: &mut Dice) -> Value {
    let mut status = json!({});
    for field in ["accessProviders", "credentialProviders"] {
        let names = dice.some(&NAMES, 3);
        let all: Vec<Value> = names.iter().map(|name| json!({"name": name, "cluster": cluster(dice)})).collect();
        status[field] = json!(all);
    }
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": "eu", "namespace": "fleet"},
        "spec": {"clusterManager": {"name": "ocm"}},
        "status": status,
    })
}

/// What pouch chooses, in the words of the other side; or what it says is wrong.
fn ours(file: &str, document: &Value) -> Result<Value, Vec<String>> {
    let told = |faults: Vec<Fault>| faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>();
    let file = providers::read(file).map_err(told)?;
    let node = json::read(&document.to_string(), &mut Interner::new()).unwrap();
    let origin = Origin { source: "test".into(), place: Place::Whole };
    let Ok(object) = admit(node, origin, &Scopes::new(), None, &KeepNothing) else { panic!("{document}") };
    let (profile, _) = profile::read(&object);
    let Way { cluster, exec, config, .. } = file.choose(&profile).map_err(told)?;
    let variables: BTreeMap<String, String> = exec.variables.into_iter().collect();
    Ok(json!({
        "server": cluster.server,
        "ca": cluster.ca_data,
        "proxy": cluster.proxy_url.unwrap_or_default(),
        "apiVersion": exec.api_version,
        "command": exec.command,
        "args": exec.arguments,
        "env": variables,
        "provideClusterInfo": exec.provide_cluster_info,
        "config": config.map(|config| json::value(&Tree::of(&config))),
    }))
}

/// What the library makes of each.
fn theirs(pairs: &[(String, Value)]) -> Option<Vec<Value>> {
    let program = tool("clusterinventory")?;
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Its warnings about the older field.
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let asked: Vec<Value> = pairs.iter().map(|(file, profile)| json!({"file": file, "profile": profile})).collect();
    let input = serde_json::to_vec(&asked).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), pairs.len());
    Some(answers)
}

#[test]
fn pouch_chooses_as_the_library_does() {
    let mut dice = Dice(17);
    let pairs: Vec<(String, Value)> = (0..PAIRS).map(|_| (file(&mut dice), profile(&mut dice))).collect();
    let Some(theirs) = theirs(&pairs) else { return };
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alike = 0;
    let mut note = |word| *used.entry(word).or_default() += 1;
    for ((file, profile), mut theirs) in pairs.iter().zip(theirs) {
        let refused = theirs.as_object_mut().unwrap().remove("error");
        let both = || format!("\n{file}\n{profile}\n{theirs}");
        match (ours(file, profile), refused) {
            (Ok(ours), None) => {
                if theirs["args"].is_null() {
                    theirs["args"] = json!([]);
                }
                assert_eq!(ours, theirs, "{file}\n{profile}");
                alike += 1;
            }
            (Err(_), Some(_)) => {}
            (Err(faults), None) => {
                for fault in &faults {
                    let known = DIFFERENCES.iter().find(|(word, _)| fault.contains(word));
                    note(known.unwrap_or_else(|| panic!("{fault}{}", both())).0);
                }
            }
            (Ok(_), Some(refused)) => {
                let said = refused.as_str().unwrap();
                let known = BEYOND.iter().find(|(word, _)| said.contains(word));
                note(known.unwrap_or_else(|| panic!("{said}{}", both())).0);
            }
        }
    }
    assert!(alike >= PAIRS / 4, "{alike} alike, {used:?}");
    for (word, _) in DIFFERENCES.iter().chain(&BEYOND) {
        assert!(used.contains_key(word), "no pair differs because it {word}: {used:?}");
    }
}
