//! What rules say, match and make, by example.

extern crate std;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::content::Content;
use super::mutation::{Between, apply};
use super::pointer::Pointer;
use super::seen::Seen;
use super::spec::{Read, read};
use crate::name::GroupKind;
use crate::node::Node;
use crate::object::{Keep, Object, admit};
use crate::selector::Truth;
use crate::testing::{json_of, node, shared, yaml};
use crate::yaml::emit::Tree;

struct Matched;

impl Keep for Matched {
    fn label(&self, _: &str) -> bool {
        false
    }
    fn annotation(&self, _: &str) -> bool {
        false
    }
    fn is_matched(&self, _: &GroupKind) -> bool {
        true
    }
}

#[track_caller]
fn object(text: &str) -> Object {
    let origin = crate::finding::Origin { source: "test".into(), place: crate::finding::Place::Whole };
    let admitted = admit(node(&yaml(text)), origin, &crate::kinds::Scopes::new(), None, &Matched);
    admitted.unwrap_or_else(|unusable| panic!("{:?}", unusable.why))
}

/// A rule for Secrets with these `rules`.
#[track_caller]
fn rule(kind: &str, rules: &str) -> Read {
    let text = format!("spec: {{groupVersionKind: {kind}, rules: {rules}}}");
    read(&node(&yaml(&text)), "rule", |kind| kind.kind == "Thing")
}

const SECRET: &str = "{version: v1, kind: Secret}";

fn told(read: &Read) -> String {
    let faults =
        read.rule.as_ref().err().into_iter().flatten().map(|fault| format!("{}: {}", fault.code.text(), fault.message));
    let notes = read.notes.iter().map(|note| format!("{}: {}", note.code.text(), note.message));
    faults.chain(notes).collect::<Vec<_>>().join("; ")
}

