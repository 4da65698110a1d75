//! What a region's API refuses of identities, Secrets, ConfigMaps and their metadata: generated objects through the whole
//! program, with a real API server that has the real CRDs as the judge of each.
//!
//! The server must take whatever pouch publishes, and refuse whatever pouch calls invalid. The first keeps one tenant from
//! stopping what all others have on a region; the second keeps pouch from stopping a tenant without need. Half of the
//! batches have the CRDs in their sources, so that schemas are what pouch goes by, and half have not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Map, Value, json};

use crate::bundle::node;
use crate::ground::{Ground, program};
use crate::objects::{CAPI, SYSTEM, credential, reference, secret};
use crate::odd_objects::Dice;
use crate::rig::http::{Connection, Request};
use crate::support;

/// How many objects are made: two percent of what a soak makes, which says `POUCH_REFUSED=20000`.
const COUNT: usize = 400;

/// How many stand in one fleet.
const BATCH: usize = 200;

/// The codes of what a region's API would refuse.
const INVALID: [&str; 2] = ["invalid-object", "too-large"];

/// What pouch refuses and the server takes, by words of the finding, with the reason.
const STRICTER: [(&str, &str); 7] = [
    ("holds text that cannot be a Kubernetes name", "it refers to nothing that there can be"),
    ("spec.secretName is longer than 253 characters", "no Secret can have such a name"),
    ("spec.secretName is missing", "without one, the provider finds no account"),
    ("spec.sourceIdentityRef is missing", "the provider's webhook refuses it, which does not run here"),
    ("is none that Kubernetes takes", "the same, of selectors"),
    ("which kustomize cannot read back", "the consumer's build fails, before any server is asked"),
    (".matchLabels is null", "a server drops the label, and the selector fits more than was written"),
];

/// A kind of nobody's, with all that a schema can say.
const ACME: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: acmeidentities.acme.example.com}
spec:
  group: acme.example.com
  scope: Namespaced
  names: {kind: AcmeIdentity, listKind: AcmeIdentityList, plural: acmeidentities, singular: acmeidentity}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [endpoint, filled]
            properties:
              endpoint: {type: string, pattern: '^https://[a-z.]+$', minLength: 9, maxLength: 40}
              filled: {type: string, default: x}
              zone: {type: string, enum: [a, b]}
              retries: {type: integer, format: int32, minimum: 1, maximum: 9}
              large: {type: integer, format: int64}
              small: {type: integer, format: int32}
              ratio: {type: number, minimum: 0.5, exclusiveMinimum: true, maximum: 2}
              insecure: {type: boolean}
              port: {x-kubernetes-int-or-string: true}
              tags: {type: array, minItems: 1, maxItems: 3, items: {type: string, maxLength: 5}}
              names: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              maybe: {type: array, items: {type: string, nullable: true}}
              hosts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: integer}}}
              labels: {type: object, maxProperties: 3, additionalProperties: {type: string}}
              limits: {type: object, additionalProperties: {type: array, items: {type: integer}}}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true}
              reference: {type: object, minProperties: 1, properties: {name: {type: string}, namespace: {type: string}}}
              namespaceSelector:
                type: object
                properties:
                  matchLabels: {type: object, additionalProperties: {type: string}}
"#;

