//! Rules and objects that look random, and are the same every time.
//!
//! Each ResourceSyncRule has namespaces, names and a label of its own, so that no rule takes the objects of another one.

use serde_json::{Map, Value, json};

use super::mesh::OWN;

/// How many ResourceSyncRules there are.
pub const RULES: usize = 40;
/// How many entries of `rules` each of them has, one of which takes one object that tells when the controller has it.
pub const STEPS: usize = 6;
/// How many objects of its kind each of them has to choose from.
const OBJECTS: usize = 7;

/// Numbers that look random and are the same every time (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16;
        usize::try_from(number % u64::try_from(bound).unwrap()).unwrap()
    }

    /// True once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// What is made.
pub struct World {
    pub namespaces: Vec<String>,
    pub objects: Vec<Value>,
    pub rules: Vec<Value>,
    /// The objects of which the copies tell that the controller follows a rule.
    pub tell: Vec<Value>,
}

/// ClusterFeatures of the source.
pub fn features() -> Vec<Value> {
    let feature = |name: &str, says: &str, labels: Value| {
        json!({"apiVersion": "clusterregistry.k8s.cisco.com/v1alpha1", "kind": "ClusterFeature",
               "metadata": {"name": name, "labels": labels}, "spec": {"featureName": says}})
    };
    vec![
        feature("mesh-active", "mesh", json!({"mode": "active"})),
        feature("mesh-passive", "mesh", json!({"mode": "passive", "zone": "a"})),
        feature("pull", "pull-secrets", json!({})),
    ]
}

/// A ResourceSyncRule with this spec.
pub fn rule(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "clusterregistry.k8s.cisco.com/v1alpha1", "kind": "ResourceSyncRule",
           "metadata": {"name": name}, "spec": spec})
}

/// `apiVersion` and fields of `groupVersionKind` of a kind.
pub fn version(kind: &str) -> (String, Value) {
    match kind {
        "Secret" | "ConfigMap" => (String::from("v1"), json!({"version": "v1", "kind": kind})),
        _ => (format!("{OWN}/v1"), json!({"group": OWN, "version": "v1", "kind": kind})),
    }
}

/// All of it.
pub fn world(seed: u64) -> World {
    let mut dice = Dice(seed);
    let mut world =
        World { namespaces: vec![String::from("tell")], objects: Vec::new(), rules: Vec::new(), tell: Vec::new() };
    for number in 0..RULES {
        let kind = ["Secret", "Widget", "ConfigMap", "Widget", "Badge"][number % 5];
        let places = ["a", "b"].map(|place| format!("r{number}-{place}"));
        world.namespaces.extend(places.clone());
        for at in 0..OBJECTS {
            let place = dice.pick(&places);
            world.objects.push(object(&mut dice, kind, &place, &format!("r{number}"), &format!("r{number}-o{at}")));
        }
        let mut tell = object(&mut dice, kind, "tell", "none", &format!("r{number}-tell"));
        tell["metadata"]["labels"]["tell"] = json!(format!("r{number}"));
        world.objects.push(tell.clone());
        world.tell.push(tell);
        let mut steps = vec![json!({"match": [{"labels": [{"matchLabels": {"tell": format!("r{number}")}}]}]})];
        steps.extend((1..STEPS).map(|_| step(&mut dice, kind, number, &places)));
        let (_, asked) = version(kind);
        let mut spec = json!({"groupVersionKind": asked, "rules": steps});
        if dice.once_in(3) {
            spec["clusterFeatureMatch"] = satisfied(&mut dice);
        }
        world.rules.push(rule(&format!("r{number}"), spec));
    }
    world
}

/// Entries that the features of the source satisfy.
fn satisfied(dice: &mut Dice) -> Value {
    let entry = |dice: &mut Dice| {
        dice.pick(&[
            json!({"featureName": "pull-secrets"}),
            json!({"featureName": "mesh", "matchLabels": {"mode": "passive"}}),
            json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}),
            json!({"featureName": "mesh", "matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}),
        ])
    };
    json!([entry(dice), entry(dice)])
}

/// A key by which objects are chosen, and what it may hold.
const LABELS: [(&str, &[&str]); 3] =
    [("tier", &["web", "db", "cache"]), ("env", &["prod", "dev", ""]), ("app.example.com/part", &["x", "y.z-1"])];