#[test]
fn an_entry_that_asks_for_nothing_breaks_the_rule() {
    const NOTHING: &str = "invalid-object: spec.rules[0].match[0] asks for nothing, so that it would take every Secret";
    for (rules, expect) in [
        ("[{match: [{objectKey: {name: a}}]}]", ""),
        ("[{match: [{objectKey: {namespace: a}}]}]", ""),
        ("[{match: [{namespaces: [a]}]}]", ""),
        ("[{match: [{labels: [{matchExpressions: [{key: a, operator: DoesNotExist}]}]}]}]", ""),
        ("[{match: [{annotations: [{matchAnnotations: {a: b}}]}]}]", ""),
        ("[{match: [{content: [{key: type, value: Opaque}]}]}]", ""),
        ("[{match: [{}]}]", NOTHING),
        ("[{match: [{objectKey: {}}]}]", NOTHING),
        ("[{match: [{objectKey: {name: ''}}]}]", NOTHING),
        ("[{match: [{namespaces: []}]}]", NOTHING),
        ("[{match: [{labels: []}]}]", NOTHING),
        ("[{match: [{labels: [{}]}]}]", NOTHING),
        ("[{match: [{labels: [{matchLabels: {a: b}}, {matchLabels: {}}]}]}]", NOTHING),
        ("[{match: [{annotations: [{}]}]}]", NOTHING),
        ("[{match: []}]", "invalid-object: spec.rules[0] has no match, so that it would take every Secret"),
        ("[{}]", "invalid-object: spec.rules[0] has no match, so that it would take every Secret"),
        ("[]", "invalid-object: spec.rules is empty, so the rule takes nothing"),
        (
            "[{match: [{syncStatus: true}]}]",
            "invalid-object: spec.rules[0].match[0] asks for nothing, so that it would take every Secret; unknown-field: \
             spec.rules[0].match[0] has no field \"syncStatus\", so it is ignored",
        ),
        (
            "[{match: [{syncStatus: true, namespaces: [a]}]}]",
            "unknown-field: spec.rules[0].match[0] has no field \"syncStatus\", so it is ignored",
        ),
        (
            "[{match: [{namespaces: [a], lables: [{matchLabels: {a: b}}]}]}]",
            "mistyped: spec.rules[0].match[0] has no field \"lables\"",
        ),
        (
            "[{match: [{namespaces: a}]}]",
            "invalid-object: spec.rules[0].match[0].namespaces is text, not a list; \
          invalid-object: spec.rules[0].match[0] asks for nothing, so that it would take every Secret",
        ),
        (
            "[{match: [{labels: [{matchExpressions: [{key: a, operator: Equals, values: [b]}]}], namespaces: [a]}]}]",
            "invalid-object: spec.rules[0].match[0].labels[0]: the operator is none of In, NotIn, Exists and DoesNotExist",
        ),
        (
            "[{match: [{namespaces: [a]}], labels: [{matchLabels: {a: b}}]}]",
            "invalid-object: spec.rules[0] has no field \"labels\"",
        ),
        (
            "[{match: [{namespaces: [a], objectKey: {name: ''}}]}]",
            "invalid-object: spec.rules[0].match[0].objectKey.name says nothing",
        ),
        ("[{match: [{namespaces: [a], labels: []}]}]", "invalid-object: spec.rules[0].match[0].labels says nothing"),
        // What stands one level off is no condition there, and the rule would take more.
        (
            "[{match: [{namespaces: [a], matchLabels: {a: b}}]}]",
            "invalid-object: spec.rules[0].match[0] has no field \"matchLabels\"",
        ),
        (
            "[{match: [{namespaces: [a], annotations: [{matchLabels: {a: b}}]}]}]",
            "invalid-object: spec.rules[0].match[0].annotations[0] has no field \"matchLabels\"; invalid-object: \
             spec.rules[0].match[0].annotations[0] asks for nothing, so that all annotations would do",
        ),
        (
            "[{match: [{namespaces: [a], labels: [{matchLabels: {a: b}}, {}]}]}]",
            "invalid-object: spec.rules[0].match[0].labels[1] asks for nothing, so that all labels would do",
        ),
        (
            "[{match: [{objectKey: {namespace: a}, labels: [{matchLabels: {a: b}}], label: [{matchLabels: {c: d}}]}]}]",
            "mistyped: spec.rules[0].match[0] has no field \"label\"",
        ),
        (
            "[{match: [{objectKey: {namespace: a, kind: Secret}}]}]",
            "invalid-object: spec.rules[0].match[0].objectKey has no field \"kind\"",
        ),
        (
            "[{match: [{content: [{key: type, value: Opaque, operator: In}]}]}]",
            "invalid-object: spec.rules[0].match[0].content[0] has no field \"operator\"",
        ),
        (
            "[{match: [{labels: [{matchLabel: {a: b}}], namespaces: [a]}]}]",
            "invalid-object: spec.rules[0].match[0].labels[0]: a selector has a field that selectors do not have",
        ),
    ] {
        assert_eq!(told(&rule(SECRET, rules)), expect, "{rules}");
    }
    // Of what has no namespaces, those that are named choose nothing.
    let bare = rule("{version: v1, kind: Thing}", "[{match: [{namespaces: [a]}]}]");
    assert!(told(&bare).contains("asks for nothing"), "{}", told(&bare));
}

#[test]
fn a_condition_on_features_that_nobody_knows_breaks_the_rule() {
    for (feature, expect) in [
        ("{featureName: a, matchLabels: {b: c}}", ""),
        ("{featureName: a, labels: {b: c}}", "invalid-object: spec.clusterFeatureMatch[0] has no field \"labels\""),
        ("{featureName: a, matchLabel: {b: c}}", "mistyped: spec.clusterFeatureMatch[0] has no field \"matchLabel\""),
    ] {
        let text = format!(
            "spec: {{groupVersionKind: {SECRET}, clusterFeatureMatch: [{feature}], rules: [{{match: [{{namespaces: [a]}}]}}]}}"
        );
        assert_eq!(told(&read(&node(&yaml(&text)), "rule", |_| false)), expect, "{feature}");
    }
}