/// Valid objects, of which the others are made.
fn samples() -> Vec<Value> {
    let key = json!({"name": "shared", "namespace": SYSTEM});
    let selector =
        json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}]});
    let identity = |kind: &str, version: &str, spec: Value| json!({"apiVersion": format!("{CAPI}/{version}"), "kind": kind, "metadata": {}, "spec": spec});
    vec![
        identity(
            "AWSClusterStaticIdentity",
            "v1beta2",
            json!({"secretRef": "shared", "allowedNamespaces": {"list": ["a"], "selector": selector}}),
        ),
        identity(
            "AWSClusterRoleIdentity",
            "v1beta2",
            json!({"roleARN": "arn:aws:iam::123456789012:role/a", "durationSeconds": 900, "externalID": "x", "sessionName": "s",
                "inlinePolicy": "{}", "policyARNs": ["arn:aws:iam::aws:policy/a"], "allowedNamespaces": {"list": ["a"]},
                "sourceIdentityRef": {"kind": "AWSClusterStaticIdentity", "name": "source"}}),
        ),
        identity(
            "AzureClusterIdentity",
            "v1beta1",
            json!({"type": "ServicePrincipal", "clientID": "c", "tenantID": "t", "clientSecret": key,
                "allowedNamespaces": {"list": ["a"], "selector": selector}, "resourceID": "r"}),
        ),
        identity(
            "OCIClusterIdentity",
            "v1beta2",
            json!({"type": "UserPrincipal", "principalSecret": key, "allowedNamespaces": {"list": ["a"], "selector": selector}}),
        ),
        identity("OpenStackClusterIdentity", "v1alpha1", json!({"secretRef": key, "namespaceSelector": selector})),
        identity(
            "VSphereClusterIdentity",
            "v1beta1",
            json!({"secretName": "shared", "allowedNamespaces": {"selector": selector}}),
        ),
        json!({"apiVersion": "acme.example.com/v1", "kind": "AcmeIdentity", "metadata": {}, "spec": {
            "endpoint": "https://acme.example", "zone": "a", "retries": 3, "large": 5, "small": 7, "ratio": 1.5, "insecure": false,
            "port": 80, "tags": ["t", "u"], "names": ["a", "b"], "maybe": ["a"], "hosts": [{"name": "a", "weight": 1}, {"name": "b"}],
            "labels": {"a": "b"}, "limits": {"a": [1, 2]}, "extra": {"any": [1, {"b": "c"}]},
            "reference": {"name": "n", "namespace": "m"}, "namespaceSelector": {"matchLabels": {"a": "b"}}}}),
        secret(SYSTEM, "", &json!({"value": "not-a-real-value", "other": "x"})),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": {"projectsveltos.io/template": "true"}},
            "data": {"a": "b", "c.yaml": "d: e\n"}, "binaryData": {"f": "AAA="}}),
    ]
}

/// A value that is somebody's mistake.
fn slip(dice: &mut Dice) -> Value {
    let long = |count: usize| json!("x".repeat(count));
    match dice.below(4) {
        0 => Value::Null,
        1 => dice.of(&[
            json!(5),
            json!(-1),
            json!(0),
            json!(1e10),
            json!(2.5),
            json!(2_147_483_648_u64),
            json!(u64::MAX),
            json!(true),
        ]),
        2 => dice.of(&[
            json!([]),
            json!([null]),
            json!({}),
            json!({"a": null}),
            json!(["a", "a"]),
            json!([{"name": "a"}, {"name": "a"}]),
        ]),
        _ => dice.of(&[
            json!(""),
            json!("x"),
            json!("b"),
            json!("5"),
            json!("true"),
            json!("https://b.c"),
            json!("é\n"),
            long(41),
            long(300),
        ]),
    }
}

/// The paths of all values below one, as JSON pointers.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut add = |key: &str, value: &Value| {
        let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        pointers(value, &path, all);
        all.push(path);
    };
    match value {
        Value::Object(entries) => entries.iter().for_each(|(key, value)| add(key, value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| add(&index.to_string(), value)),
        _ => {}
    }
}

/// Spoils one place of what an object holds.
fn spoil(object: &mut Value, dice: &mut Dice) {
    let fields: Vec<&str> =
        ["spec", "data", "binaryData"].into_iter().filter(|field| object.get(field).is_some()).collect();
    let field = dice.of(&fields);
    let mut all = Vec::new();
    pointers(&object[field], &format!("/{field}"), &mut all);
    if all.is_empty() {
        return;
    }
    let place = dice.of(&all);
    let (parent, last) = place.rsplit_once('/').unwrap();
    let (what, new) = (dice.below(6), slip(dice));
    let key = last.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(entries)) => match what {
            0 => _ = entries.remove(&key),
            1 => _ = entries.insert(dice.of(&["unknown", "name", "a b", "É", "", "list"]).to_owned(), new),
            2 => {
                let value = entries.remove(&key).unwrap();
                entries.insert(format!("{key}{}", dice.of(&["s", "_", "/x", " "])), value);
            }
            _ => _ = entries.insert(key, new),
        },
        Some(Value::Array(items)) => match what {
            0 => _ = items.remove(key.parse().unwrap()),
            1 => items.push(new),
            2 => items.push(items[0].clone()),
            _ => items[key.parse::<usize>().unwrap()] = new,
        },
        _ => {}
    }
}