const ANNOTATIONS: [(&str, &[&str]); 2] =
    [("stage", &["prod", "test", "blue"]), ("example.com/note", &["a note: with, signs", "short", ""])];

fn pairs(dice: &mut Dice, of: &[(&str, &[&str])]) -> Map<String, Value> {
    let mut pairs = Map::new();
    for (key, values) in of {
        if !dice.once_in(3) {
            pairs.insert((*key).to_owned(), json!(dice.pick(values)));
        }
    }
    pairs
}

fn object(dice: &mut Dice, kind: &str, namespace: &str, rule: &str, name: &str) -> Value {
    let mut labels = pairs(dice, &LABELS);
    labels.insert(String::from("rule"), json!(rule));
    let mut annotations = pairs(dice, &ANNOTATIONS);
    if dice.once_in(2) {
        // What no rule touches, and pouch does not keep.
        labels.insert(String::from("loose.example.com/label"), json!("loose"));
        annotations.insert(String::from("loose.example.com/annotation"), json!("loose"));
    }
    let mut meta = json!({"name": name, "labels": labels, "annotations": annotations});
    if kind != "Badge" {
        meta["namespace"] = json!(namespace);
    }
    let mut object = json!({"apiVersion": version(kind).0, "kind": kind, "metadata": meta});
    let mode = dice.pick(&["on", "off", "auto", "7", "1.5", "true", ""]);
    match kind {
        "Secret" => {
            object["type"] = json!(dice.pick(&["Opaque", "example.com/a", "example.com/b"]));
            object["data"] = json!({"token": "bm90LXJlYWw=", name: "AAECAw==", "empty": ""});
        }
        "ConfigMap" => {
            object["data"] = json!({"mode": mode, "count": "7", "file.conf": "a = 1\n\n# two\nb = yes\n", "on": "off"});
            object["binaryData"] = json!({"bytes": "AAECAw=="});
        }
        _ => object["spec"] = spec(dice, mode),
    }
    object
}

fn spec(dice: &mut Dice, mode: &str) -> Value {
    let items = [json!({"name": "x", "size": 1}), json!({"name": "y", "size": 2, "on": true}), json!({"name": "z"})];
    let items: Vec<Value> = items.into_iter().filter(|_| !dice.once_in(4)).collect();
    json!({
        "mode": mode,
        "count": dice.pick(&[json!(0), json!(1), json!(7), json!(-3), json!(2_147_483_647_i64), json!(9_007_199_254_740_993_i64)]),
        "ratio": dice.pick(&[json!(0.5), json!(1.5), json!(2.0), json!(1e21), json!(0.000_000_1)]),
        "active": dice.once_in(2),
        "a.b": dice.pick(&["dotted", "c"]),
        "nest": {"deep": dice.pick(&["down", "up"]), "list": [[1, 2], []], "none": null},
        "list": items,
        "words": ["yes", "0777", "~", "1e3", "a: b", "- c"],
    })
}

fn expression(dice: &mut Dice, of: &[(&str, &[&str])]) -> Value {
    // The API takes no value of an annotation in a selector that no label could have.
    let is_plain = |value: &&&str| !value.contains(' ');
    let (key, values) = dice.pick(of);
    let first: Vec<&str> = values.iter().filter(is_plain).take(1 + dice.below(2)).copied().collect();
    match dice.below(4) {
        0 => json!({"key": key, "operator": "In", "values": first}),
        1 => json!({"key": key, "operator": "NotIn", "values": first}),
        2 => json!({"key": key, "operator": "Exists"}),
        _ => json!({"key": key, "operator": "DoesNotExist"}),
    }
}