#[test]
fn metadata_that_is_mistyped_is_not_absent() {
    use Truth::{No, Unknown, Yes};
    for (metadata, by_label, by_absence, by_annotation) in [
        ("name: x, namespace: ns", No, Yes, No),
        ("name: x, namespace: ns, labels: {a: b}", Yes, No, No),
        ("name: x, namespace: ns, lables: {a: b}", Unknown, Unknown, No),
        ("name: x, namespace: ns, labels: {}, label: {a: b}", Unknown, Unknown, No),
        ("name: x, namespace: ns, anotations: {a: b}", No, Yes, Unknown),
        ("name: x, namespace: ns}\nlabels: {a: b", Unknown, Unknown, No),
        ("name: x, namespace: ns, uid: u, selfLink: s, ownerReferences: []", No, Yes, No),
    ] {
        let secret = object(&format!("apiVersion: v1\nkind: Secret\nmetadata: {{{metadata}}}\n"));
        for (entry, expect) in [
            ("labels: [{matchLabels: {a: b}}]", by_label),
            ("labels: [{matchExpressions: [{key: a, operator: DoesNotExist}]}]", by_absence),
            ("annotations: [{matchAnnotations: {a: b}}]", by_annotation),
        ] {
            let rule = rule(SECRET, &format!("[{{match: [{{{entry}}}]}}]")).rule.unwrap();
            assert_eq!(rule.steps_for(&Seen::of(&secret)).0, expect, "{metadata}: {entry}");
        }
        assert_eq!(Seen::of(&secret).unclear.is_some(), [by_label, by_annotation].contains(&Unknown), "{metadata}");
    }
    let slip = |metadata: &str| {
        let secret = object(&format!("apiVersion: v1\nkind: Secret\nmetadata: {{{metadata}}}\n"));
        assert!(secret.faults.is_empty(), "who uses the Secret by its name needs no labels");
        Seen::of(&secret).unclear.map(|fault| fault.message.clone())
    };
    let expect = "there is no field \"namespce\" in metadata, and rules match by metadata.namespace";
    assert_eq!(slip("name: x, namespace: ns, namespce: other").as_deref(), Some(expect));
}

#[test]
fn a_published_example_whose_indentation_is_wrong_is_refused_by_name() {
    let Some(path) = shared("data/seeds/cluster-registry/seed-rule-misindented.yaml") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let told = told(&read(&node(&yaml(&text)), "test-secret-sink", |_| false));
    for part in ["has no field \"name\"", "has no field \"namespace\"", "asks for nothing"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn rules_that_others_published_are_read() {
    let Some(folder) = shared("data/seeds/cluster-registry") else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") || path.ends_with("seed-rule-misindented.yaml")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for document in crate::yaml::read::documents(&text) {
            let node = crate::yaml::read::read(&document, &mut crate::node::Interner::new()).unwrap();
            if node.str_at(&["kind"]) != Some("ResourceSyncRule") {
                continue;
            }
            let name = node.str_at(&["metadata", "name"]).unwrap();
            let read = read(&node, name, |_| false);
            seen += 1;
            let told = told(&read);
            // One of them has `syncStatus` where the API has no such field.
            assert!(told.is_empty() || (read.rule.is_ok() && told.contains("syncStatus")), "{name}: {told}");
        }
    }
    assert_eq!(seen, 17);
}

