//! Where the controller and pouch part, one rule for each: the rows of docs/sync-rules.md, and what else they do in
//! different ways.

use serde_json::{Value, json};

use super::made::{rule, version};

/// The namespaces of the objects here.
pub const NAMESPACES: [&str; 2] = ["dev", "dev-other"];

/// A rule and its objects, and what becomes of them.
pub struct Deviation {
    /// The name of the rule, and of the objects.
    pub name: &'static str,
    pub rule: Value,
    pub objects: Vec<Value>,
    /// The object of which the copy tells that the controller follows the rule, where it makes no other.
    pub tell: Option<Value>,
    /// How many copies the controller makes.
    pub copied: usize,
    /// How many of the copies pouch publishes.
    pub published: usize,
    /// What pouch tells of the rule; empty where it has nothing to say.
    pub told: &'static str,
    /// Whether what both make differs.
    pub differs: bool,
}

/// An object with a label that tells whose it is.
fn object(kind: &str, name: &str, fields: &Value) -> Value {
    let meta = json!({"name": name, "namespace": "dev", "labels": {"dev": name, "rule": "dev"}});
    let mut object = json!({"apiVersion": version(kind).0, "kind": kind, "metadata": meta});
    for (field, value) in fields.as_object().unwrap() {
        object[field] = value.clone();
    }
    object
}

/// A rule for what has the label, with one thing changed.
fn of(kind: &str, name: &'static str, fields: &Value, change: impl FnOnce(&mut Value)) -> Deviation {
    let (_, asked) = version(kind);
    let entry = json!({"match": [{"labels": [{"matchLabels": {"dev": name}}]}]});
    let mut spec = json!({"groupVersionKind": asked, "rules": [entry]});
    change(&mut spec);
    let objects = vec![object(kind, name, fields)];
    Deviation {
        name,
        rule: rule(name, spec),
        objects,
        tell: None,
        copied: 1,
        published: 0,
        told: "invalid-object",
        differs: false,
    }
}

fn content(key: &str, value: Value) -> impl FnOnce(&mut Value) {
    let asked = json!([{"key": key, "value": value}]);
    move |spec| spec["rules"][0]["match"][0]["content"] = asked
}

fn mutated(mutations: Value) -> impl FnOnce(&mut Value) {
    move |spec| spec["rules"][0]["mutations"] = mutations
}

fn patched(path: &str, value: &str) -> impl FnOnce(&mut Value) {
    mutated(json!({"overrides": [{"type": "replace", "path": path, "value": value}]}))
}

/// The same with one more entry for one more object, which the controller copies whatever the rest of the rule does.
fn telling(mut deviation: Deviation) -> Deviation {
    let name = format!("{}-tell", deviation.name);
    let first = json!({"match": [{"labels": [{"matchLabels": {"dev": name}}]}]});
    deviation.rule["spec"]["rules"].as_array_mut().unwrap().insert(0, first);
    let kind = deviation.rule["spec"]["groupVersionKind"]["kind"].as_str().unwrap().to_owned();
    let tell = object(&kind, &name, &json!({"spec": {"mode": "x"}}));
    deviation.objects.push(tell.clone());
    Deviation { tell: Some(tell), ..deviation }
}

/// What stands in the controller's log once it comes to the rule with an invalid selector, which makes nothing.
pub const INVALID: &str = "source.dev-bad-selector\"";
/// The object of which two rules make different things, in turn.
pub const TORN: &str = "dev-torn";

/// Rules for everything of a kind, as they come of a field that is missing or mistyped.
const EVERYTHING: [&str; 2] = ["dev-no-match", "dev-nothing-asked"];