/// What a rule with this kind may ask of content.
fn content(dice: &mut Dice, kind: &str) -> Value {
    let (key, value) = match kind {
        "Secret" => ("type", json!(dice.pick(&["Opaque", "example.com/a"]))),
        "ConfigMap" => dice.pick(&[
            ("data.mode", json!("auto")),
            ("data.mode", json!("7")),
            ("data.count", json!("7")),
            ("data.none", json!("")),
            ("metadata.name", json!("none")),
        ]),
        _ => dice.pick(&[
            ("spec.mode", json!("on")),
            ("spec.mode", json!("")),
            ("spec.count", json!(7)),
            ("spec.count", json!(0)),
            ("spec.count", json!("-3")),
            ("spec.count", json!("9007199254740993")),
            ("spec.ratio", json!("1.5")),
            ("spec.ratio", json!("2")),
            ("spec.ratio", json!("1000000000000000000000")),
            ("spec.ratio", json!("0.0000001")),
            ("spec.active", json!("true")),
            (r"spec.a\.b", json!("dotted")),
            ("spec.nest.deep", json!("down")),
            ("spec.list.0.name", json!("x")),
            ("spec.list.1.size", json!(2)),
            ("spec.words.1", json!("0777")),
            ("metadata.labels.tier", json!("web")),
            (r"metadata.labels.app\.example\.com/part", json!("x")),
            ("metadata.annotations.stage", json!("prod")),
            ("kind", json!(kind)),
            ("apiVersion", json!("oracle.example.com/v1")),
        ]),
    };
    json!({"key": key, "value": value})
}

/// An entry of `rules`.
fn step(dice: &mut Dice, kind: &str, number: usize, places: &[String; 2]) -> Value {
    let count = 1 + dice.below(2);
    let entries: Vec<Value> = (0..count).map(|_| entry(dice, kind, number, places)).collect();
    let mut step = json!({"match": entries});
    if !dice.once_in(4) {
        step["mutations"] = mutations(dice, kind);
    }
    step
}

fn entry(dice: &mut Dice, kind: &str, number: usize, places: &[String; 2]) -> Value {
    let own = json!({"rule": format!("r{number}")});
    let (mut entry, mut has_labels) = (json!({}), false);
    // What has no namespaces is named by its label, or by itself.
    let shape = if kind == "Badge" { dice.pick(&[0, 1, 4]) } else { dice.below(5) };
    match shape {
        0 => {
            entry["labels"] = json!([{"matchLabels": own, "matchExpressions": [expression(dice, &LABELS)]}]);
            has_labels = true;
        }
        1 => {
            let mut other = own.clone();
            other["tier"] = json!(dice.pick(LABELS[0].1));
            entry["labels"] = json!([{"matchLabels": own, "matchExpressions": [expression(dice, &LABELS), expression(dice, &LABELS)]}, {"matchLabels": other}]);
            has_labels = true;
        }
        2 => entry["namespaces"] = json!(if dice.once_in(2) { vec![&places[0]] } else { places.iter().collect() }),
        3 => entry["objectKey"] = json!({"namespace": dice.pick(places)}),
        _ => {
            let mut key = json!({"name": format!("r{number}-o{}", dice.below(OBJECTS))});
            if kind != "Badge" && dice.once_in(3) {
                key["namespace"] = json!(dice.pick(places));
            }
            entry["objectKey"] = key;
        }
    }
    if kind == "Badge" && dice.once_in(3) {
        entry["namespaces"] = json!([dice.pick(places)]);
    }
    if !has_labels && dice.once_in(2) {
        entry["labels"] = json!([{"matchExpressions": [expression(dice, &LABELS)]}]);
    }
    if dice.once_in(3) {
        let mut selector = json!({"matchExpressions": [expression(dice, &ANNOTATIONS)]});
        if dice.once_in(2) {
            selector["matchAnnotations"] = json!({"stage": dice.pick(ANNOTATIONS[0].1)});
        }
        entry["annotations"] = json!([selector]);
    }
    if dice.once_in(3) {
        let count = 1 + dice.below(2);
        entry["content"] = (0..count).map(|_| content(dice, kind)).collect();
    }
    entry
}