#[test]
fn an_object_is_matched_as_the_registry_matches_it() {
    use Truth::{No, Unknown, Yes};
    let secret = object(
        "apiVersion: v1\nkind: Secret\ntype: a/b\nmetadata: {name: x, namespace: ns, labels: {a: b, num: 1}, annotations: \
         {c.d/e: f, kubectl.kubernetes.io/last-applied-configuration: g}}\ndata: {k: dmFsdWU=}\n",
    );
    let thing = object(
        "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: x, labels: {}}\nspec: {a: {b: [1, '2', true, 2.5]}, 'c.d': e, \
         no: null, sealed: 'ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]'}\n",
    );
    for (entry, expect) in [
        ("{objectKey: {name: x}}", Yes),
        ("{objectKey: {name: why}}", No),
        ("{objectKey: {name: x, namespace: ns}}", Yes),
        ("{objectKey: {name: x, namespace: m}}", No),
        ("{namespaces: [m, ns]}", Yes),
        ("{namespaces: [m]}", No),
        ("{namespaces: [ns], objectKey: {name: why}}", No),
        ("{labels: [{matchLabels: {a: c}}, {matchLabels: {a: b}}]}", Yes),
        ("{labels: [{matchLabels: {a: b}}], annotations: [{matchAnnotations: {c.d/e: g}}]}", No),
        ("{annotations: [{matchAnnotations: {c.d/e: f}}]}", Yes),
        ("{annotations: [{matchExpressions: [{key: c.d/e, operator: Exists}]}]}", Yes),
        // The API has text alone there; what a file says instead is not known.
        ("{labels: [{matchLabels: {num: '1'}}]}", Unknown),
        ("{labels: [{matchLabels: {num: '1'}}], namespaces: [m]}", No),
        ("{content: [{key: type, value: a/b}]}", Yes),
        ("{content: [{key: type, value: 0}]}", No),
        ("{content: [{key: metadata.name, value: x}, {key: metadata.labels.a, value: b}]}", Yes),
        (r"{content: [{key: 'metadata.annotations.c\.d/e', value: f}]}", Yes),
        ("{content: [{key: kind, value: Secret}, {key: apiVersion, value: v1}]}", Yes),
    ] {
        let read = rule(SECRET, &format!("[{{match: [{entry}]}}]"));
        let rule = read.rule.unwrap_or_else(|faults| panic!("{entry}: {faults:?}"));
        assert_eq!(rule.steps_for(&Seen::of(&secret)).0, expect, "{entry}");
    }
    for (content, expect) in [
        ("{key: spec.a.b.0, value: 1}", Yes),
        ("{key: spec.a.b.0, value: '1'}", Yes),
        // The registry's controller reads a text as the number 0.
        ("{key: spec.a.b.1, value: 2}", No),
        ("{key: spec.a.b.1, value: '2'}", Yes),
        ("{key: spec.a.b.2, value: 'true'}", Yes),
        ("{key: spec.a.b.2, value: 1}", No),
        ("{key: spec.a.b.3, value: '2.5'}", Yes),
        ("{key: spec.a.b.3, value: 2}", No),
        ("{key: spec.a.b.4, value: ''}", No),
        (r"{key: 'spec.c\.d', value: e}", Yes),
        ("{key: spec.c.d, value: e}", No),
        ("{key: spec.no, value: ''}", No),
        ("{key: spec.a, value: ''}", No),
        ("{key: spec.sealed, value: e}", Unknown),
    ] {
        let read = rule("{group: x.io, version: v1, kind: Thing}", &format!("[{{match: [{{content: [{content}]}}]}}]"));
        let rule = read.rule.unwrap_or_else(|faults| panic!("{content}: {faults:?}"));
        assert_eq!(rule.steps_for(&Seen::of(&thing)).0, expect, "{content}");
    }
}

#[test]
fn nothing_below_the_values_of_a_secret_can_be_asked_for() {
    let secret = GroupKind::new("", "Secret");
    for (key, kind, why) in [
        ("data.k", &secret, "answer guesses"),
        (r"\data.k", &secret, "answer guesses"),
        ("stringData.k", &secret, "answer guesses"),
        ("data", &secret, "answer guesses"),
        (r"metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration", &secret, "holds a copy"),
        ("spec.a", &secret, "does not read"),
        ("status.phase", &GroupKind::new("x.io", "Thing"), "does not read"),
        ("metadata.managedFields.0", &secret, "does not read"),
        ("metadata", &secret, "does not read"),
        ("da*", &secret, "a query"),
        ("spec.a.#", &GroupKind::new("x.io", "Thing"), "a query"),
        ("spec.a.#(b==1).c", &GroupKind::new("x.io", "Thing"), "a query"),
        ("@this", &secret, "a query"),
        ("@valid|data.k", &secret, "a query"),
        ("{data.k}", &secret, "a query"),
        ("type|@reverse", &secret, "a query"),
        ("spec..a", &GroupKind::new("x.io", "Thing"), "empty part"),
        (".spec", &GroupKind::new("x.io", "Thing"), "empty part"),
        ("spec.", &GroupKind::new("x.io", "Thing"), "empty part"),
    ] {
        let said = Content::read(key, &Node::text("v"), kind).map(|_| ()).unwrap_err().0;
        assert!(said.contains(why), "{key}: {said}");
    }
}