/// All of them.
pub fn deviations() -> Vec<Deviation> {
    let widget = |name, change: Box<dyn FnOnce(&mut Value)>| {
        let fields = json!({"spec": {"mode": "x", "text": "7", "active": true, "ratio": 1.5, "none": null, "map": {"a": 1},
                                     "list": [{"name": "x", "size": 1}, {"name": "y"}]}});
        of("Widget", name, &fields, change)
    };
    let secret = |name, change: Box<dyn FnOnce(&mut Value)>| {
        of("Secret", name, &json!({"type": "Opaque", "data": {"token": "bm90LXJlYWw="}}), change)
    };
    let silent = |deviation: Deviation| Deviation { told: "", ..deviation };
    let nowhere = |deviation: Deviation| Deviation { copied: 0, ..deviation };
    let both = |deviation: Deviation, told| Deviation { published: 1, told, ..deviation };
    let mut all = vec![
        // What pouch refuses to follow.
        nowhere(widget(
            "dev-bad-selector",
            Box::new(|spec| {
                spec["rules"][0]["match"][0]["labels"] =
                    json!([{"matchExpressions": [{"key": "dev", "operator": "Is", "values": ["a"]}]}]);
            }),
        )),
        widget("dev-gjson", Box::new(content(r#"spec.list.#(name=="x").size"#, json!(1)))),
        secret("dev-of-data", Box::new(content("data.token", json!("bm90LXJlYWw=")))),
        secret("dev-to-data", Box::new(patched("/data/token", "bm90LXJlYWwtZWl0aGVy"))),
        secret("dev-to-type", Box::new(patched("/type", "example.com/other"))),
        widget("dev-steers", Box::new(mutated(json!({"labels": {"add": {"kustomize.toolkit.fluxcd.io/name": "x"}}})))),
        telling(nowhere(widget(
            "dev-disables",
            Box::new(mutated(
                json!({"annotations": {"add": {"cluster-registry.k8s.cisco.com/resource-sync-disabled": "true"}}}),
            )),
        ))),
        widget("dev-sprig", Box::new(patched("/spec/mode", "{{ .Object.GetName | upper }}"))),
        widget("dev-no-value", Box::new(patched("/spec/mode", "{{ .Object.Object.spec.absent }}"))),
        widget("dev-modifier", Box::new(patched("/spec/list/0:after", "y"))),
        widget("dev-from-behind", Box::new(patched("/spec/list/-1", "y"))),
        widget("dev-of-cluster", Box::new(patched("/spec/mode", "{{ .Cluster.Spec.ClusterID }}"))),
        // Where what it makes may not be.
        Deviation {
            told: "forbidden-place",
            ..widget("dev-to-system", Box::new(patched("/metadata/namespace", "kube-system")))
        },
        Deviation {
            told: "not-admitted",
            ..widget("dev-no-grant", Box::new(patched("/metadata/namespace", "dev-other")))
        },
        both(widget("dev-granted", Box::new(patched("/metadata/namespace", "dev-other"))), ""),
        widget("dev-other-kind", Box::new(mutated(json!({"groupVersionKind": {"kind": "Trinket"}})))),
        // What pouch takes for something else.
        silent(widget("dev-zero", Box::new(content("spec.mode", json!(0))))),
        silent(widget("dev-one", Box::new(content("spec.active", json!(1))))),
        silent(widget("dev-seven", Box::new(content("spec.text", json!(7))))),
        silent(widget("dev-cut-off", Box::new(content("spec.ratio", json!(1))))),
        silent(widget("dev-null", Box::new(content("spec.none", json!(""))))),
        silent(widget("dev-map", Box::new(content("spec.map", json!(r#"{"a":1}"#))))),
        // What is ignored.
        both(widget("dev-status", Box::new(mutated(json!({"syncStatus": true})))), ""),
        both(
            widget("dev-stray", Box::new(|spec| spec["rules"][0]["match"][0]["syncStatus"] = json!(true))),
            "unknown-field",
        ),
        both(
            widget("dev-unknown", Box::new(mutated(json!({"labels": {"add": {"env": "x"}}, "elsewhere": true})))),
            "unknown-field",
        ),
        // What only pouch makes: of what the controller knows by its type, templates see other fields there.
        telling(nowhere(both(widget("dev-typed", Box::new(patched("/spec/mode", "{{ .Object.Name }}"))), ""))),
    ];
    // What both make, each in its way.
    let parsed = json!({"overrides": [{"type": "replace", "path": "/spec/mode", "value": "|\n  two\n  lines", "parseValue": true}]});
    for (name, mutations) in [
        ("dev-last-line", parsed),
        (
            "dev-count",
            json!({"overrides": [{"type": "replace", "path": "/spec/mode", "value": "{{ len .Object.GetLabels }}"}]}),
        ),
    ] {
        all.push(Deviation { differs: true, ..both(widget(name, Box::new(mutated(mutations))), "") });
    }
    let immutable = json!({"immutable": true, "data": {"token": "bm90LXJlYWw="}});
    all.push(Deviation { differs: true, ..both(of("Secret", "dev-immutable", &immutable, |_| {}), "") });
    // Two rules for one object: that make the same of it, and something else.
    let too = |name, of: &str, deviation: Deviation| {
        let mut rule = deviation.rule.clone();
        rule["metadata"]["name"] = json!(name);
        rule["spec"]["rules"][0]["match"][0]["labels"] = json!([{"matchLabels": {"dev": of}}]);
        telling(Deviation { name, rule, objects: Vec::new(), copied: 0, published: 0, ..deviation })
    };
    let env = |value: &str| Box::new(mutated(json!({"labels": {"add": {"env": value}}})));
    all.push(both(widget("dev-twice", env("a")), ""));
    all.push(too("dev-twice-too", "dev-twice", silent(widget("dev-twice-too", env("a")))));
    let torn = |deviation: Deviation| Deviation { told: "conflicting-content", ..deviation };
    all.push(torn(widget(TORN, env("a"))));
    all.push(too("dev-torn-too", TORN, torn(widget("dev-torn-too", env("b")))));
    // Objects that never leave, or that are copies themselves.
    let kubeconfig = json!({"type": "k8s.cisco.com/cluster-registry-secret", "data": {"kubeconfig": "bm90LXJlYWw="}});
    all.push(Deviation { told: "forbidden-type", ..of("Secret", "dev-kubeconfig", &kubeconfig, |_| {}) });
    let mut copy = silent(widget("dev-of-others", Box::new(|_| {})));
    copy.objects[0]["metadata"]["annotations"] = json!({super::OWNER: "00000000-1111-4222-8333-444444444444"});
    all.push(copy);
    let mut disabled = nowhere(silent(widget("dev-disabled", Box::new(|_| {}))));
    disabled.objects[0]["metadata"]["annotations"] =
        json!({"cluster-registry.k8s.cisco.com/resource-sync-disabled": "no"});
    all.push(telling(disabled));
    // The API converts, and pouch does not.
    all.push(Deviation {
        told: "unread",
        ..widget(
            "dev-version",
            Box::new(|spec| {
                spec["groupVersionKind"]["version"] = json!("v1beta1");
            }),
        )
    });
    // Fields beside `spec`.
    let mut beside = both(widget("dev-beside", Box::new(|_| {})), "");
    beside.objects[0]["extra"] = json!({"a": "b"});
    all.push(beside);
    // A kind that is not published, and one of the registry itself.
    let mut of_account = Deviation {
        told: "forbidden-kind",
        ..of("ConfigMap", "dev-account", &json!({}), |spec| {
            spec["groupVersionKind"] = json!({"version": "v1", "kind": "ServiceAccount"});
        })
    };
    of_account.objects[0]["kind"] = json!("ServiceAccount");
    all.push(of_account);
    let feature = super::made::features().swap_remove(2);
    let mut plumbing = Deviation {
        told: "plumbing-rule",
        ..of("ConfigMap", "dev-plumbing", &json!({}), |spec| {
            spec["groupVersionKind"] =
                json!({"group": "clusterregistry.k8s.cisco.com", "version": "v1alpha1", "kind": "ClusterFeature"});
        })
    };
    plumbing.objects = vec![feature];
    plumbing.objects[0]["metadata"] = json!({"name": "dev-plumbing", "labels": {"dev": "dev-plumbing"}});
    all.push(plumbing);
    // What asks for nothing takes everything: a kind that no other rule has.
    for (name, entry) in EVERYTHING.into_iter().zip([json!({}), json!({"match": [{"name": "x", "namespace": "y"}]})]) {
        let everything = of("Gear", name, &json!({"spec": {}}), |spec| spec["rules"] = json!([entry]));
        all.push(everything);
    }
    all
}