/// A label or annotation that somebody wrote by hand.
fn mark(dice: &mut Dice) -> (String, Value) {
    let name = |dice: &mut Dice| {
        let long = |count: usize| "n".repeat(count);
        match dice.below(3) {
            0 => "name".to_owned(),
            1 => dice.of(&["n", "N", "n.a_b-c", "n.example.com/a", "N.example.com/a", "n_a/b"]).to_owned(),
            _ => dice.of(&[
                "n!".to_owned(),
                "n-".to_owned(),
                "n/".to_owned(),
                "n//a".to_owned(),
                "n/a/b".to_owned(),
                "né".to_owned(),
                "n a".to_owned(),
                "n\u{1}".to_owned(),
                "n\u{85}".to_owned(),
                "n\u{212a}".to_owned(),
                "n\u{130}".to_owned(),
                long(63),
                long(64),
                format!("{}/{}", "n.".repeat(126) + "n", long(63)),
                format!("{}/n", "n.".repeat(127)),
                format!("{}/n", long(64)),
            ]),
        }
    };
    let key = name(dice);
    let value = match dice.below(3) {
        0 => json!("fine"),
        1 => json!(name(dice)),
        _ => dice.of(&[
            json!(""),
            json!(null),
            json!("-a"),
            json!("a."),
            json!("a b"),
            json!("a\n"),
            json!("a\u{7f}"),
            json!("{\"a\": 1}"),
            json!("é"),
        ]),
    };
    (key, value)
}

/// An object with something wrong with it, most likely.
fn made(samples: &[Value], number: usize, dice: &mut Dice) -> Value {
    let mut object = dice.of(samples);
    for _ in 0..dice.below(3) {
        spoil(&mut object, dice);
    }
    if dice.below(3) == 0 {
        let field = dice.of(&["labels", "annotations"]);
        for _ in 0..=dice.below(2) {
            let (key, value) = mark(dice);
            object["metadata"][field][key] = value;
        }
    }
    let is_clusters = ["AWSCluster", "OpenStackCluster", "VSphereCluster"]
        .iter()
        .any(|start| object["kind"].as_str().unwrap().starts_with(start));
    if !is_clusters {
        object["metadata"]["namespace"] = json!(SYSTEM);
    }
    let is_config_map = object["kind"] == "ConfigMap";
    object["metadata"]["name"] =
        json!(if is_config_map { format!("m{number}-resource-template") } else { format!("m{number}") });
    object
}

/// JSON that a YAML reader takes as well.
fn text(value: &Value) -> String {
    let odd = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}');
    let escape = |c: char| if odd(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    value.to_string().chars().map(escape).collect()
}

struct Judge(Connection);

impl Judge {
    /// Applies an object as Flux does before it applies anything: why it is refused, if it is.
    fn refuses(
        &mut self,
        (version, kind): (&str, &str),
        (namespace, name): (Option<&str>, &str),
        body: &str,
    ) -> Option<String> {
        let root = if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") };
        let within = namespace.map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
        let plural = match kind.strip_suffix('y') {
            Some(stem) => format!("{}ies", stem.to_lowercase()),
            None => format!("{}s", kind.to_lowercase()),
        };
        let target = format!("{root}{within}/{plural}/{name}?fieldManager=kustomize-controller&force=true&dryRun=All");
        let headers = vec![("Content-Type".to_owned(), "application/apply-patch+yaml".to_owned())];
        let request = Request { method: "PATCH".to_owned(), target, headers, body: body.as_bytes().to_vec() };
        let response = self.0.send(&request).unwrap();
        let said = || String::from_utf8_lossy(&response.body).chars().take(400).collect();
        match response.status {
            200 | 201 => None,
            400 | 413 | 422 | 500 => Some(said()),
            status => panic!("{kind} {name}: {status} {}", said()),
        }
    }
}

/// What became of the objects of one kind.
#[derive(Default, Debug)]
struct Counts {
    published: usize,
    invalid: usize,
    /// Stopped by something that no API server refuses.
    otherwise: usize,
}