#[test]
fn paths_change_what_go_patch_changes() {
    let thing = GroupKind::new("x.io", "Thing");
    let document = "{spec: {a: 1, l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}";
    for (path, expect) in [
        ("/spec/a", "{spec: {a: V, l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}"),
        ("/spec/b", "there is no \"b\""),
        ("/spec/b?", "{spec: {a: 1, b: V, l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}"),
        (
            "/spec/b?/c/d",
            "{spec: {a: 1, b: {c: {d: V}}, l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}",
        ),
        (
            "/spec/b?/-",
            "{spec: {a: 1, b: [V], l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}",
        ),
        ("/spec/b?/0", "there is no list \"b\""),
        ("/spec/n?/name=z/c", "what has to be a list is a map"),
        ("/spec/l/0", "{spec: {a: 1, l: [V, {name: y}], n: {}}, metadata: {name: n, labels: {}}}"),
        ("/spec/l/2", "the list has no item 2"),
        ("/spec/l/-", "{spec: {a: 1, l: [{name: x, v: 1}, {name: y}, V], n: {}}, metadata: {name: n, labels: {}}}"),
        ("/spec/l/name=x/v", "{spec: {a: 1, l: [{name: x, v: V}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}"),
        ("/spec/l/name=z/v", "the list has no item whose \"name\" is \"z\""),
        (
            "/spec/l/name=z?/v",
            "{spec: {a: 1, l: [{name: x, v: 1}, {name: y}, {name: z, v: V}], n: {}}, metadata: {name: n, labels: {}}}",
        ),
        (
            "/spec/l/name=z?",
            "{spec: {a: 1, l: [{name: x, v: 1}, {name: y}, V], n: {}}, metadata: {name: n, labels: {}}}",
        ),
        ("/spec/a/b", "what has to hold \"b\" is an integer, not a map"),
        (
            "/spec/~0~1~7?",
            "{spec: {a: 1, '~/:': V, l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}",
        ),
        ("/metadata/name", "{spec: {a: 1, l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: V, labels: {}}}"),
        (
            "/metadata/labels/a?",
            "{spec: {a: 1, l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {a: V}}}",
        ),
    ] {
        let pointer = Pointer::read(path, &thing).unwrap_or_else(|why| panic!("{path}: {why:?}"));
        match pointer.replace(&node(&yaml(document)), &Node::text("V")) {
            Ok(new) => assert_eq!(json_of(&Tree::of(&new)), yaml(expect), "{path}"),
            Err(why) => assert_eq!(why, expect, "{path}"),
        }
    }
    for (path, expect) in [
        ("/spec/a", "{spec: {l: [{name: x, v: 1}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}"),
        ("/spec/b", "there is no \"b\""),
        ("/spec/b?", document),
        ("/spec/b?/c", document),
        ("/spec/l/0", "{spec: {a: 1, l: [{name: y}], n: {}}, metadata: {name: n, labels: {}}}"),
        ("/spec/l/name=x/v", "{spec: {a: 1, l: [{name: x}, {name: y}], n: {}}, metadata: {name: n, labels: {}}}"),
        ("/spec/l/name=z?", document),
    ] {
        let pointer = Pointer::read(path, &thing).unwrap();
        match pointer.remove(&node(&yaml(document))) {
            Ok(new) => assert_eq!(json_of(&Tree::of(&new)), yaml(expect), "{path}"),
            Err(why) => assert_eq!(why, expect, "{path}"),
        }
    }
}

#[test]
fn paths_lead_nowhere_that_is_not_published_or_stands_in_clear() {
    let (secret, thing) = (GroupKind::new("", "Secret"), GroupKind::new("x.io", "Thing"));
    for (path, kind) in [
        ("/data/k", &secret),
        ("/data?/k", &secret),
        ("/stringData/k?", &secret),
        ("/type", &secret),
        ("/spec/a", &secret),
        ("/metadata/finalizers/-", &secret),
        ("/metadata/labels", &thing),
        ("/metadata", &thing),
        ("/apiVersion", &thing),
        ("/kind", &thing),
        ("/status/a", &thing),
        ("/data/a", &thing),
        ("", &thing),
        ("/", &thing),
        ("spec/a", &thing),
        ("/spec/l/-1", &thing),
        ("/spec/l/01", &thing),
        ("/spec/l/0:after", &thing),
        ("/0", &thing),
    ] {
        assert!(Pointer::read(path, kind).is_err(), "{path}");
    }
    assert!(Pointer::read("/data/k", &GroupKind::new("", "ConfigMap")).is_ok());
    for path in ["/metadata/name", "/metadata/namespace", "/spec/l/-"] {
        assert!(Pointer::read(path, &thing).unwrap().removes().is_err(), "{path}");
    }
}