fn mutations(dice: &mut Dice, kind: &str) -> Value {
    let mut mutations = json!({});
    if !dice.once_in(3) {
        mutations["labels"] = json!({
            "add": {"env": dice.pick(&["prod", "made"]), "made.example.com/by": dice.pick(&["one", "two", ""])},
            "remove": [dice.pick(&["tier", "none", "made.example.com/by"])],
        });
    }
    if dice.once_in(2) {
        mutations["annotations"] = json!({
            "add": {"stage": dice.pick(&["made: here", "prod"]), "made.example.com/why": "because"},
            "remove": [dice.pick(&["example.com/note", "none"])],
        });
    }
    if kind == "Widget" && dice.once_in(4) {
        mutations["groupVersionKind"] = dice.pick(&[
            json!({"kind": "Gadget"}),
            json!({"version": "v1beta1"}),
            json!({"group": OWN, "kind": "Gadget", "version": "v1beta1"}),
        ]);
    }
    if dice.once_in(2) {
        let count = 1 + dice.below(3);
        mutations["overrides"] = (0..count).map(|_| patch(dice, kind)).collect();
    }
    mutations
}

fn patch(dice: &mut Dice, kind: &str) -> Value {
    let replace = |path: &str, value: &str| json!({"type": "replace", "path": path, "value": value});
    let parsed = |path: &str, value: &str| json!({"type": "replace", "path": path, "value": value, "parseValue": true});
    let remove = |path: &str| json!({"type": "remove", "path": path});
    let everywhere = [
        replace("/metadata/name", "{{ .Object.GetName }}-{{ .Cluster.GetName }}"),
        replace("/metadata/name", r#"{{ printf "%s-to-%s" .Object.GetName .LocalCluster.GetName | trunc 40 }}"#),
        replace("/metadata/labels/tier?", r#"{{ index .Object.GetLabels "rule" }}"#),
        replace(
            "/metadata/annotations/made.example.com~1name?",
            "{{ if eq .Object.GetNamespace \"\" }}bare{{ else }}{{ .Object.GetNamespace }}{{ end }}",
        ),
        replace("/metadata/labels/env", "there"),
        remove("/metadata/labels/tier"),
        remove("/metadata/annotations/stage?"),
    ];
    // What YAML makes of words.
    let word = dice.pick(&[
        "yes",
        "off",
        "0777",
        "0o17",
        "0x1F",
        "1_000",
        "~",
        "1e3",
        ".5",
        "1.50",
        "2001-01-01",
        "'x'",
        "[a, 1]",
        "{a: {b: null}}",
        "|\n  two\n  lines\n",
        "1:30",
        "",
        "9007199254740993",
        "{{ .Object.GetName }}",
        "[{{ len .Object.GetName }}]",
        "-0",
        "+1",
        "y",
    ]);
    let of_spec = [
        replace("/spec/mode", "replaced"),
        replace("/spec/new?", r#"{{ .Cluster.GetName | quote }}"#),
        replace("/spec/mode", "{{ .Object.Object.spec.nest.deep }}{{ .Object.Object.spec.count }}"),
        parsed("/spec/parsed?", word),
        parsed("/spec/nest/deep", word),
        parsed("/spec/list/name=x/size", "8"),
        replace("/spec/list/name=x?/size", "nine"),
        parsed("/spec/list/-", "{name: new, size: 3}"),
        replace("/spec/list/0/name", "first"),
        parsed("/spec/list/name=q?", "{name: q}"),
        replace("/spec/more?/of/this", "made"),
        replace("/spec/more/of?/that", "made"),
        replace("/spec/fresh?/-", "first"),
        replace("/spec/fresh?/name=one/two", "three"),
        remove("/spec/list/0"),
        remove("/spec/list/name=y"),
        remove("/spec/nest/list?"),
        remove("/spec/none?"),
        remove("/spec/none"),
        remove("/spec/a.b"),
        remove("/spec/words/1"),
        replace("/spec/words/5", "last"),
        replace("/spec/words/9", "none"),
        replace("/spec/a~7b~0c~1d?", "escaped"),
    ];
    let of_data = [
        replace("/data/mode", "replaced"),
        replace("/data/new?", "{{ index .Object.GetLabels \"rule\" }}"),
        remove("/data/count"),
        remove("/data/none?"),
        replace("/data/file.conf", "c = {{ .LocalCluster.GetName }}\n"),
    ];
    let others: &[Value] = match kind {
        "Secret" => &[],
        "ConfigMap" => &of_data,
        _ => &of_spec,
    };
    if others.is_empty() || dice.once_in(3) { dice.pick(&everywhere) } else { dice.pick(others) }
}