/// The messages of findings that call something invalid, and the Credentials that are stopped by anything.
fn stopped(summary: &Value) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut invalid, mut all) = (BTreeMap::<String, String>::new(), BTreeSet::new());
    for finding in summary["findings"].as_array().into_iter().flatten().filter(|finding| finding["severity"] == "error")
    {
        let by = finding["credential"].as_str().unwrap_or_default().to_owned();
        if INVALID.iter().any(|code| finding["code"] == **code) {
            *invalid.entry(by.clone()).or_default() += &format!("{}; ", finding["message"].as_str().unwrap());
        }
        all.insert(by);
    }
    (invalid, all)
}

#[test]
fn what_a_region_refuses_is_refused_and_what_is_published_is_taken() {
    let Some(ground) = Ground::new() else { return };
    let Some(crds) = support::shared("data/crds/identities") else { return };
    ground.write("acme.yaml", ACME);
    ground.server.install_files(&[ground.path("acme.yaml")]);
    let count = std::env::var("POUCH_REFUSED").map_or(COUNT, |count| count.parse().unwrap());
    let mut judge = Judge(ground.server.endpoint("admin").connect().unwrap());
    let (mut dice, samples) = (Dice(0x5851_f42d_4c95_7f2d), samples());
    let mut counts = BTreeMap::<String, Counts>::new();
    let mut wrong: Vec<String> = Vec::new();
    for (batch, start) in (0..count).step_by(BATCH).enumerate() {
        let folder = format!("manifests-{batch}");
        let write = |name: &str, text: &str| _ = ground.write(&format!("{folder}/{name}.yaml"), text);
        let has_schemas = batch % 2 == 0;
        // Of a kind of nobody's, pouch knows nothing else.
        write("crd-acme", ACME);
        if has_schemas {
            for (index, file) in fs::read_dir(&crds).unwrap().enumerate() {
                write(&format!("crd-{index}"), &fs::read_to_string(file.unwrap().path()).unwrap());
            }
        }
        write(
            "shared",
            &secret(SYSTEM, "shared", &json!({"AccessKeyID": "a", "SecretAccessKey": "not-real", "clientSecret": "x"}))
                .to_string(),
        );
        let source = json!({"apiVersion": format!("{CAPI}/v1beta2"), "kind": "AWSClusterStaticIdentity", "metadata": {"name": "source"},
            "spec": {"secretRef": "shared", "allowedNamespaces": {"list": [SYSTEM]}}});
        write("source", &source.to_string());
        let interface = json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "ProviderInterface", "metadata": {"name": "acme"},
            "spec": {"clusterIdentities": [
                {"group": "acme.example.com", "version": "v1", "kind": "AcmeIdentity"},
                {"group": CAPI, "version": "v1beta2", "kind": "OCIClusterIdentity", "references": [
                    {"version": "v1", "kind": "Secret", "nameFieldPath": "spec.principalSecret.name",
                        "namespaceFieldPath": "spec.principalSecret.namespace"}]}]}});
        write("interface", &interface.to_string());
        let mut objects: BTreeMap<String, Value> = BTreeMap::new();
        for number in start..count.min(start + BATCH) {
            let object = made(&samples, number, &mut dice);
            write(&format!("object-{number}"), &text(&object));
            let name = format!("m{number}");
            // A ConfigMap comes as the companion of a Secret.
            let root = if object["kind"] == "ConfigMap" {
                secret(SYSTEM, &name, &json!({"value": "x"}))
            } else {
                object.clone()
            };
            if object["kind"] == "ConfigMap" {
                write(&format!("secret-{number}"), &root.to_string());
            }
            write(&format!("credential-{number}"), &credential(SYSTEM, &name, "eu", &reference(&root)).to_string());
            objects.insert(format!("{SYSTEM}/{name}"), object);
        }
        let sources = format!(
            "[{{name: all, directory: {{path: {folder}}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}]"
        );
        let config = ground.config(
            &format!("{folder}.yaml"),
            &sources,
            "keepMetadata: {labels: ['*'], annotations: ['n*', 'N*']}\n\
             kinds: [{group: acme.example.com, kind: AcmeIdentity, scope: Namespaced}]\n",
        );
        let out = format!("out-{batch}");
        let answer = ground.render_files(&config, &out, &[]).exits(3);
        let (invalid, all) = stopped(&answer.summary);
        let unpacked = program(
            &ground.path("."),
            &["unpack", &out, "-f", config.to_str().unwrap(), "--region=eu", "--identity=eu.txt"],
            &[],
        );
        assert_eq!(unpacked.0, 0, "{}", unpacked.2);

        let mut published = BTreeSet::new();
        for document in unpacked.1.split("\n---\n") {
            let read = node(document.as_bytes());
            let word = |path: &[&str]| read.str_at(path).unwrap().to_owned();
            let (version, kind, name) = (word(&["apiVersion"]), word(&["kind"]), word(&["metadata", "name"]));
            let refused = judge.refuses((&version, &kind), (read.str_at(&["metadata", "namespace"]), &name), document);
            let by = format!("{SYSTEM}/{}", name.trim_end_matches("-resource-template"));
            let written = objects.get(&by).map(text).unwrap_or_default();
            wrong.extend(refused.map(|why| format!("published and refused, {why}: {}", short(&written))));
            published.insert((by, kind));
        }
        for (by, object) in &objects {
            let kind = object["kind"].as_str().unwrap();
            let counts =
                counts.entry(format!("{kind}{}", if has_schemas { " by its schema" } else { "" })).or_default();
            let Some(why) = invalid.get(by) else {
                let is_published = published.contains(&(by.clone(), kind.to_owned()));
                let is_stopped = all.contains(by);
                assert!(
                    is_published != is_stopped || kind == "ConfigMap",
                    "{by} is published: {is_published}\n{}",
                    answer.stderr
                );
                *(if is_published { &mut counts.published } else { &mut counts.otherwise }) += 1;
                continue;
            };
            counts.invalid += 1;
            assert!(!published.contains(&(by.clone(), kind.to_owned())), "{by} is invalid and published");
            let metadata = &object["metadata"];
            let at = (metadata["namespace"].as_str(), metadata["name"].as_str().unwrap());
            let refused = judge.refuses((object["apiVersion"].as_str().unwrap(), kind), at, &text(object));
            if refused.is_none() && !STRICTER.iter().any(|(words, _)| why.contains(words)) {
                wrong.push(format!("taken, and pouch says {why}: {}", short(&text(object))));
            }
        }
    }
    eprintln!("{count} objects: {counts:#?}");
    assert!(wrong.is_empty(), "{} objects:\n{}", wrong.len(), wrong.join("\n"));
    for (kind, counts) in counts {
        let least = if count < COUNT { 0 } else { 3 };
        assert!(counts.published >= least && counts.invalid >= least, "{kind}: {counts:?} proves little");
    }
}