#[track_caller]
fn made(object: &Object, read: Read) -> String {
    let rule = read.rule.unwrap_or_else(|faults| panic!("{faults:?}"));
    let (truth, steps) = rule.steps_for(&Seen::of(object));
    assert_eq!(truth, Truth::Yes);
    match apply(object, &rule, &steps, true, Between { cluster: "platform", local: "eu" }) {
        Ok(None) => String::from("nothing"),
        Err(fault) => fault.message,
        Ok(Some(made)) => {
            let changes = |changes: &super::mutation::Changes| {
                let text = |(key, text): (&crate::node::Key, &Option<_>)| match text {
                    Some(text) => format!("{key}={text}"),
                    None => format!("-{key}"),
                };
                changes
                    .iter()
                    .filter(|(key, _)| ***key != *super::mutation::SYNC_DISABLED)
                    .map(text)
                    .collect::<Vec<_>>()
                    .join(",")
            };
            let body = made.made.body.as_ref().map(|body| json_of(&Tree::of(body)).to_string()).unwrap_or_default();
            let (labels, annotations) = (changes(&made.made.labels), changes(&made.made.annotations));
            format!("{} {} [{labels}] [{annotations}] {body}", made.lands, made.made.version)
        }
    }
}

#[test]
fn steps_are_taken_together_and_in_order() {
    let thing = "apiVersion: x.io/v1\nkind: Gadget\nmetadata: {name: x, namespace: ns, labels: {a: b, c: d}, annotations: {s: t}}\nspec: {v: 1, l: []}\n";
    let kind = "{group: x.io, version: v1, kind: Gadget}";
    for (steps, expect) in [
        ("[{}]", "Gadget.x.io ns/x v1 [] [] "),
        // The last that adds wins; what one step takes away, another cannot add.
        ("[{labels: {add: {a: '1', e: f}}}, {labels: {add: {a: '2'}, remove: [e]}}]", "Gadget.x.io ns/x v1 [a=2] [] "),
        ("[{labels: {remove: [e, c]}}, {labels: {add: {e: f}}}]", "Gadget.x.io ns/x v1 [-c] [] "),
        // A rule's own label goes on the copy, also if the object has the same.
        ("[{labels: {add: {a: b}}, annotations: {remove: [s], add: {u: v}}}]", "Gadget.x.io ns/x v1 [a=b] [-s,u=v] "),
        ("[{groupVersionKind: {version: v2}}, {groupVersionKind: {kind: Other}}]", "Other.x.io ns/x v2 [] [] "),
        ("[{groupVersionKind: {group: y.io}}]", "Gadget.y.io ns/x v1 [] [] "),
        ("[{groupVersionKind: {group: '', kind: ''}}]", "Gadget.x.io ns/x v1 [] [] "),
        (
            "[{overrides: [{type: replace, path: /spec/v, value: '2'}]}, {overrides: [{type: replace, path: /spec/v, value: '3', parseValue: true}]}]",
            r#"Gadget.x.io ns/x v1 [] [] {"spec":{"l":[],"v":3}}"#,
        ),
        (
            "[{overrides: [{type: replace, path: /spec/l/-, value: '{k: [1]}', parseValue: true}, {type: remove, path: /spec/v}]}]",
            r#"Gadget.x.io ns/x v1 [] [] {"spec":{"l":[{"k":[1]}]}}"#,
        ),
        ("[{overrides: [{type: replace, path: /metadata/name, value: why}]}]", "Gadget.x.io ns/why v1 [] [] "),
        ("[{overrides: [{type: replace, path: /metadata/namespace, value: m}]}]", "Gadget.x.io m/x v1 [] [] "),
        (
            "[{labels: {add: {g: h}}, overrides: [{type: replace, path: /metadata/name, value: '{{ printf \"%s-%s\" .Object.GetName .LocalCluster.GetName }}'}, {type: replace, path: '/spec/v', value: '{{ .Object.Labels.a }}{{ .Object.Object.spec.v }}{{ index .Object.GetLabels \"g\" | printf \"%s\" }}{{ .Cluster.Name }}'}]}]",
            r#"Gadget.x.io ns/x-eu v1 [g=h] [] {"spec":{"l":[],"v":"b1hplatform"}}"#,
        ),
        (
            "[{overrides: [{type: replace, path: /metadata/name, value: '{{ .Object.Labels.none }}'}]}]",
            "spec.rules[0].mutations.overrides[0].value: line 1: there is no `none`; Go would go on with no value",
        ),
        (
            "[{overrides: [{type: replace, path: /metadata/name, value: ''}]}]",
            "metadata.name of the copy would be no name",
        ),
        ("[{overrides: [{type: replace, path: '/metadata/labels/g?', value: h}]}]", "Gadget.x.io ns/x v1 [g=h] [] "),
        (
            "[{overrides: [{type: replace, path: /metadata/labels/g, value: h}]}]",
            "spec.rules[0].mutations.overrides[0]: there is no \"g\"",
        ),
        ("[{overrides: [{type: remove, path: /metadata/labels/a}]}]", "Gadget.x.io ns/x v1 [-a] [] "),
        // What steers a consumer is not a rule's to say, however it is said.
        (
            "[{labels: {add: {app.kubernetes.io/managed-by: x}}}]",
            "the label \"app.kubernetes.io/managed-by\" would steer what reads the bundle",
        ),
        (
            "[{annotations: {add: {kustomize.toolkit.fluxcd.io/prune: disabled}}}]",
            "the annotation \"kustomize.toolkit.fluxcd.io/prune\" would steer what reads the bundle",
        ),
        (
            "[{overrides: [{type: replace, path: '/metadata/annotations/argocd.argoproj.io~1sync-options?', value: x}]}]",
            "the annotation \"argocd.argoproj.io/sync-options\" would steer what reads the bundle",
        ),
        (
            "[{labels: {add: {cluster-registry.k8s.cisco.com/original-name: x}}}]",
            "the label \"cluster-registry.k8s.cisco.com/original-name\" would steer what reads the bundle",
        ),
        ("[{labels: {add: {a: 'b c'}}}]", "the label \"a\" is none that the API server takes"),
        (
            "[{annotations: {add: {pouch/silence: unread}}}]",
            "the annotation \"pouch/silence\" would steer what reads the bundle",
        ),
        // That would end the rule without a word.
        (
            "[{annotations: {add: {cluster-registry.k8s.cisco.com/resource-sync-disabled: 'true'}}}]",
            "the rule itself adds the annotation cluster-registry.k8s.cisco.com/resource-sync-disabled, and what has that is not copied",
        ),
        (
            "[{overrides: [{type: replace, path: '/metadata/annotations/cluster-registry.k8s.cisco.com~1resource-sync-disabled?', value: x}]}]",
            "the rule itself adds the annotation cluster-registry.k8s.cisco.com/resource-sync-disabled, and what has that is not copied",
        ),
    ] {
        let list = yaml(steps);
        let rules: Vec<serde_json::Value> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|mutations| serde_json::json!({"match": [{"objectKey": {"name": "x"}}], "mutations": mutations}))
            .collect();
        let read = rule(kind, &serde_json::Value::from(rules).to_string());
        assert_eq!(made(&object(thing), read), expect, "{steps}");
    }
}