fn short(text: &str) -> String {
    text.chars().take(600).collect()
}

/// The control: where such objects are applied as they were written, the server stops at each.
#[test]
fn a_region_refuses_what_pouch_leaves_out_or_stops() {
    let Some(ground) = Ground::new() else { return };
    let mut judge = Judge(ground.server.endpoint("admin").connect().unwrap());
    let version = format!("{CAPI}/v1beta1");
    let azure = |allowed: Value, labels: Value| {
        json!({"apiVersion": version, "kind": "AzureClusterIdentity", "metadata": {"name": "a", "namespace": SYSTEM, "labels": labels},
            "spec": {"type": "WorkloadIdentity", "clientID": "c", "tenantID": "t", "allowedNamespaces": allowed}})
    };
    let long = "x".repeat(84);
    for (allowed, labels, is_taken) in [
        (json!({"list": ["a"]}), json!({"team": "a"}), true),
        (json!({"list": ["a", null]}), json!({"team": "a"}), false),
        (json!({"list": ["a"], "selector": {"matchLabels": null}}), json!({"team": "a"}), false),
        (json!({"list": ["a"], "selektor": {}}), json!({"team": "a"}), false),
        (json!({"list": ["a"]}), json!({"team!": "a"}), false),
        (json!({"list": ["a"]}), json!({"team": long}), false),
        (json!({"list": ["a"]}), json!({"": "a"}), false),
    ] {
        let object = azure(allowed, labels);
        let refused = judge.refuses((&version, "AzureClusterIdentity"), (Some(SYSTEM), "a"), &object.to_string());
        assert_eq!(refused.is_none(), is_taken, "{object}: {refused:?}");
    }
    let kept: Map<String, Value> = [("team".to_owned(), json!("a\u{1}"))].into_iter().collect();
    let object =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": SYSTEM, "labels": kept}});
    assert!(judge.refuses(("v1", "Secret"), (Some(SYSTEM), "a"), &object.to_string()).is_some());
}