#[test]
fn secrets_stay_secrets() {
    let secret = object("apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: ns}\ndata: {k: dmFsdWU=}\n");
    let to = "[{match: [{objectKey: {name: x}}], mutations: {groupVersionKind: {kind: ConfigMap}}}]";
    assert!(made(&secret, rule(SECRET, to)).contains("only Secrets are sealed"));
    let to = "[{match: [{objectKey: {name: x}}], mutations: {groupVersionKind: {version: v2}}}]";
    assert!(made(&secret, rule(SECRET, to)).contains("puts a Secret into version"));
    let map = object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: ns}\ndata: {k: v}\n");
    let to = "[{match: [{objectKey: {name: x}}], mutations: {groupVersionKind: {kind: Secret}}}]";
    assert!(made(&map, rule("{version: v1, kind: ConfigMap}", to)).contains("only Secrets are sealed"));
    for overrides in [
        "{type: replace, path: /data/k, value: x}",
        "{type: replace, path: '/stringData?/k', value: x}",
        "{type: remove, path: /data/k}",
    ] {
        let read = rule(
            SECRET,
            &format!("[{{match: [{{objectKey: {{name: x}}}}], mutations: {{overrides: [{overrides}]}}}}]"),
        );
        assert!(told(&read).contains("leads into the values of a Secret"), "{}", told(&read));
    }
}

#[test]
fn no_template_reaches_the_values_of_a_secret() {
    let secret = object("apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: ns}\ndata: {k: dmFsdWU=}\n");
    for value in
        [".Object.data", ".Object.Data", ".Object.data.k", ".Object.Object.data", "index .Object.Object \"data\""]
    {
        let text = format!("'{{{{ {value} }}}}'");
        let rules = format!(
            "[{{match: [{{objectKey: {{name: x}}}}], mutations: {{overrides: [{{type: replace, path: '/metadata/labels/a?', value: {text}}}]}}}}]"
        );
        let said = made(&secret, rule(SECRET, &rules));
        assert!(said.starts_with("spec.rules[0].mutations.overrides[0].value: line 1:"), "{value}: {said}");
    }
    let whole = "[{match: [{objectKey: {name: x}}], mutations: {overrides: [{type: replace, path: '/metadata/labels/a?', value: '{{ .Object.Object }}'}]}}]";
    assert!(!made(&secret, rule(SECRET, whole)).contains("dmFsdWU"));
}

#[test]
fn mutations_are_read_strictly() {
    for (mutations, expect) in [
        ("{labels: {add: {a: 1}}}", "spec.rules[0].mutations.labels.add, key \"a\" is an integer, not text"),
        ("{labels: {ad: {a: b}}}", "has no field \"ad\""),
        ("{label: {add: {a: b}}}", "has no field \"label\""),
        ("{overrides: [{type: add, path: /spec/a, value: b}]}", "type is neither replace nor remove"),
        ("{overrides: [{type: replace, path: /spec/a, value: 1}]}", "value is an integer, not text"),
        ("{overrides: [{type: replace, path: /spec/a, value: '{', parseValue: true}]}", "value: it is no YAML"),
        ("{overrides: [{type: replace, path: /spec/a, value: b, parseValue: yes-please}]}", "parseValue is text"),
        ("{overrides: [{type: replace, value: b}]}", "path is missing"),
        ("{overrides: [{type: replace, path: /spec/a, value: '{{ env \"HOME\" }}'}]}", "value: line 1:"),
        (
            "{overrides: [{type: replace, path: /spec/a, value: '{{ .Object.Name | base64Encode }}'}]}",
            "have no function \"base64Encode\"",
        ),
        ("{overrides: [{type: replace, path: /spec/a, value: '{{ .Object.Name '}]}", "value: line 1:"),
    ] {
        let read = rule(
            "{group: x.io, version: v1, kind: Gadget}",
            &format!("[{{match: [{{objectKey: {{name: x}}}}], mutations: {mutations}}}]"),
        );
        assert!(told(&read).contains(expect), "{mutations}: {}", told(&read));
    }
    assert_eq!(told(&rule(SECRET, "[{match: [{objectKey: {name: x}}], mutations: {syncStatus: true}}]")), "");
}

#[test]
fn copies_of_the_object_in_annotations_are_never_kept_or_asked_for() {
    let secret = object(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: ns, annotations: {banzaicloud.com/last-applied: secret, a: b}}\n",
    );
    assert!(Seen::of(&secret).annotations().get("banzaicloud.com/last-applied").is_none());
    let read = rule(
        SECRET,
        "[{match: [{annotations: [{matchExpressions: [{key: banzaicloud.com/last-applied, operator: Exists}]}]}]}]",
    );
    assert!(told(&read).contains("holds a copy of the object"), "{}", told(&read));
    assert!(secret.labels.is_empty() && secret.annotations.is_empty());
    assert_eq!(secret.payload.map(|payload| payload.entries().len().to_string()), Some("0".into()));
}
